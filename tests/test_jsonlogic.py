"""JSON Logic: the public suite, OpenMetadata's verdicts, where the two dialects part, and what no rule may do."""

from __future__ import annotations

import copy
import json
import math
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import json_logic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract_checks import jsonlogic
from contract_checks.jsonlogic import (
    LANGUAGES,
    ArgumentError,
    Dialect,
    JsonLogicError,
    LimitError,
    LookupNeededError,
    RuleError,
    UnknownOperatorError,
    diagnose,
    engine,
    evaluate,
    operators,
    parse,
    reads,
    variables,
)
from contract_checks.jsonlogic.engine import Run, Scope, guarded, library_walker, own_walker
from contract_checks.jsonlogic.values import java_double_text, java_number, js_number, js_number_text

CORPUS = Path(__file__).parents[1].parent / "shared" / "corpus" / "jsonlogic"
DIALECTS: tuple[Dialect, ...] = ("openmetadata", "jsonlogic")


class _Error:
    def __repr__(self) -> str:
        return "error"


ERROR = _Error()

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not beside the checkout")


def corpus(name: str) -> Any:
    """A file of the corpus, or nothing where it is absent."""
    file = CORPUS / name
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"rules": []}


SUITE = [case for case in corpus("tests.json") if isinstance(case, list)]
VERDICTS = corpus("om_rules.json")["rules"]


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same: a Boolean is no number, 1 is 1.0."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b)


def outcome(rule: Any, data: Any = None, dialect: Dialect = "openmetadata") -> Any:
    """The value of a rule, or `ERROR`."""
    try:
        return evaluate(rule, data, dialect)
    except JsonLogicError:
        return ERROR


class People:
    """A directory that knows what a test tells it."""

    def __init__(self, teams: dict[str, list[str]] | None = None, domains: dict[str, list[str]] | None = None) -> None:
        self.teams, self.domains = teams or {}, domains or {}

    def teams_of(self, user: str) -> Collection[str]:
        """The ids of the teams of a user."""
        return self.teams.get(user, [])

    def domains_of(self, data_product: str) -> Collection[str]:
        """The names of the domains of a data product."""
        return self.domains[data_product]


# --------------------------------------------------------------------------- the two references


@needs_corpus
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_public_suite_holds_in_both_dialects(dialect: Dialect) -> None:
    """Every case of jsonlogic.com's suite gives its value, whichever dialect is asked."""
    wrong = [case for case in SUITE if not same(outcome(case[0], case[1], dialect), case[2])]
    assert not wrong
    assert len(SUITE) == 278


@needs_corpus
@pytest.mark.parametrize("rule", VERDICTS, ids=lambda rule: rule["id"])
def test_openmetadatas_verdicts_are_given(rule: dict[str, Any]) -> None:
    """A rule of OpenMetadata passes, fails or breaks on each asset as it does there."""
    lookup = rule.get("lookup")
    directory = People(domains=lookup["dataProductDomains"]) if lookup else None
    for case in rule["cases"]:
        try:
            value = evaluate(rule["rule"], case["entity"], directory=directory)
        except JsonLogicError as error:
            value = error
        assert (value is True) is case["expected"], f"{rule['rule']} of {case['entity']} gives {value!r}"
        assert isinstance(value, JsonLogicError) is ("java_error" in case and not lookup), repr(value)


