"""Results as JSON."""

from __future__ import annotations

import json

from contract_checks.errors import Location, Problem
from contract_checks.reports import Linted, NotEvaluated, render
from contract_checks.results import Report

PROBLEM = Problem("the file is empty", Location("a.yaml", 1), "error", "a contract is a YAML mapping")
PROBLEM_JSON = {
    "level": "error",
    "path": "$",
    "line": 1,
    "message": "the file is empty",
    "hint": "a contract is a YAML mapping",
}


def test_a_report_is_its_own_dictionary(report: Report) -> None:
    """The JSON of a report is `Report.to_dict()`."""
    assert json.loads(render(report, "json")) == report.to_dict()


def test_a_sequence_is_a_list_however_short(report: Report) -> None:
    """One report is an object, a list of one is a list."""
    assert json.loads(render([report], "json")) == [report.to_dict()]
    assert json.loads(render([], "json")) == []


def test_a_contract_that_was_not_evaluated_has_the_shape_of_a_report() -> None:
    """A reader that looks at `status` and `datasets` needs no other case."""
    assert json.loads(render(NotEvaluated("a.yaml", (PROBLEM,)), "json")) == {
        "contract": None,
        "file": "a.yaml",
        "status": "not_evaluated",
        "score": None,
        "datasets": [],
        "problems": [PROBLEM_JSON],
    }


def test_a_linted_file_has_its_counts(report: Report) -> None:
    """What became of the clauses, and each problem."""
    assert json.loads(render(Linted("a.yaml", (PROBLEM,), report.plan), "json")) == {
        "contract": "orders-contract",
        "file": "a.yaml",
        "checks": 6,
        "documented": 1,
        "trace": {
            "routes": {"schema": 6},
            "shown": {"Purpose": 1},
            "reasons": {"nobody can measure it": 1},
            "unknown_keys": [],
        },
        "not_checked": [{"path": "$.slaProperties[0]", "line": 20, "reason": "nobody can measure it"}],
        "problems": [PROBLEM_JSON],
    }
