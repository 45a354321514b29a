"""`build_definitions` and `build_contract_checks`: two ways from contract files into Dagster."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dagster import (
    AssetCheckKey,
    AssetChecksDefinition,
    AssetKey,
    AssetsDefinition,
    AssetSelection,
    DefaultScheduleStatus,
    Definitions,
    ExecutorDefinition,
    define_asset_job,
    in_process_executor,
)

from contract_checks import dialects
from contract_checks.checks import DatasetPlan, plan, slug
from contract_checks.dagster_defs import names
from contract_checks.dagster_defs.access import Access, SourceLike, source_kind
from contract_checks.dagster_defs.assets import BuiltDataset, Publish, contract_asset, contract_checks_of
from contract_checks.dagster_defs.broken import broken_asset
from contract_checks.dagster_defs.cadence import CadenceError, Recurrence
from contract_checks.dagster_defs.loading import Contracts, gather, shown
from contract_checks.dagster_defs.resource import RESOURCE_KEY, ContractSources
from contract_checks.dagster_defs.schedules import Due, Limits, build_schedules, schedulable
from contract_checks.dagster_defs.specs import Translated, build_checks, check_problems, rule_timezone, translate
from contract_checks.dagster_defs.translator import Blocking, ContractDatasetData, ContractTranslator
from contract_checks.errors import ContractError
from contract_checks.model import Cadence, Contract

OnBroken = Literal["show", "raise"]
"""What a contract that cannot be used becomes: a red asset beside the others, or an exception."""

# A contract that is broken is broken in the next attempt as well.
_JOB_TAGS = {"dagster/retry_on_asset_or_op_failure": "false"}

# One object for all, since Dagster merges definitions only if a resource they share is the same object.
_DEFAULT_SOURCES = ContractSources()

_log = logging.getLogger("contract_checks")


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
) -> Definitions:
    """Everything Dagster needs to run the contracts of a folder: assets, checks, a job and schedules.

    Args:
        contracts_dir: A folder (read with its subfolders), a file, a contract already loaded, or several.
        source: Where all the data is: a SQLAlchemy URL, a folder or file of data, an engine or a source.
        server: Which of the contracts' servers to ask, where `source` is not given. Without either the
            resource `contract_sources` is asked, and then the contract's only server.
        translator: How contracts look in Dagster; see `ContractTranslator`.
        blocking: `errors` lets failed and errored checks of severity error stop what is downstream, unless
            the contract is a draft; `none` lets nothing be stopped.
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

    Raises:
        FileNotFoundError: When `contracts_dir` is not there.
        ContractError: When a contract cannot be used and `on_broken` is `raise`.
    """
    access = Access(source, server, RESOURCE_KEY, retries, retry_wait)
    translated = translate(gather(contracts_dir, strict), translator or ContractTranslator(), access, blocking)
    if translated.broken and on_broken == "raise":
        raise ContractError(problem for one in translated.broken for problem in one.problems)
    for one in translated.broken:
        _log.error("%s", one.text)
    keys = [*(one.key for one in translated.built), *(one.key for one in translated.broken)]
    job_name = f"{name}_checks"
    jobs = []
    if keys:
        selection = AssetSelection.assets(*keys)
        jobs.append(define_asset_job(job_name, selection, executor_def=in_process_executor, tags=_JOB_TAGS))
    limits = Limits(max_contracts_per_run, max_checks_per_run)
    sla, rules = _due(translated)
    return Definitions(
        assets=_assets(translated, names.op_names(name, keys), access, publish, blocking),
        jobs=jobs,
        schedules=[
            *build_schedules(sla, f"{name}_sla", job_name, default_schedule_status, limits),
            *build_schedules(rules, f"{name}_rule", job_name, default_schedule_status, limits),
        ],
        resources={RESOURCE_KEY: _DEFAULT_SOURCES, **(resources or {})},
        executor=executor,
    )


def _assets(
    translated: Translated, op_names: Mapping[AssetKey, str], access: Access, publish: Publish, blocking: Blocking
) -> list[AssetsDefinition]:
    good = [contract_asset(one, op_names[one.key], access, publish) for one in translated.built]
    bad = [broken_asset(one, op_names[one.key], blocking == "errors") for one in translated.broken]
    return [*good, *bad]


def _due(translated: Translated) -> tuple[Mapping[Recurrence, list[Due]], Mapping[Recurrence, list[Due]]]:
    """Which datasets are due with their contract's cadence, and which single rules at times of their own."""
    sla: dict[Recurrence, list[Due]] = defaultdict(list)
    rules: dict[Recurrence, list[Due]] = defaultdict(list)
    for dataset in translated.built:
        contract = dataset.data.contract
        when = _recurrence(contract.cadence)
        if when is not None:
            sla[when].append(Due(_title(contract), dataset.key, len(dataset.checks)))
        for at, checks in _rules(dataset).items():
            rules[at].append(Due(_title(contract), dataset.key, len(checks), tuple(checks)))
    for broken in translated.broken:
        when = _recurrence(broken.contract.cadence) if broken.contract is not None else None
        if broken.contract is not None and when is not None:
            sla[when].append(Due(_title(broken.contract), broken.key, 1))
    return sla, rules


