"""Broken promises → incidents: opened once, updated while the promise stays broken, resolved when it is kept again.

Which promises open one is the contract's to say (`incidentManagement` and `raiseIncident` of OpenMetadata). A
sensor reads the results that Dagster recorded. Every step of an incident is an observation of the asset, so
that its story is in Dagster's event log; `incidents_of` reads it back.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from dagster import (
    AssetCheckEvaluation,
    AssetCheckKey,
    AssetKey,
    AssetObservation,
    DagsterInstance,
    DefaultSensorStatus,
    SensorDefinition,
    SensorEvaluationContext,
    SkipReason,
)

from contract_checks.checks import Check
from contract_checks.dagster_defs.alerts import EVERYBODY, Alerts, Message, Place, deliver
from contract_checks.dagster_defs.assets import BuiltDataset
from contract_checks.model import Contract

INCIDENT = "contract/incident"
"""The metadata of an observation that holds an incident as it was then."""

_NAMES = uuid.UUID("5d7a9b0e-8c1f-4a36-9a53-0d2b6a1c7e44")
_READ_AT_ONCE = 500
_HISTORY = 50
_OBSERVATIONS = 200
_ATTEMPTS = 10

Event = Literal["opened", "updated", "resolved"]


@dataclass(frozen=True)
class Incidents:
    """How incidents are kept and who is told of them.

    Args:
        urls: Where messages about every incident go, as addresses of apprise (see `Alerts.urls`).
        owners: Where messages about the contracts of an owner go, too (see `Alerts.owners`).
        file: A file to which every step of an incident is added as a line of JSON.
        unstated: Whether a broken promise opens an incident where its contract says nothing about incidents.
        interval: Seconds between two looks.
    """

    urls: Sequence[Place] = ()
    owners: Mapping[str, Place | Sequence[Place]] = field(default_factory=dict)
    file: str | Path | None = None
    unstated: bool = False
    interval: int = 60


@dataclass(frozen=True)
class Incident:
    """A promise that is broken, or was.

    `scope` is the partition it is about, if it is about one. Times are ISO 8601 in UTC.
    """

    id: str
    asset: str
    check: str
    opened_at: str
    updated_at: str
    failures: int = 1
    description: str = ""
    contract: str = ""
    scope: str = ""
    resolved_at: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the promise is still broken."""
        return self.resolved_at is None

    @property
    def name(self) -> str:
        """What the incident is about: a check, or a partition of it."""
        return f"{self.asset}:{self.check}{f' {self.scope}' if self.scope else ''}"


def opens_incident(contract: Contract, check: Check, unstated: bool = False) -> bool:
    """Whether a failure of the check opens an incident.

    Never for a contract that is not in force or whose incident management is off. Else the rule's own word
    counts; without one, every rule of severity error if incident management is on, and `unstated` where the
    contract does not say.
    """
    if contract.incidents is False or contract.lifecycle != "active":
        return False
    if check.incident is not None:
        return check.incident
    return check.severity == "error" and (contract.incidents is True or unstated)


@dataclass(frozen=True)
class Watched:
    """A check of Dagster whose failures open incidents: the rules in it that do, and who is told."""

    rules: frozenset[str]
    recipients: tuple[str, ...]


def open_incidents(built: Iterable[BuiltDataset], settings: Incidents) -> dict[AssetCheckKey, Watched]:
    """The checks whose failures open incidents."""
    found: dict[AssetCheckKey, Watched] = {}
    for dataset in built:
        recipients = [EVERYBODY] if settings.urls else []
        recipients += [one for one in dataset.spec.owners if one in settings.owners]
        for one in dataset.checks:
            if opens_incident(dataset.data.contract, one.check, settings.unstated):
                rules = found[one.spec.key].rules if one.spec.key in found else frozenset()
                found[one.spec.key] = Watched(rules | {one.check.name}, tuple(recipients))
    return found


def incident_sensor(checks: Mapping[AssetCheckKey, Watched], settings: Incidents, name: str) -> SensorDefinition:
    """The sensor that opens, updates and resolves incidents."""

    def tick(context: SensorEvaluationContext) -> SkipReason:
        memory = _Memory.read(context.cursor) or _recalled(context.instance, checks)
        memory, steps = _followed(memory, _new_evaluations(context.instance, memory, checks), checks)
        for event, incident in steps:
            context.instance.report_runless_asset_event(_observation(event, incident))
        lines = [*memory.lines, *(_line(event, incident) for event, incident in steps)]
        told = EVERYBODY if settings.urls else ""
        messages = [*memory.pending, *(one for step in steps for one in _messages(*step, checks, told))]
        unwritten = _write(lines, settings, context)
        pending = _send(messages, settings, context)
        context.update_cursor(replace(memory, lines=tuple(unwritten), pending=tuple(pending)).text())
        return SkipReason(f"{len(steps)} steps, {len(memory.open)} incidents open, {len(pending)} messages to be sent.")

    return SensorDefinition(
        name=name,
        evaluation_fn=tick,
        minimum_interval_seconds=settings.interval,
        default_status=DefaultSensorStatus.RUNNING,
        description="Opens an incident when a promise breaks, and resolves it when the promise is kept again.",
    )


