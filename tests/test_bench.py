"""A wide table of 100,000 rows with a known number of violations of every rule, in every kind of place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from builders import told
from databases import Postgres, Rows

from contract_checks.checks import plan
from contract_checks.dialects import load
from contract_checks.metrics import DuplicateKeys, OrphanKeys, Query
from contract_checks.results import CheckResult, DatasetReport, Report
from contract_checks.run import check_contract

ROWS = 100_000
PLACES = ("duckdb", "parquet", "csv", pytest.param("postgres", marks=pytest.mark.service))
TYPED = ("duckdb", "parquet")
NESTED = {"address.city/required", "address.zip/pattern", "tags/maxItems", "tags/uniqueItems"}
"""Rules on fields of structs and on arrays, which the flat places do not have."""


@dataclass(frozen=True)
class Bench:
    """The generated data and the server that holds a copy of it."""

    folder: Path
    postgres: dict[str, str]

    def report(self, place: str, kind: str) -> Report:
        """The report on the clean or dirty data in a place."""
        if place != "postgres":
            return check_contract(self.folder / f"contract_{place}_{kind}.odcs.yaml")
        return check_contract(self.folder / f"contract_csv_{kind}.odcs.yaml", source=self.postgres[kind])


@pytest.fixture(scope="module")
def bench(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The benchmark data, freshly made: one of its columns is relative to now."""
    folder = tmp_path_factory.mktemp("bench")
    script = shared / "bench" / "gen.py"
    subprocess.run([sys.executable, str(script), "--rows", str(ROWS), "--out", str(folder)], check=True)
    return Bench(folder, {})


