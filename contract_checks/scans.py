"""Metrics → Scans: as few statements as the promise needs.

All row-level and aggregate metrics of a dataset share one statement. Each key has a grouping statement,
each relationship an anti-join, each user's query is itself. A condition that the engine cannot answer
exactly becomes one statement per column that returns its distinct values, to be judged one by one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlglot import exp

from contract_checks import comparisons
from contract_checks.metrics import (
    EACH,
    ITEMS,
    Aggregate,
    ColumnCount,
    ColumnNames,
    Columns,
    Condition,
    DuplicateKeys,
    FarFrom,
    FieldPath,
    Measurement,
    Metric,
    ModelSignature,
    OrphanKeys,
    OtherColumns,
    OtherRows,
    Query,
    Rate,
    Registered,
    RowCount,
    Undecodable,
    UniqueItems,
    UnparsedValues,
    ValueCount,
    Violations,
    field_text,
)
from contract_checks.queries import check_query
from contract_checks.sql import NeedsValues, NotApplicable, Relation, Sql, Unmeasurable, sql_for
from contract_checks.sql.interface import call, count_if, is_not_null, number
from contract_checks.sql.scoping import scoped_query
from contract_checks.values import breaks

_KEY, _GROUPS = "contract_key_", "contract_keys"
OFFENDERS = 20
"""How many offending keys a statement that finds them returns along."""
_COSTLY = (exp.Anonymous, exp.RegexpLike, exp.In, exp.Length)
"""What makes a predicate worth its own scan's time a second time, when it is asked which rows break it."""

Kind = Literal["aggregate", "duplicates", "orphans", "query", "values", "tally"]


@dataclass(frozen=True)
class Scan:
    """One statement and the metrics it answers.

    `aggregate`: one row, cell i answers metric i; after them come `places`, each with the index of its metric, which
    list the row ids of a few rows that were counted. `duplicates`: a few rows (key…, its rows, all keys, all
    rows). `orphans`: a few rows (key…, all rows).
    `query`: the user's own one cell. `values`: rows (value, how often), to be judged in
    Python by `condition`. `tally`: rows from which `tallies` works out the number, or
    the newest or oldest moment of texts in the format of `condition`.
    """

    kind: Kind
    sql: str
    metrics: tuple[Metric, ...]
    condition: Condition | None = None
    cells: tuple[str, ...] = ()
    places: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Compiled:
    """The scans of a dataset, and the measurements that are known without one."""

    scans: tuple[Scan, ...]
    known: tuple[Measurement, ...]


def compile_scans(
    metrics: Iterable[Metric], relation: Relation, targets: Mapping[str, Relation | str], places: int = 0
) -> Compiled:
    """The scans that answer `metrics` on `relation`.

    `targets` are the relations that foreign keys point to, by name; a text in its place says why there is
    none. `places` is how many offending rows of each metric the shared scan should tell, where the source can
    and finding them again would cost. A metric that cannot be asked becomes a measurement with its error, and
    touches no other.
    """
    sql = sql_for(relation)
    known: list[Measurement] = []
    aggregates: list[tuple[Metric, exp.Expr]] = []
    scans: list[Scan] = []
    for metric in dict.fromkeys(metrics):
        try:
            if relation.part is None and metric in relation.facts:
                known.append(relation.facts[metric])
            elif isinstance(metric, Columns):
                known.append(Measurement(metric, relation.columns, answered_by="catalogue"))
            elif isinstance(metric, ColumnCount):
                known.append(comparisons.count_columns(metric, relation))
            elif isinstance(metric, ColumnNames):
                known.append(comparisons.compare_names(metric, relation))
            elif isinstance(metric, OtherColumns):
                known.append(comparisons.compare_columns(metric, relation, targets))
            elif isinstance(metric, OtherRows):
                scans.append(Scan("tally", comparisons.other_rows_sql(metric, relation, targets), (metric,)))
            elif isinstance(metric, FarFrom):
                scans.append(Scan("tally", comparisons.places_sql(metric, relation, sql), (metric,)))
            elif isinstance(metric, DuplicateKeys) and not any(each in path for path in metric.fields for each in EACH):
                scans.append(Scan("duplicates", _duplicates_sql(metric.fields, relation, sql), (metric,)))
            elif isinstance(metric, Undecodable):
                known.append(Measurement(metric, skipped="only messages that are read from a broker are decoded"))
            elif isinstance(metric, Rate):
                known.append(Measurement(metric, skipped="only messages that are read from a broker have a rate"))
            elif isinstance(metric, Registered | ModelSignature):
                continue  # no statement answers it; see `run`
            elif isinstance(metric, OrphanKeys):
                scans.append(Scan("orphans", _orphans_sql(metric, relation, sql, targets), (metric,)))
            elif isinstance(metric, Query):
                scans.append(Scan("query", query_sql(metric, relation), (metric,)))
            else:
                aggregates += _fused(metric, sql, relation, scans, known)
        except Unmeasurable as reason:
            known.append(Measurement(metric, error=str(reason)))
    if aggregates:
        scans.insert(0, aggregate_scan([_cell(*pair, relation, places) for pair in aggregates], relation))
    return Compiled(tuple(scans), tuple(known))


