"""Failed checks → a few offending rows, with sensitive values masked.

What a contract marks as sensitive never reaches an event: not in a sample, not as a measured value, not in
a database's error message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from contract_checks.checks import TypesMatch
from contract_checks.errors import SourceError
from contract_checks.judging import show
from contract_checks.metrics import (
    Aggregate,
    ColumnNames,
    DuplicateKeys,
    FarFrom,
    FieldPath,
    Measurement,
    Measurements,
    Metric,
    OrphanKeys,
    OtherColumns,
    Query,
    Sample,
    Scalar,
    Undecodable,
    UnparsedValues,
    Violations,
    field_text,
)
from contract_checks.model import AgeLimit, Dataset, walk_columns
from contract_checks.queries import tells_a_value
from contract_checks.results import CheckResult
from contract_checks.scans import SampleScan, sample_scan, shown_field
from contract_checks.sources import Session
from contract_checks.sql import Relation

MASK = "•••"
"""What stands in place of a sensitive value."""
PLACE_OF_A_MESSAGE = ("__partition", "__offset", "__timestamp")
"""The hidden columns that tell where a message of a topic is."""
RARE = 5000
"""Up to this many offenders in all, the samples of several checks share one whole scan."""
FIRST = 1000
"""How many offending rows are looked at for the samples of the other checks."""
SINGLE = 20
"""How many checks that had no sample among those may have a scan of their own."""
LONGEST = 200
"""The longest text of a cell that is shown."""


def explain(
    results: Sequence[CheckResult],
    measurements: Measurements,
    dataset: Dataset,
    relation: Relation,
    session: Session,
    rows: int,
) -> tuple[CheckResult, ...]:
    """The results with up to `rows` offending rows each (0: none), and everything sensitive masked."""
    hidden = sensitive_fields(dataset)
    failed = {id(result): metric for result in results if (metric := _offending(result, measurements)) is not None}
    samples = _samples(dict.fromkeys(failed.values()), measurements, dataset, relation, session, rows, hidden)
    return tuple(
        replace(
            _masked(result, hidden, relation.dialect),
            sample=samples.get(failed[id(result)]) if id(result) in failed else None,
        )
        for result in results
    )


def sensitive_fields(dataset: Dataset) -> frozenset[FieldPath]:
    """The fields whose values must not be shown."""
    return frozenset(path for path, column in walk_columns(dataset.columns) if column.sensitive)


def _is_hidden(field: FieldPath, hidden: frozenset[FieldPath]) -> bool:
    """Whether showing `field` would show something hidden: itself, what holds it, or what it holds."""
    folded = [tuple(part.lower() for part in path) for path in hidden]
    own = tuple(part.lower() for part in field)
    return any(own[: len(path)] == path or path[: len(own)] == own for path in folded)


def _masked(result: CheckResult, hidden: frozenset[FieldPath], dialect: str) -> CheckResult:
    if not hidden or not result.check.metrics:
        return result
    if result.status == "errored":
        return replace(result, description=_without_values(result.description)) if result.sql is not None else result
    metric = result.check.metrics[0]
    if isinstance(metric, Aggregate) and metric.function in ("min", "max") and _is_hidden(metric.field, hidden):
        if isinstance(result.check.judgement, AgeLimit):
            return replace(result, description=re.sub(r"\(.*\)", f"({MASK})", result.description))
    elif not isinstance(metric, Query) or isinstance(result.measured, bool | None):
        return result
    elif isinstance(result.measured, int | float | Decimal):
        names = frozenset(part.lower() for path in hidden for part in path)
        if metric.result == "rows" or not tells_a_value(result.sql or "", dialect, names):
            return result
    shown = show(result.measured)
    return replace(result, measured=MASK, description=result.description.replace(shown, MASK, 1))


def _without_values(words: str) -> str:
    """A database's words without the values it stumbled over: what it quotes, and numbers."""
    unquoted = re.sub(r"'.*'|\".*\"", f"'{MASK}'", words, flags=re.DOTALL)
    return re.sub(r"(?<!\w)-?\d[\d.]*(?!\w)", MASK, unquoted)


def _offending(result: CheckResult, measurements: Measurements) -> Metric | None:
    """The metric of a failed check whose offenders can be shown."""
    if result.status != "failed":
        return None
    if isinstance(result.check.judgement, TypesMatch):
        metrics: Sequence[Metric] = [one for one in result.check.metrics if isinstance(one, UnparsedValues)]
    else:
        metrics = result.check.metrics[:1]
    broken = [metric for metric in metrics if (one := measurements.get(metric)) is not None and one.value]
    return broken[0] if broken else None


