"""What tests look at without changing it, made once for an open adapter."""

from __future__ import annotations

import time

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls import Target, fill

GOOD_FOR_SECONDS = 200
"""Half of this and more is left of every lease in a filled conversation when it is made anew."""


async def kept(
    adapter: Adapter,
    what: str = "theirs",
    *,
    visibility: str = "private",
    beside: Target | None = None,
) -> Target:
    """Return a filled conversation that tests look at and do not change.

    It is made once for an open adapter, and again before a lease in it could end. For tests that read,
    and for those whose writes are refused.

    Args:
        adapter: of the test.
        what: its name; another name is another conversation in another tenant.
        visibility: of the conversation.
        beside: make it in the tenant of this one.
    """
    key = (what, visibility, beside and beside.tenant_id)
    target, made = adapter.kept.get(key, (None, 0.0))
    if target is None or time.monotonic() - made > GOOD_FOR_SECONDS:
        target = await fill(
            adapter.store, beside.tenant_id if beside else None, visibility=visibility
        )
        adapter.kept[key] = target, time.monotonic()
    assert isinstance(target, Target)
    return target
