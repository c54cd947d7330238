"""Stores that are put together of several servers: not in the blocking API."""

from __future__ import annotations

from contextlib import ExitStack

from strongroom.errors import MissingCapability
from strongroom.models.health import TextPolicy
from strongroom.sync.client import Strongroom


def with_adapters(
    stack: ExitStack,  # noqa: ARG001 (as where adapters are opened)
    store: Strongroom,
    *,
    text_policy: TextPolicy,  # noqa: ARG001
    keeps_up: bool,  # noqa: ARG001
    **urls: str | None,
) -> Strongroom:
    """Return the store as it is.

    Raises:
        MissingCapability: SR040, another server is wanted.
    """
    for name, url in urls.items():
        if url is not None:
            raise MissingCapability(
                f"the blocking API keeps {name} in the database",
                detail={"path": name},
                hint=f"Leave {name} out, or use strongroom.connect.",
            )
    return store
