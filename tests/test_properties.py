"""Random small tables and random rules: every place gives the verdict that the definitions give."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
import regress
import sqlalchemy
from builders import contract_of, odcs, told
from databases import Postgres
from hypothesis import HealthCheck, Phase, assume, given, note, settings
from hypothesis import strategies as st
from oracle import Row, assert_holds

from contract_checks import patterns
from contract_checks.checks import plan
from contract_checks.results import CheckResult
from contract_checks.run import check_contract, check_dataset
from contract_checks.sources import resolve

WILD = int(os.environ.get("WILD_EXAMPLES", "0"))
"""How many random examples to try instead of the same few on every run: `WILD_EXAMPLES=1000 pytest …`."""

QUICK = settings(
    max_examples=WILD or 40,
    derandomize=not WILD,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if WILD else [])],
    suppress_health_check=list(HealthCheck),
)

LOGICAL = {
    "s": "string",
    "i": "integer",
    "d": "number",
    "f": "number",
    "o": "boolean",
    "day": "date",
    "at": "timestamp",
}
DUCKDB = {
    "s": "VARCHAR",
    "i": "BIGINT",
    "d": "DECIMAL(18,3)",
    "f": "DOUBLE",
    "o": "BOOLEAN",
    "day": "DATE",
    "at": "TIMESTAMP",
}
SQLITE = {"s": "TEXT", "i": "BIGINT", "d": "NUMERIC", "f": "REAL", "o": "BOOLEAN", "day": "DATE", "at": "TIMESTAMP"}
POSTGRES = {**DUCKDB, "s": "TEXT", "f": "DOUBLE PRECISION"}

# --------------------------------------------------------------------------- random rows

ALPHABET = "abABxyz019 _-.,;'\"%\\\n\r\té ß日١\u00a0\u2028\u212aſ{}[]$^"
WORDS = [
    "",
    "a",
    "A",
    "abc",
    "xyz",
    "a\nb",
    "a\n",
    "\n",
    " ",
    "o'brien",
    '"',
    "N/A",
    "null",
    "NULL",
    "0",
    "01",
    "1.0",
    "é",
    "日本語",
    "true",
]
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(ALPHABET, max_size=4))
INTEGERS = st.one_of(st.integers(-3, 3), st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, -(2**63)]))
DECIMALS = st.sampled_from(
    [Decimal(text) for text in ("-1.5", "-0.001", "0", "0.001", "0.1", "0.3", "1", "2.5", "1000000")]
)
FLOATS = st.sampled_from([-1.5, 0.0, 1e-9, 0.1, 0.1 + 0.2, 1.0, 1.0001, 1e16, 1e300])
DAYS = st.sampled_from([date(1969, 12, 31), date(2020, 1, 1), date(2020, 1, 2), date(2024, 2, 29), date(9999, 12, 31)])
TIMES = st.sampled_from(
    [
        datetime(1969, 12, 31, 23, 59, 59),
        datetime(2020, 1, 1),
        datetime(2020, 1, 1, 0, 0, 0, 500000),
        datetime(2020, 1, 1, 0, 30),
        datetime(2024, 2, 29, 12),
    ]
)
VALUES = {"s": TEXTS, "i": INTEGERS, "d": DECIMALS, "f": FLOATS, "o": st.booleans(), "day": DAYS, "at": TIMES}


def rows(nan: bool = True) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Up to seven rows, NULLs and repetitions among them; NaN only where a place can hold it."""
    floats = st.one_of(FLOATS, st.just(math.nan)) if nan else FLOATS
    values = {**VALUES, "f": floats}
    return st.lists(st.fixed_dictionaries({name: st.none() | values[name] for name in LOGICAL}), max_size=7)


# --------------------------------------------------------------------------- random rules

