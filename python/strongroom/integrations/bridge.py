"""From blocking code to the store's event loop, and from other loops to it.

A store lives on one event loop. Frameworks call from that loop, from threads, or from loops of their
own; a bridge brings each call to the store's loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from strongroom.client import Strongroom
from strongroom.connecting import connect
from strongroom.errors import InvalidTransition

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ThreadedStore:
    """A store whose event loop runs in a thread of its own, for programs that block.

    Attributes:
        store: the open store.
        loop: its event loop.
    """

    store: Strongroom
    loop: asyncio.AbstractEventLoop

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Run one call of the store and wait for it."""
        return asyncio.run_coroutine_threadsafe(call, self.loop).result()


AnyStore = Strongroom | ThreadedStore
"""What integrations are made from."""


@contextmanager
def connect_in_thread(url: str, **options: Any) -> Iterator[ThreadedStore]:
    """Open a store on an event loop in a thread of its own.

    Use it where a framework's blocking methods are called, on whatever thread: those cannot wait for
    the loop that they block.

    Args:
        url: as for :func:`strongroom.connect`.
        options: as for :func:`strongroom.connect`.

    Example:
        >>> from strongroom.integrations.bridge import connect_in_thread
        >>> with connect_in_thread("memory:") as threaded:
        ...     made = threaded.run(threaded.store.tenants.create(tenant_id="acme", name="Acme"))
        >>> made.outcome
        'inserted'
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="strongroom", daemon=True)
    thread.start()
    try:
        opened = connect(url, **options)
        store = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result()
        try:
            yield ThreadedStore(store, loop)
        finally:
            closing = opened.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(closing, loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Bridge:
    """How one integration reaches its store."""

    def __init__(self, store: AnyStore) -> None:
        """Remember the store and its loop; made where no loop runs, the first call's loop is it."""
        self.store = store.store if isinstance(store, ThreadedStore) else store
        self._loop = store.loop if isinstance(store, ThreadedStore) else _running_loop()

    async def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Run a call of the store, from any event loop."""
        here = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = here
        if self._loop is here:
            return await call
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, self._loop))

    def block(self, call: Coroutine[Any, Any, T]) -> T:
        """Run a call of the store and wait for it, from any thread but the one of its loop.

        Raises:
            InvalidTransition: SR030, this is the thread of the store's loop, or it has none yet.
        """
        if self._loop is None or _running_loop() is self._loop or not self._loop.is_running():
            call.close()
            raise InvalidTransition(
                "a blocking call on the thread of the store's event loop would wait for itself",
                detail={"path": "store"},
                hint="Use the framework's async methods, or open the store with connect_in_thread.",
            )
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
