"""What a check costs when one of 100 files changed and the measurements of the others were kept.

    python benchmarks/incremental.py --rows 10000000
    python benchmarks/incremental.py --rows 2000000 --format csv

It makes the files in a temporary folder and checks them by contracts that promise more and more: things about rows, a
key whose values lie apart in the files, a foreign key, a key whose values are spread over all files, a query. Of each
it prints the processor's seconds without a store, with an empty one, with nothing changed and with one file written
anew (the least of `--repeat` runs), and the last as a share of the first: end to end, and for the statements alone,
which are run again by plain DuckDB. All is in one process that has everything imported.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from contract_checks.checks import Settings
from contract_checks.results import Report
from contract_checks.run import check_contract

SETTLED = 2.1
"""Seconds after which a file that was written is trusted to show its next change."""

_ROWS = """
    SELECT
      r AS id,
      CAST(hash(r, {seed}) % 1000000 AS INTEGER) AS customer,
      CAST(hash(r) AS UBIGINT) AS token,
      'user' || hash(r, 1) % 100000 || '@example.org' AS email,
      CAST(hash(r, 2) % 10000000 / 100 AS DECIMAL(12, 2)) AS amount,
      DATE '2024-01-01' + CAST(hash(r, 3) % 700 AS INTEGER) AS day,
      TIMESTAMP '2024-01-01' + to_seconds(r) AS at,
      ['new', 'paid', 'shipped', 'done'][CAST(hash(r, 4) % 4 AS INTEGER) + 1] AS status,
      ['EUR', 'USD', 'GBP', 'CHF'][CAST(hash(r, 5) % 4 AS INTEGER) + 1] AS currency,
      hash(r, 6) % 1000 / 1000 AS share,
      CAST(hash(r, 7) % 100 AS INTEGER) AS quantity,
      'SKU-' || lpad(CAST(hash(r, 8) % 100000 AS TEXT), 5, '0') AS sku
    FROM range({first}, {last}) AS numbers(r)"""


def write(folder: Path, number: int, rows: int, form: str, seed: int = 0) -> None:
    """Write one of the files, with the same keys whatever the seed."""
    options = "FORMAT parquet" if form == "parquet" else "HEADER"
    select = _ROWS.format(first=number * rows, last=(number + 1) * rows, seed=seed)
    duckdb.sql(f"COPY ({select}) TO '{folder}/orders/{number:04}.{form}' ({options})")


def contracts(folder: Path, form: str) -> dict[str, Path]:
    """Write the contracts, each with one kind of promise more than rows; their paths by what they promise."""
    more: dict[str, tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]] = {
        "rows": ({}, []),
        "rows, a key apart": ({"id": {"unique": True}}, []),
        "rows, a foreign key": ({"customer": {"relationships": [{"to": "customers.customer"}]}}, []),
        "rows, a key all over": ({"token": {"unique": True}}, []),
        "rows, a query": (
            {},
            [{"id": "mean", "type": "sql", "query": "SELECT avg(amount) FROM orders", "mustBeGreaterThan": 1}],
        ),
    }
    paths = {}
    for name, (columns, rules) in more.items():
        path = folder / f"{name.replace(', ', '_').replace(' ', '_')}_{form}.odcs.json"
        path.write_text(json.dumps(_contract(folder, form, columns, rules)), encoding="utf-8")
        paths[name] = path
    return paths


def _contract(folder: Path, form: str, more: dict[str, dict[str, Any]], rules: list[dict[str, Any]]) -> dict[str, Any]:
    def column(name: str, kind: str, options: dict[str, Any] | None = None, *valid: str) -> dict[str, Any]:
        made: dict[str, Any] = {"name": name, "logicalType": kind, "required": True, **more.get(name, {})}
        if options:
            made["logicalTypeOptions"] = options
        if valid:
            made["quality"] = [{"metric": "invalidValues", "arguments": {"validValues": valid}, "mustBe": 0}]
        return made

    columns = [
        column("id", "integer", {"minimum": 0}),
        column("customer", "integer", {"minimum": 0, "maximum": 999_999}),
        column("token", "integer"),
        column("email", "string", {"pattern": "^[^@]+@[^@]+$", "maxLength": 60}),
        column("amount", "number", {"minimum": 0, "exclusiveMaximum": 1_000_000}),
        column("day", "date", {"minimum": "2020-01-01", "maximum": "2100-01-01"}),
        column("at", "timestamp", {"minimum": "2020-01-01T00:00:00Z"}),
        column("status", "string", None, "new", "paid", "shipped", "done"),
        column("currency", "string", {"minLength": 3, "maxLength": 3, "pattern": "^[A-Z]{3}$"}),
        column("share", "number", {"minimum": 0, "maximum": 1}),
        column("quantity", "integer", {"minimum": 0, "maximum": 100}),
        column("sku", "string", {"minLength": 9, "maxLength": 9, "pattern": "^SKU-[0-9]{5}$"}),
    ]
    quality = [{"id": "some", "metric": "rowCount", "mustBeGreaterThan": 1}, *rules]
    customers = {"name": "customers", "properties": [{"name": "customer", "logicalType": "integer"}]}
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "orders",
        "name": "Orders",
        "version": "1.0.0",
        "status": "active",
        "servers": [{"server": "here", "type": "local", "path": f"{folder}/{{model}}/*.{form}", "format": form}],
        "schema": [{"name": "orders", "quality": quality, "properties": columns}, customers],
    }


class Cost:
    """The least processor's seconds of several runs, and those of their statements alone."""

    def __init__(self) -> None:
        self.seconds = self.statements = float("inf")
        self.report: Report | None = None

    def add(self, path: Path, store: Path | None) -> Report:
        """Run a check once more."""
        settings = Settings(measurements=str(store) if store else None)
        started = time.process_time()
        report = check_contract(path, datasets=["orders"], settings=settings)
        self.seconds = min(self.seconds, time.process_time() - started)
        if path.name.endswith("parquet.odcs.json"):
            self.statements = min(self.statements, _alone(report, path.parent))
        self.report = report
        return report


