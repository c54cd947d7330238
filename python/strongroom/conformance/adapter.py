"""What an adapter gives to the suite."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import pytest

from strongroom.client import Strongroom
from strongroom.models.health import Capability

Opened = AbstractAsyncContextManager[Strongroom]


class LookAtTables(Protocol):
    """A raw look at the tables, past the ports, with nothing but row security to filter it."""

    def __call__(
        self, *, tenant_id: str, principal_id: str | None = None
    ) -> Awaitable[Mapping[str, frozenset[str]]]:
        """Return, for every table that has a tenant column, whose rows are seen.

        A table that may not be read at all is left out.

        Args:
            tenant_id: the tenant that is bound.
            principal_id: look as this signed-in user; None looks as a host.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """An open store, and what the suite may do with it besides calling its ports.

    The suite makes tenants of its own with random ids and never looks at others, so it can run many
    times, and in parallel, on one database.

    Attributes:
        store: opened as a host.
        open_second: opens another store on the same data, as another process would.
        open_replacing: opens a store on the same data with ``text_policy="replace"``.
        as_user: ``as_user(tenant_id, principal_id)`` opens a store that acts as that signed-in user.
        visible_tenants: a raw look at the tables; needed with ``row_level_security``.
        parallel_units: whether several tasks may have units of work at once.
        kept: what tests look at without changing it, made once while the adapter is open. A fixture
            that hands out the same adapter many times makes the suite faster.
    """

    store: Strongroom
    open_second: Callable[[], Opened] | None = None
    open_replacing: Callable[[], Opened] | None = None
    as_user: Callable[[str, str], Opened] | None = None
    visible_tenants: LookAtTables | None = None
    parallel_units: bool = True
    kept: dict[object, Any] = field(default_factory=dict, repr=False)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the store advertises."""
        return self.store.capabilities

    def needs(self, capability: Capability) -> None:
        """Skip the test, visibly, when the adapter does not advertise the capability."""
        if capability not in self.capabilities:
            pytest.skip(f"this adapter does not advertise the capability {capability!r}")

    def needs_parallel_units(self) -> None:
        """Skip the test when one unit of work at a time may be open on the store."""
        self.needs("transactions")
        if not self.parallel_units:
            pytest.skip("this adapter's store has one unit of work at a time")

    def second(self) -> Opened:
        """Open another store on the same data, or skip the test."""
        if self.open_second is None:
            _skip_without("open_second", "a second store on the same data")
        return self.open_second()

    def replacing(self) -> Opened:
        """Open a store that replaces text which cannot be stored, or skip the test."""
        if self.open_replacing is None:
            _skip_without("open_replacing", "a store with text_policy='replace'")
        return self.open_replacing()

    def user(self, tenant_id: str, principal_id: str) -> Opened:
        """Open a store as a signed-in user, or skip the test."""
        if self.as_user is None:
            _skip_without("as_user", "signed-in end users")
        return self.as_user(tenant_id, principal_id)

    @property
    def look(self) -> LookAtTables:
        """The raw look at the tables; an adapter with row security must have it."""
        self.needs("row_level_security")
        if self.visible_tenants is None:
            pytest.fail("an adapter that advertises row_level_security must give visible_tenants")
        return self.visible_tenants


def _skip_without(hook: str, what: str) -> NoReturn:
    pytest.skip(f"the adapter fixture gives no {hook!r}: {what}")
