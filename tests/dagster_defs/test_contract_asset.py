"""`@contract_asset`: a function makes the data, its contract decides whether it counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builders import contract_of, odcs
from databases import Put
from pipelines import ORDERS, RULES, orders_contract
from sqlalchemy import create_engine

from contract_checks.dagster_defs import contract_asset
from contract_checks.errors import ContractError, SourceError
from contract_checks.model import Cadence, Duration

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

GOOD = pa.table({"id": list(range(1, 11)), "amount": [1.5] * 10})
TOO_FEW = pa.table({"id": [1], "amount": [2.0]})


@dg.asset(deps=[ORDERS])
def revenue() -> None:
    """Is computed from the orders."""


@dataclass(frozen=True)
class Ran:
    success: bool
    checks: dict[str, dg.AssetCheckEvaluation]
    events: tuple[str, ...]
    materialized: dict[str, dg.AssetMaterialization]
    observed: dict[str, dg.AssetObservation]
    output: Any
    log: tuple[str, ...]


def run(asset: dg.AssetsDefinition, *more: Any, selection: Any = None, instance: Any = None, **settings: Any) -> Ran:
    """Run an asset and what is downstream of it."""
    owned = instance or dg.DagsterInstance.ephemeral()
    try:
        done = dg.materialize(
            [asset, revenue, *more], selection=selection, instance=owned, raise_on_error=False, **settings
        )
        log = tuple(entry.user_message for entry in owned.all_logs(done.run_id))
    finally:
        if instance is None:
            owned.dispose()
    interesting = ("ASSET_MATERIALIZATION", "ASSET_CHECK_EVALUATION", "ASSET_OBSERVATION")
    own = [one for one in done.all_events if one.event_type_value in interesting]
    return Ran(
        done.success,
        {one.check_name: one for one in done.get_asset_check_evaluations()},
        tuple(one.event_type_value.removeprefix("ASSET_").lower() for one in own),
        {
            one.materialization.asset_key.to_user_string(): one.materialization
            for one in done.get_asset_materialization_events()
        },
        {
            one.event_specific_data.asset_observation.asset_key.to_user_string(): (
                one.event_specific_data.asset_observation
            )
            for one in own
            if one.event_type_value == "ASSET_OBSERVATION"
        },
        done.output_for_node(*[asset.op.name] * 2) if done.success and selection is None else None,
        log,
    )


def returning(value: Any, **settings: Any) -> dg.AssetsDefinition:
    """An asset whose function returns a value."""

    @contract_asset(orders_contract(), retry_wait=0, **settings)
    def orders() -> Any:
        """Makes the orders."""
        return value

    return orders


FRAMES: dict[str, Any] = {
    "pandas": lambda table: table.to_pandas(),
    "polars": lambda table: pl.from_arrow(table),
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "arrow": lambda table: table,
    "arrow reader": lambda table: table.to_reader(),
    "result": lambda table: dg.MaterializeResult(value=table, metadata={"own": 1}),
    "output": lambda table: dg.Output(table, metadata={"own": 1}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_returned_data_is_checked_and_then_kept(kind: str) -> None:
    """Data that keeps its promises is checked first, then handed to the I/O manager, and the rest runs."""
    ran = run(returning(FRAMES[kind](GOOD)))

    assert ran.success, ran.log
    assert sorted(ran.checks) == RULES
    assert ran.events == (*["check_evaluation"] * 4, "materialization", "materialization")
    metadata = ran.materialized["warehouse/orders"].metadata
    assert metadata["contract/status"].value == "compliant"
    assert metadata["dagster/row_count"].value == 10
    assert ("own" in metadata) is (kind in ("result", "output"))
    assert type(ran.output).__name__ == {"polars lazy": "LazyFrame", "pandas": "DataFrame", "polars": "DataFrame"}.get(
        kind, "Table"
    )


@pytest.mark.parametrize("kind", FRAMES)
def test_returned_data_that_breaks_its_contract_goes_nowhere(kind: str) -> None:
    """Data that breaks a blocking promise is neither kept nor recorded, and nothing downstream runs."""
    ran = run(returning(FRAMES[kind](TOO_FEW)))

    assert not ran.success
    assert [name for name, one in ran.checks.items() if not one.passed] == ["quality__row_count"]
    assert not ran.materialized
    assert ran.observed["warehouse/orders"].metadata["contract/status"].value == "partially_violated"
    assert any("1 blocking promise broken" in line for line in ran.log)


def test_a_draft_keeps_what_it_finds_wrong() -> None:
    """The data of a draft is kept whatever its checks say."""

    @contract_asset(orders_contract(lifecycle="draft"))
    def orders() -> Any:
        return TOO_FEW

    ran = run(orders)

    assert ran.success
    assert not ran.checks["quality__row_count"].passed


@pytest.mark.parametrize("value", [5, "orders", [1], {"id": [1]}])
def test_anything_else_is_an_error(value: Any) -> None:
    """A function that returns neither data nor nothing fails and is told what is expected; nothing is recorded."""
    ran = run(returning(value))

    assert not ran.success
    assert not ran.events


def test_data_without_types_leaves_every_check_errored() -> None:
    """Data that cannot be read is no verdict: every check says so, and nothing is kept."""
    ran = run(returning(pd.DataFrame({"id": [1, "x"], "amount": [1.0, 2.0]})))

    assert not ran.success
    assert all("Could not evaluate" in (one.description or "") for one in ran.checks.values())
    assert len(ran.checks) == 4


# --------------------------------------------------------------------------- how functions look


class Place(dg.ConfigurableResource["Place"]):
    rows: int = 10


class Wanted(dg.Config):
    amount: float = 1.0


def test_a_function_has_what_assets_have() -> None:
    """Context, upstream assets, resources, a config and a docstring are those of Dagster's own assets."""

    @dg.asset
    def start() -> int:
        return 1

    @contract_asset(orders_contract(), deps=["other"])
    def orders(context: dg.AssetExecutionContext, start: int, place: Place, config: Wanted) -> Any:
        """Makes orders."""
        assert context.asset_key == ORDERS
        ids = list(range(start, start + place.rows))
        return pa.table({"id": ids, "amount": [config.amount] * len(ids)})

    ran = run(orders, start, resources={"place": Place()})

    assert ran.success, ran.log
    assert {key.to_user_string() for key in orders.asset_deps[ORDERS]} == {"start", "other"}
    assert orders.op.description == "Makes orders."


