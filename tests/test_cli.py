"""`contract-checks` as a stranger uses it: real files, real data, exit codes, what is printed where."""

from __future__ import annotations

import json
import os
import pty
import socket
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import duckdb
import pytest
from click.testing import CliRunner, Result

from contract_checks.cli import commands, main

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: orders-contract
name: orders
version: 1.0.0
status: active
servers:
  - server: local
    type: duckdb
    database: warehouse.duckdb
schema:
  - name: orders
    physicalName: orders
    properties:
      - name: id
        logicalType: integer
        required: true
        unique: true
      - name: amount
        logicalType: number
        quality:
          - metric: nullValues
            id: few_nulls
            mustBeLessOrEqualTo: 0
            severity: SEVERITY
"""
GOOD = "SELECT i AS id, i / 2.0 AS amount FROM range(5) t(i)"
NULL_AMOUNT = "SELECT i AS id, CASE WHEN i <> 3 THEN i / 2.0 END AS amount FROM range(5) t(i)"
SQL_RULE = """\
    quality:
      - id: own_query
        type: sql
        query: QUERY
        mustBe: 0
"""
CHECKS = [
    "schema__columns",
    "schema__types",
    "schema__id__required",
    "schema__id__unique",
    "quality__amount__few_nulls",
]


@dataclass(frozen=True)
class Desk:
    """A folder with contracts and data, and the command line beside it."""

    folder: Path

    def contract(self, text: str = "", name: str = "orders.odcs.yaml", severity: str = "error") -> str:
        """Write a contract and return its path."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text or CONTRACT.replace("SEVERITY", severity), encoding="utf-8")
        return str(file)

    def duckdb(self, query: str = GOOD, table: str = "orders") -> str:
        """Make a DuckDB file with one table and return its URL."""
        file = self.folder / "warehouse.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.execute(f"CREATE OR REPLACE TABLE {table} AS {query}")
        return f"duckdb:///{file}"

    def run(self, *arguments: str) -> Result:
        """Run the command line in this process."""
        return CliRunner().invoke(commands, arguments)

    def json(self, *arguments: str) -> Any:
        """What `--json` prints on stdout."""
        return json.loads(self.run(*arguments, "--json").stdout)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty folder."""
    return Desk(tmp_path)


def statuses(report: dict[str, Any]) -> dict[str, str]:
    """Every check of a report with its outcome."""
    return {check["name"]: check["status"] for dataset in report["datasets"] for check in dataset["checks"]}


# --------------------------------------------------------------------------- exit codes and outcomes


def test_all_passed_is_0(desk: Desk) -> None:
    """Data that keeps its contract ends with 0."""
    result = desk.run("test", desk.contract(), "--source", desk.duckdb())
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_warning_is_0(desk: Desk) -> None:
    """A failed check of severity warning is shown and does not fail the command."""
    result = desk.run("test", desk.contract(severity="warning"), "--source", desk.duckdb(NULL_AMOUNT))
    assert result.exit_code == 0
    assert "failed   warning  quality__amount__few_nulls" in result.stdout


def test_a_failed_check_is_1(desk: Desk) -> None:
    """A failed check of severity error ends with 1."""
    result = desk.run("test", desk.contract(), "--source", desk.duckdb(NULL_AMOUNT))
    assert result.exit_code == 1
    assert "failed   error    quality__amount__few_nulls" in result.stdout


def test_a_missing_table_is_2_and_every_check_errored(desk: Desk) -> None:
    """What could not be looked at has not passed, and the table is named."""
    report = desk.json("test", desk.contract(), "--source", desk.duckdb(table="other"))
    assert set(statuses(report).values()) == {"errored"}
    assert report["status"] == "not_evaluated"
    assert report["score"] is None
    assert all("orders" in check["description"] for check in report["datasets"][0]["checks"])
    assert desk.run("test", desk.contract(), "--source", desk.duckdb(table="other")).exit_code == 2


def test_a_missing_column_spoils_only_its_own_checks(desk: Desk) -> None:
    """The schema check fails, the column's checks are errored, the others keep their verdicts."""
    source = desk.duckdb("SELECT 1 AS id")
    result = desk.run("test", desk.contract(), "--source", source)
    found = statuses(desk.json("test", desk.contract(), "--source", source))
    assert result.exit_code == 2
    assert found["schema__columns"] == "failed"
    assert found["quality__amount__few_nulls"] == "errored"
    assert found["schema__id__required"] == found["schema__id__unique"] == "passed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("a: }", "not valid YAML"),
        ("hello: world\n", "dialect"),
    ],
    ids=["empty", "not-yaml", "unknown-dialect"],
)
def test_a_file_that_is_no_contract_is_2(desk: Desk, text: str, message: str) -> None:
    """The file, the line and what is wrong with it are named by both commands."""
    file = desk.folder / "bad.yaml"
    file.write_text(text)
    for command in ("lint", "test"):
        result = desk.run(command, str(file))
        assert result.exit_code == 2
        assert f"{file}:1 $" in result.stdout
        assert message in result.stdout


