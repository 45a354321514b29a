"""What was read before is taken from the cache only where reading would give the same."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from databases import SHARED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract_checks.checks import Plan, plan
from contract_checks.dialects import cache as caching
from contract_checks.dialects import load
from contract_checks.dialects.cache import ContractCache, user_cache
from contract_checks.dialects.engines import Engines
from contract_checks.dialects.inputs import noted, unchanged, variable
from contract_checks.errors import ContractError
from contract_checks.model import Contract

EXAMPLES = Path(__file__).parents[1] / "examples" / "valid"
KINDS = (Contract, Plan)

ORDERS = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
servers:
  - {server: here, type: duckdb, database: "${CACHE_TEST_PLACE:-some}.duckdb"}
schema:
  - name: orders
    properties:
      - {name: id, logicalType: integer, required: true, logicalTypeOptions: {minimum: 0}}
      - name: customer
        logicalType: integer
        relationships: [{type: foreignKey, to: "customers.odcs.yaml#customers.id"}]
"""
CUSTOMERS = """\
apiVersion: v3.1.0
kind: DataContract
id: customers
version: 1.0.0
status: active
schema:
  - {name: customers, properties: [{name: id, logicalType: integer}]}
"""
ENTITY = """\
name: orders
entity: {type: table, fullyQualifiedName: shop.sales.public.orders}
entityStatus: Approved
schema: [{name: id, dataType: BIGINT}]
qualityExpectations: [{type: testCase, name: few}]
"""
SIDE = """\
testCases:
  - {name: few, testDefinition: tableRowCountToEqual, parameterValues: [{name: value, value: "3"}]}
"""


def contract_files(folder: Path) -> list[Path]:
    """Every YAML and JSON file below a folder."""
    return sorted(file for file in folder.rglob("*") if file.suffix in (".yaml", ".yml", ".json"))


def outcome(read: Callable[[], Any]) -> tuple[Any, ...]:
    """What came of reading: everything of the contract, or the problems."""
    try:
        made = read()
    except ContractError as error:
        return ("broken", error.problems)
    contract = made.contract if isinstance(made, Plan) else made
    return ("read", made, contract.problems, repr(made))


def never() -> Contract:
    """What must not be called: the cache has it."""
    raise AssertionError("it was read again")


def through(cache: ContractCache, file: Path, engines: Engines | None = None) -> Contract:
    """The contract in a file, by way of a cache."""
    given = engines or {}
    return cache.get(file, f"engines={bool(given)}", Contract, lambda: load(file, engines=given))


def planned(file: Path) -> Contract | Plan:
    """A contract's plan, or the contract where there is none."""
    contract = load(file)
    try:
        return plan(contract)
    except ContractError:
        return contract


@pytest.fixture
def cache(tmp_path: Path) -> ContractCache:
    """An empty cache."""
    return ContractCache(tmp_path / "cache")


@pytest.mark.parametrize("folder", [EXAMPLES, SHARED / "corpus"], ids=["examples", "corpus"])
def test_what_is_kept_equals_what_is_read(folder: Path, cache: ContractCache) -> None:
    """Every contract and its plan come out of the cache as they went in, warnings included, without being read."""
    if not folder.is_dir():
        pytest.skip("the third-party test data is not here")
    kept = 0
    for file in contract_files(folder):
        fresh = outcome(lambda file=file: planned(file))  # type: ignore[misc]
        first = outcome(lambda file=file: cache.get(file, "", KINDS, lambda: planned(file)))  # type: ignore[misc]
        assert first == fresh
        if fresh[0] == "read":
            second = outcome(lambda file=file: cache.get(file, "", KINDS, never))  # type: ignore[misc]
            assert second[:3] == fresh[:3], file
            kept += 1
    assert kept > 10


