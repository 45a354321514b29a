"""A real Spark for tests, which also is a server of Spark Connect: on this machine, without its web pages."""

from __future__ import annotations

import os
import shutil
import socket
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from databases import Rows, columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REQUIRED = os.environ.get("CONTRACT_CHECKS_REQUIRE_SPARK") == "1"
CONFIGURATION = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.default.parallelism": "1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Generated code is faster for millions of rows; for three it is compiled in vain.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
PORT = "spark.connect.grpc.binding.port"


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def need_spark() -> None:
    """Skip the test where there is no Java or no pyspark, unless they must be there."""
    missing = [] if shutil.which("java") else ["java"]
    try:
        import pyspark  # noqa: F401
    except ImportError:
        missing.append("pyspark")
    if missing and not REQUIRED:
        pytest.skip(f"there is no {' and no '.join(missing)}; set CONTRACT_CHECKS_REQUIRE_SPARK=1 to fail instead")


@contextmanager
def spark_session(folder: Path, master: str = "local[2]") -> Iterator[SparkSession]:
    """A Spark of this process, whose files are in a folder."""
    need_spark()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it speaks of versions of pandas
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        for name, value in {**CONFIGURATION, PORT: str(free_port())}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()


def put_view(spark: SparkSession, folder: Path, rows: Rows | str, name: str = "t") -> None:
    """A temporary view over a Parquet file with the rows of a DuckDB SELECT."""
    wanted = Rows(rows) if isinstance(rows, str) else rows
    uuids = [name for name, kind in columns_of(wanted) if kind == "UUID"]
    texts = f"REPLACE ({', '.join(f'{one}::VARCHAR AS {one}' for one in uuids)})" if uuids else ""  # Spark has no UUID
    file = folder / f"{uuid.uuid4().hex}.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for statement in wanted.before:
            connection.execute(statement)
        connection.execute(f"COPY (SELECT * {texts} FROM ({wanted.query})) TO '{file}' (FORMAT parquet)")
    spark.read.parquet(str(file)).createOrReplaceTempView(name)
