"""A user's function → the function of an op: with the same parameters, as Dagster sees them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from dagster import AssetExecutionContext, MaterializeResult, Output

from contract_checks.sources.memory import is_frame

Function: TypeAlias = Callable[..., Any]

STAGING = "staging"
"""The parameter of a function that is told the name of the table to write."""
_CONTEXT = ("context", "_context", "_")
_NO_VALUE: Any = MaterializeResult[Any](asset_key="any").value
"""What Dagster says of a `MaterializeResult` without a value."""


def wants_staging(function: Function) -> bool:
    """Whether a function writes the table whose name it is given."""
    return STAGING in inspect.signature(function).parameters


def as_compute(
    function: Function, body: Callable[[AssetExecutionContext, Mapping[str, Any]], Iterator[Any]]
) -> Function:
    """The function of an op that runs `body` with the arguments that Dagster finds for those of `function`."""

    def compute(context: AssetExecutionContext, **arguments: Any) -> Iterator[Any]:
        yield from body(context, arguments)

    hints = _hints(function)
    others = [
        one.replace(annotation=hints.get(one.name, one.annotation), kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for position, one in enumerate(inspect.signature(function).parameters.values())
        if not (position == 0 and one.name in _CONTEXT) and one.name != STAGING
    ]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=AssetExecutionContext)
    compute.__signature__ = inspect.Signature([context, *others])  # type: ignore[attr-defined]
    compute.__annotations__ = {one.name: one.annotation for one in (context, *others)}
    for name in ("__name__", "__module__", "__doc__"):
        setattr(compute, name, getattr(function, name, None))
    return compute


def call(
    function: Function, context: AssetExecutionContext, arguments: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """What the function made, None if it wrote a table itself, and the metadata it gives along.

    Raises `TypeError` for anything else.
    """
    wants_context = next(iter(inspect.signature(function).parameters), "") in _CONTEXT
    made = function(*((context,) if wants_context else ()), **arguments)
    metadata: dict[str, Any] = {}
    if isinstance(made, MaterializeResult | Output):
        metadata, made = dict(made.metadata or {}), made.value
    if is_frame(made):
        return made, metadata
    if made is None or made is _NO_VALUE:
        return None, metadata
    raise TypeError(
        f"{function.__name__} returned {type(made).__name__}; a DataFrame of pandas or polars, an Arrow table, "
        "anything with __arrow_c_stream__, or nothing is expected"
    )


def _hints(function: Function) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):  # names that are imported for type checkers only
        return {}
