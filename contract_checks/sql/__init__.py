"""Metric → SQL expression: one file per database that differs, `interface.py` for what they share."""

from __future__ import annotations

from contract_checks.sql.clickhouse import ClickHouseSql
from contract_checks.sql.duckdb import DuckDbSql
from contract_checks.sql.interface import NeedsValues, NotApplicable, Relation, Sql, Unmeasurable, Value
from contract_checks.sql.others import (
    BigQuerySql,
    MySqlSql,
    OracleSql,
    RedshiftSql,
    SnowflakeSql,
    SqlServerSql,
    TrinoSql,
)
from contract_checks.sql.postgres import PostgresSql
from contract_checks.sql.scoping import scoped
from contract_checks.sql.spark import SparkSql
from contract_checks.sql.sqlite import SqliteSql

__all__ = ["NeedsValues", "NotApplicable", "Relation", "Sql", "Unmeasurable", "Value", "scoped", "sql_for"]

_DATABASES: dict[str, type[Sql]] = {
    "duckdb": DuckDbSql,
    "postgres": PostgresSql,
    "sqlite": SqliteSql,
    "mysql": MySqlSql,
    "tsql": SqlServerSql,
    "oracle": OracleSql,
    "redshift": RedshiftSql,
    **dict.fromkeys(("spark", "databricks"), SparkSql),
    **dict.fromkeys(("trino", "presto", "athena"), TrinoSql),
    "bigquery": BigQuerySql,
    "clickhouse": ClickHouseSql,
    "snowflake": SnowflakeSql,
}


def sql_for(relation: Relation) -> Sql:
    """The SQL of the relation's database; standard SQL for one that has no file of its own."""
    return _DATABASES.get(relation.dialect, Sql)(relation)
