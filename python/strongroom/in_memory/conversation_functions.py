"""What the calls of ConversationStore do."""

from __future__ import annotations

import datetime as dt
from typing import Any

from strongroom.errors import AlreadyExists, InvalidArgument, NotFound
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_writable, is_readable, versioned
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.dropping import drop_made_things
from strongroom.in_memory.evaluation_results import empty_results_of
from strongroom.in_memory.file_functions import drop_files
from strongroom.in_memory.pages import Key, check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import drop_runs
from strongroom.in_memory.transcripts import drop_transcripts
from strongroom.in_memory.values import METADATA_BYTES, check_ids, check_size, comparable
from strongroom.models.base import JsonObject
from strongroom.models.conversations import (
    AgentPolicy,
    Conversation,
    CreatedConversation,
    Visibility,
)
from strongroom.models.pages import Direction, Page
from strongroom.models.tenants import PurgeReceipt


def create_conversation(
    tables: Tables,
    *,
    owner_id: str,
    conversation_id: str,
    title: str | None,
    external_ref: str | None,
    visibility: Visibility,
    participant_ids: list[str],
    agent_id: str | None,
    agent_policy: AgentPolicy | None,
    agent_version: int | None,
    metadata: dict[str, Any],
) -> CreatedConversation:
    """Create a conversation, or know a repeated create by its content."""
    check_writable(tables)
    check_ids("participant_ids", participant_ids)
    _check_agent_binding(agent_policy, agent_version)
    check_size("metadata", metadata, METADATA_BYTES)
    values: dict[str, Any] = {
        "owner_id": owner_id,
        "participant_ids": sorted({*participant_ids}),
        "title": title,
        "external_ref": external_ref,
        "visibility": visibility,
        "agent_id": agent_id,
        "agent_policy": agent_policy,
        "agent_version": agent_version,
        "metadata": metadata,
    }
    created_with = comparable(values)
    row = tables.conversations.get(conversation_id)
    if row is None:
        if _holder_of(tables, external_ref) is not None:
            raise _already_exists("another conversation has this external_ref", conversation_id)
        conversation = Conversation(
            **values,
            tenant_id=tables.tenant_id,
            id=conversation_id,
            last_position=0,
            last_message_at=None,
            forked_from_id=None,
            forked_from_position=None,
            version=1,
            archived_at=None,
            deleted_at=None,
            created_at=tables.now,
            updated_at=tables.now,
        )
        tables.conversations[conversation_id] = Row(conversation, created_with)
        return CreatedConversation(**dict(conversation), outcome="inserted")
    if row.created_with != created_with:
        raise _already_exists(
            "a conversation with this id was created with other content", conversation_id
        )
    return CreatedConversation(**dict(row.record), outcome="duplicate")


def _already_exists(message: str, conversation_id: str) -> AlreadyExists:
    return AlreadyExists(
        message,
        detail={"record": "conversation", "id": conversation_id},
        hint="Read the existing one, or choose another id or external_ref.",
    )


def _holder_of(tables: Tables, external_ref: str | None) -> str | None:
    """Return the id of the living conversation with this name."""
    for row in tables.conversations.values():
        conversation = row.record
        if (
            external_ref is not None
            and conversation.external_ref == external_ref
            and conversation.deleted_at is None
        ):
            return conversation.id
    return None


def _check_agent_binding(policy: AgentPolicy | None, version: int | None) -> None:
    if (policy == "pinned") != (version is not None):
        raise InvalidArgument(
            "agent_version is needed when the policy is pinned, and only then; versions start at 1",
            detail={"path": "agent_version"},
            hint="Pin a version, or bind to latest without one.",
        )


def find_conversation(
    tables: Tables, *, conversation_id: str, viewer_id: str | None, deleted: bool
) -> Conversation | None:
    """Return it, where the viewer may read it; a soft-deleted one for hosts alone."""
    row = tables.conversations.get(conversation_id)
    return row.record if row and _is_listed(row.record, viewer_id, deleted=deleted) else None


def _is_listed(conversation: Conversation, viewer_id: str | None, *, deleted: bool) -> bool:
    if deleted:
        return conversation.deleted_at is not None and viewer_id is None
    return is_readable(conversation, viewer_id)


def list_conversations(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    owner_id: str | None,
    external_ref: str | None,
    archived: bool | None,
    deleted: bool,
) -> Page[Conversation]:
    """Return a page of conversations, forward newest first."""
    check_page(after, before)
    return page_of(
        [
            row.record
            for row in tables.conversations.values()
            if _is_listed(row.record, viewer_id, deleted=deleted)
            and owner_id in {None, row.record.owner_id}
            and external_ref in {None, row.record.external_ref}
            and archived in {None, row.record.archived_at is not None}
        ],
        key=_creation,
        descending=direction == "forward",
        scope=cursor_scope(
            "conversations", [viewer_id, owner_id, external_ref, archived, deleted], direction
        ),
        limit=limit,
        after=after,
        before=before,
    )


