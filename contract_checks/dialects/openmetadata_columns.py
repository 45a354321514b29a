"""`schema` of OpenMetadata's proposal → columns, and expectations for their constraints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from contract_checks.dialects.conditions import (
    NONE_ALLOWED,
    UnreadableConditionError,
    typed_literal,
)
from contract_checks.dialects.openmetadata_reading import (
    Flag,
    Path,
    Reader,
    Shape,
    SnakeShape,
    Text,
    Texts,
    kind_of,
    short,
    warn_of_duplicates,
)
from contract_checks.dialects.openmetadata_schema import number_keys
from contract_checks.dialects.openmetadata_types import read_type
from contract_checks.metrics import Bound, Condition, Length, NotFuture, OneOf, OrphanKeys, Scalar, Violations
from contract_checks.model import Column, DeclaredType, Expectation

COLUMN_LISTS = ("columns", "fields", "inputs", "outputs")
"""The keys of `schema` that hold columns: of a table, of a message, of a model."""

_ROLES: dict[str, Literal["input", "output"]] = {"inputs": "input", "outputs": "output"}


class SchemaSection(Shape):
    """`schema`."""

    columns: Any = None
    fields_: Any = None
    inputs: Any = None
    outputs: Any = None
    strict: Flag = False


class ProposedColumn(Shape):
    """An item of `schema.columns`, `fields`, `inputs` or `outputs`."""

    name: Text
    type: Text | None = None
    nullable: Flag | None = None
    unique: Flag | None = None
    description: Text = ""
    tags: Texts | None = None
    constraints: Any = None


class Constraints(SnakeShape):
    """`constraints` of a column as a mapping."""

    not_null: Flag | None = None
    unique: Flag | None = None
    enum: list[Any] | None = None
    not_negative: Flag | None = None
    min_value: Any = None
    max_value: Any = None
    no_future_dates: Flag | None = None
    check_pii: Flag | None = None


def read_schema(reader: Reader, value: Any) -> tuple[tuple[Column, ...], list[Expectation], bool]:
    """The columns, the expectations of their constraints, and whether there may be no other columns."""
    expectations: list[Expectation] = []
    if value is None:
        reader.error((), "'schema' is missing", f"a mapping with one of {', '.join(COLUMN_LISTS)}")
        return (), expectations, False
    section = reader.shape(SchemaSection, value, ("schema",), "schema")
    if section is None:
        return (), expectations, False
    columns: list[Column] = []
    lists = (section.columns, section.fields_, section.inputs, section.outputs)
    for key, items in zip(COLUMN_LISTS, lists, strict=True):
        for item, path in reader.mappings(items, ("schema", key), "columns"):
            column = _column(reader, item, path, expectations)
            if column is not None:
                columns.append(replace(column, role=_ROLES.get(key, "")))
    if all(items is None for items in lists):
        reader.error(("schema",), f"'schema' has none of {', '.join(COLUMN_LISTS)}")
    warn_of_duplicates(reader, columns)
    return tuple(number_keys(columns)), expectations, section.strict


def _column(reader: Reader, item: dict[str, Any], path: Path, expectations: list[Expectation]) -> Column | None:
    shape = reader.shape(ProposedColumn, item, path, "schema")
    if shape is None:
        return None
    column = Column(
        name=shape.name,
        physical_name=shape.name,
        location=reader.at(*path),
        type=_type(reader, shape, path, expectations),
        required=shape.nullable is False,
        required_at=reader.at(*path, "nullable") if shape.nullable is False else None,
        unique=bool(shape.unique),
        unique_at=reader.at(*path, "unique") if shape.unique else None,
        description=shape.description,
        tags=tuple(shape.tags or ()),
    )
    where = (*path, "constraints")
    if isinstance(shape.constraints, dict):
        return _constraint_mapping(reader, shape.constraints, where, column, expectations)
    if isinstance(shape.constraints, list | str):
        words = shape.constraints if isinstance(shape.constraints, list) else [shape.constraints]
        return _constraint_words(reader, words, where, column, expectations)
    if shape.constraints is not None:
        reader.error(where, f"a mapping or a list is expected here, not {kind_of(shape.constraints)}")
    return column


def _type(reader: Reader, shape: ProposedColumn, path: Path, expectations: list[Expectation]) -> DeclaredType | None:
    if shape.type is None:
        reader.error(path, f"'type' is missing at the column '{shape.name}'")
        return None
    where = (*path, "type")
    read = read_type(shape.type)
    if read is None:
        reader.warn(where, f"the type '{shape.type}' is not known", "write a type of OpenMetadata, such as STRING")
        reader.skip(where, f"the type '{shape.type}' is not known", "schema")
        return None
    if read.ignored:
        reader.skip(where, f"of '{shape.type}' only the family of the type is compared", "schema")
    if read.max_length is not None:
        condition = Length(None, read.max_length)
        text = f"No value has more than {read.max_length} characters."
        expectations.append(column_expectation(reader, where, "maxLength", shape.name, condition, text))
    return read.declared


def column_expectation(
    reader: Reader, path: Path, rule: str, name: str, condition: Condition, text: str
) -> Expectation:
    """A schema promise about every value of the column `name`."""
    metric = Violations((name,), condition)
    return Expectation(rule, metric, NONE_ALLOWED, reader.at(*path), "schema", field=(name,), description=text)


def _constraint_mapping(
    reader: Reader, value: dict[str, Any], path: Path, column: Column, expectations: list[Expectation]
) -> Column:
    shape = reader.shape(Constraints, value, path, "schema")
    if shape is None:
        return column
    if shape.not_null:
        column = replace(column, required=True, required_at=reader.at(*path, "not_null"))
    if shape.unique:
        column = replace(column, unique=True, unique_at=reader.at(*path, "unique"))
    if shape.check_pii:
        column = replace(column, sensitive=True)
        reader.document_value((*path, "check_pii"), f"`{column.name}` is personal data; its values are masked.", "PII")
    if shape.no_future_dates:
        text = f"`{column.name}` is not in the future."
        where = (*path, "no_future_dates")
        expectations.append(column_expectation(reader, where, "no_future_dates", column.name, NotFuture(), text))

    def add(key: str, make: type[Bound] | None, *values: Any, operator: str = "") -> None:
        where = (*path, key)
        try:
            typed = tuple(_value(one, column) for one in values)
        except UnreadableConditionError as error:
            reader.error(where, f"'{key}' does not fit: {error}")
            return
        condition: Condition = make(operator, typed[0]) if make is not None else OneOf(typed)  # type: ignore[arg-type]
        text = _SENTENCES[key].format(name=column.name, value=", ".join(map(short, values)))
        expectations.append(column_expectation(reader, where, key, column.name, condition, text))

    if shape.enum is not None:
        if shape.enum:
            add("enum", None, *[value for value in shape.enum if value is not None])
        else:
            reader.error((*path, "enum"), "'enum' has no values")
    if shape.not_negative:
        add("not_negative", Bound, 0, operator=">=")
    if shape.min_value is not None:
        add("min_value", Bound, shape.min_value, operator=">=")
    if shape.max_value is not None:
        add("max_value", Bound, shape.max_value, operator="<=")
    return column


_SENTENCES = {
    "enum": "`{name}` is one of {value}.",
    "not_negative": "`{name}` is not negative.",
    "min_value": "`{name}` is at least {value}.",
    "max_value": "`{name}` is at most {value}.",
}


def _value(value: Any, column: Column) -> Scalar:
    if isinstance(value, list | dict):
        raise UnreadableConditionError(f"a single value is expected, not {kind_of(value)}")
    return typed_literal(value, column)


_REFERENCE = re.compile(r"FOREIGN[ _]KEY\s+(?:REFERENCES\s+)?([\w.]+)\s*\(\s*(\w+)\s*\)", re.IGNORECASE)


def _constraint_words(
    reader: Reader, words: Sequence[Any], path: Path, column: Column, expectations: list[Expectation]
) -> Column:
    for index, item in enumerate(words):
        where = (*path, index)
        if not isinstance(item, str):
            reader.error(where, f"a constraint must be text, not {kind_of(item)}")
            continue
        word = " ".join(item.replace("_", " ").upper().split())
        reference = _REFERENCE.fullmatch(item.strip())
        if word == "UNIQUE":
            column = replace(column, unique=True, unique_at=reader.at(*where))
        elif word == "NOT NULL":
            column = replace(column, required=True, required_at=reader.at(*where))
        elif word == "PRIMARY KEY":
            column = replace(column, primary_key=1)
        elif reference is not None:
            target, key = reference.groups()
            metric = OrphanKeys(((column.name,),), target, ((key,),))
            text = f"Every `{column.name}` is a `{key}` of {target}."
            place = reader.at(*where)
            field = (column.name,)
            expectations.append(
                Expectation("foreignKey", metric, NONE_ALLOWED, place, "schema", field=field, description=text)
            )
        else:
            reader.skip(where, f"the constraint '{short(item)}' of '{column.name}' is not understood", "schema")
    return column
