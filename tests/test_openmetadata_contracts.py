"""OpenMetadata contracts against real tables and metadata: what is in force, how schemas differ, who sees what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from builders import contract_of, odcs, result
from databases import SHARED, Put

from contract_checks.checks import Settings
from contract_checks.dialects import load_directory
from contract_checks.dialects.openmetadata_sla import read_timezone
from contract_checks.errors import ContractError
from contract_checks.model import Contract, Dataset
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.semantics import ContractMetadata, MergedMetadata

HEAD = "name: c\nentity: {type: table, fullyQualifiedName: pg.t}\n"
ROWS = "SELECT 1::BIGINT AS id, 'x' AS name, NULL::DOUBLE AS score"
SCHEMAS = SHARED / "corpus" / "openmetadata-schemas"
CORPUS = SHARED / "corpus" / "openmetadata"


def contract(text: str, status: str = "Approved") -> Contract:
    """A contract about the table `t`, given the rest of its text."""
    return contract_of(f"{HEAD}entityStatus: {status}\n{text}", "c.yaml")


def checked(put: Put, text: str, rows: str = ROWS, place: str = "duckdb", **more: Any) -> Report:
    """The report of a contract on a table."""
    return check_contract(contract(text), source=put(place, rows), **more)


# --------------------------------------------------------------------------- in force or not


@pytest.mark.parametrize(
    ("period", "now", "reason"),
    [
        ("effectiveFrom: 2026-02-01T00:00:00Z", "2026-01-31T23:59:59", "from 2026-02-01"),
        ("effectiveFrom: 2026-02-01T00:00:00Z", "2026-02-01T00:00:00", ""),
        ("effectiveUntil: 2026-02-01T00:00:00Z", "2026-02-01T00:00:00", "until 2026-02-01"),
        ("effectiveUntil: 2026-02-01", "2026-02-01T23:59:59", ""),
        ("effectiveUntil: 2026-02-01", "2026-02-02T00:00:00", "until 2026-02-02"),
    ],
)
def test_outside_of_its_period_a_contract_is_not_checked(period: str, now: str, reason: str, put: Put) -> None:
    """Every check is skipped with the dates; nothing passes that was not evaluated."""
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
    report = checked(put, f"schema: [{{name: gone, dataType: INT}}]\n{period}", now=moment)
    expected = {"skipped"} if reason else {"failed", "skipped"}
    assert {one.status for one in report.results} == expected
    assert all(reason in one.description for one in report.results if reason)
    assert report.status == ("not_evaluated" if reason else "violated")


@pytest.mark.parametrize(("status", "outcome"), [("Rejected", "skipped"), ("Archived", "skipped"), ("Draft", "failed")])
def test_a_contract_that_was_given_up_is_not_checked(status: str, outcome: str, put: Put) -> None:
    """A rejected or archived contract binds nobody; a draft is checked, and blocks nothing."""
    report = check_contract(contract("schema: [{name: gone, dataType: INT}]", status), source=put("duckdb", ROWS))
    assert result(report, "columns").status == outcome


def test_a_date_that_is_none_is_an_error() -> None:
    """A period that nobody understands must not be taken for none."""
    with pytest.raises(ContractError, match="no date and time"):
        contract("effectiveFrom: next week")


# --------------------------------------------------------------------------- the schema


@pytest.mark.parametrize("place", ["duckdb", "sqlite", "parquet"])
def test_the_schema_is_compared_with_the_real_table(place: str, put: Put) -> None:
    """Missing columns, other types, nulls and lengths are told apart, whatever the store."""
    text = """
schema:
  - {name: id, dataType: STRING}
  - {name: name, dataType: VARCHAR, dataLength: 3}
  - {name: score, dataType: DOUBLE, constraint: NOT_NULL}
  - {name: gone, dataType: INT}
