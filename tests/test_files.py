"""Files as people keep them: ragged rows, encodings, partitions, tables that are folders, object stores."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import pytest
from builders import contract_of, odcs, result, told

from contract_checks.errors import SourceError
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.sources.files import FileSource
from contract_checks.sources.object_stores import Credentials, folder_of, patterns, secret_statement, store_of

COLUMNS = """
- {name: a, logicalType: integer, required: true}
- {name: b, logicalType: string, quality: [{metric: nullValues, mustBe: 0}]}
"""


def check(source: Any, properties: Any = COLUMNS, quality: Any = (), **options: Any) -> Report:
    """The report on a source with a contract on table `t`."""
    return check_contract(contract_of(odcs(properties, quality)), source=source, **options)


# --------------------------------------------------------------------------- ragged rows


def test_rows_of_another_length_are_violations_with_their_lines(tmp_path: Path) -> None:
    """Short and long rows fail the checks of columns and types, with their lines; all others leave them out."""
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2\n3,y,z\n4,w\n")
    report = check(str(tmp_path), quality="[{metric: rowCount, mustBe: 2}]")
    types = result(report, "types")
    assert types.status == "failed"
    assert "2 rows have another number of cells than the first line (line 3, line 4)" in types.description
    assert types.rows == 2
    assert {one.check.rule for one in report.results if one.status != "passed"} == {"columns", "types"}, told(report)


def test_rows_of_another_length_are_never_passed_over(tmp_path: Path) -> None:
    """Where the check of types is not run, no other check gets a verdict."""
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2\n")
    report = check(str(tmp_path), checks=["schema__a__required"])
    assert [one.status for one in report.results] == ["errored"]
    assert "1 row has another number of cells than the first line (line 3)" in report.results[0].description


def test_rows_of_another_length_are_found_without_a_rule_on_values(tmp_path: Path) -> None:
    """A file whose columns may hold any text is read all the same."""
    (tmp_path / "t.csv").write_text("a\n1\n2,3\n")
    assert result(check(str(tmp_path), "[{name: a, logicalType: string}]"), "types").status == "failed"


def test_rows_of_another_length_fail_a_contract_without_types(tmp_path: Path) -> None:
    """Where nothing but the columns is promised, that is where such rows fail."""
    (tmp_path / "t.csv").write_text("a\n1\n2,3\n")
    assert result(check(str(tmp_path), "[{name: a}]"), "columns").status == "failed"


def test_queries_see_no_rows_of_another_length(tmp_path: Path) -> None:
    """A user's query counts the rows that have their cells."""
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2\n")
    report = check(str(tmp_path), quality="[{type: sql, query: 'SELECT count(*) FROM t', mustBe: 1}]")
    assert result(report, "sql").status == "passed", told(report)


def test_lines_of_several_files_name_the_file(tmp_path: Path) -> None:
    """With several files a line is told with its file, and headers in another order do not matter."""
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "1.csv").write_text("a,b\n1,x\n2\n")
    (folder / "2.csv").write_text("b,a\ny,1\ny,2,3\n")
    assert "(1.csv:3, 2.csv:3)" in result(check(str(tmp_path)), "types").description


def test_a_file_that_is_wrong_in_another_way_is_errored(tmp_path: Path) -> None:
    """Beside ragged rows, text that is not of the encoding leaves everything unevaluated."""
    (tmp_path / "t.csv").write_bytes(b"a,b\n1\n2,\xff\xfe\n")
    assert {one.status for one in check(str(tmp_path)).results if one.check.rule not in ("columns",)} == {"errored"}


# --------------------------------------------------------------------------- encodings and compression


@pytest.mark.parametrize("encoding", ["latin-1", "ISO-8859-1", "utf-16", "UTF8"])
def test_an_encoding_that_is_stated_is_used(encoding: str, tmp_path: Path) -> None:
    """Names and cells of a CSV file are read in the encoding of its server."""
    (tmp_path / "t.csv").write_bytes("a,größe\n1,müller\n".encode(encoding))
    server = {"server": "s", "type": "local", "path": str(tmp_path), "format": "csv", "encoding": encoding}
    rule = (
        "[{name: größe, logicalType: string, quality: [{metric: invalidValues, arguments: {validValues: [müller]}}]}]"
    )
    report = check_contract(contract_of(odcs(rule, servers=[server], api="v3.2.0")))
    assert {one.status for one in report.results} == {"passed"}, told(report)


