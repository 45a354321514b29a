"""Rules written for other engines: translated where the meaning is the same, otherwise shown with the reason."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from builders import contract_of, odcs, result
from databases import Put
from odcs_text import rules

from contract_checks.dialects import load, read
from contract_checks.dialects.document import parse_document
from contract_checks.dialects.engine_registry import find_engine
from contract_checks.dialects.engines import Promise, payload_text
from contract_checks.metrics import (
    Aggregate,
    AllOf,
    Bound,
    DuplicateKeys,
    FieldPath,
    Length,
    Matches,
    NotNull,
    NotOneOf,
    OneOf,
    Query,
    RowCount,
    Threshold,
    Violations,
)
from contract_checks.model import AgeLimit, Dataset, Duration, Expectation, Thresholds
from contract_checks.run import check_contract


def soda(check: str, rest: str = "") -> Dataset:
    """A dataset `t` with a rule in SodaCL: one check, and the lines below it."""
    below = "".join(f"\n{' ' * 10}{line}" for line in rest.splitlines())
    text = f"checks for t:\n{' ' * 6}- {check}{below and ':'}{below}"
    return rules(f"- type: custom\n  engine: soda\n  implementation: |\n    {text}")


def expect(kind: str, **arguments: Any) -> Dataset:
    """A dataset `t` with one expectation of Great Expectations."""
    rule = {"type": "custom", "engine": "greatExpectations", "implementation": {"type": kind, "kwargs": arguments}}
    columns = [{"name": "a", "logicalType": "integer"}, {"name": "b", "logicalType": "string"}]
    return contract_of(odcs(columns, [rule])).datasets[0]


def only(dataset: Dataset) -> Expectation:
    """The one promise of a dataset, of which nothing was left unchecked."""
    assert dataset.not_checked == ()
    assert len(dataset.expectations) == 1
    return dataset.expectations[0]


def limits(one: Expectation) -> tuple[Threshold, ...]:
    """The thresholds of a promise."""
    assert isinstance(one.requirement, Thresholds)
    return one.requirement.all_of


A, B = ("a",), ("b",)
NONE = (Threshold("mustBe", 0),)


@pytest.mark.parametrize(
    ("check", "below", "metric", "thresholds"),
    [
        ("row_count > 10", "", RowCount(), (Threshold("mustBeGreaterThan", 10),)),
        ("row_count between 10 and 20", "", RowCount(), (Threshold("mustBeBetween", (10, 20)),)),
        ("row_count not between 1 and 2.5", "", RowCount(), (Threshold("mustNotBeBetween", (1, Decimal("2.5"))),)),
        ("missing_count(a) = 0", "", Violations(A, NotNull()), NONE),
        ("missing_count(b) = 0", "missing values: [N/A, '']", Violations(B, NotOneOf(("N/A", "", None))), NONE),
        ("invalid_count(b) = 0", "valid values: [x, y]", Violations(B, OneOf(("x", "y"))), NONE),
        ("invalid_count(b) = 0", "valid regex: '^[A-Z]{2}$'", Violations(B, Matches("^[A-Z]{2}$")), NONE),
        ("invalid_count(a) = 0", "valid min: 1\nvalid max: 9",
         Violations(A, AllOf((Bound(">=", 1), Bound("<=", 9)))), NONE),
        ("invalid_count(b) = 0", "valid length: 3", Violations(B, Length(3, 3)), NONE),
        ("duplicate_count(a, b) = 0", "", DuplicateKeys((A, B)), NONE),
        ("avg(a) <= 5", "name: A mean", Aggregate("avg", A), (Threshold("mustBeLessOrEqualTo", 5),)),
        ("size != 5", "size expression: SUM(a)", Query("SELECT SUM(a) FROM {object}"), (Threshold("mustNotBe", 5),)),
        ("failed rows", "fail condition: a < 0", Query("SELECT COUNT(*) FROM {object} WHERE (a < 0)"), NONE),
    ],
)  # fmt: skip
def test_checks_of_soda_become_metrics(check: str, below: str, metric: Any, thresholds: Any) -> None:
    """A check of SodaCL that has an exact counterpart is that metric with that threshold."""
    one = only(soda(check, below))
    assert one.metric == metric
    assert limits(one) == thresholds
    assert one.engine == "soda"


def test_percentages_of_soda_are_shares_of_all_rows() -> None:
    """A percentage of Soda is one of the rows of the table."""
    one = only(soda("missing_percent(a) < 5 %"))
    assert one.requirement == Thresholds((Threshold("mustBeLessThan", 5),), "percent", RowCount())


def test_freshness_of_soda_is_an_age() -> None:
    """Freshness below a duration limits the age of the newest value."""
    one = only(soda("freshness(a) < 2d"))
    assert (one.metric, one.requirement) == (Aggregate("max", A), AgeLimit(Duration(2, "day")))


def test_alerts_of_soda_say_what_is_bad() -> None:
    """`fail: when` and `warn: when` are the opposites of promises, of severity error and warning."""
    fail, warn = soda("row_count", "fail: when < 10\nwarn: when between 10 and 20").expectations
    assert (limits(fail), fail.severity) == ((Threshold("mustBeGreaterOrEqualTo", 10),), "error")
    assert (limits(warn), warn.severity) == ((Threshold("mustNotBeBetween", (10, 20)),), "warning")


def test_the_form_that_the_standard_shows_is_read() -> None:
    """`type: duplicate_percent` with `columns` and `must_be_less_than`, as YAML or as text, is that metric."""
    content = "{type: duplicate_percent, columns: [a, b_1], must_be_less_than: 1.0}"
    for payload in (content, f"'{content}'"):
        one = only(rules(f"- {{type: custom, engine: soda, implementation: {payload}}}"))
        assert one.metric == DuplicateKeys((A, ("b_1",)))
        assert one.requirement == Thresholds((Threshold("mustBeLessThan", Decimal("1.0")),), "percent", RowCount())


@pytest.mark.parametrize(
    ("check", "below", "reason"),
    [
        ("anomaly detection for row_count", "", "nothing says what its number must be"),
        ("row_count > 10", "filter: a > 1", "'filter' has no counterpart here"),
        ("invalid_count(b) = 0", "valid format: email", "which values are valid"),
        ("invalid_count(b) = 0", "valid values: [x]\nmissing values: [y]", "'missing values' has no counterpart"),
        (r"invalid_count(b) = 0", r"valid regex: '\bx'", "another language of patterns"),
        ("max_length(b) < 5", "", "'max_length' has no counterpart here"),
        ("change for row_count < 5", "", "no counterpart"),
        ("row_count", "", "nothing says what its number must be"),
        ("schema", "fail:\n  when required column missing: [a]", "'when'"),
    ],
)  # fmt: skip
def test_what_soda_asks_beyond_that_is_not_checked(check: str, below: str, reason: str) -> None:
    """A check without an exact counterpart is listed with the reason and with its text."""
    dataset = soda(check, below)
    assert dataset.expectations == ()
    assert reason in dataset.not_checked[0].reason
    assert check.split("(")[0].split(" >")[0] in dataset.not_checked[0].reason


def test_checks_for_another_table_are_not_checked() -> None:
    """Checks that Soda would run on another table are no promise about this one."""
    dataset = rules("- {type: custom, engine: soda, implementation: 'checks for u: [row_count > 1]'}")
    assert "it checks 'u', not 't'" in dataset.not_checked[0].reason


def test_one_rule_may_hold_several_promises() -> None:
    """Every check of a list is a check here, with names of its own; what cannot be translated is a reason."""
    checks = "[row_count > 1, avg(a) > 1, avg(a) < 9, what(b)]"
    dataset = rules(f"- {{id: r, type: custom, engine: soda, implementation: 'checks for t: {checks}'}}")
    ids = [one.id for one in dataset.expectations]
    assert len(set(ids)) == len(ids) == 3
    assert all(str(one).startswith("r_") for one in ids)
    assert len(dataset.not_checked) == 1


@pytest.mark.parametrize(
    ("kind", "arguments", "metric", "thresholds"),
    [
        ("expect_table_row_count_to_be_between", {"minValue": 1, "maxValue": 9}, RowCount(),
         (Threshold("mustBeGreaterOrEqualTo", 1), Threshold("mustBeLessOrEqualTo", 9))),
        ("expect_column_value_lengths_to_equal", {"column": "b", "value": 1}, Violations(B, Length(1, 1)), NONE),
        ("expect_column_max_to_be_between", {"column": "a", "max_value": 9, "strict_max": True}, Aggregate("max", A),
         (Threshold("mustBeLessThan", 9),)),
        ("expect_compound_columns_to_be_unique",
         {"column_list": ["a", "b"], "ignore_row_if": "any_value_is_missing"}, DuplicateKeys((A, B)), NONE),
    ],
)  # fmt: skip
def test_expectations_become_metrics(kind: str, arguments: Any, metric: Any, thresholds: Any) -> None:
    """An expectation that has an exact counterpart is that metric with that threshold."""
    one = only(expect(kind, **arguments))
    assert (one.metric, limits(one)) == (metric, thresholds)


def test_an_expectation_at_a_property_is_about_its_column() -> None:
    """An expectation that names no column is about the one it stands at."""
    payload = "{type: expect_column_values_to_not_be_null, meta: {notes: x}}"
    text = f"- {{name: a, quality: [{{type: custom, engine: great-expectations, implementation: {payload}}}]}}"
    assert only(contract_of(odcs(text)).datasets[0]).metric == Violations(A, NotNull())


def test_a_key_with_null_that_counts_is_not_checked() -> None:
    """Great Expectations counts a key with one NULL as a key, which no metric here does."""
    dataset = expect("expect_compound_columns_to_be_unique", column_list=["a", "b"])
    assert dataset.expectations == ()


def at_least(payload: Any, dataset: Dataset, column: FieldPath | None) -> Promise | str:
    """An engine of a user: `{at least: 3}`."""
    if "at least" not in payload:
        return f"{dataset.name} is not asked for anything"
    return Promise(RowCount(), Thresholds((Threshold("mustBeGreaterOrEqualTo", payload["at least"]),)), "rows")


def breaks(payload: Any, dataset: Dataset, column: FieldPath | None) -> Promise:
    """An engine with a defect."""
    raise KeyError(payload)


OWN = '[{"type": "custom", "engine": "acme-rules", "implementation": {"at least": 3}}]'


def test_users_add_engines(put: Put) -> None:
    """A rule for an engine that a user gives is checked, whatever the case and hyphens of its name."""
    contract = read(parse_document(odcs("[{name: a}]", OWN)), engines={"AcmeRules": at_least})
    report = check_contract(contract, source=put("duckdb", "SELECT unnest([1, 2]) AS a"))
    assert result(report, "rows").description == "2 rows, expected ≥ 3."


def test_an_engine_reaches_files(put: Put, tmp_path: Any) -> None:
    """`check_contract` and `load` hand the engines on to the reader of the file."""
    file = tmp_path / "t.odcs.yaml"
    file.write_text(odcs("[{name: a}]", OWN))
    assert len(load(file, engines={"acme rules": at_least}).datasets[0].expectations) == 1
    report = check_contract(file, source=put("duckdb", "SELECT 1 AS a"), engines={"acme_rules": at_least})
    assert result(report, "rows").status == "failed"


@pytest.mark.parametrize(
    ("engine", "reason"),
    [
        (at_least, "t is not asked for anything"),
        (breaks, "its translator failed: KeyError"),
        (lambda payload, dataset, column: None, "its translator gave NoneType"),
        (lambda payload, dataset, column: [], "found nothing to check"),
    ],
)
def test_an_engine_that_gives_no_promise_gives_a_reason(engine: Any, reason: str) -> None:
    """What a translator cannot do, or does wrong, is the reason why the rule is not checked."""
    text = odcs("[{name: a}]", '[{"type": "custom", "engine": "x", "implementation": {"what": 1}}]')
    dataset = read(parse_document(text), engines={"x": engine}).datasets[0]
    assert dataset.expectations == ()
    assert reason in dataset.not_checked[0].reason


def test_a_users_engine_goes_before_ours() -> None:
    """A translator for `soda` replaces the one that comes along."""
    assert find_engine("soda", {"Soda": at_least}) is at_least
    assert find_engine("acme", {}) is None


def test_a_contract_cannot_name_code() -> None:
    """An engine that looks like an import is only an unknown name."""
    dataset = rules("- {type: custom, engine: 'os:system', implementation: 'true'}")
    assert "'os:system' is not run here" in dataset.not_checked[0].reason


def test_an_operator_beside_a_payload_is_refused() -> None:
    """A custom rule with an operator of its own has no single meaning."""
    dataset = rules("- {type: custom, engine: soda, implementation: 'row_count > 1', mustBe: 1}")
    assert "no single meaning" in dataset.not_checked[0].reason


def test_numbers_in_a_reason_are_as_written() -> None:
    """A payload is shown with its numbers as the contract has them."""
    assert payload_text({"must_be": Decimal("1.50"), "columns": ["a"]}) == "{'must_be': 1.5, 'columns': ['a']}"
