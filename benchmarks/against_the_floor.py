"""How much longer a check of 42 rules takes than the least SQL that could answer them, and than datacontract-cli.

    python benchmarks/against_the_floor.py --rows 5000000
    python benchmarks/against_the_floor.py --datacontract other-venv/bin/datacontract

It makes the data (see `orders.py`) in a temporary folder, or in the folder `--data`, where it is found again. Each
measurement is a process of its own, the contestants take turns, and medians are compared. The time is that of
`check_contract` and of the plain SQL, without starting Python and importing modules; the memory is the most that the
process had resident.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orders

SOURCES = ("duckdb", "parquet", "csv")
KINDS = ("clean", "dirty")


def measure_floor(folder: Path, kind: str, source: str) -> dict[str, Any]:
    """The cost of the plain SQL, in this process."""
    started = start()
    return cost(started, orders.floor(folder, kind, source))


def measure_ours(path: Path) -> dict[str, Any]:
    """The cost of checking the contract, in this process."""
    from contract_checks.run import check_contract

    started = start()
    report = check_contract(path)
    costs = cost(started, sum(len(one.statements) for one in report.datasets))
    return {**costs, "verdict": report.status, "rules": sum(len(one.results) for one in report.datasets)}


def start() -> tuple[float, float]:
    """The clocks at the start of what is measured."""
    return time.perf_counter(), time.process_time()


def cost(started: tuple[float, float], statements: int) -> dict[str, Any]:
    """What was spent since `started`: seconds on the clock and of the processors, and the most memory in MB."""
    return {
        "seconds": time.perf_counter() - started[0],
        "cpu": time.process_time() - started[1],
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "statements": statements,
    }


def measure_other(program: str, path: Path) -> dict[str, Any]:
    """The cost of `datacontract test` less that of starting it, which is measured on its own."""
    idle = _timed([program, "--version"])[0]
    seconds, memory = _timed([program, "test", str(path)])
    return {"seconds": seconds - idle, "memory": memory, "statements": 0}


def _timed(command: list[str]) -> tuple[float, float]:
    started = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False)
    return time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _child(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _middle(runs: list[dict[str, Any]], figure: str) -> float:
    return statistics.median(run[figure] for run in runs)


def compare(folder: Path, kind: str, source: str, path: Path, runs: int, other: str | None) -> str:
    """One line: seconds, memory and statements of ours as ratios to the floor, and to the other program."""
    floors, ours, others = [], [], []
    for _ in range(runs):
        floors.append(_child("--child", "floor", str(folder), kind, source))
        ours.append(_child("--child", "ours", str(path)))
        if other is not None:
            others.append(_child("--child", "other", other, str(path)))
    seconds, floor = _middle(ours, "seconds"), _middle(floors, "seconds")
    cells = [
        f"{source:8} {kind:6} {ours[0]['verdict']:7}",
        f"{seconds:7.2f} s = {seconds / floor:5.2f} × floor",
        f"CPU {_middle(ours, 'cpu') / _middle(floors, 'cpu'):5.2f} ×",
        f"{_middle(ours, 'memory'):6.0f} MB (floor {_middle(floors, 'memory'):4.0f})",
        f"{ours[0]['statements']:3} statements (floor {floors[0]['statements']})",
    ]
    if others:
        cells.append(
            f"{seconds / _middle(others, 'seconds'):5.2f} × datacontract-cli, {_middle(others, 'memory'):5.0f} MB"
        )
    return "  ".join(cells)


def main() -> None:
    """Make the data if it is not there, and print a line for each source and kind."""
    if sys.argv[1:2] == ["--child"]:
        what, *rest = sys.argv[2:]
        if what == "make":
            orders.make(Path(rest[0]), int(rest[1]), rest[2])
            found = {}
        elif what == "floor":
            found = measure_floor(Path(rest[0]), rest[1], rest[2])
        elif what == "ours":
            found = measure_ours(Path(rest[0]))
        else:
            found = measure_other(rest[0], Path(rest[1]))
        print(json.dumps(found))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--data", type=Path, help="a folder to keep the data in")
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--datacontract", help="the command of datacontract-cli, from its own environment")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = (asked.data or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{asked.rows:,} rows, {asked.runs} runs each")
        for kind in asked.kinds:
            if not (folder / f"orders_{kind}.csv").exists():
                _child("--child", "make", str(folder), str(asked.rows), kind)
            for source in asked.sources:
                # A child's memory is counted from that of its parent, so nothing big is done here.
                path = orders.contract(folder, asked.rows, kind, source)
                print(compare(folder, kind, source, path, asked.runs, asked.datacontract), flush=True)


if __name__ == "__main__":
    main()
