"""ADK's ``BaseMemoryService``, on the memory of principals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from strongroom.integrations.bridge import AnyStore, Bridge

PART = 4_000
"""Characters of one fact; a longer text becomes several."""

MOST_ITEMS = 20


class StrongroomMemoryService(BaseMemoryService):
    """Memory of ADK's users: ``Runner(..., memory_service=StrongroomMemoryService(...))``.

    The texts of events become facts of the user, in the namespace of the app, and are searched as all of
    strongroom's memory is: in any language, without query syntax. What a user has deleted or forgotten
    does not come back when the session is added again, and a user whose memory is switched off keeps none.

    Args:
        store: an open store, or one from ``connect_in_thread``.
        tenant_id: whose data it is.
    """

    def __init__(self, store: AnyStore, *, tenant_id: str) -> None:
        """See the class."""
        self._bridge = Bridge(store)
        self._memory = self._bridge.store.principal_memory
        self._tenant_id = tenant_id

    async def add_session_to_memory(self, session: Session) -> None:
        """Add the texts of a session; those that are there stay as they are."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002
    ) -> None:
        """Add the texts of some events.

        Raises:
            PermissionDenied: SR020, the user's memory is switched off.
        """
        for event in events:
            parts = event.content.parts if event.content else None
            text = "\n".join(part.text for part in parts or () if part.text)
            for start in range(0, len(text), PART):
                if not text[start : start + PART].strip():
                    continue
                await self._bridge.run(
                    self._memory.put(
                        tenant_id=self._tenant_id,
                        principal_id=user_id,
                        memory_id=f"{event.id}:{start}",
                        text=text[start : start + PART],
                        source="user-stated" if event.author == "user" else "extracted",
                        namespace=_namespace(app_name),
                        metadata={
                            "author": event.author,
                            "timestamp": event.timestamp,
                            "session_id": session_id,
                        },
                    )
                )

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return what fits best of the user's memory, at most 20 entries."""
        found = await self._bridge.run(
            self._memory.search(
                tenant_id=self._tenant_id,
                principal_id=user_id,
                text=query,
                namespace_prefix=_namespace(app_name),
                max_items=MOST_ITEMS,
            )
        )
        return SearchMemoryResponse(
            memories=[
                MemoryEntry(
                    id=one.id,
                    content=types.Content(parts=[types.Part(text=one.text)]),
                    author=str(one.metadata.get("author") or "") or None,
                    timestamp=one.created_at.isoformat(),
                    custom_metadata=dict(one.metadata),
                )
                for one in found.items
            ]
        )

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Delete one entry for good; it does not come back. Without an id nothing is deleted."""
        _ = app_name
        if memory_id is not None:
            await self._bridge.run(
                self._memory.delete(
                    tenant_id=self._tenant_id, principal_id=user_id, memory_id=memory_id
                )
            )


def _namespace(app_name: str) -> str:
    return f"google-adk/{app_name}"
