"""How checkpoints are filtered and listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointMetadata

from strongroom.errors import LimitExceeded
from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.frameworks import FrameworkCheckpoint

SCALARS = (str, int, float, bool, type(None))


def searchable(metadata: CheckpointMetadata) -> JsonObject:
    """Return the metadata that a filter can ask for: what is JSON."""
    return {key: cast("JsonValue", v) for key, v in metadata.items() if _is_json(v)}


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    return type(value) in SCALARS and value == value and value not in (float("inf"), -float("inf"))  # noqa: PLR0124


def without_the_last_id(page: Sequence[FrameworkCheckpoint]) -> Sequence[FrameworkCheckpoint]:
    """Leave out the last id: more checkpoints with it, of copied threads, may follow."""
    whole = [one for one in page if one.id != page[-1].id]
    if not whole:
        raise LimitExceeded(
            f"{len(page)} threads have a checkpoint with the same id",
            detail={"path": "config", "limit": len(page) - 1},
            hint="List the checkpoints of one thread at a time.",
        )
    return whole
