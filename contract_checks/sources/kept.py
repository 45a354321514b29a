"""The store of kept measurements: what was measured in files, under what tells that a file is still the same.

A number is found again only under the very key it was kept under: the file's path, size, times and inode, how it is
read, the SQL that was asked, and the versions of what asked it. So a file or a contract that changed never meets an
old number. Where anything is in doubt, or the store itself is in trouble, nothing is found, and the data is read.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

from contract_checks import __version__

Kept: TypeAlias = "None | bool | int | float | Decimal | str | date | datetime"
"""What a store holds, each with its own type."""

KEEP_DAYS = 30
"""Numbers that nobody asked for in so many days are forgotten."""
RACY_NS = 2_000_000_000
"""A file that changed less than so long before it was looked at may change again and show the same time."""

_APPLICATION, _LAYOUT = 0x43434B50, 1
_BUSY = 5.0
_MOST = 2000
_BATCH = 500
_SIZE = 16

_log = logging.getLogger("contract_checks")


# --------------------------------------------------------------------------- files


@dataclass(frozen=True)
class Fingerprint:
    """What tells whether a file is the one that it was.

    `modified` and `changed` are moments in nanoseconds: when its content was written, and when anything of it was
    (which nobody can set back). `tag` is what an object store gives for its content. The device is left out: it
    has another number wherever a volume is mounted anew.
    """

    path: str
    size: int
    modified: int
    changed: int = 0
    inode: int = 0
    tag: str = ""

    def settled(self, seen: int, margin: int = RACY_NS) -> bool:
        """Whether a file that looked so at the moment `seen` cannot have changed since and look the same."""
        return max(self.modified, self.changed) <= seen - margin

    @property
    def digest(self) -> bytes:
        """The fingerprint in 16 bytes."""
        return digest(self.path, self.size, self.modified, self.changed, self.inode, self.tag)


def fingerprints(paths: Sequence[str]) -> tuple[Fingerprint, ...] | None:
    """The files of this machine as they are now; None if one of them cannot be looked at, or is named twice."""
    if len(set(paths)) < len(paths):
        return None
    found = []
    for path in paths:
        try:
            stat = os.stat(path)  # noqa: PTH116 - for thousands of files a Path takes longer than the question
        except OSError:
            return None
        found.append(Fingerprint(path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino))
    return tuple(found)


def digest(*parts: object) -> bytes:
    """16 bytes that stand for these texts, numbers and bytes, and for no others."""
    made = blake2b(digest_size=_SIZE)
    for part in parts:
        raw = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        made.update(f"{type(part).__name__}{len(raw)}:".encode())
        made.update(raw)
    return made.digest()


@cache
def versions() -> str:
    """What else a number depends on: this package, the engine, what writes its SQL, and Python, which judges values."""
    names = ("duckdb", "sqlglot")
    return " ".join([__version__, *map(_version, names), platform.python_version()])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


# --------------------------------------------------------------------------- the store


class KeptStore:
    """A SQLite file of kept measurements. Processes may share one on a disk of their machine.

    An entry is a small mapping of names to values, under an owner of 16 bytes. Trouble with the file is a warning
    in the log, never an error: nothing is found then, and nothing is kept.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def find(self, owners: Iterable[bytes]) -> dict[bytes, dict[str, Kept]]:
        """What is kept under each of these owners; one that has nothing is not among them."""
        wanted = list(dict.fromkeys(owners))
        found: dict[bytes, dict[str, Kept]] = {}
        if not wanted or not self.path.exists():
            return found
        today, old = _today(), []
        with self._trouble("read"), self._opened() as connection:
            for start in range(0, len(wanted), _BATCH):
                some = wanted[start : start + _BATCH]
                marks = ", ".join("?" * len(some))
                sql = f"SELECT owner, content, used FROM kept WHERE owner IN ({marks})"
                for owner, content, used in connection.execute(sql, some):
                    values = _decoded(owner, content)
                    if values is not None:
                        found[owner] = values
                        old += [owner] if used < today else []
            if old:
                connection.executemany("UPDATE kept SET used = ? WHERE owner = ?", [(today, one) for one in old])
                connection.commit()
        return found

    def keep(self, entries: Mapping[bytes, Mapping[str, Kept]]) -> None:
        """Keep these values beside those that their owners have, and forget what nobody asked for in a long time."""
        if not entries:
            return
        today = _today()
        with self._trouble("written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._opened() as connection:
                connection.execute("BEGIN IMMEDIATE")
                for owner, values in entries.items():
                    row = connection.execute("SELECT content FROM kept WHERE owner = ?", (owner,)).fetchone()
                    before = (_decoded(owner, row[0]) if row is not None else None) or {}
                    merged = {**before, **values} if len(before) + len(values) <= _MOST else values
                    connection.execute(
                        "INSERT OR REPLACE INTO kept (owner, content, used) VALUES (?, ?, ?)",
                        (owner, _encoded(owner, merged), today),
                    )
                connection.execute("DELETE FROM kept WHERE used < ?", (today - KEEP_DAYS,))
                connection.commit()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=_BUSY, isolation_level=None)) as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                self._create(connection)
            elif connection.execute("PRAGMA user_version").fetchone()[0] != _LAYOUT:
                raise sqlite3.DatabaseError("it is of another version of this package")
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection

    @staticmethod
    def _create(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        ours = connection.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION  # by now
        if not ours and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None:
            raise sqlite3.DatabaseError("it is a database of something else")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS kept (owner BLOB PRIMARY KEY, content BLOB NOT NULL, used INTEGER NOT NULL)"
        )
        connection.execute("CREATE INDEX IF NOT EXISTS kept_used ON kept (used)")
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_LAYOUT}")
        connection.commit()
        with suppress(sqlite3.OperationalError):  # another process is in it already
            connection.execute("PRAGMA journal_mode = WAL")

    @contextmanager
    def _trouble(self, done: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            _log.warning("Kept measurements cannot be %s (%s): %s. The data is read instead.", done, self.path, error)


def _today() -> int:
    return int(time.time() // 86_400)


# --------------------------------------------------------------------------- values


def _encoded(owner: bytes, values: Mapping[str, Kept]) -> bytes:
    """Values as bytes that say their types, after a sum that tells whether they are whole."""
    text = json.dumps({name: _plain(value) for name, value in values.items()}, separators=(",", ":")).encode()
    return digest(owner, text) + text


def _decoded(owner: bytes, content: object) -> dict[str, Kept] | None:
    """The values, or None where they are not what was kept."""
    if not isinstance(content, bytes) or content[:_SIZE] != digest(owner, content[_SIZE:]):
        return None
    try:
        return {str(name): _typed(value) for name, value in json.loads(content[_SIZE:]).items()}
    except (ValueError, AttributeError, InvalidOperation):
        return None


def can_keep(value: object) -> bool:
    """Whether a value comes back from a store as it is."""
    if isinstance(value, datetime):
        return value.tzinfo is None or value.utcoffset() == timedelta(0)
    return value is None or type(value) in (bool, int, float, Decimal, str, date)


def _plain(value: Kept) -> bool | int | str | None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return f"T{value.isoformat()}"
        return f"Z{value.astimezone(UTC).replace(tzinfo=None).isoformat()}"
    if isinstance(value, date):
        return f"D{value.isoformat()}"
    if isinstance(value, Decimal):
        return f"d{value}"
    if isinstance(value, float):
        return f"f{value.hex()}"
    return f"s{value}" if isinstance(value, str) else value


def _typed(value: Any) -> Kept:
    if value is None or isinstance(value, bool | int):
        return value
    if not isinstance(value, str) or not value:
        raise ValueError("not a kept value")
    kind, text = value[0], value[1:]
    match kind:
        case "s":
            return text
        case "d":
            return Decimal(text)
        case "f":
            return float.fromhex(text)
        case "D":
            return date.fromisoformat(text)
        case "T":
            return datetime.fromisoformat(text)
        case "Z":
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
    raise ValueError(f"not a kind of kept value: {kind}")