@pytest.fixture(scope="module")
def loaded(bench: Bench, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """The benchmark data, also in PostgreSQL."""
    postgres: Postgres = request.getfixturevalue("postgres")
    urls = {}
    names = {}
    for kind in ("clean", "dirty"):
        names[kind] = postgres.new_database()
        attach = f"ATTACH '{bench.folder}/orders_{kind}.duckdb' AS x (READ_ONLY)"
        postgres.load(names[kind], Rows("SELECT * EXCLUDE (address, tags) FROM x.orders", (attach,)), "orders")
        urls[kind] = postgres.load(names[kind], Rows("SELECT * FROM x.customers", (attach,)), "customers")
    yield replace(bench, postgres=urls)
    for name in names.values():
        postgres.drop_database(name)


_REPORTS: dict[tuple[str, str], Report] = {}


def report_on(place: str, kind: str, request: pytest.FixtureRequest) -> Report:
    """The report on the data in a place, made once."""
    bench: Bench = request.getfixturevalue("loaded" if place == "postgres" else "bench")
    if (place, kind) not in _REPORTS:
        _REPORTS[place, kind] = bench.report(place, kind)
    return _REPORTS[place, kind]


def orders(report: Report) -> DatasetReport:
    """The dataset that carries nearly all rules."""
    return next(data for data in report.datasets if data.name == "orders")


def answering(report: Report, key: str) -> CheckResult | None:
    """The result that answers a line of the truth table, `field/rule`."""
    subject, rule = key.rsplit("/", 1)
    found = []
    for result in orders(report).results:
        check = result.check
        by_id = check.id == rule
        by_rule = check.column == subject and check.rule == rule
        by_key = rule == "duplicate" and check.id == "dup_customer_ts"
        by_relation = rule == "fk" and isinstance(check.metrics[0], OrphanKeys)
        by_age = rule == "freshness" and check.rule == "freshness"
        if by_id or by_rule or by_key or by_relation or by_age:
            found.append(result)
    assert len(found) <= 1, f"{key}: {[one.check.name for one in found]}"
    return found[0] if found else None


@pytest.mark.parametrize("place", PLACES)
def test_every_seeded_violation_is_counted_exactly(place: str, request: pytest.FixtureRequest) -> None:
    """Every count of the truth table is measured exactly, in every place."""
    report = report_on(place, "dirty", request)
    expected = json.loads((request.getfixturevalue("bench").folder / "expected_dirty.json").read_text())
    wrong = []
    for key, count in expected.items():
        if key in NESTED and place not in TYPED:
            continue
        result = answering(report, key)
        if result is None:
            wrong.append(f"{key}: no check")
        elif key == "orders/sql_sum":
            if result.status != "passed" or not 49_000 <= float(result.measured or 0) <= 51_000:  # type: ignore[arg-type]
                wrong.append(f"{key}: {result.measured}")
        elif count == "stale":
            if result.status != "failed":
                wrong.append(f"{key}: {result.status} {result.description}")
        elif count == "12%":
            if result.status != "failed" or not 11 < float(result.measured or 0) < 13:  # type: ignore[arg-type]
                wrong.append(f"{key}: {result.status} {result.measured}")
        elif result.measured != count:
            wrong.append(f"{key}: measured {result.measured}, seeded {count}; {result.description}")
        elif result.check.id != "row_count" and result.status != ("failed" if count else "passed"):
            wrong.append(f"{key}: {result.status} with {count}")
    assert not wrong, "\n".join([*wrong, told(report)])


@pytest.mark.parametrize("place", PLACES)
def test_dirty_data_is_never_errored(place: str, request: pytest.FixtureRequest) -> None:
    """Every check of the dirty data is evaluated: none is errored or skipped."""
    report = report_on(place, "dirty", request)
    assert {result.status for result in report.results} == {"passed", "failed"}, told(report)
    assert report.exit_code == 1


@pytest.mark.parametrize("place", PLACES)
def test_clean_data_is_silent(place: str, request: pytest.FixtureRequest) -> None:
    """Data that keeps its contract passes every check, without a warning and with nothing left out."""
    report = report_on(place, "clean", request)
    assert {result.status for result in report.results} == {"passed"}, told(report)
    assert report.exit_code == 0
    assert report.status == "compliant"
    assert report.score == 1
    assert not [clause for data in report.datasets for clause in data.plan.not_checked], told(report)
    assert not report.plan.contract.problems, told(report)


@pytest.mark.parametrize("place", PLACES)
def test_a_failing_row_rule_shows_some_offenders(place: str, request: pytest.FixtureRequest) -> None:
    """A failed rule about rows comes with a few offending rows, and a passed one with none."""
    report = report_on(place, "dirty", request)
    for key in ("status/status_valid", "amount/minimum", "email/pattern", "customer_id/required"):
        result = answering(report, key)
        assert result is not None
        assert result.sample is not None, f"{key}\n{told(report)}"
        assert 0 < len(result.sample.rows) <= 10
    passed = [result for result in report.results if result.status == "passed"]
    assert not [result.check.name for result in passed if result.sample is not None]


# --------------------------------------------------------------------------- statements

CATALOGUE = re.compile(
    r"information_schema|pg_catalog|pg_class|pg_attribute|duckdb_|sqlite_master|PRAGMA|DESCRIBE|parquet_schema|sniff_csv|"
    r"LIMIT 0\b|^\s*(SET|BEGIN|COMMIT|ROLLBACK|CREATE|SHOW|ATTACH|USE|select current_schema)\b",
    re.IGNORECASE,
)


def reading(statements: tuple[str, ...], table: str = "orders") -> list[str]:
    """The statements that read rows of a table; the catalogue is no table."""
    return [one for one in statements if re.search(rf"\b{table}", one) and not CATALOGUE.search(one)]


def allowed(path: Path) -> tuple[int, int, int, int]:
    """How many statements the clean data may cost: scans, one per key, one per relationship, one per query."""
    metrics = {metric for check in plan(load(path)).dataset("orders").checks for metric in check.metrics}
    keys = sum(isinstance(metric, DuplicateKeys) for metric in metrics)
    relations = sum(isinstance(metric, OrphanKeys) for metric in metrics)
    queries = sum(isinstance(metric, Query) for metric in metrics)
    return 1, keys, relations, queries


@pytest.mark.parametrize("place", PLACES)
def test_statements_are_as_few_as_the_promises_need(place: str, request: pytest.FixtureRequest) -> None:
    """One aggregate scan, one statement per key, one per relationship, one per query, and no others."""
    report = report_on(place, "clean", request)
    folder = request.getfixturevalue("bench").folder
    parts = allowed(folder / f"contract_{'csv' if place == 'postgres' else place}_clean.odcs.yaml")
    assert parts == (1, 4, 1, 3)
    statements = reading(orders(report).statements)
    assert len(statements) <= sum(parts), "\n---\n".join(statements)


@pytest.mark.parametrize("place", PLACES)
def test_offenders_cost_few_statements(place: str, request: pytest.FixtureRequest) -> None:
    """Showing offenders costs a few statements more, not one per check."""
    clean = len(reading(orders(report_on(place, "clean", request)).statements))
    dirty = reading(orders(report_on(place, "dirty", request)).statements)
    failed = sum(one.status == "failed" for one in orders(report_on(place, "dirty", request)).results)
    assert failed > 20
    assert len(dirty) <= clean + 6, "\n---\n".join(dirty)


@pytest.mark.service
def test_the_server_saw_the_statements_that_are_reported(
    loaded: Bench, postgres: Postgres, request: pytest.FixtureRequest
) -> None:
    """PostgreSQL's own log holds as many statements on the table as the report names, in one read-only transaction."""
    database = re.search(r"@/(\w+)\?", loaded.postgres["clean"])
    assert database is not None
    with postgres.connect() as connection:
        connection.execute(f"ALTER DATABASE {database[1]} SET log_statement = 'all'")
        connection.execute(f"ALTER DATABASE {database[1]} SET log_min_duration_statement = -1")
    before = postgres.log.stat().st_size
    report = loaded.report("postgres", "clean")
    with postgres.log.open() as file:
        file.seek(before)
        seen = re.split(r"^[0-9-]+ [0-9:.]+ \w+ \[\d+\] ", file.read(), flags=re.MULTILINE)
    executed = [re.sub(r"^LOG:\s+(statement|execute [^:]*): ", "", one) for one in seen if one.startswith("LOG:  ")]
    logged = reading(tuple(executed))
    assert len(logged) == len(reading(orders(report).statements)), "\n---\n".join(logged)
    assert any("READ ONLY" in one.upper() for one in executed), executed[:10]
