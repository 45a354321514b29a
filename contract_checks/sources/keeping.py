"""What a session on files does with a store of kept measurements: which files it knows, and what it read of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from contract_checks.errors import SourceError
from contract_checks.metrics import FoundColumn, Measurement, Metric, RowCount
from contract_checks.model import Dataset, walk_columns
from contract_checks.scans import Cell, Compiled, aggregate_scan
from contract_checks.sources.catalogue import name_parts
from contract_checks.sources.incremental import FILE, Files, Incremental, Tables, Tally, context_of
from contract_checks.sources.interface import Session
from contract_checks.sources.kept import RACY_NS, Fingerprint, KeptStore, digest, fingerprints, versions
from contract_checks.sql import Relation
from contract_checks.sql.duckdb import typed_columns

Measure = Callable[..., dict[Metric, Measurement]]
Look = Callable[[Sequence[str]], tuple[Fingerprint, ...] | None]


@dataclass(frozen=True)
class Seen:
    """Files as they were at a moment, before anything of them was read."""

    files: tuple[Fingerprint, ...]
    at: int


class Keeping:
    """The kept measurements of one session.

    `look` gives the fingerprints of files now, or None where it cannot. `margin` is how many nanoseconds before it was
    looked at a file must have changed to be trusted.
    """

    def __init__(
        self, store: KeptStore, session: Session, look: Look = fingerprints, margin: int | None = None
    ) -> None:
        self.store, self.session = store, session
        self._look, self._margin = look, RACY_NS if margin is None else margin
        self._files: dict[str, Files] = {}
        self._offending: dict[tuple[str, Metric], tuple[str, ...]] = {}
        self.tally = Tally()

    # ------------------------------------------------------------------ which files there are

    def see(self, paths: Sequence[str]) -> Seen | None:
        """The files as they are now; None where one of them cannot be told from a later one."""
        at = time.time_ns()
        files = self._look(paths)
        return Seen(files, at) if files else None

    def same_schema(self, seen: Seen, describe: Callable[[str], tuple[FoundColumn, ...]]) -> bool:
        """Whether all files have the same columns. `describe` reads those of a file that is not known yet."""
        owners = {one.path: digest("schema", one.digest, versions()) for one in seen.files}
        found = self.store.find(owners.values())
        new = {}
        for one in seen.files:
            if owners[one.path] not in found:
                schema = digest(*(part for column in describe(one.path) for part in (column.name, column.native_type)))
                found[owners[one.path]] = {"columns": schema.hex()}
                if one.settled(seen.at, self._margin):
                    new[owners[one.path]] = found[owners[one.path]]
        self.store.keep(new)
        schemas = {found[owner].get("columns") for owner in owners.values()}
        return len(schemas) == 1 and None not in schemas

    def names(
        self, seen: Seen, names_of: Callable[[Sequence[str]], Mapping[str, Sequence[str]]]
    ) -> tuple[str, ...] | None:
        """The names that any of the files has. `names_of` reads those of files that are not known yet."""
        owners = {one.path: digest("names", one.digest, versions()) for one in seen.files}
        found = self.store.find(owners.values())
        unknown = [path for path, owner in owners.items() if owner not in found]
        for path, names in names_of(unknown).items() if unknown else ():
            found[owners[path]] = {str(index): name for index, name in enumerate(names)}
        settled = {one.path for one in seen.files if one.settled(seen.at, self._margin)}
        self.store.keep({owners[path]: found[owners[path]] for path in unknown if path in settled})
        return tuple(sorted({str(name) for values in found.values() for name in values.values()}))

    def know(
        self, relation: Relation, dataset: Dataset, seen: Seen, reader: Callable[[Sequence[str]], str], *how: object
    ) -> None:
        """Remember that a relation is made of these files. `how` says how they are read, beside the columns."""
        if any(column.name.lower() == FILE for column in relation.columns):
            return
        known = self._files.get(relation.sql)  # another dataset may be of the same files
        sensitive = frozenset(path for path, column in walk_columns(dataset.columns) if column.sensitive)
        columns = [part for column in relation.columns for part in (column.name, column.native_type, column.category)]
        self._files[relation.sql] = Files(
            files=seen.files,
            context=context_of(relation.encoding, len(columns), *columns, *how),
            reader=reader,
            again=lambda: self._look([one.path for one in seen.files]),
            seen=seen.at,
            margin=self._margin,
            sensitive=sensitive | (known.sensitive if known is not None else frozenset()),
        )

    # ------------------------------------------------------------------ measuring

    def measure(
        self, compiled: Compiled, relation: Relation, scan: Measure, spoiled: Callable[[], bool]
    ) -> dict[Metric, Measurement]:
        """What `scan` would measure, from what is known and from as few files as it takes.

        `spoiled` says that rows were found that no measurement counts; then nothing is kept.
        """
        whole = relation if relation.part is None else relation.part.whole
        files = self._files.get(whole.sql)
        if files is None or (not compiled.scans and relation.encoding == "native") or spoiled():
            return scan(compiled, relation)
        if relation.part is not None:
            self._read_all(files)
            return scan(compiled, relation)
        work = Incremental(self.store, files, self.session.run, self.tally)
        # Files whose cells have no types are read even if nothing is asked of them: rows may be of another length.
        scans = compiled.scans or (aggregate_scan([Cell(RowCount(), "COUNT(*)")], relation),)
        known, left = work.answer(scans, relation, self._target, self._tables)
        found = scan(replace(compiled, scans=left), relation, True)
        work.learn(found)
        if spoiled() or not work.settle():
            # Or a file changed while it was read: nothing that is known of it holds.
            self._read_all(files)
            return scan(compiled, relation)
        self._offending |= {(relation.sql, metric): paths for metric, paths in work.offending.items()}
        return {**found, **known} if compiled.scans else {one.metric: found[one.metric] for one in compiled.known}

    def _read_all(self, files: Files) -> None:
        self.tally.of.update(files.own)
        self.tally.read.update(files.own)

    def offending(self, relation: Relation, metrics: Iterable[Metric]) -> Relation:
        """The relation of those files that have rows which break one of `metrics`, where that is known of each."""
        files = self._files.get(relation.sql)
        places = [self._offending.get((relation.sql, metric)) for metric in metrics]
        if files is None or relation.part is not None:
            return relation
        paths: set[str] = set()
        for found in places:
            if not found:
                return relation
            paths.update(found)
        if not paths:
            return relation
        return replace(relation, sql=files.reader([path for path in files.own if path in paths]), row_id="")

    @property
    def files_read(self) -> tuple[int, int] | None:
        """How many files were read to measure, of how many."""
        return (len(self.tally.read), len(self.tally.of)) if self.tally.of else None

    # ------------------------------------------------------------------ other tables

    def _target(self, name: str) -> Files | None:
        relation = self.session.targets().get(name)
        return self._files.get(relation.sql) if isinstance(relation, Relation) else None

    def _tables(self) -> Tables | None:
        """The tables that a user's query can name; None where one of them is not made of files that are known."""
        names, texts, found = [], [], []
        for dataset in self.session.datasets:
            if dataset.foreign:
                continue
            try:
                relation = self.session.relation(dataset)
            except SourceError:
                return None
            files = self._files.get(relation.sql)
            if files is None:
                return None
            own = (dataset.name, *name_parts(dataset.physical_name)[-1:])
            texts += [*own, relation.encoding, "" if relation.encoding == "native" else typed_columns(relation)]
            names += [name.lower() for name in own]
            found.append(files)
        return Tables(frozenset(names), tuple(texts), tuple(found))
