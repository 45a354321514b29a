"""Parquet, CSV and JSON files, judged as they are by an embedded DuckDB.

Nothing is copied: every statement streams the files. Parquet brings its types. CSV and JSON cells have
none, so each cell is read by the type its column was promised, and one that is not of it is a violation of
that column alone.
"""

from __future__ import annotations

import csv
import glob
import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import category_of
from contract_checks.errors import SourceError
from contract_checks.metrics import FoundColumn
from contract_checks.model import Dataset, declared_categories, declared_formats
from contract_checks.sources.catalogue import name_parts
from contract_checks.sources.database import DatabaseSession, DatabaseSource
from contract_checks.sources.interface import MissingTableError, QueryError, Source
from contract_checks.sql import Relation
from contract_checks.sql.duckdb import CELLS, typed_columns
from contract_checks.sql.interface import json_path

SUFFIXES: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "json": (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
}
"""The formats that are read and the endings of their files."""


_PLACEHOLDER = re.compile(r"\{(model|object|table|schema)\}")


@dataclass(frozen=True)
class FileSet:
    """The files of one dataset."""

    paths: tuple[Path, ...]
    format: str


class FileSource(Source):
    """A folder, file or pattern of Parquet, CSV or JSON files.

    `location` may hold `{model}`, `{object}`, `{table}` or `{schema}` for the dataset's name, and `*`. In a
    folder a dataset is the file of its name, or the folder of its name with such files. `format` is
    `parquet`, `csv` or `json`; without it the files' endings decide. `delimiter` is that of CSV.
    """

    def __init__(self, location: str | Path, format: str | None = None, delimiter: str | None = None) -> None:
        self.location = str(location)
        self.name = self.location
        self.format = _known_format(format)
        self.delimiter = delimiter

    @override
    @contextmanager
    def session(self, datasets: Sequence[Dataset]) -> Iterator[FileSession]:
        engine = create_engine("duckdb:///:memory:", poolclass=NullPool)
        database = DatabaseSource(engine)
        database.name = self.name
        try:
            with engine.connect() as connection:
                folder = str(_root(self.location)).rstrip("/") + "/"
                for setting in (
                    "SET TimeZone = 'UTC'",
                    "SET preserve_insertion_order = false",
                    f"SET allowed_directories = [{_quoted(folder)}]",
                    "SET enable_external_access = false",
                    "SET lock_configuration = true",
                ):
                    connection.exec_driver_sql(setting)
                connection.commit()
                with connection.begin():
                    yield FileSession(connection, database, datasets, self)
        except DBAPIError as error:
            raise SourceError(f"{self.name}: {database.clean(error)}") from None
        finally:
            engine.dispose()

    def files(self, dataset: Dataset, alone: bool) -> FileSet:
        """The files of a dataset. Raises `MissingTableError` if there are none.

        `alone` says that the contract has no other dataset, so that a single file must be this one's.
        """
        names = list(dict.fromkeys((name_parts(dataset.physical_name)[-1], dataset.physical_name, dataset.name)))
        if _PLACEHOLDER.search(self.location):
            for name in names:
                found = _expand(_PLACEHOLDER.sub(name.replace("\\", "\\\\"), self.location), self.format)
                if found:
                    return self._set(found)
        else:
            root = Path(self.location)
            if root.is_dir():
                for name in names:
                    found = _in_folder(root, name, self.format)
                    if found:
                        return self._set(found)
            else:
                found = _expand(self.location, self.format)
                if found and (alone or any(_stem(path) in names for path in found)):
                    return self._set(found)
        kind = f"{self.format} " if self.format else ""
        raise MissingTableError(f"there is no {kind}file for '{names[0]}' in {self.location}")

    def _set(self, paths: Sequence[Path]) -> FileSet:
        formats = {self.format or _format_of(path) for path in paths}
        if len(formats) > 1 or None in formats:
            raise MissingTableError(f"{self.location}: the files are not of one format among {', '.join(SUFFIXES)}")
        resolved = tuple(path.resolve() for path in paths)
        root = _root(self.location)
        outside = [path for path in resolved if not path.is_relative_to(root)]
        if outside:
            raise MissingTableError(f"{outside[0]} is outside of {root}")
        return FileSet(resolved, next(iter(formats)) or "")


