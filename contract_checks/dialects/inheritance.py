"""What an asset's contract takes over from the contract of its data product.

Source: OpenMetadata's `getEffectiveDataContract` (1.12). An asset that is in exactly one data product, whose contract
is approved, inherits: the terms of use, the security section and the service levels, each as a whole and only where
its own contract has none; and the semantic rules, of which one of the same name is replaced by its own. The schema
and the tests are never inherited.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from contract_checks.dialects.openmetadata_entity import DATA_PRODUCT
from contract_checks.dialects.openmetadata_reading import join_name, split_name
from contract_checks.errors import Problem
from contract_checks.model import Contract, Dataset, Documented, NotChecked, SemanticRule

INHERITED = "inherited from the contract of the data product"
"""What is said beside every inherited part."""

_DIALECTS = ("openmetadata", "openmetadata_proposal")
_WHOLE = ("$.termsOfUse", "$.security")
_LEVELS = "$.sla"


def inherit(contract: Contract, product: Contract) -> Contract:
    """The contract with what it inherits from that of its data product, every part of which is marked.

    Nothing is inherited from a contract that is not approved.
    """
    if product.lifecycle != "active" or not contract.datasets or not product.datasets:
        return contract
    dataset, source = contract.datasets[0], product.datasets[0]
    shown = [*dataset.documented, *contract.documented]
    left_out = [*dataset.not_checked, *contract.not_checked]
    documented, not_checked = list(contract.documented), list(contract.not_checked)
    for section in _WHOLE:
        if not _states(section, shown, left_out):
            documented += [_marked(one) for one in _all_documented(product) if _is_in(one, section)]
            not_checked += [one for one in _all_not_checked(product) if _is_in(one, section)]
    own_rules = {rule.name for rule in dataset.semantic_rules}
    secured = _states("$.security", shown, left_out)
    rules = tuple(
        replace(rule, inherited=True)
        for rule in source.semantic_rules
        if rule.name not in own_rules and not (secured and _is_in(rule, "$.security"))
    )
    expectations, cadence = dataset.expectations, contract.cadence
    has_levels = cadence is not None or any(one.section == "sla" for one in expectations)
    if not has_levels and not _states(_LEVELS, shown, left_out):
        cadence = product.cadence
        levels = [one for one in source.expectations if one.section == "sla"]
        expectations += tuple(replace(one, notes=(*one.notes, INHERITED)) for one in levels)
        not_checked += [one for one in _all_not_checked(product) if _is_in(one, _LEVELS)]
        documented += [_marked(one) for one in _all_documented(product) if _is_in(one, _LEVELS)]
    made = replace(dataset, semantic_rules=(*rules, *dataset.semantic_rules), expectations=expectations)
    return replace(
        contract,
        datasets=(made, *contract.datasets[1:]),
        cadence=cadence,
        documented=tuple(documented),
        not_checked=tuple(not_checked),
    )


def settle(contracts: Sequence[Contract]) -> tuple[Contract, ...]:
    """Contracts that were read together, each with what it inherits from that of its data product.

    The service levels of a data product are those of its assets; of the product itself they are not checked.
    """
    products = [one for one in contracts if _is_product(one)]
    if not products:
        return tuple(contracts)
    return tuple(_as_product(one) if _is_product(one) else _settled(one, products) for one in contracts)


def _settled(contract: Contract, products: Sequence[Contract]) -> Contract:
    named = contract.data_products or ((contract.data_product,) if contract.data_product else ())
    if contract.dialect not in _DIALECTS or not named:
        return contract
    found = [one for one in products if any(_is_about(one, name) for name in named)]
    if not found:
        return contract
    if len(named) > 1:
        message = f"it is in {len(named)} data products, so that it inherits from none: {', '.join(named)}"
        problem = Problem(message, contract.location, "warning", "OpenMetadata inherits from exactly one")
        return replace(contract, problems=(*contract.problems, problem))
    if len(found) > 1:
        files = ", ".join(one.file for one in found)
        problem = Problem(f"the data product '{named[0]}' has several contracts: {files}", contract.location, "warning")
        return replace(contract, problems=(*contract.problems, problem))
    (product,) = found
    if product.lifecycle != "active":
        message = f"nothing is inherited from the contract of '{named[0]}', which is {product.status or 'a draft'}"
        problem = Problem(message, contract.location, "warning", "OpenMetadata inherits from an approved one only")
        return replace(contract, problems=(*contract.problems, problem))
    return inherit(contract, product)


def _is_product(contract: Contract) -> bool:
    return contract.dialect in _DIALECTS and any(one.entity_type == DATA_PRODUCT for one in contract.datasets)


def _is_about(product: Contract, name: str) -> bool:
    """Whether a contract is that of the data product of that name, its full one or its last part."""
    key = product.datasets[0].key
    return name in (join_name(key), key[-1] if key else "") or split_name(name) == key


def _as_product(contract: Contract) -> Contract:
    """The contract of a data product, whose service levels are for its assets to keep."""
    return replace(contract, datasets=tuple(_without_levels(one) for one in contract.datasets))


def _without_levels(dataset: Dataset) -> Dataset:
    levels = [one for one in dataset.expectations if one.section == "sla"]
    reason = "it is promised of the assets of the data product, which inherit it"
    kept = tuple(one for one in dataset.expectations if one not in levels)
    left_out = tuple(NotChecked(one.location, f"{one.rule}: {reason}", "sla") for one in levels)
    return replace(dataset, expectations=kept, not_checked=(*dataset.not_checked, *left_out))


def _all_documented(contract: Contract) -> tuple[Documented, ...]:
    return (*contract.documented, *(one for dataset in contract.datasets for one in dataset.documented))


def _all_not_checked(contract: Contract) -> tuple[NotChecked, ...]:
    return (*contract.not_checked, *(one for dataset in contract.datasets for one in dataset.not_checked))


def _is_in(clause: Documented | NotChecked | SemanticRule, section: str) -> bool:
    path = clause.location.path
    return path == section or path.startswith((f"{section}.", f"{section}["))


def _states(section: str, *listed: Iterable[Documented | NotChecked]) -> bool:
    return any(_is_in(one, section) for clauses in listed for one in clauses)


def _marked(clause: Documented) -> Documented:
    return replace(clause, title=f"{clause.title} ({INHERITED})")
