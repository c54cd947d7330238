"""Breaking lines of any script between whole characters: no flag, family or accent is torn apart."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import split_graphemes
from rich.text import Text

_FLAG_LETTERS = range(0x1F1E6, 0x1F200)


def wrap(text: Text, width: int | None) -> Iterator[Text]:
    """Yield the lines of a text, each at most ``width`` cells wide where that is possible.

    Args:
        text: what to break, with its styles.
        width: cells of a terminal; None breaks only where the text itself does.
    """
    for line in text.split("\n", allow_blank=True):
        if width is None:
            yield line
            continue
        line.expand_tabs(8)
        pieces = line.divide(_break_offsets(line.plain, width))
        for number, piece in enumerate(pieces):
            if number < len(pieces) - 1:
                piece.rstrip()
            yield piece


def _break_offsets(plain: str, width: int) -> list[int]:
    """Return where to break: after the last blank that fits, else between two characters."""
    offsets: list[int] = []
    used = 0
    blank, used_at_blank = 0, 0
    for start, end, size in _characters(plain):
        if plain[start] == " ":
            used += size
            blank, used_at_blank = end, used
            continue
        # Once at the blank, and again before this very character where that was not enough.
        while used + size > width and start > (offsets[-1] if offsets else 0):
            if blank > (offsets[-1] if offsets else 0):
                offsets.append(blank)
                used -= used_at_blank
            else:
                offsets.append(start)
                used = 0
            blank, used_at_blank = offsets[-1], 0
        used += size
    return offsets


def _characters(plain: str) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, cells) of each character as people see it."""
    spans, _ = split_graphemes(plain)
    held: tuple[int, int, int] | None = None
    for start, end, size in spans:
        is_letter = ord(plain[start]) in _FLAG_LETTERS
        if held is not None and is_letter:
            yield held[0], end, held[2] + size
            held = None
            continue
        if held is not None:
            yield held
            held = None
        if is_letter:
            held = (start, end, size)
        else:
            yield start, end, size
    if held is not None:
        yield held
