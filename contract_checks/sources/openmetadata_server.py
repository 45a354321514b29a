"""What an OpenMetadata server knows of an asset, over its REST API.

Source: OpenMetadata's API reference ("Retrieve a Table", "Users", "Data Products"): `GET
{url}/v1/{collection}/name/{fully qualified name}?fields=…` with a bearer token.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Collection, Mapping
from http.client import HTTPException, HTTPMessage
from typing import IO, Any

from typing_extensions import override

from contract_checks.dialects.openmetadata_entity import DATA_PRODUCT, entity_fields, entity_path
from contract_checks.errors import MetadataError
from contract_checks.model import Contract, Dataset

URL_VARIABLE = "CONTRACT_CHECKS_OPENMETADATA_URL"
TOKEN_VARIABLE = "CONTRACT_CHECKS_OPENMETADATA_TOKEN"  # noqa: S105 - the name of a variable
MAX_BYTES = 20_000_000
"""The largest answer that is read."""


class OpenMetadataServer:
    """The assets of an OpenMetadata server, and its users, teams and data products.

    `url` is the address of the API (`https://openmetadata.example.com/api`), by default from
    `CONTRACT_CHECKS_OPENMETADATA_URL`; the token of a bot comes from `CONTRACT_CHECKS_OPENMETADATA_TOKEN` when
    the server is asked. `prefix` goes before the name of a dataset where the contract leaves out what
    OpenMetadata's names begin with (the service). `fields` replaces the fields that are asked for.

    Raises `MetadataError` for an address that is none.
    """

    def __init__(
        self, url: str | None = None, prefix: str = "", fields: str | None = None, timeout: float = 10.0
    ) -> None:
        self.url = (url or os.environ.get(URL_VARIABLE, "")).rstrip("/").removesuffix("/v1")
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise MetadataError(
                f"the address of OpenMetadata is not like https://openmetadata.example.com/api; set {URL_VARIABLE}"
            )
        self.prefix = prefix
        self.fields = fields
        self.timeout = timeout

    def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
        """The asset of a dataset as OpenMetadata has it.

        Raises `MetadataError` if the server cannot be reached, refuses, or has no such asset.
        """
        prefix = (self.prefix,) if self.prefix else ()
        collection, name = entity_path(dataset.entity_type, (*prefix, *dataset.key))
        return self._get(collection, name, self.fields or entity_fields(dataset.entity_type), dataset.entity_type)

    def teams_of(self, user: str) -> Collection[str]:
        """The ids of the teams of a user. Raises `MetadataError`."""
        collection, name = entity_path("user", (user,))
        return _texts(self._get(collection, name, entity_fields("user"), "user").get("teams"), "id")

    def domains_of(self, data_product: str) -> Collection[str]:
        """The full names of the domains of a data product. Raises `MetadataError`."""
        collection, _ = entity_path(DATA_PRODUCT, ())
        found = self._get(collection, data_product, entity_fields(DATA_PRODUCT), "data product")
        return _texts(found.get("domains"), "fullyQualifiedName")

    def _get(self, collection: str, name: str, fields: str, what: str) -> dict[str, Any]:
        query = urllib.parse.urlencode({"fields": fields})
        address = f"{self.url}/v1/{collection}/name/{urllib.parse.quote(name, safe='')}?{query}"
        headers = {"Accept": "application/json"}
        token = os.environ.get(TOKEN_VARIABLE)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(address, headers=headers)  # noqa: S310 - http or https, see above
        try:
            with _OPENER.open(request, timeout=self.timeout) as answer:
                body: bytes = answer.read(MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise MetadataError(self._refused(error, what, name, bool(token))) from None
        except (OSError, HTTPException, ValueError) as error:
            words = str(getattr(error, "reason", None) or error) or type(error).__name__
            raise MetadataError(f"OpenMetadata at {self.url} cannot be reached: {words}") from None
        if len(body) > MAX_BYTES:
            raise MetadataError(f"OpenMetadata's answer about the {what} '{name}' has more than {MAX_BYTES:,} bytes")
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise MetadataError(f"what answers at {self.url} is not OpenMetadata's API; its address ends in /api")
        return found

    def _refused(self, error: urllib.error.HTTPError, what: str, name: str, has_token: bool) -> str:
        if error.code in (401, 403):
            how = "refuses the token of" if has_token else "wants a token; set"
            return f"OpenMetadata at {self.url} {how} {TOKEN_VARIABLE} (HTTP {error.code})"
        if error.code == 404:
            return f"OpenMetadata at {self.url} has no {what} '{name}'{_message(error)}"
        if 300 <= error.code < 400:
            return f"OpenMetadata at {self.url} answers from another address (HTTP {error.code}); set that one"
        return f"OpenMetadata at {self.url} answers HTTP {error.code} about the {what} '{name}'{_message(error)}"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for the server that was named."""

    @override
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _message(error: urllib.error.HTTPError) -> str:
    try:
        words = json.loads(error.read(10_000)).get("message")
    except (OSError, ValueError, AttributeError):
        return ""
    return f": {str(words)[:200]}" if words else ""


def _texts(references: Any, key: str) -> tuple[str, ...]:
    found = references if isinstance(references, list) else []
    return tuple(str(one[key]) for one in found if isinstance(one, dict) and one.get(key))
