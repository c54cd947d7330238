"""The section for blob stores on the blocking ones that are built in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strongroom.conformance.blobs import *  # noqa: F403
from strongroom.conformance.blobs import BlobAdapter
from strongroom.conformance.ledger import PORTS
from strongroom.sync.infrastructure.filesystem_blobs import FilesystemBlobStore
from strongroom.sync.infrastructure.memory_blobs import MemoryBlobStore
from tests.conformance.blocking_store import Port

# A call that blocks is not cancelled: it goes on in its thread until its source ends.
globals().pop("test_blobs_a_cancelled_put_leaves_nothing")


def presented(store: object) -> Any:
    return Port(store, PORTS["blobs"])


@pytest.fixture(params=["memory", "filesystem"])
def blob_adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BlobAdapter]:
    if request.param == "memory":
        yield BlobAdapter(store=presented(MemoryBlobStore()))
        return
    folder = tmp_path / "blobs"
    yield BlobAdapter(
        store=presented(FilesystemBlobStore(folder)),
        open_second=lambda: presented(FilesystemBlobStore(folder)),
    )
    unfinished = folder / "unfinished"
    assert not unfinished.exists() or list(unfinished.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] in ([], ["blobs"])
