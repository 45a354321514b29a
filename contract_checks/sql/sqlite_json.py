"""Fields and items of JSON documents in SQLite, typed as their promises say.

SQLite keeps documents as text. A cell that is not of its promised type is counted by the check of types; text that is
no JSON has no fields.
"""

from __future__ import annotations

from sqlglot import exp, parse_one
from typing_extensions import override

from contract_checks.datatypes import Category, is_open_document
from contract_checks.metrics import EACH, ITEMS, Condition, FieldPath, field_text
from contract_checks.sql.interface import Sql, Unmeasurable, Value, call, count_if, is_not_null, json_path, number, text

_KINDS: dict[str, tuple[str, ...]] = {
    "string": ("text",),
    "integer": ("integer",),
    "number": ("integer", "real"),
    "boolean": ("true", "false"),
    "date": ("text",),
    "timestamp": ("text",),
    "time": ("text",),
    "object": ("object",),
    "map": ("object",),
    "array": ("array",),
    "vector": ("array",),
}
"""The types of JSON, in SQLite's words, that hold a category."""
_DOCUMENTS = ("object", "map", "array", "vector")


class SqliteJsonSql(Sql):
    """What SQLite's documents need; everything else is inherited."""

    def in_document(self, path: FieldPath) -> bool:
        """Whether a path leads into a column of JSON documents."""
        column = self.relation.find(path[0])
        return len(path) > 1 and column is not None and is_open_document(column.native_type, self.dialect)

    def holds(self, cell: exp.Expr, declared: Category) -> exp.Expr:
        """True where a cell holds a value of the declared category."""
        raise NotImplementedError

    @override
    def value(self, path: FieldPath) -> Value:
        if not self.in_document(path) or any(each in path for each in EACH):
            return super().value(path)
        return self._cell(exp.column(self._column(path).name, quoted=True), path, path[1:])

    def _cell(self, document: exp.Expr, path: FieldPath, below: FieldPath) -> Value:
        """The value at `below` inside `document`; an item that is no document is its own value."""
        declared = self.relation.declared.get(path, "string")
        native = "JSON" if declared in _DOCUMENTS else ""
        if not below:
            return Value(document, declared, native, format=self.relation.formats.get(path))
        parent = _inside(document, below[:-1], "JSON_EXTRACT") if len(below) > 1 else document
        inner = _inside(document, below, "JSON_EXTRACT")
        return Value(inner, declared, native, parent, format=self.relation.formats.get(path))

    @override
    def unparsed(self, path: FieldPath) -> exp.Expr | None:
        declared = self.relation.declared.get(path)
        if declared is None or not self.in_document(path):
            return super().unparsed(path)
        if declared not in _KINDS:
            raise Unmeasurable(f"a JSON document cannot hold the type {declared}")
        if path in self.relation.formats:
            raise Unmeasurable(f"the format of {field_text(path)} cannot be checked inside a document")
        if self.of_document_items(path):
            below = path[path.index(ITEMS) + 1 :]
            kind: exp.Expr = exp.column("type", table="items")
            if below:
                kind = _inside(exp.column("value", table="items"), below, "JSON_TYPE")
            cell = self._cell(exp.column("value", table="items"), path, below).expression
            return self.total_of(self._count_items(path, self._wrong(kind, cell, declared)))
        if any(each in path for each in EACH):
            raise Unmeasurable(f"the types of {field_text(path)} cannot be checked on SQLite")
        column = exp.column(self._column(path).name, quoted=True)
        return count_if(self._wrong(_inside(column, path[1:], "JSON_TYPE"), self.value(path).expression, declared))

    def _wrong(self, kind: exp.Expr, cell: exp.Expr, declared: Category) -> exp.Expr:
        """True where a cell is there and not of the declared type."""
        fits: exp.Expr = exp.In(this=kind.copy(), expressions=[text(one) for one in _KINDS[declared]])
        if declared in ("date", "timestamp", "time"):
            fits = exp.and_(fits, exp.Coalesce(this=self.holds(cell, declared), expressions=[number(0)]))
        return exp.and_(is_not_null(cell), exp.not_(fits))

    # ------------------------------------------------------------------ items

    def of_document_items(self, path: FieldPath) -> bool:
        """Whether a path stands for items of an array in a document, or for fields of them."""
        one_array = path.count(ITEMS) == 1 and not any(each in path for each in EACH if each != ITEMS)
        return one_array and self.in_document(path)

    def document_items(self, path: FieldPath, condition: Condition | None) -> exp.Expr:
        """How many items of the array break `condition`, or how many there are."""
        item = self._cell(exp.column("value", table="items"), path, path[path.index(ITEMS) + 1 :])
        return self._count_items(path, self.breaks(condition, item) if condition is not None else exp.true())

    def _count_items(self, path: FieldPath, predicate: exp.Expr) -> exp.Expr:
        place = path.index(ITEMS)
        column = exp.column(self._column(path).name, quoted=True)
        array = _inside(column, path[1:place], "JSON_EXTRACT")
        is_array = exp.EQ(this=_inside(column, path[1:place], "JSON_TYPE"), expression=text("array"))
        listed = exp.Case(ifs=[exp.If(this=is_array, true=array)]).sql(dialect="sqlite")
        query = f"(SELECT COUNT(*) FROM JSON_EACH({listed}) AS items WHERE {predicate.sql(dialect='sqlite')})"  # noqa: S608 - made of rendered trees
        counted: exp.Expr = parse_one(query, dialect="sqlite")
        return counted

    def total_of(self, counted: exp.Expr) -> exp.Expr:
        """The sum over all rows; 0 for none."""
        return exp.Coalesce(this=exp.Sum(this=counted), expressions=[number(0)])

    @override
    def violations(self, path: FieldPath, condition: Condition) -> exp.Expr:
        if self.of_document_items(path):
            return self.total_of(self.document_items(path, condition))
        return super().violations(path, condition)

    @override
    def offends(self, path: FieldPath, condition: Condition) -> exp.Expr:
        if self.of_document_items(path):
            return exp.GT(this=self.document_items(path, condition), expression=number(0))
        return super().offends(path, condition)

    @override
    def value_count(self, path: FieldPath) -> exp.Expr:
        if self.of_document_items(path):
            return self.total_of(self.document_items(path, None))
        return super().value_count(path)


def _inside(document: exp.Expr, below: FieldPath, function: str) -> exp.Expr:
    """What a function of SQLite says of the value at `below`; NULL where the document is no JSON."""
    valid = exp.EQ(this=call("JSON_VALID", document), expression=number(1))
    return exp.Case(ifs=[exp.If(this=valid, true=call(function, document, text(json_path(below))))])
