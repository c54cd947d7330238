# Written by scripts/generate_sync.py from strongroom/infrastructure/redis_locks.py: change that, and run `make generate`.
"""DistributedLockStore on Redis."""

from __future__ import annotations

from typing import Any

from strongroom.errors import StaleClaim, StrongroomError
from strongroom.ids import new_id
from strongroom.infrastructure import redis_lock_scripts as scripts
from strongroom.infrastructure.composing import same_tenant
from strongroom.infrastructure.redis_locks import (
    PIN_SECONDS,
    _asking,
    _held,
    _lock,
    _microseconds,
    log,
)
from strongroom.infrastructure.redis_upkeep import registered
from strongroom.models.base import Id
from strongroom.models.health import TextPolicy
from strongroom.models.locks import Lock
from strongroom.models.pages import Limit
from strongroom.models.runs import ClaimToken
from strongroom.ports.locks import TtlSeconds, WaitSeconds
from strongroom.sync.infrastructure.redis_server import RedisServer
from strongroom.sync.infrastructure.redis_upkeep import registry
from strongroom.sync.infrastructure.tenant_states import TenantStates
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.locks import taken_within
from strongroom.transports.base import storable


class RedisDistributedLockStore:
    """See :class:`strongroom.ports.DistributedLockStore`.

    Tokens grow over release, expiry, deletion and restart; even where Redis has lost its data they do, by
    its clock. In a unit of work ``check`` keeps everybody from taking the lock over until the unit has
    ended; what a unit acquires is given back when it fails, what it renews or releases stays so.
    """

    def __init__(
        self, server: RedisServer, tenants: TenantStates, text_policy: TextPolicy = "reject"
    ) -> None:
        """Keep locks on a server.

        Args:
            server: where.
            tenants: whether a tenant exists and is active.
            text_policy: what to do with text that PostgreSQL could not hold either.
        """
        self._server = server
        self._tenants = tenants
        self._text_policy: TextPolicy = text_policy

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
        tenant, name, owner = self._texts(tenant_id=tenant_id, name=name, owner_id=owner_id)
        # One id for all tries: a try whose answer was lost is known when it is repeated.
        acquisition_id = new_id()

        def take() -> Lock | None:
            which = self._tenants.check_writable(tenant)
            text = self._server.run(
                scripts.ACQUIRE,
                [
                    *self._keys(which, tenant),
                    self._server.key("lock_tokens"),
                    self._pins(which, tenant, name),
                    registry(self._server),
                ],
                [
                    name,
                    owner,
                    acquisition_id,
                    _microseconds(ttl_seconds),
                    registered(which, tenant),
                ],
            )
            return None if text is None else _lock(tenant, name, text)

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
        tenant, name, owner = self._texts(tenant_id=tenant_id, name=name, owner_id=owner_id)
        which = self._tenants.check_writable(tenant)
        answer = self._server.run(
            scripts.RENEW,
            self._keys(which, tenant),
            [name, owner, token, _microseconds(ttl_seconds)],
        )
        return _held(tenant, name, token, answer)

    @port_method
    def release(self, *, tenant_id: Id, name: Id, owner_id: Id, token: ClaimToken) -> bool:
        """See the port."""
        tenant, name, owner = self._texts(tenant_id=tenant_id, name=name, owner_id=owner_id)
        which = self._tenants.check_writable(tenant)
        released = self._server.run(
            scripts.RELEASE, self._keys(which, tenant), [name, owner, token, new_id()]
        )
        return bool(released)

    @port_method
    def check(self, *, tenant_id: Id, name: Id, token: ClaimToken) -> Lock:
        """See the port."""
        return self._check(tenant_id, name, token, unit="")

    @port_method
    def find(self, *, tenant_id: Id, name: Id) -> Lock | None:
        """See the port."""
        tenant, name = self._texts(tenant_id=tenant_id, name=name)
        which = self._tenants.which(tenant)
        if which is None:
            return None
        text = self._server.run(scripts.FIND, self._keys(which, tenant)[:1], [name])
        return None if text is None else _lock(tenant, name, text)

    @port_method
    def prune(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """See the port."""
        (tenant,) = self._texts(tenant_id=tenant_id)
        which = self._tenants.check_writable(tenant)
        return int(self._server.run(scripts.PRUNE, self._keys(which, tenant), [limit]))

    def _check(self, tenant_id: str, name: str, token: int, *, unit: str) -> Lock:
        tenant, name = self._texts(tenant_id=tenant_id, name=name)
        which = self._tenants.check_writable(tenant)
        answer = self._server.run(
            scripts.CHECK,
            [self._keys(which, tenant)[0], self._pins(which, tenant, name)],
            [name, token, unit, _microseconds(PIN_SECONDS)],
        )
        return _held(tenant, name, token, answer)

    def _texts(self, **texts: str) -> list[str]:
        return [str(text) for text in storable(texts, self._text_policy).values()]

    def _keys(self, which: str, tenant_id: str) -> list[str]:
        return [self._server.key(name, which, tenant_id) for name in ("locks", "lock_ends")]

    def _pins(self, which: str, tenant_id: str, name: str) -> str:
        return self._server.key("lock_pins", which, tenant_id, name)

    def join(self, unit: Any) -> UnitLocks:
        """Return the locks of a unit of work."""
        return UnitLocks(self._server, TenantStates(_asking(unit)), self._text_policy, unit)


class UnitLocks(RedisDistributedLockStore):
    """The locks of one unit of work: those that it checks are pinned until it has ended."""

    def __init__(
        self, server: RedisServer, tenants: TenantStates, text_policy: TextPolicy, unit: Any
    ) -> None:
        """Belong to a unit of work."""
        super().__init__(server, tenants, text_policy)
        self._tenant_id = unit.tenant_id
        self._unit_id = new_id()
        self._pinned: set[str] = set()
        self._acquired: list[tuple[str, Lock]] = []
        self._error: StrongroomError | None = None

    def _texts(self, **texts: str) -> list[str]:
        same_tenant(self._tenant_id, texts["tenant_id"])
        return super()._texts(**texts)

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
        """See the port; when the unit fails, the lock is given back."""
        lock = super().acquire(
            tenant_id=tenant_id,
            name=name,
            owner_id=owner_id,
            ttl_seconds=ttl_seconds,
            wait_seconds=wait_seconds,
        )
        if lock is not None:
            which = self._tenants.check_writable(lock.tenant_id)
            self._acquired.append((which, lock))
        return lock

    @port_method
    def check(self, *, tenant_id: Id, name: Id, token: ClaimToken) -> Lock:
        """See the port."""
        try:
            lock = self._check(tenant_id, name, token, unit=self._unit_id)
        except StrongroomError as error:
            self._error = error
            raise
        which = self._tenants.check_writable(lock.tenant_id)
        self._pinned.add(self._pins(which, lock.tenant_id, lock.name))
        return lock

    def nested(self, unit: Any) -> UnitLocks:  # noqa: ARG002
        """Return the same locks: what a nested unit has pinned stays pinned until all has ended."""
        return self

    def merge(self, nested: Any) -> None:
        """Do nothing: see ``nested``."""

    def prepare(self) -> None:
        """Before the commit: refuse it when a pin has not held so long.

        Raises:
            StaleClaim: SR031, somebody may have taken a checked lock over.
        """
        if self._error is not None:
            raise self._error  # whoever swallowed it must not take the unit for a success
        for pins in self._pinned:
            held = self._server.run(
                scripts.PIN_AGAIN, [pins], [self._unit_id, _microseconds(PIN_SECONDS)]
            )
            if not held:
                raise StaleClaim(
                    f"the unit of work took more than {PIN_SECONDS:g} seconds after it had checked a lock",
                    detail={"record": "lock"},
                    hint="Nothing was saved. Check the lock again in a shorter unit of work.",
                )

    def committed(self) -> None:
        """After the commit: let others have the locks."""
        for pins in self._pinned:
            try:
                self._server.run(scripts.UNPIN, [pins], [self._unit_id])
            except StrongroomError as error:
                log.warning("a lock stays pinned for %g seconds: %s", PIN_SECONDS, error)

    def undone(self) -> None:
        """After a failure: give back what the unit has acquired."""
        self.committed()
        for which, lock in self._acquired:
            try:
                self._server.run(
                    scripts.RELEASE,
                    self._keys(which, lock.tenant_id),
                    [lock.name, lock.owner_id, lock.token, new_id()],
                )
            except StrongroomError as error:
                log.warning("a lock stays taken until it expires: %s", error)
