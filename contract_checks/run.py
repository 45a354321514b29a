"""The one place where the stages meet: a contract in, a report out."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine

from contract_checks.checks import DatasetPlan, Settings, plan
from contract_checks.dialects import load
from contract_checks.errors import SourceError
from contract_checks.judging import errored, judge
from contract_checks.metrics import Aggregate, Metric, OrphanKeys, RowCount, ValueCount, Violations
from contract_checks.model import Contract
from contract_checks.results import DatasetReport, Report
from contract_checks.sampling import explain
from contract_checks.scans import compile_scans
from contract_checks.sources import MissingTableError, QueryError, Source, resolve

SAMPLE_ROWS = 5
"""How many offending rows a failed check shows."""


def check_contract(
    contract: Contract | str | Path,
    server: str | None = None,
    source: str | Path | Engine | Source | None = None,
    checks: Collection[str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    now: datetime | None = None,
    sample_rows: int = SAMPLE_ROWS,
    settings: Settings | None = None,
    datasets: Collection[str] | None = None,
) -> Report:
    """Check the data a contract is about.

    `contract` is a `Contract` or the path of its file. `server` names one of its servers; `source` (a
    SQLAlchemy URL, an `Engine`, a path to files, or a `Source`) is used instead of them. `checks` limits
    the run to checks of these names, `datasets` to datasets. `settings` say how open questions of the
    standards are read. `progress` is called with (dataset, datasets done, datasets). A
    source that cannot be reached gives a report whose checks are all errored.

    Raises `ContractError` if the file is no usable contract, `KeyError` for a check or dataset it does not
    have.
    """
    loaded = contract if isinstance(contract, Contract) else load(contract)
    planned = plan(loaded, settings)
    if checks is not None:
        unknown = set(checks) - {check.name for dataset in planned.datasets for check in dataset.checks}
        if unknown:
            raise KeyError(f"{loaded.file} has no check {', '.join(sorted(unknown))}")
    chosen = [one for one in planned.datasets if datasets is None or one.dataset.name in datasets]
    missing = set(datasets or ()) - {one.dataset.name for one in chosen}
    if missing:
        raise KeyError(f"{loaded.file} has no dataset {', '.join(sorted(missing))}")
    reason, where = "", None
    try:
        where = resolve(loaded, server, source)
    except SourceError as error:
        reason = str(error)
    reports = []
    for done, dataset in enumerate(chosen):
        if progress is not None:
            progress(dataset.dataset.name, done, len(chosen))
        names = None if checks is None else {check.name for check in dataset.checks} & set(checks)
        if names is not None and not names:
            continue
        if where is None:
            reports.append(errored_report(dataset, reason, names))
            continue
        try:
            reports.append(check_dataset(dataset, where, names, now, sample_rows))
        except SourceError as error:
            reports.append(errored_report(dataset, str(error), names))
    if progress is not None:
        progress("", len(chosen), len(chosen))
    return Report(planned, tuple(reports), where.name if where is not None else "")


def check_dataset(
    plan: DatasetPlan,
    source: Source,
    checks: Collection[str] | None = None,
    now: datetime | None = None,
    sample_rows: int = SAMPLE_ROWS,
) -> DatasetReport:
    """Measure and judge the checks of one dataset (all, or those of the given names) in one session.

    Raises `SourceError` if the source cannot be reached or is lost on the way; nothing is evaluated then.
    """
    selected = plan.checks if checks is None else plan.select(checks)
    started = time.monotonic()
    with source.session(plan.siblings or (plan.dataset,)) as session:
        try:
            relation = session.relation(plan.dataset)
        except (MissingTableError, QueryError) as error:
            return errored_report(plan, str(error), checks)
        metrics: list[Metric] = [metric for check in selected for metric in check.metrics]
        if any(isinstance(metric, Violations | ValueCount | Aggregate) for metric in metrics):
            metrics.append(RowCount())  # free in a scan that is made anyway
        related = any(isinstance(metric, OrphanKeys) for metric in metrics)
        compiled = compile_scans(metrics, relation, session.targets() if related else {})
        measurements = session.measure(compiled, relation)
        moment = now or datetime.now(UTC)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        results = judge(selected, measurements, relation, moment)
        results = explain(results, measurements, plan.dataset, relation, session, sample_rows)
    counted = measurements.get(RowCount())
    return DatasetReport(
        plan,
        results,
        row_count=counted.value if counted is not None and counted.error is None else None,
        columns=relation.columns,
        statements=session.statements,
        seconds=time.monotonic() - started,
    )


def errored_report(plan: DatasetPlan, reason: str, checks: Collection[str] | None = None) -> DatasetReport:
    """A report in which every check (or those of the given names) could not be evaluated, for one reason."""
    selected = plan.checks if checks is None else plan.select(checks)
    return DatasetReport(plan, tuple(errored(check, reason) for check in selected))
