"""What was promised, whatever dialect it was written in.

Everything here is frozen and knows no YAML key. A dialect reads into these values; every later stage
reads from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from contract_checks.datatypes import Category, category_of
from contract_checks.errors import Location, Problem
from contract_checks.metrics import ITEMS, MAP_KEYS, MAP_VALUES, FieldPath, Metric, Threshold

Section = Literal["schema", "semantics", "quality", "sla"]
Severity = Literal["error", "warning"]
Unit = Literal["rows", "percent"]
Compatibility = Literal["superset", "exact", "subset"]
"""`superset`: the data may have more columns than the contract (default); `exact`: neither more nor fewer;
`subset`: fewer, but no others."""

Lifecycle = Literal["draft", "active", "deprecated", "retired"]
"""Whether a contract is in force. Only an `active` one can block, and a `retired` one is not even checked."""


@dataclass(frozen=True)
class Link:
    """A web page that says more: `authoritativeDefinitions` of ODCS, `sourceUrl` of OpenMetadata."""

    url: str
    title: str = ""


@dataclass(frozen=True)
class DeclaredType:
    """The type a column was promised to have.

    `text` is what the contract says, word for word. `categories` are the categories that satisfy it
    (more than one where a dialect groups types into families); empty when the contract states only a
    native type. `native` is the database's own type to compare with, when one was stated. `format` is the
    pattern of a date, time or timestamp that may be stored as text (see `jdk`).
    """

    text: str
    categories: frozenset[Category] = frozenset()
    native: str | None = None
    with_timezone: bool | None = None
    format: str | None = None


@dataclass(frozen=True)
class Duration:
    """A calendar duration: months and years are counted on the calendar, not as 30 or 365 days."""

    count: float
    unit: Literal["second", "minute", "hour", "day", "week", "month", "year"]

    def __str__(self) -> str:
        count = int(self.count) if float(self.count).is_integer() else self.count
        return f"{count} {self.unit}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Cadence:
    """How often data is promised to be refreshed, as a schedule needs it.

    Either `every` (with `time_of_day` as `HH:MM`) or a five-field `cron`. `timezone` is an IANA name or
    a `+HH:MM` offset.
    """

    every: Duration | None = None
    cron: str | None = None
    time_of_day: str | None = None
    timezone: str = "UTC"


@dataclass(frozen=True)
class Thresholds:
    """All of `all_of` must hold for the measured value, in rows or as a percentage of `base`.

    `base` is the metric that counts the whole when `unit` is `percent`. Where `needs` has no value, for example
    the minimum of an empty column, there is nothing to say about the requirement.
    """

    all_of: tuple[Threshold, ...]
    unit: Unit = "rows"
    base: Metric | None = None
    needs: Metric | None = None


@dataclass(frozen=True)
class AgeLimit:
    """The measured timestamp is at most `limit` before now. A naive timestamp is in `timezone`.

    With `by`, a time of day as `HH:MM` in `timezone`, it is a deadline: what counts is the last time that it
    was `by` o'clock. The timestamp is from that day then, or where `limit` is more than a day, at most `limit`
    before it.
    """

    limit: Duration
    timezone: str = "UTC"
    by: str | None = None


@dataclass(frozen=True)
class DateLimit:
    """What the day of the check must be: not before `moment`, or before it; without a time zone it is in UTC.

    With `not_before` (the day from which data is available) a check does not apply until then.
    """

    moment: datetime
    not_before: bool = False


Requirement: TypeAlias = Thresholds | AgeLimit | DateLimit
"""What must be true of a measured value."""


@dataclass(frozen=True)
class Expectation:
    """One promise about the data of a dataset, measurable by one metric.

    `rule` is the promise's key or metric as the contract spells it (`minimum`, `nullValues`); `id` and
    `name` are its own, if it has them. `field` is the column concerned, by physical name. With
    `if_present` a column that is not there makes the check skipped instead of errored.
    `incident` says whether a failure opens an incident, `blocking` whether it stops what is downstream
    (None: not stated). `engine` is the one that the rule was written for, if it was translated.
    """

    rule: str
    metric: Metric
    requirement: Requirement
    location: Location
    section: Section
    severity: Severity = "error"
    field: FieldPath | None = None
    id: str | None = None
    name: str | None = None
    description: str = ""
    dimension: str | None = None
    schedule: str | None = None
    if_present: bool = False
    incident: bool | None = None
    blocking: bool | None = None
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()
    engine: str = ""


@dataclass(frozen=True)
class SemanticRule:
    """One promise about the metadata of a dataset: a rule in JSON Logic that must be true of it.

    `rule` is the parsed JSON. `unusable` says why it cannot be evaluated whatever the metadata, for example
    because its text is no JSON. `enabled`, `entity_type` and `ignored_entities` say where it applies;
    `inherited` that it comes from the contract of a data product. A rule `of_asset` is about what the asset itself
    is known to be, so that the contract's own word does not count.
    """

    name: str
    description: str
    rule: Any = field(hash=False)
    location: Location = field(repr=False)
    enabled: bool = True
    entity_type: str | None = None
    ignored_entities: tuple[str, ...] = ()
    severity: Severity = "error"
    inherited: bool = False
    unusable: str = ""
    of_asset: bool = False


@dataclass(frozen=True)
class Column:
    """A promised column, or a field of one.

    `name` is the contract's name, `physical_name` the one in the data. `children` are the fields of an
    object, `items` describes the items of an array, `map_keys` and `map_values` those of a map.
    `primary_key` is the 1-based position in the primary key, or None. `virtual` marks a column that is not
    stored (ODCS measures). `optional` marks one that may be absent from the data. `role` says whether a model
    takes or gives it.
    """

    name: str
    physical_name: str
    location: Location
    type: DeclaredType | None = None
    required: bool = False
    unique: bool = False
    primary_key: int | None = None
    partition_position: int | None = None
    description: str = ""
    business_name: str = ""
    classification: str = ""
    sensitive: bool = False
    virtual: bool = False
    optional: bool = False
    role: Literal["", "input", "output"] = ""
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    sources: tuple[str, ...] = ()
    children: tuple[Column, ...] = ()
    items: Column | None = None
    map_keys: Column | None = None
    map_values: Column | None = None
    severity: Severity = "error"
    required_at: Location | None = None
    unique_at: Location | None = None


@dataclass(frozen=True)
class Documented:
    """A clause that is shown, not checked: prose, links, prices, people."""

    location: Location
    title: str
    text: str


@dataclass(frozen=True)
class NotChecked:
    """A clause that promises something nobody evaluates here, and why."""

    location: Location
    reason: str
    section: Section = "quality"


@dataclass(frozen=True)
class Dataset:
    """One table, topic, model or file that a contract is about.

    `key` names the dataset among all datasets of the system (the default asset key is made of it);
    `physical_name` is how a source finds it, possibly qualified with dots. `entity_type` is the type of asset
    that semantic rules are written for. `aliases` are names under which a source may have the data instead.
    `foreign` marks a dataset of another contract.
    """

    name: str
    physical_name: str
    key: tuple[str, ...]
    location: Location
    kind: str = "table"
    description: str = ""
    columns: tuple[Column, ...] = ()
    compatibility: Compatibility = "superset"
    expectations: tuple[Expectation, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    documented: tuple[Documented, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    sources: tuple[str, ...] = ()
    semantic_rules: tuple[SemanticRule, ...] = ()
    entity_type: str = "table"
    aliases: tuple[str, ...] = ()
    foreign: bool = False


@dataclass(frozen=True)
class Server:
    """Where a contract says its data lives. `properties` are the dialect's own keys, for `sources/` to read.

    `unusable` says why it cannot be asked, for example because a variable of the environment is not set.
    """

    name: str
    type: str
    location: Location
    environment: str = ""
    properties: tuple[tuple[str, Any], ...] = ()
    unusable: str = ""

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a property of the server, or `default`."""
        return dict(self.properties).get(key, default)


