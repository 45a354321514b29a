"""Which files hold a dataset: names, endings, patterns, folders of partitions, and tables that are folders."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from contract_checks.errors import SourceError
from contract_checks.sources.interface import MissingTableError

SUFFIXES: dict[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "json": (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
}
"""The formats of files that are read, and their endings."""
FORMATS = (*SUFFIXES, "delta", "iceberg")
"""The formats that are read; the last two are tables that are folders."""

PLACEHOLDER = re.compile(r"\{(model|object|table|schema)\}")
"""What stands for the name of a dataset in a location."""

_ALIASES = {"jsonl": "json", "ndjson": "json", "jsonlines": "json", "tsv": "csv", "txt": "csv", "deltalake": "delta"}


@dataclass(frozen=True)
class FileSet:
    """The files of one dataset (paths or URLs), or the folder of a table.

    `partitions` are the columns that folders name.
    """

    paths: tuple[str, ...]
    format: str
    partitions: tuple[str, ...] = ()


def known_format(format: str | None) -> str | None:
    """The format by its usual name; None for none. Raises `SourceError` for one that is not read."""
    if format is None or not format.strip():
        return None
    word = format.strip().lower()
    known = _ALIASES.get(word, word)
    if known not in FORMATS:
        raise SourceError(f"files of format '{format}' cannot be read; known are {', '.join(FORMATS)}")
    return known


def find_files(location: str, format: str | None, names: Sequence[str], alone: bool) -> FileSet:
    """The files of the dataset that has one of `names`. Raises `MissingTableError` if there are none.

    `alone` says that the contract has no other dataset, so that a single file must be this one's.
    """
    found: list[Path] = []
    if PLACEHOLDER.search(location):
        for name in names:
            found = found or _expand(PLACEHOLDER.sub(name.replace("\\", "\\\\"), location), format)
    elif Path(location).is_dir() and not _is_table(Path(location)):
        for name in names:
            found = found or _in_folder(Path(location), name, format)
    else:
        listed = _expand(location, format)
        if alone or any(stem(path) in names for path in listed):
            found = listed
    if not found:
        kind = f"{format} " if format else ""
        raise MissingTableError(f"there is no {kind}file for '{names[0]}' in {location}{_instead(location, names[0])}")
    return _set(location, format, found)


def _instead(location: str, name: str) -> str:
    """What to say beside "there is no such file"."""
    if Path(location).is_file():
        return f": its name is not '{name}', and the contract has other datasets; give the folder of their files"
    if not Path(location).is_dir():
        return ""
    there = sorted(path.name for path in Path(location).iterdir() if not path.name.startswith((".", "_")))
    shown = f"{', '.join(there[:5])}{', …' if len(there) > 5 else ''}" if there else "nothing"
    return f": a file or folder of that name is looked for, and here is {shown}"


def _set(location: str, format: str | None, paths: Sequence[Path]) -> FileSet:
    table = _table_format(paths[0]) if len(paths) == 1 else None
    formats = {table or (format if format in SUFFIXES else None) or format_of(path) for path in paths}
    if len(formats) > 1 or None in formats:
        raise MissingTableError(f"{location}: the files are not of one format among {', '.join(SUFFIXES)}")
    kind = next(iter(formats)) or ""
    if format in ("delta", "iceberg") and kind != format:
        raise MissingTableError(f"{location}: there is no {format} table, but {kind} files")
    resolved = _resolved(paths)
    root = root_of(location)
    start = str(root).rstrip(os.sep) + os.sep
    outside = [path for path in resolved if not path.startswith(start) and path != str(root)]
    if outside:
        raise MissingTableError(f"{outside[0]} is outside of {root}")
    below = [path[len(start) :].replace(os.sep, "/") for path in resolved]
    return FileSet(resolved, kind, () if table else partitions_of(below))


def _resolved(paths: Sequence[Path]) -> tuple[str, ...]:
    """The paths without links. Of thousands of files the folders are looked at once each."""
    folders: dict[str, str] = {}
    found = []
    for path in map(str, paths):
        folder, name = os.path.split(path)
        if os.path.islink(path) or name in ("", ".", ".."):  # noqa: PTH114 - a Path for each takes longer than all else
            found.append(os.path.realpath(path))
            continue
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        found.append(os.path.join(folders[folder], name))  # noqa: PTH118
    return tuple(found)


def partitions_of(paths: Sequence[str]) -> tuple[str, ...]:
    """The names that all paths have as folders `name=value`; none where they differ."""
    keys = {
        tuple(part.partition("=")[0] for part in path.split("/")[:-1] if re.fullmatch(r"[^=]+=.*", part))
        for path in paths
    }
    return keys.pop() if len(keys) == 1 else ()


def format_of(path: PurePath) -> str | None:
    """The format that a file's ending says."""
    for known, suffixes in SUFFIXES.items():
        if path.name.lower().endswith(suffixes):
            return known
    return None


def stem(path: Path) -> str:
    """The name of a file without the endings that are known."""
    for suffixes in SUFFIXES.values():
        for suffix in sorted(suffixes, key=len, reverse=True):
            if path.name.lower().endswith(suffix):
                return path.name[: -len(suffix)]
    return path.stem


def root_of(location: str) -> Path:
    """The deepest folder without placeholders: the only one that may be read."""
    path = Path(re.split(r"[*?\[{]", location, maxsplit=1)[0] if re.search(r"[*?\[{]", location) else location)
    exact = path if path.is_dir() else path.parent
    return exact.resolve()


def table_formats(location: str, names: Sequence[str]) -> set[str]:
    """The formats of tables that are folders and may be datasets of these names; no file is listed for it."""
    folders = [Path(location), *(Path(location) / name for name in names)]
    if PLACEHOLDER.search(location):
        folders = [Path(PLACEHOLDER.sub(name.replace("\\", "\\\\"), location)) for name in names]
    return {found for folder in folders if (found := _table_format(folder)) is not None}


def _table_format(path: Path) -> str | None:
    if (path / "_delta_log").is_dir():
        return "delta"
    return "iceberg" if any((path / "metadata").glob("*.metadata.json")) else None


def _is_table(path: Path) -> bool:
    return _table_format(path) is not None


def _expand(pattern: str, format: str | None) -> list[Path]:
    path = Path(pattern)
    if path.is_file() or (path.is_dir() and _is_table(path)):
        return [path]
    if path.is_dir():
        return _members(path, format)
    found = sorted(Path(one) for one in glob.glob(pattern, recursive=True))  # noqa: PTH207 - a pattern may be absolute
    return [one for one in found if one.is_file()]


def _in_folder(root: Path, name: str, format: str | None) -> list[Path]:
    for known, suffixes in SUFFIXES.items():
        if format in (None, known):
            for suffix in suffixes:
                if (root / f"{name}{suffix}").is_file():
                    return [root / f"{name}{suffix}"]
    folder = root / name
    if not folder.is_dir():
        return []
    return [folder] if _is_table(folder) else _members(folder, format)


def _members(folder: Path, format: str | None) -> list[Path]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and format_of(path) is not None]
    return [path for path in files if format is None or format_of(path) == format]
