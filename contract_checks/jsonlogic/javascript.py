"""The dialect `jsonlogic`: the language as json-logic-js 2.0.5 has it, the reference of jsonlogic.com."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from contract_checks.jsonlogic.engine import ArgumentError, Language, Run, Scope
from contract_checks.jsonlogic.values import (
    divide,
    double,
    is_number,
    js_number,
    js_number_text,
    js_parse_float,
    order_key,
    remainder,
    slice_units,
    tidy,
    units,
)


class _Undefined:
    """JavaScript's value for what is not there; only the final result turns it into null."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED: Final = _Undefined()


# --------------------------------------------------------------------------- coercions


def _truthy(value: Any) -> bool:
    if is_number(value):
        return value != 0 and not math.isnan(value)
    return True if isinstance(value, dict) else value is not UNDEFINED and bool(value)


def _to_text(value: Any, run: Run) -> str:
    run.spend()
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if value is UNDEFINED:
        return "undefined"
    if is_number(value):
        return js_number_text(value)
    if isinstance(value, list):
        return _join(value, ",", run)
    return "[object Object]"


def _join(values: Sequence[Any], separator: str, run: Run) -> str:
    """The texts of values, nothing for null and undefined, in one text that stays within the limits."""
    parts: list[str] = []
    size = 0
    for value in values:
        part = "" if value is None or value is UNDEFINED else _to_text(value, run)
        size += len(part) + len(separator)
        run.built(size)
        run.spend_text(part)
        parts.append(part)
    return separator.join(parts)


def _primitive(value: Any, run: Run) -> Any:
    return _to_text(value, run) if isinstance(value, list | dict) else value


def _to_number(value: Any, run: Run) -> float:
    value = _primitive(value, run)
    if isinstance(value, str):
        run.spend_text(value)
        return js_number(value)
    if value is None:
        return 0.0
    return math.nan if value is UNDEFINED else double(value)


def _parse_float(value: Any, run: Run) -> float:
    if is_number(value):
        return double(value)
    text = _to_text(value, run)
    run.spend_text(text)
    return js_parse_float(text)


def _strict_equal(a: Any, b: Any, run: Run) -> bool:
    if is_number(a) and is_number(b):
        return bool(a == b)
    if isinstance(a, list | dict) or isinstance(b, list | dict):
        return a is b
    if isinstance(a, str) and isinstance(b, str):
        run.spend_text(a)
    return type(a) is type(b) and bool(a == b)


def _loose_equal(a: Any, b: Any, run: Run) -> bool:
    nothing = (None, UNDEFINED)
    if a in nothing or b in nothing:
        return a in nothing and b in nothing
    if isinstance(a, list | dict) and isinstance(b, list | dict):
        return a is b
    a, b = _primitive(a, run), _primitive(b, run)
    if isinstance(a, str) and isinstance(b, str):
        run.spend_text(a)
        return a == b
    return _to_number(a, run) == _to_number(b, run)


def _before(a: Any, b: Any, run: Run, or_equal: bool) -> bool:
    a, b = _primitive(a, run), _primitive(b, run)
    if isinstance(a, str) and isinstance(b, str):
        run.spend_text(a, b)
        return order_key(a) <= order_key(b) if or_equal else order_key(a) < order_key(b)
    x, y = _to_number(a, run), _to_number(b, run)
    return x <= y if or_equal else x < y


def _argument(arguments: Sequence[Any], index: int) -> Any:
    return arguments[index] if index < len(arguments) else UNDEFINED


# --------------------------------------------------------------------------- operators that see data


def _step(data: Any, key: str) -> Any:
    """One property of a value, as JavaScript has it; inherited ones do not count."""
    if isinstance(data, dict):
        return data.get(key, UNDEFINED)
    if not isinstance(data, list | str):
        return UNDEFINED
    length = len(data) if isinstance(data, list) else units(data)
    if key == "length":
        return length
    if not re.fullmatch(r"0|[1-9][0-9]{0,9}", key) or int(key) >= length:
        return UNDEFINED
    return data[int(key)] if isinstance(data, list) else slice_units(data, int(key), int(key) + 1)


def _find(scope: Scope, key: Any, default: Any) -> Any:
    if key is None or key is UNDEFINED or key == "":
        return scope.value
    text = _to_text(key, scope.run)
    scope.run.spend_text(text)
    found = scope.value
    for part in text.split("."):
        if found is None or found is UNDEFINED:
            return default
        found = _step(found, part)
        if found is UNDEFINED:
            return default
    return found


