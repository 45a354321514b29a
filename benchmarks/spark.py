"""How one contract scales over the executors of a Spark cluster: `python benchmarks/spark.py [--rows 50000000]`.

Makes a Parquet folder of orders with a few mistakes, and checks one contract on it with a real cluster on this
machine (`local-cluster`: a master and executors that are processes of their own, one core each), once for each number
of executors. Prints the seconds of the check (the shortest of `--repeat` runs, the first of which warms up), how many
times faster it is than with one executor, and whether all verdicts, numbers included, equal those that DuckDB gives on
the same files. Needs Java 17, and a core for each executor and one for the driver: with fewer cores than that the
curve says how much the machine has, not how Spark scales.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import duckdb

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from contract_checks.dialects import load  # noqa: E402
from contract_checks.run import check_contract  # noqa: E402

CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: orders
    physicalName: orders
    properties:
      - {name: id, logicalType: integer, required: true, primaryKey: true, primaryKeyPosition: 1}
      - {name: customer_id, logicalType: integer, required: true, logicalTypeOptions: {minimum: 1}}
      - name: status
        logicalType: string
        required: true
        quality: [{metric: invalidValues, arguments: {validValues: [new, paid, sent, gone]}, mustBe: 0}]
      - {name: amount, logicalType: number, required: true, logicalTypeOptions: {minimum: 0, maximum: 10000}}
      - name: code
        logicalType: string
        logicalTypeOptions: {pattern: '^[A-Z]{2}-[0-9]{4,9}$', minLength: 7, maxLength: 12}
        quality: [{metric: nullValues, unit: percent, mustBeLessThan: 1}]
      - {name: ordered_at, logicalType: timestamp, logicalTypeOptions: {minimum: '2024-01-01T00:00:00Z'}}
    quality:
      - {metric: rowCount, mustBeGreaterThan: 0}
      - {metric: duplicateValues, arguments: {properties: [customer_id, ordered_at, amount]}, mustBeLessThan: 1000}
"""


def make(folder: Path, rows: int) -> None:
    """The data, in files of a few row groups so that it can be split."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        step = max(1, -(-rows // 8))
        for part, start in enumerate(range(0, rows, step)):
            connection.execute(
                f"""COPY (
                    SELECT i AS id, 1 + i * 7919 % 1000003 AS customer_id,
                      CASE WHEN i % 1000001 = 17 THEN 'lost' ELSE ['new', 'paid', 'sent'][1 + i % 3] END AS status,
                      CAST(CASE WHEN i % 500001 = 5 THEN -1 ELSE i % 1000000 / 100 END AS DECIMAL(18,2)) AS amount,
                      CASE WHEN i % 999 = 0 THEN NULL WHEN i % 700001 = 3 THEN 'bad'
                        ELSE 'AB-' || lpad(CAST(i AS VARCHAR), 8, '0') END AS code,
                      TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_seconds(i % 30000000) AS ordered_at
                    FROM range({start}, {min(start + step, rows)}) AS r(i)
                ) TO '{folder / f"part-{part}.parquet"}' (FORMAT parquet)"""
            )


def verdicts(report: Any) -> list[list[Any]]:
    """What was said of each check, numbers included."""
    return [[one.check.name, one.status, str(one.measured), one.rows] for one in report.results]


def on_spark(folder: Path, executors: int, repeat: int) -> dict[str, Any]:
    """Times of the check on a cluster, and its verdicts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.executor.memory": "1g",
            "spark.sql.shuffle.partitions": str(4 * executors),
            "spark.sql.warehouse.dir": str(folder.parent / "warehouse"),
        }
        builder = SparkSession.builder.master(f"local-cluster[{executors},1,1024]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.read.parquet(str(folder)).createOrReplaceTempView("orders")
    contract = load(folder.parent / "orders.odcs.yaml")
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        report = check_contract(contract, source=spark)
        times.append(time.perf_counter() - start)
    found = verdicts(report)
    spark.stop()
    return {"seconds": times, "verdicts": found}


def measured(folder: Path, executors: int, repeat: int) -> dict[str, Any]:
    """`on_spark` in a process of its own."""
    command = [
        sys.executable,
        __file__,
        "--inside",
        str(executors),
        "--folder",
        str(folder.parent),
        "--repeat",
        str(repeat),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    )
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Make the data, run, print."""
    options = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    options.add_argument("--rows", type=int, default=50_000_000)
    options.add_argument("--executors", type=int, nargs="+", default=[1, 2])
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--folder", type=Path, help="where the data is kept; default: a temporary folder")
    options.add_argument("--inside", type=int, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.inside:
        print(json.dumps(on_spark(chosen.folder / "orders", chosen.inside, chosen.repeat)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = (chosen.folder or Path(temporary)) / "orders"
        if not list(folder.glob("*.parquet")):
            make(folder, chosen.rows)
        (folder.parent / "orders.odcs.yaml").write_text(CONTRACT)
        contract = load(folder.parent / "orders.odcs.yaml")
        expected = verdicts(check_contract(contract, source=str(folder.parent)))
        print(f"{chosen.rows:,} rows, {len(expected)} checks, {os.cpu_count()} cores here")
        first = None
        for executors in chosen.executors:
            found = measured(folder, executors, chosen.repeat)
            best = min(found["seconds"])
            first = first or best
            same = "equal" if found["verdicts"] == expected else "DIFFER"
            print(f"{executors} executors: {best:7.1f} s   × {first / best:.2f}   verdicts {same} to DuckDB's")
            for mine, theirs in zip(found["verdicts"], expected, strict=True):
                if mine != theirs:
                    print(f"   {mine} here, {theirs} on DuckDB")


if __name__ == "__main__":
    main()
