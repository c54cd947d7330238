"""What a run's handler may keep besides messages: artifacts, and tool outputs of any size."""

from __future__ import annotations

import datetime as dt

from strongroom.client import Strongroom
from strongroom.models.artifacts import Artifact, BlobRef, Provenance
from strongroom.models.base import Json, JsonObject
from strongroom.models.json_values import stored_size
from strongroom.models.parts import ArtifactPart, ToolResultPart
from strongroom.models.runs import Run
from strongroom.models.tool_outputs import StoredToolOutput, ToolOutputSlice

INLINE_BYTES = 65_536
"""Up to here a tool's output goes into the message itself, which has 1 MiB in all."""

PREVIEW_CHARACTERS = 1_000


class RunProducts:
    """The part of :class:`strongroom.RunContext` that stores what the run made, under its claim.

    Attributes:
        run: the run.
        claim_token: the claim; a write after it is lost raises StaleClaim.
    """

    run: Run
    claim_token: int
    _store: Strongroom

    def check_cancelled(self) -> None:
        """Leave the handler when somebody asked to cancel the run."""
        raise NotImplementedError

    async def save_artifact(
        self,
        name: str,
        *,
        text: str | None = None,
        value: Json = None,
        blob: BlobRef | None = None,
        media_type: str | None = None,
        title: str | None = None,
        tool_call_id: str | None = None,
    ) -> ArtifactPart:
        """Store a version of the conversation's artifact of this name; return the part that shows it.

        Saving what is the newest version already adds none, so that a handler may do it again after a
        crash.

        Args:
            name: what programs call it; the first time makes it.
            text: the content as text, at most 4 MiB; exactly one of text, value and blob.
            value: the content as JSON.
            blob: the content in the blob store.
            media_type: what it is; None: as before, for a new one by its kind.
            title: for people; of an artifact that is new.
            tool_call_id: the tool call that made it.

        Raises:
            VersionConflict: SR012, somebody else has added a version at this moment.
        """
        self.check_cancelled()
        page = await self._store.artifacts.list(
            tenant_id=self.run.tenant_id, conversation_id=self.run.conversation_id, name=name
        )
        provenance = Provenance(run_id=self.run.id, tool_call_id=tool_call_id)
        if not page.items:
            media_type = media_type or _media_type(text, blob)
            made = await self._store.artifacts.create(
                tenant_id=self.run.tenant_id,
                conversation_id=self.run.conversation_id,
                name=name,
                title=title,
                text=text,
                value=value,
                blob=blob,
                media_type=media_type,
                provenance=provenance,
                claim_token=self.claim_token,
            )
            return _shown(made, 1, media_type)
        known = page.items[0]
        latest = await self._store.artifacts.get_version(
            tenant_id=known.tenant_id, artifact_id=known.id
        )
        media_type = media_type or latest.media_type
        content = (text, value, blob and blob.key, media_type)
        if (latest.text, latest.value, latest.blob_key, latest.media_type) == content:
            return _shown(known, latest.version, media_type)
        added = await self._store.artifacts.add_version(
            tenant_id=known.tenant_id,
            artifact_id=known.id,
            expected_latest=latest.version,
            text=text,
            value=value,
            blob=blob,
            media_type=media_type,
            provenance=provenance,
            claim_token=self.claim_token,
        )
        return _shown(known, added.version, media_type)

    async def store_tool_output(
        self,
        *,
        text: str | None = None,
        value: Json = None,
        data: bytes | None = None,
        blob: BlobRef | None = None,
        media_type: str | None = None,
        tool_call_id: str | None = None,
        tool_name: str | None = None,
        expires_at: dt.datetime | None = None,
    ) -> StoredToolOutput:
        """Store a tool's output for the conversation; the same content is there once.

        Args:
            text: the output as text; exactly one of text, value, data and blob; 16 MiB without one.
            value: the output as JSON.
            data: the output as bytes.
            blob: the output in the blob store.
            media_type: what it is.
            tool_call_id: the tool call.
            tool_name: the tool.
            expires_at: after this a sweep may delete it, once the run has ended.
        """
        self.check_cancelled()
        return await self._store.tool_outputs.put(
            tenant_id=self.run.tenant_id,
            conversation_id=self.run.conversation_id,
            text=text,
            value=value,
            data=data,
            blob=blob,
            media_type=media_type,
            run_id=self.run.id,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            expires_at=expires_at,
            claim_token=self.claim_token,
        )

    async def tool_result(
        self,
        tool_call_id: str,
        tool_name: str,
        output: Json | bytes,
        *,
        is_error: bool = False,
        inline_bytes: int = INLINE_BYTES,
        expires_at: dt.datetime | None = None,
    ) -> ToolResultPart:
        """Return the message part of a tool's output, whatever its size.

        An output that is too large for a message, and bytes, go to the tool outputs; then the part's
        output is ``{"tool_output": {"id", "conversation_id", "kind", "size_bytes", "characters",
        "media_type"}, "preview": its first 1,000 characters}``. The id is for ``read_tool_output``.

        Args:
            tool_call_id: the tool call.
            tool_name: the tool.
            output: what it returned.
            is_error: whether it failed.
            inline_bytes: up to this size it goes into the message.
            expires_at: after this a sweep may delete what was stored, once the run has ended.
        """
        if not isinstance(output, bytes) and stored_size(output) <= inline_bytes:
            return ToolResultPart(
                tool_call_id=tool_call_id, tool_name=tool_name, output=output, is_error=is_error
            )
        stored = await self.store_tool_output(
            text=output if isinstance(output, str) else None,
            value=None if isinstance(output, str | bytes) else output,
            data=output if isinstance(output, bytes) else None,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            expires_at=expires_at,
        )
        reference: JsonObject = {
            "id": stored.id,
            "conversation_id": stored.conversation_id,
            "kind": stored.kind,
            "size_bytes": stored.size_bytes,
            "characters": stored.characters,
            "media_type": stored.media_type,
        }
        part: JsonObject = {"tool_output": reference}
        if not isinstance(output, bytes):
            start = await self.read_tool_output(stored.id, length=PREVIEW_CHARACTERS)
            part["preview"] = start.text
        return ToolResultPart(
            tool_call_id=tool_call_id, tool_name=tool_name, output=part, is_error=is_error
        )

    async def read_tool_output(
        self, output_id: str, *, start: int = 0, length: int = INLINE_BYTES
    ) -> ToolOutputSlice:
        """Return a part of a stored output, so that a model can page through it.

        Args:
            output_id: its id.
            start: the first character of a text or of JSON's text, or the first byte of bytes.
            length: how many at the most, 1..1,048,576; go on at the slice's ``next_start``.
        """
        return await self._store.tool_outputs.slice(
            tenant_id=self.run.tenant_id,
            conversation_id=self.run.conversation_id,
            output_id=output_id,
            start=start,
            length=length,
        )


def _media_type(text: str | None, blob: BlobRef | None) -> str:
    if blob is not None:
        return "application/octet-stream"
    return "application/json" if text is None else "text/plain"


def _shown(artifact: Artifact, version: int, media_type: str) -> ArtifactPart:
    return ArtifactPart(
        artifact_id=artifact.id, version=version, title=artifact.title, media_type=media_type
    )
