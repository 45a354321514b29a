"""Contract → what Dagster shows of it: one asset per dataset, one check per promise.

`ContractTranslator` is the one place to change names, groups, owners, tags and descriptions: override a
method, call `super()`, and change what it returns.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from dagster import (
    AssetCheckSpec,
    AssetKey,
    AssetSpec,
    BetaWarning,
    CodeReferencesMetadataValue,
    LocalFileCodeReference,
    MetadataValue,
    TableColumn,
    TableRecord,
    TableSchema,
)

from contract_checks.checks import Check, DatasetPlan, expected_text
from contract_checks.dagster_defs import names
from contract_checks.dagster_defs.columns import condition_text, promised_schema
from contract_checks.dagster_defs.freshness import freshness_policy
from contract_checks.errors import Location
from contract_checks.metrics import Aggregate, DuplicateKeys, OrphanKeys, Query, RowCount, Violations, field_text
from contract_checks.model import Contract, Dataset, Link, Section, Thresholds, walk_columns
from contract_checks.tracing import trace_dataset

Blocking: TypeAlias = Literal["errors", "none"] | Collection[Section]
"""Which failed checks stop what is downstream: `errors` stands for all of severity `error` of a contract in force,
sections (`{"schema", "quality"}`) for those of them that are in one of these, `none` for none."""

_SECTIONS: tuple[Section, ...] = get_args(Section)

_SUMMARY_LENGTH = 80
_CLAUSE_LENGTH = 2000


@dataclass(frozen=True)
class ContractDatasetData:
    """A dataset to be translated into an asset.

    `file` is the contract's path as people are shown it (`contracts/orders.odcs.yaml`), `source_kind` the
    kind of place its data lives in (`duckdb`, `postgres`, `parquet`), if that is known without asking.
    """

    contract: Contract
    plan: DatasetPlan
    file: str
    source_kind: str | None = None

    @property
    def dataset(self) -> Dataset:
        """The dataset itself."""
        return self.plan.dataset


@dataclass(frozen=True)
class ContractCheckData:
    """A check to be translated. It belongs to `asset_key`; `blocking` is what the settings say of it."""

    contract: Contract
    dataset: Dataset
    check: Check
    asset_key: AssetKey
    file: str
    blocking: bool


class ContractTranslator:
    """Says how contracts look in Dagster. Two methods, both meant to be overridden.

    Example::

        class ByDomain(ContractTranslator):
            def get_asset_spec(self, data):
                spec = super().get_asset_spec(data)
                return spec.replace_attributes(key=spec.key.with_prefix("warehouse"))

    With `owner_email_domain` people whom a contract names without an address own the asset as `name@domain`; with
    `strip_owner_email_domain` addresses are shown as the names before their `@`.
    """

    owner_email_domain: str | None = None
    strip_owner_email_domain: bool = False

    def __init__(self, *, owner_email_domain: str | None = None, strip_owner_email_domain: bool = False) -> None:
        if owner_email_domain and strip_owner_email_domain:
            raise ValueError("names cannot get a domain and lose it: give one of the two options")
        self.owner_email_domain = owner_email_domain or self.owner_email_domain
        self.strip_owner_email_domain = strip_owner_email_domain or self.strip_owner_email_domain

    def get_asset_spec(self, data: ContractDatasetData) -> AssetSpec:
        """The asset of a dataset.

        Its key is the dataset's own, each part written as Dagster accepts it; its group the contract's
        domain, or `contracts`.
        """
        contract, dataset = data.contract, data.dataset
        return AssetSpec(
            key=names.asset_key(dataset.key),
            deps=[names.asset_key(source.split(".")) for source in dict.fromkeys(dataset.sources)],
            description=_description(data, self),
            metadata=_metadata(data),
            group_name=names.group_name(contract.domain) if contract.domain else "contracts",
            code_version=data.plan.fingerprint,
            owners=_owners(contract, self)[0],
            tags={names.tag_key(tag): "" for tag in (*contract.tags, *dataset.tags)},
            kinds={"contract", data.source_kind} if data.source_kind else {"contract"},
            freshness_policy=freshness_policy(contract.cadence),
        )

    def get_check_spec(self, data: ContractCheckData) -> AssetCheckSpec:
        """The check of a promise: its name, what it promises in a sentence, and where that is written.

        Only a check of severity `error` can block, whatever `blocking` says of another: Dagster never lets
        a warning stop anything.
        """
        return AssetCheckSpec(
            name=data.check.name,
            asset=data.asset_key,
            description=check_description(data),
            blocking=data.blocking,
        )


def is_blocking(contract: Contract, check: Check, blocking: Blocking) -> bool:
    """Whether a failure of `check` stops what is downstream: never in a draft, never for a warning.

    `blocking: none` is for everything. Otherwise the rule's own word counts, if it says one, and then the
    setting.
    """
    if blocking == "none" or check.severity != "error" or contract.lifecycle != "active":
        return False
    if check.blocking is not None:
        return check.blocking
    return blocking == "errors" or check.section in blocking


def known_blocking(blocking: Blocking) -> Blocking:
    """The setting, if it is one. Raises `ValueError` with what would be right."""
    given = (blocking,) if isinstance(blocking, str) else tuple(blocking)
    allowed = ("errors", "none") if isinstance(blocking, str) else _SECTIONS
    for one in given:
        if one not in allowed:
            raise ValueError(f"blocking is 'errors', 'none' or sections among {', '.join(_SECTIONS)}, not {one!r}")
    return blocking


def place(file: str, location: Location) -> str:
    """Where a promise is written, for people: `contracts/orders.odcs.yaml:23`."""
    return f"{file}:{location.line}"


def _short_place(file: str, location: Location) -> str:
    """The place without its folder, for tables, which a page does not wrap: the asset has the path as well."""
    return place(file.rpartition("/")[2], location)


# --------------------------------------------------------------------------- the check


def check_description(data: ContractCheckData) -> str:
    """One sentence with the threshold, the SQL if the contract states it, and the place."""
    check = data.check
    sentence = " ".join((check.description or check.title or _subject(check)).split())
    sentence = sentence.rstrip(".") + "."
    expected = f" Expected: {_expected(check)}." if check.expected else ""
    queries = [metric.sql for metric in check.metrics if isinstance(metric, Query)]
    sql = f"\n\n{fenced(queries[0], 'sql')}" if queries else ""
    notes = "".join(f"\n\n{note}" for note in check.notes)
    return f"{sentence}{expected}{sql}{notes}\n\n`{place(data.file, check.location)}`"


def _subject(check: Check) -> str:
    metric = check.metrics[0] if check.metrics else None
    if isinstance(metric, Violations) and check.column:
        return f"`{check.column}`: {condition_text(metric.condition)}"
    return f"`{check.rule}` of `{check.column}`" if check.column else f"`{check.rule}` of the dataset"


def _expected(check: Check) -> str:
    """What is expected in words that stand alone: `rows = 0` where the threshold says `= 0`."""
    if not isinstance(check.judgement, Thresholds) or check.expected != expected_text(check.judgement):
        return check.expected
    match check.metrics[0]:
        case RowCount():
            subject = "row count"
        case Violations():
            subject = "values that are not so"
        case DuplicateKeys():
            subject = "values that recur"
        case OrphanKeys():
            subject = "rows without a match"
        case Aggregate(function):
            subject = {"min": "minimum", "max": "maximum", "avg": "average", "stddev": "standard deviation"}.get(
                function, function
            )
        case Query():
            subject = "result"
        case _:
            subject = ""
    return f"{subject} {check.expected}".strip()


def fenced(text: str, language: str = "") -> str:
    """`text` as a code block of Markdown, whatever backticks are in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.strip()}\n{fence}"


