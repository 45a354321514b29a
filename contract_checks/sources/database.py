"""Any database that SQLAlchemy reaches, read in one transaction that cannot write."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool
from typing_extensions import override

from contract_checks.errors import MissingDriverError, SourceError
from contract_checks.guarantees import NO_GUARANTEES, Guarantees
from contract_checks.model import Dataset, declared_categories, declared_formats, declared_zones
from contract_checks.patterns import search
from contract_checks.sources.catalogue import TableName, find_columns, find_comment, row_id, table_hint, table_sql
from contract_checks.sources.constraints import find_constraints
from contract_checks.sources.interface import (
    MissingTableError,
    QueryError,
    Session,
    Source,
    StatementTimeoutError,
)
from contract_checks.sources.pools import SharedEngine
from contract_checks.sources.timeouts import interrupted, is_timeout, limit
from contract_checks.sql import Relation
from contract_checks.sql.sqlite import instant_text
from contract_checks.values import TIMESTAMP_SHAPE
from contract_checks.wording import meant

DUCKDB_SETTINGS = {"enable_external_access": "false", "python_enable_replacements": "false"}
"""What no query may do in a DuckDB that is opened here: reach files and the network, or variables of this process."""
FILE_DATABASES = ("duckdb", "sqlite")
"""Databases that are files, which a connection may lock."""
LOCK_TIMEOUT = 60
"""Seconds to wait for another process to let go of a DuckDB file."""

_DIALECTS = {
    "postgresql": "postgres",
    "mssql": "tsql",
    "mariadb": "mysql",
    "awsathena": "athena",
    "clickhousedb": "clickhouse",
    "impala": "hive",
    "exa": "exasol",
    "teradatasql": "teradata",
}
"""SQLAlchemy's names of dialects that sqlglot calls otherwise."""

_SECRET = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
"""Query parameters of a URL that must not be shown."""

_EXTRAS = {
    "psycopg": "postgres",
    "psycopg2": "postgres",
    "pymysql": "mysql",
    "snowflake": "snowflake",
    "sqlalchemy_bigquery": "bigquery",
    "databricks": "databricks",
    "trino": "trino",
    "clickhouse_connect": "clickhouse",
    "oracledb": "oracle",
    "pyodbc": "mssql",
    "duckdb": "duckdb",
}
_EXTRA_OF_DIALECT = {
    "snowflake": "snowflake",
    "bigquery": "bigquery",
    "databricks": "databricks",
    "trino": "trino",
    "clickhousedb": "clickhouse",
    "clickhouse": "clickhouse",
}


