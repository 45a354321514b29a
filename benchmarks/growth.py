"""How the time of a check grows with rows and with rules, beside that of the least SQL.

    python benchmarks/growth.py --plot docs/images/growth.svg

The first curve checks the 42 rules of `orders.py` on DuckDB tables of 10,000 to 50 million rows. The second checks
10 to 300 rules on one table of a million rows and a hundred columns of whole numbers. Each time is the least of several
runs in a process of its own, without starting Python and importing modules. `--plot` needs matplotlib.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import orders
from against_the_floor import cost, measure_floor, measure_ours, start

ROWS = (10_000, 100_000, 1_000_000, 10_000_000, 50_000_000)
RULES = (10, 30, 100, 300)
COLUMNS = 100
WIDE_ROWS = 1_000_000
LIMIT = 1_000_000


def wide_table(folder: Path) -> None:
    """A table of a million rows and a hundred columns."""
    cells = ", ".join(f"CAST(hash(i, {number}) % {LIMIT} AS INTEGER) AS c{number}" for number in range(COLUMNS))
    with duckdb.connect(str(folder / "wide.duckdb")) as connection:
        connection.execute(f"CREATE TABLE wide AS SELECT {cells} FROM range({WIDE_ROWS}) AS numbers(i)")


def wide_contract(folder: Path, rules: int) -> Path:
    """A contract with so many rules about that table: a minimum, a maximum and no NULL for each column in turn."""
    columns = []
    for number in range(COLUMNS):
        wanted = [index for index in range(3) if number + COLUMNS * index < rules]
        bounds = [{"minimum": 0}, {"maximum": LIMIT}]
        options = {key: value for index in wanted[:2] for key, value in bounds[index].items()}
        column: dict[str, Any] = {"name": f"c{number}", "logicalType": "integer", "required": 2 in wanted}
        columns.append({**column, "logicalTypeOptions": options} if options else column)
    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": f"wide-{rules}",
        "version": "1.0.0",
        "status": "active",
        "servers": [{"server": "here", "type": "duckdb", "database": f"{folder}/wide.duckdb", "schema": "main"}],
        "schema": [{"name": "wide", "physicalType": "table", "properties": columns}],
    }
    path = folder / f"wide_{rules}.odcs.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def wide_floor(folder: Path, rules: int) -> dict[str, Any]:
    """The least SQL for so many rules."""
    started = start()
    kinds = ("c{} < 0", f"c{{}} > {LIMIT}", "c{} IS NULL")
    broken = [kinds[index // COLUMNS].format(index % COLUMNS) for index in range(rules)]
    cells = ", ".join(f"count(*) FILTER (WHERE {one})" for one in broken)
    with duckdb.connect(str(folder / "wide.duckdb"), read_only=True) as connection:
        connection.execute(f"SELECT count(*), {cells} FROM wide").fetchall()
    return cost(started, 1)


def _child(what: str, *arguments: str) -> dict[str, Any]:
    """One step in a process of its own."""
    if what == "make":
        orders.make(Path(arguments[0]), int(arguments[1]), "clean", files=False)
        return {}
    if what == "wide":
        wide_table(Path(arguments[0]))
        return {}
    if what == "ours":
        return measure_ours(Path(arguments[0]))
    if what == "floor":
        return measure_floor(Path(arguments[0]), "clean", "duckdb")
    return wide_floor(Path(arguments[0]), int(arguments[1]))


def _run(runs: int, *arguments: str) -> float:
    command = [sys.executable, __file__, "--child", *arguments]
    done = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(runs)]
    return min(float(json.loads(one.stdout).get("seconds", 0)) for one in done)


def main() -> None:
    """Measure both curves, print them, and draw them if asked to."""
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(_child(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=int, default=ROWS[-1], help="leave out tables with more rows")
    parser.add_argument("--plot", type=Path, help="write a plot to this file")
    asked = parser.parse_args()
    by_rows: list[tuple[int, float, float]] = []
    by_rules: list[tuple[int, float, float]] = []
    for rows in (one for one in ROWS if one <= asked.most):
        with tempfile.TemporaryDirectory() as folder:
            _run(1, "make", folder, str(rows))
            path = orders.contract(Path(folder), rows, "clean", "duckdb")
            by_rows.append((rows, _run(asked.runs, "ours", str(path)), _run(asked.runs, "floor", folder)))
            _tell("rows", by_rows[-1])
    with tempfile.TemporaryDirectory() as folder:
        _run(1, "wide", folder)
        for rules in RULES:
            path = wide_contract(Path(folder), rules)
            floor = _run(asked.runs, "wide floor", folder, str(rules))
            by_rules.append((rules, _run(asked.runs, "ours", str(path)), floor))
            _tell("rules", by_rules[-1])
    if asked.plot is not None:
        draw(asked.plot, by_rows, by_rules)


def _tell(what: str, point: tuple[int, float, float]) -> None:
    count, ours, floor = point
    print(f"{count:>12,} {what:6} {ours:7.2f} s   floor {floor:7.2f} s   {ours / floor:5.2f} ×", flush=True)


def draw(path: Path, by_rows: list[tuple[int, float, float]], by_rules: list[tuple[int, float, float]]) -> None:
    """Both curves side by side, on logarithmic axes."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "contract_checks"
    figure, places = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    titles = ("42 rules, by rows", "1,000,000 rows, by rules")
    for place, title, points in zip(places, titles, (by_rows, by_rules), strict=True):
        counts = [count for count, _, _ in points]
        place.loglog(counts, [ours for _, ours, _ in points], marker="o", label="contract_checks")
        place.loglog(counts, [floor for _, _, floor in points], marker="o", linestyle="--", label="the least SQL")
        place.set(title=title, xlabel=title.rsplit(" ", 1)[-1], ylabel="seconds")
        place.grid(visible=True, which="major", alpha=0.3)
        place.legend()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
