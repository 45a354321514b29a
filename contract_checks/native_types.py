"""Whether a column has the native type that a contract states, in the words of its database.

Databases have several words for one type, fill in precisions that nobody stated, and leave out those that are their
default. Two spellings are the same type when the database itself would make the same column of both.
"""

from __future__ import annotations

from sqlglot import exp

from contract_checks.datatypes import category_of, parse_type

_T = exp.DType
_INTEGERS = (_T.TINYINT, _T.SMALLINT, _T.MEDIUMINT, _T.INT, _T.BIGINT)

# Spellings of one type everywhere. A length or precision still has to agree where the contract states one.
_ALIASES: dict[exp.DType, exp.DType] = {
    _T.TEXT: _T.VARCHAR,
    _T.NVARCHAR: _T.VARCHAR,
    _T.LONGTEXT: _T.VARCHAR,
    _T.MEDIUMTEXT: _T.VARCHAR,
    _T.NCHAR: _T.CHAR,
    _T.BPCHAR: _T.CHAR,
    _T.DATETIME: _T.TIMESTAMP,
    _T.TIMESTAMPNTZ: _T.TIMESTAMP,
    _T.TIMESTAMPLTZ: _T.TIMESTAMPTZ,
    _T.BLOB: _T.VARBINARY,
    _T.BINARY: _T.VARBINARY,
    _T.LIST: _T.ARRAY,
    _T.JSONB: _T.JSON,
    _T.SERIAL: _T.INT,
    _T.BIGSERIAL: _T.BIGINT,
    _T.SMALLSERIAL: _T.SMALLINT,
}
# Spellings of one type in one database.
_OWN_ALIASES: dict[str, dict[exp.DType, exp.DType]] = {
    "snowflake": {**dict.fromkeys(_INTEGERS, _T.DECIMAL), _T.FLOAT: _T.DOUBLE},
    "oracle": dict.fromkeys(_INTEGERS, _T.DECIMAL),
    "bigquery": {**dict.fromkeys(_INTEGERS, _T.BIGINT), _T.FLOAT: _T.DOUBLE},
    "mysql": {_T.BOOLEAN: _T.TINYINT},
}
# What a type has where nothing is stated, and what the database then need not say.
_DEFAULTS: dict[str, dict[exp.DType, tuple[str, ...]]] = {
    "snowflake": {
        _T.DECIMAL: ("38", "0"),
        _T.VARCHAR: ("16777216",),
        **dict.fromkeys((_T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIME), ("9",)),
    },
    "tsql": {
        _T.DECIMAL: ("18", "0"),
        **dict.fromkeys((_T.DATETIME2, _T.TIMESTAMPTZ, _T.TIME), ("7",)),
    },
    "oracle": {**dict.fromkeys((_T.TIMESTAMP, _T.TIMESTAMPTZ), ("6",)), _T.FLOAT: ("126",)},
    **dict.fromkeys(
        ("postgres", "redshift"), dict.fromkeys((_T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIME, _T.TIMETZ), ("6",))
    ),
    **{dialect: {_T.DECIMAL: ("10", "0")} for dialect in ("spark", "databricks", "hive", "mysql")},
    **dict.fromkeys(("trino", "athena", "presto"), dict.fromkeys((_T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIME), ("3",))),
}
# Types whose lengths and precisions a database does not keep, so that nobody can tell.
_FORGOTTEN: dict[str, tuple[exp.DType, ...]] = {
    "duckdb": (_T.VARCHAR, _T.CHAR, _T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIME, _T.VARBINARY),
    "mysql": _INTEGERS,
    **dict.fromkeys(("spark", "databricks", "hive"), (_T.VARCHAR, _T.CHAR)),
    "sqlite": (_T.TIMESTAMP, _T.TIME),
}
_WRAPPERS = (_T.LOWCARDINALITY,)
_OTHERS = ("snowflake", "bigquery", "spark", "tsql", "postgres", "mysql", "oracle", "clickhouse")
"""Whose words are tried for a type that is none of the database's own: contracts are written for one platform and
checked on the files of another."""


