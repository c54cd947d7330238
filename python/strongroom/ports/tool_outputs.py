"""The port for large tool outputs."""

from __future__ import annotations

from typing import Annotated, Protocol

from pydantic import Field

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

SliceStart = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
SliceLength = Annotated[int, Field(strict=True, ge=1, le=1_048_576)]


class ToolOutputStore(Protocol):
    """Outputs of tools that are too large for a message, each content once in its conversation.

    The id is the kind and the SHA-256, which the database computes; the same content in another
    conversation or tenant is a row of its own. Content is a text, a JSON value or bytes of at most 16 MiB,
    or a blob of any size. Every method raises NotFound (SR010) for a conversation that is absent, deleted
    or unreadable, InvalidArgument (SR001), LimitExceeded (SR004), PermissionDenied (SR020),
    TenantMismatch (SR021), Unavailable (SR050).
    """

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
        """Store an output; content that the conversation has already is a ``duplicate``.

        A duplicate changes nothing but the expiry: the later one counts, and none is the latest. A blob
        that was brought for a duplicate with another key is not needed: delete it.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation.
            text: the content as text; exactly one of text, value, data and blob.
            value: the content as JSON; None is no content.
            data: the content as bytes.
            blob: the content in the blob store.
            sha256: of the text's UTF-8 or the bytes, to be verified; of JSON as jsonb writes it.
            media_type: text/plain, application/json or application/octet-stream when it is None.
            run_id: the run.
            tool_call_id: the tool call.
            tool_name: the tool.
            expires_at: after this a sweep may delete it; None: it stays as long as the conversation.
            claim_token: the claim of ``run_id``.

        Raises:
            InvalidArgument: SR001, also when sha256 is not that of the content.
            InvalidTransition: SR030, the blob is being removed: put it under a new key.
            StaleClaim: SR031, the claim is lost.

        SQL: ``strongroom.put_tool_output``

        Example:
            >>> import asyncio, strongroom
            >>> async def main() -> tuple[str, str | None]:
            ...     async with strongroom.connect("memory:") as store:
            ...         await store.tenants.create(tenant_id="acme", name="Acme")
            ...         talk = await store.conversations.create(tenant_id="acme", owner_id="ada")
            ...         where = {"tenant_id": "acme", "conversation_id": talk.id}
            ...         await store.tool_outputs.put(**where, text="a long listing")
            ...         again = await store.tool_outputs.put(**where, text="a long listing")
            ...         part = await store.tool_outputs.slice(**where, output_id=again.id, start=7)
            ...         return again.outcome, part.text
            >>> asyncio.run(main())
            ('duplicate', 'listing')
        """
        ...

    async def get(
        self, *, tenant_id: Id, conversation_id: Id, output_id: Id, viewer: Viewer | None = None
    ) -> ToolOutput:
        """Return it with its whole content, or raise NotFound. SQL: ``strongroom.find_tool_output``."""
        ...

    async def find(
        self, *, tenant_id: Id, conversation_id: Id, output_id: Id, viewer: Viewer | None = None
    ) -> ToolOutput | None:
        """Return it with its whole content, or None. SQL: ``strongroom.find_tool_output``."""
        ...

    async def head(
        self, *, tenant_id: Id, conversation_id: Id, output_id: Id, viewer: Viewer | None = None
    ) -> ToolOutputHead:
        """Return it without its content, or raise NotFound.

        SQL: ``strongroom.find_tool_output_head``
        """
        ...

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
        """Return a part of it, or raise NotFound; go on at its ``next_start``.

        Args:
            tenant_id: the tenant.
            conversation_id: the conversation.
            output_id: the output.
            start: the first character of a text or of JSON's text, or the first byte of bytes, from 0.
            length: how many at the most, 1..1,048,576. Past the end there are none.
            viewer: read with this principal's permissions; None reads as the host.

        Raises:
            InvalidArgument: SR001, the content is in the blob store: read a range there.

        SQL: ``strongroom.find_tool_output_slice``
        """
        ...

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
        """Return a page of outputs without their content, forward newest first.

        Raises:
            InvalidCursor: SR002.

        SQL: ``strongroom.list_tool_outputs``
        """
        ...

    async def expire(self, *, tenant_id: Id, limit: Limit = 100) -> int:
        """Delete what has expired, at most ``limit``; return how many. Blobs are scheduled for removal.

        Nothing goes from a conversation that has an unfinished run: its messages may still point at it.

        SQL: ``strongroom.expire_tool_outputs``
        """
        ...
