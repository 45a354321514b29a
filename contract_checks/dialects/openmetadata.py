"""OpenMetadata's data contracts as they shipped: what its UI exports, its API takes and returns, and its docs show.

Source: OpenMetadata's `dataContract.json` and `createDataContract.json`, releases 1.9 to 2.0. The published
examples do not follow these schemas, so what they do is read too and reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pydantic import Field

from contract_checks.dialects.conditions import read_moment
from contract_checks.dialects.document import Document
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.dialects.openmetadata_odcs import read_odcs_rules
from contract_checks.dialects.openmetadata_parameters import Subject
from contract_checks.dialects.openmetadata_reading import (
    Flag,
    Reader,
    Reference,
    Shape,
    Text,
    join_name,
    read_description,
    read_owners,
    read_references,
    short,
    split_name,
)
from contract_checks.dialects.openmetadata_schema import entity_name, read_schema
from contract_checks.dialects.openmetadata_security import read_security
from contract_checks.dialects.openmetadata_semantics import read_rules
from contract_checks.dialects.openmetadata_side_file import find_side_file, read_quality, read_side_file
from contract_checks.dialects.openmetadata_sla import Sla, read_sla
from contract_checks.errors import ContractError
from contract_checks.model import Contract, Dataset, Lifecycle, Link

LIFECYCLES: dict[str, Lifecycle] = {
    "approved": "active",
    "active": "active",
    "draft": "draft",
    "in review": "draft",
    "unprocessed": "draft",
    "deprecated": "deprecated",
    "archived": "retired",
    "rejected": "retired",
}
"""The words of `entityStatus`, and of `status` in 1.9."""

ENTITY_TYPES = (
    "table", "topic", "apiEndpoint", "dashboardDataModel", "database", "databaseSchema", "storedProcedure",
    "dashboard", "chart", "pipeline", "container", "searchIndex", "mlmodel", "apiCollection", "directory", "file",
    "spreadsheet", "worksheet", "dataProduct", "api", "apiService", "metric",
)  # fmt: skip
SECTION_TYPES = {
    "schema": ("table", "topic", "apiEndpoint", "dashboardDataModel"),
    "qualityExpectations": ("table",),
}
"""The asset types that may have a section; OpenMetadata refuses it at the others."""

_MARKS = ("odcsQualityRules", "entityStatus", "qualityExpectations")
_RECORDS = (
    "displayName", "updatedAt", "updatedBy", "impersonatedBy", "createdAt", "createdBy", "changeDescription",
    "incrementalChangeDescription", "contractUpdates", "latestResult", "testSuite", "extension", "effectiveFrom",
    "effectiveUntil",
)  # fmt: skip
_WRAPPER = "dataContracts"


class EntityContract(Shape):
    """The whole file: the body of a create request, or the entity as the server returns it."""

    id: Text | None = None
    name: Text | None = None
    display_name: Text | None = None
    fully_qualified_name: Text | None = None
    description: Any = None
    version: Text | None = None
    updated_at: Any = None
    updated_by: Any = None
    impersonated_by: Any = None
    created_at: Any = None
    created_by: Any = None
    href: Any = None
    deleted: Flag | None = None
    change_description: Any = None
    incremental_change_description: Any = None
    contract_updates: Any = None
    latest_result: Any = None
    test_suite: Any = None
    inherited: Flag | None = None
    status: Text | None = None
    entity_status: Text | None = None
    entity: Any = None
    table_fqn: Text | None = Field(default=None, alias="tableFQN")
    schema_: Any = None
    semantics: Any = None
    quality_expectations: Any = None
    odcs_quality_rules: Any = None
    odcs_element_extensions: Any = None
    sla: Any = None
    security: Any = None
    terms_of_use: Any = None
    owners: Any = None
    reviewers: Any = None
    effective_from: Text | None = None
    effective_until: Text | None = None
    source_url: Text | None = None
    extension: Any = None


class OpenMetadata:
    """Reads OpenMetadata's own format."""

    name = "openmetadata"

    def recognises(self, document: Document) -> bool:
        """Whether it has the marks: `entity`, `tableFQN`, or a name with one of the keys no other format has."""
        data = document.data
        if not isinstance(data, dict):
            return False
        return (
            isinstance(data.get("entity"), dict)
            or "tableFQN" in data
            or _is_wrapper(data)
            or ("name" in data and any(mark in data for mark in _MARKS))
        )

    def read(self, document: Document, strict: bool = False, engines: Engines = NO_ENGINES) -> Contract:
        """Read the document. Raises `ContractError` with everything that is wrong with it."""
        reader = Reader(document, strict)
        if isinstance(document.data, dict) and _is_wrapper(document.data):
            return self._read_wrapped(document, document.data[_WRAPPER], strict)
        shape = reader.shape(EntityContract, document.data, ())
        if shape is None:
            raise ContractError(reader.problems)
        if not shape.name:
            reader.error((), "'name' is missing")
        entity = _entity(reader, shape)
        _sections_allowed(reader, shape, entity.type or "table")
        status, lifecycle = _status(reader, shape)
        columns, lengths = read_schema(reader, shape.schema_, ("schema",))
        semantics = (*read_rules(reader, shape.semantics), *read_security(reader, shape.security))
        sla = read_sla(reader, shape.sla, ("sla",), columns, Sla, topic=entity.type == "topic")
        period, products = _period(reader, shape), _products(reader, shape.extension)
        _documentation(reader, shape)
        description = read_description(reader, shape.description, ("description",))
        owners = read_owners(reader, shape.owners, ("owners",))
        full = entity.fully_qualified_name or entity.name or ""
        parts = split_name(full)
        beside = find_side_file(document.file)
        side = read_side_file(beside, strict) if beside is not None else None
        tests = read_quality(reader, shape.quality_expectations, Subject(parts, columns), side)
        rules = read_odcs_rules(reader, shape.odcs_quality_rules, full, columns)
        problems = reader.finish()
        of_dataset = ("$.schema", "$.qualityExpectations", "$.odcsQualityRules")
        dataset = Dataset(
            name=full,
            physical_name=join_name(parts[1:] if entity.fully_qualified_name and len(parts) > 1 else parts),
            key=parts,
            location=reader.at("schema") if shape.schema_ is not None else reader.at(),
            kind=entity.type or "table",
            columns=columns,
            expectations=(*lengths, *tests.expectations, *rules, *sla.expectations),
            not_checked=(*reader.sorted_not_checked(of_dataset, inside=True), *tests.not_checked),
            documented=reader.sorted_documented(of_dataset, inside=True),
            semantic_rules=semantics,
            entity_type=entity.type or "table",
        )
        return Contract(
            id=shape.id or shape.fully_qualified_name or shape.name or "",
            name=shape.name or "",
            dialect=self.name,
            location=reader.at(),
            version=shape.version or "",
            status=status,
            lifecycle=lifecycle,
            description=description,
            data_product=products[0] if len(products) == 1 else "",
            data_products=products,
            owners=tuple(owners),
            links=(Link(shape.source_url, "Source"),) if shape.source_url else (),
            datasets=(dataset,),
            cadence=sla.cadence,
            documented=reader.sorted_documented(of_dataset, inside=False),
            not_checked=reader.sorted_not_checked(of_dataset, inside=False),
            related=tests.related,
            effective_from=period[0],
            effective_until=period[1],
            digest=document.digest,
            problems=problems,
        )

    def _read_wrapped(self, document: Document, contracts: list[Any], strict: bool) -> Contract:
        """The one contract of a file of OpenMetadata's sample data; of several none can be chosen."""
        if len(contracts) != 1:
            problem = document.problem(
                f"'{_WRAPPER}' holds {len(contracts)} contracts, a file holds one",
                _WRAPPER,
                hint="write one file for each",
            )
            raise ContractError([problem])
        prefix = (_WRAPPER, 0)
        lines = {path[2:]: line for path, line in document.lines.items() if path[:2] == prefix}
        return self.read(Document(document.file, contracts[0], document.digest, lines), strict)


