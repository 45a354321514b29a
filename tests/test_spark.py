"""Spark, run for real on this machine: the probes, random rules, and what only Spark has."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import regress
from builders import contract_of, odcs, result, told
from databases import Rows
from hypothesis import given, note, settings
from hypothesis import strategies as st
from oracle import assert_holds
from sparks import PORT, free_port, need_spark, put_view, spark_session
from test_probes import ALL, Probe, assert_verdicts
from test_properties import DUCKDB, PATTERN_TEXTS, PIECES, QUICK, rows, tables

from contract_checks import patterns
from contract_checks.dialects import load
from contract_checks.errors import ServerError, SourceError
from contract_checks.metrics import Aggregate, OrphanKeys
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.scans import compile_scans
from contract_checks.sources import SparkSource, resolve
from contract_checks.sources.spark import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.service]

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "spark.py"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark for all tests of this file."""
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


def check(spark: Any, properties: str, quality: str = "", name: str = "t", **more: Any) -> Report:
    """The report on a table or view of Spark."""
    return check_contract(contract_of(odcs(properties, quality, name=name)), source=spark, **more)


# --------------------------------------------------------------------------- the same verdicts as everywhere


@pytest.mark.parametrize("probe", [one for one in ALL if "parquet" in one.places], ids=lambda probe: probe.id)
def test_a_probe_gets_the_right_verdict(probe: Probe, spark: SparkSession, tmp_path: Path) -> None:
    """Every probe that is a table gets its verdict on Spark."""
    assert probe.rows is not None
    put_view(spark, tmp_path, probe.rows)
    report = check_contract(contract_of(odcs(probe.properties, probe.quality, api=probe.api)), source=spark)
    assert_verdicts(report, probe)


def as_select(content: list[dict[str, Any]]) -> Rows:
    """The rows of an example as a DuckDB SELECT."""
    lines = [f"({', '.join(_literal(row[name], kind) for name, kind in DUCKDB.items())})" for row in content]
    nothing = f"({', '.join(f'NULL::{kind}' for kind in DUCKDB.values())})"
    names = ", ".join(f'"{name}"' for name in DUCKDB)
    return Rows(
        f"SELECT * FROM (VALUES {', '.join([nothing, *lines])}) AS v({names}) OFFSET 1", before=["SET threads = 1"]
    )


def _literal(value: Any, kind: str) -> str:
    if value is None:
        return f"NULL::{kind}"
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    return "'" + text.replace("'", "''") + f"'::{kind}"


@settings(QUICK, max_examples=6)
@given(table=tables(), content=rows())
def test_spark_gives_the_verdict_of_the_definitions(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, table: dict[str, Any], content: list[dict[str, Any]]
) -> None:
    """What is measured and judged equals what the definitions say."""
    put_view(spark, tmp_path_factory.mktemp("rows"), as_select(content))
    report = check_contract(contract_of(odcs(schema=[table])), source=spark)
    note(told(report))
    assert_holds(report, table, content)


PATTERNS = st.builds(
    lambda pieces, anchored: f"^{''.join(pieces)}$" if anchored else "".join(pieces),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5),
    st.booleans(),
)


@settings(QUICK, max_examples=2)
@given(st.lists(PATTERNS, min_size=80, max_size=80, unique=True))
def test_a_pattern_translated_for_java_means_what_it_meant(spark: SparkSession, written: list[str]) -> None:
    """A pattern translated for Spark finds the texts that ECMA-262 finds."""
    pairs = [(one, translated) for one in written if (translated := patterns.to_java(one)) is not None]
    texts = spark.createDataFrame([(index, text) for index, text in enumerate(PATTERN_TEXTS)], "i int, s string")
    cells = [texts.s.rlike(translated) for _, translated in pairs]
    found = texts.orderBy("i").select(*cells).collect()
    for place, (pattern, translated) in enumerate(pairs):
        wanted = [regress.Regex(pattern).find(text) is not None for text in PATTERN_TEXTS]
        assert [row[place] for row in found] == wanted, translated


