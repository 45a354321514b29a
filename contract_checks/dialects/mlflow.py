"""The signature in an `MLmodel` file of MLflow: what a model takes and gives, read without MLflow.

Source: MLflow, "Model Signatures and Input Examples" and `mlflow.types.schema` (1.x to 3.x).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contract_checks.datatypes import Category
from contract_checks.dialects.document import read_document
from contract_checks.errors import ContractError
from contract_checks.metrics import FoundColumn, FoundSignature

_TYPES: dict[str, Category] = {
    "boolean": "boolean",
    "integer": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "string": "string",
    "binary": "binary",
    "datetime": "timestamp",
    "object": "object",
    "map": "map",
    "array": "array",
    "sparkml_vector": "vector",
}
_TENSORS: tuple[tuple[str, Category], ...] = (
    ("bool", "boolean"),
    ("int", "integer"),
    ("uint", "integer"),
    ("float", "number"),
    ("str", "string"),
    ("object", "string"),
    ("bytes", "binary"),
    ("datetime64", "timestamp"),
)


class UnreadableSignatureError(Exception):
    """The file holds no signature that can be compared. The message says why."""


def read_signature(path: str | Path) -> FoundSignature:
    """The signature of the model whose `MLmodel` file (or the folder with it) is at `path`.

    Raises `UnreadableSignatureError` when there is no file, no signature, or one that cannot be read.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "MLmodel"
    if not file.is_file():
        raise UnreadableSignatureError(f"there is no MLmodel file at {path}")
    try:
        data = read_document(file).data
    except ContractError as error:
        raise UnreadableSignatureError(f"{file} cannot be read: {error.problems[0].message}") from None
    signature = data.get("signature") if isinstance(data, Mapping) else None
    if not isinstance(signature, Mapping):
        raise UnreadableSignatureError(f"{file} has no signature; log the model with one")
    return FoundSignature(_columns(signature.get("inputs"), file), _columns(signature.get("outputs"), file))


def _columns(text: Any, file: Path) -> tuple[FoundColumn, ...]:
    if text is None:
        return ()
    try:
        listed = json.loads(text) if isinstance(text, str) else text
    except ValueError as error:
        raise UnreadableSignatureError(f"the signature in {file} is no JSON: {error}") from None
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise UnreadableSignatureError(f"the signature in {file} is no list of columns")
    return tuple(_column(one) for one in listed)


def _column(one: Mapping[str, Any]) -> FoundColumn:
    optional = one.get("required") is False or one.get("optional") is True
    kind = str(one.get("type", ""))
    if kind == "tensor":
        spec = one.get("tensor-spec")
        kind = str(spec.get("dtype", "")) if isinstance(spec, Mapping) else ""
        category = next((known for start, known in _TENSORS if kind.startswith(start)), None)
    else:
        category = _TYPES.get(kind.lower())
    return FoundColumn(str(one.get("name") or ""), kind, category or "unknown", nullable=optional)
