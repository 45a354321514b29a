"""The document layer: YAML by the rules of 1.2, told with lines, and safe against hostile files."""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path

import pytest

from contract_checks.dialects.document import MAX_BYTES, json_path, parse_document, read_document
from contract_checks.errors import ContractError

EXAMPLES = Path(__file__).parents[1] / "examples"
INVALID = sorted((EXAMPLES / "invalid" / "document").iterdir())


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_file_is_told_with_its_lines(path: Path) -> None:
    """Every problem of a broken file is reported, each with its line, and no other."""
    expected = [line[2:] for line in path.read_text().splitlines() if line.startswith("# error: line ")]

    with pytest.raises(ContractError) as caught:
        read_document(path)

    found = caught.value.problems
    assert expected == [f"{problem.level}: line {problem.location.line}: {problem.message}" for problem in found]


def test_nothing_is_a_date_a_country_or_a_sexagesimal() -> None:
    """Dates, `NO`, `on` and `10:00` stay text, and a decimal keeps its digits."""
    data = read_document(EXAMPLES / "valid" / "document" / "dates_and_countries_stay_text.yaml").data

    assert data == {
        "date": "2022-08-02",
        "moment": "2022-08-02T09:30:10-08:00",
        "time": "10:00",
        "country": "NO",
        "switch": "on",
        "grouped": "1_000",
        "number": 10,
        "decimal": Decimal("1.10"),
        "truth": True,
    }
    assert isinstance(data, dict)
    assert str(data["decimal"]) == "1.10"


def test_merged_mappings_lose_to_own_keys_and_chain() -> None:
    """`<<` brings in the keys of other mappings, also of those they merge, and own keys win."""
    data = read_document(EXAMPLES / "valid" / "document" / "merged_mappings.yaml").data

    assert isinstance(data, dict)
    assert data["production"] == {"port": 6432, "host": "test.example.org", "type": "postgres", "schema": "sales"}


def test_json_is_read_with_tabs_and_escapes() -> None:
    """JSON may indent with tabs, escape a slash and spell an emoji as two surrogates."""
    data = read_document(EXAMPLES / "valid" / "document" / "json_with_tabs.json").data

    assert data == {"emoji": "🚀", "path": "a/b", "backslash": "\\ud83d\\ude80"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1F", 31),
        ("0o17", 15),
        ("+5", 5),
        (".5", Decimal("0.5")),
        ("1e3", Decimal(1000)),
        ("18014398509481985", 18014398509481985),
        ("9" * 900, int("9" * 900)),
        ("-.inf", float("-inf")),
        ("~", None),
        ("", None),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("!!timestamp 2024-01-01", "2024-01-01"),
    ],
)
def test_scalars_are_exact(text: str, value: object) -> None:
    """Numbers are read exactly and quoted ones stay text."""
    data = parse_document(f"value: {text}").data

    assert data == {"value": value}
    assert isinstance(data, dict)
    assert type(data["value"]) is type(value)


def test_a_large_file_is_refused_by_its_size(tmp_path: Path) -> None:
    """A file of 100 MB is refused without being read."""
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    started = time.monotonic()

    with pytest.raises(ContractError, match="100,000,000 bytes; a contract may have 5,000,000 at most"):
        read_document(path)

    assert time.monotonic() - started < 0.5


def test_text_is_limited_like_a_file() -> None:
    """A text that is longer than a file may be is refused."""
    with pytest.raises(ContractError, match="characters"):
        parse_document("a" * (MAX_BYTES + 1))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{a: " * 50_000, "- " * 50_000, "\n".join(" " * i + "a:" for i in range(2000))]
)
def test_deep_nesting_is_refused(text: str) -> None:
    """Nesting of any depth is refused, and neither crashes nor takes long."""
    with pytest.raises(ContractError):
        parse_document(text)


@pytest.mark.parametrize(("content", "said"), [(b"\xff\xfe", "not UTF-8 text"), (b"a: \x00", "not valid YAML")])
def test_bytes_that_are_no_text_are_told(content: bytes, said: str, tmp_path: Path) -> None:
    """A file that is not text in UTF-8 is refused with a sentence of one line."""
    path = tmp_path / "bytes.yaml"
    path.write_bytes(content)

    with pytest.raises(ContractError, match=said) as caught:
        read_document(path)

    assert "\n" not in caught.value.problems[0].message


def test_an_absent_file_is_a_problem(tmp_path: Path) -> None:
    """A file that is not there is told like every other problem."""
    with pytest.raises(ContractError, match="No such file"):
        read_document(tmp_path / "absent.yaml")


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    """The mark that some editors write first is left out."""
    path = tmp_path / "marked.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: orders\n")

    assert read_document(path).data == {"name": "orders"}


def test_every_value_knows_its_line() -> None:
    """The line of a value is that of its key, an absent value has its parent's."""
    document = parse_document("a:\n  - b: 1\n    c:\n      d: 2\n", "file.yaml")

    assert str(document.location("a", 0, "c", "d")) == "file.yaml:4 $.a[0].c.d"
    assert str(document.location("a", 0, "x", "y")) == "file.yaml:2 $.a[0].x.y"
    assert [path for path, _ in document.leaves()] == [("a", 0, "b"), ("a", 0, "c", "d")]


def test_a_path_quotes_what_is_no_name() -> None:
    """A key that is not a plain name is quoted in a JSONPath."""
    assert json_path(("schema", 0, "a b", "it's")) == "$.schema[0]['a b']['it\\'s']"


def test_the_digest_changes_with_the_text() -> None:
    """Two texts have two digests, one text always the same."""
    assert parse_document("a: 1").digest == parse_document("a: 1").digest
    assert parse_document("a: 1").digest != parse_document("a: 2").digest


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("rules:\n- {query: SELECT COUNT(*) FROM {object}, mustBe: 0}\n", "a value with { } [ ] or a comma"),
        ("- {path: data/{model}.csv, format: csv}\n", "a value with { } [ ] or a comma"),
        ("rules: [1\nmore: 2\n", ""),
        ("description: note: this\n", "a value with ': ' in it belongs in quotes"),
        ("owner: @sales\n", "belongs in quotes"),
        ('pattern: "\\d+"\n', "a backslash is written twice"),
        ("pattern: *.csv\n", "a value that begins with '*' belongs in quotes"),
        ("a:\n\tb: 1\n", "a tab cannot indent"),
    ],
)
def test_a_slip_of_yaml_says_what_would_be_right(text: str, hint: str) -> None:
    """The commonest mistakes of YAML come with what to write instead."""
    with pytest.raises(ContractError) as raised:
        parse_document(text, "a.yaml")

    assert len(raised.value.problems) == 1
    found = raised.value.problems[0].hint
    assert hint in found
    assert bool(hint) == bool(found)
