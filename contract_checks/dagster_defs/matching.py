"""Contracts for assets that exist already: each dataset finds its asset by key or by the table it is in."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dagster import (
    AssetCheckKey,
    AssetCheckSpec,
    AssetKey,
    AssetSpec,
    DefaultScheduleStatus,
    Definitions,
    PreviewWarning,
)

from contract_checks.checks import Settings
from contract_checks.dagster_defs import names
from contract_checks.dagster_defs.access import Access, Pool, SourceLike
from contract_checks.dagster_defs.alerts import Alerts, alert_sensor, unusable, watched
from contract_checks.dagster_defs.assets import BuiltDataset, contract_checks_of
from contract_checks.dagster_defs.broken import GROUP, Broken, broken_asset
from contract_checks.dagster_defs.choices import asset_key
from contract_checks.dagster_defs.entity import with_asset
from contract_checks.dagster_defs.grouping import Grouping
from contract_checks.dagster_defs.loading import Contracts, gather
from contract_checks.dagster_defs.partitions import PartitionSettings
from contract_checks.dagster_defs.resource import RESOURCE_KEY, ContractSources
from contract_checks.dagster_defs.specs import translate
from contract_checks.dagster_defs.timetable import schedules_of_checks
from contract_checks.dagster_defs.translator import (
    Blocking,
    ContractCheckData,
    ContractDatasetData,
    ContractTranslator,
    known_blocking,
    place,
)
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.errors import Problem
from contract_checks.functions import NO_FUNCTIONS, MetricFunctions
from contract_checks.model import Dataset
from contract_checks.semantics import MetadataProvider
from contract_checks.sources.catalogue import name_parts

_log = logging.getLogger("contract_checks")


@dataclass(frozen=True)
class Unmatched:
    """A dataset of a contract that no asset was found for, and why."""

    dataset: str
    place: str
    reason: str


@dataclass(frozen=True)
class Matched:
    """What came of matching.

    `definitions` are those given, with the checks of every contract that found its asset. `matches` says
    which dataset an asset has (`contracts/orders.yaml:4`), `unmatched` lists the datasets that found none.
    """

    definitions: Definitions
    matches: Mapping[AssetKey, str]
    unmatched: tuple[Unmatched, ...]


def match_contracts(
    definitions: Definitions,
    contracts: Contracts,
    *,
    source: SourceLike | None = None,
    server: str | None = None,
    assets: Mapping[str, AssetKey | str | Sequence[str]] | None = None,
    translator: ContractTranslator | None = None,
    blocking: Blocking = "errors",
    resources: Mapping[str, Any] | None = None,
    describe: bool = True,
    strict: bool = False,
    retries: int = 2,
    retry_wait: float = 1.0,
    name: str = "contract",
    partitions: PartitionSettings | None = None,
    alerts: Alerts | None = None,
    metadata: MetadataProvider | None = None,
    group_by: Grouping | None = None,
    engines: Engines = NO_ENGINES,
    metrics: MetricFunctions = NO_FUNCTIONS,
    settings: Settings | None = None,
    schedules: DefaultScheduleStatus | None = None,
    pool: Pool = None,
    keep_measurements: bool = False,
) -> Matched:
    """Add the checks of contracts to definitions whose assets somebody else makes: dbt, dlt, anything.

    A dataset is that of the asset that has its key (as the translator gives it), else of the only one whose
    metadata `dagster/table_name` is its table, else of the only one whose key ends in its key or the other
    way round. What only one side says (a database, a schema, a prefix) is no difference.

    A contract that cannot be used, or whose checks do not fit, is a red asset of its own, as in
    `build_definitions`.

    Args:
        definitions: The definitions with the assets.
        contracts: A folder, a file, a contract already loaded, or several.
        assets: Which asset a dataset is, by the dataset's table or name, where it is not found by itself.
        describe: Whether assets get what contracts say of them as metadata, where they have none of that name, and
            the contract's freshness policy, where they have none.
        schedules: Whether schedules that run the checks at the contracts' cadences, and never the assets, are
            running or stopped when they first appear. By default there are none.
        source, server, translator, blocking, resources, strict, retries, retry_wait, name, partitions, alerts,
            metadata, group_by, engines, metrics, settings, pool, keep_measurements: as for `build_definitions`. An
            asset's own partitions are known, and rules about metadata see its owners, tags, description and columns
            as well.

    Raises:
        FileNotFoundError: When `contracts` are not there.
        ValueError: When `assets` names an asset that is not there.
    """
    specs = {spec.key: spec for spec in definitions.resolve_all_asset_specs()}
    finder = _Finder(translator or ContractTranslator(), specs, _given(assets or {}, specs))
    access = Access(source, server, RESOURCE_KEY, retries, retry_wait, metrics, settings or Settings(), pool=pool)
    access = replace(access, keep_measurements=keep_measurements)
    gathered = gather(contracts, strict, engines, access.plan_settings)
    translated = translate(
        gathered, finder, access, known_blocking(blocking), partitions, group_by, made_elsewhere=True
    )
    own_checks = definitions.resolve_asset_graph().asset_check_keys
    attached: list[BuiltDataset] = []
    broken = [replace(one, key=_aside(one.key, specs)) for one in translated.broken]
    for one in translated.built:
        problems = _taken(one, own_checks)
        if problems:
            broken.append(
                Broken(_aside(one.key, specs), one.data.file, problems, one.data.contract, tuple(one.spec.owners))
            )
        elif one.key in specs:
            attached.append(one)
    unmatched = tuple(finder.unmatched)
    for lost in unmatched:
        _log.warning("%s: there is no asset for '%s': %s", lost.place, lost.dataset, lost.reason)
    for red in broken:
        _log.error("%s", red.text)
    op_names = names.op_names(f"{name}_checks", [*(one.key for one in attached), *(one.key for one in broken)])
    added = Definitions(
        asset_checks=[
            contract_checks_of(
                one.data,
                one.checks,
                op_names[one.key],
                replace(access, metadata=with_asset(metadata, specs[one.key])),
                one.partitions,
                known=True,
            )
            for one in attached
        ],
        assets=[broken_asset(one, op_names[one.key], blocking != "none") for one in broken],
        resources={RESOURCE_KEY: ContractSources(), **(resources or {})},
        schedules=[
            made
            for one in attached
            if schedules is not None
            for made in schedules_of_checks(one.data.contract, one.key, one.checks, schedules, name)
        ],
        sensors=[alert_sensor(watched(attached, alerts), alerts, f"{name}_alerts", unusable(broken, alerts))]
        if alerts
        else [],
    )
    described = _described(definitions, attached) if describe else definitions
    matches = {one.key: place(one.data.file, one.data.dataset.location) for one in attached}
    return Matched(Definitions.merge(described, added), matches, unmatched)


class _Finder(ContractTranslator):
    """A translator under which a dataset has the key of the asset that was found for it."""

    def __init__(
        self, translator: ContractTranslator, specs: Mapping[AssetKey, AssetSpec], given: Mapping[str, AssetKey]
    ) -> None:
        self.translator, self.specs, self.given = translator, specs, given
        self.tables = {
            key: tuple(part.lower() for part in name_parts(str(table)))
            for key, spec in specs.items()
            if (table := _table(spec))
        }
        self.unmatched: list[Unmatched] = []

    def get_asset_spec(self, data: ContractDatasetData) -> AssetSpec:
        """What the contract says of the asset, with the key, the owners and the partitions the asset has."""
        spec = self.translator.get_asset_spec(data)
        found = self._find(spec.key, data.dataset)
        if isinstance(found, str):
            where = place(data.file, data.dataset.location)
            self.unmatched.append(Unmatched(data.dataset.name, where, found))
            return spec.replace_attributes(key=spec.key.with_prefix("unmatched_contracts"))
        there = self.specs[found]
        owners = list(dict.fromkeys((*there.owners, *spec.owners)))
        return spec.replace_attributes(key=found, owners=owners, partitions_def=there.partitions_def, deps=[])

    def get_check_spec(self, data: ContractCheckData) -> AssetCheckSpec:
        """The check, as the translator gives it."""
        return self.translator.get_check_spec(data)

    def _find(self, key: AssetKey, dataset: Dataset) -> AssetKey | str:
        """The asset of a dataset, or why there is none."""
        for name in (key.to_user_string(), dataset.physical_name, dataset.name):
            if name in self.given:
                return self.given[name]
        if key in self.specs:
            return key
        table = tuple(part.lower() for part in name_parts(dataset.physical_name))
        by_table = [one for one, own in self.tables.items() if _ends_alike(own, table)]
        parts = tuple(part.lower() for part in key.path)
        by_key = [one for one in self.specs if _ends_alike(tuple(part.lower() for part in one.path), parts)]
        for found, what in ((by_table, f"table '{dataset.physical_name}'"), (by_key, f"key '{key.to_user_string()}'")):
            if len(found) > 1:
                several = ", ".join(f"'{one.to_user_string()}'" for one in sorted(found))
                return f"several assets have the {what}: {several}; say which with assets="
            if found:
                return found[0]
        return f"no asset has the key '{key.to_user_string()}' or the table '{dataset.physical_name}'"


def _table(spec: AssetSpec) -> str | None:
    found = spec.metadata.get("dagster/table_name")
    return str(getattr(found, "value", found)) if found is not None else None


def _ends_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two names are the same as far as both say something."""
    common = min(len(one), len(other))
    return common > 0 and one[-common:] == other[-common:]


