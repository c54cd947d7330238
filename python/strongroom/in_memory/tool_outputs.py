"""ToolOutputStore in memory: the port. What its calls do is in ``tool_output_functions``."""

from __future__ import annotations

import base64

from strongroom.in_memory.artifacts import content_of
from strongroom.in_memory.base import MemoryPort
from strongroom.in_memory.tool_output_functions import (
    expire_tool_outputs,
    find_tool_output,
    find_tool_output_head,
    find_tool_output_slice,
    list_tool_outputs,
    put_tool_output,
)
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
from strongroom.ports.arguments import port_method, viewer_id
from strongroom.ports.tool_outputs import SliceLength, SliceStart
from strongroom.stores.base import existing
from strongroom.stores.tool_outputs import one_digest


class MemoryToolOutputStore(MemoryPort):
    """See :class:`strongroom.ports.ToolOutputStore`."""

    @port_method
    async def put(
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
        content = content_of(text=text, value=value, blob=blob, media_type=media_type)
        content["sha256"] = one_digest(sha256, blob)
        content["data_base64"] = None if data is None else base64.b64encode(data).decode()
        return await self._write(
            tenant_id,
            put_tool_output,
            conversation_id=conversation_id,
            run_id=run_id,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            expires_at=expires_at.isoformat() if expires_at else None,
            claim_token=claim_token,
            **content,
        )

    @port_method
    async def get(
        self, *, tenant_id: Id, conversation_id: Id, output_id: Id, viewer: Viewer | None = None
    ) -> ToolOutput:
        """See the port."""
        found = await self._find_one(tenant_id, conversation_id, output_id, viewer)
        return existing(found, "tool output", "output_id")

    @port_method
    async def find(
        self, *, tenant_id: Id, conversation_id: Id, output_id: Id, viewer: Viewer | None = None
    ) -> ToolOutput | None:
        """See the port."""
        return await self._find_one(tenant_id, conversation_id, output_id, viewer)

    async def _find_one(
        self, tenant_id: str, conversation_id: str, output_id: str, viewer: Viewer | None
    ) -> ToolOutput | None:
        return await self._read(
            tenant_id,
            find_tool_output,
            conversation_id=conversation_id,
            output_id=output_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )

    @port_method
    async def head(
        self, *, tenant_id: Id, conversation_id: Id, output_id: Id, viewer: Viewer | None = None
    ) -> ToolOutputHead:
        """See the port."""
        found = await self._read(
            tenant_id,
            find_tool_output_head,
            conversation_id=conversation_id,
            output_id=output_id,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return existing(found, "tool output", "output_id")

    @port_method
    async def slice(
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
        found = await self._read(
            tenant_id,
            find_tool_output_slice,
            conversation_id=conversation_id,
            output_id=output_id,
            start=start,
            length=length,
            viewer_id=viewer_id(tenant_id, viewer),
        )
        return existing(found, "tool output", "output_id")

    @port_method
    async def list(
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
        return await self._read(
            tenant_id,
            list_tool_outputs,
            conversation_id=conversation_id,
            limit=limit,
            after=after,
            before=before,
            direction=direction,
            viewer_id=viewer_id(tenant_id, viewer),
            run_id=run_id,
        )

    @port_method
    async def expire(self, *, tenant_id: Id, limit: Limit = 100) -> int:
        """See the port."""
        return await self._write(tenant_id, expire_tool_outputs, limit=limit)
