"""Semantic rules: what they see of an asset, where that comes from, and how their verdicts explain themselves."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import duckdb
import psycopg
import pytest
from databases import Postgres, Rows, csv_file, sqlite_file

from contract_checks import lint
from contract_checks.checks import plan
from contract_checks.dialects import read
from contract_checks.dialects.document import parse_document
from contract_checks.errors import MetadataError
from contract_checks.jsonlogic import diagnose, parse
from contract_checks.model import Contract, Dataset
from contract_checks.results import CheckResult, Report
from contract_checks.run import check_contract
from contract_checks.semantics import (
    CatalogueMetadata,
    ContractMetadata,
    FileMetadata,
    MergedMetadata,
    MetadataProvider,
    OpenMetadataServer,
    evaluate,
)

HAS_OWNER = {"and": [{"some": [{"var": "owners"}, {"!=": [{"var": "fullyQualifiedName"}, None]}]}]}
DESCRIBED = {"!!": {"var": "description"}}
COLUMNS_DESCRIBED = {"all": [{"var": "columns"}, {"!!": [{"var": "description"}]}]}


class Known:
    """A provider that knows one asset, and counts how often it is asked."""

    def __init__(self, **entity: Any) -> None:
        self.asset = entity
        self.asked = 0

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """The asset."""
        self.asked += 1
        return self.asset


class Silent:
    """A provider that cannot be asked."""

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """Nothing."""
        raise MetadataError("the catalogue is closed on Sundays")


class Broken:
    """A provider with a bug in it."""

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """Nothing."""
        raise ZeroDivisionError("division by zero")


def contract_of(*rules: Any, **more: Any) -> Contract:
    """A contract in OpenMetadata's format with these rules (JSON, text or whole items)."""
    items = [
        rule
        if isinstance(rule, dict) and "rule" in rule
        else {"name": f"rule {number}", "description": "The asset is as agreed.", "enabled": True, "rule": _text(rule)}
        for number, rule in enumerate(rules)
    ]
    document = {
        "name": "orders",
        "entityStatus": "Approved",
        "entity": {"type": "table", "fullyQualifiedName": "warehouse.shop.sales.orders"},
        "semantics": items,
        **more,
    }
    return read(parse_document(json.dumps(document, indent=1), "orders.yaml"))


def _text(rule: Any) -> str:
    return rule if isinstance(rule, str) else json.dumps(rule)


def verdict(rule: Any, provider: MetadataProvider | None = None, **entity: Any) -> CheckResult:
    """The result of one rule on one asset."""
    contract = contract_of(rule)
    (result,) = results(contract, provider or Known(**entity))
    return result


def results(contract: Contract, provider: MetadataProvider) -> tuple[CheckResult, ...]:
    """The results of the rules of a contract."""
    (dataset,) = plan(contract).datasets
    return evaluate(dataset.checks, dataset, provider)


def told(report: Report) -> dict[str, tuple[str, str]]:
    """Status and sentence of every semantic check, by name."""
    return {one.check.name: (one.status, one.description) for one in report.results if one.check.section == "semantics"}


# --------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("rule", "entity", "status"),
    [
        (HAS_OWNER, {"owners": [{"type": "user", "fullyQualifiedName": "ada"}]}, "passed"),
        (HAS_OWNER, {"owners": []}, "failed"),
        (HAS_OWNER, {}, "failed"),
        ({"and": [{"var": "description"}]}, {"description": "text"}, "failed"),
        ({"length": {"var": "owners"}}, {"owners": [1]}, "failed"),
        ({"var": "nothing"}, {}, "failed"),
        ({"none": [{"var": "description"}, True]}, {"description": "text"}, "errored"),
        ({"size": {"var": "owners"}}, {"owners": []}, "errored"),
        ({"method": ["a", "upper"]}, {}, "errored"),
        ({"isOwner": {"var": "updatedBy"}}, {"owners": [{"type": "team", "name": "t"}], "updatedBy": "ada"}, "errored"),
        ("{", {}, "errored"),
        ('{"==": [1, 1], "!=": [1, 1]}', {}, "errored"),
    ],
)
def test_only_true_is_a_pass(rule: Any, entity: dict[str, Any], status: str) -> None:
    """A rule passes when it is true, fails with any other value, and is errored when it has none."""
    assert verdict(rule, **entity).status == status


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"enabled": False}, "the rule is disabled"),
        ({"entityType": "topic"}, "the rule is for assets of type 'topic', this is a 'table'"),
        ({"ignoredEntities": ["user", "table"]}, "the rule leaves out assets of type 'table'"),
    ],
)
def test_a_rule_that_does_not_apply_is_skipped_with_the_reason(more: dict[str, Any], reason: str) -> None:
    """A rule that is off, or for other assets, is neither passed nor failed, and the asset is not asked for."""
    provider = Known()
    contract = contract_of({"name": "a", "description": "d", "rule": _text(DESCRIBED), **more})
    (result,) = results(contract, provider)
    assert (result.status, result.description, provider.asked) == ("skipped", f"Skipped: {reason}.", 0)
    assert check_contract(contract, source="duckdb://", metadata=provider).status == "not_evaluated"


