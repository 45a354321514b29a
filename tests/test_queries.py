"""Users' SQL: what is proven to be one SELECT that only reads tables, and what is refused."""

from __future__ import annotations

import logging

import pytest

from contract_checks.queries import check_query


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM t",
        "select count(*) from t;",
        "SELECT 1 FROM t -- a comment; with a semicolon",
        "WITH a AS (SELECT * FROM t) SELECT COUNT(*) FROM a",
        "SELECT a FROM t UNION ALL SELECT b FROM u",
        "SELECT COUNT(*) FROM s.t JOIN u USING (id) WHERE t.x LIKE '%drop table%'",
        "SELECT SUM(a) OVER () FROM t",
        "(SELECT 1)",
        "SELECT MAX(updated) FROM t",
        'SELECT COUNT(*) FROM "select"',
        "SELECT CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END FROM t",
    ],
)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "sqlite", "snowflake", "bigquery", "tsql"])
def test_a_plain_select_is_accepted(query: str, dialect: str) -> None:
    """One SELECT over tables is accepted in every dialect."""
    quoted = query.replace('"', "`") if dialect == "bigquery" else query
    assert check_query(quoted, dialect) is None


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "empty"),
        ("-- nothing", "empty"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT 1; DROP TABLE t", "2 statements"),
        ("DELETE FROM t", "not a SELECT but DELETE"),
        ("DROP TABLE t", "not a SELECT but DROP"),
        ("TRUNCATE TABLE t", "not a SELECT but TRUNCATE"),
        ("CREATE TABLE x AS SELECT 1", "not a SELECT but CREATE"),
        ("COPY t TO 'x.csv'", "not a SELECT"),
        ("ATTACH 'x.db'", "not a SELECT"),
        ("SET x = 1", "not a SELECT but SET"),
        ("PRAGMA query_only = OFF", "not a SELECT"),
        ("EXPLAIN SELECT 1", "not a SELECT"),
        ("CALL f()", "not a SELECT"),
        ("LOAD httpfs", "not a SELECT"),
        ("SELECT 'unfinished", "cannot be parsed"),
        ("SELECT ((((", "cannot be parsed"),
    ],
)
def test_what_is_no_single_select_is_refused(query: str, says: str) -> None:
    """Anything but one SELECT is refused, and the sentence says what it is."""
    assert says in (check_query(query, "duckdb") or "accepted")


@pytest.mark.parametrize(
    "query",
    [
        "WITH gone AS (DELETE FROM t RETURNING *) SELECT COUNT(*) FROM gone",
        "WITH put AS (INSERT INTO t VALUES (1) RETURNING *) SELECT COUNT(*) FROM put",
        "SELECT * INTO x FROM t",
        "SELECT * FROM t FOR UPDATE",
        "SELECT 1 WHERE EXISTS (SELECT * INTO y FROM t)",
    ],
)
def test_a_select_that_writes_is_refused(query: str) -> None:
    """A SELECT that writes or locks anywhere inside is refused."""
    assert "more than a SELECT" in (check_query(query, "postgres") or "accepted")


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("duckdb", "SELECT COUNT(*) FROM read_csv('/etc/passwd')"),
        ("duckdb", "SELECT * FROM read_text('/etc/passwd')"),
        ("duckdb", "SELECT * FROM glob('/*')"),
        ("duckdb", "SELECT getenv('HOME')"),
        ("duckdb", "SELECT * FROM query('DROP TABLE t')"),
        ("duckdb", "SELECT * FROM sniff_csv('x')"),
        ("duckdb", "SELECT * FROM sqlite_scan('x.db', 't')"),
        ("duckdb", "SELECT * FROM duckdb_secrets()"),
        ("duckdb", "SELECT a FROM t WHERE b IN (SELECT c FROM read_parquet('x'))"),
        ("postgres", "SELECT pg_read_file('/etc/passwd')"),
        ("postgres", "SELECT PG_SLEEP(1000)"),
        ("postgres", "SELECT pg_catalog.pg_sleep(1)"),
        ("postgres", "SELECT lo_import('/etc/passwd')"),
        ("postgres", "SELECT * FROM dblink('host=x', 'SELECT 1') AS x(a int)"),
        ("postgres", "SELECT set_config('a.b', 'c', false)"),
        ("postgres", "SELECT nextval('s')"),
        ("postgres", "SELECT query_to_xml('SELECT 1', true, true, '')"),
        ("sqlite", "SELECT load_extension('x')"),
        ("sqlite", "SELECT writefile('x', 'y')"),
        ("mysql", "SELECT SLEEP(1000)"),
        ("mysql", "SELECT BENCHMARK(1000000, 1)"),
        ("mysql", "SELECT LOAD_FILE('/etc/passwd')"),
        ("clickhouse", "SELECT * FROM url('http://x', 'CSV')"),
        ("clickhouse", "SELECT * FROM remoteSecure('host', 'd', 't')"),
        ("clickhouse", "SELECT * FROM mysql('host', 'd', 't', 'user', '')"),
        ("clickhouse", "SELECT * FROM s3Cluster('c', 'http://x')"),
        ("clickhouse", "SELECT a FROM t WHERE b IN (SELECT c FROM executable('x', 'CSV', 'a Int8'))"),
        ("clickhouse", "SELECT sleepEachRow(3) FROM t"),
        ("spark", "SELECT reflect('java.lang.System', 'exit', 1)"),
        ("spark", "SELECT JAVA_METHOD('java.lang.System', 'getenv', 'HOME')"),
        ("spark", "SELECT TRANSFORM(a) USING 'cat' AS (b) FROM t"),
        ("spark", "SELECT COUNT(*) FROM IDENTIFIER('a table of that name')"),
        ("databricks", "SELECT secret('scope', 'key')"),
        ("databricks", "SELECT * FROM read_files('x')"),
        ("tsql", "SELECT * FROM OPENROWSET('x', 'y', 'z')"),
    ],
)
def test_functions_that_reach_beyond_the_tables_are_refused(dialect: str, query: str) -> None:
    """A function that reads files, waits, calls out or changes the session is refused wherever it stands."""
    assert check_query(query, dialect) is not None


