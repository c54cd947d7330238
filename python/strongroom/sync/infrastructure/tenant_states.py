# Written by scripts/generate_sync.py from strongroom/infrastructure/tenant_states.py: change that, and run `make generate`.
"""What adapters outside of the database ask about a tenant: does it exist, is it active, which one is it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from strongroom import blocking
from strongroom.errors import NotFound, PermissionDenied, StrongroomError
from strongroom.infrastructure.tenant_states import _MOST_KEPT, KEPT_SECONDS, _which
from strongroom.models.tenants import Tenant

Discard = Callable[[str, str], None]
"""Delete what a purged tenant (which one, its id) has outside of the database; what fails is done later."""


FindTenant = Callable[[str], Tenant | None]


class TenantStates:
    """Answers about tenants, each kept for a moment."""

    def __init__(self, find: FindTenant, *, kept_seconds: float = KEPT_SECONDS) -> None:
        """Ask with this."""
        self._find = find
        self._kept_seconds = kept_seconds
        self._kept: dict[str, tuple[float, Tenant]] = {}
        self._changes = 0

    def check_writable(self, tenant_id: str) -> str:
        """The first step of every write; return which tenant of this id it is.

        Raises:
            NotFound: SR010, the tenant does not exist.
            PermissionDenied: SR020, it is suspended.
        """
        tenant = self._get(tenant_id)
        if tenant is None:
            raise NotFound(
                "the tenant does not exist",
                detail={"path": "tenant_id", "record": "tenant"},
                hint="Create it first: tenants.create.",
            )
        if tenant.status != "active":
            raise PermissionDenied(
                "the tenant is suspended and takes no writes",
                detail={"path": "tenant_id", "status": tenant.status},
                hint="Resume it first: tenants.resume.",
            )
        return _which(tenant)

    def which(self, tenant_id: str) -> str | None:
        """Return which tenant of this id there is, or None: what a purged one had is not the next one's."""
        tenant = self._get(tenant_id)
        return None if tenant is None else _which(tenant)

    def forget(self) -> None:
        """Ask anew from now on: something about tenants has changed."""
        self._changes += 1
        self._kept.clear()

    def _get(self, tenant_id: str) -> Tenant | None:
        now = blocking.get_running_loop().time()
        kept = self._kept.get(tenant_id)
        if kept is not None and kept[0] > now:
            return kept[1]
        changes = self._changes
        tenant = self._find(tenant_id)
        # That there is none is not kept: it may be created any moment.
        if tenant is not None and changes == self._changes:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[tenant_id] = (now + self._kept_seconds, tenant)
        return tenant


class Watching:
    """A port whose writes may change tenants: what is known of them is forgotten after each."""

    _READS = ("get", "find", "list")

    def __init__(self, port: Any, states: TenantStates, discard: Discard) -> None:
        """Hand every call on; after a purge discard what is elsewhere."""
        self._port = port
        self._states = states
        self._discard = discard

    def __getattr__(self, name: str) -> Any:
        """Return the port's attribute; of a write, one that forgets."""
        found = getattr(self._port, name)
        if name.startswith(("_", *self._READS)) or not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            which = None
            if name == "purge" and isinstance(kwargs.get("tenant_id"), str):
                with contextlib.suppress(StrongroomError):  # the purge itself says what is wrong
                    which = self._states.which(kwargs["tenant_id"])
            try:
                done = found(*args, **kwargs)
            finally:
                self._states.forget()
            if which is not None and not done.dry_run:
                self._discard(which, kwargs["tenant_id"])
            return done

        return call
