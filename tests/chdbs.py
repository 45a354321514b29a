"""An embedded ClickHouse for tests, reached through SQLAlchemy as a server would be."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
import sqlalchemy
from databases import Rows, columns_of

_TYPES = (
    (r"TINYINT", "Int8"),
    (r"SMALLINT", "Int16"),
    (r"INTEGER", "Int32"),
    (r"BIGINT", "Int64"),
    (r"HUGEINT", "Int128"),
    (r"UTINYINT|USMALLINT|UINTEGER|UBIGINT", "UInt64"),
    (r"FLOAT", "Float32"),
    (r"DOUBLE", "Float64"),
    (r"DECIMAL(.*)", r"Decimal\1"),
    (r"BOOLEAN", "Bool"),
    (r"DATE", "Date32"),
    (r"TIMESTAMP.*", "DateTime64(6, 'UTC')"),
    (r"UUID", "UUID"),
    (r"VARCHAR", "String"),
)
"""What DuckDB's types are in ClickHouse, where they may be NULL; others have no such type."""


def type_of(kind: str) -> str | None:
    """The type of ClickHouse for one of DuckDB; None where there is none that may be NULL."""
    if kind.endswith("[]"):
        inner = type_of(kind[:-2])
        return f"Array({inner})" if inner is not None else None
    for pattern, to in _TYPES:
        found = re.fullmatch(pattern, kind)
        if found:
            return f"Nullable({found.expand(to)})"
    return None


@contextmanager
def clickhouse(folder: Path) -> Iterator[sqlalchemy.Engine]:
    """An engine on an empty database; this process has only one of them."""
    pytest.importorskip("chdb")
    pytest.importorskip("clickhouse_connect")
    engine = sqlalchemy.create_engine(
        "clickhousedb:///default", connect_args={"interface": "chdb", "path": str(folder)}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield engine
    engine.dispose()


def put_table(engine: sqlalchemy.Engine, folder: Path, rows: Rows | str, table: str = "t") -> None:
    """A table with the rows of a DuckDB SELECT, filled from a Parquet file. Skips what ClickHouse has no type for."""
    wanted = Rows(rows) if isinstance(rows, str) else rows
    kinds = [(name, kind, type_of(kind)) for name, kind in columns_of(wanted)]
    missing = [kind for _, kind, to in kinds if to is None]
    if missing:
        pytest.skip(f"ClickHouse has no {missing[0]} that may be NULL")
    file = folder / f"{table}.parquet"
    texts = {name for name, kind, _ in kinds if kind in ("UUID", "HUGEINT")}  # Parquet has them in another way
    cells = ", ".join(f'"{name}"::VARCHAR AS "{name}"' if name in texts else f'"{name}"' for name, _, _ in kinds)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for statement in wanted.before:
            connection.execute(statement)
        connection.execute(f"COPY (SELECT {cells} FROM ({wanted.query})) TO '{file}' (FORMAT parquet)")
    columns = ", ".join(f"`{name}` {to}" for name, _, to in kinds)
    with engine.begin() as database:
        for statement in (
            f"DROP TABLE IF EXISTS {table}",
            f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree ORDER BY tuple()",
            f"INSERT INTO {table} SELECT * FROM file('{file}', Parquet)",
        ):
            database.execution_options(no_parameters=True).exec_driver_sql(statement)
