"""An asset in the shape OpenMetadata's API gives it, which is the shape semantic rules are written for.

Source: OpenMetadata's `entity/data/table.json`, `type/entityReference.json` and `type/tagLabel.json`.
What is not known is left out, never made up; a list of which it is known that it is empty is there and empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from contract_checks.dialects.document import read_document
from contract_checks.dialects.openmetadata_reading import join_name, split_name
from contract_checks.errors import ContractError, MetadataError
from contract_checks.metrics import FoundColumn
from contract_checks.model import Column, Contract, Dataset, Owner

Entity = dict[str, Any]

SYSTEM_CLASSIFICATIONS = ("Tier", "Certification", "PII", "PersonalData")
"""The classifications every OpenMetadata has; of any other tag it is not known whether it is a glossary term."""

DATA_PRODUCT = "dataProduct"
"""The type of data products."""

NO_DATA = frozenset(
    (DATA_PRODUCT, "database", "databaseSchema", "storedProcedure", "dashboard", "chart", "pipeline", "searchIndex",
     "apiCollection", "api", "apiService", "metric", "directory")
)  # fmt: skip
"""Types of assets that have no rows: only their metadata can be checked, and no catalogue knows it."""

COLLECTIONS = {
    "table": "tables",
    "topic": "topics",
    "apiEndpoint": "apiEndpoints",
    "apiCollection": "apiCollections",
    "api": "apiCollections",
    "apiService": "services/apiServices",
    "dashboardDataModel": "dashboard/datamodels",
    "database": "databases",
    "databaseSchema": "databaseSchemas",
    "storedProcedure": "storedProcedures",
    "dashboard": "dashboards",
    "chart": "charts",
    "pipeline": "pipelines",
    "container": "containers",
    "searchIndex": "searchIndexes",
    "mlmodel": "mlmodels",
    "directory": "drives/directories",
    "file": "drives/files",
    "spreadsheet": "drives/spreadsheets",
    "worksheet": "drives/worksheets",
    "dataProduct": "dataProducts",
    "metric": "metrics",
    "user": "users",
}
"""Where OpenMetadata's API has the entities of a type."""

_COMMON_FIELDS = "owners,tags,domains,dataProducts,extension"
_FIELDS = {
    # Everything the API documents for tables but the fields that hold values of the data.
    "table": f"{_COMMON_FIELDS},columns,tableConstraints,tablePartition,usageSummary,followers,schemaDefinition,"
    "dataModel,testSuite,lifeCycle",
    "user": "teams",
    "dataProduct": "domains",
    "databaseSchema": _COMMON_FIELDS,
}

_DESCRIBING = frozenset(
    {
        "name", "displayName", "fullyQualifiedName", "description", "dataType", "dataTypeDisplay", "arrayDataType",
        "dataLength", "precision", "scale", "constraint", "ordinalPosition", "tags", "children", "extension",
    }
)  # fmt: skip
"""Fields of a column that say what it is; any other may hold values of it."""
_VALUES = ("sampleData", "profile", "customMetrics", "joins")
"""Fields of a table that hold values of its data, or may."""


# --------------------------------------------------------------------------- making an entity


def contract_entity(dataset: Dataset, contract: Contract) -> Entity:
    """What a contract itself says of a dataset. Its version and dates are the contract's own, not the asset's."""
    entity: Entity = {
        "name": dataset.key[-1] if dataset.key else dataset.name,
        "fullyQualifiedName": join_name(dataset.key) or dataset.name,
        "description": dataset.description or contract.description or None,
        "owners": [_owner(owner) for owner in contract.owners],
        "tags": [tag_label(tag) for tag in dict.fromkeys((*dataset.tags, *contract.tags))],
        "domains": [reference("domain", contract.domain)] if contract.domain else [],
        "dataProducts": [
            reference(DATA_PRODUCT, name) for name in contract.data_products or (contract.data_product,) if name
        ],
        "columns": [_column(column) for column in dataset.columns if not column.virtual],
        "deleted": False,
    }
    return {key: value for key, value in entity.items() if value is not None}


def catalogue_entity(columns: Sequence[FoundColumn], comment: str = "") -> Entity:
    """What a database says of a table: its comment, and its columns with theirs."""
    entity: Entity = {"columns": [_found_column(column, index) for index, column in enumerate(columns, 1)]}
    return entity | ({"description": comment} if comment else {})


def reference(kind: str, name: str, display: str = "") -> Entity:
    """A reference to another entity, as far as its name tells."""
    made = {"type": kind, "name": split_name(name)[-1] if name else name, "fullyQualifiedName": name}
    return made | ({"displayName": display} if display else {})


def tag_label(tag: str) -> Entity:
    """A tag by its full name (`PII.Sensitive`)."""
    parts = split_name(tag)
    label: Entity = {"tagFQN": tag, "name": parts[-1], "labelType": "Manual", "state": "Confirmed"}
    return label | ({"source": "Classification"} if parts[0] in SYSTEM_CLASSIFICATIONS and len(parts) > 1 else {})


