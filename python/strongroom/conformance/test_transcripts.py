"""TranscriptStore: one replaceable list of raw messages per scope, of which only changes are written."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import OWNER, at, fresh, new_talk, new_tenant, walk
from strongroom.conformance.strategies import json_values, numbers_as_stored, quick
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidText,
    LimitExceeded,
    NotFound,
    PermissionDenied,
    VersionConflict,
)

SYSTEM: dict[str, Any] = {"role": "system", "content": "Be brief.  "}


async def _scope(store: Ports) -> dict[str, Any]:
    return {"tenant_id": await new_tenant(store), "scope": fresh("scope")}


def _said(number: int) -> dict[str, Any]:
    return {"role": ["user", "assistant"][number % 2], "content": f"message {number}"}


# --- load and save ------------------------------------------------------------------------------


async def test_a_new_scope_is_an_empty_list_and_a_saved_one_comes_back_whole_b01_b43(
    adapter: Adapter,
) -> None:
    transcripts, at_scope = adapter.store.transcripts, await _scope(adapter.store)
    assert await transcripts.load(**at_scope) == []
    assert await transcripts.find(**at_scope) is None
    # More than an API hands out in one answer, saved as the runner does: load, append, save.
    messages = [SYSTEM, *(_said(n) for n in range(1_500))]
    saved = await transcripts.save(**at_scope, messages=messages)
    assert (saved.outcome, saved.kept, saved.inserted, saved.deleted) == ("saved", 0, 1_501, 0)
    assert await transcripts.load(**at_scope) == messages
    grown = [*await transcripts.load(**at_scope), _said(1), _said(2)]
    saved = await transcripts.save(**at_scope, messages=grown)
    assert (saved.outcome, saved.kept, saved.inserted, saved.deleted) == ("saved", 1_501, 2, 0)
    assert (saved.version, saved.message_count) == (2, 1_503)
    assert await transcripts.load(**at_scope) == grown
    again = await transcripts.save(**at_scope, messages=grown)
    assert (again.outcome, again.version) == ("duplicate", 2)
    head = await transcripts.find(**at_scope)
    assert head is not None
    assert (head.message_count, head.version) == (1_503, 2)
    # A retry writes the list that was saved before: shorter, and all of it.
    back = await transcripts.save(**at_scope, messages=messages)
    assert (back.kept, back.inserted, back.deleted, back.version) == (1_501, 0, 2, 3)
    assert await transcripts.load(**at_scope) == messages
    # The pinned prompt is as it was given, through everything.
    assert (await transcripts.load(**at_scope))[0] == SYSTEM


_LISTS = st.lists(json_values, max_size=5)


@quick
@given(lists=st.lists(_LISTS, min_size=1, max_size=4), tail=_LISTS)
async def test_whatever_is_saved_last_is_what_is_loaded(
    adapter: Adapter, lists: list[list[Any]], tail: list[Any]
) -> None:
    transcripts = adapter.store.transcripts
    at_scope: dict[str, Any] = {"tenant_id": await _kept_tenant(adapter), "scope": fresh("scope")}
    for messages in (*lists, [*lists[-1], *tail], lists[-1][:1]):
        before = await transcripts.load(**at_scope)
        saved = await transcripts.save(**at_scope, messages=messages)
        loaded = await transcripts.load(**at_scope)
        assert numbers_as_stored(loaded) == numbers_as_stored(messages)
        assert saved.message_count == saved.kept + saved.inserted == len(messages)
        assert saved.kept + saved.deleted == len(before)


async def _kept_tenant(adapter: Adapter) -> str:
    if "transcripts" not in adapter.kept:
        adapter.kept["transcripts"] = await new_tenant(adapter.store)
    tenant_id: str = adapter.kept["transcripts"]
    return tenant_id


async def test_long_lists_that_change_anywhere_are_replaced_from_there(adapter: Adapter) -> None:
    transcripts, at_scope = adapter.store.transcripts, await _scope(adapter.store)
    stored = [_said(n) for n in range(60)]
    await transcripts.save(**at_scope, messages=stored)
    for changed, kept in (
        ([*stored[:30], {"role": "user", "content": "other"}, *stored[31:], _said(60)], 30),
        (stored[:59], 30),
        ([stored[1], stored[0], *stored[2:59]], 0),
        ([], 0),
        (stored, 0),
        ([dict(reversed(message.items())) for message in stored], 60),
    ):
        saved = await transcripts.save(**at_scope, messages=changed)
        assert (saved.kept, saved.message_count) == (kept, len(changed))
        assert await transcripts.load(**at_scope) == changed
    # One and true, and one as a text, are three things; 1 and 1.0 are one.
    values: list[Any] = [1, True, "1", None, [], {}, 0]
    await transcripts.save(**at_scope, messages=values)
    for place, other in ((0, True), (1, 1), (2, 1), (3, []), (4, {})):
        changed_values = [*values[:place], other, *values[place + 1 :]]
        saved = await transcripts.save(**at_scope, messages=changed_values)
        assert saved.kept == place
        await transcripts.save(**at_scope, messages=values)
    same = await transcripts.save(**at_scope, messages=[1.0, *values[1:]])
    assert same.outcome == "duplicate"


async def test_a_save_over_what_was_read_refuses_what_has_changed_since_b13(
    adapter: Adapter,
) -> None:
    transcripts, at_scope = adapter.store.transcripts, await _scope(adapter.store)
    first = [_said(n) for n in range(40)]
    await transcripts.save(**at_scope, messages=first, expected_version=0)

    async def add(text: str) -> None:
        await transcripts.save(**at_scope, messages=[*first, {"text": text}], expected_version=1)

    done = await asyncio.gather(*(add(str(n)) for n in range(4)), return_exceptions=True)
    refused = [error for error in done if error is not None]
    assert [type(error) for error in refused] == [VersionConflict] * 3
    assert all(error.detail["current_version"] == 2 for error in refused)  # type: ignore[attr-defined]
    assert len(await transcripts.load(**at_scope)) == 41
    with pytest.raises(VersionConflict):
        await transcripts.save(**at_scope, messages=[], expected_version=0)
    # Without a version the last one counts, all of it: nothing is ever mixed.
    await asyncio.gather(
        *(transcripts.save(**at_scope, messages=[*first, who, who]) for who in ("a", "b", "c"))
    )
    left = await transcripts.load(**at_scope)
    assert left[:40] == first
    assert len(left) == 42
    assert left[40] == left[41]


# --- copy, delete, list, kind -------------------------------------------------------------------


async def test_copying_needs_a_source_and_a_free_target(adapter: Adapter) -> None:
    transcripts = adapter.store.transcripts
    of: dict[str, Any] = {"tenant_id": await new_tenant(adapter.store)}
    with pytest.raises(NotFound) as absent:
        await transcripts.copy(**of, from_scope="a", to_scope="b")
    assert absent.value.detail["path"] == "from_scope"
    assert await transcripts.copy(**of, from_scope="a", to_scope="a") == 0
    assert (await transcripts.list_scopes(**of)).items == ()
    messages = [SYSTEM, _said(1), None]
    await transcripts.save(**of, scope="a", messages=messages)
    assert await transcripts.copy(**of, from_scope="a", to_scope="a") == 0
    assert await transcripts.copy(**of, from_scope="a", to_scope="b") == 3
    await transcripts.save(**of, scope="empty", messages=[])
    for target in ("b", "empty"):
        with pytest.raises(AlreadyExists) as taken:
            await transcripts.copy(**of, from_scope="a", to_scope=target)
        assert taken.value.detail["path"] == "to_scope"
    # From then on they are two.
    await transcripts.save(**of, scope="a", messages=[*messages, _said(2)])
    assert await transcripts.load(**of, scope="b") == messages
    grown = await transcripts.save(**of, scope="b", messages=[*messages, _said(3)])
    assert (grown.kept, grown.inserted) == (3, 1)
    assert await transcripts.copy(**of, from_scope="empty", to_scope="e2") == 0
    assert await transcripts.find(**of, scope="e2") is not None


async def test_a_deleted_transcript_is_gone_and_its_scope_is_new(adapter: Adapter) -> None:
    transcripts, at_scope = adapter.store.transcripts, await _scope(adapter.store)
    other = {**at_scope, "scope": "other"}
    for place in (at_scope, other):
        await transcripts.save(**place, messages=[_said(1)])
    assert await transcripts.delete(**at_scope) is True
    assert await transcripts.delete(**at_scope) is False
    assert await transcripts.load(**at_scope) == []
    assert await transcripts.find(**at_scope) is None
    assert await transcripts.load(**other) == [_said(1)]
    page = await transcripts.list_scopes(tenant_id=at_scope["tenant_id"])
    assert [head.scope for head in page.items] == ["other"]
    again = await transcripts.save(**at_scope, messages=[], expected_version=0)
    assert (again.outcome, again.version) == ("saved", 1)


async def test_scopes_with_a_transcript_are_listed_once_newest_first_b41(adapter: Adapter) -> None:
    transcripts, tenant_id = adapter.store.transcripts, await new_tenant(adapter.store)
    names = [f"scope {number}" for number in range(5)]
    for name in names:
        await transcripts.save(tenant_id=tenant_id, scope=name, messages=[name])
    await transcripts.load(tenant_id=tenant_id, scope="never saved")
    await transcripts.save(tenant_id=tenant_id, scope=names[0], messages=[])
    for limit in (2, 5):
        heads = await walk(
            lambda **page: transcripts.list_scopes(tenant_id=tenant_id, **page),
            limit=limit,
            back=True,
        )
        assert {head.scope for head in heads} == {*names}
        made = [(head.created_at) for head in heads]
        assert made == sorted(made, reverse=True)
    backward = await walk(
        lambda **page: transcripts.list_scopes(tenant_id=tenant_id, **page),
        limit=2,
        direction="backward",
    )
    assert backward == heads[::-1]
    assert adapter.store.transcripts.kind


# --- what surrounds it --------------------------------------------------------------------------


async def test_one_bound_to_a_conversation_is_hidden_and_goes_with_it_b83(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    transcripts = store.transcripts
    of: dict[str, Any] = {"tenant_id": talk.tenant_id}
    await transcripts.save(**of, scope="s", messages=[1], conversation_id=talk.id)
    await transcripts.save(**of, scope="s", messages=[1, 2])
    await transcripts.copy(**of, from_scope="s", to_scope="copy")
    await transcripts.save(**of, scope="free", messages=[])
    for bound_otherwise in ("s", "free"):
        other = await new_talk(store, talk.tenant_id)
        with pytest.raises(InvalidArgument) as caught:
            await transcripts.save(
                **of, scope=bound_otherwise, messages=[], conversation_id=other.id
            )
        assert caught.value.detail["path"] == "conversation_id"
    await store.conversations.soft_delete(**at(talk))
    # An error, and never an empty history.
    for scope in ("s", "copy"):
        for call in (
            transcripts.load(**of, scope=scope),
            transcripts.find(**of, scope=scope),
            transcripts.save(**of, scope=scope, messages=[]),
            transcripts.delete(**of, scope=scope),
            transcripts.copy(**of, from_scope=scope, to_scope="late"),
        ):
            with pytest.raises(NotFound):
                await call
    assert [head.scope for head in (await transcripts.list_scopes(**of)).items] == ["free"]
    await store.conversations.restore(**at(talk))
    assert await transcripts.load(**of, scope="s") == [1, 2]
    receipt = await store.conversations.purge(**at(talk))
    assert receipt.tables["transcripts"] == 2
    assert receipt.tables["transcript_messages"] == 4
    assert await transcripts.load(**of, scope="s") == []
    assert [head.scope for head in (await transcripts.list_scopes(**of)).items] == ["free"]


async def test_what_cannot_be_stored_is_refused_by_its_path_before_any_write_b47_b49_b51(
    adapter: Adapter,
) -> None:
    transcripts, at_scope = adapter.store.transcripts, await _scope(adapter.store)
    stored = [_said(n) for n in range(40)]
    await transcripts.save(**at_scope, messages=stored)
    unstorable: list[tuple[Any, str]] = [
        ({"text": "a\x00b"}, "messages[40].text"),
        ({"a": ["cut \ud83d"]}, "messages[40].a[0]"),
        ({"k\x00": 1}, "messages[40] (a key)"),
    ]
    for bad, path in unstorable:
        with pytest.raises(InvalidText) as caught:
            await transcripts.save(**at_scope, messages=[*stored, bad])
        assert caught.value.detail["path"] == path
    for not_json in (b"\xff", {1}, float("nan"), {1: "x"}):
        with pytest.raises(InvalidArgument) as refused:
            await transcripts.save(**at_scope, messages=[*stored, {"a": not_json}])  # type: ignore[dict-item]
        assert refused.value.detail["path"].startswith("messages[40].a")
    for no_list in (None, "text", {"a": 1}, 7):
        with pytest.raises(InvalidArgument):
            await transcripts.save(**at_scope, messages=no_list)  # type: ignore[arg-type]
    with pytest.raises(LimitExceeded) as large:
        await transcripts.save(**at_scope, messages=[*stored, "ä" * 530_000])
    # The beginning is not sent again, and still the path is that of the caller's list.
    assert large.value.detail["path"] == "messages[40]"
    assert large.value.detail["limit"] == 1_048_576
    with pytest.raises(LimitExceeded) as many:
        await transcripts.save(**at_scope, messages=[0] * 100_001)
    assert many.value.detail["path"] == "messages"
    assert await transcripts.load(**at_scope) == stored


async def test_replaced_text_is_what_the_next_save_is_compared_with_b49(adapter: Adapter) -> None:
    at_scope = await _scope(adapter.store)
    messages: list[Any] = [{"text": f"{n} \ud83d"} for n in range(40)]
    async with adapter.replacing() as store:
        await store.transcripts.save(**at_scope, messages=messages)
        again = await store.transcripts.save(**at_scope, messages=[*messages, "\x00"])
        assert (again.kept, again.inserted) == (40, 1)
        loaded = await store.transcripts.load(**at_scope)
    assert loaded == [*({"text": f"{n} \ufffd"} for n in range(40)), "\ufffd"]


async def test_transcripts_join_units_of_work_and_suspended_tenants_take_none(
    adapter: Adapter,
) -> None:
    store, at_scope = adapter.store, await _scope(adapter.store)
    if "transactions" in adapter.capabilities:
        with pytest.raises(RuntimeError):  # noqa: PT012 (a unit of work is a block)
            async with store.unit_of_work(tenant_id=at_scope["tenant_id"]) as uow:
                await uow.transcripts.save(**at_scope, messages=[1])
                assert await uow.transcripts.load(**at_scope) == [1]
                raise RuntimeError
        assert await store.transcripts.find(**at_scope) is None
    await store.transcripts.save(**at_scope, messages=[1])
    tenant = await store.tenants.get(tenant_id=at_scope["tenant_id"])
    await store.tenants.suspend(tenant_id=tenant.tenant_id, expected_version=tenant.version)
    for call in (
        store.transcripts.save(**at_scope, messages=[2]),
        store.transcripts.delete(**at_scope),
        store.transcripts.copy(tenant_id=tenant.tenant_id, from_scope="a", to_scope="b"),
    ):
        with pytest.raises(PermissionDenied):
            await call
    assert await store.transcripts.load(**at_scope) == [1]


async def test_old_transcripts_are_swept_but_not_those_of_a_conversation(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    of: dict[str, Any] = {"tenant_id": talk.tenant_id}
    await store.transcripts.save(**of, scope="bound", messages=[1], conversation_id=talk.id)
    await store.transcripts.save(**of, scope="free", messages=[1])
    await store.lifecycle.set_policy(**of, kind="transcripts", keep_seconds=0, expected_version=0)
    (swept,) = await store.lifecycle.sweep(**of)
    assert (swept.kind, swept.row_count) == ("transcripts", 1)
    assert [head.scope for head in (await store.transcripts.list_scopes(**of)).items] == ["bound"]
    assert talk.owner_id == OWNER
