"""What the footers of Parquet files say is taken from them, where they say it of every row."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders import contract_of, odcs, result
from hypothesis import given, settings
from hypothesis import strategies as st
from test_proofs import same, tiers
from test_properties import QUICK, WILD, rows, tables

from contract_checks.metrics import Aggregate, NotNull, RowCount, Violations
from contract_checks.proofs import prove
from contract_checks.sources.files import FileSource
from contract_checks.sql import Relation

RULES = """
- name: a
  logicalType: %s
  required: true
  logicalTypeOptions: {minimum: %s}
"""
STATISTICS = {"file statistics"}


def copied(folder: Path, query: str, name: str = "t.parquet", options: str = "") -> Path:
    """A file that DuckDB wrote."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    duckdb.sql(f"COPY ({query}) TO '{path}' (FORMAT parquet{options})")
    return path


def relation_of(folder: Path) -> Relation:
    """The relation of dataset `t`, with what its files say."""
    dataset = contract_of(odcs()).datasets[0]
    with FileSource(folder).session([dataset]) as session:
        relation = session.relation(dataset)
        return replace(relation, guarantees=session.guarantees(dataset, ()))


def test_nulls_bounds_and_rows_need_no_statement(tmp_path: Path) -> None:
    """Rows, null values, bounds and the newest value of Parquet files are answered by their footers."""
    copied(
        tmp_path, "SELECT i AS a, CASE WHEN i % 2 = 0 THEN i END AS b, TIMESTAMP '2025-12-31' AS c FROM range(10) r(i)"
    )
    columns = """
- {name: a, logicalType: integer, required: true, logicalTypeOptions: {minimum: 0, maximum: 9}}
- name: b
  logicalType: integer
  quality: [{metric: nullValues, unit: percent, mustBeLessThan: 60, id: half}]
- {name: c, logicalType: timestamp}
"""
    quality = "[{metric: rowCount, mustBe: 10, id: ten}]"
    fresh = {"slaProperties": [{"property": "freshness", "value": 2, "unit": "d", "element": "t.c"}]}
    report = same(contract_of(odcs(columns, quality, more=fresh)), tmp_path)
    assert set(tiers(report).values()) == STATISTICS
    assert report.datasets[0].statements == ()
    assert report.datasets[0].row_count == 10
    assert result(report, "half", "b").measured == 50


def test_a_broken_promise_shows_its_rows_all_the_same(tmp_path: Path) -> None:
    """A count of null values from the footers still comes with a sample."""
    copied(tmp_path, "SELECT i AS id, CASE WHEN i <> 7 THEN i END AS a FROM range(10) r(i)")
    columns = "[{name: id, logicalType: integer, primaryKey: true}, {name: a, logicalType: integer, required: true}]"
    broken = result(same(contract_of(odcs(columns)), tmp_path), "required", "a")
    assert (broken.answered_by, broken.status, broken.measured, broken.rows) == ("file statistics", "failed", 1, 1)
    assert broken.sample is not None
    assert broken.sample.rows == ((7, None),)


def test_bounds_that_do_not_hold_are_counted_by_a_scan(tmp_path: Path) -> None:
    """Statistics never disprove a bound."""
    copied(tmp_path, "SELECT i AS a FROM range(10) r(i)")
    report = same(contract_of(odcs(RULES % ("integer", 3))), tmp_path)
    broken = result(report, "minimum", "a")
    assert (broken.answered_by, broken.measured) == ("scan", 3)


def test_nan_is_in_no_statistics(tmp_path: Path) -> None:
    """Bounds of floating-point columns are scanned, for their statistics pass over NaN."""
    copied(tmp_path, "SELECT unnest([1.0::DOUBLE, 'NaN'::DOUBLE]) AS a")
    report = same(contract_of(odcs("- {name: a, logicalType: number, logicalTypeOptions: {maximum: 2}}")), tmp_path)
    assert result(report, "maximum", "a").status == "failed"


@pytest.mark.parametrize("place", ["folder", "names"])
def test_a_file_without_the_column_has_nulls_in_it(tmp_path: Path, place: str) -> None:
    """A column that one file lacks, or that comes from the folders' names, is scanned."""
    copied(tmp_path, "SELECT 1 AS a, 1 AS b", "t/year=1/x.parquet" if place == "names" else "t/x.parquet")
    copied(tmp_path, "SELECT 1 AS b", "t/year=2/y.parquet" if place == "names" else "t/y.parquet")
    columns = RULES % ("integer", 1) + "\n- {name: b, logicalType: integer, required: true}"
    if place == "names":
        columns += "\n- {name: year, logicalType: integer, required: true}"
    report = same(contract_of(odcs(columns)), tmp_path)
    assert result(report, "required", "a").status == "failed"
    assert result(report, "required", "b").answered_by == "file statistics"
    if place == "names":
        assert result(report, "required", "year").answered_by == "scan"