def test_an_entity_type_that_fits_beats_the_ignored_ones() -> None:
    """With an entity type, the ignored entities say nothing."""
    rule = {"name": "a", "description": "d", "rule": _text(DESCRIBED), "entityType": "table"}
    (result,) = results(contract_of({**rule, "ignoredEntities": ["table"]}), Known(description="x"))
    assert result.status == "passed"


def test_metadata_that_cannot_be_had_makes_rules_errored() -> None:
    """Nobody knows what is so when the place that knows cannot be asked, whatever went wrong there."""
    assert verdict(DESCRIBED, Silent()).description == "Could not evaluate: the catalogue is closed on Sundays"
    assert "Broken failed: ZeroDivisionError" in verdict(DESCRIBED, Broken()).description
    assert verdict(DESCRIBED, Broken()).status == "errored"


def test_an_asset_is_asked_for_once() -> None:
    """Twenty rules see one and the same asset."""
    provider = Known(description="x")
    found = results(contract_of(*[{"==": [{"var": "description"}, str(n)]} for n in range(20)]), provider)
    assert (len(found), provider.asked) == (20, 1)


# --------------------------------------------------------------------------- reasons


@pytest.mark.parametrize(
    ("rule", "entity", "words"),
    [
        (HAS_OWNER, {"owners": []}, "The asset is as agreed: this is not so. The rule saw owners = []."),
        (HAS_OWNER, {}, "owners is missing"),
        (DESCRIBED, {"description": ""}, 'description = ""'),
        ({"==": [{"var": "extension.tier"}, 1]}, {"extension": {"tier": 2}}, "extension.tier = 2"),
        ({"and": [{"var": "name"}]}, {"name": "orders"}, 'the rule gives "orders", and only true is a pass'),
        (
            COLUMNS_DESCRIBED,
            {"columns": [{"name": "id", "description": "key"}, {"name": "email"}]},
            "columns: not so of 1 of 2: [email (description is missing)]",
        ),
        (
            {"!": {"some": [{"var": "tags"}, {"==": [{"var": "tagFQN"}, "PII.Sensitive"]}]}},
            {"tags": [{"tagFQN": "Tier.Tier1"}, {"tagFQN": "PII.Sensitive"}]},
            "tags: 1 of 2: [PII.Sensitive]",
        ),
        (
            {"some": [{"var": "tags"}, {"==": [{"var": "tagFQN"}, "Tier.Tier1"]}]},
            {"tags": [{"tagFQN": f"a.{n}"} for n in range(9)]},
            "tags = [a.0, a.1, a.2, a.3, a.4, a.5 and 3 more]",
        ),
        (
            {"none": [{"var": "domains"}, {"==": [{"var": "name"}, "x"]}]},
            {"domains": [{"name": "x", "fullyQualifiedName": "a.x"}, {"name": "y", "fullyQualifiedName": "a.y"}]},
            'domains: 1 of 2: [a.x (name = "x")]',
        ),
        ({"isOwner": {"var": "updatedBy"}}, {"owners": [], "updatedBy": "ada"}, 'owners = []; updatedBy = "ada"'),
        ({"==": [1, 2]}, {}, "The asset is as agreed: this is not so, whatever the metadata."),
        ({"==": [{"var": "description"}, 1]}, {"description": "long " * 100}, "long long…"),
    ],
)
def test_a_failure_shows_what_the_rule_saw(rule: Any, entity: dict[str, Any], words: str) -> None:
    """The reason names every value the rule read, and of lists the items that decided, not only what was promised."""
    result = verdict(rule, **entity)
    assert result.status == "failed"
    if "…" in words:
        assert len(result.description) < 250
    else:
        assert words in result.description


