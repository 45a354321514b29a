"""Which translator reads the rules for an engine."""

from __future__ import annotations

from contract_checks.dialects.engine_great_expectations import great_expectations
from contract_checks.dialects.engine_openmetadata import openmetadata
from contract_checks.dialects.engine_soda import soda
from contract_checks.dialects.engines import Engine, Engines, engine_name
from contract_checks.dialects.inputs import foreign_code


def find_engine(name: str, engines: Engines) -> Engine | None:
    """The translator for the engine of that name: the user's before ours."""
    wanted = engine_name(name)
    if engines:
        foreign_code(wanted)
    for known, engine in engines.items():
        if engine_name(known) == wanted:
            return engine
    return built_in_engines().get(wanted)


def built_in_engines() -> Engines:
    """The translators that come along."""
    return {
        "soda": soda,
        "sodacl": soda,
        "sodacore": soda,
        "greatexpectations": great_expectations,
        "openmetadata": openmetadata,
    }
