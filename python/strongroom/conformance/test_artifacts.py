"""Artifacts: immutable contiguous versions, names, owners, provenance, and how they go."""

from __future__ import annotations

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_artifacts import HTML, Described
from strongroom.conformance.helpers import (
    OWNER,
    STRANGER,
    PageOf,
    at,
    fresh,
    new_talk,
    new_tenant,
    walk,
)
from strongroom.conformance.run_helpers import claimed, everything_of, held, where
from strongroom.conformance.test_late_workers import STALE, outdated
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    LimitExceeded,
    NotFound,
    StaleClaim,
    VersionConflict,
)
from strongroom.models import (
    Artifact,
    Conversation,
    ExecutionContext,
    Provenance,
    Viewer,
)

INLINE_BYTES = 4_194_304


def place(artifact: Artifact) -> Described:
    """Return the artifact's place."""
    return Described(tenant_id=artifact.tenant_id, artifact_id=artifact.id)


def plain(artifact: Artifact) -> Artifact:
    """Return the artifact without what became of its create."""
    return Artifact(**{name: getattr(artifact, name) for name in Artifact.model_fields})


async def made(store: Ports, talk: Conversation | None = None, name: str = "a.md") -> Artifact:
    """Create an artifact with a text of its name."""
    return await store.artifacts.create(**at(talk or await new_talk(store)), name=name, text=name)


# The record