def _owner(owner: Owner) -> Entity:
    return reference(owner.kind, owner.name) | ({"email": owner.address} if owner.address else {})


def _column(column: Column) -> Entity:
    made: Entity = {
        "name": column.physical_name,
        "displayName": column.business_name or None,
        "dataType": column.type.text if column.type is not None else None,
        "description": column.description or None,
        "tags": [tag_label(tag) for tag in column.tags],
        "constraint": _constraint(column),
        "children": [_column(child) for child in column.children] or None,
    }
    return {key: value for key, value in made.items() if value is not None}


def _constraint(column: Column) -> str | None:
    if column.primary_key is not None:
        return "PRIMARY_KEY"
    if column.unique:
        return "UNIQUE"
    return "NOT_NULL" if column.required else None


def _found_column(column: FoundColumn, position: int) -> Entity:
    made = {"name": column.name, "dataTypeDisplay": column.native_type, "description": column.comment}
    return {key: value for key, value in made.items() if value} | {"ordinalPosition": position}


# --------------------------------------------------------------------------- several entities, one asset


def merged_entity(entities: Sequence[Mapping[str, Any]]) -> Entity:
    """One entity of what several places know of an asset: the later place wins where it knows something.

    Null, empty text and empty lists are nothing. Objects are merged key by key, columns by their name (of any
    case); every other list is taken whole.
    """
    merged: Entity = {}
    for entity in entities:
        merged = _merged(merged, entity)
    return merged


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> Entity:
    merged = dict(first)
    for key, value in second.items():
        there = merged.get(key)
        if isinstance(there, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(there, value)
        elif key in ("columns", "children") and isinstance(there, list) and isinstance(value, list):
            merged[key] = _merged_columns(there, value)
        elif key not in merged or not (value is None or value in ("", [])):
            merged[key] = value
    return merged


def _merged_columns(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    columns: dict[Any, Any] = {}
    for index, column in enumerate((*first, *second)):
        name = column.get("name") if isinstance(column, Mapping) else None
        key = name.lower() if isinstance(name, str) else index
        columns[key] = _merged(columns[key], column) if key in columns else column
    return list(columns.values())


# --------------------------------------------------------------------------- reading an entity


def read_entity(path: str | Path, dataset: Dataset) -> Entity:
    """What a YAML or JSON file says of a dataset.

    The file is an entity, or maps the names of datasets (their own, their full or their last) to entities.
    Raises `MetadataError` if there is no such file, it is no such file, or does not have the dataset.
    """
    try:
        data = read_document(path).data
    except ContractError as error:
        raise MetadataError(f"the metadata in {path}: {error.problems[0].message}") from None
    if not isinstance(data, dict):
        raise MetadataError(f"the metadata in {path} is no mapping")
    for name in (join_name(dataset.key), dataset.name, dataset.physical_name, *dataset.key[-1:]):
        if isinstance(data.get(name), dict):
            return dict(data[name])
    if data and all(isinstance(value, dict) for value in data.values()):
        known = ", ".join(sorted(data)[:5])
        raise MetadataError(f"the metadata in {path} does not have '{dataset.name}'; it has {known}")
    return dict(data)


def entity_path(entity_type: str, name: Sequence[str]) -> tuple[str, str]:
    """The collection of OpenMetadata's API that has an entity, and the entity's name there.

    Raises `MetadataError` for a type that the API does not have.
    """
    if entity_type not in COLLECTIONS:
        raise MetadataError(f"OpenMetadata has no assets of type '{entity_type}'")
    return COLLECTIONS[entity_type], join_name(name)


def entity_fields(entity_type: str) -> str:
    """The fields to ask OpenMetadata's API for, besides those it always gives."""
    return _FIELDS.get(entity_type, _COMMON_FIELDS)


# --------------------------------------------------------------------------- showing an entity


def label(item: Any) -> str:
    """What a person calls an item of a list: the name of a tag, an owner, a column."""
    if isinstance(item, Mapping):
        for key in ("tagFQN", "fullyQualifiedName", "name", "displayName", "id"):
            if isinstance(item.get(key), str) and item[key]:
                return str(item[key])
    return ""


def redacted(entity: Mapping[str, Any], sensitive: frozenset[str], mask: str) -> Entity:
    """The entity without the values of its data, where a column (by its name, lower-case) is sensitive."""
    if not sensitive:
        return dict(entity)
    shown = {key: mask if key in _VALUES else value for key, value in entity.items()}
    columns = shown.get("columns")
    if isinstance(columns, list):
        shown["columns"] = [_redacted_column(column, sensitive, mask) for column in columns]
    return shown


def _redacted_column(column: Any, sensitive: frozenset[str], mask: str) -> Any:
    if not isinstance(column, Mapping) or str(column.get("name")).lower() not in sensitive:
        return column
    return {key: value if key in _DESCRIBING else mask for key, value in column.items()}
