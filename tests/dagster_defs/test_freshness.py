"""When an asset is late, and who finds out."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from builders import contract_of, odcs, result
from dagster._core.definitions.freshness_evaluator import TimeWindowFreshnessPolicyEvaluator
from databases import Put
from pipelines import GOOD, ORDERS, only_plan, orders_contract

from contract_checks import dialects
from contract_checks.checks import plan
from contract_checks.dagster_defs import build_contract_checks, build_contract_schedules, build_definitions
from contract_checks.dagster_defs.freshness import (
    MATERIALIZED,
    freshness_policy,
    grace,
    materialized_in_time,
    with_availability,
)
from contract_checks.dialects.document import parse_document
from contract_checks.model import Cadence, Contract, Duration
from contract_checks.results import CheckResult
from contract_checks.run import check_contract

BERLIN = "Europe/Berlin"
BY_NINE = Cadence(Duration(1, "day"), time_of_day="09:00", timezone=BERLIN)


def policy(contract: Contract) -> Any:
    (spec,) = build_definitions(contract).resolve_all_asset_specs()
    return spec.freshness_policy


def test_an_interval_is_a_window() -> None:
    """A refresh frequency makes an asset late after the interval, and overdue after a grace more."""
    found = policy(orders_contract(cadence=Cadence(Duration(6, "hour"))))

    assert found == dg.FreshnessPolicy.time_window(
        warn_window=timedelta(hours=6), fail_window=timedelta(hours=6, minutes=36)
    )


def test_a_time_of_day_is_a_deadline() -> None:
    """A time of availability makes an asset late that is not made on that day by then, on the local clock."""
    found = policy(orders_contract(cadence=BY_NINE))

    assert found == dg.FreshnessPolicy.cron(
        deadline_cron="0 9 * * *", lower_bound_delta=timedelta(hours=9), timezone=BERLIN
    )


@pytest.mark.parametrize(
    ("cadence", "deadline", "bound"),
    [
        (Cadence(Duration(1, "week"), time_of_day="09:00"), "0 9 * * 1", timedelta(days=7)),
        (Cadence(Duration(1, "month"), time_of_day="23:59"), "59 23 1 * *", timedelta(days=28)),
        (Cadence(Duration(1, "day"), time_of_day="00:00"), "0 0 * * *", timedelta(days=1)),
        (Cadence(cron="0 6 * * 1-5"), "0 6 * * 1-5", timedelta(days=1)),
        (Cadence(cron="*/15 * * * *"), "*/15 * * * *", timedelta(minutes=15)),
        (Cadence(cron="0 6 L * *"), "0 6 L * *", timedelta(days=28)),
    ],
)
def test_a_deadline_reaches_back_to_the_one_before(cadence: Cadence, deadline: str, bound: timedelta) -> None:
    """Where a day is not the measure, what counts for a deadline reaches back as far as Dagster takes it."""
    found: Any = freshness_policy(cadence)

    assert (found.deadline_cron, found.lower_bound_delta) == (deadline, bound)


@pytest.mark.parametrize(
    "cadence",
    [
        Cadence(Duration(2, "day"), time_of_day="06:00"),
        Cadence(Duration(30, "second")),
        Cadence(Duration(5, "month")),
        Cadence(Duration(3, "week"), timezone="+05:30"),
    ],
)
def test_what_no_cron_can_say_is_a_window(cadence: Cadence) -> None:
    """An interval that has no cron is a window that fails after it warns."""
    found: Any = freshness_policy(cadence)

    assert timedelta(minutes=1) <= found.warn_window.to_timedelta() < found.fail_window.to_timedelta()


@pytest.mark.parametrize(
    "cadence", [None, Cadence(), Cadence(cron="99 6 * * *"), Cadence(Duration(1, "day"), timezone="X")]
)
def test_without_a_cadence_there_is_no_policy(cadence: Cadence | None) -> None:
    """Nothing is late that nobody promised, or promised in a way that no clock follows."""
    assert freshness_policy(cadence) is None


def test_the_grace_is_a_tenth() -> None:
    """The grace is a tenth of the interval, five minutes at least and a day at most."""
    assert [grace(timedelta(hours=hours)) for hours in (0.1, 10, 1000)] == [
        timedelta(minutes=5),
        timedelta(hours=1),
        timedelta(days=1),
    ]


# --------------------------------------------------------------------------- the deadline in the data


AVAILABLE = """
name: orders
entity: {type: table, id: 11111111-1111-1111-1111-111111111111, fullyQualifiedName: s.d.main.orders}
entityStatus: Approved
schema: [{name: loaded_at, dataType: TIMESTAMP}]
sla:
  refreshFrequency: {interval: 1, unit: day}
  availabilityTime: "09:00"
  timezone: "GMT+01:00 (Europe/Berlin)"
  columnName: loaded_at