# --------------------------------------------------------------------------- numbers, texts, moments


def values(spark: SparkSession, types: str, *cells: str) -> None:
    """A view `t` of some rows, in Spark's own words."""
    names = [one.split()[0] for one in types.split(";")]
    casts = ", ".join(
        f"CAST({name} AS {kind}) AS {name}" for name, kind in (one.split(" ", 1) for one in types.split(";"))
    )
    spark.sql(f"SELECT {casts} FROM VALUES {', '.join(cells)} AS v({', '.join(names)})").createOrReplaceTempView("t")


@pytest.mark.parametrize(
    ("limit", "status"),
    [
        ("minimum: 0.00000000001", "failed"),
        ("minimum: -0.00000000001", "passed"),
        ("exclusiveMinimum: -0.00000000001", "passed"),
        ("maximum: -0.00000000001", "failed"),
        ("exclusiveMaximum: 0.00000000001", "passed"),
        ("maximum: 1.0e+50", "passed"),
        ("minimum: 1.0e+50", "failed"),
    ],
)
def test_a_limit_finer_or_wider_than_a_decimal_is_exact(spark: SparkSession, limit: str, status: str) -> None:
    """A limit that the column's type cannot hold is no reason to round it."""
    values(spark, "a DECIMAL(38,10)", "(0)")
    report = check(spark, f"- {{name: a, logicalType: number, logicalTypeOptions: {{{limit}}}}}")
    assert {one.status for one in report.results if one.check.column == "a"} == {status}, told(report)


def test_a_listed_number_that_a_decimal_cannot_hold_equals_no_value(spark: SparkSession) -> None:
    """Spark itself takes 0 for one of (0.00000000001), when that is asked of decimals with ten places."""
    values(spark, "a DECIMAL(38,10)", "(0)")
    rule = "{metric: invalidValues, arguments: {validValues: [0.00000000001]}, mustBe: 0}"
    report = check(spark, f"- {{name: a, logicalType: number, quality: [{rule}]}}")
    assert result(report, "invalidValues", "a").status == "failed"


def test_sums_and_averages_do_not_overflow_or_round(spark: SparkSession) -> None:
    """The sum of large integers is exact, the average of decimals is not cut to a few places."""
    values(spark, "i BIGINT;d DECIMAL(10,2)", f"({2**63 - 1}, 1)", f"({2**63 - 1}, 2)", "(NULL, 2)")
    contract = contract_of(odcs("- {name: i, logicalType: integer}"))
    with SparkSource(spark).session(contract.datasets) as session:
        relation = session.relation(session.datasets[0])
        metrics = [
            Aggregate("sum", ("i",)),
            Aggregate("avg", ("i",)),
            Aggregate("avg", ("d",)),
            Aggregate("sum", ("d",)),
        ]
        found = session.measure(compile_scans(metrics, relation, {}), relation)
    assert [found[one].value for one in metrics] == [2**64 - 2, 2.0**63, 5 / 3, Decimal(5)]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_moments_do_not_depend_on_the_session(spark: SparkSession, zone: str) -> None:
    """A timestamp is judged and shown as the instant it is, whatever clock the session and the machine have."""
    values(spark, "at TIMESTAMP;local TIMESTAMP_NTZ", "('2024-03-10 02:30:00Z', '2024-03-10 02:30:00')")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        options = "logicalTypeOptions: {minimum: '2024-03-10T02:30:00.000001Z'}"
        both = ", ".join(f"{{name: {name}, logicalType: timestamp, {options}}}" for name in ("at", "local"))
        report = check(spark, f"[{both}]")
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    samples = {one.check.column: one.sample.rows for one in report.results if one.sample is not None}
    assert samples == {
        "at": ((datetime(2024, 3, 10, 2, 30, tzinfo=UTC),),),
        "local": ((datetime(2024, 3, 10, 2, 30),),),
    }


