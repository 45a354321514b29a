"""Kept measurements: what they give is what a scan of everything gives, and nothing old is ever met again."""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from builders import contract_of, odcs, result, told
from click.testing import CliRunner
from dagster import DagsterInstance, materialize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract_checks import build_definitions
from contract_checks.checks import Settings
from contract_checks.cli import commands
from contract_checks.errors import SourceError
from contract_checks.metrics import (
    Aggregate,
    Bound,
    Columns,
    DuplicateKeys,
    HasFormat,
    Length,
    Matches,
    Measurement,
    Metric,
    NotNull,
    OneOf,
    OrphanKeys,
    OtherRows,
    Query,
    RowCount,
    UnparsedValues,
    ValueCount,
    Violations,
)
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.scans import compile_scans
from contract_checks.sources import kept
from contract_checks.sources.files import FileSource
from contract_checks.sources.kept import KeptStore, can_keep, digest, fingerprints
from contract_checks.sources.lasting import lasts

TICK = 0.012
"""Longer than the clock of a file system takes for a step."""


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are trusted as soon as the clock of their file system has moved on."""
    monkeypatch.setattr("contract_checks.sources.keeping.RACY_NS", int(TICK * 0.8 * 1e9))


# --------------------------------------------------------------------------- places with files

TYPES = "id BIGINT, a VARCHAR, x DOUBLE, n DECIMAL(10,2), d DATE, ts TIMESTAMP, g BOOLEAN"
Row = tuple[Any, ...]


@dataclass
class Place:
    """A folder with files of two tables, `t` and `u`, and a store for what was measured of them."""

    folder: Path
    store: Path
    form: str = "parquet"
    connection: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    def write(self, name: str, rows: Sequence[Row], types: str = TYPES) -> Path:
        """Write a file in place: `t/1`, `u/a`."""
        path = self.folder / f"{name}.{self.form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        made = self.folder.parent / "new"
        self.connection.execute(f"CREATE OR REPLACE TABLE rows ({types})")
        if rows:
            self.connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(rows[0]))})", rows)
        self.connection.execute(f"COPY rows TO '{made}' (FORMAT {self.form})")
        path.write_bytes(made.read_bytes())
        return path

    def measure(self, metrics: Sequence[Metric], keep: bool = True, **more: Any) -> Measured:
        """Measure `t` with the store, or without it."""
        time.sleep(TICK)
        contract = contract_of(odcs(schema=SCHEMA))
        with FileSource(self.folder, **more).session(contract.datasets) as session:
            if keep:
                session.keep_measurements(self.store)
            relation = session.relation(contract.datasets[0])
            found = session.measure(compile_scans(metrics, relation, session.targets()), relation)
            return Measured(found, session.files_read, session.statements)


@dataclass
class Measured:
    """What was measured, and from how many files."""

    found: dict[Metric, Measurement]
    files_read: tuple[int, int] | None
    statements: tuple[str, ...]

    def told(self) -> dict[Metric, Any]:
        """All that a verdict can depend on; offenders in an order of their own, since a scan has none."""
        return {
            metric: (
                *(_plain(one.value), one.rows, one.error, one.skipped, one.sql),
                sorted(map(repr, one.offenders)),
            )
            for metric, one in self.found.items()
        }

    def read(self) -> int:
        """The number of files that were read."""
        assert self.files_read is not None
        return self.files_read[0]


def _plain(value: Any) -> str:
    """A value with its type. The last digits of a number depend on the order in which an engine adds up."""
    if isinstance(value, datetime):
        return value.isoformat()
    return repr(float(f"{value:.12g}") if isinstance(value, float) else value)


PROPERTIES = [
    {"name": "id", "logicalType": "integer"},
    {"name": "a", "logicalType": "string"},
    {"name": "x", "logicalType": "number"},
    {"name": "n", "logicalType": "number"},
    {"name": "d", "logicalType": "date"},
    {"name": "ts", "logicalType": "timestamp"},
    {"name": "g", "logicalType": "boolean"},
]
SCHEMA = [
    {"name": "t", "physicalName": "t", "properties": PROPERTIES},
    {"name": "u", "physicalName": "u", "properties": PROPERTIES},
]


@pytest.fixture
def place(tmp_path: Path, settled: None) -> Iterator[Place]:
    """An empty place."""
    made = Place(tmp_path / "data", tmp_path / "kept" / "store.sqlite")
    yield made
    made.connection.close()


def row(id: int | None, a: str | None = "a", x: float | None = 1.0, day: int = 1) -> Row:
    """A row of `t` or `u`."""
    number = None if id is None else Decimal(id) / 4
    return (id, a, x, number, date(2024, 1, day), datetime(2024, 1, day, 12), None if id is None else id % 2 == 0)


METRICS: tuple[Metric, ...] = (
    Columns(),
    RowCount(),
    UnparsedValues(("id",)),
    ValueCount(("a",)),
    Violations(("a",), NotNull()),
    Violations(("a",), Length(0, 2)),
    Violations(("a",), Matches("^(?!b)")),
    Violations(("a",), HasFormat("email")),
    Violations(("x",), Bound(">=", 0)),
    Violations(("id",), OneOf((1, 2, 3, 4))),
    *(Aggregate(how, (name,)) for how in ("min", "max") for name in ("id", "a", "x", "n", "d", "ts", "g")),
    *(Aggregate(how, (name,)) for how in ("sum", "avg", "median", "stddev") for name in ("id", "n")),  # type: ignore[arg-type]
    DuplicateKeys((("id",),)),
    DuplicateKeys((("a",), ("d",))),
    DuplicateKeys((("id",),), "rows"),
    DuplicateKeys((("x",),)),
    OrphanKeys((("id",),), "u", (("id",),)),
    OrphanKeys((("id",),), "t", (("id",),)),
    OtherRows("u"),
    Query("SELECT count(*) FROM t JOIN u USING (id)"),
    Query("SELECT avg(n) FROM {object}"),
    Query("SELECT count(*) FROM t WHERE ts > now()"),
)

rows = st.lists(
    st.builds(
        row,
        st.none() | st.integers(0, 30),
        st.none() | st.sampled_from(["a", "b", "bb", "ccc", "é", "Z", ""]),
        st.none() | st.sampled_from([-1.0, 0.5, 2.0, math.nan, math.inf]),
        st.integers(1, 4),
    ),
    max_size=4,
)
steps = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "renamed", "same time", "remove", "touch", "nothing", "other types", "u"]),
        st.integers(0, 3),
        rows,
    ),
    min_size=2,
    max_size=5,
)


def step(place: Place, what: str, which: int, content: Sequence[Row]) -> None:
    """Change a file of the place in one way."""
    path = place.folder / "t" / f"{which}.{place.form}"
    before = path.stat() if path.exists() else None
    if what == "u":
        place.write(f"u/{which % 2}", content)
    elif what == "remove" and before is not None:
        path.unlink()
    elif what == "touch" and before is not None:
        path.touch()
    elif what == "renamed":
        place.write(f"t/{which}", content).rename(path.with_suffix(".new"))
        path.with_suffix(".new").rename(path)
    elif what == "other types" and place.form == "parquet":
        place.write(f"t/{which}", content, TYPES.replace("id BIGINT", "id INTEGER"))
    elif what == "other types" and before is not None:
        # A row that is too short, and cells that are of no type or of a name of their own.
        odd = {"csv": "1,short\n", "json": '{"id": "no", "ID": 1, "a": 5}\n'}
        path.write_text(path.read_text() + odd[place.form])
    elif what in ("write", "same time"):
        place.write(f"t/{which}", content)
        if what == "same time" and before is not None:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
@given(steps=steps)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_kept_measurements_are_those_of_a_scan(form: str, steps: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever happens to files, each measurement with a store is the one without it."""
    folder = tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("contract_checks.sources.keeping.RACY_NS", int(TICK * 0.8 * 1e9))
        place = Place(folder / "data", folder / "store.sqlite", form)
        place.write("t/0", [row(1), row(2, "b", 0.5, 2)])
        place.write("t/9", [row(7), row(8, "é", 2.0, 4)])
        place.write("u/0", [row(1), row(2), row(7)])
        for what, which, content in [("nothing", 0, []), *steps]:
            # JSON has no numbers that are none.
            odd = [form == "json" and not math.isfinite(one[2] or 0) for one in content]
            own = [(*one[:2], 2.0, *one[3:]) if wrong else one for one, wrong in zip(content, odd, strict=True)]
            step(place, what, which, own)
            with_store, without = place.measure(METRICS), place.measure(METRICS, keep=False)
            assert with_store.told() == without.told(), what
        place.connection.close()


