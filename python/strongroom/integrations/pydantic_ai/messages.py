"""Messages of Pydantic AI as JSON, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import cast

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse

from strongroom.errors import InvalidArgument
from strongroom.integrations.plain import plain
from strongroom.models.base import JsonValue


def written(messages: Sequence[ModelMessage]) -> list[JsonValue]:
    """Return messages as Pydantic AI writes them to JSON: bytes as base64, a set as a list.

    Raises:
        InvalidArgument: SR001, a message holds what cannot be written, or is none; the path leads to it.
    """
    for place, message in enumerate(messages):
        # The adapter writes anything, and what is no message could never be read again.
        if not isinstance(message, ModelRequest | ModelResponse):
            raise InvalidArgument(
                f"messages[{place}] is of type {type(message).__name__}, and no message",
                detail={"path": f"messages[{place}]"},
                hint="Give ModelRequest and ModelResponse, such as result.new_messages().",
            )
    found = plain(
        [*messages],
        "messages",
        lambda value: ModelMessagesTypeAdapter.dump_python(value, mode="json"),
        bytes_mode="base64",
    )
    return cast("list[JsonValue]", found)


def read(contents: Sequence[JsonValue]) -> list[ModelMessage]:
    """Return the messages that were written."""
    return ModelMessagesTypeAdapter.validate_python([*contents])


def digest(content: JsonValue) -> bytes:
    """Return what one message is told from all others by."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()
