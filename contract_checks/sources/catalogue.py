"""What the databases say of their own tables: names, native types, nullability, comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import DBAPIError, NoSuchTableError
from sqlglot import exp

from contract_checks.datatypes import category_of
from contract_checks.metrics import FoundColumn
from contract_checks.wording import meant

TableName = tuple[str, ...]
"""(table,), (schema, table) or (catalog, schema, table)."""


def name_parts(name: str) -> TableName:
    """A dotted name in its parts; quotes keep a dot together: `a."b.c"` is `("a", "b.c")`."""
    parts = re.findall(r'"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|([^.]+)', name)
    return tuple(next(part for part in match if part).replace('""', '"') for match in parts if any(match))


def find_columns(
    connection: Connection, dialect: str, name: str, default_schema: str | None
) -> tuple[TableName, tuple[FoundColumn, ...]] | None:
    """The table that a contract calls `name`, with its columns; None if the database has none.

    A name is tried as the contract writes it, in the server's schema if it has no schema of its own. A
    leading part that is neither catalog nor schema here (the service in an OpenMetadata name, a database
    that goes by another name) is dropped; the schema never is, for a table of the same name in another
    schema is another table.
    """
    reader = _READERS.get(dialect, _read_by_reflection)
    for candidate in _candidates(name, default_schema, dialect):
        found = reader(connection, candidate, dialect)
        if found:
            return tuple(_stored(connection, part) for part in candidate), tuple(found)
    return None


def _stored(connection: Connection, name: str) -> str:
    """A name as the database stores it: SQLAlchemy spells names of Oracle and Snowflake in lower case."""
    dialect = connection.dialect
    denormalize: Callable[[str], str] | None = getattr(dialect, "denormalize_name", None)
    needed = getattr(dialect, "requires_name_normalize", False)
    return denormalize(name) if needed and denormalize is not None else name


def _candidates(name: str, default_schema: str | None, dialect: str) -> list[TableName]:
    parts = name_parts(name)
    candidates: list[TableName] = []
    if len(parts) > 1:
        candidates.append((name,))
    if len(parts) == 1:
        if default_schema:
            candidates.append((default_schema, *parts))
        else:
            candidates.append(parts)
    elif dialect == "sqlite":
        candidates.append(parts[-1:])
    else:
        if len(parts) >= 3:
            candidates.append(parts[-3:])
        candidates.append(parts[-2:])
    return candidates


def table_hint(connection: Connection, dialect: str, name: str, default_schema: str | None) -> str:
    """What to say beside "there is no such table": the name that was probably meant, or what there is instead."""
    sql = {
        "duckdb": "SELECT table_schema, table_name FROM information_schema.tables LIMIT 2000",
        "postgres": "SELECT table_schema, table_name FROM information_schema.tables"
        " WHERE table_schema NOT IN ('pg_catalog', 'information_schema') LIMIT 2000",
        "sqlite": "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view') LIMIT 2000",
    }.get(dialect)
    if sql is None:
        return ""
    try:
        rows = look_up(connection, sql, ())
    except DBAPIError:
        return ""
    usual = default_schema or {"postgres": "public"}.get(dialect, "main")
    known = {(table if schema == usual else f"{schema}.{table}"): table for schema, table in rows}
    wanted = name_parts(name)[-1]
    elsewhere = [full for full, table in known.items() if table.lower() == wanted.lower()]
    if elsewhere:
        return f" (there is '{elsewhere[0]}')"
    if not known:
        return " (it has no tables)"
    return meant(name, known) or (f" (it has: {', '.join(sorted(known))})" if len(known) <= 8 else "")


def table_sql(name: TableName, dialect: str) -> str:
    """The quoted name for a FROM clause."""
    identifiers = [exp.to_identifier(part, quoted=True) for part in name]
    table = exp.Table(
        this=identifiers[-1],
        db=identifiers[-2] if len(name) > 1 else None,
        catalog=identifiers[-3] if len(name) > 2 else None,
    )
    return table.sql(dialect=dialect)


def look_up(connection: Connection, sql: str, parameters: tuple[str | None, ...] = ()) -> list[tuple[Any, ...]]:
    """The rows of a question to the catalogue, with the parameters in their places."""
    if connection.dialect.name == "duckdb":
        # Its driver imports pandas, where that is installed, as soon as anything is bound; that takes half a second.
        given = [exp.null() if one is None else exp.Literal.string(one) for one in parameters]
        parts = sql.split("?")
        sql = parts[0] + "".join(
            f"{one.sql(dialect='duckdb')}{rest}" for one, rest in zip(given, parts[1:], strict=True)
        )
        parameters = ()
    return [tuple(row) for row in connection.exec_driver_sql(sql, parameters)]


def _read_duckdb(connection: Connection, name: TableName, dialect: str) -> Sequence[FoundColumn]:
    sql = """
        SELECT database_name, schema_name, table_name, column_name, data_type, is_nullable, comment
        FROM duckdb_columns() WHERE NOT internal AND lower(table_name) = lower(?)
          AND (CAST(? AS TEXT) IS NULL OR lower(schema_name) = lower(?))
          AND (CAST(? AS TEXT) IS NULL OR lower(database_name) = lower(?))
        ORDER BY column_index"""
    schema = name[-2] if len(name) > 1 else None
    catalog = name[-3] if len(name) > 2 else None
    rows = look_up(connection, sql, (name[-1], schema, schema, catalog, catalog))
    if len(name) == 1:
        current = look_up(connection, "SELECT current_database(), current_schema()", ())[0]
        rows = [row for row in rows if (row[0], row[1]) == current or row[0] == "temp"]
    elif len(name) == 2:
        current_database = look_up(connection, "SELECT current_database()", ())[0][0]
        rows = [row for row in rows if row[0] == current_database]
    exact = [row for row in rows if row[2] == name[-1]] or rows
    return [FoundColumn(row[3], row[4], category_of(row[4], dialect), bool(row[5]), row[6] or "") for row in exact]


def _read_postgres(connection: Connection, name: TableName, dialect: str) -> Sequence[FoundColumn]:
    if len(name) > 2:
        database = look_up(connection, "SELECT current_database()", ())[0][0]
        if name[-3] != database:
            return []
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in name[-2:])
    sql = """
        SELECT a.attname, format_type(coalesce(nullif(t.typbasetype, 0), t.oid), a.atttypmod), t.typtype,
               NOT a.attnotnull, coalesce(col_description(a.attrelid, a.attnum), '')
        FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
    found = []
    for column, native_type, kind, nullable, comment in look_up(connection, sql, (quoted,)):
        category = "string" if kind in ("e", b"e") else category_of(native_type, dialect)
        found.append(FoundColumn(column, native_type, category, nullable, comment))
    return found


