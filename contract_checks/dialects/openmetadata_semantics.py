"""`semantics`: rules in JSON Logic about the asset's metadata, and the proposal's words for the most usual ones.

Source: OpenMetadata's `type/basic.json#/definitions/semanticsRule`, and the proposal's JSON Schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contract_checks.dialects.openmetadata_reading import (
    Flag,
    Path,
    Reader,
    Shape,
    Text,
    Texts,
    short,
)
from contract_checks.jsonlogic import JsonLogicError, parse
from contract_checks.model import SemanticRule


class SemanticsRule(Shape):
    """An item of `semantics`: a rule in JSON Logic over the asset's metadata."""

    name: Text | None = None
    description: Text | None = None
    rule: Any = None
    enabled: Flag | None = None
    entity_type: Text | None = None
    ignored_entities: Texts | None = None
    json_tree: Any = None
    provider: Text | None = None
    inherited: Flag | None = None


class MetadataRules(Shape):
    """`semantics` of the proposal as a mapping."""

    entity_description_required: Flag | None = None
    column_description_required: Flag | None = None
    tags: Texts | None = None
    custom_integrity_rules: Texts | None = None


def read_rules(reader: Reader, value: Any) -> tuple[SemanticRule, ...]:
    """The rules of a contract. A rule whose text is no JSON is kept, to be errored when it is evaluated."""
    found: list[SemanticRule] = []
    for item, path in reader.mappings(value, ("semantics",), "rules"):
        read = reader.shape(SemanticsRule, item, path, "semantics")
        if read is not None:
            rule = _rule(reader, read, path)
            found += [rule] if rule is not None else []
    return tuple(found)


def _rule(reader: Reader, read: SemanticsRule, path: Path) -> SemanticRule | None:
    name = (read.name or "").strip() or f"rule {path[-1]}"
    if not read.name:
        reader.warn(path, "the rule has no name", "results are told apart by it")
    if read.rule is None or read.rule == "":
        reader.warn(path, f"the rule '{name}' says nothing: it has no 'rule'", "write JSON Logic")
        about = f" ({read.description.strip()})" if read.description else ""
        reader.skip(path, f"{name}{about}: the rule has no JSON Logic to evaluate", "semantics")
        return None
    rule, unusable = read.rule, ""
    if isinstance(rule, str):
        try:
            rule = parse(rule)
        except JsonLogicError as error:
            unusable = f"the rule cannot be read: {error}"
            reader.warn((*path, "rule"), f"the rule '{name}' is not JSON Logic: {error}", "a JSON object in a text")
    if not unusable and not isinstance(rule, dict):
        message = f"the rule '{name}' is not JSON Logic: it is {short(rule) or rule!r} whatever the metadata"
        reader.warn((*path, "rule"), message, "a JSON object in a text")
    return SemanticRule(
        name=name,
        description=(read.description or "").strip(),
        rule=rule,
        location=reader.at(*path),
        enabled=read.enabled is not False,
        entity_type=read.entity_type or None,
        ignored_entities=tuple(read.ignored_entities or ()),
        inherited=read.inherited is True,
        unusable=unusable,
    )


def read_proposed(reader: Reader, value: Any) -> tuple[SemanticRule, ...]:
    """The proposal's `semantics`: sentences are documentation, the words of the mapping are rules."""
    if value is None:
        return ()
    if isinstance(value, list | str):
        sentences = value if isinstance(value, list) else [value]
        for index, sentence in enumerate(sentences):
            reader.document_value(("semantics", index), sentence, "Semantics")
        return ()
    read = reader.shape(MetadataRules, value, ("semantics",), "semantics")
    if read is None:
        return ()
    for index, sentence in enumerate(read.custom_integrity_rules or ()):
        reason = f"'{short(sentence)}': a sentence is not guessed into a check"
        reader.skip(("semantics", "customIntegrityRules", index), reason, "semantics")
    found: list[SemanticRule] = []

    def promise(key: str, description: str, rule: Any) -> None:
        found.append(SemanticRule(key, description, rule, reader.at("semantics", key)))

    described = {"!!": [{"var": "description"}]}
    if read.entity_description_required:
        promise("entityDescriptionRequired", "The asset has a description.", described)
    if read.column_description_required:
        rule = {"all": [{"var": "columns"}, described]}
        promise("columnDescriptionRequired", "Every column has a description.", rule)
    if read.tags:
        promise("tags", f"The asset has the tags {', '.join(read.tags)}.", {"and": _tagged(read.tags)})
    return tuple(found)


def _tagged(tags: Sequence[str]) -> list[Any]:
    """A rule for each tag: some tag of the asset has it as its full name, or as its own."""
    return [
        {"some": [{"var": "tags"}, {"or": [{"==": [{"var": "tagFQN"}, tag]}, {"==": [{"var": "name"}, tag]}]}]}
        for tag in tags
    ]
