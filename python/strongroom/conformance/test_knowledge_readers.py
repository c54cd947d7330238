"""Who may see what of knowledge: as a viewer of a host, and as a signed-in user."""

from __future__ import annotations

from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_knowledge import (
    COLLECTION_READS,
    COLLECTION_SEARCHES,
    HOST_READS,
    HOST_WRITES,
    KNOWLEDGE_READS,
    SOURCE_READS,
    KnowledgeIds,
    fill_knowledge,
)
from strongroom.conformance.helpers import (
    OWNER,
    PARTICIPANT,
    STRANGER,
    fresh,
    new_tenant,
    result_of,
)
from strongroom.errors import PermissionDenied, StrongroomError, TenantMismatch
from strongroom.models import ExecutionContext, NewChunk, Viewer


async def people(store: Ports) -> str:
    """Make a tenant whose owner is in the staff; return its id."""
    tenant_id = await new_tenant(store)
    await store.tenants.add_member(tenant_id=tenant_id, principal_id=OWNER, role_ids=["staff"])
    await store.tenants.add_member(tenant_id=tenant_id, principal_id=STRANGER, role_ids=["guest"])
    return tenant_id


STAFF = Viewer(principal_id=OWNER, role_ids=["staff"])
GUEST = Viewer(principal_id=STRANGER, role_ids=["guest"])

ADMITTED = {
    "tenant": (["tenant"], True, True),
    "nobody": ([], False, False),
    "a principal": ([f"principal:{OWNER}"], True, False),
    "a role": (["role:staff"], True, False),
    "another role": (["role:guest", "role:boss"], False, True),
    "a conversation that is not there": (["conversation:none"], False, False),
    "several": (["role:boss", f"principal:{STRANGER}", "role:staff"], True, True),
    "what looks like it": (
        ["role:staf", f"principal:{OWNER}x", "role:%", "role:staff "],
        False,
        False,
    ),
}


@pytest.mark.parametrize("who", sorted(ADMITTED))
async def test_subjects_admit_and_nothing_else_does(adapter: Adapter, who: str) -> None:
    store, tenant_id = adapter.store, await people(adapter.store)
    subjects, staff_sees, guest_sees = ADMITTED[who]
    ids = await fill_knowledge(store, tenant_id)
    await store.knowledge.update_source(
        tenant_id=tenant_id, source_id=ids.source_id, auth_subjects=subjects, expected_version=1
    )
    empty = await fill_knowledge(store, tenant_id)
    await store.knowledge.soft_delete_source(tenant_id=tenant_id, source_id=empty.source_id)
    for viewer, sees in ((STAFF, staff_sees), (GUEST, guest_sees)):
        for name, read in {**SOURCE_READS, **COLLECTION_SEARCHES}.items():
            shown = await result_of(read(store, tenant_id, ids, viewer))
            whole = await result_of(read(store, tenant_id, ids, None))
            nothing = await result_of(read(store, tenant_id, empty, viewer))
            if name.startswith("knowledge.list_sources"):
                nothing = type(whole)(items=())  # type: ignore[call-arg]
            assert shown == (whole if sees else nothing), (name, viewer)
            assert whole != nothing, name
        for name, read in COLLECTION_READS.items():
            assert await result_of(read(store, tenant_id, ids, viewer)) == await result_of(
                read(store, tenant_id, ids, None)
            ), name


@pytest.mark.parametrize("who", sorted(ADMITTED))
async def test_a_signed_in_user_sees_what_a_viewer_sees(adapter: Adapter, who: str) -> None:
    store, tenant_id = adapter.store, await people(adapter.store)
    subjects, _, _ = ADMITTED[who]
    ids = await fill_knowledge(store, tenant_id)
    await store.knowledge.update_source(
        tenant_id=tenant_id, source_id=ids.source_id, auth_subjects=subjects, expected_version=1
    )
    for viewer in (STAFF, GUEST):
        async with adapter.user(tenant_id, viewer.principal_id) as user:
            for name, read in KNOWLEDGE_READS.items():
                assert await result_of(read(user, tenant_id, ids, None)) == await result_of(
                    read(store, tenant_id, ids, viewer)
                ), (name, viewer)


