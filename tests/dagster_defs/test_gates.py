"""What stops whom: sections, single rules, drafts, and the gate across runs."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builders import contract_of, odcs
from databases import Put, Rows, duckdb_file
from pipelines import GOOD, ORDERS, TOO_FEW, only_plan, orders_contract, run_orders
from sqlalchemy import create_engine

from contract_checks.dagster_defs import build_contract_checks, build_definitions, gate_condition
from contract_checks.dagster_defs.translator import is_blocking
from contract_checks.model import Contract, Lifecycle


def with_word(blocking: bool | None, **more: Any) -> Contract:
    """The contract about orders whose row count says whether it blocks."""
    contract = orders_contract(**more)
    rules = tuple(
        replace(one, blocking=blocking) if one.rule == "rowCount" else one for one in contract.datasets[0].expectations
    )
    return contract.with_datasets((replace(contract.datasets[0], expectations=rules),))


@pytest.mark.parametrize(
    ("sections", "stops"), [({"quality"}, True), (["schema", "quality"], True), ({"schema"}, False)]
)
def test_only_the_chosen_sections_block(put: Put, sections: Any, stops: bool) -> None:
    """With sections for `blocking`, a broken promise of another section is shown and stops nothing."""
    ran = run_orders(orders_contract(), put("duckdb", TOO_FEW, "orders"), blocking=sections)

    assert ran.failed == ["quality__row_count"]
    assert ran.success is not stops
    assert ("revenue" in ran.materialized) is not stops


def test_a_section_that_is_none_is_refused() -> None:
    """A mistyped setting is an error that lists the right words, not a gate that is open."""
    with pytest.raises(ValueError, match="schema, semantics, quality, sla"):
        build_definitions(orders_contract(), blocking=["qualty"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'errors', 'none'"):
        build_contract_checks(orders_contract(), asset="orders", blocking="all")


@pytest.mark.parametrize(
    ("word", "setting", "lifecycle", "blocks"),
    [
        (None, "errors", "active", True),
        (False, "errors", "active", False),
        (False, {"quality"}, "active", False),
        (True, {"schema"}, "active", True),
        (True, "none", "active", False),
        (True, "errors", "draft", False),
        (None, {"quality"}, "draft", False),
    ],
)
def test_a_rule_has_a_word_of_its_own(word: bool | None, setting: Any, lifecycle: Lifecycle, blocks: bool) -> None:
    """What a rule says of blocking goes before the sections, but neither before `none` nor before a draft."""
    specs = {
        spec.name: spec.blocking
        for asset in build_definitions(with_word(word, lifecycle=lifecycle), blocking=setting).assets or ()
        for spec in asset.check_specs  # type: ignore[union-attr]
    }

    assert specs["quality__row_count"] is blocks


def test_a_warning_never_blocks_whatever_it_says() -> None:
    """A rule of severity warning cannot block, since Dagster never lets a warning stop anything."""
    contract = with_word(True)
    rules = tuple(replace(one, severity="warning", blocking=True) for one in contract.datasets[0].expectations)
    made = build_definitions(contract.with_datasets((replace(contract.datasets[0], expectations=rules),)))
    specs = [spec for asset in made.assets or () for spec in asset.check_specs]  # type: ignore[union-attr]

    assert not [spec.name for spec in specs if spec.blocking and not spec.name.startswith("schema")]


@pytest.mark.parametrize(("said", "read"), [("true", True), ("false", False), (True, True), (False, False)])
def test_the_custom_property_of_a_rule_is_its_word(said: Any, read: bool) -> None:
    """`blocking` among the custom properties of an ODCS rule is what it says of blocking."""
    rule = {"metric": "rowCount", "mustBe": 1, "customProperties": [{"property": "blocking", "value": said}]}
    contract = contract_of(odcs(quality=[rule]))

    assert contract.datasets[0].expectations[0].blocking is read
    assert not contract.problems


@pytest.mark.parametrize("properties", [[{"property": "blocked", "value": True}], [], "blocking", [7], None])
def test_nothing_else_is_a_word_on_blocking(properties: Any) -> None:
    """No other property, and nothing of another shape, says whether a rule blocks."""
    contract = contract_of(odcs(quality=[{"metric": "rowCount", "mustBe": 1, "customProperties": properties}]))

    assert contract.datasets[0].expectations[0].blocking is None


def test_a_word_on_blocking_that_is_none_is_a_problem() -> None:
    """A value that is neither true nor false is pointed at, and the setting counts."""
    rule = {"metric": "rowCount", "mustBe": 1, "customProperties": [{"property": "blocking", "value": "perhaps"}]}
    contract = contract_of(odcs(quality=[rule]))

    assert contract.datasets[0].expectations[0].blocking is None
    (problem,) = contract.problems
    assert problem.location.path == "$.schema[0].quality[0].customProperties[0].value"
    assert is_blocking(contract, only_plan(contract).checks[-1], "errors")


# --------------------------------------------------------------------------- across runs


class Line:
    """Definitions on an instance that lives through several runs, with an automation that is asked in between."""

    def __init__(self, definitions: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self.definitions, self.instance = definitions, instance
        self.cursor: Any = None
        self.requested()  # what is there at the beginning is nothing new

    def requested(self) -> int:
        """How many assets the automation asks for now."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dg.BetaWarning)  # Dagster's own tester uses a parameter that is beta
            result = dg.evaluate_automation_conditions(
                defs=self.definitions, instance=self.instance, cursor=self.cursor
            )
        self.cursor = result.cursor
        return result.total_requested

    def run(self, selection: dg.AssetSelection) -> bool:
        job = self.definitions.resolve_implicit_global_asset_job_def()
        keys = selection.resolve(self.definitions.resolve_asset_graph())
        checks = selection.resolve_checks(self.definitions.resolve_asset_graph())
        subset = job.get_subset(asset_selection=set(keys), asset_check_selection=set(checks))
        return subset.execute_in_process(instance=self.instance, raise_on_error=False).success


