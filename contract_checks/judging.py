"""Measurements → CheckResults: what was measured, held against what was promised.

Comparisons are exact: decimals as decimals, percentages as fractions, ages on the calendar. A metric that
could not be measured makes its check errored, never failed and never passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from contract_checks.ages import age_text as age_text
from contract_checks.ages import before as before
from contract_checks.ages import clock, instant
from contract_checks.ages import period as period
from contract_checks.ages import zone_of as zone_of
from contract_checks.checks import (
    Check,
    ColumnsPresent,
    NoOtherColumns,
    SemanticJudgement,
    SignatureMatches,
    TypesMatch,
)
from contract_checks.comparisons import differences
from contract_checks.metrics import (
    Aggregate,
    AllOf,
    Before,
    Bound,
    ColumnCount,
    ColumnNames,
    Condition,
    DuplicateKeys,
    FarFrom,
    FollowedWithin,
    HasFormat,
    HasKeys,
    Length,
    Matches,
    Measurement,
    Measurements,
    Metric,
    MultipleOf,
    NotFuture,
    NotNull,
    NotOneOf,
    OneOf,
    OrphanKeys,
    OtherColumns,
    OtherRows,
    Parsed,
    Query,
    Rate,
    Registered,
    RowCount,
    Scalar,
    Size,
    Threshold,
    Undecodable,
    UniqueItems,
    UnparsedValues,
    ValueCount,
    Violations,
    field_text,
)
from contract_checks.model import AgeLimit, DateLimit, Thresholds
from contract_checks.results import CheckResult, CheckStatus
from contract_checks.shapes import columns_present, no_other_columns, types_match, with_shapeless
from contract_checks.signatures import judge_signature
from contract_checks.sql import Relation
from contract_checks.values import plain_text
from contract_checks.wording import BOUND_SIGNS, count_text


class Incomparable(Exception):
    """A measured value cannot be compared with what was expected of it."""


def judge(
    checks: Sequence[Check], measurements: Measurements, relation: Relation, now: datetime
) -> tuple[CheckResult, ...]:
    """The result of every check. `now` is the moment ages are counted from, with a time zone."""
    results = (_judge_one(check, measurements, relation, now) for check in checks)
    return tuple(replace(one, notes=(*one.notes, *relation.notes)) if relation.notes else one for one in results)


def errored(check: Check, reason: str, sql: str | None = None) -> CheckResult:
    """A check that could not be evaluated, and why."""
    return CheckResult(check, "errored", f"Could not evaluate: {reason}", sql=sql)


def _judge_one(check: Check, measurements: Measurements, relation: Relation, now: datetime) -> CheckResult:
    judgement = check.judgement
    if isinstance(judgement, ColumnsPresent):
        return with_shapeless(columns_present(check, judgement, relation), measurements)
    if isinstance(judgement, NoOtherColumns):
        return with_shapeless(no_other_columns(check, judgement, relation), measurements)
    if isinstance(judgement, TypesMatch):
        return with_shapeless(types_match(check, judgement, measurements, relation), measurements)
    if isinstance(judgement, SignatureMatches):
        return judge_signature(check, judgement, measurements.get(check.metrics[0]))
    if isinstance(judgement, SemanticJudgement):
        return errored(check, "no metadata of the asset is at hand")
    if isinstance(judgement, DateLimit):
        return _day(check, judgement, now)
    if not check.metrics:
        return errored(check, "nothing of the data answers it")
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
    if judgement.needs is not None and measurements[judgement.needs].value is None:
        raise Incomparable(f"there is no value in `{check.column}`")
    if value is None and isinstance(check.metrics[0], Aggregate):
        raise Incomparable(f"there is no value in `{field_text(check.metrics[0].field)}`")
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
        answered_by=_tier(check, measurements, first),
        notes=notes,
    )


def _tier(check: Check, measurements: Measurements, first: Measurement) -> str:
    """What answered a check of several numbers: a scan, if any of them needed one."""
    scanned = any(one in measurements and measurements[one].answered_by == "scan" for one in check.metrics)
    return "scan" if scanned and first.answered_by != "query" else first.answered_by


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
    if isinstance(want, str) and want.lower() in ("true", "false") and have in (0, 1):
        want = want.lower() == "true"  # SQLite answers with 0 and 1
    if isinstance(want, bool):
        if isinstance(have, bool) or have in (0, 1):
            return bool(have), want
        raise Incomparable(f"{have!r} is neither true nor false")
    if isinstance(want, int | float | Decimal):
        return _number(have), _number(want)
    if isinstance(want, datetime | date | time) or isinstance(have, datetime | date | time):
        try:
            if isinstance(want, time) or isinstance(have, time):
                return clock(have), clock(want)
            return instant(have, "UTC"), instant(want, "UTC")
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
    return int(value) if value.denominator == 1 else float(f"{float(value):.12g}")


def _rows_involved(metric: Metric, measurement: Measurement) -> int | None:
    if measurement.rows is not None:
        return measurement.rows
    if isinstance(metric, Violations | OrphanKeys | UnparsedValues | DuplicateKeys | Undecodable):
        return int(measurement.value)
    return None


# --------------------------------------------------------------------------- sentences


def _sentence(check: Check, measurement: Measurement, measured: Scalar, base: int | None) -> str:
    """What was measured, in words, without the expectation."""
    metric = check.metrics[0]
    if isinstance(metric, Query):
        return (
            f"The query returned {count_text(measurement.value, 'row') if metric.result == 'rows' else show(measured)}"
        )
    if isinstance(metric, Aggregate):
        return f"The {metric.function} of `{field_text(metric.field)}` is {show(measured)}"
    if isinstance(metric, Registered):
        return f"{metric.name}{f' on {metric.subject}' if metric.subject else ''} is {show(measured)}"
    if isinstance(metric, Rate):
        return f"{count_text(measurement.rows or 0, 'message')} came at {show(measured)} a {metric.per}"
    if isinstance(metric, RowCount):
        return f"{count_text(measurement.value, 'row')}"
    what = _what(metric, int(measurement.value))
    if isinstance(metric, ColumnNames | OtherColumns) and measurement.offenders:
        what += f" ({differences(measurement.offenders)})"
    if base is None:
        return f"{show(measured)} {what}"
    percent = show(float(f"{measured:.6g}"))
    return f"{percent} % ({show(measurement.value)} of {show(base)}) {what}"


def _what(metric: Metric, count: int) -> str:
    s = "" if count == 1 else "s"
    if isinstance(metric, Undecodable):
        return f"message{s} that {'do' if s else 'does'} not decode"
    if isinstance(metric, ColumnCount):
        return f"column{s}" + (f" named '{metric.name}'" if metric.name is not None else "")
    if isinstance(metric, ColumnNames):
        return f"column{s} that differ{'' if s else 's'} from the list"
    if isinstance(metric, FarFrom):
        return f"row{s} more than {show(metric.radius)} m from the place named in `{field_text(metric.field)}`"
    if isinstance(metric, OtherColumns):
        return f"column{s} unlike those of {metric.target}"
    if isinstance(metric, OtherRows):
        return f"row{s} in only one of the table and {metric.target}"
    if isinstance(metric, DuplicateKeys) and metric.of == "rows":
        return f"row{s} with a recurring key of ({', '.join(field_text(path) for path in metric.fields)})"
    if isinstance(metric, DuplicateKeys):
        return f"recurring key{s} of ({', '.join(field_text(path) for path in metric.fields)})"
    if isinstance(metric, OrphanKeys):
        return f"row{s} whose ({', '.join(field_text(path) for path in metric.fields)}) is not in {metric.target}"
    if isinstance(metric, Violations):
        return f"{_breaking(metric.condition, s)} in `{field_text(metric.field)}`"
    return f"value{s}"


def _breaking(condition: Condition, s: str) -> str:
    match condition:
        case NotNull():
            return f"null value{s}"
        case Bound(operator, limit):
            return f"value{s} not {BOUND_SIGNS[operator]} {show(limit)}"
        case Length(minimum, maximum):
            return f"value{s} of a length outside {_range(minimum, maximum)}"
        case Matches(pattern, absent):
            verb = f"match{'' if s else 'es'}" if absent else f"do{'' if s else 'es'} not match"
            return f"value{s} that {verb} `{pattern}`"
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
            beyond = f" {BOUND_SIGNS[bound.operator]} {show(bound.limit)}" if bound is not None else ""
            return f"value{s} that {'are' if s else 'is'} no `{format}` text{beyond}"
        case NotFuture(_, at):
            return f"value{s} after {show(at)}"
        case Before(_, _, at):
            return f"value{s} from {show(at)} on"
        case FollowedWithin(field, seconds):
            return f"value{s} more than {show(seconds)} s before `{field_text(field)}`"
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
        moment = instant(measurement.value, judgement.timezone)
    except (ValueError, TypeError):
        raise Incomparable(f"{measurement.value!r} in `{field}` is not a timestamp") from None
    if judgement.by is not None:
        return _deadline(common, judgement, judgement.by, moment, now)
    kept = moment >= before(now, judgement.limit, judgement.timezone)
    which = "oldest" if oldest else "newest"
    sentence = (
        f"The {which} `{field}` is {age_text(now - moment)} old ({moment.isoformat()}), expected {check.expected}."
    )
    seconds = round((now - moment).total_seconds())
    return replace(common, status="passed" if kept else "failed", description=sentence, measured=seconds)


def _day(check: Check, judgement: DateLimit, now: datetime) -> CheckResult:
    """What the moment of the check says of a day that the contract names."""
    moment = judgement.moment if judgement.moment.tzinfo is not None else judgement.moment.replace(tzinfo=UTC)
    reached = now >= moment
    distance = f"{age_text(now - moment)} ago" if reached else f"in {age_text(moment - now)}"
    sentence = f"{moment.isoformat()} {'was' if reached else 'is'} {distance}, expected {check.expected}."
    status: CheckStatus = "failed" if reached else "passed"
    if judgement.not_before:
        status, sentence = ("passed", sentence) if reached else ("skipped", f"Skipped: {sentence}")
    return CheckResult(check, status, sentence, answered_by="catalogue")


def _deadline(common: CheckResult, judgement: AgeLimit, by: str, newest: datetime, now: datetime) -> CheckResult:
    """Whether the data of the last deadline is there now, also if it came late."""
    deadline, since = period(judgement, by, now)
    field = field_text(common.check.metrics[0].field) if isinstance(common.check.metrics[0], Aggregate) else "data"
    sentence = (
        f"The newest `{field}` is {newest.isoformat()}; by {deadline:%Y-%m-%d %H:%M %Z} it had to be from "
        f"{since.astimezone(deadline.tzinfo):%Y-%m-%d %H:%M} on."
    )
    seconds = round((now - newest).total_seconds())
    kept = newest.astimezone(UTC) >= since.astimezone(UTC)
    return replace(common, status="passed" if kept else "failed", description=sentence, measured=seconds)
