"""Metrics → Measurements that need no scan, because the source guarantees them.

A proof says zero: zero violations of a constraint that is enforced, zero violations of bounds that the statistics of
all files keep. Only statistics give other numbers: rows, null values, and a smallest or largest value that occurs.
What is not proven here is scanned; nothing is ever disproven.

Constraints speak of each row, or each pair of rows, so they hold for a part of a table too. Counts do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from sqlglot import exp

from contract_checks.datatypes import is_float
from contract_checks.guarantees import (
    CheckConstraint,
    ColumnStatistics,
    ForeignKeyConstraint,
    NotNullConstraint,
    UniqueConstraint,
)
from contract_checks.metrics import (
    Aggregate,
    AllOf,
    Bound,
    Condition,
    DuplicateKeys,
    FieldPath,
    Length,
    Measurement,
    Metric,
    NotNull,
    NotOneOf,
    OneOf,
    OrphanKeys,
    RowCount,
    Scalar,
    Tier,
    Violations,
)
from contract_checks.scans import compile_scans
from contract_checks.sql import NeedsValues, NotApplicable, Relation, Sql, Unmeasurable, Value, sql_for
from contract_checks.sql.check_constraints import conditions_of


@dataclass(frozen=True)
class _Proof:
    """A value that needs no scan, and what says so."""

    value: Any
    tier: Tier


def prove(
    metrics: Iterable[Metric], relation: Relation, targets: Mapping[str, Relation | str]
) -> dict[Metric, Measurement]:
    """The measurements of those metrics that `relation.guarantees` answers, exactly as a scan would.

    `targets` are the relations that foreign keys point to, as `compile_scans` takes them. Each measurement has the
    statement that reproduces it. A metric that could not be scanned is never proven.
    """
    guarantees = relation.guarantees
    nothing = not guarantees.constraints and not guarantees.statistics and guarantees.row_count is None
    if nothing or relation.encoding != "native":
        return {}
    prover = _Prover(relation, targets)
    found: dict[Metric, Measurement] = {}
    for metric in dict.fromkeys(metrics):
        try:
            proof = prover.proof(metric)
        except (Unmeasurable, NeedsValues, NotApplicable):
            continue
        if proof is None:
            continue
        compiled = compile_scans([metric], relation, targets)
        if compiled.known or len(compiled.scans) != 1:
            continue  # errored, skipped or known already: not ours to say
        rows = 0 if isinstance(metric, DuplicateKeys) else None
        sql = compiled.scans[0].sql
        found[metric] = Measurement(metric, proof.value, rows=rows, sql=sql, answered_by=proof.tier)
    return found


class _Prover:
    """What can be proven of one relation."""

    def __init__(self, relation: Relation, targets: Mapping[str, Relation | str]) -> None:
        self.relation, self.targets = relation, targets
        self.sql: Sql = sql_for(relation)
        constraints = relation.guarantees.constraints
        self.filled = {one.column for one in constraints if isinstance(one, NotNullConstraint)}
        self.keys = [frozenset(one.columns) for one in constraints if isinstance(one, UniqueConstraint)]
        self.references = [one for one in constraints if isinstance(one, ForeignKeyConstraint)]
        self.checks = _by_column(constraints, relation)

    def proof(self, metric: Metric) -> _Proof | None:
        """The proof of a metric; None if there is none."""
        if isinstance(metric, Violations):
            return self._violations(metric)
        if isinstance(metric, DuplicateKeys):
            names = self._plain_columns(metric.fields, self.relation)
            if names is not None and any(key <= set(names) for key in self.keys):
                return _Proof(0, "catalogue")
        if isinstance(metric, OrphanKeys) and self._refers(metric):
            return _Proof(0, "catalogue")
        if isinstance(metric, RowCount) and self.relation.part is None:
            rows = self.relation.guarantees.row_count
            return None if rows is None else _Proof(rows, "file statistics")
        if isinstance(metric, Aggregate) and metric.function in ("min", "max") and self.relation.part is None:
            return self._extreme(metric)
        return None

    def _violations(self, metric: Violations) -> _Proof | None:
        column = self._column(metric.field)
        if column is None:
            return None
        value = self.sql.value(metric.field)
        if value.format is not None or value.raw is not None:
            return None
        if self._declared_to_hold(metric.condition, column, value):
            return _Proof(0, "catalogue")
        statistics = self.relation.guarantees.statistics.get(column)
        if statistics is None:
            return None
        if _is_about_null(metric.condition):
            nulls = statistics.null_count
            countable = nulls == 0 or self.relation.part is None
            return _Proof(nulls, "file statistics") if nulls is not None and countable else None
        return _Proof(0, "file statistics") if _lies_within(statistics, metric.condition, value) else None

    def _declared_to_hold(self, condition: Condition, column: str, value: Value) -> bool:
        if isinstance(condition, AllOf):
            parts = condition.conditions
            return bool(parts) and all(self._declared_to_hold(one, column, value) for one in parts)
        known = self.checks.get(column, ())
        if _is_about_null(condition):
            return column in self.filled or NotNull() in known
        return _implied(condition, known, value, self.sql.may_be_nan(value))

    def _extreme(self, metric: Aggregate) -> _Proof | None:
        column = self._column(metric.field)
        statistics = self.relation.guarantees.statistics.get(column) if column is not None else None
        if statistics is None or not statistics.exact or statistics.minimum is None or statistics.maximum is None:
            return None
        return _Proof(statistics.minimum if metric.function == "min" else statistics.maximum, "file statistics")

    def _refers(self, metric: OrphanKeys) -> bool:
        target = self.targets.get(metric.target)
        if not isinstance(target, Relation) or target.part is not None or target.encoding != "native":
            return False
        here = self._plain_columns(metric.fields, self.relation)
        there = self._plain_columns(metric.target_fields, target)
        if here is None or there is None or len(here) != len(there):
            return False
        pairs = set(zip(here, there, strict=True))
        return any(
            one.target == target.sql and set(zip(one.columns, one.target_columns, strict=True)) == pairs
            for one in self.references
        )

    def _column(self, path: FieldPath) -> str | None:
        """The stored name of a plain column; None for a field of something, and where there is none."""
        column = self.relation.find(path[0]) if len(path) == 1 else None
        return None if column is None else column.name

    def _plain_columns(self, fields: Sequence[FieldPath], relation: Relation) -> list[str] | None:
        """The columns that a scan would group and compare as they are; None if it would not."""
        sql = sql_for(relation)
        names = []
        for path in fields:
            column = relation.find(path[0]) if len(path) == 1 else None
            key = sql.key(path) if column is not None else None
            if column is None or not isinstance(key, exp.Column) or key.name != column.name:
                return None
            names.append(column.name)
        return names


def _by_column(constraints: Iterable[object], relation: Relation) -> Mapping[str, Sequence[Condition]]:
    """What the CHECK constraints say of single columns."""
    found: dict[str, list[Condition]] = defaultdict(list)
    for one in constraints:
        if isinstance(one, CheckConstraint):
            for column, condition in conditions_of(one, relation):
                found[column].append(condition)
    return found


def _is_about_null(condition: Condition) -> bool:
    """Whether a condition says that there is a value, and nothing else."""
    return isinstance(condition, NotNull) or (
        isinstance(condition, NotOneOf) and bool(condition.values) and all(one is None for one in condition.values)
    )


# --------------------------------------------------------------------------- implication


def _implied(asked: Condition, known: Sequence[Condition], value: Value, may_be_nan: bool) -> bool:
    """Whether every value that satisfies all `known` conditions satisfies the asked one.

    NaN satisfies a bound from below in SQL, where it is the largest number; here it satisfies none. A bound from
    above or a list keeps it out.
    """
    listed = [one for one in known if isinstance(one, OneOf)]
    if any(all(_satisfies(member, asked) for member in one.values) for one in listed):
        return True
    if isinstance(asked, Bound):
        bounds = [one for one in known if isinstance(one, Bound)]
        no_nan = not may_be_nan or not asked.nan or bool(listed) or any(one.operator in ("<", "<=") for one in bounds)
        return no_nan and any(_is_stricter(one, asked) for one in bounds)
    if isinstance(asked, Length) and value.category == "string":
        lengths = [one for one in known if isinstance(one, Length)]
        if not lengths:
            return False
        low = [one.minimum for one in lengths if one.minimum is not None]
        high = [one.maximum for one in lengths if one.maximum is not None]
        long_enough = asked.minimum is None or asked.minimum <= 0 or (bool(low) and max(low) >= asked.minimum)
        return long_enough and (asked.maximum is None or (bool(high) and min(high) <= asked.maximum))
    return False


def _satisfies(member: Scalar, asked: Condition) -> bool:
    """Whether a listed value surely satisfies a condition."""
    if isinstance(asked, Bound):
        return _keeps(member, asked.operator, asked.limit)
    if isinstance(asked, OneOf):
        return any(_keeps(member, "=", one) for one in asked.values)
    if isinstance(asked, Length) and isinstance(member, str):
        low, high = asked.minimum, asked.maximum
        return (low is None or len(member) >= low) and (high is None or len(member) <= high)
    return False


def _is_stricter(known: Bound, asked: Bound) -> bool:
    """Whether one bound on the same side lets through nothing that the other does not."""
    if known.operator[0] != asked.operator[0]:
        return False
    both = asked.operator[0] + "=" if known.operator in (">", "<") else asked.operator
    return _keeps(known.limit, both, asked.limit)


def _keeps(value: Scalar, operator: str, limit: Scalar) -> bool:
    """Whether `value operator limit` is true of two exact numbers, two days or two texts (only equal or not)."""
    mine, other = _exact(value), _exact(limit)
    if mine is None or other is None or type(mine) is not type(other):
        return False
    if isinstance(mine, str):
        return operator == "=" and mine == other
    compared = {"=": mine == other, ">": mine > other, ">=": mine >= other, "<": mine < other, "<=": mine <= other}
    return bool(compared[operator])


def _exact(value: Scalar) -> Any:
    """A number as a fraction, a day or a text as it is; None for what has no exact comparison here."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Fraction(value)
    if isinstance(value, float | Decimal):
        decimal = value if isinstance(value, Decimal) else Decimal(repr(value))
        return Fraction(decimal) if decimal.is_finite() else None
    if isinstance(value, str) or type(value) is date:
        return value
    return None


