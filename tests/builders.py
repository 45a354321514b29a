"""Small contracts for tests, and the questions tests ask of reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from contract_checks import dialects
from contract_checks.dialects.document import parse_document
from contract_checks.model import Contract
from contract_checks.results import CheckResult, Report


def odcs(
    properties: Sequence[Mapping[str, Any]] | str = (),
    quality: Sequence[Mapping[str, Any]] | str = (),
    *,
    name: str = "t",
    api: str = "v3.1.0",
    servers: Sequence[Mapping[str, Any]] = (),
    more: Mapping[str, Any] | None = None,
    schema: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """An ODCS contract about one table, as JSON text, which is YAML.

    `properties` and `quality` are values or YAML text; `schema` replaces both.
    """
    listed = yaml.safe_load(properties) if isinstance(properties, str) else list(properties)
    rules = yaml.safe_load(quality) if isinstance(quality, str) else list(quality)
    table: dict[str, Any] = {"name": name, "physicalName": name, "physicalType": "table", "properties": listed}
    if rules:
        table["quality"] = rules
    document: dict[str, Any] = {
        "apiVersion": api,
        "kind": "DataContract",
        "id": f"{name}-contract",
        "name": name,
        "version": "1.0.0",
        "status": "active",
        "schema": list(schema) if schema is not None else [table],
        **(more or {}),
    }
    if servers:
        document["servers"] = list(servers)
    return json.dumps(document, indent=1, default=str)


def contract_of(text: str, file: str = "test.odcs.yaml") -> Contract:
    """The contract that a text describes."""
    return dialects.read(parse_document(text, file))


def result(report: Report, rule: str, column: str | None = None) -> CheckResult:
    """The one result of that rule (its key or its id) and column; `AssertionError` unless there is exactly one."""
    found = [one for one in report.results if rule in (one.check.id, one.check.rule) and one.check.column == column]
    assert len(found) == 1, f"{rule} of {column}: {[one.check.name for one in report.results]}"
    return found[0]


def told(report: Report) -> str:
    """All that a report says, for messages of failing tests."""
    lines = [
        f"{one.status:8} {one.check.name:44} measured={one.measured!r} rows={one.rows} {one.description}"
        for one in report.results
    ]
    lines += [f"not checked: {clause.reason}" for data in report.datasets for clause in data.plan.not_checked]
    lines += [f"problem: {problem}" for problem in report.plan.contract.problems]
    return "\n".join(lines)