class DatabaseSource(Source):
    """A database behind a SQLAlchemy URL or engine.

    `default_schema` is where a table without a schema of its own is looked for.
    """

    def __init__(self, database: str | URL | Engine, default_schema: str | None = None) -> None:
        self._engine = database if isinstance(database, Engine) else None
        self._shared: SharedEngine | None = None
        try:
            self._url = database.url if isinstance(database, Engine) else make_url(database)
        except (ArgumentError, ValueError):
            # SQLAlchemy's message repeats the text, which may hold a password.
            raise SourceError(
                "the source is not a SQLAlchemy URL; it looks like postgresql+psycopg://host/db"
            ) from None
        secret = {key: str(value) for key, value in self._url.query.items() if _SECRET.search(key)}
        self._secrets = [str(self._url.password)] if self._url.password else []
        self._secrets += secret.values()
        shown = self._url.update_query_dict(dict.fromkeys(secret, "***"))
        self.name = shown.render_as_string(hide_password=True)
        self.default_schema = default_schema
        backend = self._url.get_backend_name()
        self.dialect = _DIALECTS.get(backend, backend)

    @property
    def address(self) -> tuple[str, str | None] | None:
        """What tells one server from another: its URL, with the password, and the schema to look in.

        None for an engine of the user's, and for a file, which nobody but a session should keep open.
        """
        if self._engine is not None or self.dialect in FILE_DATABASES:
            return None
        return self._url.render_as_string(hide_password=False), self.default_schema

    @override
    @contextmanager
    def session(self, datasets: Sequence[Dataset]) -> Iterator[DatabaseSession]:
        with self._lent_engine() as engine:
            try:
                with self._connect(engine) as connection:
                    try:
                        with _transaction(connection, self.dialect, self.default_schema):
                            session = DatabaseSession(connection, self, datasets)
                            try:
                                yield session
                            finally:
                                session.end()
                    finally:
                        _reset(connection, self.dialect)
            except DBAPIError as error:
                raise SourceError(f"{self.name}: {self.clean(error)}") from None

    @override
    @contextmanager
    def opened(self) -> Iterator[DatabaseSource]:
        """The same database, whose sessions share a pool of connections until the end of the context.

        An engine of the user's has its own. A file of SQLite is opened for each session. A file of DuckDB stays open,
        so that nobody writes to it meanwhile and all sessions see the same.
        """
        if self._engine is not None or self._shared is not None or self.dialect == "sqlite":
            yield self
            return
        opened = copy(self)
        opened._shared = SharedEngine(lambda: self._make_engine(shared=True))
        try:
            yield opened
        finally:
            opened._shared.close()

    @contextmanager
    def _lent_engine(self) -> Iterator[Engine]:
        """The engine of one session: the user's, the shared one, or one for this session alone."""
        if self._engine is not None:
            yield self._engine
        elif self._shared is not None:
            yield self._shared.get()
        else:
            engine = self._make_engine()
            try:
                yield engine
            finally:
                engine.dispose()

    def clean(self, error: BaseException) -> str:
        """An error's words in one line, without the password of the URL."""
        words = str(getattr(error, "orig", None) or error).strip().partition("\nLINE ")[0]
        line = " ".join(part.strip() for part in words.splitlines() if part.strip())
        for secret in self._secrets:
            line = line.replace(secret, "***")
        return line[:500]

    def _make_engine(self, shared: bool = False) -> Engine:
        arguments: dict[str, Any] = {}
        if self.dialect == "duckdb":
            arguments = {"read_only": True, "config": DUCKDB_SETTINGS}
            if not self._url.database or self._url.database == ":memory:":
                arguments.pop("read_only")
        elif self.dialect == "postgres":
            arguments = {"connect_timeout": 10}
            if self._driver() == "psycopg":
                # Hardly a statement is asked twice, and behind a pooler the next transaction may be on another server.
                arguments["prepare_threshold"] = None
        elif self.dialect == "sqlite" and self._url.database and not Path(self._url.database).exists():
            raise SourceError(f"{self.name}: there is no such file")
        return self._create_engine(arguments, shared)

    def _driver(self) -> str:
        """The driver that SQLAlchemy takes for the URL. Raises `MissingDriverError` for a dialect it does not know."""
        try:
            return self._url.get_driver_name()
        except NoSuchModuleError as error:
            raise MissingDriverError(_install_hint(self._url, str(error))) from None

    def _create_engine(self, arguments: dict[str, Any], shared: bool = False) -> Engine:
        # Between two datasets a server may have closed the connection: it is tried before it is used again.
        pool: dict[str, Any] = {"poolclass": QueuePool, "pool_pre_ping": True} if shared else {"poolclass": NullPool}
        try:
            return create_engine(self._url, connect_args=arguments, **pool)
        except NoSuchModuleError as error:
            raise MissingDriverError(_install_hint(self._url, str(error))) from None
        except ModuleNotFoundError as error:
            raise MissingDriverError(_install_hint(self._url, str(error))) from None

    def _joining_engine(self) -> Engine:
        """An engine with DuckDB's plain settings, as `duckdb.connect(path)` has them."""
        import duckdb  # only a DuckDB source needs it
        from duckdb_sqlalchemy import ConnectionWrapper

        path = str(self._url.database)
        return create_engine(self._url, poolclass=NullPool, creator=lambda: ConnectionWrapper(duckdb.connect(path)))

    @contextmanager
    def _connect(self, engine: Engine) -> Iterator[Connection]:
        deadline = time.monotonic() + LOCK_TIMEOUT
        joined = False
        while True:
            try:
                connection = engine.connect()
                break
            except ModuleNotFoundError as error:
                raise MissingDriverError(_install_hint(self._url, str(error))) from None
            except (DBAPIError, SQLAlchemyError) as error:
                words = self.clean(error)
                here = self.dialect == "duckdb" and "different configuration" in words
                if here and not joined and self._engine is None:
                    # This process has the file open with other settings; join that instance instead.
                    joined, engine = True, self._joining_engine()
                    continue
                locked = here or (self.dialect == "duckdb" and "lock" in words.lower())
                if locked and time.monotonic() < deadline:
                    time.sleep(0.2)
                    continue
                holder = "this process" if here else "another process"
                waited = f" (waited {LOCK_TIMEOUT} s for {holder} to let go of the file)" if locked else ""
                raise SourceError(f"{self.name} cannot be reached: {words}{waited}") from None
        with connection:
            yield connection


