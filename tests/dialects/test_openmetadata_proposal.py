"""The proposal's format: the three contracts of the proposal, its JSON Schema's form, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from contract_checks.checks import plan
from contract_checks.dialects.document import Document, parse_document, read_document
from contract_checks.dialects.openmetadata_proposal import OpenMetadataProposal
from contract_checks.errors import ContractError
from contract_checks.metrics import (
    MESSAGE_TIME,
    Aggregate,
    AllOf,
    Bound,
    DuplicateKeys,
    FollowedWithin,
    Length,
    Matches,
    NotFuture,
    NotNull,
    OneOf,
    OrphanKeys,
    Query,
    Rate,
    Registered,
    RowCount,
    Threshold,
    Violations,
)
from contract_checks.model import AgeLimit, Cadence, Contract, Duration, Owner, Thresholds

EXAMPLES = Path(__file__).parents[1] / "examples"
VALID = sorted((EXAMPLES / "valid" / "openmetadata_proposal").iterdir())
INVALID = sorted((EXAMPLES / "invalid" / "openmetadata_proposal").iterdir())
DIALECT = OpenMetadataProposal()


def example(name: str, strict: bool = False) -> Contract:
    """The contract of a valid example."""
    return DIALECT.read(read_document(EXAMPLES / "valid" / "openmetadata_proposal" / f"{name}.yaml"), strict)


def read(text: str) -> Contract:
    """A contract about the table `t`, given the rest of its text."""
    return DIALECT.read(parse_document(f"name: t\ntype: table\n{text}"))


def of_columns(text: str) -> Contract:
    """A contract of these columns."""
    return read("schema:\n  columns:\n" + "".join(f"    {line}\n" for line in text.splitlines()))


def check_names(contract: Contract) -> list[str]:
    """The names of the checks of a contract."""
    return [check.name for check in plan(contract).datasets[0].checks]


# --------------------------------------------------------------------------- the table of the proposal


def test_every_promise_of_the_orders_contract_is_a_check() -> None:
    """the table's contract is checked whole."""
    contract = example("orders", strict=True)

    assert check_names(contract) == [
        "schema__columns",
        "schema__types",
        "schema__order_id__required",
        "schema__order_id__unique",
        "schema__order_timestamp__required",
        "schema__order_total__required",
        "schema__customer_id__required",
        "quality__order_id__non_null_order_id",
        "quality__order_total__valid_order_total",
        "quality__row_count_minimum",
        "quality__customer_email__optional_customer_email",
    ]
    assert contract.problems == ()
    assert plan(contract).datasets[0].not_checked == ()


def test_the_orders_contract_says_what_to_measure() -> None:
    """conditions become metrics, an incident that is not raised a warning."""
    non_null, total, rows, email = example("orders").datasets[0].expectations

    assert Violations(("order_id",), NotNull()) == non_null.metric
    assert (Violations(("order_total",), Bound(">=", 0)), "minimum") == (total.metric, total.rule)
    assert RowCount() == rows.metric
    assert Thresholds((Threshold("mustBeGreaterOrEqualTo", 5000),)) == rows.requirement
    assert (email.if_present, email.severity, email.incident) == (True, "warning", False)
    assert (total.severity, total.incident) == ("error", True)
    assert (total.name, total.description) == ("Valid_OrderTotal", "Order total should be non-negative.")
    assert (total.location.path, total.location.line) == ("$.quality.expectations[1]", 38)


def test_the_orders_contract_knows_its_table() -> None:
    """the name of a contract is the name of its table."""
    contract = example("orders")
    dataset = contract.datasets[0]

    assert dataset.key == ("warehouse", "sales", "orders")
    assert (dataset.physical_name, dataset.kind) == ("warehouse.sales.orders", "table")
    assert (Owner("Analytics Team", "team"),) == contract.owners
    assert (contract.incidents, contract.lifecycle) == (True, "active")
    assert contract.description.startswith("Data contract for the orders table")


