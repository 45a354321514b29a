"""Checks of Soda → promises.

Two forms are known: SodaCL (`checks for orders:` or the bare list of checks) and the check of a Soda contract that
the pages of ODCS show (`type: duplicate_percent`, `must_be_less_than: 1.0`). As documented by Soda, a missing count
counts NULL besides the values listed, an invalid value is not missing, a duplicate is a distinct value that recurs,
and every percentage is one of all rows. Soda rounds percentages to two decimals; here they are exact.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from contract_checks.dialects.conditions import NONE_ALLOWED, find_field, whole_number
from contract_checks.dialects.engines import (
    Payload,
    Promise,
    Untranslatable,
    column_at,
    content_of,
    payload_text,
)
from contract_checks.dialects.times import duration_of
from contract_checks.metrics import (
    Aggregate,
    AllOf,
    Bound,
    Condition,
    DuplicateKeys,
    FieldPath,
    Length,
    Matches,
    Metric,
    NotNull,
    NotOneOf,
    OneOf,
    Operator,
    Query,
    RowCount,
    Scalar,
    Threshold,
    Violations,
)
from contract_checks.model import AgeLimit, Column, Dataset, Requirement, Severity, Thresholds, Unit

_SIGNS = {
    "=": "mustBe",
    "!=": "mustNotBe",
    "<>": "mustNotBe",
    ">": "mustBeGreaterThan",
    ">=": "mustBeGreaterOrEqualTo",
    "<": "mustBeLessThan",
    "<=": "mustBeLessOrEqualTo",
}
_OPPOSITES = {
    "mustBe": "mustNotBe",
    "mustNotBe": "mustBe",
    "mustBeGreaterThan": "mustBeLessOrEqualTo",
    "mustBeGreaterOrEqualTo": "mustBeLessThan",
    "mustBeLessThan": "mustBeGreaterOrEqualTo",
    "mustBeLessOrEqualTo": "mustBeGreaterThan",
    "mustBeBetween": "mustNotBeBetween",
    "mustNotBeBetween": "mustBeBetween",
}
_MUST: dict[str, Operator] = {
    "must_be": "mustBe",
    "must_not_be": "mustNotBe",
    "must_be_greater_than": "mustBeGreaterThan",
    "must_be_greater_than_or_equal_to": "mustBeGreaterOrEqualTo",
    "must_be_greater_or_equal_to": "mustBeGreaterOrEqualTo",
    "must_be_less_than": "mustBeLessThan",
    "must_be_less_than_or_equal_to": "mustBeLessOrEqualTo",
    "must_be_less_or_equal_to": "mustBeLessOrEqualTo",
    "must_be_between": "mustBeBetween",
    "must_be_not_between": "mustNotBeBetween",
    "must_not_be_between": "mustNotBeBetween",
}
_AGGREGATES: dict[str, Literal["min", "max", "avg", "sum"]] = {"min": "min", "max": "max", "avg": "avg", "sum": "sum"}
_ABOUT = ("name", "identity", "attributes", "samples limit", "samples columns", "title")
"""Keys of a check that do not change what it asks."""
_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_CHECK = re.compile(
    r"(?P<metric>[A-Za-z_][\w ]*?)\s*(?:\((?P<columns>[^()]*)\))?\s*(?P<threshold>(?:not\s+between|between|[<>=!]).*)?",
    re.DOTALL,
)


def soda(payload: Any, dataset: Dataset, column: FieldPath | None) -> Sequence[Promise | str]:
    """Translate checks of Soda; each that has no exact counterpart is a reason."""
    content = content_of(payload)
    if isinstance(content, Mapping) and "type" in content:
        return [_contract_check(content, dataset, column)]
    found: list[Promise | str] = []
    for entry in _checks(content, dataset):
        try:
            found += _check(entry, dataset, column)
        except Untranslatable as reason:
            found.append(str(reason))
    return found


# --------------------------------------------------------------------------- SodaCL


def _checks(content: Any, dataset: Dataset) -> list[Any]:
    """The entries of all `checks for` this dataset, or the bare list."""
    if isinstance(content, list | str):
        return content if isinstance(content, list) else [content]
    if not isinstance(content, Mapping) or not content:
        raise Untranslatable(f"it is neither SodaCL nor a check of a Soda contract: {payload_text(content)}")
    entries: list[Any] = []
    sections = [key for key in content if re.match(r"checks for ", str(key))]
    if not sections and len(content) == 1:
        return [content]
    for key, value in content.items():
        table = re.fullmatch(r"checks for (?P<name>\S+)", str(key).strip())
        if table is None:
            raise Untranslatable(f"'{key}' has no counterpart here: {payload_text(content)}")
        if table["name"].lower() not in (dataset.name.lower(), dataset.physical_name.lower()):
            raise Untranslatable(f"it checks '{table['name']}', not '{dataset.name}': {payload_text(content)}")
        entries += value if isinstance(value, list) else [value]
    return entries


def _check(entry: Any, dataset: Dataset, column: FieldPath | None) -> list[Promise]:
    """One entry of a list of checks: a sentence, or a sentence with settings below it."""
    text = payload_text(entry)
    settings: Mapping[str, Any] = {}
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((sentence, settings),) = entry.items()
        settings = {} if settings is None else settings
    else:
        sentence = entry
    if not isinstance(sentence, str) or not isinstance(settings, Mapping):
        raise Untranslatable(f"it is no check of SodaCL: {text}")
    parts = Payload(settings, dataset.columns, text, column)
    for key in _ABOUT:
        parts.take(key)
    sentence = sentence.strip()
    if sentence == "failed rows":
        return _failed_rows(parts)
    match = _CHECK.fullmatch(sentence)
    if match is None:
        raise parts.no("the sentence is not understood")
    alerts = _alerts(match["threshold"], parts)
    promises = []
    for severity, threshold in alerts:
        # Each alert reads the same settings.
        own = Payload(parts.parts, dataset.columns, text, column)
        promises.append(_promise(match, threshold, severity, own))
        own.nothing_left()
    return promises


def _alerts(threshold: str | None, parts: Payload) -> list[tuple[Severity | None, tuple[Threshold, ...] | str]]:
    """The thresholds of a check: the one behind its sentence, or those of its `fail` and `warn`."""
    fail, warn = parts.take("fail"), parts.take("warn")
    if threshold is not None:
        if fail is not None or warn is not None:
            raise parts.no("it has a threshold and alerts")
        return [(None, threshold)]
    found: list[tuple[Severity | None, tuple[Threshold, ...] | str]] = []
    alerts: tuple[tuple[Severity, Any], ...] = (("error", fail), ("warning", warn))
    for severity, condition in alerts:
        if condition is None:
            continue
        when = re.fullmatch(r"\s*when\s+(.*)", condition) if isinstance(condition, str) else None
        if when is None:
            raise parts.no("an alert says 'when' and a threshold")
        found.append((severity, (_opposite(_threshold(when[1], parts)),)))
    if not found:
        raise parts.no("nothing says what its number must be")
    return found


def _opposite(threshold: Threshold) -> Threshold:
    operator = _OPPOSITES[threshold.operator]
    return Threshold(operator, threshold.value)  # type: ignore[arg-type]


def _threshold(text: str, parts: Payload) -> Threshold:
    """`> 5`, `between 1 and 9`, `< 5 %`: bounds of `between` count as inside unless they are in parentheses."""
    text = text.strip().removesuffix("%").strip()
    between = re.fullmatch(rf"(not\s+)?between\s+({_NUMBER})\s*%?\s+and\s+({_NUMBER})", text)
    if between:
        operator = "mustNotBeBetween" if between[1] else "mustBeBetween"
        return Threshold(operator, (_number(between[2]), _number(between[3])))  # type: ignore[arg-type]
    simple = re.fullmatch(rf"(<=|>=|<>|!=|=|<|>)\s*({_NUMBER})", text)
    if not simple:
        raise parts.no(f"the threshold '{text}' is not understood")
    return Threshold(_SIGNS[simple[1]], _number(simple[2]))  # type: ignore[arg-type]


def _number(text: str) -> int | Decimal:
    number = Decimal(text)
    whole = whole_number(number)
    return number if whole is None else whole


def _promise(
    match: re.Match[str], threshold: tuple[Threshold, ...] | str, severity: Severity | None, parts: Payload
) -> Promise:
    name = match["metric"].strip()
    columns = [one.strip() for one in (match["columns"] or "").split(",") if one.strip()]
    fields = [find_field(one.strip("\"'`"), parts.columns)[0] for one in columns]
    if name == "freshness":
        return _freshness(fields, threshold, severity, parts)
    limits = (_threshold(threshold, parts),) if isinstance(threshold, str) else threshold
    asked = _own_metric(name, parts)
    if asked is not None:
        return Promise(asked, Thresholds(limits), name, None, severity=severity)
    metric, field, unit = _metric(name, fields, parts)
    return Promise(metric, _requirement(metric, limits, unit), name, field, severity=severity)


def _own_metric(name: str, parts: Payload) -> Query | None:
    """A metric that the check defines itself, as an expression or a query."""
    expression, query = parts.take(f"{name} expression"), parts.take(f"{name} query")
    if isinstance(expression, str) and query is None:
        return Query(f"SELECT {expression} FROM {{object}}")  # noqa: S608 - it is proven to be one SELECT before it is run
    return Query(query) if isinstance(query, str) and expression is None else None


def _freshness(
    fields: Sequence[FieldPath], threshold: tuple[Threshold, ...] | str, severity: Severity | None, parts: Payload
) -> Promise:
    match = re.fullmatch(r"<=?\s*(\S+)", threshold.strip()) if isinstance(threshold, str) else None
    limit = duration_of(match[1]) if match else None
    if limit is None or len(fields) != 1:
        raise parts.no("freshness is of one column, and less than one duration such as '1d'")
    return Promise(Aggregate("max", fields[0]), AgeLimit(limit), "freshness", fields[0], severity=severity)


def _failed_rows(parts: Payload) -> list[Promise]:
    """`failed rows` with a condition that no row may meet, or a query that may give no row."""
    condition, query = parts.take("fail condition"), parts.take("fail query")
    parts.nothing_left()
    if isinstance(condition, str) and query is None:
        sql = f"SELECT COUNT(*) FROM {{object}} WHERE ({condition})"  # noqa: S608 - proven to be one SELECT
    elif isinstance(query, str) and condition is None:
        sql = f"SELECT COUNT(*) FROM ({query.strip().rstrip(';')}) AS failed_rows"  # noqa: S608 - proven to be one SELECT
    else:
        raise parts.no("'failed rows' has one 'fail condition' or one 'fail query'")
    return [Promise(Query(sql), NONE_ALLOWED, "failed rows")]


# --------------------------------------------------------------------------- checks of a Soda contract


def _contract_check(content: Mapping[str, Any], dataset: Dataset, column: FieldPath | None) -> Promise:
    """`type`, `column` or `columns`, and `must_be_…`."""
    parts = Payload(content, dataset.columns, payload_text(content), column)
    kind = str(parts.take("type"))
    for key in _ABOUT:
        parts.take(key)
    names = parts.take("columns")
    single = parts.take("column")
    if names is not None and single is not None:
        raise parts.no("it has both 'column' and 'columns'")
    names = names if names is not None else [] if single is None else [single]
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise parts.no("'columns' is no list of names")
    fields = [find_field(name, dataset.columns)[0] for name in names]
    limits = parts.thresholds(_MUST)
    none = re.fullmatch(r"no_(missing|invalid|duplicate)_values", kind)
    metric, field, unit = _metric(f"{none[1]}_count" if none else kind, fields, parts)
    if none and not limits:
        limits = (Threshold("mustBe", 0),)
    parts.nothing_left()
    if not limits:
        raise parts.no("nothing says what its number must be")
    return Promise(metric, _requirement(metric, limits, unit), kind, field)


# --------------------------------------------------------------------------- metrics


def _requirement(metric: Metric, limits: tuple[Threshold, ...], unit: Unit) -> Requirement:
    return Thresholds(limits, unit, RowCount() if unit == "percent" else None)


def _metric(name: str, fields: Sequence[FieldPath], parts: Payload) -> tuple[Metric, FieldPath | None, Unit]:
    """A metric of Soda, with its settings taken from `parts`."""
    kind, _, measure = name.rpartition("_")
    unit: Unit = "percent" if measure == "percent" else "rows"
    if not fields and parts.default is not None and name != "row_count":
        fields = [parts.default]
    if name == "row_count" and not fields:
        return RowCount(), None, "rows"
    if measure in ("count", "percent") and kind == "duplicate" and fields:
        return DuplicateKeys(tuple(fields)), fields[0] if len(fields) == 1 else None, unit
    if len(fields) == 1:
        field = fields[0]
        if name in _AGGREGATES:
            return Aggregate(_AGGREGATES[name], field), field, "rows"
        if measure in ("count", "percent") and kind == "missing":
            return Violations(field, _missing(parts, field)), field, unit
        if measure in ("count", "percent") and kind == "invalid":
            return Violations(field, _valid(parts, field)), field, unit
    raise parts.no(f"the check '{name}' has no counterpart here")


def _listed(key: str, parts: Payload, column: Column | None) -> tuple[Scalar, ...] | None:
    values = parts.take(key)
    if values is None:
        values = parts.take(key.replace(" ", "_"))
    if values is None:
        return None
    if not isinstance(values, list) or not values:
        raise parts.no(f"'{key}' is no list of values")
    return tuple(parts.typed(value, column) for value in values)


def _missing(parts: Payload, field: FieldPath) -> Condition:
    """NULL is always missing; values that are listed are missing besides."""
    values = _listed("missing values", parts, column_at(field, parts.columns))
    return NotNull() if values is None else NotOneOf((*values, None))


def _valid(parts: Payload, field: FieldPath) -> Condition:
    column = column_at(field, parts.columns)
    found: list[Condition] = []
    values = _listed("valid values", parts, column)
    if values is not None:
        found.append(OneOf(tuple(value for value in values if value is not None)))
    pattern = _taken(parts, "valid regex")
    if isinstance(pattern, str):
        # A database's own language of patterns; only what all of them read alike is the same here.
        if not re.fullmatch(r"[\w \-^$.|?*+()\[\]{},:;@/#%&=!<>~]*", pattern) or re.search(r"\(\?|[*+?}]\+", pattern):
            raise parts.no("the regular expression may mean something else in another language of patterns")
        found.append(Matches(pattern))
    low, high = parts.typed(_taken(parts, "valid min"), column), parts.typed(_taken(parts, "valid max"), column)
    found += [Bound(">=", low)] if low is not None else []
    found += [Bound("<=", high)] if high is not None else []
    exact, least, most = (_whole(parts, f"valid {key}") for key in ("length", "min length", "max length"))
    found += [Length(exact, exact)] if exact is not None else []
    found += [Length(least, most)] if (least, most) != (None, None) else []
    if not found:
        raise parts.no("it does not say which values are valid in a way that is read here")
    return found[0] if len(found) == 1 else AllOf(tuple(found))


def _taken(parts: Payload, key: str) -> Any:
    value = parts.take(key)
    return parts.take(key.replace(" ", "_")) if value is None else value


def _whole(parts: Payload, key: str) -> int | None:
    value = _taken(parts, key)
    if value is None:
        return None
    number = whole_number(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None
    if number is None:
        raise parts.no(f"'{key}' is no whole number")
    return number
