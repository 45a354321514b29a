"""Cadence → Recurrence: when a promise of a contract is due, in words that cron has and some it has not.

Cron can say "every 6 hours" but not "every 5 hours" or "every 2 days" (`*/2` for days fires on the 31st and
on the 1st). What it cannot say is a base cron at a smaller step, and arithmetic from a fixed anchor, the
Monday 3 January 2000, that tells which of its ticks are due.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import floor, gcd
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contract_checks.dagster_defs.names import short_hash
from contract_checks.model import Cadence, Duration

Step = Literal["minute", "hour", "day", "week", "month", "year"]

_ANCHOR = date(2000, 1, 3)
_SHORT: dict[Step, str] = {"minute": "min", "hour": "h", "day": "d", "week": "w", "month": "mo", "year": "y"}
_MINUTES = {"minute": 1, "hour": 60, "day": 1440, "week": 10080}

# Offsets that are no whole hours, as a zone that has this offset all year.
_ZONES = {
    "-09:30": "Pacific/Marquesas",
    "+03:30": "Asia/Tehran",
    "+04:30": "Asia/Kabul",
    "+05:30": "Asia/Kolkata",
    "+05:45": "Asia/Kathmandu",
    "+06:30": "Asia/Yangon",
    "+08:45": "Australia/Eucla",
    "+09:30": "Australia/Darwin",
}


class CadenceError(ValueError):
    """A cadence that no schedule can follow. The message says why."""


@dataclass(frozen=True)
class Recurrence:
    """The ticks of one schedule.

    `name` is stable and made of the cadence alone, `label` says it in words. `cron` ticks in `timezone`
    (an IANA name); where cron cannot say the cadence, only every `count`-th `step` of it is due.
    """

    name: str
    label: str
    cron: str
    timezone: str
    step: Step | None = None
    count: int = 1
    at: time = time(0)

    def is_due(self, tick: datetime) -> bool:
        """Whether a tick of `cron` is one of the cadence."""
        return self.step is None or self._index(tick) % self.count == 0

    def next_due(self, tick: datetime) -> datetime:
        """The first due tick after one that is not due, in the schedule's time zone."""
        if self.step is None:
            return tick
        index = self._index(tick)
        return self._tick(index + self.count - index % self.count)

    def last_due(self, tick: datetime) -> datetime:
        """The last due tick at or before a tick, in the schedule's time zone."""
        if self.step is None:
            return tick
        index = self._index(tick)
        return self._tick(index - index % self.count)

    @property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    def _index(self, tick: datetime) -> int:
        """How many steps after the anchor a tick is. Days and longer count on the local calendar."""
        if self.step in ("minute", "hour"):
            elapsed = tick.astimezone(UTC) - self._start()
            return floor(elapsed.total_seconds() / 60 / _MINUTES[self.step])
        day = tick.astimezone(self._zone).date()
        if self.step == "day":
            return (day - _ANCHOR).days
        if self.step == "week":
            return (day - _ANCHOR).days // 7
        months = (day.year - _ANCHOR.year) * 12 + day.month - 1
        return months if self.step == "month" else months // 12

    def _tick(self, index: int) -> datetime:
        if self.step in ("minute", "hour"):
            return (self._start() + timedelta(minutes=index * _MINUTES[self.step])).astimezone(self._zone)
        if self.step in ("day", "week"):
            day = _ANCHOR + timedelta(days=index * (7 if self.step == "week" else 1))
        else:
            months = index * (12 if self.step == "year" else 1)
            day = date(_ANCHOR.year + months // 12, months % 12 + 1, 1)
        return _existing(datetime.combine(day, self.at, self._zone))

    def _start(self) -> datetime:
        return datetime.combine(_ANCHOR, self.at, self._zone).astimezone(UTC)


def _existing(local: datetime) -> datetime:
    """A local time, or the end of the gap it is in: 02:30 is 03:00 on the night when clocks go forward."""
    found = local.astimezone(UTC).astimezone(local.tzinfo)
    if found.replace(tzinfo=None) == local.replace(tzinfo=None):
        return local
    while (earlier := (found.astimezone(UTC) - timedelta(minutes=1)).astimezone(local.tzinfo)) and (
        earlier.utcoffset() == found.utcoffset()
    ):
        found = earlier
    return found


def recurrence(cadence: Cadence) -> Recurrence:
    """When `cadence` is due.

    Without a time of day it is midnight; weeks begin on Monday, months and years on their first day.
    Steps below a minute are scheduled every minute. Raises `CadenceError`.
    """
    zone, zone_name = _timezone(cadence.timezone)
    if cadence.cron is not None:
        cron = " ".join(cadence.cron.split())
        return Recurrence(f"cron_{_cron_name(cron)}__{zone_name}", f"`{cron}` {zone}", cron, zone)
    if cadence.every is None:
        raise CadenceError("it states neither an interval nor a cron")
    count, step = _whole(cadence.every)
    at = _time_of_day(cadence.time_of_day)
    cron, exact = _cron(step, count, at)
    every = f"every {Duration(count, step)}" if count > 1 else f"every {step}"
    with_time = step != "minute"
    return Recurrence(
        name=f"every_{count}_{_SHORT[step]}__{f'{at:%H%M}_' if with_time else ''}{zone_name}",
        label=f"{every}{f' at {at:%H:%M}' if with_time else ''} {zone}",
        cron=cron,
        timezone=zone,
        step=None if exact else step,
        count=count,
        at=at,
    )


def _cron(step: Step, count: int, at: time) -> tuple[str, bool]:
    """A cron that ticks at least when the cadence is due, and whether it ticks then only."""
    minute, hour = at.minute, at.hour
    match step:
        case "minute":
            base = gcd(count, 60)
            return f"{f'*/{base}' if base > 1 else '*'} * * * *", 60 % count == 0
        case "hour":
            if 24 % count:
                return f"{minute} * * * *", False
            first = hour % count
            return f"{minute} {f'{first}-23' if first else '*'}{f'/{count}' if count > 1 else ''} * * *", True
        case "day":
            return f"{minute} {hour} * * *", count == 1
        case "week":
            return f"{minute} {hour} * * 1", count == 1
        case "month":
            exact = 12 % count == 0
            return f"{minute} {hour} 1 {f'*/{count}' if exact and count > 1 else '*'} *", exact
        case "year":
            return f"{minute} {hour} 1 1 *", count == 1


def _whole(every: Duration) -> tuple[int, Step]:
    """A duration as a whole number of the longest step that divides it."""
    if every.count <= 0:
        raise CadenceError(f"an interval of {every} never ends")
    if every.unit in ("month", "year"):
        if float(every.count).is_integer():
            months = int(every.count) * (12 if every.unit == "year" else 1)
        else:
            exact = every.count * (12 if every.unit == "year" else 1)
            if not float(exact).is_integer():
                raise CadenceError(f"{every} is no whole number of months")
            months = int(exact)
        return (months // 12, "year") if months % 12 == 0 else (months, "month")
    if every.unit == "week" and float(every.count).is_integer():
        return int(every.count), "week"
    minutes = every.count / 60 if every.unit == "second" else every.count * _MINUTES[every.unit]
    whole = max(1, floor(minutes))
    if whole % 1440 == 0:
        return whole // 1440, "day"
    return (whole // 60, "hour") if whole % 60 == 0 else (whole, "minute")


def _time_of_day(text: str | None) -> time:
    if text is None:
        return time(0)
    found = re.fullmatch(r"(\d{1,2}):(\d{2})(:\d{2})?", text.strip())
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:
        raise CadenceError(f"'{text}' is no time of day (HH:MM)")
    return time(int(found[1]), int(found[2]))


def _timezone(text: str) -> tuple[str, str]:
    """The IANA name of a zone or offset, and its word in a schedule's name."""
    zone = text.strip() or "UTC"
    if zone.upper() in ("UTC", "Z", "GMT", "ETC/UTC", "+00:00", "-00:00"):
        return "UTC", "utc"
    offset = re.fullmatch(r"([+-])(\d{2}):(\d{2})", zone)
    if offset is None:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise CadenceError(f"there is no time zone '{zone}'") from None
        return zone, re.sub(r"[^a-z0-9]+", "_", zone.lower()).strip("_")
    sign, hours, minutes = offset.groups()
    name = f"utc_{'plus' if sign == '+' else 'minus'}_{hours}{minutes}"
    if zone in _ZONES:
        return _ZONES[zone], name
    if minutes != "00" or int(hours) > (14 if sign == "+" else 12):
        raise CadenceError(f"no time zone is at {zone} all year; name a zone")
    # The signs of these zones are the other way round, as POSIX has them.
    return f"Etc/GMT{'-' if sign == '+' else '+'}{int(hours)}", name


def _cron_name(cron: str) -> str:
    words = re.sub(r"[^A-Za-z0-9]+", "_", cron.replace("*", "x")).strip("_").lower()
    plain = re.fullmatch(r"[0-9* ]+", cron)
    return words if plain else f"{words}_{short_hash(cron)}"
