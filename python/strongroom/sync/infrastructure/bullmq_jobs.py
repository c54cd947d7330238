"""BullMQ's Python package is asynchronous: not in the blocking API."""

from __future__ import annotations

from typing import NoReturn

from strongroom.errors import MissingCapability
from strongroom.sync.infrastructure.redis_server import RedisServer
from strongroom.sync.ports.jobs import JobDispatcher


def bullmq_server(jobs: str) -> NoReturn:  # noqa: ARG001 (as where it is known)
    """Refuse.

    Raises:
        MissingCapability: SR040, saying what to do.
    """
    raise MissingCapability(
        "the blocking API cannot bring jobs to workers through BullMQ: its package is asynchronous",
        detail={"path": "jobs", "capability": "durable_jobs"},
        hint="Leave jobs out: the database keeps them all the same, and workers that were opened with"
        " strongroom.connect(jobs='bullmq+redis://...') also look there.",
    )


def brought_by_bullmq(jobs: JobDispatcher, server: RedisServer) -> NoReturn:
    """Refuse: see ``bullmq_server``."""
    raise NotImplementedError(f"{jobs} on {server}")
