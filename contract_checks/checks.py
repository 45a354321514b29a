"""Contract → Plan: every promise becomes a check, or is listed with the reason why it is not one.

Pure and offline; it runs whenever Dagster loads its definitions. Here checks get their names, which are
known by what a rule *is* (its id, its name, or what it says), never by where it stands.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Literal

from contract_checks.errors import ContractError, Location, Problem
from contract_checks.metrics import (
    EACH,
    Bound,
    Columns,
    DuplicateKeys,
    FieldPath,
    Metric,
    ModelSignature,
    NotNull,
    NotOneOf,
    OrphanKeys,
    Registered,
    RowCount,
    Threshold,
    Today,
    Undecodable,
    UnparsedValues,
    Violations,
    field_text,
)
from contract_checks.model import (
    AgeLimit,
    Column,
    Contract,
    Dataset,
    DateLimit,
    DeclaredType,
    Documented,
    Expectation,
    NotChecked,
    Section,
    SemanticRule,
    Severity,
    Thresholds,
    walk_columns,
)
from contract_checks.naming import cut_name, said, short_hash
from contract_checks.naming import slug as slug
from contract_checks.wording import count_text
from contract_checks.wording import expected_text as expected_text

NONE_ALLOWED = Thresholds((Threshold("mustBe", 0),))
"""The requirement of a rule that no row may break."""


@dataclass(frozen=True)
class ExpectedColumn:
    """A column as the schema checks look for it."""

    field: FieldPath
    type: DeclaredType | None
    location: Location
    optional: bool = False


@dataclass(frozen=True)
class ColumnsPresent:
    """Every expected column is among the found ones."""

    columns: tuple[ExpectedColumn, ...]


@dataclass(frozen=True)
class NoOtherColumns:
    """No found column is outside the expected ones."""

    columns: tuple[ExpectedColumn, ...]


@dataclass(frozen=True)
class TypesMatch:
    """Every expected column that is there has its declared type."""

    columns: tuple[ExpectedColumn, ...]


@dataclass(frozen=True)
class SignatureMatches:
    """A model takes the declared inputs and gives the declared outputs, each of its type."""

    inputs: tuple[ExpectedColumn, ...]
    outputs: tuple[ExpectedColumn, ...]


@dataclass(frozen=True)
class Settings:
    """How promises are read where their standards leave it open or teams differ.

    `compatibility` replaces the contracts' own: `superset` (the data may have more columns), `exact`, or
    `subset` (it may have fewer). `between_bounds` says whether the bounds of `mustBeBetween` count as
    inside, `missing_null` whether `missingValues` counts NULL only where it is listed or always.
    `physical_names` replaces the physical name of a dataset, by contract id and dataset name; an empty
    name leaves it deliberately unbound: nothing of it is checked, and that is reported. `metrics` are the names
    that functions are registered under; a promise about another name is not checked. `signatures` are the
    `MLmodel` files of models, by contract id and dataset name, whose signatures are compared. `type_mismatch`
    says how bad a column of another type is; to OpenMetadata it is only worth a warning. `allowed_paths` are the
    folders and addresses in which a contract's own servers may find files; None leaves it to the caller's
    default (Dagster: the working directory, and beside or above the contract; elsewhere: anywhere).
    `statement_timeout` is after how many seconds a database gives up on a statement, whose checks are errored then;
    with 0 it never does for our sake. `proofs` says that what a source guarantees is not scanned for (see `proofs`).
    `measurements` is the path of a store of kept measurements, where files that did not change are not read again
    (see `sources.kept`); None for none.
    """

    compatibility: Literal["superset", "exact", "subset"] | None = None
    between_bounds: Literal["inclusive", "exclusive"] = "inclusive"
    missing_null: Literal["listed", "always"] = "listed"
    physical_names: Mapping[tuple[str, str], str] = field(default_factory=dict)
    metrics: frozenset[str] = frozenset()
    signatures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    type_mismatch: Severity = "error"
    allowed_paths: tuple[str, ...] | None = None
    statement_timeout: int = 600
    proofs: bool = True
    measurements: str | None = None


@dataclass(frozen=True)
class SemanticJudgement:
    """The rule is true of the asset's metadata; no metric of the data is needed."""

    rule: SemanticRule


