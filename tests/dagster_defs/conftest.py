"""What the tests of Dagster share."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """A Dagster instance of its own, which is gone after the test."""
    with dg.DagsterInstance.ephemeral() as one:
        yield one
