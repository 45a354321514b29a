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
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from contract_checks.errors import ContractError, Location, Problem

Value: TypeAlias = "None | bool | int | float | Decimal | str | list[Any] | dict[str, Any]"
KeyPath: TypeAlias = tuple[str | int, ...]

MAX_BYTES = 5_000_000
"""The largest contract file that is read, in bytes."""
MAX_NODES = 200_000
"""The largest number of YAML nodes after aliases are expanded."""
MAX_DEPTH = 64
"""The deepest nesting that is read."""

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """PyYAML's loader with the implicit types of YAML 1.2 and no others."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


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

    def leaves(self) -> Iterator[tuple[KeyPath, Value]]:
        """Every scalar, empty list and empty mapping of the document with its path."""
        yield from _leaves(self.data, ())


def json_path(path: KeyPath) -> str:
    """`("schema", 0, "a b")` as the JSONPath `$.schema[0]['a b']`."""
    text = "$"
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            text += f".{key}"
        else:
            text += "['" + key.replace("\\", "\\\\").replace("'", "\\'") + "']"
    return text


def read_document(path: str | Path, max_bytes: int = MAX_BYTES) -> Document:
    """Read the YAML or JSON file at `path`.

    Raises `ContractError` with every problem found: the file is absent, too large, not UTF-8, not YAML,
    empty, or has duplicate keys.
    """
    file = str(path)
    try:
        size = Path(path).stat().st_size
        if size > max_bytes:
            raise ContractError(
                [_problem(file, f"the file has {size:,} bytes; a contract may have {max_bytes:,} at most", "split it")]
            )
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContractError([_problem(file, f"the file is not UTF-8 text: {error.reason} at byte {error.start}")]) from error
    except OSError as error:
        raise ContractError([_problem(file, f"the file cannot be read: {error.strerror or error}")]) from error
    return parse_document(text, file, max_bytes)


def parse_document(text: str, file: str = "<text>", max_bytes: int = MAX_BYTES) -> Document:
    """Parse YAML `text` that came from `file`. Raises `ContractError` as `read_document` does."""
    if len(text) > max_bytes:
        raise ContractError(
            [_problem(file, f"the text has {len(text):,} characters; a contract may have {max_bytes:,} at most", "split it")]
        )
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        parts = [part for part in (error.problem, error.context) if part]
        raise ContractError([_problem(file, f"not valid YAML: {', '.join(parts)}", line=line)]) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ContractError([_problem(file, f"not valid YAML: {error}")]) from error
    if node is None:
        raise ContractError([_problem(file, "the file is empty", "a contract is a YAML mapping")])
    builder = _Builder(file)
    data = builder.build(node, (), frozenset())
    if builder.problems:
        raise ContractError(builder.problems)
    return Document(file, data, hashlib.sha256(text.encode()).hexdigest(), builder.lines)


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
        self._nodes += 1
        line = node.start_mark.line + 1
        if self._nodes > MAX_NODES:
            message = f"the YAML grows beyond {MAX_NODES:,} nodes when its aliases are expanded"
            raise ContractError([_problem(self.file, message, line=line)])
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
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, parents: frozenset[int]) -> Value:
        values: dict[str, Any] = {}
        merged: list[tuple[yaml.Node, yaml.Node]] = []
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged += self._merged(value_node, path, line)
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(_problem(self.file, "a key must be text, not a list or mapping", line=line, path=path))
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

    def _merged(self, node: yaml.Node, path: KeyPath, line: int) -> list[tuple[yaml.Node, yaml.Node]]:
        mappings = node.value if isinstance(node, yaml.SequenceNode) else [node]
        pairs: list[tuple[yaml.Node, yaml.Node]] = []
        for mapping in mappings:
            if isinstance(mapping, yaml.MappingNode):
                pairs += mapping.value
            else:
                self.problems.append(_problem(self.file, "'<<' must name a mapping", line=line, path=path))
        return pairs

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Value:
        text, kind = str(node.value), str(node.tag).rsplit(":", 1)[-1]
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind == "int":
            try:
                return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            except ValueError:  # more digits than Python converts at once
                return Decimal(text)
        if kind == "float":
            lowered = text.lower()
            if lowered.endswith((".inf", ".nan")):
                return float(lowered.replace(".", ""))
            return Decimal(text)
        if kind not in ("str", "timestamp"):
            line = node.start_mark.line + 1
            self.problems.append(_problem(self.file, f"the YAML tag '{node.tag}' is not allowed", line=line, path=path))
        return text


def _leaves(value: Value, path: KeyPath) -> Iterator[tuple[KeyPath, Value]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index))
    else:
        yield path, value
