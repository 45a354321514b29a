"""ClickHouse, run for real in this process: the probes, random rules, and what only ClickHouse has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import regress
import sqlalchemy
from builders import contract_of, odcs, result, told
from chdbs import clickhouse, put_table
from hypothesis import assume, given, note, settings
from oracle import assert_holds
from test_probes import ALL, Probe, assert_verdicts
from test_properties import PATTERN_TEXTS, QUICK, rows, tables
from test_spark import PATTERNS, as_select

from contract_checks import patterns
from contract_checks.metrics import Aggregate, OrphanKeys
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.scans import compile_scans
from contract_checks.sources import DatabaseSource

STORED = "ENGINE = MergeTree ORDER BY tuple()"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlalchemy.Engine]:
    """A ClickHouse for all tests of this file."""
    with clickhouse(tmp_path_factory.mktemp("clickhouse")) as made:
        yield made


def run(engine: sqlalchemy.Engine, *statements: str) -> list[Any]:
    """The rows of the last of some statements."""
    found: list[Any] = []
    with engine.begin() as connection:
        for statement in statements:
            cursor = connection.execution_options(no_parameters=True).exec_driver_sql(statement)
            found = list(cursor) if cursor.returns_rows else []
    return found


def check(engine: sqlalchemy.Engine, properties: str, quality: str = "") -> Report:
    """The report on the table t."""
    return check_contract(contract_of(odcs(properties, quality)), source=engine)


@pytest.mark.parametrize("probe", [one for one in ALL if "parquet" in one.places], ids=lambda probe: probe.id)
def test_a_probe_gets_the_right_verdict(probe: Probe, engine: sqlalchemy.Engine, tmp_path: Path) -> None:
    """Every probe that is a table of types which ClickHouse has gets its verdict."""
    assert probe.rows is not None
    put_table(engine, tmp_path, probe.rows)
    report = check_contract(contract_of(odcs(probe.properties, probe.quality, api=probe.api)), source=engine)
    assert_verdicts(report, probe)


@settings(QUICK, max_examples=20)
@given(table=tables(), content=rows())
def test_clickhouse_gives_the_verdict_of_the_definitions(
    engine: sqlalchemy.Engine, tmp_path_factory: pytest.TempPathFactory, table: dict[str, Any], content: list[Any]
) -> None:
    """What is measured and judged equals what the definitions say."""
    days = [row["day"] for row in content if row["day"] is not None]
    assume(all(1900 <= day.year <= 2299 for day in days))  # beyond these ClickHouse keeps no date
    put_table(engine, tmp_path_factory.mktemp("rows"), as_select(content))
    report = check_contract(contract_of(odcs(schema=[table])), source=engine)
    note(told(report))
    assert_holds(report, table, content)


@settings(QUICK, max_examples=300)
@given(PATTERNS)
def test_a_pattern_translated_for_re2_means_what_it_meant(engine: sqlalchemy.Engine, pattern: str) -> None:
    """ClickHouse's RE2 finds the texts that ECMA-262 finds."""
    translated = patterns.to_re2(pattern)
    assume(translated is not None)
    texts = ", ".join("'" + one.replace("\\", "\\\\").replace("'", "\\'") + "'" for one in PATTERN_TEXTS)
    quoted = str(translated).replace("\\", "\\\\").replace("'", "\\'")
    found = run(engine, f"SELECT arrayMap(s -> match(s, '{quoted}'), [{texts}])")
    wanted = [regress.Regex(pattern).find(text) is not None for text in PATTERN_TEXTS]
    assert [bool(one) for one in found[0][0]] == wanted, translated


def test_an_aggregate_over_no_rows_is_no_default(engine: sqlalchemy.Engine) -> None:
    """ClickHouse itself says that the least of no numbers is 0."""
    run(
        engine,
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (a Int64, d Decimal(10, 2)) {STORED}",
    )
    contract = contract_of(odcs("- {name: a, logicalType: integer}"))
    metrics = [
        Aggregate(function, (name,)) for function in ("min", "max", "avg", "sum", "stddev") for name in ("a", "d")
    ]  # type: ignore[arg-type]
    with DatabaseSource(engine).session(contract.datasets) as session:
        relation = session.relation(contract.datasets[0])
        found = session.measure(compile_scans(metrics, relation, {}), relation)
    assert {one: found[one].value for one in metrics} == dict.fromkeys(metrics)


