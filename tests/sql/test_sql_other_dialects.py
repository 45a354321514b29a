"""Databases that no test can start: every condition is SQL that they parse, or is said not to be askable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import get_args

import pytest
import sqlglot
from sqlglot import exp

from contract_checks.datatypes import category_of
from contract_checks.metrics import (
    ITEMS,
    MAP_KEYS,
    MAP_VALUES,
    Aggregate,
    AggregateFunction,
    AllOf,
    Before,
    Bound,
    Condition,
    DuplicateKeys,
    FarFrom,
    FieldPath,
    FollowedWithin,
    FoundColumn,
    HasFormat,
    HasKeys,
    Length,
    Matches,
    Metric,
    MultipleOf,
    NotFuture,
    NotNull,
    NotOneOf,
    OneOf,
    OrphanKeys,
    OtherRows,
    RowCount,
    Size,
    UniqueItems,
    Violations,
)
from contract_checks.scans import Compiled, compile_scans, sample_scan
from contract_checks.sources.catalogue import table_sql
from contract_checks.sql import Relation

DIALECTS = (
    *("snowflake", "bigquery", "mysql", "tsql", "oracle", "spark", "databricks", "trino", "clickhouse", "redshift"),
)
NOT_IN_SQLGLOT = {
    "clickhouse": {
        *(
            "avgOrNull",
            "maxOrNull",
            "minOrNull",
            "stddevPopOrNull",
            "sumOrNull",
            "toDate32",
            "toDateTime64",
            "toInt256",
        ),
        *("arrayFlatten", "arrayMap", "ifNull", "mapKeys", "mapValues", "toUnixTimestamp64Micro", "tupleElement"),
    },
    **{name: {"MAP_VALUES", "TO_TIME"} for name in ("spark", "databricks")},
    "tsql": {"STDEVP"},
}
"""Functions of a database that its manual has and sqlglot does not know by name."""
STANDARD = {
    "s": "VARCHAR(20)",
    "i": "BIGINT",
    "d": "DECIMAL(10,2)",
    "f": "DOUBLE PRECISION",
    "g": "REAL",
    "day": "DATE",
    "at": "TIMESTAMP",
    "clock": "TIME",
    "flag": "BOOLEAN",
    "items": "ARRAY",
    "later": "TIMESTAMP",
    "st": "STRUCT",
    "m": "MAP",
}
SPARK = {
    "s": "string",
    "f": "double",
    "g": "float",
    "items": "array<string>",
    "st": "struct<zip:string,rows:array<struct<n:int>>>",
    "m": "map<string,int>",
}
OWN: Mapping[str, Mapping[str, str]] = {
    "snowflake": {"s": "TEXT", "d": "NUMBER(10,2)", "f": "FLOAT", "g": "FLOAT"},
    "bigquery": {"s": "STRING", "i": "INT64", "d": "NUMERIC", "f": "FLOAT64", "g": "FLOAT64", "flag": "BOOL"},
    "mysql": {"f": "DOUBLE", "g": "FLOAT", "at": "DATETIME", "later": "DATETIME", "flag": "TINYINT(1)"},
    "tsql": {"s": "NVARCHAR(20)", "f": "FLOAT", "at": "DATETIME2", "later": "DATETIME2", "flag": "BIT"},
    "oracle": {
        "s": "VARCHAR2(20)",
        "i": "NUMBER(19,0)",
        "d": "NUMBER(10,2)",
        "f": "BINARY_DOUBLE",
        "g": "BINARY_FLOAT",
    },
    "spark": SPARK,
    "databricks": SPARK,
    "trino": {"s": "VARCHAR", "f": "DOUBLE"},
    "clickhouse": {
        "s": "Nullable(String)",
        "i": "Int64",
        "d": "Decimal(10, 2)",
        "f": "Float64",
        "g": "Nullable(Float32)",
        "at": "DateTime64(3)",
        "later": "DateTime",
        "items": "Array(Nullable(String))",
        "st": "Tuple(zip String, rows Array(Tuple(n Int32)))",
        "m": "Map(String, Int64)",
    },
}
CONDITIONS: list[tuple[FieldPath | str, Condition]] = [
    ("s", NotNull()),
    ("s", Length(1, 3)),
    ("s", Matches("^a")),
    ("s", HasFormat("uuid")),
    ("s", OneOf(("a", "it's", "back\\slash", "日本"))),
    ("s", OneOf(())),
    ("s", NotOneOf(("", None))),
    ("s", AllOf((Length(1), OneOf(("a",))))),
    ("s", AllOf((NotNull(), Matches("^a")))),
    ("i", Bound(">=", 0)),
    ("i", OneOf((1, 2**53 + 1))),
    ("i", MultipleOf(Decimal(2))),
    ("d", Bound("<", Decimal("0.30"))),
    ("d", MultipleOf(Decimal("0.05"))),
    ("f", Bound("<=", 0.1)),
    ("f", Bound(">", -1, nan=False)),
    ("g", Bound("<=", 0.1)),
    ("day", Bound(">=", date(999, 1, 1))),
    ("day", OneOf(("2024-01-01",))),
    ("at", Bound(">", datetime(2024, 1, 1, 12, 30, tzinfo=UTC))),
    ("clock", Bound("<=", time(17))),
    ("flag", OneOf((True,))),
    ("items", Size(1, 2)),
    ("items", UniqueItems()),
    ("items", NotNull()),
    ("i", Bound("<=", Decimal("1E+40"))),
    ("d", Bound(">=", Decimal("0.001"))),
    ("d", OneOf((Decimal("0.30"), Decimal("0.301")))),
    ("f", OneOf((0.1, 1e300))),
    ("at", NotFuture(at=datetime(2024, 1, 1, tzinfo=UTC))),
    ("day", Before(1, "day", at=datetime(2024, 1, 1, tzinfo=UTC))),
    ("at", FollowedWithin(("later",), Decimal(60))),
    ("m", Size(1, 2)),
    ("m", HasKeys(("k",))),
    ("st", HasKeys(("zip",))),
    (("st", "zip"), NotNull()),
    (("st", "zip"), Matches("^[0-9]{5}$")),
    (("items", ITEMS), NotNull()),
    (("items", ITEMS), OneOf(("a",))),
    (("st", "rows", ITEMS, "n"), Bound(">", 0)),
    (("m", MAP_KEYS), Length(1)),
    (("m", MAP_VALUES), Bound(">", 0)),
]


def relation(dialect: str) -> Relation:
    """A table with a column of each kind."""
    types = {**STANDARD, **OWN.get(dialect, {})}
    columns = tuple(FoundColumn(name, native, category_of(native, dialect)) for name, native in types.items())
    return Relation("table t", table_sql(("s", "odd t"), dialect), dialect, columns)


def compiled(dialect: str, *metrics: Metric) -> Compiled:
    table = relation(dialect)
    return compile_scans(metrics, table, {"u": table})


def statement(dialect: str, *metrics: Metric) -> str:
    """The one statement that some metrics become."""
    [scan] = compiled(dialect, *metrics).scans
    return scan.sql


def assert_read(sql: str, dialect: str) -> None:
    """That a grammar reads a statement as it was meant, and knows its functions."""
    tree = sqlglot.parse_one(sql, dialect=dialect)
    assert sqlglot.parse_one(tree.sql(dialect=dialect), dialect=dialect) == tree
    unknown = {one.name for one in tree.find_all(exp.Anonymous, exp.AnonymousAggFunc)}
    assert unknown <= NOT_IN_SQLGLOT.get(dialect, set()), sql


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("column", "condition"), CONDITIONS, ids=[f"{name} {one}" for name, one in CONDITIONS])
def test_a_condition_is_sql_or_says_why_not(dialect: str, column: FieldPath | str, condition: Condition) -> None:
    """Every condition is one statement that the database's grammar reads as it was meant, or an error with a reason."""
    field = (column,) if isinstance(column, str) else column
    found = compiled(dialect, Violations(field, condition))
    assert len(found.scans) + len(found.known) == 1
    for scan in found.scans:
        assert_read(scan.sql, dialect)
    for known in found.known:
        assert known.error or known.skipped


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "metric",
    [
        RowCount(),
        *(Aggregate(function, (name,)) for function in get_args(AggregateFunction) for name in ("i", "d", "f")),
        DuplicateKeys((("s",), ("i",))),
        OrphanKeys((("i",),), "u", (("i",),)),
        OtherRows("u"),
        FarFrom(("s",), ("f",), ("g",), (("a", 0.0, 0.0),), Decimal(1)),
    ],
    ids=lambda metric: f"{type(metric).__name__}{getattr(metric, 'function', '')}",
)
def test_a_metric_is_sql(dialect: str, metric: Metric) -> None:
    """Counts, aggregates, keys, relationships and comparisons are statements that every database's grammar reads."""
    assert_read(statement(dialect, metric), dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_sample_is_sql(dialect: str) -> None:
    """The statement that shows offenders is read by every database's grammar."""
    metrics = [Violations(("s",), NotNull()), Violations(("i",), Bound(">=", 0))]
    scan = sample_scan(metrics, (("i",),), relation(dialect), 5)
    assert scan is not None
    assert_read(scan.sql, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_patterns_are_judged_where_their_meaning_is_sure(dialect: str) -> None:
    """Where no exact translation of a pattern is known, the distinct values are judged instead."""
    for pattern in ("^a", "^a(?!b)"):
        [scan] = compiled(dialect, Violations(("s",), Matches(pattern))).scans
        sure = dialect in ("spark", "databricks", "clickhouse") and pattern == "^a"
        assert scan.kind == ("aggregate" if sure else "values")


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("mysql", []),
        ("tsql", []),
        ("bigquery", ["<> `f`"]),
        ("trino", ['<> "f"']),
        ("clickhouse", ['<> "f"']),
        ("snowflake", ["'NaN'"]),
        ("spark", ["'NaN'"]),
        ("redshift", ["'NaN'"]),
    ],
)
def test_a_nan_is_told_as_the_database_tells_it(dialect: str, words: list[str]) -> None:
    """NaN equals itself in some databases, not in others, and some have none."""
    sql = statement(dialect, Violations(("f",), Bound("<=", 1)))
    assert [one for one in ("<> `f`", '<> "f"', "'NaN'") if one in sql] == words


