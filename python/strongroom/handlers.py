"""What a worker can run: asynchronous handlers, on an asynchronous store."""

from __future__ import annotations

import inspect

from strongroom.errors import InvalidArgument


def check_worker(store: object, handler: object) -> None:
    """Refuse what a worker could not run, before it claims anything.

    A worker prolongs its leases while handlers wait: a call that blocks would keep it from that.

    Args:
        store: an open store.
        handler: an ``async def``, or an object with an asynchronous ``__call__``.

    Raises:
        InvalidArgument: SR001, one of them is not asynchronous.
    """
    if type(store).__module__.startswith("strongroom.sync."):
        raise InvalidArgument(
            "store is a blocking one, and workers are asynchronous",
            detail={"path": "store"},
            hint="Open it with strongroom.connect, or run `strongroom worker MODULE:HANDLER` as a process"
            " beside the program that has no event loop.",
        )
    called = handler if inspect.isroutine(handler) else getattr(handler, "__call__", handler)  # noqa: B004
    if not (inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(called)):
        name = getattr(handler, "__qualname__", type(handler).__qualname__)
        raise InvalidArgument(
            f"the handler {name} is no async function",
            detail={"path": "handler"},
            hint=f"Write `async def {name.rpartition('.')[2]}(...)`, and in it"
            " `await asyncio.to_thread(...)` for what blocks.",
        )