EVENTS = {
    "another minimum": lambda folder: replace_in(folder / "orders.odcs.yaml", "minimum: 0", "minimum: 1"),
    "the old minimum": lambda folder: replace_in(folder / "orders.odcs.yaml", "minimum: 1", "minimum: 0"),
    "a broken file": lambda folder: (folder / "orders.odcs.yaml").write_text("kind: [", encoding="utf-8"),
    "the first file": lambda folder: (folder / "orders.odcs.yaml").write_text(ORDERS, encoding="utf-8"),
    "no customers": lambda folder: (folder / "customers.odcs.yaml").unlink(missing_ok=True),
    "customers": lambda folder: (folder / "customers.odcs.yaml").write_text(CUSTOMERS, encoding="utf-8"),
    "other customers": lambda folder: replace_in(folder / "customers.odcs.yaml", "name: id", "name: number"),
    "text customers": lambda folder: replace_in(folder / "customers.odcs.yaml", "type: integer", "type: string"),
    "broken customers": lambda folder: (folder / "customers.odcs.yaml").write_bytes(b"\xff"),
    "linked customers": lambda folder: link(folder / "customers.odcs.yaml", folder / "elsewhere.yaml"),
    "customers of others": lambda folder: link(folder / "customers.odcs.yaml", folder.parent / "outside.yaml"),
    "a variable": lambda _: os.environ.__setitem__("CACHE_TEST_PLACE", "other"),
    "an empty variable": lambda _: os.environ.__setitem__("CACHE_TEST_PLACE", ""),
    "no variable": lambda _: os.environ.pop("CACHE_TEST_PLACE", None),
    "a side file": lambda folder: (folder / "entity.tests.yaml").write_text(SIDE, encoding="utf-8"),
    "another side file": lambda folder: replace_in(folder / "entity.tests.yaml", '"3"', '"4"'),
    "no side file": lambda folder: (folder / "entity.tests.yaml").unlink(missing_ok=True),
    "a side file in JSON": lambda folder: (folder / "entity.tests.json").write_text('{"testCases": []}'),
}


def replace_in(file: Path, old: str, new: str) -> None:
    """Write a file with a text in it replaced, if it is there."""
    if file.is_file():
        text = file.read_text(encoding="utf-8", errors="replace")
        file.write_text(text.replace(old, new), encoding="utf-8")


def link(file: Path, target: Path) -> None:
    """Make a file a link to another one."""
    file.unlink(missing_ok=True)
    target.write_text(CUSTOMERS, encoding="utf-8")
    file.symlink_to(target)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(st.sampled_from(sorted(EVENTS)), max_size=8))
