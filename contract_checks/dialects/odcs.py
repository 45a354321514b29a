"""The Open Data Contract Standard, versions 3.0.0 to 3.2.0."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from contract_checks.dialects.document import Document
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.dialects.odcs_document import Root
from contract_checks.dialects.odcs_metadata import read_description, read_owners, read_servers, show_the_rest
from contract_checks.dialects.odcs_notes import Clauses, Notes, did_you_mean
from contract_checks.dialects.odcs_others import Others
from contract_checks.dialects.odcs_references import outline
from contract_checks.dialects.odcs_schema import read_schema
from contract_checks.dialects.odcs_sla import Sla, TableKey, read_sla
from contract_checks.dialects.writing import write_document
from contract_checks.errors import ContractError
from contract_checks.metrics import FieldPath
from contract_checks.model import Contract, Dataset, Lifecycle, walk_columns

VERSIONS = ("3.0.0", "3.0.1", "3.0.2", "3.1.0", "3.2.0")
LATEST = (3, 2)

_MARKS_OF_2 = ("quantumName", "uuid", "datasetDomain", "datasetName", "dataset", "stakeholders")
_MARKS_OF_3 = ("schema", "servers", "slaProperties", "dataProduct", "team", "support")
_LIFECYCLES: dict[str, Lifecycle] = {
    **dict.fromkeys(("", "active", "current", "approved", "production", "in production"), "active"),
    **dict.fromkeys(("proposed", "draft", "development", "in development", "pending"), "draft"),
    **dict.fromkeys(("deprecated", "retired"), "deprecated"),
}
_DOCUMENT_FORMATS = ("json", "jsonl", "ndjson", "xml", "avro-json")


def write(document: Document) -> str:
    """The contract in a document as YAML text, in which nothing of the document is lost but its formatting.

    `parse_document(write(document)).data == document.data`; variables of the environment and keys that the
    standard does not have are written as they are.
    """
    return write_document(document)


class Odcs:
    """Reads ODCS."""

    name = "odcs"

    def recognises(self, document: Document) -> bool:
        """Whether the top-level keys are those of ODCS; 2.x is recognised in order to be refused."""
        data = document.data
        if not isinstance(data, dict):
            return False
        version = str(data.get("apiVersion") or "")
        if str(data.get("kind", "DataContract")).lower() != "datacontract":
            return False
        if version:
            return bool(re.match(r"v?[2-9](\.|$)", version)) and (
                "kind" in data or any(key in data for key in _MARKS_OF_3)
            )
        if any(key in data for key in _MARKS_OF_2[:3]):
            return True
        return _lists_objects(data.get("schema")) or ("kind" in data and any(key in data for key in _MARKS_OF_3[2:]))

    def read(self, document: Document, strict: bool = False, engines: Engines = NO_ENGINES) -> Contract:
        """Read the document into a contract. Raises `ContractError` with all problems if one is an error."""
        return self._read(document, strict, engines, follow=True)

    def _read_other(self, document: Document) -> Contract:
        """A contract that another one refers to; its own references are not followed."""
        if not self.recognises(document):
            raise ContractError([document.problem("it is no ODCS contract")])
        return self._read(document, strict=False, engines=NO_ENGINES, follow=False)

    def _read(self, document: Document, strict: bool, engines: Engines, follow: bool) -> Contract:
        notes = Notes(document, strict, engines)
        data: dict[str, Any] = document.data if isinstance(document.data, dict) else {}
        said = _read_version(data, notes)
        root = notes.piece(Root, data) or Root.model_validate({})
        _required_keys(data, notes)
        clauses = Clauses(notes)
        if "quality" in data:
            clauses.skip("rules belong to an object or property of 'schema', not to the contract", "quality")
        entries = root.schema_ or []
        servers = read_servers(root.servers, clauses)
        documents = bool(servers) and all(str(server.get("format")).lower() in _DOCUMENT_FORMATS for server in servers)
        notes.others = Others(document, servers, self._read_other) if follow else None
        datasets = read_schema(entries, notes, documents)
        sla = read_sla(root.sla_properties, root.sla_default_element, outline(entries), notes, _measures(datasets))
        clauses.show("Default element of the SLA", root.sla_default_element, "slaDefaultElement")
        owners = read_owners(root.team, clauses)
        description, links = read_description(root.description, clauses)
        links = (*clauses.links(root.authoritative_definitions, "authoritativeDefinitions"), *links)
        show_the_rest(root, clauses)
        tags = notes.texts(root.tags, "tags")
        lifecycle = _lifecycle(root.status, notes)
        notes.stop_on_errors()
        identity = root.id or root.name or PurePath(document.file).name.split(".")[0]
        return Contract(
            id=identity,
            name=root.name or identity,
            dialect=self.name,
            location=notes.at(),
            version=root.version or "",
            dialect_version=said,
            status=root.status or "",
            lifecycle=lifecycle,
            description=description,
            domain=root.domain or "",
            data_product=root.data_product or "",
            owners=owners,
            tags=tags,
            links=links,
            datasets=tuple(_with_sla(dataset, sla) for dataset in datasets),
            servers=servers,
            cadence=sla.cadence,
            documented=(*clauses.documented, *sla.documented),
            not_checked=(*clauses.not_checked, *sla.not_checked),
            related=tuple(notes.others.used.values()) if notes.others else (),
            digest=document.digest,
            problems=notes.all_problems(),
        )


def _lists_objects(schema: Any) -> bool:
    """Whether `schema` holds objects of ODCS rather than the columns that OpenMetadata keeps there."""
    objects = [entry for entry in schema if isinstance(entry, dict)] if isinstance(schema, list) else []
    return any(
        "dataType" not in entry and {"properties", "physicalName", "physicalType"} & set(entry) for entry in objects
    )


def _read_version(data: dict[str, Any], notes: Notes) -> str:
    """The version that the document states, noted in `notes.version` as what it is read as."""
    said = str(data.get("apiVersion") or "").strip()
    match = re.fullmatch(r"(v?)(\d+)(?:\.(\d+))?(?:\.\d+)?(?:[-.].*)?", said)
    if (match and int(match[2]) == 2) or (not said and any(key in data for key in _MARKS_OF_2[:3])):
        what = f"ODCS {said.removeprefix('v')}" if said else "ODCS 2"
        raise ContractError(
            [
                notes.document.problem(
                    f"{what} is not read; this reads ODCS 3.0 to 3.2",
                    "apiVersion",
                    hint="convert it to 3: 'uuid' became 'id', 'dataset' 'schema', 'columns' 'properties', "
                    "and 'isNullable' the opposite 'required'",
                )
            ]
        )
    if not said:
        notes.tolerate("'apiVersion' is missing; read as the latest version", hint=f"say 'apiVersion: v{VERSIONS[-1]}'")
        return ""
    if not match or int(match[2]) != 3:
        hint = f"one of {', '.join(f'v{version}' for version in VERSIONS)}"
        notes.refuse(f"'{said}' is no version of ODCS that is known here", "apiVersion", hint=hint)
        return said
    minor = int(match[3] or LATEST[1])
    notes.version = min((3, minor), LATEST)
    number = said.removeprefix("v")
    if number not in VERSIONS:
        read_as = ".".join(str(part) for part in notes.version)
        notes.tolerate(
            f"ODCS {number} is not known here; read as {read_as}", "apiVersion", hint=f"the latest is v{VERSIONS[-1]}"
        )
    elif not match[1]:
        notes.tolerate("'apiVersion' begins with 'v'", "apiVersion", hint=f"say 'v{number}'")
    return number


def _required_keys(data: dict[str, Any], notes: Notes) -> None:
    hints = {
        "kind": "say 'kind: DataContract'",
        "id": "a name that never changes, such as a UUID",
        "version": "the version of this contract, such as '1.0.0'",
    }
    required = ("kind", "id", "version") if notes.version >= (3, 2) else ("kind", "id", "version", "status")
    for key in required:
        if data.get(key) is None:
            notes.tolerate(f"'{key}' is missing", hint=hints.get(key, "such as 'active'"))
    if not data.get("schema"):
        notes.advise("'schema' names no object, so there is nothing to check")


def _lifecycle(status: str | None, notes: Notes) -> Lifecycle:
    said = (status or "").strip().lower().replace("_", " ").replace("-", " ")
    if said in _LIFECYCLES:
        return _LIFECYCLES[said]
    hint = did_you_mean(said, ("proposed", "draft", "active", "deprecated", "retired"))
    notes.advise(f"the status '{status}' is not known; the contract counts as active", "status", hint=hint)
    return "active"


def _measures(datasets: tuple[Dataset, ...]) -> frozenset[tuple[TableKey, FieldPath]]:
    return frozenset(
        ((dataset.name, dataset.physical_name), path)
        for dataset in datasets
        for path, column in walk_columns(dataset.columns)
        if column.virtual
    )


def _with_sla(dataset: Dataset, sla: Sla) -> Dataset:
    added = sla.expectations.get((dataset.name, dataset.physical_name), ())
    return replace(dataset, expectations=(*dataset.expectations, *added)) if added else dataset
