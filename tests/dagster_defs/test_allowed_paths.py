"""A contract is untrusted: its own servers find files only where the definitions allow."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipelines import run

from contract_checks.checks import Settings
from contract_checks.dagster_defs import build_definitions
from contract_checks.sources import allowed_by_default, resolve

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: people
version: 1.0.0
status: active
servers:
  - {{server: files, type: local, path: {path}, format: csv}}
schema:
  - name: people
    properties:
      - {{name: name, logicalType: string, required: true}}
"""


@pytest.fixture
def far_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A folder of contracts whose data is in a folder that is neither near them nor near the process."""
    data, contracts = tmp_path / "elsewhere" / "data", tmp_path / "project" / "nested" / "contracts"
    data.mkdir(parents=True)
    contracts.mkdir(parents=True)
    (data / "people.csv").write_text("name\nAda\n")
    (contracts / "people.odcs.yaml").write_text(CONTRACT.format(path=data))
    monkeypatch.chdir(contracts)
    return contracts, data


def test_a_contract_cannot_read_where_it_likes(far_away: tuple[Path, Path]) -> None:
    """Files far from the contract and from the process are refused, and the run says what is allowed."""
    contracts, _ = far_away
    ran = run(build_definitions(contracts), more=())

    assert not ran.success
    assert ran.checks
    assert all("outside of the folders the definitions allow" in str(one.description) for one in ran.checks.values())


def test_the_definitions_may_allow_more(far_away: tuple[Path, Path]) -> None:
    """`Settings.allowed_paths` opens another folder to contracts."""
    contracts, data = far_away

    assert run(build_definitions(contracts, settings=Settings(allowed_paths=(str(data),))), more=()).success


def test_what_is_near_the_contract_is_allowed(far_away: tuple[Path, Path]) -> None:
    """By default a contract may read beside and above itself, below the working directory, and at addresses."""
    from contract_checks import load_contract

    contracts, _ = far_away
    contract = load_contract(contracts / "people.odcs.yaml")

    assert str(contracts) in allowed_by_default(contract)
    assert str(contracts.parent) in allowed_by_default(contract)
    assert resolve(contract).name.endswith("data")
