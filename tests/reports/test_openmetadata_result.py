"""Results as OpenMetadata keeps them: valid by its own JSON Schema, counted as its server counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest
from click.testing import CliRunner
from databases import SHARED, Put

from contract_checks.checks import Settings
from contract_checks.cli import commands
from contract_checks.dagster_defs import Incidents, build_definitions
from contract_checks.dagster_defs.om_results import openmetadata_results
from contract_checks.dialects import read
from contract_checks.dialects.document import parse_document
from contract_checks.model import Contract
from contract_checks.reports import render
from contract_checks.reports.openmetadata import contract_result
from contract_checks.run import check_contract

SCHEMAS = SHARED / "corpus" / "openmetadata-schemas"
ROWS = "SELECT i AS id, 'x' AS name, TIMESTAMP '2026-05-10 11:00:00' AS at FROM range(1, 4) r(i)"
NOW = datetime(2026, 5, 10, 12, tzinfo=UTC)
TEXT = """
name: orders_contract
entityStatus: Approved
entity: {type: table, fullyQualifiedName: pg.t}
schema:
  - {name: id, dataType: BIGINT, constraint: NOT_NULL}
  - {name: name, dataType: STRING}
  - {name: at, dataType: TIMESTAMP}
semantics:
  - {name: described, description: It is described, enabled: true, rule: '{"!!": {"var": "description"}}'}
  - {name: off, description: Never, enabled: false, rule: 'false'}
qualityExpectations:
  - name: enough
    type: testCase
    testDefinition: tableRowCountToBeBetween
    parameterValues: [{name: minValue, value: 3}]
sla: {maxLatency: {value: 2, unit: hour}, timezone: UTC, columnName: at}
"""


def contract() -> Contract:
    """The contract."""
    return read(parse_document(TEXT, "contracts/orders.yaml"))


def result(put: Put, rows: str = ROWS, made: Contract | None = None, **more: Any) -> dict[str, Any]:
    """The result object of a test of the contract."""
    report = check_contract(made or contract(), source=put("duckdb", rows), now=NOW, **more)
    return contract_result(report, NOW)


def validator() -> Any:
    """Validates by OpenMetadata's schema of results."""
    jsonschema = pytest.importorskip("jsonschema")
    referencing = pytest.importorskip("referencing")
    registry = referencing.Registry()
    for file in SCHEMAS.glob("*.json"):
        content = json.loads(file.read_text(encoding="utf-8"))
        registry = registry.with_resource(content["$id"], referencing.Resource.from_contents(content))
    schema = json.loads((SCHEMAS / "entity__datacontract__dataContractResult.json").read_text(encoding="utf-8"))
    return jsonschema.Draft7Validator(schema, registry=registry)


def test_a_kept_contract_is_a_success(put: Put) -> None:
    """Every section has its counts; a rule that is off counts as passed; the latency is in milliseconds."""
    found = result(put, f"SELECT *, 1 AS more FROM ({ROWS})")
    assert found["dataContractFQN"] == "pg.t.dataContract_orders_contract"
    assert found["timestamp"] == 1778414400000
    assert found["schemaValidation"] == {
        "passed": 3, "failed": 0, "total": 3, "failedFields": [], "duplicateFields": [], "typeMismatchFields": [],
    }  # fmt: skip
    assert found["qualityValidation"] == {"passed": 1, "failed": 0, "total": 1, "qualityScore": 100}
    assert found["slaValidation"] == {"latencyMet": True, "actualLatency": 3600000}
    assert (found["semanticsValidation"]["total"], found["semanticsValidation"]["passed"]) == (2, 1)
    assert found["semanticsValidation"]["failedRules"][0]["ruleName"] == "described"
    assert found["contractExecutionStatus"] == "Failed"


def test_missing_columns_and_other_types_are_told_apart(put: Put) -> None:
    """A column that is missing is a failed field, one of another type a mismatch; both fail by default."""
    found = result(put, "SELECT 'a' AS id, TIMESTAMP '2026-05-10 11:00:00' AS at FROM range(3)")
    schema = found["schemaValidation"]
    assert schema["failedFields"] == ["name"]
    assert schema["typeMismatchFields"] == ["id: expected BIGINT, got VARCHAR"]
    assert (schema["passed"], schema["failed"], schema["total"]) == (1, 2, 3)