def _samples(
    metrics: Iterable[Metric],
    measurements: Measurements,
    dataset: Dataset,
    relation: Relation,
    session: Session,
    rows: int,
    hidden: frozenset[FieldPath],
) -> dict[Metric, Sample]:
    """A sample for each metric, in as few statements as possible.

    Keys and single values came along with their count, and the row ids of some offenders. Of the other row-level
    metrics, all the rare ones share one scan. The frequent ones share another, which soon ends at its limit; a few
    that it did not meet have a scan of their own.
    """
    samples: dict[Metric, Sample] = {}
    offending: dict[Metric, int] = {}
    for metric in metrics if rows else ():
        measurement = measurements[metric]
        if measurement.offenders:
            samples[metric] = _from_offenders(metric, measurement, rows, hidden)
        elif isinstance(metric, Violations | UnparsedValues):
            offending[metric] = int(measurement.value)
    key = _key(dataset, relation)
    located = {
        metric: found
        for metric, count in offending.items()
        if len(found := measurements[metric].places) >= min(count, rows)
    }
    rare, left = _rare({metric: count for metric, count in offending.items() if metric not in located})
    scans = [
        sample_scan(located, key, relation, places=set().union(*located.values())),
        sample_scan(rare, key, session.offending(relation, rare)),
        sample_scan(left, key, session.offending(relation, left), FIRST),
    ]
    for scan in scans:
        if scan is not None:
            samples |= _run(scan, key, session, rows, hidden)
    missed = [metric for metric in left if metric in samples and not samples[metric].rows]
    for metric in missed[:SINGLE]:
        single = sample_scan([metric], key, session.offending(relation, [metric]), rows)
        if single is not None:
            samples |= _run(single, key, session, rows, hidden)
    return {metric: sample for metric, sample in samples.items() if sample.rows}


def _rare(offending: Mapping[Metric, int]) -> tuple[list[Metric], list[Metric]]:
    """The metrics whose offenders together are few enough to be fetched all, and the others."""
    rare: list[Metric] = []
    total = 0
    for metric in sorted(offending, key=lambda one: offending[one]):
        total += offending[metric]
        if total > RARE:
            break
        rare.append(metric)
    return rare, [metric for metric in offending if metric not in rare]


def _key(dataset: Dataset, relation: Relation) -> tuple[FieldPath, ...]:
    """The primary key, which tells the rows of a sample apart."""
    columns = sorted(
        (one for one in dataset.columns if one.primary_key is not None), key=lambda one: one.primary_key or 0
    )
    place = tuple((one.name,) for one in relation.columns if one.name in PLACE_OF_A_MESSAGE and one.hidden)
    return place or tuple((one.physical_name,) for one in columns if relation.find(one.physical_name) is not None)


def _run(
    scan: SampleScan, key: tuple[FieldPath, ...], session: Session, rows: int, hidden: frozenset[FieldPath]
) -> dict[Metric, Sample]:
    try:
        found = session.show(scan)
    except SourceError:
        return {}  # the verdicts stand; only their illustration is missing
    samples = {}
    for index, metric in enumerate(scan.metrics):
        fields = tuple(dict.fromkeys((*key, shown_field(metric))))
        places = [scan.shown.index(field) for field in fields]
        own = [row for row in found if row[len(scan.shown) + index] == 1][:rows]
        samples[metric] = _sample(fields, [[row[place] for place in places] for row in own], scan.sql, hidden)
    return samples


def _from_offenders(metric: Metric, measurement: Measurement, rows: int, hidden: frozenset[FieldPath]) -> Sample:
    if isinstance(metric, DuplicateKeys | OrphanKeys):
        fields = metric.fields
    elif isinstance(metric, FarFrom):
        fields = (metric.field, metric.latitude, metric.longitude)
    elif isinstance(metric, ColumnNames | OtherColumns):
        fields = (("column",),)
        hidden = frozenset()  # names, no values
    elif isinstance(metric, Undecodable):
        fields = (("partition",), ("offset",), ("problem",))
        hidden = frozenset()  # where it is and what kind of error it has, never what it holds
    else:
        fields = (shown_field(metric),)
    return _sample(fields, measurement.offenders[:rows], measurement.sql or "", hidden)


def _sample(
    fields: tuple[FieldPath, ...], rows: Sequence[Sequence[Any]], sql: str, hidden: frozenset[FieldPath]
) -> Sample:
    """The rows as a masked sample; a cell more than there are fields is the number of rows it stands for."""
    counted = bool(rows) and len(rows[0]) > len(fields)
    masks = [_is_hidden(field, hidden) for field in fields] + [False] * counted
    names = [field_text(field) for field in fields] + ["rows"] * counted
    cells = tuple(
        tuple(MASK if mask and cell is not None else printable(cell) for cell, mask in zip(row, masks, strict=True))
        for row in rows
    )
    return Sample(tuple(names), cells, sql)


def printable(value: Any) -> Scalar:
    """A cell as a short scalar."""
    if value is None or isinstance(value, bool | int | float | Decimal | datetime | date | time):
        return value
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
