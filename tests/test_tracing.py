"""What became of every clause, in numbers: by lint, as JSON, and on the asset."""

from __future__ import annotations

import json

import pytest
from builders import contract_of, odcs
from databases import SHARED

from contract_checks.checks import plan
from contract_checks.dialects import load_directory
from contract_checks.lint import lint
from contract_checks.reports import Linted, render
from contract_checks.tracing import Trace, trace, trace_dataset

CONTRACT = odcs(
    """
- {name: a, required: true, logicalType: integer, logicalTypeOptions: {minimum: 1}, colour: red}
""",
    """
- {metric: rowCount, mustBe: 1}
- {type: sql, query: 'SELECT 1', mustBe: 1}
- {type: custom, engine: soda, implementation: row_count > 0}
- {type: custom, engine: dqx, implementation: 1}
- {type: custom, engine: monteCarlo, implementation: 2}
- {type: text, description: Be kind}
""",
    more={"slaProperties": [{"property": "endOfLife", "value": "2090-01-01"}]},
)


def traced() -> Trace:
    """The trace of a contract with one clause of every kind."""
    return trace(plan(contract_of(CONTRACT)))


def test_every_check_has_one_route() -> None:
    """Checks are counted by what answers them."""
    assert dict(traced().routes) == {"schema": 4, "metric": 1, "query": 1, "translated": 1, "service level": 1}


def test_clauses_that_are_not_checked_are_counted_by_reason() -> None:
    """Reasons that differ only in what they quote of the contract count together."""
    assert dict(traced().reasons) == {"the engine … is not run here; it was asked": 2}


def test_unknown_keys_are_told_from_keys_that_are_only_shown() -> None:
    """A key that is not known has its place; a clause that is for people counts as shown."""
    assert [place.path for place in traced().unknown_keys] == ["$.schema[0].properties[0].colour"]
    assert dict(traced().shown)["Quality"] == 1


def test_a_trace_says_it_in_one_line() -> None:
    """The numbers in words."""
    assert str(traced()) == (
        "4 schema, 1 metric, 1 query, 1 translated, 1 service level; 1 unknown key; 2 shown; 2 not checked"
    )


def test_lint_says_what_became_of_the_clauses() -> None:
    """`lint` shows the trace as text and as JSON."""
    contract = contract_of(CONTRACT)
    linted = Linted(contract.file, lint(contract), plan(contract))
    assert f"  checked by {traced().checked_by}" in render(linted, "text").splitlines()
    said = json.loads(render(linted, "json"))["trace"]
    assert said["routes"]["query"] == 1
    assert said["unknown_keys"] == [{"path": "$.schema[0].properties[0].colour", "line": 21}]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the third-party test data is not here")
def test_a_trace_counts_everything_of_a_plan() -> None:
    """Checks, documentation and reasons of every contract add up to its plan."""
    for contract in load_directory(SHARED / "corpus" / "odcs").contracts:
        made = plan(contract)
        for dataset in made.datasets:
            one = trace_dataset(dataset)
            assert (one.checks, one.documented, one.not_checked) == (
                len(dataset.checks),
                len(dataset.documented),
                len(dataset.not_checked),
            )
        assert trace(made).checks == sum(len(dataset.checks) for dataset in made.datasets)