def _read_sqlite(connection: Connection, name: TableName, dialect: str) -> Sequence[FoundColumn]:
    sql = 'SELECT name, type, "notnull" FROM pragma_table_xinfo(?) WHERE hidden IN (0, 2, 3) ORDER BY cid'
    return [
        FoundColumn(column, native_type, category_of(native_type, dialect), not not_null)
        for column, native_type, not_null in look_up(connection, sql, (name[-1],))
    ]


def _read_by_reflection(connection: Connection, name: TableName, dialect: str) -> Sequence[FoundColumn]:
    schema = ".".join(name[:-1]) or None
    try:
        columns = inspect(connection).get_columns(name[-1], schema=schema)
    except NoSuchTableError:
        return []
    found = []
    for column in columns:
        native_type = column["type"].compile(dialect=connection.dialect)
        category = category_of(native_type, dialect)
        found.append(
            FoundColumn(
                _stored(connection, column["name"]),
                native_type,
                category,
                bool(column["nullable"]),
                column.get("comment") or "",
            )
        )
    return found


def own_table(connection: Connection, name: TableName) -> tuple[str, str, str] | None:
    """The one table of DuckDB's own that a name means; None for a view, a table elsewhere, or if it is not clear."""
    sql = """
        SELECT database_name, schema_name, table_name, own FROM (
          SELECT database_name, schema_name, table_name, type = 'duckdb' AS own
          FROM duckdb_tables() JOIN (SELECT database_name, type FROM duckdb_databases()) USING (database_name)
          UNION ALL SELECT database_name, schema_name, view_name, false FROM duckdb_views()
        ) WHERE lower(table_name) = lower(?) AND (CAST(? AS TEXT) IS NULL OR lower(schema_name) = lower(?))
          AND (CAST(? AS TEXT) IS NULL OR lower(database_name) = lower(?))"""
    schema = name[-2] if len(name) > 1 else None
    catalog = name[-3] if len(name) > 2 else None
    found = look_up(connection, sql, (name[-1], schema, schema, catalog, catalog))
    current = look_up(connection, "SELECT current_database(), current_schema()")[0]
    if len(name) == 1:
        found = [row for row in found if row[:2] == current or row[0] == "temp"]
    elif len(name) == 2:
        found = [row for row in found if row[0] in (current[0], "temp")]
    if len(found) != 1 or not found[0][3] or found[0][0] == "temp":
        return None
    return (found[0][0], found[0][1], found[0][2])


def row_id(connection: Connection, dialect: str, name: TableName, columns: Sequence[FoundColumn]) -> str:
    """The pseudo-column that tells the rows of a table apart (see `Relation.row_id`); empty where there is none.

    Only DuckDB's own tables have one that a scan gives for nothing; a view or a table of another database has not.
    """
    named = any(column.name.lower() == "rowid" for column in columns)
    return "rowid" if dialect == "duckdb" and not named and own_table(connection, name) is not None else ""


def find_comment(connection: Connection, dialect: str, name: TableName) -> str:
    """The comment on a table that `find_columns` found, empty where there is none or the database has none."""
    if dialect == "sqlite":
        return ""
    if dialect == "duckdb":
        sql = """
            SELECT comment FROM (
              SELECT database_name, schema_name, table_name, comment FROM duckdb_tables()
              UNION ALL SELECT database_name, schema_name, view_name, comment FROM duckdb_views()
            ) WHERE lower(table_name) = lower(?) AND schema_name = coalesce(?, current_schema())
              AND database_name = coalesce(?, current_database())"""
        schema, catalog = (name[-2] if len(name) > 1 else None), (name[-3] if len(name) > 2 else None)
        rows = look_up(connection, sql, (name[-1], schema, catalog))
    elif dialect == "postgres":
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in name[-2:])
        rows = look_up(connection, "SELECT obj_description(to_regclass(%s), 'pg_class')", (quoted,))
    else:
        try:
            reflected = inspect(connection).get_table_comment(name[-1], schema=".".join(name[:-1]) or None)
        except (NotImplementedError, NoSuchTableError):
            return ""
        return reflected.get("text") or ""
    return str(rows[0][0] or "") if rows else ""


_READERS: dict[str, Callable[[Connection, TableName, str], Sequence[FoundColumn]]] = {
    "duckdb": _read_duckdb,
    "postgres": _read_postgres,
    "sqlite": _read_sqlite,
}
