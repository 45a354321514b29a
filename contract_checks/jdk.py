"""Date patterns of Java's `DateTimeFormatter`, which ODCS uses for the `format` of dates, times and timestamps.

Patterns found in contracts are often not quite legal in Java, so the reading is tolerant where the meaning
is plain: a bare `T` is a literal, `YYYY` and `DD` beside a month mean the calendar year and day, and `Z`
accepts `Z`, `+0100` and `+01:00`. The calendar is strict: 30 February is no date (Java's SMART style would
turn it into 29).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from functools import lru_cache

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_OFFSET_Z = r"Z|[+-]\d{2}:?\d{2}(?::?\d{2})?"


@dataclass(frozen=True)
class Format:
    """A compiled pattern. `fields` names what each group of `regex` holds, in order."""

    pattern: str
    regex: re.Pattern[str]
    fields: tuple[tuple[str, int], ...]

    def parse(self, text: str) -> date | datetime | time | None:
        """What `text` says, or None where it does not follow the pattern or names no real moment."""
        match = self.regex.fullmatch(text)
        if match is None:
            return None
        found: dict[str, int] = {}
        try:
            for (name, count), part in zip(self.fields, match.groups(), strict=True):
                if part is not None:
                    found[name] = _number(name, part, count)
            return _moment(found)
        except ValueError:
            return None


@lru_cache(maxsize=512)
def compile_format(pattern: str) -> Format:
    """Compile a pattern. Raises `ValueError` with a sentence if it is not one."""
    reader = _Reader(_calendar(pattern))
    regex = reader.read()
    return Format(pattern, re.compile(regex, re.ASCII), tuple(reader.fields))


def _calendar(pattern: str) -> str:
    """The pattern with `YYYY` and `DD` as calendar year and day where a month stands beside them."""
    unquoted = re.sub(r"'[^']*'", "", pattern)
    if "M" not in unquoted:
        return pattern
    parts = re.split(r"('[^']*')", pattern)
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(r"Y+", lambda match: "y" * len(match[0]), parts[index])
        if "d" not in unquoted:
            parts[index] = re.sub(r"(?<!D)D{1,2}(?!D)", lambda match: "d" * len(match[0]), parts[index])
    return "".join(parts)


class _Reader:
    """Turns a pattern into a regular expression, from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.fields: list[tuple[str, int]] = []

    def read(self) -> str:
        out: list[str] = []
        depth = at = 0
        while at < len(self.pattern):
            letter = self.pattern[at]
            if letter == "'":
                literal, at = self._quoted(at)
                out.append(re.escape(literal))
                continue
            if letter == "[":
                depth += 1
                out.append("(?:")
            elif letter == "]":
                depth -= 1
                if depth < 0:
                    raise ValueError(f"']' without '[' in the date format {self.pattern!r}")
                out.append(")?")
            elif letter.isascii() and letter.isalpha():
                count = len(self.pattern) - at - len(self.pattern[at:].lstrip(letter))
                out.append(self._field(letter, count))
                at += count
                continue
            elif letter in "{}#":
                raise ValueError(f"{letter!r} is reserved in the date format {self.pattern!r}")
            else:
                out.append(re.escape(letter))
            at += 1
        if depth:
            raise ValueError(f"'[' without ']' in the date format {self.pattern!r}")
        if not self.fields:
            raise ValueError(f"the date format {self.pattern!r} has no field")
        return "".join(out)

    def _quoted(self, at: int) -> tuple[str, int]:
        if self.pattern[at : at + 2] == "''":
            return "'", at + 2
        end = self.pattern.find("'", at + 1)
        if end < 0:
            raise ValueError(f"a quote is not closed in the date format {self.pattern!r}")
        return self.pattern[at + 1 : end], end + 1

    def _field(self, letter: str, count: int) -> str:
        if letter == "T" and count == 1:
            return "T"
        rule = _FIELDS.get(letter)
        if rule is None:
            raise ValueError(f"unknown letter '{letter}' in the date format {self.pattern!r}")
        name, longest, regexes = rule
        if count > longest:
            raise ValueError(f"too many letters '{letter * count}' in the date format {self.pattern!r}")
        regex = regexes[min(count, len(regexes)) - 1]
        if letter == "S":
            regex = rf"\d{{{count}}}"
        self.fields.append((name, count))
        return f"({regex})"


def _names(names: tuple[str, ...], length: int | None) -> str:
    return "|".join(name[:length] for name in names)


