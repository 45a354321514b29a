"""Scans of files that were measured before → their measurements, reading only the files that are not known yet.

Three things are known of a file, or of a set of them, under its fingerprint:

- its own numbers, which are merged with those of the others (see `merging`);
- that no row of it breaks a promise about single rows (`clean`), so that it can be left out of the scan that looks for
  such rows. For a key the same is known of a set: none occurs twice in it, so a key that does now is in a new file;
- the answer of a statement that has no such parts, which holds as long as no file of the set changes.

What is answered here is what one scan of all files would say. What is not stays to be scanned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

from contract_checks.metrics import (
    EACH,
    Aggregate,
    DuplicateKeys,
    FarFrom,
    FieldPath,
    Measurement,
    Metric,
    OrphanKeys,
    OtherRows,
    Query,
    Tier,
)
from contract_checks.queries import tells_a_value
from contract_checks.scans import Compiled, Scan, split, without
from contract_checks.sources.interface import QueryError, measured
from contract_checks.sources.kept import RACY_NS, Fingerprint, Kept, KeptStore, can_keep, digest, versions
from contract_checks.sources.lasting import lasts
from contract_checks.sources.merging import Mergeable, UnsureError, is_of, key_type, mergeable
from contract_checks.sql import Relation, sql_for

FILE = "contract_file"
"""The column that says from which file a row is."""
LONGEST = 200
"""The longest text that is kept."""
_MOST_GROUPS = 4
"""In so many statements at most are files read that lack different numbers."""
_CLEAN, _PLACE = "clean", "\0"
_DIGEST = 16

Fetch = Callable[[str], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Files:
    """A relation that is made of files, each of which can be read alone.

    `reader` gives the FROM item of some of them, with `FILE` among its columns. `context` is everything beside a
    file's content that decides what is read of it. `again` looks at the files once more. They were looked at
    at the moment `seen`; one that changed less than `margin` before is not trusted to show its next change.
    `sensitive` are the fields whose values must not be kept.
    """

    files: tuple[Fingerprint, ...]
    context: bytes
    reader: Callable[[Sequence[str]], str]
    again: Callable[[], tuple[Fingerprint, ...] | None]
    seen: int
    margin: int = RACY_NS
    sensitive: frozenset[FieldPath] = frozenset()

    @cached_property
    def own(self) -> dict[str, bytes]:
        """What stands for the content of each file, by its path."""
        return {one.path: digest("file", one.digest, self.context) for one in self.files}

    @cached_property
    def whole(self) -> bytes:
        """What stands for the content of all files."""
        return digest("files", *sorted(self.own.values()))

    @cached_property
    def settled(self) -> frozenset[bytes]:
        """The files that would show it if they changed from now on."""
        return frozenset(self.own[one.path] for one in self.files if one.settled(self.seen, self.margin))

    @property
    def all_settled(self) -> bool:
        """Whether every file would show it."""
        return len(self.settled) == len(self.files)

    def hides(self, path: FieldPath) -> bool:
        """Whether a value of this field may tell a sensitive one."""
        own = tuple(part.lower() for part in path if part not in EACH)
        folded = [tuple(part.lower() for part in one if part not in EACH) for one in self.sensitive]
        return any(own[: len(one)] == one or one[: len(own)] == own for one in folded)


def context_of(*parts: object) -> bytes:
    """The context of files that are read in this way: options, names and types of columns, and the versions."""
    return digest(versions(), *parts)


@dataclass(frozen=True)
class Tables:
    """What users' queries may read: the names of tables, what they stand for in text, and their files."""

    names: frozenset[str]
    texts: tuple[str, ...]
    files: tuple[Files, ...]


@dataclass
class Tally:
    """How many files were read for the measurements of a session, of how many."""

    read: set[str] = field(default_factory=set)
    of: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Asked:
    """A scan that finds offenders or gives one answer: what it is kept under, and its text with a place for FROM."""

    scan: Scan
    owner: bytes
    text: str | None
    files: tuple[Files, ...]


