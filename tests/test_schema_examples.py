"""The shapes that the schema page of ODCS shows, on data that breaks each promise once: the right check fails."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from builders import contract_of, odcs, result, told

from contract_checks.checks import Settings
from contract_checks.results import Report
from contract_checks.run import check_contract

HEAD = "apiVersion: v3.1.0\nkind: DataContract\nid: shapes\nversion: 1.0.0\nstatus: active\n"

PAYMENTS = """
schema:
  - name: payments
    physicalName: payments_1
    physicalType: table
    properties:
      - {name: txn_date, logicalType: date, physicalType: date, partitioned: true, partitionKeyPosition: 1,
         classification: public, transformSourceObjects: [raw_a, raw_b]}
      - {name: receiver, primaryKey: true, primaryKeyPosition: 1, logicalType: string, physicalType: varchar(18),
         required: false, classification: restricted, encryptedName: enc_receiver}
      - {name: country, logicalType: string, physicalType: varchar(2), required: false, primaryKeyPosition: -1}
      - {name: amount, logicalType: number, physicalType: 'decimal(9,2)', required: true, unique: true}
"""
GOOD_PAYMENTS = [
    "CREATE TABLE payments_1 (txn_date DATE, receiver VARCHAR, country VARCHAR, amount DECIMAL(9,2))",
    "INSERT INTO payments_1 VALUES ('2022-10-03', 'a', 'DE', 1.5), ('2022-10-04', 'b', NULL, 2.5)",
]

ARRAYS = """
schema:
  - name: addresses
    logicalType: object
    properties:
      - name: lines
        logicalType: array
        logicalTypeOptions: {minItems: 1, maxItems: 3, uniqueItems: true}
        items: {logicalType: string, required: true, logicalTypeOptions: {minLength: 2}}
      - name: x
        logicalType: array
        items:
          logicalType: object
          properties:
            - {name: id, logicalType: string, physicalType: VARCHAR(40), required: true}
            - {name: zip, logicalType: string, physicalType: VARCHAR(15), logicalTypeOptions: {pattern: '^[0-9]+$'}}
"""
GOOD_ARRAYS = [
    "CREATE TABLE addresses (lines VARCHAR[], x STRUCT(id VARCHAR, zip VARCHAR)[])",
    "INSERT INTO addresses VALUES (['Main St', 'Floor 2'], [{id: 'i', zip: '123'}]), (['Elm St'], [])",
]

TIMES = """
schema:
  - name: events
    properties:
      - {name: event_date, logicalType: date, logicalTypeOptions: {format: yyyy-MM-dd, minimum: '2024-01-01'}}
      - {name: created_at, logicalType: timestamp, logicalTypeOptions: {format: "yyyy-MM-ddTHH:mm:ssZ"}}
      - {name: created_sydney, logicalType: timestamp, logicalTypeOptions:
         {format: "yyyy-MM-ddTHH:mm:ssZ", timezone: true, defaultTimezone: Australia/Sydney,
          maximum: '2024-03-11T00:00:00'}}
      - {name: start_time, logicalType: time, logicalTypeOptions: {format: "HH:mm:ss", exclusiveMaximum: '22:00:00'}}
      - {name: physical, logicalType: timestamp, physicalType: DATETIME,
         logicalTypeOptions: {format: "yyyy-MM-ddTHH:mm:ssZ"}}