def same_native_type(declared: str, found: str, dialect: str) -> bool | None:
    """Whether `found` is the native type `declared`; None when `declared` is no type that can be compared.

    Aliases of one type are equal. Lengths, precisions, fields and item types count only where the
    declaration states them, and the database keeps them.
    """
    if declared.strip().lower() == found.strip().lower():
        return True  # types of the user's own among them, which are in nobody's grammar
    want, have = parse_type(declared, dialect), parse_type(found, dialect)
    if want is None or want.this is _T.USERDEFINED:
        # A word of another platform may say the same; that it says something else is no proof.
        return True if have is not None and _same_elsewhere(declared, have, dialect) else None
    if have is None:
        return False
    # sqlglot fills in default precisions (DuckDB's NUMERIC is DECIMAL(18,3)); they were not declared.
    return _same(want, have, dialect, stated="(" in declared or "[" in declared)


def _same_elsewhere(declared: str, have: exp.DataType, dialect: str) -> bool:
    for other in _OTHERS:
        if category_of(declared, other) != "unknown":
            want = parse_type(declared, other)
            return want is not None and _same(want, have, dialect, stated="(" in declared)
    return False


def _same(want: exp.DataType, have: exp.DataType, dialect: str, stated: bool = True) -> bool:
    want, have = _unwrapped(want), _unwrapped(have)
    kind = _kind(want, dialect)
    if kind is not _kind(have, dialect):
        return False
    if not want.expressions or not (stated or want.args.get("nested")):
        return True
    if want.args.get("nested") or have.args.get("nested"):
        sizes = [[size.name for size in one.args.get("values") or ()] for one in (want, have)]
        return (
            len(want.expressions) == len(have.expressions)
            and (not sizes[0] or sizes[0] == sizes[1])
            and all(
                _same_part(one, other, dialect) for one, other in zip(want.expressions, have.expressions, strict=True)
            )
        )
    return _same_numbers(kind, want, have, dialect)


def _same_numbers(kind: exp.DType, want: exp.DataType, have: exp.DataType, dialect: str) -> bool:
    """Whether lengths or precisions agree, those in default included."""
    if kind in _FORGOTTEN.get(dialect, ()) and not have.expressions:
        return True
    default = _DEFAULTS.get(dialect, {}).get(want.this) or _DEFAULTS.get(dialect, {}).get(kind, ())
    numbers = [[part.name.split(" ")[0].upper() for part in one.expressions] for one in (want, have)]
    for one in numbers:
        if kind is _T.DECIMAL and len(one) == 1:
            one.append("0")
    if not numbers[1]:
        numbers[1] = list(default)
    return numbers[0] == numbers[1][: len(numbers[0])]


def _kind(parsed: exp.DataType, dialect: str) -> exp.DType:
    own: exp.DType = _OWN_ALIASES.get(dialect, {}).get(parsed.this, parsed.this)
    if own is _T.DATETIME2 and dialect != "tsql":
        return _T.TIMESTAMP
    return _ALIASES.get(own, own)


def _unwrapped(parsed: exp.DataType) -> exp.DataType:
    """What ClickHouse wraps for storage or for NULL is the type itself."""
    while parsed.this in _WRAPPERS and parsed.expressions and isinstance(parsed.expressions[0], exp.DataType):
        parsed = parsed.expressions[0]
    return parsed


def _same_part(want: exp.Expr, have: exp.Expr, dialect: str) -> bool:
    if isinstance(want, exp.ColumnDef) and isinstance(have, exp.ColumnDef):
        return want.name.lower() == have.name.lower() and _same_part(want.args["kind"], have.args["kind"], dialect)
    if isinstance(want, exp.DataType) and isinstance(have, exp.DataType):
        return _same(want, have, dialect)
    return bool(want == have)
