"""Erasing a person from the tables, receipts, and what a purge and a dry run share with it."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from dataclasses import replace
from typing import Any

from strongroom.errors import AlreadyExists, NotFound
from strongroom.ids import new_id
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.conversation_functions import drop_conversation
from strongroom.in_memory.database import IndexedChunk, Row, StoredReceipt, Tables
from strongroom.in_memory.dropping import drop_artifacts
from strongroom.in_memory.file_functions import drop_files_of
from strongroom.in_memory.framework_sessions import drop_session
from strongroom.in_memory.interaction_functions import expire_interaction
from strongroom.in_memory.pages import Key, check_page, cursor_scope, page_of
from strongroom.in_memory.transcripts import drop_transcripts
from strongroom.models.lifecycle import (
    DeletedRows,
    DeletionAction,
    DeletionKind,
    DeletionReceipt,
    ErasureReceipt,
)
from strongroom.models.messages import Message
from strongroom.models.pages import Direction, Page
from strongroom.models.parts import StatusPart

Touched = Counter[tuple[str, DeletionAction]]
"""Rows by table and action."""


def _digest(salt: str, principal_id: str | None) -> str | None:
    if principal_id is None:
        return None
    return hashlib.sha256(f"{salt}\0{principal_id}".encode()).hexdigest()


def store_receipt(
    tables: Tables,
    kind: DeletionKind,
    receipt_id: str,
    items: tuple[DeletedRows, ...],
    principal_id: str | None = None,
) -> None:
    """Store what was deleted; an empty receipt is none."""
    if items:
        salt = new_id()
        tables.deletion_receipts[receipt_id] = StoredReceipt(
            receipt=DeletionReceipt(
                tenant_id=tables.tenant_id,
                id=receipt_id,
                kind=kind,
                items=items,
                created_at=tables.now,
            ),
            salt=salt,
            digest=_digest(salt, principal_id),
        )


def find_receipt(
    tables: Tables, kind: DeletionKind, receipt_id: str, principal_id: str | None = None
) -> DeletionReceipt | None:
    """Return the receipt of this very deletion, where it has happened.

    Raises:
        AlreadyExists: SR011, the id is that of another deletion.
    """
    stored = tables.deletion_receipts.get(receipt_id)
    if stored is None:
        return None
    if stored.receipt.kind != kind or stored.digest != _digest(stored.salt, principal_id):
        raise AlreadyExists(
            "this receipt is about another deletion",
            detail={"path": "receipt_id", "record": "deletion_receipt"},
            hint="Give every deletion an id of its own, and repeat a call with its own.",
        )
    return stored.receipt


def items_of(touched: Touched) -> tuple[DeletedRows, ...]:
    """Return the lines of a receipt."""
    return tuple(
        DeletedRows(table_name=table, action=action, row_count=count)
        for (table, action), count in sorted(touched.items())
        if count
    )


def erase_principal(
    tables: Tables, *, principal_id: str, dry_run: bool, receipt_id: str
) -> ErasureReceipt:
    """Do to every table what its erasure rules say; a dry run does it to a copy."""
    if tables.tenant is None:
        raise NotFound(
            "the tenant does not exist",
            detail={"path": "tenant_id", "record": "tenant"},
            hint="It may have been purged: then nothing of anybody is left in it.",
        )
    known = find_receipt(tables, "principal", receipt_id, principal_id)
    if known is not None:
        return ErasureReceipt(receipt_id=receipt_id, dry_run=dry_run, items=known.items)
    if dry_run:
        tables = tables.draft(tables.now)
    touched: Touched = Counter()
    for rule in RULES:
        rule(tables, principal_id, touched)
    items = items_of(touched)
    if dry_run:
        return ErasureReceipt(receipt_id=None, dry_run=True, items=items)
    store_receipt(tables, "principal", receipt_id, items, principal_id)
    if items:
        record_audit(tables, "principal.erase", "deletion_receipt", receipt_id)
    return ErasureReceipt(receipt_id=receipt_id if items else None, dry_run=False, items=items)


def _conversations(tables: Tables, principal_id: str, touched: Touched) -> None:
    for row in [*tables.conversations.values()]:
        if row.record.owner_id == principal_id:
            for table, count in drop_conversation(tables, row.record.id).items():
                touched[table, "delete"] += count
    for row in [*tables.conversations.values()]:
        if principal_id in row.record.participant_ids:
            others = tuple(p for p in row.record.participant_ids if p != principal_id)
            record = row.record.replace(participant_ids=others)
            tables.conversations[record.id] = Row(record, row.created_with)
            touched["conversation_participants", "delete"] += 1


def _memberships(tables: Tables, principal_id: str, touched: Touched) -> None:
    if tables.members.pop(principal_id, None) is not None:
        touched["memberships", "delete"] += 1


def _grants(tables: Tables, principal_id: str, touched: Touched) -> None:
    for grant in [*tables.approval_grants.values()]:
        if principal_id in (grant.principal_id, grant.granted_by):
            del tables.approval_grants[grant.id]
            touched["approval_grants", "delete"] += 1


def _words(tables: Tables, principal_id: str, touched: Touched) -> None:
    """Of what they said in others' conversations only the place is left; summaries of it go."""
    for conversation_id, messages in [*tables.messages.items()]:
        theirs = [message.position for message in messages if message.author_id == principal_id]
        if not theirs:
            continue
        kept = tuple(_erased(m) if m.author_id == principal_id else m for m in messages)
        tables.messages[conversation_id] = kept
        tables.messages_by_id.update({message.id: message for message in kept})
        touched["messages", "erase"] += len(theirs)
        summaries = tables.summaries.get(conversation_id, ())
        left = tuple(s for s in summaries if s.covers_to_position < min(theirs))
        if len(left) != len(summaries):
            tables.summaries[conversation_id] = left
            touched["thread_summaries", "erase"] += len(summaries) - len(left)


