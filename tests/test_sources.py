"""Where data lives: files, databases, servers of contracts; and what a contract cannot make them do."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy
from builders import contract_of, odcs, result, told
from databases import Postgres, Put, Rows, csv_file, duckdb_file, parquet_file, sqlite_file

from contract_checks.checks import plan
from contract_checks.errors import MissingDriverError, ServerError, SourceError
from contract_checks.model import Contract
from contract_checks.results import Report
from contract_checks.run import check_contract, check_dataset
from contract_checks.sources import resolve

SERVICE = pytest.param("postgres", marks=pytest.mark.service)
POSITIVE = [{"name": "a", "logicalType": "integer", "logicalTypeOptions": {"minimum": 0}}]
ROWS = Rows("SELECT * FROM (VALUES (1), (-1), (2)) v(a)")


def positive(**server: Any) -> Contract:
    """A contract whose one rule three rows break once, with one server if any is given."""
    servers = [{"server": "here", **server}] if server else []
    return contract_of(odcs(POSITIVE, servers=servers))


def counted(report: Report) -> Any:
    """What the rule of `positive` measured."""
    return result(report, "minimum", "a").measured


# --------------------------------------------------------------------------- files


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json", "jsonl"])
def test_a_folder_of_files_is_a_source(suffix: str, tmp_path: Path) -> None:
    """A folder, and a single file, of Parquet, CSV or JSON is judged as it is."""
    path = tmp_path / f"t.{suffix}"
    if suffix == "jsonl":
        path.write_text('{"a": 1}\n{"a": -1}\n{"a": 2}\n')
    elif suffix == "json":
        path.write_text('[{"a": 1}, {"a": -1}, {"a": 2}]')
    else:
        duckdb.sql(ROWS.select).write_parquet(str(path)) if suffix == "parquet" else csv_file(tmp_path, ROWS)
    for source in (tmp_path, path):
        report = check_contract(positive(), source=str(source))
        assert counted(report) == 1, told(report)
        assert {one.status for one in report.results if one.check.rule != "minimum"} == {"passed"}, told(report)


def test_a_cell_that_does_not_parse_breaks_its_column_only(tmp_path: Path) -> None:
    """A CSV cell that is not of its type fails the type of that column; its other cells are judged still."""
    (tmp_path / "t.csv").write_text("a,b,c\n1,2024-01-01,x\ntwo,2024-02-30,y\n-3,,z\n")
    columns = [
        {"name": "a", "logicalType": "integer", "required": True, "logicalTypeOptions": {"minimum": 0}},
        {"name": "b", "logicalType": "date"},
        {"name": "c", "logicalType": "string", "unique": True},
    ]
    report = check_contract(contract_of(odcs(columns)), source=str(tmp_path))
    types = result(report, "types")
    assert {line.column: line.ok for line in types.details} == {"a": False, "b": False, "c": True}, told(report)
    assert result(report, "minimum", "a").measured == 1, told(report)
    assert result(report, "required", "a").status == "passed", told(report)
    assert result(report, "unique", "c").status == "passed"


def test_csv_keeps_an_empty_text_apart_from_null(tmp_path: Path) -> None:
    """A quoted empty cell is an empty text, an unquoted one is NULL."""
    (tmp_path / "t.csv").write_text('a,b\n"",1\n,2\nx,3\n')
    rules = [
        {"id": "null", "metric": "nullValues", "mustBe": 1},
        {"id": "empty", "metric": "missingValues", "arguments": {"missingValues": [""]}, "mustBe": 1},
    ]
    columns = [{"name": "a", "logicalType": "string", "quality": rules}, {"name": "b", "logicalType": "integer"}]
    report = check_contract(contract_of(odcs(columns)), source=str(tmp_path))
    assert [result(report, key, "a").measured for key in ("null", "empty")] == [1, 1], told(report)


def test_json_types_are_those_of_json(tmp_path: Path) -> None:
    """A number in quotes is no integer, and a key that is absent is NULL."""
    (tmp_path / "t.jsonl").write_text('{"a": "1", "b": 1}\n{"b": 2}\n')
    columns = [{"name": "a", "logicalType": "integer", "required": True}, {"name": "b", "logicalType": "integer"}]
    report = check_contract(contract_of(odcs(columns)), source=str(tmp_path))
    assert {line.column: line.ok for line in result(report, "types").details} == {"a": False, "b": True}, told(report)
    assert result(report, "required", "a").measured == 1, told(report)


def test_integers_beyond_doubles_stay_exact(tmp_path: Path) -> None:
    """2^53 and 2^53 + 1 are two keys, in every kind of file."""
    rows = Rows("SELECT unnest([9007199254740992, 9007199254740993]::BIGINT[]) AS a")
    column = {"name": "a", "logicalType": "integer", "unique": True, "logicalTypeOptions": {"maximum": 2**53}}
    (tmp_path / "j").mkdir()
    (tmp_path / "j" / "t.jsonl").write_text('{"a": 9007199254740992}\n{"a": 9007199254740993}\n')
    for source in (
        csv_file(tmp_path, rows),
        sqlite_file(tmp_path, rows),
        duckdb_file(tmp_path, rows),
        str(tmp_path / "j"),
    ):
        report = check_contract(contract_of(odcs([column])), source=source)
        assert result(report, "unique", "a").status == "passed", told(report)
        assert result(report, "maximum", "a").measured == 1, told(report)


def test_files_of_one_dataset_are_matched_by_their_column_names(tmp_path: Path) -> None:
    """Several CSV files are one table by the names of their columns, not by their order."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "1.csv").write_text("a,b\n1,x\n")
    (tmp_path / "t" / "2.csv").write_text("b,a\ny,-1\n")
    columns = [*POSITIVE, {"name": "b", "logicalType": "string", "required": True}]
    report = check_contract(contract_of(odcs(columns)), source=str(tmp_path))
    told_apart = counted(report) == 1 and result(report, "types").status == "passed"
    refused = {one.status for one in report.results} == {"errored"}
    assert told_apart or refused, told(report)


