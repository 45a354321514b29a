"""The walls of the package: who may import whom, who may name a YAML key, who may open a connection."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

PACKAGE = Path(__file__).parents[1] / "contract_checks"

ORDER = (
    "errors",
    "jsonlogic",
    "metrics",
    "guarantees",
    "datatypes",
    "native_types",
    "jdk",
    "patterns",
    "values",
    "tallies",
    "queries",
    "model",
    "ages",
    "wording",
    "naming",
    "dialects",
    "lint",
    "checks",
    "tracing",
    "sql",
    "comparisons",
    "scans",
    "proofs",
    "sources",
    "results",
    "signatures",
    "shapes",
    "judging",
    "sampling",
    "functions",
    "semantics",
    "run",
    "reports",
    "dagster_defs",
    "cli",
    "__init__",
    "__main__",
)
"""The stages, first to last. Each may import those before it, and no other."""

OPENERS = {
    "confluent_kafka", "duckdb", "duckdb_sqlalchemy", "psycopg", "psycopg2", "sqlite3", "pyarrow", "pandas", "polars",
    "pyspark", "py4j",
}  # fmt: skip
"""Packages that read data. SQLAlchemy reads data only through `create_engine`."""

KEYS = {
    "apiVersion", "authoritativeDefinitions", "customProperties", "dataProduct", "displayName", "entityStatus",
    "incidentManagement", "logicalType", "logicalTypeOptions", "maxLatency", "physicalName", "physicalType",
    "primaryKeyPosition", "qualityExpectations", "refreshFrequency", "slaProperties",
    "targetEntity", "termsOfUse", "transformSourceObjects", "validValues",
}  # fmt: skip
"""Keys that only a dialect has. A common word (`name`, `schema`) would say nothing."""

FILES = sorted(PACKAGE.rglob("*.py"))


def stage(file: Path) -> str:
    """The stage a file belongs to: its folder in the package, or its own name."""
    first = file.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def module(file: Path) -> str:
    """The dotted name of a file."""
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree(file: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def imports(node: ast.AST, while_typing: bool = True) -> Iterator[str]:
    """Every dotted name that is imported below `node`, also inside functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING" and not while_typing:
            continue
        else:
            yield from imports(child, while_typing)


def identify(file: Path) -> str:
    """A file as pytest shows it."""
    return str(file.relative_to(PACKAGE))


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_a_file_belongs_to_a_stage(file: Path) -> None:
    """Every file of the package is a stage of the order, or in the folder of one."""
    assert stage(file) in ORDER


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_a_stage_imports_only_from_those_before_it(file: Path) -> None:
    """Data flows one way, so imports do."""
    own = ORDER.index(stage(file))
    if ORDER[own] == "__init__":
        own = len(ORDER)  # the public names come from everywhere
    for name in imports(tree(file)):
        first, *rest = name.split(".")
        if first != "contract_checks":
            continue
        imported = rest[0] if rest and rest[0] in ORDER else "__init__"
        if name == "contract_checks.__version__":
            continue
        assert ORDER.index(imported) <= own, f"{identify(file)} imports {name}, which comes later"