@pytest.mark.parametrize("command", ["lint", "test"])
def test_a_file_that_is_not_there_is_2(desk: Desk, command: str) -> None:
    """A path that does not exist is named."""
    result = desk.run(command, str(desk.folder / "nowhere.yaml"))
    assert result.exit_code == 2
    assert "nowhere.yaml" in result.stdout


def test_a_contract_without_checks_is_2(desk: Desk) -> None:
    """A contract that promises nothing has not passed."""
    empty = CONTRACT.split("schema:")[0]
    result = desk.run("test", desk.contract(empty), "--source", desk.duckdb())
    assert result.exit_code == 2
    assert "nothing was tested" in result.output


def test_a_database_that_is_down_is_2(desk: Desk) -> None:
    """An unreachable database is named, without its password."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"postgresql+psycopg://someone:sesame@127.0.0.1:{port}/nowhere"
    result = desk.run("test", desk.contract(), "--source", url)
    assert result.exit_code == 2
    assert "127.0.0.1" in result.output
    assert "sesame" not in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("query", ["DELETE FROM orders", "SELECT 1; DROP TABLE orders"])
def test_a_query_that_is_not_a_select_is_2(desk: Desk, query: str) -> None:
    """It is refused, the data stays, and the other checks keep their verdicts."""
    contract = desk.contract(CONTRACT.replace("SEVERITY", "error") + SQL_RULE.replace("QUERY", query))
    source = desk.duckdb()
    report = desk.json("test", contract, "--source", source)
    if "problems" not in report:
        found = statuses(report)
        assert found.pop("quality__own_query") == "errored"
        assert set(found.values()) == {"passed"}
    assert desk.run("test", contract, "--source", source).exit_code == 2
    with duckdb.connect(source.removeprefix("duckdb:///")) as connection:
        assert connection.execute("SELECT count(*) FROM orders").fetchall() == [(5,)]


def test_an_unknown_server_is_2(desk: Desk) -> None:
    """The message lists the servers there are."""
    result = desk.run("test", desk.contract(), "--server", "prod")
    assert result.exit_code == 2
    assert "prod" in result.output
    assert "local" in result.output


def test_a_driver_that_is_not_there_is_2(desk: Desk) -> None:
    """A source nobody here can open ends with a message, not with a traceback."""
    result = desk.run("test", desk.contract(), "--source", "firebird://nobody@127.0.0.1/x")
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_errored_outweighs_failed(desk: Desk) -> None:
    """Over several contracts the worst exit code counts."""
    source = desk.duckdb(NULL_AMOUNT)
    assert desk.run("test", desk.contract(), str(desk.folder / "no.yaml"), "--source", source).exit_code == 2


@pytest.mark.parametrize("line", [[], ["tset"], ["test"], ["lint"], ["test", "a.yaml", "--jsno"]])
def test_a_wrong_command_line_is_2(line: list[str]) -> None:
    """Bad usage is never taken for a failed check."""
    assert CliRunner().invoke(commands, line).exit_code == 2


# --------------------------------------------------------------------------- where the data is


def test_the_servers_entry_is_the_source(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without options the contract says where its data is."""
    desk.duckdb()
    monkeypatch.chdir(desk.folder)
    for arguments in ([], ["--server", "local"]):
        assert desk.run("test", desk.contract(), *arguments).exit_code == 0


