"""Files without types, read once: what all statements on them will ask goes into one table while they stream past.

Each cell is parsed once. Of a promise about single rows a bit says whether the row breaks it, and only such a row keeps
the texts that a sample shows. Values are kept for what needs them together: keys, aggregates, users' queries. The table
is temporary; what does not fit into memory DuckDB writes to a folder that goes when the session ends.

What is shown is never a statement on that table, but the one on the files that gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from typing_extensions import override

from contract_checks.guarantees import NO_GUARANTEES
from contract_checks.metrics import (
    EACH,
    Aggregate,
    DuplicateKeys,
    FarFrom,
    FieldPath,
    Metric,
    OrphanKeys,
    UnparsedValues,
    Violations,
)
from contract_checks.scans import (
    SampleScan,
    Scan,
    compile_scans,
    measuring,
    offender,
    shown_field,
    without,
)
from contract_checks.sql import NeedsValues, NotApplicable, Relation, Unmeasurable, Value
from contract_checks.sql.cells import guessed_cell, settled_cell
from contract_checks.sql.duckdb import DuckDbSql
from contract_checks.sql.interface import count_if

_BITS = 62
"""How many rules share a column of bits."""
_AGGREGATES = (exp.Sum, exp.Min, exp.Max, exp.Avg)
_CANNOT = (Unmeasurable, NeedsValues, NotApplicable)
_NOT_KEPT = "contract_not_kept"
"""A column that no table has: a statement that asks for it is refused, and then asked of the files."""


@dataclass(frozen=True)
class Answer:
    """A statement on the table, the scan that it answers, and what is left of the scan to ask of the files."""

    sql: str
    scan: Scan
    left: Scan | None = None


@dataclass(frozen=True)
class Reading:
    """The statement that reads files into `table`, and what the table answers.

    `cells` are the aggregates of a shared scan, `offending` the predicates of row-level metrics and `shown` the texts
    of their offenders, all as SQL over the table. `relation` is the table as a relation, for the scans among `whole`.
    `columns` are those of users' queries, by the name a query knows them by; None where queries must ask the files.
    """

    statement: str
    table: str
    cells: Mapping[Metric, str]
    offending: Mapping[Metric, str]
    shown: Mapping[FieldPath, str]
    relation: Relation
    whole: frozenset[Metric]
    columns: Mapping[str, str] | None

    def answer(self, scan: Scan, of: Relation, targets: Mapping[str, Relation | str]) -> Answer | None:
        """How the table answers a scan of `of`, or a part of it; None where it does not."""
        if scan.kind == "aggregate":
            mine = [metric for metric in scan.metrics if metric in self.cells]
            if not mine or scan.places:
                return None
            own = without(scan, [metric for metric in scan.metrics if metric not in self.cells], of)
            assert own is not None
            cells = ", ".join(f"{self.cells[metric]} AS m{index}" for index, metric in enumerate(own.metrics))
            return Answer(f"SELECT {cells} FROM {self.table}", own, without(scan, mine, of))
        if scan.kind == "query":
            return Answer(scan.sql, scan) if self.columns is not None else None
        if scan.metrics[0] not in self.whole:
            return None
        known = {name: self.relation if _same(one, of) else one for name, one in targets.items()}
        made = compile_scans(scan.metrics, self.relation, known).scans
        return Answer(made[0].sql, scan) if len(made) == 1 and made[0].kind == scan.kind else None

    def sample(self, scan: SampleScan) -> str | None:
        """The statement on the table that gives the rows of a sample; None where the table does not have them."""
        if any(path not in self.shown for path in scan.shown) or any(one not in self.offending for one in scan.metrics):
            return None
        marks = [f"CASE WHEN {self.offending[metric]} THEN 1 ELSE 0 END" for metric in scan.metrics]
        wanted = " OR ".join(f"({self.offending[metric]})" for metric in scan.metrics)
        limit = "" if scan.limit is None else f" LIMIT {scan.limit}"
        return (
            f"SELECT {', '.join([self.shown[path] for path in scan.shown] + marks)} "
            f"FROM {self.table} WHERE {wanted}{limit}"
        )

    def view(self, name: str) -> str:
        """The statement that lets users' queries find the table under a name."""
        columns = [f"{column} AS {_quoted(known)}" for known, column in (self.columns or {}).items()]
        return f"CREATE OR REPLACE TEMP VIEW {_quoted(name)} AS SELECT {', '.join(columns) or '1'} FROM {self.table}"


