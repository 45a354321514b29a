"""What README.md shows on its first screens is so."""

from __future__ import annotations

import re
from pathlib import Path

from contract_checks import load_contract
from contract_checks.checks import plan

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_contract_becomes_what_the_table_below_it_says(tmp_path: Path) -> None:
    """The README names every check of its example contract, and no other."""
    match = re.search(r"```yaml\n(.*?)```", README, re.DOTALL)
    assert match is not None
    file = tmp_path / "airlines.odcs.yaml"
    file.write_text(match[1], encoding="utf-8")
    contract = load_contract(file)
    (dataset,) = plan(contract).datasets
    assert contract.cadence is not None
    assert contract.problems == ()
    assert {check.name for check in dataset.checks} == set(re.findall(r"`(schema__\w+)`", README))


def test_the_commands_of_the_first_screen_exist() -> None:
    """Every `make` command of the README is a target of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^make (\w+)", README, re.MULTILINE)
    assert commands == ["demo", "test"]
    assert all(re.search(rf"^{command}:", makefile, re.MULTILINE) for command in commands)
