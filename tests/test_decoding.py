"""Decoding messages, whatever bytes they are made of."""

from __future__ import annotations

import base64
import io
import json
import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastavro")
pytest.importorskip("google.protobuf")

from contract_checks.sources.decoding import PLACE, Decoder
from contract_checks.sources.registry import Registry, Schema
from contract_checks.sources.topics import Message

NODE = {
    "type": "record",
    "name": "Node",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "when", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}},
        {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {"name": "next", "type": ["null", "Node"]},
        {"name": "all", "type": {"type": "array", "items": ["null", "int", "string"]}},
        {"name": "by", "type": {"type": "map", "values": "Kind"}},
    ],
}


class Fixed(Registry):
    """A registry with its schemas at hand."""

    def __init__(self, *schemas: Schema) -> None:
        super().__init__("http://nowhere.invalid")
        self._by_id = {one.id: one for one in schemas}

    def schema(self, id: int) -> Schema | None:
        return self._by_id.get(id)

    def latest(self, subject: str) -> Schema | None:
        return None


def protobuf() -> Schema:
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name="n.proto", syntax="proto3")
    file.dependency.extend(["google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto"])
    node = file.message_type.add(name="Node")
    types = descriptor_pb2.FieldDescriptorProto
    node.field.add(name="id", number=1, type=types.TYPE_UINT64, label=1)
    node.field.add(name="at", number=2, type=types.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1)
    node.field.add(name="next", number=3, type=types.TYPE_MESSAGE, type_name=".Node", label=1)
    node.field.add(name="n", number=4, type=types.TYPE_MESSAGE, type_name=".google.protobuf.Int32Value", label=1)
    entry = node.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=types.TYPE_STRING, label=1)
    entry.field.add(name="value", number=2, type=types.TYPE_MESSAGE, type_name=".Node", label=1)
    node.field.add(name="tags", number=5, type=types.TYPE_MESSAGE, type_name=".Node.TagsEntry", label=3)
    return Schema(2, "PROTOBUF", base64.b64encode(file.SerializeToString()).decode())


SCHEMAS = (Schema(1, "AVRO", json.dumps(NODE)), protobuf(), Schema(3, "JSON", "{}"))
NOW = datetime(2024, 1, 1, tzinfo=UTC)


def messages(values: list[bytes | None]) -> list[Message]:
    return [Message(0, place, NOW, None, value) for place, value in enumerate(values)]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.one_of(
            st.none(),
            st.binary(max_size=60),
            st.builds(
                lambda number, rest: b"\0" + number.to_bytes(4, "big") + rest, st.integers(1, 4), st.binary(max_size=80)
            ),
        ),
        max_size=6,
    ),
    st.sampled_from([None, "json", "avro", "protobuf", "text"]),
)
def test_every_message_becomes_a_row_or_a_violation(values: list[bytes | None], chosen: str | None) -> None:
    """whatever the bytes, a message is a row, a deletion, or rejected with its offset; none is lost, none breaks."""
    decoded = Decoder(chosen, Fixed(*SCHEMAS)).decode("t", messages(values))
    assert decoded.table.num_rows + len(decoded.rejected) + decoded.tombstones == len(values)
    rejected = {one.offset for one in decoded.rejected}
    assert rejected.isdisjoint(decoded.table.column("__offset").to_pylist())
    assert set(PLACE.names) <= set(decoded.table.column_names)
    assert all(one.reason for one in decoded.rejected)


ROW = {
    "id": 2**60,
    "when": NOW,
    "day": date(2024, 2, 29),
    "clock": time(1, 2, 3),
    "price": Decimal("12.34"),
    "key": uuid.UUID(int=5),
    "kind": "B",
    "hash": b"\0\1\2\3",
    "next": None,
    "all": [None, 1, "x"],
    "by": {"a": "A"},
}


def node(**changes: Any) -> bytes:
    import fastavro

    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(NODE), {**ROW, **changes})
    return b"\0\0\0\0\1" + stream.getvalue()


def test_values_of_avro_keep_their_types() -> None:
    """logical types become what they mean; a union of types and a record that holds itself become JSON."""
    inside = {**ROW, "id": 1, "next": {**ROW, "id": 2}}
    decoded = Decoder(None, Fixed(*SCHEMAS)).decode("t", messages([node(), node(next=inside)]))
    row, other = decoded.table.to_pylist()
    assert (row["id"], row["when"], row["day"], row["clock"]) == (2**60, NOW, date(2024, 2, 29), time(1, 2, 3))
    assert (row["price"], row["key"][-1], row["kind"], row["hash"]) == (Decimal("12.34"), "5", "B", b"\0\1\2\3")
    assert (row["next"], row["all"], row["by"]) == (None, [None, "1", '"x"'], [("a", "A")])
    assert (other["next"]["id"], json.loads(other["next"]["next"])["id"]) == (1, 2)


def test_a_decimal_with_more_digits_than_promised_is_rejected_alone() -> None:
    """a value that its schema's type cannot hold is the fault of its message, not of the others."""
    good = node()
    marker = b"\x04\x04\xd2"  # the length and the bytes of 12.34, twice as long and far larger
    assert good.count(marker) == 1
    bad = good.replace(marker, b"\x10" + b"\x7f" * 8)
    decoded = Decoder(None, Fixed(*SCHEMAS)).decode("t", messages([good, bad]))
    assert decoded.table.num_rows == 1
    assert [(one.offset, "outside" in one.reason or "follow" in one.reason) for one in decoded.rejected] == [(1, True)]
