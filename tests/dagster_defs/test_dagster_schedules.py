"""Schedules: what a tick asks for."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg
from pipelines import ORDERS, orders_contract, renamed

from contract_checks.dagster_defs import build_definitions
from contract_checks.dagster_defs.schedules import Due, Limits, chunks
from contract_checks.model import Cadence, Contract, Duration

DAILY = Cadence(Duration(1, "day"), time_of_day="06:00")
BERLIN = ZoneInfo("Europe/Berlin")


def numbered(count: int, **more: Any) -> list[Contract]:
    return [
        orders_contract(file=f"contracts/c{number:02}.yaml", key=("c", f"{number:02}"), id=f"c{number:02}", **more)
        for number in range(count)
    ]


def tick(definitions: dg.Definitions, name: str, at: datetime) -> dg.ScheduleExecutionData:
    repository = definitions.get_repository_def()
    context = dg.build_schedule_context(scheduled_execution_time=at, repository_def=repository)
    return repository.get_schedule_def(name).evaluate_tick(context)


def test_contracts_of_one_cadence_share_a_schedule_in_chunks() -> None:
    """One schedule starts every contract of a cadence, ten in a run, each run with a key of its own."""
    definitions = build_definitions(numbered(23, cadence=DAILY))
    found = tick(definitions, "contract_sla__every_1_d__0600_utc", datetime(2025, 1, 1, 6, tzinfo=ZoneInfo("UTC")))
    requests = found.run_requests or []

    assert [len(request.asset_selection or ()) for request in requests] == [10, 10, 3]
    assert len({request.run_key for request in requests}) == 3
    assert requests[2].tags["contract/ids"] == "c20, c21, c22"
    assert {key for request in requests for key in request.asset_selection or ()} == {
        dg.AssetKey(["c", f"{number:02}"]) for number in range(23)
    }


def test_a_tick_has_the_same_run_keys_when_it_is_repeated() -> None:
    """A tick that is evaluated twice asks for the same runs, which Dagster starts once."""
    at = datetime(2025, 1, 1, 6, tzinfo=ZoneInfo("UTC"))
    first, again = (
        tick(build_definitions(numbered(3, cadence=DAILY)), "contract_sla__every_1_d__0600_utc", at) for _ in range(2)
    )

    assert [one.run_key for one in first.run_requests or ()] == [one.run_key for one in again.run_requests or ()]


def test_a_request_runs_the_asset_with_all_its_checks() -> None:
    """What a tick asks for is the asset and every check of it, in the one shared job."""
    definitions = build_definitions(numbered(2, cadence=DAILY))
    at = datetime(2025, 1, 1, 6, tzinfo=ZoneInfo("UTC"))
    (request,) = tick(definitions, "contract_sla__every_1_d__0600_utc", at).run_requests or ()
    job = definitions.resolve_job_def("contract_checks").get_subset(
        asset_selection=set(request.asset_selection or ()), asset_check_selection=request.asset_check_keys
    )

    assert request.asset_check_keys is None
    assert len(job.asset_layer.selected_asset_keys) == 2
    assert len(job.asset_layer.asset_graph.asset_check_keys) == 8


def test_a_tick_that_is_not_due_is_skipped_with_the_next_date() -> None:
    """What cron cannot say is a tick that starts nothing and says when the next one is due."""
    definitions = build_definitions(
        orders_contract(cadence=Cadence(Duration(2, "day"), time_of_day="06:00", timezone="Europe/Berlin"))
    )
    name = "contract_sla__every_2_d__0600_europe_berlin"
    skipped = tick(definitions, name, datetime(2025, 3, 29, 6, tzinfo=BERLIN))
    due = tick(definitions, name, datetime(2025, 3, 30, 6, tzinfo=BERLIN))

    assert not skipped.run_requests
    assert "2025-03-30 06:00 CEST" in (skipped.skip_message or "")
    assert len(due.run_requests or ()) == 1


def test_a_rule_with_a_schedule_runs_alone() -> None:
    """A rule that states a cron runs on it without the other checks, in the contract's time zone."""
    definitions = build_definitions(orders_contract(schedule="0 20 * * *", cadence=DAILY))
    at = datetime(2025, 1, 1, 20, tzinfo=ZoneInfo("UTC"))
    (request,) = tick(definitions, "contract_rule__cron_0_20_x_x_x__utc", at).run_requests or ()

    assert not request.asset_selection
    assert request.asset_check_keys == [dg.AssetCheckKey(ORDERS, "quality__row_count")]


def test_a_contract_without_a_cadence_has_no_schedule() -> None:
    """Nothing is scheduled that no contract asks for."""
    definitions = build_definitions(orders_contract())

    assert not definitions.schedules
    assert [job.name for job in definitions.jobs or ()] == ["contract_checks"]


def test_a_cadence_that_nobody_can_follow_is_listed() -> None:
    """A cron that is none makes no schedule, and the asset says so among what is not checked."""
    definitions = build_definitions(
        [
            orders_contract(cadence=Cadence(cron="99 6 * * *")),
            orders_contract(file="contracts/b.yaml", key=("b",), schedule="now and then", cadence=DAILY),
        ]
    )
    reasons = [
        str(record.data["reason"])
        for spec in definitions.resolve_all_asset_specs()
        for record in spec.metadata["contract/not_checked"].records
    ]

    assert [schedule.name for schedule in definitions.schedules or ()] == ["contract_sla__every_1_d__0600_utc"]
    assert len(reasons) == 2
    assert all("no schedule" in reason for reason in reasons)


def test_schedules_are_stopped_unless_asked_for() -> None:
    """Whether new schedules run is the caller's choice."""
    stopped = build_definitions(orders_contract(cadence=DAILY))
    running = build_definitions(
        orders_contract(cadence=DAILY), default_schedule_status=dg.DefaultScheduleStatus.RUNNING
    )

    assert [one.default_status.value for one in stopped.schedules or ()] == ["STOPPED"]  # type: ignore[union-attr]
    assert [one.default_status.value for one in running.schedules or ()] == ["RUNNING"]  # type: ignore[union-attr]


def test_two_sets_of_contracts_can_be_merged() -> None:
    """With names of their own, two sets of definitions stand in one code location."""
    one = build_definitions(orders_contract(cadence=DAILY))
    other = build_definitions(orders_contract(key=("b",), cadence=DAILY), name="other")
    merged = dg.Definitions.merge(one, other)
    dg.Definitions.validate_loadable(merged)

    assert {job.name for job in merged.jobs or ()} == {"contract_checks", "other_checks"}


def test_a_run_takes_on_no_more_than_its_limits() -> None:
    """Chunks hold at most the contracts and checks allowed, keep contracts together, and lose nothing."""
    due = [Due(f"c{number // 2}", dg.AssetKey(str(number)), 40) for number in range(12)]
    due.append(Due("wide", dg.AssetKey("wide"), 500))
    runs = chunks(due, Limits(contracts=2, checks=100))

    assert [one for run in runs for one in run] == due
    assert all(sum(one.count for one in run) <= 100 or len(run) == 1 for run in runs)
    assert all(len({one.contract for one in run}) <= 2 for run in runs)
    assert all(run[0].contract == run[-1].contract for run in runs)


def test_a_draft_is_scheduled_as_well() -> None:
    """Not blocking is not the same as not looking."""
    definitions = build_definitions(renamed(orders_contract(lifecycle="draft", cadence=DAILY), description=""))

    assert len(list(definitions.schedules or ())) == 1