def test_rules_of_a_produced_asset_may_be_grouped() -> None:
    """With `group_by` the rules of a section are one check, whose worst rule decides whether data is kept."""
    broken = run(returning(TOO_FEW, group_by="section"))
    kept = run(returning(GOOD, group_by="section"))

    assert sorted(kept.checks) == sorted(broken.checks) == ["quality__row_count", "schema__all"]
    assert kept.success
    assert not broken.materialized


def test_functions_that_measure_reach_a_produced_asset(put: Put) -> None:
    """What is registered to measure a promise measures that of a produced asset as well."""
    churn = Path(__file__).parents[1] / "examples" / "valid" / "openmetadata_proposal" / "churn_prediction_model.yaml"
    source = put("duckdb", "SELECT 1 AS tenure_months", "model_predictions")

    @contract_asset(churn, metrics={"AUC": lambda request: 0.7}, source=source)
    def model() -> None:
        """Trains a model."""

    ran = run(model)

    assert not ran.checks["quality__minimum_model_auc"].passed
    assert ran.checks["quality__minimum_model_auc"].metadata["measured"].value == 0.7


def test_an_asset_may_have_another_key(tmp_path: Path) -> None:
    """The key is the contract's unless another is given, and a path will do for the contract."""
    file = tmp_path / "orders.yaml"
    file.write_text(odcs("[{name: id, logicalType: integer, required: true}]", name="orders"))

    @contract_asset(file, key="raw/orders", automation_condition=dg.AutomationCondition.eager())
    def anything() -> Any:
        return GOOD

    assert anything.key == dg.AssetKey(["raw", "orders"])
    assert anything.specs_by_key[anything.key].automation_condition is not None


def test_what_cannot_work_is_said_at_once() -> None:
    """Generators, a staging table without a database, unknown datasets and databases are errors at definition."""
    decorate = contract_asset(orders_contract())

    def generator() -> Any:
        yield GOOD

    def stages(staging: str) -> None: ...

    with pytest.raises(ValueError, match="not to yield"):
        decorate(generator)
    with pytest.raises(ValueError, match="no publish_to="):
        decorate(stages)
    with pytest.raises(ValueError, match="no dataset 'x'"):
        contract_asset(orders_contract(), dataset="x")
    with pytest.raises(SourceError, match="only"):
        contract_asset(orders_contract(), publish_to="mysql+pymysql://host/db")
    with pytest.raises(ContractError):
        contract_asset(Path(__file__).parents[1] / "examples" / "invalid" / "document" / "tab_indents.yaml")


