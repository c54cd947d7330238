# Written by scripts/generate_sync.py from strongroom/infrastructure/adapters.py: change that, and run `make generate`.
"""From ``connect(locks=..., realtime=..., jobs=...)`` to a store that is put together of several servers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from strongroom.errors import InvalidArgument
from strongroom.infrastructure.redis_server import is_redis_url
from strongroom.models.health import TextPolicy
from strongroom.sync.client import Strongroom
from strongroom.sync.infrastructure.bullmq_jobs import brought_by_bullmq, bullmq_server
from strongroom.sync.infrastructure.composing import ComposablePort, composed
from strongroom.sync.infrastructure.redis_locks import RedisDistributedLockStore
from strongroom.sync.infrastructure.redis_realtime_units import TransactionalRedisRealtime
from strongroom.sync.infrastructure.redis_server import RedisServer
from strongroom.sync.infrastructure.redis_upkeep import discard_purged
from strongroom.sync.infrastructure.tenant_states import TenantStates
from strongroom.sync.infrastructure.upkeep import upkeep


def with_adapters(
    stack: ExitStack,
    store: Strongroom,
    *,
    locks: str | None = None,
    realtime: str | None = None,
    jobs: str | None = None,
    text_policy: TextPolicy = "reject",
    keeps_up: bool = True,
) -> Strongroom:
    """Open adapters, and return the store with them.

    Args:
        stack: closes them at its end.
        store: the database's.
        locks: URL of the server that keeps locks; None: the database does.
        realtime: URL of the server that keeps the change feed; None: the database does.
        jobs: ``bullmq+redis://...``: BullMQ brings jobs to workers; None: workers ask the database.
        text_policy: as for the store.
        keeps_up: whether calls may be made beside the caller's: not on a connection that is theirs.

    Raises:
        InvalidArgument: SR001, a URL is of no known kind.
        MissingCapability: SR040, an extra is not installed, or a server would lose what it acknowledges.
        Unavailable: SR050, a server cannot be reached.
    """
    if locks is None and realtime is None and jobs is None:
        return store
    tenants = TenantStates(lambda tenant_id: store.tenants.find(tenant_id=tenant_id))
    servers: dict[str, RedisServer] = {}

    def keep_up(step: Callable[[], int], name: str) -> None:
        if keeps_up:
            stack.enter_context(upkeep(step, name))

    def server_at(url: str, argument: str) -> RedisServer:
        if not isinstance(url, str) or not is_redis_url(url):
            raise InvalidArgument(
                f"{argument} is of no known kind",
                detail={"path": argument},
                hint="Use redis://host:port/database, rediss:// or unix:///socket; for jobs"
                " bullmq+redis://host:port/database.",
            )
        if url not in servers:
            server = servers[url] = RedisServer.of(url)
            stack.callback(server.close)
            server.check()
            keep_up(lambda: discard_purged(server, tenants), "purged tenants")
        return servers[url]

    ports: dict[str, ComposablePort] = {}
    if jobs is not None:
        server = server_at(bullmq_server(jobs), "jobs")
        ports["jobs"] = brought_by_bullmq(store.jobs, server)
    if locks is not None:
        server = server_at(locks, "locks")
        ports["locks"] = RedisDistributedLockStore(server, tenants, text_policy)
    if realtime is not None:
        server = server_at(realtime, "realtime")
        feed = TransactionalRedisRealtime(server, tenants, store.jobs, text_policy)
        stack.callback(feed.close)
        ports["realtime"] = feed
        keep_up(feed.send_unsent, "the outbox")
    return composed(store, ports, tenants, tuple(servers.values()))
