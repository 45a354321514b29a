"""What can go wrong, told to the person who must act.

The exception tree::

    ContractChecksError
    ├── ContractError          a contract file that cannot be used; carries every Problem found
    ├── JsonLogicError         a rule that has no value (in `jsonlogic/`)
    ├── MetadataError          the metadata of an asset cannot be had
    └── SourceError            data that cannot be reached or asked
        ├── ServerError        the contract's server is missing, ambiguous or unusable
        ├── MissingDriverError a package is not installed; names its install line
        └── UnsafeQueryError   a query that is not one read-only SELECT
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

ProblemLevel = Literal["error", "warning"]


@dataclass(frozen=True)
class Location:
    """A place in a contract file.

    `path` is a JSONPath that can be pasted (`$.schema[0].quality[1]`), `line` counts from 1.
    """

    file: str
    line: int
    path: str = "$"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.path}"


@dataclass(frozen=True)
class Problem:
    """Something about a contract that a person should mend.

    `level` is `error` when the contract cannot be used as it stands, else `warning`. `message` says
    what is wrong, `hint` what would be right. `topic` tells problems apart that are counted.
    """

    message: str
    location: Location
    level: ProblemLevel = "error"
    hint: str = ""
    topic: Literal["", "unknown key"] = ""

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.location}: {self.message}{hint}"


class ContractChecksError(Exception):
    """The base of every exception this package raises on purpose."""


class ContractError(ContractChecksError):
    """A contract file cannot be used. `problems` holds everything found, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class MetadataError(ContractChecksError):
    """What is known of an asset (owners, tags, descriptions) cannot be had; the message says from where and why."""


class SourceError(ContractChecksError):
    """Data cannot be reached, or does not answer."""


class ServerError(SourceError):
    """The contract's server is missing, ambiguous or of a type that cannot be asked."""


class MissingDriverError(SourceError):
    """A driver is not installed. The message names the line that installs it."""


class UnsafeQueryError(SourceError):
    """A query of a contract is not one read-only SELECT."""
