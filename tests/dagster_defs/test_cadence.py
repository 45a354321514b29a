"""When promises are due."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from contract_checks.dagster_defs.cadence import CadenceError, Recurrence, recurrence
from contract_checks.model import Cadence, Duration

BERLIN = "Europe/Berlin"


def every(count: float, unit: str, at: str | None = None, timezone: str = "UTC") -> Recurrence:
    return recurrence(Cadence(Duration(count, unit), None, at, timezone))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "unit", "at", "timezone", "name", "cron"),
    [
        (30, "second", None, "UTC", "every_1_min__utc", "* * * * *"),
        (15, "minute", None, "UTC", "every_15_min__utc", "*/15 * * * *"),
        (90, "minute", None, "UTC", "every_90_min__utc", "*/30 * * * *"),
        (60, "minute", None, "UTC", "every_1_h__0000_utc", "0 * * * *"),
        (6, "hour", "07:30", "UTC", "every_6_h__0730_utc", "30 1-23/6 * * *"),
        (5, "hour", None, "UTC", "every_5_h__0000_utc", "0 * * * *"),
        (24, "hour", "06:00", "UTC", "every_1_d__0600_utc", "0 6 * * *"),
        (0.5, "day", None, "UTC", "every_12_h__0000_utc", "0 */12 * * *"),
        (1, "day", "06:00", BERLIN, "every_1_d__0600_europe_berlin", "0 6 * * *"),
        (2, "day", "06:00", "UTC", "every_2_d__0600_utc", "0 6 * * *"),
        (1, "week", "06:00", "UTC", "every_1_w__0600_utc", "0 6 * * 1"),
        (3, "week", None, "UTC", "every_3_w__0000_utc", "0 0 * * 1"),
        (1, "month", "23:59", "UTC", "every_1_mo__2359_utc", "59 23 1 * *"),
        (3, "month", None, "UTC", "every_3_mo__0000_utc", "0 0 1 */3 *"),
        (5, "month", None, "UTC", "every_5_mo__0000_utc", "0 0 1 * *"),
        (0.5, "year", None, "UTC", "every_6_mo__0000_utc", "0 0 1 */6 *"),
        (12, "month", None, "UTC", "every_1_y__0000_utc", "0 0 1 1 *"),
        (2, "year", None, "UTC", "every_2_y__0000_utc", "0 0 1 1 *"),
    ],
)
def test_a_cadence_has_a_name_and_a_cron(
    count: float, unit: str, at: str | None, timezone: str, name: str, cron: str
) -> None:
    """Equal cadences have one name, whatever unit they are written in."""
    found = every(count, unit, at, timezone)

    assert (found.name, found.cron) == (name, cron)


@pytest.mark.parametrize(
    ("timezone", "zone", "name"),
    [
        ("Z", "UTC", "utc"),
        ("+00:00", "UTC", "utc"),
        ("+02:00", "Etc/GMT-2", "utc_plus_0200"),
        ("-05:00", "Etc/GMT+5", "utc_minus_0500"),
        ("+05:30", "Asia/Kolkata", "utc_plus_0530"),
        ("America/New_York", "America/New_York", "america_new_york"),
    ],
)
def test_a_time_zone_is_one_that_dagster_knows(timezone: str, zone: str, name: str) -> None:
    """An offset becomes a zone that has this offset all year."""
    found = every(1, "day", timezone=timezone)

    assert found.timezone == zone
    assert found.name == f"every_1_d__0000_{name}"
    if timezone[0] in "+-":
        assert datetime(2025, 7, 1, tzinfo=ZoneInfo(zone)).strftime("%z") == timezone.replace(":", "")


@pytest.mark.parametrize(
    "cadence",
    [
        Cadence(),
        Cadence(Duration(0, "day")),
        Cadence(Duration(1.5, "month")),
        Cadence(Duration(1, "day"), time_of_day="25:00"),
        Cadence(Duration(1, "day"), timezone="Mars/Olympus"),
        Cadence(Duration(1, "day"), timezone="-03:30"),
    ],
    ids=["nothing", "no time", "half months", "25 o'clock", "no such zone", "no zone at that offset"],
)
def test_a_cadence_that_nobody_can_follow_is_refused(cadence: Cadence) -> None:
    """What cannot be scheduled is an error with a reason, never a schedule at another time."""
    with pytest.raises(CadenceError):
        recurrence(cadence)


def test_a_cron_is_taken_as_it_is() -> None:
    """A cron of a contract keeps its text, and has a name of its own."""
    plain = recurrence(Cadence(cron="0  6 * * *"))
    other = recurrence(Cadence(cron="0 6 * * MON-FRI", timezone=BERLIN))

    assert (plain.cron, plain.name) == ("0 6 * * *", "cron_0_6_x_x_x__utc")
    assert other.name.startswith("cron_0_6_x_x_mon_fri_")
    assert other.name.endswith("__europe_berlin")


def ticks(step: timedelta, start: datetime, end: datetime) -> list[datetime]:
    return [start + step * number for number in range(int((end - start) / step))]


@pytest.mark.parametrize(("count", "unit"), [(5, "hour"), (7, "hour"), (36, "hour"), (50, "minute"), (90, "minute")])
def test_an_interval_of_hours_is_kept_through_a_year(count: int, unit: str) -> None:
    """The due ticks are exactly the interval apart, also over midnight and when the clocks change."""
    found = every(count, unit, timezone=BERLIN)
    step = timedelta(hours=1) if unit == "hour" else timedelta(minutes=10)
    year = ticks(step, datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC))
    due = [tick for tick in year if found.is_due(tick)]

    assert {after - before for before, after in itertools.pairwise(due)} == {timedelta(**{f"{unit}s": count})}


def test_every_second_day_is_kept_over_month_ends_and_clock_changes() -> None:
    """Every 2 days is every 2 days, on the 31st and the 1st as on any other day."""
    found = every(2, "day", "02:30", BERLIN)
    zone = ZoneInfo(BERLIN)
    days = [datetime(2024, 1, 1, 2, 30, tzinfo=zone) + timedelta(days=number) for number in range(366)]
    due = [day.date() for day in days if found.is_due(day.astimezone(UTC))]

    assert len(due) == 183
    assert {after - before for before, after in itertools.pairwise(due)} == {timedelta(days=2)}


@pytest.mark.parametrize(
    ("count", "unit", "tick", "due"),
    [
        (2, "day", datetime(2025, 3, 29, 6), datetime(2025, 3, 30, 6)),
        (3, "week", datetime(2025, 1, 13, 6), datetime(2025, 1, 27, 6)),
        (5, "month", datetime(2025, 2, 1, 6), datetime(2025, 6, 1, 6)),
        (2, "year", datetime(2025, 1, 1, 6), datetime(2026, 1, 1, 6)),
    ],
)
def test_a_tick_that_is_not_due_knows_the_next_one(count: int, unit: str, tick: datetime, due: datetime) -> None:
    """The next due tick is a tick, due, and the first one after this."""
    zone = ZoneInfo(BERLIN)
    found = every(count, unit, "06:00", BERLIN)
    at, expected = tick.replace(tzinfo=zone), due.replace(tzinfo=zone)

    assert not found.is_due(at)
    assert found.next_due(at) == expected
    assert found.is_due(found.next_due(at))
