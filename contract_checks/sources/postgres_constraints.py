"""What PostgreSQL enforces: the traps of its catalogue, each at its place.

Nothing is told of views, of foreign tables and of tables that have one among their partitions, of tables with
children of the old inheritance (a SELECT reads those too, the constraints do not), of tables of another access
method, nor of servers that only speak like PostgreSQL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from sqlalchemy import Connection

from contract_checks.guarantees import (
    CheckConstraint,
    Constraint,
    ForeignKeyConstraint,
    NotNullConstraint,
    UniqueConstraint,
)
from contract_checks.sources.catalogue import look_up
from contract_checks.sql import Relation

_GENUINE = re.compile(
    r"PostgreSQL \d+(\.\d+|beta\d+|rc\d+|devel)?( \([^()]*\))? on [\w.-]+, compiled by .*, (32|64)-bit"
)
"""What PostgreSQL itself says of its version; Redshift, CockroachDB and the like say something else."""

_TREE = """
    WITH RECURSIVE tree AS (
      SELECT to_regclass(%s)::oid AS oid
      UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON i.inhparent = tree.oid)"""
"""A table with its partitions."""

_OWN_ROWS = f"""{_TREE}
    SELECT version(),
      (SELECT count(*) FROM pg_catalog.pg_extension WHERE extname = 'citus'),
      bool_and(
        CASE WHEN c.oid = to_regclass(%s) THEN c.relkind IN ('r', 'p') ELSE c.relispartition AND c.relkind IN ('r', 'p')
        END AND (c.relkind = 'p' OR m.amname = 'heap')),
      has_table_privilege(to_regclass(%s), 'SELECT')
    FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid LEFT JOIN pg_catalog.pg_am m ON m.oid = c.relam"""

# Columns that a release may not have yet are read out of the row's JSON.
_ENFORCED = "c.convalidated AND coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true)"
_VIRTUAL = "coalesce(to_jsonb(a) ->> 'attgenerated', '') = 'v'"

_NOT_NULL = f"""
    SELECT a.attname::text FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_catalog.pg_type b ON t.typtype = 'd' AND b.oid = t.typbasetype
    WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped AND a.attnotnull
      -- a row value that is there may have nothing but NULLs, and is NULL to a scan
      AND coalesce(b.typtype, t.typtype) IN ('b', 'e', 'r', 'm')
      AND NOT {_VIRTUAL}
      AND NOT EXISTS (
        SELECT 1 FROM pg_catalog.pg_constraint c
        WHERE c.conrelid = a.attrelid AND c.contype = 'n' AND a.attnum = ANY (c.conkey) AND NOT ({_ENFORCED}))
"""

# A key is as good as its index: whole, and equal only where GROUP BY finds equal. That is the type's own operator class
# and, unless the column tells all characters apart, the column's own collation, of the version that is now in use.
_UNIQUE = """
    SELECT (
      SELECT json_agg(a.attname ORDER BY k.place)::text
      FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, place)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
      WHERE k.place <= i.indnkeyatts)
    FROM pg_catalog.pg_index i
    JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid JOIN pg_catalog.pg_am m ON m.oid = x.relam
    WHERE i.indrelid = to_regclass(%s) AND m.amname = 'btree' AND i.indisunique AND i.indisvalid AND i.indisready
      AND i.indislive AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL
      AND NOT EXISTS (
        SELECT 1 FROM generate_series(0, i.indnkeyatts - 1) s
        JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[s]
        JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
        JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[s]
        LEFT JOIN pg_catalog.pg_collation ac ON ac.oid = a.attcollation
        LEFT JOIN pg_catalog.pg_collation ic ON ic.oid = i.indcollation[s]
        WHERE NOT o.opcdefault OR {virtual}
          OR NOT (o.opcintype = coalesce(nullif(t.typbasetype, 0), t.oid)
            OR (o.opcintype = 'text'::regtype AND coalesce(nullif(t.typbasetype, 0), t.oid) = 'varchar'::regtype)
            OR (o.opcintype = 'anyenum'::regtype AND t.typtype = 'e'))
          OR (i.indcollation[s] <> a.attcollation
            AND NOT coalesce((to_jsonb(ac) ->> 'collisdeterministic')::boolean, true))
          OR (ic.collprovider IN ('c', 'i') AND ic.collversion IS DISTINCT FROM pg_collation_actual_version(ic.oid))
          OR (ic.collprovider = 'd' AND {database}))
