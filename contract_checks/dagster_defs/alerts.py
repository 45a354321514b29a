"""Broken promises → messages to the people who have to know, by a sensor that reads what Dagster recorded.

A promise that breaks is told once, and once more when it is kept again, whatever number of runs said so. The
sensor's cursor holds what was told to whom, so that nothing is lost or repeated when Dagster restarts; a
message that could not be delivered is tried again with the next ticks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dagster import (
    AssetCheckEvaluation,
    AssetCheckKey,
    AssetCheckSeverity,
    DagsterInstance,
    DefaultSensorStatus,
    EnvVar,
    SensorDefinition,
    SensorEvaluationContext,
    SkipReason,
)

from contract_checks.dagster_defs.assets import BuiltDataset
from contract_checks.dagster_defs.broken import CHECK, Broken
from contract_checks.model import Section, Severity

if TYPE_CHECKING:
    from apprise import NotifyBase

Place: TypeAlias = "str | EnvVar | NotifyBase"
"""Where a message goes: an address of apprise (`slack://…`, `mailto://…`), or the variable that holds one."""

EVERYBODY = "everybody"
"""The recipient that `Alerts.urls` stands for."""

_READ_AT_ONCE = 500
_HISTORY = 50
_ATTEMPTS = 10
_LISTED = 20

Kind = Literal["broken", "kept"]


@dataclass(frozen=True)
class Alerts:
    """Who is told of which broken promises.

    Args:
        urls: Where every message goes, as addresses of apprise. An `EnvVar` keeps tokens out of the code.
        owners: Where messages about the contracts of an owner go, too, by the owner as Dagster shows it
            (`team:sales`, `a@b.c`).
        severities: What is told of: promises of severity `error`, of `warning`, or both.
        sections: Only promises of these sections; None for all.
        only_owners: Only contracts of these owners, and files of which nobody can tell whose they are; None for all.
        recovery: Whether it is told, too, when a promise is kept again.
        interval: Seconds between two looks.
    """

    urls: Sequence[Place] = ()
    owners: Mapping[str, Place | Sequence[Place]] = field(default_factory=dict)
    severities: Collection[Severity] = frozenset({"error"})
    sections: Collection[Section] | None = None
    only_owners: Collection[str] | None = None
    recovery: bool = True
    interval: int = 60

    def places(self, recipient: str) -> Sequence[Place]:
        """Where messages to a recipient go."""
        if recipient == EVERYBODY:
            return self.urls
        own = self.owners[recipient]
        return own if isinstance(own, Sequence) and not isinstance(own, str) else [own]


@dataclass(frozen=True)
class Watched:
    """A check that is watched: its section, who is told, and whether its results are of partitions."""

    section: Section
    recipients: tuple[str, ...]
    partitioned: bool = False


@dataclass(frozen=True)
class Unusable:
    """A contract that cannot be used: its red asset, what is wrong, and who is told."""

    asset: str
    text: str
    recipients: tuple[str, ...]

    @property
    def name(self) -> str:
        """The asset's only check, which needs no run to be known as broken."""
        return f"{self.asset}:{CHECK}"


def watched(built: Iterable[BuiltDataset], alerts: Alerts) -> dict[AssetCheckKey, Watched]:
    """The checks of datasets that the settings are about."""
    found = {}
    for dataset in built:
        owners = dataset.spec.owners
        if alerts.only_owners is not None and not set(owners) & set(alerts.only_owners):
            continue
        recipients = _recipients(owners, alerts)
        for one in dataset.checks:
            wanted = alerts.sections is None or one.check.section in alerts.sections
            if recipients and wanted and one.check.severity in alerts.severities:
                found[one.spec.key] = Watched(one.check.section, recipients, dataset.partitions is not None)
    return found


def unusable(broken: Iterable[Broken], alerts: Alerts) -> tuple[Unusable, ...]:
    """The contracts that cannot be used and that the settings are about: of every section, and of severity error."""
    return tuple(
        Unusable(one.key.to_user_string(), one.text, recipients)
        for one in broken
        if "error" in alerts.severities
        and (alerts.only_owners is None or not one.owners or set(one.owners) & set(alerts.only_owners))
        and (recipients := _recipients(one.owners, alerts))
    )


def _recipients(owners: Iterable[str], alerts: Alerts) -> tuple[str, ...]:
    return (*([EVERYBODY] if alerts.urls else []), *(one for one in owners if one in alerts.owners))


