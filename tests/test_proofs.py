"""What the source guarantees is not scanned for, and the report says the same as after a scan."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pytest
import sqlalchemy
import yaml
from builders import contract_of, odcs, result, told
from databases import Postgres, Put
from hypothesis import event, given
from hypothesis import strategies as st
from sqlalchemy.exc import DBAPIError
from test_bench import bench, loaded  # noqa: F401 - fixtures
from test_probes import ALL, Probe, _cases, assert_verdicts, evaluate
from test_properties import DUCKDB, POSTGRES, QUICK, SQLITE, _literal, rows, tables

from contract_checks.checks import Settings, plan
from contract_checks.dialects import load
from contract_checks.metrics import FieldFilter, RowFilter
from contract_checks.model import Contract
from contract_checks.results import DatasetReport, Report
from contract_checks.run import check_contract, check_dataset
from contract_checks.sources import resolve
from contract_checks.sources.database import DatabaseSource

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BY_SCAN = Settings(proofs=False)


def said(report: Report | DatasetReport) -> list[tuple[object, ...]]:
    """All that a report says of the data; which rows a sample shows is chance."""
    return [
        (one.check.name, one.status, repr(one.measured), one.rows, one.description, one.sql, one.sample is not None)
        for one in report.results
    ]


def same(contract: Contract, source: Any) -> Report:
    """The report with proofs, which says what the one without says."""
    proven = check_contract(contract, source=source, now=NOW)
    scanned = check_contract(contract, source=source, now=NOW, settings=BY_SCAN)
    assert said(proven) == said(scanned), f"{told(proven)}\n\n{told(scanned)}"
    assert {one.answered_by for one in scanned.results} <= {"scan", "query", "catalogue"}
    counted = zip(proven.datasets, scanned.datasets, strict=True)
    assert all(one.row_count in (None, other.row_count) for one, other in counted)
    return proven


def tiers(report: Report) -> dict[str, str]:
    """Who answered the checks of columns and keys, by `column/rule` or rule."""
    return {
        "/".join(filter(None, (one.check.column, one.check.rule))): one.answered_by
        for one in report.results
        if one.check.rule not in ("columns", "types")
    }


ORDERS = """
- {name: id, logicalType: integer, primaryKey: true}
- {name: customer, logicalType: integer, relationships: [{to: customers.id}]}
- {name: amount, logicalType: number, logicalTypeOptions: {minimum: 0, maximum: 1000}}
- {name: day, logicalType: date, logicalTypeOptions: {minimum: '2020-01-01'}}
- {name: note, logicalType: string, required: true}
"""
CUSTOMERS = "- {name: id, logicalType: integer, required: true, unique: true}"


def contract() -> Contract:
    """Orders of customers, with keys, bounds and a reference."""
    parts = [
        {"name": name, "physicalName": name, "physicalType": "table", "properties": properties}
        for name, properties in (("orders", ORDERS), ("customers", CUSTOMERS))
    ]
    return contract_of(odcs(schema=[{**part, "properties": yaml.safe_load(part["properties"])} for part in parts]))


DECLARED = (
    "CREATE TABLE customers (id INTEGER NOT NULL UNIQUE)",
    """CREATE TABLE orders (
      id INTEGER NOT NULL PRIMARY KEY, customer INTEGER REFERENCES customers (id),
      amount DECIMAL(10, 2) CHECK (amount BETWEEN 0 AND 100), day DATE CHECK (day >= DATE '2020-01-01'),
      note VARCHAR NOT NULL)""",
    "INSERT INTO customers VALUES (1), (2)",
    "INSERT INTO orders VALUES (1, 1, 1.5, DATE '2020-01-02', 'a'), (2, NULL, NULL, NULL, 'b')",
)


def duckdb_with(folder: Path, *statements: str) -> str:
    """A DuckDB file after some statements."""
    path = folder / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return f"duckdb:///{path}"


def sqlite_with(folder: Path, *statements: str) -> str:
    """A SQLite file after some statements."""
    path = folder / "warehouse.sqlite"
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


# --------------------------------------------------------------------------- what is proven


def test_declared_constraints_of_duckdb_need_no_scan(tmp_path: Path) -> None:
    """NOT NULL, keys, CHECK and foreign keys of DuckDB are proven, and only the row count is still asked for."""
    report = same(contract(), duckdb_with(tmp_path, *DECLARED))
    assert set(tiers(report).values()) == {"catalogue"}
    assert [len(one.statements) for one in report.datasets] == [1, 1]
    assert all(one.statements[0].startswith("SELECT COUNT(*) AS m0 FROM") for one in report.datasets)
    assert [one.row_count for one in report.datasets] == [2, 2]


def test_a_proven_check_shows_the_sql_that_reproduces_it(tmp_path: Path) -> None:
    """A proven check has the statement of the scan that it spares."""
    source = duckdb_with(tmp_path, *DECLARED)
    report = check_contract(contract(), source=source, now=NOW)
    with duckdb.connect(str(tmp_path / "warehouse.duckdb"), read_only=True) as connection:
        for one in report.results:
            if one.sql:
                row = connection.execute(one.sql).fetchone()
                assert row is None or row[0] == 0


def test_what_is_not_declared_is_scanned(tmp_path: Path) -> None:
    """Without constraints every check is answered by a scan."""
    bare = [one.replace("NOT NULL", "").replace("PRIMARY KEY", "").replace("UNIQUE", "") for one in DECLARED]
    bare[1] = "CREATE TABLE orders (id INTEGER, customer INTEGER, amount DECIMAL(10, 2), day DATE, note VARCHAR)"
    assert set(tiers(same(contract(), duckdb_with(tmp_path, *bare))).values()) == {"scan"}


def test_proofs_can_be_switched_off(tmp_path: Path) -> None:
    """With `proofs=False` what is declared is scanned for all the same."""
    source = duckdb_with(tmp_path, *DECLARED)
    report = check_contract(contract(), source=source, now=NOW, settings=BY_SCAN)
    assert set(tiers(report).values()) == {"scan"}


def test_keys_and_not_null_of_sqlite_need_no_scan(tmp_path: Path) -> None:
    """SQLite enforces NOT NULL and keys; its CHECK and foreign keys, which can be switched off, are scanned."""
    found = tiers(same(contract(), sqlite_with(tmp_path, *(one.replace("DATE '", "'") for one in DECLARED))))
    assert found["id/required"] == found["id/primaryKey"] == found["note/required"] == found["id/unique"] == "catalogue"
    assert found["amount/minimum"] == found["amount/maximum"] == found["customer/foreignKey"] == "scan"


def test_the_row_number_of_sqlite_is_a_key(tmp_path: Path) -> None:
    """INTEGER PRIMARY KEY of SQLite is never NULL; a primary key of another kind may be."""
    columns = "- {name: id, logicalType: integer, primaryKey: true}"
    source = sqlite_with(tmp_path, "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    assert set(tiers(same(contract_of(odcs(columns)), source)).values()) == {"catalogue"}
    other = tmp_path / "other"
    other.mkdir()
    source = sqlite_with(other, "CREATE TABLE t (id BIGINT PRIMARY KEY)", "INSERT INTO t VALUES (NULL), (NULL), (1)")
    report = same(contract_of(odcs(columns)), source)
    assert result(report, "required", "id").status == "failed"
    assert result(report, "primaryKey", "id").answered_by == "catalogue"


def test_a_wider_key_is_proven_by_a_narrower_one(tmp_path: Path) -> None:
    """A key is unique if some of its columns are; the other way round it is scanned."""
    source = duckdb_with(
        tmp_path,
        "CREATE TABLE t (a INTEGER UNIQUE, b INTEGER, c INTEGER, UNIQUE (b, c))",
        "INSERT INTO t VALUES (1,1,1)",
    )
    rule = "{metric: duplicateValues, mustBe: 0, id: '%s', arguments: {properties: [%s]}}"
    quality = "\n".join("- " + rule % pair for pair in (("ab", "a, b"), ("bc", "c, b"), ("abc", "a, b, c")))
    columns = """
