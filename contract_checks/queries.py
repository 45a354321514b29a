"""Users' SQL is untrusted: here a query is proven to be one SELECT that only reads tables.

A query is accepted only when the whole parsed tree is harmless. What cannot be parsed cannot be proven,
and is refused with that reason. This is one of two locks; the other is the connection, which is read-only
(see `sources/`).
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_FORBIDDEN: tuple[type[exp.Expr], ...] = (
    exp.Insert,
    exp.Update,
    exp.Delete,
    exp.Merge,
    exp.Create,
    exp.Drop,
    exp.Alter,
    exp.TruncateTable,
    exp.Command,
    exp.Copy,
    exp.Attach,
    exp.Detach,
    exp.Set,
    exp.Use,
    exp.Pragma,
    exp.Transaction,
    exp.Commit,
    exp.Rollback,
    exp.Grant,
    exp.Kill,
    exp.Into,
    exp.Lock,
    exp.QueryTransform,  # Spark hands rows to a shell command
    exp.Parameter,
    exp.SessionParameter,
)

# Functions that read files, reach out, wait, write, or change the session. A family is named by its start.
_PREFIXES = (
    "read_",
    "parquet_",
    "sniff_",
    "glob",
    "pg_",
    "lo_",
    "dblink",
    "query_to_xml",
    "table_to_xml",
    "database_to_xml",
    "schema_to_xml",
    "cursor_to_xml",
    "xpath_table",
    "postgres_",
    "mysql_",
    "sqlite_",
    "iceberg_",
    "delta_",
    "st_read",
    "http_",
    "load_",
    "fts3_",
    "sys_exec",
    "sys_eval",
    "duckdb_secrets",
    "system$",
)
_HARMLESS = frozenset({"pg_typeof", "pg_column_size"})
_NAMES = frozenset(
    {
        "query",
        "query_table",
        "getenv",
        "setval",
        "nextval",
        "set_config",
        "sleep",
        "benchmark",
        "edit",
        "writefile",
        "readfile",
        "fileio",
        "load_extension",
        "which_secret",
        "xp_cmdshell",
        "openrowset",
        "opendatasource",
        "openquery",
        "url",
        "file",
        "s3",
        "remote",
        "executable",
        "current_setting",
        "arrow_scan",
        "python_scan",
        "pandas_scan",
        "checkpoint",
        "force_checkpoint",
        "txid_current",
        "get_lock",
        "release_lock",
        "utl_http",
        "dbms_lock",
        "external_query",
        # Spark and Databricks: any method of Java, names made at run time, the secrets of the workspace
        "reflect",
        "try_reflect",
        "java_method",
        "identifier",
        "secret",
        "try_secret",
        "list_secrets",
        # ClickHouse
        "sleepeachrow",
        "catboostevaluate",
    }
)
_CLICKHOUSE_TABLES = frozenset({"numbers", "zeros", "generate_series", "generateseries", "values", "view", "null"})
"""The functions of ClickHouse that may stand in place of a table; the others reach files, servers and addresses."""
_SPARK_SOURCES = frozenset(
    {"avro", "binaryfile", "csv", "delta", "hudi", "iceberg", "image", "jdbc", "json", "libsvm", "orc", "parquet"}
    | {"text", "xml"}
)
"""The words before a path that Spark reads in place of a table: csv.`folder`."""


_FILE_NAME = re.compile(
    r"\.(csv|tsv|txt|parquet|pq|json|jsonl|ndjson|db|duckdb|sqlite|xlsx|gz|zst|arrow)\b", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def check_query(sql: str, dialect: str) -> str | None:
    """None if `sql` is one SELECT that only reads tables, else a sentence that says what is wrong."""
    logger = logging.getLogger("sqlglot")
    disabled, logger.disabled = logger.disabled, True  # it warns of statements that are refused below anyway
    try:
        statements = [statement for statement in sqlglot.parse(sql, dialect=dialect) if statement is not None]
    except (SqlglotError, RecursionError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        return f"the query cannot be parsed as {dialect} SQL, so it cannot be proven to be one SELECT: {first}"
    finally:
        logger.disabled = disabled
    if not statements:
        return "the query is empty"
    if len(statements) > 1:
        return f"the query holds {len(statements)} statements; it must be one SELECT"
    tree = statements[0]
    if not isinstance(tree, exp.Query):
        return f"the query is not a SELECT but {_word(tree)}"
    for node in tree.walk():
        if isinstance(node, _FORBIDDEN):
            return f"the query is more than a SELECT: it contains {_word(node)}"
        name = _function_name(node)
        if name and name not in _HARMLESS and (name in _NAMES or name.startswith(_PREFIXES)):
            return f"the query calls {name}(), which reaches beyond the tables"
        made = isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier)
        if dialect == "clickhouse" and made and _function_name(node.this) not in _CLICKHOUSE_TABLES:
            return f"the query calls {_function_name(node.this)}(), which reaches beyond the tables"
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            problem = _table_problem(node, dialect)
            if problem:
                return problem
    return None


_BRACES = re.compile(r"\$?\{[^{}]*\}")


def with_table(sql: str, dialect: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """The query with another table in the place of `old`, whatever it calls its columns.

    `old` and `new` are names in parts, the table last. The table is meant where its name stands alone or after
    the same schema. Placeholders stay. A query that cannot be parsed is given back as it is; it will be refused.
    """
    kept: list[str] = []

    def hide(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"contract_hidden_{len(kept) - 1}_"

    try:
        tree = sqlglot.parse_one(_BRACES.sub(hide, sql), dialect=dialect)
    except (SqlglotError, RecursionError):
        return sql
    defined = {one.alias_or_name.lower() for one in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if table.name.lower() != old[-1].lower() or (not table.db and table.name.lower() in defined):
            continue
        if table.db and (len(old) < 2 or table.db.lower() != old[-2].lower()):
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        table.set("this", exp.to_identifier(new[-1], quoted=True))
        table.set("db", exp.to_identifier(new[-2], quoted=True) if len(new) > 1 else None)
        table.set("catalog", None)
    return re.sub(r"contract_hidden_(\d+)_", lambda match: kept[int(match[1])], tree.sql(dialect=dialect))


_TELLS_NO_VALUE = (exp.Count, exp.Sum, exp.Avg, exp.Predicate, exp.Where, exp.Having, exp.Join, exp.Group, exp.Order)
"""In these a column is counted, added up or compared, which does not tell one of its values."""


def tells_a_value(sql: str, dialect: str, columns: frozenset[str]) -> bool:
    """Whether what a query gives may be a value of one of `columns` (in lower case), as `MAX(salary)` is.

    A count, a sum, an average or a comparison is none. Where that cannot be told, it may be one.
    """
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (SqlglotError, RecursionError):
        return True
    outer = tree.find(exp.Select)
    if outer is None:
        return True
    given = [node for part in outer.expressions for node in part.find_all(exp.Column, exp.Subquery, exp.Star)]
    if not any(_is_given(node) for node in given):
        return False
    told = (node for node in tree.find_all(exp.Column) if _is_given(node))
    return any(node.name.lower() in columns for node in told) or _gives_all(tree)


def _is_given(node: exp.Expr) -> bool:
    return node.find_ancestor(*_TELLS_NO_VALUE) is None


def _gives_all(tree: exp.Expr) -> bool:
    """Whether a `*` stands for columns that are not named."""
    return any(_is_given(star) for star in tree.find_all(exp.Star))


def _function_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return str(node.name).lower().rpartition(".")[2]
    if isinstance(node, exp.Func):
        return node.sql_name().lower()
    return ""


def _table_problem(table: exp.Table, dialect: str) -> str | None:
    """DuckDB and Spark read a file where a table has the name of one; PostgreSQL keeps secrets in pg_ tables."""
    name = table.name
    if "/" in name or "\\" in name or (dialect == "duckdb" and _FILE_NAME.search(name)):
        return f"the query reads the file '{name}', not a table"
    if dialect in ("spark", "databricks") and (table.db.lower() in _SPARK_SOURCES or "." in table.db):
        return f"the query reads the file '{name}', not a table"
    if name.lower().startswith("pg_") or table.db.lower() == "pg_catalog":
        return f"the query reads the system table {name}"
    return None


def _word(node: exp.Expr) -> str:
    if isinstance(node, exp.Command):
        return str(node.this).upper()
    return {"TruncateTable": "TRUNCATE", "Lock": "FOR UPDATE"}.get(type(node).__name__, type(node).__name__.upper())
