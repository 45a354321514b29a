"""How long Dagster takes to load many contracts, beside the same definitions written by hand.

    python benchmarks/many_contracts.py --contracts 10 100 1000 3000 --rules 30
    python benchmarks/many_contracts.py --contracts 1000 --shape wide

It writes contracts into a temporary folder and loads them as a code location does, each time in a process of its own:

* by hand: plain Dagster with the same assets, checks, texts, metadata, job and schedule, and nothing of this package;
* first: the contracts are read and planned, for the cache is empty;
* again: they did not change, so they come from the cache.

Times are CPU seconds without imports, the smallest of `--repeats`. `load` is what a process needs to have the
definitions, a run's as well as the code server's; `snapshot` is what the code server sends to the others. Memory is the
peak of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg

KINDS = ("by hand", "first", "again")


def contract(number: int, rules: int, shape: str = "narrow") -> str:
    """A contract about a table with as many checks, and a daily cadence.

    A `wide` one says all that contracts say: it has twice as many columns, with descriptions, tags and native types,
    owners, links, servers and clauses that are shown.
    """
    columns: list[dict[str, Any]] = [
        {"name": f"c{i}", "logicalType": "integer", "logicalTypeOptions": {"minimum": 0}} for i in range(rules - 3)
    ]
    document: dict[str, Any] = {
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
    if shape == "wide":
        for i, column in enumerate(columns):
            column |= {
                "physicalType": "BIGINT",
                "description": f"The amount of kind {i} in whole units.",
                "tags": ["a"],
            }
        columns += [
            {
                "name": f"text_{i}",
                "logicalType": "string",
                "description": "What was said of the order, as it was said.",
                "classification": "internal",
                "examples": ["red", "green"],
            }
            for i in range(rules)
        ]
        document["domain"] = "sales"
        document["description"] = {"purpose": "What was ordered, and when.", "usage": "Join on `c0`."}
        document["team"] = {"members": [{"username": "ada@example.com", "role": "owner"}, {"username": "grace"}]}
        document["support"] = [{"channel": "#sales", "url": "https://example.com/sales"}]
        document["price"] = {"priceAmount": 9.95, "priceCurrency": "USD", "priceUnit": "megabyte"}
        document["servers"] = [{"server": "production", "type": "duckdb", "database": "sales.duckdb"}]
    return json.dumps(document, indent=2)


# --------------------------------------------------------------------------- by hand


def texts(folder: Path) -> list[dict[str, Any]]:
    """What a person would have to write by hand: everything that the contracts of a folder say in Dagster."""
    from contract_checks import build_definitions

    written = []
    for asset in build_definitions(folder, source="duckdb:///warehouse.duckdb").assets or ():
        assert isinstance(asset, dg.AssetsDefinition)
        (spec,) = asset.specs
        metadata: dict[str, Any] = {}
        for key, value in spec.metadata.items():
            if isinstance(value, dg.TableSchema):
                metadata[key] = [
                    [c.name, c.type, c.description, c.constraints.nullable, c.constraints.unique, c.constraints.other,
                     dict(c.tags or {})] for c in value.columns
                ]  # fmt: skip
            elif isinstance(value, dg.CodeReferencesMetadataValue):
                (reference,) = value.code_references
                assert isinstance(reference, dg.LocalFileCodeReference)
                metadata[key] = [reference.file_path, reference.line_number, reference.label]
            elif isinstance(value, dg.TableMetadataValue):
                metadata[key] = [dict(one.data) for one in value.records]
            else:
                metadata[key] = getattr(value, "value", value)
        checks = [[one.name, one.description, one.blocking] for one in asset.check_specs]
        written.append(
            {
                "key": list(spec.key.path),
                "description": spec.description,
                "group": spec.group_name,
                "code_version": spec.code_version,
                "owners": list(spec.owners),
                "tags": {key: value for key, value in spec.tags.items() if not key.startswith("dagster/kind")},
                "kinds": sorted(spec.kinds),
                "op": asset.node_def.name,
                "about": asset.node_def.description,
                "metadata": metadata,
                "checks": checks,
            }
        )
    return written


def by_hand(written: list[dict[str, Any]]) -> dg.Definitions:
    """Definitions in plain Dagster."""
    assets = [_asset(one) for one in written]
    job = dg.define_asset_job(
        "contract_checks",
        dg.AssetSelection.assets(*(key for asset in assets for key in asset.keys)),
        executor_def=dg.in_process_executor,
        tags={"dagster/retry_on_asset_or_op_failure": "false"},
    )
    schedule = dg.ScheduleDefinition(
        name="contract_sla__every_1_d__0000_utc", job_name="contract_checks", cron_schedule="0 0 * * *"
    )
    place = dg.ResourceDefinition.none_resource()
    return dg.Definitions(assets=assets, jobs=[job], schedules=[schedule], resources={"contract_sources": place})


def _asset(one: dict[str, Any]) -> dg.AssetsDefinition:
    key = dg.AssetKey(one["key"])
    spec = dg.AssetSpec(
        key,
        description=one["description"],
        metadata={name: _metadata(name, value) for name, value in one["metadata"].items()},
        group_name=one["group"],
        code_version=one["code_version"],
        owners=one["owners"],
        tags=one["tags"],
        kinds=set(one["kinds"]),
        freshness_policy=dg.FreshnessPolicy.time_window(
            fail_window=timedelta(hours=26, minutes=24), warn_window=timedelta(days=1)
        ),
    )
    checks = [
        dg.AssetCheckSpec(name, asset=key, description=description, blocking=blocking)
        for name, description, blocking in one["checks"]
    ]

    @dg.multi_asset(
        name=one["op"],
        specs=[spec],
        check_specs=checks,
        can_subset=True,
        required_resource_keys={"contract_sources"},
        description=one["about"],
    )
    def step(context):  # type: ignore[no-untyped-def]
        yield from ()

    return step


def _metadata(name: str, value: Any) -> Any:
    if name == "dagster/column_schema":
        return dg.TableSchema(
            columns=[
                dg.TableColumn(
                    column, kind, text, dg.TableColumnConstraints(nullable=nullable, unique=unique, other=other), tags
                )
                for column, kind, text, nullable, unique, other, tags in value
            ]
        )
    if name == "dagster/code_references":
        path, line, label = value
        reference = dg.LocalFileCodeReference(file_path=path, line_number=line, label=label)
        return dg.CodeReferencesMetadataValue(code_references=[reference])
    if isinstance(value, list):
        columns = [dg.TableColumn(name) for name in value[0]]
        return dg.MetadataValue.table([dg.TableRecord(one) for one in value], dg.TableSchema(columns=columns))
    return dg.MetadataValue.md(value) if name == "contract/documented" else value


# --------------------------------------------------------------------------- measured


def measure(kind: str, folder: Path) -> dict[str, float]:
    """Load a code location and take its snapshot. To be done once in a process."""
    from dagster._core.remote_representation.external_data import RepositorySnap
    from dagster._serdes import serialize_value

    if kind == "by hand":
        written = json.loads((folder.parent / "texts.json").read_text(encoding="utf-8"))
        started = time.process_time()
        definitions = by_hand(written)
    else:
        from contract_checks.dagster_defs import build_definitions

        started = time.process_time()
        definitions = build_definitions(folder, source="duckdb:///warehouse.duckdb")
    repository = definitions.get_repository_def()
    repository.load_all_definitions()
    loaded = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = serialize_value(RepositorySnap.from_def(repository))
    done = time.process_time()
    (schedule,) = repository.schedule_defs
    if kind != "by hand":
        midnight = datetime(2026, 1, 5, tzinfo=UTC)
        context = dg.build_schedule_context(repository_def=repository, scheduled_execution_time=midnight)
        assert schedule.evaluate_tick(context).run_requests
    return {"load": loaded - started, "snapshot": done - loaded, "memory": memory, "size": len(text) / 1e6}


def child(arguments: list[str], cache: Path) -> str:
    """What this script prints in a process of its own."""
    environment = os.environ | {"CONTRACT_CHECKS_CACHE": str(cache), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def compare(count: int, rules: int, shape: str, repeats: int) -> None:
    """Measure one number of contracts, and print it beside the floor."""
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as temporary:
        folder, cache = Path(temporary, "contracts"), Path(temporary, "cache")
        folder.mkdir()
        for number in range(count):
            (folder / f"t{number}.odcs.yaml").write_text(contract(number, rules, shape), encoding="utf-8")
        child(["--texts", str(folder)], cache)
        for attempt in range(repeats):
            for kind in KINDS:
                kept = Path(temporary, f"empty{attempt}") if kind == "first" else cache
                found[kind].append(json.loads(child(["--measure", kind, str(folder)], kept)))
    best = {
        kind: {name: min(one[name] for one in runs) for name in ("load", "snapshot", "memory", "size")}
        for kind, runs in found.items()
    }
    floor = best["by hand"]
    print(f"{count:,} contracts of {rules} checks, {shape}")
    for kind, one in best.items():
        whole = (one["load"] + one["snapshot"]) / (floor["load"] + floor["snapshot"])
        print(
            f"  {kind:<8} load {one['load']:7.3f} s = {one['load'] / floor['load']:5.2f}   "
            f"with snapshot {one['load'] + one['snapshot']:7.3f} s = {whole:5.2f}   "
            f"memory {one['memory']:5.0f} MB   snapshot {one['size']:6.1f} MB",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--contracts", type=int, nargs="+", default=[10, 100, 1000, 3000])
    parser.add_argument("--rules", type=int, default=30)
    parser.add_argument("--shape", choices=["narrow", "wide"], default="narrow")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--texts", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "FOLDER"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.texts:
        folder = Path(asked.texts)
        (folder.parent / "texts.json").write_text(json.dumps(texts(folder)), encoding="utf-8")
    elif asked.measure:
        print(json.dumps(measure(asked.measure[0], Path(asked.measure[1]))))
    else:
        for count in asked.contracts:
            compare(count, asked.rules, asked.shape, asked.repeats)


if __name__ == "__main__":
    main()
