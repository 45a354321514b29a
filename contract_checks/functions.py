"""What no statement of a source answers: users' functions, the signatures of models, and what time it is.

Functions are registered by whoever writes the definitions, under a name. A contract can only say a name: it
can never make code be imported or run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any, TypeAlias

from contract_checks.ages import before
from contract_checks.checks import Check
from contract_checks.dialects.mlflow import UnreadableSignatureError, read_signature
from contract_checks.metrics import (
    AllOf,
    Before,
    Condition,
    Measurement,
    Metric,
    ModelSignature,
    NotFuture,
    Registered,
    Violations,
)
from contract_checks.model import Dataset, Duration


@dataclass(frozen=True)
class MetricRequest:
    """What a registered function is asked for.

    `name` is the one it is registered under, `subject` what the contract wants it measured on (`validation
    dataset`). `dataset` is what was promised of the data, `table` its name in SQL, and `query` runs a SELECT in
    the same snapshot as all other checks.
    """

    name: str
    subject: str
    dataset: Dataset
    table: str
    query: Callable[[str], list[tuple[Any, ...]]]


MetricFunction: TypeAlias = Callable[[MetricRequest], "int | float | Decimal"]
"""Measures one number. Whatever it raises makes the check errored."""

MetricFunctions: TypeAlias = Mapping[str, MetricFunction]
"""Functions by the name of what they measure."""

NO_FUNCTIONS: MetricFunctions = {}


def at_moment(check: Check, now: datetime) -> Check:
    """The check with the moment of the run in every condition that asks for it."""
    metrics = tuple(_metric_at(metric, now) for metric in check.metrics)
    return check if metrics == check.metrics else replace(check, metrics=metrics)


def _metric_at(metric: Metric, now: datetime) -> Metric:
    if isinstance(metric, Violations):
        return replace(metric, condition=_condition_at(metric.condition, now))
    return metric


def _condition_at(condition: Condition, now: datetime) -> Condition:
    if isinstance(condition, NotFuture):
        return replace(condition, at=now)
    if isinstance(condition, Before):
        return replace(condition, at=before(now, Duration(condition.count, condition.unit), "UTC"))
    if isinstance(condition, AllOf):
        return AllOf(tuple(_condition_at(one, now) for one in condition.conditions))
    return condition


def measure_beyond(
    metrics: Iterable[Metric],
    functions: MetricFunctions,
    dataset: Dataset,
    table: str,
    query: Callable[[str], list[tuple[Any, ...]]],
) -> dict[Metric, Measurement]:
    """The metrics that functions and the files of models answer; all others are left out."""
    found: dict[Metric, Measurement] = {}
    for metric in dict.fromkeys(metrics):
        if isinstance(metric, Registered):
            function = functions.get(metric.name)
            request = MetricRequest(metric.name, metric.subject, dataset, table, query)
            found[metric] = _called(metric, function, request)
        elif isinstance(metric, ModelSignature):
            try:
                found[metric] = Measurement(metric, read_signature(metric.path), answered_by="catalogue")
            except UnreadableSignatureError as reason:
                found[metric] = Measurement(metric, error=str(reason))
    return found


def _called(metric: Registered, function: MetricFunction | None, request: MetricRequest) -> Measurement:
    if function is None:
        return Measurement(metric, error=f"no function is registered that measures '{metric.name}'")
    try:
        value = function(request)
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything; the check says what
        return Measurement(metric, error=f"the function for '{metric.name}' failed: {type(error).__name__}: {error}")
    number = _number(value)
    if number is None:
        given = f"{value!r}"[:80]
        return Measurement(metric, error=f"the function for '{metric.name}' returned {given}, which is no number")
    return Measurement(metric, number, answered_by="query")


def _number(value: Any) -> int | float | Decimal | None:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return None
    if isinstance(value, Decimal | int):
        return value if not isinstance(value, Decimal) or value.is_finite() else None
    try:
        number = float(value)  # also what numpy and others call a number
    except (TypeError, ValueError):
        return None
    return number if isfinite(number) else None
