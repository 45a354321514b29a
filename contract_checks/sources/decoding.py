"""Messages → rows: JSON as it is, Avro and Protobuf by their registered schemas, plain text.

A message with a registered schema begins with a zero byte and the schema's id in four bytes (Confluent's
wire format). What does not decode is told with its place and why, never with what it holds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import pyarrow as pa

from contract_checks.errors import ServerError, SourceError
from contract_checks.sources.avro import AvroCodec, Unreadable, json_text
from contract_checks.sources.protobuf import ProtobufCodec
from contract_checks.sources.registry import Registry, Schema
from contract_checks.sources.topics import Message

Format = Literal["json", "avro", "protobuf", "text"]
FORMATS: tuple[Format, ...] = ("json", "avro", "protobuf", "text")
KEY, PARTITION, OFFSET, TIMESTAMP = "__key", "__partition", "__offset", "__timestamp"
"""The columns that a message has beside its fields."""
PLACE = pa.schema(
    [
        pa.field(KEY, pa.string()),
        pa.field(PARTITION, pa.int32()),
        pa.field(OFFSET, pa.int64()),
        pa.field(TIMESTAMP, pa.timestamp("us", "UTC")),
    ]
)
TEXT = "value"
"""The one column of messages that are plain text; the raw document of JSON ones."""
_MAGIC = b"\0"

_NO_VALUE = (pa.ArrowException, OverflowError, TypeError, ValueError)

Codec: TypeAlias = "AvroCodec | ProtobufCodec"


class Rejected(NamedTuple):
    """A message that does not decode, and why."""

    partition: int
    offset: int
    reason: str


@dataclass(frozen=True)
class Decoded:
    """The messages of a window as an Arrow table: `TEXT` or the fields, then the columns of `PLACE`.

    `tombstones` is how many messages have no value: deletions in a compacted topic.
    """

    format: Format
    table: Any
    rejected: tuple[Rejected, ...] = ()
    tombstones: int = 0


class Decoder:
    """Decodes the messages of topics. `format` is theirs; without it each message shows its own.

    All messages of a topic are of one format: the given one, else that of the most of them.
    """

    def __init__(self, format: str | None = None, registry: Registry | None = None) -> None:
        known = {
            "": None,
            "text": "text",
            "string": "text",
            "plain": "text",
            "proto": "protobuf",
            "json_schema": "json",
        }
        word = (format or "").strip().lower()
        self.format: Any = known.get(word, word)
        if self.format is not None and self.format not in FORMATS:
            raise ServerError(f"messages of format '{format}' cannot be read; known are {', '.join(FORMATS)}")
        self.registry = registry
        self._codecs: dict[int, Codec] = {}

    def decode(self, topic: str, messages: Sequence[Message]) -> Decoded:
        """The messages as a table. Raises `SourceError` when the registry cannot be asked."""
        rejected: list[Rejected] = []
        plain: list[tuple[Message, bytes]] = []
        coded: dict[int, list[tuple[Message, bytes]]] = defaultdict(list)
        tombstones = 0
        for message in messages:
            if message.value is None:
                tombstones += 1
                continue
            try:
                schema, payload = self._envelope(message.value)
            except Unreadable as reason:
                rejected.append(Rejected(message.partition, message.offset, str(reason)))
                continue
            (plain if schema is None or schema.kind == "JSON" else coded[schema.id]).append((message, payload))
        chosen: Format = self.format or self._most(plain, coded)
        if chosen in ("json", "text") and (plain or coded):
            for group in coded.values():
                rejected += _foreign(group, "has a registered schema", chosen)
            return Decoded(chosen, self._texts(plain, rejected), tuple(rejected), tombstones)
        rejected += _foreign(plain, "has no registered schema", chosen)
        table = self._table(coded, chosen, rejected)
        if table is None:
            chosen, table = self._empty(topic, chosen)
        return Decoded(chosen, table, tuple(rejected), tombstones)

    def _envelope(self, value: bytes) -> tuple[Schema | None, bytes]:
        """The schema of a message, if it names one, and what is left of the message."""
        if self.format == "text" or value[:1] != _MAGIC or len(value) < 5:
            return None, value
        number = int.from_bytes(value[1:5], "big")
        if self.registry is None:
            raise Unreadable(f"it has the registered schema {number}, and no schema registry is given")
        schema = self.registry.schema(number)
        if schema is None:
            raise Unreadable(f"its schema {number} is not in the registry")
        return schema, value[5:]

    def _most(self, plain: Sequence[Any], coded: dict[int, list[tuple[Message, bytes]]]) -> Format:
        counts: Counter[Format] = Counter({"json": len(plain)})
        for number, group in coded.items():
            counts["avro" if self._kind(number) == "AVRO" else "protobuf"] += len(group)
        return max(counts, key=lambda one: counts[one])

    def _kind(self, id: int) -> str:
        schema = self.registry.schema(id) if self.registry is not None else None
        return schema.kind if schema is not None else ""

    def _codec(self, schema: Schema) -> Codec:
        if schema.id not in self._codecs:
            if schema.kind not in ("AVRO", "PROTOBUF"):
                raise SourceError(f"schemas of type {schema.kind} cannot be read (schema {schema.id})")
            self._codecs[schema.id] = AvroCodec(schema) if schema.kind == "AVRO" else ProtobufCodec(schema)
        return self._codecs[schema.id]

    def _table(self, coded: dict[int, list[tuple[Message, bytes]]], format: Format, rejected: list[Rejected]) -> Any:
        """The rows of all schemas, by name of their fields; what does not go with the newest is rejected."""
        whole: Any = None
        for number in sorted(coded, reverse=True):
            kind = self._kind(number)
            if kind.lower() != format:
                rejected += _foreign(coded[number], f"is {kind.capitalize()}", format)
                continue
            assert self.registry is not None
            schema = self.registry.schema(number)
            assert schema is not None
            part = self._rows(self._codec(schema), coded[number], rejected)
            try:
                whole = part if whole is None else pa.concat_tables([whole, part], promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                reason = f"the fields of its schema {number} have other types than those of newer messages"
                rejected += [Rejected(one.partition, one.offset, reason) for one, _ in coded[number]]
        return whole

    def _texts(self, group: Iterable[tuple[Message, bytes]], rejected: list[Rejected]) -> Any:
        """Messages as they are written, in UTF-8. Whether they are JSON is for the database to say."""
        rows = []
        for message, payload in group:
            try:
                rows.append({TEXT: payload.decode(), **self._place(message)})
            except UnicodeDecodeError:
                rejected.append(Rejected(message.partition, message.offset, "it is no text in UTF-8"))
        return pa.Table.from_pylist(rows, schema=pa.schema([pa.field(TEXT, pa.string()), *PLACE]))

    def _rows(self, codec: Codec, group: Iterable[tuple[Message, bytes]], rejected: list[Rejected]) -> Any:
        rows: list[dict[str, Any]] = []
        for message, payload in group:
            try:
                rows.append({**codec.row(payload), **self._place(message)})
            except Unreadable as reason:
                rejected.append(Rejected(message.partition, message.offset, str(reason)))
        schema = pa.schema([*codec.schema, *PLACE])
        if len(set(schema.names)) < len(schema.names):
            raise SourceError(f"a field of the {codec.name} has a name that is taken: {', '.join(PLACE.names)}")
        try:
            return pa.Table.from_pylist(rows, schema=schema)
        except _NO_VALUE:
            return pa.Table.from_pylist([one for one in rows if _fits(one, schema, codec, rejected)], schema=schema)

    def _place(self, message: Message) -> dict[str, Any]:
        return {
            KEY: self.key(message.key),
            PARTITION: message.partition,
            OFFSET: message.offset,
            TIMESTAMP: message.timestamp,
        }

    def _empty(self, topic: str, wanted: Format) -> tuple[Format, Any]:
        """A table without rows, with the fields of the topic's newest schema if the registry has one."""
        schema = self.registry.latest(f"{topic}-value") if self.registry is not None and wanted != "text" else None
        if schema is None or schema.kind not in ("AVRO", "PROTOBUF"):
            return "text" if wanted == "text" else "json", pa.schema(
                [pa.field(TEXT, pa.string()), *PLACE]
            ).empty_table()
        codec = self._codec(schema)
        if isinstance(codec, ProtobufCodec):
            codec.choose((0,))
        return "avro" if schema.kind == "AVRO" else "protobuf", pa.schema([*codec.schema, *PLACE]).empty_table()

    def key(self, raw: bytes | None) -> str | None:
        """A key as text: decoded by its schema, or as it is written, or its bytes in hexadecimal digits."""
        if raw is None:
            return None
        if self.registry is not None and raw[:1] == _MAGIC and len(raw) > 4:
            schema = self.registry.schema(int.from_bytes(raw[1:5], "big"))
            if schema is not None and schema.kind in ("AVRO", "PROTOBUF"):
                try:
                    return json_text(self._codec(schema).row(raw[5:]))
                except (Unreadable, SourceError):
                    return raw.hex()
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.hex()


def _fits(row: dict[str, Any], schema: Any, codec: Codec, rejected: list[Rejected]) -> bool:
    """Whether a row has the types of its schema; one that has not (a decimal with more digits) is rejected."""
    try:
        pa.Table.from_pylist([row], schema=schema)
    except _NO_VALUE:
        reason = f"a value is outside of what its type in the {codec.name} can hold"
        rejected.append(Rejected(row[PARTITION], row[OFFSET], reason))
        return False
    return True


def _foreign(group: Iterable[tuple[Message, bytes]], what: str, format: str) -> list[Rejected]:
    reason = f"it {what}, where the messages of the topic are {format}"
    return [Rejected(message.partition, message.offset, reason) for message, _ in group]
