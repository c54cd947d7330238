"""Bytes outside of the database: their keys, and the list of those that are to be removed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from strongroom.models.base import BoundedText, Id, Record, Timestamp
from strongroom.models.tenants import CreateOutcome

BLOB_KEY_BYTES = 1024
ERROR_CHARACTERS = 4096


def _check_bytes(key: str) -> str:
    size = len(key.encode("utf-8", "surrogatepass"))
    if size > BLOB_KEY_BYTES:
        raise PydanticCustomError(
            "limit_exceeded",
            "must have at most {limit} bytes of UTF-8, not {size}",
            {"limit": BLOB_KEY_BYTES, "size": size},
        )
    return key


BlobKey = Annotated[str, BoundedText(1, BLOB_KEY_BYTES), AfterValidator(_check_bytes)]
"""The key of bytes in a blob store: opaque text of 1 to 1,024 bytes, without names of people."""

RemovalError = Annotated[str, BoundedText(1, ERROR_CHARACTERS)]
"""Why bytes could not be removed: 1 to 4,096 characters."""


class BlobRemoval(Record):
    """A key whose bytes are to be removed.

    Attributes:
        requested_at: when the key was last let go.
        due_at: not before this time; while it is claimed, the end of the lease.
        attempts: how often it has been claimed.
        last_error: why the last attempt failed.
        claim_token: of whoever may be removing the bytes now.
    """

    tenant_id: Id
    blob_key: BlobKey
    requested_at: Timestamp
    due_at: Timestamp
    attempts: int
    last_error: str | None
    claim_token: int | None
    worker_id: Id | None
    claimed_at: Timestamp | None

    @property
    def claim(self) -> BlobRemovalClaim:
        """The claim on it, as ``complete`` takes it; InvalidArgument when nobody has claimed it."""
        return BlobRemovalClaim(
            tenant_id=self.tenant_id, blob_key=self.blob_key, claim_token=self.claim_token
        )

    def failed(self, error: str) -> FailedBlobRemoval:
        """Return the claim with the reason why it failed, as ``retry_later`` takes it."""
        return FailedBlobRemoval(**dict(self.claim), error=error)


class BlobRemovalClaim(Record):
    """A claim on a removal."""

    tenant_id: Id
    blob_key: BlobKey
    claim_token: Annotated[int, Field(strict=True, ge=1, le=2**53 - 1)]


class FailedBlobRemoval(BlobRemovalClaim):
    """A claim on a removal that failed, and why."""

    error: RemovalError


class BlobRemovalOutcome(Record):
    """What became of one claim.

    Attributes:
        outcome: ``removed``; ``requested_again`` (let go once more meanwhile, and due again);
            ``waiting`` (given back, to be claimed later); ``stale`` (another claim has taken over, or
            it was done before).
    """

    tenant_id: Id
    blob_key: BlobKey
    outcome: Literal["removed", "requested_again", "waiting", "stale"]


class BlobRemovalQueue(Record):
    """How many of a tenant's keys wait for their bytes to be removed.

    Attributes:
        waiting: nobody is at it.
        claimed: somebody is, or was.
        failing: have failed before.
        oldest_requested_at: since when the oldest waits.
    """

    waiting: int
    claimed: int
    failing: int
    oldest_requested_at: Timestamp | None


class Blob(Record):
    """What a blob store knows of bytes.

    Attributes:
        size_bytes: how many there are.
        sha256: their hash: 64 hexadecimal digits.
        created_at: when they were put.
    """

    tenant_id: Id
    key: BlobKey
    size_bytes: int
    sha256: str
    media_type: Id
    created_at: Timestamp


class StoredBlob(Blob):
    """Bytes as ``put`` returns them.

    Attributes:
        outcome: ``inserted``, or ``duplicate``: the same bytes were there before.
    """

    outcome: CreateOutcome


class PresignedUrl(Record):
    """A URL that gives or takes bytes without other credentials, until it expires.

    Attributes:
        method: the HTTP method to use: GET or PUT.
        headers: what the request must carry.
    """

    url: str
    method: Literal["GET", "PUT"]
    headers: dict[str, str]
    expires_at: Timestamp


class BlobReference(Record):
    """A key that a living record refers to.

    Attributes:
        table_name: where the record is; one of them, where several refer to the key.
        is_pending: whether the bytes may still be on their way.
    """

    tenant_id: Id
    blob_key: BlobKey
    table_name: str
    is_pending: bool
