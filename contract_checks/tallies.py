"""Numbers that are worked out in Python from rows a source hands over, the same for every database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from contract_checks.metrics import AggregateFunction, FarFrom

EARTH_RADIUS = 6_371_008.8
"""The mean radius of the earth in metres (IUGG)."""

_DIGITS = Context(prec=34)


def aggregate_of(function: AggregateFunction, rows: Sequence[Sequence[Any]]) -> int | float | Decimal | None:
    """The median or the population's standard deviation of values, each row being (value, how often).

    For the median the values are those in the middle, one or two. None when there are none. Exact for the
    median. Raises `ValueError` for a value that is no number.
    """
    values = [(_number(value), int(count)) for value, count in rows]
    if not values:
        return None
    if any(isinstance(value, float) for value, _ in values):
        return math.nan  # a NaN or an infinity among them
    total = sum(count for _, count in values)
    mean = sum((Fraction(value) * count for value, count in values), Fraction()) / total
    if function == "median":
        return _plain(mean)
    variance = sum(((Fraction(value) - mean) ** 2 * count for value, count in values), Fraction()) / total
    exact = Decimal(variance.numerator) / Decimal(variance.denominator) if variance else Decimal()
    return _plain(Fraction(_DIGITS.sqrt(_DIGITS.create_decimal(exact))))


def _number(value: Any) -> Fraction | float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError(f"{type(value).__name__} is no number")
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else value
    return Fraction(value) if not isinstance(value, Decimal) or value.is_finite() else float(value)


def _plain(value: Fraction) -> int | Decimal:
    """A fraction as a number of Dagster and JSON; halves and hundredths stay exact."""
    if value.denominator == 1:
        return int(value)
    wide = Context(prec=80)
    return wide.divide(Decimal(value.numerator), Decimal(value.denominator))


def far_from(metric: FarFrom, rows: Iterable[Sequence[Any]]) -> tuple[int, tuple[tuple[Any, ...], ...]]:
    """How many rows are too far from the place they name, and which (place, latitude, longitude, how often).

    Raises `ValueError` for coordinates that are none.
    """
    places = {name: (latitude, longitude) for name, latitude, longitude in metric.places}
    offenders = []
    for name, latitude, longitude, count in rows:
        place = places.get(str(name))
        if place is None or latitude is None or longitude is None:
            continue
        if distance(place, (float(latitude), float(longitude))) > float(metric.radius):
            offenders.append((name, latitude, longitude, int(count)))
    return sum(one[-1] for one in offenders), tuple(offenders)


def distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The metres between two points (latitude, longitude) in degrees, along a great circle.

    Raises `ValueError` for a point that is not on the earth.
    """
    for latitude, longitude in (one, other):
        if not (abs(latitude) <= 90 and abs(longitude) <= 360):
            raise ValueError(f"({latitude}, {longitude}) is no latitude and longitude")
    (north, east), (other_north, other_east) = ((math.radians(a), math.radians(b)) for a, b in (one, other))
    half = (
        math.sin((other_north - north) / 2) ** 2
        + math.cos(north) * math.cos(other_north) * math.sin((other_east - east) / 2) ** 2
    )
    return 2 * EARTH_RADIUS * math.asin(min(1.0, math.sqrt(half)))
