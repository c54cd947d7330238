"""DistributedLockStore in memory."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Awaitable

from strongroom.errors import StaleClaim
from strongroom.in_memory.base import MemoryPort, check_writable
from strongroom.in_memory.database import Tables
from strongroom.in_memory.run_steps import moment
from strongroom.models.base import Id
from strongroom.models.locks import Lock
from strongroom.models.pages import Limit
from strongroom.models.runs import ClaimToken
from strongroom.ports.arguments import port_method
from strongroom.ports.locks import TtlSeconds, WaitSeconds
from strongroom.stores.locks import taken_within

_TOKENS = itertools.count(1)
"""Fencing tokens of this process: strictly growing, whatever is released, deleted or undone."""


class MemoryDistributedLockStore(MemoryPort):
    """See :class:`strongroom.ports.DistributedLockStore`."""

    @port_method
    async def acquire(
        self,
        *,
        tenant_id: Id,
        name: Id,
        owner_id: Id,
        ttl_seconds: TtlSeconds = 30.0,
        wait_seconds: WaitSeconds = 0.0,
    ) -> Lock | None:
        """See the port."""

        def take() -> Awaitable[Lock | None]:
            return self._write(
                tenant_id, acquire_lock, name=name, owner_id=owner_id, ttl_seconds=ttl_seconds
            )

        return await taken_within(wait_seconds, take)

    @port_method
    async def renew(
        self,
        *,
        tenant_id: Id,
        name: Id,
        owner_id: Id,
        token: ClaimToken,
        ttl_seconds: TtlSeconds = 30.0,
    ) -> Lock:
        """See the port."""
        return await self._write(
            tenant_id,
            renew_lock,
            name=name,
            owner_id=owner_id,
            token=token,
            ttl_seconds=ttl_seconds,
        )

    @port_method
    async def release(self, *, tenant_id: Id, name: Id, owner_id: Id, token: ClaimToken) -> bool:
        """See the port."""
        return await self._write(tenant_id, release_lock, name=name, owner_id=owner_id, token=token)

    @port_method
    async def check(self, *, tenant_id: Id, name: Id, token: ClaimToken) -> Lock:
        """See the port."""
        # A write: in a unit of work it keeps the tenant's lock, so that nobody takes this one over.
        return await self._write(tenant_id, check_lock, name=name, token=token)

    @port_method
    async def find(self, *, tenant_id: Id, name: Id) -> Lock | None:
        """See the port."""
        return await self._read(tenant_id, find_lock, name=name)

    @port_method
    async def prune(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """See the port."""
        return await self._write(tenant_id, prune_locks, limit=limit)


def _later(seconds: float) -> dt.datetime:
    return moment() + dt.timedelta(seconds=seconds)


def _held(tables: Tables, name: str) -> Lock | None:
    """Return the lock, also an expired one, while nobody has released or taken it."""
    return tables.locks.get(name, (0, None))[1]


def _lost(tables: Tables, name: str, token: int) -> StaleClaim:
    return StaleClaim(
        f"the lock {name} is no longer held with this token",
        detail={
            "record": "lock",
            "token": token,
            "current_token": tables.locks[name][0] if name in tables.locks else None,
        },
        hint="Stop what the lock protects: nothing of this call was written.",
    )


def acquire_lock(tables: Tables, *, name: str, owner_id: str, ttl_seconds: float) -> Lock | None:
    """Take the lock when it is free or has expired."""
    check_writable(tables)
    if find_lock(tables, name=name) is not None:
        return None
    lock = Lock(
        tenant_id=tables.tenant_id,
        name=name,
        token=next(_TOKENS),
        owner_id=owner_id,
        acquired_at=moment(),
        expires_at=_later(ttl_seconds),
    )
    tables.locks[name] = (lock.token, lock)
    return lock


def renew_lock(tables: Tables, *, name: str, owner_id: str, token: int, ttl_seconds: float) -> Lock:
    """Hold it longer; also one that has expired, while nobody has taken it."""
    check_writable(tables)
    lock = _held(tables, name)
    if lock is None or (lock.owner_id, lock.token) != (owner_id, token):
        raise _lost(tables, name, token)
    lock = lock.replace(expires_at=_later(ttl_seconds))
    tables.locks[name] = (token, lock)
    return lock


def release_lock(tables: Tables, *, name: str, owner_id: str, token: int) -> bool:
    """Give it back, when it is this owner's with this token."""
    check_writable(tables)
    lock = _held(tables, name)
    if lock is None or (lock.owner_id, lock.token) != (owner_id, token):
        return False
    tables.locks[name] = (token, None)
    return True


def check_lock(tables: Tables, *, name: str, token: int) -> Lock:
    """Refuse unless it is held with this token."""
    check_writable(tables)
    lock = find_lock(tables, name=name)
    if lock is None or lock.token != token:
        raise _lost(tables, name, token)
    return lock


def find_lock(tables: Tables, *, name: str) -> Lock | None:
    """Return who holds it."""
    lock = _held(tables, name)
    return lock if lock is not None and lock.expires_at > moment() else None


def prune_locks(tables: Tables, *, limit: int) -> int:
    """Delete what nobody holds."""
    check_writable(tables)
    free = sorted(name for name in tables.locks if find_lock(tables, name=name) is None)[:limit]
    for name in free:
        del tables.locks[name]
    return len(free)
