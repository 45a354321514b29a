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
from typing import Any, Literal, TypeAlias, get_args

Scalar: TypeAlias = "None | bool | int | float | Decimal | str | date | datetime | time"
FieldPath: TypeAlias = tuple[str, ...]

ITEMS = "[]"
"""The segment of a `FieldPath` that stands for every item of an array."""
MAP_KEYS, MAP_VALUES = "{keys}", "{values}"
"""The segments that stand for every key and every value of a map."""
EACH = (ITEMS, MAP_KEYS, MAP_VALUES)
"""The segments that stand for many values of one row."""


MESSAGE_TIME: FieldPath = ("__timestamp",)
"""When the broker got a message of a topic: a column that every message has beside its fields."""


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
    """The ECMA-262 regular expression is found in the value (search, not anchored), or with `absent` is not."""

    pattern: str
    absent: bool = False


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
class NotFuture:
    """The date or timestamp is not after the moment of the run, which is put into `at` when it runs.

    A value without a time zone is in `zone`; a date is compared with the day of that zone.
    """

    zone: str = "UTC"
    at: datetime | None = None


@dataclass(frozen=True)
class Before:
    """The date or timestamp is before the moment that lies `count` `unit`s before the run.

    That moment, with months and years counted on the calendar, is put into `at` when it runs. Values without a
    time zone are in UTC, a date is its midnight.
    """

    count: int
    unit: Literal["hour", "day", "month", "year"]
    at: datetime | None = None


@dataclass(frozen=True)
class FollowedWithin:
    """The timestamp at `field` of the same row is at most `seconds` after the value; either may be NULL."""

    field: FieldPath
    seconds: Decimal


@dataclass(frozen=True)
class AllOf:
    """Every one of `conditions` holds."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = (
    "NotNull | Bound | Length | Matches | HasFormat | OneOf | NotOneOf | MultipleOf | Size | UniqueItems | HasKeys"
    " | Parsed | NotFuture | Before | FollowedWithin | AllOf"
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

    Measured: `int`; `Measurement.rows` is the number of rows that carry such a key. With `of` rows that
    number itself is what is measured.
    """

    fields: tuple[FieldPath, ...]
    of: Literal["keys", "rows"] = "keys"


@dataclass(frozen=True)
class OrphanKeys:
    """The number of rows whose whole non-NULL key is not in `target_fields` of the table `target`.

    `target` is the physical name of a table in the same source. Measured: `int`.
    """

    fields: tuple[FieldPath, ...]
    target: str
    target_fields: tuple[FieldPath, ...]


AggregateFunction = Literal["min", "max", "avg", "sum", "median", "stddev"]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the values at `field`, NULLs ignored. Measured: a scalar, None when there is no value.

    The median of an even number of values is the mean of the two in the middle; `stddev` is the standard
    deviation of a population.
    """

    function: AggregateFunction
    field: FieldPath


@dataclass(frozen=True)
class Query:
    """The one cell of a user's SELECT, placeholders still in it. Measured: that scalar.

    `column` is what `{property}` stands for, if the rule belongs to a column. With `result` rows it is the
    number of rows the SELECT returns that is measured; with `count` its cell has to be a whole number.
    """

    sql: str
    column: FieldPath | None = None
    result: Literal["value", "rows", "count"] = "value"


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


@dataclass(frozen=True)
class ColumnCount:
    """The number of columns; with `name`, of those that are called exactly that. Measured: `int`."""

    name: str | None = None


@dataclass(frozen=True)
class ColumnNames:
    """The number of names by which the columns differ from `names`: in their places if `ordered`, else as a bag.

    Measured: `int`; the offenders are the names that are too many or missing.
    """

    names: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True)
class FarFrom:
    """The number of rows whose value at `field` names one of `places` and whose point is not within `radius` of it.

    A place is (name, latitude, longitude) in degrees, the radius in metres, measured on a sphere. Rows that
    name another place, or have no point, do not count. Measured: `int`.
    """

    field: FieldPath
    latitude: FieldPath
    longitude: FieldPath
    places: tuple[tuple[str, float, float], ...]
    radius: Decimal


@dataclass(frozen=True)
class OtherColumns:
    """The number of columns that only one of the table and `target` has, or that are of another category there.

    `columns` limits what is looked at; empty means all. Measured: `int`.
    """

    target: str
    columns: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    exact_case: bool = False


@dataclass(frozen=True)
class OtherRows:
    """The number of rows that are in only one of the table and `target`; a row that changed is one in each.

    Rows are compared by `columns`, empty meaning all that both have, NULLs being equal. `renamed` gives the names
    that keys have in the target; `where` limits both tables. Measured: `int`.
    """

    target: str
    columns: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    where: str = ""
    exact_case: bool = False


RateUnit = Literal["second", "minute", "hour", "day"]


@dataclass(frozen=True)
class Rate:
    """How many messages a topic gets in each `per`, over the window that was read. Measured: a number."""

    per: RateUnit


@dataclass(frozen=True)
class Undecodable:
    """The number of messages that are not what their format or schema says. Measured: `int`."""


@dataclass(frozen=True)
class Registered:
    """What the function registered under `name` returns. `subject` is what the contract wants it measured on."""

    name: str
    subject: str = ""


@dataclass(frozen=True)
class ModelSignature:
    """The inputs and outputs that a model's file says it has. Measured: a `FoundSignature`."""

    path: str


