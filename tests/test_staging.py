"""Write, audit, publish: tables that are exchanged when their rows may be seen."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, inspect
from sqlalchemy.exc import SQLAlchemyError

from contract_checks.errors import SourceError
from contract_checks.queries import with_table
from contract_checks.sources import StagedTable

pa = pytest.importorskip("pyarrow")

ROWS = pa.table(
    {
        "id": [1, 2],
        "price": pa.array([Decimal("1.10"), None], pa.decimal128(10, 2)),
        "name": ["a", "it's 100%"],
        "at": pa.array([datetime(2024, 1, 1, 12), None], pa.timestamp("us")),
        "day": [date(2024, 2, 29), None],
        "ok": [True, None],
    }
)
Place = Callable[[], str]


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        return str(server.url(request.getfixturevalue("postgres_database")))
    return f"{request.param}:///{tmp_path / 'db'}"


def ask(url: str, sql: str) -> list[tuple[Any, ...]]:
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            done = connection.exec_driver_sql(sql)
            return [tuple(row) for row in done] if done.returns_rows else []
    finally:
        engine.dispose()


def tables(url: str) -> set[str]:
    engine = create_engine(url)
    try:
        return {*inspect(engine).get_table_names()}
    finally:
        engine.dispose()


def staged(url: str, rows: Any = ROWS, table: str = "orders") -> StagedTable:
    made = StagedTable(url, table, "abc")
    made.write(rows)
    return made


def test_a_new_table_is_published(url: str) -> None:
    """Rows wait in the staging table and are then the table's, with nothing left beside it."""
    waiting = staged(url)
    assert tables(url) == {"orders__staging_abc"}
    waiting.publish()

    assert tables(url) == {"orders"}
    (first, second) = ask(url, "SELECT * FROM orders ORDER BY id")
    assert (first[0], float(first[1]), first[2]) == (1, 1.10, "a")
    assert str(first[3]).startswith("2024-01-01 12:00:00")
    assert str(first[4]) == "2024-02-29"
    assert second[2] == "it's 100%"
    assert [second[position] for position in (1, 3, 4, 5)] == [None] * 4


def test_published_rows_take_the_place_of_the_old(url: str) -> None:
    """A table of the same columns keeps its views, keys and place, and has the new rows only."""
    staged(url).publish()
    ask(url, "CREATE VIEW seen AS SELECT COUNT(*) AS n FROM orders")
    staged(url, pa.concat_tables([ROWS, ROWS])).publish()

    assert ask(url, "SELECT n FROM seen") == [(4,)]
    assert tables(url) == {"orders"}


def test_a_key_is_kept_and_its_rows_exchanged(url: str) -> None:
    """A primary key of the published table stays, and does not mind the same keys again."""
    ask(url, f"CREATE TABLE orders (id {'INTEGER' if 'sqlite' in url else 'BIGINT'} PRIMARY KEY)")
    for _ in range(2):
        staged(url, pa.table({"id": [1, 2]})).publish()

    assert ask(url, "SELECT id FROM orders ORDER BY id") == [(1,), (2,)]
    with pytest.raises(SQLAlchemyError):
        ask(url, "INSERT INTO orders (id) VALUES (1)")


def test_a_table_of_other_columns_is_replaced(url: str) -> None:
    """New columns come with the new rows, at once."""
    staged(url).publish()
    staged(url, pa.table({"id": [7], "more": ["x"]})).publish()

    assert ask(url, "SELECT * FROM orders") == [(7, "x")]


def test_a_failed_exchange_changes_nothing(url: str) -> None:
    """When the exchange breaks a rule of the table, the old rows are there as if nothing had been."""
    ask(url, "CREATE TABLE orders (id INTEGER NOT NULL CHECK (id < 10))")
    ask(url, "INSERT INTO orders VALUES (1)")
    waiting = StagedTable(url, "orders", "abc")
    ask(url, f"CREATE TABLE {waiting.staging} (id INTEGER)")
    ask(url, f"INSERT INTO {waiting.staging} VALUES (5), (99)")
    with pytest.raises(SourceError, match="'orders' cannot be written"):
        waiting.publish()

    assert ask(url, "SELECT id FROM orders") == [(1,)]


