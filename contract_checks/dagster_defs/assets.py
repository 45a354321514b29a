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
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetObservation,
    AssetsDefinition,
    AssetSpec,
    MaterializeResult,
    multi_asset,
    multi_asset_check,
)

from contract_checks.checks import Check
from contract_checks.dagster_defs.access import Access, StepContext, measure
from contract_checks.dagster_defs.metadata import asset_metadata, broken_promises, check_result, promises
from contract_checks.dagster_defs.translator import ContractDatasetData
from contract_checks.results import CheckResult, DatasetReport, status_of

Publish = Literal["when_kept", "always"]
"""Whether a materialization is recorded only when no blocking promise is broken, or always."""


@dataclass(frozen=True)
class BuiltCheck:
    """A check and what the translator made of it."""

    check: Check
    spec: AssetCheckSpec


@dataclass(frozen=True)
class BuiltDataset:
    """A dataset with the specs of its asset and checks, ready to become a definition."""

    data: ContractDatasetData
    spec: AssetSpec
    checks: tuple[BuiltCheck, ...]

    @property
    def key(self) -> AssetKey:
        """The asset's key."""
        return self.spec.key


def contract_asset(built: BuiltDataset, op_name: str, access: Access, publish: Publish) -> AssetsDefinition:
    """The asset of a dataset with all its checks in one op, of which Dagster may run any part.

    Materializing it means: measure, tell every verdict, and last, unless a blocking promise is broken,
    record a materialization. Whoever selects the asset without some of its blocking checks gets these
    evaluated all the same: the gate is the asset's, not the selection's.
    """

    @multi_asset(
        name=op_name,
        specs=[built.spec],
        check_specs=[one.spec for one in built.checks],
        can_subset=True,
        required_resource_keys=access.resource_keys,
        description=f"Evaluates the promises of {built.data.file} about '{built.data.dataset.name}'.",
    )
    def step(context: AssetExecutionContext) -> Iterator[AssetCheckResult | MaterializeResult[None]]:
        publishes = built.key in context.selected_asset_keys
        selected = _selected(built.checks, context.selected_asset_check_keys, and_blocking=publishes)
        report, broken = yield from _evaluate(context, built.data, selected, access)
        if not publishes:
            return
        metadata = asset_metadata(built.data.contract, report)
        if broken and publish == "when_kept":
            status = status_of(report.results).replace("_", " ")
            context.log_event(
                AssetObservation(built.key, description=f"Not published: the contract is {status}.", metadata=metadata)
            )
            return
        yield MaterializeResult(asset_key=built.key, metadata=metadata)

    return step


def contract_checks_of(
    data: ContractDatasetData, checks: tuple[BuiltCheck, ...], op_name: str, access: Access
) -> AssetChecksDefinition:
    """The checks of a dataset as checks of an asset that exists already, in one op."""

    @multi_asset_check(
        name=op_name,
        specs=[one.spec for one in checks],
        can_subset=True,
        required_resource_keys=access.resource_keys,
        description=f"Evaluates the promises of {data.file} about '{data.dataset.name}'.",
    )
    def step(context: AssetCheckExecutionContext) -> Iterator[AssetCheckResult]:
        selected = _selected(checks, context.selected_asset_check_keys, and_blocking=False)
        yield from _evaluate(context, data, selected, access)

    return step


def _selected(checks: tuple[BuiltCheck, ...], keys: Set[AssetCheckKey], and_blocking: bool) -> tuple[BuiltCheck, ...]:
    return tuple(one for one in checks if one.spec.key in keys or (and_blocking and one.spec.blocking))


def _evaluate(
    context: StepContext, data: ContractDatasetData, checks: tuple[BuiltCheck, ...], access: Access
) -> Generator[AssetCheckResult, None, tuple[DatasetReport, list[CheckResult]]]:
    """Yield the verdict on each check; return the report and the results that block."""
    by_name = {one.check.name: one.spec for one in checks}
    report = measure(context, data.contract, data.plan, by_name, access)
    broken = [result for result in report.results if result.blocks and by_name[result.check.name].blocking]
    context.log.info(
        f"{promises(report.results)} of '{data.dataset.name}' evaluated in {report.seconds:.2f} s "
        f"with {len(report.statements)} statement{'' if len(report.statements) == 1 else 's'}."
    )
    for result in report.results:
        yield check_result(result, by_name[result.check.name], data.file)
    if broken:
        context.log.error(
            f"{data.file} about '{data.dataset.name}': {promises(broken, 'blocking promise')} broken, nothing "
            f"downstream may run: {broken_promises(broken)}"
        )
    return report, broken