Judgement = (
    Thresholds
    | AgeLimit
    | DateLimit
    | ColumnsPresent
    | NoOtherColumns
    | TypesMatch
    | SignatureMatches
    | SemanticJudgement
)


@dataclass(frozen=True)
class Check:
    """One promise of one dataset, ready to be measured and judged.

    `name` is unique in its dataset and stable: `section__subject__rule`. `column` is the column as a
    person writes it, or None for the whole dataset. `metrics` are all that must be measured; the first is
    the one whose value is compared. `expected` says the requirement in words. `engine` is
    the one that the rule was written for, if it was translated.
    """

    name: str
    dataset: str
    section: Section
    rule: str
    judgement: Judgement
    metrics: tuple[Metric, ...]
    expected: str
    location: Location
    severity: Severity = "error"
    column: str | None = None
    id: str | None = None
    title: str | None = None
    description: str = ""
    dimension: str | None = None
    schedule: str | None = None
    if_present: bool = False
    incident: bool | None = None
    blocking: bool | None = None
    tags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    engine: str = ""


@dataclass(frozen=True)
class DatasetPlan:
    """All that will be checked of a dataset, and all that will not.

    `siblings` are all datasets of the contract, which foreign keys and users' queries may reach, and those of
    other contracts that foreign keys lead to. `contract` is
    what the semantic rules see of it.
    """

    dataset: Dataset
    checks: tuple[Check, ...]
    not_checked: tuple[NotChecked, ...] = ()
    documented: tuple[Documented, ...] = ()
    siblings: tuple[Dataset, ...] = ()
    contract: Contract | None = field(default=None, repr=False)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what is promised: it changes when a promise does, not when a line moves."""
        promises = sorted(
            f"{check.name} {check.severity} {check.if_present} {said((check.judgement, check.metrics))!r}"
            for check in self.checks
        )
        return hashlib.sha256("\n".join(promises).encode()).hexdigest()[:12]

    def select(self, names: Iterable[str]) -> tuple[Check, ...]:
        """The checks of those names, in the plan's order. Raises `KeyError` on a name it does not have."""
        wanted = set(names)
        unknown = wanted - {check.name for check in self.checks}
        if unknown:
            raise KeyError(f"no such check: {', '.join(sorted(unknown))}")
        return tuple(check for check in self.checks if check.name in wanted)


@dataclass(frozen=True)
class Plan:
    """What a contract comes down to."""

    contract: Contract
    datasets: tuple[DatasetPlan, ...]

    def dataset(self, name: str) -> DatasetPlan:
        """The plan of the dataset of that name. Raises `KeyError` if there is none."""
        for plan in self.datasets:
            if plan.dataset.name == name:
                return plan
        raise KeyError(name)


def plan(contract: Contract, settings: Settings | None = None) -> Plan:
    """Turn a contract into its plan.

    Raises `ContractError` when two different rules claim one name, with both places.
    """
    problems: list[Problem] = []
    chosen = settings or Settings()
    bound = tuple(_bound(dataset, contract, chosen) for dataset in contract.datasets)
    reachable = (*bound, *contract.related)
    datasets = tuple(_plan_dataset(dataset, contract, reachable, chosen, problems) for dataset in bound)
    if problems:
        raise ContractError(problems)
    return Plan(contract, datasets)


def _bound(dataset: Dataset, contract: Contract, settings: Settings) -> Dataset:
    """The dataset under the name and the rules that the settings give it."""
    name = settings.physical_names.get((contract.id, dataset.name), dataset.physical_name)
    compatibility = settings.compatibility or dataset.compatibility
    renamed = {
        one.physical_name: settings.physical_names[contract.id, one.name]
        for one in contract.datasets
        if (contract.id, one.name) in settings.physical_names
    }
    expectations = tuple(_as_set(one, settings, renamed) for one in dataset.expectations)
    streams = {one.type.strip().lower() for one in contract.servers} == {"kafka"}
    kind = "topic" if streams and dataset.kind == "table" else dataset.kind
    changed = any(new is not old for new, old in zip(expectations, dataset.expectations, strict=True))
    if (name, compatibility, kind, changed) == (dataset.physical_name, dataset.compatibility, dataset.kind, False):
        return dataset
    return replace(dataset, physical_name=name, compatibility=compatibility, expectations=expectations, kind=kind)


