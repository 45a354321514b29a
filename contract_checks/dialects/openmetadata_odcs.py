"""`odcsQualityRules`: the quality rules that OpenMetadata keeps from an ODCS import, read as ODCS reads them.

OpenMetadata flattens the rules of a table and of its columns into one list, in which `column` says whose a
rule is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from contract_checks.dialects.conditions import find_field
from contract_checks.dialects.document import Document
from contract_checks.dialects.odcs_notes import Clauses, Notes
from contract_checks.dialects.odcs_quality import Scope, read_rules
from contract_checks.dialects.odcs_references import Field, Table
from contract_checks.dialects.openmetadata_reading import Reader
from contract_checks.errors import Location, Problem
from contract_checks.metrics import ITEMS, FieldPath
from contract_checks.model import Column, Documented, Expectation, NotChecked

KEY = "odcsQualityRules"
Placed = TypeVar("Placed", Expectation, NotChecked, Documented, Problem)


def read_odcs_rules(reader: Reader, value: Any, name: str, columns: Sequence[Column]) -> tuple[Expectation, ...]:
    """The rules as expectations; what ODCS does not check either is reported as there."""
    notes = Notes(_one_deeper(reader.document), reader.strict)
    clauses = Clauses(notes)
    table = Table(name, name, "", _fields(columns, ()))
    for rule, path in reader.mappings(value, (KEY,), "rules"):
        column = rule.get("column")
        if column is not None and not isinstance(column, str):
            reader.error((*path, "column"), "'column' must be the name of a column")
            continue
        field = find_field(column, columns)[0] if column else None
        entry = {key: item for key, item in rule.items() if key != "column"}
        read_rules([entry], Scope(table, (table,), field), clauses, *path)
    reader.problems += [_placed(problem) for problem in notes.all_problems()]
    reader.not_checked += [_placed(clause) for clause in clauses.not_checked]
    reader.documented += [_placed(clause) for clause in clauses.documented]
    return tuple(_placed(expectation) for expectation in clauses.expectations)


def _fields(columns: Sequence[Column], parent: FieldPath) -> tuple[Field, ...]:
    return tuple(
        Field(
            column.name,
            column.physical_name,
            "",
            (*parent, column.physical_name),
            _fields(column.items.children, (*parent, column.physical_name, ITEMS))
            if column.items is not None
            else _fields(column.children, (*parent, column.physical_name)),
        )
        for column in columns
    )


# ODCS reads lists of rules. Here each rule is read as a list of its own, so that its places are one index
# deeper than in the file; the document knows these places, and the index is taken out again.


def _one_deeper(document: Document) -> Document:
    lines = dict(document.lines)
    for path, line in document.lines.items():
        if len(path) >= 2 and path[0] == KEY:
            lines[(*path[:2], 0, *path[2:])] = line
    return replace(document, lines=lines)


def _placed(found: Placed) -> Placed:
    place = found.location
    path = re.sub(rf"^(\$\.{KEY}\[\d+\])\[0\]", r"\1", place.path)
    return replace(found, location=Location(place.file, place.line, path))
