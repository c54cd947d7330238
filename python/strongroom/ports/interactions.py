"""The port for questions, approvals and approval grants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from strongroom.models.base import Id, Json, Moment, Text
from strongroom.models.context import Viewer
from strongroom.models.interactions import (
    ApprovalGrant,
    Decision,
    Interaction,
    InteractionStatus,
    ResolvedInteraction,
    RevokedGrant,
)
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.runs import ClaimToken


class InteractionStore(Protocol):
    """What runs wait for from people. Everything fails closed: what is unclear is not approved.

    Methods that take a claim_token raise StaleClaim (SR031); all raise NotFound (SR010) for what is absent,
    deleted or unreadable, InvalidArgument (SR001), LimitExceeded (SR004), PermissionDenied (SR020),
    Unavailable (SR050).
    """

    async def ask(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        prompt: Text,
        options: Sequence[Text] | None = None,
        addressee_id: Id | None = None,
        expires_at: Moment | None = None,
        interaction_id: Id | None = None,
    ) -> ResolvedInteraction:
        """Ask a question on behalf of a claimed run; a repeat with the same id changes nothing.

        Args:
            tenant_id: the tenant.
            run_id: the run.
            claim_token: its claim.
            prompt: the question.
            options: answers to choose from.
            addressee_id: who is asked; None: the conversation's owner and participants.
            expires_at: after this it counts as not answered. A repeat with another one changes nothing, so
                it may be worked out anew, from now.
            interaction_id: the binding makes a UUIDv7 when it is None.

        Raises:
            AlreadyExists: SR011, the id was used for something else.

        SQL: ``strongroom.create_interaction``
        """
        ...

    async def request_approval(
        self,
        *,
        tenant_id: Id,
        run_id: Id,
        claim_token: ClaimToken,
        tool_name: Id,
        input: Json,
        tool_call_id: Id | None = None,
        prompt: Text | None = None,
        risk: Id | None = None,
        addressee_id: Id | None = None,
        expires_at: Moment | None = None,
        interaction_id: Id | None = None,
    ) -> ResolvedInteraction:
        """Ask for the approval of one exact tool call; a repeat with the same id changes nothing.

        Args:
            tenant_id: the tenant.
            run_id: the run.
            claim_token: its claim.
            tool_name: the exact tool.
            input: the exact normalised input: what runs after approval.
            tool_call_id: the model's call.
            prompt: what to tell the person.
            risk: the host's word for how dangerous it is.
            addressee_id: who is asked; None: the conversation's owner and participants.
            expires_at: after this it counts as not given. A repeat with another one changes nothing, so it
                may be worked out anew, from now.
            interaction_id: the binding makes a UUIDv7 when it is None.

        Raises:
            AlreadyExists: SR011, the id was used for something else.

        SQL: ``strongroom.create_interaction``
        """
        ...

    async def get(
        self, *, tenant_id: Id, interaction_id: Id, viewer: Viewer | None = None
    ) -> Interaction:
        """Return the interaction, or raise NotFound. SQL: ``strongroom.find_interaction``."""
        ...

    async def find(
        self, *, tenant_id: Id, interaction_id: Id, viewer: Viewer | None = None
    ) -> Interaction | None:
        """Return the interaction, or None. SQL: ``strongroom.find_interaction``."""
        ...

    async def list(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
        run_id: Id | None = None,
        conversation_id: Id | None = None,
        status: InteractionStatus | None = None,
    ) -> Page[Interaction]:
        """Return a page of interactions, forward oldest first.

        SQL: ``strongroom.list_interactions``
        """
        ...

    async def answer(
        self, *, tenant_id: Id, interaction_id: Id, answer: Json, resolved_by: Id
    ) -> ResolvedInteraction:
        """Answer a question; its run is queued with the last answer.

        Returns:
            outcome ``resolved``; ``already_resolved``: nothing changed; or ``expired``.

        SQL: ``strongroom.answer_question``
        """
        ...

    async def decide(
        self, *, tenant_id: Id, interaction_id: Id, decision: Decision, resolved_by: Id
    ) -> ResolvedInteraction:
        """Decide an approval; ``allow-conversation`` and ``allow-always`` also mint a grant.

        Returns:
            outcome ``resolved``; ``already_resolved``: nothing changed; or ``expired``.

        SQL: ``strongroom.decide_approval``
        """
        ...

    async def claim_approval(
        self,
        *,
        tenant_id: Id,
        interaction_id: Id,
        claim_token: ClaimToken,
        claim_id: Id | None = None,
    ) -> ResolvedInteraction:
        """Take an approved call, once, to run its stored input.

        Args:
            tenant_id: the tenant.
            interaction_id: the approval.
            claim_token: the run's claim.
            claim_id: a repeat with the same id says ``claimed`` again; the binding makes a UUIDv7 when it
                is None. Give one of your own where the tool itself runs at most once per id.

        Returns:
            outcome ``claimed``; ``already_claimed`` or ``not_approved``: do not run it.

        SQL: ``strongroom.claim_approval``
        """
        ...

    async def expire_due(self, *, tenant_id: Id | None = None, limit: Limit = 100) -> int:
        """Expire what is overdue, of one tenant or of all; return how many.

        SQL: ``strongroom.expire_interactions``
        """
        ...

    async def grant(
        self,
        *,
        tenant_id: Id,
        principal_id: Id,
        tool_name: Id,
        granted_by: Id,
        conversation_id: Id | None = None,
        expires_at: Moment | None = None,
        grant_id: Id | None = None,
    ) -> ApprovalGrant:
        """Allow a principal's runs a tool without asking, in one conversation or always.

        SQL: ``strongroom.grant_approval``
        """
        ...

    async def find_active_grant(
        self, *, tenant_id: Id, principal_id: Id, tool_name: Id, conversation_id: Id
    ) -> ApprovalGrant | None:
        """Return a grant that holds now, else None: then ask. SQL: ``strongroom.find_active_grant``."""
        ...

    async def revoke_grant(self, *, tenant_id: Id, grant_id: Id) -> RevokedGrant:
        """End a grant; say whether it was not revoked yet, and how many others still allow the same.

        SQL: ``strongroom.revoke_grant``
        """
        ...

    async def list_grants(
        self,
        *,
        tenant_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        principal_id: Id | None = None,
        tool_name: Id | None = None,
        conversation_id: Id | None = None,
        active: bool | None = None,
    ) -> Page[ApprovalGrant]:
        """Return a page of standing approvals, forward newest first. For hosts.

        Args:
            tenant_id: the tenant.
            limit: rows, 1..500.
            after: a page's next_cursor.
            before: a page's previous_cursor.
            direction: ``backward`` is the exact reverse.
            principal_id: only those for this principal's runs.
            tool_name: only those for this tool.
            conversation_id: only those that hold in this conversation, those for always, too.
            active: only those that hold now; False: only those that are revoked or have expired.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_grants``
        """
        ...
