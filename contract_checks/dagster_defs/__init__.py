"""Contracts as Dagster sees them. The only place of this package that imports dagster."""

from contract_checks.dagster_defs.assets import Publish
from contract_checks.dagster_defs.defs import OnBroken, build_contract_checks, build_definitions
from contract_checks.dagster_defs.resource import ContractSources, ServerCredentials
from contract_checks.dagster_defs.translator import (
    Blocking,
    ContractCheckData,
    ContractDatasetData,
    ContractTranslator,
)

__all__ = [
    "Blocking",
    "ContractCheckData",
    "ContractDatasetData",
    "ContractSources",
    "ContractTranslator",
    "OnBroken",
    "Publish",
    "ServerCredentials",
    "build_contract_checks",
    "build_definitions",
]
