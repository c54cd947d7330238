"""The blocking API: what ``strongroom`` does, for programs without an event loop.

    import strongroom.sync

    with strongroom.sync.connect("postgresql://...") as store:
        store.tenants.create(tenant_id="acme", name="Acme")

Records and errors are those of ``strongroom``. What is the caller's own is a blocking one
(``psycopg_pool.ConnectionPool``, ``psycopg.Connection``, ``supabase.Client``). All threads may share a store; open it
in each process, after a fork. A subscription is a plain iterator, for a thread of its own: in Redis it is told at
once, elsewhere it looks once a second. Beside the store: ``strongroom.sync.following``,
``file_transfer``, ``blob_upkeep`` and ``ingestion.embedding``. Workers are asynchronous, and processes of their own
(``strongroom worker MODULE:HANDLER``). Most of this package is generated from the asynchronous source.

Example:
    >>> import strongroom.sync
    >>> from strongroom import NewMessage, TextPart
    >>> with strongroom.sync.connect("memory:") as store:
    ...     tenant = store.tenants.create(tenant_id="acme", name="Acme")
    ...     talk = store.conversations.create(tenant_id="acme", owner_id="ada")
    ...     with store.unit_of_work(tenant_id="acme") as uow:
    ...         done = uow.messages.append(
    ...             tenant_id="acme", conversation_id=talk.id,
    ...             messages=[NewMessage(role="user", parts=[TextPart(text="Hello")])],
    ...         )
    ...     store.messages.count(tenant_id="acme", conversation_id=talk.id)
    1
"""

from strongroom.sync.client import Strongroom as Strongroom
from strongroom.sync.client import UnitOfWork as UnitOfWork
from strongroom.sync.connecting import connect as connect
from strongroom.sync.memory_sessions import MemoryRun as MemoryRun
from strongroom.sync.memory_sessions import MemorySession as MemorySession
from strongroom.sync.supabase import connect_supabase as connect_supabase
