"""What Dagster stores of a result."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import dagster as dg
import pytest
from dagster import serialize_value
from pipelines import ORDERS, only_plan, orders_contract

from contract_checks.dagster_defs.metadata import MAX_BYTES, check_result, number_or_text, result_metadata, summary
from contract_checks.metrics import Sample
from contract_checks.model import NotChecked
from contract_checks.results import CheckResult, DatasetReport, Detail

PLAN = only_plan(orders_contract())
(ROW_COUNT,) = PLAN.select(["quality__row_count"])
FILE = "contracts/orders.yaml"


def result(**more: Any) -> CheckResult:
    return CheckResult(**({"check": ROW_COUNT, "status": "failed", "description": "3 rows, expected ≥ 5"} | more))


@pytest.mark.parametrize(
    ("value", "entry"),
    [
        (3, dg.MetadataValue.int(3)),
        (Decimal(3), dg.MetadataValue.int(3)),
        (0.5, dg.MetadataValue.float(0.5)),
        (Decimal("0.25"), dg.MetadataValue.float(0.25)),
        (Decimal("0.1234567890123456789"), dg.MetadataValue.text("0.1234567890123456789")),
        (2**53 + 1, dg.MetadataValue.text("9007199254740993")),
        (True, dg.MetadataValue.text("true")),
        (float("nan"), dg.MetadataValue.text("nan")),
        (date(2025, 1, 1), dg.MetadataValue.text("2025-01-01")),
    ],
)
def test_a_number_is_plotted_where_it_is_exact(value: Any, entry: Any) -> None:
    """A number that Dagster would round is text; so is everything that is no number."""
    assert number_or_text(value) == entry


@pytest.mark.parametrize(
    ("status", "passed", "severity", "words"),
    [
        ("passed", True, "ERROR", "3 rows, expected ≥ 5"),
        ("failed", False, "ERROR", "3 rows, expected ≥ 5"),
        ("errored", False, "ERROR", "Could not evaluate: 3 rows, expected ≥ 5"),
        ("skipped", True, "WARN", "Skipped: 3 rows, expected ≥ 5"),
    ],
)
def test_each_outcome_is_told_apart(status: Any, passed: bool, severity: str, words: str) -> None:
    """Dagster knows pass and fail; the description and `outcome` tell what was no verdict."""
    spec = dg.AssetCheckSpec("quality__row_count", asset=ORDERS)
    found = check_result(result(status=status), spec, FILE)

    assert (found.passed, found.severity.value, found.description) == (passed, severity, words)
    assert ("outcome" in found.metadata) == (status in ("errored", "skipped"))


def test_a_result_leads_to_its_line() -> None:
    """The metadata has what was measured, what was expected and where that is written."""
    metadata = result_metadata(result(measured=3, rows=3), FILE)

    assert metadata["contract"] == "contracts/orders.yaml:9"
    assert metadata["expected"] == "≥ 5"
    assert metadata["measured"].value == 3


def test_offenders_are_a_table() -> None:
    """A sample of offending rows is a table with every kind of value in it."""
    sample = Sample(("id", "day", "amount"), ((1, date(2025, 1, 1), Decimal("1.50")), (2**60, None, float("nan"))))
    table = result_metadata(result(sample=sample), FILE)["offenders"]

    assert [record.data for record in table.records] == [
        {"id": 1, "day": "2025-01-01", "amount": 1.5},
        {"id": str(2**60), "day": None, "amount": "nan"},
    ]


def test_the_wrong_columns_come_first() -> None:
    """In the table of a schema check the columns that are wrong are above those that are right."""
    details = (Detail("a", "string", "string", True), Detail("b", "integer", "string", False))
    table = result_metadata(result(details=details), FILE)["columns"]

    assert [record.data["column"] for record in table.records] == ["b", "a"]


@pytest.mark.parametrize("rows", [1, 25, 1000])
def test_metadata_stays_small(rows: int) -> None:
    """However wide the table and long the SQL, what is stored stays near the limit, and says what is missing."""
    columns = tuple(f"column_{number}" for number in range(12))
    sample = Sample(columns, tuple(tuple("x" * 500 for _ in columns) for _ in range(rows)))
    huge = result(sample=sample, sql="SELECT " + "x" * 10_000, description="y" * 10_000)
    metadata = result_metadata(huge, FILE)
    stored = sum(len(serialize_value(dg.MetadataValue.text(str(value)))) for key, value in metadata.items())

    assert stored < 4 * MAX_BYTES
    last = metadata["offenders"].records[-1].data["column_0"]
    assert rows == 1 or "more" in last


def test_a_wide_schema_check_is_cut() -> None:
    """A schema check of a thousand columns shows the wrong ones and how many there are besides."""
    details = tuple(Detail(f"column_{number}", "string", "string", number != 700) for number in range(1000))
    table = result_metadata(result(details=details), FILE)["columns"]

    assert table.records[0].data["column"] == "column_700"
    assert "more" in table.records[-1].data["column"]
    assert len(json.dumps([record.data for record in table.records])) < MAX_BYTES


def test_a_summary_counts_by_section_and_names_what_is_broken() -> None:
    """The summary has the status, a line per section with what happened, and each promise that was not kept."""
    results = [CheckResult(check, "passed", "") for check in PLAN.checks]
    results = [
        replace(one, status="failed", description="1 row, expected ≥ 5") if one.check is ROW_COUNT else one
        for one in results
    ]
    text = summary(DatasetReport(PLAN, tuple(results), row_count=1))

    assert text.startswith("**partially violated** · score 0.75 (3 of 4 passed) · 1 row\n")
    assert "| section | passed | failed |\n|---|---:|---:|\n" in text
    assert "| schema | 3 | 0 |" in text
    assert "| quality | 0 | 1 |" in text
    assert "- `quality__row_count` (failed): 1 row, expected ≥ 5" in text


def test_a_summary_says_what_is_not_checked() -> None:
    """The summary counts the clauses that nobody evaluates and names the first of them with their reasons."""
    clauses = tuple(NotChecked(ROW_COUNT.location, f"reason {number}") for number in range(7))
    results = tuple(CheckResult(check, "passed", "") for check in PLAN.checks)
    text = summary(DatasetReport(replace(PLAN, not_checked=clauses), results))

    assert "7 clauses are not checked:\n\n- reason 0\n" in text
    assert text.endswith("- reason 4\n- … and 2 more")
