# Written by scripts/generate_sync.py from strongroom/in_memory/locks.py: change that, and run `make generate`.
"""DistributedLockStore in memory."""

from __future__ import annotations

from strongroom.in_memory.locks import (
    acquire_lock,
    check_lock,
    find_lock,
    prune_locks,
    release_lock,
    renew_lock,
)
from strongroom.models.base import Id
from strongroom.models.locks import Lock
from strongroom.models.pages import Limit
from strongroom.models.runs import ClaimToken
from strongroom.ports.locks import TtlSeconds, WaitSeconds
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.locks import taken_within


class MemoryDistributedLockStore(MemoryPort):
    """See :class:`strongroom.ports.DistributedLockStore`."""

    @port_method
    def acquire(
        self,
        *,
        tenant_id: Id,
        name: Id,
        owner_id: Id,
        ttl_seconds: TtlSeconds = 30.0,
        wait_seconds: WaitSeconds = 0.0,
    ) -> Lock | None:
        """See the port."""

        def take() -> Lock | None:
            return self._write(
                tenant_id, acquire_lock, name=name, owner_id=owner_id, ttl_seconds=ttl_seconds
            )

        return taken_within(wait_seconds, take)

    @port_method
    def renew(
        self,
        *,
        tenant_id: Id,
        name: Id,
        owner_id: Id,
        token: ClaimToken,
        ttl_seconds: TtlSeconds = 30.0,
    ) -> Lock:
        """See the port."""
        return self._write(
            tenant_id,
            renew_lock,
            name=name,
            owner_id=owner_id,
            token=token,
            ttl_seconds=ttl_seconds,
        )

    @port_method
    def release(self, *, tenant_id: Id, name: Id, owner_id: Id, token: ClaimToken) -> bool:
        """See the port."""
        return self._write(tenant_id, release_lock, name=name, owner_id=owner_id, token=token)

    @port_method
    def check(self, *, tenant_id: Id, name: Id, token: ClaimToken) -> Lock:
        """See the port."""
        # A write: in a unit of work it keeps the tenant's lock, so that nobody takes this one over.
        return self._write(tenant_id, check_lock, name=name, token=token)

    @port_method
    def find(self, *, tenant_id: Id, name: Id) -> Lock | None:
        """See the port."""
        return self._read(tenant_id, find_lock, name=name)

    @port_method
    def prune(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """See the port."""
        return self._write(tenant_id, prune_locks, limit=limit)
