"""What a worker can run: asynchronous handlers, on an asynchronous store."""

from __future__ import annotations

import inspect

from strongroom.errors import InvalidArgument
from strongroom.handler_errors import check_seconds

_MOST_AT_A_TIME = 500


def check_options(
    *, concurrency: object, lease_seconds: object, above_zero: dict[str, object], **seconds: object
) -> None:
    """Refuse options with which a worker would do nothing, spin, or claim what it cannot hold.

    Args:
        concurrency: 1..500, as many as one claim takes.
        lease_seconds: above 0, at most a day.
        above_zero: times that must not be 0.
        **seconds: times that may be.

    Raises:
        InvalidArgument: SR001, naming the option.
    """
    is_count = isinstance(concurrency, int) and not isinstance(concurrency, bool)
    if not is_count or not 1 <= concurrency <= _MOST_AT_A_TIME:  # type: ignore[operator]
        raise InvalidArgument(
            f"concurrency must be between 1 and {_MOST_AT_A_TIME}",
            detail={"path": "concurrency", "actual": repr(concurrency)[:100]},
            hint="Give how many the worker may hold at a time.",
        )
    check_seconds("lease_seconds", lease_seconds, above=0, most=86_400.0)
    for name, value in above_zero.items():
        check_seconds(name, value, above=0)
    for name, value in seconds.items():
        check_seconds(name, value)


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
