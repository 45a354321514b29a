"""What both OpenMetadata dialects need to read: shapes, findings, people, texts.

A `Shape` is a pydantic model of one mapping of a contract. `Reader` reads values into shapes and
collects what there is to say: problems, documentation, and clauses that are not checked.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, ValidationError
from pydantic_core import ErrorDetails

from contract_checks.dialects.conditions import whole_number
from contract_checks.dialects.document import Document
from contract_checks.dialects.engines import NO_ENGINES, Engines
from contract_checks.errors import ContractError, Location, Problem
from contract_checks.metrics import FieldPath
from contract_checks.model import Column, Documented, NotChecked, Owner, Section, walk_columns

Path = tuple[str | int, ...]


def _key(attribute: str) -> str:
    """`max_latency` → `maxLatency`, `schema_` → `schema`."""
    head, *tail = attribute.rstrip("_").split("_")
    return head + "".join(part.capitalize() for part in tail)


class Shape(BaseModel):
    """A mapping of a contract whose keys are written in camelCase. Keys it does not know are kept apart."""

    model_config = ConfigDict(extra="allow", frozen=True, alias_generator=_key)


class SnakeShape(Shape):
    """A mapping of a contract whose keys are written in snake_case."""

    model_config = ConfigDict(alias_generator=lambda attribute: attribute)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return str(value)
    raise ValueError(f"must be text, not {kind_of(value)}")


def _as_texts(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_whole(value: Any) -> int:
    whole = whole_number(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None
    if whole is not None:
        return whole
    raise ValueError("must be a whole number")


Text = Annotated[str, BeforeValidator(_as_text)]
Texts = Annotated[list[Text], BeforeValidator(_as_texts)]
Whole = Annotated[int, BeforeValidator(_as_whole)]
Flag = StrictBool

S = TypeVar("S", bound=Shape)


def kind_of(value: Any) -> str:
    """What a person calls a YAML value: `a list`, `a mapping`, `text` …"""
    if value is None:
        return "empty"
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "true or false"),
        ((int, float, Decimal), "a number"),
        (str, "text"),
        (list, "a list"),
        (dict, "a mapping"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), type(value).__name__)


def plain(value: Any) -> str:
    """A YAML value as one readable text."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list) and all(not isinstance(item, list | dict) for item in value):
        return ", ".join(plain(item) for item in value)
    if isinstance(value, dict | list):
        return json.dumps(value, default=str, ensure_ascii=False)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: ""}[value]
    return str(value)


