"""OpenMetadata's 25 test definitions on real tables: each passing, failing, on no rows and on rows of NULLs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from databases import Put

from contract_checks import dialects
from contract_checks.dialects.openmetadata_definitions import DEFINITIONS
from contract_checks.model import Contract
from contract_checks.results import CheckResult, Report
from contract_checks.run import check_contract

NOW = datetime(2026, 5, 10, 12, tzinfo=UTC)
MILLISECONDS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
COLUMNS = "a INTEGER, w VARCHAR, n DOUBLE, moment TIMESTAMP, latitude DOUBLE, longitude DOUBLE"
TYPES = {"a": "INT", "w": "STRING", "n": "DOUBLE", "moment": "TIMESTAMP", "latitude": "DOUBLE", "longitude": "DOUBLE"}
EMPTY = f"SELECT {', '.join(f'NULL::{one.split()[1]} AS {one.split()[0]}' for one in COLUMNS.split(', '))} WHERE FALSE"
NULLS = EMPTY.replace("WHERE FALSE", "FROM range(3)")


def rows(*values: str, column: str = "a") -> str:
    """A table whose column has these values, written in SQL, and whose other columns are NULL."""
    cells = {one.split()[0]: f"NULL::{one.split()[1]}" for one in COLUMNS.split(", ")}
    own = next(one.split()[1] for one in COLUMNS.split(", ") if one.split()[0] == column)
    cells[column] = f"v::{own}"
    return (
        f"SELECT {', '.join(f'{text} AS {name}' for name, text in cells.items())} FROM (VALUES {_listed(values)}) x(v)"
    )


def _listed(values: tuple[str, ...]) -> str:
    return ", ".join(f"({value})" for value in values)


def points(*values: str) -> str:
    """A table of places: (name, latitude, longitude)."""
    return (
        "SELECT NULL::INTEGER AS a, w, NULL::DOUBLE AS n, NULL::TIMESTAMP AS moment, latitude::DOUBLE AS latitude, "
        f"longitude::DOUBLE AS longitude FROM (VALUES {', '.join(values)}) x(w, latitude, longitude)"
    )


@dataclass(frozen=True)
class Case:
    """A definition with its parameters: rows that keep it, rows that break it, and what none and NULLs make of it."""

    definition: str
    column: str
    parameters: Mapping[str, Any]
    good: str
    bad: str
    empty: str = "passed"
    nulls: str = "passed"
    more: Mapping[str, Any] = field(default_factory=dict)


CASES = [
    Case("columnValuesToBeNotNull", "a", {}, rows("1", "2"), rows("1", "NULL"), nulls="failed"),
    Case("columnValuesToBeUnique", "a", {}, rows("1", "2", "NULL", "NULL"), rows("1", "1", "2")),
    Case("columnValuesToBeInSet", "w", {"allowedValues": '["x", "y"]', "matchEnum": "true"},
         rows("'x'", "'y'", column="w"), rows("'x'", "NULL", column="w"), nulls="failed"),
    Case("columnValuesToBeInSet", "w", {"allowedValues": '["x"]'},
         rows("'x'", "'other'", column="w"), rows("'other'", "NULL", column="w"), empty="failed", nulls="failed"),
    Case("columnValuesToBeNotInSet", "a", {"forbiddenValues": "[0, 9]"}, rows("1", "NULL"), rows("1", "9")),
    Case("columnValuesToMatchRegex", "w", {"regex": "[0-9]+x"},
         rows("'a12xb'", "NULL", column="w"), rows("'12x'", "'x'", column="w")),
    Case("columnValuesToNotMatchRegex", "w", {"forbiddenRegex": "[0-9]"},
         rows("'ab'", "NULL", column="w"), rows("'ab'", "'a1'", column="w")),
    Case("columnValuesToBeBetween", "a", {"minValue": "1", "maxValue": "3"},
         rows("1", "3", "NULL"), rows("1", "4"), empty="errored", nulls="errored"),
    Case("columnValuesToBeBetween", "moment", {"minValue": str(MILLISECONDS)},
         rows("'2026-01-01'", column="moment"), rows("'2025-12-31 23:59:59'", column="moment"),
         empty="errored", nulls="errored"),
    Case("columnValueLengthsToBeBetween", "w", {"minLength": "2", "maxLength": "3"},
         rows("'ab'", "'abc'", column="w"), rows("'a'", "'abc'", column="w"), empty="errored", nulls="errored"),
    Case("columnValueMaxToBeBetween", "a", {"minValueForMaxInCol": "5", "maxValueForMaxInCol": "9"},
         rows("1", "9"), rows("1", "10"), empty="errored", nulls="errored"),
    Case("columnValueMinToBeBetween", "a", {"minValueForMinInCol": "5"},
         rows("5", "9"), rows("4", "9"), empty="errored", nulls="errored"),
    Case("columnValueMeanToBeBetween", "a", {"maxValueForMeanInCol": "2.5"},
         rows("2", "3", "NULL"), rows("2", "4"), empty="errored", nulls="errored"),
    Case("columnValueMedianToBeBetween", "a", {"minValueForMedianInCol": "2.5", "maxValueForMedianInCol": "2.5"},
         rows("1", "2", "3", "100", "NULL"), rows("1", "2", "100"), empty="errored", nulls="errored"),
    Case("columnValueMedianToBeBetween", "n", {"minValueForMedianInCol": "0.15", "maxValueForMedianInCol": "0.15"},
         rows("0.1", "0.2", column="n"), rows("0.1", "0.21", column="n"), empty="errored", nulls="errored"),
    Case("columnValueStdDevToBeBetween", "a", {"minValueForStdDevInCol": "1", "maxValueForStdDevInCol": "1"},
         rows("1", "3"), rows("1", "4"), empty="errored", nulls="errored"),
    Case("columnValuesSumToBeBetween", "a", {"minValueForColSum": "3"},
         rows("1", "2"), rows("1", "1"), empty="errored", nulls="errored"),
    Case("columnValuesMissingCount", "w", {"missingCountValue": "2", "missingValueMatch": '["n/a"]'},
         rows("''", "'n/a'", "'x'", column="w"), rows("NULL", "'n/a'", "''", column="w"),
         empty="failed", nulls="failed"),
    Case("columnValuesToBeAtExpectedLocation", "w",
         {"locationReferenceType": "CITY", "longitudeColumnName": "longitude", "latitudeColumnName": "latitude",
          "radius": "2000"},
         points("('Paris', 48.86, 2.35)", "('Atlantis', 0, 0)", "('Paris', NULL, 2.35)"),
         points("('Paris', 48.86, 2.35)", "('Paris', 48.90, 2.35)")),
    Case("tableRowCountToEqual", "", {"value": "2"}, rows("1", "2"), rows("1"), empty="failed", nulls="failed"),
    Case("tableRowCountToBeBetween", "", {"minValue": "1", "maxValue": "3"}, rows("1"), rows("1", "2", "3", "4"),
         empty="failed"),
    Case("tableRowInsertedCountToBeBetween", "",
         {"min": "1", "max": "1", "columnName": "moment", "rangeType": "MONTH", "rangeInterval": "1"},
         rows("'2026-04-10 12:00:00'", "'2026-04-10 11:59:59'", column="moment"),
         rows("'2026-04-10 11:59:59'", column="moment"), empty="failed", nulls="failed"),
    Case("tableColumnCountToEqual", "", {"columnCount": "6"}, rows("1"), "SELECT 1 AS a"),
    Case("tableColumnCountToBeBetween", "", {"minColValue": "2", "maxColValue": "6"}, rows("1"), "SELECT 1 AS a"),
    Case("tableColumnNameToExist", "", {"columnName": "w"}, rows("1"), "SELECT 1 AS a, 2 AS W"),
    Case("tableColumnToMatchSet", "", {"columnNames": "w, a, n, moment, latitude, longitude"}, rows("1"),
         "SELECT 1 AS a, 'x' AS w"),
    Case("tableColumnToMatchSet", "", {"columnNames": ", ".join(TYPES), "ordered": "false"}, rows("1"),
         f"SELECT w, a, n, moment, latitude, longitude FROM ({rows('1')})"),
    Case("tableCustomSQLQuery", "", {"sqlExpression": "SELECT a FROM {table} WHERE a > 3"}, rows("1", "3"), rows("4")),
    Case("tableCustomSQLQuery", "", {"sqlExpression": "SELECT COUNT(*) FROM {table}", "strategy": "COUNT",
                                     "operator": "<", "threshold": "3"}, rows("1", "2"), rows("1", "2", "3"),
         nulls="failed"),
]  # fmt: skip


def contract(folder: Path, *cases: Case, side: Mapping[str, Any] | None = None, schema: bool = True) -> Contract:
    """A contract about the table `t` that refers to these test cases, which stand in its side file."""
    tests = [
        {
            "name": f"case_{number}",
            "testDefinition": {"name": case.definition, "type": "testDefinition"},
            "entityLink": f"<#E::table::s.d.p.t{f'::columns::{case.column}' if case.column else ''}>",
            "parameterValues": [{"name": name, "value": value} for name, value in case.parameters.items()],
            **case.more,
        }
        for number, case in enumerate(cases)
    ]
    document = {
        "name": "c",
        "entityStatus": "Approved",
        "entity": {"type": "table", "fullyQualifiedName": "s.d.p.t"},
        "schema": [{"name": name, "dataType": kind} for name, kind in TYPES.items()] if schema else [],
        "qualityExpectations": [
            {"type": "testCase", "name": test["name"], "id": str(n)} for n, test in enumerate(tests)
        ],
    }
    beside = {"testCases": tests, "locations": {"CITY": {"Paris": [48.8566, 2.3522]}}, **(side or {})}
    (folder / "c.tests.yaml").write_text(json.dumps(beside), encoding="utf-8")
    (folder / "c.yaml").write_text(json.dumps(document), encoding="utf-8")
    return dialects.load(folder / "c.yaml", strict=True)


def verdict(made: Contract, source: str, table: str = "t") -> CheckResult:
    """The result of the first test case."""
    return _named(check_contract(_unqualified(made, table), source=source, now=NOW), "case_0")


def _unqualified(made: Contract, table: str = "t") -> Contract:
    """The contract whose table stands alone, as it does in these databases."""
    return replace(made, datasets=tuple(replace(one, physical_name=table) for one in made.datasets))


def _named(report: Report, name: str) -> CheckResult:
    return next(one for one in report.results if one.check.title == name)


@pytest.mark.parametrize("place", ["duckdb", "sqlite"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.definition}-{CASES.index(case)}")
def test_a_definition_passes_and_fails_as_in_openmetadata(case: Case, place: str, put: Put, tmp_path: Path) -> None:
    """Each definition has the verdict of OpenMetadata on good rows, bad rows, no rows and rows of NULLs."""
    made = contract(tmp_path, case)
    found = {}
    for name, select in (("good", case.good), ("bad", case.bad), ("empty", EMPTY), ("nulls", NULLS)):
        folder_source = put(place, select)
        found[name] = verdict(made, folder_source)
        _remove(folder_source)
    expected = {"good": "passed", "bad": "failed", "empty": case.empty, "nulls": case.nulls}
    assert {name: one.status for name, one in found.items()} == expected, [one.description for one in found.values()]


def _remove(source: str) -> None:
    Path(source.partition(":///")[2]).unlink(missing_ok=True)


def test_every_definition_is_in_the_table() -> None:
    """All 25 definitions are tried, table_diff below since it needs two tables."""
    assert len(DEFINITIONS) == 25
    assert {case.definition for case in CASES} | {"tableDiff"} == set(DEFINITIONS)


@pytest.mark.service
def test_definitions_on_postgresql(put: Put, tmp_path: Path) -> None:
    """Median, standard deviation, regular expressions, moments and counted rows have the same verdicts there."""
    chosen = [case for case in CASES if case.definition in {
        "columnValueMedianToBeBetween", "columnValueStdDevToBeBetween", "columnValuesToNotMatchRegex",
        "tableRowInsertedCountToBeBetween", "tableCustomSQLQuery", "columnValuesToBeAtExpectedLocation",
    }]  # fmt: skip
    for number, case in enumerate(chosen):
        made = contract(tmp_path, case)
        results = []
        for letter, select in zip("abcd", (case.good, case.bad, EMPTY, NULLS), strict=True):
            table = f"t{number}{letter}"
            results.append(verdict(made, put("postgres", select, table), table))
        assert [one.status for one in results] == ["passed", "failed", case.empty, case.nulls], case


# --------------------------------------------------------------------------- two tables


def diff(folder: Path, source: str, **parameters: Any) -> dict[str, CheckResult]:
    """The results of a table diff with the table `u`, by the rule."""
    made = contract(folder, Case("tableDiff", "", {"table2": "u", **parameters}, "", ""), schema=False)
    report = check_contract(_unqualified(made), source=source, now=NOW)
    return {one.check.rule: one for one in report.results if one.check.rule.startswith("tableDiff")}


def two_tables(folder: Path, first: str, second: str) -> str:
    """A DuckDB file with tables `t` and `u`."""
    path = folder / "two.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS {first}")
        connection.execute(f"CREATE TABLE u AS {second}")
    return f"duckdb:///{path}"


ORDERS = "SELECT * FROM (VALUES (1, 'a', NULL), (2, 'b', 1), (2, 'b', 1)) x(id, w, n)"


@pytest.mark.parametrize(
    ("second", "parameters", "rows", "columns"),
    [
        (ORDERS, {}, 0, 0),
        (ORDERS.replace("'a'", "'z'"), {}, 2, 0),
        (ORDERS.replace(", (2, 'b', 1))", ")"), {}, 1, 0),
        (ORDERS.replace("'a'", "'z'"), {"keyColumns": '["id"]', "useColumns": '["n"]'}, 0, 0),
        (ORDERS.replace("'a'", "'z'"), {"where": "id > 1"}, 0, 0),
        (ORDERS.replace("x(id", "x(ID"), {}, 0, 0),
        (ORDERS.replace("x(id", "x(ID"), {"caseSensitiveColumns": "true"}, 0, 2),
        (ORDERS.replace("x(id", "x(key"), {"keyColumns": '["id"]', "table2.keyColumns": '["key"]'}, 0, 0),
        (f"SELECT *, 1 AS more FROM ({ORDERS})", {}, 0, 1),
        (f"SELECT id, w, n::VARCHAR AS n FROM ({ORDERS})", {}, 0, 1),
    ],
)
def test_a_table_diff_counts_rows_and_columns(
    second: str, parameters: dict[str, Any], rows: int, columns: int, tmp_path: Path
) -> None:
    """A row that is in only one table counts, a changed one twice; columns that differ are a check of their own."""
    found = diff(tmp_path, two_tables(tmp_path, ORDERS, second), **parameters)
    assert (found["tableDiff"].measured, found["tableDiffColumns"].measured) == (rows, columns)


def test_a_table_diff_tolerates_fewer_than_its_threshold(tmp_path: Path) -> None:
    """OpenMetadata compares with a strict less-than."""
    source = two_tables(tmp_path, ORDERS, ORDERS.replace("'a'", "'z'"))
    assert diff(tmp_path, source, threshold="2")["tableDiff"].status == "failed"
    assert diff(tmp_path, source, threshold="3")["tableDiff"].status == "passed"


def test_a_condition_of_a_table_diff_cannot_write(tmp_path: Path) -> None:
    """A `where` that is more than a condition makes the check errored."""
    source = two_tables(tmp_path, ORDERS, ORDERS)
    for where in ("1=1); DROP TABLE t; --", "id IN (SELECT 1 FROM read_csv('/etc/passwd'))"):
        assert diff(tmp_path, source, where=where)["tableDiff"].status == "errored"


# --------------------------------------------------------------------------- tolerances, surprises, definitions


@pytest.mark.parametrize(
    ("definition", "parameters", "status"),
    [
        ("columnValuesToBeNotNull", {"threshold": "1"}, "passed"),
        ("columnValuesToBeNotNull", {"threshold": "24", "thresholdUnit": "PERCENTAGE"}, "failed"),
        ("columnValuesToBeNotNull", {"threshold": "25", "thresholdUnit": "PERCENTAGE"}, "passed"),
        ("columnValuesToBeUnique", {"threshold": "1"}, "failed"),
        ("columnValuesToBeUnique", {"threshold": "2"}, "passed"),
    ],
)
def test_failures_are_tolerated_up_to_the_threshold(
    definition: str, parameters: dict[str, str], status: str, put: Put, tmp_path: Path
) -> None:
    """A threshold is a number of failing rows or a share of all rows, itself included."""
    made = contract(tmp_path, Case(definition, "a", parameters, "", ""))
    assert verdict(made, put("duckdb", rows("1", "1", "2", "NULL"))).status == status


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (Case("columnValuesToBeInSet", "w", {"allowedValues": '["x"]'}, "", ""), "as soon as one row"),
        (Case("columnValuesMissingCount", "w", {"missingCountValue": "3"}, "", ""), "fewer fail as well"),
        (Case("tableColumnToMatchSet", "", {"columnNames": "a", "ordered": "false"}, "", ""), "for true"),
        (Case("tableDiff", "", {"table2": "s.d.p.u", "threshold": "3"}, "", ""), "not with 3"),
    ],
    ids=lambda one: one.definition if isinstance(one, Case) else "",
)
def test_a_rule_that_surprises_is_told(case: Case, words: str, tmp_path: Path) -> None:
    """Where OpenMetadata's rule is not what its name promises, a warning says so at the test case."""
    (problem,) = contract(tmp_path, case).problems
    assert words in problem.message
    assert (problem.level, problem.location.file) == ("warning", str(tmp_path / "c.tests.yaml"))