def plan_reading(
    scans: Sequence[Scan],
    relation: Relation,
    key: tuple[FieldPath, ...],
    targets: Mapping[str, Relation | str],
    table: str,
) -> Reading | None:
    """The reading that answers scans of a relation of CSV or JSON files; None where it would answer nothing.

    `key` are the fields by which samples tell rows apart.
    """
    plan = _Plan(relation)
    cells: dict[Metric, str] = {}
    offending: dict[Metric, str] = {}
    whole: set[Metric] = set()
    for scan in scans:
        if scan.kind == "aggregate":
            for metric in scan.metrics:
                try:
                    cells[metric], offending_rows = plan.cell(metric)
                    if isinstance(metric, Violations | UnparsedValues):
                        found = None if offending_rows else offender(metric, plan.sql)
                        if found is not None:
                            offending_rows = plan.offends(found)
                        if offending_rows:
                            offending[metric] = offending_rows
                except _CANNOT:
                    continue
        elif scan.kind != "query" and _is_of_these_rows(scan, relation):
            try:
                for path in _fields(scan.metrics[0], relation, targets):
                    plan.keep_value(path, scan.kind == "values")
                whole.update(scan.metrics)
            except _CANNOT:
                continue
    queries = [scan.sql for scan in scans if scan.kind == "query"]
    columns = plan.keep_columns(queries) if queries and relation.part is None else None
    if not plan.kept and not plan.bits:
        return None
    shown = plan.shown(key, offending)
    return Reading(
        statement=plan.statement(table, offending, shown),
        table=table,
        cells=cells,
        offending=offending,
        shown={path: f"{plan.prefix}shown[{index + 1}]" for index, path in enumerate(shown)},
        relation=replace(
            relation, sql=table, part=None, facts={}, guarantees=NO_GUARANTEES, row_id="", values=plan.values
        ),
        whole=frozenset(whole),
        columns=columns,
    )


class _CellSql(DuckDbSql):
    """DuckDB's SQL over cells that columns of their own hold: `cells` are those that were asked for."""

    def __init__(self, relation: Relation, prefix: str) -> None:
        super().__init__(relation)
        self.prefix = prefix
        self.cells: dict[FieldPath, tuple[Value, Value]] = {}

    @override
    def value(self, path: FieldPath) -> Value:
        if path not in self.cells:
            found = super().value(path)
            number = len(self.cells)
            raw = found.raw if isinstance(found.raw, exp.Column) else exp.column(f"{self.prefix}raw_{number}")
            own = raw if found.expression == found.raw else exp.column(f"{self.prefix}cell_{number}")
            known = replace(found, expression=own, raw=raw if found.raw is not None else None)
            self.cells[path] = (found, known)
        return self.cells[path][1]


