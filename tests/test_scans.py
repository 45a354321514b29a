"""Metrics → statements: how few they are, what each of them is, and what fills their placeholders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from contract_checks.metrics import (
    Aggregate,
    AllOf,
    Bound,
    Columns,
    DuplicateKeys,
    FoundColumn,
    HasFormat,
    Length,
    Matches,
    Measurement,
    Metric,
    NotNull,
    OrphanKeys,
    Query,
    RowCount,
    UnparsedValues,
    ValueCount,
    Violations,
)
from contract_checks.scans import (
    Cell,
    Compiled,
    aggregate_scan,
    compile_scans,
    query_sql,
    sample_scan,
    shown_field,
    split,
    without,
)
from contract_checks.sql import Relation, Unmeasurable

COLUMNS = (
    FoundColumn("id", "INTEGER", "integer"),
    FoundColumn("name", "VARCHAR", "string"),
    FoundColumn("n", "INTEGER", "integer"),
    FoundColumn("amount", "DOUBLE", "number"),
    FoundColumn("tags", "VARCHAR[]", "array"),
    FoundColumn("Odd Name", "VARCHAR", "string"),
)
TABLE = Relation("table t", '"t"', "duckdb", COLUMNS, placeholder='"t"')
REQUIRED = Violations(("id",), NotNull())


def compiled(
    *metrics: Metric, relation: Relation = TABLE, targets: dict[str, Relation | str] | None = None
) -> Compiled:
    """The scans of some metrics."""
    return compile_scans(metrics, relation, targets or {})


def kinds(found: Compiled) -> list[str]:
    return [scan.kind for scan in found.scans]


def errors(found: Compiled) -> list[str]:
    return [one.error for one in found.known if one.error is not None]


# --------------------------------------------------------------------------- how many statements


def test_row_rules_and_aggregates_share_one_scan() -> None:
    """Counts, bounds, lengths, translatable patterns and aggregates are cells of one statement."""
    metrics: list[Metric] = [
        RowCount(),
        REQUIRED,
        Violations(("name",), Matches("^a")),
        Violations(("name",), Length(1)),
        Violations(("amount",), Bound(">=", 0)),
        Violations(("tags", "[]"), Length(1)),
        Aggregate("max", ("id",)),
        ValueCount(("tags", "[]")),
    ]
    [scan] = compiled(*metrics).scans
    assert scan.kind == "aggregate"
    assert scan.metrics == tuple(metrics)


def test_equal_metrics_are_measured_once() -> None:
    """Two checks that need the same number share it, even where one is written anew."""
    found = compiled(REQUIRED, Violations(("id",), NotNull()), DuplicateKeys((("id",),)), DuplicateKeys((("id",),)))
    assert [len(scan.metrics) for scan in found.scans] == [1, 1]


def test_each_key_relationship_and_query_is_a_statement_of_its_own() -> None:
    """Beside the shared scan there is a grouping per key, an anti-join per relationship, and each query."""
    found = compiled(
        Query("SELECT 1"),
        DuplicateKeys((("id",),)),
        REQUIRED,
        DuplicateKeys((("id",), ("n",))),
        OrphanKeys((("id",),), "u", (("id",),)),
        targets={"u": TABLE},
    )
    assert kinds(found) == ["aggregate", "query", "duplicates", "duplicates", "orphans"]


@pytest.mark.parametrize(
    "condition", [Matches("(?=a)"), HasFormat("email"), AllOf((Length(1), Matches("(?!a)")))], ids=str
)
def test_what_the_engine_cannot_say_is_asked_by_values(condition: Matches) -> None:
    """A condition without an exact translation is judged on the distinct values of its column."""
    [scan] = compiled(Violations(("name",), condition)).scans
    assert scan.kind == "values"
    assert scan.sql == (
        'SELECT CAST("name" AS TEXT) COLLATE "binary", COUNT(*) FROM "t" '
        'WHERE NOT CAST("name" AS TEXT) COLLATE "binary" IS NULL GROUP BY CAST("name" AS TEXT) COLLATE "binary"'
    )


def test_the_values_of_all_conditions_are_judged_by_all_of_them() -> None:
    """Where one of several conditions needs the values, none of the others is forgotten."""
    condition = AllOf((Length(2), Matches("(?!a)")))
    [scan] = compiled(Violations(("name",), condition)).scans
    assert scan.condition == condition


def test_nulls_are_among_the_values_where_they_matter() -> None:
    """A NULL is judged among the values only by a condition that is about NULL."""
    [scan] = compiled(Violations(("name",), AllOf((NotNull(), Matches("(?!a)"))))).scans
    rows = duckdb.execute(f"WITH t AS (SELECT unnest(['b', NULL, NULL]) AS name) {scan.sql}").fetchall()
    assert sorted(rows, key=str) == [("b", 1), (None, 2)]


def test_the_catalogue_answers_without_a_statement() -> None:
    """Columns, and types of a typed source, cost no statement."""
    found = compiled(Columns(), UnparsedValues(("id",)))
    assert found.scans == ()
    assert found.known == (
        Measurement(Columns(), COLUMNS, answered_by="catalogue"),
        Measurement(UnparsedValues(("id",)), 0, answered_by="catalogue"),
    )


# --------------------------------------------------------------------------- what cannot be asked


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        (Violations(("nope",), NotNull()), "column 'nope' does not exist in table t"),
        (DuplicateKeys((("nope",),)), "column 'nope' does not exist"),
        (Aggregate("max", ("nope",)), "column 'nope' does not exist"),
        (Violations(("id",), Matches("a")), "it needs text, but the column is INTEGER"),
        (Violations(("name",), Bound(">=", 0)), "'0' cannot be compared with a column of type VARCHAR"),
        (Violations(("name",), Matches("(")), "not an ECMA-262 regular expression"),
        (Violations(("name",), AllOf((Matches("(?=a)"), Bound(">=", 0)))), "cannot be compared"),
        (Violations(("tags", "[]"), Matches("(?=a)")), "for items of arrays"),
        (OrphanKeys((("id",),), "u", (("id",),)), "the referenced table 'u' is not known"),
        (Query("DROP TABLE t"), "not a SELECT but DROP"),
        (Query("SELECT {column} FROM t"), "does not belong to a column"),
    ],
    ids=str,
)
def test_a_metric_that_cannot_be_asked_touches_no_other(metric: Metric, says: str) -> None:
    """What makes no sense is known to be an error, with the reason, and the rest is measured still."""
    found = compiled(metric, REQUIRED)
    assert [scan.metrics for scan in found.scans] == [(REQUIRED,)]
    [reason] = errors(found)
    assert says in reason


def test_a_reference_that_is_missing_says_why() -> None:
    """The reason why a referenced table cannot be read becomes the reason of the relationship's check."""
    found = compiled(OrphanKeys((("id",),), "u", (("id",),)), targets={"u": "there is no table 'u'"})
    assert errors(found) == ["there is no table 'u'"]


