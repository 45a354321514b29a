"""Data contracts as Dagster assets and checks: the public names, and nothing else.

They are imported when first used (PEP 562), because `import contract_checks` is on the way to
`contract-checks --help` and to every code location: neither should wait for Dagster, DuckDB or sqlglot.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contract_checks.dagster_defs import Alerts as Alerts
    from contract_checks.dagster_defs import ByCadence as ByCadence
    from contract_checks.dagster_defs import ContractsComponent as ContractsComponent
    from contract_checks.dagster_defs import ContractSources as ContractSources
    from contract_checks.dagster_defs import ContractTranslator as ContractTranslator
    from contract_checks.dagster_defs import Incidents as Incidents
    from contract_checks.dagster_defs import Partitions as Partitions
    from contract_checks.dagster_defs import build_contract_checks as build_contract_checks
    from contract_checks.dagster_defs import build_contract_schedules as build_contract_schedules
    from contract_checks.dagster_defs import build_definitions as build_definitions
    from contract_checks.dagster_defs import contract_asset as contract_asset
    from contract_checks.dagster_defs import gate_condition as gate_condition
    from contract_checks.dagster_defs import history as history
    from contract_checks.dagster_defs import match_contracts as match_contracts
    from contract_checks.dialects import load as load_contract
    from contract_checks.dialects.engines import Promise as Promise
    from contract_checks.errors import ContractError as ContractError
    from contract_checks.errors import Problem as Problem
    from contract_checks.model import Contract as Contract
    from contract_checks.results import Report as Report
    from contract_checks.run import check_contract as check_contract

__version__ = "0.1.0"

__all__ = [
    "Alerts",
    "ByCadence",
    "Contract",
    "ContractError",
    "ContractSources",
    "ContractTranslator",
    "ContractsComponent",
    "Incidents",
    "Partitions",
    "Problem",
    "Promise",
    "Report",
    "__version__",
    "build_contract_checks",
    "build_contract_schedules",
    "build_definitions",
    "check_contract",
    "contract_asset",
    "gate_condition",
    "history",
    "load_contract",
    "match_contracts",
]

_HOMES = {
    "Alerts": ("contract_checks.dagster_defs", "Alerts"),
    "ByCadence": ("contract_checks.dagster_defs", "ByCadence"),
    "Contract": ("contract_checks.model", "Contract"),
    "ContractError": ("contract_checks.errors", "ContractError"),
    "ContractSources": ("contract_checks.dagster_defs", "ContractSources"),
    "ContractTranslator": ("contract_checks.dagster_defs", "ContractTranslator"),
    "ContractsComponent": ("contract_checks.dagster_defs", "ContractsComponent"),
    "Incidents": ("contract_checks.dagster_defs", "Incidents"),
    "Partitions": ("contract_checks.dagster_defs", "Partitions"),
    "Problem": ("contract_checks.errors", "Problem"),
    "Promise": ("contract_checks.dialects.engines", "Promise"),
    "Report": ("contract_checks.results", "Report"),
    "build_contract_checks": ("contract_checks.dagster_defs", "build_contract_checks"),
    "build_contract_schedules": ("contract_checks.dagster_defs", "build_contract_schedules"),
    "build_definitions": ("contract_checks.dagster_defs", "build_definitions"),
    "check_contract": ("contract_checks.run", "check_contract"),
    "contract_asset": ("contract_checks.dagster_defs", "contract_asset"),
    "gate_condition": ("contract_checks.dagster_defs", "gate_condition"),
    "history": ("contract_checks.dagster_defs", "history"),
    "load_contract": ("contract_checks.dialects", "load"),
    "match_contracts": ("contract_checks.dagster_defs", "match_contracts"),
}


def __getattr__(name: str) -> Any:
    """The public name `name`, imported now. Raises `AttributeError` for any other."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value  # the next access is an ordinary one
    return value


def __dir__() -> list[str]:
    """The public names, whether imported yet or not."""
    return sorted({*globals(), *__all__})