def test_whatever_changes_is_noticed(
    events: list[str], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After any change of a file, of one it refers to, or of a variable, the cache gives what reading gives."""
    monkeypatch.delenv("CACHE_TEST_PLACE", raising=False)
    root = tmp_path_factory.mktemp("changes")
    cache, folder = ContractCache(root / "cache"), root / "contracts"
    folder.mkdir()
    (folder / "orders.odcs.yaml").write_text(ORDERS, encoding="utf-8")
    (folder / "entity.yaml").write_text(ENTITY, encoding="utf-8")
    for event in ("", *events):
        if event:
            EVENTS[event](folder)
        for file in (folder / "orders.odcs.yaml", folder / "entity.yaml"):
            fresh = outcome(lambda file=file: load(file))  # type: ignore[misc]
            assert outcome(lambda file=file: through(cache, file)) == fresh  # type: ignore[misc]
            assert outcome(lambda file=file: through(cache, file)) == fresh  # type: ignore[misc]
    os.environ.pop("CACHE_TEST_PLACE", None)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, len(ORDERS) - 1), letter=st.sampled_from("a0:-{ \n'"))
def test_a_changed_letter_is_noticed(at: int, letter: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A file with one letter changed is read anew."""
    root = tmp_path_factory.mktemp("letter")
    cache, file = ContractCache(root / "cache"), root / "orders.odcs.yaml"
    file.write_text(ORDERS, encoding="utf-8")
    through(cache, file)
    file.write_text(ORDERS[:at] + letter + ORDERS[at + 1 :], encoding="utf-8")
    assert outcome(lambda: through(cache, file)) == outcome(lambda: load(file))


def test_the_path_is_part_of_what_is_kept(
    cache: ContractCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of one content, and one file under two paths, each have their own places."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "orders.yaml").write_text(CUSTOMERS, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "a")
    paths = [tmp_path / "a" / "orders.yaml", tmp_path / "b" / "orders.yaml", Path("orders.yaml")]
    for _ in range(2):
        assert [through(cache, path).file for path in paths] == [str(path) for path in paths]
    assert len(list(cache.folder.iterdir())) == 3


def test_another_version_of_anything_reads_anew(
    cache: ContractCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another Python, library or version of this package has read is not used."""
    file = tmp_path / "customers.yaml"
    file.write_text(CUSTOMERS, encoding="utf-8")
    through(cache, file)
    monkeypatch.setattr(caching, "reader", lambda: "another")
    with pytest.raises(AssertionError, match="read again"):
        cache.get(file, "engines=False", Contract, never)
    monkeypatch.setattr(caching, "reader", lambda: "")
    before = sorted(cache.folder.iterdir())
    assert through(cache, tmp_path / "customers.yaml").id == "customers"
    assert sorted(cache.folder.iterdir()) == before


def test_what_a_function_of_the_user_made_is_not_kept(cache: ContractCache, tmp_path: Path) -> None:
    """A translator may answer otherwise the next time."""
    file = tmp_path / "rules.yaml"
    rule = 'quality: [{type: custom, engine: mine, implementation: "few"}]'
    file.write_text(CUSTOMERS.replace("name: customers,", f"name: customers, {rule},"), encoding="utf-8")
    reasons = iter(["first", "second"])
    texts = [repr(through(cache, file, {"mine": lambda *_: next(reasons)}).datasets) for _ in range(2)]
    assert "first" in texts[0]
    assert "second" in texts[1]
    assert not cache.folder.exists()
    assert "not run here" in repr(through(cache, file).datasets)


def test_a_broken_contract_is_not_kept(cache: ContractCache, tmp_path: Path) -> None:
    """What is wrong with a file is found anew each time."""
    file = tmp_path / "broken.yaml"
    file.write_text("kind: DataContract", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(ContractError):
            through(cache, file)
    assert not cache.folder.exists()


# --------------------------------------------------------------------------- a cache that cannot be trusted


@pytest.fixture
def kept(cache: ContractCache, tmp_path: Path) -> Path:
    """A contract that is in the cache."""
    file = tmp_path / "customers.yaml"
    file.write_text(CUSTOMERS, encoding="utf-8")
    through(cache, file)
    cache.get(file, "engines=False", Contract, never)
    return file


def entry_of(cache: ContractCache) -> Path:
    """The only entry of a cache."""
    (entry,) = cache.folder.iterdir()
    return entry


def is_read_again(cache: ContractCache, file: Path) -> bool:
    """Whether the cache is not asked, or has nothing to say."""
    read: list[Contract] = []

    def reading() -> Contract:
        read.append(load(file))
        return read[0]

    assert cache.get(file, "engines=False", Contract, reading) == load(file)
    return bool(read)


def test_the_folder_is_the_user_s_alone(cache: ContractCache, kept: Path) -> None:
    """Nobody else can look into the cache or write to it."""
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert entry_of(cache).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_left_alone(cache: ContractCache, kept: Path, mode: int) -> None:
    """Nothing is taken from such a folder, and nothing put into it."""
    before = entry_of(cache).read_bytes()
    cache.folder.chmod(mode)
    assert is_read_again(cache, kept)
    kept.write_text(CUSTOMERS.replace("1.0.0", "2.0.0"), encoding="utf-8")
    assert is_read_again(cache, kept)
    assert entry_of(cache).read_bytes() == before


def test_a_file_that_others_can_write_to_is_left_alone(cache: ContractCache, kept: Path) -> None:
    """Whoever could write to an entry could make it say anything."""
    entry_of(cache).chmod(0o666)
    assert is_read_again(cache, kept)


def test_a_link_is_no_entry(cache: ContractCache, kept: Path, tmp_path: Path) -> None:
    """An entry is a file in the folder, not a link to one elsewhere."""
    entry = entry_of(cache)
    moved = entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(moved)
    assert is_read_again(cache, kept)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_somebody_else_is_left_alone(cache: ContractCache, kept: Path) -> None:
    """Neither a folder nor a file of another user is used."""
    os.chown(entry_of(cache), 12345, -1)
    assert is_read_again(cache, kept)
    assert not is_read_again(cache, kept)
    os.chown(cache.folder, 12345, -1)
    assert is_read_again(cache, kept)


@given(data=st.data())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_entry_is_read_anew(data: st.DataObject, cache: ContractCache, kept: Path) -> None:
    """Cut short, overwritten or replaced: an entry that is not as it was written says nothing."""
    entry = entry_of(cache)
    whole = entry.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    entry.write_bytes(data.draw(st.sampled_from([whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]])))
    assert is_read_again(cache, kept)
    assert entry.read_bytes() == whole


class Evil:
    """A value that runs a command when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.file}",)


@pytest.mark.parametrize("value", ["evil", "function", "other", "number"])
def test_an_entry_makes_contracts_only(cache: ContractCache, kept: Path, tmp_path: Path, value: str) -> None:
    """Even an entry that is signed and trusted runs nothing and makes nothing but contracts."""
    body = {"evil": Evil(tmp_path / "evil"), "function": plan, "other": Path(), "number": Decimal(1)}[value]
    entry = entry_of(cache)
    _, head, _ = entry.read_bytes().split(b"\n", 2)
    rest = head + b"\n" + pickle.dumps(body)
    entry.write_bytes(hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
    assert is_read_again(cache, kept)
    assert not (tmp_path / "evil").exists()


def test_a_cache_that_cannot_be_written_is_none(kept: Path, tmp_path: Path) -> None:
    """Contracts are read all the same where there is no place for a cache."""
    (tmp_path / "file").write_text("")
    cache = ContractCache(tmp_path / "file" / "cache")
    assert is_read_again(cache, kept)
    assert is_read_again(cache, kept)


def test_entries_that_nobody_uses_go_away(kept: Path, cache: ContractCache, tmp_path: Path) -> None:
    """After a month without use an entry is deleted; files that are no entries stay."""
    old = entry_of(cache)
    other = cache.folder / "notes.txt"
    other.write_text("mine")
    for file in (old, other):
        os.utime(file, (0, 0))
    caching._SWEPT.clear()
    (tmp_path / "new.yaml").write_text(CUSTOMERS, encoding="utf-8")
    through(cache, tmp_path / "new.yaml")
    assert not old.exists()
    assert other.exists()


def test_an_entry_in_use_does_not_grow_old(cache: ContractCache, kept: Path) -> None:
    """Taking something out of the cache counts as use."""
    os.utime(entry_of(cache), (0, 0))
    assert not is_read_again(cache, kept)
    assert entry_of(cache).stat().st_mtime > 1_000_000


# --------------------------------------------------------------------------- where it is


@pytest.mark.parametrize("said", ["off", "OFF", "0", "false"])
def test_the_cache_can_be_switched_off(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`CONTRACT_CHECKS_CACHE=off` keeps nothing."""
    monkeypatch.setenv("CONTRACT_CHECKS_CACHE", said)
    assert user_cache() is None


def test_the_cache_is_outside_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is where the environment says, else with the user's other caches."""
    monkeypatch.setenv("CONTRACT_CHECKS_CACHE", "/var/kept")
    assert user_cache() == ContractCache(Path("/var/kept"))
    monkeypatch.delenv("CONTRACT_CHECKS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert user_cache() == ContractCache(Path("/xdg/contract_checks"))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert user_cache() == ContractCache(Path("/home/somebody/.cache/contract_checks"))


def test_values_of_variables_are_not_written_down(cache: ContractCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note of what was asked holds digests; what a contract does with a variable is the contract's."""
    monkeypatch.setenv("CACHE_TEST_PLACE", "somewhere")
    with noted() as inputs:
        assert variable("CACHE_TEST_PLACE") == "somewhere"
    assert "somewhere" not in json.dumps([one.answer for one in inputs])
    assert unchanged(inputs)
    monkeypatch.setenv("CACHE_TEST_PLACE", "elsewhere")
    assert not unchanged(inputs)
