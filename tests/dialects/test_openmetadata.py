"""OpenMetadata's own format: its five shapes, its schema, service levels and status, and what is refused."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from contract_checks.checks import plan
from contract_checks.dialects.document import Document, parse_document, read_document
from contract_checks.dialects.openmetadata import OpenMetadata
from contract_checks.dialects.openmetadata_proposal import OpenMetadataProposal
from contract_checks.dialects.openmetadata_sla import read_timezone
from contract_checks.dialects.openmetadata_types import read_type
from contract_checks.errors import ContractError
from contract_checks.metrics import (
    Aggregate,
    AllOf,
    Bound,
    DuplicateKeys,
    Length,
    Matches,
    NotNull,
    NotOneOf,
    OneOf,
    Query,
    RowCount,
    Threshold,
    Violations,
)
from contract_checks.model import AgeLimit, Cadence, Contract, Duration, Owner, Thresholds

EXAMPLES = Path(__file__).parents[1] / "examples"
VALID = sorted((EXAMPLES / "valid" / "openmetadata").iterdir())
INVALID = sorted((EXAMPLES / "invalid" / "openmetadata").iterdir())
CORPUS = Path(__file__).parents[1].parent.parent / "shared" / "corpus" / "openmetadata"
DIALECT = OpenMetadata()


def example(name: str, strict: bool = False) -> Contract:
    """The contract of a valid example."""
    return DIALECT.read(read_document(EXAMPLES / "valid" / "openmetadata" / name), strict)


def read(text: str, strict: bool = False) -> Contract:
    """A contract about a table, given the rest of its text."""
    head = "name: c\nentityStatus: Approved\nentity: {type: table, fullyQualifiedName: service.db.schema.t}\n"
    return DIALECT.read(parse_document(head + text), strict)


# --------------------------------------------------------------------------- shapes


def test_an_export_is_read_whole_also_strictly() -> None:
    """what the UI exports has no problem, and each of its parts is a check, shown, or not checked."""
    contract = example("export.yaml", strict=True)
    dataset = contract.datasets[0]

    assert contract.problems == ()
    assert (contract.status, contract.lifecycle) == ("Approved", "active")
    assert dataset.key == ("warehouse_service", "shop", "sales", "customers")
    assert dataset.physical_name == "shop.sales.customers"
    assert (Owner("customer-care", "team"), Owner("ada@example.com", "user", "ada@example.com")) == contract.owners
    assert [expectation.rule for expectation in dataset.expectations] == [
        "dataLength",
        "dataLength",
        "nullValues",
        "rowCount",
        "refreshFrequency",
        "maxLatency",
        "retention",
        "availabilityTime",
    ]
    assert [one.location.path for one in dataset.not_checked] == [
        "$.schema[4].arrayDataType",
        "$.qualityExpectations[0]",
    ]
    assert contract.not_checked == ()
    assert [(rule.name, rule.enabled) for rule in dataset.semantic_rules] == [
        ("Owners is set", True),
        ("Has a tier", False),
        ("dataClassification", True),
    ]
    shown = {one.title for one in contract.documented}
    assert {"Terms of use", "Access policy", "Data classification", "Reviewer", "Extension"} == shown


def test_service_levels_with_a_column_are_checks() -> None:
    """latency and refresh are the age of the newest value, retention that of the oldest, in the SLA's zone."""
    contract = example("export.yaml")
    found = {one.rule: (one.metric, one.requirement) for one in contract.datasets[0].expectations}
    newest, oldest = Aggregate("max", ("updated_at",)), Aggregate("min", ("updated_at",))

    assert (newest, AgeLimit(Duration(1, "day"), "Europe/Paris")) == found["refreshFrequency"]
    assert (newest, AgeLimit(Duration(4, "hour"), "Europe/Paris")) == found["maxLatency"]
    assert (oldest, AgeLimit(Duration(1, "year"), "Europe/Paris")) == found["retention"]
    assert Cadence(Duration(1, "day"), None, "09:00", "Europe/Paris") == contract.cadence


