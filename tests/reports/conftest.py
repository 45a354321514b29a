"""A report made by hand: no database, every kind of outcome."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from contract_checks.checks import NONE_ALLOWED, Check, DatasetPlan, Plan
from contract_checks.errors import Location
from contract_checks.metrics import NotNull, Sample, Violations
from contract_checks.model import Contract, Dataset, Documented, NotChecked
from contract_checks.results import CheckResult, DatasetReport, Detail, Report

FILE = "contracts/orders.odcs.yaml"


def check(name: str, line: int = 7, **changes: object) -> Check:
    """A check that promises no NULL."""
    plain = Check(
        name=name,
        dataset="orders",
        section="schema",
        rule="required",
        judgement=NONE_ALLOWED,
        metrics=(Violations(("id",), NotNull()),),
        expected="no null values",
        location=Location(FILE, line, "$.schema[0].properties[0].required"),
        column="id",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


RESULTS = (
    CheckResult(check("schema__id__required"), "passed", "no null values in 1,000 rows", 0),
    CheckResult(
        check("schema__note__required", 9),
        "failed",
        "3 null values in 1,000 rows, expected 0",
        3,
        3,
        sample=Sample(("id", "note"), ((1, None), (Decimal("2.50"), "a"))),
    ),
    CheckResult(check("quality__rare", 11, severity="warning"), "failed", "2 rows, expected 0", 2, 2),
    CheckResult(check("quality__broken", 13), "errored", "could not be evaluated: no such column"),
    CheckResult(check("quality__absent", 15), "skipped", "the column is not there"),
    CheckResult(
        check("schema__types", 3),
        "failed",
        "1 of 2 columns has another type",
        details=(Detail("id", "integer", "INTEGER", True), Detail("note", "string", "BLOB", False)),
    ),
)


def report_of(*results: CheckResult) -> Report:
    """A report of those results."""
    place = Location(FILE, 2, "$.schema[0]")
    dataset = Dataset("orders", "orders", ("orders",), place)
    contract = Contract("orders-contract", "orders", "odcs", Location(FILE, 1), "1.2.0", datasets=(dataset,))
    plan = DatasetPlan(
        dataset,
        tuple(result.check for result in results),
        (NotChecked(Location(FILE, 20, "$.slaProperties[0]"), "nobody can measure it"),),
        (Documented(place, "Purpose", "To sell."),),
    )
    return Report(Plan(contract, (plan,)), (DatasetReport(plan, results, row_count=1000),), "duckdb:///orders.duckdb")


@pytest.fixture
def report() -> Report:
    """A report with every kind of outcome."""
    return report_of(*RESULTS)
