"""What PostgreSQL's SQL does otherwise because it is cheaper: the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from databases import Postgres
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from contract_checks.datatypes import category_of
from contract_checks.metrics import Bound, DuplicateKeys, FoundColumn, Length, Matches, NotNull
from contract_checks.patterns import to_postgres
from contract_checks.scans import compile_scans
from contract_checks.sql import Relation, sql_for
from contract_checks.sql.postgres_patterns import bounded


@pytest.fixture(scope="module")
def connection(postgres: Postgres) -> Iterator[Any]:
    """A connection to an empty database."""
    name = postgres.new_database()
    with postgres.connect(name) as connection:
        connection.prepare_threshold = None
        yield connection
    postgres.drop_database(name)


def table(native_type: str) -> Relation:
    """A table `t` with a column `a`."""
    column = FoundColumn("a", native_type, category_of(native_type, "postgres"))
    return Relation("t", '"t"', "postgres", (column,))


# --------------------------------------------------------------------------- patterns

ATOMS = st.sampled_from(["a", "é", "[ab]", "[^a]", r"\d", ".", r"\.", "[a-c]", "[^é\\]]", " ", r"\]", "[0-9_]"])
COUNTS = st.sampled_from(["", "{1}", "{2}", "{3}", "{4}", "{3,5}", "{0,3}", "{0}", "{3,}", "{255}"])
PARTS = st.lists(st.tuples(ATOMS, COUNTS).map("".join), min_size=1, max_size=4)
TEXTS = st.lists(st.text("aabcé1_. ]\n😀", max_size=9), min_size=1, max_size=30)


@pytest.mark.service
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PARTS, TEXTS)
@example([r"\d{3,5}"], ["12", "123", "12345", "123456", "1234\n", "", "12345x"])
@example(["[ab]{3}", "é"], ["ababé", "abaé", "abé", "aba", "abaéé"])
@example([".{3}"], ["a\nb", "abc", "😀😀😀", "ab", "abcd"])
def test_a_bounded_pattern_finds_what_the_pattern_finds(connection: Any, parts: list[str], texts: list[str]) -> None:
    """A length and a pattern without counts match the very texts that the pattern with counts does."""
    translated = to_postgres(f"^{''.join(parts)}$")
    assert translated is not None
    cheaper = bounded(translated)
    if cheaper is None:
        return
    sql = sql_for(table("text")).regexp(exp.column("s"), translated).sql("postgres")
    query = f"SELECT s ~ %s, {sql} FROM unnest(%s::text[]) AS x(s)"
    for plain, bound in connection.execute(query, [translated, [*texts, None]]):
        assert plain == bound


@pytest.mark.parametrize(
    ("pattern", "least", "most", "loose"),
    [
        (r"^\d{5}$", 5, 5, "^[0-9]+$"),
        (r"^ORD-\d{8}$", 12, 12, r"^ORD\-[0-9]+$"),
        (r"^[A-Z]{2}\d{9,12}$", 11, 14, "^[A-Z]{2}[0-9]+$"),
        (r"^[A-Z]{3,}$", 3, None, "^[A-Z]+$"),
        (r"^\w{0,40}$", 0, 40, "^[A-Za-z0-9_]*$"),
    ],
)
def test_a_count_becomes_a_length(pattern: str, least: int, most: int | None, loose: str) -> None:
    """Of a sequence in which all but one part have a fixed length, that part's count is told by the whole length."""
    found = bounded(to_postgres(pattern) or "")
    assert found is not None
    assert (found.least, found.most, found.pattern) == (least, most, loose)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{5}",  # not to the end
        r"\d{5}$",
        r"^\d{5}-?$",  # two parts of no fixed length
        r"^\d{3}[a-z]+$",
        r"^\d{3,5}[a-z]{1,2}$",
        r"^(ab){3}$",  # a group
        r"^\d{3}|\d{4}$",  # an alternative
        r"^\d{3}?$",
        r"^\d{2}$",  # not worthwhile
        r"^$",
    ],
)
def test_other_patterns_stay(pattern: str) -> None:
    """What is not such a sequence is asked as it is."""
    assert bounded(to_postgres(pattern) or "") is None


def test_a_bounded_pattern_is_negated_as_a_whole() -> None:
    """What does not match is what has another length or another content."""
    sql = sql_for(table("text"))
    sought = sql.breaks(Matches(r"^\d{5}$"), sql.value(("a",))).sql("postgres")
    assert sought == """NOT (LENGTH(CAST("a" AS TEXT)) = 5 AND CAST("a" AS TEXT) ~ '^[0-9]+$')"""


# --------------------------------------------------------------------------- bounds

NUMBERS = ["NaN", "Infinity", "-Infinity", "0", "-1", "1", "1e30", "-1e30", "2.5", None]


