"""Requirements in words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from datetime import time

from contract_checks.model import AgeLimit, DateLimit, Requirement

_SIGNS = {
    "mustBe": "=",
    "mustNotBe": "≠",
    "mustBeGreaterThan": ">",
    "mustBeGreaterOrEqualTo": "≥",
    "mustBeLessThan": "<",
    "mustBeLessOrEqualTo": "≤",
}
BOUND_SIGNS = {">=": "≥", ">": ">", "<=": "≤", "<": "<"}
"""The operators of a `Bound` as people write them."""


def expected_text(requirement: Requirement) -> str:
    """A requirement in a few signs: `≤ 5 %`, `between 1 and 9`, `at most 1 day old`."""
    if isinstance(requirement, DateLimit):
        whole_day = requirement.moment.time() == time(0) and requirement.moment.tzinfo is None
        day = requirement.moment.date().isoformat() if whole_day else requirement.moment.isoformat()
        return f"{'from' if requirement.not_before else 'before'} {day}"
    if isinstance(requirement, AgeLimit) and requirement.by is not None:
        return f"there by {requirement.by} {requirement.timezone}"
    if isinstance(requirement, AgeLimit):
        return f"at most {requirement.limit} old"
    percent = " %" if requirement.unit == "percent" else ""
    parts = []
    for threshold in requirement.all_of:
        if isinstance(threshold.value, tuple):
            word = "between" if threshold.operator == "mustBeBetween" else "not between"
            parts.append(f"{word} {threshold.value[0]} and {threshold.value[1]}{percent}")
        else:
            value = str(threshold.value).lower() if isinstance(threshold.value, bool) else threshold.value
            parts.append(f"{_SIGNS[threshold.operator]} {value}{percent}")
    return " and ".join(parts)


def count_text(count: int, noun: str) -> str:
    """`1 row`, `1,000 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def meant(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'orders'?)` where one of the known words is almost `word`; else empty."""
    by_folded = {one.lower(): one for one in known}
    close = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.7)
    return f" (did you mean '{by_folded[close[0]]}'?)" if close else ""


def all_text(count: int, noun: str) -> str:
    """`The row is`, `All 3 rows are`."""
    return f"The {noun} is" if count == 1 else f"All {count_text(count, noun)} are"