QUIRKS: list[tuple[Any, Any, Any, Any]] = [
    # rule, data, value in JavaScript, value in Java
    ({"==": [{"var": "x"}, False]}, {}, False, False),
    ({"!=": [{"var": "x"}, False]}, {}, True, True),
    ({"==": [5, "5.0"]}, None, True, True),
    ({"==": [0, ""]}, None, True, True),
    ({"==": [1, True]}, None, True, True),
    ({"==": ["abc", True]}, None, False, True),
    ({"!!": {"var": "x"}}, {"x": {}}, True, True),
    ({"var": "owners.0.name"}, {"owners": []}, None, None),
    ({"var": ["owners.-1.x", "d"]}, {"owners": [{"x": 1}]}, "d", "d"),
    ({"var": "owners.name"}, {"owners": [{"name": 1}]}, None, ERROR),
    ({"var": "owners.length"}, {"owners": [1, 2]}, 2, ERROR),
    ({">": ["orders", 1]}, None, False, False),
    ({"<": ["2024-01-01", "2024-06-01"]}, None, True, False),
    ({"<=": ["2024-01-01", "2024-06-01", "2024-12-31"]}, None, True, False),
    ({"<": [{"var": "x"}, 1]}, {}, True, False),
    ({">": [3, 2, 1]}, None, True, ERROR),
    ({"in": [None, "a null"]}, None, True, False),
    ({"in": [1, "1.0"]}, None, True, True),
    ({"in": [1, "12"]}, None, True, False),
    ({"in": ["k", {"var": "x"}]}, {"x": {"k": 1}}, False, False),
    ({"in": [True, {"var": "x"}]}, {"x": [1]}, False, False),
    ({"some": [{"var": "x"}, {"==": [{"var": ""}, 0]}]}, {"x": [0, 1]}, True, True),
    ({"!!": [["", "a"]]}, None, True, False),
    ({"missing": ["x"]}, {"x": ""}, ["x"], []),
    ({"missing": ["x"]}, {"x": {"y": 1}}, [], ["x"]),
    ({"var": ["x", "d"]}, {"x": None}, None, "d"),
    ({"filter": [{"var": "x"}, True]}, {}, [], ERROR),
    ({"map": [{"var": "x"}, True]}, {}, [], []),
    ({"none": [{"var": "x"}, True]}, {"x": "text"}, True, ERROR),
    ({"none": [{"var": "x"}, True]}, {}, True, True),
    ({"all": [{"var": "x"}, True]}, {}, False, False),
    ({"%": [5, 0]}, None, math.nan, math.nan),
    ({"/": [1, 0]}, None, math.inf, math.inf),
    ({"%": [-5, 3]}, None, -2, -2),
    ({"+": ["abc", 1]}, None, math.nan, None),
    ({"+": ["abc"]}, None, math.nan, ERROR),
    ({"cat": [{"var": "x"}]}, {}, "", ERROR),
    ({"cat": [True, 1.0, 0.5]}, None, "true10.5", "true10.5"),
    ({"cat": [{"var": "x"}]}, {"x": 1764441600000}, "1764441600000", "1.7644416E12"),
    ({"substr": [{"var": "x"}, 0, 2]}, {}, "nu", ERROR),
    ({"substr": ["abc", 1, 9]}, None, "bc", ""),
    ({"substr": ["abc", 9]}, None, "", ERROR),
    ({"==": [[1], [1]]}, None, False, False),
    ({"==": [[], []]}, None, False, True),
    ({"-": ["1"]}, None, -1, 1),
    ({"and": []}, None, None, ERROR),
    ({"var": 1}, ["a", "b"], "b", "b"),
    ({"a": 1, "b": 2}, None, {"a": 1, "b": 2}, ERROR),
    ({"===": [[1], {"var": "x"}]}, {"x": [1]}, False, False),
    ({"===": [{"var": "x"}, {"var": "x"}]}, {"x": [1]}, True, True),
]


@pytest.mark.parametrize(("rule", "data", "javascript", "java"), QUIRKS, ids=lambda part: json.dumps(part, default=str))
def test_each_dialect_has_the_quirks_of_its_reference(rule: Any, data: Any, javascript: Any, java: Any) -> None:
    """Where the reference implementations part, each dialect goes with its own."""
    for dialect, expected in (("jsonlogic", javascript), ("openmetadata", java)):
        value = outcome(rule, data, dialect)  # type: ignore[arg-type]
        if isinstance(expected, float) and math.isnan(expected):
            assert math.isnan(value)
        else:
            assert value is ERROR if expected is ERROR else same(value, expected), (dialect, value)


@pytest.mark.parametrize(
    ("number", "java", "javascript"),
    [
        (1.0, "1.0", "1"),
        (0.1, "0.1", "0.1"),
        (9999999.0, "9999999.0", "9999999"),
        (1e7, "1.0E7", "10000000"),
        (12345678.5, "1.23456785E7", "12345678.5"),
        (1e-3, "0.001", "0.001"),
        (1e-4, "1.0E-4", "0.0001"),
        (1.5e-7, "1.5E-7", "1.5e-7"),
        (1e21, "1.0E21", "1e+21"),
        (-0.0, "-0.0", "0"),
        (math.inf, "Infinity", "Infinity"),
    ],
)
def test_numbers_print_as_java_and_javascript_print_them(number: float, java: str, javascript: str) -> None:
    """A number becomes the text that each reference makes of it."""
    assert (java_double_text(number), js_number_text(number)) == (java, javascript)


