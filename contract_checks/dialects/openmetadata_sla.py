"""The service levels of both OpenMetadata dialects → a cadence, freshness checks, and what is not checked.

Semantics of the checks: OpenMetadata's `ContractSlaValidator` (2.1), as far as a column says when data
was refreshed. Limits are inclusive, months and years are counted on the calendar.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from contract_checks.dialects import openmetadata_streams as streams
from contract_checks.dialects.conditions import find_field
from contract_checks.dialects.inputs import time_zone
from contract_checks.dialects.openmetadata_reading import Flag, Path, Reader, Shape, Text, kind_of, short
from contract_checks.dialects.times import duration_of, unit_of
from contract_checks.metrics import MESSAGE_TIME, Aggregate, FieldPath
from contract_checks.model import AgeLimit, Cadence, Column, Duration, Expectation

DEFAULT_TIMEZONE = "GMT+00:00 (Europe/London)"
"""The time zone of an OpenMetadata contract that names none (contractSLA of its JSON Schema)."""

_SMALLER: dict[str, tuple[int, Literal["day", "hour", "minute", "second"]]] = {
    "week": (7, "day"),
    "day": (24, "hour"),
    "hour": (60, "minute"),
    "minute": (60, "second"),
}
_NO_ZONES = frozenset(
    ("Atlantic/Newfoundland", "Asia/Iran", "Asia/Afghanistan", "Asia/Nepal", "Asia/Myanmar",
     "Australia/Australian_Central_Western_Standard_Time")
)  # fmt: skip


class Sla(Shape):
    """`sla` of OpenMetadata (contractSLA). Values may be of the wrong kind; the reader says so."""

    refresh_frequency: Any = None
    max_latency: Any = None
    availability_time: Any = None
    timezone: Text | None = None
    retention: Any = None
    column_name: Text | None = None
    inherited: Flag | None = None


class ProposedSla(Sla):
    """`sla` of the proposal, which also promises in words."""

    data_retention: Any = None
    throughput: Any = None
    availability: Any = None
    prediction_latency: Any = None
    retraining_frequency: Any = None
    producers: Any = None
    consumers: Any = None


_ONLY_A_MONITOR_KNOWS = {
    "throughput": "throughput is measured from the messages of a topic, and this is none",
    "availability": "availability is known to a monitor of the service, not to its data",
    "prediction_latency": "how long a prediction takes is known to the service that predicts, not to its data",
    "retraining_frequency": "when a model was trained is known to the pipeline that trains it, not to its data",
}


@dataclass(frozen=True)
class ReadSla:
    """What the service levels come down to."""

    cadence: Cadence | None = None
    expectations: tuple[Expectation, ...] = ()


def read_sla(
    reader: Reader, value: Any, path: Path, columns: Sequence[Column], model: type[Sla], topic: bool = False
) -> ReadSla:
    """Read `sla`; what cannot be measured is reported as not checked.

    That of a `topic` is measured from its messages.
    """
    if value is None:
        return ReadSla()
    sla = reader.shape(model, value, path, "sla")
    if sla is None:
        return ReadSla()
    every = _duration(reader, sla.refresh_frequency, (*path, "refreshFrequency"), "interval")
    time_of_day, own_zone = _time_of_day(reader, sla.availability_time, (*path, "availabilityTime"))
    timezone = _timezone(reader, sla, (*path, "timezone"), own_zone, model is Sla)
    cadence = None
    if every is not None or time_of_day is not None:
        # A time of day without an interval is a daily deadline.
        cadence = Cadence(every or Duration(1, "day"), None, time_of_day, timezone)
    column = named = _column(reader, sla, path, columns)
    if topic:
        column = named or MESSAGE_TIME
    expectations = [
        _refreshed(reader, every, (*path, "refreshFrequency"), column, timezone),
        _latency(reader, sla, path, named, timezone, columns if topic else None),
        *_retentions(reader, sla, path, MESSAGE_TIME if topic else column, timezone),
        _available(reader, every or Duration(1, "day"), time_of_day, (*path, "availabilityTime"), column, timezone),
    ]
    if isinstance(sla, ProposedSla):
        if topic:
            expectations.append(streams.throughput(reader, sla.throughput, (*path, "throughput")))
        _words_only(reader, sla, path, {"throughput"} if topic else set())
    return ReadSla(cadence, tuple(one for one in expectations if one is not None))


def whole(duration: Duration) -> Duration:
    """The same duration in a smaller unit, if its count has a fraction that the smaller unit has not."""
    count, unit = Fraction(str(duration.count)), duration.unit
    while count.denominator != 1 and unit in _SMALLER:
        times, unit = _SMALLER[unit]
        count *= times
    return Duration(int(count), unit) if count.denominator == 1 else duration


def read_timezone(label: str) -> str | None:
    """An IANA name, an offset, or OpenMetadata's `GMT+01:00 (Europe/Paris)` as `Europe/Paris` or `+01:00`.

    A label means its region where that is a real zone, so that daylight saving applies, else its offset.
    """
    match = re.fullmatch(r"(?:GMT|UTC)\s*([+-]\d{1,2}:\d{2})(?:\s*\((.+)\))?", label.strip())
    if match is None:
        name = label.strip()
        if re.fullmatch(r"[+-]\d{2}:\d{2}", name):
            return name
        return {"GMT": "UTC", "Z": "UTC"}.get(name.upper()) or (name if time_zone(name) is not None else None)
    region = (match.group(2) or "").strip().replace(" ", "_")
    if region and region not in _NO_ZONES and time_zone(region) is not None:
        return region
    offset = match.group(1)
    return offset if len(offset) == 6 else f"{offset[0]}0{offset[1:]}"


def _duration(reader: Reader, value: Any, path: Path, count_key: str) -> Duration | None:
    """A duration as `{interval|value|period, unit}` or as a text."""
    if value is None:
        return None
    if isinstance(value, str):
        duration = duration_of(value)
        if duration is None:
            reader.warn(path, f"'{value}' is not understood as a duration", "write a count and a unit: '7 days'")
            reader.skip(path, f"'{value}' is not understood as a duration", "sla")
            return None
        return whole(duration)
    if not isinstance(value, dict):
        reader.error(path, f"a mapping with '{count_key}' and 'unit' is expected here, not {kind_of(value)}")
        return None
    for key in value:
        if key not in (count_key, "unit"):
            reader.unknown((*path, key), (count_key, "unit"), "sla")
    missing = [key for key in (count_key, "unit") if value.get(key) is None]
    for key in missing:
        reader.error(path, f"'{key}' is missing")
    if missing:
        return None
    count, unit = value[count_key], value["unit"]
    if isinstance(count, bool) or not isinstance(count, int | Decimal) or count <= 0:
        reader.error((*path, count_key), f"'{count_key}' must be a number above 0, not {short(count)!r}")
        return None
    if not isinstance(unit, str) or unit_of(unit) is None:
        reader.error(
            (*path, "unit"), f"'{short(unit)}' is no unit of time", "one of minute, hour, day, week, month, year"
        )
        return None
    duration = duration_of(str(count), unit)
    if duration is None:
        reader.error(path, f"{count} {unit} is no duration a calendar can count")
        return None
    return whole(duration)


def _time_of_day(reader: Reader, value: Any, path: Path) -> tuple[str | None, str | None]:
    """`09:00 UTC` as `09:00` and its zone."""
    if value is None:
        return None, None
    match = re.fullmatch(r"(\d{1,2}):(\d{2})(?::\d{2})?\s*(\S.*)?", str(value).strip())
    zone = read_timezone(match.group(3)) if match and match.group(3) else None
    if match is None or int(match.group(1)) > 23 or int(match.group(2)) > 59 or (match.group(3) and zone is None):
        reader.warn(path, f"'{short(value)}' is not understood as a time of day", "write HH:MM, as in '09:00 UTC'")
        reader.skip(path, f"'{short(value)}' is not understood as a time of day", "sla")
        return None, None
    return f"{int(match.group(1)):02}:{match.group(2)}", zone


def _timezone(reader: Reader, sla: Sla, path: Path, own_zone: str | None, shipped: bool) -> str:
    """The zone named, else the one after the time of day, else the dialect's default."""
    if sla.timezone is not None:
        zone = read_timezone(sla.timezone)
        if zone is not None:
            return zone
        reader.error(
            path, f"'{sla.timezone}' is no time zone", f"write an IANA name or a label such as '{DEFAULT_TIMEZONE}'"
        )
    default = read_timezone(DEFAULT_TIMEZONE) if shipped else None
    return own_zone or default or "UTC"


