"""Both OpenMetadata readers on documents whose parts are of the wrong kind."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_checks.checks import plan
from contract_checks.dialects.document import Document, parse_document, read_document
from contract_checks.dialects.interface import Dialect
from contract_checks.dialects.openmetadata import OpenMetadata
from contract_checks.dialects.openmetadata_proposal import OpenMetadataProposal
from contract_checks.errors import ContractError

VALID = Path(__file__).parents[1] / "examples" / "valid"
JUNK: tuple[Any, ...] = (None, True, -1, "", "junk (", [], [None], [["x"]], {}, {"junk": {"x": []}})


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every value in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def replaced(data: Any, path: tuple[str | int, ...], junk: Any) -> Any:
    """A copy of the document with another value at `path`."""
    changed = copy.deepcopy(data)
    parent = changed
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = junk
    return changed


def refusal(dialect: Dialect, document: Document) -> ContractError | None:
    """Why the document is refused, or None if it is read."""
    try:
        plan(dialect.read(document))
    except ContractError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        (OpenMetadata(), "openmetadata/export.yaml"),
        (OpenMetadataProposal(), "openmetadata_proposal/orders.yaml"),
        (OpenMetadataProposal(), "openmetadata_proposal/json_schema_form.yaml"),
        (OpenMetadataProposal(), "openmetadata_proposal/other_engines.yaml"),
        (OpenMetadataProposal(), "openmetadata_proposal/churn_prediction_model.yaml"),
    ],
)
def test_any_value_of_the_wrong_kind_is_read_or_refused_with_a_problem(dialect: Dialect, name: str) -> None:
    """whatever stands in a place, the reader answers with a contract or a `ContractError`, never otherwise."""
    document = read_document(VALID / name)

    for path in places(document.data):
        for junk in JUNK if path else ():
            error = refusal(dialect, Document(name, replaced(document.data, path, junk), "", document.lines))
            assert error is None or error.problems, (path, junk)


@pytest.mark.parametrize(
    "text",
    [
        "quality: {expectations: [{name: x, condition: row_count > 1e999999999}]}",
        "quality: {expectations: [{name: x, field: a, condition: '> 1e999999999'}]}",
        "sla: {refreshFrequency: {interval: 1e999, unit: day}}",
        "sla: {maxLatency: {value: 1e-999, unit: day}}",
        "sla: {maxLatency: 99999999999999999999 days}",
        "quality: [{name: x, type: custom, engine: openmetadata, implementation: {type: row_count, must_be: 1e99}}]",
    ],
)
def test_enormous_numbers_do_no_harm(text: str) -> None:
    """a number that nobody can write out is read or refused at once."""
    document = parse_document(f"name: t\nschema: {{columns: [{{name: a, type: 'DECIMAL(99999999999,3)'}}]}}\n{text}")

    error = refusal(OpenMetadataProposal(), document)

    assert error is None or error.problems
