"""What the reading of a contract takes in from outside, and the only door to it in `dialects/`.

A contract is made of its file, of files that it refers to, of variables of the environment, and of which time zones are
known. Whoever asks here gets the answer of the moment. While `noted` is at work every question is written down with
its answer: as long as all answers are the same, reading would give the same contract (see `cache`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

MAX_BYTES = 5_000_000
"""The largest contract file that is read, in bytes."""

Question = Literal["content", "is file", "resolved", "variable", "time zone", "foreign code"]


@dataclass(frozen=True)
class Input:
    """A question to the world and its answer: the digest of a file, whether it is there, the value of a variable.

    `foreign code` has no answer that can be had again: a user's function was called.
    """

    question: Question
    subject: str
    answer: str


class TooLargeError(Exception):
    """The file has more bytes than may be read; how many is the argument."""


_NOTED: ContextVar[list[Input] | None] = ContextVar("contract_checks_inputs", default=None)


@contextmanager
def noted() -> Iterator[list[Input]]:
    """Write down what is asked inside the block, in the order of asking."""
    found: list[Input] = []
    token = _NOTED.set(found)
    try:
        yield found
    finally:
        _NOTED.reset(token)


def _note(question: Question, subject: str, answer: str) -> None:
    found = _NOTED.get()
    if found is not None:
        found.append(Input(question, subject, answer))


def read_bytes(path: str | Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The content of a file. Raises `OSError`, and `TooLargeError` for a file of more than `max_bytes`."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(max_bytes + 1)
            size = max(len(content), os.fstat(file.fileno()).st_size) if len(content) > max_bytes else len(content)
    except OSError as error:
        _note("content", str(path), f"none: {error.strerror or error}")
        raise
    _note("content", str(path), f"{size} {hashlib.sha256(content).hexdigest()}")
    if size > max_bytes:
        raise TooLargeError(size)
    return content


def is_file(path: str | Path) -> bool:
    """Whether there is a file."""
    found = Path(path).is_file()
    _note("is file", str(path), str(found))
    return found


def resolved(path: str | Path) -> Path:
    """The path without links and `..`."""
    found = Path(path).resolve()
    _note("resolved", str(path), str(found))
    return found


def variable(name: str) -> str | None:
    """The value of a variable of the environment."""
    found = os.environ.get(name)
    _note("variable", name, _digest(found))
    return found


def time_zone(name: str) -> ZoneInfo | None:
    """The time zone of an IANA name such as `Australia/Sydney`."""
    try:
        found = ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        found = None
    _note("time zone", name, str(found is not None))
    return found


def foreign_code(name: str) -> None:
    """Say that what comes next depends on a function of the user's, of which nothing is known."""
    _note("foreign code", name, "")


def unchanged(inputs: Iterable[Input]) -> bool:
    """Whether all questions still have the answers that were written down."""
    for one in inputs:
        with noted() as found:
            _ask(one)
        if found != [one]:
            return False
    return True


def _ask(one: Input) -> None:
    match one.question:
        case "content":
            with suppress(OSError, TooLargeError):
                read_bytes(one.subject)
        case "is file":
            is_file(one.subject)
        case "resolved":
            resolved(one.subject)
        case "variable":
            variable(one.subject)
        case "time zone":
            time_zone(one.subject)


def _digest(text: str | None) -> str:
    """What stands for a value, so that no value is written down."""
    return "" if text is None else hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
