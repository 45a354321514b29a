"""The examples of the pages about Dagster are so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from builders import odcs
from dagster.components.testing import create_defs_folder_sandbox

from contract_checks import Alerts, ContractsComponent

DOCS = Path(__file__).parents[2] / "docs"
DAY = "[{name: day, logicalType: date, partitioned: true, partitionKeyPosition: 1}]"
EVENTS = "[{name: happened_at, logicalType: timestamp}]"


@pytest.mark.parametrize("page", ["partitions", "alerts"])
def test_python_examples_load(page: str, tmp_path: Path) -> None:
    """The Python of a page makes definitions that load."""
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "orders.yaml").write_text(odcs(DAY, name="warehouse.orders"))
    (tmp_path / "contracts" / "events.yaml").write_text(odcs(EVENTS, name="events"))
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    check = "\nassert 'broken_contracts' not in {one.group_name for one in defs.resolve_all_asset_specs()}\n"
    command = [sys.executable, "-c", f"{code}\ndg.Definitions.validate_loadable(defs){check}"]
    environment = {**os.environ, "PYTHONPATH": str(DOCS.parent)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated")
@pytest.mark.filterwarnings("ignore:Class `(LocalFileCodeReference|CodeReferencesMetadataValue)` is currently in beta")
def test_the_example_of_the_component_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attributes in docs/component.md are attributes, and the page has a line for each there is."""
    page = (DOCS / "component.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    monkeypatch.setenv("DB_HOST", "db.internal")
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=ContractsComponent, defs_yaml_contents=yaml.safe_load(text))
        (path / "contracts").mkdir(exist_ok=True)
        (path / "contracts" / "t.yaml").write_text(odcs(DAY, more={"domain": "sales"}))
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, definitions):
            specs = definitions.resolve_all_asset_specs()
            assert {spec.key.path[0] for spec in specs} == {"warehouse"}
            assert {spec.group_name for spec in specs} == {"sales", "contracts"}
            assert component.servers["warehouse"].url == "postgresql+psycopg://db.internal/sales"
    named = set(re.findall(r"`([a-z_]+)`", "".join(line for line in page.splitlines() if line.startswith("|"))))
    assert {one.name for one in fields(ContractsComponent)} <= named


def test_every_setting_of_alerts_is_explained() -> None:
    """docs/alerts.md names each of them."""
    page = (DOCS / "alerts.md").read_text(encoding="utf-8")
    assert not [one.name for one in fields(Alerts) if f"`{one.name}" not in page]
