"""The parts of a table that a run is about, evaluated one by one where a promise is made to each of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dagster import AssetCheckExecutionContext, AssetExecutionContext, DagsterInstance

from contract_checks.checks import NONE_ALLOWED, Check, DatasetPlan
from contract_checks.dagster_defs.partitions import Partitioned, PartitionError, label
from contract_checks.metrics import Columns, DuplicateKeys, OrphanKeys, RowFilter, UnparsedValues, Violations
from contract_checks.model import AgeLimit
from contract_checks.results import CheckResult, DatasetReport
from contract_checks.run import WHOLE_TABLE, errored_report

Evaluate: TypeAlias = Callable[[Collection[str], RowFilter | None], DatasetReport]
"""Evaluates checks of these names on a part of the table, or on the whole."""

_EACH = (Violations, UnparsedValues, DuplicateKeys, OrphanKeys, Columns)
_WORST = ("errored", "failed", "passed", "skipped")
_LISTED = 8


@dataclass(frozen=True)
class RunParts:
    """What a run is about: `keys` of the asset's partitions, or all of its table where there are none.

    `unasked` is the partition of a run that was not asked for, because nobody said how the asset is
    partitioned; results then say that they are about the whole table.
    """

    partitioned: Partitioned | None = None
    keys: tuple[str, ...] = ()
    unasked: bool = False
    instance: DagsterInstance | None = None

    @property
    def whole(self) -> bool:
        """Whether results have to say that they are about the whole table."""
        return (self.partitioned is not None and not self.keys) or self.unasked


WHOLE = RunParts()
"""All of a table that has no partitions."""


def parts_of(
    context: AssetExecutionContext | AssetCheckExecutionContext, partitioned: Partitioned | None, known: bool
) -> RunParts:
    """What a run is about. `known` says that an asset without `partitioned` is known to have no partitions."""
    step = context.op_execution_context
    there = step.has_partition_key or step.has_partition_key_range
    if partitioned is None:
        return RunParts(unasked=there and not known)
    return RunParts(partitioned, tuple(step.partition_keys) if there else (), instance=context.instance)


def evaluate_parts(plan: DatasetPlan, checks: Collection[str], parts: RunParts, evaluate: Evaluate) -> DatasetReport:
    """The checks on what a run is about.

    Of several partitions a promise about every row or key is evaluated at once; any other (a row count, a
    share, a query) is made to each partition, and the worst of their results is the result.
    """
    if parts.partitioned is None or not parts.keys:
        report = evaluate(checks, None)
        return _of_the_whole(report) if parts.whole else report
    try:
        single = [parts.partitioned.rows([key], parts.instance) for key in parts.keys]
        together = _together(parts)
    except PartitionError as error:
        return errored_report(plan, f"the rows of {label(parts.keys)} are not known: {error}", checks)
    if len(single) == 1:
        return evaluate(checks, single[0])
    selected = plan.select(checks)
    at_once = {check.name for check in selected if together is not None and _of_every_row(check)}
    one_by_one = {check.name for check in selected} - at_once
    reports = [evaluate(at_once, together)] if at_once else []
    by_part = [evaluate(one_by_one, rows) for rows in single] if one_by_one else []
    results = {one.check.name: one for report in reports for one in report.results}
    for name in one_by_one:
        results[name] = _worst([_named(report, name) for report in by_part], parts.keys)
    return _joined(plan, selected, results, [*reports, *by_part], bool(by_part))


def _together(parts: RunParts) -> RowFilter | None:
    assert parts.partitioned is not None
    try:
        return parts.partitioned.rows(parts.keys, parts.instance)
    except PartitionError:
        return None  # no one part of the table; then one by one


def _of_every_row(check: Check) -> bool:
    """Whether a promise holds for several partitions exactly where it holds for each of them."""
    if isinstance(check.judgement, AgeLimit):
        return True  # of the whole table either way
    none_allowed = check.judgement == NONE_ALLOWED or all(
        isinstance(one, Columns | UnparsedValues) for one in check.metrics
    )
    return none_allowed and all(isinstance(metric, _EACH) for metric in check.metrics)


def _named(report: DatasetReport, name: str) -> CheckResult:
    return next(one for one in report.results if one.check.name == name)


def _worst(results: Sequence[CheckResult], keys: Sequence[str]) -> CheckResult:
    """The result that speaks for all: the first of the worst, with the partitions it is like."""
    worst = min(results, key=lambda one: _WORST.index(one.status))
    alike = [key for one, key in zip(results, keys, strict=True) if one.status == worst.status]
    if worst.scope == WHOLE_TABLE or len({(one.status, one.description) for one in results}) == 1:
        return worst
    scope = f"each of {len(keys)} partitions, {label(keys).removeprefix('partitions ')}"
    if worst.status in ("passed", "skipped"):
        return replace(
            worst, scope=scope, description=f"{len(alike)} of {len(keys)} partitions, first: {worst.description}"
        )
    more = f" and {len(alike) - _LISTED} more" if len(alike) > _LISTED else ""
    return replace(
        worst,
        scope=scope,
        description=f"{len(alike)} of {len(keys)} partitions, first: {worst.description}",
        notes=(*worst.notes, f"{worst.status} in {', '.join(alike[:_LISTED])}{more}."),
    )


def _joined(
    plan: DatasetPlan,
    selected: Sequence[Check],
    results: dict[str, CheckResult],
    reports: Sequence[DatasetReport],
    counted: bool,
) -> DatasetReport:
    counts = [one.row_count for one in reports[-1:]] if not counted else []
    return DatasetReport(
        plan,
        tuple(results[check.name] for check in selected),
        row_count=counts[0] if counts else None,
        columns=next((one.columns for one in reports if one.columns), ()),
        statements=tuple(statement for one in reports for statement in one.statements),
        seconds=sum(one.seconds for one in reports),
    )


def _of_the_whole(report: DatasetReport) -> DatasetReport:
    """The report, whose results say that they are not about a partition."""
    return replace(report, results=tuple(_as_whole(one) for one in report.results))


def _as_whole(result: CheckResult) -> CheckResult:
    if result.status == "errored" or all(isinstance(metric, Columns) for metric in result.check.metrics):
        return result
    return replace(
        result, scope=WHOLE_TABLE, description=f"{result.description.rstrip('.')} ({WHOLE_TABLE}, not a partition)."
    )
