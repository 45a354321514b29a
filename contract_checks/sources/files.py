"""Parquet, CSV and JSON files, and tables that are folders, judged as they are by an embedded DuckDB.

Parquet brings its types, and every statement streams the files. CSV and JSON cells have none, so each cell is read by
the type its column was promised, and one that is not of it is a violation of that column alone; such files are read
once (see `reading`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import category_of
from contract_checks.errors import SourceError
from contract_checks.guarantees import NO_GUARANTEES, Guarantees
from contract_checks.metrics import Columns, FoundColumn, Measurement, Metric
from contract_checks.model import Dataset, declared_categories, declared_formats, declared_zones
from contract_checks.scans import Compiled
from contract_checks.sources.catalogue import name_parts
from contract_checks.sources.csv_files import (
    REJECTS,
    CsvScan,
    Ragged,
    csv_scan,
    delimiter_of,
    first_line_sql,
    known_encoding,
    listed,
    quoted,
    rejected_rows,
)
from contract_checks.sources.database import DatabaseSource
from contract_checks.sources.incremental import FILE
from contract_checks.sources.interface import MissingTableError, QueryError, Source
from contract_checks.sources.keeping import Keeping
from contract_checks.sources.kept import Fingerprint, KeptStore, fingerprints
from contract_checks.sources.lakes import delta_sql, iceberg_sql, log_of
from contract_checks.sources.object_stores import (
    Credentials,
    extension_of,
    folder_of,
    missing_extension,
    patterns,
    secret_statement,
    store_of,
)
from contract_checks.sources.once import OnceSession, asks_reading, bounds, is_out_of_memory, scratch_folder
from contract_checks.sources.parquet_statistics import read_statistics
from contract_checks.sources.paths import (
    FileSet,
    find_files,
    format_of,
    known_format,
    partitions_of,
    root_of,
    table_formats,
)
from contract_checks.sql import Relation
from contract_checks.sql.duckdb import CELLS, typed_columns
from contract_checks.sql.interface import json_path

RAGGED_SHOWN = 10
"""How many rows of another length are told by their lines."""


class FileSource(Source):
    """A folder, file or pattern of files; in an object store, a URL of such.

    `location` may hold `{model}`, `{object}`, `{table}` or `{schema}` for the dataset's name, and `*`. In a
    folder a dataset is the file of its name, or the folder of its name with such files or a table. `format` is
    `parquet`, `csv`, `json`, `delta` or `iceberg`; without it the files' endings decide. `delimiter` and `encoding`
    are those of CSV. `credentials` open an object store. Files of CSV and JSON are read once for all that is asked, in
    bounded memory (see `reading`); without `read_once` each statement reads them.
    """

    def __init__(
        self,
        location: str | Path,
        format: str | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        credentials: Credentials | None = None,
        read_once: bool = True,
    ) -> None:
        self.location = str(location)
        self.name = self.location
        self.format = known_format(format)
        self.delimiter = delimiter
        self.encoding = known_encoding(encoding)
        self.store = store_of(self.location)
        self.credentials = credentials or Credentials()
        self.read_once = read_once

    @override
    @contextmanager
    def session(self, datasets: Sequence[Dataset]) -> Iterator[FileSession]:
        engine = create_engine("duckdb:///:memory:", poolclass=NullPool)
        database = DatabaseSource(engine)
        database.name = self.name
        try:
            with scratch_folder(self.read_once and self._untyped(datasets)) as scratch, engine.connect() as connection:
                extensions = self._load(connection, datasets)
                folder = folder_of(self.location) if self.store else str(root_of(self.location)).rstrip("/") + "/"
                for setting in (
                    "SET TimeZone = 'UTC'",
                    "SET preserve_insertion_order = false",
                    *(bounds(scratch) if scratch is not None else ()),
                    f"SET allowed_directories = [{quoted(folder)}]",
                    "SET enable_external_access = false",
                    "SET lock_configuration = true",
                ):
                    connection.exec_driver_sql(setting)
                connection.commit()
                with connection.begin(), ExitStack() as more:
                    session = FileSession(connection, database, datasets, self, extensions, scratch is not None, more)
                    yield session
                    session.confirm()
        except DBAPIError as error:
            raise SourceError(f"{self.name}: {database.clean(error)}") from None
        finally:
            engine.dispose()

    def _untyped(self, datasets: Sequence[Dataset]) -> bool:
        """Whether there are files whose cells have no types."""
        formats = {self.format, format_of(Path(self.location))}
        for dataset in datasets if self.store is None else ():
            try:
                formats.add(self.files(dataset, alone=len(datasets) == 1).format)
            except (SourceError, OSError):
                continue  # told when the dataset is asked for
        return not formats.isdisjoint(("csv", "json"))

    def files(self, dataset: Dataset, alone: bool) -> FileSet:
        """The files of a dataset on this machine. Raises `MissingTableError` if there are none.

        `alone` says that the contract has no other dataset, so that a single file must be this one's.
        """
        return find_files(self.location, self.format, self.names(dataset), alone)

    @staticmethod
    def names(dataset: Dataset) -> list[str]:
        """The names under which a dataset's files are looked for."""
        own = (name_parts(dataset.physical_name)[-1], dataset.physical_name, dataset.name)
        return list(dict.fromkeys((*own, *dataset.aliases)))

    def _load(self, connection: Connection, datasets: Sequence[Dataset]) -> frozenset[str]:
        """Load the extensions that are needed, as far as they are installed; keys are given to the store."""
        names = [name for dataset in datasets for name in self.names(dataset)]
        wanted = table_formats(self.location, names) if self.store is None else set()
        loaded = {name for name in wanted if _loads(connection, name)}
        if self.store is not None:
            if not _loads(connection, extension_of(self.store)):
                raise missing_extension(self.location, self.store)
            statement = secret_statement(self.location, self.credentials)
            if statement:
                connection.exec_driver_sql(statement)
        return frozenset(loaded)


