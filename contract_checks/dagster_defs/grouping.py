"""Many rules as few checks, for tables so wide that a check for each rule would be too much for Dagster.

A group is one check of Dagster. Every rule in it is evaluated and shown as before; the worst of them is the
outcome, and it stops what is downstream if one of those is broken that would have stopped it alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dagster import AssetCheckResult, AssetCheckSeverity, AssetCheckSpec, AssetKey

from contract_checks.checks import Check, slug
from contract_checks.dagster_defs.metadata import (
    MAX_BYTES,
    check_result,
    number_or_text,
    promises,
    sentence,
    table,
)
from contract_checks.dagster_defs.names import short_hash
from contract_checks.results import CheckResult

Grouping = Literal["column", "section"]
"""What rules share a check of Dagster: those of one column, or those of one section of the contract."""

_LISTED = 30
_IN_SENTENCE = 3


@dataclass(frozen=True)
class BuiltCheck:
    """A check and what the translator made of it.

    Several checks of a group have one spec; `gates` says whether this one alone stops what is downstream.
    """

    check: Check
    spec: AssetCheckSpec
    gates: bool


def distinct_specs(checks: Iterable[BuiltCheck]) -> list[AssetCheckSpec]:
    """The specs of checks, each once."""
    return list({one.spec.key: one.spec for one in checks}.values())


def grouped(checks: Sequence[BuiltCheck], key: AssetKey, by: Grouping | None) -> tuple[BuiltCheck, ...]:
    """The checks, with one spec for each group.

    A rule with a schedule of its own stays alone, and so does one that shares its group with no other. By
    column, what is about the whole table stays alone as well.
    """
    if by is None:
        return tuple(checks)
    groups: dict[str, list[BuiltCheck]] = defaultdict(list)
    for one in checks:
        name = _group(one.check, by)
        if name and not one.check.schedule:
            groups[name].append(one)
    slugs = [slug(name) for name in groups]
    specs: dict[str, AssetCheckSpec] = {}
    for name, members in groups.items():
        if len(members) > 1:
            own = slug(name) if slugs.count(slug(name)) == 1 and slug(name) else f"{slug(name)}_{short_hash(name)}"
            full = f"column__{own}"[:60] if by == "column" else f"{own}__all"
            specs |= dict.fromkeys((one.check.name for one in members), _spec(full, key, name, by, members))
    return tuple(replace(one, spec=specs.get(one.check.name, one.spec)) for one in checks)


def _group(check: Check, by: Grouping) -> str:
    return (check.column or "") if by == "column" else check.section


def _spec(name: str, key: AssetKey, group: str, by: Grouping, members: Sequence[BuiltCheck]) -> AssetCheckSpec:
    lines = [f"- `{one.check.name}`{f': {one.check.expected}' if one.check.expected else ''}" for one in members]
    more = [f"- and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
    what = f"`{group}`" if by == "column" else f"section {group}"
    listed = "\n".join([*lines[:_LISTED], *more])
    return AssetCheckSpec(
        name,
        asset=key,
        blocking=any(one.gates for one in members),
        description=f"All {len(members)} rules of {what} are kept.\n\n{listed}",
    )


def group_result(
    results: Sequence[tuple[CheckResult, BuiltCheck]], spec: AssetCheckSpec, file: str
) -> AssetCheckResult:
    """The verdict on a group: its only rule's, or the worst of all with a table of them."""
    if len(results) == 1:
        return check_result(results[0][0], spec, file)
    broken = [(result, built) for result, built in results if result.status in ("failed", "errored")]
    broken.sort(key=lambda one: (not _stops(*one), one[0].check.severity != "error", one[0].status != "failed"))
    stops = any(_stops(*one) for one in broken)
    errors = any(result.check.severity == "error" for result, _ in broken)
    error = stops or (errors and not spec.blocking)
    rest = [one for one in results if one not in broken]
    first = check_result(broken[0][0], spec, file).metadata if broken else {}
    metadata: dict[str, Any] = {key: first[key] for key in ("contract", "sql", "notes") if key in first}
    metadata["measured"] = number_or_text(len(broken))
    metadata["expected"] = "no rule broken"
    scopes = {result.scope for result, _ in results if result.scope}
    if scopes:
        metadata["scope"] = ", ".join(sorted(scopes))[:200]
    if broken and all(result.status == "errored" for result, _ in broken):
        metadata["outcome"] = "errored"
    rows = [(one.check.name, one.status, one.check.expected, sentence(one)) for one, _ in (*broken, *rest)]
    room = MAX_BYTES - sum(len(key) + len(str(value).encode()) for key, value in metadata.items())
    metadata["rules"] = table(("rule", "verdict", "expected", "found"), rows, room)
    return AssetCheckResult(
        passed=not broken,
        asset_key=spec.asset_key,
        check_name=spec.name,
        severity=AssetCheckSeverity.ERROR if error or not broken else AssetCheckSeverity.WARN,
        description=_sentence(results, broken),
        metadata=metadata,
    )


def _stops(result: CheckResult, built: BuiltCheck) -> bool:
    return built.gates and result.blocks


def _sentence(results: Sequence[object], broken: Sequence[tuple[CheckResult, BuiltCheck]]) -> str:
    if not broken:
        return f"All {len(results)} rules are kept."
    named = "; ".join(f"{one.check.name}: {sentence(one)}" for one, _ in broken[:_IN_SENTENCE])
    more = f"; and {len(broken) - _IN_SENTENCE} more" if len(broken) > _IN_SENTENCE else ""
    count = promises([one for one, _ in broken], "rule")
    return f"{count} of {len(results)} broken: {named}{more}"[:1000]
