"""How a step reaches the data of a contract, and what becomes of a source that does not answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dagster import AssetCheckExecutionContext, AssetExecutionContext

from contract_checks import run, sources
from contract_checks.checks import DatasetPlan, Settings
from contract_checks.dagster_defs import names
from contract_checks.dagster_defs.parts import WHOLE, RunParts, evaluate_parts
from contract_checks.dagster_defs.resource import ContractSources
from contract_checks.errors import MissingDriverError, ServerError, SourceError, UnsafeQueryError
from contract_checks.functions import MetricFunctions
from contract_checks.metrics import RowFilter
from contract_checks.model import Contract
from contract_checks.results import CheckResult, DatasetReport
from contract_checks.semantics import MetadataProvider
from contract_checks.sources import Source

if TYPE_CHECKING:
    from sqlalchemy import Engine

StepContext: TypeAlias = AssetExecutionContext | AssetCheckExecutionContext
SourceLike: TypeAlias = "str | Path | Engine | Source"

Pool: TypeAlias = "str | Callable[[Contract], str | None] | None"
"""Dagster's pool that a step takes a slot of: one name for all, or a function that names a contract's."""

MEASUREMENTS = "contract_measurements.sqlite"
"""The store of kept measurements in the storage of a Dagster instance."""

_FOR_GOOD = (ServerError, MissingDriverError, UnsafeQueryError)


@dataclass(frozen=True)
class Access:
    """The settings of a definition that say where its data is.

    `source` goes before `server`, and both before the resource of that key. A source that cannot be reached
    is asked again `retries` times, after `retry_wait` seconds and then twice as long each time. `metrics` are
    functions that measure what they are named after, `settings` how promises are read, `metadata` is what rules
    about metadata see. `pool` says who else may ask that place at the same time.
    `keep_measurements` keeps what is measured of files in the instance's storage, where the settings name no store.
    """

    source: SourceLike | None = None
    server: str | None = None
    resource_key: str | None = None
    retries: int = 2
    retry_wait: float = 1.0
    metrics: MetricFunctions = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    metadata: MetadataProvider | None = None
    pool: Pool = None
    keep_measurements: bool = False

    def pool_of(self, contract: Contract) -> str | None:
        """The pool of the steps of a contract, or None for no limit."""
        return self.pool(contract) if callable(self.pool) else self.pool

    @property
    def plan_settings(self) -> Settings:
        """The settings that contracts are planned with: those given, and the names of the functions."""
        return replace(self.settings, metrics=self.settings.metrics | self.metrics.keys())

    @property
    def resource_keys(self) -> set[str]:
        """The keys of the resources that a step needs."""
        return {self.resource_key} if self.resource_key else set()


def measure(
    context: StepContext,
    contract: Contract,
    plan: DatasetPlan,
    checks: Collection[str],
    access: Access,
    parts: RunParts = WHOLE,
) -> DatasetReport:
    """Evaluate `checks` of a dataset: one result for each of them, in the plan's order, whatever happens.

    Retries happen here, before anything is yielded, so that no event is ever repeated. What cannot be
    evaluated is errored with its reason, never left out: to Dagster, a blocking check without a result is
    a check that does not block. `parts` says which partitions are meant.
    """
    return _complete(_measure(context, contract, plan, checks, access, parts), plan, checks)


def _measure(
    context: StepContext,
    contract: Contract,
    plan: DatasetPlan,
    checks: Collection[str],
    access: Access,
    parts: RunParts,
) -> DatasetReport:
    def evaluate(chosen: Collection[str], rows: RowFilter | None) -> DatasetReport:
        source = _source(context, contract, access)
        more: dict[str, Any] = {
            "metadata": access.metadata,
            "metrics": access.metrics,
            "settings": _settings(context, access),
        }
        return run.check_dataset(plan, source, checks=chosen, rows=rows, **more)

    wait = access.retry_wait
    for remaining in range(access.retries, -1, -1):
        try:
            return evaluate_parts(plan, checks, parts, evaluate)
        except _FOR_GOOD as error:
            return run.errored_report(plan, str(error), checks, access.metadata)
        except SourceError as error:
            if not remaining:
                return run.errored_report(plan, str(error), checks, access.metadata)
            context.log.warning(f"The data of '{plan.dataset.name}' cannot be reached, next try in {wait:g} s: {error}")
            time.sleep(wait)
            wait *= 2
        except Exception as error:
            # Whatever it was, the checks were not evaluated: that has to be said of each, with the cause.
            context.log.exception(f"The checks of '{plan.dataset.name}' ended in an unexpected error.")
            return run.errored_report(plan, f"{type(error).__name__}: {error}", checks, access.metadata)
    return run.errored_report(plan, "no attempt was made", checks)


def _settings(context: StepContext, access: Access) -> Settings:
    if not access.keep_measurements or access.settings.measurements is not None:
        return access.settings
    store = Path(context.instance.storage_directory()) / MEASUREMENTS
    return replace(access.settings, measurements=str(store))


def _source(context: StepContext, contract: Contract, access: Access) -> Source:
    """The source of a contract's data; of a database one that shares its connections, if there is a resource."""
    source = _found_source(context, contract, access)
    resource = getattr(context.resources, access.resource_key) if access.resource_key is not None else None
    return resource.sharing(source) if isinstance(resource, ContractSources) else source


def _found_source(context: StepContext, contract: Contract, access: Access) -> Source:
    if access.source is not None:
        source = str(access.source) if isinstance(access.source, Path) else access.source
        return sources.resolve(contract, source=source)
    allowed = access.settings.allowed_paths
    allowed = sources.allowed_by_default(contract) if allowed is None else allowed
    if access.resource_key is not None:
        resource: ContractSources = getattr(context.resources, access.resource_key)
        return resource.source_of(contract, access.server, allowed)
    return sources.resolve(contract, server=access.server, allowed=allowed)


def _complete(report: DatasetReport, plan: DatasetPlan, checks: Collection[str]) -> DatasetReport:
    by_name = {result.check.name: result for result in report.results}
    results = tuple(
        by_name.get(check.name) or CheckResult(check, "errored", "Could not evaluate: no verdict was reached.")
        for check in plan.select(checks)
    )
    return replace(report, results=results)


def source_kind(contract: Contract, access: Access) -> str | None:
    """The kind of place the data is in (`duckdb`, `postgres`, `parquet`), if the settings or the contract tell."""
    if access.source is None:
        servers = [one for one in contract.servers if access.server in (None, one.name)]
        kind = servers[0].type if len(servers) == 1 else ""
    elif isinstance(access.source, str) and "://" in access.source:
        kind = access.source.split("://")[0].split("+")[0]
    elif isinstance(access.source, str | Path):
        kind = Path(access.source).suffix.lstrip(".")
    else:
        kind = str(getattr(getattr(access.source, "dialect", None), "name", ""))
    known = {"postgresql": "postgres", "sc": "spark", "local": None, "custom": None, "": None}
    return known[kind.lower()] if kind.lower() in known else names.tag_key(kind.lower())
