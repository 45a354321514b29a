"""Contracts as a component of a `dg` project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest
from builders import odcs
from dagster.components.testing import create_defs_folder_sandbox
from databases import Put

from contract_checks import ContractsComponent
from contract_checks.dagster_defs import ContractSources

# What Dagster does by itself for every component: a name that pydantic calls deprecated, a class still in beta.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
    pytest.mark.filterwarnings(
        "ignore:Class `(LocalFileCodeReference|CodeReferencesMetadataValue)` is currently in beta"
    ),
]

ROWS = "SELECT 1 AS id"
CONTRACT = odcs("[{name: id, logicalType: integer, required: true}]", name="t", more={"domain": "sales"})
BROKEN = "apiVersion: v3.1.0\nkind: DataContract\nid: b\nversion: 1.0.0\nstatus: active\nschema:\n  - name: 5.5.5: x\n"


@contextmanager
def loaded(
    attributes: dict[str, Any], contract: str = CONTRACT, kind: str = "contract_checks.ContractsComponent"
) -> Iterator[tuple[Any, dg.Definitions]]:
    """A component of those attributes beside a folder with one contract."""
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=ContractsComponent,
            defs_yaml_contents={"type": kind, "attributes": attributes},
        )
        shutil.rmtree(path / "contracts", ignore_errors=True)
        (path / "contracts").mkdir()
        (path / "contracts" / "t.odcs.yaml").write_text(contract, encoding="utf-8")
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, definitions):
            yield component, definitions


def refused(attributes: dict[str, Any], contract: str = CONTRACT) -> str:
    """Why a component does not load, with all causes, as Dagster shows them."""
    with pytest.raises(Exception) as raised, loaded(attributes, contract):
        pass
    return "".join(traceback.format_exception(raised.value))


def asset_of(definitions: dg.Definitions) -> dg.AssetSpec:
    """The only asset."""
    (spec,) = definitions.resolve_all_asset_specs()
    return spec


def test_a_folder_of_contracts_is_a_component(put: Put) -> None:
    """The contracts beside the component's file are assets with checks that run."""
    with loaded({"contracts": "contracts", "source": put("duckdb", ROWS)}) as (_, definitions):
        job = definitions.resolve_implicit_global_asset_job_def()
        with dg.DagsterInstance.ephemeral() as instance:
            done = job.execute_in_process(instance=instance)
        assert asset_of(definitions).group_name == "sales"
        assert all(one.passed for one in done.get_asset_check_evaluations())
        assert len(done.get_asset_check_evaluations()) == 3


def test_translation_changes_assets() -> None:
    """`translation:` sets attributes of every asset, with the contract and the dataset at hand."""
    attributes = {
        "source": "duckdb://",
        "translation": {
            "key_prefix": ["lake"],
            "group_name": "contracts_of_{{ contract.domain }}",
            "metadata": {"table": "{{ dataset.physical_name }}"},
        },
    }
    with loaded(attributes) as (_, definitions):
        spec = asset_of(definitions)
        assert spec.key == dg.AssetKey(["lake", "t"])
        assert spec.group_name == "contracts_of_sales"
        assert spec.metadata["table"] == "t"
        assert {key.asset_key for key in definitions.resolve_asset_graph().asset_check_keys} == {spec.key}


def test_every_setting_reaches_the_definitions() -> None:
    """Blocking, schedules and names are what the attributes say."""
    attributes: dict[str, Any] = {
        "source": "duckdb://",
        "blocking": ["quality"],
        "publish": "always",
        "group_by": "section",
        "schedules": "running",
        "name": "sales",
    }
    daily = odcs(
        "[{name: id, logicalType: integer, required: true}]",
        name="t",
        more={"slaProperties": [{"property": "frequency", "value": 1, "unit": "d"}]},
    )
    with loaded(attributes, daily) as (component, definitions):
        (schedule,) = definitions.schedules or ()
        assert schedule.name.startswith("sales_sla__")
        assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING  # type: ignore[union-attr]
        assert component.blocking == ("quality",)
        graph = definitions.resolve_asset_graph()
        assert {key.name for key in graph.asset_check_keys} == {"schema__all"}
        assert not any(graph.get(key).blocking for key in graph.asset_check_keys)


