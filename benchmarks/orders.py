"""The data of the benchmarks: `orders` with 23 columns and `customers`, as DuckDB tables, Parquet and CSV files.

One contract has 42 rules for them: keys, ranges, patterns, lists, nested fields, arrays, a foreign key, queries, an
age. A dirty set breaks most of the rules in a few rows each; a clean one breaks none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

CUSTOMERS = 100_000

_ORDERS = """
    SELECT
      i AS order_id,
      CAST(hash(i) % {customers} + 1 AS INTEGER) AS customer_id,
      TIMESTAMP '2024-01-01' + to_seconds(i * 5) AS order_ts,
      CAST(TIMESTAMP '2024-01-01' + to_seconds(i * 5) AS DATE) AS order_date,
      CAST(TIMESTAMP '2024-01-01' + to_seconds(i * 5) AS DATE) + CAST(hash(i, 1) % 10 AS INTEGER) AS shipped_date,
      ['new', 'paid', 'shipped', 'done', 'returned'][CAST(hash(i, 2) % 5 AS INTEGER) + 1] AS status,
      ['EUR', 'USD', 'GBP', 'CHF', 'SEK'][CAST(hash(i, 3) % 5 AS INTEGER) + 1] AS currency,
      CAST(hash(i, 4) % 10000000 / 100 AS DECIMAL(18, 2)) AS amount,
      CAST(hash(i, 5) % 100 / 100 AS DOUBLE) AS discount_pct,
      CAST(hash(i, 6) % 100 + 1 AS INTEGER) AS quantity,
      'user' || hash(i, 7) % 1000000 || '@example.com' AS email,
      ['DE', 'FR', 'CH', 'AT', 'SE', 'US'][CAST(hash(i, 8) % 6 AS INTEGER) + 1] AS country,
      hash(i, 9) % 7 = 0 AS is_gift,
      CASE WHEN hash(i, 10) % 100 >= 5 THEN 'c' || hash(i, 10) % 1000 END AS "comment",
      ['web', 'app', 'shop'][CAST(hash(i, 11) % 3 AS INTEGER) + 1] AS source_system,
      md5(CAST(i AS TEXT)) AS line_hash,
      CAST(md5('u' || i) AS UUID) AS external_id,
      '+49' || lpad(CAST(hash(i, 12) % 1000000000 AS TEXT), 9, '0') AS phone,
      CAST(hash(i, 13) % 9 + 1 AS INTEGER) AS "order",
      ['A', 'B', 'C'][CAST(hash(i, 14) % 3 AS INTEGER) + 1] AS "Group",
      CAST(now() AS TIMESTAMP) - INTERVAL 2 HOUR - to_seconds({rows} - i) AS updated_at,
      {{'street': 'S' || i, 'city': 'C' || hash(i, 15) % 500,
        'zip': lpad(CAST(hash(i, 16) % 100000 AS TEXT), 5, '0')}} AS address,
      list_transform(range(CAST(hash(i, 17) % 5 AS BIGINT)), lambda x: 't' || x) AS tags
    FROM range(1, {rows} + 1) AS numbers(i)"""

_DEFECTS = (
    "order_id = order_id - 10 WHERE order_id IN (1011, 1012, 1013)",
    "customer_id = NULL WHERE order_id BETWEEN 2001 AND 2007",
    "customer_id = 900000 WHERE order_id BETWEEN 2101 AND 2102",
    "status = 'unknown' WHERE order_id BETWEEN 3001 AND 3011",
    "currency = 'US' WHERE order_id BETWEEN 3101 AND 3102",
    "amount = -0.01 WHERE order_id BETWEEN 4001 AND 4004",
    "quantity = 101 WHERE order_id BETWEEN 4101 AND 4106",
    "email = 'nobody' WHERE order_id BETWEEN 5001 AND 5005",
    "comment = NULL WHERE hash(order_id, 10) % 100 < 12",
    "source_system = 'N/A' WHERE order_id BETWEEN 6001 AND 6008",
    "line_hash = 'x' WHERE order_id BETWEEN 6201 AND 6202",
    '"order" = 0 WHERE order_id = 6301',
    "\"Group\" = 'a' WHERE order_id BETWEEN 6401 AND 6402",
    "address = {'street': 's', 'city': NULL, 'zip': '12 34'} WHERE order_id BETWEEN 7001 AND 7005",
    "tags = ['a', 'b', 'c', 'd', 'e', 'a'] WHERE order_id BETWEEN 7101 AND 7103",
    "discount_pct = 'NaN' WHERE order_id = 7401",
    "country = 'de' WHERE order_id BETWEEN 7501 AND 7503",
    "shipped_date = order_date - 1 WHERE order_id BETWEEN 7301 AND 7309",
    "updated_at = updated_at - INTERVAL 3 DAY",
)


def make(folder: Path, rows: int, kind: str, files: bool = True) -> None:
    """Write the `clean` or `dirty` data as `<folder>/<kind>.duckdb`, and with `files` as Parquet and CSV."""
    with duckdb.connect(str(folder / f"{kind}.duckdb")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            "CREATE TABLE customers AS SELECT CAST(i AS INTEGER) AS customer_id, 'Customer ' || i AS name "
            f"FROM range(1, {CUSTOMERS} + 1) AS numbers(i)"
        )
        connection.execute(f"CREATE TABLE orders AS {_ORDERS.format(rows=rows, customers=CUSTOMERS)}")
        for defect in _DEFECTS if kind == "dirty" else ():
            connection.execute(f"UPDATE orders SET {defect}")
        flat = "SELECT * EXCLUDE (address, tags) FROM orders"
        for table, of_csv in (("orders", flat), ("customers", "FROM customers")) if files else ():
            connection.execute(f"COPY {table} TO '{folder}/{table}_{kind}.parquet' (FORMAT parquet)")
            connection.execute(f"COPY ({of_csv}) TO '{folder}/{table}_{kind}.csv' (HEADER)")


def contract(folder: Path, rows: int, kind: str, source: str) -> Path:
    """Write the contract about that data in one of its three forms; its path."""
    if source == "duckdb":
        server = {"type": "duckdb", "database": str(folder / f"{kind}.duckdb"), "schema": "main"}
    else:
        server = {"type": "local", "path": f"{folder}/{{model}}_{kind}.{source}", "format": source}
    document = {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": f"orders-{source}-{kind}",
        "name": "Orders",
        "version": "1.0.0",
        "status": "active",
        "servers": [{"server": "here", **server}],
        "schema": [
            {
                "name": "orders",
                "physicalType": "table",
                "quality": _table_rules(rows),
                "properties": _columns(nested=source != "csv"),
            },
            {
                "name": "customers",
                "physicalType": "table",
                "properties": [
                    _column("customer_id", "integer", required=True, unique=True),
                    _column("name", "string"),
                ],
            },
        ],
        "slaProperties": [{"property": "freshness", "value": 1, "unit": "d", "element": "orders.updated_at"}],
    }
    path = folder / f"{source}_{kind}.odcs.json"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def _table_rules(rows: int) -> list[dict[str, Any]]:
    key = {"properties": ["customer_id", "order_ts"]}
    late = "SELECT count(*) FROM orders WHERE shipped_date < order_date"
    return [
        {"id": "rows", "metric": "rowCount", "mustBe": rows},
        {"id": "key", "metric": "duplicateValues", "arguments": key, "mustBe": 0},
        {"id": "late", "type": "sql", "query": late, "mustBe": 0},
        {"id": "mean", "type": "sql", "query": "SELECT avg(amount) FROM orders", "mustBeBetween": [49000, 51000]},
        {"id": "kinds", "type": "sql", "query": "SELECT count(DISTINCT currency) FROM orders", "mustBe": 5},
    ]


def _column(name: str, kind: str, *rules: dict[str, Any], options: dict[str, Any] | None = None, **more: Any) -> Any:
    column = {"name": name, "logicalType": kind, **more}
    if options:
        column["logicalTypeOptions"] = options
    if rules:
        column["quality"] = [{"id": f"{name}_{number}", **rule} for number, rule in enumerate(rules)]
    return column


def _valid(*values: str) -> dict[str, Any]:
    return {"metric": "invalidValues", "arguments": {"validValues": list(values)}, "mustBe": 0}


def _columns(nested: bool) -> list[Any]:
    to_customers = [{"to": "customers.customer_id"}]
    missing = {"metric": "missingValues", "arguments": {"missingValues": ["", "N/A", None]}, "mustBe": 0}
    no_comment = {"metric": "nullValues", "unit": "percent", "mustBeLessThan": 10}
    pattern = {"pattern": "^[+]49[0-9]{9}$"}
    no_phone = {"metric": "invalidValues", "unit": "percent", "arguments": pattern, "mustBeLessThan": 1}
    no_customer = {"metric": "nullValues", "mustBe": 0}
    columns = [
        _column("order_id", "integer", required=True, unique=True, primaryKey=True, primaryKeyPosition=1),
        _column("customer_id", "integer", no_customer, required=True, relationships=to_customers),
        _column("order_ts", "timestamp", required=True, options={"minimum": "2020-01-01T00:00:00Z"}),
        _column("order_date", "date", options={"minimum": "2020-01-01", "maximum": "2100-01-01"}),
        _column("shipped_date", "date"),
        _column("status", "string", _valid("new", "paid", "shipped", "done", "returned"), required=True),
        _column("currency", "string", options={"minLength": 3, "maxLength": 3, "pattern": "^[A-Z]{3}$"}),
        _column("amount", "number", options={"minimum": 0, "exclusiveMaximum": 1000000}),
        _column("discount_pct", "number", options={"minimum": 0, "maximum": 1}),
        _column("quantity", "integer", options={"minimum": 1, "maximum": 100}),
        _column("email", "string", options={"pattern": "^[^@]+@[^@]+$"}),
        _column("country", "string", _valid("DE", "FR", "CH", "AT", "SE", "US")),
        _column("is_gift", "boolean", required=True),
        _column("comment", "string", no_comment),
        _column("source_system", "string", missing),
        _column("line_hash", "string", unique=True),
        _column("external_id", "string", required=True, unique=True),
        _column("phone", "string", no_phone),
        _column("order", "integer", options={"minimum": 1}),
        _column("Group", "string", _valid("A", "B", "C")),
        _column("updated_at", "timestamp", required=True),
    ]
    inside = [
        _column("street", "string"),
        _column("city", "string", required=True),
        _column("zip", "string", options={"pattern": "^[0-9]{5}$"}),
    ]
    items = {"items": {"logicalType": "string"}}
    lists = [
        _column("address", "object", properties=inside),
        _column("tags", "array", options={"maxItems": 5, "uniqueItems": True}, **items),
    ]
    return columns + lists if nested else columns


def floor(folder: Path, kind: str, source: str) -> int:
    """Run the least SQL that answers the rules: a scan, four groupings, an anti-join. Says how many statements."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    if source == "duckdb":
        connection.execute(f"ATTACH '{folder}/{kind}.duckdb' AS data (READ_ONLY)")
        orders, customers = "data.orders", "data.customers"
    else:
        orders, customers = (f"read_{source}('{folder}/{name}_{kind}.{source}')" for name in ("orders", "customers"))
    broken = [
        *(f"{name} IS NULL" for name in ("order_id", "customer_id", "order_ts", "status", "is_gift", "comment")),
        *("external_id IS NULL", "updated_at IS NULL", "order_ts < TIMESTAMP '2020-01-01'"),
        *("order_date < DATE '2020-01-01'", "order_date > DATE '2100-01-01'", "shipped_date < order_date"),
        "status NOT IN ('new', 'paid', 'shipped', 'done', 'returned')",
        *("length(currency) < 3", "length(currency) > 3", "NOT regexp_matches(currency, '^[A-Z]{3}$')"),
        *("amount < 0", "amount >= 1000000", "NOT discount_pct >= 0", "NOT discount_pct <= 1"),
        *("quantity < 1", "quantity > 100", '"order" < 1', "\"Group\" NOT IN ('A', 'B', 'C')"),
        "NOT regexp_matches(email, '^[^@]+@[^@]+$')",
        "country NOT IN ('DE', 'FR', 'CH', 'AT', 'SE', 'US')",
        "source_system IS NULL OR source_system IN ('', 'N/A')",
        "NOT regexp_matches(phone, '^[+]49[0-9]{9}$')",
    ]
    if source != "csv":
        broken += ["address IS NOT NULL AND address.city IS NULL", "NOT regexp_matches(address.zip, '^[0-9]{5}$')"]
        broken += ["len(tags) > 5", "len(list_distinct(tags)) < len(tags)"]
    cells = [f"count(*) FILTER (WHERE {one})" for one in broken]
    cells += ["count(*)", "max(updated_at)", "avg(amount)", "count(DISTINCT currency)"]
    statements = [f"SELECT {', '.join(cells)} FROM {orders}"]
    for key in ("order_id", "line_hash", "external_id", "customer_id, order_ts"):
        groups = f"SELECT count(*) AS n FROM {orders} GROUP BY {key} HAVING count(*) > 1"
        statements.append(f"SELECT count(*), sum(n) FROM ({groups})")
    known = f"SELECT 1 FROM {customers} AS c WHERE c.customer_id = o.customer_id"
    statements.append(f"SELECT count(*) FROM {orders} AS o WHERE customer_id IS NOT NULL AND NOT EXISTS ({known})")
    for statement in statements:
        connection.execute(statement).fetchall()
    return len(statements)
