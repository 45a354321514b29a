"""What PostgreSQL enforces is proven, and what only looks like it is scanned."""

from __future__ import annotations

from typing import Any

import pytest
from builders import contract_of, odcs, result
from databases import Postgres
from test_proofs import contract, said, same, tiers

from contract_checks.checks import Settings
from contract_checks.run import check_contract

pytestmark = pytest.mark.service

KEY = "- {name: a, logicalType: %s, required: true, unique: true}"
CUSTOMERS = "CREATE TABLE customers (id integer NOT NULL UNIQUE)"
ORDERS = """CREATE TABLE orders (
  id integer PRIMARY KEY, customer integer REFERENCES customers (id),
  amount numeric(10, 2) CHECK (amount BETWEEN 0 AND 100), day date CHECK (day >= '2020-01-01'), note text NOT NULL)"""


@pytest.fixture
def execute(postgres: Postgres, postgres_database: str) -> Any:
    """Runs statements in the database, each for itself."""
    with postgres.connect(postgres_database) as connection:

        def run(*statements: str) -> None:
            for statement in statements:
                connection.execute(statement)

        yield run


@pytest.fixture
def url(postgres: Postgres, postgres_database: str) -> str:
    """The URL of the database."""
    return postgres.url(postgres_database)


def of(url: str, kind: str = "integer") -> dict[str, str]:
    """Who says of `t` that `a` is filled, and that it is unique."""
    found = tiers(same(contract_of(odcs(KEY % kind)), url))
    return {"required": found["a/required"], "unique": found["a/unique"]}


BLIND = (
    "CREATE COLLATION blind (provider = libc, locale = 'C.UTF-8')",
    "UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'blind'",
)
"""A collation that may take different texts for one, also where the server was built without ICU."""
CATALOGUE = {"required": "catalogue", "unique": "catalogue"}
SCAN = {"required": "scan", "unique": "scan"}


def test_declared_constraints_need_no_statement(execute: Any, url: str) -> None:
    """NOT NULL, keys, CHECK and foreign keys that are valid are proven; not one statement asks for data."""
    execute(CUSTOMERS, ORDERS)
    execute("INSERT INTO customers VALUES (1)", "INSERT INTO orders VALUES (1, 1, 5, '2020-01-02', 'x')")
    report = same(contract(), url)
    assert set(tiers(report).values()) == {"catalogue"}
    assert [one.statements for one in report.datasets] == [(), ()]


def test_a_partitioned_table_has_the_constraints_of_its_partitions(execute: Any, url: str) -> None:
    """The constraints of a partitioned table are proven."""
    execute(
        "CREATE TABLE t (a integer PRIMARY KEY) PARTITION BY RANGE (a)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10)",
        "INSERT INTO t VALUES (1)",
    )
    assert of(url) == CATALOGUE


def test_a_partition_that_is_elsewhere_is_scanned(execute: Any, url: str, postgres_database: str) -> None:
    """Nothing is enforced in a foreign table, so a table with one among its partitions vouches for nothing."""
    execute(
        "CREATE EXTENSION file_fdw",
        "CREATE SERVER files FOREIGN DATA WRAPPER file_fdw",
        "CREATE TABLE t (a integer NOT NULL) PARTITION BY RANGE (a)",
        "CREATE FOREIGN TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10) SERVER files "
        "OPTIONS (program 'printf \"1\\n\\n1\\n\"', format 'csv')",
    )
    assert of(url) == SCAN
    execute("ALTER TABLE t DETACH PARTITION t1", "DROP TABLE t", "ALTER FOREIGN TABLE t1 RENAME TO t")
    assert of(url) == SCAN
    report = check_contract(contract_of(odcs(KEY % "integer")), source=url)
    assert {one.status for one in report.results if one.check.column == "a"} == {"failed"}


def test_a_table_with_children_is_scanned(execute: Any, url: str) -> None:
    """A SELECT reads the rows of inheriting tables, for which the key of the parent does not hold."""
    execute("CREATE TABLE t (a integer PRIMARY KEY)", "CREATE TABLE c () INHERITS (t)")
    execute("INSERT INTO t VALUES (1)", "INSERT INTO c VALUES (1)")
    assert of(url) == SCAN
    report = check_contract(contract_of(odcs(KEY % "integer")), source=url)
    assert result(report, "unique", "a").status == "failed"