def test_sqlite_and_csv_are_sources(desk: Desk) -> None:
    """A SQLAlchemy URL and a folder of files give the verdicts that DuckDB gives."""
    database = sqlite3.connect(desk.folder / "orders.sqlite")
    database.execute("CREATE TABLE orders (id INTEGER, amount REAL)")
    database.executemany("INSERT INTO orders VALUES (?, ?)", [(1, 1.5), (2, None)])
    database.commit()
    database.close()
    folder = desk.folder / "files"
    folder.mkdir()
    (folder / "orders.csv").write_text("id,amount\n1,1.5\n2,\n")
    for source in (f"sqlite:///{desk.folder}/orders.sqlite", str(folder), str(folder / "orders.csv")):
        found = statuses(desk.json("test", desk.contract(), "--source", source))
        assert found == {**dict.fromkeys(CHECKS, "passed"), "quality__amount__few_nulls": "failed"}, source


# --------------------------------------------------------------------------- a part of the checks


def test_check_narrows_to_the_named_checks(desk: Desk) -> None:
    """Only what was asked for is evaluated."""
    wanted = ("--check", "schema__id__unique", "--check", "schema__columns")
    report = desk.json("test", desk.contract(), "--source", desk.duckdb(NULL_AMOUNT), *wanted)
    assert statuses(report) == {"schema__columns": "passed", "schema__id__unique": "passed"}


def test_dataset_narrows_to_the_named_datasets(desk: Desk) -> None:
    """A contract of two datasets is tested on one of them."""
    second = CONTRACT.split("schema:\n")[1].replace("name: orders", "name: returns").replace("physicalName: orders", "")
    contract = desk.contract((CONTRACT + second).replace("SEVERITY", "error"))
    report = desk.json("test", contract, "--source", desk.duckdb(), "--dataset", "orders")
    assert [dataset["name"] for dataset in report["datasets"]] == ["orders"]


@pytest.mark.parametrize("option", ["--check", "--dataset"])
def test_an_unknown_name_lists_those_there_are(desk: Desk, option: str) -> None:
    """A mistyped name is bad usage, never a pass of nothing."""
    result = desk.run("test", desk.contract(), "--source", desk.duckdb(), option, "schema__id__requierd")
    assert result.exit_code == 2
    assert "'schema__id__requierd'" in result.stderr
    assert ("schema__id__required" if option == "--check" else "orders") in result.stderr

    empty = desk.contract(CONTRACT.split("schema:")[0], "empty.yaml")
    assert desk.run("test", empty, option, "schema__id__required").exit_code == 2


# --------------------------------------------------------------------------- what is printed


def test_json_is_the_documented_object(desk: Desk) -> None:
    """Every key of the documented shape is there, and no other."""
    report = desk.json("test", desk.contract(), "--source", desk.duckdb(NULL_AMOUNT))
    (dataset,) = report["datasets"]
    check = next(check for check in dataset["checks"] if check["name"] == "quality__amount__few_nulls")

    assert set(report) == {"contract", "name", "version", "file", "source", "status", "score", "datasets"}
    assert (report["contract"], report["status"], report["score"]) == ("orders-contract", "partially_violated", 0.8)
    assert set(dataset) == {"name", "row_count", "checks", "not_checked"}
    assert [one["name"] for one in dataset["checks"]] == CHECKS
    always = {
        "name", "id", "section", "column", "rule", "status", "severity", "measured", "expected", "rows", "description",
        "path", "line",
    }  # fmt: skip
    assert always <= set(check) <= always | {"details", "sample", "sql", "notes", "answered_by"}
    assert {key: check[key] for key in ("id", "section", "column", "rule", "status", "severity", "measured")} == {
        "id": "few_nulls",
        "section": "quality",
        "column": "amount",
        "rule": "nullValues",
        "status": "failed",
        "severity": "error",
        "measured": 1,
    }