# --------------------------------------------------------------------------- what is read


@pytest.fixture
def three(place: Place) -> Place:
    """Three files of `t` and one of `u`, measured once."""
    for number in range(3):
        place.write(f"t/{number}", [row(10 * number + 1), row(10 * number + 2, "b")])
    place.write("u/0", [row(10 * number + one) for number in range(3) for one in (1, 2)])
    return place


PARTED: tuple[Metric, ...] = (
    RowCount(),
    Violations(("a",), NotNull()),
    Aggregate("max", ("ts",)),
    Aggregate("sum", ("n",)),
    Violations(("a",), HasFormat("email")),
    DuplicateKeys((("id",),)),
    OrphanKeys((("id",),), "u", (("id",),)),
)


def test_an_unchanged_file_is_not_read_again(three: Place) -> None:
    """Nothing is asked of files that are as they were, and every measurement says that it was kept."""
    assert three.measure(METRICS).files_read == (3, 3)
    broken = (Violations(("a",), Matches("^(?!b)")), Violations(("a",), HasFormat("email")), OtherRows("u"))
    broken += (DuplicateKeys((("a",), ("d",))), DuplicateKeys((("x",),)))
    without_rows = (Columns(), UnparsedValues(("id",)))
    lasting = [one for one in METRICS if one not in (*broken, *without_rows) and "now()" not in str(one)]
    again = three.measure(lasting)
    assert again.files_read == (0, 3)
    assert again.statements == ()
    assert {one.answered_by for one in again.found.values()} == {"kept"}


