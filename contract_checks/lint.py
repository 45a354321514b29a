"""Contract → Problems: what is wrong with a contract, told without looking at data."""

from __future__ import annotations

from collections.abc import Iterator

import regress

from contract_checks import jsonlogic
from contract_checks.errors import Problem
from contract_checks.jsonlogic import JsonLogicError
from contract_checks.metrics import AllOf, Bound, Condition, Length, Matches, Metric, NotOneOf, OneOf, Size, Violations
from contract_checks.model import Contract, Dataset, Expectation, SemanticRule, Thresholds, walk_columns

_LOWER, _UPPER = (">=", ">"), ("<=", "<")


def lint(contract: Contract) -> tuple[Problem, ...]:
    """Every problem of a contract that needs no data: those its reader noted, and promises that cannot be kept.

    A promise that no value could ever meet is a warning: the contract can be used, its check will fail.
    """
    found = list(contract.problems)
    for dataset in contract.datasets:
        found += _empty_schema(dataset)
        for expectation in dataset.expectations:
            found += _conditions_that_fail(expectation)
            found += _thresholds_that_fail(expectation)
        for rule in dataset.semantic_rules:
            found += _rules_that_mislead(rule)
        found += _contradictions(dataset)
    return tuple(sorted(dict.fromkeys(found), key=lambda problem: problem.location.line))


def _warn(expectation: Expectation, message: str, hint: str = "") -> Problem:
    return Problem(message, expectation.location, "warning", hint)


def _empty_schema(dataset: Dataset) -> Iterator[Problem]:
    if not (dataset.columns or dataset.expectations or dataset.semantic_rules or dataset.not_checked):
        message = f"'{dataset.name}' promises nothing: it has neither columns nor rules"
        yield Problem(message, dataset.location, "warning")
    stored = [column for _, column in walk_columns(dataset.columns) if not column.virtual]
    if dataset.columns and not stored:
        yield Problem(f"'{dataset.name}' has no column that is stored", dataset.location, "warning")


# --------------------------------------------------------------------------- single promises


def _conditions_that_fail(expectation: Expectation) -> Iterator[Problem]:
    for condition in _conditions(expectation.metric):
        if isinstance(condition, Matches):
            try:
                regress.Regex(condition.pattern)
            except regress.RegressError as error:
                message = f"the pattern '{condition.pattern}' is no ECMA-262 regular expression: {error}"
                yield _warn(expectation, message, "its check cannot be evaluated")
        elif isinstance(condition, OneOf) and not condition.values:
            yield _warn(expectation, "the list of valid values is empty, so no value is valid")
        elif isinstance(condition, NotOneOf) and not condition.values:
            yield _warn(expectation, "the list of missing values is empty, so no value counts as missing")
        elif isinstance(condition, Length | Size) and _reversed(condition.minimum, condition.maximum):
            yield _warn(expectation, f"the minimum {condition.minimum} is above the maximum {condition.maximum}")


def _thresholds_that_fail(expectation: Expectation) -> Iterator[Problem]:
    requirement = expectation.requirement
    if not isinstance(requirement, Thresholds) or requirement.unit != "percent":
        return
    for threshold in requirement.all_of:
        values = threshold.value if isinstance(threshold.value, tuple) else (threshold.value,)
        for value in values:
            if isinstance(value, int | float) and not isinstance(value, bool) and not 0 <= value <= 100:
                yield _warn(expectation, f"{value} percent is outside of 0 to 100")


def _conditions(metric: Metric) -> Iterator[Condition]:
    if isinstance(metric, Violations):
        yield from _flat(metric.condition)


def _flat(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, AllOf):
        for inner in condition.conditions:
            yield from _flat(inner)
    else:
        yield condition


def _reversed(low: int | None, high: int | None) -> bool:
    return low is not None and high is not None and low > high


# --------------------------------------------------------------------------- rules about metadata


def _rules_that_mislead(rule: SemanticRule) -> Iterator[Problem]:
    """What a rule in JSON Logic says that its author hardly meant."""
    if rule.unusable or not rule.enabled:
        return
    try:
        found = jsonlogic.diagnose(rule.rule)
    except JsonLogicError as error:
        yield Problem(f"the rule '{rule.name}' cannot be evaluated: {error}", rule.location, "warning")
        return
    for diagnosis in found:
        yield Problem(f"the rule '{rule.name}': {diagnosis.message}", rule.location, "warning", diagnosis.hint)


# --------------------------------------------------------------------------- promises that exclude each other


def _contradictions(dataset: Dataset) -> Iterator[Problem]:
    """Bounds of one column of which no value can meet both."""
    by_field: dict[object, list[tuple[Expectation, Condition]]] = {}
    for expectation in dataset.expectations:
        if expectation.section == "schema" and isinstance(expectation.metric, Violations):
            for condition in _conditions(expectation.metric):
                by_field.setdefault(expectation.metric.field, []).append((expectation, condition))
    for found in by_field.values():
        for index, (expectation, condition) in enumerate(found):
            for _, other in found[:index]:
                message = _excludes(condition, other)
                if message:
                    yield _warn(expectation, message)


def _excludes(one: Condition, other: Condition) -> str:
    if isinstance(one, Bound) and isinstance(other, Bound):
        lower, upper = (one, other) if one.operator in _LOWER else (other, one)
        if lower.operator in _LOWER and upper.operator in _UPPER and _empty_range(lower, upper):
            return f"no value is {lower.operator} {lower.limit} and {upper.operator} {upper.limit}"
    if isinstance(one, Length | Size) and isinstance(other, Length | Size) and type(one) is type(other):
        lows = [part.minimum for part in (one, other) if part.minimum is not None]
        highs = [part.maximum for part in (one, other) if part.maximum is not None]
        if lows and highs and max(lows) > min(highs):
            return f"the minimum {max(lows)} is above the maximum {min(highs)}"
    return ""


def _empty_range(lower: Bound, upper: Bound) -> bool:
    try:
        if lower.limit > upper.limit:  # type: ignore[operator]
            return True
    except TypeError:  # values of two types, or times of which only one has a zone
        return False
    return lower.limit == upper.limit and (lower.operator == ">" or upper.operator == "<")