# --------------------------------------------------------------------------- the asset


def _owners(contract: Contract, translator: ContractTranslator) -> tuple[list[str], list[str]]:
    """The owners Dagster can hold, and those it cannot, in words."""
    held: dict[str, None] = {}
    other: list[str] = []
    for one in contract.owners:
        name, kind = names.owner_as_known(
            one.name, one.kind, translator.owner_email_domain, translator.strip_owner_email_domain
        )
        owner = names.owner(name, kind, "" if translator.strip_owner_email_domain else one.address)
        if owner is not None:
            held[owner] = None
        else:
            other.append(" ".join(part for part in (name or one.address, f"({one.role})" if one.role else "") if part))
    return list(held), other


def _description(data: ContractDatasetData, translator: ContractTranslator) -> str:
    contract, dataset = data.contract, data.dataset
    text = dataset.description.strip() or contract.description.strip()
    first = _plain(text) or f"{dataset.name}, as promised by {contract.name or contract.id}"
    # The catalogue shows the beginning raw, so that Markdown comes after it.
    parts = [
        first,
        f"Contract {contract.name or contract.id}{_about(contract)} in {place(data.file, dataset.location)}.",
    ]
    if text and text != first:
        parts.append(text)
    other = _owners(contract, translator)[1]
    if other:
        parts.append(f"Also answerable: {', '.join(other)}.")
    links = list(dict.fromkeys((*contract.links, *dataset.links)))
    if links:
        parts.append("\n".join(f"- {_link(link)}" for link in links))
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    """The first line of a text without Markdown, short enough for the catalogue, where it is shown raw."""
    line = next((stripped for raw in text.splitlines() if (stripped := raw.strip(" #>*-\t"))), "")
    line = line.replace("**", "").replace("`", "")
    if len(line) <= _SUMMARY_LENGTH:
        return line
    return line[: _SUMMARY_LENGTH - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def _about(contract: Contract) -> str:
    about = [part for part in (contract.version, contract.status, contract.data_product) if part]
    return f" ({', '.join(about)})" if about else ""


def _link(link: Link) -> str:
    return f"[{link.title}]({link.url})" if link.title else f"<{link.url}>"


def _metadata(data: ContractDatasetData) -> dict[str, Any]:
    contract, plan, dataset = data.contract, data.plan, data.dataset
    metadata: dict[str, Any] = {
        "dagster/table_name": dataset.physical_name,
        "dagster/code_references": _code_reference(contract.file, dataset.location, data.file),
        "contract/id": contract.id or contract.name,
        "contract/dialect": " ".join(part for part in (contract.dialect, contract.dialect_version) if part),
        "contract/checks": len(plan.checks),
        "contract/clauses": str(trace_dataset(plan, contract.problems)),
    }
    if dataset.columns:
        metadata["dagster/column_schema"] = promised_schema(dataset)
    made_of: list[tuple[str, ...]] = [
        (field_text(path), ", ".join(column.sources))
        for path, column in walk_columns(dataset.columns)
        if column.sources
    ]
    if made_of:
        metadata["contract/column_sources"] = text_table(("column", "made of"), made_of)
    optional: Mapping[str, str] = {
        "contract/version": contract.version,
        "contract/status": contract.status,
        "contract/domain": contract.domain,
        "contract/data_product": contract.data_product,
    }
    metadata |= {key: text for key, text in optional.items() if text}
    respelled = [tag for tag in (*contract.tags, *dataset.tags) if names.tag_key(tag) != tag]
    if respelled:
        metadata["contract/tags"] = ", ".join(dict.fromkeys(respelled))
    if plan.not_checked:
        metadata["contract/not_checked"] = text_table(
            ("place", "section", "reason"),
            [(_short_place(data.file, one.location), one.section, one.reason) for one in plan.not_checked],
        )
    if plan.documented:
        clauses = [f"#### {one.title}\n\n{one.text[:_CLAUSE_LENGTH]}" for one in plan.documented]
        metadata["contract/documented"] = MetadataValue.md("\n\n".join(clauses))
    if contract.problems:
        metadata["contract/problems"] = text_table(
            ("place", "level", "problem", "hint"),
            [(_short_place(data.file, one.location), one.level, one.message, one.hint) for one in contract.problems],
        )
    return metadata


def _code_reference(file: str, location: Location, label: str) -> CodeReferencesMetadataValue:
    with warnings.catch_warnings():
        # The only beta API in use; whoever loads the definitions did not choose it.
        warnings.simplefilter("ignore", BetaWarning)
        reference = LocalFileCodeReference(
            file_path=str(Path(file).absolute()), line_number=location.line, label=place(label, location)
        )
        return CodeReferencesMetadataValue(code_references=[reference])


def text_table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> MetadataValue[Any]:
    """A table of texts, as Dagster shows tables."""
    return MetadataValue.table(
        records=[TableRecord(dict(zip(columns, row, strict=True))) for row in rows],
        schema=TableSchema(columns=[TableColumn(name) for name in columns]),
    )