def _erased(message: Message) -> Message:
    return message.replace(author_id=None, parts=[StatusPart(status="erased")], metadata={})


def _interactions(tables: Tables, principal_id: str, touched: Touched) -> None:
    for row in [*tables.interactions.values()]:
        if row.record.addressee_id == principal_id:
            asked = row.record
            if asked.status == "pending":
                asked = expire_interaction(tables, asked)
            _replace(tables, asked.id, addressee_id=None)
            touched["interactions", "erase"] += 1
    for row in [*tables.interactions.values()]:
        if row.record.resolved_by == principal_id:
            answer = None if row.record.answer is None else {"erased": True}
            _replace(tables, row.record.id, resolved_by=None, answer=answer)
            touched["interactions", "erase"] += 1


def _replace(tables: Tables, interaction_id: str, **changes: Any) -> None:
    row = tables.interactions[interaction_id]
    tables.interactions[interaction_id] = Row(row.record.replace(**changes), row.created_with)


def _memory(tables: Tables, principal_id: str, touched: Touched) -> None:
    for place in [place for place in tables.facts if place[0] == principal_id]:
        del tables.facts[place]
        touched["memories", "delete"] += 1
    for grave in [grave for grave in tables.tombstones if grave[0] == principal_id]:
        del tables.tombstones[grave]
        touched["memory_tombstones", "delete"] += 1
    if tables.memory_settings.pop(principal_id, None) is not None:
        touched["memory_settings", "delete"] += 1
    for owner_id, settings in [*tables.memory_settings.items()]:
        if settings.disabled_by == principal_id:
            tables.memory_settings[owner_id] = replace(settings, disabled_by=None)
            touched["memory_settings", "clear"] += 1


def _files(tables: Tables, principal_id: str, touched: Touched) -> None:
    artifacts = drop_artifacts(tables, lambda artifact: artifact.owner_id == principal_id)
    for table, count in {**drop_files_of(tables, principal_id), **artifacts}.items():
        touched[table, "delete"] += count
    for file_id, versions in [*tables.file_versions.items()]:
        theirs = [row for row in versions if row.record.created_by == principal_id]
        if theirs:
            tables.file_versions[file_id] = tuple(
                Row(row.record.replace(created_by=None), row.created_with) if row in theirs else row
                for row in versions
            )
            touched["file_versions", "clear"] += len(theirs)


