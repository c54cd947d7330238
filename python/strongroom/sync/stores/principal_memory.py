# Written by scripts/generate_sync.py from strongroom/stores/principal_memory.py: change that, and run `make generate`.
"""PrincipalMemoryStore on SQL."""

from __future__ import annotations

from pydantic_core import from_json

from strongroom.ids import new_id
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
from strongroom.ports.arguments import viewer_id
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.principal_memory import FactIds, MaxItems, MaxTokens, Sensitivities
from strongroom.stores.base import existing
from strongroom.stores.principal_memory import (
    _Deleted,
    _Expired,
    _fact,
    _Forgotten,
    _found,
    _Touched,
    changes_of,
    fact_of,
)
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore
from strongroom.transports.base import Document


class SqlPrincipalMemoryStore(SqlStore):
    """See :class:`strongroom.ports.PrincipalMemoryStore`."""

    @port_method
    def put(
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
        rows = from_json(
            self._transport.call(
                "put_memory",
                {
                    "tenant_id": tenant_id,
                    "principal_id": principal_id,
                    "fact": Document(fact),
                    "expected_version": expected_version,
                    "generation": generation,
                    "write_id": new_id(),
                },
            )
        )
        outcome = rows[0]["outcome"]
        return MemoryPut(outcome=outcome, fact=None if outcome == "forgotten" else _fact(rows[0]))

    @port_method
    def get(
        self, *, tenant_id: Id, principal_id: Id, memory_id: Id, viewer: Viewer | None = None
    ) -> MemoryFact:
        """See the port."""
        found = self._find_one(tenant_id, principal_id, memory_id, viewer)
        return existing(found, "memory", "memory_id")

    @port_method
    def find(
        self, *, tenant_id: Id, principal_id: Id, memory_id: Id, viewer: Viewer | None = None
    ) -> MemoryFact | None:
        """See the port."""
        return self._find_one(tenant_id, principal_id, memory_id, viewer)

    def _find_one(
        self, tenant_id: str, principal_id: str, memory_id: str, viewer: Viewer | None
    ) -> MemoryFact | None:
        return self._find(
            MemoryFact,
            "find_memory",
            tenant_id=tenant_id,
            principal_id=principal_id,
            memory_id=memory_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def list(
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
        return self._page(
            MemoryFact,
            "list_memories",
            tenant_id=tenant_id,
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
    def search(
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
        vector = search_embedding(text, embedding, embedding_model)
        rows = from_json(
            self._transport.call(
                "search_memories",
                {
                    "tenant_id": tenant_id,
                    "principal_id": principal_id,
                    "text": text,
                    "embedding": Document(vector["embedding"]) if embedding else None,
                    "embedding_model": embedding_model,
                    "namespace_prefix": namespace_prefix,
                    "sensitivities": None if sensitivities is None else [*sensitivities],
                    "max_items": max_items,
                    "max_tokens": max_tokens,
                    "viewer_id": viewer_id(tenant_id, viewer),
                },
            )
        )
        summary = rows.pop()
        return MemorySearch(
            items=tuple(_found(row) for row in rows),
            is_enabled=summary["is_enabled"],
            found=summary["found"],
            tokens=summary["tokens"],
        )

    @port_method
    def touch(self, *, tenant_id: Id, principal_id: Id, memory_ids: FactIds) -> int:
        """See the port."""
        row = self._one(
            _Touched,
            "touch_memories",
            tenant_id=tenant_id,
            principal_id=principal_id,
            memory_ids=[*memory_ids],
        )
        return row.touched

    @port_method
    def update(
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
        return self._one(
            MemoryFact,
            "update_memory",
            tenant_id=tenant_id,
            principal_id=principal_id,
            memory_id=memory_id,
            changes=Document(
                changes_of(
                    text=text,
                    source=source,
                    confidence=confidence,
                    sensitivity=sensitivity,
                    expires_at=expires_at,
                    embedding=embedding,
                    embedding_model=embedding_model,
                    metadata=metadata,
                )
            ),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    def delete(self, *, tenant_id: Id, principal_id: Id, memory_id: Id) -> bool:
        """See the port."""
        row = self._one(
            _Deleted,
            "delete_memory",
            tenant_id=tenant_id,
            principal_id=principal_id,
            memory_id=memory_id,
        )
        return row.deleted

    @port_method
    def forget_all(self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None) -> int:
        """See the port."""
        row = self._one(
            _Forgotten,
            "forget_memories",
            tenant_id=tenant_id,
            principal_id=principal_id,
            actor_id=actor_id,
        )
        return row.forgotten

    @port_method
    def disable(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> MemoryStatus:
        """See the port."""
        return self._one(
            MemoryStatus,
            "disable_memory",
            tenant_id=tenant_id,
            principal_id=principal_id,
            actor_id=actor_id,
        )

    @port_method
    def enable(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> MemoryStatus:
        """See the port."""
        return self._one(
            MemoryStatus,
            "enable_memory",
            tenant_id=tenant_id,
            principal_id=principal_id,
            actor_id=actor_id,
        )

    @port_method
    def status(
        self, *, tenant_id: Id, principal_id: Id, viewer: Viewer | None = None
    ) -> MemoryStatus:
        """See the port."""
        return self._one(
            MemoryStatus,
            "read_memory_status",
            tenant_id=tenant_id,
            principal_id=principal_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def expire(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """See the port."""
        row = self._one(_Expired, "expire_memories", tenant_id=tenant_id, limit=limit)
        return row.expired
