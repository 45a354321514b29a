"""Data in memory as a source: pandas, polars and Arrow, judged as they are."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from builders import contract_of, odcs, result, told

from contract_checks.errors import SourceError
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.sources.memory import FrameSource, is_frame, settled

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

COLUMNS = """
- {name: id, logicalType: integer, required: true, unique: true}
- {name: price, logicalType: number, required: true, logicalTypeOptions: {minimum: 0}}
- {name: note, logicalType: string, quality: [{metric: nullValues, mustBe: 1}]}
- {name: day, logicalType: date}
"""
QUERY = "[{id: total, type: sql, query: 'SELECT SUM(id) FROM t', mustBe: 6}]"
CONTRACT = contract_of(odcs(COLUMNS, QUERY))
ROWS: dict[str, list[Any]] = {
    "id": [1, 2, 3],
    "price": [1.5, 2.5, 3.5],
    "note": ["a", None, "c"],
    "day": pa.array(["2024-01-01", "2024-02-29", None]).cast(pa.date32()).to_pylist(),
}


class Streamed:
    """Something that gives its rows away by Arrow's protocol and is nothing else."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


MAKERS: dict[str, Any] = {
    "pandas": lambda rows: pd.DataFrame(rows),
    "pandas with arrow": lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda rows: pl.DataFrame(rows),
    "polars lazy": lambda rows: pl.LazyFrame(rows),
    "arrow": lambda rows: pa.table(rows),
    "arrow batch": lambda rows: pa.RecordBatch.from_pydict(rows),
    "arrow reader": lambda rows: pa.table(rows).to_reader(),
    "stream": lambda rows: Streamed(pa.table(rows)),
}


def check(frame: Any, contract: Any = CONTRACT) -> Report:
    return check_contract(contract, source=FrameSource(frame))


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_frame_is_read(kind: str) -> None:
    """The same rows get the same verdicts, whatever library holds them."""
    frame = MAKERS[kind](ROWS)
    report = check(frame)

    assert is_frame(frame)
    assert report.status == "compliant", told(report)
    assert report.datasets[0].row_count == 3


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_frame_breaks_its_promises(kind: str) -> None:
    """A null, a duplicate and a negative number are found in each of them."""
    report = check(MAKERS[kind]({**ROWS, "id": [1, 1, 4], "price": [None, -1.0, 2.0]}))
    failed = {one.check.name for one in report.results if one.status == "failed"}

    assert failed == {"schema__id__unique", "schema__price__required", "schema__price__minimum"}, told(report)


def test_nan_is_missing_for_pandas_and_a_number_for_others() -> None:
    """NaN of a pandas column is a missing value, as pandas means it; elsewhere it is a number out of bounds."""
    rows = {**ROWS, "price": [1.0, float("nan"), 2.0]}

    assert result(check(pd.DataFrame(rows)), "required", "price").status == "failed"
    assert result(check(pd.DataFrame(rows)), "minimum", "price").status == "passed"
    assert result(check(pa.table(rows)), "required", "price").status == "passed"
    assert result(check(pa.table(rows)), "minimum", "price").status == "failed"


def test_decimals_stay_exact() -> None:
    """A decimal in memory is compared as the decimal it is."""
    contract = contract_of(odcs("[{name: d, logicalType: number, logicalTypeOptions: {maximum: 0.1}}]"))
    over = [Decimal("0.10"), Decimal("0.1000000000000000000001")]

    assert result(check(pd.DataFrame({"d": over}), contract), "maximum", "d").measured == 1
    assert result(check(pd.DataFrame({"d": over[:1]}), contract), "maximum", "d").status == "passed"


def test_the_index_is_no_column() -> None:
    """The index of a DataFrame is not among its columns."""
    report = check(pd.DataFrame(ROWS).set_index("id"))

    assert result(report, "columns").status == "failed"


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"a": [1, "x"]}), "cannot be read as Arrow"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Duplicate column names"),
        (pa.table({"a": [1], "A": [2]}), "cannot be told apart"),
        (pl.DataFrame({"a": [object()]}), "cannot be read as Arrow"),
    ],
    ids=["mixed", "twice", "by case", "objects"],
)
def test_what_has_no_type_is_refused(frame: Any, words: str) -> None:
    """Data that is no table of typed, named columns is an error that says why, not a guess."""
    with pytest.raises(SourceError, match=words):
        FrameSource(frame)


def test_a_query_sees_nothing_but_the_data() -> None:
    """SQL of a contract finds the data by the dataset's name, and neither files nor variables of the process."""
    secret = pd.DataFrame({"x": [1]})
    asked = ["SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM secret", "SELECT COUNT(*) FROM '/etc/passwd'"]
    rules = [{"id": f"q{number}", "type": "sql", "query": one, "mustBe": 3} for number, one in enumerate(asked)]
    report = check(pd.DataFrame(ROWS), contract_of(odcs(COLUMNS, rules)))

    assert secret is not None
    assert [result(report, f"q{number}").status for number in range(3)] == ["passed", "errored", "errored"]


def test_a_frame_stands_for_one_dataset() -> None:
    """Of a contract with several datasets the data is the named one, and the others are not taken for it."""
    tables = [
        {"name": name, "properties": [{"name": "id", "logicalType": "integer", "required": True}]} for name in "tu"
    ]
    contract = contract_of(odcs(schema=tables))
    report = check_contract(contract, source=FrameSource(pa.table({"id": [1]}), "u"))
    status = {one.name: {each.status for each in one.results} for one in report.datasets}

    assert status == {"t": {"errored"}, "u": {"passed"}}


def test_data_that_is_read_once_is_settled() -> None:
    """A LazyFrame is collected and a reader read once, so that what is checked is what is kept."""
    lazy = settled(pl.LazyFrame(ROWS))
    read = settled(pa.table(ROWS).to_reader())

    assert (type(lazy).__name__, lazy.height) == ("DataFrame", 3)
    assert (type(read).__name__, read.num_rows) == ("Table", 3)


def test_numbers_are_not_copied() -> None:
    """The Arrow buffers that are scanned are those that the library holds."""
    frame = pl.DataFrame({"id": [1, 2, 3]})
    table = pa.table({"id": [1, 2, 3]})

    assert FrameSource(table).table is table
    assert FrameSource(frame).table["id"].chunk(0).buffers()[1].address == frame["id"].to_arrow().buffers()[1].address


@pytest.mark.parametrize("other", [5, "text", [1, 2], {"a": [1]}, None])
def test_anything_else_is_no_frame(other: Any) -> None:
    """Lists, dictionaries and scalars are not taken for tables."""
    assert not is_frame(other)


def test_a_column_without_a_value_is_of_any_type() -> None:
    """A column that is null throughout has no type of its own to hold against the promised one."""
    columns = (
        "[{name: s, logicalType: string}, {name: d, logicalType: date, logicalTypeOptions: {minimum: 2020-01-01}}]"
    )
    report = check(pd.DataFrame({"s": [None, None], "d": [None, None]}), contract_of(odcs(columns)))

    assert {one.status for one in report.results} == {"passed"}, told(report)
