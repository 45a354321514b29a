"""ClickHouse, where a column without NULLs has a default in their place, and an aggregate over no rows has, too."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

from sqlglot import exp
from typing_extensions import override

from contract_checks.metrics import MAP_KEYS, FieldPath
from contract_checks.sql.interface import Value, call, number, text
from contract_checks.sql.lists import ListSql
from contract_checks.sql.numbers import OwnTypeSql

_OR_NULL: dict[type[exp.Expr], str] = {
    exp.Min: "minOrNull",
    exp.Max: "maxOrNull",
    exp.Avg: "avgOrNull",
    exp.Sum: "sumOrNull",
}


class ClickHouseSql(OwnTypeSql, ListSql):
    """ClickHouse's SQL."""

    regex: ClassVar[Literal["re2", "postgres", "ecma", "java"] | None] = "re2"
    text_type: ClassVar[str] = "Nullable(String)"
    wide: ClassVar[str | None] = "Int256"
    stddev: ClassVar[str | None] = "stddevPopOrNull"

    # ------------------------------------------------------------------ values

    @override
    def child(self, parent: exp.Expr, name: str, native_type: str) -> exp.Expr:
        return call("tupleElement", parent, text(name))

    @override
    def aggregate(self, function: str, path: FieldPath) -> exp.Expr:
        found = super().aggregate(function, path)
        name = _OR_NULL.get(type(found))
        return call(name, found.this) if name is not None else found

    @override
    def total(self, value: Value) -> exp.Expr:
        return call("sumOrNull", super().total(value).this)

    @override
    def is_nan(self, expression: exp.Expr) -> exp.Expr:
        return exp.NEQ(this=expression.copy(), expression=expression.copy())

    # ------------------------------------------------------------------ lists

    @override
    def filtered(self, items: exp.Expr, keep: exp.Expr) -> exp.Expr:
        assert isinstance(keep, exp.Lambda)
        surely = exp.Lambda(this=call("ifNull", keep.this, number(0)), expressions=keep.expressions)
        return call("arrayFilter", surely, items)

    @override
    def mapped(self, items: exp.Expr, to: exp.Expr) -> exp.Expr:
        return call("arrayMap", to, items)

    @override
    def joined(self, lists: exp.Expr) -> exp.Expr:
        return call("arrayFlatten", lists)

    @override
    def count_of(self, items: exp.Expr) -> exp.Expr:
        return call("length", items)

    @override
    def distinct(self, items: exp.Expr) -> exp.Expr:
        return call("arrayDistinct", items)

    @override
    def contains(self, items: exp.Expr, item: exp.Expr) -> exp.Expr:
        return call("has", items, item)

    @override
    def part_of_map(self, value: exp.Expr, each: str) -> exp.Expr:
        return call("mapKeys" if each == MAP_KEYS else "mapValues", value)

    # ------------------------------------------------------------------ conditions

    @override
    def microseconds(self, moment: exp.Expr) -> exp.Expr:
        return call("toUnixTimestamp64Micro", call("toDateTime64", moment, number(6)))

    # ------------------------------------------------------------------ literals

    @override
    def date_literal(self, limit: date) -> exp.Expr:
        return call("toDate32", text(limit.isoformat()))

    @override
    def timestamp_literal(self, limit: datetime, with_timezone: bool, zone: str) -> exp.Expr:
        # A DateTime is an instant, whatever clock it is shown on.
        instant = limit.replace(tzinfo=ZoneInfo(zone)) if limit.tzinfo is None else limit
        clock = instant.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        return call("toDateTime64", text(clock), number(6), text("UTC"))
