"""YAML text → plain values that remember their lines.

Contracts are read by the rules of YAML 1.2's core schema, as their standards assume: a date stays the
text it is, `NO` is a country, `10:00` is not 600, `1.10` keeps its digits as a `Decimal`. Files are
untrusted, so size, nesting and the growth by aliases are limited, and a duplicate key is an error.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import yaml

from contract_checks.dialects.inputs import MAX_BYTES, TooLargeError, read_bytes
from contract_checks.errors import ContractError, Location, Problem

Value: TypeAlias = "None | bool | int | float | Decimal | str | list[Any] | dict[str, Any]"
KeyPath: TypeAlias = tuple[str | int, ...]

MAX_NODES = 200_000
"""The largest number of YAML nodes after aliases are expanded."""
MAX_DEPTH = 64
"""The deepest nesting that is read."""
MAX_DIGITS = 1_000
"""The most digits a number may have, written out."""

_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """PyYAML's loader with the implicit types of YAML 1.2 and no others."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}


_IMPLICIT: tuple[tuple[str, str, str], ...] = (
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+0123456789.",
    ),
    ("tag:yaml.org,2002:merge", r"^<<$", "<"),
)
_PATTERNS = {tag.rsplit(":", 1)[-1]: pattern for tag, pattern, _ in _IMPLICIT}
for _tag, _pattern, _first in _IMPLICIT:
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), ["" if letter == "\0" else letter for letter in _first])


@dataclass(frozen=True)
class Document:
    """A parsed contract file: its value and where every part of it stands.

    `data` is made of `dict`, `list`, `str`, `int`, `Decimal`, `bool` and None. `lines` maps a path of keys
    and indexes to its line, counted from 1.
    """

    file: str
    data: Value
    digest: str = ""
    lines: Mapping[KeyPath, int] = field(default_factory=dict, repr=False)

    def location(self, *path: str | int) -> Location:
        """Where the value at `path` stands; the nearest parent's place if there is no such value."""
        known: KeyPath = path
        while known and known not in self.lines:
            known = known[:-1]
        return Location(self.file, self.lines.get(known, 1), json_path(path))

    def problem(self, message: str, *path: str | int, hint: str = "", error: bool = True) -> Problem:
        """A `Problem` about the value at `path`."""
        return Problem(message, self.location(*path), "error" if error else "warning", hint)

    def unknown_key(self, *path: str | int, hint: str = "", error: bool = True) -> Problem:
        """The `Problem` that the last key of `path` means nothing here."""
        message = f"the key '{path[-1]}' is not known here"
        return Problem(message, self.location(*path), "error" if error else "warning", hint, "unknown key")

    def leaves(self) -> Iterator[tuple[KeyPath, Value]]:
        """Every scalar, empty list and empty mapping of the document with its path."""
        yield from _leaves(self.data, ())


@lru_cache(maxsize=16_384)
def json_path(path: KeyPath) -> str:
    """`("schema", 0, "a b")` as the JSONPath `$.schema[0]['a b']`."""
    return "$" + "".join([_step(key) for key in path])


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    if _WORD.fullmatch(key):
        return f".{key}"
    return "['" + key.replace("\\", "\\\\").replace("'", "\\'") + "']"


def read_document(path: str | Path, max_bytes: int = MAX_BYTES) -> Document:
    """Read the YAML or JSON file at `path`.

    Raises `ContractError` with every problem found: the file is absent, too large, not UTF-8, not YAML,
    empty, or has duplicate keys.
    """
    file = str(path)
    try:
        text = read_bytes(path, max_bytes).decode("utf-8-sig")
    except TooLargeError as error:
        message = f"the file has {error.args[0]:,} bytes; a contract may have {max_bytes:,} at most"
        raise ContractError([_problem(file, message, "split it")]) from None
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8 text: {error.reason} at byte {error.start}"
        raise ContractError([_problem(file, message)]) from error
    except OSError as error:
        raise ContractError([_problem(file, f"the file cannot be read: {error.strerror or error}")]) from error
    return parse_document(text, file, max_bytes)


def parse_document(text: str, file: str = "<text>", max_bytes: int = MAX_BYTES) -> Document:
    """Parse YAML `text` that came from `file`. Raises `ContractError` as `read_document` does."""
    if len(text) > max_bytes:
        message = f"the text has {len(text):,} characters; a contract may have {max_bytes:,} at most"
        raise ContractError([_problem(file, message, "split it")])
    try:
        loader = _Loader(_as_yaml(text))
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise ContractError([_syntax_problem(error, text, file)]) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        message = str(error).partition("\n")[0]
        raise ContractError([_problem(file, f"not valid YAML: {message}")]) from error
    if node is None:
        raise ContractError([_problem(file, "the file is empty", "a contract is a YAML mapping")])
    builder = _Builder(file)
    data = builder.build(node, (), frozenset())
    if builder.problems:
        raise ContractError(builder.problems)
    return Document(file, data, hashlib.sha256(text.encode()).hexdigest(), builder.lines)


def _as_yaml(text: str) -> str:
    """JSON as YAML reads it: YAML has no surrogate pairs, in which JSON may spell an emoji."""
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return text

    def letter(match: re.Match[str]) -> str:
        high, low = int(match[2], 16), int(match[3], 16)
        return match[1] + chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))

    return _SURROGATES.sub(letter, text)


