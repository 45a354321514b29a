"""Measurements → verdicts: exact comparisons, ages on the calendar, and what cannot be compared."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from builders import contract_of, odcs

from contract_checks.checks import Check, plan
from contract_checks.errors import Location
from contract_checks.judging import Incomparable, age_text, before, holds, judge, show, zone_of
from contract_checks.metrics import (
    Aggregate,
    Columns,
    DuplicateKeys,
    FoundColumn,
    Measurement,
    Metric,
    NotNull,
    Query,
    RowCount,
    Threshold,
    UnparsedValues,
    Violations,
)
from contract_checks.model import AgeLimit, Duration, Thresholds
from contract_checks.results import CheckResult, Report, json_value, score_of, status_of
from contract_checks.sql import Relation

COLUMNS = (FoundColumn("a", "INTEGER", "integer"), FoundColumn("at", "TIMESTAMP", "timestamp"))
TABLE = Relation("table t", '"t"', "duckdb", COLUMNS)
NOW = datetime(2024, 3, 31, 12, tzinfo=UTC)
NULLS = Violations(("a",), NotNull())


def check(metric: Metric, judgement: Any, *more: Metric, **options: Any) -> Check:
    """A check of one metric."""
    here = Location("t.yaml", 1)
    return Check("c", "t", "quality", "rule", judgement, (metric, *more), "as promised", here, **options)


def judged(one: Check, *measurements: Measurement, now: datetime = NOW) -> CheckResult:
    """The verdict on one check."""
    [found] = judge([one], {each.metric: each for each in measurements}, TABLE, now)
    return found


def must(**operators: Any) -> Thresholds:
    return Thresholds(tuple(Threshold(name, value) for name, value in operators.items()))  # type: ignore[arg-type]


# --------------------------------------------------------------------------- operators


@pytest.mark.parametrize(
    ("operator", "limit", "true", "false"),
    [
        ("mustBe", 5, [5, 5.0, Decimal("5.00"), "5", True + 4], [6, Decimal("5.01"), "6"]),
        ("mustNotBe", 5, [6], [5, Decimal("5.0")]),
        ("mustBeGreaterThan", 5, [Decimal("5.0001"), 6], [5, 4]),
        ("mustBeGreaterOrEqualTo", 5, [5, 6], [4, 4.999]),
        ("mustBeLessThan", 5, [4, -(10**30)], [5, 10**30]),
        ("mustBeLessOrEqualTo", 5, [5, 4], [Decimal("5.000000000000000000000000000001")]),
        ("mustBeBetween", (1, 5), [1, 3, 5], [0, 6, Decimal("5.01")]),
        ("mustNotBeBetween", (1, 5), [0, 6], [1, 3, 5]),
        ("mustBe", Decimal("0.30"), [0.3, Decimal("0.3"), "0.300", Fraction(3, 10)], [0.1 + 0.2]),
        ("mustBe", 2**53 + 1, [2**53 + 1, Decimal(2**53 + 1)], [2**53, float(2**53)]),
        ("mustBe", True, [True, 1, 1.0], [False, 0]),
        ("mustBe", "true", [True, 1, "true"], [False, 0, "false"]),
        ("mustBe", "abc", ["abc"], ["ABC", "abc ", 5, True]),
        ("mustBe", "01", ["01"], ["1"]),
        ("mustBe", "5", [5, Decimal("5.0"), "5"], [6]),
        ("mustNotBe", "abc", ["x", 5], ["abc"]),
        ("mustBe", "2024-01-01", [date(2024, 1, 1), datetime(2024, 1, 1)], [date(2024, 1, 2)]),
        ("mustBe", "12:30", [time(12, 30)], [time(12, 31)]),
        ("mustBeGreaterThan", date(2024, 1, 1), [datetime(2024, 1, 1, 0, 1), "2024-01-02"], [date(2024, 1, 1)]),
        (
            "mustBe",
            datetime(2024, 1, 1, 12, tzinfo=UTC),
            [datetime(2024, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))), datetime(2024, 1, 1, 12)],
            [datetime(2024, 1, 1, 14)],
        ),
        ("mustBeLessThan", 60, [timedelta(seconds=59)], [timedelta(minutes=1)]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_operators_compare_exactly(operator: Any, limit: Any, true: list[Any], false: list[Any]) -> None:
    """Numbers of every kind compare as numbers, dates as moments, and bounds count as inside."""
    threshold = Threshold(operator, limit)
    assert [holds(value, threshold) for value in true] == [True] * len(true)
    assert [holds(value, threshold) for value in false] == [False] * len(false)


@pytest.mark.parametrize("value", [math.nan, Decimal("NaN"), "NaN"], ids=repr)
@pytest.mark.parametrize(
    ("operator", "limit"),
    [
        *(("mustBe", 1), ("mustBeGreaterThan", 1), ("mustBeGreaterOrEqualTo", 1)),
        *(("mustBeLessThan", 1), ("mustBeLessOrEqualTo", 1), ("mustBeBetween", (0, 1)), ("mustNotBeBetween", (0, 1))),
    ],
)
def test_nan_violates_every_bound(value: Any, operator: Any, limit: Any) -> None:
    """NaN is neither equal to a number, nor on either side of it, nor inside or outside of a range."""
    assert holds(value, Threshold(operator, limit)) is False


def test_infinity_lies_beyond_every_number() -> None:
    """An infinite value compares as one."""
    assert holds(math.inf, Threshold("mustBeGreaterThan", 10**400))
    assert not holds(Decimal("-Infinity"), Threshold("mustBeGreaterThan", -(10**400)))


@pytest.mark.parametrize(
    ("value", "operator", "limit"),
    [
        ("abc", "mustBe", 0),
        ("sNaN", "mustBe", 0),
        (date(2024, 1, 1), "mustBe", 0),
        (b"1", "mustBeLessThan", 2),
        (2, "mustBe", True),
        ("yes", "mustBe", True),
        ("x", "mustBe", date(2024, 1, 1)),
        (5, "mustBe", date(2024, 1, 1)),
        (time(12), "mustBe", date(2024, 1, 1)),
        (5, "mustBeGreaterThan", "abc"),
        ([1], "mustBeBetween", (0, 2)),
    ],
    ids=repr,
)
def test_what_cannot_be_compared_is_errored(value: Any, operator: Any, limit: Any) -> None:
    """A value of another kind than its limit is neither passed nor failed."""
    with pytest.raises(Incomparable):
        holds(value, Threshold(operator, limit))
    query = Query("SELECT x")
    threshold = Thresholds((Threshold(operator, limit),))
    assert judged(check(query, threshold), Measurement(query, value)).status == "errored"


def test_all_operators_must_hold() -> None:
    """A rule with several operators passes when each of them holds."""
    both = must(mustBeGreaterThan=0, mustBeLessThan=9)
    assert [judged(check(RowCount(), both), Measurement(RowCount(), n)).status for n in (0, 5, 9)] == [
        "failed",
        "passed",
        "failed",
    ]


@pytest.mark.parametrize(("inclusive", "status", "side"), [(True, "passed", "inside"), (False, "failed", "outside")])
def test_a_value_on_a_bound_says_so(inclusive: bool, status: str, side: str) -> None:
    """A value that equals a bound is inside or outside as set, and the result notes it."""
    limits = Thresholds((Threshold("mustBeBetween", (1, 5), inclusive),))
    found = judged(check(RowCount(), limits), Measurement(RowCount(), 5))
    assert (found.status, found.notes) == (status, (f"the value equals the bound 5; bounds count as {side}",))
    assert judged(check(RowCount(), limits), Measurement(RowCount(), 4)).notes == ()


# --------------------------------------------------------------------------- percent


@pytest.mark.parametrize(
    ("count", "rows", "limit", "status", "measured"),
    [
        (1, 3, Decimal("33.33"), "failed", 33.3333333333),
        (1, 3, Decimal("33.34"), "passed", 33.3333333333),
        (29, 100, 29, "passed", 29),
        (57, 1000, Decimal("5.7"), "passed", 5.7),
        (0, 0, 0, "passed", 0),
        (10**15 + 1, 10**17, 1, "failed", 1.0),
        (7, 7, 100, "passed", 100),
    ],
)
def test_percentages_are_fractions(count: int, rows: int, limit: Any, status: str, measured: float) -> None:
    """A percentage is compared as the fraction it is, and of no rows it is 0 %."""
    limits = replace(must(mustBeLessOrEqualTo=limit), unit="percent")
    found = judged(check(NULLS, limits, RowCount()), Measurement(NULLS, count), Measurement(RowCount(), rows))
    assert found.status == status
    assert found.measured == pytest.approx(measured)
    assert f"({count:,} of {rows:,})" in found.description


# --------------------------------------------------------------------------- what could not be measured


@pytest.mark.parametrize("measurement", [Measurement(NULLS, error="the column is gone", sql="SELECT 1"), None])
def test_what_was_not_measured_is_errored(measurement: Measurement | None) -> None:
    """A check without a value is errored with the reason, never passed and never failed."""
    found = judged(check(NULLS, must(mustBe=0)), *([measurement] if measurement else []))
    assert found.status == "errored"
    assert found.description == f"Could not evaluate: {measurement.error if measurement else 'it was not measured'}"
    assert found.blocks


def test_a_percentage_without_its_whole_is_errored() -> None:
    """Where the whole is not known there is no percentage."""
    limits = replace(must(mustBe=0), unit="percent")
    whole = Measurement(RowCount(), error="no")
    assert judged(check(NULLS, limits, RowCount()), Measurement(NULLS, 0), whole).status == "errored"


@pytest.mark.parametrize(("column", "status"), [("a", "passed"), ("gone", "skipped")])
def test_a_check_of_an_optional_column_is_skipped_without_it(column: str, status: str) -> None:
    """A rule that applies if its column is there is skipped where it is not."""
    metric = Violations((column,), NotNull())
    measurement = Measurement(metric, 0) if column == "a" else Measurement(metric, error="no such column")
    assert judged(check(metric, must(mustBe=0), if_present=True, column=column), measurement).status == status


def test_what_does_not_apply_is_skipped() -> None:
    """A metric that has no meaning for what is there is skipped with the reason."""
    found = judged(check(NULLS, must(mustBe=0)), Measurement(NULLS, skipped="it is a date already"))
    assert (found.status, found.description) == ("skipped", "Skipped: it is a date already.")


@pytest.mark.parametrize(
    ("metric", "measurement", "rows"),
    [
        (NULLS, Measurement(NULLS, 3), 3),
        (DuplicateKeys((("a",),)), Measurement(DuplicateKeys((("a",),)), 2, rows=5), 5),
        (Query("SELECT 1"), Measurement(Query("SELECT 1"), 7), None),
    ],
)
def test_the_rows_involved_are_told(metric: Metric, measurement: Measurement, rows: int | None) -> None:
    """A count of offenders is the rows involved, a key's are the rows that carry it, a query has none."""
    assert judged(check(metric, must(mustBe=0)), measurement).rows == rows


