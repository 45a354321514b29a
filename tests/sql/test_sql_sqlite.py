"""SQLite: what is counted where declared types do not bind."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from builders import contract_of, odcs, result, told

from contract_checks.datatypes import Category, category_of
from contract_checks.metrics import (
    Bound,
    Condition,
    FoundColumn,
    MultipleOf,
    NotOneOf,
    OneOf,
    UnparsedValues,
    Violations,
)
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.scans import compile_scans
from contract_checks.sql import Relation
from contract_checks.sql.sqlite import instant_text


@pytest.fixture
def check(tmp_path: Path) -> Any:
    """A function that checks a column `a` of a declared type, filled with the given cells."""

    def run(declared: str, cells: tuple[Any, ...], column: Mapping[str, Any]) -> Report:
        path = tmp_path / "t.sqlite"
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(f"CREATE TABLE t (a {declared})")
            database.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
        database.close()
        return check_contract(contract_of(odcs([{"name": "a", **column}])), source=f"sqlite:///{path}")

    return run


@pytest.mark.parametrize(
    ("declared", "logical", "good", "bad"),
    [
        ("INTEGER", "integer", (1, 2**63 - 1), ("x", 1.5, b"1")),
        ("REAL", "number", (1, 1.5), ("x",)),
        ("TEXT", "string", ("x", ""), (b"x",)),
        ("BOOLEAN", "boolean", (0, 1), (2, "true")),
        ("DATE", "date", ("2024-02-29", "0999-01-01"), ("hello", "2023-02-29", "2023-04-31", "2024-1-1", 20240101, "")),
        ("TIMESTAMP", "timestamp", ("2024-01-01 12:00", "2024-01-01T12:00:00Z"), ("x", 3, "2023-02-29 00:00")),
        ("TIME", "time", ("12:00", "12:00:00.5"), ("x", 12, "25:00")),
        ("JSON", "object", ("{}", '{"a": 1}'), ("[]", "no json", "")),
        ("JSON", "array", ("[]",), ("{}", "no json")),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_cell_is_of_its_type_or_not(
    check: Any, declared: str, logical: str, good: tuple[Any, ...], bad: tuple[Any, ...]
) -> None:
    """A cell is judged by what it holds, not by the declared type of its column; NULL is of every type."""
    report = check(declared, (None, *good, *bad), {"logicalType": logical})
    types = result(report, "types")
    assert types.status == "failed", told(report)
    assert types.rows == len(bad), told(report)


@pytest.mark.parametrize(
    ("declared", "cells", "column", "count"),
    [
        ("INTEGER", (None, 4, 5, "x"), {"logicalTypeOptions": {"multipleOf": 2}}, 2),
        ("INTEGER", (None, -1, 0, "x"), {"logicalTypeOptions": {"minimum": 0}}, 1),
        ("INTEGER", (None, 1, "x"), {"logicalTypeOptions": {"maximum": 9}}, 0),
        ("INTEGER", (2**53, 2**53 + 1), {"logicalTypeOptions": {"maximum": 2**53}}, 1),
    ],
    ids=["multiples", "minimum", "maximum", "beyond doubles"],
)
def test_a_rule_of_numbers_counts_numbers(
    check: Any, declared: str, cells: tuple[Any, ...], column: dict[str, Any], count: int
) -> None:
    """NULL breaks no rule, and a text among numbers is above and below no bound."""
    [rule] = column["logicalTypeOptions"]
    report = check(declared, cells, {"logicalType": "integer", **column})
    assert result(report, rule, "a").measured == count, told(report)


@pytest.mark.parametrize(("listed", "count"), [("ABC", 1), ("abc", 0)])
def test_listed_values_are_exact_whatever_the_collation(check: Any, listed: str, count: int) -> None:
    """A column that compares without regard to case still holds only what a contract lists."""
    rule = {"metric": "invalidValues", "arguments": {"validValues": [listed]}, "mustBe": 0}
    report = check("TEXT COLLATE NOCASE", ("abc",), {"logicalType": "string", "quality": [rule]})
    assert result(report, "invalidValues", "a").measured == count


@pytest.mark.parametrize(("pattern", "count"), [("^a", 1), ("(?=.b)", 1), ("^(?!b)", 1), ("'", 2), ("A", 2)], ids=str)
def test_patterns_are_ecma(check: Any, pattern: str, count: int) -> None:
    """SQLite asks the ECMA engine itself, lookaround and all."""
    report = check("TEXT", (None, "ab", "b"), {"logicalType": "string", "logicalTypeOptions": {"pattern": pattern}})
    assert result(report, "pattern", "a").measured == count


@pytest.mark.parametrize(
    ("cell", "broken"),
    [
        ("2024-01-01T12:00:00Z", 0),
        ("2024-01-01 11:59:59", 1),
        ("2024-01-01T13:59:59+02:00", 1),
        ("2024-01-01T14:00:00+02:00", 0),
        ("0999-01-01 00:00:00", 1),
        ("0001-01-01T00:00:00+05:00", 0),
        ("9999-12-31T23:59:59-05:00", 0),
        ("x", 0),
    ],
)
def test_timestamps_compare_as_instants(check: Any, cell: str, broken: int) -> None:
    """A timestamp of any spelling and zone is an instant; what no calendar holds is left to the type check."""
    options = {"logicalTypeOptions": {"minimum": "2024-01-01T12:00:00Z"}}
    report = check("TIMESTAMP", (cell,), {"logicalType": "timestamp", **options})
    assert result(report, "minimum", "a").measured == broken, told(report)


@pytest.mark.parametrize(
    ("moment", "zone", "text"),
    [
        (datetime(999, 1, 1, tzinfo=UTC), "UTC", "0999-01-01 00:00:00.000000"),
        (datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), "UTC", "2024-01-01 00:00:00.000000"),
        (datetime(2024, 7, 1, 2), "Europe/Berlin", "2024-07-01 00:00:00.000000"),
        (datetime(2024, 1, 1), "UTC", "2024-01-01 00:00:00.000000"),
    ],
)
def test_instants_are_texts_that_sort(moment: datetime, zone: str, text: str) -> None:
    """Every instant has one text of one length, in UTC; one without a zone is in the given one."""
    assert instant_text(moment, zone).startswith(text)
    assert len(instant_text(moment, zone)) == len(instant_text(datetime(9999, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize(
    ("native", "declared", "condition", "sql"),
    [
        ("INTEGER", "integer", OneOf((1,)), '"a" IN (1)'),
        ("TEXT", "string", NotOneOf(("a'b",)), "CAST(\"a\" AS TEXT) COLLATE BINARY IN ('a''b')"),
        ("DATE", "date", Bound("<", date(2024, 1, 1)), "\"a\" >= '2024-01-01'"),
        ("BOOLEAN", "boolean", OneOf((True,)), '"a" IN (TRUE)'),
        ("INTEGER", "integer", MultipleOf(Decimal(2)), '"a" % 2 <> 0'),
    ],
)
def test_conditions_are_plain_sql(native: str, declared: Category, condition: Condition, sql: str) -> None:
    """A condition is a plain predicate that an index may serve."""
    column = FoundColumn("a", native, category_of(native, "sqlite"))
    relation = Relation("t", '"t"', "sqlite", (column,), declared={("a",): declared})
    [scan] = compile_scans([Violations(("a",), condition)], relation, {}).scans
    assert sql in scan.sql


def test_a_type_that_sqlite_cannot_tell_is_said_so() -> None:
    """A promise that no cell can show is errored, not passed."""
    relation = Relation("t", '"t"', "sqlite", (FoundColumn("a", "TEXT", "string"),), declared={("a",): "unknown"})
    [known] = compile_scans([UnparsedValues(("a",))], relation, {}).known
    assert "cannot tell" in (known.error or "")