def test_rules_of_an_odcs_import_are_read_as_odcs_reads_them() -> None:
    """odcsQualityRules belong to the column they name, and keep their places."""
    dataset = example("export.yaml").datasets[0]
    nulls, rows = (one for one in dataset.expectations if one.section == "quality")

    assert (Violations(("email",), NotNull()), "warning") == (nulls.metric, nulls.severity)
    assert Thresholds((Threshold("mustBeLessThan", 5),), "percent", RowCount()) == nulls.requirement
    assert (rows.location.path, rows.location.line) == ("$.odcsQualityRules[1]", 83)
    assert [one.location.path for one in dataset.documented] == ["$.odcsQualityRules[2]"]


def test_nested_columns_keep_their_place() -> None:
    """children of a struct are its fields, those of an array the fields of its items."""
    columns = {column.name: column for column in example("export.yaml").datasets[0].columns}

    assert [child.name for child in columns["address"].children] == ["city", "zip"]
    assert columns["orders"].items is not None
    assert [child.name for child in columns["orders"].items.children] == ["order_id"]
    assert columns["email"].sensitive


def test_the_entity_as_the_server_returns_it_is_read() -> None:
    """the asset's name is taken from the contract's full name if the reference has none."""
    contract = example("entity_as_returned.json", strict=True)

    assert contract.datasets[0].key == ("pg", "fleet", "public", "planes")
    assert contract.version == "0.3"
    assert contract.id == "5d0c0b7e-52f8-4d8c-8a3f-0c7d6a1f9b10"
    assert [one.text for one in contract.documented if one.title == "Terms of use"] == ["Ask first."]


def test_a_length_of_one_stands_for_an_unknown_length() -> None:
    """connectors write a dataLength of 1 where the database tells none; it would fail every value."""
    dataset = example("entity_as_returned.json").datasets[0]

    assert dataset.expectations == ()
    assert [one.location.path for one in dataset.not_checked] == ["$.schema[0].dataLength"]


def test_the_shape_of_1_9_is_read() -> None:
    """status counts as entityStatus, and full names of columns tell the table's, quotes respected."""
    contract = example("status_of_1_9.yaml", strict=True)

    assert (contract.status, contract.lifecycle) == ("Active", "active")
    assert contract.datasets[0].key == ("red", "dev", "jaffle", "cust.omers")
    assert contract.datasets[0].physical_name == 'dev.jaffle."cust.omers"'
    assert [Violations(("first_name",), Length(None, 20))] == [one.metric for one in contract.datasets[0].expectations]


def test_the_shape_of_the_sample_data_is_read() -> None:
    """tableFQN names the asset, and names of test cases are references."""
    contract = example("sample_data.yaml", strict=True)

    assert contract.datasets[0].physical_name == "ecommerce_db.shopify.dim_address"
    assert "lives in OpenMetadata" in contract.datasets[0].not_checked[0].reason


def test_the_shape_of_the_documentation_is_read_with_warnings() -> None:
    """invented keys and words are reported, durations in ISO 8601 are understood."""
    contract = example("documentation.json")

    assert Duration(1, "hour") == contract.cadence.every  # type: ignore[union-attr]
    assert [column.primary_key for column in contract.datasets[0].columns] == [1, 2]
    assert [problem.location.path for problem in contract.problems] == [
        "$.entity",
        "$.entityStatus",
        "$.semantics[0]",
        "$.sla.availability",
    ]


def test_one_contract_in_the_wrapper_of_the_sample_data_is_read() -> None:
    """a file with the list dataContracts is read if it holds one."""
    contract = DIALECT.read(parse_document("dataContracts:\n  - name: c\n    tableFQN: s.d.s.t\n    status: Draft\n"))

    assert (contract.name, contract.lifecycle) == ("c", "draft")


# --------------------------------------------------------------------------- status, time, types


@pytest.mark.parametrize(
    ("status", "lifecycle"),
    [
        ("Draft", "draft"),
        ("In Review", "draft"),
        ("Unprocessed", "draft"),
        ("Approved", "active"),
        ("Active", "active"),
        ("Deprecated", "deprecated"),
        ("Archived", "retired"),
        ("Rejected", "retired"),
    ],
)
def test_the_status_decides_whether_a_contract_is_in_force(status: str, lifecycle: str) -> None:
    """only an approved contract is in force."""
    document = parse_document(f"name: c\nentityStatus: {status}\nentity: {{type: table, name: t}}\n")

    assert lifecycle == DIALECT.read(document).lifecycle


