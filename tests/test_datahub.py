"""What DataHub's ODCS source makes of every rule, and what is made of it here.

DataHub translates and evaluates nothing; its typed assertions are rules that it understood. Every such rule is a check
here, with the same operator and value. What it keeps as a custom assertion is a check here where the standard
says what it means, and otherwise documentation or not checked.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from databases import SHARED

from contract_checks.dialects import load
from contract_checks.dialects.document import json_path, read_document
from contract_checks.errors import ContractError
from contract_checks.metrics import (
    DuplicateKeys,
    Matches,
    Metric,
    NotNull,
    OneOf,
    Query,
    RowCount,
    Threshold,
    Violations,
)
from contract_checks.model import Contract, Expectation, Thresholds

FOLDER = SHARED / "corpus" / "datahub"
CORPUS = SHARED / "corpus" / "odcs"

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the third-party test data is not here")

OPERATORS = {
    "EQUAL_TO": "mustBe",
    "NOT_EQUAL_TO": "mustNotBe",
    "GREATER_THAN": "mustBeGreaterThan",
    "GREATER_THAN_OR_EQUAL_TO": "mustBeGreaterOrEqualTo",
    "LESS_THAN": "mustBeLessThan",
    "LESS_THAN_OR_EQUAL_TO": "mustBeLessOrEqualTo",
    "BETWEEN": "mustBeBetween",
}

OUTCOMES_OF_CUSTOM = {
    "library": "the standard defines the metric; it only has no typed assertion there",
    "sql": "a query whose answer is compared with true or a text",
    "translated": "a payload of another engine that says the same as a metric",
    "documentation": "a text for people",
    "not checked": "a metric or engine that the standard does not define",
}
"""What becomes here of rules that DataHub keeps as they are, and why."""


@dataclass(frozen=True)
class Rule:
    """A rule of a document: where it stands and what it says."""

    path: str
    entry: dict[str, Any]


@cache
def assertions() -> dict[tuple[str, str], list[dict[str, str]]]:
    """DataHub's assertions about rules, by file and name of the object, in its order.

    Rows that the file does not hold whole (a query with line breaks and quotes) are left out, and so are the
    objects they belong to.
    """
    found: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for name in ("fixtures_assertions.tsv", "corpus_assertions.tsv"):
        with (FOLDER / name).open(newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["type"] and row["type"] != "DATA_SCHEMA":
                    found[row["file"], _object(row["entity"])].append(row)
    return {key: rows for key, rows in found.items() if all(row["odcs_props"] for row in rows)}


def _object(urn: str) -> str:
    return urn.split(",")[1]


def _path_of(file: str) -> Path:
    return FOLDER / file if (FOLDER / file).is_file() else CORPUS / file


@cache
def _contract(file: str) -> Contract | None:
    try:
        return load(_path_of(file))
    except ContractError:
        return None


def _rules(file: str, urn: str) -> list[Rule]:
    """The rules of one object in DataHub's order: its own, then those of properties depth first, items left out."""
    data: Any = read_document(_path_of(file)).data
    found: list[Rule] = []
    for index, entry in enumerate(data["schema"]):
        if urn == f"{data.get('id')}.{entry['name']}":
            found += _listed(entry, ("schema", index))
            found += _below(entry, ("schema", index))
    return found


