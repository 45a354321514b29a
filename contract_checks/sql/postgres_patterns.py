r"""Patterns of a bounded length, in a form that PostgreSQL answers in a fraction of the time.

Its regular expressions build the states of an automaton anew for every value. `^[0-9]{32}$` needs one for each digit,
`^[0-9]+$` a single one, and with it the length says the rest: where all other parts match a known number of
characters, a text of the right length has the right number of digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

_PART = re.compile(
    r"""
    (?P<atom>
        [A-Za-z0-9\ _] | \\u[0-9a-f]{4} | \\[^A-Za-z0-9\s]
        | \[ (?: \\u[0-9a-f]{4} | \\[^A-Za-z0-9\s] | [^\\\[\]] )+ \]
    )
    (?: \{ (?P<least>[0-9]+) (?: (?P<range>,) (?P<most>[0-9]*) )? \} )?
    """,
    re.VERBOSE,
)
"""One character, escape or class of a translated pattern, and how often it must be there."""

_WORTHWHILE = 3
"""The least number of repetitions that are worth a look at the length."""


@dataclass(frozen=True)
class BoundedPattern:
    """What a text must match, and how many characters it must have besides (`most` is None for no limit)."""

    pattern: str
    least: int
    most: int | None


@dataclass(frozen=True)
class _Part:
    atom: str
    least: int = 1
    most: int | None = 1

    @property
    def fixed(self) -> bool:
        return self.least == self.most

    @property
    def text(self) -> str:
        if (self.least, self.most) == (1, 1):
            return self.atom
        if self.most is None:
            return f"{self.atom}{{{self.least},}}"
        return f"{self.atom}{{{self.least}}}" if self.fixed else f"{self.atom}{{{self.least},{self.most}}}"


@lru_cache(maxsize=1024)
def bounded(pattern: str) -> BoundedPattern | None:
    r"""The cheaper form of a pattern in PostgreSQL's language; None where there is none.

    The pattern must be a sequence between `^` and `$`, of which all parts but one match a fixed number of characters.
    """
    if len(pattern) < 2 or pattern[0] != "^" or pattern[-1] != "$":
        return None
    parts = _parts(pattern[1:-1])
    if parts is None:
        return None
    loose = [part for part in parts if not part.fixed]
    repeated = loose or sorted(parts, key=lambda part: part.least)[-1:]
    if len(repeated) != 1 or max(repeated[0].least, repeated[0].most or 0) < _WORTHWHILE:
        return None
    chosen = repeated[0]
    others = sum(part.least for part in parts if part is not chosen)
    sign = "+" if chosen.least else "*"
    written = "".join(f"{part.atom}{sign}" if part is chosen else part.text for part in parts)
    most = None if chosen.most is None else others + chosen.most
    return BoundedPattern(f"^{written}$", others + chosen.least, most)


def _parts(text: str) -> list[_Part] | None:
    parts: list[_Part] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            return None
        part = _Part(found["atom"])
        if found["least"] is not None:
            least = int(found["least"])
            most = None if found["range"] and not found["most"] else int(found["most"] or least)
            part = replace(part, least=least, most=most)
        parts.append(part)
        at = found.end()
    return parts
