"""Standing approvals: what the calls of InteractionStore do about them."""

from __future__ import annotations

from typing import Any

from strongroom.errors import AlreadyExists
from strongroom.in_memory.artifact_functions import creation
from strongroom.in_memory.audit_functions import record_audit
from strongroom.in_memory.base import check_writable, readable_conversation
from strongroom.in_memory.database import Tables
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import moment
from strongroom.models.interactions import ApprovalGrant, RevokedGrant
from strongroom.models.pages import Direction, Page


def grant_approval(
    tables: Tables, *, grant_id: str, conversation_id: str | None, **given: Any
) -> ApprovalGrant:
    """Allow a tool without asking, in one conversation or always; a repeat changes nothing."""
    check_writable(tables)
    if conversation_id is not None:
        readable_conversation(tables, conversation_id)
    if grant_id not in tables.approval_grants:
        record_audit(
            tables,
            "grant.grant",
            "grant",
            grant_id,
            details={"tool_name": given["tool_name"], "conversation_id": conversation_id},
            actor_id=given["granted_by"],
            principal_id=given["principal_id"],
        )
    grant = store_grant(
        tables, grant_id=grant_id, conversation_id=conversation_id, interaction_id=None, **given
    )
    same = ("principal_id", "tool_name", "granted_by", "expires_at")
    if grant.conversation_id != conversation_id or any(
        getattr(grant, name) != given[name] for name in same
    ):
        raise AlreadyExists(
            "a grant with this id has other content",
            detail={"path": "grant_id", "record": "grant"},
            hint="Use a new id for a new grant.",
        )
    return grant


def store_grant(
    tables: Tables, *, grant_id: str, conversation_id: str | None, **given: Any
) -> ApprovalGrant:
    """Return the grant with this id, made from the arguments when there is none."""
    if grant_id not in tables.approval_grants:
        tables.approval_grants[grant_id] = ApprovalGrant(
            tenant_id=tables.tenant_id,
            id=grant_id,
            scope="always" if conversation_id is None else "conversation",
            conversation_id=conversation_id,
            revoked_at=None,
            created_at=tables.now,
            **given,
        )
    return tables.approval_grants[grant_id]


def _is_active(grant: ApprovalGrant) -> bool:
    return grant.revoked_at is None and (grant.expires_at is None or grant.expires_at > moment())


def find_active_grant(
    tables: Tables, *, principal_id: str, tool_name: str, conversation_id: str
) -> ApprovalGrant | None:
    """Return a grant that holds now, one for always first."""
    active = [
        grant
        for grant in tables.approval_grants.values()
        if grant.principal_id == principal_id
        and grant.tool_name == tool_name
        and _is_active(grant)
        and (grant.scope == "always" or grant.conversation_id == conversation_id)
    ]
    active.sort(key=lambda grant: (grant.scope, grant.created_at, grant.id))
    return active[0] if active else None


def revoke_grant(tables: Tables, *, grant_id: str) -> RevokedGrant:
    """End a grant; say whether it was not revoked yet, and how many others allow the same."""
    check_writable(tables)
    grant = tables.approval_grants.get(grant_id)
    if grant is None:
        return RevokedGrant(revoked=False, others=0)
    revoked = grant.revoked_at is None
    if revoked:
        tables.approval_grants[grant_id] = grant.replace(revoked_at=tables.now)
        record_audit(tables, "grant.revoke", "grant", grant_id, principal_id=grant.principal_id)
    others = [
        other
        for other in tables.approval_grants.values()
        if (other.principal_id, other.tool_name) == (grant.principal_id, grant.tool_name)
        and _is_active(other)
        and (
            "always" in {other.scope, grant.scope} or other.conversation_id == grant.conversation_id
        )
    ]
    return RevokedGrant(revoked=revoked, others=len(others))


def list_grants(
    tables: Tables,
    *,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    principal_id: str | None,
    tool_name: str | None,
    conversation_id: str | None,
    active: bool | None,
) -> Page[ApprovalGrant]:
    """Return a page of grants, forward newest first."""
    check_page(after, before)
    return page_of(
        [
            grant
            for grant in tables.approval_grants.values()
            if principal_id in {None, grant.principal_id}
            and tool_name in {None, grant.tool_name}
            and (grant.scope == "always" or conversation_id in {None, grant.conversation_id})
            and active in {None, _is_active(grant)}
        ],
        key=creation,
        descending=direction == "forward",
        scope=cursor_scope(
            "approval_grants", [principal_id, tool_name, conversation_id, active], direction
        ),
        limit=limit,
        after=after,
        before=before,
    )
