"""Contracts → specs, and the collisions among them.

Every dataset ends as one of two: built, or broken with the reason. What one contract does wrong is never
another's trouble; the first of two that claim one name keeps it, by the order of their files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

from dagster import AssetDep, AssetKey, AssetSpec, DagsterError

from contract_checks.checks import DatasetPlan, plan
from contract_checks.dagster_defs import names
from contract_checks.dagster_defs.access import Access, source_kind
from contract_checks.dagster_defs.assets import BuiltDataset
from contract_checks.dagster_defs.broken import GROUP, Broken
from contract_checks.dagster_defs.cadence import CadenceError
from contract_checks.dagster_defs.freshness import with_availability
from contract_checks.dagster_defs.grouping import BuiltCheck, Grouping, grouped
from contract_checks.dagster_defs.loading import Entry, Gathered
from contract_checks.dagster_defs.partitions import (
    PartitionError,
    PartitionSettings,
    partitioned,
    partitioned_check,
    settings_for,
    unknown_names,
)
from contract_checks.dagster_defs.schedules import schedulable
from contract_checks.dagster_defs.translator import (
    Blocking,
    ContractCheckData,
    ContractDatasetData,
    ContractTranslator,
    is_blocking,
    place,
)
from contract_checks.errors import ContractError, Location, Problem
from contract_checks.model import Cadence, Contract, NotChecked


@dataclass(frozen=True)
class Translated:
    """What the contracts come down to."""

    built: tuple[BuiltDataset, ...]
    broken: tuple[Broken, ...]

    @property
    def keys(self) -> list[AssetKey]:
        """The keys of all assets."""
        return [*(one.key for one in self.built), *(one.key for one in self.broken)]


class _Claims:
    """Who has which asset key, and which name of an output Dagster makes of an asset and a check."""

    def __init__(self) -> None:
        self.keys: dict[AssetKey, str] = {}
        self.outputs: dict[str, tuple[BuiltCheck, str]] = {}

    def free_key(self, *parts: str) -> AssetKey:
        """A key in the group of broken contracts that nobody has."""
        key = names.asset_key([GROUP, *parts])
        while key in self.keys:
            key = AssetKey([*key.path[:-1], f"{key.path[-1]}_{names.short_hash('/'.join(key.path))}"])
        return key


def translate(
    gathered: Gathered,
    translator: ContractTranslator,
    access: Access,
    blocking: Blocking,
    partitions: PartitionSettings | None = None,
    group_by: Grouping | None = None,
    made_elsewhere: bool = False,
) -> Translated:
    """Ask the translator about every dataset and check, and find out what cannot stand together.

    `made_elsewhere` says that the contracts are about assets of others, whose materializations may be late.

    Raises `ValueError` where `partitions` names a dataset that is not there.
    """
    claims = _Claims()
    built: list[BuiltDataset] = []
    broken: list[Broken] = []
    for entry in gathered.entries:
        for one in _translate_contract(
            entry, translator, access, blocking, claims, partitions, group_by, made_elsewhere
        ):
            claims.keys[one.key] = _where(one)
            if isinstance(one, BuiltDataset):
                built.append(one)
            else:
                broken.append(one)
    for file in gathered.unreadable:
        key = claims.free_key(*PurePosixPath(file.file).with_suffix("").parts[1:])
        claims.keys[key] = file.file
        broken.append(Broken(key, file.file, file.error.problems))
    unknown = unknown_names(partitions, {one.key: one.data.dataset for one in built})
    if unknown and not broken:
        known = ", ".join(sorted(one.key.to_user_string() for one in built))
        raise ValueError(f"partitions= names no dataset '{unknown[0]}'; there are: {known}")
    return Translated(tuple(_without_cycles(built)), tuple(broken))


def _where(one: BuiltDataset | Broken) -> str:
    if isinstance(one, Broken):
        return one.file
    return f"{place(one.data.file, one.data.dataset.location)} {one.data.dataset.location.path}"


def _translate_contract(
    entry: Entry,
    translator: ContractTranslator,
    access: Access,
    blocking: Blocking,
    claims: _Claims,
    partitions: PartitionSettings | None,
    group_by: Grouping | None,
    made_elsewhere: bool,
) -> Iterable[BuiltDataset | Broken]:
    contract, file = entry.contract, entry.file
    parts = PurePosixPath(file).with_suffix("").parts[1:]
    kind = source_kind(contract, access)
    if not contract.datasets:
        problem = Problem("the contract describes no dataset, so there is nothing to check", contract.location)
        yield Broken(claims.free_key(*parts), file, (problem,), contract)
        return
    plans: Sequence[DatasetPlan]
    problems: tuple[Problem, ...] = ()
    try:
        plans = (entry.plan or plan(contract, access.plan_settings)).datasets
    except ContractError as error:
        problems = error.problems
        plans = [DatasetPlan(dataset, ()) for dataset in contract.datasets]
    for position, planned in enumerate(plans):
        one = with_availability(planned, contract) if made_elsewhere else planned
        data = ContractDatasetData(contract, _with_unscheduled(contract, one), file, kind)
        try:
            spec = translator.get_asset_spec(data)
            checks = build_checks(data, spec.key, translator, blocking)
        except DagsterError as error:
            refused = Problem(f"Dagster does not take '{one.dataset.name}': {error}", one.dataset.location)
            key = names.asset_key(one.dataset.key)
            yield Broken(key if key not in claims.keys else claims.free_key(*parts, one.dataset.name), file, (refused,))
            continue
        holder = claims.keys.get(spec.key)
        if holder is not None:
            taken = Problem(
                f"the asset key '{spec.key.to_user_string()}' of '{one.dataset.name}' is taken: {holder} has it too",
                one.dataset.location,
                hint="describe a dataset in one contract only, or give one of them another key with a translator",
            )
            key = claims.free_key(*parts, one.dataset.name)
            yield Broken(key, file, (taken,), contract, tuple(spec.owners))
            continue
        found = problems or _check_problems(spec.key, checks, file, claims)
        try:
            kept = (entry.kept, position) if entry.kept and data.plan is planned else None
            built = BuiltDataset(data, spec, grouped(checks, spec.key, group_by), kept=kept)
            built = _with_partitions(built, partitions)
        except PartitionError as error:
            found = (*found, Problem(f"its partitions cannot be told apart: {error}", one.dataset.location))
        yield Broken(spec.key, file, found, contract, tuple(spec.owners)) if found else built


def _with_partitions(built: BuiltDataset, settings: PartitionSettings | None) -> BuiltDataset:
    """The dataset with the partitions that the settings or its spec give it. Raises `PartitionError`."""
    data = built.data
    own = settings_for(settings, built.spec.partitions_def, data.contract, data.dataset, built.key)
    if own is None or own == "whole_table":
        return built
    checks = tuple(replace(one, spec=partitioned_check(one.spec, own)) for one in built.checks)
    spec = built.spec.replace_attributes(partitions_def=own.definition)
    return replace(built, spec=spec, checks=checks, partitions=partitioned(own, data.dataset))


def build_checks(
    data: ContractDatasetData, key: AssetKey, translator: ContractTranslator, blocking: Blocking
) -> tuple[BuiltCheck, ...]:
    """What the translator makes of the checks of a dataset, as checks of the asset `key`."""
    built = []
    for check in data.plan.checks:
        blocks = is_blocking(data.contract, check, blocking)
        spec = translator.get_check_spec(ContractCheckData(data.contract, data.dataset, check, key, data.file, blocks))
        built.append(BuiltCheck(check, spec, spec.blocking))
    return tuple(built)


def check_problems(key: AssetKey, checks: Sequence[BuiltCheck], file: str) -> tuple[Problem, ...]:
    """What is wrong with the names of the checks of one asset."""
    return _check_problems(key, checks, file, _Claims())


def _check_problems(key: AssetKey, checks: Sequence[BuiltCheck], file: str, claims: _Claims) -> tuple[Problem, ...]:
    problems: list[Problem] = []
    identifier = names.identifier(key)
    for one in checks:
        location = one.check.location
        if one.spec.asset_key != key:
            other = one.spec.asset_key.to_user_string()
            problems.append(
                Problem(
                    f"the check '{one.spec.name}' is of the asset '{other}', not of '{key.to_user_string()}'",
                    location,
                    hint="get_check_spec has to return a check of data.asset_key",
                )
            )
        if not names.CHECK_NAME.fullmatch(one.spec.name):
            problems.append(
                Problem(
                    f"Dagster does not accept the check name '{one.spec.name}'", location, hint="use a-z, 0-9 and _"
                )
            )
        own = identifier if one.spec.asset_key == key else names.identifier(one.spec.asset_key)
        output = f"{own}_{one.spec.name}"
        holder = claims.outputs.setdefault(output, (one, file))
        if holder[0] is not one:
            first, there = holder[0], holder[0].check.location
            where = f"{_called(first)} ({place(holder[1], there)} {there.path})"
            message = f"the check {_called(one)} and the check {where} are both '{output}' to Dagster"
            problems.append(Problem(message, location))
    return tuple(problems)


def _called(one: BuiltCheck) -> str:
    return f"{one.spec.asset_key.to_user_string()}:{one.spec.name}"


def _with_unscheduled(contract: Contract, plan: DatasetPlan) -> DatasetPlan:
    """The plan, with the cadences that no schedule can follow among what is not checked."""
    asked: list[tuple[Cadence, Location]] = [
        (Cadence(cron=check.schedule, timezone=rule_timezone(contract)), check.location)
        for check in plan.checks
        if check.schedule
    ]
    if contract.cadence is not None:
        asked.append((contract.cadence, contract.location))
    unscheduled: list[NotChecked] = []
    for cadence, location in asked:
        try:
            schedulable(cadence)
        except CadenceError as error:
            unscheduled.append(NotChecked(location, f"there is no schedule for it: {error}", "sla"))
    return replace(plan, not_checked=(*plan.not_checked, *unscheduled)) if unscheduled else plan


def rule_timezone(contract: Contract) -> str:
    """The time zone of the schedules of single rules: the contract's, which is UTC if it states none."""
    return contract.cadence.timezone if contract.cadence is not None else "UTC"


def _without_cycles(built: Sequence[BuiltDataset]) -> list[BuiltDataset]:
    """Cut the lineage where datasets claim to be made of each other; Dagster would load nothing at all."""
    specs: dict[AssetKey, AssetSpec] = {one.key: one.spec for one in built}
    while True:
        graph = {key: {dep.asset_key for dep in spec.deps} & specs.keys() for key, spec in specs.items()}
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            before, after = error.args[1][:2]
            specs[after] = _without_dep(specs[after], before)
        else:
            return [replace(one, spec=specs[one.key]) for one in built]


def _without_dep(spec: AssetSpec, key: AssetKey) -> AssetSpec:
    deps: list[AssetDep] = [dep for dep in spec.deps if dep.asset_key != key]
    note = f"'{key.to_user_string()}' is left out of the lineage: it is made of this dataset itself"
    return spec.replace_attributes(deps=deps).merge_attributes(metadata={"contract/lineage": note})
