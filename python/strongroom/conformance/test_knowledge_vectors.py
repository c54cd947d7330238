"""Search by nearness, and by both: exact results, models that never mix, sizes of every kind."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_knowledge import MODEL, fill_knowledge
from strongroom.conformance.helpers import new_tenant
from strongroom.conformance.test_knowledge import new_docs, put, texts_in
from strongroom.errors import (
    InvalidArgument,
    LimitExceeded,
    MissingCapability,
    NotFound,
    PermissionDenied,
    TenantMismatch,
    VersionConflict,
)
from strongroom.models import (
    Collection,
    EmbeddingModel,
    NewChunk,
    ReplacedSource,
    SearchResult,
    Viewer,
)
from strongroom.models.knowledge import SearchMode


async def embed(
    store: Ports, docs: Collection, name: str, *vectors: list[float], **fields: Any
) -> ReplacedSource:
    """Make a source of chunks with these embeddings; their texts say their numbers."""
    return await store.knowledge.replace_source(
        tenant_id=docs.tenant_id,
        collection_id=docs.id,
        external_ref=name,
        chunks=[
            NewChunk(content=f"{name} {number}", embedding=vector)
            for number, vector in enumerate(vectors, 1)
        ],
        **fields,
    )


async def near(store: Ports, docs: Collection, vector: list[float], **options: Any) -> SearchResult:
    """Search by nearness."""
    return await store.knowledge.search(
        tenant_id=docs.tenant_id,
        collection_id=docs.id,
        embedding=vector,
        **options,
    )


def cosine(one: list[float], other: list[float]) -> float:
    """Return the cosine of the angle between two vectors."""
    return sum(a * b for a, b in zip(one, other, strict=True)) / (
        math.hypot(*one) * math.hypot(*other)
    )


def some_vectors(count: int, dimensions: int, seed: int = 7) -> list[list[float]]:
    """Return vectors in all directions and of all lengths, the same ones every time."""
    source = random.Random(seed)
    return [
        [source.gauss(0, 1) * 10 ** (number % 5 - 2) for _ in range(dimensions)]
        for number in range(count)
    ]


async def test_without_vector_search_a_call_says_what_to_do(adapter: Adapter) -> None:
    if "vector_search" in adapter.capabilities:
        pytest.skip("this adapter has vector search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    source = await put(store, docs, "a", "a parcel")
    of_source: dict[str, Any] = {"tenant_id": docs.tenant_id, "source_id": source.id}
    for call in (
        embed(store, docs, "b", [1, 0, 0]),
        near(store, docs, [1, 0, 0]),
        near(store, docs, [1, 0, 0], text="parcel"),
        store.vectors.search(tenant_id=docs.tenant_id, collection_id=docs.id, embedding=[1, 0, 0]),
        store.vectors.put(
            **of_source, embeddings=[[1, 0, 0]], embedding_model=MODEL, expected_version=1
        ),
        store.vectors.delete(**of_source),
    ):
        with pytest.raises(MissingCapability) as caught:
            await call
        assert caught.value.detail["capability"] == "vector_search"
        assert "pgvector" in str(caught.value.hint)
    found = await store.knowledge.search(
        tenant_id=docs.tenant_id, collection_id=docs.id, text="parcel"
    )
    assert [hit.content for hit in found.items] == ["a parcel"]
    stale = await store.knowledge.list_stale_sources(
        tenant_id=docs.tenant_id, collection_id=docs.id
    )
    assert [one.id for one in stale.items] == [source.id]


async def test_the_nearest_are_found_exactly(adapter: Adapter) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    vectors = some_vectors(120, 3)
    for part in range(4):
        await embed(store, docs, f"s{part}", *vectors[part * 30 : part * 30 + 30])
    for query in some_vectors(5, 3, seed=11):
        expected = sorted((cosine(vector, query) for vector in vectors), reverse=True)
        for limit in (1, 10, 119, 120, 500):
            found = await near(store, docs, query, limit=limit)
            assert found.vector_method == "exact"
            scores = [hit.score for hit in found.items]
            assert scores == pytest.approx(expected[:limit], abs=1e-5)
            assert len(scores) == min(limit, 120)
        for hit in found.items[:5]:
            part_of, place = hit.content[1:].split()
            vector = vectors[int(part_of) * 30 + int(place) - 1]
            assert hit.score == pytest.approx(cosine(vector, query), abs=1e-5)


async def test_what_is_the_same_is_no_nearer_than_one(adapter: Adapter) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    vectors = some_vectors(40, 3)
    await embed(store, docs, "s", *vectors)
    for vector in vectors:
        for query in (vector, [-number for number in vector]):
            scores = [hit.score for hit in (await near(store, docs, query, limit=40)).items]
            assert -1 <= min(scores) <= max(scores) <= 1
            assert max(map(abs, scores)) == pytest.approx(1, abs=1e-5)


async def test_equally_near_ones_are_in_the_order_of_source_and_number(adapter: Adapter) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    for name in ("b", "Z", "a"):
        await embed(store, docs, name, [1, 2, 3], [1, 2, 3], source_id=name)
    for limit in range(1, 7):
        found = await near(store, docs, [3, 2, 1], limit=limit)
        places = [(hit.source_id, hit.number) for hit in found.items]
        assert places == [(name, number) for name in "Zab" for number in (1, 2)][:limit]


@pytest.mark.parametrize("dimensions", [1, 2, 384, 1536, 2000, 2001, 3072, 4000])
async def test_embeddings_of_every_size_b77(adapter: Adapter, dimensions: int) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    model = EmbeddingModel(name="m", version="1", dimensions=dimensions)
    docs = await new_docs(store, embedding_model=model)
    vectors = some_vectors(6, dimensions)
    await embed(store, docs, "a", *vectors)
    for number, vector in enumerate(vectors, 1):
        found = await near(store, docs, [-value for value in vector], limit=6)
        assert len(found.items) == 6
        assert found.items[-1].score == pytest.approx(-1, abs=1e-5)
        nearest = (await near(store, docs, vector, limit=1)).items[0]
        assert nearest.score == pytest.approx(1, abs=1e-5)
        if dimensions > 1:
            assert nearest.number == number


async def test_more_dimensions_than_4000_are_refused_before_anything_is_made_b77(
    adapter: Adapter,
) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    with pytest.raises(LimitExceeded) as caught:
        EmbeddingModel(name="m", version="1", dimensions=4096)
    assert caught.value.detail["path"] == "dimensions"
    with pytest.raises(InvalidArgument):
        EmbeddingModel(name="m", version="1", dimensions=0)
    large: Any = {"name": "m", "version": "1", "dimensions": 4096}
    with pytest.raises(LimitExceeded):
        await store.knowledge.create_collection(
            tenant_id=tenant_id, name="large", embedding_model=large
        )
    assert (await store.knowledge.list_collections(tenant_id=tenant_id)).items == ()


WRONG = {
    "too few": [1.0, 0.0],
    "too many": [1.0, 0.0, 0.0, 0.0],
    "no direction": [0.0, 0.0, 0.0],
    "next to no direction": [1e-60, 0.0, 0.0],
    "beyond every measure": [1e200, 0.0, 0.0],
    "not a number": [float("nan"), 0.0, 0.0],
    "infinite": [float("inf"), 0.0, 0.0],
    "none": [],
}


@pytest.mark.parametrize("what", sorted(WRONG))
async def test_a_wrong_embedding_writes_nothing_and_is_named(adapter: Adapter, what: str) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    source = await embed(store, docs, "a", [1, 0, 0], [0, 1, 0])
    # As plain JSON, since a model would refuse some of them before the call.
    chunks: Any = [
        {"content": "new", "embedding": [0.0, 0.0, 1.0]},
        {"content": "bad", "embedding": WRONG[what]},
    ]
    with pytest.raises(InvalidArgument) as caught:
        await store.knowledge.replace_source(
            tenant_id=docs.tenant_id, collection_id=docs.id, external_ref="a", chunks=chunks
        )
    assert caught.value.detail["path"].startswith("chunks[1].embedding")
    if what.startswith("too"):
        assert caught.value.detail["expected"] == 3
        assert caught.value.detail["actual"] == len(WRONG[what])
    with pytest.raises(InvalidArgument):
        await store.knowledge.replace_source(
            tenant_id=docs.tenant_id,
            collection_id=docs.id,
            external_ref="a",
            chunks=[NewChunk(content="x", embedding=[1, 0, 0]), NewChunk(content="y")],
        )
    with pytest.raises(InvalidArgument) as refused:
        await near(store, docs, WRONG[what])
    assert refused.value.detail["path"].startswith("embedding")
    with pytest.raises(InvalidArgument) as put_back:
        await store.vectors.put(
            tenant_id=docs.tenant_id,
            source_id=source.id,
            embeddings=[[0, 0, 1], WRONG[what]],
            embedding_model=MODEL,
            expected_version=1,
        )
    assert put_back.value.detail["path"].startswith("embeddings[1]")
    assert await texts_in(store, source) == ["a 1", "a 2"]
    assert [hit.number for hit in (await near(store, docs, [1, 0.1, 0])).items] == [1, 2]


async def test_models_never_mix(adapter: Adapter) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    where: dict[str, Any] = {"tenant_id": docs.tenant_id, "collection_id": docs.id}
    for name in ("a", "b"):
        await embed(store, docs, name, [1, 0, 0], [0, 1, 0])
    assert (await store.knowledge.list_stale_sources(**where)).items == ()
    newer = EmbeddingModel(name="model", version="2", dimensions=3)
    assert (
        len((await store.knowledge.list_stale_sources(**where, embedding_model=newer)).items) == 2
    )
    await store.knowledge.update_collection(**where, embedding_model=newer, expected_version=1)
    assert (await near(store, docs, [1, 0, 0])).items == ()
    stale = (await store.knowledge.list_stale_sources(**where)).items
    assert {one.external_ref for one in stale} == {"a", "b"}
    assert {one.model for one in stale} == {MODEL}
    with pytest.raises(InvalidArgument) as caught:
        await embed(store, docs, "a", [1, 0, 0], embedding_model=MODEL)
    assert caught.value.detail["actual"] == ["model", "1", 3]
    assert caught.value.detail["expected"] == ["model", "2", 3]
    again = await embed(store, docs, "a", [1, 0, 0], [0, 1, 0], embedding_model=newer)
    assert (again.outcome, again.model) == ("replaced", newer)
    found = await near(store, docs, [1, 0, 0])
    assert {hit.external_ref for hit in found.items} == {"a"}
    source = next(one for one in stale if one.external_ref == "b")
    put_back = await store.vectors.put(
        tenant_id=docs.tenant_id,
        source_id=source.id,
        embeddings=[[0, 0, 1], [0, 0, 2]],
        embedding_model=newer,
        expected_version=source.version,
    )
    assert (put_back.model, put_back.version) == (newer, source.version + 1)
    assert (await store.knowledge.list_stale_sources(**where)).items == ()
    assert len((await near(store, docs, [1, 0, 0])).items) == 4
    other_size = EmbeddingModel(name="model", version="2", dimensions=2)
    await store.knowledge.update_collection(**where, embedding_model=other_size, expected_version=2)
    assert (await near(store, docs, [1, 0])).items == ()
    with pytest.raises(InvalidArgument):
        await near(store, docs, [1, 0, 0])
    await embed(store, docs, "c", [1, 1])
    assert [hit.external_ref for hit in (await near(store, docs, [1, 0])).items] == ["c"]


async def test_filters_and_subjects_stand_inside_the_search(adapter: Adapter) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    await store.tenants.add_member(tenant_id=docs.tenant_id, principal_id="ada", role_ids=["staff"])
    near_ones = [[1.0, 0.001 * n, 0.0] for n in range(150)]
    await embed(store, docs, "hidden", *near_ones, auth_subjects=["role:boss"])
    await embed(store, docs, "page", *near_ones, source_type="page", metadata={"a": 1})
    await embed(store, docs, "mail", [0, 1, 0], [0, 0, 1], source_type="mail", metadata={"b": 2})
    viewer = Viewer(principal_id="ada", role_ids=["staff"])
    for options, names, count in (
        ({"source_types": ["mail"]}, {"mail"}, 2),
        ({"metadata": {"b": 2}}, {"mail"}, 2),
        ({"viewer": viewer, "limit": 400}, {"page", "mail"}, 152),
        ({"viewer": viewer, "metadata": {"a": 1}}, {"page"}, 10),
        ({"limit": 500}, {"hidden", "page", "mail"}, 302),
        ({"min_score": 0.5, "limit": 500}, {"hidden", "page"}, 300),
        ({"min_score": 0.5, "source_types": ["mail"]}, set(), 0),
    ):
        found = await near(store, docs, [1, 0, 0], **options)
        assert {hit.external_ref for hit in found.items} == names, options
        assert len(found.items) == count, options
    if adapter.as_user is not None:
        async with adapter.user(docs.tenant_id, "ada") as user:
            shown = await near(user, docs, [1, 0, 0], limit=400)
            assert shown == await near(store, docs, [1, 0, 0], limit=400, viewer=viewer)
            assert len(shown.items) == 152


async def test_an_invisible_embedding_changes_nothing(adapter: Adapter) -> None:
    """Nor does another tenant's; in every mode, for a viewer and for the signed-in user."""
    adapter.needs("vector_search")
    store = adapter.store
    docs, elsewhere = await new_docs(store, embedding_model=MODEL), await new_tenant(store)
    theirs = await store.knowledge.create_collection(
        tenant_id=elsewhere, collection_id=docs.id, name="docs", embedding_model=MODEL
    )
    vectors = some_vectors(20, 3)
    await embed(store, docs, "mine", *vectors)
    ada = Viewer(principal_id="ada")
    searches: list[dict[str, Any]] = [
        {"limit": 5},
        {"limit": 500},
        {"min_score": 0.9},
        {"text": "mine 7", "limit": 5},
        {"text": "theirs", "neighbours": 2},
        {"text": "mine 7", "mode": "hybrid", "min_score": 0.5, "limit": 500},
    ]

    async def everything(reader: Ports, viewer: Viewer | None) -> list[object]:
        one: dict[str, Any] = {"tenant_id": docs.tenant_id, "collection_id": docs.id}
        found: list[object] = [
            await near(reader, docs, vectors[3], viewer=viewer, **search) for search in searches
        ]
        found.append(
            await reader.vectors.search(**one, embedding=vectors[3], limit=500, viewer=viewer)
        )
        found.append(await reader.keywords.search(**one, text="mine theirs", viewer=viewer))
        return found

    async def as_user() -> list[object]:
        if adapter.as_user is None:
            return await everything(store, ada)
        async with adapter.user(docs.tenant_id, "ada") as user:
            return await everything(user, None)

    before = await everything(store, ada)
    assert await as_user() == before
    assert [one.vector_method for one in before if isinstance(one, SearchResult)] == [None] * 6
    await embed(store, docs, "theirs", *(vectors * 2), auth_subjects=["role:boss"])
    await store.knowledge.replace_source(
        tenant_id=docs.tenant_id,
        collection_id=docs.id,
        external_ref="narrowed",
        chunks=[
            NewChunk(content="mine theirs", embedding=vector, auth_subjects=["role:boss"])
            for vector in vectors * 2
        ],
    )
    await embed(store, theirs, "mine", *(vectors * 2))
    assert await everything(store, ada) == before
    assert await as_user() == before
    assert await near(store, docs, vectors[3], limit=5) != before[0]
    if adapter.as_user is not None:
        async with adapter.user(elsewhere, "ada") as user:
            with pytest.raises(TenantMismatch):
                await near(user, docs, vectors[3])
            found = await near(user, theirs, vectors[3], limit=500)
            assert {hit.tenant_id for hit in found.items} == {elsewhere}
            assert len(found.items) == 40


