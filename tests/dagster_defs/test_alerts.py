"""Broken promises reach the people who have to know, once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builders import odcs
from databases import Put
from pipelines import GOOD, NEGATIVE, NO_AMOUNT, TOO_FEW, Desk, orders_contract

from contract_checks.dagster_defs import Alerts, Partitions, build_definitions
from contract_checks.model import Contract, Owner

apprise = pytest.importorskip("apprise")
# apprise looks at the type of attachments by a module that Python has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")


class Inbox(apprise.NotifyBase):  # type: ignore[misc, name-defined]
    """A place for messages that keeps them."""

    def __init__(self, works: bool = True) -> None:
        super().__init__()
        self.works = works
        self.messages: list[tuple[str, str, str]] = []

    def send(self, body: str, title: str = "", notify_type: Any = "", **_: Any) -> bool:
        self.messages.append((getattr(notify_type, "value", notify_type), title, body))
        return self.works

    def url(self, *_: Any, **__: Any) -> str:
        return "memory://"

    @property
    def titles(self) -> list[str]:
        """The titles of all messages, oldest first."""
        return [title for _, title, _ in self.messages]


class AlertDesk(Desk):
    """Contracts with alerts, which have been looked at once."""

    def __init__(
        self, instance: dg.DagsterInstance, put: Put, alerts: Alerts, contract: Contract, **settings: Any
    ) -> None:
        super().__init__(instance, put, contract, {"alerts": alerts}, settings)
        self.tick()


def owned(*owners: str) -> Contract:
    """The orders, with teams and people answerable for them."""
    all_of_them = [
        Owner(one.removeprefix("team:"), "team") if one.startswith("team:") else Owner(one, address=one)
        for one in owners
    ]
    return orders_contract(owners=tuple(all_of_them))


def test_a_broken_promise_is_told_once_and_again_when_kept(instance: dg.DagsterInstance, put: Put) -> None:
    """However often a promise is found broken, there is one message, and one when it is kept again."""
    inbox = Inbox()
    desk = AlertDesk(instance, put, Alerts([inbox]), orders_contract())
    for rows in (GOOD, TOO_FEW, TOO_FEW, GOOD, GOOD, TOO_FEW):
        desk.after(rows)

    broken, kept = "warehouse/orders: 1 promise broken", "warehouse/orders: 1 promise kept again"
    assert inbox.titles == [broken, kept, broken]
    kind, _, body = inbox.messages[0]
    assert kind == "failure"
    assert body == "- quality__row_count: 1 row, expected ≥ 5. (contracts/orders.yaml:9)"
    assert inbox.messages[1][0] == "success"


def test_only_the_last_of_several_runs_is_told(instance: dg.DagsterInstance, put: Put) -> None:
    """What broke and was mended between two looks is no news."""
    inbox = Inbox()
    desk = AlertDesk(instance, put, Alerts([inbox]), orders_contract())
    desk.run(TOO_FEW)
    desk.run(GOOD)
    desk.tick()

    assert not inbox.messages


def test_what_could_not_be_evaluated_is_told(instance: dg.DagsterInstance, put: Put) -> None:
    """An errored check of severity error is a message as well."""
    inbox = Inbox()
    desk = AlertDesk(instance, put, Alerts([inbox]), orders_contract(minimum="error"))
    desk.after(NO_AMOUNT)

    assert any("Could not evaluate" in body for _, _, body in inbox.messages)


def test_warnings_are_told_when_asked_for(instance: dg.DagsterInstance, put: Put) -> None:
    """Warnings are left out by default, and errors where only warnings are wanted."""
    inbox, warned = Inbox(), Inbox()
    errors = AlertDesk(instance, put, Alerts([inbox]), orders_contract())
    desk = AlertDesk(instance, put, Alerts([warned], severities={"warning"}), orders_contract())
    desk.after(NEGATIVE)
    errors.tick()
    desk.after(TOO_FEW)

    assert not inbox.messages
    assert warned.titles == ["warehouse/orders: 1 promise broken", "warehouse/orders: 1 promise kept again"]


def test_sections_and_owners_narrow_what_is_told(instance: dg.DagsterInstance, put: Put) -> None:
    """Only the wanted sections, and only contracts of the wanted owners, are told of."""
    schema, other, mine = Inbox(), Inbox(), Inbox()
    contract = owned("team:sales")
    desks = [
        AlertDesk(instance, put, alerts, contract)
        for alerts in (
            Alerts([schema], sections={"schema"}),
            Alerts([other], only_owners={"team:finance"}),
            Alerts([mine], only_owners={"team:sales"}, recovery=False),
        )
    ]
    desks[0].run(TOO_FEW)
    for desk in desks:
        desk.tick()
    desks[0].run(GOOD)
    desks[2].tick()

    assert not schema.messages
    assert not other.messages
    assert mine.titles == ["warehouse/orders: 1 promise broken"]


def test_owners_are_told_of_their_contracts(instance: dg.DagsterInstance, put: Put) -> None:
    """A message goes to the owners of the contract that have an address, and to nobody else's."""
    sales, finance, everybody = Inbox(), Inbox(), Inbox()
    alerts = Alerts([everybody], owners={"team:sales": sales, "ann@example.com": [sales], "team:finance": finance})
    AlertDesk(instance, put, alerts, owned("team:sales", "bob@example.com")).after(TOO_FEW)

    assert len(sales.messages) == len(everybody.messages) == 1
    assert not finance.messages


