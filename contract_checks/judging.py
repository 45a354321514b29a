"""Measurements → CheckResults: what was measured, held against what was promised.

Comparisons are exact: decimals as decimals, percentages as fractions, ages on the calendar. A metric that
could not be measured makes its check errored, never failed and never passed.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contract_checks.checks import Check, ColumnsPresent, ExpectedColumn, NoOtherColumns, TypesMatch
from contract_checks.datatypes import category_of, field_type, has_timezone, same_native_type, satisfied_categories
from contract_checks.metrics import (
    Aggregate,
    AllOf,
    Bound,
    Condition,
    DuplicateKeys,
    HasFormat,
    HasKeys,
    Length,
    Matches,
    Measurement,
    Measurements,
    Metric,
    MultipleOf,
    NotNull,
    NotOneOf,
    OneOf,
    OrphanKeys,
    Parsed,
    Query,
    RowCount,
    Scalar,
    Size,
    Threshold,
    UniqueItems,
    UnparsedValues,
    ValueCount,
    Violations,
    field_text,
)
from contract_checks.model import AgeLimit, Duration, Thresholds, exact_duration
from contract_checks.results import CheckResult, CheckStatus, Detail
from contract_checks.sql import Relation
from contract_checks.values import plain_text


class Incomparable(Exception):
    """A measured value cannot be compared with what was expected of it."""


def judge(
    checks: Sequence[Check], measurements: Measurements, relation: Relation, now: datetime
) -> tuple[CheckResult, ...]:
    """The result of every check. `now` is the moment ages are counted from, with a time zone."""
    return tuple(_judge_one(check, measurements, relation, now) for check in checks)


def errored(check: Check, reason: str, sql: str | None = None) -> CheckResult:
    """A check that could not be evaluated, and why."""
    return CheckResult(check, "errored", f"Could not evaluate: {reason}", sql=sql)


def _judge_one(check: Check, measurements: Measurements, relation: Relation, now: datetime) -> CheckResult:
    judgement = check.judgement
    if isinstance(judgement, ColumnsPresent):
        return _columns_present(check, judgement, relation)
    if isinstance(judgement, NoOtherColumns):
        return _no_other_columns(check, judgement, relation)
    if isinstance(judgement, TypesMatch):
        return _types_match(check, judgement, measurements, relation)
    first = measurements.get(check.metrics[0])
    if check.if_present and check.column is not None and not _is_there(check, relation):
        return CheckResult(check, "skipped", f"Skipped: there is no column `{check.column}`.", answered_by="catalogue")
    for metric in check.metrics:
        measurement = measurements.get(metric)
        if measurement is None:
            return errored(check, "it was not measured")
        if measurement.error is not None:
            return errored(check, measurement.error, measurement.sql)
        if measurement.skipped is not None:
            return CheckResult(check, "skipped", f"Skipped: {measurement.skipped}.", answered_by="catalogue")
    assert first is not None
    try:
        if isinstance(judgement, AgeLimit):
            return _age(check, judgement, first, now)
        return _thresholds(check, judgement, measurements, first)
    except Incomparable as reason:
        return errored(check, str(reason), first.sql)


def _is_there(check: Check, relation: Relation) -> bool:
    metric = check.metrics[0]
    if isinstance(metric, Violations | UnparsedValues | Aggregate | ValueCount):
        return relation.has(metric.field)
    if isinstance(metric, DuplicateKeys | OrphanKeys):
        return all(relation.has(path) for path in metric.fields)
    return True


# --------------------------------------------------------------------------- thresholds


def _thresholds(check: Check, judgement: Thresholds, measurements: Measurements, first: Measurement) -> CheckResult:
    value: Scalar | Fraction = first.value
    rows = _rows_involved(check.metrics[0], first)
    base: int | None = None
    if judgement.unit == "percent":
        base = int(measurements[check.metrics[1]].value or 0)
        value = Fraction(100 * int(first.value), base) if base else Fraction(0)
    held = [holds(value, threshold) for threshold in judgement.all_of]
    notes = check.notes + tuple(note for threshold in judgement.all_of for note in _on_bound(value, threshold))
    measured: Scalar = _rounded(value) if isinstance(value, Fraction) else value
    status: CheckStatus = "passed" if all(held) else "failed"
    return CheckResult(
        check,
        status,
        f"{_sentence(check, first, measured, base)}, expected {check.expected}.",
        measured=measured,
        rows=rows,
        sql=first.sql,
        answered_by=first.answered_by,
        notes=notes,
    )


def holds(value: Scalar | Fraction, threshold: Threshold) -> bool:
    """Whether a measured value satisfies a threshold; `Between` includes both bounds (a decision).

    Raises `Incomparable` when the two are of kinds that have no order or equality.
    """
    if isinstance(threshold.value, tuple):
        low, high = (_comparable(value, bound) for bound in threshold.value)
        inside = low[0] >= low[1] and high[0] <= high[1]
        if not threshold.inclusive:
            inside = low[0] > low[1] and high[0] < high[1]
        is_nan = low[0] != low[0]
        return inside if threshold.operator == "mustBeBetween" else not inside and not is_nan
    have, want = _comparable(value, threshold.value)
    if isinstance(have, str) and not isinstance(value, str) and threshold.operator not in ("mustBe", "mustNotBe"):
        raise Incomparable(f"{value!r} and {want!r} have no order")
    match threshold.operator:
        case "mustBe":
            return bool(have == want)
        case "mustNotBe":
            return bool(have != want)
        case "mustBeGreaterThan":
            return bool(have > want)
        case "mustBeGreaterOrEqualTo":
            return bool(have >= want)
        case "mustBeLessThan":
            return bool(have < want)
        case "mustBeLessOrEqualTo":
            return bool(have <= want)
    raise Incomparable(f"unknown operator {threshold.operator}")


def _comparable(have: Any, want: Any) -> tuple[Any, Any]:
    """Both sides in one exact type."""
    if isinstance(want, bool):
        if isinstance(have, bool) or have in (0, 1):
            return bool(have), want
        raise Incomparable(f"{have!r} is neither true nor false")
    if isinstance(want, int | float | Decimal):
        return _number(have), _number(want)
    if isinstance(want, datetime | date | time) or isinstance(have, datetime | date | time):
        try:
            if isinstance(want, time) or isinstance(have, time):
                return _clock(have), _clock(want)
            return _instant(have, "UTC"), _instant(want, "UTC")
        except (ValueError, TypeError):
            raise Incomparable(f"{have!r} cannot be compared with {want!r}") from None
    if isinstance(want, str) and isinstance(have, str):
        return have, want
    if isinstance(want, str):
        try:
            return _number(have), _number(want)
        except Incomparable:
            return plain_text(have), want
    raise Incomparable(f"{have!r} cannot be compared with {want!r}")


def _number(value: Any) -> Fraction | float:
    if isinstance(value, Fraction | int):
        return Fraction(value)
    if isinstance(value, timedelta):
        return Fraction(repr(value.total_seconds()))
    try:
        decimal = Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value).strip())
        return Fraction(decimal) if decimal.is_finite() else float(decimal)
    except (InvalidOperation, ValueError):
        raise Incomparable(f"{value!r} is not a number") from None


def _on_bound(value: Any, threshold: Threshold) -> list[str]:
    if not isinstance(threshold.value, tuple):
        return []
    equal = [bound for bound in threshold.value if holds(value, Threshold("mustBe", bound))]
    side = "inside" if threshold.inclusive else "outside"
    return [f"the value equals the bound {equal[0]}; bounds count as {side}"] if equal else []


def _rounded(value: Fraction) -> float | int:
    return int(value) if value.denominator == 1 else float(f"{float(value):.6g}")


def _rows_involved(metric: Metric, measurement: Measurement) -> int | None:
    if measurement.rows is not None:
        return measurement.rows
    if isinstance(metric, Violations | OrphanKeys | UnparsedValues | DuplicateKeys):
        return int(measurement.value)
    return None


# --------------------------------------------------------------------------- sentences


def _sentence(check: Check, measurement: Measurement, measured: Scalar, base: int | None) -> str:
    """What was measured, in words, without the expectation."""
    metric = check.metrics[0]
    if isinstance(metric, Query):
        return f"The query returned {show(measured)}"
    if isinstance(metric, Aggregate):
        return f"The {metric.function} of `{field_text(metric.field)}` is {show(measured)}"
    if isinstance(metric, RowCount):
        return f"{_count(measurement.value, 'row')}"
    what = _what(metric, int(measurement.value))
    if base is None:
        return f"{show(measured)} {what}"
    return f"{show(measured)} % ({show(measurement.value)} of {show(base)}) {what}"


def _what(metric: Metric, count: int) -> str:
    s = "" if count == 1 else "s"
    if isinstance(metric, DuplicateKeys):
        return f"recurring key{s} of ({', '.join(field_text(path) for path in metric.fields)})"
    if isinstance(metric, OrphanKeys):
        return f"row{s} whose ({', '.join(field_text(path) for path in metric.fields)}) is not in {metric.target}"
    if isinstance(metric, Violations):
        return f"{_breaking(metric.condition, s)} in `{field_text(metric.field)}`"
    return f"value{s}"


def _breaking(condition: Condition, s: str) -> str:
    signs = {">=": "≥", "<=": "≤", ">": ">", "<": "<"}
    match condition:
        case NotNull():
            return f"null value{s}"
        case Bound(operator, limit):
            return f"value{s} not {signs[operator]} {show(limit)}"
        case Length(minimum, maximum):
            return f"value{s} of a length outside {_range(minimum, maximum)}"
        case Matches(pattern):
            return f"value{s} that do{'' if s else 'es'} not match `{pattern}`"
        case HasFormat(name):
            return f"value{s} that {'are' if s else 'is'} no {name}"
        case OneOf(values):
            return f"value{s} outside {_listed(values)}"
        case NotOneOf(values):
            return f"value{s} among {_listed(values)}"
        case MultipleOf(divisor):
            return f"value{s} that {'are' if s else 'is'} no multiple of {show(divisor)}"
        case Size(minimum, maximum):
            return f"value{s} of a size outside {_range(minimum, maximum)}"
        case HasKeys(names):
            return f"value{s} without {' or '.join(names)}"
        case Parsed(format, bound):
            beyond = f" {signs[bound.operator]} {show(bound.limit)}" if bound is not None else ""
            return f"value{s} that {'are' if s else 'is'} no `{format}` text{beyond}"
        case UniqueItems():
            return f"value{s} with repeated items"
        case AllOf(conditions):
            return f"value{s} that break{'' if s else 's'} one of {len(conditions)} conditions"
    return f"value{s}"


def _range(minimum: int | None, maximum: int | None) -> str:
    return f"{0 if minimum is None else minimum}…{'' if maximum is None else maximum}"


def _listed(values: Sequence[Scalar], most: int = 8) -> str:
    shown = ", ".join(
        repr(value) if isinstance(value, str) else "null" if value is None else str(value) for value in values[:most]
    )
    return f"[{shown}{', …' if len(values) > most else ''}]"


def show(value: Any) -> str:
    """A value for a sentence: `1,000`, `0.5`, `true`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Decimal):
        return f"{int(value):,}" if value == value.to_integral_value() and abs(value) < 10**15 else format(value, "f")
    if isinstance(value, float):
        return f"{value:,}".removesuffix(".0")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _all(count: int, noun: str) -> str:
    return f"The {noun} is" if count == 1 else f"All {_count(count, noun)} are"


