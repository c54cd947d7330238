# Written by scripts/generate_sync.py from strongroom/ports/memory_sessions.py: change that, and run `make generate`.
"""The port for sessions of agents, and its part for inspectors."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, Json, JsonValue
from strongroom.models.memory_sessions import (
    FailedRun,
    FailedRunMessages,
    MemoryAppendResult,
    MemoryContext,
    MemoryConversation,
    MemoryConversationSummary,
    RecordedFailedRun,
    SavedMessages,
    Turn,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page


class MemoryInspector(Protocol):
    """Looking at sessions, for developer tools. It changes nothing."""

    def list_conversations(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        user_id: Id | None = None,
    ) -> Page[MemoryConversationSummary]:
        """Return a page of sessions, forward newest first; of one user, or of all.

        SQL: ``strongroom.list_memory_sessions``
        """
        ...

    def get_conversation(self, *, tenant_id: Id, ref: Id) -> MemoryConversation | None:
        """Return a session with its messages in order of position; None when the reference is unknown.

        SQL: ``strongroom.find_memory_session``
        """
        ...


class MemoryStore(MemoryInspector, Protocol):
    """Raw provider messages of sessions, appended run by run, for agents that are used in sessions.

    A session is named by its id and its user within the tenant. A message is any JSON value. Whatever
    goes wrong is raised: a failure never looks like an empty history. Every method raises
    InvalidArgument (SR001), LimitExceeded (SR004), NotFound (SR010) for a session that is bound to an
    absent or deleted conversation, PermissionDenied (SR020), Unavailable (SR050).
    ``strongroom.MemorySession`` stores by a save policy on top of this.
    """

    @property
    def inspector(self) -> MemoryInspector:
        """The part of this port that only looks."""
        ...

    def load(self, *, tenant_id: Id, context: MemoryContext) -> list[JsonValue]:
        """Return all messages of the session, in order: an empty list when it is new.

        SQL: ``strongroom.read_memory_session``
        """
        ...

    def append(
        self,
        *,
        tenant_id: Id,
        context: MemoryContext,
        run_id: Id,
        turn: Turn,
        messages: SavedMessages,
        append_id: Id | None = None,
    ) -> MemoryAppendResult:
        """Append messages, and say of each what became of it.

        A repeat is known by the append id, and by a message's own id (its text field ``id``) in the
        session; equal content alone is never taken for one. A known append id inserts nothing, and with
        another run or turn it is a conflict.

        Args:
            tenant_id: the tenant.
            context: the session.
            run_id: the run that they are from.
            turn: its turn that they are from.
            messages: 0 to 500 messages.
            append_id: the id of this call; made before the first try when it is None.

        SQL: ``strongroom.append_memory_session``

        Example:
            >>> import strongroom.sync
            >>> from strongroom import MemoryContext
            >>> def main() -> list[object]:
            ...     with strongroom.sync.connect("memory:") as store:
            ...         store.tenants.create(tenant_id="acme", name="Acme")
            ...         ada = MemoryContext(session_id="thread-1", user_id="ada")
            ...         for _ in range(2):
            ...             store.memory.append(
            ...                 tenant_id="acme", context=ada, run_id="run-1", turn=0,
            ...                 messages=[{"role": "user", "content": "Hello"}], append_id="call-1",
            ...             )
            ...         return store.memory.load(tenant_id="acme", context=ada)
            >>> main()
            [{'role': 'user', 'content': 'Hello'}]
        """
        ...

    def clear(self, *, tenant_id: Id, context: MemoryContext) -> bool:
        """Delete the session, its recorded errors included; return whether there was one.

        SQL: ``strongroom.clear_memory_session``
        """
        ...

    def record_error(
        self,
        *,
        tenant_id: Id,
        context: MemoryContext,
        run_id: Id,
        error: Json,
        messages: SavedMessages = (),
        error_id: Id | None = None,
    ) -> RecordedFailedRun:
        """Record that a run failed, with the messages that it had got to.

        They do not become part of the session.

        Args:
            tenant_id: the tenant.
            context: the session.
            run_id: the run.
            error: what was raised, as JSON of at most 64 KiB: see ``strongroom.describe_error``.
            messages: 0 to 500 messages, 16 MiB together.
            error_id: the record's id; made before the first try when it is None.

        Raises:
            AlreadyExists: SR011, this id is that of another error of the session.

        SQL: ``strongroom.record_memory_session_error``
        """
        ...

    def find_error(
        self, *, tenant_id: Id, context: MemoryContext, error_id: Id
    ) -> FailedRunMessages | None:
        """Return a recorded error with its messages, or None.

        SQL: ``strongroom.find_memory_session_error``
        """
        ...

    def list_errors(
        self,
        *,
        tenant_id: Id,
        context: MemoryContext,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
    ) -> Page[FailedRun]:
        """Return a page of the session's recorded errors without their messages, forward newest first.

        SQL: ``strongroom.list_memory_session_errors``
        """
        ...