class _Plan:
    """What the table of a reading has to keep; it grows as it is asked for."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.prefix = "contract_"
        while any(column.name.lower().startswith(self.prefix) for column in relation.columns):
            self.prefix += "_"
        self.sql = _CellSql(relation, self.prefix)
        self.kept: dict[str, str] = {}
        self.bits: dict[str, int] = {}
        self.values: dict[FieldPath, Value] = {}

    def cell(self, metric: Metric) -> tuple[str, str]:
        """The aggregate of a metric, as SQL over the table, and the predicate of the rows it counts, if it counts rows.

        Raises `Unmeasurable` where the table has none.
        """
        expression = measuring(metric, self.sql)
        if expression is None:
            raise Unmeasurable("types answer it")
        folded = expression.transform(self._fold)
        known = {*self.kept.values(), *(self._bits_column(bit) for bit in self.bits.values())}
        if any(column.name not in known for column in folded.find_all(exp.Column)):
            raise Unmeasurable("the table does not hold it")
        counts = isinstance(folded, exp.Count) and isinstance(folded.this, exp.Case)
        predicate = folded.this.args["ifs"][0].this.sql(dialect="duckdb") if counts else ""
        return folded.sql(dialect="duckdb"), predicate

    def offends(self, predicate: exp.Expr) -> str:
        """A predicate of single rows, as SQL over the table."""
        if isinstance(predicate, exp.GT) and predicate.this.sql(dialect="duckdb") in self.kept:
            return f"{self._keep(predicate.this)} > 0"  # how many items offend is known already
        return self._bit(predicate).sql(dialect="duckdb")

    def keep_value(self, path: FieldPath, with_text: bool) -> None:
        """Let the table hold the values of a field, and their texts where those decide. Raises `Unmeasurable`."""
        value = self.sql.value(path)
        own = exp.column(self._keep(value.expression))
        raw = value.raw
        if raw is not None:
            needed = with_text or value.category == "number" or raw == value.expression
            raw = exp.column(self._keep(raw) if needed else _NOT_KEPT)
        if path not in self.values or with_text:
            self.values[path] = replace(value, expression=own, raw=raw, parent=None)

    def keep_columns(self, queries: Iterable[str]) -> dict[str, str] | None:
        """Let the table hold the columns that users' queries name; None where that cannot be told."""
        found: dict[str, str] = {}
        for query in queries:
            for name in named_columns(query, self.relation):
                try:
                    found[name] = self._keep(self.sql.value((name,)).expression)
                except _CANNOT:
                    return None
        return found

    def shown(
        self, key: tuple[FieldPath, ...], offending: Mapping[Metric, str]
    ) -> dict[FieldPath, tuple[exp.Expr, list[str]]]:
        """The text of each field that a sample may show, and which rows show it: none is for all offenders."""
        found: dict[FieldPath, tuple[exp.Expr, list[str]]] = {}
        for path, predicate in (
            *((path, "") for path in key),
            *((shown_field(one), p) for one, p in offending.items()),
        ):
            try:
                value = self.sql.value(path)
            except _CANNOT:
                continue
            if value.raw is None or (path in found and not found[path][1]):
                continue
            found.setdefault(path, (value.raw, []))
            if predicate:
                found[path][1].append(predicate)
        return found

    def statement(
        self, table: str, offending: Mapping[Metric, str], shown: Mapping[FieldPath, tuple[exp.Expr, list[str]]]
    ) -> str:
        """The statement that reads the files into the table."""
        texts, values = ["*"], ["*"]
        for path, (found, known) in self.sql.cells.items():
            if found.raw is not None and known.raw != found.raw:
                texts.append(f"{_sql(found.raw)} AS {_sql(known.raw)}")
            if known.expression == known.raw:
                continue
            if found.raw is None or found.native_type == "JSON":
                texts.append(f"{_sql(found.expression)} AS {_sql(known.expression)}")
                continue
            category = self.relation.declared.get(path, "string")
            guess = guessed_cell(found.raw, category)
            column = exp.column(f"{_sql(known.expression)}_guess")
            if guess is not None:
                texts.append(f"{_sql(guess)} AS {_sql(column)}")
            assert known.raw is not None
            settled = settled_cell(known.raw, category, column if guess is not None else None)
            values.append(f"{_sql(settled)} AS {_sql(known.expression)}")
        judged = ["*", *(f"{expression} AS {column}" for expression, column in self.kept.items())]
        bits = [f"CASE WHEN {predicate} THEN {1 << bit % _BITS} ELSE 0 END" for predicate, bit in self.bits.items()]
        packed = [self._bits_column(start) for start in range(0, len(bits), _BITS)]
        for index, name in enumerate(packed):
            together = " + ".join(bits[index * _BITS : (index + 1) * _BITS])
            judged.append(f"CAST({together} AS BIGINT) AS {name}")
        written = [*self.kept.values(), *packed]
        if offending and shown:
            broken = [f"{name} <> 0" for name in packed]
            broken += [predicate for predicate in offending.values() if predicate.endswith(" > 0")]
            items = [
                f"CASE WHEN {' OR '.join(of)} THEN {_sql(raw)} END" if of else _sql(raw) for raw, of in shown.values()
            ]
            written.append(f"CASE WHEN {' OR '.join(broken)} THEN [{', '.join(items)}] END AS {self.prefix}shown")
        source = f"(SELECT {', '.join(texts)} FROM {self.relation.sql})"
        source = f"(SELECT {', '.join(judged)} FROM (SELECT {', '.join(values)} FROM {source}))"
        return f"CREATE TEMP TABLE {table} AS SELECT {', '.join(written)} FROM {source}"

    def _fold(self, node: exp.Expr) -> exp.Expr:
        """An aggregate whose argument is a column of the table, in place of one over cells."""
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Case):
            ifs = node.this.args["ifs"]
            plain = len(ifs) == 1 and ifs[0].args["true"].is_number and node.this.args.get("default") is None
            return count_if(self._bit(ifs[0].this)) if plain else node
        if isinstance(node, _AGGREGATES) and not isinstance(node.this, exp.Distinct):
            return type(node)(this=exp.column(self._keep(node.this)))
        if isinstance(node, exp.Anonymous) and node.name.upper() == self.sql.stddev:
            return exp.Anonymous(this=node.name, expressions=[exp.column(self._keep(node.expressions[0]))])
        return node

    def _keep(self, expression: exp.Expr) -> str:
        return self.kept.setdefault(expression.sql(dialect="duckdb"), f"{self.prefix}kept_{len(self.kept)}")

    def _bit(self, predicate: exp.Expr) -> exp.Expr:
        """The bit that says whether a predicate is true for a row, as a predicate over the table."""
        bit = self.bits.setdefault(predicate.sql(dialect="duckdb"), len(self.bits))
        column = exp.column(self._bits_column(bit))
        masked = exp.BitwiseAnd(this=column, expression=exp.Literal.number(1 << bit % _BITS))
        return exp.NEQ(this=exp.Paren(this=masked), expression=exp.Literal.number(0))

    def _bits_column(self, bit: int) -> str:
        return f"{self.prefix}bits_{bit // _BITS}"