def _column(reader: Reader, sla: Sla, path: Path, columns: Sequence[Column]) -> FieldPath | None:
    if not sla.column_name:
        return None
    field, column = find_field(sla.column_name, columns)
    if column is None and columns:
        reader.warn((*path, "columnName"), f"'{sla.column_name}' is not among the contract's columns")
    return field


def _refreshed(
    reader: Reader, every: Duration | None, path: Path, column: FieldPath | None, timezone: str
) -> Expectation | None:
    if every is None:
        return None
    if column is None:
        reason = "whether the data was refreshed is not measured without 'columnName'; the checks run on this schedule"
        reader.skip(path, reason, "sla")
        return None
    text = f"The newest data is at most {every} old."
    return _age(reader, path, "refreshFrequency", "max", column, AgeLimit(every, timezone), text)


def _latency(
    reader: Reader,
    sla: Sla,
    path: Path,
    column: FieldPath | None,
    timezone: str,
    of_messages: Sequence[Column] | None,
) -> Expectation | None:
    where = (*path, "maxLatency")
    limit = _duration(reader, sla.max_latency, where, "value")
    if limit is None:
        return None
    if of_messages is not None:
        return streams.latency(reader, limit, where, column, of_messages)
    if column is None:
        reader.skip(where, f"a latency of at most {limit} is not measured without 'columnName'", "sla")
        return None
    text = f"The newest data is at most {limit} late."
    return _age(reader, where, "maxLatency", "max", column, AgeLimit(limit, timezone), text)


