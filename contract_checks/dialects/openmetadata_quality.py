"""The quality section of OpenMetadata's proposal → expectations.

Two forms: `expectations` with conditions, and a list of rules of type sql, library or custom. What is
written for another engine is translated where that is exact, else it is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from contract_checks.dialects.conditions import (
    NONE_ALLOWED,
    UNDERSTOOD,
    ReadCondition,
    UnreadableConditionError,
    find_field,
    read_condition,
    typed_literal,
)
from contract_checks.dialects.document import parse_document
from contract_checks.dialects.engine_great_expectations import translate_great_expectation
from contract_checks.dialects.engine_registry import find_engine
from contract_checks.dialects.engines import (
    Engine,
    Promise,
    Untranslatable,
    engine_name,
    translate,
)
from contract_checks.dialects.openmetadata_engines import translate_native
from contract_checks.dialects.openmetadata_reading import (
    Flag,
    Path,
    Reader,
    Shape,
    Text,
    kind_of,
    read_references,
    short,
)
from contract_checks.errors import ContractError
from contract_checks.metrics import (
    OPERATORS,
    AllOf,
    Bound,
    DuplicateKeys,
    FieldPath,
    NotNull,
    Query,
    Registered,
    RowCount,
    Scalar,
    Threshold,
    Violations,
)
from contract_checks.model import Column, Dataset, Expectation, Severity, Thresholds


class QualitySection(Shape):
    """`quality` as a mapping."""

    tests: Any = None
    expectations: Any = None


class ConditionRule(Shape):
    """An item of `quality.expectations`."""

    name: Text | None = None
    description: Text = ""
    field: Text | None = None
    condition: Text | None = None
    expression: Text | None = None
    engine: Text | None = None
    raise_incident: Flag | None = None


class QualityRule(Shape):
    """An item of `quality` as a list."""

    name: Text | None = None
    description: Text = ""
    type: Text = ""
    engine: Text | None = None
    implementation: Any = None
    rule: Text | None = None
    field: Text | None = None
    range: Any = None
    query: Text | None = None
    raise_incident: Flag | None = None
    must_be: Any = None
    must_not_be: Any = None
    must_be_greater_than: Any = None
    must_be_greater_or_equal_to: Any = None
    must_be_less_than: Any = None
    must_be_less_or_equal_to: Any = None
    must_be_between: Any = None
    must_not_be_between: Any = None


def read_quality(reader: Reader, value: Any, path: Path, columns: Sequence[Column]) -> tuple[Expectation, ...]:
    """Read `quality` in either form."""
    if value is None:
        return ()
    if isinstance(value, list):
        return tuple(_rules(reader, value, path, columns))
    section = reader.shape(QualitySection, value, path)
    if section is None:
        return ()
    for index, reference in enumerate(read_references(reader, section.tests, (*path, "tests"))):
        reason = f"the test case '{reference.label}' lives in OpenMetadata; the contract only refers to it"
        reader.skip((*path, "tests", index), reason)
    expectations = []
    for item, where in reader.mappings(section.expectations, (*path, "expectations"), "expectations"):
        expectation = _expectation(reader, item, where, columns)
        if expectation is not None:
            expectations.append(expectation)
    return tuple(expectations)


def severity_of(raise_incident: bool | None) -> Severity:
    """A promise whose breach raises no incident is not critical: it warns."""
    return "warning" if raise_incident is False else "error"


# --------------------------------------------------------------------------- expectations with conditions


def _expectation(reader: Reader, item: dict[str, Any], path: Path, columns: Sequence[Column]) -> Expectation | None:
    rule = reader.shape(ConditionRule, item, path)
    if rule is None:
        return None
    if not rule.name:
        reader.error(path, "'name' is missing", "results are told apart by it")
    if rule.condition is None and rule.expression is None:
        reader.error(path, "'condition' is missing", UNDERSTOOD)
        return None
    key = "condition" if rule.condition is not None else "expression"
    text = rule.condition if rule.condition is not None else rule.expression or ""
    if rule.condition is not None and rule.expression is not None:
        reader.document_value((*path, "expression"), rule.expression, rule.name or "Expression")
    try:
        read = read_condition(text, rule.field, columns)
        if key == "expression" and read.field is not None and find_field(".".join(read.field), columns)[1] is None:
            raise UnreadableConditionError(f"'{read.field[0]}' is not among the contract's columns")
    except UnreadableConditionError as error:
        of_rule = f" of '{rule.name}'" if rule.name else ""
        reason = f"the {key} '{short(text)}'{of_rule} is not understood: {error}. Understood: {UNDERSTOOD}"
        reader.skip((*path, key), reason)
        return None
    if rule.field is not None and read.field is None:
        reader.warn((*path, "field"), "the number of rows belongs to no field", "leave 'field' out")
    if read.field is not None and columns and find_field(".".join(read.field), columns)[1] is None:
        reader.warn((*path, "field"), f"'{'.'.join(read.field)}' is not among the contract's columns")
    return _made(reader, read, path, rule.name, rule.description, rule.raise_incident, rule.engine)


def _made(
    reader: Reader,
    read: ReadCondition,
    path: Path,
    name: str | None,
    description: str,
    incident: bool | None,
    engine: str | None,
) -> Expectation:
    foreign = engine is not None and engine.lower() != "openmetadata"
    return Expectation(
        rule=read.rule,
        metric=read.metric,
        requirement=read.requirement,
        location=reader.at(*path),
        section="quality",
        severity=severity_of(incident),
        field=read.field,
        name=name,
        description=description,
        if_present=read.if_present,
        incident=incident,
        notes=(f"written for the engine {engine}",) if foreign else (),
    )


# --------------------------------------------------------------------------- rules


def _rules(reader: Reader, value: list[Any], path: Path, columns: Sequence[Column]) -> list[Expectation]:
    found = []
    for item, where in reader.mappings(value, path, "quality rules"):
        rule = reader.shape(QualityRule, item, where)
        if rule is None:
            continue
        if not rule.name:
            reader.error(where, "'name' is missing", "results are told apart by it")
        thresholds = read_thresholds(reader, item, where)
        try:
            read = _translated(reader, rule, where, columns, thresholds)
        except Untranslatable as reason:
            title = f"the rule '{rule.name}'" if rule.name else "the rule"
            reader.skip(where, f"{title} cannot be evaluated: {reason}")
            continue
        if read is not None:
            made = _made(reader, read, where, rule.name, rule.description, rule.raise_incident, None)
            foreign = rule.engine is not None and rule.engine.lower() != "openmetadata"
            found.append(replace(made, notes=(f"translated from {rule.engine}",)) if foreign else made)
    return found


def _translated(
    reader: Reader, rule: QualityRule, path: Path, columns: Sequence[Column], thresholds: tuple[Threshold, ...]
) -> ReadCondition | None:
    kind = rule.type.lower()
    _report_unused(reader, rule, path, kind)
    if kind == "sql":
        return _sql(reader, rule, path, columns, thresholds)
    if kind == "library":
        return _library(reader, rule, path, columns, thresholds)
    if kind == "text":
        reader.document_value((*path, "description"), rule.description, rule.name or "Rule")
        return None
    if kind == "custom":
        return _custom(reader, rule, path, columns, thresholds)
    if not kind:
        reader.error(path, "'type' is missing", "one of sql, library, custom, text")
    else:
        reader.error((*path, "type"), f"'{rule.type}' is no type of rule", "one of sql, library, custom, text")
    return None


_USED = {
    "sql": ("field", "query"),
    "library": ("field", "rule", "range"),
    "custom": ("engine", "implementation"),
    "text": (),
}


def _report_unused(reader: Reader, rule: QualityRule, path: Path, kind: str) -> None:
    """Keys that belong to another type of rule: they would be lost without a word."""
    for key in ("field", "query", "rule", "range", "engine", "implementation"):
        if kind in _USED and key not in _USED[kind] and getattr(rule, key) is not None:
            if key == "engine" and (rule.engine or "").lower() == "openmetadata":
                continue
            message = f"'{key}' means nothing in a rule of type {kind}"
            reader.warn((*path, key), message)
            reader.skip((*path, key), message)


def _sql(
    reader: Reader, rule: QualityRule, path: Path, columns: Sequence[Column], thresholds: tuple[Threshold, ...]
) -> ReadCondition | None:
    if not rule.query or not rule.query.strip():
        reader.error(path, "'query' is missing")
        return None
    if not thresholds:
        raise Untranslatable(f"nothing says what the query's result must be; write one of {', '.join(OPERATORS)}")
    column = find_field(rule.field, columns)[0] if rule.field else None
    return ReadCondition("sql", Query(rule.query.strip(), column), Thresholds(thresholds), column)


def _library(
    reader: Reader, rule: QualityRule, path: Path, columns: Sequence[Column], thresholds: tuple[Threshold, ...]
) -> ReadCondition | None:
    if not rule.rule:
        reader.error(path, "'rule' is missing", "value_range is known")
        return None
    field, column = find_field(rule.field, columns) if rule.field else (None, None)
    if rule.rule == "rowCount":
        return ReadCondition(rule.rule, RowCount(), _required(thresholds), None)
    if rule.rule not in ("value_range", "nullValues", "duplicateValues"):
        raise Untranslatable(f"the library rule '{rule.rule}' is not known")
    if field is None:
        reader.error(path, "'field' is missing", f"'{rule.rule}' is about one column")
        return None
    if rule.rule == "value_range" and thresholds:
        raise Untranslatable("a value_range with an operator beside it has no single meaning")
    if rule.rule == "nullValues":
        return ReadCondition(rule.rule, Violations(field, NotNull()), _required(thresholds), field)
    if rule.rule == "duplicateValues":
        return ReadCondition(rule.rule, DuplicateKeys((field,)), _required(thresholds), field)
    return _value_range(reader, rule, path, field, column)


def _value_range(
    reader: Reader, rule: QualityRule, path: Path, field: FieldPath, column: Column | None
) -> ReadCondition | None:
    where = (*path, "range")
    if not isinstance(rule.range, list) or len(rule.range) != 2 or rule.range == [None, None]:
        reader.error(
            where if rule.range is not None else path, "'range' must be a list of the lowest and the highest value"
        )
        return None
    try:
        low, high = (typed_literal(_scalar(limit), column) for limit in rule.range)
    except UnreadableConditionError as error:
        reader.error(where, f"the range does not fit: {error}")
        return None
    bounds = [Bound(">=", low)] if low is not None else []
    bounds += [Bound("<=", high)] if high is not None else []
    return ReadCondition(rule.rule or "", Violations(field, AllOf(tuple(bounds))), NONE_ALLOWED, field)


def _custom(
    reader: Reader, rule: QualityRule, path: Path, columns: Sequence[Column], thresholds: tuple[Threshold, ...]
) -> ReadCondition | None:
    if rule.implementation is None:
        reader.error(path, "'implementation' is missing")
        return None
    engine = engine_name(rule.engine or "")
    payload = short(rule.implementation)
    translator = find_engine(engine, reader.engines)
    if translator is None and engine == "custom" and not thresholds:
        registered = read_registered(rule.implementation)
        if registered is not None:
            return registered
    if translator is None and engine != "openmetadata":
        name = f"the engine '{rule.engine}'" if rule.engine else "no engine"
        raise Untranslatable(f"written for {name}, which is not run here: {payload}")
    if thresholds:
        raise Untranslatable(f"a custom rule with an operator beside it has no single meaning: {payload}")
    if translator is not None and engine != "greatexpectations":
        return _by_engine(translator, rule.implementation, columns, reader, path)
    content = rule.implementation
    if isinstance(content, str):
        try:
            content = parse_document(content, reader.document.file).data
        except ContractError as error:
            raise Untranslatable(f"its implementation is not valid YAML: {error.problems[0].message}") from error
    if not isinstance(content, dict):
        raise Untranslatable(f"its implementation is {kind_of(content)}, not a mapping: {payload}")
    translate = translate_native if engine == "openmetadata" else translate_great_expectation
    return translate(content, columns, payload)


def _by_engine(engine: Engine, payload: Any, columns: Sequence[Column], reader: Reader, path: Path) -> ReadCondition:
    """What a translator makes of a payload; more than one promise has no place in one rule of this dialect."""
    dataset = Dataset("", "", (), reader.at(*path), columns=tuple(columns))
    made = translate(engine, payload, dataset, None)
    if len(made) == 1 and isinstance(made[0], Promise) and isinstance(made[0].requirement, Thresholds):
        return ReadCondition(made[0].rule, made[0].metric, made[0].requirement, made[0].field)
    reasons = "; ".join(one for one in made if isinstance(one, str))
    raise Untranslatable(reasons or f"its payload is not one promise about numbers: {short(payload)}")


_REGISTERED = re.compile(
    r"\s*(?P<name>[A-Za-z][\w-]*)\s*(?P<operator>>=|<=|==|!=|=|>|<|≥|≤)\s*(?P<limit>-?\d+(?:\.\d+)?)"
    r"(?:\s+(?:on|for|over)\s+(?P<subject>\S.*?))?\s*"
)
_SIGNS: dict[str, Any] = {
    **dict.fromkeys((">=", "≥"), "mustBeGreaterOrEqualTo"),
    **dict.fromkeys(("<=", "≤"), "mustBeLessOrEqualTo"),
    **dict.fromkeys(("=", "=="), "mustBe"),
    "!=": "mustNotBe",
    ">": "mustBeGreaterThan",
    "<": "mustBeLessThan",
}


def read_registered(payload: Any) -> ReadCondition | None:
    """`AUC >= 0.80 on validation dataset`: what the function that is registered as `AUC` must return."""
    match = _REGISTERED.fullmatch(payload) if isinstance(payload, str) else None
    if match is None:
        return None
    limit = Decimal(match["limit"])
    whole = int(limit) if limit == limit.to_integral_value() else limit
    threshold = Threshold(_SIGNS[match["operator"]], whole)
    metric = Registered(match["name"], match["subject"] or "")
    return ReadCondition(match["name"], metric, Thresholds((threshold,)), None)


def _required(thresholds: tuple[Threshold, ...]) -> Thresholds:
    if not thresholds:
        raise Untranslatable(f"nothing says what its number must be; write one of {', '.join(OPERATORS)}")
    return Thresholds(thresholds)


def read_thresholds(reader: Reader, item: dict[str, Any], path: Path) -> tuple[Threshold, ...]:
    """Every `mustBe…` of a rule; one that does not fit is an error."""
    found = []
    for operator in OPERATORS:
        value = item.get(operator)
        if value is None:
            continue
        if operator.endswith("Between"):
            if not isinstance(value, list) or len(value) != 2 or not all(_is_number(one) for one in value):
                reader.error((*path, operator), f"'{operator}' must be a list of two numbers")
                continue
            found.append(Threshold(operator, (value[0], value[1])))
        elif isinstance(value, list | dict) or (operator not in ("mustBe", "mustNotBe") and not _is_number(value)):
            reader.error((*path, operator), f"'{operator}' must be a number, not {kind_of(value)}")
        else:
            found.append(Threshold(operator, value))
    return tuple(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _scalar(value: Any) -> Scalar:
    if isinstance(value, list | dict):
        raise UnreadableConditionError(f"a single value is expected, not {kind_of(value)}")
    scalar: Scalar = value
    return scalar
