"""`schema` of an OpenMetadata contract → columns, and expectations for declared lengths.

Columns are written as OpenMetadata's table entity has them (`table.json#/definitions/column`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from contract_checks.dialects.conditions import NONE_ALLOWED
from contract_checks.dialects.openmetadata_reading import (
    Path,
    Reader,
    Shape,
    Text,
    Whole,
    short,
    warn_of_duplicates,
)
from contract_checks.dialects.openmetadata_types import read_type
from contract_checks.metrics import ITEMS, FieldPath, Length, Violations
from contract_checks.model import Column, DeclaredType, Expectation

CONSTRAINTS = ("NULL", "NOT_NULL", "UNIQUE", "PRIMARY_KEY")
_NOT_PERSONAL = ("PII.None", "PII.NonSensitive")


class EntityColumn(Shape):
    """A column of OpenMetadata."""

    name: Text
    data_type: Text | None = None
    array_data_type: Text | None = None
    data_length: Whole | None = None
    precision: Whole | None = None
    scale: Whole | None = None
    data_type_display: Text | None = None
    display_name: Text | None = None
    description: Text | None = None
    fully_qualified_name: Text | None = None
    tags: list[Any] | None = None
    constraint: Text | None = None
    ordinal_position: Whole | None = None
    json_schema: Any = None
    children: Any = None
    profile: Any = None
    custom_metrics: Any = None
    extension: Any = None


def read_schema(
    reader: Reader, value: Any, path: Path, parent: FieldPath = ()
) -> tuple[tuple[Column, ...], tuple[Expectation, ...]]:
    """The columns of the list `value`, and an expectation for every length that is declared."""
    columns: list[Column] = []
    expectations: list[Expectation] = []
    for item, where in reader.mappings(value, path, "columns"):
        shape = reader.shape(EntityColumn, item, where, "schema")
        if shape is not None:
            columns.append(_column(reader, shape, where, parent, expectations))
    if not parent:
        warn_of_duplicates(reader, columns)
        columns = number_keys(columns)
    return tuple(columns), tuple(expectations)


def number_keys(columns: Sequence[Column]) -> list[Column]:
    """The columns with those of the primary key numbered in their order."""
    numbered, position = [], 0
    for column in columns:
        if column.primary_key is not None:
            position += 1
            column = replace(column, primary_key=position)
        numbered.append(column)
    return numbered


def entity_name(columns: Any) -> str:
    """The full name of the table whose columns these are, as their own full names tell it; empty if they do not."""
    found = set()
    for column in columns if isinstance(columns, list) else []:
        name, full = (
            (column.get("name"), column.get("fullyQualifiedName")) if isinstance(column, dict) else (None, None)
        )
        if isinstance(name, str) and isinstance(full, str):
            for ending in (f".{name}", f'."{name}"'):
                if full.endswith(ending):
                    found.add(full[: -len(ending)])
    return found.pop() if len(found) == 1 else ""


def _column(
    reader: Reader, shape: EntityColumn, path: Path, parent: FieldPath, expectations: list[Expectation]
) -> Column:
    field = (*parent, shape.name)
    constraint = (shape.constraint or "NULL").upper()
    if constraint not in CONSTRAINTS:
        message = f"'{shape.constraint}' is no constraint"
        reader.error((*path, "constraint"), message, f"one of {', '.join(CONSTRAINTS)}")
    tags = _tags(reader, shape.tags or [], (*path, "tags"))
    place = reader.at(*path, "constraint")
    column = Column(
        name=shape.name,
        physical_name=shape.name,
        location=reader.at(*path),
        type=_type(reader, shape, path, field, expectations),
        required=constraint == "NOT_NULL",
        required_at=place if constraint in ("NOT_NULL", "PRIMARY_KEY") else None,
        unique=constraint == "UNIQUE",
        unique_at=place if constraint == "UNIQUE" else None,
        primary_key=1 if constraint == "PRIMARY_KEY" else None,
        description=shape.description or "",
        business_name=shape.display_name or "",
        sensitive=any(_is_personal(tag) for tag in tags),
        tags=tags,
    )
    for key, value in (("jsonSchema", shape.json_schema), ("extension", shape.extension)):
        reader.document_value((*path, key), value)
    if shape.custom_metrics:
        reader.skip((*path, "customMetrics"), f"custom metrics of '{shape.name}' are not evaluated", "schema")
    if shape.profile:
        reader.document_value((*path, "profile"), value=short(shape.profile, 300))
    return _nested(reader, shape, path, field, column, expectations)


def _nested(
    reader: Reader,
    shape: EntityColumn,
    path: Path,
    field: FieldPath,
    column: Column,
    expectations: list[Expectation],
) -> Column:
    """Children are the fields of a struct; those of an array are the fields of its items."""
    if not shape.children:
        return column
    kind = (shape.data_type or "").upper()
    where = (*path, "children")
    if kind in ("STRUCT", "RECORD", "JSON", "OBJECT"):
        children, lengths = read_schema(reader, shape.children, where, field)
        expectations += lengths
        return replace(column, children=children)
    if kind == "ARRAY":
        children, lengths = read_schema(reader, shape.children, where, (*field, ITEMS))
        expectations += lengths
        items = Column(f"{shape.name}[]", ITEMS, column.location, children=children)
        return replace(column, items=items)
    reader.skip(where, f"the fields below '{shape.name}' are not looked for in a {kind or 'column'}", "schema")
    return column


def _type(
    reader: Reader, shape: EntityColumn, path: Path, field: FieldPath, expectations: list[Expectation]
) -> DeclaredType | None:
    if shape.data_type is None:
        reader.error(path, f"'dataType' is missing at the column '{shape.name}'")
        return None
    where = (*path, "dataType")
    read = read_type(shape.data_type, shape.precision, shape.scale, shape.data_length)
    if read is None:
        reader.skip(where, f"the type '{shape.data_type}' of '{shape.name}' has no counterpart in a database", "schema")
        return None
    if read.ignored:
        reader.skip(where, f"of '{shape.data_type}' only the family of the type is compared", "schema")
    if shape.array_data_type:
        reason = f"the type of the items of '{shape.name}' is not compared"
        reader.skip((*path, "arrayDataType"), reason, "schema")
    if read.max_length is not None:
        place = (*path, "dataLength") if shape.data_length is not None else where
        if read.max_length <= 1 and "(1)" not in f"{shape.data_type}{shape.data_type_display or ''}":
            # What OpenMetadata's connectors write when the database does not tell a length.
            reason = f"a dataLength of {read.max_length} stands for an unknown length; write it in dataTypeDisplay too"
            reader.skip(place, reason, "schema")
        else:
            metric = Violations(field, Length(None, read.max_length))
            text = f"No value has more than {read.max_length} characters."
            expectations.append(
                Expectation(
                    "dataLength", metric, NONE_ALLOWED, reader.at(*place), "schema", field=field, description=text
                )
            )
    declared = read.declared
    if declared.native is not None and "(" not in declared.text:
        scale = f",{shape.scale}" if shape.scale is not None else ""
        declared = replace(declared, text=f"{declared.text}({shape.precision}{scale})")
    return declared


def _tags(reader: Reader, values: Sequence[Any], path: Path) -> tuple[str, ...]:
    """Tags as names: a tag label's `tagFQN`, or the text it is."""
    found = []
    for index, value in enumerate(values):
        name = value.get("tagFQN") or value.get("name") if isinstance(value, dict) else value
        if isinstance(name, str) and name:
            found.append(name)
        else:
            reader.warn((*path, index), "a tag has no name", "write 'tagFQN'")
    return tuple(found)


def _is_personal(tag: str) -> bool:
    """Whether the tag is one of OpenMetadata's own for personal data."""
    return tag.startswith(("PII.", "PersonalData.")) and tag not in _NOT_PERSONAL
