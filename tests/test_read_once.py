"""Files without types are read once, and what is said of them is what a reading for each statement says."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from builders import contract_of, odcs, result, told
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from contract_checks.checks import plan
from contract_checks.metrics import FieldFilter, FoundColumn, RowFilter
from contract_checks.model import Contract
from contract_checks.results import CheckResult, Report
from contract_checks.run import check_contract, check_dataset
from contract_checks.sources import once
from contract_checks.sources.files import FileSource
from contract_checks.sources.reading import named_columns
from contract_checks.sql import Relation
from contract_checks.sql.cells import CELL_TYPES, cell_value, guessed_cell, settled_cell

WILD = int(os.environ.get("WILD_EXAMPLES", "0"))
QUICK = settings(
    max_examples=WILD or 12,
    derandomize=not WILD,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if WILD else [])],
    suppress_health_check=list(HealthCheck),
)
NOW = datetime(2024, 6, 1, tzinfo=UTC)


def _ge(kind: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "custom", "engine": "greatExpectations", "implementation": {"type": kind, "kwargs": arguments}}


COLUMNS = f"""
- name: i
  logicalType: integer
  primaryKey: true
  primaryKeyPosition: 1
  required: true
  logicalTypeOptions: {{minimum: -5, maximum: 9007199254740993, multipleOf: 3}}
  relationships: [{{to: r.i}}]
  quality:
  - {{metric: nullValues, mustBe: 0}}
  - {{metric: invalidValues, arguments: {{validValues: [1, 2, 30]}}, mustBeLessThan: 50, unit: percent}}
  - {json.dumps(_ge("expect_column_sum_to_be_between", min_value=0, max_value=10))}
  - {json.dumps(_ge("expect_column_mean_to_be_between", min_value=0, max_value=10))}
- name: n
  logicalType: number
  unique: true
  logicalTypeOptions: {{exclusiveMinimum: 0.1, maximum: 1000}}
  quality:
  - {{metric: missingValues, arguments: {{missingValues: [0, null]}}, mustBe: 0}}
  - {json.dumps(_ge("expect_column_max_to_be_between", min_value=0, max_value=10))}
- {{name: b, logicalType: boolean, required: true, quality: [{{metric: duplicateValues, mustBe: 0}}]}}
- {{name: d, logicalType: date, unique: true, logicalTypeOptions: {{minimum: '2000-01-01', maximum: '2024-02-29'}}}}
- name: w
  logicalType: timestamp
  unique: true
  logicalTypeOptions: {{minimum: '2000-01-01T00:00:00Z', timezone: true}}
- {{name: z, logicalType: timestamp, required: true, logicalTypeOptions: {{maximum: '2024-01-01T00:00:00Z'}}}}
- {{name: k, logicalType: time, unique: true}}
- name: S
  logicalType: string
  unique: true
  required: true
  logicalTypeOptions: {{minLength: 1, maxLength: 4, pattern: '^[0-9a-z]+$', format: email}}
  quality:
  - {{metric: invalidValues, arguments: {{pattern: '^(?=a)'}}, mustBe: 0}}
  - {{metric: missingValues, arguments: {{missingValues: ['', 'N/A']}}, mustBe: 0}}
