"""Checks that look at a part of a table: a partition."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from builders import contract_of, odcs
from databases import Put

from contract_checks.checks import plan
from contract_checks.metrics import FieldFilter, RowFilter
from contract_checks.results import CheckResult
from contract_checks.run import check_dataset
from contract_checks.sources import resolve

PLACES = ["duckdb", "sqlite", "parquet", "csv", pytest.param("postgres", marks=pytest.mark.service)]

ROWS = """
SELECT * FROM (VALUES
  (1, DATE '2024-01-01', TIMESTAMP '2024-01-01 10:00', 'eu', 5),
  (2, DATE '2024-01-01', TIMESTAMP '2024-01-01 23:30', 'us', 5),
  (3, DATE '2024-01-02', TIMESTAMP '2024-01-02 00:00', 'eu', -1),
  (1, DATE '2024-01-02', TIMESTAMP '2024-01-02 01:15', 'us', 5),
  (5, DATE '2024-01-03', TIMESTAMP '2024-01-03 12:00', 'eu', 5), (6, NULL, NULL, NULL, -9)
) r(id, day, happened, region, amount)"""
"""A key that recurs over two days, a negative amount on the second, and a row of no partition."""

COLUMNS = """[
  {name: id, logicalType: integer, unique: true},
  {name: day, logicalType: date},
  {name: happened, logicalType: timestamp},
  {name: region, logicalType: string},
  {name: amount, logicalType: integer, logicalTypeOptions: {minimum: 0}}]"""
RULES = """[
  {id: enough, metric: rowCount, mustBeGreaterOrEqualTo: 2},
  {id: negative, type: sql, query: "SELECT COUNT(*) FROM {object} WHERE amount < 0", mustBe: 0},
  {id: plain, type: sql, query: "SELECT COUNT(*) FROM t WHERE t.amount < 0", mustBe: 0},
  {id: common, type: sql, mustBe: 0,
   query: "WITH n AS (SELECT * FROM {object} x WHERE x.amount < 0) SELECT COUNT(*) FROM n"}]"""


def day(first: int, end: int | None = None) -> RowFilter:
    """The rows of a day, or of several."""
    upper = date(2024, 1, end if end is not None else first + 1)
    return RowFilter((FieldFilter(("day",), date(2024, 1, first), upper),), f"day {first}")


def check(source: str, rows: RowFilter, rules: str = RULES) -> dict[str, CheckResult]:
    """The results on a part of table `t`, by rule."""
    contract = contract_of(odcs(COLUMNS, rules))
    (only,) = plan(contract).datasets
    report = check_dataset(only, resolve(contract, source=source), rows=rows)
    return {one.check.id or one.check.rule: one for one in report.results}


def failed(results: dict[str, CheckResult]) -> list[str]:
    """The rules that failed; none may be errored."""
    assert not [one.description for one in results.values() if one.status == "errored"]
    return sorted(name for name, one in results.items() if one.status == "failed")


@pytest.mark.parametrize("place", PLACES)
def test_only_the_part_is_looked_at(put: Put, place: str) -> None:
    """Counts, values and queries see the rows of the part and no others."""
    source = put(place, ROWS)

    assert failed(check(source, day(2))) == ["common", "minimum", "negative", "plain", "unique"]
    assert failed(check(source, day(3))) == ["enough"]
    assert failed(check(source, day(3, 5))) == ["enough"]


@pytest.mark.parametrize("place", PLACES)
def test_a_key_is_unique_in_the_whole_table(put: Put, place: str) -> None:
    """A key of the part recurs where another part has it too; a part without such a key passes."""
    source = put(place, ROWS)
    recurring = check(source, day(1))["unique"]

    assert recurring.status == "failed"
    assert recurring.measured == 1
    assert recurring.scope == "keys of day 1, in the whole table"
    assert check(source, day(3))["unique"].status == "passed"
    within = RowFilter(day(1).terms, "day 1", unique_in="rows")
    assert check(source, within)["unique"].status == "passed"


@pytest.mark.parametrize("place", PLACES)
def test_keys_make_a_part(put: Put, place: str) -> None:
    """The rows with one of some values are a part, too."""
    results = check(put(place, ROWS), RowFilter((FieldFilter(("region",), values=("us",)),), "region us"))

    assert failed(results) == ["unique"]
    assert results["enough"].measured == 2
    assert results["enough"].description == "2 rows, expected ≥ 2 (region us)."


@pytest.mark.parametrize("place", PLACES)
def test_a_window_compares_instants(put: Put, place: str) -> None:
    """Values without a time zone are read on the clock of the filter's zone."""
    source = put(place, ROWS)
    berlin = ZoneInfo("Europe/Berlin")

    def rows_of(zone: str) -> object:
        window = FieldFilter(
            ("happened",), datetime(2024, 1, 2, tzinfo=berlin), datetime(2024, 1, 2, 1, tzinfo=berlin), zone=zone
        )
        return check(source, RowFilter((window,), "an hour"))["enough"].measured

    assert rows_of("Europe/Berlin") == 1
    assert rows_of("UTC") == 1  # 23:30 of the day before
    assert rows_of("Asia/Tokyo") == 0


