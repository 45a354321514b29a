"""Databases that differ from standard SQL in a few words each."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from typing_extensions import override

from contract_checks.metrics import Length, Scalar
from contract_checks.sql.interface import Sql, Value, call, number, text


class MySqlSql(Sql):
    """MySQL and MariaDB, whose text compares without regard to case and whose booleans are numbers."""

    collation: ClassVar[str | None] = "utf8mb4_bin"

    @override
    def may_be_nan(self, value: Value) -> bool:
        return False

    @override
    def literal(self, limit: Scalar, value: Value, zone: str = "UTC") -> exp.Expr:
        whole = isinstance(limit, bool) and value.category == "integer"
        return number(int(limit)) if whole else super().literal(limit, value, zone)  # type: ignore[arg-type]


class SqlServerSql(Sql):
    """SQL Server, whose text compares without regard to case and whose lengths ignore blanks at the end."""

    collation: ClassVar[str | None] = "Latin1_General_100_BIN2"
    text_type: ClassVar[str] = "NVARCHAR(MAX)"
    stddev: ClassVar[str | None] = "STDEVP"
    whole_averages: ClassVar[bool] = True

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


class UnequalNanSql(Sql):
    """BigQuery, Trino and ClickHouse, where NaN does not equal itself; elsewhere it does."""

    @override
    def is_nan(self, expression: exp.Expr) -> exp.Expr:
        return exp.NEQ(this=expression.copy(), expression=expression.copy())
