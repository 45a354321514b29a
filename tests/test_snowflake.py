"""Snowflake's dialect and driver, on DuckDB through fakesnow: `make test-snowflake` runs this.

It does so in an environment of its own, for fakesnow wants other versions of DuckDB and sqlglot than the rest. What it
shows is that our statements are Snowflake's SQL as sqlglot understands it, and that tables, types and answers come
through Snowflake's own driver and SQLAlchemy dialect; it does not show how Snowflake itself compares and rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy
from builders import contract_of, odcs, result, told

from contract_checks.results import Report
from contract_checks.run import check_contract

fakesnow = pytest.importorskip("fakesnow")

URL = "snowflake://user:password@account/db/public"
ROWS = """
CREATE TABLE t (
  id BIGINT, s VARCHAR(20), d NUMBER(10,2), f FLOAT, o BOOLEAN, day DATE, at TIMESTAMP_NTZ
) AS SELECT * FROM VALUES
  (1, 'abc', 1.10, 0.5, TRUE, '2024-01-01'::DATE, '2024-01-01 10:00:00'::TIMESTAMP_NTZ),
  (2, 'it''s', 2.25, 'NaN'::FLOAT, FALSE, '2024-01-02'::DATE, '2024-01-02 10:00:00'::TIMESTAMP_NTZ),
  (2, '', 2.25, NULL, NULL, NULL, NULL),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[sqlalchemy.Engine]:
    """Snowflake's own SQLAlchemy dialect, whose driver is fakesnow's."""
    with fakesnow.patch():
        made = sqlalchemy.create_engine(URL)
        with made.begin() as connection:
            for statement in filter(str.strip, ROWS.split(";")):
                connection.exec_driver_sql(statement)
        yield made
        made.dispose()


def check(engine: sqlalchemy.Engine, properties: str, quality: str = "") -> Report:
    """The report on the table t."""
    return check_contract(contract_of(odcs(properties, quality)), source=engine)


@pytest.mark.parametrize(
    ("column", "rule", "measured"),
    [
        ("{name: id, logicalType: integer, required: true}", "required", 1),
        ("{name: id, logicalType: integer, unique: true}", "unique", 1),
        ("{name: id, logicalType: integer, logicalTypeOptions: {multipleOf: 2}}", "multipleOf", 1),
        ("{name: s, logicalType: string, logicalTypeOptions: {maxLength: 3}}", "maxLength", 1),
        ("{name: s, logicalType: string, logicalTypeOptions: {pattern: '^[a-z]+$'}}", "pattern", 2),
        ("{name: d, logicalType: number, logicalTypeOptions: {maximum: 2.25}}", "maximum", 0),
        ("{name: d, logicalType: number, logicalTypeOptions: {minimum: 1.101}}", "minimum", 1),
        ("{name: f, logicalType: number, logicalTypeOptions: {minimum: 0.5}}", "minimum", 1),
        ("{name: day, logicalType: date, logicalTypeOptions: {minimum: '2024-01-02'}}", "minimum", 1),
        (
            "{name: at, logicalType: timestamp, logicalTypeOptions: {minimum: '2024-01-01T12:00:00+02:00'}}",
            "minimum",
            0,
        ),
    ],
)
def test_a_rule_is_measured(engine: sqlalchemy.Engine, column: str, rule: str, measured: int) -> None:
    """What a rule of a column measures, by statements in Snowflake's words."""
    report = check(engine, f"[{column}]")
    found = [one for one in report.results if one.check.rule == rule]
    assert [one.measured for one in found] == [measured], told(report)


@pytest.mark.parametrize(
    ("rule", "measured"),
    [
        ("{metric: nullValues, mustBe: 0}", 1),
        ("{metric: invalidValues, arguments: {validValues: [abc, it's]}, mustBe: 0}", 1),
        ("{metric: missingValues, arguments: {missingValues: ['', null]}, mustBe: 0}", 2),
        ("{metric: duplicateValues, mustBe: 0}", 0),
    ],
)
def test_a_metric_of_the_library_is_measured(engine: sqlalchemy.Engine, rule: str, measured: int) -> None:
    """The library's metrics of a text column."""
    report = check(engine, f"- {{name: s, logicalType: string, quality: [{rule}]}}")
    found = [one.measured for one in report.results if one.check.section == "quality"]
    assert found == [measured], told(report)


def test_tables_types_and_queries_come_through_the_driver(engine: sqlalchemy.Engine) -> None:
    """Columns have their types, the user's query its answer, and a failed check its sample."""
    quality = "- {metric: rowCount, mustBe: 4}\n- {type: sql, query: 'SELECT COUNT(*) FROM {object}', mustBe: 4}"
    columns: Any = ", ".join(
        f"{{name: {name}, logicalType: {kind}}}"
        for name, kind in (
            ("id", "integer"),
            ("s", "string"),
            ("d", "number"),
            ("f", "number"),
            ("o", "boolean"),
            ("day", "date"),
            ("at", "timestamp"),
        )
    )
    report = check(engine, f"[{columns}]", quality)
    assert report.exit_code == 0, told(report)
    failed = result(
        check(engine, "- {name: id, logicalType: integer, logicalTypeOptions: {minimum: 2}}"), "minimum", "id"
    )
    assert failed.sample is not None
    assert failed.sample.rows == ((1,),)
