"""What evaluating a rule needs whatever the dialect: errors, limits, scopes, and the walk through a rule.

Nothing here can do more than compute: an operator is a function of this package, a rule is copied before
it is walked, and every walk pays for each step from a budget.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from functools import cached_property
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeAlias, runtime_checkable
from uuid import UUID

from contract_checks.errors import ContractChecksError

MAX_OPERATORS_DEEP = 50
"""How deep operators may be nested in a rule."""
MAX_DEPTH = 200
"""How deep lists and objects may be nested in a rule, in data or in a result."""
MAX_NODES = 1_000_000
"""How many values a rule, its data, a list or a result may have, and how many characters a text that is built."""
MAX_RESULT = 100_000
"""How many values a result may have."""
MAX_STEPS = 200_000
"""How much an evaluation may do: values evaluated, items visited, and a step for every 100 characters of text."""


class JsonLogicError(ContractChecksError):
    """A rule cannot be evaluated; the message is a sentence that says why."""


class RuleError(JsonLogicError):
    """What should be a rule (or its data) is no JSON, or no rule of the dialect."""


class UnknownOperatorError(JsonLogicError):
    """The dialect has no such operator."""


class ArgumentError(JsonLogicError):
    """An operator cannot work on its arguments."""


class LimitError(JsonLogicError):
    """A rule, its data or its result is too deep or too large, or evaluating it would take too long."""


class LookupNeededError(JsonLogicError):
    """The verdict depends on people or data products that only a directory knows (see `Directory`)."""


@runtime_checkable
class Directory(Protocol):
    """Who belongs to which team, and which data product to which domain, for operators that ask."""

    def teams_of(self, user: str) -> Collection[str]:
        """The ids of the teams of a user."""

    def domains_of(self, data_product: str) -> Collection[str]:
        """The fully qualified names of the domains of a data product."""


# --------------------------------------------------------------------------- scopes


@dataclass
class Run:
    """One evaluation: what it may still do, and whom it can ask."""

    walk: Callable[[Any, Scope], Any]
    directory: Directory | None = None
    steps: int = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        """Pay for work. Raises `LimitError` when nothing is left."""
        self.steps -= steps
        if self.steps < 0:
            raise LimitError(f"the rule takes more than {MAX_STEPS:,} steps")

    def spend_text(self, *texts: str) -> None:
        """Pay for reading or writing text."""
        self.spend(1 + sum(map(len, texts)) // 100)

    def built(self, size: int) -> None:
        """Raises `LimitError` if a text or list of that size must not be built."""
        if size > MAX_NODES:
            raise LimitError(f"the rule builds a text or list of more than {MAX_NODES:,} items")


class Scope:
    """The data an operator sees. It is a box, and so never mistaken for no data when it holds 0 or null."""

    __slots__ = ("run", "value")

    def __init__(self, value: Any, run: Run) -> None:
        self.value = value
        self.run = run

    def evaluate(self, rule: Any) -> Any:
        """The value of a part of the rule in this scope."""
        return self.run.walk(rule, self)

    def within(self, value: Any) -> Scope:
        """The scope in which `value` is all the data."""
        self.run.spend()
        return Scope(value, self.run)


Operator: TypeAlias = Callable[..., Any]
"""`(scope, *arguments) -> value`; a lazy operator gets its arguments unevaluated."""


@dataclass(frozen=True)
class Language:
    """A dialect of JSON Logic: its operators, and how values of rules and data are taken.

    `single_key` says that an object with any other number of keys than one is no rule and no literal.
    `rule_number` and `data_number` turn a number into the dialect's own.
    """

    name: str
    lazy: Mapping[str, Operator]
    eager: Mapping[str, Operator]
    single_key: bool
    rule_number: Callable[[int | float], int | float]
    data_number: Callable[[int | float], int | float]
    undefined: object = None

    @property
    def operators(self) -> frozenset[str]:
        """The names of all operators."""
        return frozenset(self.lazy) | frozenset(self.eager)

    @cached_property
    def walk(self) -> Callable[[Any, Scope], Any]:
        """The walk through a rule, made when the first one is evaluated."""
        return guarded(self, library_walker(self) or own_walker(self))


# --------------------------------------------------------------------------- walks

_DISTRIBUTION = "json-logic-qubit"
_DIGEST = "a21639d4db177c43fa6baa7ca6485bf29341fcb8a875226267b61ffbfeca3a6e"
"""SHA-256 of the one file of release 0.9.1, whose private tables are replaced below."""

_Walker: TypeAlias = Callable[[Callable[[Any, Scope], Any]], Callable[[Any, Scope], Any]]
"""Given the walk for the parts of a rule, the walk for one node of it."""


def guarded(language: Language, walker: _Walker) -> Callable[[Any, Scope], Any]:
    """A walk that pays for every node and knows every operator before its arguments are evaluated."""

    def walk(rule: Any, scope: Scope) -> Any:
        scope.run.spend()
        if isinstance(rule, dict) and len(rule) == 1:
            (operator,) = rule
            if operator not in language.lazy and operator not in language.eager:
                raise UnknownOperatorError(f"there is no operator '{shown(operator)}'")
        elif not isinstance(rule, list):
            return rule
        return node(rule, scope)

    node = walker(walk)
    return walk


def library_walker(language: Language) -> _Walker | None:
    """The walk of json-logic-qubit, from a private copy of its module whose operators are `language`'s.

    The module as installed evaluates any Python its rules ask for (`method`) and keeps its operators for the
    whole process, so it is neither imported nor called; in the copy no operator of its own is left. None if
    the file is not the one this was written for, as when another distribution has overwritten it.
    """
    try:
        located = metadata.distribution(_DISTRIBUTION).locate_file("json_logic/__init__.py")
        source = Path(str(located))
        if hashlib.sha256(source.read_bytes()).hexdigest() != _DIGEST:
            return None
        module = _private_copy(source, language.name)
    except (metadata.PackageNotFoundError, OSError, ImportError):
        return None
    tables: dict[str, Any] = vars(module)
    tables["_logical_operations"] = dict(language.lazy)
    tables["_data_operations"] = dict(language.eager)
    for unused in ("_scoped_operations", "_common_operations", "_unsupported_operations", "_custom_operations"):
        tables[unused] = {}
    original: Callable[[Any, Scope], Any] = tables["jsonLogic"]

    def walker(walk: Callable[[Any, Scope], Any]) -> Callable[[Any, Scope], Any]:
        tables["jsonLogic"] = walk  # its recursion comes through the guard
        return original

    return walker


def _private_copy(source: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{__package__}._walker_{name}", source)
    if spec is None or spec.loader is None:
        raise ImportError(f"{source} is no module")
    module = importlib.util.module_from_spec(spec)
    assert spec.name not in sys.modules
    spec.loader.exec_module(module)
    return module


def own_walker(language: Language) -> _Walker:
    """The same walk without json-logic-qubit."""

    def walker(walk: Callable[[Any, Scope], Any]) -> Callable[[Any, Scope], Any]:
        def node(rule: Any, scope: Scope) -> Any:
            if isinstance(rule, list):
                return [walk(part, scope) for part in rule]
            if not isinstance(rule, dict) or len(rule) != 1:
                return rule
            ((operator, values),) = rule.items()
            arguments = values if isinstance(values, list) else [values]
            if operator in language.lazy:
                return language.lazy[operator](scope, *arguments)
            return language.eager[operator](scope, *(walk(part, scope) for part in arguments))

        return node

    return walker


# --------------------------------------------------------------------------- values in and out


def shown(text: str, length: int = 60) -> str:
    """A text on one line, cut where it gets long."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def copy_json(
    value: Any,
    number: Callable[[int | float], int | float],
    what: str,
    undefined: object = None,
    most: int = MAX_NODES,
) -> Any:
    """A copy of a JSON value in plain lists and dicts, its numbers turned by `number`.

    Decimals become floats; dates and UUIDs their text, as JSON would have them. Raises `RuleError` for what
    JSON cannot hold, `LimitError` for what is too deep or too large.
    """
    left = most

    def copy(item: Any, depth: int) -> Any:
        nonlocal left
        left -= 1 + len(item) // 100 if isinstance(item, str) else 1
        if left < 0:
            raise LimitError(f"the {what} has more than {most:,} values, or is as large")
        if item is None or isinstance(item, str | bool):
            return item
        if item is undefined:
            return None
        if isinstance(item, int | float):
            return number(item)
        if isinstance(item, Decimal):
            return number(int(item) if item == item.to_integral_value() and "." not in str(item) else float(item))
        if isinstance(item, date | time):
            return item.isoformat()
        if isinstance(item, UUID):
            return str(item)
        if depth >= MAX_DEPTH:
            raise LimitError(f"the {what} is nested more than {MAX_DEPTH} deep")
        if isinstance(item, Mapping):
            return {str(key): copy(part, depth + 1) for key, part in item.items()}
        if isinstance(item, list | tuple):
            return [copy(part, depth + 1) for part in item]
        raise RuleError(f"the {what} holds a {type(item).__name__}, which JSON does not have")

    return copy(value, 0)


