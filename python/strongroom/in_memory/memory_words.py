"""The words of a text, as ``strongroom_private.read_words`` and ``read_terms`` find them in SQL.

The ranges of characters and the table of capitals are the same there; a test compares the two.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from itertools import pairwise

_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2190-\u2bff\u2e80-\u2fff"
    "\u3005-\u3007\u3021-\u302f\u3031-\u303c\u3040-\u30fa\u30fc-\ua4cf\ua960-\ua97f"
    "\uac00-\ud7a3\uf900-\ufaff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
    "\U00020000-\U0003ffff"
)
_PHONETIC = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3031-\u3035\u3040-\u312f"
    "\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3"
)
_SEPARATING = (
    "\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u0300-\u036f"
    "\u05be\u05c0\u05c3\u05c6\u05f3\u05f4\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965"
    "\u2000-\u20ff\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u303d-\u303f\u30fb"
    "\ufe00-\ufe6f\ufeff\ufff0-\uffff\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff"
)


def _class(characters: str) -> str:
    """Return the characters as they stand in a character class, with only the ranges' hyphens plain."""
    return re.sub(r"[\[\]\\^&~|`]", lambda found: "\\" + found.group(), characters)


_RUN = re.compile(f"([{_class(_DENSE)}]+)")
_FIRST = re.compile(f"[{_class(_DENSE)}]")
_ALONE = re.compile(f"[^{_class(_PHONETIC)}]")
_BETWEEN = re.compile(f"[{_class(_SEPARATING)}]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")

_SMALL: dict[int, int | str] = {
    # ASCII, Greek, Cyrillic: the capitals without decomposition.
    **{code: code + 32 for code in range(ord("A"), ord("Z") + 1)},
    **{code: code + 32 for code in range(0x391, 0x3AA) if code != 0x3A2},  # noqa: PLR2004
    **{code: code + 32 for code in range(0x410, 0x430)},
    **dict.fromkeys((0xD8, 0xF8), "o"),
    **dict.fromkeys((0x141, 0x142), "l"),
    **dict.fromkeys((0x110, 0x111), "d"),
    **dict.fromkeys((0x1E9E, 0xDF), "ss"),
    **{code: code + 80 for code in (0x402, 0x404, 0x405, 0x406, 0x408, 0x409, 0x40A, 0x40B, 0x40F)},
    **dict(zip((0x490, 0x3C2, 0x131), (0x491, 0x3C3, 0x69), strict=True)),
    **dict(zip((0xC6, 0x152, 0xDE, 0xD0), (0xE6, 0x153, 0xFE, 0xF0), strict=True)),
    **dict(zip((0x126, 0x14A), (0x127, 0x14B), strict=True)),
}
_SHORT = 3
_BEGINNING = 5


def fold_text(text: str) -> str:
    """Return a text as it is compared: small letters without accents, narrow forms."""
    decomposed = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", decomposed.translate(_SMALL))


def words_of(text: str) -> list[str]:
    """Return the words of a text, folded, in order."""
    return [word for word in _BETWEEN.split(_RUN.sub(r" \1 ", fold_text(text))) if word]


def normal_form(text: str) -> str:
    """Return what two wordings of one fact have in common."""
    return " ".join(words_of(text)) or text


def terms_of(text: str) -> dict[tuple[str, float], dict[str, float]]:
    """Return what a text is found by: for each unit and its share, the terms that stand for it.

    A word is a unit, found by itself or, for half, by its beginning without a plural s. Of dense text
    each pair of characters is a unit, and for half each character that means something by itself; the
    others have a share of 0, and nobody asks for them.
    """
    units: dict[tuple[str, float], dict[str, float]] = defaultdict(dict)
    for word in words_of(text):
        if _FIRST.match(word):
            for one, other in pairwise(word):
                units[one + other, 1.0][one + other] = 1.0
            for letter in word:
                share = 0.5 if letter == word or _ALONE.match(letter) else 0.0
                units[letter, share][letter] = 1.0
        else:
            stem = word.removesuffix("s") if len(word) > _SHORT else word
            units[word, 1.0].update({word: 1.0, "~" + stem[:_BEGINNING]: 0.5})
    return dict(units)


def index_terms(text: str) -> frozenset[str]:
    """Return the terms of a text that is stored."""
    return frozenset(term for terms in terms_of(text).values() for term in terms)