- {name: a, logicalType: integer}
- {name: b, logicalType: integer, unique: true}
- {name: c, logicalType: integer}
"""
    report = same(contract_of(odcs(columns, quality)), source)
    assert [result(report, name).answered_by for name in ("ab", "bc", "abc")] == ["catalogue"] * 3
    assert result(report, "unique", "b").answered_by == "scan"


def test_a_part_of_a_table_has_the_constraints_of_the_whole(tmp_path: Path) -> None:
    """Of a partition is proven what holds for each row; its rows are counted."""
    made = plan(contract())
    rows_of = RowFilter((FieldFilter(("day",), "2020-01-02", "2020-01-03"),), "day 2020-01-02")
    source = resolve(made.contract, None, duckdb_with(tmp_path, *DECLARED))
    both = [
        check_dataset(made.datasets[0], source, now=NOW, rows=_dated(rows_of), settings=Settings(proofs=proofs))
        for proofs in (True, False)
    ]
    assert said(both[0]) == said(both[1])
    assert both[0].row_count == both[1].row_count == 1
    assert {one.answered_by for one in both[0].results} == {"catalogue"}


def _dated(rows_of: RowFilter) -> RowFilter:
    (term,) = rows_of.terms
    bounds = {name: datetime.fromisoformat(str(getattr(term, name))).date() for name in ("lower", "upper")}
    return replace(rows_of, terms=(replace(term, **bounds),))


def test_a_share_of_rows_that_are_counted_is_answered_by_the_scan(tmp_path: Path) -> None:
    """A check of several numbers is answered by a scan if one of them is."""
    source = duckdb_with(tmp_path, "CREATE TABLE t (a INTEGER NOT NULL)", "INSERT INTO t VALUES (1)")
    rule = "[{metric: nullValues, unit: percent, mustBeLessThan: 5, id: few}]"
    report = same(contract_of(odcs(f"- {{name: a, logicalType: integer, quality: {rule}}}")), source)
    assert result(report, "few", "a").answered_by == "scan"


# --------------------------------------------------------------------------- traps

A = "- {name: a, logicalType: %s, required: true, unique: true}"


def test_a_view_vouches_for_nothing(tmp_path: Path) -> None:
    """A view of a table with constraints has none."""
    source = duckdb_with(
        tmp_path,
        "CREATE TABLE b (a INTEGER PRIMARY KEY)",
        "CREATE VIEW t AS FROM b UNION ALL SELECT NULL FROM range(2)",
    )
    report = same(contract_of(odcs(A % "integer")), source)
    assert set(tiers(report).values()) == {"scan"}
    assert result(report, "required", "a").status == "failed"


def test_a_table_is_never_taken_for_another_of_its_name(tmp_path: Path) -> None:
    """A name that may mean a temporary table or that of another schema is scanned."""
    columns = contract_of(odcs(A % "integer"))
    path = tmp_path / "w.duckdb"
    engine = sqlalchemy.create_engine(f"duckdb:///{path}", poolclass=sqlalchemy.StaticPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        connection.exec_driver_sql("CREATE SCHEMA s")
        connection.exec_driver_sql("CREATE TABLE s.t (a INTEGER)")
        connection.exec_driver_sql("INSERT INTO s.t VALUES (NULL), (1), (1)")
    assert set(tiers(same(columns, engine)).values()) == {"catalogue"}
    other = same(columns, DatabaseSource(engine, "s"))
    assert result(other, "required", "a").status == result(other, "unique", "a").status == "failed"
    with engine.begin() as connection:
        connection.exec_driver_sql("USE main")
        connection.exec_driver_sql("CREATE TEMP TABLE t (a INTEGER)")
    assert set(tiers(same(columns, engine)).values()) == {"scan"}
    engine.dispose()


@pytest.mark.parametrize("where", ["column", "session"])
def test_texts_that_a_collation_takes_for_one_are_no_key_of_duckdb(tmp_path: Path, where: str) -> None:
    """DuckDB's keys tell apart what a collation does not, so that a scan may find duplicates in a key."""
    engine = sqlalchemy.create_engine(f"duckdb:///{tmp_path}/w.duckdb", poolclass=sqlalchemy.StaticPool)
    with engine.begin() as connection:
        collation = "COLLATE NOCASE" if where == "column" else ""
        connection.exec_driver_sql(f"CREATE TABLE t (a VARCHAR {collation} PRIMARY KEY)")
        connection.exec_driver_sql("INSERT INTO t VALUES ('a'), ('A')")
        if where == "session":
            connection.exec_driver_sql("SET default_collation = 'nocase'")
    report = same(contract_of(odcs(A % "string")), engine)
    assert result(report, "unique", "a").answered_by == "scan"
    engine.dispose()


