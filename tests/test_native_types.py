"""Native types as databases spell them: what a contract states is what the database says of the same column."""

from __future__ import annotations

import pytest

from contract_checks.native_types import same_native_type

SAME = {
    "snowflake": [
        ("NUMBER", "NUMBER(38,0)"), ("NUMBER(38)", "NUMBER(38,0)"), ("INTEGER", "NUMBER(38,0)"),
        ("BIGINT", "DECIMAL(38, 0)"), ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ(9)"), ("TIMESTAMP_NTZ(9)", "TIMESTAMP_NTZ"),
        ("TIMESTAMP_LTZ", "TIMESTAMP_LTZ(9)"), ("VARCHAR", "VARCHAR(16777216)"), ("STRING", "VARCHAR(16777216)"),
        ("VARCHAR(16777216)", "TEXT"), ("FLOAT", "DOUBLE"), ("VARIANT", "VARIANT"),
    ],
    "tsql": [
        ("datetime2", "datetime2(7)"), ("datetime2(7)", "datetime2"), ("nvarchar(50)", "nvarchar(50)"),
        ("money", "money"), ("uniqueidentifier", "uniqueidentifier"), ("integer", "int"), ("bit", "bit"),
        ("decimal", "decimal(18,0)"), ("numeric(10,2)", "decimal(10,2)"),
    ],
    "databricks": [
        ("string", "STRING"), ("varchar(100)", "varchar(100)"), ("varchar(100)", "STRING"), ("bigint", "LONG"),
        ("decimal(10,0)", "DECIMAL(10)"), ("timestamp_ntz", "TIMESTAMP_NTZ"), ("array<string>", "ARRAY<STRING>"),
    ],
    "bigquery": [
        ("INT64", "INTEGER"), ("INTEGER", "INT64"), ("FLOAT", "FLOAT64"), ("DECIMAL", "NUMERIC"), ("BOOL", "BOOLEAN"),
        ("STRING(10)", "STRING(10)"), ("RECORD", "STRUCT<a INT64>"),
    ],
    "postgres": [
        ("varchar(10)", "character varying(10)"), ("timestamp", "timestamp without time zone"),
        ("timestamp(6)", "timestamp without time zone"), ("timestamp(3)", "timestamp(3) without time zone"),
        ("int4", "integer"), ("bigserial", "bigint"), ("decimal", "numeric(6,2)"), ("numeric(10)", "numeric(10,0)"),
        ("float8", "double precision"), ("float4", "real"), ("int[]", "integer[]"), ("bpchar", "character(3)"),
        ("vector(3)", "vector(3)"),
    ],
    "oracle": [
        ("VARCHAR2(10)", "VARCHAR2(10 CHAR)"), ("NUMBER(10)", "NUMBER(10, 0)"), ("INTEGER", "NUMBER(38,0)"),
        ("TIMESTAMP", "TIMESTAMP(6)"), ("TIMESTAMP(6)", "TIMESTAMP"), ("FLOAT", "FLOAT(126)"),
        ("NVARCHAR2(10)", "NVARCHAR2(10)"),
    ],
    "mysql": [
        ("int(11)", "int"), ("boolean", "tinyint(1)"), ("tinyint(1)", "tinyint(1)"), ("datetime", "datetime"),
        ("bigint unsigned", "bigint unsigned"),
    ],
    "trino": [("timestamp", "timestamp(3)"), ("timestamp(3)", "timestamp"), ("row(a integer)", "row(a integer)")],
    "clickhouse": [
        ("String", "Nullable(String)"), ("String", "LowCardinality(String)"), ("DateTime64(3)", "DateTime64(3)"),
    ],
    "duckdb": [
        ("VARCHAR(10)", "VARCHAR"), ("NUMERIC", "DECIMAL(18,3)"), ("LIST", "BIGINT[]"), ("STRUCT", "STRUCT(a INTEGER)"),
        ("MAP", "MAP(VARCHAR, INTEGER)"), ("FLOAT[3]", "FLOAT[3]"), ("array<string>", "VARCHAR[]"),
        # Words of other platforms, checked on files.
        ("TIMESTAMP_TZ", "TIMESTAMP WITH TIME ZONE"), ("timestamp_ntz(9)", "TIMESTAMP"), ("datetime2(7)", "TIMESTAMP"),
        ("NUMBER(38,0)", "DECIMAL(38,0)"), ("bytes", "BLOB"), ("float64", "DOUBLE"), ("INT64", "BIGINT"),
        ("VARCHAR2(10)", "VARCHAR"),
    ],
    "sqlite": [("INT", "INTEGER"), ("DATETIME", "TIMESTAMP"), ("NUMERIC", "DECIMAL(10,2)")],
}  # fmt: skip

OTHER = {
    "snowflake": [("NUMBER(10,2)", "NUMBER(38,0)"), ("VARCHAR(10)", "VARCHAR(16777216)"),
                  ("TIMESTAMP_TZ", "TIMESTAMP_NTZ(9)"), ("VARIANT", "VARCHAR")],
    "tsql": [("datetime2(3)", "datetime2(7)"), ("datetime", "datetime2")],
    "databricks": [("timestamp", "TIMESTAMP_NTZ"), ("array<int>", "ARRAY<STRING>")],
    "bigquery": [("DATETIME", "TIMESTAMP")],
    "postgres": [("timestamp", "timestamp with time zone"), ("text[]", "integer[]"), ("timestamp(3)", "timestamp")],
    "oracle": [("VARCHAR2(10)", "VARCHAR2(20)")],
    "mysql": [("bigint", "bigint unsigned"), ("timestamp", "datetime")],
    "duckdb": [("FLOAT[4]", "FLOAT[3]"), ("array<string>", "INTEGER[]"), ("tinyint", "INTEGER"),
               ("decimal(38,0)", "BIGINT"), ("array<json>", "INTEGER[]")],
}  # fmt: skip

UNKNOWN = [("whatever(", "VARCHAR"), ("money", "DECIMAL(19,4)"), ("my_type", "VARCHAR")]


def cases(listed: dict[str, list[tuple[str, str]]]) -> list[tuple[str, str, str]]:
    """All pairs with their database."""
    return [(dialect, *pair) for dialect, pairs in listed.items() for pair in pairs]


@pytest.mark.parametrize(("dialect", "declared", "found"), cases(SAME))
def test_spellings_of_one_type_are_one_type(dialect: str, declared: str, found: str) -> None:
    """What the database would make the same column of is the same type, defaults included."""
    assert same_native_type(declared, found, dialect) is True


@pytest.mark.parametrize(("dialect", "declared", "found"), cases(OTHER))
def test_another_length_zone_or_item_is_another_type(dialect: str, declared: str, found: str) -> None:
    """A length, precision, zone, sign or item type that differs makes another type."""
    assert same_native_type(declared, found, dialect) is False


@pytest.mark.parametrize(("declared", "found"), UNKNOWN)
def test_a_type_that_nobody_knows_is_never_the_same(declared: str, found: str) -> None:
    """A word that is no type of the database, nor the same type elsewhere, is not told: it neither passes nor fails."""
    assert same_native_type(declared, found, "duckdb") is None
