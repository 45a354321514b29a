"""`logicalTypeOptions` and `enum` → conditions."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest
from odcs_text import column, only, reason

from contract_checks.metrics import (
    AllOf,
    Bound,
    Condition,
    HasFormat,
    HasKeys,
    Length,
    Matches,
    MultipleOf,
    OneOf,
    Parsed,
    Size,
    Threshold,
    UniqueItems,
    Violations,
)
from contract_checks.model import DeclaredType, Thresholds


def options(logical: str, text: str, more: str = "") -> str:
    """The keys of a column with that logicalType and these options."""
    return f"logicalType: {logical}\n{more}\nlogicalTypeOptions: {{{text}}}"


def test_an_option_is_a_promise_that_no_value_breaks() -> None:
    """Each option becomes one expectation of the schema section, named for its key, at its line."""
    found = only(column(options("integer", "minimum: 3")))

    assert (found.rule, found.section, found.severity, found.field) == ("minimum", "schema", "error", ("a",))
    assert found.metric == Violations(("a",), Bound(">=", 3))
    assert found.requirement == Thresholds((Threshold("mustBe", 0),))
    assert found.location.path == "$.schema[0].properties[0].logicalTypeOptions.minimum"
    assert found.description == "`a` is at least 3."


@pytest.mark.parametrize(
    ("logical", "text", "rule", "condition"),
    [
        ("number", "maximum: 1.10", "maximum", Bound("<=", Decimal("1.10"))),
        ("number", "minimum: '2'", "minimum", Bound(">=", Decimal(2))),
        ("integer", "exclusiveMinimum: 0", "exclusiveMinimum", Bound(">", 0)),
        ("integer", "exclusiveMaximum: 18014398509481985", "exclusiveMaximum", Bound("<", 18014398509481985)),
        ("integer", "multipleOf: 5", "multipleOf", MultipleOf(Decimal(5))),
        ("number", "multipleOf: 0.01", "multipleOf", MultipleOf(Decimal("0.01"))),
        ("integer", "format: i8", "format", AllOf((Bound(">=", -128), Bound("<=", 127)))),
        ("integer", "format: u64", "format", AllOf((Bound(">=", 0), Bound("<=", 2**64 - 1)))),
        ("number", "format: u8", "format", AllOf((Bound(">=", 0), Bound("<=", 255), MultipleOf(Decimal(1))))),
        ("string", "minLength: 0", "minLength", Length(minimum=0)),
        ("string", "maxLength: 3", "maxLength", Length(maximum=3)),
        ("string", "pattern: '^a$'", "pattern", Matches("^a$")),
        ("string", "format: email", "format", HasFormat("email")),
        ("string", "format: DateTime", "format", HasFormat("date-time")),
        ("array", "minItems: 1", "minItems", Size(minimum=1)),
        ("array", "maxItems: 2", "maxItems", Size(maximum=2)),
        ("array", "uniqueItems: true", "uniqueItems", UniqueItems()),
        ("object", "minProperties: 1", "minProperties", Size(minimum=1)),
        ("object", "maxProperties: 2", "maxProperties", Size(maximum=2)),
        ("vector", "dimensions: 3", "dimensions", Size(3, 3)),
        ("date", "minimum: 2020-01-31", "minimum", Bound(">=", date(2020, 1, 31))),
        ("date", "minimum: 2020-01-31T00:00:00Z", "minimum", Bound(">=", date(2020, 1, 31))),
        ("date", "maximum: 2020-01-31T12:00:00", "maximum", Bound("<=", datetime(2020, 1, 31, 12))),
        ("time", "maximum: '23:59'", "maximum", Bound("<=", time(23, 59))),
        ("timestamp", "minimum: 2020-01-31", "minimum", Bound(">=", datetime(2020, 1, 31))),
        ("timestamp", "minimum: 2020-01-31T10:00:00Z", "minimum", Bound(">=", datetime(2020, 1, 31, 10, tzinfo=UTC))),
        (
            "timestamp",
            "minimum: 2020-01-31 10:00:00+02:00",
            "minimum",
            Bound(">=", datetime(2020, 1, 31, 10, tzinfo=timezone(timedelta(hours=2)))),
        ),
    ],
)
def test_every_option_has_its_condition(logical: str, text: str, rule: str, condition: Condition) -> None:
    """An option is read into the condition it means, with numbers and dates in their own types."""
    found = only(column(options(logical, text), "v3.2.0"))

    assert (found.rule, found.metric) == (rule, Violations(("a",), condition))
    if isinstance(condition, Bound):
        assert isinstance(found.metric, Violations)
        assert isinstance(found.metric.condition, Bound)
        assert type(found.metric.condition.limit) is type(condition.limit)


@pytest.mark.parametrize("version", ["v3.0.2", "v3.1.0", "v3.2.0"])
def test_exclusive_bounds_are_told_by_the_kind_of_their_value(version: str) -> None:
    """`true` makes `minimum` exclusive, as up to 3.0.2; a number is a bound of its own, whatever the version."""
    flagged = only(column(options("integer", "minimum: 5, exclusiveMinimum: true"), version))
    assert (flagged.rule, flagged.metric) == ("exclusiveMinimum", Violations(("a",), Bound(">", 5)))

    unflagged = only(column(options("integer", "maximum: 5, exclusiveMaximum: false"), version))
    assert (unflagged.rule, unflagged.metric) == ("maximum", Violations(("a",), Bound("<=", 5)))

    both = column(options("integer", "minimum: 5, exclusiveMinimum: 0"), version).expectations
    assert [one.metric for one in both] == [Violations(("a",), Bound(">=", 5)), Violations(("a",), Bound(">", 0))]


def test_bounds_are_in_the_default_time_zone() -> None:
    """A bound or value without an offset is in `defaultTimezone`, which goes with the bound."""
    found = column(options("timestamp", "timezone: false, minimum: 2024-01-01, defaultTimezone: Europe/Berlin"))

    (one,) = found.expectations
    assert one.metric == Violations(("a",), Bound(">=", datetime(2024, 1, 1), zone="Europe/Berlin"))
    assert [shown.title for shown in found.documented] == ["Time zone", "Default time zone"]


def test_required_properties_of_an_object_exist() -> None:
    """`required` of an object names the fields it has, by their physical names."""
    found = only(
        column("logicalType: object\nlogicalTypeOptions: {required: [x, y]}\nproperties: [{name: x, physicalName: x1}]")
    )

    assert (found.rule, found.metric) == ("required", Violations(("a",), HasKeys(("x1", "y"))))


def test_a_date_pattern_is_about_dates_that_are_texts() -> None:
    """A pattern is a promise of its own and a part of the type, by which text is read."""
    found = column(options("date", "format: dd.MM.yyyy"))

    assert only(found).metric == Violations(("a",), Parsed("dd.MM.yyyy"))
    assert found.columns[0].type == DeclaredType("date", frozenset({"date"}), format="dd.MM.yyyy")


@pytest.mark.parametrize(
    ("logical", "text", "why"),
    [
        ("string", "format: binary", "the format 'binary' allows every value"),
        ("string", "format: phone", "no rule is known for the format 'phone'"),
        ("number", "format: f32", "the format 'f32' says how a number is stored, which its value does not show"),
        ("number", "minLength: 1", "'minLength' is no option of logicalType number"),
        ("boolean", "minimum: 1", "'minimum' is no option of logicalType boolean"),
        ("integer", "min: 1", "'min' is no option of the standard"),
        ("integer", "minimum: .inf", "'inf' is no number"),
        ("integer", "minimum: '1e999999999'", "'1e999999999' is no number"),
        ("string", "maxLength: 1.5", "'1.5' is no whole number from 0 up"),
        ("integer", "multipleOf: 0", "'0' is no number above 0"),
        ("date", "minimum: 2024-02-30", "'2024-02-30' is no date"),
        ("time", "minimum: 25:00", "'25:00' is no time"),
        ("date", "format: week", "'week' is no date pattern: unknown letter 'w' in the date format 'week'"),
        ("vector", "elementType: float64", "'elementType' of a vector is not evaluated yet"),
    ],
)  # fmt: skip
def test_what_cannot_be_checked_says_why(logical: str, text: str, why: str) -> None:
    """An option that is not evaluated is listed with its reason and never dropped."""
    assert reason(column(options(logical, text), "v3.2.0")) == why


def test_a_format_of_real_dates_is_documentation() -> None:
    """A date format says nothing about a column whose native type is a date."""
    found = column(options("date", "format: yyyy-MM-dd", "physicalType: DATE"))

    assert (found.not_checked, [one.title for one in found.documented]) == ((), ["Format"])


@pytest.mark.parametrize(
    ("keys", "condition"),
    [
        ("physicalType: VARCHAR(9)\nlogicalTypeOptions: {maxLength: 9}", Length(maximum=9)),
        ("logicalTypeOptions: {maxLength: 9}", Length(maximum=9)),
        ("logicalTypeOptions: {minimum: 1.5}", Bound(">=", Decimal("1.5"))),
        ("logicalTypeOptions: {minimum: 2024-01-01}", Bound(">=", date(2024, 1, 1))),
        ("logicalTypeOptions: {format: email}", HasFormat("email")),
    ],
)
def test_without_a_logical_type_options_mean_what_they_say(keys: str, condition: Condition) -> None:
    """The type is told by the physicalType, else an option is read as it is."""
    assert only(column(keys)).metric == Violations(("a",), condition)


def test_an_enum_is_a_list_of_allowed_values() -> None:
    """The values of an enum are allowed, NULL as well; labels are for people."""
    found = only(column("logicalType: integer\nenum: [{value: 1, label: one}, {value: 2}, {value: null}]", "v3.2.0"))

    assert (found.rule, found.metric) == ("enum", Violations(("a",), OneOf((1, 2))))


def test_options_without_a_value_promise_nothing() -> None:
    """An option that is null is as good as absent."""
    found = column(options("integer", "minimum: null"))

    assert (found.expectations, found.not_checked) == ((), ())
