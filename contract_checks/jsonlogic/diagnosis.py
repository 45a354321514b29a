"""What can be said of a rule without data: what it reads, and where it does not say what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from contract_checks.jsonlogic.engine import Language, check_rule, walk_rule
from contract_checks.jsonlogic.openmetadata import OPENMETADATA

Finding = Literal["not-set", "date", "never-boolean", "unknown-operator", "lookup", "list-by-name"]

_BOOLEAN = frozenset(
    {
        "==", "===", "!=", "!==", "<", "<=", ">", ">=", "!", "!!", "in", "some", "none", "all", "contains", "isOwner",
        "isReviewer", "isChanged", "isUpdatedBefore", "isUpdatedAfter", "multipleUsersOrSingleTeamOwnership",
        "validateDataProductDomainMatch",
    }
)  # fmt: skip
_SCOPED = frozenset({"some", "none", "all", "filter", "map", "reduce"})
_FIELD = {
    "isOwner": "owners",
    "isReviewer": "reviewers",
    "isUpdatedBefore": "updatedAt",
    "isUpdatedAfter": "updatedAt",
}
_LOOKUP = {
    "isChanged": "'isChanged' asks what one edit of the asset changed, which only OpenMetadata sees",
    "validateDataProductDomainMatch": "it needs the domains of the data products, which a directory must tell",
}
_LISTS = frozenset({"owners", "tags", "columns", "domains", "dataProducts", "reviewers", "followers"})
"""Fields of an asset that are lists."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")


@dataclass(frozen=True)
class Diagnosis:
    """Something about a rule that a person should look at. `hint` says what would be right."""

    finding: Finding
    message: str
    hint: str = ""


@dataclass(frozen=True)
class Read:
    """A path a rule reads from the data. With a scoped `operator` its items are looked at by `logic`."""

    path: str
    operator: str = ""
    logic: Any = field(default=None, hash=False)


def variables(rule: Any) -> tuple[str, ...]:
    """The paths a rule reads from the data, in the order of the rule, each once.

    The paths inside a scoped operator (`some`, `map` …) are fields of the items, so they are left out, and
    so are paths that are computed.
    """
    return tuple(dict.fromkeys(read.path for read in reads(rule)))


def reads(rule: Any) -> Iterator[Read]:
    """Every place where a rule reads from the data, in the order of the rule; see `variables`."""
    pending = [rule]
    while pending:
        node = pending.pop()
        if isinstance(node, list | tuple):
            pending += reversed(node)
        if not isinstance(node, Mapping) or len(node) != 1:
            continue
        ((operator, value),) = node.items()
        arguments = list(value) if isinstance(value, list | tuple) else [value]
        path = _path(node)
        if path is not None:
            yield Read(path)
            continue
        yield from map(Read, _implied(operator, arguments))
        if operator in _SCOPED and len(arguments) > 1:
            of_items = _path(arguments[0])
            if of_items is not None:
                yield Read(of_items, operator, arguments[1])
                arguments = arguments[2:]
            else:
                arguments = arguments[:1] + arguments[2:]
        pending += reversed(arguments)


def _path(node: Any) -> str | None:
    """The path that `{"var": path}` reads, None for anything else."""
    if not isinstance(node, Mapping) or len(node) != 1:
        return None
    ((operator, value),) = node.items()
    first = value[0] if isinstance(value, list | tuple) and value else value
    if operator not in ("var", "tableColumnValues") or not isinstance(first, str | int | float):
        return None
    return str(first)


def _implied(operator: str, arguments: list[Any]) -> Iterator[str]:
    """The fields an operator reads without a `var`."""
    if operator in _FIELD:
        yield _FIELD[operator]
    if operator in ("missing", "fieldCompleteness"):
        yield from (key for key in _flat(arguments) if isinstance(key, str))


def _flat(values: list[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def diagnose(rule: Any, language: Language = OPENMETADATA) -> tuple[Diagnosis, ...]:
    """Everything a rule says that its author hardly meant, for the dialect of OpenMetadata.

    Raises `JsonLogicError` for a rule that can never be evaluated: too deep, or an object of several keys.
    """
    check_rule(rule, language)
    found: list[Diagnosis] = []
    if not _may_be_boolean(rule):
        message = "the result of the rule is never true or false, so it never passes"
        found.append(Diagnosis("never-boolean", message, "compare, or wrap it in '!!'"))
    for node, _, _ in walk_rule(rule):
        if isinstance(node, Mapping) and len(node) == 1:
            ((operator, value),) = node.items()
            found += _of_operator(str(operator), value if isinstance(value, list) else [value], language)
    return tuple(dict.fromkeys(found))


def _of_operator(operator: str, arguments: list[Any], language: Language) -> Iterator[Diagnosis]:
    if operator not in language.operators:
        yield Diagnosis("unknown-operator", f"there is no operator '{operator[:60]}'", "the rule cannot be evaluated")
    if operator in _LOOKUP:
        yield Diagnosis("lookup", _LOOKUP[operator])
    if operator == "some" and len(arguments) == 2 and _is_null_test(arguments[1]):
        message = "'some … == null' was meant as \"is not set\" and is never true of an empty or missing list"
        yield Diagnosis("not-set", message, 'write {"!": {"some": [list, {"!=": [field, null]}]}}')
    if operator in ("<", "<=", ">", ">=") and any(isinstance(one, str) and _DATE.fullmatch(one) for one in arguments):
        message = f"'{operator}' with a date as text is never true in OpenMetadata, which compares numbers only"
        yield Diagnosis("date", message, "compare milliseconds since 1970, as updatedAt has them")
    if operator == "var" and arguments and isinstance(arguments[0], str):
        head, _, rest = arguments[0].partition(".")
        if head in _LISTS and rest and not re.match(r"[+-]?\d", rest):
            message = f"'{head}' is a list, which has no field '{rest[:40]}'; the rule cannot be evaluated"
            yield Diagnosis("list-by-name", message, f'write {{"some": [{{"var": "{head}"}}, …]}}')


def _is_null_test(logic: Any) -> bool:
    if not isinstance(logic, Mapping) or len(logic) != 1:
        return False
    ((operator, arguments),) = logic.items()
    return operator in ("==", "===") and isinstance(arguments, list) and len(arguments) == 2 and None in arguments


def _may_be_boolean(rule: Any) -> bool:
    """Whether the value of a rule can be true or false, as far as its outermost operators tell."""
    pending = [rule]
    while pending:
        node = pending.pop()
        if isinstance(node, bool):
            return True
        if not isinstance(node, Mapping) or len(node) != 1:
            continue
        ((operator, value),) = node.items()
        if operator in _BOOLEAN or operator in ("var", "reduce", "log") or operator not in OPENMETADATA.operators:
            return True
        arguments = value if isinstance(value, list) else [value]
        if operator in ("and", "or"):
            pending += arguments
        if operator in ("if", "?:"):
            pending += [one for index, one in enumerate(arguments) if index % 2 or index == len(arguments) - 1]
    return False