@pytest.mark.parametrize(
    ("metric", "value", "sentence"),
    [
        (NULLS, 1, "1 null value in `a`, expected as promised."),
        (NULLS, 1200, "1,200 null values in `a`, expected as promised."),
        (RowCount(), 1, "1 row, expected as promised."),
        (Aggregate("max", ("a",)), Decimal("0.30"), "The max of `a` is 0.30, expected as promised."),
        (Query("SELECT 1"), 0.1 + 0.2, "The query returned 0.30000000000000004, expected as promised."),
    ],
)
def test_a_verdict_says_what_was_measured(metric: Metric, value: Any, sentence: str) -> None:
    """Every verdict is a sentence with the measured value and the expectation."""
    assert judged(check(metric, must(mustBe=0)), Measurement(metric, value)).description == sentence


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (10**6, "1,000,000"),
        (Decimal("5.00"), "5"),
        (Decimal("NaN"), "NaN"),
        (5.0000001, "5.0000001"),
        (5.0, "5"),
        (math.inf, "inf"),
        (date(999, 1, 1), "0999-01-01"),
        ("x", "x"),
    ],
    ids=repr,
)
def test_values_are_shown_as_they_are(value: Any, text: str) -> None:
    """A value is never rounded into another one when it is shown."""
    assert show(value) == text


