"""What the ports share: one public method runs one function on the tables, as on SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from strongroom.errors import NotFound, PermissionDenied, VersionConflict
from strongroom.in_memory.database import Row, Session, Tables
from strongroom.models.base import JsonValue, Record
from strongroom.models.conversations import Conversation
from strongroom.models.health import TextPolicy
from strongroom.transports.base import Document, storable

T = TypeVar("T")
R = TypeVar("R", bound=Record)

_GONE = "It may have been deleted, or this caller may not see it."


class MemoryPort:
    """A port on a session."""

    def __init__(self, session: Session, text_policy: TextPolicy) -> None:
        """Run every call in this session."""
        self._session = session
        self._text_policy: TextPolicy = text_policy

    async def _read(self, tenant_id: str, work: Callable[..., T], **arguments: JsonValue) -> T:
        tenant, ready = self._storable(tenant_id, arguments)
        return await self._session.read(tenant, lambda tables: work(tables, **ready))

    async def _write(self, tenant_id: str, work: Callable[..., T], **arguments: JsonValue) -> T:
        tenant, ready = self._storable(tenant_id, arguments)
        return await self._session.write(tenant, lambda tables: work(tables, **ready))

    def _storable(
        self, tenant_id: str, arguments: dict[str, JsonValue]
    ) -> tuple[str, dict[str, Any]]:
        """Hold every text to the text policy, under the names that the SQL functions use, too."""
        given = {"tenant_id": tenant_id, **arguments}
        documents = storable(
            {name: Document(value) for name, value in given.items()}, self._text_policy
        )
        ready = {
            name: document.value
            for name, document in documents.items()
            if isinstance(document, Document)
        }
        return str(ready.pop("tenant_id")), ready


def check_writable(tables: Tables) -> None:
    """The first step of every write: the tenant exists and is active."""
    if tables.tenant is None:
        raise NotFound(
            "the tenant does not exist",
            detail={"path": "tenant_id", "record": "tenant"},
            hint="Create it first: tenants.create.",
        )
    if tables.tenant.record.status != "active":
        raise PermissionDenied(
            "the tenant is suspended and takes no writes",
            detail={"path": "tenant_id", "status": tables.tenant.record.status},
            hint="Resume it first: tenants.resume.",
        )


def is_readable(conversation: Conversation, viewer_id: str | None) -> bool:
    """Whether this viewer may read it while it lives; without a viewer, whether it lives."""
    return conversation.deleted_at is None and (
        viewer_id is None
        or conversation.owner_id == viewer_id
        or conversation.visibility == "tenant"
        or viewer_id in conversation.participant_ids
    )


def readable_conversation(
    tables: Tables, conversation_id: str, viewer_id: str | None = None
) -> Conversation:
    """Return a living conversation that the viewer may read.

    Raises:
        NotFound: SR010, the same for an absent, a deleted and an unreadable one.
    """
    row = tables.conversations.get(conversation_id)
    if row is None or not is_readable(row.record, viewer_id):
        raise NotFound(
            "the conversation does not exist",
            detail={"path": "conversation_id", "record": "conversation"},
            hint=_GONE,
        )
    return row.record


def versioned(row: Row[R] | None, name: str, expected_version: int) -> Row[R]:
    """Return the row when it has the version that the caller read.

    Raises:
        NotFound: SR010.
        VersionConflict: SR012, with ``detail["current_version"]``.
    """
    if row is None:
        raise NotFound(f"the {name} does not exist", detail={"record": name}, hint=_GONE)
    check_version(name, expected_version, row.record.version)  # type: ignore[attr-defined]
    return row


def check_version(name: str, expected_version: int, current_version: int) -> None:
    """Refuse a write that is based on another version."""
    if expected_version != current_version:
        raise VersionConflict(
            f"the {name} has version {current_version}, not {expected_version}",
            detail={
                "record": name,
                "expected_version": expected_version,
                "current_version": current_version,
            },
            hint="Read it again, apply the change to what you read, and write with its version.",
        )