def incidents_of(instance: DagsterInstance, asset: AssetKey, limit: int = _OBSERVATIONS) -> tuple[Incident, ...]:
    """The incidents of an asset as the event log has them, the latest first.

    `limit` is the number of their steps that are read.
    """
    latest: dict[str, Incident] = {}
    for record in instance.fetch_observations(asset, limit=limit).records:
        event = record.asset_observation
        value = event.metadata.get(INCIDENT) if event is not None else None
        if value is not None:
            incident = Incident(**json.loads(str(value.value)))
            latest.setdefault(incident.id, incident)
    return tuple(sorted(latest.values(), key=lambda one: one.opened_at, reverse=True))


# --------------------------------------------------------------------------- what the sensor remembers


@dataclass(frozen=True)
class _Memory:
    """The open incidents by name, the last evaluation read of each check, and what is still to be told."""

    open: Mapping[str, Incident] = field(default_factory=dict)
    seen: Mapping[str, int] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    pending: tuple[Message, ...] = ()

    def text(self) -> str:
        """The memory as a cursor. It holds no address."""
        return json.dumps(
            {
                "open": {name: asdict(one) for name, one in self.open.items()},
                "seen": dict(self.seen),
                "lines": list(self.lines),
                "pending": [vars(one) for one in self.pending],
            }
        )

    @staticmethod
    def read(cursor: str | None) -> _Memory | None:
        """The memory in a cursor; None where there is none yet."""
        if not cursor:
            return None
        read = json.loads(cursor)
        return _Memory(
            {name: Incident(**one) for name, one in read["open"].items()},
            read["seen"],
            tuple(read["lines"]),
            tuple(Message(**one) for one in read["pending"]),
        )


def _recalled(instance: DagsterInstance, checks: Mapping[AssetCheckKey, Watched]) -> _Memory:
    """What the event log says is open, for a sensor that has forgotten or is new."""
    names = {key.to_user_string() for key in checks}
    found = (one for key in {key.asset_key for key in checks} for one in incidents_of(instance, key))
    return _Memory({one.name: one for one in found if one.is_open and f"{one.asset}:{one.check}" in names})


@dataclass(frozen=True)
class _Evaluated:
    """A result that Dagster recorded, with what identifies it."""

    id: int
    evaluation: AssetCheckEvaluation
    at: str


def _new_evaluations(
    instance: DagsterInstance, memory: _Memory, checks: Mapping[AssetCheckKey, Watched]
) -> list[_Evaluated]:
    """What was evaluated since the last look, in order; at the first look, the last result of each part."""
    storage = instance.event_log_storage
    found: list[_Evaluated] = []
    keys = list(checks)
    for start in range(0, len(keys), _READ_AT_ONCE):
        for key, record in storage.get_latest_asset_check_execution_by_key(keys[start : start + _READ_AT_ONCE]).items():
            since = memory.seen.get(key.to_user_string())
            if since is not None and record.id <= since:
                continue
            own = []
            for one in storage.get_asset_check_execution_history(key, limit=_HISTORY):
                if isinstance(one.evaluation, AssetCheckEvaluation) and (since is None or one.id > since):
                    own.append(_Evaluated(one.id, one.evaluation, _moment(one)))
            if since is None:
                own = list({_scope(one.evaluation): one for one in reversed(own)}.values())
            found += own
    return sorted(found, key=lambda one: one.id)


def _moment(record: Any) -> str:
    timestamp = record.event.timestamp if record.event is not None else record.create_timestamp
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")


def _followed(
    memory: _Memory, evaluated: Sequence[_Evaluated], checks: Mapping[AssetCheckKey, Watched]
) -> tuple[_Memory, list[tuple[Event, Incident]]]:
    """The memory after these results, and what happened to incidents."""
    known = {key.to_user_string() for key in checks}
    still = {name: one for name, one in memory.open.items() if f"{one.asset}:{one.check}" in known}
    seen = dict(memory.seen)
    closed = [one for name, one in memory.open.items() if name not in still]
    steps: list[tuple[Event, Incident]] = [("resolved", _closed(one)) for one in closed]
    for one in evaluated:
        key = one.evaluation.asset_check_key
        seen[key.to_user_string()] = one.id
        verdict = _is_broken(one.evaluation, checks[key].rules)
        if verdict is None:
            continue  # it was not evaluated: nothing breaks and nothing is mended
        scope = _scope(one.evaluation)
        name = f"{key.to_user_string()}{f' {scope}' if scope else ''}"
        before = still.get(name)
        if verdict:
            incident = _opened(one, key, scope) if before is None else _updated(before, one)
            still[name] = incident
            steps.append(("opened" if before is None else "updated", incident))
        elif before is not None:
            del still[name]
            text = one.evaluation.description or ""
            steps.append(("resolved", replace(before, updated_at=one.at, resolved_at=one.at, description=text)))
    return replace(memory, open=still, seen=seen), steps