def _rules(built: BuiltDataset) -> Mapping[Recurrence, list[AssetCheckKey]]:
    rules: dict[Recurrence, list[AssetCheckKey]] = defaultdict(list)
    for one in built.checks:
        schedule = one.check.schedule
        cadence = Cadence(cron=schedule, timezone=rule_timezone(built.data.contract)) if schedule else None
        when = _recurrence(cadence)
        if when is not None:
            rules[when].append(one.spec.key)
    return rules


def _recurrence(cadence: Cadence | None) -> Recurrence | None:
    """When a cadence is due, or None: then the asset lists it among what is not checked."""
    try:
        return schedulable(cadence) if cadence is not None else None
    except CadenceError:
        return None


def _title(contract: Contract) -> str:
    return contract.id or contract.name


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
) -> AssetChecksDefinition:
    """The promises of a contract as checks of an asset that exists already (of dbt, dlt or your own).

    All checks are one op, of which any part can be run. Broken blocking promises keep what is downstream of
    `asset` from running in the same run.

    Args:
        contract: A file, or a contract already loaded.
        asset: The asset, by its key or its definition; a string may be a path (`warehouse/orders`).
        dataset: Which dataset of the contract it is; not needed if there is only one.
        resource_key: The key of a `ContractSources` in your definitions, if one is to be asked.
        source, server, translator, blocking, strict, retries, retry_wait, name: as for `build_definitions`.

    Raises:
        ContractError: When the contract cannot be used.
        ValueError: When `dataset` or `asset` does not say which one is meant, with those there are.
    """
    read = contract if isinstance(contract, Contract) else dialects.load(contract, strict=strict)
    access = Access(source, server, resource_key, retries, retry_wait)
    chosen = _dataset_plan(read, dataset)
    key = _asset_key(asset)
    data = ContractDatasetData(read, chosen, shown(read.file), source_kind(read, access))
    checks = build_checks(data, key, translator or ContractTranslator(), blocking)
    problems = check_problems(key, checks, data.file)
    if problems:
        raise ContractError(problems)
    op_name = f"{name}_checks__{names.identifier(key)}__{slug(read.name or read.id)}"
    return contract_checks_of(data, checks, op_name, access)


def _dataset_plan(contract: Contract, dataset: str | None) -> DatasetPlan:
    plans = plan(contract).datasets
    known = ", ".join(f"'{one.dataset.name}'" for one in plans) or "none"
    if dataset is None:
        if len(plans) != 1:
            raise ValueError(f"{contract.file} describes {len(plans)} datasets ({known}): name one with dataset=")
        return plans[0]
    for one in plans:
        if one.dataset.name == dataset:
            return one
    raise ValueError(f"{contract.file} describes no dataset '{dataset}'; there are: {known}")


def _asset_key(asset: AssetKey | AssetsDefinition | str | Sequence[str]) -> AssetKey:
    if isinstance(asset, AssetsDefinition):
        keys = list(asset.keys)
        if len(keys) != 1:
            known = ", ".join(sorted(key.to_user_string() for key in keys))
            raise ValueError(f"the definition makes {len(keys)} assets ({known}): give the key of one with asset=")
        return keys[0]
    if isinstance(asset, AssetKey):
        return asset
    return AssetKey.from_user_string(asset) if isinstance(asset, str) else AssetKey(list(asset))