PATTERNS = st.sampled_from(
    [
        *(
            r"^\d+$",
            r"\d",
            r"^\w+$",
            r"^\W",
            r"\s",
            r"^\S*$",
            r"^(?!x).*$",
            r"(?=.*\d)[a-z]",
            r"(?<=a)b",
            r"^a$",
            r"a$",
        ),
        *(
            r"^$",
            r"a.b",
            r"^.$",
            r"^.*$",
            r"[^a]",
            r"^[^\n]*$",
            r"a|^b",
            r"^[A-Z]{1,3}$",
            r"\u00e9",
            r"[\d-]",
            r"^[-a]+$",
        ),
        *(r"\/|\.", r"[[:digit:]]+", r"(a)\1", r"(?:a|b){2}", r"\bab", r"^[\w.-]+$", r"\\", r"'", r'"', r"%", r"\$"),
        *(r"\x41", r"^[^]$", r"[\s\S]b", r"^\t", r"a{,2}", r"[!^-z]", r"[a-c-e]", r"$b", r"(^a|b$)", r"^a?$|^b"),
    ]
)
LIMITS = {
    "i": st.sampled_from([-1, 0, 1, 2**53, 2**63 - 1]),
    "d": st.sampled_from([0, 0.1, -1.5, 1000000]),
    "f": st.sampled_from([0, 0.1, 0.3, 1, -1.5]),
    "day": st.sampled_from(["2020-01-01", "2024-02-29", "1970-01-01"]),
    "at": st.sampled_from(["2020-01-01T00:00:00Z", "2020-01-01T01:30:00+01:00", "2020-01-01T00:00:00.5Z"]),
}
LISTED = {
    "s": st.sampled_from(WORDS),
    "i": st.sampled_from([0, 1, -1, 2**53 + 1]),
    "d": st.sampled_from([0, 0.1, 2.5]),
    "f": st.sampled_from([0, 0.1, 1]),
    "o": st.booleans(),
    "day": st.sampled_from(["2020-01-01", "2024-02-29"]),
}
THRESHOLDS = st.one_of(
    st.fixed_dictionaries({"mustBe": st.integers(0, 3)}),
    st.fixed_dictionaries({"mustNotBe": st.integers(0, 3)}),
    st.fixed_dictionaries({"mustBeGreaterThan": st.integers(0, 50)}),
    st.fixed_dictionaries({"mustBeGreaterOrEqualTo": st.integers(0, 50)}),
    st.fixed_dictionaries({"mustBeLessThan": st.integers(0, 50)}),
    st.fixed_dictionaries({"mustBeLessOrEqualTo": st.integers(0, 50)}),
    st.fixed_dictionaries({"mustBeBetween": st.sampled_from([[0, 1], [1, 3], [20, 50]])}),
    st.fixed_dictionaries({"mustNotBeBetween": st.sampled_from([[0, 1], [1, 3], [20, 50]])}),
    st.fixed_dictionaries({"mustBeGreaterThan": st.integers(0, 2), "mustBeLessThan": st.integers(1, 50)}),
)
UNITS = st.sampled_from([{}, {"unit": "rows"}, {"unit": "percent"}])


@st.composite
def column(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """A column with some rules."""
    built: dict[str, Any] = {"name": name, "logicalType": LOGICAL[name]}
    built |= {key: True for key in ("required", "unique") if draw(st.booleans())}
    options: dict[str, Any] = {}
    if name == "s":
        options |= draw(
            st.fixed_dictionaries(
                {}, optional={"minLength": st.integers(0, 2), "maxLength": st.integers(1, 3), "pattern": PATTERNS}
            )
        )
    elif name in LIMITS:
        one = LIMITS[name]
        bounds = {"minimum": one, "maximum": one, "exclusiveMinimum": one, "exclusiveMaximum": one}
        options |= draw(st.fixed_dictionaries({}, optional=bounds))
    if options:
        built["logicalTypeOptions"] = options
    quality = [
        {"id": f"r{index}", **rule, **draw(UNITS), **draw(THRESHOLDS)}
        for index, rule in enumerate(draw(st.lists(column_rule(name), max_size=3)))
    ]
    if quality:
        built["quality"] = quality
    return built


def column_rule(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """A metric of the library with its arguments, for a column."""
    kinds: list[st.SearchStrategy[dict[str, Any]]] = [
        st.just({"metric": "nullValues"}),
        st.just({"metric": "duplicateValues"}),
    ]
    if name in LISTED:
        listed = st.lists(LISTED[name], max_size=3)
        missing = st.lists(st.none() | LISTED[name], min_size=1, max_size=3)
        kinds += [
            st.builds(lambda values: {"metric": "invalidValues", "arguments": {"validValues": values}}, listed),
            st.builds(lambda values: {"metric": "missingValues", "arguments": {"missingValues": values}}, missing),
        ]
    if name == "s":
        kinds += [
            st.builds(lambda one: {"metric": "invalidValues", "arguments": {"pattern": one}}, PATTERNS),
            st.builds(
                lambda values, one: {"metric": "invalidValues", "arguments": {"validValues": values, "pattern": one}},
                st.lists(LISTED["s"], min_size=1, max_size=3),
                PATTERNS,
            ),
        ]
    return st.one_of(kinds)


TABLE_RULES = st.lists(
    st.one_of(
        st.just({"metric": "rowCount"}),
        st.builds(
            lambda names, unit: {"metric": "duplicateValues", "arguments": {"properties": names}, **unit},
            st.lists(st.sampled_from(["s", "i", "d", "o", "day"]), min_size=2, max_size=3, unique=True),
            UNITS,
        ),
    ),
    max_size=2,
)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """A table of a contract: all columns, random rules."""
    rules = [{"id": f"t{index}", **rule, **draw(THRESHOLDS)} for index, rule in enumerate(draw(TABLE_RULES))]
    return {
        "name": "t",
        "physicalName": "t",
        "properties": [draw(column(name)) for name in LOGICAL],
        "quality": rules,
    }


# --------------------------------------------------------------------------- places


@dataclass(frozen=True)
class Place:
    """Somewhere to put the rows of one example: `load` gives the source for `check_contract`."""

    name: str
    load: Callable[[list[dict[str, Any]]], Any]
    nan: bool = True


def _literal(value: Any, place: str) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value)) if place == "sqlite" else str(value).upper()
    if isinstance(value, float) and math.isnan(value):
        return "'NaN'"
    if isinstance(value, int | Decimal):
        return f"({value})"
    if isinstance(value, float):
        return f"({value!r})"
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    return "'" + text.replace("'", "''") + "'"