def _fused(
    metric: Metric, sql: Sql, relation: Relation, scans: list[Scan], known: list[Measurement]
) -> list[tuple[Metric, exp.Expr]]:
    """The metric's cell of the shared scan, if it has one there."""
    try:
        expression = measuring(metric, sql)
    except NeedsValues as asked:
        if isinstance(metric, Aggregate):
            ask = comparisons.median_sql if metric.function == "median" else comparisons.values_sql
            scans.append(Scan("tally", ask(metric, relation, sql), (metric,), asked.condition))
            return []
        scans.append(_values_scan(metric, asked.condition, relation, sql))
        return []
    except NotApplicable as reason:
        known.append(Measurement(metric, skipped=str(reason)))
        return []
    if expression is None:
        known.append(Measurement(metric, 0, answered_by="catalogue"))
        return []
    return [(metric, expression)]


@dataclass(frozen=True)
class Cell:
    """One metric of a shared scan: the SQL that measures it, and the SQL that lists rows it counted, if any."""

    metric: Metric
    sql: str
    places: str = ""


def _cell(metric: Metric, expression: exp.Expr, relation: Relation, places: int) -> Cell:
    sql = expression.sql(dialect=relation.dialect)
    case = expression.this if isinstance(expression, exp.Count) else None
    if not places or not relation.row_id or not isinstance(case, exp.Case) or case.find(*_COSTLY) is None:
        return Cell(metric, sql)
    row = exp.Case(ifs=[exp.If(this=case.args["ifs"][0].this.copy(), true=exp.column(relation.row_id))])
    return Cell(metric, sql, call("MIN", row, number(places)).sql(dialect=relation.dialect))


def aggregate_scan(cells: Sequence[Cell], relation: Relation) -> Scan:
    """One SELECT that answers all `cells`."""
    places = tuple((index, cell.places) for index, cell in enumerate(cells) if cell.places)
    listed = [f"{cell.sql} AS m{index}" for index, cell in enumerate(cells)]
    listed += [f"{sql} AS p{index}" for index, sql in places]
    return Scan(
        "aggregate",
        f"SELECT {', '.join(listed)} FROM {relation.sql}",
        tuple(cell.metric for cell in cells),
        cells=tuple(cell.sql for cell in cells),
        places=places,
    )


def split(scan: Scan, relation: Relation) -> tuple[Scan, ...]:
    """An aggregate scan as one scan for each of its metrics: what a person runs to reproduce one value."""
    return tuple(aggregate_scan([Cell(*pair)], relation) for pair in zip(scan.metrics, scan.cells, strict=True))


def without(scan: Scan, metrics: Iterable[Metric], relation: Relation) -> Scan | None:
    """An aggregate scan without some of its metrics; None if nothing is left."""
    culprits, places = set(metrics), dict(scan.places)
    cells = [Cell(*pair, places.get(at, "")) for at, pair in enumerate(zip(scan.metrics, scan.cells, strict=True))]
    kept = [cell for cell in cells if cell.metric not in culprits]
    return aggregate_scan(kept, relation) if kept else None


def measuring(metric: Metric, sql: Sql) -> exp.Expr | None:
    """The aggregate expression of a metric; None when the source's types answer it already (with zero)."""
    if isinstance(metric, RowCount):
        return exp.Count(this=exp.Star())
    if isinstance(metric, ValueCount):
        return sql.value_count(metric.field)
    if isinstance(metric, Violations):
        return sql.violations(metric.field, metric.condition)
    if isinstance(metric, UnparsedValues):
        return sql.unparsed(metric.field)
    if isinstance(metric, Aggregate):
        return sql.aggregate(metric.function, metric.field)
    one_list = isinstance(metric, DuplicateKeys) and len(metric.fields) == 1 and metric.fields[0][-1] == ITEMS
    if isinstance(metric, DuplicateKeys) and one_list and metric.of == "keys":
        # Items are unique within each row's array; equal items of two rows are no duplicates.
        return sql.violations(metric.fields[0][:-1], UniqueItems())
    raise Unmeasurable(f"{type(metric).__name__} over items of arrays cannot be measured")


