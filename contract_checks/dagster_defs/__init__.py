"""Contracts as Dagster sees them. The only place of this package that imports dagster."""

from contract_checks.dagster_defs.alerts import Alerts
from contract_checks.dagster_defs.assets import Publish
from contract_checks.dagster_defs.component import ContractsComponent
from contract_checks.dagster_defs.defs import OnBroken, build_contract_checks, build_definitions
from contract_checks.dagster_defs.gates import gate_condition
from contract_checks.dagster_defs.incidents import Incident, Incidents, incidents_of
from contract_checks.dagster_defs.matching import Matched, Unmatched, match_contracts
from contract_checks.dagster_defs.partitions import ByCadence, Partitions
from contract_checks.dagster_defs.producing import contract_asset
from contract_checks.dagster_defs.resource import ContractSources, ServerCredentials
from contract_checks.dagster_defs.runs import RunVerdict, history
from contract_checks.dagster_defs.timetable import build_contract_schedules
from contract_checks.dagster_defs.translator import (
    Blocking,
    ContractCheckData,
    ContractDatasetData,
    ContractTranslator,
)

__all__ = [
    "Alerts",
    "Blocking",
    "ByCadence",
    "ContractCheckData",
    "ContractDatasetData",
    "ContractSources",
    "ContractTranslator",
    "ContractsComponent",
    "Incident",
    "Incidents",
    "Matched",
    "OnBroken",
    "Partitions",
    "Publish",
    "RunVerdict",
    "ServerCredentials",
    "Unmatched",
    "build_contract_checks",
    "build_contract_schedules",
    "build_definitions",
    "contract_asset",
    "gate_condition",
    "history",
    "incidents_of",
    "match_contracts",
]