def test_a_changed_file_is_the_only_one_that_is_read(three: Place) -> None:
    """Of three files the one that changed is read, also for keys, whose ranges in the files are apart."""
    metrics = [one for one in PARTED if one != Violations(("a",), HasFormat("email"))]
    three.measure(metrics)
    three.write("t/1", [row(12, None), row(13)])
    again = three.measure(metrics)
    assert again.files_read == (1, 3)
    assert again.told() == three.measure(metrics, keep=False).told()
    assert again.found[Violations(("a",), NotNull())].value == 1
    assert again.found[OrphanKeys((("id",),), "u", (("id",),))].value == 1


def test_a_file_that_is_new_is_noticed(three: Place) -> None:
    """A new file adds its numbers, and only it is read."""
    three.measure([RowCount()])
    three.write("t/new", [row(1)])
    again = three.measure([RowCount()])
    assert (again.found[RowCount()].value, again.files_read) == (7, (1, 4))


def test_a_file_that_is_gone_is_noticed(three: Place) -> None:
    """A file that was removed takes its numbers along, and nothing is read."""
    three.measure([RowCount()])
    (three.folder / "t" / "1.parquet").unlink()
    again = three.measure([RowCount()])
    assert (again.found[RowCount()].value, again.files_read) == (4, (0, 2))


def test_a_file_of_the_same_size_and_time_is_noticed(three: Place) -> None:
    """Setting the time of a file back does not hide that it was written."""
    path = three.folder / "t" / "1.parquet"
    three.measure([Aggregate("max", ("id",))])
    before = path.stat()
    three.write("t/1", [row(11), row(92, "b")])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert three.measure([Aggregate("max", ("id",))]).found[Aggregate("max", ("id",))].value == 92


