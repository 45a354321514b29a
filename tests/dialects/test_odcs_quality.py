"""Quality rules of ODCS → metrics and thresholds, documentation, or a reason."""

from __future__ import annotations

from decimal import Decimal

import pytest
from odcs_text import column, contract, dataset, only, reason, rules

from contract_checks.dialects.odcs_variables import resolve_variables
from contract_checks.errors import ContractError
from contract_checks.metrics import (
    ITEMS,
    AllOf,
    Condition,
    DuplicateKeys,
    Matches,
    NotNull,
    NotOneOf,
    OneOf,
    Query,
    RowCount,
    Threshold,
    ValueCount,
    Violations,
)
from contract_checks.model import Expectation, Link, Thresholds


def of_column(rule: str, version: str = "v3.1.0") -> Expectation:
    """The one expectation of a column `a` with one rule."""
    return only(column(f"quality: [{rule}]", version))


def of_table(rule: str, version: str = "v3.1.0") -> Expectation:
    """The one expectation of a table with one rule."""
    return only(rules(f"- {rule}", version))


# --------------------------------------------------------------------------- the library


@pytest.mark.parametrize(
    ("rule", "condition"),
    [
        ("metric: nullValues", NotNull()),
        ("metric: missingValues", NotOneOf((None,))),
        ("metric: missingValues, arguments: {missingValues: [null, '', 'N/A', 0]}", NotOneOf((None, "", "N/A", 0))),
        ("metric: invalidValues, arguments: {validValues: [a, b]}", OneOf(("a", "b"))),
        ("metric: invalidValues, arguments: {validValues: [1.10, null, true]}", OneOf((Decimal("1.10"), True))),
        ("metric: invalidValues, arguments: {pattern: '^x'}", Matches("^x")),
        ("metric: invalidValues, arguments: {pattern: '^x', validValues: [x]}", AllOf((OneOf(("x",)), Matches("^x")))),
    ],
)
def test_metrics_of_a_property_count_values(rule: str, condition: Condition) -> None:
    """The metrics of a property count the values that break a condition."""
    found = of_column(f"{{{rule}, mustBeLessThan: 5}}")

    assert found.metric == Violations(("a",), condition)
    assert found.requirement == Thresholds((Threshold("mustBeLessThan", 5),))
    assert (found.rule, found.section, found.field) == (rule.split(",")[0].removeprefix("metric: "), "quality", ("a",))


def test_metrics_of_an_object() -> None:
    """An object counts its rows, and the keys that several properties make together."""
    rows = of_table("{metric: rowCount, mustBeGreaterThan: 9}")
    assert (rows.rule, rows.metric, rows.field) == ("rowCount", RowCount(), None)

    keys = of_table("{metric: duplicateValues, arguments: {properties: [a, b]}, mustBe: 0}")
    assert keys.metric == DuplicateKeys((("a",), ("b_1",)))


def test_duplicates_of_a_property() -> None:
    """`duplicateValues` of a property counts its recurring values, in percent of the rows if asked so."""
    found = of_column("{metric: duplicateValues, mustBeLessThan: 1, unit: percent}")

    assert found.metric == DuplicateKeys((("a",),))
    assert found.requirement == Thresholds((Threshold("mustBeLessThan", 1),), "percent", RowCount())


@pytest.mark.parametrize(
    ("rule", "name", "version"),
    [
        ("{type: library, rule: duplicateCount, mustBe: 0}", "duplicateValues", "v3.0.2"),
        ("{rule: validValues, validValues: [a]}", "invalidValues", "v3.0.2"),
        ("{rule: invalid, validValues: [a], mustBe: 0}", "invalidValues", "v3.0.0"),
        ("{rule: nullValues, mustBe: 0}", "nullValues", "v3.1.0"),
    ],
)
def test_old_words_mean_the_new_metrics(rule: str, name: str, version: str) -> None:
    """`rule` of 3.0 names a metric, under its old or its new name."""
    found = of_column(rule, version)

    assert found.rule == name
    assert found.requirement == Thresholds((Threshold("mustBe", 0),))


def test_arguments_on_the_rule_are_read_and_told() -> None:
    """An argument that was not indented is read all the same, with a warning."""
    made = contract(
        """
        schema:
          - name: t
            properties:
              - {name: a, quality: [{metric: invalidValues, arguments: {}, pattern: '^x', mustBe: 0}]}
        """
    )

    assert made.datasets[0].expectations[0].metric == Violations(("a",), Matches("^x"))
    assert [problem.message for problem in made.problems] == ["'pattern' belongs under 'arguments'"]


def test_rules_of_items_count_items() -> None:
    """A rule inside `items` is about every item, and percents are of all items."""
    found = only(
        dataset(
            """
            - name: a
              items:
                logicalType: integer
                quality: [{metric: nullValues, unit: percent, mustBeLessThan: 5}]
            """
        )
    )

    assert found.metric == Violations(("a", ITEMS), NotNull())
    assert found.requirement == Thresholds((Threshold("mustBeLessThan", 5),), "percent", ValueCount(("a", ITEMS)))


