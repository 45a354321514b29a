"""Partitions of an asset → parts of its table: which rows a run is about.

A partition is found by the column that the contract marks as the partition column, or by one that the
settings name. Where it cannot be found, nothing is evaluated; a check never looks at another partition, and
never at the whole table without saying so.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from inspect import signature
from itertools import pairwise
from typing import Literal, TypeAlias

from dagster import (
    AssetCheckSpec,
    AssetKey,
    BackfillPolicy,
    DagsterInstance,
    DailyPartitionsDefinition,
    DynamicPartitionsDefinition,
    HourlyPartitionsDefinition,
    MonthlyPartitionsDefinition,
    MultiPartitionKey,
    MultiPartitionsDefinition,
    PartitionsDefinition,
    PreviewWarning,
    TimeWindowPartitionsDefinition,
    WeeklyPartitionsDefinition,
    partition_loading_context,
)
from dagster import __version__ as dagster_version

from contract_checks.dagster_defs import names
from contract_checks.dagster_defs.cadence import CadenceError, recurrence
from contract_checks.metrics import FieldFilter, FieldPath, RowFilter, Scalar, field_text
from contract_checks.model import Cadence, Contract, Dataset, declared_categories, walk_columns


@dataclass(frozen=True)
class Partitions:
    """How an asset is partitioned, and how its table tells the partitions apart.

    Args:
        definition: The partitions of the asset.
        column: The column that tells them apart, by the contract's name for it; for several dimensions a
            mapping from their names. Default: the contract's partition column, or columns of the
            dimensions' names.
        timezone: The time zone of moments that are stored without one. Default: that of `definition`.
        format: How the beginning of a time window is written in a column of text or numbers (`%Y%m%d`).
            Default for text: the partition key as it is.
        unique_in: Whether a key has to be unique in the whole `table` or among the `rows` of a partition.
        backfill: How Dagster divides a backfill into runs. Default: a run for each partition, which is the
            only way to have a verdict on each.
        results: `partition` keeps a result of every check for each partition, by a part of Dagster that is
            not stable yet; `latest` keeps the latest.
    """

    definition: PartitionsDefinition
    column: str | Mapping[str, str] | None = None
    timezone: str | None = None
    format: str | None = None
    unique_in: Literal["table", "rows"] = "table"
    backfill: BackfillPolicy | None = None
    results: Literal["latest", "partition"] = "latest"


@dataclass(frozen=True)
class ByCadence:
    """Partitions by the contract's own cadence, for every dataset with one partition column.

    A contract that is due every hour, day, week or month has such partitions from `start` on, in the time
    zone of its cadence. Other datasets have none.
    """

    start: datetime | str


RESULTS_PER_PARTITION = "partitions_def" in signature(AssetCheckSpec.__new__).parameters
"""Whether this version of Dagster can keep a result of a check for each partition."""

WholeTable: TypeAlias = Literal["whole_table"]
PartitionsOf: TypeAlias = Partitions | PartitionsDefinition | WholeTable
PartitionSettings: TypeAlias = Mapping[str, PartitionsOf] | ByCadence
"""The partitions of datasets, each by its asset key (`warehouse/orders`), its table or its name."""


class PartitionError(ValueError):
    """It cannot be told which rows a partition is."""


@dataclass(frozen=True)
class Partitioned:
    """The partitions of a dataset, with the field that each dimension is told apart by.

    The only dimension of partitions that have no dimensions is `""`. `in_text` holds the fields that keep a
    window as text, the partition's key or what `format` makes of its beginning.
    """

    settings: Partitions
    fields: Mapping[str, FieldPath]
    in_text: frozenset[FieldPath] = field(default=frozenset())

    @property
    def definition(self) -> PartitionsDefinition:
        """The asset's partitions."""
        return self.settings.definition

    def rows(self, keys: Sequence[str], instance: DagsterInstance | None = None) -> RowFilter:
        """The rows of partitions. Raises `PartitionError` where they are none, or no simple part of a table."""
        unknown = [key for key in keys if not self._has(key, instance)]
        if unknown:
            raise PartitionError(f"'{unknown[0]}' is none of the asset's partitions")
        if isinstance(self.definition, MultiPartitionsDefinition):
            terms = self._grid(self.definition, keys)
        else:
            terms = (self._term(self.definition, self.fields[""], keys),)
        return RowFilter(terms, label(keys), self.settings.unique_in)

    def _has(self, key: str, instance: DagsterInstance | None) -> bool:
        with partition_loading_context(dynamic_partitions_store=instance):
            return self.definition.has_partition_key(key)

    def _grid(self, definition: MultiPartitionsDefinition, keys: Sequence[str]) -> tuple[FieldFilter, ...]:
        split: list[MultiPartitionKey] = [definition.get_partition_key_from_str(key) for key in keys]
        terms, size = [], 1
        for dimension in definition.partitions_defs:
            own = list(dict.fromkeys(key.keys_by_dimension[dimension.name] for key in split))
            size *= len(own)
            terms.append(self._term(dimension.partitions_def, self.fields[dimension.name], own))
        if size != len(set(keys)):
            raise PartitionError(f"{len(keys)} partitions of {size} that the dimensions have together")
        return tuple(terms)

    def _term(self, definition: PartitionsDefinition, path: FieldPath, keys: Sequence[str]) -> FieldFilter:
        if not isinstance(definition, TimeWindowPartitionsDefinition):
            return FieldFilter(path, values=tuple(keys))
        windows = sorted(definition.time_window_for_partition_key(key) for key in keys)
        if path in self.in_text:
            pattern = self.settings.format
            told: Sequence[Scalar] = [one.start.strftime(pattern) for one in windows] if pattern else keys
            return FieldFilter(path, values=tuple(told))
        if any(one.end != after.start for one, after in pairwise(windows)):
            raise PartitionError("the partitions do not follow on each other")
        zone = self.settings.timezone or definition.timezone
        return FieldFilter(path, lower=windows[0].start, upper=windows[-1].end, zone=zone)


