"""The eight operators of ODCS, several of which may stand on one rule and must then all hold."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from contract_checks.dialects.odcs_notes import Notes, Path, did_you_mean, text_of
from contract_checks.metrics import OPERATORS, Operator, Scalar, Threshold

_BY_NAME: dict[str, Operator] = {
    **{name: name for name in OPERATORS},
    # How early examples of the standard spelled two of them.
    "mustBeGreaterThanOrEqualTo": "mustBeGreaterOrEqualTo",
    "mustBeLessThanOrEqualTo": "mustBeLessOrEqualTo",
}


def read_thresholds(
    entry: Mapping[str, Any], notes: Notes, path: Path, numbers: bool
) -> tuple[tuple[Threshold, ...], str]:
    """Every operator of the rule `entry`, and "" or the reason why they cannot be used.

    With `numbers` each value has to be a number; a query may also give a text or true or false.
    """
    found: list[Threshold] = []
    for key, value in entry.items():
        if not key.lower().startswith("must") or value is None:
            continue
        operator = _BY_NAME.get(key)
        if operator is None:
            return (), f"'{key}' is no operator; {did_you_mean(key, OPERATORS)}".rstrip("; ")
        where = (*path, key)
        if operator in ("mustBeBetween", "mustNotBeBetween"):
            pair = _pair(value, notes, where)
            if pair is None:
                return (), f"'{key}' is a list of two numbers, smallest first, not {text_of(value)}"
            found.append(Threshold(operator, pair))
            continue
        scalar = _scalar(value, notes, where, numbers or operator not in ("mustBe", "mustNotBe"))
        if scalar is None:
            notes.tolerate(f"'{text_of(value)}' is no number", *where)
            return (), f"'{key}' is a number, not '{text_of(value)}'"
        found.append(Threshold(operator, scalar))
    if len(found) > 1 and notes.version >= (3, 1):
        names = ", ".join(threshold.operator for threshold in found)
        notes.tolerate(f"a rule has one operator; this one has {names}, and all must hold", *path)
    return tuple(found), ""


def number_in(text: str) -> Decimal | None:
    """The number that `text` spells, of a size that arithmetic can handle."""
    try:
        number = Decimal(text.strip())
    except ArithmeticError:
        return None
    return number if number.is_finite() and abs(number.adjusted()) <= 1000 else None


def _scalar(value: Any, notes: Notes, where: Path, number: bool) -> Scalar:
    if not number and isinstance(value, bool | str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    if isinstance(value, str):
        parsed = number_in(value)
        if parsed is None:
            return None
        notes.tolerate(f"the number '{value}' is written as a text", *where, hint="remove the quotes")
        return parsed
    read: Scalar = value
    return read


def _pair(value: Any, notes: Notes, where: Path) -> tuple[Scalar, Scalar] | None:
    if not isinstance(value, list) or len(value) != 2:
        notes.tolerate("a list of two numbers belongs here", *where, hint="[smallest, largest]")
        return None
    low, high = (_scalar(one, notes, where, number=True) for one in value)
    if not isinstance(low, int | Decimal) or not isinstance(high, int | Decimal):
        notes.tolerate("a list of two numbers belongs here", *where, hint="[smallest, largest]")
        return None
    if low == high:
        notes.refuse(f"both bounds are {low}", *where, hint=f"say 'mustBe: {low}' or give two different bounds")
    elif low > high:
        notes.tolerate(f"the bounds are reversed: read as [{high}, {low}]", *where, hint="smallest number first")
        low, high = high, low
    return low, high
