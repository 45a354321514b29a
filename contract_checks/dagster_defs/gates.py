"""The gate across runs: what a downstream asset waits for when it is not part of the run that checks."""

from __future__ import annotations

from typing import Any

from dagster import AutomationCondition


def gate_condition() -> AutomationCondition[Any]:
    """True while the contracts of everything upstream are kept; to be added to a condition with `&`.

    All blocking checks of the direct dependencies have passed on their latest materialization. One that failed,
    could not be evaluated, or has not been evaluated since the data was made anew keeps the gate closed.
    Checks that do not block are not asked: those of drafts, warnings, and what the settings let pass.

    Example::

        @dg.asset(deps=["orders"], automation_condition=dg.AutomationCondition.eager() & gate_condition())
        def revenue(): ...
    """
    return AutomationCondition.all_deps_blocking_checks_passed()
