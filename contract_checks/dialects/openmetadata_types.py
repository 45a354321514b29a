"""OpenMetadata's type words → the categories that satisfy them.

OpenMetadata compares types by family (`areTypesCompatible` of its DataContractRepository): any member
of a family satisfies any other, `DATE` a `TIMESTAMP`, `ARRAY` a `JSON`. A precision and scale that are
written down are compared natively, a length by the length of the values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from contract_checks.datatypes import Category
from contract_checks.model import DeclaredType

_FAMILIES: tuple[tuple[tuple[Category, ...], str], ...] = (
    (("string",), "STRING VARCHAR CHAR TEXT MEDIUMTEXT NTEXT CLOB NVARCHAR NCHAR"),
    (("integer",), "INT BIGINT SMALLINT TINYINT BYTEINT LONG INTEGER"),
    (("number",), "DECIMAL NUMERIC NUMBER DOUBLE FLOAT MONEY REAL"),
    (("boolean",), "BOOLEAN BOOL"),
    (("date", "timestamp", "time"), "DATE DATETIME TIMESTAMP TIMESTAMPZ TIME TIMESTAMPTZ"),
    (("binary",), "BINARY VARBINARY BLOB BYTEA BYTES LONGBLOB MEDIUMBLOB"),
    (("array", "map", "object"), "ARRAY MAP STRUCT JSON OBJECT"),
    # The rest has no family: OpenMetadata compares these words as they are, which no database but
    # the catalogued one spells so. Their category is what can be compared everywhere.
    (("string",), "UUID ENUM XML CIDR INET MACADDR IPV4 IPV6"),
    (("integer",), "YEAR UINT LARGEINT"),
    (("object",), "RECORD VARIANT SUPER"),
    (("array",), "SET"),
    (("binary",), "BIT FIXED IMAGE"),
)
CATEGORIES: dict[str, frozenset[Category]] = {
    word: frozenset(categories) for categories, family in _FAMILIES for word in family.split()
}
"""The categories that satisfy a type word, in upper-case."""

_EXACT = frozenset(["DECIMAL", "NUMERIC", "NUMBER"])
_SIZED = frozenset(["VARCHAR", "CHAR", "NVARCHAR", "NCHAR", "STRING", "TEXT"])


@dataclass(frozen=True)
class ReadType:
    """A type word of a contract: the type, the longest text it allows, and what of it is not compared."""

    declared: DeclaredType
    max_length: int | None = None
    ignored: str = ""


def read_type(
    text: str, precision: int | None = None, scale: int | None = None, length: int | None = None
) -> ReadType | None:
    """The type `text` (`DECIMAL(10,2)`, `STRING`, `array<int>`), or None if no category is known for it."""
    match = re.match(r"\s*([A-Za-z_][A-Za-z_0-9]*)\s*(.*?)\s*$", text, re.DOTALL)
    word, rest = (match.group(1).upper(), match.group(2)) if match else ("", "")
    if word == "DOUBLE" and rest.upper() == "PRECISION":
        rest = ""
    categories = CATEGORIES.get(word)
    if categories is None:
        return None
    sizes = re.fullmatch(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", rest)
    if sizes is not None and word in _EXACT:
        precision, scale = int(sizes.group(1)), int(sizes.group(2) or 0)
    elif sizes is not None and word in _SIZED and sizes.group(2) is None:
        length = int(sizes.group(1))
    elif rest:
        return ReadType(DeclaredType(text, categories), ignored=rest)
    native = None
    if word in _EXACT and precision is not None:
        native = f"DECIMAL({precision})" if scale is None else f"DECIMAL({precision},{scale})"
    return ReadType(DeclaredType(text, categories, native), length if word in _SIZED else None)
