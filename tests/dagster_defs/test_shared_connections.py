"""The steps of a process share the connections to a server, and leave none behind."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest
import sqlalchemy
from builders import odcs
from databases import Postgres, Rows, duckdb_file
from pipelines import run
from sqlalchemy.pool import Pool

from contract_checks.dagster_defs import build_definitions

ROWS = Rows("SELECT * FROM (VALUES (1), (3), (2)) v(a)")
TABLES = ("t", "u", "v")


@pytest.fixture
def contracts(tmp_path: Path) -> Path:
    """A folder of three contracts, each about a table of its own."""
    folder = tmp_path / "contracts"
    folder.mkdir()
    column = {"name": "a", "logicalType": "integer", "required": True, "logicalTypeOptions": {"minimum": 0}}
    for name in TABLES:
        (folder / f"{name}.odcs.yaml").write_text(odcs([column], name=name))
    return folder


@pytest.mark.service
def test_the_assets_of_a_run_share_a_connection(contracts: Path, postgres: Postgres, postgres_database: str) -> None:
    """Steps of one process, of whatever contracts, use one connection to a server; the run's end closes it."""
    for name in TABLES:
        postgres.load(postgres_database, ROWS, name)
    definitions = build_definitions(contracts, source=postgres.url(postgres_database))
    made: list[object] = []

    def note(connection: object, record: object) -> None:
        made.append(connection)

    sqlalchemy.event.listen(Pool, "connect", note)
    try:
        ran = run(definitions, more=())
    finally:
        sqlalchemy.event.remove(Pool, "connect", note)
    assert ran.success
    assert set(ran.materialized) == set(TABLES)
    # Dagster's own storage, in SQLite, makes connections as well.
    assert len([one for one in made if type(one).__module__.startswith("psycopg")]) == 1
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    with postgres.connect() as connection:
        for _ in range(50):
            (left,) = connection.execute(sql, (postgres_database,)).fetchone()
            if not left:
                break
            time.sleep(0.1)
    assert left == 0


def test_a_duckdb_file_is_free_between_the_steps(contracts: Path, tmp_path: Path) -> None:
    """After the step of one contract, the next step may write to the file that it was checked in."""
    for name in TABLES:
        source = duckdb_file(tmp_path, ROWS, name)
    written: list[Any] = []

    @dg.asset(deps=["t"])
    def more() -> None:
        with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as connection:
            written.append(connection.execute("INSERT INTO t VALUES (7)").fetchall())

    assert run(build_definitions(contracts, source=source), more=(more,)).success
    assert len(written) == 1
