"""Rules written for another engine → promises that are measured here, where the meaning is exactly the same.

A contract may hold a rule in the language of another tool, under the tool's name (`engine`). A translator for that
name turns the payload into promises, or says why it cannot. Those of Soda and Great Expectations come along; users
give others to `load`, `check_contract` and `build_definitions`. A contract only ever names an engine: it can never make
code be imported or run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from contract_checks.dialects.conditions import ReadCondition, UnreadableConditionError, find_field, typed_literal
from contract_checks.dialects.document import parse_document
from contract_checks.errors import ContractError
from contract_checks.metrics import FieldPath, Metric, Operator, Scalar, Threshold
from contract_checks.model import Column, Dataset, Requirement, Severity


@dataclass(frozen=True)
class Promise:
    """What a payload comes down to: what to measure, and what must be true of it.

    `rule` is the engine's own word for it, `field` the column concerned. `severity` replaces that of the contract's
    rule where the payload has one of its own.
    """

    metric: Metric
    requirement: Requirement
    rule: str = ""
    field: FieldPath | None = None
    description: str = ""
    severity: Severity | None = None


Translation: TypeAlias = "Promise | str | Sequence[Promise | str]"
"""Promises, and for each part that cannot be translated the reason."""

Engine: TypeAlias = Callable[[Any, Dataset, "FieldPath | None"], Translation]
"""A translator of payloads.

It is given the payload (`implementation`, as YAML has it: numbers with a fraction are `Decimal`), the dataset with its
columns, and the path of the column that the rule stands at, if it stands at one. It may raise `Untranslatable`.
"""

Engines: TypeAlias = Mapping[str, Engine]
"""Translators by the name of the engine; case, `-`, `_` and spaces in names do not matter."""

NO_ENGINES: Engines = {}


class Untranslatable(Exception):
    """The rule has no exact counterpart here. The message says why, with the payload."""


def engine_name(name: str) -> str:
    """The name of an engine as it is compared: `great-expectations` and `greatExpectations` are one."""
    return re.sub(r"[\s_-]", "", name).lower()


def translate(engine: Engine, payload: Any, dataset: Dataset, column: FieldPath | None) -> tuple[Promise | str, ...]:
    """What an engine makes of a payload: promises, and reasons for what it could not translate.

    A translator that breaks is a reason, too: one rule must not take the contract along.
    """
    try:
        made = engine(payload, dataset, column)
    except Untranslatable as reason:
        return (str(reason),)
    except Exception as error:  # noqa: BLE001 - a user's function; its failure is told where the rule is listed
        return (f"its translator failed: {type(error).__name__}: {error}",)
    listed: Sequence[Promise | str] = [made] if isinstance(made, Promise | str) else made
    if not isinstance(listed, Sequence) or not all(isinstance(one, Promise | str) for one in listed):
        return (f"its translator gave {type(made).__name__}, not promises or a reason",)
    return tuple(listed) or ("its translator found nothing to check",)


def payload_text(payload: Any, limit: int = 600) -> str:
    """A payload in one line, for a person."""
    text = re.sub(r"\s+", " ", str(_plain(payload))).strip() if payload is not None else "nothing"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _plain(payload: Any) -> Any:
    """Numbers as they are written, where Python would show how it stores them."""
    if isinstance(payload, Mapping):
        return {key: _plain(value) for key, value in payload.items()}
    if isinstance(payload, list):
        return [_plain(value) for value in payload]
    if isinstance(payload, Decimal):
        return int(payload) if payload == payload.to_integral_value() else float(payload)
    return payload


def content_of(payload: Any) -> Any:
    """The value of a payload, which may be YAML text inside YAML. Raises `Untranslatable` if that is no YAML."""
    if not isinstance(payload, str):
        return payload
    try:
        return parse_document(payload, "implementation").data
    except ContractError as error:
        raise Untranslatable(
            f"its implementation is not valid YAML: {error.problems[0].message}: {payload_text(payload)}"
        ) from None


def promise_of(read: ReadCondition) -> Promise:
    """A condition that was read as a promise."""
    return Promise(read.metric, read.requirement, read.rule, read.field)


class Payload:
    """The parts of a payload, taken one by one: whatever is left makes a rule untranslatable.

    `text` is the whole payload in one line, `default` the column that is meant where none is named.
    """

    def __init__(
        self, parts: Mapping[str, Any], columns: Sequence[Column], text: str, default: FieldPath | None = None
    ) -> None:
        self.parts = dict(parts)
        self.columns = columns
        self.text = text
        self.default = default

    def take(self, key: str, default: Any = None) -> Any:
        """The part of that name, which is then gone."""
        return self.parts.pop(key, default)

    def no(self, why: str) -> Untranslatable:
        """The exception that says why there is no counterpart, with the payload."""
        return Untranslatable(f"{why}: {self.text}")

    def field(self, key: str = "column") -> tuple[FieldPath, Column | None]:
        """The column that the part `key` names, or the one that the rule stands at."""
        name = self.take(key)
        if name is None and self.default is not None:
            return self.default, column_at(self.default, self.columns)
        if not isinstance(name, str) or not name:
            raise self.no(f"'{key}' names no column")
        return find_field(name, self.columns)

    def number(self, key: str) -> int | Decimal | None:
        """The number of that name, if there is one."""
        value = self.take(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | Decimal)):
            raise self.no(f"'{key}' is no number")
        return value

    def thresholds(self, operators: Mapping[str, Operator]) -> tuple[Threshold, ...]:
        """Every comparison among the parts; `operators` says which parts are one, and which."""
        found = []
        for key, operator in operators.items():
            value = self.take(key)
            if value is None:
                continue
            pair = operator.endswith("Between")
            values = value if pair and isinstance(value, list) else [value]
            if len(values) != (2 if pair else 1) or any(
                isinstance(one, bool) or not isinstance(one, int | Decimal) for one in values
            ):
                raise self.no(f"'{key}' is not followed by {'two numbers' if pair else 'a number'}")
            found.append(Threshold(operator, (values[0], values[1]) if pair else value))
        return tuple(found)

    def typed(self, value: Any, column: Column | None) -> Scalar:
        """A single value in the type of the column."""
        if isinstance(value, list | dict):
            raise self.no("a value is not a single one")
        try:
            return typed_literal(value, column)
        except UnreadableConditionError as error:
            raise self.no(str(error)) from error

    def nothing_left(self) -> None:
        """Raises `Untranslatable` if a part was not taken: half a rule is another rule."""
        if self.parts:
            raise self.no(f"{', '.join(map(repr, self.parts))} has no counterpart here")


def column_at(path: FieldPath, columns: Sequence[Column]) -> Column | None:
    """The column at a path, if it is declared."""
    found = find_field(".".join(path), columns)
    return found[1] if found[0] == path else None
