"""The history of a pydantic-ai agent in the framework's own form: one JSON list, one conversation.

This is what the framework's ``ModelMessagesTypeAdapter.dump_json`` writes; the framework itself is
not needed to read it. What becomes what:

==========================================  ======================================================
``system-prompt``, ``user-prompt``           text, image and file parts of a system or user message
``thinking``, ``text``, ``tool-call``        reasoning, text and tool-call parts of an assistant
``tool-return``, ``retry-prompt`` of a tool  tool-result parts; an outcome but success is an error
``retry-feedback``                           an error part of a system message
calls of the provider's own tools            tool-call and tool-result parts of the assistant
compaction, instruction and other marks      status parts, with all that they held
usage, model, times, instructions, ...       metadata, under ``pydantic_ai``
==========================================  ======================================================

A request that holds parts for several roles becomes several messages, in order. Null, empty lists
and empty objects mean that a field is absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from pydantic import JsonValue

from strongroom.importing.assembly import Assembler
from strongroom.importing.place import Fields, Place, TextPolicy
from strongroom.importing.pydantic_ai_parts import NAMESPACE, parts_of, role_of
from strongroom.importing.text_lines import parse_document
from strongroom.models.messages import NewMessage, Role
from strongroom.models.parts import MessagePart


def read_pydantic_ai(
    document: bytes | str | list[Any],
    *,
    conversation_id: str,
    file: str = "<document>",
    text_policy: TextPolicy = "reject",
) -> Iterator[NewMessage]:
    """Yield the messages of a history that pydantic-ai wrote.

    Args:
        document: the JSON text, or the list that it holds.
        conversation_id: the conversation that the ids are derived for.
        file: the name that errors give.
        text_policy: what to do with U+0000 and lone surrogates, ``reject`` or ``replace``.

    Yields:
        Messages with derived ids, in order.

    Raises:
        InvalidArgument: SR001, for a document that is not such a history, naming the field.
        InvalidText: SR003, for text that PostgreSQL cannot store.
        LimitExceeded: SR004, for a message over 1 MiB or a name over 255 characters.

    Example:
        >>> part = {"part_kind": "user-prompt", "content": "Where is my parcel?"}
        >>> history = [{"kind": "request", "parts": [part]}]
        >>> [message.role for message in read_pydantic_ai(history, conversation_id="c1")]
        ['user']
    """
    place = Place(file, policy=text_policy)
    value = place.check(document) if isinstance(document, list) else parse_document(document, place)
    if not isinstance(value, list):
        raise place.fault("", "must be a JSON list of requests and responses")
    assembler = Assembler(conversation_id, NAMESPACE)
    for index, item in enumerate(value):
        yield from _messages(assembler, Fields(item, place, f"[{index}]"), index)


def _messages(assembler: Assembler, fields: Fields, index: int) -> Iterator[NewMessage]:
    kind = fields.required_text("kind")
    if kind not in ("request", "response"):
        raise fields.place.fault(fields.at("kind"), f"{kind!r} is not one of request, response")
    if not isinstance(fields.peek("parts"), list):
        raise fields.place.fault(fields.at("parts"), "must be a list")
    found: list[tuple[Role, list[MessagePart]]] = []
    for part in fields.objects("parts"):
        part_kind = part.required_text("part_kind")
        found.append((role_of(kind, part_kind, part), parts_of(part_kind, part)))
    if not found:
        found.append(("assistant" if kind == "response" else "system", []))
    # What the framework says of the whole goes with the first message that is made of it.
    extras: dict[str, JsonValue] = {"message": index, **fields.rest()}
    for role, group in groupby(found, key=lambda pair: pair[0]):
        parts = [part for _, made in group for part in made]
        yield assembler.message(fields.place, fields.path, role, parts, extras)
        extras = {"message": index}