@pytest.mark.parametrize("place", PLACES)
def test_an_hour_that_occurs_twice_is_refused(put: Put, place: str) -> None:
    """Where clocks go back and values have no zone, the two hours cannot be told apart: nothing is evaluated."""
    source = put(place, ROWS)
    first = datetime(2024, 10, 27, 0, tzinfo=UTC)  # 02:00 for the first time
    window = FieldFilter(("happened",), first, datetime(2024, 10, 27, 1, tzinfo=UTC), zone="Europe/Berlin")
    before = FieldFilter(("happened",), datetime(2024, 10, 26, 23, tzinfo=UTC), first, zone="Europe/Berlin")

    results = check(source, RowFilter((window,), "the hour"))
    assert {one.status for one in results.values()} == {"errored"}
    assert all("twice" in one.description for one in results.values())
    assert failed(check(source, RowFilter((before,), "the hour before"))) == ["enough"]


@pytest.mark.parametrize(
    "rows",
    [
        RowFilter((FieldFilter(("nothing",), values=("us",)),), "part"),
        RowFilter((FieldFilter(("id",), values=("us",)),), "part"),
        RowFilter((FieldFilter(("day",), datetime(2024, 1, 1, 5), datetime(2024, 1, 1, 6)),), "part"),
        RowFilter((FieldFilter(("region",), date(2024, 1, 1), date(2024, 1, 2)),), "part"),
    ],
    ids=["no such column", "no such value", "an hour of a date", "a date of a text"],
)
def test_a_part_that_cannot_be_told_apart_is_errored(put: Put, rows: RowFilter) -> None:
    """No check falls back on the whole table."""
    results = check(put("duckdb", ROWS), rows)

    assert {one.status for one in results.values()} == {"errored"}


@pytest.mark.parametrize(
    "query",
    ["SELECT COUNT(*) FROM main.t WHERE amount < 0", "SELECT (SELECT COUNT(*) FROM {object}) - COUNT(*) FROM main.t"],
)
def test_a_query_beyond_the_part_is_of_the_whole_table(put: Put, query: str) -> None:
    """A query that names the table with its schema is asked as it stands, and its result says so."""
    rule = f'[{{id: own, type: sql, query: "{query}", mustBe: 99}}]'
    asked = check(put("duckdb", ROWS), day(3), rule)["own"]

    assert asked.measured in (2, 0)
    assert asked.scope == "whole table"
    assert "(whole table)" in asked.description


def test_freshness_is_of_the_whole_table(put: Put) -> None:
    """How old the newest row is says nothing about an old part."""
    contract = contract_of(
        odcs(
            COLUMNS,
            more={"slaProperties": [{"property": "freshness", "value": 1, "unit": "d", "element": "t.happened"}]},
        )
    )
    (only,) = plan(contract).datasets
    source = resolve(contract, source=put("duckdb", ROWS))
    report = check_dataset(only, source, rows=day(1), now=datetime(2024, 1, 3, 18, tzinfo=UTC))
    (age,) = [one for one in report.results if one.check.section == "sla"]

    assert age.status == "passed"
    assert age.scope == "whole table"


def test_an_empty_part_says_so(put: Put) -> None:
    """A part without rows keeps what every row must keep, and every result mentions that there is none."""
    results = check(put("duckdb", ROWS), day(9))

    assert failed(results) == ["enough"]
    assert results["minimum"].description.endswith("(day 9, which has no rows).")
