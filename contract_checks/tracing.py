"""Plan → Trace: what became of every clause of a contract, in numbers.

A reader that takes a rule for something else, or knows a key no more, changes these numbers; so they are shown where
people look: by the linter and on the asset.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from contract_checks.checks import Check, DatasetPlan, Plan, SemanticJudgement
from contract_checks.errors import Location, Problem
from contract_checks.metrics import Query, Registered
from contract_checks.model import AgeLimit, DateLimit, Documented, NotChecked

Route = Literal["schema", "metric", "query", "translated", "function", "service level", "metadata"]
"""How a clause is checked: by what the schema says, by a metric, by the contract's own SQL, by a metric that a rule
for another engine was translated to, by a function of the user, by age or date, or by the metadata of the asset."""


@dataclass(frozen=True)
class Trace:
    """What became of the clauses of a contract or of one of its datasets.

    `routes` says how many checks are of which kind. `shown` counts the clauses that are shown, not checked, by
    their title, and `reasons` those that nobody evaluates, by their reason. `unknown_keys` are the places of keys
    that mean nothing here.
    """

    routes: tuple[tuple[Route, int], ...] = ()
    shown: tuple[tuple[str, int], ...] = ()
    reasons: tuple[tuple[str, int], ...] = ()
    unknown_keys: tuple[Location, ...] = field(default=(), compare=False)

    @property
    def checks(self) -> int:
        """How many clauses became checks."""
        return sum(count for _, count in self.routes)

    @property
    def documented(self) -> int:
        """How many clauses are only shown."""
        return sum(count for _, count in self.shown)

    @property
    def not_checked(self) -> int:
        """How many clauses nobody evaluates."""
        return sum(count for _, count in self.reasons)

    @property
    def checked_by(self) -> str:
        """`12 schema, 3 metric, 2 query; 1 unknown key`."""
        keys = len(self.unknown_keys)
        unknown = f"; {keys:,} unknown key{'' if keys == 1 else 's'}" if keys else ""
        return (", ".join(f"{count:,} {route}" for route, count in self.routes) or "nothing") + unknown

    def __str__(self) -> str:
        """`12 schema, 3 metric, 2 query; 1 unknown key; 4 shown; 1 not checked`."""
        parts = [self.checked_by]
        parts += [f"{self.documented:,} shown"] if self.shown else []
        parts += [f"{self.not_checked:,} not checked"] if self.reasons else []
        return "; ".join(parts)


def trace(plan: Plan) -> Trace:
    """What became of every clause of a contract."""
    contract = plan.contract
    checks = [check for dataset in plan.datasets for check in dataset.checks]
    documented = dict.fromkeys((*contract.documented, *(one for made in plan.datasets for one in made.documented)))
    not_checked = dict.fromkeys((*contract.not_checked, *(one for made in plan.datasets for one in made.not_checked)))
    return _trace(checks, documented, not_checked, contract.problems)


def trace_dataset(plan: DatasetPlan, problems: Sequence[Problem] = ()) -> Trace:
    """What became of the clauses of one dataset, those of its contract included."""
    return _trace(plan.checks, plan.documented, plan.not_checked, problems)


def route_of(check: Check) -> Route:
    """How a check gets its verdict."""
    if isinstance(check.judgement, SemanticJudgement):
        return "metadata"
    if isinstance(check.judgement, AgeLimit | DateLimit):
        return "service level"
    if check.engine:
        return "translated"
    if any(isinstance(metric, Registered) for metric in check.metrics):
        return "function"
    if any(isinstance(metric, Query) for metric in check.metrics):
        return "query"
    return "schema" if check.section == "schema" else "metric"


def _trace(
    checks: Iterable[Check],
    documented: Iterable[Documented],
    not_checked: Iterable[NotChecked],
    problems: Iterable[Problem],
) -> Trace:
    counted = Counter(route_of(check) for check in checks)
    shown = Counter(clause.title for clause in documented)
    reasons = Counter(_kind_of(clause.reason) for clause in not_checked)
    return Trace(
        routes=tuple((route, counted[route]) for route in get_args(Route) if counted[route]),
        shown=tuple(shown.most_common()),
        reasons=tuple(reasons.most_common()),
        unknown_keys=tuple(problem.location for problem in problems if problem.topic == "unknown key"),
    )


def _kind_of(reason: str) -> str:
    """A reason without what it quotes of the contract, so that equal ones count together."""
    return re.sub(r"'[^']*'", "…", reason.partition(": ")[0])