# --------------------------------------------------------------------------- ages


def _age(check: Check, judgement: AgeLimit, measurement: Measurement, now: datetime) -> CheckResult:
    metric = check.metrics[0]
    assert isinstance(metric, Aggregate)
    field = field_text(metric.field)
    oldest = metric.function == "min"
    common = CheckResult(check, "passed", "", sql=measurement.sql, answered_by=measurement.answered_by)
    if measurement.value is None:
        status: CheckStatus = "passed" if oldest else "failed"
        return replace(common, status=status, description=f"There is no value in `{field}`, expected {check.expected}.")
    try:
        moment = _instant(measurement.value, judgement.timezone)
    except (ValueError, TypeError):
        raise Incomparable(f"{measurement.value!r} in `{field}` is not a timestamp") from None
    kept = moment >= before(now, judgement.limit, judgement.timezone)
    which = "oldest" if oldest else "newest"
    sentence = (
        f"The {which} `{field}` is {age_text(now - moment)} old ({moment.isoformat()}), expected {check.expected}."
    )
    seconds = round((now - moment).total_seconds())
    return replace(common, status="passed" if kept else "failed", description=sentence, measured=seconds)


def _instant(value: Any, zone: str) -> datetime:
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time(0))
    if not isinstance(value, datetime):
        raise TypeError(value)
    return value if value.tzinfo is not None else value.replace(tzinfo=zone_of(zone))


