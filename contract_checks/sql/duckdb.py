"""DuckDB: its own tables, Parquet with types, and CSV and JSON cells that are judged one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import Category, category_of, field_type, is_open_document, parse_type
from contract_checks.metrics import (
    ITEMS,
    MAP_KEYS,
    Bound,
    Condition,
    FieldPath,
    Parsed,
    field_text,
)
from contract_checks.sql.cells import CELL_TYPES, cell_value
from contract_checks.sql.interface import (
    NeedsValues,
    Relation,
    Sql,
    Unmeasurable,
    Value,
    call,
    count_if,
    is_not_null,
    is_null,
    json_path,
    number,
    text,
)
from contract_checks.sql.lists import ITEM, last_of_many, of_item
from contract_checks.values import CLOCK_SHAPE, DATE_SHAPE, OFFSET_SHAPE

_JSON_TYPES: dict[str, tuple[str, ...]] = {
    "integer": ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE"),
    "number": ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE"),
    "boolean": ("BOOLEAN",),
    "object": ("OBJECT",),
    "map": ("OBJECT",),
    "array": ("ARRAY",),
    "vector": ("ARRAY",),
}
_PLACE = "_place"
_FEW_ITEMS = 16
"""Up to so many items of an array are compared each with each."""
_PLAIN_ITEMS = ("string", "integer", "boolean", "date", "timestamp", "time")
"""Categories of items for which `=` says what LIST_UNIQUE says: no NaN, and nothing that holds NULLs."""
CELLS = "cells"
"""The list of values that a relation of JSON files has in place of columns."""


class DuckDbSql(Sql):
    """DuckDB's SQL."""

    regex: ClassVar[Literal["re2", "postgres", "ecma"] | None] = "re2"
    collation: ClassVar[str | None] = '"binary"'
    groups_first: ClassVar[bool] = True
    plain_patterns: ClassVar[tuple[str, ...]] = ("whole",)

    # ------------------------------------------------------------------ values

    @override
    def value(self, path: FieldPath) -> Value:
        if path in self.relation.values:
            return self.relation.values[path]
        if last_of_many(path) is not None:
            raise Unmeasurable(f"{field_text(path)} stands for many values of a row; this needs a single one")
        column = self._column(path)
        top: exp.Expr = exp.column(column.name, quoted=True)
        if self.relation.encoding == "csv":
            if len(path) > 1:
                raise Unmeasurable(f"a CSV cell has no field {field_text(path)}")
            return self.cell(top, path)
        if self.relation.encoding == "json":
            return self.json_value(self._document(path), path, path[1:])
        if len(path) == 1:
            category = self._category(column.native_type, column.category)
            return Value(top, category, column.native_type, format=self._format(path, category))
        return self._field(top, column.native_type, path, 1)

    def _field(self, base: exp.Expr, native_type: str, path: FieldPath, start: int) -> Value:
        """The field `path[start:]` below `base`, which has `native_type`."""
        expression, parent = base, None
        for index in range(start, len(path)):
            if is_open_document(native_type, self.dialect):
                return self.json_value(expression, path, path[index:])
            inner = field_type(native_type, (path[index],), self.dialect)
            if inner is None:
                raise Unmeasurable(f"{field_text(path[:index])} ({native_type}) has no field {path[index]}")
            parent, expression = expression, call("STRUCT_EXTRACT", expression, text(path[index]))
            native_type = inner
        category = category_of(native_type, self.dialect)
        return Value(expression, category, native_type, parent, format=self._format(path, category))

    def _document(self, path: FieldPath) -> exp.Expr:
        """The JSON value of a top-level key: an item of the list that the relation makes of each object."""
        place = self.relation.columns.index(self._column(path)) + 1
        return call("LIST_EXTRACT", exp.column(CELLS), number(place))

    def cell(self, raw: exp.Expr, path: FieldPath) -> Value:
        """The typed value of a text cell: NULL where the text is not of the declared type."""
        declared = self.relation.declared.get(path, "string")
        if path in self.relation.formats:
            return Value(raw, "string", "", raw=raw, format=self.relation.formats[path])
        if declared not in CELL_TYPES:
            return Value(raw, declared if declared == "string" else "unknown", "", raw=raw)
        typed, native_type = cell_value(raw, declared), CELL_TYPES[declared][1]
        return Value(typed, declared, native_type, raw=raw)

    def json_value(self, document: exp.Expr, path: FieldPath, below: FieldPath) -> Value:
        """The value at `below` inside a JSON document; `path` is its whole path, for its declared type."""
        raw = call("JSON_EXTRACT_STRING", document, text(json_path(below)))
        declared = self.relation.declared.get(path, "string")
        if declared in ("object", "map", "array", "vector"):
            inner = call("JSON_EXTRACT", document, text(json_path(below)))
            value = Value(inner, declared, "JSON", raw=raw)
        else:
            value = self.cell(raw, path)
        if not below:
            return value
        parent = call("JSON_EXTRACT_STRING", document, text(json_path(below[:-1])))
        return replace(value, parent=parent)

    # ------------------------------------------------------------------ items of arrays

    @override
    def violations(self, path: FieldPath, condition: Condition) -> exp.Expr:
        last = last_of_many(path)
        if last is None:
            return super().violations(path, condition)
        found = call("LEN", self._offending_items(path, last, condition))
        return exp.Coalesce(this=exp.Sum(this=found), expressions=[number(0)])

    @override
    def offends(self, path: FieldPath, condition: Condition) -> exp.Expr:
        last = last_of_many(path)
        if last is None:
            return super().offends(path, condition)
        return exp.GT(this=call("LEN", self._offending_items(path, last, condition)), expression=number(0))

    @override
    def value_count(self, path: FieldPath) -> exp.Expr:
        last = last_of_many(path)
        if last is None:
            return super().value_count(path)
        items, _ = self._items(path[: last + 1])
        return exp.Coalesce(this=exp.Sum(this=call("LEN", items)), expressions=[number(0)])

    def _offending_items(self, path: FieldPath, last: int, condition: Condition) -> exp.Expr:
        items, item_type = self._items(path[: last + 1])
        item = self._item_value(item_type, path, last + 1)
        return call("LIST_FILTER", items, of_item(self.breaks(condition, item)))

    def _items(self, path: FieldPath) -> tuple[exp.Expr, str]:
        """All values named by `path`, whose end is one of EACH, as one list, and the type of one of them."""
        outer, each = path[:-1], path[-1]
        last = last_of_many(outer)
        if last is None:
            return self._as_list(self.value(outer), outer, each)
        items, item_type = self._items(outer[: last + 1])
        inner = self._item_value(item_type, outer, last + 1)
        listed, inner_type = self._as_list(inner, outer, each)
        return call("FLATTEN", call("LIST_TRANSFORM", items, of_item(listed))), inner_type

    def _as_list(self, array: Value, path: FieldPath, each: str = ITEMS) -> tuple[exp.Expr, str]:
        if each != ITEMS:
            return self._of_map(array, path, each)
        if is_open_document(array.native_type, self.dialect):
            is_array = exp.EQ(this=call("JSON_TYPE", array.expression), expression=text("ARRAY"))
            listed = exp.cast(array.expression.copy(), "JSON[]", dialect="duckdb")
            return exp.Case(ifs=[exp.If(this=is_array, true=listed)]), "JSON"
        inner = field_type(array.native_type, (ITEMS,), self.dialect)
        if inner is None:
            raise Unmeasurable(f"{field_text(path)} is no array but {array.native_type or array.category}")
        return array.expression, inner

    def _of_map(self, value: Value, path: FieldPath, each: str) -> tuple[exp.Expr, str]:
        """The keys or the values of a map as one list."""
        if is_open_document(value.native_type, self.dialect) and value.category in ("map", "object"):
            if each == MAP_KEYS:
                return call("JSON_KEYS", value.expression), "VARCHAR"
            return call("JSON_EXTRACT", value.expression, text("$.*")), "JSON"
        inner = field_type(value.native_type, (each,), self.dialect)
        if inner is None or is_open_document(value.native_type, self.dialect):
            raise Unmeasurable(f"{field_text(path)} is no map but {value.native_type or value.category}")
        return call("MAP_KEYS" if each == MAP_KEYS else "MAP_VALUES", value.expression), inner

    def _item_value(self, item_type: str, path: FieldPath, start: int) -> Value:
        item = exp.column(ITEM)
        if is_open_document(item_type, self.dialect):
            return self.json_value(item, path, path[start:])
        if start == len(path):
            return Value(item, category_of(item_type, self.dialect), item_type)
        return self._field(item, item_type, path, start)

    # ------------------------------------------------------------------ types

    @override
    def unparsed(self, path: FieldPath) -> exp.Expr | None:
        declared = self.relation.declared.get(path)
        if declared is None or not self.relation.has(path):
            return None
        last = last_of_many(path)
        if last is not None:
            return self._unparsed_items(path, last, declared)
        document = self._document_of(path)
        if document is None and self.relation.encoding == "native":
            return super().unparsed(path)
        value = self.value(path)
        if value.format is not None:
            raise NeedsValues(Parsed(value.format))
        if document is not None:
            raw = value.raw if value.raw is not None else value.expression
            wrong = exp.and_(is_not_null(raw), self.wrong_zone(path, raw))
            return count_if(exp.or_(self._wrong_json(document, path[1:], declared, value), wrong))
        raw = value.raw if value.raw is not None else value.expression
        if declared in CELL_TYPES:
            wrong = exp.or_(is_null(value.expression), self.wrong_zone(path, raw))
            return count_if(exp.and_(is_not_null(raw), wrong))
        if declared == "string":
            return None
        raise Unmeasurable(f"a CSV file cannot hold the type {declared}")

    def _document_of(self, path: FieldPath) -> exp.Expr | None:
        """The document that a path leads into: a key of JSON files, or a column of documents; None for neither."""
        if self.relation.encoding == "json":
            return self._document(path)
        column = self._column(path)
        inside = len(path) > 1 and is_open_document(column.native_type, self.dialect)
        return exp.column(column.name, quoted=True) if inside and self.relation.encoding == "native" else None

    def _unparsed_items(self, path: FieldPath, last: int, declared: Category) -> exp.Expr | None:
        """How many items of arrays in documents are not of their declared type; types say it of other arrays."""
        items, item_type = self._items(path[: last + 1])
        if not is_open_document(item_type, self.dialect):
            if self.relation.encoding != "native" and declared != "string":
                raise Unmeasurable(f"the keys of a JSON object are texts, not {declared}")
            return None
        value = self._item_value(item_type, path, last + 1)
        if path in self.relation.formats:
            raise Unmeasurable(f"the format of {field_text(path)} cannot be checked inside an array")
        wrong = self._wrong_json(exp.column(ITEM), path[last + 1 :], declared, value)
        found = call("LEN", call("LIST_FILTER", items, of_item(wrong)))
        return exp.Coalesce(this=exp.Sum(this=found), expressions=[number(0)])

    def _wrong_json(self, document: exp.Expr, below: FieldPath, declared: Category, value: Value) -> exp.Expr:
        """True where what is at `below` in a document is there, and not of the declared type."""
        if declared in ("binary", "unknown"):
            raise Unmeasurable(f"a JSON document cannot hold the type {declared}")
        kind = call("JSON_TYPE", document, text(json_path(below)))
        allowed = [text(one) for one in _JSON_TYPES.get(declared, ("VARCHAR",))]
        wrong: exp.Expr = exp.Not(this=exp.In(this=kind, expressions=allowed))
        if declared in CELL_TYPES:
            wrong = exp.or_(wrong, is_null(value.expression))
        raw = value.raw if value.raw is not None else value.expression
        return exp.and_(is_not_null(raw), wrong)

    @override
    def unparsed_document(self, value: Value, declared: Category) -> exp.Expr | None:
        kinds = _JSON_TYPES.get(declared)
        if kinds is None or declared in CELL_TYPES:
            return None
        kind = call("JSON_TYPE", value.expression)
        return count_if(exp.Not(this=exp.In(this=kind, expressions=[text(one) for one in kinds])))

    # ------------------------------------------------------------------ conditions

    @override
    def compare(self, bound: Bound, value: Value, limit: exp.Expr) -> exp.Expr:
        if value.raw is not None and value.category == "timestamp" and bound.zone != "UTC":
            value = _in_zone(value, value.raw, bound.zone)
        outside = super().compare(bound, value, limit)
        if value.raw is None or value.category != "number":
            return outside
        # A double decides unless it equals the limit; then the digits of the text do.
        exact = exp.TryCast(this=value.raw.copy(), to=exp.DataType.build("DECIMAL(38,18)", "duckdb"))
        strict = exp.LT if bound.operator in (">=", ">") else exp.GT
        below = strict(this=value.expression.copy(), expression=limit.copy())
        equal = exp.EQ(this=value.expression.copy(), expression=limit.copy())
        exactly = super().compare(bound, Value(exact, "number", "DECIMAL(38,18)"), limit)
        return exp.or_(below, exp.and_(equal, exp.Coalesce(this=exactly, expressions=[outside])))

    @override
    def microseconds(self, moment: exp.Expr) -> exp.Expr:
        return call("EPOCH_US", moment)

    @override
    def key(self, path: FieldPath) -> exp.Expr:
        value = self.value(path)
        if value.raw is None or value.category != "number":
            return value.expression
        # 1.0 and 1.00 are one key, 2^53 and 2^53 + 1 are two.
        exact = exp.TryCast(this=value.raw.copy(), to=exp.DataType.build("DECIMAL(38,18)", "duckdb"))
        return exp.Coalesce(this=exp.cast(exact, "TEXT"), expressions=[exp.cast(value.expression.copy(), "TEXT")])

    @override
    def may_recur(self, fields: tuple[FieldPath, ...], table: exp.Expr) -> exp.Expr | None:
        """Texts that have no hash in common are no recurring key, and hashes are grouped in a quarter of the memory.

        Only where the cells were read into a table already: of files, this would be a second reading.
        """
        if not self.relation.values or all(self.value(path).category not in ("string", "number") for path in fields):
            return None
        hashed = call("HASH", *(self.key(path) for path in fields))
        twice = exp.GT(this=exp.Count(this=exp.Star()), expression=number(1))
        recurring = exp.select(hashed.copy()).from_(table).group_by(hashed.copy()).having(twice)
        return exp.In(this=hashed, query=recurring.subquery())

    @override
    def is_nan(self, expression: exp.Expr) -> exp.Expr:
        return call("ISNAN", expression)

    @override
    def no_multiple(self, divisor: object, value: Value) -> exp.Expr:
        parsed = parse_type(value.native_type, self.dialect)
        if value.raw is None and parsed is not None and parsed.this == exp.DataType.Type.DECIMAL:
            remainder = exp.Mod(this=value.expression.copy(), expression=number(divisor))  # type: ignore[arg-type]
            return exp.NEQ(this=remainder, expression=number(0))
        return super().no_multiple(divisor, value)  # type: ignore[arg-type]

    @override
    def size(self, value: Value) -> exp.Expr:
        if is_open_document(value.native_type, self.dialect):
            # What is of another type has no size; that it is, the check of types says.
            array = value.category == "array"
            length = call("JSON_ARRAY_LENGTH", value.expression)
            sized = length if array else call("LEN", call("JSON_KEYS", value.expression))
            shape = text("ARRAY" if array else "OBJECT")
            fits = exp.EQ(this=call("JSON_TYPE", value.expression), expression=shape)
            return exp.Case(ifs=[exp.If(this=fits, true=sized)])
        kind = category_of(value.native_type, self.dialect)
        if kind in ("array", "vector"):
            return call("LEN", value.expression)
        if kind == "map":
            return call("CARDINALITY", value.expression)
        parsed = parse_type(value.native_type, self.dialect)
        if kind == "object" and parsed is not None:
            fields = number(len(parsed.expressions))
            return exp.Case(ifs=[exp.If(this=is_not_null(value.expression), true=fields)])
        return super().size(value)

    @override
    def lacks_keys(self, names: tuple[str, ...], value: Value) -> exp.Expr:
        if is_open_document(value.native_type, self.dialect):
            kinds = [call("JSON_TYPE", value.expression, text(json_path((name,)))) for name in names]
            return exp.and_(exp.Not(this=value.absent), exp.or_(*(is_null(kind) for kind in kinds)))
        if category_of(value.native_type, self.dialect) == "map":
            found = [call("LIST_CONTAINS", call("MAP_KEYS", value.expression), text(name)) for name in names]
            return exp.or_(*(exp.Not(this=one) for one in found))
        if all(field_type(value.native_type, (name,), self.dialect) is not None for name in names):
            return exp.false()
        return is_not_null(value.expression)

    @override
    def repeated_items(self, value: Value) -> exp.Expr:
        if is_open_document(value.native_type, self.dialect):
            listed, _ = self._as_list(value, ())
            return _repeats(listed)
        if category_of(value.native_type, self.dialect) != "array":
            raise Unmeasurable(f"it needs an array, but the column is {value.native_type or value.category}")
        parsed = parse_type(value.native_type, self.dialect)
        items = category_of(parsed.expressions[0].sql(self.dialect), self.dialect) if parsed is not None else "unknown"
        if items not in _PLAIN_ITEMS:
            return _repeats(value.expression)
        few = exp.LTE(this=call("LEN", value.expression), expression=number(_FEW_ITEMS))
        found = exp.If(this=few, true=_repeats_among_few(value.expression))
        return exp.Case(ifs=[found], default=_repeats(value.expression))