def _below(entry: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[Rule]:
    for index, child in enumerate(entry.get("properties") or []):
        where = (*path, "properties", index)
        yield from _listed(child, where)
        yield from _below(child, where)


def _listed(entry: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[Rule]:
    for index, rule in enumerate(entry.get("quality") or []):
        yield Rule(json_path((*path, "quality", index)), rule)


def pairs() -> Iterator[tuple[str, dict[str, str], Rule]]:
    """Every assertion with the rule it was made of."""
    for (file, urn), rows in assertions().items():
        if _contract(file) is None:
            continue
        rules = _rules(file, urn)
        if len(rules) == len(rows):
            for row, rule in zip(rows, rules, strict=True):
                yield file, row, rule


def expectation(file: str, rule: Rule) -> Expectation | None:
    """What the rule became here, if it is a check."""
    contract = _contract(file)
    assert contract is not None
    made = [one for table in contract.datasets for one in table.expectations if one.location.path == rule.path]
    assert len(made) <= 1
    return made[0] if made else None


def _thresholds(one: Expectation) -> Thresholds:
    assert isinstance(one.requirement, Thresholds)
    return one.requirement


def _stated(row: dict[str, str]) -> Threshold:
    """The threshold that an assertion states with its operator and parameters."""
    parameters = json.loads(row["params"])
    operator = OPERATORS[row["operator"]]
    if operator == "mustBeBetween":
        bounds = (Decimal(parameters["minValue"]["value"]), Decimal(parameters["maxValue"]["value"]))
        return Threshold("mustBeBetween", bounds)
    return Threshold(operator, Decimal(parameters["value"]["value"]))  # type: ignore[arg-type]


def _tolerance(row: dict[str, str]) -> Thresholds:
    """The share or number of failing rows that a field assertion allows."""
    limit = json.loads(row["failThreshold"])
    operator = "mustBe" if limit["value"] == 0 else "mustBeLessOrEqualTo"
    unit = "percent" if limit["type"] == "PERCENTAGE" else "rows"
    return Thresholds((Threshold(operator, limit["value"]),), unit)  # type: ignore[arg-type]


def _check_typed(row: dict[str, str], one: Expectation) -> None:
    """A typed assertion and the expectation say the same."""
    metric: Metric = one.metric
    limits = _thresholds(one)
    kind = (row["type"], row["subtype"], row["metric"] or row["operator"])
    if row["type"] == "SQL":
        assert isinstance(metric, Query)
        assert metric.sql.split() == row["logic"].split()
        assert limits.all_of == (_stated(row),)
    elif row["type"] == "VOLUME":
        assert metric == RowCount()
        assert limits.all_of == (_stated(row),)
    elif kind == ("FIELD", "FIELD_METRIC", "UNIQUE_PERCENTAGE"):
        assert isinstance(metric, DuplicateKeys)
        assert limits.all_of == (Threshold("mustBe", 0),)
    elif row["subtype"] == "FIELD_METRIC":
        assert isinstance(metric, Violations)
        assert metric.condition == NotNull()
        assert limits.all_of == (_stated(row),)
        assert limits.unit == ("percent" if row["metric"] == "NULL_PERCENTAGE" else "rows")
    else:
        assert isinstance(metric, Violations)
        assert (limits.all_of, limits.unit) == (_tolerance(row).all_of, _tolerance(row).unit)
        if row["operator"] == "NOT_NULL":
            assert metric.condition == NotNull()
        elif row["operator"] == "IN":
            listed = json.loads(json.loads(row["params"])["value"]["value"], parse_float=Decimal)
            assert metric.condition == OneOf(tuple(value for value in listed if value is not None))
        else:
            assert metric.condition == Matches(json.loads(row["params"])["value"]["value"])


def _names(file: str, path: str) -> str:
    """The dotted name of the property at whose `quality` a rule stands, as DataHub spells fields."""
    value: Any = read_document(_path_of(file)).data
    names = []
    for step in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        value = value[step[0]] if step[0] else value[int(step[1])]
        if isinstance(value, dict) and "name" in value:
            names.append(value["name"])
    return ".".join(names[1:]) if "quality" not in names else ""


def _outcome(file: str, row: dict[str, str], rule: Rule) -> str:
    """Which of `OUTCOMES_OF_CUSTOM` became of a rule that DataHub keeps as it is."""
    one = expectation(file, rule)
    if one is not None:
        return "translated" if one.engine else "sql" if one.rule == "sql" else "library"
    contract = _contract(file)
    assert contract is not None
    tables = contract.datasets
    if any(clause.location.path == rule.path for table in tables for clause in table.not_checked):
        return "not checked"
    assert any(clause.location.path == rule.path for table in tables for clause in table.documented), rule.path
    return "documentation"


def test_every_typed_assertion_is_a_check_with_the_same_operator_and_value() -> None:
    """What DataHub understands is evaluated here, with the same metric, operator, value and tolerance."""
    counted: Counter[str] = Counter()
    for file, row, rule in pairs():
        if row["type"] == "CUSTOM":
            continue
        one = expectation(file, rule)
        assert one is not None, f"{file} {rule.path}"
        _check_typed(row, one)
        if row["type"] == "FIELD":
            assert _names(file, rule.path.rpartition(".quality")[0]) == row["field"], f"{file} {rule.path}"
        counted[row["type"]] += 1
    assert counted == {"SQL": 90, "FIELD": 27, "VOLUME": 26}


def test_every_custom_assertion_has_an_outcome_for_a_reason() -> None:
    """What DataHub keeps as it is becomes a check where its meaning is known, else it is shown or has a reason."""
    counted = Counter(_outcome(file, row, rule) for file, row, rule in pairs() if row["type"] == "CUSTOM")
    assert set(counted) == set(OUTCOMES_OF_CUSTOM)
    assert counted == {"not checked": 80, "documentation": 31, "translated": 11, "library": 8, "sql": 1}


def test_no_rule_is_left_out() -> None:
    """Every object that DataHub has assertions for has as many rules here."""
    for (file, urn), rows in assertions().items():
        assert _contract(file) is not None, file
        assert len(rows) == len(_rules(file, urn)), (file, urn)
