"""One op per dataset: it evaluates what is selected, says so, and publishes only what kept its promises."""

# Dagster reads the annotations of an op, so they are not postponed in this module.
from collections.abc import Generator, Iterator, Set
from dataclasses import dataclass
from typing import Literal

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckKey,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetExecutionContext,
    AssetKey,
    AssetObservation,
    AssetsDefinition,
    AssetSpec,
    Failure,
    MaterializeResult,
    multi_asset,
    multi_asset_check,
)

from contract_checks.dagster_defs.access import Access, StepContext, measure
from contract_checks.dagster_defs.freshness import availability
from contract_checks.dagster_defs.grouping import BuiltCheck, distinct_specs, group_result
from contract_checks.dagster_defs.metadata import asset_metadata, broken_promises, promises
from contract_checks.dagster_defs.partitions import Partitioned
from contract_checks.dagster_defs.parts import RunParts, parts_of
from contract_checks.dagster_defs.shelf import shelved
from contract_checks.dagster_defs.translator import ContractDatasetData
from contract_checks.results import CheckResult, DatasetReport, status_of

Publish = Literal["when_kept", "always"]
"""Whether a materialization is recorded only when no blocking promise is broken, or always."""


@dataclass(frozen=True)
class BuiltDataset:
    """A dataset with the specs of its asset and checks, ready to become a definition.

    `kept` are the bytes of the contract's plan and the dataset's place in it, if it is just as the cache has it.
    """

    data: ContractDatasetData
    spec: AssetSpec
    checks: tuple[BuiltCheck, ...]
    partitions: Partitioned | None = None
    kept: tuple[bytes, int] | None = None

    @property
    def key(self) -> AssetKey:
        """The asset's key."""
        return self.spec.key


def asset_of(built: BuiltDataset, op_name: str, access: Access, publish: Publish) -> AssetsDefinition:
    """The asset of a dataset with all its checks in one op, of which Dagster may run any part.

    Materializing it means: measure, tell every verdict, and last, unless a blocking promise is broken,
    record a materialization. Whoever selects the asset without some of its blocking checks gets these
    evaluated all the same: the gate is the asset's, not the selection's.
    """
    key, partitions = built.key, built.partitions
    contents = shelved(built.data, built.checks, built.kept)

    @multi_asset(
        name=op_name,
        specs=[built.spec],
        check_specs=distinct_specs(built.checks),
        can_subset=True,
        backfill_policy=partitions.settings.backfill if partitions is not None else None,
        required_resource_keys=access.resource_keys,
        pool=access.pool_of(built.data.contract),
        description=f"Evaluates the promises of {built.data.file} about '{built.data.dataset.name}'.",
    )
    def step(context: AssetExecutionContext) -> Iterator[AssetCheckResult | MaterializeResult[None]]:
        data, checks = contents()
        publishes = key in context.selected_asset_keys
        selected = chosen(checks, context.selected_asset_check_keys, and_blocking=publishes)
        parts = parts_of(context, partitions, known=True)
        if publishes and partitions is not None and not parts.keys:
            name = key.to_user_string()
            raise Failure(f"'{name}' is partitioned, and the run has no partition: nothing could be published.")
        report, broken = yield from evaluate(context, data, selected, access, parts)
        if not publishes:
            return
        metadata = asset_metadata(data.contract, report, parts.keys)
        if broken and publish == "when_kept":
            status = status_of(report.results).replace("_", " ")
            text = f"Not published: the contract is {status}."
            for one in parts.keys or (None,):
                context.log_event(AssetObservation(key, description=text, metadata=metadata, partition=one))
            return
        yield MaterializeResult(asset_key=key, metadata=metadata)

    return step


def contract_checks_of(
    data: ContractDatasetData,
    checks: tuple[BuiltCheck, ...],
    op_name: str,
    access: Access,
    partitions: Partitioned | None = None,
    known: bool = False,
) -> AssetChecksDefinition:
    """The checks of a dataset as checks of an asset that exists already, in one op.

    `known` says that an asset without `partitions` has none, or that its whole table is meant.
    """
    contents = shelved(data, checks)

    @multi_asset_check(
        name=op_name,
        specs=distinct_specs(checks),
        can_subset=True,
        required_resource_keys=access.resource_keys,
        pool=access.pool_of(data.contract),
        description=f"Evaluates the promises of {data.file} about '{data.dataset.name}'.",
    )
    def step(context: AssetCheckExecutionContext) -> Iterator[AssetCheckResult]:
        own, known_checks = contents()
        selected = chosen(known_checks, context.selected_asset_check_keys, and_blocking=False)
        yield from evaluate(context, own, selected, access, parts_of(context, partitions, known))

    return step


def chosen(checks: tuple[BuiltCheck, ...], keys: Set[AssetCheckKey], and_blocking: bool) -> tuple[BuiltCheck, ...]:
    """The checks that a run evaluates: those of these keys, and where the asset is made also the blocking ones."""
    return tuple(one for one in checks if one.spec.key in keys or (and_blocking and one.spec.blocking))


def evaluate(
    context: StepContext, data: ContractDatasetData, checks: tuple[BuiltCheck, ...], access: Access, parts: RunParts
) -> Generator[AssetCheckResult, None, tuple[DatasetReport, list[CheckResult]]]:
    """Yield the verdict on each check; return the report and the results that block."""
    by_name = {one.check.name: one.spec for one in checks}
    report = measure(context, data.contract, data.plan, by_name, access, parts)
    if checks:
        report = availability(context, report, checks[0].spec.asset_key)
    broken = yield from tell(context, data, checks, report)
    return report, broken


def blocking_results(checks: tuple[BuiltCheck, ...], report: DatasetReport) -> list[CheckResult]:
    """The results that close the gate."""
    gates = {one.check.name for one in checks if one.gates}
    return [result for result in report.results if result.blocks and result.check.name in gates]


def tell(
    context: StepContext, data: ContractDatasetData, checks: tuple[BuiltCheck, ...], report: DatasetReport
) -> Generator[AssetCheckResult, None, list[CheckResult]]:
    """Yield the verdict on each check and log what was found; return the results that block."""
    by_name = {one.check.name: one for one in checks}
    broken = blocking_results(checks, report)
    context.log.info(
        f"{promises(report.results)} of '{data.dataset.name}' evaluated in {report.seconds:.2f} s "
        f"with {len(report.statements)} statement{'' if len(report.statements) == 1 else 's'}."
    )
    groups: dict[AssetCheckKey, list[tuple[CheckResult, BuiltCheck]]] = {}
    for result in report.results:
        built = by_name[result.check.name]
        groups.setdefault(built.spec.key, []).append((result, built))
    for group in groups.values():
        yield group_result(group, group[0][1].spec, data.file)
    if broken:
        context.log.error(
            f"{data.file} about '{data.dataset.name}': {promises(broken, 'blocking promise')} broken, nothing "
            f"downstream may run: {broken_promises(broken)}"
        )
    others = [one for one in report.results if one.status in ("failed", "errored") and one not in broken]
    if others:
        context.log.warning(
            f"{data.file} about '{data.dataset.name}': {promises(others)} not kept, which stops nothing: "
            f"{broken_promises(others)}"
        )
    return broken
