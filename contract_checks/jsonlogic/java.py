"""The language as json-logic-java 1.0.9 has it, the library inside OpenMetadata's rule engine.

Where it parts from JavaScript it is followed all the same: the verdict wanted is OpenMetadata's. A message
that names Java tells of an exception that OpenMetadata would raise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from contract_checks.jsonlogic.engine import ArgumentError, Operator, Run, Scope
from contract_checks.jsonlogic.values import (
    divide,
    double,
    is_number,
    java_double_text,
    java_int,
    java_number,
    remainder,
    slice_units,
    units,
)

# --------------------------------------------------------------------------- values


def data_number(number: int | float) -> int | float:
    """A number of the data: it stays as it is written, for lists print and compare it so."""
    return number if isinstance(number, float) or abs(number) < 2**63 else double(number)


def as_double(value: Any) -> Any:
    """A value as an operator gets it: every number is a double."""
    return double(value) if is_number(value) else value


def truthy(value: Any) -> bool:
    """Null, false, 0, NaN, empty text and the empty list are not; an empty object is."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return isinstance(value, dict) or bool(value)


def _to_text(value: Any, run: Run) -> str:
    """`toString()`; null has none."""
    if value is None:
        raise ArgumentError("a missing value or null cannot be made text (Java's NullPointerException)")
    return _printed(value, run, [0])


def _printed(value: Any, run: Run, size: list[int]) -> str:
    """A value as Java prints it, with the size of everything printed so far."""
    run.spend()
    if isinstance(value, list | dict):
        opening, closing = ("[", "]") if isinstance(value, list) else ("{", "}")
        parts = (
            [_printed(item, run, size) for item in value]
            if isinstance(value, list)
            else [f"{key}={_printed(item, run, size)}" for key, item in value.items()]
        )
        text = f"{opening}{', '.join(parts)}{closing}"
    elif value is None or isinstance(value, bool):
        text = {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, float):
        text = java_double_text(value)
    else:
        text = str(value)
    size[0] += len(text)
    run.built(size[0])
    run.spend_text(text)
    return text


def same(a: Any, b: Any, run: Run) -> bool:
    """`equals()`: by content, a double never equal to an integer, NaN equal to itself."""
    run.spend()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, run) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(value, b[key], run) for key, value in a.items())
    if isinstance(a, float) and isinstance(b, float):
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, str) and isinstance(b, str):
        run.spend_text(a)
    return type(a) is type(b) and bool(a == b)


def _strict_equal(a: Any, b: Any, run: Run) -> bool:
    if is_number(a) and is_number(b):
        return double(a) == double(b)
    return a is b or same(a, b, run)


def _loose_equal(a: Any, b: Any, run: Run) -> bool:
    if a is None or b is None:
        return a is None and b is None
    if isinstance(a, list | dict) or isinstance(b, list | dict):
        return not truthy(a) and not truthy(b)
    if is_number(a) and is_number(b):
        return same(double(a), double(b), run)
    if type(a) is type(b):
        run.spend_text(*(value for value in (a, b) if isinstance(value, str)))
        return bool(a == b)
    if isinstance(a, bool) or isinstance(b, bool):
        flag, other = (a, b) if isinstance(a, bool) else (b, a)
        return truthy(other) is flag if isinstance(other, str) else double(other) == float(flag)
    number, text = (a, b) if is_number(a) else (b, a)
    run.spend_text(text)
    return (java_number(text) if text.strip("".join(map(chr, range(0x21)))) else 0.0) == double(number)


def _number(value: Any, run: Run) -> float | None:
    """A number or numeric text as a double, else None."""
    if isinstance(value, str):
        run.spend_text(value)
        return java_number(value)
    return double(value) if is_number(value) else None


# --------------------------------------------------------------------------- arguments


def eager(function: Callable[[Scope, Sequence[Any]], Any]) -> Operator:
    """An operator on its evaluated arguments; a single argument that is a list stands for its items."""

    def operator(scope: Scope, *arguments: Any) -> Any:
        if len(arguments) == 1 and isinstance(arguments[0], list):
            scope.run.spend(len(arguments[0]))
            return function(scope, [as_double(item) for item in arguments[0]])
        return function(scope, arguments)

    return operator


