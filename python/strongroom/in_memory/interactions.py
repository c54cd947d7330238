"""InteractionStore in memory: the port. What its calls do is in ``interaction_functions``."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.ids import new_id
from strongroom.in_memory.approval_grants import (
    find_active_grant,
    grant_approval,
    list_grants,
    revoke_grant,
)
from strongroom.in_memory.base import MemoryPort
from strongroom.in_memory.interaction_functions import (
    answer_question,
    claim_approval,
    create_interaction,
    decide_approval,
    expire_interactions,
    find_interaction,
    list_interactions,
)
from strongroom.models.base import Id, Json, JsonValue, Moment, Text
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
from strongroom.stores.base import existing


class MemoryInteractionStore(MemoryPort):
    """See :class:`strongroom.ports.InteractionStore`."""

    async def _create(
        self,
        tenant_id: str,
        run_id: str,
        claim_token: int,
        interaction_id: str | None,
        expires_at: Moment | None,
        content: dict[str, JsonValue],
    ) -> ResolvedInteraction:
        return await self._write(
            tenant_id,
            # Each by its own name, which is what an error names.
            lambda tables, run_id, claim_token, interaction_id, **content: create_interaction(
                tables,
                run_id=run_id,
                claim_token=claim_token,
                interaction_id=interaction_id,
                expires_at=expires_at,
                content=content,
            ),
            run_id=run_id,
            claim_token=claim_token,
            interaction_id=interaction_id or new_id(),
            **content,
        )

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
        content: dict[str, JsonValue] = {
            "kind": "question",
            "prompt": prompt,
            "options": None if options is None else [*options],
            "addressee_id": addressee_id,
        }
        return await self._create(
            tenant_id, run_id, claim_token, interaction_id, expires_at, content
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
        content: dict[str, JsonValue] = {
            "kind": "approval",
            "tool_name": tool_name,
            "input": input,
            "tool_call_id": tool_call_id,
            "prompt": prompt,
            "risk": risk,
            "addressee_id": addressee_id,
        }
        return await self._create(
            tenant_id, run_id, claim_token, interaction_id, expires_at, content
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
        return await self._read(
            tenant_id,
            find_interaction,
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
        return await self._read(
            tenant_id,
            list_interactions,
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
        return await self._write(
            tenant_id,
            answer_question,
            interaction_id=interaction_id,
            answer=answer,
            resolved_by=resolved_by,
        )

    @port_method
    async def decide(
        self, *, tenant_id: Id, interaction_id: Id, decision: Decision, resolved_by: Id
    ) -> ResolvedInteraction:
        """See the port."""
        return await self._write(
            tenant_id,
            decide_approval,
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
        return await self._write(
            tenant_id,
            claim_approval,
            interaction_id=interaction_id,
            claim_token=claim_token,
            claim_id=claim_id or new_id(),
        )

    @port_method
    async def expire_due(self, *, tenant_id: Id | None = None, limit: Limit = 100) -> int:
        """See the port."""
        tenants = self._session.writable_tenants() if tenant_id is None else [tenant_id]
        expired = 0
        for tenant in tenants:
            if expired < limit:
                expired += await self._write(
                    tenant,
                    expire_interactions,
                    limit=limit - expired,
                    skip_suspended=tenant_id is None,
                )
        return expired

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
        return await self._write(
            tenant_id,
            lambda tables, **given: grant_approval(tables, expires_at=expires_at, **given),
            principal_id=principal_id,
            tool_name=tool_name,
            granted_by=granted_by,
            grant_id=grant_id or new_id(),
            conversation_id=conversation_id,
        )

    @port_method
    async def find_active_grant(
        self, *, tenant_id: Id, principal_id: Id, tool_name: Id, conversation_id: Id
    ) -> ApprovalGrant | None:
        """See the port."""
        return await self._read(
            tenant_id,
            find_active_grant,
            principal_id=principal_id,
            tool_name=tool_name,
            conversation_id=conversation_id,
        )

    @port_method
    async def revoke_grant(self, *, tenant_id: Id, grant_id: Id) -> RevokedGrant:
        """See the port."""
        return await self._write(tenant_id, revoke_grant, grant_id=grant_id)

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
        return await self._read(
            tenant_id,
            list_grants,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            principal_id=principal_id,
            tool_name=tool_name,
            conversation_id=conversation_id,
            active=active,
        )
