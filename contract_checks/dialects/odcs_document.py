"""The shapes of an ODCS document, piece by piece.

Each model is one mapping of the standard (3.0.0 to 3.2.0) without what is nested in it: nested lists
stay plain values and are validated by whoever reads them, so that one bad piece hides no other. Nothing
here has a meaning; that is for the readers. `new("3.1")` marks a key that the standard has since then.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


def new(version: str) -> Any:
    """An optional field whose key the standard has since `version`."""
    return Field(None, json_schema_extra={"since": version})


class Piece(BaseModel):
    """A mapping of the document; keys it does not know are kept aside in `model_extra`."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="allow", frozen=True, coerce_numbers_to_str=True, protected_namespaces=()
    )


class Root(Piece):
    """The contract itself."""

    version: str | None = None
    kind: str | None = None
    api_version: str | None = None
    id: str | None = None
    name: str | None = None
    tenant: str | None = None
    tags: list[Any] | None = None
    status: str | None = None
    servers: list[Any] | None = None
    data_product: str | None = None
    description: Any = None
    domain: str | None = None
    context: Any = new("3.2")
    schema_: list[Any] | None = Field(None, alias="schema")
    support: Any = None
    price: Any = None
    team: Any = None
    roles: Any = None
    sla_default_element: str | None = None
    sla_properties: list[Any] | None = None
    authoritative_definitions: Any = None
    custom_properties: Any = None
    contract_created_ts: str | None = None


class Description(Piece):
    """`description` of the contract."""

    purpose: str | None = None
    limitations: str | None = None
    usage: str | None = None
    authoritative_definitions: Any = None
    custom_properties: Any = None


class Element(Piece):
    """What objects and properties have in common."""

    id: str | None = new("3.1")
    name: str | None = None
    physical_name: str | None = None
    physical_type: str | None = None
    description: str | None = None
    business_name: str | None = None
    deprecated: bool | None = new("3.2")
    synonyms: Any = new("3.2")
    authoritative_definitions: Any = None
    quality: list[Any] | None = None
    tags: list[Any] | None = None
    custom_properties: Any = None
    logical_type: str | None = None
    properties: list[Any] | None = None
    relationships: list[Any] | None = new("3.1")


class SchemaObject(Element):
    """An entry of `schema`: a table, view, topic or file."""

    data_granularity_description: str | None = None
    context: Any = new("3.2")


class Property(Element):
    """A column, a field of an object, or (nameless) the `items` of an array."""

    primary_key: bool | None = None
    primary_key_position: int | None = None
    logical_type_options: dict[str, Any] | None = None
    required: bool | None = None
    unique: bool | None = None
    semantic_type: str | None = new("3.2")
    partitioned: bool | None = None
    partition_key_position: int | None = None
    classification: str | None = None
    encrypted_name: str | None = None
    transform_source_objects: list[Any] | None = None
    transform_logic: str | None = None
    transform_description: str | None = None
    examples: Any = None
    enum: list[Any] | None = new("3.2")
    map: dict[str, Any] | None = new("3.2")
    critical_data_element: bool | None = None
    items: dict[str, Any] | None = None


class EnumValue(Piece):
    """An entry of `enum`."""

    value: Any = None
    label: Any = None
    id: str | None = None
    description: str | None = None
    custom_properties: Any = None
    authoritative_definitions: Any = None
    tags: Any = None


class MapTypes(Piece):
    """`map`: the definitions of its keys and values."""

    key: dict[str, Any] | None = None
    value: dict[str, Any] | None = None


class Relationship(Piece):
    """An entry of `relationships`."""

    id: str | None = new("3.2")
    type: str | None = None
    from_: Any = Field(None, alias="from")
    to: Any = None
    description: str | None = None
    custom_properties: Any = None


class Rule(Piece):
    """An entry of `quality`, of whatever type; operator values are judged by the reader."""

    id: str | None = new("3.1")
    name: str | None = None
    description: str | None = None
    type: str | None = None
    metric: str | None = new("3.1")
    rule: str | None = None
    arguments: dict[str, Any] | None = new("3.1")
    unit: str | None = None
    query: str | None = None
    engine: str | None = None
    implementation: Any = None
    dimension: str | None = None
    method: str | None = None
    severity: str | None = None
    business_impact: str | None = None
    scheduler: str | None = None
    schedule: str | None = None
    tags: list[Any] | None = None
    custom_properties: Any = None
    authoritative_definitions: Any = None
    must_be: Any = None
    must_not_be: Any = None
    must_be_greater_than: Any = None
    must_be_greater_or_equal_to: Any = None
    must_be_less_than: Any = None
    must_be_less_or_equal_to: Any = None
    must_be_between: Any = None
    must_not_be_between: Any = None
    # Directly on the rule in 3.0.x and wherever `arguments` was indented wrongly.
    valid_values: Any = None
    missing_values: Any = None
    pattern: Any = None
    properties: Any = None


class SlaProperty(Piece):
    """An entry of `slaProperties`."""

    id: str | None = new("3.1")
    property: str | None = None
    value: Any = None
    value_ext: Any = None
    unit: str | None = None
    element: str | None = None
    driver: str | None = None
    description: str | None = new("3.1")
    scheduler: str | None = new("3.1")
    schedule: str | None = new("3.1")
    custom_properties: Any = new("3.2")
    authoritative_definitions: Any = new("3.2")


class Server(Piece):
    """An entry of `servers`: the keys of every type together."""

    id: str | None = new("3.1")
    server: str | None = None
    type: str | None = None
    description: str | None = None
    environment: str | None = None
    roles: Any = None
    custom_properties: Any = None
    account: Any = None
    catalog: Any = None
    catalog_url: Any = new("3.2")
    database: Any = None
    dataset: Any = None
    delimiter: Any = None
    encoding: Any = new("3.2")
    endpoint_url: Any = None
    format: Any = None
    host: Any = None
    location: Any = None
    namespace: Any = new("3.2")
    path: Any = None
    port: Any = None
    project: Any = None
    region: Any = None
    region_name: Any = None
    schema_: Any = Field(None, alias="schema")
    service_name: Any = None
    staging_dir: Any = None
    stream: Any = None
    warehouse: Any = None
    workgroup: Any = new("3.2")


class Team(Piece):
    """`team` as an object, since 3.1."""

    id: str | None = None
    name: str | None = None
    description: str | None = None
    members: list[Any] | None = None
    tags: list[Any] | None = None
    custom_properties: Any = None
    authoritative_definitions: Any = None


class Member(Piece):
    """Someone in a team."""

    id: str | None = new("3.1")
    username: str | None = None
    name: str | None = None
    description: str | None = None
    role: str | None = None
    date_in: str | None = None
    date_out: str | None = None
    replaced_by_username: str | None = None
    tags: list[Any] | None = None
    custom_properties: Any = None
    authoritative_definitions: Any = None


class Definition(Piece):
    """An entry of `authoritativeDefinitions`."""

    id: str | None = new("3.1")
    type: str | None = None
    url: str | None = None
    description: str | None = None


ARGUMENTS = ("validValues", "missingValues", "pattern", "properties")
"""The arguments of the library's metrics."""