def _is_wrapper(data: Mapping[str, Any]) -> bool:
    return list(data) == [_WRAPPER] and isinstance(data[_WRAPPER], list)


# --------------------------------------------------------------------------- the asset


def _entity(reader: Reader, shape: EntityContract) -> Reference:
    """The asset the contract is about, with the best name the file has for it."""
    entity: Reference | None = None
    if shape.entity is not None:
        entity = reader.shape(Reference, shape.entity, ("entity",))
    elif shape.table_fqn is None:
        reader.error((), "'entity' is missing", "a reference to the asset: {type: table, fullyQualifiedName: …}")
    entity = entity or Reference(type="table")
    full = entity.fully_qualified_name or shape.table_fqn or entity_name(shape.schema_) or _owner_of(shape)
    if shape.entity is not None and not full and not entity.name:
        message = "the contract names its asset by an id alone; it is looked for by the name of the contract"
        reader.warn(("entity",), message, "add entity.fullyQualifiedName")
    if entity.type is not None and entity.type not in ENTITY_TYPES:
        reader.warn(("entity", "type"), f"'{entity.type}' is no type of asset in OpenMetadata")
    return Reference.model_validate(
        {
            "id": entity.id,
            "type": entity.type or "table",
            "name": entity.name or shape.name,
            "fullyQualifiedName": full or None,
        }
    )