class FileSession(DatabaseSession):
    """A session on files: a DuckDB that may read this source's folder and nothing else."""

    def __init__(
        self, connection: Any, database: DatabaseSource, datasets: Sequence[Dataset], source: FileSource
    ) -> None:
        super().__init__(connection, database, datasets)
        self.files = source

    @override
    def relation(self, dataset: Dataset) -> Relation:
        if dataset.physical_name not in self._relations:
            self._relations[dataset.physical_name] = self._open(dataset)
        return self._relations[dataset.physical_name]

    def _open(self, dataset: Dataset) -> Relation:
        found = self.files.files(dataset, alone=len(self.datasets) == 1)
        listed = _listed(found.paths)
        declared, formats = declared_categories(dataset), declared_formats(dataset)
        shown = f"{found.paths[0].name}" if len(found.paths) == 1 else f"{len(found.paths)} files of {dataset.name}"
        placeholder = exp.to_identifier(dataset.name, quoted=True).sql(dialect="duckdb")
        try:
            if found.format == "parquet":
                sql = (
                    f"read_parquet({listed}, union_by_name = true)"
                    if len(found.paths) > 1
                    else f"read_parquet({listed})"
                )
                return Relation(shown, sql, "duckdb", self._described(sql), "native", declared, placeholder, formats)
            if found.format == "csv":
                sql, header = self._csv(found)
                columns = tuple(FoundColumn(name, "", "string") for name in header)
                return Relation(shown, sql, "duckdb", columns, "csv", declared, placeholder, formats)
            names = self._json_keys(listed)
            columns = tuple(FoundColumn(name, "JSON", "object") for name in names)
            return Relation(
                shown, _json_cells(listed, names), "duckdb", columns, "json", declared, placeholder, formats
            )
        except DBAPIError as error:
            self._restart()
            raise QueryError(f"{shown}: {self.source.clean(error)}") from None

    def _delimiter(self, found: FileSet) -> str:
        if self.files.delimiter:
            return {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}.get(
                self.files.delimiter.lower(), self.files.delimiter
            )
        return "\t" if ".tsv" in found.paths[0].suffixes else ","

    def _csv(self, found: FileSet) -> tuple[str, tuple[str, ...]]:
        """The FROM item of CSV files, whose columns are matched by name, and the names."""
        delimiter = self._delimiter(found)
        groups: dict[tuple[str, ...], list[Path]] = {}
        for path in found.paths:
            groups.setdefault(_csv_header(path, delimiter), []).append(path)
        first = next(iter(groups))
        for header, paths in groups.items():
            if set(header) != set(first):
                odd = ", ".join(sorted(set(header) ^ set(first)))
                raise QueryError(f"{paths[0].name} has other columns than {found.paths[0].name}: {odd}")
        scans = [_read_csv(_listed(paths), header, delimiter) for header, paths in groups.items()]
        if len(scans) == 1:
            return scans[0], first
        names = ", ".join(exp.to_identifier(name, quoted=True).sql(dialect="duckdb") for name in first)
        return "(" + " UNION ALL ".join(f"SELECT {names} FROM {scan}" for scan in scans) + ")", first

    def _described(self, sql: str) -> tuple[FoundColumn, ...]:
        rows = self.connection.exec_driver_sql(f"DESCRIBE SELECT * FROM {sql}")
        return tuple(FoundColumn(row[0], row[1], category_of(row[1], "duckdb")) for row in rows)

    def _json_keys(self, listed: str) -> tuple[str, ...]:
        """The keys of all objects, in the order of their first appearance as far as DuckDB tells."""
        sql = f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({listed}, format = 'auto')"
        return tuple(sorted(row[0] for row in self.connection.exec_driver_sql(sql)))

    def prepare_queries(self) -> None:
        """Make every dataset of the contract a view of its name, with the types of its promises."""
        for dataset in self.datasets:
            try:
                relation = self.relation(dataset)
            except SourceError:
                continue  # a query that names it fails with the database's own words
            columns = "*" if relation.encoding == "native" else typed_columns(relation)
            for name in dict.fromkeys((dataset.name, *name_parts(dataset.physical_name)[-1:])):
                view = exp.to_identifier(name, quoted=True).sql(dialect="duckdb")
                self.connection.exec_driver_sql(
                    f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {columns} FROM {relation.sql}"
                )
        raw: Any = self.connection.connection.dbapi_connection
        raw.commit()  # or the first query that fails would take the views along
        raw.begin()


