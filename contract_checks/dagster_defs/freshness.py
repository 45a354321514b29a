"""Cadence → FreshnessPolicy and a check of the deadline: when Dagster shows an asset as late.

A policy knows materializations only. Of an asset whose materialization says that the contract was kept, it
tells how long ago that was; how old the data itself is, is a check (`sla__…`). Where no column tells when
data came, and somebody else makes the asset, its materializations do: that is a check as well, since a
policy stops nothing and is not there for those who ask the checks.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import dagster._check as check
from dagster import AssetCheckExecutionContext, AssetExecutionContext, AssetKey, FreshnessPolicy

from contract_checks.checks import Check, DatasetPlan, expected_text
from contract_checks.dagster_defs.cadence import CadenceError, Recurrence
from contract_checks.dagster_defs.schedules import schedulable
from contract_checks.judging import age_text, period
from contract_checks.model import AgeLimit, Cadence, Contract, Duration, exact_duration
from contract_checks.results import CheckResult, DatasetReport

MATERIALIZED = "materialized"
"""The rule of the check that asks Dagster whether an asset was made by its deadline."""

_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_LONGEST = {"month": timedelta(days=31), "year": timedelta(days=366)}
_BOUNDS = tuple(
    timedelta(minutes=minutes)
    for minutes in (
        *(days * 1440 for days in (365, 364, 182, 90, 59, 31, 30, 28, 14, 7, 6, 5, 4, 3, 2, 1)),
        *(hours * 60 for hours in (23, 12, 8, 6, 4, 3, 2, 1)),
        *(30, 20, 15, 10, 5, 2, 1),
    )
)


@lru_cache(maxsize=4096)
def freshness_policy(cadence: Cadence | None) -> FreshnessPolicy | None:
    """The policy of an asset that is promised at a cadence, or None where there is none to keep.

    With a time of day it is a deadline: by then the asset is materialized on that day, or where the interval
    is longer than a day, within one interval before. A cron is a deadline for what it asked for the time
    before. Any other interval is a window: late after the interval, overdue after a grace of a tenth more (five
    minutes at least, a day at most).
    """
    if cadence is None:
        return None
    try:
        when = schedulable(cadence)
    except CadenceError:
        return None
    if cadence.cron is not None:
        return _deadline(when, _BOUNDS)
    if cadence.every is None:
        return None
    interval = longest(cadence.every)
    if cadence.time_of_day is not None and when.step is None and interval >= _DAY:
        bound = _since_midnight(when) if interval == _DAY else interval
        policy = _deadline(when, tuple(one for one in (bound, *_BOUNDS) if one <= bound))
        if policy is not None:
            return policy
    interval = max(interval, _MINUTE)
    return FreshnessPolicy.time_window(fail_window=interval + grace(interval), warn_window=interval)


def longest(every: Duration) -> timedelta:
    """The longest that a calendar makes of a duration."""
    return exact_duration(every) or _LONGEST[every.unit] * every.count


def grace(interval: timedelta) -> timedelta:
    """How long after its interval an asset is late, before it is overdue."""
    return min(max(interval / 10, 5 * _MINUTE), _DAY)


def _since_midnight(when: Recurrence) -> timedelta:
    return timedelta(hours=when.at.hour, minutes=when.at.minute) or _DAY


def _deadline(when: Recurrence, bounds: tuple[timedelta, ...]) -> FreshnessPolicy | None:
    """The deadline with the longest of the bounds that Dagster takes: none longer than between two deadlines."""
    for bound in bounds:
        try:
            return FreshnessPolicy.cron(deadline_cron=when.cron, lower_bound_delta=bound, timezone=when.timezone)
        except check.CheckError:
            continue
    return None


# --------------------------------------------------------------------------- the deadline, as Dagster knows it


def with_availability(plan: DatasetPlan, contract: Contract) -> DatasetPlan:
    """The plan, with a check of the deadline by materializations where a deadline is promised and no column tells."""
    cadence = contract.cadence
    if cadence is None or cadence.every is None or cadence.time_of_day is None or not plan.checks:
        return plan
    if any(isinstance(one.judgement, AgeLimit) and one.judgement.by is not None for one in plan.checks):
        return plan
    limit = AgeLimit(cadence.every, cadence.timezone, cadence.time_of_day)
    check = Check(
        name="sla__materialized_in_time",
        dataset=plan.dataset.name,
        section="sla",
        rule=MATERIALIZED,
        judgement=limit,
        metrics=(),
        expected=expected_text(limit),
        location=contract.location,
        description=f"The asset is materialized by {cadence.time_of_day}.",
    )
    return replace(plan, checks=(*plan.checks, check))


def availability(
    context: AssetExecutionContext | AssetCheckExecutionContext,
    report: DatasetReport,
    key: AssetKey,
    made: bool = False,
) -> DatasetReport:
    """The report with the verdict on the deadline that Dagster's materializations give.

    `made` says that the asset is being made in this very step.
    """
    if not any(one.check.rule == MATERIALIZED for one in report.results):
        return report
    now = datetime.now(UTC)
    event = None if made else context.instance.get_latest_materialization_event(key)
    last = now if made else datetime.fromtimestamp(event.timestamp, UTC) if event is not None else None
    return replace(
        report,
        results=tuple(
            materialized_in_time(one.check, last, now) if one.check.rule == MATERIALIZED else one
            for one in report.results
        ),
    )


def materialized_in_time(check: Check, last: datetime | None, now: datetime) -> CheckResult:
    """Whether the last materialization is one for the last deadline, also if it came late."""
    limit = check.judgement
    assert isinstance(limit, AgeLimit)
    assert limit.by is not None
    if last is None:
        reason = "Skipped: Dagster knows no materialization of the asset, and no column says when data came."
        return CheckResult(check, "skipped", reason, answered_by="dagster")
    deadline, since = period(limit, limit.by, now)
    kept = last.astimezone(UTC) >= since.astimezone(UTC)
    zone = deadline.tzinfo
    return CheckResult(
        check,
        "passed" if kept else "failed",
        f"Last materialized {age_text(now - last)} ago, at {last.astimezone(zone):%Y-%m-%d %H:%M %Z}; by "
        f"{deadline:%Y-%m-%d %H:%M} it had to be from {since.astimezone(zone):%Y-%m-%d %H:%M} on.",
        measured=round((now - last).total_seconds()),
        answered_by="dagster",
    )
