"""Results → tables with colours, for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from contract_checks.reports import text
from contract_checks.reports.interface import Printable
from contract_checks.results import CheckResult, DatasetReport, Report

_COLOURS = {
    "passed": "green",
    "failed": "red",
    "errored": "magenta",
    "skipped": "dim",
    "error": "red",
    "warning": "yellow",
}
SAMPLE_ROWS = 5
"""How many offending rows are shown below a failed check; the JSON has all of the sample."""


def render_terminal(what: Printable | Sequence[Printable], width: int) -> str:
    """`what` as text with ANSI colours (none where `NO_COLOR` is set), `width` columns wide."""
    console = Console(file=StringIO(), force_terminal=True, width=width, highlight=False, color_system="standard")
    if isinstance(what, Report):
        console.print(report_renderable(what))
    elif isinstance(what, Sequence) and any(isinstance(one, Report) for one in what):
        return "\n\n".join(render_terminal(one, width) for one in what)
    else:
        console.print(Group(*map(_coloured, text.lines(what))), soft_wrap=True)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().rstrip("\n")


def report_renderable(report: Report) -> RenderableType:
    """A contract's results: a table per dataset, and below it every failed check explained."""
    parts: list[RenderableType] = [Text(text.heading(report), style="bold")]
    for dataset in report.datasets:
        parts.append(_dataset(dataset))
        if len(report.datasets) > 1:
            parts.append(Text(text.dataset_summary(dataset)))
    parts.append(Text(text.report_summary(report), style="bold"))
    return Group(*parts)


def _dataset(dataset: DatasetReport) -> RenderableType:
    parts: list[RenderableType] = [Text(), Text(text.dataset_heading(dataset), style="bold cyan")]
    if dataset.results:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="dim")
        table.add_column("status", no_wrap=True)
        table.add_column("severity", no_wrap=True)
        table.add_column("check", overflow="fold")
        table.add_column("measured", justify="right", overflow="fold")
        table.add_column("expected", overflow="fold")
        for result in dataset.results:
            table.add_row(
                Text(result.status, style=_style(result)),
                Text(result.check.severity, style="dim"),
                Text(result.check.name),
                Text(text.measured_text(result)),
                Text(text.printable(result.check.expected)),
            )
        parts.append(table)
    for group in _alike(result for result in dataset.results if result.status != "passed"):
        parts += _explained(group[0]) if len(group) == 1 else [_explained_together(group)]
    for clause in dataset.plan.not_checked:
        parts.append(Text(text.printable(f"not checked  {clause.location}: {clause.reason}"), style="dim"))
    return Group(*parts)


def _alike(results: Iterable[CheckResult]) -> list[list[CheckResult]]:
    """The results in their order, those errored for one reason together: a database that is down is told once."""
    groups: dict[object, list[CheckResult]] = {}
    for result in results:
        key = result.description if result.status == "errored" else result.check.name
        groups.setdefault((result.status, key), []).append(result)
    return list(groups.values())


def _explained_together(results: Sequence[CheckResult]) -> RenderableType:
    first = results[0]
    sentence = Text.assemble(
        (f"{first.status} ", _style(first)),
        (text.plural(len(results), "check"), "bold"),
        f" {text.printable(first.description)}",
    )
    return Padding(sentence, (0, 0, 1, 0))


def _explained(result: CheckResult) -> Iterator[RenderableType]:
    yield Text.assemble(
        (f"{result.status} ", _style(result)),
        (result.check.name, "bold"),
        f" {text.printable(result.description)}",
    )
    inside: list[RenderableType] = [Text(text.printable(str(result.check.location)), style="dim")]
    inside += [Text(text.printable(note), style="dim") for note in result.notes]
    if text.spared(result):
        inside.append(Text(f"answered by: {result.answered_by}", style="dim"))
    wrong = [detail for detail in result.details if not detail.ok]
    if wrong:
        rows = [(detail.column, detail.expected, detail.found) for detail in wrong]
        inside.append(_plain_table(("column", "expected", "found"), rows))
    if result.sample is not None and result.sample.rows:
        rows_shown = [tuple(map(text.value_text, row)) for row in result.sample.rows[:SAMPLE_ROWS]]
        inside.append(_plain_table(result.sample.columns, rows_shown))
    yield Padding(Group(*inside), (0, 0, 1, 2))


def _plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="dim")
    for column in columns:
        table.add_column(Text(text.printable(column)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(text.printable(cell)) for cell in row))
    return table


def _style(result: CheckResult) -> str:
    if result.status == "failed" and result.check.severity == "warning":
        return _COLOURS["warning"]
    return _COLOURS[result.status]


def _coloured(line: str) -> Text:
    """A line whose first word is coloured by what it says."""
    rendered = Text(line)
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    if word in _COLOURS:
        rendered.stylize(_COLOURS[word], 0, len(word))
    return rendered
