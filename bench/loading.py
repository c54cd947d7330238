"""Filling strongroom's tables: many tenants and conversations, with every constraint and trigger on."""

from __future__ import annotations

import json

from bench.competitors import MESSAGE_TEXT
from bench.server import Server

TENANTS = 50
PER_CONVERSATION = 200
CLIENTS = 8
TENANT = "tenant-0"
"""The tenant that is measured; it has as many other conversations as the other tenants."""
HOST = "bench_host"
"""A login role that is a host, and so bound by row security."""


def own_conversation(number: int) -> str:
    """A conversation that strongroom appends to."""
    return f"own-{number}"


def raw_conversation(number: int) -> str:
    """A conversation that the floor appends to."""
    return f"raw-{number}"


def shared_conversation(messages: int) -> str:
    """A conversation of that many messages, which is only read."""
    return f"read-{messages}"


def load(server: Server, database: str, rows: int, read_only: tuple[int, ...]) -> None:
    """Insert as many messages as asked, among them the conversations that are read.

    Args:
        server: the server.
        database: has the schema already.
        rows: messages altogether; with none, nothing is analyzed either, as after an installation.
        read_only: sizes of the conversations that are only read.
    """
    parts = json.dumps([{"type": "text", "schema_version": 1, "text": MESSAGE_TEXT}])
    others = max(0, rows - sum(read_only)) // PER_CONVERSATION
    conversations = [
        (f"load-{n}", f"tenant-{n % TENANTS}", PER_CONVERSATION) for n in range(others)
    ]
    conversations += [(shared_conversation(size), TENANT, size) for size in read_only]
    conversations += [(own_conversation(n), TENANT, 0) for n in range(CLIENTS)]
    conversations += [(raw_conversation(n), TENANT, 0) for n in range(CLIENTS)]
    with server.connect(database) as connection:
        connection.execute(
            "insert into strongroom.tenants (tenant_id, name, creation_digest)"
            " select 'tenant-' || n, 'Tenant ' || n, 'bench' from generate_series(0, %s - 1) as n",
            (TENANTS,),
        )
        connection.execute(
            "create temporary table sizes (id text, tenant_id text, messages integer)"
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                "insert into sizes (id, tenant_id, messages) values (%s, %s, %s)", conversations
            )
        connection.execute(
            "insert into strongroom.conversations (id, tenant_id, owner_id, creation_digest)"
            " select s.id, s.tenant_id, 'ada', 'bench' from sizes as s"
        )
        # Mixed over the conversations, as messages arrive in life: the rows of a page lie apart.
        connection.execute(
            "insert into strongroom.messages (tenant_id, conversation_id, position, id, role, parts)"
            " select s.tenant_id, s.id, p.position, gen_random_uuid()::text, 'user', %s"
            " from generate_series(1, %s) as p (position)"
            " inner join sizes as s on p.position <= s.messages"
            " where s.messages > 0"
            " order by (p.position - random()) / s.messages",
            (parts, max([PER_CONVERSATION, *read_only])),
        )
        if not rows:
            return
        connection.execute("vacuum (analyze)")
        connection.execute("checkpoint")
