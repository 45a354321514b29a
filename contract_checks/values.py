"""Single values judged in Python: the exact word on what no SQL engine can be trusted with.

A source hands over the distinct values of a column and each is judged here, so every database gives the
same verdict. Used for patterns an engine cannot express, for string formats, and for remainders of
floating-point numbers.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import uuid
from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from contract_checks.jdk import compile_format
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
    Parsed,
    Scalar,
)
from contract_checks.patterns import search

DATE_SHAPE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
CLOCK_SHAPE = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?"
OFFSET_SHAPE = r"( ?([zZ]|[+-][0-9]{2}(:?[0-9]{2})?))?"
TIMESTAMP_SHAPE = f"{DATE_SHAPE}([T ]{CLOCK_SHAPE}{OFFSET_SHAPE})?"
"""What text must look like to be a date, a time of day, its offset, a timestamp, wherever cells have no types."""
STATED_OFFSET = r":[0-9.]+ ?([zZ]|[+-][0-9]{2}(:?[0-9]{2})?)$"
"""How a time or timestamp ends that states its time zone."""

ISO_8601 = "ISO 8601"
"""The format of text-stored dates and times that declare none (ODCS, logicalTypeOptions)."""

_HOST_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_EMAIL_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*\Z|\"[^\"\r\n]+\"\Z")
_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})\Z")
_TIME = re.compile(r"\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})?\Z")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*\Z")


def breaks(condition: Condition, value: Any) -> bool:
    """Whether a value breaks a condition; None does only where the condition is about NULL.

    Raises `ValueError` for a pattern that is none, and `NotImplementedError` for a condition that is not
    about a single scalar.
    """
    if isinstance(condition, AllOf):
        return any(breaks(one, value) for one in condition.conditions)
    if value is None:
        return isinstance(condition, NotNull) or (isinstance(condition, NotOneOf) and None in condition.values)
    if isinstance(condition, Matches):
        return search(condition.pattern, str(value)) == condition.absent
    if isinstance(condition, HasFormat):
        return not FORMATS[condition.name](str(value))
    if isinstance(condition, Length):
        size = len(str(value))
        low, high = condition.minimum, condition.maximum
        return (low is not None and size < low) or (high is not None and size > high)
    if isinstance(condition, MultipleOf):
        return not _is_multiple(value, condition.divisor)
    if isinstance(condition, NotNull):
        return False
    if isinstance(condition, OneOf):
        return not any(_equal(value, one) for one in condition.values)
    if isinstance(condition, NotOneOf):
        return any(_equal(value, one) for one in condition.values)
    if isinstance(condition, Bound):
        return _out_of_bound(condition, value)
    if isinstance(condition, Parsed):
        moment = moment_of(str(value), condition.format)
        return moment is None or (condition.bound is not None and _moment_out_of_bound(condition.bound, moment))
    raise NotImplementedError(type(condition).__name__)


def moment_of(text: str, format: str) -> date | datetime | time | None:
    """The moment that `text` names by a JDK pattern or, for `ISO_8601`, by that standard; None if it names none."""
    if format != ISO_8601:
        return compile_format(format).parse(text)
    for read in (date.fromisoformat, datetime.fromisoformat, time.fromisoformat):
        if re.match(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}", text):
            try:
                return read(text)
            except ValueError:
                continue
    return None


def extreme_moment(texts: Iterable[str], format: str, newest: bool) -> date | datetime | None:
    """The newest or oldest moment that texts name by a JDK pattern; those that name none are left out.

    None when there are no texts. Raises `ValueError` when there are, and none of them names a day.
    """
    said = list(texts)
    moments = [moment for text in said if (moment := moment_of(text, format)) is not None]
    days = [moment for moment in moments if not isinstance(moment, time)]
    if said and not days:
        raise ValueError(f"none of the texts is a day or moment in the format `{format}`")
    if not days:
        return None
    return (max if newest else min)(days, key=lambda day: _zoned(day, ZoneInfo("UTC")))


def _moment_out_of_bound(bound: Bound, moment: date | datetime | time) -> bool:
    """Whether a moment lies outside; where a zone is missing on one side, it is in the bound's zone."""
    zone = ZoneInfo(bound.zone)
    have, want = _alike(moment, bound.limit, zone)
    return not {">=": have >= want, ">": have > want, "<=": have <= want, "<": have < want}[bound.operator]


