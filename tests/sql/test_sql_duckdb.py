"""DuckDB: what each condition counts on its own types, and on cells of CSV and JSON."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from contract_checks.datatypes import Category, category_of
from contract_checks.metrics import (
    Aggregate,
    AllOf,
    Bound,
    Condition,
    DuplicateKeys,
    FieldPath,
    FoundColumn,
    Length,
    Matches,
    Metric,
    MultipleOf,
    NotNull,
    NotOneOf,
    OneOf,
    Size,
    UniqueItems,
    UnparsedValues,
    ValueCount,
    Violations,
)
from contract_checks.scans import compile_scans
from contract_checks.sql import Relation
from contract_checks.sql.duckdb import DuckDbSql, typed_columns


def measure(metric: Metric, native: str, rows: str) -> Any:
    """What a metric measures on a column `a` of a native type with these rows."""
    relation = Relation("t", '"t"', "duckdb", (FoundColumn("a", native, category_of(native, "duckdb")),))
    [scan] = compile_scans([metric], relation, {}).scans
    assert scan.kind == "aggregate", scan.sql
    return asked(scan.sql, f"SELECT a::{native} AS a FROM (VALUES {rows}) v(a)")


def cells(metric: Metric, declared: Category, rows: str) -> Any:
    """What a metric measures on text cells of a CSV column `a` that was promised to be `declared`."""
    relation = Relation("t", '"t"', "duckdb", (FoundColumn("a", "", "string"),), "csv", {("a",): declared})
    [scan] = compile_scans([metric], relation, {}).scans
    return asked(scan.sql, f"SELECT a::VARCHAR AS a FROM (VALUES {rows}) v(a)")


def asked(sql: str, table: str) -> Any:
    connection = duckdb.connect()
    try:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE t AS {table}")
        rows = connection.execute(sql).fetchall()
    finally:
        connection.close()
    return rows[0][0] if rows else 0


A: FieldPath = ("a",)
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("native", "rows", "condition", "count"),
    [
        ("INTEGER", "(1), (NULL)", NotNull(), 1),
        ("VARCHAR", "(''), (NULL)", NotNull(), 1),
        ("DOUBLE", "('NaN'), (NULL)", NotNull(), 1),
        ("INTEGER", "(-1), (0), (NULL)", Bound(">=", 0), 1),
        ("INTEGER", "(-1), (0), (NULL)", Bound(">", 0), 2),
        ("INTEGER", "(0), (1)", Bound("<=", 0), 1),
        ("INTEGER", "(0), (1)", Bound("<", 0), 2),
        ("BIGINT", "(9007199254740993)", Bound("<=", 2**53), 1),
        ("HUGEINT", "(170141183460469231731687303715884105727)", Bound("<", 2**127 - 1), 1),
        ("UBIGINT", "(18446744073709551615)", Bound("<=", 2**64 - 1), 0),
        ("DECIMAL(18,2)", "(0.30), (0.31)", Bound("<=", Decimal("0.3")), 1),
        ("DECIMAL(18,2)", "(0.30)", Bound("<", Decimal("0.305")), 0),
        ("DOUBLE", "('0.1'), ('0.2'), ('NaN')", Bound("<=", 0.1), 2),
        ("DOUBLE", "('0.1'), ('0.2'), ('NaN')", Bound(">=", 0.2), 2),
        ("DOUBLE", "('0.1'), ('NaN'), ('-inf')", Bound(">=", 0.1, nan=False), 1),
        ("DOUBLE", "('inf'), ('-0.0')", Bound(">=", 0), 0),
        ("FLOAT", "(0.1), (0.2)", Bound("<=", 0.1), 1),
        ("DATE", "('0999-12-31'), ('1000-01-01'), ('infinity')", Bound(">=", date(1000, 1, 1)), 1),
        ("DATE", "('10000-01-01')", Bound("<=", date(9999, 12, 31)), 1),
        ("DATE", "('2024-01-01')", Bound(">=", datetime(2024, 1, 1, tzinfo=UTC)), 0),
        ("TIMESTAMP", "('2024-01-01 11:59:59'), ('2024-01-01 12:00:00')", Bound(">=", NOON), 1),
        ("TIMESTAMP", "('2023-12-31 23:59:59'), ('2024-01-01 00:00:00')", Bound(">=", date(2024, 1, 1)), 1),
        ("TIMESTAMP", "('2024-01-01 13:00:00')", Bound("<=", NOON, zone="Europe/Berlin"), 0),
        ("TIMESTAMPTZ", "('2024-01-01 13:30:00+02'), ('2024-01-01 14:00:00+02')", Bound(">=", NOON), 1),
        ("TIME", "('09:00:00'), ('17:00:01')", Bound("<=", time(17)), 1),
        ("VARCHAR", "('a'), ('b')", Bound("<=", "a"), 1),
        ("VARCHAR", "('é'), ('日本語'), (''), ('😀')", Length(1, 2), 2),
        ("VARCHAR", "('abc'), (NULL)", Length(minimum=4), 1),
        ("VARCHAR", "('a'), ('b'), (NULL), ('A')", Matches("^a$"), 2),
        ("VARCHAR", "('a'), ('b'), (NULL)", OneOf(("a",)), 1),
        ("VARCHAR", "('1'), ('true'), ('0.30')", OneOf((1, True, Decimal("0.30"))), 0),
        ("VARCHAR", "('a'), (NULL)", OneOf(()), 1),
        ("INTEGER", "(1), (2), (NULL)", OneOf((1, 2.0, "x")), 0),
        ("INTEGER", "(1), (2)", OneOf(("1",)), 1),
        ("DOUBLE", "('0.1'), ('NaN')", OneOf((0.1,)), 1),
        ("FLOAT", "(0.1)", OneOf((0.1,)), 0),
        ("BOOLEAN", "(true), (false)", OneOf((True,)), 1),
        ("BOOLEAN", "(true), (false)", OneOf((1, "false")), 0),
        ("DATE", "('2024-01-01'), ('2024-01-02')", OneOf(("2024-01-01", date(2024, 1, 2))), 0),
        ("TIMESTAMP", "('2024-01-01 12:00:00')", OneOf(("2024-01-01T12:00:00Z",)), 0),
        ("UUID", "('123e4567-e89b-12d3-a456-426614174000')", Matches("^123e"), 0),
        ("VARCHAR", "(''), ('N/A'), (NULL), ('x')", NotOneOf(("", "N/A")), 2),
        ("VARCHAR", "(''), ('N/A'), (NULL), ('x')", NotOneOf(("", None)), 2),
        ("VARCHAR", "('x'), (NULL)", NotOneOf((None,)), 1),
        ("INTEGER", "(1), (4), (NULL), (-4)", MultipleOf(Decimal(2)), 1),
        ("DECIMAL(18,2)", "(0.30), (0.35)", MultipleOf(Decimal("0.1")), 1),
        ("INTEGER", "(1), (5), (NULL)", AllOf((Bound(">=", 2), Bound("<=", 4))), 2),
        ("INTEGER[]", "([1]), ([]), (NULL)", Size(1, 2), 1),
        ("MAP(VARCHAR, INTEGER)", "(MAP {'a': 1}), (MAP {})", Size(minimum=1), 1),
        ("INTEGER[]", "([1, 1]), ([1, 2]), ([NULL, NULL]), (NULL)", UniqueItems(), 1),
    ],
)
def test_a_condition_counts_what_breaks_it(native: str, rows: str, condition: Condition, count: int) -> None:
    """Every condition counts exactly the values that break it, and NULL only where it is about NULL."""
    assert measure(Violations(A, condition), native, rows) == count


@pytest.mark.parametrize(
    ("native", "path", "rows", "condition", "count"),
    [
        ("STRUCT(b INTEGER)", ("a", "b"), "({'b': 1}), ({'b': NULL}), (NULL)", NotNull(), 1),
        ("STRUCT(b INTEGER)", ("a", "b"), "({'b': 1}), ({'b': NULL}), (NULL)", OneOf(()), 1),
        ("STRUCT(b INTEGER)", ("a", "b"), "({'b': -1}), (NULL)", Bound(">=", 0), 1),
        ("STRUCT(b STRUCT(c VARCHAR))", ("a", "b", "c"), "({'b': {'c': 'x'}}), ({'b': NULL})", Matches("y"), 1),
        ("INTEGER[]", ("a", "[]"), "([1, -1, NULL]), ([]), (NULL), ([-2])", Bound(">=", 0), 2),
        ("INTEGER[]", ("a", "[]"), "([1, NULL]), (NULL)", NotNull(), 1),
        ("STRUCT(b INTEGER)[]", ("a", "[]", "b"), "([{'b': 1}, {'b': NULL}])", NotNull(), 1),
        ("INTEGER[][]", ("a", "[]", "[]"), "([[1, -1], [-2]]), ([])", Bound(">=", 0), 2),
        ("JSON", ("a", "b"), """('{"b": "x"}'), ('{}'), ('{"b": null}'), (NULL)""", NotNull(), 2),
    ],
)
def test_values_inside_values_are_counted(
    native: str, path: FieldPath, rows: str, condition: Condition, count: int
) -> None:
    """Fields of structs and items of arrays are counted one by one; what a NULL would hold is not missing."""
    assert measure(Violations(path, condition), native, rows) == count


def test_all_items_are_the_whole_of_items() -> None:
    """The whole of a percentage of items is the number of all items, NULL ones included."""
    assert measure(ValueCount(("a", "[]")), "INTEGER[]", "([1, NULL]), ([]), (NULL), ([2])") == 3


@pytest.mark.parametrize(("function", "value"), [("min", -1), ("max", 5), ("avg", 2), ("sum", 4)])
def test_aggregates_ignore_null(function: Any, value: int) -> None:
    """An aggregate is one of the values that are there, and NULL of none."""
    assert measure(Aggregate(function, A), "INTEGER", "(-1), (5), (NULL)") == value
    assert measure(Aggregate(function, A), "INTEGER", "(NULL)") is None


@pytest.mark.parametrize(
    ("native", "rows", "keys"),
    [
        ("DOUBLE", "('NaN'), ('NaN')", 1),
        ("DOUBLE", "(0.0), ('-0.0')", 1),
        ("VARCHAR", "('a'), ('A')", 0),
        ("VARCHAR", "('a'), ('a ')", 0),
        ("VARCHAR", "(''), ('')", 1),
        ("VARCHAR", "(NULL), (NULL)", 0),
    ],
)
def test_keys_are_compared_as_the_type_compares(native: str, rows: str, keys: int) -> None:
    """NaN equals itself and zero its negative; text differs by case and blanks; NULL is never a duplicate."""
    relation = Relation("t", '"t"', "duckdb", (FoundColumn("a", native, category_of(native, "duckdb")),))
    [scan] = compile_scans([DuplicateKeys((A,))], relation, {}).scans
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT a::{native} AS a FROM (VALUES {rows}) v(a)")
    found = connection.execute(scan.sql).fetchall()
    assert len(found) == keys


def test_listed_values_are_exact_whatever_the_collation() -> None:
    """A column that compares without regard to case still holds only what a contract lists."""
    relation = Relation("t", '"t"', "duckdb", (FoundColumn("a", "VARCHAR", "string"),))
    [scan] = compile_scans([Violations(A, OneOf(("ABC",)))], relation, {}).scans
    assert asked(scan.sql, "SELECT a COLLATE NOCASE AS a FROM (VALUES ('abc'), ('ABC')) v(a)") == 1


# --------------------------------------------------------------------------- cells of CSV


@pytest.mark.parametrize(
    ("declared", "good", "bad"),
    [
        ("integer", "('1'), ('-1'), ('+1'), ('007')", "('1.0'), ('1e3'), (' 1'), ('x'), ('')"),
        ("number", "('1'), ('1.50'), ('.5'), ('1e3'), ('NaN'), ('-inf')", "('1,5'), ('x'), (''), ('0x10')"),
        ("boolean", "('true'), ('FALSE'), ('t')", "('1'), ('yes'), ('')"),
        (
            "date",
            "('2024-02-29'), ('0999-01-01')",
            "('2023-02-29'), ('2024-1-1'), ('01.02.2024'), ('2024-01-01T00:00')",
        ),
        ("timestamp", "('2024-01-01T12:00:00Z'), ('2024-01-01 12:00'), ('2024-01-01')", "('12:00'), ('x')"),
        ("time", "('12:00'), ('12:00:00.5')", "('25:00'), ('12'), ('noon')"),
    ],
)
def test_a_cell_is_of_its_type_or_not(declared: Category, good: str, bad: str) -> None:
    """A cell is of its promised type when its text is, to the letter."""
    assert cells(UnparsedValues(A), declared, good) == 0
    assert cells(UnparsedValues(A), declared, f"{bad}, (NULL)") == bad.count("(")


def test_text_is_always_text() -> None:
    """No cell is counted for a column of texts."""
    relation = Relation("t", '"t"', "duckdb", (FoundColumn("a", "", "string"),), "csv", {A: "string"})
    assert compile_scans([UnparsedValues(A)], relation, {}).known[0].value == 0


@pytest.mark.parametrize(
    ("declared", "rows", "condition", "count"),
    [
        ("integer", "('5'), ('x'), (NULL)", Bound(">=", 6), 1),
        ("integer", "('9007199254740993')", Bound("<=", 2**53), 1),
        ("number", "('0.30'), ('0.300000000000000001')", Bound("<=", Decimal("0.3")), 1),
        ("number", "('9007199254740993')", Bound("<=", 2**53), 1),
        ("number", "('nan'), ('1')", Bound("<=", 1), 1),
        ("number", "('1.0'), ('1'), ('x')", OneOf((1,)), 0),
        ("date", "('2024-01-01'), ('x')", Bound(">=", date(2024, 1, 2)), 1),
        ("integer", "('x'), (NULL)", NotNull(), 1),
        ("integer", "('x'), ('1')", OneOf((1,)), 0),
    ],
)
def test_a_cell_of_another_type_breaks_no_other_rule(
    declared: Category, rows: str, condition: Condition, count: int
) -> None:
    """Rules are exact on the digits of a cell, and a cell that is not of its type is left to the type check."""
    assert cells(Violations(A, condition), declared, rows) == count


@pytest.mark.parametrize(
    ("rows", "keys"), [("('1.0'), ('1.00')", 1), ("('9007199254740992'), ('9007199254740993')", 0), ("('x'), ('x')", 0)]
)
def test_numbers_in_cells_are_keys_by_value(rows: str, keys: int) -> None:
    """1.0 and 1.00 are one key, and numbers beyond doubles are told apart."""
    assert cells(DuplicateKeys((A,)), "number", rows) is not None
    relation = Relation("t", '"t"', "duckdb", (FoundColumn("a", "", "string"),), "csv", {A: "number"})
    [scan] = compile_scans([DuplicateKeys((A,))], relation, {}).scans
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT a FROM (VALUES {rows}) v(a)")
    assert len(connection.execute(scan.sql).fetchall()) == keys


def test_users_queries_see_typed_cells() -> None:
    """For a user's query each cell has the type of its promise, NULL where it is not of it."""
    columns = (FoundColumn("a", "", "string"), FoundColumn('b"c', "", "string"))
    relation = Relation("t", '"t"', "duckdb", columns, "csv", {A: "integer"})
    found = duckdb.sql(f"""WITH t AS (SELECT '7' AS a, 'x' AS "b""c") SELECT {typed_columns(relation)} FROM t""")
    assert found.fetchall() == [(7, "x")]


