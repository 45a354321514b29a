"""Connections: how many a run makes, what they are left like, and that none is left open."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy
from builders import contract_of, odcs, result, told
from databases import Postgres, Rows, duckdb_file, sqlite_file
from sqlalchemy.pool import Pool

from contract_checks.model import Contract
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.sources import resolve

ROWS = Rows("SELECT * FROM (VALUES (1), (-1), (2)) v(a)")
TABLES = ("t", "u", "v")


def several() -> Contract:
    """A contract about three tables, each with a rule that one row breaks."""
    column = {"name": "a", "logicalType": "integer", "required": True, "logicalTypeOptions": {"minimum": 0}}
    return contract_of(odcs(schema=[{"name": name, "physicalName": name, "properties": [column]} for name in TABLES]))


def counts(report: Report) -> list[Any]:
    """What the rule measured in each of the tables that were reached."""
    return [one.measured for one in report.results if one.check.rule == "minimum"]


@contextmanager
def counted_connections() -> Iterator[list[object]]:
    """Every connection that SQLAlchemy makes meanwhile."""
    made: list[object] = []

    def note(connection: object, record: object) -> None:
        made.append(connection)

    sqlalchemy.event.listen(Pool, "connect", note)
    try:
        yield made
    finally:
        sqlalchemy.event.remove(Pool, "connect", note)


def left_open(postgres: Postgres, database: str) -> int:
    """How many sessions the database still has; one that has just been closed is waited for."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"
    with postgres.connect() as connection:
        for _ in range(50):
            (found,) = connection.execute(sql, (database,)).fetchone()
            if not found:
                return 0
            time.sleep(0.1)
    return int(found)


@pytest.fixture
def tables(postgres: Postgres, postgres_database: str) -> str:
    """The URL of a database with the three tables."""
    for name in TABLES:
        postgres.load(postgres_database, ROWS, name)
    return postgres.url(postgres_database)


@pytest.mark.service
def test_the_datasets_of_a_run_share_a_connection(tables: str, postgres: Postgres, postgres_database: str) -> None:
    """However many datasets a contract has, the run makes one connection, and closes it."""
    with counted_connections() as made:
        report = check_contract(several(), source=tables)
    assert counts(report) == [1, 1, 1], told(report)
    assert len(made) == 1
    assert left_open(postgres, postgres_database) == 0


@pytest.mark.service
def test_a_dataset_that_cannot_be_checked_leaves_the_connection_whole(
    tables: str, postgres: Postgres, postgres_database: str
) -> None:
    """After a missing table and a query that fails, the next dataset is checked on the same connection."""
    with postgres.connect(postgres_database) as connection:
        connection.execute("DROP TABLE t")
        connection.execute("ALTER TABLE u ALTER a TYPE text")
    with counted_connections() as made:
        report = check_contract(several(), source=tables)
    assert [one.status for one in report.results if one.check.rule == "minimum"] == ["errored", "errored", "failed"]
    assert len(made) == 1


@pytest.mark.service
def test_a_connection_that_was_lost_between_datasets_is_replaced(
    tables: str, postgres: Postgres, postgres_database: str
) -> None:
    """A server that closes the connection after one dataset does not spoil the next."""

    def kill(dataset: str, done: int, of: int) -> None:
        sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        with postgres.connect() as connection:
            connection.execute(sql, (postgres_database,))

    with counted_connections() as made:
        report = check_contract(several(), source=tables, progress=kill)
    assert counts(report) == [1, 1, 1], told(report)
    assert len(made) == 3


SETTINGS = (
    "statement_timeout",
    "TimeZone",
    "search_path",
    "default_transaction_isolation",
    "transaction_isolation",
    "transaction_read_only",
)


