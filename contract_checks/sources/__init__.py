"""Scan → Measurements. Only here is a connection opened."""

from __future__ import annotations

from contract_checks.sources.database import DatabaseSource
from contract_checks.sources.files import FileSource
from contract_checks.sources.interface import MissingTableError, QueryError, Session, Source
from contract_checks.sources.servers import resolve

__all__ = ["DatabaseSource", "FileSource", "MissingTableError", "QueryError", "Session", "Source", "resolve"]
