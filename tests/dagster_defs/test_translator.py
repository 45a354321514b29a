"""What Dagster shows of a contract before anything ran."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dagster as dg
import pytest
from pipelines import ORDERS, only_plan, orders_contract, renamed, typed

from contract_checks.checks import plan
from contract_checks.dagster_defs import (
    ContractCheckData,
    ContractDatasetData,
    ContractTranslator,
    build_definitions,
    names,
)
from contract_checks.errors import Location, Problem
from contract_checks.metrics import Query, Threshold
from contract_checks.model import Contract, Documented, Expectation, Link, NotChecked, Owner, Thresholds

FILE = "contracts/orders.yaml"
AT = Location(FILE, 30, "$.somewhere")


def asset_spec(contract: Contract, kind: str | None = "duckdb") -> dg.AssetSpec:
    return ContractTranslator().get_asset_spec(ContractDatasetData(contract, only_plan(contract), FILE, kind))


def check_spec(contract: Contract, name: str) -> dg.AssetCheckSpec:
    (check,) = only_plan(contract).select([name])
    data = ContractCheckData(contract, contract.datasets[0], check, ORDERS, FILE, blocking=True)
    return ContractTranslator().get_check_spec(data)


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        (("warehouse", "sales", "orders"), ["warehouse", "sales", "orders"]),
        (("My Schema", "Order Items"), ["My_Schema", "Order_Items"]),
        (("orders.csv",), ["orders_csv"]),
        (("s3://bucket/x",), ["s3_bucket_x"]),
        (("Kündigungen",), ["Kundigungen"]),
        (("заказы",), [f"x_{names.short_hash('заказы')}"]),
    ],
)
def test_a_key_is_one_that_dagster_takes(parts: tuple[str, ...], key: list[str]) -> None:
    """Every part of a key keeps what Dagster accepts of it, and is never empty."""
    assert asset_spec(orders_contract(key=parts)).key.path == key


@pytest.mark.parametrize(
    ("owner", "held"),
    [
        (Owner("Data Team", "team"), ["team:Data Team"]),
        (Owner("Jane", "user", "jane@example.com"), ["jane@example.com"]),
        (Owner("jane@example.com", "user"), ["jane@example.com"]),
        (Owner("Jane Doe", "user"), []),
        (Owner("", "team"), []),
        (Owner("Jane", "user", "Jane <jane@example.com>"), []),
        (Owner("jane@data.technology", "user"), []),
    ],
)
def test_an_owner_dagster_cannot_hold_is_named_in_the_description(owner: Owner, held: list[str]) -> None:
    """Owners are email addresses and teams; nobody else is lost."""
    spec = asset_spec(orders_contract(owners=(owner,)))

    assert spec.owners == held
    if not held and owner.name:
        assert owner.name in str(spec.description)


def test_tags_are_spelled_as_dagster_takes_them() -> None:
    """A tag that has to be respelled is shown as it was in the metadata."""
    spec = asset_spec(orders_contract(tags=("gold", "PII.Sensitive", "for finance", "x" * 80)))

    assert {"gold", "PII.Sensitive", "for_finance"} <= set(spec.tags)
    assert all(len(tag) <= 63 for tag in spec.tags if not tag.startswith("dagster/"))
    assert "for finance" in spec.metadata["contract/tags"]
    assert "gold" not in spec.metadata["contract/tags"]


def test_the_first_line_of_the_description_is_plain() -> None:
    """The catalogue shows the first line raw, so that it holds no Markdown and is short."""
    spec = asset_spec(renamed(orders_contract(), description="## **Orders** of `all` shops\n\n- *every* one"))
    first, *rest = str(spec.description).splitlines()

    assert first == "Orders of all shops"
    assert "## **Orders** of `all` shops" in rest


def test_columns_show_their_constraints_and_tags() -> None:
    """What is promised of a column is shown as chips beside it."""
    column = typed("email", "string", "string", unique=True, required=True, tags=("PII",), classification="secret")
    schema: Any = asset_spec(orders_contract(columns=(column,))).metadata["dagster/column_schema"]
    shown = {one.name: one for one in schema.columns}

    assert shown["email"].type == "string"
    assert shown["email"].constraints.unique
    assert not shown["email"].constraints.nullable
    assert shown["email"].tags == {"PII": "", "classification": "secret"}
    assert shown["amount"].constraints.other == ["optional", "≥ 0"]
    assert schema.constraints.other == ["rowCount ≥ 5"]


def test_the_asset_leads_to_the_line_of_the_contract() -> None:
    """The source link opens the contract at the dataset."""
    (reference,) = asset_spec(orders_contract()).metadata["dagster/code_references"].code_references

    assert reference.file_path.endswith("/contracts/orders.yaml")
    assert (reference.line_number, reference.label) == (3, "contracts/orders.yaml:3")


def test_what_is_not_checked_is_on_the_asset() -> None:
    """Clauses that nobody evaluates, clauses that are prose, and problems are all shown."""
    contract = orders_contract(
        documented=(Documented(AT, "Price", "10 EUR a month"),),
        not_checked=(NotChecked(AT, "retention is not measured", "sla"),),
        problems=(Problem("unknown key 'foo'", AT, "warning"),),
        links=(Link("https://example.com/glossary", "Glossary"),),
    )
    spec = asset_spec(contract)

    (record,) = spec.metadata["contract/not_checked"].records
    assert record.data == {"place": "orders.yaml:30", "section": "sla", "reason": "retention is not measured"}
    assert "10 EUR a month" in spec.metadata["contract/documented"].md_str
    assert spec.metadata["contract/problems"].records[0].data["problem"] == "unknown key 'foo'"
    assert "[Glossary](https://example.com/glossary)" in str(spec.description)


def test_the_group_is_the_domain() -> None:
    """Contracts are grouped by their domain, and those without one are together."""
    assert asset_spec(orders_contract(domain="Sales & Marketing")).group_name == "sales_marketing"
    assert asset_spec(orders_contract()).group_name == "contracts"


def test_lineage_comes_from_the_contract() -> None:
    """What a dataset is made of is upstream of it."""
    spec = asset_spec(orders_contract(sources=("raw.orders",)))

    assert [dep.asset_key.path for dep in spec.deps] == [["raw", "orders"]]


def test_the_code_version_changes_with_a_promise_only() -> None:
    """Moving a rule to another line is no new version; changing what it says is one."""
    contract = orders_contract()
    (dataset,) = contract.datasets
    moved = orders_contract(file="elsewhere/orders.yaml")
    first, second = dataset.expectations
    stricter = renamed(contract, expectations=(first, replace(second, severity="warning")))
    reordered = renamed(contract, expectations=(second, first))

    versions = [only_plan(one).fingerprint for one in (contract, moved, reordered, stricter)]
    assert versions[0] == versions[1] == versions[2]
    assert versions[0] != versions[3]


def test_a_check_says_what_is_promised_and_where() -> None:
    """The description of a check has the threshold and the place; spec metadata is never shown."""
    contract = orders_contract()

    assert "row count ≥ 5" in str(check_spec(contract, "quality__row_count").description)
    assert "`contracts/orders.yaml:9`" in str(check_spec(contract, "quality__row_count").description)
    assert "`amount`: ≥ 0" in str(check_spec(contract, "schema__amount__minimum").description)


def test_a_check_shows_the_sql_of_the_contract() -> None:
    """A rule that is SQL shows it, also when it holds backticks."""
    rule = Expectation(
        "sql", Query("SELECT count(*) FROM `orders`"), Thresholds((Threshold("mustBe", 0),)), AT, "quality", id="mine"
    )
    description = str(check_spec(renamed(orders_contract(), expectations=(rule,)), "quality__mine").description)

    assert "```sql\nSELECT count(*) FROM `orders`\n```" in description


class Prefixed(ContractTranslator):
    """What a user would write."""

    def get_asset_spec(self, data: ContractDatasetData) -> dg.AssetSpec:
        spec = super().get_asset_spec(data)
        return spec.replace_attributes(key=spec.key.with_prefix("prod"), group_name="mine")

    def get_check_spec(self, data: ContractCheckData) -> dg.AssetCheckSpec:
        return super().get_check_spec(data)._replace(name=f"{data.check.name}_x")


def test_a_translator_changes_keys_and_names() -> None:
    """A user's translator decides about keys, groups and names, and the checks follow."""
    definitions = build_definitions(orders_contract(), translator=Prefixed())
    (spec,) = definitions.resolve_all_asset_specs()
    (asset,) = definitions.assets or ()

    assert spec.key == dg.AssetKey(["prod", "warehouse", "orders"])
    assert spec.group_name == "mine"
    assert isinstance(asset, dg.AssetsDefinition)
    assert {key.asset_key for key in asset.check_keys} == {spec.key}
    assert all(key.name.endswith("_x") for key in asset.check_keys)


def test_every_check_of_the_plan_is_in_dagster() -> None:
    """No promise is lost on the way from the plan to the definitions."""
    contract = orders_contract()
    (asset,) = build_definitions(contract).assets or ()
    assert isinstance(asset, dg.AssetsDefinition)

    assert {key.name for key in asset.check_keys} == {check.name for check in plan(contract).datasets[0].checks}