def test_environment_and_variables_fill_templates(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value may come from the environment when definitions load; a password only when a run needs it."""
    monkeypatch.setenv("PLACE", put("duckdb", ROWS))
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    servers = {
        "warehouse": {"url": "{{ env.PLACE }}", "username_variable": "DB_USER", "password_variable": "DB_PASSWORD"}
    }
    with loaded({"servers": servers}) as (_, definitions):
        resource = (definitions.resources or {})["contract_sources"]
        assert isinstance(resource, ContractSources)
        assert resource.urls == {"warehouse": os.environ["PLACE"]}
        shown = str(resource.credentials) + str(dict(resource))
        assert "hunter2" not in shown
        monkeypatch.setenv("DB_USER", "me")
        with resource.process_config_and_initialize_cm() as at_work:
            assert at_work.credentials["warehouse"].password == "hunter2"


def test_a_statement_that_takes_too_long_is_stopped(put: Put) -> None:
    """`statement_timeout:` is the limit of every statement."""
    query = "SELECT count(*) FROM t x, t y, t z WHERE x.range * y.range + z.range = -1"
    rule = {"id": "endless", "type": "sql", "query": query, "mustBe": 0}
    source = put("duckdb", "SELECT range FROM range(1000000)")
    attributes: dict[str, Any] = {"source": source, "statement_timeout": 1}
    with loaded(attributes, odcs("[{name: range, logicalType: integer}]", [rule])) as (_, definitions):
        with dg.DagsterInstance.ephemeral() as instance:
            job = definitions.resolve_implicit_global_asset_job_def()
            done = job.execute_in_process(instance=instance, raise_on_error=False)
        (endless,) = [one for one in done.get_asset_check_evaluations() if "endless" in one.check_name]
        assert "gave up after 1 s" in str(endless.description)


@pytest.mark.parametrize(("proofs", "tier"), [(True, "catalogue"), (False, "scan")])
def test_what_is_declared_is_proven_unless_the_component_says_no(tmp_path: Path, proofs: bool, tier: str) -> None:
    """A constraint answers its check, and the metadata say so; with `proofs: false` a scan does."""
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        connection.execute("CREATE TABLE t (a INTEGER NOT NULL)")
    attributes: dict[str, Any] = {"source": f"duckdb:///{tmp_path}/w.duckdb", "proofs": proofs}
    with loaded(attributes, odcs("[{name: a, logicalType: integer, required: true}]")) as (_, definitions):
        with dg.DagsterInstance.ephemeral() as instance:
            done = definitions.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
        (found,) = [one for one in done.get_asset_check_evaluations() if "required" in one.check_name]
        assert found.passed
        assert found.metadata["answered_by"].value == tier


class Own(ContractsComponent):
    """A component with a group of its own."""

    def get_asset_spec(self, data: Any) -> dg.AssetSpec:
        return super().get_asset_spec(data).replace_attributes(group_name="own")


def test_a_subclass_may_change_specs() -> None:
    """`get_asset_spec` and `get_check_spec` of a subclass are those of a translator."""
    with loaded({"source": "duckdb://"}, kind=f"{__name__}.Own") as (_, definitions):
        assert asset_of(definitions).group_name == "own"


def test_scaffolding_leaves_something_to_start_from() -> None:
    """`dg scaffold` writes a component that loads, with a contract to begin with that blocks nothing."""
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=ContractsComponent, scaffold_params={"contracts": "agreed", "source": "duckdb://"}
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, definitions):
            assert component.contracts == "agreed"
            assert asset_of(definitions).key == dg.AssetKey("example")
            graph = definitions.resolve_asset_graph()
            assert not any(graph.get(key).blocking for key in graph.asset_check_keys)


def test_a_broken_contract_is_shown_or_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default a broken contract is a red asset; an attribute or the environment makes it an error with its lines."""
    with loaded({"source": "duckdb://"}, BROKEN) as (_, definitions):
        assert asset_of(definitions).group_name == "broken_contracts"
    assert "t.odcs.yaml:7" in refused({"on_broken": "raise"}, BROKEN)
    monkeypatch.setenv("CONTRACT_CHECKS_ON_BROKEN", "raise")
    assert "t.odcs.yaml:7" in refused({}, BROKEN)


def test_folders_that_are_not_there_are_named() -> None:
    """A wrong path is an error that says where it was looked for."""
    assert "there are no contracts: neither" in refused({"contracts": "nowhere"})


@pytest.mark.slow
def test_dg_check_names_file_and_line(tmp_path: Path) -> None:
    """`dg check defs` fails for a broken contract, with its file and line."""
    pytest.importorskip("dagster_dg_cli")
    folder = tmp_path / "src" / "shop" / "defs" / "orders"
    (folder / "contracts").mkdir(parents=True)
    (tmp_path / "src" / "shop" / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "shop"\nversion = "0"\n[tool.dg]\ndirectory_type = "project"\n'
        '[tool.dg.project]\nroot_module = "shop"\n'
    )
    (tmp_path / "src" / "shop" / "definitions.py").write_text(
        "from pathlib import Path\nimport dagster as dg\n\n@dg.definitions\ndef defs():\n"
        "    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
    )
    (folder / "defs.yaml").write_text("type: contract_checks.ContractsComponent\nattributes:\n  source: 'duckdb://'\n")
    contract = folder / "contracts" / "t.odcs.yaml"
    path = os.pathsep.join([str(Path(__file__).parents[2]), str(tmp_path / "src")])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "CONTRACT_CHECKS_ON_BROKEN": "raise",
        "DAGSTER_HOME": str(tmp_path),
    }

    dg_command = str(Path(sys.executable).parent / "dg")
    options = subprocess.run([dg_command, "check", "defs", "--help"], capture_output=True, text=True, check=True).stdout

    def check() -> tuple[int, str]:
        command = [dg_command, "check", "defs", *(["--use-active-venv"] if "--use-active-venv" in options else [])]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    contract.write_text(CONTRACT)
    code, said = check()
    assert code == 0, said
    contract.write_text(BROKEN)
    code, said = check()
    assert code != 0
    assert "t.odcs.yaml:7" in said