def short(value: Any, length: int = 120) -> str:
    """`plain` on one line, cut where it gets long."""
    text = re.sub(r"\s+", " ", plain(value))
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def words(key: str) -> str:
    """A key as a title: `dataClassification` → `Data classification`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_\s]+", " ", key).strip().lower()
    return spaced[:1].upper() + spaced[1:]


class Reader:
    """Reads the values of one document and collects everything there is to say about them."""

    def __init__(self, document: Document, strict: bool = False, engines: Engines = NO_ENGINES) -> None:
        self.document = document
        self.strict = strict
        self.engines = engines
        self.problems: list[Problem] = []
        self.documented: list[Documented] = []
        self.not_checked: list[NotChecked] = []

    # -- findings

    def at(self, *path: str | int) -> Location:
        """The location of the value at `path`."""
        return self.document.location(*path)

    def error(self, path: Path, message: str, hint: str = "") -> None:
        """The contract cannot be used as it stands."""
        self.problems.append(self.document.problem(message, *path, hint=hint))

    def warn(self, path: Path, message: str, hint: str = "") -> None:
        """A person should look at this; the contract can be used."""
        self.problems.append(self.document.problem(message, *path, hint=hint, error=False))

    def unknown(self, path: Path, known: Sequence[str], section: Section = "quality") -> None:
        """The last key of `path` means nothing here: a problem, and a clause that is not checked."""
        key = str(path[-1])
        close = difflib.get_close_matches(key.lower(), [name.lower() for name in known], 1, 0.75)
        meant = next((name for name in known if close and name.lower() == close[0]), "")
        hint = f"did you mean '{meant}'?" if meant else f"known here: {', '.join(sorted(known))}"
        message = f"the key '{key}' is not known here"
        self.problems.append(self.document.unknown_key(*path, hint=hint, error=self.strict))
        self.skip(path, f"{message} ({hint})" if meant else message, section)

    def document_value(self, path: Path, value: Any, title: str = "") -> None:
        """The value at `path` is shown, not checked. Empty values say nothing and are left out."""
        text = plain(value)
        if text:
            self.documented.append(Documented(self.at(*path), title or words(str(path[-1])), text))

    def skip(self, path: Path, reason: str, section: Section = "quality") -> None:
        """The clause at `path` promises something that is not evaluated."""
        self.not_checked.append(NotChecked(self.at(*path), reason, section))

    def sorted_documented(self, path: str | tuple[str, ...], inside: bool) -> tuple[Documented, ...]:
        """What is shown, in the order of the file: of the sections that begin with `path`, or of all others."""
        found = [one for one in self.documented if one.location.path.startswith(path) == inside]
        return tuple(sorted(found, key=lambda one: one.location.line))

    def sorted_not_checked(self, path: str | tuple[str, ...], inside: bool) -> tuple[NotChecked, ...]:
        """What is not checked, in the order of the file, as `sorted_documented` has it."""
        found = [one for one in self.not_checked if one.location.path.startswith(path) == inside]
        return tuple(sorted(found, key=lambda one: one.location.line))

    def finish(self) -> tuple[Problem, ...]:
        """The warnings. Raises `ContractError` with every problem if one of them is an error."""
        problems = tuple(dict.fromkeys(sorted(self.problems, key=lambda problem: problem.location.line)))
        if any(problem.level == "error" for problem in problems):
            raise ContractError(problems)
        return problems

    # -- values

    def shape(self, model: type[S], value: Any, path: Path, section: Section = "quality") -> S | None:
        """Read the mapping `value` into `model`, reporting what does not fit and what is unknown.

        A part that does not fit is reported and read as absent; None when nothing is left to read.
        """
        if not isinstance(value, dict):
            self.error(path, f"a mapping is expected here, not {kind_of(value)}")
            return None
        try:
            read = model.model_validate(value)
        except ValidationError as error:
            details = error.errors(include_url=False)
            for detail in details:
                self.error((*path, *detail["loc"]), _sentence(detail))
            spoilt = {detail["loc"][0] for detail in details if detail["loc"]}
            try:
                read = model.model_validate({key: item for key, item in value.items() if key not in spoilt})
            except ValidationError:
                return None
        for where, known in _unknown_keys(read, path):
            self.unknown(where, known, section)
        return read

    def mappings(self, value: Any, path: Path, what: str) -> Iterator[tuple[dict[str, Any], Path]]:
        """Every mapping of the list `value` with its path; anything else is an error."""
        if value is None:
            return
        if not isinstance(value, list):
            self.error(path, f"a list of {what} is expected here, not {kind_of(value)}")
            return
        for index, item in enumerate(value):
            if isinstance(item, dict):
                yield item, (*path, index)
            else:
                self.error((*path, index), f"a mapping is expected in a list of {what}, not {kind_of(item)}")


def _unknown_keys(value: Any, path: Path) -> Iterator[tuple[Path, Sequence[str]]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_keys(item, (*path, index))
    elif isinstance(value, Shape):
        fields = type(value).model_fields
        names = {name: field.alias or name for name, field in fields.items()}
        for key in value.model_extra or {}:
            yield (*path, key), tuple(names.values())
        for name, key in names.items():
            yield from _unknown_keys(getattr(value, name), (*path, key))


def _sentence(detail: ErrorDetails) -> str:
    key = detail["loc"][-1] if detail["loc"] else "it"
    name = f"item {key}" if isinstance(key, int) else f"'{key}'"
    if detail["type"] == "missing":
        return f"{name} is missing"
    if detail["type"] == "value_error":
        return f"{name} {detail['ctx']['error']}"
    expected = {
        "bool_type": "true or false",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
    }.get(detail["type"])
    if expected is None:
        return f"{name} does not fit: {detail['msg'].lower()}"
    found = detail["input"]
    return f"{name} must be {expected}, not {repr(found) if isinstance(found, str) else kind_of(found)}"


# --------------------------------------------------------------------------- parts both dialects share


class Reference(Shape):
    """An entity reference: `{id, type, name, fullyQualifiedName, …}`."""

    id: Text | None = None
    type: Text | None = None
    name: Text | None = None
    fully_qualified_name: Text | None = None
    display_name: Text | None = None
    description: Text | None = None
    href: Text | None = None
    deleted: bool | None = None
    inherited: bool | None = None

    @property
    def label(self) -> str:
        """What a person calls it."""
        return self.fully_qualified_name or self.name or self.display_name or self.id or ""


def read_references(reader: Reader, value: Any, path: Path) -> list[Reference]:
    """A reference, a name, or a list of either."""
    found: list[Reference] = []
    for item, where in _each(value, path):
        if isinstance(item, str):
            found.append(Reference.model_validate({"name": item}))
        elif item is not None:
            reference = reader.shape(Reference, item, where)
            if reference is not None:
                found.append(reference)
    return found


def read_owners(reader: Reader, value: Any, path: Path, role: str = "") -> list[Owner]:
    """Owners as a name, a `{name, type}`, an entity reference, or a list of these.

    A name alone that is no email address is taken for a team: a person signs with an address.
    """
    owners = []
    for reference in read_references(reader, value, path):
        name = reference.display_name or reference.name or reference.fully_qualified_name or reference.id
        if not name:
            reader.warn(path, "an owner has no name", "give 'name' and 'type'")
            continue
        address = next((text for text in (reference.name, name) if text and is_address(text)), "")
        user = reference.type == "user" or (reference.type is None and bool(address))
        owners.append(Owner(name, "user" if user else "team", address, role))
    return owners


def is_address(text: str) -> bool:
    """Whether the text looks like an email address."""
    return re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", text) is not None


def read_description(reader: Reader, value: Any, path: Path) -> str:
    """A description as text, or as `{purpose, limitations, usage}`: the purpose, the rest documented."""
    if isinstance(value, dict):
        for key, text in value.items():
            if key != "purpose":
                reader.document_value((*path, key), text)
        return plain(value.get("purpose"))
    return plain(value)


def split_name(name: str) -> tuple[str, ...]:
    """A dotted name as its parts; a part in double quotes may hold dots (`a."b.c"` → `a`, `b.c`)."""
    parts = re.findall(r'"(?:[^"]|"")*"|[^."]+', name)
    return tuple(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts) or (name,)


def join_name(parts: Sequence[str]) -> str:
    """The reverse of `split_name`."""
    return ".".join(f'"{part}"' if "." in part else part for part in parts)


def warn_of_duplicates(reader: Reader, columns: Sequence[Column]) -> None:
    """An error for every column that is listed twice."""
    first: dict[FieldPath, Column] = {}
    for path, column in walk_columns(tuple(columns)):
        if path in first:
            message = f"the column '{column.name}' is listed twice: first in line {first[path].location.line}"
            reader.problems.append(Problem(message, column.location, hint="keep one of them"))
        first.setdefault(path, column)


def _each(value: Any, path: Path) -> Iterator[tuple[Any, Path]]:
    if isinstance(value, list):
        yield from ((item, (*path, index)) for index, item in enumerate(value))
    elif value is not None:
        yield value, path