def test_a_folder_name_replaces_a_column_of_the_files(tmp_path: Path) -> None:
    """A column that is in the files and in the names of their folders is what the folders say."""
    copied(tmp_path, "SELECT 7 AS a", "t/a=1/x.parquet")
    report = same(contract_of(odcs(RULES % ("integer", 5))), tmp_path)
    assert set(tiers(report).values()) == {"scan"}


def test_columns_of_several_types_are_scanned(tmp_path: Path) -> None:
    """A column that is of another type in one of the files is scanned."""
    copied(tmp_path, "SELECT 1::INTEGER AS a, 1::INTEGER AS b", "t/x.parquet")
    copied(tmp_path, "SELECT 1::BIGINT AS a, 1::INTEGER AS b", "t/y.parquet")
    columns = RULES % ("integer", 1) + "\n- {name: b, logicalType: integer, required: true}"
    found = tiers(same(contract_of(odcs(columns)), tmp_path))
    assert found == {"a/required": "scan", "a/minimum": "scan", "b/required": "file statistics"}


def test_files_without_statistics_are_scanned(tmp_path: Path) -> None:
    """One file whose writer kept no statistics is enough."""
    (tmp_path / "t").mkdir()
    table = pa.table({"a": [1, 2]})
    pq.write_table(table, tmp_path / "t" / "x.parquet")
    assert set(tiers(same(contract_of(odcs(RULES % ("integer", 1))), tmp_path)).values()) == STATISTICS
    pq.write_table(table, tmp_path / "t" / "y.parquet", write_statistics=False)
    assert set(tiers(same(contract_of(odcs(RULES % ("integer", 1))), tmp_path)).values()) == {"scan"}


def test_columns_that_differ_in_case_are_scanned(tmp_path: Path) -> None:
    """Files that spell a column in two ways have it under one name, which the footers do not know."""
    copied(tmp_path, "SELECT 1 AS a", "t/x.parquet")
    copied(tmp_path, 'SELECT NULL::INTEGER AS "A"', "t/y.parquet")
    report = same(contract_of(odcs(RULES % ("integer", 1))), tmp_path)
    assert result(report, "required", "a").status == "failed"
    (tmp_path / "t" / "y.parquet").unlink()
    pq.write_table(pa.table({"a": [1], "A": pa.array([None], pa.int64())}), tmp_path / "t" / "x.parquet")
    assert set(tiers(same(contract_of(odcs(RULES % ("integer", 1))), tmp_path)).values()) == {"scan"}


def test_fields_and_items_are_scanned(tmp_path: Path) -> None:
    """The NULLs of a leaf are not those of a field; a column of another path is not taken for it."""
    pq.write_table(pa.table({"s": [{"x": 1}, None], "s, x": [1, None], "l": [[1], None]}), tmp_path / "t.parquet")
    columns = """
- name: s
  logicalType: object
  required: true
  properties: [{name: x, logicalType: integer, required: true}]
- {name: 's, x', logicalType: integer, required: true}
- {name: l, logicalType: array, required: true, items: {logicalType: integer}}
"""
    assert set(tiers(same(contract_of(odcs(columns)), tmp_path)).values()) == {"scan"}


def test_an_aggregate_is_taken_only_from_exact_bounds(tmp_path: Path) -> None:
    """A smallest value is answered by the footer only if the writer says that it occurs."""
    path = copied(tmp_path, "SELECT i AS a FROM range(5) r(i)")
    smallest = Aggregate("min", ("a",))
    assert prove([smallest], relation_of(tmp_path), {})[smallest].value == 0
    told = duckdb.sql(f"SELECT min_is_exact FROM parquet_metadata('{path}')").fetchall()
    assert told == [(True,)]
    relation = relation_of(tmp_path)
    loose = {"a": replace(relation.guarantees.statistics["a"], exact=False)}
    guarantees = replace(relation.guarantees, statistics=loose)
    assert prove([smallest], replace(relation, guarantees=guarantees), {}) == {}


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    """A file without rows says so, and nothing of its columns."""
    copied(tmp_path, "SELECT 1 AS a WHERE false")
    guarantees = relation_of(tmp_path).guarantees
    assert (guarantees.row_count, dict(guarantees.statistics)) == (0, {})
    same(contract_of(odcs(RULES % ("integer", 1))), tmp_path)


# --------------------------------------------------------------------------- every type, against a scan

MOMENTS = st.one_of(
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)),
    st.sampled_from([datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1), datetime(2024, 2, 29, 12)]),
)
DAYS = st.dates(date(1, 1, 3), date(9999, 12, 29))


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda whole: Decimal(f"{whole}e-{scale}"))


TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    **{
        f"{'u' if low == 0 else ''}int{bits}": (
            getattr(pa, f"{'u' if low == 0 else ''}int{bits}")(),
            st.integers(low, high) | st.sampled_from([low, high, 0, 1]),
        )
        for bits in (8, 16, 32, 64)
        for low, high in ((0, 2**bits - 1), (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    },
    **{
        f"decimal{precision}_{scale}": (pa.decimal128(precision, scale), _decimals(precision, scale))
        for precision, scale in ((4, 2), (9, 0), (18, 3), (30, 10), (38, 38), (38, 0))
    },
    "date": (pa.date32(), DAYS),
    **{
        f"timestamp_{unit}{zone or ''}": (pa.timestamp(unit, zone), MOMENTS)
        for unit in ("ms", "us", "ns")
        for zone in (None, "UTC", "Europe/Berlin")
    },
    # moments between two microseconds
    **{
        f"nanoseconds{zone or ''}": (pa.timestamp("ns", zone), st.integers(-(2**62), 2**62) | st.integers(-2000, 2000))
        for zone in (None, "UTC")
    },
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "text": (pa.string(), st.text(max_size=3) | st.just("z" * 100)),
    "bytes": (pa.binary(), st.binary(max_size=3)),
    "bool": (pa.bool_(), st.booleans()),
}


def _fitting(kind: pa.DataType, value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    if kind.unit == "ns":
        value = value.replace(year=1700 + value.year % 500, day=min(value.day, 28))
    if kind.unit == "ms":
        value = value.replace(microsecond=value.microsecond // 1000 * 1000)
    return value.replace(tzinfo=UTC) if kind.tz else value


FEW = settings(QUICK, max_examples=WILD or 8)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "row_group_size": st.sampled_from([1, 2, 3]),
        "write_statistics": st.booleans(),
        "version": st.sampled_from(["1.0", "2.4", "2.6"]),
        "store_decimal_as_integer": st.booleans(),
        "use_dictionary": st.booleans(),
        "use_deprecated_int96_timestamps": st.booleans(),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
    },
)


@pytest.mark.parametrize("name", list(TYPES))
def test_statistics_are_what_a_scan_finds(name: str, tmp_path: Path) -> None:
    """Of every type and in every form of Parquet, the footers' rows, NULLs and bounds are those of the rows."""
    kind, values = TYPES[name]

    @FEW
    @given(files=st.lists(st.tuples(st.lists(st.none() | values, max_size=6), OPTIONS), min_size=1, max_size=3))
    def check(files: list[tuple[list[Any], dict[str, Any]]]) -> None:
        for old in tmp_path.rglob("*.parquet"):
            old.unlink()
        (tmp_path / "t").mkdir(exist_ok=True)
        for number, (column, options) in enumerate(files):
            table = pa.table({"a": pa.array([_fitting(kind, one) for one in column], kind)})
            try:
                pq.write_table(table, tmp_path / "t" / f"{number}.parquet", **options)
            except (pa.ArrowException, ValueError):
                return  # no such combination
        _compare(tmp_path)

    check()


def _compare(folder: Path) -> None:
    """That what is proven of column `a` is what its statement finds, in the same type."""
    asked = [RowCount(), Violations(("a",), NotNull()), Aggregate("min", ("a",)), Aggregate("max", ("a",))]
    relation = relation_of(folder)
    proven = prove(asked, relation, {})
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for metric, one in proven.items():
            assert one.sql is not None
            ((found,),) = connection.execute(one.sql).fetchall()
            assert (type(one.value), one.value) == (type(found), found), metric
            assert str(one.value) == str(found)
        statistics = relation.guarantees.statistics.get("a")
        if statistics is not None and statistics.minimum is not None:
            low, high = connection.execute(f"SELECT min(a), max(a) FROM {relation.sql}").fetchall()[0]
            assert statistics.minimum <= low
            assert statistics.maximum >= high


@QUICK
@given(table=tables(), data=st.lists(rows(), min_size=1, max_size=3))
def test_a_random_table_says_the_same_with_and_without_proofs(
    table: dict[str, Any], data: list[list[dict[str, Any]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is promised of files, proofs change no status, no number and no word."""
    folder = tmp_path_factory.mktemp("random")
    (folder / "t").mkdir()
    types = {
        "s": pa.string(), "i": pa.int64(), "d": pa.decimal128(18, 3), "f": pa.float64(),
        "o": pa.bool_(), "day": pa.date32(), "at": pa.timestamp("us"),
    }  # fmt: skip
    for number, part in enumerate(data):
        columns = {name: pa.array([_of_scale_3(row[name]) for row in part], kind) for name, kind in types.items()}
        pq.write_table(pa.table(columns), folder / "t" / f"{number}.parquet", row_group_size=3)
    same(contract_of(odcs(schema=[table])), folder)


def _of_scale_3(value: Any) -> Any:
    return value.quantize(Decimal("0.001")) if isinstance(value, Decimal) else value


def test_a_value_from_the_statistics_is_masked(tmp_path: Path) -> None:
    """A newest or oldest value of a sensitive column is not shown, wherever it came from."""
    copied(tmp_path, "SELECT TIMESTAMP '2025-12-31 12:34:56' AS c")
    fresh = {"slaProperties": [{"property": "freshness", "value": 2, "unit": "d", "element": "t.c"}]}
    column = "- {name: c, logicalType: timestamp, classification: restricted}"
    newest = result(same(contract_of(odcs(column, more=fresh)), tmp_path), "freshness", "c")
    assert newest.answered_by == "file statistics"
    assert "12:34" not in newest.description