def test_a_file_that_changed_just_now_is_not_trusted(three: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may change again within the step of its clock is read each time."""
    monkeypatch.setattr("contract_checks.sources.keeping.RACY_NS", kept.RACY_NS)
    three.measure(PARTED)
    assert three.measure(PARTED).files_read == (3, 3)
    assert not three.store.exists()


def test_a_file_that_changes_while_it_is_read_is_not_kept(three: Place) -> None:
    """Of a file that changed under way no number is kept, and the run gives no verdict."""
    contract = contract_of(odcs(schema=SCHEMA))
    time.sleep(TICK)

    def interrupted() -> None:
        with FileSource(three.folder).session(contract.datasets) as session:
            session.keep_measurements(three.store)
            relation = session.relation(contract.datasets[0])
            three.write("t/1", [row(1)])
            session.measure(compile_scans([RowCount()], relation, {}), relation)

    with pytest.raises(SourceError, match="was written while it was read"):
        interrupted()
    assert three.measure([RowCount()]).files_read == (3, 3)


def test_a_changed_rule_meets_no_old_number(three: Place) -> None:
    """A bound that moves by one is measured anew, in every file."""
    three.measure([Violations(("id",), Bound("<=", 22))])
    again = three.measure([Violations(("id",), Bound("<=", 21))])
    assert (again.found[Violations(("id",), Bound("<=", 21))].value, again.files_read) == (1, (3, 3))


def test_a_new_rule_reads_nothing_but_its_own_column(three: Place) -> None:
    """What was measured before stays known beside what is measured for the first time."""
    three.measure([RowCount()])
    again = three.measure([RowCount(), Violations(("a",), NotNull())])
    assert again.found[RowCount()].answered_by == "kept"
    assert "COUNT(*)" not in again.statements[0]


def test_a_new_version_of_anything_meets_no_old_number(three: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of the package, of the engine or of Python measures anew."""
    three.measure([RowCount()])
    monkeypatch.setattr("contract_checks.sources.incremental.versions", lambda: "another")
    assert three.measure([RowCount()]).files_read == (3, 3)


def test_files_of_different_types_are_scanned_together(three: Place) -> None:
    """Where files have other columns or types, one scan widens them, and nothing is taken from single files."""
    three.measure(PARTED)
    three.write("t/1", [(1, "a")], "id INTEGER, a VARCHAR")
    mixed = three.measure(PARTED)
    assert mixed.files_read is None
    assert mixed.told() == three.measure(PARTED, keep=False).told()


def test_a_file_without_rows_counts_as_such(place: Place) -> None:
    """A file without rows has no smallest value and no violations."""
    place.write("t/0", [])
    place.write("t/1", [row(1)])
    place.write("u/0", [row(1)])
    for _ in range(2):
        assert place.measure(METRICS).told() == place.measure(METRICS, keep=False).told()


def test_the_name_of_the_column_of_files_may_be_taken(place: Place) -> None:
    """Data that has a column of the name that tells the files is scanned as ever."""
    place.write("t/0", [("x",)], "contract_file VARCHAR")
    place.write("u/0", [row(1)])
    for _ in range(2):
        found = place.measure([Aggregate("max", ("contract_file",))])
        assert (found.found[Aggregate("max", ("contract_file",))].value, found.files_read) == ("x", None)


# --------------------------------------------------------------------------- keys


def test_a_key_that_recurs_in_a_known_file_is_found(three: Place) -> None:
    """A key of a new file is looked for in the known files whose range it lies in, and in no other."""
    unique = DuplicateKeys((("id",),))
    assert three.measure([unique]).found[unique].value == 0
    three.write("t/3", [row(2), row(5)])
    again = three.measure([unique])
    assert (again.found[unique].value, again.found[unique].rows) == (1, 2)
    assert again.found[unique].offenders == ((2, 2),)
    assert again.files_read == (2, 4)


def test_a_key_of_several_columns_is_told_apart_by_any_of_them(three: Place) -> None:
    """Two files share no key if one of its columns shares no value."""
    unique = DuplicateKeys((("d",), ("id",)))
    three.measure([unique])
    three.write("t/3", [row(1, day=3), row(40, day=4)])
    again = three.measure([unique])
    assert (again.found[unique].value, again.files_read) == (0, (1, 4))


def test_a_key_is_not_taken_for_unique_after_it_was_not(three: Place) -> None:
    """While a key recurs, every run says so, with the keys."""
    unique = DuplicateKeys((("id",),))
    three.measure([unique])
    three.write("t/3", [row(2)])
    for _ in range(3):
        assert three.measure([unique]).found[unique].offenders == ((2, 2),)
    (three.folder / "t" / "0.parquet").unlink()
    assert three.measure([unique]).found[unique].value == 0


def test_a_target_that_loses_a_key_is_noticed(three: Place) -> None:
    """A foreign key is asked again when the other table changed, although its own files did not."""
    refers = OrphanKeys((("id",),), "u", (("id",),))
    assert three.measure([refers]).found[refers].value == 0
    three.write("u/0", [row(1)])
    assert three.measure([refers]).found[refers].value == 5


# --------------------------------------------------------------------------- users' queries


def test_a_query_is_asked_again_when_any_table_changed(three: Place) -> None:
    """What a query returned holds for the files of all tables of the contract."""
    query = Query("SELECT count(*) FROM t JOIN u USING (id)")
    three.measure([query])
    assert three.measure([query]).found[query].answered_by == "kept"
    three.write("u/0", [row(1)])
    assert three.measure([query]).found[query].value == 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM t WHERE ts > now()",
        "SELECT current_date",
        "SELECT count(*) FROM t WHERE d < today()",
        "SELECT count(*) FROM t WHERE ts < localtimestamp",
        "SELECT random()",
        "SELECT count(*) FROM t WHERE age(ts) > INTERVAL 1 DAY",
        "SELECT a FROM t LIMIT 1",
        "SELECT first(a) FROM t",
        "SELECT count(*) FROM t USING SAMPLE 10%",
        "SELECT count(*) FROM other",
        "SELECT count(*) FROM main.t",
        "SELECT count(*) FROM range(3)",
        "SELECT user",
        "SELECT getvariable('a')",
        "not a query",
    ],
)
def test_a_query_that_may_answer_otherwise_tomorrow_is_not_kept(sql: str) -> None:
    """A clock, chance, or rows in no order make an answer that does not last."""
    assert not lasts(sql, "duckdb", frozenset({"t"}))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT avg(n) FROM t",
        "WITH w AS (SELECT * FROM t WHERE n > 1) SELECT count(DISTINCT a) FROM w",
        "SELECT count(*) FROM t LEFT JOIN T AS other ON t.id = other.id WHERE t.d >= DATE '2024-01-01'",
        "SELECT sum(CASE WHEN a IS NULL THEN 1 ELSE 0 END) * 100.0 / count(*) FROM t GROUP BY ALL",
    ],
)
def test_a_query_about_rows_alone_is_kept(sql: str) -> None:
    """Counts, sums and comparisons of the contract's tables last as long as their rows."""
    assert lasts(sql, "duckdb", frozenset({"t"}))