"""
ODCS_SLA = [
    {"property": "frequency", "value": 1, "unit": "d"},
    {"property": "timeOfAvailability", "value": "09:00+01:00", "element": "t.loaded_at"},
]


def openmetadata(text: str = AVAILABLE) -> Contract:
    return dialects.read(parse_document(text, "orders.yaml"))


def at(day: int, hour: int, minute: int = 0, month: int = 7) -> datetime:
    return datetime(2024, month, day, hour, minute, tzinfo=ZoneInfo(BERLIN))


def available(
    put: Put, newest: str, now: datetime, contract: Contract | None = None, table: str = "orders"
) -> CheckResult:
    source = put("parquet", f"SELECT TIMESTAMP '{newest}' AS loaded_at", table)
    report = check_contract(contract or openmetadata(), source=source, now=now)
    (found,) = [one for one in report.results if one.check.rule in ("availabilityTime", "timeOfAvailability")]
    return found


@pytest.mark.parametrize(
    ("newest", "now", "status"),
    [
        ("2024-07-10 03:00", at(10, 9), "passed"),
        ("2024-07-10 00:00", at(10, 9), "passed"),
        ("2024-07-09 23:59", at(10, 9), "failed"),
        ("2024-07-09 23:59", at(10, 8, 59), "passed"),
        ("2024-07-09 03:00", at(10, 8, 59), "passed"),
        ("2024-07-08 03:00", at(10, 8, 59), "failed"),
        ("2024-07-10 14:00", at(10, 15), "passed"),
    ],
    ids=["in time", "midnight", "yesterday's", "before the deadline", "yesterday in time", "a day late", "came late"],
)
def test_data_is_from_the_day_of_the_deadline(put: Put, newest: str, now: datetime, status: str) -> None:
    """The newest value is from the day of the last deadline; before today's, yesterday's counts."""
    found = available(put, newest, now)

    assert found.status == status, found.description
    assert "2024-07-" in found.description


@pytest.mark.parametrize("day", [30, 31])
def test_a_deadline_follows_the_clock_when_it_changes(put: Put, day: int) -> None:
    """09:00 is nine o'clock on the clock, on the day before and on the day when it goes forward."""
    assert available(put, f"2024-03-{day} 00:30", at(day, 9, month=3)).status == "passed"
    assert available(put, f"2024-03-{day - 1} 23:30", at(day, 9, month=3)).status == "failed"
    assert available(put, f"2024-03-{day - 1} 23:30", at(day, 8, 59, month=3)).status == "passed"


def test_a_longer_interval_counts_back_from_the_deadline(put: Put) -> None:
    """What is promised every week by nine is there if it is at most a week old at nine."""
    weekly = openmetadata(AVAILABLE.replace("unit: day", "unit: week"))

    assert available(put, "2024-07-03 09:00", at(10, 9, 30), weekly).status == "passed"
    assert available(put, "2024-07-03 08:59", at(10, 9, 30), weekly).status == "failed"


def test_no_rows_are_no_data(put: Put) -> None:
    """An empty table has nothing there by the deadline."""
    source = put("parquet", "SELECT TIMESTAMP '2024-07-10 03:00' AS loaded_at WHERE false", "orders")
    report = check_contract(openmetadata(), source=source, now=at(10, 9))

    assert result(report, "availabilityTime", "loaded_at").status == "failed"


def test_the_time_of_availability_of_odcs_is_a_check(put: Put) -> None:
    """A time of availability with an element, or beside a latency with one, is measured by it."""
    columns = "[{name: loaded_at, logicalType: timestamp}]"
    named = contract_of(odcs(columns, more={"slaProperties": ODCS_SLA}))
    latency = {"property": "latency", "value": 1, "unit": "d", "element": "t.loaded_at"}
    bare = {key: value for key, value in ODCS_SLA[1].items() if key != "element"}
    beside = contract_of(odcs(columns, more={"slaProperties": [bare, latency, ODCS_SLA[0]]}))

    for contract in (named, beside):
        assert available(put, "2024-07-10 03:00", at(10, 11), contract, "t").status == "passed"
        assert not [one for one in contract.not_checked if "there by" in one.reason]


@pytest.mark.parametrize("dialect", ["odcs", "openmetadata"])
def test_a_deadline_that_no_column_tells_is_listed(dialect: str) -> None:
    """Without a column nobody can tell from the data, and the contract says so among what is not checked."""
    bare = [ODCS_SLA[0], {"property": "timeOfAvailability", "value": "09:00"}]
    contract = (
        contract_of(odcs("[{name: a, logicalType: integer}]", more={"slaProperties": bare}))
        if dialect == "odcs"
        else openmetadata(AVAILABLE.replace("  columnName: loaded_at\n", ""))
    )
    reasons = [one.reason for one in plan(contract).datasets[0].not_checked if "there by 09:00" in one.reason]

    assert len(reasons) == 1
    assert contract.cadence is not None
    assert contract.cadence.time_of_day == "09:00"


