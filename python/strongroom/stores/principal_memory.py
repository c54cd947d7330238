"""PrincipalMemoryStore on SQL."""

from __future__ import annotations

import datetime as dt
from typing import Any

from pydantic_core import from_json

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, JsonValue, Moment, Record, Version
from strongroom.models.context import Viewer
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.principal_memory import (
    Confidence,
    Embedding,
    FactText,
    FoundMemoryFact,
    MemoryFact,
    MemoryPut,
    MemorySearch,
    MemorySource,
    MemoryStatus,
    Namespace,
    SearchText,
    Sensitivity,
    embedding_of,
    search_embedding,
)
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.ports.conversations import UNSET, Unset
from strongroom.ports.principal_memory import FactIds, MaxItems, MaxTokens, Sensitivities
from strongroom.stores.base import SqlStore, existing
from strongroom.transports.base import Document


class _Touched(Record):
    touched: int


class _Deleted(Record):
    deleted: bool


class _Forgotten(Record):
    forgotten: int
    generation: int


class _Expired(Record):
    expired: int


def _fact(row: dict[str, Any]) -> MemoryFact:
    return MemoryFact(**{name: row[name] for name in MemoryFact.model_fields})


def _found(row: dict[str, Any]) -> FoundMemoryFact:
    return FoundMemoryFact(**{name: row[name] for name in FoundMemoryFact.model_fields})


class SqlPrincipalMemoryStore(SqlStore):
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
        rows = from_json(
            await self._transport.call(
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
        return await self._find(
            MemoryFact,
            "find_memory",
            tenant_id=tenant_id,
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
        return await self._page(
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
        vector = search_embedding(text, embedding, embedding_model)
        rows = from_json(
            await self._transport.call(
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
    async def touch(self, *, tenant_id: Id, principal_id: Id, memory_ids: FactIds) -> int:
        """See the port."""
        row = await self._one(
            _Touched,
            "touch_memories",
            tenant_id=tenant_id,
            principal_id=principal_id,
            memory_ids=[*memory_ids],
        )
        return row.touched

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
        return await self._one(
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
    async def delete(self, *, tenant_id: Id, principal_id: Id, memory_id: Id) -> bool:
        """See the port."""
        row = await self._one(
            _Deleted,
            "delete_memory",
            tenant_id=tenant_id,
            principal_id=principal_id,
            memory_id=memory_id,
        )
        return row.deleted

    @port_method
    async def forget_all(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> int:
        """See the port."""
        row = await self._one(
            _Forgotten,
            "forget_memories",
            tenant_id=tenant_id,
            principal_id=principal_id,
            actor_id=actor_id,
        )
        return row.forgotten

    @port_method
    async def disable(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> MemoryStatus:
        """See the port."""
        return await self._one(
            MemoryStatus,
            "disable_memory",
            tenant_id=tenant_id,
            principal_id=principal_id,
            actor_id=actor_id,
        )

    @port_method
    async def enable(
        self, *, tenant_id: Id, principal_id: Id, actor_id: Id | None = None
    ) -> MemoryStatus:
        """See the port."""
        return await self._one(
            MemoryStatus,
            "enable_memory",
            tenant_id=tenant_id,
            principal_id=principal_id,
            actor_id=actor_id,
        )

    @port_method
    async def status(
        self, *, tenant_id: Id, principal_id: Id, viewer: Viewer | None = None
    ) -> MemoryStatus:
        """See the port."""
        return await self._one(
            MemoryStatus,
            "read_memory_status",
            tenant_id=tenant_id,
            principal_id=principal_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def expire(self, *, tenant_id: Id, limit: Limit = 500) -> int:
        """See the port."""
        row = await self._one(_Expired, "expire_memories", tenant_id=tenant_id, limit=limit)
        return row.expired


def fact_of(
    *,
    memory_id: str,
    expires_at: Moment | None,
    embedding: Embedding | None,
    embedding_model: str | None,
    metadata: JsonObject | None,
    **fields: JsonValue,
) -> dict[str, JsonValue]:
    """Return the document that ``put_memory`` takes."""
    return {
        "id": memory_id,
        "expires_at": expires_at.isoformat() if expires_at else None,
        **embedding_of(embedding, embedding_model),
        "metadata": metadata or {},
        **fields,
    }


def changes_of(
    *,
    text: str | None,
    source: str | None,
    confidence: float | None,
    sensitivity: str | None,
    expires_at: Moment | Unset | None,
    embedding: Embedding | Unset | None,
    embedding_model: str | None,
    metadata: JsonObject | None,
) -> dict[str, JsonValue]:
    """Return what ``update`` changes: the fields that were given."""
    given: dict[str, JsonValue] = {
        "text": text,
        "source": source,
        "confidence": confidence,
        "sensitivity": sensitivity,
        "metadata": metadata,
    }
    changes: dict[str, JsonValue] = {
        name: value for name, value in given.items() if value is not None
    }
    if expires_at is None or isinstance(expires_at, dt.datetime):
        changes["expires_at"] = expires_at.isoformat() if expires_at else None
    if embedding != UNSET or embedding_model is not None:
        numbers = None if embedding == UNSET else embedding
        changes.update(embedding_of(numbers, embedding_model))
    return changes
