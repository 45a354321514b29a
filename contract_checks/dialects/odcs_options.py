"""`logicalTypeOptions` and `enum` of an ODCS property → expectations (schema section of the standard)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as default
from decimal import Decimal
from typing import Any, Literal

from contract_checks.dialects.inputs import time_zone
from contract_checks.dialects.odcs_document import EnumValue
from contract_checks.dialects.odcs_notes import Clauses, Path, did_you_mean, text_of
from contract_checks.dialects.odcs_operators import number_in
from contract_checks.dialects.times import date_of, datetime_of, time_of
from contract_checks.jdk import compile_format
from contract_checks.metrics import (
    AllOf,
    Bound,
    Condition,
    FieldPath,
    HasFormat,
    HasKeys,
    Length,
    Matches,
    MultipleOf,
    OneOf,
    Parsed,
    Scalar,
    Size,
    Threshold,
    UniqueItems,
    Violations,
    field_text,
)
from contract_checks.model import Expectation, Thresholds

NONE_ALLOWED = Thresholds((Threshold("mustBe", 0),))
"""The requirement of a promise that no value may break."""

TEMPORAL = ("date", "timestamp", "time")
_NUMERIC = ("integer", "number")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_OPTIONS: dict[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "integer": (*_BOUNDS, "multipleOf", "format"),
    "number": (*_BOUNDS, "multipleOf", "format"),
    "date": (*_BOUNDS, "format"),
    "timestamp": (*_BOUNDS, "format", "timezone", "defaultTimezone"),
    "time": (*_BOUNDS, "format", "timezone", "defaultTimezone"),
    "boolean": (),
    "object": ("minProperties", "maxProperties", "required"),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "map": (),
    "vector": ("dimensions", "elementType", "distanceMetric", "embeddingModel", "embeddingModelVersion", "normalized"),
}
_ALL_OPTIONS = tuple(dict.fromkeys(option for options in _OPTIONS.values() for option in options))
_FORMATS = ("email", "uuid", "uri", "hostname", "ipv4", "ipv6", "date", "date-time", "time", "byte")
_FORMAT_ALIASES = {"datetime": "date-time", "url": "uri", "guid": "uuid", "base64": "byte"}


@dataclass(frozen=True)
class Subject:
    """The property whose promises are read.

    `logical` is its logicalType, stated or inferred; "" when nobody can tell. `text_stored` says whether
    dates are kept as text, as far as the physical type tells. `children` maps the names of the fields of an
    object to their physical names.
    """

    field: FieldPath
    logical: str
    text_stored: bool | None = None
    optional: bool = False
    children: Mapping[str, str] = default(default_factory=dict)


def read_options(options: Mapping[str, Any], subject: Subject, clauses: Clauses, *path: str | int) -> None:
    """Read every option of one property; each becomes an expectation, documentation or a reason."""
    reader = _Reader(options, subject, clauses, path)
    allowed = _OPTIONS.get(subject.logical, _ALL_OPTIONS)
    for option, value in options.items():
        if option not in _ALL_OPTIONS:
            hint = did_you_mean(option, allowed)
            clauses.notes.unknown_key(*path, option, hint=hint)
            clauses.skip(f"'{option}' is no option of the standard", *path, option, section="schema")
        elif value is None:
            continue
        elif option not in allowed:
            message = f"'{option}' is no option of logicalType {subject.logical}"
            clauses.notes.tolerate(message, *path, option, hint=did_you_mean(option, allowed))
            clauses.skip(message, *path, option, section="schema")
        else:
            reader.read(option, value)


def read_enum(values: list[Any], subject: Subject, clauses: Clauses, *path: str | int) -> None:
    """Read the allowed values of a property (since 3.2); NULL is always allowed."""
    found: list[Scalar] = []
    for index, entry in enumerate(values):
        where = (*path, index)
        value = entry
        if isinstance(entry, dict):
            piece = clauses.notes.piece(EnumValue, entry, *where)
            if "value" not in entry:
                clauses.notes.refuse("an enum entry without 'value'", *where)
            if piece is None or "value" not in entry:
                continue
            value = piece.value
            if len(entry) > 1:
                clauses.show("Value", text_of(entry), *where)
        else:
            clauses.notes.tolerate("an enum entry is a mapping", *where, hint=f"'- value: {text_of(entry)}'")
        if isinstance(value, dict | list):
            clauses.notes.refuse("an enum value is a single value", *where)
        elif value in found and any(type(other) is type(value) for other in found if other == value):
            clauses.notes.tolerate(f"the enum lists '{text_of(value)}' twice", *where)
        elif value is not None:
            found.append(value)
    if subject.logical in ("object", "map", "array", "vector"):
        clauses.skip(f"an enum of whole values of type {subject.logical} is not evaluated", *path, section="schema")
    elif not found:
        clauses.notes.tolerate("the enum allows no value", *path)
        clauses.skip("the enum lists no value", *path, section="schema")
    else:
        listed = ", ".join(text_of(value) for value in found)
        sentence = f"`{field_text(subject.field)}` is one of {listed}."
        clauses.expectations.append(_expectation("enum", OneOf(tuple(found)), sentence, subject, clauses, path))


def wrong_format(pattern: str) -> str:
    """What is wrong with a date pattern; "" when nothing is."""
    try:
        compile_format(pattern)
    except ValueError as error:
        return f"'{pattern}' is no date pattern: {error}"
    return ""


def _expectation(
    rule: str,
    condition: Condition,
    sentence: str,
    subject: Subject,
    clauses: Clauses,
    path: Path,
) -> Expectation:
    return Expectation(
        rule=rule,
        metric=Violations(subject.field, condition),
        requirement=NONE_ALLOWED,
        location=clauses.notes.at(*path),
        section="schema",
        field=subject.field,
        description=sentence,
        if_present=subject.optional,
    )


class _Reader:
    """Reads the options of one property; a method per family of options."""

    def __init__(self, options: Mapping[str, Any], subject: Subject, clauses: Clauses, path: Path) -> None:
        self.options = options
        self.subject = subject
        self.clauses = clauses
        self.notes = clauses.notes
        self.path = path
        self.text = f"`{field_text(subject.field)}`"

    def read(self, option: str, value: Any) -> None:
        readers: dict[str, Callable[[str, Any], None]] = {
            **dict.fromkeys(_BOUNDS, self._bound),
            **dict.fromkeys(("minLength", "maxLength"), self._length),
            **dict.fromkeys(("minItems", "maxItems", "minProperties", "maxProperties", "dimensions"), self._size),
            "pattern": self._pattern,
            "format": self._format,
            "multipleOf": self._multiple,
            "uniqueItems": self._unique_items,
            "required": self._required,
            "timezone": self._timezone,
            "defaultTimezone": self._default_timezone,
        }
        readers.get(option, self._vector)(option, value)

    def _add(self, rule: str, condition: Condition, sentence: str, option: str) -> None:
        where = (*self.path, option)
        made = _expectation(rule, condition, f"{self.text} {sentence}", self.subject, self.clauses, where)
        self.clauses.expectations.append(made)

    def _skip(self, option: str, reason: str, wrong: bool = False, hint: str = "") -> None:
        if wrong:
            self.notes.tolerate(reason, *self.path, option, hint=hint)
        self.clauses.skip(reason, *self.path, option, section="schema")

    # ------------------------------------------------------------------ bounds

    def _bound(self, option: str, value: Any) -> None:
        kind: Literal["minimum", "maximum"] = "minimum" if option.lower().endswith("minimum") else "maximum"
        exclusive = "exclusiveMinimum" if kind == "minimum" else "exclusiveMaximum"
        if isinstance(value, bool) and option == exclusive:
            # Up to 3.0.2 it qualifies `minimum`, which reads it; on its own it bounds nothing.
            if value and self.options.get(kind) is None:
                self._skip(option, f"'{option}: true' qualifies '{kind}', which is not there", wrong=True)
            return
        limit = self._limit(option, value)
        if limit is None:
            return
        strict = option == exclusive or self.options.get(exclusive) is True
        operators: dict[tuple[str, bool], tuple[Literal[">=", ">", "<=", "<"], str]] = {
            ("minimum", False): (">=", "at least"),
            ("minimum", True): (">", "more than"),
            ("maximum", False): ("<=", "at most"),
            ("maximum", True): ("<", "less than"),
        }
        operator, words = operators[kind, strict]
        bound = Bound(operator, limit, zone=self._zone())
        self._add(exclusive if strict else option, bound, f"is {words} {text_of(value)}.", option)

    def _limit(self, option: str, value: Any) -> Scalar:
        """The bound in the type of the column; None when it cannot be one, which has been noted."""
        if self.subject.logical in TEMPORAL:
            return self._moment(option, value)
        if self.subject.logical in _NUMERIC:
            return self._number(option, value)
        # Nobody knows the type: a number is a number, a text is compared as the date it looks like.
        if isinstance(value, str) and self._as_number(value) is None:
            moment = date_of(value) or datetime_of(value) or time_of(value)
            if moment is None:
                self._skip(option, f"'{value}' is neither a number nor a date", wrong=True)
            return moment
        return self._number(option, value)

    def _number(self, option: str, value: Any) -> int | Decimal | None:
        number = self._as_number(value)
        if number is None:
            self._skip(option, f"'{text_of(value)}' is no number", wrong=True)
        elif isinstance(value, str):
            self.notes.tolerate(
                f"the number '{value}' is written as a text", *self.path, option, hint="remove the quotes"
            )
        return number

    @staticmethod
    def _as_number(value: Any) -> int | Decimal | None:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | Decimal):
            return value
        return number_in(value) if isinstance(value, str) else None

    def _moment(self, option: str, value: Any) -> Scalar:
        logical = self.subject.logical
        if logical == "date":
            moment: Scalar = date_of(str(value)) if isinstance(value, str) else None
            if moment is None and isinstance(value, str):
                moment = datetime_of(value)
        elif logical == "time":
            moment = time_of(value) if isinstance(value, str) else None
        else:
            moment = datetime_of(value) if isinstance(value, str) else None
        if moment is None:
            right = {"date": "'2024-01-31'", "time": "'23:59:59'"}.get(logical, "'2024-01-31T23:59:59Z'")
            self._skip(option, f"'{text_of(value)}' is no {logical}", wrong=True, hint=f"ISO 8601, such as {right}")
        return moment

    def _zone(self) -> str:
        """The time zone of values and bounds that state none."""
        stated = self.options.get("defaultTimezone")
        usable = self.subject.logical == "timestamp" and isinstance(stated, str) and time_zone(stated) is not None
        return str(stated) if usable else "UTC"

    # ------------------------------------------------------------------ texts

    def _whole(self, option: str, value: Any) -> int | None:
        number = self._as_number(value)
        if number is not None and number == int(number) and number >= 0:
            return int(number)
        self._skip(option, f"'{text_of(value)}' is no whole number from 0 up", wrong=True)
        return None

    def _length(self, option: str, value: Any) -> None:
        count = self._whole(option, value)
        if count is None:
            return
        characters = f"{count} character{'' if count == 1 else 's'}"
        if option == "minLength":
            self._add(option, Length(minimum=count), f"has at least {characters}.", option)
        else:
            self._add(option, Length(maximum=count), f"has at most {characters}.", option)

    def _pattern(self, option: str, value: Any) -> None:
        if isinstance(value, str):
            self._add(option, Matches(value), f"matches `{value}`.", option)
        else:
            self._skip(option, "a pattern is a text", wrong=True, hint="put it in quotes")

    def _format(self, option: str, value: Any) -> None:
        if not isinstance(value, str):
            self._skip(option, "a format is a text", wrong=True)
        elif self.subject.logical in TEMPORAL:
            self._date_format(option, value)
        elif self.subject.logical in _NUMERIC or value in _RANGES or value in ("f32", "f64"):
            self._number_format(option, value)
        else:
            self._string_format(option, value)

    def _string_format(self, option: str, value: str) -> None:
        name = _FORMAT_ALIASES.get(value.lower(), value.lower())
        if name in _FORMATS:
            self._add(option, HasFormat(name), f"is a valid {name}.", option)
        elif name == "password":
            self.clauses.show("Format", "password", *self.path, option)
        elif name == "binary":
            self._skip(option, "the format 'binary' allows every value")
        else:
            self.notes.advise(
                f"the format '{value}' is not known", *self.path, option, hint=did_you_mean(value, _FORMATS)
            )
            self._skip(option, f"no rule is known for the format '{value}'")

    def _number_format(self, option: str, value: str) -> None:
        if value in ("f32", "f64"):
            self._skip(option, f"the format '{value}' says how a number is stored, which its value does not show")
            return
        bounds = _RANGES.get(value)
        if bounds is None:
            hint = f"one of {', '.join((*_RANGES, 'f32', 'f64'))}"
            self._skip(option, f"'{value}' is no format of a number", wrong=True, hint=hint)
            return
        low, high = bounds
        conditions: tuple[Condition, ...] = (Bound(">=", low), Bound("<=", high))
        if self.subject.logical != "integer":
            conditions = (*conditions, MultipleOf(Decimal(1)))
        self._add(option, AllOf(conditions), f"is a whole number from {low} to {high}.", option)

    def _date_format(self, option: str, value: str) -> None:
        """A pattern concerns dates that are stored as text; where they are not, its check is skipped."""
        wrong = wrong_format(value)
        if wrong:
            self._skip(option, wrong, wrong=True, hint="such as 'yyyy-MM-dd'")
        elif self.subject.text_stored is False:
            self.clauses.show("Format", value, *self.path, option)
        else:
            self._add(option, Parsed(value), f"is written as {value}, where it is a text.", option)

    # ------------------------------------------------------------------ numbers, sizes and the rest

    def _multiple(self, option: str, value: Any) -> None:
        number = self._as_number(value)
        if number is None or number <= 0:
            self._skip(option, f"'{text_of(value)}' is no number above 0", wrong=True)
        else:
            self._add(option, MultipleOf(Decimal(number)), f"is a multiple of {number}.", option)

    def _size(self, option: str, value: Any) -> None:
        count = self._whole(option, value)
        if count is None:
            return
        what = "properties" if option.endswith("Properties") else "items"
        if option.startswith("min"):
            self._add(option, Size(minimum=count), f"has at least {count} {what}.", option)
        elif option.startswith("max"):
            self._add(option, Size(maximum=count), f"has at most {count} {what}.", option)
        else:
            self._add(option, Size(count, count), f"has {count} dimensions.", option)

    def _unique_items(self, option: str, value: Any) -> None:
        if value is True:
            self._add(option, UniqueItems(), "has no item twice.", option)
        elif value is not False:
            self._skip(option, "'uniqueItems' is true or false", wrong=True)

    def _required(self, option: str, value: Any) -> None:
        if not isinstance(value, list):
            self._skip(option, "'required' lists the names of properties that must exist", wrong=True)
            return
        names = [name for name in value if isinstance(name, str)]
        if len(names) < len(value) or not names:
            self._skip(option, "'required' lists the names of properties that must exist", wrong=True)
            return
        for index, name in enumerate(names):
            if self.subject.children and name not in self.subject.children:
                self.notes.advise(f"'{name}' is none of the properties", *self.path, option, index)
        physical = tuple(self.subject.children.get(name, name) for name in names)
        self._add(option, HasKeys(physical), f"has the properties {', '.join(physical)}.", option)

    def _timezone(self, option: str, value: Any) -> None:
        """Whether values carry a time zone is a part of the type, which the check of types compares."""
        if not isinstance(value, bool):
            self._skip(option, "'timezone' is true or false", wrong=True)
        elif self.subject.text_stored:
            self._skip(option, "the time zone of dates that are stored as text is told by their format")
        else:
            self.clauses.show("Time zone", "with a time zone" if value else "without a time zone", *self.path, option)

    def _default_timezone(self, option: str, value: Any) -> None:
        if not isinstance(value, str) or time_zone(value) is None:
            self._skip(option, f"'{text_of(value)}' is no time zone", wrong=True, hint="such as 'Europe/Berlin'")
        else:
            self.clauses.show("Default time zone", value, *self.path, option)

    def _vector(self, option: str, value: Any) -> None:
        if option in ("elementType", "normalized"):
            self._skip(option, f"'{option}' of a vector is not evaluated yet")
        else:
            self.clauses.show(option, value, *self.path, option)


_RANGES: dict[str, tuple[int, int]] = {
    f"{sign}{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if sign == "i" else (0, 2**bits - 1)
    for sign in ("i", "u")
    for bits in (8, 16, 32, 64, 128)
}
