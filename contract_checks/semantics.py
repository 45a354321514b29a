"""Rules × metadata of the asset → CheckResults: what a rule sees, and why it failed.

A rule sees one JSON value, the asset as OpenMetadata's API would describe it: its name, description, owners,
tags, columns, domains and so on. Where that comes from is a `MetadataProvider`'s business. Only `true` is a
pass; a rule that has no value is errored, one that does not apply is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from contract_checks import jsonlogic
from contract_checks.checks import Check, DatasetPlan, SemanticJudgement
from contract_checks.dialects import openmetadata_entity as shapes
from contract_checks.errors import MetadataError
from contract_checks.jsonlogic import Directory, JsonLogicError, Prepared, Read, prepare
from contract_checks.judging import errored
from contract_checks.metrics import FoundColumn
from contract_checks.model import Contract, Dataset, SemanticRule
from contract_checks.results import CheckResult, CheckStatus
from contract_checks.sampling import MASK, sensitive_fields
from contract_checks.sources.openmetadata_server import OpenMetadataServer

__all__ = [
    "BY_DEFAULT",
    "CatalogueMetadata",
    "ContractMetadata",
    "FileMetadata",
    "MergedMetadata",
    "MetadataProvider",
    "OpenMetadataServer",
    "evaluate",
    "with_catalogue",
]

_LONGEST_VALUE = 80
_MOST_READS = 8
_MOST_ITEMS = 6
_MOST_TRIED = 1000
"""How many items of a list are tried one by one to find those that break a rule."""


# --------------------------------------------------------------------------- where metadata comes from


class MetadataProvider(Protocol):
    """Somewhere that knows an asset.

    One that is also a `jsonlogic.Directory` answers rules that ask about teams and data products.
    """

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """The asset of a dataset in OpenMetadata's JSON shape. Raises `MetadataError` if it cannot be had."""


class ContractMetadata:
    """What the contract itself says: descriptions, owners, tags, columns, domain, data product."""

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """The dataset as the contract describes it."""
        return shapes.contract_entity(dataset, contract)


@dataclass(frozen=True)
class CatalogueMetadata:
    """What a database's catalogue says of one table: the columns it has, and the comments on it and on them.

    Without columns it stands for the catalogue of the very table that is checked; see `with_catalogue`.
    `unavailable` says why it says nothing, if it could not be read.
    """

    columns: tuple[FoundColumn, ...] | None = None
    comment: str = ""
    unavailable: str = ""

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """The table as the catalogue describes it. Raises `MetadataError` if it is `unavailable`."""
        if self.unavailable or self.columns is None:
            raise MetadataError(self.unavailable or "the catalogue of the table was not read")
        return shapes.catalogue_entity(self.columns, self.comment)


@dataclass(frozen=True)
class FileMetadata:
    """What a YAML or JSON file says: one entity, or a mapping from the names of datasets to entities."""

    path: str | Path

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """The dataset as the file describes it. Raises `MetadataError` if the file cannot be read or lacks it."""
        return shapes.read_entity(self.path, dataset)


class MergedMetadata:
    """What several places know together: a later one wins where it knows something. Columns are merged by name."""

    def __init__(self, *providers: MetadataProvider) -> None:
        self.providers = providers

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """The dataset as all of them describe it. Raises `MetadataError` if one of them cannot be asked."""
        return shapes.merged_entity([provider.entity(dataset, contract) for provider in self.providers])


BY_DEFAULT = MergedMetadata(ContractMetadata(), CatalogueMetadata())
"""What rules see if nobody says: the contract, and whatever the catalogue knows beyond it."""


def with_catalogue(provider: MetadataProvider, catalogue: CatalogueMetadata) -> MetadataProvider:
    """The provider with `catalogue` in the place of every `CatalogueMetadata()` in it."""
    if isinstance(provider, MergedMetadata):
        return MergedMetadata(*(with_catalogue(part, catalogue) for part in provider.providers))
    if isinstance(provider, CatalogueMetadata) and provider.columns is None and not provider.unavailable:
        return catalogue
    return provider


def without_contract(provider: MetadataProvider) -> MetadataProvider:
    """The provider without what the contract itself says: what is left is what is so."""
    if isinstance(provider, MergedMetadata):
        parts = [without_contract(part) for part in provider.providers if not isinstance(part, ContractMetadata)]
        return MergedMetadata(*parts)
    return MergedMetadata() if isinstance(provider, ContractMetadata) else provider


