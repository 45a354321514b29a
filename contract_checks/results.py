"""Plan and Measurements → CheckResults, a Report, a status and a score.

Four outcomes, never mixed up: `passed` and `failed` were evaluated; `errored` could not be (the reason
says why); `skipped` did not apply. Nothing here talks to a database.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

from contract_checks.checks import Check, DatasetPlan, Plan
from contract_checks.metrics import FoundColumn, Sample, Scalar

CheckStatus = Literal["passed", "failed", "errored", "skipped"]
ContractStatus = Literal["compliant", "partially_violated", "violated", "not_evaluated"]


@dataclass(frozen=True)
class Detail:
    """One line of the table of a schema check: a column, what was promised, what is there."""

    column: str
    expected: str
    found: str
    ok: bool


@dataclass(frozen=True)
class CheckResult:
    """The verdict on one check, explaining itself.

    `measured` is the one number (or value) that was compared, `rows` the rows involved, `description` a
    sentence with both. `sql` reproduces the measurement. `details` is the table of a schema check,
    `sample` a few offending rows, masked. `answered_by` is the tier that gave the number (see `metrics.Tier`).
    `scope` says which rows were looked at where only a part of the
    table was asked for (`partition 2024-01-05`, `whole table`).
    """

    check: Check
    status: CheckStatus
    description: str
    measured: Scalar = None
    rows: int | None = None
    details: tuple[Detail, ...] = ()
    sample: Sample | None = None
    sql: str | None = None
    answered_by: str = "scan"
    notes: tuple[str, ...] = ()
    scope: str = ""

    @property
    def blocks(self) -> bool:
        """Whether the result stands in the way: a failed or errored check of severity error."""
        return self.check.severity == "error" and self.status in ("failed", "errored")


@dataclass(frozen=True)
class DatasetReport:
    """The results of one dataset. `row_count` is known when some check needed it.

    `files_read` is how many files were read to measure, of how many, where measurements of files are kept.
    """

    plan: DatasetPlan
    results: tuple[CheckResult, ...]
    row_count: int | None = None
    columns: tuple[FoundColumn, ...] = ()
    statements: tuple[str, ...] = ()
    files_read: tuple[int, int] | None = None
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self.plan.dataset.name


@dataclass(frozen=True)
class Report:
    """The results of a contract."""

    plan: Plan
    datasets: tuple[DatasetReport, ...]
    source: str = ""

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """The results of all datasets."""
        return tuple(result for dataset in self.datasets for result in dataset.results)

    @property
    def status(self) -> ContractStatus:
        """`compliant`, `partially_violated`, `violated` or `not_evaluated`; see `status_of`."""
        return status_of(self.results)

    @property
    def score(self) -> float | None:
        """The share of evaluated checks that passed, in 0..1; None when nothing was evaluated."""
        return score_of(self.results)

    @property
    def exit_code(self) -> int:
        """0 all passed (warnings allowed), 1 a check of severity error failed, 2 one could not be evaluated."""
        if self.status == "not_evaluated" or any(result.status == "errored" for result in self.results):
            return 2
        return (
            1 if any(result.status == "failed" and result.check.severity == "error" for result in self.results) else 0
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready values: the document that `contract-checks test --json` prints."""
        contract = self.plan.contract
        return {
            "contract": contract.id or contract.name,
            "name": contract.name,
            "version": contract.version,
            "file": contract.file,
            "source": self.source,
            "status": self.status,
            "score": self.score,
            "datasets": [dataset_dict(dataset) for dataset in self.datasets],
        }


def dataset_dict(report: DatasetReport) -> dict[str, Any]:
    """One dataset of a report as JSON-ready values."""
    return {
        "name": report.name,
        "row_count": report.row_count,
        "checks": [result_dict(result) for result in report.results],
        "not_checked": [
            {"path": clause.location.path, "line": clause.location.line, "reason": clause.reason}
            for clause in report.plan.not_checked
        ],
    }


def result_dict(result: CheckResult) -> dict[str, Any]:
    """One result as JSON-ready values."""
    check = result.check
    document: dict[str, Any] = {
        "name": check.name,
        "id": check.id,
        "section": check.section,
        "column": check.column,
        "rule": check.rule,
        "status": result.status,
        "severity": check.severity,
        "measured": json_value(result.measured),
        "expected": check.expected,
        "rows": result.rows,
        "description": result.description,
        "path": check.location.path,
        "line": check.location.line,
    }
    if result.details:
        document["details"] = [
            {"column": one.column, "expected": one.expected, "found": one.found, "ok": one.ok} for one in result.details
        ]
    if result.sample is not None:
        document["sample"] = [
            dict(zip(result.sample.columns, map(json_value, row), strict=True)) for row in result.sample.rows
        ]
    if result.status in ("passed", "failed"):
        document["answered_by"] = result.answered_by
    if result.sql:
        document["sql"] = result.sql
    if result.notes:
        document["notes"] = list(result.notes)
    if result.scope:
        document["scope"] = result.scope
    return document


def json_value(value: Any) -> Any:
    """A scalar as JSON has it: numbers stay numbers where JSON can hold them exactly, the rest is text."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            return str(value)
        if value == value.to_integral_value() and abs(value) < 10**18:
            return int(value)
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


# --------------------------------------------------------------------------- status and score


def status_of(results: Sequence[CheckResult]) -> ContractStatus:
    """What the results say of the contract.

    `compliant` when every check passed or did not apply, `violated` when every evaluated one failed,
    `partially_violated` in between, `not_evaluated` when no check was evaluated. Warnings alone make a
    contract partially violated at most.
    """
    evaluated = [result for result in results if result.status in ("passed", "failed")]
    errored = any(result.status == "errored" for result in results)
    failed = [result for result in evaluated if result.status == "failed"]
    if not evaluated:
        return "not_evaluated"
    if not failed:
        return "partially_violated" if errored else "compliant"
    everything = len(failed) == len(evaluated) and any(result.check.severity == "error" for result in failed)
    return "violated" if everything else "partially_violated"


def score_of(results: Sequence[CheckResult]) -> float | None:
    """Passed ÷ evaluated, or None when nothing was evaluated."""
    evaluated = [result for result in results if result.status in ("passed", "failed")]
    return sum(result.status == "passed" for result in evaluated) / len(evaluated) if evaluated else None
