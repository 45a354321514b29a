"""How long Dagster takes to load many contracts, and to run a few of them.

    python benchmarks/many_contracts.py --contracts 1000 --rules 30

It writes the contracts into a temporary folder, loads them as a code location would, and runs the job of the
schedules for ten of them on an empty DuckDB. Nothing is kept.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb

from contract_checks import build_definitions
from contract_checks.dagster_defs.grouping import Grouping


def contract(number: int, rules: int) -> str:
    """A contract about a table with as many rules, and a daily cadence."""
    columns: list[dict[str, Any]] = [
        {"name": f"c{i}", "logicalType": "integer", "logicalTypeOptions": {"minimum": 0}} for i in range(rules - 3)
    ]
    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": f"bench-{number}",
        "name": f"Bench {number}",
        "version": "1.0.0",
        "status": "active",
        "schema": [
            {
                "name": f"t{number}",
                "properties": columns,
                "quality": [{"id": "few", "metric": "rowCount", "mustBeLessThan": 5}],
            }
        ],
        "slaProperties": [{"property": "frequency", "value": 1, "unit": "d"}],
    }
    return json.dumps(document)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long it took, and the memory used so far."""
    started = time.perf_counter()
    yield
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<44} {time.perf_counter() - started:8.2f} s   {memory:6.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--contracts", type=int, default=1000)
    parser.add_argument("--rules", type=int, default=30)
    parser.add_argument("--group-by", choices=["column", "section"])
    asked = parser.parse_args()
    group_by: Grouping | None = asked.group_by
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "contracts")
        folder.mkdir()
        for number in range(asked.contracts):
            (folder / f"t{number}.odcs.yaml").write_text(contract(number, asked.rules), encoding="utf-8")
        warehouse = Path(temporary, "warehouse.duckdb")
        with duckdb.connect(str(warehouse)) as connection:
            for number in range(10):
                columns = ", ".join(f"1 AS c{i}" for i in range(asked.rules - 3))
                connection.execute(f"CREATE TABLE t{number} AS SELECT {columns}")
        print(f"{asked.contracts} contracts with {asked.rules} rules each")
        with timed("read, plan and translate"):
            definitions = build_definitions(folder, source=f"duckdb:///{warehouse}", group_by=group_by)
        with timed("load as a code location"):
            repository = definitions.get_repository_def()
            repository.load_all_definitions()
        job = repository.get_job("contract_checks")
        keys = [dg.AssetKey(f"t{number}") for number in range(10)]
        with timed("evaluate a tick of the schedule"):
            (schedule,) = repository.schedule_defs
            midnight = datetime(2026, 1, 5, tzinfo=UTC)
            context = dg.build_schedule_context(repository_def=repository, scheduled_execution_time=midnight)
            requests = schedule.evaluate_tick(context).run_requests or ()
        print(f"{'':44} {len(requests)} runs")
        subset = job.get_subset(asset_selection=set(keys))
        with dg.DagsterInstance.local_temp(temporary) as instance, timed("run ten contracts, in one process"):
            done = subset.execute_in_process(instance=instance)
        assert done.success


if __name__ == "__main__":
    main()