def test_an_encoding_that_is_not_known_is_told(tmp_path: Path) -> None:
    """Another encoding is refused with those that are read."""
    with pytest.raises(SourceError, match="'ebcdic' cannot be read; known are utf-8, latin-1 and utf-16"):
        FileSource(tmp_path, encoding="ebcdic")


def test_a_file_in_another_encoding_than_stated_is_errored(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are no verdict on the data."""
    (tmp_path / "t.csv").write_bytes("a,b\n1,müller\n".encode("latin-1"))
    report = check(str(tmp_path))
    assert result(report, "nullValues", "b").status == "errored"


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz", "t.ndjson", "t.tsv"])
def test_endings_say_how_a_file_is_read(name: str, tmp_path: Path) -> None:
    """Compressed CSV, JSON lines and tab-separated files are read by their endings."""
    text = "a\tb\n1\tx\n" if "tsv" in name else "a,b\n1,x\n" if "csv" in name else '{"a": 1, "b": "x"}\n'
    data = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
    (tmp_path / name).write_bytes(data)
    assert {one.status for one in check(str(tmp_path)).results} == {"passed"}


# --------------------------------------------------------------------------- partitions


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_folders_name_columns(format: str, tmp_path: Path) -> None:
    """`year=2024` in a path is a column, of the type that the contract promises."""
    for year, month in ((2024, "01"), (2025, "02")):
        folder = tmp_path / "t" / f"year={year}" / f"month={month}"
        folder.mkdir(parents=True)
        duckdb.sql(f"COPY (SELECT 1 AS a) TO '{folder}/part.{format}'")
    properties = """
    - {name: a, logicalType: integer}
    - {name: year, logicalType: integer, logicalTypeOptions: {minimum: 2025}}
    - {name: month, logicalType: string, logicalTypeOptions: {pattern: '^0'}}
    """
    for location in (tmp_path, tmp_path / "t" / "*" / "*" / f"*.{format}"):
        report = check(str(location), properties)
        assert result(report, "types").status == "passed", told(report)
        assert result(report, "pattern", "month").status == "passed", told(report)
        assert result(report, "minimum", "year").measured == 1, told(report)


def test_folders_of_one_kind_only_are_partitions(tmp_path: Path) -> None:
    """Where not every file is in such a folder, the folders are no columns."""
    for folder in (tmp_path / "t" / "year=2024", tmp_path / "t"):
        folder.mkdir(parents=True, exist_ok=True)
        duckdb.sql(f"COPY (SELECT 1 AS a) TO '{folder}/part.parquet'")
    report = check(str(tmp_path), "[{name: a, logicalType: integer}, {name: year, logicalType: integer}]")
    assert result(report, "columns").status == "failed"


# --------------------------------------------------------------------------- tables that are folders


def test_a_delta_table_is_what_its_log_says(tmp_path: Path) -> None:
    """Files that the log of a Delta table no longer names are not read; partitions have their types."""
    deltalake = pytest.importorskip("deltalake")
    pyarrow = pytest.importorskip("pyarrow")
    table = tmp_path / "t"
    first = pyarrow.table({"a": [1, 2], "b": ["x", None], "day": ["1", "1"]})
    deltalake.write_deltalake(str(table), first, partition_by=["day"])
    deltalake.write_deltalake(str(table), pyarrow.table({"a": [3], "b": ["y"], "day": ["2"]}), mode="overwrite")
    properties = COLUMNS + "- {name: day, logicalType: string}\n"
    report = check(str(tmp_path), properties, "[{metric: rowCount, mustBe: 1}]")
    assert {one.status for one in report.results} == {"passed"}, told(report)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_table_without_a_reader_says_what_to_install(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing reads Delta or Iceberg, every check is errored with what to install."""
    monkeypatch.setitem(__import__("sys").modules, "deltalake", None)
    table = tmp_path / "t"
    (table / "_delta_log").mkdir(parents=True) if format == "delta" else (table / "metadata").mkdir(parents=True)
    if format == "iceberg":
        (table / "metadata" / "v1.metadata.json").write_text("{}")
    report = check(str(tmp_path))
    assert {one.status for one in report.results} == {"errored"}
    assert f"INSTALL {format}" in report.results[0].description


def test_plain_files_are_no_table(tmp_path: Path) -> None:
    """A server that says `delta` is not given Parquet files that lie about."""
    duckdb.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path}/t.parquet'")
    server = {"server": "s", "type": "local", "path": str(tmp_path), "format": "delta"}
    report = check_contract(contract_of(odcs(COLUMNS, servers=[server])))
    assert {one.status for one in report.results} == {"errored"}


