"""Session state: one versioned JSON object per conversation."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import Where, at, new_talk, new_tenant
from strongroom.conformance.strategies import json_objects, numbers_as_stored, quick
from strongroom.errors import LimitExceeded, NotFound, VersionConflict
from strongroom.models import SessionState
from strongroom.models.base import JsonValue


def merged(target: JsonValue, patch: JsonValue) -> JsonValue:
    """Apply a JSON merge patch: the pseudocode of RFC 7396, section 2, in Python."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


async def test_before_the_first_write(adapter: Adapter) -> None:
    port, talk = adapter.store.session_state, await new_talk(adapter.store)
    state = await port.get(**at(talk))
    assert dict(state) == {
        "tenant_id": talk.tenant_id,
        "conversation_id": talk.id,
        "state": {},
        "version": 0,
        "updated_at": None,
    }
    assert await port.find(**at(talk)) == state
    absent = Where(tenant_id=await new_tenant(adapter.store), conversation_id="absent")
    assert await port.find(**absent) is None
    for call in (
        port.get(**absent),
        port.put(**absent, state={}, expected_version=0),
        port.patch(**absent, patch={}, expected_version=0),
        port.clear(**absent, expected_version=0),
    ):
        with pytest.raises(NotFound):
            await call


async def test_put_patch_clear(adapter: Adapter) -> None:
    port, talk = adapter.store.session_state, await new_talk(adapter.store)
    one = await port.put(**at(talk), state={"a": 1, "b": {"c": 2}}, expected_version=0)
    assert (one.state, one.version) == ({"a": 1, "b": {"c": 2}}, 1)
    assert one.updated_at is not None
    two = await port.patch(**at(talk), patch={"a": None, "b": {"d": [None]}}, expected_version=1)
    assert (two.state, two.version) == ({"b": {"c": 2, "d": [None]}}, 2)
    three = await port.put(**at(talk), state={"z": None}, expected_version=2)
    assert (three.state, three.version) == ({"z": None}, 3)
    four = await port.clear(**at(talk), expected_version=3)
    assert (four.state, four.version) == ({}, 4)
    assert await port.get(**at(talk)) == await port.find(**at(talk)) == four
    five = await port.patch(**at(talk), patch={"n": 1}, expected_version=4)
    assert (five.state, five.version) == ({"n": 1}, 5)


async def test_a_first_patch_and_a_first_clear(adapter: Adapter) -> None:
    port = adapter.store.session_state
    patched, cleared = await new_talk(adapter.store), await new_talk(adapter.store)
    one = await port.patch(**at(patched), patch={"a": {"b": None, "c": 1}}, expected_version=0)
    assert (one.state, one.version) == ({"a": {"c": 1}}, 1)
    empty = await port.clear(**at(cleared), expected_version=0)
    assert (empty.state, empty.version) == ({}, 1)


async def test_a_stale_write_changes_nothing_and_a_reload_mends_it_b13(adapter: Adapter) -> None:
    port, talk = adapter.store.session_state, await new_talk(adapter.store)
    base = await port.put(**at(talk), state={"base": 0}, expected_version=0)
    await port.put(**at(talk), state={**base.state, "a": 1}, expected_version=1)
    for stale in (0, 1, 3):
        for write in (
            port.put(**at(talk), state={"b": 1}, expected_version=stale),
            port.patch(**at(talk), patch={"b": 1}, expected_version=stale),
            port.clear(**at(talk), expected_version=stale),
        ):
            with pytest.raises(VersionConflict) as caught:
                await write
            assert caught.value.detail["current_version"] == 2
    current = await port.get(**at(talk))
    mended = await port.put(
        **at(talk), state={**current.state, "b": 1}, expected_version=current.version
    )
    assert (mended.state, mended.version) == ({"base": 0, "a": 1, "b": 1}, 3)


async def test_of_writes_at_once_one_wins_b13(adapter: Adapter) -> None:
    port, talk = adapter.store.session_state, await new_talk(adapter.store)
    for version in (0, 1):
        results = await asyncio.gather(
            *(
                port.patch(**at(talk), patch={f"k{version}{n}": n}, expected_version=version)
                for n in range(5)
            ),
            return_exceptions=True,
        )
        won = [result for result in results if isinstance(result, SessionState)]
        lost = [result for result in results if isinstance(result, VersionConflict)]
        assert (len(won), len(lost)) == (1, 4)
        assert {error.detail["current_version"] for error in lost} == {version + 1}
        assert await port.get(**at(talk)) == won[0]
    assert len(won[0].state) == 2


async def test_all_writers_that_retry_get_through_b13(adapter: Adapter) -> None:
    port, talk = adapter.store.session_state, await new_talk(adapter.store)

    async def add(key: str) -> None:
        while True:
            current = await port.get(**at(talk))
            try:
                await port.put(
                    **at(talk),
                    state={**current.state, key: True},
                    expected_version=current.version,
                )
            except VersionConflict:
                continue
            return

    await asyncio.gather(*(add(f"k{number}") for number in range(6)))
    final = await port.get(**at(talk))
    assert (len(final.state), final.version) == (6, 6)


async def test_the_limit_is_64_kib_and_nothing_is_written_above(adapter: Adapter) -> None:
    port, talk = adapter.store.session_state, await new_talk(adapter.store)
    # Two bytes a character: the limit counts bytes.
    kept = await port.put(**at(talk), state={"x": "ä" * 32_000}, expected_version=0)
    for write in (
        port.put(**at(talk), state={"x": "ä" * 33_000}, expected_version=1),
        port.patch(**at(talk), patch={"y": "ä" * 2_000}, expected_version=1),
    ):
        with pytest.raises(LimitExceeded) as caught:
            await write
        assert caught.value.detail["path"] == "state"
    assert await port.get(**at(talk)) == kept


async def test_state_comes_back_after_restore(adapter: Adapter) -> None:
    port, talk = adapter.store.session_state, await new_talk(adapter.store)
    before = await port.put(**at(talk), state={"a": 1}, expected_version=0)
    await adapter.store.conversations.soft_delete(**at(talk))
    assert await port.find(**at(talk)) is None
    await adapter.store.conversations.restore(**at(talk))
    assert await port.get(**at(talk)) == before


@quick
@given(state=json_objects, patch=json_objects)
async def test_a_patch_is_a_json_merge_patch(
    adapter: Adapter, state: dict[str, JsonValue], patch: dict[str, JsonValue]
) -> None:
    port, talk = adapter.store.session_state, await new_talk(adapter.store)
    put = await port.put(**at(talk), state=state, expected_version=0)
    assert numbers_as_stored(put.state) == numbers_as_stored(state)
    for version in (1, 2):
        state = merged(state, patch)  # type: ignore[assignment]
        patched = await port.patch(**at(talk), patch=patch, expected_version=version)
        assert numbers_as_stored(patched.state) == numbers_as_stored(state)


RFC_7396_CASES: list[tuple[JsonValue, JsonValue, JsonValue]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


async def test_the_cases_of_rfc_7396(adapter: Adapter) -> None:
    port = adapter.store.session_state
    for target, patch, expected in RFC_7396_CASES:
        talk = await new_talk(adapter.store)
        await port.put(**at(talk), state=target, expected_version=0)  # type: ignore[arg-type]
        patched = await port.patch(**at(talk), patch=patch, expected_version=1)  # type: ignore[arg-type]
        assert patched.state == expected == merged(target, patch)