def _clock(value: Any) -> time:
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
        hours, _, minutes = name[1:].partition(":")
        return timezone(sign * timedelta(hours=int(hours), minutes=int(minutes or 0)))
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


# --------------------------------------------------------------------------- the schema


def _columns_present(check: Check, judgement: ColumnsPresent, relation: Relation) -> CheckResult:
    details = []
    for column in judgement.columns:
        there = relation.has(column.field)
        ok = there or column.optional
        details.append(Detail(field_text(column.field), "present", "present" if there else "missing", ok))
    missing = [one.column for one in details if not one.ok]
    sentence = (
        f"{_count(len(missing), 'column')} missing: {', '.join(missing)}; expected {check.expected}."
        if missing
        else f"{_all(len(details), 'promised column')} there."
    )
    return _schema_result(check, details, sentence, len(missing))


def _no_other_columns(check: Check, judgement: NoOtherColumns, relation: Relation) -> CheckResult:
    promised = {found.name for column in judgement.columns if (found := relation.find(column.field[0])) is not None}
    others = [column for column in relation.columns if column.name not in promised]
    details = [Detail(one.name, "not there", one.native_type or "present", False) for one in others]
    names = ", ".join(one.name for one in others)
    sentence = f"{_count(len(others), 'other column')}: {names}." if others else "There are no other columns."
    return _schema_result(check, details, sentence, len(others))


