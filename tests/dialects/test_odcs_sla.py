"""`slaProperties` → cadence, age limits, documentation, or a reason; and how times are written."""

from __future__ import annotations

from datetime import datetime

import pytest
from odcs_text import contract

from contract_checks.checks import plan
from contract_checks.dialects.times import clock_of, cron_of, duration_of, unit_of
from contract_checks.judging import judge
from contract_checks.metrics import Aggregate
from contract_checks.model import AgeLimit, Cadence, Contract, DateLimit, Duration
from contract_checks.sql import Relation

SCHEMA = """
schema:
  - name: orders
    physicalName: sales.orders
    properties:
      - {name: placed, physicalName: placed_at, logicalType: timestamp}
      - {name: day, logicalType: date}
  - name: returns
    properties: [{name: at, logicalType: timestamp}]
"""


def sla(*entries: str, more: str = "") -> Contract:
    """A contract about two tables with these entries."""
    return contract(SCHEMA + "slaProperties:\n" + "".join(f"  - {{{entry}}}\n" for entry in entries) + more)


@pytest.mark.parametrize(
    ("entry", "cadence"),
    [
        ("property: frequency, value: 1, unit: d", Cadence(Duration(1, "day"))),
        ("property: FY, value: 15, unit: min", Cadence(Duration(15, "minute"))),
        ("property: frequency, value: 2, unit: weeks", Cadence(Duration(2, "week"))),
        ("property: frequency, value: hourly", Cadence(Duration(1, "hour"))),
        ("property: frequency, value: P1M", Cadence(Duration(1, "month"))),
        ("property: frequency, value: 6 hours", Cadence(Duration(6, "hour"))),
        ("property: frequency, value: 0 6 * * 1-5", Cadence(cron="0 6 * * 1-5")),
        ("property: frequency, value: '@daily'", Cadence(cron="0 0 * * *")),
    ],
)
def test_the_frequency_is_the_cadence(entry: str, cadence: Cadence) -> None:
    """A frequency is a count with a unit, a word, an ISO 8601 duration or a cron."""
    made = sla(entry)

    assert made.cadence == cadence
    assert (made.not_checked, [one.title for one in made.documented]) == ((), ["Refresh"])


def test_the_time_of_availability_sets_the_clock() -> None:
    """A time of availability gives the frequency its time of day and zone, whichever comes first."""
    made = sla("property: timeOfAvailability, value: 09:00-08:00", "property: frequency, value: 1, unit: d")

    assert made.cadence == Cadence(Duration(1, "day"), time_of_day="09:00", timezone="-08:00")


@pytest.mark.parametrize(
    ("name", "function"), [("latency", "max"), ("ly", "max"), ("freshness", "max"), ("retention", "min"), ("RE", "min")]
)
def test_ages_are_measured_on_their_element(name: str, function: str) -> None:
    """Latency and freshness limit the age of the newest, retention that of the oldest value."""
    made = sla(f"property: {name}, value: 4, unit: h, element: orders.placed")

    (found,) = made.dataset("orders").expectations
    assert found.metric == Aggregate(function, ("placed_at",))  # type: ignore[arg-type]
    assert found.requirement == AgeLimit(Duration(4, "hour"))
    assert (found.section, found.field) == ("sla", ("placed_at",))


def test_a_list_of_elements_is_a_promise_each() -> None:
    """Several elements, also of several tables, each have their limit."""
    made = sla("property: latency, value: 1, unit: d, element: 'orders.placed, returns.at'")

    assert [len(one.expectations) for one in made.datasets] == [1, 1]


def test_the_default_element_is_used_when_none_is_named() -> None:
    """`slaDefaultElement` stands in for an element that is not named."""
    made = sla("property: latency, value: 1, unit: d", more="slaDefaultElement: orders.placed\n")

    assert len(made.dataset("orders").expectations) == 1


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("property: latency, value: 1, unit: d", "'latency' names no element"),
        ("property: latency, value: 1, unit: d, element: tab1.x", "'tab1.x' is no property of this contract"),
        ("property: latency, value: 1, unit: parsec, element: orders.placed", "'parsec' is no unit of time"),
        ("property: latency, value: soon, unit: d, element: orders.placed", "'soon d' is no duration"),
        ("property: latency, value: 0, unit: d, element: orders.placed", "'0 d' is no duration"),
        ("property: latency, value: '95%', element: orders.placed", "'95%' is no duration"),
        ("property: latency, value: true, element: orders.placed", "'true' is no duration"),
        ("property: frequency, value: 0 30 * * *", "'30' in '0 30 * * *' is no hour"),
        ("property: frequency, value: ad hoc", "'ad hoc' is no duration"),
        ("property: availability, value: 99.9, unit: percent", "availability is a share of time"),
        ("property: timeToRepair, value: 4, unit: h", "it concerns how incidents are handled"),
        ("property: sparkle, value: 4", "'sparkle' is not known here"),
        ("property: frequency", "'frequency' has no value"),
        ("property: endOfLife, value: never", "'never' is no date"),
        ("value: 4", "it does not say which property is promised"),
    ],
)
def test_what_is_not_checked_says_why(entry: str, why: str) -> None:
    """An entry that cannot be evaluated is listed with its reason, in the section of SLAs."""
    (clause,) = sla(entry).not_checked

    assert why in clause.reason
    assert clause.section == "sla"


