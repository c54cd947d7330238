"""The local filesystem as a blob store: crashes, full disks, links, and what others do to the folder."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import strongroom
from strongroom import (
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Unavailable,
    file_transfer,
)
from strongroom.blob_upkeep import reconcile_blobs, sweep_removals
from strongroom.infrastructure.filesystem_blobs import FilesystemBlobStore
from strongroom.infrastructure.filesystem_layout import Layout, name_of
from tests.servers import Database

PLACE = {"tenant_id": "acme", "key": "k"}


def start(what: str, database: Database, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.blobs.uploader", what, database.host_url, f"file://{folder}"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("data"))


async def test_an_upload_that_is_killed_is_found_and_ended(
    database: Database, tmp_path: Path
) -> None:
    async with strongroom.connect(database.host_url, blobs=f"file://{tmp_path}") as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        process = start("halfway", database, tmp_path)
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "halfway\n"
        process.kill()
        process.wait()
        process.stdout.close()
        # The row says that it is pending, nobody sees half of the bytes, and some are left over.
        file = await store.files.get(tenant_id="acme", file_id="big")
        assert file.state == "pending"
        assert await store.blobs.find(tenant_id="acme", key=file.blob_key) is None
        assert bytes_in(tmp_path / "unfinished") > 0
        with pytest.raises(NotFound):
            await file_transfer.download(store, tenant_id="acme", file_id="big")
        # Young ones are left alone.
        young = await reconcile_blobs(store, tenant_id="acme", mend=True)
        assert (young.findings, young.discarded) == ((), 0)
        report = await reconcile_blobs(store, tenant_id="acme", grace_seconds=0, mend=True)
        assert [(f.problem, f.mended) for f in report.findings] == [("abandoned", "deleted")]
        assert report.discarded == 1
        assert bytes_in(tmp_path) == 0
        assert (await sweep_removals(store, tenant_id="acme")).removed == 1
        assert (await store.files.get(tenant_id="acme", file_id="big")).state == "deleted"
        # The file takes its next version.
        await file_transfer.upload_version(
            store, tenant_id="acme", file_id="big", expected_latest=1, data=b"at last"
        )
        assert await file_transfer.download(store, tenant_id="acme", file_id="big") == b"at last"


async def test_an_upload_goes_on_after_a_crash(database: Database, tmp_path: Path) -> None:
    async with strongroom.connect(database.host_url, blobs=f"file://{tmp_path}") as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        process = start("halfway", database, tmp_path)
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        process.kill()
        process.wait()
        process.stdout.close()
        content = b"x" * 5 * 1024 * 1024
        file = await file_transfer.upload(
            store, tenant_id="acme", owner_id="ada", path="big.bin", file_id="big", data=content
        )
        assert (file.state, file.latest_version) == ("stored", 1)
        assert await file_transfer.download(store, tenant_id="acme", file_id="big") == content


async def test_a_full_disk_is_said_and_leaves_nothing(database: Database, tmp_path: Path) -> None:
    async with strongroom.connect(database.host_url, blobs=f"file://{tmp_path}") as store:
        await store.tenants.create(tenant_id="acme", name="Acme")
        process = start("full", database, tmp_path)
        said, _ = await asyncio.to_thread(process.communicate)
        assert said == "SR050 EFBIG\n"
        assert bytes_in(tmp_path) == 0
        assert list((tmp_path / "unfinished").iterdir()) == []
        assert await store.files.find(tenant_id="acme", file_id="big") is None
        # The key of what was taken back is on the list, though there are no bytes.
        assert (await sweep_removals(store, tenant_id="acme")).removed == 1


def link_tenant(layout: Layout, elsewhere: Path) -> None:
    (layout.root / "blobs").mkdir(parents=True)
    layout.tenant("acme").symlink_to(elsewhere)


def link_shard(layout: Layout, elsewhere: Path) -> None:
    place = layout.blob("acme", "k").parent
    place.parent.mkdir(parents=True)
    place.symlink_to(elsewhere)


def link_blob(layout: Layout, elsewhere: Path) -> None:
    place = layout.blob("acme", "k")
    place.parent.mkdir(parents=True)
    place.symlink_to(elsewhere)


@pytest.mark.parametrize("link", [link_tenant, link_shard, link_blob])
async def test_links_are_not_followed(tmp_path: Path, link: Callable[[Layout, Path], None]) -> None:
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "blobs"
    elsewhere.mkdir()
    (elsewhere / "data").write_bytes(b"secret")
    (elsewhere / "about.json").write_text("{}")
    store = FilesystemBlobStore(root)
    link(Layout(root), elsewhere)
    for call in (store.find(**PLACE), store.read(**PLACE), store.delete(**PLACE)):
        with pytest.raises(PermissionDenied):
            await call
    with pytest.raises((PermissionDenied, strongroom.StrongroomError)):
        await store.put(**PLACE, data=b"overwritten?")
    assert sorted(path.name for path in elsewhere.iterdir()) == ["about.json", "data"]
    assert (elsewhere / "data").read_bytes() == b"secret"


async def test_a_link_in_the_place_of_bytes_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"12345")
    store = FilesystemBlobStore(tmp_path / "blobs")
    await store.put(**PLACE, data=b"bytes")
    data = Layout(tmp_path / "blobs").blob("acme", "k") / "data"
    data.unlink()
    data.symlink_to(secret)
    with pytest.raises(PermissionDenied):
        await store.read(**PLACE)
    assert await store.delete(**PLACE) is True
    assert secret.read_bytes() == b"12345"


@pytest.mark.parametrize("damage", ["cut", "longer", "no about", "empty about", "another's about"])
async def test_damaged_bytes_are_not_given_out(tmp_path: Path, damage: str) -> None:
    store = FilesystemBlobStore(tmp_path)
    await store.put(**PLACE, data=b"x" * 3_000_000)
    await store.put(tenant_id="acme", key="other", data=b"x" * 3_000_000)
    folder = Layout(tmp_path).blob("acme", "k")
    if damage == "cut":
        os.truncate(folder / "data", 100)
    elif damage == "longer":
        os.truncate(folder / "data", 3_000_001)
    elif damage == "no about":
        (folder / "about.json").unlink()
    elif damage == "empty about":
        (folder / "about.json").write_text("")
    else:
        other = Layout(tmp_path).blob("acme", "other") / "about.json"
        (folder / "about.json").write_bytes(other.read_bytes())
    with pytest.raises((Unavailable, NotFound)) as caught:
        await store.read(**PLACE)
    if isinstance(caught.value, Unavailable):
        assert not caught.value.retryable
    with pytest.raises((Unavailable, NotFound)):
        async for _ in store.stream(**PLACE):
            pass
    assert await store.read(tenant_id="acme", key="other", length=1) == b"x"


async def test_a_reader_ends_what_it_began_also_when_the_bytes_are_removed(tmp_path: Path) -> None:
    store = FilesystemBlobStore(tmp_path)
    content = os.urandom(5_000_000)
    await store.put(**PLACE, data=content)
    pieces = []
    async for piece in store.stream(**PLACE):
        pieces.append(piece)
        if len(pieces) == 1:
            assert await store.delete(**PLACE)
    assert b"".join(pieces) == content


async def test_a_folder_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    store = FilesystemBlobStore(tmp_path / "blobs")
    await store.put(**PLACE, data=b"x")
    (tmp_path / "blobs" / "unfinished").rmdir()
    (tmp_path / "blobs" / "unfinished").write_text("in the way")
    with pytest.raises(Unavailable) as caught:
        await store.put(tenant_id="acme", key="other", data=b"x")
    assert str(tmp_path) not in caught.value.message, "the path is the operator's business"
    assert await store.read(**PLACE) == b"x"


def test_the_folder_is_an_absolute_path_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for wrong in ("relative", "", ".", str(tmp_path / "file")):
        with pytest.raises(InvalidArgument):
            FilesystemBlobStore(wrong)


def test_names_are_short_safe_and_apart() -> None:
    texts = [
        "a",
        "A",
        "..",
        ".",
        "a/b",
        "a%2fb",
        "",
        "ä",
        "a\u0308",
        "x" * 199,
        "x" * 200,
        "😀" * 300,
    ]
    names = [name_of(text) for text in texts]
    assert len({name.lower() for name in names}) == len(texts)
    for name in names:
        assert len(name) <= 200
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_%")