def test_sums_do_not_overflow(engine: sqlalchemy.Engine) -> None:
    """ClickHouse itself wraps a sum around without a word."""
    run(
        engine,
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (a Int64, d Decimal(10, 2)) {STORED}",
        f"INSERT INTO t VALUES ({2**63 - 1}, 1), ({2**63 - 1}, 2), (0, 2)",
    )
    contract = contract_of(odcs("- {name: a, logicalType: integer}"))
    metrics = [Aggregate("sum", ("a",)), Aggregate("avg", ("d",))]
    with DatabaseSource(engine).session(contract.datasets) as session:
        relation = session.relation(contract.datasets[0])
        found = session.measure(compile_scans(metrics, relation, {}), relation)
    assert [int(found[metrics[0]].value), found[metrics[1]].value] == [2**64 - 2, 5 / 3]


def test_keys_that_lead_nowhere_are_counted(engine: sqlalchemy.Engine) -> None:
    """A foreign key may point to its own table; NULL points nowhere and is no orphan."""
    run(
        engine,
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (id Int64, parent Nullable(Int64)) {STORED}",
        "INSERT INTO t VALUES (1, NULL), (2, 1), (3, 9), (4, 9)",
    )
    contract = contract_of(odcs("- {name: id, logicalType: integer}"))
    metric = OrphanKeys((("parent",),), "t", (("id",),))
    with DatabaseSource(engine).session(contract.datasets) as session:
        relation = session.relation(contract.datasets[0])
        [scan] = compile_scans([metric], relation, {"t": relation}).scans
        assert session.fetch(scan.sql) == [(9, 2), (9, 2)]


def test_moments_do_not_depend_on_the_server(engine: sqlalchemy.Engine) -> None:
    """A DateTime is an instant, whatever clock it is shown on."""
    run(
        engine,
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (a DateTime('Asia/Tokyo'), b DateTime64(3, 'UTC')) {STORED}",
        "INSERT INTO t VALUES ('2024-01-01 09:00:00', '2024-01-01 00:00:00')",
    )
    options = "logicalTypeOptions: {minimum: '2024-01-01T00:00:00Z', maximum: '2024-01-01T00:00:00Z'}"
    both = ", ".join(f"{{name: {name}, logicalType: timestamp, {options}}}" for name in ("a", "b"))
    report = check(engine, f"[{both}]")
    assert report.exit_code == 0, told(report)


def test_wrapped_types_are_what_they_wrap(engine: sqlalchemy.Engine) -> None:
    """How ClickHouse stores a text is no type of its own; an enumeration is text."""
    run(
        engine,
        "DROP TABLE IF EXISTS t",
        "CREATE TABLE t (a LowCardinality(String), b LowCardinality(Nullable(String)), c Enum8('x' = 1, 'y' = 2)) "
        + STORED,
        "INSERT INTO t VALUES ('x', NULL, 'x'), ('yy', 'y', 'y')",
    )
    rule = "logicalType: string, logicalTypeOptions: {maxLength: 1}, quality: [{metric: nullValues, mustBe: 0}]"
    report = check(engine, f"[{{name: a, {rule}}}, {{name: b, {rule}}}, {{name: c, {rule}}}]")
    found = {one.check.column: one.status for one in report.results if one.check.rule == "maxLength"}
    assert found == {"a": "failed", "b": "passed", "c": "passed"}, told(report)
    assert result(report, "nullValues", "b").measured == 1


def test_items_of_arrays_are_judged_one_by_one(engine: sqlalchemy.Engine) -> None:
    """Conditions reach into arrays and tuples."""
    run(
        engine,
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (tags Array(Nullable(String)), m Map(String, Int64)) {STORED}",
        "INSERT INTO t VALUES (['a', NULL, 'long'], map('k', 1)), (['b', 'b'], map()), ([], map('k', 2))",
    )
    report = check(
        engine,
        """
- name: tags
  logicalType: array
  logicalTypeOptions: {minItems: 1, uniqueItems: true}
  items: {logicalType: string, required: true, logicalTypeOptions: {maxLength: 2}}
- {name: m, logicalType: object, logicalTypeOptions: {minProperties: 1}}
""",
    )
    found = {one.check.rule: one.measured for one in report.results if one.check.section == "schema"}
    wanted = {"required": 1, "maxLength": 1, "minItems": 1, "uniqueItems": 1, "minProperties": 1}
    assert {rule: found.get(rule) for rule in wanted} == wanted, told(report)