def test_times_of_day_are_compared(spark: SparkSession) -> None:
    """Spark has a type for them since 4.1, where it is turned on."""
    if tuple(map(int, spark.version.split(".")[:2])) < (4, 1):
        pytest.skip("this Spark has no TIME")
    spark.conf.set("spark.sql.timeType.enabled", "true")
    values(spark, "a TIME", "('17:00:01')", "('09:00:00')")
    report = check(spark, "- {name: a, logicalType: time, logicalTypeOptions: {maximum: '17:00:00'}}")
    assert result(report, "maximum", "a").measured == 1


def test_a_field_of_a_struct_is_not_a_column_of_a_table_of_that_name(spark: SparkSession) -> None:
    """`a`.`b` is also the column b of the table a; the field b of the column a is meant."""
    spark.sql("SELECT named_struct('b', CAST(NULL AS INT)) AS a, 1 AS b").createOrReplaceTempView("a")
    fields = "properties: [{name: b, logicalType: integer, required: true}]"
    report = check(spark, f"- {{name: a, logicalType: object, {fields}}}", name="a")
    assert [one.status for one in report.results if one.check.rule == "required"] == ["failed"], told(report)


NESTED = """
- name: items
  logicalType: array
  logicalTypeOptions: {minItems: 1, uniqueItems: true}
  items:
    logicalType: object
    properties:
      - {name: sku, logicalType: string, required: true, logicalTypeOptions: {pattern: '^[A-Z]$'}}
      - {name: tags, logicalType: array, items: {logicalType: string, logicalTypeOptions: {maxLength: 2}}}
"""


def test_items_of_arrays_are_judged_one_by_one(spark: SparkSession) -> None:
    """Conditions reach into arrays of structs of arrays; a list that is NULL hides none of its neighbours."""
    spark.sql(
        "SELECT * FROM VALUES"
        " (array(named_struct('sku', 'A', 'tags', array('x', 'long')), named_struct('sku', 'b', 'tags', NULL))),"
        " (array(named_struct('sku', NULL, 'tags', array('abc')), named_struct('sku', NULL, 'tags', array('abc')))),"
        " (array()), (NULL) AS v(items)"
    ).createOrReplaceTempView("t")
    report = check(spark, NESTED)
    found = {one.check.rule: one.measured for one in report.results if one.check.section == "schema"}
    wanted = {"required": 2, "pattern": 1, "maxLength": 3, "minItems": 1, "uniqueItems": 1}
    assert {rule: found.get(rule) for rule in wanted} == wanted, told(report)
    assert all(one.status in ("passed", "failed") for one in report.results), told(report)


def test_keys_that_lead_nowhere_are_counted(spark: SparkSession) -> None:
    """A foreign key may point to another table or to its own; NULL points nowhere and is no orphan."""
    values(spark, "id BIGINT;parent BIGINT", "(1, NULL)", "(2, 1)", "(3, 9)", "(4, 9)")
    contract = contract_of(odcs("- {name: id, logicalType: integer}"))
    with SparkSource(spark).session(contract.datasets) as session:
        relation = session.relation(contract.datasets[0])
        metric = OrphanKeys((("parent",),), "t", (("id",),))
        [scan] = compile_scans([metric], relation, {"t": relation}).scans
        assert session.fetch(scan.sql) == [(9, 2), (9, 2)]