"""
    report = checked(put, text, "SELECT 1::BIGINT AS id, 'long' AS name, NULL::DOUBLE AS score", place)
    assert [one.column for one in result(report, "columns").details if not one.ok] == ["gone"]
    assert [one.column for one in result(report, "types").details if not one.ok] == ["id"]
    assert result(report, "required", "score").measured == 1
    assert result(report, "dataLength", "name").measured == 1


def test_nested_columns_are_looked_for_where_they_are(put: Put) -> None:
    """A field of a struct is not found at the top, as OpenMetadata would find it."""
    text = """
schema:
  - {name: address, dataType: STRUCT, children: [{name: zip, dataType: STRING}, {name: city, dataType: INT}]}
  - {name: zip, dataType: STRING}
"""
    report = checked(put, text, "SELECT {'zip': '1', 'city': 'x'} AS address")
    assert [one.column for one in result(report, "columns").details if not one.ok] == ["zip"]
    assert [one.column for one in result(report, "types").details if not one.ok] == ["address.city"]


@pytest.mark.parametrize(
    ("kind", "native", "matches"),
    [
        ("INT", "BIGINT", True), ("INT", "DECIMAL(10,2)", False), ("NUMBER", "BIGINT", False),
        ("DATE", "TIMESTAMP", True), ("JSON", "INTEGER[]", True), ("TEXT", "VARCHAR", True),
        ("BOOLEAN", "VARCHAR", False), ("BLOB", "BLOB", True),
    ],
)  # fmt: skip
def test_types_are_compared_by_family(kind: str, native: str, matches: bool, put: Put) -> None:
    """The seven families decide, as in OpenMetadata."""
    report = checked(put, f"schema: [{{name: a, dataType: {kind}}}]", f"SELECT NULL::{native} AS a")
    assert result(report, "types").status == ("passed" if matches else "failed")


def test_other_columns_can_be_refused(put: Put) -> None:
    """OpenMetadata has no strict mode; a setting is one."""
    report = checked(put, "schema: [{name: id, dataType: BIGINT}]", settings=Settings(compatibility="exact"))
    assert result(report, "unexpected_columns").measured == 2


def test_a_column_that_is_listed_twice_is_refused() -> None:
    """OpenMetadata refuses duplicate fields when a contract is written."""
    with pytest.raises(ContractError, match="listed twice"):
        contract("schema: [{name: a, dataType: INT}, {name: a, dataType: INT}]")


# --------------------------------------------------------------------------- security


class Tags:
    """Metadata of the asset from elsewhere."""

    def __init__(self, **entity: Any) -> None:
        self.known = entity

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """What is known, whatever the dataset."""
        return self.known


def tag(name: str) -> dict[str, str]:
    """A tag as OpenMetadata gives it."""
    return {"tagFQN": name, "name": name.rpartition(".")[2]}


@pytest.mark.parametrize(
    ("promised", "metadata", "status"),
    [
        ("PII", Tags(tags=[tag("PII.Sensitive")]), "passed"),
        ("PII", Tags(columns=[{"name": "id"}, {"name": "name", "tags": [tag("PII.Sensitive")]}]), "passed"),
        ("PII", Tags(tags=[tag("PII.None")]), "failed"),
        ("Confidential", Tags(tags=[tag("Access.confidential")]), "passed"),
        ("Confidential", Tags(tags=[tag("Access.public")]), "failed"),
        ("Confidential", Tags(tags=[]), "failed"),
        ("Confidential", Tags(description="no word of tags"), "skipped"),
    ],
)
def test_a_promised_classification_is_looked_for_among_the_real_tags(
    promised: str, metadata: Tags, status: str, put: Put
) -> None:
    """Only what the asset has elsewhere counts; where nobody knows its tags, nothing passes."""
    text = f"security: {{dataClassification: {promised}}}\nschema: [{{name: id, dataType: BIGINT, tags: [{promised}]}}]"
    report = checked(put, text, metadata=MergedMetadata(ContractMetadata(), metadata))
    assert result(report, "dataClassification").status == status


def test_row_filters_never_change_what_is_checked(put: Put) -> None:
    """A policy says who may see which rows; a promise is about all of them."""
    policy = "{accessPolicy: readers, identities: [eu], rowFilters: [{columnName: id, values: ['2']}]}"
    text = f"security: {{policies: [{policy}]}}\nschema: [{{name: name, dataType: STRING, constraint: NOT_NULL}}]"
    report = checked(put, text, "SELECT 1 AS id, NULL::VARCHAR AS name UNION ALL SELECT 2, 'x'")
    assert result(report, "required", "name").measured == 1
    (shown,) = [one for one in report.plan.contract.documented if one.title == "Access policy"]
    assert "rows where id is 2" in shown.text


# --------------------------------------------------------------------------- third-party files


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the corpus is not beside the checkout")
def test_every_time_zone_label_is_a_zone() -> None:
    """All labels that OpenMetadata's schema lists are read, as a region or as an offset."""
    text = (SCHEMAS / "entity__data__dataContract.json").read_text(encoding="utf-8")
    labels = _labels(json.loads(text))
    assert len(labels) == 36
    assert [label for label in labels if read_timezone(label) is None] == []


