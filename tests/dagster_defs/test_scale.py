"""Several workers on one instance, as docs/scale.md sets them up, and the pools that keep them from asking too much."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builders import contract_of, odcs
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run
from databases import Postgres, Put
from test_gates import Line

from contract_checks import build_contract_checks, build_definitions, gate_condition, history, match_contracts
from contract_checks.model import Contract

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "scale.md"

COLUMNS = [{"name": "id", "logicalType": "integer", "required": True, "unique": True}]
ENOUGH = [{"id": "enough", "metric": "rowCount", "mustBeGreaterThan": 5}]
CHECKS = {
    "quality__enough",
    "schema__columns",
    "schema__id__required",
    "schema__id__unique",
    "schema__types",
}
TABLES = {"sales": ("orders", "customers", "returns"), "finance": ("invoices", "payments", "taxes")}
# One step at a time, and runs do not stay in the queue for that: their steps wait.
ONE_AT_ONCE = "default_limit: 1\n    op_granularity_run_buffer: 10"
# The daemon looks into the queue every second, and not every five.
AT_ONCE = """
run_coordinator:
  module: dagster._core.run_coordinator.queued_run_coordinator
  class: QueuedRunCoordinator
  config:
    dequeue_interval_seconds: 1
"""
PATIENCE = 150  # seconds; a machine may be busy


# --------------------------------------------------------------------------- pools


def pools(definitions: dg.Definitions) -> Mapping[str, str | None]:
    """The pool of each op."""
    keys = definitions.resolve_asset_graph().asset_check_keys
    assert keys
    made = [*(definitions.assets or ()), *(definitions.asset_checks or ())]
    return {one.node_def.name: one.node_def.pool for one in made if isinstance(one, dg.AssetsDefinition)}  # type: ignore[attr-defined]


def of(name: str, server: str = "warehouse") -> Contract:
    servers = [{"server": server, "type": "duckdb", "database": "w.duckdb"}]
    return contract_of(odcs(COLUMNS, ENOUGH, name=name, servers=servers), f"contracts/{name}.yaml")


def test_steps_have_no_pool_unless_asked_for() -> None:
    """Nothing waits for a slot by default."""
    assert set(pools(build_definitions(of("orders"))).values()) == {None}


def test_every_step_takes_a_slot_of_the_pool() -> None:
    """Assets, checks of existing assets and matched checks are all of the pool."""

    @dg.asset
    def orders() -> None: ...

    contract = of("orders")
    checks = build_contract_checks(contract, asset=orders, pool="warehouse")
    matched = match_contracts(dg.Definitions(assets=[orders]), contract, pool="warehouse").definitions

    assert set(pools(build_definitions(contract, pool="warehouse")).values()) == {"warehouse"}
    assert set(pools(dg.Definitions(assets=[orders], asset_checks=[checks])).values()) == {"warehouse", None}
    assert set(pools(matched).values()) == {"warehouse", None}


def test_a_function_names_the_pool_of_each_contract() -> None:
    """Contracts on one server share a pool; a contract may have none."""
    contracts = [of("orders", "a"), of("customers", "a"), of("prices", "b"), of("notes", "files")]

    def named(one: Contract) -> str | None:
        return {"files": None}.get(one.servers[0].name, one.servers[0].name)

    assert Counter(pools(build_definitions(contracts, pool=named)).values()) == {"a": 2, "b": 1, None: 1}


# --------------------------------------------------------------------------- the page


def blocks_of_the_page(language: str) -> Sequence[str]:
    """The examples of docs/scale.md that are no files."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"(?<!-->\n)```{language}\n(.*?)```\n", text, re.DOTALL)


