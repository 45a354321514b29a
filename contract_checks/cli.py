"""The command line: `contract-checks lint`, `contract-checks test` and `contract-checks history`.

A command line is parsed into a frozen value (`ToLint`, `ToTest`), that value is run into results, the
results are rendered, and only then something is printed. Results go to stdout; progress, warnings and
whatever else is meant for a person go to stderr.

The stages are imported inside the functions that need them: sqlglot, pydantic and SQLAlchemy take most
of a second, and `--help`, shell completion and a mistyped option should not wait for them.
"""

from __future__ import annotations

import io
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from contract_checks import __version__

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from contract_checks.checks import Plan
    from contract_checks.errors import ContractError
    from contract_checks.model import Contract
    from contract_checks.reports import FormatName, Linted, NotEvaluated, Printable
    from contract_checks.results import Report

    Progress: TypeAlias = Callable[[str, int, int], None]

EXIT_CODES = """\
Exit codes: 0 everything passed (warnings are allowed); 1 a check of severity error failed;
2 a contract could not be read, a check could not be evaluated, or the command line is wrong.
"""
HISTORY_EXIT_CODES = "Exit codes: 0 what is recorded was shown; 2 it cannot be read."
LINT_EXIT_CODES = "Exit codes: 0 no errors (warnings are allowed); 2 a file could not be read or has errors."


# --------------------------------------------------------------------------- parsed


@dataclass(frozen=True)
class ToLint:
    """What to lint, as the command line said it."""

    paths: tuple[str, ...]
    strict: bool = False


@dataclass(frozen=True)
class ToTest:
    """What to test and where its data is, as the command line said it. No `checks` or `datasets` means all."""

    paths: tuple[str, ...]
    server: str | None = None
    source: str | None = None
    checks: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    statement_timeout: int = 600
    measurements: str | None = None
    proofs: bool = True


class UnknownNameError(click.UsageError):
    """A `--check` or `--dataset` that no contract has."""


_paths = click.argument("paths", metavar="PATH...", nargs=-1, required=True)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON: an object for one file, a list for more.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="contract-checks")
def commands() -> None:
    """Check data against its contract.

    A contract is a YAML or JSON file of the Open Data Contract Standard or of OpenMetadata.
    """


@commands.command(epilog=LINT_EXIT_CODES)
@_paths
@click.option("--strict", is_flag=True, help="Treat every warning as an error.")
@_json
def lint(paths: tuple[str, ...], strict: bool, as_json: bool) -> None:
    """Read contracts, without their data, and say what is wrong with them.

    PATH is a contract file, or a folder whose *.yaml, *.yml and *.json files are all contracts. Of every
    file you learn how many of its clauses are checked, how many are only shown, and which promise is
    not checked, and why.
    """
    results = run_lint(ToLint(paths, strict))
    _print(results[0] if as_json and _is_one_file(paths) else results, "json" if as_json else "text")
    raise click.exceptions.Exit(max(result.exit_code for result in results))


@commands.command(epilog=EXIT_CODES)
@_paths
@click.option("--server", metavar="NAME", help="Which of the contract's servers has the data.")
@click.option(
    "--source",
    metavar="URL",
    help="Where the data is instead: a SQLAlchemy URL, or a file or folder of Parquet, CSV or JSON.",
)
@click.option("--check", "checks", metavar="NAME", multiple=True, help="Only this check; may be repeated.")
@click.option("--dataset", "datasets", metavar="NAME", multiple=True, help="Only this dataset; may be repeated.")
@click.option(
    "--statement-timeout",
    metavar="SECONDS",
    type=click.IntRange(min=0),
    default=600,
    show_default=True,
    help="Give up on a statement that takes longer; 0 never does.",
)
@click.option(
    "--measurements",
    metavar="FILE",
    help="Keep what is measured of files here, and read a file again only when it has changed.",
)
@click.option("--no-proofs", is_flag=True, help="Scan also for what the source guarantees.")
@_json
@click.option("--openmetadata", "for_openmetadata", is_flag=True, help="Print JSON as OpenMetadata keeps results.")
def test(
    paths: tuple[str, ...],
    server: str | None,
    source: str | None,
    checks: tuple[str, ...],
    datasets: tuple[str, ...],
    statement_timeout: int,
    measurements: str | None,
    no_proofs: bool,
    as_json: bool,
    for_openmetadata: bool,
) -> None:
    """Check data against contracts.

    PATH is a contract file, or a folder whose *.yaml, *.yml and *.json files are all contracts. The data is
    only ever read.
    """
    wanted = ToTest(paths, server, source, checks, datasets, statement_timeout, measurements, not no_proofs)
    if as_json and for_openmetadata:
        raise click.UsageError("--json and --openmetadata are two forms of one result: choose one.")
    document: FormatName | None = "openmetadata" if for_openmetadata else "json" if as_json else None
    bar = _Bar()
    results: list[Report | NotEvaluated] = []
    try:
        for result in run_test(wanted, bar):
            bar.clear()
            _warn(result, document is not None)
            if document is None:
                _print(result, "text", after=bool(results))
            results.append(result)
    finally:
        bar.clear()  # it hides the cursor
    if document is not None:
        _print(results[0] if _is_one_file(paths) else results, document)
    raise click.exceptions.Exit(max(result.exit_code for result in results))