def _fill(execute: Callable[[str], Any], types: Mapping[str, str], data: list[dict[str, Any]], place: str) -> None:
    execute("DROP TABLE IF EXISTS t")
    columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    execute(f"CREATE TABLE t ({columns})")
    if data:
        lines = ", ".join(f"({', '.join(_literal(row[name], place) for name in types)})" for row in data)
        execute(f"INSERT INTO t VALUES {lines}")


@contextmanager
def _engine(url: str, types: Mapping[str, str], place: str) -> Iterator[Place]:
    in_memory = {"poolclass": sqlalchemy.StaticPool} if ":memory:" in url or url == "sqlite://" else {}
    engine = sqlalchemy.create_engine(url, **in_memory)

    def load(data: list[dict[str, Any]]) -> sqlalchemy.Engine:
        with engine.begin() as connection:
            _fill(connection.execution_options(no_parameters=True).exec_driver_sql, types, data, place)
        return engine

    yield Place(place, load, nan=place != "sqlite")
    engine.dispose()


@contextmanager
def _file(folder: Path, suffix: str) -> Iterator[Place]:
    connection = duckdb.connect()

    def load(data: list[dict[str, Any]]) -> str:
        _fill(connection.execute, DUCKDB, data, "duckdb")
        header = ", HEADER" if suffix == "csv" else ""
        connection.execute(f"COPY t TO '{folder}/t.{suffix}' (FORMAT {suffix}{header})")
        return str(folder)

    yield Place(suffix, load, nan=suffix != "json")
    connection.close()


