"""Search by words: what is found, in which order, and that nothing a user types can break it."""

# ruff: noqa: RUF001 (other scripts and signs on purpose)

from __future__ import annotations

from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import new_tenant
from strongroom.conformance.test_knowledge import new_docs, put
from strongroom.errors import InvalidArgument, LimitExceeded, NotFound
from strongroom.models import Collection, NewChunk, SearchHit


async def found(store: Ports, docs: Collection, text: str, **options: Any) -> list[SearchHit]:
    """Return the hits of a search by words."""
    result = await store.knowledge.search(
        tenant_id=docs.tenant_id,
        collection_id=docs.id,
        text=text,
        **options,
    )
    assert result.vector_method is None
    return [*result.items]


async def contents(store: Ports, docs: Collection, text: str, **options: Any) -> list[str]:
    """Return what a search by words finds, best first."""
    return [hit.content for hit in await found(store, docs, text, **options)]


async def test_more_of_the_words_and_more_often_is_better(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    texts = [
        "nothing of it",
        "a parcel",
        "a parcel, a parcel, another parcel",
        "a lost parcel",
        "Lost! The PARCEL is lost.",
    ]
    source = await put(store, docs, "a", *texts, title="A", uri="https://a.example")
    hits = await found(store, docs, "parcel lost")
    assert [hit.content for hit in hits] == [texts[4], texts[3], texts[2], texts[1]]
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert [hit.keyword_score for hit in hits] == scores
    assert {hit.vector_score for hit in hits} == {None}
    best = hits[0]
    assert (best.source_id, best.number, best.external_ref) == (source.id, 5, "a")
    assert (best.title, best.uri, best.source_type, best.source_version) == (
        "A",
        "https://a.example",
        "document",
        1,
    )
    cited = await store.knowledge.get_chunk(
        tenant_id=docs.tenant_id, source_id=best.source_id, number=best.number
    )
    assert cited.content == best.content


async def test_equally_good_ones_are_in_the_order_of_source_and_number(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    for name in ("b", "Z", "a", "ä"):
        await put(store, docs, name, "one parcel", "one parcel", source_id=name)
    places = [(hit.source_id, hit.number) for hit in await found(store, docs, "parcel")]
    assert places == [(name, number) for name in ("Z", "a", "b", "ä") for number in (1, 2)]
    for limit in range(1, 9):
        cut = await found(store, docs, "parcel", limit=limit)
        assert [(hit.source_id, hit.number) for hit in cut] == places[:limit]


HOSTILE = [
    "What's R&D | (cost) & ! ;",
    '"unbalanced parcel',
    "parcel:*",
    "<-> ;",
    "a:* | !!parcel & (",
    "parcel' or 1=1; --",
    "\\ parcel \\'",
    "parcel -lost",
    "parcel OR NOT AND",
    "'parcel':1A,2B",
    "%_parcel%",
    "{parcel} [lost] $$ $1 %s",
    "https://parcel.example/?q=parcel&x=%20#lost",
    "parcel\n\t\r\u2028lost",
    "😀 parcel 👨‍👩‍👧‍👦",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_what_users_type_is_never_syntax_b79(adapter: Adapter, text: str) -> None:
    store = adapter.store
    docs = await new_docs(store)
    await put(store, docs, "a", "where is my parcel", "R D cost a lot", "nothing")
    hits = await contents(store, docs, text)
    if "parcel" in text:
        assert hits[0] == "where is my parcel"
    assert "nothing" not in hits


NOTHING = ["", " ", "\t\n", "😀", "!!! ;;; ???", "'\"\\", "–—…", "\u200b", "؟", "，。、"]


@pytest.mark.parametrize("text", NOTHING, ids=range(len(NOTHING)))
async def test_a_text_without_words_finds_nothing_b79(adapter: Adapter, text: str) -> None:
    store = adapter.store
    docs = await new_docs(store)
    await put(store, docs, "a", "where is my parcel", "😀 !!! ;;; –—… ，。、")
    assert await contents(store, docs, text) == []
    assert (
        await store.keywords.search(tenant_id=docs.tenant_id, collection_id=docs.id, text=text)
        == ()
    )


async def test_a_text_of_any_length_up_to_64_kib_b79(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    await put(store, docs, "a", "where is my parcel")
    for text in ("parcel " * 1500, "parcel " + "x" * 10_000, "ä" * 10_000, "猫" * 10_000):
        assert await contents(store, docs, text) == (
            ["where is my parcel"] if "parcel" in text else []
        )
    many = " ".join(f"word{n}" for n in range(2_000))
    assert await contents(store, docs, f"parcel {many}") == ["where is my parcel"]
    with pytest.raises(LimitExceeded) as caught:
        await contents(store, docs, "ä" * 32_769)
    assert caught.value.detail["path"] == "text"


FINDS = [
    ("Wo ist die Straße?", ["straße", "Straße!", "WO"]),
    ("A informação não chegou", ["informação", "informacao", "INFORMAÇÃO", "nao", "não"]),
    ("Crème brûlée, naïve façade", ["creme", "brulee", "NAIVE", "façade", "cre\u0300me"]),
    ("Où est passé l'élève ?", ["eleve", "ou", "passe", "élève"]),
    ("Привет, мир. Ёлка", ["привет", "МИР", "елка"]),
    ("ΟΔΟΣ Αθηνών", ["οδός", "αθηνων", "ΟΔΌΣ"]),
    ("東京都に住んでいます。", ["東京", "京都", "住", "東京都", "東", "います"]),
    ("我们的包裹在哪里？", ["包裹", "哪里", "我们", "裹"]),
    ("데이터베이스를 검색합니다", ["데이터베이스", "검색", "데이터", "를"]),
    ("ค้นหาเอกสาร", ["เอกสาร", "ค้นหา"]),
    ("ＰＯＳＴＧＲＥＳ １８", ["postgres", "18"]),
    ("PostgreSQL은 데이터베이스", ["postgresql", "은"]),
    ("ﬁle size ² Ⅳ", ["file", "2", "iv"]),
    ("schema_history.version = 'applied'", ["schema", "version", "applied", "history"]),
    ("e-mail: ada@example.org", ["mail", "ada", "example"]),
    ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
    ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
    ("version 1.25.3-beta", ["25", "beta", "1.25.3"]),
]


@pytest.mark.parametrize(("text", "searches"), FINDS, ids=range(len(FINDS)))
async def test_words_of_every_script_are_found_b79(
    adapter: Adapter, text: str, searches: list[str]
) -> None:
    store = adapter.store
    docs = await new_docs(store)
    await put(store, docs, "a", "something else entirely", text, "日本 語中 文字")
    for search in searches:
        assert text in await contents(store, docs, search), search


async def test_pairs_of_characters_count_not_single_ones(adapter: Adapter) -> None:
    """Else a search for one word of Chinese would find whatever shares a character with it."""
    store = adapter.store
    docs = await new_docs(store)
    await put(store, docs, "a", "包裹", "包子", "裹脚", "子")
    assert await contents(store, docs, "包裹") == ["包裹"]
    assert await contents(store, docs, "包") == ["包裹", "包子"]


async def test_stemming_follows_the_language(adapter: Adapter) -> None:
    if "row_level_security" not in adapter.capabilities:
        pytest.skip("this adapter knows no grammar")
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for language, text, searches, misses in (
        ("english", "The parcels were running late", ["parcel", "run", "RUNS"], ["the", "were"]),
        ("portuguese", "As informações não chegaram", ["informação", "informacoes"], ["não", "as"]),
        ("german", "Die Häuser am Fluss", ["Haus", "hausern", "häuser"], ["die", "am"]),
        ("simple", "The parcels were running", ["the", "parcels"], ["parcel", "run"]),
    ):
        docs = await store.knowledge.create_collection(
            tenant_id=tenant_id, name=language, language=language
        )
        await put(store, docs, "a", text, "東京都")
        for search in searches:
            assert await contents(store, docs, search) == [text], (language, search)
        for search in misses:
            assert await contents(store, docs, search) == [], (language, search)
        assert await contents(store, docs, "東京") == ["東京都"], language


# Filters


async def test_filters_stand_inside_the_search(adapter: Adapter) -> None:
    """Each filter alone and together, with so many better ones filtered out that a cut before would show."""
    store = adapter.store
    docs = await new_docs(store)
    where: dict[str, Any] = {"tenant_id": docs.tenant_id, "collection_id": docs.id}
    await store.knowledge.replace_source(
        **where,
        external_ref="better",
        source_type="page",
        metadata={"area": "a", "tags": ["x"]},
        chunks=[NewChunk(content="parcel parcel parcel", metadata={"n": n}) for n in range(200)],
    )
    await store.knowledge.replace_source(
        **where,
        external_ref="wanted",
        source_type="mail",
        metadata={"area": "b", "tags": ["x", "y"]},
        chunks=[
            NewChunk(content="a parcel", metadata={"n": 1}),
            NewChunk(content="the parcel", metadata={"n": 2, "area": "c"}),
            NewChunk(content="no such word", metadata={"n": 1}),
        ],
    )
    for options, expected in (
        ({"source_types": ["mail"]}, ["a parcel", "the parcel"]),
        ({"source_types": ["mail", "x"], "limit": 1}, ["a parcel"]),
        ({"source_types": []}, []),
        ({"metadata": {"area": "b"}}, ["a parcel"]),
        ({"metadata": {"area": "c"}}, ["the parcel"]),
        ({"metadata": {"tags": ["y"]}}, ["a parcel", "the parcel"]),
        ({"metadata": {"n": 1}, "source_types": ["mail"]}, ["a parcel"]),
        ({"metadata": {"n": 1.0}, "source_types": ["mail"]}, ["a parcel"]),
        ({"metadata": {"n": "1"}, "source_types": ["mail"]}, []),
        ({"metadata": {"n": True}, "source_types": ["mail"]}, []),
        ({"metadata": {}, "source_types": ["mail"]}, ["a parcel", "the parcel"]),
    ):
        assert await contents(store, docs, "parcel", **options) == expected, options
    assert len(await found(store, docs, "parcel", limit=500)) == 202
    assert len(await found(store, docs, "parcel", limit=201)) == 201


async def test_the_least_score(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    await put(store, docs, "a", "parcel lost", "parcel", "parcel lost lost")
    scores = [hit.score for hit in await found(store, docs, "parcel lost")]
    assert len(scores) == 3
    for least in (-1, 0, scores[2], scores[1], (scores[0] + scores[1]) / 2, 1, 2):
        kept = await found(store, docs, "parcel lost", min_score=least)
        assert [hit.score for hit in kept] == [score for score in scores if score >= least]


async def test_collections_are_searched_apart(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for name in ("one", "two"):
        docs = await store.knowledge.create_collection(tenant_id=tenant_id, name=name)
        await put(store, docs, "a", f"parcel of {name}")
        assert await contents(store, docs, "parcel one two") == [f"parcel of {name}"]
    with pytest.raises(NotFound):
        await store.knowledge.search(tenant_id=tenant_id, collection_id="none", text="parcel")


async def test_neighbours(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    await put(store, docs, "a", "zero", "one", "two parcel", "three", "four", "five parcel")
    await put(store, docs, "b", "other")
    for count in (0, 1, 2, 10):
        for hit in await found(store, docs, "parcel", neighbours=count):
            assert [chunk.number for chunk in hit.before] == [
                *range(max(1, hit.number - count), hit.number)
            ]
            assert [chunk.number for chunk in hit.after] == [
                *range(hit.number + 1, min(6, hit.number + count) + 1)
            ]
            assert {c.source_id for c in (*hit.before, *hit.after)} <= {hit.source_id}
            if hit.before:
                neighbour = await store.knowledge.get_chunk(
                    tenant_id=docs.tenant_id, source_id=hit.source_id, number=hit.number - 1
                )
                assert hit.before[-1] == neighbour
    for wrong in (-1, 11):
        with pytest.raises(InvalidArgument) as caught:
            await found(store, docs, "parcel", neighbours=wrong)
        assert caught.value.detail["path"] == "neighbours"


async def test_arguments_of_a_search(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    await put(store, docs, "a", "parcel")
    where: dict[str, Any] = {"tenant_id": docs.tenant_id, "collection_id": docs.id}
    for path, options in (
        ("text", {}),
        ("text", {"mode": "keyword"}),
        ("mode", {"text": "x", "mode": "fuzzy"}),
        ("limit", {"text": "x", "limit": 0}),
        ("limit", {"text": "x", "limit": 1_200}),
        ("metadata", {"text": "x", "metadata": []}),
        ("source_types[0]", {"text": "x", "source_types": [""]}),
        ("min_score", {"text": "x", "min_score": float("nan")}),
    ):
        with pytest.raises(InvalidArgument) as caught:
            await store.knowledge.search(**where, **options)
        assert caught.value.detail["path"].startswith(path), options


# What is large


async def test_a_large_chunk_is_stored_and_its_beginning_found_b81(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    unique = " ".join(f"w{n:06}" for n in range(131_000))
    base64 = "QUJD" * 262_144
    texts = ["first parcel", unique[:1_048_576], base64, "猫" * 349_000, "last parcel"]
    source = await put(store, docs, "a", *texts)
    assert source.chunk_count == 5
    assert [hit.number for hit in await found(store, docs, "parcel")] == [1, 5]
    assert [hit.number for hit in await found(store, docs, "w000000")] == [2]
    assert [hit.number for hit in await found(store, docs, "猫")] == [4]
    assert await found(store, docs, "w130000") == []
    small = await put(store, docs, "b", "small")
    grown = await put(store, docs, "b", unique[:1_000_000])
    assert (small.outcome, grown.outcome) == ("inserted", "replaced")
    assert (await put(store, docs, "b", unique[:1_000_000])).outcome == "duplicate"


# The index by itself


async def test_the_index_of_words_by_itself(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    source = await put(store, docs, "a", "one parcel", "two parcel parcel", "three")
    where: dict[str, Any] = {"tenant_id": docs.tenant_id, "collection_id": docs.id}
    of_source: dict[str, Any] = {"tenant_id": docs.tenant_id, "source_id": source.id}
    matches = await store.keywords.search(**where, text="parcel")
    hits = await found(store, docs, "parcel")
    assert [(m.source_id, m.number, m.score) for m in matches] == [
        (hit.source_id, hit.number, hit.score) for hit in hits
    ]
    assert await store.keywords.delete(**of_source) == 3
    assert await store.keywords.delete(**of_source) == 0
    assert await found(store, docs, "parcel") == []
    assert await store.keywords.put(**of_source) == 3
    assert await store.keywords.put(**of_source) == 3
    assert await store.keywords.search(**where, text="parcel") == matches
    with pytest.raises(NotFound):
        await store.keywords.put(tenant_id=docs.tenant_id, source_id="none")
