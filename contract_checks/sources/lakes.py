"""Tables that are folders: Delta and Iceberg.

DuckDB reads both with extensions. Without its extension a Delta table can still be read by the package `deltalake`,
which says which Parquet files are the table now; what plain Parquet cannot tell (deleted rows, renamed columns) is
refused, never guessed.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from contract_checks.errors import MissingDriverError
from contract_checks.sources.csv_files import listed, quoted
from contract_checks.sources.interface import QueryError
from contract_checks.sources.paths import FileSet

_UNREADABLE = {
    "deletionVectors": "deleted rows are kept aside",
    "columnMapping": "columns have other names in its files",
}
_TYPES = {
    "string": "VARCHAR",
    "long": "BIGINT",
    "integer": "INTEGER",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "date": "DATE",
    "boolean": "BOOLEAN",
    "double": "DOUBLE",
    "float": "FLOAT",
    "timestamp": "TIMESTAMPTZ",
    "timestamp_ntz": "TIMESTAMP",
}


def log_of(found: FileSet) -> tuple[str, ...]:
    """What is written whenever a file set changes: the files themselves, of a table that is a folder its log."""
    logs = {"delta": "_delta_log", "iceberg": "metadata"}
    return tuple(str(Path(path, logs[found.format])) for path in found.paths) if found.format in logs else found.paths


def delta_sql(folder: Path, extension: bool) -> str:
    """The FROM item of a Delta table; `extension` says whether DuckDB has its own reader.

    Raises `MissingDriverError` when nothing can read it, `QueryError` when the table uses what cannot be read.
    """
    if extension:
        return f"delta_scan({quoted(str(folder))})"
    try:
        deltalake: Any = import_module("deltalake")
    except ModuleNotFoundError:
        raise MissingDriverError(
            f"{folder.name} is a Delta table; DuckDB's extension for it is not installed (duckdb -c 'INSTALL delta'), "
            "nor is the package deltalake (pip install deltalake)"
        ) from None
    table = deltalake.DeltaTable(str(folder))
    features = set(table.protocol().reader_features or ())
    refused = [reason for feature, reason in _UNREADABLE.items() if feature in features]
    if refused:
        raise QueryError(f"{folder.name} is a Delta table whose {refused[0]}; DuckDB's extension 'delta' reads it")
    files = [Path(uri.removeprefix("file://")) for uri in table.file_uris()]
    outside = [file for file in files if not file.resolve().is_relative_to(folder)]
    if outside:
        raise QueryError(f"{folder.name} names a file outside of its folder: {outside[0]}")
    if not files:
        raise QueryError(f"{folder.name} is a Delta table without a file")
    partitions = {field.name: field.type for field in table.schema().fields}
    types = {
        name: _TYPES.get(str(getattr(partitions[name], "type", "")), "VARCHAR")
        for name in table.metadata().partition_columns
    }
    hive = ", ".join(f"{quoted(name)}: '{kind}'" for name, kind in types.items())
    options = f", hive_partitioning = true, hive_types = {{{hive}}}" if types else ", hive_partitioning = false"
    return f"read_parquet({listed([str(file) for file in files])}, union_by_name = true{options})"


def iceberg_sql(folder: Path, extension: bool) -> str:
    """The FROM item of an Iceberg table. Raises `MissingDriverError` when DuckDB has no reader for it."""
    if not extension:
        raise MissingDriverError(
            f"{folder.name} is an Iceberg table; DuckDB's extension for it is not installed "
            "(duckdb -c 'INSTALL iceberg')"
        )
    return f"iceberg_scan({quoted(str(folder))}, allow_moved_paths = true)"
