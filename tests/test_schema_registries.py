"""Messages with registered schemas: Avro, Protobuf and JSON, with a registry over HTTP."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from brokers import NUMBERS, Broker, SchemaRegistry, judged
from builders import result

pytestmark = pytest.mark.service

AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "lines", "type": {"type": "array", "items": {
            "type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}}},
        {"name": "labels", "type": {"type": "map", "values": "int"}},
        {"name": "either", "type": ["int", "string"]},
    ],
}  # fmt: skip
ORDER_COLUMNS = [
    {"name": "id", "logicalType": "integer", "unique": True},
    {"name": "amount", "logicalType": "number", "physicalType": "DECIMAL(10,2)", "logicalTypeOptions": {"minimum": 0}},
    {"name": "at", "logicalType": "timestamp"},
    {"name": "note", "logicalType": "string", "required": True},
    {
        "name": "lines",
        "logicalType": "array",
        "items": {
            "logicalType": "object",
            "properties": [{"name": "sku", "logicalType": "string", "logicalTypeOptions": {"maxLength": 3}}],
        },
    },
]


def avro(schema: Mapping[str, Any], number: int, value: Mapping[str, Any]) -> bytes:
    import fastavro

    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(dict(schema)), value)
    return b"\0" + number.to_bytes(4, "big") + stream.getvalue()


def order(**changes: Any) -> dict[str, Any]:
    from decimal import Decimal

    row = {"id": 1, "amount": Decimal("9.90"), "at": datetime.now(UTC), "note": "x", "lines": [{"sku": "abc"}]}
    return {**row, "labels": {"a": 1}, "either": "x", **changes}


def test_avro_brings_its_types(broker: Broker, registry: SchemaRegistry, topic: str) -> None:
    """messages in Avro are judged by the types of their registered schema, nested fields included."""
    from decimal import Decimal

    registry.add(7, json.dumps(AVRO))
    rows = [order(), order(id=2, amount=Decimal("-1"), note=None, lines=[{"sku": "long"}, {"sku": "abc"}])]
    broker.send(topic, [avro(AVRO, 7, row) for row in rows])
    report = judged(broker, topic, ORDER_COLUMNS, options=f"schema_registry={registry.url}")
    failed = {one.check.name: one.measured for one in report.results if one.status != "passed"}
    assert failed == {
        "schema__amount__minimum": 1, "schema__note__required": 1, "schema__lines_sku__max_length": 1,
    }  # fmt: skip
    assert registry.asked == ["/schemas/ids/7"]


def test_messages_of_several_schemas_are_one_table(broker: Broker, registry: SchemaRegistry, topic: str) -> None:
    """a field that an older schema lacks is NULL; a schema whose types do not agree is a violation."""
    first = {"type": "record", "name": "E", "fields": [{"name": "id", "type": "int"}]}
    second = {**first, "fields": [{"name": "id", "type": "long"}, {"name": "n", "type": "int"}]}
    third = {**first, "fields": [{"name": "id", "type": {"type": "array", "items": "int"}}]}
    for number, schema in enumerate((third, first, second), 1):
        registry.add(number, json.dumps(schema))
    broker.send(topic, [avro(third, 1, {"id": [1]}), avro(first, 2, {"id": 1}), avro(second, 3, {"id": 2**40, "n": 5})])
    columns = [{"name": "id", "logicalType": "integer"}, {"name": "n", "logicalType": "integer", "required": True}]
    report = judged(broker, topic, columns, options=f"schema_registry={registry.url}")
    assert (report.datasets[0].row_count, result(report, "required", "n").measured) == (2, 1)
    sample = result(report, "decodable").sample
    assert sample is not None
    assert sample.rows == ((0, 0, "the fields of its schema 1 have other types than those of newer messages"),)


def test_what_does_not_follow_its_schema_is_a_violation(broker: Broker, registry: SchemaRegistry, topic: str) -> None:
    """cut, overlong, of an unknown schema, without one: each is told with its reason."""
    registry.add(7, json.dumps(AVRO))
    good = avro(AVRO, 7, order())
    broker.send(topic, [good, good, good[:-4], good + b"x", b"\0\0\0\0\x09x", b'{"id": 1}', b"\0"])
    report = judged(broker, topic, ORDER_COLUMNS[:1], options=f"schema_registry={registry.url}")
    sample = result(report, "decodable").sample
    assert sample is not None
    reasons = [str(row[2]) for row in sample.rows]
    assert reasons[0].startswith("it does not follow the Avro schema 7")
    assert reasons[1:] == [
        "1 bytes are left over after the Avro schema 7",
        "its schema 9 is not in the registry",
        "it has no registered schema, where the messages of the topic are avro",
        "it has no registered schema, where the messages of the topic are avro",
    ]
    assert result(report, "unique", "id").measured == 1


def test_a_registry_that_does_not_answer_is_no_violation(broker: Broker, registry: SchemaRegistry, topic: str) -> None:
    """messages nobody could decode are not evaluated, with the registry's answer."""
    registry.broken = True
    broker.send(topic, [avro(AVRO, 7, order())])
    report = judged(broker, topic, ORDER_COLUMNS[:1], options=f"schema_registry={registry.url}")
    assert {one.status for one in report.results} == {"errored"}
    assert "answers 500" in report.results[0].description


