"""What became of a contract, run by run, as Dagster's event log has it."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dagster import AssetCheckEvaluation, AssetCheckKey, AssetKey, DagsterInstance

from contract_checks import dialects
from contract_checks.checks import Check, DatasetPlan, plan
from contract_checks.dagster_defs.choices import asset_key
from contract_checks.dagster_defs.loading import shown
from contract_checks.dagster_defs.translator import ContractCheckData, ContractDatasetData, ContractTranslator
from contract_checks.model import Contract
from contract_checks.results import CheckResult, CheckStatus, score_of, status_of

_OUTCOMES = ("passed", "failed", "errored", "skipped")


@dataclass(frozen=True)
class RunVerdict:
    """What one run found out about one asset.

    `passed`, `failed`, `errored` and `skipped` count checks; where they are None the run left a summary only.
    `of` is the number of checks the contract has, so that a run of a part of them is known as such.
    """

    run_id: str
    time: datetime
    asset: str
    status: str
    score: float | None
    passed: int | None = None
    failed: int | None = None
    errored: int | None = None
    skipped: int | None = None
    of: int | None = None
    scope: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON-ready values."""
        return {**asdict(self), "time": self.time.isoformat(timespec="seconds")}


def history(
    instance: DagsterInstance,
    of: Contract | Path | str | AssetKey,
    limit: int = 20,
    *,
    asset: AssetKey | str | Sequence[str] | None = None,
    translator: ContractTranslator | None = None,
) -> tuple[RunVerdict, ...]:
    """The status and score of every run that evaluated a contract or an asset, the latest first.

    Args:
        instance: Where the runs were recorded, for example `DagsterInstance.get()`.
        of: A contract or its file, or an asset by its key (`warehouse/orders`). Of an asset alone, only the runs
            that materialized it, or refused to, are known; of a contract, those that only checked it, too.
        limit: How many runs, at most, for each asset.
        asset: The asset of the contract's only dataset, where that has another key than the contract gives it.
        translator: The one that the definitions were built with.

    Raises:
        ContractError: When the file is no usable contract.
        ValueError: When `asset` is given for a contract of several datasets.
    """
    if isinstance(of, AssetKey) or (isinstance(of, str) and not Path(of).is_file()):
        return _latest(_of_asset(instance, asset_key(of), limit), limit)
    contract = of if isinstance(of, Contract) else dialects.load(of)
    plans = plan(contract).datasets
    if asset is not None and len(plans) != 1:
        raise ValueError(f"{contract.file} describes {len(plans)} datasets: asset= can be said of one only")
    found: list[RunVerdict] = []
    for one in plans:
        own = asset_key(asset) if asset is not None else None
        key, checks = _names(contract, one, own, translator or ContractTranslator())
        verdicts = _of_checks(instance, checks, limit)
        found += _latest(verdicts or _of_asset(instance, key, limit), limit)
    return tuple(sorted(found, key=lambda verdict: verdict.time, reverse=True))


def _latest(verdicts: Iterable[RunVerdict], limit: int) -> tuple[RunVerdict, ...]:
    return tuple(sorted(verdicts, key=lambda verdict: verdict.time, reverse=True)[:limit])


def _names(
    contract: Contract, one: DatasetPlan, key: AssetKey | None, translator: ContractTranslator
) -> tuple[AssetKey, dict[AssetCheckKey, Check]]:
    """The asset of a dataset and its checks, by the keys that Dagster knows them by."""
    file = shown(contract.file)
    own = key or translator.get_asset_spec(ContractDatasetData(contract, one, file)).key
    specs = {
        translator.get_check_spec(ContractCheckData(contract, one.dataset, check, own, file, False)).key: check
        for check in one.checks
    }
    return own, specs


