"""Rules about metadata see what Dagster knows of an asset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg
from builders import contract_of
from databases import Put
from pipelines import Ran, run

from contract_checks.dagster_defs import build_contract_checks, build_definitions, match_contracts
from contract_checks.model import Contract, Dataset

SPEC = {
    "owners": ["team:sales", "ann@example.com"],
    "tags": {"tier": "1"},
    "description": "Every order.",
    "metadata": {
        "dagster/column_schema": dg.TableSchema([dg.TableColumn("id", description="The number of the order.")])
    },
}


def contract(*rules: tuple[str, str]) -> Contract:
    """A contract of OpenMetadata with rules, each a name and its JSON Logic."""
    text = "".join(f"  - name: {name}\n    description: {name}\n    rule: '{rule}'\n" for name, rule in rules)
    return contract_of(
        "name: t\nid: 9f6a2c1e-8f5e-4a68-9e0d-0a8d6f1f2a11\nentity: {id: 9f6a2c1e-8f5e-4a68-9e0d-0a8d6f1f2a12, "
        f"type: table, fullyQualifiedName: t}}\nentityStatus: Approved\nsemantics:\n{text}",
        "t.yaml",
    )


RULES = contract(
    ("owned", '{"==": [{"var": "owners.0.name"}, "sales"]}'),
    ("tagged", '{"some": [{"var": "tags"}, {"==": [{"var": "tagFQN"}, "tier.1"]}]}'),
    ("described", '{"!!": {"var": "description"}}'),
    ("columns described", '{"all": [{"var": "columns"}, {"!!": {"var": "description"}}]}'),
)


def names(ran: Ran) -> list[str]:
    """The rules that failed."""
    return [name.removeprefix("semantics__") for name in ran.failed]


def test_rules_see_a_matched_asset(put: Put) -> None:
    """Owners, tags, description and columns of an asset that exists already are what its rules are about."""
    source = put("duckdb", "SELECT 1 AS id")

    @dg.asset(key="t", **SPEC)  # type: ignore[call-overload, untyped-decorator]
    def good() -> None: ...

    @dg.asset(key="t")
    def bare() -> None: ...

    def matched(asset: dg.AssetsDefinition) -> list[str]:
        definitions = match_contracts(dg.Definitions(assets=[asset]), RULES, source=source).definitions
        job = definitions.resolve_implicit_global_asset_job_def()
        with dg.DagsterInstance.ephemeral() as instance:
            done = job.execute_in_process(instance=instance, raise_on_error=False)
        return sorted(one.check_name for one in done.get_asset_check_evaluations() if not one.passed)

    assert matched(good) == []
    assert len(matched(bare)) == 4


def test_rules_see_the_definition_of_an_asset(put: Put) -> None:
    """`build_contract_checks` looks at the definition it is given."""
    source = put("duckdb", "SELECT 1 AS id")

    @dg.asset(key="t", **SPEC)  # type: ignore[call-overload, untyped-decorator]
    def t() -> None: ...

    assert names(run(dg.Definitions(), more=[t, build_contract_checks(RULES, asset=t, source=source)])) == []


def test_a_contract_does_not_answer_for_itself(put: Put) -> None:
    """What the asset of a contract shows was made of the contract: a description made up for it is none."""
    ran = run(build_definitions(RULES, source=put("duckdb", "SELECT 1 AS id")), more=[])

    assert "described" in names(ran)


def test_metadata_can_come_from_elsewhere(put: Put) -> None:
    """A provider of one's own is asked inside the run."""

    class Handwritten:
        def entity(self, dataset: Dataset, contract: Contract) -> Mapping[str, Any]:
            return {
                "owners": [{"name": "sales"}],
                "tags": [{"tagFQN": "tier.1"}],
                "description": dataset.name,
                "columns": [{"name": "id", "description": "x"}],
            }

    source = put("duckdb", "SELECT 1 AS id")
    assert names(run(build_definitions(RULES, source=source, metadata=Handwritten()), more=[])) == []
