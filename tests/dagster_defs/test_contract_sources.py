"""The resource that says where data is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from databases import Put
from pipelines import GOOD, TOO_FEW, orders_contract, run

from contract_checks.dagster_defs import ContractSources, ServerCredentials, build_definitions
from contract_checks.dagster_defs.access import Access, source_kind
from contract_checks.errors import Location, ServerError
from contract_checks.model import Contract, Server

AT = Location("contracts/orders.yaml", 2, "$.servers[0]")


def with_servers(*names: str) -> Contract:
    return orders_contract(
        servers=tuple(
            Server(name, "postgres", AT, "prod", (("host", "db.example.com"), ("database", "shop"))) for name in names
        )
    )


def test_a_server_is_where_the_resource_says(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """The URL of a contract's server comes from a resource, and may come from the environment."""
    monkeypatch.setenv("WAREHOUSE_URL", put("duckdb", GOOD, "orders"))
    resource = ContractSources(urls={"main": dg.EnvVar("WAREHOUSE_URL"), "other": "sqlite:///nowhere.db"})
    definitions = build_definitions(with_servers("main"), resources={"contract_sources": resource})

    assert run(definitions).success


def test_a_source_of_the_definitions_goes_first(put: Put) -> None:
    """What is given to `build_definitions` is used, whatever the resource says."""
    resource = ContractSources(default=put("duckdb", TOO_FEW, "orders"))
    definitions = build_definitions(
        orders_contract(), source=put("sqlite", GOOD, "orders"), resources={"contract_sources": resource}
    )

    assert run(definitions).success


def test_credentials_are_for_the_contract_s_own_server() -> None:
    """User and password of a resource go with the host and database of the contract; no name shows them."""
    resource = ContractSources(credentials={"main": ServerCredentials(username="etl", password="s3cret")})
    source = resource.source_of(with_servers("main", "other"))

    assert source.name.startswith("postgresql+psycopg://etl:***@db.example.com")
    assert "s3cret" not in source.name


@pytest.mark.parametrize("server", [None, "third"])
def test_a_server_is_not_guessed(server: str | None) -> None:
    """Of several servers that the resource does not know none is taken."""
    with pytest.raises(ServerError, match="main"):
        ContractSources().source_of(with_servers("main", "other"), server)


def test_a_server_may_be_named_by_its_environment(put: Put) -> None:
    """The name of an environment stands for the server in it."""
    resource = ContractSources(urls={"main": put("duckdb", GOOD, "orders")})

    assert "duckdb" in resource.source_of(with_servers("main"), "prod").name


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("postgresql+psycopg://host/db", "postgres"),
        ("duckdb:///x.duckdb", "duckdb"),
        ("data/orders.parquet", "parquet"),
        (Path("data/orders.csv"), "csv"),
        ("data", None),
        (None, "postgres"),
    ],
)
def test_the_kind_of_source_is_shown_if_it_is_known(source: str | Path | None, kind: str | None) -> None:
    """The asset shows what kind of place its data is in, without anyone asking the place."""
    assert source_kind(with_servers("main"), Access(source=source)) == kind


THIRD_PARTY = [
    # Dagster's storage with Python 3.12 and newer
    "ignore:datetime.datetime.utc:DeprecationWarning",
    # dagster-dbt asks sqlglot for its older accelerator
    "ignore:sqlglotrs is deprecated:DeprecationWarning",
    # Dagster 1.12 with pydantic 2.13 and newer
    "ignore:Support for class-based `config` is deprecated:DeprecationWarning",
]
"""The warnings of others that nobody here can help."""

_RUN = """
import sys
sys.path[:0] = sys.argv[1:3]
import dagster
from contract_checks import ContractsComponent, build_contract_checks, build_definitions, contract_asset, load_contract
from contract_checks.model import Cadence, Duration
from pipelines import orders_contract
contract = orders_contract(cadence=Cadence(Duration(1, "day")))
definitions = build_definitions(contract, source=sys.argv[3])
dagster.Definitions.validate_loadable(definitions)
build_contract_checks(contract, asset="orders")
with dagster.DagsterInstance.ephemeral() as instance:
    done = dagster.materialize([*definitions.assets], instance=instance, resources=definitions.resources)
assert len(done.get_asset_check_evaluations()) == 4
"""


@pytest.mark.slow
def test_nothing_here_warns(put: Put) -> None:
    """Whoever imports, loads and materializes sees no warning of ours, not even of a beta API."""
    here = Path(__file__)
    filters = [word for one in ("error", *THIRD_PARTY) for word in ("-W", one)]
    source = put("duckdb", GOOD, "orders")
    command = [sys.executable, *filters, "-c", _RUN, str(here.parent), str(here.parents[2]), source]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert ran.returncode == 0, ran.stderr
    assert "Warning" not in ran.stderr
