"""Apache Spark: a SparkSession, or the address of a Spark Connect server.

All statements go through `spark.sql`, so Spark plans and spreads them over its executors as it does with any query;
only counts and a few rows come back. Spark has no transaction over several statements: each sees the tables as they
are when it starts, so a table that is written meanwhile may be counted once before and once after. Nothing is
written: the statements are made here, and users' queries are proven to be one SELECT (see `queries`).
"""

from __future__ import annotations

import logging
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import category_of
from contract_checks.errors import MissingDriverError, ServerError, SourceError
from contract_checks.metrics import FoundColumn
from contract_checks.model import Dataset, declared_categories, declared_formats, declared_zones
from contract_checks.sources.catalogue import TableName, name_parts, table_sql
from contract_checks.sources.interface import (
    MissingTableError,
    QueryError,
    Session,
    Source,
    StatementTimeoutError,
)
from contract_checks.sql import Relation
from contract_checks.wording import meant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField

INSTALL = 'pip install "dagster-contract-checks[spark]"'
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
}
"""What a session of checks has set: clocks that depend on nobody, no `${…}` of the environment, no files as tables,
texts that are written as everywhere."""
_DECLARED_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps the VARCHAR(n) of a column that is text to it."""
_MISSING = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")
_TAGS_OF_CONTEXT = ("addJobTag", "cancelJobsWithTag", "removeJobTag")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOISE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of pyspark that print the whole stack of Java for every statement that fails."""

SparkLike: TypeAlias = "SparkSession | str | Callable[[], SparkSession]"


def is_spark(value: object) -> TypeGuard[SparkSession]:
    """Whether `value` is a SparkSession, of Spark itself or of Spark Connect."""
    return type(value).__module__.startswith("pyspark.sql.") and type(value).__name__ == "SparkSession"


class SparkSource(Source):
    """Tables and views that a SparkSession sees.

    `spark` is the session, the address of a Spark Connect server (`sc://host:15002`), or a function that makes the
    session, called when data is asked for. `schema` (or `catalog.schema`) is where a table without a schema of its own
    is looked for. A session that was given is left as it was and stays open. Raises `ServerError` for another text.
    """

    def __init__(self, spark: SparkLike, schema: str | None = None) -> None:
        if isinstance(spark, str) and not spark.startswith("sc://"):
            raise ServerError("the address of a Spark Connect server looks like sc://host:15002")
        self._spark, self.schema = spark, schema
        # What follows `;` in an address may be a token.
        self.name = spark.partition(";")[0].rstrip("/") if isinstance(spark, str) else "Spark"

    @override
    @contextmanager
    def session(self, datasets: Sequence[Dataset]) -> Iterator[SparkTables]:
        errors = _errors()
        with _quiet(), self._connected() as spark:
            try:
                if self.schema:
                    spark.sql(f"USE {table_sql(name_parts(self.schema), 'spark')}")
                else:
                    spark.sql("SELECT 1").schema  # noqa: B018 - asks the server
            except errors as error:
                raise SourceError(f"{self.name} cannot be reached: {_words(error)}") from None
            yield SparkTables(spark, self, datasets)

    @contextmanager
    def _connected(self) -> Iterator[SparkSession]:
        """A session of our own, with our settings, beside the one that was given."""
        given = self._made()
        own = _cloned(given)
        spark = own or given
        before: dict[str, str | None] = {}
        try:
            before = _set(spark, SETTINGS)
            yield spark
        finally:
            if own is None:
                _set(spark, before)
            elif _is_remote(own):
                _release(own)
            if isinstance(self._spark, str):
                given.stop()

    def _made(self) -> SparkSession:
        if not isinstance(self._spark, str):
            return self._spark() if callable(self._spark) else self._spark
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of versions of pandas, of retries: what matters is an error
                from pyspark.sql.connect.session import SparkSession as RemoteSession

                remote: Any = RemoteSession.builder.remote(self._spark).create()
                _ask(remote)
            made: SparkSession = remote
        except ImportError as error:
            words = str(error).strip().splitlines()[0]
            raise MissingDriverError(f"Spark Connect needs packages ({words}); install them with: {INSTALL}") from None
        except _errors() as error:
            raise SourceError(f"{self.name} cannot be reached: {_words(error)}") from None
        return made


def _errors() -> tuple[type[Exception], ...]:
    """What pyspark raises. Raises `MissingDriverError` where there is no pyspark."""
    try:
        from pyspark.errors import PySparkException
    except ImportError as error:
        raise MissingDriverError(f"pyspark is not installed ({error}); install it with: {INSTALL}") from None
    found: list[type[Exception]] = [PySparkException]
    with suppress(ImportError):  # a client of Spark Connect has no Java
        from py4j.protocol import Py4JError

        found.append(Py4JError)
    with suppress(ImportError):
        from grpc import RpcError

        found.append(RpcError)
    return tuple(found)


