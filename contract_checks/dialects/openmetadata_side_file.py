"""The side file of a contract, in which its test cases are written out: `orders.tests.yaml` beside `orders.yaml`.

OpenMetadata keeps test cases apart from contracts, which only refer to them. The side file has them as its API
gives them::

    testCases:          # by the names that the contract refers to
      - {name, testDefinition, entityLink or column, parameterValues, description}
    testDefinitions:    # of the user's own, see `openmetadata_templates`
      - {name, entityType, sqlExpression, parameterDefinition}
    locations:          # of columnValuesToBeAtExpectedLocation
      CITY: {Paris: [48.8566, 2.3522]}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Any

from contract_checks.dialects.document import read_document
from contract_checks.dialects.inputs import is_file
from contract_checks.dialects.openmetadata_parameters import Subject
from contract_checks.dialects.openmetadata_reading import Path, Reader, Reference, Shape, kind_of, read_references
from contract_checks.dialects.openmetadata_templates import Template, read_template
from contract_checks.dialects.openmetadata_tests import ReadTest, read_test
from contract_checks.model import Dataset, Expectation, NotChecked

SUFFIXES = (".tests.yaml", ".tests.yml", ".tests.json")
"""The endings of side files."""


class SideDocument(Shape):
    """The whole side file."""

    test_cases: Any = None
    test_definitions: Any = None
    locations: Any = None


@dataclass(frozen=True)
class SideFile:
    """A side file that was read: its test cases by name, with where each stands."""

    reader: Reader
    cases: Mapping[str, tuple[dict[str, Any], Path]]
    templates: Mapping[str, Template] = field(default_factory=dict)
    places: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadQuality:
    """What the quality section and the side file come down to."""

    expectations: tuple[Expectation, ...] = ()
    related: tuple[Dataset, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()


def is_side_file(path: str | FilePath) -> bool:
    """Whether a file has the ending of a side file."""
    return str(path).lower().endswith(SUFFIXES)


def contract_of(path: FilePath) -> FilePath | None:
    """The contract beside which a side file stands; None if there is none."""
    stem = path.name[: -len(path.suffix)][: -len(".tests")]
    beside = [path.with_name(f"{stem}{suffix}") for suffix in (".yaml", ".yml", ".json")]
    return next((one for one in beside if is_file(one)), None)


def find_side_file(contract: str) -> FilePath | None:
    """The side file of the contract in that file, if it has one."""
    path = FilePath(contract)
    if not path.suffix or not is_file(path):
        return None
    beside = (path.with_name(f"{path.stem}{end}") for end in SUFFIXES)
    return next((one for one in beside if is_file(one)), None)


def read_side_file(path: FilePath, strict: bool) -> SideFile:
    """Read a side file; what is wrong with it is in its reader. Raises `ContractError` for one that is no YAML."""
    reader = Reader(read_document(path), strict)
    data: Any = reader.document.data
    if isinstance(data, list):
        data = {"testCases": data}
        reader = Reader(_below(reader.document, "testCases"), strict)
    shape = reader.shape(SideDocument, data, ())
    if shape is None:
        return SideFile(reader, {})
    cases: dict[str, tuple[dict[str, Any], Path]] = {}
    for item, where in reader.mappings(shape.test_cases, ("testCases",), "test cases"):
        name = str(item.get("name") or "")
        if not name:
            reader.error(where, "'name' is missing", "the contract refers to a test case by it")
        elif name in cases:
            reader.error(where, f"there are two test cases '{name}'")
        else:
            cases[name] = (item, where)
    templates = [
        read_template(reader, item, where)
        for item, where in reader.mappings(shape.test_definitions, ("testDefinitions",), "test definitions")
    ]
    return SideFile(
        reader, cases, {one.name: one for one in templates if one is not None}, _places(reader, shape.locations)
    )


def _below(document: Any, key: str) -> Any:
    """The document as if its list stood below `key`; places stay those of the list."""
    lines = {(key, *path): line for path, line in document.lines.items()}
    return replace(document, data={key: document.data}, lines=lines)


def _places(reader: Reader, value: Any) -> dict[str, dict[str, tuple[float, float]]]:
    found: dict[str, dict[str, tuple[float, float]]] = {}
    if value is None:
        return found
    if not isinstance(value, dict):
        reader.error(("locations",), f"a mapping of CITY and POSTAL_CODE is expected here, not {kind_of(value)}")
        return found
    for kind, places in value.items():
        where: Path = ("locations", str(kind))
        if str(kind).upper() not in ("CITY", "POSTAL_CODE") or not isinstance(places, dict):
            reader.error(where, "places are listed by name under CITY or POSTAL_CODE")
            continue
        for name, point in places.items():
            numbers = point if isinstance(point, list) else []
            if len(numbers) != 2 or not all(_is_number(one) for one in numbers) or abs(numbers[0]) > 90:
                reader.error((*where, str(name)), "a place is [latitude, longitude] in degrees")
                continue
            found.setdefault(str(kind).upper(), {})[str(name)] = (float(numbers[0]), float(numbers[1]))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


# --------------------------------------------------------------------------- the quality section


def read_quality(reader: Reader, value: Any, subject: Subject, side: SideFile | None) -> ReadQuality:
    """The test cases of a contract: those written out in it, and those it refers to and the side file has.

    Without a quality section all test cases of the side file count. With one, those it does not name do not,
    and that is said.
    """
    path: Path = ("qualityExpectations",)
    if value is not None and not isinstance(value, list):
        reader.error(path, f"a list of test cases is expected here, not {kind_of(value)}")
        return ReadQuality()
    if side is not None:
        subject = replace(subject, places=side.places)
    read: list[ReadTest] = []
    named: set[str] = set()
    for index, item in enumerate(value or []):
        where = (*path, index)
        if isinstance(item, dict) and "testDefinition" in item:
            read.append(read_test(reader, item, where, subject, side.templates if side is not None else None))
            continue
        for reference in read_references(reader, item, where):
            found = _case(reference, side)
            if found and side is not None and found not in named:
                named.add(found)
                read.append(_of_side_file(side, found, subject))
            elif not found:
                beside = (
                    f"; the side file {FilePath(side.reader.document.file).name} has none of that name" if side else ""
                )
                reason = f"the test case '{reference.label}' lives in OpenMetadata; the contract only refers to it"
                reader.skip(where, reason + beside)
    not_checked: tuple[NotChecked, ...] = ()
    if side is not None:
        if value is None:
            read += [_of_side_file(side, name, subject) for name in side.cases]
        else:
            for name in side.cases.keys() - named:
                side.reader.skip(side.cases[name][1], f"the contract does not name the test case '{name}'")
        reader.problems += side.reader.problems
        not_checked = side.reader.sorted_not_checked("$", inside=True)
    return ReadQuality(
        tuple(one for test in read for one in test.expectations),
        tuple({one.physical_name: one for test in read for one in test.related}.values()),
        not_checked,
    )


def _of_side_file(side: SideFile, name: str, subject: Subject) -> ReadTest:
    item, where = side.cases[name]
    return read_test(side.reader, item, where, subject, side.templates)


def _case(reference: Reference, side: SideFile | None) -> str | None:
    """The test case of the side file that a reference means: by its name, its full name or its id."""
    if side is None:
        return None
    wanted = {reference.name, reference.fully_qualified_name, reference.id} - {None, ""}
    for name, (item, _) in side.cases.items():
        own = {name, str(item.get("fullyQualifiedName") or ""), str(item.get("id") or "")} - {""}
        if own & wanted:
            return name
    last = {re.split(r"\.", str(one))[-1].strip('"') for one in wanted if one is not None and "." in str(one)}
    return next((name for name in side.cases if name in last), None)
