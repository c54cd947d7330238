"""Waiting for what another process does."""

import time
from collections.abc import Callable


def eventually(condition: Callable[[], bool], what: str, *, timeout: float = 30.0) -> None:
    """Return as soon as the condition holds; fail, saying what was awaited, when it never does."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout:g} s in vain: {what}"
        time.sleep(0.005)