def _cloned(spark: SparkSession) -> SparkSession | None:
    """A session with the same views and settings, whose changes do not show in the other; None if there is no way."""
    remote: Any = getattr(spark, "cloneSession", None)
    inner: Any = getattr(spark, "_jsparkSession", None)
    own: SparkSession | None = None
    with suppress(*_errors()):  # a server may be older than its client
        if remote is not None:
            own = remote()
        elif inner is not None:
            own = type(spark)(spark.sparkContext, inner.cloneSession())
    return own


def _is_remote(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def _set(spark: SparkSession, wanted: Mapping[str, str | None]) -> dict[str, str | None]:
    """Change settings, where they are others; what they were before."""
    before: dict[str, str | None] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one of them is deprecated
        for name, value in wanted.items():
            old = spark.conf.get(name, None)
            if old == value:
                continue
            before[name] = old
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)
    return before


def _ask(spark: Any) -> None:
    """Ask a server for its version, with a few seconds of patience; pyspark itself would try for minutes."""
    with suppress(ImportError, AttributeError):
        from pyspark.sql.connect.client.retries import DefaultPolicy

        spark.client.set_retry_policies([DefaultPolicy(max_retries=4)])
    spark.version  # noqa: B018 - it asks


def _release(spark: Any) -> None:
    """End a session of a server, and only that one."""
    with suppress(*_errors()):
        spark.client.release_session()
        spark.client.close()


def _tags(spark: Any) -> tuple[Callable[[str], Any], Callable[[str], Any], Callable[[str], Any]] | None:
    """How what runs is marked, how it is cancelled by its mark from another thread, and how the mark is taken away."""
    context = spark if _is_remote(spark) else spark.sparkContext
    names = ("addTag", "interruptTag", "removeTag") if _is_remote(spark) else _TAGS_OF_CONTEXT
    if not all(hasattr(context, name) for name in names):
        return None  # before Spark 3.5
    add, cancel, remove = (getattr(context, name) for name in names)
    return add, cancel, remove


@contextmanager
def _quiet() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in _NOISE]
    before = [one.disabled for one in loggers]
    for one in loggers:
        one.disabled = True
    try:
        yield
    finally:
        for one, disabled in zip(loggers, before, strict=True):
            one.disabled = disabled


def _words(error: BaseException) -> str:
    """What Spark says in one line: no stack of Java, no plan."""
    said = getattr(error, "java_exception", None)
    words = str(said.toString() if said is not None else error)
    for end in ("\n\tat ", "\n== SQL", ";\n'", "\n\nJVM stacktrace", "\nDriver stacktrace"):
        words = words.partition(end)[0]
    return " ".join(words.split())[:500]


def _condition(error: BaseException) -> str:
    """Spark's own name for what went wrong: `TABLE_OR_VIEW_NOT_FOUND`."""
    for name in ("getCondition", "getErrorClass"):
        ask = getattr(error, name, None)
        if ask is not None:
            return str(ask() or "")
    return ""


