"""The parameters of OpenMetadata's test cases: texts by name, taken one by one, each in the type it has to have."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from contract_checks.dialects.conditions import (
    NONE_ALLOWED,
    UnreadableConditionError,
    find_field,
    typed_literal,
    whole_number,
)
from contract_checks.dialects.engines import Untranslatable
from contract_checks.dialects.openmetadata_reading import join_name, short, split_name
from contract_checks.metrics import FieldPath, RowCount, Scalar, Threshold
from contract_checks.model import Column, Thresholds

LEGACY = ("columnValuesToBeNotNull", "columnValuesToBeUnique")
"""Parameters of old exports that repeat the name of the definition and mean nothing."""

MOST_DIGITS = 60
"""The longest number; written out, `1e999999999` would fill the memory."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Subject:
    """What a test case is about: the asset by its full name, its columns, and the column the test is of."""

    asset: tuple[str, ...]
    columns: tuple[Column, ...] = ()
    path: FieldPath | None = None
    column: Column | None = None
    places: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)

    def of_column(self, name: str) -> Subject:
        """The same about a column of the asset."""
        path, column = find_field(name, self.columns)
        return Subject(self.asset, self.columns, path, column, self.places)


class Parameters:
    """The parameters of one test case. What a reader should know of them is collected in `surprises`."""

    def __init__(self, values: Mapping[str, Any], subject: Subject) -> None:
        self.values = dict(values)
        self.subject = subject
        self.surprises: list[tuple[str, str]] = []
        self.targets: dict[str, tuple[str, ...]] = {}

    def surprise(self, message: str, hint: str = "") -> None:
        """A rule of OpenMetadata's that its author hardly expects."""
        self.surprises.append((message, hint))

    def text(self, key: str) -> str | None:
        """A text; None if there is none, or an empty one."""
        value = self.values.pop(key, None)
        return None if value is None or value == "" else str(value)

    def required(self, key: str) -> str:
        """A text that has to be there."""
        text = self.text(key)
        if text is None:
            raise Untranslatable(f"it has no {key}")
        return text

    def flag(self, key: str, default: bool) -> bool:
        """`true` in any case of letters is true, any other text is false."""
        value = self.text(key)
        return default if value is None else value.strip().lower() == "true"

    def number(self, key: str) -> int | Decimal | None:
        """A finite number, exact."""
        text = self.text(key)
        if text is None:
            return None
        try:
            number = Decimal(text.strip())
        except InvalidOperation as error:
            raise Untranslatable(f"its parameter {key} is no number: {short(text)}") from error
        if not number.is_finite() or abs(number.adjusted()) > MOST_DIGITS:
            raise Untranslatable(f"its parameter {key} is no number that data could be compared with: {short(text)}")
        whole = whole_number(number)
        return number if whole is None else whole

    def whole(self, key: str) -> int | None:
        """A whole number."""
        number = self.number(key)
        if isinstance(number, Decimal):
            raise Untranslatable(f"its parameter {key} is no whole number: {number}")
        return number

    def names(self, key: str) -> tuple[str, ...]:
        """A list of names, as JSON or with commas."""
        value = self.values.pop(key, None)
        if value is None or value == "":
            return ()
        listed = value if isinstance(value, list) else _list_of(str(value))
        parts = listed if listed is not None else str(value).split(",")
        return tuple(str(part).strip() for part in parts if str(part).strip())

    def values_of(self, key: str) -> tuple[Scalar, ...]:
        """A list of values of the column's type."""
        value = self.values.pop(key, None)
        listed = value if isinstance(value, list) else None if value is None else _list_of(str(value))
        if not listed or any(isinstance(one, list | dict) for one in listed):
            raise Untranslatable(f"its parameter {key} is no list of values: {short(value)}")
        try:
            return tuple(typed_literal(self._as_flag(one), self.subject.column) for one in listed)
        except UnreadableConditionError as error:
            raise Untranslatable(f"its parameter {key} does not fit: {error}") from error

    def _as_flag(self, value: Any) -> Scalar:
        column = self.subject.column
        boolean = column is not None and column.type is not None and column.type.categories == {"boolean"}
        if boolean and isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        scalar: Scalar = value
        return scalar

    def field(self, name: str) -> FieldPath:
        """The column that the test is of."""
        if self.subject.path is None:
            raise Untranslatable(f"'{name}' is about a column, which its entityLink does not name")
        return self.subject.path

    def bound(self, key: str, side: Literal["low", "high"]) -> Scalar:
        """A bound for values of the column: a number, or for a date or time the epoch's milliseconds in UTC."""
        number = self.number(key)
        kind = _temporal(self.subject.column)
        if number is None or not kind:
            return number
        try:
            moment = _EPOCH + timedelta(microseconds=int(Decimal(number) * 1000))
        except OverflowError as error:
            raise Untranslatable(f"its parameter {key} is no moment in milliseconds: {number}") from error
        return _day(moment, side) if kind == "date" else moment

    def tolerance(self) -> Thresholds:
        """How many failures are tolerated (`threshold` and `thresholdUnit` of 2.1), as rows or as a share of them."""
        unit = (self.text("thresholdUnit") or "ABSOLUTE").upper()
        if unit not in ("ABSOLUTE", "PERCENTAGE"):
            raise Untranslatable(f"its thresholdUnit is neither ABSOLUTE nor PERCENTAGE: {short(unit)}")
        allowed = self.number("threshold")
        if not allowed:
            return NONE_ALLOWED
        threshold = (Threshold("mustBeLessOrEqualTo", allowed),)
        return Thresholds(threshold, "percent", RowCount()) if unit == "PERCENTAGE" else Thresholds(threshold)

    def no_tolerance(self) -> None:
        """A threshold of 0 says nothing; another one has no meaning for a definition that counts no failures."""
        self.text("thresholdUnit")
        if self.number("threshold"):
            raise Untranslatable("a threshold of failures has no meaning for a single number")

    def target(self, key: str) -> str:
        """Another table of the same service, by its full name."""
        full = self.required(key)
        parts = split_name(full)
        if len(parts) >= len(self.subject.asset) > 1:
            if parts[0] != self.subject.asset[0]:
                raise Untranslatable(
                    f"'{full}' is in the service '{parts[0]}', and only tables of one database can be compared"
                )
            parts = parts[1:]
        physical = join_name(parts)
        self.targets[physical] = split_name(full)
        return physical

    def nothing_left(self, name: str) -> None:
        """Refuse what no definition of that name knows: half a test is another test."""
        if self.values.get("dimensionFailurePolicy") in (None, "", "OVERALL_ONLY"):
            self.values.pop("dimensionFailurePolicy", None)
        else:
            raise Untranslatable("a verdict on each dimension (dimensionFailurePolicy ANY_DIMENSION) is not reached")
        left = [key for key in self.values if key not in LEGACY]
        if left:
            raise Untranslatable(f"'{name}' has no parameter {', '.join(map(repr, left))}")


def _list_of(text: str) -> list[Any] | None:
    try:
        listed = json.loads(text, parse_float=Decimal)
    except ValueError:
        try:
            listed = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    return listed if isinstance(listed, list) else None


def _temporal(column: Column | None) -> str:
    """`date`, `timestamp` or nothing: what the column's declared type says a bound in milliseconds means."""
    if column is None or column.type is None or not column.type.categories & {"date", "timestamp", "time"}:
        return ""
    word = column.type.text.strip().upper()
    if word.startswith("DATE") and not word.startswith("DATETIME"):
        return "date"
    if word.startswith(("TIMESTAMP", "DATETIME")):
        return "timestamp"
    raise Untranslatable(f"a bound in milliseconds has no meaning for a column of type {column.type.text}")


def _day(moment: datetime, side: Literal["low", "high"]) -> date:
    """The first day whose midnight is not before the moment, or the last one whose midnight is not after it."""
    whole = moment == datetime.combine(moment.date(), datetime.min.time(), UTC)
    return moment.date() if whole or side == "high" else moment.date() + timedelta(days=1)
