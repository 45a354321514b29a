"""What is really there, held against the schema that was promised: columns, fields, types, and the shape of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from contract_checks.checks import Check, ColumnsPresent, ExpectedColumn, NoOtherColumns, TypesMatch
from contract_checks.datatypes import (
    category_of,
    field_type,
    has_timezone,
    is_open_document,
    satisfied_categories,
    struct_fields,
)
from contract_checks.metrics import (
    EACH,
    Aggregate,
    Columns,
    DuplicateKeys,
    FieldPath,
    Measurement,
    Measurements,
    OrphanKeys,
    Tier,
    UnparsedValues,
    Violations,
    field_text,
)
from contract_checks.model import Dataset, DeclaredType, walk_columns
from contract_checks.native_types import same_native_type
from contract_checks.results import CheckResult, Detail
from contract_checks.sql import Relation
from contract_checks.sql.sqlite import UNBOUND
from contract_checks.wording import all_text, count_text


def of_documents(checks: Sequence[Check], dataset: Dataset) -> tuple[Check, ...]:
    """The checks as they are of JSON documents, which leave out a property that is not required.

    Such a property counts as there, and what is promised of its values is skipped where no document has it.
    """
    optional: set[FieldPath] = set()
    for path, column in walk_columns(dataset.columns):
        free = not column.required and column.primary_key is None and not any(each in path for each in EACH)
        if column.optional or free or any(path[:length] in optional for length in range(1, len(path))):
            optional.add(path)
    return tuple(_of_documents(check, optional) for check in checks)


def _of_documents(check: Check, optional: set[FieldPath]) -> Check:
    if isinstance(check.judgement, ColumnsPresent):
        columns = tuple(replace(one, optional=one.field in optional) for one in check.judgement.columns)
        return replace(check, judgement=ColumnsPresent(columns))
    concerned: tuple[FieldPath, ...] = ()
    if check.metrics and isinstance(metric := check.metrics[0], Violations | Aggregate | DuplicateKeys | OrphanKeys):
        concerned = metric.fields if isinstance(metric, DuplicateKeys | OrphanKeys) else (metric.field,)
    return replace(check, if_present=True) if any(path in optional for path in concerned) else check


def columns_present(check: Check, judgement: ColumnsPresent, relation: Relation) -> CheckResult:
    """Whether every promised column is there."""
    details = []
    for column in judgement.columns:
        there = relation.has(column.field)
        ok = there or column.optional
        details.append(Detail(field_text(column.field), "present", "present" if there else "missing", ok))
    missing = [one.column for one in details if not one.ok]
    absent = [one.column for one in details if one.ok and one.found == "missing"]
    if missing:
        sentence = f"{count_text(len(missing), 'column')} missing: {', '.join(missing)}; expected {check.expected}."
    elif absent:
        verb = "is" if len(absent) == 1 else "are"
        sentence = f"Every column that must be there is; {', '.join(absent)} may be absent, and {verb}."
    else:
        sentence = f"{all_text(len(details), 'promised column')} there."
    return _schema_result(check, details, sentence, len(missing))


def no_other_columns(check: Check, judgement: NoOtherColumns, relation: Relation) -> CheckResult:
    """Whether there is a column, or a field of a promised struct, that is not promised."""
    promised = {found.name for column in judgement.columns if (found := relation.find(column.field[0])) is not None}
    others = [column for column in relation.columns if column.name not in promised and not column.hidden]
    details = [Detail(one.name, "not there", one.native_type or "present", False) for one in others]
    details += [
        Detail(field_text(path), "not there", native, False) for path, native in _other_fields(judgement, relation)
    ]
    names = ", ".join(one.column for one in details)
    sentence = f"{count_text(len(details), 'other column')}: {names}." if details else "There are no other columns."
    return _schema_result(check, details, sentence, len(details))


def _other_fields(judgement: NoOtherColumns, relation: Relation) -> list[tuple[FieldPath, str]]:
    """The fields of structs that are not promised, where the promise names any field of that struct."""
    promised: dict[FieldPath, set[str]] = {}
    for column in judgement.columns:
        if len(column.field) > 1 and column.field[-1] not in EACH:
            promised.setdefault(column.field[:-1], set()).add(column.field[-1].lower())
    found = []
    for parent, names in promised.items():
        column_found = relation.find(parent[0])
        if column_found is not None and relation.encoding == "native":
            fields = struct_fields(column_found.native_type, parent[1:], relation.dialect)
            found += [((*parent, name), native) for name, native in fields if name.lower() not in names]
    return found


def with_shapeless(result: CheckResult, measurements: Measurements) -> CheckResult:
    """The result, failed where rows have not the shape of a row; a source leaves those out of everything else."""
    found = measurements.get(Columns())
    if found is None or not found.rows:
        return result
    said = str(found.offenders[0][0])
    detail = Detail("(rows)", "a cell for every column", said, False)
    return replace(
        result,
        status=result.status if result.status == "errored" else "failed",
        description=f"{said[:1].upper()}{said[1:]}. {result.description}",
        details=(*result.details, detail),
        rows=(result.rows or 0) + found.rows,
    )


def _schema_result(check: Check, details: Sequence[Detail], sentence: str, wrong: int) -> CheckResult:
    return CheckResult(
        check,
        "failed" if wrong else "passed",
        sentence,
        measured=wrong,
        details=tuple(details),
        answered_by="catalogue",
    )


def types_match(check: Check, judgement: TypesMatch, measurements: Measurements, relation: Relation) -> CheckResult:
    """Whether every column that is there has its promised type; what nobody can tell is errored, never passed."""
    details: list[Detail] = []
    unknown: list[str] = []
    rows = 0
    scans = []
    for column in judgement.columns:
        assert column.type is not None
        if not relation.has(column.field):
            continue  # the columns check says so
        measurement = measurements.get(UnparsedValues(column.field))
        if measurement is not None and measurement.answered_by in ("scan", "kept") and measurement.sql:
            scans.append(measurement)
        name = field_text(column.field)
        verdict, found = _type_verdict(column, measurement, relation)
        if verdict is None:
            unknown.append(f"{name}: {found}")
        if verdict is False and measurement is not None and measurement.error is None:
            rows += int(measurement.value or 0)
        details.append(Detail(name, _promised(column.type), found, verdict is True))
    if not details:
        return CheckResult(check, "skipped", "Skipped: none of the columns is there.", answered_by="catalogue")
    wrong = [one for one in details if not one.ok and not any(text.startswith(f"{one.column}: ") for text in unknown)]
    common = CheckResult(
        check,
        "passed",
        f"{all_text(len(details), 'column')} of the promised type.",
        measured=len(wrong),
        rows=rows if scans else None,
        details=tuple(details),
        sql=scans[0].sql if scans else None,
        answered_by=_tier(scans),
    )
    if wrong:
        listed = "; ".join(f"{one.column}: expected {one.expected}, found {one.found}" for one in wrong)
        return replace(
            common, status="failed", description=f"{count_text(len(wrong), 'column')} of another type: {listed}."
        )
    if unknown:
        return replace(common, status="errored", description=f"Could not evaluate: {'; '.join(unknown)}.")
    return common


def _tier(scans: Sequence[Measurement]) -> Tier:
    """What gave the measurements of cells: their rows, if only one of them was read."""
    if not scans:
        return "catalogue"
    return "scan" if any(one.answered_by == "scan" for one in scans) else "kept"


def _promised(declared: DeclaredType) -> str:
    """A declared type in words."""
    if declared.with_timezone is None:
        return declared.text
    return f"{declared.text} with{'' if declared.with_timezone else 'out'} a time zone"


def _type_verdict(
    column: ExpectedColumn, measurement: Measurement | None, relation: Relation
) -> tuple[bool | None, str]:
    """Whether a column has its type (None: nobody can tell), and what was found."""
    declared = column.type
    assert declared is not None
    if measurement is None:
        return None, "it was not measured"
    if measurement.error is not None:
        return None, measurement.error
    unparsed = int(measurement.value or 0)
    cells = f"{count_text(unparsed, 'cell')} that {'are' if unparsed != 1 else 'is'} no {_promised(declared)}"
    if relation.encoding != "native":
        if column.field not in relation.declared:
            return None, f"nobody can tell whether text is {declared.text}"
        return (False, cells) if unparsed else (True, f"{relation.encoding.upper()} cells of this type")
    if _inside_document(column, relation):
        if column.field not in relation.declared or measurement.answered_by == "catalogue":
            return None, f"nobody can tell whether what is inside a document is {declared.text}"
        return (False, cells) if unparsed else (True, "JSON of this type")
    native, category = _native(column, relation)
    if relation.dialect == "sqlite" and _cells_decide(column, category, relation):
        return (False, cells) if unparsed else (True, native or "cells of this type")
    if category == "string" and column.field in relation.formats and _stored_as_text(column, native, relation):
        return (False, cells) if unparsed else (True, f"{native} of this format")
    verdict = _native_verdict(column, native, category, relation.dialect)
    if verdict is None:
        return None, f"the type {native or '?'} is not known to hold {declared.text}"
    if verdict and unparsed:
        return False, cells
    return verdict, native


def _cells_decide(column: ExpectedColumn, category: str, relation: Relation) -> bool:
    """Whether SQLite's declared type says nothing about what was promised, so that its cells must."""
    declared = relation.declared.get(column.field)
    stated = column.type.native if column.type is not None else None
    return declared is not None and stated is None and (category == "unknown" or declared in UNBOUND.get(category, ()))


