"""Results → lines of text: one line per check, the same on every machine, made for grep and for logs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal

from contract_checks.errors import Location, Problem
from contract_checks.metrics import Scalar
from contract_checks.model import Thresholds
from contract_checks.reports.interface import Linted, NotEvaluated, Printable
from contract_checks.results import CheckResult, DatasetReport, Report, score_of, status_of

NOTHING_TESTED = "nothing was tested: the contract promises nothing that can be checked"
_ORDER = ("passed", "failed", "errored", "skipped")


def render_text(what: Printable | Sequence[Printable], width: int | None = None) -> str:
    """The lines as one text. `width` changes nothing: a line is never broken."""
    return "\n".join(lines(what))


def lines(what: Printable | Sequence[Printable]) -> Iterator[str]:
    """The lines of one value, or of several with a blank line between them."""
    match what:
        case Report():
            yield from _report(what)
        case NotEvaluated():
            yield from not_evaluated_lines(what)
        case Linted():
            yield from lint_lines(what)
        case _:
            for position, one in enumerate(what):
                if position and not isinstance(one, Linted):
                    yield ""
                yield from lines(one)
            linted = [one for one in what if isinstance(one, Linted)]
            if len(linted) > 1:
                yield from ("", lint_summary(linted))


# --------------------------------------------------------------------------- a tested contract


def _report(report: Report) -> Iterator[str]:
    yield heading(report)
    width = max((len(result.check.name) for result in report.results), default=0)
    for dataset in report.datasets:
        yield ""
        yield dataset_heading(dataset)
        for result in dataset.results:
            yield _check_line(result, width)
        for clause in dataset.plan.not_checked:
            yield printable(f"not checked  {clause.location}: {clause.reason}")
        if len(report.datasets) > 1:
            yield dataset_summary(dataset)
    yield ""
    yield report_summary(report)


def heading(report: Report) -> str:
    """Which contract, from which file, and where its data was looked for."""
    contract = report.plan.contract
    title = " ".join(part for part in (contract.id or contract.name, contract.version) if part)
    return printable("  ".join(part for part in (title, contract.file, report.source) if part))


def dataset_heading(dataset: DatasetReport) -> str:
    """The name of a dataset, and its rows when they were counted."""
    rows = "" if dataset.row_count is None else f": {plural(dataset.row_count, 'row')}"
    return printable(f"{dataset.name}{rows}")


def _check_line(result: CheckResult, width: int) -> str:
    line = f"{result.status:<7}  {result.check.severity:<7}  {result.check.name:<{width}}  {result.description}"
    if result.status in ("failed", "errored"):
        line += f"  ({place(result.check.location)})"
    if spared(result):
        line += f"  [answered by: {result.answered_by}]"
    return printable(line)


def spared(result: CheckResult) -> bool:
    """Whether a number that a scan would give came from elsewhere."""
    counted = result.status in ("passed", "failed") and result.sql is not None
    return counted and result.answered_by not in ("scan", "query")


def dataset_summary(dataset: DatasetReport) -> str:
    """How a dataset did, in one line."""
    return printable(f"{dataset.name}: {_verdict(dataset.results)}")


def report_summary(report: Report) -> str:
    """How a contract did, in one line."""
    contract = report.plan.contract
    return printable(f"{contract.id or contract.name}: {_verdict(report.results)}")


def _verdict(results: Sequence[CheckResult]) -> str:
    if not results:
        return NOTHING_TESTED
    counts = Counter[str](result.status for result in results)
    warned = sum(result.status == "failed" and result.check.severity == "warning" for result in results)
    notes = {"failed": f" ({plural(warned, 'warning')})" if warned else ""}
    parts = [f"{counts[status]:,} {status}{notes.get(status, '')}" for status in _ORDER if counts[status]]
    score = score_of(results)
    scored = "" if score is None else f"; score {score:.0%}" if score in (0, 1) else f"; score {score:.1%}"
    return f"{status_of(results).replace('_', ' ')}: {', '.join(parts)}{scored}"


def not_evaluated_lines(what: NotEvaluated) -> Iterator[str]:
    """Why there is no report, problem by problem."""
    for problem in what.problems:
        yield problem_line(problem)
    yield printable(f"{what.file}: not evaluated")


# --------------------------------------------------------------------------- a linted contract


def lint_lines(linted: Linted) -> Iterator[str]:
    """The problems of a file, what became of its clauses, and why some are not checked."""
    for problem in linted.problems:
        yield problem_line(problem)
    if linted.plan is None:
        yield printable(f"{linted.file}: cannot be used: {plural(linted.errors, 'error')}")
        return
    yield printable(f"{linted.file}: {_clauses(linted)}{_problems([linted])}")
    yield printable(f"  checked by {linted.trace.checked_by}")
    reasons: dict[str, list[Location]] = defaultdict(list)
    for clause in linted.not_checked:
        reasons[clause.reason].append(clause.location)
    for reason, locations in reasons.items():
        yield printable(f"  not checked, because {reason}:")
        for location in locations:
            yield printable(f"    {location}")


def lint_summary(linted: Sequence[Linted]) -> str:
    """All files in one line."""
    unusable = sum(one.plan is None for one in linted)
    checks = sum(one.checks for one in linted)
    documented = sum(one.documented for one in linted)
    skipped = sum(len(one.not_checked) for one in linted)
    clauses = f"{plural(checks, 'check')}, {documented:,} documented, {skipped:,} not checked"
    refused = f", {plural(unusable, 'file')} cannot be used" if unusable else ""
    return f"{plural(len(linted), 'file')}: {clauses}{refused}{_problems(linted)}"


def _clauses(linted: Linted) -> str:
    skipped = len(linted.not_checked)
    return f"{plural(linted.checks, 'check')}, {linted.documented:,} documented, {skipped:,} not checked"


def _problems(linted: Sequence[Linted]) -> str:
    counts = {"error": sum(one.errors for one in linted), "warning": sum(one.warnings for one in linted)}
    return "".join(f", {plural(count, word)}" for word, count in counts.items() if count)


def problem_line(problem: Problem) -> str:
    """`warning  contracts/a.yaml:4 $.colour: the key is not known (…)`."""
    return printable(f"{problem.level:<7}  {problem}")


# --------------------------------------------------------------------------- words


def place(location: Location) -> str:
    """A place that an editor or a terminal can open."""
    return f"{location.file}:{location.line}"


def plural(count: int, word: str) -> str:
    """`1 row`, `1,000 rows`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def measured_text(result: CheckResult) -> str:
    """What was measured, with its unit."""
    judgement = result.check.judgement
    percent = isinstance(judgement, Thresholds) and judgement.unit == "percent" and result.measured is not None
    return value_text(result.measured) + (" %" if percent else "")


def value_text(value: Scalar) -> str:
    """A measured value as a person reads it; empty for none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Decimal):
        return f"{value:,f}"
    return printable(str(value))


def printable(text: str) -> str:
    """`text` on one line and without control characters.

    Contracts and data are other people's: what they say must not move the cursor, recolour a terminal or
    forge a line of a log.
    """
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else letter.encode("unicode_escape").decode()
        for letter in text
    ).rstrip()
