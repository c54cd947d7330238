"""Blob stores: bytes come back whole, under any name, or they were never there."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from strongroom.conformance.helpers import fresh
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    InvalidCursor,
    InvalidText,
    LimitExceeded,
    MissingCapability,
    NotFound,
)
from strongroom.models import Blob, Page
from strongroom.ports.blobs import BlobStore

if TYPE_CHECKING:
    from strongroom.conformance.blobs import BlobAdapter

MIB = 1024 * 1024


async def _chunks(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _streamed(store: BlobStore, tenant_id: str, key: str, **span: Any) -> bytes:
    return b"".join([c async for c in store.stream(tenant_id=tenant_id, key=key, **span)])


async def _keys(store: BlobStore, tenant_id: str, **filters: Any) -> list[str]:
    page = await store.list(tenant_id=tenant_id, limit=500, **filters)
    assert page.next_cursor is None
    return [blob.key for blob in page.items]


@pytest.mark.parametrize("size", [0, 1, 1000, MIB - 1, MIB, MIB + 1, 3 * MIB + 17])
async def test_bytes_come_back_whole(blob_adapter: BlobAdapter, size: int) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "a/b"}
    content = random.Random(size).randbytes(size)
    stored = await store.put(**place, data=content, media_type="image/png")
    assert (stored.outcome, stored.size_bytes) == ("inserted", size)
    assert stored.sha256 == hashlib.sha256(content).hexdigest()
    assert (stored.tenant_id, stored.key, stored.media_type) == (*place.values(), "image/png")
    assert await store.read(**place) == content
    assert await _streamed(store, **place) == content
    blob = await store.head(**place)
    assert isinstance(blob, Blob)
    assert {**dict(blob), "outcome": "inserted"} == dict(stored)
    assert await store.find(**place) == blob
    if blob_adapter.open_second is not None:
        assert await blob_adapter.open_second().read(**place) == content


async def test_pieces_of_any_size_are_one_content(blob_adapter: BlobAdapter) -> None:
    store, tenant_id = blob_adapter.store, fresh("tenant")
    content = random.Random(7).randbytes(2 * MIB + 3)
    cuts = {
        "one piece": [content],
        "small pieces": [content[at : at + 4099] for at in range(0, len(content), 4099)],
        "empty pieces": [b"", content[:5], b"", b"", content[5:], b""],
        "no pieces": [],
    }
    for name, pieces in cuts.items():
        done = await store.put(tenant_id=tenant_id, key=name, data=_chunks(*pieces))
        assert done.size_bytes == sum(map(len, pieces)), name
        assert await store.read(tenant_id=tenant_id, key=name) == b"".join(pieces), name
    for name, data in (("array", bytearray(b"abc")), ("view", memoryview(b"xabcx")[1:4])):
        await store.put(tenant_id=tenant_id, key=name, data=data)
        assert await store.read(tenant_id=tenant_id, key=name) == b"abc"


async def test_ranges_are_exact(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    content = random.Random(1).randbytes(MIB + 100)
    await store.put(**place, data=content)
    size = len(content)
    spans: list[tuple[int, int | None]] = [
        (0, 0),
        (0, 1),
        (0, None),
        (5, 10),
        (MIB - 1, 2),
        (MIB, None),
        (size - 1, 1),
        (size - 1, 100),
        (size, None),
        (size + 5, 5),
        (3, size),
    ]
    for offset, length in spans:
        end = size if length is None else offset + length
        expected = content[offset:end]
        span: dict[str, Any] = {"offset": offset, "length": length}
        assert await store.read(**place, **span) == expected, span
        assert await _streamed(store, **place, **span) == expected, span
    wrongs: list[dict[str, Any]] = [
        {"offset": -1},
        {"length": -1},
        {"offset": 1.5},
        {"max_bytes": -1},
    ]
    for wrong in wrongs:
        with pytest.raises(InvalidArgument):
            await store.read(**place, **wrong)


async def test_a_read_holds_no_more_than_was_allowed(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    await store.put(**place, data=b"12345")
    assert await store.read(**place, max_bytes=5) == b"12345"
    with pytest.raises(LimitExceeded) as caught:
        await store.read(**place, max_bytes=4)
    assert caught.value.detail["actual"] == 5
    assert await store.read(**place, offset=1, max_bytes=4) == b"2345"


async def test_the_cap_holds_while_reading(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    pulled = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal pulled
        while True:
            pulled += 100_000
            yield b"x" * 100_000

    with pytest.raises(LimitExceeded) as caught:
        await store.put(**place, data=endless(), max_bytes=1_000_000)
    assert caught.value.detail["limit"] == 1_000_000
    assert pulled <= 1_100_000, "it read on after it knew"
    assert await store.find(**place) is None
    assert await _keys(store, place["tenant_id"]) == []
    await store.put(**place, data=b"x" * 1_000_000, max_bytes=1_000_000)
    with pytest.raises(LimitExceeded):
        await store.put(tenant_id=place["tenant_id"], key="other", data=b"xy", max_bytes=1)
    assert await _keys(store, place["tenant_id"]) == ["k"]


async def test_other_bytes_than_were_announced_are_refused(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    right = hashlib.sha256(b"right").hexdigest()
    announced: list[tuple[dict[str, Any], str]] = [
        ({"data": b"wrong", "sha256": right}, "sha256"),
        ({"data": _chunks(b"ri", b"gh"), "sha256": right}, "sha256"),
        ({"data": b"righ", "size_bytes": 5}, "size_bytes"),
        ({"data": b"right!", "size_bytes": 5}, "size_bytes"),
        ({"data": b"right", "sha256": right.upper()}, "sha256"),
    ]
    for wrong, path in announced:
        with pytest.raises(InvalidArgument) as caught:
            await store.put(**place, **wrong)
        assert caught.value.detail["path"] == path
        assert await store.find(**place) is None
    await store.put(**place, data=b"right", sha256=right, size_bytes=5)
    assert await store.read(**place) == b"right"


async def test_a_key_is_written_once(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    first = await store.put(**place, data=b"one", media_type="text/plain")
    again = await store.put(**place, data=b"one", media_type="text/html")
    assert again == first.replace(outcome="duplicate"), "as it was stored"
    with pytest.raises(AlreadyExists):
        await store.put(**place, data=b"two")
    assert await store.read(**place) == b"one"
    assert (await store.head(**place)).media_type == "text/plain"


async def test_of_racing_puts_one_wins_whole(blob_adapter: BlobAdapter) -> None:
    store, tenant_id = blob_adapter.store, fresh("tenant")
    contents = [bytes([number]) * (MIB + number) for number in range(5)]

    async def put(key: str, content: bytes) -> str:
        try:
            return (await store.put(tenant_id=tenant_id, key=key, data=content)).outcome
        except AlreadyExists:
            return "refused"

    other = await asyncio.gather(*(put("other", content) for content in contents))
    assert sorted(other) == ["inserted", *["refused"] * 4]
    assert await store.read(tenant_id=tenant_id, key="other") in contents
    same = await asyncio.gather(*(put("same", contents[0]) for _ in range(5)))
    assert sorted(same) == [*["duplicate"] * 4, "inserted"]
    assert await store.read(tenant_id=tenant_id, key="same") == contents[0]


async def test_a_source_that_fails_leaves_nothing(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}

    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * (2 * MIB)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.put(**place, data=broken())
    assert await store.find(**place) is None

    async def text() -> AsyncIterator[Any]:
        yield b"fine"
        yield "not bytes"

    with pytest.raises(InvalidArgument):
        await store.put(**place, data=text())
    no_bytes: list[Any] = ["text", 7, None, [b"list"], object()]
    for wrong in no_bytes:
        with pytest.raises(InvalidArgument) as caught:
            await store.put(**place, data=wrong)
        assert caught.value.detail["path"] == "data"
    assert await _keys(store, place["tenant_id"]) == []


async def test_a_cancelled_put_leaves_nothing(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    halfway = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield b"x" * (2 * MIB)
        halfway.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(store.put(**place, data=slow()))
    await halfway.wait()
    assert await store.find(**place) is None, "half of it is seen"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.find(**place) is None
    assert (await store.put(**place, data=b"anew")).outcome == "inserted"


NAMES = [
    *(".", "..", "...", "../../etc/passwd", "/", "//", "/etc/passwd", "a", "a/", "a//b", "a/b"),
    *("a/./b", "a/../b", "..\\..\\x", "C:\\x", "a\\b", "\\\\server\\share", "CON", "nul.txt"),
    *(
        "A",
        "a.",
        "a ",
        " a",
        "ä",
        "a\u0308",
        "é",
        "e\u0301",
        "日本語",
        "👩‍👩‍👧",
        "\u202e",
        "\ufeff",
    ),
    *("%2e%2e", "a%2Fb", "%", "%zz", "*", "?", "a:b", "a|b", '"', "'", "$(x)", "`x`", "-rf", "~"),
    *("a\nb", "\t", "\x01", "\x7f", "data", "about.json", "kdata", "x" * 255, "x" * 1024),
    *("y" * 200 + "/z", "😀" * 256, "/".join("abcdefgh" * 16), "%2e" * 300),
]


async def test_any_name_is_a_name_and_no_way_out(blob_adapter: BlobAdapter) -> None:
    store, tenant_id = blob_adapter.store, fresh("tenant")
    for name in NAMES:
        done = await store.put(tenant_id=tenant_id, key=name, data=name.encode())
        assert done.outcome == "inserted", f"{name!r} is taken for another"
    for name in NAMES:
        assert await store.read(tenant_id=tenant_id, key=name) == name.encode(), repr(name)
        assert (await store.head(tenant_id=tenant_id, key=name)).key == name
    assert await _keys(store, tenant_id) == sorted(NAMES)
    assert await _keys(store, fresh("tenant")) == []
    for name in NAMES:
        assert await store.delete(tenant_id=tenant_id, key=name) is True, repr(name)
    assert await _keys(store, tenant_id) == []


async def test_what_is_no_name_is_refused(blob_adapter: BlobAdapter) -> None:
    store, tenant_id = blob_adapter.store, fresh("tenant")
    for wrong, kind in (
        ("", InvalidArgument),
        (7, InvalidArgument),
        (None, InvalidArgument),
        (b"bytes", InvalidArgument),
        ("x" * 1025, LimitExceeded),
        ("😀" * 257, LimitExceeded),
        ("a\x00b", InvalidText),
        ("\ud83d", InvalidText),
    ):
        place: dict[str, Any] = {"tenant_id": tenant_id, "key": wrong}
        for call in (store.put(**place, data=b"x"), store.head(**place), store.find(**place)):
            with pytest.raises(kind) as caught:
                await call
            assert caught.value.detail["path"] == "key", repr(wrong)
        for other in (store.read(**place), store.delete(**place), store.presign(**place)):
            with pytest.raises(kind):
                await other
        with pytest.raises(kind):
            await _streamed(store, **place)
    for bad, error in (("", InvalidArgument), ("a\x00", InvalidText), ("x" * 256, LimitExceeded)):
        with pytest.raises(error):
            await store.put(tenant_id=bad, key="k", data=b"x")
        with pytest.raises(error):
            await store.list(tenant_id=bad)
    assert await _keys(store, tenant_id) == []


async def test_tenants_are_apart_whatever_they_are_called(blob_adapter: BlobAdapter) -> None:
    store, some = blob_adapter.store, fresh("t")
    tenants = [some, f"{some}/a", f"{some}/..", f"../{some}", some.upper(), f"{some}.", f"{some} "]
    tenants += [f"{some}%2fa", f"{some}\\a", some + "😀" * 200]
    keys = ["a", "b/c", "a/b/c", "..", f"../{some}/a"]
    for tenant_id in tenants:
        for key in keys:
            done = await store.put(tenant_id=tenant_id, key=key, data=f"{tenant_id} {key}".encode())
            assert done.outcome == "inserted", (tenant_id, key)
    for tenant_id in tenants:
        assert await _keys(store, tenant_id) == sorted(keys)
        for key in keys:
            content = await store.read(tenant_id=tenant_id, key=key)
            assert content == f"{tenant_id} {key}".encode()
    for key in keys:
        assert await store.delete(tenant_id=some, key=key)
    assert await _keys(store, some) == []
    for tenant_id in tenants[1:]:
        assert await _keys(store, tenant_id) == sorted(keys), "another tenant's bytes went along"


async def test_what_is_absent_is_not_found(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    assert await store.find(**place) is None
    for call in (store.head(**place), store.read(**place), _streamed(store, **place)):
        with pytest.raises(NotFound):
            await call
    assert await store.delete(**place) is False
    assert await _keys(store, place["tenant_id"]) == []


async def test_deleting_is_idempotent_and_frees_the_key_b85(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    await store.put(**place, data=b"one")
    await store.put(tenant_id=place["tenant_id"], key="k2", data=b"stays")
    assert await store.delete(**place) is True
    assert await store.delete(**place) is False
    assert await store.find(**place) is None
    assert await _keys(store, place["tenant_id"]) == ["k2"]
    assert (await store.put(**place, data=b"two")).outcome == "inserted"
    assert await store.read(**place) == b"two"
    done = await asyncio.gather(*(store.delete(**place) for _ in range(4)))
    assert sum(done) == 1


async def test_prefixes_are_literal_and_pages_hold_each_key_once_b39_b41(
    blob_adapter: BlobAdapter,
) -> None:
    store, tenant_id = blob_adapter.store, fresh("tenant")
    keys = ["john_doe", "john-doe", "johnXdoe", "user_1", "user_10", "100%", "1000", "a\\b", "a/b"]
    keys += ["a/c", "a/b/c", "ab", "ä", "z" * 300, "z" * 300 + "y"]
    for key in keys:
        await store.put(tenant_id=tenant_id, key=key, data=b"x")
    for prefix in (None, "", "john_", "user_1", "100%", "a", "a/", "a\\", "ä", "z" * 300, "none"):
        expected = sorted(key for key in keys if key.startswith(prefix or ""))
        for limit in (1, 2, 5, 500):
            seen: list[str] = []
            page: Page[Blob] | None = None
            while page is None or page.next_cursor is not None:
                page = await store.list(
                    tenant_id=tenant_id,
                    prefix=prefix,
                    limit=limit,
                    after=page.next_cursor if page else None,
                )
                assert len(page.items) <= limit
                seen += [blob.key for blob in page.items]
            assert seen == expected, (prefix, limit)


async def test_a_cursor_belongs_to_its_list(blob_adapter: BlobAdapter) -> None:
    store, tenant_id = blob_adapter.store, fresh("tenant")
    for key in ("a", "b", "c"):
        await store.put(tenant_id=tenant_id, key=key, data=b"x")
    cursor = (await store.list(tenant_id=tenant_id, limit=1)).next_cursor
    assert cursor is not None
    others: list[dict[str, Any]] = [
        {"tenant_id": fresh("tenant"), "after": cursor},
        {"tenant_id": tenant_id, "prefix": "a", "after": cursor},
    ]
    damaged = ["", "x", "1", cursor[:-4], cursor + "AAAA", cursor[::-1], "ä€", "1" * 5000, "b"]
    others += [{"tenant_id": tenant_id, "after": bad} for bad in damaged]
    for other in others:
        with pytest.raises(InvalidCursor):
            await store.list(**other)
    # The key that it stands for may be gone: the page goes on behind its place.
    await store.delete(tenant_id=tenant_id, key="a")
    page = await store.list(tenant_id=tenant_id, after=cursor)
    assert [blob.key for blob in page.items] == ["b", "c"]
    limits: list[Any] = [0, 501, -1, "5", True]
    for limit in limits:
        with pytest.raises(InvalidArgument):
            await store.list(tenant_id=tenant_id, limit=limit)


async def test_urls_are_signed_or_the_store_says_that_it_cannot(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    wrongs: list[dict[str, Any]] = [
        {"expires_seconds": 0},
        {"expires_seconds": 604_801},
        {"method": "DELETE"},
    ]
    for wrong in wrongs:
        with pytest.raises(InvalidArgument):
            await store.presign(**place, **wrong)
    if not blob_adapter.presigns:
        with pytest.raises(MissingCapability) as caught:
            await store.presign(**place)
        assert caught.value.hint
        return
    await store.put(**place, data=b"signed")
    signed = await store.presign(**place, method="GET", expires_seconds=60)
    assert signed.url.startswith("http")
    assert signed.method == "GET"


async def test_discarding_takes_nothing_that_is_whole(blob_adapter: BlobAdapter) -> None:
    store = blob_adapter.store
    place: dict[str, Any] = {"tenant_id": fresh("tenant"), "key": "k"}
    await store.put(**place, data=b"whole")
    assert await store.discard_unfinished() >= 0
    assert await store.read(**place) == b"whole"
    with pytest.raises(InvalidArgument):
        await store.discard_unfinished(older_than_seconds=-1)
