"""Reading contract files: which dialect a file is written in, and what it promises.

`load` reads one file, `load_directory` a folder of them, of which a bad one harms no other. To add a
dialect, write a reader as `interface.Dialect` says, name it in `DIALECTS` and what marks it in `_MARKS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from contract_checks.dialects.document import Document, read_document
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.dialects.inheritance import settle
from contract_checks.dialects.interface import Dialect
from contract_checks.dialects.odcs import Odcs
from contract_checks.dialects.openmetadata import OpenMetadata
from contract_checks.dialects.openmetadata_proposal import OpenMetadataProposal
from contract_checks.dialects.openmetadata_side_file import contract_of, is_side_file
from contract_checks.errors import ContractError, Location, Problem
from contract_checks.model import Contract

DIALECTS: tuple[Dialect, ...] = (Odcs(), OpenMetadata(), OpenMetadataProposal())
"""Every reader, asked in this order."""

SUFFIXES = (".yaml", ".yml", ".json")
"""The endings of files that are contracts, in any case of letters."""

_MARKS = (
    "ODCS ('kind: DataContract', 'apiVersion: v3.x', 'schema' with objects), "
    "OpenMetadata ('entity', 'schema' with columns that have a 'dataType') "
    "and OpenMetadata's proposed format ('apiVersion: v1', 'kind: DataContract', 'targetEntity')"
)
_OTHERS = {
    "dataContractSpecification": "it is a Data Contract Specification; convert it to ODCS",
    "testCases": "it holds the test cases of a contract, which has to stand beside it under the same name",
    "odpsVersion": "it is an Open Data Product Standard document, which holds no contract",
}


@dataclass(frozen=True)
class Loaded:
    """What a folder of contracts holds: the readable ones, and what is wrong with each of the others."""

    contracts: tuple[Contract, ...]
    broken: tuple[ContractError, ...] = ()


def load(path: str | Path, strict: bool = False, engines: Engines = NO_ENGINES) -> Contract:
    """The contract in the YAML or JSON file at `path`.

    With `strict` everything the standard forbids is an error; without it, only what leaves the contract
    unusable. `engines` translate rules that were written for other engines, by the engine's name (see
    `engines.Engine`). Raises `ContractError` with every problem found.
    """
    return read(read_document(path), strict, engines)


def load_directory(
    path: str | Path,
    strict: bool = False,
    engines: Engines = NO_ENGINES,
    load_file: Callable[[Path], Contract] | None = None,
) -> Loaded:
    """Every contract below the folder `path`, in the order of their paths; hidden files are left alone.

    The contract of an asset has what it inherits from that of its data product, if that is there, too. `load_file`
    takes the place of `load`, for whoever has read a file before.
    """
    contracts: list[Contract] = []
    broken: list[ContractError] = []
    if not Path(path).exists():
        return Loaded((), (_error(str(path), "there is no such folder"),))
    for file in _files(Path(path)):
        try:
            contracts.append(load_file(file) if load_file is not None else load(file, strict, engines))
        except ContractError as error:
            broken.append(error)
        except Exception as error:  # noqa: BLE001 - a defect of a reader must not take the other contracts along
            broken.append(_error(str(file), f"the file could not be read: {type(error).__name__}: {error}"))
    return Loaded(settle(contracts), tuple(broken))


def read(document: Document, strict: bool = False, engines: Engines = NO_ENGINES) -> Contract:
    """The contract in a document that has been parsed. Raises `ContractError` with every problem found."""
    if not isinstance(document.data, dict):
        message = "a contract is a mapping of keys to values, which this is not"
        raise ContractError([document.problem(message)])
    for dialect in DIALECTS:
        if dialect.recognises(document):
            return dialect.read(document, strict, engines)
    for key, meaning in _OTHERS.items():
        if key in document.data:
            raise ContractError([document.problem(f"the file is no contract that is read here: {meaning}", key)])
    raise ContractError(
        [
            document.problem(
                "the dialect of the file is not known: it has the marks of none that is read here",
                hint=f"known are {_MARKS}",
            )
        ]
    )


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".")]
    contracts = (file for file in found if file.suffix.lower() in SUFFIXES)
    return sorted(file for file in contracts if not is_side_file(file) or contract_of(file) is None)


def _error(file: str, message: str) -> ContractError:
    return ContractError([Problem(message, Location(file, 1))])