# --------------------------------------------------------------------------- operators


@pytest.mark.parametrize(
    ("text", "thresholds"),
    [
        ("mustBe: 0", (Threshold("mustBe", 0),)),
        ("mustNotBe: 0", (Threshold("mustNotBe", 0),)),
        ("mustBeGreaterThan: 0.5", (Threshold("mustBeGreaterThan", Decimal("0.5")),)),
        ("mustBeGreaterOrEqualTo: 1", (Threshold("mustBeGreaterOrEqualTo", 1),)),
        ("mustBeGreaterThanOrEqualTo: 1", (Threshold("mustBeGreaterOrEqualTo", 1),)),
        ("mustBeLessThan: 1", (Threshold("mustBeLessThan", 1),)),
        ("mustBeLessOrEqualTo: '1'", (Threshold("mustBeLessOrEqualTo", Decimal(1)),)),
        ("mustBeBetween: [1, 2]", (Threshold("mustBeBetween", (1, 2)),)),
        ("mustBeBetween: [2, 1]", (Threshold("mustBeBetween", (1, 2)),)),
        ("mustNotBeBetween: [1, 2]", (Threshold("mustNotBeBetween", (1, 2)),)),
        (
            "mustBeGreaterThan: 1, mustBeLessThan: 9, mustNotBe: 5",
            (Threshold("mustBeGreaterThan", 1), Threshold("mustBeLessThan", 9), Threshold("mustNotBe", 5)),
        ),
    ],
)
def test_every_operator_is_read_and_several_must_all_hold(text: str, thresholds: tuple[Threshold, ...]) -> None:
    """All operators of a rule are kept, in their order."""
    assert of_table(f"{{metric: rowCount, {text}}}").requirement == Thresholds(thresholds)


def test_equal_bounds_are_an_error() -> None:
    """Bounds that are equal leave a contract unusable."""
    with pytest.raises(ContractError, match="both bounds are 1"):
        rules("- {metric: rowCount, mustBeBetween: [1, 1.0]}")


@pytest.mark.parametrize(
    ("severity", "level"),
    [
        ("error", "error"), ("critical", "error"), ("high", "error"), ("", "error"),
        ("warning", "warning"), ("WARN", "warning"), ("info", "warning"), ("low", "warning"),
        ("minor", "warning"), ("trivial", "warning"),
    ],
)  # fmt: skip
def test_severity_is_error_unless_it_says_less(severity: str, level: str) -> None:
    """The words of lesser severities warn, every other one is an error."""
    assert of_table(f"{{metric: rowCount, mustBe: 1, severity: '{severity}'}}").severity == level


def test_what_a_rule_says_of_itself_reaches_the_expectation() -> None:
    """Id, name, description, dimension, tags, links, schedule, impact and method are kept."""
    found = only(
        rules(
            """
            - id: enough
              name: Enough rows
              description: There are enough.
              metric: rowCount
              mustBeGreaterThan: 0
              dimension: CP
              tags: [x]
              authoritativeDefinitions: [{type: wiki, url: https://example.org}]
              businessImpact: operational
              method: reconciliation
              scheduler: cron
              schedule: "0 20 * * *"
            """
        )
    )

    assert (found.id, found.name, found.description) == ("enough", "Enough rows", "There are enough.")
    assert (found.dimension, found.tags, found.links) == (
        "completeness",
        ("x",),
        (Link("https://example.org", "wiki"),),
    )
    assert found.schedule == "0 20 * * *"
    assert found.notes == ("Business impact: operational.", "Method: reconciliation.")


def test_a_schedule_that_is_no_cron_is_told_and_not_used() -> None:
    """An invalid cron leaves the rule without a schedule of its own, and says so."""
    found = of_table("{metric: rowCount, mustBe: 1, scheduler: cron, schedule: 0 30 * * *}")

    assert found.schedule is None
    assert found.notes == ("Its schedule is not used: '30' in '0 30 * * *' is no hour; it goes from 0 to 23.",)


# --------------------------------------------------------------------------- other types


def test_sql_keeps_its_placeholders() -> None:
    """A query is kept as written, with its placeholders and the braces of regular expressions."""
    query = r"SELECT count(*) FROM {object} WHERE ${column} ~ '^\\d{4}$' AND {property} <> '{1,3}'"

    found = of_column(f'{{type: sql, query: "{query}", mustBe: 0}}')

    assert found.rule == "sql"
    assert found.metric == Query(query.replace("\\\\", "\\"), ("a",))
    assert found.requirement == Thresholds((Threshold("mustBe", 0),))


