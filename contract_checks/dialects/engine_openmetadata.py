"""Rules that name OpenMetadata as their engine: one of its test definitions with parameters, or its short form.

OpenMetadata's ODCS export writes tests that ODCS has no words for as `type: custom, engine: openmetadata`, with
`{name, testDefinition, parameterValues}` as the implementation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contract_checks.dialects.engines import Promise, Untranslatable, content_of, payload_text, promise_of
from contract_checks.dialects.openmetadata_definitions import read_definition
from contract_checks.dialects.openmetadata_engines import translate_native
from contract_checks.dialects.openmetadata_parameters import Parameters, Subject
from contract_checks.metrics import FieldPath
from contract_checks.model import Dataset

_KNOWN = ("name", "testDefinition", "parameterValues", "column", "description", "displayName")


def openmetadata(payload: Any, dataset: Dataset, column: FieldPath | None) -> Promise | tuple[Promise, ...]:
    """What a payload promises. Raises `Untranslatable`."""
    content, text = content_of(payload), payload_text(payload)
    if not isinstance(content, Mapping):
        raise Untranslatable(f"its implementation is no mapping: {text}")
    if "testDefinition" not in content:
        return promise_of(translate_native(content, dataset.columns, text))
    other = [key for key in content if key not in _KNOWN]
    if other:
        raise Untranslatable(f"{', '.join(map(repr, other))} has no counterpart here: {text}")
    definition = content["testDefinition"]
    if isinstance(definition, Mapping):
        definition = definition.get("name") or definition.get("fullyQualifiedName")
    values = content.get("parameterValues") or []
    if isinstance(values, list) and all(isinstance(one, Mapping) and "name" in one for one in values):
        values = {str(one["name"]): one.get("value") for one in values}
    if not isinstance(values, Mapping):
        raise Untranslatable(f"its parameterValues are no list of names and values: {text}")
    subject = Subject(dataset.key, dataset.columns, column)
    stated = content.get("column") or (".".join(column) if column else None)
    parameters = Parameters(values, subject.of_column(str(stated)) if stated else subject)
    read = read_definition(str(definition), parameters)
    if parameters.targets:
        raise Untranslatable(f"another table cannot be reached from here: {text}")
    return tuple(promise_of(one) for one in read)