def _opened(one: _Evaluated, key: AssetCheckKey, scope: str) -> Incident:
    asset = key.asset_key.to_user_string()
    own = str(uuid.uuid5(_NAMES, f"{asset}:{key.name} {scope} {one.id}"))
    place, text = _text(one.evaluation, "contract"), one.evaluation.description or ""
    return Incident(own, asset, key.name, one.at, one.at, 1, text, place, scope)


def _updated(before: Incident, one: _Evaluated) -> Incident:
    return replace(
        before, updated_at=one.at, failures=before.failures + 1, description=one.evaluation.description or ""
    )


def _closed(before: Incident) -> Incident:
    """An incident of a promise that is not there any more, or may not open one any more."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    text = "Closed: the contract does not promise it any more, or wants no incidents any more."
    return replace(before, updated_at=now, resolved_at=now, description=text)


def _is_broken(evaluation: AssetCheckEvaluation, rules: frozenset[str]) -> bool | None:
    """Whether a promise that opens incidents is broken; None where that was not evaluated."""
    if _text(evaluation, "outcome") in ("errored", "skipped"):
        return None
    listed = evaluation.metadata.get("rules")
    if listed is not None and not evaluation.passed:
        # A check for several rules: only some of them may open an incident.
        verdicts = {str(row.data.get("rule")): str(row.data.get("verdict")) for row in getattr(listed, "records", ())}
        own = {verdicts[rule] for rule in rules if rule in verdicts}
        return True if "failed" in own else None if "errored" in own or not own else False
    return not evaluation.passed


def _scope(evaluation: AssetCheckEvaluation) -> str:
    scope = _text(evaluation, "scope")
    return scope if "partition" in scope else ""


def _text(evaluation: AssetCheckEvaluation, key: str) -> str:
    value = evaluation.metadata.get(key)
    return str(value.value) if value is not None else ""


# --------------------------------------------------------------------------- who is told


def _observation(event: Event, incident: Incident) -> AssetObservation:
    return AssetObservation(
        AssetKey.from_user_string(incident.asset),
        description=f"Incident {event}: {incident.check}: {incident.description}"[:1000],
        metadata={INCIDENT: json.dumps(asdict(incident)), "contract/incident_event": event},
    )


def _line(event: Event, incident: Incident) -> str:
    return json.dumps({"event": event, **asdict(incident)}, ensure_ascii=False)


def _write(lines: Sequence[str], settings: Incidents, context: SensorEvaluationContext) -> Sequence[str]:
    """Add lines to the file; those that could not be added are given back."""
    if settings.file is None or not lines:
        return ()
    try:
        with Path(settings.file).open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
    except OSError as error:
        context.log.error(f"The file of incidents cannot be written: {error}")
        return lines
    return ()


def _messages(
    event: Event, incident: Incident, checks: Mapping[AssetCheckKey, Watched], otherwise: str
) -> list[Message]:
    if event == "updated":
        return []
    key = AssetCheckKey(AssetKey.from_user_string(incident.asset), incident.check)
    scope = f" ({incident.scope})" if incident.scope else ""
    title = f"{incident.asset}: incident {event}: {incident.check}{scope}"
    body = f"{incident.description}\n{incident.contract}\nIncident {incident.id}, opened {incident.opened_at}"
    return [
        Message(recipient, title, body, "broken" if event == "opened" else "kept")
        for recipient in (checks[key].recipients if key in checks else [otherwise] if otherwise else ())
    ]


def _send(messages: Sequence[Message], settings: Incidents, context: SensorEvaluationContext) -> list[Message]:
    """Send messages; those to be tried again are given back."""
    as_alerts = Alerts(urls=settings.urls, owners=settings.owners)
    failed = [one for one in messages if not deliver(one, as_alerts, context)]
    lost = [one for one in failed if one.attempts + 1 >= _ATTEMPTS]
    for one in lost:
        context.log.error(f"A message to '{one.recipient}' is given up after {_ATTEMPTS} attempts: {one.title}")
    return [one.again() for one in failed if one not in lost]
