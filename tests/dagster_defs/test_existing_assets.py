"""Contracts on assets that somebody else makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builders import odcs
from databases import Put
from pipelines import GOOD, RULES, TOO_FEW, Ran, orders_contract, run

from contract_checks.dagster_defs import ContractSources, build_contract_checks


@dg.asset
def orders() -> None:
    """Is made by somebody else."""


@dg.asset(deps=[orders])
def report() -> None:
    """Is computed from it."""


def run_with(checks: dg.AssetChecksDefinition, **more: Any) -> Ran:
    return run(dg.Definitions(), more=[orders, report, checks], **more)


def test_an_existing_asset_is_gated(put: Put) -> None:
    """The asset itself is made; what is downstream of it waits for the contract and does not run."""
    ran = run_with(build_contract_checks(orders_contract(), asset=orders, source=put("duckdb", TOO_FEW, "orders")))

    assert not ran.success
    assert sorted(ran.checks) == RULES
    assert set(ran.materialized) == {"orders"}


def test_an_existing_asset_that_keeps_its_promises_opens_the_way(put: Put) -> None:
    """With good data everything downstream runs."""
    ran = run_with(build_contract_checks(orders_contract(), asset="orders", source=put("duckdb", GOOD, "orders")))

    assert ran.success
    assert set(ran.materialized) == {"orders", "report"}


def test_one_check_of_an_existing_asset_runs_alone(put: Put) -> None:
    """Any part of the checks can be selected, without the asset."""
    checks = build_contract_checks(orders_contract(), asset=orders, source=put("duckdb", TOO_FEW, "orders"))
    one = dg.AssetSelection.checks(dg.AssetCheckKey(orders.key, "schema__columns"))
    ran = run_with(checks, selection=one)

    assert list(ran.checks) == ["schema__columns"]
    assert not ran.materialized


def test_an_existing_asset_may_use_the_resource(put: Put) -> None:
    """With a resource key the data is where the resource says."""
    checks = build_contract_checks(orders_contract(), asset=orders, resource_key="places")
    ran = run_with(checks, resources={"places": ContractSources(default=put("duckdb", GOOD, "orders"))})

    assert ran.success


def test_a_contract_file_is_read(tmp_path: Path) -> None:
    """A path will do for the contract, and a path for the asset's key."""
    file = tmp_path / "orders.yaml"
    file.write_text(odcs("[{name: id, logicalType: integer, required: true}]", name="orders"))
    checks = build_contract_checks(file, asset="warehouse/orders")

    assert {key.asset_key for key in checks.check_keys} == {dg.AssetKey(["warehouse", "orders"])}


def test_a_dataset_must_be_named_where_there_are_several() -> None:
    """Which of several datasets is meant is not guessed; the error lists them."""
    contract = orders_contract()
    several = contract.with_datasets((contract.datasets[0], replace(contract.datasets[0], name="items")))

    with pytest.raises(ValueError, match="'orders', 'items'"):
        build_contract_checks(several, asset=orders)
    with pytest.raises(ValueError, match="no dataset 'other'"):
        build_contract_checks(several, asset=orders, dataset="other")


def test_one_of_several_assets_must_be_named() -> None:
    """A definition that makes several assets does not say which one is meant."""

    @dg.multi_asset(specs=[dg.AssetSpec("a"), dg.AssetSpec("b")])
    def both() -> Iterator[dg.MaterializeResult[None]]:
        yield dg.MaterializeResult(asset_key="a")

    with pytest.raises(ValueError, match="2 assets"):
        build_contract_checks(orders_contract(), asset=both)
