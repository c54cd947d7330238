"""One thread at a time may change what is under a name."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Locks by name, kept for as long as some thread has one or waits for it."""

    def __init__(self) -> None:
        """Begin with none."""
        self._guard = threading.Lock()
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._counts: defaultdict[str, int] = defaultdict(int)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Have the name to oneself for as long as the block lasts."""
        with self._guard:
            self._counts[name] += 1
            lock = self._locks[name]
        try:
            with lock:
                yield
        finally:
            with self._guard:
                self._counts[name] -= 1
                if not self._counts[name]:
                    del self._counts[name], self._locks[name]
