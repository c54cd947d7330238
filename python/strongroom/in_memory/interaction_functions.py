"""What the calls of InteractionStore do, but for those about grants."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from strongroom.errors import AlreadyExists, InvalidArgument, LimitExceeded
from strongroom.in_memory.approval_grants import store_grant
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_writable, is_readable
from strongroom.in_memory.database import Row, Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import claimed_run, missing, moment, queue_waiting_run
from strongroom.in_memory.values import check_size, comparable
from strongroom.models.base import JsonValue
from strongroom.models.interactions import (
    Decision,
    Interaction,
    InteractionOutcome,
    InteractionStatus,
    ResolvedInteraction,
)
from strongroom.models.pages import Direction, Page

INPUT_BYTES = 1_048_576
TEXT_BYTES = 65_536


def create_interaction(
    tables: Tables,
    *,
    run_id: str,
    claim_token: int,
    interaction_id: str,
    expires_at: dt.datetime | None,
    content: dict[str, Any],
) -> ResolvedInteraction:
    """Ask on behalf of a claimed run, or know a repeated call by its content."""
    check_writable(tables)
    _check_content(content)
    run = claimed_run(tables, run_id, claim_token)
    created_with = comparable({"run_id": run_id, **content})
    row = tables.interactions.get(interaction_id)
    if row is not None:
        if row.created_with != created_with:
            raise AlreadyExists(
                "an interaction with this id was created with other content",
                detail={"path": "interaction_id", "record": "interaction"},
                hint="Use a new id for a new interaction.",
            )
        return _resolved(row.record, "duplicate")
    unset: dict[str, Any] = dict.fromkeys(Interaction.model_fields)
    interaction = Interaction(
        **{
            **unset,
            **content,
            "tenant_id": tables.tenant_id,
            "id": interaction_id,
            "run_id": run_id,
            "conversation_id": run.conversation_id,
            "status": "pending",
            "expires_at": expires_at,
            "created_at": tables.now,
        }
    )
    tables.interactions[interaction_id] = Row(interaction, created_with)
    return _resolved(interaction, "inserted")


def _check_content(content: dict[str, Any]) -> None:
    prompt = content["prompt"]
    if content["kind"] == "question" and not prompt:
        raise InvalidArgument(
            "a question has a prompt, and no tool or input",
            detail={"path": "prompt"},
            hint="Give the question's text.",
        )
    if prompt is not None and len(prompt.encode()) > TEXT_BYTES:
        raise LimitExceeded(
            f"prompt and options have at most {TEXT_BYTES} bytes each",
            detail={"path": "prompt", "limit": TEXT_BYTES},
            hint="Keep large data in a file, and its id here.",
        )
    check_size("options", content.get("options"), TEXT_BYTES)
    check_size("input", content.get("input"), INPUT_BYTES)


def _resolved(interaction: Interaction, outcome: InteractionOutcome) -> ResolvedInteraction:
    return ResolvedInteraction(**dict(interaction), outcome=outcome)


def _is_readable(tables: Tables, interaction: Interaction, viewer_id: str | None) -> bool:
    return is_readable(tables.conversations[interaction.conversation_id].record, viewer_id)


def find_interaction(
    tables: Tables, *, interaction_id: str, viewer_id: str | None
) -> Interaction | None:
    """Return the interaction, where the viewer may read its conversation."""
    row = tables.interactions.get(interaction_id)
    return row.record if row and _is_readable(tables, row.record, viewer_id) else None


def _living(tables: Tables, interaction_id: str) -> Interaction:
    found = find_interaction(tables, interaction_id=interaction_id, viewer_id=None)
    if found is None:
        raise missing("interaction")
    return found


def _change(tables: Tables, interaction: Interaction, **changes: Any) -> Interaction:
    changed = interaction.replace(**changes)
    row = tables.interactions[interaction.id]
    tables.interactions[interaction.id] = Row(changed, row.created_with)
    return changed


def answer_question(
    tables: Tables, *, interaction_id: str, answer: JsonValue, resolved_by: str
) -> ResolvedInteraction:
    """Answer a question; a repeat changes nothing."""
    check_writable(tables)
    check_size("answer", answer, TEXT_BYTES)
    question = _of_kind(tables, interaction_id, "question")
    return _resolve(tables, question, status="answered", answer=answer, resolved_by=resolved_by)


def decide_approval(
    tables: Tables, *, interaction_id: str, decision: Decision, resolved_by: str
) -> ResolvedInteraction:
    """Decide an approval; what allows more than once also mints a grant."""
    check_writable(tables)
    approval = _of_kind(tables, interaction_id, "approval")
    decided = _resolve(
        tables,
        approval,
        status="denied" if decision == "deny" else "approved",
        decision=decision,
        resolved_by=resolved_by,
    )
    if decided.outcome == "resolved":
        record_audit(
            tables,
            "approval.decide",
            "interaction",
            interaction_id,
            details={
                "decision": decision,
                "tool_name": approval.tool_name,
                "run_id": approval.run_id,
            },
            actor_id=resolved_by,
        )
    if decided.outcome == "resolved" and decision in {"allow-conversation", "allow-always"}:
        talk = tables.conversations[approval.conversation_id].record
        store_grant(
            tables,
            grant_id=interaction_id,
            principal_id=talk.owner_id,
            tool_name=str(approval.tool_name),
            conversation_id=talk.id if decision == "allow-conversation" else None,
            interaction_id=interaction_id,
            granted_by=resolved_by,
            expires_at=None,
        )
    return decided


def _of_kind(
    tables: Tables, interaction_id: str, kind: Literal["question", "approval"]
) -> Interaction:
    interaction = _living(tables, interaction_id)
    if interaction.kind != kind:
        raise InvalidArgument(
            f"this interaction is not a {kind}: questions are answered, approvals are decided",
            detail={"path": "interaction_id"},
            hint="Call answer for a question, decide for an approval.",
        )
    return interaction


def _resolve(tables: Tables, interaction: Interaction, **changes: Any) -> ResolvedInteraction:
    """Resolve it when it is pending and not overdue; its run is queued with the last one."""
    if interaction.status != "pending":
        return _resolved(interaction, "already_resolved")
    if _is_overdue(interaction):
        return _resolved(expire_interaction(tables, interaction), "expired")
    changed = _change(tables, interaction, resolved_at=tables.now, **changes)
    queue_waiting_run(tables, interaction.run_id)
    return _resolved(changed, "resolved")


def _is_overdue(interaction: Interaction) -> bool:
    return interaction.expires_at is not None and interaction.expires_at <= moment()


def expire_interaction(tables: Tables, interaction: Interaction) -> Interaction:
    """Let it count as not given; a run that waited for nothing else goes on."""
    expired = _change(tables, interaction, status="expired", resolved_at=tables.now)
    queue_waiting_run(tables, interaction.run_id)
    return expired


def claim_approval(
    tables: Tables, *, interaction_id: str, claim_token: int, claim_id: str
) -> ResolvedInteraction:
    """Take an approved call once; a repeat of the same call takes it again."""
    check_writable(tables)
    approval = _living(tables, interaction_id)
    claimed_run(tables, approval.run_id, claim_token)
    if approval.status != "approved":
        return _resolved(approval, "not_approved")
    if approval.claimed_at is None:
        tables.approval_claims[interaction_id] = claim_id
        record_audit(
            tables,
            "approval.claim",
            "interaction",
            interaction_id,
            details={"tool_name": approval.tool_name, "run_id": approval.run_id},
        )
        return _resolved(_change(tables, approval, claimed_at=tables.now), "claimed")
    is_repeat = tables.approval_claims[interaction_id] == claim_id
    return _resolved(approval, "claimed" if is_repeat else "already_claimed")


def expire_interactions(tables: Tables, *, limit: int, skip_suspended: bool) -> int:
    """Expire what is overdue; runs that waited for nothing else go on."""
    tenant = tables.tenant
    if skip_suspended and (tenant is None or tenant.record.status != "active"):
        return 0
    check_writable(tables)
    overdue = [
        row.record
        for row in tables.interactions.values()
        if row.record.status == "pending"
        and _is_overdue(row.record)
        and _is_readable(tables, row.record, None)
    ]
    for interaction in overdue[:limit]:
        expire_interaction(tables, interaction)
    return len(overdue[:limit])


def list_interactions(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    run_id: str | None,
    conversation_id: str | None,
    status: InteractionStatus | None,
) -> Page[Interaction]:
    """Return a page of interactions, forward oldest first."""
    check_page(after, before)
    since = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return page_of(
        [
            row.record
            for row in tables.interactions.values()
            if _is_readable(tables, row.record, viewer_id)
            and run_id in {None, row.record.run_id}
            and conversation_id in {None, row.record.conversation_id}
            and status in {None, row.record.status}
        ],
        key=lambda asked: [(asked.created_at - since) // dt.timedelta(microseconds=1), asked.id],
        descending=direction == "backward",
        scope=cursor_scope("interactions", [viewer_id, run_id, conversation_id, status], direction),
        limit=limit,
        after=after,
        before=before,
    )
