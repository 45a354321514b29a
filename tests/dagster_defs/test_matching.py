"""Contracts find the assets that somebody else makes."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builders import contract_of, odcs
from databases import Put
from pipelines import GOOD, RULES, TOO_FEW, orders_contract

from contract_checks.dagster_defs import Matched, build_contract_checks, match_contracts
from contract_checks.model import Cadence, Contract, Duration

DAILY = dg.DailyPartitionsDefinition("2024-01-01", end_date="2024-02-01")


def named(name: str, table: str, **more: Any) -> Contract:
    """A contract about a table."""
    return contract_of(
        odcs("[{name: id, logicalType: integer}]", name=table, more={"id": name}, **more), f"{name}.yaml"
    )


def defined(*assets: Any, **more: Any) -> dg.Definitions:
    """Definitions with these assets."""
    return dg.Definitions(assets=assets, **more)


def found(matched: Matched) -> dict[str, str]:
    """The matches, by the asset's key as text."""
    return {key.to_user_string(): place.partition(":")[0] for key, place in matched.matches.items()}


def spec(key: str, table: str | None = None) -> dg.AssetSpec:
    """An asset that may say its table."""
    return dg.AssetSpec(dg.AssetKey.from_user_string(key), metadata={"dagster/table_name": table} if table else {})


@dg.asset(key=["warehouse", "orders"])
def orders() -> None:
    """Is made by somebody else."""


@dg.asset(deps=[orders])
def report() -> None:
    """Is computed from it."""


def run(definitions: dg.Definitions) -> dg.ExecuteInProcessResult:
    """Run everything."""
    dg.Definitions.validate_loadable(definitions)
    job = definitions.resolve_implicit_global_asset_job_def()
    with dg.DagsterInstance.ephemeral() as instance:
        return job.execute_in_process(instance=instance, raise_on_error=False)


def test_matched_contracts_gate_their_assets(put: Put) -> None:
    """The checks of a matched contract run after its asset, and keep what is downstream from running."""
    kept, broken = (
        run(match_contracts(defined(orders, report), orders_contract(), source=put(place, rows, "orders")).definitions)
        for place, rows in (("duckdb", GOOD), ("sqlite", TOO_FEW))
    )
    assert kept.success
    assert sorted(one.check_name for one in kept.get_asset_check_evaluations()) == RULES
    assert not broken.success
    made = {event.asset_key for event in broken.get_asset_materialization_events()}
    assert made == {dg.AssetKey(["warehouse", "orders"])}


@pytest.mark.parametrize(
    ("assets", "table", "expected"),
    [
        ([spec("main/orders"), spec("other")], "main.orders", "main/orders"),
        ([spec("a", "db.main.orders"), spec("b", "db.main.items")], "main.orders", "a"),
        ([spec("a", "ORDERS")], "db.main.orders", "a"),
        ([spec("lake/main/orders")], "main.orders", "lake/main/orders"),
        ([spec("orders")], "main.orders", "orders"),
        ([spec("orders", "main.items"), spec("x", "main.orders")], "main.orders", "x"),
    ],
    ids=["key", "table", "case", "longer key", "shorter key", "table before the end of a key"],
)
def test_a_dataset_finds_its_asset(assets: list[dg.AssetSpec], table: str, expected: str) -> None:
    """By key first, then by table, then by the end of the key."""
    matched = match_contracts(defined(*assets), named("c", table), source="duckdb://")

    assert found(matched) == {expected: "c.yaml"}
    assert not matched.unmatched


def test_what_finds_no_asset_is_listed(caplog: pytest.LogCaptureFixture) -> None:
    """Datasets without an asset, and those with several, are listed with the reason, and are no asset."""
    assets = [spec("a", "x.orders"), spec("b", "y.orders"), spec("c")]
    matched = match_contracts(defined(*assets), [named("one", "orders"), named("two", "items")], source="duckdb://")

    assert not matched.matches
    reasons = {one.dataset: one.reason for one in matched.unmatched}
    assert reasons["orders"] == "several assets have the table 'orders': 'a', 'b'; say which with assets="
    assert reasons["items"] == "no asset has the key 'items' or the table 'items'"
    assert matched.unmatched[0].place == "one.yaml:9"
    assert "there is no asset for 'items'" in caplog.text
    assert matched.definitions.resolve_all_asset_keys() == defined(*assets).resolve_all_asset_keys()


def test_the_asset_can_be_named() -> None:
    """A setting decides where names do not."""
    assets = [spec("a", "x.orders"), spec("b", "y.orders")]
    matched = match_contracts(defined(*assets), named("one", "orders"), source="duckdb://", assets={"orders": "b"})

    assert found(matched) == {"b": "one.yaml"}
    with pytest.raises(ValueError, match="no such asset"):
        match_contracts(defined(*assets), named("one", "orders"), assets={"orders": "z"})


def test_assets_show_what_their_contract_says() -> None:
    """An asset gets the contract's metadata, and keeps its own."""
    own = dg.AssetSpec("orders", metadata={"contract/id": "mine", "other": 1})
    described = match_contracts(defined(own), named("one", "orders"), source="duckdb://")
    plain = match_contracts(defined(own), named("one", "orders"), source="duckdb://", describe=False)

    def metadata(matched: Matched) -> Any:
        (only,) = matched.definitions.resolve_all_asset_specs()
        return only.metadata

    assert metadata(described)["contract/id"] == "mine"
    assert [column.name for column in metadata(described)["dagster/column_schema"].columns] == ["id"]
    assert "dagster/column_schema" not in metadata(plain)