def test_an_errored_rule_shows_what_it_saw() -> None:
    """Whoever must mend a rule sees the value that it stumbled over."""
    result = verdict({"==": [{"var": "owners.name"}, "x"]}, owners=[{"name": "ada"}])
    assert "a list has no field 'name'" in result.description
    assert "The rule saw owners = [ada]." in result.description


def test_values_of_a_sensitive_column_are_masked() -> None:
    """What the asset's metadata tells of the values of a sensitive column is in no result, what it is called is."""
    schema = [{"name": "email", "dataType": "STRING", "tags": [{"tagFQN": "PII.Sensitive"}]}]
    email = {"name": "email", "description": "mail", "profile": {"max": "zoe@example.com"}}
    rules = [
        {"==": [{"var": "columns.0.profile.max"}, "x"]},
        {"var": "columns.0.profile.max"},
        {"var": "columns.0.description"},
        {"some": [{"var": "columns"}, {"==": [{"var": "profile.max"}, "x"]}]},
        {"==": [{"var": "sampleData"}, 1]},
        {"!": {"+": [{"var": "columns.0.profile.max"}]}},
    ]
    contract = contract_of(*rules, schema=schema)
    assert contract.datasets[0].columns[0].sensitive
    found = results(contract, Known(columns=[email], sampleData={"rows": [["zoe@example.com"]]}))
    assert "zoe" not in " ".join(one.description for one in found)
    assert "the rule gives •••" in found[1].description
    assert 'the rule gives "mail"' in found[2].description
    assert "email (profile.max" in found[3].description


# --------------------------------------------------------------------------- where metadata comes from


def test_the_contract_itself_is_metadata() -> None:
    """A rule sees the descriptions, owners, tags and columns of the contract in OpenMetadata's shape."""
    schema = [
        {"name": "id", "dataType": "INT", "constraint": "PRIMARY_KEY", "description": "key"},
        {"name": "s", "dataType": "STRUCT", "children": [{"name": "x", "dataType": "INT"}]},
    ]
    owners = [{"id": "1", "type": "team", "name": "data"}]
    contract = contract_of(DESCRIBED, schema=schema, owners=owners, description="Orders.")
    entity = ContractMetadata().entity(contract.datasets[0], contract)
    assert entity["fullyQualifiedName"] == "warehouse.shop.sales.orders"
    assert (entity["name"], entity["description"], entity["deleted"]) == ("orders", "Orders.", False)
    assert entity["owners"] == [{"type": "team", "name": "data", "fullyQualifiedName": "data"}]
    assert (entity["tags"], entity["domains"], entity["dataProducts"]) == ([], [], [])
    assert entity["columns"][0]["constraint"] == "PRIMARY_KEY"
    assert entity["columns"][1]["children"][0]["name"] == "x"
    assert "version" not in entity, "the contract's version is not the asset's"


def test_whether_a_tag_is_a_glossary_term_is_not_guessed() -> None:
    """Where the source of a tag is not known, a rule that asks for it is errored."""
    rule = {"<=": [{"length": [{"filterTagsBySource": [{"var": "tags"}, "Glossary"]}]}, 1]}
    proposal = {"apiVersion": "v1", "name": "a.b", "tags": ["Business.Revenue"], "schema": {"columns": []}}
    contract = read(parse_document(json.dumps(proposal), "a.yaml"))
    tags = ContractMetadata().entity(contract.datasets[0], contract)["tags"]
    assert verdict(rule, tags=tags).status == "errored"
    assert verdict(rule, tags=[{"tagFQN": "Tier.Tier1", "source": "Classification"}]).status == "passed"


