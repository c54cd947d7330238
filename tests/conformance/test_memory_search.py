"""Searching a memory gives the same on every server and in memory, with pgvector and without it."""

import math
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strongroom
from strongroom.client import Strongroom
from strongroom.conformance.calls_memory import Whose
from strongroom.conformance.helpers import new_tenant
from strongroom.conformance.strategies import TRICKY_TEXTS, quick
from strongroom.in_memory.memory_words import normal_form, terms_of, words_of
from strongroom.models import MemorySearch
from tests.servers import Database

_WORDS = [
    "tea",
    "teas",
    "Thé",
    "ÉTÉ",
    "the",
    "user",
    "用户",
    "喜欢",
    "猫",
    "ねこ",
    "고양이",
    "🎂",
    "R&D",
    "x" * 30,
]
_texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=6).map(" ".join)
_any_text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs", "Cn"])) | (
    st.sampled_from(TRICKY_TEXTS)
)
_embeddings = st.none() | st.sampled_from(
    [(1.0, 0.0), (0.6, 0.8), (-1.0, 0.5), (0.1, 0.2, 0.3), (3e38, 3e38), (1e-30, 2e-30)]
)


@pytest.fixture
async def both(database: Database) -> AsyncIterator[tuple[Strongroom, Strongroom]]:
    async with (
        strongroom.connect(database.host_url) as on_sql,
        strongroom.connect("memory:") as in_memory,
    ):
        yield on_sql, in_memory


def _seen(found: MemorySearch) -> list[tuple[Any, ...]]:
    return [(fact.id, fact.score, fact.found_by, fact.tokens) for fact in found.items]


@quick
@given(
    facts=st.lists(
        st.tuples(_texts, _embeddings, st.sampled_from([0.25, 1.0])), min_size=1, max_size=8
    ),
    query=_texts | st.none(),
    embedding=_embeddings,
    budget=st.sampled_from([(500, 1_000_000), (2, 1_000_000), (500, 12)]),
)
async def test_the_reference_ranks_as_the_database_does(
    both: tuple[Strongroom, Strongroom],
    facts: list[tuple[str, Any, float]],
    query: str | None,
    embedding: Any,
    budget: tuple[int, int],
) -> None:
    if query is None and embedding is None:
        query = "tea"
    answers = []
    for store in both:
        whose = Whose(tenant_id=await new_tenant(store), principal_id="ada")
        for number, (text, numbers, confidence) in enumerate(facts):
            await store.principal_memory.put(
                **whose,
                text=text,
                source="extracted",
                memory_id=f"f{number}",
                confidence=confidence,
                embedding=numbers,
                embedding_model="m" if numbers else None,
            )
        found = await store.principal_memory.search(
            **whose,
            text=query,
            embedding=embedding,
            embedding_model="m" if embedding else None,
            max_items=budget[0],
            max_tokens=budget[1],
        )
        answers.append((_seen(found), found.found, found.tokens))
    assert answers[0] == answers[1]


@quick
@given(text=_any_text)
async def test_words_are_the_same_in_sql_and_in_python(database: Database, text: str) -> None:
    with database.connect() as connection:
        row = connection.execute(
            "select array(select w.word from strongroom_private.read_words(%(t)s) as w"
            " order by w.place), strongroom_private.normal_form(%(t)s)",
            {"t": text},
        ).fetchone()
        terms = connection.execute(
            "select unit, share, term, factor from strongroom_private.read_terms(%s)", [text]
        ).fetchall()
    assert row == (words_of(text), normal_form(text))
    assert set(terms) == {
        (unit, share, term, factor)
        for (unit, share), found in terms_of(text).items()
        for term, factor in found.items()
    }


def test_words_are_the_same_on_every_server(every_database: Database) -> None:
    texts = [
        *TRICKY_TEXTS,
        "ÄÖÜ ẞ İı Ǆ ŁÓDŹ Ñandú",
        "ΑΘΉΝΑΣ ЁЛКА Ґанок",
        "ﬀ ½ ㎏ ㍿",
        " ".join(_WORDS),
    ]
    with every_database.connect() as connection:
        for text in texts:
            row = connection.execute(
                "select array(select w.word from strongroom_private.read_words(%s) as w"
                " order by w.place)",
                [text],
            ).fetchone()
            assert row == (words_of(text),), text


PLACES = ["public", "extensions", '"Odd schema"', "without rights", "without"]


@pytest.mark.parametrize("server", ["pg18", "pg16", "pg15", "pg17"])
async def test_pgvector_is_used_where_it_is_and_changes_no_answer(
    templates: Any, server: str
) -> None:
    random.seed(7)
    vectors = [[random.gauss(0, 1) for _ in range(48)] for _ in range(60)]
    wanted = [random.gauss(0, 1) for _ in range(48)]
    answers = {}
    database: Database = templates.copy("superuser", server)
    try:
        with database.connect() as connection:
            has_vector = connection.execute(
                "select exists (select from pg_available_extensions where name = 'vector')"
            ).fetchone() == (True,)
        assert has_vector == (server in {"pg18", "pg16"}), "the matrix has servers of both kinds"
        async with strongroom.connect(database.host_url) as store:
            whose = Whose(tenant_id=await new_tenant(store), principal_id="ada")
            for number, vector in enumerate(vectors):
                await store.principal_memory.put(
                    **whose,
                    text=f"fact {number}",
                    source="extracted",
                    memory_id=f"f{number}",
                    embedding=vector,
                    embedding_model="m",
                )
            for place in PLACES if has_vector else ["without"]:
                if place != "without":
                    with database.connect() as connection:
                        schema = "locked" if place == "without rights" else place
                        connection.execute(f"create schema if not exists {schema}".encode())
                        connection.execute(f"alter extension vector set schema {schema}".encode())
                        if place not in {"public", "without rights"}:
                            connection.execute(
                                f"grant usage on schema {place} to strongroom_host".encode()
                            )
                elif has_vector:
                    with database.connect() as connection:
                        connection.execute("drop extension vector cascade")
                found = await store.principal_memory.search(
                    **whose, embedding=wanted, embedding_model="m", max_items=500
                )
                assert {fact.found_by for fact in found.items} == {("vector",)}
                answers[place] = _seen(found)
    finally:
        database.drop()
    expected = {}
    for number, vector in enumerate(vectors):
        product = sum(a * b for a, b in zip(vector, wanted, strict=True))
        cosine = product / math.hypot(*vector) / math.hypot(*wanted)
        if cosine > 0.0001:
            expected[f"f{number}"] = pytest.approx(cosine, abs=0.0001)
    for place, answer in answers.items():
        assert {memory_id: score for memory_id, score, _, _ in answer} == expected, place
        assert [row[1] for row in answer] == sorted((row[1] for row in answer), reverse=True)