def test_texts_of_duckdb_are_a_key_without_a_collation(tmp_path: Path) -> None:
    """A text column with a key and no collation is proven unique."""
    source = duckdb_with(tmp_path, "CREATE TABLE t (a VARCHAR PRIMARY KEY)", "INSERT INTO t VALUES ('a'), ('A')")
    assert set(tiers(same(contract_of(odcs(A % "string")), source)).values()) == {"catalogue"}


def test_a_list_of_texts_in_a_check_of_duckdb_is_scanned(tmp_path: Path) -> None:
    """What a CHECK of DuckDB takes for equal depends on the collation of whoever wrote the row."""
    source = duckdb_with(
        tmp_path,
        "CREATE TABLE t (a VARCHAR CHECK (a IN ('x')))",
        "SET default_collation = 'nocase'",
        "INSERT INTO t VALUES ('X')",
    )
    rule = "[{metric: invalidValues, mustBe: 0, id: listed, arguments: {validValues: [x]}}]"
    report = same(contract_of(odcs(f"- {{name: a, logicalType: string, quality: {rule}}}")), source)
    assert result(report, "listed", "a").status == "failed"


def test_nan_keeps_no_bound_although_a_check_lets_it_through(tmp_path: Path) -> None:
    """A bound of a floating-point column is scanned."""
    source = duckdb_with(tmp_path, "CREATE TABLE t (a DOUBLE CHECK (a >= 0))", "INSERT INTO t VALUES (1), ('NaN')")
    report = same(contract_of(odcs("- {name: a, logicalType: number, logicalTypeOptions: {minimum: 0}}")), source)
    assert result(report, "minimum", "a").status == "failed"