def exactly(count: int, name: str, arguments: Sequence[Any]) -> None:
    """Raises `ArgumentError` unless there are `count` arguments."""
    if len(arguments) != count:
        raise ArgumentError(f"'{name}' takes exactly {count} arguments, not {len(arguments)}")


# --------------------------------------------------------------------------- data


def java_split(path: str) -> list[str]:
    """A path at its dots; empty parts at the end are none."""
    parts = path.split(".")
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _step(data: Any, key: str) -> Any:
    if isinstance(data, dict):
        return as_double(data.get(key))
    if not isinstance(data, list):
        return None
    if not re.fullmatch(r"[+-]?[0-9]{1,10}", key):
        raise ArgumentError(f"a list has no field '{key[:40]}'; its items are reached by their number, or with 'some'")
    index = int(key)
    return as_double(data[index]) if 0 <= index < len(data) else None


def _var(scope: Scope, *arguments: Any) -> Any:
    """`var`: its default is evaluated first and sees no data; a null that is there takes the default too."""
    default = scope.within(None).evaluate(arguments[1]) if len(arguments) > 1 else None
    if scope.value is None:
        return default
    key = scope.evaluate(arguments[0]) if arguments else None
    if key is None or key == "":
        return as_double(scope.value)
    if is_number(key):
        index = java_int(key)
        there = isinstance(scope.value, list) and 0 <= index < len(scope.value)
        return as_double(scope.value[index]) if there else default
    if not isinstance(key, str):
        raise ArgumentError("the name of a 'var' is text or a number")
    scope.run.spend_text(key)
    found = scope.value
    for part in java_split(key):
        found = _step(found, part)
        if found is None:
            return default
    return as_double(found)


def _flat_keys(data: dict[str, Any], prefix: str, run: Run) -> set[str]:
    keys: set[str] = set()
    for key, value in data.items():
        run.spend_text(prefix, key)
        if isinstance(value, dict):
            keys |= _flat_keys(value, f"{prefix}{key}.", run)
        else:
            keys.add(prefix + key)
    return keys


def _required(scope: Scope, keys: Sequence[Any]) -> list[Any]:
    """The keys that the data does not have, each once."""
    provided = _flat_keys(scope.value, "", scope.run)
    texts = dict.fromkeys(key for key in keys if isinstance(key, str))
    found: list[Any] = []
    for key in keys:
        if isinstance(key, str):
            if key in texts and key not in provided:
                found.append(key)
            texts.pop(key, None)
        elif not any(same(key, other, scope.run) for other in found):
            found.append(key)
    return found


def _missing(scope: Scope, arguments: Sequence[Any]) -> list[Any]:
    return _required(scope, arguments) if isinstance(scope.value, dict) else list(arguments)


def _missing_some(scope: Scope, arguments: Sequence[Any]) -> list[Any]:
    if len(arguments) < 2 or not is_number(arguments[0]) or not isinstance(arguments[1], list):
        raise ArgumentError("'missing_some' takes a number and a list of keys")
    need, keys = java_int(arguments[0]), arguments[1]
    if not isinstance(scope.value, dict):
        return [] if need <= 0 else keys
    required = _required(scope, [as_double(key) for key in keys])
    return [] if len(keys) - len(required) >= need else required


# --------------------------------------------------------------------------- lazy operators


def _if(scope: Scope, *arguments: Any) -> Any:
    for index in range(0, len(arguments) - 1, 2):
        if truthy(scope.evaluate(arguments[index])):
            return scope.evaluate(arguments[index + 1])
    return scope.evaluate(arguments[-1]) if len(arguments) % 2 else None


def _logic(name: str, stop: bool) -> Operator:
    def operator(scope: Scope, *arguments: Any) -> Any:
        if not arguments:
            raise ArgumentError(f"'{name}' takes at least one argument")
        value: Any = None
        for argument in arguments:
            value = scope.evaluate(argument)
            if truthy(value) is stop:
                break
        return value

    return operator