def _duplicates_sql(fields: tuple[FieldPath, ...], relation: Relation, sql: Sql) -> str:
    """The statement that counts recurring keys and the rows that carry them, and shows a few of them."""
    keys = [sql.key(path) for path in fields]
    names = [exp.to_identifier(f"{_KEY}{i}") for i in range(len(keys))]
    source = relation
    recurs: exp.Expr = exp.GT(this=exp.Count(this=exp.Star()), expression=number(1))
    if relation.part is not None and relation.part.filter.unique_in == "table":
        # A key of these rows recurs wherever else in the table it is.
        source, own = relation.part.whole, count_if(relation.part.predicate)
        recurs = exp.and_(recurs, exp.GT(this=own, expression=number(0)))
    may_recur = sql.may_recur(fields, source.table())
    asked = [is_not_null(key) for key in keys] + ([] if may_recur is None else [may_recur])
    groups = (
        exp.select(
            *(exp.Alias(this=key, alias=name.copy()) for key, name in zip(keys, names, strict=True)),
            exp.Alias(this=exp.Count(this=exp.Star()), alias=exp.to_identifier("n")),
        )
        .from_(source.table())
        .where(exp.and_(*asked))
        .group_by(*(key.copy() for key in keys))
        .having(recurs)
    )
    totals = [exp.Count(this=exp.Star()), exp.Sum(this=exp.column("n"))]
    cells = [*(exp.column(name.name) for name in names), exp.column("n"), *(exp.Window(this=one) for one in totals)]
    shown = exp.select(*cells).limit(OFFENDERS)
    if sql.groups_first:
        return shown.from_(_GROUPS).with_(_GROUPS, as_=groups, materialized=True).sql(dialect=relation.dialect)
    return shown.from_(groups.subquery(_GROUPS)).sql(dialect=relation.dialect)


def _orphans_sql(metric: OrphanKeys, relation: Relation, sql: Sql, targets: Mapping[str, Relation | str]) -> str:
    target = targets.get(metric.target, f"the referenced table '{metric.target}' is not known")
    if isinstance(target, str):
        raise Unmeasurable(target)
    here = [sql.key(path) for path in metric.fields]
    there_sql = sql_for(target)
    there = [there_sql.key(path) for path in metric.target_fields]
    names = [exp.to_identifier(f"{_KEY}{i}") for i in range(len(here))]
    keys = exp.select(*(exp.Alias(this=key, alias=name.copy()) for key, name in zip(there, names, strict=True)))
    inner = keys.from_(target.table()).subquery("target")
    matched = exp.and_(
        *(
            exp.EQ(this=exp.column(name.name, table="target"), expression=exp.column(name.name, table="source"))
            for name in names
        )
    )
    own = exp.select(*(exp.Alias(this=key, alias=name.copy()) for key, name in zip(here, names, strict=True)))
    source = own.from_(relation.table()).subquery("source")
    exists = exp.Exists(this=exp.select(number(1)).from_(inner).where(matched))
    filled = [is_not_null(exp.column(name.name, table="source")) for name in names]
    cells = [*(exp.column(name.name, table="source") for name in names), exp.Window(this=exp.Count(this=exp.Star()))]
    orphans = exp.select(*cells).from_(source).where(exp.and_(*filled, exp.Not(this=exists)))
    return orphans.limit(OFFENDERS).sql(dialect=relation.dialect)


def _values_scan(metric: Metric, condition: Condition | None, relation: Relation, sql: Sql) -> Scan:
    if not isinstance(metric, Violations | UnparsedValues) or any(each in metric.field for each in EACH):
        raise Unmeasurable(f"this cannot be judged on {relation.dialect} for items of arrays")
    if condition is None and isinstance(metric, Violations):
        condition = metric.condition
    value = sql.value(metric.field)
    shown = value.raw if value.raw is not None else value.expression
    if value.category == "string" and value.raw is None:
        shown = sql.exact_text(value)  # or a collation makes one value of several
    about_null = condition is not None and breaks(condition, None)
    judged = exp.or_(is_not_null(shown), value.absent) if about_null else is_not_null(shown)
    select = (
        exp.select(shown.copy(), exp.Count(this=exp.Star()))
        .from_(relation.table())
        .where(judged)
        .group_by(shown.copy())
    )
    return Scan("values", select.sql(dialect=relation.dialect), (metric,), condition)


# --------------------------------------------------------------------------- users' queries

_TABLE_NAMES = "object|table|model|schema|dataset"
_COLUMN_NAMES = "property|column|field"
_PLACEHOLDER = re.compile(r"\$?\{\s*(" + _TABLE_NAMES + "|" + _COLUMN_NAMES + r")\s*\}")
# `{schema}.{table}` is one name: the table's, which the relation knows in full.
_QUALIFIED = re.compile(
    r"(`?)(?:\$?\{\s*(?:project|catalog|database|schema|dataset)\s*\}`?\.`?)+(\$?\{\s*(?:object|table|model)\s*\})\1"
)