def _var(scope: Scope, *arguments: Any) -> Any:
    default = _argument(arguments, 1)
    return _find(scope, _argument(arguments, 0), None if default is UNDEFINED else default)


def _missing(scope: Scope, *arguments: Any) -> list[Any]:
    keys = arguments[0] if arguments and isinstance(arguments[0], list) else arguments
    scope.run.spend(len(keys))
    # A key that is a list is the arguments of a 'var'.
    found = [(key, _var(scope, *key) if isinstance(key, list) else _var(scope, key)) for key in keys]
    return [key for key, value in found if value is None or value == ""]


def _missing_some(scope: Scope, *arguments: Any) -> list[Any]:
    need, options = _argument(arguments, 0), _argument(arguments, 1)
    if options is None or options is UNDEFINED:
        raise ArgumentError("'missing_some' needs a number and a list of keys")
    missing = _missing(scope, *options) if isinstance(options, list) else _missing(scope, options)
    size = len(options) if isinstance(options, list) else units(options) if isinstance(options, str) else math.nan
    count = size - len(missing)
    return [] if count >= _to_number(need, scope.run) else missing


# --------------------------------------------------------------------------- lazy operators


def _if(scope: Scope, *arguments: Any) -> Any:
    for index in range(0, len(arguments) - 1, 2):
        if _truthy(scope.evaluate(arguments[index])):
            return scope.evaluate(arguments[index + 1])
    return scope.evaluate(arguments[-1]) if len(arguments) % 2 else None


def _and(scope: Scope, *arguments: Any) -> Any:
    value: Any = UNDEFINED
    for argument in arguments:
        value = scope.evaluate(argument)
        if not _truthy(value):
            break
    return value


def _or(scope: Scope, *arguments: Any) -> Any:
    value: Any = UNDEFINED
    for argument in arguments:
        value = scope.evaluate(argument)
        if _truthy(value):
            break
    return value


def _items(scope: Scope, arguments: Sequence[Any]) -> tuple[list[Any] | None, Any]:
    """The list of a scoped operator, None if it is none, and its logic."""
    found = scope.evaluate(arguments[0]) if arguments else UNDEFINED
    return (found if isinstance(found, list) else None), _argument(arguments, 1)


def _filter(scope: Scope, *arguments: Any) -> list[Any]:
    items, logic = _items(scope, arguments)
    return [item for item in items or () if _truthy(scope.within(item).evaluate(logic))]


def _map(scope: Scope, *arguments: Any) -> list[Any]:
    items, logic = _items(scope, arguments)
    return [scope.within(item).evaluate(logic) for item in items or ()]


def _reduce(scope: Scope, *arguments: Any) -> Any:
    items, logic = _items(scope, arguments)
    value = scope.evaluate(arguments[2]) if len(arguments) > 2 else None
    for item in items or ():
        value = scope.within({"current": item, "accumulator": value}).evaluate(logic)
    return value


def _all(scope: Scope, *arguments: Any) -> bool:
    items, logic = _items(scope, arguments)
    return bool(items) and all(_truthy(scope.within(item).evaluate(logic)) for item in items or ())


def _some(scope: Scope, *arguments: Any) -> bool:
    items, logic = _items(scope, arguments)
    return any(_truthy(scope.within(item).evaluate(logic)) for item in items or ())


def _none(scope: Scope, *arguments: Any) -> bool:
    return not _some(scope, *arguments)


# --------------------------------------------------------------------------- eager operators


def _ordered(or_equal: bool) -> Callable[..., bool]:
    def operator(scope: Scope, *arguments: Any) -> bool:
        a, b, c = (_argument(arguments, index) for index in range(3))
        first = _before(a, b, scope.run, or_equal)
        return first if c is UNDEFINED else first and _before(b, c, scope.run, or_equal)

    return operator


def _after(or_equal: bool) -> Callable[..., bool]:
    def operator(scope: Scope, *arguments: Any) -> bool:
        return _before(_argument(arguments, 1), _argument(arguments, 0), scope.run, or_equal)

    return operator


def _cat(scope: Scope, *arguments: Any) -> str:
    return _join(arguments, "", scope.run)


def _in(scope: Scope, *arguments: Any) -> bool:
    what, where = _argument(arguments, 0), _argument(arguments, 1)
    if isinstance(where, str):
        scope.run.spend_text(where)
        return bool(where) and _to_text(what, scope.run) in where
    if isinstance(where, list):
        scope.run.spend(len(where))
        return any(_strict_equal(what, item, scope.run) for item in where)
    return False


