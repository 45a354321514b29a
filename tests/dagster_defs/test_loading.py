"""A code location that loads what it loaded before."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from contract_checks import build_definitions
from contract_checks.checks import Settings, plan
from contract_checks.dagster_defs.access import Access
from contract_checks.dagster_defs.loading import gather
from contract_checks.dagster_defs.shelf import put_away, shelved
from contract_checks.dagster_defs.specs import translate
from contract_checks.dagster_defs.translator import ContractTranslator
from contract_checks.dialects import load

ORDERS = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: orders
    properties:
      - {name: id, logicalType: integer, required: true, unique: true}
      - {name: amount, logicalType: number, logicalTypeOptions: {minimum: 0}}
    quality: [{id: few, metric: rowCount, mustBeBetween: [1, 5]}]
slaProperties: [{property: frequency, value: 1, unit: d}]
"""
PRODUCT = """\
name: Sales product
entity: {type: dataProduct, name: Sales, fullyQualifiedName: Sales}
entityStatus: Approved
termsOfUse: {content: THE TERMS}
"""
OF_PRODUCT = """\
name: orders
entity: {type: table, name: orders, fullyQualifiedName: shop.sales.public.orders}
entityStatus: Approved
extension: {dataProducts: [Sales]}
schema: [{name: id, dataType: BIGINT}]
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own, switched on."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CONTRACT_CHECKS_CACHE", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one contract."""
    made = tmp_path / "contracts"
    made.mkdir()
    (made / "orders.odcs.yaml").write_text(ORDERS, encoding="utf-8")
    return made


def check_specs(definitions: dg.Definitions) -> list[dg.AssetCheckSpec]:
    """Every check of definitions."""
    return [spec for asset in definitions.assets or () for spec in asset.check_specs]  # type: ignore[union-attr]


def shown(folder: Path, settings: Settings | None = None) -> str:
    """All that Dagster is told of a folder."""
    definitions = build_definitions(folder, settings=settings)
    schedules = [one.name for one in definitions.schedules or ()]
    return repr((list(definitions.resolve_all_asset_specs()), check_specs(definitions), schedules))


def test_a_folder_that_did_not_change_looks_the_same(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Definitions from the cache are those that reading gives."""
    first = shown(folder)
    assert list(cache.iterdir())
    second = shown(folder)
    monkeypatch.setenv("CONTRACT_CHECKS_CACHE", "off")
    assert first == second == shown(folder)


def test_other_settings_plan_anew(folder: Path) -> None:
    """A plan that was made by other settings is not used."""
    shown(folder)
    exact = Settings(compatibility="exact", between_bounds="exclusive")
    expected = plan(load(folder / "orders.odcs.yaml"), exact)
    (entry,) = gather(folder, settings=exact).entries
    assert entry.plan == expected
    (entry,) = gather(folder, settings=Settings()).entries
    assert entry.plan != expected


@pytest.mark.parametrize(
    "settings",
    [
        Settings(metrics=frozenset({"b", "a"})),
        Settings(physical_names={("orders", "orders"): "elsewhere"}),
        Settings(signatures={("orders", "orders"): "MLmodel"}),
        Settings(physical_names={("orders", "orders"): Path("elsewhere")}),  # type: ignore[dict-item]
    ],
    ids=["metrics", "names", "signatures", "a path"],
)
def test_a_plan_is_that_of_its_settings(folder: Path, settings: Settings) -> None:
    """Whatever the settings are, the plan is what planning gives, the first time and the next."""
    for chosen in (Settings(), settings, Settings(), settings):
        (entry,) = gather(folder, settings=chosen).entries
        assert (entry.plan or plan(entry.contract, chosen)) == plan(load(folder / "orders.odcs.yaml"), chosen)


def test_what_is_inherited_is_never_old(tmp_path: Path) -> None:
    """A contract is read from the cache, and still has what its data product promises now."""
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / "orders.yaml").write_text(OF_PRODUCT, encoding="utf-8")
    assert "THE TERMS" not in shown(folder)
    (folder / "product.yaml").write_text(PRODUCT, encoding="utf-8")
    assert "THE TERMS" in shown(folder)
    (folder / "product.yaml").write_text(PRODUCT.replace("THE TERMS", "OTHER TERMS"), encoding="utf-8")
    text = shown(folder)
    assert "OTHER TERMS" in text
    assert "THE TERMS" not in text


def test_the_fingerprint_is_kept_with_the_plan(folder: Path) -> None:
    """What is hashed once is not hashed in every process."""
    for _ in range(2):
        (entry,) = gather(folder, settings=Settings()).entries
        assert entry.plan is not None
        (dataset,) = entry.plan.datasets
        assert "fingerprint" in vars(dataset)
        assert dataset.fingerprint == plan(load(folder / "orders.odcs.yaml")).datasets[0].fingerprint


def test_what_is_put_away_comes_back_equal(folder: Path) -> None:
    """A step gets the contract and the plan that the definitions were made of."""
    made = plan(load(folder / "orders.odcs.yaml"))
    back = put_away((made, made.contract))
    assert back() == (made, made.contract)
    assert back()[0].contract.problems == made.contract.problems


def test_what_cannot_be_put_away_is_held() -> None:
    """A value that pickle does not take is the same object when it comes back."""
    value = (lambda: 1,)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(value)
    assert put_away(value)() is value


def test_a_cached_contract_runs(folder: Path, tmp_path: Path) -> None:
    """A run from the cache evaluates every check, and finds what is broken."""
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id, unnest([1.5, -2.0]) AS amount")
    source = f"duckdb:///{tmp_path}/shop.duckdb"
    for _ in range(2):
        definitions = build_definitions(folder, source=source)
        job = definitions.resolve_implicit_global_asset_job_def()
        with dg.DagsterInstance.ephemeral() as instance:
            done = job.execute_in_process(instance=instance, raise_on_error=False)
        failed = {one.check_name for one in done.get_asset_check_evaluations() if not one.passed}
        assert failed == {"schema__id__unique", "schema__amount__minimum"}
        assert len(done.get_asset_check_evaluations()) == len(check_specs(definitions))


def test_what_the_cache_has_comes_back_equal(folder: Path) -> None:
    """Each of two datasets of one name gets its own promises back, from the cache as without it."""
    (folder / "twins.yaml").write_text(
        ORDERS.replace("id: orders", "id: twins").replace(
            "  - name: orders\n",
            "  - {name: orders, physicalName: old, properties: [{name: id, logicalType: string, unique: true}]}\n"
            "  - name: orders\n    physicalName: new\n",
        ),
        encoding="utf-8",
    )
    for kept in (False, True):
        access = Access("duckdb:///shop.duckdb", settings=Settings())
        gathered = gather(folder, settings=access.plan_settings)
        assert [bool(one.kept) for one in gathered.entries] == [kept, kept]
        built = translate(gathered, ContractTranslator(), access, "errors").built
        assert len(built) == 3
        for one in built:
            assert shelved(one.data, one.checks, one.kept)() == (one.data, one.checks)


def test_garbage_is_collected_after_loading(folder: Path, tmp_path: Path) -> None:
    """Loading leaves Python's garbage collector as it was, also when it fails."""
    assert gc.isenabled()
    shown(folder)
    assert gc.isenabled()
    with pytest.raises(FileNotFoundError):
        build_definitions(tmp_path / "gone")
    assert gc.isenabled()
    gc.disable()
    try:
        shown(folder)
        assert not gc.isenabled()
    finally:
        gc.enable()
