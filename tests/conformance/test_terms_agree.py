"""The reference adapter and every server make the same terms and scores of the same text."""

# ruff: noqa: RUF001 (look-alikes on purpose)

from __future__ import annotations

import random

import psycopg
import pytest

from strongroom.in_memory.terms import count_terms, keyword_score, list_terms, searched_terms
from tests.servers import Database

TEXTS = [
    "",
    "Where is my parcel? The PARCEL is lost; parcel-post, parcel_post.",
    "Crème brûlée, naïve façade, e\u0301te\u0301, Ångström, ñandú, İstanbul, ıI, ǅ, ﬁ, ﬀ, ß, ẞ",
    "A informação não chegou. AÇÕES, São João; às 3ª feiras",
    "ΟΔΟΣ οδός ῥόδος ᾳ, Ёлка ёлка Йод, Ґанок",
    "東京都に住んでいます。データベース、日本語・検索!包裹在哪里？々〆〇",
    "데이터베이스를 검색합니다 한국어 ㅎㅎ 가",
    "ค้นหาเอกสาร ພາສາລາວ ភាសាខ្មែរ မြန်မာ",
    "नमस्ते दुनिया। مرحبا بالعالم، שלום עולם",
    "ＰＯＳＴＧＲＥＳ １８ ½ ² Ⅳ ㎏ ｶﾀｶﾅ ｶﾞ が か\u3099",
    "a\u200bb a\u00adb a\ufe0fb 👨‍👩‍👧‍👦 😀x y😀 ©®™ €5 $5 50% #tag @ada",
    "'quoted' \"double\" \\back\\slash :* & | ! ( ) <-> a:1A",
    "x" * 255 + " " + "y" * 256 + " z",
    "猫" * 700,
    "word " * 600 + "猫犬" * 300,
    "𠮷野家 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟘𝟙 🄰 Ａ̈ ä̈",
]


def random_text(seed: int) -> str:
    """Characters of every kind, without those that no text can hold."""
    source = random.Random(seed)
    planes = [(1, 0x7F), (0x80, 0x24F), (0x300, 0x5FF), (0x900, 0x11FF), (0x2000, 0x2FFF)]
    planes += [(0x3000, 0x9FFF), (0xA960, 0xD7FF), (0xF900, 0xFFFD), (0x1F000, 0x1FAFF)]
    planes += [(0x20000, 0x2A000)]
    return "".join(chr(source.randint(*source.choice(planes))) for _ in range(200))


@pytest.fixture
def connection(every_database: Database) -> psycopg.Connection:
    return every_database.connect()


def test_terms_are_the_same(connection: psycopg.Connection) -> None:
    with connection:
        # Newer characters are letters to one Unicode version and nothing to another.
        texts = [*TEXTS, *(random_text(seed) for seed in range(30))]
        for text in texts:
            for for_search in (False, True):
                rows = connection.execute(
                    "select term, place from strongroom_private.list_search_terms('simple', %s, %s)"
                    " order by place, term",
                    [text, for_search],
                ).fetchall()
                assert {term for term, _ in rows} == {
                    term for term, _ in list_terms(text, for_search=for_search)
                }, (text, for_search)
                if not for_search:
                    assert sorted(rows) == sorted(list_terms(text)), text


def test_scores_are_the_same(connection: psycopg.Connection) -> None:
    searches = [
        "parcel lost",
        "acoes informacao",
        "東京 検索 猫",
        "데이터",
        "word 猫 犬",
        "postgres 18 x",
    ]
    with connection:
        for text in TEXTS:
            for search in searches:
                row = connection.execute(
                    "select ts_rank('{1,1,1,1}',"
                    " strongroom_private.encode_terms('simple', %s, '{c:x}'),"
                    " strongroom_private.encode_search('simple', %s))",
                    [text, search],
                ).fetchone()
                assert row is not None
                expected = keyword_score(count_terms(text), searched_terms(search))
                assert row[0] == pytest.approx(expected, abs=1e-5), (text[:30], search)
