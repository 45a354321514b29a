"""What happens when the asset of a contract runs, as a whole or in part."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from databases import Put
from pipelines import GOOD, NEGATIVE, NO_AMOUNT, ORDERS, RULES, TOO_FEW, orders_contract, run_orders

from contract_checks import sources
from contract_checks.errors import SourceError
from contract_checks.model import Dataset
from contract_checks.sources import Session, Source

WHOLE = dg.AssetSelection.all()
ASSET_ONLY = dg.AssetSelection.assets(ORDERS).without_checks() | dg.AssetSelection.assets("revenue")
CHECKS_ONLY = dg.AssetSelection.checks_for_assets(ORDERS)
ONE_CHECK = dg.AssetSelection.checks(dg.AssetCheckKey(ORDERS, "schema__id__required"))


@pytest.mark.parametrize("place", ["duckdb", "sqlite", "parquet"])
def test_good_data_is_published_and_what_is_downstream_runs(put: Put, place: str) -> None:
    """Data that keeps its promises is materialized with its row count, and the rest runs."""
    ran = run_orders(orders_contract(version="1.2.0"), put(place, GOOD, "orders"))

    assert ran.success
    assert sorted(ran.checks) == RULES
    assert set(ran.materialized) == {"warehouse/orders", "revenue"}
    metadata = ran.materialized["warehouse/orders"].metadata
    assert metadata["dagster/row_count"].value == 10
    assert metadata["contract/status"].value == "compliant"
    assert metadata["contract/score"].value == 1.0
    assert metadata["contract/version"].value == "1.2.0"
    assert [column.name for column in metadata["dagster/column_schema"].value.columns] == ["id", "amount"]


def test_a_broken_promise_closes_the_gate(put: Put) -> None:
    """A failed blocking check keeps the asset from being materialized and stops what is downstream."""
    ran = run_orders(orders_contract(), put("duckdb", TOO_FEW, "orders"))

    assert not ran.success
    assert ran.failed == ["quality__row_count"]
    assert sorted(ran.checks) == RULES
    assert not ran.materialized


def test_a_closed_gate_leaves_an_observation(put: Put) -> None:
    """When nothing is materialized, an observation carries what the materialization would have said."""
    ran = run_orders(orders_contract(), put("duckdb", TOO_FEW, "orders"))

    metadata = ran.observed["warehouse/orders"].metadata
    assert metadata["contract/status"].value == "partially_violated"
    assert metadata["dagster/row_count"].value == 1
    assert "`quality__row_count` (failed)" in str(metadata["contract/summary"].value)


def test_the_log_names_broken_promises_before_the_trace(put: Put) -> None:
    """One line of the log says which promises are broken, before Dagster's own error."""
    ran = run_orders(orders_contract(), put("duckdb", TOO_FEW, "orders"))

    (line,) = [one for one in ran.log if "blocking promise broken" in one]
    assert "contracts/orders.yaml" in line
    assert "quality__row_count" in line
    assert ran.log.index(line) < ran.log.index('Execution of step "contract__warehouse__orders" failed.')


def test_a_warning_never_blocks(put: Put) -> None:
    """A failed check of severity warning fails as WARN, and everything runs."""
    ran = run_orders(orders_contract(), put("duckdb", NEGATIVE, "orders"))

    assert ran.success
    assert ran.failed == ["schema__amount__minimum"]
    assert ran.checks["schema__amount__minimum"].severity is dg.AssetCheckSeverity.WARN
    assert set(ran.materialized) == {"warehouse/orders", "revenue"}


def test_a_draft_never_blocks(put: Put) -> None:
    """The promises of a draft are evaluated, and nothing waits for them."""
    ran = run_orders(orders_contract(lifecycle="draft"), put("duckdb", TOO_FEW, "orders"))

    assert ran.success
    assert ran.failed == ["quality__row_count"]
    assert set(ran.materialized) == {"warehouse/orders", "revenue"}


def test_a_check_that_cannot_be_evaluated_blocks(put: Put) -> None:
    """An errored check of severity error fails closed, and says that it was not evaluated."""
    ran = run_orders(orders_contract(minimum="error"), put("duckdb", NO_AMOUNT, "orders"))

    errored = ran.checks["schema__amount__minimum"]
    assert not ran.success
    assert not ran.materialized
    assert not errored.passed
    assert (errored.description or "").startswith("Could not evaluate")
    assert errored.metadata["outcome"].value == "errored"
    assert ran.checks["schema__id__required"].passed


def test_a_check_that_does_not_apply_is_not_taken_for_a_verdict(put: Put) -> None:
    """A skipped check passes for Dagster, and says that it was skipped."""
    contract = orders_contract()
    dataset = contract.datasets[0]
    relaxed = replace(dataset, expectations=tuple(replace(one, if_present=True) for one in dataset.expectations))
    ran = run_orders(contract.with_datasets((relaxed,)), put("duckdb", NO_AMOUNT, "orders"))

    skipped = ran.checks["schema__amount__minimum"]
    assert skipped.passed
    assert (skipped.description or "").startswith("Skipped")
    assert skipped.metadata["outcome"].value == "skipped"


def test_checks_alone_materialize_nothing(put: Put) -> None:
    """A run of the checks only evaluates all of them and records no materialization."""
    ran = run_orders(orders_contract(), put("duckdb", GOOD, "orders"), CHECKS_ONLY)

    assert ran.success
    assert sorted(ran.checks) == RULES
    assert not ran.materialized


