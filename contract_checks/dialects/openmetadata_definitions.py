"""OpenMetadata's 25 test definitions → metrics and requirements, with its parameter names and pass rules.

Source: the definitions of `openmetadata-service/…/json/data/tests` and how release 2.0.7 evaluates them. Where a
rule of theirs surprises, it is kept and said (`Parameters.surprise`). On a column without any value a
definition about an aggregate compares nothing, which ends as Aborted there and as errored here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Literal, TypeAlias

from contract_checks.dialects.conditions import NONE_ALLOWED, ReadCondition, find_field
from contract_checks.dialects.engines import Untranslatable
from contract_checks.dialects.openmetadata_parameters import Parameters
from contract_checks.dialects.openmetadata_reading import short
from contract_checks.metrics import (
    Aggregate,
    AggregateFunction,
    AllOf,
    Before,
    Bound,
    ColumnCount,
    ColumnNames,
    Condition,
    DuplicateKeys,
    FarFrom,
    Length,
    Matches,
    NotNull,
    NotOneOf,
    OneOf,
    Operator,
    OtherColumns,
    OtherRows,
    Query,
    RowCount,
    Scalar,
    Threshold,
    Violations,
)
from contract_checks.model import Thresholds

Definition: TypeAlias = Callable[[Parameters, str], tuple[ReadCondition, ...]]
"""Reads the parameters of a test case of the definition of that name. Raises `Untranslatable`."""


def _values(condition: Callable[[Parameters], Condition], needs_values: bool = False) -> Definition:
    """Definitions that count the values which break a condition."""

    def read(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
        field = parameters.field(name)
        requirement = parameters.tolerance()
        if needs_values:
            requirement = replace(requirement, needs=Aggregate("min", field))
        return (ReadCondition(name, Violations(field, condition(parameters)), requirement, field),)

    return read


def _unique(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    """Values that occur exactly once are as many as values: every row with a recurring value counts."""
    field, tolerance = parameters.field(name), parameters.tolerance()
    of: Literal["keys", "rows"] = "keys" if tolerance == NONE_ALLOWED else "rows"
    return (ReadCondition(name, DuplicateKeys((field,), of), tolerance, field),)


def _in_set(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    field, values = parameters.field(name), parameters.values_of("allowedValues")
    if parameters.flag("matchEnum", False):
        # Rows in the set are counted, so that a NULL is outside it.
        condition = AllOf((NotNull(), OneOf(values)))
        return (ReadCondition(name, Violations(field, condition), parameters.tolerance(), field),)
    parameters.surprise(
        f"'{name}' passes as soon as one row has one of the values", "write matchEnum: true if every row has to"
    )
    parameters.no_tolerance()
    found = Violations(field, NotOneOf(values))
    return (ReadCondition(name, found, Thresholds((Threshold("mustBeGreaterOrEqualTo", 1),)), field),)


def _between(parameters: Parameters) -> Condition:
    low, high = parameters.bound("minValue", "low"), parameters.bound("maxValue", "high")
    bounds = [Bound(">=", low)] if low is not None else []
    bounds += [Bound("<=", high)] if high is not None else []
    if not bounds:
        raise Untranslatable("it has no bound")
    return AllOf(tuple(bounds))


def _lengths(parameters: Parameters) -> Condition:
    low, high = parameters.whole("minLength"), parameters.whole("maxLength")
    if low is None and high is None:
        raise Untranslatable("it has no bound")
    return Length(low, high)


def _aggregate(function: AggregateFunction, low_key: str, high_key: str) -> Definition:
    def read(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
        field = parameters.field(name)
        requirement = _range(parameters.number(low_key), parameters.number(high_key))
        parameters.no_tolerance()
        return (ReadCondition(name, Aggregate(function, field), requirement, field),)

    return read


def _range(low: Scalar, high: Scalar) -> Thresholds:
    limits = [Threshold("mustBeGreaterOrEqualTo", low)] if low is not None else []
    limits += [Threshold("mustBeLessOrEqualTo", high)] if high is not None else []
    if not limits:
        raise Untranslatable("it has no bound")
    return Thresholds(tuple(limits))


def _exactly(parameters: Parameters, key: str) -> Thresholds:
    count = parameters.whole(key)
    if count is None:
        raise Untranslatable(f"it has no {key}")
    return Thresholds((Threshold("mustBe", count),))


def _missing(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    field, requirement = parameters.field(name), _exactly(parameters, "missingCountValue")
    parameters.no_tolerance()
    if requirement != NONE_ALLOWED:
        parameters.surprise(
            f"'{name}' wants exactly {requirement.all_of[0].value} missing values; fewer fail as well",
            "0 wants none; a limit is columnValuesToBeNotNull with a threshold",
        )
    raw = parameters.values.get("missingValueMatch")
    if isinstance(raw, str) and not raw.lstrip().startswith("["):
        more: tuple[Scalar, ...] = parameters.names("missingValueMatch")
    else:
        more = parameters.values_of("missingValueMatch") if raw else ()
    return (ReadCondition(name, Violations(field, NotOneOf((None, "", *more))), requirement, field),)


def _expected_location(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    field, kind = parameters.field(name), parameters.required("locationReferenceType").upper()
    if kind not in ("CITY", "POSTAL_CODE"):
        raise Untranslatable(f"its locationReferenceType is neither CITY nor POSTAL_CODE: {short(kind)}")
    columns = parameters.subject.columns
    longitude, latitude = (
        find_field(parameters.required(key), columns)[0] for key in ("longitudeColumnName", "latitudeColumnName")
    )
    radius = parameters.number("radius")
    if radius is None or radius < 0:
        raise Untranslatable("it has no radius in metres")
    places = parameters.subject.places.get(kind)
    if not places:
        raise Untranslatable(
            f"where places are is not known; write locations: {{{kind}: {{name: [latitude, longitude]}}}} in the file "
            "of the tests"
        )
    parameters.no_tolerance()
    known = tuple((place, *point) for place, point in sorted(places.items()))
    return (ReadCondition(name, FarFrom(field, latitude, longitude, known, Decimal(radius)), NONE_ALLOWED, field),)


# --------------------------------------------------------------------------- tables


def _rows_equal(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    parameters.no_tolerance()
    return (ReadCondition(name, RowCount(), _exactly(parameters, "value"), None),)


def _rows_between(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    parameters.no_tolerance()
    return (ReadCondition(name, RowCount(), _range(parameters.whole("minValue"), parameters.whole("maxValue")), None),)


_UNITS: dict[str, Literal["hour", "day", "month", "year"]] = {
    "HOUR": "hour", "DAY": "day", "MONTH": "month", "YEAR": "year",
}  # fmt: skip


def _rows_inserted(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    requirement = _range(parameters.whole("min"), parameters.whole("max"))
    field, _ = find_field(parameters.required("columnName"), parameters.subject.columns)
    kind = parameters.required("rangeType").upper()
    count = parameters.whole("rangeInterval")
    if kind not in _UNITS:
        raise Untranslatable(f"its rangeType is none of {', '.join(_UNITS)}: {short(kind)}")
    if count is None or count < 0:
        raise Untranslatable("it has no rangeInterval")
    parameters.no_tolerance()
    return (ReadCondition(name, Violations(field, Before(count, _UNITS[kind])), requirement, None),)


def _columns_equal(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    parameters.no_tolerance()
    return (ReadCondition(name, ColumnCount(), _exactly(parameters, "columnCount"), None),)


def _columns_between(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    requirement = _range(parameters.whole("minColValue"), parameters.whole("maxColValue"))
    parameters.no_tolerance()
    return (ReadCondition(name, ColumnCount(), requirement, None),)


def _column_exists(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    parameters.no_tolerance()
    metric = ColumnCount(parameters.required("columnName"))
    return (ReadCondition(name, metric, Thresholds((Threshold("mustBeGreaterOrEqualTo", 1),)), None),)


def _column_set(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    names = parameters.names("columnNames")
    if not names:
        raise Untranslatable("it has no columnNames")
    given = parameters.values.pop("ordered", None)
    # OpenMetadata takes any text for true.
    ordered = given if isinstance(given, bool) else given is not None and given != ""
    if isinstance(given, str) and given.strip().lower() != "true" and ordered:
        parameters.surprise(
            f"OpenMetadata takes ordered: '{given}' for true, so that the order of the columns matters",
            "leave 'ordered' out",
        )
    parameters.no_tolerance()
    return (ReadCondition(name, ColumnNames(names, bool(ordered)), NONE_ALLOWED, None),)


_SQL_OPERATORS: dict[str, Operator] = {
    "==": "mustBe",
    "!=": "mustNotBe",
    ">": "mustBeGreaterThan",
    ">=": "mustBeGreaterOrEqualTo",
    "<": "mustBeLessThan",
    "<=": "mustBeLessOrEqualTo",
}


def _sql(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    query, operator = parameters.required("sqlExpression"), parameters.text("operator") or "<="
    strategy = (parameters.text("strategy") or "ROWS").upper()
    if strategy not in ("ROWS", "COUNT"):
        raise Untranslatable(f"its strategy is neither ROWS nor COUNT: {short(strategy)}")
    if operator not in _SQL_OPERATORS:
        raise Untranslatable(f"its operator is none: {short(operator)}")
    parameters.text("partitionExpression")  # only for the rows that OpenMetadata reports beside the result
    percent = (parameters.text("thresholdUnit") or "ABSOLUTE").upper() == "PERCENTAGE"
    threshold = (Threshold(_SQL_OPERATORS[operator], parameters.number("threshold") or 0),)
    requirement = Thresholds(threshold, "percent", RowCount()) if percent else Thresholds(threshold)
    metric = Query(query.strip(), result="rows" if strategy == "ROWS" else "count")
    return (ReadCondition(name, metric, requirement, None),)


def _diff(parameters: Parameters, name: str) -> tuple[ReadCondition, ...]:
    target = parameters.target("table2")
    keys, theirs = parameters.names("keyColumns"), parameters.names("table2.keyColumns")
    use, where = parameters.names("useColumns"), parameters.text("where") or ""
    exact, allowed = parameters.flag("caseSensitiveColumns", False), parameters.number("threshold") or 0
    parameters.text("thresholdUnit")
    if theirs and len(theirs) != len(keys):
        raise Untranslatable("keyColumns and table2.keyColumns are not equally many")
    if use and not keys:
        keys = tuple(one.name for one in parameters.subject.columns if one.primary_key is not None)
        if not keys:
            raise Untranslatable("it has no keyColumns, and the contract declares no primary key")
    renamed = tuple((own, other) for own, other in zip(keys, theirs, strict=False) if own != other)
    columns = tuple(dict.fromkeys((*keys, *use))) if use else ()
    requirement = NONE_ALLOWED
    if allowed > 1:
        requirement = Thresholds((Threshold("mustBeLessThan", allowed),))
    if allowed > 0:
        parameters.surprise(
            f"'{name}' passes with fewer than {allowed} differing rows, not with {allowed}",
            "a row that changed counts twice: as it is here, and as it is there",
        )
    return (
        ReadCondition(name, OtherRows(target, columns, renamed, where, exact), requirement, None),
        ReadCondition(f"{name}Columns", OtherColumns(target, columns, renamed, exact), NONE_ALLOWED, None),
    )


DEFINITIONS: dict[str, Definition] = {
    "columnValuesToBeNotNull": _values(lambda parameters: NotNull()),
    "columnValuesToBeUnique": _unique,
    "columnValuesToBeInSet": _in_set,
    "columnValuesToBeNotInSet": _values(lambda parameters: NotOneOf(parameters.values_of("forbiddenValues"))),
    "columnValuesToMatchRegex": _values(lambda parameters: Matches(parameters.required("regex"))),
    "columnValuesToNotMatchRegex": _values(lambda parameters: Matches(parameters.required("forbiddenRegex"), True)),
    "columnValuesToBeBetween": _values(_between, needs_values=True),
    "columnValueLengthsToBeBetween": _values(_lengths, needs_values=True),
    "columnValueMaxToBeBetween": _aggregate("max", "minValueForMaxInCol", "maxValueForMaxInCol"),
    "columnValueMinToBeBetween": _aggregate("min", "minValueForMinInCol", "maxValueForMinInCol"),
    "columnValueMeanToBeBetween": _aggregate("avg", "minValueForMeanInCol", "maxValueForMeanInCol"),
    "columnValueMedianToBeBetween": _aggregate("median", "minValueForMedianInCol", "maxValueForMedianInCol"),
    "columnValueStdDevToBeBetween": _aggregate("stddev", "minValueForStdDevInCol", "maxValueForStdDevInCol"),
    "columnValuesSumToBeBetween": _aggregate("sum", "minValueForColSum", "maxValueForColSum"),
    "columnValuesMissingCount": _missing,
    "columnValuesToBeAtExpectedLocation": _expected_location,
    "tableRowCountToEqual": _rows_equal,
    "tableRowCountToBeBetween": _rows_between,
    "tableRowInsertedCountToBeBetween": _rows_inserted,
    "tableColumnCountToEqual": _columns_equal,
    "tableColumnCountToBeBetween": _columns_between,
    "tableColumnNameToExist": _column_exists,
    "tableColumnToMatchSet": _column_set,
    "tableCustomSQLQuery": _sql,
    "tableDiff": _diff,
}
"""The definitions by the name that a test case refers to."""

OTHER_NAMES = {
    "columnValuesLengthsToBeBetween": "columnValueLengthsToBeBetween",
    "columnValuesMissingCountToBeEqual": "columnValuesMissingCount",
    "columnValueToBeAtExpectedLocation": "columnValuesToBeAtExpectedLocation",
}
"""Names that OpenMetadata's own files and documentation use for three of them."""


def read_definition(name: str, parameters: Parameters) -> tuple[ReadCondition, ...]:
    """What a test case of the definition `name` comes down to: all of them have to hold. Raises `Untranslatable`."""
    known = OTHER_NAMES.get(name, name)
    if known not in DEFINITIONS:
        raise Untranslatable(f"the test definition '{name}' is not known")
    read = DEFINITIONS[known](parameters, known)
    parameters.nothing_left(known)
    return read
