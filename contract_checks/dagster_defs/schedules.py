"""Cadences → schedules: one for each cadence, however many contracts share it.

All start the same job. A tick asks for several runs, none of them larger than Dagster starts quickly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import lru_cache

from dagster import (
    AssetCheckKey,
    AssetKey,
    DagsterInvalidDefinitionError,
    DefaultScheduleStatus,
    RunRequest,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SkipReason,
)

from contract_checks.dagster_defs.cadence import CadenceError, Recurrence, recurrence
from contract_checks.model import Cadence


@dataclass(frozen=True)
class Due:
    """What one dataset has to run when its cadence is due: the whole asset, or `checks` of it alone."""

    contract: str
    key: AssetKey
    count: int
    checks: tuple[AssetCheckKey, ...] = ()


@dataclass(frozen=True)
class Limits:
    """How much one run takes on. A dataset larger than that has a run of its own."""

    contracts: int = 10
    checks: int = 300


@lru_cache(maxsize=4096)
def schedulable(cadence: Cadence) -> Recurrence:
    """The recurrence of a cadence. Raises `CadenceError` also for a cron that Dagster does not take."""
    found = recurrence(cadence)
    try:
        ScheduleDefinition(name="probe", job_name="probe", cron_schedule=found.cron, execution_timezone=found.timezone)
    except DagsterInvalidDefinitionError as error:
        raise CadenceError(f"`{found.cron}` in {found.timezone} cannot be scheduled: {error}") from error
    return found


def build_schedules(
    due: Mapping[Recurrence, Sequence[Due]],
    prefix: str,
    job_name: str,
    default_status: DefaultScheduleStatus,
    limits: Limits,
) -> list[ScheduleDefinition]:
    """A schedule for each recurrence, named after it alone: `contract_sla__every_1_d__0600_utc`."""
    return [
        _schedule(when, tuple(what), f"{prefix}__{when.name}", job_name, default_status, limits)
        for when, what in sorted(due.items(), key=lambda item: item[0].name)
    ]


def _schedule(
    when: Recurrence,
    what: tuple[Due, ...],
    name: str,
    job_name: str,
    default_status: DefaultScheduleStatus,
    limits: Limits,
) -> ScheduleDefinition:
    contracts = list(dict.fromkeys(one.contract for one in what))
    runs = chunks(what, limits)

    def tick(context: ScheduleEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        at = context.scheduled_execution_time
        if not when.is_due(at):
            yield SkipReason(f"{when.label}: next due {when.next_due(at):%Y-%m-%d %H:%M %Z}")
            return
        for number, run in enumerate(runs):
            yield _request(run, f"{name}|{at.astimezone(UTC).isoformat()}|{number}", when)

    return ScheduleDefinition(
        name=name,
        job_name=job_name,
        cron_schedule=when.cron,
        execution_timezone=when.timezone,
        execution_fn=tick,
        default_status=default_status,
        description=f"Evaluates {when.label}: {', '.join(contracts[:20])}{' …' if len(contracts) > 20 else ''}",
    )


def _request(run: Sequence[Due], key: str, when: Recurrence) -> RunRequest:
    whole = [one.key for one in run if not one.checks]
    checks = [check for one in run for check in one.checks]
    return RunRequest(
        run_key=key,
        asset_selection=whole,
        # None stands for every check of the selected assets, a list for these checks only.
        asset_check_keys=checks if checks else None,
        tags={
            "contract/ids": ", ".join(dict.fromkeys(one.contract for one in run)),
            "contract/cadence": when.name,
        },
    )


def chunks(what: Iterable[Due], limits: Limits) -> list[tuple[Due, ...]]:
    """Cut into runs of at most `limits`, the datasets of a contract kept together where they fit."""
    by_contract: dict[str, list[Due]] = defaultdict(list)
    for one in what:
        by_contract[one.contract].append(one)
    runs: list[list[Due]] = [[]]
    for group in by_contract.values():
        if not _fits(runs[-1], group, limits):
            runs.append([])
        for one in group:
            if not _fits(runs[-1], [one], limits):
                runs.append([])
            runs[-1].append(one)
    return [tuple(run) for run in runs if run]


def _fits(run: Sequence[Due], more: Sequence[Due], limits: Limits) -> bool:
    together = [*run, *more]
    contracts = {one.contract for one in together}
    return len(contracts) <= limits.contracts and sum(one.count for one in together) <= limits.checks
