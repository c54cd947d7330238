"""What a host learns at its start: which feature needs what, what is missing, and what to do."""

import traceback
from collections.abc import Iterator
from typing import Any, get_args

import pytest

import strongroom
from strongroom.client import FEATURES, check_features
from strongroom.errors import InvalidArgument, MissingCapability, Unavailable
from strongroom.infrastructure.advertised import ADAPTERS, PORTS, table
from strongroom.infrastructure.composing import composed
from strongroom.infrastructure.tenant_states import TenantStates
from strongroom.models.health import Capability
from tests.servers.redis_server import RedisProcess
from tests.servers.s3_servers import BUCKET, S3Process


def test_every_feature_names_its_capability_and_the_fix() -> None:
    for feature in (*FEATURES, *get_args(Capability)):
        with pytest.raises(MissingCapability) as caught:
            check_features([feature], frozenset(), "bare")
        detail = caught.value.detail
        assert detail["feature"] == feature
        assert detail["capability"] == FEATURES.get(feature, feature)
        assert feature in caught.value.message
        assert detail["capability"] in caught.value.message
        assert (
            "connect(" in str(caught.value.hint)
            or "Use " in str(caught.value.hint)
            or ("Install" in str(caught.value.hint) or "Connect" in str(caught.value.hint))
        )
        check_features([feature], frozenset({detail["capability"]}), "able")
    with pytest.raises(InvalidArgument) as wrong:
        check_features(["teleport"], frozenset(), "bare")
    assert set(wrong.value.detail["choices"]) == {*FEATURES, *get_args(Capability)}


@pytest.mark.parametrize(
    "url",
    [
        "redis://app:s3cr3t/x@127.0.0.1:1/0",
        "redis://app:a:s3cr3t@[::1/0",
        "redis://app:s3cr3t@127.0.0.1:port/0",
        "redis://app:s3cr3t@127.0.0.1:1/cache",
        "redis://app:s3cr3t@127.0.0.1:1/0?nix=1",
        "redis://app:s3cr3t@127.0.0.1:1/0?socket_timeout=s3cr3t",
        "redis://app:s3cr3t@127.0.0.1:1/0?timeout=s3cr3t",
    ],
)
@pytest.mark.parametrize("name", ["locks", "realtime", "jobs"])
async def test_what_is_no_url_is_refused_at_once_without_a_secret(name: str, url: str) -> None:
    """A database that is no number is another case than it seems: the client takes number 0."""
    given: dict[str, Any] = {name: f"bullmq+{url}" if name == "jobs" else url}
    with pytest.raises(InvalidArgument) as caught:
        async with strongroom.connect("memory:", **given):
            pytest.fail("it opened")
    told = "".join(traceback.format_exception(caught.value))
    assert "s3cr3t" not in f"{told} {caught.value.detail} {caught.value.hint}"


async def test_a_missing_adapter_is_told_before_anything_is_opened(redis: RedisProcess) -> None:
    with pytest.raises(MissingCapability) as caught:
        async with strongroom.connect("memory:", features={"files"}):
            pass
    assert caught.value.detail["capability"] == "blob_storage"
    everything: dict[str, Any] = {
        "locks": redis.url,
        "realtime": redis.url,
        "jobs": f"bullmq+{redis.url}",
        "blobs": "memory:",
    }
    wanted = {"files", "locks", "live_updates", "background_jobs"}
    async with strongroom.connect("memory:", features=wanted, **everything) as store:
        assert {FEATURES[name] for name in wanted} <= set((await store.health()).capabilities)
    for name in ("locks", "realtime", "jobs"):
        with pytest.raises(Unavailable):
            async with strongroom.connect(
                "memory:",
                **{
                    name: ("bullmq+" if name == "jobs" else "")
                    + "redis://127.0.0.1:1/0?timeout=0.1"
                },
            ):
                pass
        with pytest.raises(InvalidArgument) as wrong:
            async with strongroom.connect("memory:", **{name: "amqp://127.0.0.1"}):
                pass
        assert wrong.value.detail["path"] == name


async def test_an_adapter_brings_its_capability_to_a_store_without_it() -> None:
    async with strongroom.connect("memory:") as store:
        from dataclasses import replace

        bare = replace(store, capabilities=frozenset())
        tenants = TenantStates(lambda tenant_id: bare.tenants.find(tenant_id=tenant_id))
        ports: Any = {"locks": object(), "jobs": object()}
        assert composed(bare, ports, tenants).capabilities == {
            "distributed_locking",
            "durable_jobs",
        }


@pytest.fixture
def own_s3() -> Iterator[S3Process]:
    server = S3Process("rclone")
    try:
        yield server
    finally:
        server.close()


async def test_a_bucket_that_does_not_exist_is_told_at_the_start(own_s3: S3Process) -> None:
    url = own_s3.url().replace(f"@{BUCKET}", "@no-such-bucket")
    with pytest.raises(Unavailable):
        async with strongroom.connect("memory:", blobs=url):
            pass


def test_the_table_has_what_the_adapters_have() -> None:
    lines = table().splitlines()
    assert len(lines) == 2 + len(ADAPTERS)
    assert all(f"`{capability}`" in lines[0] for capability in PORTS.values())
    assert {port for adapter in ADAPTERS for port in adapter.notes} == set(PORTS)
    postgresql = next(adapter for adapter in ADAPTERS if adapter.name == "PostgreSQL")
    assert postgresql.capabilities == {*PORTS.values()} - {"blob_storage"}