def test_a_matched_asset_is_as_fresh_as_its_contract_promises() -> None:
    """It gets the contract's freshness policy and deadline check, and keeps a policy of its own."""
    own = dg.FreshnessPolicy.time_window(fail_window=timedelta(days=9))
    contract = orders_contract(cadence=Cadence(Duration(1, "day"), time_of_day="09:00"))
    without, with_own = (
        match_contracts(defined(dg.AssetSpec(["warehouse", "orders"], freshness_policy=policy)), contract)
        for policy in (None, own)
    )

    (spec_without,) = without.definitions.resolve_all_asset_specs()
    (spec_with,) = with_own.definitions.resolve_all_asset_specs()
    assert type(spec_without.freshness_policy).__name__ == "CronFreshnessPolicy"
    assert spec_with.freshness_policy == own
    checks = without.definitions.resolve_asset_graph().asset_check_keys
    assert "sla__materialized_in_time" in {key.name for key in checks}


def test_matched_contracts_have_schedules_if_asked() -> None:
    """The schedules run the checks at the contract's cadence; without the setting there are none."""
    contract = orders_contract(cadence=Cadence(Duration(1, "day")))
    none, some = (
        match_contracts(defined(orders), contract, source="duckdb://", schedules=status).definitions
        for status in (None, dg.DefaultScheduleStatus.RUNNING)
    )
    dg.Definitions.validate_loadable(some)

    assert not none.schedules
    (schedule,) = some.schedules or ()
    assert schedule.name == "contract_sla__warehouse__orders__every_1_d__0000_utc"
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING  # type: ignore[union-attr]


def test_a_partitioned_asset_is_looked_at_by_its_partitions(put: Put) -> None:
    """The partitions of a matched asset are known; a contract that cannot tell them apart is shown as broken."""

    @dg.asset(partitions_def=DAILY)
    def t() -> None:
        """Is made a day at a time."""

    marked = "[{name: day, logicalType: date, partitioned: true, partitionKeyPosition: 1}]"
    rule = "[{id: enough, metric: rowCount, mustBe: 2}]"
    rows = "SELECT DATE '2024-01-01' + (i // 2)::INT AS day FROM range(8) r(i)"
    good = match_contracts(defined(t), contract_of(odcs(marked, rule)), source=put("duckdb", rows)).definitions
    job = good.resolve_implicit_global_asset_job_def()
    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(instance=instance, partition_key="2024-01-03")
    assert all(one.passed for one in done.get_asset_check_evaluations())

    bad = match_contracts(defined(t), contract_of(odcs("[{name: day}]", rule)), source="duckdb://")
    assert not bad.matches
    groups = {one.key.to_user_string(): one.group_name for one in bad.definitions.resolve_all_asset_specs()}
    assert groups["broken_contracts/t"] == "broken_contracts"


@pytest.mark.slow
def test_the_dbt_example_runs(tmp_path: Path) -> None:
    """The example of docs/dbt.md is a dbt project whose contract gates what depends on its model."""
    pytest.importorskip("dagster_dbt")
    pytest.importorskip("dbt.adapters.duckdb")
    page = (Path(__file__).parents[2] / "docs" / "dbt.md").read_text(encoding="utf-8")
    for name, code in re.findall(r"<!-- file: ([^ ]+) -->\n```\w+\n(.*?)```\n", page, re.DOTALL):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(code, encoding="utf-8")
    driver = (
        "import dagster as dg, sys\nfrom definitions import defs, matched\n"
        "print(sorted(key.to_user_string() for key in matched.matches), [one.dataset for one in matched.unmatched])\n"
        "job = defs.resolve_implicit_global_asset_job_def()\n"
        "with dg.DagsterInstance.ephemeral() as instance:\n"
        "    done = job.execute_in_process(instance=instance, raise_on_error=False)\n"
        "print(done.success, sorted(one.check_name for one in done.get_asset_check_evaluations() if not one.passed))\n"
        "print(sorted(one.asset_key.to_user_string() for one in done.get_asset_materialization_events()))\n"
    )
    command = [sys.executable, "-c", driver]
    path = str(Path(__file__).parents[2])

    def ran() -> list[str]:
        environment = {"PYTHONPATH": path, "PATH": str(Path(sys.executable).parent), "HOME": str(tmp_path)}
        environment["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return [line for line in done.stdout.splitlines() if line.startswith(("['", "True ", "False "))][-3:]

    assert ran() == ["['orders', 'revenue'] ['customers']", "True []", "['orders', 'report', 'revenue']"]
    model = tmp_path / "shop" / "models" / "orders.sql"
    model.write_text(model.read_text().replace("range(10)", "range(3)"))
    assert ran()[1:] == ["False ['quality__enough']", "['orders', 'revenue']"]


def test_existing_assets_take_checks_one_by_one(put: Put) -> None:
    """`build_contract_checks` is the same for one asset, without any matching."""
    checks = build_contract_checks(orders_contract(), asset=orders, source=put("duckdb", GOOD, "orders"))

    assert run(dg.Definitions(assets=[orders], asset_checks=[checks])).success
