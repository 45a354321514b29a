"""A contract in, a report out: what is asked, what fails alone, and what is said where nothing can be asked."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from builders import contract_of, odcs, result, told
from databases import Put

from contract_checks.checks import plan
from contract_checks.errors import ContractError, SourceError
from contract_checks.run import check_contract, check_dataset, errored_report
from contract_checks.sources import resolve

SERVICE = pytest.param("postgres", marks=pytest.mark.service)
COLUMNS = [{"name": "a", "logicalType": "integer", "required": True, "unique": True}]
CONTRACT = contract_of(odcs(COLUMNS))


def query(sql: str, **more: Any) -> dict[str, Any]:
    return {"type": "sql", "query": sql, "mustBe": 1, **more}


# --------------------------------------------------------------------------- nothing to ask


@pytest.mark.parametrize(
    "source",
    ["duckdb:////nowhere/x.duckdb", "sqlite:////nowhere/x.sqlite", "nowhere/at/all", "postgresql+psycopg://h:1/d"],
)
def test_an_unreachable_source_makes_every_check_errored(source: str) -> None:
    """A source that cannot be reached gives a report that says so check by check."""
    report = check_contract(CONTRACT, source=source)
    assert {one.status for one in report.results} == {"errored"}
    assert len({one.description for one in report.results}) == 1
    assert (report.status, report.exit_code) == ("not_evaluated", 2)


def test_a_caller_may_try_an_unreachable_source_again() -> None:
    """Checking a dataset raises where the source cannot be reached, so that the caller can retry."""
    with pytest.raises(SourceError, match="no such file"):
        check_dataset(plan(CONTRACT).datasets[0], resolve(CONTRACT, source="sqlite:////nowhere/x.sqlite"))


@pytest.mark.parametrize("place", ["duckdb", "sqlite", "parquet", SERVICE])
def test_a_missing_table_makes_every_check_errored(place: str, put: Put) -> None:
    """A table that is not there is told by name, and nothing is evaluated."""
    report = check_contract(contract_of(odcs(COLUMNS, name="gone")), source=put(place, "SELECT 1 AS a"))
    assert {one.status for one in report.results} == {"errored"}, told(report)
    assert all("gone" in one.description for one in report.results)


def test_a_missing_table_leaves_the_other_datasets_alone(put: Put) -> None:
    """Of several datasets only the missing one is errored."""
    schema = [{"name": name, "physicalName": name, "properties": COLUMNS} for name in ("gone", "t")]
    report = check_contract(contract_of(odcs(schema=schema)), source=put("duckdb", "SELECT 1 AS a"))
    assert [{one.status for one in data.results} for data in report.datasets] == [{"errored"}, {"passed"}]


def test_a_file_that_is_no_contract_raises(tmp_path: Path) -> None:
    """A contract that cannot be used is an exception with its problems, not a report."""
    (tmp_path / "x.yaml").write_text("kind: DataContract\n")
    with pytest.raises(ContractError):
        check_contract(tmp_path / "x.yaml")


def test_an_errored_report_may_be_about_some_checks() -> None:
    """Every named check is errored with the one reason."""
    report = errored_report(plan(CONTRACT).datasets[0], "the network is down", ["schema__a__unique"])
    assert [(one.check.name, one.description) for one in report.results] == [
        ("schema__a__unique", "Could not evaluate: the network is down")
    ]


# --------------------------------------------------------------------------- what is asked


@pytest.mark.parametrize(
    ("name", "statements"),
    [
        ("schema__columns", 0),
        ("schema__types", 0),
        ("schema__a__required", 1),
        ("schema__a__unique", 1),
    ],
)
def test_one_check_asks_only_what_it_needs(name: str, statements: int, put: Put) -> None:
    """A check that is run alone runs its own statements and no other."""
    report = check_contract(CONTRACT, source=put("duckdb", "SELECT 1 AS a"), checks=[name])
    assert [one.check.name for one in report.results] == [name]
    assert len(report.datasets[0].statements) == statements


def test_all_checks_together_share_their_statements(put: Put) -> None:
    """All checks of a dataset cost one scan, and one statement per key."""
    report = check_contract(CONTRACT, source=put("duckdb", "SELECT 1 AS a"))
    assert len(report.datasets[0].statements) == 2


def test_an_unknown_check_is_refused(put: Put) -> None:
    """A check that the contract does not have is an error that names it."""
    with pytest.raises(KeyError, match="nope"):
        check_contract(CONTRACT, source=put("duckdb", "SELECT 1 AS a"), checks=["nope"])


def test_only_datasets_with_a_selected_check_are_asked(put: Put) -> None:
    """A dataset without any of the selected checks is not in the report."""
    schema = [{"name": name, "physicalName": name, "properties": COLUMNS} for name in ("gone", "t")]
    rule = [query("SELECT COUNT(*) FROM t", id="mine")]
    schema[1] = {**schema[1], "quality": rule}
    contract = contract_of(odcs(schema=schema))
    report = check_contract(contract, source=put("duckdb", "SELECT 1 AS a"), checks=["quality__mine"])
    assert [data.name for data in report.datasets] == ["t"]


def test_progress_is_told_before_each_dataset_and_at_the_end(put: Put) -> None:
    """Whoever waits is told which dataset is being asked and how many there are."""
    schema = [{"name": name, "physicalName": name, "properties": COLUMNS} for name in ("gone", "t")]
    told_so_far: list[tuple[str, int, int]] = []
    check_contract(
        contract_of(odcs(schema=schema)),
        source=put("duckdb", "SELECT 1 AS a"),
        progress=lambda *step: told_so_far.append(step),
    )
    assert told_so_far == [("gone", 0, 2), ("t", 1, 2), ("", 2, 2)]


def test_the_number_of_rows_is_told_where_a_scan_is_made_anyway(put: Put) -> None:
    """Rows are counted along with row rules, and not for their own sake."""
    source = put("duckdb", "SELECT 1 AS a FROM range(3)")
    assert check_contract(CONTRACT, source=source).datasets[0].row_count == 3
    assert check_contract(CONTRACT, source=source, checks=["schema__columns"]).datasets[0].row_count is None


def test_a_moment_without_a_zone_is_utc(put: Put) -> None:
    """Ages may be counted from a moment that has no zone."""
    fresh = {"slaProperties": [{"property": "latency", "value": 1, "unit": "h", "element": "t.at"}]}
    contract = contract_of(odcs([{"name": "at", "logicalType": "timestamp"}], more=fresh))
    source = put("duckdb", "SELECT TIMESTAMP '2024-01-01 11:30:00' AS at")
    report = check_contract(contract, source=source, now=datetime(2024, 1, 1, 12))
    [found] = [one for one in report.results if one.check.section == "sla"]
    assert (found.status, found.measured) == ("passed", 1800), told(report)


# --------------------------------------------------------------------------- what fails alone


@pytest.mark.parametrize("place", ["duckdb", "csv", SERVICE])
def test_a_query_that_breaks_changes_no_other_verdict(place: str, put: Put) -> None:
    """An error that only the data brings about belongs to its own rule."""
    rules = [
        query("SELECT SUM(CAST(CONCAT('x', a) AS INTEGER)) FROM t", id="broken"),
        query("SELECT COUNT(*) FROM t", id="sound"),
        query("SELECT a / (a - a) > 0 FROM t" if place == "postgres" else "SELECT error('no')", id="also_broken"),
    ]
    report = check_contract(contract_of(odcs(COLUMNS, rules)), source=put(place, "SELECT 1 AS a"))
    assert {one.check.id or one.check.rule: one.status for one in report.results} == {
        "columns": "passed",
        "types": "passed",
        "required": "passed",
        "unique": "passed",
        "broken": "errored",
        "sound": "passed",
        "also_broken": "errored",
    }, told(report)


def test_a_cell_of_the_shared_scan_that_breaks_is_found_alone(put: Put) -> None:
    """When the shared scan fails, its culprit is found and all other rules are judged as without it."""
    huge = "170141183460469231731687303715884105727::HUGEINT"
    columns: list[dict[str, Any]] = [
        {"name": "a", "logicalType": "integer", "required": True, "logicalTypeOptions": {"maximum": 0.5, "minimum": 0}},
        {"name": "b", "logicalType": "integer", "logicalTypeOptions": {"minimum": 2}},
    ]
    report = check_contract(contract_of(odcs(columns)), source=put("duckdb", f"SELECT {huge} AS a, 1 AS b"))
    verdicts = {(one.check.rule, one.check.column): one.status for one in report.results}
    assert verdicts["maximum", "a"] == "errored", told(report)
    assert verdicts["minimum", "a"] == "passed"
    assert verdicts["required", "a"] == "passed"
    assert verdicts["minimum", "b"] == "failed"
    assert result(report, "minimum", "b").sample is not None


def test_a_missing_column_changes_no_other_verdict(put: Put) -> None:
    """Rules on a column that is not there are errored by name; the columns check fails; the rest is judged."""
    report = check_contract(
        contract_of(odcs([*COLUMNS, {"name": "gone", "required": True}])), source=put("duckdb", "SELECT 1 AS a")
    )
    statuses = {(one.check.rule, one.check.column): one.status for one in report.results}
    assert statuses == {
        ("columns", None): "failed",
        ("types", None): "passed",
        ("required", "a"): "passed",
        ("unique", "a"): "passed",
        ("required", "gone"): "errored",
    }