def _inside_document(column: ExpectedColumn, relation: Relation) -> bool:
    """Whether a field is inside a column of JSON documents, whose native type says nothing about it."""
    found = relation.find(column.field[0])
    return len(column.field) > 1 and found is not None and is_open_document(found.native_type, relation.dialect)


def _stored_as_text(column: ExpectedColumn, native: str, relation: Relation) -> bool:
    """Whether text is where the promised dates or times may be: unless another native type is stated."""
    stated = column.type.native if column.type is not None else None
    return stated is None or same_native_type(stated, native, relation.dialect) is not False


def _native(column: ExpectedColumn, relation: Relation) -> tuple[str, str]:
    found = relation.find(column.field[0])
    assert found is not None
    if len(column.field) == 1:
        return found.native_type, found.category
    native = field_type(found.native_type, column.field[1:], relation.dialect) or ""
    return native, category_of(native, relation.dialect)


def _native_verdict(column: ExpectedColumn, native: str, category: str, dialect: str) -> bool | None:
    declared = column.type
    assert declared is not None
    by_category: bool | None = None
    if declared.categories:
        satisfied = satisfied_categories(native, category, dialect)
        if satisfied & declared.categories:
            by_category = True
        else:
            by_category = None if category == "unknown" else False
    by_native = same_native_type(declared.native, native, dialect) if declared.native else None
    zoned = declared.with_timezone
    if (
        zoned is not None
        and dialect != "sqlite"
        and category in ("timestamp", "time")
        and has_timezone(native, dialect) != zoned
    ):
        return False
    verdicts: Iterable[bool] = [one for one in (by_category, by_native) if one is not None]
    if declared.categories and by_category is None and by_native is not True:
        return None
    return all(verdicts) if verdicts else None
