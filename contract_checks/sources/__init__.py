"""Scan → Measurements. Only here is a connection opened."""

from __future__ import annotations

from contract_checks.sources.database import DatabaseSource
from contract_checks.sources.files import FileSource
from contract_checks.sources.interface import MissingTableError, QueryError, Session, Source
from contract_checks.sources.kafka import KafkaSource
from contract_checks.sources.memory import FrameSource
from contract_checks.sources.servers import allowed_by_default, resolve
from contract_checks.sources.spark import SparkSource
from contract_checks.sources.staging import StagedTable

__all__ = [
    "DatabaseSource",
    "FileSource",
    "FrameSource",
    "KafkaSource",
    "MissingTableError",
    "QueryError",
    "Session",
    "Source",
    "SparkSource",
    "StagedTable",
    "allowed_by_default",
    "resolve",
]
