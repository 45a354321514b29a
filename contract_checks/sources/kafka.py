"""Topics of Kafka, judged by the same plan as tables: a window of messages becomes a table in an embedded DuckDB.

JSON has no types, so each value is read by the type its field was promised; Avro and Protobuf bring theirs.
Beside its fields every message has `__key`, `__partition`, `__offset` and `__timestamp`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool
from sqlglot import exp
from typing_extensions import override

from contract_checks.datatypes import Category, category_of
from contract_checks.errors import MissingDriverError, ServerError, SourceError
from contract_checks.metrics import (
    Aggregate,
    FieldPath,
    FoundColumn,
    Measurement,
    Metric,
    Rate,
    RateUnit,
    Undecodable,
)
from contract_checks.model import Dataset, declared_categories, declared_formats, declared_zones
from contract_checks.scans import OFFENDERS
from contract_checks.sources.catalogue import name_parts
from contract_checks.sources.database import DatabaseSession, DatabaseSource
from contract_checks.sources.interface import MissingTableError, QueryError, Source
from contract_checks.sources.registry import Registry
from contract_checks.sources.topics import Reading, Window, open_consumer, parse_window, read_topic
from contract_checks.sql import Relation
from contract_checks.sql.duckdb import CELLS, typed_columns
from contract_checks.sql.interface import json_path

if TYPE_CHECKING:
    from contract_checks.sources.decoding import Decoded, Decoder, Rejected

_SECONDS: dict[RateUnit, int] = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_CLIENT = {
    "security": "security.protocol",
    "mechanism": "sasl.mechanism",
    "ca": "ssl.ca.location",
}
"""Options of a URL that are settings of the Kafka client."""


class KafkaSource(Source):
    """The topics of a Kafka broker.

    `servers` is `host:port`, or several with commas. `window` says which messages are judged, `format`
    (`json`, `avro`, `protobuf`, `text`) what they are in, where they do not show it. `registry` is the URL
    of a schema registry; it may hold user and password. `client` are further settings of librdkafka.
    `timeout` is how long the broker may be silent, in seconds.
    """

    def __init__(
        self,
        servers: str,
        window: Window | None = None,
        format: str | None = None,
        registry: str | None = None,
        client: Mapping[str, str] | None = None,
        timeout: float = 10.0,
    ) -> None:
        self.servers, self.window, self.format, self.timeout = servers, window or Window(), format, timeout
        self.registry = registry
        self.client = dict(client or {})
        self.name = f"kafka://{servers}"

    @classmethod
    def from_url(cls, url: str) -> KafkaSource:
        """`kafka://user:password@host:9092/?schema_registry=…&window=…&format=…` as a source.

        Raises `ServerError` for an option that is not known.
        """
        parts = urlsplit(url)
        login, _, servers = parts.netloc.rpartition("@")
        if not servers:
            raise ServerError("a Kafka source looks like kafka://host:9092/?window=1000")
        options = dict(parse_qsl(parts.query))
        unknown = set(options) - {"schema_registry", "window", "format", "timeout", *_CLIENT}
        if unknown:
            known = ", ".join(("schema_registry", "window", "format", "timeout", *_CLIENT))
            raise ServerError(f"a Kafka source has no option {', '.join(sorted(unknown))}; it has {known}")
        client = {_CLIENT[key]: value for key, value in options.items() if key in _CLIENT}
        user, _, password = login.partition(":")
        window = parse_window(options["window"]) if "window" in options else None
        return cls(
            ",".join(one if ":" in one else f"{one}:9092" for one in servers.split(",")),
            window,
            options.get("format"),
            options.get("schema_registry"),
            with_login(client, unquote(user), unquote(password)),
            _seconds(options.get("timeout", "10")),
        )

    def with_credentials(self, user: str, password: str) -> KafkaSource:
        """The same source with another login."""
        client = with_login(self.client, user, password)
        return KafkaSource(self.servers, self.window, self.format, self.registry, client, self.timeout)

    @override
    @contextmanager
    def session(self, datasets: Sequence[Dataset]) -> Iterator[KafkaSession]:
        heard: list[str] = []
        consumer = open_consumer({"bootstrap.servers": self.servers, **self.client}, heard.append)
        try:
            from contract_checks.sources.decoding import Decoder
        except ImportError as error:
            consumer.close()
            raise MissingDriverError(
                f'{error.name} is not installed; install it with: pip install "dagster-contract-checks[kafka]"'
            ) from None
        engine = create_engine("duckdb:///:memory:", poolclass=NullPool)
        database = DatabaseSource(engine)
        database.name = self.name
        try:
            decoder = Decoder(self.format, Registry(self.registry, self.timeout) if self.registry else None)
            with engine.connect() as connection:
                for setting in (
                    "SET TimeZone = 'UTC'",
                    "SET enable_external_access = false",
                    "SET python_enable_replacements = false",
                    "SET lock_configuration = true",
                ):
                    connection.exec_driver_sql(setting)
                connection.commit()
                with connection.begin():
                    yield KafkaSession(connection, database, datasets, self, consumer, decoder, heard)
        except DBAPIError as error:
            raise SourceError(f"{self.name}: {database.clean(error)}") from None
        finally:
            engine.dispose()
            consumer.close()


def with_login(client: Mapping[str, str], user: str | None, password: str | None) -> dict[str, str]:
    """Settings of the client with a login, by SASL over TLS unless they say otherwise."""
    if not user:
        return dict(client)
    defaults = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    return {**defaults, **client, "sasl.username": user, "sasl.password": password or ""}


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= 600:
        raise ServerError(f"the timeout '{text}' is no number of seconds between 0 and 600")
    return seconds


class KafkaSession(DatabaseSession):
    """A session on topics. Each is read once, when it is first asked for, so that all answers agree."""

    def __init__(
        self,
        connection: Any,
        database: DatabaseSource,
        datasets: Sequence[Dataset],
        source: KafkaSource,
        consumer: Any,
        decoder: Decoder,
        heard: Sequence[str],
    ) -> None:
        super().__init__(connection, database, datasets)
        self.kafka, self.consumer, self.decoder, self.heard = source, consumer, decoder, heard

    @override
    def relation(self, dataset: Dataset) -> Relation:
        if dataset.physical_name not in self._relations:
            self._relations[dataset.physical_name] = self._read(dataset)
        return self._relations[dataset.physical_name]

    def _read(self, dataset: Dataset) -> Relation:
        wanted = list(dict.fromkeys((dataset.physical_name, dataset.name)))
        try:
            reading = read_topic(self.consumer, wanted, self.kafka.window, self.kafka.timeout)
        except (MissingTableError, QueryError) as error:
            raise type(error)(f"{error} at {self.kafka.name}") from None
        except SourceError as error:
            self.consumer.poll(0)  # tells what was heard
            cause = f" ({self.heard[0].partition(' (after')[0]})" if self.heard else ""
            raise SourceError(f"{self.kafka.name} cannot be read: {error}{cause}") from None
        decoded = self.decoder.decode(reading.topic, reading.messages)
        table = f"topic_{len(self._relations)}"
        raw: Any = self.connection.connection.dbapi_connection
        raw.register("incoming", decoded.table)
        try:
            if decoded.format == "json":
                relation, rejected = self._json(table, decoded, dataset, reading)
            else:
                relation, rejected = self._typed(table, dataset), list(decoded.rejected)
        except DBAPIError as error:
            self._restart()
            raise QueryError(f"topic {reading.topic}: {self.source.clean(error)}") from None
        finally:
            raw.unregister("incoming")
        raw.commit()  # or the first query that fails would take the messages along
        raw.begin()
        rejected.sort(key=lambda one: (one.partition, one.offset))
        if rejected and not _promises_decoding(dataset):
            first = rejected[0]
            raise QueryError(
                f"{len(rejected):,} messages of topic {reading.topic} do not decode, and the contract does not call it "
                f"a topic (partition {first.partition}, offset {first.offset}: {first.reason})"
            )
        return replace(
            relation,
            shown=f"topic {reading.topic}",
            facts=_facts(reading, decoded, rejected),
            notes=_notes(reading, decoded, self.kafka.window),
        )

    def _json(
        self, table: str, decoded: Decoded, dataset: Dataset, reading: Reading
    ) -> tuple[Relation, list[Rejected]]:
        """JSON messages: one list of values per message, in the order of the columns."""
        from contract_checks.sources.decoding import KEY, OFFSET, PARTITION, TEXT, TIMESTAMP, Rejected

        documents = (
            f"(SELECT CASE WHEN json_valid({TEXT}) THEN CAST({TEXT} AS JSON) END AS document, * EXCLUDE ({TEXT}) "
            "FROM incoming)"
        )
        why = "CASE WHEN document IS NULL THEN 'it is no JSON' ELSE 'it is JSON, but no object' END"
        bad = self.connection.exec_driver_sql(
            f"SELECT {PARTITION}, {OFFSET}, {why} FROM {documents} "
            f"WHERE document IS NULL OR json_type(document) != 'OBJECT' ORDER BY {PARTITION}, {OFFSET}"
        ).fetchall()
        objects = f"(SELECT * FROM {documents} WHERE json_type(document) = 'OBJECT')"
        found = self.connection.exec_driver_sql(f"SELECT DISTINCT unnest(json_keys(document)) FROM {objects}")
        names = sorted(row[0] for row in found)
        taken = sorted({KEY, PARTITION, OFFSET, TIMESTAMP} & set(names))
        if taken:
            raise QueryError(f"the messages of topic {reading.topic} have fields of reserved names: {', '.join(taken)}")
        if not names:  # nothing contradicts that messages have the promised fields
            names = [one.physical_name for one in dataset.columns if not one.virtual]
        paths = ", ".join(_quoted(json_path((name,))) for name in names)
        place = ", ".join(f"to_json({one})" for one in (KEY, PARTITION, OFFSET, f"strftime({TIMESTAMP}, '%xT%X.%gZ')"))
        cells = f"list_concat(json_extract(document, [{paths}]), [{place}])" if names else f"[{place}]"
        self.connection.exec_driver_sql(f"CREATE TABLE {table} AS SELECT {cells} AS {CELLS} FROM {objects}")
        hidden: dict[FieldPath, Category] = {
            (KEY,): "string",
            (PARTITION,): "integer",
            (OFFSET,): "integer",
            (TIMESTAMP,): "timestamp",
        }
        columns = [FoundColumn(name, "JSON", "object") for name in names]
        columns += [FoundColumn(path[0], "JSON", "object", hidden=True) for path in hidden]
        relation = self._made(table, dataset, tuple(columns))
        rejected = [*decoded.rejected, *(Rejected(int(row[0]), int(row[1]), str(row[2])) for row in bad)]
        return replace(relation, encoding="json", declared={**hidden, **relation.declared}), rejected

    def _typed(self, table: str, dataset: Dataset) -> Relation:
        """Messages with types of their own: a column per field."""
        from contract_checks.sources.decoding import PLACE

        self.connection.exec_driver_sql(f"CREATE TABLE {table} AS SELECT * FROM incoming")
        rows = self.connection.exec_driver_sql(f"DESCRIBE {table}")
        columns = tuple(
            FoundColumn(row[0], row[1], category_of(row[1], "duckdb"), hidden=row[0] in PLACE.names) for row in rows
        )
        return self._made(table, dataset, columns)

    def _made(self, table: str, dataset: Dataset, columns: tuple[FoundColumn, ...]) -> Relation:
        return Relation(
            shown="",
            sql=f"memory.main.{table}",
            dialect="duckdb",
            columns=columns,
            declared=declared_categories(dataset),
            formats=declared_formats(dataset),
            zoned=declared_zones(dataset),
            placeholder=exp.to_identifier(dataset.name, quoted=True).sql(dialect="duckdb"),
        )

    def prepare_queries(self) -> None:
        """Make every topic of the contract a view of its names, dotted ones included, with the promised types."""
        made: set[tuple[str, ...]] = set()
        for dataset in self.datasets:
            try:
                relation = self.relation(dataset)
            except SourceError:
                continue  # a query that names it fails with the database's own words
            columns = "*" if relation.encoding == "native" else typed_columns(relation)
            for name in _names(dataset):
                if name not in made:
                    made.add(name)
                    self._view(name, f"SELECT {columns} FROM {relation.sql}")

    def _view(self, name: tuple[str, ...], query: str) -> None:
        """Name a query, in a transaction of its own: DuckDB writes to one database at a time."""
        quoted = [exp.to_identifier(part, quoted=True).sql(dialect="duckdb") for part in name]
        raw: Any = self.connection.connection.dbapi_connection
        try:
            # A name in three parts is one in another database, which can only be in memory here.
            if len(name) == 3:
                self.connection.exec_driver_sql(f"ATTACH IF NOT EXISTS ':memory:' AS {quoted[0]}")
                raw.commit()
                raw.begin()
            if len(name) > 1:
                self.connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(quoted[:-1])}")
            self.connection.exec_driver_sql(f"CREATE OR REPLACE VIEW {'.'.join(quoted)} AS {query}")
        except DBAPIError:
            self._restart()  # a query that uses this name fails with the database's own words
            return
        raw.commit()
        raw.begin()


def _names(dataset: Dataset) -> list[tuple[str, ...]]:
    """The names by which a query may call a topic: whole, and with or without their leading parts."""
    names: list[tuple[str, ...]] = [(dataset.name,)]
    for dotted in (name_parts(dataset.physical_name), name_parts(dataset.name)):
        names += [dotted[-parts:] for parts in (1, 2, 3) if parts <= len(dotted) <= 3 or parts == 1]
    return names


def _promises_decoding(dataset: Dataset) -> bool:
    """Whether the plan has a check for messages that do not decode."""
    return dataset.kind.lower() == "topic"


def _facts(reading: Reading, decoded: Decoded, rejected: Sequence[Rejected]) -> dict[Metric, Measurement]:
    """What is known of a topic without asking its table.

    The oldest message may lie before the window. A rate is that over the whole window, which ends now and is at
    least one unit of time long: a few messages in the last second are no 500 a minute.
    """
    from contract_checks.sources.decoding import TIMESTAMP

    metrics: list[Measurement] = [
        Measurement(
            Undecodable(),
            len(rejected),
            answered_by="catalogue",
            offenders=tuple(tuple(one) for one in rejected[:OFFENDERS]),
        ),
        Measurement(Aggregate("min", (TIMESTAMP,)), reading.oldest, answered_by="catalogue"),
    ]
    arrived = len(reading.messages) - decoded.tombstones
    for unit, seconds in _SECONDS.items():
        span = Fraction(seconds)
        if reading.since is not None:
            span = max(span, Fraction(str((reading.until - reading.since).total_seconds())))
        metrics.append(Measurement(Rate(unit), arrived * seconds / span, rows=arrived, answered_by="catalogue"))
    return {one.metric: one for one in metrics}


def _notes(reading: Reading, decoded: Decoded, window: Window) -> tuple[str, ...]:
    notes = []
    if not reading.messages:
        notes.append("there are no messages" + (f" ({window})" if reading.partial else ""))
    elif reading.partial:
        notes.append(f"judged by {len(reading.messages):,} messages of the topic ({window})")
    if decoded.tombstones:
        left = "1 message" if decoded.tombstones == 1 else f"{decoded.tombstones:,} messages"
        notes.append(f"{left} without a value (a deletion) left out")
    return tuple(notes)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