def test_a_view_vouches_for_nothing(execute: Any, url: str) -> None:
    """Views and materialized views are scanned."""
    execute("CREATE TABLE b (a integer PRIMARY KEY)", "CREATE VIEW t AS SELECT * FROM b")
    assert of(url) == SCAN
    execute("DROP VIEW t", "CREATE MATERIALIZED VIEW t AS SELECT * FROM b", "CREATE UNIQUE INDEX ON t (a)")
    assert of(url) == SCAN


@pytest.mark.parametrize(
    ("index", "proven"),
    [
        ("CREATE UNIQUE INDEX ON t (a)", True),
        ("CREATE UNIQUE INDEX ON t (a) INCLUDE (b)", True),
        ("CREATE UNIQUE INDEX ON t (b) INCLUDE (a)", False),
        ("CREATE UNIQUE INDEX ON t (a, b)", False),
        ("CREATE UNIQUE INDEX ON t (a) WHERE b > 0", False),
        ("CREATE UNIQUE INDEX ON t ((a + 0))", False),
        ("CREATE INDEX ON t (a)", False),
        ("ALTER TABLE t ADD UNIQUE (a) DEFERRABLE INITIALLY DEFERRED", True),
        ("ALTER TABLE t ADD UNIQUE NULLS NOT DISTINCT (a)", True),
        ("ALTER TABLE t ADD EXCLUDE USING btree (a WITH =)", False),
    ],
)
def test_a_key_is_a_whole_unique_index_of_plain_columns(execute: Any, url: str, index: str, proven: bool) -> None:
    """Partial indexes, expressions, and columns that are only carried along are no key."""
    execute("CREATE TABLE t (a integer, b integer)", "INSERT INTO t VALUES (1, 1), (2, 2)", index)
    assert of(url)["unique"] == ("catalogue" if proven else "scan")


def test_an_index_that_could_not_be_built_is_no_key(execute: Any, url: str) -> None:
    """A unique index that CREATE INDEX CONCURRENTLY left invalid proves nothing."""
    execute("CREATE TABLE t (a integer)", "INSERT INTO t VALUES (1), (1)")
    with pytest.raises(Exception, match="duplicated"):
        execute("CREATE UNIQUE INDEX CONCURRENTLY ON t (a)")
    assert of(url)["unique"] == "scan"


def test_a_key_compares_as_the_column_does(execute: Any, url: str) -> None:
    """An index that tells apart what the column's collation or type does not is no key of it."""
    execute(*BLIND, "CREATE TABLE t (a text COLLATE blind)", 'CREATE UNIQUE INDEX ON t (a COLLATE "C")')
    execute("INSERT INTO t VALUES ('a'), ('A')")
    assert of(url, "string")["unique"] == "scan"
    execute("TRUNCATE t", "CREATE UNIQUE INDEX ON t (a)")
    assert of(url, "string")["unique"] == "catalogue"
    execute("DROP TABLE t", 'CREATE TABLE t (a text COLLATE "C")', "CREATE UNIQUE INDEX ON t (a COLLATE blind)")
    assert of(url, "string")["unique"] == "catalogue"
    execute("DROP TABLE t", "CREATE TABLE t (a text)", "CREATE UNIQUE INDEX ON t (a text_pattern_ops)")
    assert of(url, "string")["unique"] == "scan"


def test_a_collation_that_changed_since_the_index_was_built_is_no_proof(execute: Any, url: str) -> None:
    """An index of another version of its collation may have lost its order, and let duplicates in."""
    execute("CREATE COLLATION own (provider = libc, locale = 'C.UTF-8')", "CREATE TABLE t (a text COLLATE own UNIQUE)")
    assert of(url, "string")["unique"] == "catalogue"
    execute("UPDATE pg_collation SET collversion = '0.1' WHERE collname = 'own'")
    assert of(url, "string")["unique"] == "scan"


def test_not_null_of_a_domain_or_of_a_row_is_no_proof(execute: Any, url: str) -> None:
    """A column of a NOT NULL domain may read as NULL, and so may a row that is there."""
    execute("CREATE DOMAIN filled AS integer NOT NULL", "CREATE TABLE t (a filled)")
    assert of(url)["required"] == "scan"
    execute("DROP TABLE t", "CREATE TABLE t (a filled NOT NULL)")
    assert of(url)["required"] == "catalogue"
    execute("DROP TABLE t", "CREATE TYPE pair AS (x integer, y integer)", "CREATE TABLE t (a pair NOT NULL)")
    execute("INSERT INTO t VALUES (ROW(NULL, NULL))")
    report = same(contract_of(odcs("- {name: a, logicalType: object, required: true}")), url)
    assert result(report, "required", "a").answered_by == "scan"
    assert result(report, "required", "a").status == "failed"