def _as_set(expectation: Expectation, settings: Settings, renamed: Mapping[str, str]) -> Expectation:
    metric, requirement = expectation.metric, expectation.requirement
    if isinstance(metric, OrphanKeys) and metric.target in renamed:
        metric = replace(metric, target=renamed[metric.target])
    if isinstance(requirement, Thresholds) and settings.between_bounds == "exclusive":
        thresholds = tuple(replace(one, inclusive=False) for one in requirement.all_of)
        requirement = replace(requirement, all_of=thresholds)
    if settings.missing_null == "always" and isinstance(metric, Violations) and expectation.rule == "missingValues":
        condition = metric.condition
        if isinstance(condition, NotOneOf) and None not in condition.values:
            metric = replace(metric, condition=NotOneOf((*condition.values, None)))
    if metric is expectation.metric and requirement is expectation.requirement:
        return expectation
    return replace(expectation, metric=metric, requirement=requirement)


def _plan_dataset(
    dataset: Dataset, contract: Contract, siblings: tuple[Dataset, ...], settings: Settings, problems: list[Problem]
) -> DatasetPlan:
    unknown = [one for one in dataset.expectations if _is_unregistered(one, settings)]
    not_checked = (*map(_not_registered, unknown), *dataset.not_checked, *contract.not_checked)
    documented = (*dataset.documented, *contract.documented)
    schema = [
        replace(one, severity=settings.type_mismatch) if isinstance(one.judgement, TypesMatch) else one
        for one in _schema_checks(dataset)
    ]
    made = [*schema, *map(partial(_semantic_check, dataset), dataset.semantic_rules)]
    signature = settings.signatures.get((contract.id, dataset.name))
    if signature is not None:
        made.append(_signature_check(dataset, str(signature)))
    known = dataset
    if unknown:
        known = replace(dataset, expectations=tuple(one for one in dataset.expectations if one not in unknown))
    checks = _named(dataset, [*made, *_expectation_checks(known)], problems)
    if not dataset.physical_name:
        reason = "the settings leave the dataset unbound"
        unbound = tuple(NotChecked(check.location, f"{reason} ({check.name})", check.section) for check in checks)
        return DatasetPlan(dataset, (), (*unbound, *not_checked), documented, siblings, contract)
    return DatasetPlan(dataset, checks, not_checked, documented, siblings, contract)


# --------------------------------------------------------------------------- the schema section


def _schema_checks(dataset: Dataset) -> list[Check]:
    stored = [(path, column) for path, column in walk_columns(dataset.columns) if not column.virtual]
    expected = tuple(
        ExpectedColumn(path, column.type, column.location, column.optional)
        for path, column in stored
        if path[-1] not in EACH or column.type is not None
    )
    checks: list[Check] = []
    if dataset.kind.lower() == "topic":
        checks.append(_schema_check(dataset, "decodable", NONE_ALLOWED, (Undecodable(),), "every message decodes"))
    if expected and dataset.compatibility != "subset":
        named = tuple(one for one in expected if one.field[-1] not in EACH)
        present = f"{count_text(len(named), 'column')} present"
        checks.append(_schema_check(dataset, "columns", ColumnsPresent(named), (Columns(),), present))
    if expected and dataset.compatibility in ("exact", "subset"):
        checks.append(
            _schema_check(dataset, "unexpected_columns", NoOtherColumns(expected), (Columns(),), "no other columns")
        )
    typed = tuple(one for one in expected if one.type is not None)
    if typed:
        metrics: tuple[Metric, ...] = (Columns(), *(UnparsedValues(one.field) for one in typed))
        promised = f"{count_text(len(typed), 'column')} of the promised type"
        checks.append(_schema_check(dataset, "types", TypesMatch(typed), metrics, promised))
    for path, column in stored:
        checks += _column_checks(dataset, path, column)
    key = sorted(
        ((column.primary_key, path, column) for path, column in stored if column.primary_key is not None),
        key=lambda part: part[0],
    )
    if key:
        fields = tuple(path for _, path, _ in key)
        subject = field_text(fields[0]) if len(fields) == 1 else None
        what = ", ".join(field_text(path) for path in fields)
        checks.append(
            Check(
                name="",
                dataset=dataset.name,
                section="schema",
                rule="primaryKey",
                judgement=NONE_ALLOWED,
                metrics=(DuplicateKeys(fields),),
                expected="no duplicate keys",
                location=key[0][2].location,
                severity=key[0][2].severity,
                column=subject,
                description=f"The primary key ({what}) is unique.",
            )
        )
    return checks


