"""The columns of a dataset as Dagster shows them: types, constraints and tags as chips."""

from __future__ import annotations

from collections.abc import Sequence

from dagster import TableColumn, TableColumnConstraints, TableConstraints, TableSchema

from contract_checks.checks import expected_text
from contract_checks.dagster_defs.names import tag_key, tag_value
from contract_checks.metrics import (
    AllOf,
    Bound,
    Condition,
    FieldPath,
    FoundColumn,
    HasFormat,
    Length,
    Matches,
    MultipleOf,
    NotNull,
    NotOneOf,
    OneOf,
    Scalar,
    Size,
    Threshold,
    UniqueItems,
    Violations,
    field_text,
)
from contract_checks.model import Column, Dataset, Expectation, Thresholds, walk_columns

_SIGNS = {">=": "≥", ">": ">", "<=": "≤", "<": "<"}
_LISTED = 8


def promised_schema(dataset: Dataset) -> TableSchema:
    """The columns that the contract promises, nested ones by their path (`address.zip`)."""
    columns = [
        _column(dataset, path, column, column.type.text if column.type else "any")
        for path, column in walk_columns(dataset.columns)
        if not column.virtual
    ]
    return TableSchema(columns=columns, constraints=_table_constraints(dataset))


def found_schema(dataset: Dataset, found: Sequence[FoundColumn]) -> TableSchema:
    """The columns that are there with their own types, described by what the contract says of them."""
    promised = {path[0]: column for path, column in walk_columns(dataset.columns) if len(path) == 1}
    folded = {name.lower(): column for name, column in promised.items()}
    columns = []
    for one in found:
        column = promised.get(one.name) or folded.get(one.name.lower())
        kind = one.native_type or "untyped"
        if column is None:
            constraints = TableColumnConstraints(nullable=one.nullable, other=["not in the contract"])
            columns.append(TableColumn(one.name, kind, one.comment or None, constraints))
        else:
            as_promised = _column(dataset, (column.physical_name,), column, kind)
            columns.append(
                TableColumn(one.name, kind, as_promised.description, as_promised.constraints, as_promised.tags)
            )
    return TableSchema(columns=columns, constraints=_table_constraints(dataset))


def _column(dataset: Dataset, path: FieldPath, column: Column, kind: str) -> TableColumn:
    keys = [one for _, one in walk_columns(dataset.columns) if one.primary_key is not None]
    sole_key = column.primary_key is not None and len(keys) == 1
    other = ["primary key"] if column.primary_key is not None else []
    other += ["optional"] if column.optional else []
    other += _promises(dataset, path)
    return TableColumn(
        field_text(path),
        kind,
        "\n\n".join(part for part in (column.business_name, column.description) if part) or None,
        TableColumnConstraints(
            nullable=not (column.required or column.primary_key is not None),
            unique=column.unique or sole_key,
            other=list(dict.fromkeys(other)),
        ),
        _tags(column),
    )


def _tags(column: Column) -> dict[str, str]:
    tags = {tag_key(tag): "" for tag in column.tags}
    if column.classification:
        tags["classification"] = tag_value(column.classification)
    if column.sensitive:
        tags["sensitive"] = ""
    return tags


def _promises(dataset: Dataset, path: FieldPath) -> list[str]:
    return [
        text
        for expectation in dataset.expectations
        if expectation.field == path and (text := _promise(expectation)) is not None
    ]


def _promise(expectation: Expectation) -> str | None:
    requirement, metric = expectation.requirement, expectation.metric
    never = isinstance(requirement, Thresholds) and requirement.all_of == (Threshold("mustBe", 0),)
    if isinstance(metric, Violations) and never:
        return None if isinstance(metric.condition, NotNull) else condition_text(metric.condition)
    return f"{expectation.rule} {expected_text(requirement)}"


def _table_constraints(dataset: Dataset) -> TableConstraints:
    whole = [f"{one.rule} {expected_text(one.requirement)}" for one in dataset.expectations if one.field is None]
    keys = sorted(
        (column.primary_key, field_text(path))
        for path, column in walk_columns(dataset.columns)
        if column.primary_key is not None
    )
    if len(keys) > 1:
        whole.insert(0, f"primary key ({', '.join(name for _, name in keys)})")
    return TableConstraints(other=whole)


def condition_text(condition: Condition) -> str:
    """A condition in a few signs: `≥ 0`, `one of a, b`, `length ≤ 10`."""
    match condition:
        case NotNull():
            return "not null"
        case Bound(operator, limit):
            return f"{_SIGNS[operator]} {limit}"
        case Length(minimum, maximum):
            return f"length {_range(minimum, maximum)}"
        case Matches(pattern):
            return f"matches {pattern}"
        case HasFormat(name):
            return f"format {name}"
        case OneOf(values):
            return f"one of {_list(values)}"
        case NotOneOf(values):
            return f"none of {_list(values)}"
        case MultipleOf(divisor):
            return f"multiple of {divisor}"
        case Size(minimum, maximum):
            return f"size {_range(minimum, maximum)}"
        case UniqueItems():
            return "unique items"
        case AllOf(conditions):
            return " and ".join(condition_text(one) for one in conditions)


def _range(minimum: int | None, maximum: int | None) -> str:
    if minimum is None:
        return f"≤ {maximum}"
    if maximum is None:
        return f"≥ {minimum}"
    return f"{minimum}" if minimum == maximum else f"{minimum} to {maximum}"


def _list(values: Sequence[Scalar]) -> str:
    shown = ", ".join("null" if value is None else str(value) for value in values[:_LISTED])
    return shown if len(values) <= _LISTED else f"{shown} and {len(values) - _LISTED} more"