def label(keys: Sequence[str]) -> str:
    """Partitions as a person names them."""
    return f"partition {keys[0]}" if len(keys) == 1 else f"partitions {keys[0]} to {keys[-1]}"


def partitioned(settings: Partitions, dataset: Dataset) -> Partitioned:
    """The partitions of a dataset. Raises `PartitionError` where no column tells them apart."""
    fields = _fields(settings, dataset)
    declared = declared_categories(dataset)
    text = frozenset(
        path for path in fields.values() if settings.format is not None or declared.get(path) in ("string", "integer")
    )
    if settings.format is None:
        numbers = [path for path in text if declared.get(path) == "integer" and _is_window(settings, fields, path)]
        if numbers:
            name = field_text(numbers[0])
            raise PartitionError(f"`{name}` is a number: say with format= how a time window is written in it (%Y%m%d)")
    return Partitioned(settings, fields, text)


def _is_window(settings: Partitions, fields: Mapping[str, FieldPath], path: FieldPath) -> bool:
    definition = settings.definition
    if not isinstance(definition, MultiPartitionsDefinition):
        return isinstance(definition, TimeWindowPartitionsDefinition)
    own = {one.name: one.partitions_def for one in definition.partitions_defs}
    return any(
        found == path and isinstance(own[name], TimeWindowPartitionsDefinition) for name, found in fields.items()
    )


def _fields(settings: Partitions, dataset: Dataset) -> Mapping[str, FieldPath]:
    walked = walk_columns(dataset.columns)
    marked = sorted(
        ((column.partition_position, path, column.name) for path, column in walked if column.partition_position),
        key=lambda one: one[0] or 0,
    )
    definition, chosen = settings.definition, settings.column
    if isinstance(definition, MultiPartitionsDefinition):
        by_name = {name.lower(): path for _, path, name in marked}
        given = chosen if isinstance(chosen, Mapping) else {}
        found = {}
        for dimension in definition.partitions_defs:
            own = given.get(dimension.name)
            path = _named(own, dataset) if own else by_name.get(dimension.name.lower())
            if path is None:
                raise PartitionError(
                    f"no partition column tells the dimension '{dimension.name}' apart; "
                    "name it in Partitions(column={dimension: column})"
                )
            found[dimension.name] = path
        return found
    if isinstance(chosen, str):
        return {"": _named(chosen, dataset)}
    if len(marked) != 1:
        marks = f"{len(marked)} partition columns" if marked else "no partition column"
        raise PartitionError(f"the contract marks {marks}; mark one, or name it with Partitions(column=)")
    return {"": marked[0][1]}


def _named(column: str, dataset: Dataset) -> FieldPath:
    """The field that a person means by `column`: by the contract's names, or by those in the data."""
    for path, one in walk_columns(dataset.columns):
        if field_text(path) == column or (len(path) == 1 and one.name == column):
            return path
    return tuple(column.split("."))


def partitioned_check(spec: AssetCheckSpec, settings: Partitions) -> AssetCheckSpec:
    """The check as one that has a result for each partition, if the settings ask for that.

    Raises `ValueError` where this version of Dagster has no such checks.
    """
    if settings.results == "latest":
        return spec
    if not RESULTS_PER_PARTITION:
        raise ValueError(f'Dagster {dagster_version} keeps no results per partition: leave results="latest"')
    with warnings.catch_warnings():
        # Whoever asks for results per partition has read that Dagster may change them.
        warnings.simplefilter("ignore", PreviewWarning)
        return AssetCheckSpec(
            spec.name,
            asset=spec.asset_key,
            description=spec.description,
            additional_deps=spec.additional_deps,
            blocking=spec.blocking,
            metadata=spec.metadata,
            automation_condition=spec.automation_condition,
            partitions_def=settings.definition,
        )