def test_one_check_alone_asks_its_own_question_only(put: Put) -> None:
    """A run of one check evaluates that check, with no more statements than it needs."""
    ran = run_orders(orders_contract(), put("duckdb", TOO_FEW, "orders"), ONE_CHECK)

    assert ran.success
    assert list(ran.checks) == ["schema__id__required"]
    (line,) = [one for one in ran.log if "evaluated in" in one]
    assert line.startswith("1 promise of 'orders'")
    assert line.endswith("with 1 statement.")


def test_the_asset_without_its_checks_is_gated_all_the_same(put: Put) -> None:
    """Whoever leaves the blocking checks out of the selection does not get past them."""
    contract = orders_contract()
    bad = run_orders(contract, put("duckdb", TOO_FEW, "orders"), ASSET_ONLY)
    good = run_orders(contract, put("sqlite", GOOD, "orders"), ASSET_ONLY)

    assert not bad.success
    assert bad.failed == ["quality__row_count"]
    assert not bad.materialized
    assert good.success
    assert set(good.materialized) == {"warehouse/orders", "revenue"}


def test_publishing_always_records_broken_data(put: Put) -> None:
    """With `publish="always"` the materialization is recorded, and what is downstream still waits."""
    ran = run_orders(orders_contract(), put("duckdb", TOO_FEW, "orders"), publish="always")

    assert not ran.success
    assert set(ran.materialized) == {"warehouse/orders"}


def test_blocking_can_be_switched_off(put: Put) -> None:
    """With `blocking="none"` a failed check is shown, and nothing is stopped."""
    ran = run_orders(orders_contract(), put("duckdb", TOO_FEW, "orders"), blocking="none")

    assert ran.success
    assert ran.failed == ["quality__row_count"]
    assert set(ran.materialized) == {"warehouse/orders", "revenue"}


class Interrupted(Source):
    """A real source that fails a number of times before it answers."""

    def __init__(self, behind: str, failures: int, error: Exception) -> None:
        self.name = "interrupted"
        self.behind, self.failures, self.error = behind, failures, error

    @contextmanager
    def session(self, datasets: Sequence[Dataset]) -> Iterator[Session]:
        self.failures -= 1
        if self.failures >= 0:
            raise self.error
        with sources.resolve(orders_contract(), source=self.behind).session(datasets) as session:
            yield session


def test_a_lost_source_is_asked_again_before_anything_is_said(put: Put) -> None:
    """A source that comes back within the retries costs nothing but time, and no verdict twice."""
    source = Interrupted(put("duckdb", GOOD, "orders"), 2, SourceError("the database is starting"))
    ran = run_orders(orders_contract(), source, retries=2)

    assert ran.success
    assert sum("the database is starting" in line for line in ran.log) == 2


def test_a_source_that_stays_away_leaves_every_check_errored(put: Put) -> None:
    """After the last retry every selected check is errored, and the gate is closed."""
    source = Interrupted(put("duckdb", GOOD, "orders"), 9, SourceError("connection refused"))
    ran = run_orders(orders_contract(), source, retries=1)

    assert not ran.success
    assert ran.failed == RULES
    assert not ran.materialized
    assert source.failures == 7
    assert all("connection refused" in (check.description or "") for check in ran.checks.values())


def test_a_defect_leaves_every_check_errored(put: Put) -> None:
    """An exception nobody foresaw is no verdict: every check is errored, with the cause."""
    source = Interrupted(put("duckdb", GOOD, "orders"), 1, ZeroDivisionError("a defect"))
    ran = run_orders(orders_contract(), source)

    assert not ran.success
    assert ran.failed == RULES
    assert all("a defect" in (check.description or "") for check in ran.checks.values())


def test_a_missing_table_leaves_every_check_errored(put: Put) -> None:
    """Without its table nothing of a dataset can be evaluated, and the table is named."""
    ran = run_orders(orders_contract(), put("duckdb", GOOD, "something_else"))

    assert ran.failed == RULES
    assert not ran.materialized
    assert all("orders" in (check.description or "") for check in ran.checks.values())


_RUN = """
import sys
import dagster as dg
sys.path[:0] = sys.argv[1:3]
from pipelines import orders_contract, run_orders
from contract_checks.sources import resolve
print(len(run_orders(orders_contract(), sys.argv[3]).checks))
"""


@pytest.mark.slow
def test_two_runs_at_once_on_one_duckdb_file_both_end(put: Put) -> None:
    """Two processes that read one DuckDB file at the same time both come to their verdicts."""
    source = put("duckdb", GOOD, "orders")
    here = Path(__file__)
    command: list[Any] = [sys.executable, "-c", _RUN, str(here.parent), str(here.parents[2]), source]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]

    assert [process.communicate(timeout=120)[0].strip() for process in both] == ["4", "4"]


def test_the_log_names_what_is_not_kept_and_stops_nothing(put: Put) -> None:
    """A failed warning has a line of its own in the log, which says that nothing is stopped by it."""
    ran = run_orders(orders_contract(), put("duckdb", NEGATIVE, "orders"))

    (line,) = [one for one in ran.log if "stops nothing" in one]
    assert "schema__amount__minimum" in line
    assert not [one for one in ran.log if "blocking promise" in one]
