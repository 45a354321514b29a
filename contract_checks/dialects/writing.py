"""Plain values → YAML text that reads back as the same values.

The text is YAML 1.2 as `document` reads it. What an older parser would take for something else than a text (`yes`,
`2026-01-31`, `10:00`) is put in quotes, so that every tool reads the same contract.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import yaml

from contract_checks.dialects.document import Document, Value, parse_document
from contract_checks.errors import ContractError

_WIDTH = 1_000_000
"""Lines are never folded: a query or pattern stays on the lines it was written on."""


class _Dumper(yaml.SafeDumper):
    """Writes values in block style, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists below their keys, as contracts are usually written."""
        super().increase_indent(flow, False)


def write_yaml(value: Value) -> str:
    """`value`, made of what a `Document` is made of, as YAML text.

    Raises `ValueError` for a value that has no YAML, such as half of a surrogate pair.
    """
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=False
    )
    return text


def write_document(document: Document) -> str:
    """The document as YAML: every key and value in its order; comments and formatting are not kept."""
    return write_yaml(document.data)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if re.search(r"[^\n\x20-\x7e\xa0-\u2027\u202a-\ufefe]", text):
        style = '"'
    elif "\n" in text and not text.startswith((" ", "\n")):
        style = "|"
    elif _reads_as_something_else(text):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _reads_as_something_else(text: str) -> bool:
    """Whether `text` without quotes would be a number, a truth value or nothing."""
    if not text or len(text) > 200:
        return not text
    try:
        return parse_document(f"a: {text}").data != {"a": text}
    except ContractError:
        return True


def _represent_decimal(dumper: yaml.SafeDumper, number: Decimal) -> yaml.ScalarNode:
    text = str(number)
    if text.lstrip("+-").isdigit():
        text += ".0"
    return dumper.represent_scalar("tag:yaml.org,2002:float", text)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(Decimal, _represent_decimal)
