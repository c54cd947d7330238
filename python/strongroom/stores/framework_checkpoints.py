"""Checkpoints of graphs, put together from the records that the database sends once each."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from pydantic import TypeAdapter

from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.frameworks import ChannelValue, ChannelWrite, FrameworkCheckpoint
from strongroom.stores.rows import rows_from

_Row = tuple[str, tuple[str, ...] | None, str | None, str, str, JsonValue, JsonObject | None]
"""Session, path, checkpoint, collection, key, content and metadata."""

_ROWS = TypeAdapter(list[_Row])


class _Kept(NamedTuple):
    content: Any
    data: bytes | None


class _Session:
    """The records of one session that came, by their keys."""

    def __init__(self) -> None:
        self.channels: dict[str, _Kept] = {}
        self.parts: dict[str, _Kept] = {}
        self.writes: dict[str | None, list[_Kept]] = {}
        """By the id of their checkpoint."""

    def values(self, named: dict[str, str]) -> tuple[ChannelValue, ...]:
        """Return the values that a checkpoint names, of those that are there."""
        found = (
            (channel, self.channels.get(f"{version}:{channel}"))
            for channel, version in named.items()
        )
        return tuple(
            (channel, value.content["type"], self._whole(value))
            for channel, value in found
            if value is not None
        )

    def _whole(self, value: _Kept) -> bytes | None:
        """Return the bytes of a value; of a large one from its parts, whole or not at all."""
        names = value.content.get("parts")
        if value.data is not None or not isinstance(names, list) or not names:
            return value.data
        found = [self.parts[name].data for name in names if name in self.parts]
        if len(found) < len(names) or None in found:
            return None
        return b"".join(cast("list[bytes]", found))

    def pending(self, checkpoint_id: str) -> tuple[ChannelWrite, ...]:
        """Return the writes on top of a checkpoint, in order."""
        found = self.writes.get(checkpoint_id, [])
        found.sort(key=lambda w: tuple(w.content[name] for name in ("task_path", "task_id", "idx")))
        return tuple(
            (write.content["task_id"], write.content["channel"], write.content["type"], write.data)
            for write in found
        )


def checkpoints_of(text: str, data: list[bytes | None]) -> tuple[FrameworkCheckpoint, ...]:
    """Return the checkpoints, the newest id first, that records and the bytes beside them make.

    Args:
        text: the records, as JSON.
        data: the bytes of each.
    """
    sessions: dict[str, _Session] = {}
    checkpoints: list[tuple[_Row, bytes | None]] = []
    for row, its_data in zip(
        rows_from(_ROWS, text, "read_framework_checkpoints"), data, strict=True
    ):
        session_id, _, checkpoint_id, collection, key, content, _ = row
        session = sessions.setdefault(session_id, _Session())
        if collection == "channels":
            session.channels[key] = _Kept(content, its_data)
        elif collection == "parts":
            session.parts[key] = _Kept(content, its_data)
        elif collection == "writes":
            session.writes.setdefault(checkpoint_id, []).append(_Kept(content, its_data))
        else:
            checkpoints.append((row, its_data))
    checkpoints.sort(key=lambda one: one[0][1] or ())
    checkpoints.sort(key=lambda one: one[0][4], reverse=True)
    return tuple(
        FrameworkCheckpoint(
            path=path or (),
            id=key,
            content=cast("JsonObject", content),
            data=its_data,
            metadata=metadata or {},
            channels=sessions[session_id].values(_named(content)) or None,
            writes=sessions[session_id].pending(key) or None,
        )
        for (session_id, path, _, _, key, content, metadata), its_data in checkpoints
    )


def _named(content: JsonValue) -> dict[str, str]:
    named = cast("JsonObject", content).get("channels")
    return cast("dict[str, str]", named) if isinstance(named, dict) else {}