@pytest.mark.parametrize(
    ("name", "title", "severity", "not_before"),
    [
        ("ga", "General availability", "warning", True),
        ("endOfSupport", "End of support", "warning", False),
        ("EL", "End of life", "error", False),
    ],
)
def test_days_of_the_datas_life_are_checks_of_every_object(
    name: str, title: str, severity: str, not_before: bool
) -> None:
    """The days of general availability and of the ends of support and life are shown, and checks of every object."""
    made = sla(f"property: {name}, value: '2022-05-12T09:30:10-08:00'")
    moment = datetime.fromisoformat("2022-05-12T09:30:10-08:00")

    assert [(shown.title, shown.text) for shown in made.documented] == [(title, "2022-05-12T09:30:10-08:00")]
    assert len(made.datasets) == 2
    for table in made.datasets:
        (found,) = table.expectations
        assert (found.requirement, found.severity) == (DateLimit(moment, not_before), severity)


def test_days_may_name_their_objects() -> None:
    """With a list of elements a day is one of those objects; what is not known is reported."""
    made = sla("property: endOfLife, value: '2030-01-01', element: 'orders, returns.at, nowhere'")
    one = sla("property: endOfLife, value: '2030-01-01', element: returns")

    assert [len(table.expectations) for table in made.datasets] == [1, 1]
    assert [len(table.expectations) for table in one.datasets] == [0, 1]
    assert "'nowhere' is no object" in made.not_checked[0].reason


@pytest.mark.parametrize(
    ("entry", "day", "status"),
    [
        ("endOfSupport", "2030-01-01", "passed"),
        ("endOfSupport", "2030-01-02", "failed"),
        ("endOfLife", "2030-01-02", "failed"),
        ("endOfLife", "2030-01-01", "passed"),
        ("generalAvailability", "2030-01-01", "skipped"),
        ("generalAvailability", "2030-01-02", "passed"),
    ],
)
def test_a_day_counts_from_its_first_moment(entry: str, day: str, status: str) -> None:
    """From the day on support or life have ended; until the day of general availability nothing is asked."""
    made = sla(f"property: {entry}, value: '2030-01-02'")
    dated = [one for one in plan(made).datasets[0].checks if one.rule == entry]
    judged = judge(dated, {}, Relation("t", "t", "duckdb", ()), datetime.fromisoformat(f"{day}T00:00:00+00:00"))

    assert [one.status for one in judged] == [status]


def test_a_time_of_availability_alone_is_one_of_every_day() -> None:
    """Without a frequency the data is promised every day at that time, and lint says so."""
    made = sla("property: timeOfAvailability, value: '09:00-08:00'")

    assert made.cadence == Cadence(Duration(1, "day"), time_of_day="09:00", timezone="-08:00")
    assert any("read as one of every day" in problem.message for problem in made.problems)


def test_a_second_frequency_is_not_used() -> None:
    """A contract has one schedule; another frequency is listed as not checked."""
    made = sla("property: frequency, value: 1, unit: d", "property: frequency, value: 1, unit: h")

    assert made.cadence == Cadence(Duration(1, "day"))
    assert "another frequency" in made.not_checked[0].reason


# --------------------------------------------------------------------------- times


@pytest.mark.parametrize(
    ("text", "unit", "duration"),
    [
        ("4", "d", Duration(4, "day")),
        ("4", "D", Duration(4, "day")),
        ("1.5", "h", Duration(1.5, "hour")),
        ("500ms", None, Duration(0.5, "second")),
        ("3", "quarters", Duration(9, "month")),
        ("1.5", "y", Duration(18, "month")),
        ("every 5 minutes", None, Duration(5, "minute")),
        ("day", None, Duration(1, "day")),
        ("PT4H30M", None, Duration(270, "minute")),
        ("P1Y6M", None, Duration(18, "month")),
        ("P1DT12H", None, Duration(36, "hour")),
        ("P2W", None, Duration(2, "week")),
        ("P1M1D", None, None),
        ("P", None, None),
        ("PT", None, None),
        ("4 h", "d", None),
        ("-1", "d", None),
        ("1.5", "mo", None),
        ("9" * 400, "d", None),
        ("", "d", None),
    ],
)
def test_durations(text: str, unit: str | None, duration: Duration | None) -> None:
    """A duration keeps months and years for the calendar; what cannot be one is none."""
    assert duration_of(text, unit) == duration


def test_the_unit_m_is_minutes() -> None:
    """`m` is minutes and `mo` months."""
    assert (unit_of("m"), unit_of("mo")) == (("minute", 1), ("month", 1))


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("09:00-08:00", ("09:00", "-08:00")),
        ("9:05", ("09:05", None)),
        ("23:59:59Z", ("23:59", "UTC")),
        ("06:30+0530", ("06:30", "+05:30")),
        ("24:00", None),
        ("noon", None),
    ],
)
def test_clock_times(text: str, clock: tuple[str, str | None] | None) -> None:
    """A time of day is hours and minutes, with the offset it states."""
    assert clock_of(text) == clock


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("0 20 * * *", "0 20 * * *"),
        ("*/5 8-18 1,15 jan-jun mon", "*/5 8-18 1,15 jan-jun mon"),
        ("0 0 12 ? * 7", "0 12 * * 7"),
        ("@monthly", "0 0 1 * *"),
    ],
)
def test_crons_have_five_fields(text: str, cron: str) -> None:
    """A cron has five fields; leading seconds of 0 are dropped and `?` is `*`."""
    assert cron_of(text) == (cron, "")


@pytest.mark.parametrize(
    "text", ["0 30 * * *", "* * * *", "60 * * * *", "5 0 12 * * *", "*/0 * * * *", "5-1 * * * *", "a b c d e", ""]
)
def test_bad_crons_are_told(text: str) -> None:
    """What is no cron says which part is wrong."""
    cron, wrong = cron_of(text)

    assert cron == ""
    assert wrong
