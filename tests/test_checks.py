"""Contract → Plan: which checks there are, what they are called, and what they expect."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from builders import contract_of, odcs

from contract_checks.checks import Check, ColumnsPresent, NoOtherColumns, Settings, expected_text, plan, slug
from contract_checks.errors import ContractError
from contract_checks.metrics import Bound, DuplicateKeys, NotNull, NotOneOf, RowCount, Threshold, ValueCount, Violations
from contract_checks.model import AgeLimit, Duration, Thresholds
from contract_checks.naming import MAX_NAME

ID = {"name": "id", "logicalType": "integer"}
NULLS = {"metric": "nullValues", "mustBe": 0}


def checks(properties: Any = (), quality: Any = (), settings: Settings | None = None, **more: Any) -> dict[str, Check]:
    """The checks of a contract about one table, by name."""
    planned = plan(contract_of(odcs(properties, quality, **more)), settings)
    return {check.name: check for dataset in planned.datasets for check in dataset.checks}


# --------------------------------------------------------------------------- which checks there are


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ({"required": True}, "schema__id__required"),
        ({"unique": True}, "schema__id__unique"),
        ({"primaryKey": True, "primaryKeyPosition": 1}, "schema__id__primary_key"),
        ({"primaryKey": True, "primaryKeyPosition": 1}, "schema__id__required"),
        ({"logicalTypeOptions": {"exclusiveMinimum": 0}}, "schema__id__exclusive_minimum"),
        ({"quality": [NULLS]}, "quality__id__null_values"),
        ({"quality": [{**NULLS, "id": "my-rule"}]}, "quality__id__my_rule"),
        ({"quality": [{**NULLS, "name": "My Rule!"}]}, "quality__id__my_rule"),
        ({"quality": [{**NULLS, "id": "by_id", "name": "by name"}]}, "quality__id__by_id"),
    ],
)
def test_a_promise_of_a_column_becomes_a_check(column: dict[str, Any], name: str) -> None:
    """Every promise of a column is a check called `section__column__rule`, by its id, its name or its kind."""
    assert name in checks([{**ID, **column}])


def test_the_schema_of_a_table_is_two_checks() -> None:
    """That columns are there and have their types are one check each, whatever the number of columns."""
    assert list(checks([ID, {"name": "b", "logicalType": "string"}])) == ["schema__columns", "schema__types"]


def test_a_column_without_a_type_is_only_looked_for() -> None:
    """No type is checked where none was promised."""
    assert list(checks([{"name": "id"}])) == ["schema__columns"]


@pytest.mark.parametrize(
    ("compatibility", "kinds"),
    [
        ("superset", {ColumnsPresent}),
        ("exact", {ColumnsPresent, NoOtherColumns}),
        ("subset", {NoOtherColumns}),
    ],
)
def test_compatibility_says_which_columns_may_differ(compatibility: Any, kinds: set[type]) -> None:
    """`superset` allows more columns, `subset` fewer, `exact` neither."""
    planned = checks([ID], settings=Settings(compatibility=compatibility))
    assert {type(one.judgement) for one in planned.values()} & {ColumnsPresent, NoOtherColumns} == kinds


def test_a_subset_skips_what_is_not_there() -> None:
    """Where columns may be missing, checks of a missing one do not apply."""
    planned = checks([{**ID, "required": True, "quality": [NULLS]}], settings=Settings(compatibility="subset"))
    assert {name for name, one in planned.items() if one.if_present} == {
        "schema__id__required",
        "quality__id__null_values",
    }


def test_a_composite_key_is_one_check_in_the_order_of_its_positions() -> None:
    """A primary key of several columns is unique as a whole; each of its columns is required."""
    columns = [
        {"name": "b", "logicalType": "integer", "primaryKey": True, "primaryKeyPosition": 2},
        {"name": "a", "logicalType": "integer", "primaryKey": True, "primaryKeyPosition": 1},
    ]
    planned = checks(columns)
    assert planned["schema__primary_key"].metrics == (DuplicateKeys((("a",), ("b",))),)
    assert planned["schema__primary_key"].column is None
    assert {"schema__a__required", "schema__b__required"} <= set(planned)


def test_fields_of_structs_have_checks() -> None:
    """A promise of a nested field is checked at its path."""
    inner = {"name": "zip", "logicalType": "string", "required": True}
    planned = checks([{"name": "address", "logicalType": "object", "properties": [inner]}])
    assert planned["schema__address_zip__required"].metrics == (Violations(("address", "zip"), NotNull()),)


@pytest.mark.parametrize(
    ("quality", "base"),
    [({**NULLS, "unit": "percent"}, (RowCount(),)), ({**NULLS, "unit": "rows"}, ()), (NULLS, ())],
)
def test_percent_needs_the_whole(quality: dict[str, Any], base: tuple[Any, ...]) -> None:
    """Only a rule in percent measures the number of rows as well."""
    assert checks([{**ID, "quality": [quality]}])["quality__id__null_values"].metrics[1:] == base


def test_percent_of_items_needs_the_number_of_items() -> None:
    """The whole of a percentage of items is all items."""
    items = {"logicalType": "string", "quality": [{**NULLS, "unit": "percent"}]}
    planned = checks([{"name": "tags", "logicalType": "array", "items": items}])
    assert planned["quality__tags__null_values"].metrics[1] == ValueCount(("tags", "[]"))


# --------------------------------------------------------------------------- NaN


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ({"minimum": 0, "maximum": 9}, {"maximum"}),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 9}, {"exclusiveMaximum"}),
        ({"minimum": 0}, {"minimum"}),
        ({"maximum": 9}, {"maximum"}),
    ],
)
def test_a_nan_is_counted_once(options: dict[str, int], counted: set[str]) -> None:
    """Where a column has bounds on both sides the upper one counts its NaNs, else the only one does."""
    planned = checks([{"name": "a", "logicalType": "number", "logicalTypeOptions": options}])
    bounds = {one.rule: one.metrics[0] for one in planned.values() if one.rule in options}
    found = {
        rule
        for rule, metric in bounds.items()
        if isinstance(metric, Violations) and isinstance(metric.condition, Bound) and metric.condition.nan
    }
    assert found == counted


# --------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nullValues", "null_values"),
        ("My Rule!", "my_rule"),
        ("a__b", "a_b"),
        ("ÄÖ", ""),
        ("  x-1.2 ", "x_1_2"),
        ("HTTPStatus", "httpstatus"),
        ("a1B", "a1_b"),
    ],
)
def test_a_slug_is_plain(text: str, expected: str) -> None:
    """Names hold only `[a-z0-9_]`, and a double underscore never but between their parts."""
    assert slug(text) == expected


def test_a_column_without_a_plain_letter_has_a_name() -> None:
    """A column that no slug can be made of is known by a hash of its name."""
    names = [name for name in checks([{"name": one, "required": True} for one in ("日", "本")]) if "required" in name]
    assert len(set(names)) == 2


def test_names_survive_reordering() -> None:
    """Columns and rules may change places without a check changing its name."""
    rules = [
        {"metric": "rowCount", "mustBeGreaterThan": 0},
        {"metric": "rowCount", "mustBeLessThan": 9},
        {"type": "sql", "query": "SELECT 1", "mustBe": 1},
        {"type": "sql", "query": "SELECT 2", "mustBe": 2},
    ]
    columns = [ID, {"name": "b", "logicalType": "string", "required": True}]
    forwards, backwards = checks(columns, rules), checks(columns[::-1], rules[::-1])
    assert set(forwards) == set(backwards)
    said = {name: (one.rule, one.metrics[0]) for name, one in forwards.items() if one.section == "quality"}
    assert said == {name: (one.rule, one.metrics[0]) for name, one in backwards.items() if one.section == "quality"}


def test_a_rule_that_stands_alone_has_a_name_without_a_hash() -> None:
    """Only rules that would share a name get a hash of what they say."""
    assert "quality__row_count" in checks([], [{"metric": "rowCount", "mustBeGreaterThan": 0}])


def test_equal_rules_are_one_check() -> None:
    """A promise made twice is checked once."""
    rule = {"metric": "rowCount", "mustBeGreaterThan": 0}
    assert list(checks([], [rule, rule])) == ["quality__row_count"]


def test_hashes_are_the_same_in_every_process() -> None:
    """A name is the same whatever the process, its hash seed, and the lines of the file."""
    text = odcs([ID], [{"metric": "rowCount", "mustBeGreaterThan": one} for one in (0, 1)])
    code = (
        "import sys; from contract_checks.dialects import read; from contract_checks.checks import plan;"
        "from contract_checks.dialects.document import parse_document;"
        "print([c.name for c in plan(read(parse_document(sys.stdin.read(), 'x'))).datasets[0].checks])"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            input="\n" * seed + text,
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[1],
            env={"PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in (0, 1)
    }
    assert len(told) == 1


def test_long_names_are_cut_and_stay_apart() -> None:
    """A name is at most 60 letters long; a cut one ends in a hash of the whole."""
    ids = [f"{'very_long_' * 8}{end}" for end in ("a", "b")]
    names = list(checks([], [{"id": one, "metric": "rowCount", "mustBe": 1} for one in ids]))
    assert len(set(names)) == 2
    assert all(len(name) <= MAX_NAME for name in names)


def test_an_id_that_is_taken_is_an_error_with_both_places() -> None:
    """Two different rules of one id are refused, and each place is named."""
    rules = [{"id": "twice", "metric": "rowCount", "mustBe": one} for one in (1, 2)]
    with pytest.raises(ContractError) as caught:
        checks([], rules)
    [problem] = caught.value.problems
    assert "'twice' is taken" in problem.message
    assert "$.schema[0].quality[0]" in problem.message
    assert problem.location.path == "$.schema[0].quality[1]"


def test_ids_that_only_look_alike_are_kept_apart() -> None:
    """Ids that come down to one slug are two checks; only an id that really is taken is an error."""
    rules = [{"id": one, "metric": "rowCount", "mustBeGreaterThan": n} for n, one in enumerate(("A-b", "a_b"))]
    assert len(checks([], rules)) == 2


def test_one_id_may_be_on_two_columns() -> None:
    """An id is unique among the rules of its own list."""
    column = {"logicalType": "string", "quality": [{**NULLS, "id": "x"}]}
    assert {"quality__a__x", "quality__b__x"} <= set(checks([{"name": "a", **column}, {"name": "b", **column}]))


def test_a_check_that_does_not_exist_cannot_be_selected() -> None:
    """Selecting by name keeps the plan's order, and an unknown name is an error that says it."""
    dataset = plan(contract_of(odcs([{**ID, "required": True}]))).datasets[0]
    chosen = dataset.select(["schema__id__required", "schema__columns"])
    assert [one.name for one in chosen] == ["schema__columns", "schema__id__required"]
    with pytest.raises(KeyError, match="nope"):
        dataset.select(["nope"])


