"""What can be measured: a small union of frozen values, and what came of measuring them.

Metrics are values. Two equal metrics are one measurement, whichever checks ask for it, so a plan
needs no bookkeeping to share work: `dict.fromkeys(metrics)` is the deduplication.

A `FieldPath` names a value inside a row by physical names: `("amount",)` is a column,
`("address", "zip")` a field of a struct, and `("tags", ITEMS)` each item of an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal, TypeAlias

Scalar: TypeAlias = "None | bool | int | float | Decimal | str | date | datetime | time"
FieldPath: TypeAlias = tuple[str, ...]

ITEMS = "[]"
"""The segment of a `FieldPath` that stands for every item of an array."""
MAP_KEYS, MAP_VALUES = "{keys}", "{values}"
"""The segments that stand for every key and every value of a map."""
EACH = (ITEMS, MAP_KEYS, MAP_VALUES)
"""The segments that stand for many values of one row."""


def field_text(path: FieldPath) -> str:
    """`("x", "[]", "id")` as a person writes it: `x[].id`."""
    text = ""
    for segment in path:
        text += segment if segment in EACH or not text else f".{segment}"
    return text


# --------------------------------------------------------------------------- conditions
# What a value must satisfy. NULL satisfies every condition but `NotNull` and `NotOneOf` with a None.


@dataclass(frozen=True)
class NotNull:
    """The value is there. A child of an optional struct that is NULL itself is not missing."""


@dataclass(frozen=True)
class Bound:
    """The value compares to `limit` by `operator`.

    NaN satisfies no bound. So that it is counted once where a column has bounds on both sides, the lower
    one then leaves it to the upper one (`nan` is False); databases sort NaN above every number.

    A `str` limit on a date, time or timestamp column has been parsed by the dialect into a `date`,
    `time` or `datetime`; a `datetime` limit with a time zone compares instants, and values without one are
    taken to be in `zone`.
    """

    operator: Literal[">=", ">", "<=", "<"]
    limit: Scalar
    nan: bool = True
    zone: str = "UTC"


@dataclass(frozen=True)
class Length:
    """The number of characters lies in `[minimum, maximum]`; None means open."""

    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True)
class Matches:
    """The ECMA-262 regular expression is found in the value (search, not anchored)."""

    pattern: str


@dataclass(frozen=True)
class HasFormat:
    """The text has a named format: email, uuid, uri, hostname, ipv4, ipv6, date, date-time, time, byte, binary."""

    name: str


@dataclass(frozen=True)
class OneOf:
    """The value is one of `values` (compared in the column's own type)."""

    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class NotOneOf:
    """The value is none of `values`; a None among them means NULL itself."""

    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class MultipleOf:
    """The value is a whole multiple of `divisor`."""

    divisor: Decimal


@dataclass(frozen=True)
class Size:
    """The number of items of an array, or of keys of an object or map, lies in `[minimum, maximum]`."""

    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True)
class UniqueItems:
    """No item of the array occurs twice in it."""


@dataclass(frozen=True)
class HasKeys:
    """The object has each of `names` as a key, whatever its value."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Parsed:
    """The text follows the date pattern `format` (see `jdk`), and the moment it names satisfies `bound`.

    It is about dates, times and timestamps that are stored as text; to a column of a temporal type it does
    not apply.
    """

    format: str
    bound: Bound | None = None


@dataclass(frozen=True)
class AllOf:
    """Every one of `conditions` holds."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = (
    "NotNull | Bound | Length | Matches | HasFormat | OneOf | NotOneOf | MultipleOf | Size | UniqueItems | HasKeys"
    " | Parsed | AllOf"
)


# --------------------------------------------------------------------------- metrics


@dataclass(frozen=True)
class RowCount:
    """The number of rows. Measured: `int`."""


@dataclass(frozen=True)
class ValueCount:
    """The number of values at `field`, NULL ones included: rows, or items of all arrays. Measured: `int`."""

    field: FieldPath


@dataclass(frozen=True)
class Violations:
    """The number of values at `field` that break `condition`. Measured: `int`."""

    field: FieldPath
    condition: Condition


@dataclass(frozen=True)
class DuplicateKeys:
    """The number of distinct keys that occur more than once; a key with a NULL is no duplicate.

    Measured: `int`; `Measurement.rows` is the number of rows that carry such a key.
    """

    fields: tuple[FieldPath, ...]


@dataclass(frozen=True)
class OrphanKeys:
    """The number of rows whose whole non-NULL key is not in `target_fields` of the table `target`.

    `target` is the physical name of a table in the same source. Measured: `int`.
    """

    fields: tuple[FieldPath, ...]
    target: str
    target_fields: tuple[FieldPath, ...]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the values at `field`, NULLs ignored. Measured: a scalar, None when there is no value."""

    function: Literal["min", "max", "avg", "sum"]
    field: FieldPath


@dataclass(frozen=True)
class Query:
    """The one cell of a user's SELECT, placeholders still in it. Measured: that scalar.

    `column` is what `{property}` stands for, if the rule belongs to a column.
    """

    sql: str
    column: FieldPath | None = None


@dataclass(frozen=True)
class Columns:
    """The columns that are really there. Measured: a tuple of `FoundColumn`."""


@dataclass(frozen=True)
class UnparsedValues:
    """The number of values at `field` that are not of the declared type.

    Zero where the source is typed (the native type says it all); counted cell by cell where it is
    not: CSV, JSON, and SQLite whose declared types do not bind. Measured: `int`.
    """

    field: FieldPath


Metric: TypeAlias = (
    "RowCount | ValueCount | Violations | DuplicateKeys | OrphanKeys | Aggregate | Query | Columns | UnparsedValues"
)


# --------------------------------------------------------------------------- measurements


@dataclass(frozen=True)
class FoundColumn:
    """A column as the source describes it.

    `native_type` is the source's own spelling (`DECIMAL(18,2)`, `STRUCT(x INTEGER)`); empty when the
    source has no types (CSV). `category` is a name of `datatypes.Category`.
    """

    name: str
    native_type: str
    category: str
    nullable: bool = True
    comment: str = ""


@dataclass(frozen=True)
class Measurement:
    """What came of measuring a metric: a `value`, or an `error` that says why there is none.

    `rows` are the rows involved where that is another number than `value`. `sql` is the statement that
    reproduces the value; `answered_by` the tier that gave it. `offenders` are a few of the
    offending keys or values, each followed by how many rows have it where that was counted. `skipped` says why the
    metric does not apply to what is there.
    """

    metric: Metric
    value: Any = None
    rows: int | None = None
    error: str | None = None
    sql: str | None = None
    answered_by: Literal["catalogue", "scan", "query"] = "scan"
    offenders: tuple[tuple[Any, ...], ...] = ()
    skipped: str | None = None


@dataclass(frozen=True)
class Sample:
    """A few offending rows: column names and rows of already masked, printable values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    sql: str = ""


Measurements: TypeAlias = Mapping[Metric, Measurement]


@dataclass(frozen=True)
class Threshold:
    """An operator of ODCS with its value.

    `value` is a pair for the two `Between` operators, whose bounds count as inside when `inclusive`.
    """

    operator: Literal[
        "mustBe",
        "mustNotBe",
        "mustBeGreaterThan",
        "mustBeGreaterOrEqualTo",
        "mustBeLessThan",
        "mustBeLessOrEqualTo",
        "mustBeBetween",
        "mustNotBeBetween",
    ]
    value: Scalar | tuple[Scalar, Scalar] = field(default=0)
    inclusive: bool = True