@pytest.mark.parametrize(
    ("dialect", "query"),
    [
        ("duckdb", "SELECT COUNT(*) FROM 'data.parquet'"),
        ("duckdb", "SELECT COUNT(*) FROM '/etc/passwd'"),
        ("duckdb", 'SELECT COUNT(*) FROM "x.tsv"'),
        ("duckdb", "SELECT COUNT(*) FROM 'https://example.org/x.csv'"),
        ("spark", "SELECT COUNT(*) FROM csv.`folder`"),
        ("spark", "SELECT COUNT(*) FROM text.`/etc/passwd`"),
        ("spark", "SELECT COUNT(*) FROM `org.apache.spark.sql.parquet`.`folder`"),
        ("postgres", "SELECT rolpassword FROM pg_authid"),
        ("postgres", "SELECT usename FROM pg_catalog.pg_user"),
    ],
)
def test_what_only_looks_like_a_table_is_refused(dialect: str, query: str) -> None:
    """A file's name in place of a table, and the system's own tables, are refused."""
    assert "reads the" in (check_query(query, dialect) or "accepted")


@pytest.mark.parametrize("query", ["SELECT pg_typeof(a) FROM t", "SELECT pg_column_size(a) FROM t"])
def test_harmless_functions_of_the_system_are_accepted(query: str) -> None:
    """Functions that only look at a value are accepted, whatever their name starts with."""
    assert check_query(query, "postgres") is None


@pytest.mark.parametrize("query", ["SELECT count() FROM numbers(10)", "SELECT count() FROM d.t AS t FINAL"])
def test_tables_of_clickhouse_that_are_made_of_nothing_are_accepted(query: str) -> None:
    """A series of numbers is no place beyond the tables."""
    assert check_query(query, "clickhouse") is None


def test_a_query_too_deep_to_parse_is_refused() -> None:
    """What cannot be parsed cannot be proven, and does not crash."""
    assert check_query("SELECT " + "(" * 5000 + "1" + ")" * 5000, "duckdb") is not None


def test_a_refused_statement_makes_no_noise(caplog: pytest.LogCaptureFixture) -> None:
    """The parser's own warnings do not reach the user's log."""
    with caplog.at_level(logging.WARNING):
        check_query("EXPLAIN SELECT 42 AS noise", "duckdb")
    assert caplog.records == []
    assert logging.getLogger("sqlglot").disabled is False