@pytest.fixture(
    scope="module",
    params=["duckdb", "parquet", "csv", "json", "sqlite", pytest.param("postgres", marks=pytest.mark.service)],
)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Each kind of place, filled anew for every example."""
    name: str = request.param
    if name == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        database = server.new_database()
        with _engine(server.url(database), POSTGRES, name) as made:
            yield made
        server.drop_database(database)
        return
    urls = {"duckdb": ("duckdb:///:memory:", DUCKDB), "sqlite": ("sqlite://", SQLITE)}
    with _engine(*urls[name], name) if name in urls else _file(tmp_path_factory.mktemp(name), name) as made:
        yield made


# --------------------------------------------------------------------------- the properties


@QUICK
@given(table=tables(), data=st.data())
def test_every_place_gives_the_verdict_of_the_definitions(
    place: Place, table: dict[str, Any], data: st.DataObject
) -> None:
    """What is measured and judged equals what the definitions say, in every place."""
    content: list[Row] = data.draw(rows(place.nan))
    assume(content or place.name != "json")  # a JSON file without objects has no columns either
    contract = contract_of(odcs(schema=[table]))
    report = check_contract(contract, source=place.load(content))  # type: ignore[arg-type]
    note(told(report))
    assert_holds(report, table, content)
    schema = [one for one in report.results if one.check.rule in ("columns", "types")]
    assert {one.status for one in schema} == {"passed"}


def _told(result: CheckResult) -> tuple[Any, ...]:
    return (result.status, repr(result.measured), result.rows, result.description, result.details)


@QUICK
@given(table=tables(), data=st.data())
def test_asking_together_equals_asking_one_by_one(place: Place, table: dict[str, Any], data: st.DataObject) -> None:
    """All checks in one fused scan give what each gives alone."""
    contract = contract_of(odcs(schema=[table]))
    source = resolve(contract, source=place.load(data.draw(rows(place.nan))))
    planned = plan(contract).datasets[0]
    together = {one.check.name: _told(one) for one in check_dataset(planned, source).results}
    for name in data.draw(st.lists(st.sampled_from(sorted(together)), min_size=1, max_size=5, unique=True)):
        [alone] = check_dataset(planned, source, checks=[name]).results
        assert _told(alone) == together[name]


# --------------------------------------------------------------------------- patterns

PIECES = [
    *"abx1_- .^$|*+?()[]{}\"'%&#~/,=:é日",
    *(
        [
            r"\.",
            r"\d",
            r"\w",
            r"\s",
            r"\D",
            r"\W",
            r"\S",
            r"\b",
            r"\B",
            r"\1",
            r"\/",
            r"\-",
            r"\@",
            r"\t",
            r"\n",
            r"\0",
            r"\\",
            r"\u00e9",
            r"\x41",
            r"\u2028",
        ]
    ),
    *(
        [
            r"(?:",
            r"(?<n>",
            r"(?=",
            r"(?!",
            r"(?<=",
            r"[^",
            r"{2}",
            r"{1,2}",
            r"{,2}",
            r"*?",
            r"[]",
            r"[^]",
            r"[\b]",
            r"[^\d]",
            r"[\S]",
            r"[--/]",
            r"[\w.-]",
            r"[a&&b]",
        ]
    ),
    *([r"[a-z]", r"[\d-x]", r"[\\d-x]", r"[a-c-e]", r"[!^-z]", r"[a[-z]", r"[[:digit:]]"]),
]
PATTERN_TEXTS = [
    *(
        "",
        "a",
        "b",
        "ab",
        "ba",
        "a-",
        "-",
        "^",
        "[",
        "]",
        "\\",
        "x",
        "1",
        "a1",
        "A",
        "é",
        "aé",
        "日",
        "_",
        "K",
        "d",
        "{",
        "}",
    ),
    *("\n", "a\n", "\na", "a\nb", " ", "\t", "\u2028", "\u00a0", "١", "\u212a", "a{,2}", "aa", "$", "'", '"', "%", "n"),
]


@settings(QUICK, max_examples=WILD or 300)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), st.booleans())
def test_a_translated_pattern_means_what_it_meant(pattern: str, anchored: bool) -> None:
    """A pattern translated for DuckDB finds the texts that ECMA-262 finds; an invalid one is never translated."""
    pattern = f"^{pattern}$" if anchored else pattern
    try:
        wanted = [text for text in PATTERN_TEXTS if regress.Regex(pattern).find(text)]
    except regress.RegressError:
        with pytest.raises(ValueError, match="not an ECMA-262"):
            patterns.search(pattern, "")
        return
    translated = patterns.to_re2(pattern)
    assume(translated is not None)
    query = "SELECT s FROM (SELECT unnest(?::VARCHAR[]) AS s) WHERE regexp_matches(s, ?)"
    found = duckdb.execute(query, [PATTERN_TEXTS, translated]).fetchall()
    assert [text for (text,) in found] == wanted, translated


@pytest.fixture(scope="module")
def postgres_connection(postgres: Postgres) -> Iterator[Any]:
    """A connection to an empty PostgreSQL database."""
    name = postgres.new_database()
    with postgres.connect(name) as connection:
        yield connection
    postgres.drop_database(name)


@pytest.mark.service
@settings(QUICK, max_examples=WILD or 300)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), st.booleans())
def test_a_pattern_translated_for_postgres_means_what_it_meant(
    postgres_connection: Any, pattern: str, anchored: bool
) -> None:
    """A pattern translated for PostgreSQL finds the texts that ECMA-262 finds."""
    pattern = f"^{pattern}$" if anchored else pattern
    try:
        wanted = [text for text in PATTERN_TEXTS if regress.Regex(pattern).find(text)]
    except regress.RegressError:
        return
    translated = patterns.to_postgres(pattern)
    assume(translated is not None)
    query = "SELECT s FROM unnest(%s::text[]) WITH ORDINALITY AS x(s, i) WHERE s ~ %s ORDER BY i"
    found = postgres_connection.execute(query, [PATTERN_TEXTS, translated]).fetchall()
    assert [text for (text,) in found] == wanted, translated