def test_a_name_that_could_be_two_columns_is_not_guessed() -> None:
    """A column is found by its exact name, else by the only one that differs in case, else not at all."""
    two = replace(TABLE, columns=(FoundColumn("Ab", "INTEGER", "integer"), FoundColumn("aB", "INTEGER", "integer")))
    assert errors(compiled(Violations(("AB",), NotNull()), relation=two)) == [
        "column 'AB' could be any of Ab, aB in table t"
    ]
    assert errors(compiled(Violations(("aB",), NotNull()), relation=two)) == []
    assert errors(compiled(Violations(("ID",), NotNull()))) == []


# --------------------------------------------------------------------------- the statements


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        ("(1, 1), (1, 2), (2, 3)", ("id",), [(1, 2, 1, 2)]),
        ("(1, 1), (1, 1), (2, 3)", ("id", "n"), [(1, 1, 2, 1, 2)]),
        ("(NULL, 1), (NULL, 1)", ("id",), []),
        ("(1, NULL), (1, NULL)", ("id", "n"), []),
        ("(5, 7), (6, 7), (8, 9)", ("n",), [(7, 2, 1, 2)]),
        ("(1, 1), (2, 2)", ("id",), []),
    ],
)
def test_duplicates_are_counted_by_key_and_by_row(
    rows: str, columns: tuple[str, ...], expected: list[tuple[int, ...]]
) -> None:
    """The statement gives each recurring key with its rows, and all keys and rows; NULL is no duplicate."""
    [scan] = compiled(DuplicateKeys(tuple((name,) for name in columns))).scans
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) v(id, n)")
        assert connection.execute(scan.sql).fetchall() == expected


