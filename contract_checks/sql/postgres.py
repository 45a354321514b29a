"""PostgreSQL."""

from __future__ import annotations

from typing import ClassVar, Literal

from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import Category, category_of, field_type, is_float, is_open_document
from contract_checks.metrics import ITEMS, Bound, Condition, FieldPath, field_text
from contract_checks.sql.interface import Unmeasurable, Value, call, count_if, is_not_null, number, text
from contract_checks.sql.postgres_json import PostgresJsonSql
from contract_checks.sql.postgres_patterns import bounded

_JSON_TYPES: dict[str, str] = {"object": "object", "map": "object", "array": "array", "vector": "array"}
_FAST_TO_SORT = frozenset(
    (
        *("smallint", "integer", "bigint", "date", "uuid"),
        *("timestamp without time zone", "timestamp with time zone"),
    )
)
"""Types of which a sort compares machine words."""


class PostgresSql(PostgresJsonSql):
    """PostgreSQL's SQL."""

    regex: ClassVar[Literal["re2", "postgres", "ecma"] | None] = "postgres"
    collation: ClassVar[str | None] = '"C"'
    plain_patterns: ClassVar[tuple[str, ...]] = ("whole",)

    @override
    def may_be_nan(self, value: Value) -> bool:
        return value.category == "number"  # NUMERIC has a NaN too

    @override
    def out_of_bound(self, bound: Bound, value: Value) -> exp.Expr:
        """PostgreSQL's NaN is greater than any other number, so that comparing tells most of it already."""
        outside = self.compare(bound, value, self.literal(bound.limit, value, bound.zone))
        told = bound.operator in ("<", "<=")
        if value.category != "number" or told == bound.nan:
            return outside
        # A constant of another type would have every value converted, and a large NUMERIC is no DOUBLE PRECISION.
        kind = "DOUBLE" if is_float(value.native_type, self.dialect) else "DECIMAL"
        nan = exp.EQ(this=value.expression.copy(), expression=exp.cast(text("NaN"), kind))
        return exp.or_(outside, nan) if bound.nan else exp.and_(outside, exp.Not(this=nan))

    @override
    def violations(self, path: FieldPath, condition: Condition) -> exp.Expr:
        if ITEMS not in path:
            # A little cheaper than to count what a CASE gives.
            where = exp.Where(this=self.offends(path, condition))
            return exp.Filter(this=exp.Count(this=exp.Star()), expression=where)
        if self.of_document_items(path):
            return self.total_of(self.document_items(path, condition))
        return exp.Coalesce(this=exp.Sum(this=self._offending_items(path, condition)), expressions=[number(0)])

    @override
    def offends(self, path: FieldPath, condition: Condition) -> exp.Expr:
        if ITEMS not in path:
            return super().offends(path, condition)
        if self.of_document_items(path):
            return exp.GT(this=self.document_items(path, condition), expression=number(0))
        return exp.GT(this=self._offending_items(path, condition), expression=number(0))

    @override
    def value_count(self, path: FieldPath) -> exp.Expr:
        if ITEMS not in path:
            return super().value_count(path)
        if self.of_document_items(path):
            return self.total_of(self.document_items(path, None))
        array = self._array(path)
        return exp.Coalesce(this=exp.Sum(this=call("CARDINALITY", array.expression)), expressions=[number(0)])

    @override
    def may_recur(self, fields: tuple[FieldPath, ...], table: exp.Expr) -> exp.Expr | None:
        """PostgreSQL sorts a key that fits a register in a third of the time that it takes to group it.

        The subquery is evaluated once, before the table is grouped, which is left out where it is false.
        """
        value = self.value(fields[0])
        if len(fields) > 1 or value.parent is not None or value.native_type.lower() not in _FAST_TO_SORT:
            return None
        distinct = exp.Count(this=exp.Distinct(expressions=[value.expression.copy()]))
        counts = exp.GT(this=exp.Count(this=value.expression.copy()), expression=distinct)
        return exp.select(counts).from_(table).subquery()

    @override
    def rare(self, predicate: exp.Expr) -> exp.Expr:
        """Of `LENGTH(a) > 9` PostgreSQL expects a third of the rows, which it would not let several workers collect.

        Of what a CASE gives it expects a two-hundredth.
        """
        flag = exp.Case(ifs=[exp.If(this=predicate, true=number(1))], default=number(0))
        return exp.EQ(this=flag, expression=number(1))

    @override
    def regexp(self, subject: exp.Expr, pattern: str) -> exp.Expr:
        cheaper = bounded(pattern)
        if cheaper is None:
            return super().regexp(subject, pattern)
        size = exp.Length(this=subject.copy())
        if cheaper.least == cheaper.most:
            fits: exp.Expr = exp.EQ(this=size, expression=number(cheaper.least))
        elif cheaper.most is None:
            fits = exp.GTE(this=size, expression=number(cheaper.least))
        else:
            fits = exp.Between(this=size, low=number(cheaper.least), high=number(cheaper.most))
        return exp.paren(exp.and_(fits, super().regexp(subject, cheaper.pattern)))

    def _array(self, path: FieldPath) -> Value:
        if path[-1] != ITEMS or ITEMS in path[:-1]:
            raise Unmeasurable(f"{field_text(path)}: only the items of a plain array can be checked on PostgreSQL")
        return self.value(path[:-1])

    def _offending_items(self, path: FieldPath, condition: Condition) -> exp.Expr:
        array = self._array(path)
        item_type = field_type(array.native_type, (ITEMS,), self.dialect)
        if item_type is None:
            raise Unmeasurable(f"{field_text(path[:-1])} is no array but {array.native_type or array.category}")
        item = Value(exp.column("item", table="items"), category_of(item_type, self.dialect), item_type)
        broken = self.breaks(condition, item).sql(dialect="postgres")
        unnested = array.expression.sql(dialect="postgres")
        query = f"(SELECT COUNT(*) FROM UNNEST({unnested}) AS items(item) WHERE {broken})"  # noqa: S608 - made of rendered trees
        return exp.maybe_parse(query, dialect="postgres")

    @override
    def unparsed_document(self, value: Value, declared: Category) -> exp.Expr | None:
        kind = _JSON_TYPES.get(declared)
        if kind is None:
            return None
        return count_if(exp.NEQ(this=self._json_kind(value), expression=text(kind)))

    def _json_kind(self, value: Value) -> exp.Expr:
        return call("JSONB_TYPEOF", exp.cast(value.expression.copy(), "JSONB"))

    @override
    def size(self, value: Value) -> exp.Expr:
        if is_open_document(value.native_type, self.dialect):
            document = exp.cast(value.expression.copy(), "JSONB")
            is_array = exp.EQ(this=self._json_kind(value), expression=text("array"))
            listed = call("JSONB_OBJECT_KEYS", document).sql(dialect="postgres")
            keys: exp.Expr = exp.maybe_parse(f"(SELECT COUNT(*) FROM {listed})", dialect="postgres")  # noqa: S608 - a tree
            length = call("JSONB_ARRAY_LENGTH", document)
            is_object = exp.EQ(this=self._json_kind(value), expression=text("object"))
            return exp.Case(ifs=[exp.If(this=is_array, true=length), exp.If(this=is_object, true=keys)])
        if value.category == "array":
            return call("CARDINALITY", value.expression)
        return super().size(value)

    @override
    def lacks_keys(self, names: tuple[str, ...], value: Value) -> exp.Expr:
        if not is_open_document(value.native_type, self.dialect):
            return super().lacks_keys(names, value)
        document = exp.cast(value.expression.copy(), "JSONB")
        found = [call("JSONB_EXISTS", document, text(name)) for name in names]
        return exp.and_(is_not_null(value.expression), exp.or_(*(exp.Not(this=one) for one in found)))

    @override
    def repeated_items(self, value: Value) -> exp.Expr:
        if value.category != "array":
            raise Unmeasurable(f"it needs an array, but the column is {value.native_type or value.category}")
        array = value.expression.sql(dialect="postgres")
        query = f"(SELECT COUNT(DISTINCT item) < COUNT(item) FROM UNNEST({array}) AS items(item))"  # noqa: S608 - made of rendered trees
        return exp.maybe_parse(query, dialect="postgres")