@pytest.mark.service
def test_an_engine_gets_its_connection_back_as_it_was(tables: str) -> None:
    """A run leaves nothing on a connection of the user's engine: no mode, path, zone, limit or transaction."""
    engine = sqlalchemy.create_engine(tables, pool_size=1, max_overflow=0)

    def shown() -> list[Any]:
        with engine.connect() as connection:
            return [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in SETTINGS]

    with engine.connect() as connection:
        connection.exec_driver_sql("SET TIME ZONE 'Asia/Tokyo'")
        connection.exec_driver_sql("SET statement_timeout = '7s'")
        connection.exec_driver_sql("SET search_path = pg_catalog, public")
        connection.commit()
    before = shown()
    with counted_connections() as made:
        report = check_contract(several(), source=engine)
    assert counts(report) == [1, 1, 1], told(report)
    assert made == []
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    assert shown() == before
    assert before[:2] == ["7s", "Asia/Tokyo"]
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (5)")
    engine.dispose()


def test_an_engine_of_duckdb_keeps_its_time_zone() -> None:
    """A DuckDB of the user's has after a run the time zone that it had."""
    engine = sqlalchemy.create_engine("duckdb:///:memory:", poolclass=sqlalchemy.StaticPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("SET TimeZone = 'Asia/Tokyo'")
        for name in TABLES:
            connection.exec_driver_sql(f"CREATE TABLE {name} AS {ROWS.select}")
    assert counts(check_contract(several(), source=engine)) == [1, 1, 1]
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT current_setting('TimeZone')").scalar() == "Asia/Tokyo"
    engine.dispose()


FORKED = """
import os, sys
from contract_checks.checks import plan
from contract_checks.dialects import load
from contract_checks.run import check_dataset
from contract_checks.sources import resolve

def look(source):
    with source.session((dataset.dataset,)) as session:
        return session.fetch("SELECT pg_backend_pid(), count(*) FROM t")[0]

contract = load(sys.argv[1])
dataset = plan(contract).datasets[0]
with resolve(contract, source=sys.argv[2]).opened() as source:
    mine, rows = look(source)
    reader, writer = os.pipe()
    if not os.fork():
        os.write(writer, repr(look(source)).encode())
        os._exit(0)
    os.wait()
    theirs = eval(os.read(reader, 100))
    assert theirs[0] != mine and theirs[1] == rows, (theirs, mine)
    assert look(source) == (mine, rows)
    forked = os.fork()
    if not forked:
        sys.exit(0)  # its end closes what it thinks is open
    os.waitpid(forked, 0)
    assert look(source) == (mine, rows)
"""


@pytest.mark.service
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_process_has_connections_of_its_own(tables: str, tmp_path: Path) -> None:
    """A process that was forked while a source was open neither uses nor closes its parent's connection."""
    column = {"name": "a", "logicalType": "integer"}
    (tmp_path / "t.odcs.yaml").write_text(odcs([column]))
    done = _python(FORKED, str(tmp_path / "t.odcs.yaml"), tables)
    assert done.returncode == 0, done.stdout


WRITER = """
import duckdb, sys
with duckdb.connect(sys.argv[1]) as connection:
    connection.execute("INSERT INTO t VALUES (-9)")
"""


def _python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", script, *arguments]
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, cwd=Path(__file__).parents[1]
    )


def test_a_duckdb_file_is_let_go_after_the_run(tmp_path: Path) -> None:
    """The datasets of a run see one state of a DuckDB file; after it other processes, and this one, may write."""
    for name in TABLES:
        source = duckdb_file(tmp_path, ROWS, name)
    path = str(tmp_path / "warehouse.duckdb")
    tried: list[int] = []

    def write(dataset: str, done: int, of: int) -> None:
        if 0 < done < of:
            tried.append(_python(WRITER, path).returncode)

    assert counts(check_contract(several(), source=source, progress=write)) == [1, 1, 1]
    assert tried == [1, 1]
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO v VALUES (-3)")
    assert _python(WRITER, path).returncode == 0
    assert counts(check_contract(several(), source=source)) == [2, 1, 2]


