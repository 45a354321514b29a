"""The documentation says what is so: help texts, options, names and examples.

`python tests/test_docs.py` writes the help texts into the page again.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from builders import odcs
from click.testing import CliRunner

import contract_checks
from contract_checks.cli import commands

ROOT = Path(__file__).parents[1]
CLI_PAGE = ROOT / "docs" / "cli.md"
PYTHON_PAGE = ROOT / "docs" / "python.md"
DAGSTER_PAGE = ROOT / "docs" / "dagster.md"
PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")])

_HELP = re.compile(r"<!-- help: ?(?P<command>[a-z ]*?) ?-->\n```text\n(?P<text>.*?)```\n", re.DOTALL)
_BLOCK = re.compile(r"(?:<!-- (?P<mark>[^\n]*?) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)```\n", re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


def help_of(command: str) -> str:
    """What `contract-checks COMMAND --help` prints."""
    arguments = [*command.split(), "--help"]
    result = CliRunner().invoke(commands, arguments, prog_name="contract-checks", terminal_width=100)
    return result.stdout


def with_help(page: str) -> str:
    """The page with every help text as it is now."""
    return _HELP.sub(
        lambda match: (
            f"<!-- help: {match['command']} -->\n```text\n".replace(":  -->", ": -->")
            + help_of(match["command"])
            + "```\n"
        ),
        page,
    )


def blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """The code blocks of a page: the mark above it, the language, the code."""
    for match in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield match["mark"] or "", match["language"], match["code"]


def commands_below(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        yield f"{prefix}{name}", command


def test_the_help_texts_are_the_real_ones() -> None:
    """docs/cli.md has the output of `--help`, word for word."""
    page = CLI_PAGE.read_text(encoding="utf-8")
    assert page == with_help(page), "run `python tests/test_docs.py`"


def test_every_command_has_its_help_in_the_docs() -> None:
    """A new command is not finished before docs/cli.md shows it."""
    shown = {match["command"].strip() for match in _HELP.finditer(CLI_PAGE.read_text(encoding="utf-8"))}
    assert shown == {"", *(name for name, _ in commands_below(commands))}


@pytest.mark.parametrize(("name", "command"), list(commands_below(commands)))
def test_every_option_is_explained(name: str, command: click.Command) -> None:
    """Every option has a help text and stands in the docs."""
    page = CLI_PAGE.read_text(encoding="utf-8")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.name}"
            assert all(option in page for option in parameter.opts)


def test_every_public_name_is_in_the_docs() -> None:
    """docs/python.md tells what each public name is for."""
    page = PYTHON_PAGE.read_text(encoding="utf-8")
    assert not [name for name in contract_checks.__all__ if f"`{name}" not in page]


@pytest.mark.parametrize("page", [PYTHON_PAGE, DAGSTER_PAGE], ids=lambda page: page.name)
def test_the_python_examples_run(page: Path, tmp_path: Path) -> None:
    """The examples of a page run one after the other, as a reader would type them."""
    if page == DAGSTER_PAGE:
        pytest.importorskip("polars")
        pytest.importorskip("pyarrow")
    code = []
    for mark, language, text in blocks(page):
        if mark.startswith("file: "):
            file = tmp_path / mark.removeprefix("file: ")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        elif language == "python" and mark != "not run":
            code.append(text)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DAGSTER_HOME": str(tmp_path)}
    command = [sys.executable, "-c", "\n".join(code)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["odcs", "openmetadata", "proposal"])
def test_the_example_contracts_have_no_problem(name: str, tmp_path: Path) -> None:
    """Each example of docs/dialects.md is a contract of its dialect without a warning, and promises something."""
    (code,) = (code for mark, _, code in blocks(ROOT / "docs" / "dialects.md") if mark == f"file: {name}.yaml")
    file = tmp_path / f"{name}.yaml"
    file.write_text(code, encoding="utf-8")
    linted = json.loads(CliRunner().invoke(commands, ["lint", str(file), "--json"]).stdout)
    assert linted["problems"] == []
    assert linted["checks"] > 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_json_examples_are_json(page: Path) -> None:
    """A JSON example can be parsed."""
    for _, language, text in blocks(page):
        if language == "json":
            json.loads(text)


def test_the_json_examples_have_the_keys_of_the_output(tmp_path: Path) -> None:
    """What docs/cli.md shows of `lint --json` and `test --json` has the keys that a program gets."""
    linted, tested = (json.loads(text) for _, language, text in blocks(CLI_PAGE) if language == "json")
    rules = [{"metric": "nullValues", "mustBe": 0}, {"type": "custom", "engine": "soda", "implementation": "x"}]
    column = {"name": "id", "logicalType": "integer", "dimention": "x", "quality": rules}
    (tmp_path / "t.yaml").write_text(odcs([column]), encoding="utf-8")
    (tmp_path / "t.csv").write_text("id\n1\n\n", encoding="utf-8")
    words = [str(tmp_path / "t.yaml"), "--json"]
    lint = json.loads(CliRunner().invoke(commands, ["lint", *words]).stdout)
    test = json.loads(CliRunner().invoke(commands, ["test", *words, "--source", str(tmp_path)]).stdout)

    assert linted.keys() == lint.keys()
    for part in ("not_checked", "problems"):
        assert linted[part][0].keys() == lint[part][0].keys()
    assert linted["trace"].keys() == lint["trace"].keys()
    assert linted["trace"]["unknown_keys"][0].keys() == lint["trace"]["unknown_keys"][0].keys()
    assert tested.keys() == test.keys()
    shown, real = tested["datasets"][0], test["datasets"][0]
    assert shown.keys() == real.keys()
    (check,) = [one for one in real["checks"] if one["rule"] == "nullValues"]
    assert shown["checks"][0].keys() == check.keys() - {"details", "sample", "sql", "notes"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """A relative link names a file of this repository."""
    for match in _LINK.finditer(page.read_text(encoding="utf-8")):
        target = match["target"].partition("#")[0]
        if target and "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), target


def test_every_module_is_in_the_map() -> None:
    """docs/architecture.md tells what each file of the package is for."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "contract_checks"
    missing = [
        str(file.relative_to(package))
        for file in sorted(package.rglob("*.py"))
        if file.name not in page and f"{file.parent.name}/" not in page
    ]
    assert not missing


def test_the_functions_of_the_walk_exist() -> None:
    """A function that docs/architecture.md names as `stage.function` is there."""
    from importlib import import_module

    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`contract_checks\.([a-z_.]+)\.([A-Za-z_]+)[`(]", page))
    assert len(named) > 8
    for module, name in sorted(named):
        assert hasattr(import_module(f"contract_checks.{module}"), name), f"contract_checks.{module}.{name}"


if __name__ == "__main__":
    CLI_PAGE.write_text(with_help(CLI_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
