"""`schema` of an ODCS contract → datasets and columns, with every promise they carry."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from contract_checks.datatypes import CATEGORIES, Category, category_of, is_open_document
from contract_checks.dialects.odcs_document import Element, MapTypes, Property, SchemaObject
from contract_checks.dialects.odcs_notes import Clauses, Notes, Path, did_you_mean
from contract_checks.dialects.odcs_options import TEMPORAL, Subject, read_enum, read_options, wrong_format
from contract_checks.dialects.odcs_quality import Scope, read_rules
from contract_checks.dialects.odcs_references import Table, outline
from contract_checks.dialects.odcs_relationships import read_relationships
from contract_checks.errors import Location
from contract_checks.metrics import EACH, ITEMS, MAP_KEYS, MAP_VALUES, FieldPath
from contract_checks.model import Column, Dataset, DeclaredType

LOGICAL_TYPES = tuple(name for name in CATEGORIES if name not in ("binary", "unknown"))
_LOOSE_TYPES: dict[str, Category] = {
    **dict.fromkeys(("text", "varchar", "char", "str", "uuid"), "string"),
    **dict.fromkeys(("int", "long", "short", "bigint", "smallint", "tinyint"), "integer"),
    **dict.fromkeys(("decimal", "numeric", "double", "float", "real"), "number"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("datetime",), "timestamp"),
    **dict.fromkeys(("struct", "record"), "object"),
    **dict.fromkeys(("list",), "array"),
}
_OPEN = {"", "public", "internal", "none", "open", "unrestricted", "unclassified", "general", "n/a", "na"}
_PERSONAL = re.compile(r"(?i)(?<![a-z])(pii|sensitive|personal|confidential|restricted|secret|gdpr|phi|pci)(?![a-z])")
_PERSONAL_NAME = re.compile(
    r"(?i)(?<![a-z])(pii|ssn|passw(or)?d|secret|token|e_?mail|phone|iban|passport|birth_?date|date_of_birth|credit_?card)(?![a-z])"
)
_DOCUMENTS = ("json", "xml", "document", "jsonl", "ndjson")


@dataclass(frozen=True)
class _Place:
    """Where a property is read: its dataset, the path to it, and what it inherits from its parents."""

    tables: tuple[Table, ...]
    table: Table
    clauses: Clauses
    key_positions: dict[Path, int]
    partition_positions: dict[Path, int]
    document: bool
    prefix: FieldPath = ()
    sensitive: bool = False
    optional: bool = False
    virtual: bool = False


def read_schema(entries: list[Any], notes: Notes, documents: bool = False) -> tuple[Dataset, ...]:
    """Every object of `schema` as a dataset.

    `documents` says that all servers hold JSON or XML, where a property that is not required may be absent.
    """
    tables = outline(entries)
    datasets = []
    keys: dict[tuple[str, ...], Location] = {}
    for index, entry in enumerate(entries):
        path: Path = ("schema", index)
        piece = notes.piece(SchemaObject, entry, *path)
        if piece is None:
            continue
        if not piece.name:
            notes.refuse("an object without 'name'", *path, hint="'name' is what the contract calls it")
            continue
        dataset = _dataset(piece, entry, path, tables, notes, documents)
        if dataset.key in keys:
            called = ".".join(dataset.key)
            notes.refuse(
                f"two objects are called '{called}': {keys[dataset.key]} is the other",
                *path,
                hint="the 'physicalName', or without one the 'name', must differ",
            )
            continue
        keys[dataset.key] = notes.at(*path)
        datasets.append(dataset)
    return tuple(datasets)


def _dataset(
    piece: SchemaObject, entry: dict[str, Any], path: Path, tables: tuple[Table, ...], notes: Notes, documents: bool
) -> Dataset:
    clauses = Clauses(notes)
    name = piece.name or ""
    physical = piece.physical_name or name
    table = next(
        (one for one in tables if (one.name, one.physical_name) == (name, physical)), Table(name, physical, "", ())
    )
    if piece.logical_type not in (None, "object"):
        hint = "columns belong under 'properties' of an object" if piece.logical_type in LOGICAL_TYPES else ""
        notes.tolerate(
            f"the logicalType of an object is 'object', not '{piece.logical_type}'", *path, "logicalType", hint=hint
        )
        clauses.skip(
            "an entry of 'schema' is an object, which has no other type", *path, "logicalType", section="schema"
        )
    for key in piece.model_extra or {}:
        if key in {info.alias for info in Property.model_fields.values()}:
            clauses.skip(f"'{key}' belongs to a property, not to an object", *path, key, section="schema")
    place = _Place(
        tables=tables,
        table=table,
        clauses=clauses,
        key_positions=_positions(entry, path, "primaryKey", "primaryKeyPosition", notes),
        partition_positions=_positions(entry, path, "partitioned", "partitionKeyPosition", notes),
        document=documents or (piece.physical_type or "").lower() in _DOCUMENTS,
    )
    columns = _columns(piece.properties, (*path, "properties"), place)
    scope = Scope(table=table, tables=tables, virtual=_virtual_fields(columns))
    read_rules(piece.quality, scope, clauses, *path, "quality")
    read_relationships(piece.relationships, None, table, tables, clauses, *path, "relationships")
    links = clauses.links(piece.authoritative_definitions, *path, "authoritativeDefinitions")
    tags = notes.texts(piece.tags, *path, "tags")
    shown = (
        ("Id", "id", piece.id),
        ("Business name", "businessName", piece.business_name),
        ("Granularity", "dataGranularityDescription", piece.data_granularity_description),
        ("Context", "context", piece.context),
        ("Deprecated", "deprecated", piece.deprecated),
        ("Synonyms", "synonyms", piece.synonyms),
        ("Custom properties", "customProperties", piece.custom_properties),
    )
    for title, key, value in shown:
        clauses.show(title, value, *path, key)
    _check_synonyms(piece, path, notes)
    read = Dataset(
        name=name,
        physical_name=physical,
        key=tuple(part for part in physical.split(".") if part) or (physical,),
        location=notes.at(*path),
        kind=piece.physical_type or "table",
        description=piece.description or "",
        columns=columns,
        tags=tags,
        links=links,
        sources=tuple(dict.fromkeys((*(one for column in columns for one in column.sources), *clauses.sources))),
    )
    for finish in clauses.later:
        finish(read)
    return replace(
        read,
        expectations=tuple(clauses.expectations),
        not_checked=tuple(clauses.not_checked),
        documented=tuple(clauses.documented),
    )


def _virtual_fields(columns: tuple[Column, ...]) -> frozenset[FieldPath]:
    return frozenset((column.physical_name,) for column in columns if column.virtual)


# --------------------------------------------------------------------------- properties


def _columns(entries: list[Any] | None, path: Path, place: _Place) -> tuple[Column, ...]:
    notes = place.clauses.notes
    columns: list[Column] = []
    seen: dict[str, Location] = {}
    for index, entry in enumerate(entries or []):
        where = (*path, index)
        piece = notes.piece(Property, entry, *where)
        if piece is None:
            continue
        if not piece.name:
            notes.refuse("a property without 'name'", *where, hint="'name' is what the contract calls it")
            continue
        physical = piece.physical_name or piece.name
        if physical in seen:
            message = f"two properties are called '{physical}': {seen[physical]} is the other"
            notes.tolerate(message, *where, hint="keep one of them")
        seen.setdefault(physical, notes.at(*where))
        columns.append(_column(piece, piece.name, (*place.prefix, physical), where, place))
    return tuple(columns)


def _column(piece: Property, name: str, field: FieldPath, path: Path, place: _Place) -> Column:
    clauses, notes = place.clauses, place.clauses.notes
    logical = _logical_type(piece, path, clauses)
    required = bool(piece.required)
    virtual = place.virtual or (piece.semantic_type or "").lower() == "measure"
    sensitive = place.sensitive or _is_sensitive(piece, name)
    optional = place.optional or (place.document and not required and not piece.primary_key)
    inside = replace(place, prefix=field, sensitive=sensitive, optional=optional, virtual=virtual)
    children = _columns(piece.properties, (*path, "properties"), inside)
    items = _items(piece, field, path, inside)
    if piece.properties is not None and logical not in ("object", ""):
        notes.tolerate(f"'properties' belong to logicalType object, not {logical}", *path, "properties")
    subject = Subject(
        field=field,
        logical=logical,
        text_stored=_text_stored(piece),
        optional=optional,
        children={child.name: child.physical_name for child in children},
    )
    if virtual:
        _skip_virtual(piece, path, clauses)
    else:
        if piece.logical_type_options is not None:
            read_options(piece.logical_type_options, subject, clauses, *path, "logicalTypeOptions")
        if piece.enum is not None:
            read_enum(piece.enum, subject, clauses, *path, "enum")
        scope = Scope(table=place.table, tables=place.tables, field=field, logical=logical, optional=optional)
        read_rules(piece.quality, scope, clauses, *path, "quality")
        read_relationships(piece.relationships, field, place.table, place.tables, clauses, *path, "relationships")
    map_keys, map_values = _map(piece, logical, field, path, inside)
    key = place.key_positions.get(path)
    if piece.primary_key and any(each in field for each in EACH):
        clauses.skip("a key inside an array or map is not evaluated", *path, "primaryKey", section="schema")
        key = None
    _show(piece, path, clauses)
    return Column(
        name=name,
        physical_name=field[-1],
        location=notes.at(*path),
        type=_declared_type(piece, logical, notes),
        required=required and not virtual,
        unique=bool(piece.unique) and not virtual,
        primary_key=None if virtual else key,
        partition_position=place.partition_positions.get(path),
        description=piece.description or "",
        business_name=piece.business_name or "",
        classification=piece.classification or "",
        sensitive=sensitive,
        virtual=virtual,
        optional=optional,
        tags=notes.texts(piece.tags, *path, "tags"),
        links=clauses.links(piece.authoritative_definitions, *path, "authoritativeDefinitions"),
        sources=notes.texts(piece.transform_source_objects, *path, "transformSourceObjects"),
        children=children,
        items=items,
        map_keys=map_keys,
        map_values=map_values,
        required_at=notes.at(*path, "required") if required else None,
        unique_at=notes.at(*path, "unique") if piece.unique else None,
    )


def _items(piece: Property, field: FieldPath, path: Path, place: _Place) -> Column | None:
    if piece.items is None:
        return None
    where = (*path, "items")
    inner = place.clauses.notes.piece(Property, piece.items, *where)
    if inner is None:
        return None
    # An item that is absent is not an item, so only the array itself can be optional.
    return _column(inner, inner.name or ITEMS, (*field, ITEMS), where, replace(place, document=False))


def _logical_type(piece: Property, path: Path, clauses: Clauses) -> str:
    """The logicalType, stated or told by the physicalType; "" when nobody can tell."""
    stated = piece.logical_type
    if stated is None:
        physical = piece.physical_type or ""
        inferred = category_of(physical, "")
        return "" if inferred in ("unknown", "binary") or is_open_document(physical, "") else inferred
    if stated in LOGICAL_TYPES:
        if stated in ("map", "vector") and clauses.notes.version < (3, 2):
            clauses.notes.tolerate(f"logicalType '{stated}' came with ODCS 3.2", *path, "logicalType")
        elif stated in ("timestamp", "time") and clauses.notes.version < (3, 1):
            clauses.notes.tolerate(f"logicalType '{stated}' came with ODCS 3.1", *path, "logicalType")
        return stated
    lowered = stated.lower()
    meant = lowered if lowered in LOGICAL_TYPES else _LOOSE_TYPES.get(lowered)
    where = (*path, "logicalType")
    if meant:
        clauses.notes.tolerate(f"'{stated}' is no logicalType; it is read as '{meant}'", *where, hint=f"say '{meant}'")
        return meant
    clauses.notes.tolerate(f"'{stated}' is no logicalType", *where, hint=did_you_mean(stated, LOGICAL_TYPES))
    clauses.skip(f"'{stated}' is no logicalType of the standard", *where, section="schema")
    return ""


def _declared_type(piece: Property, logical: str, notes: Notes) -> DeclaredType | None:
    stated = logical if piece.logical_type else ""
    if not stated and not piece.physical_type:
        return None
    categories: set[Category] = {name for name in LOGICAL_TYPES if name == stated}
    if stated == "date" and notes.version < (3, 1):
        # Up to 3.0.2 `date` was the only temporal type; its format or physicalType told which one.
        categories |= {"timestamp", "time"}
    options = piece.logical_type_options or {} if logical in TEMPORAL else {}
    with_timezone, pattern = options.get("timezone"), options.get("format")
    physical = piece.physical_type
    text = f"{stated} ({physical})" if stated and physical else stated or physical or ""
    return DeclaredType(
        text=text,
        categories=frozenset(categories),
        native=physical,
        with_timezone=with_timezone if isinstance(with_timezone, bool) else None,
        format=pattern if isinstance(pattern, str) and not wrong_format(pattern) else None,
    )


def _text_stored(piece: Property) -> bool | None:
    category = category_of(piece.physical_type or "", "")
    return None if category == "unknown" else category == "string"


def _is_sensitive(piece: Property, name: str) -> bool:
    if piece.encrypted_name or (piece.classification or "").strip().lower() not in _OPEN:
        return True
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", f"{name} {piece.physical_name or ''}")
    return bool(_PERSONAL_NAME.search(spaced)) or any(_PERSONAL.search(str(tag)) for tag in piece.tags or [])


def _skip_virtual(piece: Property, path: Path, clauses: Clauses) -> None:
    """A measure is not stored, so nothing can be asked about its values."""
    promises = {
        "required": piece.required,
        "unique": piece.unique,
        "primaryKey": piece.primary_key,
        "logicalType": piece.logical_type,
        "physicalType": piece.physical_type,
        "logicalTypeOptions": piece.logical_type_options,
        "enum": piece.enum,
        "quality": piece.quality,
        "relationships": piece.relationships,
    }
    stated = ", ".join(key for key, value in promises.items() if value)
    if stated:
        clauses.skip(
            f"a measure is computed, not stored, so it has no values to check: {stated}", *path, section="schema"
        )


def _map(
    piece: Property, logical: str, field: FieldPath, path: Path, place: _Place
) -> tuple[Column | None, Column | None]:
    """The keys and values of a map as columns of their own."""
    notes = place.clauses.notes
    if piece.map is None:
        if logical == "map" and piece.logical_type == "map":
            notes.tolerate("logicalType map needs 'map' with 'key' and 'value'", *path)
        return None, None
    where = (*path, "map")
    types = notes.piece(MapTypes, piece.map, *where)
    columns: list[Column | None] = []
    for part, each in (("key", MAP_KEYS), ("value", MAP_VALUES)):
        value = getattr(types, part, None)
        inner = notes.piece(Property, value, *where, part) if value is not None else None
        if value is None:
            notes.tolerate(f"'map' needs '{part}'", *where)
        inside = replace(place, document=False)
        columns.append(_column(inner, inner.name or part, (*field, each), (*where, part), inside) if inner else None)
    return columns[0], columns[1]


def _show(piece: Property, path: Path, clauses: Clauses) -> None:
    shown = (
        ("Id", "id", piece.id),
        ("Encrypted name", "encryptedName", piece.encrypted_name),
        ("Transformation", "transformLogic", piece.transform_logic),
        ("Transformation in words", "transformDescription", piece.transform_description),
        ("Examples", "examples", piece.examples),
        ("Critical data element", "criticalDataElement", piece.critical_data_element),
        ("Semantic type", "semanticType", piece.semantic_type),
        ("Deprecated", "deprecated", piece.deprecated),
        ("Synonyms", "synonyms", piece.synonyms),
        ("Custom properties", "customProperties", piece.custom_properties),
    )
    for title, key, value in shown:
        clauses.show(title, value, *path, key)
    _check_synonyms(piece, path, clauses.notes)


def _check_synonyms(piece: Element, path: Path, notes: Notes) -> None:
    for entry, where in notes.entries(piece.synonyms, *path, "synonyms"):
        if not isinstance(entry, dict) or not entry.get("synonym"):
            notes.tolerate("a synonym is a mapping with 'synonym'", *where)


def _positions(entry: dict[str, Any], path: Path, flag: str, position_key: str, notes: Notes) -> dict[Path, int]:
    """The 1-based position of every flagged property: those with a position first, the others as they appear."""
    flagged: list[tuple[Path, int]] = []
    _collect(entry, path, flag, position_key, flagged)
    stated = [(where, position) for where, position in flagged if position > 0]
    taken: dict[int, Path] = {}
    for where, position in stated:
        if position in taken:
            other = notes.at(*taken[position])
            notes.tolerate(f"{position_key} {position} is taken: {other} has it too", *where, position_key)
        taken.setdefault(position, where)
    ordered = sorted(stated, key=lambda pair: pair[1]) + [pair for pair in flagged if pair[1] <= 0]
    return {where: index + 1 for index, (where, _) in enumerate(ordered)}


def _collect(entry: Any, path: Path, flag: str, position_key: str, found: list[tuple[Path, int]]) -> None:
    if not isinstance(entry, dict):
        return
    properties = entry.get("properties")
    for index, child in enumerate(properties if isinstance(properties, list) else []):
        where = (*path, "properties", index)
        if isinstance(child, dict) and str(child.get(flag)).lower() == "true":
            position = child.get(position_key)
            found.append((where, position if isinstance(position, int) and not isinstance(position, bool) else -1))
        _collect(child, where, flag, position_key, found)
    if isinstance(entry.get("items"), dict):
        _collect(entry["items"], (*path, "items"), flag, position_key, found)
