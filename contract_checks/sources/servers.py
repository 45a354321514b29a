"""A contract's servers → a Source.

A contract says where its data lives, never with which password: user and password come from the
environment, as `CONTRACT_CHECKS_<SERVER>_USERNAME` and `CONTRACT_CHECKS_<SERVER>_PASSWORD`, and
`CONTRACT_CHECKS_<SERVER>_URL` replaces a server altogether (the server's name in upper case, `_` for
everything that is no letter or digit).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine
from sqlalchemy.engine import URL

from contract_checks.errors import ServerError
from contract_checks.model import Contract, Server
from contract_checks.sources.database import DatabaseSource
from contract_checks.sources.files import FileSource
from contract_checks.sources.interface import Source
from contract_checks.sources.kafka import KafkaSource, with_login
from contract_checks.sources.object_stores import Credentials, store_of
from contract_checks.sources.paths import SUFFIXES
from contract_checks.sources.spark import SparkSource, is_spark
from contract_checks.sources.topics import parse_window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def resolve(
    contract: Contract,
    server: str | None = None,
    source: str | Path | Engine | Source | SparkSession | None = None,
    allowed: Sequence[str | Path] | None = None,
) -> Source:
    """Where the data of a contract is.

    `source` (a SQLAlchemy URL, an engine, a path to files, a SparkSession, the `sc://` address of Spark Connect, or a
    `Source`) goes before the contract's servers. Among those, `server` names one by name or environment; without it the
    only one is taken. A contract's own servers reach files only below the folders `allowed`, where that is given.
    Raises `ServerError` when there is none, when there are several, or when its type cannot be asked.
    """
    if source is not None:
        return _given(source)
    return _from_server(_select(contract, server), contract, allowed)


def _given(source: str | Path | Engine | Source | SparkSession) -> Source:
    if isinstance(source, Source):
        return source
    if isinstance(source, Engine):
        return DatabaseSource(source)
    if is_spark(source):
        return SparkSource(source)
    text = str(source)
    if store_of(text) is not None:
        return FileSource(text)
    if text.startswith("kafka:"):
        return KafkaSource.from_url(text)
    if text.startswith("sc://"):
        return SparkSource(text)
    if "://" in text or re.match(r"[a-z0-9_+]+:/", text):
        return DatabaseSource(text)
    if Path(text).exists() or any(text.lower().endswith(suffix) for known in SUFFIXES.values() for suffix in known):
        if not Path(text).exists() and not re.search(r"[*?{]", text):
            raise ServerError(f"the source '{text}' does not exist")
        kind = _DATABASE_FILES.get(Path(text).suffix.lower())
        if kind is not None:
            raise ServerError(f"the source '{text}' is the file of a database: say {kind}:///{text}")
        return FileSource(text)
    raise ServerError(
        f"the source '{text}' is neither a SQLAlchemy URL (postgresql+psycopg://host/db, duckdb:///file.duckdb), "
        "a broker (kafka://host:9092) nor a file or folder that exists"
    )


_DATABASE_FILES = {
    **dict.fromkeys((".duckdb", ".ddb"), "duckdb"),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), "sqlite"),
}
"""What databases call their files, which are no files of rows."""


def _select(contract: Contract, wanted: str | None) -> Server:
    servers = contract.servers
    listed = ", ".join(f"{one.name} ({one.environment})" if one.environment else one.name for one in servers)
    if not servers:
        raise ServerError(
            f"{contract.file} names no server; say where its data is with --source (in Python: source=), "
            "a SQLAlchemy URL or a path to files"
        )
    if wanted is None:
        if len(servers) > 1:
            raise ServerError(f"{contract.file} names {len(servers)} servers; choose one of: {listed}")
        return servers[0]
    chosen = [one for one in servers if one.name == wanted] or [one for one in servers if one.environment == wanted]
    if not chosen:
        raise ServerError(f"{contract.file} has no server '{wanted}'; it has: {listed}")
    if len(chosen) > 1:
        raise ServerError(f"{contract.file} has {len(chosen)} servers '{wanted}'; choose one of: {listed}")
    return chosen[0]


def allowed_by_default(contract: Contract) -> tuple[str, ...]:
    """Where a contract that nobody vouches for may find files: near it, near the process, and at addresses."""
    folder = Path(contract.file).resolve().parent
    return (str(Path.cwd()), str(folder), str(folder.parent), "s3:", "gs:", "gcs:", "az:", "abfss:", "https:")


def environment_name(server: str, what: str) -> str:
    """The environment variable for a server: `CONTRACT_CHECKS_PROD_DB_PASSWORD`."""
    return f"CONTRACT_CHECKS_{re.sub(r'[^A-Za-z0-9]', '_', server).upper()}_{what}"


def _from_server(server: Server, contract: Contract, allowed: Sequence[str | Path] | None) -> Source:
    replaced = os.environ.get(environment_name(server.name, "URL"))
    if replaced:
        return _given(replaced)
    if server.unusable:
        raise ServerError(f"{server.location}: the server '{server.name}' cannot be asked: {server.unusable}")
    kind = server.type.strip().lower()
    if kind in _OF_FILES and (location := _text(server, "location", "path")) is not None:
        return _files(location, server, contract, allowed)
    if kind in _FILE_DATABASES:
        return _file_database(kind, server, contract, allowed)
    builder = _DATABASES.get(kind)
    if builder is None:
        reason = _NOT_ASKED.get(kind, "they are no servers of the standard that can be asked")
        if kind in _OF_FILES:
            reason = "they need 'location' (or 'path'), where their files are"
        raise ServerError(
            f"{server.location}: servers of type '{server.type}' cannot be asked: {reason}; give a source instead, or "
            f"set {environment_name(server.name, 'URL')}"
        )
    return builder(server)


def find_path(path: str, contract: Contract) -> Path:
    """A path of a contract: absolute, else below the working directory, else beside or above the contract.

    What exists first is taken; without any the path below the working directory is what will be missed.
    """
    folder = Path(contract.file).resolve().parent
    for base in (Path.cwd(), folder, folder.parent):
        if _exists(base / path):
            return base / path
    return Path.cwd() / path


def _permitted(path: Path, server: Server, allowed: Sequence[str | Path] | None) -> Path:
    """The path, if it lies below one of the allowed folders. A contract is untrusted; its paths are, too."""
    if allowed is None:
        return path
    fixed = Path(re.split(r"[*?{]", str(path), maxsplit=1)[0]).resolve()
    if not any(fixed.is_relative_to(Path(folder).resolve()) for folder in allowed):
        listed = ", ".join(str(folder) for folder in allowed)
        raise ServerError(f"{server.location}: {path} is outside of the folders the definitions allow ({listed})")
    return path


def _exists(path: Path) -> bool:
    fixed = Path(re.split(r"[*?{]", str(path), maxsplit=1)[0])
    return fixed.exists() or (fixed != path and fixed.parent.is_dir())


def _text(server: Server, *keys: str) -> str | None:
    for key in keys:
        value = server.get(key)
        if value is not None and str(value).strip():
            return str(value).strip()
    return None


def _needed(server: Server, *keys: str) -> str:
    value = _text(server, *keys)
    if value is None:
        raise ServerError(f"{server.location}: the server '{server.name}' ({server.type}) needs '{keys[0]}'")
    return value


_OF_FILES = ("local", "file", "s3", "gcs", "gs", "azure", "glue", "iceberg", "custom")
"""Types of servers that are files, if they say where."""


def _files(location: str, server: Server, contract: Contract, allowed: Sequence[str | Path] | None) -> Source:
    """Files on this machine or in an object store; `format` also says `delta` or `iceberg`."""
    kind = server.type.strip().lower()
    stated = "iceberg" if kind == "iceberg" else _text(server, "format")
    options = (_delimiter(server), _text(server, "encoding"))
    if store_of(location) is None:
        path = _permitted(find_path(location, contract), server, allowed)
        return FileSource(path, stated, *options)
    if allowed is not None and not any(location.startswith(f"{str(one).rstrip('/')}/") for one in allowed):
        listed = ", ".join(str(folder) for folder in allowed)
        raise ServerError(f"{server.location}: {location} is outside of what the definitions allow ({listed})")
    credentials = Credentials(
        os.environ.get(environment_name(server.name, "USERNAME")),
        os.environ.get(environment_name(server.name, "PASSWORD")),
        _text(server, "region", "regionName"),
        _text(server, "endpointUrl"),
    )
    return FileSource(location, stated, *options, credentials)


def _delimiter(server: Server) -> str | None:
    """The delimiter of CSV. Of JSON it says how objects follow each other, which is seen from the file."""
    stated = _text(server, "delimiter")
    return None if (_text(server, "format") or "").lower() == "json" else stated


_FILE_DATABASES = ("duckdb", "sqlite")


def _file_database(kind: str, server: Server, contract: Contract, allowed: Sequence[str | Path] | None) -> Source:
    path = _permitted(find_path(_needed(server, "database", "path"), contract), server, allowed)
    return DatabaseSource(URL.create(kind, database=str(path)), _text(server, "schema"))


def _url(server: Server, driver: str, *, database: str | None = None, query: Mapping[str, str] | None = None) -> URL:
    port = _text(server, "port")
    if port is not None and not port.isdigit():
        raise ServerError(f"{server.location}: the port '{port}' of server '{server.name}' is no number")
    return URL.create(
        driver,
        username=os.environ.get(environment_name(server.name, "USERNAME")),
        password=os.environ.get(environment_name(server.name, "PASSWORD")),
        host=_text(server, "host"),
        port=int(port) if port else None,
        database=database,
        query=dict(query or {}),
    )


def _plain(driver: str) -> Callable[[Server], Source]:
    """A server whose URL is host, port and database, with a schema to look in."""

    def build(server: Server) -> Source:
        _needed(server, "host")
        return DatabaseSource(_url(server, driver, database=_needed(server, "database")), _text(server, "schema"))

    return build


def _mysql(server: Server) -> Source:
    _needed(server, "host")
    return DatabaseSource(_url(server, "mysql+pymysql", database=_needed(server, "database")))


def _snowflake(server: Server) -> Source:
    database, schema = _needed(server, "database"), _text(server, "schema")
    query = {key: value for key in ("warehouse", "role") if (value := _text(server, key))}
    url = _url(server, "snowflake", database=f"{database}/{schema}" if schema else database, query=query)
    return DatabaseSource(url.set(host=_needed(server, "account"), port=None), schema)


def _bigquery(server: Server) -> Source:
    project, dataset = _needed(server, "project"), _needed(server, "dataset")
    return DatabaseSource(URL.create("bigquery", host=project, database=dataset), dataset)


def _databricks(server: Server) -> Source:
    query = {"catalog": _needed(server, "catalog"), "schema": _needed(server, "schema")}
    http_path = _text(server, "httpPath", "http_path") or os.environ.get(environment_name(server.name, "HTTP_PATH"))
    if http_path:
        query["http_path"] = http_path
    url = _url(server, "databricks", query=query).set(username="token", host=_needed(server, "host"))
    return DatabaseSource(url, query["schema"])


def _trino(server: Server) -> Source:
    catalog, schema = _needed(server, "catalog"), _text(server, "schema")
    _needed(server, "host")
    return DatabaseSource(_url(server, "trino", database=f"{catalog}/{schema}" if schema else catalog), schema)


def _oracle(server: Server) -> Source:
    _needed(server, "host")
    url = _url(server, "oracle+oracledb", query={"service_name": _needed(server, "serviceName")})
    return DatabaseSource(url, _text(server, "schema"))


def _athena(server: Server) -> Source:
    """Athena keeps what a query finds in a bucket, which has to be named here or by its work group."""
    region, schema = _text(server, "regionName", "region"), _needed(server, "schema", "database")
    stated = {"s3_staging_dir": "stagingDir", "work_group": "workgroup", "catalog_name": "catalog"}
    query = {key: value for key, name in stated.items() if (value := _text(server, name))}
    host = f"athena.{region}.amazonaws.com" if region else "athena.amazonaws.com"
    url = _url(server, "awsathena+rest", database=schema, query=query).set(host=host, port=443)
    return DatabaseSource(url, schema)


def _exasol(server: Server) -> Source:
    _needed(server, "host")
    schema = _text(server, "schema")
    return DatabaseSource(_url(server, "exa+websocket", database=schema), schema)


def _teradata(server: Server) -> Source:
    _needed(server, "host")
    database = _text(server, "database")
    return DatabaseSource(_url(server, "teradatasql", query={"database": database} if database else None), database)


def _dremio(server: Server) -> Source:
    _needed(server, "host")
    return DatabaseSource(_url(server, "dremio+flight", database="dremio"), _text(server, "schema"))


def _kafka(server: Server) -> Source:
    """A broker. What ODCS has no key for comes from the environment or the server's custom properties."""

    def setting(name: str, *keys: str) -> str | None:
        return os.environ.get(environment_name(server.name, name)) or _text(server, *keys)

    host, port = _needed(server, "host"), _text(server, "port")
    window = setting("WINDOW", "window")
    client = {
        "security.protocol": setting("SECURITY", "security"),
        "sasl.mechanism": setting("MECHANISM", "mechanism"),
    }
    return KafkaSource(
        ",".join(one if re.search(r":\d+$", one) else f"{one}:{port or 9092}" for one in re.split(r"\s*,\s*", host)),
        parse_window(window) if window else None,
        _text(server, "format"),
        setting("SCHEMA_REGISTRY", "schemaRegistry", "schema_registry", "schemaRegistryUrl"),
        with_login(
            {key: value for key, value in client.items() if value},
            os.environ.get(environment_name(server.name, "USERNAME")),
            os.environ.get(environment_name(server.name, "PASSWORD")),
        ),
    )


