"""Messages in Protobuf → rows with the types of their descriptor."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC
from typing import Any

import pyarrow as pa

from contract_checks.errors import MissingDriverError, SourceError
from contract_checks.sources.avro import Unreadable, json_text
from contract_checks.sources.registry import Schema

_SCALARS: dict[str, Any] = {
    "int32": pa.int32(),
    "sint32": pa.int32(),
    "sfixed32": pa.int32(),
    "int64": pa.int64(),
    "sint64": pa.int64(),
    "sfixed64": pa.int64(),
    "uint32": pa.uint32(),
    "fixed32": pa.uint32(),
    "uint64": pa.uint64(),
    "fixed64": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "enum": pa.string(),
}
_WRAPPERS = {
    "google.protobuf.StringValue": "string",
    "google.protobuf.BytesValue": "bytes",
    "google.protobuf.BoolValue": "bool",
    "google.protobuf.Int32Value": "int32",
    "google.protobuf.Int64Value": "int64",
    "google.protobuf.UInt32Value": "uint32",
    "google.protobuf.UInt64Value": "uint64",
    "google.protobuf.FloatValue": "float",
    "google.protobuf.DoubleValue": "double",
}
_TIMESTAMP = "google.protobuf.Timestamp"


class ProtobufCodec:
    """Reads messages of one Protobuf file. Which of its messages it is, each message says at its start.

    Raises `SourceError` for a schema that cannot be used.
    """

    def __init__(self, schema: Schema) -> None:
        try:
            from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
        except ImportError:
            raise MissingDriverError(
                'messages in Protobuf need protobuf; install it with: pip install "dagster-contract-checks[kafka]"'
            ) from None
        self.name = f"Protobuf schema {schema.id}"
        self._decode_error = message.DecodeError
        self._pool = descriptor_pool.DescriptorPool()
        self._file = descriptor_pb2.FileDescriptorProto
        try:
            self._descriptor = self._add(schema, f"schema_{schema.id}.proto")
        except (binascii.Error, message.DecodeError, TypeError, KeyError) as error:
            raise SourceError(
                f"the {self.name} cannot be used ({type(error).__name__}); the registry must give it as a serialized "
                "file descriptor (?format=serialized)"
            ) from None
        self._class_of = message_factory.GetMessageClass
        self._chosen: tuple[int, ...] | None = None
        self.schema = pa.schema([])

    def _add(self, schema: Schema, name: str) -> Any:
        import importlib

        for needed_name, needed in schema.references:
            self._add(needed, needed_name)
        file = self._file.FromString(base64.b64decode(schema.text, validate=True))
        file.name = name
        for path in file.dependency:
            if path.startswith("google/protobuf/"):  # what comes with Protobuf itself is in no registry
                known = importlib.import_module(path.removesuffix(".proto").replace("/", ".") + "_pb2")
                self._pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
        self._pool.AddSerializedFile(file.SerializeToString())
        self._declared = file
        return self._pool.FindFileByName(name)

    def choose(self, path: tuple[int, ...]) -> None:
        """Take the message at `path`: the place of the message in its file, then of those nested in it."""
        declared, chosen = self._declared.message_type, None
        for place in path:
            if place >= len(declared):
                raise Unreadable(f"the {self.name} has no message {list(path)}")
            name = declared[place].name
            chosen = (
                self._descriptor.message_types_by_name[name] if chosen is None else chosen.nested_types_by_name[name]
            )
            declared = declared[place].nested_type
        assert chosen is not None
        self._message = self._class_of(chosen)
        self._fields = chosen.fields
        self._chosen = path
        self.schema = pa.schema([pa.field(one.name, _arrow(one, ())) for one in chosen.fields])

    def row(self, payload: bytes) -> dict[str, Any]:
        """The fields of a message, which begins with its path. Raises `Unreadable`."""
        path, rest = _path(payload)
        if self._chosen is None:
            self.choose(path)
        if path != self._chosen:
            raise Unreadable(f"it is message {list(path)} of the {self.name}, others are {list(self._chosen or ())}")
        try:
            found = self._message.FromString(rest)
        except (self._decode_error, ValueError) as error:
            raise Unreadable(f"it does not follow the {self.name} ({type(error).__name__})") from None
        return {one.name: _field(found, one, ()) for one in self._fields}


def _path(payload: bytes) -> tuple[tuple[int, ...], bytes]:
    """The path before a message, and the message: a count and that many places; a single 0 for the first message.

    Source: Confluent, "Formats, Serializers, and Deserializers", wire format of Protobuf.
    """
    count, at = _number(payload, 0)
    if count == 0:
        return (0,), payload[at:]
    places: list[int] = []
    for _ in range(count if 0 < count <= 32 else 0):
        place, at = _number(payload, at)
        places.append(place)
    if not places or min(places) < 0:
        raise Unreadable("it does not say which message of its schema it is")
    return tuple(places), payload[at:]


def _number(payload: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint, and where it ends."""
    value = shift = 0
    while at < len(payload) and shift < 64:
        byte = payload[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise Unreadable("it does not say which message of its schema it is")


def _kind(field: Any) -> str:
    names = (
        "double float int64 uint64 int32 fixed64 fixed32 bool string group message bytes uint32 enum sfixed32 sfixed64 "
        "sint32 sint64"
    )
    return str(names.split()[field.type - 1])


def _is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _arrow(field: Any, trail: tuple[str, ...]) -> Any:
    if _is_map(field):
        entry = field.message_type.fields_by_name
        return pa.map_(_arrow_one(entry["key"], trail), _arrow_one(entry["value"], trail))
    one = _arrow_one(field, trail)
    return pa.list_(one) if field.is_repeated else one


def _arrow_one(field: Any, trail: tuple[str, ...]) -> Any:
    if field.message_type is None:
        return _SCALARS[_kind(field)]
    name = field.message_type.full_name
    if name == _TIMESTAMP:
        return pa.timestamp("us", "UTC")
    if name in _WRAPPERS:
        return _SCALARS[_WRAPPERS[name]]
    if name in trail or not field.message_type.fields:
        return pa.string()
    return pa.struct([pa.field(one.name, _arrow(one, (*trail, name))) for one in field.message_type.fields])


def _field(holder: Any, field: Any, trail: tuple[str, ...]) -> Any:
    """A field of a message. One that was not set is None where the schema can tell, else the type's zero."""
    if not field.is_repeated and field.has_presence and not holder.HasField(field.name):
        return None
    value = getattr(holder, field.name)
    if _is_map(field):
        inner = field.message_type.fields_by_name["value"]
        return [(key, _one(value[key], inner, trail)) for key in value]
    return [_one(one, field, trail) for one in value] if field.is_repeated else _one(value, field, trail)


def _one(value: Any, field: Any, trail: tuple[str, ...]) -> Any:
    if field.message_type is None:
        if field.enum_type is not None:
            known = field.enum_type.values_by_number.get(value)
            return str(known.name) if known is not None else str(value)
        return value
    name = field.message_type.full_name
    if name == _TIMESTAMP:
        try:
            return value.ToDatetime(tzinfo=UTC)
        except (ValueError, OverflowError):
            raise Unreadable(f"`{field.name}` is no moment a calendar can name") from None
    if name in _WRAPPERS:
        return value.value
    fields: Mapping[str, Any] = field.message_type.fields_by_name
    if name in trail or not fields:
        from google.protobuf import json_format

        return json_text(json_format.MessageToDict(value, preserving_proto_field_name=True))
    return {one.name: _field(value, one, (*trail, name)) for one in fields.values()}