def test_other_types_can_be_for_information_only(put: Put) -> None:
    """With a setting a mismatch warns, as in OpenMetadata, and does not count as failed."""
    rows = "SELECT 'a' AS id, 'x' AS name, TIMESTAMP '2026-05-10 11:00:00' AS at FROM range(3)"
    schema = result(put, rows, settings=Settings(type_mismatch="warning"))["schemaValidation"]
    assert schema["typeMismatchFields"] == ["id: expected BIGINT, got VARCHAR"]
    assert (schema["passed"], schema["failed"]) == (3, 0)


def test_what_could_not_be_evaluated_at_all_is_aborted() -> None:
    """A database that is down is no broken promise."""
    report = check_contract(contract(), source="duckdb:////nowhere/at/all.duckdb")
    found = contract_result(report, NOW)
    assert found["contractExecutionStatus"] == "Aborted"
    sections = {key: value for key, value in found.items() if key.endswith("Validation")}
    assert sections["qualityValidation"]["failed"] == 1


@pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the corpus is not beside the checkout")
def test_results_are_valid_by_openmetadatas_schema(put: Put) -> None:
    """Whatever the outcome, the object is a DataContractResult."""
    checked = validator()
    broken = check_contract(contract(), source=put("sqlite", "SELECT 1 AS id"), now=NOW)
    for found in (result(put), contract_result(broken, NOW, incident=str(uuid4()))):
        assert list(checked.iter_errors(found)) == []
    report = check_contract(contract(), source="duckdb:////nowhere/at/all.duckdb")
    assert list(checked.iter_errors(json.loads(render(report, "openmetadata")))) == []


# --------------------------------------------------------------------------- runs of Dagster


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as one:
        yield one


def ran(instance: dg.DagsterInstance, made: Contract, source: str) -> dg.Definitions:
    """Run the contract's asset once."""
    definitions = build_definitions(made, source=source, retry_wait=0, incidents=Incidents(unstated=True))
    dg.materialize(
        list(definitions.assets or ()),
        instance=instance,
        resources=dict(definitions.resources or {}),
        raise_on_error=False,
    )
    return definitions


def test_each_run_has_its_result(instance: dg.DagsterInstance, put: Put) -> None:
    """The event log says of each run what the report said, with the incident that it opened."""
    made = contract()
    source = put("parquet", ROWS.replace("range(1, 4)", "range(1, 3)"))
    definitions = ran(instance, made, source)
    (sensor,) = definitions.sensors or ()
    sensor.evaluate_tick(dg.build_sensor_context(instance=instance))  # type: ignore[union-attr]
    (found,) = openmetadata_results(instance, made)
    assert found["contractExecutionStatus"] == "Failed"
    assert found["qualityValidation"]["failed"] == 1
    assert found["schemaValidation"]["failed"] == 0
    assert "incidentId" in found
    if SCHEMAS.is_dir():
        assert list(validator().iter_errors(found)) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (dg.DagsterRunStatus.STARTED, "Running"),
        (dg.DagsterRunStatus.CANCELED, "Aborted"),
        (dg.DagsterRunStatus.FAILURE, "Aborted"),
    ],
)
def test_a_run_without_verdicts_is_running_or_aborted(
    status: dg.DagsterRunStatus, expected: str, instance: dg.DagsterInstance, put: Put
) -> None:
    """What a run has not evaluated is not broken: it goes on, or it died."""
    made = contract()
    definitions = build_definitions(made, source=put("parquet", ROWS))
    job = definitions.resolve_job_def("contract_checks")
    run = instance.create_run_for_job(job, status=status)
    assert run.status is status
    assert [one["contractExecutionStatus"] for one in openmetadata_results(instance, made)] == [expected]


# --------------------------------------------------------------------------- the command line


def test_the_command_line_prints_the_result_for_openmetadata(put: Put, tmp_path: Path) -> None:
    """`--openmetadata` prints the object alone, and the exit code is that of the test."""
    file = tmp_path / "orders.yaml"
    file.write_text(TEXT, encoding="utf-8")
    done = CliRunner().invoke(commands, ["test", str(file), "--source", put("duckdb", ROWS), "--openmetadata"])
    assert json.loads(done.stdout)["dataContractFQN"] == "pg.t.dataContract_orders_contract"
    assert done.exit_code == 1
    both = CliRunner().invoke(commands, ["test", str(file), "--json", "--openmetadata"])
    assert "choose one" in both.output
