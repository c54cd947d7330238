"""Ids that the binding makes before a call's first try, so that a retry is the same call."""

from __future__ import annotations

import uuid_utils


def new_id() -> str:
    """Return a new UUIDv7 as text: unique, and roughly in the order of time, which indexes like."""
    return str(uuid_utils.uuid7())
