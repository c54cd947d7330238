"""Artifacts and tool outputs of a conversation, as data for the sections; see ``calls``."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from strongroom.client import Ports
from strongroom.conformance.helpers import Where
from strongroom.models import BlobRef, Viewer

if TYPE_CHECKING:
    from strongroom.conformance.calls import Target


class ExportOf(TypedDict):
    """A version in a format, for calls."""

    version: int
    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactIds:
    """The ids of an artifact with two versions and two exports, and of a tool output."""

    artifact_id: str
    export_token: int
    output_id: str

    def absent(self) -> ArtifactIds:
        """Return ids of the same form that name nothing."""
        return replace(self, artifact_id=self.artifact_id[::-1], output_id=self.output_id[::-1])


PDF = ExportOf(version=2, format="pdf")
HTML = ExportOf(version=1, format="html")


def blob_of(content: bytes, key: str = "k") -> BlobRef:
    """Return what a blob store would say of this content."""
    return BlobRef(key=key, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))


async def fill_artifacts(store: Ports, where: Where) -> ArtifactIds:
    """Make an artifact and a tool output in a conversation."""
    made = await store.artifacts.create(**where, name="secret.md", text="secret")
    of = Described(tenant_id=where["tenant_id"], artifact_id=made.id)
    await store.artifacts.add_version(**of, expected_latest=1, text="secret, too")
    claimed = await store.artifacts.claim_export(**of, **PDF, worker_id="worker", lease_seconds=600)
    finished = await store.artifacts.claim_export(**of, **HTML, worker_id="worker")
    await store.artifacts.finish_export(
        **of, **HTML, claim_token=finished.claim_token, blob=blob_of(b"secret")
    )
    output = await store.tool_outputs.put(**where, text="secret")
    return ArtifactIds(artifact_id=made.id, export_token=claimed.claim_token, output_id=output.id)


class Described(TypedDict):
    """An artifact's place, for calls."""

    tenant_id: str
    artifact_id: str


class Pointed(TypedDict):
    """A tool output's place, for calls."""

    tenant_id: str
    conversation_id: str
    output_id: str


def artifact_of(target: Target) -> Described:
    """Return the place of the target's artifact."""
    return Described(tenant_id=target.tenant_id, artifact_id=target.artifacts.artifact_id)


def output_of(target: Target) -> Pointed:
    """Return the place of the target's tool output."""
    return Pointed(**target.where, output_id=target.artifacts.output_id)


READS: dict[str, Callable[[Ports, Target, Viewer | None], Awaitable[object]]] = {
    "artifacts.get": lambda s, t, v: s.artifacts.get(**artifact_of(t), viewer=v),
    "artifacts.find": lambda s, t, v: s.artifacts.find(**artifact_of(t), viewer=v),
    "artifacts.list": lambda s, t, v: s.artifacts.list(**t.where, viewer=v),
    "artifacts.get_version": lambda s, t, v: s.artifacts.get_version(**artifact_of(t), viewer=v),
    "artifacts.list_versions": lambda s, t, v: s.artifacts.list_versions(
        **artifact_of(t), viewer=v
    ),
    "artifacts.find_export": lambda s, t, v: s.artifacts.find_export(
        **artifact_of(t), **HTML, viewer=v
    ),
    "tool_outputs.get": lambda s, t, v: s.tool_outputs.get(**output_of(t), viewer=v),
    "tool_outputs.find": lambda s, t, v: s.tool_outputs.find(**output_of(t), viewer=v),
    "tool_outputs.head": lambda s, t, v: s.tool_outputs.head(**output_of(t), viewer=v),
    "tool_outputs.slice": lambda s, t, v: s.tool_outputs.slice(**output_of(t), viewer=v),
    "tool_outputs.list": lambda s, t, v: s.tool_outputs.list(**t.where, viewer=v),
}
"""Reads of what a conversation has."""

WRITES: dict[str, Callable[[Ports, Target], Awaitable[object]]] = {
    "artifacts.create": lambda s, t: s.artifacts.create(**t.where, name="late.md", text="late"),
    "artifacts.update": lambda s, t: s.artifacts.update(
        **artifact_of(t), title="late", expected_version=1
    ),
    "artifacts.add_version": lambda s, t: s.artifacts.add_version(
        **artifact_of(t), expected_latest=2, text="late"
    ),
    "artifacts.soft_delete": lambda s, t: s.artifacts.soft_delete(**artifact_of(t)),
    "artifacts.restore": lambda s, t: s.artifacts.restore(**artifact_of(t)),
    "artifacts.claim_export": lambda s, t: s.artifacts.claim_export(
        **artifact_of(t), version=1, format="late", worker_id="late"
    ),
    "artifacts.finish_export": lambda s, t: s.artifacts.finish_export(
        **artifact_of(t), **PDF, claim_token=t.artifacts.export_token, blob=blob_of(b"late")
    ),
    "artifacts.fail_export": lambda s, t: s.artifacts.fail_export(
        **artifact_of(t), **PDF, claim_token=t.artifacts.export_token, error={"code": "late"}
    ),
    "tool_outputs.put": lambda s, t: s.tool_outputs.put(**t.where, text="late"),
}
"""Writes to what a conversation has."""
