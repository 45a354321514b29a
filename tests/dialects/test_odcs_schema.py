"""Objects and properties of ODCS → datasets and columns."""

from __future__ import annotations

import pytest
from odcs_text import column, contract, dataset

from contract_checks.metrics import ITEMS, MAP_KEYS, MAP_VALUES, ValueCount
from contract_checks.model import DeclaredType, Link, Thresholds, walk_columns


def test_names_are_the_contracts_and_physical_names_the_datas() -> None:
    """The physical name is the name unless one is stated, and a dotted one becomes a path of keys."""
    made = contract("schema: [{name: orders, physicalName: shop.sales.orders, physicalType: view}, {name: plain}]")

    first, second = made.datasets
    assert (first.name, first.physical_name, first.key, first.kind) == (
        "orders", "shop.sales.orders", ("shop", "sales", "orders"), "view",
    )  # fmt: skip
    assert (second.physical_name, second.key, second.kind) == ("plain", ("plain",), "table")


def test_a_column_carries_what_is_said_of_it() -> None:
    """Nullability, uniqueness, description, classification, tags and links reach the column."""
    (found,) = column(
        """
        physicalName: a_1
        businessName: the A
        description: An A.
        required: true
        unique: true
        classification: public
        tags: [x, 2]
        authoritativeDefinitions: [{type: wiki, url: https://wiki.example.org/a}]
        transformSourceObjects: [raw.a]
        """
    ).columns

    assert (found.name, found.physical_name, found.business_name) == ("a", "a_1", "the A")
    assert (found.required, found.unique, found.primary_key, found.sensitive) == (True, True, None, False)
    assert (found.tags, found.links, found.sources) == (
        ("x", "2"), (Link("https://wiki.example.org/a", "wiki"),), ("raw.a",),
    )  # fmt: skip
    assert found.required_at
    assert found.required_at.path == "$.schema[0].properties[0].required"
    assert found.unique_at
    assert found.unique_at.path == "$.schema[0].properties[0].unique"


@pytest.mark.parametrize(
    ("keys", "declared"),
    [
        ("logicalType: integer", DeclaredType("integer", frozenset({"integer"}))),
        (
            "logicalType: number\nphysicalType: DECIMAL(9,2)",
            DeclaredType("number (DECIMAL(9,2))", frozenset({"number"}), "DECIMAL(9,2)"),
        ),
        ("physicalType: BIGINT", DeclaredType("BIGINT", frozenset(), "BIGINT")),
        ("logicalType: varchar", DeclaredType("string", frozenset({"string"}))),
        ("logicalType: Integer", DeclaredType("integer", frozenset({"integer"}))),
        (
            "logicalType: timestamp\nlogicalTypeOptions: {timezone: true}",
            DeclaredType("timestamp", frozenset({"timestamp"}), None, True),
        ),
        ("description: nothing said", None),
        ("logicalType: money", None),
    ],
)  # fmt: skip
def test_a_type_is_what_was_declared(keys: str, declared: DeclaredType | None) -> None:
    """A logicalType becomes its category, a physicalType the native type, and an unknown word neither."""
    assert column(keys).columns[0].type == declared


def test_an_unknown_logical_type_is_not_checked() -> None:
    """A word that is no logicalType is reported with its reason."""
    assert [clause.reason for clause in column("logicalType: money").not_checked] == [
        "'money' is no logicalType of the standard"
    ]


def test_a_date_of_3_0_may_be_a_timestamp() -> None:
    """Up to 3.0.2 `date` is the only temporal type; since 3.1 it is a date."""
    before = column("logicalType: date", version="v3.0.2").columns[0].type
    since = column("logicalType: date", version="v3.1.0").columns[0].type

    assert before
    assert before.categories == {"date", "timestamp", "time"}
    assert since
    assert since.categories == {"date"}


def test_primary_keys_are_ordered_by_position_then_appearance() -> None:
    """A stated position comes first; without one, or with -1, columns follow as they appear."""
    found = dataset(
        """
        - {name: a, primaryKey: true}
        - {name: b, primaryKey: true, primaryKeyPosition: 2}
        - {name: c, primaryKey: true, primaryKeyPosition: 1}
        - {name: d, primaryKey: true, primaryKeyPosition: -1}
        - {name: e, primaryKey: false, primaryKeyPosition: -1}
        """
    )

    assert {one.name: one.primary_key for one in found.columns} == {"a": 3, "b": 2, "c": 1, "d": 4, "e": None}


def test_partitions_have_positions_as_keys_do() -> None:
    """`partitioned` and `partitionKeyPosition` give the columns that data is partitioned by."""
    found = dataset("- {name: a, partitioned: true, partitionKeyPosition: 1}\n- {name: b, partitioned: false}")

    assert [one.partition_position for one in found.columns] == [1, None]


def test_objects_and_arrays_nest() -> None:
    """Fields of objects and items of arrays are columns with paths of their own."""
    found = dataset(
        """
        - name: address
          logicalType: object
          properties:
            - {name: zip, physicalName: zip_code, logicalType: string, required: true}
        - name: lines
          logicalType: array
          items:
            logicalType: object
            properties:
              - {name: price, logicalType: number, logicalTypeOptions: {minimum: 0}}
        """
    )

    paths = [path for path, _ in walk_columns(found.columns)]
    assert paths == [
        ("address",),
        ("address", "zip_code"),
        ("lines",),
        ("lines", ITEMS),
        ("lines", ITEMS, "price"),
    ]
    assert found.expectations[0].field == ("lines", ITEMS, "price")


