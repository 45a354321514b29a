"""What the footers of Parquet files say of all their rows, as far as it is complete and cannot be otherwise.

A column counts only if every row group of every file tells its NULLs. Bounds are those of whole numbers, decimals,
days and timestamps; of floating-point numbers they would hide NaN, of texts they may be cut short. A bound is a value
that occurs only where the writer says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection

from contract_checks.guarantees import NO_GUARANTEES, ColumnStatistics, Guarantees
from contract_checks.metrics import FoundColumn, Scalar
from contract_checks.sources.csv_files import listed

MOST_CHUNKS = 500_000
"""Up to this many column chunks are looked at; beyond, reading their statistics would take as long as a scan."""

_WHOLE = re.compile(r"U?(TINY|SMALL|BIG)INT|U?INTEGER")
_DECIMAL = re.compile(r"DECIMAL\(\d+,\s*(\d+)\)")
_NESTED = re.compile(r"\[|STRUCT|MAP|UNION|LIST|VARIANT|JSON|GEOMETRY", re.IGNORECASE)

# A year further out is no date to Python.
_MOMENT = "CASE WHEN {0}::TIMESTAMP BETWEEN TIMESTAMP '0001-01-02' AND TIMESTAMP '9999-12-30' THEN {0}::TIMESTAMP END"
_COLUMNS = """
    SELECT path_in_schema, sum(row_group_num_rows)::BIGINT, sum(num_values)::BIGINT, count(DISTINCT type), min(type),
      count(*), count(stats_null_count), sum(stats_null_count)::BIGINT,
      count(*) FILTER (WHERE stats_null_count = num_values),
      count(low), min(low), count(high), max(high),
      count(first), min(first), count(last), max(last),
      coalesce(bool_and(min_is_exact AND max_is_exact) FILTER (WHERE stats_null_count < num_values), false),
      count(min_is_exact AND max_is_exact) FILTER (WHERE stats_null_count < num_values)
    FROM (
      SELECT *, TRY_CAST(replace(stats_min_value, '.', '') AS HUGEINT) AS low,
        TRY_CAST(replace(stats_max_value, '.', '') AS HUGEINT) AS high, {first} AS first, {last} AS last
      FROM parquet_metadata({files})
    ) GROUP BY path_in_schema"""


def read_statistics(
    connection: Connection, files: Sequence[str], columns: Sequence[FoundColumn], beside: Collection[str]
) -> Guarantees:
    """The statistics of the `columns` that DuckDB found in the files, read together by name.

    `beside` are columns that are in no file, but in the names of their folders. Raises what the driver raises when
    a footer cannot be read.
    """
    names = listed(list(files))
    counted = f"SELECT sum(num_rows)::BIGINT, sum(num_row_groups)::BIGINT FROM parquet_file_metadata({names})"
    totals = connection.exec_driver_sql(counted).one()
    rows, groups = totals[0], totals[1]
    if rows is None:
        return NO_GUARANTEES
    if not rows or groups * len(columns) > MOST_CHUNKS:
        return Guarantees(row_count=int(rows))
    moments = [_MOMENT.format(f"TRY_CAST(stats_{one}_value AS TIMESTAMP)") for one in ("min", "max")]
    found = connection.exec_driver_sql(_COLUMNS.format(files=names, first=moments[0], last=moments[1]))
    chunks = [tuple(row) for row in found]
    schema = connection.exec_driver_sql(
        "SELECT name, count(DISTINCT (type, converted_type, logical_type, scale, precision))"
        f" FROM parquet_schema({names}) WHERE coalesce(num_children, 0) = 0 GROUP BY name"
    )
    same = {name for name, kinds in schema if kinds == 1}
    folded = Counter(str(row[0]).lower() for row in chunks)
    by_name = {row[0]: row for row in chunks if folded[str(row[0]).lower()] == 1 and row[0] in same}
    statistics = {}
    outside = {name.lower() for name in beside}
    for column in columns:
        row = by_name.get(column.name)
        own = column.name.lower() not in outside and ", " not in column.name and not _NESTED.search(column.native_type)
        if row is not None and own and row[1] == row[2] == rows and row[5] == row[6]:
            statistics[column.name] = _statistics(column.native_type, row)
    return Guarantees(statistics=statistics, row_count=int(rows))


def _statistics(native_type: str, row: Sequence[Any]) -> ColumnStatistics:
    """What all chunks of a column say together; `row` is one of `_COLUMNS`."""
    kinds, kind, chunks, _, nulls, empty = row[3:9]
    filled = chunks - empty
    low, high = _bounds(native_type, row, filled) if kinds == 1 and kind != "INT96" and filled else (None, None)
    if low is None or high is None:
        return ColumnStatistics(int(nulls))
    exact, told = row[17:19]
    return ColumnStatistics(int(nulls), low, high, exact=bool(exact) and told == filled)


def _bounds(native_type: str, row: Sequence[Any], filled: int) -> tuple[Scalar, Scalar]:
    """The least and the greatest value, in the type that a scan returns."""
    lows, low, highs, high, firsts, first, lasts, last = row[9:17]
    decimal = _DECIMAL.fullmatch(native_type)
    if decimal is not None or _WHOLE.fullmatch(native_type):
        if (lows, highs) != (filled, filled):
            return None, None
        if decimal is None:
            return int(low), int(high)
        scale = int(decimal[1])
        return Decimal(f"{int(low)}e-{scale}"), Decimal(f"{int(high)}e-{scale}")
    if native_type not in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE") or (firsts, lasts) != (filled, filled):
        return None, None
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        return None, None
    if native_type == "DATE":
        return first.date(), last.date()
    if native_type == "TIMESTAMP":
        return first, last
    return first.replace(tzinfo=UTC), last.replace(tzinfo=UTC)