def test_a_contract_without_status_is_a_draft_and_says_so() -> None:
    """OpenMetadata's default is Draft; a reader of the problems learns that nothing blocks."""
    contract = DIALECT.read(parse_document("name: c\nentity: {type: table, name: t}\n"))

    assert contract.lifecycle == "draft"
    assert [problem.hint for problem in contract.problems] == ["write entityStatus: Approved"]


@pytest.mark.parametrize(
    ("label", "zone"),
    [
        ("GMT+00:00 (Europe/London)", "Europe/London"),
        ("GMT-08:00 (America/Los Angeles)", "America/Los_Angeles"),
        ("GMT+09:00 (Australia/Adelaide)", "Australia/Adelaide"),
        ("GMT+10:30 (Australia/Lord Howe)", "Australia/Lord_Howe"),
        ("GMT-02:30 (Atlantic/Newfoundland)", "-02:30"),
        ("GMT+03:00 (Asia/Iran)", "+03:00"),
        ("GMT+05:45 (Asia/Nepal)", "+05:45"),
        ("GMT+08:45 (Australia/Australian Central Western Standard Time)", "+08:45"),
        ("Europe/Paris", "Europe/Paris"),
        ("UTC", "UTC"),
        ("+02:00", "+02:00"),
        ("nowhere", None),
    ],
)
def test_a_time_zone_is_its_region_else_its_offset(label: str, zone: str | None) -> None:
    """daylight saving applies where the region is a real zone."""
    assert zone == read_timezone(label)


@pytest.mark.parametrize(
    ("sla", "cadence"),
    [
        ("refreshFrequency: {interval: 3, unit: week}", Cadence(Duration(3, "week"), timezone="Europe/London")),
        ("refreshFrequency: {interval: 0.25, unit: hour}", Cadence(Duration(15, "minute"), timezone="Europe/London")),
        ("availabilityTime: 9:30 UTC", Cadence(Duration(1, "day"), None, "09:30", "UTC")),
        (
            "{availabilityTime: '09:00 UTC', timezone: GMT+01:00 (Europe/Paris)}",
            Cadence(Duration(1, "day"), None, "09:00", "Europe/Paris"),
        ),
    ],
)
def test_the_cadence_comes_from_the_service_levels(sla: str, cadence: Cadence) -> None:
    """a refresh frequency is an interval, a time alone a daily one; London is OpenMetadata's default zone."""
    text = f"sla:\n  {sla}\n" if not sla.startswith("{") else f"sla: {sla}\n"

    assert cadence == read(text).cadence


def test_a_time_of_day_that_is_none_is_not_checked() -> None:
    """what cannot be read is reported, not scheduled at midnight."""
    contract = read("sla: {availabilityTime: in the morning}")

    assert contract.cadence is None
    assert "not understood" in contract.not_checked[0].reason
    assert "HH:MM" in contract.problems[0].hint


@pytest.mark.parametrize(
    ("text", "categories", "native", "length"),
    [
        ("BIGINT", {"integer"}, None, None),
        ("MONEY", {"number"}, None, None),
        ("numeric(10, 2)", {"number"}, "DECIMAL(10,2)", None),
        ("NUMBER(38)", {"number"}, "DECIMAL(38,0)", None),
        ("TIMESTAMPZ", {"date", "timestamp", "time"}, None, None),
        ("JSON", {"array", "map", "object"}, None, None),
        ("varchar(20)", {"string"}, None, 20),
        ("UUID", {"string"}, None, None),
        ("double precision", {"number"}, None, None),
    ],
)
def test_a_type_stands_for_its_family(text: str, categories: set[str], native: str | None, length: int | None) -> None:
    """any member of a family satisfies another; only what is stated is compared beyond."""
    found = read_type(text)

    assert found is not None
    assert (categories, native, length) == (found.declared.categories, found.declared.native, found.max_length)


def test_a_declared_precision_is_compared_natively() -> None:
    """dataType with precision and scale is the type they spell."""
    column = read("schema: [{name: a, dataType: DECIMAL, precision: 12, scale: 3}]").datasets[0].columns[0]

    assert (column.type.native, column.type.text) == ("DECIMAL(12,3)", "DECIMAL(12,3)")  # type: ignore[union-attr]


# --------------------------------------------------------------------------- problems


