"""A topic → a bounded window of its messages, read without a trace: no consumer group, no commits.

Partitions are assigned, not subscribed to. The end of a partition is what the broker says when it is reached,
not the offset it named before: that can lag behind what there is to read.
"""

from __future__ import annotations

import re
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from contract_checks.dialects.times import duration_of
from contract_checks.errors import MissingDriverError, ServerError, SourceError
from contract_checks.model import exact_duration
from contract_checks.sources.interface import MissingTableError, QueryError

if TYPE_CHECKING:
    from confluent_kafka import Consumer

LAST_MESSAGES = 100_000
"""How many messages of a topic are read where nothing else is said."""
MOST_MESSAGES = 1_000_000
"""How many messages of a time span are read at most."""
READ_LIMIT = 300.0
"""Seconds after which reading a topic is given up."""
_GRACE = 5.0
"""Seconds for which a partition is read beyond the end it had, when new messages keep coming."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Window:
    """Which messages of a topic are judged.

    The last `messages` of all partitions together (None: all of them), of these only those of the last
    `duration`, and only those with an offset in `[offsets[0], offsets[1])` of their partition.
    """

    messages: int | None = LAST_MESSAGES
    duration: timedelta | None = None
    offsets: tuple[int, int | None] | None = None

    def __str__(self) -> str:
        if self.offsets is not None:
            low, high = self.offsets
            return f"offsets {low} to {'the end' if high is None else high - 1}"
        if self.duration is not None:
            return f"the messages of the last {self.duration}"
        return "all messages" if self.messages is None else f"the last {self.messages:,} messages"


def parse_window(text: str) -> Window:
    """`5000` (messages), `7 days`, `PT1H`, `offsets:100-200` (both ends included) or `all` as a window.

    Raises `ServerError` for anything else.
    """
    word = text.strip().lower()
    if word == "all":
        return Window(messages=None)
    if word.isdecimal() and int(word) > 0:
        return Window(messages=int(word))
    offsets = re.fullmatch(r"offsets:(\d+)-(\d*)", word)
    if offsets is not None:
        low, high = int(offsets[1]), int(offsets[2]) if offsets[2] else None
        if high is None or high >= low:
            return Window(messages=MOST_MESSAGES, offsets=(low, None if high is None else high + 1))
    duration = duration_of(text)
    span = exact_duration(duration) if duration is not None else None
    if span is not None:
        return Window(messages=MOST_MESSAGES, duration=span)
    raise ServerError(
        f"'{text}' is no window of messages; write a number of messages (5000), a time (1 hour, 7 days), "
        "offsets:100-200 or all"
    )


class Message(NamedTuple):
    """A message as the broker gave it. Without a timestamp it has None."""

    partition: int
    offset: int
    timestamp: datetime | None
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Reading:
    """What was read of a topic.

    `since` and `until` are the moments between which the messages of the window were sent (`since` is None
    where there are none). `oldest` is the timestamp of the oldest message the topic has, in the window or
    the timestamps are those of producers, not of the broker.
    """

    topic: str
    messages: Sequence[Message]
    until: datetime
    since: datetime | None = None
    oldest: datetime | None = None
    partial: bool = False


def find_topic(topics: Mapping[str, Any], name: str) -> str | None:
    """The topic that a contract calls `name`: as written, then without its leading parts (a service, a schema)."""
    parts = [part.strip('"`') for part in re.findall(r'"[^"]*"|`[^`]*`|[^."`]+', name)]
    candidates = [name, *(".".join(parts[start:]) for start in range(len(parts)))]
    return next((one for one in candidates if one in topics), None)


def open_consumer(settings: Mapping[str, Any], heard: Callable[[str], None]) -> Consumer:
    """A consumer that leaves nothing behind. `heard` is told what goes wrong with the connection.

    Raises `MissingDriverError` without the driver, `SourceError` for settings it does not take.
    """
    try:
        from confluent_kafka import Consumer, KafkaException
    except ImportError:
        raise MissingDriverError(
            'no driver for Kafka is installed; install it with: pip install "dagster-contract-checks[kafka]"'
        ) from None
    own: dict[str, Any] = {
        "group.id": f"contract-checks-{uuid.uuid4()}",  # the driver wants a name; no such group is ever made
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "allow.auto.create.topics": False,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 100,
        "log_level": 0,  # it writes a line for each attempt to connect; `heard` is told
    }
    try:
        return Consumer({**settings, **own, "error_cb": lambda error: heard(error.str())})
    except (KafkaException, TypeError, ValueError) as error:
        raise SourceError(f"the settings of the Kafka client do not fit: {error}") from None


def read_topic(consumer: Consumer, wanted: Sequence[str], window: Window, timeout: float) -> Reading:
    """The window of the first of the `wanted` topics that exists.

    Raises `MissingTableError` if there is none, `SourceError` if the broker cannot be reached or stops
    answering.
    """
    from confluent_kafka import KafkaException

    try:
        topics = consumer.list_topics(timeout=timeout).topics
        topic = next((found for name in wanted if (found := find_topic(topics, name)) is not None), None)
        if topic is None:
            raise MissingTableError(f"there is no topic '{wanted[0]}'{_others(topics)}")
        if topics[topic].error is not None:
            raise QueryError(f"the topic '{topic}' cannot be read: {topics[topic].error}")
        return _Reader(consumer, topic, sorted(topics[topic].partitions), window, timeout).read()
    except KafkaException as error:
        raise SourceError(str(error.args[0].str() if hasattr(error.args[0], "str") else error)) from None


def _others(topics: Mapping[str, Any]) -> str:
    names = sorted(name for name in topics if not name.startswith("_"))
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"; there are: {', '.join(names[:10])}{more}" if names else "; there are no topics at all"


class _Reader:
    """Reads one topic once."""

    def __init__(
        self, consumer: Consumer, topic: str, partitions: Sequence[int], window: Window, timeout: float
    ) -> None:
        self.consumer, self.topic, self.window, self.timeout = consumer, topic, window, timeout
        self.partitions = partitions
        self.kept: dict[int, deque[Message]] = {partition: deque() for partition in partitions}
        self.total = 0
        self.first_seen: datetime | None = None
        self.partial = self.cut = False

    def read(self) -> Reading:
        asked = datetime.now(UTC)
        since = asked - self.window.duration if self.window.duration is not None else None
        marks = {one: self._marks(one) for one in self.partitions}
        starts = self._starts(marks, since)
        self._consume(starts, {one: high for one, (_, high) in marks.items()}, self._keep(since))
        messages = [message for one in self.partitions for message in self.kept[one]]
        stamps = [message.timestamp for message in messages if message.timestamp is not None]
        skipped = {one: low for one, (low, high) in marks.items() if starts[one] > low}
        older = self._first_timestamps(skipped)
        known = [*older, *([self.first_seen] if self.first_seen is not None else [])]
        return Reading(
            topic=self.topic,
            messages=messages,
            until=datetime.now(UTC),
            since=min(stamps, default=None) if since is None or self.cut else since,
            oldest=min(known, default=None),
            partial=self.partial or bool(skipped),
        )

    def _marks(self, partition: int) -> tuple[int, int]:
        from confluent_kafka import TopicPartition

        low, high = self.consumer.get_watermark_offsets(TopicPartition(self.topic, partition), timeout=self.timeout)
        return low, max(low, high)

    def _starts(self, marks: Mapping[int, tuple[int, int]], since: datetime | None) -> dict[int, int]:
        """Where to begin in each partition, so that there are enough messages whichever partition they are in."""
        if self.window.offsets is not None:
            return {one: max(low, min(self.window.offsets[0], high)) for one, (low, high) in marks.items()}
        sizes = {one: high - low for one, (low, high) in marks.items()}
        shares = _shares(sizes, self.window.messages)
        starts = {one: marks[one][1] - shares[one] for one in marks}
        for one, offset in self._offsets_at(since).items() if since is not None else ():
            high = marks[one][1]
            begin = min(offset, high) if offset >= 0 else high  # below 0: no message is that young
            self.cut |= starts[one] > begin
            starts[one] = max(starts[one], begin)
        return starts

    def _offsets_at(self, since: datetime) -> dict[int, int]:
        from confluent_kafka import TopicPartition

        moment = (since - _EPOCH) // timedelta(milliseconds=1)
        asked = [TopicPartition(self.topic, one, moment) for one in self.partitions]
        return {one.partition: one.offset for one in self.consumer.offsets_for_times(asked, timeout=self.timeout)}

    def _keep(self, since: datetime | None) -> Callable[[Message], bool]:
        """What is done with each message; the answer is whether the partition has had enough."""
        offsets = self.window.offsets

        def keep(message: Message) -> bool:
            if message.timestamp is not None:
                self.first_seen = min(self.first_seen or message.timestamp, message.timestamp)
            if offsets is not None and (message.offset < offsets[0] or message.offset >= (offsets[1] or 1 << 63)):
                self.partial = True
                return message.offset >= offsets[0]
            if since is not None and message.timestamp is not None and message.timestamp < since:
                self.partial = True
                return False
            self.kept[message.partition].append(message)
            self.total += 1
            if self.window.messages is not None and self.total > self.window.messages:
                max(self.kept.values(), key=len).popleft()
                self.total -= 1
                self.cut = self.partial = True
            return False

        return keep

    def _first_timestamps(self, starts: Mapping[int, int]) -> list[datetime]:
        """The timestamp of the first message of each partition from these offsets."""
        found: list[datetime] = []

        def keep(message: Message) -> bool:
            if message.timestamp is not None:
                found.append(message.timestamp)
            return True

        if starts:
            self._consume(starts, starts, keep)
        return found

    def _consume(self, starts: Mapping[int, int], ends: Mapping[int, int], keep: Callable[[Message], bool]) -> None:
        """Hand the messages of the partitions to `keep`, until it or the broker says that it is enough."""
        from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, KafkaError, TopicPartition

        self.consumer.assign([TopicPartition(self.topic, one, offset) for one, offset in starts.items()])
        waiting = set(starts)
        begun = heard = time.monotonic()
        while waiting:
            batch = self.consumer.consume(num_messages=2000, timeout=0.2)
            now = time.monotonic()
            heard = now if batch else heard
            if now - begun > READ_LIMIT or now - heard > self.timeout:
                what = f"was not read within {READ_LIMIT:.0f} s" if batch else "stopped sending"
                raise SourceError(f"the topic '{self.topic}' {what} (partitions {sorted(waiting)})")
            for one in batch:
                error, partition, offset = one.error(), one.partition(), one.offset()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    waiting -= {partition}
                    continue
                if error is not None:
                    raise SourceError(f"the topic '{self.topic}' cannot be read: {error.str()}")
                if partition is None or offset is None or partition not in waiting:
                    continue  # it goes on after its end
                kind, stamp = one.timestamp()
                moment = None if kind == TIMESTAMP_NOT_AVAILABLE else _EPOCH + timedelta(milliseconds=stamp)
                enough = keep(Message(partition, offset, moment, _raw(one.key()), _raw(one.value())))
                # On a topic that is written to all the time the end moves away.
                if enough or (offset >= ends[partition] and now - begun > _GRACE):
                    waiting.discard(partition)
        self.consumer.unassign()


def _raw(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _shares(sizes: Mapping[int, int], most: int | None) -> dict[int, int]:
    """How many messages to take of partitions of these sizes, `most` in all; what one lacks the others give."""
    shares: dict[int, int] = {}
    left = sum(sizes.values()) if most is None else most
    for count, (partition, size) in enumerate(sorted(sizes.items(), key=lambda pair: pair[1])):
        shares[partition] = min(size, -(-left // (len(sizes) - count)))
        left -= shares[partition]
    return shares