def _given(
    assets: Mapping[str, AssetKey | str | Sequence[str]], specs: Mapping[AssetKey, AssetSpec]
) -> Mapping[str, AssetKey]:
    given = {name: asset_key(one) for name, one in assets.items()}
    for name, key in given.items():
        if key not in specs:
            raise ValueError(f"assets= says that '{name}' is '{key.to_user_string()}', but there is no such asset")
    return given


def _taken(built: BuiltDataset, own: Collection[AssetCheckKey]) -> tuple[Problem, ...]:
    """The checks whose names the asset's own checks have."""
    return tuple(
        Problem(
            f"the asset '{built.key.to_user_string()}' has a check '{one.spec.name}' of its own",
            one.check.location,
            hint="give the rule another id, or the check another name with a translator",
        )
        for one in built.checks
        if one.spec.key in own
    )


def _aside(key: AssetKey, specs: Mapping[AssetKey, AssetSpec]) -> AssetKey:
    """A key for what cannot be used, that no asset has."""
    while key in specs:
        key = key.with_prefix(GROUP)
    return key


def _described(definitions: Definitions, attached: Sequence[BuiltDataset]) -> Definitions:
    """The definitions, whose assets have what contracts say of them as metadata, and are fresh as they promise."""
    said = {one.key: one.spec for one in attached}

    def describe(spec: AssetSpec) -> AssetSpec:
        own = said.get(spec.key)
        if own is None:
            return spec
        more = {key: value for key, value in own.metadata.items() if key not in spec.metadata}
        described = spec.merge_attributes(metadata=more) if more else spec
        if own.freshness_policy is None or spec.freshness_policy is not None:
            return described
        return described.replace_attributes(freshness_policy=own.freshness_policy)

    with warnings.catch_warnings():
        # Whoever calls this did not choose that method of Dagster.
        warnings.simplefilter("ignore", PreviewWarning)
        return definitions.map_asset_specs(func=describe)
