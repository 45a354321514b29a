"""What a report is made from, and what a format is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from contract_checks.checks import Plan
from contract_checks.errors import Problem
from contract_checks.model import NotChecked
from contract_checks.results import Report
from contract_checks.tracing import Trace, trace

FormatName = Literal["text", "json", "openmetadata"]


@dataclass(frozen=True)
class NotEvaluated:
    """A contract file of which there is no report because it cannot be used, and why."""

    file: str
    problems: tuple[Problem, ...]

    @property
    def exit_code(self) -> int:
        """Always 2: what was not evaluated has not passed."""
        return 2


@dataclass(frozen=True)
class Linted:
    """What reading a contract file without its data says. `plan` is None when the file cannot be used."""

    file: str
    problems: tuple[Problem, ...]
    plan: Plan | None = None

    @property
    def checks(self) -> int:
        """How many clauses became checks."""
        return sum(len(dataset.checks) for dataset in self.plan.datasets) if self.plan else 0

    @property
    def trace(self) -> Trace:
        """What became of every clause."""
        return trace(self.plan) if self.plan is not None else Trace()

    @property
    def documented(self) -> int:
        """How many clauses are shown, not checked."""
        return self.trace.documented

    @property
    def not_checked(self) -> tuple[NotChecked, ...]:
        """The clauses that nobody evaluates, each with its reason, in the order of the file."""
        if self.plan is None:
            return ()
        clauses = [*self.plan.contract.not_checked, *(one for plan in self.plan.datasets for one in plan.not_checked)]
        return tuple(sorted(dict.fromkeys(clauses), key=lambda clause: clause.location.line))

    @property
    def errors(self) -> int:
        """How many of the problems are errors."""
        return sum(problem.level == "error" for problem in self.problems)

    @property
    def warnings(self) -> int:
        """How many of the problems are warnings."""
        return len(self.problems) - self.errors

    @property
    def exit_code(self) -> int:
        """0 without errors, 2 with any."""
        return 2 if self.errors or self.plan is None else 0


Printable: TypeAlias = Report | NotEvaluated | Linted
"""What can be rendered."""


class Format(Protocol):
    """One way of writing results down: a function from values to text, which prints nothing."""

    def __call__(self, what: Printable | Sequence[Printable], width: int | None) -> str:
        """Write `what`: one value, or a sequence of them where there may be any number.

        `width` is the width of the terminal, or None when no person is looking.
        """
        ...
