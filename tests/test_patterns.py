r"""ECMA-262 patterns: judged as they are, translated only where nothing shifts.

That a translation means the same is held by random patterns in `test_properties`; here stand the traps.
"""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from contract_checks.patterns import Plain, search, to_plain, to_postgres, to_re2


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^abc$", "abc\n", False),
        (".", "\n", False),
        (".", "\u2028", False),
        (r"^\d$", "١", False),
        (r"^\w$", "é", False),
        (r"^\s$", "\u00a0", True),
        ("(?=.*\\d)a", "a1", True),
        (r"^(a)\1$", "aa", True),
        ("A", "a", False),
        ("", "", True),
    ],
)
def test_a_pattern_is_searched_as_ecma_says(pattern: str, text: str, found: bool) -> None:
    r"""A search is not anchored, `.` ends at a line, `\d` and `\w` are ASCII, `\s` is Unicode."""
    assert search(pattern, text) is found


@pytest.mark.parametrize("pattern", ["(", "*a", "a**", "[b-a]", "(?<n>a)(?<n>b)"])
def test_a_bad_pattern_is_said_to_be_one(pattern: str) -> None:
    """A text that is no pattern is refused with the engine's words, and never translated."""
    with pytest.raises(ValueError, match="not an ECMA-262 regular expression"):
        search(pattern, "")
    assert to_re2(pattern) is None
    assert to_postgres(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)", "(?!a)", "(?<=a)b", r"(a)\1", r"\B", r"[\D]", "$a", "a^", r"\u{61}", "a{2000}", r"\cA", "[^]", "[]"],
)
def test_what_has_no_exact_counterpart_is_not_translated(pattern: str) -> None:
    """Lookaround, backreferences and odd anchors are left to the ECMA engine."""
    assert to_re2(pattern) is None
    assert to_postgres(pattern) is None


def test_word_boundaries_are_left_to_the_ecma_engine_on_postgres() -> None:
    r"""PostgreSQL's `\y` knows letters that ECMA's `\b` does not."""
    assert to_postgres(r"\ba") is None
    assert to_re2(r"\ba") == r"\ba"


def test_repeats_are_translated_up_to_the_limit_of_the_engine() -> None:
    """PostgreSQL repeats 255 times at most, RE2 1,000 times."""
    assert to_re2("a{1000}") == "a{1000}"
    assert to_postgres("a{255}") == "a{255}"
    assert to_postgres("a{256}") is None


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("^[!^-z]$", "a", "-"),
        ("^[a[-z]$", "b", "-"),
        (r"^[\d-x]$", "-", "a"),
        (r"^[\\d-x]$", "e", "-"),
        ("^[a-c-e]$", "-", "d"),
        ("^[-a]$", "-", "b"),
        ("^[a-]$", "-", "b"),
        (r"^[\w.-]+$", "a.b-c", "a b"),
        ("^[[:digit:]]$", "d]", "1"),
        ("^[a&&b]$", "&", "c"),
        ("^a{,2}$", "a{,2}", "aa"),
        (r"^\/$", "/", "\\"),
        (r"^\.$", ".", "a"),
        ("^(?<word>a|b)$", "b", "c"),
        ("^a|b$", "xb", "x"),
        (r"^\x41\u00e9$", "Aé", "aé"),
        ("^日.$", "日本", "日"),
        ("^'\"%$", "'\"%", "'"),
        ("^#$", "#", ""),
    ],
)
def test_a_trap_is_translated_as_it_was_meant(pattern: str, yes: str, no: str) -> None:
    """Hyphens, brackets, braces and escapes mean in the translation what they meant in the pattern."""
    translated = to_re2(pattern)
    assert (search(pattern, yes), search(pattern, no)) == (True, False)
    found = duckdb.execute("SELECT regexp_matches($1, $2), regexp_matches($3, $2)", [yes, translated, no])
    assert found.fetchone() == (True, False)


@pytest.mark.parametrize(
    ("pattern", "where", "texts"),
    [
        ("^(new|paid)$", "whole", ("new", "paid")),
        ("^(?:a|b|a)$", "whole", ("a", "b")),
        (r"^a\.b$", "whole", ("a.b",)),
        ("^ORD-", "start", ("ORD-",)),
        ("@", "anywhere", ("@",)),
    ],
)
def test_a_pattern_without_operators_is_a_comparison_of_texts(pattern: str, where: str, texts: tuple[str, ...]) -> None:
    """Fixed alternatives and anchored literals need no regular expression."""
    assert to_plain(pattern) == Plain(where, texts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "pattern", ["", "^$", "^a|b$", "(a|b)", "a$", r"^\d$", r"^a\tb$", "^a.c$", "^(a|)$", "^((a|b)|c)$", "a^b"]
)
def test_a_pattern_with_an_operator_stays_one(pattern: str) -> None:
    """Classes, empty alternatives and anchors that bind to one alternative only are no comparison of texts."""
    assert to_plain(pattern) is None


PIECE = st.sampled_from(["a", "b", "ab", "-", r"\.", "é", "😀", r"\/", " "])


@given(
    pieces=st.lists(PIECE, min_size=1, max_size=4),
    start=st.booleans(),
    end=st.booleans(),
    group=st.booleans(),
    text=st.text(alphabet="ab-.é😀/ |", max_size=4),
)
@settings(deadline=None, database=None, derandomize=True)
def test_a_comparison_of_texts_finds_what_the_pattern_finds(
    pieces: list[str], start: bool, end: bool, group: bool, text: str
) -> None:
    """Wherever a pattern becomes a comparison, both say the same of every text."""
    body = f"({'|'.join(pieces)})" if group else "".join(pieces)
    pattern = "^" * start + body + "$" * end
    plain = to_plain(pattern)
    assume(plain is not None)
    assert plain is not None
    [first, *_] = plain.texts
    said = {"whole": text in plain.texts, "start": text.startswith(first), "anywhere": first in text}[plain.where]
    assert said == search(pattern, text)
