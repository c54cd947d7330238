"""The 13 typed parts of a message.

The same rules stand in the database (``strongroom_private.check_parts``), so that a row written by
any other program is held to them too. ``provider_metadata`` is namespaced by provider and never decides
behaviour.

Example:
    >>> from strongroom import TextPart, ToolCallPart
    >>> ToolCallPart(tool_call_id="c1", tool_name="weather", input={"city": "Zürich"}).type
    'tool-call'
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from strongroom.models.base import BoundedText, Id, Json, JsonObject, Name, Record, Text

MediaType = Name
Url = Annotated[str, BoundedText(1, 8192)]
Count = Annotated[int, Field(strict=True, ge=0, le=2**53 - 1)]
ApprovalDecision = Literal["pending", "allow-once", "allow-conversation", "allow-always", "deny"]


class Part(Record):
    """What every part has."""

    schema_version: Literal[1] = 1
    provider_metadata: dict[Name, JsonObject] | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the part as it is stored: optional fields that are None are left out."""
        fields = type(self).model_fields
        return {
            name: value
            for name, value in self.__dict__.items()
            if value is not None or fields[name].is_required()
        }


class TextPart(Part):
    """Text that a person or a model wrote."""

    type: Literal["text"] = "text"
    text: Text


class ReasoningPart(Part):
    """A model's reasoning, where the provider shows it; signatures go to provider_metadata."""

    type: Literal["reasoning"] = "reasoning"
    text: Text


class ToolCallPart(Part):
    """A model's wish to call a tool."""

    type: Literal["tool-call"] = "tool-call"
    tool_call_id: Id
    tool_name: Name
    input: Json


class ToolResultPart(Part):
    """What a tool returned for one call; output over 1 MiB belongs in the tool-output store."""

    type: Literal["tool-result"] = "tool-result"
    tool_call_id: Id
    tool_name: Name
    output: Json
    is_error: Annotated[bool, Field(strict=True)] = False


class QuestionPart(Part):
    """A question that the run asks a person."""

    type: Literal["question"] = "question"
    question_id: Id
    text: Text
    options: list[Text] | None = None


class ApprovalPart(Part):
    """A tool call that needs, or got, a person's decision: the exact tool and input."""

    type: Literal["approval"] = "approval"
    approval_id: Id
    tool_call_id: Id
    tool_name: Name
    input: Json
    decision: ApprovalDecision = "pending"


class _Located(Part):
    """A part that points at bytes: by file_id, by url, or both."""

    file_id: Id | None = None
    url: Url | None = None
    media_type: MediaType

    @model_validator(mode="after")
    def _has_place(self) -> _Located:
        if self.file_id is None and self.url is None:
            msg = "file_id or url is required"
            raise ValueError(msg)
        return self


class FilePart(_Located):
    """A file that belongs to the message."""

    type: Literal["file"] = "file"
    name: Name | None = None
    size_bytes: Count | None = None


class ImagePart(_Located):
    """An image that belongs to the message."""

    type: Literal["image"] = "image"
    alt: Text | None = None
    width: Count | None = None
    height: Count | None = None


class CitationPart(Part):
    """A passage of a source that supports what was said."""

    type: Literal["citation"] = "citation"
    source_id: Id
    quote: Text | None = None
    locator: Text | None = None
    start: Count | None = None
    end: Count | None = None


class SourcePart(Part):
    """A source that citations refer to."""

    type: Literal["source"] = "source"
    source_id: Id
    source_type: Name
    title: Text | None = None
    url: Url | None = None


class ArtifactPart(Part):
    """A document, program or picture that the run made: one version of it."""

    type: Literal["artifact"] = "artifact"
    artifact_id: Id
    version: Annotated[int, Field(strict=True, ge=1, le=2**53 - 1)]
    title: Text | None = None
    media_type: MediaType | None = None


class StatusPart(Part):
    """A step of progress that a person saw."""

    type: Literal["status"] = "status"
    status: Name
    text: Text | None = None


class ErrorPart(Part):
    """A failure that a person saw, or that a model was told of."""

    type: Literal["error"] = "error"
    code: Name
    message: Text
    retryable: Annotated[bool, Field(strict=True)] = False
    detail: Json = None


MessagePart = Annotated[
    TextPart
    | ReasoningPart
    | ToolCallPart
    | ToolResultPart
    | QuestionPart
    | ApprovalPart
    | FilePart
    | ImagePart
    | CitationPart
    | SourcePart
    | ArtifactPart
    | StatusPart
    | ErrorPart,
    Field(discriminator="type"),
]

PART_TYPES = (
    "text",
    "reasoning",
    "tool-call",
    "tool-result",
    "question",
    "approval",
    "file",
    "image",
    "citation",
    "source",
    "artifact",
    "status",
    "error",
)