def test_a_message_with_a_schema_needs_a_registry(broker: Broker, topic: str) -> None:
    """without a registry the reason says that one is missing."""
    broker.send(topic, [b"\0\0\0\0\x07abc"])
    sample = result(judged(broker, topic, NUMBERS), "decodable").sample
    assert sample is not None
    assert sample.rows[0][2] == "it has the registered schema 7, and no schema registry is given"


def test_an_empty_topic_has_the_columns_of_its_schema(broker: Broker, registry: SchemaRegistry, topic: str) -> None:
    """the newest schema of the topic says what its messages will be."""
    registry.add(7, json.dumps(AVRO), subject=f"{topic}-value")
    report = judged(
        broker,
        topic,
        [*ORDER_COLUMNS[:1], {"name": "gone", "logicalType": "string"}],
        options=f"schema_registry={registry.url}",
    )
    assert result(report, "columns").status == "failed"
    assert result(report, "types").status == "passed"


def test_json_with_a_registered_schema_is_json(broker: Broker, registry: SchemaRegistry, topic: str) -> None:
    """the schema's id is taken off, and the registry's password is sent."""
    registry.add(3, '{"type": "object"}', "JSON")
    registry.password = "Basic dXNlcjpwYXNz"
    broker.send(topic, [b'\0\0\0\0\x03{"n": 1}', b'\0\0\0\0\x03{"n": null}'])
    url = registry.url.replace("://", "://user:pass@")
    report = judged(broker, topic, NUMBERS, options=f"schema_registry={url}")
    assert result(report, "required", "n").measured == 1


def protobuf_file() -> Any:
    """`message Other {}` and `message Event {int64 id; optional string note; Timestamp at; repeated Line lines; …}`."""
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name="e.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    file.message_type.add(name="Other")
    kind = file.enum_type.add(name="Kind")
    kind.value.add(name="SMALL", number=0)
    kind.value.add(name="LARGE", number=1)
    event = file.message_type.add(name="Event")
    line = event.nested_type.add(name="Line")
    types = descriptor_pb2.FieldDescriptorProto
    line.field.add(name="sku", number=1, type=types.TYPE_STRING, label=1)
    event.field.add(name="id", number=1, type=types.TYPE_INT64, label=1)
    event.oneof_decl.add(name="_note")
    event.field.add(name="note", number=2, type=types.TYPE_STRING, label=1, oneof_index=0, proto3_optional=True)
    event.field.add(name="at", number=3, type=types.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1)
    event.field.add(name="lines", number=4, type=types.TYPE_MESSAGE, type_name=".shop.Event.Line", label=3)
    event.field.add(name="kind", number=5, type=types.TYPE_ENUM, type_name=".shop.Kind", label=1)
    return file


def test_protobuf_brings_its_types(broker: Broker, registry: SchemaRegistry, topic: str) -> None:
    """messages in Protobuf are judged by their descriptor; a field that was not set is NULL where that shows."""
    import base64

    from google.protobuf import descriptor_pool, message_factory, timestamp_pb2

    file = protobuf_file()
    registry.add(5, base64.b64encode(file.SerializeToString()).decode(), "PROTOBUF")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    event = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Event"))
    start = b"\0\0\0\0\x05"
    path = b"\x02\x02"  # one place, which is 1: Event is the second message of the file
    one = event(id=1, note="x", kind=1, lines=[{"sku": "abc"}])
    one.at.FromDatetime(datetime.now(UTC))
    broken = b"\xff\xff\xff"
    broker.send(topic, [start + path + one.SerializeToString(), start + path + event(id=2).SerializeToString()])
    broker.send(topic, [start + path + broken, start + b"\x00" + b"", start + b"\x02"])
    columns = [
        {"name": "id", "logicalType": "integer"},
        {"name": "note", "logicalType": "string", "required": True},
        {"name": "at", "logicalType": "timestamp", "required": True},
        {"name": "lines", "logicalType": "array"},
        {"name": "kind", "logicalType": "string"},
    ]
    rule = {"metric": "invalidValues", "arguments": {"validValues": ["LARGE"]}, "mustBe": 0, "id": "kinds"}
    columns[4]["quality"] = [rule]
    report = judged(broker, topic, columns, options=f"schema_registry={registry.url}")
    assert {one.check.name: one.measured for one in report.results if one.status != "passed"} == {
        "schema__decodable": 3, "schema__note__required": 1, "schema__at__required": 1, "quality__kind__kinds": 1,
    }  # fmt: skip
    sample = result(report, "decodable").sample
    assert sample is not None
    assert [str(row[2])[:25] for row in sample.rows] == [
        "it does not follow the Pr", "it is message [0] of the ", "it does not say which mes",
    ]  # fmt: skip
