"""What Dagster shows of an ODCS contract: its owners as a platform knows them, lineage, price, support, the rest."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest
from builders import contract_of, odcs

from contract_checks.checks import plan
from contract_checks.dagster_defs import ContractDatasetData, ContractTranslator
from contract_checks.model import Contract

PROPERTIES = """
- {name: total, logicalType: number, transformSourceObjects: [raw.orders, rates], transformLogic: sum(a)}
- {name: id, logicalType: integer}
"""
TEAM = [
    {"username": "alice", "role": "owner"},
    {"username": "bob@example.com"},
    {"username": "urn:li:corpuser:carol"},
    {"username": "urn:li:corpGroup:finance"},
    {"username": "dave", "dateOut": "2024-01-01"},
]
MORE = {
    "team": TEAM,
    "price": {"priceAmount": 9.95, "priceCurrency": "USD", "priceUnit": "megabyte"},
    "support": [{"channel": "#help", "url": "https://example.org/help"}],
    "customProperties": [{"property": "tier", "value": "gold"}],
}


def spec(translator: ContractTranslator | None = None, **more: Any) -> dg.AssetSpec:
    """The asset of a contract with a team, a price, support and properties of its own."""
    contract: Contract = contract_of(odcs(PROPERTIES, more={**MORE, **more}))
    data = ContractDatasetData(contract, plan(contract).datasets[0], "contracts/t.odcs.yaml", "duckdb")
    return (translator or ContractTranslator()).get_asset_spec(data)


def test_owners_are_those_who_have_not_left() -> None:
    """Addresses and teams are owners, other people are named, and who has left is neither."""
    found = spec()
    assert list(found.owners) == ["bob@example.com", "team:finance"]
    assert "Also answerable: alice (owner), carol." in str(found.description)
    assert "dave" not in str(found.description)


def test_names_get_the_domain_of_the_company() -> None:
    """With a domain people without an address are owners by their address there."""
    found = spec(ContractTranslator(owner_email_domain="acme.com"))
    assert list(found.owners) == ["alice@acme.com", "bob@example.com", "carol@acme.com", "team:finance"]


def test_addresses_may_lose_their_domain() -> None:
    """Where people are known by their names, addresses are shown as those."""
    found = spec(ContractTranslator(strip_owner_email_domain=True))
    assert list(found.owners) == ["team:finance"]
    assert "bob" in str(found.description)
    assert "bob@example.com" not in str(found.description)


def test_a_domain_is_given_or_taken() -> None:
    """Both options at once contradict each other."""
    with pytest.raises(ValueError, match="one of the two"):
        ContractTranslator(owner_email_domain="acme.com", strip_owner_email_domain=True)


def test_what_a_column_is_made_of_is_lineage() -> None:
    """The objects that columns are made of are what the asset depends on, and are told column by column."""
    found = spec()
    assert {dep.asset_key.to_user_string() for dep in found.deps} == {"raw/orders", "rates"}
    table: Any = found.metadata["contract/column_sources"]
    assert [record.data for record in table.records] == [{"column": "total", "made of": "raw.orders, rates"}]


def test_the_rest_of_a_contract_is_shown() -> None:
    """Price, support, custom properties and the logic of columns are shown on the asset."""
    shown = str(spec().metadata["contract/documented"].value)
    for text in ("priceAmount: 9.95", "channel: #help", "gold", "sum(a)"):
        assert text in shown


def test_the_asset_says_what_became_of_its_clauses() -> None:
    """The numbers of the trace are metadata of the asset."""
    assert str(spec().metadata["contract/clauses"]).startswith("2 schema; ")


def test_service_dates_are_checks() -> None:
    """A date of a service level is a check of the asset that Dagster shows."""
    contract = contract_of(odcs(PROPERTIES, more={"slaProperties": [{"property": "endOfLife", "value": "2090-01-01"}]}))
    assert [one.name for one in plan(contract).datasets[0].checks if one.section == "sla"] == ["sla__end_of_life"]