def _items(scope: Scope, value: Any) -> list[Any]:
    scope.run.spend(len(value))
    return [as_double(item) for item in value]


def _listed(name: str, scope: Scope, arguments: Sequence[Any], null_too: bool) -> list[Any] | None:
    exactly(2, name, arguments)
    found = scope.evaluate(arguments[0])
    if isinstance(found, list):
        return _items(scope, found)
    if found is None and not null_too:
        return None
    raise ArgumentError(f"'{name}' works on a list, not on {_kind(found)}")


def _kind(value: Any) -> str:
    if value is None:
        return "null or a missing value"
    kinds = {bool: "true or false", str: "text", dict: "an object", list: "a list"}
    return kinds.get(type(value), "a number")


def _has(name: str, wanted: bool) -> Operator:
    def operator(scope: Scope, *arguments: Any) -> bool:
        items = _listed(name, scope, arguments, null_too=False) or ()
        return any(truthy(scope.within(item).evaluate(arguments[1])) for item in items) is wanted

    return operator


def _all(scope: Scope, *arguments: Any) -> bool:
    items = _listed("all", scope, arguments, null_too=False) or ()
    return bool(items) and all(truthy(scope.within(item).evaluate(arguments[1])) for item in items)


def _filter(scope: Scope, *arguments: Any) -> list[Any]:
    items = _listed("filter", scope, arguments, null_too=True) or ()
    return [item for item in items if truthy(scope.within(item).evaluate(arguments[1]))]


def _map(scope: Scope, *arguments: Any) -> list[Any]:
    exactly(2, "map", arguments)
    found = scope.evaluate(arguments[0])
    items = _items(scope, found) if isinstance(found, list) else ()
    return [scope.within(item).evaluate(arguments[1]) for item in items]


def _reduce(scope: Scope, *arguments: Any) -> Any:
    exactly(3, "reduce", arguments)
    found = scope.evaluate(arguments[0])
    value = scope.evaluate(arguments[2])
    for item in _items(scope, found) if isinstance(found, list) else ():
        value = scope.within({"current": item, "accumulator": value}).evaluate(arguments[1])
    return value


# --------------------------------------------------------------------------- eager operators


def _equality(name: str, compare: Callable[[Any, Any, Run], bool], wanted: bool) -> Operator:
    def function(scope: Scope, arguments: Sequence[Any]) -> bool:
        exactly(2, name, arguments)
        return compare(arguments[0], arguments[1], scope.run) is wanted

    return eager(function)


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _comparison(name: str) -> Operator:
    compare = _COMPARE[name]

    def function(scope: Scope, arguments: Sequence[Any]) -> bool:
        if len(arguments) < 2:
            raise ArgumentError(f"'{name}' takes at least 2 arguments, not {len(arguments)}")
        numbers: list[float] = []
        for argument in arguments[:3]:
            number = _number(argument, scope.run)
            if number is None:
                return False
            numbers.append(number)
        if len(arguments) == 3:
            if name in (">", ">="):
                raise ArgumentError(f"'{name}' does not take three arguments; write 'between' with '<' or '<='")
            return compare(numbers[0], numbers[1]) and compare(numbers[1], numbers[2])
        return compare(numbers[0], numbers[1])

    return eager(function)


def _math(name: str, reducer: Callable[[float, float], float], most: int = 0) -> Operator:
    def function(scope: Scope, arguments: Sequence[Any]) -> float | None:
        if len(arguments) == 1:
            (only,) = arguments
            if name == "+" and isinstance(only, str):
                parsed = _number(only, scope.run)
                if parsed is None:
                    raise ArgumentError("'+' got a text that is no number (Java's NumberFormatException)")
                return parsed
            if name == "-" and is_number(only):
                return -double(only)
            if name == "/":
                return None
        numbers = [_number(argument, scope.run) for argument in arguments]
        if not numbers or None in numbers:
            return None
        known = [number for number in numbers if number is not None]
        total = known[0]
        for number in known[1 : most or None]:
            total = reducer(total, number)
        return total

    return eager(function)


