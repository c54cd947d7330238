"""SessionStateStore in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strongroom.in_memory.base import (
    MemoryPort,
    check_version,
    check_writable,
    is_readable,
    readable_conversation,
)
from strongroom.in_memory.database import Tables
from strongroom.in_memory.values import check_size, merge_json
from strongroom.models.base import Id, JsonObject, JsonValue, Version
from strongroom.models.context import Viewer
from strongroom.models.session_state import SessionState
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.stores.base import existing

STATE_BYTES = 65_536


class MemorySessionStateStore(MemoryPort):
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
        return await self._read(
            tenant_id,
            find_session_state,
            conversation_id=conversation_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def put(
        self, *, tenant_id: Id, conversation_id: Id, state: JsonObject, expected_version: Version
    ) -> SessionState:
        """See the port."""
        return await self._write(
            tenant_id,
            put_session_state,
            conversation_id=conversation_id,
            state=state,
            expected_version=expected_version,
        )

    @port_method
    async def patch(
        self, *, tenant_id: Id, conversation_id: Id, patch: JsonObject, expected_version: Version
    ) -> SessionState:
        """See the port."""
        return await self._write(
            tenant_id,
            patch_session_state,
            conversation_id=conversation_id,
            patch=patch,
            expected_version=expected_version,
        )

    @port_method
    async def clear(
        self, *, tenant_id: Id, conversation_id: Id, expected_version: Version
    ) -> SessionState:
        """See the port."""
        return await self._write(
            tenant_id,
            put_session_state,
            conversation_id=conversation_id,
            state={},
            expected_version=expected_version,
        )


def find_session_state(
    tables: Tables, *, conversation_id: str, viewer_id: str | None
) -> SessionState | None:
    """Return the state, ``{}`` at version 0 before the first write."""
    row = tables.conversations.get(conversation_id)
    if row is None or not is_readable(row.record, viewer_id):
        return None
    return _current(tables, conversation_id)


def _current(tables: Tables, conversation_id: str) -> SessionState:
    return tables.session_states.get(conversation_id) or SessionState(
        tenant_id=tables.tenant_id,
        conversation_id=conversation_id,
        state={},
        version=0,
        updated_at=None,
    )


def put_session_state(
    tables: Tables, *, conversation_id: str, state: dict[str, Any], expected_version: int
) -> SessionState:
    """Replace the state."""
    check_writable(tables)
    check_size("state", state, STATE_BYTES)
    return _write(tables, conversation_id, expected_version, lambda _: state)


def patch_session_state(
    tables: Tables, *, conversation_id: str, patch: dict[str, Any], expected_version: int
) -> SessionState:
    """Merge a patch into the state."""
    check_writable(tables)
    check_size("patch", patch, STATE_BYTES)
    return _write(tables, conversation_id, expected_version, lambda state: merge_json(state, patch))


def _write(
    tables: Tables,
    conversation_id: str,
    expected_version: int,
    change: Callable[[JsonValue], JsonValue],
) -> SessionState:
    readable_conversation(tables, conversation_id)
    current = _current(tables, conversation_id)
    check_version("session state", expected_version, current.version)
    state = change(current.state)
    check_size("state", state, STATE_BYTES)
    changed = current.replace(state=state, version=current.version + 1, updated_at=tables.now)
    tables.session_states[conversation_id] = changed
    return changed
