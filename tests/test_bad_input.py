"""Input that cannot be used: each kind is told clearly, fast, and harms no other contract."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import contract_of, odcs, result, told
from databases import Postgres, Rows, duckdb_file, sqlite_file

from contract_checks.checks import plan
from contract_checks.dialects import load, load_directory
from contract_checks.errors import ContractError, SourceError
from contract_checks.run import check_contract, check_dataset
from contract_checks.sources import resolve

GOOD = odcs([{"name": "a", "logicalType": "integer", "required": True}])


def _text(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"apiVersion: v3.1.0\nkind: DataContract\n#")
        file.truncate(100_000_000)


def _huge_and_real(path: Path) -> None:
    line = b"# a comment that goes on and on, as comments do in files that a machine has written\n"
    path.write_bytes(b"apiVersion: v3.1.0\nkind: DataContract\n" + line * (100_000_000 // len(line)))


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)
)
MERGE_BOMB = "a0: &a0 {k0: x}\n" + "".join(
    f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 10)}], k{level}: x}}\n" for level in range(1, 12)
)

BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (_text(""), "empty"),
    "only_comments": (_text("# nothing yet\n"), "empty"),
    "only_a_list": (_text("- a\n- b\n"), "mapping"),
    "only_a_word": (_text("hello"), "mapping"),
    "not_yaml": (_text("schema: [unclosed\nname: x"), "YAML"),
    "tabs": (_text("schema:\n\t- name: x\n"), "YAML"),
    "binary": (lambda path: path.write_bytes(bytes(range(256))), "UTF-8|YAML"),
    "unknown_dialect": (_text("hello: world\nversion: 1.0.0\n"), "dialect|format|recogni"),
    "older_standard": (_text("dataContractSpecification: 1.2.1\nid: x\n"), "dataContractSpecification|dialect|recogni"),
    "odcs_2": (_text("apiVersion: v2.2.2\nkind: DataContract\nuuid: x\nversion: 1\n"), "2.2.2"),
    "duplicate_key": (_text(GOOD.replace('"kind"', '"id": "other",\n "kind"')), "twice"),
    "python_tag": (_text("schema: !!python/object/apply:os.system ['true']\n"), "tag"),
    "alias_bomb": (_text(BOMB), "alias|nodes"),
    "merge_bomb": (_text(MERGE_BOMB), "alias|nodes|deeper"),
    "alias_to_itself": (_text("a: &a [*a]\n"), "itself|alias"),
    "deep": (_text("a: " + "[" * 5000 + "]" * 5000), "deep|YAML"),
    "huge": (_huge, "bytes"),
    "huge_and_real": (_huge_and_real, "bytes"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_is_no_contract_is_told_and_harms_no_other(name: str, tmp_path: Path) -> None:
    """A broken file is refused within a second or two, with its name and the reason; the good one beside it loads."""
    write, says = BROKEN[name]
    broken = tmp_path / f"{name}.odcs.yaml"
    write(broken)
    (tmp_path / "good.odcs.yaml").write_text(GOOD)
    started = time.process_time()
    with pytest.raises(ContractError) as caught:
        load(broken)
    assert time.process_time() - started < 2
    message = str(caught.value)
    assert re.search(says, message, re.IGNORECASE), message
    assert broken.name in message
    assert len(message) < 2000
    loaded = load_directory(tmp_path)
    assert [contract.name for contract in loaded.contracts] == ["t"]
    assert [str(error) for error in loaded.broken] == [message]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A path that does not exist is told with that path."""
    with pytest.raises(ContractError, match=r"gone\.yaml"):
        load(tmp_path / "gone.yaml")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A folder that does not exist loads nothing and says so."""
    loaded = load_directory(tmp_path / "gone")
    assert loaded.contracts == ()
    assert any("gone" in str(error) for error in loaded.broken)


def test_check_contract_raises_for_a_broken_file(tmp_path: Path) -> None:
    """A contract that cannot be read is an exception with all problems, not a report."""
    (tmp_path / "x.odcs.yaml").write_text("")
    with pytest.raises(ContractError, match="empty"):
        check_contract(tmp_path / "x.odcs.yaml", source=str(tmp_path))


def test_two_rules_with_one_id_are_told_with_both_places() -> None:
    """Two different rules of a table with one id are an error that names both places."""
    rules = [{"id": "same", "metric": "rowCount", "mustBe": 1}, {"id": "same", "metric": "rowCount", "mustBe": 2}]
    with pytest.raises(ContractError) as caught:
        plan(contract_of(odcs([{"name": "a"}], rules)))
    assert "same" in str(caught.value)
    assert "quality[0]" in str(caught.value)
    assert "quality[1]" in str(caught.value)


def test_two_tables_with_one_name_are_told() -> None:
    """Two tables of a contract with one name are an error that names both places."""
    table = {"name": "t", "properties": [{"name": "a", "logicalType": "integer"}]}
    with pytest.raises(ContractError) as caught:
        plan(contract_of(odcs(schema=[table, table])))
    assert re.search(r"schema\[0\]", str(caught.value))
    assert re.search(r"schema\[1\]", str(caught.value))


# --------------------------------------------------------------------------- data that is not as promised


@pytest.mark.parametrize("make", [duckdb_file, sqlite_file])
def test_a_column_that_does_not_exist(make: Callable[[Path, Rows], str], tmp_path: Path) -> None:
    """A promised column that is absent fails the schema; rules on it are errored by name, the others are judged."""
    columns = [
        {"name": "a", "logicalType": "integer", "logicalTypeOptions": {"minimum": 0}},
        {"name": "gone", "logicalType": "integer", "required": True, "logicalTypeOptions": {"minimum": 0}},
    ]
    keys = [{"id": "dup", "metric": "duplicateValues", "arguments": {"properties": ["a", "gone"]}, "mustBe": 0}]
    report = check_contract(contract_of(odcs(columns, keys)), source=make(tmp_path, Rows("SELECT -1 AS a")))
    assert result(report, "columns").status == "failed", told(report)
    for rule, column in (("required", "gone"), ("minimum", "gone"), ("dup", None)):
        assert result(report, rule, column).status == "errored", told(report)
        assert "gone" in result(report, rule, column).description
    assert result(report, "minimum", "a").status == "failed"
    assert report.exit_code == 2


@pytest.mark.parametrize("make", [duckdb_file, sqlite_file])
@pytest.mark.parametrize(
    ("table", "column", "said"),
    [
        ("orders", "custmer_id", "column 'custmer_id' does not exist in table orders (did you mean 'customer_id'?)"),
        ("ordres", "customer_id", "(did you mean 'orders'?)"),
        ("sales.invoices", "customer_id", "(it has: orders)"),
    ],
)
def test_a_name_that_is_almost_right(
    table: str, column: str, said: str, make: Callable[..., str], tmp_path: Path
) -> None:
    """A column or table that is absent comes with the name that was probably meant, or with what there is."""
    contract = contract_of(odcs([{"name": column, "required": True}], name=table))
    report = check_contract(contract, source=make(tmp_path, Rows("SELECT 1 AS customer_id"), "orders"))
    assert said in result(report, "required", column).description, told(report)


@pytest.mark.service
def test_a_table_of_another_schema_is_named(postgres: Postgres, postgres_database: str) -> None:
    """A table that is only in another schema, or in other letters, is named."""
    source = postgres.load(postgres_database, Rows("SELECT 1 AS a"), "orders")
    with postgres.connect(postgres_database) as connection:
        connection.execute("CREATE SCHEMA sales; CREATE TABLE sales.invoices (a integer)")
    for name, there in (("invoices", "sales.invoices"), ("Orders", "orders")):
        report = check_contract(contract_of(odcs([{"name": "a"}], name=name)), source=source)
        assert f"(there is '{there}')" in result(report, "columns").description, told(report)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{folder}/shop.duckdb", "is the file of a database: say duckdb:///{folder}/shop.duckdb"),
        ("{folder}/shop.db", "is the file of a database: say sqlite:///{folder}/shop.db"),
        ("postgres://127.0.0.1/shop", "(did you mean 'postgresql'?)"),
        ("duckbd:///shop.duckdb", "(did you mean 'duckdb'?)"),
        ("{folder}", "no file for 't' in {folder}: a file or folder of that name is looked for, and here is shop.db"),
        (None, "names no server; say where its data is with --source"),
    ],
)
def test_a_source_that_is_almost_right(source: str | None, said: str, tmp_path: Path) -> None:
    """A slip in the source is told with what would be right."""
    for name in ("shop.db", "shop.duckdb"):
        (tmp_path / name).touch()
    given = source.format(folder=tmp_path) if source is not None else None
    report = check_contract(contract_of(GOOD), source=given)
    assert said.format(folder=tmp_path) in result(report, "columns").description, told(report)


@pytest.mark.parametrize("make", [duckdb_file, sqlite_file])
def test_a_table_that_does_not_exist(make: Callable[[Path, Rows], str], tmp_path: Path) -> None:
    """Every check of a table that is absent is errored, with the table's name; the other table is judged."""
    tables = [
        {"name": "t", "properties": [{"name": "a", "logicalType": "integer", "required": True}]},
        {"name": "nowhere", "properties": [{"name": "a", "logicalType": "integer", "required": True}]},
    ]
    report = check_contract(contract_of(odcs(schema=tables)), source=make(tmp_path, Rows("SELECT 1 AS a")))
    present, absent = report.datasets
    assert {one.status for one in present.results} == {"passed"}, told(report)
    assert {one.status for one in absent.results} == {"errored"}, told(report)
    assert all("nowhere" in one.description for one in absent.results), told(report)


