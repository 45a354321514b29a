"""`@contract_asset`: a function of yours makes the data, its contract decides whether it counts.

The function writes a table itself, or returns tabular data. What it returned is checked before it is kept
anywhere; with `publish_to` what is written waits in a table of its own, is checked there, and is exchanged for
the published one only when no blocking promise is broken.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from dagster import (
    AssetCheckResult,
    AssetExecutionContext,
    AssetKey,
    AssetObservation,
    AssetOut,
    AssetsDefinition,
    AssetSpec,
    AutomationCondition,
    MaterializeResult,
    PartitionsDefinition,
    multi_asset,
)
from sqlalchemy import Engine

from contract_checks import run
from contract_checks.checks import DatasetPlan, Settings
from contract_checks.dagster_defs import names
from contract_checks.dagster_defs.access import Access, SourceLike, measure, source_kind
from contract_checks.dagster_defs.assets import blocking_results, chosen, evaluate, tell
from contract_checks.dagster_defs.choices import asset_key, dataset_plan
from contract_checks.dagster_defs.freshness import availability, with_availability
from contract_checks.dagster_defs.functions import STAGING, Function, as_compute, call, wants_staging
from contract_checks.dagster_defs.grouping import BuiltCheck, Grouping, distinct_specs, grouped
from contract_checks.dagster_defs.loading import load_contract, shown
from contract_checks.dagster_defs.metadata import asset_metadata
from contract_checks.dagster_defs.partitions import (
    Partitioned,
    PartitionError,
    Partitions,
    as_partitions,
    label,
    partitioned,
    partitioned_check,
)
from contract_checks.dagster_defs.parts import WHOLE, RunParts, parts_of
from contract_checks.dagster_defs.rebinding import rebound
from contract_checks.dagster_defs.specs import build_checks, check_problems
from contract_checks.dagster_defs.translator import Blocking, ContractDatasetData, ContractTranslator, known_blocking
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.errors import ContractError, SourceError
from contract_checks.functions import NO_FUNCTIONS, MetricFunctions
from contract_checks.model import Contract
from contract_checks.results import DatasetReport, status_of
from contract_checks.semantics import MetadataProvider
from contract_checks.sources import FrameSource, StagedTable
from contract_checks.sources.memory import as_given, settled

Events: TypeAlias = Iterator[AssetCheckResult | MaterializeResult[Any]]


@dataclass(frozen=True)
class _Producer:
    """A function, and all that is known of what it makes."""

    function: Function
    data: ContractDatasetData
    spec: AssetSpec
    checks: tuple[BuiltCheck, ...]
    access: Access
    publish_to: str | Engine | None
    partitions: Partitioned | None = None


def contract_asset(
    contract: str | Path | Contract,
    *,
    dataset: str | None = None,
    key: AssetKey | str | None = None,
    source: SourceLike | None = None,
    server: str | None = None,
    resource_key: str | None = None,
    publish_to: str | Engine | None = None,
    translator: ContractTranslator | None = None,
    blocking: Blocking = "errors",
    strict: bool = False,
    retries: int = 2,
    retry_wait: float = 1.0,
    partitions: Partitions | PartitionsDefinition | None = None,
    engines: Engines = NO_ENGINES,
    metrics: MetricFunctions = NO_FUNCTIONS,
    settings: Settings | None = None,
    group_by: Grouping | None = None,
    metadata: MetadataProvider | None = None,
    deps: Iterable[Any] = (),
    automation_condition: AutomationCondition[Any] | None = None,
    io_manager_key: str | None = None,
    required_resource_keys: Iterable[str] = (),
    **options: Any,
) -> Callable[[Function], AssetsDefinition]:
    """Make an asset of a function whose data has to keep a contract.

    The function may have a first parameter `context`, and others as functions of Dagster's `@asset` have:
    upstream assets, resources, a config. It returns one of:

    - a DataFrame of pandas or polars, an Arrow table, or anything with `__arrow_c_stream__`. It is checked in
      memory, and only if no blocking promise is broken it is handed to the I/O manager, or with `publish_to`
      written.
    - nothing, or a `MaterializeResult` without a value: it has written the table itself. That is recorded, and
      then the checks tell what they found in the table. With `publish_to` it writes the table whose name it is
      given as `staging`.

    Args:
        contract: A file, or a contract already loaded.
        dataset: Which dataset of the contract it is; not needed if there is only one.
        key: The asset's key. Default: what the translator says.
        source: Where the written table is, as for `build_definitions`. Default: `publish_to`.
        publish_to: The URL or engine of a database (DuckDB, PostgreSQL, SQLite) whose table is exchanged for
            the new data, as a whole and in one transaction, when no blocking promise is broken.
        io_manager_key: The I/O manager that keeps returned data. Default: `io_manager`.
        partitions: How the asset is partitioned, as in `build_definitions`. Returned data is that of the run's
            partition; a table is looked at by the partition column.
        deps, automation_condition, required_resource_keys: as for Dagster's `@asset`.
        server, resource_key, translator, blocking, strict, retries, retry_wait, engines, metrics, settings, group_by,
            metadata: as for `build_contract_checks`.
        options: Whatever else `dagster.multi_asset` takes (`ins`, `retry_policy`, `pool`, `op_tags` …).

    Raises:
        ContractError: When the contract cannot be used.
        ValueError: When `dataset` does not say which one is meant, or the function is a generator.
        SourceError: When `publish_to` is a database in which tables cannot be exchanged.
    """
    read = load_contract(contract, strict, engines)
    place = source if source is not None else publish_to
    access = Access(place, server, resource_key, retries, retry_wait, metrics, settings or Settings(), metadata)
    own = with_availability(dataset_plan(read, dataset, access.plan_settings), read)
    data = ContractDatasetData(read, own, shown(read.file), source_kind(read, access))
    translate = translator or ContractTranslator()
    spec = translate.get_asset_spec(data)
    if key is not None:
        spec = spec.replace_attributes(key=asset_key(key))
    if io_manager_key is not None:
        spec = spec.with_io_manager_key(io_manager_key)
    spec = spec.replace_attributes(deps=[*spec.deps, *deps])
    if automation_condition is not None:
        spec = spec.replace_attributes(automation_condition=automation_condition)
    checks = build_checks(data, spec.key, translate, known_blocking(blocking))
    parts: Partitioned | None = None
    chosen_partitions = as_partitions(partitions)
    if isinstance(chosen_partitions, Partitions):
        if publish_to is not None:
            raise ValueError("publish_to= exchanges a whole table, so its asset has no partitions")
        spec = spec.replace_attributes(partitions_def=chosen_partitions.definition)
        try:
            parts = partitioned(chosen_partitions, own.dataset)
        except PartitionError:
            parts = None  # a table is then looked at as a whole, and every result says so
    problems = check_problems(spec.key, checks, data.file)
    if problems:
        raise ContractError(problems)
    checks = grouped(checks, spec.key, group_by)
    if isinstance(chosen_partitions, Partitions):
        checks = tuple(replace(one, spec=partitioned_check(one.spec, chosen_partitions)) for one in checks)
    if publish_to is not None:
        StagedTable(publish_to, own.dataset.physical_name, "0")  # or every run would fail

    def decorate(function: Function) -> AssetsDefinition:
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise ValueError(f"{function.__name__} has to return its data, not to yield or await it")
        producer = _Producer(function, data, spec, checks, access, publish_to, parts)
        if wants_staging(function) and publish_to is None:
            raise ValueError(f"{function.__name__} asks for '{STAGING}', but there is no publish_to=")
        given = {
            "name": names.identifier(spec.key),
            "description": inspect.getdoc(function),
            "can_subset": True,
        } | options
        return multi_asset(
            # An output of its own type, since what is given to an I/O manager cannot be an output of nothing.
            outs={
                names.identifier(spec.key): AssetOut.from_spec(
                    spec.replace_attributes(deps=[]), dagster_type=Any, is_required=False
                )
            },
            deps=spec.deps,
            partitions_def=spec.partitions_def,
            check_specs=distinct_specs(checks),
            required_resource_keys={*access.resource_keys, *required_resource_keys},
            **given,
        )(as_compute(function, partial(_body, producer)))

    return decorate


def _body(producer: _Producer, context: AssetExecutionContext, arguments: Mapping[str, Any]) -> Events:
    asked = producer.spec.key in context.selected_asset_keys
    selected = chosen(producer.checks, context.selected_asset_check_keys, and_blocking=asked)
    if not asked:
        yield from _check_only(context, producer, selected)
    elif producer.publish_to is not None:
        yield from _staged(context, producer, selected, arguments)
    else:
        yield from _made(context, producer, selected, arguments)


# --------------------------------------------------------------------------- the three ways


def _check_only(
    context: AssetExecutionContext, producer: _Producer, checks: tuple[BuiltCheck, ...]
) -> Generator[AssetCheckResult, None, None]:
    """Check what is there, without making it anew: the table, or the data that the I/O manager kept."""
    if _has_table(producer):
        yield from evaluate(context, producer.data, checks, producer.access, _parts(context, producer))
        return
    try:
        partition = context.partition_key if context.has_partition_key else None
        kept = context.load_asset_value(producer.spec.key, partition_key=partition)
    except Exception as error:
        # Whatever an I/O manager raises, the checks could not be evaluated.
        context.log.exception("What was returned before cannot be loaded.")
        reason = f"what was returned before cannot be loaded: {type(error).__name__}: {error}"
        yield from tell(context, producer.data, checks, run.errored_report(producer.data.plan, reason, _names(checks)))
        return
    yield from tell(context, producer.data, checks, _in_memory(context, producer, checks, kept))


def _has_table(producer: _Producer) -> bool:
    access = producer.access
    return any(one is not None for one in (access.source, access.server, access.resource_key)) or bool(
        producer.data.contract.servers
    )


def _made(
    context: AssetExecutionContext,
    producer: _Producer,
    checks: tuple[BuiltCheck, ...],
    arguments: Mapping[str, Any],
) -> Events:
    original, metadata = call(producer.function, context, arguments)
    if original is None:
        # The data was written: that is recorded first, whatever the checks say of it.
        report = _measured(context, producer, checks, producer.access, parts=_parts(context, producer))
        report = availability(context, report, producer.spec.key, made=True)
        yield MaterializeResult(asset_key=producer.spec.key, metadata=_metadata(producer, report, metadata))
        yield from tell(context, producer.data, checks, report)
        return
    made = settled(original)
    report = _in_memory(context, producer, checks, made)
    yield from tell(context, producer.data, checks, report)
    if blocking_results(checks, report):
        _say_not_published(context, producer, report, metadata)
        return
    yield MaterializeResult(
        asset_key=producer.spec.key,
        metadata=_metadata(producer, report, metadata),
        value=as_given(made, original),
    )


def _staged(
    context: AssetExecutionContext,
    producer: _Producer,
    checks: tuple[BuiltCheck, ...],
    arguments: Mapping[str, Any],
) -> Events:
    """Write beside the published table, check there, and exchange the two if nothing stands in the way."""
    assert producer.publish_to is not None
    plan = producer.data.plan
    table = StagedTable(producer.publish_to, plan.dataset.physical_name, context.run.run_id.replace("-", "")[:8])
    table.discard()
    try:
        own = wants_staging(producer.function)
        made, metadata = call(producer.function, context, {**arguments, **({STAGING: table.staging} if own else {})})
        if made is not None:
            table.write(made)
        elif not own:
            raise TypeError(
                f"{producer.function.__name__} returned no data; to write it itself, it takes the name of the table "
                f"to write as its parameter '{STAGING}'"
            )
        staged = rebound(plan, table.staging, table.dialect)
        report = _measured(context, producer, checks, replace(producer.access, source=table), staged)
        report = availability(context, report, producer.spec.key, made=True)
        broken = blocking_results(checks, report)
        report = _as_published(report, plan, table.names.staging, table.names.rejected if broken else table.names.table)
        if broken:
            table.reject()
        else:
            table.publish()
    except BaseException:
        table.discard()
        raise
    yield from tell(context, producer.data, checks, report)
    if broken:
        context.log.warning(f"The rejected rows are in {table.names.rejected}; '{table.table}' is as it was.")
        _say_not_published(context, producer, report, metadata)
        return
    yield MaterializeResult(asset_key=producer.spec.key, metadata=_metadata(producer, report, metadata))


# --------------------------------------------------------------------------- parts


def _names(checks: Iterable[BuiltCheck]) -> set[str]:
    return {one.check.name for one in checks}


def _measured(
    context: AssetExecutionContext,
    producer: _Producer,
    checks: tuple[BuiltCheck, ...],
    access: Access,
    plan: DatasetPlan | None = None,
    parts: RunParts = WHOLE,
) -> DatasetReport:
    return measure(context, producer.data.contract, plan or producer.data.plan, _names(checks), access, parts)


def _parts(context: AssetExecutionContext, producer: _Producer) -> RunParts:
    """Which rows of a table a run is about."""
    return parts_of(context, producer.partitions, known=False)


def _in_memory(
    context: AssetExecutionContext, producer: _Producer, checks: tuple[BuiltCheck, ...], made: Any
) -> DatasetReport:
    plan = producer.data.plan
    try:
        source = FrameSource(made, plan.dataset.name)
    except SourceError as error:
        return run.errored_report(plan, str(error), _names(checks))
    report = _measured(context, producer, checks, replace(producer.access, source=source))
    if context.has_partition_key or context.has_partition_key_range:
        report = _of_partitions(report, label(context.partition_keys))
    return availability(context, report, producer.spec.key, made=True)


def _of_partitions(report: DatasetReport, scope: str) -> DatasetReport:
    """The report of data that is one partition's: a row count and a key are of that alone, and say so."""
    return replace(
        report,
        results=tuple(
            replace(one, scope=scope, description=f"{one.description.rstrip('.')} ({scope}).") for one in report.results
        ),
    )


def _as_published(report: DatasetReport, plan: DatasetPlan, staged: str, now: str) -> DatasetReport:
    """The report of a staging table as one of the dataset: with its checks, and its rows where they are now."""
    own = {check.name: check for check in plan.checks}
    return replace(
        report,
        plan=plan,
        results=tuple(
            replace(
                one,
                check=own[one.check.name],
                description=one.description.replace(staged, now),
                sql=one.sql.replace(staged, now) if one.sql is not None else None,
            )
            for one in report.results
        ),
    )


def _metadata(producer: _Producer, report: DatasetReport, given: Mapping[str, Any]) -> dict[str, Any]:
    return {**given, **asset_metadata(producer.data.contract, report)}


def _say_not_published(
    context: AssetExecutionContext, producer: _Producer, report: DatasetReport, given: Mapping[str, Any]
) -> None:
    status = status_of(report.results).replace("_", " ")
    context.log_event(
        AssetObservation(
            producer.spec.key,
            description=f"Not published: the contract is {status}.",
            metadata=_metadata(producer, report, given),
        )
    )