# --------------------------------------------------------------------------- expectations in words


@pytest.mark.parametrize(
    ("operator", "value", "unit", "text"),
    [
        ("mustBe", 0, "rows", "= 0"),
        ("mustNotBe", Decimal("0.30"), "rows", "≠ 0.30"),
        ("mustBeGreaterThan", 1, "rows", "> 1"),
        ("mustBeGreaterOrEqualTo", 1, "rows", "≥ 1"),
        ("mustBeLessThan", 1, "percent", "< 1 %"),
        ("mustBeLessOrEqualTo", 1, "percent", "≤ 1 %"),
        ("mustBeBetween", (1, 9), "percent", "between 1 and 9 %"),
        ("mustNotBeBetween", (1, 9), "rows", "not between 1 and 9"),
        ("mustBe", True, "rows", "= true"),
        ("mustBe", "abc", "rows", "= abc"),
    ],
)
def test_what_is_expected_is_said_in_signs(operator: Any, value: Any, unit: Any, text: str) -> None:
    """Every operator has its sign, and percent its mark."""
    assert expected_text(Thresholds((Threshold(operator, value),), unit)) == text


def test_several_operators_are_said_together() -> None:
    """All operators of a rule are named."""
    both = (Threshold("mustBeGreaterThan", 0), Threshold("mustBeLessThan", 9))
    assert expected_text(Thresholds(both)) == "> 0 and < 9"


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (Duration(1, "day"), "at most 1 day old"),
        (Duration(1.5, "hour"), "at most 1.5 hours old"),
        (Duration(3.0, "month"), "at most 3 months old"),
    ],
)
def test_an_age_is_said_with_its_unit(duration: Duration, text: str) -> None:
    """An age limit is told in the unit of the contract."""
    assert expected_text(AgeLimit(duration)) == text


