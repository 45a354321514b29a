"""A session that reads files without types once, and answers from what it read as long as that is what the files say.

Where the reading fails, or a statement on its table, the files are asked instead, statement by statement. So nothing is
answered that the files would not answer, and what goes wrong is told in the same words.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection
from typing_extensions import override

from contract_checks.metrics import FieldPath, Measurement, Metric
from contract_checks.model import Dataset
from contract_checks.scans import Compiled, SampleScan, Scan
from contract_checks.sources.csv_files import quoted
from contract_checks.sources.database import DatabaseSession, DatabaseSource
from contract_checks.sources.interface import QueryError, StatementTimeoutError, measured
from contract_checks.sources.reading import Reading, plan_reading
from contract_checks.sql import Relation

MEMORY_MB = 320
"""How much of the data may be in memory at once, on up to `FEW_THREADS` threads."""
FEW_THREADS = 4
_MB_PER_THREAD = 64
_TABLE = "contract_reading_"


@contextmanager
def scratch_folder(wanted: bool) -> Iterator[str | None]:
    """A private folder for what does not fit into memory, gone afterwards; None where there can be none."""
    try:
        folder = tempfile.mkdtemp(prefix="contract_checks_") if wanted else None
    except OSError:
        folder = None
    try:
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def bounds(folder: str) -> tuple[str, ...]:
    """The settings of a DuckDB that keeps little in memory and the rest in a folder."""
    more = max(0, (os.cpu_count() or 1) - FEW_THREADS)
    return f"SET temp_directory = {quoted(folder)}", f"SET memory_limit = '{MEMORY_MB + more * _MB_PER_THREAD}MB'"


class OnceSession(DatabaseSession):
    """A session on a DuckDB that reads relations of text cells once, if `read_once`."""

    def __init__(
        self, connection: Connection, source: DatabaseSource, datasets: Sequence[Dataset], read_once: bool
    ) -> None:
        super().__init__(connection, source, datasets)
        self.read_once = read_once
        self._readings: dict[str, Reading] = {}
        self._made = 0

    @override
    def measure(self, compiled: Compiled, relation: Relation) -> dict[Metric, Measurement]:
        if self.read_once and relation.encoding != "native":
            try:
                self._read(compiled.scans, relation)
            except StatementTimeoutError as error:
                # What takes too long once would take longer many times.
                failed = [(metric, scan.sql) for scan in compiled.scans for metric in scan.metrics]
                late = {metric: Measurement(metric, error=str(error), sql=sql) for metric, sql in failed}
                return {one.metric: one for one in compiled.known} | late
        return super().measure(compiled, relation)

    @override
    def show(self, scan: SampleScan) -> list[tuple[Any, ...]]:
        reading = self._readings.get(scan.source)
        sql = reading.sample(scan) if reading is not None else None
        if sql is not None:
            try:
                return self.run(sql)
            except QueryError:
                pass  # the files are asked
        return super().show(scan)

    def reading(self, relation: Relation) -> Reading | None:
        """What was read of a relation, as far as users' queries may ask it."""
        found = self._readings.get(relation.sql)
        return found if found is not None and found.columns is not None else None

    @override
    def _answer(self, scan: Scan, relation: Relation) -> Iterable[Measurement]:
        reading = self._readings.get(relation.sql)
        orphans = reading is not None and scan.kind == "orphans"
        answer = reading.answer(scan, relation, self.targets() if orphans else {}) if reading is not None else None
        if reading is None or answer is None:
            return super()._answer(scan, relation)
        try:
            found = measured(answer.scan, self.run(answer.sql), relation)
        except QueryError:
            if scan.kind == "query":
                self._readings[relation.sql] = replace(reading, columns=None)
                self.prepare_queries()
            return super()._answer(scan, relation)
        return [*found, *(super()._answer(answer.left, relation) if answer.left is not None else ())]

    def _read(self, scans: Sequence[Scan], relation: Relation) -> None:
        """Read what the scans will ask, if it can be read: an error of a cell or a file is told by the scans."""
        self._readings.pop(relation.sql, None)
        own = [scan for scan in scans if scan.kind == "query" or relation.sql in scan.sql]
        targets = self.targets() if any(scan.kind == "orphans" for scan in own) else {}
        reading = plan_reading(own, relation, self._key_of(relation), targets, f"{_TABLE}{self._made}")
        if reading is None:
            return
        self._made += 1
        try:
            self.run(reading.statement)
        except StatementTimeoutError:
            raise
        except QueryError:
            return
        self.settle()
        self._readings[relation.sql] = reading

    def settle(self) -> None:
        """Keep the tables and views made so far, or the next statement that fails would take them along."""
        raw: Any = self.connection.connection.dbapi_connection
        raw.commit()
        raw.begin()

    def _key_of(self, relation: Relation) -> tuple[FieldPath, ...]:
        """The primary key of the dataset that a relation belongs to."""
        whole = relation if relation.part is None else relation.part.whole
        for dataset in self.datasets:
            known = self._relations.get(dataset.physical_name)
            if known is not None and known.sql == whole.sql:
                return tuple((one.physical_name,) for one in dataset.columns if one.primary_key is not None)
        return ()


def asks_reading(sql: str) -> bool:
    """Whether a statement makes or asks the table of a reading."""
    return _TABLE in sql


def is_out_of_memory(error: QueryError) -> bool:
    """Whether DuckDB gave up because of its bounds."""
    return "Out of Memory Error" in str(error)