def test_the_ansi_mode_changes_no_verdict(spark: SparkSession) -> None:
    """Without it Spark says -1 for the size of NULL, and NULL for what overflows; neither is asked of it."""
    types = "i BIGINT;d DECIMAL(38,10);s STRING;items ARRAY<INT>"
    values(spark, types, f"({2**63 - 1}, 0, 'a', NULL)", "(2, 1, '', array(3))")
    rules = """
- {name: i, logicalType: integer, logicalTypeOptions: {multipleOf: 2, maximum: 1.0e+40}}
- {name: d, logicalType: number, logicalTypeOptions: {minimum: 0.00000000001, multipleOf: 0.5}}
- {name: s, logicalType: string, quality: [{metric: invalidValues, arguments: {validValues: [1, a]}, mustBe: 0}]}
- {name: items, logicalType: array, logicalTypeOptions: {minItems: 1, uniqueItems: true}, items: {logicalType: integer}}
"""
    found = []
    for mode in ("true", "false"):
        spark.conf.set("spark.sql.ansi.enabled", mode)
        report = check(spark, rules, "- {type: sql, query: 'SELECT SUM(d) FROM {object}', mustBe: 1}")
        found.append([(one.check.name, one.status, one.measured, one.rows) for one in report.results])
    spark.conf.unset("spark.sql.ansi.enabled")
    assert found[0] == found[1]
    assert {status for _, status, _, _ in found[0]} == {"passed", "failed"}


# --------------------------------------------------------------------------- sessions and tables


def test_the_session_that_was_given_stays_as_it_was(spark: SparkSession) -> None:
    """Settings are made in a session of our own, which sees the views of the given one."""
    values(spark, "a INT", "(1)")
    before = {name: spark.conf.get(name) for name in SETTINGS}
    source = SparkSource(spark)
    with source.session(contract_of(odcs("- {name: a, logicalType: integer}")).datasets) as session:
        assert session.fetch("SELECT current_timezone(), a FROM t") == [("UTC", 1)]
        assert {name: spark.conf.get(name) for name in SETTINGS} == before
    assert {name: spark.conf.get(name) for name in SETTINGS} == before
    assert spark.sql("SELECT 1").collect()[0][0] == 1


def test_a_session_may_be_made_when_it_is_asked_for(spark: SparkSession) -> None:
    """A function in place of a session is called by the run, not when definitions load."""
    values(spark, "a INT", "(1)")
    asked: list[int] = []
    source = SparkSource(lambda: asked.append(1) or spark)  # type: ignore[func-returns-value]
    assert asked == []
    assert check(source, "- {name: a, logicalType: integer}", "- {metric: rowCount, mustBe: 1}").exit_code == 0
    assert asked


def test_dagster_makes_the_session_in_the_run(spark: SparkSession, tmp_path: Path) -> None:
    """Definitions load without Spark; the asset's checks are evaluated on it."""
    dagster = pytest.importorskip("dagster")
    from contract_checks.dagster_defs import build_definitions

    file = tmp_path / "t.odcs.yaml"
    file.write_text(odcs("- {name: a, logicalType: integer, required: true, logicalTypeOptions: {minimum: 2}}"))
    asked: list[int] = []
    definitions = build_definitions(file, source=SparkSource(lambda: asked.append(1) or spark))  # type: ignore[func-returns-value]
    assert asked == []
    values(spark, "a INT", "(1)", "(2)")
    with dagster.DagsterInstance.ephemeral() as instance:
        [asset] = definitions.resolve_asset_graph().get_all_asset_keys()
        job = definitions.resolve_implicit_global_asset_job_def()
        done = job.execute_in_process(instance=instance, raise_on_error=False, asset_selection=[asset])
    found = {one.check_name: one.passed for one in done.get_asset_check_evaluations()}
    assert asked
    assert found["schema__a__required"] is True
    assert found["schema__a__minimum"] is False