def _creation(conversation: Conversation) -> Key:
    since_1970 = conversation.created_at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return [since_1970 // dt.timedelta(microseconds=1), conversation.id]


def update_conversation(
    tables: Tables, *, conversation_id: str, changes: dict[str, Any], expected_version: int
) -> Conversation:
    """Change title, external_ref, metadata or archived."""
    check_writable(tables)
    if "metadata" in changes:
        check_size("changes.metadata", changes["metadata"], METADATA_BYTES)
    row = _living(tables, conversation_id, expected_version)
    if _holder_of(tables, changes.get("external_ref")) not in {None, conversation_id}:
        raise AlreadyExists(
            "another conversation has this external_ref",
            detail={"path": "changes.external_ref", "record": "conversation"},
            hint="Choose another external_ref, or delete the other conversation.",
        )
    fields = {name: value for name, value in changes.items() if name != "archived"}
    if "archived" in changes:
        fields["archived_at"] = (
            (row.record.archived_at or tables.now) if changes["archived"] else None
        )
    return _changed(tables, row, **fields)


def bind_agent(
    tables: Tables,
    *,
    conversation_id: str,
    agent_id: str | None,
    agent_policy: AgentPolicy | None,
    agent_version: int | None,
    expected_version: int,
) -> Conversation:
    """Say which agent answers."""
    check_writable(tables)
    _check_agent_binding(agent_policy, agent_version)
    row = _living(tables, conversation_id, expected_version)
    agent: JsonObject = {
        "agent_id": agent_id,
        "agent_policy": agent_policy,
        "agent_version": agent_version,
    }
    bound = _changed(tables, row, **agent)
    _audit(tables, "bind_agent", conversation_id, details={**agent, "version": bound.version})
    return bound


def _audit(tables: Tables, verb: str, conversation_id: str, **told: Any) -> None:
    record_audit(tables, f"conversation.{verb}", "conversation", conversation_id, **told)


def share_conversation(
    tables: Tables,
    *,
    conversation_id: str,
    visibility: Visibility,
    participant_ids: list[str],
    expected_version: int,
) -> Conversation:
    """Set visibility and participants."""
    check_writable(tables)
    check_ids("participant_ids", participant_ids)
    row = _living(tables, conversation_id, expected_version)
    before, after = {*row.record.participant_ids}, {*participant_ids}
    shared = _changed(tables, row, visibility=visibility, participant_ids=sorted(after))
    details: JsonObject = {"visibility": visibility, "version": shared.version}
    _audit(tables, "share", conversation_id, details=details)
    # Each on their own, so that a person can be forgotten.
    for person in sorted(before ^ after):
        verb = "add_participant" if person in after else "remove_participant"
        _audit(tables, verb, conversation_id, principal_id=person)
    return shared


def _living(tables: Tables, conversation_id: str, expected_version: int) -> Row[Conversation]:
    row = tables.conversations.get(conversation_id)
    living = row if row and row.record.deleted_at is None else None
    return versioned(living, "conversation", expected_version)


def _changed(tables: Tables, row: Row[Conversation], **changes: Any) -> Conversation:
    conversation = row.record.replace(
        **changes, version=row.record.version + 1, updated_at=tables.now
    )
    tables.conversations[conversation.id] = Row(conversation, row.created_with)
    return conversation


def soft_delete_conversation(tables: Tables, *, conversation_id: str) -> Conversation:
    """Hide it; a repeat changes nothing."""
    row = _living_or_deleted(tables, conversation_id)
    if row.record.deleted_at is not None:
        return row.record
    _audit(tables, "soft_delete", conversation_id)
    return _changed(tables, row, deleted_at=tables.now)


def restore_conversation(tables: Tables, *, conversation_id: str) -> Conversation:
    """Bring it back; a repeat changes nothing."""
    row = _living_or_deleted(tables, conversation_id)
    if row.record.deleted_at is None:
        return row.record
    if _holder_of(tables, row.record.external_ref) is not None:
        raise AlreadyExists(
            "another conversation has taken the external_ref meanwhile",
            detail={"path": "external_ref", "record": "conversation"},
            hint="Change the other conversation's external_ref, or delete it, and restore again.",
        )
    _audit(tables, "restore", conversation_id)
    return _changed(tables, row, deleted_at=None)


def _living_or_deleted(tables: Tables, conversation_id: str) -> Row[Conversation]:
    check_writable(tables)
    row = tables.conversations.get(conversation_id)
    if row is None:
        raise NotFound(
            "the conversation does not exist",
            detail={"record": "conversation"},
            hint="It may have been deleted, or this caller may not see it.",
        )
    return row


def purge_conversation(tables: Tables, *, conversation_id: str, dry_run: bool) -> PurgeReceipt:
    """Delete it and all that hangs on it; say how many rows of each table that were."""
    check_writable(tables)
    if dry_run:
        tables = tables.draft(tables.now)
    lost = drop_conversation(tables, conversation_id)
    if any(lost.values()):
        _audit(tables, "purge", conversation_id)
    return PurgeReceipt(tables={name: n for name, n in lost.items() if n}, dry_run=dry_run)


def drop_conversation(tables: Tables, conversation_id: str) -> dict[str, int]:
    """Delete a conversation and all that hangs on it; count the rows."""
    row = tables.conversations.pop(conversation_id, None)
    empty_results_of(tables, conversation_id)
    messages = tables.messages.pop(conversation_id, ())
    for message in messages:
        del tables.messages_by_id[message.id]
    state = tables.session_states.pop(conversation_id, None)
    return {
        "conversations": 1 if row else 0,
        "conversation_participants": len(row.record.participant_ids) if row else 0,
        "messages": len(messages),
        "session_states": 1 if state else 0,
        "thread_summaries": len(tables.summaries.pop(conversation_id, ())),
        **drop_runs(tables, conversation_id),
        **drop_files(tables, conversation_id),
        **drop_made_things(tables, conversation_id),
        **drop_transcripts(tables, lambda _, found: found.conversation_id == conversation_id),
    }