_SPELLED = ("duckdb", "sqlite", "postgresql", "mysql", "mssql", "oracle", *_EXTRA_OF_DIALECT)


def _install_hint(url: URL, words: str) -> str:
    driver = url.drivername.partition("+")[2]
    extra = _EXTRAS.get(driver) or _EXTRA_OF_DIALECT.get(url.get_backend_name())
    if extra is None and url.get_backend_name() == "postgresql":
        extra = "postgres"
    if extra is None:
        usual = {"postgres": "postgresql", "mssql+odbc": "mssql+pyodbc"}.get(url.drivername)
        spelled = f" (did you mean '{usual}'?)" if usual else meant(url.get_backend_name(), _SPELLED)
        return f"no driver for {url.drivername} is installed ({words}); install its SQLAlchemy dialect{spelled}"
    install = f'pip install "dagster-contract-checks[{extra}]"'
    return f"no driver for {url.drivername} is installed ({words}); install it with: {install}"


@contextmanager
def _transaction(connection: Connection, dialect: str, schema: str | None) -> Iterator[None]:
    """One read-only transaction with one snapshot, and time zones that do not depend on the server."""
    if dialect == "postgres":
        connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        with connection.begin():
            connection.exec_driver_sql("SET LOCAL TIME ZONE 'UTC'")
            if schema:
                connection.exec_driver_sql(f"SET LOCAL search_path = {table_sql((schema,), dialect)}, public")
            yield
    elif dialect == "sqlite":
        raw: Any = connection.connection.dbapi_connection
        raw.create_function("contract_search", 2, _sqlite_search, deterministic=True)
        raw.create_function("contract_instant", 2, _sqlite_instant, deterministic=True)
        connection.exec_driver_sql("PRAGMA query_only = ON")
        connection.commit()
        with connection.begin():
            if not raw.in_transaction:
                raw.execute("BEGIN")
            yield
    elif dialect == "duckdb":
        zone = connection.exec_driver_sql("SELECT current_setting('TimeZone')").scalar()
        connection.exec_driver_sql("SET TimeZone = 'UTC'")
        if schema:
            connection.exec_driver_sql(f"USE {table_sql((schema,), dialect)}")
        connection.commit()
        try:
            with connection.begin():
                yield
        finally:
            if not connection.closed and not connection.invalidated:
                connection.exec_driver_sql(f"SET TimeZone = '{zone}'")
                connection.commit()
    else:
        with connection.begin():
            yield


def _reset(connection: Connection, dialect: str) -> None:
    """Give a borrowed connection back as it was."""
    if dialect == "sqlite" and not connection.closed and not connection.invalidated:
        connection.rollback()
        connection.exec_driver_sql("PRAGMA query_only = OFF")


def _sqlite_search(pattern: str, subject: str | None) -> bool | None:
    return None if subject is None else search(pattern, subject)


_TIMESTAMP = re.compile(TIMESTAMP_SHAPE)


@lru_cache(maxsize=65536)
def _sqlite_instant(subject: object, zone: str) -> str | None:
    """The UTC form of an ISO 8601 date or timestamp that is stored as text; NULL for anything else."""
    if not isinstance(subject, str) or _TIMESTAMP.fullmatch(subject) is None:
        return None
    try:
        return instant_text(datetime.fromisoformat(re.sub(" (?=[zZ+-])", "", subject)), zone)
    except (ValueError, OverflowError):
        return None


class _RefusedError(Exception):
    """A statement that the database did not answer, and its exception."""

    def __init__(self, words: str, cause: BaseException) -> None:
        super().__init__(words)
        self.cause = cause