"""
GOOD_TIMES = [
    (
        "CREATE TABLE events (event_date VARCHAR, created_at VARCHAR, created_sydney TIMESTAMPTZ, start_time TIME, "
        "physical TIMESTAMP)"
    ),
    (
        "INSERT INTO events VALUES ('2024-07-10', '2024-03-10T14:22:35Z', '2024-03-10 14:22:35+10', '08:30', "
        "'2024-03-10 14:22:35')"
    ),
]

EXAMPLES = {"payments": (PAYMENTS, GOOD_PAYMENTS), "arrays": (ARRAYS, GOOD_ARRAYS), "times": (TIMES, GOOD_TIMES)}

BROKEN = [
    ("payments", "UPDATE payments_1 SET receiver = NULL WHERE receiver = 'a'", "schema__receiver__required"),
    ("payments", "UPDATE payments_1 SET receiver = 'a'", "schema__receiver__primary_key"),
    ("payments", "UPDATE payments_1 SET amount = NULL WHERE receiver = 'a'", "schema__amount__required"),
    ("payments", "UPDATE payments_1 SET amount = 1", "schema__amount__unique"),
    ("payments", "ALTER TABLE payments_1 DROP COLUMN country", "schema__columns"),
    ("payments", "ALTER TABLE payments_1 ALTER amount TYPE DECIMAL(18,4)", "schema__types"),
    ("payments", "ALTER TABLE payments_1 ALTER txn_date TYPE TIMESTAMP", "schema__types"),
    ("arrays", "INSERT INTO addresses VALUES ([], [])", "schema__lines__min_items"),
    ("arrays", "INSERT INTO addresses VALUES (['aa', 'bb', 'cc', 'dd'], [])", "schema__lines__max_items"),
    ("arrays", "INSERT INTO addresses VALUES (['aa', 'aa'], [])", "schema__lines__unique_items"),
    ("arrays", "INSERT INTO addresses VALUES (['aa', NULL], [])", "schema__lines__required"),
    ("arrays", "INSERT INTO addresses VALUES (['a'], [])", "schema__lines__min_length"),
    ("arrays", "INSERT INTO addresses VALUES (['aa'], [{id: NULL, zip: '1'}])", "schema__x_id__required"),
    ("arrays", "INSERT INTO addresses VALUES (['aa'], [{id: 'i', zip: 'x'}])", "schema__x_zip__pattern"),
    ("arrays", "ALTER TABLE addresses ALTER x TYPE STRUCT(id VARCHAR)[] USING []", "schema__columns"),
    ("arrays", "ALTER TABLE addresses ALTER x TYPE STRUCT(id VARCHAR, zip INTEGER)[] USING []", "schema__types"),
    ("times", "UPDATE events SET event_date = '2023-12-31'", "schema__event_date__minimum"),
    ("times", "UPDATE events SET created_sydney = '2024-03-10 13:00:01+00'", "schema__created_sydney__maximum"),
    ("times", "UPDATE events SET start_time = '22:00:00'", "schema__start_time__exclusive_maximum"),
    ("times", "ALTER TABLE events ALTER created_sydney TYPE TIMESTAMP", "schema__types"),
]

BROKEN_TEXTS = [
    ("2024-02-30", "event_date"),
    ("10.07.2024", "event_date"),
    ("2024-03-10 14:22:35", "created_at"),
]
"""Texts that are no date or timestamp of the promised format, which the format and the type say."""


def report(example: str, folder: Path, *statements: str) -> Report:
    """The report on the good data of an example after some statements."""
    contract, good = EXAMPLES[example]
    path = folder / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for statement in (*good, *statements):
            connection.execute(statement)
    return check_contract(contract_of(HEAD + contract), source=f"duckdb:///{path}")


def failed(found: Report) -> list[str]:
    """The names of the checks that did not pass."""
    return [one.check.name for one in found.results if one.status not in ("passed", "skipped")]


@pytest.mark.parametrize("example", EXAMPLES)
def test_good_data_keeps_every_promise(example: str, tmp_path: Path) -> None:
    """Data as the page describes it passes every check."""
    found = report(example, tmp_path)
    assert failed(found) == [], told(found)
    assert not any(data.plan.not_checked for data in found.datasets), told(found)


@pytest.mark.parametrize(
    ("example", "statement", "name"), BROKEN, ids=[one[2] + str(i) for i, one in enumerate(BROKEN)]
)
def test_a_broken_promise_fails_its_check(example: str, statement: str, name: str, tmp_path: Path) -> None:
    """Data that breaks one promise fails the check of that promise, and what passed before still passes."""
    found = report(example, tmp_path, statement)
    names = failed(found)
    assert name in names, told(found)
    gone = {"schema__columns"} if name == "schema__columns" else set()
    about_types = {one for one in names if name in ("schema__types", "schema__columns")}
    assert set(names) - {name} - gone <= about_types, told(found)


@pytest.mark.parametrize(("text", "column"), BROKEN_TEXTS)
def test_a_text_of_another_format_fails_format_and_type(text: str, column: str, tmp_path: Path) -> None:
    """A text that is no moment by its pattern breaks the format and is no value of the type."""
    found = report("times", tmp_path, f"UPDATE events SET {column} = '{text}'")
    assert {f"schema__{column}__format", "schema__types"} <= set(failed(found)), told(found)


NESTED = """
schema:
  - name: t
    properties:
      - {name: a, logicalType: object, properties: [{name: x, logicalType: integer}, {name: b, logicalType: object,
         properties: [{name: y, logicalType: integer}]}]}
      - {name: rows, logicalType: array, items: {logicalType: object, properties: [{name: z, logicalType: integer}]}}
      - {name: free, logicalType: object}
      - {name: embedding, logicalType: vector, logicalTypeOptions: {dimensions: 3}}
"""
EXACTLY = "STRUCT(x INTEGER, b STRUCT(y INTEGER))"


@pytest.mark.parametrize(
    ("a", "rows", "others"),
    [
        (EXACTLY, "STRUCT(z INTEGER)[]", set()),
        ("STRUCT(x INTEGER, b STRUCT(y INTEGER, w INTEGER), v VARCHAR)", "STRUCT(z INTEGER)[]", {"a.v", "a.b.w"}),
        (EXACTLY, "STRUCT(z INTEGER, u INTEGER)[]", {"rows[].u"}),
    ],
)
def test_exact_means_the_fields_of_structs_too(a: str, rows: str, others: set[str], tmp_path: Path) -> None:
    """An exact schema has no other fields in structs whose fields are promised; one that promises none may have any."""
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (a {a}, rows {rows}, free STRUCT(k INTEGER), embedding FLOAT[3])")
        connection.execute("INSERT INTO t (embedding) VALUES ([1, 2, 3])")
    contract = contract_of(HEAD.replace("v3.1.0", "v3.2.0") + NESTED)
    found = check_contract(contract, source=f"duckdb:///{path}", settings=Settings(compatibility="exact"))
    exact = result(found, "unexpected_columns")
    assert {line.column for line in exact.details} == others
    assert failed(found) == (["schema__unexpected_columns"] if others else []), told(found)


@pytest.mark.parametrize(("native", "passes"), [("FLOAT[3]", True), ("FLOAT[4]", False), ("FLOAT[]", False)])
def test_a_vector_has_its_dimensions(native: str, passes: bool, tmp_path: Path) -> None:
    """Every vector has as many items as it has dimensions."""
    path = tmp_path / "data.duckdb"
    items = "[1, 2, 3, 4]" if native != "FLOAT[3]" else "[1, 2, 3]"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT {items}::{native} AS e")
    properties = "[{name: e, logicalType: vector, logicalTypeOptions: {dimensions: 3}}]"
    report = check_contract(contract_of(odcs(properties, api="v3.2.0")), source=f"duckdb:///{path}")
    assert (result(report, "dimensions", "e").status == "passed") == passes, told(report)
    assert result(report, "types").status == "passed", told(report)
