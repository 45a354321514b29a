"""How each database is told to give up on a statement that takes too long.

PostgreSQL forgets the limit with the transaction. Other servers keep it for the session, so it is taken back at the
end: a connection may be somebody else's. DuckDB and SQLite know no limit; their statements are interrupted from
beside. A database that is not named here keeps to its own limit, as does one that refuses to have another.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection

LONGEST = 2_000_000
"""The longest limit in seconds, a little less than PostgreSQL's and MySQL's (in milliseconds, they have 32 bits)."""

_SETTINGS: Mapping[str, tuple[str, str]] = {
    "postgres": ("SET LOCAL statement_timeout = '{seconds}s'", "SET LOCAL statement_timeout TO DEFAULT"),
    "redshift": ("SET statement_timeout TO {milliseconds}", "RESET statement_timeout"),
    "mysql": ("SET SESSION max_execution_time = {milliseconds}", "SET SESSION max_execution_time = DEFAULT"),
    "mariadb": ("SET SESSION max_statement_time = {seconds}", "SET SESSION max_statement_time = DEFAULT"),
    "snowflake": (
        "ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = {seconds}",
        "ALTER SESSION UNSET STATEMENT_TIMEOUT_IN_SECONDS",
    ),
    "databricks": ("SET STATEMENT_TIMEOUT = {seconds}", "RESET STATEMENT_TIMEOUT"),
    "trino": ("SET SESSION query_max_run_time = '{seconds}s'", "RESET SESSION query_max_run_time"),
    "presto": ("SET SESSION query_max_run_time = '{seconds}s'", "RESET SESSION query_max_run_time"),
    # With another overflow mode it would answer with the rows it has seen so far.
    "clickhouse": (
        "SET max_execution_time = {seconds}, timeout_overflow_mode = 'throw'",
        "SET max_execution_time = DEFAULT, timeout_overflow_mode = DEFAULT",
    ),
    "impala": ("SET EXEC_TIME_LIMIT_S = {seconds}", "SET EXEC_TIME_LIMIT_S = 0"),
}
"""What tells a server its limit, and what takes it back."""

_ATTRIBUTES: Mapping[str, tuple[str, int]] = {"tsql": ("timeout", 1), "oracle": ("call_timeout", 1000)}
"""Attributes of a driver's connection (pyodbc, oracledb) that limit a statement, and their parts of a second."""

_INTERRUPTED = ("duckdb", "sqlite")

_WORDS = re.compile(r"time.?out|timed out|time limit|(execution|run|statement|elapsed) time|cancel|interrupt", re.I)


def limit(connection: Connection, dialect: str, seconds: int) -> Callable[[], None]:
    """Tell the database after how many seconds to give up on a statement; the result takes that back."""
    if dialect in _ATTRIBUTES:
        return _limit_driver(connection, *_ATTRIBUTES[dialect], seconds)
    if dialect == "mysql" and getattr(connection.dialect, "is_mariadb", False):
        dialect = "mariadb"
    if dialect not in _SETTINGS:
        return _nothing
    tell, take_back = _SETTINGS[dialect]
    seconds = min(seconds, LONGEST)
    # A limit that cannot be set is no reason not to check; what else is wrong, the next statement says.
    with suppress(Exception):
        connection.exec_driver_sql(tell.format(seconds=seconds, milliseconds=seconds * 1000))

    def undo() -> None:
        with suppress(Exception):
            connection.exec_driver_sql(take_back)

    return undo


def _nothing() -> None:
    return None


def _limit_driver(connection: Connection, attribute: str, parts: int, seconds: int) -> Callable[[], None]:
    raw: Any = connection.connection.driver_connection
    before = getattr(raw, attribute, None)
    if before is None:
        return _nothing
    setattr(raw, attribute, min(seconds, LONGEST) * parts)
    return lambda: setattr(raw, attribute, before)


@contextmanager
def interrupted(connection: Connection, dialect: str, seconds: int) -> Iterator[None]:
    """Interrupt what runs inside after so many seconds (0: never), where the database does not do it by itself."""
    if dialect not in _INTERRUPTED or not seconds:
        yield
        return
    raw: Any = connection.connection.dbapi_connection
    timer = threading.Timer(min(seconds, LONGEST), raw.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        # An interruption that comes too late finds nothing to interrupt; it is forgotten with the next statement.
        timer.cancel()


def is_timeout(error: BaseException, words: str, took: float, seconds: int) -> bool:
    """Whether a statement that failed after `took` seconds did so because of the limit."""
    if not seconds or took < seconds * 0.95:
        return False
    cause = getattr(error, "orig", None) or error
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    return state == "57014" or _WORDS.search(words) is not None
