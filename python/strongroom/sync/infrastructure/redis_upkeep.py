# Written by scripts/generate_sync.py from strongroom/infrastructure/redis_upkeep.py: change that, and run `make generate`.
"""What a purged tenant has left in Redis: deleted with it, or soon after a purge by another process."""

from __future__ import annotations

import json

from strongroom.infrastructure.redis_upkeep import _AT_ONCE, _TOPIC_KEYS, registered
from strongroom.sync.infrastructure.redis_server import RedisServer
from strongroom.sync.infrastructure.tenant_states import TenantStates


def registry(server: RedisServer) -> str:
    """Return the key of the set of tenants that have anything in Redis."""
    return server.key("tenants")


def discard_tenant(server: RedisServer, which: str, tenant_id: str) -> None:
    """Delete everything of a tenant; the counter of tokens stays."""
    topics = server.key("topics", which, tenant_id)
    while members := server.patiently(lambda: server.client.spop(topics, _AT_ONCE)):
        for member in members:
            topic = json.loads(member)[1]
            keys = [server.key(name, which, tenant_id, topic) for name in _TOPIC_KEYS]
            server.patiently(lambda keys=keys: server.client.unlink(*keys))
    locks = [server.key(name, which, tenant_id) for name in ("locks", "lock_ends")]
    server.patiently(lambda: server.client.unlink(*locks))
    entry = registered(which, tenant_id)
    server.patiently(lambda: server.client.srem(registry(server), entry))


def discard_purged(server: RedisServer, tenants: TenantStates, *, limit: int = 100) -> int:
    """Look at some of the tenants, drawn anew each time; delete what is of purged ones; return how many."""
    entries = server.patiently(lambda: server.client.srandmember(registry(server), limit))
    count = 0
    for entry in entries:
        which, tenant_id = json.loads(entry)
        if tenants.which(tenant_id) != which:
            discard_tenant(server, which, tenant_id)
            count += 1
    return count
