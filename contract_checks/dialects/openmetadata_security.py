"""`security` of both OpenMetadata dialects: shown, and a promised classification as a rule about the asset's tags.

Policies and their row filters say who may see which rows. They are shown; they never change what is checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contract_checks.dialects.openmetadata_reading import Path, Reader, short
from contract_checks.model import SemanticRule

CLASSIFICATION = "dataClassification"
_NO_CLASS = ("None", "NonSensitive")
"""Tags of a classification that say that it does not apply."""


def read_security(reader: Reader, value: Any, known: tuple[str, ...] = ()) -> tuple[SemanticRule, ...]:
    """Show the section; the rule that the asset is classified as promised. `known` are further keys."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        reader.document_value(("security",), value)
        return ()
    rules: tuple[SemanticRule, ...] = ()
    for key, item in value.items():
        path: Path = ("security", key)
        if key == CLASSIFICATION:
            reader.document_value(path, item)
            rules = _classified(reader, item, path)
        elif key == "policies":
            for policy, where in reader.mappings(item, path, "policies"):
                reader.document_value(where, _policy(policy), "Access policy")
        elif key in known:
            reader.document_value(path, item)
        elif key != "inherited":
            reader.unknown(path, (CLASSIFICATION, "policies", *known), "semantics")
    return rules


def _classified(reader: Reader, value: Any, path: Path) -> tuple[SemanticRule, ...]:
    if not isinstance(value, str) or not value.strip():
        return ()
    name = value.strip()
    if not re.fullmatch(r'[\w."-]+(?: [\w."-]+)?', name):
        reason = f"'{short(name)}' names no tag, so that no tag of the asset can be compared with it"
        reader.skip(path, reason, "semantics")
        return ()
    tagged = _tag_of(name)
    rule = {
        "or": [
            {"some": [{"var": "tags"}, tagged]},
            {"some": [{"var": "columns"}, {"some": [{"var": "tags"}, tagged]}]},
        ]
    }
    text = f"The asset, or a column of it, is tagged as {name}"
    return (SemanticRule(CLASSIFICATION, text, rule, reader.at(*path), of_asset=True),)


def _tag_of(name: str) -> dict[str, Any]:
    """Whether a tag is the one of that name, in any case of letters, or one of the classification of that name."""
    spellings = list(dict.fromkeys((name, name.lower(), name.upper(), name.title())))
    start = f"{name}."
    excluded = [f"{start}{one}" for one in _NO_CLASS]
    return {
        "or": [
            {"in": [{"var": "tagFQN"}, spellings]},
            {"in": [{"var": "name"}, spellings]},
            {
                "and": [
                    {"!": {"in": [{"var": "tagFQN"}, excluded]}},
                    {"==": [{"substr": [{"var": "tagFQN"}, 0, len(start)]}, start]},
                ]
            },
        ]
    }


def _policy(policy: Mapping[str, Any]) -> str:
    parts = [short(policy.get("accessPolicy"))]
    if policy.get("identities"):
        parts.append(f"for {short(policy['identities'], 300)}")
    filters = policy.get("rowFilters")
    for row_filter in filters if isinstance(filters, list) else []:
        if isinstance(row_filter, dict):
            parts.append(f"rows where {short(row_filter.get('columnName'))} is {short(row_filter.get('values'), 300)}")
    rest = {key: item for key, item in policy.items() if key not in ("accessPolicy", "identities", "rowFilters")}
    return ", ".join(part for part in (*parts, short(rest) if rest else "") if part)