def test_not_null_that_is_not_valid_is_no_proof(execute: Any, url: str, postgres: Postgres) -> None:
    """NOT NULL … NOT VALID (PostgreSQL 18) says nothing of the rows before it."""
    with postgres.connect() as connection:
        if connection.info.server_version < 180000:
            pytest.skip("it came with PostgreSQL 18")
    execute("CREATE TABLE t (a integer)", "INSERT INTO t VALUES (NULL)")
    execute("ALTER TABLE t ADD CONSTRAINT c NOT NULL a NOT VALID")
    assert of(url)["required"] == "scan"
    execute("UPDATE t SET a = 1", "ALTER TABLE t VALIDATE CONSTRAINT c")
    assert of(url)["required"] == "catalogue"


BOUND = "- {name: a, logicalType: %s, logicalTypeOptions: {minimum: 0}}"


@pytest.mark.parametrize(
    ("kind", "check", "proven"),
    [
        ("integer", "CHECK (a >= 0)", True),
        ("integer", "CHECK (a > -1)", False),
        ("integer", "CHECK (a IN (1, 2))", True),
        ("integer", "CHECK (a BETWEEN 5 AND 10)", True),
        ("integer", "CHECK (a IS NULL OR a >= 0)", True),
        ("integer", "CHECK (a IS NOT NULL OR a >= 0)", False),
        ("integer", "CHECK (a >= 0 OR a < -5)", False),
        ("integer", "CHECK (abs(a) >= 0)", False),
        ("numeric", "CHECK (a >= 0)", False),  # NaN passes
        ("numeric", "CHECK (a >= 0 AND a <= 10)", True),
        ("numeric", "CHECK (a IN (1, 2.5))", True),
        ("double precision", "CHECK (a >= 0 AND a <= 10)", False),
    ],
)
def test_a_bound_is_proven_by_a_check_that_is_as_strict(
    execute: Any, url: str, kind: str, check: str, proven: bool
) -> None:
    """A CHECK proves a bound if no value that keeps it breaks the bound, NaN included."""
    execute(f"CREATE TABLE t (a {kind} {check})")
    if kind == "numeric" and not proven:
        execute("INSERT INTO t VALUES ('NaN')")
    report = same(contract_of(odcs(BOUND % ("integer" if kind == "integer" else "number"))), url)
    assert result(report, "minimum", "a").answered_by == ("catalogue" if proven else "scan")


TEXTS = """
- name: a
  logicalType: string
  logicalTypeOptions: {minLength: 1, maxLength: 3}
  quality: [{metric: invalidValues, mustBe: 0, id: listed, arguments: {validValues: [ab, c, d]}}]
"""


@pytest.mark.parametrize(
    ("kind", "check", "proven"),
    [
        ("text", "CHECK (a IN ('ab', 'c'))", {"minLength", "maxLength", "listed"}),
        ("varchar(9)", "CHECK (a IN ('ab', 'c'))", {"minLength", "maxLength", "listed"}),
        ("text", "CHECK (a = 'ab')", {"minLength", "maxLength", "listed"}),
        ("text", "CHECK (a IN ('ab', 'x'))", {"minLength", "maxLength"}),
        ("text", "CHECK (length(a) >= 1 AND char_length(a) < 4)", {"minLength", "maxLength"}),
        ("text", "CHECK (length(a) = 2)", {"minLength", "maxLength"}),
        ("text", "CHECK (octet_length(a) = 2)", set()),
        ("text", "CHECK (lower(a) IN ('ab', 'c'))", set()),
        ("text", "CHECK (a IN ('ab', E'c\\\\'))", set()),
        ("char(3)", "CHECK (a IN ('ab', 'c'))", set()),
        ("text COLLATE blind", "CHECK (a IN ('ab', 'c'))", set()),
        ("text", "CHECK ((a COLLATE blind) IN ('ab', 'c'))", set()),
    ],
)
def test_a_list_or_a_length_is_proven_by_a_check_on_exact_text(
    execute: Any, url: str, kind: str, check: str, proven: set[str]
) -> None:
    """A CHECK proves lists and lengths of texts that compare character by character."""
    execute(*BLIND, f"CREATE TABLE t (a {kind} {check})", "INSERT INTO t VALUES ('ab')")
    report = same(contract_of(odcs(TEXTS)), url)
    rules = ("minLength", "maxLength", "listed")
    assert {rule for rule in rules if result(report, rule, "a").answered_by == "catalogue"} == proven


