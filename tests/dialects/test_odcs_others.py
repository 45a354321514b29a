"""Foreign keys into other contracts: followed inside the folder, compared where the data is in one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from builders import odcs, result

from contract_checks.dialects import load
from contract_checks.metrics import OrphanKeys
from contract_checks.model import Contract
from contract_checks.run import check_contract

CUSTOMERS = [{"id": "key", "name": "id", "physicalName": "customer_id", "logicalType": "integer"}]
SERVER = {"server": "s", "type": "postgres", "host": "h", "database": "d", "schema": "sales"}


def contracts(
    folder: Path, to: Any, *, ours: dict[str, Any] | None = None, theirs: dict[str, Any] | None = None
) -> Path:
    """A contract on orders with a foreign key `to` a contract on customers beside it; both may name a server."""
    customers = {"id": "cust", "name": "customers", "physicalName": "crm_customers", "properties": CUSTOMERS}
    key = {"name": "customer", "logicalType": "integer", "relationships": [{"to": to}]}
    (folder / "sub").mkdir()
    for place in ("customers.yaml", "sub/customers.yaml"):
        (folder / place).write_text(odcs(schema=[customers], name="c", servers=[theirs] if theirs else []))
    file = folder / "orders.yaml"
    file.write_text(odcs(schema=[{"name": "orders", "properties": [key]}], name="o", servers=[ours] if ours else []))
    return file


def metric(contract: Contract) -> OrphanKeys:
    """The foreign key of a contract that has one."""
    (found,) = contract.datasets[0].expectations
    assert isinstance(found.metric, OrphanKeys)
    return found.metric


@pytest.mark.parametrize(
    "to",
    [
        "customers.yaml#customers.id",
        "customers.yaml#schema/cust/properties/key",
        "./customers.yaml#/schema/cust/properties/key",
        "sub/customers.yaml#customers.id",
        "file://sub/../customers.yaml#customers.id",
    ],
)
def test_a_key_into_another_contract_is_a_check_and_a_dependency(to: str, tmp_path: Path) -> None:
    """A reference by name or id to a file in the folder is a foreign key, and its asset what the data depends on."""
    contract = load(contracts(tmp_path, to))
    assert metric(contract) == OrphanKeys((("customer",),), "crm_customers", (("customer_id",),))
    assert contract.datasets[0].sources == ("crm_customers",)
    assert [one.physical_name for one in contract.related] == ["crm_customers"]


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("missing.yaml#customers.id", "there is no file 'missing.yaml'"),
        ("customers.yaml#customers.name", "'customers.name' is no property"),
        ("../secret.yaml#a.b", "outside of the folder of the contract"),
        ("file:///etc/passwd#a.b", "outside of the folder of the contract"),
        ("https://example.org/c.yaml#a.b", "on the web are not read"),
        ("broken.yaml#a.b", "'broken.yaml' cannot be used"),
    ],
)
def test_a_key_that_leads_nowhere_is_reported(to: str, reason: str, tmp_path: Path) -> None:
    """A reference that cannot be followed is not checked, for a reason that lint tells, too."""
    (tmp_path / "broken.yaml").write_text("a: [")
    contract = load(contracts(tmp_path, to))
    assert contract.datasets[0].expectations == ()
    assert reason in contract.datasets[0].not_checked[0].reason
    assert any(reason in problem.message for problem in contract.problems)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link inside the folder to a file outside of it is outside."""
    inside = tmp_path / "inside"
    inside.mkdir()
    file = contracts(inside, "link.yaml#customers.id")
    (tmp_path / "outside.yaml").write_text((inside / "customers.yaml").read_text())
    (inside / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    assert "outside of the folder" in load(file).datasets[0].not_checked[0].reason


def test_contracts_may_refer_to_each_other(tmp_path: Path) -> None:
    """Two contracts with keys into each other are both read."""
    file = contracts(tmp_path, "customers.yaml#customers.id")
    back = [{**CUSTOMERS[0], "relationships": [{"to": "orders.yaml#orders.customer"}]}]
    (tmp_path / "customers.yaml").write_text(odcs(back, name="customers"))
    assert metric(load(file)).target == "customers"
    assert metric(load(tmp_path / "customers.yaml")).target == "orders"


def test_data_in_another_place_is_a_dependency_only(tmp_path: Path) -> None:
    """Where the servers of the contracts differ, keys cannot be compared, which is reported."""
    contract = load(contracts(tmp_path, "customers.yaml#customers.id", ours=SERVER, theirs={**SERVER, "host": "other"}))
    assert contract.datasets[0].sources == ("crm_customers",)
    assert contract.datasets[0].expectations == ()
    assert "in another place (its servers: s)" in contract.datasets[0].not_checked[0].reason


def test_another_schema_of_one_database_qualifies_the_name(tmp_path: Path) -> None:
    """Two schemas of one database are one place; the name of the table then says which schema."""
    contract = load(contracts(tmp_path, "customers.yaml#customers.id", ours=SERVER, theirs={**SERVER, "schema": "crm"}))
    assert metric(contract).target == "crm.crm_customers"


@pytest.mark.parametrize("format", ["duckdb", "parquet", "csv"])
def test_keys_are_compared_with_the_data_of_the_other_contract(format: str, tmp_path: Path) -> None:
    """Orders of customers that the other contract's table does not have are counted."""
    file = contracts(tmp_path, "customers.yaml#customers.id")
    data = tmp_path / "data"
    data.mkdir()
    source = str(data)
    with duckdb.connect(str(data / "w.duckdb") if format == "duckdb" else ":memory:") as connection:
        for table, select in (
            ("orders", "SELECT unnest([1, 2, 2, 3, NULL]) AS customer"),
            ("crm_customers", "SELECT unnest([1, 4]) AS customer_id"),
        ):
            connection.execute(f"CREATE TABLE {table} AS {select}")
            if format != "duckdb":
                connection.execute(f"COPY {table} TO '{data}/{table}.{format}'")
    if format == "duckdb":
        source = f"duckdb:///{data}/w.duckdb"
    found = result(check_contract(file, source=source), "foreignKey", "customer")
    assert (found.status, found.measured) == ("failed", 3)


def test_a_table_that_is_not_there_makes_the_check_errored(tmp_path: Path) -> None:
    """Where the other contract's table cannot be found, the keys are not compared, and nothing passes."""
    file = contracts(tmp_path, "customers.yaml#customers.id")
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS customer")
    found = result(check_contract(file, source=f"duckdb:///{tmp_path}/w.duckdb"), "foreignKey", "customer")
    assert found.status == "errored"
    assert "crm_customers" in found.description


def test_a_single_file_stays_the_one_datasets(tmp_path: Path) -> None:
    """A dataset of another contract does not change that a single file is the only dataset's."""
    file = contracts(tmp_path, "customers.yaml#customers.id")
    (tmp_path / "export.csv").write_text("customer\n1\n")
    report = check_contract(file, source=str(tmp_path / "export.csv"))
    assert result(report, "columns").status == "passed"