- {{name: f, logicalType: date, logicalTypeOptions: {{format: dd/MM/yyyy, minimum: '2024-01-01'}}}}
- {{name: u}}
"""
QUALITY = """
- {metric: rowCount, mustBeGreaterThan: 3}
- {metric: duplicateValues, arguments: {properties: [n, S]}, mustBe: 0}
- {name: q1, type: sql, query: 'SELECT count(*) FROM {object} WHERE i > 1 AND d < w', mustBe: 0}
- {name: q2, type: sql, query: 'SELECT avg(N) FROM t', mustBe: 0}
- {name: q3, type: sql, query: 'SELECT count(*) FROM (SELECT * FROM t WHERE s LIKE ''1%'') x', mustBe: 0}
- {name: q4, type: sql, query: 'SELECT count(DISTINCT x) FROM t AS x', mustBe: 0}
- {name: q5, type: sql, query: 'SELECT count(COLUMNS(*)) FROM t', mustBe: 0}
- {name: q6, type: sql, query: 'SELECT count(*) FROM t NATURAL JOIN r', mustBe: 0}
- {name: q7, type: sql, query: 'SELECT max(nothing) FROM t', mustBe: 0}
- {name: q8, type: sql, query: 'SELECT count(*) FROM r WHERE i IN (SELECT b FROM t)', mustBe: 0}
- {name: q9, type: sql, query: 'SELECT sum(i)::VARCHAR FROM t', mustBe: 0}
- {name: q10, type: sql, query: 'SELECT min(u) FROM t', mustBe: 0}
"""
SLA = {
    "slaProperties": [
        {"property": "freshness", "value": 1, "unit": "d", "element": "t.z"},
        {"property": "retention", "value": 1, "unit": "y", "element": "t.f"},
    ]
}
NAMES = ("i", "n", "b", "d", "w", "z", "k", "S", "f", "u")


def promised(properties: str = COLUMNS, quality: str = QUALITY) -> Contract:
    """The contract on table `t`, and on `r`, which keys of `t` refer to."""
    document = json.loads(odcs(properties, quality, more=SLA if properties.startswith(COLUMNS) else None))
    document["schema"].append(
        {"name": "r", "physicalName": "r", "properties": [{"name": "i", "logicalType": "integer"}]}
    )
    return contract_of(json.dumps(document))


def both(contract: Contract, folder: Path, **options: Any) -> tuple[Report, Report]:
    """The report on a folder that is read once, and the one of a reading for each statement."""
    first, second = (
        check_contract(contract, source=FileSource(folder, read_once=way, **options), now=NOW, sample_rows=20)
        for way in (True, False)
    )
    return first, second


def in_order(one: CheckResult) -> CheckResult:
    """A result whose sample is in an order of its own: groups have none."""
    if one.sample is None:
        return one
    return replace(one, sample=replace(one.sample, rows=tuple(sorted(one.sample.rows, key=repr))))


def agree(contract: Contract, folder: Path, **options: Any) -> Report:
    """The report on a folder, after both ways to read it gave the same."""
    first, second = both(contract, folder, **options)
    for mine, wanted in zip(first.results, second.results, strict=True):
        assert repr(in_order(mine)) == repr(in_order(wanted)), f"{mine}\n---\n{wanted}"
    assert [data.row_count for data in first.datasets] == [data.row_count for data in second.datasets]
    return first


# --------------------------------------------------------------------------- the same verdicts

NUMBERS = [
    "0",
    "-0",
    "+1",
    "007",
    "1",
    "2",
    "3",
    "30",
    "1.0",
    "1.00",
    "1e3",
    "1_000",
    "0.1",
    ".1",
    "1.",
    "-5",
    "-6",
    "0.10000000000000001",
]
WIDE = ["9007199254740992", "9007199254740993", str(2**127), "9" * 50]
ODD = [
    *["N/A", "NaN", "-nan", "inf", "infinity", "-Infinity", "0x1F", "true", "T", "False", "no", "'", '"'],
    "",
    " ",
    " 1",
    "1 ",
]
DAYS = [
    *["2024-01-01", "2024-02-30", "1999-12-31", "0001-01-01", "0000-01-01", "12024-01-01", "01/02/2024"],
    "0044-03-15 (BC)",
]
CLOCKS = ["10:00", "10:00:00+02", "24:00:00"]
TIMES = [
    *("2024-01-01 10:00:00", "2024-01-01T10:00:00", "2024-01-01 10:00:00.5", "2024-01-01 10:00:00.500"),
    *("2024-01-01 10:00:00+00", "2024-01-01T10:00:00Z", "2024-01-01 10:00 +01", "2024-01-01 11:00:00+01:00"),
    *("1583-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2024-01-01 25:00:00", "2024-01-01 10:00:00 UTC"),
]
WORDS = ("a", "ab", "a@example.com", "Ä", "x" * 30, "1,2", "line\nbreak", "€uro")
CELLS = st.one_of(
    st.none(), st.sampled_from([*NUMBERS, *WIDE, *ODD, *DAYS, *TIMES, *WORDS]), st.text("01+-e.:Tab ", max_size=6)
)
TABLES = st.lists(st.tuples(*[CELLS] * len(NAMES)), max_size=12)


def csv_text(rows: Sequence[Sequence[str | None]], names: Sequence[str] = NAMES) -> str:
    """Rows as CSV, in which None is an empty cell and an empty text is quoted."""
    lines = [",".join(names)]
    for row in rows:
        lines.append(",".join("" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in row))
    return "\n".join(lines) + "\n"


@QUICK
@given(rows=TABLES, bare=st.booleans())
def test_a_csv_file_read_once_is_judged_as_one_read_for_each_statement(rows: list[Any], bare: bool) -> None:
    """Every result is the same, with its number, its words, its statement and its sample, whatever the cells hold."""
    text = csv_text(rows)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "t.csv").write_text(text.replace('"', "") if bare and '""' not in text else text)
        (Path(folder) / "r.csv").write_text("i\n1\n2\nx\n")
        agree(promised(), Path(folder))


VALUES = st.one_of(
    CELLS,
    st.integers(-10, 10),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.booleans(),
    st.lists(st.sampled_from([1, 1.5, "1", None]), max_size=3),
    st.fixed_dictionaries({"p": CELLS}),
)
NESTED = """
- name: o
  logicalType: object
  properties: [{name: p, logicalType: integer, required: true, logicalTypeOptions: {minimum: 1}}]