@pytest.mark.parametrize("file", VALID, ids=lambda file: file.stem)
def test_valid_examples_are_recognised_and_read(file: Path) -> None:
    """every valid example makes a contract and a plan without errors, and belongs to this dialect alone."""
    document = read_document(file)

    assert (DIALECT.recognises(document), OpenMetadataProposal().recognises(document)) == (True, False)
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


def test_unknown_keys_are_warnings_and_errors_when_strict() -> None:
    """a misspelt key is reported with the one it resembles."""
    text = "schema: [{name: a, dataType: INT, dataLenght: 5}]"
    contract = read(text)

    assert [problem.hint for problem in contract.problems] == ["did you mean 'dataLength'?"]
    assert [one.location.path for one in contract.datasets[0].not_checked] == ["$.schema[0].dataLenght"]
    with pytest.raises(ContractError):
        read(text, strict=True)


@pytest.mark.parametrize(
    "data",
    [
        {"entity": "urn:li:dataset:x", "version": 1},
        {"apiVersion": "v3.1.0", "kind": "DataContract", "name": "t", "schema": []},
        {"dataContractFQN": "x", "timestamp": 1},
        {"contract": {"entity": "dim_customers"}},
        None,
    ],
)
def test_other_documents_are_not_recognised(data: object) -> None:
    """a document without OpenMetadata's marks is left to others."""
    assert not DIALECT.recognises(Document("t", data))  # type: ignore[arg-type]


# --------------------------------------------------------------------------- OpenMetadata's published examples

REFUSED = {
    "data-contract-04.json": "a contract of type 'topic' cannot have 'qualityExpectations'",
    "data-contract-05.json": "a contract of type 'file' cannot have 'schema'",
    "dataContracts.json": "holds 3 contracts, a file holds one",
}
READ = {
    "v1.10.x_spec-01.yaml", "v1.10.x_api_create-01-curl-body.json", "v1.10.x_api_create-02.json",
    "v1.10.x_api_retrieve-01.json", "v1.10.x_api_update-01.json", "data-contract-03.json",
}  # fmt: skip


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
def test_published_contracts_are_read_or_refused_for_a_reason() -> None:
    """every published contract is recognised; each is read, or refused as OpenMetadata refuses it."""
    found: dict[str, str] = {}
    for file in sorted(CORPUS.glob("*/*.[jy]*")):
        document = read_document(file)
        if DIALECT.recognises(document):
            try:
                plan(DIALECT.read(document))
                found[file.name] = ""
            except ContractError as error:
                found[file.name] = str(error)

    assert {name for name, error in found.items() if not error} == READ
    assert set(REFUSED) == {name for name, error in found.items() if error}
    for name, reason in REFUSED.items():
        assert reason in found[name]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
def test_each_contract_of_the_sample_data_is_read() -> None:
    """the contracts that OpenMetadata's sample data lists are read one by one."""
    document = read_document(CORPUS / "sample_data" / "dataContracts.json")
    assert isinstance(document.data, dict)

    for item in document.data["dataContracts"]:
        contract = DIALECT.read(Document("sample", {"dataContracts": [item]}))
        assert contract.lifecycle == "active"
        assert plan(contract).datasets[0].checks


# --------------------------------------------------------------------------- test cases in the contract


def inline_test(definition: str, column: str, **parameters: str) -> Contract:
    """A contract with one test case."""
    link = f"<#E::table::service.db.schema.t::columns::{column}>" if column else "<#E::table::service.db.schema.t>"
    case = {
        "name": "test",
        "testDefinition": {"type": "testDefinition", "name": definition},
        "entityLink": link,
        "parameterValues": [{"name": name, "value": value} for name, value in parameters.items()],
    }
    return read(
        "schema: [{name: a, dataType: INT}, {name: w, dataType: STRING}]\n"
        f"qualityExpectations: [{json.dumps(case)}]",
        strict=True,
    )


A, W, NONE = ("a",), ("w",), Thresholds((Threshold("mustBe", 0),))