class Incremental:
    """One measurement of a relation of files, with the help of a store.

    `answer` gives what need not be scanned as a whole. Then `learn` takes what the remaining scans gave, and
    `settle` says whether all files are still as they were, and only then keeps what is new.
    """

    def __init__(self, store: KeptStore, files: Files, run: Fetch, tally: Tally) -> None:
        self.store, self.files, self._run, self.tally = store, files, run, tally
        self._found: dict[bytes, dict[str, Kept]] = {}
        self._new: dict[bytes, dict[str, Kept]] = defaultdict(dict)
        self._asked: list[_Asked] = []
        self._used: dict[int, Files] = {id(files): files}
        self._rests: list[Scan] = []
        self.offending: dict[Metric, tuple[str, ...]] = {}
        tally.of.update(files.own)

    # ------------------------------------------------------------------ before the scans

    def answer(
        self,
        scans: Sequence[Scan],
        relation: Relation,
        target: Callable[[str], Files | None],
        tables: Callable[[], Tables | None],
    ) -> tuple[dict[Metric, Measurement], tuple[Scan, ...]]:
        """The measurements that are known or need a few files only, and the scans that are left.

        `target` gives the files of another table by its name, `tables` what users' queries may read; None where
        something of it is not made of files like these.
        """
        own_scans = [scan for scan in scans if scan.kind != "aggregate"]
        rendered = relation.table().sql(dialect=relation.dialect) if own_scans else ""
        asked = {scan: self._ask(scan, rendered, target, tables) for scan in own_scans}
        self._asked = [one for one in asked.values() if one is not None]
        for one in self._asked:
            self._used |= {id(files): files for files in one.files}
        owners = (*self.files.own.values(), self.files.whole, *(one.owner for one in self._asked))
        self._found = self.store.find(owners)
        known: dict[Metric, Measurement] = {}
        beside = self._ranges(relation)
        for scan in scans:
            if scan.kind == "aggregate":
                known |= self._aggregate(scan, relation, beside)
                beside = {}
        self._numbers(beside)
        left: list[Scan] = list(self._rests)
        for scan, question in asked.items():
            answer = self._offenders(question, relation) if question is not None else None
            if answer is None:
                left.append(scan)
            else:
                known[answer.metric] = answer
        if left:
            self.tally.read.update(self.files.own)
        return known, tuple(left)

    def _ask(
        self,
        scan: Scan,
        rendered: str,
        target: Callable[[str], Files | None],
        tables: Callable[[], Tables | None],
    ) -> _Asked | None:
        """What a scan's answer is kept under; None where it must not be kept."""
        metric = scan.metrics[0]
        if isinstance(metric, Aggregate) and self.files.hides(metric.field):
            return None
        others: tuple[Files, ...] = ()
        texts: tuple[str, ...] = ()
        if isinstance(metric, Query):
            readable = tables()
            if readable is None or not lasts(scan.sql, "duckdb", readable.names):
                return None
            others, texts = readable.files, readable.texts
        elif isinstance(metric, OrphanKeys | OtherRows):
            other = target(metric.target)
            if other is None:
                return None
            others = (other,)
        text = scan.sql.replace(rendered, _PLACE)
        parted = scan.kind in ("duplicates", "orphans", "values") and text.count(_PLACE) == 1
        owner = digest(
            *("scan", scan.kind, text, repr(metric), repr(scan.condition), self.files.context),
            *("" if parted else self.files.whole, *texts, *(one.whole for one in others)),
        )
        return _Asked(scan, owner, text if parted else None, (self.files, *others))

    # ------------------------------------------------------------------ numbers of files

    def _aggregate(self, scan: Scan, relation: Relation, beside: Mapping[str, Mergeable]) -> dict[Metric, Measurement]:
        """Answer the metrics that merge, with the cells `beside` in one statement; the rest stays to be scanned."""
        pairs = list(zip(scan.metrics, scan.cells, strict=True))
        merges = {cell: how for metric, cell in pairs if (how := self._mergeable(metric, relation)) is not None}
        read = self._numbers({**merges, **beside})
        whole = self._found.get(self.files.whole, {})
        found: dict[Metric, Measurement] = {}
        tier: Tier
        for metric, cell, single in zip(scan.metrics, scan.cells, split(scan, relation), strict=True):
            try:
                if cell in merges and read is not None:
                    numbers = {path: self._found[own][_name(cell)] for path, own in self.files.own.items()}
                    value = merges[cell].merge(list(numbers.values()))
                    self.offending[metric] = tuple(path for path, number in numbers.items() if number)
                    tier = "scan" if cell in read else "kept"
                elif _name(cell) in whole:
                    value, tier = whole[_name(cell)], "kept"
                else:
                    continue
            except (KeyError, UnsureError):
                continue
            found[metric] = Measurement(metric, value, sql=single.sql, answered_by=tier)
        rest = without(scan, found, relation)
        self._rests += [rest] if rest is not None else []
        return found

    def _mergeable(self, metric: Metric, relation: Relation) -> Mergeable | None:
        if isinstance(metric, Aggregate) and self.files.hides(metric.field):
            return None
        return mergeable(metric, relation)

    def _numbers(self, cells: Mapping[str, Mergeable]) -> set[str] | None:
        """Make sure that the numbers of all files are known; the cells for which a file was read.

        None when a file cannot be read so: then nothing more is known than before.
        """
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for path, own in self.files.own.items():
            there = self._found.get(own, {})
            missing = tuple(cell for cell in cells if _name(cell) not in there)
            if missing:
                groups[missing].append(path)
        if len(groups) > _MOST_GROUPS:
            paths = [path for path in self.files.own if any(path in some for some in groups.values())]
            groups = {tuple(cell for cell in cells if any(cell in one for one in groups)): paths}
        read: set[str] = set()
        for missing, paths in groups.items():
            try:
                rows = self._read(missing, paths)
            except QueryError:
                return None
            nothing = tuple(cells[cell].of_nothing for cell in missing)
            if not rows.keys() <= set(paths):
                return None
            for path in paths:
                numbers = dict(zip(map(_name, missing), rows.get(path, nothing), strict=True))
                own = self.files.own[path]
                self._found[own] = {**self._found.get(own, {}), **numbers}
                if own in self.files.settled:
                    self._new[own] |= {name: value for name, value in numbers.items() if _is_short(value)}
            read |= set(missing)
        return read

    def _read(self, cells: Sequence[str], paths: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        listed = ", ".join(f"{cell} AS m{index}" for index, cell in enumerate(cells))
        self.tally.read.update(paths)
        source = self.files.reader(paths)
        sql = f"SELECT {FILE}, {listed} FROM {source} GROUP BY {FILE}"
        return {str(path): tuple(numbers) for path, *numbers in self._run(sql)}

    # ------------------------------------------------------------------ offenders, and answers without parts

    def _offenders(self, asked: _Asked, relation: Relation) -> Measurement | None:
        """The measurement of a scan of its own, from as few files as it takes; None if all have to be read."""
        scan, kept = asked.scan, self._found.get(asked.owner, {})
        if asked.text is None:
            if "value" not in kept:
                return None
            rows = 0 if scan.kind == "duplicates" else None
            return Measurement(scan.metrics[0], kept["value"], rows=rows, sql=scan.sql, answered_by="kept")
        clean = _parted(kept.get(_CLEAN))
        new = [path for path, own in self.files.own.items() if own not in clean]
        if not new:
            known = measured(scan, [], relation)[0]
            return replace(known, answered_by="kept")
        if len(new) == len(self.files.own):
            return None
        source = self.files.reader(new)
        near: Sequence[str] = ()
        if isinstance(scan.metrics[0], DuplicateKeys):
            near = self._near(scan.metrics[0], new, relation)
            sizes = {one.path: one.size for one in self.files.files}
            if near and 2 * sum(sizes[path] for path in new) > sum(sizes.values()):
                return None
            source = self._recurring(scan.metrics[0], new, near, relation)
        try:
            offenders = self._run(asked.text.replace(_PLACE, source))
        except QueryError:
            return None
        self.tally.read.update((*new, *near))
        found = measured(scan, offenders, relation)[0]
        self._remember(asked, found)
        return found

    def _ranges(self, relation: Relation) -> dict[str, Mergeable]:
        """The smallest and the largest value of the columns of keys: files whose ranges differ share no key."""
        cells: dict[str, Mergeable] = {}
        for asked in self._asked:
            metric = asked.scan.metrics[0]
            if isinstance(metric, DuplicateKeys) and asked.text is not None:
                for path in metric.fields:
                    if key_type(path, relation) is not None and not self.files.hides(path):
                        cells |= {cell: Mergeable(len, None) for cell in _extremes(path, relation)}
        return cells

    def _near(self, metric: DuplicateKeys, new: Sequence[str], relation: Relation) -> list[str]:
        """The known files that may hold a key of a new one."""
        near = {path for path in self.files.own if path not in new}
        for path in metric.fields:
            kind = key_type(path, relation)
            if kind is None:
                continue
            ranges = {one: self._range(one, path, kind, relation) for one in self.files.own}
            near = {one for one in near if any(_overlap(ranges[one], ranges[other]) for other in new)}
        return [path for path in self.files.own if path in near]

    def _range(self, path: str, key: FieldPath, kind: type, relation: Relation) -> tuple[Any, Any] | None:
        """The smallest and largest value of a key's column in a file; None where that is not known."""
        numbers = self._found.get(self.files.own[path], {})
        ends = [numbers.get(_name(cell), ...) for cell in _extremes(key, relation)]
        if ends == [None, None]:
            return None, None
        return (ends[0], ends[1]) if all(is_of(one, kind) for one in ends) else None

    def _recurring(self, metric: DuplicateKeys, new: Sequence[str], near: Sequence[str], relation: Relation) -> str:
        """The FROM item of all rows that may have a key of a new file."""
        source = self.files.reader(new)
        if not near:
            return source
        if any(key_type(path, relation) is None for path in metric.fields):
            return self.files.reader([*new, *near])  # equal may mean something else in a join than in a grouping
        sql = sql_for(relation)
        keys = [sql.key(path).sql(dialect=relation.dialect) for path in metric.fields]
        names = [f"contract_new_{index}" for index in range(len(keys))]
        listed = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names, strict=True))
        equal = " AND ".join(f"{key} = new.{name}" for key, name in zip(keys, names, strict=True))
        known = self.files.reader(near)
        return (  # names and keys of ours, and quoted paths
            f"(SELECT * FROM {source} UNION ALL SELECT near.* FROM {known} AS near "
            f"SEMI JOIN (SELECT {listed} FROM {source}) AS new ON {equal})"
        )

    # ------------------------------------------------------------------ after the scans

    def learn(self, found: Mapping[Metric, Measurement]) -> None:
        """Note what the scans of everything gave."""
        for asked in self._asked:
            measurement = found.get(asked.scan.metrics[0])
            if measurement is not None:
                self._remember(asked, measurement)
        if not self.files.all_settled:
            return
        for scan in self._rests:
            for metric, cell in zip(scan.metrics, scan.cells, strict=True):
                one = found.get(metric)
                hidden = isinstance(metric, Aggregate) and self.files.hides(metric.field)
                if one is not None and one.error is None and not hidden and _is_short(one.value):
                    self._new[self.files.whole][_name(cell)] = one.value

    def _remember(self, asked: _Asked, one: Measurement) -> None:
        if one.error is not None or one.skipped is not None:
            return
        if asked.text is None:
            counted = isinstance(one.metric, DuplicateKeys | OrphanKeys | OtherRows | FarFrom)
            plain = asked.scan.kind in ("tally", "query") and not (counted and one.value)
            plain = plain or (asked.scan.kind in ("duplicates", "orphans", "values") and one.value == 0)
            told = isinstance(one.metric, Query) and self._tells(asked, one)
            if plain and not told and _is_short(one.value) and all(files.all_settled for files in asked.files):
                self._new[asked.owner]["value"] = one.value
        elif one.value == 0 and all(files.all_settled for files in asked.files[1:]):
            # Of a key this is known of all these files together; of rows it is known of each.
            own = self.files.settled & set(self.files.own.values())
            if own:
                self._new[asked.owner][_CLEAN] = b"".join(sorted(own)).hex()

    def _tells(self, asked: _Asked, one: Measurement) -> bool:
        """Whether the answer of a user's query may tell a sensitive value."""
        names = frozenset(part.lower() for files in asked.files for path in files.sensitive for part in path)
        if not names or isinstance(one.value, bool):
            return False
        if not isinstance(one.value, int | float | Decimal):
            return True
        rows = isinstance(one.metric, Query) and one.metric.result == "rows"
        return not rows and tells_a_value(asked.scan.sql, "duckdb", names)

    def settle(self) -> bool:
        """Whether all files are as they were before they were read; what is new is kept then."""
        if any(files.again() != files.files for files in self._used.values()):
            return False
        self.store.keep({owner: values for owner, values in self._new.items() if values})
        return True


def answered(compiled: Compiled, scans: Iterable[Scan]) -> Compiled:
    """The scans that are left of a compilation."""
    return replace(compiled, scans=tuple(scans))


def _extremes(path: FieldPath, relation: Relation) -> tuple[str, str]:
    key = sql_for(relation).key(path).sql(dialect=relation.dialect)
    return f"MIN({key})", f"MAX({key})"


def _overlap(one: tuple[Any, Any] | None, other: tuple[Any, Any] | None) -> bool:
    """Whether two ranges may share a value; one that is not known may."""
    if one is None or other is None:
        return True
    if one[0] is None or other[0] is None:
        return False
    return bool(one[0] <= other[1] and other[0] <= one[1])


@lru_cache(maxsize=8192)
def _name(cell: str) -> str:
    return digest(cell).hex()


def _is_short(value: object) -> bool:
    return can_keep(value) and (not isinstance(value, str) or len(value) <= LONGEST)


def _parted(joined: Kept) -> Collection[bytes]:
    if not isinstance(joined, str):
        return frozenset()
    raw = bytes.fromhex(joined)
    return frozenset(raw[start : start + _DIGEST] for start in range(0, len(raw), _DIGEST))