@dataclass(frozen=True)
class Today:
    """The moment of the check. Nothing is asked of the data, so nothing is measured."""


Metric: TypeAlias = (
    "RowCount | ValueCount | Violations | DuplicateKeys | OrphanKeys | Aggregate | Query | Columns | UnparsedValues"
    " | Rate | Undecodable | Registered | ModelSignature | Today | ColumnCount | ColumnNames | FarFrom | OtherColumns"
    " | OtherRows"
)


# --------------------------------------------------------------------------- parts of a table


@dataclass(frozen=True)
class FieldFilter:
    """Rows whose value at `field` lies in `[lower, upper)`, or is one of `values` where those are given.

    None as a bound means open. A row without a value never belongs. A `datetime` bound compares instants,
    and values without a time zone are taken to be in `zone`.
    """

    field: FieldPath
    lower: Scalar = None
    upper: Scalar = None
    values: tuple[Scalar, ...] | None = None
    zone: str = "UTC"


@dataclass(frozen=True)
class RowFilter:
    """The part of a table in which every one of `terms` holds, for example a partition.

    `label` is what a person calls it (`partition 2024-01-05`). A key of these rows is unique if no other row
    of the whole `table` has it, or no other of these `rows`.
    """

    terms: tuple[FieldFilter, ...]
    label: str
    unique_in: Literal["table", "rows"] = "table"


# --------------------------------------------------------------------------- measurements


@dataclass(frozen=True)
class FoundColumn:
    """A column as the source describes it.

    `native_type` is the source's own spelling (`DECIMAL(18,2)`, `STRUCT(x INTEGER)`); empty when the
    source has no types (CSV). `category` is a name of `datatypes.Category`. A `hidden` column may be asked for
    but is none of the data's own, such as the offset of a message.
    """

    name: str
    native_type: str
    category: str
    nullable: bool = True
    comment: str = ""
    hidden: bool = False


@dataclass(frozen=True)
class FoundSignature:
    """What a model takes and gives, by its own word. Unnamed columns have an empty name."""

    inputs: tuple[FoundColumn, ...]
    outputs: tuple[FoundColumn, ...]


Tier: TypeAlias = Literal["catalogue", "file statistics", "kept", "scan", "query"]
"""What gives a value: what the source says of itself, what was measured before, or its rows."""


@dataclass(frozen=True)
class Measurement:
    """What came of measuring a metric: a `value`, or an `error` that says why there is none.

    `rows` are the rows involved where that is another number than `value`. `sql` is the statement that
    reproduces the value; `answered_by` the tier that gave it. `offenders` are a few of the
    offending keys or values, each followed by how many rows have it where that was counted. `places` are the row ids
    of the first offenders, where the source has such (see `Relation.row_id`). `skipped` says why the
    metric does not apply to what is there.
    """

    metric: Metric
    value: Any = None
    rows: int | None = None
    error: str | None = None
    sql: str | None = None
    answered_by: Tier = "scan"
    offenders: tuple[tuple[Any, ...], ...] = ()
    places: tuple[int, ...] = ()
    skipped: str | None = None


@dataclass(frozen=True)
class Sample:
    """A few offending rows: column names and rows of already masked, printable values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    sql: str = ""


Measurements: TypeAlias = Mapping[Metric, Measurement]


Operator: TypeAlias = Literal[
    "mustBe",
    "mustNotBe",
    "mustBeGreaterThan",
    "mustBeGreaterOrEqualTo",
    "mustBeLessThan",
    "mustBeLessOrEqualTo",
    "mustBeBetween",
    "mustNotBeBetween",
]
OPERATORS: tuple[Operator, ...] = get_args(Operator)
"""The operators of a rule, as ODCS spells them."""


@dataclass(frozen=True)
class Threshold:
    """An operator of ODCS with its value.

    `value` is a pair for the two `Between` operators, whose bounds count as inside when `inclusive`.
    """

    operator: Operator
    value: Scalar | tuple[Scalar, Scalar] = field(default=0)
    inclusive: bool = True
