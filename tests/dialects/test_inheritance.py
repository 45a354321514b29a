"""What a contract takes over from that of its data product, and what it never does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from contract_checks.checks import plan
from contract_checks.dialects import load_directory, read
from contract_checks.dialects.document import parse_document
from contract_checks.dialects.inheritance import INHERITED, inherit
from contract_checks.model import Contract, Duration

PRODUCT = """
name: sales
entityStatus: Approved
entity: {type: dataProduct, name: Sales, fullyQualifiedName: Sales}
termsOfUse: Ask first.
security: {dataClassification: Confidential}
semantics:
  - {name: owned, description: It has owners, enabled: true, rule: '{"!!": {"var": "owners"}}'}
  - {name: described, description: It is described, enabled: true, rule: '{"!!": {"var": "description"}}'}
sla: {refreshFrequency: {interval: 1, unit: day}, columnName: at, retention: {period: 1, unit: year}}
"""
ASSET = """
name: orders
entityStatus: Approved
entity: {type: table, fullyQualifiedName: pg.shop.public.orders}
extension: {dataProducts: [Sales]}
schema: [{name: at, dataType: TIMESTAMP}]
"""


def product(text: str = PRODUCT) -> Contract:
    """The contract of the data product."""
    return read(parse_document(text, "sales.yaml"))


def asset(more: str = "") -> Contract:
    """The contract of a table of the product."""
    return read(parse_document(ASSET + more, "orders.yaml"))


def shown(contract: Contract) -> dict[str, str]:
    """What is shown of a contract, by title."""
    return {one.title: one.text for one in contract.documented}


def test_what_the_asset_has_not_is_inherited_and_marked() -> None:
    """Terms, security and service levels come whole, rules come by name, and each says where it is from."""
    made = inherit(asset(), product())
    titles = shown(made)
    assert titles[f"Terms of use ({INHERITED})"] == "Ask first."
    assert titles[f"Data classification ({INHERITED})"] == "Confidential"
    assert made.cadence is not None
    assert made.cadence.every == Duration(1, "day")
    rules = made.datasets[0].semantic_rules
    assert {"owned", "described"} <= {rule.name for rule in rules}
    assert all(rule.inherited for rule in rules)
    levels = [one for one in plan(made).datasets[0].checks if one.section == "sla"]
    assert [one.rule for one in levels] == ["refreshFrequency", "retention"]
    assert all(INHERITED in one.notes for one in levels)
    assert [one.name for one in made.datasets[0].columns] == ["at"]


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ("termsOfUse: Take it.", "Terms of use"),
        ("security: {dataClassification: Public}", "Data classification"),
    ],
)
def test_what_the_asset_has_itself_stays_whole(more: str, kept: str) -> None:
    """A section of the asset's own is not mixed with the product's."""
    titles = shown(inherit(asset(more), product()))
    assert kept in titles
    assert f"{kept} ({INHERITED})" not in titles


def test_service_levels_of_the_asset_keep_out_all_of_the_products() -> None:
    """Even a single level of its own means that none is inherited."""
    made = inherit(asset("sla: {maxLatency: {value: 1, unit: hour}}"), product())
    assert made.cadence is None
    assert [one.section for one in made.datasets[0].expectations] == []


def test_a_rule_of_the_same_name_is_the_assets_own() -> None:
    """Inherited rules come first; one that the asset has under that name stays as it is."""
    own = 'semantics: [{name: owned, description: Mine, enabled: true, rule: \'{"!!": {"var": "tags"}}\'}]'
    rules = inherit(asset(own), product()).datasets[0].semantic_rules
    owned = [rule for rule in rules if rule.name == "owned"]
    assert [(rule.description, rule.inherited) for rule in owned] == [("Mine", False)]
    assert rules[-1].name == "owned"


def test_nothing_is_inherited_from_what_is_not_approved() -> None:
    """The contract of a product that is a draft changes nothing."""
    own = asset()
    assert inherit(own, replace(product(), lifecycle="draft")) == own


def folder(tmp_path: Path, **files: str) -> dict[str, Contract]:
    """The contracts of a folder by name."""
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    loaded = load_directory(tmp_path)
    assert not loaded.broken
    return {contract.name: contract for contract in loaded.contracts}


def test_a_folder_with_a_data_product_is_settled(tmp_path: Path) -> None:
    """Contracts that stand together inherit without being told, and the product's own levels are not checked."""
    found = folder(tmp_path, sales=PRODUCT, orders=ASSET)
    assert found["orders"].cadence is not None
    assert [one.section for one in found["sales"].datasets[0].expectations] == []
    assert "of the assets of the data product" in found["sales"].datasets[0].not_checked[-1].reason


@pytest.mark.parametrize(
    ("sales", "orders", "words"),
    [
        (PRODUCT.replace("Approved", "Draft"), ASSET, "which is Draft"),
        (PRODUCT, ASSET.replace("[Sales]", "[Sales, Other]"), "in 2 data products"),
    ],
)
def test_why_nothing_is_inherited_is_told(sales: str, orders: str, words: str, tmp_path: Path) -> None:
    """An asset in two products, or in one whose contract is not approved, inherits nothing and says so."""
    found = folder(tmp_path, sales=sales, orders=orders)["orders"]
    assert found.cadence is None
    assert any(words in problem.message for problem in found.problems)
