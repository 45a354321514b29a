"""Report → text or JSON. Nothing here prints; a caller decides where the text goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contract_checks.reports.interface import Format, FormatName, Linted, NotEvaluated, Printable
from contract_checks.reports.json import render_json
from contract_checks.reports.openmetadata import render_openmetadata
from contract_checks.reports.text import render_text

__all__ = ["FORMATS", "Format", "FormatName", "Linted", "NotEvaluated", "Printable", "render"]


def _for_a_person(what: Printable | Sequence[Printable], width: int | None = None) -> str:
    if width is None:
        return render_text(what)
    # rich takes as long to import as everything else here together, and a pipe does not need it.
    from contract_checks.reports.terminal import render_terminal

    return render_terminal(what, width)


FORMATS: Mapping[FormatName, Format] = {
    "text": _for_a_person,
    "json": render_json,
    "openmetadata": render_openmetadata,
}
"""The formats by name. A new one is a file of its own and a line here."""


def render(
    report: Printable | Sequence[Printable],
    format: FormatName = "text",
    width: int | None = None,
) -> str:
    """Write a report (or several) as `format`.

    `text` is one line per check, or, with the `width` of a terminal, tables with colours. `json` is
    `Report.to_dict()`, `openmetadata` a `DataContractResult`; a sequence becomes a list, also when it holds one
    report only.
    Raises `ValueError` on a format that does not exist.
    """
    if format not in FORMATS:
        raise ValueError(f"there is no format '{format}'; there are: {', '.join(FORMATS)}")
    return FORMATS[format](report, width)