@pytest.mark.parametrize(
    ("text", "java", "javascript"),
    [
        (" 12 ", 12, 12),
        ("", None, 0),
        ("1f", 1, math.nan),
        ("0x10", None, 16),
        ("0x1p3", 8, math.nan),
        ("1e3", 1000, 1000),
        (".5", 0.5, 0.5),
        ("1_000", None, math.nan),
        ("٣", None, math.nan),
        ("\u00a01", None, 1),
        ("-Infinity", -math.inf, -math.inf),
        ("1e999", math.inf, math.inf),
    ],
)
def test_texts_are_read_as_java_and_javascript_read_them(text: str, java: float | None, javascript: float) -> None:
    """A text becomes the number that each reference makes of it, or none."""
    assert java_number(text) == java
    assert js_number(text) == javascript or math.isnan(javascript)


# --------------------------------------------------------------------------- OpenMetadata's own operators

USER = {"id": "u1", "type": "user", "name": "alice"}
TEAM = {"id": "t1", "type": "team", "name": "data"}


@pytest.mark.parametrize(
    ("rule", "data", "expected"),
    [
        ({"length": {"var": "owners"}}, {"owners": [USER, TEAM]}, 2),
        ({"length": {"var": "owners"}}, {"owners": []}, 0),
        ({"length": {"var": "owners"}}, {}, 1),
        ({"length": {"var": "name"}}, {"name": "orders"}, 1),
        ({"isOwner": {"var": "updatedBy"}}, {"owners": [USER], "updatedBy": "alice"}, True),
        ({"isOwner": {"var": "updatedBy"}}, {"owners": [USER], "updatedBy": "bob"}, False),
        ({"isOwner": {"var": "updatedBy"}}, {"updatedBy": "alice"}, False),
        ({"isOwner": {"var": "updatedBy"}}, {"owners": [USER]}, False),
        ({"isReviewer": {"var": "updatedBy"}}, {"reviewers": [USER], "updatedBy": "alice"}, True),
        ({"isReviewer": [1, 2]}, {}, False),
        ({"contains": ["a", {"var": "x"}]}, {"x": ["a", "b"]}, True),
        ({"contains": [{"var": "x"}, ["b", "c"]]}, {"x": ["a", "b"]}, True),
        ({"contains": ["a", {"var": "x"}]}, {}, False),
        ({"multipleUsersOrSingleTeamOwnership": {"var": "owners"}}, {"owners": [USER, USER]}, True),
        ({"multipleUsersOrSingleTeamOwnership": {"var": "owners"}}, {"owners": [TEAM]}, True),
        ({"multipleUsersOrSingleTeamOwnership": {"var": "owners"}}, {"owners": [TEAM, TEAM]}, False),
        ({"multipleUsersOrSingleTeamOwnership": {"var": "owners"}}, {"owners": [TEAM, USER]}, False),
        ({"multipleUsersOrSingleTeamOwnership": {"var": "owners"}}, {}, True),
        ({"filterReferenceByType": [{"var": "owners"}, "team"]}, {"owners": [TEAM, USER]}, [TEAM]),
        ({"filterReferenceByType": [{"var": "owners"}, "team"]}, {}, []),
        ({"filterReferenceByType": []}, {}, False),
        ({"filterTagsBySource": [{"var": "tags"}, "Glossary"]}, {"tags": [{"source": "Classification"}]}, []),
        ({"filterTagsBySource": [{"var": "tags"}, "Glossary"]}, {"tags": [{"name": "a"}]}, ERROR),
        ({"validateDataProductDomainMatch": [{"var": "dataProducts"}, {"var": "domains"}]}, {}, True),
        ({"tableColumnValues": "e.rows.name"}, {"e": {"rows": [{"name": "a"}, {"name": "b"}, {}]}}, ["a", "b"]),
        ({"tableColumnValues": "e.rows.1.name"}, {"e": {"rows": [{"name": "a"}, {"name": "b"}]}}, ["b"]),
        ({"tableColumnValues": "nope"}, {}, []),
        ({"isUpdatedBefore": 5}, {"updatedAt": 4}, True),
        ({"isUpdatedAfter": 5}, {"updatedAt": 5}, False),
        ({"isUpdatedAfter": 5}, {}, False),
        ({"isUpdatedAfter": "x"}, {"updatedAt": 5}, ERROR),
        ({"fieldCompleteness": ["a", "b"]}, {"a": "x", "b": ""}, 50),
        ({"isChanged": {"var": "reviewers"}}, {"reviewers": []}, ERROR),
        ({"size": {"var": "owners"}}, {"owners": []}, ERROR),
    ],
    ids=lambda part: json.dumps(part, default=str)[:60],
)
def test_openmetadatas_operators_are_there(rule: Any, data: Any, expected: Any) -> None:
    """Every operator that OpenMetadata adds gives what it gives there."""
    value = outcome(rule, data)
    assert value is ERROR if expected is ERROR else same(value, expected), value


