"""Values of a contract as a database's column would hold them."""

from __future__ import annotations

import struct
from datetime import date, datetime, time
from decimal import Decimal

from contract_checks.datatypes import Category
from contract_checks.metrics import Scalar


def rounds_to_single(limit: int | float | Decimal) -> bool:
    """Whether single precision holds another, finite number in place of `limit`."""
    try:
        single: float = struct.unpack("f", struct.pack("f", limit))[0]
    except OverflowError:
        return False
    return single != 0 and Decimal(single) != Decimal(repr(limit) if isinstance(limit, float) else limit)


def from_text(listed: str, category: Category) -> Scalar:
    """A text that was listed for a column of another type, read in that type. Raises `ValueError` if it is none."""
    if category in ("integer", "number"):
        return Decimal(listed)
    if category == "date":
        return date.fromisoformat(listed)
    if category == "timestamp":
        return datetime.fromisoformat(listed)
    if category == "time":
        return time.fromisoformat(listed)
    if category == "boolean" and listed.lower() in ("true", "false"):
        return listed.lower() == "true"
    raise ValueError(listed)
