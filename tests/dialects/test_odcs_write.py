"""Writing ODCS: what is read, written and read again is the same contract."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
import yaml
from databases import SHARED
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_checks.dialects import read
from contract_checks.dialects.document import Document, parse_document, read_document
from contract_checks.dialects.odcs import write
from contract_checks.dialects.odcs_document import (
    EnumValue,
    Piece,
    Property,
    Relationship,
    Root,
    Rule,
    SchemaObject,
    Server,
    SlaProperty,
)
from contract_checks.dialects.writing import write_yaml
from contract_checks.errors import ContractError
from contract_checks.model import Contract

CORPUS = SHARED / "corpus" / "odcs"

TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20),
    st.sampled_from(
        [
            "yes", "NO", "null", "~", "", "1", "1.0", "0x1f", "0o17", "1e3", ".inf", "2026-01-31", "10:00", "010", "<<",
            "=", "a: b", "- a", "#a", "a #b", "'", '"', "\\", "{property}", "${VAR:-x}", "%", "@a", "`a`", "|", "&a",
            "*a", "SELECT 1\nFROM t\n", "a\n\n  b\n", "  a\nb", "a\n", "\n", "a \nb", "a\tb\nc", "\u2028", "\x85",
            "\ufeff", "\r\n", "😀",
        ]
    ),
)  # fmt: skip
"""Texts, and those that look like something else."""

SCALARS = st.one_of(
    TEXTS,
    st.booleans(),
    st.none(),
    st.integers(-(10**30), 10**30),
    st.decimals(allow_nan=False, allow_infinity=False, places=None).filter(lambda one: abs(one.adjusted()) < 900),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)


def pieces(model: type[Piece], **nested: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings with some of the keys of a piece of the standard, and sometimes others."""
    known = {info.alias or name: SCALARS for name, info in model.model_fields.items()}
    optional = {key: nested.get(key, strategy) for key, strategy in known.items()}
    own = st.fixed_dictionaries({}, optional=optional)
    return st.tuples(st.dictionaries(TEXTS, VALUES, max_size=1), own).map(lambda both: {**both[0], **both[1]})


RULES = st.lists(pieces(Rule, arguments=VALUES, implementation=VALUES), max_size=2)
PROPERTIES = st.lists(
    pieces(Property, quality=RULES, enum=st.lists(pieces(EnumValue), max_size=1), logicalTypeOptions=VALUES), max_size=2
)
OBJECTS = pieces(
    SchemaObject, properties=PROPERTIES, quality=RULES, relationships=st.lists(pieces(Relationship), max_size=1)
)
CONTRACTS = pieces(
    Root,
    schema=st.lists(OBJECTS, max_size=2),
    servers=st.lists(pieces(Server), max_size=1),
    slaProperties=st.lists(pieces(SlaProperty), max_size=1),
    customProperties=VALUES,
)


def exact(value: Any) -> Any:
    """A value whose comparison sees the type and every digit."""
    if isinstance(value, dict):
        return {key: exact(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [exact(inner) for inner in value]
    if isinstance(value, Decimal):
        integral = "." not in str(value) and "E" not in str(value)
        return ("Decimal", f"{value}.0" if integral else str(value))
    return (type(value).__name__, value)


@settings(max_examples=60, deadline=None)
@given(CONTRACTS)
def test_a_written_contract_reads_back_whole(data: dict[str, Any]) -> None:
    """Whatever a document holds, its text reads back as the same keys and values, with every digit."""
    text = write(Document("generated.yaml", data))
    back = parse_document(text).data
    assert exact(back) == exact(data)
    assert list(back) == list(data)  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_an_older_parser_reads_the_same_texts(text: str) -> None:
    """A parser of YAML 1.1, to which `yes` is true and `10:00` a number, reads a text as that text."""
    assert yaml.safe_load(write_yaml({"a": text})) == {"a": text}


def _without_places(contract: Contract) -> str:
    return re.sub(r"line=\d+|digest='\w*'", "", repr(contract))


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the third-party contracts are not here")
def test_every_real_contract_survives() -> None:
    """Every contract of the corpus is, written and read again, the same document and the same contract."""
    compared = 0
    for file in sorted(one for one in CORPUS.iterdir() if one.suffix in (".yaml", ".yml", ".json")):
        try:
            document = read_document(file)
            contract = read(document)
        except ContractError:
            continue
        again = parse_document(write(document), document.file)
        assert exact(again.data) == exact(document.data), file.name
        assert _without_places(read(again)) == _without_places(contract), file.name
        compared += 1
    assert compared > 290


def test_queries_stay_readable() -> None:
    """A query of several lines is written as one, and numbers keep their digits."""
    text = write_yaml({"query": "SELECT 1\nFROM t\n", "value": Decimal("1.10"), "list": [{"a": 1}]})
    assert text == "query: |\n  SELECT 1\n  FROM t\nvalue: 1.10\nlist:\n  - a: 1\n"