def _available(
    reader: Reader, every: Duration, by: str | None, path: Path, column: FieldPath | None, timezone: str
) -> Expectation | None:
    if by is None:
        return None
    if column is None:
        reader.skip(
            path,
            f"whether the data is there by {by} is not measured without 'columnName'; the checks are scheduled for "
            "that time",
            "sla",
        )
        return None
    text = f"The data is there by {by}."
    return _age(reader, path, "availabilityTime", "max", column, AgeLimit(every, timezone, by), text)


def _retentions(
    reader: Reader, sla: Sla, path: Path, column: FieldPath | None, timezone: str
) -> list[Expectation | None]:
    found: list[Expectation | None] = []
    stated = {"retention": sla.retention, "dataRetention": getattr(sla, "data_retention", None)}
    for key, value in stated.items():
        where = (*path, key)
        limit = _duration(reader, value, where, "period")
        if limit is None:
            continue
        if column is None:
            reader.skip(where, f"a retention of {limit} is not measured without 'columnName'", "sla")
            continue
        text = f"The oldest data is at most {limit} old."
        found.append(_age(reader, where, "retention", "min", column, AgeLimit(limit, timezone), text))
    return found


def _age(
    reader: Reader,
    path: Path,
    rule: str,
    function: Literal["min", "max"],
    column: FieldPath,
    limit: AgeLimit,
    text: str,
) -> Expectation:
    return Expectation(
        rule, Aggregate(function, column), limit, reader.at(*path), "sla", field=column, description=text
    )


def _words_only(reader: Reader, sla: ProposedSla, path: Path, measured: set[str]) -> None:
    keys = {"prediction_latency": "predictionLatency", "retraining_frequency": "retrainingFrequency"}
    for name, reason in _ONLY_A_MONITOR_KNOWS.items():
        value = getattr(sla, name)
        if value is not None and name not in measured:
            reader.skip((*path, keys.get(name, name)), f"{reason}: {short(value)}", "sla")
    for key in ("producers", "consumers"):
        value = getattr(sla, key)
        if value is None:
            continue
        parties = value if isinstance(value, list) else [value]
        text = "; ".join(_party(party) for party in parties)
        reader.document_value((*path, key), text)


def _party(value: Any) -> str:
    if not isinstance(value, dict):
        return short(value)
    kind = f" ({short(value['type'])})" if value.get("type") else ""
    text = f": {short(value['description'], 300)}" if value.get("description") else ""
    rest = {key: item for key, item in value.items() if key not in ("name", "type", "description")}
    return f"{short(value.get('name'))}{kind}{text}{f' {short(rest)}' if rest else ''}"
