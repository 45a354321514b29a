"""Folders, files and contracts → the contracts to define, and the files that cannot be used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from contract_checks import dialects
from contract_checks.checks import Plan, Settings, plan
from contract_checks.dialects.cache import user_cache
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.errors import ContractError
from contract_checks.model import Contract

Contracts: TypeAlias = "str | Path | Contract | Sequence[str | Path | Contract]"


@dataclass(frozen=True)
class Entry:
    """A contract, with its path as people are shown it, and its plan if that is known already.

    `kept` are the bytes of the plan in the cache, if it was taken from there.
    """

    contract: Contract
    file: str
    plan: Plan | None = None
    kept: bytes = b""


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


def gather(
    contracts: Contracts, strict: bool = False, engines: Engines = NO_ENGINES, settings: Settings | None = None
) -> Gathered:
    """Read folders (recursively) and files; contracts already read are taken as they are.

    With `settings` files are planned, too; what was made of a file before is taken from the user's cache. A file that
    is named twice counts once. Raises `FileNotFoundError` for a path that is not there.
    """
    listed: Iterable[str | Path | Contract] = [contracts] if isinstance(contracts, str | Path | Contract) else contracts
    entries: list[Entry] = []
    unreadable: dict[str, Unreadable] = {}
    by_file: dict[str, list[Contract]] = defaultdict(list)
    files = _Files(strict, engines, settings)
    for one in listed:
        for found in _read(one, files):
            if isinstance(found, Unreadable):
                unreadable.setdefault(_file(found.error), found)
                continue
            same_file = by_file[str(Path(found.contract.file).absolute())]
            if found.contract not in same_file:
                same_file.append(found.contract)
                entries.append(found)
    return Gathered(tuple(entries), tuple(unreadable.values()))


def load_contract(contract: str | Path | Contract, strict: bool = False, engines: Engines = NO_ENGINES) -> Contract:
    """A contract, or the one in a file, from the user's cache if need be. Raises `ContractError` if it is unusable."""
    return contract if isinstance(contract, Contract) else _Files(strict, engines).load(contract)


class _Files:
    """Reads files, and plans them where `settings` say how.

    Every process of Dagster loads all definitions, so what was made of a file before is taken from the user's cache.
    """

    def __init__(self, strict: bool, engines: Engines, settings: Settings | None = None) -> None:
        self.strict = strict
        self.engines = engines
        self.settings = settings
        self._plans: dict[int, tuple[Plan, bytes]] = {}
        options = _text(settings)
        self._cache = user_cache() if options is not None else None
        self._options = f"strict={strict} engines={bool(engines)} settings={options}"

    def load(self, file: str | Path) -> Contract:
        """The contract in a file. Raises `ContractError` if it is unusable."""
        if self._cache is None:
            made, kept = self._made(file), b""
        else:
            made, kept = self._cache.get_with_bytes(file, self._options, _MADE, lambda: self._made(file))
        if isinstance(made, Contract):
            return made
        self._plans[id(made.contract)] = made, kept  # it holds the contract, so that no other gets its id
        return made.contract

    def entry(self, contract: Contract, file: str) -> Entry:
        """A contract that was loaded here, with its plan, unless there is none or something was added since."""
        return Entry(contract, file, *self._plans.get(id(contract), ()))

    def _made(self, file: str | Path) -> Plan | Contract:
        contract = dialects.load(file, self.strict, self.engines)
        if self.settings is None:
            return contract
        try:
            made = plan(contract, self.settings)
        except ContractError:
            return contract
        for one in made.datasets:
            one.fingerprint  # noqa: B018 - worked out now, it is kept with the plan
        return made


_MADE: Any = (Plan, Contract)


def _text(value: object) -> str | None:
    """A setting as text that no other has; None if it is of a kind that may have no such text."""
    if isinstance(value, Settings):
        return _text(tuple(getattr(value, one.name) for one in fields(value)))
    if isinstance(value, Mapping | frozenset | set):
        parts = [_text(one) for one in (value.items() if isinstance(value, Mapping) else value)]
        return None if None in parts else f"{{{', '.join(sorted(map(str, parts)))}}}"
    if isinstance(value, tuple | list):
        parts = [_text(one) for one in value]
        return None if None in parts else f"({', '.join(map(str, parts))},)"
    return repr(value) if type(value) in (str, int, float, bool, type(None)) else None


def _read(one: str | Path | Contract, files: _Files) -> list[Entry | Unreadable]:
    if isinstance(one, Contract):
        return [Entry(one, shown(one.file))]
    path = Path(one)
    if path.is_dir():
        loaded = dialects.load_directory(path, load_file=files.load)
        good = [files.entry(found, shown(found.file, path)) for found in loaded.contracts]
        return [*good, *(Unreadable(shown(_file(error), path), error) for error in loaded.broken)]
    if not path.is_file():
        raise FileNotFoundError(f"there is no contract file or folder '{path}'")
    try:
        found = files.load(path)
    except ContractError as error:
        return [Unreadable(shown(str(path)), error)]
    return [files.entry(found, shown(str(path)))]


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
