"""Chunks lose nothing, and their locators lead back to the lines that they came from."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strongroom.errors import InvalidArgument
from strongroom.ingestion import Splitter
from strongroom.ingestion.splitting import _headings
from strongroom.models.knowledge import NewChunk

ROOT = Path(__file__).resolve().parents[2]
PIECES = [
    "# One\n", "## Two\r\n", "Title\n===\n", "```\n# code\n```\n", "- item\n", "> quote\n", "\n", "\r\n",
    "\r", "|a|b|\n|-|-|\n|1|2|\n", "Parcels arrive on Monday. ", "包裹星期一到。", "택배는 월요일에. ",
    "👩‍👩‍👧‍👦", "é", "x" * 70, " ", "\t", "\u2028", "\x0c", "\x1e",
]  # fmt: skip


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


def check(text: str, chunks: list[NewChunk]) -> None:
    lines, end = lines_of(text), 0
    for chunk in chunks:
        start, stop = chunk.locator["characters"]
        assert text[start:stop] == chunk.content
        assert text[end:start].strip() == "", "nothing between two chunks is lost"
        end = max(end, stop)
        first, last = chunk.locator["lines"]
        inside = "\n".join(lines[first - 1 : last])
        assert "\n".join(lines_of(chunk.content)) in inside
    assert text[end:].strip() == ""


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.booleans(), st.booleans())
def test_nothing_is_lost_and_lines_are_right(text: str, markdown: bool, overlaps: bool) -> None:
    splitter = Splitter(60, 20 if overlaps else 0)
    chunks = splitter.split(text, markdown=markdown)
    check(text, chunks)
    assert all(len(chunk.content) <= 60 for chunk in chunks)


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "sql/README.md"])
def test_headings_say_what_a_chunk_stands_under(name: str) -> None:
    text = (ROOT / name).read_text()
    chunks = Splitter().split(text, markdown=True)
    check(text, chunks)
    title = text.splitlines()[0].removeprefix("# ")
    assert all(chunk.locator["headings"][0] == title for chunk in chunks)
    lines = text.splitlines()
    for chunk in chunks:
        before = [line for line in lines[: chunk.locator["lines"][0]] if line.startswith("## ")]
        section = [before[-1].removeprefix("## ")] if before else []
        assert chunk.locator["headings"][1:2] == section


@pytest.mark.parametrize("text", ["word\n" * 60_000, "包裹什么时候到" * 40_000, "x" * 300_000])
def test_a_very_long_paragraph_takes_no_longer_than_many_short_ones(text: str) -> None:
    """How often the library is asked, and for how much at a time: its own time is quadratic in that."""
    splitter, asked = Splitter(), list[int]()
    library = splitter._splitter(markdown=True)
    splitter._made[True] = SimpleNamespace(
        chunk_indices=lambda text: asked.append(len(text)) or library.chunk_indices(text)
    )
    check(text, splitter.split(text, markdown=True))
    assert max(asked) <= 20_000
    assert len(asked) <= len(text) // 19_000 + 1


@pytest.mark.parametrize(("size", "overlap"), [(49, 0), (10_001, 0), (100, 100), (100, -1)])
def test_sizes_are_checked(size: int, overlap: int) -> None:
    with pytest.raises(InvalidArgument, match="must be"):
        Splitter(size, overlap)


def test_headings_are_those_that_readers_see() -> None:
    text = """---
title: Front matter
---
# One #

```sh
# not a heading
```
~~~~
# nor this
~~~
# nor this
~~~~
Setext `code`
=====

    # indented code

a | b
--|--
- item
---
####### seven
#hashtag
Second level
---
###
### Third ##
text
"""
    assert [(h.line, h.level, h.title) for h in _headings(text)] == [
        (4, 1, "One"),
        (14, 1, "Setext `code`"),
        (25, 2, "Second level"),
        (27, 3, ""),
        (28, 3, "Third"),
    ]
