"""docs/openmetadata.md runs as it stands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_docs import ROOT, blocks

from contract_checks import dialects
from contract_checks.checks import plan
from contract_checks.lint import lint

PAGE = ROOT / "docs" / "openmetadata.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    for mark, _, code in blocks(PAGE):
        if mark.startswith("file: "):
            file = tmp_path / mark.removeprefix("file: ")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(code, encoding="utf-8")
    return tmp_path


def test_the_contracts_of_the_page_have_no_problem(folder: Path) -> None:
    """Each of them is read strictly, and nothing of the orders is left unchecked."""
    loaded = dialects.load_directory(folder / "contracts", strict=True)
    assert not loaded.broken
    assert [str(problem) for contract in loaded.contracts for problem in lint(contract)] == []
    orders = next(one for one in loaded.contracts if one.name == "orders_contract")
    (planned,) = plan(orders).datasets
    assert [clause.reason for clause in planned.not_checked] == []
    assert "Owners" in {check.title for check in planned.checks}


def test_the_examples_of_the_page_run(folder: Path) -> None:
    """Every check of the page passes or is skipped for want of tags, and the result is OpenMetadata's object."""
    code = "\n".join(code for mark, _, code in blocks(PAGE) if mark == "run")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DAGSTER_HOME": str(folder)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines, _, document = done.stdout.partition("{\n")
    wrong = [line for line in lines.splitlines() if " False " in line]
    assert wrong == [], wrong
    assert "quality__amount__orders_no_refunds_abroad" in lines
    result = json.loads("{" + document)
    assert result["contractExecutionStatus"] == "Success", document
    assert result["qualityValidation"]["total"] == 3
