"""The contract format that was proposed for OpenMetadata, as its examples and its JSON Schema have it.

Source: OpenMetadata's epic "Data Contracts in OpenMetadata: JSON Schema Design". A table has
`schema.columns`, a topic `schema.fields`, a model `schema.inputs` and `schema.outputs`; quality comes
as conditions or as a list of rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from contract_checks.dialects.document import Document
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.dialects.openmetadata_columns import COLUMN_LISTS, read_schema
from contract_checks.dialects.openmetadata_quality import read_quality
from contract_checks.dialects.openmetadata_reading import (
    Flag,
    Reader,
    Reference,
    Shape,
    Text,
    Texts,
    join_name,
    read_description,
    read_owners,
    read_references,
    split_name,
)
from contract_checks.dialects.openmetadata_security import read_security
from contract_checks.dialects.openmetadata_semantics import read_proposed
from contract_checks.dialects.openmetadata_sla import ProposedSla, read_sla
from contract_checks.errors import ContractError
from contract_checks.metrics import Query
from contract_checks.model import Contract, Dataset, Expectation, Lifecycle, Link, SemanticRule

KINDS = {"table": "table", "topic": "topic", "mlmodel": "mlmodel", "model": "mlmodel"}
LIFECYCLES: dict[str, Lifecycle] = {"draft": "draft", "active": "active", "violated": "active"}


class ProposedContract(Shape):
    """The whole file."""

    api_version: Text | None = None
    kind: Text | None = None
    id: Text | None = None
    name: Text | None = None
    type: Text | None = None
    description: Any = None
    domain: Text | None = None
    data_product: Text | None = None
    owner: Any = None
    owners: Any = None
    tags: Texts | None = None
    incident_management: Flag | None = None
    target_entity: Any = None
    schema_: Any = None
    semantics: Any = None
    security: Any = None
    quality: Any = None
    sla: Any = None
    version: Text | None = None
    status: Text | None = None
    source_url: Text | None = None


class OpenMetadataProposal:
    """Reads the proposal's format."""

    name = "openmetadata_proposal"

    def recognises(self, document: Document) -> bool:
        """Whether it has the proposal's marks: `schema` with lists of columns, `targetEntity`, `apiVersion: v1`."""
        data = document.data
        if not isinstance(data, dict) or isinstance(data.get("entity"), dict):
            return False
        version = data.get("apiVersion")
        if version is not None and version != "v1" and re.match(r"v?[23]\.", str(version)):
            return False
        schema = data.get("schema")
        listed = isinstance(schema, dict) and any(key in schema for key in COLUMN_LISTS)
        return (
            "targetEntity" in data
            or version == "v1"
            or ("name" in data and listed)
            or ("name" in data and str(data.get("type")).lower() in KINDS)
        )

    def read(self, document: Document, strict: bool = False, engines: Engines = NO_ENGINES) -> Contract:
        """Read the document. Raises `ContractError` with everything that is wrong with it."""
        reader = Reader(document, strict, engines)
        shape = reader.shape(ProposedContract, document.data, ())
        if shape is None:
            raise ContractError(reader.problems)
        target = _target(reader, shape.target_entity)
        if not shape.name:
            reader.error((), "'name' is missing", "the asset the contract is about, as in warehouse.sales.orders")
        _header(reader, shape)
        columns, expectations, exact = read_schema(reader, shape.schema_)
        quality = read_quality(reader, shape.quality, ("quality",), columns)
        sla = read_sla(reader, shape.sla, ("sla",), columns, ProposedSla, topic=_kind(shape, target) == "topic")
        semantics = (*read_proposed(reader, shape.semantics), *_secured(reader, shape.security))
        description = read_description(reader, shape.description, ("description",))
        owners = [*read_owners(reader, shape.owner, ("owner",)), *read_owners(reader, shape.owners, ("owners",))]
        problems = reader.finish()
        name = shape.name or ""
        of_dataset = ("$.schema", "$.quality")
        dataset = Dataset(
            name=name,
            physical_name=_physical_name(name, target),
            key=split_name(target.fully_qualified_name if target and target.fully_qualified_name else name),
            location=reader.at("schema") if shape.schema_ is not None else reader.at(),
            kind=_kind(shape, target),
            columns=columns,
            compatibility="exact" if exact else "superset",
            expectations=(*expectations, *quality, *sla.expectations),
            not_checked=reader.sorted_not_checked(of_dataset, inside=True),
            documented=reader.sorted_documented(of_dataset, inside=True),
            semantic_rules=semantics,
            entity_type=_kind(shape, target),
            aliases=_predictions(quality) if _kind(shape, target) == "mlmodel" else (),
        )
        return Contract(
            id=shape.id or name,
            name=name,
            dialect=self.name,
            location=reader.at(),
            version=shape.version or "",
            dialect_version=shape.api_version or "",
            status=shape.status or "",
            lifecycle=LIFECYCLES.get((shape.status or "active").lower(), "active"),
            description=description,
            domain=shape.domain or "",
            data_product=shape.data_product or "",
            owners=tuple(owners),
            tags=tuple(shape.tags or ()),
            links=(Link(shape.source_url, "Source"),) if shape.source_url else (),
            datasets=(dataset,),
            cadence=sla.cadence,
            documented=reader.sorted_documented(of_dataset, inside=False),
            not_checked=reader.sorted_not_checked(of_dataset, inside=False),
            incidents=shape.incident_management,
            digest=document.digest,
            problems=problems,
        )