@pytest.mark.parametrize(
    ("keys", "sensitive"),
    [
        ("classification: public", False),
        ("classification: Internal", False),
        ("classification: none", False),
        ("classification: confidential", True),
        ("classification: L4", True),
        ("tags: [PII]", True),
        ("tags: [finance]", False),
        ("encryptedName: a_encrypted", True),
        ("physicalName: customerEmail", True),
        ("physicalName: tokens_used", False),
    ],
)
def test_sensitive_columns_are_told_by_class_tag_or_name(keys: str, sensitive: bool) -> None:
    """A column is masked when its classification, a tag, its name or an encrypted twin says so."""
    assert column(keys).columns[0].sensitive == sensitive


def test_fields_of_a_sensitive_object_are_sensitive() -> None:
    """What lies inside of something sensitive is sensitive too."""
    found = dataset("- name: person\n  classification: secret\n  properties:\n    - {name: age}")

    assert found.columns[0].children[0].sensitive


def test_a_measure_is_not_stored() -> None:
    """A measure is virtual, nothing of it is checked, and what it promises is listed."""
    found = column(
        "semanticType: measure\nlogicalType: number\nrequired: true\nquality: [{metric: nullValues, mustBe: 0}]",
        "v3.2.0",
    )

    assert (found.columns[0].virtual, found.columns[0].required, found.expectations) == (True, False, ())
    assert [clause.reason for clause in found.not_checked] == [
        "a measure is computed, not stored, so it has no values to check: required, logicalType, quality"
    ]


def test_in_documents_a_property_may_be_absent() -> None:
    """In JSON or XML a property that is not required may be missing altogether; in a table it may not."""
    text = "schema: [{name: t, properties: [{name: a}, {name: b, required: true}]}]\n"
    servers = "servers: [{server: s, type: local, path: x.json, format: json}]\n"

    assert [one.optional for one in contract(text + servers).datasets[0].columns] == [True, False]
    assert [one.optional for one in contract(text).datasets[0].columns] == [False, False]


def test_keys_and_values_of_a_map_are_columns() -> None:
    """The keys and the values of a map have types and rules like a property."""
    found = column(
        """
        logicalType: map
        map:
          key: {logicalType: string, logicalTypeOptions: {minLength: 1}}
          value: {logicalType: integer, required: true, quality: [{metric: nullValues, mustBe: 0, unit: percent}]}
        """,
        "v3.2.0",
    )

    assert [path for path, _ in walk_columns(found.columns)] == [("a",), ("a", MAP_KEYS), ("a", MAP_VALUES)]
    assert [one.field for one in found.expectations] == [("a", MAP_KEYS), ("a", MAP_VALUES)]
    assert isinstance(found.expectations[1].requirement, Thresholds)
    assert found.expectations[1].requirement.base == ValueCount(("a", MAP_VALUES))
    assert found.not_checked == ()


def test_prose_is_documented() -> None:
    """Examples, transformations and custom properties are shown, each under its own path."""
    found = column("examples: [1, 2]\ntransformLogic: x + 1\ncustomProperties: [{property: p, value: v}]")

    assert {(one.title, one.location.path.rsplit(".")[-1]) for one in found.documented} == {
        ("Examples", "examples"),
        ("Transformation", "transformLogic"),
        ("Custom properties", "customProperties"),
    }


# --------------------------------------------------------------------------- relationships

CUSTOMERS = """
schema:
  - id: cust
    name: customers
    physicalName: sales.customers
    properties:
      - {id: key, name: id, physicalName: customer_id, logicalType: integer}
      - name: home
        logicalType: object
        properties: [{id: z, name: zip}]
  - name: orders
    properties:
      - name: customer
        relationships: [{to: TARGET}]
"""


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        ("customers.id", ("customer_id",)),
        ("customers.home.zip", ("home", "zip")),
        ("sales.customers.id", ("customer_id",)),
        ("schema/cust/properties/key", ("customer_id",)),
        ("/schema/cust/properties/home/properties/z", ("home", "zip")),
        ("'#/schema/cust/properties/key'", ("customer_id",)),
    ],
)
def test_a_reference_by_name_or_id_is_a_foreign_key(target: str, fields: tuple[str, ...]) -> None:
    """A relationship names its target by names or by ids, and its data by physical names."""
    (found,) = contract(CUSTOMERS.replace("TARGET", target)).dataset("orders").expectations

    assert (found.rule, found.section, found.field) == ("foreignKey", "schema", ("customer",))
    assert repr(found.metric) == (
        f"OrphanKeys(fields=(('customer',),), target='sales.customers', target_fields=({fields!r},))"
    )


def test_a_composite_key_is_one_promise() -> None:
    """Several properties on both sides are one foreign key."""
    made = contract(
        """
        schema:
          - name: a
            properties: [{name: x}, {name: y}]
          - name: b
            properties: [{name: x}, {name: y}]
            relationships: [{from: [x, b.y], to: [a.x, a.y]}]
        """
    )

    (found,) = made.dataset("b").expectations
    assert repr(found.metric) == "OrphanKeys(fields=(('x',), ('y',)), target='a', target_fields=(('x',), ('y',)))"


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("nobody.id", "'nobody.id' is no property of this contract"),
        ("other.yaml#customers.id", "there is no file 'other.yaml' beside the contract"),
        ("https://example.org/c.yaml#/schema/cust/properties/key", "contracts on the web are not read"),
    ],
)
def test_a_reference_to_nowhere_is_reported_not_passed(target: str, why: str) -> None:
    """A target that is not in the contract is a warning and not checked."""
    made = contract(CUSTOMERS.replace("TARGET", target))

    (clause,) = made.dataset("orders").not_checked
    assert why in clause.reason
    assert [problem.level for problem in made.problems] == ["warning"]