_BRACES_IN_VALUE = re.compile(r"[:,{]\s*[^\s'\"{\[,:][^'\",]*[{}\[\]]\S")
_SYNTAX_HINTS = {
    "mapping values are not allowed": "a value with ': ' in it belongs in quotes",
    "cannot start any token": "a value that begins with such a character belongs in quotes",
    "unknown escape character": "in double quotes a backslash is written twice; in single quotes once",
    "undefined alias": "a value that begins with '*' belongs in quotes",
    "scanning an alias": "a value that begins with '*' belongs in quotes",
}
"""What to do about the mistakes that people make most, by the words of the YAML parser."""


def _syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    number = mark.line + 1 if mark else 1
    said = ", ".join(part for part in (error.problem, error.context) if part)
    lines = text.splitlines()
    line = lines[number - 1] if number <= len(lines) else ""
    hint = next((hint for words, hint in _SYNTAX_HINTS.items() if words in said), "")
    if "\t" in line[: len(line) - len(line.lstrip())]:
        hint = "a tab cannot indent; use spaces"
    elif "flow" in said and _BRACES_IN_VALUE.search(line):
        hint = "a value with { } [ ] or a comma in it belongs in quotes"
    return _problem(file, f"not valid YAML: {said}", hint, number)


def _problem(file: str, message: str, hint: str = "", line: int = 1, path: KeyPath = ()) -> Problem:
    return Problem(message, Location(file, line, json_path(path)), "error", hint)


class _Builder:
    """Walks YAML nodes once, building values and noting lines and problems."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._nodes = 0

    def build(self, node: yaml.Node, path: KeyPath, parents: frozenset[int]) -> Value:
        line = node.start_mark.line + 1
        self._count(line)
        if len(path) > MAX_DEPTH:
            raise ContractError([_problem(self.file, f"the YAML is nested deeper than {MAX_DEPTH} levels", line=line)])
        if id(node) in parents:
            raise ContractError([_problem(self.file, "an alias contains itself", line=line, path=path)])
        self.lines.setdefault(path, line)
        if not isinstance(node, yaml.ScalarNode) and node.tag not in ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            self.problems.append(_problem(self.file, f"the YAML tag '{node.tag}' is not allowed", "", line, path))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, parents | {id(node)})
        if isinstance(node, yaml.SequenceNode):
            inside = parents | {id(node)}
            return [self.build(item, (*path, index), inside) for index, item in enumerate(node.value)]
        return self._scalar(node, path) if isinstance(node, yaml.ScalarNode) else None

    def _count(self, line: int) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            message = f"the YAML grows beyond {MAX_NODES:,} nodes when its aliases are expanded"
            raise ContractError([_problem(self.file, message, line=line)])

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, parents: frozenset[int]) -> Value:
        values: dict[str, Any] = {}
        merged: list[tuple[yaml.Node, yaml.Node]] = []
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged += self._merged(value_node, path, line, parents)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                message = "a key must be text, not a list or mapping"
                self.problems.append(_problem(self.file, message, line=line, path=path))
                continue
            key = key_node.value
            if key in values:
                first = self.lines[(*path, key)]
                message = f"the key '{key}' occurs twice: first in line {first}"
                self.problems.append(_problem(self.file, message, "keep one of them", line, (*path, key)))
                continue
            self.lines[(*path, key)] = line
            values[key] = self.build(value_node, (*path, key), parents)
        for key_node, value_node in merged:
            if isinstance(key_node, yaml.ScalarNode) and key_node.value not in values:
                values[key_node.value] = self.build(value_node, (*path, key_node.value), parents)
        return values

    def _merged(
        self, node: yaml.Node, path: KeyPath, line: int, parents: frozenset[int]
    ) -> list[tuple[yaml.Node, yaml.Node]]:
        """The pairs that `<<` brings in, nearest first; a mapping may bring in others in turn."""
        if id(node) in parents:
            raise ContractError([_problem(self.file, "an alias contains itself", line=line, path=path)])
        inside = parents | {id(node)}
        if isinstance(node, yaml.SequenceNode):
            return [pair for mapping in node.value for pair in self._merged(mapping, path, line, inside)]
        if not isinstance(node, yaml.MappingNode):
            self.problems.append(_problem(self.file, "'<<' must name a mapping", line=line, path=path))
            return []
        pairs: list[tuple[yaml.Node, yaml.Node]] = []
        further: list[tuple[yaml.Node, yaml.Node]] = []
        for key_node, value_node in node.value:
            self._count(line)
            if key_node.tag == "tag:yaml.org,2002:merge":
                further += self._merged(value_node, path, line, inside)
            else:
                pairs.append((key_node, value_node))
        return pairs + further

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Value:
        text, kind = str(node.value), str(node.tag).rsplit(":", 1)[-1]
        line = node.start_mark.line + 1
        if kind in ("str", "timestamp"):
            return text
        if kind not in ("null", "bool", "int", "float"):
            self.problems.append(_problem(self.file, f"the YAML tag '{node.tag}' is not allowed", line=line, path=path))
            return text
        if not re.match(_PATTERNS[kind], text):
            self.problems.append(_problem(self.file, f"'{text[:40]}' is no {kind}", "remove the tag", line, path))
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind == "float" and text.lower().endswith((".inf", ".nan")):
            return float(text.lower().replace(".", ""))
        number = Decimal(int(text[:MAX_DIGITS], 0)) if text[:2] in ("0o", "0x") else Decimal(text)
        if len(text) > 2 * MAX_DIGITS or abs(number.adjusted()) > MAX_DIGITS:
            message = f"the number '{text[:20]}…' has more than {MAX_DIGITS:,} digits"
            self.problems.append(_problem(self.file, message, line=line, path=path))
            return text
        return int(number) if kind == "int" else number


def _leaves(value: Value, path: KeyPath) -> Iterator[tuple[KeyPath, Value]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index))
    else:
        yield path, value