@pytest.mark.parametrize(
    "source",
    [
        "postgresql+psycopg://nobody@127.0.0.1:1/x",
        "duckdb:///{folder}/absent.duckdb",
        "sqlite:///{folder}/absent.sqlite",
        "{folder}/absent",
        "{folder}/absent.csv",
    ],
)
def test_a_database_that_is_down(source: str, tmp_path: Path) -> None:
    """A source that cannot be reached makes every check errored; nothing is created in its place."""
    contract = contract_of(GOOD)
    url = source.format(folder=tmp_path)
    report = check_contract(contract, source=url)
    assert report.results
    assert {one.status for one in report.results} == {"errored"}, told(report)
    assert report.status == "not_evaluated"
    assert report.score is None
    assert report.exit_code == 2
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SourceError):
        check_dataset(plan(contract).datasets[0], resolve(contract, source=url))


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    """A file that is not what it should be makes every check errored, with its name."""
    for name in ("x.duckdb", "x.sqlite", "t.parquet"):
        (tmp_path / name).write_bytes(b"this is not a database, and long enough not to be taken for an empty one" * 20)
    for source in (f"duckdb:///{tmp_path}/x.duckdb", f"sqlite:///{tmp_path}/x.sqlite", f"{tmp_path}/t.parquet"):
        report = check_contract(contract_of(GOOD), source=source)
        assert {one.status for one in report.results} == {"errored"}, told(report)


