"""OpenMetadata's own short form of custom rules (`type: duplicate_count`) → metrics.

Whatever is left over in a payload makes the rule untranslatable: half a rule is another rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contract_checks.dialects.conditions import NONE_ALLOWED, ReadCondition, find_field
from contract_checks.dialects.engines import Payload
from contract_checks.metrics import DuplicateKeys, FieldPath, NotNull, Operator, RowCount, Threshold, Violations
from contract_checks.model import Column, Thresholds

_OPERATORS: dict[str, Operator] = {
    "must_be": "mustBe",
    "must_be_equal_to": "mustBe",
    "must_not_be": "mustNotBe",
    "must_not_be_equal_to": "mustNotBe",
    "must_be_greater_than": "mustBeGreaterThan",
    "must_be_greater_or_equal_to": "mustBeGreaterOrEqualTo",
    "must_be_greater_than_or_equal_to": "mustBeGreaterOrEqualTo",
    "must_be_less_than": "mustBeLessThan",
    "must_be_less_or_equal_to": "mustBeLessOrEqualTo",
    "must_be_less_than_or_equal_to": "mustBeLessOrEqualTo",
    "must_be_between": "mustBeBetween",
    "must_not_be_between": "mustNotBeBetween",
}


def translate_native(content: Mapping[str, Any], columns: Sequence[Column], text: str) -> ReadCondition:
    """`{type, columns, must_be_…}` as a condition. Raises `Untranslatable`."""
    payload = Payload(content, columns, text)
    kind = str(payload.take("type", "")).lower()
    fields = _fields(payload)
    thresholds = _thresholds(payload)
    if "testDefinition" in content:
        raise payload.no(f"the test definition '{content['testDefinition']}' is not translated yet")
    payload.nothing_left()
    if kind == "row_count" and not fields:
        return ReadCondition("row_count", RowCount(), thresholds, None)
    if kind == "null_count" and len(fields) == 1:
        return ReadCondition("null_count", Violations(fields[0], NotNull()), thresholds, fields[0])
    if kind == "duplicate_count" and fields:
        # Rows or keys? Only "no duplicates" means the same both ways.
        if thresholds.all_of not in _NONE:
            raise payload.no("whether rows or keys are counted matters for any limit but 0")
        metric = DuplicateKeys(tuple(fields))
        return ReadCondition("duplicate_count", metric, NONE_ALLOWED, fields[0] if len(fields) == 1 else None)
    raise payload.no(f"the check '{kind}' is not known" if kind else "it has no 'type'")


_NONE = (
    (Threshold("mustBe", 0),),
    (Threshold("mustBeLessThan", 1),),
    (Threshold("mustBeLessOrEqualTo", 0),),
)


def _fields(payload: Payload) -> list[FieldPath]:
    names = payload.take("columns")
    single = payload.take("column")
    if names is None:
        names = [] if single is None else [single]
    elif single is not None:
        raise payload.no("it has both 'column' and 'columns'")
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise payload.no("'columns' is no list of names")
    return [find_field(name, payload.columns)[0] for name in names]


def _thresholds(payload: Payload) -> Thresholds:
    found = payload.thresholds(_OPERATORS)
    if not found and "testDefinition" not in payload.parts:
        raise payload.no("nothing says what its number must be")
    return Thresholds(found)
