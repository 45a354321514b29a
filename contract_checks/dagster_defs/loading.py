"""Folders, files and contracts → the contracts to define, and the files that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from contract_checks import dialects
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


def gather(contracts: Contracts, strict: bool = False) -> Gathered:
    """Read folders (recursively) and files; contracts already read are taken as they are.

    A file that is named twice counts once. Raises `FileNotFoundError` for a path that is not there.
    """
    listed: Iterable[str | Path | Contract] = [contracts] if isinstance(contracts, str | Path | Contract) else contracts
    entries: dict[str, Entry] = {}
    unreadable: dict[str, Unreadable] = {}
    for one in listed:
        for entry in _read(one, strict):
            if isinstance(entry, Entry):
                entries.setdefault(str(Path(entry.contract.file).absolute()), entry)
            else:
                unreadable.setdefault(entry.file, entry)
    return Gathered(tuple(entries.values()), tuple(unreadable.values()))


def _read(one: str | Path | Contract, strict: bool) -> list[Entry | Unreadable]:
    if isinstance(one, Contract):
        return [Entry(one, shown(one.file))]
    path = Path(one)
    if path.is_dir():
        loaded = dialects.load_directory(path, strict=strict)
        good = [Entry(contract, shown(contract.file, path)) for contract in loaded.contracts]
        return [*good, *(Unreadable(shown(_file(error), path), error) for error in loaded.broken)]
    if not path.is_file():
        raise FileNotFoundError(f"there is no contract file or folder '{path}'")
    try:
        return [Entry(dialects.load(path, strict=strict), shown(str(path)))]
    except ContractError as error:
        return [Unreadable(shown(str(path)), error)]


def _file(error: ContractError) -> str:
    return error.problems[0].location.file if error.problems else "unknown"


def shown(file: str, root: Path | None = None) -> str:
    """The path for people: from the name of the folder of contracts on (`contracts/sales/orders.yaml`)."""
    path = Path(file).absolute()
    base = root.absolute() if root is not None else path.parent
    if not path.is_relative_to(base):
        return path.name
    return Path(base.name, path.relative_to(base)).as_posix()
