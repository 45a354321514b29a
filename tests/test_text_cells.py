"""Dates and times that are stored as text, wherever a place has no types for them."""

from __future__ import annotations

import pytest
from builders import contract_of, odcs, result, told
from databases import PLACES, Put

from contract_checks.run import check_contract

EVERYWHERE = [pytest.param(one, marks=[pytest.mark.service] if one == "postgres" else []) for one in PLACES]
CELLS = ("csv", "sqlite")


@pytest.mark.parametrize("place", CELLS)
def test_a_date_of_3_0_may_have_a_time_of_day(place: str, put: Put) -> None:
    """Up to 3.0 a cell of a `date` may be a timestamp as well as a day, and its bounds hold for both."""
    contract = contract_of(
        odcs("- {name: a, logicalType: date, logicalTypeOptions: {maximum: '2024-01-31'}}", api="v3.0.2")
    )
    source = put(place, "SELECT TIMESTAMP '2024-01-01 10:00:00' AS a UNION ALL SELECT TIMESTAMP '2024-01-31 00:00:01'")

    report = check_contract(contract, source=source)

    assert result(report, "types").status == "passed", told(report)
    assert result(report, "maximum", "a").measured == 1


@pytest.mark.parametrize("place", EVERYWHERE)
def test_text_in_a_format_of_its_own_is_judged_by_it(place: str, put: Put) -> None:
    """A text column of dates follows the declared pattern in every place, also where text is all there is for dates."""
    contract = contract_of(
        odcs("- {name: a, logicalType: date, logicalTypeOptions: {format: dd/MM/yyyy, minimum: '2024-01-01'}}")
    )
    source = put(place, "SELECT * FROM (VALUES ('31/01/2024'), ('30/02/2024'), ('01/12/2023'), (NULL)) v(a)")

    report = check_contract(contract, source=source)

    assert result(report, "format", "a").measured == 1, told(report)
    assert result(report, "minimum", "a").measured == 2
    assert result(report, "types").details[0].found.startswith("1 cell that is no date")


@pytest.mark.parametrize("place", EVERYWHERE)
@pytest.mark.parametrize(
    ("property_", "value", "status"),
    [("freshness", "1 d", "failed"), ("latency", "1000 years", "passed"), ("retention", "1 d", "failed")],
)
def test_the_age_of_text_is_that_of_the_moments_it_names(
    property_: str, value: str, status: str, place: str, put: Put
) -> None:
    """The newest and the oldest of texts are told by their pattern, not by their letters."""
    sla = [{"property": property_, "value": value.split()[0], "unit": value.split()[1], "element": "a"}]
    contract = contract_of(
        odcs("- {name: a, logicalType: date, logicalTypeOptions: {format: yyyy-dd-MM}}", more={"slaProperties": sla})
    )
    source = put(place, "SELECT * FROM (VALUES ('2024-09-01'), ('2024-01-12'), ('n/a'), (NULL)) v(a)")

    found = result(check_contract(contract, source=source), property_, "a")

    moment = "2024-01-09" if property_ == "retention" else "2024-12-01"
    assert (found.status, moment in found.description) == (status, True), found.description


def test_text_that_names_no_moment_has_no_age(put: Put) -> None:
    """Where no text follows the pattern, the age is not evaluated: neither fresh nor stale."""
    sla = [{"property": "retention", "value": 3, "unit": "y", "element": "a"}]
    contract = contract_of(
        odcs("- {name: a, logicalType: date, logicalTypeOptions: {format: dd.MM.yyyy}}", more={"slaProperties": sla})
    )

    found = result(check_contract(contract, source=put("duckdb", "SELECT '2024-01-01' AS a")), "retention", "a")

    assert found.status == "errored"
    assert "`dd.MM.yyyy`" in found.description


@pytest.mark.parametrize("place", CELLS)
@pytest.mark.parametrize(
    ("promised", "cell", "status"),
    [
        ("true", "2024-01-01 10:00:00+01:00", "passed"),
        ("true", "2024-01-01T10:00Z", "passed"),
        ("true", "2024-01-01 10:00:00.25 +0100", "passed"),
        ("true", "2024-01-01 10:00:00", "failed"),
        ("true", "2024-01-01", "failed"),
        ("false", "2024-01-01 10:00:00.5", "passed"),
        ("false", "2024-01-01", "passed"),
        ("false", "2024-01-01T10:00:00-05", "failed"),
    ],
)
def test_a_cell_states_its_time_zone_as_promised(promised: str, cell: str, status: str, place: str, put: Put) -> None:
    """With `timezone: true` every timestamp states its offset, with `false` none does (ODCS, logicalTypeOptions)."""
    contract = contract_of(odcs(f"- {{name: a, logicalType: timestamp, logicalTypeOptions: {{timezone: {promised}}}}}"))

    found = result(check_contract(contract, source=put(place, f"SELECT '{cell}' AS a")), "types")

    assert found.status == status, found.description
    assert f"with{'' if promised == 'true' else 'out'} a time zone" in found.details[0].expected


@pytest.mark.parametrize("place", CELLS)
@pytest.mark.parametrize(
    "cell", ["2024-01-01T10:00Z", "2024-01-01 11:00 +01:00", "2024-01-01 10:00", "2024-01-01T05:00-05"]
)
def test_a_timestamp_need_not_state_its_seconds(cell: str, place: str, put: Put) -> None:
    """ISO 8601 lets seconds be left out, also before an offset, and the moment is compared exactly."""
    options = "{minimum: '2024-01-01T10:00:00Z', exclusiveMaximum: '2024-01-01T10:00:01Z'}"
    contract = contract_of(odcs(f"- {{name: a, logicalType: timestamp, logicalTypeOptions: {options}}}"))

    report = check_contract(contract, source=put(place, f"SELECT '{cell}' AS a"))

    assert report.exit_code == 0, told(report)


def test_a_property_that_is_promised_two_types_is_not_taken_for_either(put: Put) -> None:
    """Two properties of one name that contradict each other leave text cells without a type: errored, never passed."""
    contract = contract_of(odcs("- {name: a, logicalType: integer}\n- {name: a, logicalType: string}"))

    assert result(check_contract(contract, source=put("csv", "SELECT 'x' AS a")), "types").status == "errored"