# --------------------------------------------------------------------------- the deadline as Dagster knows it


@pytest.mark.parametrize(
    ("last", "now", "status"),
    [
        (at(10, 3), at(10, 9), "passed"),
        (at(9, 23), at(10, 9), "failed"),
        (at(9, 3), at(10, 8), "passed"),
        (at(10, 14), at(10, 15), "passed"),
        (None, at(10, 9), "skipped"),
    ],
    ids=["in time", "yesterday's", "before the deadline", "came late", "never"],
)
def test_a_materialization_is_from_the_day_of_the_deadline(last: datetime | None, now: datetime, status: str) -> None:
    """The last materialization is held against the last deadline; without any nobody can tell, and that is said."""
    checks = with_availability(only_plan(orders_contract()), orders_contract(cadence=BY_NINE)).checks
    (check,) = [one for one in checks if one.rule == MATERIALIZED]
    found = materialized_in_time(check, last, now)

    assert found.status == status, found.description


def test_the_data_goes_before_the_materializations() -> None:
    """Where a column tells when data came, Dagster is not asked as well."""
    contract = openmetadata()

    assert with_availability(plan(contract).datasets[0], contract) == plan(contract).datasets[0]


@dg.asset(key=ORDERS)
def orders() -> None:
    """Is made by somebody else."""


def run_checks(checks: dg.AssetChecksDefinition, instance: dg.DagsterInstance) -> dict[str, dg.AssetCheckEvaluation]:
    """Run the checks without the asset, as the schedule at the deadline does."""
    done = dg.materialize(
        [orders, checks], selection=dg.AssetSelection.checks_for_assets(ORDERS), instance=instance, raise_on_error=False
    )
    return {one.check_name: one for one in done.get_asset_check_evaluations()}


def test_the_deadline_is_checked_when_nothing_was_made(put: Put, instance: dg.DagsterInstance) -> None:
    """The schedule at the deadline runs the checks, which fail because the asset was made the day before."""
    deadline = Cadence(Duration(1, "day"), time_of_day="00:01")
    contract = orders_contract(cadence=deadline)
    checks = build_contract_checks(contract, asset=orders, source=put("duckdb", GOOD, "orders"))
    (schedule,) = build_contract_schedules(contract, asset=orders)
    defs = dg.Definitions(assets=[orders], asset_checks=[checks], schedules=[schedule])
    repository = defs.get_repository_def()
    deadline_schedule = repository.get_schedule_def(schedule.name)
    moment = datetime(2024, 7, 10, 0, 1, tzinfo=UTC)
    tick = deadline_schedule.evaluate_tick(
        dg.build_schedule_context(scheduled_execution_time=moment, repository_def=repository)
    )
    (request,) = tick.run_requests or ()
    before = run_checks(checks, instance)
    instance.report_runless_asset_event(dg.AssetMaterialization(ORDERS))
    after = run_checks(checks, instance)

    assert not request.asset_selection
    assert {one.name for one in request.asset_check_keys or ()} == set(after)
    assert "sla__materialized_in_time" in after
    assert before["sla__materialized_in_time"].metadata["outcome"].value == "skipped"
    assert after["sla__materialized_in_time"].passed


def test_a_schedule_of_an_existing_asset_has_rules_of_its_own(put: Put) -> None:
    """Rules with a cron have a schedule beside the contract's, and the jobs of both can be loaded."""
    contract = orders_contract(schedule="0 20 * * *", cadence=BY_NINE)
    checks = build_contract_checks(contract, asset=orders, source=put("duckdb", GOOD, "orders"))
    schedules = build_contract_schedules(contract, asset=orders)
    dg.Definitions.validate_loadable(dg.Definitions(assets=[orders], asset_checks=[checks], schedules=schedules))

    assert [one.name for one in schedules] == [
        "contract_sla__warehouse__orders__every_1_d__0900_europe_berlin",
        "contract_rule__warehouse__orders__cron_0_20_x_x_x__europe_berlin",
    ]
    assert build_contract_schedules(orders_contract(), asset=orders) == []


def test_dagster_shows_a_contract_as_late(put: Put, instance: dg.DagsterInstance) -> None:
    """Dagster's own evaluator finds an asset fresh that has just kept its contract, and unknown one that never did."""
    contract = orders_contract(cadence=Cadence(Duration(1, "hour")))
    made = build_definitions(contract, source=put("duckdb", GOOD, "orders"))
    graph = made.resolve_asset_graph()
    from dagster._core.loader import LoadingContextForTest

    def state() -> str:
        evaluator = TimeWindowFreshnessPolicyEvaluator()
        return asyncio.run(evaluator.evaluate_freshness(LoadingContextForTest(instance), graph.get(ORDERS))).value

    assert state() == "UNKNOWN"
    dg.materialize([*(made.assets or ())], instance=instance, resources=dict(made.resources or {}))
    assert state() == "PASS"