def test_types_are_compared_by_family() -> None:
    """a type stands for its family; a precision is compared with the database's own."""
    types = {column.name: column.type for column in example("orders").datasets[0].columns}

    assert {"integer"} == types["order_id"].categories  # type: ignore[union-attr]
    assert {"date", "timestamp", "time"} == types["order_timestamp"].categories  # type: ignore[union-attr]
    assert types["order_total"].native == "DECIMAL(10,2)"  # type: ignore[union-attr]
    assert types["customer_email"].native is None  # type: ignore[union-attr]


# --------------------------------------------------------------------------- the topic and the model


def test_the_topic_is_read_whole() -> None:
    """the topic's contract has its checks, and says of the rest why it is not checked."""
    contract = example("customer_signups_topic", strict=True)
    dataset = contract.datasets[0]

    assert (dataset.kind, dataset.key) == ("topic", ("prod", "kafka", "customer_signups"))
    assert [
        Violations(("signup_time",), NotFuture()),
        Violations(("signup_source",), OneOf(("web", "mobile", "partner"))),
        DuplicateKeys((("event_id",),)),
        Violations(("email",), Matches("^[A-Za-z0-9+_.-]+@[A-Za-z0-9.-]+$")),
        Query("SELECT COUNT(*) FROM prod.kafka.customer_signups WHERE DATE(signup_time) = CURRENT_DATE"),
        Violations(("signup_time",), FollowedWithin(MESSAGE_TIME, Decimal("5.0"))),
        Aggregate("min", MESSAGE_TIME),
        Rate("minute"),
    ] == [expectation.metric for expectation in dataset.expectations]
    assert [column.name for column in dataset.columns if column.sensitive] == ["email"]
    assert sum(column.required for column in dataset.columns) == 4
    assert dataset.not_checked == ()
    assert [one.location.path for one in contract.not_checked] == ["$.sla.availability"]
    assert (Owner("Data Streaming Team", "team"), Owner("john.smith", "user")) == contract.owners
    assert (contract.domain, contract.data_product) == ("customer", "signups")


def test_the_model_is_read_whole() -> None:
    """a model's inputs and outputs are columns."""
    contract = example("churn_prediction_model", strict=True)
    dataset = contract.datasets[0]

    assert (dataset.kind, len(dataset.columns)) == ("mlmodel", 6)
    assert all(column.required for column in dataset.columns)
    metrics = [expectation.metric for expectation in dataset.expectations]
    zero_to_one = AllOf((Bound(">=", Decimal("0.0")), Bound("<=", Decimal("1.0"))))
    assert Violations(("tenure_months",), Bound(">=", 0)) in metrics
    assert Violations(("churn_probability",), zero_to_one) in metrics
    assert Registered("AUC", "validation dataset") in metrics
    assert [column.role for column in dataset.columns] == ["input"] * 4 + ["output"] * 2
    assert dataset.aliases == ("model_predictions",)
    assert len(contract.not_checked) == 3


@pytest.mark.parametrize("name", ["orders", "customer_signups_topic", "churn_prediction_model"])
def test_no_clause_is_lost(name: str) -> None:
    """every leaf of the file is below a check, a column, a document or a reason, or is the contract's own."""
    document = read_document(EXAMPLES / "valid" / "openmetadata_proposal" / f"{name}.yaml")
    contract = DIALECT.read(document)
    dataset = contract.datasets[0]
    own = {"apiVersion", "kind", "name", "type", "description", "owner", "owners", "tags", "domain", "dataProduct"} | {
        "incidentManagement"
    }
    clauses = (*dataset.not_checked, *dataset.documented, *contract.not_checked, *contract.documented)
    places = [one.location.path for one in (*dataset.columns, *dataset.expectations, *clauses)]

    def kept(path: tuple[str | int, ...]) -> bool:
        place = document.location(*path).path
        return path[0] in own or any(place.startswith(other) for other in places)

    lost = [path for path, _ in document.leaves() if not kept(path)]

    assert lost == []


# --------------------------------------------------------------------------- the JSON Schema's form


