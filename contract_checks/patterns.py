r"""ECMA-262 regular expressions: judged exactly, and translated to an engine's own where that is exact.

Contracts state patterns in ECMA-262 (ODCS, logicalTypeOptions). `search` judges one value with a real
ECMA engine. `to_re2`, `to_postgres` and `to_java` rewrite a pattern for the engines that can scan a column with it;
they answer None for anything whose meaning could shift (lookaround, backreferences, `\b` beside
non-ASCII letters …), and the caller judges the distinct values with `search` instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import regress

_SPACE = r"\t\n\u000b\u000c\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACE}
_NOT_NEWLINE = r"[^\n\r\u2028\u2029]"
_CONTROL = {"t": "\\t", "n": "\\n", "r": "\\r", "f": "\\u000c", "v": "\\u000b"}
_QUANTIFIER = re.compile(r"\{(\d+)(,(\d*))?\}")
_RE2_REPEATS, _POSTGRES_REPEATS = 1000, 255


@dataclass(frozen=True)
class Plain:
    """What a pattern says that only compares texts: the value is one of `texts`, starts with the one, or holds it."""

    where: Literal["whole", "start", "anywhere"]
    texts: tuple[str, ...]


_LITERAL = r"(?:[^\\^$.*+?()\[\]{}|]|\\[^\w\s])+"
_PLAIN = re.compile(
    rf"(?P<start>\^)?(?:(?P<one>{_LITERAL})|\((?:\?:)?(?P<many>{_LITERAL}(?:\|{_LITERAL})*)\))(?P<end>\$)?"
)


@lru_cache(maxsize=1024)
def to_plain(pattern: str) -> Plain | None:
    """The comparison of texts that an ECMA-262 pattern amounts to, or None: `^(a|b)$` is one of two texts."""
    found = _PLAIN.fullmatch(pattern)
    if found is None:
        return None
    listed = re.findall(_LITERAL, found["many"] or found["one"])
    texts = tuple(dict.fromkeys(re.sub(r"\\(.)", r"\1", one) for one in listed))
    if found["start"] and found["end"]:
        return Plain("whole", texts)
    if found["end"] or len(texts) > 1:
        return None
    return Plain("start" if found["start"] else "anywhere", texts)


class _Untranslatable(Exception):
    """The pattern has a part that has no exact counterpart."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> regress.Regex:
    """The compiled ECMA-262 pattern. Raises `ValueError` with the engine's words if it is not one."""
    try:
        return regress.Regex(pattern)
    except regress.RegressError as error:
        raise ValueError(f"{pattern!r} is not an ECMA-262 regular expression: {error}") from error


def search(pattern: str, text: str) -> bool:
    """Whether the ECMA-262 `pattern` is found anywhere in `text`. Raises `ValueError` for a bad pattern."""
    return compile_pattern(pattern).find(text) is not None


@lru_cache(maxsize=1024)
def to_re2(pattern: str) -> str | None:
    """The pattern for RE2 (DuckDB, BigQuery, ClickHouse), or None where no exact translation is known."""
    return _translate(pattern, _RE2_REPEATS, "\\x{%04x}", word_boundary=True)


@lru_cache(maxsize=1024)
def to_postgres(pattern: str) -> str | None:
    """The pattern for PostgreSQL's advanced regular expressions, or None."""
    return _translate(pattern, _POSTGRES_REPEATS, "\\u%04x", word_boundary=False)


@lru_cache(maxsize=1024)
def to_java(pattern: str) -> str | None:
    """The pattern for Java's regular expressions (Spark, Databricks), or None."""
    translated = _translate(pattern, _RE2_REPEATS, "\\u%04x", word_boundary=False)
    # Java's `$` also stands before a line break that ends the text. A dollar that is meant as one is escaped.
    return None if translated is None else re.sub(r"\\.|\$", lambda one: "\\z" if one[0] == "$" else one[0], translated)


def _translate(pattern: str, repeats: int, unicode_form: str, word_boundary: bool) -> str | None:
    try:
        compile_pattern(pattern)
        translated = _Translator(pattern, repeats, word_boundary).translate()
    except (_Untranslatable, ValueError):
        return None  # `search` says what is wrong with an invalid one
    return re.sub(r"\\u([0-9a-f]{4})", lambda match: unicode_form % int(match[1], 16), translated)


