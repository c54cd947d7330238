"""Every port method about transcripts and sessions, as data for the sections; see ``calls``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from strongroom.client import Ports
from strongroom.conformance.helpers import fresh
from strongroom.models import MemoryContext

SAID: dict[str, Any] = {"role": "user", "content": "secret"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptIds:
    """A scope with a transcript, and a session with a message and a recorded error."""

    scope: str
    context: MemoryContext
    ref: str
    error_id: str

    def absent(self) -> TranscriptIds:
        """Return ids of the same form that name nothing."""
        context = self.context.replace(
            session_id=self.context.session_id[::-1], user_id=(self.context.user_id or "")[::-1]
        )
        return replace(
            self,
            scope=self.scope[::-1],
            context=context,
            ref=self.ref[::-1],
            error_id=self.error_id[::-1],
        )


async def fill_transcripts(store: Ports, tenant_id: str) -> TranscriptIds:
    """Make one of everything."""
    scope, error_id = fresh("scope"), fresh("error")
    context = MemoryContext(session_id=fresh("session"), user_id=fresh("user"))
    await store.transcripts.save(tenant_id=tenant_id, scope=scope, messages=[SAID])
    of: dict[str, Any] = {"tenant_id": tenant_id, "context": context, "run_id": "r"}
    await store.memory.append(**of, turn=0, messages=[SAID])
    await store.memory.record_error(**of, error="secret", messages=[SAID], error_id=error_id)
    page = await store.memory.list_conversations(tenant_id=tenant_id, user_id=context.user_id)
    return TranscriptIds(scope=scope, context=context, ref=page.items[0].ref, error_id=error_id)


class HasTranscripts(Protocol):
    """A target with the ids of transcripts."""

    @property
    def tenant_id(self) -> str:
        """The tenant."""
        ...

    @property
    def conversation_id(self) -> str:
        """The conversation."""
        ...

    @property
    def transcripts(self) -> TranscriptIds:
        """The ids."""
        ...


def _scope(target: HasTranscripts) -> dict[str, Any]:
    return {"tenant_id": target.tenant_id, "scope": target.transcripts.scope}


def _session(target: HasTranscripts) -> dict[str, Any]:
    return {"tenant_id": target.tenant_id, "context": target.transcripts.context}


HOST_READS: Mapping[str, Callable[[Ports, HasTranscripts], Awaitable[object]]] = {
    "transcripts.load": lambda s, t: s.transcripts.load(**_scope(t)),
    "transcripts.find": lambda s, t: s.transcripts.find(**_scope(t)),
    "transcripts.list_scopes": lambda s, t: s.transcripts.list_scopes(tenant_id=t.tenant_id),
    "memory.load": lambda s, t: s.memory.load(**_session(t)),
    "memory.find_error": lambda s, t: s.memory.find_error(
        **_session(t), error_id=t.transcripts.error_id
    ),
    "memory.list_errors": lambda s, t: s.memory.list_errors(**_session(t)),
    "memory.list_conversations": lambda s, t: s.memory.list_conversations(
        tenant_id=t.tenant_id, user_id=t.transcripts.context.user_id
    ),
    "memory.get_conversation": lambda s, t: s.memory.get_conversation(
        tenant_id=t.tenant_id, ref=t.transcripts.ref
    ),
}
"""Reads that hosts alone may do."""

HOST_WRITES: Mapping[str, Callable[[Ports, HasTranscripts], Awaitable[object]]] = {
    "transcripts.copy": lambda s, t: s.transcripts.copy(
        tenant_id=t.tenant_id, from_scope=t.transcripts.scope, to_scope="copy"
    ),
    "transcripts.delete": lambda s, t: s.transcripts.delete(**_scope(t)),
    "memory.clear": lambda s, t: s.memory.clear(**_session(t)),
}
"""Writes that hosts alone may do, to what is there."""


def _bound(target: HasTranscripts) -> dict[str, Any]:
    context = MemoryContext(session_id="bound", conversation_id=target.conversation_id)
    return {"tenant_id": target.tenant_id, "context": context, "run_id": "late"}


WRITES: Mapping[str, Callable[[Ports, HasTranscripts], Awaitable[object]]] = {
    "transcripts.save": lambda s, t: s.transcripts.save(
        tenant_id=t.tenant_id, scope="bound", messages=[], conversation_id=t.conversation_id
    ),
    "memory.append": lambda s, t: s.memory.append(**_bound(t), turn=0, messages=[SAID]),
    "memory.record_error": lambda s, t: s.memory.record_error(**_bound(t), error="late"),
}
"""Writes of what is bound to a conversation; each must refuse one that does not exist."""
