"""Conversations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from strongroom.models.base import Id, JsonObject, Name, Record, Timestamp, Version
from strongroom.models.tenants import CreateOutcome

Visibility = Literal["private", "tenant"]
"""private: owner and participants; tenant: everyone in the tenant."""

AgentPolicy = Literal["pinned", "latest"]


class AgentBinding(Record):
    """Which agent answers in a conversation.

    Attributes:
        agent_id: the agent.
        policy: ``pinned`` to a version, or ``latest``.
        version: the pinned version; None with ``latest``.
    """

    agent_id: Id
    policy: AgentPolicy = "latest"
    version: Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)] | None = None


class Conversation(Record):
    """A thread of messages between principals and agents."""

    tenant_id: Id
    id: Id
    owner_id: Id
    participant_ids: tuple[str, ...]
    title: Name | None
    external_ref: Id | None
    visibility: Visibility
    agent_id: Id | None
    agent_policy: AgentPolicy | None
    agent_version: int | None
    metadata: JsonObject
    last_position: Annotated[int, Field(ge=0)]
    last_message_at: Timestamp | None
    forked_from_id: Id | None
    forked_from_position: Annotated[int, Field(ge=0)] | None
    version: Version
    archived_at: Timestamp | None
    deleted_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


class CreatedConversation(Conversation):
    """A conversation as ``create`` and ``fork`` return it."""

    outcome: CreateOutcome