def _directory(provider: MetadataProvider) -> Directory | None:
    if isinstance(provider, Directory):
        return provider
    parts = provider.providers if isinstance(provider, MergedMetadata) else ()
    return next((found for part in reversed(parts) if (found := _directory(part)) is not None), None)


# --------------------------------------------------------------------------- verdicts


@dataclass(frozen=True)
class _Asset:
    """An asset as rules see it, and as reasons may show it: without values of sensitive columns."""

    seen: Prepared
    shown: Prepared
    masked: bool


def evaluate(checks: Sequence[Check], plan: DatasetPlan, provider: MetadataProvider) -> tuple[CheckResult, ...]:
    """The result of every semantic check of `checks`; the asset is asked for once, and only if a rule applies.

    Metadata that cannot be had makes the checks errored, with the reason.
    """
    seen: dict[bool, _Asset | str] = {}
    results = []
    for check in checks:
        if not isinstance(check.judgement, SemanticJudgement):
            continue
        rule = check.judgement.rule
        skipped = _does_not_apply(rule, plan.dataset.entity_type)
        if skipped:
            results.append(CheckResult(check, "skipped", f"Skipped: {skipped}.", answered_by="metadata"))
            continue
        if rule.unusable:
            results.append(errored(check, rule.unusable))
            continue
        if rule.of_asset not in seen:
            seen[rule.of_asset] = _asset(plan, without_contract(provider) if rule.of_asset else provider)
        asset = seen[rule.of_asset]
        if isinstance(asset, str):
            results.append(errored(check, asset))
        elif rule.of_asset and not _knows_tags(asset):
            text = "Skipped: nobody says which tags the asset really has; name a provider of metadata that does."
            results.append(CheckResult(check, "skipped", text, answered_by="metadata"))
        else:
            results.append(_verdict(check, rule, asset, provider))
    return tuple(results)


def _knows_tags(asset: _Asset) -> bool:
    """Whether something is known of the tags of an asset or of its columns, be it that there are none."""
    entity = asset.seen.value
    columns = entity.get("columns") if isinstance(entity, Mapping) else None
    listed = columns if isinstance(columns, list) else []
    return isinstance(entity, Mapping) and any(isinstance(one, Mapping) and "tags" in one for one in (entity, *listed))


def _does_not_apply(rule: SemanticRule, entity_type: str) -> str:
    """Why a rule is not evaluated for assets of a type; empty if it is. OpenMetadata counts such rules as passed."""
    if not rule.enabled:
        return "the rule is disabled"
    if rule.entity_type and rule.entity_type.lower() != entity_type.lower():
        return f"the rule is for assets of type '{rule.entity_type}', this is a '{entity_type}'"
    if not rule.entity_type and entity_type.lower() in {ignored.lower() for ignored in rule.ignored_entities}:
        return f"the rule leaves out assets of type '{entity_type}'"
    return ""


def _asset(plan: DatasetPlan, provider: MetadataProvider) -> _Asset | str:
    """The asset, or why it cannot be had."""
    if plan.contract is None:
        return "the plan does not say which contract it is of"
    try:
        entity = provider.entity(plan.dataset, plan.contract)
    except MetadataError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a user's provider may raise anything; the other checks go on
        return f"{type(provider).__name__} failed: {type(error).__name__}: {error}"
    if not isinstance(entity, Mapping):
        return f"{type(provider).__name__} gave no mapping but {type(entity).__name__}"
    sensitive = frozenset(path[0].lower() for path in sensitive_fields(plan.dataset))
    try:
        seen = prepare(entity)
    except JsonLogicError as error:
        return f"what {type(provider).__name__} gave cannot be read: {error}"
    shown = Prepared(shapes.redacted(seen.value, sensitive, MASK))
    return _Asset(seen, shown, masked=shown != seen)


def _verdict(check: Check, rule: SemanticRule, asset: _Asset, provider: MetadataProvider) -> CheckResult:
    try:
        value = jsonlogic.evaluate(rule.rule, asset.seen, directory=_directory(provider))
    except (JsonLogicError, MetadataError) as error:
        return errored(check, f"{error}. {_saw(rule.rule, asset)}".strip())
    saw = _saw(rule.rule, asset, in_detail=value is not True)
    promise = (rule.description or rule.name).strip().rstrip(".")
    measured = value if isinstance(value, bool) else None
    if value is True:
        sentence = f"The rule is true. {saw}"
    elif value is False:
        sentence = f"{promise}: this is not so. {saw}" if saw else f"{promise}: this is not so, whatever the metadata."
    else:
        gave = _show(value) if _same_when_masked(rule.rule, value, asset) else MASK
        sentence = f"{promise}: the rule gives {gave}, and only true is a pass. {saw}"
    status: CheckStatus = "passed" if value is True else "failed"
    return CheckResult(check, status, sentence.strip(), measured=measured, answered_by="metadata", notes=check.notes)