@pytest.mark.parametrize(
    ("rows", "expected"), [("(1), (2), (NULL)", [(2, 1)]), ("(1), (NULL)", []), ("(3), (3)", [(3, 2), (3, 2)])]
)
def test_orphans_are_rows_without_their_target(rows: str, expected: list[tuple[int, ...]]) -> None:
    """A row whose whole key is there and is not in the target is an orphan; a key with a NULL is none."""
    target = replace(TABLE, sql='"u"')
    [scan] = compiled(OrphanKeys((("id",),), "u", (("n",),)), targets={"u": target}).scans
    tables = f"t AS (SELECT * FROM (VALUES {rows}) v(id)), u AS (SELECT 1 AS n UNION ALL SELECT NULL)"
    assert duckdb.execute(f"WITH {tables} {scan.sql}").fetchall() == expected


def test_names_are_always_quoted() -> None:
    """Reserved words, blanks and quotes in names are no trouble."""
    columns = tuple(FoundColumn(name, "INTEGER", "integer") for name in ("select", 'a"b', "m0", "%s"))
    relation = Relation("t", '"order"', "duckdb", columns)
    [scan] = compiled(*(Violations((one.name,), NotNull()) for one in columns), relation=relation).scans
    duckdb.sql('CREATE TEMP TABLE "order" ("select" INTEGER, "a""b" INTEGER, m0 INTEGER, "%s" INTEGER)')
    try:
        assert duckdb.sql(scan.sql).fetchall() == [(0, 0, 0, 0)]
    finally:
        duckdb.sql('DROP TABLE "order"')


def test_a_scan_can_be_taken_apart() -> None:
    """A shared scan is split into single ones to find a culprit, and put together again without it."""
    metrics: list[Metric] = [RowCount(), REQUIRED, Aggregate("sum", ("id",))]
    [scan] = compiled(*metrics).scans
    assert [part.metrics for part in split(scan, TABLE)] == [(one,) for one in metrics]
    rest = without(scan, [REQUIRED], TABLE)
    assert rest is not None
    assert rest.metrics == (RowCount(), Aggregate("sum", ("id",)))
    assert without(scan, metrics, TABLE) is None


def test_cells_are_in_the_order_of_the_metrics() -> None:
    """Cell i of a shared scan answers metric i."""
    scan = aggregate_scan([Cell(RowCount(), "7"), Cell(REQUIRED, "0.5", "[1]")], TABLE)
    assert scan.sql == 'SELECT 7 AS m0, 0.5 AS m1, [1] AS p1 FROM "t"'
    assert [one.sql for one in split(scan, TABLE)] == ['SELECT 7 AS m0 FROM "t"', 'SELECT 0.5 AS m0 FROM "t"']


# --------------------------------------------------------------------------- users' queries


@pytest.mark.parametrize("name", ["object", "table", "model", "schema", "dataset"])
@pytest.mark.parametrize("spelling", ["{%s}", "${%s}", "{ %s }", "${ %s }"])
def test_a_placeholder_of_the_table_is_filled(name: str, spelling: str) -> None:
    """The table has five names in placeholders, with or without a dollar sign and blanks."""
    assert query_sql(Query(f"SELECT COUNT(*) FROM {spelling % name}"), TABLE) == 'SELECT COUNT(*) FROM "t"'


@pytest.mark.parametrize("name", ["property", "column", "field"])
@pytest.mark.parametrize("spelling", ["{%s}", "${%s}", "{ %s }"])
def test_a_placeholder_of_the_column_is_filled(name: str, spelling: str) -> None:
    """The column has three names in placeholders and is quoted as the database spells it."""
    query = Query(f"SELECT MAX({spelling % name}) FROM t", ("odd name",))
    assert query_sql(query, TABLE) == 'SELECT MAX("Odd Name") FROM t'


