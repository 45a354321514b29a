"""A table against another one, against a list of names, against places: the SQL of metrics that need a statement
of their own, and what the columns alone answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from sqlglot import exp

from contract_checks.metrics import (
    Aggregate,
    ColumnCount,
    ColumnNames,
    FarFrom,
    FoundColumn,
    Measurement,
    OtherColumns,
    OtherRows,
    Violations,
)
from contract_checks.queries import check_query
from contract_checks.sql import Relation, Sql, Unmeasurable
from contract_checks.sql.interface import is_not_null, number

Targets = Mapping[str, "Relation | str"]


def own_columns(relation: Relation) -> tuple[FoundColumn, ...]:
    """The columns of the data itself."""
    return tuple(column for column in relation.columns if not column.hidden)


def count_columns(metric: ColumnCount, relation: Relation) -> Measurement:
    """How many columns there are, or are called exactly that."""
    found = [one.name for one in own_columns(relation) if metric.name in (None, one.name)]
    return Measurement(metric, len(found), answered_by="catalogue")


def compare_names(metric: ColumnNames, relation: Relation) -> Measurement:
    """How the names of the columns differ from a list, in any order or in that one."""
    names = [one.name for one in own_columns(relation)]
    if metric.ordered:
        pairs = [pair for pair in zip_longest(metric.names, names) if pair[0] != pair[1]]
        wrong = tuple(f"{found or 'nothing'} in place of {wanted or 'nothing'}" for wanted, found in pairs)
    else:
        have, want = Counter(names), Counter(metric.names)
        wrong = (*(f"{one} missing" for one in (want - have).elements()), *(have - want).elements())
    return Measurement(metric, len(wrong), answered_by="catalogue", offenders=tuple((one,) for one in wrong))


def median_sql(metric: Aggregate, relation: Relation, sql: Sql) -> str:
    """The one or two values in the middle, each with a 1 beside it."""
    value = sql.value(metric.field).expression
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=value.copy())]))
    ranked = (
        exp.select(
            exp.alias_(value.copy(), "v"),
            exp.alias_(place, "place"),
            exp.alias_(exp.Window(this=exp.Count(this=exp.Star())), "n"),
        )
        .from_(relation.table())
        .where(is_not_null(value))
    )
    twice = exp.Mul(this=exp.column("place"), expression=number(2))
    low = exp.GTE(this=twice.copy(), expression=exp.column("n"))
    high = exp.LTE(this=twice.copy(), expression=exp.Add(this=exp.column("n"), expression=number(2)))
    return (
        exp.select(exp.column("v"), number(1))
        .from_(ranked.subquery("ranked"))
        .where(low, high)
        .sql(dialect=relation.dialect)
    )


def values_sql(metric: Aggregate | Violations, relation: Relation, sql: Sql) -> str:
    """The distinct values of a field, each with how often it is there."""
    value = sql.value(metric.field).expression
    return (
        exp.select(value.copy(), exp.Count(this=exp.Star()))
        .from_(relation.table())
        .where(is_not_null(value))
        .group_by(value.copy())
        .sql(dialect=relation.dialect)
    )


def places_sql(metric: FarFrom, relation: Relation, sql: Sql) -> str:
    """The points of the rows that name a known place, each with how often it is there."""
    cells = [sql.value(path).expression for path in (metric.field, metric.latitude, metric.longitude)]
    named = sql.among(tuple(name for name, _, _ in metric.places), sql.value(metric.field))
    return (
        exp.select(*(one.copy() for one in cells), exp.Count(this=exp.Star()))
        .from_(relation.table())
        .where(named)
        .group_by(*(one.copy() for one in cells))
        .sql(dialect=relation.dialect)
    )


# --------------------------------------------------------------------------- two tables


def compare_columns(metric: OtherColumns, relation: Relation, targets: Targets) -> Measurement:
    """Which columns one of two tables lacks, or has as another category of type. Raises `Unmeasurable`."""
    target = _target(metric.target, targets)
    renamed = dict(metric.renamed)
    names = metric.columns or tuple(
        dict.fromkeys(
            [
                *(one.name for one in own_columns(relation)),
                *(
                    one.name
                    for one in own_columns(target)
                    if one.name not in renamed.values() and _find(relation, one.name, metric.exact_case) is None
                ),
            ]
        )
    )
    wrong = []
    for name in names:
        here = _find(relation, name, metric.exact_case)
        there = _find(target, renamed.get(name, name), metric.exact_case)
        if here is None or there is None:
            wrong.append(f"{name} {'not here' if here is None else f'not in {metric.target}'}")
        elif here.category != there.category:
            wrong.append(f"{name} {here.native_type} here, {there.native_type} in {metric.target}")
    return Measurement(metric, len(wrong), answered_by="catalogue", offenders=tuple((one,) for one in wrong))


def other_rows_sql(metric: OtherRows, relation: Relation, targets: Targets) -> str:
    """The statement that counts the rows that only one of two tables has, as often as it has them more.

    Raises `Unmeasurable`.
    """
    target = _target(metric.target, targets)
    if relation.encoding != "native" or target.encoding != "native":
        raise Unmeasurable("rows of files without types cannot be compared")
    renamed = dict(metric.renamed)
    names = metric.columns or tuple(
        one.name
        for one in own_columns(relation)
        if _find(target, renamed.get(one.name, one.name), metric.exact_case) is not None
    )
    if not names:
        raise Unmeasurable(f"the table has no column in common with {metric.target}")
    pairs = [
        (
            _existing(relation, name, metric.exact_case),
            _existing(target, renamed.get(name, name), metric.exact_case),
        )
        for name in names
    ]
    dialect = relation.dialect
    sides = []
    for place, (side, mark) in enumerate(((relation, 1), (target, -1))):
        cells = [exp.alias_(exp.column(pair[place].name, quoted=True), f"c{i}") for i, pair in enumerate(pairs)]
        select = exp.select(*cells, exp.alias_(number(mark), "side")).from_(side.table())
        sides.append(_limited(select, metric.where, dialect))
    listed = [exp.column(f"c{i}") for i in range(len(pairs))]
    total = exp.Sum(this=exp.column("side"))
    groups = (
        exp.select(exp.alias_(exp.Abs(this=total), "n"))
        .from_(exp.union(sides[0], sides[1], distinct=False).subquery("sides"))
        .group_by(*listed)
        .having(exp.NEQ(this=total.copy(), expression=number(0)))
    )
    counted = exp.Coalesce(this=exp.Sum(this=exp.column("n")), expressions=[number(0)])
    return exp.select(counted).from_(groups.subquery("other")).sql(dialect=dialect)


def _limited(select: exp.Select, where: str, dialect: str) -> exp.Select:
    if not where:
        return select
    problem = check_query(f"SELECT 1 FROM t WHERE ({where})", dialect)  # noqa: S608 - this is the proof
    if problem is not None:
        raise Unmeasurable(f"its condition cannot be used: {problem}")
    return select.where(f"({where})", dialect=dialect)


def _target(name: str, targets: Targets) -> Relation:
    found = targets.get(name, f"the table '{name}' is not known")
    if isinstance(found, str):
        raise Unmeasurable(found)
    return found


def _find(relation: Relation, name: str, exact: bool) -> FoundColumn | None:
    found = relation.find(name)
    return None if found is None or (exact and found.name != name) else found


def _existing(relation: Relation, name: str, exact: bool) -> FoundColumn:
    found = _find(relation, name, exact)
    if found is None:
        raise Unmeasurable(f"column '{name}' does not exist in {relation.shown}")
    return found


def differences(offenders: Sequence[tuple[object, ...]], most: int = 5) -> str:
    """What differs, in words: a few of the offenders."""
    more = f" and {len(offenders) - most} more" if len(offenders) > most else ""
    return ", ".join(str(one[0]) for one in offenders[:most]) + more
