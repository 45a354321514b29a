"""The test cases of another contract runner, datacontract-cli: the same contract and data, the same verdict per rule.

Where that runner is wrong, or judges something else, the difference is listed with its reason.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import told
from databases import SHARED, Postgres

from contract_checks.dialects import load
from contract_checks.results import CheckResult, DatasetReport, Report
from contract_checks.run import check_contract

FOLDER = SHARED / "corpus" / "peer-cases"
CASES = {case.name[:3]: case for case in sorted(FOLDER.iterdir()) if case.is_dir()} if FOLDER.is_dir() else {}

RULES: dict[str, tuple[str, ...]] = {
    "field_required": ("required",),
    "field_unique": ("unique", "primaryKey"),
    "field_min_length": ("minLength",),
    "field_max_length": ("maxLength",),
    "field_regex": ("pattern",),
    "field_minimum": ("minimum", "exclusiveMinimum"),
    "field_maximum": ("maximum", "exclusiveMaximum"),
    "field_null_values": ("nullValues",),
    "field_missing_values": ("missingValues",),
    "field_invalid_values": ("invalidValues",),
    "field_duplicate_values": ("duplicateValues",),
    "field_quality_sql": ("sql",),
    "model_quality_sql": ("sql",),
    "row_count": ("rowCount",),
    "servicelevel_freshness": ("freshness",),
    "servicelevel_retention": ("retention",),
}
"""Their types of checks and the rules that make the same check here."""

TABLES = {"field_is_present": "columns", "field_type": "types", "field_physical_type": "types"}
"""Their checks that are a line in the table of one check here."""

WORDS = {"passed": "passed", "failed": "failed", "warning": "failed", "error": "errored"}
"""Their words for a verdict; a warning is a failed check of severity warning. Others were not evaluated."""

NOT_ABOUT_DATA = ("lint", "general", "postgres-connection", "schema")
"""Their checks of options on the command line, of connections, and of records against a JSON Schema of theirs."""

Key = tuple[str, str]
"""Their type of check, and the column."""

DIFFERENCES: dict[tuple[str, str, str], tuple[list[str], str]] = {
    ("031", "servicelevel_retention", "order_id"): (["errored"], "they take an integer for nanoseconds since 1970"),
    ("032", "servicelevel_freshness", "order_id"): (["errored"], "they take an integer for nanoseconds since 1970"),
    ("038", "servicelevel_freshness", "order_id"): (["errored"], "they take an integer for nanoseconds since 1970"),
    ("054", "model_quality_sql", ""): (
        ["errored", "passed", "passed"],
        "an INSERT is no query; it says nothing about the data, so it is no failed promise",
    ),
    ("093", "field_type", "values"): (
        ["passed"],
        "the array is one; its items are not, which is said of values[], not of values",
    ),
    ("093", "field_type", "metadata"): (
        ["passed"],
        "the object is one; its fields are not, which is said of each of them",
    ),
    ("094", "field_physical_type", "field_three"): (["failed"], "a timestamptz is another type than timestamp"),
    ("097", "field_physical_type", "Field_three"): (["failed"], "a timestamptz is another type than timestamp"),
    ("101", "field_physical_type", "field_three"): (["failed"], "a timestamptz is another type than timestamp"),
    ("124", "row_count", ""): (["failed"], "they were told to count a part of the rows"),
    ("128", "row_count", ""): (["failed"], "they were told to count a part of the rows"),
    ("131", "row_count", ""): (["failed"], "they were given a filter that is no SQL"),
    ("132", "field_minimum", "population"): (["errored"], "a column that is not there has no values to pass"),
    ("132", "field_maximum", "population"): (["errored"], "a column that is not there has no values to pass"),
    ("136", "field_required", "population"): (["errored"], "a column that is not there is missing, not null"),
    ("136", "field_minimum", "population"): (["errored"], "a column that is not there has no values to pass"),
    ("136", "field_maximum", "population"): (["errored"], "a column that is not there has no values to pass"),
}
"""Where the verdict here is another one: by case, type of check and column; what it is, and why that is right."""

pytestmark = pytest.mark.skipif(not CASES, reason="the third-party test data is not here")


def _expected(case: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((case / "expected.json").read_text())
    return found


def _theirs(case: Path) -> dict[tuple[str, Key], list[str]]:
    """Their verdicts by table and by type of check and column."""
    found: dict[tuple[str, Key], list[str]] = defaultdict(list)
    for check in _expected(case)["checks"]:
        if check["result"] in WORDS and check["type"] not in NOT_ABOUT_DATA:
            found[check["model"], (check["type"], check["field"] or "")].append(WORDS[check["result"]])
    return {key: sorted(verdicts) for key, verdicts in found.items()}


def _ours(dataset: DatasetReport, kind: str, column: str) -> list[str]:
    if kind not in TABLES:
        about = [one for one in dataset.results if (one.check.column or "") == column]
        # A key that is also unique has two checks here, of one measurement.
        return sorted({one.check.metrics: one.status for one in about if one.check.rule in RULES[kind]}.values())
    lines = [line for one in dataset.results if one.check.rule == TABLES[kind] for line in one.details]
    return ["passed" if line.ok else "failed" for line in lines if line.column == column]


def _dataset(report: Report, table: str) -> DatasetReport:
    return next(one for one in report.datasets if table in (one.name, one.plan.dataset.physical_name))


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Callable[[Path], Report]:
    """A function that checks the data of a case."""

    def check(case: Path) -> Report:
        source = None
        if (case / "setup.sql").is_file():
            server: Postgres = request.getfixturevalue("postgres")
            database: str = request.getfixturevalue("postgres_database")
            dump = (case / "setup.sql").read_text().splitlines()
            with server.connect(database) as connection:
                connection.execute("\n".join(line for line in dump if not line.startswith("\\")))
            source = server.url(database)
        return check_contract(load(case / "contract.odcs.yaml"), server=_expected(case)["server"], source=source)

    return check


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=number, marks=[pytest.mark.service] if (case / "setup.sql").is_file() else [])
        for number, case in CASES.items()
    ],
)
def test_a_peers_case_gets_the_same_verdict_on_every_rule(case: Path, run: Callable[[Path], Report]) -> None:
    """Every rule that the peer judged gets its verdict here, or the one that the list of differences says."""
    theirs = _theirs(case)
    if not theirs:
        pytest.skip("nothing in this case was evaluated")
    report = run(case)
    for (table, (kind, column)), verdicts in theirs.items():
        expected, why = DIFFERENCES.get((case.name[:3], kind, column), (verdicts, "as they say"))
        found = _ours(_dataset(report, table), kind, column)
        assert found == expected, f"{kind} of {table}.{column} ({why})\n{told(report)}"


def test_a_failed_warning_is_a_warning(run: Callable[[Path], Report]) -> None:
    """Where the peer says `warning`, the check fails with severity warning and stands in nobody's way."""
    report = run(CASES["119"])
    failed = [one for one in report.results if one.status == "failed"]
    assert [(one.check.rule, one.check.severity) for one in failed] == [("invalidValues", "warning")]
    assert not any(one.blocks for one in failed)


def test_a_nested_type_is_told_of_the_field_that_has_it(run: Callable[[Path], Report]) -> None:
    """A wrong type inside an array or an object fails on the line of that item or field."""
    types: CheckResult = next(one for one in run(CASES["093"]).results if one.check.rule == "types")
    assert {line.column for line in types.details if not line.ok} == {"values[]", "metadata.name", "metadata.active"}


def test_every_difference_is_one() -> None:
    """No listed difference says what the peer says, and each names a verdict of the peer."""
    for (number, kind, column), (verdicts, _) in DIFFERENCES.items():
        theirs = [found for (_, key), found in _theirs(CASES[number]).items() if key == (kind, column)]
        assert theirs
        assert verdicts not in theirs