_DATABASES: dict[str, Callable[[Server], Source]] = {
    "postgres": _plain("postgresql+psycopg"),
    "postgresql": _plain("postgresql+psycopg"),
    "cloudsql": _plain("postgresql+psycopg"),
    "mysql": _mysql,
    "sqlserver": _plain("mssql+pyodbc"),
    "redshift": _plain("redshift+redshift_connector"),
    "clickhouse": _plain("clickhousedb"),
    "snowflake": _snowflake,
    "bigquery": _bigquery,
    "databricks": _databricks,
    "trino": _trino,
    "presto": _trino,
    "oracle": _oracle,
    "kafka": _kafka,
    "athena": _athena,
    "synapse": _plain("mssql+pyodbc"),
    "hive": _plain("hive"),
    "impala": _plain("impala"),
    "exasol": _exasol,
    "teradata": _teradata,
    "dremio": _dremio,
}

_NOT_ASKED = {
    "api": "an API has no tables; have its answers in files or a table",
    "sftp": "files on an SFTP server are not read; have them on this machine or in an object store",
    "kinesis": "a stream of Kinesis is not read",
    "pubsub": "a topic of Pub/Sub is not read",
    **dict.fromkeys(
        ("db2", "informix", "vertica", "denodo", "hana", "ingres", "vectorwise", "zen", "btrieve"),
        "no translation into its SQL is known",
    ),
    **dict.fromkeys(("fastobjects", "poet", "versant"), "they keep objects, not tables"),
}
"""Types of servers of the standard that are not asked, and why."""
