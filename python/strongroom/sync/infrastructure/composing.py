# Written by scripts/generate_sync.py from strongroom/infrastructure/composing.py: change that, and run `make generate`.
"""A store whose jobs, locks or change feed are not the database's: put together, also in units of work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Protocol, cast

from strongroom.errors import StrongroomError
from strongroom.infrastructure.composing import CAPABILITY_OF, log
from strongroom.models.health import Health
from strongroom.sync.client import Strongroom, UnitOfWork
from strongroom.sync.infrastructure.redis_server import RedisServer
from strongroom.sync.infrastructure.redis_upkeep import discard_tenant
from strongroom.sync.infrastructure.tenant_states import TenantStates, Watching


class UnitPort(Protocol):
    """A port of an adapter within one unit of work, whose transaction it cannot join."""

    def prepare(self) -> None:
        """Before the commit; an error undoes the unit."""
        ...

    def committed(self) -> None:
        """After the commit; what fails here is told and made good later, and never raised."""
        ...

    def undone(self) -> None:
        """After the unit has failed; never raises."""
        ...

    def nested(self, unit: UnitOfWork) -> UnitPort:
        """Return the port within a nested unit, of which ``merge`` takes over what succeeded."""
        ...

    def merge(self, nested: Any) -> None:
        """Take over what a nested unit did; one that fails is never merged."""
        ...


class ComposablePort(Protocol):
    """A port of an adapter that can be composed with a store."""

    def join(self, unit: UnitOfWork) -> UnitPort:
        """Return the port within a unit of work of the store."""
        ...


def composed(
    store: Strongroom,
    ports: Mapping[str, ComposablePort],
    tenants: TenantStates,
    servers: tuple[RedisServer, ...] = (),
) -> Strongroom:
    """Return the store with some of its ports replaced.

    Args:
        store: the database's.
        ports: attribute -> port.
        tenants: what those ports know of tenants, kept right by what is done on this store.
        servers: their servers, whose ``warnings`` belong to the store's health.
    """

    def read_health() -> Health:
        health = store.read_health()
        warnings = tuple(warning for server in servers for warning in server.warnings)
        return health.replace(
            status="degraded" if warnings else health.status,
            warnings=(*health.warnings, *warnings),
            capabilities=tuple(sorted({*health.capabilities, *capabilities})),
        )

    def discard(which: str, tenant_id: str) -> None:
        for server in servers:
            try:
                discard_tenant(server, which, tenant_id)
            except StrongroomError as error:
                log.warning("what a purged tenant has left in Redis is deleted later: %s", error)

    capabilities = store.capabilities | {CAPABILITY_OF[name] for name in ports}

    def begin(tenant_id: str) -> AbstractContextManager[UnitOfWork]:
        return _unit_of_work(store, ports, tenants, tenant_id)

    return replace(
        store,
        **cast("dict[str, Any]", dict(ports)),
        tenants=cast("Any", Watching(store.tenants, tenants, discard)),
        capabilities=capabilities,
        begin=begin,
        read_health=read_health,
    )


@contextmanager
def _unit_of_work(
    store: Strongroom,
    ports: Mapping[str, ComposablePort],
    tenants: TenantStates,
    tenant_id: str,
) -> Iterator[UnitOfWork]:
    inside: dict[str, UnitPort] = {}
    try:
        with store.begin(tenant_id) as unit:
            inside = {name: port.join(unit) for name, port in ports.items()}
            yield _with(unit, inside)
            for port in inside.values():
                port.prepare()
    except BaseException:
        for port in inside.values():
            port.undone()
        raise
    finally:
        tenants.forget()
    for port in inside.values():
        port.committed()


def _with(unit: UnitOfWork, ports: Mapping[str, UnitPort]) -> UnitOfWork:
    """Return the unit with these ports, and the units in it."""

    @contextmanager
    def nested(tenant_id: str) -> Iterator[UnitOfWork]:
        with unit.begin_nested(tenant_id) as inner:
            children = {name: port.nested(inner) for name, port in ports.items()}
            yield _with(inner, children)
        for name, port in ports.items():
            port.merge(children[name])

    return replace(unit, **cast("dict[str, Any]", dict(ports)), begin_nested=nested)
