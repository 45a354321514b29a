"""Statements that take too long: their own checks are errored, everything else goes on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from builders import contract_of, odcs, result, told
from databases import Postgres, Put, Rows, parquet_file

from contract_checks.checks import Settings, plan
from contract_checks.cli import main
from contract_checks.model import Contract
from contract_checks.run import check_contract
from contract_checks.sources import resolve
from contract_checks.sources.interface import QueryError, StatementTimeoutError

SERVICE = pytest.param("postgres", marks=pytest.mark.service)
PLACES = ["duckdb", "parquet", "sqlite", SERVICE]
ROWS = Rows("SELECT i AS a, i % 7 AS b FROM range(3000) r(i)")
ENDLESS = "SELECT count(*) FROM t x, t y, t z, t w WHERE x.a * y.a + z.a - w.a = -1"


def endless() -> Contract:
    """A contract with a rule whose query would take days, among others that take no time."""
    rules: list[dict[str, Any]] = [
        {"id": "endless", "type": "sql", "query": ENDLESS, "mustBe": 0},
        {"id": "rows", "metric": "rowCount", "mustBe": 3000},
        {"id": "after", "type": "sql", "query": "SELECT count(*) FROM t WHERE a < 0", "mustBe": 0},
    ]
    columns = [
        {"name": "a", "logicalType": "integer", "required": True, "unique": True},
        {"name": "b", "logicalType": "integer", "logicalTypeOptions": {"maximum": 5}},
    ]
    return contract_of(odcs(columns, rules))


@pytest.mark.parametrize("place", PLACES)
def test_a_statement_that_takes_too_long_spoils_only_its_own_checks(place: str, put: Put) -> None:
    """The database gives up on it, its check says so, and what comes before and after is judged as ever."""
    started = time.monotonic()
    report = check_contract(endless(), source=put(place, ROWS), settings=Settings(statement_timeout=1))
    took = time.monotonic() - started
    slow = result(report, "endless")
    assert slow.status == "errored", told(report)
    assert "gave up after 1 s" in slow.description
    assert took < 30
    statuses = {one.check.name: one.status for one in report.results if one is not slow}
    assert statuses.pop("schema__b__maximum") == "failed", told(report)
    assert set(statuses.values()) == {"passed"}, told(report)
    assert result(report, "maximum", "b").sample is not None
    assert report.exit_code == 2


@pytest.mark.service
def test_a_shared_scan_that_takes_too_long_is_not_taken_apart(postgres: Postgres, postgres_database: str) -> None:
    """Of a table that cannot be read in time every check is errored after one attempt; none is asked alone."""
    with postgres.connect(postgres_database) as connection:
        # A view that never ends.
        connection.execute(
            "CREATE VIEW t AS SELECT i AS a, j AS b FROM generate_series(1, 2e6) i, generate_series(1, 2e6) j"
        )
    column = {"logicalType": "number", "required": True, "logicalTypeOptions": {"minimum": 0}}
    contract = contract_of(odcs([{"name": "a", **column}, {"name": "b", **column}]))
    report = check_contract(contract, source=postgres.url(postgres_database), settings=Settings(statement_timeout=1))
    errored = [one for one in report.results if one.status == "errored"]
    assert len(errored) == 4, told(report)
    assert all("gave up after 1 s" in one.description for one in errored)
    assert len(report.datasets[0].statements) == 1
    assert {one.status for one in report.results if one.check.section == "schema" and not one.check.column} == {
        "passed"
    }


@pytest.mark.parametrize("place", ["duckdb", "sqlite", SERVICE])
def test_a_limit_of_zero_is_none(place: str, put: Put) -> None:
    """With 0 nothing is stopped for our sake, and a session that knows no limit has none."""
    contract = endless()
    source = resolve(contract, source=put(place, ROWS))
    (dataset,) = plan(contract).datasets
    slow = "SELECT count(*) FROM t x, t y WHERE x.a * y.a = -1"
    with source.session((dataset.dataset,)) as session:
        session.limit_statements(1)
        with pytest.raises(StatementTimeoutError, match="gave up after 1 s"):
            session.fetch(ENDLESS)
        session.limit_statements(0)
        if place == "postgres":
            assert session.fetch("SELECT current_setting('statement_timeout')") == [("0",)]
        assert session.fetch(slow) == [(0,)]
        with pytest.raises(QueryError, match="no_such") as refused:
            session.fetch("SELECT no_such FROM t")
        assert not isinstance(refused.value, StatementTimeoutError)


@pytest.mark.service
def test_the_limit_of_the_database_stands_where_there_is_none_of_ours(
    postgres: Postgres, postgres_database: str
) -> None:
    """A limit that an administrator set for the database counts with a setting of 0."""
    url = postgres.load(postgres_database, ROWS)
    with postgres.connect(postgres_database) as connection:
        connection.execute(f"ALTER DATABASE {postgres_database} SET statement_timeout = '1s'")
    report = check_contract(endless(), source=url, settings=Settings(statement_timeout=0))
    assert result(report, "endless").status == "errored"
    assert "statement timeout" in result(report, "endless").description
    assert result(report, "after").status == "passed", told(report)


def test_an_interruption_that_comes_late_stops_nothing_else(put: Put) -> None:
    """A statement is stopped by its own limit only, however short that is and however many come after it."""
    contract = endless()
    (dataset,) = plan(contract).datasets
    for place in ("duckdb", "sqlite"):
        with resolve(contract, source=put(place, ROWS)).session((dataset.dataset,)) as session:
            for _ in range(3):
                session.limit_statements(1)
                with pytest.raises(StatementTimeoutError):
                    session.fetch(ENDLESS)
                assert session.fetch("SELECT count(*) FROM t") == [(3000,)]
            time.sleep(1.2)  # every timer that was left would go off now
            assert session.fetch("SELECT count(*) FROM t") == [(3000,)]


def test_the_command_line_sets_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--statement-timeout` is the limit in seconds."""
    source = parquet_file(tmp_path, ROWS)
    path = tmp_path / "t.odcs.yaml"
    path.write_text(
        odcs([{"name": "a", "logicalType": "integer"}], [{"id": "x", "type": "sql", "query": ENDLESS, "mustBe": 0}])
    )
    assert main(["test", str(path), "--source", source, "--statement-timeout", "1"]) == 2
    assert "gave up after 1 s" in capsys.readouterr().out
    assert main(["test", str(path), "--source", source, "--statement-timeout", "-1"]) == 2