@dataclass(frozen=True)
class Owner:
    """Someone answerable for the data. `kind` is `team` or `user`; `address` an email address if known."""

    name: str
    kind: Literal["user", "team"] = "user"
    address: str = ""
    role: str = ""


@dataclass(frozen=True)
class Contract:
    """A whole contract file.

    `dialect` is the name of the reader (`odcs`, `openmetadata`, `openmetadata_proposal`). `status` is the
    contract's own word, `lifecycle` what it means for blocking. `digest` is the SHA-256 of the file.
    `problems` are warnings only: a contract with an error is never made. `related` are the datasets of other
    contracts that foreign keys lead to. `data_products` are all products that the data is in, `data_product` the
    only one. It is in force from `effective_from` on and before `effective_until`.
    """

    id: str
    name: str
    dialect: str
    location: Location
    version: str = ""
    dialect_version: str = ""
    status: str = ""
    lifecycle: Lifecycle = "active"
    description: str = ""
    domain: str = ""
    data_product: str = ""
    data_products: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()
    tags: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    datasets: tuple[Dataset, ...] = ()
    servers: tuple[Server, ...] = ()
    cadence: Cadence | None = None
    documented: tuple[Documented, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    incidents: bool | None = None
    related: tuple[Dataset, ...] = ()
    effective_from: datetime | None = None
    effective_until: datetime | None = None
    digest: str = ""
    problems: tuple[Problem, ...] = field(default=(), compare=False)

    @property
    def file(self) -> str:
        """The path the contract was read from, as it was given."""
        return self.location.file

    def dataset(self, name: str) -> Dataset:
        """The dataset of that name. Raises `KeyError` if the contract has none."""
        for dataset in self.datasets:
            if dataset.name == name:
                return dataset
        raise KeyError(name)

    def with_datasets(self, datasets: tuple[Dataset, ...]) -> Contract:
        """A copy of the contract with other datasets."""
        return replace(self, datasets=datasets)


def walk_columns(columns: tuple[Column, ...], prefix: FieldPath = ()) -> list[tuple[FieldPath, Column]]:
    """Every column with its `FieldPath`, parents before children, fields and items included."""
    found: list[tuple[FieldPath, Column]] = []
    for column in columns:
        path = (*prefix, column.physical_name)
        found.append((path, column))
        found += walk_columns(column.children, path)
        for each, inner in ((ITEMS, column.items), (MAP_KEYS, column.map_keys), (MAP_VALUES, column.map_values)):
            if inner is not None:
                # What stands for many values has no name of its own in the data.
                nested = walk_columns((replace(inner, physical_name=each),), path)
                found += [(nested[0][0], inner), *nested[1:]]
    return found


def declared_formats(dataset: Dataset) -> dict[FieldPath, str]:
    """The pattern of every field whose dates or times may be stored as text."""
    return {
        path: column.type.format
        for path, column in walk_columns(dataset.columns)
        if column.type is not None and column.type.format is not None
    }


def declared_zones(dataset: Dataset) -> dict[FieldPath, bool]:
    """Whether a time zone is promised, or promised to be absent, for every field where one of them is."""
    return {
        path: column.type.with_timezone
        for path, column in walk_columns(dataset.columns)
        if column.type is not None and column.type.with_timezone is not None
    }


def exact_duration(duration: Duration) -> timedelta | None:
    """The duration as a `timedelta`, or None where only a calendar can tell (months, years)."""
    seconds = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}.get(duration.unit)
    return None if seconds is None else timedelta(seconds=duration.count * seconds)


def declared_categories(dataset: Dataset) -> dict[FieldPath, Category]:
    """The one category promised for each field, for storage that has no types of its own.

    Where a dialect's type stands for a family (OpenMetadata's decimals and floats), the type's own word
    decides; a type that leaves it open is not in the result.
    """
    found: dict[FieldPath, Category] = {}
    contradicted = set()
    for path, column in walk_columns(dataset.columns):
        category = _one_category(column.type) if column.type is not None else None
        if category is None:
            continue
        if found.get(path, category) != category:
            contradicted.add(path)  # two properties of one name, which promise different things
        found[path] = category
    return {path: category for path, category in found.items() if path not in contradicted}


def _one_category(declared: DeclaredType) -> Category | None:
    if len(declared.categories) == 1:
        return next(iter(declared.categories))
    by_word = category_of(declared.native or declared.text, "duckdb")
    if by_word == "date" and declared.native is None and "timestamp" in declared.categories:
        return "timestamp"  # the date of ODCS 3.0: without types, a cell with a time of day is one, and a day too
    known = by_word != "unknown" and (not declared.categories or by_word in declared.categories)
    return by_word if known else None
