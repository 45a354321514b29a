"""Where the data of contracts is, as a Dagster resource."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from dagster import Config, ConfigurableResource, InitResourceContext
from pydantic import Field, PrivateAttr
from sqlalchemy import make_url

from contract_checks import sources
from contract_checks.model import Contract
from contract_checks.sources import DatabaseSource, KafkaSource, Source

RESOURCE_KEY = "contract_sources"
"""The resource key that `build_definitions` uses."""


class ServerCredentials(Config):
    """The user and password of a server."""

    username: str = ""
    password: str = ""


class ContractSources(ConfigurableResource["ContractSources"]):
    """Says where contracts find their data, and with which credentials, for each of their servers.

    Example::

        ContractSources(
            urls={"warehouse": "postgresql+psycopg://db.internal/sales"},
            credentials={"warehouse": ServerCredentials(username="dagster", password=EnvVar("DB_PASSWORD"))},
        )
    """

    urls: dict[str, str] = Field(
        default={}, description="Server name of a contract → SQLAlchemy URL, or folder or file of data."
    )
    credentials: dict[str, ServerCredentials] = Field(
        default={}, description="Server name of a contract → user and password."
    )
    default: str | None = Field(
        default=None, description="URL, folder or file for contracts none of whose servers is listed in `urls`."
    )

    _open: ExitStack | None = PrivateAttr(default=None)
    _shared: dict[tuple[str, str | None], Source] = PrivateAttr(default_factory=dict)

    def setup_for_execution(self, context: InitResourceContext) -> None:
        """Called by Dagster before the steps of a process."""
        self._open = ExitStack()

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """Called by Dagster after them: closes what they shared."""
        self._shared.clear()
        if self._open is not None:
            self._open.close()

    def sharing(self, source: Source) -> Source:
        """The source, with connections that all steps of this process use, one after the other.

        Only servers are kept connected. The file of a database would be locked for those who write to it between
        two steps.
        """
        key = source.address if type(source) is DatabaseSource else None
        if self._open is None or key is None:
            return source
        if key not in self._shared:
            self._shared[key] = self._open.enter_context(source.opened())
        return self._shared[key]

    def source_of(
        self, contract: Contract, server: str | None = None, allowed: Sequence[str | Path] | None = None
    ) -> Source:
        """The source of a contract's data, made anew.

        `server` names one of the contract's servers (or its environment). Without it, the only one is
        taken, or of several the only one that this resource knows. A server of the contract itself finds
        files only below `allowed`, where that is given. Raises `SourceError`.
        """
        name = self._server_name(contract, server)
        if name is not None and name in self.urls:
            source = sources.resolve(contract, source=self.urls[name])
        elif self.default is not None and name not in self.credentials:
            source = sources.resolve(contract, source=self.default)
        else:
            source = sources.resolve(contract, server=name, allowed=allowed)
        known = self.credentials.get(name) if name is not None else None
        return _with_credentials(source, known) if known is not None else source

    def _server_name(self, contract: Contract, server: str | None) -> str | None:
        chosen = [one.name for one in contract.servers if server in (None, one.name)]
        chosen = chosen or [one.name for one in contract.servers if server == one.environment]
        known = [name for name in chosen if name in self.urls or name in self.credentials]
        for names in (chosen, known):
            if len(names) == 1:
                return names[0]
        return server


def _with_credentials(source: Source, credentials: ServerCredentials) -> Source:
    if isinstance(source, KafkaSource):
        return source.with_credentials(credentials.username, credentials.password)
    if not isinstance(source, DatabaseSource):
        return source
    url = make_url(source.name).set(username=credentials.username or None, password=credentials.password or None)
    return DatabaseSource(url, source.default_schema)
