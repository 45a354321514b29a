"""Write, audit, publish: new rows wait in a table of their own until they have kept their promises.

The one place that writes, and only where a caller names a database for it: never because a contract says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlglot import exp

from contract_checks.datatypes import category_of
from contract_checks.errors import SourceError
from contract_checks.metrics import FoundColumn
from contract_checks.native_types import same_native_type
from contract_checks.sources.catalogue import TableName, find_columns, name_parts, table_sql
from contract_checks.sources.database import DatabaseSource
from contract_checks.sources.memory import arrow_table

if TYPE_CHECKING:
    import pyarrow

DIALECTS = ("duckdb", "postgres", "sqlite")
"""Where a table can be exchanged in one transaction."""

_BATCH = 5000
_LONGEST_NAME = 63


@dataclass(frozen=True)
class StagedNames:
    """The published table, the one of unpublished rows, and the one of the last rows that were not published."""

    table: str
    staging: str
    rejected: str


class StagedTable(DatabaseSource):
    """A table of a database, and beside it one for the rows that are not published yet.

    `name` says the database; `table` is the table as a contract names it; `staging` the name, as a contract
    would write it, of the other, which belongs to one run (`token`) alone. As a source it answers for both.
    Raises `SourceError` for databases that cannot exchange tables in a transaction.
    """

    def __init__(self, database: str | URL | Engine, table: str, token: str) -> None:
        super().__init__(database)
        if self.dialect not in DIALECTS:
            raise SourceError(f"{self.name}: tables can be exchanged in {', '.join(DIALECTS)} only")
        self.table = table
        self._parts = _placed(name_parts(table), self.dialect)
        self._staging = self._beside(f"staging_{token}")
        self._rejected = self._beside("rejected")

    @property
    def staging(self) -> str:
        """The name of the table of unpublished rows, quoted."""
        return _contract_name(self._staging)

    @property
    def names(self) -> StagedNames:
        """The plain names of the three tables, without their schema."""
        return StagedNames(self._parts[-1], self._staging[-1], self._rejected[-1])

    def write(self, data: Any) -> None:
        """Put tabular data (see `arrow_table`) into the staging table. Raises `SourceError`.

        A column has the type that it has in the published table, if nothing can be lost by that, else the type
        of the data.
        """
        rows = arrow_table(data)
        with self._writing() as connection:
            self._drop(connection, self._staging)
            found = self._published(connection)
            name = table_sql(self._staging, self.dialect)
            if self.dialect == "duckdb":
                raw: Any = connection.connection.dbapi_connection
                raw.register("contract_rows", rows)
                connection.exec_driver_sql(f"CREATE TABLE {name} AS SELECT * FROM contract_rows")
                raw.unregister("contract_rows")
                return
            known = {one.name: one.native_type for one in found[1]} if found is not None else {}
            columns = ", ".join(f"{_quoted(field.name)} {self._type(field, known)}" for field in rows.schema)
            connection.exec_driver_sql(f"CREATE TABLE {name} ({columns})")
            self._insert(connection, name, rows)

    def publish(self) -> None:
        """Exchange the published rows for the staged ones, in one transaction. Raises `SourceError`.

        A table of the same columns stays and gets the new rows, so that its grants, indexes and views do; one of
        other columns or types is replaced.
        """
        with self._writing() as connection:
            found, staged = self._published(connection), self._columns(connection, self._staging)
            if staged is None:
                raise SourceError(f"{self.name}: nothing was written to {'.'.join(self._staging)}")
            if found is not None and _same(found[1], staged):
                target, name = table_sql(found[0], self.dialect), table_sql(self._staging, self.dialect)
                columns = ", ".join(_quoted(one.name) for one in staged)
                connection.exec_driver_sql(f"DELETE FROM {target}")
                connection.exec_driver_sql(f"INSERT INTO {target} ({columns}) SELECT {columns} FROM {name}")
                self._drop(connection, self._staging)
                return
            if found is not None:
                self._drop(connection, found[0])
            self._rename(connection, self._staging, (found[0] if found else self._parts)[-1])

    def reject(self) -> None:
        """Set the staged rows aside, in the place of those that were rejected before. Raises `SourceError`."""
        with self._writing() as connection:
            if self._columns(connection, self._staging) is not None:
                self._drop(connection, self._rejected)
                self._rename(connection, self._staging, self._rejected[-1])

    def discard(self) -> None:
        """Drop the staging table, if there is one. Raises `SourceError`."""
        with self._writing() as connection:
            self._drop(connection, self._staging)

    # ------------------------------------------------------------------ parts

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A connection in one transaction, which ends with a commit or, at an error, as if nothing had been."""
        engine = self._engine or self._create_engine({})
        try:
            with self._connect(engine) as connection, connection.begin():
                if self.dialect == "sqlite":
                    # Python's driver would begin only before the first INSERT, after the table was dropped.
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection.execution_options(no_parameters=True)
        except (DBAPIError, ValueError, TypeError, OverflowError) as error:
            raise SourceError(f"{self.name}: '{self.table}' cannot be written: {self.clean(error)}") from None
        finally:
            if self._engine is None:
                engine.dispose()

    def _beside(self, suffix: str) -> TableName:
        name = f"{self._parts[-1]}__{suffix}"
        if len(name) > _LONGEST_NAME:
            digest = hashlib.sha256(self._parts[-1].encode()).hexdigest()[:6]
            name = f"{self._parts[-1][: _LONGEST_NAME - len(suffix) - 9]}_{digest}__{suffix}"
        return (*self._parts[:-1], name)

    def _published(self, connection: Connection) -> tuple[TableName, tuple[FoundColumn, ...]] | None:
        return find_columns(connection, self.dialect, self.table, self.default_schema)

    def _columns(self, connection: Connection, name: TableName) -> tuple[FoundColumn, ...] | None:
        found = find_columns(connection, self.dialect, _contract_name(name), self.default_schema)
        return found[1] if found else None

    def _drop(self, connection: Connection, name: TableName) -> None:
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table_sql(name, self.dialect)}")

    def _rename(self, connection: Connection, name: TableName, to: str) -> None:
        connection.exec_driver_sql(f"ALTER TABLE {table_sql(name, self.dialect)} RENAME TO {_quoted(to)}")

    def _type(self, field: Any, known: Mapping[str, str]) -> str:
        return _fitting(_type(field.type, self.dialect), known.get(field.name), self.dialect)

    def _insert(self, connection: Connection, name: str, rows: pyarrow.Table) -> None:
        mark = "%s" if self.dialect == "postgres" else "?"
        columns = ", ".join(_quoted(column) for column in rows.column_names)
        into = f"{name} ({columns})".replace("%", "%%") if self.dialect == "postgres" else f"{name} ({columns})"
        sql = f"INSERT INTO {into} VALUES ({', '.join([mark] * rows.num_columns)})"
        plain = _postgres_value if self.dialect == "postgres" else _sqlite_value
        values = (
            tuple(plain(cell) for cell in row)
            for batch in rows.to_batches(max_chunksize=_BATCH)
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )
        while part := list(islice(values, _BATCH)):
            connection.exec_driver_sql(sql, part)


