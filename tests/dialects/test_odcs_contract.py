"""What belongs to an ODCS contract as a whole: version, status, people, servers, and what is only shown."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from odcs_text import contract

from contract_checks.dialects import read
from contract_checks.dialects.document import parse_document
from contract_checks.errors import ContractError
from contract_checks.model import Link, Owner


@pytest.mark.parametrize(
    ("said", "lifecycle"),
    [
        ("active", "active"), ("current", "active"), ("in production", "active"), ("Production", "active"),
        ("approved", "active"), ("''", "active"), ("whatever", "active"),
        ("draft", "draft"), ("proposed", "draft"), ("in development", "draft"), ("in_development", "draft"),
        ("pending", "draft"),
        ("deprecated", "deprecated"), ("retired", "deprecated"),
    ],
)  # fmt: skip
def test_the_status_says_whether_a_contract_is_in_force(said: str, lifecycle: str) -> None:
    """A contract is active unless its status says that it is a draft or deprecated."""
    assert contract("schema: []", status=said).lifecycle == lifecycle


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ("v3.0.0", None), ("v3.0.1", None), ("v3.0.2", None), ("v3.1.0", None), ("v3.2.0", None),
        ("3.1.0", "warning"), ("v3.1", "warning"), ("v3.7.0", "warning"),
        ("v2.2.2", "error"), ("2.3.0", "error"), ("v4.0.0", "error"),
    ],
)  # fmt: skip
def test_versions_are_read_guessed_or_refused(said: str, level: str | None) -> None:
    """3.0 to 3.2 are read, another 3 is read as the nearest with a warning, any other version is refused."""
    try:
        levels = {problem.level for problem in contract("schema: [{name: t, properties: [{name: a}]}]", said).problems}
    except ContractError as error:
        levels = {problem.level for problem in error.problems if "ODCS" in problem.message}

    assert levels == ({level} if level else set())


def test_a_contract_without_a_version_is_read_as_the_latest() -> None:
    """A missing `apiVersion` is a warning."""
    made = read(parse_document("kind: DataContract\nid: a\nversion: 1\nschema: [{name: t, properties: [{name: a}]}]"))

    assert [problem.message for problem in made.problems] == ["'apiVersion' is missing; read as the latest version"]


def test_a_contract_without_an_id_is_known_by_its_name_or_file() -> None:
    """The identity of a contract is its id, else its name, else its file."""
    text = "apiVersion: v3.1.0\nkind: DataContract\nschema: [{name: t}]\n"

    assert read(parse_document(text, "contracts/orders.odcs.yaml")).id == "orders"
    assert read(parse_document(text + "name: shop", "contracts/orders.odcs.yaml")).id == "shop"


def test_numbers_where_text_belongs_are_text() -> None:
    """A version like 1.10 stays the text it was written as; a strict reader wants quotes."""
    made = contract("schema: [{name: 2024}]\nname: 5")

    assert (made.name, made.datasets[0].name) == ("5", "2024")
    with pytest.raises(ContractError, match=r"a number \('5'\) stands where a text belongs"):
        contract("schema: []\nname: 5", strict=True)


@pytest.mark.parametrize(
    ("text", "owners"),
    [
        (
            "team: [{username: ada@example.org, role: owner}, {username: bob, dateOut: '2024-01-01'}]",
            (Owner("ada@example.org", "user", "ada@example.org", "owner"),),
        ),
        (
            "team: {name: sales, members: [{username: ada}, {username: ada}]}",
            (Owner("sales", "team"), Owner("ada")),
        ),
        ("team: null", ()),
    ],
)
def test_owners_are_those_who_have_not_left(text: str, owners: tuple[Owner, ...]) -> None:
    """The people of a team in list or object form own the data until their `dateOut`."""
    assert contract(f"schema: []\n{text}").owners == owners


def test_a_server_keeps_its_own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server has its type, environment and the keys of its type, with variables resolved."""
    monkeypatch.setenv("SALES_HOST", "db.example.org")
    made = contract(
        """
        schema: []
        servers:
          - {server: prod, type: Postgres, environment: production, host: '${SALES_HOST}', port: 5432, schema: s}
        """
    )

    (server,) = made.servers
    assert (server.name, server.type, server.environment, server.unusable) == ("prod", "postgres", "production", "")
    assert dict(server.properties) == {"host": "db.example.org", "port": 5432, "schema": "s"}


def test_a_server_with_an_unset_variable_cannot_be_used() -> None:
    """A variable that is not set makes the server unusable, with the reason; the contract is read."""
    (server,) = contract("schema: []\nservers: [{server: p, type: postgres, host: '${NOT_SET_ANYWHERE}'}]").servers

    assert "'NOT_SET_ANYWHERE' is not set" in server.unusable


def test_no_secret_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a password in a server nor one in the environment gets into a contract."""
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    made = contract(
        """
        schema: []
        servers:
          - {server: p, type: postgres, host: h, password: hunter2, user: me}
          - {server: q, type: postgres, host: 'x:${DB_PASSWORD}@h'}
        """
    )

    assert "hunter2" not in repr(made)
    assert made.servers[1].unusable


def test_the_parts_of_a_description_are_kept() -> None:
    """The purpose is the description; limitations and usage are shown, links kept."""
    made = contract(
        """
        schema: []
        description:
          purpose: Why.
          limitations: Not this.
          usage: That.
          authoritativeDefinitions: [{type: policy, url: https://example.org/p}]
        """
    )

    assert (made.description, made.links) == ("Why.", (Link("https://example.org/p", "policy"),))
    assert [(one.title, one.text) for one in made.documented] == [("Limitations", "Not this."), ("Usage", "That.")]


def test_what_promises_nothing_about_data_is_shown() -> None:
    """Price, support, roles and custom properties are documentation, each at its place."""
    made = contract(
        """
        schema: []
        price: {priceAmount: 9.95, priceCurrency: USD}
        support: [{channel: chat, url: https://example.org}]
        roles: [{role: reader, access: read}]
        customProperties: [{property: a, value: b}]
        """
    )

    assert {(one.title, one.location.path) for one in made.documented} == {
        ("Price", "$.price"),
        ("Support", "$.support[0]"),
        ("Role", "$.roles[0]"),
        ("Custom properties", "$.customProperties"),
    }
    assert "priceAmount: 9.95" in made.documented[-2].text or "priceAmount: 9.95" in repr(made.documented)


def test_all_problems_are_told_at_once() -> None:
    """One bad part hides no other: every problem of a file is in the error."""
    with pytest.raises(ContractError) as caught:
        contract(
            textwrap.dedent(
                """
                schema:
                  - name: t
                    properties:
                      - {logicalType: integer}
                      - {name: a, required: maybe, logicalTypeOptions: {minimum: x}}
                servers: {}
                """
            )
        )

    assert [problem.location.path for problem in caught.value.problems] == [
        "$.schema[0].properties[0]",
        "$.schema[0].properties[1].required",
        "$.servers",
        "$.schema[0].properties[1].logicalTypeOptions.minimum",
    ]


def test_a_contract_remembers_what_it_is(tmp_path: Path) -> None:
    """Dialect, version of the standard, domain and product are kept."""
    made = contract("schema: []\ndomain: sales\ndataProduct: shop\ntags: [a]")

    assert (made.dialect, made.dialect_version, made.version) == ("odcs", "3.1.0", "1.0.0")
    assert (made.domain, made.data_product, made.tags) == ("sales", "shop", ("a",))
