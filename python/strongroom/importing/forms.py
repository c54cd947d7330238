"""Files of either form: which form, which conversation, and a look through it before writing."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from strongroom.errors import InvalidArgument
from strongroom.importing.assembly import derived_id
from strongroom.importing.chat_completions import read_chat_completions
from strongroom.importing.place import Place, TextPolicy
from strongroom.importing.pydantic_ai import read_pydantic_ai
from strongroom.importing.text_lines import (
    file_lines,
    parse_document,
    parse_line,
    unreadable,
)
from strongroom.models.messages import NewMessage

Form = Literal["chat-completions", "pydantic-ai"]
Source = str | os.PathLike[str]

_TITLE_LENGTH = 80
_BLANK = b" \t\r\n\xef\xbb\xbf"


@dataclass(frozen=True)
class FileSummary:
    """What a file holds; made by reading all of it, so that faults are found before writing.

    Attributes:
        form: the form it is written in.
        conversation_id: the conversation that its messages go to.
        title: the beginning of what the user wrote first; None where no user wrote anything.
        messages: how many messages it makes.
        first_message_id: the id of the first of them.
        last_message_id: the id of the last of them.
        parts: how many parts of each type.
    """

    form: Form
    conversation_id: str
    title: str | None
    messages: int
    first_message_id: str
    last_message_id: str
    parts: dict[str, int]


def detect_form(path: Source) -> Form:
    """Tell which form a file is written in, from its content and not from its name.

    Args:
        path: the file.

    Returns:
        ``chat-completions`` or ``pydantic-ai``.

    Raises:
        InvalidArgument: SR001, when it is neither, or cannot be read.
    """
    file = Path(path)
    place = Place(str(file))
    for number, line in enumerate(file_lines(file), 1):
        start = line.strip(_BLANK)
        if not start:
            continue
        if start.startswith(b"["):
            return _form_of_list(parse_document(_whole(file), _lenient(place)), place)
        value = parse_line(line, _lenient(place).at_line(number))
        if isinstance(value, dict) and "role" in value:
            return "chat-completions"
        raise place.at_line(number).fault(
            "",
            "is neither a message (an object with a role) nor a pydantic-ai history",
            hint="Write one message per line.",
        )
    raise place.fault("", "holds no message")


def conversation_id_for(
    source: Source | bytes, *, form: Form | None = None, name: str | None = None
) -> str:
    """Return the id of the conversation that a file holds; the file may grow and keeps it.

    A pydantic-ai history names its conversation, and that name is the id. Otherwise the id is
    derived from the file's name (without its folder) and the messages up to the user's first one:
    a file may be moved, and files that merely begin with the same system prompt are told apart.

    Args:
        source: a path, or the content itself.
        form: the form, where it is known already; it must be given for content.
        name: the name to derive the id from, instead of the file's own.

    Raises:
        InvalidArgument: SR001, when the content is not of the form.
    """
    if isinstance(source, bytes):
        if form is None:
            raise InvalidArgument(
                "form: is required when the content is given", detail={"path": "form"}
            )
        place, lines = Place(name or "<content>"), iter(source.splitlines(keepends=True))
        called, document = name or "", source
    else:
        file = Path(source)
        form = form or detect_form(file)
        place, lines = Place(str(file)), file_lines(file)
        called, document = name or file.name, b""
    if form == "chat-completions":
        return derived_id("conversation", called, *_opening(_values(lines, place)))
    value = parse_document(document or _whole(Path(str(source))), _lenient(place))
    items = value if isinstance(value, list) else []
    for item in items:
        recorded = item.get("conversation_id") if isinstance(item, dict) else None
        if isinstance(recorded, str) and 0 < len(recorded) <= 255:  # noqa: PLR2004 (an id's length)
            return recorded
    return derived_id("conversation", called, *_opening(iter(items)))


def read_file(
    path: Source,
    *,
    form: Form | None = None,
    conversation_id: str | None = None,
    text_policy: TextPolicy = "reject",
) -> Iterator[NewMessage]:
    """Yield the messages of a file; JSON lines are streamed, never held whole.

    Args:
        path: the file.
        form: its form; found out where it is not given.
        conversation_id: whose ids to derive; that of ``conversation_id_for`` where not given.
        text_policy: what to do with U+0000 and lone surrogates, ``reject`` or ``replace``.

    Raises:
        InvalidArgument: SR001 (or InvalidText SR003, LimitExceeded SR004), with the place.
    """
    file = Path(path)
    form = form or detect_form(file)
    into = conversation_id or conversation_id_for(file, form=form)
    if form == "chat-completions":
        yield from read_chat_completions(
            file_lines(file), conversation_id=into, file=str(file), text_policy=text_policy
        )
    else:
        yield from read_pydantic_ai(
            _whole(file), conversation_id=into, file=str(file), text_policy=text_policy
        )


def check_file(
    path: Source,
    *,
    form: Form | None = None,
    conversation_id: str | None = None,
    text_policy: TextPolicy = "reject",
) -> FileSummary:
    """Read a whole file without writing anything, and say what it holds.

    Args:
        path: the file.
        form: its form; found out where it is not given.
        conversation_id: whose ids to derive; that of ``conversation_id_for`` where not given.
        text_policy: what to do with U+0000 and lone surrogates, ``reject`` or ``replace``.

    Raises:
        InvalidArgument: SR001 (or InvalidText SR003, LimitExceeded SR004), with the place.
    """
    file = Path(path)
    form = form or detect_form(file)
    into = conversation_id or conversation_id_for(file, form=form)
    parts: Counter[str] = Counter()
    count, first, last, title = 0, "", "", None
    for message in read_file(file, form=form, conversation_id=into, text_policy=text_policy):
        count += 1
        last = message.id or ""
        first = first or last
        parts.update(part.type for part in message.parts)
        title = title or _title(message)
    if not count:
        raise Place(str(file)).fault("", "holds no message")
    return FileSummary(form, into, title, count, first, last, dict(parts))


def _title(message: NewMessage) -> str | None:
    if message.role != "user":
        return None
    words = " ".join(" ".join(p.text for p in message.parts if p.type == "text").split())
    return words if len(words) <= _TITLE_LENGTH else words[: _TITLE_LENGTH - 1].rstrip() + "…"


def _form_of_list(value: JsonValue, place: Place) -> Form:
    items: list[Any] = value if isinstance(value, list) else []
    first = items[0] if items else None
    if isinstance(first, dict) and {"kind", "parts"} <= first.keys():
        return "pydantic-ai"
    if isinstance(first, dict) and "role" in first:
        raise place.fault(
            "", "is a list of chat messages", hint="Write one message per line, no list."
        )
    if not items:
        raise place.fault("", "holds no message")
    raise place.fault("[0]", "is not a request or response of a pydantic-ai history")


def _opening(values: Iterator[JsonValue]) -> list[str]:
    """Return what was said up to the user's first message, or only the first message."""
    opening: list[str] = []
    for value in values:
        message = value if isinstance(value, dict) else {}
        opening.append(json.dumps(_said(message), sort_keys=True))
        if message.get("role") == "user" or message.get("kind") == "request":
            return opening
    return opening[:1]


def _said(message: dict[str, Any]) -> list[Any]:
    """Return a message without what exporters may add to it one day."""
    parts = message.get("parts")
    inner = [p for p in parts if isinstance(p, dict)] if isinstance(parts, list) else []
    return [
        message.get("role", message.get("kind")),
        message.get("content"),
        [[part.get("part_kind"), part.get("content")] for part in inner],
    ]


def _values(lines: Iterator[bytes], place: Place) -> Iterator[JsonValue]:
    for number, line in enumerate(lines, 1):
        value = parse_line(line, _lenient(place).at_line(number))
        if value is not None:
            yield value


def _lenient(place: Place) -> Place:
    """Return the place for looking only: what cannot be stored is told when it is read."""
    return Place(place.file, place.line, "replace")


def _whole(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise unreadable(file, error) from error