def test_team_membership_is_asked_for_and_never_guessed() -> None:
    """Whether a user owns through a team is known to a directory only; without one the rule has no verdict."""
    rule, data = {"isOwner": {"var": "updatedBy"}}, {"owners": [TEAM], "updatedBy": "alice"}
    with pytest.raises(LookupNeededError, match="whether 'alice' belongs to the team data"):
        evaluate(rule, data)
    assert evaluate(rule, data, directory=People(teams={"alice": ["t1"]})) is True
    assert evaluate(rule, data, directory=People(teams={"alice": ["t2"]})) is False


def test_the_public_language_has_none_of_openmetadatas_operators() -> None:
    """The dialect `jsonlogic` is the language of jsonlogic.com and no more."""
    assert operators("openmetadata") - operators("jsonlogic") >= {"length", "isOwner", "contains", "tableColumnValues"}
    with pytest.raises(UnknownOperatorError, match="'length'"):
        evaluate({"length": [1]}, None, "jsonlogic")


# --------------------------------------------------------------------------- what no rule may do


def nested(operator: str, times: int) -> Any:
    """`operator` over 30 items within itself."""
    rule: Any = {"var": ""}
    for _ in range(times):
        rule = {operator: [list(range(30)), rule]}
    return rule


def deep(times: int) -> Any:
    """A rule of so many negations."""
    rule: Any = True
    for _ in range(times):
        rule = {"!": [rule]}
    return rule


def doubled(logic: Callable[[Any], Any], start: Any, times: int = 40) -> Any:
    """A value that is put together with itself again and again."""
    return {"reduce": [list(range(times)), logic({"var": "accumulator"}), start]}


