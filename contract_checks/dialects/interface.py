"""What a dialect is: a reader from a parsed document into the model."""

from __future__ import annotations

from typing import Protocol

from contract_checks.dialects.document import Document
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.model import Contract


class Dialect(Protocol):
    """One way of writing contracts.

    `name` is the word for it in `Contract.dialect`.
    """

    name: str

    def recognises(self, document: Document) -> bool:
        """Whether the document is written in this dialect, judged by its top-level keys alone."""
        ...

    def read(self, document: Document, strict: bool = False, engines: Engines = NO_ENGINES) -> Contract:
        """Read the document into a contract.

        Every clause ends as a part of the model that becomes a check, as `Documented`, or as `NotChecked`
        with its reason; `engines` translate rules that name an engine. An unknown key becomes a warning in
        `Contract.problems`, and with `strict` an error. Raises `ContractError` with all errors found.
        """
        ...