async def test_both_are_fused_by_reciprocal_rank(adapter: Adapter) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    source = await store.knowledge.replace_source(
        tenant_id=docs.tenant_id,
        collection_id=docs.id,
        external_ref="a",
        chunks=[
            NewChunk(content="a parcel, a parcel", embedding=[0, 1, 0]),
            NewChunk(content="a parcel", embedding=[1, 0.1, 0]),
            NewChunk(content="something else", embedding=[1, 0, 0]),
            NewChunk(content="nothing at all", embedding=[-1, 0, 0]),
        ],
    )
    found = await near(store, docs, [1, 0, 0], text="parcel")
    fused = {
        2: (1 / 62 + 1 / 62) * 30.5,
        1: (1 / 61 + 1 / 63) * 30.5,
        3: 1 / 61 * 30.5,
        4: 1 / 64 * 30.5,
    }
    assert {hit.number: hit.score for hit in found.items} == pytest.approx(fused)
    order = [number for number, _ in sorted(fused.items(), key=lambda one: -one[1])]
    assert [hit.number for hit in found.items] == order
    by_number = {hit.number: hit for hit in found.items}
    assert by_number[3].keyword_score is None
    assert by_number[3].vector_score == pytest.approx(1, abs=1e-6)
    assert by_number[1].keyword_score > by_number[2].keyword_score  # type: ignore[operator]
    first_in_both = await near(store, docs, [0, 1, 0], text="parcel", limit=1)
    assert first_in_both.items[0].score == pytest.approx(1)
    # Without words to search for, the embedding alone decides.
    for text in ("", "😀", "!!"):
        without = await near(store, docs, [1, 0, 0], text=text)
        assert [hit.number for hit in without.items] == [3, 2, 1, 4]
        assert {hit.keyword_score for hit in without.items} == {None}
    for mode, numbers in (("keyword", [1, 2]), ("vector", [3, 2, 1, 4])):
        alone = await near(store, docs, [1, 0, 0], text="parcel", mode=mode)
        assert [hit.number for hit in alone.items] == numbers
    least = await near(store, docs, [1, 0, 0], text="parcel", min_score=0.9)
    assert [hit.number for hit in least.items] == [n for n in order if fused[n] >= 0.9]
    with_both: tuple[SearchMode, ...] = ("hybrid", "vector")
    for missing in with_both:
        with pytest.raises(InvalidArgument):
            await store.knowledge.search(
                tenant_id=docs.tenant_id,
                collection_id=docs.id,
                text="parcel",
                mode=missing,
            )
    assert source.model == MODEL