def _known_format(format: str | None) -> str | None:
    if format is None or not format.strip():
        return None
    word = format.strip().lower()
    known = {"jsonl": "json", "ndjson": "json", "jsonlines": "json", "tsv": "csv", "txt": "csv"}.get(word, word)
    if known not in SUFFIXES:
        raise SourceError(f"files of format '{format}' cannot be read; known are {', '.join(SUFFIXES)}")
    return known


def _format_of(path: Path) -> str | None:
    for known, suffixes in SUFFIXES.items():
        if path.name.lower().endswith(suffixes):
            return known
    return None


def _stem(path: Path) -> str:
    for suffixes in SUFFIXES.values():
        for suffix in sorted(suffixes, key=len, reverse=True):
            if path.name.lower().endswith(suffix):
                return path.name[: -len(suffix)]
    return path.stem


def _expand(pattern: str, format: str | None) -> list[Path]:
    path = Path(pattern)
    if path.is_file():
        return [path]
    if path.is_dir():
        return _members(path, format)
    return sorted(Path(found) for found in glob.glob(pattern, recursive=True) if Path(found).is_file())  # noqa: PTH207 - a pattern may be absolute


def _in_folder(root: Path, name: str, format: str | None) -> list[Path]:
    for known, suffixes in SUFFIXES.items():
        if format in (None, known):
            for suffix in suffixes:
                if (root / f"{name}{suffix}").is_file():
                    return [root / f"{name}{suffix}"]
    return _members(root / name, format) if (root / name).is_dir() else []


def _members(folder: Path, format: str | None) -> list[Path]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and _format_of(path) is not None]
    return [path for path in files if format is None or _format_of(path) == format]


def _root(location: str) -> Path:
    """The deepest folder without placeholders: the only one DuckDB may read."""
    path = Path(re.split(r"[*?\[{]", location, maxsplit=1)[0] if re.search(r"[*?\[{]", location) else location)
    exact = path if path.is_dir() else path.parent
    return exact.resolve()


def _listed(paths: Sequence[Path]) -> str:
    return "[" + ", ".join(_quoted(str(path)) for path in paths) + "]"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _csv_header(path: Path, delimiter: str) -> tuple[str, ...]:
    """The names in the first line. Raises `QueryError` when the file has none or repeats one."""
    try:
        with _open_text(path) as file:
            if len(delimiter) == 1:
                header = next(csv.reader(file, delimiter=delimiter), None)
            else:
                header = [name.strip('"') for name in file.readline().rstrip("\r\n").split(delimiter)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise QueryError(f"{path.name} cannot be read as CSV: {error}") from None
    if not header:
        raise QueryError(f"{path.name} is empty; a CSV file starts with a line of column names")
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise QueryError(f"{path.name} names a column twice: {', '.join(sorted(repeated))}")
    return tuple(header)


def _open_text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _read_csv(listed: str, header: tuple[str, ...], delimiter: str) -> str:
    # DuckDB must not guess: its sniffer takes a ragged line for the header and drops the rows before it.
    columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in header)
    options = "header = true, quote = '\"', escape = '\"', allow_quoted_nulls = false, auto_detect = false"
    return f"read_csv({listed}, delim = {_quoted(delimiter)}, {options}, columns = {{{columns}}})"


def _json_cells(listed: str, names: tuple[str, ...]) -> str:
    """A FROM item whose one column `cells` is the list of each object's values, in the order of `names`.

    A list has no column names, so `a` and `A` stay two keys.
    """
    paths = ", ".join(_quoted(json_path((name,))) for name in names)
    return f"(SELECT json_extract(json, [{paths}]) AS {CELLS} FROM read_json_objects({listed}, format = 'auto'))"