def test_a_pattern_that_is_none(tmp_path: Path) -> None:
    """A pattern that is no regular expression is told where the contract is read, or errored; never a verdict."""
    columns = [
        {"name": "a", "logicalType": "string", "logicalTypeOptions": {"pattern": "*a("}},
        {"name": "b", "logicalType": "string", "required": True},
    ]
    source = duckdb_file(tmp_path, Rows("SELECT 'a' AS a, 'b' AS b"))
    said = ""
    try:
        report = check_contract(contract_of(odcs(columns)), source=source)
    except ContractError as error:
        said = str(error)
    else:
        said = told(report)
        assert not [one for one in report.results if one.check.column == "a" and one.status in ("passed", "failed")], (
            said
        )
        assert result(report, "required", "b").status == "passed"
    assert "*a(" in said


def test_a_limit_that_a_database_cannot_hold_touches_no_other_rule(tmp_path: Path) -> None:
    """A rule that the database refuses is errored by itself; the shared scan goes on for the others."""
    columns = [
        {"name": "a", "logicalType": "number", "logicalTypeOptions": {"maximum": 10**400}},
        {"name": "b", "logicalType": "integer", "required": True, "logicalTypeOptions": {"minimum": 0}},
    ]
    rows = Rows("SELECT 1.5::DOUBLE AS a, unnest([-1, NULL]) AS b")
    for make in (duckdb_file, sqlite_file):
        report = check_contract(contract_of(odcs(columns)), source=make(tmp_path, rows))
        assert result(report, "maximum", "a").status in ("passed", "errored"), told(report)
        assert result(report, "required", "b").measured == 1, told(report)
        assert result(report, "minimum", "b").measured == 1, told(report)
