"""Fields and items of JSON documents in PostgreSQL, typed as their promises say.

A cell of a document has JSON's own type. It is read as what the contract promises where it is that, and is NULL to
every other rule where it is not: that it is not is counted by the check of types.
"""

from __future__ import annotations

from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import Category, is_open_document
from contract_checks.metrics import EACH, ITEMS, Condition, FieldPath, field_text
from contract_checks.sql.interface import Sql, Unmeasurable, Value, call, count_if, is_not_null, number, text
from contract_checks.values import ISO_8601

_KINDS: dict[str, str] = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "date": "string",
    "timestamp": "string",
    "time": "string",
    "object": "object",
    "map": "object",
    "array": "array",
    "vector": "array",
}
"""The type of JSON that holds a category."""
_INTEGER = r"^-?[0-9]+$"
_ITEM = "item"


class PostgresJsonSql(Sql):
    """What PostgreSQL's documents need; everything else is inherited."""

    @override
    def value(self, path: FieldPath) -> Value:
        if len(path) == 1 or not self.in_document(path) or any(each in path for each in EACH):
            return super().value(path)
        column = exp.column(self._column(path).name, quoted=True)
        return self._cell(exp.cast(column, "JSONB"), path, path[1:])

    def in_document(self, path: FieldPath) -> bool:
        """Whether a path leads into a column of JSON documents."""
        return len(path) > 1 and is_open_document(self._column(path).native_type, self.dialect)

    def _cell(self, document: exp.Expr, path: FieldPath, below: FieldPath) -> Value:
        """The value at `below` inside `document`, in its declared type; `path` is its whole path."""
        keys = [text(key) for key in below]
        inner = call("JSONB_EXTRACT_PATH", document, *keys) if keys else document
        raw = call("JSONB_EXTRACT_PATH_TEXT", document, *keys) if keys else _scalar_text(document)
        parent = call("JSONB_EXTRACT_PATH_TEXT", document, *keys[:-1]) if len(keys) > 1 else document if keys else None
        declared = self.relation.declared.get(path, "string")
        if declared in ("object", "map", "array", "vector"):
            kind = exp.EQ(this=call("JSONB_TYPEOF", inner), expression=text(_KINDS[declared]))
            return Value(exp.Case(ifs=[exp.If(this=kind, true=inner)]), declared, "jsonb", parent, raw=raw)
        if declared in ("date", "timestamp", "time"):
            format = self.relation.formats.get(path, ISO_8601)  # noqa: A001 - the word of Value
            return Value(raw, "string", "text", parent, raw=raw, format=format)
        if declared in ("integer", "number", "boolean"):
            native = "boolean" if declared == "boolean" else "numeric"
            typed = exp.Case(ifs=[exp.If(this=self._fits(inner, raw, declared), true=exp.cast(raw.copy(), native))])
            return Value(typed, declared, native, parent, raw=raw)
        return Value(raw, "string", "text", parent, raw=raw)

    def _fits(self, inner: exp.Expr, raw: exp.Expr, declared: Category) -> exp.Expr:
        """True where a cell is of the declared type."""
        kind = exp.EQ(this=call("JSONB_TYPEOF", inner), expression=text(_KINDS[declared]))
        if declared != "integer":
            return kind
        return exp.and_(kind, exp.RegexpLike(this=raw.copy(), expression=text(_INTEGER)))

    # ------------------------------------------------------------------ types

    @override
    def unparsed(self, path: FieldPath) -> exp.Expr | None:
        declared = self.relation.declared.get(path)
        if declared is None or not self.relation.has(path) or not self.in_document(path):
            return super().unparsed(path)
        if declared not in _KINDS:
            raise Unmeasurable(f"a JSON document cannot hold the type {declared}")
        if self.of_document_items(path):
            return self._unparsed_items(path, declared)
        if any(each in path for each in EACH):
            raise Unmeasurable(f"the types of {field_text(path)} cannot be checked on {self.dialect}")
        if declared in ("date", "timestamp", "time"):
            return super().unparsed(path)  # by its format, value by value
        document = exp.cast(exp.column(self._column(path).name, quoted=True), "JSONB")
        return count_if(self._wrong(document, path[1:], declared))

    def _wrong(self, document: exp.Expr, below: FieldPath, declared: Category) -> exp.Expr:
        """True where what is at `below` in a document is there, and not of the declared type."""
        keys = [text(key) for key in below]
        inner = call("JSONB_EXTRACT_PATH", document, *keys) if keys else document
        raw = call("JSONB_EXTRACT_PATH_TEXT", document, *keys) if keys else _scalar_text(document)
        return exp.and_(is_not_null(raw), exp.not_(self._fits(inner, raw, declared)))

    def _unparsed_items(self, path: FieldPath, declared: Category) -> exp.Expr:
        if declared in ("date", "timestamp", "time"):
            raise Unmeasurable(f"the format of {field_text(path)} cannot be checked inside an array")
        wrong = self._wrong(exp.column(_ITEM, table="items"), path[path.index(ITEMS) + 1 :], declared)
        return self.total_of(self._count_items(path, wrong))

    # ------------------------------------------------------------------ items

    def of_document_items(self, path: FieldPath) -> bool:
        """Whether a path stands for items of an array in a document, or for fields of them."""
        if path.count(ITEMS) != 1 or any(each in path for each in EACH if each != ITEMS):
            return False
        return is_open_document(self._column(path).native_type, self.dialect)

    def document_items(self, path: FieldPath, condition: Condition | None) -> exp.Expr:
        """How many items of the array break `condition`, or how many there are."""
        item = self._cell(exp.column(_ITEM, table="items"), path, path[path.index(ITEMS) + 1 :])
        return self._count_items(path, self.breaks(condition, item) if condition is not None else exp.true())

    def _count_items(self, path: FieldPath, predicate: exp.Expr) -> exp.Expr:
        place = path.index(ITEMS)
        array: exp.Expr = exp.cast(exp.column(self._column(path).name, quoted=True), "JSONB")
        if place > 1:
            array = call("JSONB_EXTRACT_PATH", array, *(text(key) for key in path[1:place]))
        is_array = exp.EQ(this=call("JSONB_TYPEOF", array), expression=text("array"))
        listed = call("JSONB_ARRAY_ELEMENTS", exp.Case(ifs=[exp.If(this=is_array, true=array)]))
        broken = predicate.sql(dialect="postgres")
        source = listed.sql(dialect="postgres")
        query = f"(SELECT COUNT(*) FROM {source} AS items({_ITEM}) WHERE {broken})"  # noqa: S608 - made of rendered trees
        counted: exp.Expr = exp.maybe_parse(query, dialect="postgres")
        return counted

    def total_of(self, counted: exp.Expr) -> exp.Expr:
        """The sum over all rows; 0 for none."""
        return exp.Coalesce(this=exp.Sum(this=counted), expressions=[number(0)])


def _scalar_text(document: exp.Expr) -> exp.Expr:
    """The text of a document that is a single value; NULL for JSON's null."""
    return call("JSONB_EXTRACT_PATH_TEXT", call("JSONB_BUILD_ARRAY", document), text("0"))
