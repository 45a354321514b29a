"""Contracts for Dagster tests, and runs of them with everything a test asks about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import dagster as dg

from contract_checks.checks import DatasetPlan, plan
from contract_checks.dagster_defs import build_definitions
from contract_checks.errors import Location
from contract_checks.metrics import Bound, RowCount, Threshold, Violations
from contract_checks.model import (
    Cadence,
    Column,
    Contract,
    Dataset,
    DeclaredType,
    Expectation,
    Lifecycle,
    Severity,
    Thresholds,
)

if TYPE_CHECKING:
    from databases import Put

ORDERS = dg.AssetKey(["warehouse", "orders"])

GOOD = "SELECT i AS id, i * 1.5::DOUBLE AS amount FROM range(1, 11) r(i)"
"""Ten orders that keep every promise of `orders_contract`."""
TOO_FEW = "SELECT 1 AS id, 2.0::DOUBLE AS amount"
"""Breaks the row count, which is of severity error."""
NEGATIVE = "SELECT i AS id, (i - 2)::DOUBLE AS amount FROM range(1, 11) r(i)"
"""One negative amount, which is worth a warning."""
NO_AMOUNT = "SELECT i AS id FROM range(1, 11) r(i)"
"""The column `amount` is not there, so that what is promised of it cannot be evaluated."""

RULES = ["quality__row_count", "schema__amount__minimum", "schema__columns", "schema__id__required"]
"""The checks of `orders_contract`, sorted."""


def orders_contract(
    *,
    file: str = "contracts/orders.yaml",
    key: Sequence[str] = ORDERS.path,
    lifecycle: Lifecycle = "active",
    cadence: Cadence | None = None,
    minimum: Severity = "warning",
    schedule: str | None = None,
    sources: tuple[str, ...] = (),
    columns: tuple[Column, ...] = (),
    **more: Any,
) -> Contract:
    """A contract about the table `orders`: at least five rows (error), no negative amount (a warning)."""

    def at(line: int) -> Location:
        return Location(file, line, f"$.line[{line}]")

    dataset = Dataset(
        name="orders",
        physical_name="orders",
        key=tuple(key),
        location=at(3),
        description="Every order.",
        columns=(
            Column("id", "id", at(5), required=True),
            Column("amount", "amount", at(6), optional=minimum == "warning"),
            *columns,
        ),
        expectations=(
            Expectation(
                "minimum",
                Violations(("amount",), Bound(">=", 0)),
                Thresholds((Threshold("mustBe", 0),)),
                at(7),
                "schema",
                minimum,
                field=("amount",),
            ),
            Expectation(
                "rowCount",
                RowCount(),
                Thresholds((Threshold("mustBeGreaterOrEqualTo", 5),)),
                at(9),
                "quality",
                schedule=schedule,
            ),
        ),
        sources=sources,
    )
    defaults: dict[str, Any] = {"id": "orders-1", "name": "Orders", "dialect": "odcs", "status": "active"}
    return Contract(location=at(1), lifecycle=lifecycle, cadence=cadence, datasets=(dataset,), **(defaults | more))


def typed(name: str, text: str, category: Any, **more: Any) -> Column:
    """A column of a declared type."""
    location = Location("contracts/orders.yaml", 20, f"$.{name}")
    return Column(name, name, location, type=DeclaredType(text, frozenset({category})), **more)


def only_plan(contract: Contract) -> DatasetPlan:
    """The plan of the contract's one dataset."""
    return plan(contract).datasets[0]


@dg.asset(deps=[ORDERS])
def revenue() -> None:
    """Is computed from the orders."""


@dataclass(frozen=True)
class Ran:
    """What a run left behind."""

    success: bool
    checks: dict[str, dg.AssetCheckEvaluation]
    materialized: dict[str, dg.AssetMaterialization]
    observed: dict[str, dg.AssetObservation]
    log: tuple[str, ...]

    @property
    def failed(self) -> list[str]:
        """The names of the checks that did not pass."""
        return sorted(name for name, check in self.checks.items() if not check.passed)


def run(
    definitions: dg.Definitions,
    selection: dg.AssetSelection | None = None,
    *,
    more: Iterable[Any] = (revenue,),
    resources: dict[str, Any] | None = None,
) -> Ran:
    """Run a selection (default: everything) of the definitions and of `more` in this process."""
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [*(definitions.assets or ()), *more],
            selection=selection,
            instance=instance,
            resources={**(definitions.resources or {}), **(resources or {})},
            raise_on_error=False,
        )
        events = [event for event in result.all_events if event.event_type_value == "ASSET_OBSERVATION"]
        log = tuple(entry.user_message for entry in instance.all_logs(result.run_id))
    data = [event.event_specific_data.asset_observation for event in events]  # type: ignore[union-attr]
    return Ran(
        success=result.success,
        checks={check.check_name: check for check in result.get_asset_check_evaluations()},
        materialized={
            event.materialization.asset_key.to_user_string(): event.materialization
            for event in result.get_asset_materialization_events()
        },
        observed={one.asset_key.to_user_string(): one for one in data},
        log=log,
    )


def run_orders(contract: Contract, source: Any, selection: dg.AssetSelection | None = None, **settings: Any) -> Ran:
    """Run a contract about the orders, and what is downstream of them."""
    return run(build_definitions(contract, source=source, retry_wait=0, **settings), selection)


def renamed(contract: Contract, **changes: Any) -> Contract:
    """The contract with changes to its only dataset."""
    return contract.with_datasets((replace(contract.datasets[0], **changes),))


class Desk:
    """A contract whose sensor is looked through: data comes and goes, runs and ticks happen.

    `sensor` is the argument of `build_definitions` that makes the sensor, `settings` are its other ones.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        put: Put,
        contract: Contract,
        sensor: dict[str, Any],
        settings: dict[str, Any],
    ) -> None:
        self.instance, self.put, self.contract, self.sensor, self.settings = instance, put, contract, sensor, settings
        self.cursor: str | None = None

    def _definitions(self, source: str) -> dg.Definitions:
        return build_definitions(self.contract, source=source, retry_wait=0, **self.sensor, **self.settings)

    def run(self, rows: str, **more: Any) -> None:
        """Fill a place anew and run the checks on it; without rows there is no such place."""
        definitions = self._definitions(self.put("parquet", rows, "orders") if rows else "/nowhere/at/all")
        dg.materialize(
            list(definitions.assets or ()),
            instance=self.instance,
            resources=dict(definitions.resources or {}),
            raise_on_error=False,
            **more,
        )

    def tick(self) -> None:
        """Let the sensor look, as a daemon would that was started again in between."""
        (sensor,) = self._definitions("duckdb://").sensors or ()
        context = dg.build_sensor_context(instance=self.instance, cursor=self.cursor)
        sensor.evaluate_tick(context)  # type: ignore[union-attr]
        self.cursor = context.cursor

    def after(self, *rows: str) -> None:
        """Run on rows, one after the other, then look."""
        for one in rows:
            self.run(one)
        self.tick()
