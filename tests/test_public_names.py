"""The names a user imports."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

import contract_checks

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", contract_checks.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """A name in `__all__` can be imported."""
    assert getattr(contract_checks, name) is not None


def test_dir_lists_the_public_names() -> None:
    """Completion offers a name before it is first used."""
    assert set(contract_checks.__all__) <= set(dir(contract_checks))


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A mistyped name fails as in any module."""
    with pytest.raises(AttributeError, match="has no attribute 'load_contarct'"):
        contract_checks.load_contarct  # noqa: B018


def test_type_checkers_see_the_names_that_python_gives() -> None:
    """The imports for type checkers and the table for Python are the same."""
    tree = ast.parse(Path(contract_checks.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == contract_checks._HOMES
    assert {*seen, "__version__"} == set(contract_checks.__all__)


def test_the_version_is_that_of_the_distribution() -> None:
    """`contract_checks.__version__` is the version in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == contract_checks.__version__
