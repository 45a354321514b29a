"""Folders, files and contracts → the contracts to define, and the files that cannot be used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from contract_checks import dialects
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.errors import ContractError
from contract_checks.model import Contract

Contracts: TypeAlias = "str | Path | Contract | Sequence[str | Path | Contract]"


@dataclass(frozen=True)
class Entry:
    """A contract, with its path as people are shown it."""

    contract: Contract
    file: str


@dataclass(frozen=True)
class Unreadable:
    """A file that is no usable contract, and why."""

    file: str
    error: ContractError


@dataclass(frozen=True)
class Gathered:
    """All that was found."""

    entries: tuple[Entry, ...]
    unreadable: tuple[Unreadable, ...]


def gather(contracts: Contracts, strict: bool = False, engines: Engines = NO_ENGINES) -> Gathered:
    """Read folders (recursively) and files; contracts already read are taken as they are.

    A file that is named twice counts once. Raises `FileNotFoundError` for a path that is not there.
    """
    listed: Iterable[str | Path | Contract] = [contracts] if isinstance(contracts, str | Path | Contract) else contracts
    entries: list[Entry] = []
    unreadable: dict[str, Unreadable] = {}
    by_file: dict[str, list[Contract]] = defaultdict(list)
    for one in listed:
        for found in _read(one, strict, engines):
            if isinstance(found, Unreadable):
                unreadable.setdefault(_file(found.error), found)
                continue
            same_file = by_file[str(Path(found.contract.file).absolute())]
            if found.contract not in same_file:
                same_file.append(found.contract)
                entries.append(found)
    return Gathered(tuple(entries), tuple(unreadable.values()))


def _read(one: str | Path | Contract, strict: bool, engines: Engines) -> list[Entry | Unreadable]:
    if isinstance(one, Contract):
        return [Entry(one, shown(one.file))]
    path = Path(one)
    if path.is_dir():
        loaded = dialects.load_directory(path, strict=strict, engines=engines)
        good = [Entry(contract, shown(contract.file, path)) for contract in loaded.contracts]
        return [*good, *(Unreadable(shown(_file(error), path), error) for error in loaded.broken)]
    if not path.is_file():
        raise FileNotFoundError(f"there is no contract file or folder '{path}'")
    try:
        return [Entry(dialects.load(path, strict=strict, engines=engines), shown(str(path)))]
    except ContractError as error:
        return [Unreadable(shown(str(path)), error)]


def _file(error: ContractError) -> str:
    return error.problems[0].location.file if error.problems else "unknown"


def shown(file: str, root: Path | None = None) -> str:
    """The path for people: from the name of the folder of contracts on (`contracts/sales/orders.yaml`).

    It is the same on every machine, as long as folders are called the same.
    """
    path = Path(file)
    if root is None:
        return path.as_posix() if not path.is_absolute() else Path(path.parent.name, path.name).as_posix()
    base = root.absolute()
    if not path.absolute().is_relative_to(base):
        return path.name
    return Path(base.name, path.absolute().relative_to(base)).as_posix()
