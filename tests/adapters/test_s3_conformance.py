"""The section for blob stores on both S3-compatible servers."""

import pytest

from strongroom.conformance.blobs import *  # noqa: F403
from strongroom.conformance.blobs import BlobAdapter
from strongroom.infrastructure.s3_blobs import open_s3
from tests.servers.s3_servers import S3Process


@pytest.fixture
def blob_adapter(s3: S3Process) -> BlobAdapter:
    return BlobAdapter(
        store=open_s3(s3.url()), open_second=lambda: open_s3(s3.url()), presigns=True
    )
