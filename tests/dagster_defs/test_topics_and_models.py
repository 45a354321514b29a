"""Topics and models in Dagster: the broker as a source, and functions that are registered with the definitions."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from databases import Put

from contract_checks.checks import Settings
from contract_checks.dagster_defs import ContractSources, ServerCredentials, build_contract_checks, build_definitions
from contract_checks.errors import Location
from contract_checks.model import Contract, Server
from contract_checks.sources import KafkaSource

CHURN = Path(__file__).parents[1] / "examples" / "valid" / "openmetadata_proposal" / "churn_prediction_model.yaml"
PREDICTIONS = """
SELECT 1 AS tenure_months, 2 AS avg_monthly_sessions, 3 AS support_tickets_last_3m, true AS is_premium_member,
       0.2::DOUBLE AS churn_probability, false AS churn_prediction
"""


def checks_of(definitions: dg.Definitions) -> set[str]:
    keys = definitions.resolve_asset_graph().asset_check_keys
    return {key.name for key in keys}


@pytest.mark.parametrize(("measured", "success"), [(0.9, True), (0.7, False)])
def test_a_registered_function_is_a_check_of_the_model(measured: float, success: bool, put: Put) -> None:
    """The proposal's model materializes when the function that its contract names measures enough."""
    source = put("duckdb", PREDICTIONS, "model_predictions")
    definitions = build_definitions(CHURN, source=source, metrics={"AUC": lambda request: measured})
    assert "quality__minimum_model_auc" in checks_of(definitions)
    job = definitions.resolve_implicit_global_asset_job_def()
    assert job.execute_in_process(raise_on_error=False).success == success


def test_without_the_function_there_is_no_such_check() -> None:
    """A promise that nothing measures is not shown as a check that passes."""
    assert "quality__minimum_model_auc" not in checks_of(build_definitions(CHURN))


def test_settings_reach_the_plan() -> None:
    """The signature of a model is a check where the settings say where its file is."""
    settings = Settings(signatures={("churn_prediction_model_v2", "churn_prediction_model_v2"): "MLmodel"})
    assert "schema__signature" in checks_of(build_definitions(CHURN, settings=settings))
    one = build_contract_checks(CHURN, asset="model", settings=settings, metrics={"AUC": lambda request: 1})
    assert {"schema__signature", "quality__minimum_model_auc"} <= {key.name for key in one.check_keys}


def test_a_resource_gives_the_login_of_a_broker() -> None:
    """Credentials of a resource go with the broker of the contract; its name does not show them."""
    at = Location("c.yaml", 1)
    contract = Contract("c", "c", "odcs", at, servers=(Server("prod", "kafka", at, "", (("host", "b:9093"),)),))
    resource = ContractSources(credentials={"prod": ServerCredentials(username="me", password="s3cret")})
    source = resource.source_of(contract)
    assert isinstance(source, KafkaSource)
    assert (source.name, source.client["sasl.password"]) == ("kafka://b:9093", "s3cret")
