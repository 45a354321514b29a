"""What a database's catalogue says that it enforces, for those databases that are known to enforce it.

A constraint is told only if no row can break it: enforced on every write, validated for the rows before it, on a
table that holds its own rows, and compared as a scan compares. PostgreSQL has a file of its own
(`postgres_constraints`). Of every other database nothing is told: their constraints are for the optimizer, or can be
switched off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from contract_checks.guarantees import (
    CheckConstraint,
    Constraint,
    ForeignKeyConstraint,
    NotNullConstraint,
    UniqueConstraint,
)
from contract_checks.metrics import FoundColumn
from contract_checks.sources.catalogue import TableName, look_up, name_parts, own_table
from contract_checks.sources.postgres_constraints import postgres_constraints
from contract_checks.sql import Relation

_DUCKDB_KEY = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(.*\)|DATE|TIMESTAMP( WITH TIME ZONE)?|BOOLEAN|UUID|BLOB|VARCHAR"
)
"""Types whose values are equal to GROUP BY only where they are equal to an index."""


def find_constraints(
    connection: Connection, name: TableName, relation: Relation, targets: Iterable[Relation]
) -> tuple[Constraint, ...]:
    """The constraints of the table that the session knows as `name` and `relation`.

    `targets` are the relations that a foreign key may lead to. Raises what the driver raises when the catalogue
    cannot be read.
    """
    if relation.dialect == "duckdb":
        return tuple(_duckdb(connection, name, relation, targets))
    if relation.dialect == "sqlite":
        return tuple(_sqlite(connection, name[-1], relation))
    if relation.dialect == "postgres":
        return postgres_constraints(connection, relation, targets)
    return ()


def _stored(names: Sequence[str], columns: Sequence[FoundColumn]) -> tuple[str, ...] | None:
    """Names as the columns have them, in databases that fold their case; None if one is not among them."""
    folded = {column.name.lower(): column.name for column in columns}
    known = [folded.get(name.lower()) for name in names]
    return tuple(name for name in known if name is not None) if names and None not in known else None


# --------------------------------------------------------------------------- DuckDB


def _duckdb(
    connection: Connection, name: TableName, relation: Relation, targets: Iterable[Relation]
) -> Iterable[Constraint]:
    sql = """
        SELECT database_name, schema_name, table_name,
          constraint_type, constraint_column_names, expression, referenced_table, referenced_column_names
        FROM duckdb_constraints() WHERE lower(table_name) = lower(?)"""
    of_that_name = look_up(connection, sql, (name[-1],))
    table = own_table(connection, name) if of_that_name else None
    if table is None:
        return
    found = [row[3:] for row in of_that_name if row[:3] == table]
    kinds = {column.name: column.native_type for column in relation.columns}
    for kind, listed, expression, referenced, referenced_columns in found:
        columns = _stored(listed, relation.columns)
        if kind == "CHECK":
            yield CheckConstraint(expression)
        elif columns is None:
            continue
        elif kind == "NOT NULL":
            yield from map(NotNullConstraint, columns)
        elif kind in ("PRIMARY KEY", "UNIQUE"):
            own = [kinds[one] for one in columns]
            if all(map(_DUCKDB_KEY.fullmatch, own)) and ("VARCHAR" not in own or _has_no_collation(connection, table)):
                yield UniqueConstraint(columns)
        elif kind == "FOREIGN KEY" and referenced:
            # A foreign key of DuckDB stays within its schema.
            for target in _duckdb_targets(connection, (*table[:2], referenced), targets):
                there = _stored(referenced_columns, target.columns)
                theirs = {column.name: column.native_type for column in target.columns}
                if there is not None and [kinds[one] for one in columns] == [theirs[one] for one in there]:
                    yield ForeignKeyConstraint(columns, target.sql, there)


def _has_no_collation(connection: Connection, table: tuple[str, str, str]) -> bool:
    """Whether texts of a table are equal only where an index finds them equal: character by character."""
    sql = "SELECT sql FROM duckdb_tables() WHERE database_name = ? AND schema_name = ? AND table_name = ?"
    (created,), (default,) = look_up(connection, sql, table)[0], _default_collation(connection)
    return "collate" not in str(created).lower() and not default


def _default_collation(connection: Connection) -> tuple[str]:
    return (str(look_up(connection, "SELECT current_setting('default_collation')")[0][0] or ""),)


def _duckdb_targets(
    connection: Connection, table: tuple[str, str, str], targets: Iterable[Relation]
) -> Iterable[Relation]:
    wanted = tuple(part.lower() for part in table)
    for target in targets:
        named = own_table(connection, name_parts(target.sql)) if target.part is None else None
        if named is not None and tuple(part.lower() for part in named) == wanted:
            yield target


# --------------------------------------------------------------------------- SQLite


def _sqlite(connection: Connection, name: str, relation: Relation) -> Iterable[Constraint]:
    """NOT NULL and keys. Foreign keys and CHECK are left out, for a connection may switch them off."""
    listed = look_up(
        connection, "SELECT schema, name, type, wr FROM pragma_table_list WHERE lower(name) = lower(?)", (name,)
    )
    if len(listed) != 1 or listed[0][0] != "main" or listed[0][2] != "table":
        return
    stored, without_rowid = listed[0][1], listed[0][3]
    columns = look_up(connection, 'SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?)', (stored,))
    for column, _, not_null, _, hidden in columns:
        if not_null and hidden == 0:
            yield NotNullConstraint(column)
    indexes = look_up(connection, 'SELECT name, "unique", origin, partial FROM pragma_index_list(?)', (stored,))
    key = [column for column, _, _, place, _ in columns if place]
    if len(key) == 1 and not without_rowid and not any(origin == "pk" for _, _, origin, _ in indexes):
        # The one column of the primary key is the row's own number, which is always there.
        yield NotNullConstraint(key[0])
        yield UniqueConstraint((key[0],))
    table_sql = look_up(connection, "SELECT coalesce(sql, '') FROM main.sqlite_master WHERE name = ?", (stored,))[0][0]
    for index, unique, _, partial in indexes:
        if not unique or partial:
            continue
        made = look_up(connection, "SELECT coalesce(sql, '') FROM main.sqlite_master WHERE name = ?", (index,))
        # An index may tell apart what the column's collation does not.
        if any("collate" in str(sql).lower() for sql in (table_sql, *(row[0] for row in made))):
            continue
        sql = "SELECT cid, name FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno"
        parts = look_up(connection, sql, (index,))
        if all(place >= 0 for place, _ in parts):
            yield UniqueConstraint(tuple(column for _, column in parts))