def test_rejected_rows_are_set_aside(url: str) -> None:
    """What was not published is kept in a table of its own, the last of it only."""
    staged(url).publish()
    staged(url, pa.table({"id": [8]})).reject()
    staged(url, pa.table({"id": [9]})).reject()

    assert tables(url) == {"orders", "orders__rejected"}
    assert ask(url, "SELECT id FROM orders__rejected") == [(9,)]
    assert ask(url, "SELECT COUNT(*) FROM orders") == [(2,)]


def test_nothing_written_is_nothing_published(url: str) -> None:
    """Without a staging table there is an error, and the published rows stay."""
    staged(url).publish()
    waiting = StagedTable(url, "orders", "abc")
    waiting.discard()
    with pytest.raises(SourceError, match="nothing was written"):
        waiting.publish()

    assert ask(url, "SELECT COUNT(*) FROM orders") == [(2,)]


def test_numbers_are_never_rounded_to_fit(url: str) -> None:
    """1.5 is not published as 2 because a column was of whole numbers before."""
    ask(url, "CREATE TABLE orders (id INTEGER)")
    try:
        staged(url, pa.table({"id": [1.5]})).publish()
    except SourceError:
        assert ask(url, "SELECT id FROM orders") == []
    else:
        assert ask(url, "SELECT id FROM orders") == [(1.5,)]


def test_names_are_quoted(url: str) -> None:
    """Tables and columns may be called anything."""
    odd = pa.table({'a"b': [1], "50 %": [2]})
    staged(url, odd, '"or""der s"').publish()

    assert tables(url) == {'or"der s'}
    assert ask(url, 'SELECT * FROM "or""der s"') == [(1, 2)]


def test_two_runs_do_not_meet() -> None:
    """Each run has a staging table of its own; a long name stays within what databases take."""
    one, other = (StagedTable("duckdb:///x", "t" * 60, token) for token in ("aaaa", "bbbb"))

    assert one.staging != other.staging
    assert max(len(one.names.staging), len(one.names.rejected)) <= 63


def test_other_databases_are_refused() -> None:
    """Where tables cannot be exchanged in a transaction, that is said at once."""
    with pytest.raises(SourceError, match="duckdb, postgres, sqlite only"):
        StagedTable("mysql+pymysql://host/db", "t", "a")


_READER = """
import sys, time
from sqlalchemy import create_engine
engine = create_engine(sys.argv[1])
seen = set()
print("ready", flush=True)
while time.time() < float(sys.argv[2]):
    with engine.connect() as connection:
        seen.add(connection.exec_driver_sql("SELECT COUNT(*), COUNT(DISTINCT id) FROM orders").fetchone())
print(sorted(map(tuple, seen)))
"""


@pytest.mark.service
def test_a_reader_sees_the_old_rows_or_the_new(postgres: Any, postgres_database: str) -> None:
    """Whoever reads while tables are exchanged sees one of the two, never none and never a mixture."""
    import time

    url = postgres.url(postgres_database)
    staged(url, pa.table({"id": [1] * 100})).publish()
    command = [sys.executable, "-c", _READER, url, str(time.time() + 4)]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    assert reader.stdout.readline().strip() == "ready"
    for number in range(2, 12):
        staged(url, pa.table({"id": [number] * 100})).publish()
    seen = reader.communicate(timeout=60)[0].strip()

    assert seen == "[(100, 1)]"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT COUNT(*) FROM orders WHERE orders.a < 0", 'SELECT COUNT(*) FROM "s" AS orders WHERE orders.a < 0'),
        ("SELECT MAX(o.a) FROM Sales.Orders AS o", 'SELECT MAX(o.a) FROM "s" AS o'),
        ("SELECT COUNT(*) FROM other.orders", "SELECT COUNT(*) FROM other.orders"),
        ("SELECT COUNT(*) FROM {object} WHERE {property} > 0", "SELECT COUNT(*) FROM {object} WHERE {property} > 0"),
        (
            "WITH orders AS (SELECT 1 AS a) SELECT MAX(a) FROM orders",
            "WITH orders AS (SELECT 1 AS a) SELECT MAX(a) FROM orders",
        ),
        ("SELECT 'orders' FROM items", "SELECT 'orders' FROM items"),
        ("SELECT oops FROM (", "SELECT oops FROM ("),
    ],
)
def test_a_query_asks_the_staged_rows(sql: str, expected: str) -> None:
    """A query that names the table asks the staging table in its place, and no other table's rows."""
    assert with_table(sql, "duckdb", ("sales", "orders"), ("s",)) == expected
