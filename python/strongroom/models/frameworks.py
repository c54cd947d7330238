"""What agent frameworks keep: sessions with a path, and records in named collections."""

from __future__ import annotations

import base64
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from strongroom.models.base import (
    Id,
    Json,
    JsonObject,
    JsonValue,
    Record,
    Timestamp,
    Version,
)
from strongroom.models.principal_memory import Embedding

Word = Annotated[str, StringConstraints(strict=True, pattern=r"^[a-z][a-z0-9_]{0,62}$")]
"""A short name that programs choose: ``langgraph``, ``items``."""

FrameworkPath = Annotated[list[Id], Field(min_length=1, max_length=20)]
"""Labels from the widest to the narrowest: 1 to 20, together at most 1,000 bytes."""

FrameworkPrefix = Annotated[list[Id], Field(max_length=20)]
"""The beginning of a path; an empty one is that of every path."""

RecordPosition = Annotated[int, Field(strict=True, ge=1, le=9_007_199_254_740_991)]
"""The place of a record in the order of its session."""

PutMode = Literal["replace", "keep", "delete"]
PutOutcome = Literal["inserted", "replaced", "duplicate", "conflict", "deleted", "absent"]
ConditionOperator = Literal["eq", "ne", "gt", "gte", "lt", "lte"]


class FrameworkSession(Record):
    """Where a framework keeps things: a session, a thread or a namespace.

    Attributes:
        framework: whose it is, such as ``openai_agents``.
        path: its name within the framework.
        principal_id: the person whose it is; erasing them deletes it.
        state: what the framework keeps about it.
        version: grows with every write of the state.
        last_position: the newest position that was given to a record.
        updated_at: when its state or its order of records last changed, or something was put; of that
            it may be an hour behind.
    """

    tenant_id: Id
    id: Id
    framework: Word
    path: tuple[str, ...]
    principal_id: Id | None
    state: JsonObject
    version: Version
    last_position: int
    created_at: Timestamp
    updated_at: Timestamp


class NewFrameworkRecord(Record):
    """A record to append: JSON, bytes, or both.

    Attributes:
        key: what it is known by in its collection; appending it again changes nothing.
        content: JSON in the framework's own form; None is none.
        data: bytes as the framework wrote them, up to 16 MiB together with the content.
        metadata: what searches filter by, at most 64 KiB.
    """

    key: Id
    content: Json = None
    data: bytes | None = Field(default=None, repr=False)
    metadata: JsonObject = Field(default_factory=dict)

    def document(self) -> dict[str, JsonValue]:
        """Return it as it goes to the database, without its bytes, which go beside."""
        found: dict[str, JsonValue] = {"key": self.key, "metadata": self.metadata}
        if self.content is not None:
            found["content"] = self.content
        return found


class FrameworkRecordChange(NewFrameworkRecord):
    """One write of a keyed record.

    Attributes:
        path: the path of its session, which is made where it is missing.
        collection: what kind of thing it is.
        embeddings: one for each text of it that is searched, all with as many numbers.
        ttl_seconds: how long it lasts; None: until it is deleted.
        mode: ``replace`` writes over what is there, ``keep`` leaves it, ``delete`` removes it.
        expected_version: the version that was read, 0 for none: any other raises VersionConflict.
    """

    path: FrameworkPath
    collection: Word = "values"
    embeddings: Annotated[list[Embedding], Field(min_length=1, max_length=100)] | None = None
    ttl_seconds: Annotated[float, Field(ge=0.001, le=3_153_600_000)] | None = None
    mode: PutMode = "replace"
    expected_version: Annotated[int, Field(strict=True, ge=0, le=10**15 - 1)] | None = None

    def document(self) -> dict[str, JsonValue]:
        """Return it as it goes to the database, without its bytes, which go beside."""
        found = super().document()
        found.update(path=list(self.path), collection=self.collection, mode=self.mode)
        if self.embeddings is not None:
            found["embeddings"] = [list(embedding) for embedding in self.embeddings]
        if self.ttl_seconds is not None:
            found["ttl_seconds"] = self.ttl_seconds
        if self.expected_version is not None:
            found["expected_version"] = self.expected_version
        return found


class FrameworkRecordReference(Record):
    """Where a keyed record is."""

    path: FrameworkPath
    collection: Word = "values"
    key: Id


class FrameworkCondition(Record):
    """A condition on a field of a record's content.

    Attributes:
        field: a field of the content's object.
        operator: ``gt`` and the like compare numbers with numbers and texts with texts.
        value: what it is compared with.
    """

    field: Id
    operator: ConditionOperator = "eq"
    value: Json


class AppendedFrameworkRecord(Record):
    """What became of an appended record; ``conflict``: the key is there with other content."""

    key: Id
    position: int | None
    created_at: Timestamp
    outcome: Literal["inserted", "duplicate", "conflict"]


class PutFrameworkRecord(Record):
    """What became of a put record; ``conflict``: something else is there, and stays."""

    path: tuple[str, ...]
    collection: Word
    key: Id
    version: int | None
    outcome: PutOutcome


class FrameworkRecord(Record):
    """A record, with where it is."""

    tenant_id: Id
    framework: Word
    path: tuple[str, ...]
    collection: Word
    key: Id
    position: int | None
    content: Json = Field(default=None, repr=False)
    data_base64: str | None = Field(default=None, repr=False)
    metadata: JsonObject
    expires_at: Timestamp | None
    version: Version
    created_at: Timestamp
    updated_at: Timestamp

    @property
    def data(self) -> bytes | None:
        """The bytes."""
        return None if self.data_base64 is None else base64.b64decode(self.data_base64)


class FoundFrameworkRecord(FrameworkRecord):
    """A record as a search found it; ``score`` is its cosine similarity, None without an embedding."""

    score: float | None


ChannelValue = tuple[str, str, bytes | None]
"""Channel, type and bytes of a value."""

ChannelWrite = tuple[str, str, str, bytes | None]
"""Task, channel, type and bytes of a write."""


class FrameworkCheckpoint(Record):
    """A checkpoint of a graph, with the values that it names and its pending writes in order.

    Attributes:
        path: the path of its session.
        id: what it is known by.
        content: its JSON.
        data: its bytes.
        metadata: what searches filter by.
        channels: the values, None without any; of one whose bytes are not all there, None.
        writes: the writes, None without any.
    """

    path: tuple[str, ...]
    id: Id
    content: JsonObject
    data: bytes | None = Field(default=None, repr=False)
    metadata: JsonObject
    channels: tuple[ChannelValue, ...] | None = Field(default=None, repr=False)
    writes: tuple[ChannelWrite, ...] | None = Field(default=None, repr=False)