# --------------------------------------------------------------------------- ages


def aged(value: Any, limit: Duration, function: Any = "max", zone: str = "UTC", now: datetime = NOW) -> CheckResult:
    """The verdict on the age of a value."""
    metric = Aggregate(function, ("at",))
    return judged(check(metric, AgeLimit(limit, zone)), Measurement(metric, value), now=now)


@pytest.mark.parametrize(
    ("value", "limit", "status"),
    [
        (datetime(2024, 3, 30, 12), Duration(1, "day"), "passed"),
        (datetime(2024, 3, 30, 11, 59, 59), Duration(1, "day"), "failed"),
        (datetime(2024, 3, 31, 13, tzinfo=timezone(timedelta(hours=2))), Duration(1, "hour"), "passed"),
        (datetime(2024, 4, 1), Duration(1, "second"), "passed"),
        (date(2024, 3, 31), Duration(12, "hour"), "passed"),
        (date(2024, 3, 30), Duration(12, "hour"), "failed"),
        ("2024-03-31T12:00:00Z", Duration(0.5, "second"), "passed"),
        (datetime(2024, 2, 29, 12), Duration(1, "month"), "passed"),
        (datetime(2024, 2, 29, 11), Duration(1, "month"), "failed"),
        (datetime(2023, 3, 31, 12), Duration(1, "year"), "passed"),
        (datetime.min, Duration(999_999_999, "year"), "passed"),
        (datetime.min, Duration(999_999_999, "day"), "passed"),
        (datetime.min, Duration(999_999_999, "week"), "passed"),
        (datetime.max, Duration(1, "day"), "passed"),
        (None, Duration(1, "day"), "failed"),
        ("yesterday", Duration(1, "day"), "errored"),
        (1711886400, Duration(1, "day"), "errored"),
        (time(12), Duration(1, "day"), "errored"),
    ],
    ids=str,
)
def test_an_age_is_within_its_limit(value: Any, limit: Duration, status: str) -> None:
    """An age equal to the limit is within it, no value at all is too old, and what is no moment is errored."""
    assert aged(value, limit).status == status


