"""Many rules as few checks of Dagster."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import dagster as dg
import pytest
from builders import contract_of, odcs
from databases import Put
from pipelines import Ran, run

from contract_checks.dagster_defs import build_contract_checks, build_contract_schedules, build_definitions
from contract_checks.model import Contract

T = dg.AssetKey("t")
GOOD = "SELECT i AS id, 'x' AS name, 1 AS amount FROM range(1, 9) r(i)"
TWO_BROKEN = "SELECT i AS id, NULL::VARCHAR AS name, CASE WHEN i = 1 THEN -1 ELSE 1 END AS amount FROM range(1, 9) r(i)"
UNTYPED = "SELECT i AS id, 'x' AS name FROM range(1, 9) r(i)"


def contract(more: str = "") -> Contract:
    """Rules about three columns and the table."""
    columns: list[dict[str, Any]] = [
        {"name": "id", "logicalType": "integer", "required": True, "unique": True},
        {"name": "name", "logicalType": "string", "required": True},
        {"name": "amount", "logicalType": "integer", "required": True, "logicalTypeOptions": {"minimum": 0}},
    ]
    return contract_of(odcs(columns, f"[{{id: enough, metric: rowCount, mustBeGreaterThan: 5}}{more}]"))


def run_by(by: Any, source: str, **settings: Any) -> Ran:
    """Run the contract with its rules in groups."""

    @dg.asset(deps=[T])
    def report() -> None:
        """Is computed from it."""

    return run(build_definitions(contract(), source=source, group_by=by, **settings), more=[report])


def test_rules_of_a_column_are_one_check(put: Put) -> None:
    """By column, what is about the whole table stays alone; so does the only rule of a column."""
    ran = run_by("column", put("duckdb", GOOD))

    assert ran.success
    assert sorted(ran.checks) == [
        "column__amount",
        "column__id",
        "quality__enough",
        "schema__columns",
        "schema__name__required",
        "schema__types",
    ]
    assert ran.checks["column__id"].description == "All 2 rules are kept."
    assert {"t", "report"} == set(ran.materialized)


def test_rules_of_a_section_are_one_check(put: Put) -> None:
    """By section, there is a check for each section that has several rules."""
    ran = run_by("section", put("duckdb", GOOD))

    assert sorted(ran.checks) == ["quality__enough", "schema__all"]
    assert len(ran.checks["schema__all"].metadata["rules"].value.records) == 7


def test_the_worst_rule_is_the_outcome(put: Put) -> None:
    """A group with a broken rule fails, stops what is downstream, and shows every rule with its verdict."""
    ran = run_by("section", put("duckdb", TWO_BROKEN))

    group = ran.checks["schema__all"]
    assert not ran.success
    assert ran.failed == ["schema__all"]
    assert group.severity is dg.AssetCheckSeverity.ERROR
    assert (group.description or "").startswith("2 rules of 7 broken: schema__name__required: 8 null values in `name`")
    assert group.metadata["measured"].value == 2
    verdicts = [record.data["verdict"] for record in group.metadata["rules"].value.records]
    assert verdicts[:2] == ["failed", "failed"]
    assert not ran.materialized


def test_a_rule_that_cannot_be_evaluated_fails_its_group(put: Put) -> None:
    """Where all that is broken is errored, so is the group."""
    ran = run_by("column", put("duckdb", UNTYPED))

    assert ran.checks["column__amount"].metadata["outcome"].value == "errored"
    assert not ran.checks["column__amount"].passed
    assert not ran.success


def test_a_group_stops_nothing_for_rules_that_would_not(put: Put) -> None:
    """A broken rule that does not block alone does not block in a group whose other rules do."""
    source = put("duckdb", TWO_BROKEN.replace("NULL::VARCHAR AS name", "'x' AS name"))
    ran = run_by("section", source, blocking={"quality"})
    assert ran.success
    assert ran.failed == ["schema__all"]
    assert ran.checks["schema__all"].severity is dg.AssetCheckSeverity.ERROR

    warned = contract_of(
        odcs(
            "[{name: id, logicalType: integer}]",
            "[{id: a, metric: rowCount, mustBe: 0, severity: warning}, {id: b, metric: rowCount, mustBe: 8}]",
        )
    )
    mixed = run(build_definitions(warned, source=source, group_by="section"), more=[])
    assert mixed.success
    assert mixed.failed == ["quality__all"]
    assert mixed.checks["quality__all"].severity is dg.AssetCheckSeverity.WARN


def test_one_group_alone_can_be_run(put: Put) -> None:
    """A group is run like any check, without the others."""
    ran = run(
        build_definitions(contract(), source=put("duckdb", TWO_BROKEN), group_by="column"),
        dg.AssetSelection.checks(dg.AssetCheckKey(T, "column__id")),
        more=[],
    )
    assert list(ran.checks) == ["column__id"]
    assert ran.success


def test_columns_whose_names_look_alike_are_two_groups() -> None:
    """`a b` and `a_b` are two columns, and two groups."""
    columns = [{"name": name, "logicalType": "integer", "required": True, "unique": True} for name in ("a b", "a_b")]
    definitions = build_definitions(contract_of(odcs(columns)), source="duckdb://", group_by="column")
    (asset,) = definitions.assets or ()
    names = {spec.name for spec in asset.check_specs}  # type: ignore[union-attr]

    assert len([name for name in names if name.startswith("column__a_b")]) == 2


def test_five_hundred_columns_are_few_checks(put: Put) -> None:
    """A table of 500 columns, each of a type and required, is two checks, by section."""
    columns = [{"name": f"c{i}", "logicalType": "integer", "required": True} for i in range(500)]
    wide = contract_of(odcs(columns, "[{id: some, metric: rowCount, mustBe: 3}]"))
    rows = "SELECT " + ", ".join(f"1 AS c{i}" for i in range(500)) + " FROM range(3)"
    ran = run(build_definitions(wide, source=put("duckdb", rows), group_by="section"), more=[])

    assert ran.success
    assert sorted(ran.checks) == ["quality__some", "schema__all"]


def test_existing_assets_may_be_grouped_as_well(put: Put) -> None:
    """The checks of an asset that somebody else makes have the same setting."""

    @dg.asset
    def t() -> None:
        """Is made by somebody else."""

    checks = build_contract_checks(contract(), asset=t, source=put("duckdb", TWO_BROKEN), group_by="section")
    ran = run(dg.Definitions(), more=[t, checks])
    assert ran.failed == ["schema__all"]


def test_schedules_of_existing_assets_know_groups() -> None:
    """The schedule of checks that are grouped asks for the groups, and can be loaded."""
    daily = contract_of(
        odcs(
            "[{name: id, logicalType: integer, required: true, unique: true}]",
            more={"slaProperties": [{"property": "frequency", "value": 1, "unit": "d"}]},
        )
    )

    @dg.asset
    def t() -> None:
        """Is made by somebody else."""

    checks = build_contract_checks(daily, asset=t, source="duckdb://", group_by="section")
    schedules = build_contract_schedules(daily, asset=t, group_by="section")
    repository = dg.Definitions(assets=[t], asset_checks=[checks], schedules=schedules).get_repository_def()
    tick = repository.get_schedule_def(schedules[0].name).evaluate_tick(
        dg.build_schedule_context(scheduled_execution_time=datetime(2024, 7, 10, tzinfo=UTC), repository_def=repository)
    )
    (request,) = tick.run_requests or ()

    assert set(request.asset_check_keys or ()) == {dg.AssetCheckKey(T, "schema__all")}


@pytest.mark.parametrize("by", ["column", "section"])
def test_a_rule_with_times_of_its_own_stays_alone(by: Any) -> None:
    """A scheduled rule can still be run without the others."""
    rule = ", {id: hourly, metric: rowCount, mustBeGreaterThan: 1, schedule: '0 * * * *', scheduler: cron}"
    definitions = build_definitions(contract(more=rule), source="duckdb://", group_by=by)
    (asset,) = definitions.assets or ()

    assert "quality__hourly" in {spec.name for spec in asset.check_specs}  # type: ignore[union-attr]
