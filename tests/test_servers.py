"""Servers of every type of the standard: each becomes a source, or is refused with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from builders import contract_of, odcs

from contract_checks.errors import ServerError, SourceError
from contract_checks.sources import resolve
from contract_checks.sources.database import DatabaseSource
from contract_checks.sources.files import FileSource

PROPERTIES = "[{name: a}]"
HOST = {"host": "h", "port": 1234, "database": "d", "schema": "s"}


def source(kind: str, allowed: Any = None, **keys: Any) -> Any:
    """The source of a contract whose only server, `My Server`, is of that type and has these keys."""
    server = {"server": "My Server", "type": kind, **keys}
    return resolve(contract_of(odcs(PROPERTIES, servers=[server], api="v3.2.0")), allowed=allowed)


@pytest.mark.parametrize(
    ("kind", "keys", "url", "dialect", "schema"),
    [
        ("postgres", HOST, "postgresql+psycopg://h:1234/d", "postgres", "s"),
        ("postgresql", HOST, "postgresql+psycopg://h:1234/d", "postgres", "s"),
        ("cloudsql", HOST, "postgresql+psycopg://h:1234/d", "postgres", "s"),
        ("redshift", HOST, "redshift+redshift_connector://h:1234/d", "redshift", "s"),
        ("mysql", HOST, "mysql+pymysql://h:1234/d", "mysql", None),
        ("sqlserver", HOST, "mssql+pyodbc://h:1234/d", "tsql", "s"),
        ("synapse", HOST, "mssql+pyodbc://h:1234/d", "tsql", "s"),
        ("clickhouse", HOST, "clickhousedb://h:1234/d", "clickhouse", "s"),
        ("hive", HOST, "hive://h:1234/d", "hive", "s"),
        ("impala", HOST, "impala://h:1234/d", "hive", "s"),
        ("snowflake", {"account": "acc", "database": "d", "schema": "s", "warehouse": "w"},
         "snowflake://acc/d/s?warehouse=w", "snowflake", "s"),
        ("bigquery", {"project": "p", "dataset": "d"}, "bigquery://p/d", "bigquery", "d"),
        ("databricks", {"host": "h", "catalog": "c", "schema": "s"}, "databricks://token@h?catalog=c&schema=s",
         "databricks", "s"),
        ("trino", {"host": "h", "port": 1, "catalog": "c", "schema": "s"}, "trino://h:1/c/s", "trino", "s"),
        ("oracle", {"host": "h", "port": 1, "serviceName": "x"}, "oracle+oracledb://h:1?service_name=x",
         "oracle", None),
        ("athena", {"schema": "s", "regionName": "eu-west-1", "stagingDir": "s3://b"},
         "awsathena+rest://athena.eu-west-1.amazonaws.com:443/s?s3_staging_dir=s3%3A%2F%2Fb", "athena", "s"),
        ("exasol", {"host": "h", "port": 8563, "schema": "s"}, "exa+websocket://h:8563/s", "exasol", "s"),
        ("teradata", {"host": "h", "database": "d"}, "teradatasql://h?database=d", "teradata", "d"),
    ],
)  # fmt: skip
def test_a_database_has_a_url_and_a_schema(kind: str, keys: Any, url: str, dialect: str, schema: str | None) -> None:
    """A database's keys become its URL, in the SQL of its dialect, with the schema to look in."""
    found = source(kind, **keys)
    assert isinstance(found, DatabaseSource)
    assert (found.name, found.dialect, found.default_schema) == (url, dialect, schema)


@pytest.mark.parametrize(
    "kind",
    [
        "api", "sftp", "kinesis", "pubsub", "db2", "informix", "vertica", "denodo", "hana", "ingres", "vectorwise",
        "zen", "btrieve", "fastobjects", "poet", "versant", "glue", "iceberg", "custom", "azure", "s3",
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_asked_says_why(kind: str) -> None:
    """Every other type is refused with its reason and with what to do instead."""
    with pytest.raises(ServerError, match=f"'{kind}' cannot be asked: .*; give a source instead, or set") as raised:
        source(kind, **HOST)
    assert "CONTRACT_CHECKS_MY_SERVER_URL" in str(raised.value)
    assert "no servers of the standard" not in str(raised.value)


@pytest.mark.parametrize("kind", ["local", "custom", "glue"])
def test_files_on_this_machine_have_a_path(kind: str, tmp_path: Path) -> None:
    """A server that says where its files are is files, in the stated format, delimiter and encoding."""
    found = source(kind, location=str(tmp_path), format="csv", delimiter="pipe", encoding="latin1")
    assert isinstance(found, FileSource)
    assert (found.location, found.format, found.delimiter, found.encoding) == (str(tmp_path), "csv", "pipe", "latin1")


def test_a_bucket_is_opened_with_keys_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of an object store come from the environment, the address of the service from the contract."""
    monkeypatch.setenv("CONTRACT_CHECKS_MY_SERVER_USERNAME", "id")
    monkeypatch.setenv("CONTRACT_CHECKS_MY_SERVER_PASSWORD", "secret")
    found = source("s3", location="s3://b/{model}/*.parquet", format="parquet", endpointUrl="http://minio:9000")
    assert (found.store, found.name) == ("s3", "s3://b/{model}/*.parquet")
    assert (found.credentials.key, found.credentials.endpoint) == ("id", "http://minio:9000")


def test_a_bucket_is_outside_of_the_folders_that_are_allowed() -> None:
    """Where definitions name what may be read, a bucket has to be named, too."""
    with pytest.raises(ServerError, match="outside of what the definitions allow"):
        source("s3", allowed=["/data", "s3://bucke"], location="s3://bucket/t.parquet")
    assert source("s3", allowed=["s3://bucket/"], location="s3://bucket/t.parquet").store == "s3"


def test_an_iceberg_server_with_a_location_is_a_table(tmp_path: Path) -> None:
    """An Iceberg server that says where its tables lie is read there."""
    assert source("iceberg", catalog="c", location=str(tmp_path)).format == "iceberg"


def test_the_delimiter_of_json_is_none_of_csv(tmp_path: Path) -> None:
    """`delimiter: array` of JSON files says nothing about cells."""
    assert source("local", path=str(tmp_path), format="json", delimiter="array").delimiter is None


def test_a_format_that_is_not_read_is_told(tmp_path: Path) -> None:
    """A format that no reader has is refused with those there are."""
    with pytest.raises(SourceError, match="known are parquet, csv, json, delta, iceberg"):
        source("local", path=str(tmp_path), format="avro")


def test_a_server_is_chosen_by_name_or_environment() -> None:
    """A name goes before an environment; what is not there, or there twice, is told with what there is."""
    servers = [
        {"server": one, "type": "mysql", "environment": env, **HOST}
        for one, env in (("a", "prod"), ("b", "prod"), ("prod", "x"))
    ]
    contract = contract_of(odcs(PROPERTIES, servers=servers))
    assert resolve(contract, "prod").name == resolve(contract, "x").name
    with pytest.raises(ServerError, match="names 3 servers; choose one of: a \\(prod\\), b \\(prod\\), prod \\(x\\)"):
        resolve(contract)
    with pytest.raises(ServerError, match="has no server 'y'"):
        resolve(contract, "y")
