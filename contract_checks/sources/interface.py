"""What a source is: a place that answers scans, all of one session from one snapshot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from contract_checks.errors import SourceError
from contract_checks.guarantees import NO_GUARANTEES, Guarantees
from contract_checks.metrics import Aggregate, DuplicateKeys, FarFrom, Measurement, Metric, Parsed, Query
from contract_checks.model import Dataset
from contract_checks.scans import OFFENDERS, Compiled, SampleScan, Scan, split, without
from contract_checks.sql import Relation
from contract_checks.tallies import aggregate_of, far_from
from contract_checks.values import breaks, extreme_moment


class QueryError(SourceError):
    """The source refused one statement; the session goes on."""


class StatementTimeoutError(QueryError):
    """The source gave up on a statement that took longer than it may; the session goes on."""


class MissingTableError(SourceError):
    """The source has no such table or file."""


class Source(ABC):
    """Somewhere data lives. Opening a session is the only thing that connects.

    `name` is how a person knows it; it never holds a password.
    """

    name: str

    @abstractmethod
    def session(self, datasets: Sequence[Dataset]) -> AbstractContextManager[Session]:
        """A session whose answers all come from one snapshot.

        `datasets` are all the datasets of the contract, since queries and foreign keys may name any of
        them. Raises `SourceError` if the source cannot be reached.
        """

    @contextmanager
    def opened(self) -> Iterator[Source]:
        """The same source for several sessions, which share what is dear to open, until the end of the context.

        Nothing is opened before the first session. Most sources have nothing to share.
        """
        yield self


class Session(ABC):
    """One connection in one read-only transaction."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        self.datasets = tuple(datasets)
        self._statements: list[str] = []

    @property
    def statements(self) -> tuple[str, ...]:
        """Every statement that asked for data so far (catalogue look-ups are not among them)."""
        return tuple(self._statements)

    @abstractmethod
    def relation(self, dataset: Dataset) -> Relation:
        """The dataset's table or files. Raises `MissingTableError` if there are none."""

    @abstractmethod
    def fetch(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement.

        Raises `QueryError` if the source refuses it; what was asked before and after stays answerable.
        """

    def limit_statements(self, seconds: int) -> None:  # noqa: B027 - many sources cannot stop what they have begun
        """From now on give up on a statement after so many seconds, with `StatementTimeoutError`; 0: never."""

    def guarantees(self, dataset: Dataset, targets: Iterable[Relation]) -> Guarantees:
        """What the source vouches for of the dataset's whole table, by a look into its catalogue or footers.

        `targets` are the relations that foreign keys may lead to. Most sources vouch for nothing.
        """
        return NO_GUARANTEES

    def keep_measurements(self, path: str | Path) -> None:  # noqa: B027 - only files can tell that they did not change
        """From now on keep what is measured of each file in the store at `path`, and read no file twice for it."""

    def comment(self, dataset: Dataset) -> str:
        """What the catalogue says of the dataset's table as a whole, empty where it says nothing."""
        return ""

    @property
    def files_read(self) -> tuple[int, int] | None:
        """How many files were read to measure, of how many; None where that is not counted."""
        return None

    def offending(self, relation: Relation, metrics: Iterable[Metric]) -> Relation:
        """The relation, or a part of it that has every row which breaks one of these measured metrics."""
        return relation

    def prepare_queries(self) -> None:  # noqa: B027 - most sources have nothing to prepare
        """Called once before the first user's query; a source may make names resolvable here."""

    def targets(self) -> Mapping[str, Relation | str]:
        """The relations that foreign keys may point to, by physical and by plain name, or why there is none."""
        found: dict[str, Relation | str] = {}
        for dataset in self.datasets:
            try:
                relation: Relation | str = self.relation(dataset)
            except SourceError as error:
                relation = str(error)
            if not dataset.foreign:
                found[dataset.name] = relation
            found[dataset.physical_name] = relation
        return found

    def measure(self, compiled: Compiled, relation: Relation) -> dict[Metric, Measurement]:
        """Run the scans. A statement that fails makes only its own metrics errored."""
        found: dict[Metric, Measurement] = {one.metric: one for one in compiled.known}
        if any(scan.kind == "query" for scan in compiled.scans):
            self.prepare_queries()
        for scan in compiled.scans:
            found |= {one.metric: one for one in self._answer(scan, relation)}
        return found

    def _answer(self, scan: Scan, relation: Relation) -> Iterable[Measurement]:
        try:
            return measured(scan, self.run(scan.sql), relation)
        except QueryError as error:
            # What takes too long as one scan would take longer as many.
            too_long = isinstance(error, StatementTimeoutError)
            if scan.kind != "aggregate" or len(scan.metrics) == 1 or too_long:
                return _all_failed(scan, error)
            return self._isolate(scan, relation, error)

    def _isolate(self, scan: Scan, relation: Relation, error: QueryError) -> Iterable[Measurement]:
        """Find the metrics that made a shared scan fail, then ask for the others together once more.

        The second shared scan, not the single ones, gives the values, so that they come from one moment.
        """
        culprits: dict[Metric, Measurement] = {}
        for part in split(scan, relation):
            try:
                self.run(part.sql)
            except QueryError as own:
                culprits |= {one.metric: one for one in _all_failed(part, own)}
        if not culprits:
            return _all_failed(scan, error)
        rest = without(scan, culprits, relation)
        if rest is None:
            return culprits.values()
        try:
            return [*culprits.values(), *measured(rest, self.run(rest.sql), relation)]
        except QueryError as again:
            return [*culprits.values(), *_all_failed(rest, again)]

    def show(self, scan: SampleScan) -> list[tuple[Any, ...]]:
        """The rows of a sample. Raises `QueryError`."""
        return self.run(scan.sql)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """`fetch`, with the statement noted."""
        self._statements.append(sql)
        return self.fetch(sql)


def _all_failed(scan: Scan, error: QueryError) -> list[Measurement]:
    """What is known of a scan's metrics when its statement fails: only why."""
    return [Measurement(metric, error=str(error), sql=scan.sql) for metric in scan.metrics]


def measured(scan: Scan, rows: list[tuple[Any, ...]], relation: Relation) -> list[Measurement]:
    """What the rows of a scan's statement say of its metrics."""
    if scan.kind == "aggregate":
        places = {
            index: tuple(found or ()) for (index, _), found in zip(scan.places, rows[0][len(scan.cells) :], strict=True)
        }
        return [
            Measurement(one.metrics[0], value, sql=one.sql, places=places.get(index, ()))
            for index, (one, value) in enumerate(zip(split(scan, relation), rows[0][: len(scan.cells)], strict=True))
        ]
    metric = scan.metrics[0]
    if scan.kind == "duplicates":
        keys, carriers = (int(rows[0][-2]), int(rows[0][-1])) if rows else (0, 0)
        value = carriers if isinstance(metric, DuplicateKeys) and metric.of == "rows" else keys
        return [Measurement(metric, value, rows=carriers, sql=scan.sql, offenders=tuple(row[:-2] for row in rows))]
    if scan.kind == "orphans":
        count = int(rows[0][-1]) if rows else 0
        return [Measurement(metric, count, sql=scan.sql, offenders=tuple(row[:-1] for row in rows))]
    if scan.kind == "query":
        return [_one_cell(metric, rows, scan.sql)]
    if scan.kind == "tally":
        return [_tally(metric, rows, scan)]
    assert scan.condition is not None
    try:
        broken = [(value, int(count)) for value, count in rows if breaks(scan.condition, value)]
    except ValueError as error:
        return [Measurement(metric, error=str(error), sql=scan.sql)]
    return [Measurement(metric, sum(count for _, count in broken), sql=scan.sql, offenders=tuple(broken[:OFFENDERS]))]


def _tally(metric: Metric, rows: list[tuple[Any, ...]], scan: Scan) -> Measurement:
    """A number that is worked out here; a value that is none of the kind it needs makes it an error."""
    sql = scan.sql
    try:
        if isinstance(metric, Aggregate) and isinstance(scan.condition, Parsed):
            texts = [str(value) for value, _ in rows]
            return Measurement(metric, extreme_moment(texts, scan.condition.format, metric.function == "max"), sql=sql)
        if isinstance(metric, Aggregate):
            return Measurement(metric, aggregate_of(metric.function, rows), sql=sql)
        if isinstance(metric, FarFrom):
            count, offenders = far_from(metric, rows)
            return Measurement(metric, count, sql=sql, offenders=offenders[:OFFENDERS])
    except (ValueError, TypeError) as error:
        return Measurement(metric, error=str(error), sql=sql)
    return Measurement(metric, int(rows[0][0]), sql=sql)


def _one_cell(metric: Metric, rows: list[tuple[Any, ...]], sql: str) -> Measurement:
    """The single cell of a user's query; anything else is no answer (neither passed nor failed)."""
    if not rows:
        return Measurement(metric, error="the query returned no row; it must return one value", sql=sql)
    if len(rows) > 1 or len(rows[0]) > 1:
        shape = f"{'more than one row' if len(rows) > 1 else '1 row'} × {len(rows[0])} columns"
        return Measurement(metric, error=f"the query returned {shape}; it must return one value", sql=sql)
    if rows[0][0] is None:
        return Measurement(metric, error="the query returned NULL; it must return a value", sql=sql)
    value = rows[0][0]
    if isinstance(metric, Query) and metric.result == "count" and not _is_whole(value):
        return Measurement(metric, error=f"the query returned {value!r}; it must return a whole number", sql=sql)
    return Measurement(metric, value, sql=sql, answered_by="query")


def _is_whole(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole or (isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value())
