"""Results as lines of text and as tables."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from contract_checks.errors import Location, Problem
from contract_checks.reports import Linted, NotEvaluated, render
from contract_checks.reports.text import NOTHING_TESTED, printable
from contract_checks.results import Report

PROBLEM = Problem("the key 'colour' is not known", Location("a.yaml", 4, "$.colour"), "warning", "remove it")


def test_a_check_is_one_line(report: Report) -> None:
    """Status, severity, name and the sentence; what did not pass says where it was promised."""
    lines = render(report, "text").splitlines()

    assert "passed   error    schema__id__required    no null values in 1,000 rows" in lines
    assert (
        "failed   error    schema__note__required  3 null values in 1,000 rows, expected 0"
        "  (contracts/orders.odcs.yaml:9)" in lines
    )
    assert "skipped  error    quality__absent         the column is not there" in lines


def test_a_report_begins_with_its_contract_and_ends_with_its_verdict(report: Report) -> None:
    """The first line says what was tested where, the last what came of it."""
    first, *_, last = render(report, "text").splitlines()

    assert first == "orders-contract 1.2.0  contracts/orders.odcs.yaml  duckdb:///orders.duckdb"
    assert last == (
        "orders-contract: partially violated: 1 passed, 3 failed (1 warning), 1 errored, 1 skipped; score 25.0%"
    )


def test_what_is_not_checked_is_said(report: Report) -> None:
    """A clause that nobody evaluates stands in the report with its reason."""
    expected = "not checked  contracts/orders.odcs.yaml:20 $.slaProperties[0]: nobody can measure it"
    assert expected in render(report, "text").splitlines()
    assert expected in click.unstyle(render(report, "text", width=200))


def test_a_report_without_results_says_so(report: Report) -> None:
    """No checks is not a pass."""
    empty = replace(report, datasets=tuple(replace(dataset, results=()) for dataset in report.datasets))
    assert render(empty, "text").splitlines()[-1] == f"orders-contract: {NOTHING_TESTED}"


def test_a_terminal_gets_a_table_and_explanations(report: Report) -> None:
    """With a width there is a table, and below it each failed check with its rows and its place."""
    table = click.unstyle(render(report, "text", width=120))

    assert "measured" in table
    assert "expected" in table
    assert "$.schema[0].properties[0].required" in table
    assert "2.50" in table
    assert "BLOB" in table
    assert "INTEGER" not in table, "a column that is as promised needs no explanation"


def test_one_reason_is_told_once_on_a_terminal(report: Report) -> None:
    """A database that is down is explained once, however many checks it spoils; a pipe has a line for each."""
    dataset = report.datasets[0]
    spoiled = tuple(replace(one, status="errored", description="it is down", sample=None) for one in dataset.results)
    down = replace(report, datasets=(replace(dataset, results=spoiled),))

    assert click.unstyle(render(down, "text", width=120)).count("it is down") == 1
    assert "errored 6 checks it is down" in click.unstyle(render(down, "text", width=120))
    assert render(down, "text").count("it is down") == 6


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_table_is_no_wider_than_the_terminal(report: Report, width: int) -> None:
    """Long names fold; nothing runs past the edge."""
    assert max(map(len, click.unstyle(render(report, "text", width=width)).splitlines())) <= width


def test_colours_are_off_where_no_color_is_set(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    """`NO_COLOR` is respected."""
    assert "\x1b[32m" in render(report, "text", width=80)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in render(report, "text", width=80)


@pytest.mark.parametrize("width", [None, 80])
def test_data_cannot_write_to_the_terminal(report: Report, width: int | None) -> None:
    """Control characters and markup in data come out as the letters they are."""
    dataset = report.datasets[0]
    evil = replace(dataset.results[1], description="\x1b[2Jgone\r\n[red]passed[/red]\u202e")
    text = render(replace(report, datasets=(replace(dataset, results=(evil,)),)), "text", width)

    assert "\x1b[2J" not in text
    assert "\r" not in text
    assert "\u202e" not in text
    assert "[red]passed[/red]" in text


def test_printable_keeps_ordinary_letters() -> None:
    """Only what moves a cursor is replaced."""
    assert printable("größer ≥ 5 %\tja\x07") == "größer ≥ 5 % ja\\x07"


def test_a_contract_that_was_not_evaluated_says_why() -> None:
    """Every problem with its place, then that there is no verdict."""
    text = render(NotEvaluated("a.yaml", (PROBLEM,)), "text")
    assert text.splitlines() == [
        "warning  a.yaml:4 $.colour: the key 'colour' is not known (remove it)",
        "a.yaml: not evaluated",
    ]


def test_a_linted_file_counts_its_clauses(report: Report) -> None:
    """Problems, then the counters, then the reasons for what is not checked."""
    assert render(Linted("a.yaml", (PROBLEM,), report.plan), "text").splitlines() == [
        "warning  a.yaml:4 $.colour: the key 'colour' is not known (remove it)",
        "a.yaml: 6 checks, 1 documented, 1 not checked, 1 warning",
        "  checked by 6 schema",
        "  not checked, because nobody can measure it:",
        "    contracts/orders.odcs.yaml:20 $.slaProperties[0]",
    ]


def test_several_linted_files_end_with_a_sum(report: Report) -> None:
    """The last line adds up all files."""
    broken = Linted("b.yaml", (replace(PROBLEM, level="error"),))
    linted = [Linted("a.yaml", (), report.plan), broken]
    last = render(linted, "text").splitlines()[-1]
    assert click.unstyle(render(linted, "text", width=200)) == render(linted, "text")
    assert last == "2 files: 6 checks, 1 documented, 1 not checked, 1 file cannot be used, 1 error"


def test_an_unknown_format_names_those_there_are(report: Report) -> None:
    """A mistyped format says what would be right."""
    with pytest.raises(ValueError, match="there is no format 'xml'; there are: text, json"):
        render(report, "xml")  # type: ignore[arg-type]
