"""Which dataset of a contract, and which asset, a caller means."""

from __future__ import annotations

from collections.abc import Sequence

from dagster import AssetKey, AssetsDefinition

from contract_checks.checks import DatasetPlan, Settings, plan
from contract_checks.model import Contract


def dataset_plan(contract: Contract, dataset: str | None, settings: Settings | None = None) -> DatasetPlan:
    """The plan of the dataset of that name, or of the only one. Raises `ValueError` with those there are."""
    plans = plan(contract, settings).datasets
    known = ", ".join(f"'{one.dataset.name}'" for one in plans) or "none"
    if dataset is None:
        if len(plans) != 1:
            raise ValueError(f"{contract.file} describes {len(plans)} datasets ({known}): name one with dataset=")
        return plans[0]
    for one in plans:
        if one.dataset.name == dataset:
            return one
    raise ValueError(f"{contract.file} describes no dataset '{dataset}'; there are: {known}")


def asset_key(asset: AssetKey | AssetsDefinition | str | Sequence[str]) -> AssetKey:
    """The key of an asset; a string may be a path. Raises `ValueError` for a definition of several."""
    if isinstance(asset, AssetsDefinition):
        keys = list(asset.keys)
        if len(keys) != 1:
            known = ", ".join(sorted(key.to_user_string() for key in keys))
            raise ValueError(f"the definition makes {len(keys)} assets ({known}): give the key of one with asset=")
        return keys[0]
    if isinstance(asset, AssetKey):
        return asset
    return AssetKey.from_user_string(asset) if isinstance(asset, str) else AssetKey(list(asset))
