"""What a step needs of its contract, put away until it runs.

A code location holds every contract of its folders, and a run needs one of them. As bytes the others take less
memory, and no time whenever Python looks for garbage among the objects of a process.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TypeVar

from contract_checks.checks import Check, Plan
from contract_checks.dagster_defs.grouping import BuiltCheck
from contract_checks.dagster_defs.translator import ContractDatasetData
from contract_checks.dialects.cache import unpickled

T = TypeVar("T")


def shelved(
    data: ContractDatasetData, checks: tuple[BuiltCheck, ...], kept: tuple[bytes, int] | None = None
) -> Callable[[], tuple[ContractDatasetData, tuple[BuiltCheck, ...]]]:
    """A function that gives equal ones back. The specs, which Dagster holds as well, stay as they are.

    With the bytes that the cache has `kept` of the contract's plan, and the dataset's place in it, none have to be
    made.
    """
    if kept is not None and [one.check for one in checks] == list(data.plan.checks):
        bare = _of_kept(*kept, data.file, data.source_kind)
    else:
        bare = put_away((data, tuple([one.check for one in checks])))
    specs = tuple([(one.spec, one.gates) for one in checks])

    def taken() -> tuple[ContractDatasetData, tuple[BuiltCheck, ...]]:
        data, checks = bare()
        return data, tuple(BuiltCheck(check, *rest) for check, rest in zip(checks, specs, strict=True))

    return taken


def _of_kept(
    content: bytes, position: int, file: str, kind: str | None
) -> Callable[[], tuple[ContractDatasetData, tuple[Check, ...]]]:
    def bare() -> tuple[ContractDatasetData, tuple[Check, ...]]:
        plan: Plan = unpickled(content)
        own = plan.datasets[position]
        return ContractDatasetData(plan.contract, own, file, kind), own.checks

    return bare


def put_away(value: T) -> Callable[[], T]:
    """A function that gives an equal value back. What cannot be put away is held as it is."""
    try:
        content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - a value of the user's own in a contract made in Python
        return lambda: value
    return lambda: pickle.loads(content)  # noqa: S301 - bytes that were made two lines above