# --------------------------------------------------------------------------- object stores


@pytest.mark.parametrize(
    ("location", "store", "folder"),
    [
        ("s3://bucket/sales/*.parquet", "s3", "s3://bucket/sales/"),
        ("s3a://bucket/{model}.csv", "s3", "s3a://bucket/"),
        ("gs://bucket/sales", "gcs", "gs://bucket/"),
        ("abfss://container@account.dfs.core.windows.net/a/", "azure", "abfss://container@account.dfs.core.windows.net/a/"),
        ("https://example.org/data/t.csv", "http", "https://example.org/data/"),
        ("/data/t.csv", None, "/data/"),
    ],
)  # fmt: skip
def test_urls_of_object_stores_are_known(location: str, store: str | None, folder: str) -> None:
    """The scheme says which store it is; only what lies below the fixed part of a location may be read."""
    assert store_of(location) == store
    assert folder_of(location) == folder


def test_files_in_a_bucket_are_looked_for_as_on_disk() -> None:
    """A dataset in a bucket is a file or folder of its name; a pattern or file stays what it is."""
    assert patterns("s3://b/x/", "parquet", "t")[0] == "s3://b/x/t.parquet"
    assert "s3://b/x/t/**/*.parquet" in patterns("s3://b/x", "parquet", "t")
    assert patterns("s3://b/{model}/*.csv", None, "t") == ["s3://b/t/*.csv"]
    assert patterns("s3://b/y.csv", None, "t") == ["s3://b/y.csv"]


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB is given the keys of the environment, for this bucket alone; without any it asks without."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    assert secret_statement("s3://b/x/*.parquet", Credentials()) == ""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "it's")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert secret_statement("s3://b/x/*.parquet", Credentials()) == (
        "CREATE SECRET contract_checks (TYPE s3, KEY_ID 'id', SECRET 'it''s', REGION 'eu-central-1', SCOPE 's3://b')"
    )


def test_an_endpoint_speaks_as_s3_does() -> None:
    """A service of one's own is reached by its address, with buckets as paths, and without TLS if it says so."""
    statement = secret_statement("s3://b/x", Credentials("id", "secret", endpoint="http://minio:9000"))
    assert "ENDPOINT 'minio:9000', URL_STYLE 'path', USE_SSL false" in statement


def test_azure_is_opened_by_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account and its key, or a connection string of the environment, open Azure's store."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=x")
    assert "CONNECTION_STRING 'AccountName=x'" in secret_statement("az://c/x", Credentials())
    assert "AccountName=me;AccountKey=k" in secret_statement("az://c/x", Credentials("me", "k"))


def test_credentials_are_not_shown() -> None:
    """Keys are in no text about them."""
    assert "hidden" not in repr(Credentials("hidden", "hidden"))


def test_a_store_without_its_extension_says_what_to_install() -> None:
    """Where DuckDB cannot reach an object store, every check is errored with what to install."""
    try:
        duckdb.connect().execute("LOAD httpfs")
        pytest.skip("the extension is installed here")
    except duckdb.Error:
        pass
    server = {"server": "s", "type": "s3", "location": "s3://bucket/t.parquet"}
    report = check_contract(contract_of(odcs(COLUMNS, servers=[server])))
    assert {one.status for one in report.results} == {"errored"}
    assert "duckdb -c 'INSTALL httpfs'" in report.results[0].description


def test_a_document_may_leave_out_what_is_not_required(tmp_path: Path) -> None:
    """In JSON files a property that is neither required nor a key may be absent from every document."""
    (tmp_path / "t.json").write_text('{"id": 1}\n{"id": 2}\n')
    properties = """
    - {name: id, logicalType: integer, primaryKey: true}
    - {name: note, logicalType: string, unique: true, logicalTypeOptions: {minLength: 2}}
    - {name: place, logicalType: object, properties: [{name: zip, logicalType: string, required: true}]}
    """
    kept = check_contract(contract_of(odcs(properties)), source=str(tmp_path))

    assert kept.exit_code == 0, told(kept)
    assert result(kept, "columns").description == (
        "Every column that must be there is; note, place, place.zip may be absent, and are."
    )
    assert {one.check.rule for one in kept.results if one.status == "skipped"} == {"unique", "minLength", "required"}

    for promise in ("required: true", "primaryKey: true"):
        broken = check_contract(
            contract_of(odcs(f"{properties}\n    - {{name: other, logicalType: string, {promise}}}")),
            source=str(tmp_path),
        )
        assert result(broken, "columns").status == "failed", told(broken)
