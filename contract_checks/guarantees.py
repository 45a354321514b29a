"""What a source guarantees of a table without a scan, as values: enforced constraints, and exact statistics.

A source says here only what cannot be otherwise: a constraint that it enforces on every write and that was checked
against the rows that were there before; a statistic that is complete for every part of every file. What it is not
sure of it leaves out, and the scan answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from contract_checks.metrics import Scalar


@dataclass(frozen=True)
class NotNullConstraint:
    """No row has NULL in `column`."""

    column: str


@dataclass(frozen=True)
class UniqueConstraint:
    """No two rows have the same values in `columns`, none of them NULL, as GROUP BY compares them."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class ForeignKeyConstraint:
    """Every row whose `columns` are all filled has a row of those values in `target_columns` of `target`.

    `target` is the FROM item by which the session knows that very table.
    """

    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]


@dataclass(frozen=True)
class CheckConstraint:
    """The expression `sql` is false for no row.

    `exact_text` says that it compares texts character by character, whatever the session and the collation were
    when a row was written, and that its functions are the database's own.
    """

    sql: str
    exact_text: bool = False


Constraint: TypeAlias = "NotNullConstraint | UniqueConstraint | ForeignKeyConstraint | CheckConstraint"


@dataclass(frozen=True)
class ColumnStatistics:
    """What files say of a column: how many of its values are NULL, and the bounds between which the others lie.

    A bound has the type that a scan would return. It is None where it is not known. `exact` says that both bounds
    are values that occur.
    """

    null_count: int | None = None
    minimum: Scalar = None
    maximum: Scalar = None
    exact: bool = False


@dataclass(frozen=True)
class Guarantees:
    """All that is known of a whole table: its constraints, and by column name what its files say."""

    constraints: tuple[Constraint, ...] = ()
    statistics: Mapping[str, ColumnStatistics] = field(default_factory=dict)
    row_count: int | None = None


NO_GUARANTEES = Guarantees()