def named_columns(query: str, relation: Relation) -> tuple[str, ...]:
    """The columns of a relation that a user's query may read: those whose names it says, or all."""
    every = tuple(column.name for column in relation.columns)
    try:
        tree = parse_one(query, dialect="duckdb")
    except SqlglotError:
        return every
    stars = [star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count) and not _counted(star)]
    odd = (
        tree.find(exp.Pivot, exp.Columns, exp.PositionalColumn, exp.Parameter, exp.Placeholder, exp.Command) is not None
    )
    joins = any("NATURAL" in (join.method or "").upper() for join in tree.find_all(exp.Join))
    tables = {table.alias_or_name.lower() for table in tree.find_all(exp.Table, exp.Subquery, exp.CTE)}
    rows = any(column.name.lower() in tables and not column.table for column in tree.find_all(exp.Column))
    if stars or odd or joins or rows or tree.find(exp.From) is None:
        return every
    said = {identifier.name.lower() for identifier in tree.find_all(exp.Identifier)}
    return tuple(name for name in every if name.lower() in said)


def _counted(star: exp.Star) -> bool:
    """Whether all that becomes of a `*` is that its rows are counted."""
    inner = star.parent
    held = inner.parent if isinstance(inner, exp.Select) else None
    outer = held.find_ancestor(exp.Select) if isinstance(held, exp.Subquery) else None
    if inner is None or held is None or outer is None or not isinstance(held.parent, exp.From):
        return False
    plain = not any(inner.args.get(key) for key in ("distinct", "group", "having", "qualify"))
    return plain and outer.sql(dialect="duckdb").startswith("SELECT COUNT(*) FROM (")


def _is_of_these_rows(scan: Scan, relation: Relation) -> bool:
    """Whether a scan looks at no more than the relation's rows: a key of a part may be unique in the whole table."""
    keys = isinstance(scan.metrics[0], DuplicateKeys)
    return not (keys and relation.part is not None and relation.part.filter.unique_in == "table")


def _fields(metric: Metric, relation: Relation, targets: Mapping[str, Relation | str]) -> tuple[FieldPath, ...]:
    """The fields whose values a scan of its own asks for. Raises `Unmeasurable` where the table cannot answer it."""
    fields: tuple[FieldPath, ...]
    if isinstance(metric, DuplicateKeys):
        fields = metric.fields
    elif isinstance(metric, OrphanKeys):
        own = _same(targets.get(metric.target, ""), relation)
        fields = (*metric.fields, *(metric.target_fields if own else ()))
    elif isinstance(metric, FarFrom):
        fields = (metric.field, metric.latitude, metric.longitude)
    elif isinstance(metric, Aggregate | Violations | UnparsedValues):
        fields = (metric.field,)
    else:
        raise Unmeasurable(f"{type(metric).__name__} is asked of the files")
    if any(each in path for path in fields for each in EACH):
        raise Unmeasurable("items of arrays are asked of the files")
    return fields


def _same(target: Relation | str, relation: Relation) -> bool:
    return isinstance(target, Relation) and target.sql == relation.sql


def _sql(expression: exp.Expr | None) -> str:
    assert expression is not None
    return expression.sql(dialect="duckdb")


def _quoted(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(dialect="duckdb")
