"""`build_definitions` and `build_contract_checks`: two ways from contract files into Dagster."""

from __future__ import annotations

import gc
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from dagster import (
    AssetChecksDefinition,
    AssetKey,
    AssetsDefinition,
    AssetSelection,
    DefaultScheduleStatus,
    Definitions,
    ExecutorDefinition,
    PartitionsDefinition,
    SensorDefinition,
    define_asset_job,
    in_process_executor,
)

from contract_checks.checks import Settings, slug
from contract_checks.dagster_defs import names
from contract_checks.dagster_defs.access import Access, Pool, SourceLike, source_kind
from contract_checks.dagster_defs.alerts import Alerts, alert_sensor, unusable, watched
from contract_checks.dagster_defs.assets import BuiltDataset, Publish, asset_of, contract_checks_of
from contract_checks.dagster_defs.broken import broken_asset
from contract_checks.dagster_defs.cadence import Recurrence
from contract_checks.dagster_defs.choices import asset_key, dataset_plan
from contract_checks.dagster_defs.entity import with_asset
from contract_checks.dagster_defs.freshness import with_availability
from contract_checks.dagster_defs.grouping import Grouping, grouped
from contract_checks.dagster_defs.incidents import Incidents, incident_sensor, open_incidents
from contract_checks.dagster_defs.loading import Contracts, gather, load_contract, shown
from contract_checks.dagster_defs.partitions import (
    PartitionError,
    PartitionSettings,
    PartitionsOf,
    as_partitions,
    kind_of,
    partitioned,
    partitioned_check,
)
from contract_checks.dagster_defs.resource import RESOURCE_KEY, ContractSources
from contract_checks.dagster_defs.schedules import Due, Limits, build_schedules
from contract_checks.dagster_defs.specs import Translated, build_checks, check_problems, translate
from contract_checks.dagster_defs.timetable import recurrence_of, rule_times, title
from contract_checks.dagster_defs.translator import Blocking, ContractDatasetData, ContractTranslator, known_blocking
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.errors import ContractError, Problem
from contract_checks.functions import NO_FUNCTIONS, MetricFunctions
from contract_checks.model import Contract
from contract_checks.semantics import MetadataProvider

OnBroken = Literal["show", "raise"]
"""What a contract that cannot be used becomes: a red asset beside the others, or an exception."""

# A contract that is broken is broken in the next attempt as well.
_JOB_TAGS = {"dagster/retry_on_asset_or_op_failure": "false"}

# One object for all, since Dagster merges definitions only if a resource they share is the same object.
_DEFAULT_SOURCES = ContractSources()

