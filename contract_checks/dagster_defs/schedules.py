"""Cadences → schedules: one for each cadence, however many contracts share it.

All start the same job. A tick asks for several runs, none of them larger than Dagster starts quickly.

After downtime everything that was due runs once, however often it was missed. For a cadence that cron can
say Dagster sees to that: it evaluates the last tick that was missed. Where only every n-th tick is due, that
last one may be none of those; then it starts what was due before and has not run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from dagster import (
    AssetCheckKey,
    AssetKey,
    AssetSelection,
    DagsterInstance,
    DagsterInvalidDefinitionError,
    DagsterInvariantViolationError,
    DefaultScheduleStatus,
    PartitionsDefinition,
    RunRequest,
    RunsFilter,
    ScheduleDefinition,
    ScheduleEvaluationContext,
    SkipReason,
)

from contract_checks.dagster_defs.cadence import CadenceError, Recurrence, recurrence
from contract_checks.dagster_defs.partitions import keys_due
from contract_checks.model import Cadence

DUE = "contract/due"
"""The tag of a run that says for which due time it was started."""
_SCHEDULE = "contract/schedule"


@dataclass(frozen=True)
class Due:
    """What one dataset has to run when its cadence is due: the whole asset, or `checks` of it alone.

    Of an asset with `partitions` it is the last one that has ended, or each of those that do not end; all that
    share a schedule have the same.
    """

    contract: str
    key: AssetKey
    count: int
    checks: tuple[AssetCheckKey, ...] = ()
    partitions: PartitionsDefinition | None = None


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
    job: str | AssetSelection,
    default_status: DefaultScheduleStatus,
    limits: Limits,
) -> list[ScheduleDefinition]:
    """A schedule for each recurrence, named after it alone: `contract_sla__every_1_d__0600_utc`.

    `job` is the name of the job they start, or what a job of their own has to select.
    """
    return [
        _schedule(when, tuple(what), f"{prefix}__{when.name}", job, default_status, limits)
        for when, what in sorted(due.items(), key=lambda item: item[0].name)
    ]


def _schedule(
    when: Recurrence,
    what: tuple[Due, ...],
    name: str,
    job: str | AssetSelection,
    default_status: DefaultScheduleStatus,
    limits: Limits,
) -> ScheduleDefinition:
    contracts = list(dict.fromkeys(one.contract for one in what))
    runs = chunks(what, limits)

    def tick(context: ScheduleEvaluationContext) -> Iterator[RunRequest | SkipReason]:
        at = context.scheduled_execution_time
        due = when.last_due(at)
        if not when.is_due(at) and not _missed(context, name, due):
            yield SkipReason(f"{when.label}: next due {when.next_due(at):%Y-%m-%d %H:%M %Z}")
            return
        for number, run in enumerate(runs):
            for partition in keys_due(run[0].partitions, due, _instance(context)):
                yield _request(run, name, number, when, due, partition)

    return ScheduleDefinition(
        name=name,
        job_name=job if isinstance(job, str) else None,
        target=None if isinstance(job, str) else job,
        cron_schedule=when.cron,
        execution_timezone=when.timezone,
        execution_fn=tick,
        default_status=default_status,
        description=f"Evaluates {when.label}: {', '.join(contracts[:20])}{' …' if len(contracts) > 20 else ''}",
    )


def _missed(context: ScheduleEvaluationContext, name: str, due: datetime) -> bool:
    """Whether the schedule was at work before `due`, and did not run then.

    One that never ran was not at work: a new schedule waits for its first due tick.
    """
    instance = _instance(context)
    if instance is None:
        return False
    last = instance.get_run_records(RunsFilter(tags={_SCHEDULE: name}), limit=1)
    text = last[0].dagster_run.tags.get(DUE) if last else None
    return text is not None and datetime.fromisoformat(text) < due


def _instance(context: ScheduleEvaluationContext) -> DagsterInstance | None:
    try:
        return context.instance
    except DagsterInvariantViolationError:  # a tick that is evaluated by hand
        return None


def _request(
    run: Sequence[Due], name: str, number: int, when: Recurrence, due: datetime, partition: str | None
) -> RunRequest:
    instant = due.astimezone(UTC).isoformat()
    whole = [one.key for one in run if not one.checks]
    checks = [check for one in run for check in one.checks]
    return RunRequest(
        # The time that is due is the key, so that it is launched once whichever tick asks for it.
        run_key="|".join([name, instant, str(number), *([partition] if partition is not None else [])]),
        partition_key=partition,
        asset_selection=whole,
        # None stands for every check of the selected assets, a list for these checks only.
        asset_check_keys=checks if checks else None,
        tags={
            "contract/ids": ", ".join(dict.fromkeys(one.contract for one in run)),
            "contract/cadence": when.name,
            DUE: instant,
            _SCHEDULE: name,
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