@commands.command(epilog=HISTORY_EXIT_CODES)
@click.argument("of", metavar="PATH|ASSET")
@click.option("--asset", metavar="KEY", help="The asset of the contract's data, where it has another key.")
@click.option("--limit", metavar="N", default=20, show_default=True, help="How many runs of each asset, at most.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of runs.")
def history(of: str, asset: str | None, limit: int, as_json: bool) -> None:
    """Show what Dagster's runs found out about a contract, the latest first.

    PATH is a contract file; ASSET is the key of an asset (warehouse/orders), of which only the runs that made it
    are known. Runs are read from the Dagster instance of DAGSTER_HOME.
    """
    from contract_checks.dagster_defs.runs import history_json, history_text, recorded
    from contract_checks.errors import ContractError

    try:
        verdicts = recorded(of, limit, asset)
    except (ContractError, ValueError) as error:
        raise UnknownNameError(str(error)) from None
    click.echo(history_json(verdicts) if as_json else history_text(verdicts))


# --------------------------------------------------------------------------- run


def run_lint(wanted: ToLint) -> list[Linted]:
    """Lint every contract of `wanted.paths`, at least one result for each path."""
    from contract_checks.lint import lint as problems_of
    from contract_checks.reports import Linted, NotEvaluated

    results = []
    for read in _read(wanted.paths, wanted.strict):
        if isinstance(read, NotEvaluated):
            results.append(Linted(read.file, read.problems))
            continue
        problems = problems_of(read.contract)
        if wanted.strict:
            problems = tuple(replace(problem, level="error") for problem in problems)
        results.append(Linted(read.contract.file, problems, read))
    return results


def run_test(wanted: ToTest, progress: Progress | None = None) -> Iterator[Report | NotEvaluated]:
    """Test every contract of `wanted.paths`, one result after the other.

    A contract that has none of the wanted datasets or checks is left out. Raises `UnknownNameError` when
    no contract has one of them.
    """
    from contract_checks.checks import Settings
    from contract_checks.reports import NotEvaluated
    from contract_checks.run import check_contract

    settings = Settings(
        statement_timeout=wanted.statement_timeout, measurements=wanted.measurements, proofs=wanted.proofs
    )
    read = _read(wanted.paths)
    _refuse_unknown(wanted, read)
    before, of_all = 0, sum(len(plan.datasets) for plan in read if not isinstance(plan, NotEvaluated))

    def advance(dataset: str, done: int, _: int) -> None:
        if progress is not None:
            progress(dataset, before + done, of_all)

    for plan in read:
        if isinstance(plan, NotEvaluated):
            yield plan
            continue
        kept = _wanted_checks(plan, wanted)
        if kept is not None and not kept:
            continue
        names = None if kept is None else {name for checks in kept.values() for name in checks}
        report = check_contract(plan.contract, wanted.server, wanted.source, names, advance, settings=settings)
        if kept is not None:
            # Two datasets may have a check of one name, of which only one is wanted.
            report = replace(report, datasets=tuple(one for one in report.datasets if one.name in kept))
        before += len(plan.datasets)
        yield report


def _read(paths: Sequence[str], strict: bool = False) -> tuple[Plan | NotEvaluated, ...]:
    """Every contract of `paths` as its plan or as the reasons why there is none, each file once."""
    from contract_checks.dialects import load_directory
    from contract_checks.errors import ContractError, Location, Problem

    found: dict[Path, Plan | NotEvaluated] = {}
    for path in paths:
        if not Path(path).is_dir():
            found.setdefault(Path(path).resolve(), _read_file(path, strict))
            continue
        loaded = load_directory(path, strict)
        inside: list[Plan | NotEvaluated] = [_planned(contract) for contract in loaded.contracts]
        inside += map(_unreadable, loaded.broken)
        if not inside:
            problem = Problem("there is no contract in this folder", Location(path, 1), hint="*.yaml, *.yml or *.json")
            inside.append(_unreadable(ContractError([problem])))
        for one in sorted(inside, key=_file_of):
            found.setdefault(Path(_file_of(one)).resolve(), one)
    return tuple(found.values())


