"""Files: states that nobody skips, versions without gaps, bytes that are never forgotten."""

from __future__ import annotations

import asyncio
import random
import re
import string
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_files import SHA, stored
from strongroom.conformance.helpers import OWNER, STRANGER, fresh, new_talk, new_tenant, walk
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidCursor,
    InvalidTransition,
    LimitExceeded,
    NotFound,
    VersionConflict,
)
from strongroom.models import CreatedFile, Viewer


async def _file(
    store: Ports, tenant_id: str, path: str = "plan.txt", **fields: object
) -> CreatedFile:
    given: dict[str, Any] = {"owner_id": OWNER, "media_type": "text/plain", **fields}
    return await store.files.create(tenant_id=tenant_id, path=path, **given)


async def _keys(store: Ports, tenant_id: str) -> set[str]:
    """Return the keys whose bytes are to be removed."""
    page = await store.blob_removals.list(tenant_id=tenant_id, limit=500)
    return {removal.blob_key for removal in page.items}


async def test_a_file_is_pending_until_its_bytes_are_whole(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id = talk.tenant_id
    made = await _file(
        store,
        tenant_id,
        "notes/plan.txt",
        conversation_id=talk.id,
        created_by="bob",
        metadata={"colour": "red"},
    )
    assert (made.outcome, made.state, made.latest_version) == ("inserted", "pending", 1)
    assert (made.size_bytes, made.sha256, made.deleted_at) == (None, None, None)
    assert made.path == "notes/plan.txt"
    told = set(re.split(r"[^a-z0-9]+", made.blob_key.lower()))  # whole words: a UUID may hold "ada"
    assert not told & {OWNER, "bob", "notes", "plan"}
    version = await store.files.transition(
        tenant_id=tenant_id,
        file_id=made.id,
        version=1,
        from_state="pending",
        to_state="stored",
        size_bytes=7,
        sha256="a" * 64,
    )
    assert (version.state, version.size_bytes, version.sha256) == ("stored", 7, "a" * 64)
    assert (version.source, version.created_by, version.run_id) == ("uploaded", "bob", None)
    file = await store.files.get(tenant_id=tenant_id, file_id=made.id)
    assert (file.state, file.size_bytes, file.sha256) == ("stored", 7, "a" * 64)
    assert file.blob_key == made.blob_key == version.blob_key
    assert await store.files.get_version(tenant_id=tenant_id, file_id=made.id) == version
    assert await store.files.find(tenant_id=tenant_id, file_id="none") is None


async def test_a_repeated_create_is_known_by_its_id(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    first = await _file(store, tenant_id, file_id="f", metadata={"a": 1, "b": [1]})
    again = await _file(store, tenant_id, file_id="f", metadata={"b": [1], "a": 1})
    assert (first.outcome, again.outcome) == ("inserted", "duplicate")
    assert again.replace(outcome="inserted") == first, "with the key of the first call"
    others: list[dict[str, Any]] = [
        {"path": "other"},
        {"owner_id": "eve"},
        {"media_type": "text/html"},
        {"metadata": {"a": 2, "b": [1]}},
        {"blob_key": "mine"},
        {"created_by": "bob"},
    ]
    for other in others:
        with pytest.raises(AlreadyExists):
            await _file(
                store, tenant_id, **{"file_id": "f", "metadata": {"a": 1, "b": [1]}, **other}
            )
    # A repeat finds the file as it is by now.
    await stored(store, tenant_id, "f")
    assert (
        await _file(store, tenant_id, file_id="f", metadata={"a": 1, "b": [1]})
    ).state == "stored"
    await store.files.soft_delete(tenant_id=tenant_id, file_id="f")
    with pytest.raises(AlreadyExists):
        await _file(store, tenant_id, file_id="f", metadata={"a": 1, "b": [1]})
    assert len((await store.files.list(tenant_id=tenant_id, deleted=True)).items) == 1


STEPS = {
    ("pending", "stored"),
    ("pending", "deleting"),
    ("stored", "deleting"),
    ("deleting", "deleted"),
}
STATES = ["pending", "stored", "deleting", "deleted"]


async def _in_state(store: Ports, tenant_id: str, state: str) -> str:
    file = await _file(store, tenant_id)
    path = {
        "pending": [],
        "stored": ["stored"],
        "deleting": ["stored", "deleting"],
        "deleted": ["stored", "deleting", "deleted"],
    }[state]
    now = "pending"
    for following in path:
        await _step(store, tenant_id, file.id, now, following)
        now = following
    return file.id


async def _step(store: Ports, tenant_id: str, file_id: str, old: Any, new: Any) -> None:
    knows: dict[str, Any] = {"size_bytes": 3, "sha256": SHA} if new == "stored" else {}
    version = await store.files.transition(
        tenant_id=tenant_id,
        file_id=file_id,
        version=1,
        from_state=old,
        to_state=new,
        **knows,
    )
    assert version.state == new


@pytest.mark.parametrize("old", STATES)
@pytest.mark.parametrize("new", STATES)
async def test_there_are_no_other_steps(adapter: Adapter, old: str, new: str) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    file_id = await _in_state(store, tenant_id, old)
    before = await store.files.get(tenant_id=tenant_id, file_id=file_id)
    if (old, new) in STEPS:
        await _step(store, tenant_id, file_id, old, new)
        after = await store.files.get(tenant_id=tenant_id, file_id=file_id)
        # A repeat of the same step, whose answer was lost, changes nothing.
        await _step(store, tenant_id, file_id, old, new)
        assert await store.files.get(tenant_id=tenant_id, file_id=file_id) == after
        return
    with pytest.raises(InvalidTransition) as caught:
        await _step(store, tenant_id, file_id, old, new)
    assert caught.value.detail["current_state"] == old
    assert await store.files.get(tenant_id=tenant_id, file_id=file_id) == before


async def test_a_step_from_another_state_is_refused(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    file = await _file(store, tenant_id)
    place: dict[str, Any] = {"tenant_id": tenant_id, "file_id": file.id, "version": 1}
    await stored(store, tenant_id, file.id)
    others: list[dict[str, Any]] = [
        {"size_bytes": 4, "sha256": SHA},
        {"size_bytes": 3, "sha256": "1" * 64},
    ]
    for wrong in others:
        with pytest.raises(InvalidTransition):
            await store.files.transition(**place, from_state="pending", to_state="stored", **wrong)
    with pytest.raises(InvalidTransition) as caught:
        await store.files.transition(**place, from_state="pending", to_state="deleting")
    assert caught.value.detail["current_state"] == "stored"
    lacking: list[dict[str, Any]] = [{}, {"size_bytes": 3}, {"sha256": SHA}]
    for missing in lacking:
        with pytest.raises(InvalidArgument):
            await store.files.transition(
                **place, from_state="pending", to_state="stored", **missing
            )
    for wrong_hash in ("A" * 64, "0" * 63, "z" * 64):
        with pytest.raises(InvalidArgument):
            await store.files.transition(
                **place,
                from_state="pending",
                to_state="stored",
                size_bytes=3,
                sha256=wrong_hash,
            )
    with pytest.raises(NotFound):
        await store.files.transition(
            **{**place, "version": 2},
            from_state="stored",
            to_state="deleting",
        )


async def test_versions_are_contiguous_and_the_newest_stored_one_is_read(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    file = await _file(store, tenant_id)
    place: dict[str, Any] = {"tenant_id": tenant_id, "file_id": file.id}
    await stored(store, tenant_id, file.id)
    added = await store.files.add_version(
        **place,
        expected_latest=1,
        media_type="text/html",
        version_id="v2",
        source="generated",
        run_id="run",
        created_by="agent",
    )
    assert (added.outcome, added.version, added.state) == ("inserted", 2, "pending")
    assert (added.source, added.run_id, added.created_by) == ("generated", "run", "agent")
    again = await store.files.add_version(
        **place,
        expected_latest=1,
        media_type="text/html",
        version_id="v2",
        source="generated",
        run_id="run",
        created_by="agent",
    )
    assert again == added.replace(outcome="duplicate")
    with pytest.raises(AlreadyExists):
        await store.files.add_version(
            **place, expected_latest=2, media_type="text/html", version_id="v2"
        )
    for stale in (1, 3):
        with pytest.raises(VersionConflict) as caught:
            await store.files.add_version(**place, expected_latest=stale, media_type="text/html")
        assert caught.value.detail["current_version"] == 2
    latest = await store.files.get(**place)
    assert (latest.latest_version, latest.state, latest.media_type) == (2, "pending", "text/html")
    assert (await store.files.get_version(**place)).version == 1, "the newest that can be read"
    assert (await store.files.get_version(**place, version=2)).state == "pending"
    await stored(store, tenant_id, file.id, 2)
    assert (await store.files.get_version(**place)).version == 2
    with pytest.raises(NotFound):
        await store.files.get_version(**place, version=3)
    page = await store.files.list_versions(**place)
    assert [version.version for version in page.items] == [1, 2]


async def test_racing_versions_have_one_winner(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    file = await _file(store, tenant_id)
    place: dict[str, Any] = {"tenant_id": tenant_id, "file_id": file.id}
    calls = [
        store.files.add_version(**place, expected_latest=1, media_type=f"x/{number}")
        for number in range(6)
    ]
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(one, BaseException) for one in done) == 1
    assert all(isinstance(one, VersionConflict) for one in done if isinstance(one, BaseException))
    page = await store.files.list_versions(**place)
    assert [version.version for version in page.items] == [1, 2]


async def test_only_a_generated_version_has_a_run(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    for wrong in ({"source": "generated"}, {"run_id": "r"}, {"source": "uploaded", "run_id": "r"}):
        with pytest.raises(InvalidArgument) as caught:
            await _file(store, tenant_id, **wrong)
        assert caught.value.detail["path"] == "run_id"
    made = await _file(store, tenant_id, source="generated", run_id="r")
    version = await store.files.get_version(tenant_id=tenant_id, file_id=made.id, version=1)
    assert (version.source, version.run_id) == ("generated", "r")


async def test_extraction_is_recorded_once_and_bounded(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    file = await _file(store, tenant_id)
    record = store.files.record_extraction
    place: dict[str, Any] = {"tenant_id": tenant_id, "file_id": file.id}
    with pytest.raises(InvalidTransition) as caught:
        await record(**place, version=1, status="pending")
    assert caught.value.detail["current_state"] == "pending"
    await stored(store, tenant_id, file.id)
    begun = await record(**place, version=1, status="pending")
    assert begun.extraction_status == "pending"
    assert await record(**place, version=1, status="pending") == begun
    with pytest.raises(InvalidTransition) as stale:
        await record(**place, version=1, status="skipped")
    assert stale.value.detail["current_status"] == "pending"
    failed = await record(
        **place, version=1, status="failed", expected_status="pending", error={"code": "scan"}
    )
    assert failed.extraction_error == {"code": "scan"}
    done = await record(
        **place,
        version=1,
        status="done",
        expected_status="failed",
        summary="ä" * 16_384,
        blob_key="text-1",
    )
    assert done.extraction_summary == "ä" * 16_384
    assert (done.extraction_error, done.extraction_blob_key) == (None, "text-1")
    for wrong in (
        {"status": "failed"},
        {"status": "done", "error": {"code": "x"}},
        {"status": "pending", "summary": "x"},
        {"status": "skipped", "blob_key": "x"},
    ):
        with pytest.raises(InvalidArgument):
            await record(**place, version=1, expected_status="done", **wrong)
    too_long: list[dict[str, Any]] = [{"summary": "x" * 16_385}, {"blob_key": "x" * 1025}]
    for long in too_long:
        with pytest.raises(LimitExceeded):
            await record(**place, version=1, status="done", expected_status="done", **long)
    with pytest.raises(LimitExceeded):
        await record(
            **place, version=1, status="failed", expected_status="done", error={"x": "x" * 16_384}
        )
    assert await store.files.get_version(**place) == done
    # Another text takes its place, and the bytes of the first one are to be removed.
    await record(**place, version=1, status="done", expected_status="done", blob_key="text-2")
    assert await _keys(store, tenant_id) == {"text-1"}


async def test_whatever_deletes_a_version_schedules_its_bytes_b85(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id = talk.tenant_id
    keys = {}
    for way in ("step", "abandoned", "purge", "schedule", "conversation", "tenant"):
        place = talk.id if way == "schedule" else None
        if way == "conversation":
            place = (await new_talk(store, tenant_id)).id
        file = await _file(store, tenant_id, way, conversation_id=place, blob_key=f"{way}-1")
        if way != "abandoned":
            await stored(store, tenant_id, file.id)
            await store.files.record_extraction(
                tenant_id=tenant_id,
                file_id=file.id,
                version=1,
                status="done",
                blob_key=f"{way}-text",
            )
        keys[way] = (file.id, place)
    expected: set[str] = set()

    async def now_on_the_list(way: str, *, text: bool = True) -> None:
        expected.update({f"{way}-1", f"{way}-text"} if text else {f"{way}-1"})
        assert await _keys(store, tenant_id) == expected, way

    assert await _keys(store, tenant_id) == set()
    await _step(store, tenant_id, keys["step"][0], "stored", "deleting")
    await now_on_the_list("step")
    await _step(store, tenant_id, keys["abandoned"][0], "pending", "deleting")
    await now_on_the_list("abandoned", text=False)
    receipt = await store.files.purge(tenant_id=tenant_id, file_id=keys["purge"][0])
    assert receipt.tables == {"files": 1, "file_versions": 1}
    await now_on_the_list("purge")
    done = await store.files.schedule_conversation_deletion(
        tenant_id=tenant_id, conversation_id=talk.id
    )
    assert (done.files, done.versions) == (1, 1)
    await now_on_the_list("schedule")
    again = await store.files.schedule_conversation_deletion(
        tenant_id=tenant_id, conversation_id=talk.id
    )
    assert (again.files, again.versions) == (0, 0)
    conversation = keys["conversation"][1]
    assert conversation is not None
    purged = await store.conversations.purge(tenant_id=tenant_id, conversation_id=conversation)
    assert (purged.tables["files"], purged.tables["file_versions"]) == (1, 1)
    await now_on_the_list("conversation")
    gone = await store.tenants.purge(tenant_id=tenant_id)
    assert gone.tables["files"] == 4
    await now_on_the_list("tenant")


async def test_a_version_is_deleted_when_its_bytes_are_gone_b85(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    file_id = await _in_state(store, tenant_id, "deleting")
    place: dict[str, Any] = {"tenant_id": tenant_id, "file_id": file_id}
    assert (await store.files.queue(tenant_id=tenant_id)).deleting == 1
    (claimed,) = await store.blob_removals.claim(worker_id="sweep", tenant_id=tenant_id)
    # The store fails once: nothing is lost.
    await store.blob_removals.retry_later(removals=[claimed.failed("down")], delay_seconds=0)
    assert (await store.files.get(**place)).state == "deleting"
    (claimed,) = await store.blob_removals.claim(worker_id="sweep", tenant_id=tenant_id)
    await store.blob_removals.complete(removals=[claimed.claim])
    assert (await store.files.get(**place)).state == "deleted"
    assert (await store.files.get_version(**place, version=1)).state == "deleted"
    assert (await store.files.queue(tenant_id=tenant_id)).deleting == 0
    # The file itself is still known, and may get new bytes.
    added = await store.files.add_version(**place, expected_latest=1, media_type="text/plain")
    assert added.version == 2


async def test_bytes_that_two_refer_to_go_with_the_last(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    removals = store.blob_removals
    first = await _file(store, tenant_id, "first", blob_key="shared")
    second = await _file(store, tenant_id, "second", blob_key="shared")
    with pytest.raises(InvalidTransition):
        await removals.schedule(tenant_id=tenant_id, blob_key="shared")
    await store.files.purge(tenant_id=tenant_id, file_id=first.id)
    assert await removals.claim(worker_id="sweep", tenant_id=tenant_id) == ()
    assert await _keys(store, tenant_id) == set(), "it has left the list"
    await store.files.purge(tenant_id=tenant_id, file_id=second.id)
    # Referred to once more before any sweep: it leaves the list at once.
    third = await _file(store, tenant_id, "third", blob_key="shared")
    assert await _keys(store, tenant_id) == set()
    await store.files.purge(tenant_id=tenant_id, file_id=third.id)
    (claimed,) = await removals.claim(worker_id="sweep", tenant_id=tenant_id)
    assert claimed.blob_key == "shared"
    # Being removed, it cannot be referred to, by a file, a version, or a text.
    other = await _file(store, tenant_id, "other")
    await stored(store, tenant_id, other.id)
    place: dict[str, Any] = {"tenant_id": tenant_id, "file_id": other.id}
    for call in (
        _file(store, tenant_id, "late", blob_key="shared"),
        store.files.add_version(
            **place, expected_latest=1, media_type="text/plain", blob_key="shared"
        ),
        store.files.record_extraction(**place, version=1, status="done", blob_key="shared"),
    ):
        with pytest.raises(InvalidTransition) as caught:
            await call
        assert caught.value.detail["path"] == "blob_key"
    assert len((await store.files.list(tenant_id=tenant_id)).items) == 1
    await removals.complete(removals=[claimed.claim])
    assert (await _file(store, tenant_id, "anew", blob_key="shared")).state == "pending"


async def test_soft_delete_hides_and_restore_brings_back(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    file = await _file(store, tenant_id)
    await stored(store, tenant_id, file.id)
    files = store.files
    place: dict[str, Any] = {"tenant_id": tenant_id, "file_id": file.id}
    before = await files.get(**place)
    deleted = await files.soft_delete(**place)
    assert deleted.deleted_at is not None
    assert await files.soft_delete(**place) == deleted
    assert await files.find(**place) is None
    assert (await files.list(tenant_id=tenant_id)).items == ()
    # A reference still resolves, for the host, to something that says it is deleted.
    assert await files.get(**place, deleted=True) == deleted
    assert (await files.list(tenant_id=tenant_id, deleted=True)).items == (deleted,)
    viewer = Viewer(principal_id=OWNER)
    assert await files.find(**place, deleted=True, viewer=viewer) is None
    assert (await files.list(tenant_id=tenant_id, deleted=True, viewer=viewer)).items == ()
    for late in (
        files.get_version(**place),
        files.list_versions(**place),
        files.add_version(**place, expected_latest=1, media_type="x"),
        files.transition(**place, version=1, from_state="stored", to_state="deleting"),
        files.record_extraction(**place, version=1, status="skipped"),
    ):
        with pytest.raises(NotFound):
            await late
    assert await _keys(store, tenant_id) == set(), "its bytes stay"
    restored = await files.restore(**place)
    assert restored == before.replace(updated_at=restored.updated_at)
    assert await files.restore(**place) == restored
    assert await files.find(**place, deleted=True) is None


async def test_a_file_without_bytes_does_not_come_back(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    file = await _file(store, talk.tenant_id, conversation_id=talk.id)
    where = {"tenant_id": talk.tenant_id, "conversation_id": talk.id}
    # Also of a conversation that is soft-deleted already, which is when it is wanted.
    await store.conversations.soft_delete(**where)
    assert (await store.files.schedule_conversation_deletion(**where)).versions == 1
    await store.conversations.restore(**where)
    with pytest.raises(InvalidTransition):
        await store.files.restore(tenant_id=talk.tenant_id, file_id=file.id)
    with pytest.raises(NotFound):
        await store.files.schedule_conversation_deletion(
            tenant_id=talk.tenant_id, conversation_id="none"
        )


async def test_purging_twice_or_what_is_not_there_deletes_nothing_b87(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    file = await _file(store, tenant_id)
    await store.files.soft_delete(tenant_id=tenant_id, file_id=file.id)
    assert (await store.files.purge(tenant_id=tenant_id, file_id=file.id)).purged
    assert not (await store.files.purge(tenant_id=tenant_id, file_id=file.id)).purged
    assert not (await store.files.purge(tenant_id=tenant_id, file_id="none")).purged
    other = await new_tenant(store)
    await _file(store, other, file_id="theirs")
    assert not (await store.files.purge(tenant_id=tenant_id, file_id="theirs")).purged
    for call in (store.files.soft_delete, store.files.restore):
        with pytest.raises(NotFound):
            await call(tenant_id=tenant_id, file_id="theirs")
    assert (await store.files.get(tenant_id=other, file_id="theirs")).deleted_at is None
    # The id of a purged file is free, and its new bytes have a key of their own.
    anew = await _file(store, tenant_id, file_id=file.id)
    assert anew.outcome == "inserted"
    assert anew.blob_key != file.blob_key


async def test_stuck_uploads_are_found(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id = talk.tenant_id
    stuck = await _file(store, tenant_id, "stuck", conversation_id=talk.id)
    hidden = await _file(store, tenant_id, "hidden")
    whole = await _file(store, tenant_id, "whole")
    await stored(store, tenant_id, whole.id)
    await store.files.soft_delete(tenant_id=tenant_id, file_id=hidden.id)
    await store.conversations.soft_delete(tenant_id=tenant_id, conversation_id=talk.id)
    page = await store.files.list_by_state(tenant_id=tenant_id, state="pending")
    assert [version.file_id for version in page.items] == [stuck.id, hidden.id]
    old = await store.files.list_by_state(
        tenant_id=tenant_id, state="pending", older_than_seconds=600
    )
    assert old.items == ()
    queue = await store.files.queue(tenant_id=tenant_id, overdue_seconds=0)
    assert (queue.pending, queue.overdue) == (2, 2)
    assert queue.oldest_pending_at == page.items[0].state_changed_at
    assert (await store.files.queue(tenant_id=tenant_id)).overdue == 0
    first = await store.files.list_by_state(tenant_id=tenant_id, state="pending", limit=1)
    for other in ({"state": "stored"}, {"state": "pending", "older_than_seconds": 1.0}):
        with pytest.raises(InvalidCursor):
            await store.files.list_by_state(tenant_id=tenant_id, after=first.next_cursor, **other)


PATHS = ["john_doe", "john-doe", "johnXdoe", "user_1", "user_10", "100%", "100 %", "a\\b", "a", "ä"]


async def test_a_prefix_means_itself_and_ends_with_a_segment_b39(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    names = [*PATHS, *(f"{path}/x" for path in PATHS), *(f"{path}/x/y z" for path in PATHS)]
    for name in (*names, "a/bc", "a/b"):
        await _file(store, tenant_id, name)
    for prefix in (*PATHS, "a/b", "a/x", "john_doe/x", "none"):
        rows = await walk(
            lambda p=prefix, **page: store.files.list(tenant_id=tenant_id, path_prefix=p, **page),
            limit=3,
        )
        wanted = [
            name
            for name in (*names, "a/bc", "a/b")
            if name == prefix or name.startswith(f"{prefix}/")
        ]
        assert sorted(row.path for row in rows) == sorted(wanted), prefix
    for wrong in ("", "a/", "/a"):
        with pytest.raises(InvalidArgument) as caught:
            await store.files.list(tenant_id=tenant_id, path_prefix=wrong)
        assert caught.value.detail["path"] == "path_prefix"
    cursor = (await store.files.list(tenant_id=tenant_id, path_prefix="a", limit=1)).next_cursor
    with pytest.raises(InvalidCursor):
        await store.files.list(tenant_id=tenant_id, path_prefix="ä", after=cursor)


async def test_long_paths_are_found_or_refused_b53(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    letters = string.ascii_letters + "äöüß€😀"
    longest = ["".join(random.choices(letters, k=1024)), "😀" * 1023 + "x", "😀" * 1023 + "y"]
    for path in longest:
        made = await _file(store, tenant_id, path)
        page = await store.files.list(tenant_id=tenant_id, path_prefix=path)
        assert [file.id for file in page.items] == [made.id]
    for length in (1025, 5_000):
        with pytest.raises(LimitExceeded) as caught:
            await _file(store, tenant_id, "".join(random.choices(letters, k=length)))
        assert caught.value.detail["path"] == "path"
        with pytest.raises(LimitExceeded):
            await store.files.list(tenant_id=tenant_id, path_prefix="x" * length)
    for wrong in ("", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/."):
        with pytest.raises(InvalidArgument) as refused:
            await _file(store, tenant_id, wrong)
        assert refused.value.detail["path"] == "path", wrong
    for fine in ("...", "a b", ".env", "a..b", "C:\\x", "a\nb", "*", "~", "a/...", "名前/ü"):
        assert (await _file(store, tenant_id, fine)).path == fine
    # Several files may have one path: it is what they are called, not what they are.
    await _file(store, tenant_id, "twice")
    await _file(store, tenant_id, "twice")
    assert len((await store.files.list(tenant_id=tenant_id, path_prefix="twice")).items) == 2


async def test_a_file_without_a_conversation_is_its_owners(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id = talk.tenant_id
    mine = await _file(store, tenant_id, "mine")
    theirs = await _file(store, tenant_id, "theirs", owner_id=STRANGER)
    shared = await _file(store, tenant_id, "shared", owner_id=STRANGER, conversation_id=talk.id)
    await stored(store, tenant_id, mine.id)
    files = store.files
    for viewer, readable in ((OWNER, {mine.id, shared.id}), (STRANGER, {theirs.id})):
        eyes = Viewer(principal_id=viewer)
        rows = (await files.list(tenant_id=tenant_id, viewer=eyes)).items
        assert {row.id for row in rows} == readable, viewer
        for file in (mine, theirs, shared):
            found = await files.find(tenant_id=tenant_id, file_id=file.id, viewer=eyes)
            assert (found is not None) == (file.id in readable)
            if file.id not in readable:
                with pytest.raises(NotFound):
                    await files.list_versions(tenant_id=tenant_id, file_id=file.id, viewer=eyes)
    owned = await files.list(tenant_id=tenant_id, owner_id=STRANGER)
    assert {row.id for row in owned.items} == {theirs.id, shared.id}
    of_talk = await files.list(tenant_id=tenant_id, conversation_id=talk.id)
    assert [row.id for row in of_talk.items] == [shared.id]
    with pytest.raises(NotFound):
        await files.list(
            tenant_id=tenant_id, conversation_id=talk.id, viewer=Viewer(principal_id=STRANGER)
        )
    async with adapter.user(tenant_id, OWNER) as user:
        assert {row.id for row in (await user.files.list(tenant_id=tenant_id)).items} == {
            mine.id,
            shared.id,
        }
        assert (await user.files.get_version(tenant_id=tenant_id, file_id=mine.id)).version == 1
        assert await user.files.find(tenant_id=tenant_id, file_id=theirs.id) is None


async def test_files_join_a_unit_of_work(adapter: Adapter) -> None:
    adapter.needs("transactions")
    store, talk = adapter.store, await new_talk(adapter.store)
    tenant_id = talk.tenant_id
    kept = await _file(store, tenant_id, "kept", blob_key=fresh("key"))
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 (a unit of work is a block)
        async with store.unit_of_work(tenant_id=tenant_id) as uow:
            await _file(uow, tenant_id, "lost")
            await uow.files.purge(tenant_id=tenant_id, file_id=kept.id)
            await uow.conversations.purge(tenant_id=tenant_id, conversation_id=talk.id)
            raise ZeroDivisionError
    assert await _keys(store, tenant_id) == set(), "the list goes back with the rest"
    rows = (await store.files.list(tenant_id=tenant_id)).items
    assert [row.id for row in rows] == [kept.id]
