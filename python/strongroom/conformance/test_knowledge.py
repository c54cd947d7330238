"""Knowledge: collections, sources that are replaced as a whole, and their chunks."""

# ruff: noqa: PT012 (a unit of work is a block)

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_knowledge import (
    KNOWLEDGE_READS,
    MODEL,
    KnowledgeIds,
    fill_knowledge,
)
from strongroom.conformance.helpers import PageOf, fresh, new_tenant, result_of, walk
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidCursor,
    InvalidText,
    LimitExceeded,
    NotFound,
    VersionConflict,
)
from strongroom.models import Collection, NewChunk, ReplacedSource


async def new_docs(store: Ports, **fields: Any) -> Collection:
    """Create a collection in a tenant of its own."""
    tenant_id = await new_tenant(store)
    return await store.knowledge.create_collection(
        tenant_id=tenant_id,
        name="docs",
        **fields,
    )


async def put(
    store: Ports, docs: Collection, name: str, *texts: str, **fields: Any
) -> ReplacedSource:
    """Make these texts the chunks of a source."""
    return await store.knowledge.replace_source(
        tenant_id=docs.tenant_id,
        collection_id=docs.id,
        external_ref=name,
        chunks=[NewChunk(content=text) for text in texts],
        **fields,
    )


async def texts_in(store: Ports, source: ReplacedSource) -> list[str]:
    """Return the contents of a source's chunks, in order."""
    chunks = await walk(
        lambda **page: store.knowledge.list_chunks(
            tenant_id=source.tenant_id, source_id=source.id, **page
        ),
        limit=500,
    )
    return [chunk.content for chunk in chunks]


# Collections


