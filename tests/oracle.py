"""What an ODCS contract says about a few rows, worked out in plain Python from the definitions.

It knows only the rules that the property tests generate and shares no code with the package.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
import regress

Row = Mapping[str, Any]
Key = tuple[str, str | None]


@dataclass(frozen=True)
class Verdict:
    """What a check must come to."""

    measured: float
    passed: bool
    rows: int | None = None


def assert_holds(report: Any, table: Mapping[str, Any], rows: Sequence[Row]) -> None:
    """Assert that every verdict and number of a report is that of the definitions, and that nothing is left out."""
    found = {((one.check.id or one.check.rule), one.check.column): one for one in report.results}
    for key, expected in verdicts(table, rows).items():
        one = found[key]
        assert one.status == ("passed" if expected.passed else "failed"), key
        assert float(one.measured) == pytest.approx(expected.measured), key
        if expected.rows is not None and expected.measured:
            assert one.rows == expected.rows, key
    assert [one.check.name for one in report.results if one.status not in ("passed", "failed")] == []


def verdicts(table: Mapping[str, Any], rows: Sequence[Row]) -> dict[Key, Verdict]:
    """The verdict on every rule of a table, by (rule or id, column)."""
    found: dict[Key, Verdict] = {}
    for column in table["properties"]:
        name = column["name"]
        values = [row[name] for row in rows]
        present = [value for value in values if value is not None]
        if column.get("required"):
            found["required", name] = _none(len(values) - len(present))
        if column.get("unique"):
            found["unique", name] = _duplicates([(value,) for value in values])
        options = column.get("logicalTypeOptions", {})
        for option, limit in options.items():
            # NaN keeps no bound; where there are bounds on both sides it counts for the upper ones.
            upper = "maximum" in options or "exclusiveMaximum" in options
            leaves = upper and option in ("minimum", "exclusiveMinimum")
            counted = [value for value in present if not (leaves and value != value)]
            found[option, name] = _none(sum(_breaks(option, limit, value) for value in counted))
        for rule in column.get("quality", ()):
            found[rule["id"], name] = _judged(rule, _counted(rule, values), len(rows))
    for rule in table.get("quality", ()):
        if rule["metric"] == "rowCount":
            found[rule["id"], None] = _judged(rule, len(rows), len(rows))
        else:
            keys = [tuple(row[name] for name in rule["arguments"]["properties"]) for row in rows]
            found[rule["id"], None] = _judged(rule, int(_duplicates(keys).measured), len(rows))
    return found


def _none(count: int) -> Verdict:
    return Verdict(count, count == 0)


def _same(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _duplicates(keys: Sequence[tuple[Any, ...]]) -> Verdict:
    counts = Counter(tuple(map(_same, key)) for key in keys if None not in key)
    recurring = [count for count in counts.values() if count > 1]
    return Verdict(len(recurring), not recurring, sum(recurring))


def _breaks(option: str, limit: Any, value: Any) -> bool:
    if option == "pattern":
        return regress.Regex(limit).find(value) is None
    if option == "minLength":
        return len(value) < limit
    if option == "maxLength":
        return len(value) > limit
    if isinstance(value, float) and math.isnan(value):
        return True
    bound = _in_type_of(value, limit)
    return {
        "minimum": value < bound,
        "maximum": value > bound,
        "exclusiveMinimum": value <= bound,
        "exclusiveMaximum": value >= bound,
    }[option]


def _in_type_of(value: Any, limit: Any) -> Any:
    if isinstance(value, datetime):
        return datetime.fromisoformat(limit).astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date):
        return date.fromisoformat(limit)
    if isinstance(value, float):
        return float(limit)
    return Decimal(str(limit))


def _counted(rule: Mapping[str, Any], values: Sequence[Any]) -> int:
    arguments = rule.get("arguments", {})
    present = [value for value in values if value is not None]
    if rule["metric"] == "nullValues":
        return len(values) - len(present)
    if rule["metric"] == "duplicateValues":
        return int(_duplicates([(value,) for value in values]).measured)
    if rule["metric"] == "missingValues":
        return sum(_among(value, arguments.get("missingValues", [None])) for value in values)
    bad = 0
    for value in present:
        listed = "validValues" not in arguments or _among(value, arguments["validValues"])
        matching = "pattern" not in arguments or regress.Regex(arguments["pattern"]).find(value) is not None
        bad += not (listed and matching)
    return bad


def _among(value: Any, listed: Sequence[Any]) -> bool:
    if value is None:
        return None in listed
    if isinstance(value, bool | str):
        return value in [one for one in listed if type(one) is type(value)]
    if isinstance(value, date):
        return value.isoformat() in listed
    return value in [_in_type_of(value, one) for one in listed if one is not None]


def _judged(rule: Mapping[str, Any], count: int, rows: int) -> Verdict:
    measured = count
    if rule.get("unit") == "percent":
        measured = 100 * count / rows if rows else 0
    limits = {key: value for key, value in rule.items() if key.startswith("must")}
    tests = {
        "mustBe": lambda limit: measured == limit,
        "mustNotBe": lambda limit: measured != limit,
        "mustBeGreaterThan": lambda limit: measured > limit,
        "mustBeGreaterOrEqualTo": lambda limit: measured >= limit,
        "mustBeLessThan": lambda limit: measured < limit,
        "mustBeLessOrEqualTo": lambda limit: measured <= limit,
        "mustBeBetween": lambda limit: limit[0] <= measured <= limit[1],
        "mustNotBeBetween": lambda limit: not limit[0] <= measured <= limit[1],
    }
    return Verdict(measured, all(tests[operator](limit) for operator, limit in limits.items()))