@pytest.mark.parametrize(
    ("dialect", "function"),
    [
        *(("mysql", "CHAR_LENGTH("), ("clickhouse", "CHAR_LENGTH("), ("snowflake", "LENGTH(")),
        ("tsql", "LEN(CAST([s] AS NVARCHAR(MAX)) + '.') - 1"),
    ],
)
def test_a_length_is_a_number_of_characters(dialect: str, function: str) -> None:
    """Bytes are not characters, and blanks at the end are."""
    assert function in statement(dialect, Violations(("s",), Length(1)))


@pytest.mark.parametrize(
    ("dialect", "collation"),
    [("mysql", "COLLATE utf8mb4_bin"), ("tsql", "COLLATE Latin1_General_100_BIN2"), ("snowflake", None)],
)
def test_listed_values_are_exact_where_columns_are_not(dialect: str, collation: str | None) -> None:
    """Where columns compare without regard to case, what a contract lists still does not."""
    sql = statement(dialect, Violations(("s",), OneOf(("a",))))
    assert (collation or "COLLATE") in sql if collation else "COLLATE" not in sql


@pytest.mark.parametrize("dialect", [one for one in DIALECTS if one not in ("oracle", "redshift")])
def test_an_average_is_not_rounded(dialect: str) -> None:
    """Where the average of integers or decimals is cut to a few digits, it is worked out of the sum, as a double."""
    for name in ("i", "d"):
        sql = statement(dialect, Aggregate("avg", (name,)))
        assert "AVG" not in sql.upper()
        assert re.search(r"/ \(?NULLIF\(COUNT", sql.upper())


def test_an_average_of_integers_is_no_integer() -> None:
    """Redshift cuts it to one."""
    assert "AVG(CAST(" in statement("redshift", Aggregate("avg", ("i",)))


@pytest.mark.parametrize(
    ("dialect", "condition"),
    [("tsql", "[flag] IN (1)"), ("mysql", "`flag` IN (1)"), ("snowflake", '"flag" IN (TRUE)')],
)
def test_a_boolean_is_what_the_database_has_for_it(dialect: str, condition: str) -> None:
    """True is 1 where a database keeps booleans as bits or numbers."""
    assert condition in statement(dialect, Violations(("flag",), OneOf((True,))))


def test_text_of_sql_server_is_national() -> None:
    """A text that no code page holds is compared as it is."""
    assert "N'日本'" in statement("tsql", Violations(("s",), OneOf(("日本",))))


def test_no_word_for_false_is_needed() -> None:
    """Oracle, which long had no word for it, says false with a comparison."""
    assert "1 = 0" in statement("oracle", Violations(("s",), OneOf(())))
