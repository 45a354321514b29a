"""A plan about one table → the same plan about another: what is promised of a table, asked of its successor."""

from __future__ import annotations

from dataclasses import replace

from contract_checks.checks import Check, DatasetPlan
from contract_checks.metrics import Metric, OrphanKeys, Query
from contract_checks.queries import with_table
from contract_checks.sources.catalogue import name_parts


def rebound(plan: DatasetPlan, physical_name: str, dialect: str) -> DatasetPlan:
    """The plan with its dataset under another name, also where foreign keys and users' queries name it."""
    old = plan.dataset
    new = replace(old, physical_name=physical_name)
    return replace(
        plan,
        dataset=new,
        checks=tuple(_check(check, old.physical_name, physical_name, dialect) for check in plan.checks),
        siblings=tuple(new if one.name == old.name else one for one in plan.siblings),
    )


def _check(check: Check, old: str, new: str, dialect: str) -> Check:
    return replace(check, metrics=tuple(_metric(metric, old, new, dialect) for metric in check.metrics))


def _metric(metric: Metric, old: str, new: str, dialect: str) -> Metric:
    if isinstance(metric, Query):
        return replace(metric, sql=with_table(metric.sql, dialect, name_parts(old), name_parts(new)))
    if isinstance(metric, OrphanKeys) and metric.target == old:
        return replace(metric, target=new)
    return metric