def alert_sensor(
    checks: Mapping[AssetCheckKey, Watched], alerts: Alerts, name: str, red: Sequence[Unusable] = ()
) -> SensorDefinition:
    """The sensor that tells of checks, and of contracts that cannot be used (`red`).

    Raises `ImportError` with the line to install, where apprise is missing.
    """
    _apprise()

    def tick(context: SensorEvaluationContext) -> SkipReason:
        told = Told.read(context.cursor)
        state = _state(context.instance, told or Told(), checks)
        broken, news = _news(told or Told(), state, checks, alerts)
        broken |= {one.name for one in red}
        news += _news_of_files(told or Told(), red, checks, alerts)
        if told is None:
            # What was broken before anybody asked is no news.
            context.update_cursor(Told(broken, (), state.seen).text())
            return SkipReason("It will be told of what breaks from now on.")
        messages = [*told.pending, *news]
        failed = [one for one in messages if not deliver(one, alerts, context)]
        lost = [one for one in failed if one.attempts + 1 >= _ATTEMPTS]
        for one in lost:
            context.log.error(f"A message to '{one.recipient}' is given up after {_ATTEMPTS} attempts: {one.title}")
        pending = tuple(one.again() for one in failed if one not in lost)
        context.update_cursor(Told(broken, pending, state.seen).text())
        return SkipReason(f"{len(messages) - len(failed)} messages sent, {len(pending)} to be tried again.")

    return SensorDefinition(
        name=name,
        evaluation_fn=tick,
        minimum_interval_seconds=alerts.interval,
        default_status=DefaultSensorStatus.RUNNING,
        description="Tells of promises that break, and of those that are kept again.",
    )


# --------------------------------------------------------------------------- what was told


@dataclass(frozen=True)
class Message:
    """What one recipient is told about one asset."""

    recipient: str
    title: str
    body: str
    kind: Kind
    attempts: int = 0

    def again(self) -> Message:
        """The message after an attempt that failed."""
        return Message(self.recipient, self.title, self.body, self.kind, self.attempts + 1)


