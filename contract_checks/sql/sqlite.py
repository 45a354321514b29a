"""SQLite, whose declared types do not bind: what a cell holds is judged by its storage class.

Two functions are registered on each connection (see `sources/`): `contract_search(pattern, text)` finds
an ECMA-262 pattern, and `contract_instant(text, zone)` gives the UTC form of an ISO 8601 timestamp that
sorts as text, or NULL where the text is none; one without a time zone is in `zone`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

from sqlglot import exp, parse_one
from typing_extensions import override

from contract_checks.datatypes import Category
from contract_checks.metrics import Bound, FieldPath, Parsed
from contract_checks.patterns import Plain
from contract_checks.sql.interface import (
    NeedsValues,
    Unmeasurable,
    Value,
    call,
    count_if,
    is_not_null,
    is_null,
    json_path,
    number,
    text,
)
from contract_checks.sql.sqlite_json import SqliteJsonSql

UNBOUND: dict[str, tuple[Category, ...]] = {
    "string": ("date", "timestamp", "time", "object", "map", "array", "vector"),
    "integer": ("boolean",),
}
"""What a declared type of SQLite may hold besides its own, for it has no type for these; the cells decide."""
_CLASSES: dict[str, tuple[str, ...]] = {
    "integer": ("integer",),
    "number": ("integer", "real"),
    "string": ("text",),
    "binary": ("blob",),
}


class SqliteSql(SqliteJsonSql):
    """SQLite's SQL."""

    regex: ClassVar[Literal["re2", "postgres", "ecma"] | None] = "ecma"
    collation: ClassVar[str | None] = "BINARY"
    plain_patterns: ClassVar[tuple[str, ...]] = ("whole", "start", "anywhere")
    stddev: ClassVar[str | None] = None

    @override
    def value(self, path: FieldPath) -> Value:
        value = super().value(path)
        declared = self.relation.declared.get(path)
        if value.format is not None:
            return value  # text in a format of its own, not in ISO 8601
        if declared is not None and (value.category == "unknown" or declared in UNBOUND.get(value.category, ())):
            return replace(value, category=declared)
        return value

    @override
    def aggregate(self, function: str, path: FieldPath) -> exp.Expr:
        value = self.value(path)
        if value.category not in ("date", "timestamp") or function not in ("min", "max"):
            return super().aggregate(function, path)
        # Texts sort by their letters, moments by their instants; the text itself tells its time zone.
        cell = value.expression.sql(dialect="sqlite")
        instant = f"contract_instant({cell}, 'UTC')"
        order = "DESC" if function == "max" else "ASC"
        query = f"SELECT {cell} FROM {self.relation.sql} WHERE {instant} IS NOT NULL ORDER BY {instant} {order} LIMIT 1"  # noqa: S608 - a tree and a quoted name
        return exp.Subquery(this=parse_one(query, dialect="sqlite"))

    @override
    def unparsed(self, path: FieldPath) -> exp.Expr | None:
        declared = self.relation.declared.get(path)
        if declared is None or not self.relation.has(path):
            return None
        if self.in_document(path):
            return super().unparsed(path)
        value = self.value(path)
        if value.format is not None:
            raise NeedsValues(Parsed(value.format))
        cell = value.expression
        holds = exp.Coalesce(this=self.holds(cell, declared), expressions=[number(0)])
        return count_if(exp.and_(is_not_null(cell), exp.or_(exp.Not(this=holds), self.wrong_zone(path, cell))))

    @override
    def holds(self, cell: exp.Expr, declared: Category) -> exp.Expr:
        """True where the cell holds a value of the declared category, false or NULL where it does not."""
        if declared in _CLASSES:
            return exp.In(this=call("TYPEOF", cell), expressions=[text(one) for one in _CLASSES[declared]])
        if declared == "boolean":
            return exp.In(this=cell.copy(), expressions=[number(0), number(1)])
        if declared == "date":
            # Without a modifier SQLite takes 30 February for a date.
            return exp.EQ(this=exp.cast(cell.copy(), "TEXT"), expression=call("DATE", cell, text("+0 days")))
        if declared == "timestamp":
            return is_not_null(call("contract_instant", cell, text("UTC")))
        if declared == "time":
            moment = exp.DPipe(this=text("2000-01-01 "), expression=cell.copy())
            clock = call("contract_instant", moment, text("UTC"))
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
    def lacks_keys(self, names: tuple[str, ...], value: Value) -> exp.Expr:
        kinds = [call("JSON_TYPE", value.expression, text(json_path((name,)))) for name in names]
        return exp.and_(is_not_null(value.expression), exp.or_(*(is_null(kind) for kind in kinds)))

    @override
    def size(self, value: Value) -> exp.Expr:
        cell = value.expression
        keys = parse_one(f"(SELECT COUNT(*) FROM JSON_EACH({cell.sql(dialect='sqlite')}))", dialect="sqlite")  # noqa: S608 - made of rendered trees
        valid = exp.EQ(this=call("JSON_VALID", cell), expression=number(1))
        return exp.Case(ifs=[exp.If(this=valid, true=keys)])

    @override
    def compare(self, bound: Bound, value: Value, limit: exp.Expr) -> exp.Expr:
        if value.category == "timestamp":
            instant = call("contract_instant", value.expression, text(bound.zone))
            value = Value(instant, "timestamp", value.native_type)
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
    def plain(self, compared: Plain, subject: exp.Expr) -> exp.Expr:
        [first, *_] = compared.texts
        if compared.where == "anywhere":
            return exp.GT(this=call("INSTR", subject, text(first)), expression=number(0))
        if compared.where == "start":
            start = call("SUBSTR", subject, number(1), number(len(first)))
            return exp.EQ(this=start, expression=text(first))
        return super().plain(compared, subject)

    @override
    def regexp(self, subject: exp.Expr, pattern: str) -> exp.Expr:
        return call("contract_search", text(pattern), subject)

    @override
    def no_multiple(self, divisor: Decimal, value: Value) -> exp.Expr:
        broken = super().no_multiple(divisor, value)
        no_integer = exp.NEQ(this=call("TYPEOF", value.expression), expression=text("integer"))
        return exp.and_(is_not_null(value.expression), exp.or_(no_integer, broken))

    @override
    def date_literal(self, limit: date) -> exp.Expr:
        return text(limit.isoformat())

    @override
    def timestamp_literal(self, limit: datetime, with_timezone: bool, zone: str) -> exp.Expr:
        return text(instant_text(limit, zone))


def instant_text(moment: datetime, zone: str = "UTC") -> str:
    """A point in time as text that sorts: UTC with microseconds; one without a time zone is in `zone`."""
    known = moment.replace(tzinfo=ZoneInfo(zone)) if moment.tzinfo is None else moment
    return known.astimezone(UTC).isoformat(sep=" ", timespec="microseconds")
