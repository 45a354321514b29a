"""CHECK constraints → conditions of single columns, as far as both say exactly the same.

A constraint is the conjunction of what is read here and of what is not: each part of it is false for no row, so what
is understood holds whatever the rest says. Understood are comparisons of a column with a literal of its own type,
lists, lengths, and NULL. Whatever else there is (other functions, casts that change a value, texts by their order)
is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Literal, TypeAlias, TypeGuard, TypeVar

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from contract_checks.datatypes import category_of, is_float
from contract_checks.guarantees import CheckConstraint
from contract_checks.metrics import Bound, Condition, FoundColumn, Length, NotNull, OneOf, Scalar
from contract_checks.sql.interface import Relation

Fact: TypeAlias = "tuple[str, Condition]"
_Node = TypeVar("_Node", bound=exp.Expr)
_Operator: TypeAlias = Literal[">=", ">", "<=", "<"]

_COMPARISONS: dict[type[exp.Expr], _Operator] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
_FLIPPED: dict[_Operator, _Operator] = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_NUMBER = re.compile(r"-?[0-9]{1,38}(\.[0-9]{1,38})?")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TEXT_TYPE = re.compile(r"text|character varying(\([0-9]+\))?")
"""The types of PostgreSQL whose texts are what they are; those of fixed length have blanks that come and go."""
_T = exp.DataType.Type
_TEXTS = (_T.TEXT, _T.VARCHAR)


def conditions_of(check: CheckConstraint, relation: Relation) -> list[Fact]:
    """The conditions that `check` puts on single columns of the relation, by stored name."""
    if relation.dialect not in ("duckdb", "postgres"):
        return []
    try:
        tree = parse_one(check.sql, dialect=relation.dialect)
    except (SqlglotError, ValueError, RecursionError):
        return []
    return list(_Reader(check, relation).facts(tree))


class _Reader:
    """Reads the expression of one constraint."""

    def __init__(self, check: CheckConstraint, relation: Relation) -> None:
        self.exact_text, self.relation, self.dialect = check.exact_text, relation, relation.dialect

    def facts(self, tree: exp.Expr) -> Iterator[Fact]:
        """The conditions that are true, or NULL for a NULL, wherever the expression is not false."""
        node = tree.unnest()
        if _is(node, exp.And, "this", "expression"):
            yield from self.facts(node.left)
            yield from self.facts(node.right)
        elif _is(node, exp.Or, "this", "expression"):
            yield from self._optional(node)
        elif _is(node, exp.Between, "this", "low", "high"):
            yield from self._comparison(">=", node.this, node.args["low"])
            yield from self._comparison("<=", node.this, node.args["high"])
        elif _is(node, exp.In, "this", "expressions"):
            yield from self._list(node.this, node.expressions)
        elif _is(node, exp.EQ, "this", "expression"):
            yield from self._equal(node)
        elif type(node) in _COMPARISONS and _is(node, type(node), "this", "expression"):
            operator = _COMPARISONS[type(node)]
            yield from self._comparison(operator, node.this, node.expression)
            yield from self._comparison(_FLIPPED[operator], node.expression, node.this)
        else:
            column = self._is_null(node, negated=True)
            if column is not None and _is_scalar(column, self.dialect):
                yield column.name, NotNull()

    def _optional(self, node: exp.Or) -> Iterator[Fact]:
        """`x IS NULL OR …` says of x no more than `…` does, which passes for NULL as well.

        Of other columns it says nothing.
        """
        for one, other in ((node.left, node.right), (node.right, node.left)):
            column = self._is_null(one.unnest(), negated=False)
            if column is not None:
                for name, said in self.facts(other):
                    if name == column.name and not isinstance(said, NotNull):
                        yield name, said
                return

    def _is_null(self, node: exp.Expr, negated: bool) -> FoundColumn | None:
        """The column of `x IS NULL`, or of `x IS NOT NULL`, which has two trees."""
        outside = _is(node, exp.Not, "this")
        inner: exp.Expr = node.this.unnest() if outside else node
        if not _is(inner, exp.Is, "this", "expression", "negate") or not isinstance(inner.expression, exp.Null):
            return None
        return self._column(inner.this) if (outside != bool(inner.args.get("negate"))) == negated else None

    def _equal(self, node: exp.EQ) -> Iterator[Fact]:
        left, right = node.left.unnest(), node.right.unnest()
        if isinstance(right, exp.Any):
            array = right.this.unnest()
            if _is(array, exp.Cast, "this", "to") and self._is_text_array(array.to):
                array = array.this.unnest()
            if _is(array, exp.Array, "expressions", "bracket_notation"):
                yield from self._list(left, array.expressions)
            return
        yield from self._list(left, [right])
        yield from self._list(right, [left])

    def _is_text_array(self, kind: exp.DataType) -> bool:
        inner = kind.expressions[0] if kind.this is _T.ARRAY and len(kind.expressions) == 1 else None
        return isinstance(inner, exp.DataType) and inner.this in _TEXTS and not inner.expressions

    def _list(self, subject: exp.Expr, members: list[exp.Expr]) -> Iterator[Fact]:
        column = self._column(subject)
        if column is not None and members:
            values = [self._literal(one, column) for one in members]
            if all(one is not None for one in values):
                yield column.name, OneOf(tuple(values))
        elif len(members) == 1:
            yield from self._length(">=", subject, members[0])
            yield from self._length("<=", subject, members[0])

    def _comparison(self, operator: _Operator, subject: exp.Expr, limit: exp.Expr) -> Iterator[Fact]:
        column = self._column(subject)
        if column is None:
            yield from self._length(operator, subject, limit)
            return
        value = self._literal(limit, column)
        if value is not None and not isinstance(value, str):
            yield column.name, Bound(operator, value)

    def _length(self, operator: _Operator, subject: exp.Expr, limit: exp.Expr) -> Iterator[Fact]:
        """A bound of `length(x)`."""
        node = subject.unnest()
        if not _is(node, exp.Length, "this"):
            return
        column, size = self._column(node.this), _number(limit, _WHOLE)
        if column is None or size is None or not self._is_exact_text(column):
            return
        whole = int(size)
        if operator in (">=", ">"):
            yield column.name, Length(minimum=whole + (operator == ">"))
        else:
            yield column.name, Length(maximum=whole - (operator == "<"))

    def _column(self, node: exp.Expr) -> FoundColumn | None:
        """The column that an expression is, with nothing done to its values."""
        bare = node.unnest()
        if _is(bare, exp.Cast, "this", "to") and self.dialect == "postgres":
            column = self._column(bare.this)
            harmless = bare.to.this in _TEXTS and not bare.to.expressions
            return column if harmless and column is not None and self._is_exact_text(column) else None
        if not _is(bare, exp.Column, "this") or not isinstance(bare.this, exp.Identifier):
            return None
        column = self.relation.find(bare.name)
        if column is not None and self.dialect == "postgres" and column.name != bare.name:
            return None
        return column

    def _is_exact_text(self, column: FoundColumn) -> bool:
        return self.exact_text and self.dialect == "postgres" and _TEXT_TYPE.fullmatch(column.native_type) is not None

    def _literal(self, node: exp.Expr, column: FoundColumn) -> Scalar:
        """A literal as a value of the column's own type; None if it is none that compares exactly."""
        category = category_of(column.native_type, self.dialect)
        if category in ("integer", "number") and not is_float(column.native_type, self.dialect):
            # DuckDB shows 1e6, which makes doubles of both sides, as 1000000.0.
            exact = _WHOLE if category == "integer" or self.dialect == "duckdb" else _NUMBER
            return _number(_without_cast(node, self.dialect), exact)
        if category == "date":
            return _day(node)
        if category == "string" and self._is_exact_text(column):
            return _text(node)
        return None


