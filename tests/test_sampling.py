"""Offending rows: which are shown, in how many statements, and what is never shown."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from builders import contract_of, odcs, result, told
from databases import Put
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_checks.metrics import Sample
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.sampling import LONGEST, MASK, RARE, printable

SECRET = {"classification": "restricted"}
KEY = {"name": "id", "logicalType": "integer", "primaryKey": True, "primaryKeyPosition": 1}


@pytest.fixture
def check(put: Put) -> Callable[..., Report]:
    """A function that checks columns against the rows of a SELECT in DuckDB."""

    def run(select: str, columns: Any, quality: Any = (), **options: Any) -> Report:
        return check_contract(contract_of(odcs(columns, quality)), source=put("duckdb", select), **options)

    return run


def sample_of(report: Report, rule: str, column: str | None = None) -> Sample:
    found = result(report, rule, column).sample
    assert found is not None, told(report)
    return found


# --------------------------------------------------------------------------- what is shown


def test_a_failed_row_rule_shows_its_rows_by_their_key(check: Callable[..., Report]) -> None:
    """A sample has the primary key and the column concerned of the offending rows only."""
    columns = [KEY, {"name": "a", "logicalType": "integer", "logicalTypeOptions": {"minimum": 0}}]
    report = check("SELECT * FROM (VALUES (1, 5), (2, -1), (3, NULL)) v(id, a)", columns)
    found = sample_of(report, "minimum", "a")
    assert (found.columns, found.rows) == (("id", "a"), ((2, -1),))


def test_keys_and_values_are_shown_with_their_number(check: Callable[..., Report]) -> None:
    """A recurring key, and a value judged on its own, are shown once with how many rows have it."""
    columns = [{"name": "a", "logicalType": "string", "unique": True, "logicalTypeOptions": {"pattern": "^(?!x)"}}]
    report = check("SELECT * FROM (VALUES ('x'), ('x'), ('y')) v(a)", columns)
    for rule in ("unique", "pattern"):
        found = sample_of(report, rule, "a")
        assert (found.columns, found.rows) == (("a", "rows"), (("x", 2),))


def test_a_passed_check_shows_nothing(check: Callable[..., Report]) -> None:
    """There is no sample without an offender, and none of a number."""
    report = check("SELECT 1 AS a", [{"name": "a", "required": True}], [{"metric": "rowCount", "mustBe": 9}])
    assert [one.sample for one in report.results] == [None] * len(report.results)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_as_many_rows_are_shown_as_are_asked_for(check: Callable[..., Report], rows: int) -> None:
    """The number of rows is a setting, and none asks nothing."""
    columns = [{"name": "a", "logicalType": "integer", "required": True}]
    report = check("SELECT NULL::INTEGER AS a FROM range(9)", columns, sample_rows=rows)
    shown = result(report, "required", "a").sample
    assert (len(shown.rows) if shown else 0) == rows
    assert len(report.datasets[0].statements) == (1 if rows == 0 else 2)


def test_rare_offenders_share_one_statement(check: Callable[..., Report]) -> None:
    """All rules that few rows break are illustrated by one statement; a frequent one has its own."""
    columns = [{"name": name, "logicalType": "integer", "logicalTypeOptions": {"minimum": 0}} for name in "abc"]
    select = f"SELECT -(i = 1)::INTEGER AS a, -(i = 2)::INTEGER AS b, -1 AS c FROM range({RARE + 1}) r(i)"
    report = check(select, columns)
    assert [len(sample_of(report, "minimum", name).rows) for name in "abc"] == [1, 1, 5]
    assert len(report.datasets[0].statements) == 3


def test_a_cell_of_another_type_is_shown(tmp_path: Path) -> None:
    """The sample of a type check shows the cells as they stand."""
    (tmp_path / "t.csv").write_text("a\n1\nx\n")
    report = check_contract(contract_of(odcs([{"name": "a", "logicalType": "integer"}])), source=str(tmp_path))
    assert sample_of(report, "types").rows == (("x",),)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"\x00\xff", "00ff"),
        ("x" * (LONGEST + 1), "x" * (LONGEST - 1) + "…"),
        ([1, 2], "[1, 2]"),
        (None, None),
        (1.5, 1.5),
        (datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)),
    ],
    ids=str,
)
def test_a_cell_is_short_and_printable(value: Any, shown: Any) -> None:
    """A cell is a scalar, or a text of what it is, cut where it is long."""
    assert printable(value) == shown


# --------------------------------------------------------------------------- what is never shown


@pytest.mark.parametrize(
    ("rule", "column"),
    [
        ("required", {"required": True}),
        ("unique", {"unique": True}),
        ("minLength", {"logicalTypeOptions": {"minLength": 99}}),
        ("pattern", {"logicalTypeOptions": {"pattern": "^(?!hu.h)"}}),
    ],
)
def test_sensitive_cells_are_masked(check: Callable[..., Report], rule: str, column: dict[str, Any]) -> None:
    """A value of a sensitive column is in no sample, key or count; that it is NULL may be seen."""
    select = "SELECT * FROM (VALUES ('hush'), ('hush'), (NULL)) v(a)"
    report = check(select, [{"name": "a", "logicalType": "string", **column, **SECRET}])
    cells = {cell for row in sample_of(report, rule, "a").rows for cell in row[:1]}
    assert cells == ({None} if rule == "required" else {MASK})
    assert "hush" not in told(report)


def test_the_key_of_a_row_may_be_sensitive_too(check: Callable[..., Report]) -> None:
    """A sensitive key is masked in the samples of all other columns."""
    columns = [{**KEY, **SECRET}, {"name": "a", "logicalType": "integer", "logicalTypeOptions": {"minimum": 0}}]
    report = check("SELECT 4711 AS id, -1 AS a", columns)
    assert sample_of(report, "minimum", "a").rows == ((MASK, -1),)


def test_what_holds_a_sensitive_field_is_masked(check: Callable[..., Report]) -> None:
    """A struct with a sensitive field is masked as a whole, whatever the case of the names."""
    inner = {"name": "B", "logicalType": "string", **SECRET}
    column = {"name": "A", "logicalType": "object", "properties": [inner], "unique": True}
    report = check("SELECT {'b': 'hush'} AS a FROM range(2)", [column])
    assert sample_of(report, "unique", "A").rows == ((MASK, 2),)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT MAX(a) FROM t", MASK),
        ("SELECT MAX(day) FROM t", MASK),
        ("SELECT COUNT(*) FROM t", 1),
        ("SELECT a = 'x' FROM t", False),
    ],
)
def test_what_a_query_returns_is_masked_unless_it_is_a_number(
    check: Callable[..., Report], query: str, shown: Any
) -> None:
    """A text or date that a query returns may be a sensitive value; a count or a truth is shown."""
    columns = [{"name": "a", "logicalType": "string", **SECRET}, {"name": "day", "logicalType": "date"}]
    rules = [{"type": "sql", "query": query, "mustBe": "2000-01-01" if shown is MASK else 7, "id": "q"}]
    report = check("SELECT 'hush' AS a, DATE '2001-02-03' AS day", columns, rules)
    assert result(report, "q").measured == shown
    assert "hush" not in told(report)
    assert "2001" not in told(report)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("SELECT MAX(pay) FROM t", MASK),
        ("SELECT pay FROM t", MASK),
        ("SELECT MAX(p) FROM (SELECT Pay AS p FROM t) AS x", MASK),
        ("SELECT (SELECT MIN(pay) FROM t)", MASK),
        ("WITH x AS (SELECT * FROM t) SELECT MAX(pay) + 1 FROM x", MASK),
        ("SELECT COUNT(*) FROM t WHERE pay > 5", 1),
        ("SELECT COUNT(*) FROM (SELECT pay FROM t GROUP BY pay HAVING COUNT(*) > 1) AS twice", 0),
        ("SELECT SUM(CASE WHEN pay > 5 THEN 1 ELSE 0 END) * 100 / COUNT(pay) FROM t", 100),
        ("SELECT MAX(CASE WHEN pay > 5 THEN 1 END) FROM t", 1),
        ("SELECT MAX(bonus) FROM t", 3),
        ("SELECT COUNT(DISTINCT pay) FROM t", 1),
    ],
)
def test_a_number_is_masked_where_it_is_a_sensitive_value(check: Callable[..., Report], query: str, shown: Any) -> None:
    """A query that gives a value of a sensitive column, not a count, sum or comparison of them, does not tell it."""
    columns = [{"name": "pay", "logicalType": "integer", **SECRET}, {"name": "bonus", "logicalType": "integer"}]
    rules = [{"type": "sql", "query": query, "mustBe": 77, "id": "q"}]
    report = check("SELECT 777111 AS pay, 3 AS bonus", columns, rules)
    assert result(report, "q").measured == shown, told(report)
    assert "777" not in told(report).replace(",", "")


def test_a_database_error_does_not_tell_the_value(check: Callable[..., Report]) -> None:
    """Databases quote what they stumble over; beside sensitive columns those words are masked."""
    rule = {"id": "q", "type": "sql", "query": "SELECT SUM(CAST(a AS INTEGER)) FROM t", "mustBe": 0}
    columns = [{"name": "a", "logicalType": "string", **SECRET}]
    report = check("SELECT 'it''s ''hush'' 4711' AS a", columns, [rule])
    found = result(report, "q")
    assert found.status == "errored"
    assert MASK in found.description
    assert not {"hush", "4711", "it's"} & set(found.description.replace("'", " ").split())


def test_a_reason_of_ours_is_not_masked(check: Callable[..., Report]) -> None:
    """What is said before any value is read is said in full."""
    columns = [{"name": "a", "logicalType": "string", **SECRET}, {"name": "gone", "required": True}]
    report = check("SELECT 'x' AS a", columns)
    assert "column 'gone' does not exist" in result(report, "required", "gone").description


def test_the_newest_sensitive_moment_is_not_told(tmp_path: Path) -> None:
    """Of a sensitive column that is promised to be fresh only the age is told."""
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as database, database:
        database.execute("CREATE TABLE t (at TIMESTAMP)")
        database.execute("INSERT INTO t VALUES ('2001-02-03 04:05:06')")
    database.close()
    fresh = {"slaProperties": [{"property": "latency", "value": 1, "unit": "d", "element": "t.at"}]}
    columns = [{"name": "at", "logicalType": "timestamp", **SECRET}]
    report = check_contract(contract_of(odcs(columns, more=fresh)), source=f"sqlite:///{tmp_path}/x.sqlite")
    [found] = [one for one in report.results if one.check.section == "sla"]
    assert found.status == "failed", told(report)
    assert "2001-02-03" not in found.description


# --------------------------------------------------------------------------- offenders that the scan itself found

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["ab", "abc", "x", "", None]),
        st.sampled_from(["new", "paid", "old", None]),
        st.lists(st.sampled_from(["a", "b", "c", None]), max_size=3) | st.none(),
    ),
    min_size=1,
    max_size=30,
)


@given(rows=ROWS, shown=st.integers(1, 6), files=st.integers(1, 3))
@settings(deadline=None, database=None, derandomize=True, max_examples=15)
def test_samples_are_offenders_wherever_they_were_found(rows: list[tuple[Any, ...]], shown: int, files: int) -> None:
    """The row ids of the shared scan lead to rows that break the rule, as many as there are or are asked for."""
    columns = [
        KEY,
        {"name": "code", "logicalType": "string", "logicalTypeOptions": {"pattern": "^[a-z]{2}$"}},
        {
            "name": "state",
            "logicalType": "string",
            "quality": [{"id": "state", "metric": "invalidValues", "arguments": {"validValues": ["new"]}, "mustBe": 0}],
        },
        {"name": "tags", "logicalType": "array", "logicalTypeOptions": {"uniqueItems": True}},
    ]
    contract = contract_of(odcs(columns))
    with tempfile.TemporaryDirectory() as folder:
        with duckdb.connect(f"{folder}/t.duckdb") as connection:
            connection.execute("CREATE TABLE t (id INTEGER, code VARCHAR, state VARCHAR, tags VARCHAR[])")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(i, *row) for i, row in enumerate(rows)])
            connection.execute("CREATE VIEW v AS SELECT * FROM t")
            Path(folder, "t").mkdir()
            for number in range(files):
                one = f"SELECT * FROM t WHERE id % {files} = {number}"
                connection.execute(f"COPY ({one}) TO '{folder}/t/{number}.parquet'")
        table = check_contract(contract, source=f"duckdb:///{folder}/t.duckdb", sample_rows=shown)
        parquet = check_contract(contract, source=f"{folder}/t/*.parquet", sample_rows=shown)
    broken = {
        "pattern": [i for i, (code, _, _) in enumerate(rows) if code is not None and len(code) != 2],
        "state": [i for i, (_, state, _) in enumerate(rows) if state not in ("new", None)],
        "unique_items": [
            i for i, (*_, tags) in enumerate(rows) if (t := [x for x in tags or () if x]) and len(set(t)) < len(t)
        ],
    }
    for report in (table, parquet):
        for rule, expected in broken.items():
            [one] = [found for found in report.results if rule in found.check.name]
            assert (one.status, one.measured) == ("failed" if expected else "passed", len(expected)), told(report)
            ids = [row[0] for row in one.sample.rows] if one.sample else []
            assert len(ids) == min(shown, len(expected))
            assert set(ids) <= set(expected)
