"""How the two reference implementations, one in Java and one in JavaScript, read and write values.

Sources: `Double.parseDouble` and `Double.toString` of Java 21; `Number`, `parseFloat` and `String` of
ECMAScript 2023. Both count text in UTF-16 code units, so slicing does too.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

_DECIMAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_JAVA = re.compile(
    rf"(?P<sign>[+-]?)(?:(?P<word>NaN|Infinity)|(?P<number>{_DECIMAL})[fFdD]?"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)"
)
_CONTROLS = "".join(map(chr, range(0x21)))
_JS_SPACE = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
_JS_NUMBER = re.compile(rf"[+-]?(?:Infinity|{_DECIMAL})")
_JS_RADIX = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_INT_MAX = 2**31 - 1
EXACT = 2**53
"""Up to here every integer is a double of its own."""


def double(number: int | float) -> float:
    """A number as a double; one that is too large is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def is_number(value: Any) -> bool:
    """Whether a value is a number, which a Boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def tidy(number: int | float) -> int | float:
    """A number as JSON shows it: whole ones without a fraction, where they are exact."""
    if isinstance(number, float) and number.is_integer() and abs(number) <= EXACT:
        return int(number)
    return number if isinstance(number, float) or abs(number) <= EXACT else double(number)


def divide(a: float, b: float) -> float:
    """IEEE 754 division: by zero it is infinite, or no number."""
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def remainder(a: float, b: float) -> float:
    """The remainder with the sign of `a`; by zero, or of infinity, it is no number."""
    try:
        return math.fmod(a, b)
    except ValueError:
        return math.nan


# --------------------------------------------------------------------------- text in UTF-16


def units(text: str) -> int:
    """The length of a text in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def slice_units(text: str, start: int, end: int) -> str:
    """The code units from `start` up to `end`; half a character stays half."""
    if text.isascii():
        return text[start:end]
    encoded = text.encode("utf-16-le", "surrogatepass")
    return encoded[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def order_key(text: str) -> bytes:
    """A key that sorts texts by their code units."""
    return text.encode("utf-16-be", "surrogatepass")


# --------------------------------------------------------------------------- Java


def java_number(text: str) -> float | None:
    """What `Double.parseDouble` makes of a text, None where it throws."""
    match = _JAVA.fullmatch(text.strip(_CONTROLS))
    if match is None:
        return None
    if match["word"]:
        number = float(match["word"])
    elif match["hex"]:
        try:
            number = float.fromhex(match["hex"])
        except OverflowError:
            number = math.inf
    else:
        number = float(match["number"])
    return -number if match["sign"] == "-" else number


def java_int(number: float) -> int:
    """A double cut to a 32-bit integer."""
    if math.isnan(number):
        return 0
    return int(max(-_INT_MAX - 1, min(_INT_MAX, number)))


def java_double_text(number: float) -> str:
    """What `Double.toString` writes: `1.0`, `0.1`, `1.2345678E7`."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "-0.0" if math.copysign(1, number) < 0 else "0.0"
    sign, digits, exponent = _digits(number)
    point = len(digits) + exponent  # digits before the point
    if -3 < point <= 7:
        whole, fraction = _plain(digits, point)
        return f"{sign}{whole}.{fraction or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def _digits(number: float) -> tuple[str, str, int]:
    """Sign, shortest significant digits, and the power of ten of the last of them."""
    negative, digits, exponent = Decimal(repr(number)).as_tuple()
    text = "".join(map(str, digits))
    short = text.rstrip("0") or "0"
    return "-" if negative else "", short, int(exponent) + len(text) - len(short)


def _plain(digits: str, point: int) -> tuple[str, str]:
    if point <= 0:
        return "0", "0" * -point + digits
    return digits[:point].ljust(point, "0"), digits[point:]


# --------------------------------------------------------------------------- JavaScript


def js_number_text(number: int | float) -> str:
    """What JavaScript writes for a number: `1`, `0.1`, `1e+21`."""
    value = double(number)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    sign, digits, exponent = _digits(value)
    point = len(digits) + exponent
    if -6 < point <= 21:
        whole, fraction = _plain(digits, point)
        return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
    power = point - 1
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'+' if power > 0 else '-'}{abs(power)}"


def js_number(text: str) -> float:
    """What `Number(text)` is."""
    trimmed = text.strip(_JS_SPACE)
    if not trimmed:
        return 0.0
    if _JS_RADIX.fullmatch(trimmed):
        return _radix(trimmed)
    return _js_float(trimmed) if _JS_NUMBER.fullmatch(trimmed) else math.nan


def _radix(text: str) -> float:
    base = {"x": 16, "o": 8, "b": 2}[text[1].lower()]
    return double(int(text[2:], base))  # powers of two: no limit on digits, and linear


def js_parse_float(text: str) -> float:
    """What `parseFloat(text)` is: the number a text begins with."""
    match = _JS_NUMBER.match(text.lstrip(_JS_SPACE))
    return _js_float(match[0]) if match else math.nan


def _js_float(text: str) -> float:
    return float(text)