class SparkTables(Session):
    """A session on Spark."""

    def __init__(self, spark: SparkSession, source: SparkSource, datasets: Sequence[Dataset]) -> None:
        super().__init__(datasets)
        self.spark, self.source = spark, source
        self._errors = _errors()
        self._relations: dict[str, Relation] = {}
        self._names: dict[str, TableName] = {}
        self._seconds = 0
        self._tags = _tags(spark)

    @override
    def relation(self, dataset: Dataset) -> Relation:
        wanted = dataset.physical_name
        if wanted not in self._relations:
            for known_as in (wanted, *dataset.aliases):
                found = self._find(known_as)
                if found is not None:
                    break
            else:
                raise MissingTableError(f"there is no table '{wanted}' in {self.source.name}{self._hint(wanted)}")
            name, columns = found
            self._names[wanted] = name
            quoted = table_sql(name, "spark")
            self._relations[wanted] = Relation(
                shown=f"table {known_as}",
                sql=quoted,
                dialect="spark",
                columns=columns,
                declared=declared_categories(dataset),
                formats=declared_formats(dataset),
                zoned=declared_zones(dataset),
                placeholder=quoted,
            )
        return self._relations[wanted]

    def _find(self, wanted: str) -> tuple[TableName, tuple[FoundColumn, ...]] | None:
        """The table of that name and its columns. A leading part that is no catalog here is dropped, no schema is."""
        parts = name_parts(wanted)
        shorter = [parts[-size:] for size in (3, 2) if len(parts) >= size]
        for name in dict.fromkeys([(wanted,), *(shorter or [parts])]):
            try:
                schema = self.spark.table(table_sql(name, "spark")).schema
            except self._errors as error:
                if _condition(error).startswith(_MISSING):
                    continue
                raise QueryError(_words(error)) from None
            return name, tuple(_column(field) for field in schema.fields)
        return None

    def _hint(self, wanted: str) -> str:
        parts = name_parts(wanted)
        database = ".".join(parts[:-1]) or None
        try:
            known = sorted(table.name for table in self.spark.catalog.listTables(database)[:2000])
        except self._errors:
            return ""
        if not known:
            return " (it has no tables)"
        return meant(parts[-1], known) or (f" (it has: {', '.join(known)})" if len(known) <= 8 else "")

    @override
    def comment(self, dataset: Dataset) -> str:
        self.relation(dataset)
        try:
            return self.spark.catalog.getTable(table_sql(self._names[dataset.physical_name], "spark")).description or ""
        except self._errors as error:
            raise QueryError(_words(error)) from None

    @override
    def limit_statements(self, seconds: int) -> None:
        self._seconds = seconds

    @override
    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        with self._limited() as cancelled:
            try:
                data = self.spark.sql(sql)
                instants = [index for index, field in enumerate(data.schema) if _is_instant(field.dataType)]
                rows = [tuple(row) for row in _as_numbers(data, instants).collect()]
            except self._errors as error:
                if cancelled.is_set():
                    raise StatementTimeoutError(f"gave up after {self._seconds:,} s") from None
                self._fail_if_lost()
                raise QueryError(_words(error)) from None
            except (ValueError, OverflowError) as error:
                raise QueryError(f"a value cannot be read: {error}") from None
        try:
            return [tuple(_cell(value, index in instants) for index, value in enumerate(row)) for row in rows]
        except OverflowError:
            raise QueryError("a value cannot be read: a timestamp lies outside of the years 1 to 9999") from None

    def _fail_if_lost(self) -> None:
        lost: tuple[type[Exception], ...] = (*self._errors, OSError)
        try:
            self.spark.sql("SELECT 1").schema  # noqa: B018 - asks the server
        except lost as error:
            raise SourceError(f"{self.source.name}: the connection was lost: {_words(error)}") from None

    @contextmanager
    def _limited(self) -> Iterator[threading.Event]:
        """Cancels what runs after the seconds that a statement may take; the event tells that it was."""
        cancelled, done = threading.Event(), threading.Event()
        if not self._seconds or self._tags is None:
            yield cancelled
            return
        add, interrupt, remove = self._tags
        tag = f"contract-checks-{uuid.uuid4().hex}"

        def cancel() -> None:
            wait = float(self._seconds)
            while not done.wait(wait):
                cancelled.set()
                with suppress(*self._errors):
                    interrupt(tag)
                wait = 1.0  # what had not begun yet could not be stopped

        add(tag)
        threading.Thread(target=cancel, daemon=True).start()
        try:
            yield cancelled
        finally:
            done.set()
            remove(tag)


def _column(field: StructField) -> FoundColumn:
    native_type = field.metadata.get(_DECLARED_TYPE) or _native_type(field.dataType)
    comment = str(field.metadata.get("comment") or "")
    return FoundColumn(field.name, native_type, category_of(native_type, "spark"), field.nullable, comment)


def _native_type(kind: DataType) -> str:
    """The type as Spark's SQL spells it, also where fields have odd names."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, ArrayType):
        return f"array<{_native_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{_native_type(kind.keyType)},{_native_type(kind.valueType)}>"
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{_quoted(one.name)}:{_native_type(one.dataType)}' for one in kind)}>"
    return kind.simpleString()


def _quoted(name: str) -> str:
    plain = name.isascii() and name.isidentifier()
    return name if plain else exp.to_identifier(name, quoted=True).sql(dialect="spark")


def _is_instant(kind: DataType) -> bool:
    return kind.typeName() in ("timestamp", "timestamp_ltz")


def _as_numbers(data: DataFrame, instants: Sequence[int]) -> DataFrame:
    """Timestamps as microseconds, for pyspark would make them clocks of the time zone that this process has."""
    if not instants:
        return data
    named = data.toDF(*(f"c{index}" for index in range(len(data.columns))))
    cells = [f"unix_micros(c{index})" if index in instants else f"c{index}" for index in range(len(data.columns))]
    return named.selectExpr(*cells)


def _cell(value: Any, instant: bool) -> Any:
    if instant and value is not None:
        return _EPOCH + timedelta(microseconds=value)
    return bytes(value) if isinstance(value, bytearray) else value
