"""Single values judged in Python: the word on what no SQL engine can be trusted with."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from contract_checks.metrics import (
    AllOf,
    Bound,
    Condition,
    HasFormat,
    Length,
    Matches,
    MultipleOf,
    NotNull,
    NotOneOf,
    OneOf,
    Scalar,
    UniqueItems,
)
from contract_checks.values import FORMATS, breaks, plain_text


@pytest.mark.parametrize(
    ("condition", "value", "broken"),
    [
        (Matches("^(?!a)"), "b", False),
        (Matches("^(?!a)"), "a", True),
        (Length(1, 2), "日本", False),
        (Length(1, 2), "", True),
        (Length(maximum=2), "abc", True),
        (Length(minimum=2), "😀", True),
        (OneOf(("a", "b")), "a", False),
        (OneOf(("a", None)), "c", True),
        (OneOf((1, 2)), Decimal("1.0"), False),
        (OneOf((0.1,)), 0.1, False),
        (OneOf((1,)), "1", False),
        (OneOf((date(2024, 1, 1),)), date(2024, 1, 1), False),
        (NotOneOf(("", "N/A")), "N/A", True),
        (NotOneOf(("", None)), "x", False),
        (Bound(">=", 1), 1, False),
        (Bound(">", 1), 1, True),
        (Bound("<=", Decimal("0.3")), 0.1 + 0.2, True),
        (Bound("<", 2**53 + 1), 2**53 + 1, True),
        (Bound("<=", "b"), "a", False),
        (Bound("<=", 1), math.nan, True),
        (Bound(">=", 1, nan=False), math.nan, False),
        (AllOf((Matches("a"), OneOf(("ab",)))), "ab", False),
        (AllOf((Matches("a"), OneOf(("ab",)))), "a", True),
    ],
)
def test_a_value_is_judged_exactly(condition: Condition, value: Any, broken: bool) -> None:
    """A value breaks a condition by what it is, not by how it is stored."""
    assert breaks(condition, value) is broken


@pytest.mark.parametrize(
    ("condition", "broken"),
    [
        (NotNull(), True),
        (NotOneOf(("", None)), True),
        (NotOneOf(("",)), False),
        (OneOf(("a",)), False),
        (Matches("a"), False),
        (Bound(">", 0), False),
        (AllOf((Matches("a"), NotNull())), True),
        (AllOf((Matches("a"), Length(1))), False),
    ],
)
def test_null_breaks_only_what_is_about_null(condition: Condition, broken: bool) -> None:
    """NULL satisfies every condition but those that name it."""
    assert breaks(condition, None) is broken


@pytest.mark.parametrize(
    ("value", "divisor", "multiple"),
    [
        (0.3, "0.1", True),
        (0.35, "0.1", False),
        (Decimal("0.30"), "0.1", True),
        (Decimal("123456789012345678901234567890123.47"), "0.05", False),
        (Decimal("123456789012345678901234567890123.45"), "0.05", True),
        (10**40 + 1, "2", False),
        (-4, "2", True),
        (0, "7", True),
        ("1.50", "0.5", True),
        (1e300, "3", False),
        (math.nan, "1", False),
        (math.inf, "1", False),
        ("abc", "1", False),
    ],
)
def test_multiples_are_exact(value: Any, divisor: str, multiple: bool) -> None:
    """A remainder is taken of the digits as written, however many; NaN, infinity and text are no multiples."""
    assert breaks(MultipleOf(Decimal(divisor)), value) is not multiple


VALID = {
    "email": [
        "a@b.example",
        "first.last+tag@sub.example.org",
        '"odd one"@example.org',
        "a@[192.0.2.1]",
        "a@[IPv6:::1]",
    ],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"],
    "uri": ["https://example.org/a?b=c#d", "mailto:a@b.example", "urn:isbn:0451450523"],
    "hostname": ["example.org", "a", "xn--bcher-kva.example.", "1-2.example"],
    "ipv4": ["192.0.2.1"],
    "ipv6": ["::1", "2001:db8::8a2e:370:7334"],
    "date": ["2024-02-29"],
    "date-time": ["2024-02-29T23:59:59Z", "2024-02-29t23:59:59.123+05:30"],
    "time": ["23:59:59", "23:59:59.5Z"],
    "byte": ["YWJj", "", "YQ=="],
}
INVALID = {
    "email": [
        "a",
        "a@",
        "@b",
        "a b@c.example",
        "a@b..example",
        "a@-b.example",
        ".a@b.example",
        f"{'a' * 65}@b.example",
    ],
    "uuid": ["123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}", "x"],
    "uri": ["example.org", "http://a b", "//x", "http://[::1"],
    "hostname": ["-a.example", "a_b.example", "", "a..b", "é.example", "a.example\n", "a" * 64],
    "ipv4": ["192.0.2.256", "192.0.2", "192.0.2.01", "::1"],
    "ipv6": ["fe80::1%eth0", "1::2::3", "192.0.2.1"],
    "date": ["2023-02-29", "2024-2-1", "20240201", "2024-02-01T00:00:00Z", "２０２４-02-01"],
    "date-time": ["2024-02-29", "2024-02-29T23:59:59", "2024-02-30T00:00:00Z", "2024-02-29T24:00:01Z"],
    "time": ["24:00:01", "23:59", "9:00:00"],
    "byte": ["YWJ", "a b=", "é==="],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in FORMATS for text in VALID[name]])
def test_a_text_of_a_format_is_accepted(name: str, text: str) -> None:
    """What has the format is accepted."""
    assert breaks(HasFormat(name), text) is False


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in FORMATS for text in INVALID[name]])
def test_a_text_that_is_not_of_a_format_is_refused(name: str, text: str) -> None:
    """What has not the format is refused."""
    assert breaks(HasFormat(name), text) is True


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (1, "1"),
        (1.5, "1.5"),
        (Decimal("1E+2"), "100"),
        (Decimal("0.30"), "0.30"),
        (date(999, 1, 2), "0999-01-02"),
        (datetime(2024, 1, 1, 12, tzinfo=UTC), "2024-01-01T12:00:00+00:00"),
        (time(9, 30), "09:30:00"),
        ("x", "x"),
    ],
)
def test_a_scalar_is_the_text_that_a_text_column_holds(value: Scalar, text: str) -> None:
    """Listed values become the text that a column of texts would hold for them."""
    assert plain_text(value) == text


def test_what_is_not_about_one_value_is_not_judged_here() -> None:
    """A condition about arrays is never answered for a single value."""
    with pytest.raises(NotImplementedError):
        breaks(UniqueItems(), "x")
