"""What a model's file says the model takes and gives, held against what was promised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from contract_checks.checks import Check, ExpectedColumn, SignatureMatches
from contract_checks.metrics import FoundColumn, FoundSignature, Measurement
from contract_checks.results import CheckResult, Detail


def judge_signature(check: Check, judgement: SignatureMatches, measurement: Measurement | None) -> CheckResult:
    """Whether a signature has the promised inputs and outputs.

    Each promised one must be there with its type, and the model may need no other input. A model that gives
    more than was promised keeps the promise.
    """
    if measurement is None or measurement.error is not None:
        reason = measurement.error if measurement is not None else "it was not measured"
        return CheckResult(check, "errored", f"Could not evaluate: {reason}")
    found = measurement.value
    assert isinstance(found, FoundSignature)
    details = [
        *_compared("input", judgement.inputs, found.inputs),
        *_compared("output", judgement.outputs, found.outputs),
    ]
    known = {one.field[0] for one in judgement.inputs}
    if judgement.inputs:
        for column in found.inputs:
            if column.name and column.name not in known and not column.nullable:
                details.append(
                    Detail(column.name, "no such input", f"input {column.native_type}, which it needs", False)
                )
    unknown = [one for one in details if one.found.startswith("unknown")]
    wrong = [one for one in details if not one.ok and one not in unknown]
    common = CheckResult(check, "passed", "", measured=len(wrong), details=tuple(details), answered_by="catalogue")
    return _with_words(common, wrong, unknown)


def _with_words(result: CheckResult, wrong: Sequence[Detail], unknown: Sequence[Detail]) -> CheckResult:
    if wrong:
        listed = "; ".join(f"{one.column}: expected {one.expected}, found {one.found}" for one in wrong)
        return replace(result, status="failed", description=f"The model has another signature: {listed}.")
    if unknown:
        listed = "; ".join(f"{one.column}: {one.found}" for one in unknown)
        return replace(result, status="errored", description=f"Could not evaluate: {listed}.")
    return replace(result, description=f"The model has the promised {result.check.expected}.")


def _compared(side: str, promised: Sequence[ExpectedColumn], found: Sequence[FoundColumn]) -> Iterable[Detail]:
    named = {one.name: one for one in found if one.name}
    # A signature without names is one of a matrix: its columns are told apart by their place.
    by_place = not named and len(found) == len(promised)
    for place, column in enumerate(promised):
        name = column.field[0]
        have = found[place] if by_place else named.get(name)
        expected = f"{side} {column.type.text}" if column.type is not None else side
        if have is None:
            what = "an unnamed one" if found and not named else "missing"
            yield Detail(name, expected, f"{'unknown: ' if found and not named else ''}{what}", column.optional)
            continue
        categories = column.type.categories if column.type is not None else frozenset()
        if have.category == "unknown":
            yield Detail(name, expected, f"unknown: the type {have.native_type or '?'}", False)
        else:
            yield Detail(name, expected, f"{side} {have.native_type}", not categories or have.category in categories)