# --------------------------------------------------------------------------- checks alone


CHECKS = dg.AssetSelection.checks_for_assets(ORDERS)


def test_checks_alone_look_at_what_was_kept(tmp_path: Path) -> None:
    """Checks without the asset load what the I/O manager kept, and do not call the function."""
    calls: list[int] = []

    @contract_asset(orders_contract())
    def orders() -> Any:
        calls.append(1)
        return GOOD

    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        before = run(orders, selection=CHECKS, instance=instance)
        run(orders, instance=instance)
        after = run(orders, selection=CHECKS, instance=instance)

    assert all("cannot be loaded" in (one.description or "") for one in before.checks.values())
    assert after.success
    assert sorted(after.checks) == RULES
    assert calls == [1]


# --------------------------------------------------------------------------- functions that write


def writes(url: str, rows: int, **settings: Any) -> dg.AssetsDefinition:
    """An asset whose function writes the table itself."""

    @contract_asset(orders_contract(), source=url, retry_wait=0, **settings)
    def orders(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        fill(url, "orders", rows)
        return dg.MaterializeResult(metadata={"written": rows})

    return orders


def fill(url: str, table: str, rows: int) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table}")
        connection.exec_driver_sql(f"CREATE TABLE {table} (id INTEGER, amount DOUBLE PRECISION)")
        for number in range(rows):
            connection.exec_driver_sql(f"INSERT INTO {table} VALUES ({number}, 1.5)")
    engine.dispose()


def count(url: str, table: str = "orders") -> int:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(f"SELECT COUNT(*) FROM {table}").scalar_one()
    engine.dispose()
    return int(found)


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        return str(server.url(request.getfixturevalue("postgres_database")))
    return f"{request.param}:///{tmp_path / 'db'}"


def test_a_written_table_is_recorded_and_then_checked(url: str) -> None:
    """Data that was written is materialized first, with what the contract says of it; a broken promise blocks."""
    good, bad = run(writes(url, 10)), run(writes(url, 1))

    assert good.success
    assert good.events[0] == "materialization"
    assert good.materialized["warehouse/orders"].metadata["written"].value == 10
    assert not bad.success
    assert bad.events == ("materialization", *["check_evaluation"] * 4)
    assert set(bad.materialized) == {"warehouse/orders"}
    assert bad.materialized["warehouse/orders"].metadata["contract/status"].value == "partially_violated"


# --------------------------------------------------------------------------- write, audit, publish


def test_only_rows_that_keep_the_contract_are_published(url: str) -> None:
    """Broken data never reaches the table; it is set aside, and consumers go on with the rows there were."""
    good = run(returning(GOOD, publish_to=url))
    bad = run(returning(TOO_FEW, publish_to=url))

    assert good.success, good.log
    assert good.events == (*["check_evaluation"] * 4, "materialization", "materialization")
    assert not bad.success
    assert not bad.materialized
    assert bad.observed["warehouse/orders"].metadata["dagster/row_count"].value == 1
    assert (count(url), count(url, "orders__rejected")) == (10, 1)
    assert any("orders__rejected" in line for line in bad.log)


def test_a_function_may_write_the_staging_table(url: str) -> None:
    """A function that takes `staging` writes that table, which is published if it keeps the contract."""

    def made(rows: int) -> dg.AssetsDefinition:
        @contract_asset(orders_contract(), publish_to=url, retry_wait=0)
        def orders(staging: str) -> None:
            assert count_of_tables(url, "orders") == (0 if rows == 10 else 1)
            fill(url, staging, rows)

        return orders

    assert run(made(10)).success
    assert not run(made(2)).success
    assert count(url) == 10


def count_of_tables(url: str, name: str) -> int:
    from sqlalchemy import inspect

    engine = create_engine(url)
    found = inspect(engine).get_table_names().count(name)
    engine.dispose()
    return found


