"""OpenMetadata's data contracts as they shipped: what its UI exports, its API takes and returns, and its docs show.

Source: OpenMetadata's `dataContract.json` and `createDataContract.json`, releases 1.9 to 2.0. The published
examples do not follow these schemas, so what they do is read too and reported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from contract_checks.dialects.document import Document
from contract_checks.dialects.openmetadata_odcs import read_odcs_rules
from contract_checks.dialects.openmetadata_reading import (
    Flag,
    Path,
    Reader,
    Reference,
    Shape,
    Text,
    Texts,
    join_name,
    kind_of,
    read_description,
    read_owners,
    read_references,
    short,
    split_name,
    words,
)
from contract_checks.dialects.openmetadata_schema import entity_name, read_schema
from contract_checks.dialects.openmetadata_sla import Sla, read_sla
from contract_checks.dialects.openmetadata_tests import read_test
from contract_checks.errors import ContractError
from contract_checks.model import Column, Contract, Dataset, Expectation, Lifecycle, Link

LIFECYCLES: dict[str, Lifecycle] = {
    "approved": "active",
    "active": "active",
    "draft": "draft",
    "in review": "draft",
    "unprocessed": "draft",
    "deprecated": "deprecated",
    "archived": "deprecated",
    "rejected": "deprecated",
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
    "incrementalChangeDescription", "contractUpdates", "latestResult", "testSuite", "extension",
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


class SemanticsRule(Shape):
    """An item of `semantics`: a rule in JSON Logic over the asset's metadata."""

    name: Text | None = None
    description: Text | None = None
    rule: Any = None
    enabled: Flag | None = None
    entity_type: Text | None = None
    ignored_entities: Texts | None = None
    json_tree: Any = None
    provider: Text | None = None
    inherited: Flag | None = None


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

    def read(self, document: Document, strict: bool = False) -> Contract:
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
        _semantics(reader, shape.semantics)
        tests = _quality(reader, shape.quality_expectations, columns)
        sla = read_sla(reader, shape.sla, ("sla",), columns, Sla)
        _documentation(reader, shape)
        description = read_description(reader, shape.description, ("description",))
        owners = read_owners(reader, shape.owners, ("owners",))
        full = entity.fully_qualified_name or entity.name or ""
        parts = split_name(full)
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
            expectations=(*lengths, *tests, *rules, *sla.expectations),
            not_checked=reader.sorted_not_checked(of_dataset, inside=True),
            documented=reader.sorted_documented(of_dataset, inside=True),
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
            owners=tuple(owners),
            links=(Link(shape.source_url, "Source"),) if shape.source_url else (),
            datasets=(dataset,),
            cadence=sla.cadence,
            documented=reader.sorted_documented(of_dataset, inside=False),
            not_checked=reader.sorted_not_checked(of_dataset, inside=False),
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


# --------------------------------------------------------------------------- semantics and quality


def _semantics(reader: Reader, value: Any) -> None:
    for item, path in reader.mappings(value, ("semantics",), "rules"):
        rule = reader.shape(SemanticsRule, item, path, "semantics")
        if rule is None:
            continue
        name = rule.name or f"rule {path[-1]}"
        if not rule.name:
            reader.warn(path, "the rule has no name", "results are told apart by it")
        about = f" ({rule.description.strip()})" if rule.description else ""
        if rule.enabled is False:
            reader.document_value(path, f"{name}{about}: disabled", "Semantics")
            continue
        text = rule.rule if isinstance(rule.rule, str) else short(rule.rule)
        if not text:
            reader.warn(path, f"the rule '{name}' says nothing: it has no 'rule'", "write JSON Logic")
            reader.skip(path, f"the rule has no JSON Logic to evaluate: {name}{about}", "semantics")
            continue
        if not _is_json(rule.rule):
            reader.warn((*path, "rule"), f"the rule '{name}' is not JSON Logic", "a JSON object in a text")
        what = f"{name}{about}: {short(text, 300)}"
        reason = f"JSON Logic rules over the asset's metadata are not evaluated yet: {what}"
        reader.skip(path, reason, "semantics")


def _is_json(rule: Any) -> bool:
    if not isinstance(rule, str):
        return isinstance(rule, dict)
    try:
        return isinstance(json.loads(rule), dict)
    except (ValueError, RecursionError):
        return False


def _quality(reader: Reader, value: Any, columns: Sequence[Column]) -> tuple[Expectation, ...]:
    """Test cases that stand in the contract become expectations; mere references cannot."""
    path: Path = ("qualityExpectations",)
    if value is not None and not isinstance(value, list):
        reader.error(path, f"a list of test cases is expected here, not {kind_of(value)}")
        return ()
    found: list[Expectation] = []
    for index, item in enumerate(value or []):
        where = (*path, index)
        if isinstance(item, dict) and "testDefinition" in item:
            expectation = read_test(reader, item, where, columns)
            found += [expectation] if expectation is not None else []
            continue
        for reference in read_references(reader, item, where):
            reason = f"the test case '{reference.label}' lives in OpenMetadata; the contract only refers to it"
            reader.skip(where, reason)
    return tuple(found)


# --------------------------------------------------------------------------- what is only shown


def _documentation(reader: Reader, shape: EntityContract) -> None:
    terms = shape.terms_of_use
    if isinstance(terms, dict):
        for key in terms:
            if key not in ("content", "inherited"):
                reader.unknown(("termsOfUse", key), ("content", "inherited"), "semantics")
        terms = terms.get("content")
    reader.document_value(("termsOfUse",), terms, "Terms of use")
    _security(reader, shape.security)
    for reviewer in read_references(reader, shape.reviewers, ("reviewers",)):
        reader.document_value(("reviewers",), reviewer.display_name or reviewer.label, "Reviewer")
    for key, value in (("effectiveFrom", shape.effective_from), ("effectiveUntil", shape.effective_until)):
        if value is not None:
            reader.skip((key,), f"the contract is checked whatever the date: {words(key).lower()} {value}", "sla")
    for item, path in reader.mappings(shape.odcs_element_extensions, ("odcsElementExtensions",), "extensions"):
        reader.document_value(path, item, f"ODCS extension of {short(item.get('element'))}")
    data = reader.document.data
    for key in _RECORDS:
        value = data.get(key) if isinstance(data, dict) else None
        if value is not None:
            reader.document_value((key,), short(value, 300))


def _security(reader: Reader, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        reader.document_value(("security",), value)
        return
    for key, item in value.items():
        if key in ("dataClassification", "inherited"):
            if key != "inherited":
                reader.document_value(("security", key), item)
        elif key == "policies":
            for policy, path in reader.mappings(item, ("security", key), "policies"):
                reader.document_value(path, _policy(policy), "Access policy")
        else:
            reader.unknown(("security", key), ("dataClassification", "policies"), "semantics")


def _policy(policy: Mapping[str, Any]) -> str:
    parts = [short(policy.get("accessPolicy"))]
    if policy.get("identities"):
        parts.append(f"for {short(policy['identities'], 300)}")
    filters = policy.get("rowFilters")
    for row_filter in filters if isinstance(filters, list) else []:
        if isinstance(row_filter, dict):
            parts.append(f"rows where {short(row_filter.get('columnName'))} is {short(row_filter.get('values'), 300)}")
    rest = {key: item for key, item in policy.items() if key not in ("accessPolicy", "identities", "rowFilters")}
    return ", ".join(part for part in (*parts, short(rest) if rest else "") if part)
