"""Tool outputs: each content once in its conversation, whole or in slices, as long as it is needed."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
from typing import Any

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls_artifacts import blob_of
from strongroom.conformance.helpers import OWNER, STRANGER, at, new_talk, new_tenant, walk
from strongroom.conformance.run_helpers import (
    answered,
    claimed,
    everything_of,
    finished,
    held,
    queued,
    where,
)
from strongroom.conformance.test_late_workers import STALE, outdated
from strongroom.errors import (
    InvalidArgument,
    InvalidText,
    LimitExceeded,
    NotFound,
    StaleClaim,
)
from strongroom.models import Viewer

INLINE_BYTES = 16_777_216
PAST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
FUTURE = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)

CONTENTS: dict[str, dict[str, Any]] = {
    "text": {"text": "Grüße 🌍\n"},
    "empty text": {"text": ""},
    "json": {"value": {"rows": [1, 2.5, None], "ä": "ß"}},
    "bytes": {"data": b"\xff\xfe\x00" * 50},
    "no bytes": {"data": b""},
    "blob": {"blob": blob_of(b"elsewhere")},
}


@pytest.mark.parametrize("what", sorted(CONTENTS))
async def test_content_comes_back_whole_b51(adapter: Adapter, what: str) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    given = CONTENTS[what]
    put = await store.tool_outputs.put(
        **at(talk), **given, run_id="r", tool_call_id="c", tool_name="search", expires_at=FUTURE
    )
    assert (put.outcome, put.run_id, put.tool_call_id, put.tool_name, put.expires_at) == (
        "inserted",
        "r",
        "c",
        "search",
        FUTURE,
    )
    assert put.id == f"{put.kind}:{put.sha256}"
    got = await store.tool_outputs.get(**at(talk), output_id=put.id)
    assert (got.text, got.value, got.data) == (
        given.get("text"),
        given.get("value"),
        given.get("data"),
    )
    head = await store.tool_outputs.head(**at(talk), output_id=put.id)
    for name in type(head).model_fields:
        assert getattr(put, name) == getattr(got, name) == getattr(head, name), name
    assert not {"text", "value", "data_base64"} & set(type(head).model_fields)
    plain = given.get("data", given.get("text", "").encode()) if "value" not in given else None
    if plain is not None and "blob" not in given:
        assert head.sha256 == hashlib.sha256(plain).hexdigest()
        assert head.size_bytes == len(plain)
    if "blob" in given:
        blob = given["blob"]
        assert (head.blob_key, head.sha256, head.size_bytes) == (
            blob.key,
            blob.sha256,
            blob.size_bytes,
        )


@pytest.mark.parametrize("what", sorted(CONTENTS))
async def test_the_same_content_is_there_once(adapter: Adapter, what: str) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    given = CONTENTS[what]
    puts = await asyncio.gather(
        *(store.tool_outputs.put(**at(talk), **given, tool_call_id=f"c{n}") for n in range(4))
    )
    assert sorted(put.outcome for put in puts) == ["duplicate"] * 3 + ["inserted"]
    assert len({put.replace(outcome="inserted") for put in puts if put.id}) == 1
    page = await store.tool_outputs.list(**at(talk))
    assert [output.id for output in page.items] == [puts[0].id]


async def test_kinds_of_the_same_bytes_are_kept_apart(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    puts = [
        await store.tool_outputs.put(**at(talk), text="1"),
        await store.tool_outputs.put(**at(talk), value=1),
        await store.tool_outputs.put(**at(talk), data=b"1"),
        await store.tool_outputs.put(**at(talk), blob=blob_of(b"1")),
    ]
    assert {put.sha256 for put in puts} == {hashlib.sha256(b"1").hexdigest()}
    assert {put.outcome for put in puts} == {"inserted"}
    text, value, data, blob = [
        await store.tool_outputs.get(**at(talk), output_id=put.id) for put in puts
    ]
    assert (text.text, value.value, data.data, blob.blob_key) == ("1", 1, b"1", "k")


async def test_key_order_of_json_is_no_difference(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    first = await store.tool_outputs.put(**at(talk), value={"b": [1], "aa": {"d": 1, "c": 2}})
    again = await store.tool_outputs.put(**at(talk), value={"aa": {"c": 2, "d": 1}, "b": [1]})
    assert again == first.replace(outcome="duplicate")


async def test_a_digest_reveals_nothing_elsewhere(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    put = await store.tool_outputs.put(**at(talk), text="secret", tool_call_id="first")
    for other in (await new_talk(store, talk.tenant_id), await new_talk(store)):
        assert await store.tool_outputs.find(**at(other), output_id=put.id) is None
        for call in (
            store.tool_outputs.get(**at(other), output_id=put.id),
            store.tool_outputs.head(**at(other), output_id=put.id),
            store.tool_outputs.slice(**at(other), output_id=put.id),
        ):
            with pytest.raises(NotFound):
                await call
        own = await store.tool_outputs.put(**at(other), text="secret", tool_call_id="other")
        assert (own.outcome, own.id, own.tool_call_id) == ("inserted", put.id, "other")
        await store.conversations.purge(**at(other))
    kept = await store.tool_outputs.get(**at(talk), output_id=put.id)
    assert (kept.text, kept.tool_call_id) == ("secret", "first")


async def test_a_digest_that_is_given_is_verified(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for given, content in ({"text": "ä"}, "ä".encode()), ({"data": b"\xff"}, b"\xff"):
        digest = hashlib.sha256(content).hexdigest()
        for wrong in ("0" * 64, digest[::-1]):
            with pytest.raises(InvalidArgument) as caught:
                await store.tool_outputs.put(**at(talk), **given, sha256=wrong)
            assert caught.value.detail["path"] == "sha256"
        put = await store.tool_outputs.put(**at(talk), **given, sha256=digest)
        assert put.sha256 == digest
    for shape in ("", "0" * 63, "F" * 64, "g" * 64):
        with pytest.raises(InvalidArgument):
            await store.tool_outputs.put(**at(talk), text="x", sha256=shape)
    with pytest.raises(InvalidArgument):
        await store.tool_outputs.put(**at(talk), blob=blob_of(b"x"), sha256="0" * 64)
    assert len((await store.tool_outputs.list(**at(talk))).items) == 2


async def test_exactly_one_content_of_at_most_16_mib_b89(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    contents: list[dict[str, Any]] = [
        {},
        {"text": "x", "data": b"x"},
        {"value": 1, "blob": blob_of(b"x")},
        {"text": "", "value": 0, "data": b""},
    ]
    for given in contents:
        with pytest.raises(InvalidArgument) as caught:
            await store.tool_outputs.put(**at(talk), **given)
        assert caught.value.detail["path"] == "text"
    largest = b"\xff" * INLINE_BYTES
    put = await store.tool_outputs.put(**at(talk), data=largest)
    assert put.size_bytes == INLINE_BYTES
    assert (await store.tool_outputs.get(**at(talk), output_id=put.id)).data == largest
    too_large: dict[str, dict[str, Any]] = {
        "data": {"data": largest + b"x"},
        "text": {"text": "ä" * (INLINE_BYTES // 2) + "x"},
        "value": {"value": ["x" * INLINE_BYTES]},
    }
    for path, given in too_large.items():
        with pytest.raises(LimitExceeded) as refused:
            await store.tool_outputs.put(**at(talk), **given)
        assert (refused.value.detail["path"], refused.value.detail["limit"]) == (
            path,
            INLINE_BYTES,
        )
        assert "blob" in str(refused.value.hint)
    assert len((await store.tool_outputs.list(**at(talk))).items) == 1


async def test_text_that_cannot_be_stored_is_refused_b47_b49(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for bad in ("a\x00b", "cut \ud83d"):
        for path, call in (
            ("text", store.tool_outputs.put(**at(talk), text=bad)),
            ("value.k[0]", store.tool_outputs.put(**at(talk), value={"k": [bad]})),
            ("tool_name", store.tool_outputs.put(**at(talk), text="x", tool_name=bad)),
            ("output_id", store.tool_outputs.find(**at(talk), output_id=bad)),
        ):
            with pytest.raises(InvalidText) as caught:
                await call
            assert caught.value.detail["path"] == path
    assert (await store.tool_outputs.list(**at(talk))).items == ()
    put = await store.tool_outputs.put(**at(talk), data=b"a\x00b")
    assert (await store.tool_outputs.get(**at(talk), output_id=put.id)).data == b"a\x00b"


async def test_the_replacing_policy_hashes_what_it_stores_b47(adapter: Adapter) -> None:
    async with adapter.replacing() as store:
        talk = await new_talk(store)
        put = await store.tool_outputs.put(**at(talk), text="a\x00b")
        got = await store.tool_outputs.get(**at(talk), output_id=put.id)
        assert got.text == "a\ufffdb"
        assert got.sha256 == hashlib.sha256("a\ufffdb".encode()).hexdigest()


# Slices


async def test_slices_of_a_text_are_whole_characters_and_sum_up_b49(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    text = "aé🌍\u200d👩\u0301ß\n" * 37
    put = await store.tool_outputs.put(**at(talk), text=text)
    assert put.characters == len(text)
    for length in (1, 7, len(text) - 1, len(text), 1_048_576):
        pieces, start = [], 0
        while True:
            part = await store.tool_outputs.slice(
                **at(talk), output_id=put.id, start=start, length=length
            )
            assert (part.kind, part.start, part.total) == ("text", start, len(text))
            assert part.text == text[start : start + length]
            assert part.data is None
            pieces.append(part.text)
            if part.next_start is None:
                break
            assert part.next_start == start + length
            start = part.next_start
        assert "".join(pieces) == text


async def test_slices_of_bytes_and_json(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    data = bytes(range(256)) * 300
    put = await store.tool_outputs.put(**at(talk), data=data)
    part = await store.tool_outputs.slice(**at(talk), output_id=put.id, start=250, length=70_000)
    assert (part.data, part.text, part.total, part.next_start) == (
        data[250:70_250],
        None,
        len(data),
        70_250,
    )
    rest = await store.tool_outputs.slice(**at(talk), output_id=put.id, start=70_250, length=70_000)
    assert (rest.data, rest.next_start) == (data[70_250:], None)
    value = await store.tool_outputs.put(**at(talk), value={"bb": [1, 2], "a": "ä"})
    whole = await store.tool_outputs.slice(**at(talk), output_id=value.id)
    assert (whole.text, whole.kind) == ('{"a": "ä", "bb": [1, 2]}', "json")
    assert value.characters == whole.total == len(whole.text or "")


async def test_slices_past_the_end_and_of_nothing_are_empty(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for given in ({"text": "abc"}, {"text": ""}, {"data": b"abc"}, {"data": b""}):
        put = await store.tool_outputs.put(**at(talk), **given)
        for start in (3, 4, 2**31 - 1):
            part = await store.tool_outputs.slice(
                **at(talk), output_id=put.id, start=start, length=1_048_576
            )
            assert (part.text, part.data) == (("", None) if "text" in given else (None, b"")), (
                given,
                start,
            )
            assert (part.next_start, part.total) == (None, put.size_bytes)


async def test_slices_have_limits_and_blobs_have_none(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    put = await store.tool_outputs.put(**at(talk), text="abc")
    for wrong in ({"start": -1}, {"length": 0}, {"length": 1_048_577}, {"start": 2**31}):
        with pytest.raises(InvalidArgument) as caught:
            await store.tool_outputs.slice(**at(talk), output_id=put.id, **wrong)  # type: ignore[arg-type]
        assert caught.value.detail["path"] == next(iter(wrong))
    blob = await store.tool_outputs.put(**at(talk), blob=blob_of(b"x"))
    with pytest.raises(InvalidArgument) as refused:
        await store.tool_outputs.slice(**at(talk), output_id=blob.id)
    assert refused.value.detail["path"] == "output_id"
    with pytest.raises(NotFound):
        await store.tool_outputs.slice(**at(talk), output_id="text:none")


# Lists


async def test_pages_are_newest_first_without_content_b41(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    other = await new_talk(store, talk.tenant_id)
    puts = [
        await store.tool_outputs.put(**at(talk), text=str(number), run_id=f"r{number % 2}")
        for number in range(7)
    ]
    await store.tool_outputs.put(**at(other), text="other")
    expected = sorted(puts, key=lambda put: (put.created_at, put.id), reverse=True)
    rows = await walk(
        lambda **page: store.tool_outputs.list(**at(talk), **page), limit=2, back=True
    )
    assert [row.id for row in rows] == [put.id for put in expected]
    backward = await walk(
        lambda **page: store.tool_outputs.list(**at(talk), **page),
        limit=3,
        direction="backward",
        back=True,
    )
    assert backward == rows[::-1]
    of_run = await store.tool_outputs.list(**at(talk), run_id="r1")
    assert {row.run_id for row in of_run.items} == {"r1"}
    assert len(of_run.items) == 3
    stranger = Viewer(principal_id=STRANGER)
    with pytest.raises(NotFound):
        await store.tool_outputs.list(**at(talk), viewer=stranger)
    owner = Viewer(principal_id=OWNER)
    assert len((await store.tool_outputs.list(**at(talk), viewer=owner)).items) == 7


# Expiry


async def test_what_has_expired_goes_in_bounded_sweeps(adapter: Adapter) -> None:
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    talks = [await new_talk(store, tenant_id) for _ in range(3)]
    kept = []
    for talk in talks:
        for number in range(3):
            await store.tool_outputs.put(**at(talk), text=f"old {number}", expires_at=PAST)
        kept.append(await store.tool_outputs.put(**at(talk), text="later", expires_at=FUTURE))
        kept.append(await store.tool_outputs.put(**at(talk), text="for ever"))
    elsewhere = await new_talk(store)
    await store.tool_outputs.put(**at(elsewhere), text="old", expires_at=PAST)
    swept = [await store.tool_outputs.expire(tenant_id=tenant_id, limit=4) for _ in range(4)]
    assert swept == [4, 4, 1, 0]
    left = [
        output.id for talk in talks for output in (await store.tool_outputs.list(**at(talk))).items
    ]
    assert sorted(left) == sorted(put.id for put in kept)
    assert len((await store.tool_outputs.list(**at(elsewhere))).items) == 1
    for wrong in (0, 501):
        with pytest.raises(InvalidArgument):
            await store.tool_outputs.expire(tenant_id=tenant_id, limit=wrong)


async def test_nothing_expires_under_an_unfinished_run(adapter: Adapter) -> None:
    store = adapter.store
    talk = await new_talk(store)
    put = await store.tool_outputs.put(**at(talk), text="old", expires_at=PAST)
    first, second = await queued(store, talk), await queued(store, talk)
    assert await store.tool_outputs.expire(tenant_id=talk.tenant_id) == 0
    await finished(store, await claimed(store, first), messages=[answered()])
    assert await store.tool_outputs.expire(tenant_id=talk.tenant_id) == 0
    assert await store.tool_outputs.find(**at(talk), output_id=put.id) is not None
    await finished(store, await claimed(store, second), messages=[answered()])
    assert await store.tool_outputs.expire(tenant_id=talk.tenant_id) == 1
    assert await store.tool_outputs.find(**at(talk), output_id=put.id) is None


async def test_putting_it_again_keeps_it_longer(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    later = FUTURE + dt.timedelta(days=1)
    steps: list[tuple[dt.datetime | None, dt.datetime | None]] = [
        (PAST, PAST),
        (FUTURE, FUTURE),
        (PAST, FUTURE),
        (later, later),
        (None, None),
        (PAST, None),
    ]
    for given, kept in steps:
        put = await store.tool_outputs.put(**at(talk), text="x", expires_at=given)
        assert put.expires_at == kept
        head = await store.tool_outputs.head(**at(talk), output_id=put.id)
        assert head.expires_at == kept
    assert await store.tool_outputs.expire(tenant_id=talk.tenant_id) == 0


# On behalf of a run


@pytest.mark.parametrize("how", STALE)
async def test_a_late_worker_stores_nothing_b21(adapter: Adapter, how: str) -> None:
    store = adapter.store
    run, late, _ = await outdated(adapter, how)
    before = await everything_of(store, run)
    with pytest.raises(StaleClaim):
        await store.tool_outputs.put(
            **where(run), text="late", run_id=run.id, claim_token=late["claim_token"]
        )
    assert await everything_of(store, run) == before


async def test_who_holds_the_run_stores_for_its_conversation(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    token = held(run)["claim_token"]
    put = await store.tool_outputs.put(**where(run), text="x", run_id=run.id, claim_token=token)
    assert (put.outcome, put.run_id) == ("inserted", run.id)
    other = await new_talk(store, run.tenant_id)
    for call in (
        store.tool_outputs.put(**at(other), text="x", run_id=run.id, claim_token=token),
        store.tool_outputs.put(**where(run), text="x", claim_token=token),
    ):
        with pytest.raises(InvalidArgument) as caught:
            await call
        assert caught.value.detail["path"] == "run_id"
    assert (await store.tool_outputs.list(**at(other))).items == ()
    await store.conversations.soft_delete(**where(run))
    with pytest.raises(NotFound):
        await store.tool_outputs.put(**where(run), text="y", run_id=run.id, claim_token=token)
