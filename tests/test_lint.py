"""Problems that need no data."""

from __future__ import annotations

import pytest
from builders import contract_of, odcs

from contract_checks.lint import lint


def said(properties: str = "", quality: str = "") -> list[str]:
    """The messages about a table `t`."""
    return [problem.message for problem in lint(contract_of(odcs(properties, quality)))]


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            "- {name: a, logicalType: integer, logicalTypeOptions: {minimum: 5, maximum: 4}}",
            "no value is >= 5 and <= 4",
        ),
        (
            "- {name: a, logicalType: integer, logicalTypeOptions: {exclusiveMinimum: 5, maximum: 5}}",
            "no value is > 5 and <= 5",
        ),
        (
            "- {name: a, logicalType: date, logicalTypeOptions: {minimum: 2024-02-01, maximum: 2024-01-01}}",
            "no value is >= 2024-02-01 and <= 2024-01-01",
        ),
        (
            "- {name: a, logicalType: string, logicalTypeOptions: {minLength: 3, maxLength: 2}}",
            "the minimum 3 is above the maximum 2",
        ),
        (
            "- {name: a, logicalType: array, logicalTypeOptions: {minItems: 3, maxItems: 2}}",
            "the minimum 3 is above the maximum 2",
        ),
        (
            "- {name: a, quality: [{metric: invalidValues, arguments: {validValues: []}, mustBe: 0}]}",
            "the list of valid values is empty, so no value is valid",
        ),
        (
            "- {name: a, quality: [{metric: missingValues, arguments: {missingValues: []}, mustBe: 0}]}",
            "the list of missing values is empty, so no value counts as missing",
        ),
        (
            "- {name: a, quality: [{metric: nullValues, mustBeLessThan: 500, unit: percent}]}",
            "500 percent is outside of 0 to 100",
        ),
    ],
)
def test_promises_that_cannot_be_kept_are_told(properties: str, message: str) -> None:
    """A promise that no value can meet, or every value does, is told with its place."""
    assert said(properties) == [message]


@pytest.mark.parametrize("pattern", ["(", "[a-", "(?P<n>x)", "*"])
def test_a_pattern_that_is_no_regular_expression_is_told(pattern: str) -> None:
    """A pattern that ECMA-262 does not know is told before any data is read."""
    (message,) = said(f"- {{name: a, logicalType: string, logicalTypeOptions: {{pattern: '{pattern}'}}}}")

    assert message.startswith(f"the pattern '{pattern}' is no ECMA-262 regular expression")


@pytest.mark.parametrize(
    "properties",
    [
        "- {name: a, logicalType: integer, logicalTypeOptions: {minimum: 5, maximum: 5}}",
        "- {name: a, logicalType: integer, logicalTypeOptions: {minimum: 5, exclusiveMinimum: 0}}",
        "- {name: a, logicalType: string, logicalTypeOptions: {pattern: '^(?!x)(?<y>\\d+)$'}}",
        "- {name: a, quality: [{metric: nullValues, mustBeLessThan: 5, unit: percent}]}",
    ],
)
def test_promises_that_can_be_kept_are_silent(properties: str) -> None:
    """What a value can meet is no problem."""
    assert said(properties) == []


def test_a_dataset_that_promises_nothing_is_told() -> None:
    """An object without columns and rules has nothing to check."""
    assert said() == ["'t' promises nothing: it has neither columns nor rules"]


def test_the_readers_problems_come_with_the_others() -> None:
    """`lint` gives what the reader noted together with its own findings, in the order of the file."""
    properties = (
        "- {name: a, logicalType: string, logicalTypeOptions: {pattern: '('}}\n"
        "- {name: b, colour: blue}\n"
        "- {name: c, logicalType: string, logicalTypeOptions: {pattern: ')'}}\n"
    )

    problems = lint(contract_of(odcs(properties)))

    assert len(problems) == 3
    assert "colour" in problems[1].message
    assert [problem.location.line for problem in problems] == sorted(problem.location.line for problem in problems)
    assert {problem.level for problem in problems} == {"warning"}
