"""InteractionStore on SQL."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.ids import new_id
from strongroom.models.base import Id, Json, Moment, Record, Text
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
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.stores.base import SqlStore, existing
from strongroom.transports.base import Document


class _Expired(Record):
    expired: int


class SqlInteractionStore(SqlStore):
    """See :class:`strongroom.ports.InteractionStore`."""

    @port_method
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
        """See the port."""
        return await self._one(
            ResolvedInteraction,
            "create_interaction",
            tenant_id=tenant_id,
            run_id=run_id,
            claim_token=claim_token,
            kind="question",
            interaction_id=interaction_id or new_id(),
            addressee_id=addressee_id,
            prompt=prompt,
            options=None if options is None else Document([*options]),
            expires_at=expires_at.isoformat() if expires_at else None,
        )

    @port_method
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
        """See the port."""
        return await self._one(
            ResolvedInteraction,
            "create_interaction",
            tenant_id=tenant_id,
            run_id=run_id,
            claim_token=claim_token,
            kind="approval",
            interaction_id=interaction_id or new_id(),
            addressee_id=addressee_id,
            prompt=prompt,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            input=Document(input),
            risk=risk,
            expires_at=expires_at.isoformat() if expires_at else None,
        )

    @port_method
    async def get(
        self, *, tenant_id: Id, interaction_id: Id, viewer: Viewer | None = None
    ) -> Interaction:
        """See the port."""
        found = await self._find_one(tenant_id, interaction_id, viewer)
        return existing(found, "interaction", "interaction_id")

    @port_method
    async def find(
        self, *, tenant_id: Id, interaction_id: Id, viewer: Viewer | None = None
    ) -> Interaction | None:
        """See the port."""
        return await self._find_one(tenant_id, interaction_id, viewer)

    async def _find_one(
        self, tenant_id: str, interaction_id: str, viewer: Viewer | None
    ) -> Interaction | None:
        return await self._find(
            Interaction,
            "find_interaction",
            tenant_id=tenant_id,
            interaction_id=interaction_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
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
        """See the port."""
        return await self._page(
            Interaction,
            "list_interactions",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            run_id=run_id,
            conversation_id=conversation_id,
            status=status,
        )

    @port_method
    async def answer(
        self, *, tenant_id: Id, interaction_id: Id, answer: Json, resolved_by: Id
    ) -> ResolvedInteraction:
        """See the port."""
        return await self._one(
            ResolvedInteraction,
            "answer_question",
            tenant_id=tenant_id,
            interaction_id=interaction_id,
            answer=Document(answer),
            resolved_by=resolved_by,
        )

    @port_method
    async def decide(
        self, *, tenant_id: Id, interaction_id: Id, decision: Decision, resolved_by: Id
    ) -> ResolvedInteraction:
        """See the port."""
        return await self._one(
            ResolvedInteraction,
            "decide_approval",
            tenant_id=tenant_id,
            interaction_id=interaction_id,
            decision=decision,
            resolved_by=resolved_by,
        )

    @port_method
    async def claim_approval(
        self,
        *,
        tenant_id: Id,
        interaction_id: Id,
        claim_token: ClaimToken,
        claim_id: Id | None = None,
    ) -> ResolvedInteraction:
        """See the port."""
        return await self._one(
            ResolvedInteraction,
            "claim_approval",
            tenant_id=tenant_id,
            interaction_id=interaction_id,
            claim_token=claim_token,
            claim_id=claim_id or new_id(),
        )

    @port_method
    async def expire_due(self, *, tenant_id: Id | None = None, limit: Limit = 100) -> int:
        """See the port."""
        row = await self._one(_Expired, "expire_interactions", tenant_id=tenant_id, limit=limit)
        return row.expired

    @port_method
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
        """See the port."""
        return await self._one(
            ApprovalGrant,
            "grant_approval",
            tenant_id=tenant_id,
            principal_id=principal_id,
            tool_name=tool_name,
            granted_by=granted_by,
            grant_id=grant_id or new_id(),
            conversation_id=conversation_id,
            expires_at=expires_at.isoformat() if expires_at else None,
        )

    @port_method
    async def find_active_grant(
        self, *, tenant_id: Id, principal_id: Id, tool_name: Id, conversation_id: Id
    ) -> ApprovalGrant | None:
        """See the port."""
        return await self._find(
            ApprovalGrant,
            "find_active_grant",
            tenant_id=tenant_id,
            principal_id=principal_id,
            tool_name=tool_name,
            conversation_id=conversation_id,
        )

    @port_method
    async def revoke_grant(self, *, tenant_id: Id, grant_id: Id) -> RevokedGrant:
        """See the port."""
        return await self._one(RevokedGrant, "revoke_grant", tenant_id=tenant_id, grant_id=grant_id)

    @port_method
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
        """See the port."""
        return await self._page(
            ApprovalGrant,
            "list_grants",
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            principal_id=principal_id,
            tool_name=tool_name,
            conversation_id=conversation_id,
            is_active=active,
        )
