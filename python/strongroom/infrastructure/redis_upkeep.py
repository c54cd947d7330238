"""What a purged tenant has left in Redis: deleted with it, or soon after a purge by another process."""

from __future__ import annotations

import json

from strongroom.infrastructure.redis_server import RedisServer
from strongroom.infrastructure.tenant_states import TenantStates

_TOPIC_KEYS = ("topic", "events", "event_ids", "turn")
_AT_ONCE = 1000


def registry(server: RedisServer) -> str:
    """Return the key of the set of tenants that have anything in Redis."""
    return server.key("tenants")


def registered(which: str, tenant_id: str) -> str:
    """Return a tenant's entry in that set."""
    return json.dumps([which, tenant_id])


async def discard_tenant(server: RedisServer, which: str, tenant_id: str) -> None:
    """Delete everything of a tenant; the counter of tokens stays."""
    topics = server.key("topics", which, tenant_id)
    while members := await server.patiently(lambda: server.client.spop(topics, _AT_ONCE)):
        for member in members:
            topic = json.loads(member)[1]
            keys = [server.key(name, which, tenant_id, topic) for name in _TOPIC_KEYS]
            await server.patiently(lambda keys=keys: server.client.unlink(*keys))
    locks = [server.key(name, which, tenant_id) for name in ("locks", "lock_ends")]
    await server.patiently(lambda: server.client.unlink(*locks))
    entry = registered(which, tenant_id)
    await server.patiently(lambda: server.client.srem(registry(server), entry))


async def discard_purged(server: RedisServer, tenants: TenantStates, *, limit: int = 100) -> int:
    """Look at some of the tenants, drawn anew each time; delete what is of purged ones; return how many."""
    entries = await server.patiently(lambda: server.client.srandmember(registry(server), limit))
    count = 0
    for entry in entries:
        which, tenant_id = json.loads(entry)
        if await tenants.which(tenant_id) != which:
            await discard_tenant(server, which, tenant_id)
            count += 1
    return count
