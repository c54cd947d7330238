"""One server of each kind for all tests here."""

import re
from collections.abc import Iterator

import pytest

from tests.servers.redis_server import RedisProcess
from tests.servers.s3_servers import S3Process


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisProcess]:
    """A Redis that keeps what it acknowledges."""
    server = RedisProcess()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session", params=["moto", "rclone"])
def s3(request: pytest.FixtureRequest) -> Iterator[S3Process]:
    """Each of the S3-compatible servers."""
    server = S3Process(request.param)
    try:
        yield server
    finally:
        server.close()


GENERIC = ("isolation", "deletion", "text", "arguments")
SUITES = ("test_conformance.py", "test_blocking.py")
OURS = re.compile(r"\[(jobs|locks|realtime)[.\]-]")


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Let the suite's tests share a loop, and of the generic ones take those about these ports."""
    others = []
    for item in items:
        if item.path.parent.name == "adapters" and item.path.name in SUITES:
            if item.get_closest_marker("asyncio"):
                item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)
            section = item.name.split("_")[1]
            if section in GENERIC and not OURS.search(item.name):
                others.append(item)
    for item in others:
        items.remove(item)
    config.hook.pytest_deselected(items=others)
