"""Servers, people and everything else of an ODCS contract that is shown rather than checked."""

from __future__ import annotations

import re
from typing import Any

from contract_checks.dialects.odcs_document import Description, Member, Root, Server, Team
from contract_checks.dialects.odcs_notes import Clauses, Notes, Path, did_you_mean, text_of
from contract_checks.dialects.odcs_variables import is_secret, resolve_variables
from contract_checks.model import Link, Owner
from contract_checks.model import Server as ServerModel

_DESCRIBING = ("server", "type", "environment")
SERVER_TYPES = (
    *("api", "athena", "azure", "bigquery", "btrieve", "clickhouse", "cloudsql", "custom", "databricks", "db2"),
    *("denodo", "dremio", "duckdb", "exasol", "fastobjects", "glue", "hana", "hive", "iceberg", "impala", "informix"),
    *("ingres", "kafka", "kinesis", "local", "mysql", "oracle", "poet", "postgres", "postgresql", "presto", "pubsub"),
    *("redshift", "s3", "sftp", "snowflake", "sqlserver", "synapse", "teradata", "trino", "vectorwise", "versant"),
    *("vertica", "zen"),
)
"""The types of servers of 3.2 ("Infrastructure & Servers")."""


def read_servers(entries: list[Any] | None, clauses: Clauses) -> tuple[ServerModel, ...]:
    """Every server with its own keys as properties; environment variables in them are resolved.

    A key that looks like a credential is never kept. A server whose variables cannot be resolved says so
    in `unusable`.
    """
    notes = clauses.notes
    servers: list[ServerModel] = []
    for index, entry in enumerate(entries or []):
        path: Path = ("servers", index)
        piece = notes.piece(Server, entry, *path)
        if piece is None:
            continue
        for key in ("server", "type"):
            if not getattr(piece, key):
                notes.tolerate(f"a server without '{key}'", *path)
        kind = (piece.type or "").strip().lower()
        if kind and kind not in SERVER_TYPES:
            hint = did_you_mean(kind, SERVER_TYPES)
            notes.tolerate(f"'{piece.type}' is no type of server of the standard", *path, "type", hint=hint)
        name = piece.server or piece.environment or piece.type or f"server{index + 1}"
        if any(server.name == name for server in servers):
            notes.tolerate(f"two servers are called '{name}'", *path, "server", hint="give each a name of its own")
        properties, unusable = _properties(entry, notes, path)
        servers.append(
            ServerModel(
                name=name,
                type=kind,
                location=notes.at(*path),
                environment=piece.environment or "",
                properties=properties,
                unusable=unusable,
            )
        )
    return tuple(servers)


def _properties(entry: dict[str, Any], notes: Notes, path: Path) -> tuple[tuple[tuple[str, Any], ...], str]:
    properties: list[tuple[str, Any]] = []
    unusable = ""
    for key, value in entry.items():
        if key in _DESCRIBING or value is None:
            continue
        if is_secret(key):
            hint = "set it in the environment of whoever runs the checks"
            notes.advise(f"'{key}' looks like a credential, which does not belong in a contract", *path, key, hint=hint)
            continue
        if isinstance(value, str):
            value, reason = resolve_variables(value)
            if reason:
                notes.advise(f"the server cannot be used: {reason}", *path, key)
                unusable = unusable or reason
        properties.append((key, value))
    return tuple(properties), unusable


def read_owners(team: Any, clauses: Clauses) -> tuple[Owner, ...]:
    """The people of `team` who have not left, from its list form (3.0) or object form (3.1).

    A team that has a name is itself the first owner.
    """
    notes = clauses.notes
    if team is None:
        return ()
    owners: list[Owner] = []
    path: Path = ("team",)
    members = team
    if isinstance(team, dict):
        if notes.version < (3, 1):
            notes.tolerate("'team' as a mapping came with ODCS 3.1", *path, hint="up to 3.0.2 it is a list of people")
        piece = notes.piece(Team, team, *path)
        if piece is None:
            return ()
        if piece.name:
            owners.append(Owner(piece.name, "team"))
        for title, key, value in (
            ("Team", "description", piece.description),
            ("Team tags", "tags", piece.tags),
            ("Team definitions", "authoritativeDefinitions", piece.authoritative_definitions),
            ("Team properties", "customProperties", piece.custom_properties),
        ):
            clauses.show(title, value, *path, key)
        members, path = piece.members, (*path, "members")
    for entry, where in notes.entries(members, *path):
        if not isinstance(entry, dict):
            notes.tolerate("a member of the team is a mapping with 'username'", *where)
            clauses.show("Team", entry, *where)
            continue
        member = notes.piece(Member, entry, *where)
        if member is None:
            continue
        if member.date_out:
            clauses.show("Former team member", _said(entry), *where)
            continue
        name = member.username or member.name
        if not member.username:
            notes.tolerate("a member of the team without 'username'", *where)
        if name:
            address = name if re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", name) else ""
            owners.append(Owner(name, "user", address, member.role or ""))
        clauses.show("Team member", _said(entry), *where)
    return tuple(dict.fromkeys(owners))


def read_description(value: Any, clauses: Clauses) -> tuple[str, tuple[Link, ...]]:
    """The purpose of the contract and the links of its description; the other parts are shown."""
    if value is None:
        return "", ()
    if isinstance(value, str):
        clauses.notes.tolerate("'description' is a mapping", "description", hint="write 'description: {purpose: …}'")
        return value, ()
    piece = clauses.notes.piece(Description, value, "description")
    if piece is None:
        return "", ()
    clauses.show("Limitations", piece.limitations, "description", "limitations")
    clauses.show("Usage", piece.usage, "description", "usage")
    clauses.show("Custom properties", piece.custom_properties, "description", "customProperties")
    links = clauses.links(piece.authoritative_definitions, "description", "authoritativeDefinitions")
    return piece.purpose or "", links


def show_the_rest(root: Root, clauses: Clauses) -> None:
    """Show the sections that promise nothing about data."""
    for title, key, value in (
        ("Tenant", "tenant", root.tenant),
        ("Context", "context", root.context),
        ("Created", "contractCreatedTs", root.contract_created_ts),
        ("Custom properties", "customProperties", root.custom_properties),
    ):
        clauses.show(title, value, key)
    for title, key, value in (
        ("Support", "support", root.support),
        ("Role", "roles", root.roles),
        ("Price", "price", root.price),
    ):
        if value is None:
            continue
        for entry, where in clauses.notes.entries([value] if key == "price" else value, key):
            place = (key,) if key == "price" else where
            if isinstance(entry, dict):
                clauses.show(title, _said(entry), *place)
            else:
                clauses.notes.tolerate("a mapping belongs here", *place)
                clauses.show(title, entry, *place)


def _said(entry: dict[str, Any]) -> str:
    return "; ".join(f"{key}: {text_of(value)}" for key, value in entry.items() if value not in (None, ""))