def _owner_of(shape: EntityContract) -> str:
    """The asset's full name as the contract's own tells it: `<asset>.dataContract_<name>`."""
    full, _, own = (shape.fully_qualified_name or "").rpartition(".dataContract_")
    return full if own else ""


def _sections_allowed(reader: Reader, shape: EntityContract, kind: str) -> None:
    sections = {"schema": shape.schema_, "qualityExpectations": shape.quality_expectations}
    for section, types in SECTION_TYPES.items():
        if sections[section] and kind in ENTITY_TYPES and kind not in types:
            message = f"a contract of type '{kind}' cannot have '{section}'"
            reader.error((section,), message, f"OpenMetadata has it for {', '.join(types)}")


def _status(reader: Reader, shape: EntityContract) -> tuple[str, Lifecycle]:
    key = "entityStatus" if shape.entity_status is not None else "status"
    stated = shape.entity_status if shape.entity_status is not None else shape.status
    if shape.entity_status is not None and shape.status is not None:
        reader.warn(("status",), "there are 'status' and 'entityStatus'; 'entityStatus' is taken")
    if shape.deleted:
        reader.warn(("deleted",), "the contract is marked as deleted; it is treated as deprecated")
    if stated is None:
        message = "no 'entityStatus': OpenMetadata takes the contract for a draft, which never blocks"
        reader.warn((), message, "write entityStatus: Approved")
        return "", "deprecated" if shape.deleted else "draft"
    if stated.lower() not in LIFECYCLES:
        known = "Draft, In Review, Approved, Rejected, Deprecated, Archived, Unprocessed"
        reader.error((key,), f"'{stated}' is no status", f"one of {known}")
        return stated, "draft"
    if key == "entityStatus" and stated.lower() == "active":
        reader.warn((key,), "'Active' is a status of OpenMetadata 1.9; it is read as Approved", "write Approved")
    return stated, "deprecated" if shape.deleted else LIFECYCLES[stated.lower()]


def _products(reader: Reader, extension: Any) -> tuple[str, ...]:
    """The data products that the asset is in, which a contract has no key for but its custom properties."""
    value = extension.get("dataProducts") if isinstance(extension, dict) else None
    found = read_references(reader, value, ("extension", "dataProducts"))
    return tuple(dict.fromkeys(one.label for one in found if one.label))


def _period(reader: Reader, shape: EntityContract) -> tuple[datetime | None, datetime | None]:
    """From when until when the contract is in force; a day alone is meant from its beginning to its end, in UTC."""
    start = _moment(reader, "effectiveFrom", shape.effective_from)
    end = _moment(reader, "effectiveUntil", shape.effective_until, whole_day=True)
    if start is not None and end is not None and start >= end:
        reader.warn(("effectiveUntil",), "the contract is never in force: it ends before it begins")
    return start, end


def _moment(reader: Reader, key: str, text: str | None, whole_day: bool = False) -> datetime | None:
    if text is None:
        return None
    read = read_moment(text.strip())
    if isinstance(read, datetime):
        return read if read.tzinfo is not None else read.replace(tzinfo=UTC)
    if isinstance(read, date):
        day = datetime.combine(read, datetime.min.time(), UTC)
        return day + timedelta(days=1) if whole_day else day
    reader.error((key,), f"'{short(text)}' is no date and time", "write it as in 2026-01-31T00:00:00Z")
    return None


# --------------------------------------------------------------------------- what is only shown


def _documentation(reader: Reader, shape: EntityContract) -> None:
    terms = shape.terms_of_use
    if isinstance(terms, dict):
        for key in terms:
            if key not in ("content", "inherited"):
                reader.unknown(("termsOfUse", key), ("content", "inherited"), "semantics")
        terms = terms.get("content")
    reader.document_value(("termsOfUse",), terms, "Terms of use")
    for reviewer in read_references(reader, shape.reviewers, ("reviewers",)):
        reader.document_value(("reviewers",), reviewer.display_name or reviewer.label, "Reviewer")
    for item, path in reader.mappings(shape.odcs_element_extensions, ("odcsElementExtensions",), "extensions"):
        reader.document_value(path, item, f"ODCS extension of {short(item.get('element'))}")
    data = reader.document.data
    for key in _RECORDS:
        value = data.get(key) if isinstance(data, dict) else None
        if value is not None:
            reader.document_value((key,), short(value, 300))