def _loads(connection: Connection, extension: str) -> bool:
    """Whether an extension of DuckDB is there; it is never fetched from the network."""
    try:
        connection.exec_driver_sql("SET autoinstall_known_extensions = false")
        connection.exec_driver_sql(f"LOAD {extension}")
    except DBAPIError:
        connection.rollback()
        return False
    return True


class FileSession(OnceSession):
    """A session on files: a DuckDB that may read this source's folder and nothing else.

    `more` closes what is opened beside it.
    """

    def __init__(
        self,
        connection: Connection,
        database: DatabaseSource,
        datasets: Sequence[Dataset],
        source: FileSource,
        extensions: frozenset[str],
        read_once: bool,
        more: ExitStack,
    ) -> None:
        super().__init__(connection, database, datasets, read_once)
        self._more = more
        self._unbounded: FileSession | None = None
        self.files = source
        self.extensions = extensions
        self._csv: dict[str, CsvScan] = {}
        self._ragged: dict[str, Ragged] = {}
        self._prepared = False
        self._footers: dict[str, FileSet] = {}
        self._seen: list[tuple[Fingerprint, ...]] = []
        self.kept: Keeping | None = None

    @override
    def relation(self, dataset: Dataset) -> Relation:
        if dataset.physical_name not in self._relations:
            self._relations[dataset.physical_name] = self._open(dataset)
        return self._relations[dataset.physical_name]

    def _open(self, dataset: Dataset) -> Relation:
        if self.files.store is not None:
            found = self._remote(dataset)
        else:
            found = self.files.files(dataset, alone=[one for one in self.datasets if not one.foreign] == [dataset])
            self._seen.append(fingerprints(list(dict.fromkeys(log_of(found)))) or ())
        relation = Relation(
            shown=Path(found.paths[0]).name if len(found.paths) == 1 else f"{len(found.paths)} files of {dataset.name}",
            sql="",
            dialect="duckdb",
            columns=(),
            declared=declared_categories(dataset),
            placeholder=exp.to_identifier(dataset.name, quoted=True).sql(dialect="duckdb"),
            formats=declared_formats(dataset),
            zoned=declared_zones(dataset),
        )
        readers = {"parquet": self._parquet, "csv": self._csv_files, "delta": self._delta, "iceberg": self._iceberg}
        try:
            return readers.get(found.format, self._json)(found, relation, dataset)
        except DBAPIError as error:
            self._restart()
            raise QueryError(f"{relation.shown}: {self.source.clean(error)}") from None

    def confirm(self) -> None:
        """Say that what was measured is of one state of the files: of files there is no snapshot.

        Raises `SourceError` when one of them is not what it was when the session opened it. Files of an object store
        are not looked at again.
        """
        for seen in self._seen:
            now = fingerprints([one.path for one in seen]) or ()
            if now != seen:
                changed = next((one.path for one in seen if one not in now), "")
                raise SourceError(f"{Path(changed).name} was written while it was read; nothing was evaluated")

    def _remote(self, dataset: Dataset) -> FileSet:
        """The files of a dataset in an object store, as the store lists them."""
        for name in self.files.names(dataset):
            for pattern in patterns(self.files.location, self.files.format, name):
                sql = f"SELECT file FROM glob({quoted(pattern)}) ORDER BY file"
                found = tuple(str(row[0]) for row in self.connection.exec_driver_sql(sql))
                formats = {self.files.format or format_of(Path(one)) for one in found}
                if found and len(formats) == 1 and None not in formats:
                    return FileSet(found, str(formats.pop()), partitions_of(found))
        raise MissingTableError(f"there is no file for '{dataset.name}' in {self.files.location}")

    def _first_line(self, path: str) -> str:
        return "".join(str(row[0]) for row in self.connection.exec_driver_sql(first_line_sql(path)))

    def _parquet(self, found: FileSet, relation: Relation, dataset: Dataset) -> Relation:
        seen = self.kept.see(found.paths) if self.kept is not None else None
        hive = f", hive_partitioning = {str(bool(found.partitions)).lower()}"
        texts = [name for name in found.partitions if relation.declared.get((name,)) == "string"]
        # The folders say `year=2024`; only the contract says whether that is a text.
        options = hive + _hive_types(dict.fromkeys(texts, "VARCHAR"))
        united = ", union_by_name = true" if len(found.paths) > 1 else ""
        sql = f"read_parquet({listed(found.paths)}{united}{options})"
        alike = self.kept is not None and seen is not None and self.kept.same_schema(seen, self._parquet_columns)
        columns = self._described(f"read_parquet({listed(found.paths)}{options})" if alike else sql)
        named = {column.name.lower() for column in columns}
        row_id = "" if "file_row_number" in named else "file_row_number"
        made = replace(relation, sql=sql, columns=columns, row_id=row_id)
        self._footers[sql] = found
        if alike and self.kept is not None and seen is not None:
            types = {one.name: one.native_type for one in columns if one.name in found.partitions}
            each = f"{hive}{_hive_types(types)}, filename = '{FILE}'"
            self.kept.know(made, dataset, seen, lambda paths: f"read_parquet({listed(paths)}{each})", each)
        return made

    def _parquet_columns(self, path: str) -> tuple[FoundColumn, ...]:
        return self._described(f"read_parquet({quoted(path)}, hive_partitioning = false)")

    @override
    def guarantees(self, dataset: Dataset, targets: Iterable[Relation]) -> Guarantees:
        relation = self.relation(dataset)
        found = self._footers.get(relation.sql)
        if found is None or self.kept is not None:  # what is kept spares the footers of files that did not change
            return NO_GUARANTEES
        return self._vouched(
            lambda: read_statistics(self.connection, found.paths, relation.columns, beside=found.partitions)
        )

    def _csv_files(self, found: FileSet, relation: Relation, dataset: Dataset) -> Relation:
        seen = self.kept.see(found.paths) if self.kept is not None else None
        delimiter = delimiter_of(self.files.delimiter, found.paths[0])
        first_line = self._first_line if self.files.store is not None else None
        scan = csv_scan(found.paths, delimiter, self.files.encoding, found.partitions, first_line)
        columns = tuple(FoundColumn(name, "", "string") for name in scan.columns)
        made = replace(relation, sql=scan.sql, columns=columns, encoding="csv")
        self._csv[made.sql] = scan
        if self.kept is not None and seen is not None:
            how = (delimiter, self.files.encoding, found.partitions)
            self.kept.know(made, dataset, seen, lambda paths: csv_scan(paths, *how, file=FILE).sql, *how)
        return made

    def _json(self, found: FileSet, relation: Relation, dataset: Dataset) -> Relation:
        if self.files.encoding != "utf-8":
            raise QueryError(f"{relation.shown}: JSON is UTF-8, not {self.files.encoding}")
        seen = self.kept.see(found.paths) if self.kept is not None else None
        known = self.kept.names(seen, self._json_keys_of) if self.kept is not None and seen is not None else None
        names = self._json_keys(listed(found.paths)) if known is None else known
        columns = tuple(FoundColumn(name, "JSON", "object") for name in names)
        made = replace(relation, sql=_json_cells(listed(found.paths), names), columns=columns, encoding="json")
        if self.kept is not None and seen is not None:
            self.kept.know(made, dataset, seen, lambda paths: _json_cells(listed(paths), names, FILE))
        return made

    def _delta(self, found: FileSet, relation: Relation, dataset: Dataset) -> Relation:
        sql = delta_sql(Path(found.paths[0]), "delta" in self.extensions)
        return replace(relation, sql=sql, columns=self._described(sql))

    def _iceberg(self, found: FileSet, relation: Relation, dataset: Dataset) -> Relation:
        sql = iceberg_sql(Path(found.paths[0]), "iceberg" in self.extensions)
        return replace(relation, sql=sql, columns=self._described(sql))

    def _described(self, sql: str) -> tuple[FoundColumn, ...]:
        rows = self.connection.exec_driver_sql(f"DESCRIBE SELECT * FROM {sql}")
        return tuple(FoundColumn(row[0], row[1], category_of(row[1], "duckdb")) for row in rows)

    def _json_keys(self, files: str) -> tuple[str, ...]:
        """The keys of all objects, in the order of their first appearance as far as DuckDB tells."""
        sql = f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({files}, format = 'auto')"
        return tuple(sorted(row[0] for row in self.connection.exec_driver_sql(sql)))

    def _json_keys_of(self, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The keys of the objects of each file."""
        source = f"read_json_objects({listed(paths)}, format = 'auto', filename = '{FILE}')"
        sql = f"SELECT DISTINCT {FILE}, unnest(json_keys(json)) FROM {source}"
        found: dict[str, list[str]] = {path: [] for path in paths}
        for row in self.connection.exec_driver_sql(sql):
            found[row[0]].append(row[1])
        return {path: tuple(sorted(names)) for path, names in found.items()}

    @override
    def prepare_queries(self) -> None:
        """Make every dataset of the contract a view of its name, with the types of its promises."""
        self._prepared = True
        for dataset in self.datasets:
            if dataset.foreign:
                continue
            try:
                relation = self.relation(dataset)
            except SourceError:
                continue  # a query that names it fails with the database's own words
            reading = self.reading(relation)
            columns = "*" if relation.encoding == "native" else typed_columns(relation)
            for name in dict.fromkeys((dataset.name, *name_parts(dataset.physical_name)[-1:])):
                if reading is not None:
                    self.connection.exec_driver_sql(reading.view(name))
                    continue
                view = exp.to_identifier(name, quoted=True).sql(dialect="duckdb")
                self.connection.exec_driver_sql(
                    f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {columns} FROM {self._tolerated(relation.sql)}"
                )
        self.settle()

    # ------------------------------------------------------------------ rows of another length

    @override
    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        try:
            return super().fetch(self._tolerated(sql))
        except QueryError as error:
            if self.read_once and is_out_of_memory(error) and not asks_reading(sql):
                return self._fetch_unbounded(self._tolerated(sql))
            if "Expected Number of Columns" not in str(error) or not self._find_ragged():
                raise
            if self._prepared:
                self.prepare_queries()
            return super().fetch(self._tolerated(sql))

    def _fetch_unbounded(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement that needs more memory than a session that reads once may have."""
        if self._unbounded is None:
            unbounded = copy(self.files)
            unbounded.read_once = False
            self._unbounded = self._more.enter_context(unbounded.session(self.datasets))
            if self._prepared:
                self._unbounded.prepare_queries()
        return self._unbounded.fetch(sql)

    @override
    def measure(self, compiled: Compiled, relation: Relation) -> dict[Metric, Measurement]:
        if self.kept is None:
            return self._measure(compiled, relation)
        return self.kept.measure(compiled, relation, self._measure, lambda: bool(self._ragged))

    @override
    def offending(self, relation: Relation, metrics: Iterable[Metric]) -> Relation:
        return relation if self.kept is None else self.kept.offending(relation, metrics)

    @override
    def keep_measurements(self, path: str | Path) -> None:
        if self.files.store is None:
            self.kept = Keeping(KeptStore(path), self)

    @property
    @override
    def files_read(self) -> tuple[int, int] | None:
        return None if self.kept is None else self.kept.files_read

    def _measure(self, compiled: Compiled, relation: Relation, read: bool = False) -> dict[Metric, Measurement]:
        """Measure without the rows of another length, which the measurement of the columns then tells.

        Where the columns are not asked for, nothing is measured: no verdict may pass over such rows in silence. `read`
        says that all rows were read already.
        """
        found = super().measure(compiled, relation)
        if not self._csv:
            return found
        key = (relation if relation.part is None else relation.part.whole).sql
        asked = found.get(Columns())
        if key in self._csv and asked is not None and not self._ragged and not compiled.scans and not read:
            # Nothing was read yet; whether rows have their cells is asked all the same.
            self.fetch(f"SELECT count(*) FROM {relation.sql}")
        ragged = self._ragged.get(key)
        if ragged is None:
            return found
        if asked is None:
            return {metric: replace(one, value=None, error=str(ragged)) for metric, one in found.items()}
        return {**found, Columns(): replace(asked, rows=ragged.count, offenders=((str(ragged),),))}

    def _tolerated(self, sql: str) -> str:
        """A statement that leaves out the rows that were found to be of another length."""
        for key in self._ragged:
            sql = sql.replace(key, self._csv[key].tolerant)
        return sql

    def _find_ragged(self) -> bool:
        """Look for rows of another length in all CSV files; whether there are any, and nothing else is wrong."""
        found = False
        for key, scan in self._csv.items():
            if key in self._ragged:
                continue
            super().fetch(f"SELECT count(*) FROM {scan.rejecting}")
            rows = super().fetch(rejected_rows(RAGGED_SHOWN))
            if any(line is None for _, line, _ in rows):
                return False
            if rows:
                several = len({path for path, _, _ in rows}) > 1
                places = [f"{Path(path).name}:{line}" if several else f"line {line}" for path, line, _ in rows]
                self._ragged[key] = Ragged(int(rows[0][2]), tuple(places))
                found = True
            for table in (REJECTS, f"{REJECTS}_scans"):
                super().fetch(f"DROP TABLE {table}")
        return found


def _hive_types(types: Mapping[str, str]) -> str:
    """The option that says which types the folders' values have."""
    listed_types = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in types.items())
    return f", hive_types = {{{listed_types}}}" if types else ""


def _json_cells(listed: str, names: tuple[str, ...], file: str = "") -> str:
    """A FROM item whose column `cells` is the list of each object's values, in the order of `names`.

    A list has no column names, so `a` and `A` stay two keys. `file` names a column that says which file it is.
    """
    paths = ", ".join(quoted(json_path((name,))) for name in names)
    beside, named = (f", {file}", f", filename = {quoted(file)}") if file else ("", "")
    source = f"read_json_objects({listed}, format = 'auto'{named})"
    return f"(SELECT json_extract(json, [{paths}]) AS {CELLS}{beside} FROM {source})"
