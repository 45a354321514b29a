"""`quality` rules of ODCS → expectations, documentation, or the reason why a rule is not checked.

The meaning of metrics, operators and units is that of the page "Data Quality" of the standard.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from contract_checks.dialects.engine_registry import find_engine
from contract_checks.dialects.engines import Engine, Promise, payload_text, translate
from contract_checks.dialects.odcs_document import ARGUMENTS, Rule
from contract_checks.dialects.odcs_notes import Clauses, Path, did_you_mean, text_of
from contract_checks.dialects.odcs_operators import read_thresholds
from contract_checks.dialects.odcs_references import Table
from contract_checks.dialects.odcs_variables import resolve_variables
from contract_checks.dialects.times import cron_of
from contract_checks.metrics import (
    EACH,
    AllOf,
    Condition,
    DuplicateKeys,
    FieldPath,
    Matches,
    Metric,
    NotNull,
    NotOneOf,
    OneOf,
    Query,
    RowCount,
    Scalar,
    Threshold,
    ValueCount,
    Violations,
    field_text,
)
from contract_checks.model import Dataset, Expectation, Requirement, Severity, Thresholds, Unit

METRICS = ("nullValues", "missingValues", "invalidValues", "duplicateValues", "rowCount")
_OLD_METRICS = {"duplicateCount": "duplicateValues", "validValues": "invalidValues", "invalid": "invalidValues"}
_TYPES = ("library", "sql", "text", "custom")
_WARNINGS = ("info", "warning", "warn", "low", "minor", "trivial")
_UNITS: dict[str, Unit] = {"": "rows", "rows": "rows", "row": "rows", "percent": "percent", "%": "percent"}
_PERCENT = [word for word, unit in _UNITS.items() if unit == "percent"]
_DIMENSIONS = {
    "ac": "accuracy",
    "cp": "completeness",
    "cf": "conformity",
    "cs": "consistency",
    "cv": "coverage",
    "tm": "timeliness",
    "uq": "uniqueness",
}
_USES: dict[str, tuple[str, ...]] = {
    "missingValues": ("missingValues",),
    "invalidValues": ("validValues", "pattern"),
    "duplicateValues": ("properties",),
}


@dataclass(frozen=True)
class Scope:
    """What a list of rules belongs to: an object, or with `field` one of its properties."""

    table: Table
    tables: tuple[Table, ...]
    field: FieldPath | None = None
    logical: str = ""
    optional: bool = False
    virtual: frozenset[FieldPath] = frozenset()


class _Unusable(Exception):
    """A rule cannot be evaluated; the message is the reason. Stays in this module."""


def read_rules(entries: list[Any] | None, scope: Scope, clauses: Clauses, *path: str | int) -> None:
    """Read every rule of one `quality` list."""
    for index, entry in enumerate(entries or []):
        where = (*path, index)
        piece = clauses.notes.piece(Rule, entry, *where)
        if piece is not None:
            _Reader(piece, entry, scope, clauses, where).read()


class _Reader:
    """Reads one rule; a method per type of rule."""

    def __init__(self, piece: Rule, entry: dict[str, Any], scope: Scope, clauses: Clauses, path: Path) -> None:
        self.piece = piece
        self.entry = entry
        self.scope = scope
        self.clauses = clauses
        self.notes = clauses.notes
        self.path = path

    def read(self) -> None:
        readers: dict[str, Callable[[], None]] = {
            "library": self._library,
            "sql": self._sql,
            "text": self._text,
            "custom": self._custom,
        }
        kind = self._kind()
        if kind not in readers:
            self.notes.tolerate(f"'{kind}' is no type of rule", *self.path, "type", hint=did_you_mean(kind, _TYPES))
            self._skip(f"rules of type '{kind}' are not known to the standard: {self._said()}")
        else:
            try:
                readers[kind]()
            except _Unusable as reason:
                self._skip(str(reason))
        self.clauses.show("Custom properties", self.piece.custom_properties, *self.path, "customProperties")

    def _kind(self) -> str:
        piece = self.piece
        if piece.type and piece.type.lower() in _TYPES:
            if piece.type.lower() != "library" or piece.metric or piece.rule or piece.query is None:
                return piece.type.lower()
        elif piece.type:
            return piece.type
        inferred = ""
        if piece.metric or piece.rule:
            return "library"
        if piece.query is not None:
            inferred = "sql"
        elif piece.engine or piece.implementation is not None:
            inferred = "custom"
        if inferred:
            why = "a query" if inferred == "sql" else "an engine"
            self.notes.tolerate(f"a rule with {why} has 'type: {inferred}'", *self.path, hint="state the type")
            return inferred
        has_more = any(
            self.entry.get(key) is not None for key in self.entry if key.startswith("must") or key in ARGUMENTS
        )
        return "text" if piece.description and not has_more else "library"

    # ------------------------------------------------------------------ types of rules

    def _text(self) -> None:
        if any(key.startswith("must") for key in self.entry):
            self.notes.tolerate("a rule of type text is for people; it has no operator", *self.path)
        text = self.piece.description or self.piece.name
        if text:
            dimension = self._dimension()
            said = f"{text} ({dimension})" if dimension else text
            self.clauses.show(self.piece.name or "Quality", said, *self.path)
        else:
            self._skip("the rule says nothing")

    def _custom(self) -> None:
        piece = self.piece
        if piece.implementation is None:
            self.notes.tolerate("a custom rule needs 'implementation'", *self.path)
            raise _Unusable(f"the rule for the engine '{piece.engine or 'unnamed'}' has no implementation")
        said = payload_text(piece.implementation)
        if not piece.engine:
            self.notes.tolerate("a custom rule needs 'engine'", *self.path)
            raise _Unusable(f"the rule names no engine; it says: {said}")
        engine = find_engine(piece.engine, self.notes.engines)
        if engine is None:
            raise _Unusable(f"the engine '{piece.engine}' is not run here; it was asked: {said}")
        if any(key.startswith("must") for key in self.entry):
            self.notes.tolerate("a rule of type custom has no operator", *self.path)
            raise _Unusable(f"a custom rule with an operator beside it has no single meaning: {said}")
        self.clauses.later.append(partial(self._translate, engine))

    def _translate(self, engine: Engine, dataset: Dataset) -> None:
        """Make promises of the payload, now that all columns are known."""
        made = translate(engine, self.piece.implementation, dataset, self.scope.field)
        promises = [one for one in made if isinstance(one, Promise)]
        names = Counter(promise.rule for promise in promises)
        for promise in promises:
            own = promise.rule or self.piece.engine or "custom"
            more = f"_{own}" if len(promises) > 1 else ""
            if names[promise.rule] > 1:
                more += f"_{field_text(promise.field)}" if promise.field else ""
                more += f"_{hashlib.sha256(repr(promise).encode()).hexdigest()[:6]}"
            self._expect(
                own,
                promise.metric,
                promise.requirement,
                promise.description or f"What a rule for {self.piece.engine} asks.",
                field=promise.field,
                severity=promise.severity,
                suffix=more,
                engine=self.piece.engine or "",
            )
        reasons = [one for one in made if isinstance(one, str)]
        if reasons:
            self._skip("; ".join(f"a rule for {self.piece.engine}: {reason}" for reason in reasons))

    def _sql(self) -> None:
        piece = self.piece
        if piece.metric or piece.rule:
            self.notes.advise("a rule of type sql has no metric; the query counts", *self.path)
        if not piece.query or not piece.query.strip():
            self.notes.tolerate("a rule of type sql needs 'query'", *self.path)
            raise _Unusable("the rule has no query")
        query, reason = resolve_variables(piece.query)
        if reason:
            self.notes.advise(reason, *self.path, "query")
            raise _Unusable(reason)
        field = self.scope.field
        if _is_many(field) and re.search(r"\{(property|column|field)\}", query):
            raise _Unusable("a query about the items of an array or map has no column to name")
        thresholds = self._thresholds(numbers=False) or (Threshold("mustBe", True),)
        notes: tuple[str, ...] = ()
        if _UNITS.get((piece.unit or "").lower()) != "rows":
            notes = (f"The query's own result is compared, in {piece.unit}.",)
        sentence = "The query gives what is promised."
        self._expect("sql", Query(query, field), Thresholds(thresholds), sentence, notes, field=field)

    def _library(self) -> None:
        name = self._metric_name()
        if name == "rowCount" and (self.piece.unit or "").strip().lower() in _PERCENT:
            raise _Unusable("a row count in percent needs an earlier count to compare with, which is not kept yet")
        arguments = self._arguments(name)
        if name == "rowCount":
            self._row_count()
            return
        field = self.scope.field
        if name == "duplicateValues":
            metric, sentence = self._duplicates(arguments)
        elif field is None:
            self._level(name, "a property")
        else:
            condition, what = self._condition(name, arguments)
            metric, sentence = Violations(field, condition), f"How many values of `{field_text(field)}` {what}."
        thresholds = self._thresholds()
        if not thresholds and name == "invalidValues":
            thresholds = (Threshold("mustBe", 0),)
        if not thresholds:
            self._no_operator("mustBe: 0")
        unit = self._unit()
        base: Metric | None = None
        if unit == "percent":
            base = ValueCount(field) if field is not None and _is_many(field) else RowCount()
        self._expect(name, metric, Thresholds(thresholds, unit, base), sentence, field=field)

    # ------------------------------------------------------------------ the library's metrics

    def _metric_name(self) -> str:
        piece = self.piece
        if piece.metric and piece.rule and piece.metric != piece.rule:
            self.notes.advise(
                "'rule' is the old word for 'metric'; 'metric' counts", *self.path, "rule", hint="remove it"
            )
        elif piece.rule and not piece.metric and self.notes.version >= (3, 1):
            self.notes.advise(
                "'rule' is the old word for 'metric'", *self.path, "rule", hint=f"say 'metric: {piece.rule}'"
            )
        said = piece.metric or piece.rule
        if not said:
            self.notes.tolerate("the rule names no metric", *self.path, hint=f"one of {', '.join(METRICS)}")
            raise _Unusable(f"the rule names no metric: {self._said()}")
        name = _OLD_METRICS.get(said, said)
        if name in METRICS:
            return name
        key = "metric" if piece.metric else "rule"
        self.notes.tolerate(f"'{said}' is no metric of the standard", *self.path, key, hint=did_you_mean(said, METRICS))
        raise _Unusable(f"'{said}' is no metric of the standard: {self._said()}")

    def _arguments(self, name: str) -> dict[str, Any]:
        arguments = dict(self.piece.arguments or {})
        for key in ARGUMENTS:
            if self.entry.get(key) is not None and key not in arguments:
                arguments[key] = self.entry[key]
                if self.notes.version >= (3, 1):
                    self.notes.tolerate(f"'{key}' belongs under 'arguments'", *self.path, key, hint="indent it")
        for key in arguments:
            if key not in _USES.get(name, ()):
                hint = did_you_mean(key, _USES.get(name, ()))
                self.notes.tolerate(f"{name} has no argument '{key}'", *self.path, "arguments", key, hint=hint)
                raise _Unusable(f"{name} has no argument '{key}': {self._said()}")
        return arguments

    def _row_count(self) -> None:
        if self.scope.field is not None:
            self._level("rowCount", "an object")
        self._unit()
        thresholds = self._thresholds()
        if not thresholds:
            self._no_operator("mustBeGreaterThan: 0")
        self._expect("rowCount", RowCount(), Thresholds(thresholds), "How many rows there are.")

    def _duplicates(self, arguments: dict[str, Any]) -> tuple[Metric, str]:
        field = self.scope.field
        names = arguments.get("properties")
        if field is not None:
            if names is not None:
                raise _Unusable("duplicateValues with 'properties' belongs to an object, not to a property")
            return DuplicateKeys((field,)), f"How many values of `{field_text(field)}` occur more than once."
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            self.notes.tolerate("duplicateValues of an object needs 'properties'", *self.path, "arguments")
            raise _Unusable("duplicateValues of an object names no properties")
        paths = tuple(self._property(name) for name in names)
        return DuplicateKeys(
            paths
        ), f"How many combinations of {', '.join(map(field_text, paths))} occur more than once."

    def _property(self, name: str) -> FieldPath:
        path = self.scope.table.find(name)
        if path is None:
            if self.scope.table.fields:
                self.notes.advise(f"'{name}' is none of the declared properties", *self.path, "arguments")
            return tuple(name.split("."))
        if path in self.scope.virtual:
            raise _Unusable(f"'{name}' is a measure, which is computed, not a stored column")
        return path

    def _condition(self, name: str, arguments: dict[str, Any]) -> tuple[Condition, str]:
        if name == "nullValues":
            return NotNull(), "are null"
        if name == "missingValues":
            values = self._values(arguments, "missingValues") if "missingValues" in arguments else (None,)
            return NotOneOf(values), "are missing"
        conditions: list[Condition] = []
        if "validValues" in arguments:
            conditions.append(
                OneOf(tuple(value for value in self._values(arguments, "validValues") if value is not None))
            )
        if arguments.get("pattern") is not None:
            if not isinstance(arguments["pattern"], str):
                raise _Unusable(f"the pattern {text_of(arguments['pattern'])} is not a text")
            conditions.append(Matches(arguments["pattern"]))
        if not conditions:
            self.notes.tolerate("invalidValues needs 'validValues' or 'pattern'", *self.path, "arguments")
            raise _Unusable("the rule does not say which values are valid")
        if len(conditions) > 1:
            self.notes.advise("a value must be among 'validValues' and match 'pattern'", *self.path, "arguments")
        return (conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))), "are invalid"

    def _values(self, arguments: dict[str, Any], key: str) -> tuple[Scalar, ...]:
        values = arguments[key]
        if not isinstance(values, list):
            self.notes.tolerate(f"'{key}' is a list", *self.path, "arguments", key)
            values = [values]
        if any(isinstance(value, dict | list) for value in values):
            raise _Unusable(f"'{key}' lists something else than single values")
        return tuple(values)

    # ------------------------------------------------------------------ what every rule has

    def _thresholds(self, numbers: bool = True) -> tuple[Threshold, ...]:
        thresholds, reason = read_thresholds(self.entry, self.notes, self.path, numbers)
        if reason:
            raise _Unusable(reason)
        return thresholds

    def _unit(self) -> Unit:
        said = (self.piece.unit or "").strip()
        unit = _UNITS.get(said.lower())
        if unit is None:
            self.notes.tolerate(f"'{said}' is no unit", *self.path, "unit", hint="'rows' or 'percent'")
            raise _Unusable(f"the unit '{said}' is not known")
        return unit

    def _no_operator(self, example: str) -> NoReturn:
        self.notes.tolerate("the rule has no operator, so nothing is promised", *self.path, hint=f"such as '{example}'")
        raise _Unusable(f"the rule has no operator such as '{example}': {self._said()}")

    def _level(self, name: str, where: str) -> NoReturn:
        self.notes.advise(f"{name} belongs to {where}", *self.path)
        raise _Unusable(f"{name} belongs to {where}, so it has no meaning here")

    def _expect(
        self,
        rule: str,
        metric: Metric,
        requirement: Requirement,
        sentence: str,
        notes: tuple[str, ...] = (),
        *,
        field: FieldPath | None = None,
        severity: Severity | None = None,
        suffix: str = "",
        engine: str = "",
    ) -> None:
        piece = self.piece
        schedule, schedule_note = self._schedule()
        said = (
            schedule_note,
            f"Business impact: {piece.business_impact}." if piece.business_impact else "",
            f"Method: {piece.method}." if piece.method else "",
        )
        own: Severity = "warning" if (piece.severity or "").strip().lower() in _WARNINGS else "error"
        self.clauses.expectations.append(
            Expectation(
                rule=rule,
                metric=metric,
                requirement=requirement,
                location=self.notes.at(*self.path),
                section="quality",
                severity=severity or own,
                field=field,
                id=f"{piece.id}{suffix}" if piece.id else None,
                name=f"{piece.name}{suffix}" if piece.name else None,
                description=piece.description or sentence,
                dimension=self._dimension(),
                schedule=schedule,
                if_present=self.scope.optional,
                blocking=self._blocking(),
                tags=self.notes.texts(piece.tags, *self.path, "tags"),
                links=self.clauses.links(piece.authoritative_definitions, *self.path, "authoritativeDefinitions"),
                notes=(*notes, *(note for note in said if note)),
                engine=engine,
            )
        )

    def _blocking(self) -> bool | None:
        """What the custom property `blocking` says of the rule."""
        listed = self.piece.custom_properties
        for index, own in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(own, dict) and own.get("property") == "blocking":
                said = {"true": True, "false": False}.get(text_of(own.get("value")).strip().lower())
                if said is None:
                    self.notes.advise("'blocking' is true or false", *self.path, "customProperties", index, "value")
                return said
        return None

    def _dimension(self) -> str | None:
        said = self.piece.dimension
        if not said:
            return None
        name = _DIMENSIONS.get(said.strip().lower(), said.strip().lower())
        if name not in _DIMENSIONS.values():
            hint = did_you_mean(said, _DIMENSIONS.values())
            self.notes.tolerate(f"'{said}' is no dimension of the standard", *self.path, "dimension", hint=hint)
        return name

    def _schedule(self) -> tuple[str | None, str]:
        """The rule's own cron, and what is wrong with it."""
        piece = self.piece
        if piece.scheduler and piece.scheduler.strip().lower() != "cron":
            return None, f"Scheduler: {piece.scheduler} {piece.schedule or ''}".strip() + "."
        if not piece.schedule:
            return None, ""
        cron, wrong = cron_of(piece.schedule)
        if wrong:
            self.notes.advise(f"the rule has no schedule of its own: {wrong}", *self.path, "schedule")
            return None, f"Its schedule is not used: {wrong}."
        return cron, ""

    def _said(self) -> str:
        """What the rule says, for a person who reads why it is not checked."""
        private = ("id", "tags", "customProperties", "authoritativeDefinitions", "severity", "dimension", "type")
        return _short({key: value for key, value in self.entry.items() if key not in private})

    def _skip(self, reason: str) -> None:
        piece = self.piece
        self.clauses.skip(reason, *self.path)
        about = {
            "Rule": " — ".join(part for part in (piece.name, piece.description) if part),
            "Dimension": self._dimension(),
            "Severity": piece.severity,
            "Business impact": piece.business_impact,
            "Method": piece.method,
            "Tags": piece.tags,
            "Definitions": piece.authoritative_definitions,
            "Schedule": piece.schedule,
        }
        said = "; ".join(f"{title}: {text_of(value)}" for title, value in about.items() if value)
        self.clauses.show("Rule that is not checked", said, *self.path, "description")


def _short(value: Any, limit: int = 600) -> str:
    text = text_of(value) if value is not None else "nothing"
    text = re.sub(r"\s+", " ", text).strip()
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _is_many(field: FieldPath | None) -> bool:
    """Whether a field stands for many values of one row."""
    return any(each in (field or ()) for each in EACH)
