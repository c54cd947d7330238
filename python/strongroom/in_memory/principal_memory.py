"""PrincipalMemoryStore in memory."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.in_memory.base import MemoryPort
from strongroom.in_memory.memory_forgetting import (
    delete_memory,
    expire_memories,
    forget_memories,
    read_memory_status,
    switch_memory,
    touch_memories,
)
from strongroom.in_memory.memory_functions import (
    find_memory,
    list_memories,
    put_memory,
    update_memory,
)
from strongroom.in_memory.memory_search import search_memories
from strongroom.models.base import Id, JsonObject, Moment, Version
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.principal_memory import (
    Confidence,
    Embedding,
    FactText,
    MemoryFact,
    MemoryPut,
    MemorySearch,
    MemorySource,
    MemoryStatus,
    Namespace,
    SearchText,
    Sensitivity,
    search_embedding,
)
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.principal_memory import FactIds, MaxItems, MaxTokens, Sensitivities
from strongroom.stores.base import existing
from strongroom.stores.principal_memory import changes_of, fact_of


class MemoryPrincipalMemoryStore(MemoryPort):
    """See :class:`strongroom.ports.PrincipalMemoryStore`."""

    @port_method
    async def put(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        text: FactText,
        source: MemorySource,
        memory_id: Id | None = None,
        namespace: Namespace = "",
        key: Id | None = None,
        confidence: Confidence = 1.0,
        sensitivity: Sensitivity = "personal",
        expires_at: Moment | None = None,
        embedding: Embedding | None = None,
        embedding_model: Id | None = None,
        metadata: JsonObject | None = None,
        conversation_id: Id | None = None,
        message_id: Id | None = None,
        run_id: Id | None = None,
        expected_version: Version | None = None,
        generation: Version | None = None,
    ) -> MemoryPut:
        """See the port."""
        fact = fact_of(
            memory_id=memory_id or new_id(),
            namespace=namespace,
            key=key,
            text=text,
            source=source,
            confidence=confidence,
            sensitivity=sensitivity,
            expires_at=expires_at,
            embedding=embedding,
            embedding_model=embedding_model,
            metadata=metadata,
            conversation_id=conversation_id,
            message_id=message_id,
            run_id=run_id,
        )
        if generation is None:
            # As of before this call waits for its turn: whoever forgets everything meanwhile wins.
            before = await self._read(
                tenant_id, read_memory_status, principal_id=principal_id, viewer_id=None
            )
            generation = before.generation
        return await self._write(
            tenant_id,
            put_memory,
            principal_id=principal_id,
            fact=fact,
            expected_version=expected_version,
            generation=generation,
        )

    @port_method
    async def get(
        self, *, tenant_id: Id, principal_id: Id, memory_id: Id, viewer: Viewer | None = None
    ) -> MemoryFact:
        """See the port."""
        found = await self._find_one(tenant_id, principal_id, memory_id, viewer)
        return existing(found, "memory", "memory_id")

    @port_method
    async def find(
        self, *, tenant_id: Id, principal_id: Id, memory_id: Id, viewer: Viewer | None = None
    ) -> MemoryFact | None:
        """See the port."""
        return await self._find_one(tenant_id, principal_id, memory_id, viewer)

    async def _find_one(
        self, tenant_id: str, principal_id: str, memory_id: str, viewer: Viewer | None
    ) -> MemoryFact | None:
        return await self._read(
            tenant_id,
            find_memory,
            principal_id=principal_id,
            memory_id=memory_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def list(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        namespace_prefix: Namespace = "",
        sensitivity: Sensitivity | None = None,
        source: MemorySource | None = None,
        viewer: Viewer | None = None,
    ) -> Page[MemoryFact]:
        """See the port."""
        return await self._read(
            tenant_id,
            list_memories,
            principal_id=principal_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            namespace_prefix=namespace_prefix,
            sensitivity=sensitivity,
            source=source,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def search(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        text: SearchText | None = None,
        embedding: Embedding | None = None,
        embedding_model: Id | None = None,
        namespace_prefix: Namespace = "",
        sensitivities: Sensitivities | None = None,
        max_items: MaxItems = 20,
        max_tokens: MaxTokens = 2_000,
        viewer: Viewer | None = None,
    ) -> MemorySearch:
        """See the port."""
        return await self._read(
            tenant_id,
            search_memories,
            principal_id=principal_id,
            text=text,
            **search_embedding(text, embedding, embedding_model),
            namespace_prefix=namespace_prefix,
            sensitivities=None if sensitivities is None else [*sensitivities],
            max_items=max_items,
            max_tokens=max_tokens,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def touch(self, *, tenant_id: Id, principal_id: Id, memory_ids: FactIds) -> int:
        """See the port."""
        return await self._write(
            tenant_id,
            touch_memories,
            principal_id=principal_id,
            memory_ids=[*memory_ids],
        )

    @port_method
    async def update(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        memory_id: Id,
        expected_version: Version,
        text: FactText | None = None,
        source: MemorySource | None = None,
        confidence: Confidence | None = None,
        sensitivity: Sensitivity | None = None,
        expires_at: Moment | Unset | None = UNSET,
        embedding: Embedding | Unset | None = UNSET,
        embedding_model: Id | None = None,
        metadata: JsonObject | None = None,
    ) -> MemoryFact:
        """See the port."""
        return await self._write(
            tenant_id,
            update_memory,
            principal_id=principal_id,
            memory_id=memory_id,
            changes=changes_of(
                text=text,
                source=source,
                confidence=confidence,
                sensitivity=sensitivity,
                expires_at=expires_at,
                embedding=embedding,
                embedding_model=embedding_model,
                metadata=metadata,
            ),
            expected_version=expected_version,
        )

    @port_method
    async def delete(self, *, tenant_id: Id, principal_id: Id, memory_id: Id) -> bool:
        """See the port."""
        return await self._write(
            tenant_id,
            delete_memory,
            principal_id=principal_id,
            memory_id=memory_id,
        )

    @port_method
    async def forget_all(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> int:
        """See the port."""
        return await self._write(
            tenant_id,
            forget_memories,
            principal_id=principal_id,
            actor_id=actor_id,
        )

    @port_method
    async def disable(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> MemoryStatus:
        """See the port."""
        return await self._write(
            tenant_id,
            switch_memory,
            principal_id=principal_id,
            is_enabled=False,
            actor_id=actor_id,
        )

    @port_method
    async def enable(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> MemoryStatus:
        """See the port."""
        return await self._write(
            tenant_id,
            switch_memory,
            principal_id=principal_id,
            is_enabled=True,
            actor_id=actor_id,
        )

    @port_method
    async def status(
        self, *, tenant_id: Id, principal_id: Id, viewer: Viewer | None = None
    ) -> MemoryStatus:
        """See the port."""
        return await self._read(
            tenant_id,
            read_memory_status,
            principal_id=principal_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def expire(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """See the port."""
        return await self._write(tenant_id, expire_memories, limit=limit)