def test_the_form_of_the_json_schema_is_read() -> None:
    """fields with words for constraints, strict, a target entity, and semantics as a mapping."""
    contract = example("json_schema_form", strict=True)
    dataset = contract.datasets[0]

    assert (dataset.key, dataset.physical_name) == (("pg", "shop", "sales", "orders"), "shop.sales.orders")
    assert (dataset.compatibility, contract.lifecycle, contract.incidents) == ("exact", "draft", False)
    assert [
        OrphanKeys((("customer_id",),), "sales.customers", (("customer_id",),)),
        Violations(("note",), Length(None, 200)),
        Violations(("order_id",), Bound(">", 0)),
    ] == [expectation.metric for expectation in dataset.expectations]
    assert (dataset.columns[0].required, dataset.columns[0].unique) == (True, True)
    assert Cadence(Duration(2, "week"), None, "09:00", "UTC") == contract.cadence
    skipped = [one.location.path for one in (*dataset.not_checked, *contract.not_checked)]
    assert "$.schema.fields[1].constraints[1]" in skipped
    assert "$.quality.tests[0]" in skipped
    assert "$.quality.expectations[0].expression" in skipped
    assert "$.semantics.customIntegrityRules[0]" in skipped
    assert "$.semantics.columnDescriptionRequired" not in skipped


def test_a_sentence_is_never_guessed_into_a_check() -> None:
    """a condition that is not understood is reported with what would be."""
    dataset = example("conditions_not_understood").datasets[0]

    assert dataset.expectations == ()
    assert len(dataset.not_checked) == 5
    assert "should usually be there" in dataset.not_checked[0].reason
    assert "Understood: IS [NOT] NULL" in dataset.not_checked[0].reason


def test_rules_of_other_engines_are_translated_only_where_that_is_exact() -> None:
    """a part of a rule that has no counterpart leaves the whole rule unchecked."""
    dataset = example("other_engines").datasets[0]

    assert [one.name for one in dataset.expectations] == ["Ages", "Mostly there", "Countries", "Soda", "Rows", "Nulls"]
    ages, mostly, countries, *_ = dataset.expectations
    assert Violations(("age",), AllOf((Bound(">=", 0), Bound("<", 130)))) == ages.metric
    assert Thresholds((Threshold("mustBeLessOrEqualTo", 5),), "percent", RowCount()) == mostly.requirement
    assert (countries.severity, countries.notes) == ("warning", ("translated from greatexpectations",))
    assert [int(one.location.path[10:-1]) for one in dataset.not_checked] == [3, 4, 5, 6, 8, 11, 12]


# --------------------------------------------------------------------------- single rules


def test_a_time_column_turns_service_levels_into_checks() -> None:
    """with columnName latency and retention are ages of the newest and oldest value."""
    contract = read(
        "schema: {columns: [{name: at, type: TIMESTAMP}]}\n"
        "sla: {columnName: at, maxLatency: 4 hours, dataRetention: 1 year, refreshFrequency: daily}"
    )

    measured = {one.rule: (one.metric, one.requirement) for one in contract.datasets[0].expectations}
    assert (Aggregate("max", ("at",)), AgeLimit(Duration(4, "hour"))) == measured["maxLatency"]
    assert (Aggregate("min", ("at",)), AgeLimit(Duration(1, "year"))) == measured["retention"]
    assert (Aggregate("max", ("at",)), AgeLimit(Duration(1, "day"))) == measured["refreshFrequency"]
    assert contract.not_checked == ()


def test_a_key_of_several_columns_is_one_key() -> None:
    """columns that are each called a primary key make one key together."""
    contract = of_columns(
        "- {name: a, type: INT, constraints: [PRIMARY KEY]}\n- {name: b, type: INT, constraints: [PRIMARY_KEY]}"
    )

    assert [column.primary_key for column in contract.datasets[0].columns] == [1, 2]


