"""Native types: the category each is sorted into, and when two of them are one."""

from __future__ import annotations

import pytest

from contract_checks.datatypes import (
    category_of,
    field_type,
    has_timezone,
    is_float,
    is_open_document,
    is_single,
    satisfied_categories,
)
from contract_checks.native_types import same_native_type


@pytest.mark.parametrize(
    ("dialect", "native", "category"),
    [
        ("duckdb", "VARCHAR", "string"),
        ("duckdb", "UUID", "string"),
        ("duckdb", "ENUM('a', 'b')", "string"),
        ("duckdb", "HUGEINT", "integer"),
        ("duckdb", "UTINYINT", "integer"),
        ("duckdb", "DECIMAL(18,2)", "number"),
        ("duckdb", "FLOAT", "number"),
        ("duckdb", "BOOLEAN", "boolean"),
        ("duckdb", "DATE", "date"),
        ("duckdb", "TIME", "time"),
        ("duckdb", "TIMESTAMP_NS", "timestamp"),
        ("duckdb", "TIMESTAMP WITH TIME ZONE", "timestamp"),
        ("duckdb", "STRUCT(a INTEGER)", "object"),
        ("duckdb", "JSON", "object"),
        ("duckdb", "MAP(VARCHAR, INTEGER)", "map"),
        ("duckdb", "INTEGER[]", "array"),
        ("duckdb", "BLOB", "binary"),
        ("postgres", "character varying(20)", "string"),
        ("postgres", "double precision", "number"),
        ("postgres", "bigint", "integer"),
        ("postgres", "text[]", "array"),
        ("postgres", "timestamp with time zone", "timestamp"),
        ("postgres", "time without time zone", "time"),
        ("bigquery", "INT64", "integer"),
        ("snowflake", "VARIANT", "object"),
        ("tsql", "BIT", "boolean"),
        ("postgres", "bit(3)", "binary"),
        ("duckdb", "", "unknown"),
        ("duckdb", "no such type(", "unknown"),
    ],
)
def test_every_native_type_has_a_category(dialect: str, native: str, category: str) -> None:
    """A database's own word is sorted into a logical category, and one that is not known says so."""
    assert category_of(native, dialect) == category


@pytest.mark.parametrize(
    ("dialect", "native", "also"),
    [
        ("duckdb", "DECIMAL(10,0)", "integer"),
        ("oracle", "NUMBER(5)", "integer"),
        ("snowflake", "NUMBER(38,0)", "integer"),
        ("mysql", "TINYINT(1)", "boolean"),
        ("duckdb", "JSON", "array"),
        ("duckdb", "JSON", "map"),
        ("duckdb", "MAP(VARCHAR, INTEGER)", "object"),
        ("duckdb", "FLOAT[]", "vector"),
    ],
)
def test_some_types_satisfy_another_category_as_well(dialect: str, native: str, also: str) -> None:
    """A decimal without decimals is an integer, and documents, maps and arrays stand for what they may hold."""
    own = category_of(native, dialect)
    assert {own, also} <= satisfied_categories(native, own, dialect)


@pytest.mark.parametrize(
    ("native", "category"),
    [
        ("INTEGER", "number"),
        ("DOUBLE", "integer"),
        ("DECIMAL(10,2)", "integer"),
        ("DECIMAL", "integer"),
        ("TINYINT(1)", "boolean"),
        ("DATE", "timestamp"),
        ("TIMESTAMP", "date"),
        ("VARCHAR", "object"),
        ("BOOLEAN", "integer"),
    ],
)
def test_categories_are_not_mixed(native: str, category: str) -> None:
    """An integer is no number, a date no timestamp, and text no document."""
    assert category not in satisfied_categories(native, category_of(native, "duckdb"), "duckdb")


