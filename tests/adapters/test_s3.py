"""S3-compatible buckets by themselves: signed URLs, parts, killed servers, and what is left behind."""

import asyncio
import hashlib
import random
import traceback
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import strongroom
from strongroom.conformance.helpers import fresh
from strongroom.errors import AlreadyExists, InvalidArgument, MissingCapability, Unavailable
from strongroom.infrastructure import extras, s3_layout
from strongroom.infrastructure.blob_urls import open_blobs
from strongroom.infrastructure.s3_blobs import S3BlobStore, open_s3
from strongroom.infrastructure.s3_objects import PART
from strongroom.infrastructure.s3_urls import read_s3_url
from tests.servers.s3_servers import S3Process

MIB = 1024 * 1024


@pytest.fixture
def store(s3: S3Process) -> S3BlobStore:
    return open_s3(s3.url())


@pytest.fixture
def place() -> dict[str, Any]:
    return {"tenant_id": fresh("tenant"), "key": "a/../b ä"}


async def request(url: str, method: str = "GET", data: bytes | None = None) -> bytes:
    def work() -> bytes:
        headers = {"Content-Type": "application/octet-stream"} if data else {}
        asked = urllib.request.Request(url, data, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
            return bytes(answer.read())

    return await asyncio.to_thread(work)


async def names(store: S3BlobStore, folder: str) -> list[str]:
    return [found.path async for found in store._bucket.list(folder)]


async def pieces(content: bytes, size: int = 100_000) -> AsyncIterator[bytes]:
    for at in range(0, len(content), size):
        yield content[at : at + size]


async def test_signed_urls_get_and_put_and_change_nothing_afterwards(
    store: S3BlobStore, place: dict[str, Any]
) -> None:
    for content in (b"few", random.Random(3).randbytes(MIB)):
        at = {**place, "key": f"{len(content)}"}
        await store.put(**at, data=content, media_type="text/plain")
        assert await request((await store.presign(**at)).url) == content
        with pytest.raises(AlreadyExists):
            await store.presign(**at, method="PUT")
        assert await store.delete(**at)
        assert await names(store, f"data/{s3_layout.tenant_folder(at['tenant_id'])}") == []
    signed = await store.presign(**place, method="PUT")
    assert signed.method == "PUT"
    assert await store.find(**place) is None
    await request(signed.url, "PUT", b"from a client")
    blob = await store.head(**place)
    assert blob.sha256 == hashlib.sha256(b"from a client").hexdigest()
    assert await store.read(**place) == b"from a client"
    # The URL still works, and no longer reaches what was read.
    await request(signed.url, "PUT", b"changed")
    assert await store.read(**place) == b"from a client"
    assert await store.head(**place) == blob


async def test_many_bytes_are_uploaded_in_parts_as_they_come(
    store: S3BlobStore, s3: S3Process, place: dict[str, Any]
) -> None:
    content = random.Random(1).randbytes(2 * PART + 17)
    done = await store.put(**place, data=pieces(content), max_bytes=len(content))
    assert done.sha256 == hashlib.sha256(content).hexdigest()
    (path,) = await names(store, f"data/{s3_layout.tenant_folder(place['tenant_id'])}")
    if s3.kind == "moto":
        found = await store._bucket._obstore.head_async(store._bucket._store, path)
        assert found["e_tag"].strip('"').endswith("-3"), "a part for every 8 MiB"
    assert await store._bucket.is_conditional() is (s3.kind == "moto")
    assert await store.read(**place, max_bytes=len(content)) == content
    span: dict[str, int] = {"offset": PART - 5, "length": 10}
    assert await store.read(**place, **span) == content[PART - 5 : PART + 5]
    # The same again is known before anything is uploaded.
    again = await store.put(**place, data=pieces(content))
    assert again.outcome == "duplicate"
    assert await names(store, f"data/{s3_layout.tenant_folder(place['tenant_id'])}") == [path]


async def test_what_a_dead_process_left_is_discarded_and_nothing_else(
    store: S3BlobStore, place: dict[str, Any]
) -> None:
    await store.put(**place, data=b"x" * MIB)
    few = {**place, "key": "few"}
    await store.put(**few, data=b"few")
    signed = await store.presign(**few)
    left = s3_layout.new_data_path(place["tenant_id"], "dead")
    await store._bucket.write(left, b"x" * MIB)
    claim = s3_layout.claims_folder(place["tenant_id"], "dead") + "/some"
    await store._bucket.write(claim, b"x")
    assert await store.discard_unfinished() == 0, "it may still be at it"
    await asyncio.sleep(1.1)  # the servers tell whole seconds
    assert await store.discard_unfinished(older_than_seconds=0) >= 2
    assert left not in await names(store, "data")
    assert await names(store, "claims") == []
    assert await store.read(**place) == b"x" * MIB
    assert await request(signed.url) == b"few"


async def test_damage_is_told(store: S3BlobStore, place: dict[str, Any]) -> None:
    for size in (10, MIB):
        at = {**place, "key": str(size)}
        await store.put(**at, data=b"x" * size)
        path = s3_layout.key_path(at["tenant_id"], at["key"])
        if size == MIB:
            (path,) = await names(store, f"data/{s3_layout.tenant_folder(at['tenant_id'])}")
            await store._bucket.write(path, b"y" * size)
        else:
            content = await store._bucket.read(path)
            await store._bucket.write(path, content[:-1] + b"y")
        with pytest.raises(Unavailable):
            await store.read(**at)
    await store._bucket.write(s3_layout.key_path(place["tenant_id"], "bad"), b"not ours")
    with pytest.raises(Unavailable):
        await store.head(tenant_id=place["tenant_id"], key="bad")


@pytest.fixture
def own_s3() -> Iterator[S3Process]:
    """A server of this test's own that keeps its objects on disk, to be killed."""
    server = S3Process("rclone")
    try:
        yield server
    finally:
        server.close()


async def test_killed_in_the_middle_what_was_acknowledged_is_there_and_whole(
    own_s3: S3Process,
) -> None:
    store, tenant_id = open_s3(own_s3.url()), fresh("tenant")
    acknowledged: dict[str, bytes] = {}
    refused = 0
    stopping = False

    async def work(worker: int) -> None:
        nonlocal refused
        number = 0
        while not stopping:
            number += 1
            key = f"{worker}-{number}"
            content = random.Random(key).randbytes(random.Random(key).choice([100, 400_000]))
            while True:  # the same bytes under the same key: a retry is safe
                try:
                    await store.put(tenant_id=tenant_id, key=key, data=content)
                    break
                except Unavailable:
                    refused += 1
            acknowledged[key] = content

    workers = [asyncio.create_task(work(number)) for number in range(3)]
    for kill in range(1, 4):
        async with asyncio.timeout(60):
            while len(acknowledged) < 10 * kill:  # noqa: ASYNC110 (work goes on meanwhile)
                await asyncio.sleep(0.005)
        await asyncio.to_thread(own_s3.kill_hard)
        await asyncio.to_thread(own_s3.start)
    stopping = True
    async with asyncio.timeout(60):
        await asyncio.gather(*workers)
    for key, content in acknowledged.items():
        assert await store.read(tenant_id=tenant_id, key=key) == content
    page = await store.list(tenant_id=tenant_id, limit=500)
    assert [blob.key for blob in page.items] == sorted(acknowledged)
    # And nothing lies anywhere but in the bucket.
    bucket = own_s3.home / "data"
    assert [path.name for path in bucket.iterdir()] == ["strongroom-test"]
    assert [path.name for path in (bucket / "strongroom-test").iterdir()] == ["some"]


async def test_a_wrong_secret_and_an_absent_server_are_told(own_s3: S3Process) -> None:
    wrong = open_s3(own_s3.url(secret="WRONG"))  # noqa: S106
    with pytest.raises(Unavailable):
        await wrong.put(tenant_id="acme", key="k", data=b"x")
    with pytest.raises(Unavailable):
        await wrong.find(tenant_id="acme", key="k")
    async with strongroom.connect("memory:", blobs=own_s3.url()) as opened:
        assert "blob_storage" in opened.capabilities
        await opened.blobs.put(tenant_id="acme", key="k", data=b"x")


IGNORED = (
    "s3://AK:hunter/2@bucket",  # a secret's slash: the bucket would be "ak"
    "s3://AK:hunter?2@bucket",
    "s3://AK:12/hunter@bucket",
    "s3://AK:hunter#2@bucket",
    "s3://AK:[hunter@bucket",
    "s3://AK:hunter\u2100@bucket",
    "s3://AK@bucket",
    "s3://:hunter@bucket",
    "s3://AK:@bucket",
    "s3://bucket:9000/prefix",
    "s3://bucket?secret_access_key=hunter",
    "s3://bucket?region=",
    "s3://bucket?unknown=",
    "s3://bucket?region=a&region=b",
    "s3://bucket?endpoint=storage:9000",
    "s3://bucket?endpoint=https://AK:hunter@storage",
    "s3://bucket?path_style=perhaps",
    "http://AK:[hunter@bucket",
)


@pytest.mark.parametrize("url", IGNORED)
def test_nothing_of_a_url_is_ignored_and_no_secret_is_shown(url: str) -> None:
    with pytest.raises(InvalidArgument) as wrong:
        open_blobs(url)
    assert wrong.value.detail["path"] == "blobs"
    assert "hunter" not in "".join(traceback.format_exception(wrong.value, chain=True))


def test_credentials_of_a_url_are_taken_as_they_were_meant() -> None:
    bucket, prefix, settings = read_s3_url("s3://A%2BK:a%2Fb+c%40@Bucket/a/b/?path_style=false")
    assert (bucket, prefix) == ("Bucket", "a/b")
    assert settings == {
        "virtual_hosted_style_request": True,
        "access_key_id": "A+K",
        "secret_access_key": "a/b+c@",
    }


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("s3://", "s3://bucket?unknown=1"):
        with pytest.raises(InvalidArgument) as wrong:
            open_s3(url)
        assert wrong.value.detail["path"] == "blobs"

    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(extras.importlib, "import_module", absent)
    with pytest.raises(MissingCapability) as caught:
        open_s3("s3://bucket")
    assert caught.value.hint == "pip install 'strongroom[s3]'"
