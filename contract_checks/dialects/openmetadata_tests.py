"""Test cases of a contract → expectations.

A contract usually only refers to its test cases. One that states `testDefinition` and `parameterValues` itself is
read here, and so is one of the side file beside the contract (see `openmetadata_side_file`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from contract_checks.dialects.conditions import ReadCondition
from contract_checks.dialects.engines import Untranslatable
from contract_checks.dialects.openmetadata_definitions import read_definition
from contract_checks.dialects.openmetadata_parameters import Parameters, Subject
from contract_checks.dialects.openmetadata_reading import (
    Flag,
    Path,
    Reader,
    Reference,
    Text,
    read_references,
    split_name,
)
from contract_checks.dialects.openmetadata_templates import Template
from contract_checks.model import Dataset, Expectation


class StatedTest(Reference):
    """A test case with its definition and parameters, as OpenMetadata's `tests/testCase.json` has it.

    `column` is a shorter word for an `entityLink` to one of the asset's columns.
    """

    test_definition: Any = None
    entity_link: Text | None = None
    column: Text | None = None
    parameter_values: Any = None
    tags: Any = None
    compute_passed_failed_row_count: Any = None
    use_dynamic_assertion: Flag | None = None
    dimension_columns: Any = None
    top_dimensions: Any = None
    entity_fqn: Any = None
    test_suite: Any = None
    test_suites: Any = None
    test_case_result: Any = None
    test_case_status: Any = None
    version: Any = None
    owners: Any = None
    reviewers: Any = None
    created_by: Any = None
    updated_at: Any = None
    updated_by: Any = None
    change_description: Any = None
    incremental_change_description: Any = None
    incident_id: Any = None
    failed_rows_sample: Any = None
    inspection_query: Any = None
    domains: Any = None
    data_products: Any = None
    followers: Any = None
    entity_status: Any = None


@dataclass(frozen=True)
class ReadTest:
    """What a test case comes down to: its expectations, and the tables of others it compares with."""

    expectations: tuple[Expectation, ...] = ()
    related: tuple[Dataset, ...] = ()


def read_test(
    reader: Reader,
    item: Mapping[str, Any],
    path: Path,
    subject: Subject,
    templates: Mapping[str, Template] | None = None,
) -> ReadTest:
    """The test case as expectations; nothing of it if it is reported as not checked."""
    values = dict(item)
    # `entityFQN` is not written in camelCase as all other keys are.
    values.setdefault("entityFqn", values.pop("entityFQN", None))
    case = reader.shape(StatedTest, values, path)
    if case is None:
        return ReadTest()
    definitions = read_references(reader, case.test_definition, (*path, "testDefinition"))
    name = (definitions[0].name or definitions[0].label) if definitions else ""
    title = f"the test case '{case.name}'" if case.name else "the test case"
    try:
        parameters = Parameters(_values(case), _subject(case, subject))
        _refuse_what_is_not_stated(case)
        template = (templates or {}).get(name)
        read = template.read(parameters) if template is not None else read_definition(name, parameters)
    except Untranslatable as reason:
        reader.skip(path, f"{title} cannot be evaluated: {reason}")
        return ReadTest()
    for message, hint in parameters.surprises:
        reader.warn(path, message, hint)
    if case.dimension_columns:
        reader.skip((*path, "dimensionColumns"), f"{title} is evaluated over all rows, not by dimension")
    related = tuple(
        Dataset(name, name, key, reader.at(*path), foreign=True) for name, key in parameters.targets.items()
    )
    return ReadTest(tuple(_expectation(reader, case, one, path, number) for number, one in enumerate(read)), related)


def _expectation(reader: Reader, case: StatedTest, read: ReadCondition, path: Path, number: int) -> Expectation:
    made = Expectation(
        rule=read.rule,
        metric=read.metric,
        requirement=read.requirement,
        location=reader.at(*path),
        section="quality",
        field=read.field,
        name=case.name,
        description=case.description or "",
    )
    # What a test says of the columns beside its rows is a check of its own.
    return replace(made, name=f"{case.name} columns") if number and case.name else made


def _values(case: StatedTest) -> dict[str, Any]:
    given = case.parameter_values
    if isinstance(given, Mapping):
        return {str(name): value for name, value in given.items()}
    if given is not None and not isinstance(given, list):
        raise Untranslatable("its parameterValues are no list of names and values")
    values: dict[str, Any] = {}
    for one in given or ():
        if not isinstance(one, dict) or "name" not in one:
            raise Untranslatable("its parameterValues are no list of names and values")
        if str(one["name"]) in values:
            raise Untranslatable(f"its parameter {one['name']} is there twice")
        values[str(one["name"])] = one.get("value")
    return values


def _subject(case: StatedTest, subject: Subject) -> Subject:
    """The asset or the column that the test is of. Raises `Untranslatable` for one of another asset."""
    if case.column:
        return subject.of_column(case.column)
    match = re.fullmatch(r"<#E::\w+::(?P<asset>.+?)(?:::columns::(?P<column>.+?))?>?", (case.entity_link or "").strip())
    if match is None:
        return subject
    asset = split_name(match["asset"])
    if subject.asset != asset and len(subject.asset) >= len(asset) > 1:
        raise Untranslatable(f"it is about another asset, '{match['asset']}'")
    return subject.of_column(match["column"].strip('"')) if match["column"] else subject


def _refuse_what_is_not_stated(case: StatedTest) -> None:
    if case.deleted:
        raise Untranslatable("it is marked as deleted")
    if case.use_dynamic_assertion:
        raise Untranslatable("OpenMetadata learns its bounds from earlier profiles (useDynamicAssertion)")