async def test_a_conversation_admits_its_readers(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await people(adapter.store)
    talk = await store.conversations.create(
        tenant_id=tenant_id, owner_id=OWNER, participant_ids=[PARTICIPANT]
    )
    ids = await fill_knowledge(store, tenant_id, f"conversation:{talk.id}")
    where: dict[str, Any] = {"tenant_id": tenant_id, "source_id": ids.source_id}
    everyone = (OWNER, PARTICIPANT, STRANGER)

    async def seers() -> set[str]:
        seen = set()
        for name in everyone:
            viewer = Viewer(principal_id=name)
            found = await store.knowledge.search(
                tenant_id=tenant_id, collection_id=ids.collection_id, text="secret", viewer=viewer
            )
            source = await store.knowledge.find_source(**where, viewer=viewer)
            assert bool(found.items) == (source is not None)
            if found.items:
                assert len(found.items) == 2
                seen.add(name)
        return seen

    assert await seers() == {OWNER, PARTICIPANT}
    await store.conversations.share(
        tenant_id=tenant_id,
        conversation_id=talk.id,
        visibility="private",
        participant_ids=[STRANGER],
        expected_version=1,
    )
    assert await seers() == {OWNER, STRANGER}
    await store.conversations.share(
        tenant_id=tenant_id,
        conversation_id=talk.id,
        visibility="tenant",
        participant_ids=[],
        expected_version=2,
    )
    assert await seers() == {*everyone}
    await store.conversations.soft_delete(tenant_id=tenant_id, conversation_id=talk.id)
    assert await seers() == set()
    await store.conversations.restore(tenant_id=tenant_id, conversation_id=talk.id)
    assert await seers() == {*everyone}
    await store.conversations.purge(tenant_id=tenant_id, conversation_id=talk.id)
    assert await seers() == set()


async def narrowed(store: Ports, tenant_id: str) -> KnowledgeIds:
    """Make a source for everyone, of which the middle chunk is for the staff."""
    docs = await store.knowledge.create_collection(tenant_id=tenant_id, name=fresh())
    source = await store.knowledge.replace_source(
        tenant_id=tenant_id,
        collection_id=docs.id,
        external_ref="a",
        chunks=[
            NewChunk(content="parcel one"),
            NewChunk(content="parcel two", auth_subjects=["role:staff"]),
            NewChunk(content="parcel three", auth_subjects=["tenant"]),
            NewChunk(content="parcel four", auth_subjects=[]),
        ],
    )
    return KnowledgeIds(collection_id=docs.id, source_id=source.id)


async def test_a_chunk_narrows_who_may_see_it(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await people(adapter.store)
    ids = await narrowed(store, tenant_id)
    of_source: dict[str, Any] = {"tenant_id": tenant_id, "source_id": ids.source_id}
    for viewer, numbers in ((None, [1, 2, 3, 4]), (STAFF, [1, 2, 3]), (GUEST, [1, 3])):
        page = await store.knowledge.list_chunks(**of_source, viewer=viewer)
        assert [chunk.number for chunk in page.items] == numbers
        source = await store.knowledge.get_source(**of_source, viewer=viewer)
        listed = await store.knowledge.list_sources(
            tenant_id=tenant_id, collection_id=ids.collection_id, viewer=viewer
        )
        assert source.chunk_count == len(numbers)
        assert listed.items == (source,)
        found = await store.knowledge.search(
            tenant_id=tenant_id,
            collection_id=ids.collection_id,
            text="parcel",
            neighbours=2,
            viewer=viewer,
        )
        assert sorted(hit.number for hit in found.items) == numbers
        for hit in found.items:
            around = [chunk.number for chunk in (*hit.before, *hit.after)]
            assert around == [n for n in numbers if n != hit.number and abs(n - hit.number) <= 2]
        for number in range(1, 5):
            chunk = await store.knowledge.find_chunk(**of_source, number=number, viewer=viewer)
            assert (chunk is not None) == (number in numbers)
    # What the source forbids, a chunk cannot allow.
    await store.knowledge.update_source(
        **of_source, auth_subjects=["role:boss"], expected_version=1
    )
    page_of_nothing = await result_of(store.knowledge.list_chunks(**of_source, viewer=STAFF))
    assert isinstance(page_of_nothing, tuple)


async def test_a_signed_in_user_sees_the_same_chunks(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await people(adapter.store)
    ids = await narrowed(store, tenant_id)
    for viewer in (STAFF, GUEST):
        async with adapter.user(tenant_id, viewer.principal_id) as user:
            for name, read in KNOWLEDGE_READS.items():
                assert await result_of(read(user, tenant_id, ids, None)) == await result_of(
                    read(store, tenant_id, ids, viewer)
                ), name


async def test_an_invisible_chunk_changes_no_count_score_or_rank(adapter: Adapter) -> None:
    """Search before and after others' chunks are added that would win: nothing differs."""
    store, tenant_id = adapter.store, await people(adapter.store)
    docs = await store.knowledge.create_collection(tenant_id=tenant_id, name="docs")
    where: dict[str, Any] = {"tenant_id": tenant_id, "collection_id": docs.id}
    for number in range(6):
        await store.knowledge.replace_source(
            **where,
            external_ref=f"mine-{number}",
            chunks=[NewChunk(content=f"a parcel {'lost ' * number} and {word}") for word in "xyz"],
        )
    searches: list[dict[str, Any]] = [
        {"text": "parcel lost x"},
        {"text": "lost", "limit": 3},
        {"text": "parcel", "neighbours": 1, "limit": 500},
        {"text": "lost z", "min_score": 0.3},
    ]
    partly = await store.knowledge.replace_source(
        **where, external_ref="partly", chunks=[NewChunk(content="something else")]
    )
    before = [await store.knowledge.search(**where, **one, viewer=GUEST) for one in searches]
    listed = await store.knowledge.list_sources(**where, viewer=GUEST, limit=7)
    assert listed.next_cursor is None
    hidden = NewChunk(content="lost parcel x z", auth_subjects=[])
    await store.knowledge.replace_source(
        **where, external_ref="partly", chunks=[NewChunk(content="something else"), hidden, hidden]
    )
    for number, subjects in enumerate((["role:staff"], [], [f"principal:{OWNER}"])):
        await store.knowledge.replace_source(
            **where,
            external_ref=f"theirs-{number}",
            chunks=[NewChunk(content="lost lost parcel x y z")] * 30,
            auth_subjects=subjects,
        )
    await store.knowledge.replace_source(
        **where,
        external_ref="narrow",
        chunks=[NewChunk(content="lost parcel x z", auth_subjects=["role:staff"])] * 30,
        auth_subjects=["role:staff", "role:guest"],
    )
    after = [await store.knowledge.search(**where, **one, viewer=GUEST) for one in searches]
    assert after == before
    shown = await store.knowledge.list_sources(**where, viewer=GUEST, limit=500)
    assert {one.external_ref for one in shown.items} == {
        *(f"mine-{number}" for number in range(6)),
        "narrow",
        "partly",
    }
    counts = {one.external_ref: one.chunk_count for one in shown.items}
    assert (counts["partly"], counts["narrow"], counts["mine-0"]) == (1, 0, 3)
    of_partly: dict[str, Any] = {"tenant_id": tenant_id, "source_id": partly.id}
    assert (await store.knowledge.get_source(**of_partly)).chunk_count == 3
    assert await store.knowledge.search(**where, text="parcel lost x") != before[0]
    if adapter.as_user is not None:
        async with adapter.user(tenant_id, STRANGER) as user:
            assert [await user.knowledge.search(**where, **one) for one in searches] == before
            assert await user.knowledge.list_sources(**where, limit=500) == shown
            assert (await user.knowledge.get_source(**of_partly)).chunk_count == 1


async def test_a_user_writes_no_knowledge_b37(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await people(adapter.store)
    ids = await fill_knowledge(store, tenant_id)
    before = [
        await result_of(read(store, tenant_id, ids, None)) for read in KNOWLEDGE_READS.values()
    ]
    async with adapter.user(tenant_id, OWNER) as user:
        for name, call in {**HOST_READS, **HOST_WRITES}.items():
            with pytest.raises(PermissionDenied):
                await call(user, tenant_id, ids)
            assert name
        for purge in (
            user.knowledge.purge_source(tenant_id=tenant_id, source_id=ids.source_id),
            user.knowledge.purge_collection(tenant_id=tenant_id, collection_id=ids.collection_id),
            user.knowledge.create_collection(tenant_id=tenant_id, name="mine"),
        ):
            with pytest.raises(PermissionDenied):
                await purge
        with pytest.raises(PermissionDenied) as caught:
            await user.knowledge.search(
                tenant_id=tenant_id,
                collection_id=ids.collection_id,
                text="secret",
                viewer=Viewer(principal_id=OWNER, role_ids=["boss"]),
            )
        assert caught.value.detail["path"] == "viewer_role_ids"
    assert before == [
        await result_of(read(store, tenant_id, ids, None)) for read in KNOWLEDGE_READS.values()
    ]


async def test_a_user_of_another_tenant_finds_nothing_b37(adapter: Adapter) -> None:
    store = adapter.store
    mine, theirs = await people(store), await people(store)
    ids = await fill_knowledge(store, theirs)
    async with adapter.user(mine, OWNER) as user:
        for name, read in KNOWLEDGE_READS.items():
            with pytest.raises(TenantMismatch):
                await read(user, theirs, ids, None)
            assert await result_of(read(user, mine, ids, None)) == await result_of(
                read(user, mine, ids.absent(), None)
            ), name
    async with adapter.user(fresh("nowhere"), OWNER) as user:
        for read in KNOWLEDGE_READS.values():
            with pytest.raises(StrongroomError):
                await read(user, theirs, ids, None)


async def test_a_viewer_of_another_tenant_is_refused(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await people(adapter.store)
    ids = await fill_knowledge(store, tenant_id)
    other = ExecutionContext(tenant_id=fresh(), principal_id=OWNER, request_id="r")
    for read in {**SOURCE_READS, **COLLECTION_SEARCHES}.values():
        with pytest.raises(TenantMismatch):
            await read(store, tenant_id, ids, other)
