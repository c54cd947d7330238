"""The section for blob stores on Supabase Storage with the real client, on a stand-in; and who may read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from storage3.exceptions import StorageApiError
from supabase import AsyncClient, AsyncClientOptions, create_async_client

import strongroom
from strongroom.blob_upkeep import sweep_removals
from strongroom.conformance.blobs import *  # noqa: F403
from strongroom.conformance.blobs import BlobAdapter
from strongroom.conformance.helpers import fresh
from strongroom.errors import InvalidArgument
from strongroom.infrastructure import s3_layout
from strongroom.infrastructure.supabase_blobs import BUCKET, SupabaseBlobStore, folder_of
from tests.platform.postgrest import make_token, postgrest, user_token
from tests.platform.storage import StorageStandIn
from tests.servers import Database, Templates
from tests.servers.databases import dropped_after

Project = tuple[str, StorageStandIn, Database]
Connect = Callable[[str], Awaitable[AsyncClient]]


@pytest.fixture(scope="module")
def project(templates: Templates) -> Iterator[Project]:
    with dropped_after(templates.copy("supabase")) as database:
        storage = StorageStandIn(database)
        url = database.url(user="authenticator")
        with postgrest(url, routes=storage.routes) as api:
            yield api.url, storage, database


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=30) as client:
        yield client


@pytest.fixture
def connect(project: Project, http: httpx.AsyncClient) -> Connect:
    async def connect(token: str) -> AsyncClient:
        options = AsyncClientOptions(
            headers={"Authorization": f"Bearer {token}"}, httpx_client=http
        )
        return await create_async_client(project[0], token, options)

    return connect


@pytest.fixture
async def blob_adapter(connect: Connect) -> BlobAdapter:
    client = await connect(make_token("service_role"))
    return BlobAdapter(
        store=SupabaseBlobStore(client),
        open_second=lambda: SupabaseBlobStore(client),
        presigns=True,
    )


async def test_users_read_the_bytes_of_files_that_they_may_read(
    project: Project, connect: Connect
) -> None:
    key = make_token("service_role")
    async with strongroom.connect_supabase(project[0], key, blobs=f"supabase:{BUCKET}") as store:
        tenant_id, other = fresh("tenant"), fresh("tenant")
        for tenant in (tenant_id, other):
            await store.tenants.create(tenant_id=tenant, name="T")
        talk = await store.conversations.create(tenant_id=tenant_id, owner_id="ada")
        file = await store.files.create(
            tenant_id=tenant_id,
            owner_id="ada",
            path="a.txt",
            media_type="text/plain",
            conversation_id=talk.id,
            blob_key="files/a ä",
        )
        assert file.path == "a.txt"
        await store.blobs.put(tenant_id=tenant_id, key="files/a ä", data=b"hers")
        await store.blobs.put(tenant_id=tenant_id, key="nobody's", data=b"no file refers to it")
        path = f"{folder_of(tenant_id)}/{s3_layout.name_of('files/a ä')}"
        loose = f"{folder_of(tenant_id)}/{s3_layout.name_of(chr(110) + 'obody' + chr(39) + 's')}"
        readers = {
            ("ada", tenant_id): b"hers",
            ("eve", tenant_id): None,
            ("ada", other): None,
        }
        for (name, tenant), expected in readers.items():
            client = await connect(user_token(tenant, name))
            bucket = client.storage.from_(BUCKET)
            if expected is None:
                with pytest.raises(StorageApiError):
                    await bucket.download(path)
            else:
                assert await bucket.download(path) == expected
            for refused in (bucket.download(loose), bucket.upload(f"{path}x", b"mine")):
                with pytest.raises(StorageApiError):
                    await refused
            assert await bucket.remove([path]) == []
            listed = await bucket.list_v2({"prefix": "", "with_delimiter": False})
            assert [found.name for found in listed.objects] == ([path] if expected else [])
        assert await store.blobs.read(tenant_id=tenant_id, key="files/a ä") == b"hers"


async def test_bytes_go_by_the_durable_list_and_a_failing_store_loses_nothing(
    project: Project,
) -> None:
    _, storage, database = project
    key = make_token("service_role")
    async with strongroom.connect_supabase(project[0], key, blobs=f"supabase:{BUCKET}") as store:
        tenant_id = fresh("tenant")
        await store.tenants.create(tenant_id=tenant_id, name="T")
        await store.blobs.put(tenant_id=tenant_id, key="k", data=b"bytes")
        await store.blob_removals.schedule(tenant_id=tenant_id, blob_key="k")
        place: dict[str, Any] = {"tenant_id": tenant_id, "key": "k"}
        storage.is_down = True
        report = await sweep_removals(store, tenant_id=tenant_id)
        assert (report.removed, report.failed) == (0, 1)
        storage.is_down = False
        assert await store.blobs.read(**place) == b"bytes"
        with database.connect() as admin:  # it is tried again later: now
            admin.execute(
                "update strongroom.blob_removals set due_at = now() where tenant_id = %s",
                [tenant_id],
            )
        report = await sweep_removals(store, tenant_id=tenant_id)
        assert (report.removed, report.failed) == (1, 0)
        assert await store.blobs.find(**place) is None


async def test_a_bucket_that_is_not_there_is_said(connect: Connect) -> None:
    client = await connect(make_token("service_role"))
    store = SupabaseBlobStore(client, "none")
    with pytest.raises(InvalidArgument, match="bucket"):
        await store.put(tenant_id="acme", key="k", data=b"x")


def test_the_database_spells_folders_as_the_store_does(project: Project) -> None:
    names = ["acme", "Acme & Co", "ä", "İK", "😀" * 200, "a/../b", "-", "A" * 255]
    with project[2].connect() as connection:
        for name in names:
            row = connection.execute(
                "select strongroom_private.storage_folder(%s)", [name]
            ).fetchone()
            assert row == (folder_of(name),)
