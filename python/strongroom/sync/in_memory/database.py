# Written by scripts/generate_sync.py from strongroom/in_memory/database.py: change that, and run `make generate`.
"""What is stored, and how writes become atomic.

Everything of one tenant is one :class:`Tables` of immutable rows. A write copies the tables (the rows
are shared, not copied), changes the copy, and puts it in the place of the committed one in one step. So a
reader never sees half a write, and a write that fails or is cancelled leaves no trace.

Writers of a tenant take turns on its lock. A unit of work takes it at its first write and keeps it to its
end; until then others read what was committed before. PostgreSQL locks single conversations instead.
"""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from strongroom import blocking
from strongroom.errors import InvalidTransition, TenantMismatch, Unavailable
from strongroom.in_memory.database import _UNIT_FAILED, WAIT_SECONDS, T, Tables


class Session(Protocol):
    """Where the ports run their functions: outside of units of work, or within one."""

    def read(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Run a function that only reads; return a copy of what it returns."""
        ...

    def write(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Run a function that may change the tables; return a copy of what it returns."""
        ...

    def writable_tenants(self) -> list[str]:
        """Return the tenants that can be written without waiting, for calls that serve all of them."""
        ...


class _Lock:
    """A tenant's lock for writers, which knows the task that it would be in vain to wait for."""

    def __init__(self) -> None:
        self._lock = blocking.Lock()
        self._holder: blocking.Task[Any] | None = None

    def acquire(self, task: blocking.Task[Any] | None) -> None:
        if task is not None and self._holder is task:
            raise InvalidTransition(
                "this task's own unit of work is writing, so the call would wait for itself",
                hint="Inside the block, write through the ports of the unit of work.",
            )
        try:
            with blocking.timeout(WAIT_SECONDS):
                self._lock.acquire()
        except TimeoutError as error:
            raise Unavailable(
                f"a unit of work of another task has been writing for {WAIT_SECONDS:g} seconds",
                hint="End units of work soon, and do not wait for other writers inside of one.",
            ) from error
        self._holder = task

    def is_held(self) -> bool:
        return self._lock.locked()

    def release(self) -> None:
        self._holder = None
        self._lock.release()


class Database:
    """The committed tables of every tenant, and the session for calls outside of units of work."""

    def __init__(self) -> None:
        """Start empty."""
        self._committed: dict[str, Tables] = {}
        self._locks: dict[str, _Lock] = {}

    def committed(self, tenant_id: str) -> Tables:
        """Return what everyone may read now. Only for reading: change a draft of it."""
        found = self._committed.get(tenant_id)
        return found or Tables(tenant_id=tenant_id, now=dt.datetime.now(dt.UTC))

    def commit(self, draft: Tables) -> None:
        """Make a draft what everyone reads."""
        self._committed[draft.tenant_id] = draft

    def lock(self, tenant_id: str) -> _Lock:
        """Return the lock of the tenant's writers."""
        # In one step: in the blocking form two threads may ask for it at once.
        return self._locks.setdefault(tenant_id, _Lock())

    def writable_tenants(self) -> list[str]:
        """Return the tenants that no unit of work is writing to, in order."""
        return sorted(t for t in [*self._committed] if not self.lock(t).is_held())

    def read(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Read what is committed, also while a unit of work is open."""
        return copy.deepcopy(work(self.committed(tenant_id)))

    def write(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Write in a transaction of its own. Between taking the lock and the end nothing awaits."""
        lock = self.lock(tenant_id)
        lock.acquire(blocking.current_task())
        try:
            draft = self.committed(tenant_id).draft(dt.datetime.now(dt.UTC))
            result = copy.deepcopy(work(draft))
            self.commit(draft)
        finally:
            lock.release()
        return result

    @contextmanager
    def unit_of_work(self, tenant_id: str) -> Iterator[Unit]:
        """Begin a unit; save it at the end of the block, or nothing of it when an error leaves it."""
        unit = Unit(self, tenant_id)
        try:
            yield unit
            unit.save()
        finally:
            unit.end()


class Unit:
    """The session within one unit of work: its own draft of one tenant's tables."""

    def __init__(self, database: Database, tenant_id: str) -> None:
        """Begin; nothing is locked before the first write."""
        self._database = database
        self._tenant_id = tenant_id
        self._now = dt.datetime.now(dt.UTC)
        self._task = blocking.current_task()
        self._turn = blocking.Lock()
        self._draft: Tables | None = None
        self._holds_lock = False
        self._failed = False
        self._ended = False

    def writable_tenants(self) -> list[str]:
        """Refuse: a unit of work serves one tenant, so calls inside name it."""
        self._check("")
        return []

    def read(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Read what the unit has written, on top of what is committed."""
        with self._turn:
            with self._call(tenant_id):
                return copy.deepcopy(work(self._draft or self._database.committed(tenant_id)))

    def write(self, tenant_id: str, work: Callable[[Tables], T]) -> T:
        """Write into the unit's draft."""
        with self._turn:
            with self._call(tenant_id):
                if not self._holds_lock:
                    self._database.lock(tenant_id).acquire(self._task)
                    self._holds_lock = True
                if self._draft is None:
                    self._draft = self._database.committed(tenant_id).draft(self._now)
                return copy.deepcopy(work(self._draft))

    @contextmanager
    def _call(self, tenant_id: str) -> Iterator[None]:
        """Refuse a call that may not be made; after one that fails the unit only takes its end."""
        self._check(tenant_id)
        try:
            yield
        except BaseException:
            self._failed = True
            raise

    @contextmanager
    def nested(self, tenant_id: str) -> Iterator[None]:
        """Begin a nested unit: an error that leaves it undoes only what was written in it."""
        self._check(tenant_id)
        before = self._draft.draft(self._now) if self._draft else None
        try:
            yield
            self._check_sound()
        except BaseException:
            self._draft = before
            self._failed = False
            raise

    def save(self) -> None:
        """Commit the draft, where there is one.

        Raises:
            InvalidTransition: SR030, a call in the unit failed and the error was swallowed.
        """
        self._check_sound()
        if self._draft is not None:
            self._database.commit(self._draft)

    def end(self) -> None:
        """Let the next writer in."""
        self._ended = True
        if self._holds_lock:
            self._database.lock(self._tenant_id).release()

    def _check(self, tenant_id: str) -> None:
        if tenant_id != self._tenant_id:
            raise TenantMismatch(
                "tenant_id is not the tenant of the unit of work",
                detail={"path": "tenant_id"},
                hint="One unit of work serves one tenant; begin another for another tenant.",
            )
        if self._ended:
            raise InvalidTransition(
                "the unit of work has ended", hint="Use its ports inside its block only."
            )
        if self._failed:
            raise InvalidTransition("a call in this unit of work failed before", hint=_UNIT_FAILED)

    def _check_sound(self) -> None:
        if self._failed:
            raise InvalidTransition(
                "a call inside the unit of work failed, so nothing of the unit was saved",
                hint=_UNIT_FAILED,
            )
