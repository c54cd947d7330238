# Written by scripts/generate_sync.py from strongroom/stores/tool_outputs.py: change that, and run `make generate`.
"""ToolOutputStore on SQL."""

from __future__ import annotations

import base64

from strongroom.models.artifacts import BlobRef
from strongroom.models.base import Id, Json, Moment, Name, Text
from strongroom.models.context import Viewer
from strongroom.models.files import Sha256
from strongroom.models.pages import Cursor, Direction, Limit, Page
from strongroom.models.parts import MediaType
from strongroom.models.runs import ClaimToken
from strongroom.models.tool_outputs import (
    StoredToolOutput,
    ToolOutput,
    ToolOutputHead,
    ToolOutputSlice,
)
from strongroom.ports.arguments import viewer_id
from strongroom.ports.tool_outputs import SliceLength, SliceStart
from strongroom.stores.artifacts import content_arguments
from strongroom.stores.base import existing
from strongroom.stores.tool_outputs import _Expired, one_digest
from strongroom.sync.ports.arguments import port_method
from strongroom.sync.stores.base import SqlStore


class SqlToolOutputStore(SqlStore):
    """See :class:`strongroom.ports.ToolOutputStore`."""

    @port_method
    def put(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        text: Text | None = None,
        value: Json = None,
        data: bytes | None = None,
        blob: BlobRef | None = None,
        sha256: Sha256 | None = None,
        media_type: MediaType | None = None,
        run_id: Id | None = None,
        tool_call_id: Id | None = None,
        tool_name: Name | None = None,
        expires_at: Moment | None = None,
        claim_token: ClaimToken | None = None,
    ) -> StoredToolOutput:
        """See the port."""
        content = content_arguments(text=text, value=value, blob=blob, media_type=media_type)
        content["sha256"] = one_digest(sha256, blob)
        return self._one(
            StoredToolOutput,
            "put_tool_output",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            data=None if data is None else base64.b64encode(data).decode(),
            run_id=run_id,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            expires_at=expires_at.isoformat() if expires_at else None,
            claim_token=claim_token,
            **content,
        )

    @port_method
    def get(
        self, *, tenant_id: Id, conversation_id: Id, output_id: Id, viewer: Viewer | None = None
    ) -> ToolOutput:
        """See the port."""
        found = self._find_one(tenant_id, conversation_id, output_id, viewer)
        return existing(found, "tool output", "output_id")

    @port_method
    def find(
        self, *, tenant_id: Id, conversation_id: Id, output_id: Id, viewer: Viewer | None = None
    ) -> ToolOutput | None:
        """See the port."""
        return self._find_one(tenant_id, conversation_id, output_id, viewer)

    def _find_one(
        self, tenant_id: str, conversation_id: str, output_id: str, viewer: Viewer | None
    ) -> ToolOutput | None:
        return self._find(
            ToolOutput,
            "find_tool_output",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            output_id=output_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    def head(
        self, *, tenant_id: Id, conversation_id: Id, output_id: Id, viewer: Viewer | None = None
    ) -> ToolOutputHead:
        """See the port."""
        found = self._find(
            ToolOutputHead,
            "find_tool_output_head",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            output_id=output_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return existing(found, "tool output", "output_id")

    @port_method
    def slice(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        output_id: Id,
        start: SliceStart = 0,
        length: SliceLength = 65_536,
        viewer: Viewer | None = None,
    ) -> ToolOutputSlice:
        """See the port."""
        found = self._find(
            ToolOutputSlice,
            "find_tool_output_slice",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            output_id=output_id,
            start=start,
            length=length,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return existing(found, "tool output", "output_id")

    @port_method
    def list(
        self,
        *,
        tenant_id: Id,
        conversation_id: Id,
        limit: Limit = 50,
        after: Cursor | None = None,
        before: Cursor | None = None,
        direction: Direction = "forward",
        viewer: Viewer | None = None,
        run_id: Id | None = None,
    ) -> Page[ToolOutputHead]:
        """See the port."""
        return self._page(
            ToolOutputHead,
            "list_tool_outputs",
            tenant_id=tenant_id,
            conversation_id=conversation_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            run_id=run_id,
        )

    @port_method
    def expire(self, *, tenant_id: Id, limit: Limit = 100) -> int:
        """See the port."""
        row = self._one(_Expired, "expire_tool_outputs", tenant_id=tenant_id, limit=limit)
        return row.expired