@pytest.mark.parametrize("name", ["orders", "warehouse.shop.sales.orders", "shop.sales.orders"])
def test_a_file_is_metadata(name: str, tmp_path: Path) -> None:
    """A YAML or JSON file says what is known of an asset, or of several by their names."""
    single, several = tmp_path / "one.yaml", tmp_path / "several.json"
    single.write_text("description: Orders.\nversion: 0.2\nowners: [{type: user, name: ada}]\n")
    several.write_text(json.dumps({name: {"description": "Orders."}, "other": {}}))
    rule = {"and": [DESCRIBED, {"==": [{"var": "version"}, 0.2]}]}
    assert verdict(rule, FileMetadata(single)).status == "passed"
    assert verdict(DESCRIBED, FileMetadata(several)).status == "passed"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("a: [", "the metadata in"),
        ("[1, 2]", "no mapping"),
        ("customers: {}\nproducts: {}", "does not have 'warehouse.shop.sales.orders'; it has customers, products"),
    ],
)
def test_a_file_that_does_not_say_makes_rules_errored(text: str | None, words: str, tmp_path: Path) -> None:
    """A file that is absent, broken, or about other assets is no metadata."""
    file = tmp_path / "metadata.yaml"
    if text is not None:
        file.write_text(text)
    result = verdict(DESCRIBED, FileMetadata(file))
    assert (result.status, words in result.description) == ("errored", True), result.description


def test_later_metadata_wins_where_it_knows_something() -> None:
    """Merged, an empty value hides nothing, columns are matched by name, and each place adds what it has."""
    first = Known(
        description="old", owners=[{"name": "ada"}], columns=[{"name": "ID", "description": "key"}], a={"x": 1}
    )
    second = Known(description="new", owners=[], columns=[{"name": "id", "description": ""}, {"name": "n"}], a={"y": 2})
    contract = contract_of(DESCRIBED)
    entity = MergedMetadata(first, second).entity(contract.datasets[0], contract)
    assert entity == {
        "description": "new",
        "owners": [{"name": "ada"}],
        "columns": [{"name": "id", "description": "key"}, {"name": "n"}],
        "a": {"x": 1, "y": 2},
    }
    assert first.asset["columns"] == [{"name": "ID", "description": "key"}], "merging changes neither"


# --------------------------------------------------------------------------- the catalogue of a database


def commented(source: Path) -> str:
    """A DuckDB file with a table that says what it is, and a view that does not."""
    with duckdb.connect(str(source)) as connection:
        connection.execute("CREATE SCHEMA sales; CREATE TABLE sales.orders (id INTEGER, email VARCHAR)")
        connection.execute("COMMENT ON TABLE sales.orders IS 'What customers bought.'")
        connection.execute("COMMENT ON COLUMN sales.orders.id IS 'The number of the order.'")
        connection.execute("CREATE TABLE orders (id INTEGER); COMMENT ON TABLE orders IS 'Another.'")
    return f"duckdb:///{source}"


def test_comments_of_duckdb_are_seen(tmp_path: Path) -> None:
    """By default a rule sees the contract and the comments and columns of the very table that is checked."""
    rules = ({"==": [{"var": "description"}, "What customers bought."]}, COLUMNS_DESCRIBED)
    contract = contract_of(*rules, entity={"type": "table", "fullyQualifiedName": "s.sales.orders"})
    report = check_contract(contract, source=commented(tmp_path / "w.duckdb"))
    found = told(report)
    assert found["semantics__rule_0"][0] == "passed", found
    assert found["semantics__rule_1"][0] == "failed"
    assert "email (description is missing)" in found["semantics__rule_1"][1]
    assert all(not dataset.statements for dataset in report.datasets), "no data was asked for"


@pytest.mark.service
def test_comments_of_postgres_are_seen(postgres: Postgres, postgres_database: str) -> None:
    """The comments that PostgreSQL keeps on a table and its columns are metadata."""
    source = postgres.load(postgres_database, Rows("SELECT 1 AS id"), "orders")
    with psycopg.connect(source.replace("postgresql+psycopg", "postgresql")) as connection:
        connection.execute("COMMENT ON TABLE orders IS 'What customers bought.'")
        connection.execute("COMMENT ON COLUMN orders.id IS 'The number.'")
    rules = ({"==": [{"var": "description"}, "What customers bought."]}, COLUMNS_DESCRIBED)
    contract = contract_of(*rules, entity={"type": "table", "name": "orders"})
    assert [status for status, _ in told(check_contract(contract, source=source)).values()] == ["passed", "passed"]


