"""Results → what Dagster shows of them: few entries, small, and a number to plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    MetadataValue,
    TableColumn,
    TableRecord,
    TableSchema,
)

from contract_checks.checks import Check
from contract_checks.dagster_defs.columns import found_schema
from contract_checks.dagster_defs.translator import fenced, place
from contract_checks.model import Contract
from contract_checks.results import CheckResult, DatasetReport, json_value, score_of, status_of

MAX_BYTES = 4096
"""About what the metadata of one result may take: Dagster stores it twice for each evaluation."""

_MAX_SQL = 1200
_MAX_TEXT = 1000
_MAX_CELL = 80
_MAX_ROWS = 25
_EXACT = 2**53


def check_result(result: CheckResult, spec: AssetCheckSpec, file: str) -> AssetCheckResult:
    """The verdict as Dagster takes it, which knows pass and fail only.

    An errored check fails with "Could not evaluate", a skipped one passes with "Skipped"; both carry their
    `outcome`, so that neither is taken for a verdict on the data.
    """
    return AssetCheckResult(
        passed=result.status in ("passed", "skipped"),
        asset_key=spec.asset_key,
        check_name=spec.name,
        severity=severity(result),
        description=_cut(sentence(result), _MAX_TEXT),
        metadata=result_metadata(result, file),
    )


def severity(result: CheckResult) -> AssetCheckSeverity:
    """ERROR for checks of severity error; a warning, and a check that did not apply, is WARN."""
    if result.status == "skipped" or result.check.severity == "warning":
        return AssetCheckSeverity.WARN
    return AssetCheckSeverity.ERROR


def sentence(result: CheckResult) -> str:
    """The description of a result, beginning with its outcome where it is not a verdict."""
    prefix = {"errored": "Could not evaluate: ", "skipped": "Skipped: "}.get(result.status, "")
    text = result.description
    return text if text.lower().startswith(prefix.strip(" :").lower()) else prefix + text


def result_metadata(result: CheckResult, file: str) -> dict[str, Any]:
    """The measured number, what was expected, rows, offenders and the SQL, within `MAX_BYTES`."""
    check = result.check
    metadata: dict[str, Any] = {"contract": place(file, check.location)}
    if check.expected:
        metadata["expected"] = _cut(check.expected, 300)
    if result.status in ("errored", "skipped"):
        metadata["outcome"] = result.status
    else:
        metadata["answered_by"] = result.answered_by
    if result.measured is not None:
        metadata["measured"] = number_or_text(result.measured)
    if result.rows is not None:
        metadata["rows"] = number_or_text(result.rows)
    if result.scope:
        metadata["scope"] = _cut(result.scope, 200)
    if result.notes:
        metadata["notes"] = _cut(" ".join(result.notes), 500)
    if result.sql:
        metadata["sql"] = MetadataValue.md(fenced(_cut(result.sql, _MAX_SQL), "sql"))
    room = MAX_BYTES - sum(len(key) + len(str(value).encode()) for key, value in metadata.items())
    if result.details:
        wrong_first = sorted(result.details, key=lambda one: one.ok)
        rows = [(one.column, one.expected, one.found, "ok" if one.ok else "broken") for one in wrong_first]
        metadata["columns"] = table(("column", "expected", "found", "verdict"), rows, room)
    if result.sample is not None and result.sample.rows:
        metadata["offenders"] = table(result.sample.columns, result.sample.rows, room)
    return metadata


def number_or_text(value: Any) -> MetadataValue[Any]:
    """A number that Dagster can plot, where it holds it exactly; any other value as text."""
    plain = json_value(value)
    if isinstance(plain, bool) or plain is None:
        return MetadataValue.text(str(plain).lower())
    if isinstance(plain, int):
        return MetadataValue.int(plain) if abs(plain) <= _EXACT else MetadataValue.text(str(plain))
    if isinstance(plain, float):
        return MetadataValue.float(plain)
    return MetadataValue.text(_cut(str(plain), 300))


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], room: int) -> MetadataValue[Any]:
    """As many rows as fit into `room` bytes (at least one); the last line says how many were left out."""
    names = _distinct(columns)
    # A column of the schema is stored with its type and constraints: some 120 bytes each.
    left = room - 120 * len(names)
    records: list[TableRecord] = []
    for row in rows[:_MAX_ROWS]:
        record = {name: _cell(value) for name, value in zip(names, row, strict=True)}
        left -= len(json.dumps(record))
        if left < 0 and records:
            break
        records.append(TableRecord(record))
    if len(records) < len(rows) and names:
        more = dict.fromkeys(names, "") | {names[0]: f"… and {len(rows) - len(records)} more"}
        records.append(TableRecord(more))
    return MetadataValue.table(records=records, schema=TableSchema(columns=[TableColumn(name) for name in names]))


def _distinct(columns: Sequence[str]) -> list[str]:
    names: list[str] = []
    for column in columns:
        names.append(column if column not in names else f"{column} ({len(names) + 1})")
    return names


def _cell(value: Any) -> str | int | float | bool | None:
    plain = json_value(value)
    if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) > _EXACT:
        return str(plain)
    if isinstance(plain, bool | int | float) or plain is None:
        return plain
    return _cut(str(plain), _MAX_CELL)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


# --------------------------------------------------------------------------- the dataset as a whole


def asset_metadata(contract: Contract, report: DatasetReport, partitions: Sequence[str] = ()) -> dict[str, Any]:
    """What a materialization (or the observation in its place) says of the data, or of the `partitions` meant."""
    score = score_of(report.results)
    metadata: dict[str, Any] = {
        "contract/status": status_of(report.results),
        "contract/summary": MetadataValue.md(summary(report)),
        "contract/failed": sum(result.status == "failed" for result in report.results),
    }
    if contract.version:
        metadata["contract/version"] = contract.version
    if score is not None:
        metadata["contract/score"] = score
    if report.row_count is not None and len(partitions) < 2:
        metadata["dagster/partition_row_count" if partitions else "dagster/row_count"] = MetadataValue.int(
            report.row_count
        )
    if report.files_read is not None:
        metadata["contract/files_read"] = "{:,} of {:,}".format(*report.files_read)
    if report.columns:
        metadata["dagster/column_schema"] = found_schema(report.plan.dataset, report.columns)
    return metadata


def summary(report: DatasetReport) -> str:
    """The report in Markdown: status and score, a line per section, and each promise that was not kept."""
    results = report.results
    score = score_of(results)
    words = [f"**{status_of(results).replace('_', ' ')}**"]
    if score is not None:
        evaluated = sum(result.status in ("passed", "failed") for result in results)
        passed = sum(result.status == "passed" for result in results)
        words.append(f"score {score:.3g} ({passed} of {evaluated} passed)")
    if report.row_count is not None:
        words.append(f"{report.row_count:,} row{'' if report.row_count == 1 else 's'}")
    lines = [" · ".join(words), ""]
    # What did not happen has no column: the page cuts tables that are wide.
    happened = {_outcome(result) for result in results} | {"passed", "failed"}
    outcomes = [word for word in _OUTCOMES if word in happened]
    lines += [f"| section | {' | '.join(outcomes)} |", f"|---|{'---:|' * len(outcomes)}"]
    for section in ("schema", "semantics", "quality", "sla"):
        of_section = [result for result in results if result.check.section == section]
        if of_section:
            counts = [sum(_outcome(result) == word for result in of_section) for word in outcomes]
            lines.append(f"| {section} | {' | '.join(map(str, counts))} |")
    broken = [result for result in results if result.status in ("failed", "errored")]
    if broken:
        lines += ["", *(f"- `{one.check.name}` ({_outcome(one)}): {_one_line(sentence(one))}" for one in broken[:20])]
        if len(broken) > 20:
            lines.append(f"- … and {len(broken) - 20} more")
    if report.plan.not_checked:
        count = len(report.plan.not_checked)
        lines += ["", f"{count} clause{'s are' if count > 1 else ' is'} not checked:", ""]
        lines += [f"- {_one_line(one.reason)}" for one in report.plan.not_checked[:_NOT_CHECKED]]
        if count > _NOT_CHECKED:
            lines.append(f"- … and {count - _NOT_CHECKED} more")
    return "\n".join(lines)


_NOT_CHECKED = 5
_OUTCOMES = ("passed", "failed", "warned", "errored", "skipped")


def _outcome(result: CheckResult) -> str:
    return "warned" if result.status == "failed" and result.check.severity == "warning" else result.status


def broken_promises(results: Sequence[CheckResult]) -> str:
    """The results as one line of a log: names and what was found, ten at most."""
    named = "; ".join(f"{one.check.name} ({_one_line(sentence(one))})" for one in results[:10])
    return named if len(results) <= 10 else f"{named}; and {len(results) - 10} more"


def promises(checks: Sequence[Check] | Sequence[CheckResult], word: str = "promise") -> str:
    """`1 promise`, `3 promises`."""
    return f"{len(checks)} {word}{'' if len(checks) == 1 else 's'}"


def _one_line(text: str) -> str:
    return _cut(" ".join(text.split()), 200)
