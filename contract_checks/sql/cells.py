"""How the text of a cell of CSV or JSON becomes a value, in DuckDB: the shape it must have, the type it is read as.

DuckDB's casts accept more than the shapes do (`1e3` for an integer, `infinity` for a date), so a regular expression
guards each of them. Where many cells are read, most are written as DuckDB itself would write the value. That is cheaper
to tell, by writing a guessed value again: `guessed_cell` and `settled_cell` leave only the others to the guard.
"""

from __future__ import annotations

from sqlglot import exp

from contract_checks.sql.interface import call, text
from contract_checks.values import CLOCK_SHAPE, DATE_SHAPE, OFFSET_SHAPE, TIMESTAMP_SHAPE

_INTEGER = r"[+-]?[0-9]+"
_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?)|[nN][aA][nN]"

CELL_TYPES: dict[str, tuple[str, str]] = {
    "integer": (_INTEGER, "HUGEINT"),
    "number": (_NUMBER, "DOUBLE"),
    "boolean": (r"[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|[tTfF]", "BOOLEAN"),
    "date": (DATE_SHAPE, "DATE"),
    "timestamp": (TIMESTAMP_SHAPE, "TIMESTAMPTZ"),
    "time": (f"{CLOCK_SHAPE}{OFFSET_SHAPE}", "TIME"),
}
"""By category: what the text of a cell must look like, and the type it is read as."""

_GUESSED = {"integer": "BIGINT", "date": "DATE", "timestamp": "TIMESTAMP"}
_WORDS = ("true", "false", "True", "False", "TRUE", "FALSE", "t", "f")
_ERAS = {"date": ("1600-01-01", "9999-12-31"), "timestamp": ("1600-01-01", "9999-12-31 23:59:59.999999")}
"""Between these every value is written with four digits for its year, and nothing but digits."""


def cell_value(raw: exp.Expr, category: str) -> exp.Expr:
    """The value of a text, NULL where the text is not of the category's shape or names no value."""
    looks, native_type = CELL_TYPES[category]
    fits = call("REGEXP_FULL_MATCH", raw, text(looks))
    cast: exp.Expr = _try(raw, native_type)
    if category in ("timestamp", "time"):
        cast = exp.Coalesce(this=cast, expressions=[_try(_with_seconds(raw), native_type)])
    return exp.Case(ifs=[exp.If(this=fits, true=cast)])


def guessed_cell(raw: exp.Expr, category: str) -> exp.Expr | None:
    """What the text may mean, to be settled; None for a category of which nothing is guessed."""
    return _try(raw, _GUESSED[category]) if category in _GUESSED else None


def settled_cell(raw: exp.Expr, category: str, guessed: exp.Expr | None) -> exp.Expr:
    """The value that `cell_value` gives. `guessed` is a column that holds the guess."""
    otherwise = cell_value(raw, category)
    if category == "boolean":
        known = exp.In(this=raw.copy(), expressions=[text(word) for word in _WORDS])
        return exp.Case(ifs=[exp.If(this=known, true=_try(raw, "BOOLEAN"))], default=otherwise)
    if guessed is None:
        return otherwise
    written = exp.cast(guessed.copy(), "TEXT")
    ways: list[exp.Expr] = [written]
    value: exp.Expr = guessed
    if category == "timestamp":
        # A guess leaves the offset out: it is right for none and for zero.
        joined = call("REPLACE", written, text(" "), text("T"))
        ways = [written, _followed(written, "+00"), _followed(joined, "Z"), joined, _followed(written, "+00:00")]
        ways.append(_followed(joined, "+00:00"))
        value = call("MAKE_TIMESTAMPTZ", call("EPOCH_US", guessed))
    elif category == "integer":
        value = exp.cast(guessed.copy(), "HUGEINT", dialect="duckdb")
    certain: list[exp.Expr] = [exp.EQ(this=way.copy(), expression=raw.copy()) for way in ways]
    if category in _ERAS:
        first, last = (exp.cast(text(day), _GUESSED[category]) for day in _ERAS[category])
        era = exp.Between(this=guessed.copy(), low=first, high=last)
        certain = [exp.and_(era.copy(), one) for one in certain]
    return exp.Case(ifs=[exp.If(this=one, true=value.copy()) for one in certain], default=otherwise)


def _try(raw: exp.Expr, native_type: str) -> exp.Expr:
    return exp.TryCast(this=raw.copy(), to=exp.DataType.build(native_type, "duckdb"))


def _followed(written: exp.Expr, end: str) -> exp.Expr:
    return exp.DPipe(this=written.copy(), expression=text(end))


def _with_seconds(raw: exp.Expr) -> exp.Expr:
    """A time as DuckDB reads it, which wants seconds before an offset and no space: `10:00 +01` is `10:00:00+01`."""
    joined = call("REGEXP_REPLACE", raw, text(" ([zZ+-])"), text(r"\1"))
    return call("REGEXP_REPLACE", joined, text("^(.*[T ])?([0-9]{2}:[0-9]{2})([zZ+-].*)$"), text(r"\1\2:00\3"))