def _subjects(tables: Tables, principal_id: str, touched: Touched) -> None:
    """What they alone could see goes; elsewhere their name goes, and the numbers stay."""
    subject = f"principal:{principal_id}"
    for source_id, row in [*tables.sources.items()]:
        source = row.record
        if {*source.auth_subjects} == {subject}:
            touched["chunks", "delete"] += len(tables.chunks.pop(source_id, ()))
            del tables.sources[source_id]
            touched["sources", "erase"] += 1
            continue
        if subject in source.auth_subjects:
            others = tuple(one for one in source.auth_subjects if one != subject)
            source = source.replace(
                auth_subjects=others, version=source.version + 1, updated_at=tables.now
            )
            touched["sources", "erase"] += 1
        chunks = tables.chunks.get(source_id, ())
        named = [c for c in chunks if subject in (c.chunk.auth_subjects or ())]
        if named:
            tables.chunks[source_id] = tuple(
                _without(chunk, subject) if chunk in named else chunk
                for chunk in chunks
                if {*(chunk.chunk.auth_subjects or ())} != {subject}
            )
            source = source.replace(
                chunk_count=len(tables.chunks[source_id]),
                version=source.version + 1,
                updated_at=tables.now,
            )
            touched["chunks", "erase"] += len(named)
        if source is not row.record:
            tables.sources[source_id] = Row(source, None)


def _without(indexed: IndexedChunk, subject: str) -> IndexedChunk:
    others = tuple(one for one in indexed.chunk.auth_subjects or () if one != subject)
    return replace(indexed, chunk=indexed.chunk.replace(auth_subjects=others))


def _ledgers(tables: Tables, principal_id: str, touched: Touched) -> None:
    for event_id, row in [*tables.audit_events.items()]:
        kept = row
        if kept.record.actor_id == principal_id:
            actor = replace(kept.actor, salt=None)
            kept = replace(kept, record=kept.record.replace(actor_id=None), actor=actor)
            touched["audit_events", "erase"] += 1
        if kept.record.principal_id == principal_id:
            person = replace(kept.principal, salt=None)
            kept = replace(kept, record=kept.record.replace(principal_id=None), principal=person)
            touched["audit_events", "erase"] += 1
        tables.audit_events[event_id] = kept
    for event_id, event in [*tables.usage_events.items()]:
        if event.principal_id == principal_id:
            tables.usage_events[event_id] = event.replace(principal_id=None)
            touched["usage_events", "clear"] += 1


def _sessions(tables: Tables, principal_id: str, touched: Touched) -> None:
    for table, count in drop_transcripts(tables, lambda key, _: key[2] == principal_id).items():
        touched[table, "delete"] += count


def _framework_sessions(tables: Tables, principal_id: str, touched: Touched) -> None:
    for session in [*tables.framework_sessions.values()]:
        if session.principal_id == principal_id:
            touched["framework_records", "delete"] += drop_session(tables, session)
            touched["framework_sessions", "delete"] += 1


RULES = [
    *(
        _conversations,
        _memberships,
        _grants,
        _memory,
        _sessions,
        _files,
        _subjects,
        _ledgers,
        _words,
    ),
    _interactions,
    _framework_sessions,
]
"""What is done, in this order; a domain adds its own."""


def list_receipts(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    principal_id: str | None,
) -> Page[DeletionReceipt]:
    """Return a page of receipts, forward newest first."""
    check_page(after, before)
    return page_of(
        [
            stored.receipt
            for stored in tables.deletion_receipts.values()
            if principal_id is None or stored.digest == _digest(stored.salt, principal_id)
        ],
        key=_creation,
        descending=direction == "forward",
        scope=cursor_scope("deletion_receipts", [principal_id], direction),
        limit=limit,
        after=after,
        before=before,
    )


def _creation(receipt: DeletionReceipt) -> Key:
    since_1970 = receipt.created_at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return [since_1970 // dt.timedelta(microseconds=1), receipt.id]