"""
_DATABASE_COLLATION = """EXISTS (
            SELECT 1 FROM pg_catalog.pg_database d WHERE d.datname = current_database()
            AND d.datcollversion IS DISTINCT FROM pg_database_collation_actual_version(d.oid))"""

_CHECKS = f"""
    SELECT pg_get_expr(c.conbin, c.conrelid), NOT EXISTS (
      SELECT 1 FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
      WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
        AND NOT coalesce((to_jsonb(l) ->> 'collisdeterministic')::boolean, true))
    FROM pg_catalog.pg_constraint c
    WHERE c.conrelid = to_regclass(%s) AND c.contype = 'c' AND {_ENFORCED}
      AND NOT EXISTS (
        SELECT 1 FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey) AND {_VIRTUAL})
      -- functions and operators that are not PostgreSQL's own, whatever they are called
      AND NOT EXISTS (
        SELECT 1 FROM pg_catalog.pg_depend d
        WHERE d.classid = 'pg_constraint'::regclass AND d.objid = c.oid
          AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))"""

_FOREIGN_KEYS = f"""
    SELECT c.confrelid::bigint, (
      SELECT json_agg(json_build_array(a.attname, b.attname) ORDER BY k.place)::text
      FROM unnest(c.conkey, c.confkey) WITH ORDINALITY k (own, other, place)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own
      JOIN pg_catalog.pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other)
    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class target ON target.oid = c.confrelid
    WHERE c.conrelid = to_regclass(%s) AND c.contype = 'f' AND {_ENFORCED}
      AND NOT coalesce((to_jsonb(c) ->> 'conperiod')::boolean, false)
      -- a policy may hide rows of the target from us
      AND NOT target.relrowsecurity AND has_table_privilege(target.oid, 'SELECT')
      AND NOT EXISTS (
        SELECT 1 FROM unnest(c.conpfeqop) op JOIN pg_catalog.pg_operator o ON o.oid = op
        WHERE o.oprname <> '=' OR o.oprnamespace <> 'pg_catalog'::regnamespace)
      AND NOT EXISTS (
        SELECT 1 FROM unnest(c.conkey, c.confkey) k (own, other)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own
        JOIN pg_catalog.pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other
        WHERE a.attcollation <> b.attcollation OR NOT (a.atttypid = b.atttypid
          OR (a.atttypid::regtype::text IN ('smallint', 'integer', 'bigint')
            AND b.atttypid::regtype::text IN ('smallint', 'integer', 'bigint'))))"""

# The triggers that enforce a foreign key can be switched off, and rows that replication brings do not fire them.
_UNGUARDED = f"""{_TREE}
    SELECT EXISTS (
      SELECT 1 FROM pg_catalog.pg_trigger t JOIN tree ON t.tgrelid = tree.oid
      WHERE t.tgisinternal AND t.tgenabled NOT IN ('O', 'A'))
    OR EXISTS (SELECT 1 FROM pg_catalog.pg_subscription_rel s JOIN tree ON s.srrelid = tree.oid)"""


def postgres_constraints(
    connection: Connection, relation: Relation, targets: Iterable[Relation]
) -> tuple[Constraint, ...]:
    """The constraints of a table that PostgreSQL enforces on every row that a SELECT of it reads.

    Raises what the driver raises when the catalogue cannot be read; the transaction goes on all the same.
    """
    with connection.begin_nested():
        return tuple(_read(connection, relation, targets))


def _read(connection: Connection, relation: Relation, targets: Iterable[Relation]) -> Iterable[Constraint]:
    table = relation.sql
    version, citus, own, readable = look_up(connection, _OWN_ROWS, (table, table, table))[0]
    if _GENUINE.fullmatch(str(version)) is None or citus or not own or not readable:
        return
    for (column,) in look_up(connection, _NOT_NULL, (table,)):
        yield NotNullConstraint(column)
    release = int(re.sub(r"\D.*", "", str(version).removeprefix("PostgreSQL ")))
    database = _DATABASE_COLLATION if release >= 15 else "false"
    for (columns,) in look_up(connection, _UNIQUE.format(virtual=_VIRTUAL, database=database), (table,)):
        yield UniqueConstraint(tuple(json.loads(columns)))
    for expression, exact_text in look_up(connection, _CHECKS, (table,)):
        yield CheckConstraint(expression, bool(exact_text))
    known = list(targets)
    foreign_keys = look_up(connection, _FOREIGN_KEYS, (table,)) if known else []
    if not foreign_keys or look_up(connection, _UNGUARDED, (table,))[0][0]:
        return
    for target in known:
        if target.part is not None:
            continue
        oid = look_up(connection, "SELECT to_regclass(%s)::oid::bigint", (target.sql,))[0][0]
        for referenced, pairs in foreign_keys:
            if referenced == oid and not look_up(connection, _UNGUARDED, (target.sql,))[0][0]:
                columns, there = zip(*json.loads(pairs), strict=True)
                yield ForeignKeyConstraint(tuple(columns), target.sql, tuple(there))
