"""Contracts that cannot be used, beside contracts that can."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from builders import odcs
from databases import Put
from pipelines import GOOD, ORDERS, orders_contract, renamed, run, run_orders

from contract_checks.dagster_defs import ContractCheckData, ContractDatasetData, ContractTranslator, build_definitions
from contract_checks.errors import ContractError


def keys(definitions: dg.Definitions) -> set[str]:
    return {key.to_user_string() for asset in definitions.assets or () for key in asset.keys}  # type: ignore[union-attr]


def test_a_broken_file_becomes_a_red_asset_and_harms_no_other(
    tmp_path: Path, put: Put, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that cannot be read is an asset whose one check fails with every problem; the others run."""
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / "good.odcs.yaml").write_text(odcs("[{name: id, logicalType: integer, required: true}]", name="orders"))
    (folder / "broken.odcs.yaml").write_text("apiVersion: v3.1.0\nkind: DataContract\nid: [\n")
    with caplog.at_level(logging.ERROR):
        definitions = build_definitions(folder, source=put("duckdb", GOOD, "orders"))
    ran = run(definitions, more=())

    assert keys(definitions) == {"orders", "broken_contracts/broken_odcs"}
    assert ran.failed == ["contract__readable"]
    assert "contracts/broken.odcs.yaml:" in str(ran.checks["contract__readable"].description)
    assert set(ran.materialized) == {"orders"}
    assert "contracts/broken.odcs.yaml" in caplog.text


def test_a_broken_file_can_be_refused(tmp_path: Path) -> None:
    """With `on_broken="raise"` definitions with a broken contract do not load at all."""
    (tmp_path / "empty.yaml").write_text("")

    with pytest.raises(ContractError) as caught:
        build_definitions(tmp_path, on_broken="raise")
    assert "empty.yaml" in str(caught.value)


def test_two_contracts_about_one_asset_name_both_places(put: Put) -> None:
    """The second of two contracts with one asset key is broken, and its problem names both files."""
    second = orders_contract(file="contracts/orders_copy.yaml")
    definitions = build_definitions([orders_contract(), second], source=put("duckdb", GOOD, "orders"))
    ran = run(definitions)

    assert keys(definitions) == {"warehouse/orders", "broken_contracts/orders_copy/orders"}
    text = str(ran.checks["contract__readable"].description)
    assert "contracts/orders_copy.yaml:3" in text
    assert "contracts/orders.yaml:3" in text
    assert set(ran.materialized) == {"warehouse/orders", "revenue"}


def test_two_rules_with_one_id_keep_their_asset_red(put: Put) -> None:
    """A contract whose rules contradict each other keeps its asset, which cannot be materialized."""
    contract = orders_contract()
    first, second = contract.datasets[0].expectations
    twice = renamed(
        contract, expectations=(replace(first, id="same", field=None), replace(second, id="same", section="schema"))
    )
    ran = run_orders(twice, put("duckdb", GOOD, "orders"))

    assert ran.failed == ["contract__readable"]
    assert not ran.success
    assert not ran.materialized


class OneNameForAll(ContractTranslator):
    def get_check_spec(self, data: ContractCheckData) -> dg.AssetCheckSpec:
        return dg.AssetCheckSpec("same", asset=data.asset_key)


class OfAnotherAsset(ContractTranslator):
    def get_check_spec(self, data: ContractCheckData) -> dg.AssetCheckSpec:
        return dg.AssetCheckSpec(data.check.name, asset="another")


@pytest.mark.parametrize(
    ("translator", "words"),
    [(OneNameForAll(), "are both 'warehouse__orders_same'"), (OfAnotherAsset(), "is of the asset 'another'")],
    ids=["one name", "another asset"],
)
def test_checks_that_dagster_would_confuse_are_problems(put: Put, translator: ContractTranslator, words: str) -> None:
    """What Dagster would merge or misplace in silence is found when the definitions load, with both places."""
    ran = run_orders(orders_contract(), put("duckdb", GOOD, "orders"), translator=translator)

    text = str(ran.checks["contract__readable"].description)
    assert words in text
    assert "contracts/orders.yaml:" in text
    assert not ran.materialized


class Refused(ContractTranslator):
    def get_asset_spec(self, data: ContractDatasetData) -> dg.AssetSpec:
        return super().get_asset_spec(data).replace_attributes(owners=["nobody in particular"])


def test_what_dagster_refuses_harms_no_other(put: Put) -> None:
    """An asset that Dagster does not take is red with Dagster's reason, and everything loads."""
    ran = run_orders(orders_contract(), put("duckdb", GOOD, "orders"), translator=Refused())

    assert "nobody in particular" in str(ran.checks["contract__readable"].description)
    assert not ran.materialized


def test_a_contract_without_a_dataset_is_not_silent() -> None:
    """A contract that describes no data is shown as broken, since nobody would miss it otherwise."""
    definitions = build_definitions(orders_contract().with_datasets(()))

    assert keys(definitions) == {"broken_contracts/orders"}


def test_datasets_made_of_each_other_still_load() -> None:
    """A circle in the lineage is cut, since Dagster would load nothing; the asset says so."""
    one = orders_contract(sources=("warehouse.items",))
    other = orders_contract(file="contracts/items.yaml", key=("warehouse", "items"), sources=("warehouse.orders",))
    definitions = build_definitions([one, other])
    dg.Definitions.validate_loadable(definitions)
    specs = {spec.key: spec for spec in definitions.resolve_all_asset_specs()}

    assert sum(len(list(spec.deps)) for spec in specs.values()) == 1
    assert any("contract/lineage" in spec.metadata for spec in specs.values())
    assert ORDERS in specs


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A wrong path is the caller's mistake, not an empty set of contracts."""
    with pytest.raises(FileNotFoundError, match="contarcts"):
        build_definitions(tmp_path / "contarcts")


def test_a_contract_named_twice_counts_once(tmp_path: Path) -> None:
    """A file that is given by itself and with its folder is one contract, not two with one key."""
    file = tmp_path / "orders.yaml"
    file.write_text(odcs("[{name: id, logicalType: integer}]", name="orders"))

    assert keys(build_definitions([tmp_path, file])) == {"orders"}


def test_two_broken_files_of_one_name_are_both_shown(tmp_path: Path) -> None:
    """Files of one name in different folders are different files, also when both are broken."""
    for folder in ("a/contracts", "b/contracts"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "orders.yaml").write_text("")
    definitions = build_definitions([tmp_path / "a/contracts", tmp_path / "b/contracts"])

    assert len(keys(definitions)) == 2
    dg.Definitions.validate_loadable(definitions)