def check_rule(rule: Any, language: Language) -> None:
    """Refuse a rule that is too deep, too large, or (where the dialect says so) has an object of several keys.

    Raises `LimitError` and `RuleError`. A rule that cannot be reached is checked too, as a parser would.
    """
    for nodes, (node, operators, depth) in enumerate(walk_rule(rule)):
        if operators > MAX_OPERATORS_DEEP:
            raise LimitError(f"the rule nests operators more than {MAX_OPERATORS_DEEP} deep")
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            raise LimitError(f"the rule is nested more than {MAX_DEPTH} deep or has more than {MAX_NODES:,} values")
        if language.single_key and isinstance(node, Mapping) and len(node) != 1:
            keys = ", ".join(f"'{shown(str(key), 20)}'" for key in list(node)[:4]) or "none"
            raise RuleError(f"an object of a rule has exactly one key, its operator; this one has {len(node)}: {keys}")


def walk_rule(rule: Any) -> Iterator[tuple[Any, int, int]]:
    """Every node of a rule, parents first, with how many operators and how many containers are around it."""
    pending: list[tuple[Any, int, int]] = [(rule, 0, 0)]
    while pending:
        node, operators, depth = pending.pop()
        inside = operators + (isinstance(node, Mapping) and len(node) == 1)
        yield node, inside, depth
        if isinstance(node, Mapping):
            pending += [(part, inside, depth + 1) for part in reversed(list(node.values()))]
        elif isinstance(node, list | tuple):
            pending += [(part, inside, depth + 1) for part in reversed(node)]