def test_a_placeholder_of_a_field_is_its_path() -> None:
    """A nested field is named below its column."""
    relation = replace(TABLE, columns=(FoundColumn("a", "STRUCT(b INTEGER)", "object"),))
    assert query_sql(Query("SELECT MAX({column}) FROM t", ("a", "b")), relation) == 'SELECT MAX("a"."b") FROM t'


@pytest.mark.parametrize("braces", ["[0-9]{2}", "a{1,3}", "{nothing}", "{}", "{{", "${other}"])
def test_braces_of_a_pattern_stay_what_they_are(braces: str) -> None:
    """Only the closed list of names is filled; every other brace belongs to the query."""
    query = f"SELECT COUNT(*) FROM t WHERE regexp_matches(name, '{braces}')"
    assert query_sql(Query(query), TABLE) == query


def test_a_query_is_sent_as_it_was_written() -> None:
    """Apart from placeholders and the last semicolon a query is not rewritten."""
    query = "SELECT  count( * ) /* why */ FROM t where name like '50%'"
    assert query_sql(Query(f"  {query} ;\n"), TABLE) == query


def test_what_a_placeholder_brings_in_is_checked_too() -> None:
    """A query is proven harmless after its placeholders are filled."""
    hostile = replace(TABLE, placeholder="read_csv('/etc/passwd')")
    with pytest.raises(Unmeasurable, match="reaches beyond"):
        query_sql(Query("SELECT COUNT(*) FROM {table}"), hostile)


# --------------------------------------------------------------------------- samples


def test_a_sample_scan_shows_keys_fields_and_who_broke_what() -> None:
    """One statement shows the key and the fields of every offending row, and a flag per metric."""
    metrics = [Violations(("amount",), Bound(">=", 0)), Violations(("name",), NotNull())]
    scan = sample_scan(metrics, (("id",),), TABLE)
    assert scan is not None
    assert scan.shown == (("id",), ("amount",), ("name",))
    rows = "(1, 'a', -1.0), (2, NULL, 1.0), (3, 'c', 1.0), (4, NULL, -1.0)"
    found = duckdb.execute(f"WITH t AS (SELECT * FROM (VALUES {rows}) v(id, name, amount)) {scan.sql} ORDER BY id")
    assert found.fetchall() == [(1, -1, "a", 1, 0), (2, 1, None, 0, 1), (4, -1, None, 1, 1)]


def test_a_sample_scan_stops_at_its_limit() -> None:
    """A limit is part of the statement, so that a frequent offender is not fetched whole."""
    scan = sample_scan([REQUIRED], (), TABLE, 5)
    assert scan is not None
    assert sqlglot.parse_one(scan.sql, dialect="duckdb").find(exp.Limit) is not None


@pytest.mark.parametrize("metric", [RowCount(), Violations(("name",), Matches("(?=a)")), Violations(("x",), NotNull())])
def test_there_may_be_nothing_to_show(metric: Metric) -> None:
    """Counts, values judged elsewhere and missing columns have no sample scan."""
    assert sample_scan([metric], (("id",),), TABLE) is None


@pytest.mark.parametrize(
    ("path", "shown"),
    [(("a",), ("a",)), (("a", "b"), ("a", "b")), (("a", "[]", "b"), ("a",)), (("a", "{keys}"), ("a",))],
)
def test_of_an_item_the_whole_array_is_shown(path: tuple[str, ...], shown: tuple[str, ...]) -> None:
    """Where one of many values of a row is meant, the sample shows all of them."""
    assert shown_field(Violations(path, NotNull())) == shown


def test_a_wide_table_is_one_statement() -> None:
    """Thousands of metrics are compiled into one statement that parses."""
    columns = tuple(FoundColumn(f"c{i}", "INTEGER", "integer") for i in range(1000))
    metrics: Iterable[Metric] = [Violations((one.name,), NotNull()) for one in columns]
    relation = replace(TABLE, columns=columns)
    [scan] = compile_scans(metrics, relation, {}).scans
    assert len(scan.metrics) == 1000
    assert sample_scan(metrics, (), relation) is not None