def _alone(report: Report, folder: Path) -> float:
    """The processor's seconds of a report's statements in a plain DuckDB."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
        connection.execute(f"CREATE VIEW orders AS FROM '{folder}/orders/*.parquet'")
        started = time.process_time()
        for statement in report.datasets[0].statements:
            connection.execute(statement).fetchall()
        return time.process_time() - started


def verdicts(report: Report) -> list[Any]:
    """What a report says of each check."""
    return [(one.check.name, one.status, one.measured, one.description) for one in report.results]


def compare(path: Path, change: Callable[[int], None], repeat: int, store: Path) -> list[str]:
    """The costs of one contract as cells of a table."""
    full, empty, nothing, one = Cost(), Cost(), Cost(), Cost()
    for _ in range(max(2, repeat // 2)):
        full.add(path, None)
    empty.add(path, store)
    for _ in range(repeat):
        nothing.add(path, store)
    for number in range(repeat):
        change(number)
        time.sleep(SETTLED)
        report = one.add(path, store)
        assert verdicts(report) == verdicts(check_contract(path, datasets=["orders"])), "another verdict"
    assert one.report is not None
    read, files = one.report.datasets[0].files_read or (0, 0)
    return [
        f"{full.seconds:.2f}",
        f"{empty.seconds / full.seconds:.2f}",
        f"1/{full.seconds / nothing.seconds:.0f}",
        f"1/{full.seconds / one.seconds:.0f}",
        f"1/{full.statements / one.statements:.0f}" if one.statements < float("inf") else "",
        f"{read} of {files}",
    ]


def main() -> None:
    """Make the files, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--only", help="the contract to measure, by a part of its name")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for table in ("orders", "customers"):
            (folder / table).mkdir()
        each = chosen.rows // chosen.files
        for number in range(chosen.files):
            write(folder, number, each, chosen.format)
        known = "SELECT CAST(r AS INTEGER) AS customer FROM range(1000000) AS numbers(r)"
        duckdb.sql(f"COPY ({known}) TO '{folder}/customers/all.{chosen.format}'")
        time.sleep(SETTLED)
        print(f"{chosen.rows:,} rows in {chosen.files} files ({chosen.format}); one of them changes\n")
        print("| promised | without, s | first | none changed | one changed | its statements | files read |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for place, (name, path) in enumerate(contracts(folder, chosen.format).items()):
            if chosen.only and chosen.only not in name:
                continue

            def change(number: int, place: int = place) -> None:
                write(folder, 7 * number + place, each, chosen.format, seed=time.time_ns() % 1000)

            cells = compare(path, change, chosen.repeat, folder / f"kept-{place}.sqlite")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