def test_an_unknown_type_is_reported_and_not_compared() -> None:
    """a type nobody knows is a warning and a clause that is not checked."""
    contract = of_columns("- {name: a, type: COLOUR}")

    assert contract.datasets[0].columns[0].type is None
    assert [one.reason for one in contract.datasets[0].not_checked] == ["the type 'COLOUR' is not known"]
    assert [problem.level for problem in contract.problems] == ["warning"]


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("mustBe", 1),
        ("mustNotBe", 1),
        ("mustBeGreaterThan", 1),
        ("mustBeGreaterOrEqualTo", 1),
        ("mustBeLessThan", 1),
        ("mustBeLessOrEqualTo", 1),
        ("mustBeBetween", (1, 2)),
        ("mustNotBeBetween", (1, 2)),
    ],
)
def test_all_eight_operators_are_read(operator: str, value: object) -> None:
    """a query is judged by any operator."""
    written = list(value) if isinstance(value, tuple) else value
    contract = read(
        "schema: {columns: [{name: a, type: INT}]}\n"
        f"quality: [{{name: q, type: sql, query: SELECT 1, {operator}: {written}}}]"
    )

    assert Thresholds((Threshold(operator, value),)) == contract.datasets[0].expectations[0].requirement  # type: ignore[arg-type]


def test_a_key_of_another_type_of_rule_is_reported() -> None:
    """a query in a library rule would do nothing, so it is not passed over."""
    contract = read(
        "schema: {columns: [{name: a, type: INT}]}\n"
        "quality: [{name: q, type: library, rule: nullValues, field: a, mustBe: 0, query: SELECT 1}]"
    )

    assert [one.location.path for one in contract.datasets[0].not_checked] == ["$.quality[0].query"]


# --------------------------------------------------------------------------- problems


@pytest.mark.parametrize("file", VALID, ids=lambda file: file.stem)
def test_valid_examples_are_recognised_and_read(file: Path) -> None:
    """every valid example makes a contract and a plan without errors."""
    document = read_document(file)

    assert DIALECT.recognises(document)
    contract = DIALECT.read(document)
    assert all(problem.level == "warning" for problem in contract.problems)
    assert plan(contract).datasets[0].checks


@pytest.mark.parametrize("file", INVALID, ids=lambda file: file.stem)
def test_invalid_examples_are_refused_with_what_is_wrong(file: Path) -> None:
    """the problems of an invalid example are those its first lines announce, and no others."""
    lines = file.read_text(encoding="utf-8").splitlines()
    announced = [line[2:] for line in lines if line.startswith("# ")]

    with pytest.raises(ContractError) as caught:
        DIALECT.read(read_document(file))

    errors = [str(problem) for problem in caught.value.problems if problem.level == "error"]
    assert len(announced) == len(errors)
    for sentence, error in zip(announced, errors, strict=True):
        assert sentence in error


def test_unknown_keys_are_warnings_with_a_hint_and_errors_when_strict() -> None:
    """a misspelt key is never passed over."""
    contract = example("unknown_keys")

    assert [(problem.location.path, problem.location.line) for problem in contract.problems] == [
        ("$.colour", 3),
        ("$.schema.columns[0].nulable", 8),
        ("$.quality.expectations[0].raiseIncidents", 14),
    ]
    assert contract.problems[1].hint == "did you mean 'nullable'?"
    with pytest.raises(ContractError) as caught:
        example("unknown_keys", strict=True)
    assert [problem.level for problem in caught.value.problems] == ["error"] * 3


@pytest.mark.parametrize(
    "data",
    [
        {"apiVersion": "v3.0.2", "kind": "DataContract", "schema": []},
        {"apiVersion": "v2.2.2", "type": "tables", "name": "t"},
        {"name": "t", "entity": {"type": "table"}, "schema": {"columns": []}},
        {"name": "t", "schema": [{"name": "a", "dataType": "INT"}]},
        ["a"],
        {},
    ],
)
def test_other_formats_are_not_recognised(data: object) -> None:
    """a document without the proposal's marks is left to others."""
    assert not DIALECT.recognises(Document("t", data))  # type: ignore[arg-type]
