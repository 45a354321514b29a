"""Databases with structs, maps and functions over lists that take a function: `x -> x > 0`.

Each says in its own words how lists are filtered, mapped and counted; what is asked of them is the same.
"""

from __future__ import annotations

from abc import abstractmethod

from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import category_of, field_type, is_open_document, parse_type
from contract_checks.metrics import EACH, ITEMS, MAP_KEYS, Condition, FieldPath, field_text
from contract_checks.sql.interface import Sql, Unmeasurable, Value, is_not_null, number, text

ITEM = "_item"
"""What a function over a list calls the item that it is given."""


class ListSql(Sql):
    """SQL in which the items of arrays, and the keys and values of maps, are judged one by one."""

    @abstractmethod
    def filtered(self, items: exp.Expr, keep: exp.Expr) -> exp.Expr:
        """The items for which a function is true."""

    @abstractmethod
    def mapped(self, items: exp.Expr, to: exp.Expr) -> exp.Expr:
        """What a function makes of each item."""

    @abstractmethod
    def joined(self, lists: exp.Expr) -> exp.Expr:
        """All items of a list of lists, those of its NULLs left out."""

    @abstractmethod
    def count_of(self, items: exp.Expr) -> exp.Expr:
        """How many items a list has; NULL for NULL."""

    @abstractmethod
    def distinct(self, items: exp.Expr) -> exp.Expr:
        """The items of a list without NULLs, each once."""

    @abstractmethod
    def contains(self, items: exp.Expr, item: exp.Expr) -> exp.Expr:
        """Whether an item is in a list."""

    @abstractmethod
    def part_of_map(self, value: exp.Expr, each: str) -> exp.Expr:
        """The keys or the values of a map as a list."""

    # ------------------------------------------------------------------ values

    @override
    def value(self, path: FieldPath) -> Value:
        if last_of_many(path) is not None:
            raise Unmeasurable(f"{field_text(path)} stands for many values of a row; this needs a single one")
        column = self._column(path)
        top: exp.Expr = exp.column(column.name, quoted=True)
        if len(path) > 1:
            return self._field(top, column.native_type, path, 1)
        category = self._category(column.native_type, column.category)
        return Value(top, category, column.native_type, format=self._format(path, category))

    def _field(self, base: exp.Expr, native_type: str, path: FieldPath, start: int) -> Value:
        """The field `path[start:]` below `base`, which has `native_type`."""
        expression, parent = base, None
        for index in range(start, len(path)):
            inner = field_type(native_type, (path[index],), self.dialect)
            if inner is None or is_open_document(native_type, self.dialect):
                raise Unmeasurable(f"{field_text(path[:index])} ({native_type}) has no field {path[index]}")
            parent, expression = expression, self.child(expression, path[index], native_type)
            native_type = inner
        category = category_of(native_type, self.dialect)
        return Value(expression, category, native_type, parent, format=self._format(path, category))

    # ------------------------------------------------------------------ items

    @override
    def violations(self, path: FieldPath, condition: Condition) -> exp.Expr:
        last = last_of_many(path)
        if last is None:
            return super().violations(path, condition)
        return self._summed(self.count_of(self._offending_items(path, last, condition)))

    @override
    def offends(self, path: FieldPath, condition: Condition) -> exp.Expr:
        last = last_of_many(path)
        if last is None:
            return super().offends(path, condition)
        return exp.GT(this=self.count_of(self._offending_items(path, last, condition)), expression=number(0))

    @override
    def value_count(self, path: FieldPath) -> exp.Expr:
        last = last_of_many(path)
        if last is None:
            return super().value_count(path)
        items, _ = self._items(path[: last + 1])
        return self._summed(self.count_of(items))

    def _summed(self, counts: exp.Expr) -> exp.Expr:
        return exp.Coalesce(this=exp.Sum(this=counts), expressions=[number(0)])

    def _offending_items(self, path: FieldPath, last: int, condition: Condition) -> exp.Expr:
        items, item_type = self._items(path[: last + 1])
        item = self._field(exp.column(ITEM), item_type, path, last + 1)
        return self.filtered(items, of_item(self.breaks(condition, item)))

    def _items(self, path: FieldPath) -> tuple[exp.Expr, str]:
        """All values named by `path`, whose end is one of EACH, as one list, and the type of one of them."""
        outer, each = path[:-1], path[-1]
        last = last_of_many(outer)
        if last is None:
            return self._as_list(self.value(outer), outer, each)
        items, item_type = self._items(outer[: last + 1])
        inner = self._field(exp.column(ITEM), item_type, outer, last + 1)
        listed, inner_type = self._as_list(inner, outer, each)
        return self.joined(self.mapped(items, of_item(listed))), inner_type

    def _as_list(self, value: Value, path: FieldPath, each: str) -> tuple[exp.Expr, str]:
        inner = field_type(value.native_type, (each,), self.dialect)
        if inner is None or is_open_document(value.native_type, self.dialect):
            wanted = "array" if each == ITEMS else "map"
            raise Unmeasurable(f"{field_text(path)} is no {wanted} but {value.native_type or value.category}")
        return (value.expression if each == ITEMS else self.part_of_map(value.expression, each)), inner

    # ------------------------------------------------------------------ conditions

    @override
    def size(self, value: Value) -> exp.Expr:
        kind = category_of(value.native_type, self.dialect)
        parsed = parse_type(value.native_type, self.dialect)
        if kind == "array":
            return self.count_of(value.expression)
        if kind == "map":
            return self.count_of(self.part_of_map(value.expression, MAP_KEYS))
        if kind == "object" and parsed is not None and not is_open_document(value.native_type, self.dialect):
            fields = number(len(parsed.expressions))
            return exp.Case(ifs=[exp.If(this=is_not_null(value.expression), true=fields)])
        return super().size(value)

    @override
    def lacks_keys(self, names: tuple[str, ...], value: Value) -> exp.Expr:
        if is_open_document(value.native_type, self.dialect):
            return super().lacks_keys(names, value)
        if category_of(value.native_type, self.dialect) == "map":
            keys = self.part_of_map(value.expression, MAP_KEYS)
            return exp.or_(*(exp.Not(this=self.contains(keys, text(name))) for name in names))
        if all(field_type(value.native_type, (name,), self.dialect) is not None for name in names):
            return exp.false()
        return is_not_null(value.expression)

    @override
    def repeated_items(self, value: Value) -> exp.Expr:
        if category_of(value.native_type, self.dialect) != "array":
            raise Unmeasurable(f"it needs an array, but the column is {value.native_type or value.category}")
        there = present(value.expression, self)
        return exp.LT(this=self.count_of(self.distinct(there)), expression=self.count_of(there))


def present(items: exp.Expr, sql: ListSql) -> exp.Expr:
    """The items of a list that are not NULL."""
    return sql.filtered(items, of_item(is_not_null(exp.column(ITEM))))


def last_of_many(path: FieldPath) -> int | None:
    """Where the last segment that stands for many values is; None if every segment is a single value."""
    found = [index for index, segment in enumerate(path) if segment in EACH]
    return found[-1] if found else None


def of_item(body: exp.Expr) -> exp.Expr:
    """The function of an item, called `ITEM` in it."""
    return exp.Lambda(this=body, expressions=[exp.to_identifier(ITEM)])
