"""Real contracts of many authors: each loads or is refused with reasons, and none of their clauses is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract_checks.checks import plan
from contract_checks.dialects import load
from contract_checks.dialects.document import json_path, read_document
from contract_checks.errors import ContractError
from contract_checks.lint import lint
from contract_checks.model import Contract

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus" / "odcs"
FILES = (
    sorted(file for file in CORPUS.glob("*") if file.suffix in (".yaml", ".yml", ".json")) if CORPUS.is_dir() else []
)

pytestmark = pytest.mark.skipif(not FILES, reason="the third-party contracts are not here")

TO_BE_REFUSED = (
    "invalid",
    "negative-tests",
    "v2",
    "generated_contracts",
    "contracts_yaml_examples",
    "sample__metadata",
)
"""Parts of the names of files that cannot be used: broken on purpose, of version 2, or hardly ODCS."""


@pytest.fixture(scope="module")
def contracts() -> dict[str, Contract]:
    """Every contract of the corpus that can be read."""
    found: dict[str, Contract] = {}
    refused: dict[str, ContractError] = {}
    for file in FILES:
        try:
            found[file.name] = load(file)
        except ContractError as error:
            refused[file.name] = error
    for name, reasons in refused.items():
        assert any(problem.level == "error" for problem in reasons.problems)
        assert any(part in name for part in TO_BE_REFUSED), reasons
    return found


def test_nearly_all_contracts_are_read(contracts: dict[str, Contract]) -> None:
    """Only what is broken, of version 2 or no ODCS at all is refused."""
    assert len(FILES) == 318
    assert len(contracts) == 293


def test_every_problem_has_a_place_and_a_sentence(contracts: dict[str, Contract]) -> None:
    """Problems name the file, a line of it and a path, and `lint` finds no error in what was read."""
    for name, contract in contracts.items():
        lines = len((CORPUS / name).read_text(encoding="utf-8-sig").splitlines())
        for problem in lint(contract):
            assert problem.level == "warning"
            assert 1 <= problem.location.line <= lines + 1
            assert problem.location.path.startswith("$")
            assert problem.message


def test_a_strict_reader_reads_or_refuses() -> None:
    """`strict` never fails in another way than by refusing."""
    levels = []
    for file in FILES:
        try:
            levels.append((False, {problem.level for problem in load(file, strict=True).problems}))
        except ContractError as error:
            levels.append((True, {problem.level for problem in error.problems}))
    assert all(("error" in found) == refused for refused, found in levels)


def test_every_contract_makes_a_plan(contracts: dict[str, Contract]) -> None:
    """Whatever is read can be planned."""
    assert sum(len(dataset.checks) for contract in contracts.values() for dataset in plan(contract).datasets) > 2500


def test_no_clause_is_lost(contracts: dict[str, Contract]) -> None:
    """Every rule, option, enum, relationship and SLA ends as an expectation, as documentation or as a reason."""
    lost = []
    for name, contract in contracts.items():
        places = set(_places(contract))
        for clause in _clauses(read_document(CORPUS / name).data):
            text = json_path(clause)
            if not any(_inside(text, place) or _inside(place, text) for place in places):
                lost.append(f"{name}: {text}")
    assert lost == []


def _places(contract: Contract) -> Iterator[str]:
    """The paths of everything that became of the clauses."""
    for one in (*contract.documented, *contract.not_checked):
        yield one.location.path
    for dataset in contract.datasets:
        for part in (*dataset.expectations, *dataset.not_checked, *dataset.documented):
            yield part.location.path


def _inside(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _clauses(data: Any) -> Iterator[tuple[str | int, ...]]:
    """The path of everything in a document that promises something, columns aside."""
    yield from _entries(data, (), "slaProperties")
    for index, table in enumerate(data.get("schema") or []):
        path = ("schema", index)
        yield from _entries(table, path, "quality")
        yield from _entries(table, path, "relationships")
        for number, column in enumerate(table.get("properties") or []):
            yield from _of_property(column, (*path, "properties", number))


def _entries(owner: Any, path: tuple[str | int, ...], key: str) -> Iterator[tuple[str | int, ...]]:
    for index, _ in enumerate(owner.get(key) or []):
        yield (*path, key, index)


def _of_property(column: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    options = column.get("logicalTypeOptions") or {}
    for option, value in options.items():
        # `false` promises nothing, and `exclusiveMinimum: true` is a part of `minimum`.
        qualifies = isinstance(value, bool) and option.startswith("exclusive")
        if value is not None and not qualifies and (option, value) != ("uniqueItems", False):
            yield (*path, "logicalTypeOptions", option)
    yield from _entries(column, path, "quality")
    yield from _entries(column, path, "relationships")
    if column.get("enum"):
        yield (*path, "enum")
    for part, inner in (column.get("map") or {}).items():
        yield from _of_property(inner, (*path, "map", part))
    for number, child in enumerate(column.get("properties") or []):
        yield from _of_property(child, (*path, "properties", number))
    if column.get("items"):
        yield from _of_property(column["items"], (*path, "items"))


# --------------------------------------------------------------------------- beside the JSON Schemas

STRICTER = {
    "is no metric of the standard": "up to 3.0.2 the schema accepts any word as a rule",
    "is not known here": "up to 3.0.2 the schema accepts any key; a strict reader wants to know of it",
    "is not read": "version 2 is another format",
    "occurs twice": "a parser of JSON keeps the last of two equal keys and never sees the first",
    "names no property of this contract": "a reference leads nowhere, which a schema cannot see",
    "they must be as many": "keys of unequal length are compared with nothing, which a schema cannot see",
    "needs 'validValues' or 'pattern'": "nothing says which values are valid",
    "the rule names no metric": "an empty rule promises nothing",
    "are called": "two objects or servers of one name cannot be told apart",
}
"""Why a strict reader refuses what the JSON Schema of the version accepts, by what the problem says."""

LAXER = {
    r"servers/\d+: .* is a required property": "where data lives may be told later; without it nothing is passed",
    r"servers/\d+: Unevaluated properties": "the keys of all types of servers are known, whatever the type",
    "'physicalName' was unexpected": "the schema of 3.0.0 forgot the key, which 3.0.2 added",
    "None is not of type": "an empty value is no value",
    r"relationships/\d+/to": "the pages show forms of references that the schemas reject; what leads nowhere is told",
}
"""Why a strict reader accepts what the JSON Schema rejects, by what the schema says first."""


def test_every_verdict_beside_the_json_schemas_is_explained() -> None:
    """Where a strict reader and the JSON Schema of the file's version differ, the difference is of a known class."""
    manifest = (CORPUS / "MANIFEST.tsv").read_text().splitlines()
    used = set()
    same = 0
    for line in manifest[1:]:
        name, *_, verdict, _ = line.split("\t")
        try:
            load(CORPUS / name, strict=True)
            errors = []
        except ContractError as error:
            errors = [problem.message for problem in error.problems if problem.level == "error"]
        if (verdict == "valid") == (not errors):
            same += 1
        elif errors:
            used |= {text for text in STRICTER if any(text in message for message in errors)}
            assert all(any(text in message for text in STRICTER) for message in errors), (name, errors)
        elif verdict != "no-schema":
            found = {pattern for pattern in LAXER if re.search(pattern, verdict)}
            assert found, (name, verdict)
            used |= found
    assert used == {*STRICTER, *LAXER}
    assert same >= 275