def keys_due(
    definition: PartitionsDefinition | None, due: datetime, instance: DagsterInstance | None
) -> Sequence[str | None]:
    """The partitions that are due: the last time window that has ended, or every key that is no window.

    Without partitions it is `[None]`.
    """
    if definition is None:
        return [None]
    with partition_loading_context(due, instance):
        if isinstance(definition, TimeWindowPartitionsDefinition):
            last = definition.get_last_partition_key()
            return [last] if last is not None else []
        keys = definition.get_partition_keys()
        if not isinstance(definition, MultiPartitionsDefinition):
            return keys
        windows = [
            (one.name, one.partitions_def.get_last_partition_key())
            for one in definition.partitions_defs
            if isinstance(one.partitions_def, TimeWindowPartitionsDefinition)
        ]
        split = [definition.get_partition_key_from_str(key) for key in keys]
        return [str(key) for key in split if all(key.keys_by_dimension[name] == last for name, last in windows)]


def kind_of(definition: PartitionsDefinition | None) -> str:
    """A word for partitions, for the names of jobs and schedules: `_daily`, `_static_1f2e3d`; empty for none."""
    if definition is None:
        return ""
    word = type(definition).__name__.removesuffix("PartitionsDefinition").lower() or "own"
    return f"_{word}_{names.short_hash(_identity(definition))}"


def _identity(definition: PartitionsDefinition) -> str:
    if isinstance(definition, DynamicPartitionsDefinition):
        return definition.name or ""  # Dagster's own would depend on the keys there are today
    if isinstance(definition, MultiPartitionsDefinition):
        return " ".join(f"{one.name} {_identity(one.partitions_def)}" for one in definition.partitions_defs)
    return definition.get_serializable_unique_identifier()


# --------------------------------------------------------------------------- settings


def settings_for(
    settings: PartitionSettings | None,
    declared: PartitionsDefinition | None,
    contract: Contract,
    dataset: Dataset,
    key: AssetKey,
) -> Partitions | WholeTable | None:
    """The partitions of an asset: those of the settings, or those `declared` by its spec; None if it has none."""
    if isinstance(settings, ByCadence):
        return Partitions(declared) if declared is not None else _by_cadence(settings, contract, dataset)
    wanted = [key.to_user_string(), dataset.physical_name, dataset.name]
    chosen = next((settings[name] for name in wanted if name in settings), None) if settings else None
    return as_partitions(chosen if chosen is not None else declared)


def as_partitions(one: PartitionsOf | None) -> Partitions | WholeTable | None:
    """A setting in its full form."""
    return Partitions(one) if isinstance(one, PartitionsDefinition) else one


def unknown_names(settings: PartitionSettings | None, known: Mapping[AssetKey, Dataset]) -> list[str]:
    """The names in the settings that are of no dataset."""
    there = {key.to_user_string() for key in known}
    there |= {name for one in known.values() for name in (one.physical_name, one.name)}
    return sorted(set(settings) - there) if isinstance(settings, Mapping) else []


def _by_cadence(settings: ByCadence, contract: Contract, dataset: Dataset) -> Partitions | None:
    marked = [column for column in dataset.columns if column.partition_position]
    if len(marked) != 1 or contract.cadence is None:
        return None
    definition = _windows(contract.cadence, settings.start)
    return Partitions(definition) if definition is not None else None


def _windows(cadence: Cadence, start: datetime | str) -> PartitionsDefinition | None:
    if cadence.every is None or cadence.every.count != 1:
        return None
    try:
        zone = recurrence(cadence).timezone
    except CadenceError:
        return None
    match cadence.every.unit:
        case "hour":
            return HourlyPartitionsDefinition(_start(start, "%Y-%m-%d-%H:%M"), timezone=zone)
        case "day":
            return DailyPartitionsDefinition(_start(start, "%Y-%m-%d"), timezone=zone)
        case "week":
            return WeeklyPartitionsDefinition(_start(start, "%Y-%m-%d"), timezone=zone)
        case "month":
            return MonthlyPartitionsDefinition(_start(start, "%Y-%m-%d"), timezone=zone)
    return None


def _start(start: datetime | str, pattern: str) -> str:
    moment = datetime.fromisoformat(start) if isinstance(start, str) else start
    return moment.strftime(pattern)
