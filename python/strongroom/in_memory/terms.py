"""The terms of a text, as ``list_search_terms`` of the database makes them; nothing is stemmed."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007"
    "\u3040-\u30fa\u30fc-\u312f\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_SEPARATING = (
    "\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9"
    "\u00bb-\u00bf\u00d7\u00f7\u060c\u061b\u061f\u06d4\u0964\u0965\u2000-\u2bff\u2e00-\u2e7f"
    "\u3000-\u3004\u3008-\u303f\u30fb\ufe00-\ufe6f\ufeff\uff00-\uff65\ufff0-\uffff"
    "\U0001f000-\U0001faff\U000e0000-\U000e0fff"
)
_PIECES = re.compile(f"([{_SPACELESS}]+)|([^{_SPACELESS}{_SEPARATING}]+)")
_ACCENTS = re.compile("[\u0300-\u036f]")

_CHARACTERS = 32_768
_WORD = 255
_SEARCHED = 512
_COUNTED = 255  # occurrences that a search vector keeps of one term
_LAST_PLACE = 16_383


def list_terms(text: str, *, for_search: bool = False) -> Iterator[tuple[str, int]]:
    """Yield the terms of a text with their places, in order."""
    text = unicodedata.normalize("NFKC", text[:_CHARACTERS])[:_CHARACTERS]
    # Character by character: Python knows of sigmas that end a word, the database does not.
    text = "".join(character.lower() for character in text).replace("\u03c2", "\u03c3")
    place = 0
    for match in _PIECES.finditer(text):
        run, word = match.groups()
        if word is not None:
            if len(word) <= _WORD and (plain := _plain(word)):
                place += 1
                yield plain, place
            continue
        for index, character in enumerate(run):
            pair = run[index : index + 2]
            if not for_search or len(run) == 1:
                place += 1
                yield character, place
            elif len(pair) == 2:  # noqa: PLR2004 (a pair)
                place += 1
            if len(pair) == 2:  # noqa: PLR2004
                yield pair, place


def _plain(word: str) -> str:
    if word.isascii():
        return word
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFKD", word)))


def count_terms(text: str) -> dict[str, int]:
    """Return how often each term of a chunk occurs, as far as a search vector knows."""
    places = {(term, min(place, _LAST_PLACE)) for term, place in list_terms(text)}
    counts = Counter(term for term, _ in places)
    return {term: min(count, _COUNTED) for term, count in counts.items()}


def searched_terms(text: str) -> list[str]:
    """Return the different terms that a search looks for."""
    return [*dict.fromkeys(term for term, _ in list_terms(text, for_search=True))][:_SEARCHED]


def keyword_score(counts: dict[str, int], searched: list[str]) -> float:
    """Return the mean, over the terms, of 1 + 1/4 + 1/9 + ... for each occurrence; at most 1."""
    total = sum(
        sum(1 / (number * number) for number in range(1, counts.get(term, 0) + 1))
        for term in searched
    )
    return total / 1.64493406685 / len(searched)
