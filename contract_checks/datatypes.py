"""Types: the categories contracts speak of, and the native types databases speak of.

sqlglot knows how each database spells its types; here they are sorted into the logical types of ODCS
and compared with what was declared.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

from sqlglot import exp
from sqlglot.errors import SqlglotError

Category = Literal[
    "string",
    "integer",
    "number",
    "boolean",
    "date",
    "timestamp",
    "time",
    "object",
    "map",
    "array",
    "vector",
    "binary",
    "unknown",
]
CATEGORIES: tuple[Category, ...] = get_args(Category)

_T = exp.DataType.Type
_BY_TYPE: dict[exp.DType, Category] = {
    **dict.fromkeys(exp.DataType.TEXT_TYPES, "string"),
    **dict.fromkeys(
        (_T.UUID, _T.ENUM, _T.ENUM8, _T.ENUM16, _T.INET, _T.IPADDRESS, _T.IPPREFIX, _T.IPV4, _T.IPV6, _T.XML,
         _T.FIXEDSTRING, _T.LONGTEXT, _T.MEDIUMTEXT, _T.TINYTEXT, _T.NAME),
        "string",
    ),
    **dict.fromkeys((*exp.DataType.SIGNED_INTEGER_TYPES, *exp.DataType.UNSIGNED_INTEGER_TYPES), "integer"),
    **dict.fromkeys(
        (*exp.DataType.FLOAT_TYPES, _T.DECIMAL, _T.BIGDECIMAL, _T.DECFLOAT, _T.MONEY, _T.SMALLMONEY), "number"
    ),
    _T.BOOLEAN: "boolean",
    **dict.fromkeys((_T.DATE, _T.DATE32), "date"),
    **dict.fromkeys((_T.TIME, _T.TIMETZ), "time"),
    **dict.fromkeys(
        (_T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIMESTAMPLTZ, _T.TIMESTAMPNTZ, _T.TIMESTAMP_S, _T.TIMESTAMP_MS,
         _T.TIMESTAMP_NS, _T.DATETIME, _T.DATETIME2, _T.DATETIME64, _T.SMALLDATETIME),
        "timestamp",
    ),
    **dict.fromkeys((_T.STRUCT, _T.OBJECT, _T.NESTED, _T.JSON, _T.JSONB, _T.VARIANT, _T.SUPER), "object"),
    _T.MAP: "map",
    **dict.fromkeys((_T.ARRAY, _T.LIST), "array"),
    _T.VECTOR: "vector",
    **dict.fromkeys((_T.BINARY, _T.VARBINARY, _T.BLOB, _T.LONGBLOB, _T.MEDIUMBLOB, _T.TINYBLOB, _T.BIT), "binary"),
}  # fmt: skip

_WITH_TIMEZONE = {_T.TIMESTAMPTZ, _T.TIMESTAMPLTZ, _T.TIMETZ}
_OPEN_DOCUMENTS = {_T.JSON, _T.JSONB, _T.VARIANT, _T.SUPER}


@lru_cache(maxsize=4096)
def parse_type(text: str, dialect: str) -> exp.DataType | None:
    """The native type `text` in the spelling of `dialect` (a sqlglot name), or None if it is not one."""
    if not text.strip():
        return None
    try:
        parsed = exp.DataType.build(text, dialect=dialect)
    except (SqlglotError, ValueError):
        return None
    inner = parsed.expressions[0] if parsed.this is _T.LOWCARDINALITY and parsed.expressions else None
    return inner if isinstance(inner, exp.DataType) else parsed  # how ClickHouse stores it is no type


def category_of(text: str, dialect: str) -> Category:
    """The logical category of a native type; `unknown` when the database's word is not one we know."""
    parsed = parse_type(text, dialect)
    if parsed is not None and parsed.this is _T.BIT and dialect == "tsql":
        return "boolean"
    return _BY_TYPE.get(parsed.this, "unknown") if parsed is not None else "unknown"