def test_a_contracts_own_query_asks_the_new_rows(url: str) -> None:
    """SQL and foreign keys of a contract that name the table are asked of the rows that wait, not of the old ones."""
    asked = [{"id": "many", "type": "sql", "query": "SELECT COUNT(*) FROM orders WHERE orders.id > 0", "mustBe": 10}]
    columns = [
        {"name": "id", "logicalType": "integer", "primaryKey": True, "primaryKeyPosition": 1},
        {"name": "amount", "logicalType": "integer", "relationships": [{"type": "foreignKey", "to": "orders.id"}]},
    ]
    contract = contract_of(odcs(columns, asked, name="orders"))

    def made(frame: Any) -> dg.AssetsDefinition:
        return contract_asset(contract, publish_to=url, retry_wait=0)(lambda: frame)

    numbers = list(range(1, 11))
    good = run(made(pa.table({"id": numbers, "amount": numbers})))
    bad = run(made(pa.table({"id": [50], "amount": [1]})))

    assert good.success, [one.description for one in good.checks.values()]
    assert sorted(name for name, one in bad.checks.items() if not one.passed) == [
        name for name in sorted(bad.checks) if "many" in name or "foreign" in name or "relationship" in name
    ]
    assert count(url) == 10


def test_a_function_that_fails_leaves_nothing_behind(url: str) -> None:
    """When the function raises after it wrote, the staging table is gone and the published one as it was."""
    run(returning(GOOD, publish_to=url))

    @contract_asset(orders_contract(), publish_to=url)
    def orders(staging: str) -> None:
        fill(url, staging, 3)
        raise RuntimeError("the end")

    ran = run(orders)
    engine = create_engine(url)
    with engine.connect() as connection:
        names = {*connection.dialect.get_table_names(connection)}
    engine.dispose()

    assert not ran.success
    assert not ran.events
    assert names == {"orders"}
    assert count(url) == 10


def test_checks_alone_look_at_the_published_table(url: str) -> None:
    """Without the asset the checks read what was published."""
    run(returning(GOOD, publish_to=url))
    ran = run(returning(TOO_FEW, publish_to=url), selection=CHECKS)

    assert ran.success
    assert sorted(ran.checks) == RULES
    assert ran.events == ("check_evaluation",) * 4


def test_a_deadline_without_a_column_is_kept_by_making_it() -> None:
    """Where only Dagster knows when data came, making the asset in time keeps the deadline."""

    @contract_asset(orders_contract(cadence=Cadence(Duration(1, "day"), time_of_day="09:00")))
    def orders() -> Any:
        return GOOD

    ran = run(orders)

    assert ran.success
    assert ran.checks["sla__materialized_in_time"].passed


def test_results_lead_to_the_rows_where_they_are(url: str) -> None:
    """The SQL and the words of a result name the rejected table or the published one, not the one that is gone."""
    good = run(returning(GOOD, publish_to=url))
    bad = run(returning(TOO_FEW, publish_to=url))
    told = [str(one.metadata) + str(one.description) for ran in (good, bad) for one in ran.checks.values()]

    assert not [one for one in told if "__staging" in one]
    assert "orders__rejected" in str(bad.checks["quality__row_count"].metadata["sql"].value)


DAILY = dg.DailyPartitionsDefinition("2024-01-01")


def test_returned_data_is_that_of_the_partition() -> None:
    """In a run of a partition, what the function returns is that partition's, and every result says so."""

    @contract_asset(orders_contract(), partitions=DAILY)
    def orders(context: dg.AssetExecutionContext) -> Any:
        assert context.partition_key == "2024-01-02"
        return GOOD

    with dg.DagsterInstance.ephemeral() as instance:
        done = dg.materialize([orders], partition_key="2024-01-02", instance=instance)
    (event,) = done.get_asset_materialization_events()

    assert event.partition == "2024-01-02"
    assert all("(partition 2024-01-02)" in (one.description or "") for one in done.get_asset_check_evaluations())


def test_a_whole_table_is_never_taken_for_a_partition(tmp_path: Path) -> None:
    """Where no column tells partitions apart, results about a written table say that they are about all of it."""
    url = f"duckdb:///{tmp_path / 'db'}"

    @contract_asset(orders_contract(), partitions=DAILY, source=url)
    def orders() -> None:
        fill(url, "orders", 10)

    with dg.DagsterInstance.ephemeral() as instance:
        done = dg.materialize([orders], partition_key="2024-01-02", instance=instance)
    counted = {one.check_name: one.description or "" for one in done.get_asset_check_evaluations()}

    assert "whole table, not a partition" in counted["quality__row_count"]
    with pytest.raises(ValueError, match="exchanges a whole table"):
        contract_asset(orders_contract(), partitions=DAILY, publish_to=url)
