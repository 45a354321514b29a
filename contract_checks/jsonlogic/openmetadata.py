"""The dialect `openmetadata`: json-logic-java with the operators OpenMetadata adds to it.

Source: OpenMetadata's `LogicOps` and `JsonLogicUtils`, releases 1.9 to 2.0, with the operators that came
and went between them. An operator that asks OpenMetadata's directory of users, teams and data products asks
the `Directory` of the run; without one it raises `LookupNeededError` instead of guessing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from contract_checks.jsonlogic.engine import ArgumentError, Directory, Language, LookupNeededError, Operator, Scope
from contract_checks.jsonlogic.java import EAGER, LAZY, contains, data_number, eager, java_split
from contract_checks.jsonlogic.values import double, is_number


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _references(value: Any, name: str) -> list[dict[str, Any]]:
    """A list of references or tags, each an object."""
    found = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, dict) for item in found):
        raise ArgumentError(f"'{name}' works on a list of references, such as owners or tags")
    return list(found)


def _directory(scope: Scope, question: str) -> Directory:
    if scope.run.directory is None:
        raise LookupNeededError(f"{question}, and no directory that knows is at hand")
    return scope.run.directory


# --------------------------------------------------------------------------- people


def _in_role(name: str, role: str) -> Operator:
    """Whether a user is among the asset's owners or reviewers, in person or through a team."""

    def operator(scope: Scope, *arguments: Any) -> bool:
        if len(arguments) != 1:
            return False
        user = scope.evaluate(arguments[0])
        people = scope.value.get(role) if isinstance(scope.value, dict) else None
        if not isinstance(user, str) or people is None:
            return False
        references = _references(people, name)
        scope.run.spend(len(references))
        if any(one.get("type") == "user" and one.get("name") == user for one in references):
            return True
        teams = [one for one in references if one.get("type") == "team"]
        if not teams:
            return False
        named = ", ".join(str(team.get("name") or team.get("id")) for team in teams[:3])
        known = _directory(scope, f"'{name}' must know whether '{user[:60]}' belongs to the team {named}")
        memberships = set(known.teams_of(user))
        return any(str(team.get("id")) in memberships for team in teams)

    return operator


def _ownership(scope: Scope, arguments: Sequence[Any]) -> bool:
    """Any number of users or one team; never both."""
    if all(map(_empty, arguments)):
        return True
    owners = _references(arguments, "multipleUsersOrSingleTeamOwnership")
    if any(owner.get("type") is None for owner in owners):
        raise ArgumentError("an owner has no 'type'")
    teams = sum(owner["type"] == "team" for owner in owners)
    return teams == 0 or (teams == 1 and len(owners) == 1)


# --------------------------------------------------------------------------- lists of references and tags


def _length(scope: Scope, arguments: Sequence[Any]) -> float:
    """How many arguments there are: a list's size, 1 for anything else, a missing value included."""
    return float(len(arguments))


def _filtered(name: str, field: str, without: Any) -> Operator:
    def function(scope: Scope, arguments: Sequence[Any]) -> Any:
        if not arguments:
            return without
        if len(arguments) < 2 or not (arguments[1] is None or isinstance(arguments[1], str)):
            raise ArgumentError(f"'{name}' takes a list and a text")
        if _empty(arguments[0]) or _empty(arguments[1]):
            return []
        found = _references(arguments[0], name)
        scope.run.spend(len(found))
        if any(one.get(field) is None for one in found):
            raise ArgumentError(f"'{name}' needs the '{field}' of every item")
        return [one for one in found if one[field] == arguments[1]]

    return eager(function)


def _contains(scope: Scope, arguments: Sequence[Any]) -> bool:
    if len(arguments) < 2:
        return False
    return contains(scope, arguments[0], arguments[1])


