"""What happens to data while it is checked: a verdict is of one state of it, or there is none."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from builders import odcs, told
from databases import Postgres, Put

from contract_checks.checks import Settings, plan
from contract_checks.dialects import load
from contract_checks.functions import MetricRequest
from contract_checks.results import Report
from contract_checks.run import check_contract

CHURN = Path(__file__).parent / "examples" / "valid" / "openmetadata_proposal" / "churn_prediction_model.yaml"
TABLE = "churn_prediction_model_v2"
ROWS = """
SELECT (i % 60)::INT AS tenure_months, (i % 20)::INT AS avg_monthly_sessions, (i % 4)::INT AS support_tickets_last_3m,
       i % 3 = 0 AS is_premium_member, (i % 100 / 100.0)::DOUBLE AS churn_probability, i % 5 = 0 AS churn_prediction
FROM range(200) t(i)
"""


def check_while(happens: Callable[[], None], source: str) -> Report:
    """Check the model's predictions; something happens in the middle, and then the rows are counted."""

    def count(request: MetricRequest) -> float:
        happens()
        (row,) = request.query(f"SELECT COUNT(*) FROM {request.table}")
        return 0.85 if row[0] == 200 else 0

    contract = load(CHURN)
    planned = plan(contract, Settings(metrics=frozenset({"AUC"}))).datasets[0]
    checks = {one.name for one in planned.checks if one.rule != "sql"}
    return check_contract(contract, source=source, checks=checks, metrics={"AUC": count})


# --------------------------------------------------------------------------- files


@pytest.mark.parametrize("place", ["parquet", "csv"])
def test_a_file_that_is_replaced_while_it_is_read_has_no_verdict(place: str, put: Put, tmp_path: Path) -> None:
    """Two statements could have seen two files: every check is errored, and the next run is about the new one."""
    source = put(place, ROWS, TABLE)
    file = Path(source) / f"{TABLE}.{place}"

    def replace() -> None:
        shutil.copy(file, tmp_path / "new")
        (tmp_path / "new").replace(file)

    report = check_while(replace, source)
    assert {one.status for one in report.results} == {"errored"}, told(report)
    assert all("written while it was read" in one.description for one in report.results)
    again = check_while(lambda: None, source)
    assert {one.status for one in again.results} == {"passed"}, told(again)


def test_a_file_that_arrives_meanwhile_is_of_the_next_run(put: Put) -> None:
    """The files are those that were there when the data was opened."""
    source = put("parquet", ROWS, "part")
    folder = Path(source) / TABLE
    folder.mkdir()
    (Path(source) / "part.parquet").rename(folder / "part.parquet")

    report = check_while(lambda: duckdb.execute(f"COPY ({ROWS}) TO '{folder}/more.parquet'"), source)
    assert {one.status for one in report.results} == {"passed"}, told(report)


# --------------------------------------------------------------------------- databases


def test_sqlite_shows_one_state(put: Put) -> None:
    """Rows that a writer deletes meanwhile are there until the end."""
    source = put("sqlite", ROWS, TABLE)

    def delete() -> None:
        with closing(sqlite3.connect(source.removeprefix("sqlite:///"))) as writer, writer:
            writer.execute(f"DELETE FROM {TABLE}")

    with closing(sqlite3.connect(source.removeprefix("sqlite:///"))) as database:
        database.execute("PRAGMA journal_mode = WAL")
    report = check_while(delete, source)
    assert {one.status for one in report.results} == {"passed"}, told(report)
    assert "failed" in {one.status for one in check_while(lambda: None, source).results}


@pytest.mark.service
def test_postgres_shows_one_state(put: Put, postgres: Postgres, postgres_database: str) -> None:
    """Rows that a writer deletes meanwhile are there until the end."""
    source = put("postgres", ROWS, TABLE)

    def delete() -> None:
        with postgres.connect(postgres_database) as writer:
            writer.execute(f"DELETE FROM {TABLE}")

    report = check_while(delete, source)
    assert {one.status for one in report.results} == {"passed"}, told(report)
    assert "failed" in {one.status for one in check_while(lambda: None, source).results}


def test_nobody_writes_to_a_duckdb_file_meanwhile(put: Put) -> None:
    """Another process cannot open the file for writing while it is read."""
    source = put("duckdb", ROWS, TABLE)
    code = f"import duckdb; duckdb.connect({source.removeprefix('duckdb:///')!r})"
    said: list[str] = []

    def write() -> None:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        said.append(done.stderr)

    report = check_while(write, source)
    assert {one.status for one in report.results} == {"passed"}, told(report)
    assert "Could not set lock" in said[0]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["duckdb", "sqlite", "parquet"])
def test_two_processes_check_the_same_data_at_once(place: str, put: Put, tmp_path: Path) -> None:
    """Readers do not shut each other out."""
    contract = tmp_path / "orders.odcs.yaml"
    contract.write_text(odcs([{"name": "a", "logicalType": "integer", "required": True, "unique": True}]))
    source = put(place, "SELECT i AS a FROM range(1000) r(i)")
    command = [sys.executable, "-m", "contract_checks", "test", str(contract), "--source", source]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
    for one in both:
        words, _ = one.communicate(timeout=120)
        assert one.returncode == 0, words
