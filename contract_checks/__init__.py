"""Data contracts as Dagster assets and checks: the public names, and nothing else.

They are imported when first used (PEP 562), because `import contract_checks` is on the way to
`contract-checks --help` and to every code location: neither should wait for Dagster, DuckDB or sqlglot.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contract_checks.dagster_defs import ContractSources as ContractSources
    from contract_checks.dagster_defs import ContractTranslator as ContractTranslator
    from contract_checks.dagster_defs import build_contract_checks as build_contract_checks
    from contract_checks.dagster_defs import build_definitions as build_definitions
    from contract_checks.dialects import load as load_contract
    from contract_checks.errors import ContractError as ContractError
    from contract_checks.errors import Problem as Problem
    from contract_checks.model import Contract as Contract
    from contract_checks.results import Report as Report
    from contract_checks.run import check_contract as check_contract

__version__ = "0.1.0"

__all__ = [
    "Contract",
    "ContractError",
    "ContractSources",
    "ContractTranslator",
    "Problem",
    "Report",
    "__version__",
    "build_contract_checks",
    "build_definitions",
    "check_contract",
    "load_contract",
]

_HOMES = {
    "Contract": ("contract_checks.model", "Contract"),
    "ContractError": ("contract_checks.errors", "ContractError"),
    "ContractSources": ("contract_checks.dagster_defs", "ContractSources"),
    "ContractTranslator": ("contract_checks.dagster_defs", "ContractTranslator"),
    "Problem": ("contract_checks.errors", "Problem"),
    "Report": ("contract_checks.results", "Report"),
    "build_contract_checks": ("contract_checks.dagster_defs", "build_contract_checks"),
    "build_definitions": ("contract_checks.dagster_defs", "build_definitions"),
    "check_contract": ("contract_checks.run", "check_contract"),
    "load_contract": ("contract_checks.dialects", "load"),
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