def _repeats(listed: exp.Expr) -> exp.Expr:
    """True where a list holds an item twice, by a table of its items."""
    return exp.LT(this=call("LIST_UNIQUE", listed), expression=call("LIST_AGGREGATE", listed, text("count")))


def _repeats_among_few(listed: exp.Expr) -> exp.Expr:
    """The same by comparing each item with those before it, which takes a third of the time for short lists."""
    item, place = exp.column(ITEM), exp.column(_PLACE)
    before = exp.LT(this=call("LIST_POSITION", listed, item), expression=place)
    parameters = [exp.to_identifier(ITEM), exp.to_identifier(_PLACE)]
    again = exp.Lambda(this=exp.and_(is_not_null(item), before), expressions=parameters)
    return exp.GT(this=call("LEN", call("LIST_FILTER", listed, again)), expression=number(0))


def _in_zone(value: Value, raw: exp.Expr, zone: str) -> Value:
    """The instants of text cells, of which those without an offset are on the clock of `zone`."""
    with_offset = call("REGEXP_FULL_MATCH", raw, text(f"{DATE_SHAPE}[T ]{CLOCK_SHAPE}{OFFSET_SHAPE.removesuffix('?')}"))
    local = exp.TryCast(this=raw.copy(), to=exp.DataType.build("TIMESTAMP", "duckdb"))
    fits = is_not_null(value.expression)
    on_clock = exp.Case(ifs=[exp.If(this=fits, true=call("TIMEZONE", text(zone), local))])
    instant = exp.Case(ifs=[exp.If(this=with_offset, true=value.expression.copy())], default=on_clock)
    return replace(value, expression=instant)


def typed_columns(relation: Relation) -> str:
    """The select list that gives untyped cells the types of their promises, for users' queries."""
    sql = DuckDbSql(relation)
    parts = []
    for column in relation.columns:
        value = sql.value((column.name,))
        name = exp.to_identifier(column.name, quoted=True)
        parts.append(exp.Alias(this=value.expression, alias=name).sql(dialect="duckdb"))
    return ", ".join(parts)
