"""Results → JSON, for programs. The shape is `Report.to_dict()`; here is what stands beside a report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from contract_checks.errors import Problem
from contract_checks.reports.interface import Linted, NotEvaluated, Printable
from contract_checks.results import Report
from contract_checks.tracing import Trace


def render_json(what: Printable | Sequence[Printable], width: int | None = None) -> str:
    """One value as an object, a sequence as a list, in the order given. `width` changes nothing."""
    document = _object(what) if isinstance(what, Printable) else [_object(one) for one in what]
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)


def _object(what: Printable) -> dict[str, Any]:
    match what:
        case Report():
            return what.to_dict()
        case NotEvaluated():
            return {
                "contract": None,
                "file": what.file,
                "status": "not_evaluated",
                "score": None,
                "datasets": [],
                "problems": [_problem(problem) for problem in what.problems],
            }
        case Linted():
            return {
                "contract": (what.plan.contract.id or what.plan.contract.name) if what.plan else None,
                "file": what.file,
                "checks": what.checks,
                "documented": what.documented,
                "trace": _trace(what.trace),
                "not_checked": [
                    {"path": clause.location.path, "line": clause.location.line, "reason": clause.reason}
                    for clause in what.not_checked
                ],
                "problems": [_problem(problem) for problem in what.problems],
            }


def _trace(trace: Trace) -> dict[str, Any]:
    return {
        "routes": dict(trace.routes),
        "shown": dict(trace.shown),
        "reasons": dict(trace.reasons),
        "unknown_keys": [{"path": place.path, "line": place.line} for place in trace.unknown_keys],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "level": problem.level,
        "path": problem.location.path,
        "line": problem.location.line,
        "message": problem.message,
        "hint": problem.hint,
    }