def _schema_result(check: Check, details: Sequence[Detail], sentence: str, wrong: int) -> CheckResult:
    return CheckResult(
        check,
        "failed" if wrong else "passed",
        sentence,
        measured=wrong,
        details=tuple(details),
        answered_by="catalogue",
    )


def _types_match(check: Check, judgement: TypesMatch, measurements: Measurements, relation: Relation) -> CheckResult:
    details: list[Detail] = []
    unknown: list[str] = []
    rows = 0
    scans = []
    for column in judgement.columns:
        assert column.type is not None
        if not relation.has(column.field):
            continue  # the columns check says so
        measurement = measurements.get(UnparsedValues(column.field))
        if measurement is not None and measurement.answered_by == "scan" and measurement.sql:
            scans.append(measurement.sql)
        name = field_text(column.field)
        verdict, found = _type_verdict(column, measurement, relation)
        if verdict is None:
            unknown.append(f"{name}: {found}")
        if verdict is False and measurement is not None and measurement.error is None:
            rows += int(measurement.value or 0)
        details.append(Detail(name, column.type.text, found, verdict is True))
    if not details:
        return CheckResult(check, "skipped", "Skipped: none of the columns is there.", answered_by="catalogue")
    wrong = [one for one in details if not one.ok and not any(text.startswith(f"{one.column}: ") for text in unknown)]
    common = CheckResult(
        check,
        "passed",
        f"{_all(len(details), 'column')} of the promised type.",
        measured=len(wrong),
        rows=rows if scans else None,
        details=tuple(details),
        sql=scans[0] if scans else None,
        answered_by="scan" if scans else "catalogue",
    )
    if wrong:
        listed = "; ".join(f"{one.column}: expected {one.expected}, found {one.found}" for one in wrong)
        return replace(
            common, status="failed", description=f"{_count(len(wrong), 'column')} of another type: {listed}."
        )
    if unknown:
        return replace(common, status="errored", description=f"Could not evaluate: {'; '.join(unknown)}.")
    return common


def _type_verdict(
    column: ExpectedColumn, measurement: Measurement | None, relation: Relation
) -> tuple[bool | None, str]:
    """Whether a column has its type (None: nobody can tell), and what was found."""
    declared = column.type
    assert declared is not None
    if measurement is None:
        return None, "it was not measured"
    if measurement.error is not None:
        return None, measurement.error
    unparsed = int(measurement.value or 0)
    cells = f"{_count(unparsed, 'cell')} that {'are' if unparsed != 1 else 'is'} no {declared.text}"
    if relation.encoding != "native":
        if column.field not in relation.declared:
            return None, f"nobody can tell whether text is {declared.text}"
        return (False, cells) if unparsed else (True, f"{relation.encoding.upper()} cells of this type")
    native, category = _native(column, relation)
    if relation.dialect == "sqlite" and category == "unknown" and column.field in relation.declared:
        return (False, cells) if unparsed else (True, native or "cells of this type")
    if category == "string" and column.field in relation.formats and _stored_as_text(column, native, relation):
        return (False, cells) if unparsed else (True, f"{native} of this format")
    verdict = _native_verdict(column, native, category, relation.dialect)
    if verdict is None:
        return None, f"the type {native or '?'} is not known to hold {declared.text}"
    if verdict and unparsed:
        return False, cells
    return verdict, native


def _stored_as_text(column: ExpectedColumn, native: str, relation: Relation) -> bool:
    """Whether text is where the promised dates or times may be: unless another native type is stated."""
    stated = column.type.native if column.type is not None else None
    return stated is None or same_native_type(stated, native, relation.dialect) is not False


def _native(column: ExpectedColumn, relation: Relation) -> tuple[str, str]:
    found = relation.find(column.field[0])
    assert found is not None
    if len(column.field) == 1:
        return found.native_type, found.category
    native = field_type(found.native_type, column.field[1:], relation.dialect) or ""
    return native, category_of(native, relation.dialect)


def _native_verdict(column: ExpectedColumn, native: str, category: str, dialect: str) -> bool | None:
    declared = column.type
    assert declared is not None
    by_category: bool | None = None
    if declared.categories:
        satisfied = satisfied_categories(native, category, dialect)
        if satisfied & declared.categories:
            by_category = True
        else:
            by_category = None if category == "unknown" else False
    by_native = same_native_type(declared.native, native, dialect) if declared.native else None
    zoned = declared.with_timezone
    if zoned is not None and category in ("timestamp", "time") and has_timezone(native, dialect) != zoned:
        return False
    verdicts: Iterable[bool] = [one for one in (by_category, by_native) if one is not None]
    if declared.categories and by_category is None and by_native is not True:
        return None
    return all(verdicts) if verdicts else None
