"""Runs of Dagster → OpenMetadata's `DataContractResult`, one for each run that was about a contract.

A run that goes on is `Running`; one that was stopped, or died before its checks were evaluated, is `Aborted`; any
other is what its checks say (see `reports.openmetadata`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dagster import AssetCheckEvaluation, AssetCheckKey, AssetKey, DagsterInstance, DagsterRunStatus

from contract_checks import dialects
from contract_checks.checks import Check, DatasetPlan, plan
from contract_checks.dagster_defs.choices import asset_key
from contract_checks.dagster_defs.incidents import incidents_of
from contract_checks.dagster_defs.loading import shown
from contract_checks.dagster_defs.translator import ContractCheckData, ContractDatasetData, ContractTranslator
from contract_checks.model import Contract
from contract_checks.reports.openmetadata import ExecutionStatus, contract_result, execution_status
from contract_checks.results import CheckResult, CheckStatus, DatasetReport, Detail, Report

_RUNNING = {
    DagsterRunStatus.NOT_STARTED, DagsterRunStatus.MANAGED, DagsterRunStatus.STARTING, DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
}  # fmt: skip


def openmetadata_results(
    instance: DagsterInstance,
    contract: Contract | str | Path,
    limit: int = 20,
    *,
    asset: AssetKey | str | Sequence[str] | None = None,
    translator: ContractTranslator | None = None,
) -> tuple[dict[str, Any], ...]:
    """What every run found out about a contract, the latest first, as OpenMetadata's results are.

    Each can be sent to `PUT /v1/dataContracts/{id}/results` as it is.

    Args:
        instance: Where the runs were recorded, for example `DagsterInstance.get()`.
        contract: A contract or its file.
        limit: How many runs, at most.
        asset: The asset of the contract's only dataset, where that has another key than the contract gives it.
        translator: The one that the definitions were built with. Rules grouped in one check are not told apart,
            and are left out.

    Raises:
        ContractError: When the file is no usable contract.
        ValueError: When `asset` is given for a contract of several datasets.
    """
    read = contract if isinstance(contract, Contract) else dialects.load(contract)
    planned = plan(read)
    if asset is not None and len(planned.datasets) != 1:
        raise ValueError(f"{read.file} describes {len(planned.datasets)} datasets: asset= can be said of one only")
    runs: dict[str, _Run] = defaultdict(_Run)
    keys = []
    for one in planned.datasets:
        key, checks = _checks(read, one, asset_key(asset) if asset is not None else None, translator)
        keys.append(key)
        for check_key, check in checks.items():
            for record in instance.event_log_storage.get_asset_check_execution_history(check_key, limit=limit):
                runs[record.run_id].add(one, check, record)
    opened = {one.opened_at: one.id for key in keys for one in incidents_of(instance, key)}
    latest = sorted(runs.items(), key=lambda pair: pair[1].at, reverse=True)[:limit]
    results = []
    for run_id, found in latest:
        report = Report(planned, found.reports())
        status = _status(instance, run_id, found, report)
        incident = next((opened[moment] for moment in found.moments if moment in opened), None)
        results.append(contract_result(report, datetime.fromtimestamp(found.at, UTC), status, incident))
    return tuple(results)


class _Run:
    """What is recorded of one run: results by dataset, and whether a check was planned that has none."""

    def __init__(self) -> None:
        self.results: dict[str, tuple[DatasetPlan, list[CheckResult]]] = {}
        self.at = 0.0
        self.unfinished = False
        self.moments: list[str] = []

    def add(self, dataset: DatasetPlan, check: Check, record: Any) -> None:
        """Take in the record of one check."""
        at = record.event.timestamp if record.event is not None else record.create_timestamp
        self.at = max(self.at, at)
        results = self.results.setdefault(dataset.dataset.name, (dataset, []))[1]
        if isinstance(record.evaluation, AssetCheckEvaluation):
            results.append(_result(check, record.evaluation))
            self.moments.append(datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"))
        else:
            self.unfinished = True

    def reports(self) -> tuple[DatasetReport, ...]:
        """The results, by dataset, each check once: of several partitions the worst counts."""
        return tuple(DatasetReport(one, _worst(results)) for one, results in self.results.values())


_ORDER: tuple[CheckStatus, ...] = ("failed", "errored", "passed", "skipped")


def _worst(results: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    by_name: dict[str, CheckResult] = {}
    for one in sorted(results, key=lambda one: _ORDER.index(one.status)):
        by_name.setdefault(one.check.name, one)
    return tuple(by_name.values())


def _status(instance: DagsterInstance, run_id: str, found: _Run, report: Report) -> ExecutionStatus:
    run = instance.get_run_by_id(run_id)
    if run is not None and run.status is DagsterRunStatus.QUEUED:
        return "Queued"
    if run is not None and run.status in _RUNNING:
        return "Running"
    if found.unfinished or (run is not None and run.status is DagsterRunStatus.CANCELED):
        broken = any(one.status == "failed" and one.check.severity == "error" for one in report.results)
        return "Failed" if broken else "Aborted"
    return execution_status(report.results)


def _checks(
    contract: Contract, one: DatasetPlan, key: AssetKey | None, translator: ContractTranslator | None
) -> tuple[AssetKey, Mapping[AssetCheckKey, Check]]:
    """The asset of a dataset and its checks, by the keys that Dagster knows them by."""
    translate, file = translator or ContractTranslator(), shown(contract.file)
    own = key or translate.get_asset_spec(ContractDatasetData(contract, one, file)).key
    specs = {
        translate.get_check_spec(ContractCheckData(contract, one.dataset, check, own, file, False)).key: check
        for check in one.checks
    }
    return own, specs


def _result(check: Check, evaluation: AssetCheckEvaluation) -> CheckResult:
    """The result that an event was made of, as far as it is needed."""
    outcome = _value(evaluation, "outcome")
    status: CheckStatus = "passed" if evaluation.passed else "failed"
    if outcome in ("errored", "skipped"):
        status = "errored" if outcome == "errored" else "skipped"
    made = CheckResult(check, status, evaluation.description or "", measured=_value(evaluation, "measured"))
    listed = getattr(evaluation.metadata.get("columns"), "records", ())
    details = tuple(
        Detail(str(row.data["column"]), str(row.data["expected"]), str(row.data["found"]), row.data["verdict"] == "ok")
        for row in listed
        if row.data.get("verdict")
    )
    return replace(made, details=details)


def _value(evaluation: AssetCheckEvaluation, key: str) -> Any:
    value = evaluation.metadata.get(key)
    return value.value if value is not None else None
