"""Small ODCS contracts for tests of their reader."""

from __future__ import annotations

import textwrap

from contract_checks.dialects import read
from contract_checks.dialects.document import parse_document
from contract_checks.model import Contract, Dataset, Expectation


def contract(body: str, version: str = "v3.1.0", strict: bool = False, status: str = "active") -> Contract:
    """The contract with `body` below the keys that every contract has."""
    head = f"apiVersion: {version}\nkind: DataContract\nid: test\nversion: 1.0.0\nstatus: {status}\n"
    return read(parse_document(head + textwrap.dedent(body), "test.odcs.yaml"), strict)


def dataset(properties: str = "", rest: str = "", version: str = "v3.1.0") -> Dataset:
    """A dataset `t` with these properties and other keys."""
    listed = textwrap.indent(textwrap.dedent(properties).strip(), "      ")
    keys = textwrap.indent(textwrap.dedent(rest).strip(), "    ")
    text = "schema:\n  - name: t\n" + (f"    properties:\n{listed}\n" if listed.strip() else "") + f"{keys}\n"
    return contract(text, version).datasets[0]


def column(keys: str, version: str = "v3.1.0") -> Dataset:
    """A dataset `t` with one column `a` that has these keys."""
    return dataset("- name: a\n" + textwrap.indent(textwrap.dedent(keys).strip(), "  "), version=version)


def rules(quality: str, version: str = "v3.1.0") -> Dataset:
    """A dataset `t` with the columns `a`, `b` and these rules of its own."""
    listed = textwrap.indent(textwrap.dedent(quality).strip(), "  ")
    return dataset(
        "- {name: a, logicalType: integer}\n- {name: b, logicalType: string, physicalName: b_1}",
        f"quality:\n{listed}",
        version,
    )


def only(found: Dataset) -> Expectation:
    """The one expectation of a dataset, of which nothing was left unchecked."""
    assert found.not_checked == ()
    assert len(found.expectations) == 1
    return found.expectations[0]


def reason(found: Dataset) -> str:
    """Why the one promise of a dataset is not checked."""
    assert found.expectations == ()
    assert len(found.not_checked) == 1
    return found.not_checked[0].reason
