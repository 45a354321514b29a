"""What a run inside Dagster costs beyond Dagster's own writing of events.

    python benchmarks/dagster_run.py --columns 40 --rows 1000 --repeats 5

A contract with a rule for each column of a small DuckDB table is materialized on an instance in a temporary folder.
Beside it runs an asset written by hand: it runs the statements that ours ran, and yields the results that ours
yielded, so that what it takes is the scan and Dagster. The ratio is between the smallest CPU times, for other work on
the machine only ever makes one larger. The first run of a process is told apart, since Dagster starts one for each
run: it includes what is imported when something runs for the first time. The last line is the same contract checked
without Dagster, from its file to its report: all that is ours, and the scan.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb

from contract_checks import build_definitions, check_contract


def contract(columns: int) -> str:
    """A contract with a type, a minimum and every fourth column a null rule: about 1.25 checks a column."""
    properties: list[dict[str, Any]] = [
        {
            "name": f"c{i}",
            "logicalType": "integer",
            "required": i % 4 == 0,
            "logicalTypeOptions": {"minimum": 0 if i % 10 else 5},
        }
        for i in range(columns)
    ]
    return json.dumps(
        {
            "apiVersion": "v3.1.0",
            "kind": "DataContract",
            "id": "run",
            "version": "1.0.0",
            "status": "draft",
            "schema": [{"name": "orders", "properties": properties}],
        }
    )


def ours(file: Path, database: Path) -> dg.Definitions:
    """The contract in Dagster."""
    return build_definitions(file, source=f"duckdb:///{database}", executor=dg.in_process_executor)


def recorded(file: Path, database: Path, instance: dg.DagsterInstance) -> dict[str, Any]:
    """What a run of the contract asks and says, for the asset by hand to ask and say."""
    done = ours(file, database).resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
    (event,) = (one for one in done.all_events if one.is_step_materialization)
    keys = ("passed", "asset_key", "check_name", "severity", "description", "metadata")
    return {
        "statements": [one for part in check_contract(file, source=f"duckdb:///{database}").datasets
                       for one in part.statements],
        "results": [{key: getattr(one, key) for key in keys} for one in done.get_asset_check_evaluations()],
        "metadata": dict(event.step_materialization_data.materialization.metadata),
    }  # fmt: skip


def by_hand(file: Path, database: Path, said: dict[str, Any]) -> dg.Definitions:
    """The same asset by hand: its specs, its statements and its results."""
    (asset,) = ours(file, database).assets or ()
    assert isinstance(asset, dg.AssetsDefinition)
    (spec,) = asset.specs

    @dg.multi_asset(name="by_hand", specs=[spec], check_specs=list(asset.check_specs), can_subset=True)
    def step(context):  # type: ignore[no-untyped-def]
        with duckdb.connect(str(database), read_only=True) as connection:
            for statement in said["statements"]:
                connection.execute(statement).fetchall()
        context.log.info(f"{len(said['results'])} promises evaluated.")
        for one in said["results"]:
            yield dg.AssetCheckResult(**one)
        context.log.warning(f"{len(said['results'])} promises evaluated.")
        yield dg.MaterializeResult(asset_key=spec.key, metadata=said["metadata"])

    place = dg.ResourceDefinition.none_resource()
    return dg.Definitions(assets=[step], resources={"contract_sources": place}, executor=dg.in_process_executor)


def in_child(work: Callable[[], Any]) -> Any:
    """What work gives in a process that has not run anything before."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
        _WORK["next"] = work
        return pool.submit(_do_next).result()


_WORK: dict[str, Callable[[], Any]] = {}


def _do_next() -> Any:
    return _WORK["next"]()


def timed(run: Callable[[], Any]) -> float:
    """CPU seconds of a call."""
    started = time.process_time()
    run()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)  # what is printed is no event
    with tempfile.TemporaryDirectory() as temporary:
        file, database = Path(temporary, "orders.odcs.yaml"), Path(temporary, "orders.duckdb")
        file.write_text(contract(asked.columns), encoding="utf-8")
        listed = ", ".join(f"i AS c{i}" for i in range(asked.columns))
        table = f"CREATE TABLE orders AS SELECT {listed} FROM range({asked.rows}) AS r(i)"
        in_child(lambda: duckdb.connect(str(database)).execute(table).close())

        def record() -> dict[str, Any]:
            with dg.DagsterInstance.local_temp(temporary) as instance:
                return recorded(file, database, instance)

        said = in_child(record)
        jobs = {
            "by hand": by_hand(file, database, said).resolve_implicit_global_asset_job_def(),
            "contract": ours(file, database).resolve_implicit_global_asset_job_def(),
        }

        def run(kind: str) -> float:
            with dg.DagsterInstance.local_temp(temporary) as instance:
                return timed(lambda: jobs[kind].execute_in_process(instance=instance))

        first: dict[str, list[float]] = {kind: [] for kind in jobs}
        later: dict[str, list[float]] = {kind: [] for kind in jobs}
        for _ in range(asked.repeats):
            for kind in jobs:
                first[kind].append(in_child(lambda kind=kind: run(kind)))  # type: ignore[misc]
        for _ in range(asked.repeats + 1):
            for kind in jobs:
                later[kind].append(run(kind))
        alone = min(timed(lambda: check_contract(file, source=f"duckdb:///{database}")) for _ in range(asked.repeats))
    print(f"{len(said['results'])} checks, {len(said['statements'])} statements, {asked.rows:,} rows")
    for name, times in (("the first run of a process", first), ("a later run", later)):
        low, high = min(times["by hand"]), min(times["contract"])
        print(f"{name:<28} by hand {low:7.3f} s   contract {high:7.3f} s = {high / low:5.2f}")
    share = alone / min(later["contract"])
    print(f"{'the checks without Dagster':<28} {alone:7.3f} s, {share:.1%} of a later run")


if __name__ == "__main__":
    main()