@pytest.mark.parametrize("delimiter", ["||", "", "ab", "tab"])
def test_any_delimiter_is_no_crash(delimiter: str, tmp_path: Path) -> None:
    """A delimiter that cannot be one is told; it is no crash."""
    separator = "\t" if delimiter == "tab" else delimiter or ","
    (tmp_path / "t.csv").write_text(f"a{separator}b\n-1{separator}x\n")
    columns = [*POSITIVE, {"name": "b", "logicalType": "string"}]
    server = {"server": "s", "type": "local", "path": f"{tmp_path}/t.csv", "format": "csv", "delimiter": delimiter}
    report = check_contract(contract_of(odcs(columns, servers=[server])))
    assert {one.status for one in report.results} == {"errored"} or counted(report) == 1, told(report)


def test_a_contract_cannot_step_out_of_the_folder_of_its_source(tmp_path: Path) -> None:
    """The name of a dataset is no way to a file outside the folder the source stands for."""
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret.csv").write_text("hidden_header\nhidden_value\n")
    for name in ("../secret", f"{tmp_path}/secret", "x/../../secret"):
        document = odcs([{"name": "a", "logicalType": "string"}], name="t").replace(
            '"physicalName": "t"', f'"physicalName": "{name}"'
        )
        for location in (f"{tmp_path}/inside", f"{tmp_path}/inside/{{table}}.csv"):
            try:
                report = check_contract(contract_of(document), source=location)
            except SourceError:
                continue
            assert {one.status for one in report.results} == {"errored"}, told(report)
            assert "hidden" not in told(report)


