"""The correctness probes: tiny data, a fragment of a contract and the right verdict, in every kind of place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders import contract_of, odcs, told
from databases import PLACES, SHARED, Put, Rows

from contract_checks.results import CheckResult, Report
from contract_checks.run import check_contract

PROBES = SHARED / "corpus" / "probes.yaml"

NO_MEANING: dict[tuple[str, str], str] = {
    ("nan_parquet", "sqlite"): "SQLite stores NaN as NULL",
    ("ts_infinity", "sqlite"): "SQLite has no infinite timestamp",
    ("ts_infinity", "csv"): "a CSV cell 'infinity' is no timestamp of ISO 8601; the cell breaks the type",
    ("string_for_int", "csv"): "a CSV cell 12 is an integer as well as a text",
    ("int_for_string", "csv"): "a CSV cell 12 is a text as well as an integer",
    ("case_two_columns", "sqlite"): "SQLite folds column names: a and A are one",
}
"""Probes whose point does not exist in a place."""

ALSO: dict[str, tuple[str, ...]] = {"blob_type_ok": ("sqlite",), "view_ok": ("sqlite",)}
"""Probes that have a meaning in more places than the corpus says."""

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""Probes that do not get their verdict yet, each with the reason and what will cover it."""

ERRORED_IS_RIGHT = {"sql_bad_table": "a query that failed is not data that failed"}
"""Probes whose `fail` may be a check that could not be evaluated."""


@dataclass(frozen=True)
class Probe:
    """One probe of the corpus."""

    id: str
    why: str
    properties: str
    expect: dict[str, str]
    servers: tuple[str, ...]
    quality: str = ""
    api: str = "v3.1.0"
    rows: Rows | None = None
    csv: str = ""
    delimiter: str = ","

    @property
    def places(self) -> tuple[str, ...]:
        """Where the probe applies: as the corpus says, and wherever its rows can be put besides."""
        wanted = set(self.servers)
        if self.rows is not None and {"duckdb", "parquet", "postgres"} <= wanted:
            wanted |= {"sqlite", "csv"}
        wanted |= set(ALSO.get(self.id, ()))
        return tuple(place for place in PLACES if place in wanted and (self.id, place) not in NO_MEANING)


def _read() -> list[Probe]:
    if not PROBES.is_file():
        return []
    document = yaml.safe_load(PROBES.read_text())
    return [_probe(raw) for raw in (*document["probes"], *document["csv_probes"])]


def _probe(raw: dict[str, Any]) -> Probe:
    rows = None
    if "sql" in raw:
        before = (raw["pre"],) if "pre" in raw else ()
        ddl, insert = raw.get("pg_ddl", ""), raw.get("pg_ins", "")
        rows = Rows(raw["sql"], before, raw.get("cast", ""), raw.get("view", False), ddl, insert)
    return Probe(
        id=raw["id"],
        why=raw["why"],
        properties=raw["props"],
        expect=raw["expect"],
        servers=tuple(raw.get("servers", ("csv",))),
        quality=raw.get("quality", ""),
        api=raw.get("api", "v3.1.0"),
        rows=rows,
        csv=raw.get("csv", ""),
        delimiter=raw.get("delimiter", ","),
    )


ALL = _read()


def _cases() -> Iterator[Any]:
    for probe in ALL:
        for place in probe.places:
            marks = [pytest.mark.service] if place == "postgres" else []
            if (probe.id, place) in EXCEPTIONS:
                marks.append(pytest.mark.xfail(strict=True, reason=EXCEPTIONS[probe.id, place]))
            yield pytest.param(probe, place, marks=marks, id=f"{probe.id}-{place}")


def evaluate(probe: Probe, place: str, put: Put, folder: Path) -> Report:
    """The report on a probe's data in a place."""
    if probe.rows is not None:
        contract = contract_of(odcs(probe.properties, probe.quality, api=probe.api))
        return check_contract(contract, source=put(place, probe.rows))
    (folder / "t.csv").write_text(probe.csv)
    server = {
        "server": "s",
        "type": "local",
        "path": f"{folder}/{{model}}.csv",
        "format": "csv",
        "delimiter": probe.delimiter,
    }
    return check_contract(contract_of(odcs(probe.properties, probe.quality, api=probe.api, servers=[server])))


def concerning(report: Report, subject: str) -> list[CheckResult]:
    """The results about a property, or about the table as a whole for `t`, schema checks left out."""
    column = None if subject == "t" else subject
    return [
        result
        for result in report.results
        if result.check.column == column and result.check.rule not in ("columns", "types", "unexpected_columns")
    ]


def statuses(report: Report, subject: str) -> list[str]:
    """What every check says of a subject, its rows in the tables of the schema checks included."""
    found = [result.status for result in concerning(report, subject)]
    for result in report.results:
        if subject != "t" and result.check.rule in ("columns", "types"):
            if result.status == "errored":
                found.append("errored")
            found += ["passed" if line.ok else "failed" for line in result.details if line.column == subject]
    return found


def assert_verdicts(report: Report, probe: Probe) -> None:
    """That every subject of a probe got what the probe expects."""
    for subject, expected in probe.expect.items():
        found = statuses(report, subject)
        because = f"{probe.why}\n{subject}: {found}, expected {expected}\n{told(report)}"
        if expected == "pass":
            assert found, because
            assert set(found) == {"passed"}, because
        elif expected == "fail":
            enough = {"failed", "errored"} if probe.id in ERRORED_IS_RIGHT else {"failed"}
            assert enough & set(found), because
        else:
            silent = report.exit_code == 0 and not any(data.plan.not_checked for data in report.datasets)
            assert not silent, because


@pytest.mark.skipif(not ALL, reason="the third-party test data is not here")
@pytest.mark.parametrize(("probe", "place"), list(_cases()))
def test_probe_gets_the_right_verdict(probe: Probe, place: str, put: Put, tmp_path: Path) -> None:
    """Every probe gets its verdict in every place it applies to."""
    assert_verdicts(evaluate(probe, place, put, tmp_path), probe)


@pytest.mark.skipif(not ALL, reason="the third-party test data is not here")
def test_exceptions_name_probes_that_exist() -> None:
    """Every listed exception names a probe of the corpus and a place."""
    known = {probe.id for probe in ALL}
    for probe, place in (*NO_MEANING, *EXCEPTIONS):
        assert probe in known
        assert place in PLACES
