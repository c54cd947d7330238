"""Buckets through the blocking API: of the section for blob stores what its own calls could break.

With STRONGROOM_TEST_WHOLE_SUITE=1 all of the section runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import strongroom.conformance as suite
import strongroom.sync
from strongroom.conformance.blobs import BlobAdapter
from strongroom.conformance.helpers import fresh
from strongroom.conformance.ledger import PORTS
from strongroom.errors import Unavailable
from strongroom.infrastructure.s3_objects import PART
from strongroom.sync import file_transfer
from strongroom.sync.infrastructure.s3_blobs import open_s3
from tests.conformance.blocking_store import Port
from tests.servers.s3_servers import S3Process

CHOSEN = (
    "a_key_is_written_once",
    "of_racing_puts_one_wins_whole",
    "a_source_that_fails_leaves_nothing",
    "the_cap_holds_while_reading",
    "urls_are_signed_or_the_store_says_that_it_cannot",
)

globals().update(
    {
        name: test
        for name, test in suite.tests_of("blobs").items()
        if name.removeprefix("test_blobs_") in CHOSEN
        or (
            os.environ.get("STRONGROOM_TEST_WHOLE_SUITE") == "1"
            # A call that blocks is not cancelled: it goes on in its thread until its source ends.
            and "cancelled" not in name
        )
    }
)


@pytest.fixture
def blob_adapter(s3: S3Process) -> BlobAdapter:
    def opened() -> Port:
        return Port(open_s3(s3.url()), PORTS["blobs"])

    return BlobAdapter(store=opened(), open_second=opened, presigns=True)  # type: ignore[arg-type]


def test_whole_files_are_uploaded_in_parts_and_come_back(s3: S3Process) -> None:
    """More than two parts, from a plain iterator; and a source that fails leaves nothing."""
    content = bytes(range(256)) * (2 * PART // 256 + 1)

    def pieces(*, fails: bool = False) -> Iterator[bytes]:
        for start in range(0, len(content), 1_000_000):
            yield content[start : start + 1_000_000]
        if fails:
            raise ZeroDivisionError

    tenant_id = fresh("tenant")
    where = {"tenant_id": tenant_id, "owner_id": "ada"}
    with strongroom.sync.connect("memory:", blobs=s3.url(), features=["files"]) as store:
        store.tenants.create(tenant_id=tenant_id, name="T")
        file = file_transfer.upload(store, **where, path="a.bin", data=pieces())
        found = {"tenant_id": tenant_id, "file_id": file.id}
        assert b"".join(file_transfer.stream(store, **found)) == content
        assert file_transfer.download(store, **found) == content
        with pytest.raises(ZeroDivisionError):
            file_transfer.upload(store, **where, path="b.bin", data=pieces(fails=True))
        assert [known.id for known in store.files.list(tenant_id=tenant_id).items] == [file.id]
        assert len(store.blobs.list(tenant_id=tenant_id).items) == 1


def test_a_bucket_that_cannot_be_reached_is_told_at_the_start() -> None:
    url = "s3://k:s@bucket?endpoint=http://127.0.0.1:9&region=us-east-1"
    with (
        pytest.raises(Unavailable, match="bucket cannot be reached"),
        strongroom.sync.connect("memory:", blobs=url),
    ):
        raise AssertionError