CELLS = {
    "date": (
        ["2020-02-29", "1969-12-31", "9999-12-31"],
        ["2020-02-30", "2020-1-1", "20200101", "01.01.2020", "2020-01-02T00:00:00", "now", "12:00", "x"],
    ),
    "timestamp": (
        ["2020-01-01 00:00:00", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5+01:00", "2020-01-01"],
        ["2020-01-01T25:00:00", "2020-02-30 00:00:00", "2020-W01-1", "20200101", "2020-001", "now", "x", "12:00:00"],
    ),
    "time": (["12:00:00", "23:59:59.5", "00:00"], ["25:00:00", "noon", "2020-01-01 12:00:00", "1200"]),
}


@pytest.mark.parametrize("logical", CELLS)
@pytest.mark.parametrize("place", ["csv", "json", "sqlite"])
def test_cells_without_a_type_are_judged_alike(place: str, logical: str, put: Put, tmp_path: Path) -> None:
    """What is a date, a timestamp or a time is the same in CSV, JSON and SQLite, where only the cells tell."""
    good, bad = CELLS[logical]
    columns = [{"name": "a", "logicalType": logical}, {"name": "n", "logicalType": "integer"}]
    for cells, wrong in ((good, False), *(([one], True) for one in bad)):
        if place == "sqlite":
            (tmp_path / "t.sqlite").unlink(missing_ok=True)
            with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database, database:
                database.execute(f"CREATE TABLE t (a {logical.upper()}, n INTEGER)")
                database.executemany("INSERT INTO t VALUES (?, 1)", [(cell,) for cell in cells])
            database.close()
            source = f"sqlite:///{tmp_path}/t.sqlite"
        else:
            lines = {"csv": "a,n\n" + "".join(f"{cell},1\n" for cell in cells)}
            lines["json"] = "".join(json.dumps({"a": cell, "n": 1}) + "\n" for cell in cells)
            source = str(tmp_path / f"t.{place}")
            Path(source).write_text(lines[place])
        types = result(check_contract(contract_of(odcs(columns)), source=source), "types")
        assert types.status == ("failed" if wrong else "passed"), f"{cells}: {types.description}"


@pytest.mark.parametrize("place", ["csv", "sqlite"])
def test_the_newest_of_texts_is_the_newest_instant(place: str, put: Put) -> None:
    """Freshness compares the instants that texts stand for, whatever their offsets."""
    texts = "['2024-01-09T12:00:00Z', '2024-01-09T14:00:00+05:00', '2024-01-01T00:00:00Z']"
    sla = {"slaProperties": [{"property": "freshness", "value": 1, "unit": "d", "element": "t.a"}]}
    contract = contract_of(odcs([{"name": "a", "logicalType": "timestamp"}], more=sla))
    report = check_contract(
        contract, source=put(place, f"SELECT unnest({texts}) AS a"), now=datetime(2024, 1, 10, 12, tzinfo=UTC)
    )
    fresh = result(report, "freshness", "a")
    assert (fresh.status, fresh.measured) == ("passed", 86400), told(report)


# --------------------------------------------------------------------------- servers of a contract


def test_a_duckdb_server_resolves(tmp_path: Path) -> None:
    """A server of type duckdb names a database file."""
    duckdb_file(tmp_path, ROWS)
    report = check_contract(positive(type="duckdb", database=str(tmp_path / "warehouse.duckdb"), schema="main"))
    assert counted(report) == 1, told(report)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_local_server_resolves(suffix: str, tmp_path: Path) -> None:
    """A server of type local names a file, with `{model}` for the dataset's name if it likes."""
    parquet_file(tmp_path, ROWS)
    csv_file(tmp_path, ROWS)
    for path in (f"{tmp_path}/{{model}}.{suffix}", f"{tmp_path}/t.{suffix}", f"{tmp_path}/*.{suffix}"):
        report = check_contract(positive(type="local", path=path, format=suffix))
        assert counted(report) == 1, told(report)


def test_a_relative_path_is_relative_to_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path of a server is found beside the contract, or in the working directory."""
    (tmp_path / "contracts").mkdir()
    csv_file(tmp_path, ROWS)
    server = {"server": "s", "type": "local", "path": "t.csv", "format": "csv"}
    (tmp_path / "contracts" / "t.odcs.yaml").write_text(odcs(POSITIVE, servers=[server]))
    monkeypatch.chdir(tmp_path)
    assert counted(check_contract("contracts/t.odcs.yaml")) == 1


@pytest.mark.service
def test_a_postgres_server_takes_its_user_from_the_environment(
    postgres: Postgres, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of type postgres takes user and password from variables named after it."""
    postgres.load(postgres_database, ROWS)
    contract = positive(type="postgres", host=postgres.host, port=5432, database=postgres_database, schema="public")
    monkeypatch.setenv("CONTRACT_CHECKS_HERE_USERNAME", "postgres")
    monkeypatch.setenv("CONTRACT_CHECKS_HERE_PASSWORD", "not-@needed:here/")
    report = check_contract(contract)
    assert counted(report) == 1, told(report)
    assert "not-@needed" not in json.dumps(report.to_dict())


@pytest.mark.service
def test_another_schema_of_a_postgres_server(
    postgres: Postgres, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The schema of a server is where its tables are looked for, also by the queries of the contract."""
    with postgres.connect(postgres_database) as connection:
        connection.execute('CREATE SCHEMA "Sales"')
        connection.execute('CREATE TABLE "Sales".t AS SELECT * FROM (VALUES (1), (-1), (2)) v(a)')
    rule = {"id": "count", "type": "sql", "query": "SELECT count(*) FROM t", "mustBe": 3}
    server = {"server": "here", "type": "postgres", "host": postgres.host, "port": 5432}
    server |= {"database": postgres_database, "schema": "Sales"}
    monkeypatch.setenv("CONTRACT_CHECKS_HERE_USERNAME", "postgres")
    report = check_contract(contract_of(odcs(POSITIVE, [rule], servers=[server])))
    assert counted(report) == 1, told(report)
    assert result(report, "count").status == "passed", told(report)


def test_a_url_in_the_environment_replaces_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CONTRACT_CHECKS_<SERVER>_URL stands for the whole server."""
    monkeypatch.setenv("CONTRACT_CHECKS_HERE_URL", sqlite_file(tmp_path, ROWS))
    report = check_contract(positive(type="postgres", host="nowhere.invalid", port=1, database="x", schema="y"))
    assert counted(report) == 1, told(report)


def _two_servers(tmp_path: Path) -> Contract:
    duckdb_file(tmp_path, ROWS)
    servers: list[Mapping[str, Any]] = [
        {"server": "prod", "type": "duckdb", "database": str(tmp_path / "nothing.duckdb"), "environment": "production"},
        {"server": "dev", "type": "duckdb", "database": str(tmp_path / "warehouse.duckdb"), "environment": "test"},
    ]
    return contract_of(odcs(POSITIVE, servers=servers))


def test_one_of_several_servers_is_named(tmp_path: Path) -> None:
    """Of several servers the named one is used; its environment names it as well."""
    contract = _two_servers(tmp_path)
    assert counted(check_contract(contract, server="dev")) == 1
    assert counted(check_contract(contract, server="test")) == 1


def test_several_servers_without_a_name_are_listed(tmp_path: Path) -> None:
    """Several servers and no name is an error that lists them."""
    with pytest.raises(ServerError, match=r"(?s)prod.*dev"):
        resolve(_two_servers(tmp_path))


def test_an_unknown_server_is_told_with_the_known_ones(tmp_path: Path) -> None:
    """A server that is not there is an error that lists those that are."""
    with pytest.raises(ServerError, match=r"(?s)staging.*prod.*dev"):
        resolve(_two_servers(tmp_path), server="staging")


def test_no_server_and_no_source_says_what_to_do() -> None:
    """A contract without a server needs a source, and the error says so."""
    with pytest.raises(ServerError, match="source"):
        resolve(positive())


def test_an_unknown_type_of_server_is_told() -> None:
    """A type of server that cannot be asked is named."""
    with pytest.raises(ServerError, match="kinesis"):
        resolve(positive(type="kinesis", stream="x", region="y", format="json"))


def test_a_missing_driver_names_its_install_line() -> None:
    """A driver that is not installed is an error with the line that installs it, also in the report."""
    server = positive(type="mysql", host="localhost", port=3306, database="x")
    for contract, source in ((server, None), (positive(), "snowflake://user@account/db")):
        with pytest.raises(MissingDriverError, match=r"pip install .*\[(mysql|snowflake)\]"):
            check_dataset(plan(contract).datasets[0], resolve(contract, source=source))
        report = check_contract(contract, source=source)
        assert {one.status for one in report.results} == {"errored"}
        assert "pip install" in told(report)


def test_an_engine_is_a_source(tmp_path: Path) -> None:
    """An Engine that exists already is used as it is, and stays usable."""
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.StaticPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1), (-1)")
    assert counted(check_contract(positive(), source=engine)) == 1
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (-2)")
    assert counted(check_contract(positive(), source=engine)) == 2
    engine.dispose()


# --------------------------------------------------------------------------- the embedded warehouse

READER = """
import sys
from contract_checks.run import check_contract, check_dataset
report = check_contract(sys.argv[1], source=sys.argv[2])
print([(one.check.name, one.status, one.description) for one in report.results])
sys.exit(report.exit_code)
"""
WRITER = """
import duckdb, sys, time
connection = duckdb.connect(sys.argv[1])
print("locked", flush=True)
time.sleep(float(sys.argv[2]))
connection.execute("INSERT INTO t VALUES (-9)")
connection.close()
"""


def _start(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=Path(__file__).parents[1]
    )


def test_two_processes_read_one_duckdb_file(tmp_path: Path) -> None:
    """Two runs at once on one DuckDB file both end with their verdicts."""
    source = duckdb_file(tmp_path, ROWS)
    (tmp_path / "t.odcs.yaml").write_text(odcs(POSITIVE))
    with duckdb.connect(str(tmp_path / "warehouse.duckdb"), read_only=True):
        readers = [_start(READER, str(tmp_path / "t.odcs.yaml"), source) for _ in range(2)]
        for reader in readers:
            output, _ = reader.communicate(timeout=60)
            assert reader.returncode == 1, output


def test_a_writer_is_waited_for(tmp_path: Path) -> None:
    """While another process writes, a reader waits, and then judges what was written."""
    source = duckdb_file(tmp_path, ROWS)
    writer = _start(WRITER, str(tmp_path / "warehouse.duckdb"), "1.5")
    assert writer.stdout is not None
    assert writer.stdout.readline().strip() == "locked"
    report = check_contract(positive(), source=source)
    writer.wait(timeout=30)
    writer.stdout.close()
    assert counted(report) == 2, told(report)


def test_a_writer_that_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that is not let go makes the checks errored, with a message about the other process."""
    monkeypatch.setattr("contract_checks.sources.database.LOCK_TIMEOUT", 1)
    source = duckdb_file(tmp_path, ROWS)
    writer = _start(WRITER, str(tmp_path / "warehouse.duckdb"), "30")
    assert writer.stdout is not None
    assert writer.stdout.readline().strip() == "locked"
    try:
        report = check_contract(positive(), source=source)
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    assert {one.status for one in report.results} == {"errored"}, told(report)
    assert "another process" in told(report)


def test_a_file_that_this_process_writes_is_judged_or_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DuckDB file that this very process has open to write is judged, or errored with the reason; never a hang."""
    monkeypatch.setattr("contract_checks.sources.database.LOCK_TIMEOUT", 1)
    source = duckdb_file(tmp_path, ROWS)
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")):
        report = check_contract(positive(), source=source)
        errored = {one.status for one in report.results} == {"errored"}
        assert errored or counted(report) == 1, told(report)
        assert not errored or "this process" in told(report)
    assert counted(check_contract(positive(), source=source)) == 1


# --------------------------------------------------------------------------- secrets

SECRET = "hunter2-s3cret"


@pytest.mark.parametrize("place", ["duckdb", "parquet", "csv", "sqlite", SERVICE])
def test_sensitive_values_are_masked(place: str, put: Put) -> None:
    """A value of a sensitive column is in no sample, description or detail, whatever rule it broke."""
    rows = Rows(f"SELECT '{SECRET}' AS a, -1 AS b UNION ALL SELECT '{SECRET}', 2 UNION ALL SELECT NULL, -3")
    columns = [
        {
            "name": "a",
            "logicalType": "string",
            "classification": "restricted",
            "unique": True,
            "required": True,
            "logicalTypeOptions": {"maxLength": 3, "pattern": "^(?!hunter).*$", "format": "email"},
            "quality": [{"metric": "invalidValues", "arguments": {"validValues": ["x"]}, "mustBe": 0}],
        },
        {"name": "b", "logicalType": "integer", "logicalTypeOptions": {"minimum": 0}},
    ]
    own = {"id": "own", "type": "sql", "query": "SELECT max(a) FROM t", "mustBe": 0}
    cast = {"id": "cast", "type": "sql", "query": "SELECT max(CAST(a AS INTEGER)) FROM t", "mustBe": 0}
    report = check_contract(contract_of(odcs(columns, [own, cast])), source=put(place, rows))
    assert result(report, "maxLength", "a").measured == 2, told(report)
    assert SECRET not in json.dumps(report.to_dict()), told(report)
    assert SECRET not in repr([one for one in report.results if one.check.id != "own"])
    shown = result(report, "minimum", "b").sample
    assert shown is not None, told(report)


@pytest.mark.parametrize("typed", [True, False])
def test_a_row_that_cannot_be_read_is_told_without_its_cells(typed: bool, tmp_path: Path) -> None:
    """A CSV row with too many cells is told by its line, whatever the contract promises, and not by its cells."""
    (tmp_path / "t.csv").write_text(f"a,b\nx,1\n{SECRET},2,{SECRET}\n")
    columns: list[dict[str, Any]] = [
        {"name": "a", "classification": "restricted", "required": True},
        {"name": "b", "required": True},
    ]
    if typed:
        columns = [{**columns[0], "logicalType": "string"}, {**columns[1], "logicalType": "integer"}]
    report = check_contract(contract_of(odcs(columns)), source=str(tmp_path))
    assert report.exit_code != 0, told(report)
    assert re.search(r"line 3\b", told(report), re.IGNORECASE), told(report)
    assert SECRET not in json.dumps(report.to_dict())
    assert {one.measured for one in report.results if one.status == "errored"} <= {None}


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql+psycopg://user:{SECRET}@127.0.0.1:1/db",
        f"postgresql+psycopg://user@127.0.0.1:1/db?password={SECRET}",
        f"snowflake://user:{SECRET}@account/db",
        f"nonsense://user:{SECRET}@host/db",
        f"postgresql+psycopg://user:{SECRET}@127.0.0.1:not-a-port/db",
    ],
)
def test_a_password_is_in_no_message(url: str) -> None:
    """Whatever goes wrong with a URL, its password is not told."""
    said = []
    try:
        source = resolve(positive(), source=url)
        said += [repr(source), source.name]
    except SourceError as error:
        said += [str(error), repr(error), str(error.__cause__)]
    try:
        report = check_contract(positive(), source=url)
        said.append(json.dumps(report.to_dict()))
        assert {one.status for one in report.results} == {"errored"}
    except SourceError as error:
        said.append(str(error))
    assert [text for text in said if SECRET in text] == []
