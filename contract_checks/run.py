"""The one place where the stages meet: a contract in, a report out."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine

from contract_checks.ages import out_of_force
from contract_checks.checks import Check, DatasetPlan, SemanticJudgement, Settings, plan
from contract_checks.dialects import load
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.dialects.openmetadata_entity import NO_DATA
from contract_checks.errors import SourceError
from contract_checks.functions import NO_FUNCTIONS, MetricFunctions, at_moment, measure_beyond
from contract_checks.judging import errored, judge
from contract_checks.metrics import (
    Aggregate,
    ColumnCount,
    ColumnNames,
    Columns,
    DuplicateKeys,
    Metric,
    ModelSignature,
    OrphanKeys,
    OtherColumns,
    OtherRows,
    Query,
    Rate,
    Registered,
    RowCount,
    RowFilter,
    Undecodable,
    ValueCount,
    Violations,
)
from contract_checks.model import AgeLimit, Contract, Dataset
from contract_checks.proofs import prove
from contract_checks.results import CheckResult, DatasetReport, Report
from contract_checks.sampling import explain
from contract_checks.scans import compile_scans, query_is_scoped
from contract_checks.semantics import BY_DEFAULT, CatalogueMetadata, MetadataProvider, evaluate, with_catalogue
from contract_checks.shapes import of_documents
from contract_checks.sources import MissingTableError, QueryError, Session, Source, resolve
from contract_checks.sql import Relation, Unmeasurable, scoped, sql_for

SAMPLE_ROWS = 5
"""How many offending rows a failed check shows."""
MOST_PLACES = 20
"""Up to this many rows of a sample are found by the shared scan itself, where the source can."""
_OF_ROWS = (Violations, ValueCount, Aggregate)
"""What a scan of all rows answers."""
WHOLE_TABLE = "whole table"
"""The scope of a result that looked at all rows although a part of them was asked for."""


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
    metadata: MetadataProvider | None = None,
    engines: Engines = NO_ENGINES,
    metrics: MetricFunctions = NO_FUNCTIONS,
) -> Report:
    """Check the data a contract is about.

    `contract` is a `Contract` or the path of its file. `server` names one of its servers; `source` (a
    SQLAlchemy URL, an `Engine`, a path to files, or a `Source`) is used instead of them. `checks` limits
    the run to checks of these names, `datasets` to datasets. `settings` say how open questions of the
    standards are read. `engines` translate rules that were written for other engines. `metrics` are functions
    that measure what they are named after (see `functions`). `metadata`
    is what semantic rules see (see `check_dataset`). `progress` is called with (dataset, datasets done,
    datasets). A source that cannot be reached gives a report whose checks are all errored.

    Raises `ContractError` if the file is no usable contract, `KeyError` for a check or dataset it does not
    have.
    """
    loaded = contract if isinstance(contract, Contract) else load(contract, engines=engines)
    chosen_settings = settings or Settings()
    planned = plan(loaded, replace(chosen_settings, metrics=chosen_settings.metrics | metrics.keys()))
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
        where = resolve(loaded, server, source, chosen_settings.allowed_paths)
    except SourceError as error:
        reason = str(error)
    reports = []
    with where.opened() if where is not None else nullcontext() as opened:
        for done, dataset in enumerate(chosen):
            if progress is not None:
                progress(dataset.dataset.name, done, len(chosen))
            names = None if checks is None else {check.name for check in dataset.checks} & set(checks)
            if names is not None and not names:
                continue
            if opened is None:
                reports.append(errored_report(dataset, reason, names, metadata))
                continue
            try:
                report = check_dataset(
                    dataset,
                    opened,
                    names,
                    now,
                    sample_rows,
                    metadata=metadata,
                    metrics=metrics,
                    settings=chosen_settings,
                )
                reports.append(report)
            except SourceError as error:
                reports.append(errored_report(dataset, str(error), names, metadata))
    if progress is not None:
        progress("", len(chosen), len(chosen))
    return Report(planned, tuple(reports), where.name if where is not None else "")


def check_dataset(
    plan: DatasetPlan,
    source: Source,
    checks: Collection[str] | None = None,
    now: datetime | None = None,
    sample_rows: int = SAMPLE_ROWS,
    rows: RowFilter | None = None,
    metadata: MetadataProvider | None = None,
    metrics: MetricFunctions = NO_FUNCTIONS,
    settings: Settings | None = None,
) -> DatasetReport:
    """Measure and judge the checks of one dataset (all, or those of the given names) in one session.

    With `rows` only that part of the table is looked at. Promises that are about the whole (freshness,
    queries that name the table with its schema or not at all) are still evaluated on the whole; the `scope`
    and the description of each result say which it was. Where the rows cannot be told apart, every check
    is errored. Semantic rules see what `metadata` gives; by default the contract itself, and the columns and
    comments of the catalogue where it knows more (`semantics.BY_DEFAULT`). `metrics` are the functions that
    measure what they are named after (see `functions`). Of the `settings` those count that say how the data is
    asked.

    Of a contract that is not in force at `now` every check is skipped.

    Raises `SourceError` if the source cannot be reached or is lost on the way; nothing is evaluated then.
    """
    chosen = plan.checks if checks is None else plan.select(checks)
    selected = tuple(check for check in chosen if not isinstance(check.judgement, SemanticJudgement))
    started = time.monotonic()
    moment = now or datetime.now(UTC)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    idle = out_of_force(plan.contract, moment) if plan.contract is not None else ""
    if idle:
        return _skipped_report(plan, chosen, idle)
    if not selected and plan.dataset.entity_type in NO_DATA:
        return errored_report(plan, "", checks, metadata)
    how = settings or Settings()
    with source.session(plan.siblings or (plan.dataset,)) as session:
        session.limit_statements(how.statement_timeout)
        if how.measurements:
            session.keep_measurements(how.measurements)
        try:
            relation = session.relation(plan.dataset)
            if selected and how.proofs:
                relation = _vouched(selected, plan.dataset, relation, session)
            if relation.encoding == "json" and plan.dataset.kind.lower() != "topic":
                selected = of_documents(selected, plan.dataset)
            if rows is None:
                results, row_count = _evaluate(selected, plan, relation, session, moment, sample_rows, metrics)
            else:
                results, row_count = _evaluate_part(
                    selected, rows, plan, relation, session, moment, sample_rows, metrics
                )
        except (MissingTableError, QueryError) as error:
            return errored_report(plan, str(error), checks, metadata)
        catalogue = _catalogue(plan, relation, session) if len(selected) < len(chosen) else None
    if catalogue is not None:
        provider = with_catalogue(metadata or BY_DEFAULT, catalogue)
        results = _with_semantics(chosen, results, plan, provider)
    return DatasetReport(
        plan,
        results,
        row_count=row_count,
        columns=tuple(column for column in relation.columns if not column.hidden),
        statements=session.statements,
        files_read=session.files_read,
        seconds=time.monotonic() - started,
    )


def _vouched(checks: Sequence[Check], dataset: Dataset, relation: Relation, session: Session) -> Relation:
    """The relation with what its source guarantees of it."""
    refers = any(isinstance(metric, OrphanKeys) for check in checks for metric in check.metrics)
    known = session.targets().values() if refers else ()
    targets = {one.sql: one for one in known if isinstance(one, Relation)}
    return replace(relation, guarantees=session.guarantees(dataset, targets.values()))


def _catalogue(plan: DatasetPlan, relation: Relation, session: Session) -> CatalogueMetadata:
    try:
        return CatalogueMetadata(relation.columns, session.comment(plan.dataset))
    except QueryError as error:
        return CatalogueMetadata(relation.columns, unavailable=str(error))


def _with_semantics(
    checks: Sequence[Check], results: Sequence[CheckResult], plan: DatasetPlan, provider: MetadataProvider
) -> tuple[CheckResult, ...]:
    """The results with those of the semantic checks among `checks`, in their order."""
    by_name = {result.check.name: result for result in (*results, *evaluate(checks, plan, provider))}
    return tuple(by_name[check.name] for check in checks)


def _evaluate(
    checks: Sequence[Check],
    plan: DatasetPlan,
    relation: Relation,
    session: Session,
    now: datetime,
    sample_rows: int,
    functions: MetricFunctions,
) -> tuple[tuple[CheckResult, ...], int | None]:
    """The results of checks on a relation, and how many rows it has if that is known."""
    asked = [at_moment(check, now) for check in checks]
    metrics: list[Metric] = [metric for check in asked for metric in check.metrics]
    related = any(isinstance(metric, OrphanKeys | OtherColumns | OtherRows) for metric in metrics)
    targets = session.targets() if related else {}
    counts = relation.part is not None or any(isinstance(one, _OF_ROWS) for one in metrics)
    proven = prove((*metrics, RowCount()) if counts else metrics, relation, targets)
    left = [metric for metric in metrics if metric not in proven]
    # Free in a scan that is made anyway, and where the database knows it.
    free = relation.part is not None or relation.dialect == "duckdb" or any(isinstance(one, _OF_ROWS) for one in left)
    if counts and free and RowCount() not in proven:
        left.append(RowCount())
    places = sample_rows if sample_rows <= MOST_PLACES else 0
    compiled = compile_scans(left, relation, targets, places)
    measurements = session.measure(compiled, relation) | proven
    measurements |= measure_beyond(metrics, functions, plan.dataset, relation.sql, session.run)
    results = judge(asked, measurements, relation, now)
    counted = measurements.get(RowCount())
    row_count = counted.value if counted is not None and counted.error is None else None
    explained = explain(results, measurements, plan.dataset, relation, session, sample_rows)
    return tuple(replace(one, check=check) for one, check in zip(explained, checks, strict=True)), row_count


def _evaluate_part(
    checks: Sequence[Check],
    rows: RowFilter,
    plan: DatasetPlan,
    relation: Relation,
    session: Session,
    now: datetime,
    sample_rows: int,
    functions: MetricFunctions,
) -> tuple[tuple[CheckResult, ...], int | None]:
    """The same for a part of the table. What can only be asked of the whole is, and every result says which."""
    try:
        part = scoped(relation, rows, sql_for(relation))
    except Unmeasurable as reason:
        why = f"the rows of {rows.label} cannot be told from the others: {reason}"
        return tuple(replace(errored(check, why), scope=rows.label) for check in checks), None
    own = [check for check in checks if not _about_the_whole(check, part)]
    whole = [check for check in checks if _about_the_whole(check, part)]
    results, row_count = _evaluate(own, plan, part, session, now, sample_rows, functions)
    beyond, _ = _evaluate(whole, plan, relation, session, now, sample_rows, functions) if whole else ((), None)
    said = {one.check.name: _with_scope(one, _scope(one.check, rows), row_count == 0) for one in results}
    said |= {one.check.name: _with_scope(one, WHOLE_TABLE, False) for one in beyond}
    return tuple(said[check.name] for check in checks), row_count


def _about_the_whole(check: Check, part: Relation) -> bool:
    """Whether a check says nothing about a part: how fresh a table is, and queries that read all of it."""
    queries = [metric for metric in check.metrics if isinstance(metric, Query)]
    beyond = any(isinstance(one, Registered | ModelSignature | Rate | Undecodable | OtherRows) for one in check.metrics)
    return beyond or isinstance(check.judgement, AgeLimit) or not all(query_is_scoped(query, part) for query in queries)


def _scope(check: Check, rows: RowFilter) -> str:
    if all(isinstance(metric, Columns | ColumnCount | ColumnNames | OtherColumns) for metric in check.metrics):
        return ""  # a table has its columns for all its rows
    if rows.unique_in == "table" and any(isinstance(metric, DuplicateKeys) for metric in check.metrics):
        return f"keys of {rows.label}, in the whole table"
    return rows.label


def _with_scope(result: CheckResult, scope: str, empty: bool) -> CheckResult:
    if not scope:
        return result
    where = f"{scope}, which has no rows" if empty else scope
    return replace(result, scope=scope, description=f"{result.description.rstrip('.')} ({where}).")


def _skipped_report(plan: DatasetPlan, checks: Sequence[Check], reason: str) -> DatasetReport:
    """A report in which no check applies, for one reason."""
    text = f"Skipped: {reason}."
    return DatasetReport(plan, tuple(CheckResult(one, "skipped", text, answered_by="catalogue") for one in checks))


def errored_report(
    plan: DatasetPlan,
    reason: str,
    checks: Collection[str] | None = None,
    metadata: MetadataProvider | None = None,
) -> DatasetReport:
    """A report in which every check (or those of the given names) could not be evaluated, for one reason.

    Semantic rules are evaluated all the same where `metadata` does not depend on the data. A contract that is
    not in force is not checked either way.
    """
    selected = plan.checks if checks is None else plan.select(checks)
    idle = out_of_force(plan.contract, datetime.now(UTC)) if plan.contract is not None else ""
    if idle:
        return _skipped_report(plan, selected, idle)
    results = [errored(check, reason) for check in selected if not isinstance(check.judgement, SemanticJudgement)]
    no_data = plan.dataset.entity_type in NO_DATA
    nothing = CatalogueMetadata(columns=()) if no_data else CatalogueMetadata(unavailable=reason)
    provider = with_catalogue(metadata or BY_DEFAULT, nothing)
    return DatasetReport(plan, _with_semantics(selected, results, plan, provider))
