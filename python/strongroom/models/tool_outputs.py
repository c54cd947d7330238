"""Outputs of tools that are too large for a message."""

from __future__ import annotations

import base64
from typing import Literal

from pydantic import Field

from strongroom.models.base import Id, Json, Name, Record, Text, Timestamp
from strongroom.models.blobs import BlobKey
from strongroom.models.files import Sha256
from strongroom.models.parts import MediaType
from strongroom.models.tenants import CreateOutcome

ToolOutputKind = Literal["text", "json", "bytes", "blob"]


class ToolOutputHead(Record):
    """A tool output without its content.

    Attributes:
        id: the kind and the SHA-256: the same content has the same id in every conversation.
        sha256: of the content; of JSON as PostgreSQL's jsonb writes it.
        characters: how many a text, or JSON as jsonb writes it, has.
        run_id: the run that stored it first.
        expires_at: after this a sweep may delete it, once the conversation has no unfinished run.
    """

    tenant_id: Id
    conversation_id: Id
    id: Id
    kind: ToolOutputKind
    sha256: Sha256
    size_bytes: int
    characters: int | None
    media_type: MediaType
    blob_key: BlobKey | None
    run_id: Id | None
    tool_call_id: Id | None
    tool_name: Name | None
    expires_at: Timestamp | None
    created_at: Timestamp


class StoredToolOutput(ToolOutputHead):
    """A tool output as ``put`` returns it; ``duplicate``: the conversation had this content."""

    outcome: CreateOutcome


class ToolOutput(ToolOutputHead):
    """A tool output with its content: a text, a JSON value, bytes, or none of them for a blob."""

    text: Text | None = Field(default=None, repr=False)
    value: Json = Field(default=None, repr=False)
    data_base64: str | None = Field(default=None, repr=False)

    @property
    def data(self) -> bytes | None:
        """The bytes."""
        return None if self.data_base64 is None else base64.b64decode(self.data_base64)


class ToolOutputSlice(Record):
    """A part of a tool output: characters of a text or of JSON's text, bytes of bytes.

    Attributes:
        start: where it begins, counted from 0.
        total: how many characters or bytes the whole has.
        next_start: where to go on; None at the end.
    """

    tenant_id: Id
    conversation_id: Id
    id: Id
    kind: ToolOutputKind
    start: int
    total: int
    next_start: int | None
    text: Text | None
    data_base64: str | None

    @property
    def data(self) -> bytes | None:
        """The bytes."""
        return None if self.data_base64 is None else base64.b64decode(self.data_base64)