async def test_a_repeated_create_is_known_b07(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    other = await new_talk(store, talk.tenant_id)
    first = await store.artifacts.create(
        **at(talk), name="a", artifact_id="x", text="one", metadata={"a": 1, "b": 2}
    )
    again = await store.artifacts.create(
        **at(talk), name="a", artifact_id="x", text="one", metadata={"b": 2, "a": 1}
    )
    assert (first.outcome, again) == ("inserted", first.replace(outcome="duplicate"))
    for call in (
        store.artifacts.create(**at(talk), name="a", artifact_id="x", text="two"),
        store.artifacts.create(**at(other), name="a", artifact_id="x", text="one"),
        store.artifacts.create(**at(talk), name="b", artifact_id="x", text="one"),
    ):
        with pytest.raises(AlreadyExists):
            await call
    assert (await store.artifacts.list(tenant_id=talk.tenant_id)).items == (plain(first),)
    elsewhere = await new_talk(store)
    theirs = await store.artifacts.create(**at(elsewhere), name="a", artifact_id="x", text="theirs")
    assert theirs.outcome == "inserted"
    assert (await store.artifacts.get_version(**place(first))).text == "one"


async def test_a_name_names_one_living_artifact(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    other = await new_talk(store, talk.tenant_id)
    first = await made(store, talk, "a")
    with pytest.raises(AlreadyExists) as caught:
        await made(store, talk, "a")
    assert caught.value.detail["path"] == "name"
    await made(store, other, "a")
    for owner in (OWNER, STRANGER):
        await store.artifacts.create(tenant_id=talk.tenant_id, owner_id=owner, name="a", text="x")
    with pytest.raises(AlreadyExists):
        await store.artifacts.create(tenant_id=talk.tenant_id, owner_id=OWNER, name="a", text="y")
    deleted = await store.artifacts.soft_delete(**place(first))
    assert deleted.deleted_at is not None
    second = await made(store, talk, "a")
    with pytest.raises(AlreadyExists) as taken:
        await store.artifacts.restore(**place(first))
    assert taken.value.detail["path"] == "name"
    await store.artifacts.purge(**place(second))
    restored = await store.artifacts.restore(**place(first))
    assert (restored.deleted_at, restored.version) == (None, 3)


async def test_an_update_names_the_version_that_was_read(adapter: Adapter) -> None:
    store, artifact = adapter.store, await made(adapter.store)
    changed = await store.artifacts.update(
        **place(artifact), expected_version=1, title="Notes", metadata={"k": [1]}
    )
    assert (changed.title, changed.metadata, changed.version) == ("Notes", {"k": [1]}, 2)
    cleared = await store.artifacts.update(**place(artifact), expected_version=2, title=None)
    assert (cleared.title, cleared.metadata, cleared.version) == (None, {"k": [1]}, 3)
    with pytest.raises(VersionConflict) as caught:
        await store.artifacts.update(**place(artifact), expected_version=2, title="late")
    assert caught.value.detail["current_version"] == 3
    with pytest.raises(LimitExceeded):
        await store.artifacts.update(
            **place(artifact), expected_version=3, metadata={"k": "x" * 16_384}
        )
    assert await store.artifacts.get(**place(artifact)) == cleared


async def test_prefixes_are_literal_and_end_with_a_segment_b39(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    names = ["john_doe", "john_doe/a", "john-doe", "johnxdoe", "user_1", "user_1/n", "user_10"]
    names += ["100%", "100%/x", "100x", "a\\b", "a\\b/c", "a\\\\b", "a/b", "a/b/c", "a/bc", "A/b/c"]
    for name in names:
        await made(store, talk, name)
    expected = {
        "john_doe": {"john_doe", "john_doe/a"},
        "user_1": {"user_1", "user_1/n"},
        "100%": {"100%", "100%/x"},
        "a\\b": {"a\\b", "a\\b/c"},
        "a/b": {"a/b", "a/b/c"},
        "a/b/": {"a/b/c"},
        "a": {"a/b", "a/b/c", "a/bc"},
        "%": set(),
        "_": set(),
        "user": set(),
    }
    for prefix, found in expected.items():
        page = await store.artifacts.list(**at(talk), name_prefix=prefix)
        assert {a.name for a in page.items} == found, prefix
    for name in names:
        page = await store.artifacts.list(**at(talk), name=name)
        assert [a.name for a in page.items] == [name]
    assert (await store.artifacts.list(**at(talk), name="a")).items == ()


async def test_pages_are_newest_first_and_filtered_b41(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    first, second = await new_talk(store, tenant_id), await new_talk(store, tenant_id)
    for talk in (first, second):
        for number in range(4):
            await made(store, talk, f"n/{number}")
    for number in range(3):
        await store.artifacts.create(
            tenant_id=tenant_id, owner_id=STRANGER, name=f"n/{number}", text="x"
        )
    lists: list[tuple[PageOf, int]] = [
        (lambda **page: store.artifacts.list(tenant_id=tenant_id, **page), 11),
        (lambda **page: store.artifacts.list(**at(first), **page), 4),
        (
            lambda **page: store.artifacts.list(
                tenant_id=tenant_id, owner_id=STRANGER, name_prefix="n", **page
            ),
            3,
        ),
        (
            lambda **page: store.artifacts.list(
                tenant_id=tenant_id, viewer=Viewer(principal_id=OWNER), **page
            ),
            8,
        ),
        (
            lambda **page: store.artifacts.list(
                tenant_id=tenant_id, viewer=Viewer(principal_id=STRANGER), **page
            ),
            3,
        ),
    ]
    for page_of, count in lists:
        rows = await walk(page_of, limit=2, back=True)
        order = [(row.created_at, row.id) for row in rows]
        assert (len(rows), order) == (count, sorted(order, reverse=True))
        assert await walk(page_of, limit=3, direction="backward", back=True) == rows[::-1]


async def test_pages_of_versions_are_oldest_first_b41(adapter: Adapter) -> None:
    store, artifact = adapter.store, await made(adapter.store)
    for latest in range(1, 7):
        await store.artifacts.add_version(**place(artifact), expected_latest=latest, text="x")

    def page_of(**page: object) -> object:
        return store.artifacts.list_versions(**place(artifact), **page)  # type: ignore[arg-type]

    rows = await walk(page_of, limit=2, back=True)  # type: ignore[arg-type]
    assert [row.version for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    backward = await walk(page_of, limit=2, direction="backward", back=True)  # type: ignore[arg-type]
    assert backward == rows[::-1]


# Owners


async def test_an_artifact_has_a_conversation_or_an_owner(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for call in (
        store.artifacts.create(tenant_id=talk.tenant_id, name="a", text="x"),
        store.artifacts.create(**at(talk), owner_id=OWNER, name="a", text="x"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            await call
        assert caught.value.detail["path"] == "conversation_id"
    assert (await store.artifacts.list(tenant_id=talk.tenant_id)).items == ()


async def test_what_has_an_owner_is_read_by_the_owner_alone(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    artifact = await store.artifacts.create(
        tenant_id=tenant_id, owner_id=OWNER, name="diary.md", text="dear diary"
    )
    claim = await store.artifacts.claim_export(**place(artifact), **HTML, worker_id="w")
    kept = plain(artifact)
    owner = ExecutionContext(tenant_id=tenant_id, principal_id=OWNER, request_id="r")
    assert await store.artifacts.find(**place(artifact), viewer=owner) == kept
    assert (await store.artifacts.list(tenant_id=tenant_id, viewer=owner)).items == (kept,)
    version = await store.artifacts.get_version(**place(artifact), viewer=owner)
    assert version.text == "dear diary"
    export = await store.artifacts.find_export(**place(artifact), **HTML, viewer=owner)
    assert export is not None
    assert export.claim_token == claim.claim_token
    stranger = Viewer(principal_id=STRANGER)
    assert await store.artifacts.find(**place(artifact), viewer=stranger) is None
    assert (await store.artifacts.list(tenant_id=tenant_id, viewer=stranger)).items == ()
    for call in (
        store.artifacts.get(**place(artifact), viewer=stranger),
        store.artifacts.get_version(**place(artifact), viewer=stranger),
        store.artifacts.list_versions(**place(artifact), viewer=stranger),
        store.artifacts.find_export(**place(artifact), **HTML, viewer=stranger),
    ):
        with pytest.raises(NotFound):
            await call


async def test_a_signed_in_user_reads_what_they_own(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    artifact = await store.artifacts.create(
        tenant_id=tenant_id, owner_id=OWNER, name="diary.md", text="dear diary"
    )
    async with adapter.user(tenant_id, OWNER) as user:
        assert (await user.artifacts.list(tenant_id=tenant_id)).items == (plain(artifact),)
        assert (await user.artifacts.get_version(**place(artifact))).text == "dear diary"
    async with adapter.user(tenant_id, STRANGER) as user:
        assert (await user.artifacts.list(tenant_id=tenant_id)).items == ()
        assert await user.artifacts.find(**place(artifact)) is None
        with pytest.raises(NotFound):
            await user.artifacts.get_version(**place(artifact))


# Deletion


async def test_a_soft_deleted_artifact_is_hidden_and_comes_back(adapter: Adapter) -> None:
    store, artifact = adapter.store, await made(adapter.store)
    await store.artifacts.add_version(**place(artifact), expected_latest=1, text="two")
    deleted = await store.artifacts.soft_delete(**place(artifact))
    assert (deleted.version, deleted.latest_version) == (2, 2)
    assert await store.artifacts.soft_delete(**place(artifact)) == deleted
    assert await store.artifacts.find(**place(artifact)) is None
    assert (await store.artifacts.list(tenant_id=artifact.tenant_id)).items == ()
    assert await store.artifacts.get(**place(artifact), deleted=True) == deleted
    listed = await store.artifacts.list(tenant_id=artifact.tenant_id, deleted=True)
    assert listed.items == (deleted,)
    owner = Viewer(principal_id=OWNER)
    assert await store.artifacts.find(**place(artifact), deleted=True, viewer=owner) is None
    hidden = await store.artifacts.list(tenant_id=artifact.tenant_id, deleted=True, viewer=owner)
    assert hidden.items == ()
    for call in (
        store.artifacts.get_version(**place(artifact)),
        store.artifacts.list_versions(**place(artifact)),
        store.artifacts.add_version(**place(artifact), expected_latest=2, text="late"),
        store.artifacts.update(**place(artifact), title="late", expected_version=2),
        store.artifacts.claim_export(**place(artifact), **HTML, worker_id="late"),
    ):
        with pytest.raises(NotFound):
            await call
    restored = await store.artifacts.restore(**place(artifact))
    assert (restored.version, restored.deleted_at) == (3, None)
    assert await store.artifacts.restore(**place(artifact)) == restored
    assert (await store.artifacts.get_version(**place(artifact))).text == "two"


async def test_a_purge_takes_versions_and_exports_and_says_so_b87(adapter: Adapter) -> None:
    store, artifact = adapter.store, await made(adapter.store)
    kept = await made(store, await new_talk(store, artifact.tenant_id))
    await store.artifacts.add_version(**place(artifact), expected_latest=1, text="two")
    await store.artifacts.claim_export(**place(artifact), **HTML, worker_id="w")
    await store.artifacts.soft_delete(**place(artifact))
    receipt = await store.artifacts.purge(**place(artifact))
    assert receipt.tables == {"artifacts": 1, "artifact_versions": 2, "artifact_exports": 1}
    for gone in (place(artifact), Described(tenant_id=artifact.tenant_id, artifact_id=fresh())):
        again = await store.artifacts.purge(**gone)
        assert not again.purged
        assert again.tables.keys() == receipt.tables.keys()
        for call in (store.artifacts.soft_delete(**gone), store.artifacts.restore(**gone)):
            with pytest.raises(NotFound):
                await call
    theirs = Described(tenant_id=await new_tenant(store), artifact_id=kept.id)
    assert not (await store.artifacts.purge(**theirs)).purged
    assert await store.artifacts.get(**place(kept)) == plain(kept)
    anew = await store.artifacts.create(
        tenant_id=artifact.tenant_id,
        owner_id=OWNER,
        name="a.md",
        text="new",
        artifact_id=artifact.id,
    )
    assert (anew.outcome, anew.latest_version) == ("inserted", 1)


async def test_a_purged_conversation_takes_its_artifacts(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    artifact = await made(store, talk)
    await store.artifacts.claim_export(**place(artifact), **HTML, worker_id="w")
    mine = await store.artifacts.create(
        tenant_id=talk.tenant_id, owner_id=OWNER, name="mine", text="x"
    )
    await store.tool_outputs.put(**at(talk), text="x")
    receipt = await store.conversations.purge(**at(talk))
    names = ("artifacts", "artifact_versions", "artifact_exports", "tool_outputs")
    assert {name: receipt.tables[name] for name in names} == dict.fromkeys(names, 1)
    listed = await store.artifacts.list(tenant_id=talk.tenant_id)
    assert listed.items == (plain(mine),)


# On behalf of a run


@pytest.mark.parametrize("how", STALE)
async def test_a_late_worker_makes_no_artifact_b21(adapter: Adapter, how: str) -> None:
    store = adapter.store
    run, late, _ = await outdated(adapter, how)
    artifact = await store.artifacts.create(**where(run), name="a", text="x")
    before = await everything_of(store, run)
    token, provenance = late["claim_token"], Provenance(run_id=run.id)
    for call in (
        store.artifacts.create(
            **where(run), name="late", text="x", provenance=provenance, claim_token=token
        ),
        store.artifacts.create(
            tenant_id=run.tenant_id,
            owner_id=OWNER,
            name="late",
            text="x",
            provenance=provenance,
            claim_token=token,
        ),
        store.artifacts.add_version(
            **place(artifact),
            expected_latest=1,
            text="late",
            provenance=provenance,
            claim_token=token,
        ),
    ):
        with pytest.raises(StaleClaim):
            await call
    assert await everything_of(store, run) == before
    assert len((await store.artifacts.list(tenant_id=run.tenant_id)).items) == 1


async def test_who_holds_the_run_makes_artifacts_of_its_conversation(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    token = held(run)["claim_token"]
    provenance = Provenance(run_id=run.id, tool_call_id="c")
    artifact = await store.artifacts.create(
        **where(run), name="a", text="x", provenance=provenance, claim_token=token
    )
    added = await store.artifacts.add_version(
        **place(artifact), expected_latest=1, text="y", provenance=provenance, claim_token=token
    )
    assert (added.run_id, added.tool_call_id) == (run.id, "c")
    other = await made(store, await new_talk(store, run.tenant_id))
    for call in (
        store.artifacts.create(
            **at(await new_talk(store, run.tenant_id)),
            name="a",
            text="x",
            provenance=provenance,
            claim_token=token,
        ),
        store.artifacts.add_version(
            **place(other), expected_latest=1, text="x", provenance=provenance, claim_token=token
        ),
        store.artifacts.create(**where(run), name="b", text="x", claim_token=token),
    ):
        with pytest.raises(InvalidArgument) as caught:
            await call
        assert caught.value.detail["path"].endswith("run_id")
    with pytest.raises(NotFound):
        await store.artifacts.create(
            **where(run),
            name="b",
            text="x",
            provenance=Provenance(run_id="none"),
            claim_token=token,
        )
    assert (await store.artifacts.get(**place(other))).latest_version == 1