def test_tables_of_the_catalogue_have_their_types_and_comments(spark: SparkSession) -> None:
    """A table is found by its schema, with the native types and comments that Spark knows."""
    spark.sql("CREATE SCHEMA IF NOT EXISTS sales")
    spark.sql("DROP TABLE IF EXISTS sales.orders")
    spark.sql(
        "CREATE TABLE sales.orders (id BIGINT COMMENT 'the key', code VARCHAR(3), at TIMESTAMP_NTZ,"
        " s STRUCT<`odd name`: INT, date: DATE, items: ARRAY<MAP<STRING, DECIMAL(18,2)>>>)"
        " USING parquet COMMENT 'all orders'"
    )
    contract = contract_of(odcs("- {name: id, logicalType: integer}", name="sales.orders"))
    with SparkSource(spark).session(contract.datasets) as session:
        relation = session.relation(contract.datasets[0])
        assert [(one.name, one.native_type, one.category, one.comment) for one in relation.columns] == [
            ("id", "bigint", "integer", "the key"),
            ("code", "varchar(3)", "string", ""),
            ("at", "timestamp_ntz", "timestamp", ""),
            ("s", "struct<`odd name`:int,date:date,items:array<map<string,decimal(18,2)>>>", "object", ""),
        ]
        assert relation.has(("s", "odd name"))
        assert relation.has(("s", "items", "[]", "{values}"))
        assert session.comment(contract.datasets[0]) == "all orders"
    plain = contract_of(odcs("- {name: id, logicalType: integer}", name="orders"))
    with SparkSource(spark, schema="sales").session(plain.datasets) as session:
        assert session.relation(plain.datasets[0]).find("id") is not None


def test_a_missing_table_is_said_with_what_there_is(spark: SparkSession) -> None:
    """A wrong name, also of a schema or catalog, is a table that is not there, with a hint."""
    values(spark, "a INT", "(1)")
    spark.sql("SELECT 1 AS a").createOrReplaceTempView("customers")
    report = check(spark, "- {name: a, logicalType: integer}", name="custmers")
    assert "customers" in report.results[0].description
    for name in ("nosuch.t", "nosuch.a.t", "w.x.y.z"):
        assert (
            "there is no table" in check(spark, "- {name: a, logicalType: integer}", name=name).results[0].description
        )


