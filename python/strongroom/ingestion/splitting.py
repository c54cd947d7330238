"""Cutting a text into chunks that say where they stand: lines, characters and headings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from strongroom.errors import InvalidArgument, MissingCapability
from strongroom.models.knowledge import NewChunk

_FORMAT = 1
"""Raised when the same file would be cut otherwise, or its locators said otherwise."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_LONG = 20_000
_BLANK_LINE = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#*)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_TEXT = re.compile(r" {0,3}[^\s>|*+-]")
_SMALLEST, _LARGEST = 50, 10_000


@dataclass(frozen=True)
class Splitter:
    """How files are cut: at headings, paragraphs and sentences, as far as they fit.

    Attributes:
        size: characters of a chunk at most, 50 to 10,000.
        overlap: characters that a chunk repeats of the one before, less than ``size``.
    """

    size: int = 1200
    overlap: int = 0
    _made: dict[bool, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the sizes."""
        for name, value, low, high in (
            ("size", self.size, _SMALLEST, _LARGEST),
            ("overlap", self.overlap, 0, self.size - 1),
        ):
            if not low <= value <= high:
                raise InvalidArgument(
                    f"{name} must be {low} to {high}",
                    detail={"path": name, "actual": value},
                    hint="For example size 1200 and overlap 0.",
                )

    @property
    def settings(self) -> list[int]:
        """What decides how a file is cut."""
        return [_FORMAT, self.size, self.overlap]

    def split(self, text: str, *, markdown: bool) -> list[NewChunk]:
        """Return the chunks of a text, in order; nothing but white space is left out.

        The locator has ``lines`` (first and last, from 1), ``characters`` (from, to), and in Markdown
        ``headings``, the outermost first.

        Raises:
            MissingCapability: SR040, the extra is not installed.
        """
        splitter = self._splitter(markdown=markdown)
        pieces = [
            (start + inside, content)
            for start, stretch in _stretches(text)
            for inside, content in splitter.chunk_indices(stretch)
        ]
        line_starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
        headings = deque(_headings(text) if markdown else ())
        above: list[_Heading] = []
        chunks = []
        for start, content in pieces:
            first = bisect_right(line_starts, start)
            while headings and headings[0].line <= first:
                heading = headings.popleft()
                while above and above[-1].level >= heading.level:
                    above.pop()
                above.append(heading)
            locator: dict[str, Any] = {
                "lines": [first, bisect_right(line_starts, start + len(content) - 1)],
                "characters": [start, start + len(content)],
            }
            if titles := [heading.title for heading in above if heading.title]:
                locator["headings"] = titles
            chunks.append(NewChunk(content=content, locator=locator))
        return chunks

    def _splitter(self, *, markdown: bool) -> Any:
        if markdown not in self._made:
            try:
                import semantic_text_splitter as library  # noqa: PLC0415 (comes with the extra)
            except ImportError as error:
                raise MissingCapability(
                    "ingestion needs the extra 'ingestion'",
                    detail={"extra": "ingestion"},
                    hint="Install it: pip install 'strongroom[ingestion]'.",
                ) from error
            kind = library.MarkdownSplitter if markdown else library.TextSplitter
            self._made[markdown] = kind(self.size, self.overlap)
        return self._made[markdown]


def _stretches(text: str) -> Iterator[tuple[int, str]]:
    """Cut very long paragraphs, in which looking for the best place to split takes ever longer."""
    begun = at = 0
    for end in (*(blank.start() for blank in _BLANK_LINE.finditer(text)), len(text)):
        while end - at > _LONG:
            breaks = (text.rfind(mark, at + 1, at + _LONG) + 1 for mark in ("\n", "\r", " "))
            at = next((found for found in breaks if found > at), at + _LONG)
            yield begun, text[begun:at]
            begun = at
        at = end
    yield begun, text[begun:]


@dataclass(frozen=True)
class _Heading:
    line: int
    level: int
    title: str


def _headings(text: str) -> Iterator[_Heading]:
    """The headings outside of code, in the order of their lines; front matter has none."""
    fence = before = ""
    for number, line in enumerate(_LINE_END.split(text), 1):
        if number == 1 and line.rstrip() == "---":
            fence = "---"
        elif fence:
            closing = line.strip()
            if len(closing) >= len(fence) and closing == fence[0] * len(closing):
                fence = ""
        elif opening := _FENCE.match(line):
            fence = opening[1]
        elif heading := _HEADING.fullmatch(line):
            yield _Heading(number, len(heading[1]), _plain(heading[2]))
        elif before and (underline := _UNDERLINE.fullmatch(line)):
            yield _Heading(number - 1, 1 if "=" in underline[0] else 2, _plain(before))
        is_text = not fence and _TEXT.match(line) and not _HEADING.fullmatch(line)
        before = line if is_text else ""


def _plain(title: str | None) -> str:
    return (title or "").strip()[:200]


def title_of(chunks: list[NewChunk], name: str) -> str:
    """Return what a file calls itself: its first heading, else its name."""
    headings = chunks[0].locator.get("headings") if chunks else None
    first = headings[0] if isinstance(headings, list) and headings else None
    return str(first or name)[:255]