- name: l
  logicalType: array
  logicalTypeOptions: {maxItems: 2, uniqueItems: true}
  items: {logicalType: integer, logicalTypeOptions: {minimum: 1}}
"""


@QUICK
@given(rows=st.lists(st.tuples(*[VALUES] * (len(NAMES) + 2)), min_size=1, max_size=8))
def test_a_json_file_read_once_is_judged_as_one_read_for_each_statement(rows: list[Any]) -> None:
    """The same holds for JSON, whose values may be nested and of any type."""
    names = (*NAMES, "o", "l")
    with tempfile.TemporaryDirectory() as folder:
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        (Path(folder) / "t.jsonl").write_text("\n".join(lines))
        (Path(folder) / "r.jsonl").write_text('{"i": 1}\n{"i": "2"}\n')
        agree(promised(COLUMNS + NESTED), Path(folder))


# --------------------------------------------------------------------------- cells


def parsed_both_ways(texts: Sequence[str], category: str) -> list[tuple[str, Any, Any]]:
    """The texts that are read as two different values, by the guard and by the guess."""
    raw, guess = exp.column("x", quoted=True), guessed_cell(exp.column("x", quoted=True), category)
    column = exp.column("g") if guess is not None else None
    settled, wanted = settled_cell(raw, category, column), cell_value(raw, category)
    guessed = "NULL" if guess is None else guess.sql("duckdb")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE texts AS SELECT unnest($1::VARCHAR[]) AS x", [list(texts)])
        source = f"(SELECT *, {guessed} AS g FROM texts)"
        values = f"(SELECT x, {settled.sql('duckdb')} AS a, {wanted.sql('duckdb')} AS b FROM {source})"
        return connection.execute(
            f"SELECT x, a::VARCHAR, b::VARCHAR FROM {values} WHERE a IS DISTINCT FROM b"
        ).fetchall()


LETTERS = {
    "integer": "019+-._eEx \t",
    "number": "09+-._eEinfa ",
    "boolean": "tTrRuUeEfF1 ",
    "date": "019- ",
    "time": "019:.Z+ ",
}


@pytest.mark.parametrize("category", LETTERS)
def test_every_short_text_is_read_as_the_guard_reads_it(category: str) -> None:
    """A cell that is guessed first has the value that the guarded cast gives, for every text of up to four letters."""
    texts = ["".join(one) for length in range(5) for one in itertools.product(LETTERS[category], repeat=length)]
    assert not parsed_both_ways(texts, category)


MOMENT = st.builds(
    lambda year, month, day, sep, clock, offset: f"{year}-{month:02}-{day:02}{sep}{clock}{offset}",
    st.sampled_from(["0000", "0001", "1582", "1599", "1600", "1969", "1970", "2024", "9999", "12024", "24"]),
    st.integers(0, 13),
    st.integers(0, 32),
    st.sampled_from([" ", "T", "t", "  "]),
    st.builds(
        lambda hour, minute, more: f"{hour:02}:{minute:02}{more}",
        st.integers(0, 25),
        st.integers(0, 60),
        st.sampled_from(["", ":00", ":59", ":60", ":07.5", ":07.50", ":07.123456", ":07.1234567", ":59.9999999"]),
    ),
    st.sampled_from(
        ["", "Z", "z", "+00", "-00", "+0000", "+00:00", " +00", "+01", "-08:00", "+05:30", " UTC", " (BC)", "+00:00:01"]
    ),
)


@QUICK
@given(texts=st.lists(MOMENT, min_size=300, max_size=300))
def test_every_moment_is_read_as_the_guard_reads_it(texts: list[str]) -> None:
    """The same holds for timestamps, dates and times, whatever their year, fraction or offset."""
    assert not parsed_both_ways([*texts, *TIMES, *DAYS, "infinity", "-infinity", "epoch"], "timestamp")
    assert not parsed_both_ways([*(text[:10] for text in texts), *DAYS, "infinity", "epoch"], "date")
    assert not parsed_both_ways([*(text[11:] for text in texts), *CLOCKS], "time")


def test_every_integer_is_read_as_the_guard_reads_it() -> None:
    """Integers around the limits of the machine's are what they are."""
    edges = [sign * 2**bits + near for sign in (1, -1) for bits in (31, 53, 63, 64, 127, 128) for near in (-1, 0, 1)]
    assert not parsed_both_ways([*map(str, edges), *NUMBERS, *WIDE, *ODD], "integer")
    assert set(CELL_TYPES) == {*LETTERS, "timestamp"}, "a category without a test"


