"""Waiting for what another process does."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path


def eventually(condition: Callable[[], bool], what: str, *, timeout: float = 30.0) -> None:
    """Return as soon as the condition holds; fail, saying what was awaited, when it never does."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout:g} s in vain: {what}"
        time.sleep(0.005)


def remove_folder(folder: Path) -> None:
    """Remove a folder whose embedded server may still be putting its last files down."""

    def is_gone() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    eventually(is_gone, f"{folder} is removed")