class DatabaseSession(Session):
    """A session on a database."""

    def __init__(self, connection: Connection, source: DatabaseSource, datasets: Sequence[Dataset]) -> None:
        super().__init__(datasets)
        self.connection, self.source, self.dialect = connection, source, source.dialect
        self._relations: dict[str, Relation] = {}
        self._names: dict[str, TableName] = {}
        self._limit = 0
        self._take_back_limit: Callable[[], None] | None = None

    @override
    def relation(self, dataset: Dataset) -> Relation:
        if dataset.physical_name not in self._relations:
            found, known_as = None, dataset.physical_name
            for known_as in (dataset.physical_name, *dataset.aliases):
                try:
                    found = find_columns(self.connection, self.dialect, known_as, self.source.default_schema)
                except DBAPIError as error:
                    raise QueryError(self.source.clean(error)) from None
                if found is not None:
                    break
            if found is None:
                place = f" in schema {self.source.default_schema}" if self.source.default_schema else ""
                wanted = dataset.physical_name
                hint = table_hint(self.connection, self.dialect, wanted, self.source.default_schema)
                raise MissingTableError(f"there is no table '{wanted}'{place} in {self.source.name}{hint}")
            name, columns = found
            self._names[dataset.physical_name] = name
            quoted = table_sql(name, self.dialect)
            self._relations[dataset.physical_name] = Relation(
                shown=f"table {known_as}",
                sql=quoted,
                dialect=self.dialect,
                columns=columns,
                declared=declared_categories(dataset),
                formats=declared_formats(dataset),
                zoned=declared_zones(dataset),
                placeholder=quoted,
                row_id=row_id(self.connection, self.dialect, name, columns),
            )
        return self._relations[dataset.physical_name]

    @override
    def guarantees(self, dataset: Dataset, targets: Iterable[Relation]) -> Guarantees:
        relation = self.relation(dataset)
        name = self._names.get(dataset.physical_name)
        if name is None:
            return NO_GUARANTEES
        return self._vouched(lambda: Guarantees(find_constraints(self.connection, name, relation, targets)))

    def _vouched(self, look: Callable[[], Guarantees]) -> Guarantees:
        """What a look says; nothing where it fails, for then the scan answers."""
        try:
            return look()
        except DBAPIError as error:
            self._fail_if_lost(error)
            if self.dialect == "duckdb":
                self._restart()
            return NO_GUARANTEES

    @override
    def comment(self, dataset: Dataset) -> str:
        self.relation(dataset)
        name = self._names.get(dataset.physical_name)
        if name is None:
            return ""  # files and messages have no catalogue
        try:
            return find_comment(self.connection, self.dialect, name)
        except DBAPIError as error:
            raise QueryError(self.source.clean(error)) from None

    @override
    def limit_statements(self, seconds: int) -> None:
        if self._take_back_limit is not None:
            self._take_back_limit()
        self._limit = seconds
        self._take_back_limit = limit(self.connection, self.dialect, seconds) if seconds else None

    def end(self) -> None:
        """Leave the connection with the limit that it had; PostgreSQL forgets ours with the transaction."""
        if self.dialect != "postgres":
            self.limit_statements(0)

    @override
    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        started = time.monotonic()
        try:
            with interrupted(self.connection, self.dialect, self._limit):
                return self._fetch(sql)
        except _RefusedError as error:
            if is_timeout(error.cause, str(error), time.monotonic() - started, self._limit):
                words = "" if self.dialect in ("postgres", *FILE_DATABASES) else f" ({error})"
                raise StatementTimeoutError(f"gave up after {self._limit:,} s{words}") from None
            raise QueryError(str(error)) from None

    def _fetch(self, sql: str) -> list[tuple[Any, ...]]:
        statement = self.connection.execution_options(no_parameters=True)
        if self.dialect == "postgres":
            savepoint = statement.begin_nested()
            try:
                rows = [tuple(row) for row in statement.exec_driver_sql(sql)]
            except DBAPIError as error:
                self._fail_if_lost(error)
                savepoint.rollback()
                raise _RefusedError(self.source.clean(error), error) from None
            savepoint.commit()
            return rows
        try:
            return [tuple(row) for row in statement.exec_driver_sql(sql)]
        except DBAPIError as error:
            self._fail_if_lost(error)
            if self.dialect == "duckdb":
                # DuckDB has no savepoints and ends a transaction at the first error.
                self._restart()
            raise _RefusedError(self.source.clean(error), error) from None
        except (ValueError, OverflowError, ImportError) as error:
            raise _RefusedError(f"the driver could not read the result: {error}", error) from None

    def _fail_if_lost(self, error: DBAPIError) -> None:
        if error.connection_invalidated:
            raise SourceError(f"{self.source.name}: the connection was lost: {self.source.clean(error)}") from None

    def _restart(self) -> None:
        raw: Any = self.connection.connection.dbapi_connection
        raw.rollback()
        raw.begin()
