"""`definitions.py` loads, and its gate opens and closes as the contracts say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import json, sys
import dagster as dg
from definitions import defs

dg.Definitions.validate_loadable(defs)
with dg.DagsterInstance.ephemeral() as instance:
    job = defs.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(instance=instance, raise_on_error=False)
    print("RESULT", json.dumps({
        "success": result.success,
        "assets": sorted(key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()),
        "materialized": sorted(event.asset_key.to_user_string() for event in result.get_asset_materialization_events()),
        "evaluated": sorted({one.asset_key.to_user_string() for one in result.get_asset_check_evaluations()}),
        "schedules": sorted(schedule.name for schedule in defs.schedules or []),
    }))
"""


@pytest.fixture(scope="module")
def outcome(checkout: Path, environment: dict[str, str]) -> dict[str, Any]:
    """What materializing everything came to, in a process of its own as Dagster does it."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert lines, done.stderr[-4000:]
    return dict(json.loads(lines[0].removeprefix("RESULT ")))


def test_every_contract_becomes_an_asset(outcome: dict[str, Any]) -> None:
    """There is one asset for each table, beside the two reports."""
    assert outcome["assets"] == [
        "airlines",
        "airports",
        "daily_delays",
        "flights",
        "planes",
        "rain_delays",
        "warehouse/sales/orders",
        "weather",
    ]


def test_the_gate_stops_only_what_depends_on_broken_data(outcome: dict[str, Any]) -> None:
    """Warnings stop nothing; a broken promise of severity error stops its asset and what is downstream of it."""
    assert not outcome["success"]
    assert set(outcome["assets"]) - set(outcome["materialized"]) == {"weather", "rain_delays"}


def test_the_gated_asset_still_shows_its_verdicts(outcome: dict[str, Any]) -> None:
    """Every contract's checks are evaluated, whether its asset is materialized or not."""
    reports = {"daily_delays", "rain_delays"}
    assert set(outcome["evaluated"]) == set(outcome["assets"]) - reports


def test_there_is_one_schedule_per_cadence(outcome: dict[str, Any]) -> None:
    """The four cadences of the samples (hour, day, week, month) are four schedules."""
    assert len(outcome["schedules"]) == 4
