"""The SQL that contracts bring along: what is run, what is refused, and what one value is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from builders import contract_of, odcs, result, told
from databases import Put, Rows

from contract_checks.model import Contract
from contract_checks.results import Report
from contract_checks.run import check_contract

SERVICE = pytest.param("postgres", marks=pytest.mark.service)
POSITIVE = [{"name": "a", "logicalType": "integer", "logicalTypeOptions": {"minimum": 0}}]
ROWS = Rows("SELECT * FROM (VALUES (1), (-1), (2)) v(a)")


def counted(report: Report) -> Any:
    """What the rule of `POSITIVE` measured: one of the three rows breaks it."""
    return result(report, "minimum", "a").measured


EVERYWHERE = {
    "update": "UPDATE t SET a = 0",
    "delete": "DELETE FROM t",
    "insert": "INSERT INTO t VALUES (9)",
    "drop": "DROP TABLE t",
    "create": "CREATE TABLE u AS SELECT 1",
    "two statements": "SELECT 1; DROP TABLE t",
    "two selects": "SELECT 1; SELECT 2",
    "DML in a CTE": "WITH x AS (DELETE FROM t RETURNING a) SELECT count(*) FROM x",
    "for update": "SELECT a FROM t FOR UPDATE",
    "into": "SELECT count(*) INTO u FROM t",
    "attach": "ATTACH '/tmp/x.db' AS x",
    "set": "SET threads = 1",
    "pragma": "PRAGMA database_list",
    "explain": "EXPLAIN SELECT 1",
    "comment": "SELECT 1 --\n; DELETE FROM t",
    "not SQL": "SELEKT count(*)",
    "empty": " ",
}
UNSAFE = {
    "duckdb": {
        "read_csv": "SELECT count(*) FROM read_csv('/etc/passwd')",
        "read_csv_auto": "SELECT count(*) FROM read_csv_auto('/etc/passwd')",
        "read_text": "SELECT length(content) FROM read_text('/etc/passwd')",
        "read_blob": "SELECT size FROM read_blob('/etc/passwd')",
        "glob": "SELECT count(*) FROM glob('/etc/*')",
        "a file as a table": "SELECT count(*) FROM '/etc/passwd'",
        "a quoted file as a table": 'SELECT count(*) FROM "/etc/passwd.csv"',
        "in a subquery": "SELECT (SELECT count(*) FROM read_text('/etc/passwd'))",
        "in a CTE": "WITH x AS (SELECT * FROM read_text('/etc/passwd')) SELECT count(*) FROM x",
        "copy": "COPY t TO '/tmp/contract_checks_leak.csv'",
        "getenv": "SELECT length(getenv('PATH'))",
        "query": "SELECT * FROM query('SELECT 1')",
        "query_table": "SELECT count(*) FROM query_table('t')",
        "secrets": "SELECT count(*) FROM duckdb_secrets()",
        "install": "INSTALL httpfs",
        "load": "LOAD httpfs",
        "call": "CALL pragma_version()",
        "sqlite_scan": "SELECT count(*) FROM sqlite_scan('/tmp/x.db', 't')",
    },
    "sqlite": {
        "load_extension": "SELECT load_extension('x')",
        "readfile": "SELECT length(readfile('/etc/passwd'))",
        "writefile": "SELECT writefile('/tmp/contract_checks_leak', 'x')",
        "upper case": "SELECT LOAD_EXTENSION('x')",
    },
    "postgres": {
        "pg_sleep": "SELECT 1 FROM pg_sleep(60)",
        "pg_sleep as a value": "SELECT count(pg_sleep(60)) FROM t",
        "quoted": 'SELECT count("pg_sleep"(60)) FROM t',
        "qualified": "SELECT count(pg_catalog.pg_sleep(60)) FROM t",
        "pg_read_file": "SELECT length(pg_read_file('/etc/passwd'))",
        "pg_ls_dir": "SELECT count(*) FROM pg_ls_dir('/')",
        "lo_import": "SELECT lo_import('/etc/passwd')",
        "dblink": "SELECT * FROM dblink('host=x', 'SELECT 1') AS x(a int)",
        "query_to_xml": "SELECT length(query_to_xml('DELETE FROM t RETURNING 1', true, true, '')::text)",
        "set_config": "SELECT length(set_config('transaction_read_only', 'off', false))",
        "pg_terminate_backend": "SELECT count(pg_terminate_backend(1))",
        "advisory lock": "SELECT count(pg_advisory_lock(1))",
        "copy": "COPY t TO '/tmp/contract_checks_leak'",
        "pg_stat_reset": "SELECT count(*) FROM t WHERE pg_stat_reset() IS NULL",
        "pg_authid": "SELECT count(*) FROM pg_catalog.pg_authid",
        "call": "CALL x()",
    },
}
UNSAFE_CASES = [
    pytest.param(place, query, id=f"{place}-{name}", marks=[pytest.mark.service] if place == "postgres" else [])
    for place, own in UNSAFE.items()
    for name, query in {**EVERYWHERE, **own}.items()
]


def _asked(query: str, **threshold: Any) -> Contract:
    rule = {"id": "own", "type": "sql", "query": query, **(threshold or {"mustBeGreaterOrEqualTo": 0})}
    return contract_of(odcs(POSITIVE, [rule]))


@pytest.mark.parametrize(("place", "query"), UNSAFE_CASES)
def test_unsafe_sql_is_refused(place: str, query: str, put: Put) -> None:
    """A query that is not one read-only SELECT is never run; its check is errored, the others are judged."""
    started = time.monotonic()
    source = put(place, ROWS)
    report = check_contract(_asked(query), source=source)
    own = [one for one in report.results if one.check.id == "own"]
    refused = [clause for data in report.datasets for clause in data.plan.not_checked]
    assert (own and own[0].status == "errored") or (not own and refused), told(report)
    assert counted(report) == 1, told(report)
    assert time.monotonic() - started < 20
    assert counted(check_contract(contract_of(odcs(POSITIVE)), source=source)) == 1, "the data has changed"
    assert not Path("/tmp/contract_checks_leak").exists()
    assert not Path("/tmp/contract_checks_leak.csv").exists()


SAFE = {
    "cte": "WITH x AS (SELECT a FROM t) SELECT count(*) FROM x",
    "union": "SELECT count(*) FROM (SELECT a FROM t UNION ALL SELECT a FROM t WHERE 1 = 0) AS x",
    "window": "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY a) AS n FROM t) AS x",
    "text with a semicolon": "SELECT count(*) FROM t WHERE ';' = ';'",
    "comment": "SELECT count(*) /* all; of them */ FROM t -- DELETE",
    "words in texts": "SELECT count(*) FROM t WHERE 'DELETE FROM t; pg_sleep(1)' <> ''",
    "case": "SELECT sum(CASE WHEN a IS NOT NULL THEN 1 ELSE 0 END) FROM {object}",
    "braces": "SELECT count(*) FROM ${table} WHERE '{1,2}' = '{1,2}'",
    "correlated": "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.a = t.a)",
    "colon": "SELECT count(*) FROM t WHERE ':a' <> 'x:b'",
    "percent": "SELECT count(*) FROM t WHERE '100%' LIKE '%0\\%%' ESCAPE '\\'",
}


@pytest.mark.parametrize("place", ["duckdb", "parquet", "csv", "sqlite", SERVICE])
def test_ordinary_sql_is_run(place: str, put: Put) -> None:
    """Queries that only read are run as written, whatever their texts and comments say."""
    rules = [
        {"id": f"q{index}", "type": "sql", "query": query, "mustBe": 3} for index, query in enumerate(SAFE.values())
    ]
    report = check_contract(contract_of(odcs(POSITIVE, rules)), source=put(place, ROWS))
    for index, name in enumerate(SAFE):
        assert result(report, f"q{index}").status == "passed", f"{name}\n{told(report)}"


@pytest.mark.parametrize("place", ["duckdb", "sqlite", SERVICE])
@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT a, a FROM t WHERE a = 1", "column"),
        ("SELECT a FROM t", "row"),
        ("SELECT a FROM t WHERE a > 99", "row"),
        ("SELECT max(a) FROM t WHERE a > 99", "NULL"),
    ],
)
def test_a_query_must_give_one_value(place: str, query: str, says: str, put: Put) -> None:
    """A query that gives several cells, several rows, none or NULL gives no verdict."""
    report = check_contract(_asked(query), source=put(place, ROWS))
    own = result(report, "own")
    assert own.status == "errored", told(report)
    assert says.lower() in own.description.lower()
    assert counted(report) == 1


@pytest.mark.parametrize("place", ["duckdb", "sqlite", SERVICE])
def test_a_query_that_fails_leaves_the_others_alone(place: str, put: Put) -> None:
    """A query that fails while it runs is errored; the checks after it are judged in the same transaction."""
    rules = [
        {"id": "bad", "type": "sql", "query": "SELECT count(*) FROM t WHERE nope > 1", "mustBe": 0},
        {"id": "good", "type": "sql", "query": "SELECT count(*) FROM t", "mustBe": 3},
    ]
    report = check_contract(contract_of(odcs(POSITIVE, rules)), source=put(place, ROWS))
    assert result(report, "bad").status == "errored", told(report)
    assert "nope" in result(report, "bad").description
    assert result(report, "good").status == "passed", told(report)
    assert counted(report) == 1, told(report)


@pytest.mark.parametrize("place", ["duckdb", "sqlite", SERVICE])
def test_a_boolean_query_is_judged(place: str, put: Put) -> None:
    """A query may answer true or false."""
    source = put(place, ROWS)
    for query, status in (("SELECT min(a) < 0 FROM t", "passed"), ("SELECT min(a) > 0 FROM t", "failed")):
        report = check_contract(_asked(query, mustBe=True), source=source)
        assert result(report, "own").status == status, told(report)