def test_a_check_with_a_function_of_ones_own_is_no_proof(execute: Any, url: str) -> None:
    """A function or an operator that only has the name of PostgreSQL's own is not taken for it."""
    execute(
        "CREATE FUNCTION public.length(text) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 2'",
        "SET search_path = public, pg_catalog",
        "CREATE TABLE t (a text CHECK (length(a) = 2))",
        "INSERT INTO t VALUES ('far too long')",
        "ALTER ROLE postgres SET search_path = public, pg_catalog",
    )
    try:
        report = check_contract(contract_of(odcs(TEXTS)), source=url)
        scanned = check_contract(contract_of(odcs(TEXTS)), source=url, settings=Settings(proofs=False))
        assert said(report) == said(scanned)
        assert result(report, "maxLength", "a").answered_by == "scan"
    finally:
        execute("ALTER ROLE postgres RESET search_path")


@pytest.mark.parametrize("state", ["NOT VALID", "NOT ENFORCED"])
def test_a_check_that_is_not_valid_is_no_proof(execute: Any, url: str, state: str, postgres: Postgres) -> None:
    """A CHECK that was not validated, or is not enforced, says nothing of the rows."""
    with postgres.connect() as connection:
        if state == "NOT ENFORCED" and connection.info.server_version < 180000:
            pytest.skip("it came with PostgreSQL 18")
    execute("CREATE TABLE t (a integer)", "INSERT INTO t VALUES (-1)", f"ALTER TABLE t ADD CHECK (a >= 0) {state}")
    report = same(contract_of(odcs(BOUND % "integer")), url)
    assert result(report, "minimum", "a").status == "failed"


def references(url: str) -> str:
    """Who says that each order's customer is there."""
    report = same(contract(), url)
    (found,) = [one for one in report.results if one.check.rule == "foreignKey"]
    return found.answered_by


def test_a_foreign_key_is_proven_while_it_is_enforced(execute: Any, url: str) -> None:
    """A foreign key whose triggers are switched off, on either side, proves nothing."""
    execute(CUSTOMERS, ORDERS)
    assert references(url) == "catalogue"
    for table in ("orders", "customers"):
        execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        assert references(url) == "scan"
        execute(f"ALTER TABLE {table} ENABLE TRIGGER ALL")
    assert references(url) == "catalogue"


@pytest.mark.parametrize(
    "reference",
    [
        "FOREIGN KEY (customer) REFERENCES customers (id) NOT VALID",
        "FOREIGN KEY (customer) REFERENCES customers (id) NOT ENFORCED",
        "FOREIGN KEY (customer) REFERENCES customers (other)",
        "FOREIGN KEY (customer) REFERENCES elsewhere.customers (id)",
        "FOREIGN KEY (customer, id) REFERENCES customers (id, other)",
    ],
)
def test_a_foreign_key_proves_only_the_very_reference(
    execute: Any, url: str, reference: str, postgres: Postgres
) -> None:
    """A foreign key that is not valid, or leads to another table or other columns, proves nothing."""
    with postgres.connect() as connection:
        if "ENFORCED" in reference and connection.info.server_version < 180000:
            pytest.skip("it came with PostgreSQL 18")
    execute(
        "CREATE SCHEMA elsewhere",
        "CREATE TABLE elsewhere.customers (id integer PRIMARY KEY)",
        "CREATE TABLE customers (id integer NOT NULL UNIQUE, other integer UNIQUE, UNIQUE (id, other))",
        ORDERS.replace("REFERENCES customers (id)", ""),
        f"ALTER TABLE orders ADD {reference}",
    )
    assert references(url) == "scan"


def test_a_reference_to_rows_that_a_policy_hides_is_scanned(execute: Any, url: str, postgres: Postgres) -> None:
    """Whoever may not see all rows of the target is told what a scan finds."""
    role = "reader"
    execute(CUSTOMERS, ORDERS, "INSERT INTO customers VALUES (1)", "ALTER TABLE customers ENABLE ROW LEVEL SECURITY")
    execute("INSERT INTO orders VALUES (1, 1, 1, '2020-01-01', 'a')", f"CREATE ROLE {role} LOGIN")
    try:
        execute(f"GRANT SELECT ON orders, customers TO {role}")
        own = postgres.url(url.rpartition("/")[2].partition("?")[0], role)
        report = same(contract(), own)
        assert [one.check.column for one in report.results if one.status == "failed"] == ["customer"]
        execute(f"REVOKE SELECT ON orders FROM {role}")
        errored = same(contract(), own)
        assert {one.status for one in errored.datasets[0].results if one.check.column == "note"} == {"errored"}
    finally:
        execute(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
