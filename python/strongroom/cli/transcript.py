"""A conversation as a person would like to read it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from strongroom.cli.output import line_width, moment, one_line, printable
from strongroom.cli.wrapping import wrap
from strongroom.models.base import JsonValue
from strongroom.models.messages import Message
from strongroom.models.parts import (
    ApprovalPart,
    ArtifactPart,
    CitationPart,
    ErrorPart,
    FilePart,
    ImagePart,
    MessagePart,
    QuestionPart,
    ReasoningPart,
    SourcePart,
    StatusPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

LONG = 1200
"""Characters of a tool's result or input that are shown when the whole was not asked for."""

_INDENT = " " * 5
_NARROWEST = 20
_ROLE_STYLES = {"system": "magenta", "user": "green", "assistant": "blue", "tool": "yellow"}


def message_lines(message: Message, width: int | None, *, full: bool = False) -> Iterator[Text]:
    """Yield a message line by line: whose it is, and its parts below.

    Args:
        message: the message.
        width: cells that a line may take; None breaks lines only where the text does.
        full: show long tool inputs and results whole.
    """
    head = Text().append(f"{message.position:>3}  ", style="dim")
    head.append(message.role, style=f"bold {_ROLE_STYLES[message.role]}")
    if message.author_id:
        head.append(f"  {one_line(message.author_id)}")
    head.append(f"  {moment(message.created_at)}", style="dim")
    calls = sum(isinstance(part, ToolCallPart) for part in message.parts)
    if calls > 1:
        head.append(f"  {calls} tools at once", style="cyan")
    yield head
    for part in message.parts:
        for text in part_lines(part, full=full):
            for line in wrap(text, width and max(width - len(_INDENT), _NARROWEST)):
                yield Text(_INDENT).append_text(line) if line.plain else line
    yield Text()


def part_lines(part: MessagePart, *, full: bool = False) -> Iterator[Text]:
    """Yield a part as text with styles.

    Args:
        part: the part.
        full: show long tool inputs and results whole.
    """
    if isinstance(part, TextPart):
        yield Text(printable(part.text))
    elif isinstance(part, ReasoningPart):
        yield Text(f"┊ {printable(part.text)}", style="dim italic")
    elif isinstance(part, ToolCallPart):
        called = _cut(_arguments(part.input), full=full)
        yield Text.assemble(("→ ", "cyan"), (one_line(part.tool_name), "bold cyan"), called)
    elif isinstance(part, ToolResultPart):
        mark, style, rest = ("✗ ", "red", "red") if part.is_error else ("← ", "yellow", "")
        shown = _cut(_value(part.output), full=full)
        name = one_line(part.tool_name)
        yield Text.assemble((mark, style), (name, f"bold {style}"), (f"  {shown}", rest))
    elif isinstance(part, ErrorPart):
        again = "; may be tried again" if part.retryable else ""
        yield Text(f"✗ {one_line(part.code)}: {printable(part.message)}{again}", style="bold red")
    else:
        yield from _rarer_part(part)


def _rarer_part(part: MessagePart) -> Iterator[Text]:
    if isinstance(part, QuestionPart):
        yield Text(f"? {printable(part.text)}", style="bold magenta")
        for option in part.options or ():
            yield Text(f"  ○ {printable(option)}")
    elif isinstance(part, ApprovalPart):
        name = one_line(part.tool_name)
        yield Text.assemble(
            ("! ", "bold magenta"),
            (name, "bold"),
            _arguments(part.input),
            (f"  {part.decision}", "magenta"),
        )
    elif isinstance(part, FilePart | ImagePart):
        called = part.alt if isinstance(part, ImagePart) else part.name
        place = part.file_id or one_line(part.url or "")
        place = place if len(place) <= LONG // 10 else f"{place[: LONG // 10]}…"
        yield _labelled(
            part.type, f"{one_line(called)}  " if called else "", place, part.media_type
        )
    elif isinstance(part, CitationPart):
        quote = f"“{printable(part.quote)}”  " if part.quote else ""
        yield _labelled(part.type, quote, part.source_id, part.locator)
    elif isinstance(part, SourcePart):
        title = f"{one_line(part.title)}  " if part.title else ""
        yield _labelled(part.type, title, part.source_id, part.url)
    elif isinstance(part, ArtifactPart):
        title = f"{one_line(part.title)}  " if part.title else ""
        yield _labelled(part.type, title, part.artifact_id, f"version {part.version}")
    elif isinstance(part, StatusPart):
        yield Text(f"… {one_line(part.status)}  {printable(part.text or '')}", style="dim")


def _labelled(label: str, said: str, reference: str, more: str | None) -> Text:
    end = f"  {one_line(more)}" if more else ""
    return Text.assemble((f"{label}  ", "cyan"), said, (one_line(reference) + end, "dim"))


def _arguments(value: JsonValue) -> str:
    if isinstance(value, dict):
        listed = ", ".join(f"{one_line(key)}: {_value(item)}" for key, item in value.items())
        return f"({listed})"
    return f"({_value(value)})"


def _value(value: JsonValue) -> str:
    if isinstance(value, str) and "\n" in value:
        return printable(value)
    return printable(json.dumps(value, ensure_ascii=False))


def _cut(text: str, *, full: bool) -> str:
    if full or len(text) <= LONG:
        return text
    return f"{text[:LONG]}… {len(text) - LONG:,} more characters (--full shows them)"


def print_messages(console: Console, messages: Iterable[Message], *, full: bool = False) -> None:
    """Print messages one below the other, as wide as the terminal, or unbroken without one."""
    width = line_width(console)
    for message in messages:
        for line in message_lines(message, width, full=full):
            if width is None:
                console.file.write(line.plain + "\n")  # byte for byte, tabs too
            else:
                console.print(line, soft_wrap=True)