def test_a_cell_has_no_fields() -> None:
    """A promise about a field inside a CSV cell cannot be asked."""
    relation = Relation("t", '"t"', "duckdb", (FoundColumn("a", "", "string"),), "csv")
    [known] = compile_scans([Violations(("a", "b"), NotNull())], relation, {}).known
    assert known.error == "a CSV cell has no field a.b"


# --------------------------------------------------------------------------- values of JSON


def documents(metric: Metric, declared: Category, *values: str) -> Any:
    """What a metric measures on the key `a` of JSON objects whose values are these."""
    relation = Relation("t", '"t"', "duckdb", (FoundColumn("a", "JSON", "object"),), "json", {("a",): declared})
    expression = DuckDbSql(relation)
    compiled = compile_scans([metric], relation, {})
    assert expression.regex == "re2"
    rows = ", ".join(f"('{value}')" for value in values)
    table = f"SELECT json_extract(j::JSON, ['$.\"a\"']) AS cells FROM (VALUES {rows}) v(j)"
    return asked(compiled.scans[0].sql, table) if compiled.scans else compiled.known[0].value


@pytest.mark.parametrize(
    ("declared", "good", "bad"),
    [
        ("integer", "1", '"1"'),
        ("integer", "10000000000000000000", "1.5"),
        ("number", "1.5", '"1.5"'),
        ("boolean", "true", "1"),
        ("string", '"x"', "1"),
        ("date", '"2024-01-01"', "20240101"),
        ("object", '{"b": 1}', "[1]"),
        ("array", "[1]", '{"b": 1}'),
    ],
)
def test_a_json_value_is_of_its_type_or_not(declared: Category, good: str, bad: str) -> None:
    """JSON's own types count: a number in quotes is text; null and an absent key are of every type."""
    objects = [f'{{"a": {good}}}', f'{{"a": {bad}}}', '{"a": null}', "{}"]
    assert documents(UnparsedValues(A), declared, *objects) == 1


def test_null_and_an_absent_key_are_both_missing() -> None:
    """A key that is not there, and one that is null, are missing alike."""
    assert documents(Violations(A, NotNull()), "string", '{"a": "x"}', '{"a": null}', "{}") == 2
