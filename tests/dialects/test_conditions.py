"""The grammar of conditions: what is read exactly, and what is left alone."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from contract_checks.dialects.conditions import UnreadableConditionError, find_field, read_condition
from contract_checks.errors import Location
from contract_checks.metrics import (
    AllOf,
    Bound,
    Condition,
    DuplicateKeys,
    Matches,
    NotNull,
    NotOneOf,
    OneOf,
    RowCount,
    Threshold,
    Violations,
)
from contract_checks.model import Column, DeclaredType

HERE = Location("t", 1)


def column(name: str, *categories: str, children: tuple[Column, ...] = ()) -> Column:
    """A column of these categories."""
    return Column(name, name, HERE, DeclaredType("", frozenset(categories)), children=children)  # type: ignore[arg-type]


COLUMNS = (
    column("a", "integer"),
    column("word", "string"),
    column("day", "date", "timestamp", "time"),
    column("flag", "boolean"),
    column("address", "object", children=(column("zip", "string"),)),
)


@pytest.mark.parametrize(
    ("text", "rule", "condition"),
    [
        ("IS NOT NULL", "notNull", NotNull()),
        ("is not null", "notNull", NotNull()),
        ("IS NULL", "null", OneOf(())),
        (">= 0", "minimum", Bound(">=", 0)),
        (">0", "exclusiveMinimum", Bound(">", 0)),
        ("<= -1.50", "maximum", Bound("<=", Decimal("-1.50"))),
        ("< 1e3", "exclusiveMaximum", Bound("<", Decimal("1e3"))),
        ("= 5", "equals", OneOf((5,))),
        ("!= 5", "notEquals", NotOneOf((5,))),
        ("<> 5", "notEquals", NotOneOf((5,))),
        ("BETWEEN 1 AND 5", "between", AllOf((Bound(">=", 1), Bound("<=", 5)))),
        ("IN (1, 2, 2)", "enum", OneOf((1, 2))),
        ("NOT IN (1, NULL)", "notEnum", NotOneOf((1, None))),
        (">= 0 AND < 10", "allOf", AllOf((Bound(">=", 0), Bound("<", 10)))),
        ("BETWEEN 1 AND 5 AND IS NOT NULL", "allOf", AllOf((AllOf((Bound(">=", 1), Bound("<=", 5))), NotNull()))),
    ],
)
def test_a_condition_about_a_column_is_a_count_of_violations(text: str, rule: str, condition: Condition) -> None:
    """a condition becomes the number of values that break it, of which none may."""
    read = read_condition(text, "a", COLUMNS)

    assert (rule, Violations(("a",), condition)) == (read.rule, read.metric)
    assert (Threshold("mustBe", 0),) == read.requirement.all_of
    assert not read.if_present


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("IN ('web', \"it's\")", OneOf(("web", "it's"))),
        ("= 'don''t'", OneOf(("don't",))),
        ("MATCHES '^[a-z]+$'", Matches("^[a-z]+$")),
        ("regexp 'x'", Matches("x")),
        ("LIKE 'a.b%c_'", Matches(r"^a\.b[\s\S]*c[\s\S]$")),
    ],
)
def test_a_condition_about_text_keeps_the_text(text: str, condition: Condition) -> None:
    """texts in quotes are taken as they are; LIKE is a pattern for the whole value."""
    assert Violations(("word",), condition) == read_condition(text, "word", COLUMNS).metric


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (">= '2024-01-31'", date(2024, 1, 31)),
        (">= '2024-01-31T10:00:00Z'", datetime(2024, 1, 31, 10, tzinfo=UTC)),
    ],
)
def test_a_text_beside_a_date_is_a_date(text: str, limit: object) -> None:
    """a literal is read as a value of the column's type."""
    assert Violations(("day",), Bound(">=", limit)) == read_condition(text, "day", COLUMNS).metric  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("row_count >= 5000", Threshold("mustBeGreaterOrEqualTo", 5000)),
        ("ROW_COUNT = 3", Threshold("mustBe", 3)),
        ("row_count <> 0", Threshold("mustNotBe", 0)),
        ("row_count BETWEEN 1 AND 5", Threshold("mustBeBetween", (1, 5))),
    ],
)
def test_row_count_is_about_the_table(text: str, threshold: Threshold) -> None:
    """a condition on row_count belongs to no column."""
    read = read_condition(text, None, COLUMNS)

    assert ("rowCount", RowCount(), None) == (read.rule, read.metric, read.field)
    assert (threshold,) == read.requirement.all_of


def test_unique_counts_recurring_keys() -> None:
    """UNIQUE means that no value occurs twice."""
    assert DuplicateKeys((("a",),)) == read_condition("UNIQUE", "a", COLUMNS).metric


def test_if_present_makes_the_column_optional() -> None:
    """IF PRESENT speaks of the column, not of its values: a NULL still breaks IS NOT NULL."""
    read = read_condition("IS NOT NULL IF PRESENT", "word", COLUMNS)

    assert read.if_present
    assert Violations(("word",), NotNull()) == read.metric


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("a >= 0", ("a",)),
        ("A >= 0", ("a",)),
        ("`a` >= 0", ("a",)),
        ('"a" >= 0', ("a",)),
        ("address.zip IS NOT NULL", ("address", "zip")),
    ],
)
def test_a_condition_may_name_its_column(text: str, field: tuple[str, ...]) -> None:
    """a leading name is the column, in any case if only one column has the name."""
    assert field == read_condition(text, None, COLUMNS).field


@pytest.mark.parametrize(
    "text",
    [
        "",
        "should never be null",
        "Column a should be unique",
        "No more than 5% of records can be incomplete",
        ">= 0 or so",
        ">= 0 OR IS NULL",
        ">=",
        ">= low",
        ">= '5 apples'",
        "= NULL",
        "IN ()",
        "IN (1, 2",
        "IN 1, 2",
        "NOT LIKE 'a%'",
        "LIKE 'a\\%'",
        "IS NOT NULL IF PRESENT NOW",
        "IS NOT NULL IF",
        "b IS NOT NULL",
        "> true",
        "BETWEEN 1, 5",
    ],
)
def test_what_is_not_exactly_a_condition_is_refused(text: str) -> None:
    """a sentence, half a condition or one about another column is never guessed into a check."""
    with pytest.raises(UnreadableConditionError):
        read_condition(text, "a", COLUMNS)


@pytest.mark.parametrize("text", ["row_count >= 1.5", "row_count is high", "row_count IN (1)", "IS NOT NULL", "total"])
def test_a_condition_without_a_column_must_be_about_rows(text: str) -> None:
    """without a field only a comparison of row_count with a whole number is understood."""
    with pytest.raises(UnreadableConditionError):
        read_condition(text, None, COLUMNS)


def test_a_column_called_row_count_is_a_column() -> None:
    """if the contract has a column of that name, row_count means the column."""
    read = read_condition("row_count >= 5", None, (column("row_count", "integer"),))

    assert Violations(("row_count",), Bound(">=", 5)) == read.metric


def test_a_name_in_another_case_means_one_column_or_none() -> None:
    """a name whose case fits two columns means neither."""
    columns = (column("Id"), column("ID"))

    assert (("Id",), columns[0]) == find_field("Id", columns)
    assert find_field("id", columns) == (("id",), None)
