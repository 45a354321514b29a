"""What Dagster knows of an asset that exists already, as rules about metadata see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dagster import AssetSpec, TableSchema

from contract_checks.dialects.openmetadata_entity import reference, tag_label
from contract_checks.model import Contract, Dataset
from contract_checks.semantics import BY_DEFAULT, MergedMetadata, MetadataProvider


@dataclass(frozen=True)
class AssetMetadata:
    """An asset's description, owners, tags and columns, as its definition in Dagster has them.

    It is for assets that somebody else defines. What the assets of contracts say was made of the contract, so
    that a rule would find there what the contract promises, not what is so.
    """

    spec: AssetSpec

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """The asset as Dagster describes it."""
        spec = self.spec
        found: dict[str, Any] = {
            "description": spec.description or "",
            "owners": [_owner(owner) for owner in spec.owners],
            "tags": [tag_label(f"{key}.{value}" if value else key) for key, value in spec.tags.items()],
            "columns": _columns(spec.metadata.get("dagster/column_schema")),
        }
        return {key: value for key, value in found.items() if value}


def _owner(owner: str) -> dict[str, Any]:
    if owner.startswith("team:"):
        return reference("team", owner.removeprefix("team:"))
    return reference("user", owner.partition("@")[0]) | {"email": owner}


def _columns(schema: object) -> list[dict[str, Any]]:
    schema = getattr(schema, "value", schema)
    if not isinstance(schema, TableSchema):
        return []
    columns = []
    for column in schema.columns:
        tags = [tag_label(f"{key}.{value}" if value else key) for key, value in column.tags.items()]
        made = {"name": column.name, "description": column.description, "tags": tags}
        columns.append({key: value for key, value in made.items() if value})
    return columns


def with_asset(metadata: MetadataProvider | None, spec: AssetSpec) -> MetadataProvider:
    """What rules see of an existing asset: what they would see anyway, and what Dagster knows beyond it."""
    return MergedMetadata(metadata or BY_DEFAULT, AssetMetadata(spec))