# --------------------------------------------------------------------------- statistics


def _lies_within(statistics: ColumnStatistics, condition: Condition, value: Value) -> bool:
    """Whether the bounds of all values of a column satisfy a condition, so that every value does."""
    if isinstance(condition, AllOf):
        parts = condition.conditions
        return bool(parts) and all(_lies_within(statistics, one, value) for one in parts)
    if not isinstance(condition, Bound) or is_float(value.native_type, "duckdb"):
        return False
    extreme = statistics.minimum if condition.operator in (">", ">=") else statistics.maximum
    if isinstance(extreme, datetime):
        limit = _moment(condition.limit, condition.zone, aware=extreme.tzinfo is not None)
        if limit is None:
            return False
        compared = {">": extreme > limit, ">=": extreme >= limit, "<": extreme < limit, "<=": extreme <= limit}
        return compared[condition.operator]
    return extreme is not None and _keeps(extreme, condition.operator, condition.limit)


def _moment(limit: Scalar, zone: str, aware: bool) -> datetime | None:
    """A limit as the scan compares it with a timestamp; values without a time zone are on the clock of `zone`."""
    if type(limit) is date:
        limit = datetime.combine(limit, time(0))
    if not isinstance(limit, datetime):
        return None
    moment = limit if limit.tzinfo is not None else limit.replace(tzinfo=ZoneInfo(zone))
    return moment if aware else moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
