"""A relation → the part of it that a filter means: a partition.

Every metric asks the part as it would ask the whole, since a part is a relation. Only two things still
look beyond: a key is unique in the whole table, unless the filter says otherwise, and a user's query is
limited to the part only where it reads nothing of the table but through its placeholder or its plain name.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from sqlglot import TokenType, exp, parse_one, tokenize
from sqlglot.errors import SqlglotError

from contract_checks.datatypes import has_timezone
from contract_checks.metrics import EACH, Bound, FieldFilter, RowFilter, field_text
from contract_checks.sql.duckdb import typed_columns
from contract_checks.sql.interface import NeedsValues, Part, Relation, Sql, Unmeasurable, Value, is_not_null

_ALIAS = "contract_part"


def scoped(relation: Relation, rows: RowFilter, sql: Sql) -> Relation:
    """The relation with only the rows of a filter. `sql` is the SQL of the relation.

    Raises `Unmeasurable` where the rows cannot be told apart: no such column, a type that does not compare
    with the filter's values, an hour that occurs twice on the clock.
    """
    predicate = exp.and_(*(one for term in rows.terms for one in _term(term, sql)))
    select = exp.select("*").from_(relation.table()).where(predicate)
    return replace(
        relation,
        shown=f"{relation.shown} ({rows.label})",
        sql=select.subquery(_ALIAS).sql(dialect=relation.dialect),
        row_id="",
        part=Part(relation, predicate, rows),
    )


def _term(term: FieldFilter, sql: Sql) -> list[exp.Expr]:
    if any(each in term.field for each in EACH):
        raise Unmeasurable(f"{field_text(term.field)} has many values in a row")
    value = sql.value(term.field)
    predicates = [is_not_null(value.expression)]
    if term.values is not None:
        foreign = [one for one in term.values if one is None or sql.listed(one, value) is None]
        if foreign:
            kind = value.native_type or value.category
            raise Unmeasurable(f"no value of `{field_text(term.field)}`, which is {kind}, can be '{foreign[0]}'")
        predicates.append(sql.among(term.values, value))
    _refuse_ambiguous(term, value, sql)
    try:
        if term.lower is not None:
            predicates.append(exp.not_(sql.breaks(Bound(">=", term.lower, zone=term.zone), value)))
        if term.upper is not None:
            predicates.append(exp.not_(sql.breaks(Bound("<", term.upper, zone=term.zone), value)))
    except NeedsValues:
        raise Unmeasurable(f"`{field_text(term.field)}` is text, whose moments cannot be compared in SQL") from None
    return predicates


def _refuse_ambiguous(term: FieldFilter, value: Value, sql: Sql) -> None:
    """Refuse a bound in an hour that the clocks show twice, where values tell no more than the clock's time."""
    typed = value.raw is None and sql.dialect != "sqlite"  # text says a time zone cell by cell, if at all
    if value.category != "timestamp" or (typed and has_timezone(value.native_type, sql.dialect)):
        return
    # A moment before the end; on the clock it would be an hour off where the clocks change.
    for bound, back in ((term.lower, timedelta()), (term.upper, timedelta(microseconds=1))):
        if isinstance(bound, datetime) and bound.tzinfo is not None:
            local = (bound.astimezone(UTC) - back).astimezone(ZoneInfo(term.zone))
            if local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset():
                raise Unmeasurable(
                    f"the clocks of {term.zone} show {local:%Y-%m-%d %H:%M} twice, and `{field_text(term.field)}` "
                    "has no time zone to tell which is meant"
                )


# --------------------------------------------------------------------------- users' queries


def scoped_query(query: str, relation: Relation) -> str | None:
    """A query limited to a part of the table, or None where it reads more of it (or nothing).

    `query` has its placeholders filled in and is proven to be one SELECT. The text stays as the author wrote
    it: the part is put before it as a common table expression of the table's own name.
    """
    if relation.part is None:
        return None
    own = exp.to_table(relation.placeholder or relation.part.whole.sql, dialect=relation.dialect)
    body = _body(relation, own)
    try:
        tree, tokens = parse_one(query, dialect=relation.dialect), tokenize(query, dialect=relation.dialect)
    except SqlglotError:
        return None
    named = [table for table in tree.find_all(exp.Table) if _same(table.this, own.this, relation.dialect)]
    defined = [one for one in tree.find_all(exp.CTE) if _same(one.args["alias"].this, own.this, relation.dialect)]
    if not named or defined or any(table.db for table in named):
        return None
    name = exp.to_identifier(own.name, quoted=True).sql(dialect=relation.dialect)
    starts = [token.token_type for token in tokens[:2]]
    if TokenType.WITH not in starts[:1]:
        return f"WITH {name} AS ({body}) {query}"
    recursive = TokenType.RECURSIVE in starts
    if recursive and relation.encoding == "native" and not _qualified(own, relation.dialect):
        return None  # the part would be taken for a recursion
    last = tokens[1] if recursive else tokens[0]
    return f"{query[: last.end + 1]} {name} AS ({body}), {query[last.end + 1 :].lstrip()}"


def _body(relation: Relation, own: exp.Table) -> str:
    """The rows of the part with the columns that a query sees of the table."""
    assert relation.part is not None
    whole = relation.part.whole
    if whole.encoding != "native":
        return f"SELECT {typed_columns(whole)} FROM {relation.sql}"  # noqa: S608 - made of quoted names
    table = whole.table()
    if relation.dialect == "sqlite" and isinstance(table, exp.Table) and not table.db:
        table.set("db", exp.to_identifier("main", quoted=True))  # SQLite would see a circle
    return exp.select("*").from_(table).where(relation.part.predicate.copy()).sql(dialect=relation.dialect)


def _qualified(own: exp.Table, dialect: str) -> bool:
    return bool(own.db) or dialect == "sqlite"


def _same(one: exp.Expr, other: exp.Expr, dialect: str) -> bool:
    """Whether two identifiers name one thing. PostgreSQL tells cases apart once they are quoted."""
    if dialect != "postgres":
        return one.name.lower() == other.name.lower()
    folded = one.name if isinstance(one, exp.Identifier) and one.quoted else one.name.lower()
    return folded == other.name
