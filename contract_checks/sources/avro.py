"""Messages in Avro → rows with the types of their schema."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from contract_checks.errors import MissingDriverError, SourceError
from contract_checks.sources.registry import Schema

_PLAIN = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
    "fixed": pa.binary(),
}
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time64("us"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
    "uuid": pa.string(),
}


class Unreadable(Exception):
    """A message that its schema does not read. The message says why, without what it holds."""


class AvroCodec:
    """Reads messages of one Avro schema. Raises `SourceError` for a schema that is not a record."""

    def __init__(self, schema: Schema) -> None:
        try:
            import fastavro
        except ImportError:
            raise MissingDriverError(
                'messages in Avro need fastavro; install it with: pip install "dagster-contract-checks[kafka]"'
            ) from None
        self._read = fastavro.schemaless_reader
        self._names: dict[str, Any] = {}
        self.name = f"Avro schema {schema.id}"
        try:
            self._schema = self._parse(schema)
        except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType, ValueError, KeyError) as error:
            raise SourceError(f"the {self.name} cannot be used: {error}") from None
        if not isinstance(self._schema, Mapping) or self._schema.get("type") != "record":
            raise SourceError(f"the {self.name} is not a record, so its messages have no fields")
        fields = [pa.field(one["name"], _arrow(one["type"], self._names, ())) for one in self._schema["fields"]]
        self.schema = pa.schema(fields)

    def _parse(self, schema: Schema) -> Any:
        import fastavro

        for _, needed in schema.references:
            self._parse(needed)
        return fastavro.parse_schema(json.loads(schema.text), named_schemas=self._names)

    def row(self, payload: bytes) -> dict[str, Any]:
        """The fields of a message. Raises `Unreadable`."""
        stream = io.BytesIO(payload)
        try:
            found = self._read(stream, self._schema, None)
        except (EOFError, IndexError, KeyError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
            # The driver's words may quote the message; the kind of the error says enough.
            raise Unreadable(f"it does not follow the {self.name} ({type(error).__name__})") from None
        left = len(payload) - stream.tell()
        if left:
            raise Unreadable(f"{left} bytes are left over after the {self.name}")
        assert isinstance(found, Mapping)
        return {one["name"]: _value(found[one["name"]], one["type"], self._names) for one in self._schema["fields"]}


def _resolved(schema: Any, names: Mapping[str, Any]) -> Any:
    return names.get(schema, schema) if isinstance(schema, str) else schema


def _single(schema: Any) -> Any:
    """A union with null as its other member; any other union as it is."""
    if isinstance(schema, list):
        others = [one for one in schema if one != "null"]
        return others[0] if len(others) == 1 else schema
    return schema


def _arrow(schema: Any, names: Mapping[str, Any], trail: tuple[str, ...]) -> Any:
    """The Arrow type of a schema; text where there is none."""
    schema = _resolved(_single(schema), names)
    if isinstance(schema, list):
        return pa.null() if not [one for one in schema if one != "null"] else pa.string()
    if isinstance(schema, str):
        return _PLAIN.get(schema, pa.string())
    kind, logical = schema["type"], schema.get("logicalType")
    if logical == "decimal":
        precision, scale = int(schema["precision"]), int(schema.get("scale", 0))
        return pa.decimal128(precision, scale) if precision <= 38 else pa.string()
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if kind == "array":
        return pa.list_(_arrow(schema["items"], names, trail))
    if kind == "map":
        return pa.map_(pa.string(), _arrow(schema["values"], names, trail))
    if kind in ("record", "error"):
        if schema["name"] in trail or not schema["fields"]:
            return pa.string()
        inner = (*trail, schema["name"])
        return pa.struct([pa.field(one["name"], _arrow(one["type"], names, inner)) for one in schema["fields"]])
    return _arrow(kind, names, trail) if isinstance(kind, list | dict) else _PLAIN.get(kind, pa.string())


def _value(value: Any, schema: Any, names: Mapping[str, Any], trail: tuple[str, ...] = ()) -> Any:
    """A value as Arrow takes it for the type of its schema."""
    if value is None:
        return None
    schema = _resolved(_single(schema), names)
    if isinstance(schema, list):
        return json_text(value)
    if isinstance(schema, str):
        return value
    kind, logical = schema["type"], schema.get("logicalType")
    if logical == "decimal":
        return value if int(schema["precision"]) <= 38 else str(value)
    if logical == "uuid" or isinstance(value, uuid.UUID):
        return str(value)
    if kind == "array":
        return [_value(one, schema["items"], names, trail) for one in value]
    if kind == "map":
        return [(key, _value(one, schema["values"], names, trail)) for key, one in value.items()]
    if kind in ("record", "error"):
        if schema["name"] in trail or not schema["fields"]:
            return json_text(value)
        inner = (*trail, schema["name"])
        return {one["name"]: _value(value[one["name"]], one["type"], names, inner) for one in schema["fields"]}
    return _value(value, kind, names, trail) if isinstance(kind, list | dict) else value


def json_text(value: Any) -> str:
    """A value as JSON text, where a column has no better type for it."""
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return float(value) if isinstance(value, Decimal) else str(value)
