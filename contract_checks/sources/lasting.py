"""Whether the answer of a user's query lasts as long as the rows do.

A query that asks for the time, for chance, or for some rows in an order that nobody stated may answer otherwise
tomorrow. Only what is known to depend on rows alone is said to last; anything else is asked again.
"""

from __future__ import annotations

from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_SHAPE: tuple[type[exp.Expr], ...] = (
    exp.Select,
    exp.SetOperation,
    exp.Subquery,
    exp.From,
    exp.Join,
    exp.Where,
    exp.Group,
    exp.Having,
    exp.With,
    exp.CTE,
    exp.Table,
    exp.TableAlias,
    exp.Alias,
    exp.Column,
    exp.Identifier,
    exp.Star,
    exp.Distinct,
    exp.Filter,
    exp.Tuple,
    exp.Paren,
)
_VALUES: tuple[type[exp.Expr], ...] = (
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.DataType,
    exp.DataTypeParam,
    exp.Interval,
    exp.Var,
    exp.Case,
    exp.If,
    exp.Cast,
    exp.TryCast,
    exp.In,
    exp.Between,
    exp.Is,
    exp.Not,
    exp.Neg,
    exp.And,
    exp.Or,
    exp.EQ,
    exp.NEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.IntDiv,
    exp.Mod,
    exp.DPipe,
    exp.Like,
    exp.ILike,
    exp.Exists,
)
_FUNCTIONS: tuple[type[exp.Expr], ...] = (
    exp.Count,
    exp.CountIf,
    exp.Sum,
    exp.Min,
    exp.Max,
    exp.Avg,
    exp.Median,
    exp.Stddev,
    exp.StddevPop,
    exp.StddevSamp,
    exp.Variance,
    exp.VariancePop,
    exp.Coalesce,
    exp.Nullif,
    exp.Greatest,
    exp.Least,
    exp.Abs,
    exp.Round,
    exp.Floor,
    exp.Ceil,
    exp.Sqrt,
    exp.Lower,
    exp.Upper,
    exp.Length,
    exp.Trim,
    exp.Substring,
    exp.Concat,
    exp.StartsWith,
    exp.EndsWith,
    exp.RegexpLike,
    exp.Extract,
    exp.Year,
    exp.Month,
    exp.Day,
    exp.DateDiff,
    exp.DateTrunc,
    exp.TimestampTrunc,
    exp.IsNan,
)
_KNOWN = frozenset((*_SHAPE, *_VALUES, *_FUNCTIONS))
_NO_COLUMNS = frozenset({"user", "current_role", "current_catalog", "current_schema", "current_database"})
"""Words that look like columns and are none."""


@lru_cache(maxsize=1024)
def lasts(sql: str, dialect: str, tables: frozenset[str]) -> bool:
    """Whether a query's answer can change only with the rows of `tables` (names in lower case)."""
    try:
        tree = sqlglot.parse_one(sql, dialect=dialect)
    except (SqlglotError, RecursionError):
        return False
    if not isinstance(tree, exp.Query):
        return False
    known = tables | {one.alias_or_name.lower() for one in tree.find_all(exp.CTE)}
    for node in tree.walk():
        if type(node) not in _KNOWN and not isinstance(node, exp.SetOperation):
            return False
        if isinstance(node, exp.Table):
            plain = isinstance(node.this, exp.Identifier) and not node.args.get("db") and not node.args.get("catalog")
            if not plain or node.name.lower() not in known:
                return False
        if isinstance(node, exp.Column) and node.name.lower() in _NO_COLUMNS:
            return False
    return True
