# Written by scripts/generate_sync.py from strongroom/ports/locks.py: change that, and run `make generate`.
"""The port for locks."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id
from strongroom.models.locks import Lock
from strongroom.models.pages import Limit
from strongroom.models.runs import ClaimToken
from strongroom.ports.locks import TtlSeconds, WaitSeconds


class DistributedLockStore(Protocol):
    """Locks that expire, with fencing tokens that only grow: over release, expiry and deletion.

    A former owner changes nothing for the present one. All raise InvalidArgument (SR001), LimitExceeded
    (SR004), NotFound (SR010, no such tenant), PermissionDenied (SR020), Unavailable (SR050).
    """

    def acquire(
        self,
        *,
        tenant_id: Id,
        name: Id,
        owner_id: Id,
        ttl_seconds: TtlSeconds = 30.0,
        wait_seconds: WaitSeconds = 0.0,
    ) -> Lock | None:
        """Take a lock that is free or has expired; None when somebody else has it.

        It is not re-entrant: the owner does not get it twice.

        Args:
            tenant_id: the tenant.
            name: what is locked.
            owner_id: who takes it.
            ttl_seconds: how long it holds without a renewal.
            wait_seconds: how long to try again, every 10 to 250 milliseconds. In a unit of work leave it
                at 0.

        SQL: ``strongroom.acquire_lock``
        """
        ...

    def renew(
        self,
        *,
        tenant_id: Id,
        name: Id,
        owner_id: Id,
        token: ClaimToken,
        ttl_seconds: TtlSeconds = 30.0,
    ) -> Lock:
        """Hold it longer, from now on; also one that has expired, while nobody has taken it.

        Raises:
            StaleClaim: SR031, it is no longer this owner's with this token.

        SQL: ``strongroom.renew_lock``
        """
        ...

    def release(self, *, tenant_id: Id, name: Id, owner_id: Id, token: ClaimToken) -> bool:
        """Give it back; False, and nothing changes, when it is no longer this owner's with this token.

        SQL: ``strongroom.release_lock``
        """
        ...

    def check(self, *, tenant_id: Id, name: Id, token: ClaimToken) -> Lock:
        """Guard the writes of this unit of work: nobody takes the lock over before the unit has ended.

        Raises:
            StaleClaim: SR031, it is not held with this token: write nothing.

        SQL: ``strongroom.check_lock``
        """
        ...

    def find(self, *, tenant_id: Id, name: Id) -> Lock | None:
        """Return who holds it, None when nobody does. SQL: ``strongroom.find_lock``."""
        ...

    def prune(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """Delete the rows of locks that nobody holds; return how many. SQL: ``strongroom.prune_locks``."""
        ...
