"""A broken promise is one incident, from the run that found it to the run that found it mended."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from databases import Put
from pipelines import GOOD, TOO_FEW, Desk, orders_contract

from contract_checks.checks import plan
from contract_checks.dagster_defs import Incidents, incidents_of
from contract_checks.dagster_defs.incidents import opens_incident
from contract_checks.model import Contract

ORDERS = dg.AssetKey(["warehouse", "orders"])


class IncidentDesk(Desk):
    """Contracts with incidents."""

    def __init__(
        self, instance: dg.DagsterInstance, put: Put, incidents: Incidents, contract: Contract, **settings: Any
    ) -> None:
        super().__init__(instance, put, contract, {"incidents": incidents}, settings)


def managed(**more: Any) -> Contract:
    """The orders, with incident management."""
    return orders_contract(incidents=True, **more)


def lines(file: Path) -> list[dict[str, Any]]:
    """The steps in the file of incidents."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_an_incident_is_opened_once_updated_and_resolved(
    instance: dg.DagsterInstance, put: Put, tmp_path: Path
) -> None:
    """However often a promise is found broken, it is one incident; a later break is another."""
    file = tmp_path / "incidents.jsonl"
    desk = IncidentDesk(instance, put, Incidents(file=file), managed())
    for rows in (GOOD, TOO_FEW, TOO_FEW, GOOD, GOOD, TOO_FEW):
        desk.after(rows)

    assert [one["event"] for one in lines(file)] == ["opened", "updated", "resolved", "opened"]
    latest, first = incidents_of(instance, ORDERS)
    assert (first.is_open, first.failures, first.check) == (False, 2, "quality__row_count")
    assert latest.is_open
    assert latest.id != first.id
    assert "1 row, expected ≥ 5" in latest.description
    assert latest.contract == "contracts/orders.yaml:9"


def test_what_happened_between_two_looks_is_in_the_story(
    instance: dg.DagsterInstance, put: Put, tmp_path: Path
) -> None:
    """A promise that broke and was mended before anybody looked is an incident all the same."""
    file = tmp_path / "incidents.jsonl"
    desk = IncidentDesk(instance, put, Incidents(file=file), managed())
    desk.after(GOOD)
    desk.after(TOO_FEW, GOOD)
    assert [one["event"] for one in lines(file)] == ["opened", "resolved"]


def test_a_query_that_failed_neither_opens_nor_resolves(instance: dg.DagsterInstance, put: Put, tmp_path: Path) -> None:
    """While the data cannot be reached, incidents stay as they are."""
    file = tmp_path / "incidents.jsonl"
    desk = IncidentDesk(instance, put, Incidents(file=file), managed(), retries=0)
    desk.after("")
    assert not file.exists()
    desk.after(TOO_FEW)
    desk.after("")
    assert [one["event"] for one in lines(file)] == ["opened"]


def test_a_sensor_that_forgot_knows_open_incidents_from_the_event_log(
    instance: dg.DagsterInstance, put: Put, tmp_path: Path
) -> None:
    """Without its cursor the sensor opens no second incident for the same break."""
    desk = IncidentDesk(instance, put, Incidents(file=tmp_path / "incidents.jsonl"), managed())
    desk.after(TOO_FEW)
    desk.cursor = None
    desk.after(GOOD)
    (only,) = incidents_of(instance, ORDERS)
    assert not only.is_open


def test_a_message_is_sent_when_an_incident_opens_and_when_it_is_resolved(
    instance: dg.DagsterInstance, put: Put
) -> None:
    """People are told of the first and the last step; a message that did not arrive is sent again."""
    apprise = pytest.importorskip("apprise")

    class Inbox(apprise.NotifyBase):  # type: ignore[misc, name-defined]
        works, titles = True, []

        def send(self, body: str, title: str = "", **_: Any) -> bool:
            if self.works:
                self.titles.append(title)
            return self.works

        def url(self, *_: Any, **__: Any) -> str:
            return "memory://"

    inbox = Inbox()
    desk = IncidentDesk(instance, put, Incidents([inbox]), managed())
    inbox.works = False
    desk.after(TOO_FEW)
    inbox.works = True
    desk.after(TOO_FEW)
    desk.after(GOOD)
    opened = "warehouse/orders: incident opened: quality__row_count"
    assert inbox.titles == [opened, opened.replace("opened", "resolved")]


def test_in_a_group_only_the_rules_that_open_incidents_do(
    instance: dg.DagsterInstance, put: Put, tmp_path: Path
) -> None:
    """Where rules share a check of Dagster, a rule that raises no incident still raises none."""
    file = tmp_path / "incidents.jsonl"
    quiet = managed()
    dataset = quiet.datasets[0]
    rules = tuple(replace(one, incident=False) for one in dataset.expectations)
    quiet = quiet.with_datasets((replace(dataset, expectations=rules),))
    IncidentDesk(instance, put, Incidents(file=file), quiet, group_by="section").after(TOO_FEW)
    assert not file.exists()


def test_a_group_opens_an_incident_for_a_rule_in_it(instance: dg.DagsterInstance, put: Put, tmp_path: Path) -> None:
    """A rule that opens incidents does so, too, where it shares a check of Dagster."""
    file = tmp_path / "incidents.jsonl"
    desk = IncidentDesk(instance, put, Incidents(file=file), managed(), group_by="section")
    desk.after(TOO_FEW)
    desk.after(GOOD)
    assert [one["event"] for one in lines(file)] == ["opened", "resolved"]


def test_an_incident_of_a_promise_that_is_gone_is_closed(
    instance: dg.DagsterInstance, put: Put, tmp_path: Path
) -> None:
    """What the contract does not promise any more does not stay open for ever."""
    file = tmp_path / "incidents.jsonl"
    desk = IncidentDesk(instance, put, Incidents(file=file), managed())
    desk.after(TOO_FEW)
    desk.contract = orders_contract(incidents=False)
    desk.tick()
    assert [one["event"] for one in lines(file)] == ["opened", "resolved"]
    assert "does not promise" in lines(file)[-1]["description"]


@pytest.mark.parametrize(
    ("managed", "own", "severity", "unstated", "expected"),
    [
        (True, None, "error", False, True),
        (True, None, "warning", False, False),
        (True, True, "warning", False, True),
        (True, False, "error", False, False),
        (False, True, "error", True, False),
        (None, True, "error", False, True),
        (None, None, "error", False, False),
        (None, None, "error", True, True),
    ],
)
def test_the_contract_and_the_rule_decide_about_incidents(
    managed: bool | None, own: bool | None, severity: Any, unstated: bool, expected: bool
) -> None:
    """Management that is off opens nothing; on, the rule's own word counts before its severity."""
    contract = orders_contract(incidents=managed)
    check = replace(plan(contract).datasets[0].checks[0], incident=own, severity=severity)
    assert opens_incident(contract, check, unstated) is expected
    assert not opens_incident(replace(contract, lifecycle="draft"), check, unstated)
