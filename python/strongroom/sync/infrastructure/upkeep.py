"""What is done now and then beside a blocking store, in a thread, for as long as it is open."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from strongroom.errors import StrongroomError
from strongroom.infrastructure.upkeep import UPKEEP_SECONDS, log


@contextlib.contextmanager
def upkeep(step: Callable[[], int], name: str) -> Iterator[None]:
    """Take a step again and again until the block ends; a step that has begun is waited for."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.is_set():
            try:
                while step() and not ended.is_set():
                    pass
            except StrongroomError as error:
                log.warning("the upkeep of %s goes on later: %s", name, error)
            ended.wait(UPKEEP_SECONDS)

    thread = threading.Thread(target=go_on, name=f"strongroom: upkeep of {name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