def test_no_oldest_value_keeps_its_limit() -> None:
    """Of an empty table nothing is kept too long."""
    assert aged(None, Duration(1, "day"), function="min").status == "passed"


def test_a_moment_without_a_zone_is_in_the_zone_of_the_limit() -> None:
    """The same naive moment is older or younger by the zone it is taken in."""
    naive = datetime(2024, 3, 31, 11, 30)
    assert aged(naive, Duration(1, "hour")).measured == 1800
    assert aged(naive, Duration(1, "hour"), zone="+02:00").measured == 9000
    assert aged(naive, Duration(1, "hour"), zone="America/New_York").measured == -12600


@pytest.mark.parametrize(
    ("now", "duration", "zone", "moment"),
    [
        (datetime(2024, 3, 31, tzinfo=UTC), Duration(1, "month"), "UTC", datetime(2024, 2, 29, tzinfo=UTC)),
        (datetime(2023, 3, 31, tzinfo=UTC), Duration(1, "month"), "UTC", datetime(2023, 2, 28, tzinfo=UTC)),
        (datetime(2024, 2, 29, tzinfo=UTC), Duration(1, "year"), "UTC", datetime(2023, 2, 28, tzinfo=UTC)),
        (datetime(2024, 1, 15, tzinfo=UTC), Duration(1, "month"), "UTC", datetime(2023, 12, 15, tzinfo=UTC)),
        (datetime(2024, 1, 15, tzinfo=UTC), Duration(25, "month"), "UTC", datetime(2021, 12, 15, tzinfo=UTC)),
        (
            datetime(2024, 4, 15, 10, tzinfo=UTC),
            Duration(1, "month"),
            "Europe/Berlin",
            datetime(2024, 3, 15, 11, tzinfo=UTC),
        ),
        (
            datetime(2024, 4, 1, 10, tzinfo=UTC),
            Duration(1, "day"),
            "Europe/Berlin",
            datetime(2024, 3, 31, 10, tzinfo=UTC),
        ),
        (
            datetime(2024, 3, 31, 23, tzinfo=UTC),
            Duration(1, "month"),
            "Europe/Berlin",
            datetime(2024, 3, 1, 0, tzinfo=UTC),
        ),
    ],
    ids=str,
)
def test_months_are_counted_on_the_calendar(now: datetime, duration: Duration, zone: str, moment: datetime) -> None:
    """Months end where the calendar of the zone ends them, summer time included; a day is 24 hours."""
    assert before(now, duration, zone) == moment