def test_a_sqlite_file_is_open_for_one_dataset_only(tmp_path: Path) -> None:
    """Between two datasets of a run, anybody may write to a SQLite file."""
    rows = [sqlite_file(tmp_path, ROWS, name) for name in TABLES]
    engine = sqlalchemy.create_engine(rows[0])

    def write(dataset: str, done: int, of: int) -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO v VALUES (-3)")

    assert counts(check_contract(several(), source=rows[0], progress=write)) == [1, 1, 4]
    engine.dispose()


def test_an_opened_source_that_is_never_asked_connects_to_nothing(tmp_path: Path) -> None:
    """Opening a source that is not there is no error; asking it is."""
    with counted_connections() as made, resolve(several(), source="postgresql+psycopg://nowhere.invalid/x").opened():
        pass
    assert made == []
    report = check_contract(several(), source=f"duckdb:///{tmp_path}/none/such.duckdb")
    assert {one.status for one in report.results} == {"errored"}
    assert result(report, "minimum", "a") if len(report.datasets) == 1 else report.exit_code == 2


@pytest.mark.service
def test_every_statement_of_a_run_is_one_that_reads(tables: str, postgres: Postgres, postgres_database: str) -> None:
    """Nineteen rules on PostgreSQL are one scan, a grouping for each key and an anti-join; nothing is created."""
    with postgres.connect(postgres_database) as connection:
        connection.execute("CREATE TABLE w (id int, code text, a int, b int, c text, moment timestamptz)")
        connection.execute("INSERT INTO w VALUES (1, 'x1', 1, 5, 'aaa', now()), (2, 'x2', -1, 7, 'bbb', now())")
        (counter,) = connection.execute("SELECT max(oid) FROM pg_class").fetchone()
    between = {"logicalTypeOptions": {"minimum": 0, "maximum": 9}}
    word = {"logicalTypeOptions": {"minLength": 1, "maxLength": 3, "pattern": "^[a-z0-9]+$"}}
    among = [{"id": "known", "metric": "invalidValues", "arguments": {"validValues": ["aaa", "bbb"]}, "mustBe": 0}]
    to_t = [{"type": "foreignKey", "to": "t.a"}]
    columns: list[dict[str, Any]] = [
        {"name": "id", "logicalType": "integer", "required": True, "unique": True},
        {"name": "code", "logicalType": "string", "required": True, "unique": True, **word},
        {"name": "a", "logicalType": "integer", "required": True, "relationships": to_t, **between},
        {"name": "b", "logicalType": "integer", **between},
        {"name": "c", "logicalType": "string", "required": True, "quality": among, **word},
        {"name": "moment", "logicalType": "timestamp"},
    ]
    quality = [{"id": "rows", "metric": "rowCount", "mustBeGreaterThan": 0}]
    schema = [
        {"name": "w", "physicalName": "w", "properties": columns, "quality": quality},
        {"name": "t", "physicalName": "t", "properties": [{"name": "a", "logicalType": "integer"}]},
    ]
    sla = {"slaProperties": [{"property": "freshness", "value": 1, "unit": "d", "element": "w.moment"}]}
    report = check_contract(contract_of(odcs(schema=schema, more=sla)), source=tables, datasets=["w"], sample_rows=0)
    (checked,) = report.datasets
    assert len([one for one in checked.results if one.check.section != "schema" or one.check.column]) >= 19, told(
        report
    )
    assert {one.status for one in checked.results} == {"passed", "failed"}, told(report)
    assert len(checked.statements) == 4, checked.statements
    scans = [one for one in checked.statements if "GROUP BY" not in one and "NOT EXISTS" not in one]
    assert len(scans) == 1
    with postgres.connect(postgres_database) as connection:
        (now,) = connection.execute("SELECT max(oid) FROM pg_class").fetchone()
    assert now == counter
    assert all(one.startswith("SELECT") for one in checked.statements)