def _substr(scope: Scope, *arguments: Any) -> str:
    text = _to_text(_argument(arguments, 0), scope.run)
    scope.run.spend_text(text)
    size = units(text)
    start = _index(_argument(arguments, 1), scope.run)
    start = max(0, size + start) if start < 0 else min(start, size)
    given = _argument(arguments, 2)
    if given is UNDEFINED:
        return slice_units(text, start, size)
    length = _to_number(given, scope.run)
    if length < 0:
        # Negative lengths are PHP's: so many are dropped from the end.
        kept = size - start + length
        return slice_units(text, start, start + max(0, int(kept))) if kept > 0 else ""
    return slice_units(text, start, min(size, start + _index(given, scope.run)))


def _index(value: Any, run: Run) -> int:
    number = _to_number(value, run)
    if math.isnan(number):
        return 0
    return int(max(-(2.0**53), min(2.0**53, number)))


def _add(scope: Scope, *arguments: Any) -> float:
    total = 0.0
    for argument in arguments:
        total += _parse_float(argument, scope.run)
    return total


def _multiply(scope: Scope, *arguments: Any) -> Any:
    if not arguments:
        raise ArgumentError("'*' needs at least one number")
    if len(arguments) == 1:
        return arguments[0]
    product = 1.0
    for argument in arguments:
        product *= _parse_float(argument, scope.run)
    return product


def _subtract(scope: Scope, *arguments: Any) -> float:
    first, second = (_argument(arguments, index) for index in range(2))
    if second is UNDEFINED:
        return -_to_number(first, scope.run)
    return _to_number(first, scope.run) - _to_number(second, scope.run)


def _binary(compute: Callable[[float, float], float]) -> Callable[..., float]:
    def operator(scope: Scope, *arguments: Any) -> float:
        return compute(*(_to_number(_argument(arguments, index), scope.run) for index in range(2)))

    return operator


def _extreme(choose: Callable[..., float], empty: float) -> Callable[..., float]:
    def operator(scope: Scope, *arguments: Any) -> float:
        numbers = [_to_number(argument, scope.run) for argument in arguments]
        return math.nan if any(map(math.isnan, numbers)) else choose(numbers, default=empty)

    return operator


def _merge(scope: Scope, *arguments: Any) -> list[Any]:
    merged: list[Any] = []
    for argument in arguments:
        part = argument if isinstance(argument, list) else [argument]
        scope.run.spend(len(part))
        scope.run.built(len(merged) + len(part))
        merged += part
    return merged


def _equality(strict: bool, wanted: bool) -> Callable[..., bool]:
    def operator(scope: Scope, *arguments: Any) -> bool:
        a, b = (_argument(arguments, index) for index in range(2))
        return (_strict_equal(a, b, scope.run) if strict else _loose_equal(a, b, scope.run)) is wanted

    return operator


JSONLOGIC = Language(
    name="jsonlogic",
    lazy={
        "if": _if,
        "?:": _if,
        "and": _and,
        "or": _or,
        "filter": _filter,
        "map": _map,
        "reduce": _reduce,
        "all": _all,
        "some": _some,
        "none": _none,
    },
    eager={
        "var": _var,
        "missing": _missing,
        "missing_some": _missing_some,
        "==": _equality(strict=False, wanted=True),
        "!=": _equality(strict=False, wanted=False),
        "===": _equality(strict=True, wanted=True),
        "!==": _equality(strict=True, wanted=False),
        "<": _ordered(or_equal=False),
        "<=": _ordered(or_equal=True),
        ">": _after(or_equal=False),
        ">=": _after(or_equal=True),
        "!": lambda scope, *arguments: not _truthy(_argument(arguments, 0)),
        "!!": lambda scope, *arguments: _truthy(_argument(arguments, 0)),
        "log": lambda scope, *arguments: _argument(arguments, 0),
        "in": _in,
        "cat": _cat,
        "substr": _substr,
        "+": _add,
        "*": _multiply,
        "-": _subtract,
        "/": _binary(divide),
        "%": _binary(remainder),
        "min": _extreme(min, math.inf),
        "max": _extreme(max, -math.inf),
        "merge": _merge,
    },
    single_key=False,
    rule_number=tidy,
    data_number=tidy,
    undefined=UNDEFINED,
)
