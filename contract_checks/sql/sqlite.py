"""SQLite, whose declared types do not bind: what a cell holds is judged by its storage class.

Two functions are registered on each connection (see `sources/`): `contract_search(pattern, text)` finds
an ECMA-262 pattern, and `contract_instant(text)` gives the UTC form of an ISO 8601 timestamp that sorts
as text, or NULL where the text is none.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import ClassVar, Literal

from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import Category
from contract_checks.metrics import Bound, FieldPath
from contract_checks.sql.interface import Sql, Unmeasurable, Value, call, count_if, is_not_null, number, text

_CLASSES: dict[str, tuple[str, ...]] = {
    "integer": ("integer",),
    "number": ("integer", "real"),
    "string": ("text",),
    "binary": ("blob",),
}


class SqliteSql(Sql):
    """SQLite's SQL."""

    regex: ClassVar[Literal["re2", "postgres", "ecma"] | None] = "ecma"

    @override
    def value(self, path: FieldPath) -> Value:
        value = super().value(path)
        if value.category == "unknown":
            return Value(value.expression, self.relation.declared.get(path, "unknown"), value.native_type)
        return value

    @override
    def unparsed(self, path: FieldPath) -> exp.Expr | None:
        declared = self.relation.declared.get(path)
        if declared is None or not self.relation.has(path):
            return None
        cell = self.value(path).expression
        return count_if(exp.and_(is_not_null(cell), exp.Not(this=self._holds(cell, declared))))

    def _holds(self, cell: exp.Expr, declared: Category) -> exp.Expr:
        """True where the cell holds a value of the declared category."""
        if declared in _CLASSES:
            return exp.In(this=call("TYPEOF", cell), expressions=[text(one) for one in _CLASSES[declared]])
        if declared == "boolean":
            return exp.In(this=cell.copy(), expressions=[number(0), number(1)])
        if declared == "date":
            return exp.EQ(this=exp.cast(cell.copy(), "TEXT"), expression=call("DATE", cell))
        if declared == "timestamp":
            return is_not_null(call("contract_instant", cell))
        if declared == "time":
            clock = call("contract_instant", exp.DPipe(this=text("2000-01-01 "), expression=cell.copy()))
            return exp.and_(exp.EQ(this=call("TYPEOF", cell), expression=text("text")), is_not_null(clock))
        if declared in ("object", "map"):
            return exp.EQ(this=self._json_type(cell), expression=text("object"))
        if declared in ("array", "vector"):
            return exp.EQ(this=self._json_type(cell), expression=text("array"))
        raise Unmeasurable(f"SQLite cannot tell whether a cell is {declared}")

    def _json_type(self, cell: exp.Expr) -> exp.Expr:
        valid = exp.EQ(this=call("JSON_VALID", cell), expression=number(1))
        return exp.Case(ifs=[exp.If(this=valid, true=call("JSON_TYPE", cell))])

    @override
    def compare(self, bound: Bound, value: Value, limit: exp.Expr) -> exp.Expr:
        if value.category == "timestamp":
            value = Value(call("contract_instant", value.expression), "timestamp", value.native_type)
        outside = super().compare(bound, value, limit)
        if value.category in ("integer", "number"):
            # Any text is greater than any number; a text cell is a matter of the type check.
            numeric = exp.In(this=call("TYPEOF", value.expression), expressions=[text("integer"), text("real")])
            return exp.and_(numeric, outside)
        return outside

    @override
    def is_nan(self, expression: exp.Expr) -> exp.Expr:
        return exp.false()  # SQLite stores NaN as NULL

    @override
    def regexp(self, subject: exp.Expr, pattern: str) -> exp.Expr:
        return call("contract_search", text(pattern), subject)

    @override
    def no_multiple(self, divisor: Decimal, value: Value) -> exp.Expr:
        broken = super().no_multiple(divisor, value)
        return exp.or_(exp.NEQ(this=call("TYPEOF", value.expression), expression=text("integer")), broken)

    @override
    def date_literal(self, limit: date) -> exp.Expr:
        return text(limit.isoformat())

    @override
    def timestamp_literal(self, limit: datetime, with_timezone: bool) -> exp.Expr:
        return text(instant_text(limit))


def instant_text(moment: datetime) -> str:
    """A point in time as text that sorts: UTC with microseconds; a naive one is UTC already."""
    instant = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return instant.strftime("%Y-%m-%d %H:%M:%S.%f")