def user_defined(sql: str, kind: str = "COLUMN", **more: Any) -> dict[str, Any]:
    """A side file's definition of a user's own."""
    return {"testDefinitions": [{"name": "mine", "entityType": kind, "sqlExpression": sql, **more}]}


@pytest.mark.parametrize(
    ("sql", "parameters", "status"),
    [
        ("SELECT * FROM {{ table_name }} WHERE {{ column_name }} > {{ limit }}", {"limit": "2"}, "passed"),
        ("SELECT * FROM {{ table_name }} WHERE {{column_name}} > {{ limit }}", {"limit": "1"}, "failed"),
        ("SELECT 1 FROM {{ table_name }} WHERE w = '{{ word }}'", {"word": "x' OR '1' = '1"}, "passed"),
        ("SELECT 1 FROM {{ table_name }} WHERE w = {{ word }}", {"word": "1; DROP TABLE t"}, "passed"),
        ("DELETE FROM {{ table_name }}", {}, "errored"),
    ],
)
def test_a_definition_of_the_user_passes_when_its_query_finds_nothing(
    sql: str, parameters: dict[str, str], status: str, put: Put, tmp_path: Path
) -> None:
    """A template names the table, the column and parameters; a parameter is a value, never SQL."""
    made = contract(tmp_path, Case("mine", "a", parameters, "", ""), side=user_defined(sql))
    assert verdict(made, put("duckdb", rows("1", "2"))).status == status


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT {{ missing }} FROM {{ table_name }}", "no value for"),
        ("SELECT {{ ''.__class__.__mro__ }} FROM t", "only a name"),
        ("SELECT 1 {% for x in range(9) %} {% endfor %}", "only a name"),
        ("SELECT {{ table_name | upper }}", "only a name"),
    ],
)
def test_a_template_can_do_nothing_but_name(sql: str, words: str, tmp_path: Path) -> None:
    """Attributes, filters, loops and unknown names leave the test unchecked, with the reason."""
    made = contract(tmp_path, Case("mine", "a", {}, "", ""), side=user_defined(sql))
    (clause,) = made.datasets[0].not_checked
    assert words in clause.reason