def _least(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


def _most(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def _not(scope: Scope, arguments: Sequence[Any]) -> bool:
    return not (arguments and truthy(arguments[0]))


def _not_not(scope: Scope, arguments: Sequence[Any]) -> bool:
    return not _not(scope, arguments)


def _cat(scope: Scope, arguments: Sequence[Any]) -> str:
    parts: list[str] = []
    size = 0
    for argument in arguments:
        part = _to_text(argument, scope.run)
        if isinstance(argument, float) and part.endswith(".0"):
            part = str(java_int(argument))
        size += len(part)
        scope.run.built(size)
        parts.append(part)
    return "".join(parts)


def _substr(scope: Scope, arguments: Sequence[Any]) -> str:
    if not 2 <= len(arguments) <= 3 or not all(map(is_number, arguments[1:])):
        raise ArgumentError("'substr' takes a text, where to start, and perhaps how many characters")
    text = _to_text(arguments[0], scope.run)
    size = units(text)
    start = java_int(arguments[1])
    start = size + start if start < 0 else start
    if len(arguments) == 2:
        if start < 0:
            return ""
        end = size
    else:
        end = java_int(arguments[2])
        end = size + end if end < 0 else start + end
        if start > end or end > size:
            return ""
    if start < 0 or start > end:
        raise ArgumentError(f"'substr' starts outside of the text, at {start} of {size} (Java's index out of bounds)")
    return slice_units(text, start, end)


def _in(scope: Scope, arguments: Sequence[Any]) -> bool:
    if len(arguments) < 2:
        return False
    what, where = arguments[0], arguments[1]
    if isinstance(where, str):
        scope.run.spend_text(where)
        return what is not None and _to_text(what, scope.run) in where
    if isinstance(where, list):
        return any(_member(what, item, scope.run) for item in where)
    return False


def _member(what: Any, item: Any, run: Run) -> bool:
    return same(as_double(what), as_double(item), run)


def contains(scope: Scope, what: Any, where: Any) -> bool:
    """Whether a list has a value, or, if that is a list, one of its items."""
    if not isinstance(where, list):
        return False
    wanted = what if isinstance(what, list) else [what]
    return any(_member(one, item, scope.run) for one in wanted for item in where)


def _merge(scope: Scope, arguments: Sequence[Any]) -> list[Any]:
    merged: list[Any] = []
    for argument in arguments:
        part = _items(scope, argument) if isinstance(argument, list) else [argument]
        scope.run.built(len(merged) + len(part))
        merged += part
    return merged


def _log(scope: Scope, arguments: Sequence[Any]) -> Any:
    if not arguments:
        raise ArgumentError("'log' takes an argument")
    return arguments[0]


LAZY: dict[str, Operator] = {
    "var": _var,
    "if": _if,
    "?:": _if,
    "and": _logic("and", stop=False),
    "or": _logic("or", stop=True),
    "some": _has("some", wanted=True),
    "none": _has("none", wanted=False),
    "all": _all,
    "filter": _filter,
    "map": _map,
    "reduce": _reduce,
}
EAGER: dict[str, Operator] = {
    "missing": eager(_missing),
    "missing_some": eager(_missing_some),
    "==": _equality("==", _loose_equal, wanted=True),
    "!=": _equality("!=", _loose_equal, wanted=False),
    "===": _equality("===", _strict_equal, wanted=True),
    "!==": _equality("!==", _strict_equal, wanted=False),
    **{name: _comparison(name) for name in _COMPARE},
    "+": _math("+", lambda a, b: a + b),
    "*": _math("*", lambda a, b: a * b),
    "-": _math("-", lambda a, b: a - b, most=2),
    "/": _math("/", divide, most=2),
    "%": _math("%", remainder, most=2),
    "min": _math("min", _least),
    "max": _math("max", _most),
    "!": eager(_not),
    "!!": eager(_not_not),
    "cat": eager(_cat),
    "substr": eager(_substr),
    "in": eager(_in),
    "merge": eager(_merge),
    "log": eager(_log),
}
