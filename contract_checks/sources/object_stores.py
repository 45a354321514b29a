"""Files in object stores: which extension of DuckDB reads them, and what it must be told.

Keys come from the environment, never from a contract: `CONTRACT_CHECKS_<SERVER>_USERNAME` and `_PASSWORD` (the key's id
and secret; for Azure the account's name and key), else what the store's own tools use (`AWS_ACCESS_KEY_ID`,
`AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AZURE_STORAGE_CONNECTION_STRING`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from contract_checks.errors import MissingDriverError
from contract_checks.sources.csv_files import quoted
from contract_checks.sources.paths import PLACEHOLDER, SUFFIXES, format_of

_STORES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    "r2": "r2",
    **dict.fromkeys(("az", "azure", "abfss", "abfs"), "azure"),
    **dict.fromkeys(("http", "https"), "http"),
}


@dataclass(frozen=True)
class Credentials:
    """What opens an object store; never part of a message."""

    key: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    region: str | None = None
    endpoint: str | None = None


def store_of(location: str) -> str | None:
    """The kind of object store of a URL; None for a path on this machine."""
    scheme = location.partition("://")[0].lower() if "://" in location else ""
    return _STORES.get(scheme)


def extension_of(store: str) -> str:
    """The extension of DuckDB that reads a kind of store."""
    return "azure" if store == "azure" else "httpfs"


def missing_extension(location: str, store: str) -> MissingDriverError:
    """The error that says what to install."""
    extension = extension_of(store)
    return MissingDriverError(
        f"reading {folder_of(location)} needs DuckDB's extension '{extension}', which is not installed; install it "
        f"once with: duckdb -c 'INSTALL {extension}'"
    )


def secret_statement(location: str, credentials: Credentials) -> str:
    """The statement that gives DuckDB the keys of a store; "" where none are known, so that it is asked without."""
    store = store_of(location)
    if store is None or store == "http":
        return ""
    if store == "azure":
        return _azure_secret(location, credentials)
    key = credentials.key or os.environ.get("AWS_ACCESS_KEY_ID")
    secret = credentials.secret or os.environ.get("AWS_SECRET_ACCESS_KEY")
    region = credentials.region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    parts = {"KEY_ID": key, "SECRET": secret, "REGION": region}
    if not credentials.key:
        parts["SESSION_TOKEN"] = os.environ.get("AWS_SESSION_TOKEN")
    options = [f"{name} {quoted(value)}" for name, value in parts.items() if value]
    if credentials.endpoint:
        options += _endpoint(credentials.endpoint)
    if not options:
        return ""
    return _secret(store, options, location)


def _endpoint(url: str) -> list[str]:
    """A service that speaks as S3 does, such as MinIO: its buckets are paths, not names of hosts."""
    parts = urlsplit(url if "://" in url else f"https://{url}")
    options = [f"ENDPOINT {quoted(parts.netloc + parts.path.rstrip('/'))}", "URL_STYLE 'path'"]
    return [*options, "USE_SSL false"] if parts.scheme == "http" else options


def _azure_secret(location: str, credentials: Credentials) -> str:
    stated = os.environ.get("AZURE_STORAGE_CONNECTION_STRING")
    if credentials.key and credentials.secret:
        account = f"AccountName={credentials.key};AccountKey={credentials.secret}"
        stated = f"DefaultEndpointsProtocol=https;{account};EndpointSuffix=core.windows.net"
    return _secret("azure", [f"CONNECTION_STRING {quoted(stated)}"], location) if stated else ""


def _secret(store: str, options: list[str], location: str) -> str:
    scope = f"SCOPE {quoted(location.partition('://')[0] + '://' + location.partition('://')[2].partition('/')[0])}"
    return f"CREATE SECRET contract_checks (TYPE {store}, {', '.join([*options, scope])})"


def patterns(location: str, format: str | None, name: str) -> list[str]:
    """Where the files of the dataset `name` may be below a location, the likeliest first."""
    if PLACEHOLDER.search(location):
        return [PLACEHOLDER.sub(name.replace("\\", "\\\\"), location)]
    if re.search(r"[*?\[]", location) or format_of(PurePosixPath(location)) is not None:
        return [location]
    endings = [ending for kind, listed in SUFFIXES.items() if format in (None, kind) for ending in listed]
    base = location.rstrip("/")
    return [f"{base}/{name}{ending}" for ending in endings] + [f"{base}/{name}/**/*{ending}" for ending in endings]


def folder_of(location: str) -> str:
    """The part of a location without patterns and placeholders: the only one that may be read."""
    fixed = re.split(r"[*?\[{]", location, maxsplit=1)[0]
    return fixed if fixed.endswith("/") else fixed.rpartition("/")[0] + "/"