@dg.asset(deps=[ORDERS], automation_condition=dg.AutomationCondition.eager() & gate_condition())
def revenue() -> None:
    """Is made when the orders are new and keep their contract."""


@dg.asset(key=ORDERS)
def orders() -> None:
    """Is made by somebody else."""


def test_the_gate_holds_across_runs_of_a_contract(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    """What is downstream is not asked for while the contract is broken, and is as soon as it is kept again."""
    source = duckdb_file(tmp_path, Rows(GOOD), "orders")
    made = build_definitions(orders_contract(), source=source, retry_wait=0)
    line = Line(dg.Definitions.merge(made, dg.Definitions(assets=[revenue])), instance)
    upstream = dg.AssetSelection.assets(ORDERS)

    assert line.run(upstream)
    assert line.requested() == 1
    line.run(dg.AssetSelection.assets("revenue"))
    rewrite(source, TOO_FEW)
    assert not line.run(upstream)
    assert line.requested() == 0
    rewrite(source, GOOD)
    assert line.run(upstream)
    assert line.requested() == 1


def test_a_contract_that_contradicts_itself_holds_the_gate(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    """While a contract cannot be used, nothing downstream is asked for, not even of data that is new and was kept."""
    source = duckdb_file(tmp_path, Rows(GOOD), "orders")
    parts = {"orders": dg.StaticPartitionsDefinition(["a"])}  # which no column of it tells apart
    usable, red = (
        dg.Definitions.merge(
            build_definitions(orders_contract(), source=source, **settings), dg.Definitions(assets=[revenue])
        )
        for settings in ({}, {"partitions": parts})
    )
    line = Line(usable, instance)

    assert line.run(dg.AssetSelection.assets(ORDERS))
    line.definitions = red
    assert line.requested() == 0
    line.definitions = usable
    assert line.requested() == 1


def test_the_gate_holds_across_runs_of_an_existing_asset(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    """New data of somebody else's asset counts when its checks have passed on it, not before."""
    source = duckdb_file(tmp_path, Rows(GOOD), "orders")
    checks = build_contract_checks(orders_contract(), asset=ORDERS, source=source, retry_wait=0)
    line = Line(dg.Definitions(assets=[orders, revenue], asset_checks=[checks]), instance)
    alone = dg.AssetSelection.assets(ORDERS).without_checks()
    only = dg.AssetSelection.checks_for_assets(ORDERS)

    line.run(alone)
    assert line.requested() == 0, "nobody has checked the new data yet"
    rewrite(source, TOO_FEW)
    assert not line.run(only)
    assert line.requested() == 0
    rewrite(source, GOOD)
    assert line.run(only)
    assert line.requested() == 1


def rewrite(source: str, sql: str) -> None:
    """Put other rows into the table of orders."""
    engine = create_engine(source)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE OR REPLACE TABLE orders AS {sql}")
    engine.dispose()


def test_a_draft_holds_no_gate(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    """A contract that is not in force yet keeps nothing from running, in no later run either."""
    source = duckdb_file(tmp_path, Rows(TOO_FEW), "orders")
    made = build_definitions(orders_contract(lifecycle="draft"), source=source, retry_wait=0)
    line = Line(dg.Definitions.merge(made, dg.Definitions(assets=[revenue])), instance)

    assert line.run(dg.AssetSelection.assets(ORDERS))
    assert line.requested() == 1


def test_the_word_of_a_rule_survives_the_whole_way(put: Put) -> None:
    """A rule of a file that says it does not block fails, and what is downstream runs."""
    rule = {
        "metric": "rowCount",
        "mustBeGreaterThan": 5,
        "customProperties": [{"property": "blocking", "value": False}],
    }
    contract = contract_of(
        json.dumps({**json.loads(odcs("[{name: id, logicalType: integer}]", [rule], name="orders"))})
    )
    ran = run_orders(contract, put("duckdb", TOO_FEW, "orders"))

    assert ran.success
    assert ran.failed == ["quality__row_count"]
    assert "orders" in ran.materialized