def _header(reader: Reader, shape: ProposedContract) -> None:
    if shape.kind is not None and shape.kind.lower() != "datacontract":
        reader.warn(("kind",), f"'{shape.kind}' is not the kind of a contract", "write DataContract")
    if shape.api_version is not None and shape.api_version != "v1":
        reader.warn(("apiVersion",), f"the version '{shape.api_version}' is not known", "write v1")
    if shape.status is not None and shape.status.lower() not in LIFECYCLES:
        reader.error(("status",), f"'{shape.status}' is no status", "one of DRAFT, ACTIVE, VIOLATED")
    if shape.owner is not None and shape.owners is not None:
        reader.warn(("owner",), "there are 'owner' and 'owners'; all of them are taken")


def _secured(reader: Reader, value: Any) -> tuple[SemanticRule, ...]:
    """The security section, of which every key is known: it is prose in most of the proposal's examples."""
    return read_security(reader, value, tuple(map(str, value)) if isinstance(value, dict) else ())


def _target(reader: Reader, value: Any) -> Reference | None:
    found = read_references(reader, value, ("targetEntity",))
    if isinstance(value, str):
        return Reference.model_validate({"fullyQualifiedName": value})
    return found[0] if found else None


def _kind(shape: ProposedContract, target: Reference | None) -> str:
    stated = (target.type if target is not None else None) or shape.type
    if stated:
        return KINDS.get(stated.lower().replace("_", "").replace(" ", ""), stated)
    schema = shape.schema_ if isinstance(shape.schema_, dict) else {}
    if "inputs" in schema or "outputs" in schema:
        return "mlmodel"
    return "topic" if "fields" in schema else "table"


def _predictions(quality: Sequence[Expectation]) -> tuple[str, ...]:
    """The one table that the queries of a model's contract read: the table of its predictions."""
    names: set[str] = set()
    for query in (one.metric for one in quality if isinstance(one.metric, Query)):
        try:
            tree = parse_one(query.sql, dialect="duckdb")
        except SqlglotError:
            continue  # whether the query can be run is told elsewhere
        defined = {one.alias for one in tree.find_all(exp.CTE)}
        for table in tree.find_all(exp.Table):
            if table.name and table.name not in defined:
                names.add(".".join(part.name for part in table.parts))
    return tuple(names) if len(names) == 1 else ()


def _physical_name(name: str, target: Reference | None) -> str:
    """How a source finds the data: OpenMetadata's full name begins with the service, which no database knows."""
    full = target.fully_qualified_name if target is not None else None
    if not full:
        return name
    parts = split_name(full)
    return join_name(parts[1:] if len(parts) > 3 else parts)
