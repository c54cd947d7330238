"""Everything an AI agent platform must remember, kept in your own PostgreSQL or Supabase.

Example:
    >>> import asyncio, strongroom
    >>> from strongroom import NewMessage, TextPart
    >>> async def main() -> str:
    ...     async with strongroom.connect("memory:") as store:
    ...         await store.tenants.create(tenant_id="acme", name="Acme")
    ...         talk = await store.conversations.create(tenant_id="acme", owner_id="ada")
    ...         await store.messages.append(
    ...             tenant_id="acme", conversation_id=talk.id,
    ...             messages=[NewMessage(role="user", parts=[TextPart(text="Where is my parcel?")])],
    ...         )
    ...         page = await store.messages.list(tenant_id="acme", conversation_id=talk.id)
    ...         return page.items[0].parts[0].text
    >>> asyncio.run(main())
    'Where is my parcel?'
"""

from strongroom.bullmq_worker import BullMQWorker as BullMQWorker
from strongroom.client import Strongroom as Strongroom
from strongroom.client import UnitOfWork as UnitOfWork
from strongroom.connecting import connect as connect
from strongroom.errors import AlreadyExists as AlreadyExists
from strongroom.errors import InvalidArgument as InvalidArgument
from strongroom.errors import InvalidCursor as InvalidCursor
from strongroom.errors import InvalidText as InvalidText
from strongroom.errors import InvalidTransition as InvalidTransition
from strongroom.errors import LimitExceeded as LimitExceeded
from strongroom.errors import MissingCapability as MissingCapability
from strongroom.errors import NotFound as NotFound
from strongroom.errors import PermissionDenied as PermissionDenied
from strongroom.errors import SchemaVersionError as SchemaVersionError
from strongroom.errors import StaleClaim as StaleClaim
from strongroom.errors import StrongroomError as StrongroomError
from strongroom.errors import TenantMismatch as TenantMismatch
from strongroom.errors import Unavailable as Unavailable
from strongroom.errors import VersionConflict as VersionConflict
from strongroom.memory_sessions import MemoryRun as MemoryRun
from strongroom.memory_sessions import MemorySession as MemorySession
from strongroom.memory_sessions import describe_error as describe_error
from strongroom.models import *  # noqa: F403 (models/__init__ lists the public records)
from strongroom.ports import ConversationStore as ConversationStore
from strongroom.ports import MessageStore as MessageStore
from strongroom.ports import SchemaManager as SchemaManager
from strongroom.ports import SessionStateStore as SessionStateStore
from strongroom.ports import TenantStore as TenantStore
from strongroom.ports import ThreadSummaryStore as ThreadSummaryStore
from strongroom.run_context import Approval as Approval
from strongroom.run_context import RetryLater as RetryLater
from strongroom.run_context import RunCancelled as RunCancelled
from strongroom.run_context import RunContext as RunContext
from strongroom.run_context import TurnResult as TurnResult
from strongroom.supabase import connect_supabase as connect_supabase
from strongroom.worker import DurableWorker as DurableWorker
from strongroom.worker import Handler as Handler
