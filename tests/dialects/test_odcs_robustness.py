"""Contracts in which anything may stand anywhere: they are read or refused, nothing else."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from contract_checks.checks import plan
from contract_checks.dialects import read
from contract_checks.dialects.document import Document, read_document
from contract_checks.errors import ContractError
from contract_checks.lint import lint

VALID = sorted((Path(__file__).parents[1] / "examples" / "valid" / "odcs").iterdir())
JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 10**30, Decimal("1.5"), Decimal("1e900"), float("nan"), "", "x", "${X}", "a.b",
    "0 0 * * *", "P1Y", [], [1], [None], {}, {"a": 1}, [[1]], [{"name": "a"}],
)  # fmt: skip


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything below the root."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from paths(part, (*path, key))


def spoilt(document: Document, rng: random.Random) -> Document:
    """The document with junk in one or two places."""
    data: Any = copy.deepcopy(document.data)
    for _ in range(rng.choice((1, 2))):
        path = rng.choice(list(paths(data)))
        place = data
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = copy.deepcopy(rng.choice(JUNK))
    return replace(document, data=data)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_junk_anywhere_is_read_or_refused(path: Path, strict: bool) -> None:
    """Whatever stands in a place, a contract is read, linted and planned, or refused with an error."""
    document, rng = read_document(path), random.Random(7)

    for _ in range(300):
        try:
            contract = read(spoilt(document, rng), strict)
            lint(contract)
            plan(contract)
        except ContractError as error:
            assert any(problem.level == "error" for problem in error.problems)  # noqa: PT017 - both ways are right