def test_the_hour_that_occurs_twice_is_told_apart() -> None:
    """At the end of summer time the clock repeats an hour; moments are compared, not clocks."""
    now = datetime(2024, 11, 27, 1, 30, tzinfo=UTC)  # 02:30 in Berlin, as at 00:30 and 01:30 UTC a month ago
    berlin = zone_of("Europe/Berlin")
    for minutes, status in ((29, "failed"), (31, "passed"), (75, "passed")):
        moment = datetime(2024, 10, 27, tzinfo=UTC) + timedelta(minutes=minutes)
        assert aged(moment.astimezone(berlin), Duration(1, "month"), zone="Europe/Berlin", now=now).status == status


@pytest.mark.parametrize("name", ["UTC", "Z", "Europe/Berlin", "+02:00", "-0330", "+05"])
def test_zones_are_names_or_offsets(name: str) -> None:
    """A zone is a name of the database of zones, or an offset."""
    assert zone_of(name) is not None


def test_an_unknown_zone_is_said_so() -> None:
    """A zone that is none is an error that names it."""
    with pytest.raises(ValueError, match="Mars/Base"):
        zone_of("Mars/Base")


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (timedelta(days=3, hours=4, minutes=5), "3 d 4 h"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(), "0 s"),
        (timedelta(hours=-2), "-2 h"),
        (timedelta(minutes=61, seconds=1), "1 h 1 min"),
    ],
)
def test_an_age_is_told_in_two_units(age: timedelta, text: str) -> None:
    """An age is told in its two largest units."""
    assert age_text(age) == text


# --------------------------------------------------------------------------- the schema


def schema(rule: str, columns: tuple[FoundColumn, ...], declared: dict[str, Any], unparsed: Any = 0) -> CheckResult:
    """The verdict of a schema check on a table with these columns."""
    properties = [{"name": name, **one} for name, one in declared.items()]
    [one] = [check for check in plan(contract_of(odcs(properties))).datasets[0].checks if check.rule == rule]
    measured: dict[Metric, Measurement] = {Columns(): Measurement(Columns(), columns)}
    for metric in one.metrics:
        if isinstance(metric, UnparsedValues):
            measured[metric] = unparsed if isinstance(unparsed, Measurement) else Measurement(metric, unparsed)
    [found] = judge([one], measured, replace(TABLE, columns=columns), NOW)
    return found


INT, TEXT = FoundColumn("a", "INTEGER", "integer"), FoundColumn("B", "VARCHAR", "string")


@pytest.mark.parametrize(
    ("declared", "status", "missing"),
    [
        ({"a": {}, "B": {}}, "passed", []),
        ({"A": {}, "b": {}}, "passed", []),
        ({"a": {}, "c": {}, "d": {}}, "failed", ["c", "d"]),
    ],
)
def test_promised_columns_are_there(declared: dict[str, Any], status: str, missing: list[str]) -> None:
    """Every missing column is a line of the table of the one check."""
    found = schema("columns", (INT, TEXT), declared)
    assert (found.status, [line.column for line in found.details if not line.ok]) == (status, missing)
    assert found.measured == len(missing)


