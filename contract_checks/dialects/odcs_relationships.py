"""`relationships` of ODCS (since 3.1) → foreign keys; what leads nowhere is reported, never passed."""

from __future__ import annotations

from typing import Any

from contract_checks.dialects.odcs_document import Relationship
from contract_checks.dialects.odcs_notes import Clauses, Path, text_of
from contract_checks.dialects.odcs_options import NONE_ALLOWED
from contract_checks.dialects.odcs_others import Element
from contract_checks.dialects.odcs_references import Table, find_element, is_external
from contract_checks.metrics import EACH, FieldPath, OrphanKeys, field_text
from contract_checks.model import Expectation


def read_relationships(
    entries: list[Any] | None,
    field: FieldPath | None,
    table: Table,
    tables: tuple[Table, ...],
    clauses: Clauses,
    *path: str | int,
) -> None:
    """Read the relationships of an object, or of the property at `field`."""
    for index, entry in enumerate(entries or []):
        where = (*path, index)
        piece = clauses.notes.piece(Relationship, entry, *where)
        if piece is not None:
            _relationship(piece, field, table, tables, clauses, where)


def _relationship(
    piece: Relationship,
    field: FieldPath | None,
    table: Table,
    tables: tuple[Table, ...],
    clauses: Clauses,
    path: Path,
) -> None:
    notes = clauses.notes
    clauses.show("Custom properties", piece.custom_properties, *path, "customProperties")
    if piece.type not in (None, "foreignKey"):
        notes.tolerate(f"'{piece.type}' is no type of relationship", *path, "type", hint="only 'foreignKey' is")
        clauses.skip(f"relationships of type '{piece.type}' are not evaluated", *path, section="schema")
        return
    targets = _names(piece.to)
    if field is not None:
        if piece.from_ is not None:
            notes.tolerate("'from' is the property itself here", *path, "from", hint="leave it out")
        sources: list[FieldPath] | None = [field]
    else:
        sources = _sources(piece.from_, table, tables)
    if not targets or not sources:
        which = "to" if not targets else "from"
        reason = f"'{which}' names no property of this contract"
        if which == "from" and piece.from_ is not None:
            reason += f": {text_of(piece.from_)}"
        notes.tolerate(reason, *path, which, hint="such as 'customers.id'")
        clauses.skip(reason, *path, section="schema")
        return
    if len(targets) != len(sources):
        reason = f"'from' names {len(sources)} properties, 'to' {len(targets)}; they must be as many"
        notes.tolerate(reason, *path, "to")
        clauses.skip(reason, *path, section="schema")
        return
    if any(is_external(target) for target in targets):
        _into_another(piece, sources, targets, clauses, path)
        return
    found = [find_element(tables, target) for target in targets]
    for target, element in zip(targets, found, strict=True):
        if element is None:
            reason = f"'{target}' is no property of this contract"
            notes.advise(f"the relationship is not checked: {reason}", *path, "to")
            clauses.skip(reason, *path, section="schema")
            return
    elements = [element for element in found if element is not None]
    target_table = elements[0][0]
    target_fields = tuple(path for _, path in elements)
    reason = ""
    if any(other is not target_table for other, _ in elements):
        reason = "'to' names properties of several objects"
    elif any(each in one for one in (*sources, *target_fields) for each in EACH):
        reason = "a relationship from or to the items of an array or map is not evaluated yet"
    if reason:
        notes.advise(f"the relationship is not checked: {reason}", *path, "to")
        clauses.skip(reason, *path, section="schema")
        return
    metric = OrphanKeys(tuple(sources), target_table.physical_name, target_fields)
    clauses.expectations.append(_foreign_key(piece, metric, target_table.name, clauses, path))


def _into_another(
    piece: Relationship, sources: list[FieldPath], targets: list[str], clauses: Clauses, path: Path
) -> None:
    """A key into another contract: its data is what this data depends on, and where it can be, it is compared."""
    others = clauses.notes.others
    found = [others.find(target) for target in targets] if others is not None else []
    reasons = [one for one in found if isinstance(one, str)]
    elements = [one for one in found if isinstance(one, Element)]
    if others is None:
        reasons = ["references of a contract that is referred to are not followed"]
    clauses.sources += [".".join(one.dataset.key) for one in elements]
    reasons += [one.elsewhere for one in elements if one.elsewhere]
    if len({one.dataset.physical_name for one in elements}) > 1:
        reasons.append("'to' names properties of several objects")
    if any(each in one for one in (*sources, *(element.path for element in elements)) for each in EACH):
        reasons.append("a relationship from or to the items of an array or map is not evaluated yet")
    if reasons:
        clauses.notes.advise(f"the relationship is not checked: {reasons[0]}", *path, "to")
        clauses.skip(f"{', '.join(targets)}: {reasons[0]}", *path, section="schema")
        return
    metric = OrphanKeys(tuple(sources), elements[0].dataset.physical_name, tuple(one.path for one in elements))
    table = f"{elements[0].dataset.name} ({elements[0].dataset.location.file})"
    clauses.expectations.append(_foreign_key(piece, metric, table, clauses, path))


def _foreign_key(piece: Relationship, metric: OrphanKeys, table: str, clauses: Clauses, path: Path) -> Expectation:
    what = ", ".join(field_text(one) for one in metric.fields)
    there = ", ".join(field_text(one) for one in metric.target_fields)
    return Expectation(
        rule="foreignKey",
        metric=metric,
        requirement=NONE_ALLOWED,
        location=clauses.notes.at(*path),
        section="schema",
        field=metric.fields[0] if len(metric.fields) == 1 else None,
        id=piece.id,
        description=piece.description or f"Every `{what}` is a `{there}` of {table}.",
    )


def _names(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one.strip() for one in values] if all(isinstance(one, str) and one.strip() for one in values) else []


def _sources(value: Any, table: Table, tables: tuple[Table, ...]) -> list[FieldPath] | None:
    """The paths in `table` that `from` names, with or without the name of the table before them."""
    paths = []
    for name in _names(value):
        element = find_element(tables, name)
        path = element[1] if element and element[0] is table else table.find(name)
        if path is None:
            return None
        paths.append(path)
    return paths or None