@pytest.mark.parametrize(
    ("operator", "threshold"),
    [
        ("", Threshold("mustBe", True)),
        (", mustBe: true", Threshold("mustBe", True)),
        (", mustBe: ok", Threshold("mustBe", "ok")),
        (", mustNotBe: 1.5", Threshold("mustNotBe", Decimal("1.5"))),
    ],
)
def test_a_query_may_answer_anything(operator: str, threshold: Threshold) -> None:
    """A query without an operator answers true; `mustBe` of a query takes any single value."""
    assert of_table(f"{{type: sql, query: SELECT 1{operator}}}").requirement == Thresholds((threshold,))


@pytest.mark.parametrize(
    ("rule", "kind"), [("query: SELECT 1, mustBe: 1", "sql"), ("type: library, query: SELECT 1, mustBe: 1", "sql")]
)
def test_a_query_makes_a_rule_sql(rule: str, kind: str) -> None:
    """A rule with a query but no metric is of type sql, whatever it forgot to say."""
    assert of_table(f"{{{rule}}}").rule == kind


def test_variables_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """`${VAR}` is resolved, `${VAR:-default}` when unset or empty, and placeholders are left alone."""
    monkeypatch.setenv("SALES_SCHEMA", "sales")
    monkeypatch.setenv("EMPTY", "")

    text = "${SALES_SCHEMA}.${EMPTY:-orders} ${object} ${table} {4} $1 ${DEFAULT:-}"

    assert resolve_variables(text) == ("sales.orders ${object} ${table} {4} $1 ", "")


@pytest.mark.parametrize("name", ["DB_PASSWORD", "API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PGPASSWORD"])
def test_secrets_are_never_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that sounds like a secret is not read even when it is set."""
    monkeypatch.setenv(name, "hunter2")

    text, why = resolve_variables(f"SELECT '${{{name}}}'")

    assert "hunter2" not in text
    assert "looks like a secret" in why


def test_text_is_documentation() -> None:
    """A rule of type text, or one that is only described, is shown."""
    found = rules("- {type: text, name: Rule, description: Be good.}\n- {description: Be kind.}")

    assert (found.expectations, found.not_checked) == ((), ())
    assert [(one.title, one.text) for one in found.documented] == [("Rule", "Be good."), ("Quality", "Be kind.")]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("{metric: rowCount, mustBe: 5, unit: percent}", "a row count in percent needs an earlier count"),
        ("{metric: rowCount, mustBe: 5, unit: '%', arguments: {period: 24, unit: h}}", "needs an earlier count"),
        ("{metric: rowCount}", "the rule has no operator"),
        ("{metric: nullValues, mustBe: 0}", "nullValues belongs to a property"),
        ("{metric: between, mustBe: 0}", "'between' is no metric of the standard"),
        ("{metric: rowCount, mustBe: many}", "'mustBe' is a number, not 'many'"),
        ("{metric: rowCount, mustBe: true}", "'mustBe' is a number, not 'true'"),
        ("{metric: rowCount, mustBeBetween: 5}", "'mustBeBetween' is a list of two numbers"),
        ("{metric: rowCount, mustBe: 1, mustBeLesThan: 5}", "is no operator; did you mean 'mustBeLessThan'?"),
        ("{metric: rowCount, mustBe: 1, unit: rows, arguments: {filter: x}}", "rowCount has no argument 'filter'"),
        ("{metric: duplicateValues, mustBe: 0}", "duplicateValues of an object names no properties"),
        ("{type: custom, engine: dqx, implementation: 'rows > 0'}", "'dqx' is not run here; it was asked: rows > 0"),
        ("{engine: dqx, implementation: {check: {function: is_not_null}}}", "the engine 'dqx' is not run here"),
        ("{type: reconciliation, mustBe: 1}", "rules of type 'reconciliation' are not known to the standard"),
        ("{type: sql, mustBe: 1}", "the rule has no query"),
        ("{mustBe: 1}", "the rule names no metric"),
        ("{}", "the rule names no metric"),
        ("{type: text}", "the rule says nothing"),
    ],
)  # fmt: skip
def test_a_rule_that_is_not_checked_says_why(rule: str, why: str) -> None:
    """A rule that cannot be evaluated is listed with its reason, whatever else the list holds."""
    assert why in reason(rules(f"- {rule}"))


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("{metric: rowCount, mustBe: 1}", "rowCount belongs to an object"),
        ("{metric: invalidValues, mustBe: 0}", "the rule does not say which values are valid"),
        ("{metric: nullValues, mustBe: 0, unit: bananas}", "the unit 'bananas' is not known"),
        ("{metric: duplicateValues, mustBe: 0, arguments: {properties: [b]}}", "belongs to an object"),
        ("{metric: invalidValues, arguments: {validValues: [[1]]}}", "'validValues' lists something else"),
    ],
)
def test_a_rule_of_a_property_that_is_not_checked_says_why(rule: str, why: str) -> None:
    """What makes no sense for a property is listed with its reason."""
    assert why in reason(column(f"quality: [{rule}]"))
