"""Locks: leases on names, with fencing tokens."""

from __future__ import annotations

from strongroom.models.base import Id, Record, Timestamp


class Lock(Record):
    """A lock that somebody holds.

    Attributes:
        token: greater than that of every earlier acquisition. Give it along with what the lock
            protects, and let a write with an older one be refused.
        expires_at: until when, without a renewal.
    """

    tenant_id: Id
    name: Id
    token: int
    owner_id: Id
    acquired_at: Timestamp
    expires_at: Timestamp