def test_json_lists_what_is_not_checked(desk: Desk) -> None:
    """A promise nobody evaluates has its path, line and reason."""
    more = "slaProperties:\n  - property: unheardOf\n    value: 4\n"
    report = desk.json("test", desk.contract(CONTRACT.replace("SEVERITY", "error") + more), "--source", desk.duckdb())
    (clause,) = report["datasets"][0]["not_checked"]
    assert set(clause) == {"path", "line", "reason"}
    assert clause["path"].startswith("$.slaProperties[0]")


def test_json_of_a_folder_is_a_list_and_one_bad_file_harms_no_other(desk: Desk) -> None:
    """Every file has its place in the list, in the order of their names."""
    desk.contract("", "contracts/b.odcs.yaml")
    desk.contract("a: [", "contracts/a.yaml")
    result = desk.run("test", str(desk.folder / "contracts"), "--source", desk.duckdb(), "--json")
    broken, good = json.loads(result.stdout)

    assert set(broken) == {"contract", "file", "status", "score", "datasets", "problems"}
    assert (broken["contract"], broken["status"], broken["datasets"]) == (None, "not_evaluated", [])
    assert good["status"] == "compliant"
    assert "not valid YAML" in result.stderr
    assert result.exit_code == 2


def test_json_of_an_unreadable_file_is_an_object(desk: Desk) -> None:
    """One path is one object, also when there is nothing to report."""
    report = desk.json("test", desk.contract("a: }"))
    assert (report["contract"], report["status"], report["score"]) == (None, "not_evaluated", None)
    assert report["problems"][0]["line"] == 1


def test_a_folder_without_contracts_is_2(desk: Desk) -> None:
    """Nothing to test is not a pass."""
    result = desk.run("test", str(desk.folder))
    assert result.exit_code == 2
    assert "no contract in this folder" in result.stdout


def test_a_file_that_is_named_twice_is_tested_once(desk: Desk) -> None:
    """A folder and a file in it are not two contracts."""
    contract = desk.contract("", "contracts/a.yaml")
    reports = desk.json("test", str(desk.folder / "contracts"), contract, "--source", desk.duckdb())
    assert len(reports) == 1


def test_warnings_about_the_contract_go_to_stderr(desk: Desk) -> None:
    """A mistyped key is not silent, and stdout stays results only."""
    contract = desk.contract(CONTRACT.replace("SEVERITY", "error").replace("required: true", "requird: true"))
    result = desk.run("test", contract, "--source", desk.duckdb(), "--json")
    assert "requird" in result.stderr
    assert json.loads(result.stdout)["contract"] == "orders-contract"


# --------------------------------------------------------------------------- lint


def test_lint_counts_what_became_of_the_clauses(desk: Desk) -> None:
    """A good contract is 0, with its number of checks."""
    result = desk.run("lint", desk.contract())
    assert result.exit_code == 0
    assert f"orders.odcs.yaml: {len(CHECKS)} checks, " in result.stdout


def test_lint_shows_warnings_and_strict_refuses_them(desk: Desk) -> None:
    """An unknown key is a warning with its place; with `--strict` it is an error."""
    contract = desk.contract(CONTRACT.replace("SEVERITY", "error").replace("required: true", "requird: true"))
    lenient, strict = desk.run("lint", contract), desk.run("lint", contract, "--strict")

    assert lenient.exit_code == 0
    assert f"warning  {contract}:17 $.schema[0].properties[0].requird: " in lenient.stdout
    assert strict.exit_code == 2
    assert f"error    {contract}:17 $.schema[0].properties[0].requird: " in strict.stdout


def test_lint_json_has_a_result_for_each_file(desk: Desk) -> None:
    """One file is an object, several are a list."""
    good, bad = desk.contract(), desk.contract("a: [", "bad.yaml")
    assert desk.json("lint", good)["checks"] == len(CHECKS)
    first, second = desk.json("lint", good, bad)
    assert (first["file"], second["file"]) == (good, bad)
    assert second["problems"][0]["level"] == "error"


