"""Finding and loading contracts: which dialect a file is in, and folders in which some files are broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract_checks import dialects
from contract_checks.dialects import load, load_directory, read
from contract_checks.dialects.document import parse_document
from contract_checks.errors import ContractError

ODCS = "apiVersion: v3.1.0\nkind: DataContract\nid: a\nversion: 1.0.0\nstatus: active\nschema: [{name: t}]\n"


def dialect_of(text: str) -> str | None:
    """The name of the first reader that recognises the text."""
    document = parse_document(text)
    return next((dialect.name for dialect in dialects.DIALECTS if dialect.recognises(document)), None)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (ODCS, "odcs"),
        ("{apiVersion: v3.2.0, kind: DataContract}", "odcs"),
        ("{apiVersion: 3.0.2, kind: DataContract}", "odcs"),
        ("{apiVersion: v2.2.2, kind: DataContract}", "odcs"),
        ("{apiVersion: v4.0.0, kind: DataContract}", "odcs"),
        ("{kind: DataContract, quantumName: orders}", "odcs"),
        ("{id: a, schema: [{name: t, properties: []}]}", "odcs"),
        ("{apiVersion: v3.1.0, schema: [{name: t}]}", "odcs"),
        ("{apiVersion: v1, kind: DataContract, name: a.b.c, type: table}", "openmetadata_proposal"),
        ("{name: c, entity: {id: x, type: table}, schema: [{name: a, dataType: INT}]}", "openmetadata"),
        ("{apiVersion: v3.1.0, kind: DataProduct}", None),
        ("{dataContractSpecification: 1.1.0, id: a, models: {}}", None),
        ("{a: 1}", None),
    ],
)
def test_the_top_level_keys_tell_the_dialect(text: str, dialect: str | None) -> None:
    """Each dialect is recognised by its own marks."""
    assert dialect_of(text) == dialect


def test_an_unknown_dialect_names_the_known_ones() -> None:
    """A file of no known dialect says which there are and what marks each of them."""
    with pytest.raises(ContractError) as caught:
        read(parse_document("a: 1", "a.yaml"))

    (problem,) = caught.value.problems
    assert "ODCS ('kind: DataContract'" in problem.hint
    assert "OpenMetadata" in problem.hint


def test_a_data_contract_specification_is_told_apart() -> None:
    """A Data Contract Specification is refused by its name, with the way out."""
    with pytest.raises(ContractError, match="Data Contract Specification; convert it to ODCS"):
        read(parse_document("dataContractSpecification: 1.1.0"))


@pytest.mark.parametrize("text", ["- a", "5", "a text", "~"])
def test_a_contract_is_a_mapping(text: str) -> None:
    """A document that is no mapping is refused."""
    with pytest.raises(ContractError, match="a contract is a mapping"):
        read(parse_document(text))


def test_one_bad_file_harms_no_other(tmp_path: Path) -> None:
    """A folder gives its good contracts in the order of their paths, and an error for each bad file."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.yaml").write_text(ODCS.replace("id: a", "id: b"))
    (tmp_path / "deep" / "a.yml").write_text(ODCS)
    (tmp_path / "c.json").write_text('{"apiVersion": "v3.1.0", "kind": "DataContract", "id": "c", "schema": []}')
    (tmp_path / "bad.yaml").write_text("a: [")
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "notes.txt").write_text("not a contract")
    (tmp_path / ".hidden.yaml").write_text("a: [")

    loaded = load_directory(tmp_path)

    assert [contract.id for contract in loaded.contracts] == ["b", "c", "a"]
    assert [Path(error.problems[0].location.file).name for error in loaded.broken] == ["bad.yaml", "empty.yaml"]


def test_a_folder_that_is_not_there_is_a_broken_one(tmp_path: Path) -> None:
    """A missing folder is reported, not raised."""
    loaded = load_directory(tmp_path / "absent")

    assert loaded.contracts == ()
    assert "there is no such folder" in str(loaded.broken[0])


def test_strict_refuses_what_lenient_notes(tmp_path: Path) -> None:
    """A key that nobody knows is a warning, and with `strict` an error."""
    path = tmp_path / "contract.yaml"
    path.write_text(ODCS + "colour: blue\n")

    assert [problem.level for problem in load(path).problems] == ["warning"]
    with pytest.raises(ContractError, match="the key 'colour' is not known here"):
        load(path, strict=True)
    assert load_directory(tmp_path, strict=True).contracts == ()


def test_a_contract_knows_its_file_and_digest(tmp_path: Path) -> None:
    """A contract carries the path it was read from as it was given, and the digest of its text."""
    path = tmp_path / "contract.yaml"
    path.write_text(ODCS)

    contract = load(str(path))

    assert contract.file == str(path)
    assert len(contract.digest) == 64
