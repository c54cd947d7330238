"""How artifacts and tool outputs go: with what hangs on them, and counted."""

from __future__ import annotations

from collections.abc import Callable

from strongroom.in_memory.blob_removals import schedule_removal
from strongroom.in_memory.database import Tables
from strongroom.models.artifacts import Artifact
from strongroom.models.tool_outputs import ToolOutput


def _release(tables: Tables, blob_key: str | None) -> None:
    if blob_key is not None:
        schedule_removal(tables, blob_key)


def drop_artifacts(tables: Tables, goes: Callable[[Artifact], bool]) -> dict[str, int]:
    """Delete artifacts with their versions and exports; count the rows."""
    gone = [row.record.id for row in tables.artifacts.values() if goes(row.record)]
    exports = [key for key in tables.artifact_exports if key[0] in {*gone}]
    for key in exports:
        _release(tables, tables.artifact_exports.pop(key).blob_key)
    versions = [v for artifact_id in gone for v in tables.artifact_versions.pop(artifact_id)]
    for version in versions:
        _release(tables, version.blob_key)
    for artifact_id in gone:
        del tables.artifacts[artifact_id]
    return {
        "artifacts": len(gone),
        "artifact_versions": len(versions),
        "artifact_exports": len(exports),
    }


def drop_tool_outputs(tables: Tables, goes: Callable[[ToolOutput], bool]) -> dict[str, int]:
    """Delete tool outputs; count the rows."""
    gone = [key for key, output in tables.tool_outputs.items() if goes(output)]
    for key in gone:
        _release(tables, tables.tool_outputs.pop(key).blob_key)
    return {"tool_outputs": len(gone)}


def drop_made_things(tables: Tables, conversation_id: str | None = None) -> dict[str, int]:
    """Delete the artifacts and tool outputs of a conversation (all: None); count the rows."""

    def goes(record: Artifact | ToolOutput) -> bool:
        return conversation_id in {None, record.conversation_id}

    return {**drop_artifacts(tables, goes), **drop_tool_outputs(tables, goes)}