def test_a_required_parameter_has_to_be_there(tmp_path: Path) -> None:
    """A definition says which parameters a test case must give."""
    parameter = {"name": "limit", "dataType": "INT", "required": True}
    side = user_defined("SELECT 1 FROM {{ table_name }}", "TABLE", parameterDefinition=[parameter])
    made = contract(tmp_path, Case("mine", "", {}, "", ""), side=side)
    assert "it has no limit" in made.datasets[0].not_checked[0].reason


# --------------------------------------------------------------------------- the side file


def test_only_the_tests_that_the_contract_names_count(tmp_path: Path) -> None:
    """A test case of the side file that the contract does not refer to is not checked, and that is said."""
    contract(tmp_path, CASES[0], CASES[1])
    file = tmp_path / "c.yaml"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["qualityExpectations"].pop()
    file.write_text(json.dumps(document), encoding="utf-8")
    dataset = dialects.load(file).datasets[0]
    assert [one.name for one in dataset.expectations] == ["case_0"]
    assert ["does not name" in one.reason for one in dataset.not_checked] == [True]
    del document["qualityExpectations"]
    file.write_text(json.dumps(document), encoding="utf-8")
    assert [one.name for one in dialects.load(file).datasets[0].expectations] == ["case_0", "case_1"]


def test_a_side_file_is_no_contract(tmp_path: Path) -> None:
    """A folder's side files are read with their contracts; one without a contract is reported."""
    contract(tmp_path, CASES[0])
    assert [len(part) for part in vars(dialects.load_directory(tmp_path)).values()][:2] == [1, 0]
    (tmp_path / "c.yaml").unlink()
    (error,) = dialects.load_directory(tmp_path).broken
    assert "has to stand beside it" in str(error)


def test_a_test_of_another_table_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    """A link to another asset leaves the test unchecked."""
    link = {"entityLink": "<#E::table::s.d.p.other::columns::a>"}
    made = contract(tmp_path, replace(CASES[0], more=link))
    assert "another asset" in made.datasets[0].not_checked[0].reason


def test_a_location_without_places_is_not_checked(tmp_path: Path) -> None:
    """Where places are is the user's to say."""
    case = next(one for one in CASES if one.definition == "columnValuesToBeAtExpectedLocation")
    made = contract(tmp_path, case, side={"locations": {}})
    assert "where places are is not known" in made.datasets[0].not_checked[0].reason
