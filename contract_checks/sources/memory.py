"""Data that a function returned, judged where it is: in this process, through Arrow.

An embedded DuckDB reads the Arrow buffers in place. pandas, polars and whatever else speaks Arrow's C stream
give theirs away without copying, as far as they are kept as Arrow (numbers are, text usually is).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import category_of
from contract_checks.errors import MissingDriverError, SourceError
from contract_checks.metrics import FoundColumn
from contract_checks.model import Dataset, declared_categories, declared_formats, declared_zones
from contract_checks.sources.catalogue import name_parts
from contract_checks.sources.database import DatabaseSession, DatabaseSource
from contract_checks.sources.interface import MissingTableError, QueryError, Source
from contract_checks.sql import Relation

if TYPE_CHECKING:
    import pyarrow

_FRAME = "contract_frame"
_TYPES: dict[str, str] = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
}


def is_frame(value: object) -> bool:
    """Whether `value` is tabular data that `FrameSource` reads."""
    return _is_lazy(value) or hasattr(value, "__arrow_c_stream__") or _is_pandas(value)


def settled(value: Any) -> Any:
    """The value with its rows at hand, so that what is checked is what is kept.

    A polars LazyFrame is collected and a reader of record batches read to its end, once.
    """
    if _is_lazy(value):
        return value.collect()
    if type(value).__module__.partition(".")[0] == "pyarrow" and hasattr(value, "read_next_batch"):
        return value.read_all()
    return value


def as_given(value: Any, original: Any) -> Any:
    """A settled value as the kind of thing it was before: lazy again. A reader that was read to its end is a table."""
    return value.lazy() if _is_lazy(original) else value


def arrow_table(value: Any) -> pyarrow.Table:
    """Tabular data as an Arrow table. NaN of pandas is a missing value, as it is for pandas; its index is no column.

    Raises `SourceError` for columns that have no one type, or two of one name.
    """
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise MissingDriverError(f"data in memory is read through Arrow ({error}); pip install pyarrow") from None
    frame = settled(value)
    try:
        if isinstance(frame, pyarrow.Table):
            table = frame
        elif _is_pandas(frame):
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        elif any(str(kind) == "Object" for kind in getattr(frame, "dtypes", ())):
            raise TypeError("a column holds Python objects of no type that polars knows")
        elif hasattr(frame, "to_arrow"):
            table = frame.to_arrow()
        else:
            table = pyarrow.table(frame)
    except (ValueError, TypeError, pyarrow.ArrowException) as error:
        raise SourceError(f"the data cannot be read as Arrow: {'; '.join(map(str, error.args))}") from None
    except BaseException as error:
        # polars raises what is no Exception when a column holds arbitrary objects.
        if type(error).__name__ != "PanicException":
            raise
        raise SourceError(f"the data cannot be read as Arrow: {error}") from None
    if not isinstance(table, pyarrow.Table):
        table = pyarrow.table(table)
    names = [name.lower() for name in table.column_names]
    twice = [name for name in table.column_names if names.count(name.lower()) > 1]
    if twice:
        raise SourceError(f"the columns {', '.join(twice)} cannot be told apart: their names differ in case at most")
    return table


def _is_lazy(value: object) -> bool:
    return type(value).__module__.startswith("polars.") and type(value).__name__ == "LazyFrame"


def _is_pandas(value: object) -> bool:
    return type(value).__module__.startswith("pandas.") and type(value).__name__ == "DataFrame"


class FrameSource(Source):
    """A table in memory: of pandas, polars, Arrow, or anything with `__arrow_c_stream__`.

    It stands for the contract's `dataset` of that name, or for the only one. Raises `SourceError` when the data
    cannot be read.
    """

    def __init__(self, data: Any, dataset: str | None = None) -> None:
        self.table = arrow_table(data)
        self.dataset = dataset
        self.name = f"{type(data).__module__.partition('.')[0]} {type(data).__name__} in memory"

    @override
    @contextmanager
    def session(self, datasets: Sequence[Dataset]) -> Iterator[FrameSession]:
        engine = create_engine("duckdb:///:memory:", poolclass=NullPool)
        database = DatabaseSource(engine)
        database.name = self.name
        try:
            with engine.connect() as connection:
                for setting in (
                    "SET TimeZone = 'UTC'",
                    "SET enable_external_access = false",
                    "SET python_enable_replacements = false",
                    "SET lock_configuration = true",
                ):
                    connection.exec_driver_sql(setting)
                raw: Any = connection.connection.dbapi_connection
                raw.register(_FRAME, self.table)
                connection.commit()
                with connection.begin():
                    yield FrameSession(connection, database, datasets, self)
        except DBAPIError as error:
            raise SourceError(f"{self.name}: {database.clean(error)}") from None
        finally:
            engine.dispose()


class FrameSession(DatabaseSession):
    """A session on data in memory: a DuckDB that sees it and nothing else."""

    def __init__(
        self, connection: Any, database: DatabaseSource, datasets: Sequence[Dataset], source: FrameSource
    ) -> None:
        super().__init__(connection, database, datasets)
        self.frame = source

    @override
    def relation(self, dataset: Dataset) -> Relation:
        if dataset.physical_name not in self._relations:
            if not self._is_meant(dataset):
                raise MissingTableError(f"there is no '{dataset.name}' in memory, only '{self.frame.dataset}'")
            self._relations[dataset.physical_name] = self._open(dataset)
        return self._relations[dataset.physical_name]

    def _is_meant(self, dataset: Dataset) -> bool:
        if self.frame.dataset is None:
            return len(self.datasets) == 1
        return dataset.name == self.frame.dataset

    def _open(self, dataset: Dataset) -> Relation:
        declared = declared_categories(dataset)
        # A column without a single value has no type; none but the promised one can be meant.
        untyped = {
            field.name: _TYPES.get(declared.get((field.name,), "unknown"), "VARCHAR")
            for field in self.frame.table.schema
            if str(field.type) == "null"
        }
        columns = ", ".join(
            f"CAST({name} AS {untyped[field]}) AS {name}" if field in untyped else name
            for field in self.frame.table.column_names
            for name in [exp.to_identifier(field, quoted=True).sql(dialect="duckdb")]
        )
        sql = f"(SELECT {columns} FROM {_FRAME})" if untyped else _FRAME
        try:
            rows = list(self.connection.exec_driver_sql(f"DESCRIBE SELECT * FROM {sql}"))
        except DBAPIError as error:
            self._restart()
            raise QueryError(f"{self.frame.name}: {self.source.clean(error)}") from None
        return Relation(
            shown=f"data of {dataset.name}",
            sql=sql,
            dialect="duckdb",
            columns=tuple(FoundColumn(row[0], row[1], category_of(row[1], "duckdb")) for row in rows),
            declared=declared,
            placeholder=exp.to_identifier(dataset.name, quoted=True).sql(dialect="duckdb"),
            formats=declared_formats(dataset),
            zoned=declared_zones(dataset),
        )

    @override
    def comment(self, dataset: Dataset) -> str:
        return ""

    @override
    def prepare_queries(self) -> None:
        """Make the data a view of the dataset's name."""
        for dataset in filter(self._is_meant, self.datasets):
            for name in dict.fromkeys((dataset.name, *name_parts(dataset.physical_name)[-1:])):
                view = exp.to_identifier(name, quoted=True).sql(dialect="duckdb")
                self.connection.exec_driver_sql(
                    f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT * FROM {self.relation(dataset).sql}"
                )
        raw: Any = self.connection.connection.dbapi_connection
        raw.commit()  # or the first query that fails would take the views along
        raw.begin()
