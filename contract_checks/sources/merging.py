"""Numbers of files → the number of all of them, where that is exactly what one scan of all would give.

Counts add up, the smallest of the smallest is the smallest, and whole numbers and decimals have exact sums. An average,
a median, or a sum of floating-point numbers has no such rule here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal, localcontext
from typing import Any, TypeAlias

from contract_checks.metrics import (
    Aggregate,
    DuplicateKeys,
    FieldPath,
    Metric,
    RowCount,
    UnparsedValues,
    ValueCount,
    Violations,
)
from contract_checks.sql import NeedsValues, NotApplicable, Relation, Unmeasurable, Value, sql_for

Merge: TypeAlias = Callable[[Sequence[Any]], Any]
"""The numbers of all files → that of the whole. Raises `UnsureError`."""

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WHOLE_UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_TYPES: dict[str, type] = {
    **dict.fromkeys((*_WHOLE, *_WHOLE_UNSIGNED, "UHUGEINT"), int),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"), datetime),
    **dict.fromkeys(("DOUBLE", "FLOAT"), float),
    "VARCHAR": str,
    "BOOLEAN": bool,
    "DATE": date,
}
"""The types of DuckDB whose order is that of Python's values, with what they come as."""
_DECIMAL = re.compile(r"DECIMAL\(\d+,\s*\d+\)")


class UnsureError(Exception):
    """The numbers of the files are not what they should be, so that the data has to tell."""


@dataclass(frozen=True)
class Mergeable:
    """How a cell of a scan merges, and what it is for a file without rows."""

    merge: Merge
    of_nothing: int | None


def mergeable(metric: Metric, relation: Relation) -> Mergeable | None:
    """How the metric's cell merges on a relation of DuckDB; None where only a scan of everything gives it."""
    if isinstance(metric, RowCount | ValueCount | Violations | UnparsedValues | DuplicateKeys):
        return Mergeable(_count, 0)
    if not isinstance(metric, Aggregate):
        return None
    try:
        value = sql_for(relation).value(metric.field)
    except (Unmeasurable, NeedsValues, NotApplicable):
        return None
    kind = python_type(value)
    if kind is None:
        return None
    if metric.function in ("min", "max"):
        return Mergeable(_extreme(metric.function, kind), None)
    if metric.function == "sum" and (kind is Decimal or value.native_type.upper() in (*_WHOLE, *_WHOLE_UNSIGNED)):
        return Mergeable(_sum(kind), None)
    return None


def key_type(path: FieldPath, relation: Relation) -> type | None:
    """The Python type of a key whose order and equality are DuckDB's; None where they may differ."""
    try:
        value = sql_for(relation).value(path)
    except (Unmeasurable, NeedsValues, NotApplicable):
        return None
    if value.raw is not None and value.category == "number":
        return str  # as `DuckDbSql.key` has it
    kind = python_type(value)
    return None if kind is float else kind


def python_type(value: Value) -> type | None:
    """What values of an expression of DuckDB come as, if their order is known to be the same in Python."""
    if value.raw is not None and not value.native_type:
        return str if value.category == "string" else None
    if _DECIMAL.fullmatch(value.native_type.upper()):
        return Decimal
    return _TYPES.get(value.native_type.upper())


def is_of(value: object, kind: type) -> bool:
    """Whether a value came as that very type; DuckDB gives a text for a date that Python does not have."""
    return type(value) is kind


def _count(numbers: Sequence[Any]) -> int:
    if not all(is_of(one, int) and one >= 0 for one in numbers):
        raise UnsureError
    return sum(numbers)


def _extreme(function: str, kind: type) -> Merge:
    def merge(numbers: Sequence[Any]) -> Any:
        there = _there(numbers, kind)
        if not there:
            return None
        if kind is datetime and len({one.tzinfo is None for one in there}) > 1:
            raise UnsureError
        # To DuckDB, NaN is the largest number.
        order: Callable[[Any], Any] = (lambda one: (one != one, one)) if kind is float else (lambda one: one)
        return min(there, key=order) if function == "min" else max(there, key=order)

    return merge


def _sum(kind: type) -> Merge:
    def merge(numbers: Sequence[Any]) -> Any:
        there = _there(numbers, kind)
        if not there:
            return None
        with localcontext(Context(prec=200)):
            total = sum(there[1:], start=there[0])
        # Beyond this a sum of DuckDB is an error.
        digits = len(total.as_tuple().digits) if isinstance(total, Decimal) else 0
        if digits > 38 or (kind is int and not -(2**127) < total < 2**127):
            raise UnsureError
        return total

    return merge


def _there(numbers: Sequence[Any], kind: type) -> list[Any]:
    there = [one for one in numbers if one is not None]
    if not all(is_of(one, kind) for one in there):
        raise UnsureError
    return there
