"""Test cases written out in a contract → expectations, by OpenMetadata's test definitions.

A contract usually only refers to its test cases. One that states `testDefinition` and `parameterValues`
itself is read here, with the names, defaults and pass rules of OpenMetadata's definitions; a definition
without an exact counterpart is not checked.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from contract_checks.dialects.conditions import (
    NONE_ALLOWED,
    ReadCondition,
    UnreadableConditionError,
    find_field,
    typed_literal,
    whole_number,
)
from contract_checks.dialects.openmetadata_engines import Untranslatable
from contract_checks.dialects.openmetadata_reading import Path, Reader, Reference, Text, read_references, short
from contract_checks.metrics import (
    Aggregate,
    AllOf,
    Bound,
    Condition,
    DuplicateKeys,
    FieldPath,
    Length,
    Matches,
    NotNull,
    NotOneOf,
    OneOf,
    Query,
    RowCount,
    Scalar,
    Threshold,
    Violations,
)
from contract_checks.model import Column, Expectation, Thresholds


class StatedTest(Reference):
    """A test case with its definition and parameters."""

    test_definition: Any = None
    entity_link: Text | None = None
    parameter_values: Any = None
    tags: Any = None
    compute_passed_failed_row_count: Any = None


def read_test(reader: Reader, item: dict[str, Any], path: Path, columns: Sequence[Column]) -> Expectation | None:
    """The test case as an expectation; None if it is reported as not checked."""
    case = reader.shape(StatedTest, item, path)
    if case is None:
        return None
    definitions = read_references(reader, case.test_definition, (*path, "testDefinition"))
    name = (definitions[0].name or definitions[0].label) if definitions else ""
    title = f"the test case '{case.name}'" if case.name else "the test case"
    try:
        read = _translated(name, _Parameters(case, columns))
    except Untranslatable as reason:
        reader.skip(path, f"{title} cannot be evaluated: {reason}")
        return None
    return Expectation(
        rule=read.rule,
        metric=read.metric,
        requirement=read.requirement,
        location=reader.at(*path),
        section="quality",
        field=read.field,
        name=case.name,
        description=case.description or "",
    )


def _translated(name: str, parameters: _Parameters) -> ReadCondition:
    if name not in _DEFINITIONS:
        raise Untranslatable(f"the test definition '{name}' has no exact counterpart here yet")
    read = _DEFINITIONS[name](parameters, name)
    parameters.nothing_left(name)
    return read


class _Parameters:
    """The parameters of a test case, which are all texts, taken one by one."""

    def __init__(self, case: StatedTest, columns: Sequence[Column]) -> None:
        values = case.parameter_values if isinstance(case.parameter_values, list) else []
        self.values = {str(one.get("name")): one.get("value") for one in values if isinstance(one, dict)}
        link = re.search(r"::columns::(.+?)>?$", case.entity_link or "")
        self.field: FieldPath | None = None
        self.column: Column | None = None
        if link is not None:
            self.field, self.column = find_field(link.group(1), columns)

    def text(self, key: str) -> str | None:
        value = self.values.pop(key, None)
        return None if value is None or value == "" else str(value)

    def flag(self, key: str, default: bool) -> bool:
        value = self.text(key)
        return default if value is None else value.strip().lower() == "true"

    def number(self, key: str) -> int | Decimal | None:
        text = self.text(key)
        if text is None:
            return None
        try:
            number = Decimal(text.strip())
        except InvalidOperation as error:
            raise Untranslatable(f"its parameter {key} is no number: {short(text)}") from error
        whole = whole_number(number)
        return number if whole is None else whole

    def whole(self, key: str) -> int | None:
        number = self.number(key)
        if isinstance(number, Decimal):
            raise Untranslatable(f"its parameter {key} is no whole number: {number}")
        return number

    def values_of(self, key: str) -> tuple[Scalar, ...]:
        text = self.text(key)
        listed: Any = None
        if text is not None:
            try:
                listed = json.loads(text, parse_float=Decimal)
            except ValueError:
                listed = _python_list(text)
        if not isinstance(listed, list) or not listed or any(isinstance(one, list | dict) for one in listed):
            raise Untranslatable(f"its parameter {key} is no list of values: {short(text)}")
        try:
            return tuple(typed_literal(one, self.column) for one in listed)
        except UnreadableConditionError as error:
            raise Untranslatable(f"its parameter {key} does not fit: {error}") from error

    def subject(self, name: str) -> FieldPath:
        if self.field is None:
            raise Untranslatable(f"'{name}' is about a column, which its entityLink does not name")
        return self.field

    def tolerance(self) -> Thresholds:
        """How many failures are tolerated (`threshold` of 2.1)."""
        if self.text("thresholdUnit") not in (None, "ABSOLUTE"):
            raise Untranslatable("a threshold in percent is not translated yet")
        allowed = self.number("threshold")
        return Thresholds((Threshold("mustBeLessOrEqualTo", allowed),)) if allowed else NONE_ALLOWED

    def nothing_left(self, name: str) -> None:
        left = [key for key in self.values if key not in ("columnValuesToBeNotNull", "columnValuesToBeUnique")]
        if left:
            raise Untranslatable(f"'{name}' has no parameter {', '.join(map(repr, left))}")


def _python_list(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


# --------------------------------------------------------------------------- definitions

_Definition = Callable[[_Parameters, str], ReadCondition]


def _values(condition: Callable[[_Parameters], Condition]) -> _Definition:
    def read(parameters: _Parameters, name: str) -> ReadCondition:
        field = parameters.subject(name)
        return ReadCondition(name, Violations(field, condition(parameters)), parameters.tolerance(), field)

    return read


def _unique(parameters: _Parameters, name: str) -> ReadCondition:
    field = parameters.subject(name)
    if parameters.number("threshold"):
        raise Untranslatable("a tolerance of duplicates counts rows in OpenMetadata, keys here")
    return ReadCondition(name, DuplicateKeys((field,)), NONE_ALLOWED, field)


def _in_set(parameters: _Parameters, name: str) -> ReadCondition:
    field, values = parameters.subject(name), parameters.values_of("allowedValues")
    if parameters.flag("matchEnum", False):
        # Rows in the set are counted, so that a NULL is outside it.
        condition = AllOf((NotNull(), OneOf(values)))
        return ReadCondition(name, Violations(field, condition), parameters.tolerance(), field)
    # Without matchEnum one row in the set is enough.
    found = Violations(field, NotOneOf(values))
    return ReadCondition(name, found, Thresholds((Threshold("mustBeGreaterOrEqualTo", 1),)), field)


def _between(parameters: _Parameters) -> Condition:
    column = parameters.column
    if column is None or column.type is None or not column.type.categories <= {"integer", "number"}:
        raise Untranslatable("bounds are numbers, and the contract does not declare the column as one")
    low, high = parameters.number("minValue"), parameters.number("maxValue")
    bounds = [Bound(">=", low)] if low is not None else []
    bounds += [Bound("<=", high)] if high is not None else []
    if not bounds:
        raise Untranslatable("it has no bound")
    return AllOf(tuple(bounds))


def _regex(parameters: _Parameters) -> Condition:
    pattern = parameters.text("regex")
    if pattern is None:
        raise Untranslatable("it has no regex")
    return Matches(pattern)


def _lengths(parameters: _Parameters) -> Condition:
    low, high = parameters.whole("minLength"), parameters.whole("maxLength")
    if low is None and high is None:
        raise Untranslatable("it has no bound")
    return Length(low, high)


def _aggregate(function: Literal["min", "max", "avg", "sum"], low_key: str, high_key: str) -> _Definition:
    def read(parameters: _Parameters, name: str) -> ReadCondition:
        field = parameters.subject(name)
        requirement = _range(parameters.number(low_key), parameters.number(high_key))
        return ReadCondition(name, Aggregate(function, field), requirement, field)

    return read


def _range(low: Scalar, high: Scalar) -> Thresholds:
    limits = [Threshold("mustBeGreaterOrEqualTo", low)] if low is not None else []
    limits += [Threshold("mustBeLessOrEqualTo", high)] if high is not None else []
    if not limits:
        raise Untranslatable("it has no bound")
    return Thresholds(tuple(limits))


def _missing(parameters: _Parameters, name: str) -> ReadCondition:
    field, count = parameters.subject(name), parameters.whole("missingCountValue")
    if count is None:
        raise Untranslatable("it has no missingCountValue")
    more = parameters.values_of("missingValueMatch") if parameters.values.get("missingValueMatch") else ()
    metric = Violations(field, NotOneOf((None, "", *more)))
    return ReadCondition(name, metric, Thresholds((Threshold("mustBe", count),)), field)


def _rows_equal(parameters: _Parameters, name: str) -> ReadCondition:
    count = parameters.whole("value")
    if count is None:
        raise Untranslatable("it has no value")
    return ReadCondition(name, RowCount(), Thresholds((Threshold("mustBe", count),)), None)


def _rows_between(parameters: _Parameters, name: str) -> ReadCondition:
    requirement = _range(parameters.whole("minValue"), parameters.whole("maxValue"))
    return ReadCondition(name, RowCount(), requirement, None)


_SqlOperator = Literal[
    "mustBe", "mustNotBe", "mustBeGreaterThan", "mustBeGreaterOrEqualTo", "mustBeLessThan", "mustBeLessOrEqualTo"
]
_SQL_OPERATORS: dict[str, _SqlOperator] = {
    "==": "mustBe",
    "!=": "mustNotBe",
    ">": "mustBeGreaterThan",
    ">=": "mustBeGreaterOrEqualTo",
    "<": "mustBeLessThan",
    "<=": "mustBeLessOrEqualTo",
}


def _sql(parameters: _Parameters, name: str) -> ReadCondition:
    query, operator = parameters.text("sqlExpression"), parameters.text("operator") or "<="
    if query is None:
        raise Untranslatable("it has no sqlExpression")
    if (parameters.text("strategy") or "ROWS").upper() != "COUNT":
        raise Untranslatable("a query whose rows are counted (strategy ROWS) is not run yet; write COUNT")
    if operator not in _SQL_OPERATORS:
        raise Untranslatable(f"its operator is none: {short(operator)}")
    threshold = Threshold(_SQL_OPERATORS[operator], parameters.number("threshold") or 0)
    return ReadCondition(name, Query(query.strip()), Thresholds((threshold,)), None)


_DEFINITIONS: dict[str, _Definition] = {
    "columnValuesToBeNotNull": _values(lambda parameters: NotNull()),
    "columnValuesToBeUnique": _unique,
    "columnValuesToBeInSet": _in_set,
    "columnValuesToBeNotInSet": _values(lambda parameters: NotOneOf(parameters.values_of("forbiddenValues"))),
    "columnValuesToMatchRegex": _values(_regex),
    "columnValuesToBeBetween": _values(_between),
    "columnValueLengthsToBeBetween": _values(_lengths),
    "columnValueMaxToBeBetween": _aggregate("max", "minValueForMaxInCol", "maxValueForMaxInCol"),
    "columnValueMinToBeBetween": _aggregate("min", "minValueForMinInCol", "maxValueForMinInCol"),
    "columnValueMeanToBeBetween": _aggregate("avg", "minValueForMeanInCol", "maxValueForMeanInCol"),
    "columnValuesSumToBeBetween": _aggregate("sum", "minValueForColSum", "maxValueForColSum"),
    "columnValuesMissingCount": _missing,
    "tableRowCountToEqual": _rows_equal,
    "tableRowCountToBeBetween": _rows_between,
    "tableCustomSQLQuery": _sql,
}
