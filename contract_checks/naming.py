"""What names are made of: words of a name, what was said, and a hash of it.

A name is made of what a rule is, never of where it stands, so that it is the same in every process and version.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from typing import Any

from contract_checks.errors import Location

MAX_NAME = 60
"""The longest check name; a longer one is cut and ends in a hash of the whole."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER_LETTERS = re.compile(r"[^a-z0-9]+")


@lru_cache(maxsize=4096)
def slug(text: str) -> str:
    """`text` in `[a-z0-9_]` without double underscores, which separate the parts of a check's name."""
    return _OTHER_LETTERS.sub("_", _HUMP.sub("_", text).lower()).strip("_")


def short_hash(text: str) -> str:
    """Six hexadecimal digits that stand for `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def cut_name(name: str) -> str:
    """A name of at most `MAX_NAME` letters."""
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 7].rstrip('_')}_{short_hash(name)}"


def said(value: Any) -> object:
    """A value as what was said of it: equal in every process and, for equal promises, in every version.

    Places in files are left out, and so are fields that keep their default, which a later version may add.
    """
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return tuple([said(one) for one in value])
    if kind is Location:
        return ""
    shown = _shown_fields(kind)
    if shown is not None:
        stated = [(name, own) for name, default in shown if (own := getattr(value, name)) != default]
        return (kind.__name__, *[(name, said(own)) for name, own in stated])
    return sorted([said(one) for one in value], key=repr) if isinstance(value, frozenset) else value


_PLAIN = frozenset((str, int, bool, float, type(None)))


@cache
def _shown_fields(kind: type) -> tuple[tuple[str, object], ...] | None:
    """The fields of a dataclass that its values show, each with its default; None for any other type."""
    return tuple((one.name, one.default) for one in fields(kind) if one.repr) if is_dataclass(kind) else None
