"""The sample contracts say of the real data exactly what plain SQL says of it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from contract_checks import Report, check_contract, load_contract
from contract_checks.lint import lint

CONTRACTS = sorted((Path(__file__).parents[2] / "contracts").iterdir())
TAIL_NUMBER = "N[1-9][0-9]{0,4}[A-HJ-NP-Z]{0,2}"

BROKEN: dict[str, dict[str, tuple[str, str]]] = {
    "airlines.odcs.yaml": {},
    "airports.odcs.yaml": {
        "quality__lon__in_the_west": ("warning", "SELECT count(*) FROM airports WHERE lon >= 0 AND lon <= 172"),
        "quality__tz__us_offset": ("warning", "SELECT count(*) FROM airports WHERE tz < -10 OR tz > -5"),
        "quality__tzone__us_zone": ("warning", "SELECT count(*) FROM airports WHERE tzone LIKE 'Asia/%'"),
    },
    "flights.odcs.yaml": {
        "quality__dest__known_airport": ("warning", "SELECT count(*) FROM flights ANTI JOIN airports ON dest = faa"),
        "quality__distance__no_hops": ("warning", "SELECT count(*) FROM flights WHERE distance < 50"),
        "quality__tailnum__registered": (
            "warning",
            "SELECT count(*) FROM flights ANTI JOIN planes USING (tailnum) WHERE tailnum IS NOT NULL",
        ),
        "quality__tailnum__faa_form": (
            "warning",
            f"SELECT 100 * count(*) FILTER (NOT regexp_full_match(tailnum, '{TAIL_NUMBER}')) / count(*) FROM flights",
        ),
    },
    "orders.yaml": {},
    "planes.odcs.yaml": {
        "quality__manufacturer__spelling": (
            "warning",
            "SELECT count(*) FROM planes WHERE manufacturer LIKE 'AIRBUS %' OR manufacturer LIKE 'MCDONNELL DOUGLAS %'",
        ),
        "quality__year__goal": (
            "warning",
            "SELECT 100 * count(*) FILTER (year IS NULL) / count(*) FROM planes",
        ),
    },
    "weather.odcs.yaml": {
        "quality__pressure__known": (
            "warning",
            "SELECT 100 * count(*) FILTER (pressure IS NULL) / count(*) FROM weather",
        ),
        "schema__primary_key": (
            "error",
            "SELECT count(*) FROM (FROM weather SELECT 1 GROUP BY origin, year, month, day, hour HAVING count(*) > 1)",
        ),
        "schema__wind_speed__maximum": ("error", "SELECT count(*) FROM weather WHERE wind_speed > 253"),
    },
}
"""What does not hold, by file and check: its severity and a query for the number that the check measures."""


@pytest.fixture(scope="module")
def reports(warehouse: Path) -> dict[str, Report]:
    """The report of every sample contract."""
    return {path.name: check_contract(path, source=f"duckdb:///{warehouse}") for path in CONTRACTS}


def test_every_sample_has_an_entry_here() -> None:
    """No contract joins the samples without a word on what it finds."""
    assert {path.name for path in CONTRACTS} == set(BROKEN)


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: path.name)
def test_a_sample_has_no_problems(path: Path) -> None:
    """The samples are models to copy: lint has nothing to say about them, not even a warning."""
    assert lint(load_contract(path)) == ()


@pytest.mark.parametrize("file", sorted(BROKEN))
def test_exactly_the_known_promises_are_broken(file: str, reports: dict[str, Report]) -> None:
    """Every check is evaluated, and those fail that plain SQL finds broken, with its severity."""
    results = reports[file].results
    assert [result.description for result in results if result.status not in ("passed", "failed")] == []
    failed = {result.check.name: result.check.severity for result in results if result.status == "failed"}
    assert failed == {name: severity for name, (severity, _) in BROKEN[file].items()}


@pytest.mark.parametrize(("file", "check"), [(file, check) for file in sorted(BROKEN) for check in BROKEN[file]])
def test_a_broken_promise_shows_the_number_that_sql_counts(
    file: str, check: str, reports: dict[str, Report], warehouse: Path
) -> None:
    """The measured value is what an independent query gives."""
    measured = {result.check.name: result.measured for result in reports[file].results}[check]
    with duckdb.connect(str(warehouse), read_only=True) as database:
        ((counted,),) = database.execute(BROKEN[file][check][1]).fetchall()
    assert float(str(measured)) == pytest.approx(counted, rel=1e-9)


def test_a_sample_finds_its_own_data(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the checkout, a contract's server leads to the warehouse without any option."""
    monkeypatch.chdir(checkout)
    report = check_contract("contracts/airlines.odcs.yaml")
    assert (report.status, report.score) == ("compliant", 1.0)
