# Written by scripts/generate_sync.py from strongroom/infrastructure/work_signals.py: change that, and run `make generate`.
"""How a worker learns that there may be work: by NOTIFY where there is one, by polling where not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import psycopg

from strongroom import blocking
from strongroom.infrastructure.work_signals import _RECONNECT_SECONDS, CHANNEL
from strongroom.sync.infrastructure.listening import Connection, ConnectToListen

Waiter = Callable[[float], None]
"""Wait at most so many seconds, or until there may be work."""


WorkSignals = Callable[[], AbstractContextManager[Waiter]]


@contextmanager
def polling() -> Iterator[Waiter]:
    """Wait the whole time: for adapters that cannot notify."""
    yield blocking.sleep


def listening(connect: ConnectToListen | None) -> WorkSignals:
    """Return how to wait on a connection of its own; without one, waiting is polling."""
    if connect is None:
        return polling

    @contextmanager
    def listen() -> Iterator[Waiter]:
        with ExitStack() as stack:
            held: list[Connection] = []

            def wait(seconds: float) -> None:
                try:
                    if not held or held[0].closed:
                        held.clear()
                        held.append(stack.enter_context(connect()))
                        held[0].execute(f"listen {CHANNEL}")
                    for _ in held[0].notifies(timeout=seconds, stop_after=1):
                        pass
                except (psycopg.Error, OSError):
                    # The worker goes on by polling, and this is tried again at its next wait.
                    held.clear()
                    blocking.sleep(min(seconds, _RECONNECT_SECONDS))

            yield wait

    return listen
