"""Example contracts: every file below `valid` is read without a word, every one below `invalid` as it says itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contract_checks.checks import plan
from contract_checks.dialects import load
from contract_checks.errors import ContractError, Problem

EXAMPLES = Path(__file__).parents[1] / "examples"
VALID = sorted((EXAMPLES / "valid" / "odcs").iterdir())
INVALID = sorted((EXAMPLES / "invalid" / "odcs").iterdir())

# What is worth knowing but allowed; a strict reader does not refuse it either.
ADVICE = {
    "duplicates_of_unknown_properties",
    "metric_at_the_wrong_level",
    "metric_in_old_words",
    "null_values_of_an_object",
    "query_reads_a_secret",
    "query_with_unset_variable",
    "relationship_into_another_contract",
    "relationship_to_nowhere",
    "schedule_is_no_cron",
    "schema_missing",
    "server_with_unset_variable",
    "sla_date_is_none",
    "sla_element_missing",
    "sla_element_unknown",
    "sla_frequency_is_no_cron",
    "sla_minutes_or_months",
    "sla_property_unknown",
    "sla_time_of_day_is_none",
    "sla_unit_unknown",
    "status_unknown",
    "string_format_unknown",
}


def problems_of(path: Path, strict: bool = False) -> tuple[Problem, ...]:
    """Everything that is wrong with a file, whether it can be used or not."""
    try:
        return load(path, strict).problems
    except ContractError as error:
        return error.problems


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_a_valid_contract_is_read_without_a_word(path: Path) -> None:
    """A contract that keeps to the standard has no problem, also for a strict reader, and makes a plan."""
    contract = load(path, strict=True)

    assert contract.problems == ()
    assert sum(len(dataset.checks) for dataset in plan(contract).datasets) > 0


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_contract_is_told_with_its_lines(path: Path) -> None:
    """The problems of a file are those its first lines name, each with its level and line, and no other."""
    expected = re.findall(r"^# ((?:error|warning): line \d+: .*)$", path.read_text(), re.MULTILINE)

    found = sorted(problems_of(path), key=lambda problem: problem.location.line)

    said = [f"{problem.level}: line {problem.location.line}: {problem.message}" for problem in found]
    assert expected == [line.replace(str(path), path.name) for line in said]
    assert all(problem.location.path.startswith("$") for problem in found)


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_a_strict_reader_refuses_what_the_standard_forbids(path: Path) -> None:
    """What the standard forbids is an error for a strict reader; advice is not."""
    refused = any(problem.level == "error" for problem in problems_of(path, strict=True))

    assert refused == (path.stem not in ADVICE)