def test_the_catalogue_can_be_one_of_several_places(tmp_path: Path) -> None:
    """The comments and columns of the checked table are merged with whatever else is known of it."""
    rule = {"and": [HAS_OWNER, {"==": [{"var": "description"}, "What customers bought."]}]}
    contract = contract_of(rule, entity={"type": "table", "fullyQualifiedName": "s.sales.orders"})
    owned = Known(owners=[{"type": "user", "fullyQualifiedName": "ada"}])
    metadata = MergedMetadata(MergedMetadata(CatalogueMetadata()), owned)
    report = check_contract(contract, source=commented(tmp_path / "w.duckdb"), metadata=metadata)
    assert told(report)["semantics__rule_0"][0] == "passed", told(report)
    gone = check_contract(contract, source=f"duckdb:///{tmp_path}/gone.duckdb", metadata=metadata)
    assert told(gone)["semantics__rule_0"][0] == "errored"


def test_places_without_comments_are_metadata_too(tmp_path: Path) -> None:
    """SQLite and files have columns but no comments: a description is missing there unless the contract has it."""
    rows = Rows("SELECT 1 AS id, 'x' AS email")
    sources = [sqlite_file(tmp_path, rows, "orders"), csv_file(tmp_path, rows, "orders")]
    schema = [{"name": "id", "dataType": "INT", "description": "key"}]
    contract = contract_of(COLUMNS_DESCRIBED, entity={"type": "table", "name": "orders"}, schema=schema)
    for source in sources:
        ((status, sentence),) = told(check_contract(contract, source=source)).values()
        assert (status, "[email (description is missing)]" in sentence) == ("failed", True), sentence


def test_data_that_cannot_be_reached_fails_no_rule(tmp_path: Path) -> None:
    """A database that is down says nothing about an asset's metadata: rules are errored, or asked elsewhere."""
    contract = contract_of(DESCRIBED, schema=[{"name": "id", "dataType": "INT"}])
    gone = f"duckdb:///{tmp_path}/gone.duckdb"
    assert {one.status for one in check_contract(contract, source=gone).results} == {"errored"}
    report = check_contract(contract, source=gone, metadata=Known(description="x"))
    assert told(report)["semantics__rule_0"][0] == "passed"
    assert {one.status for one in report.results if one.check.section == "schema"} == {"errored"}


def test_results_keep_the_order_of_the_plan(tmp_path: Path) -> None:
    """Rules about metadata and about data come out in the order they are planned in, each once."""
    contract = contract_of(DESCRIBED, schema=[{"name": "id", "dataType": "INT", "constraint": "NOT_NULL"}])
    source = csv_file(tmp_path, Rows("SELECT 1 AS id"), "orders")
    report = check_contract(contract, source=source)
    names = [check.name for check in report.plan.datasets[0].checks]
    assert [one.check.name for one in report.results] == names
    some = check_contract(contract, source=source, checks=["semantics__rule_0"])
    assert [one.check.name for one in some.results] == ["semantics__rule_0"]


# --------------------------------------------------------------------------- an OpenMetadata server

TABLE = {
    "id": "455e3d9d-dbbf-455e-b3be-7191daa825f3",
    "name": "orders",
    "fullyQualifiedName": "warehouse.shop.sales.orders",
    "description": "Orders.",
    "version": 0.1,
    "updatedAt": 1769982651320,
    "updatedBy": "ada",
    "tableType": "Regular",
    "columns": [{"name": "id", "dataType": "INT", "tags": [], "ordinalPosition": 1}],
    "owners": [{"id": "t-1", "type": "team", "name": "data", "fullyQualifiedName": "data", "deleted": False}],
    "tags": [{"tagFQN": "Tier.Tier1", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}],
    "domains": [{"id": "d-1", "type": "domain", "name": "Sales", "fullyQualifiedName": "Sales"}],
    "dataProducts": [{"id": "p-1", "type": "dataProduct", "name": "Shop", "fullyQualifiedName": "Shop"}],
    "deleted": False,
}
ENTITIES = {
    "/api/v1/tables/name/warehouse.shop.sales.orders": TABLE,
    "/api/v1/users/name/ada": {"name": "ada", "teams": [{"id": "t-1", "type": "team", "name": "data"}]},
    "/api/v1/dataProducts/name/Shop": {"name": "Shop", "domains": [{"fullyQualifiedName": "Sales"}]},
}


