"""A whole year of ticks, as Dagster's own clock makes them: clock changes, month ends and 29 February."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._utils.schedules import schedule_execution_time_iterator
from pipelines import orders_contract

from contract_checks.dagster_defs import build_definitions
from contract_checks.dagster_defs.cadence import Recurrence, recurrence
from contract_checks.dialects.openmetadata_sla import read_timezone
from contract_checks.model import Cadence, Duration

BERLIN = "Europe/Berlin"


def ticks(when: Recurrence, year: int = 2024) -> Iterator[datetime]:
    """The ticks of a schedule in a local year."""
    zone = ZoneInfo(when.timezone)
    start = datetime(year, 1, 1, tzinfo=zone).timestamp()
    for tick in schedule_execution_time_iterator(start, when.cron, when.timezone):
        if tick.astimezone(zone).year > year:
            return
        yield tick


def due(cadence: Cadence, year: int = 2024) -> list[datetime]:
    """The ticks that start something, in the local time of the cadence."""
    when = recurrence(cadence)
    return [tick.astimezone(ZoneInfo(when.timezone)) for tick in ticks(when, year) if when.is_due(tick)]


def daily(count: int = 1, at: str = "06:00", timezone: str = BERLIN) -> Cadence:
    return Cadence(Duration(count, "day"), time_of_day=at, timezone=timezone)


@pytest.mark.parametrize("timezone", [BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"])
def test_every_day_of_a_leap_year_has_one_tick(timezone: str) -> None:
    """A daily cadence is due on all 366 days at the same local time, when the clocks change as on any other day."""
    found = due(daily(at="09:00", timezone=timezone))

    assert [tick.date() for tick in found] == [date(2024, 1, 1) + timedelta(days=number) for number in range(366)]
    assert {tick.time() for tick in found} == {time(9)}


@pytest.mark.parametrize(
    ("timezone", "night", "at"),
    [(BERLIN, date(2024, 3, 31), time(3)), ("America/New_York", date(2024, 3, 10), time(3))],
)
def test_a_time_that_a_night_does_not_have_is_the_next_one(timezone: str, night: date, at: time) -> None:
    """02:30 is 03:00 on the night when clocks go forward, and 02:30 once when they go back."""
    found = due(daily(at="02:30", timezone=timezone))
    odd = {tick.date(): tick.time() for tick in found if tick.time() != time(2, 30)}

    assert odd == {night: at}
    assert len(found) == 366


@pytest.mark.parametrize(("count", "year"), [(2, 2024), (3, 2024), (10, 2025), (45, 2024)])
def test_every_nth_day_is_kept_for_a_year(count: int, year: int) -> None:
    """Every n days is exactly that on the calendar, over month ends, clock changes and the leap day."""
    found = [tick.date() for tick in due(daily(count, "02:30"), year)]

    assert {after - before for before, after in itertools.pairwise(found)} == {timedelta(days=count)}
    assert len(found) in (365 // count, 366 // count, 366 // count + 1)


def test_every_third_week_is_kept_for_a_year() -> None:
    """Every 3 weeks is due on each third Monday."""
    found = [tick.date() for tick in due(Cadence(Duration(3, "week"), timezone=BERLIN))]

    assert {one.weekday() for one in found} == {0}
    assert {after - before for before, after in itertools.pairwise(found)} == {timedelta(weeks=3)}


@pytest.mark.parametrize(("count", "unit"), [(5, "hour"), (36, "hour"), (45, "minute"), (15, "minute")])
@pytest.mark.parametrize("timezone", [BERLIN, "Asia/Kathmandu"])
def test_an_interval_of_hours_is_the_same_all_year(count: int, unit: str, timezone: str) -> None:
    """What is due every few hours or minutes is due after exactly that time, also when the clocks change."""
    found = due(Cadence(Duration(count, unit), timezone=timezone))  # type: ignore[arg-type]

    assert {after.astimezone(UTC) - before.astimezone(UTC) for before, after in itertools.pairwise(found)} == {
        timedelta(**{f"{unit}s": count})
    }


def test_a_part_of_a_day_keeps_its_hours_on_the_clock() -> None:
    """Every 6 hours at 07:30 is at 01:30, 07:30, 13:30 and 19:30 of every day, whatever the clocks do."""
    found = due(Cadence(Duration(6, "hour"), time_of_day="07:30", timezone="America/New_York"))

    assert {tick.time() for tick in found} == {time(1, 30), time(7, 30), time(13, 30), time(19, 30)}
    assert len(found) == 366 * 4


@pytest.mark.parametrize(
    ("cadence", "days"),
    [
        (Cadence(Duration(1, "month")), [date(2024, month, 1) for month in range(1, 13)]),
        (Cadence(Duration(3, "month")), [date(2024, month, 1) for month in (1, 4, 7, 10)]),
        (Cadence(Duration(5, "month")), [date(2024, 3, 1), date(2024, 8, 1)]),
        (Cadence(Duration(1, "year")), [date(2024, 1, 1)]),
        (Cadence(Duration(2, "year")), [date(2024, 1, 1)]),
        (Cadence(cron="0 6 31 * *"), [date(2024, month, 31) for month in (1, 3, 5, 7, 8, 10, 12)]),
        (Cadence(cron="0 6 29 2 *"), [date(2024, 2, 29)]),
        (
            Cadence(cron="0 6 L * *"),
            [date(2024, month + 1, 1) - timedelta(days=1) for month in range(1, 12)] + [date(2024, 12, 31)],
        ),
    ],
    ids=["month", "quarter", "5 months", "year", "2 years", "31st", "29 February", "last day"],
)
def test_months_end_when_they_do(cadence: Cadence, days: list[date]) -> None:
    """Months and years are those of the calendar; a day that a month does not have has no tick in it."""
    assert [tick.date() for tick in due(cadence)] == days


@pytest.mark.parametrize(
    ("label", "hours"),
    [
        ("GMT+01:00 (Europe/Paris)", {8, 7}),
        ("GMT-05:00 (America/New_York)", {14, 13}),
        ("GMT+05:30 (Asia/Calcutta)", {3}),
        ("+02:00", {7}),
    ],
)
def test_a_label_means_its_region(label: str, hours: set[int]) -> None:
    """OpenMetadata's labels are zones with clock changes, a bare offset is the same all year."""
    found = due(daily(at="09:00", timezone=read_timezone(label) or "no such zone"))

    assert {tick.astimezone(UTC).hour for tick in found} == hours


