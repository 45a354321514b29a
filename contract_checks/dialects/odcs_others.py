"""References from one contract file into another ("References" of the standard): which object they lead to.

A contract is untrusted, so it reaches only files in its own folder and below; nothing is fetched from the web.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from contract_checks.dialects.document import Document, read_document
from contract_checks.dialects.inputs import is_file, resolved
from contract_checks.dialects.odcs_references import Table, find_element, outline
from contract_checks.errors import ContractError
from contract_checks.metrics import FieldPath
from contract_checks.model import Contract, Dataset, Server

_NOT_ABOUT_THE_PLACE = ("id", "description", "roles", "customProperties", "schema")
"""Properties of a server that two servers may differ in and still be one place."""


@dataclass(frozen=True)
class Element:
    """A property of an object of another contract.

    `elsewhere` says why the two contracts' data cannot be compared; "" when both are in one place, as far as
    their servers tell.
    """

    dataset: Dataset
    path: FieldPath
    elsewhere: str = ""


@dataclass(frozen=True)
class _Other:
    """Another contract, read once."""

    tables: tuple[Table, ...]
    contract: Contract


class Others:
    """The contracts that one contract refers to.

    `read` reads a document without following its own references. `used` are the datasets found so far.
    """

    def __init__(self, document: Document, servers: tuple[Server, ...], read: Callable[[Document], Contract]) -> None:
        self._folder = Path(document.file).parent
        self._servers = servers
        self._read = read
        self._known: dict[Path, _Other | str] = {}
        self.used: dict[str, Dataset] = {}

    def find(self, text: str) -> Element | str:
        """The property that a reference such as `customers.yaml#customers.id` leads to, or why it leads nowhere."""
        file, _, inside = text.strip().partition("#")
        other = self._other(file)
        if isinstance(other, str):
            return other
        found = find_element(other.tables, inside)
        if found is None:
            return f"'{inside}' is no property of {other.contract.file}"
        table, path = found
        dataset = next(
            one for one in other.contract.datasets if (one.name, one.physical_name) == (table.name, table.physical_name)
        )
        elsewhere, schema = self._compare(other.contract)
        if schema and "." not in dataset.physical_name:
            dataset = replace(dataset, physical_name=f"{schema}.{dataset.physical_name}")
        dataset = replace(dataset, foreign=True)
        self.used[dataset.physical_name] = dataset
        return Element(dataset, path, elsewhere)

    def _other(self, file: str) -> _Other | str:
        if re.match(r"(?i)https?://", file):
            return f"contracts on the web are not read ({file})"
        where = re.sub(r"(?i)^file://", "", file)
        path, folder = resolved(self._folder / where), resolved(self._folder)
        if not path.is_relative_to(folder):
            return f"'{file}' is outside of the folder of the contract"
        if path not in self._known:
            self._known[path] = self._load(path, file)
        return self._known[path]

    def _load(self, path: Path, file: str) -> _Other | str:
        if not is_file(path):
            return f"there is no file '{file}' beside the contract"
        try:
            document = read_document(path)
            contract = self._read(replace(document, file=str(self._folder / path.relative_to(resolved(self._folder)))))
        except ContractError as error:
            return f"'{file}' cannot be used: {error.problems[0].message}"
        entries = document.data.get("schema") if isinstance(document.data, dict) else None
        return _Other(outline(entries), contract)

    def _compare(self, other: Contract) -> tuple[str, str]:
        """Why the other contract's data is in another place, or "" and the schema it is in there."""
        if not self._servers or not other.servers:
            return "", ""
        pairs = [(one, two) for one in self._servers for two in other.servers if _place(one) == _place(two)]
        if not pairs:
            names = ", ".join(server.name for server in other.servers)
            return f"the data of {other.file} is in another place (its servers: {names})", ""
        schemas = {str(two.get("schema") or "") for one, two in pairs if one.get("schema") != two.get("schema")}
        return "", schemas.pop() if len(schemas) == 1 else ""


def _place(server: Server) -> tuple[str, tuple[tuple[str, str], ...]]:
    properties = [(key, str(value)) for key, value in server.properties if key not in _NOT_ABOUT_THE_PLACE]
    return server.type, tuple(sorted(properties))
