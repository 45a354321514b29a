"""What was read before, kept on disk, so that a code location does not read and plan a thousand contracts again.

What is kept is used only while reading would give the same: the file and every other input (see `inputs`) are as they
were, and so are this package, the libraries that contracts are read with, and Python. Contracts with errors and those
that a user's function had a part in are not kept.

What is kept is made by this user or by root, in a folder that nobody else can write to; anything else is left alone.
It is unpickled, but nothing except the values of contracts can come out of it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from contract_checks.dialects.inputs import Input, noted, unchanged

VARIABLE = "CONTRACT_CHECKS_CACHE"
"""The environment variable with the folder of the cache; `off` is for none."""

_LIBRARIES = ("PyYAML", "pydantic", "pydantic-core", "regress", "sqlglot")
_DAY = 86_400
_KEPT_DAYS = 30
_OFF = ("off", "0", "no", "none", "false")
_VALUES = {
    ("datetime", "date"),
    ("datetime", "datetime"),
    ("datetime", "time"),
    ("datetime", "timedelta"),
    ("datetime", "timezone"),
    ("decimal", "Decimal"),
}
"""What contracts are made of besides this package's own frozen values."""
_ENTRY = re.compile(r"[0-9a-f]{64}\.contract(\.[0-9a-f]{16})?")
_SWEPT: set[Path] = set()
"""The folders that this process has looked through for old entries."""
_MODULES = tuple(f"contract_checks.{name}" for name in ("errors", "metrics", "model", "checks"))


T = TypeVar("T")


@dataclass(frozen=True)
class ContractCache:
    """A folder of what was made of contract files before."""

    folder: Path

    def get(self, path: str | Path, options: str, kind: type[T] | tuple[type[T], ...], read: Callable[[], T]) -> T:
        """What `read` makes of the file at `path`, or what it made of it before, if it would make the same now.

        It is a `kind`, made of the frozen values of contracts. `options` says what else it depends on. Raises what
        `read` raises. A cache that cannot be used, for whatever reason, is none.
        """
        return self.get_with_bytes(path, options, kind, read)[0]

    def get_with_bytes(
        self, path: str | Path, options: str, kind: type[T] | tuple[type[T], ...], read: Callable[[], T]
    ) -> tuple[T, bytes]:
        """The same, and the bytes of which `unpickled` makes it; none where it was not taken from the cache."""
        if not reader():
            return read(), b""
        name = _name(path, options)
        kept, body = self._load(name)
        if isinstance(kept, kind):
            return kept, body
        with noted() as inputs:
            made = read()
        if all(one.question != "foreign code" for one in inputs):
            with suppress(OSError, pickle.PicklingError, TypeError, AttributeError, RecursionError):
                self._keep(name, made, inputs)
        return made, b""

    def _load(self, name: str) -> tuple[Any, bytes]:
        try:
            with _opened(self.folder) as folder:
                content = _read_entry(name, folder)
            digest, head, body = content.split(b"\n", 2)
            if hashlib.sha256(head + b"\n" + body).hexdigest().encode() != digest:
                return None, b""
            made_by, inputs = json.loads(head)
            if made_by != reader() or not unchanged([Input(*one) for one in inputs]):
                return None, b""
            return unpickled(body), body
        except Exception:  # noqa: BLE001 - whatever is wrong with what was kept, the contract can still be read
            return None, b""

    def _keep(self, name: str, made: object, inputs: list[Input]) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        asked = [[one.question, one.subject, one.answer] for one in dict.fromkeys(inputs)]
        rest = json.dumps([reader(), asked]).encode() + b"\n" + pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
        with _opened(self.folder) as folder:
            _write_entry(name, hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest, folder)
            if self.folder not in _SWEPT:
                _SWEPT.add(self.folder)
                _forget_old(folder)


def _name(path: str | Path, options: str) -> str:
    """The entry of a file. Its path as it was given is part of that: every place in the contract begins with it."""
    said = f"{Path(path).absolute()}\0{path}\0{options}"
    return hashlib.sha256(said.encode(errors="surrogateescape")).hexdigest() + ".contract"


def user_cache() -> ContractCache | None:
    """The cache that the environment asks for: `CONTRACT_CHECKS_CACHE`, else a folder in the user's own cache.

    None where it is switched off, or where nobody could tell whose files are whose.
    """
    said = os.environ.get(VARIABLE, "").strip()
    if said.lower() in _OFF or not hasattr(os, "geteuid"):
        return None
    if said:
        return ContractCache(Path(said))
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # there is no home
        return None
    return ContractCache(Path(base, "contract_checks"))


@cache
def reader() -> str:
    """A digest of what reads contracts: Python, the libraries, and the files of this package, whatever its version.

    It is "" where that cannot be told: nothing is kept then.
    """
    from importlib import metadata  # 20 ms, for whoever has no cache for nothing

    root = Path(__file__).parents[1]
    digest = hashlib.sha256(f"{sys.version} {sys.implementation.cache_tag} {sys.byteorder}".encode())
    try:
        for library in _LIBRARIES:
            digest.update(f"{library} {metadata.version(library)}\n".encode())
        files = sorted(root.rglob("*.py"))
        for file in files:
            digest.update(f"{file.relative_to(root)}\0".encode())
            digest.update(file.read_bytes())
    except (OSError, metadata.PackageNotFoundError):
        return ""
    return digest.hexdigest() if Path(__file__) in files else ""


def unpickled(content: bytes) -> Any:
    """The value that was kept as these bytes. Raises `UnpicklingError` for one that contracts are not made of."""
    return _Unpickler(io.BytesIO(content)).load()


class _Unpickler(pickle.Unpickler):
    """Makes the values of contracts, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        return _value_class(module, name)


@cache
def _value_class(module: str, name: str) -> type:
    """A class of which a kept value may be made. Raises `UnpicklingError` for any other."""
    found = getattr(import_module(module), name, None) if module in _MODULES or (module, name) in _VALUES else None
    if not isinstance(found, type) or (module in _MODULES and not is_dataclass(found)):
        raise pickle.UnpicklingError(f"{module}.{name} is no value of a contract")
    return found


# --------------------------------------------------------------------------- the folder


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The folder, open. Raises `OSError` where somebody else could have written to it."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _trust(os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def _trust(status: os.stat_result) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        raise PermissionError("it belongs to somebody else")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("others can write to it")


def _read_entry(name: str, folder: int) -> bytes:
    number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with os.fdopen(number, "rb") as file:
        status = os.fstat(number)
        _trust(status)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no file")
        content = file.read()
        if time.time() - status.st_mtime > _DAY:
            with suppress(OSError):
                os.utime(number)  # it is in use
    return content


def _write_entry(name: str, content: bytes, folder: int) -> None:
    """Write an entry so that no reader ever sees a part of it."""
    temporary = f"{name}.{os.urandom(8).hex()}"
    number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _forget_old(folder: int) -> None:
    """Delete the entries that nobody has used for a month, and no other file: the folder may be one of the user's."""
    oldest = time.time() - _KEPT_DAYS * _DAY
    for name in os.listdir(folder):
        with suppress(OSError):
            if _ENTRY.fullmatch(name) and os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime < oldest:
                os.unlink(name, dir_fd=folder)
