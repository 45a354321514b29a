"""The engine that the sessions of a run share, so that its datasets need one connection and not one each."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from sqlalchemy import Engine


class SharedEngine:
    """An engine that is made when it is first asked for. `make` makes it.

    Connections are of one process: after a fork the child has none, and neither uses nor closes its parent's.
    """

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._engine: Engine | None = None
        self._process = 0
        self._lock = threading.Lock()

    def get(self) -> Engine:
        """The engine. Raises what `make` raises."""
        with self._lock:
            if self._engine is None:
                self._engine = self._make()
            elif self._process != os.getpid():
                self._engine.dispose(close=False)
            self._process = os.getpid()
            return self._engine

    def close(self) -> None:
        """Close the connections of this process."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose(close=self._process == os.getpid())
            self._engine = None