# --------------------------------------------------------------------------- files of every kind

SMALL = "- {name: a, logicalType: integer, required: true, unique: true}\n- {name: p, logicalType: string}"


def _folder(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in {"r.csv": b"i\n1\n", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("files", "options"),
    [
        pytest.param({"t.csv": b"a,p\n1,x\n1\n2,y,z\n\xc3\xa4,w\n"}, {}, id="rows of another length"),
        pytest.param({"t.csv": b"a,p\n1,\xff\n1,x\n"}, {}, id="another encoding"),
        pytest.param({"t.csv": "a,p\n1,ä\n".encode("latin-1")}, {"encoding": "latin-1"}, id="latin-1"),
        pytest.param({"t.csv": "a;p\n1;ä\n".encode("utf-16")}, {"encoding": "utf-16", "delimiter": ";"}, id="utf-16"),
        pytest.param({"t.csv.gz": gzip.compress(b"a,p\n1,x\n1,y\n")}, {}, id="gzip"),
        pytest.param({"t.csv.gz": b"a,p\n1,x\n"}, {}, id="no gzip"),
        pytest.param({"t/1.csv": b"a,p\n1,x\n", "t/2.csv": b"p,a\ny,1\nz,\n"}, {}, id="several headers"),
        pytest.param({"t/p=1/1.csv": b"a\n1\n", "t/p=2/1.csv": b"a\n1\nx\n"}, {}, id="partitions"),
        pytest.param({"t.csv": b"a,p,contract_x,CONTRACT__\n1,x,1,1\n1,y,2,\n"}, {}, id="names of ours"),
        pytest.param({"t.csv": b"a,A,p\n1,2,x\n1,x,x\n"}, {}, id="names that differ in case"),
        pytest.param({"t.csv": b'a,p\n1,"open\n2,x\n'}, {}, id="an open quote"),
        pytest.param({"t.csv": b"a,p\n"}, {}, id="no rows"),
        pytest.param({"t.csv": b"p\nx\n"}, {}, id="a missing column"),
        pytest.param({"t.jsonl": b'{"a": 1, "p": "x"}\n{"a": 1}\n{"A": 2}\n'}, {}, id="json"),
        pytest.param({"t.jsonl": b'{"a": 1}\n{"a": \n'}, {}, id="broken json"),
        pytest.param({"t.json": b'[{"a": 1, "p": {"q": 1}}, {"a": "1", "p": null}]'}, {}, id="a json array"),
    ],
)
def test_files_of_every_kind_are_judged_alike(tmp_path: Path, files: dict[str, bytes], options: dict[str, str]) -> None:
    """What is said of files, also of broken ones, does not depend on how often they are read."""
    query = "[{type: sql, query: 'SELECT count(p) FROM t', mustBe: 2}, {metric: rowCount, mustBe: 2}]"
    agree(promised(SMALL, query), _folder(tmp_path, files), **options)


@pytest.mark.parametrize("unique_in", ["part", "table"])
def test_a_part_of_a_file_is_judged_alike(tmp_path: Path, unique_in: Any) -> None:
    """The same holds for the rows of a partition."""
    _folder(tmp_path, {"t.csv": b"a,p\n1,x\n1,y\n,x\n2,x\n2,x\nz,x\n"})
    query = "[{type: sql, query: 'SELECT count(*) FROM t', mustBe: 2}, {metric: rowCount, mustBe: 2}]"
    data = plan(promised(SMALL, query)).dataset("t")
    rows = RowFilter((FieldFilter(("p",), values=("x",)),), "x", unique_in)

    first, second = (
        check_dataset(data, FileSource(tmp_path, read_once=way), now=NOW, rows=rows) for way in (True, False)
    )

    assert [repr(in_order(one)) for one in first.results] == [repr(in_order(one)) for one in second.results]


# --------------------------------------------------------------------------- one reading


def _reads(report: Report, name: str) -> list[str]:
    """The statements on dataset `t` that read a file."""
    return [sql for sql in report.datasets[0].statements if name in sql]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_file_is_read_by_one_statement(tmp_path: Path, ending: str) -> None:
    """However many rules fail, one statement reads the file, and every result shows one that a person can run."""
    cells = [(str(one % 7), str(one), "no", "x", "", "y", "z", "A", "31/12/2023", None) for one in range(20)]
    rows = [dict(zip(NAMES, row, strict=True)) for row in cells]
    text = csv_text(cells) if ending == "csv" else "\n".join(map(json.dumps, rows))
    _folder(tmp_path, {f"t.{ending}": text.encode()})

    report = check_contract(promised(), source=str(tmp_path), now=NOW)

    assert len(_reads(report, f"t.{ending}")) == 1, "\n".join(_reads(report, f"t.{ending}"))
    assert sum(one.status == "failed" for one in report.results) > 15, told(report)
    shown = [one.sql for one in report.results if one.sql is not None]
    shown += [one.sample.sql for one in report.results if one.sample is not None]
    assert not [sql for sql in shown if "contract_reading" in sql or "contract_bits" in sql]


def test_a_statement_that_is_shown_gives_what_was_measured(tmp_path: Path) -> None:
    """A person who runs the statement of a result on the file gets the number of the result."""
    _folder(tmp_path, {"t.csv": b"a,p\n1,x\n,y\n,z\n"})
    found = result(check_contract(promised(SMALL, "[]"), source=str(tmp_path)), "required", "a")
    with duckdb.connect() as connection:
        assert connection.execute(str(found.sql)).fetchall() == [(found.measured,)] == [(2,)]


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder for what does not fit into memory is gone after the check, and so is what was in it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    _folder(tmp_path / "data", {"t.csv": b"a,p\n1,x\n"})
    assert check_contract(promised(SMALL, "[]"), source=str(tmp_path / "data")).exit_code == 0
    assert not list((tmp_path / "scratch").iterdir())


def test_without_a_place_to_write_each_statement_reads_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no folder to write to, the verdict is the same."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    _folder(tmp_path, {"t.csv": b"a,p\n1,x\n1,y\n"})
    report = agree(promised(SMALL, "[]"), tmp_path)
    assert len(_reads(report, "t.csv")) > 1
    assert result(report, "unique", "a").measured == 1


def test_without_memory_to_read_each_statement_takes_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement that does not get by with little memory gets more; it is not errored."""
    monkeypatch.setattr(once, "MEMORY_MB", 1)
    _folder(tmp_path, {"t.csv": b"a,p\n" + b"".join(b"%d,%d\n" % (n, n) for n in range(50_000)) + b"7,7\n"})
    quality = "[{type: sql, query: 'SELECT count(DISTINCT p) FROM t', mustBe: 50000}]"
    report = agree(promised(SMALL, quality), tmp_path)
    assert result(report, "unique", "a").measured == 1, told(report)
    assert result(report, "sql").status == "passed", told(report)


# --------------------------------------------------------------------------- columns of users' queries

ALL = ("a", "B", "o")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT count(*) FROM t WHERE b > 1", ("B",)),
        ("SELECT avg(t.A) FROM t", ("a",)),
        ('SELECT count("B") FROM t', ("B",)),
        ("SELECT COUNT(*) FROM (\nSELECT * FROM t WHERE a = 1\n) AS contract_rows", ("a",)),
        ("SELECT COUNT(*) FROM (\nSELECT DISTINCT * FROM t\n) AS contract_rows", ALL),
        ("SELECT COUNT(*) FROM (\nSELECT * FROM t UNION SELECT * FROM t\n) AS contract_rows", ALL),
        ("SELECT count(*) FROM (SELECT * FROM (SELECT * FROM t) GROUP BY ALL)", ALL),
        ("SELECT max(a) FROM (SELECT * FROM t)", ALL),
        ("SELECT min(COLUMNS('a')) FROM t", ALL),
        ("SELECT count(x) FROM t AS x", ALL),
        ("SELECT count(DISTINCT t) FROM t", ALL),
        ("SELECT count(o) FROM t AS o", ALL),
        ("SELECT count(*) FROM t NATURAL JOIN r", ALL),
        ("FROM t LIMIT 1", ALL),
        ("SELECT #1 FROM t", ALL),
        ("SELECT count(*) FROM r WHERE a IN (SELECT b FROM t)", ("a", "B")),
        ("no SQL at all (", ALL),
    ],
)
def test_a_query_finds_every_column_that_it_may_read(query: str, names: tuple[str, ...]) -> None:
    """Of a user's query the columns are read that it names; all where a name alone does not tell."""
    relation = Relation("t.csv", "t", "duckdb", tuple(FoundColumn(name, "", "string") for name in ALL), encoding="csv")
    assert named_columns(query, relation) == names