class Api(BaseHTTPRequestHandler):
    """What OpenMetadata documents of its API: entities by name, a bearer token, errors as JSON."""

    def do_GET(self) -> None:
        """Answer one request."""
        address = urlsplit(self.path)
        path = unquote(address.path)
        if path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", f"/api{self.path.removeprefix('/moved')}")
            self.end_headers()
        elif path.startswith("/page"):
            self._answer(200, b"<html>Log in</html>")
        elif self.headers.get("Authorization") != "Bearer secret-token":
            self._answer(401, {"code": 401, "message": "Not Authorized! Token not present"})
        elif path in ENTITIES:
            fields = set(parse_qs(address.query)["fields"][0].split(","))
            extra = {"owners", "tags", "domains", "dataProducts", "teams", "columns"}
            found = {key: value for key, value in ENTITIES[path].items() if key not in extra or key in fields}
            self._answer(200, found)
        elif path.startswith("/api/v1/topics"):
            self._answer(500, {"code": 500, "message": "the index is on fire"})
        else:
            name = path.rpartition("/")[2]
            self._answer(404, {"code": 404, "errorType": "ENTITY_NOT_FOUND", "message": f"Table [{name}] not found"})

    def _answer(self, code: int, body: Any) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that speaks OpenMetadata's API, with its token in the environment."""
    monkeypatch.setenv("CONTRACT_CHECKS_OPENMETADATA_TOKEN", "secret-token")
    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_openmetadata_server_is_metadata(api: str) -> None:
    """A rule sees the asset as the server has it: owners, tags, tier, domains, version, who changed it when."""
    rule = {
        "and": [
            HAS_OWNER,
            {"some": [{"var": "tags"}, {"==": [{"var": "tagFQN"}, "Tier.Tier1"]}]},
            {"==": [{"var": "version"}, 0.1]},
            {">": [{"var": "updatedAt"}, 1700000000000]},
            {"==": [{"var": "domains.0.name"}, "Sales"]},
            {"==": [{"length": {"var": "columns"}}, 1]},
        ]
    }
    result = verdict(rule, OpenMetadataServer(f"{api}/api/"))
    assert result.status == "passed", result.description


def test_an_openmetadata_server_knows_teams_and_data_products(api: str) -> None:
    """Rules about membership and domains are answered where the server can be asked, also when it is one of several."""
    server = OpenMetadataServer(f"{api}/api/v1")
    domains = {"validateDataProductDomainMatch": [{"var": "dataProducts"}, {"var": "domains"}]}
    rule = {"and": [{"isOwner": {"var": "updatedBy"}}, domains]}
    assert verdict(rule, server).status == "passed"
    assert verdict(rule, MergedMetadata(server, Known(description="x"))).status == "passed"
    unknown = verdict({"isOwner": {"var": "updatedBy"}}, MergedMetadata(server, Known(updatedBy="bob")))
    assert (unknown.status, "has no user 'bob'" in unknown.description) == ("errored", True), unknown.description


def test_the_whole_contract_is_checked_against_a_server(api: str, tmp_path: Path) -> None:
    """With a server as metadata its word counts and not the contract's: an owner in the contract is no owner there."""
    owners = [{"id": "1", "type": "user", "name": "eve"}]
    rule = {"some": [{"var": "owners"}, {"==": [{"var": "name"}, "eve"]}]}
    source = csv_file(tmp_path, Rows("SELECT 1 AS id"), "orders")
    contract = contract_of(rule, DESCRIBED, owners=owners)
    report = check_contract(contract, source=source, metadata=OpenMetadataServer(f"{api}/api"))
    assert [status for status, _ in told(report).values()] == ["failed", "passed"]
    assert [status for status, _ in told(check_contract(contract, source=source)).values()] == ["passed", "failed"]


