"""A running `dagster dev` for a test, and what a test asks of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

INSTANCE = """
telemetry: {enabled: false}
nux: {enabled: false}
run_coordinator: {module: dagster._core.run_coordinator, class: DefaultRunCoordinator}
"""
"""Sends nothing, shows no pop-up, and starts a run at once."""

LAUNCH = """
mutation ($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
    ... on InvalidSubsetError { message }
    ... on RunConfigValidationInvalid { errors { message } }
  }
}
"""
ASSETS = "{ assetNodes { assetKey { path } jobNames repository { name location { name } } } }"
RUN = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"


class DagsterDev:
    """A running Dagster at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """The data that GraphQL answers."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer
        return dict(answer["data"])

    def materialize_everything(self, timeout: float = 120) -> str:
        """Materialize all assets in one run, wait for its end, and return how it ended."""
        nodes = self.ask(ASSETS)["assetNodes"]
        repository = nodes[0]["repository"]
        job = next(name for name in nodes[0]["jobNames"] if name.startswith("__ASSET_JOB"))
        params = {
            "selector": {
                "repositoryLocationName": repository["location"]["name"],
                "repositoryName": repository["name"],
                "pipelineName": job,
                "assetSelection": [{"path": node["assetKey"]["path"]} for node in nodes],
            },
            "runConfigData": {},
            "mode": "default",
        }
        launched = self.ask(LAUNCH, params=params)["launchPipelineExecution"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            status = self.ask(RUN, id=launched["run"]["runId"])["runOrError"]["status"]
            if status in ("SUCCESS", "FAILURE", "CANCELED"):
                return str(status)
            time.sleep(0.5)
        raise TimeoutError("the run did not end")


@contextmanager
def dagster_dev(checkout: Path, home: Path, environment: Mapping[str, str]) -> Iterator[DagsterDev]:
    """Start `dagster dev` in `checkout` with `home` as its instance, and end all its processes afterwards."""
    home.mkdir()
    (home / "dagster.yaml").write_text(INSTANCE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = home / "dagster-dev.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml", "-h", "127.0.0.1", "-p", str(port)],
            cwd=checkout,
            env={**environment, "DAGSTER_HOME": str(home)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        dagster = DagsterDev(f"http://127.0.0.1:{port}")
        _wait_until_loaded(dagster, process, log)
        yield dagster
    finally:
        _end(process)


def _wait_until_loaded(dagster: DagsterDev, process: subprocess.Popen[bytes], log: Path, timeout: float = 120) -> None:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()[-4000:]
        try:
            if dagster.ask(ASSETS)["assetNodes"]:
                return
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(1)
    raise TimeoutError(f"Dagster shows no assets: {log.read_text()[-4000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    # Its children are processes of their own that outlive it if it is killed, so the whole group goes.
    os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
