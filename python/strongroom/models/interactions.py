"""Questions and approvals that a run waits for, and standing approvals."""

from __future__ import annotations

from typing import Literal

from strongroom.models.base import Id, Json, Record, Timestamp

InteractionKind = Literal["question", "approval"]
InteractionStatus = Literal["pending", "answered", "approved", "denied", "expired", "cancelled"]
Decision = Literal["allow-once", "allow-conversation", "allow-always", "deny"]
InteractionOutcome = Literal[
    "inserted",
    "duplicate",
    "resolved",
    "already_resolved",
    "expired",
    "claimed",
    "already_claimed",
    "not_approved",
]


class Interaction(Record):
    """What a run waits for from a person.

    Attributes:
        addressee_id: who is asked; None: the conversation's owner and participants.
        input: the exact tool input: what runs after approval, not something generated anew.
    """

    tenant_id: Id
    id: Id
    run_id: Id
    conversation_id: Id
    kind: InteractionKind
    status: InteractionStatus
    addressee_id: Id | None
    prompt: str | None
    options: list[str] | None
    tool_call_id: Id | None
    tool_name: Id | None
    input: Json = None
    risk: Id | None
    expires_at: Timestamp | None
    answer: Json = None
    decision: Decision | None
    resolved_by: Id | None
    resolved_at: Timestamp | None
    claimed_at: Timestamp | None
    created_at: Timestamp


class ResolvedInteraction(Interaction):
    """An interaction, and what became of the call."""

    outcome: InteractionOutcome


class RevokedGrant(Record):
    """What revoking a grant did.

    Attributes:
        revoked: whether it was not revoked yet.
        others: how many other grants still allow the principal's runs this tool where it held. While there
            are any, nobody is asked.
    """

    revoked: bool
    others: int


class ApprovalGrant(Record):
    """A tool that a principal's runs may call without asking again."""

    tenant_id: Id
    id: Id
    principal_id: Id
    tool_name: Id
    scope: Literal["conversation", "always"]
    conversation_id: Id | None
    interaction_id: Id | None
    granted_by: Id
    expires_at: Timestamp | None
    revoked_at: Timestamp | None
    created_at: Timestamp
