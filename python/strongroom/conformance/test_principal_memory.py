"""Principal memory: facts that are put, found under a budget, switched off, and forgotten for good."""

# ruff: noqa: PT012, RUF001 (a unit of work is a block; scripts of the world)

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_memory import Whose
from strongroom.conformance.helpers import OWNER, PARTICIPANT, new_tenant
from strongroom.conformance.strategies import TRICKY_TEXTS, quick, texts
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidCursor,
    InvalidTransition,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    VersionConflict,
)
from strongroom.models import MemoryFact

LONG_AGO = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)
FAR_AHEAD = dt.datetime(2999, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)


async def _whose(store: Ports, principal_id: str = OWNER) -> Whose:
    return Whose(tenant_id=await new_tenant(store), principal_id=principal_id)


async def _put(store: Ports, whose: Whose, text: str, **fields: Any) -> MemoryFact:
    put = await store.principal_memory.put(
        **whose,
        text=text,
        **{"source": "extracted", **fields},
    )
    assert put.fact is not None, put.outcome
    return put.fact


async def _texts(store: Ports, whose: Whose, text: str, **more: Any) -> list[str]:
    found = await store.principal_memory.search(**whose, text=text, **more)
    return [fact.text for fact in found.items]


# What is put is what is read.


async def test_a_fact_comes_back_whole(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    put = await store.principal_memory.put(
        **whose,
        text="Lives in São Paulo 🌍",
        source="user-stated",
        memory_id="f",
        namespace="home/address",
        key="city",
        confidence=0.25,
        sensitivity="sensitive",
        expires_at=FAR_AHEAD,
        embedding=[0.5, -1, 3e38, 1e-300],
        embedding_model="m-1",
        metadata={"a": [1, None]},
        conversation_id="c",
        message_id="m",
        run_id="r",
    )
    fact = put.fact
    assert fact is not None
    assert put.outcome == "inserted"
    assert fact == MemoryFact(
        **whose,
        id="f",
        namespace="home/address",
        key="city",
        text="Lives in São Paulo 🌍",
        source="user-stated",
        confidence=0.25,
        sensitivity="sensitive",
        last_used_at=None,
        expires_at=FAR_AHEAD,
        embedding_model="m-1",
        embedding_dimensions=4,
        metadata={"a": [1, None]},
        source_conversation_id="c",
        source_message_id="m",
        source_run_id="r",
        version=1,
        created_at=fact.created_at,
        updated_at=fact.created_at,
    )
    assert await store.principal_memory.get(**whose, memory_id="f") == fact
    assert (await store.principal_memory.list(**whose)).items == (fact,)
    least = await _put(store, whose, "x")
    assert (least.namespace, least.key, least.confidence, least.sensitivity) == (
        *("", None, 1.0, "personal"),
    )
    assert (least.embedding_model, least.embedding_dimensions, least.metadata) == (None, None, {})
    status = await store.principal_memory.status(**whose)
    assert (status.is_enabled, status.generation, status.fact_count) == (True, 0, 2)


async def test_a_repeated_put_is_known_by_its_id(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    first = await _put(store, whose, "x", memory_id="f", metadata={"a": 1, "b": 2})
    await store.principal_memory.update(**whose, memory_id="f", confidence=0.5, expected_version=1)
    again = await store.principal_memory.put(
        **whose, text="x", source="extracted", memory_id="f", metadata={"b": 2, "a": 1}
    )
    assert again.outcome == "duplicate"
    assert again.fact is not None
    assert (again.fact.id, again.fact.version, again.fact.confidence) == (first.id, 2, 0.5)
    same: dict[str, Any] = {**whose, "text": "x", "source": "extracted", "memory_id": "f"}
    for other in ({"text": "y"}, {"source": "user-stated"}, {"namespace": "n"}, {"confidence": 0}):
        with pytest.raises(AlreadyExists) as caught:
            await store.principal_memory.put(**(same | other))
        assert caught.value.detail["record"] == "memory"
    # An id is a principal's own: the same one of somebody else is another fact.
    theirs = Whose(tenant_id=whose["tenant_id"], principal_id=PARTICIPANT)
    assert (await _put(store, theirs, "z", memory_id="f")).text == "z"
    assert (await store.principal_memory.get(**whose, memory_id="f")).text == "x"


async def test_a_key_names_one_fact_and_no_writer_wins_by_coming_last(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    city: dict[str, Any] = {"source": "extracted", "key": "city", "namespace": "home"}
    first = await _put(store, whose, "Bonn", **city, metadata={"n": 1})
    same = await memory.put(**whose, text="Bonn", **city, metadata={"n": 1})
    assert (same.outcome, same.fact) == ("duplicate", first)
    for version in (None, 0, 2, 7):
        with pytest.raises(VersionConflict) as caught:
            await memory.put(**whose, text="Rome", **city, expected_version=version)
        assert caught.value.detail["current_version"] == 1
        assert caught.value.detail["id"] == first.id
    moved = await memory.put(**whose, text="Rome", **city, expected_version=1)
    assert moved.outcome == "updated"
    assert moved.fact is not None
    assert (moved.fact.id, moved.fact.version, moved.fact.text) == (first.id, 2, "Rome")
    assert moved.fact.metadata == {}
    assert (await memory.list(**whose)).items == (moved.fact,)
    # The same key elsewhere is another fact.
    for namespace in ("", "home/old", "work"):
        await _put(store, whose, "Oslo", key="city", namespace=namespace)
    assert len((await memory.list(**whose)).items) == 4
    with pytest.raises(InvalidArgument) as keyless:
        await memory.put(**whose, text="x", source="extracted", expected_version=1)
    assert keyless.value.detail["path"] == "expected_version"


async def test_a_late_writer_with_an_old_version_brings_nothing_back_b83(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    fact = await _put(store, whose, "Bonn", key="city")
    assert await memory.delete(**whose, memory_id=fact.id)
    with pytest.raises(NotFound):
        await memory.update(**whose, memory_id=fact.id, text="Rome", expected_version=1)
    for source in ("user-stated", "extracted"):
        with pytest.raises(NotFound):
            await memory.put(
                **whose, text="Rome", source="user-stated", key="city", expected_version=1
            )
        # The call that made it, repeated after its answer was lost.
        late = await memory.put(
            **whose,
            text="Bonn",
            source=source,
            key="city",
            memory_id=fact.id,
        )
        assert (late.outcome, late.fact) == ("forgotten", None)
    assert (await memory.list(**whose)).items == ()
    assert not await memory.delete(**whose, memory_id=fact.id)


async def test_updates_are_versioned(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    update = store.principal_memory.update
    fact = await _put(store, whose, "a", embedding=[1.0], embedding_model="m", expires_at=FAR_AHEAD)
    here: dict[str, Any] = {**whose, "memory_id": fact.id}
    two = await update(**here, expected_version=1, confidence=0.5, metadata={"k": 1})
    assert two == fact.replace(
        confidence=0.5, metadata={"k": 1}, version=2, updated_at=two.updated_at
    )
    three = await update(**here, expected_version=2, text="b", sensitivity="normal")
    assert (three.text, three.embedding_model, three.embedding_dimensions) == ("b", None, None)
    four = await update(
        **here,
        expected_version=3,
        source="user-stated",
        expires_at=None,
        embedding=[1.0, 2.0],
        embedding_model="n",
    )
    assert (four.expires_at, four.embedding_model, four.embedding_dimensions) == (None, "n", 2)
    assert (await update(**here, expected_version=4, embedding=None)).embedding_model is None
    for stale in (0, 4, 9):
        with pytest.raises(VersionConflict) as caught:
            await update(**here, expected_version=stale, text="lost")
        assert caught.value.detail["current_version"] == 5
    kept = await store.principal_memory.get(**here)
    assert (kept.text, kept.source, kept.version) == ("b", "user-stated", 5)


async def test_touching_is_no_change(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    one, two = await _put(store, whose, "1"), await _put(store, whose, "2")
    assert await memory.touch(**whose, memory_ids=[two.id, one.id, "absent", one.id]) == 2
    for fact in (one, two):
        used = await memory.get(**whose, memory_id=fact.id)
        assert used.last_used_at is not None
        assert used == fact.replace(last_used_at=used.last_used_at)
    assert await memory.touch(**whose, memory_ids=[]) == 0
    with pytest.raises(LimitExceeded):
        await memory.touch(**whose, memory_ids=["x"] * 1001)


# Time.


async def test_what_has_expired_is_gone_and_is_not_forgotten(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    old = await _put(store, whose, "old news", key="k", memory_id="f", expires_at=LONG_AGO)
    kept = await _put(store, whose, "good news", expires_at=FAR_AHEAD)
    here: dict[str, Any] = {**whose, "memory_id": old.id}
    assert await memory.find(**here) is None
    assert (await memory.list(**whose)).items == (kept,)
    assert await _texts(store, whose, "news") == ["good news"]
    assert (await memory.status(**whose)).fact_count == 1
    assert await memory.touch(**whose, memory_ids=[old.id]) == 0
    with pytest.raises(NotFound):
        await memory.update(**here, confidence=0.5, expected_version=1)
    # Its key is free, and the same may be extracted again.
    new = await _put(store, whose, "old news", key="k")
    assert new.version == 1
    await _put(store, whose, "stale", expires_at=LONG_AGO)
    await memory.update(**whose, memory_id=new.id, expires_at=LONG_AGO, expected_version=1)
    assert await memory.expire(tenant_id=whose["tenant_id"], limit=1) == 1
    assert await memory.expire(tenant_id=whose["tenant_id"]) == 1
    assert await memory.expire(tenant_id=whose["tenant_id"]) == 0
    assert await _put(store, whose, "old news")
    assert (await memory.status(**whose)).fact_count == 2


# Forgetting.

WORDINGS = [
    "Likes cats.",
    "likes  CATS",
    "¡Líkes\tcats!",
    "ｌｉｋｅｓ　ｃａｔｓ",
    "“Likes — cats?”",
]


@pytest.mark.parametrize("way", ["delete", "forget_all"])
async def test_a_forgotten_fact_comes_back_by_the_principals_word_alone_b83(
    adapter: Adapter, way: str
) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    fact = await _put(store, whose, WORDINGS[0], key="pet", namespace="home")
    if way == "delete":
        assert await memory.delete(**whose, memory_id=fact.id)
    else:
        assert await memory.forget_all(**whose, actor_id=OWNER) == 1
        assert await memory.forget_all(**whose) == 0
    for wording in WORDINGS:
        late = await memory.put(**whose, text=wording, source="extracted", namespace="elsewhere")
        assert (late.outcome, late.fact) == ("forgotten", None), wording
    other_text = await memory.put(
        **whose, text="Likes dogs", source="extracted", key="pet", namespace="home"
    )
    assert other_text.outcome == "forgotten", "the key was forgotten"
    assert (await memory.list(**whose)).items == ()
    assert await _texts(store, whose, "cats dogs") == []
    # What is another fact, another key's, or another principal's is not concerned.
    await _put(store, whose, "Likes cats and dogs", key="pet")
    theirs = Whose(tenant_id=whose["tenant_id"], principal_id=PARTICIPANT)
    await _put(store, theirs, WORDINGS[0], key="pet", namespace="home")
    # An extracted fact cannot be changed into it either.
    own = await _put(store, whose, "Likes birds")
    with pytest.raises(InvalidTransition):
        await memory.update(**whose, memory_id=own.id, text=WORDINGS[1], expected_version=1)
    # The principal says it again: from now on it is remembered like anything else.
    said = await memory.put(
        **whose, text=WORDINGS[2], source="user-stated", key="pet", namespace="home"
    )
    assert said.outcome == "inserted"
    assert (await _put(store, whose, WORDINGS[0])).version == 1
    await memory.update(**whose, memory_id=own.id, text=WORDINGS[1], expected_version=1)


async def test_texts_without_words_are_forgotten_one_by_one(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    fact = await _put(store, whose, "?!")
    await store.principal_memory.delete(**whose, memory_id=fact.id)
    late = await store.principal_memory.put(**whose, text="?!", source="extracted")
    assert late.outcome == "forgotten"
    assert (await _put(store, whose, "!?")).text == "!?"


async def test_a_put_that_was_prepared_before_everything_was_forgotten_is_too_late(
    adapter: Adapter,
) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    before = (await memory.status(**whose)).generation
    await _put(store, whose, "first", generation=before)
    await memory.forget_all(**whose)
    for source in ("user-stated", "extracted"):
        late = await memory.put(
            **whose,
            text="extracted from what was said before",
            source=source,
            generation=before,
        )
        assert late.outcome == "forgotten"
    status = await memory.status(**whose)
    assert (status.generation, status.fact_count) == (before + 1, 0)
    assert status.forgotten_at is not None
    await _put(store, whose, "said since", generation=status.generation)


# The switch.


async def test_disabled_memory_takes_and_shows_nothing_and_says_so(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    fact, other = await _put(store, whose, "secret"), await _put(store, whose, "secret, too")
    off = await memory.disable(**whose, actor_id="boss")
    assert (off.is_enabled, off.disabled_by, off.fact_count) == (False, "boss", 2)
    assert off.disabled_at is not None
    assert await memory.disable(**whose, actor_id="somebody else") == off
    assert await memory.status(**whose) == off
    for source in ("user-stated", "extracted"):
        with pytest.raises(PermissionDenied) as caught:
            await memory.put(**whose, text="more", source=source)
        assert caught.value.detail["path"] == "principal_id"
    with pytest.raises(PermissionDenied):
        await memory.update(**whose, memory_id=fact.id, text="more", expected_version=1)
    found = await memory.search(**whose, text="secret")
    assert (found.items, found.is_enabled, found.found) == ((), False, 0)
    # The principal still sees what there is, and forgets it.
    assert len((await memory.list(**whose)).items) == 2
    assert await memory.delete(**whose, memory_id=other.id)
    on = await memory.enable(**whose)
    assert (on.is_enabled, on.disabled_at, on.disabled_by, on.fact_count) == (True, None, None, 1)
    assert await memory.enable(**whose) == on
    found = await memory.search(**whose, text="secret")
    assert ([item.id for item in found.items], found.is_enabled) == ([fact.id], True)
    stranger = Whose(tenant_id=whose["tenant_id"], principal_id=PARTICIPANT)
    await memory.disable(**stranger)
    assert await memory.status(**whose) == on


# Namespaces.

LOOK_ALIKES = [
    *("user_1", "user_10", "userX1", "user_1/pets", "user_1/pets/cats", "user-1", "USER_1"),
    *("100%", "100%/a", "1000", "a\\b", "a\\b/c", "a", "ab", "a/b", "a.b", ".", "..", "a b", "*"),
    *("%", "_", "é", "e\u0301", "日本/東京", "日本酒"),
]


@pytest.mark.parametrize("prefix", LOOK_ALIKES)
async def test_a_prefix_is_literal_and_ends_with_a_segment_b39(
    adapter: Adapter, prefix: str
) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    for namespace in ["", *LOOK_ALIKES]:
        await _put(store, whose, f"word {namespace}", namespace=namespace)
    expected = {name for name in LOOK_ALIKES if name == prefix or name.startswith(prefix + "/")}
    page = await store.principal_memory.list(**whose, namespace_prefix=prefix, limit=500)
    assert {fact.namespace for fact in page.items} == expected
    found = await store.principal_memory.search(
        **whose, text="word", namespace_prefix=prefix, max_items=500
    )
    assert {fact.namespace for fact in found.items} == expected
    everything = await store.principal_memory.list(**whose, namespace_prefix="", limit=500)
    assert {fact.namespace for fact in everything.items} == {"", *LOOK_ALIKES}


_segments = st.text(st.sampled_from("ab_%\\*.é/"), min_size=1, max_size=6)
_paths = _segments.filter(lambda path: "" not in path.split("/"))


@quick
@given(namespace=_paths, prefix=_paths)
async def test_a_prefix_holds_what_its_segments_begin_b39(
    adapter: Adapter, namespace: str, prefix: str
) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    await _put(store, whose, "word", namespace=namespace)
    page = await store.principal_memory.list(**whose, namespace_prefix=prefix)
    begins = namespace.split("/")[: len(prefix.split("/"))] == prefix.split("/")
    assert bool(page.items) == begins
    found = await store.principal_memory.search(**whose, text="word", namespace_prefix=prefix)
    assert bool(found.items) == begins
    below = await store.principal_memory.list(**whose, namespace_prefix=f"{namespace}/x")
    assert below.items == ()


@pytest.mark.parametrize("wrong", ["/", "/a", "a/", "a//b", "//", "a/b/"])
async def test_a_namespace_is_a_path_b39(adapter: Adapter, wrong: str) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    for path, call in (
        ("namespace", memory.put(**whose, text="x", source="extracted", namespace=wrong)),
        ("namespace_prefix", memory.list(**whose, namespace_prefix=wrong)),
        ("namespace_prefix", memory.search(**whose, text="x", namespace_prefix=wrong)),
    ):
        with pytest.raises(InvalidArgument) as caught:
            await call
        assert caught.value.detail["path"] == path


async def test_lists_filter_and_cursors_know_it(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    for sensitivity in ("normal", "personal", "sensitive"):
        for source in ("user-stated", "extracted"):
            await _put(
                store, whose, f"{sensitivity} {source}", sensitivity=sensitivity, source=source
            )
    for sensitivity in ("normal", "personal", "sensitive"):
        page = await memory.list(**whose, sensitivity=sensitivity)  # type: ignore[arg-type]
        assert {fact.sensitivity for fact in page.items} == {sensitivity}
        assert len(page.items) == 2
    stated = await memory.list(**whose, source="user-stated", limit=2)
    assert [fact.source for fact in stated.items] == ["user-stated"] * 2
    filters: tuple[dict[str, Any], ...] = (
        *({}, {"source": "extracted"}, {"source": "user-stated", "sensitivity": "normal"}),
        {"source": "user-stated", "namespace_prefix": "a"},
    )
    for other in filters:
        with pytest.raises(InvalidCursor):
            await memory.list(**whose, after=stated.next_cursor, **other)
    theirs = Whose(tenant_id=whose["tenant_id"], principal_id=PARTICIPANT)
    with pytest.raises(InvalidCursor):
        await memory.list(**theirs, after=stated.next_cursor, source="user-stated")
    only = await _texts(store, whose, "extracted", sensitivities=["normal", "sensitive"])
    assert set(only) == {"normal extracted", "sensitive extracted"}
    assert await _texts(store, whose, "extracted", sensitivities=[]) == []


# Searching.


async def test_the_best_come_first_and_say_how_they_were_found(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    east, west, north = [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]
    facts: list[tuple[str, list[float] | None, str | None]] = [
        ("Has a dog called Rex", east, "m"),
        ("Has a cat called Tom", [0.6, 0.8], "m"),
        ("The cat sleeps a lot", None, None),
        ("Works in Bonn", west, "m"),
        ("Plays chess", east, "another model"),
        ("Plays go", [1.0, 0.0, 0.0], "m"),
    ]
    for text, embedding, model in facts:
        await _put(store, whose, text, embedding=embedding, embedding_model=model)

    async def search(**what: Any) -> list[tuple[str, float, tuple[str, ...]]]:
        found = await store.principal_memory.search(**whose, **what)
        return [(fact.text, fact.score, fact.found_by) for fact in found.items]

    assert await search(embedding=east, embedding_model="m") == [
        ("Has a dog called Rex", 1.0, ("vector",)),
        ("Has a cat called Tom", 0.6, ("vector",)),
    ]
    assert await search(text="DÓG", embedding=north, embedding_model="m") == [
        ("Has a dog called Rex", 1.0, ("text",)),
        ("Has a cat called Tom", 0.8, ("vector",)),
    ]
    assert await search(text="cat called?") == [
        ("Has a cat called Tom", 1.0, ("text",)),
        ("The cat sleeps a lot", 0.5, ("text",)),
        ("Has a dog called Rex", 0.5, ("text",)),
    ]
    both = await search(text="rex sleeps", embedding=[0.6, 0.8], embedding_model="m")
    assert both == [
        ("Has a cat called Tom", 1.0, ("vector",)),
        ("Has a dog called Rex", 0.8, ("text", "vector")),
        ("The cat sleeps a lot", 0.5, ("text",)),
    ]
    # Half for the beginning of a word: a plural, or another form.
    assert await search(text="dogs") == [("Has a dog called Rex", 0.5, ("text",))]
    assert await search(embedding=east, embedding_model="unknown") == []


async def test_equal_scores_go_by_confidence_then_recency(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    for number, confidence in enumerate((0.5, 1.0, 0.5, 0.75)):
        await _put(store, whose, f"tea {number}", confidence=confidence)
    expected = ["tea 1", "tea 3", "tea 2", "tea 0"]
    for _ in range(3):
        assert await _texts(store, whose, "tea") == expected
    fact = (await store.principal_memory.search(**whose, text="0")).items[0]
    await store.principal_memory.update(
        **whose, memory_id=fact.id, metadata={"seen": True}, expected_version=1
    )
    assert await _texts(store, whose, "tea") == ["tea 1", "tea 3", "tea 0", "tea 2"]


async def test_rare_words_count_more_than_common_ones(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    for number in range(8):
        await _put(store, whose, f"the user of the day {number}")
    await _put(store, whose, "allergic to peanuts", confidence=0.1)
    assert (await _texts(store, whose, "what are the peanuts of the user"))[0] == (
        "allergic to peanuts"
    )
    # There is no list of stop words: what is common counts little, but it counts.
    assert len(await _texts(store, whose, "the of")) == 8


async def test_the_budget_is_kept_and_what_it_leaves_out_is_counted(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    texts_in_order = ["tea " + "x" * length for length in (20, 200, 5, 50)]
    for number, text in enumerate(texts_in_order):
        await _put(store, whose, text, confidence=1 - number / 10)
    search = store.principal_memory.search
    whole = await search(**whose, text="tea")
    sizes = [(len(text.encode()) + 2) // 3 for text in texts_in_order]
    assert [fact.tokens for fact in whole.items] == sizes == [8, 68, 3, 18]
    assert (whole.found, whole.omitted, whole.tokens) == (4, 0, sum(sizes))
    for max_items, max_tokens, kept in (
        (500, sum(sizes), [0, 1, 2, 3]),
        (500, sum(sizes) - 1, [0, 1, 2]),
        (2, 1_000_000, [0, 1]),
        (500, 30, [0, 2, 3]),
        (2, 30, [0, 2]),
        (500, 7, [2]),
        (500, 2, []),
    ):
        found = await search(**whose, text="tea", max_items=max_items, max_tokens=max_tokens)
        assert [fact.text for fact in found.items] == [texts_in_order[place] for place in kept]
        assert found.tokens == sum(fact.tokens for fact in found.items) <= max_tokens
        assert (found.found, found.omitted) == (4, 4 - len(kept))
    for name, most in (("max_items", 500), ("max_tokens", 1_000_000)):
        for wrong, kind in (
            (0, InvalidArgument),
            (most + 1, LimitExceeded),
            ("5", InvalidArgument),
        ):
            with pytest.raises(kind) as caught:
                await search(**whose, text="tea", **{name: wrong})  # type: ignore[arg-type]
            assert caught.value.detail["path"] == name


LANGUAGES = {
    "Chinese": ("用户喜欢喝绿茶", ["绿茶", "喜欢", "茶", "你喜欢什么茶？"], ["咖啡", "红酒"]),
    "Japanese": ("猫を二匹飼っている", ["猫", "猫が好き", "二匹", "飼っている？"], ["犬", "東京"]),
    "Korean": ("사용자는 고양이를 좋아한다", ["고양이", "고양이가 뭐야?", "좋아"], ["강아지"]),
    "Thai": ("ผู้ใช้ชอบดื่มชาเขียว", ["ชาเขียว", "ดื่ม"], ["กฬฦ"]),
    "Portuguese": (
        "A usuária é alérgica a camarões",
        ["alergica", "ALÉRGICA", "camarões"],
        ["pão"],
    ),
    "German": ("Wohnt in der Straße am Fluß", ["strasse", "STRASSE", "Fluss"], ["Meer"]),
    "Greek": ("Ζει στην ΑΘΗΝΑ", ["αθηνα", "Αθήνα"], ["Πάτρα"]),
    "Russian": ("Любит Чёрный чай", ["черный", "ЧАЙ"], ["кофе"]),
    "Arabic": ("يحب القهوة", ["القهوة؟"], ["الشاي"]),
    "Hindi": ("चाय पसंद है।", ["चाय"], ["कॉफी"]),
    "emoji": ("Feiert mit 🎂🎉 und 👍🏽", ["🎂", "🎉!", "👍"], ["🚀"]),
    "wide forms": ("ＡＢＣ１２３", ["abc123"], ["xyz"]),
}


@pytest.mark.parametrize("language", sorted(LANGUAGES))
async def test_every_language_is_found_and_not_confused_b79(
    adapter: Adapter, language: str
) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    for text, _, _ in LANGUAGES.values():
        await _put(store, whose, text)
    text, finding, missing = LANGUAGES[language]
    for query in finding:
        assert (await _texts(store, whose, query))[:1] == [text], query
    for query in missing:
        assert text not in await _texts(store, whose, query), query


ODD_QUERIES = [
    *("", " ", "What's R&D | (cost) & !", '"unbalanced', "a:*", "<->", "!!! ((( )))", "\\", "%_"),
    *("the and of", "'; drop table strongroom.memories; --", "$$", "tea:*&!|<2>", "\u200b\ufeff"),
    *("NULL", "{}", "[1]", "\x01\x1f", "🎂" * 500, "茶" * 10_000, "tea " * 2_560, "x" * 32_768),
    *TRICKY_TEXTS,
]


@pytest.mark.parametrize("query", ODD_QUERIES, ids=range(len(ODD_QUERIES)))
async def test_words_are_never_a_syntax_b79(adapter: Adapter, query: str) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    await _put(store, whose, "Drinks tea (R&D), 100%", embedding=[1.0, 0.0], embedding_model="m")
    memory = store.principal_memory
    by_text = await memory.search(**whose, text=query)
    assert len(by_text.items) == by_text.found <= 1
    both = await memory.search(**whose, text=query, embedding=[1.0, 0.0], embedding_model="m")
    assert [fact.text for fact in both.items] == ["Drinks tea (R&D), 100%"]
    if not any(character.isalnum() for character in query):
        assert both.items[0].found_by == ("vector",)
    assert await _texts(store, whose, "tea") == ["Drinks tea (R&D), 100%"]


@quick
@given(text=texts.filter(bool), query=texts)
async def test_any_text_is_kept_exactly_and_any_query_is_answered_b49_b79(
    adapter: Adapter, text: str, query: str
) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    fact = await _put(store, whose, text)
    assert fact.text.encode() == text.encode()
    itself = await store.principal_memory.search(**whose, text=text)
    assert [(found.id, found.score) for found in itself.items] in ([(fact.id, 1.0)], [])
    answer = await store.principal_memory.search(**whose, text=query)
    assert all(0 < found.score <= 1 for found in answer.items)
    assert await store.principal_memory.delete(**whose, memory_id=fact.id)
    late = await store.principal_memory.put(**whose, text=text, source="extracted")
    assert late.outcome == "forgotten"


# Arguments.


async def test_facts_of_the_wrong_shape_are_refused_before_anything_is_written_b53(
    adapter: Adapter,
) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    memory = store.principal_memory
    model: dict[str, Any] = {"embedding_model": "m"}
    wrong: list[tuple[str, type[InvalidArgument], dict[str, Any]]] = [
        ("text", InvalidArgument, {"text": ""}),
        ("text", LimitExceeded, {"text": "x" * 4_001}),
        ("text", InvalidArgument, {"text": None}),
        ("source", InvalidArgument, {"source": "guessed"}),
        ("sensitivity", InvalidArgument, {"sensitivity": "secret"}),
        ("key", LimitExceeded, {"key": "k" * 5_000}),
        ("namespace", LimitExceeded, {"namespace": "n" * 256}),
        ("confidence", InvalidArgument, {"confidence": -0.1}),
        ("confidence", InvalidArgument, {"confidence": 1.1}),
        ("confidence", InvalidArgument, {"confidence": float("nan")}),
        ("confidence", InvalidArgument, {"confidence": "1"}),
        ("expires_at", InvalidArgument, {"expires_at": dt.datetime(2030, 1, 1)}),  # noqa: DTZ001
        ("embedding_model", InvalidArgument, {"embedding": [1.0]}),
        ("embedding_model", InvalidArgument, model),
        ("embedding", InvalidArgument, {"embedding": [], **model}),
        ("embedding", InvalidArgument, {"embedding": [0.0, 0.0, 1e-300], **model}),
        ("embedding", LimitExceeded, {"embedding": [1.0] * 4_001, **model}),
        ("embedding[1]", InvalidArgument, {"embedding": [1.0, float("nan")], **model}),
        ("embedding[1]", InvalidArgument, {"embedding": [1.0, float("inf")], **model}),
        ("embedding[1]", LimitExceeded, {"embedding": [1.0, 1e39], **model}),
        ("embedding[1]", InvalidArgument, {"embedding": [1.0, "2"], **model}),
        ("fact.metadata", LimitExceeded, {"metadata": {"k": "x" * 16_384}}),
        ("metadata.k", InvalidArgument, {"metadata": {"k": float("nan")}}),
        ("expected_version", InvalidArgument, {"key": "k", "expected_version": -1}),
        ("generation", InvalidArgument, {"generation": -1}),
    ]
    for path, kind, fields in wrong:
        with pytest.raises(kind) as caught:
            await memory.put(**{**whose, "text": "x", "source": "extracted", **fields})
        assert caught.value.detail["path"] == path, fields
    assert (await memory.list(**whose)).items == ()
    for fields in ({}, {"embedding": [1.0]}, {"text": "x", **model}, {"text": "x" * 32_769}):
        with pytest.raises(InvalidArgument):
            await memory.search(**whose, **fields)
    big = await _put(
        store, whose, "𝔘" * 4_000, key="😀" * 255, namespace="n" * 255,
        embedding=[1.0] * 4_000, embedding_model="m" * 255,
    )  # fmt: skip
    found = await memory.search(**whose, embedding=[1.0] * 4_000, embedding_model="m" * 255,
                                max_tokens=10_000)  # fmt: skip
    assert [(fact.id, fact.score) for fact in found.items] == [(big.id, 1.0)]


# Signed-in users.


async def test_a_signed_in_user_states_and_forgets_their_own(adapter: Adapter) -> None:
    store, whose = adapter.store, await _whose(adapter.store)
    theirs = Whose(tenant_id=whose["tenant_id"], principal_id=PARTICIPANT)
    await _put(store, theirs, "of somebody else", memory_id="f")
    extracted = await _put(store, whose, "Likes cats")
    async with adapter.user(whose["tenant_id"], OWNER) as user:
        memory = user.principal_memory
        fine: dict[str, Any] = {**whose, "text": "x", "source": "user-stated"}
        for forged in ({"source": "extracted"}, {"run_id": "r"}):
            with pytest.raises(PermissionDenied) as caught:
                await memory.put(**(fine | forged))
            assert caught.value.detail["path"] == f"fact.{next(iter(forged))}"
        # An id that somebody else's fact has shows nothing of it.
        put = await memory.put(**whose, text="Likes tea", source="user-stated", memory_id="f")
        assert put.outcome == "inserted"
        again = await memory.put(**whose, text="Likes tea", source="user-stated", memory_id="f")
        assert again.outcome == "duplicate"
        with pytest.raises(PermissionDenied):
            await memory.update(
                **whose, memory_id="f", source="extracted", text="x", expected_version=1
            )
        corrected = await memory.update(
            **whose, memory_id=extracted.id, text="Likes dogs", expected_version=1
        )
        assert (corrected.text, corrected.source) == ("Likes dogs", "user-stated")
        found = await memory.search(**whose, text="likes")
        assert {fact.text for fact in found.items} == {"Likes dogs", "Likes tea"}
        assert await memory.delete(**whose, memory_id=extracted.id)
        with pytest.raises(PermissionDenied):
            await memory.forget_all(**whose, actor_id=PARTICIPANT)
        assert await memory.forget_all(**whose) == 1
        assert (await memory.status(**whose)).generation == 1
        with pytest.raises(PermissionDenied):
            await memory.enable(**whose)
    late = await store.principal_memory.put(**whose, text="likes TEA", source="extracted")
    assert late.outcome == "forgotten"
    await store.principal_memory.disable(**whose)
    async with adapter.user(whose["tenant_id"], OWNER) as user:
        with pytest.raises(PermissionDenied):
            await user.principal_memory.put(**whose, text="x", source="user-stated")
        assert not (await user.principal_memory.search(**whose, text="x")).is_enabled
    assert (await store.principal_memory.get(**theirs, memory_id="f")).text == "of somebody else"


async def test_a_unit_of_work_stores_all_or_nothing(adapter: Adapter) -> None:
    adapter.needs("transactions")
    store, whose = adapter.store, await _whose(adapter.store)
    fact = await _put(store, whose, "kept")
    with pytest.raises(VersionConflict):
        async with store.unit_of_work(tenant_id=whose["tenant_id"]) as uow:
            await _put(uow, whose, "lost")
            await uow.principal_memory.forget_all(**whose)
            await _put(uow, whose, "lost, too")
            await uow.principal_memory.disable(**whose)
            raise VersionConflict("undo it")
    status = await store.principal_memory.status(**whose)
    assert (status.is_enabled, status.generation) == (True, 0)
    assert (await store.principal_memory.list(**whose)).items == (fact,)