@pytest.mark.parametrize(
    ("definition", "column", "parameters", "metric", "requirement"),
    [
        ("columnValuesToBeNotNull", "a", {}, Violations(A, NotNull()), NONE),
        ("columnValuesToBeUnique", "a", {}, DuplicateKeys((A,)), NONE),
        (
            "columnValuesToBeInSet", "w", {"allowedValues": '["x", "y"]', "matchEnum": "true"},
            Violations(W, AllOf((NotNull(), OneOf(("x", "y"))))), NONE,
        ),
        (
            "columnValuesToBeInSet", "w", {"allowedValues": "['x']"},
            Violations(W, NotOneOf(("x",))), Thresholds((Threshold("mustBeGreaterOrEqualTo", 1),)),
        ),
        ("columnValuesToBeNotInSet", "a", {"forbiddenValues": '["1"]'}, Violations(A, NotOneOf((1,))), NONE),
        ("columnValuesToMatchRegex", "w", {"regex": "^x"}, Violations(W, Matches("^x")), NONE),
        (
            "columnValuesToBeBetween", "a", {"minValue": "1", "threshold": "2"},
            Violations(A, AllOf((Bound(">=", 1),))),
            Thresholds((Threshold("mustBeLessOrEqualTo", 2),), needs=Aggregate("min", A)),
        ),
        (
            "columnValueLengthsToBeBetween", "w", {"maxLength": "9"}, Violations(W, Length(None, 9)),
            Thresholds(NONE.all_of, needs=Aggregate("min", W)),
        ),
        (
            "columnValueMeanToBeBetween", "a", {"minValueForMeanInCol": "1.5"},
            Aggregate("avg", A), Thresholds((Threshold("mustBeGreaterOrEqualTo", Decimal("1.5")),)),
        ),
        (
            "columnValuesMissingCount", "w", {"missingCountValue": "3", "missingValueMatch": '["n/a"]'},
            Violations(W, NotOneOf((None, "", "n/a"))), Thresholds((Threshold("mustBe", 3),)),
        ),
        ("tableRowCountToEqual", "", {"value": "7"}, RowCount(), Thresholds((Threshold("mustBe", 7),))),
        (
            "tableCustomSQLQuery", "", {"sqlExpression": "SELECT 1 FROM t", "strategy": "COUNT", "operator": ">"},
            Query("SELECT 1 FROM t", result="count"), Thresholds((Threshold("mustBeGreaterThan", 0),)),
        ),
    ],
)  # fmt: skip
def test_a_test_case_in_the_contract_is_a_check(
    definition: str, column: str, parameters: dict[str, str], metric: object, requirement: object
) -> None:
    """a test case passes exactly when OpenMetadata's definition does."""
    (found,) = inline_test(definition, column, **parameters).datasets[0].expectations

    assert (found.metric, found.requirement, found.rule) == (metric, requirement, definition)


@pytest.mark.parametrize(
    ("definition", "column", "parameters"),
    [
        ("columnValueMedianToBeBetween", "a", {}),
        ("columnValuesToBeNotNull", "", {}),
        ("columnValuesToBeNotNull", "a", {"sparkle": "1"}),
        ("columnValuesToBeBetween", "a", {"minValue": "1", "threshold": "1", "thresholdUnit": "ROWS"}),
        ("columnValuesToBeBetween", "a", {"minValue": "low"}),
        ("columnValuesToBeBetween", "a", {"minValue": "1e999999999"}),
        ("columnValuesToBeBetween", "a", {"minValue": "NaN"}),
        ("columnValuesToBeInSet", "w", {"allowedValues": "x, y"}),
        ("columnValuesToBeNotNull", "a", {"dimensionFailurePolicy": "ANY_DIMENSION"}),
        ("columnValuesToBeAtExpectedLocation", "w", {"locationReferenceType": "CITY"}),
        ("columnValueMeanToBeBetween", "a", {"minValueForMeanInCol": "1", "threshold": "3"}),
        ("tableCustomSQLQuery", "", {"sqlExpression": "SELECT 1", "operator": "=~"}),
        ("tableDiff", "", {"table2": "other.db.schema.t"}),
        ("tableMadeUp", "", {}),
        ("tableRowCountToBeBetween", "", {}),
    ],
)
def test_a_test_case_without_exact_counterpart_is_not_checked(
    definition: str, column: str, parameters: dict[str, str]
) -> None:
    """a definition, parameter or value that has no exact counterpart leaves the test unchecked."""
    dataset = inline_test(definition, column, **parameters).datasets[0]

    assert dataset.expectations == ()
    assert [one.location.path for one in dataset.not_checked] == ["$.qualityExpectations[0]"]