def _placed(parts: TableName, dialect: str) -> TableName:
    """Where a new table goes: what is before schema and table are names of other systems' catalogues."""
    return parts[-1:] if dialect == "sqlite" else parts[-2:]


def _contract_name(name: TableName) -> str:
    return ".".join(f'"{part.replace(chr(34), chr(34) * 2)}"' for part in name)


def _fitting(own: str, published: str | None, dialect: str) -> str:
    """The type of the published column where it holds the data exactly or refuses it, else the data's own.

    PostgreSQL rounds numbers and moments to fit; SQLite stores what it is given.
    """
    if published is None:
        return own
    kind = category_of(published, dialect)
    exact = kind == category_of(own, dialect) and kind in ("integer", "string", "boolean", "date")
    return published if dialect == "sqlite" or exact or same_native_type(published, own, dialect) else own


def _same(one: tuple[FoundColumn, ...], other: tuple[FoundColumn, ...]) -> bool:
    return {(column.name, column.native_type) for column in one} == {
        (column.name, column.native_type) for column in other
    }


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect="postgres")


def _type(kind: Any, dialect: str) -> str:
    """The type of a new column for an Arrow type."""
    import pyarrow.types as arrow

    if arrow.is_dictionary(kind):
        return _type(kind.value_type, dialect)
    if arrow.is_decimal(kind):
        return f"NUMERIC({kind.precision}, {kind.scale})"
    if arrow.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMP WITH TIME ZONE"
    if arrow.is_nested(kind):
        return "JSONB" if dialect == "postgres" else "JSON"
    for test, name in (
        (arrow.is_boolean, "BOOLEAN"),
        (arrow.is_uint64, "NUMERIC(20, 0)"),
        (arrow.is_integer, "BIGINT" if str(kind) in ("int64", "uint32") else "INTEGER"),
        (arrow.is_float32, "REAL"),
        (arrow.is_floating, "DOUBLE PRECISION"),
        (arrow.is_date, "DATE"),
        (arrow.is_time, "TIME"),
        (arrow.is_duration, "INTERVAL"),
        (arrow.is_binary, "BYTEA" if dialect == "postgres" else "BLOB"),
        (arrow.is_large_binary, "BYTEA" if dialect == "postgres" else "BLOB"),
    ):
        if test(kind):
            return name
    return "TEXT"


def _postgres_value(value: Any) -> Any:
    return json.dumps(value, default=str) if isinstance(value, dict | list) else value


def _sqlite_value(value: Any) -> Any:
    """A value as SQLite has it: dates as ISO text, decimals as their digits."""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict | list):
        return json.dumps(value, default=str)
    return value