def _labels(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = value.get("enum")
        if isinstance(own, list) and any("GMT+" in str(one) for one in own):
            return [str(one) for one in own]
        return [label for inner in value.values() for label in _labels(inner)]
    return [label for inner in value for label in _labels(inner)] if isinstance(value, list) else []


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
@pytest.mark.parametrize("folder", ["docs-om", "odcs-fixtures", "sample_data", "standards-docs"])
def test_folders_of_published_files_load_without_a_defect(folder: str) -> None:
    """Every published file is a contract or is refused for a reason that names a place in it."""
    loaded = load_directory(CORPUS / folder)
    problems = [problem for error in loaded.broken for problem in error.problems]
    assert not [str(one) for one in problems if "could not be read" in one.message]
    assert all(problem.location.line >= 1 for problem in problems)
    assert loaded.contracts or problems


# --------------------------------------------------------------------------- ODCS rules for this engine


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        (
            {"testDefinition": "columnValuesToBeBetween", "parameterValues": [{"name": "maxValue", "value": "3"}]},
            "passed",
        ),
        ({"testDefinition": {"name": "columnValuesToBeNotNull"}, "parameterValues": []}, "failed"),
        ({"testDefinition": "columnValuesToBeNotNull", "parameterValues": {"threshold": 1}}, "passed"),
    ],
)
def test_an_odcs_rule_may_name_a_test_definition(payload: dict[str, Any], status: str, put: Put) -> None:
    """A rule that OpenMetadata exported as `engine: openmetadata` is its test definition."""
    rule = {"id": "r", "type": "custom", "engine": "openmetadata", "implementation": json.dumps(payload)}
    made = contract_of(odcs([{"name": "a", "logicalType": "integer", "quality": [rule]}]))
    report = check_contract(made, source=put("duckdb", "SELECT 1 AS a UNION ALL SELECT NULL"))
    assert result(report, "r", "a").status == status


def test_a_definition_that_is_unknown_is_not_checked() -> None:
    """What no definition is called is listed with the reason."""
    rule = {"type": "custom", "engine": "openmetadata", "implementation": '{"testDefinition": "madeUp"}'}
    made = contract_of(odcs([{"name": "a", "quality": [rule]}]))
    assert any("'madeUp' is not known" in one.reason for one in made.datasets[0].not_checked)


# --------------------------------------------------------------------------- assets without data


def test_an_asset_without_rows_is_judged_by_its_metadata() -> None:
    """Rules about a dashboard need no table, nor a source that has it."""
    rule = '{"==": [{"var": "name"}, "sales"]}'
    text = (
        "name: c\nentityStatus: Approved\nentity: {type: dashboard, fullyQualifiedName: bi.sales}\n"
        f"semantics: [{{name: named, description: It is named, enabled: true, rule: '{rule}'}}]\n"
    )
    for source in ("duckdb://", "duckdb:////nowhere/at/all.duckdb"):
        report = check_contract(contract_of(text), source=source)
        assert [one.status for one in report.results] == ["passed"]
