"""A schema registry over HTTP, as Confluent's API has it: schema ids → schemas.

Source: Confluent Schema Registry API reference, `GET /schemas/ids/{id}` and
`GET /subjects/{subject}/versions/{version}`.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from contract_checks.errors import ServerError, SourceError


@dataclass(frozen=True)
class Schema:
    """A registered schema. `kind` is `AVRO`, `PROTOBUF` or `JSON`; `references` are (name, schema) it builds on."""

    id: int
    kind: str
    text: str
    references: tuple[tuple[str, Schema], ...] = ()


class Registry:
    """A schema registry at a URL, which may hold user and password. Every schema is asked for once."""

    def __init__(self, url: str, timeout: float = 10.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerError("the address of the schema registry is not a URL such as https://registry:8081")
        host = parts.netloc.rpartition("@")[2]
        self.name = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._authorization = ""
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
        self._timeout = timeout
        self._by_id: dict[int, Schema | None] = {}

    def schema(self, id: int) -> Schema | None:
        """The schema of that id, None if there is none. Raises `SourceError` if the registry does not answer."""
        if id not in self._by_id:
            document = self._get(f"/schemas/ids/{id}")
            if document is not None and document.get("schemaType") == "PROTOBUF":
                # A file descriptor needs no parser of .proto text.
                document = self._get(f"/schemas/ids/{id}?format=serialized")
            self._by_id[id] = self._schema(id, document) if document is not None else None
        return self._by_id[id]

    def latest(self, subject: str) -> Schema | None:
        """The newest schema of a subject, None if there is none."""
        return self._version(subject, "latest")

    def _version(self, subject: str, version: str) -> Schema | None:
        document = self._get(f"/subjects/{quote(subject, safe='')}/versions/{version}")
        if document is not None and document.get("schemaType") == "PROTOBUF":
            document = self._get(f"/subjects/{quote(subject, safe='')}/versions/{version}?format=serialized")
        return self._schema(int(document["id"]), document) if document is not None else None

    def _schema(self, id: int, document: dict[str, Any]) -> Schema:
        references = []
        for one in document.get("references") or ():
            found = self._version(str(one["subject"]), str(one["version"]))
            if found is None:
                raise SourceError(f"{self.name}: schema {id} refers to {one['subject']}, which is not there")
            references.append((str(one["name"]), found))
        return Schema(id, str(document.get("schemaType") or "AVRO"), str(document["schema"]), tuple(references))

    def _get(self, path: str) -> dict[str, Any] | None:
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if self._authorization:
            headers["Authorization"] = self._authorization
        try:
            request = Request(self.name + path, headers=headers)  # noqa: S310 - http and https only, see above
            with urlopen(request, timeout=self._timeout) as answer:  # noqa: S310
                found = json.loads(answer.read())
        except HTTPError as error:
            with error:
                if error.code == 404:
                    return None
            raise SourceError(f"the schema registry {self.name} answers {error.code} {error.reason}") from None
        except (URLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise SourceError(f"the schema registry {self.name} cannot be reached: {reason}") from None
        if not isinstance(found, dict):
            raise SourceError(f"the schema registry {self.name} answers with something else than a schema")
        return found