@pytest.mark.parametrize(
    ("declared", "status"),
    [
        ({"a": {"logicalType": "integer"}, "B": {"logicalType": "string"}}, "passed"),
        ({"a": {"logicalType": "number"}}, "failed"),
        ({"a": {"logicalType": "integer", "physicalType": "BIGINT"}}, "failed"),
        ({"a": {"logicalType": "integer", "physicalType": "int"}}, "passed"),
        ({"a": {"logicalType": "integer"}, "gone": {"logicalType": "date"}}, "passed"),
        ({"gone": {"logicalType": "date"}}, "skipped"),
    ],
)
def test_columns_have_their_types(declared: dict[str, Any], status: str) -> None:
    """A column that is there has its type; one that is not is a matter of the columns check."""
    assert schema("types", (INT, TEXT), declared).status == status


def test_cells_of_another_type_fail_the_type() -> None:
    """A column of the right type with a cell that is none fails."""
    assert schema("types", (INT,), {"a": {"logicalType": "integer"}}, 2).status == "failed"


def test_a_type_that_nobody_can_tell_is_errored() -> None:
    """A native type that no one knows is neither right nor wrong."""
    column = FoundColumn("a", "MYSTERY(", "unknown")
    assert schema("types", (column,), {"a": {"logicalType": "integer"}}).status == "errored"


# --------------------------------------------------------------------------- status, score, exit code


def verdicts(*outcomes: str) -> list[CheckResult]:
    """Results: `p`assed, `f`ailed, `w`arned, `e`rrored, `s`kipped."""
    statuses: dict[str, Any] = {"p": "passed", "f": "failed", "w": "failed", "e": "errored", "s": "skipped"}
    severities: dict[str, Any] = {"w": "warning"}
    return [
        CheckResult(check(RowCount(), must(mustBe=0), severity=severities.get(one, "error")), statuses[one], "")
        for one in outcomes
    ]


@pytest.mark.parametrize(
    ("outcomes", "status", "score", "code"),
    [
        ("pp", "compliant", 1.0, 0),
        ("ps", "compliant", 1.0, 0),
        ("pf", "partially_violated", 0.5, 1),
        ("ff", "violated", 0.0, 1),
        ("pw", "partially_violated", 0.5, 0),
        ("w", "partially_violated", 0.0, 0),
        ("fw", "violated", 0.0, 1),
        ("pe", "partially_violated", 1.0, 2),
        ("fe", "violated", 0.0, 2),
        ("e", "not_evaluated", None, 2),
        ("s", "not_evaluated", None, 2),
        ("", "not_evaluated", None, 2),
    ],
)
def test_verdicts_add_up_to_a_status(outcomes: str, status: str, score: float | None, code: int) -> None:
    """The status, the score and the exit code tell evaluated, failed, warned and errored apart."""
    results = verdicts(*outcomes)
    assert (status_of(results), score_of(results)) == (status, score)
    planned = plan(contract_of(odcs([{"name": "a"}])))

    class Told(Report):
        @property
        def results(self) -> tuple[CheckResult, ...]:
            return tuple(results)

    assert Told(planned, ()).exit_code == code


@pytest.mark.parametrize(
    ("value", "document"),
    [
        (Decimal("5.00"), 5),
        (Decimal("0.30"), 0.3),
        (Decimal("0.1000000000000000000001"), "0.1000000000000000000001"),
        (Decimal(10**20 + 1), "100000000000000000001"),
        (Decimal("Infinity"), "Infinity"),
        (Decimal("NaN"), "NaN"),
        (math.inf, "inf"),
        (2**60 + 1, 2**60 + 1),
        (date(2024, 1, 1), "2024-01-01"),
        (timedelta(minutes=1), 60.0),
        (True, True),
        (None, None),
    ],
    ids=repr,
)
def test_values_in_json_are_exact(value: Any, document: Any) -> None:
    """A number stays a number where JSON can hold it exactly; all else is text."""
    found = json_value(value)
    assert (found, type(found)) == (document, type(document))