_log = logging.getLogger("contract_checks")


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keep Python from looking for garbage among definitions: all are kept, and looking takes longer with each."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_nothing_collected()
def build_definitions(
    contracts_dir: Contracts,
    *,
    source: SourceLike | None = None,
    server: str | None = None,
    translator: ContractTranslator | None = None,
    blocking: Blocking = "errors",
    publish: Publish = "when_kept",
    default_schedule_status: DefaultScheduleStatus = DefaultScheduleStatus.STOPPED,
    resources: Mapping[str, Any] | None = None,
    executor: ExecutorDefinition | None = None,
    on_broken: OnBroken = "show",
    strict: bool = False,
    retries: int = 2,
    retry_wait: float = 1.0,
    name: str = "contract",
    max_contracts_per_run: int = 10,
    max_checks_per_run: int = 300,
    partitions: PartitionSettings | None = None,
    engines: Engines = NO_ENGINES,
    metrics: MetricFunctions = NO_FUNCTIONS,
    settings: Settings | None = None,
    alerts: Alerts | None = None,
    group_by: Grouping | None = None,
    metadata: MetadataProvider | None = None,
    incidents: Incidents | None = None,
    pool: Pool = None,
    keep_measurements: bool = False,
) -> Definitions:
    """Everything Dagster needs to run the contracts of a folder: assets, checks, a job and schedules.

    Args:
        contracts_dir: A folder (read with its subfolders), a file, a contract already loaded, or several.
        source: Where all the data is: a SQLAlchemy URL, a folder or file of data, an engine or a source.
        server: Which of the contracts' servers to ask, where `source` is not given. Without either the
            resource `contract_sources` is asked, and then the contract's only server.
        translator: How contracts look in Dagster; see `ContractTranslator`.
        blocking: `errors` lets failed and errored checks of severity error stop what is downstream, unless
            the contract is a draft; a collection of sections (`{"schema", "sla"}`) lets only theirs; `none` lets
            nothing be stopped. A rule whose contract says whether it blocks is not asked about.
        publish: `when_kept` records a materialization only when no blocking promise is broken; `always`
            records it anyway. The step fails either way, so that nothing downstream runs.
        default_schedule_status: Whether schedules are running when they first appear.
        resources: Resources of the definitions; a `ContractSources` belongs under `contract_sources`.
        executor: The executor for runs started in the UI. With `in_process_executor` they take half the
            time, but it holds for everything these definitions are merged with. The job of the schedules
            always runs in its own process.
        on_broken: `show` makes an asset with a failing check of a contract that cannot be used; `raise`
            raises `ContractError` with all problems of all files.
        strict: Whether unknown keys make a contract unusable.
        retries: How often a source that cannot be reached is asked again.
        retry_wait: Seconds before the first of these retries; each further one waits twice as long.
        name: What the names of the job (`contract_checks`), the schedules (`contract_sla__…`) and the ops
            begin with. Needed where two of these definitions are merged.
        max_contracts_per_run: How many contracts one run of a schedule takes on.
        max_checks_per_run: How many checks one run of a schedule takes on.
        engines: Functions that translate rules written for other engines, by the engine's name; see
            `contract_checks.dialects.engines.Engine`.
        metrics: Functions that measure what a contract only names (`AUC >= 0.80`), by that name; see
            `contract_checks.functions.MetricFunction`.
        settings: How promises are read where standards leave it open; see `contract_checks.checks.Settings`.
        partitions: The partitions of datasets, by asset key, table or name: a Dagster definition, or
            `Partitions` where more has to be said, or `whole_table` to look at all of a table in every run.
            `ByCadence` derives them from the contracts. A translator may give them to the asset itself.
        group_by: For very wide tables: one check of Dagster for all rules of a `column`, or of a `section`,
            with a table of their results. Default: a check for each rule.
        metadata: What rules about metadata see (see `contract_checks.semantics`); by default what the contract
            itself and the catalogue of its data say.
        alerts: Who is told when a promise breaks, or a contract cannot be used; a sensor `contract_alerts` sees
            to it. Nobody by default.
        incidents: How incidents are kept, which broken promises open where their contract says so; a sensor
            `contract_incidents` sees to it. By default none are.
        pool: Dagster's pool that every step takes a slot of, so that no more contracts than its limit ask one
            place at once; or a function that names it for each contract. By default there is none.
        keep_measurements: Whether what is measured of files is kept in the storage of the Dagster instance, so that
            a file that did not change is not read again. `Settings.measurements` names another place.

    Raises:
        FileNotFoundError: When `contracts_dir` is not there.
        ContractError: When a contract cannot be used and `on_broken` is `raise`.
        ValueError: When `blocking` is none of these, or `partitions` names a dataset that is not there.
    """
    access = Access(source, server, RESOURCE_KEY, retries, retry_wait, metrics, settings or Settings(), metadata, pool)
    access = replace(access, keep_measurements=keep_measurements)
    gathered = gather(contracts_dir, strict, engines, access.plan_settings)
    translated = translate(
        gathered, translator or ContractTranslator(), access, known_blocking(blocking), partitions, group_by
    )
    if translated.broken and on_broken == "raise":
        raise ContractError(problem for one in translated.broken for problem in one.problems)
    for one in translated.broken:
        _log.error("%s", one.text)
    keys = translated.keys
    limits = Limits(max_contracts_per_run, max_checks_per_run)
    jobs, schedules = [], []
    for own, group in _by_partitions(translated).items():
        job_name, kind = f"{name}_checks{kind_of(own)}", kind_of(own)
        selection = AssetSelection.assets(*group.keys)
        jobs.append(define_asset_job(job_name, selection, executor_def=in_process_executor, tags=_JOB_TAGS))
        sla, rules = _due(group)
        schedules += build_schedules(sla, f"{name}_sla{kind}", job_name, default_schedule_status, limits)
        schedules += build_schedules(rules, f"{name}_rule{kind}", job_name, default_schedule_status, limits)
    return _definitions(
        assets=_assets(translated, names.op_names(name, keys), access, publish, blocking),
        jobs=jobs,
        schedules=schedules,
        sensors=_sensors(translated, name, alerts, incidents),
        resources={RESOURCE_KEY: _DEFAULT_SOURCES, **(resources or {})},
        executor=executor,
    )


def _definitions(**parts: Any) -> Definitions:
    """The definitions, made where nothing else is at hand: Dagster holds on to what its first caller has."""
    return Definitions(**parts)


def _sensors(
    translated: Translated, name: str, alerts: Alerts | None, incidents: Incidents | None
) -> list[SensorDefinition]:
    sensors = []
    if alerts:
        red = unusable(translated.broken, alerts)
        sensors.append(alert_sensor(watched(translated.built, alerts), alerts, f"{name}_alerts", red))
    if incidents is not None:
        sensors.append(incident_sensor(open_incidents(translated.built, incidents), incidents, f"{name}_incidents"))
    return sensors


def _assets(
    translated: Translated, op_names: Mapping[AssetKey, str], access: Access, publish: Publish, blocking: Blocking
) -> list[AssetsDefinition]:
    good = [asset_of(one, op_names[one.key], access, publish) for one in translated.built]
    bad = [broken_asset(one, op_names[one.key], blocking != "none") for one in translated.broken]
    return [*good, *bad]