def _is(node: exp.Expr, kind: type[_Node], *parts: str) -> TypeGuard[_Node]:
    """Whether a node is just of that kind and has no other parts than these, which might turn its meaning round."""
    return type(node) is kind and all(name in parts for name, part in node.args.items() if part)


def _is_scalar(column: FoundColumn, dialect: str) -> bool:
    """Whether IS NULL asks of a value as a whole; of a row of PostgreSQL it asks of each field."""
    return category_of(column.native_type, dialect) in ("integer", "number", "string", "date", "timestamp", "boolean")


def _without_cast(node: exp.Expr, dialect: str) -> exp.Expr:
    """A number as PostgreSQL writes it, `(0)::numeric` or `'-5'::integer`, without its type."""
    bare = node.unnest()
    if dialect != "postgres" or not _is(bare, exp.Cast, "this", "to") or bare.to.expressions:
        return bare
    inner = bare.this.unnest()
    if bare.to.this in (_T.SMALLINT, _T.INT, _T.BIGINT):
        return inner if _number(inner, _WHOLE) is not None else bare
    return inner if bare.to.this is _T.DECIMAL else bare


def _number(node: exp.Expr, shape: re.Pattern[str]) -> int | Decimal | None:
    bare = node.unnest()
    negative = _is(bare, exp.Neg, "this")
    literal = bare.this.unnest() if negative else bare
    if not isinstance(literal, exp.Literal) or (negative and literal.is_string):
        return None
    text = f"-{literal.name}" if negative else literal.name
    if shape.fullmatch(text) is None:
        return None
    return Decimal(text) if "." in text else int(text)


def _day(node: exp.Expr) -> date | None:
    bare = node.unnest()
    if _is(bare, exp.Cast, "this", "to") and bare.to.this is _T.DATE:
        bare = bare.this.unnest()
    if not isinstance(bare, exp.Literal) or not bare.is_string or _DAY.fullmatch(bare.name) is None:
        return None
    try:
        return date.fromisoformat(bare.name)
    except ValueError:
        return None


def _text(node: exp.Expr) -> str | None:
    bare = node.unnest()
    if _is(bare, exp.Cast, "this", "to") and bare.to.this in _TEXTS and not bare.to.expressions:
        bare = bare.this.unnest()
    plain = isinstance(bare, exp.Literal) and bare.is_string and "\\" not in bare.name
    return bare.name if plain else None
