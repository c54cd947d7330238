"""LangChain's byte store: its own standard tests, blocking and not, and the edges."""

import pytest
import pytest_asyncio
from examples.langchain import program
from langchain_tests.integration_tests import BaseStoreAsyncTests, BaseStoreSyncTests

from strongroom.client import Strongroom
from strongroom.conformance.helpers import new_tenant
from strongroom.errors import LimitExceeded
from strongroom.integrations.bridge import ThreadedStore
from strongroom.integrations.langchain import StrongroomByteStore
from tests.servers import Database

VALUES = (b"\x00\xff", b"", "👩‍👩‍👧".encode())


class TestSync(BaseStoreSyncTests[bytes]):
    """LangChain's own tests."""

    @pytest.fixture
    def kv_store(self, threaded: ThreadedStore, thread_tenant: str) -> StrongroomByteStore:
        return StrongroomByteStore(threaded, tenant_id=thread_tenant)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return VALUES


class TestAsync(BaseStoreAsyncTests[bytes]):
    """LangChain's own tests."""

    @pytest_asyncio.fixture
    async def kv_store(self, store: Strongroom, tenant_id: str) -> StrongroomByteStore:
        return StrongroomByteStore(store, tenant_id=tenant_id)

    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:
        return VALUES


async def test_many_keys_and_large_values(store: Strongroom, tenant_id: str) -> None:
    cache = StrongroomByteStore(store, tenant_id=tenant_id)
    pairs = [(f"k{n:04}", str(n).encode()) for n in range(1201)]
    await cache.amset(pairs)
    assert await cache.amget([key for key, _ in pairs]) == [value for _, value in pairs]
    assert [key async for key in cache.ayield_keys(prefix="k")] == [key for key, _ in pairs]
    assert [key async for key in cache.ayield_keys(prefix="k01")] == [
        f"k01{n:02}" for n in range(100)
    ]
    with pytest.raises(LimitExceeded):
        await cache.amset([("new", b"1"), ("large", bytes(16_777_217))])
    assert await cache.amget(["new"]) == [None]
    for place in (
        StrongroomByteStore(store, tenant_id=tenant_id, namespace="other"),
        StrongroomByteStore(store, tenant_id=await new_tenant(store)),
    ):
        assert await place.amget(["k0001"]) == [None]
        await place.amdelete(["k0001"])
    assert await cache.amget(["k0001"]) == [b"1"]


async def test_the_example_runs(place: Database, capsys: pytest.CaptureFixture[str]) -> None:
    await program.main(place.host_url, "langchain-example")
    assert capsys.readouterr().out.splitlines()[-2:] == ["asked the warehouse 1 time", "A-1"]