@dataclass(frozen=True)
class Told:
    """The sensor's memory: the promises known to be broken, and messages not yet delivered.

    `seen` is the last evaluation of each check of a partitioned asset, whose evaluations are read one by one.
    """

    broken: frozenset[str] = frozenset()
    pending: tuple[Message, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The memory as a cursor. It holds no address."""
        pending = [vars(one) for one in self.pending]
        return json.dumps({"broken": sorted(self.broken), "pending": pending, "seen": dict(self.seen)})

    @staticmethod
    def read(cursor: str | None) -> Told | None:
        """The memory in a cursor; None where there is none yet."""
        if not cursor:
            return None
        read = json.loads(cursor)
        return Told(frozenset(read["broken"]), tuple(Message(**one) for one in read["pending"]), read["seen"])


@dataclass(frozen=True)
class _State:
    """The last evaluation of every check, of every partition that was evaluated lately."""

    last: Mapping[str, AssetCheckEvaluation]
    seen: Mapping[str, str]


def _state(instance: DagsterInstance, told: Told, checks: Mapping[AssetCheckKey, Watched]) -> _State:
    """How things are, as Dagster recorded it.

    The events themselves have no order across runs that every storage could tell; the records of checks do.
    """
    storage = instance.event_log_storage
    last: dict[str, AssetCheckEvaluation] = {}
    seen: dict[str, str] = {}
    keys = list(checks)
    for start in range(0, len(keys), _READ_AT_ONCE):
        for key, record in storage.get_latest_asset_check_execution_by_key(keys[start : start + _READ_AT_ONCE]).items():
            name, mark = key.to_user_string(), f"{record.id} {record.status.value}"
            records: Sequence[Any] = [record]
            if checks[key].partitioned:
                seen[name] = mark
                if told.seen.get(name) == mark:
                    continue
            if checks[key].partitioned or not isinstance(record.evaluation, AssetCheckEvaluation):
                # The last one may be planned only, and its run may have died.
                records = storage.get_asset_check_execution_history(key, limit=_HISTORY)
            for one in records:
                found = one.evaluation
                if isinstance(found, AssetCheckEvaluation) and _text(found, "outcome") != "skipped":
                    last.setdefault(_name(found), found)
                    if not checks[key].partitioned:
                        break
    return _State(last, seen)


def _news(
    told: Told, state: _State, checks: Mapping[AssetCheckKey, Watched], alerts: Alerts
) -> tuple[frozenset[str], list[Message]]:
    """The promises that are broken now, and what has to be told of the change."""
    known = {key.to_user_string() for key in checks}
    broken = {name for name in told.broken if name.partition(" ")[0] in known}
    changes: dict[tuple[str, Kind], list[AssetCheckEvaluation]] = defaultdict(list)
    for name, evaluation in state.last.items():
        is_broken = not evaluation.passed and _severity(evaluation) in alerts.severities
        (broken.add if is_broken else broken.discard)(name)
        if is_broken != (name in told.broken) and (is_broken or alerts.recovery):
            changes[evaluation.asset_key.to_user_string(), "broken" if is_broken else "kept"].append(evaluation)
    messages = [
        _message(recipient, asset, kind, own)
        for (asset, kind), evaluations in changes.items()
        for recipient in dict.fromkeys(to for one in evaluations for to in checks[one.asset_check_key].recipients)
        if (own := [one for one in evaluations if recipient in checks[one.asset_check_key].recipients])
    ]
    return frozenset(broken), messages


def _news_of_files(
    told: Told, red: Sequence[Unusable], checks: Mapping[AssetCheckKey, Watched], alerts: Alerts
) -> list[Message]:
    """What has to be told of contracts that cannot be used, or can be again."""
    messages = [
        Message(recipient, f"{one.asset}: the contract cannot be used", one.text, "broken")
        for one in red
        if one.name not in told.broken
        for recipient in one.recipients
    ]
    for name in sorted(told.broken - {one.name for one in red}) if alerts.recovery else ():
        asset, _, check = name.rpartition(":")
        if check == CHECK:
            own = {
                to: None
                for key, one in checks.items()
                if key.asset_key.to_user_string() == asset
                for to in one.recipients
            }
            text = "It has been mended or taken away."
            messages += [
                Message(recipient, f"{asset}: the contract is no longer broken", text, "kept")
                for recipient in own or _recipients((), alerts)
            ]
    return messages


def _name(evaluation: AssetCheckEvaluation) -> str:
    """A check, or a partition of it: another partition that keeps its promise mends nothing."""
    scope = _text(evaluation, "scope")
    part = f" {scope}" if "partition" in scope else ""
    return f"{evaluation.asset_check_key.to_user_string()}{part}"


def _text(evaluation: AssetCheckEvaluation, key: str) -> str:
    value = evaluation.metadata.get(key)
    return str(value.value) if value is not None else ""


def _severity(evaluation: AssetCheckEvaluation) -> Severity:
    return "warning" if evaluation.severity is AssetCheckSeverity.WARN else "error"


def _message(recipient: str, asset: str, kind: Kind, evaluations: Sequence[AssetCheckEvaluation]) -> Message:
    count = f"{len(evaluations)} promise{'' if len(evaluations) == 1 else 's'}"
    title = f"{asset}: {count} {'broken' if kind == 'broken' else 'kept again'}"
    lines = []
    for one in evaluations[:_LISTED]:
        place = _text(one, "contract")
        lines.append(f"- {one.check_name}: {one.description or ''}{f' ({place})' if place else ''}")
    if len(evaluations) > _LISTED:
        lines.append(f"- and {len(evaluations) - _LISTED} more")
    return Message(recipient, title, "\n".join(lines), kind)


# --------------------------------------------------------------------------- delivery


def _apprise() -> Any:
    try:
        import apprise
    except ImportError:
        raise ImportError(
            'alerts need apprise; install it with: pip install "dagster-contract-checks[alerts]"'
        ) from None
    return apprise


def deliver(message: Message, alerts: Alerts, context: SensorEvaluationContext) -> bool:
    """Send a message; False if it did not reach all places of its recipient. No address gets into the log."""
    apprise = _apprise()
    if message.recipient != EVERYBODY and message.recipient not in alerts.owners:
        return True  # nobody wants it any more
    post = apprise.Apprise()
    for place in alerts.places(message.recipient):
        address = place.get_value() if isinstance(place, EnvVar) else place
        if not address or not post.add(address):
            context.log.error(f"An address of '{message.recipient}' is none that apprise knows.")
            return False
    kinds = {"broken": apprise.NotifyType.FAILURE, "kept": apprise.NotifyType.SUCCESS}
    if post.notify(body=message.body, title=message.title, notify_type=kinds[message.kind]):
        return True
    context.log.warning(f"A message to '{message.recipient}' could not be delivered: {message.title}")
    return False
