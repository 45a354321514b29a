"""A contract that cannot be used, as an asset of its own: red, with every problem and its line.

It stands beside the others and takes none of them down; and where its asset key is known, it stays in
the way of whatever is downstream.
"""

# Dagster reads the annotations of an op, so they are not postponed in this module.
from collections.abc import Iterator
from dataclasses import dataclass

from dagster import (
    AssetCheckKey,
    AssetCheckResult,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    MaterializeResult,
    multi_asset,
)

from contract_checks.dagster_defs.translator import place, text_table
from contract_checks.errors import Problem
from contract_checks.model import Contract

GROUP = "broken_contracts"
CHECK = "contract__readable"
_LISTED = 40


@dataclass(frozen=True)
class Broken:
    """A contract file, or a dataset of one, that cannot become an asset of its own making.

    `contract` is there if the file could be read, `owners` if it got so far that they are known as Dagster
    takes them.
    """

    key: AssetKey
    file: str
    problems: tuple[Problem, ...]
    contract: Contract | None = None
    owners: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All problems, one a line, for people."""
        lines = [f"- {problem_text(problem, self.file)}" for problem in self.problems[:_LISTED]]
        if len(self.problems) > _LISTED:
            lines.append(f"- … and {len(self.problems) - _LISTED} more")
        count = f"{len(self.problems)} problem{'' if len(self.problems) == 1 else 's'}"
        return "\n".join([f"{self.file} cannot be used: {count}.", "", *lines])


def problem_text(problem: Problem, file: str) -> str:
    """A problem in one line, with the file as people are shown it."""
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{place(file, problem.location)} `{problem.location.path}`: {problem.message}{hint}"


def broken_asset(broken: Broken, op_name: str, blocks: bool) -> AssetsDefinition:
    """The asset that shows a broken contract; its one check fails until the contract is mended."""
    check = AssetCheckKey(broken.key, CHECK)

    @multi_asset(
        name=op_name,
        specs=[
            AssetSpec(
                broken.key,
                group_name=GROUP,
                kinds={"contract", "broken"},
                description=broken.text,
                owners=broken.owners,
            )
        ],
        check_specs=[
            AssetCheckSpec(
                CHECK,
                asset=broken.key,
                blocking=blocks,
                description=f"The contract can be read and makes sense.\n\n`{broken.file}`",
            )
        ],
        can_subset=True,
    )
    def step(context: AssetExecutionContext) -> Iterator[AssetCheckResult | MaterializeResult[None]]:
        asked = broken.key in context.selected_asset_keys
        if check in context.selected_asset_check_keys or (asked and blocks):
            context.log.error(broken.text)
            yield AssetCheckResult(
                asset_key=broken.key,
                check_name=CHECK,
                passed=False,
                description=broken.text,
                metadata={
                    "outcome": "errored",
                    "problems": text_table(
                        ("place", "path", "problem", "hint"),
                        [
                            (place(broken.file, one.location), one.location.path, one.message, one.hint)
                            for one in broken.problems[:_LISTED]
                        ],
                    ),
                },
            )
        if asked and not blocks:
            yield MaterializeResult(asset_key=broken.key)

    return step
