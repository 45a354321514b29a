"""What a CHECK says of a column, as far as it is understood for certain."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from contract_checks.guarantees import CheckConstraint
from contract_checks.metrics import Bound, Condition, FoundColumn, Length, NotNull, OneOf
from contract_checks.sources.postgres_constraints import _GENUINE
from contract_checks.sql import Relation
from contract_checks.sql.check_constraints import conditions_of

COLUMNS = {
    "postgres": (
        FoundColumn("i", "integer", "integer"),
        FoundColumn("n", "numeric(10,2)", "number"),
        FoundColumn("f", "double precision", "number"),
        FoundColumn("s", "text", "string"),
        FoundColumn("v", "character varying(9)", "string"),
        FoundColumn("c", "character(3)", "string"),
        FoundColumn("d", "date", "date"),
        FoundColumn("I", "integer", "integer"),
    ),
    "duckdb": (
        FoundColumn("i", "INTEGER", "integer"),
        FoundColumn("n", "DECIMAL(10,2)", "number"),
        FoundColumn("f", "DOUBLE", "number"),
        FoundColumn("s", "VARCHAR", "string"),
        FoundColumn("d", "DATE", "date"),
    ),
    "sqlite": (FoundColumn("i", "INTEGER", "integer"),),
}


def read(expression: str, dialect: str, exact_text: bool = True) -> list[tuple[str, Condition]]:
    """The conditions of an expression as the database shows it."""
    relation = Relation("t", '"t"', dialect, COLUMNS[dialect])
    return conditions_of(CheckConstraint(expression, exact_text), relation)


@pytest.mark.parametrize(
    ("expression", "conditions"),
    [
        ("((i >= 1) AND (i <= 100))", [("i", Bound(">=", 1)), ("i", Bound("<=", 100))]),
        ("(5 < i)", [("i", Bound(">", 5))]),
        ("(i >= '-5'::integer)", [("i", Bound(">=", -5))]),
        ("(n >= (0)::numeric)", [("n", Bound(">=", 0))]),
        ("(n >= '-1.5'::numeric)", [("n", Bound(">=", Decimal("-1.5")))]),
        ("(d >= '2020-01-01'::date)", [("d", Bound(">=", date(2020, 1, 1)))]),
        ("((i IS NULL) OR (i > 3))", [("i", Bound(">", 3))]),
        ("((i IS NULL) OR ((i > 3) AND (n > (5)::numeric)))", [("i", Bound(">", 3))]),
        ("(s IS NOT NULL)", [("s", NotNull())]),
        ("(s = ANY (ARRAY['a'::text, 'b'::text]))", [("s", OneOf(("a", "b")))]),
        (
            "((v)::text = ANY ((ARRAY['a'::character varying, 'it''s'::character varying])::text[]))",
            [("v", OneOf(("a", "it's")))],
        ),
        ("(char_length(s) > 3)", [("s", Length(4))]),
        ("(length((v)::text) < 3)", [("v", Length(None, 2))]),
        ('("I" > 0)', [("I", Bound(">", 0))]),
    ],
)
def test_what_postgres_shows_is_understood(expression: str, conditions: list[tuple[str, Condition]]) -> None:
    """Comparisons with literals of the column's type, lists, lengths and NULL are read as PostgreSQL writes them."""
    assert read(expression, "postgres") == conditions


@pytest.mark.parametrize(
    "expression",
    [
        "((i > 3) OR (i < 1))",
        "((i IS NOT NULL) OR (i > 3))",
        "(i IS NULL)",
        "(NOT (i IS NOT NULL))",
        "(NOT (i > 3))",
        "(i <> 3)",
        "(i > n)",
        "((i)::numeric >= 0.5)",
        "(f >= (0)::double precision)",
        "(n <= '1e2'::numeric)",
        "(n >= (0.555)::numeric(10,2))",
        "(i < ANY (ARRAY[1, 2]))",
        "(i = ANY ('{1,2}'::integer[]))",
        "(abs(i) > 3)",
        "(lower(s) = 'a'::text)",
        "(octet_length(s) > 3)",
        "(s >= 'a'::text)",
        "(s = E'a\\\\b'::text)",
        "((s)::character varying(1) = 'a'::text)",
        "(c = 'abc'::bpchar)",
        "((s COLLATE \"C\") = 'a'::text)",
        "(i = ANY (ARRAY[1, NULL::integer]))",
        "(i BETWEEN SYMMETRIC 5 AND 1)",
        "(i IN (SELECT 1))",
        "(other.i > 3)",
        "(j > 3)",
        "this is no SQL (",
    ],
)
def test_what_is_not_understood_says_nothing(expression: str) -> None:
    """What could mean anything else is passed over."""
    assert read(expression, "postgres") == []


def test_texts_that_may_compare_loosely_say_nothing() -> None:
    """Lists and lengths of texts count only where they compare character by character."""
    assert read("(s = ANY (ARRAY['a'::text]))", "postgres", exact_text=False) == []
    assert read("(length(s) = 3)", "postgres", exact_text=False) == []
    assert read("(s IN ('a', 'b'))", "duckdb") == []


@pytest.mark.parametrize(
    ("expression", "conditions"),
    [
        ("((n >= 0) AND (n <= 1000000.0))", [("n", Bound(">=", 0))]),
        ("(I BETWEEN 1 AND 5)", [("i", Bound(">=", 1)), ("i", Bound("<=", 5))]),
        ("(i NOT BETWEEN 1 AND 5)", []),
        ("(i IN (1, -2))", [("i", OneOf((1, -2)))]),
        ("(i NOT IN (1, 2))", []),
        ("(i IN (1, NULL))", []),
        ("(d > CAST('2020-01-01' AS \"DATE\"))", [("d", Bound(">", date(2020, 1, 1)))]),
        ("(d > '2020-01-01')", [("d", Bound(">", date(2020, 1, 1)))]),
        ("(d > '2020-1-1')", []),
        ("(i = CAST(1.6 AS INTEGER))", []),
        ("(f > 1)", []),
        ("(i IS NOT NULL)", [("i", NotNull())]),
    ],
)
def test_what_duckdb_shows_is_understood(expression: str, conditions: list[tuple[str, Condition]]) -> None:
    """DuckDB shows whole numbers as they are; with a point they may be doubles, which compare otherwise."""
    assert read(expression, "duckdb") == conditions


def test_a_check_of_sqlite_says_nothing() -> None:
    """SQLite's CHECK constraints may be switched off."""
    assert read("i > 3", "sqlite") == []


@pytest.mark.parametrize(
    ("version", "genuine"),
    [
        ("PostgreSQL 18.6 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 14.2.1 20250110, 64-bit", True),
        (
            "PostgreSQL 16.4 (Debian 16.4-1.pgdg120+1) on aarch64-unknown-linux-gnu, compiled by gcc 12.2.0, 64-bit",
            True,
        ),
        ("PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 (Red Hat), Redshift 1.0.77", False),
        ("PostgreSQL 9.5.0 on x86_64-unknown-linux-gnu (materialized v0.26.0)", False),
        ("PostgreSQL 13.14.0-RisingWave-2.0.1 (abc)", False),
        ("PostgreSQL 11.2-YB-2.15.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang 12.0, 64-bit", False),
        ("CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15)", False),
    ],
)
def test_only_postgresql_itself_is_taken_at_its_word(version: str, genuine: bool) -> None:
    """Servers that only speak like PostgreSQL may list constraints that they do not enforce."""
    assert (_GENUINE.fullmatch(version) is not None) == genuine
