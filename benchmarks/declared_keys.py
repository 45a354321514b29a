"""How much of a check of 42 rules is spared where DuckDB declares the keys and NOT NULL, or Parquet has statistics.

    python benchmarks/declared_keys.py --rows 1000000

The same rows are checked as a bare table, as one with its keys and NOT NULL declared, and as a Parquet file, with
proofs and without (`Settings(proofs=False)`). The floor is the least SQL that answers the rules by scans (see
`orders.py`), run on the same data. The contestants take turns in this process; the least time of each counts. The CPU
seconds are those of all threads.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import orders

from contract_checks.checks import Settings
from contract_checks.dialects import load
from contract_checks.results import Report
from contract_checks.run import check_contract

FILLED = ("customer_id", "order_ts", "status", "is_gift", "source_system", "updated_at", "external_id")
KEYS = (
    "PRIMARY KEY (order_id)",
    "UNIQUE (line_hash)",
    "UNIQUE (external_id)",
    "UNIQUE (customer_id, order_ts)",
    "FOREIGN KEY (customer_id) REFERENCES customers (customer_id)",
)


def declare(bare: Path, declared: Path) -> None:
    """Write the same tables with their keys and NOT NULL declared."""
    with duckdb.connect(str(declared)) as connection:
        connection.execute(f"ATTACH '{bare}' AS bare (READ_ONLY)")
        connection.execute("CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name VARCHAR)")
        connection.execute("INSERT INTO customers FROM bare.customers")
        columns = connection.execute("SELECT column_name, column_type FROM (DESCRIBE bare.orders)").fetchall()
        listed = [f'"{name}" {kind}{" NOT NULL" if name in FILLED else ""}' for name, kind in columns]
        connection.execute(f"CREATE TABLE orders ({', '.join([*listed, *KEYS])})")
        connection.execute("INSERT INTO orders FROM bare.orders")


def least(runs: int, *contestants: Callable[[], Any]) -> list[tuple[float, float, Any]]:
    """The least seconds and CPU seconds of each contestant, which take turns, and what it gave at last."""
    found: list[list[tuple[float, float, Any]]] = [[] for _ in contestants]
    for _ in range(runs):
        for place, contestant in enumerate(contestants):
            wall, cpu = time.perf_counter(), time.process_time()
            given = contestant()
            found[place].append((time.perf_counter() - wall, time.process_time() - cpu, given))
    return [(min(one[0] for one in all_), min(one[1] for one in all_), all_[-1][2]) for all_ in found]


def told(name: str, seconds: float, cpu: float, floor: tuple[float, float], report: Report) -> str:
    """One line of the result."""
    statements = sum(len(one.statements) for one in report.datasets)
    tiers = Counter(one.answered_by for one in report.results)
    by = ", ".join(f"{count} {tier}" for tier, count in sorted(tiers.items()))
    return (
        f"{name:28} {report.status:10} {seconds:6.2f} s = {seconds / floor[0]:4.2f} × floor   "
        f"CPU {cpu / floor[1]:4.2f} ×   {statements:2} statements   answered by: {by}"
    )


def main() -> None:
    """Make the data and print a line for each place, with and without proofs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        keyed = folder / "declared"
        keyed.mkdir()
        orders.make(folder, asked.rows, "clean")
        declare(folder / "clean.duckdb", keyed / "clean.duckdb")
        print(f"{asked.rows:,} rows, least of {asked.runs} runs")
        for name, place, source in (
            ("DuckDB, bare", folder, "duckdb"),
            ("DuckDB, declared", keyed, "duckdb"),
            ("Parquet", folder, "parquet"),
        ):
            contract = load(orders.contract(place, asked.rows, "clean", source))
            floor, proven, scanned = least(
                asked.runs,
                lambda place=place, source=source: orders.floor(place, "clean", source),
                lambda contract=contract: check_contract(contract),
                lambda contract=contract: check_contract(contract, settings=Settings(proofs=False)),
            )
            print(told(f"{name}, proofs", *proven[:2], floor[:2], proven[2]))
            print(told(f"{name}, scans only", *scanned[:2], floor[:2], scanned[2]))


if __name__ == "__main__":
    main()
