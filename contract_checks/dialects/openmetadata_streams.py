"""The service levels of a topic, which are measured from its messages.

Beside its fields every message has the moment at which the broker got it. So the latency of each message, the
rate of all, and the age of the oldest are measured, where a table would need a column for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from contract_checks.dialects.conditions import NONE_ALLOWED
from contract_checks.dialects.openmetadata_reading import Path, Reader, short
from contract_checks.dialects.times import unit_of
from contract_checks.metrics import (
    MESSAGE_TIME,
    FieldPath,
    FollowedWithin,
    Operator,
    Rate,
    RateUnit,
    Threshold,
    Violations,
)
from contract_checks.model import Column, Duration, Expectation, Thresholds, exact_duration, walk_columns

PRODUCERS_CLOCK = "the time of a message is its producer's, unless the topic has message.timestamp.type LogAppendTime"

_RATE = re.compile(
    r"(?i)\s*(?P<operator>>=|≥|>|<=|≤|<|=|at least|at most|min(?:imum)?|max(?:imum)?)?\s*"
    r"(?P<count>\d[\d,_]*(?:\.\d+)?)\s*(?P<times>[km])?\s*"
    r"(?:events?|messages?|msgs?|records?|rows?)?\s*(?:/|per\s+|a\s+)\s*(?P<unit>[a-z]+)\s*"
)
_OPERATORS: dict[str, Operator] = {
    ">": "mustBeGreaterThan",
    "<": "mustBeLessThan",
    "=": "mustBe",
    **dict.fromkeys(("<=", "≤", "at most", "max", "maximum"), "mustBeLessOrEqualTo"),
}
_TIMES = {"": 1, "k": 1000, "m": 1_000_000}


@dataclass(frozen=True)
class ReadRate:
    """`>= 500 events/minute` as what is measured and what it must be."""

    metric: Rate
    threshold: Threshold

    def __str__(self) -> str:
        return f"{self.threshold.value} messages a {self.metric.per}"


def read_rate(text: str) -> ReadRate | None:
    """A rate in words; None for what is not understood. Without an operator it is the least there must be."""
    match = _RATE.fullmatch(text)
    unit = unit_of(match["unit"]) if match else None
    units: dict[str, RateUnit] = {"second": "second", "minute": "minute", "hour": "hour", "day": "day"}
    if match is None or unit is None or unit[1] != 1 or unit[0] not in units:
        return None
    count = Decimal(match["count"].replace(",", "").replace("_", "")) * _TIMES[(match["times"] or "").lower()]
    whole = int(count) if count == count.to_integral_value() else count
    operator = _OPERATORS.get((match["operator"] or "").lower(), "mustBeGreaterOrEqualTo")
    return ReadRate(Rate(units[unit[0]]), Threshold(operator, whole))


def throughput(reader: Reader, value: Any, path: Path) -> Expectation | None:
    """How many messages there must be in a unit of time."""
    if value is None:
        return None
    rate = read_rate(value) if isinstance(value, str) else None
    if rate is None:
        reader.warn(path, f"'{short(value)}' is not understood as a rate", "write '>= 500 events/minute'")
        reader.skip(path, f"'{short(value)}' is not understood as a rate", "sla")
        return None
    requirement = Thresholds((rate.threshold,))
    text = f"Over the messages that are read, the rate is {short(value)}."
    return Expectation("throughput", rate.metric, requirement, reader.at(*path), "sla", description=text)


def latency(
    reader: Reader, limit: Duration, path: Path, column: FieldPath | None, columns: Sequence[Column]
) -> Expectation | None:
    """How long after its own time a message may reach the broker."""
    event, problem = (column, "") if column is not None else _event_time(columns)
    seconds = exact_duration(limit)
    if event is None or seconds is None:
        why = problem if event is None else "months and years have no fixed length"
        reader.skip(path, f"a latency of at most {limit} is not measured: {why}", "sla")
        return None
    name = ".".join(event)
    return Expectation(
        "maxLatency",
        Violations(event, FollowedWithin(MESSAGE_TIME, Decimal(str(seconds.total_seconds())))),
        NONE_ALLOWED,
        reader.at(*path),
        "sla",
        field=event,
        description=f"Every message reaches the broker at most {limit} after its `{name}`.",
        notes=(PRODUCERS_CLOCK,),
    )


def _event_time(columns: Sequence[Column]) -> tuple[FieldPath | None, str]:
    """The one field that can say when the event was, or why there is none."""
    found = [
        path
        for path, column in walk_columns(tuple(columns))
        if column.type is not None and column.type.text.strip().upper().startswith(("TIMESTAMP", "DATETIME"))
    ]
    if len(found) == 1:
        return found[0], ""
    if not found:
        return None, "no field is a timestamp that says when the event was"
    return None, f"it is not said which of {', '.join('.'.join(path) for path in found)} is the time of the event"
