"""Partitioned assets: every run looks at its own partitions, and says so."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import pytest
from builders import contract_of, odcs
from databases import Put

from contract_checks.dagster_defs import ByCadence, ContractTranslator, Partitions, build_contract_checks
from contract_checks.dagster_defs import build_definitions as build
from contract_checks.dagster_defs.partitions import RESULTS_PER_PARTITION
from contract_checks.errors import ContractError
from contract_checks.model import Cadence, Contract, Duration

PLACES = ["duckdb", "sqlite", pytest.param("postgres", marks=pytest.mark.service)]
DAILY = dg.DailyPartitionsDefinition("2024-01-01", end_date="2024-02-01")
T = dg.AssetKey("t")
CHECKS = dg.AssetSelection.checks_for_assets(T)

ROWS = """
SELECT i AS id, DATE '2024-01-01' + (i // 10)::INT AS day, ['eu', 'us'][1 + i % 2] AS region,
       TIMESTAMP '2024-01-01' + INTERVAL (i * 144) MINUTE AS happened, strftime(day, '%Y%m%d')::INT AS number,
       day::TEXT AS written, CASE WHEN i = 15 THEN -1 ELSE 1 END AS amount
FROM range(35) r(i)"""
"""Ten rows a day from January 1 on, but five on the 4th; one negative amount on the 2nd."""


def contract(marked: str = "day", more: str = "", **extra: Any) -> Contract:
    """At least ten rows, no negative amount; `marked` is the partition column."""
    types = {
        "id": "integer", "day": "date", "region": "string", "happened": "timestamp", "number": "integer",
        "written": "string", "amount": "integer",
    }  # fmt: skip
    columns: list[dict[str, Any]] = [{"name": name, "logicalType": kind} for name, kind in types.items()]
    columns[0]["unique"] = True
    columns[-1]["logicalTypeOptions"] = {"minimum": 0}
    positions = {name: position for position, name in enumerate(marked.split(","), start=1) if name}
    for column in columns:
        if column["name"] in positions:
            column |= {"partitioned": True, "partitionKeyPosition": positions[column["name"]]}
    rules = f"[{{id: enough, metric: rowCount, mustBeGreaterOrEqualTo: 10}}{more}]"
    return contract_of(odcs(columns, rules, more={"slaProperties": []}, **extra))


@dataclass(frozen=True)
class Ran:
    """What a run left behind."""

    success: bool
    failed: list[str]
    results: dict[str, dg.AssetCheckEvaluation]
    materialized: list[str | None]
    observed: list[str | None]
    metadata: dict[str, Any]


def run(
    definitions: dg.Definitions,
    key: str | None = None,
    span: tuple[str, str] | None = None,
    selection: dg.AssetSelection | None = None,
    more: Sequence[Any] = (),
) -> Ran:
    """Run for a partition, a range of them, or none."""
    tags = (
        {"dagster/asset_partition_range_start": span[0], "dagster/asset_partition_range_end": span[1]} if span else {}
    )
    if key is not None:
        tags["dagster/partition"] = key
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [*(definitions.assets or ()), *more],
            selection=selection,
            instance=instance,
            resources=dict(definitions.resources or {}),
            raise_on_error=False,
            tags=tags,
        )
    materialized = result.get_asset_materialization_events()
    observed = [
        event.event_specific_data.asset_observation  # type: ignore[union-attr]
        for event in result.all_events
        if event.event_type_value == "ASSET_OBSERVATION"
    ]
    results = {one.check_name.rpartition("__")[2]: one for one in result.get_asset_check_evaluations()}
    return Ran(
        result.success,
        sorted(name for name, one in results.items() if not one.passed),
        results,
        [event.partition for event in materialized],
        [one.partition for one in observed],
        dict(materialized[0].materialization.metadata if materialized else observed[0].metadata if observed else {}),
    )


@pytest.mark.parametrize("place", PLACES)
def test_a_run_looks_at_its_partition(put: Put, place: str) -> None:
    """The verdicts are those of the run's day; the day that keeps its promises is materialized."""
    definitions = build(contract(), source=put(place, ROWS), partitions={"t": DAILY})

    good, negative, few = (run(definitions, f"2024-01-0{day}") for day in (1, 2, 4))
    assert (good.success, good.failed, good.materialized) == (True, [], ["2024-01-01"])
    assert good.metadata["dagster/partition_row_count"].value == 10
    assert good.results["enough"].description == "10 rows, expected ≥ 10 (partition 2024-01-01)."
    assert good.results["enough"].metadata["scope"].value == "partition 2024-01-01"
    assert (negative.failed, negative.materialized, negative.observed) == (["minimum"], [], ["2024-01-02"])
    assert few.failed == ["enough"]


def test_a_range_gives_the_verdicts_of_its_partitions(put: Put) -> None:
    """A backfill in one run promises of every day what a run of that day promises."""
    settings = Partitions(DAILY, backfill=dg.BackfillPolicy.single_run())
    definitions = build(contract(), source=put("duckdb", ROWS), partitions={"t": settings})

    all_kept = run(definitions, span=("2024-01-03", "2024-01-03"))
    broken = run(definitions, span=("2024-01-01", "2024-01-04"))
    few = run(definitions, span=("2024-01-03", "2024-01-05"))
    assert all_kept.success
    assert broken.failed == ["enough", "minimum"]
    assert not broken.materialized
    assert len(broken.observed) == 4
    description = broken.results["enough"].description or ""
    assert description == "1 of 4 partitions, first: 5 rows, expected ≥ 10 (partition 2024-01-04)."
    assert few.failed == ["enough"]
    assert "2024-01-04, 2024-01-05" in str(few.results["enough"].metadata["notes"].value)


def test_a_kept_range_is_materialized_partition_by_partition(put: Put) -> None:
    """Every day of a range that keeps its promises has a materialization."""
    settings = Partitions(DAILY, backfill=dg.BackfillPolicy.single_run())
    definitions = build(contract(), source=put("duckdb", ROWS.replace("-1 ELSE", "1 ELSE")), partitions={"t": settings})
    ran = run(definitions, span=("2024-01-01", "2024-01-03"))

    assert ran.success
    assert ran.materialized == ["2024-01-01", "2024-01-02", "2024-01-03"]
    assert "dagster/partition_row_count" not in ran.metadata


def test_a_key_is_unique_across_partitions(put: Put) -> None:
    """A key that another partition has recurs, and the result says that it looked at the whole table."""
    rows = f"{ROWS} UNION ALL SELECT 0, DATE '2024-01-03', 'eu', NULL, 20240103, '2024-01-03', 1"
    source = put("duckdb", rows)
    ran = run(build(contract(), source=source, partitions={"t": DAILY}), "2024-01-03")
    within = run(build(contract(), source=source, partitions={"t": Partitions(DAILY, unique_in="rows")}), "2024-01-03")

    assert ran.failed == ["unique"]
    assert ran.results["unique"].metadata["scope"].value == "keys of partition 2024-01-03, in the whole table"
    assert not within.failed


@pytest.mark.parametrize(
    ("column", "settings"),
    [
        ("written", Partitions(DAILY)),
        ("number", Partitions(DAILY, format="%Y%m%d")),
        ("happened", Partitions(DAILY)),
        ("", Partitions(DAILY, column="day")),
    ],
    ids=["text", "number", "timestamp", "named"],
)
def test_any_kind_of_column_tells_the_days_apart(put: Put, column: str, settings: Partitions) -> None:
    """Dates, timestamps, keys as text and numbers of a format all tell partitions apart."""
    definitions = build(contract(column), source=put("duckdb", ROWS), partitions={"t": settings})

    assert not run(definitions, "2024-01-01").failed
    assert run(definitions, "2024-01-02").failed == ["minimum"]
    assert run(definitions, "2024-01-04").failed == ["enough"]


def test_static_keys_are_values(put: Put) -> None:
    """The key of a static partition is the value of its rows."""
    regions = dg.StaticPartitionsDefinition(["eu", "us", "ap"])
    definitions = build(contract("region"), source=put("sqlite", ROWS), partitions={"t": regions})

    assert not run(definitions, "eu").failed
    assert run(definitions, "us").failed == ["minimum"]
    assert run(definitions, "ap").failed == ["enough"]


def test_dynamic_keys_are_values(put: Put) -> None:
    """So is the key of a dynamic partition, and one that was never added is no partition."""
    definitions = build(
        contract("region"), source=put("duckdb", ROWS), partitions={"t": dg.DynamicPartitionsDefinition(name="regions")}
    )
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("regions", ["us"])
        result = dg.materialize(
            list(definitions.assets or ()), instance=instance, partition_key="us", raise_on_error=False,
            resources=dict(definitions.resources or {}),
        )  # fmt: skip
    assert [one.check_name for one in result.get_asset_check_evaluations() if not one.passed] == [
        "schema__amount__minimum"
    ]


def test_two_dimensions_are_two_columns(put: Put) -> None:
    """A run of a region and a day looks at the rows of both."""
    grid = dg.MultiPartitionsDefinition({"day": DAILY, "region": dg.StaticPartitionsDefinition(["eu", "us"])})
    definitions = build(contract("day,region"), source=put("duckdb", ROWS), partitions={"t": grid})

    assert run(definitions, "2024-01-02|us").failed == ["enough", "minimum"]
    assert run(definitions, "2024-01-02|eu").failed == ["enough"]
    assert "5 rows" in (run(definitions, "2024-01-02|eu").results["enough"].description or "")


def test_hours_follow_the_clock_of_their_zone(put: Put) -> None:
    """Hourly windows of a time zone meet the right rows on the day the clocks go forward."""
    hours = dg.HourlyPartitionsDefinition("2024-03-01-00:00", end_date="2024-04-02-00:00", timezone="Europe/Berlin")
    rows = """SELECT i AS id, NULL::DATE AS day, 'eu' AS region, TIMESTAMP '2024-03-31 00:00' + INTERVAL (i * 20) MINUTE
              AS happened, 0 AS number, '' AS written, 1 AS amount FROM range(24) r(i)"""
    source = put("duckdb", rows)

    def count(key: str, zone: str | None) -> str:
        settings = {"t": Partitions(hours, column="happened", timezone=zone)}
        return (run(build(contract(""), source=source, partitions=settings), key).results["enough"].description or "")[
            :6
        ]

    assert count("2024-03-31-01:00", None) == "6 rows"  # until 03:00 on the clock, which skips an hour
    assert count("2024-03-31-03:00", None) == "3 rows"
    assert count("2024-03-31-03:00", "UTC") == "3 rows"  # 01:00 to 02:00 UTC
    assert count("2024-03-31-00:00", "UTC") == "0 rows"  # 23:00 UTC of the day before


def test_the_hour_that_occurs_twice_is_not_guessed(put: Put) -> None:
    """When the clocks go back, rows without a zone cannot be told apart: nothing passes, and the reason is given."""
    hours = dg.HourlyPartitionsDefinition("2024-10-01-00:00", end_date="2024-11-02-00:00", timezone="Europe/Berlin")
    source = put("duckdb", ROWS)
    settings = {"t": Partitions(hours, column="happened")}
    keys = [key for key in hours.get_partition_keys() if key.startswith("2024-10-27-02:00")]
    ran = run(build(contract(""), source=source, partitions=settings), keys[0])

    assert set(ran.failed) == set(ran.results)
    assert "twice" in (ran.results["enough"].description or "")
    utc = {"t": Partitions(hours, column="happened", timezone="UTC")}
    assert "0 rows" in (
        run(build(contract(""), source=source, partitions=utc), keys[0]).results["enough"].description or ""
    )


def test_checks_alone_look_at_the_partition_of_their_run(put: Put) -> None:
    """A run of the checks only has a partition, or its results say that they are about the whole table."""
    definitions = build(contract(), source=put("duckdb", ROWS), partitions={"t": DAILY})
    job = definitions.resolve_implicit_global_asset_job_def()
    keys = {spec.key for one in definitions.assets or () for spec in one.check_specs}  # type: ignore[union-attr]
    with dg.DagsterInstance.ephemeral() as instance:
        subset = job.get_subset(asset_selection=set(), asset_check_selection=keys)

        def told(**tags: str) -> dict[str, str]:
            done = subset.execute_in_process(instance=instance, tags=tags, raise_on_error=False)
            evaluated = done.get_asset_check_evaluations()
            return {one.check_name: str(one.description) for one in evaluated if not one.passed}

        assert list(told(**{"dagster/partition": "2024-01-04"})) == ["quality__enough"]
        whole = told()
    assert list(whole) == ["schema__amount__minimum"]
    assert "(whole table, not a partition)" in whole["schema__amount__minimum"]


def test_an_asset_is_not_published_without_a_partition(put: Put) -> None:
    """A partitioned asset cannot be materialized by a run that has no partition."""
    ran = run(build(contract(), source=put("duckdb", ROWS), partitions={"t": DAILY}))

    assert not ran.success
    assert not ran.materialized


def test_a_promise_of_the_whole_says_so(put: Put) -> None:
    """A query that names the table with its schema is asked of all partitions, and its result tells."""
    own = ", {id: all, type: sql, query: 'SELECT COUNT(*) FROM main.t', mustBe: 35}"
    ran = run(build(contract(more=own), source=put("duckdb", ROWS), partitions={"t": DAILY}), "2024-01-01")

    assert not ran.failed
    assert ran.results["all"].metadata["scope"].value == "whole table"


@pytest.mark.parametrize(
    ("marked", "setting", "reason"),
    [
        ("", DAILY, "marks no partition column"),
        ("day,region", DAILY, "marks 2 partition columns"),
        ("number", DAILY, "is a number: say with format="),
        ("day", dg.MultiPartitionsDefinition({"day": DAILY, "shop": dg.StaticPartitionsDefinition(["a"])}), "'shop'"),
    ],
    ids=["none", "two", "number", "dimension"],
)
def test_partitions_without_a_column_are_a_broken_contract(marked: str, setting: Any, reason: str) -> None:
    """Where no column tells the partitions apart, that is said when definitions load."""
    with pytest.raises(ContractError, match=reason):
        build(contract(marked), source="duckdb://", partitions={"t": setting}, on_broken="raise")


def test_partitions_of_no_dataset_are_refused() -> None:
    """A name in the settings that is of no dataset is an error, with those there are."""
    with pytest.raises(ValueError, match="no dataset 'x'; there are: t"):
        build(contract(), source="duckdb://", partitions={"x": DAILY})


def test_a_translator_may_give_the_partitions(put: Put) -> None:
    """Partitions of the spec that a translator returns are those of the checks as well."""

    class Daily(ContractTranslator):
        def get_asset_spec(self, data: Any) -> dg.AssetSpec:
            return super().get_asset_spec(data).replace_attributes(partitions_def=DAILY)

    definitions = build(contract(), source=put("duckdb", ROWS), translator=Daily())
    assert run(definitions, "2024-01-04").failed == ["enough"]


@pytest.mark.parametrize(
    ("unit", "kind"), [("day", dg.DailyPartitionsDefinition), ("month", dg.MonthlyPartitionsDefinition)]
)
def test_partitions_follow_from_the_cadence(unit: Any, kind: Any) -> None:
    """A contract that is due every day and has a partition column has daily partitions in its time zone."""
    cadence = Cadence(every=Duration(1, unit), timezone="Europe/Berlin")
    definitions = build(replace(contract(), cadence=cadence), source="duckdb://", partitions=ByCadence("2024-01-01"))
    (asset,) = definitions.assets or ()
    found = asset.specs_by_key[T].partitions_def  # type: ignore[union-attr]

    assert isinstance(found, kind)
    assert found.timezone == "Europe/Berlin"
    without = build(contract(), source="duckdb://", partitions=ByCadence("2024-01-01"))
    assert next(iter(without.assets or ())).specs_by_key[T].partitions_def is None  # type: ignore[union-attr]


@pytest.mark.skipif(RESULTS_PER_PARTITION, reason="this version of Dagster keeps results per partition")
def test_results_per_partition_are_refused_where_dagster_has_none() -> None:
    """An older Dagster is no reason to keep only the latest result in silence."""
    with pytest.raises(ValueError, match="keeps no results per partition"):
        build(contract(), source="duckdb://", partitions={"t": Partitions(DAILY, results="partition")})


@pytest.mark.skipif(not RESULTS_PER_PARTITION, reason="this version of Dagster keeps no results per partition")
def test_results_are_kept_per_partition_when_asked(put: Put) -> None:
    """With `results="partition"` Dagster keeps a result of every check for each partition, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", dg.PreviewWarning)
        settings = Partitions(DAILY, results="partition")
        definitions = build(contract(), source=put("duckdb", ROWS), partitions={"t": settings})
        with dg.DagsterInstance.ephemeral() as instance:
            for key in ("2024-01-02", "2024-01-04"):
                dg.materialize(
                    list(definitions.assets or ()), instance=instance, partition_key=key,
                    resources=dict(definitions.resources or {}), raise_on_error=False,
                )  # fmt: skip
            check = dg.AssetCheckKey(T, "quality__enough")
            kept = instance.event_log_storage.get_asset_check_execution_history(check, limit=9)
    assert [(one.partition, one.status.value) for one in kept] == [
        ("2024-01-04", "FAILED"),
        ("2024-01-02", "SUCCEEDED"),
    ]


def test_partitioned_and_other_contracts_share_a_job(put: Put) -> None:
    """Contracts with different partitions load together, with their one job."""
    daily, region, plain = (
        replace(contract(marked), datasets=(replace(contract(marked).datasets[0], key=(name,)),))
        for name, marked in (("a", "day"), ("b", "region"), ("c", ""))
    )
    definitions = build(
        [daily, region, plain],
        source=put("duckdb", ROWS),
        partitions={"a": DAILY, "b": dg.StaticPartitionsDefinition(["eu"])},
    )
    dg.Definitions.validate_loadable(definitions)


# --------------------------------------------------------------------------- assets that exist already


@dg.asset(partitions_def=DAILY, key=T)
def made_daily() -> None:
    """Is made by somebody else, a day at a time."""


def test_checks_of_an_existing_asset_follow_its_partitions(put: Put) -> None:
    """The checks of a definition that is partitioned look at the run's partition."""
    checks = build_contract_checks(contract(), asset=made_daily, source=put("duckdb", ROWS))
    ran = run(dg.Definitions(), "2024-01-04", more=[made_daily, checks])

    assert ran.failed == ["enough"]
    assert "5 rows" in (ran.results["enough"].description or "")


def test_checks_of_a_key_say_that_they_look_at_all(put: Put) -> None:
    """Where nobody said how the asset is partitioned, results of a partitioned run are marked as of the whole."""
    source = put("duckdb", ROWS)
    unknown = build_contract_checks(contract(), asset=T, source=source)
    told = build_contract_checks(contract(), asset=T, source=source, partitions=DAILY)
    whole = build_contract_checks(contract(), asset=T, source=source, partitions="whole_table")

    ran = run(dg.Definitions(), "2024-01-04", more=[made_daily, unknown])
    assert ran.results["enough"].description == "35 rows, expected ≥ 10 (whole table, not a partition)."
    assert run(dg.Definitions(), "2024-01-04", more=[made_daily, told]).failed == ["enough"]
    plain = run(dg.Definitions(), "2024-01-04", more=[made_daily, whole])
    assert plain.results["enough"].description == "35 rows, expected ≥ 10."


def test_a_partitioned_asset_needs_a_column(put: Put) -> None:
    """Checks of a partitioned definition are refused where the contract does not tell the partitions apart."""
    with pytest.raises(ContractError, match="marks no partition column"):
        build_contract_checks(contract(""), asset=made_daily)


def test_a_tick_asks_for_the_partition_that_has_ended(put: Put) -> None:
    """When a partitioned contract is due, its last complete partition is run, once."""
    cadence = Cadence(every=Duration(1, "day"), time_of_day="06:00")
    definitions = build(replace(contract(), cadence=cadence), source="duckdb://", partitions={"t": DAILY})
    (schedule,) = definitions.schedules or ()
    repository = definitions.get_repository_def()
    context = dg.build_schedule_context(
        scheduled_execution_time=datetime(2024, 1, 5, 6, tzinfo=UTC), repository_def=repository
    )
    (request,) = schedule.evaluate_tick(context).run_requests or ()  # type: ignore[union-attr]

    assert request.partition_key == "2024-01-04"
    assert (request.run_key or "").endswith("|2024-01-04")