def _schema_check(
    dataset: Dataset, rule: str, judgement: Judgement, metrics: tuple[Metric, ...], expected: str
) -> Check:
    sentences = {
        "columns": "Every promised column is there.",
        "unexpected_columns": "There are no other columns than the promised ones.",
        "types": "Every column has the promised type.",
        "decodable": "Every message is what its format and its schema say.",
        "signature": "The model takes the promised inputs and gives the promised outputs.",
    }
    return Check(
        name="",
        dataset=dataset.name,
        section="schema",
        rule=rule,
        judgement=judgement,
        metrics=metrics,
        expected=expected,
        location=dataset.location,
        description=sentences[rule],
    )


def _column_checks(dataset: Dataset, path: FieldPath, column: Column) -> list[Check]:
    if not column.required and column.primary_key is None and not column.unique:
        return []
    checks = []
    text = field_text(path)
    common = Check(
        name="",
        dataset=dataset.name,
        section="schema",
        rule="",
        judgement=NONE_ALLOWED,
        metrics=(),
        expected="",
        location=column.location,
        severity=column.severity,
        column=text,
        if_present=column.optional or dataset.compatibility == "subset",
    )
    if column.required or column.primary_key is not None:
        checks.append(
            replace(
                common,
                rule="required",
                metrics=(Violations(path, NotNull()),),
                expected="no null values",
                description=f"`{text}` is never null.",
                location=column.required_at or column.location,
            )
        )
    if column.unique:
        checks.append(
            replace(
                common,
                rule="unique",
                metrics=(DuplicateKeys((path,)),),
                expected="no duplicate values",
                description=f"No two rows have the same `{text}`.",
                location=column.unique_at or column.location,
            )
        )
    return checks


# --------------------------------------------------------------------------- expectations


def _expectation_checks(dataset: Dataset) -> list[Check]:
    bounded = {
        metric.field
        for expectation in dataset.expectations
        if isinstance(metric := expectation.metric, Violations)
        and isinstance(metric.condition, Bound)
        and metric.condition.operator in ("<", "<=")
        and expectation.severity == "error"
    }
    return [
        _expectation_check(dataset, replace(one, metric=_without_nan(one.metric)) if _is_lower(one, bounded) else one)
        for one in dataset.expectations
    ]


def _is_lower(expectation: Expectation, bounded: set[FieldPath]) -> bool:
    """Whether it is a lower bound on a field that has an upper one, which counts the NaNs (see `Bound`)."""
    metric = expectation.metric
    return (
        isinstance(metric, Violations)
        and isinstance(metric.condition, Bound)
        and metric.condition.operator in (">", ">=")
        and metric.field in bounded
    )


def _without_nan(metric: Metric) -> Metric:
    assert isinstance(metric, Violations)
    assert isinstance(metric.condition, Bound)
    return replace(metric, condition=replace(metric.condition, nan=False))


def _expectation_check(dataset: Dataset, expectation: Expectation) -> Check:
    requirement = expectation.requirement
    metrics: tuple[Metric, ...] = () if isinstance(expectation.metric, Today) else (expectation.metric,)
    if isinstance(requirement, Thresholds) and requirement.unit == "percent":
        metrics = (expectation.metric, requirement.base or RowCount())
    if isinstance(requirement, Thresholds) and requirement.needs is not None:
        metrics = (*metrics, requirement.needs)
    return Check(
        name="",
        dataset=dataset.name,
        section=expectation.section,
        rule=expectation.rule,
        judgement=requirement,
        metrics=metrics,
        expected=expected_text(requirement),
        location=expectation.location,
        severity=expectation.severity,
        column=field_text(expectation.field) if expectation.field else None,
        id=expectation.id,
        title=expectation.name,
        description=expectation.description,
        dimension=expectation.dimension,
        schedule=expectation.schedule,
        if_present=expectation.if_present or (dataset.compatibility == "subset" and expectation.field is not None),
        incident=expectation.incident,
        blocking=expectation.blocking,
        tags=expectation.tags,
        notes=expectation.notes,
        engine=expectation.engine,
    )