def _of_checks(instance: DagsterInstance, checks: dict[AssetCheckKey, Check], limit: int) -> list[RunVerdict]:
    """The runs that evaluated checks, put together from their single results."""
    runs: dict[tuple[str, str], list[tuple[CheckResult, AssetCheckEvaluation, float]]] = defaultdict(list)
    for key, check in checks.items():
        for record in instance.event_log_storage.get_asset_check_execution_history(key, limit=limit):
            evaluation = record.evaluation
            if isinstance(evaluation, AssetCheckEvaluation) and record.event is not None:
                result = CheckResult(check, _status(evaluation), evaluation.description or "")
                partition = getattr(record, "partition", None) or ""  # Dagster 1.12 kept none
                runs[record.run_id, partition].append((result, evaluation, record.event.timestamp))
    verdicts = []
    for (run_id, partition), evaluated in runs.items():
        results = [result for result, _, _ in evaluated]
        counts = {
            word: sum(one.status == word for one in results) for word in ("passed", "failed", "errored", "skipped")
        }
        scopes = {_text(evaluation, "scope") for _, evaluation, _ in evaluated} - {""}
        parts = [scope for scope in sorted(scopes) if scope.startswith("partition")]
        verdicts.append(
            RunVerdict(
                run_id,
                _moment(max(at for _, _, at in evaluated)),
                evaluated[0][1].asset_key.to_user_string(),
                status_of(results),
                score_of(results),
                **counts,
                of=len(checks),
                scope=(partition and f"partition {partition}") or (parts[0] if parts else ""),
            )
        )
    return verdicts


def _status(evaluation: AssetCheckEvaluation) -> CheckStatus:
    outcome = _text(evaluation, "outcome")
    if outcome in ("errored", "skipped"):
        return "errored" if outcome == "errored" else "skipped"
    return "passed" if evaluation.passed else "failed"


def _text(event: Any, key: str) -> str:
    value = event.metadata.get(key)
    return str(value.value) if value is not None else ""


def _of_asset(instance: DagsterInstance, key: AssetKey, limit: int) -> list[RunVerdict]:
    """The runs that materialized an asset, or refused to, by the summary they left."""
    verdicts = []
    for fetch in (instance.fetch_materializations, instance.fetch_observations):
        for record in fetch(key, limit=limit).records:
            event = record.asset_materialization or record.asset_observation
            if event is None or "contract/status" not in event.metadata:
                continue
            score = event.metadata.get("contract/score")
            verdicts.append(
                RunVerdict(
                    record.run_id,
                    _moment(record.timestamp),
                    key.to_user_string(),
                    _text(event, "contract/status"),
                    float(str(score.value)) if score is not None else None,
                    failed=int(_text(event, "contract/failed") or 0),
                    scope=f"partition {event.partition}" if event.partition else "",
                )
            )
    return verdicts


def _moment(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC)


# --------------------------------------------------------------------------- shown


def history_text(verdicts: Sequence[RunVerdict]) -> str:
    """The verdicts as a table for people."""
    if not verdicts:
        return "No run of it is recorded."
    rows: list[tuple[str, ...]] = [("time (UTC)", "asset", "status", "score", "passed", "failed", "errored", "run", "")]
    for one in verdicts:
        part = f"{one.passed} of {one.of}" if one.passed is not None else "-"
        score = f"{one.score:.2f}" if one.score is not None else "-"
        counts = ["-" if count is None else str(count) for count in (one.failed, one.errored)]
        when = f"{one.time:%Y-%m-%d %H:%M:%S}"
        rows.append((when, one.asset, one.status.replace("_", " "), score, part, *counts, one.run_id[:8], one.scope))
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def history_json(verdicts: Sequence[RunVerdict]) -> str:
    """The verdicts as a JSON list."""
    return json.dumps([one.to_dict() for one in verdicts], indent=2)


def recorded(of: str, limit: int, asset: str | None = None) -> tuple[RunVerdict, ...]:
    """`history` on the instance of `DAGSTER_HOME`. Raises `ValueError` where that is not set."""
    if not os.environ.get("DAGSTER_HOME"):
        raise ValueError("DAGSTER_HOME is not set: it is the folder with dagster.yaml, where Dagster keeps its runs")
    with DagsterInstance.get() as instance:
        return history(instance, of, limit, asset=asset)
