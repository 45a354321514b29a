"""What statements read: a relation, a part of one, and the values of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from sqlglot import exp, parse_one

from contract_checks.datatypes import Category, field_type
from contract_checks.guarantees import NO_GUARANTEES, Guarantees
from contract_checks.metrics import FieldPath, FoundColumn, Measurement, Metric, RowFilter

Encoding = Literal["native", "csv", "json"]
"""How cells are stored: by the source's own types, as CSV text, or as JSON values."""


@dataclass(frozen=True)
class Relation:
    """What a FROM clause may name: a table or a set of files, with the columns that are really there.

    `sql` is the FROM item in `dialect` (a sqlglot name). `declared` gives the promised category of a field
    where the storage has no types of its own, `formats` the pattern of one stored as text, `zoned`
    whether its times must state a time zone. `shown` is how a
    person knows it; `placeholder` is what `{object}` becomes in a user's query. `part` is there where only some of the
    table's rows are meant (see `scoping`); what is known of the whole table does not hold for them.
    `row_id` is a column of whole numbers that leads to a row, or to one in each file, within one snapshot; it is named
    where the source has one that costs next to nothing.
    `facts` are metrics that the source knows without a statement, `guarantees` what it vouches for of the whole table
    (see `proofs`), `notes` what is said beside every result. `values` are fields that columns of their own hold, worked
    out before.
    """

    shown: str
    sql: str
    dialect: str
    columns: tuple[FoundColumn, ...]
    encoding: Encoding = "native"
    declared: Mapping[FieldPath, Category] = field(default_factory=dict)
    placeholder: str = ""
    formats: Mapping[FieldPath, str] = field(default_factory=dict)
    zoned: Mapping[FieldPath, bool] = field(default_factory=dict)
    part: Part | None = None
    row_id: str = ""
    facts: Mapping[Metric, Measurement] = field(default_factory=dict)
    guarantees: Guarantees = NO_GUARANTEES
    notes: tuple[str, ...] = ()
    values: Mapping[FieldPath, Value] = field(default_factory=dict)

    def find(self, name: str) -> FoundColumn | None:
        """The column of that name: an exact match first, then a case-insensitive one if it is the only one."""
        for column in self.columns:
            if column.name == name:
                return column
        folded = [column for column in self.columns if column.name.lower() == name.lower()]
        return folded[0] if len(folded) == 1 else None

    def has(self, path: FieldPath) -> bool:
        """Whether there is a value at `path`, as far as the types tell."""
        column = self.find(path[0])
        if column is None:
            return False
        if len(path) == 1 or self.encoding != "native":
            return True
        return field_type(column.native_type, path[1:], self.dialect) is not None

    def table(self) -> exp.Expr:
        """The FROM item as a tree; one of files is long and left as it is written."""
        if self.encoding != "native":
            return exp.Table(this=exp.var(self.sql))
        return _from_item(self.sql, self.dialect).copy()


@lru_cache(maxsize=64)
def _from_item(sql: str, dialect: str) -> exp.Expr:
    parsed = parse_one(f"SELECT 1 FROM {sql}", dialect=dialect)  # noqa: S608 - made of quoted names
    source = parsed.find(exp.From)
    assert source is not None
    item: exp.Expr = source.this
    return item


@dataclass(frozen=True)
class Part:
    """Which rows of `whole` a relation has: those for which `predicate` is true."""

    whole: Relation
    predicate: exp.Expr
    filter: RowFilter


@dataclass(frozen=True)
class Value:
    """An expression for the values of a field, with what is known of their type.

    `parent` holds the value, if it is a field of something. `raw` is the text it was parsed from, where
    the storage has no types. `format` is the pattern by which a text says a date or time.
    """

    expression: exp.Expr
    category: Category
    native_type: str
    parent: exp.Expr | None = None
    raw: exp.Expr | None = None
    format: str | None = None

    @property
    def absent(self) -> exp.Expr:
        """True where the value is missing although what holds it is there."""
        missing = is_null(self.raw if self.raw is not None else self.expression)
        return missing if self.parent is None else exp.and_(is_not_null(self.parent), missing)


def is_null(expression: exp.Expr) -> exp.Expr:
    """`expression IS NULL`."""
    return exp.Is(this=expression.copy(), expression=exp.Null())


def is_not_null(expression: exp.Expr) -> exp.Expr:
    """`NOT expression IS NULL`."""
    return exp.Not(this=is_null(expression))