class _Translator:
    """Reads a pattern once from left to right. Code points are written as `\\uXXXX` in between."""

    def __init__(self, pattern: str, repeats: int, word_boundary: bool) -> None:
        self.pattern, self.repeats, self.word_boundary = pattern, repeats, word_boundary
        self.at = 0

    def translate(self) -> str:
        out = []
        while self.at < len(self.pattern):
            out.append(self._next())
        return "".join(out)

    def _next(self) -> str:
        letter = self.pattern[self.at]
        if letter == "\\":
            return self._escape(inside=False)
        if letter == "[":
            return self._class()
        if letter == "(":
            return self._group()
        if letter == "{":
            return self._braces()
        self.at += 1
        if letter == ".":
            return _NOT_NEWLINE
        if letter in "^$" and not self._at_an_end(letter):
            raise _Untranslatable  # DuckDB rewrites constant patterns to LIKE and forgets such an anchor
        if letter in "^$)|*+?":
            return letter
        return _literal(letter)

    def _at_an_end(self, anchor: str) -> bool:
        """Whether the anchor just read begins or ends the pattern, a group or an alternative."""
        before, after = self.pattern[: self.at - 1], self.pattern[self.at :]
        if anchor == "^":
            return before == "" or (
                before.endswith(("(", "|", "(?:", ">")) and not before.endswith(("\\(", "\\|", "\\>"))
            )
        return after == "" or after.startswith((")", "|"))

    def _group(self) -> str:
        rest = self.pattern[self.at :]
        if not rest.startswith("(?"):
            self.at += 1
            return "("
        if rest.startswith("(?:"):
            self.at += 3
            return "(?:"
        named = re.match(r"\(\?<([A-Za-z_$][\w$]*)>", rest)
        if named is None:
            raise _Untranslatable
        self.at += named.end()
        return "(?:"

    def _braces(self) -> str:
        match = _QUANTIFIER.match(self.pattern, self.at)
        if match is None:
            self.at += 1
            return "\\{"
        if int(match[1]) > self.repeats or (match[3] and int(match[3]) > self.repeats):
            raise _Untranslatable
        self.at = match.end()
        return match[0]

    def _escape(self, inside: bool) -> str:
        if self.at + 1 >= len(self.pattern):
            raise _Untranslatable
        letter = self.pattern[self.at + 1]
        self.at += 2
        if letter in _CLASSES:
            return _CLASSES[letter] if inside else f"[{_CLASSES[letter]}]"
        if letter in "DWS":
            if inside:
                raise _Untranslatable
            return f"[^{_CLASSES[letter.lower()]}]"
        if letter == "b" and not inside and self.word_boundary:
            return "\\b"
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter in "xu":
            size = 2 if letter == "x" else 4
            digits = self.pattern[self.at : self.at + size]
            if not re.fullmatch(rf"[0-9a-fA-F]{{{size}}}", digits) or 0xD800 <= int(digits, 16) <= 0xDFFF:
                raise _Untranslatable
            self.at += size
            return _literal(chr(int(digits, 16)))
        if letter.isalnum():
            raise _Untranslatable
        return _literal(letter)

    def _class(self) -> str:
        self.at += 1
        out = ["["]
        if self._peek() == "^":
            out.append("^")
            self.at += 1
        if self._peek() in ("]", ""):
            raise _Untranslatable
        while self._peek() != "]":
            out.append(self._class_member())
        self.at += 1
        return "".join([*out, "]"])

    def _class_member(self) -> str:
        """One character, one shorthand or one range; a hyphen is a range only between two characters."""
        first, single = self._class_atom()
        if self._peek() != "-" or self._peek(1) in ("]", ""):
            return first
        self.at += 1
        last, also_single = self._class_atom()
        return f"{first}-{last}" if single and also_single else f"{first}\\-{last}"

    def _class_atom(self) -> tuple[str, bool]:
        letter = self._peek()
        if letter == "":
            raise _Untranslatable
        if letter == "\\":
            single = self._peek(1) not in _CLASSES
            return self._escape(inside=True), single
        self.at += 1
        return _literal(letter), True

    def _peek(self, ahead: int = 0) -> str:
        return self.pattern[self.at + ahead : self.at + ahead + 1]


def _literal(letter: str) -> str:
    code = ord(letter)
    if (letter.isalnum() and code < 128) or letter in " _":
        return letter
    if code < 32 or code == 127:
        return f"\\u{code:04x}"
    if code < 128:
        return f"\\{letter}"
    return f"\\u{code:04x}" if code <= 0xFFFF else letter