def _domains_match(scope: Scope, arguments: Sequence[Any]) -> bool:
    """Every data product shares a domain with the asset."""
    products = arguments[0] if arguments else None
    domains = arguments[1] if len(arguments) > 1 else None
    if _empty(products):
        return True
    if _empty(domains):
        return False
    own = {_full_name(domain) for domain in _references(domains, "validateDataProductDomainMatch")}
    for product in _references(products, "validateDataProductDomainMatch"):
        name = _full_name(product)
        known = _directory(scope, f"the domains of the data product '{name[:60]}' must be known")
        scope.run.spend()
        if not own & set(known.domains_of(name)):
            return False
    return True


def _full_name(reference: dict[str, Any]) -> str:
    return str(reference.get("fullyQualifiedName") or reference.get("name") or reference.get("id") or "")


# --------------------------------------------------------------------------- the asset as a whole


def _column_values(scope: Scope, *arguments: Any) -> list[Any]:
    """All values at a path, through objects and every item of lists."""
    path = scope.evaluate(arguments[0]) if len(arguments) == 1 else None
    if not isinstance(path, str) or not path:
        return []
    found = [scope.value]
    for part in java_split(path):
        index = int(part) if part.isdecimal() and len(part) < 10 else None
        reached: list[Any] = []
        for value in found:
            scope.run.spend()
            if isinstance(value, dict):
                reached.append(value.get(part))
            elif isinstance(value, list) and index is not None:
                reached += value[index : index + 1]
            elif isinstance(value, list) and not part.isdecimal():
                scope.run.spend(len(value))
                reached += [item.get(part) for item in value if isinstance(item, dict)]
        found = [value for value in reached if value is not None]
    return found


def _updated(compare: Callable[[float, float], bool], name: str) -> Operator:
    """Whether the asset was last changed before or after a moment, in milliseconds since 1970."""

    def operator(scope: Scope, *arguments: Any) -> bool:
        moment = scope.evaluate(arguments[0]) if len(arguments) == 1 else None
        changed = scope.value.get("updatedAt") if isinstance(scope.value, dict) else None
        if moment is None or changed is None or not is_number(changed):
            return False
        if not is_number(moment):
            raise ArgumentError(f"'{name}' takes a moment in milliseconds since 1970")
        return compare(double(changed), double(moment))

    return operator


def _completeness(scope: Scope, arguments: Sequence[Any]) -> float:
    """The percentage of the named fields that hold something."""
    data = scope.value if isinstance(scope.value, dict) else {}
    if not arguments:
        return 0.0
    filled = sum(isinstance(name, str) and not _empty(data.get(name)) for name in arguments)
    return 100.0 * filled / len(arguments)


def _changed(scope: Scope, *arguments: Any) -> bool:
    raise LookupNeededError("'isChanged' asks what one edit of the asset changed, which only OpenMetadata sees")


CUSTOM_LAZY: dict[str, Operator] = {
    "isOwner": _in_role("isOwner", "owners"),
    "isReviewer": _in_role("isReviewer", "reviewers"),
    "isChanged": _changed,
    "tableColumnValues": _column_values,
    "isUpdatedBefore": _updated(lambda changed, moment: changed < moment, "isUpdatedBefore"),
    "isUpdatedAfter": _updated(lambda changed, moment: changed > moment, "isUpdatedAfter"),
}
CUSTOM_EAGER: dict[str, Operator] = {
    "length": eager(_length),
    "contains": eager(_contains),
    "multipleUsersOrSingleTeamOwnership": eager(_ownership),
    "filterReferenceByType": _filtered("filterReferenceByType", "type", without=False),
    "filterTagsBySource": _filtered("filterTagsBySource", "source", without=[]),
    "validateDataProductDomainMatch": eager(_domains_match),
    "fieldCompleteness": eager(_completeness),
}

OPENMETADATA = Language(
    name="openmetadata",
    lazy=LAZY | CUSTOM_LAZY,
    eager=EAGER | CUSTOM_EAGER,
    single_key=True,
    rule_number=double,
    data_number=data_number,
)
