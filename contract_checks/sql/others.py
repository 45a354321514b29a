"""Databases that differ from standard SQL in a few words each."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import is_float
from contract_checks.metrics import Length, Scalar
from contract_checks.sql.interface import Sql, Value, call, number, text
from contract_checks.sql.numbers import AverageSql


class MySqlSql(AverageSql):
    """MySQL and MariaDB, whose text compares without regard to case and whose booleans are numbers."""

    collation: ClassVar[str | None] = "utf8mb4_bin"

    @override
    def may_be_nan(self, value: Value) -> bool:
        return False

    @override
    def literal(self, limit: Scalar, value: Value, zone: str = "UTC") -> exp.Expr:
        whole = isinstance(limit, bool) and value.category == "integer"
        return number(int(limit)) if whole else super().literal(limit, value, zone)  # type: ignore[arg-type]


class SqlServerSql(AverageSql):
    """SQL Server, whose text compares without regard to case and whose lengths ignore blanks at the end."""

    collation: ClassVar[str | None] = "Latin1_General_100_BIN2"
    text_type: ClassVar[str] = "NVARCHAR(MAX)"
    stddev: ClassVar[str | None] = "STDEVP"
    wide: ClassVar[str | None] = "DECIMAL(38, 0)"

    @override
    def may_be_nan(self, value: Value) -> bool:
        return False

    @override
    def text_literal(self, limit: str) -> exp.Expr:
        return exp.National(this=limit)

    @override
    def wrong_length(self, length: Length, value: Value) -> exp.Expr:
        marked = exp.Add(this=self.as_text(value), expression=text("."))
        size = exp.Paren(this=exp.Sub(this=call("LEN", marked), expression=number(1)))
        return self._outside(size, length.minimum, length.maximum)


class OracleSql(Sql):
    """Oracle, whose long texts (CLOB) can neither be compared nor grouped."""

    text_type: ClassVar[str] = "VARCHAR2(4000)"


class RedshiftSql(Sql):
    """Redshift."""

    whole_averages: ClassVar[bool] = True


class SnowflakeSql(AverageSql):
    """Snowflake."""


class TrinoSql(AverageSql):
    """Trino, Presto and Athena, where NaN does not equal itself."""

    wide: ClassVar[str | None] = "DECIMAL(38, 0)"

    @override
    def is_nan(self, expression: exp.Expr) -> exp.Expr:
        return exp.NEQ(this=expression.copy(), expression=expression.copy())


class BigQuerySql(AverageSql):
    """BigQuery, where NaN does not equal itself and a number with a point is a double."""

    wide: ClassVar[str | None] = "BIGNUMERIC"

    @override
    def is_nan(self, expression: exp.Expr) -> exp.Expr:
        return exp.NEQ(this=expression.copy(), expression=expression.copy())

    @override
    def number_literal(self, limit: int | float | Decimal, value: Value) -> exp.Expr:
        literal = super().number_literal(limit, value)
        exact = Decimal(repr(limit) if isinstance(limit, float) else limit)
        whole = exact == exact.to_integral_value() and abs(exact) < 2**63
        if is_float(value.native_type, self.dialect) or (whole and value.category == "integer"):
            return literal
        return exp.cast(text(literal.sql()), "BIGNUMERIC", dialect=self.dialect)