def _by_partitions(translated: Translated) -> Mapping[PartitionsDefinition | None, Translated]:
    """The contracts by their partitions: a job of Dagster takes assets of one kind only."""
    groups: dict[PartitionsDefinition | None, list[BuiltDataset]] = defaultdict(list)
    for one in translated.built:
        groups[one.spec.partitions_def].append(one)
    if translated.broken:
        groups[None] += []
    return {own: Translated(tuple(group), translated.broken if own is None else ()) for own, group in groups.items()}


def _due(translated: Translated) -> tuple[Mapping[Recurrence, list[Due]], Mapping[Recurrence, list[Due]]]:
    """Which datasets are due with their contract's cadence, and which single rules at times of their own."""
    sla: dict[Recurrence, list[Due]] = defaultdict(list)
    rules: dict[Recurrence, list[Due]] = defaultdict(list)
    for dataset in translated.built:
        contract = dataset.data.contract
        when = recurrence_of(contract.cadence)
        if when is not None:
            sla[when].append(Due(title(contract), dataset.key, len(dataset.checks), (), dataset.spec.partitions_def))
        for at, checks in rule_times(contract, dataset.checks).items():
            rules[at].append(Due(title(contract), dataset.key, len(checks), tuple(checks), dataset.spec.partitions_def))
    for broken in translated.broken:
        when = recurrence_of(broken.contract.cadence) if broken.contract is not None else None
        if broken.contract is not None and when is not None:
            sla[when].append(Due(title(broken.contract), broken.key, 1))
    return sla, rules


def build_contract_checks(
    contract: str | Path | Contract,
    *,
    asset: AssetKey | AssetsDefinition | str | Sequence[str],
    dataset: str | None = None,
    source: SourceLike | None = None,
    server: str | None = None,
    translator: ContractTranslator | None = None,
    blocking: Blocking = "errors",
    resource_key: str | None = None,
    strict: bool = False,
    retries: int = 2,
    retry_wait: float = 1.0,
    name: str = "contract",
    partitions: PartitionsOf | None = None,
    engines: Engines = NO_ENGINES,
    metrics: MetricFunctions = NO_FUNCTIONS,
    settings: Settings | None = None,
    group_by: Grouping | None = None,
    metadata: MetadataProvider | None = None,
    pool: Pool = None,
    keep_measurements: bool = False,
) -> AssetChecksDefinition:
    """The promises of a contract as checks of an asset that exists already (of dbt, dlt or your own).

    All checks are one op, of which any part can be run. Broken blocking promises keep what is downstream of
    `asset` from running in the same run.

    Args:
        contract: A file, or a contract already loaded.
        asset: The asset, by its key or its definition; a string may be a path (`warehouse/orders`).
        dataset: Which dataset of the contract it is; not needed if there is only one.
        resource_key: The key of a `ContractSources` in your definitions, if one is to be asked.
        source, server, translator, blocking, strict, retries, retry_wait, name, engines, metrics, settings, pool,
            keep_measurements: as for `build_definitions`.
        partitions: How the asset is partitioned, as in `build_definitions`. Default: as the definition
            `asset` says; of a key nothing is known, so that the whole table is looked at, and every result of
            a partitioned run says so.

    Raises:
        ContractError: When the contract cannot be used, or does not tell the partitions apart.
        ValueError: When `dataset` or `asset` does not say which one is meant, with those there are.
    """
    read = load_contract(contract, strict, engines)
    access = Access(source, server, resource_key, retries, retry_wait, metrics, settings or Settings(), metadata, pool)
    access = replace(access, keep_measurements=keep_measurements)
    chosen = with_availability(dataset_plan(read, dataset, access.plan_settings), read)
    key = asset_key(asset)
    data = ContractDatasetData(read, chosen, shown(read.file), source_kind(read, access))
    checks = build_checks(data, key, translator or ContractTranslator(), known_blocking(blocking))
    problems = check_problems(key, checks, data.file)
    if problems:
        raise ContractError(problems)
    checks = grouped(checks, key, group_by)
    op_name = f"{name}_checks__{names.identifier(key)}__{slug(read.name or read.id)}"
    own = as_partitions(partitions if partitions is not None else _declared(asset, key))
    known = partitions is not None or isinstance(asset, AssetsDefinition)
    if isinstance(asset, AssetsDefinition):
        access = replace(access, metadata=with_asset(metadata, asset.specs_by_key[key]))
    if own is None or own == "whole_table":
        return contract_checks_of(data, checks, op_name, access, None, known)
    try:
        parts = partitioned(own, chosen.dataset)
    except PartitionError as error:
        text = f"the partitions of '{key.to_user_string()}' cannot be told apart: {error}"
        hint = 'or look at the whole table in every run with partitions="whole_table"'
        raise ContractError([Problem(text, chosen.dataset.location, hint=hint)]) from None
    checks = tuple(replace(one, spec=partitioned_check(one.spec, own)) for one in checks)
    return contract_checks_of(data, checks, op_name, access, parts)


def _declared(asset: object, key: AssetKey) -> PartitionsDefinition | None:
    return asset.specs_by_key[key].partitions_def if isinstance(asset, AssetsDefinition) else None