def _is_unregistered(expectation: Expectation, settings: Settings) -> bool:
    return isinstance(expectation.metric, Registered) and expectation.metric.name not in settings.metrics


def _not_registered(expectation: Expectation) -> NotChecked:
    assert isinstance(expectation.metric, Registered)
    title = f"the rule '{expectation.name}'" if expectation.name else "the rule"
    reason = f"{title} cannot be evaluated: no function is registered that measures '{expectation.metric.name}'"
    return NotChecked(expectation.location, f"{reason} ({expected_text(expectation.requirement)})", expectation.section)


def _signature_check(dataset: Dataset, path: str) -> Check:
    inputs, outputs = (
        tuple(
            ExpectedColumn((one.physical_name,), one.type, one.location, one.optional)
            for one in dataset.columns
            if one.role == role
        )
        for role in ("input", "output")
    )
    expected = f"{len(inputs)} inputs and {len(outputs)} outputs"
    return _schema_check(dataset, "signature", SignatureMatches(inputs, outputs), (ModelSignature(path),), expected)


def _semantic_check(dataset: Dataset, rule: SemanticRule) -> Check:
    return Check(
        name="",
        dataset=dataset.name,
        section="semantics",
        rule=rule.name,
        judgement=SemanticJudgement(rule),
        metrics=(),
        expected="true",
        location=rule.location,
        severity=rule.severity,
        title=rule.name or None,
        description=rule.description,
        notes=("inherited from the contract of the data product",) if rule.inherited else (),
    )


# --------------------------------------------------------------------------- names


def _named(dataset: Dataset, checks: Sequence[Check], problems: list[Problem]) -> tuple[Check, ...]:
    """Give every check its name; rules that say exactly the same become one check."""
    groups: dict[str, list[Check]] = defaultdict(list)
    for check in checks:
        groups[_base_name(check)].append(check)
    named: dict[int, str] = {}
    for base, group in groups.items():
        if len(group) == 1:
            named[id(group[0])] = cut_name(base)
            continue
        contents = {id(check): _content(check) for check in group}
        distinct = len(set(contents.values())) > 1
        if distinct:
            problems += _taken_ids(group)
        for check in group:
            named[id(check)] = cut_name(f"{base}__{short_hash(contents[id(check)])}" if distinct else base)
    unique: dict[str, Check] = {}
    for check in checks:
        name = named[id(check)]
        if name not in unique:
            unique[name] = _renamed(check, name)
    return tuple(unique.values())


_ALL_BUT_NAME = attrgetter(*(one.name for one in fields(Check)[1:]))


def _renamed(check: Check, name: str) -> Check:
    """The check under a name. Every check of every contract passes here, and `replace` takes twice as long."""
    return Check(name, *_ALL_BUT_NAME(check))


def _taken_ids(group: Sequence[Check]) -> list[Problem]:
    """A problem for every rule whose id another rule of the group had before it."""
    first: dict[str, Check] = {}
    problems = []
    for check in group:
        if check.id and first.setdefault(check.id, check) is not check:
            message = f"the rule id '{check.id}' is taken: {first[check.id].location} has it too"
            problems.append(Problem(message, check.location, hint="give each rule of a list an id of its own"))
    return problems


def _base_name(check: Check) -> str:
    subject = slug(check.column or "")
    if check.column and not subject:
        subject = short_hash(check.column)
    own = slug(check.id or check.title or "") or slug(check.rule)
    return "__".join(part for part in (check.section, subject, own) if part)


def _content(check: Check) -> str:
    """What a check says, whatever its place: the identity of rules without an id or name."""
    # The schema checks, of which a dataset has one each, hold places and sets; neither has a stable text.
    whole = isinstance(check.judgement, ColumnsPresent | NoOtherColumns | TypesMatch | SignatureMatches)
    says = type(check.judgement).__name__ if whole else check.judgement
    # A word of its own on blocking tells two rules apart, and leaves the names of all others as they are.
    own = () if check.blocking is None else (check.blocking,)
    return repr(said((check.rule, check.column, says, check.metrics, check.severity, check.if_present, *own)))