@pytest.mark.service
@pytest.mark.parametrize("native_type", ["numeric", "numeric(12,2)", "real", "double precision"])
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("nan", [True, False])
def test_nan_is_outside_of_every_bound_that_counts_it(
    connection: Any, native_type: str, operator: Any, nan: bool
) -> None:
    """NaN breaks a bound that counts NaN and no other; what is outside without it is what it is to Python."""
    values = [one for one in NUMBERS if native_type != "numeric(12,2)" or one in ("NaN", "0", "-1", "1", "2.5", None)]
    relation = table(native_type)
    listed = ", ".join(f"(CAST({'NULL' if one is None else repr(one)} AS {native_type}))" for one in values)
    for limit in (0, 1, Decimal("2.5"), -1):
        counted = sql_for(relation).violations(("a",), Bound(operator, limit, nan=nan)).sql("postgres")
        (found,) = connection.execute(f'SELECT {counted} FROM (VALUES {listed}) AS t("a")').fetchone()
        inside = {
            "<": lambda one, limit=limit: one < limit,
            "<=": lambda one, limit=limit: one <= limit,
            ">": lambda one, limit=limit: one > limit,
            ">=": lambda one, limit=limit: one >= limit,
        }[operator]
        wanted = sum(nan if one == "NaN" else not inside(float(one)) for one in values if one is not None)
        assert found == wanted, (counted, limit)


@pytest.mark.service
@pytest.mark.parametrize("operator", ["<", ">"])
@pytest.mark.parametrize("nan", [True, False])
def test_a_number_beyond_double_precision_is_a_number(connection: Any, operator: Any, nan: bool) -> None:
    """A NUMERIC of 400 digits is compared like any other."""
    counted = sql_for(table("numeric")).violations(("a",), Bound(operator, 5, nan=nan)).sql("postgres")
    sql = f'SELECT {counted} FROM (VALUES (1e400::numeric), (-1e400::numeric)) AS t("a")'
    assert connection.execute(sql).fetchone() == (1,)


@pytest.mark.service
def test_violations_of_no_rows_are_zero(connection: Any) -> None:
    """Nothing breaks a rule where there is nothing."""
    counted = sql_for(table("text")).violations(("a",), NotNull()).sql("postgres")
    assert connection.execute(f"SELECT {counted} FROM (SELECT 'x' AS \"a\" WHERE false) AS t").fetchone() == (0,)


# --------------------------------------------------------------------------- keys

KEYS = {
    "bigint": ["1", "2", "3", "-9223372036854775808"],
    "smallint": ["1", "2", "3", "-1"],
    "date": ["2024-01-01", "2024-01-02", "0001-01-01", "9999-12-31"],
    "timestamp without time zone": ["2024-01-01 00:00", "2024-01-01 00:00:00.000001", "0001-01-01 00:00", "epoch"],
    "timestamp with time zone": ["2024-01-01 00:00Z", "2024-01-01 01:00+01", "2024-01-01 01:00Z", "epoch"],
    "uuid": ["0" * 32, "1" * 32, "A" * 32, "a" * 32],
    "numeric": ["1", "1.0", "NaN", "2"],
    "double precision": ["0", "-0", "NaN", "1"],
    "text": ["a", "A", "a ", ""],
    "character(3)": ["a", "A", "a ", ""],
}


@pytest.mark.service
@pytest.mark.parametrize("native_type", KEYS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.none() | st.integers(0, 3), max_size=6))
def test_duplicates_are_those_that_grouping_finds(connection: Any, native_type: str, places: list[int | None]) -> None:
    """Whatever is looked at first, the keys that recur and their rows are those of a plain GROUP BY."""
    values = [None if one is None else KEYS[native_type][one] for one in places]
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute(f"CREATE TABLE t (a {native_type})")
    for value in values:
        connection.execute("INSERT INTO t VALUES (%s)", [value])
    (scan,) = compile_scans([DuplicateKeys((("a",),))], table(native_type), {}).scans
    rows = connection.execute(scan.sql).fetchall()
    plain = "SELECT a, count(*) FROM t WHERE a IS NOT NULL GROUP BY a HAVING count(*) > 1"
    wanted = connection.execute(plain).fetchall()
    assert sorted(map(repr, (row[:2] for row in rows))) == sorted(map(repr, wanted)), scan.sql
    assert {row[2:] for row in rows} == ({(len(wanted), sum(count for _, count in wanted))} if wanted else set())


@pytest.mark.service
def test_keys_are_grouped_only_where_one_recurs(connection: Any) -> None:
    """The plan of a table whose keys are all different never comes to grouping it."""
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute("CREATE TABLE t AS SELECT i AS a FROM generate_series(1, 1000) i")
    (scan,) = compile_scans([DuplicateKeys((("a",),))], table("integer"), {}).scans
    explain = f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {scan.sql}"
    plan = "\n".join(line for (line,) in connection.execute(explain))
    assert plan.count("never executed") == 1, plan
    connection.execute("INSERT INTO t VALUES (7)")
    assert connection.execute(scan.sql).fetchall() == [(7, 2, 1, 2)]


@pytest.mark.service
@given(st.lists(st.none() | st.text("ab", max_size=4), max_size=8))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_rare_predicate_is_true_for_the_same_rows(connection: Any, values: list[str | None]) -> None:
    """What the planner is told about a predicate changes no row that it finds, NULL among them."""
    sql = sql_for(table("text"))
    predicate = sql.breaks(Length(2, 3), sql.value(("a",)))
    plain, rare = predicate.sql("postgres"), sql.rare(predicate.copy()).sql("postgres")
    found = "SELECT a FROM unnest(%s::text[]) WITH ORDINALITY AS t(a, i) WHERE {} ORDER BY i"
    rows = [connection.execute(found.format(where), [values]).fetchall() for where in (plain, rare)]
    assert rows[0] == rows[1]
