"""Numbers where a database would round them: limits, sums and averages that stay exact.

A literal `0.1` is a decimal in one database and a double in another, and where two decimals of different scales
meet, digits get lost. So a limit is taken in the column's own type, after it was put on the grid of values that the
type has; a limit between two of them means the one below.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal
from typing import ClassVar

from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import is_float, is_single, parse_type
from contract_checks.metrics import Bound, FieldPath
from contract_checks.sql.interface import NEVER, Sql, Unmeasurable, Value, is_not_null, number, text
from contract_checks.sql.literals import rounds_to_single

_T = exp.DataType.Type
_WIDE = Context(prec=400)
_PRECISION = 38
"""How many digits a sum of decimals may have, factor included, before a database would round it."""


def decimal_digits(native_type: str, dialect: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type that states them; None for any other type."""
    parsed = parse_type(native_type, dialect)
    if parsed is None or parsed.this is not _T.DECIMAL or not parsed.expressions:
        return None
    try:
        precision, *scale = (int(part.name) for part in parsed.expressions)
    except ValueError:
        return None
    return precision, scale[0] if scale else 0


class AverageSql(Sql):
    """Databases that round the average of decimals, or of integers, to a few digits."""

    wide: ClassVar[str | None] = None
    """The type, in the database's own spelling, that the sum of integers needs; None where it grows by itself."""

    @override
    def aggregate(self, function: str, path: FieldPath) -> exp.Expr:
        value = self.value(path)
        exact = value.category == "integer" or (
            value.category == "number" and not is_float(value.native_type, self.dialect)
        )
        return self.average(value) if function == "avg" and exact else super().aggregate(function, path)

    def average(self, value: Value) -> exp.Expr:
        """The exact sum as a double, divided once; digits behind the point are first shifted before it."""
        digits = decimal_digits(value.native_type, self.dialect)
        scale = digits[1] if digits is not None else 0
        total: exp.Expr = self.total(value)
        # A sum has ten digits more than what is added up, and the product as many as both factors and one.
        shifts = digits is not None and scale > 0 and digits[0] + 10 + scale + 2 <= _PRECISION
        factor = number(10**scale)
        if shifts:
            total = exp.Mul(this=total, expression=factor.copy())
        count: exp.Expr = exp.Nullif(this=exp.Count(this=value.expression.copy()), expression=number(0))
        if shifts:
            count = exp.Paren(this=exp.Mul(this=count, expression=factor))
        return exp.Div(this=exp.cast(total, "DOUBLE"), expression=count, typed=True)

    def total(self, value: Value) -> exp.Expr:
        """The sum of the values, wide enough to hold it."""
        subject = value.expression.copy()
        if value.category == "integer" and self.wide is not None:
            subject = exp.cast(subject, self.wide, dialect=self.dialect)
        return exp.Sum(this=subject)


class OwnTypeSql(AverageSql):
    """Databases that compare a number with a limit of another type by rounding one of the two."""

    wide: ClassVar[str | None] = "DECIMAL(38, 0)"

    @override
    def aggregate(self, function: str, path: FieldPath) -> exp.Expr:
        value = self.value(path)
        if function == "sum" and value.category == "integer":
            return self.total(value)
        return super().aggregate(function, path)

    @override
    def out_of_bound(self, bound: Bound, value: Value) -> exp.Expr:
        limit = bound.limit
        grid = self._grid(value)
        if grid is None or isinstance(limit, bool) or not isinstance(limit, int | float | Decimal):
            return super().out_of_bound(bound, value)
        wanted = _exact(limit)
        lower = bound.operator in (">", ">=")
        if abs(wanted) >= Decimal(10) ** grid[0]:
            # Every value is below such a limit, or above it.
            return is_not_null(value.expression) if lower == (wanted > 0) else NEVER.copy()
        below = _floor(wanted, grid[1])
        operator = bound.operator if below == wanted else ">" if lower else "<="
        return self.compare(Bound(operator, below), value, self.number_literal(below, value))

    @override
    def number_literal(self, limit: int | float | Decimal, value: Value) -> exp.Expr:
        wanted, grid = _exact(limit), self._grid(value)
        if grid is None:
            single = is_single(value.native_type, self.dialect) and rounds_to_single(limit)
            literal = text(repr(limit) if isinstance(limit, float) else str(limit))
            return exp.cast(
                literal, value.native_type if single else "DOUBLE", dialect=self.dialect if single else None
            )
        if abs(wanted) >= Decimal(10) ** grid[0] or _floor(wanted, grid[1]) != wanted:
            raise Unmeasurable(f"no {value.native_type or value.category} is {limit}")
        if value.category != "integer":
            return exp.cast(text(format(wanted, "f")), value.native_type, dialect=self.dialect)
        whole = int(wanted)
        if -(2**63) < whole < 2**63:
            return number(whole)
        assert self.wide is not None
        return exp.cast(text(str(whole)), self.wide, dialect=self.dialect)

    def _grid(self, value: Value) -> tuple[int, int] | None:
        """How many digits the values have before and behind the point; None where it floats."""
        if value.category == "integer":
            return _PRECISION, 0
        digits = decimal_digits(value.native_type, self.dialect)
        return (digits[0] - digits[1], digits[1]) if digits is not None else None


def _exact(limit: int | float | Decimal) -> Decimal:
    decimal = limit if isinstance(limit, Decimal) else Decimal(repr(limit))
    if not decimal.is_finite():
        raise Unmeasurable(f"{limit} is not a finite number")
    return decimal


def _floor(wanted: Decimal, scale: int) -> Decimal:
    return wanted.quantize(Decimal(1).scaleb(-scale), ROUND_FLOOR, _WIDE)
