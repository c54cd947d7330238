"""From ``connect(locks=..., realtime=..., jobs=...)`` to a store that is put together of several servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from strongroom.client import Strongroom
from strongroom.errors import InvalidArgument
from strongroom.infrastructure.bullmq_jobs import brought_by_bullmq, bullmq_server
from strongroom.infrastructure.composing import ComposablePort, composed
from strongroom.infrastructure.redis_locks import RedisDistributedLockStore
from strongroom.infrastructure.redis_realtime_units import TransactionalRedisRealtime
from strongroom.infrastructure.redis_server import RedisServer, is_redis_url
from strongroom.infrastructure.redis_upkeep import discard_purged
from strongroom.infrastructure.tenant_states import TenantStates
from strongroom.infrastructure.upkeep import upkeep
from strongroom.models.health import TextPolicy


async def with_adapters(
    stack: AsyncExitStack,
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

    async def keep_up(step: Callable[[], Awaitable[int]], name: str) -> None:
        if keeps_up:
            await stack.enter_async_context(upkeep(step, name))

    async def server_at(url: str, argument: str) -> RedisServer:
        if not isinstance(url, str) or not is_redis_url(url):
            raise InvalidArgument(
                f"{argument} is of no known kind",
                detail={"path": argument},
                hint="Use redis://host:port/database, rediss:// or unix:///socket; for jobs"
                " bullmq+redis://host:port/database.",
            )
        if url not in servers:
            server = servers[url] = RedisServer.of(url)
            stack.push_async_callback(server.close)
            await server.check()
            await keep_up(lambda: discard_purged(server, tenants), "purged tenants")
        return servers[url]

    ports: dict[str, ComposablePort] = {}
    if jobs is not None:
        server = await server_at(bullmq_server(jobs), "jobs")
        ports["jobs"] = brought_by_bullmq(store.jobs, server)
    if locks is not None:
        server = await server_at(locks, "locks")
        ports["locks"] = RedisDistributedLockStore(server, tenants, text_policy)
    if realtime is not None:
        server = await server_at(realtime, "realtime")
        feed = TransactionalRedisRealtime(server, tenants, store.jobs, text_policy)
        stack.push_async_callback(feed.close)
        ports["realtime"] = feed
        await keep_up(feed.send_unsent, "the outbox")
    return composed(store, ports, tenants, tuple(servers.values()))
