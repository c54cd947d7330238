"""A blocking store as the suite sees it: every call is made in a thread.

Each task of the suite has a thread of its own, in which all its calls are made, one after the other: so what
belongs to a task in the asynchronous store (a unit of work, a lock that waits) belongs to a thread here.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import fields
from typing import Any
from weakref import WeakKeyDictionary

from strongroom import client
from strongroom.conformance.ledger import PORTS
from strongroom.infrastructure.work_signals import polling
from strongroom.sync.client import Strongroom, UnitOfWork

_threads: WeakKeyDictionary[asyncio.Task[Any], ThreadPoolExecutor] = WeakKeyDictionary()


def _thread() -> ThreadPoolExecutor:
    task = asyncio.current_task()
    assert task is not None
    if task not in _threads:
        _threads[task] = ThreadPoolExecutor(1, "suite")
        task.add_done_callback(lambda done: _threads.pop(done).shutdown(wait=False))
    return _threads[task]


async def in_thread(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call in the task's thread. A call that has begun is not interrupted, as it never is."""
    return await asyncio.get_running_loop().run_in_executor(
        _thread(), lambda: call(*args, **kwargs)
    )


@asynccontextmanager
async def entered(manager: AbstractContextManager[Any]) -> AsyncIterator[Any]:
    """Enter and leave a blocking context in the task's thread."""
    value = await in_thread(manager.__enter__)
    try:
        yield value
    except BaseException as error:
        if not await in_thread(manager.__exit__, type(error), error, error.__traceback__):
            raise
    else:
        await in_thread(manager.__exit__, None, None, None)


def _chunks(data: Any, loop: asyncio.AbstractEventLoop) -> Iterator[Any]:
    """Give what comes asynchronously to a thread, piece by piece."""
    pieces = aiter(data)
    end = object()

    async def following() -> Any:
        return await anext(pieces, end)

    while (piece := asyncio.run_coroutine_threadsafe(following(), loop).result()) is not end:
        yield piece


class Port:
    """A port whose methods are called in threads, each in the form that its protocol says."""

    def __init__(self, port: Any, protocol: type) -> None:
        self._port = port
        self._protocol = protocol

    def __getattr__(self, name: str) -> Any:
        blocking = getattr(self._port, name)
        form = inspect.getattr_static(self._protocol, name, None)
        if isinstance(form, property) or not callable(blocking):
            return Port(blocking, self._protocol) if name == "inspector" else blocking
        if inspect.iscoroutinefunction(form):

            async def call(*args: Any, **kwargs: Any) -> Any:
                if hasattr(kwargs.get("data"), "__aiter__"):
                    kwargs["data"] = _chunks(kwargs["data"], asyncio.get_running_loop())
                return await in_thread(blocking, *args, **kwargs)

            return call
        if "AsyncIterator" in str(inspect.signature(form).return_annotation):

            async def iterate(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                items = await in_thread(blocking, *args, **kwargs)
                end = object()
                try:
                    while (item := await in_thread(next, items, end)) is not end:
                        yield item
                finally:
                    await in_thread(items.close)

            return iterate
        return blocking


def _ports(store: Strongroom | UnitOfWork) -> dict[str, Any]:
    return {
        field.name: Port(getattr(store, field.name), PORTS[field.name])
        for field in fields(client.Ports)
    }


def _unit(unit: UnitOfWork) -> client.UnitOfWork:
    @asynccontextmanager
    async def nested(tenant_id: str) -> AsyncIterator[client.UnitOfWork]:
        async with entered(unit.begin_nested(tenant_id)) as inner:
            yield _unit(inner)

    return client.UnitOfWork(**_ports(unit), tenant_id=unit.tenant_id, begin_nested=nested)


def presented(store: Strongroom) -> client.Strongroom:
    """Return the blocking store in the asynchronous form."""

    @asynccontextmanager
    async def begin(tenant_id: str) -> AsyncIterator[client.UnitOfWork]:
        async with entered(store.begin(tenant_id)) as unit:
            yield _unit(unit)

    async def read_health() -> Any:
        return await in_thread(store.read_health)

    return client.Strongroom(
        **_ports(store),
        schema=Port(store.schema, PORTS["schema"]),
        blobs=store.blobs,  # type: ignore[arg-type]
        capabilities=store.capabilities,
        work_signals=polling,
        begin=begin,
        read_health=read_health,
    )
