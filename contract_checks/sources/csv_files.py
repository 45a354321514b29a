"""CSV files as DuckDB reads them: nothing is guessed, every cell is text, and rows of another length are told apart.

A row that has more or fewer cells than the line of names has no columns: nobody can say which cell is which. Such
rows are left out of every measurement and are a violation of their own, with their lines.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import IO

from sqlglot import exp

from contract_checks.errors import SourceError
from contract_checks.sources.interface import QueryError

ENCODINGS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii"), ("utf-8", "utf-8-sig")),
    **dict.fromkeys(("latin-1", "latin1", "iso-8859-1", "iso8859-1"), ("latin-1", "latin-1")),
    **dict.fromkeys(("utf-16", "utf16"), ("utf-16", "utf-16")),
}
"""Names of encodings, with what DuckDB and Python call them."""

REJECTS = "contract_rejected_rows"
"""The table of rows that DuckDB could not read, and with `_scans` behind it that of the scans that found them."""

_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_WRONG_LENGTH = ("MISSING COLUMNS", "TOO MANY COLUMNS")


@dataclass(frozen=True)
class CsvScan:
    """The FROM item of CSV files, and the names of its columns.

    `sql` fails at the first row of another length, `tolerant` leaves such rows out, and `rejecting` notes them in
    `REJECTS`.
    """

    sql: str
    tolerant: str
    rejecting: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Ragged:
    """Rows with another number of cells than the line of names has: how many, and where the first of them are."""

    count: int
    places: tuple[str, ...]

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.places) else ""
        rows = "1 row has" if self.count == 1 else f"{self.count:,} rows have"
        return f"{rows} another number of cells than the first line ({', '.join(self.places)}{more})"


def known_encoding(name: str | None) -> str:
    """The encoding as `ENCODINGS` lists it. Raises `SourceError` for one that cannot be read."""
    word = (name or "utf-8").strip().lower().replace("_", "-")
    if word not in ENCODINGS:
        raise SourceError(f"files in the encoding '{name}' cannot be read; known are utf-8, latin-1 and utf-16")
    return word


def delimiter_of(stated: str | None, first: str) -> str:
    """The delimiter: the stated one, by its sign or its name, else what the file's ending says."""
    if stated:
        return _DELIMITERS.get(stated.lower(), stated)
    return "\t" if ".tsv" in PurePath(first).suffixes else ","


def csv_scan(
    paths: Sequence[str],
    delimiter: str,
    encoding: str,
    partitions: tuple[str, ...],
    first_line: Callable[[str], str] | None = None,
    file: str = "",
) -> CsvScan:
    """CSV files whose columns are matched by their names; `partitions` are those that the folders say.

    `first_line` reads the first line of a file that is not on this machine. `file` names a column beside the others
    that says from which file a row is.

    Raises `QueryError` when a file has no names, repeats one, or has others than the first file.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        groups.setdefault(_header_of(path, delimiter, encoding, first_line), []).append(path)
    first = next(iter(groups))
    for header, found in groups.items():
        if set(header) != set(first):
            odd = ", ".join(sorted(set(header) ^ set(first)))
            raise QueryError(f"{PurePath(found[0]).name} has other columns than {PurePath(paths[0]).name}: {odd}")
    repeated = set(first) & set(partitions)
    if repeated:
        named = ", ".join(sorted(repeated))
        raise QueryError(f"{PurePath(paths[0]).name} has a column that its folders name as well: {named}")
    columns = (*first, *partitions)
    named = f", filename = {quoted(file)}" if file else ""
    plain, tolerant, rejecting = (
        _united(
            [_read_csv(found, header, delimiter, encoding, partitions, how) for header, found in groups.items()],
            (*columns, file) if file else columns,
        )
        for how in (named, f"{named}, ignore_errors = true", f"{named}{_rejects()}")
    )
    return CsvScan(plain, tolerant, rejecting, columns)


def _rejects() -> str:
    return f", store_rejects = true, rejects_limit = 0, rejects_table = '{REJECTS}', rejects_scan = '{REJECTS}_scans'"


def rejected_rows(limit: int) -> str:
    """The statement that says, after a rejecting scan, how many rows had another number of cells and which.

    Its rows are (file, line, how many), and None for the line where a row was refused for another reason.
    """
    of_length = ", ".join(f"'{kind}'" for kind in _WRONG_LENGTH)
    return (
        f"SELECT file_path, line, count(*) OVER () FROM (SELECT DISTINCT file_path, "
        f"CASE WHEN error_type IN ({of_length}) THEN line END AS line FROM {REJECTS} "
        f"JOIN {REJECTS}_scans USING (scan_id, file_id)) ORDER BY line NULLS FIRST, file_path LIMIT {limit}"
    )


def _header_of(path: str, delimiter: str, encoding: str, first_line: Callable[[str], str] | None) -> tuple[str, ...]:
    """The names in the first line. Raises `QueryError` when the file has none or repeats one."""
    name = PurePath(path).name
    try:
        if first_line is not None:
            header = _names(io.StringIO(first_line(path)), delimiter)
        else:
            with _open_text(Path(path), ENCODINGS[encoding][1]) as file:
                header = _names(file, delimiter)
    except (OSError, UnicodeError, csv.Error) as error:
        raise QueryError(f"{name} cannot be read as CSV: {error}") from None
    if not header:
        raise QueryError(f"{name} is empty; a CSV file starts with a line of column names")
    repeated = {one for one in header if header.count(one) > 1}
    if repeated:
        raise QueryError(f"{name} names a column twice: {', '.join(sorted(repeated))}")
    return tuple(header)


def _names(file: IO[str], delimiter: str) -> list[str] | None:
    if len(delimiter) == 1:
        return next(csv.reader(file, delimiter=delimiter), None)
    return [name.strip('"') for name in file.readline().rstrip("\r\n").split(delimiter)]


def _open_text(path: Path, encoding: str) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def _united(scans: list[str], columns: tuple[str, ...]) -> str:
    if len(scans) == 1:
        return scans[0]
    names = ", ".join(exp.to_identifier(name, quoted=True).sql(dialect="duckdb") for name in columns)
    return "(" + " UNION ALL ".join(f"SELECT {names} FROM {scan}" for scan in scans) + ")"


def _read_csv(
    paths: Sequence[str],
    header: tuple[str, ...],
    delimiter: str,
    encoding: str,
    partitions: tuple[str, ...],
    how: str,
) -> str:
    # DuckDB must not guess: its sniffer takes a ragged line for the header and drops the rows before it.
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in header)
    options = "header = true, quote = '\"', escape = '\"', allow_quoted_nulls = false, auto_detect = false"
    if ENCODINGS[encoding][0] != "utf-8":
        options += f", encoding = {quoted(ENCODINGS[encoding][0])}"
    hive = ", hive_partitioning = true, hive_types_autocast = false" if partitions else ", hive_partitioning = false"
    return f"read_csv({listed(paths)}, delim = {quoted(delimiter)}, {options}{hive}{how}, columns = {{{columns}}})"


def listed(paths: Sequence[str]) -> str:
    """Paths as a list of DuckDB."""
    return "[" + ", ".join(quoted(path) for path in paths) + "]"


def quoted(text: str) -> str:
    """`text` as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def first_line_sql(path: str) -> str:
    """The statement that gives the first line of a file, whatever is in it."""
    options = "header = false, auto_detect = false, quote = '', escape = '', columns = {'line': 'VARCHAR'}"
    return f"SELECT line FROM read_csv({quoted(path)}, delim = '\x01', {options}) LIMIT 1"
