"""How checkpoints are filtered and listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointMetadata

from strongroom.errors import LimitExceeded
from strongroom.integrations.langgraph.places import config_of
from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.frameworks import FrameworkCheckpoint, FrameworkRecord

FIRST_PAGE = 10
LARGEST_PAGE = 50
PAGE_BYTES = 16_777_216
SCALARS = (str, int, float, bool, type(None))


class CheckpointHead(NamedTuple):
    """A checkpoint without the values of its channels."""

    config: RunnableConfig
    metadata: CheckpointMetadata
    parent_config: RunnableConfig | None


def next_size(page: Sequence[FrameworkCheckpoint], *, least: int) -> int:
    """Return how many checkpoints to read next, so that large ones do not come all at once."""
    size = sum(len(value[2] or b"") for one in page for value in one.channels or ())
    return max(least, min(LARGEST_PAGE, len(page) * PAGE_BYTES // max(size, 1)))


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


def kind_of(stored: FrameworkCheckpoint | FrameworkRecord) -> str:
    """Return the type of a stored checkpoint, as the serializer calls it."""
    return cast("str", cast("JsonObject", stored.content)["type"])


def parent_of(stored: FrameworkCheckpoint | FrameworkRecord) -> RunnableConfig | None:
    """Return the config that names the parent of a stored checkpoint; None when it has none."""
    parent = cast("JsonObject", stored.content).get("parent")
    return config_of(stored.path, str(parent)) if parent else None