def test_no_modules_import_each_other() -> None:
    """There is no circle of imports, not even inside a folder or a function."""
    names = {module(file) for file in FILES}
    edges: dict[str, set[str]] = {}
    for file in FILES:
        if file == PACKAGE / "__init__.py":
            continue
        found = set()
        for name in imports(tree(file), while_typing=False):
            target = name if name in names else name.rpartition(".")[0]
            if target in names and target not in (module(file), "contract_checks"):
                found.add(target)
        edges[module(file)] = found

    def circle(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " imports ".join((*trail[trail.index(name) :], name))
        if name in done:
            return
        for target in sorted(edges.get(name, ())):
            circle(target, (*trail, name))
        done.add(name)

    done: set[str] = set()
    for name in sorted(edges):
        circle(name, ())


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_only_dagster_defs_imports_dagster(file: Path) -> None:
    """Everything but `dagster_defs/` works without Dagster."""
    if stage(file) != "dagster_defs":
        assert not [name for name in imports(tree(file)) if name.split(".")[0].startswith("dagster")]


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_only_sources_opens_connections(file: Path) -> None:
    """No other folder imports a database's package or makes an engine."""
    if stage(file) == "sources":
        return
    parsed = tree(file)
    for name in imports(parsed, while_typing=False):
        assert name.split(".")[0] not in OPENERS, f"{identify(file)} imports {name}"
        assert name.rpartition(".")[2] != "create_engine"
    used = {node.attr for node in ast.walk(parsed) if isinstance(node, ast.Attribute)}
    assert "create_engine" not in used


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_only_dialects_reads_yaml(file: Path) -> None:
    """No other folder imports a YAML library, or the document a dialect reads from."""
    if stage(file) == "dialects":
        return
    for name in imports(tree(file)):
        assert name.split(".")[0] not in ("yaml", "ruamel"), f"{identify(file)} imports {name}"
        assert not name.startswith("contract_checks.dialects.document"), f"{identify(file)} reads documents"


@pytest.mark.parametrize("file", [file for file in FILES if stage(file) == "dialects"], ids=identify)
def test_contracts_are_read_through_one_door(file: Path) -> None:
    """No file of `dialects/` but `inputs.py` asks for anything from outside: the cache would not know of it."""
    if file.name in ("inputs.py", "cache.py", "mlflow.py"):  # the last reads models, when checks run
        return
    outside = {"environ", "exists", "getenv", "is_dir", "is_file", "lstat", "now", "open", "read_bytes", "read_text"}
    outside |= {"resolve", "stat", "today", "utcnow"}
    parsed = tree(file)
    used = {node.attr for node in ast.walk(parsed) if isinstance(node, ast.Attribute)} & outside
    used |= {node.id for node in ast.walk(parsed) if isinstance(node, ast.Name)} & {"open"}
    if file.name == "__init__.py":
        used -= {"exists", "is_file"}  # which files there are is looked up every time
    assert not used
    modules = {name.split(".")[0] for name in imports(parsed)}
    assert not modules & {
        "glob",
        "importlib",
        "io",
        "locale",
        "platform",
        "random",
        "socket",
        "subprocess",
        "sys",
        "time",
    }
    assert "zoneinfo" not in modules


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_only_dialects_spells_the_keys_of_a_dialect(file: Path) -> None:
    """A key such as `logicalType` is a string of `dialects/` and of nothing else."""
    if stage(file) == "dialects":
        return
    strings = {node.value for node in ast.walk(tree(file)) if isinstance(node, ast.Constant)}
    own = {"logicalType"} if identify(file) == "sources/avro.py" else set()  # Avro has a key of that name, too
    assert not strings & (KEYS - own)


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_a_file_can_be_read_in_a_sitting(file: Path) -> None:
    """No file has more than 600 lines."""
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 600


@pytest.mark.parametrize("file", FILES, ids=identify)
def test_only_the_command_line_prints(file: Path) -> None:
    """The core returns values; `print` and `click` are nowhere but in `cli.py`."""
    if stage(file) == "cli":
        return
    parsed = tree(file)
    assert "click" not in {name.split(".")[0] for name in imports(parsed)}
    assert "print" not in {node.id for node in ast.walk(parsed) if isinstance(node, ast.Name)}


# --------------------------------------------------------------------------- what starting costs

HEAVY = {
    "dagster", "duckdb", "numpy", "pandas", "psycopg", "pyarrow", "pydantic", "pyspark", "regress", "rich",
    "sqlalchemy", "sqlglot", "yaml",
}  # fmt: skip


def loaded_by(code: str) -> set[str]:
    """The packages a fresh Python has imported after running `code`."""
    report = f"{code}\nimport sys; sys.__stdout__.write('\\n' + ' '.join(sys.modules))"
    command = [sys.executable, "-c", report]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_importing_the_package_imports_nothing_heavy() -> None:
    """`import contract_checks` waits for no library."""
    assert not loaded_by("import contract_checks") & (HEAVY | {"click"})


@pytest.mark.parametrize("line", ["--help", "lint --help", "test --help", "--version", "test --no"])
def test_help_imports_nothing_heavy(line: str) -> None:
    """Help, the version and a mistyped option wait for click alone."""
    assert not loaded_by(f"from contract_checks.cli import main; main({line.split()!r})") & HEAVY


DRIVERS = {
    "confluent_kafka", "duckdb", "fastavro", "numpy", "pandas", "polars", "psycopg", "psycopg2", "pyarrow", "pyspark",
    "rich",
}  # fmt: skip
"""Packages that only the source which needs them waits for, and the progress bar's."""


@pytest.fixture
def contract_file(tmp_path: Path) -> Path:
    """A contract, and beside it a DuckDB and a CSV file with its table."""
    file = tmp_path / "orders.odcs.yaml"
    file.write_text(
        "{apiVersion: v3.1.0, kind: DataContract, id: a, version: 1.0.0, status: active, schema: [{name: orders, "
        "properties: [{name: id, logicalType: integer, required: true, logicalTypeOptions: {minimum: 0}}]}]}",
        encoding="utf-8",
    )
    (tmp_path / "orders.csv").write_text("id\n1\n", encoding="utf-8")
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
    return file


def test_linting_imports_no_database(contract_file: Path) -> None:
    """Contracts are read without a database's package and without Dagster."""
    loaded = loaded_by(f"from contract_checks.cli import main; assert not main(['lint', {str(contract_file)!r}])")
    assert not loaded & (DRIVERS | {"dagster", "sqlalchemy"})


@pytest.mark.parametrize("place", ["duckdb:///{}/shop.duckdb", "{}/orders.csv"])
def test_testing_imports_the_driver_in_use_alone(contract_file: Path, place: str) -> None:
    """Data is tested without Dagster, without data frames, and without the drivers of other databases."""
    arguments = ["test", str(contract_file), "--source", place.format(contract_file.parent)]
    loaded = loaded_by(f"from contract_checks.cli import main; assert not main({arguments!r})")
    assert not loaded & (DRIVERS - {"duckdb"} | {"dagster"})


def test_loading_definitions_imports_no_driver(contract_file: Path) -> None:
    """A code location opens nothing, so it waits for no driver."""
    source = f"duckdb:///{contract_file.parent}/shop.duckdb"
    code = "from contract_checks import build_definitions"
    loaded = loaded_by(f"{code}; build_definitions({str(contract_file)!r}, source={source!r}).get_repository_def()")
    assert not loaded & DRIVERS
