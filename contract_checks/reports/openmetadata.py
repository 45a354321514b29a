"""Report → OpenMetadata's `DataContractResult`, as its `PUT /v1/dataContracts/{id}/results` takes it.

Source: `entity/datacontract/dataContractResult.json` (unchanged since 1.9) and how the server counts: columns in the
schema section, rules and tests in the others; a rule that does not apply counts as passed, a test that could not be
evaluated as failed.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from contract_checks.checks import TypesMatch, slug
from contract_checks.dialects.openmetadata_reading import join_name
from contract_checks.model import Contract, Section
from contract_checks.reports.interface import NotEvaluated, Printable
from contract_checks.reports.text import report_summary
from contract_checks.results import CheckResult, Report

ExecutionStatus = Literal["Running", "Success", "Failed", "PartialSuccess", "Aborted", "Queued"]
"""`type/contractExecutionStatus.json`."""

_NAMES = uuid.UUID("0c6c8e3b-6f3f-4a55-8f0a-0f5b6a9f2d11")
_LISTED = 10


def render_openmetadata(what: Printable | Sequence[Printable], width: int | None = None) -> str:
    """One result as an object, a sequence as a list. Raises `ValueError` for what is no result of a test."""
    document = _result(what) if isinstance(what, Printable) else [_result(one) for one in what]
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)


def _result(what: Printable) -> dict[str, Any]:
    if isinstance(what, Report):
        return contract_result(what)
    if isinstance(what, NotEvaluated):
        text = "; ".join(str(problem) for problem in what.problems)
        return _head(what.file, datetime.now(UTC), "Aborted", f"The contract cannot be used: {text}")
    raise ValueError("only the results of a test can be written for OpenMetadata")


def contract_result(
    report: Report,
    at: datetime | None = None,
    status: ExecutionStatus | None = None,
    incident: str | None = None,
) -> dict[str, Any]:
    """The `DataContractResult` of a report, as JSON-ready values.

    `at` is when it was made (default: now), `status` what is known of the run beyond its results, `incident` the
    id (a UUID) of an incident that it opened.
    """
    moment = at or datetime.now(UTC)
    result = _head(
        contract_name(report.plan.contract), moment, status or execution_status(report.results), _text(report)
    )
    sections = {
        "schemaValidation": _schema(report),
        "semanticsValidation": _semantics(_of(report, "semantics")),
        "qualityValidation": _quality(_of(report, "quality")),
        "slaValidation": _service_levels(_of(report, "sla")),
    }
    result |= {key: value for key, value in sections.items() if value}
    seconds = sum(dataset.seconds for dataset in report.datasets)
    if seconds:
        result["executionTime"] = round(seconds * 1000)
    return result | ({"incidentId": incident} if incident else {})


def contract_name(contract: Contract) -> str:
    """The full name that OpenMetadata gives a contract: that of its asset, and its own."""
    asset = join_name(contract.datasets[0].key) if contract.datasets else contract.id
    return f"{asset}.dataContract_{contract.name or contract.id}"


def execution_status(results: Sequence[CheckResult]) -> ExecutionStatus:
    """What a run came to: `Failed` if a promise is broken, or could not be evaluated while others could.

    `Aborted` when nothing was evaluated, `PartialSuccess` when only warnings failed.
    """
    evaluated = [one for one in results if one.status in ("passed", "failed")]
    if not evaluated:
        return "Aborted"
    if any(one.status == "errored" or (one.status == "failed" and one.check.severity == "error") for one in results):
        return "Failed"
    return "PartialSuccess" if any(one.status == "failed" for one in evaluated) else "Success"


def _head(name: str, moment: datetime, status: ExecutionStatus, text: str) -> dict[str, Any]:
    milliseconds = round(moment.timestamp() * 1000)
    return {
        "id": str(uuid.uuid5(_NAMES, f"{name} {milliseconds}")),
        "dataContractFQN": name,
        "timestamp": milliseconds,
        "contractExecutionStatus": status,
        "result": text,
    }


def _text(report: Report) -> str:
    broken = [one for one in report.results if one.status in ("failed", "errored")]
    lines = [f"{one.check.name}: {one.description}" for one in broken[:_LISTED]]
    more = [f"and {len(broken) - _LISTED} more"] if len(broken) > _LISTED else []
    return "\n".join([report_summary(report), *lines, *more])


def _of(report: Report, section: Section) -> list[CheckResult]:
    return [one for one in report.results if one.check.section == section]


def _is_kept(result: CheckResult) -> bool:
    return result.status in ("passed", "skipped")


def _counts(results: Sequence[CheckResult]) -> dict[str, Any]:
    passed = sum(map(_is_kept, results))
    return {"passed": passed, "failed": len(results) - passed, "total": len(results)}


# --------------------------------------------------------------------------- sections


def _schema(report: Report) -> dict[str, Any]:
    """Columns that break a promise of the schema, and those of another type, which count if that is an error."""
    results = _of(report, "schema")
    if not results:
        return {}
    failed: dict[str, None] = {}
    mismatched: dict[str, bool] = {}
    for one in results:
        if _is_kept(one):
            continue
        if isinstance(one.check.judgement, TypesMatch) and one.details:
            for detail in one.details:
                if not detail.ok:
                    text = f"{detail.column}: expected {detail.expected}, got {detail.found}"
                    mismatched[text] = one.check.severity == "error"
        elif one.details:
            failed |= dict.fromkeys(detail.column for detail in one.details if not detail.ok)
        else:
            failed[one.check.column or one.check.rule] = None
    total = sum(not column.virtual for dataset in report.datasets for column in dataset.plan.dataset.columns)
    counted = {*failed, *(text.partition(": ")[0] for text, counts in mismatched.items() if counts)}
    wrong = len({name.partition(".")[0].partition("[")[0] for name in counted})
    return {
        "passed": max(0, total - wrong),
        "failed": wrong,
        "total": total,
        "failedFields": list(failed),
        "duplicateFields": [],  # a contract that lists a column twice is refused
        "typeMismatchFields": list(mismatched),
    }


def _semantics(results: Sequence[CheckResult]) -> dict[str, Any]:
    if not results:
        return {}
    failed = [one for one in results if not _is_kept(one)]
    named = [{"ruleName": one.check.title or one.check.rule, "reason": one.description} for one in failed]
    return {**_counts(results), "failedRules": named}


def _quality(results: Sequence[CheckResult]) -> dict[str, Any]:
    if not results:
        return {}
    counts = _counts(results)
    return {**counts, "qualityScore": 100 * counts["passed"] / counts["total"]}


def _service_levels(results: Sequence[CheckResult]) -> dict[str, Any]:
    """Whether each level was met; one that was not evaluated is left out."""
    found: dict[str, Any] = {}
    for key, rules in _LEVELS.items():
        own = _evaluated(results, rules)
        if own:
            found[key] = all(one.status == "passed" for one in own)
    late = [one.measured for one in _evaluated(results, _LEVELS["latencyMet"]) if isinstance(one.measured, int)]
    return found | ({"actualLatency": max(late) * 1000} if late else {})


_LEVELS: dict[str, tuple[str, ...]] = {
    "refreshFrequencyMet": ("refresh_frequency", "freshness", "frequency"),
    "latencyMet": ("max_latency", "latency"),
    "availabilityMet": ("availability_time", "time_of_availability"),
}


def _evaluated(results: Iterable[CheckResult], rules: Sequence[str]) -> list[CheckResult]:
    return [one for one in results if slug(one.check.rule) in rules and one.status in ("passed", "failed")]
