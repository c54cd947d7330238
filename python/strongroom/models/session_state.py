"""Session state: a conversation's working memory across runs."""

from __future__ import annotations

from strongroom.models.base import Id, JsonObject, Record, Timestamp, Version


class SessionState(Record):
    """One JSON object per conversation; ``{}`` at version 0 before the first write."""

    tenant_id: Id
    conversation_id: Id
    state: JsonObject
    version: Version
    updated_at: Timestamp | None
