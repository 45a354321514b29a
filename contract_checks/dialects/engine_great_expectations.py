"""Expectations of Great Expectations → promises.

Payloads are one expectation (`expectation_type` or `type`, with `kwargs`), a list of them, or a suite with
`expectations`; as YAML or as text that holds YAML or JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from contract_checks.dialects.conditions import NONE_ALLOWED, ReadCondition, whole_number
from contract_checks.dialects.engines import Payload, Promise, Untranslatable, content_of, payload_text, promise_of
from contract_checks.metrics import (
    Aggregate,
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
from contract_checks.model import Column, Dataset, Thresholds

# Python's regular expressions that ECMA-262 reads otherwise or not at all.
_PYTHON_ONLY = re.compile(r"\\[AZ]|\(\?P|\(\?[aiLmsux-]+[:)]|\(\?#|\(\?\(")
# How the examples of ODCS spell the arguments.
_CAMEL_CASE = {
    "minValue": "min_value",
    "maxValue": "max_value",
    "valueSet": "value_set",
    "strictMin": "strict_min",
    "strictMax": "strict_max",
    "columnList": "column_list",
    "ignoreRowIf": "ignore_row_if",
}
_ABOUT = ("meta", "id", "notes", "description", "name")
"""Keys beside an expectation that do not change what it asks."""


def great_expectations(payload: Any, dataset: Dataset, column: FieldPath | None) -> Sequence[Promise | str]:
    """Translate expectations; each that has no exact counterpart is a reason."""
    content = content_of(payload)
    if isinstance(content, Mapping) and isinstance(content.get("expectations"), list):
        content = content["expectations"]
    found: list[Promise | str] = []
    for entry in content if isinstance(content, list) else [content]:
        text = payload_text(entry)
        if not isinstance(entry, Mapping):
            found.append(f"it is no expectation: {text}")
            continue
        try:
            found.append(promise_of(translate_great_expectation(entry, dataset.columns, text, column)))
        except Untranslatable as reason:
            found.append(str(reason))
    return found


def translate_great_expectation(
    content: Mapping[str, Any], columns: Sequence[Column], text: str, default: FieldPath | None = None
) -> ReadCondition:
    """`{expectation_type, kwargs}` as a condition about `default`, unless it names a column.

    Raises `Untranslatable`.
    """
    envelope = Payload(content, columns, text)
    name = str(envelope.take("expectation_type") or envelope.take("type") or "")
    kwargs = envelope.take("kwargs", {})
    for key in _ABOUT:
        envelope.take(key)
    envelope.nothing_left()
    if name not in _EXPECTATIONS:
        raise envelope.no(
            f"the expectation '{name}' has no counterpart here" if name else "it has no 'expectation_type'"
        )
    if not isinstance(kwargs, Mapping):
        raise envelope.no("'kwargs' is no mapping")
    payload = Payload(
        {_CAMEL_CASE.get(str(key), str(key)): value for key, value in kwargs.items()}, columns, text, default
    )
    read = _EXPECTATIONS[name](payload, name)
    payload.nothing_left()
    return read


def _limits(payload: Payload) -> Thresholds:
    """`min_value` and `max_value` of a number that is measured."""
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
    return Thresholds(tuple(thresholds))


def _row_count(payload: Payload, name: str) -> ReadCondition:
    if not name.endswith("equal"):
        return ReadCondition(name, RowCount(), _limits(payload), None)
    value = payload.number("value")
    if value is None:
        raise payload.no("it has no limit")
    return ReadCondition(name, RowCount(), Thresholds((Threshold("mustBe", value),)), None)


def _aggregate(function: Literal["min", "max", "avg", "sum"]) -> Callable[[Payload, str], ReadCondition]:
    def translate(payload: Payload, name: str) -> ReadCondition:
        field, _ = payload.field()
        return ReadCondition(name, Aggregate(function, field), _limits(payload), field)

    return translate


def _unique(payload: Payload, name: str) -> ReadCondition:
    field, _ = payload.field()
    _no_tolerance(payload)
    return ReadCondition(name, DuplicateKeys((field,)), NONE_ALLOWED, field)


def _unique_together(payload: Payload, name: str) -> ReadCondition:
    names = payload.take("column_list")
    if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
        raise payload.no("'column_list' is no list of names")
    if payload.take("ignore_row_if") != "any_value_is_missing":
        # A key with a NULL is a key there, unless all of it is NULL.
        raise payload.no("whether a key with a NULL recurs is decided otherwise unless 'any_value_is_missing'")
    _no_tolerance(payload)
    fields = tuple(Payload({"column": one}, payload.columns, payload.text).field()[0] for one in names)
    return ReadCondition(name, DuplicateKeys(fields), NONE_ALLOWED, None)


def _not_null(payload: Payload, name: str) -> ReadCondition:
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


def _values(condition: Callable[[Payload, Column | None], Condition]) -> Callable[[Payload, str], ReadCondition]:
    def translate(payload: Payload, name: str) -> ReadCondition:
        field, column = payload.field()
        # The other engine's share leaves NULLs out of the whole, which no metric here counts.
        _no_tolerance(payload)
        return ReadCondition(name, Violations(field, condition(payload, column)), NONE_ALLOWED, field)

    return translate


def _no_tolerance(payload: Payload) -> None:
    mostly = payload.number("mostly")
    if mostly is not None and mostly != 1:
        raise payload.no("a 'mostly' below 1 is a share of the values that are not null, which is not measured here")


def _set(payload: Payload, column: Column | None) -> tuple[Scalar, ...]:
    values = payload.take("value_set")
    if not isinstance(values, list) or not values:
        raise payload.no("'value_set' is no list of values")
    return tuple(payload.typed(value, column) for value in values if value is not None)


def _in_set(payload: Payload, column: Column | None) -> Condition:
    return OneOf(_set(payload, column))


def _not_in_set(payload: Payload, column: Column | None) -> Condition:
    return NotOneOf(_set(payload, column))


def _between(payload: Payload, column: Column | None) -> Condition:
    low, high = payload.typed(payload.take("min_value"), column), payload.typed(payload.take("max_value"), column)
    strict_low, strict_high = payload.take("strict_min", False), payload.take("strict_max", False)
    bounds = [Bound(">" if strict_low else ">=", low)] if low is not None else []
    bounds += [Bound("<" if strict_high else "<=", high)] if high is not None else []
    if not bounds:
        raise payload.no("it has no limit")
    return AllOf(tuple(bounds))


def _matches(payload: Payload, column: Column | None) -> Condition:
    pattern = payload.take("regex")
    if not isinstance(pattern, str):
        raise payload.no("'regex' is no text")
    if _PYTHON_ONLY.search(pattern):
        raise payload.no("the regular expression uses what only Python's has")
    return Matches(pattern)


def _lengths(payload: Payload, column: Column | None) -> Condition:
    stated = payload.number("min_value"), payload.number("max_value")
    low, high = (None if limit is None else whole_number(limit) for limit in stated)
    if (low, high) == (None, None) or [low is None, high is None] != [limit is None for limit in stated]:
        raise payload.no("its limits are no whole numbers")
    if payload.take("strict_min", False) and low is not None:
        low += 1
    if payload.take("strict_max", False) and high is not None:
        high -= 1
    return Length(low, high)


def _length(payload: Payload, column: Column | None) -> Condition:
    value: int | Decimal | None = payload.number("value")
    length = None if value is None else whole_number(value)
    if length is None:
        raise payload.no("'value' is no whole number")
    return Length(length, length)


_EXPECTATIONS: dict[str, Callable[[Payload, str], ReadCondition]] = {
    "expect_table_row_count_to_be_between": _row_count,
    "expect_table_row_count_to_equal": _row_count,
    "expect_column_values_to_be_unique": _unique,
    "expect_compound_columns_to_be_unique": _unique_together,
    "expect_column_values_to_not_be_null": _not_null,
    "expect_column_values_to_be_in_set": _values(_in_set),
    "expect_column_values_to_not_be_in_set": _values(_not_in_set),
    "expect_column_values_to_be_between": _values(_between),
    "expect_column_values_to_match_regex": _values(_matches),
    "expect_column_value_lengths_to_be_between": _values(_lengths),
    "expect_column_value_lengths_to_equal": _values(_length),
    "expect_column_min_to_be_between": _aggregate("min"),
    "expect_column_max_to_be_between": _aggregate("max"),
    "expect_column_mean_to_be_between": _aggregate("avg"),
    "expect_column_sum_to_be_between": _aggregate("sum"),
}