def test_a_statement_that_fails_touches_no_other(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    """A user's query that Spark refuses is errored in one line; the other checks have their verdicts."""
    values(spark, "a INT", "(1)")
    quality = "- {type: sql, query: 'SELECT 1 / (a - 1) FROM {object}', mustBe: 1}\n- {metric: rowCount, mustBe: 1}"
    with caplog.at_level(logging.ERROR):
        report = check(spark, "- {name: a, logicalType: integer}", quality)
    errored = result(report, "sql")
    assert errored.status == "errored"
    assert "DIVIDE_BY_ZERO" in errored.description
    assert "\tat " not in errored.description
    assert result(report, "rowCount").status == "passed"
    assert caplog.records == []


def test_users_queries_reach_no_files_and_no_environment(spark: SparkSession, tmp_path: Path) -> None:
    """`csv.` before a path is refused by its text and by Spark itself; `${…}` is a text like any other."""
    (tmp_path / "secret").write_text("x")
    spark.createDataFrame([("${env:PATH}",)], "a string").createOrReplaceTempView("t")
    contract = contract_of(odcs("- {name: a, logicalType: string}"))
    with SparkSource(spark).session(contract.datasets) as session:
        with pytest.raises(SourceError):
            session.fetch(f"SELECT * FROM text.`{tmp_path / 'secret'}`")
        assert session.fetch("SELECT COUNT(*) FROM t WHERE a = '${env:PATH}'") == [(1,)]


def test_a_statement_is_given_up_after_its_time(spark: SparkSession) -> None:
    """A statement that takes too long is cancelled; the next one is answered."""
    contract = contract_of(odcs("- {name: a, logicalType: integer}"))
    with SparkSource(spark).session(contract.datasets) as session:
        session.limit_statements(1)
        with pytest.raises(SourceError, match="gave up after 1 s"):
            session.fetch("SELECT COUNT(*) FROM range(3000000000) WHERE sha2(CAST(id AS STRING), 512) = 'x'")
        session.limit_statements(60)
        assert session.fetch("SELECT 1") == [(1,)]


def test_sessions_of_two_threads_do_not_meet(spark: SparkSession) -> None:
    """Two datasets may be checked at once with one SparkSession."""
    values(spark, "a INT", "(1)")
    reports: list[Report] = []
    threads = [
        threading.Thread(
            target=lambda: reports.append(check(spark, "- {name: a, logicalType: integer, required: true}"))
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.exit_code for report in reports] == [0, 0]


CHECKED = """
- {name: a, logicalType: integer, required: true, unique: true, logicalTypeOptions: {minimum: 2}}
- {name: at, logicalType: timestamp, logicalTypeOptions: {minimum: '2025-01-01T00:00:00Z'}}
- {name: s, logicalType: string, logicalTypeOptions: {pattern: '^y$'}}
- {name: items, logicalType: array, items: {logicalType: integer, logicalTypeOptions: {maximum: 1}}}
"""


def test_spark_connect_gives_the_same_report(spark: SparkSession) -> None:
    """The address of a server, or a session on it, is as good as a session of this process."""
    pytest.importorskip("grpc")
    spark.sql("DROP TABLE IF EXISTS connected")
    spark.sql(
        "CREATE TABLE connected AS SELECT 1 AS a, TIMESTAMP '2024-01-01 00:00:00' AS at, 'x' AS s, array(1, 2) AS items"
    )
    quality = "- {metric: rowCount, mustBe: 1}\n- {type: sql, query: 'SELECT COUNT(*) FROM nosuch', mustBe: 1}"
    address = f"sc://127.0.0.1:{spark.conf.get(PORT)}"
    here, there = (check(source, CHECKED, quality, name="connected") for source in (spark, address))
    told_here = [(one.check.name, one.status, one.measured, one.sample) for one in here.results]
    assert told_here == [(one.check.name, one.status, one.measured, one.sample) for one in there.results]
    assert result(there, "minimum", "at").sample.rows == ((datetime(2024, 1, 1, tzinfo=UTC),),)  # type: ignore[union-attr]


def test_a_given_session_of_spark_connect_stays_open(spark: SparkSession) -> None:
    """Its temporary views are seen, and it is not ended with the check."""
    pytest.importorskip("grpc")
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    remote: Any = RemoteSession.builder.remote(f"sc://127.0.0.1:{spark.conf.get(PORT)}").create()
    remote.sql("SELECT 7 AS a").createOrReplaceTempView("mine")
    assert check(remote, "- {name: a, logicalType: integer, required: true}", name="mine").exit_code == 0
    assert [tuple(row) for row in remote.sql("SELECT * FROM mine").collect()] == [(7,)]
    remote.stop()


def test_a_server_that_is_not_there_is_said(spark: SparkSession) -> None:
    """An address at which nobody listens makes every check errored, soon and in a sentence."""
    pytest.importorskip("grpc")
    report = check(f"sc://127.0.0.1:{free_port()}", CHECKED)
    assert {one.status for one in report.results} == {"errored"}
    assert "cannot be reached" in report.results[0].description


@pytest.mark.slow
def test_a_cluster_of_one_and_of_two_executors_give_the_report_of_duckdb(tmp_path: Path) -> None:
    """Executors in processes of their own share the files; verdicts and numbers are those of one machine."""
    need_spark()
    spec = importlib.util.spec_from_file_location("spark_benchmark", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    benchmark.make(tmp_path / "orders", 20_000)
    (tmp_path / "orders.odcs.yaml").write_text(benchmark.CONTRACT)
    report = check_contract(load(tmp_path / "orders.odcs.yaml"), source=str(tmp_path))
    assert {"passed", "failed"} == {one.status for one in report.results}
    for executors in (1, 2):
        assert benchmark.measured(tmp_path / "orders", executors, 1)["verdicts"] == benchmark.verdicts(report)


def test_another_address_is_refused() -> None:
    """A cluster is reached by a session or through Spark Connect, not by the address of its master."""
    with pytest.raises(ServerError, match="sc://host:15002"):
        SparkSource("spark://host:7077")


def test_a_token_of_an_address_is_not_shown() -> None:
    """What an address says beside host and port is kept to itself."""
    contract = contract_of(odcs("- {name: a, logicalType: integer}"))
    source = resolve(contract, source="sc://host:15002/;token=secret;use_ssl=true")
    assert isinstance(source, SparkSource)
    assert source.name == "sc://host:15002"
