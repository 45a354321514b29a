"""Moments, ages and deadlines: arithmetic on calendars and clocks, exact and with time zones."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contract_checks.model import AgeLimit, Contract, Duration, exact_duration


def period(judgement: AgeLimit, by: str, now: datetime) -> tuple[datetime, datetime]:
    """The last deadline before `now`, and since when data counts for it (see `AgeLimit`)."""
    zone, clock = zone_of(judgement.timezone), time.fromisoformat(by)
    local = now.astimezone(zone)
    deadline = datetime.combine(local.date(), clock, zone)
    if deadline.astimezone(UTC) > now:
        deadline = datetime.combine(local.date() - timedelta(days=1), clock, zone)
    exact = exact_duration(judgement.limit)
    if exact is None or exact > timedelta(days=1):
        return deadline, before(deadline, judgement.limit, judgement.timezone)
    # At midnight the day that counts is the one that ends.
    day = deadline.date() if clock != time(0) else deadline.date() - timedelta(days=1)
    return deadline, datetime.combine(day, time(0), zone)


def instant(value: Any, zone: str) -> datetime:
    """A value as a moment; without a time zone it is in `zone`. Raises `ValueError` or `TypeError` if it is none."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time(0))
    if not isinstance(value, datetime):
        raise TypeError(value)
    return value if value.tzinfo is not None else value.replace(tzinfo=zone_of(zone))


def clock(value: Any) -> time:
    """A value as a time of day; without a time zone it is in UTC. Raises `ValueError` or `TypeError` if it is none."""
    clock = time.fromisoformat(value.strip()) if isinstance(value, str) else value
    if not isinstance(clock, time):
        raise TypeError(value)
    return clock if clock.tzinfo is not None else clock.replace(tzinfo=UTC)


def zone_of(name: str) -> timezone | ZoneInfo:
    """The time zone of an IANA name or a `+HH:MM` offset. Raises `ValueError` for anything else."""
    if name in ("UTC", "Z", "Etc/UTC"):
        return UTC
    if name[:1] in "+-":
        sign = -1 if name[0] == "-" else 1
        digits = name[1:].replace(":", "")
        return timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0)))
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError as error:
        raise ValueError(f"unknown time zone {name}") from error


def before(now: datetime, duration: Duration, zone: str = "UTC") -> datetime:
    """The moment `duration` before `now`, in UTC; months and years are counted on the calendar of `zone`.

    Before the year 1 it is the first moment there is.
    """
    try:
        exact = exact_duration(duration)
        if exact is not None:
            return now.astimezone(UTC) - exact
        months = int(duration.count * (12 if duration.unit == "year" else 1))
        local = now.astimezone(zone_of(zone))
        year, month = divmod(local.year * 12 + local.month - 1 - months, 12)
        if year < 1:
            raise OverflowError
        day = min(local.day, calendar.monthrange(year, month + 1)[1])
        return local.replace(year=year, month=month + 1, day=day).astimezone(UTC)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def age_text(age: timedelta) -> str:
    """An age in its two largest units: `3 d 4 h`."""
    seconds = int(abs(age.total_seconds()))
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count} {unit}")
    return ("-" if age < timedelta(0) else "") + (" ".join(parts[:2]) or "0 s")


def out_of_force(contract: Contract, now: datetime) -> str:
    """Why a contract binds nobody at the moment, so that it is not checked; empty if it does."""
    if contract.lifecycle == "retired":
        return f"the contract is {contract.status.lower() or 'retired'}"
    if contract.effective_from is not None and now < contract.effective_from:
        return f"the contract is in force from {contract.effective_from.isoformat()} on"
    if contract.effective_until is not None and now >= contract.effective_until:
        return f"the contract was in force until {contract.effective_until.isoformat()}"
    return ""
