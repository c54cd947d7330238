# Written by scripts/generate_sync.py from strongroom/in_memory/session_state.py: change that, and run `make generate`.
"""SessionStateStore in memory."""

from __future__ import annotations

from strongroom.in_memory.session_state import (
    find_session_state,
    patch_session_state,
    put_session_state,
)
from strongroom.models.base import Id, JsonObject, Version
from strongroom.models.context import Viewer
from strongroom.models.session_state import SessionState
from strongroom.ports.arguments import viewer_id
from strongroom.stores.base import existing
from strongroom.sync.in_memory.base import MemoryPort
from strongroom.sync.ports.arguments import port_method


class MemorySessionStateStore(MemoryPort):
    """See :class:`strongroom.ports.SessionStateStore`."""

    @port_method
    def get(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> SessionState:
        """See the port."""
        found = self._find_one(tenant_id, conversation_id, viewer)
        return existing(found, "conversation", "conversation_id")

    @port_method
    def find(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> SessionState | None:
        """See the port."""
        return self._find_one(tenant_id, conversation_id, viewer)

    def _find_one(
        self, tenant_id: str, conversation_id: str, viewer: Viewer | None
    ) -> SessionState | None:
        return self._read(
            tenant_id,
            find_session_state,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def put(
        self, *, tenant_id: Id, conversation_id: Id, state: JsonObject, expected_version: Version
    ) -> SessionState:
        """See the port."""
        return self._write(
            tenant_id,
            put_session_state,
            conversation_id=conversation_id,
            state=state,
            expected_version=expected_version,
        )

    @port_method
    def patch(
        self, *, tenant_id: Id, conversation_id: Id, patch: JsonObject, expected_version: Version
    ) -> SessionState:
        """See the port."""
        return self._write(
            tenant_id,
            patch_session_state,
            conversation_id=conversation_id,
            patch=patch,
            expected_version=expected_version,
        )

    @port_method
    def clear(
        self, *, tenant_id: Id, conversation_id: Id, expected_version: Version
    ) -> SessionState:
        """See the port."""
        return self._write(
            tenant_id,
            put_session_state,
            conversation_id=conversation_id,
            state={},
            expected_version=expected_version,
        )
