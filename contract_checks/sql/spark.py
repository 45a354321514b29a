"""Apache Spark and Databricks: the same SQL, whether Spark's own API or SQLAlchemy sends it."""

from __future__ import annotations

from datetime import time
from decimal import Decimal
from typing import ClassVar, Literal

from sqlglot import exp
from typing_extensions import override

from contract_checks.metrics import MAP_KEYS, Scalar
from contract_checks.sql.interface import NeedsValues, Unmeasurable, Value, call, number, text
from contract_checks.sql.lists import ListSql, present
from contract_checks.sql.numbers import OwnTypeSql, decimal_digits


class SparkSql(OwnTypeSql, ListSql):
    """Spark's SQL, which is the same with and without ANSI mode: nothing here overflows, and no cast fails."""

    regex: ClassVar[Literal["re2", "postgres", "ecma", "java"] | None] = "java"
    plain_patterns: ClassVar[tuple[str, ...]] = ("whole",)

    # ------------------------------------------------------------------ values

    @override
    def child(self, parent: exp.Expr, name: str, native_type: str) -> exp.Expr:
        # Not with a dot, for `a`.`b` may also be the column b of the table a.
        return exp.Bracket(this=parent.copy(), expressions=[text(name)])

    # ------------------------------------------------------------------ lists

    @override
    def filtered(self, items: exp.Expr, keep: exp.Expr) -> exp.Expr:
        return call("FILTER", items, keep)

    @override
    def mapped(self, items: exp.Expr, to: exp.Expr) -> exp.Expr:
        return call("TRANSFORM", items, to)

    @override
    def joined(self, lists: exp.Expr) -> exp.Expr:
        return call("FLATTEN", present(lists, self))  # which is NULL where any list is

    @override
    def count_of(self, items: exp.Expr) -> exp.Expr:
        return call("ARRAY_SIZE", items)  # SIZE of NULL is -1 without ANSI mode

    @override
    def distinct(self, items: exp.Expr) -> exp.Expr:
        return call("ARRAY_DISTINCT", items)

    @override
    def contains(self, items: exp.Expr, item: exp.Expr) -> exp.Expr:
        return call("ARRAY_CONTAINS", items, item)

    @override
    def part_of_map(self, value: exp.Expr, each: str) -> exp.Expr:
        return call("MAP_KEYS" if each == MAP_KEYS else "MAP_VALUES", value)

    # ------------------------------------------------------------------ conditions

    @override
    def microseconds(self, moment: exp.Expr) -> exp.Expr:
        return call("UNIX_MICROS", exp.cast(moment.copy(), "TIMESTAMPTZ"))

    @override
    def no_multiple(self, divisor: Decimal, value: Value) -> exp.Expr:
        digits = decimal_digits(value.native_type, self.dialect)
        if digits is None:
            if abs(divisor) >= 2**63:
                raise NeedsValues
            return super().no_multiple(divisor, value)
        behind = max(0, -int(divisor.as_tuple().exponent))
        before = max(digits[0] - digits[1], divisor.adjusted() + 1)
        if before + max(digits[1], behind) > 38:
            raise NeedsValues  # Spark would round what it divides
        remainder = exp.Mod(this=value.expression.copy(), expression=number(divisor))
        return exp.NEQ(this=remainder, expression=number(0))

    # ------------------------------------------------------------------ literals

    @override
    def literal(self, limit: Scalar, value: Value, zone: str = "UTC") -> exp.Expr:
        if isinstance(limit, time) and value.category == "time":
            if limit.tzinfo is not None:
                raise Unmeasurable("times of Spark have no time zone")
            return call("TO_TIME", text(limit.isoformat()))
        return super().literal(limit, value, zone)