BOMBS = {
    "text doubles": doubled(lambda value: {"cat": [value, value]}, "ten signs!"),
    "list doubles": doubled(lambda value: {"merge": [value, value]}, [1, 2]),
    "list of lists doubles": doubled(lambda value: [value, value], 1),
    "list of lists printed": {"cat": [doubled(lambda value: [value, value], 1), "x"]},
    "list in list": doubled(lambda value: [value], 1, 50_000),
    "maps in maps": nested("map", 6),
    "filters in filters": nested("filter", 6),
    "every item in a long text": {"map": [list(range(99_999)), {"in": ["zz", {"var": "text"}]}]},
    "every item in a long list": {"map": [{"var": "list"}, {"in": [{"var": ""}, list(range(99_999))]}]},
    "ten thousand deep": deep(10_000),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_in_a_clear_error(name: str, dialect: Dialect) -> None:
    """A rule that would take for ever or fill the memory is stopped within a second, and told why."""
    data = {"text": "a" * 1_000_000, "list": list(range(99_999))}
    started = time.thread_time()
    with pytest.raises(LimitError, match="more than"):
        evaluate(BOMBS[name], data, dialect)
    assert time.thread_time() - started < 1


def test_squaring_ends_at_infinity() -> None:
    """Numbers are doubles: they end at infinity, and never become long."""
    rule = doubled(lambda value: {"*": [value, value]}, 3)
    assert [evaluate(rule, None, dialect) for dialect in DIALECTS] == [math.inf, math.inf]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("operator", ["method", "count", "m.sqrt", "__class__", "if.x", "", "0"])
def test_nothing_but_the_operators_of_the_dialect_can_be_called(operator: str, dialect: Dialect) -> None:
    """No method of a value, no attribute and no function outside of the tables can be reached from a rule."""
    with pytest.raises(UnknownOperatorError, match="no operator"):
        evaluate({operator: [{"var": "name"}, "upper"]}, {"name": "x"}, dialect)


def test_the_installed_library_is_left_alone() -> None:
    """The tables of json-logic-qubit are neither used nor changed: other users of it find it as it was."""
    before = dict(json_logic.operations)
    evaluate({"and": [{"length": [1]}, {"some": [[1], True]}]})
    assert json_logic.operations == before
    assert json_logic.jsonLogic({"method": ["x", "upper"]}) == "X"
    assert "length" not in json_logic.operations


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_changed_library_is_not_run(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not the one known is never executed; the walk of our own takes its place."""
    assert library_walker(LANGUAGES[dialect]) is not None
    monkeypatch.setattr(engine, "_DIGEST", "0" * 64)
    assert library_walker(LANGUAGES[dialect]) is None


@needs_corpus
@pytest.mark.parametrize("dialect", DIALECTS)
def test_both_walks_give_the_same(dialect: Dialect) -> None:
    """With the library and without it, every rule of the suite has the same value."""
    language = LANGUAGES[dialect]
    walk = guarded(language, own_walker(language))
    for rule, data, expected in SUITE:
        assert same(walk(rule, Scope(data, Run(walk))), expected), rule


def test_rules_are_evaluated_in_many_threads_at_once() -> None:
    """Evaluations share nothing: a hundred at once have their own data and their own verdicts."""
    rule = {"some": [{"var": "items"}, {"==": [{"var": ""}, 7]}]}
    verdicts: dict[int, Any] = {}

    def work(number: int) -> None:
        verdicts[number] = [evaluate(rule, {"items": [number, 99]}) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == {number: [number == 7] * 20 for number in range(100)}


# --------------------------------------------------------------------------- any rule on any data

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(["a", "b.0"])
JSON = st.recursive(
    SCALARS, lambda part: st.lists(part, max_size=4) | st.dictionaries(st.sampled_from("abc"), part, max_size=3)
)
OPERATORS = sorted(operators("openmetadata") | {"method", "count"})
RULES = st.recursive(
    SCALARS | st.builds(lambda path: {"var": path}, st.sampled_from(["", "a", "b", "a.b", "a.0", "accumulator"])),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.sampled_from(OPERATORS), part, min_size=1, max_size=1),
    max_leaves=25,
)


@settings(max_examples=400, deadline=None)
@given(rule=RULES | JSON, data=JSON, dialect=st.sampled_from(DIALECTS))
def test_any_rule_has_a_value_or_a_clear_error(rule: Any, data: Any, dialect: Dialect) -> None:
    """Evaluating raises `JsonLogicError` or nothing, ends, changes nothing, and gives JSON that is nobody else's."""
    before = copy.deepcopy((rule, data))
    value = outcome(rule, data, dialect)
    assert repr((rule, data)) == repr(before)
    assert repr(value) == repr(outcome(rule, data, dialect))
    if value is not ERROR:
        json.dumps(value)
    if isinstance(value, list):
        value.append("mine")
        assert repr((rule, data)) == repr(before)


@settings(max_examples=200, deadline=None)
@given(rule=RULES | JSON)
def test_any_rule_can_be_looked_at(rule: Any) -> None:
    """Reading a rule without data raises `JsonLogicError` or nothing."""
    variables(rule)
    with suppress(JsonLogicError):
        diagnose(rule)


@settings(max_examples=200, deadline=None)
@given(text=st.text() | st.text(alphabet='{}[]",:1e+-.\\u ntf', max_size=30))
def test_any_text_is_a_rule_or_a_clear_error(text: str) -> None:
    """Parsing raises `JsonLogicError` or nothing."""
    with suppress(JsonLogicError):
        parse(text)


# --------------------------------------------------------------------------- rules as text, and without data


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"==": [1, 1}', "it is not JSON: .*column 13"),
        ("{'==': [1, 1]}", "it is not JSON"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ('{"==": [NaN, 1]}', "NaN is no number"),
        ("9" * 5000, "a number has too many digits"),
        ("[" * 100_000, "nested"),
        ("", "it is not JSON"),
    ],
)
def test_a_text_that_is_no_rule_is_told_so(text: str, words: str) -> None:
    """What is not JSON, or says one thing twice, is refused with the place."""
    with pytest.raises(JsonLogicError, match=words):
        parse(text)


def test_errors_form_a_small_tree() -> None:
    """Whoever catches `JsonLogicError` catches everything that an evaluation raises."""
    kinds = (RuleError, UnknownOperatorError, ArgumentError, LimitError, LookupNeededError)
    assert all(issubclass(kind, JsonLogicError) for kind in kinds)
    with pytest.raises(JsonLogicError, match="no dialect 'java'"):
        evaluate(True, None, "java")  # type: ignore[arg-type]
    with pytest.raises(RuleError, match="holds a object"):
        evaluate(True, {"x": object()})


@pytest.mark.parametrize(
    ("rule", "findings"),
    [
        ({"some": [{"var": "owners"}, {"==": [{"var": "fullyQualifiedName"}, None]}]}, {"not-set"}),
        ({"and": [{"some": [{"var": "owners"}, {"==": [{"var": "fullyQualifiedName"}, None]}]}]}, {"not-set"}),
        ({"!": {"some": [{"var": "owners"}, {"!=": [{"var": "fullyQualifiedName"}, None]}]}}, set()),
        ({"<=": ["2024-01-01", {"var": "x"}, "2024-12-31T00:00:00.000Z"]}, {"date"}),
        ({"cat": ["a", "b"]}, {"never-boolean"}),
        ({"and": [{"var": "description"}]}, set()),
        ({"if": [{"var": "a"}, 1, 2]}, {"never-boolean"}),
        ({"if": [{"var": "a"}, True, 2]}, set()),
        ({"==": [{"size": {"var": "owners"}}, 1]}, {"unknown-operator"}),
        ({"isChanged": {"var": "x"}}, {"lookup"}),
        ({"==": [{"var": "owners.name"}, "x"]}, {"list-by-name"}),
        ({"==": [{"var": "owners.0.name"}, "x"]}, set()),
        ({"==": [{"var": "extension.owners.x"}, "x"]}, set()),
    ],
    ids=lambda part: json.dumps(part, default=str),
)
def test_a_rule_that_says_something_else_is_noticed(rule: Any, findings: set[str]) -> None:
    """What an author hardly meant is found without data."""
    assert {one.finding for one in diagnose(rule)} == findings


def test_the_paths_that_a_rule_reads_are_known() -> None:
    """What a rule reads of the asset is told in the order of the rule, and what it reads of items is not."""
    rule = {
        "and": [
            {"!!": {"var": "description"}},
            {"some": [{"var": "tags"}, {"==": [{"var": "tagFQN"}, "a"]}]},
            {"isOwner": {"var": ["updatedBy", "x"]}},
            {"==": [{"var": {"var": "computed"}}, {"var": "description"}]},
            {"missing": ["a", "b"]},
        ]
    }
    assert variables(rule) == ("description", "tags", "owners", "updatedBy", "computed", "a", "b")
    assert [(one.path, one.operator) for one in reads(rule)][1] == ("tags", "some")


def test_data_can_be_prepared_for_many_rules() -> None:
    """Data that is prepared once gives what it gives unprepared, and no rule changes it for the next."""
    data = {"n": 1, "l": [1, {"x": 2}]}
    prepared = jsonlogic.prepare(data)
    evaluate({"var": "l"}, prepared).append(3)
    assert evaluate({"var": "l"}, prepared) == evaluate({"var": "l"}, data) == [1, {"x": 2}]


def test_whole_numbers_come_out_whole() -> None:
    """A result shows 3 and not 3.0, at any depth, as JSON would."""
    assert json.dumps(evaluate({"map": [[1, 2.5], {"*": [{"var": ""}, 2]}]})) == "[2, 5]"
    assert jsonlogic.evaluate({"+": [0.1, 0.2]}) == pytest.approx(0.3)
