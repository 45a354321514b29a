"""What a reader of an ODCS document carries along: the document, its version, and what it has to say."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from contract_checks.dialects.document import Document
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.dialects.odcs_document import Definition, Piece
from contract_checks.dialects.odcs_others import Others
from contract_checks.errors import ContractError, Location, Problem
from contract_checks.model import Dataset, Documented, Expectation, Link, NotChecked, Section

MAX_HINTS = 500
"""After so many problems nobody reads hints, and finding them takes time."""

P = TypeVar("P", bound=Piece)
Path = tuple[str | int, ...]

_HINTS = {
    **dict.fromkeys(
        ("logicalTypeOptions", "required", "unique", "primaryKey", "classification", "items", "enum", "map"),
        "it belongs to an entry of 'properties'",
    ),
    "quality": "rules belong to an object or property of 'schema'",
    "isNullable": "ODCS 3 says 'required', which means the opposite",
    "isUnique": "ODCS 3 says 'unique'",
    "isPrimaryKey": "ODCS 3 says 'primaryKey'",
    "column": "ODCS 3 says 'name'; in an SLA 'element'",
    "columns": "ODCS 3 says 'properties'",
    "table": "ODCS 3 says 'name'",
    "dataset": "ODCS 3 says 'schema'",
    "quantumName": "ODCS 3 says 'dataProduct'",
    "uuid": "ODCS 3 says 'id'",
    "datasetDomain": "ODCS 3 says 'domain'",
    "stakeholders": "ODCS 3 says 'team'",
    "toolName": "ODCS 3 says 'type: custom' and 'engine'",
    "scheduleCronExpression": "ODCS 3 says 'scheduler: cron' and 'schedule'",
    "slaDefaultColumn": "ODCS 3 says 'slaDefaultElement'",
}


class Notes:
    """Collects the problems of one document while it is read.

    `version` is what the document is read as, for example `(3, 1)`. `engines` translate custom rules;
    `others` finds what references into other contracts lead to, if they are followed.
    """

    def __init__(self, document: Document, strict: bool = False, engines: Engines = NO_ENGINES) -> None:
        self.document = document
        self.strict = strict
        self.engines = engines
        self.others: Others | None = None
        self.version: tuple[int, int] = (3, 2)
        self.problems: list[Problem] = []

    def at(self, *path: str | int) -> Location:
        """Where the value at `path` stands."""
        return self.document.location(*path)

    def refuse(self, message: str, *path: str | int, hint: str = "") -> None:
        """The contract cannot be used because of this."""
        self.problems.append(self.document.problem(message, *path, hint=hint))

    def tolerate(self, message: str, *path: str | int, hint: str = "") -> None:
        """The standard forbids this; a strict reader refuses the contract, a lenient one goes on."""
        self.problems.append(self.document.problem(message, *path, hint=hint, error=self.strict))

    def unknown_key(self, *path: str | int, hint: str = "") -> None:
        """The last key of `path` is none of the standard."""
        self.problems.append(self.document.unknown_key(*path, hint=hint, error=self.strict))

    def advise(self, message: str, *path: str | int, hint: str = "") -> None:
        """Allowed, but a person may want to know."""
        self.problems.append(self.document.problem(message, *path, hint=hint, error=False))

    def all_problems(self) -> tuple[Problem, ...]:
        """Everything found, in the order of the file."""
        ordered = sorted(self.problems, key=lambda problem: problem.location.line)
        return tuple(dict.fromkeys(ordered))

    def stop_on_errors(self) -> None:
        """Raise `ContractError` with every problem, errors first, if one of them is an error."""
        problems = self.all_problems()
        if any(problem.level == "error" for problem in problems):
            raise ContractError(sorted(problems, key=lambda problem: problem.level != "error"))

    def piece(self, model: type[P], value: Any, *path: str | int) -> P | None:
        """Validate one mapping of the document; None when it is none.

        A part of the wrong kind is refused and left out of the result, so that the rest is read as well.
        """
        if not isinstance(value, dict):
            self.refuse(f"{_kind(value)} stands where a mapping belongs", *path)
            return None
        self._keys(model, value, path)
        try:
            return model.model_validate(value, strict=self.strict)
        except ValidationError as error:
            details = error.errors(include_url=False)
        for detail in details:
            self.refuse(_sentence(detail), *path, *detail["loc"])
        wrong = {detail["loc"][0] for detail in details}
        return model.model_validate({key: part for key, part in value.items() if key not in wrong}, strict=self.strict)

    def entries(self, value: Any, *path: str | int) -> Iterable[tuple[Any, Path]]:
        """The entries of a list that is not essential, with their paths; a lone value counts as a list of one."""
        if value is None:
            return []
        if not isinstance(value, list):
            self.tolerate(f"{_kind(value)} stands where a list belongs", *path)
            return [(value, path)]
        return [(entry, (*path, index)) for index, entry in enumerate(value)]

    def texts(self, value: Any, *path: str | int) -> tuple[str, ...]:
        """A list of texts, such as tags; anything else in it is noted and left out."""
        found = []
        for entry, where in self.entries(value, *path):
            if isinstance(entry, str | int | Decimal) and not isinstance(entry, bool):
                found.append(str(entry))
            elif entry is not None:
                self.tolerate(f"{_kind(entry)} stands where a text belongs", *where)
        return tuple(found)

    def _keys(self, model: type[Piece], value: dict[str, Any], path: Path) -> None:
        known = _known_keys(model)
        for key in value:
            info = known.get(key)
            if info is None:
                hint = did_you_mean(key, known) if len(self.problems) < MAX_HINTS else ""
                self.unknown_key(*path, key, hint=hint)
            elif isinstance(info.json_schema_extra, dict):
                since = str(info.json_schema_extra["since"])
                if self.version < tuple(int(part) for part in since.split(".")) and value[key] is not None:
                    said = ".".join(str(part) for part in self.version)
                    self.tolerate(
                        f"'{key}' came with ODCS {since}, the contract says {said}",
                        *path,
                        key,
                        hint=f"say 'apiVersion: v{since}.0'; it is read all the same",
                    )


@cache
def _known_keys(model: type[Piece]) -> Mapping[str, FieldInfo]:
    """The fields of a piece by their keys in the document."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