@pytest.mark.parametrize(
    ("path", "entity", "token", "words"),
    [
        ("/api", "warehouse.shop.sales.gone", "secret-token", "has no table 'warehouse.shop.sales.gone': Table ["),
        ("/api", "warehouse.shop.sales.orders", "wrong", "refuses the token of CONTRACT_CHECKS_OPENMETADATA_TOKEN"),
        ("/api", "warehouse.shop.sales.orders", "", "wants a token; set CONTRACT_CHECKS_OPENMETADATA_TOKEN"),
        ("/moved", "warehouse.shop.sales.orders", "secret-token", "answers from another address (HTTP 302)"),
        ("/page", "warehouse.shop.sales.orders", "secret-token", "is not OpenMetadata's API; its address ends in /api"),
        ("topic", "kafka.orders", "secret-token", "answers HTTP 500 about the topic 'kafka.orders': the index is on"),
    ],
)
def test_what_a_server_refuses_is_told(
    path: str, entity: str, token: str, words: str, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An asset, a token or an address that is not known makes rules errored with what to do, and shows no token."""
    monkeypatch.setenv("CONTRACT_CHECKS_OPENMETADATA_TOKEN", token)
    kind, path = ("topic", "/api") if path == "topic" else ("table", path)
    contract = contract_of(DESCRIBED, entity={"type": kind, "fullyQualifiedName": entity})
    (result,) = results(contract, OpenMetadataServer(f"{api}{path}"))
    assert (result.status, words in result.description) == ("errored", True), result.description
    assert not token or token not in result.description


def test_a_server_that_is_not_there_is_told() -> None:
    """A server that does not answer makes rules errored; an address that is none is refused at once."""
    result = verdict(DESCRIBED, OpenMetadataServer("http://127.0.0.1:9/api", timeout=2))
    assert (result.status, "cannot be reached" in result.description) == ("errored", True)
    for url in ("", "file:///etc/passwd", "https://user:password@host/api", "host/api"):
        with pytest.raises(MetadataError, match="CONTRACT_CHECKS_OPENMETADATA_URL"):
            OpenMetadataServer(url)


def test_the_fields_that_a_server_is_asked_for_hold_no_data() -> None:
    """Sample rows and joins of a table are not asked for: no rule needs the data."""
    from contract_checks.dialects.openmetadata_entity import entity_fields

    assert not {"sampleData", "joins"} & set(entity_fields("table").split(","))


# --------------------------------------------------------------------------- reading and linting rules


def test_a_rule_that_is_no_json_is_a_problem_with_its_line() -> None:
    """A text that is no JSON is told with its place when the contract is read, and its check is errored, not lost."""
    contract = contract_of('{"==": [1, 1}', DESCRIBED)
    (problem,) = contract.problems
    assert (problem.level, problem.location.path) == ("warning", "$.semantics[0].rule")
    assert problem.location.line == 13
    assert "is not JSON Logic: it is not JSON: " in problem.message
    broken, fine = results(contract, Known(description="x"))
    assert (broken.status, fine.status) == ("errored", "passed")


def test_rules_without_json_are_not_lost() -> None:
    """A rule may stand as a mapping; one that says nothing is listed as not checked."""
    items = [
        {"name": "a", "description": "d", "rule": DESCRIBED},
        {"name": "b", "description": "d", "rule": ""},
    ]
    contract = contract_of(*items)
    assert [rule.rule for rule in contract.datasets[0].semantic_rules] == [DESCRIBED]
    assert [one.location.path for one in contract.not_checked] == ["$.semantics[1]"]


def test_lint_warns_of_rules_that_do_not_say_what_was_meant() -> None:
    """The old form of "is not set", dates as text and unknown operators are warnings; a good rule is none."""
    old = {"and": [{"some": [{"var": "owners"}, {"==": [{"var": "fullyQualifiedName"}, None]}]}]}
    dates = {"<": [{"var": "created"}, "2024-01-01"]}
    found = lint.lint(contract_of(old, dates, {"nope": 1}, '{"a": 1, "b": 2}', HAS_OWNER))
    assert [(one.level, one.location.path) for one in found] == [
        ("warning", f"$.semantics[{index}]") for index in range(4)
    ]
    assert 'write {"!": {"some":' in found[0].hint
    assert "exactly one key" in found[3].message


def test_names_of_checks_come_from_the_rules_and_not_from_their_place() -> None:
    """A rule keeps its check when others come and go; two that have one name and say different things have both."""
    items = [
        {"name": "Owner is set", "description": "d", "rule": _text(HAS_OWNER)},
        {"name": "Described!", "description": "d", "rule": _text(DESCRIBED)},
    ]
    names = [[check.name for check in plan(contract_of(*order)).datasets[0].checks] for order in (items, items[::-1])]
    assert names[0] == ["semantics__owner_is_set", "semantics__described"]
    assert names[1] == names[0][::-1]
    twice = [{**items[0], "rule": _text(rule)} for rule in (HAS_OWNER, DESCRIBED)]
    for order in (twice, twice[::-1]):
        made = plan(contract_of(*order)).datasets[0].checks
        assert len({check.name for check in made}) == 2
    assert {check.name for check in plan(contract_of(*twice)).datasets[0].checks} == {
        check.name for check in plan(contract_of(*twice[::-1])).datasets[0].checks
    }


def test_the_words_of_the_proposal_are_rules() -> None:
    """Descriptions and tags that the proposal requires are checked as rules; its sentences stay documentation."""
    semantics = {"entityDescriptionRequired": True, "columnDescriptionRequired": True, "tags": ["finance", "PII.None"]}
    proposal = {
        "apiVersion": "v1",
        "name": "sales.orders",
        "schema": {"columns": [{"name": "id", "type": "int"}]},
        "semantics": {**semantics, "customIntegrityRules": ["Orders are paid."]},
    }
    contract = read(parse_document(json.dumps(proposal), "p.yaml"))
    rules = contract.datasets[0].semantic_rules
    assert [rule.name for rule in rules] == ["entityDescriptionRequired", "columnDescriptionRequired", "tags"]
    tags = [{"name": "finance", "tagFQN": "Business.finance"}, {"name": "None", "tagFQN": "PII.None"}]
    kept = results(contract, Known(description="x", tags=tags, columns=[{"name": "id", "description": "key"}]))
    broken = results(contract, Known(description="", tags=tags[:1], columns=[{"name": "id"}]))
    assert [{one.status for one in found} for found in (kept, broken)] == [{"passed"}, {"failed"}]
    assert "tags = [Business.finance (name =" in broken[2].description
    assert "a sentence is not guessed into a check" in contract.not_checked[0].reason


def test_the_examples_of_the_docs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of docs/semantics.md run one after the other, its rules are rules, the output is real."""
    page = (Path(__file__).parents[1] / "docs" / "semantics.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = []
    for mark, language, text in re.findall(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```\n", page, re.DOTALL):
        if mark:
            Path(mark).parent.mkdir(exist_ok=True)
            Path(mark).write_text(text, encoding="utf-8")
        elif language == "python":
            code.append(text)
    said = [line for line in "".join(code).splitlines() if line.startswith("# ")]
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile("\n".join(code), "docs/semantics.md", "exec"), {})
    assert [f"# {line}" for line in printed.getvalue().splitlines()] == said
    rules = re.findall(r"^\| [a-z].*? \| `(\{.*\})` \|$", page, re.MULTILINE)
    assert len(rules) > 6
    assert not [found for rule in rules for found in diagnose(parse(rule))]


def test_metadata_of_a_catalogue_alone_is_a_provider() -> None:
    """What a database says of a table can be given by hand."""
    assert verdict(DESCRIBED, CatalogueMetadata((), "Orders.")).status == "passed"
    assert verdict(DESCRIBED, CatalogueMetadata(())).status == "failed"
    assert verdict(DESCRIBED, CatalogueMetadata((), unavailable="no catalogue")).status == "errored"
    assert verdict(DESCRIBED, CatalogueMetadata()).status == "errored"
