"""The columns of a dataset as Dagster shows them: types, constraints and tags as chips."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from dagster import TableColumn, TableColumnConstraints, TableConstraints, TableSchema

from contract_checks.checks import expected_text
from contract_checks.dagster_defs.names import tag_key, tag_value
from contract_checks.metrics import (
    AllOf,
    Before,
    Bound,
    Condition,
    DuplicateKeys,
    FieldPath,
    FollowedWithin,
    FoundColumn,
    HasFormat,
    HasKeys,
    Length,
    Matches,
    MultipleOf,
    NotFuture,
    NotNull,
    NotOneOf,
    OneOf,
    Parsed,
    Query,
    Scalar,
    Size,
    Threshold,
    UniqueItems,
    Violations,
    field_text,
)
from contract_checks.model import Column, Dataset, Expectation, Thresholds, walk_columns
from contract_checks.wording import BOUND_SIGNS

_LISTED = 8
_NEVER = (Threshold("mustBe", 0),)


def promised_schema(dataset: Dataset) -> TableSchema:
    """The columns that the contract promises, nested ones by their path (`address.zip`)."""
    walked = walk_columns(dataset.columns)
    keys, promises = _primary_key(walked), _promises(dataset)
    columns = [
        _column(field_text(path), column.type.text if column.type else "any", column, keys, promises.get(path, []))
        for path, column in walked
        if not column.virtual
    ]
    return TableSchema(columns=columns, constraints=_table_constraints(dataset, keys))


def found_schema(dataset: Dataset, found: Sequence[FoundColumn]) -> TableSchema:
    """The columns that are there with their own types, described by what the contract says of them."""
    keys, promises = _primary_key(walk_columns(dataset.columns)), _promises(dataset)
    promised = {column.physical_name: column for column in dataset.columns}
    folded = {name.lower(): column for name, column in promised.items()}
    columns = []
    for one in found:
        column = promised.get(one.name) or folded.get(one.name.lower())
        kind = one.native_type or "untyped"
        if column is None:
            constraints = TableColumnConstraints(nullable=one.nullable, other=["not in the contract"])
            columns.append(TableColumn(one.name, kind, one.comment or None, constraints))
        else:
            columns.append(_column(one.name, kind, column, keys, promises.get((column.physical_name,), [])))
    return TableSchema(columns=columns, constraints=_table_constraints(dataset, keys))


def _column(name: str, kind: str, column: Column, keys: Sequence[str], promises: Sequence[str]) -> TableColumn:
    is_key = column.primary_key is not None
    other = [*(["primary key"] if is_key else []), *(["optional"] if column.optional else []), *promises]
    return TableColumn(
        name,
        kind,
        "\n\n".join(part for part in (column.business_name, column.description) if part) or None,
        TableColumnConstraints(
            nullable=not (column.required or is_key),
            unique=column.unique or (is_key and len(keys) == 1),
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


def _primary_key(walked: Sequence[tuple[FieldPath, Column]]) -> list[str]:
    keys = sorted((column.primary_key, field_text(path)) for path, column in walked if column.primary_key is not None)
    return [name for _, name in keys]


def _promises(dataset: Dataset) -> dict[FieldPath, list[str]]:
    """What the rules promise of each field, in the order of the rules."""
    promises: dict[FieldPath, list[str]] = defaultdict(list)
    for expectation in dataset.expectations:
        text = _promise(expectation)
        if expectation.field is not None and text is not None:
            promises[expectation.field].append(text)
    return promises


def _promise(expectation: Expectation) -> str | None:
    requirement, metric = expectation.requirement, expectation.metric
    never = isinstance(requirement, Thresholds) and requirement.all_of == _NEVER
    if isinstance(metric, Violations) and never:
        return None if isinstance(metric.condition, NotNull) else condition_text(metric.condition)
    return f"{_subject(expectation)} {expected_text(requirement)}"


def _subject(expectation: Expectation) -> str:
    """What a rule is about in a word or two: `rowCount`, `duplicateValues (a, b)`, the name of a query."""
    metric = expectation.metric
    if isinstance(metric, Query):
        return expectation.name or expectation.id or expectation.rule
    if isinstance(metric, DuplicateKeys) and expectation.field is None:
        return f"{expectation.rule} ({', '.join(field_text(path) for path in metric.fields)})"
    return expectation.rule


def _table_constraints(dataset: Dataset, keys: Sequence[str]) -> TableConstraints:
    whole = [f"{_subject(one)} {expected_text(one.requirement)}" for one in dataset.expectations if one.field is None]
    return TableConstraints(other=[f"primary key ({', '.join(keys)})", *whole] if len(keys) > 1 else whole)


def condition_text(condition: Condition) -> str:
    """A condition in a few signs: `≥ 0`, `one of a, b`, `length ≤ 10`."""
    match condition:
        case NotNull():
            return "not null"
        case Bound(operator, limit):
            return f"{BOUND_SIGNS[operator]} {limit}"
        case Length(minimum, maximum):
            return f"length {_range(minimum, maximum)}"
        case Matches(pattern, absent):
            return f"{'does not match' if absent else 'matches'} {pattern}"
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
        case HasKeys(names):
            return f"has {_list(names)}"
        case Parsed(pattern, bound):
            return f"{pattern} {condition_text(bound)}" if bound is not None else f"format {pattern}"
        case NotFuture():
            return "not in the future"
        case Before(count, unit):
            return f"before {count} {unit}s ago"
        case FollowedWithin(field, seconds):
            return f"at most {seconds} s before {field_text(field)}"
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