def satisfied_categories(text: str, category: str, dialect: str) -> frozenset[Category]:
    """Every category that a column of this native type satisfies.

    A decimal without decimals is an integer as well; a JSON document may be an object, map or array
    (which of them is then a question to the cells); the fields of a struct and the entries of a map are
    both objects. An integer is not a number, nor the other way round (a decision of this project).
    """
    parsed = parse_type(text, dialect)
    categories: set[Category] = {one for one in CATEGORIES if one == category and one != "unknown"}
    if parsed is None:
        return frozenset(categories)
    scale = [part.name for part in parsed.expressions[1:]]
    if parsed.this is _T.DECIMAL and parsed.expressions and scale in ([], ["0"]):
        categories |= {"integer", "number"}
    if parsed.this is _T.TINYINT and dialect == "mysql" and [part.name for part in parsed.expressions] == ["1"]:
        categories.add("boolean")
    if parsed.this in _OPEN_DOCUMENTS:
        categories |= {"object", "map", "array"}
    if parsed.this is _T.MAP:
        categories.add("object")
    if parsed.this is _T.ARRAY:
        categories.add("vector")
    return frozenset(categories)


def is_open_document(text: str, dialect: str) -> bool:
    """Whether the native type holds JSON-like documents, whose shape only the cells tell."""
    parsed = parse_type(text, dialect)
    return parsed is not None and parsed.this in _OPEN_DOCUMENTS


def is_float(text: str, dialect: str) -> bool:
    """Whether the native type is a binary floating-point number, which may be NaN."""
    parsed = parse_type(text, dialect)
    return parsed is not None and parsed.this in exp.DataType.FLOAT_TYPES


def is_single(text: str, dialect: str) -> bool:
    """Whether the native type is a floating-point number of single precision."""
    parsed = parse_type(text, dialect)
    return parsed is not None and parsed.this is _T.FLOAT


def has_timezone(text: str, dialect: str) -> bool:
    """Whether the native type carries a time zone."""
    parsed = parse_type(text, dialect)
    return parsed is not None and parsed.this in _WITH_TIMEZONE


@lru_cache(maxsize=4096)
def field_type(text: str, path: tuple[str, ...], dialect: str) -> str | None:
    """The native type at a field path below a column of type `text`; None when there is no such field.

    `path` holds names of fields, `[]` for the items of an array, `{keys}` and `{values}` for those of a map.
    Below a JSON document every path is itself a JSON document.
    """
    parsed = parse_type(text, dialect)
    for segment in path:
        if parsed is None:
            return None
        if parsed.this in _OPEN_DOCUMENTS:
            return text if parsed.this is not _T.VARIANT else "VARIANT"
        inner: exp.Expr | None = None
        if segment == "[]":
            inner = parsed.expressions[0] if parsed.this in (_T.ARRAY, _T.LIST) and parsed.expressions else None
        elif segment in ("{keys}", "{values}"):
            entry = parsed.expressions if parsed.this is _T.MAP and len(parsed.expressions) == 2 else None
            inner = entry[segment == "{values}"] if entry else None
        elif parsed.this in (_T.STRUCT, _T.OBJECT, _T.NESTED):
            named = [part for part in parsed.expressions if isinstance(part, exp.ColumnDef)]
            exact = [part for part in named if part.name == segment]
            folded = [part for part in named if part.name.lower() == segment.lower()]
            match = exact[0] if exact else folded[0] if len(folded) == 1 else None
            inner = match.args.get("kind") if match is not None else None
        parsed = inner if isinstance(inner, exp.DataType) else None
    return parsed.sql(dialect=dialect) if parsed is not None else None


def struct_fields(text: str, path: tuple[str, ...], dialect: str) -> list[tuple[str, str]]:
    """The names and native types of the fields of the struct at a path below a column of type `text`."""
    inner = field_type(text, path, dialect)
    parsed = parse_type(inner, dialect) if inner is not None else None
    if parsed is None or parsed.this not in (_T.STRUCT, _T.OBJECT, _T.NESTED):
        return []
    fields = [part for part in parsed.expressions if isinstance(part, exp.ColumnDef)]
    return [(part.name, part.args["kind"].sql(dialect=dialect)) for part in fields if part.args.get("kind")]
