"""Lines break between whole characters, and every kind of part is readable."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from strongroom.cli.output import printable
from strongroom.cli.transcript import LONG, part_lines
from strongroom.cli.wrapping import wrap
from strongroom.models import parts

WHOLE = ["🇯🇵", "👨‍👩‍👧‍👦", "🏳️‍🌈", "👋🏽", "é", "か", "𠮷", "क्या", "a", " ", "ß", "ไ"]
texts = st.lists(st.sampled_from(WHOLE), max_size=60).map("".join)


@given(texts, st.integers(2, 30))
@example(" 🇯🇵🇯🇵", 3)
def test_wrapping_loses_nothing_but_blanks_and_stays_within_the_width(
    text: str, width: int
) -> None:
    lines = [line.plain for line in wrap(Text(text), width)]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(line.rstrip()) <= width for line in lines)


@given(st.lists(st.sampled_from([w for w in WHOLE if w != " "]), max_size=40), st.integers(4, 20))
def test_no_character_is_torn(characters: list[str], width: int) -> None:
    rest = "".join(characters)
    boundaries = {0}
    for character in characters:
        boundaries.add(max(boundaries) + len(character))
    at = 0
    for line in wrap(Text(rest), width):
        assert at in boundaries or rest[at] in "याक", "only a syllable of a script may break"
        at += len(line.plain)


def test_words_stay_whole_where_they_fit() -> None:
    lines = [line.plain for line in wrap(Text("one two three  four"), 9)]
    assert lines == ["one two", "three", "four"]
    assert [line.plain for line in wrap(Text("a\n\nb"), 5)] == ["a", "", "b"]
    assert [line.plain for line in wrap(Text("a b c"), None)] == ["a b c"]


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (parts.TextPart(text="Hello"), "Hello"),
        (parts.ReasoningPart(text="Hm"), "┊ Hm"),
        (
            parts.ToolCallPart(tool_call_id="1", tool_name="find", input={"city": "東京", "n": 1}),
            '→ find(city: "東京", n: 1)',
        ),
        (parts.ToolCallPart(tool_call_id="1", tool_name="find", input=[1]), "→ find([1])"),
        (
            parts.ToolResultPart(tool_call_id="1", tool_name="find", output=None),
            "← find  null",
        ),
        (
            parts.ToolResultPart(
                tool_call_id="1", tool_name="find", output="no such city", is_error=True
            ),
            '✗ find  "no such city"',
        ),
        (
            parts.QuestionPart(question_id="1", text="Which?", options=["a", "b"]),
            "? Which?\n  ○ a\n  ○ b",
        ),
        (
            parts.ApprovalPart(
                approval_id="1",
                tool_call_id="2",
                tool_name="pay",
                input={"eur": 5},
                decision="deny",
            ),
            "! pay(eur: 5)  deny",
        ),
        (
            parts.FilePart(file_id="f1", media_type="text/csv", name="list.csv"),
            "file  list.csv  f1  text/csv",
        ),
        (
            parts.ImagePart(url="https://x.example/y.png", media_type="image/png", alt="A cat"),
            "image  A cat  https://x.example/y.png  image/png",
        ),
        (
            parts.CitationPart(source_id="s1", quote="So it is", locator="p. 3"),
            "citation  “So it is”  s1  p. 3",
        ),
        (parts.SourcePart(source_id="s1", source_type="web", title="T"), "source  T  s1"),
        (
            parts.ArtifactPart(artifact_id="a1", version=2, title="Plan"),
            "artifact  Plan  a1  version 2",
        ),
        (parts.StatusPart(status="searching", text="3 of 5"), "… searching  3 of 5"),
        (
            parts.ErrorPart(code="timeout", message="Too slow", retryable=True),
            "✗ timeout: Too slow; may be tried again",
        ),
    ],
)
def test_every_kind_of_part_has_a_form(part: parts.MessagePart, shown: str) -> None:
    assert "\n".join(text.plain for text in part_lines(part)) == shown


def test_all_kinds_of_parts_are_in_that_test() -> None:
    marks = test_every_kind_of_part_has_a_form.pytestmark  # type: ignore[attr-defined]
    assert {case[0].type for case in marks[0].args[1]} == set(parts.PART_TYPES)


def test_a_long_result_is_cut_and_says_how_to_see_it() -> None:
    part = parts.ToolResultPart(tool_call_id="1", tool_name="dump", output="x" * 5000)
    cut = next(part_lines(part)).plain
    assert len(cut) < LONG + 100
    assert "3,802 more characters (--full shows them)" in cut
    assert "x" * 5000 in next(part_lines(part, full=True)).plain


def test_control_characters_are_shown_and_line_ends_are_kept() -> None:
    assert printable("a\r\nb\tc\x1b[0m\x7f\x9b\r") == "a\nb\tc␛[0m␡\ufffd␍"