_TWO = (r"\d{1,2}", r"\d{2}")
# Letter: what it means, how often it may stand, the text it stands for by how often it does.
_FIELDS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "y": ("year", 9, (r"\d+", r"\d{2}", r"\d{3}", r"\d{4}", r"\d{5}")),
    "u": ("year", 9, (r"-?\d+", r"\d{2}", r"\d{3}", r"\d{4}", r"\d{5}")),
    "M": ("month", 4, (*_TWO, _names(_MONTHS, 3), _names(_MONTHS, None))),
    "L": ("month", 4, (*_TWO, _names(_MONTHS, 3), _names(_MONTHS, None))),
    "d": ("day", 2, _TWO),
    "D": ("day_of_year", 3, (r"\d{1,3}", r"\d{2,3}", r"\d{3}")),
    "E": ("weekday", 4, (*(_names(_DAYS, 3),) * 3, _names(_DAYS, None))),
    "a": ("half", 1, (r"AM|PM",)),
    "H": ("hour", 2, _TWO),
    "k": ("clock_hour", 2, _TWO),
    "K": ("half_hour", 2, _TWO),
    "h": ("half_clock_hour", 2, _TWO),
    "m": ("minute", 2, _TWO),
    "s": ("second", 2, _TWO),
    "S": ("fraction", 9, (r"\d",)),
    "n": ("nano", 9, (r"\d{1,9}",)),
    "X": ("offset", 3, (r"Z|[+-]\d{2}(?:\d{2})?", r"Z|[+-]\d{4}", r"Z|[+-]\d{2}:\d{2}")),
    "x": ("offset", 3, (r"[+-]\d{2}(?:\d{2})?", r"[+-]\d{4}", r"[+-]\d{2}:\d{2}")),
    "Z": ("offset", 5, (_OFFSET_Z,)),
    "O": ("offset", 4, (r"GMT(?:[+-]\d{1,2}(?::\d{2})?)?",)),
}


def _number(name: str, text: str, count: int) -> int:
    if name == "month" and not text.isdigit():
        return [month[:3] for month in _MONTHS].index(text[:3]) + 1
    if name == "weekday":
        return [day[:3] for day in _DAYS].index(text[:3])
    if name == "half":
        return int(text == "PM")
    if name == "offset":
        return _offset(text)
    if name == "fraction":
        return int(text.ljust(6, "0")[:6])
    if name == "year" and count == 2:
        return 2000 + int(text)
    return int(text)


def _offset(text: str) -> int:
    """The offset in minutes."""
    digits = text.removeprefix("GMT").replace(":", "")
    if digits in ("Z", ""):
        return 0
    sign, digits = (-1 if digits[0] == "-" else 1), digits[1:]
    hours, minutes = int(digits[:2]), int(digits[2:4] or 0)
    if hours > 18 or minutes > 59:
        raise ValueError(text)
    return sign * (60 * hours + minutes)


def _moment(found: dict[str, int]) -> date | datetime | time:
    """The date, time or both that the fields say. Raises `ValueError` if there is no such moment."""
    day = _date(found)
    clock = _time(found)
    if day is not None and "weekday" in found and day.weekday() != found["weekday"]:
        raise ValueError("the weekday is another one")
    zone = timezone(timedelta(minutes=found["offset"])) if "offset" in found else None
    if day is None:
        if clock is None:
            raise ValueError("neither a date nor a time")
        return clock.replace(tzinfo=zone)
    return day if clock is None else datetime.combine(day, clock, zone)


def _date(found: dict[str, int]) -> date | None:
    if "year" not in found:
        if {"month", "day"} & found.keys():
            return date(2000, found.get("month", 1), found.get("day", 1))
        return None
    if "day_of_year" in found:
        start = date(found["year"], 1, 1)
        day = start + timedelta(days=found["day_of_year"] - 1)
        if found["day_of_year"] < 1 or day.year != start.year:
            raise ValueError("no such day of the year")
        return day
    return date(found["year"], found.get("month", 1), found.get("day", 1))


def _time(found: dict[str, int]) -> time | None:
    hour = found.get("hour")
    if "clock_hour" in found:
        hour = _within(found["clock_hour"], 1, 24) % 24
    if "half_hour" in found or "half_clock_hour" in found:
        half = _within(found["half_clock_hour"], 1, 12) % 12 if "half_clock_hour" in found else found["half_hour"]
        hour = _within(half, 0, 11) + 12 * found.get("half", 0)
    if hour is None:
        return None
    microsecond = found.get("fraction", found.get("nano", 0) // 1000)
    return time(hour, found.get("minute", 0), found.get("second", 0), microsecond)


def _within(value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ValueError(value)
    return value
