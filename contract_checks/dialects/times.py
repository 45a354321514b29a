"""How contracts write time: durations, clock times, dates and crons.

Each function returns None for what it cannot read.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Literal

from contract_checks.model import Duration

DurationUnit = Literal["second", "minute", "hour", "day", "week", "month", "year"]

_UNITS: dict[str, tuple[DurationUnit, float]] = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("second", 0.001)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("second", 1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), ("minute", 1)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("hour", 1)),
    **dict.fromkeys(("d", "day", "days"), ("day", 1)),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), ("week", 1)),
    **dict.fromkeys(("mo", "mon", "mth", "month", "months"), ("month", 1)),
    **dict.fromkeys(("q", "quarter", "quarters"), ("month", 3)),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years"), ("year", 1)),
}

_WORDS: dict[str, Duration] = {
    "hourly": Duration(1, "hour"),
    "daily": Duration(1, "day"),
    "nightly": Duration(1, "day"),
    "weekly": Duration(1, "week"),
    "biweekly": Duration(2, "week"),
    "fortnightly": Duration(2, "week"),
    "monthly": Duration(1, "month"),
    "quarterly": Duration(3, "month"),
    "yearly": Duration(1, "year"),
    "annually": Duration(1, "year"),
}

_ISO = re.compile(
    r"(?i)P(?:([\d.]+)Y)?(?:([\d.]+)M)?(?:([\d.]+)W)?(?:([\d.]+)D)?(?:T(?:([\d.]+)H)?(?:([\d.]+)M)?(?:([\d.]+)S)?)?"
)
_ISO_UNITS: tuple[DurationUnit, ...] = ("year", "month", "week", "day", "hour", "minute", "second")


def unit_of(word: str) -> tuple[DurationUnit, float] | None:
    """A unit of time and how many of it `word` means: `quarters` are 3 months each. `m` is minutes."""
    return _UNITS.get(word.strip().lower())


def duration_of(text: str, unit: str | None = None) -> Duration | None:
    """`4` with unit `d`, `4 hours`, `500ms`, `P1Y`, `PT4H30M` or `daily` as a duration, which is positive."""
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    iso = _ISO.fullmatch(text)
    if iso:
        return _iso_duration(iso)
    match = re.fullmatch(r"(?i)(?:every\s+)?(\d+(?:\.\d+)?|\.\d+)?\s*([a-z]+)?", text)
    if not match or not (match[1] or match[2]):
        return None
    found = unit_of(match[2] or unit or "")
    if found is None or (match[2] and unit and unit_of(unit) not in (None, found)):
        return None
    return _duration(float(match[1] or 1) * found[1], found[0])


def _iso_duration(match: re.Match[str]) -> Duration | None:
    parts = [(amount, unit) for amount, unit in zip(match.groups(), _ISO_UNITS, strict=True) if amount]
    if any(amount.count(".") > 1 or amount == "." for amount, _ in parts):
        return None
    if len(parts) == 1:
        return _duration(float(parts[0][0]), parts[0][1])
    if not parts:
        return None
    # A sum keeps its meaning in one unit only where the units have a fixed length.
    if {unit for _, unit in parts} <= {"year", "month"}:
        return _duration(sum(float(amount) * (12 if unit == "year" else 1) for amount, unit in parts), "month")
    seconds = {"week": 604800, "day": 86400, "hour": 3600, "minute": 60, "second": 1}
    if any(unit not in seconds for _, unit in parts):
        return None
    total = sum(float(amount) * seconds[unit] for amount, unit in parts)
    whole: tuple[DurationUnit, ...] = ("day", "hour", "minute")
    for unit in whole:
        if total % seconds[unit] == 0:
            return _duration(total / seconds[unit], unit)
    return _duration(total, "second")


def _duration(count: float, unit: DurationUnit) -> Duration | None:
    """A duration that time arithmetic can hold; months and years have no fractions on a calendar."""
    if unit == "year" and not count.is_integer():
        count, unit = count * 12, "month"
    if unit == "month" and not count.is_integer():
        return None
    return Duration(count, unit) if 0 < count < 1_000_000_000 else None


def clock_of(text: str) -> tuple[str, str | None] | None:
    """`09:00-08:00` as `("09:00", "-08:00")`: a time of day and its offset, if it states one."""
    match = re.fullmatch(
        r"T?(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2}|[+-]\d{2})?", text.strip()
    )
    if not match or int(match[1]) > 23 or int(match[2]) > 59:
        return None
    offset = match[3]
    if offset in ("Z", "UTC"):
        zone: str | None = "UTC"
    elif offset:
        digits = offset[1:].replace(":", "").ljust(4, "0")
        if int(digits[:2]) > 14 or int(digits[2:]) > 59:
            return None
        zone = f"{offset[0]}{digits[:2]}:{digits[2:]}"
    else:
        zone = None
    return f"{int(match[1]):02d}:{match[2]}", zone


def date_of(text: str) -> date | None:
    """An ISO 8601 date, also one that is written as midnight."""
    text = text.strip()
    try:
        return date.fromisoformat(text)
    except ValueError:
        moment = datetime_of(text)
        return moment.date() if moment and moment.time() == time(0) else None


def datetime_of(text: str) -> datetime | None:
    """An ISO 8601 date and time, with or without an offset; a bare date is midnight."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def time_of(text: str) -> time | None:
    """An ISO 8601 time of day."""
    text = text.strip()
    try:
        return time.fromisoformat(text) if ":" in text else None
    except ValueError:
        return None


# --------------------------------------------------------------------------- cron

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


# The last day of a month; the last or the n-th of a weekday in a month.
_CRON_LAST = re.compile(r"l|l[0-7]|([0-7]|sun|mon|tue|wed|thu|fri|sat)#[1-5]")


def looks_like_cron(text: str) -> bool:
    """Whether `text` was meant as a cron expression."""
    return text.strip().lower() in _MACROS or (
        len(re.findall(r"\S+", text)) in (5, 6) and bool(re.search(r"[*\d]", text))
    )


def cron_of(text: str) -> tuple[str, str]:
    """`text` as a five-field cron expression and "", or "" and what is wrong with it.

    A sixth, leading field of seconds is dropped when it is 0; `?` of other schedulers is `*`.
    """
    words = _MACROS.get(text.strip().lower(), text).replace("?", "*").split()
    if len(words) == 6 and words[0] in ("0", "00"):
        words = words[1:]
    if len(words) != 5:
        return "", f"'{text}' has {len(words)} fields; a cron expression has 5: minute, hour, day, month, weekday"
    for word, (name, low, high, names) in zip(words, _FIELDS, strict=True):
        for part in word.lower().split(","):
            if not _cron_part(part, low, high, names):
                return "", f"'{part}' in '{text}' is no {name}; it goes from {low} to {high}"
    return " ".join(words), ""


def _cron_part(part: str, low: int, high: int, names: tuple[str, ...]) -> bool:
    if _CRON_LAST.fullmatch(part) and (high == 31 if part == "l" else high == 7):
        return True
    span, slash, step = part.partition("/")
    if slash and not (step.isascii() and step.isdigit() and 0 < int(step) <= high):
        return False
    if span == "*":
        return True
    numbers = []
    for end in span.split("-"):
        if end in names:
            numbers.append(names.index(end) + low)
        elif end.isascii() and end.isdigit():
            numbers.append(int(end))
        else:
            return False
    return len(numbers) <= 2 and numbers == sorted(numbers) and all(low <= number <= high for number in numbers)