async def test_a_fused_search_finds_as_many_as_there_are(adapter: Adapter) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    await embed(store, docs, "a", *some_vectors(90, 3))
    await put(store, docs, "words", *(["a word"] * 20))
    for limit in (1, 60, 90, 109, 110, 111, 500):
        found = await near(store, docs, [1, 1, 1], text="word", limit=limit)
        assert len(found.items) == min(limit, 110)
        assert len({(hit.source_id, hit.number) for hit in found.items}) == len(found.items)


async def test_the_index_of_nearness_by_itself(adapter: Adapter) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    source = await embed(store, docs, "a", [1, 0, 0], [0, 1, 0])
    where: dict[str, Any] = {"tenant_id": docs.tenant_id, "collection_id": docs.id}
    of_source: dict[str, Any] = {"tenant_id": docs.tenant_id, "source_id": source.id}
    matches = await store.vectors.search(**where, embedding=[1, 0.5, 0])
    hits = (await near(store, docs, [1, 0.5, 0])).items
    assert [(m.source_id, m.number, m.score) for m in matches] == [
        (hit.source_id, hit.number, hit.score) for hit in hits
    ]
    for count in (0, 1, 3):
        with pytest.raises(InvalidArgument) as caught:
            await store.vectors.put(
                **of_source,
                embeddings=[[1, 0, 0]] * count,
                embedding_model=MODEL,
                expected_version=1,
            )
        assert (caught.value.detail["expected"], caught.value.detail["actual"]) == (2, count)
    with pytest.raises(VersionConflict):
        await store.vectors.put(
            **of_source, embeddings=[[1, 0, 0]] * 2, embedding_model=MODEL, expected_version=7
        )
    turned = await store.vectors.put(
        **of_source, embeddings=[[0, 1, 0], [1, 0, 0]], embedding_model=MODEL, expected_version=1
    )
    assert (turned.version, turned.model) == (2, MODEL)
    again = await store.vectors.search(**where, embedding=[1, 0.5, 0])
    assert [match.number for match in again] == [2, 1]
    gone = await store.vectors.delete(**of_source)
    assert gone.model is None
    assert await store.vectors.delete(**of_source) == gone
    assert await store.vectors.search(**where, embedding=[1, 0, 0]) == ()
    assert await texts_in(store, source) == ["a 1", "a 2"]
    with pytest.raises(NotFound):
        await store.vectors.delete(tenant_id=docs.tenant_id, source_id="none")
    ids = await fill_knowledge(store, docs.tenant_id)
    elsewhere = await new_tenant(store)
    with pytest.raises(NotFound):
        await store.vectors.delete(tenant_id=elsewhere, source_id=ids.source_id)


async def test_users_write_no_embeddings_b37(adapter: Adapter) -> None:
    adapter.needs("vector_search")
    store = adapter.store
    docs = await new_docs(store, embedding_model=MODEL)
    source = await embed(store, docs, "a", [1, 0, 0])
    of_source: dict[str, Any] = {"tenant_id": docs.tenant_id, "source_id": source.id}
    async with adapter.user(docs.tenant_id, "ada") as user:
        for call in (
            user.vectors.delete(**of_source),
            user.vectors.put(
                **of_source, embeddings=[[0, 1, 0]], embedding_model=MODEL, expected_version=1
            ),
        ):
            with pytest.raises(PermissionDenied):
                await call
    assert (await near(store, docs, [1, 0, 0])).items[0].score == pytest.approx(1)