def query_sql(metric: Query, relation: Relation) -> str:
    """A user's query with its placeholders filled in, proven to be one read-only SELECT.

    Only the closed list of names is replaced, so the braces of a regular expression stay what they are
    (ODCS, data quality, "SQL"). Raises `Unmeasurable` for a query that is not safe.
    """
    column = relation.find(metric.column[0]) if metric.column else None

    def fill(match: re.Match[str]) -> str:
        if match[1] in _TABLE_NAMES.split("|"):
            return relation.placeholder or relation.sql
        if metric.column is None:
            raise Unmeasurable(f"the query says {match[0]}, but the rule does not belong to a column")
        if column is None:
            raise Unmeasurable(f"column '{field_text(metric.column)}' does not exist in {relation.shown}")
        name = exp.to_identifier(column.name, quoted=True).sql(dialect=relation.dialect)
        return ".".join(
            [name, *(exp.to_identifier(part, quoted=True).sql(dialect=relation.dialect) for part in metric.column[1:])]
        )

    filled = _PLACEHOLDER.sub(fill, _QUALIFIED.sub(r"\2", metric.sql))
    problem = check_query(filled, relation.dialect)
    if problem is not None:
        raise Unmeasurable(problem)
    bare = filled.strip().rstrip(";").strip()
    inner = bare[1:-1].strip()
    # SQLite knows no SELECT in parentheses.
    enclosed = bare.startswith("(") and bare.endswith(")") and check_query(inner, relation.dialect) is None
    query = inner if enclosed else bare
    query = scoped_query(query, relation) or query
    return f"SELECT COUNT(*) FROM (\n{query}\n) AS contract_rows" if metric.result == "rows" else query


def query_is_scoped(metric: Query, relation: Relation) -> bool:
    """Whether a user's query, asked of a part of a table, sees that part only."""
    try:
        return scoped_query(query_sql(metric, replace(relation, part=None)), relation) is not None
    except Unmeasurable:
        return True  # it is errored either way


# --------------------------------------------------------------------------- samples of offenders


@dataclass(frozen=True)
class SampleScan:
    """One statement that shows rows which break any of `metrics`.

    Its columns are `shown` (the primary key and every field concerned) and then one flag per metric, 1
    where the row breaks it. It reads `source`, a FROM item, and shows no more than `limit` rows.
    """

    sql: str
    shown: tuple[FieldPath, ...]
    metrics: tuple[Metric, ...]
    source: str = ""
    limit: int | None = None


def sample_scan(
    metrics: Iterable[Metric],
    key: tuple[FieldPath, ...],
    relation: Relation,
    limit: int | None = None,
    places: Collection[int] = (),
) -> SampleScan | None:
    """The statement that shows the offenders of row-level metrics; None if none of them has any to show.

    `places` are the row ids of the offenders, where they are known already.
    """
    sql = sql_for(relation)
    flags: list[tuple[Metric, exp.Expr]] = []
    fields = list(key)
    for metric in metrics:
        predicate = offender(metric, sql)
        if predicate is not None:
            flags.append((metric, predicate))
            fields.append(shown_field(metric))
    if not flags:
        return None
    shown = tuple(dict.fromkeys(fields))
    values = [sql.value(path) for path in shown]
    cells = [(value.raw if value.raw is not None else value.expression).copy() for value in values]
    marks = [exp.Case(ifs=[exp.If(this=one.copy(), true=number(1))], default=number(0)) for _, one in flags]
    wanted: exp.Expr = exp.or_(*(one.copy() for _, one in flags))
    if places:
        wanted = exp.In(this=exp.column(relation.row_id), expressions=[number(one) for one in sorted(places)])
    elif limit is None and wanted.find(*_COSTLY) is not None:
        wanted = sql.rare(wanted)
    select = exp.select(*cells, *marks).from_(relation.table()).where(wanted)
    if limit is not None:
        select = select.limit(limit)
    statement = select.sql(dialect=relation.dialect)
    return SampleScan(statement, shown, tuple(metric for metric, _ in flags), relation.sql, limit)


def shown_field(metric: Metric) -> FieldPath:
    """The field a sample shows for a row-level metric: the whole array where an item is meant."""
    field: FieldPath = metric.field if isinstance(metric, Violations | UnparsedValues) else ()
    many = [index for index, segment in enumerate(field) if segment in EACH]
    return field[: many[0]] if many else field


def offender(metric: Metric, sql: Sql) -> exp.Expr | None:
    """The predicate that is true for the rows which break a row-level metric; None where there are none to show."""
    try:
        if isinstance(metric, Violations):
            return sql.offends(metric.field, metric.condition)
        if isinstance(metric, UnparsedValues):
            counted = sql.unparsed(metric.field)
            case = counted.find(exp.If) if counted is not None else None
            return case.this if case is not None else None
    except (Unmeasurable, NeedsValues, NotApplicable):
        return None
    return None
