"""Every port method about files and their bytes, as data for the sections."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from strongroom.client import Ports
from strongroom.conformance.helpers import OWNER, fresh
from strongroom.models import FileVersion, Viewer

SHA = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIds:
    """The ids of what a filled conversation has of files: one stored version, one pending."""

    file_id: str
    orphan_key: str

    def absent(self) -> FileIds:
        """Return ids of the same form that name nothing."""
        return replace(self, file_id=self.file_id[::-1], orphan_key=self.orphan_key[::-1])


async def stored(store: Ports, tenant_id: str, file_id: str, version: int = 1) -> FileVersion:
    """Say that the bytes of a pending version are there."""
    return await store.files.transition(
        tenant_id=tenant_id,
        file_id=file_id,
        version=version,
        from_state="pending",
        to_state="stored",
        size_bytes=3,
        sha256=SHA,
    )


async def fill(store: Ports, tenant_id: str, conversation_id: str) -> FileIds:
    """Make one of everything."""
    file = await store.files.create(
        tenant_id=tenant_id,
        owner_id=OWNER,
        path="secret/plan.txt",
        media_type="text/plain",
        conversation_id=conversation_id,
        file_id=fresh("file"),
    )
    await stored(store, tenant_id, file.id)
    await store.files.add_version(
        tenant_id=tenant_id, file_id=file.id, expected_latest=1, media_type="text/plain"
    )
    orphan = await store.blob_removals.schedule(tenant_id=tenant_id, blob_key=fresh("orphan"))
    return FileIds(file_id=file.id, orphan_key=orphan.blob_key)


class HasFiles(Protocol):
    """A target with the ids of files."""

    @property
    def tenant_id(self) -> str:
        """The tenant."""
        ...

    @property
    def conversation_id(self) -> str:
        """The conversation."""
        ...

    @property
    def files(self) -> FileIds:
        """The ids."""
        ...


def _at(target: HasFiles) -> dict[str, Any]:
    return {"tenant_id": target.tenant_id, "file_id": target.files.file_id}


READS: Mapping[str, Callable[[Ports, HasFiles, Viewer | None], Awaitable[object]]] = {
    "files.get": lambda s, t, v: s.files.get(**_at(t), viewer=v),
    "files.find": lambda s, t, v: s.files.find(**_at(t), viewer=v),
    "files.list": lambda s, t, v: s.files.list(
        tenant_id=t.tenant_id, conversation_id=t.conversation_id, viewer=v
    ),
    "files.get_version": lambda s, t, v: s.files.get_version(**_at(t), viewer=v),
    "files.list_versions": lambda s, t, v: s.files.list_versions(**_at(t), viewer=v),
}
"""Reads of what hangs on a conversation."""

WRITES: Mapping[str, Callable[[Ports, HasFiles], Awaitable[object]]] = {
    "files.create": lambda s, t: s.files.create(
        tenant_id=t.tenant_id,
        owner_id=OWNER,
        path="late",
        media_type="text/plain",
        conversation_id=t.conversation_id,
    ),
    "files.add_version": lambda s, t: s.files.add_version(
        **_at(t), expected_latest=2, media_type="text/plain"
    ),
    "files.transition": lambda s, t: s.files.transition(
        **_at(t), version=1, from_state="stored", to_state="deleting"
    ),
    "files.record_extraction": lambda s, t: s.files.record_extraction(
        **_at(t), version=1, status="done", summary="late"
    ),
    "files.soft_delete": lambda s, t: s.files.soft_delete(**_at(t)),
    "files.restore": lambda s, t: s.files.restore(**_at(t)),
}
"""Writes to what hangs on a conversation; each must refuse one that does not exist."""

HOST_READS: Mapping[str, Callable[[Ports, HasFiles], Awaitable[object]]] = {
    "files.list_by_state": lambda s, t: s.files.list_by_state(
        tenant_id=t.tenant_id, state="pending"
    ),
    "files.queue": lambda s, t: s.files.queue(tenant_id=t.tenant_id),
    "blob_removals.find": lambda s, t: s.blob_removals.find(
        tenant_id=t.tenant_id, blob_key=t.files.orphan_key
    ),
    "blob_removals.list": lambda s, t: s.blob_removals.list(tenant_id=t.tenant_id),
    "blob_removals.list_references": lambda s, t: s.blob_removals.list_references(
        tenant_id=t.tenant_id
    ),
    "blob_removals.queue": lambda s, t: s.blob_removals.queue(tenant_id=t.tenant_id),
}
"""Reads that hosts alone may do, of what the tenant has."""
