"""What ``strongroom.sync`` has in the place of asyncio: threads that wait.

A call that blocks cannot be interrupted from outside. So a time limit is looked at where a call waits: for
a lock, for an event, or before it tries again; a statement that the server is working on is waited for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

_limits = threading.local()


class CancelledError(BaseException):
    """Never raised: threads are not cancelled."""


class Task(Generic[T]):
    """Who holds a lock: a thread."""

    def __init__(self, thread: threading.Thread) -> None:
        """Stand for a thread."""
        self._thread = thread

    def __eq__(self, other: object) -> bool:
        """Say whether it is the same thread."""
        return isinstance(other, Task) and other._thread is self._thread

    def __hash__(self) -> int:
        """Hash by the thread."""
        return hash(self._thread)


class Loop:
    """The clock."""

    @staticmethod
    def time() -> float:
        """Return seconds that only grow."""
        return time.monotonic()


def get_running_loop() -> Loop:
    """Return the clock."""
    return Loop()


def current_task() -> Task[Any]:
    """Return the thread that calls."""
    return Task(threading.current_thread())


def timeout(seconds: float) -> AbstractContextManager[None]:
    """Let waiting inside of the block end after so many seconds, with TimeoutError."""
    return timeout_at(time.monotonic() + seconds)


@contextmanager
def timeout_at(end: float) -> Iterator[None]:
    """Let waiting inside of the block end at a time of the clock, with TimeoutError."""
    before: float | None = getattr(_limits, "end", None)
    _limits.end = end if before is None else min(before, end)
    try:
        yield
    finally:
        _limits.end = before


def to_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call it here."""
    return call(*args, **kwargs)


def ensure_future(done: T) -> T:
    """Return what has been done."""
    return done


def shield(done: T) -> T:
    """Return what has been done."""
    return done


def wait(_: set[T]) -> None:
    """Return: it has been done."""


def left() -> float | None:
    """Return the seconds that the time limit leaves; None without one."""
    end: float | None = getattr(_limits, "end", None)
    return None if end is None else end - time.monotonic()


def sleep(seconds: float) -> None:
    """Wait; no longer than the time limit allows."""
    remaining = left()
    if remaining is not None and seconds >= remaining:
        time.sleep(max(0.0, remaining))
        raise TimeoutError
    time.sleep(seconds)


class Lock:
    """A lock that one thread has at a time."""

    def __init__(self) -> None:
        """Begin free."""
        self._lock = threading.Lock()

    def acquire(self) -> None:
        """Wait for it."""
        remaining = left()
        if not self._lock.acquire(timeout=-1 if remaining is None else max(0.0, remaining)):
            raise TimeoutError

    def release(self) -> None:
        """Let the next one have it."""
        self._lock.release()

    def locked(self) -> bool:
        """Say whether anybody has it."""
        return self._lock.locked()

    def __enter__(self) -> None:
        """Wait for it."""
        self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the next one have it."""
        self.release()


class Event:
    """Something that happens, for threads that wait for it."""

    def __init__(self) -> None:
        """Begin with it not having happened."""
        self._event = threading.Event()

    def set(self) -> None:
        """Let it happen."""
        self._event.set()

    def clear(self) -> None:
        """Begin anew."""
        self._event.clear()

    def wait(self) -> None:
        """Wait for it."""
        remaining = left()
        if not self._event.wait(None if remaining is None else max(0.0, remaining)):
            raise TimeoutError
