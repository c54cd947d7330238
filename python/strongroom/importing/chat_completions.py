"""JSON lines in the chat-completions message form: one message a line, one conversation a file.

What becomes what:

==========================================  ======================================================
``content``, a text or a list of parts       text, image and file parts
``reasoning_content`` or ``reasoning``       a reasoning part, before the text
``refusal``                                  a text part, marked in its provider metadata
``tool_calls``                               tool-call parts; arguments that are not JSON stay text
a ``tool`` message                           a tool-result part; its text is never parsed
role ``developer``                           role ``system``; the name is kept in the metadata
all other fields (``name``, ``usage``, ...)  metadata, under ``chat_completions``
==========================================  ======================================================

Null, empty lists and empty objects mean that a field is absent, and so does an empty text of an
assistant beside reasoning or tool calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from strongroom.importing.assembly import Assembler
from strongroom.importing.locations import data_url, located_part, media_type_of
from strongroom.importing.place import Fields, Place, TextPolicy, is_blank, metadata_of
from strongroom.importing.strict_json import parse_arguments
from strongroom.importing.text_lines import parse_line
from strongroom.models.messages import NewMessage, Role
from strongroom.models.parts import (
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

NAMESPACE = "chat_completions"
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_BYTES = "application/octet-stream"
_AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def read_chat_completions(
    lines: Iterable[bytes | str],
    *,
    conversation_id: str,
    file: str = "<lines>",
    text_policy: TextPolicy = "reject",
) -> Iterator[NewMessage]:
    """Yield the messages of a conversation, line by line; blank lines are skipped.

    Args:
        lines: JSON lines, as bytes in UTF-8 or as text.
        conversation_id: the conversation that the ids are derived for.
        file: the name that errors give.
        text_policy: what to do with U+0000 and lone surrogates, ``reject`` or ``replace``.

    Yields:
        Messages with derived ids, in order.

    Raises:
        InvalidArgument: SR001, for a line that is not a message, naming file, line and field.
        InvalidText: SR003, for text that PostgreSQL cannot store.
        LimitExceeded: SR004, for a message over 1 MiB or a name over 255 characters.

    Example:
        >>> line = '{"role": "user", "content": "Where is my parcel?"}'
        >>> [message.role for message in read_chat_completions([line], conversation_id="c1")]
        ['user']
    """
    reader = _Reader(conversation_id)
    for number, line in enumerate(lines, 1):
        place = Place(file, number, text_policy)
        value = parse_line(line, place)
        if value is not None:
            yield reader.message(Fields(value, place))


class _Reader:
    def __init__(self, conversation_id: str) -> None:
        self._assembler = Assembler(conversation_id, NAMESPACE)
        self._tool_names: dict[str, str] = {}

    def message(self, fields: Fields) -> NewMessage:
        place = fields.place
        written = fields.required_text("role")
        role = _ROLES.get(written)
        if role is None:
            raise place.fault(
                "role",
                f"{written!r} is not one of {', '.join(_ROLES)}",
                hint="Turn calls of the older kind into tool_calls and tool messages."
                if written == "function"
                else None,
            )
        if role == "tool":
            parts = [self._result(fields)]
        elif role == "assistant":
            parts = self._assistant(fields)
        else:
            parts = _content(fields, "content")
        extras: dict[str, JsonValue] = {} if written == role else {"role": written}
        return self._assembler.message(place, "", role, parts, {**extras, **fields.rest()})

    def _assistant(self, fields: Fields) -> list[MessagePart]:
        if not is_blank(fields.peek("function_call")):
            raise fields.place.fault(
                "function_call",
                "is the older form of a tool call",
                hint="Write it as tool_calls, with an id.",
            )
        parts = _reasoning(fields)
        content = _content(fields, "content")
        refusal = fields.text("refusal")
        if refusal:
            marked = {"type": "refusal"}
            content.append(TextPart(text=refusal, provider_metadata=metadata_of(NAMESPACE, marked)))
        calls = [self._call(call) for call in fields.objects("tool_calls")]
        if (parts or calls) and content == [TextPart(text="")]:
            content = []
        return [*parts, *content, *calls]

    def _call(self, call: Fields) -> ToolCallPart:
        call_id = call.required_text("id")
        kind = call.text("type") or "function"
        if kind not in ("function", "custom"):
            raise call.place.fault(call.at("type"), f"{kind!r} is not one of function, custom")
        body = call.object(kind)
        name = body.required_text("name")
        marks: dict[str, JsonValue] = {}
        if kind == "custom":
            value: JsonValue = body.required_text("input")
            marks["type"] = "custom"
        elif isinstance(body.peek("arguments"), dict):
            value = body.take("arguments")
            marks["arguments_form"] = "object"
        else:
            value, marks = parse_arguments(body.required_text("arguments"))
            value = call.place.check(value, body.at("arguments"))
        part = call.place.make(
            ToolCallPart,
            call.path,
            tool_call_id=call_id,
            tool_name=name,
            input=value,
            provider_metadata=metadata_of(NAMESPACE, marks, _inner(body, kind), call.rest()),
        )
        self._tool_names[call_id] = name
        return part

    def _result(self, fields: Fields) -> MessagePart:
        call_id = fields.required_text("tool_call_id")
        name = fields.text("name") or self._tool_names.get(call_id)
        if name is None:
            raise fields.place.fault(
                "tool_call_id",
                f"no earlier message calls a tool with the id {call_id!r}, so its name is unknown",
                hint='Give the tool message a "name".',
            )
        if not fields.has("content"):
            raise fields.place.fault("content", "is required")
        return fields.place.make(
            ToolResultPart,
            "",
            tool_call_id=call_id,
            tool_name=name,
            output=fields.take("content"),
        )


def _reasoning(fields: Fields) -> list[MessagePart]:
    for key in ("reasoning_content", "reasoning"):
        value = fields.peek(key)
        if value == "":
            fields.take(key)
        elif isinstance(value, str):
            fields.take(key)
            marked = metadata_of(NAMESPACE, {"field": key})
            return [ReasoningPart(text=value, provider_metadata=marked)]
    return []


def _content(fields: Fields, key: str) -> list[MessagePart]:
    value = fields.peek(key)
    if value is None or isinstance(value, str):
        text = fields.text(key)
        return [] if text is None else [TextPart(text=text)]
    return [_content_part(part) for part in fields.objects(key)]


def _content_part(part: Fields) -> MessagePart:
    place = part.place
    kind = part.required_text("type")
    if kind in ("text", "refusal"):
        text = part.required_text(kind)
        mark: dict[str, JsonValue] = {"type": kind} if kind == "refusal" else {}
        return TextPart(text=text, provider_metadata=metadata_of(NAMESPACE, mark, part.rest()))
    if kind == "image_url":
        image = part.object("image_url")
        url = image.required_text("url")
        return located_part(
            place,
            image.at("url"),
            NAMESPACE,
            url=url,
            media_type=media_type_of(url, "image/*"),
            extras={"type": kind, **_inner(image, "image_url"), **part.rest()},
        )
    if kind == "input_audio":
        audio = part.object("input_audio")
        media_type = _AUDIO_TYPES.get(audio.text("format") or "", "audio/*")
        return located_part(
            place,
            audio.at("data"),
            NAMESPACE,
            url=data_url(audio.required_text("data"), media_type),
            media_type=media_type,
            extras={"type": kind, **_inner(audio, "input_audio"), **part.rest()},
        )
    if kind == "file":
        return _file(part)
    raise place.fault(
        part.at("type"), f"{kind!r} is not one of text, refusal, image_url, input_audio, file"
    )


def _inner(fields: Fields, key: str) -> dict[str, JsonValue]:
    return {key: fields.rest()} if fields.rest() else {}


def _file(part: Fields) -> MessagePart:
    file = part.object("file")
    name = file.text("filename")
    data, file_id = file.text("file_data"), file.peek("file_id")
    if data is not None:
        url = (
            data if data.startswith("data:") else data_url(data, media_type_of(name or "", _BYTES))
        )
    elif isinstance(file_id, str):
        # A provider's file id must never be taken for one of ours, so it goes into a url.
        url = f"urn:{NAMESPACE}:file:{file_id}"
    else:
        raise part.place.fault(file.path, "file_data or file_id is required")
    return located_part(
        part.place,
        file.path,
        NAMESPACE,
        url=url,
        media_type=media_type_of(url if data is not None else name or "", _BYTES),
        extras={"type": "file", **_inner(file, "file"), **part.rest()},
        name=name,
    )
