"""SessionStateStore on SQL."""

from __future__ import annotations

from strongroom.ids import new_id
from strongroom.models.base import Id, JsonObject, Version
from strongroom.models.context import Viewer
from strongroom.models.session_state import SessionState
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.stores.base import SqlStore, existing
from strongroom.transports.base import Document


class SqlSessionStateStore(SqlStore):
    """See :class:`strongroom.ports.SessionStateStore`."""

    @port_method
    async def get(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> SessionState:
        """See the port."""
        found = await self._find_one(tenant_id, conversation_id, viewer)
        return existing(found, "conversation", "conversation_id")

    @port_method
    async def find(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> SessionState | None:
        """See the port."""
        return await self._find_one(tenant_id, conversation_id, viewer)

    async def _find_one(
        self, tenant_id: str, conversation_id: str, viewer: Viewer | None
    ) -> SessionState | None:
        return await self._find(
            SessionState,
            "find_session_state",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def put(
        self, *, tenant_id: Id, conversation_id: Id, state: JsonObject, expected_version: Version
    ) -> SessionState:
        """See the port."""
        return await self._one(
            SessionState,
            "put_session_state",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            state=Document(state),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    async def patch(
        self, *, tenant_id: Id, conversation_id: Id, patch: JsonObject, expected_version: Version
    ) -> SessionState:
        """See the port."""
        return await self._one(
            SessionState,
            "patch_session_state",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            patch=Document(patch),
            expected_version=expected_version,
            write_id=new_id(),
        )

    @port_method
    async def clear(
        self, *, tenant_id: Id, conversation_id: Id, expected_version: Version
    ) -> SessionState:
        """See the port."""
        return await self._one(
            SessionState,
            "clear_session_state",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            expected_version=expected_version,
            write_id=new_id(),
        )