def _same_when_masked(rule: Any, value: Any, asset: _Asset) -> bool:
    """Whether a rule's value owes nothing to what is masked."""
    try:
        return not asset.masked or bool(jsonlogic.evaluate(rule, asset.shown) == value)
    except JsonLogicError:
        return False


# --------------------------------------------------------------------------- what a rule saw


def _saw(rule: Any, asset: _Asset, in_detail: bool = True) -> str:
    """The values a rule read, in one sentence; in detail, of lists that it went through the items that decided."""
    parts: dict[str, None] = {}
    for read in jsonlogic.reads(rule):
        items = _items_read(read, asset) if in_detail else ""
        parts.setdefault(items or _value_read(read.path, asset.shown))
    if not parts:
        return ""
    more = f"; and {len(parts) - _MOST_READS} more" if len(parts) > _MOST_READS else ""
    return f"The rule saw {'; '.join(list(parts)[:_MOST_READS])}{more}."


def _value_read(path: str, data: Any) -> str:
    found, at = _lookup(path, data)
    if not at:
        return f"the whole: {_show(found)}"
    return f"{at} is missing" if found is None else f"{at} = {_show(found)}"


def _lookup(path: str, data: Any) -> tuple[Any, str]:
    """The value at a path and the path; a list on the way is shown in its place, for a rule cannot go on there."""
    try:
        return jsonlogic.evaluate({"var": path}, data), path
    except JsonLogicError:
        head = path.partition(".")[0]
        whole = data.value if isinstance(data, Prepared) else data
        return (whole.get(head) if isinstance(whole, Mapping) else None), head


def _items_read(read: Read, asset: _Asset) -> str:
    """The items of a list that an operator went through, each with the fields its logic read; empty if none."""
    if not read.operator:
        return ""
    items, printed = (_lookup(read.path, data)[0] for data in (asset.seen, asset.shown))
    if not isinstance(items, list) or not isinstance(printed, list) or not items:
        return ""
    which = _deciding(read, items)
    fields = tuple(dict.fromkeys(jsonlogic.variables(read.logic)))
    words = [_item(printed[index], index, fields) for index in which[:_MOST_ITEMS]]
    if not words:
        return f"{read.path}: all {len(items)}" if read.operator == "all" else f"{read.path}: none of {len(items)}"
    more = f" and {len(which) - len(words)} more" if len(which) > len(words) else ""
    part = f" {len(which)} of {len(items)}:" if len(which) < len(items) else ""
    broken = " not so of" if read.operator == "all" else ""
    return f"{read.path}{':' if part or broken else ' ='}{broken}{part} [{', '.join(words)}{more}]"


def _deciding(read: Read, items: Sequence[Any]) -> list[int]:
    """The items that decide: those that break `all`, those that `none` and `some` find; else every item."""
    everything = list(range(len(items)))
    if read.operator not in ("all", "none", "some"):
        return everything
    found = [
        index for index in everything[:_MOST_TRIED] if _holds(read.logic, items[index]) is (read.operator != "all")
    ]
    return everything if not found and read.operator == "some" else found


def _holds(logic: Any, item: Any) -> bool:
    try:
        return bool(jsonlogic.evaluate({"if": [logic, True, False]}, item))
    except JsonLogicError:
        return False


def _item(item: Any, index: int, fields: Sequence[str]) -> str:
    name = shapes.label(item)
    told = [_value_read(path, item) for path in fields if path and _lookup(path, item)[0] != name]
    if not name and not told:
        return _show(item)
    return f"{name or f'item {index}'} ({', '.join(told)})" if told else name


def _show(value: Any) -> str:
    """A value in a few signs: a list of references by their names, anything else as JSON."""
    if isinstance(value, list):
        return f"[{', '.join(_each(value))}]"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _each(values: Sequence[Any]) -> Iterator[str]:
    for value in values[:_MOST_ITEMS]:
        yield shapes.label(value) or _show(value)
    if len(values) > _MOST_ITEMS:
        yield f"and {len(values) - _MOST_ITEMS} more"