# --------------------------------------------------------------------------- settings


def test_between_can_leave_out_its_bounds() -> None:
    """With exclusive bounds every threshold of the plan is exclusive."""
    rule = [{"metric": "rowCount", "mustBeBetween": [1, 9]}]
    judgement = checks([], rule, Settings(between_bounds="exclusive"))["quality__row_count"].judgement
    assert isinstance(judgement, Thresholds)
    assert [one.inclusive for one in judgement.all_of] == [False]


@pytest.mark.parametrize(("setting", "null"), [("listed", False), ("always", True)])
def test_null_is_missing_when_listed_or_always(setting: Any, null: bool) -> None:
    """Whether NULL is missing without being listed is a setting."""
    rule = {"metric": "missingValues", "arguments": {"missingValues": [""]}, "mustBe": 0}
    column = {"name": "a", "logicalType": "string", "quality": [rule]}
    metric = checks([column], settings=Settings(missing_null=setting))["quality__a__missing_values"].metrics[0]
    assert isinstance(metric, Violations)
    assert isinstance(metric.condition, NotOneOf)
    assert (None in metric.condition.values) is null


def test_an_unbound_dataset_is_reported_clause_by_clause() -> None:
    """A dataset that the settings leave unbound has no checks; each promise says why."""
    contract = contract_of(odcs([{**ID, "required": True}]))
    settings = Settings(physical_names={(contract.id, "t"): ""})
    dataset = plan(contract, settings).datasets[0]
    assert dataset.checks == ()
    assert len(dataset.not_checked) == len(plan(contract).datasets[0].checks)
    assert plan(replace(contract, id="other"), settings).datasets[0].checks != ()
