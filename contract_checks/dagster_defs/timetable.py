"""When contracts and their rules are due, and schedules for the checks of assets that somebody else makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from dagster import (
    AssetCheckKey,
    AssetKey,
    AssetsDefinition,
    AssetSelection,
    DefaultScheduleStatus,
    ScheduleDefinition,
)

from contract_checks.checks import Settings
from contract_checks.dagster_defs import names
from contract_checks.dagster_defs.access import Access
from contract_checks.dagster_defs.cadence import CadenceError, Recurrence
from contract_checks.dagster_defs.choices import asset_key, dataset_plan
from contract_checks.dagster_defs.freshness import with_availability
from contract_checks.dagster_defs.grouping import BuiltCheck, Grouping, distinct_specs, grouped
from contract_checks.dagster_defs.loading import load_contract, shown
from contract_checks.dagster_defs.schedules import Due, Limits, build_schedules, schedulable
from contract_checks.dagster_defs.specs import build_checks, rule_timezone
from contract_checks.dagster_defs.translator import ContractDatasetData, ContractTranslator
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.functions import NO_FUNCTIONS, MetricFunctions
from contract_checks.model import Cadence, Contract


def title(contract: Contract) -> str:
    """What a contract is called in tags and descriptions of schedules."""
    return contract.id or contract.name


def recurrence_of(cadence: Cadence | None) -> Recurrence | None:
    """When a cadence is due, or None: then the asset lists it among what is not checked."""
    try:
        return schedulable(cadence) if cadence is not None else None
    except CadenceError:
        return None


def rule_times(contract: Contract, checks: Sequence[BuiltCheck]) -> Mapping[Recurrence, list[AssetCheckKey]]:
    """The checks with a schedule of their own, by when they are due."""
    rules: dict[Recurrence, list[AssetCheckKey]] = defaultdict(list)
    for one in checks:
        schedule = one.check.schedule
        if not schedule:
            continue
        when = recurrence_of(Cadence(cron=schedule, timezone=rule_timezone(contract)))
        if when is not None:
            rules[when].append(one.spec.key)
    return rules


def build_contract_schedules(
    contract: str | Path | Contract,
    *,
    asset: AssetKey | AssetsDefinition | str | Sequence[str],
    dataset: str | None = None,
    translator: ContractTranslator | None = None,
    default_schedule_status: DefaultScheduleStatus = DefaultScheduleStatus.STOPPED,
    strict: bool = False,
    name: str = "contract",
    engines: Engines = NO_ENGINES,
    metrics: MetricFunctions = NO_FUNCTIONS,
    settings: Settings | None = None,
    group_by: Grouping | None = None,
) -> list[ScheduleDefinition]:
    """Schedules for the checks that `build_contract_checks` or `contract_asset` made of a contract.

    They run the checks, never the asset: at the contract's cadence, which is its deadline where it promises a
    time of day, so that a promise is found broken also when nothing was made; and single rules at times of
    their own. A contract without a cadence has none.

    Args:
        contract, asset, dataset, translator, strict, engines, metrics, settings, group_by: as they were given to
            `build_contract_checks` or `contract_asset`, so that the same checks are meant.
        default_schedule_status, name: as for `build_definitions`.

    Raises:
        ContractError: When the contract cannot be used.
        ValueError: When `dataset` or `asset` does not say which one is meant.
    """
    read = load_contract(contract, strict, engines)
    key = asset_key(asset)
    plan_settings = Access(metrics=metrics, settings=settings or Settings()).plan_settings
    own = with_availability(dataset_plan(read, dataset, plan_settings), read)
    data = ContractDatasetData(read, own, shown(read.file))
    checks = grouped(build_checks(data, key, translator or ContractTranslator(), "none"), key, group_by)
    return schedules_of_checks(read, key, checks, default_schedule_status, name)


def schedules_of_checks(
    contract: Contract, key: AssetKey, checks: Sequence[BuiltCheck], status: DefaultScheduleStatus, name: str
) -> list[ScheduleDefinition]:
    """The schedules that run the checks of an asset, and never the asset."""
    keys = tuple(one.key for one in distinct_specs(checks))
    if not keys:
        return []
    when = recurrence_of(contract.cadence)
    sla = {when: [Due(title(contract), key, len(keys), keys)]} if when is not None else {}
    rules = {at: [Due(title(contract), key, len(own), tuple(own))] for at, own in rule_times(contract, checks).items()}
    target = AssetSelection.checks(*keys)
    own_name = names.identifier(key)
    return [
        *build_schedules(sla, f"{name}_sla__{own_name}", target, status, Limits()),
        *build_schedules(rules, f"{name}_rule__{own_name}", target, status, Limits()),
    ]
