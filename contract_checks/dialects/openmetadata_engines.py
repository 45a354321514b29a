"""Rules written for other engines → metrics, where the meaning is exactly the same.

Two payloads are known: OpenMetadata's own short form (`type: duplicate_count`) and an expectation of
Great Expectations. Whatever is left over in a payload makes the rule untranslatable: half a rule is
another rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from contract_checks.dialects.conditions import (
    NONE_ALLOWED,
    ReadCondition,
    UnreadableConditionError,
    find_field,
    typed_literal,
    whole_number,
)
from contract_checks.metrics import (
    AllOf,
    Bound,
    Condition,
    DuplicateKeys,
    FieldPath,
    Length,
    Matches,
    NotNull,
    NotOneOf,
    OneOf,
    RowCount,
    Scalar,
    Threshold,
    Violations,
)
from contract_checks.model import Column, Thresholds

_OPERATORS = {
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
# Python's regular expressions that ECMA-262 reads otherwise or not at all.
_PYTHON_ONLY = re.compile(r"\\[AZ]|\(\?P|\(\?[aiLmsux-]+[:)]|\(\?#|\(\?\(")


class Untranslatable(Exception):
    """The rule has no exact counterpart here. The message says why, with the payload."""


class _Payload:
    """The parts of a payload, taken one by one."""

    def __init__(self, parts: Mapping[str, Any], columns: Sequence[Column], text: str) -> None:
        self.parts = dict(parts)
        self.columns = columns
        self.text = text

    def take(self, key: str, default: Any = None) -> Any:
        return self.parts.pop(key, default)

    def no(self, why: str) -> Untranslatable:
        return Untranslatable(f"{why}: {self.text}")

    def field(self, key: str = "column") -> tuple[FieldPath, Column | None]:
        name = self.take(key)
        if not isinstance(name, str) or not name:
            raise self.no(f"'{key}' names no column")
        return find_field(name, self.columns)

    def number(self, key: str) -> int | Decimal | None:
        value = self.take(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | Decimal)):
            raise self.no(f"'{key}' is no number")
        return value

    def typed(self, value: Any, column: Column | None) -> Scalar:
        if isinstance(value, list | dict):
            raise self.no("a value is not a single one")
        try:
            return typed_literal(value, column)
        except UnreadableConditionError as error:
            raise self.no(str(error)) from error

    def nothing_left(self) -> None:
        if self.parts:
            raise self.no(f"{', '.join(map(repr, self.parts))} has no counterpart here")


# --------------------------------------------------------------------------- OpenMetadata's short form


def translate_native(content: Mapping[str, Any], columns: Sequence[Column], text: str) -> ReadCondition:
    """`{type, columns, must_be_…}` as a condition. Raises `Untranslatable`."""
    payload = _Payload(content, columns, text)
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


def _fields(payload: _Payload) -> list[FieldPath]:
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


def _thresholds(payload: _Payload) -> Thresholds:
    found = []
    for key, operator in _OPERATORS.items():
        value = payload.take(key)
        if value is None:
            continue
        pair = operator.endswith("Between")
        values = value if pair and isinstance(value, list) else [value]
        if len(values) != (2 if pair else 1) or any(
            isinstance(one, bool) or not isinstance(one, int | Decimal) for one in values
        ):
            raise payload.no(f"'{key}' is not followed by {'two numbers' if pair else 'a number'}")
        found.append(Threshold(operator, tuple(values) if pair else value))  # type: ignore[arg-type]
    if not found and "testDefinition" not in payload.parts:
        raise payload.no("nothing says what its number must be")
    return Thresholds(tuple(found))


# --------------------------------------------------------------------------- Great Expectations


def translate_great_expectation(content: Mapping[str, Any], columns: Sequence[Column], text: str) -> ReadCondition:
    """`{expectation_type, kwargs}` as a condition. Raises `Untranslatable`."""
    envelope = _Payload(content, columns, text)
    name = str(envelope.take("expectation_type") or envelope.take("type") or "")
    kwargs = envelope.take("kwargs", {})
    envelope.take("meta")
    envelope.take("id")
    envelope.nothing_left()
    if name not in _EXPECTATIONS:
        raise envelope.no(
            f"the expectation '{name}' has no counterpart here" if name else "it has no 'expectation_type'"
        )
    if not isinstance(kwargs, Mapping):
        raise envelope.no("'kwargs' is no mapping")
    payload = _Payload(kwargs, columns, text)
    read = _EXPECTATIONS[name](payload, name)
    payload.nothing_left()
    return read


def _row_count(payload: _Payload, name: str) -> ReadCondition:
    if name.endswith("equal"):
        value = payload.number("value")
        thresholds = [Threshold("mustBe", value)] if value is not None else []
    else:
        low, high = payload.number("min_value"), payload.number("max_value")
        above, below = ("mustBeGreaterThan", "mustBeLessThan")
        strict_low, strict_high = payload.take("strict_min", False), payload.take("strict_max", False)
        thresholds = []
        if low is not None:
            thresholds.append(Threshold(above if strict_low else "mustBeGreaterOrEqualTo", low))  # type: ignore[arg-type]
        if high is not None:
            thresholds.append(Threshold(below if strict_high else "mustBeLessOrEqualTo", high))  # type: ignore[arg-type]
    if not thresholds:
        raise payload.no("it has no limit")
    return ReadCondition(name, RowCount(), Thresholds(tuple(thresholds)), None)


def _unique(payload: _Payload, name: str) -> ReadCondition:
    field, _ = payload.field()
    _no_tolerance(payload)
    return ReadCondition(name, DuplicateKeys((field,)), NONE_ALLOWED, field)


def _not_null(payload: _Payload, name: str) -> ReadCondition:
    field, _ = payload.field()
    mostly = payload.number("mostly")
    metric = Violations(field, NotNull())
    if mostly is None or mostly == 1:
        return ReadCondition(name, metric, NONE_ALLOWED, field)
    if not 0 <= mostly < 1:
        raise payload.no("'mostly' is not between 0 and 1")
    percent = 100 - 100 * mostly
    whole = whole_number(percent)
    share = Threshold("mustBeLessOrEqualTo", percent if whole is None else whole)
    return ReadCondition(name, metric, Thresholds((share,), "percent", RowCount()), field)


def _values(condition: Callable[[_Payload, Column | None], Condition]) -> Callable[[_Payload, str], ReadCondition]:
    def translate(payload: _Payload, name: str) -> ReadCondition:
        field, column = payload.field()
        # The other engine's share leaves NULLs out of the whole, which no metric here counts.
        _no_tolerance(payload)
        return ReadCondition(name, Violations(field, condition(payload, column)), NONE_ALLOWED, field)

    return translate


def _no_tolerance(payload: _Payload) -> None:
    mostly = payload.number("mostly")
    if mostly is not None and mostly != 1:
        raise payload.no("a 'mostly' below 1 is a share of the values that are not null, which is not measured here")


def _set(payload: _Payload, column: Column | None) -> tuple[Scalar, ...]:
    values = payload.take("value_set")
    if not isinstance(values, list) or not values:
        raise payload.no("'value_set' is no list of values")
    return tuple(payload.typed(value, column) for value in values if value is not None)


def _in_set(payload: _Payload, column: Column | None) -> Condition:
    return OneOf(_set(payload, column))


def _not_in_set(payload: _Payload, column: Column | None) -> Condition:
    return NotOneOf(_set(payload, column))


def _between(payload: _Payload, column: Column | None) -> Condition:
    low, high = payload.typed(payload.take("min_value"), column), payload.typed(payload.take("max_value"), column)
    strict_low, strict_high = payload.take("strict_min", False), payload.take("strict_max", False)
    bounds = [Bound(">" if strict_low else ">=", low)] if low is not None else []
    bounds += [Bound("<" if strict_high else "<=", high)] if high is not None else []
    if not bounds:
        raise payload.no("it has no limit")
    return AllOf(tuple(bounds))


def _matches(payload: _Payload, column: Column | None) -> Condition:
    pattern = payload.take("regex")
    if not isinstance(pattern, str):
        raise payload.no("'regex' is no text")
    if _PYTHON_ONLY.search(pattern):
        raise payload.no("the regular expression uses what only Python's has")
    return Matches(pattern)


def _lengths(payload: _Payload, column: Column | None) -> Condition:
    stated = payload.number("min_value"), payload.number("max_value")
    low, high = (None if limit is None else whole_number(limit) for limit in stated)
    if (low, high) == (None, None) or [low is None, high is None] != [limit is None for limit in stated]:
        raise payload.no("its limits are no whole numbers")
    if payload.take("strict_min", False) and low is not None:
        low += 1
    if payload.take("strict_max", False) and high is not None:
        high -= 1
    return Length(low, high)


_EXPECTATIONS: dict[str, Callable[[_Payload, str], ReadCondition]] = {
    "expect_table_row_count_to_be_between": _row_count,
    "expect_table_row_count_to_equal": _row_count,
    "expect_column_values_to_be_unique": _unique,
    "expect_column_values_to_not_be_null": _not_null,
    "expect_column_values_to_be_in_set": _values(_in_set),
    "expect_column_values_to_not_be_in_set": _values(_not_in_set),
    "expect_column_values_to_be_between": _values(_between),
    "expect_column_values_to_match_regex": _values(_matches),
    "expect_column_value_lengths_to_be_between": _values(_lengths),
}
