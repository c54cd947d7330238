"""Bytes of artifacts, exports and tool outputs: kept while a record refers to them, then removed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Awaitable, Callable

import pytest

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_artifacts import HTML, Described, blob_of
from strongroom.conformance.helpers import OWNER, Where, at, new_talk
from strongroom.errors import InvalidTransition

PAST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)

Refer = Callable[[Ports, Where, str], Awaitable[object]]


async def _as_artifact(store: Ports, where: Where, key: str) -> object:
    return await store.artifacts.create(
        **where, name=key, artifact_id=f"a-{key}", blob=blob_of(b"x", key)
    )


async def _as_version(store: Ports, where: Where, key: str) -> object:
    made = await store.artifacts.create(**where, name=key, artifact_id=f"v-{key}", text="x")
    of = Described(tenant_id=where["tenant_id"], artifact_id=made.id)
    return await store.artifacts.add_version(**of, expected_latest=1, blob=blob_of(b"x", key))


async def _as_export(store: Ports, where: Where, key: str) -> object:
    made = await store.artifacts.create(**where, name=key, artifact_id=f"e-{key}", text="x")
    of = Described(tenant_id=where["tenant_id"], artifact_id=made.id)
    claim = await store.artifacts.claim_export(**of, **HTML, worker_id="w")
    return await store.artifacts.finish_export(
        **of, **HTML, claim_token=claim.claim_token, blob=blob_of(b"x", key)
    )


async def _as_output(store: Ports, where: Where, key: str) -> object:
    return await store.tool_outputs.put(**where, blob=blob_of(key.encode(), key), expires_at=PAST)


REFER: dict[str, Refer] = {
    "an artifact": _as_artifact,
    "a later version": _as_version,
    "an export": _as_export,
    "a tool output": _as_output,
}


async def _keys_to_remove(store: Ports, tenant_id: str) -> list[str]:
    claimed = await store.blob_removals.claim(worker_id="w", tenant_id=tenant_id, limit=500)
    return sorted(removal.blob_key for removal in claimed)


@pytest.mark.parametrize("what", sorted(REFER))
async def test_a_purged_conversation_schedules_its_bytes_b85(adapter: Adapter, what: str) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await REFER[what](store, at(talk), "gone")
    assert await _keys_to_remove(store, talk.tenant_id) == []
    await store.conversations.soft_delete(**at(talk))
    assert await _keys_to_remove(store, talk.tenant_id) == []
    await store.conversations.purge(**at(talk))
    assert await _keys_to_remove(store, talk.tenant_id) == ["gone"]


@pytest.mark.parametrize("what", sorted(REFER))
async def test_a_purged_tenant_schedules_its_bytes_b85(adapter: Adapter, what: str) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await REFER[what](store, at(talk), "gone")
    await store.tenants.purge(tenant_id=talk.tenant_id)
    assert await _keys_to_remove(store, talk.tenant_id) == ["gone"]


async def test_a_purged_artifact_schedules_the_bytes_of_all_versions_and_exports_b85(
    adapter: Adapter,
) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    made = await store.artifacts.create(
        tenant_id=talk.tenant_id, owner_id=OWNER, name="a", blob=blob_of(b"1", "one")
    )
    of = Described(tenant_id=talk.tenant_id, artifact_id=made.id)
    await store.artifacts.add_version(**of, expected_latest=1, blob=blob_of(b"2", "two"))
    await store.artifacts.add_version(**of, expected_latest=2, blob=blob_of(b"1", "one"))
    claim = await store.artifacts.claim_export(**of, **HTML, worker_id="w")
    await store.artifacts.finish_export(
        **of, **HTML, claim_token=claim.claim_token, blob=blob_of(b"3", "three")
    )
    await _as_output(store, at(talk), "other")
    await store.artifacts.soft_delete(**of)
    assert await _keys_to_remove(store, talk.tenant_id) == []
    await store.artifacts.purge(**of)
    assert await _keys_to_remove(store, talk.tenant_id) == ["one", "three", "two"]


async def test_an_expired_output_schedules_its_bytes_b85(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await _as_output(store, at(talk), "old")
    assert await store.tool_outputs.expire(tenant_id=talk.tenant_id) == 1
    assert await _keys_to_remove(store, talk.tenant_id) == ["old"]


@pytest.mark.parametrize("what", sorted(REFER))
async def test_bytes_that_another_record_refers_to_stay_b85(adapter: Adapter, what: str) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    other = await new_talk(store, talk.tenant_id)
    await _as_output(store, at(talk), "shared")
    await REFER[what](store, at(other), "shared")
    await store.conversations.purge(**at(talk))
    assert await _keys_to_remove(store, talk.tenant_id) == []
    with pytest.raises(InvalidTransition):
        await store.blob_removals.schedule(tenant_id=talk.tenant_id, blob_key="shared")
    await store.conversations.purge(**at(other))
    assert await _keys_to_remove(store, talk.tenant_id) == ["shared"]


@pytest.mark.parametrize("what", sorted(REFER))
async def test_bytes_that_are_being_removed_are_not_referred_to_b85(
    adapter: Adapter, what: str
) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await store.blob_removals.schedule(tenant_id=talk.tenant_id, blob_key="going")
    assert await _keys_to_remove(store, talk.tenant_id) == ["going"]
    with pytest.raises(InvalidTransition) as caught:
        await REFER[what](store, at(talk), "going")
    assert caught.value.detail["path"] == "blob_key"
    assert (await store.tool_outputs.list(**at(talk))).items == ()
    await store.blob_removals.schedule(tenant_id=talk.tenant_id, blob_key="waiting")
    await REFER[what](store, at(await new_talk(store, talk.tenant_id)), "waiting")
    assert await _keys_to_remove(store, talk.tenant_id) == []