# --------------------------------------------------------------------------- as a program


def test_a_pipe_gets_plain_lines(desk: Desk) -> None:
    """Each check is one line that begins with its outcome; there are no colours."""
    command = [sys.executable, "-m", "contract_checks", "test", desk.contract(), "--source", desk.duckdb()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert [line.split()[:3] for line in done.stdout.splitlines() if line.startswith("passed")] == [
        ["passed", "error", name] for name in CHECKS
    ]


def on_a_terminal(command: list[str], stream: str) -> tuple[int, str, str]:
    """Run a command with `stream` on a terminal: the exit code, what the terminal saw, what the other stream got."""
    outside, inside = pty.openpty()
    other = {"stdout": "stderr", "stderr": "stdout"}[stream]
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    with subprocess.Popen(command, env=environment, **{stream: inside, other: subprocess.PIPE}) as process:  # type: ignore[call-overload]
        os.close(inside)
        seen = b""
        while True:
            try:
                part = os.read(outside, 65536)
            except OSError:  # Linux says so when the other end has closed
                break
            if not part:
                break
            seen += part
        rest = (process.stdout or process.stderr).read()
    os.close(outside)
    return process.returncode, seen.decode(), rest.decode()


def test_a_terminal_gets_a_table(desk: Desk) -> None:
    """On a terminal there are colours and a table, and the exit code is the same."""
    command = [sys.executable, "-m", "contract_checks", "test", desk.contract(), "--source", desk.duckdb(NULL_AMOUNT)]
    code, seen, _ = on_a_terminal(command, "stdout")
    assert code == 1
    assert "\x1b[" in seen
    assert "measured" in click.unstyle(seen)


def test_the_progress_bar_leaves_stdout_alone(desk: Desk) -> None:
    """With stderr on a terminal and stdout in a pipe, the bar goes there and the results here."""
    command = [sys.executable, "-m", "contract_checks", "test", desk.contract(), "--source", desk.duckdb()]
    code, seen, piped = on_a_terminal(command, "stderr")
    assert code == 0
    assert "━" in seen
    assert "schema__id__required" not in seen
    assert "passed   error    schema__id__required" in piped
    assert "\x1b" not in piped


def test_main_returns_the_exit_code(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """The installed command ends with the exit codes of the commands."""
    assert main(["test", desk.contract(), "--source", desk.duckdb()]) == 0
    assert main(["test", desk.contract(), "--source", desk.duckdb(NULL_AMOUNT)]) == 1
    assert main(["test"]) == 2
    assert "Missing argument" in capsys.readouterr().err
    assert main(["--version"]) == 0


def test_a_fault_of_the_program_is_not_a_failed_check(capsys: pytest.CaptureFixture[str]) -> None:
    """An unforeseen exception ends with 2 and its traceback."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("contract_checks.cli.run_lint", lambda wanted: 1 // 0)
        assert main(["lint", "a.yaml"]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "tier"), [((), "catalogue"), (("--no-proofs",), "scan")])
def test_what_the_database_guarantees_is_not_scanned_for(desk: Desk, options: tuple[str, ...], tier: str) -> None:
    """A declared constraint answers its check, unless `--no-proofs` wants a scan; text and JSON say which it was."""
    source = desk.duckdb()
    with duckdb.connect(str(desk.folder / "warehouse.duckdb")) as connection:
        connection.execute("ALTER TABLE orders ALTER COLUMN id SET NOT NULL")
    asked = ("test", desk.contract(), "--source", source, *options)
    (dataset,) = desk.json(*asked)["datasets"]
    (check,) = [one for one in dataset["checks"] if (one["rule"], one["column"]) == ("required", "id")]
    assert (check["status"], check["answered_by"]) == ("passed", tier)
    (line,) = [line for line in desk.run(*asked).stdout.splitlines() if "schema__id__required" in line]
    assert ("[answered by: catalogue]" in line) == (tier == "catalogue")
