"""What happens when contracts collide with each other or with a user's own, and when they change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builders import contract_of, odcs
from databases import Put
from pipelines import run

from contract_checks.dagster_defs import build_contract_checks, build_definitions, match_contracts
from contract_checks.errors import ContractError

T = dg.AssetKey("t")
COLUMNS = "[{name: id, logicalType: integer, required: true}]"


def checks_of(definitions: dg.Definitions) -> set[str]:
    """The names of all checks."""
    return {key.name for key in definitions.resolve_asset_graph().asset_check_keys}


def red_assets(definitions: dg.Definitions) -> dict[str, str]:
    """The assets of contracts that cannot be used, with what they say."""
    specs = definitions.resolve_all_asset_specs()
    return {one.key.to_user_string(): str(one.description) for one in specs if one.group_name == "broken_contracts"}


@dg.asset
def t() -> None:
    """Is made by somebody else."""


# --------------------------------------------------------------------------- two contracts on one asset


def test_the_first_of_two_contracts_keeps_the_asset() -> None:
    """By the order of their files; the second is a red asset of its own that names the first's line."""
    first = contract_of(odcs(COLUMNS, name="t"), "a.yaml")
    second = contract_of(odcs("[{name: other}]", name="t"), "b.yaml")
    for definitions in (
        build_definitions([first, second], source="duckdb://"),
        match_contracts(dg.Definitions(assets=[t]), [first, second], source="duckdb://").definitions,
    ):
        assert {"schema__id__required", "contract__readable"} <= checks_of(definitions)
        (said,) = red_assets(definitions).values()
        assert "the asset key 't' of 't' is taken: a.yaml:" in said
        assert "b.yaml:" in said


def test_two_contracts_with_other_rules_can_share_an_asset(put: Put) -> None:
    """Whoever wants two contracts on one asset adds the second one's checks by hand, under another name."""
    first = build_contract_checks(contract_of(odcs(COLUMNS, name="t")), asset=t, source=put("duckdb", "SELECT 1 AS id"))
    rules = odcs("", "[{id: few, metric: rowCount, mustBeLessThan: 5}]", name="t", more={"name": "second"})
    second = build_contract_checks(contract_of(rules), asset=t, source=put("sqlite", "SELECT 1 AS id"))
    ran = run(dg.Definitions(), more=[t, first, second])

    assert ran.success
    assert "quality__few" in ran.checks
    assert "schema__id__required" in ran.checks


# --------------------------------------------------------------------------- a check of one's own


def own_check(name: str) -> dg.AssetChecksDefinition:
    """A check that the user has written."""

    @dg.asset_check(asset=T, name=name)
    def own() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    return own


def test_a_check_of_ones_own_keeps_its_name() -> None:
    """Where a user's check has the name of a rule, the contract is red and names the rule's line."""
    contract = contract_of(odcs(COLUMNS, "[{id: enough, metric: rowCount, mustBe: 1}]"), "c.yaml")
    mine = dg.Definitions(assets=[t], asset_checks=[own_check("quality__enough")])
    matched = match_contracts(mine, contract, source="duckdb://")

    assert not matched.matches
    assert checks_of(matched.definitions) == {"quality__enough", "contract__readable"}
    (said,) = red_assets(matched.definitions).values()
    assert "c.yaml:" in said
    assert "the asset 't' has a check 'quality__enough' of its own" in said


def test_a_check_of_ones_own_beside_a_contract_is_refused() -> None:
    """Where nobody compares names before, Dagster does: two checks of one name do not load, and are named."""
    contract = contract_of(odcs(COLUMNS, "[{id: enough, metric: rowCount, mustBe: 1}]"))
    theirs = build_definitions(contract, source="duckdb://")
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="quality__enough"):
        dg.Definitions.validate_loadable(
            dg.Definitions.merge(theirs, dg.Definitions(asset_checks=[own_check("quality__enough")]))
        )
    other = dg.Definitions.merge(theirs, dg.Definitions(asset_checks=[own_check("my_own")]))
    dg.Definitions.validate_loadable(other)


def test_two_rules_of_one_id_are_an_error() -> None:
    """Two different rules under one id are refused, with both lines."""
    rules = "[{id: a, metric: rowCount, mustBe: 1}, {id: a, metric: rowCount, mustBe: 2}]"
    with pytest.raises(ContractError, match="the rule id 'a' is taken"):
        build_definitions(contract_of(odcs(COLUMNS, rules)), source="duckdb://", on_broken="raise")


# --------------------------------------------------------------------------- changes