def _read_file(path: str, strict: bool) -> Plan | NotEvaluated:
    from contract_checks.dialects import load
    from contract_checks.errors import ContractError

    try:
        return _planned(load(path, strict))
    except ContractError as error:
        return _unreadable(error)


def _planned(contract: Contract) -> Plan | NotEvaluated:
    from contract_checks.checks import plan
    from contract_checks.errors import ContractError

    try:
        return plan(contract)
    except ContractError as error:
        return _unreadable(error)


def _unreadable(error: ContractError) -> NotEvaluated:
    from contract_checks.reports import NotEvaluated

    return NotEvaluated(error.problems[0].location.file, error.problems)


def _file_of(read: Plan | NotEvaluated) -> str:
    from contract_checks.reports import NotEvaluated

    return read.file if isinstance(read, NotEvaluated) else read.contract.file


def _refuse_unknown(wanted: ToTest, read: Sequence[Plan | NotEvaluated]) -> None:
    from contract_checks.checks import Plan

    readable = [plan for plan in read if isinstance(plan, Plan)]
    if not readable:
        return  # the files themselves are the problem then
    plans = [dataset for plan in readable for dataset in plan.datasets]
    _refuse("--dataset", wanted.datasets, [plan.dataset.name for plan in plans])
    inside = [plan for plan in plans if not wanted.datasets or plan.dataset.name in wanted.datasets]
    _refuse("--check", wanted.checks, [check.name for plan in inside for check in plan.checks])


def _refuse(option: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        there_are = ", ".join(dict.fromkeys(known)) or "none"
        names = ", ".join(f"'{name}'" for name in unknown)
        raise UnknownNameError(f"{option}: no contract has {names}. There are: {there_are}")


def _wanted_checks(plan: Plan, wanted: ToTest) -> dict[str, tuple[str, ...]] | None:
    """The names of the wanted checks by dataset; None for all of them, empty when the contract has none."""
    if not wanted.checks and not wanted.datasets:
        return None
    found = {
        dataset.dataset.name: tuple(
            check.name for check in dataset.checks if not wanted.checks or check.name in wanted.checks
        )
        for dataset in plan.datasets
        if not wanted.datasets or dataset.dataset.name in wanted.datasets
    }
    return {name: names for name, names in found.items() if names or not wanted.checks}


# --------------------------------------------------------------------------- printed


def _is_one_file(paths: Sequence[str]) -> bool:
    return len(paths) == 1 and not Path(paths[0]).is_dir()


def _print(what: Printable | Sequence[Printable], format_name: FormatName, after: bool = False) -> None:
    from contract_checks.reports import render

    if format_name in ("json", "openmetadata"):
        # JSON is UTF-8 whatever the terminal or the locale says.
        click.echo(render(what, format_name).encode())
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo(("\n" if after else "") + render(what, "text", width))


def _warn(result: Report | NotEvaluated, as_json: bool) -> None:
    """Tell stderr what the results do not: warnings about the contract and, beside JSON, why there are none."""
    from contract_checks.reports import NotEvaluated
    from contract_checks.reports.text import NOTHING_TESTED, problem_line

    if isinstance(result, NotEvaluated):
        problems = result.problems if as_json else ()
    else:
        problems = result.plan.contract.problems
        if not result.results:
            click.echo(f"{result.plan.contract.file}: {NOTHING_TESTED}", err=True)
    for problem in problems:
        click.echo(problem_line(problem), err=True)


class _Bar:
    """A progress bar on stderr, if that is a terminal. It appears with the first step and can be cleared."""

    def __init__(self) -> None:
        self._bar: RichProgress | None = None

    def __call__(self, dataset: str, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress as RichProgress

        if self._bar is None:
            # rich would send everything that is printed meanwhile to the bar's own stream.
            console = Console(stderr=True)
            self._bar = RichProgress(console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
            self._bar.add_task("", total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=escape(dataset), completed=done, total=total)

    def clear(self) -> None:
        """Make room for what is printed."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Nothing but a failed check ends with 1, which is what click and Python themselves would use for an
    interruption and for a fault of this program.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a `≤` must not end the program where the locale has none
    try:
        return int(commands.main(arguments, prog_name="contract-checks", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except Exception:  # noqa: BLE001 (a fault of ours must be told from a failed check)
        traceback.print_exc()
        return 2