def test_every_tick_of_a_year_launches_or_says_when() -> None:
    """A tick asks for runs with keys that no other tick has, or it is skipped and names the next due time."""
    cadence = daily(2, "02:30")
    repository = build_definitions(orders_contract(cadence=cadence)).get_repository_def()
    schedule = repository.get_schedule_def("contract_sla__every_2_d__0230_europe_berlin")
    keys: list[str | None] = []
    said: list[str] = []
    for tick in ticks(recurrence(cadence)):
        context = dg.build_schedule_context(scheduled_execution_time=tick, repository_def=repository)
        data = schedule.evaluate_tick(context)
        keys += [request.run_key for request in data.run_requests or ()]
        said += [data.skip_message] if data.skip_message else []

    assert len(keys) + len(said) == 366
    assert len(keys) == len(set(keys)) == 183
    assert all("next due 20" in one for one in said)
    assert any("2024-03-31 03:00 CEST" in one for one in said)


# --------------------------------------------------------------------------- downtime


EVERY_2 = daily(2, "06:00", "UTC")
NAME = "contract_sla__every_2_d__0600_utc"


def kept_instance(folder: Path) -> dg.DagsterInstance:
    """An instance that a tick finds again, as one that is evaluated by the daemon does."""
    return dg.DagsterInstance.local_temp(str(folder))


def tick_at(instance: dg.DagsterInstance, day: int) -> dg.ScheduleExecutionData:
    repository = build_definitions(orders_contract(cadence=EVERY_2)).get_repository_def()
    at = datetime(2025, 1, day, 6, tzinfo=UTC)
    context = dg.build_schedule_context(instance, scheduled_execution_time=at, repository_def=repository)
    return repository.get_schedule_def(NAME).evaluate_tick(context)


def launch(instance: dg.DagsterInstance, data: dg.ScheduleExecutionData) -> list[str | None]:
    """Leave the runs behind that a tick asks for."""
    job = build_definitions(orders_contract(cadence=EVERY_2)).resolve_job_def("contract_checks")
    for request in data.run_requests or ():
        instance.create_run_for_job(job, tags={**request.tags, "dagster/run_key": request.run_key or ""})
    return [request.run_key for request in data.run_requests or ()]


def test_what_was_due_while_the_daemon_was_down_runs_once(tmp_path: Path) -> None:
    """The first tick after downtime starts what was due before it, with that time's run key; the next one waits."""
    with kept_instance(tmp_path) as instance:
        first = launch(instance, tick_at(instance, 1))
        assert len(first) == 1
        # 3 January is due and missed; Dagster evaluates the last tick that was missed, the 4th.
        late = launch(instance, tick_at(instance, 4))
        again = tick_at(instance, 4)

    assert late == [f"{NAME}|2025-01-03T06:00:00+00:00|0"]
    assert not again.run_requests
    assert "next due 2025-01-05 06:00 UTC" in (again.skip_message or "")


def test_a_new_schedule_waits_for_its_first_due_tick(tmp_path: Path) -> None:
    """What was due before a schedule ever ran is nothing that it missed."""
    with kept_instance(tmp_path) as instance:
        data = tick_at(instance, 2)

    assert not data.run_requests
    assert "next due" in (data.skip_message or "")


def test_a_due_tick_after_downtime_does_not_make_up_for_others(tmp_path: Path) -> None:
    """However many due times were missed, one run looks at the data as it is now."""
    with kept_instance(tmp_path) as instance:
        launch(instance, tick_at(instance, 1))
        data = tick_at(instance, 9)

    assert [request.run_key for request in data.run_requests or ()] == [f"{NAME}|2025-01-09T06:00:00+00:00|0"]
