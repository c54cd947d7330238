# Written by scripts/generate_sync.py from strongroom/stores/locks.py: change that, and run `make generate`.
"""DistributedLockStore on SQL."""

from __future__ import annotations

import random
from collections.abc import Callable

from strongroom import blocking
from strongroom.ids import new_id
from strongroom.models.base import Id
from strongroom.models.locks import Lock
from strongroom.models.pages import Limit
from strongroom.models.runs import ClaimToken
from strongroom.ports.locks import TtlSeconds, WaitSeconds
from strongroom.stores.locks import LONGEST_PAUSE, SHORTEST_PAUSE, _Pruned, _Released
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore


def taken_within(wait_seconds: float, take: Callable[[], Lock | None]) -> Lock | None:
    """Try to take a lock, again and again for so many seconds."""
    loop = blocking.get_running_loop()
    deadline = loop.time() + wait_seconds
    longest = SHORTEST_PAUSE
    while True:
        lock = take()
        remaining = deadline - loop.time()
        if lock is not None or remaining <= 0:
            return lock
        pause = random.uniform(SHORTEST_PAUSE / 2, longest)  # noqa: S311
        blocking.sleep(min(pause, remaining))
        longest = min(2 * longest, LONGEST_PAUSE)


class SqlDistributedLockStore(SqlStore):
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
        # One id for all tries: a try whose answer was lost is known when it is repeated.
        acquisition_id = new_id()

        def take() -> Lock | None:
            return self._find(
                Lock,
                "acquire_lock",
                tenant_id=tenant_id,
                name=name,
                owner_id=owner_id,
                ttl_seconds=ttl_seconds,
                acquisition_id=acquisition_id,
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
        return self._one(
            Lock,
            "renew_lock",
            tenant_id=tenant_id,
            name=name,
            owner_id=owner_id,
            token=token,
            ttl_seconds=ttl_seconds,
        )

    @port_method
    def release(self, *, tenant_id: Id, name: Id, owner_id: Id, token: ClaimToken) -> bool:
        """See the port."""
        row = self._one(
            _Released,
            "release_lock",
            tenant_id=tenant_id,
            name=name,
            owner_id=owner_id,
            token=token,
        )
        return row.released

    @port_method
    def check(self, *, tenant_id: Id, name: Id, token: ClaimToken) -> Lock:
        """See the port."""
        return self._one(Lock, "check_lock", tenant_id=tenant_id, name=name, token=token)

    @port_method
    def find(self, *, tenant_id: Id, name: Id) -> Lock | None:
        """See the port."""
        return self._find(Lock, "find_lock", tenant_id=tenant_id, name=name)

    @port_method
    def prune(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """See the port."""
        return (self._one(_Pruned, "prune_locks", tenant_id=tenant_id, limit=limit)).pruned