def test_a_message_that_fails_is_tried_again(instance: dg.DagsterInstance, put: Put) -> None:
    """A place that does not answer gets its message with a later tick; those that were reached get no second one."""
    down, up = Inbox(works=False), Inbox()
    desk = AlertDesk(instance, put, Alerts([up], owners={"team:sales": down}), owned("team:sales"))
    desk.after(TOO_FEW)
    desk.tick()
    down.works = True
    desk.tick()
    desk.tick()

    assert len(up.messages) == 1
    assert len(down.messages) == 3


def test_a_place_that_never_answers_is_given_up(instance: dg.DagsterInstance, put: Put) -> None:
    """After ten attempts a message is dropped, so that the sensor's memory does not grow."""
    down = Inbox(works=False)
    desk = AlertDesk(instance, put, Alerts([down]), orders_contract())
    desk.after(TOO_FEW)
    for _ in range(12):
        desk.tick()

    assert len(down.messages) == 10
    assert json.loads(desk.cursor or "")["pending"] == []


def test_the_memory_holds_no_address(instance: dg.DagsterInstance, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address with a token comes from the environment and is in no cursor."""
    monkeypatch.setenv("ALERTS_URL", "json://127.0.0.1:9/t0ken")
    desk = AlertDesk(instance, put, Alerts([dg.EnvVar("ALERTS_URL")]), orders_contract())
    desk.after(TOO_FEW)

    assert "row_count" in (desk.cursor or "")
    assert "t0ken" not in (desk.cursor or "")


def test_what_was_broken_before_is_no_news(instance: dg.DagsterInstance, put: Put) -> None:
    """A sensor that is switched on does not tell the past."""
    inbox = Inbox()
    AlertDesk(instance, put, Alerts([Inbox()]), orders_contract()).run(TOO_FEW)
    desk = AlertDesk(instance, put, Alerts([inbox]), orders_contract())
    desk.tick()

    assert not inbox.messages


def test_a_contract_that_cannot_be_used_is_told_without_a_run(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """A file that breaks is told once, to everybody, whoever else is left out, and once more when it is mended."""
    inbox = Inbox()
    file = tmp_path / "orders.odcs.yaml"
    good = odcs("[{name: id, logicalType: integer}]", name="orders")
    cursor = None
    for text in (good, "id: [", "id: [", good):
        file.write_text(text)
        definitions = build_definitions(tmp_path, source="duckdb://", alerts=Alerts([inbox], only_owners={"team:a"}))
        (sensor,) = definitions.sensors or ()
        context = dg.build_sensor_context(instance=instance, cursor=cursor)
        sensor.evaluate_tick(context)  # type: ignore[union-attr]
        cursor = context.cursor

    asset = "broken_contracts/orders_odcs"
    assert inbox.titles == [f"{asset}: the contract cannot be used", f"{asset}: the contract is no longer broken"]
    assert "orders.odcs.yaml:2" in inbox.messages[0][2]


def test_owners_are_told_of_a_contract_that_contradicts_itself(instance: dg.DagsterInstance, put: Put) -> None:
    """Where a contract can be read so far that its owners are known, they are told, and its red asset shows them."""
    sales, others = Inbox(), Inbox()
    alerts = Alerts(owners={"team:sales": sales, "team:other": others})
    desk = AlertDesk(instance, put, alerts, owned("team:sales"))
    desk.settings["partitions"] = {"orders": dg.StaticPartitionsDefinition(["a"])}
    desk.tick()
    (red,) = desk._definitions("duckdb://").resolve_all_asset_specs()
    desk.settings.clear()
    desk.tick()

    asset = "warehouse/orders"
    assert sales.titles == [f"{asset}: the contract cannot be used", f"{asset}: the contract is no longer broken"]
    assert not others.messages
    assert list(red.owners) == ["team:sales"]


def test_one_partition_does_not_mend_another(instance: dg.DagsterInstance, put: Put) -> None:
    """A promise that another partition keeps is still broken in the first."""
    inbox = Inbox()
    settings = {"orders": Partitions(dg.StaticPartitionsDefinition(["1", "2"]), column="amount")}
    contract = orders_contract()
    rows = "SELECT i AS id, 1 + (i > 2)::INT AS amount FROM range(9) r(i)"  # 1: three rows, 2: six rows
    desk = AlertDesk(instance, put, Alerts([inbox]), contract, partitions=settings)
    for key in ("1", "2"):
        desk.run(rows, partition_key=key)
        desk.tick()

    assert inbox.titles == ["warehouse/orders: 1 promise broken"]
    assert "partition 1" in inbox.messages[0][2]


def test_nobody_is_told_unless_asked() -> None:
    """Without the setting there is no sensor."""
    assert not build_definitions(orders_contract(), source="duckdb://").sensors


@contextmanager
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A web server on this machine that keeps the JSON it is sent."""
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as web:
        thread = threading.Thread(target=web.serve_forever, daemon=True)
        thread.start()
        yield f"json://127.0.0.1:{web.server_port}/", received
        web.shutdown()
        thread.join()


def test_messages_travel_over_http(instance: dg.DagsterInstance, put: Put) -> None:
    """An address of apprise is really written to."""
    with server() as (address, received):
        desk = AlertDesk(instance, put, Alerts([address]), orders_contract())
        desk.after(TOO_FEW)

    (message,) = received
    assert message["title"] == "warehouse/orders: 1 promise broken"
    assert message["type"] == "failure"
    assert "quality__row_count" in message["message"]


def test_events_are_read_in_full_from_a_database(tmp_path: Any, put: Put) -> None:
    """The sensor works on an instance that is stored in SQLite files as well."""
    inbox = Inbox()
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        desk = AlertDesk(instance, put, Alerts([inbox]), replace(orders_contract(), name="Orders"))
        desk.after(TOO_FEW)
        desk.after(GOOD)

    assert inbox.titles == ["warehouse/orders: 1 promise broken", "warehouse/orders: 1 promise kept again"]