@pytest.mark.parametrize(
    ("dialect", "declared", "found"),
    [
        ("duckdb", "TEXT", "VARCHAR"),
        ("postgres", "varchar(20)", "character varying(20)"),
        ("postgres", "varchar", "character varying(20)"),
        ("duckdb", "VARCHAR(20)", "VARCHAR"),  # DuckDB keeps no length
        ("duckdb", "NUMERIC", "DECIMAL(18,3)"),
        ("duckdb", "DECIMAL(18)", "DECIMAL(18,0)"),
        ("duckdb", "int", "INTEGER"),
        ("duckdb", "STRUCT(a INT, b TEXT)", "STRUCT(A INTEGER, b VARCHAR)"),
        ("duckdb", "INT[]", "INTEGER[]"),
        ("postgres", "int8", "bigint"),
        ("postgres", "timestamptz", "timestamp with time zone"),
        ("postgres", "char(3)", "character(3)"),
        ("postgres", "jsonb", "json"),
        ("postgres", "my_enum", "MY_ENUM"),
    ],
)
def test_spellings_of_one_type_are_equal(dialect: str, declared: str, found: str) -> None:
    """Aliases of a type are one type, and length and precision count only where they were declared."""
    assert same_native_type(declared, found, dialect) is True


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ("DECIMAL(18,2)", "DECIMAL(18,3)"),
        ("DECIMAL(18)", "DECIMAL(18,2)"),
        ("INTEGER", "BIGINT"),
        ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
        ("STRUCT(a INTEGER)", "STRUCT(b INTEGER)"),
        ("STRUCT(a INTEGER)", "STRUCT(a BIGINT)"),
        ("STRUCT(a INTEGER)", "STRUCT(a INTEGER, b INTEGER)"),
        ("INTEGER[]", "BIGINT[]"),
    ],
)
def test_other_types_are_not_equal(declared: str, found: str) -> None:
    """Another length, scale, zone, field or item type is another type."""
    assert same_native_type(declared, found, "duckdb") is False


@pytest.mark.parametrize("found", ["character varying(30)", "character varying", "character(20)"])
def test_a_declared_length_has_to_agree(found: str) -> None:
    """A declared length is part of the type where the database keeps lengths."""
    assert same_native_type("varchar(20)", found, "postgres") is False


def test_a_type_that_the_database_does_not_have_is_not_compared() -> None:
    """Nobody can say whether a column is of a type that is none."""
    assert same_native_type("whatever(", "VARCHAR", "duckdb") is None


@pytest.mark.parametrize(
    ("native", "path", "found"),
    [
        ("STRUCT(a INTEGER, B VARCHAR)", ("a",), "INT"),
        ("STRUCT(a INTEGER, B VARCHAR)", ("b",), "TEXT"),
        ("STRUCT(a STRUCT(c DATE))", ("a", "c"), "DATE"),
        ("STRUCT(a INTEGER)[]", ("[]", "a"), "INT"),
        ("MAP(VARCHAR, INTEGER)", ("{keys}",), "TEXT"),
        ("MAP(VARCHAR, INTEGER)", ("{values}",), "INT"),
        ("JSON", ("any", "thing"), "JSON"),
        ("STRUCT(a INTEGER)", ("x",), None),
        ("STRUCT(b INTEGER, B VARCHAR)", ("B",), "TEXT"),
        ("INTEGER", ("a",), None),
        ("INTEGER", ("[]",), None),
    ],
)
def test_fields_have_types(native: str, path: tuple[str, ...], found: str | None) -> None:
    """The type at a path is found by exact name, else by the only name that differs in case."""
    assert field_type(native, path, "duckdb") == found


@pytest.mark.parametrize(
    ("question", "dialect", "yes", "no"),
    [
        (has_timezone, "duckdb", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP"),
        (has_timezone, "postgres", "time with time zone", "time without time zone"),
        (has_timezone, "snowflake", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"),
        (is_float, "postgres", "double precision", "numeric(10,2)"),
        (is_single, "postgres", "real", "double precision"),
        (is_single, "duckdb", "FLOAT", "DOUBLE"),
        (is_open_document, "postgres", "jsonb", "text"),
    ],
)
def test_properties_of_types(question: object, dialect: str, yes: str, no: str) -> None:
    """Time zones, floating points and documents are told by the native type."""
    assert callable(question)
    assert (question(yes, dialect), question(no, dialect)) == (True, False)
