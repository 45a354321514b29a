"""What the names in an ODCS contract stand for: objects, their properties, and references between them.

Names win over ids and ids over physical names, as the pages "Schema" and "References" of the standard use
them: `object.property` by name, `schema/<id>/properties/<id>` by id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from contract_checks.metrics import ITEMS, FieldPath


@dataclass(frozen=True)
class Field:
    """A property as others refer to it."""

    name: str
    physical_name: str
    id: str
    path: FieldPath
    children: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Table:
    """An object of the schema as others refer to it."""

    name: str
    physical_name: str
    id: str
    fields: tuple[Field, ...]

    def find(self, text: str) -> FieldPath | None:
        """The path of the property `text`, which may name a nested one as `a.b`."""
        return _find(self.fields, text)


def outline(entries: Any) -> tuple[Table, ...]:
    """The objects of a `schema` as far as they can be named; what is malformed is left out."""
    tables = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and entry.get("name"):
            name = str(entry["name"])
            physical = str(entry.get("physicalName") or name)
            tables.append(Table(name, physical, str(entry.get("id") or ""), _fields(entry.get("properties"), ())))
    return tuple(tables)


def find_table(tables: tuple[Table, ...], text: str) -> Table | None:
    """The one object that `text` names."""
    for attribute in ("name", "id", "physical_name"):
        found = [table for table in tables if getattr(table, attribute) == text]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def find_element(tables: tuple[Table, ...], text: str) -> tuple[Table, FieldPath] | None:
    """The property that `object.property` names; the object may be left out if it is the only one."""
    text = text.strip()
    if re.match(r"#?/?schema/", text):
        return _find_by_id(tables, text)
    for position in (match.start() for match in re.finditer(r"\.", text)):
        table = find_table(tables, text[:position])
        path = table.find(text[position + 1 :]) if table else None
        if table and path:
            return table, path
    if len(tables) == 1:
        path = tables[0].find(text)
        return (tables[0], path) if path else None
    return None


def is_external(text: str) -> bool:
    """Whether a reference leads into another contract file."""
    return ("#" in text and not text.startswith("#")) or "://" in text or bool(re.search(r"\.(ya?ml|json)\b", text))


def _find_by_id(tables: tuple[Table, ...], text: str) -> tuple[Table, FieldPath] | None:
    match = re.fullmatch(r"#?/?schema/([^/]+)((?:/(?:properties/[^/]+|items))+)", text)
    if not match:
        return None
    table = next((one for one in tables if one.id == match[1]), None) or find_table(tables, match[1])
    if table is None:
        return None
    fields = table.fields
    field: Field | None = None
    for wanted in re.findall(r"/properties/([^/]+)", match[2]):
        found = [one for one in fields if one.id == wanted] or [one for one in fields if one.name == wanted]
        if not found:
            return None
        field = found[0]
        fields = field.children
    return (table, field.path) if field else None


def _fields(entries: Any, prefix: FieldPath) -> tuple[Field, ...]:
    fields = []
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict) or not entry.get("name"):
            continue
        name = str(entry["name"])
        physical = str(entry.get("physicalName") or name)
        path = (*prefix, physical)
        inner, below = entry, path
        while isinstance(inner.get("items"), dict):
            inner, below = inner["items"], (*below, ITEMS)
        fields.append(Field(name, physical, str(entry.get("id") or ""), path, _fields(inner.get("properties"), below)))
    return tuple(fields)


def _find(fields: tuple[Field, ...], text: str) -> FieldPath | None:
    for attribute in ("name", "physical_name"):
        for field in fields:
            own = getattr(field, attribute)
            if text == own:
                return field.path
            if text.startswith(f"{own}."):
                found = _find(field.children, text[len(own) + 1 :])
                if found:
                    return found
    return None