def test_the_example_of_a_pool_for_each_server_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function of the page names the pool."""
    server = {"server": "lake", "type": "duckdb", "database": "w.duckdb"}
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "orders.yaml").write_text(odcs(COLUMNS, ENOUGH, name="orders", servers=[server]))
    monkeypatch.chdir(tmp_path)
    (code,) = blocks_of_the_page("python")
    names: dict[str, Any] = {}
    exec(code, names)

    assert list(pools(names["defs"]).values()) == ["lake"]


def test_the_settings_of_the_page_are_settings(tmp_path: Path) -> None:
    """What the page says of dagster.yaml is taken by Dagster, as far as what it names is installed."""
    taken = 0
    for text in blocks_of_the_page("yaml"):
        module = re.search(r"module: (\w+)", text)
        if module is None or find_spec(module[1]) is not None:
            (tmp_path / "dagster.yaml").write_text(text)
            with dg.DagsterInstance.from_config(str(tmp_path)):
                taken += 1
    assert taken


class Refusing(dg.IOManager):
    """An I/O manager that nobody may use."""

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        raise AssertionError(f"{context.name} was passed on")

    def load_input(self, context: dg.InputContext) -> object:
        raise AssertionError(f"{context.name} was asked for")


def test_steps_pass_nothing_to_each_other(put: Put, instance: dg.DagsterInstance) -> None:
    """No I/O manager is needed that workers share."""
    source = put("duckdb", "SELECT i AS id FROM range(10) r(i)", "orders")
    made = build_definitions(of("orders"), source=source, resources={"io_manager": Refusing()})

    assert made.resolve_job_def("contract_checks").execute_in_process(instance=instance).success


# --------------------------------------------------------------------------- a contract is edited in between


@pytest.mark.parametrize(
    ("before", "after", "judged", "kept"),
    [
        ({"enough": 5}, {"enough": 2}, {"enough": True}, True),
        ({"enough": 2}, {"enough": 5}, {"enough": False}, False),
        ({"enough": 2, "more": 5}, {"enough": 2}, {"enough": True}, True),
        ({"enough": 2}, {"enough": 2, "more": 5}, {"enough": True, "more": False}, False),
    ],
    ids=["loosened", "tightened", "removed", "added"],
)
def test_a_run_is_about_the_contract_as_it_is_when_the_run_starts(
    before: dict[str, int],
    after: dict[str, int],
    judged: dict[str, bool],
    kept: bool,
    put: Put,
    instance: dg.DagsterInstance,
) -> None:
    """A run that waited in the queue while its contract was edited judges every promise there is now, and no other."""
    source = put("duckdb", "SELECT i AS id FROM range(4) r(i)", "orders")

    def job(rows: dict[str, int]) -> dg.JobDefinition:
        rules = [{"id": name, "metric": "rowCount", "mustBeGreaterThan": count} for name, count in rows.items()]
        contract = contract_of(odcs(COLUMNS, rules, name="orders"))
        return build_definitions(contract, source=source, retry_wait=0).resolve_job_def("contract_checks")

    queued = instance.create_run_for_job(job(before))
    done = execute_run(InMemoryJob(job(after)), queued, instance, raise_on_error=False)
    told = [one for one in done.get_asset_check_evaluations() if one.check_name.startswith("quality")]

    assert {one.check_name.removeprefix("quality__"): one.passed for one in told} == judged
    assert done.success is kept
    assert bool(done.get_asset_materialization_events()) is kept


# --------------------------------------------------------------------------- a worker dies


@dg.asset(deps=["orders", "invoices"], automation_condition=dg.AutomationCondition.eager() & gate_condition())
def revenue() -> None:
    """Is made of two tables when both keep their contracts."""


def test_a_worker_that_died_leaves_the_gate_closed(put: Put, instance: dg.DagsterInstance) -> None:
    """A run that ended without its verdicts is none that passed, whatever passed before, until it is repeated."""
    sources = {put("parquet", "SELECT i AS id FROM range(10) r(i)", name) for name in ("orders", "invoices")}
    made = build_definitions([of("orders"), of("invoices")], source=sources.pop(), retry_wait=0)
    line = Line(dg.Definitions.merge(made, dg.Definitions(assets=[revenue])), instance)
    orders, invoices = dg.AssetSelection.assets("orders"), dg.AssetSelection.assets("invoices")

    assert line.run(orders)
    assert line.run(invoices)
    assert line.requested() == 1
    line.run(dg.AssetSelection.assets("revenue"))
    job = made.resolve_job_def("contract_checks").get_subset(asset_selection=set(orders.resolve(made.assets or ())))
    died = instance.create_run_for_job(job, asset_selection=frozenset({dg.AssetKey("orders")}))
    instance.report_run_failed(died)
    assert line.run(invoices)
    assert line.requested() == 0
    assert line.run(orders)
    assert line.requested() == 1


# --------------------------------------------------------------------------- two workers, one instance


def files_of_the_page() -> Mapping[str, str]:
    """The files that docs/scale.md shows."""
    marked = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return dict(marked)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def soon(what: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """What a question is answered with, as soon as that is true."""
    end = time.monotonic() + patience
    while not (answer := what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.2)
    return answer


class Deployment:
    """The processes of docs/scale.md on two databases: Dagster's own, and a warehouse."""

    def __init__(self, home: Path, postgres: Postgres, warehouse: str) -> None:
        self.home, self.postgres, self.warehouse = home, postgres, warehouse
        self.ports = {name: free_port() for name in (*TABLES, "web")}
        self.processes: dict[Path, subprocess.Popen[bytes]] = {}

    def fill(self) -> None:
        """Tables that keep their contracts."""
        with self.postgres.connect(self.warehouse) as connection:
            for location, tables in TABLES.items():
                folder = self.home / "contracts" / location
                folder.mkdir(parents=True)
                for table in tables:
                    connection.execute(f"CREATE TABLE {table} AS SELECT i AS id FROM generate_series(1, 10) i")
                    server = {"server": "warehouse", "type": "postgres", "host": "db.internal", "database": "sales"}
                    text = odcs(COLUMNS, ENOUGH, name=table, servers=[{**server, "schema": "public"}])
                    (folder / f"{table}.odcs.yaml").write_text(text)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Everything is up: a code server for each location, the daemon, and the webserver."""
        with ExitStack() as stack:
            for name in TABLES:
                where = ["--host", "127.0.0.1", "--port", str(self.ports[name])]
                stack.enter_context(
                    self._process(f"dagster api grpc --python-file {name}.py --location-name {name}", where)
                )
            soon(lambda: all(self._answers(name) for name in TABLES))
            stack.enter_context(self._process("dagster._daemon run -w workspace.yaml", []))
            stack.enter_context(self._process("dagster_webserver -w workspace.yaml -p", [str(self.ports["web"])]))
            soon(lambda: self._answers("web"))
            yield

    @contextmanager
    def _process(self, command: str, more: list[str]) -> Iterator[None]:
        written = self.home / f"{command.split()[0]}-{command.split()[-1]}.log"
        with written.open("w") as log:
            words = [sys.executable, "-m", *command.split(), *more]
            process = subprocess.Popen(words, cwd=self.home, stdout=log, stderr=subprocess.STDOUT)
            self.processes[written] = process
            try:
                yield
            finally:
                process.terminate()
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()

    def _answers(self, name: str) -> bool:
        for written, process in self.processes.items():
            assert process.poll() is None, written.read_text()
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.ports[name])) == 0

    @contextmanager
    def nobody_reads(self) -> Iterator[None]:
        """All tables are locked: whoever asks for one waits."""
        with self.postgres.connect(self.warehouse) as connection, connection.transaction():
            tables = ", ".join(table for tables in TABLES.values() for table in tables)
            connection.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
            yield

    def launch(self, location: str, *tables: str) -> str:
        """Put a run into the queue, as the UI does."""
        from dagster_graphql import DagsterGraphQLClient

        client = DagsterGraphQLClient("127.0.0.1", port_number=self.ports["web"])
        keys = [dg.AssetKey(table) for table in tables] or None
        return client.submit_job_execution(f"{location}_checks", location, "__repository__", asset_selection=keys)


@pytest.fixture
def deployment(tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """The files of the page, not yet started."""
    pytest.importorskip("dagster_postgres")
    databases = [postgres.new_database() for _ in range(2)]
    made = Deployment(tmp_path, postgres, databases[1])
    changes = {"4266": str(made.ports["sales"]), "4267": str(made.ports["finance"]), "default_limit: 4": ONE_AT_ONCE}
    for name, text in files_of_the_page().items():
        for before, after in changes.items():
            text = text.replace(before, after)
        (tmp_path / name).write_text(text)
    with (tmp_path / "dagster.yaml").open("a") as settings:
        settings.write(AT_ONCE)
    made.fill()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", postgres.url(databases[0]).replace("+psycopg:", "+psycopg2:"))
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "yes")
    monkeypatch.setenv("CONTRACT_CHECKS_WAREHOUSE_URL", postgres.url(databases[1]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    yield made
    for name in databases:
        postgres.drop_database(name)


class Log:
    """What one event log says of runs."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance

    def ended(self, *run_ids: str) -> list[bool]:
        """Whether each run was a success, as soon as all have ended."""
        runs = soon(lambda: self._finished(run_ids))
        return [one.is_success for one in runs]

    def _finished(self, run_ids: Sequence[str]) -> list[dg.DagsterRun] | None:
        runs = [run for one in run_ids if (run := self.instance.get_run_by_id(one)) and run.is_finished]
        return runs if len(runs) == len(run_ids) else None

    def of(self, run_id: str, *kinds: str) -> list[Any]:
        """The events of a run of these kinds."""
        logged = [entry for entry in self.instance.all_logs(run_id) if entry.is_dagster_event]
        return [entry for entry in logged if entry.get_dagster_event().event_type_value in kinds]

    def time(self, run_id: str, kind: str) -> float:
        """When something happened in a run for the first time."""
        return float(self.of(run_id, kind)[0].timestamp)

    def steps(self, run_id: str) -> list[tuple[float, float]]:
        """When each step of a run began and ended."""
        began = {one.step_key: one.timestamp for one in self.of(run_id, "STEP_START")}
        done = {one.step_key: one.timestamp for one in self.of(run_id, "STEP_SUCCESS", "STEP_FAILURE")}
        assert began.keys() == done.keys()
        return [(began[step], done[step]) for step in began]

    def verdicts(self, run_id: str) -> Counter[tuple[str, str]]:
        """How often a run judged each check of each asset."""
        told = [
            one.get_dagster_event().asset_check_evaluation_data for one in self.of(run_id, "ASSET_CHECK_EVALUATION")
        ]
        return Counter((one.asset_key.to_user_string(), one.check_name) for one in told)

    def worker(self, run_id: str) -> int:
        """The process that a run was in."""
        return int(re.findall(r"pid: (\d+)", " ".join(self.words(run_id)))[0])

    def words(self, run_id: str) -> list[str]:
        """What Dagster says of how it runs something."""
        return [one.user_message for one in self.of(run_id, "ENGINE_EVENT")]

    def runs_of(self, asset: str) -> list[str]:
        """The runs that made an asset, or are about to."""
        key = dg.AssetKey(asset)
        runs = self.instance.get_runs()
        return [one.run_id for one in runs if one.asset_selection is not None and key in one.asset_selection]

    def looked(self, since: float) -> bool:
        """Whether the automation has looked at everything since then."""
        ticks = self.instance.get_ticks(*self._automation(), limit=3)
        return any(one.timestamp > since and one.is_completed for one in ticks)

    def _automation(self) -> tuple[str, str]:
        (state,) = [one for one in self.instance.all_instigator_state() if one.name == "automation"]
        return state.instigator_origin_id, state.selector_id


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.filterwarnings("ignore:Using variable_values and operation_name arguments:DeprecationWarning")
def test_two_workers_share_one_instance(deployment: Deployment) -> None:
    """Workers of two code locations tell one log every verdict once, share a pool, and hold each other's gates."""
    with dg.DagsterInstance.get() as instance, deployment.running():
        log = Log(instance)
        assert type(instance.event_log_storage).__name__ == "PostgresEventLogStorage"

        with deployment.nobody_reads():
            both = [deployment.launch("sales"), deployment.launch("finance")]
            soon(lambda: all(log.of(one, "PIPELINE_START") for one in both))
            # One has the slot, the other waits for it.
            soon(lambda: any("pool warehouse" in text for one in both for text in log.words(one)))
            assert len([event for one in both for event in log.of(one, "STEP_START")]) == 1
        assert log.ended(*both) == [True, True]
        assert log.worker(both[0]) != log.worker(both[1])
        for run_id, tables in zip(both, TABLES.values(), strict=True):
            assert log.verdicts(run_id) == {(table, check): 1 for table in tables for check in CHECKS}
        steps = sorted(step for one in both for step in log.steps(one))
        assert len(steps) == 6
        assert all(before[1] <= after[0] for before, after in pairwise(steps)), "two steps at once"
        # What kept its promises in both is made of both.
        assert log.ended(*soon(lambda: log.runs_of("revenue"))) == [True]

        with deployment.postgres.connect(deployment.warehouse) as connection:
            connection.execute("DELETE FROM orders WHERE id > 1")
        assert log.ended(deployment.launch("sales", "orders")) == [False]
        again = deployment.launch("finance", "invoices")
        assert log.ended(again) == [True]
        soon(lambda: log.looked(log.time(again, "PIPELINE_SUCCESS")))
        assert len(log.runs_of("revenue")) == 1, "new invoices, but the orders broke their promise"

        statuses = [one.status for one in history(instance, deployment.home / "contracts/sales/orders.odcs.yaml")]
        assert statuses == ["partially_violated", "compliant"]
