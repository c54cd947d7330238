"""The section for blob stores, with a fixture of its own: what every BlobStore must pass.

Write a test module with a ``blob_adapter`` fixture, and import everything:

    import pytest
    from strongroom.conformance.blobs import *
    from strongroom.conformance.blobs import BlobAdapter
    from strongroom.infrastructure.filesystem_blobs import FilesystemBlobStore

    @pytest.fixture
    async def blob_adapter(tmp_path):
        yield BlobAdapter(store=FilesystemBlobStore(tmp_path))

It makes tenants of its own with random ids, so it can run many times on one bucket.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from strongroom.conformance import tests_of
from strongroom.ports.blobs import BlobStore

pytest.register_assert_rewrite("strongroom.conformance.test_blobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobAdapter:
    """A blob store, and what the section may do with it.

    Attributes:
        store: the blob store.
        open_second: opens another one on the same bytes, as another process would.
        presigns: whether it serves URLs.
    """

    store: BlobStore
    open_second: Callable[[], BlobStore] | None = None
    presigns: bool = False


_TESTS = tests_of("blobs")
globals().update(_TESTS)

__all__ = ["BlobAdapter", *_TESTS]  # noqa: PLE0604 (names of tests)