def _alike(moment: Any, limit: Any, zone: ZoneInfo) -> tuple[Any, Any]:
    if isinstance(moment, time) or isinstance(limit, time):
        if not (isinstance(moment, time) and isinstance(limit, time)):
            raise ValueError(f"{moment} cannot be compared with {limit}")
        return moment.replace(tzinfo=None), limit.replace(tzinfo=None)
    if isinstance(moment, datetime) or isinstance(limit, datetime):
        return _zoned(moment, zone), _zoned(limit, zone)
    return moment, limit


def _zoned(day: date | datetime, zone: ZoneInfo) -> datetime:
    moment = day if isinstance(day, datetime) else datetime.combine(day, time(0))
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)


def _equal(value: Any, listed: Scalar) -> bool:
    if listed is None:
        return False
    if isinstance(value, str):
        return value == plain_text(listed)
    try:
        return Decimal(plain_text(value)) == Decimal(plain_text(listed))
    except InvalidOperation:
        return plain_text(value) == plain_text(listed)


def _out_of_bound(bound: Bound, value: Any) -> bool:
    if isinstance(bound.limit, str):
        have, want = str(value), bound.limit
        kept = {">=": have >= want, ">": have > want, "<=": have <= want, "<": have < want}
        return not kept[bound.operator]
    number, limit = Decimal(plain_text(value)), Decimal(plain_text(bound.limit))
    if number.is_nan():
        return bound.nan
    return not {">=": number >= limit, ">": number > limit, "<=": number <= limit, "<": number < limit}[bound.operator]


def plain_text(value: Scalar) -> str:
    """A scalar as the text a string column would hold for it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)


def _is_multiple(value: Any, divisor: Decimal) -> bool:
    try:
        number = Decimal(repr(value) if isinstance(value, float) else str(value))
        if not number.is_finite():
            return False
        # A remainder of Decimal is rounded to its context; integers of any size are not.
        numerator, denominator = number.as_integer_ratio(), divisor.as_integer_ratio()
        return (numerator[0] * denominator[1]) % (numerator[1] * denominator[0]) == 0
    except InvalidOperation:
        return False


def _email(text: str) -> bool:
    local, at, domain = text.rpartition("@")
    return bool(at) and len(local) <= 64 and bool(_EMAIL_LOCAL.match(local)) and (_hostname(domain) or _address(domain))


def _address(domain: str) -> bool:
    inner = domain[1:-1].removeprefix("IPv6:") if domain.startswith("[") and domain.endswith("]") else ""
    return bool(inner) and (_ip(ipaddress.IPv4Address)(inner) or _ip(ipaddress.IPv6Address)(inner))


def _hostname(text: str) -> bool:
    return 0 < len(text) <= 253 and all(_HOST_LABEL.match(label) for label in text.removesuffix(".").split("."))


def _ip(kind: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> Callable[[str], bool]:
    def judge(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return "%" not in text

    return judge


def _uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _uri(text: str) -> bool:
    try:
        return bool(_URI.match(text)) and bool(urlsplit(text).scheme)
    except ValueError:
        return False


def _date(text: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text)) and _parses(date.fromisoformat, text)


def _date_time(text: str) -> bool:
    return bool(_DATE_TIME.match(text)) and _parses(datetime.fromisoformat, text.upper())


def _time(text: str) -> bool:
    return bool(_TIME.match(text)) and _parses(time.fromisoformat, text.upper())


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "email": _email,
    "uuid": _uuid,
    "uri": _uri,
    "hostname": _hostname,
    "ipv4": _ip(ipaddress.IPv4Address),
    "ipv6": _ip(ipaddress.IPv6Address),
    "date": _date,
    "date-time": _date_time,
    "time": _time,
    "byte": _base64,
}
"""The string formats that are judged, by the names of ODCS (JSON Schema's, where it has them)."""
