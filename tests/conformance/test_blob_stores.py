"""The section for blob stores on each of those that are built in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from strongroom.conformance.blobs import *  # noqa: F403
from strongroom.conformance.blobs import BlobAdapter
from strongroom.infrastructure.filesystem_blobs import FilesystemBlobStore
from strongroom.infrastructure.memory_blobs import MemoryBlobStore


@pytest.fixture(params=["memory", "filesystem"])
def blob_adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BlobAdapter]:
    if request.param == "memory":
        yield BlobAdapter(store=MemoryBlobStore())
        return
    folder = tmp_path / "blobs"
    yield BlobAdapter(
        store=FilesystemBlobStore(folder), open_second=lambda: FilesystemBlobStore(folder)
    )
    # Nothing of any put or delete is left beside the blobs, whatever the test did.
    unfinished = folder / "unfinished"
    assert not unfinished.exists() or list(unfinished.iterdir()) == []
    # And nothing was written beside the folder.
    assert [path.name for path in tmp_path.iterdir()] in ([], ["blobs"])