async def test_create_repeat_and_clash(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    arguments: dict[str, Any] = {
        "name": "docs",
        "language": "simple",
        "embedding_model": MODEL,
        "metadata": {"a": 1},
    }
    made = await store.knowledge.create_collection(
        tenant_id=tenant_id,
        collection_id="c",
        **arguments,
    )
    again = await store.knowledge.create_collection(
        tenant_id=tenant_id,
        collection_id="c",
        **arguments,
    )
    assert (made.outcome, again.outcome) == ("inserted", "duplicate")
    assert dict(again) == {**dict(made), "outcome": "duplicate"}
    assert (made.model, made.language, made.version) == (MODEL, "simple", 1)
    clashes: list[dict[str, Any]] = [{"collection_id": "c", "name": "other"}, {"name": "docs"}]
    for clash in clashes:
        with pytest.raises(AlreadyExists):
            await store.knowledge.create_collection(tenant_id=tenant_id, **clash)
    found = await store.knowledge.get_collection(tenant_id=tenant_id, collection_id="c")
    assert made == type(made)(**dict(found), outcome="inserted")
    named = await store.knowledge.list_collections(tenant_id=tenant_id, name="docs")
    assert named.items == (found,)
    assert await store.knowledge.find_collection(tenant_id=tenant_id, collection_id="x") is None
    with pytest.raises(NotFound):
        await store.knowledge.get_collection(tenant_id=tenant_id, collection_id="x")


async def test_a_language_that_the_server_does_not_know_is_refused(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for language in ("klingon", "English", "pg_catalog.english", "'; drop table chunks; --"):
        with pytest.raises(InvalidArgument) as caught:
            await store.knowledge.create_collection(
                tenant_id=tenant_id, name="docs", language=language
            )
        assert caught.value.detail["path"] == "language"
        assert "english" in caught.value.detail["choices"]
    assert (await store.knowledge.list_collections(tenant_id=tenant_id)).items == ()


async def test_collections_change_by_version(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    where: dict[str, Any] = {"tenant_id": docs.tenant_id, "collection_id": docs.id}
    named = await store.knowledge.update_collection(
        **where, name="papers", metadata={"x": [1]}, expected_version=1
    )
    assert (named.name, named.metadata, named.version, named.model) == (
        "papers",
        {"x": [1]},
        2,
        None,
    )
    with pytest.raises(VersionConflict) as caught:
        await store.knowledge.update_collection(**where, name="lost", expected_version=1)
    assert caught.value.detail["current_version"] == 2
    embedded = await store.knowledge.update_collection(
        **where, embedding_model=MODEL, expected_version=2
    )
    assert (embedded.model, embedded.name) == (MODEL, "papers")
    plain = await store.knowledge.update_collection(
        **where, embedding_model=None, expected_version=3
    )
    assert plain.model is None
    await store.knowledge.create_collection(tenant_id=docs.tenant_id, name="taken")
    with pytest.raises(AlreadyExists):
        await store.knowledge.update_collection(**where, name="taken", expected_version=4)
    assert (await store.knowledge.get_collection(**where)) == plain


# Replacing: atomic, and a repeat is nothing


async def test_a_source_is_replaced_as_a_whole_and_keeps_its_id(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    first = await put(store, docs, "a.md", "one", "two", "three", title="A", content_digest="d1")
    assert (first.outcome, first.version, first.chunk_count) == ("inserted", 1, 3)
    second = await put(store, docs, "a.md", "four", title="A, again", uri="https://a.example/a")
    assert (second.outcome, second.version, second.chunk_count) == ("replaced", 2, 1)
    assert (second.id, second.created_at) == (first.id, first.created_at)
    assert (second.title, second.content_digest) == ("A, again", None)
    assert await texts_in(store, second) == ["four"]
    other = await put(store, docs, "b.md", "one")
    assert other.outcome == "inserted"
    emptied = await put(store, docs, "a.md")
    assert (emptied.outcome, emptied.chunk_count) == ("replaced", 0)
    assert await texts_in(store, emptied) == []
    assert await texts_in(store, other) == ["one"]


async def test_a_repeat_changes_nothing(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    fields: dict[str, Any] = {
        "title": "A",
        "metadata": {"b": 1, "a": [1, {"x": None}]},
        "auth_subjects": ["tenant", "role:staff"],
        "content_digest": "d",
    }
    first = await put(store, docs, "a.md", "one", "two", **fields)
    fields = {**fields, "metadata": {"a": [1, {"x": None}], "b": 1}}
    fields["auth_subjects"] = ["role:staff", "tenant", "tenant"]
    again = await put(store, docs, "a.md", "one", "two", **fields)
    assert again.outcome == "duplicate"
    assert dict(again) == {**dict(first), "outcome": "duplicate"}
    changes: list[dict[str, Any]] = [
        {"title": "B"},
        {"metadata": {}},
        {"auth_subjects": []},
        {"content_digest": "e"},
    ]
    for change in changes:
        changed = await put(store, docs, "a.md", "one", "two", **{**fields, **change})
        assert changed.outcome == "replaced", change
        fields = {**fields, **change}
    other_order = await put(store, docs, "a.md", "two", "one", **fields)
    assert other_order.outcome == "replaced"


async def test_a_change_by_hand_is_not_taken_for_a_repeat(adapter: Adapter) -> None:
    """Else replacing with the old subjects would leave the narrower or wider ones in silence."""
    store = adapter.store
    docs = await new_docs(store)
    source = await put(store, docs, "a.md", "one")
    await store.knowledge.update_source(
        tenant_id=docs.tenant_id, source_id=source.id, auth_subjects=[], expected_version=1
    )
    again = await put(store, docs, "a.md", "one")
    assert (again.outcome, again.auth_subjects) == ("replaced", ("tenant",))


BAD_CHUNKS: dict[str, tuple[str, dict[str, object]]] = {
    "no content": ("chunks[1].content", {"content": ""}),
    "a content that is no text": ("chunks[1].content", {"content": 7}),
    "an unknown field": ("chunks[1].colour", {"content": "x", "colour": "y"}),
    "a locator that is no object": ("chunks[1].locator", {"content": "x", "locator": []}),
    "a negative count": ("chunks[1].token_count", {"content": "x", "token_count": -1}),
    "a subject of no kind": (
        "chunks[1].auth_subjects[1]",
        {"content": "x", "auth_subjects": ["tenant", "group:a"]},
    ),
    "a subject without a name": (
        "chunks[1].auth_subjects[0]",
        {"content": "x", "auth_subjects": ["role:"]},
    ),
    "an embedding where there is no model": (
        "chunks[1].embedding",
        {"content": "x", "embedding": [1.0]},
    ),
    "an embedding of texts": ("chunks[1].embedding", {"content": "x", "embedding": ["1"]}),
    "metadata above 16 KiB": (
        "chunks[1].metadata",
        {"content": "x", "metadata": {"k": "ä" * 8300}},
    ),
    "a content above 1 MiB b81": ("chunks[1].content", {"content": "ä" * 530_000}),
    "a content far above 1 MiB b81": ("chunks[1].content", {"content": "x" * 3_000_000}),
}


@pytest.mark.parametrize("what", sorted(BAD_CHUNKS))
async def test_a_failing_replace_leaves_the_old_set(adapter: Adapter, what: str) -> None:
    store = adapter.store
    docs = await new_docs(store)
    source = await put(store, docs, "a.md", "old one", "old two")
    path, bad = BAD_CHUNKS[what]
    with pytest.raises(InvalidArgument) as caught:
        await store.knowledge.replace_source(
            tenant_id=docs.tenant_id,
            collection_id=docs.id,
            external_ref="a.md",
            chunks=[{"content": "new"}, bad],  # type: ignore[list-item]
        )
    assert caught.value.detail["path"].startswith(path), caught.value.detail
    assert await texts_in(store, source) == ["old one", "old two"]
    kept = await store.knowledge.get_source(tenant_id=docs.tenant_id, source_id=source.id)
    assert kept.version == 1


async def test_subjects_of_a_source_are_checked(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    for subjects in (["everyone"], ["tenant", ""], ["principal:" + "p" * 256], ["tenant "]):
        with pytest.raises(InvalidArgument) as caught:
            await put(store, docs, "a.md", "one", auth_subjects=subjects)
        assert caught.value.detail["path"].startswith("auth_subjects[")
    with pytest.raises(LimitExceeded):
        await put(store, docs, "a.md", "one", auth_subjects=[f"role:{n}" for n in range(101)])
    assert (
        await store.knowledge.list_sources(tenant_id=docs.tenant_id, collection_id=docs.id)
    ).items == ()
    fine = await put(
        store, docs, "a.md", "x", auth_subjects=[f"role:{'ä' * 250}{n}" for n in range(100)]
    )
    assert len(fine.auth_subjects) == 100


async def test_text_that_cannot_be_stored_is_named_b47_b49(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    source = await put(store, docs, "a.md", "old")
    for bad in ("a\x00b", "\ud83d", "\ude00"):
        for chunk, path in (
            (NewChunk(content=f"x {bad}"), "chunks[1].content"),
            (NewChunk(content="x", metadata={"k": [bad]}), "chunks[1].metadata.k[0]"),
            (NewChunk(content="x", locator={bad: 1}), "chunks[1].locator"),
            (NewChunk(content="x", auth_subjects=(f"role:{bad}",)), "chunks[1].auth_subjects[0]"),
        ):
            with pytest.raises(InvalidText) as caught:
                await store.knowledge.replace_source(
                    tenant_id=docs.tenant_id,
                    collection_id=docs.id,
                    external_ref="a.md",
                    chunks=[NewChunk(content="fine"), chunk],
                )
            assert caught.value.detail["path"].startswith(path)
        with pytest.raises(InvalidText):
            await store.knowledge.search(
                tenant_id=docs.tenant_id, collection_id=docs.id, text=f"old {bad}"
            )
    assert await texts_in(store, source) == ["old"]


async def test_well_formed_text_comes_back_exactly_b49(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    texts = [
        "😀",
        "👨‍👩‍👧‍👦",
        "שלום",
        "e\u0301é",
        "\u200b",
        "a\r\nb\t ",
        "ﬁ",
        "\u2028",
        "x" * 1_048_576,
    ]
    source = await put(store, docs, "a.md", *texts)
    assert await texts_in(store, source) == texts
    chunk = await store.knowledge.get_chunk(tenant_id=docs.tenant_id, source_id=source.id, number=2)
    assert chunk.content.encode() == texts[1].encode()


async def test_text_is_replaced_where_that_is_the_policy_b47(adapter: Adapter) -> None:
    async with adapter.replacing() as store:
        docs = await new_docs(store)
        source = await put(store, docs, "a.md", "a\x00b", "\ud83d")
        assert await texts_in(store, source) == ["a\ufffdb", "\ufffd"]
        assert (await put(store, docs, "a.md", "a\x00b", "\ud83d")).outcome == "duplicate"


# Who expects what


async def test_expected_versions(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    with pytest.raises(NotFound):
        await put(store, docs, "a.md", "one", expected_version=1)
    made = await put(store, docs, "a.md", "one", expected_version=0)
    assert made.outcome == "inserted"
    assert (await put(store, docs, "a.md", "one", expected_version=0)).outcome == "duplicate"
    for stale in (0, 2):
        with pytest.raises(VersionConflict) as caught:
            await put(store, docs, "a.md", "two", expected_version=stale)
        assert caught.value.detail["current_version"] == 1
    assert await texts_in(store, made) == ["one"]
    assert (await put(store, docs, "a.md", "two", expected_version=1)).version == 2
    with pytest.raises(VersionConflict):
        await store.knowledge.update_source(
            tenant_id=docs.tenant_id, source_id=made.id, title="x", expected_version=1
        )
    changed = await store.knowledge.update_source(
        tenant_id=docs.tenant_id,
        source_id=made.id,
        title="x",
        uri="file:///x",
        metadata={"n": 1},
        expected_version=2,
    )
    assert (changed.title, changed.uri, changed.metadata, changed.version) == (
        "x",
        "file:///x",
        {"n": 1},
        3,
    )
    cleared = await store.knowledge.update_source(
        tenant_id=docs.tenant_id, source_id=made.id, title=None, uri=None, expected_version=3
    )
    assert (cleared.title, cleared.uri, cleared.metadata) == (None, None, {"n": 1})


async def test_ids_of_sources(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    made = await put(store, docs, "a.md", "one", source_id="s")
    assert made.id == "s"
    assert (await put(store, docs, "a.md", "one", source_id="s")).outcome == "duplicate"
    for name, source_id in (("b.md", "s"), ("a.md", "other")):
        with pytest.raises(AlreadyExists):
            await put(store, docs, name, "two", source_id=source_id)
    assert await texts_in(store, made) == ["one"]


async def test_replaces_of_one_source_at_once(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    texts = [[f"{writer} says {n}" for n in range(20)] for writer in range(6)]
    done = await asyncio.gather(*(put(store, docs, "a.md", *mine) for mine in texts))
    assert [one.outcome for one in done].count("inserted") == 1
    assert {one.outcome for one in done} == {"inserted", "replaced"}
    assert sorted(one.version for one in done) == [1, 2, 3, 4, 5, 6]
    assert len({one.id for one in done}) == 1
    last = max(done, key=lambda one: one.version)
    assert await texts_in(store, last) == texts[done.index(last)]


# Deleting


async def test_soft_deletion_hides_and_restores(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    source = await put(store, docs, "a.md", "secret")
    where: dict[str, Any] = {"tenant_id": docs.tenant_id, "source_id": source.id}
    ids = KnowledgeIds(collection_id=docs.id, source_id=source.id)
    reads = [name for name in KNOWLEDGE_READS if "collection" not in name]
    before = [
        await result_of(KNOWLEDGE_READS[name](store, docs.tenant_id, ids, None)) for name in reads
    ]
    gone = await store.knowledge.soft_delete_source(**where)
    assert gone.deleted_at is not None
    assert await store.knowledge.soft_delete_source(**where) == gone
    empty = await new_docs(store)
    for name in reads:
        found = await result_of(KNOWLEDGE_READS[name](store, docs.tenant_id, ids, None))
        nothing = KnowledgeIds(collection_id=empty.id, source_id="nothing")
        assert found == await result_of(
            KNOWLEDGE_READS[name](store, empty.tenant_id, nothing, None)
        ), name
    assert await store.knowledge.find_source(**where, deleted=True) == gone
    listed = await store.knowledge.list_sources(
        tenant_id=docs.tenant_id, collection_id=docs.id, deleted=True
    )
    assert listed.items == (gone,)
    for write in (
        store.knowledge.update_source(**where, title="late", expected_version=gone.version),
        store.keywords.put(**where),
        store.keywords.delete(**where),
    ):
        with pytest.raises(NotFound):
            await write
    back = await store.knowledge.restore_source(**where)
    assert (back.deleted_at, back.version) == (None, 3)
    after = [
        await result_of(KNOWLEDGE_READS[name](store, docs.tenant_id, ids, None)) for name in reads
    ]
    assert len(after) == len(before)
    assert await texts_in(store, source) == ["secret"]


async def test_soft_deletion_frees_the_name(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    old = await put(store, docs, "a.md", "old")
    await store.knowledge.soft_delete_source(tenant_id=docs.tenant_id, source_id=old.id)
    new = await put(store, docs, "a.md", "new")
    assert (new.outcome, new.id != old.id) == ("inserted", True)
    with pytest.raises(AlreadyExists):
        await store.knowledge.restore_source(tenant_id=docs.tenant_id, source_id=old.id)
    await store.knowledge.purge_source(tenant_id=docs.tenant_id, source_id=new.id)
    await store.knowledge.restore_source(tenant_id=docs.tenant_id, source_id=old.id)
    assert await texts_in(store, old) == ["old"]


async def test_purging_deletes_everything_and_says_how_much(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    first, second = await put(store, docs, "a.md", "1", "2"), await put(store, docs, "b.md", "3")
    where: dict[str, Any] = {"tenant_id": docs.tenant_id, "source_id": first.id}
    receipt = await store.knowledge.purge_source(**where)
    assert receipt.tables == {"sources": 1, "chunks": 2}
    assert not (await store.knowledge.purge_source(**where)).purged
    assert await store.knowledge.find_source(**where) is None
    assert await texts_in(store, second) == ["3"]
    whole = await store.knowledge.purge_collection(tenant_id=docs.tenant_id, collection_id=docs.id)
    assert whole.tables == {"collections": 1, "sources": 1, "chunks": 1}
    again = await store.knowledge.purge_collection(tenant_id=docs.tenant_id, collection_id=docs.id)
    assert not again.purged
    with pytest.raises(NotFound):
        await put(store, docs, "a.md", "late")
    assert "sources" not in (await store.tenants.purge(tenant_id=docs.tenant_id)).tables


async def test_purging_a_tenant_takes_its_knowledge_along(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    await put(store, docs, "a.md", "1", "2")
    receipt = await store.tenants.purge(tenant_id=docs.tenant_id)
    counted = {name: receipt.tables[name] for name in ("collections", "sources", "chunks")}
    assert counted == {"collections": 1, "sources": 1, "chunks": 2}


# Pages


async def test_pages_of_knowledge_b41_b43(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    made = [
        await store.knowledge.create_collection(tenant_id=tenant_id, name=f"docs {number}")
        for number in range(5)
    ]
    made.sort(key=lambda one: (one.created_at, one.id), reverse=True)
    docs = made[0]
    sources = [await put(store, docs, f"{n}.md", "x", source_type=f"t{n % 2}") for n in range(5)]
    whole = await put(store, docs, "long.md", *(f"chunk {n}" for n in range(1500)))
    sources = sorted([*sources, whole], key=lambda one: (one.created_at, one.id), reverse=True)
    where: dict[str, Any] = {"tenant_id": tenant_id, "collection_id": docs.id}
    newest = [one.id for one in sources]
    for limit in (1, 2, 5, 500):
        for direction in ("forward", "backward"):
            step = 1 if direction == "forward" else -1
            found = await walk(
                lambda **page: store.knowledge.list_collections(tenant_id=tenant_id, **page),
                limit=limit,
                direction=direction,
                back=True,
            )
            assert [one.id for one in found] == [one.id for one in made][::step]
            listings: list[tuple[PageOf, dict[str, Any]]] = [
                (store.knowledge.list_sources, {}),
                (store.knowledge.list_stale_sources, {"embedding_model": MODEL}),
            ]
            for call, arguments in listings:
                listed = await walk(
                    lambda call=call, arguments=arguments, **page: call(
                        **where, **arguments, **page
                    ),
                    limit=limit,
                    direction=direction,
                    back=True,
                )
                assert [one.id for one in listed] == newest[::step]
    for direction in ("forward", "backward"):
        chunks = await walk(
            lambda **page: store.knowledge.list_chunks(
                tenant_id=tenant_id, source_id=whole.id, **page
            ),
            limit=400,
            direction=direction,
            back=True,
        )
        numbers = [chunk.number for chunk in chunks]
        assert numbers == [*range(1, 1501)][:: 1 if direction == "forward" else -1]
    # More rows than an API gives at once, if each neighbour is one.
    searched = await store.knowledge.search(**where, text="chunk", limit=500, neighbours=2)
    assert [hit.number for hit in searched.items] == [*range(1, 501)]
    for hit in searched.items:
        assert [chunk.number for chunk in hit.before] == [
            *range(max(1, hit.number - 2), hit.number)
        ]
        assert [chunk.number for chunk in hit.after] == [hit.number + 1, hit.number + 2]
    typed = await store.knowledge.list_sources(**where, source_type="t1")
    assert {one.external_ref for one in typed.items} == {"1.md", "3.md"}
    named = await store.knowledge.list_sources(**where, external_ref="2.md")
    assert [one.external_ref for one in named.items] == ["2.md"]


async def test_cursors_of_knowledge_belong_to_their_list_and_filter(adapter: Adapter) -> None:
    store = adapter.store
    docs = await new_docs(store)
    one, two = await put(store, docs, "a", "1", "2", "3"), await put(store, docs, "b", "1", "2")
    where: dict[str, Any] = {"tenant_id": docs.tenant_id, "collection_id": docs.id}
    sources = (await store.knowledge.list_sources(**where, limit=1)).next_cursor
    chunks = (
        await store.knowledge.list_chunks(tenant_id=docs.tenant_id, source_id=one.id, limit=1)
    ).next_cursor
    for call in (
        store.knowledge.list_chunks(tenant_id=docs.tenant_id, source_id=two.id, after=chunks),
        store.knowledge.list_chunks(tenant_id=docs.tenant_id, source_id=one.id, after=sources),
        store.knowledge.list_sources(**where, after=chunks),
        store.knowledge.list_sources(**where, after=sources, source_type="x"),
        store.knowledge.list_sources(**where, after=sources, direction="backward"),
        store.knowledge.list_stale_sources(**where, after=sources),
        store.knowledge.list_collections(tenant_id=docs.tenant_id, after=sources),
        store.knowledge.list_collections(tenant_id=docs.tenant_id, before="x"),
    ):
        with pytest.raises(InvalidCursor):
            await call
    carried = json.loads(json.dumps(chunks))
    page = await store.knowledge.list_chunks(
        tenant_id=docs.tenant_id, source_id=one.id, after=carried
    )
    assert [chunk.number for chunk in page.items] == [2, 3]


# Other tenants


@pytest.mark.parametrize("method", sorted(KNOWLEDGE_READS))
async def test_anothers_knowledge_is_absent(adapter: Adapter, method: str) -> None:
    store = adapter.store
    mine, theirs = await new_tenant(store), await new_tenant(store)
    await fill_knowledge(store, mine)
    ids = await fill_knowledge(store, theirs)
    read = KNOWLEDGE_READS[method]
    foreign = await result_of(read(store, mine, ids, None))
    assert foreign == await result_of(read(store, mine, ids.absent(), None))
    assert await result_of(read(store, theirs, ids, None)) != foreign


async def test_the_same_ids_in_two_tenants_are_apart_b07(adapter: Adapter) -> None:
    store = adapter.store
    for text in ("mine", "theirs"):
        tenant_id = await new_tenant(store)
        await store.knowledge.create_collection(tenant_id=tenant_id, name="d", collection_id="d")
        made = await store.knowledge.replace_source(
            tenant_id=tenant_id,
            collection_id="d",
            external_ref="a",
            source_id="s",
            chunks=[NewChunk(content=f"{text} parcel")],
        )
        assert made.outcome == "inserted"
        found = await store.knowledge.search(
            tenant_id=tenant_id, collection_id="d", text="mine theirs parcel"
        )
        assert [hit.content for hit in found.items] == [f"{text} parcel"]


async def test_purging_anothers_knowledge_deletes_nothing_b87(adapter: Adapter) -> None:
    store = adapter.store
    mine, theirs = await new_tenant(store), await new_tenant(store)
    ids = await fill_knowledge(store, theirs)
    one = await store.knowledge.purge_source(tenant_id=mine, source_id=ids.source_id)
    whole = await store.knowledge.purge_collection(tenant_id=mine, collection_id=ids.collection_id)
    assert not one.purged
    assert not whole.purged
    kept = await store.knowledge.get_source(tenant_id=theirs, source_id=ids.source_id)
    assert kept.chunk_count == 2


async def test_a_unit_of_work_takes_knowledge_along(adapter: Adapter) -> None:
    adapter.needs("transactions")
    store = adapter.store
    docs = await new_docs(store)
    source = await put(store, docs, "a.md", "old parcel")
    with pytest.raises(NotFound):
        async with store.unit_of_work(tenant_id=docs.tenant_id) as uow:
            await put(uow, docs, "a.md", "new parcel")
            await put(uow, docs, "b.md", "another parcel")
            inside = await uow.knowledge.search(
                tenant_id=docs.tenant_id, collection_id=docs.id, text="parcel"
            )
            assert {hit.content for hit in inside.items} == {"new parcel", "another parcel"}
            outside = (
                await store.knowledge.search(
                    tenant_id=docs.tenant_id, collection_id=docs.id, text="parcel"
                )
                if adapter.parallel_units
                else None
            )
            assert outside is None or [hit.content for hit in outside.items] == ["old parcel"]
            await uow.knowledge.get_source(tenant_id=docs.tenant_id, source_id=fresh())
    assert await texts_in(store, source) == ["old parcel"]
