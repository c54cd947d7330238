# Written by scripts/generate_sync.py from strongroom/ports/session_state.py: change that, and run `make generate`.
"""The port for session state."""

from __future__ import annotations

from typing import Protocol

from strongroom.models.base import Id, JsonObject
from strongroom.models.context import Viewer
from strongroom.models.session_state import SessionState


class SessionStateStore(Protocol):
    """One versioned JSON object per conversation, at most 64 KiB.

    Every writing method raises NotFound (SR010) for an absent or deleted conversation, VersionConflict
    (SR012, with ``detail["current_version"]``) for a stale version, LimitExceeded (SR004) over 64 KiB.
    """

    def get(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> SessionState:
        """Return the state: ``{}`` at version 0 before the first write.

        Raises:
            NotFound: SR010, no readable conversation.

        SQL: ``strongroom.find_session_state``
        """
        ...

    def find(
        self, *, tenant_id: Id, conversation_id: Id, viewer: Viewer | None = None
    ) -> SessionState | None:
        """Return the state; None without a readable conversation.

        SQL: ``strongroom.find_session_state``
        """
        ...

    def put(
        self, *, tenant_id: Id, conversation_id: Id, state: JsonObject, expected_version: int
    ) -> SessionState:
        """Replace the state, given the version that you read (0 before the first write).

        SQL: ``strongroom.put_session_state``
        """
        ...

    def patch(
        self, *, tenant_id: Id, conversation_id: Id, patch: JsonObject, expected_version: int
    ) -> SessionState:
        """Merge a JSON merge patch (RFC 7396): objects merge, null removes, the rest replaces.

        SQL: ``strongroom.patch_session_state``
        """
        ...

    def clear(self, *, tenant_id: Id, conversation_id: Id, expected_version: int) -> SessionState:
        """Empty the state; the version goes on counting. SQL: ``strongroom.clear_session_state``."""
        ...