def test_a_double_in_a_check_of_duckdb_is_no_exact_bound(tmp_path: Path) -> None:
    """DuckDB compares a decimal with a double as doubles, and shows 1e6 as 1000000.0."""
    source = duckdb_with(
        tmp_path,
        "CREATE TABLE t (a DECIMAL(38, 18) CHECK (a <= 1e6))",
        "INSERT INTO t VALUES (1000000.000000000000000001)",
    )
    report = same(contract_of(odcs("- {name: a, logicalType: number, logicalTypeOptions: {maximum: 1000000}}")), source)
    assert result(report, "maximum", "a").status == "failed"


def test_a_unique_index_of_sqlite_with_another_collation_is_no_key(tmp_path: Path) -> None:
    """An index of SQLite may tell apart what its column does not; a partial one or one of expressions says little."""
    for number, (column, index) in enumerate(
        (
            ("a TEXT COLLATE NOCASE NOT NULL", "(a COLLATE BINARY)"),
            ("a TEXT NOT NULL", "(a) WHERE a > 'b'"),
            ("a TEXT NOT NULL", "(a || '')"),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        source = sqlite_with(folder, f"CREATE TABLE t ({column})", f"CREATE UNIQUE INDEX i ON t {index}")
        report = same(contract_of(odcs(A % "string")), source)
        assert (result(report, "required", "a").answered_by, result(report, "unique", "a").answered_by) == (
            "catalogue",
            "scan",
        )


def test_a_missing_column_is_no_proof(tmp_path: Path) -> None:
    """A check that cannot be evaluated is errored with proofs as without."""
    source = duckdb_with(tmp_path, "CREATE TABLE t (b INTEGER PRIMARY KEY)")
    report = same(contract_of(odcs(A % "integer")), source)
    assert {one.status for one in report.results if one.check.column == "a"} == {"errored"}


def test_a_bound_of_another_type_is_errored_as_ever(tmp_path: Path) -> None:
    """A text that is to be at least 0 cannot be evaluated, whatever is declared."""
    source = duckdb_with(tmp_path, "CREATE TABLE t (a VARCHAR CHECK (a >= '0') NOT NULL)", "INSERT INTO t VALUES ('1')")
    report = same(contract_of(odcs("- {name: a, logicalType: number, logicalTypeOptions: {minimum: 0}}")), source)
    assert result(report, "minimum", "a").status == "errored"


def test_a_foreign_key_proves_only_the_very_reference(tmp_path: Path) -> None:
    """A reference to another table, or to another column, is scanned."""
    report = same(
        contract(),
        duckdb_with(
            tmp_path,
            "CREATE TABLE others (id INTEGER PRIMARY KEY)",
            "CREATE TABLE customers (id INTEGER NOT NULL UNIQUE)",
            DECLARED[1].replace("customers", "others"),
            "INSERT INTO others VALUES (7)",
            "INSERT INTO orders VALUES (1, 7, 1, DATE '2020-01-01', 'a')",
        ),
    )
    failed = [one for one in report.results if one.status == "failed"]
    assert [one.check.column for one in failed] == ["customer"]
    assert failed[0].answered_by == "scan"


# --------------------------------------------------------------------------- everything, with and without


def declare(url: str) -> None:
    """Declare of table `t` whatever its rows allow: NOT NULL, keys, and bounds of PostgreSQL."""
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    dialect = engine.dialect.name

    def attempt(statement: str) -> None:
        try:
            with engine.begin() as connection:
                connection.execution_options(no_parameters=True).exec_driver_sql(statement)
        except DBAPIError:
            pass  # the rows do not allow it

    with engine.connect() as connection:
        names = [one["name"] for one in sqlalchemy.inspect(connection).get_columns("t")]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    for name in quoted:
        if dialect != "sqlite":
            attempt(f"ALTER TABLE t ALTER COLUMN {name} SET NOT NULL")
        if dialect == "postgresql":
            attempt(f"ALTER TABLE t ADD CHECK ({name} IS NOT NULL)")
            with engine.connect() as connection:
                try:
                    low, high = connection.exec_driver_sql(f"SELECT min({name})::text, max({name})::text FROM t").one()
                except DBAPIError:
                    continue
            for operator, limit in ((">=", low), ("<=", high)):
                text = str(limit).replace("'", "''").replace("%", "%%")
                attempt(f"ALTER TABLE t ADD CHECK ({name} {operator} '{text}')")
    for position, name in enumerate(quoted):
        attempt(
            f"ALTER TABLE t ADD PRIMARY KEY ({name})"
            if dialect == "duckdb"
            else f"CREATE UNIQUE INDEX unique_{position} ON t ({name})"
        )
    engine.dispose()


@pytest.mark.skipif(not ALL, reason="the third-party test data is not here")
@pytest.mark.parametrize(("probe", "place"), list(_cases()))
def test_a_probe_says_the_same_with_and_without_proofs(
    probe: Probe, place: str, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every probe says the same with and without proofs, after all was declared that its rows allow."""

    def put_declared(where: str, data: Any, table: str = "t") -> str:
        source = put(where, data, table)
        if where in ("duckdb", "sqlite", "postgres") and not probe.rows.view:
            declare(source)
        return source

    monkeypatch.setattr("test_probes.check_contract", lambda made, source=None: same(made, source))
    assert_verdicts(evaluate(probe, place, put_declared, tmp_path), probe)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["duckdb", "parquet", pytest.param("postgres", marks=pytest.mark.service)])
@pytest.mark.parametrize("kind", ["clean", "dirty"])
def test_the_wide_table_says_the_same_with_and_without_proofs(
    place: str, kind: str, request: pytest.FixtureRequest
) -> None:
    """The benchmark's table says the same of every rule, clean and dirty."""
    made = request.getfixturevalue("loaded" if place == "postgres" else "bench")
    name = "csv" if place == "postgres" else place
    source = made.postgres[kind] if place == "postgres" else None
    report = same(load(made.folder / f"contract_{name}_{kind}.odcs.yaml"), source)
    if place == "parquet":
        assert sum(one.answered_by == "file statistics" for one in report.results) > 10


# --------------------------------------------------------------------------- random tables with random constraints

Declared: TypeAlias = "tuple[dict[str, str], list[str]]"
"""What is declared of each column, and of the table as a whole."""
KINDS = {"duckdb": DUCKDB, "sqlite": SQLITE, "postgres": POSTGRES}
LIMITS = {
    "i": ["-1", "0", "1", "2", "(-3)", "9007199254740993"],
    "d": ["0", "0.1", "-1.5", "1", "1000000", "1e6", "2.5"],
    "f": ["0", "0.1", "0.3", "1", "-1.5"],
    "day": ["DATE '2020-01-01'", "DATE '1969-12-31'", "DATE '2024-02-29'", "'2020-01-02'"],
    "at": ["TIMESTAMP '2020-01-01'", "TIMESTAMP '1970-01-01 00:00:00.5'"],
    "s": ["'a'", "''", "'abc'", "'A'", "'N/A'"],
}


@st.composite
def conditions(draw: st.DrawFn, name: str) -> str:
    """What a CHECK may say of a column."""
    limit = st.sampled_from(LIMITS[name])
    operator = st.sampled_from([">=", ">", "<=", "<", "=", "<>"])
    size = st.builds(lambda sign, size: f'length("{name}") {sign} {size}', operator, st.integers(0, 3))
    pieces = st.one_of(
        st.builds(lambda sign, one: f'"{name}" {sign} {one}', operator, limit),
        st.builds(lambda sign, one: f'{one} {sign} "{name}"', operator, limit),
        st.builds(lambda low, high: f'"{name}" BETWEEN {low} AND {high}', limit, limit),
        st.builds(
            lambda negated, some: f'"{name}" {negated}IN ({", ".join(some)})',
            st.sampled_from(["", "NOT "]),
            st.lists(limit, min_size=1, max_size=3),
        ),
        st.sampled_from([f'"{name}" IS NOT NULL', f'"{name}" IS NULL']),
        *([size] if name == "s" else []),
    )
    one, other = draw(pieces), draw(pieces)
    shape = st.sampled_from(
        ["{0}", "{0} AND {1}", "{0} OR {1}", "NOT ({0})", "{2} IS NULL OR {0}", "NOT ({0} AND {1})"]
    )
    return draw(shape).format(one, other, f'"{name}"')


@st.composite
def constraints(draw: st.DrawFn) -> Declared:
    """What is declared of each column, and of the table."""
    own = {}
    for name in DUCKDB:
        parts = [part for part in ("NOT NULL", "UNIQUE") if draw(st.booleans()) and (part, name) != ("UNIQUE", "o")]
        if name in LIMITS and draw(st.booleans()):
            parts.append(f"CHECK ({draw(conditions(name))})")
        own[name] = " ".join(parts)
    names = st.lists(st.sampled_from(["s", "i", "d", "o", "day"]), min_size=1, max_size=3, unique=True)
    keys = [f"UNIQUE ({', '.join(some)})" for some in draw(st.lists(names, max_size=2))]
    return own, keys


def fill(
    engine: sqlalchemy.Engine, place: str, declared: tuple[dict[str, str], list[str]], data: Sequence[Any]
) -> None:
    """Make table `t` with what is declared, and put in every row that keeps it."""
    kinds, (own, keys) = KINDS[place], declared
    columns = [f'"{name}" {kind} {own[name]}' for name, kind in kinds.items()]

    def run(statement: str) -> bool:
        try:
            with engine.begin() as connection:
                connection.execution_options(no_parameters=True).exec_driver_sql(statement)
        except DBAPIError:
            return False
        return True

    assert run("DROP TABLE IF EXISTS t")
    if not run(f"CREATE TABLE t ({', '.join([*columns, *keys])})"):
        columns = [f'"{name}" {kind} {own[name].partition("CHECK")[0]}' for name, kind in kinds.items()]
        assert run(f"CREATE TABLE t ({', '.join([*columns, *keys])})")
    for row in data:
        run(f"INSERT INTO t VALUES ({', '.join(_literal(row[name], place) for name in kinds)})")


@pytest.fixture(scope="module", params=["duckdb", "sqlite", pytest.param("postgres", marks=pytest.mark.service)])
def database(request: pytest.FixtureRequest) -> Iterator[tuple[str, sqlalchemy.Engine]]:
    """A database of each kind, for one example after the other."""
    place: str = request.param
    if place == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        name = server.new_database()
        engine = sqlalchemy.create_engine(server.url(name))
        yield place, engine
        engine.dispose()
        server.drop_database(name)
        return
    url = "duckdb:///:memory:" if place == "duckdb" else "sqlite://"
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.StaticPool)
    yield place, engine
    engine.dispose()


@QUICK
@given(table=tables(), declared=constraints(), data=st.data())
def test_a_random_table_says_the_same_with_and_without_proofs(
    table: dict[str, Any], declared: Declared, data: st.DataObject, database: tuple[str, Any]
) -> None:
    """Whatever is declared of a table and promised of it, proofs change no status, no number and no word."""
    place, engine = database
    fill(engine, place, declared, data.draw(rows(nan=place != "sqlite")))
    report = same(contract_of(odcs(schema=[table])), engine)
    for tier in {one.answered_by for one in report.results if one.check.column is not None}:
        event(tier)