class Project:
    """A folder with one contract that changes, and an instance that remembers."""

    def __init__(self, folder: Path, source: str, instance: dg.DagsterInstance) -> None:
        self.file, self.source, self.instance = folder / "t.odcs.yaml", source, instance

    def run(self, columns: Any, rules: str = "") -> set[str]:
        """Write the contract, run it, and return the names of the checks there are now."""
        self.file.write_text(odcs(columns, rules), encoding="utf-8")
        definitions = build_definitions(self.file.parent, source=self.source)
        dg.materialize(
            list(definitions.assets or ()),
            instance=self.instance,
            resources=dict(definitions.resources or {}),
            raise_on_error=False,
        )
        return checks_of(definitions)

    def results(self, name: str) -> list[str]:
        """The recorded results of a check, the latest first."""
        records = self.instance.event_log_storage.get_asset_check_execution_history(dg.AssetCheckKey(T, name), limit=9)
        return [record.status.value for record in records]


@pytest.fixture
def project(tmp_path: Path, put: Put) -> Any:
    source = put("duckdb", "SELECT 1 AS id, 2 AS amount")
    (tmp_path / "contracts").mkdir()
    with dg.DagsterInstance.ephemeral() as instance:
        yield Project(tmp_path / "contracts", source, instance)


ENOUGH = "{id: enough, metric: rowCount, mustBeGreaterThan: 0}"
FEW = "{id: few, metric: rowCount, mustBeLessThan: 5}"


def test_a_removed_rule_takes_its_check_and_nothing_else(project: Project) -> None:
    """Its check is gone, what Dagster recorded stays, and no other check has another name."""
    before = project.run(COLUMNS, f"[{ENOUGH}, {FEW}]")
    after = project.run(COLUMNS, f"[{FEW}]")

    assert before - after == {"quality__enough"}
    assert not after - before
    assert project.results("quality__few") == ["SUCCEEDED", "SUCCEEDED"]
    assert project.results("quality__enough") == ["SUCCEEDED"]


def test_a_rule_that_comes_back_has_its_history(project: Project) -> None:
    """The same rule again is the same check."""
    project.run(COLUMNS, f"[{ENOUGH}]")
    project.run(COLUMNS)
    project.run(COLUMNS, f"[{ENOUGH}]")

    assert len(project.results("quality__enough")) == 2


def test_moved_and_changed_rules_keep_their_checks(project: Project) -> None:
    """Another order, or another threshold under the same id, is no other check."""
    before = project.run(COLUMNS, f"[{ENOUGH}, {FEW}]")
    after = project.run(COLUMNS, f"[{FEW.replace('5', '6')}, {ENOUGH}]")

    assert before == after
    assert len(project.results("quality__few")) == 2


def test_a_renamed_column_is_another_one(project: Project) -> None:
    """Its checks get new names and start anew; until the data follows, they fail. The others go on."""
    before = project.run("[{name: id, required: true}, {name: amount, required: true}]")
    after = project.run("[{name: id, required: true}, {name: total, required: true}]")

    assert before - after == {"schema__amount__required"}
    assert after - before == {"schema__total__required"}
    assert project.results("schema__total__required") == ["FAILED"]
    assert len(project.results("schema__id__required")) == 2


def test_a_column_with_a_physical_name_is_renamed_freely(project: Project) -> None:
    """Where only the contract's own word for a column changes, its checks stay."""
    before = project.run("[{name: amount, physicalName: amount, required: true}]")
    after = project.run("[{name: total, physicalName: amount, required: true}]")

    assert before == after


def test_a_removed_contract_takes_its_asset_only(tmp_path: Path, put: Put) -> None:
    """The assets and checks of the other contracts stay as they are."""
    source = put("duckdb", "SELECT 1 AS id")
    for name in ("t", "u"):
        (tmp_path / f"{name}.yaml").write_text(odcs(COLUMNS, name=name), encoding="utf-8")
    both = build_definitions(tmp_path, source=source).resolve_asset_graph()
    (tmp_path / "u.yaml").unlink()
    one = build_definitions(tmp_path, source=source).resolve_asset_graph()

    assert {key for key in both.asset_check_keys if key.asset_key == T} == set(one.asset_check_keys)


def test_a_contract_that_cannot_be_read_is_shown(project: Project) -> None:
    """A file that is no contract any more is a red asset by its own name: nobody knows which asset it was about."""
    project.run(COLUMNS, f"[{ENOUGH}]")
    project.file.write_text("apiVersion: v3.1.0\n", encoding="utf-8")
    definitions = build_definitions(project.file.parent, source=project.source)

    assert set(red_assets(definitions)) == {"broken_contracts/t_odcs"}
