"""`${VAR}` and `${VAR:-default}` (since 3.2), kept apart from the placeholders of a query."""

from __future__ import annotations

import re

from contract_checks.dialects.inputs import variable

PLACEHOLDERS = frozenset(
    ("model", "table", "object", "schema", "dataset", "project", "catalog", "database", "field", "column", "property")
)
"""What `{name}` and `${name}` in a query mean the table or column by; every other brace is left alone."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET = re.compile(r"(?i)passw|secret|token|credential|private|api_?key|access_?key|(^|_)(pwd|pass|key|auth)(_|$)")


def resolve_variables(text: str) -> tuple[str, str]:
    """`text` with the variables of the environment put in, and "" or the reason why they cannot be.

    A variable that is unset or empty takes its default; without one there is a reason. A variable whose
    name says that it is a secret is never read: what a contract says ends up in logs and reports.
    """
    reasons: list[str] = []

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in PLACEHOLDERS and default is None:
            return match[0]
        if is_secret(name):
            reasons.append(f"'${{{name}}}' looks like a secret, which a contract may not read")
            return match[0]
        found = variable(name) or default
        if found is None:
            reasons.append(f"the environment variable '{name}' is not set, and the contract gives no default")
            return match[0]
        return found

    resolved = _VARIABLE.sub(value, text)
    return (text, reasons[0]) if reasons else (resolved, "")


def is_secret(name: str) -> bool:
    """Whether the name of a variable or key says that its value is a secret."""
    return bool(_SECRET.search(name))
