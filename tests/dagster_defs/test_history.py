"""What Dagster's runs found out about a contract."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builders import odcs
from click.testing import CliRunner
from databases import Put
from pipelines import GOOD, NO_AMOUNT, ORDERS, TOO_FEW, orders_contract

from contract_checks import history
from contract_checks.cli import commands
from contract_checks.dagster_defs import Partitions, build_definitions
from contract_checks.dagster_defs.runs import history_text


def run(instance: dg.DagsterInstance, contract: Any, source: str, checks_only: bool = False, **more: Any) -> str:
    """Run a contract, and return the id of its run."""
    partitions = more.pop("partitions", None)
    definitions = build_definitions(contract, source=source, retry_wait=0, partitions=partitions)
    result = dg.materialize(
        list(definitions.assets or ()),
        instance=instance,
        resources=dict(definitions.resources or {}),
        raise_on_error=False,
        selection=dg.AssetSelection.checks_for_assets(ORDERS) if checks_only else None,
        **more,
    )
    return result.run_id


def test_every_run_has_its_status_and_score(instance: dg.DagsterInstance, put: Put) -> None:
    """The latest run comes first, with its status, its score and its counts; checks alone count as well."""
    contract = orders_contract(minimum="error")
    good = run(instance, contract, put("duckdb", GOOD, "orders"))
    few = run(instance, contract, put("sqlite", TOO_FEW, "orders"), checks_only=True)
    lacking = run(instance, contract, put("csv", NO_AMOUNT, "orders"))

    latest, before, first = history(instance, contract)
    assert [latest.run_id, before.run_id, first.run_id] == [lacking, few, good]
    assert (first.status, first.score, first.passed, first.of) == ("compliant", 1.0, 4, 4)
    assert (before.status, before.score, before.passed, before.failed) == ("partially_violated", 0.75, 3, 1)
    assert latest.errored == 1
    assert history(instance, contract, limit=1) == (latest,)


def test_an_asset_has_the_history_of_its_materializations(instance: dg.DagsterInstance, put: Put) -> None:
    """Of an asset, the runs that made it, or refused to, are known."""
    contract = orders_contract()
    run(instance, contract, put("duckdb", GOOD, "orders"))
    run(instance, contract, put("sqlite", TOO_FEW, "orders"), checks_only=True)
    run(instance, contract, put("csv", "SELECT 1 AS id, 2.5 AS amount", "orders"))

    refused, made = history(instance, "warehouse/orders")
    assert (made.status, made.score, made.failed) == ("compliant", 1.0, 0)
    assert (refused.status, refused.failed, refused.passed) == ("partially_violated", 1, None)
    assert history(instance, ORDERS) == (refused, made)


def test_partitions_are_told_apart(instance: dg.DagsterInstance, put: Put) -> None:
    """A run of a partition says which."""
    settings = {"orders": Partitions(dg.StaticPartitionsDefinition(["1", "2"]), column="id")}
    source = put("duckdb", GOOD, "orders")
    for key in ("1", "2"):
        run(instance, orders_contract(), source, partitions=settings, partition_key=key)

    assert [one.scope for one in history(instance, orders_contract())] == ["partition 2", "partition 1"]


def test_what_never_ran_has_no_history(instance: dg.DagsterInstance) -> None:
    """Without a run there is nothing, and that is said."""
    assert history(instance, orders_contract()) == ()
    assert history_text(()) == "No run of it is recorded."
    two = orders_contract().with_datasets(
        (orders_contract().datasets[0], replace(orders_contract().datasets[0], name="b"))
    )
    with pytest.raises(ValueError, match="2 datasets"):
        history(instance, two, asset="x")


def test_the_command_shows_it(tmp_path: Path, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """`contract-checks history` reads the instance of DAGSTER_HOME, as a table or as JSON."""
    file = tmp_path / "t.odcs.yaml"
    file.write_text(odcs("[{name: id, logicalType: integer, required: true}]"))
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    with dg.DagsterInstance.get() as instance:
        run_id = run(instance, file, put("duckdb", "SELECT 1 AS id"))

    said = CliRunner().invoke(commands, ["history", str(file)])
    assert said.exit_code == 0, said.output
    assert run_id[:8] in said.output
    assert "compliant" in said.output
    (only,) = json.loads(CliRunner().invoke(commands, ["history", str(file), "--json"]).output)
    assert (only["run_id"], only["score"], only["passed"]) == (run_id, 1.0, 3)
    assert "compliant" in CliRunner().invoke(commands, ["history", "t"]).output


def test_the_command_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without DAGSTER_HOME, or with a contract that cannot be used, the command ends with 2 and the reason."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    missing = CliRunner().invoke(commands, ["history", "t"])
    assert missing.exit_code == 2
    assert "DAGSTER_HOME is not set" in missing.output
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    bad = tmp_path / "bad.yaml"
    bad.write_text("a: 1\n")
    broken = CliRunner().invoke(commands, ["history", str(bad)])
    assert broken.exit_code == 2
    assert "bad.yaml:1" in broken.output
