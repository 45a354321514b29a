"""Test definitions of a user's own (OpenMetadata's rule library): a SELECT with names in double braces.

A definition is `{name, sqlExpression, parameterDefinition}`; the test passes when its query returns no row. Of
Jinja2, in which OpenMetadata renders it, only `{{ name }}` is understood: `column_name`, `table_name` and the
parameters of the test case. A parameter becomes a literal, never SQL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from contract_checks.dialects.conditions import NONE_ALLOWED, ReadCondition
from contract_checks.dialects.engines import Untranslatable
from contract_checks.dialects.openmetadata_parameters import MOST_DIGITS, Parameters
from contract_checks.dialects.openmetadata_reading import Flag, Path, Reader, Shape, Text
from contract_checks.metrics import Query

_NAME = re.compile(r"'\{\{\s*(\w+)\s*\}\}'|\{\{\s*(\w+)\s*\}\}")
_OTHER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_NUMBERS = ("NUMBER", "INT", "FLOAT", "DOUBLE", "DECIMAL", "LONG")


class StatedDefinition(Shape):
    """A test definition, as OpenMetadata's `tests/testDefinition.json` has it."""

    id: Text | None = None
    name: Text | None = None
    display_name: Text | None = None
    fully_qualified_name: Text | None = None
    description: Text | None = None
    entity_type: Text | None = None
    test_platforms: Any = None
    supported_data_types: Any = None
    parameter_definition: Any = None
    data_quality_dimension: Text | None = None
    owners: Any = None
    provider: Any = None
    version: Any = None
    updated_at: Any = None
    updated_by: Any = None
    href: Any = None
    change_description: Any = None
    incremental_change_description: Any = None
    deleted: Flag | None = None
    supports_row_level_passed_failed: Any = None
    domains: Any = None
    supports_dynamic_assertion: Any = None
    enabled: Flag | None = None
    supported_services: Any = None
    sql_expression: Text | None = None
    validator_class: Any = None


@dataclass(frozen=True)
class Template:
    """A definition that can be used: its SELECT, the types of its parameters, and those that have to be given."""

    name: str
    sql: str
    of_columns: bool
    types: tuple[tuple[str, str], ...] = ()
    required: tuple[str, ...] = ()
    enabled: bool = True

    def read(self, parameters: Parameters) -> tuple[ReadCondition, ...]:
        """The query of one test case, which may return no row. Raises `Untranslatable`."""
        if not self.enabled:
            raise Untranslatable(f"its definition '{self.name}' is disabled")
        missing = [key for key in self.required if parameters.values.get(key) in (None, "")]
        if missing:
            raise Untranslatable(f"it has no {', '.join(missing)}")
        field = parameters.field(self.name) if self.of_columns else None
        types, used = dict(self.types), set()

        def fill(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name == "table_name":
                return "{table}"
            if name == "column_name":
                if field is None:
                    raise Untranslatable(f"its definition '{self.name}' is about a table, but names column_name")
                return "{column}"
            if name not in parameters.values:
                raise Untranslatable(f"its definition '{self.name}' names {{{{ {name} }}}}, which it has no value for")
            used.add(name)
            return _literal(parameters.values[name], types.get(name, ""), quoted=match[1] is not None)

        for other in _OTHER.findall(_NAME.sub("", self.sql)):
            said = " ".join(other.split())
            raise Untranslatable(
                f"its definition '{self.name}' says {said}; only a name in double braces is understood"
            )
        sql = _NAME.sub(fill, self.sql).strip()
        for key in used:
            parameters.values.pop(key)
        parameters.nothing_left(self.name)
        return (ReadCondition(self.name, Query(sql, field, "rows"), NONE_ALLOWED, field),)


def read_template(reader: Reader, item: dict[str, Any], path: Path) -> Template | None:
    """A definition of the user's own; None for one that is not, with a problem."""
    read = reader.shape(StatedDefinition, item, path)
    if read is None:
        return None
    if not read.name:
        reader.error(path, "'name' is missing", "test cases refer to it")
        return None
    if not read.sql_expression:
        reader.error(
            path, f"the test definition '{read.name}' has no 'sqlExpression'", "a SELECT of the rows that fail"
        )
        return None
    listed = read.parameter_definition if isinstance(read.parameter_definition, list) else []
    stated = [one for one in listed if isinstance(one, dict) and one.get("name")]
    return Template(
        read.name,
        read.sql_expression,
        (read.entity_type or "TABLE").upper() == "COLUMN",
        tuple((str(one["name"]), str(one.get("dataType", "")).upper()) for one in stated),
        tuple(str(one["name"]) for one in stated if str(one.get("required")).lower() == "true"),
        read.enabled is not False and not read.deleted,
    )


def _literal(value: Any, kind: str, quoted: bool) -> str:
    """A value as a literal of SQL. What stands in quotes in the template is a text whatever it looks like."""
    text = str(value).strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = None
    fits = number is not None and number.is_finite() and abs(number.adjusted()) <= MOST_DIGITS
    if not quoted and number is not None and fits and kind in ("", *_NUMBERS):
        return format(number, "f")
    if not quoted and kind in _NUMBERS:
        raise Untranslatable(f"its parameter is no number: {text[:60]}")
    # A brace would be taken for one of the template's own.
    if re.search(r"\{\s*\w+\s*\}", text):
        raise Untranslatable(f"its parameter has a name in braces: {text[:60]}")
    if "\\" in text:
        raise Untranslatable("its parameter has a backslash, which databases read differently")
    return "'" + str(value).replace("'", "''") + "'"
