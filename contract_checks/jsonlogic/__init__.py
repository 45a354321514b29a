"""JSON Logic: rules that are JSON values, evaluated against data that is one.

    evaluate({"!!": {"var": "description"}}, {"description": "Orders"})  # True

Two dialects, since the two reference implementations disagree on many values: `openmetadata` gives the
verdict OpenMetadata gives (json-logic-java and OpenMetadata's own operators), `jsonlogic` is the language of
jsonlogic.com. Rules are not trusted: they compute, within limits, and can do nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from contract_checks.jsonlogic.diagnosis import Diagnosis, Read, diagnose, reads, variables
from contract_checks.jsonlogic.engine import (
    MAX_DEPTH,
    MAX_NODES,
    MAX_OPERATORS_DEEP,
    MAX_RESULT,
    MAX_STEPS,
    ArgumentError,
    Directory,
    JsonLogicError,
    Language,
    LimitError,
    LookupNeededError,
    RuleError,
    Run,
    Scope,
    UnknownOperatorError,
    check_rule,
    copy_json,
)
from contract_checks.jsonlogic.javascript import JSONLOGIC
from contract_checks.jsonlogic.openmetadata import OPENMETADATA
from contract_checks.jsonlogic.values import tidy

__all__ = [
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_OPERATORS_DEEP",
    "MAX_RESULT",
    "MAX_STEPS",
    "ArgumentError",
    "Diagnosis",
    "Dialect",
    "Directory",
    "JsonLogicError",
    "LimitError",
    "LookupNeededError",
    "Prepared",
    "Read",
    "RuleError",
    "UnknownOperatorError",
    "diagnose",
    "evaluate",
    "operators",
    "parse",
    "prepare",
    "reads",
    "variables",
]

Dialect = Literal["openmetadata", "jsonlogic"]

LANGUAGES: dict[str, Language] = {language.name: language for language in (OPENMETADATA, JSONLOGIC)}


@dataclass(frozen=True)
class Prepared:
    """Data that is copied and checked already, for one dialect; see `prepare`."""

    value: Any = field(repr=False)
    dialect: Dialect = "openmetadata"


def prepare(data: Any, dialect: Dialect = "openmetadata") -> Prepared:
    """Data for many rules, so that it is copied once and not for each. Raises `JsonLogicError` as `evaluate` does."""
    language = _language(dialect)
    try:
        return Prepared(copy_json(data, language.data_number, "data"), dialect)
    except RecursionError:
        raise LimitError("the data is nested too deep to be read here") from None


def evaluate(rule: Any, data: Any = None, dialect: Dialect = "openmetadata", directory: Directory | None = None) -> Any:
    """The value of `rule` for `data`, both JSON values; neither is changed, and the result shares nothing with them.

    `data` may be `Prepared`. `directory` answers what the operators about teams and data products ask. Whole
    numbers come out as integers. Raises `JsonLogicError` when there is no value: a rule that is no rule of the
    dialect, an operator that cannot work on its arguments, too much work. What the directory raises is passed on.
    """
    language = _language(dialect)
    try:
        check_rule(rule, language)
        run = Run(language.walk, directory)
        prepared = data if isinstance(data, Prepared) and data.dialect == dialect else prepare(data, dialect)
        scope = Scope(prepared.value, run)
        value = language.walk(copy_json(rule, language.rule_number, "rule"), scope)
        return copy_json(value, tidy, "result", language.undefined, MAX_RESULT)
    except RecursionError:
        raise LimitError("the rule or its data is nested too deep to be evaluated here") from None


def parse(text: str) -> Any:
    """The rule a JSON text holds. Raises `RuleError` for what is no JSON, or has a key of an object twice."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}" if "\n" in text else f"column {error.colno}"
        raise RuleError(f"it is not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise LimitError(f"the rule is nested more than {MAX_DEPTH} deep") from None
    except ValueError:  # the only other one: Python reads no more than some thousands of digits
        raise RuleError("a number has too many digits") from None


def operators(dialect: Dialect = "openmetadata") -> frozenset[str]:
    """The names of the operators of a dialect."""
    return _language(dialect).operators


def _language(dialect: str) -> Language:
    if dialect not in LANGUAGES:
        raise JsonLogicError(f"there is no dialect '{dialect}'; there are {' and '.join(sorted(LANGUAGES))}")
    return LANGUAGES[dialect]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key in found if sum(key == other for other, _ in pairs) > 1)
        raise RuleError(f"the key '{twice}' stands twice in one object")
    return found


def _no_constant(word: str) -> NoReturn:
    raise RuleError(f"it is not JSON: {word} is no number there")