class Clauses:
    """The promises of one dataset as they are found. Each ends in exactly one of the three lists.

    `later` is what can only be read when all columns are known, `sources` are assets the data depends on.
    """

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self.expectations: list[Expectation] = []
        self.not_checked: list[NotChecked] = []
        self.documented: list[Documented] = []
        self.later: list[Callable[[Dataset], None]] = []
        self.sources: list[str] = []

    def skip(self, reason: str, *path: str | int, section: Section = "quality") -> None:
        """The clause at `path` promises something nobody evaluates here."""
        self.not_checked.append(NotChecked(self.notes.at(*path), reason, section))

    def show(self, title: str, value: Any, *path: str | int) -> None:
        """The clause at `path` is shown, not checked; an empty one is not even that."""
        if value not in (None, "", [], {}):
            self.documented.append(Documented(self.notes.at(*path), title, text_of(value)))

    def links(self, value: Any, *path: str | int) -> tuple[Link, ...]:
        """`authoritativeDefinitions` as links; what has no address is shown."""
        found = []
        for entry, where in self.notes.entries(value, *path):
            if not isinstance(entry, dict):
                self.notes.tolerate(f"{_kind(entry)} stands where a mapping with 'type' and 'url' belongs", *where)
                self.show("Definition", entry, *where)
                continue
            definition = self.notes.piece(Definition, entry, *where)
            if definition is None:
                continue
            if definition.url:
                title = " ".join(part for part in (definition.type, definition.description) if part)
                found.append(Link(definition.url, title))
            else:
                self.notes.tolerate("a definition without 'url'", *where)
                self.show("Definition", entry, *where)
        return tuple(found)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the known word closest to `word`, or all of them when they are few."""
    if word in _HINTS:
        return _HINTS[word]
    if len(word) > 60:
        return ""
    words = list(known)
    lowered = {candidate.lower(): candidate for candidate in words}
    close = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.75)
    if close:
        return f"did you mean '{lowered[close[0]]}'?"
    return f"one of {', '.join(words)}" if len(words) <= 13 else ""


def text_of(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(part, str | int | Decimal) for part in value):
        return ", ".join(text_of(part) for part in value)
    if isinstance(value, dict | list):
        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def _sentence(detail: ErrorDetails) -> str:
    wanted = {
        "string": "a text",
        "list": "a list",
        "dict": "a mapping",
        "bool": "true or false",
        "int": "a whole number",
    }
    want = wanted.get(str(detail["type"]).split("_")[0], "")
    got = _kind(detail["input"])
    if isinstance(detail["input"], str | int | Decimal) and not isinstance(detail["input"], bool):
        got += f" ('{str(detail['input'])[:40]}')"
    return f"{got} stands where {want} belongs" if want else str(detail["msg"])