# --------------------------------------------------------------------------- whole contracts

RULES = """
- name: id
  logicalType: integer
  required: true
  unique: true
- name: a
  logicalType: string
  quality:
  - {metric: invalidValues, arguments: {validValues: [a, b]}, mustBe: 0}
  - {metric: nullValues, unit: percent, mustBeLessThan: 30}
"""


def said(report: Report) -> list[Any]:
    """What a report says of each check, with its sample in an order of its own."""
    return [
        (
            *(one.check.name, one.status, one.measured, one.rows, one.description, one.sql, one.details, one.notes),
            sorted(map(repr, one.sample.rows)) if one.sample is not None else None,
        )
        for one in report.results
    ]


def both(place: Place, contract: Any) -> tuple[Report, Report]:
    """The report with the store and without it."""
    time.sleep(TICK)
    kept_settings = Settings(measurements=str(place.store))
    return (
        check_contract(contract, source=place.folder, settings=kept_settings),
        check_contract(contract, source=place.folder),
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv"])
@given(steps=steps)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reports_are_the_same_with_a_store(form: str, steps: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Verdicts, numbers, sentences and samples do not depend on what was kept."""
    folder = tmp_path_factory.mktemp("place")
    contract = contract_of(odcs(RULES, "[{metric: rowCount, mustBeGreaterThan: 3}]"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("contract_checks.sources.keeping.RACY_NS", int(TICK * 0.8 * 1e9))
        place = Place(folder / "data", folder / "store.sqlite", form)
        place.write("t/9", [row(7), row(8, "é", 2.0, 4)])
        for what, which, content in steps:
            step(place, what, which, content)
            with_store, without = both(place, contract)
            assert said(with_store) == said(without), told(with_store)
        place.connection.close()


def test_samples_come_from_the_files_that_have_offenders(three: Place) -> None:
    """A broken promise shows its rows, and only files with such rows are read for them."""
    contract = contract_of(odcs(RULES))
    three.write("t/1", [row(11, "z"), row(12)])
    for _ in range(2):
        with_store, without = both(three, contract)
        assert said(with_store) == said(without)
        assert result(with_store, "invalidValues", "a").sample is not None
        sample = with_store.datasets[0].statements[-1]
        assert "/1.parquet" in sample
        assert "/0.parquet" not in sample
    assert with_store.datasets[0].files_read == (0, 3)


def test_folders_of_partitions_keep_their_types(place: Place) -> None:
    """A new folder may make a text of what was a number; then everything is measured anew."""
    contract = contract_of(
        odcs("[{name: id, logicalType: integer}, {name: year}]", "[{type: sql, query: 'SELECT max(year) FROM t'}]")
    )
    for year in (2023, 2024):
        place.write(f"t/year={year}/x", [row(year)])
    largest, known = Aggregate("max", ("year",)), Violations(("year",), OneOf(("2023", "2024", "none")))
    place.write("u/0", [row(1)])

    def measured() -> tuple[Any, Any, Any]:
        time.sleep(TICK)
        with FileSource(place.folder).session(contract.datasets) as session:
            session.keep_measurements(place.store)
            relation = session.relation(contract.datasets[0])
            found = session.measure(compile_scans([largest, known], relation, {}), relation)
            return found[largest].value, found[known].value, session.files_read

    assert measured() == (2024, 0, (2, 2))
    assert measured() == (2024, 0, (0, 2))
    place.write("t/year=none/x", [row(1)])
    assert measured() == ("none", 0, (3, 3))
    place.write("t/year=2024/x", [row(1)])
    assert measured() == ("none", 0, (1, 3)), "the type is that of all folders, not of the one that is read"


def test_a_part_of_the_rows_is_scanned(three: Place) -> None:
    """What is asked of a partition only is not answered from numbers of whole files."""
    from contract_checks.metrics import FieldFilter, RowFilter
    from contract_checks.sql import scoped, sql_for

    contract = contract_of(odcs(schema=SCHEMA))
    three.measure([RowCount()])
    with FileSource(three.folder).session(contract.datasets) as session:
        session.keep_measurements(three.store)
        whole = session.relation(contract.datasets[0])
        part = scoped(whole, RowFilter((FieldFilter(("id",), 1, 3),), "some"), sql_for(whole))
        assert session.measure(compile_scans([RowCount()], part, {}), part)[RowCount()].value == 2


# --------------------------------------------------------------------------- what is not kept


SENSITIVE = "[{name: id, logicalType: integer}, {name: a, logicalType: string, classification: confidential}]"


def test_no_sensitive_value_is_kept(place: Place) -> None:
    """Neither the smallest value of a sensitive column, nor a key's range, nor a query's answer is in the store."""
    place.write("t/0", [row(1, "hidden-value-1"), row(2, "hidden-value-2")])
    queries = "[{type: sql, query: 'SELECT max(a) FROM t', mustBe: x}]"
    contract = contract_of(odcs(SENSITIVE, queries))
    metrics = [Aggregate("max", ("a",)), DuplicateKeys((("a",),)), Query("SELECT max(a) FROM t"), RowCount()]
    for _ in range(2):
        time.sleep(TICK)
        with FileSource(place.folder).session(contract.datasets) as session:
            session.keep_measurements(place.store)
            relation = session.relation(contract.datasets[0])
            found = session.measure(compile_scans(metrics, relation, {}), relation)
    assert found[Aggregate("max", ("a",))].value == "hidden-value-2"
    assert found[RowCount()].answered_by == "kept"
    assert found[DuplicateKeys((("a",),))].answered_by == "kept"
    files = [path for path in place.store.parent.iterdir() if b"hidden-value" in path.read_bytes()]
    assert not files


# --------------------------------------------------------------------------- the store


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -5, 2**100, Decimal("1.10"), Decimal("-0"), Decimal("1E+20"), 0.1, -0.0, math.inf, "",
        "é\0\ud800", "s5", date(1, 1, 1), datetime(2024, 1, 2, 3, 4, 5, 6), datetime(2024, 1, 2, tzinfo=UTC),
    ],
)  # fmt: skip
def test_values_come_back_as_they_were(value: Any, tmp_path: Path) -> None:
    """A store gives back each value with its type, digits and sign."""
    assert can_keep(value)
    store = KeptStore(tmp_path / "store")
    store.keep({b"owner": {"name": value}})
    back = store.find([b"owner"])[b"owner"]["name"]
    assert (type(back), repr(back)) == (type(value), repr(value))


def test_not_a_number_comes_back(tmp_path: Path) -> None:
    """NaN is a value like any other."""
    store = KeptStore(tmp_path / "store")
    store.keep({b"owner": {"name": math.nan}})
    assert repr(store.find([b"owner"])[b"owner"]["name"]) == "nan"


@pytest.mark.parametrize("value", [b"x", (1,), datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=1)))])
def test_other_values_are_not_kept(value: Any) -> None:
    """What would not come back as it was is not kept at all."""
    assert not can_keep(value)


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database, but it is long enough to look at" * 100)


def _folder(path: Path) -> None:
    path.mkdir()


def _of_others(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
        connection.commit()


def _of_another_version(path: Path) -> None:
    KeptStore(path).keep({b"a": {"b": 1}})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.commit()


@pytest.mark.parametrize("spoil", [_garbage, _folder, _of_others, _of_another_version])
def test_trouble_with_the_store_is_a_warning(
    spoil: Callable[[Path], None], three: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """A store that cannot be used is told in the log; the data is read, and a file of others stays as it is."""
    three.store.parent.mkdir()
    spoil(three.store)
    before = three.store.read_bytes() if three.store.is_file() else None
    with caplog.at_level(logging.WARNING, "contract_checks"):
        for _ in range(2):
            found = three.measure([RowCount()])
            assert (found.found[RowCount()].value, found.files_read) == (6, (3, 3))
    assert "The data is read instead" in caplog.text
    assert before is None or three.store.read_bytes() == before


def test_an_entry_that_was_spoiled_is_not_found(tmp_path: Path) -> None:
    """A number whose bytes changed in the file of the store is not taken for one."""
    store = KeptStore(tmp_path / "store")
    store.keep({b"owner": {"name": 12345}})
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE kept SET content = replace(content, CAST('12345' AS BLOB), CAST('12346' AS BLOB))")
        connection.execute("UPDATE kept SET content = CAST(content AS BLOB)")
        connection.commit()
    assert store.find([b"owner"]) == {}


def test_what_nobody_asks_for_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry goes when it was not asked for in a month; one that was stays."""
    store = KeptStore(tmp_path / "store")
    days = kept._today()
    store.keep({b"asked": {"a": 1}, b"left": {"a": 1}})
    for later in range(0, kept.KEEP_DAYS + 20, 10):
        monkeypatch.setattr(kept, "_today", lambda later=later: days + later)
        store.find([b"asked"])
    store.keep({b"new": {"a": 1}})
    monkeypatch.setattr(kept, "_today", lambda: days)
    assert set(store.find([b"asked", b"left", b"new"])) == {b"asked", b"new"}


def test_several_may_write_at_once(tmp_path: Path) -> None:
    """Writers wait for each other, and nothing is lost."""
    path = tmp_path / "store"
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(lambda one: KeptStore(path).keep({b"shared": {str(one): one}, bytes([one]): {"a": 1}}), range(40))
        )
    assert KeptStore(path).find([b"shared"])[b"shared"] == {str(one): one for one in range(40)}


def test_digests_tell_parts_apart() -> None:
    """What stands for some parts stands for no other parts."""
    made = {digest("ab", "c"), digest("a", "bc"), digest("abc"), digest(1), digest("1"), digest(b"1"), digest()}
    assert len(made) == 7


def test_a_file_that_is_listed_twice_has_no_fingerprints(tmp_path: Path) -> None:
    """A file that two links name counts twice in a scan, and so is left to it."""
    path = tmp_path / "a"
    path.touch()
    assert fingerprints([str(path), str(path)]) is None
    assert fingerprints([str(tmp_path / "b")]) is None


# --------------------------------------------------------------------------- where it is switched on


def test_the_command_line_keeps_measurements(three: Place) -> None:
    """`--measurements` names the store; the second run reads no file."""
    (three.folder.parent / "t.odcs.yaml").write_text(odcs(RULES))
    time.sleep(TICK)
    arguments = ["test", str(three.folder.parent / "t.odcs.yaml"), "--source", str(three.folder)]
    for _ in range(2):
        ran = CliRunner().invoke(commands, [*arguments, "--measurements", str(three.store)])
        assert ran.exit_code == 0, ran.output
    assert three.store.is_file()
    time.sleep(TICK)
    kept_settings = Settings(measurements=str(three.store))
    report = check_contract(three.folder.parent / "t.odcs.yaml", source=three.folder, settings=kept_settings)
    assert report.datasets[0].files_read == (0, 3)


def test_dagster_keeps_measurements_in_its_storage(three: Place) -> None:
    """With `keep_measurements` the store is in the instance's storage, and the asset says how many files were read."""
    (three.folder.parent / "t.odcs.yaml").write_text(odcs(RULES))
    defs = build_definitions(three.folder.parent / "t.odcs.yaml", source=three.folder, keep_measurements=True)
    assets = list(defs.resolve_asset_graph().assets_defs)
    time.sleep(TICK)
    with DagsterInstance.ephemeral() as instance:
        read = []
        for _ in range(2):
            ran = materialize(assets, instance=instance)
            made = ran.asset_materializations_for_node(assets[0].node_def.name)[0]
            read.append(made.metadata["contract/files_read"].value)
        assert read == ["3 of 3", "0 of 3"]
        assert (Path(instance.storage_directory()) / "contract_measurements.sqlite").is_file()


# --------------------------------------------------------------------------- files without types


@pytest.fixture
def texts(tmp_path: Path, settled: None) -> Iterator[Place]:
    """Three CSV files of `t` and one of `u`."""
    made = Place(tmp_path / "data", tmp_path / "kept" / "store.sqlite", "csv")
    for number in range(3):
        made.write(f"t/{number}", [row(10 * number + 1), row(10 * number + 2, "b")])
    made.write("u/0", [row(1)])
    yield made
    made.connection.close()


def test_a_set_of_csv_files_reads_only_what_changed(texts: Place) -> None:
    """Of CSV files the changed ones are read, the others not even to count their cells."""
    metrics = (Columns(), UnparsedValues(("id",)), DuplicateKeys((("id",),)), Aggregate("max", ("ts",)))
    texts.measure(metrics)
    again = texts.measure(metrics)
    assert (again.files_read, again.statements) == ((0, 3), ())
    texts.write("t/1", [("x", "b", *row(1)[2:])], TYPES.replace("id BIGINT", "id VARCHAR"))
    again = texts.measure(metrics)
    assert again.files_read == (1, 3)
    assert again.found[UnparsedValues(("id",))].value == 1
    assert all("/0.csv" not in statement for statement in again.statements)


@pytest.mark.parametrize(
    "metrics",
    [(Columns(),), (Columns(), RowCount()), (RowCount(),), (Columns(), Violations(("a",), Matches("^(?!zz)")))],
)
def test_rows_of_another_length_are_told_each_time(metrics: tuple[Metric, ...], texts: Place) -> None:
    """A row that is too short is told in every run, whatever was kept before it came."""
    assert texts.measure(metrics).told() == texts.measure(metrics, keep=False).told()
    path = texts.folder / "t" / "1.csv"
    whole = path.read_text()
    path.write_text(f"{whole}1,short\n")
    for _ in range(2):
        found = texts.measure(metrics)
        assert found.told() == texts.measure(metrics, keep=False).told()
        assert "another number of cells" in str(found.told())
    path.write_text(whole)
    assert "another number of cells" not in str(texts.measure(metrics).told())


def test_a_name_of_one_object_makes_a_column_of_all(tmp_path: Path, settled: None) -> None:
    """A name that only a new JSON file has is a column, and goes with its file."""
    place = Place(tmp_path / "data", tmp_path / "store.sqlite", "json")
    place.write("t/0", [row(1)])
    place.write("u/0", [row(1)])
    place.measure([RowCount()])
    place.write("t/1", [(5,)], "extra BIGINT")
    largest = Violations(("extra",), NotNull())
    assert place.measure([largest]).found[largest].value == 1
    (place.folder / "t" / "1.json").unlink()
    assert "does not exist" in str(place.measure([largest]).found[largest].error)
    place.connection.close()
