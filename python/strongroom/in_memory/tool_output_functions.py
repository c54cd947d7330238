"""What the calls of ToolOutputStore do."""

from __future__ import annotations

import base64
import datetime as dt
from typing import Any

from strongroom.errors import InvalidArgument
from strongroom.in_memory.artifact_functions import creation
from strongroom.in_memory.base import check_writable, readable_conversation
from strongroom.in_memory.contents import checked_content, hold_claim, jsonb_text, keep_content
from strongroom.in_memory.database import Tables
from strongroom.in_memory.dropping import drop_tool_outputs
from strongroom.in_memory.pages import check_page, cursor_scope, page_of
from strongroom.in_memory.run_steps import moment
from strongroom.models.pages import Direction, Page
from strongroom.models.tool_outputs import (
    StoredToolOutput,
    ToolOutput,
    ToolOutputHead,
    ToolOutputSlice,
)

INLINE_BYTES = 16_777_216


def put_tool_output(
    tables: Tables,
    *,
    conversation_id: str,
    run_id: str | None,
    tool_call_id: str | None,
    tool_name: str | None,
    expires_at: str | None,
    claim_token: int | None,
    **content: Any,
) -> StoredToolOutput:
    """Store it, or know it by its content and keep it as long as anybody needs it."""
    check_writable(tables)
    measured = checked_content(limit=INLINE_BYTES, **content)
    hold_claim(tables, conversation_id, run_id, claim_token)
    readable_conversation(tables, conversation_id)
    until = None if expires_at is None else dt.datetime.fromisoformat(expires_at)
    key = (conversation_id, f"{measured.kind}:{measured.sha256}")
    known = tables.tool_outputs.get(key)
    if known is not None:
        if known.expires_at is not None:
            later = None if until is None else max(known.expires_at, until)
            known = tables.tool_outputs[key] = known.replace(expires_at=later)
        return StoredToolOutput(**_head(known), outcome="duplicate")
    keep_content(tables, measured)
    output = ToolOutput(
        tenant_id=tables.tenant_id,
        conversation_id=conversation_id,
        id=key[1],
        kind=measured.kind,
        sha256=measured.sha256,
        size_bytes=measured.size_bytes,
        characters=measured.characters,
        media_type=measured.media_type,
        blob_key=measured.blob_key,
        run_id=run_id,
        tool_call_id=tool_call_id,
        tool_name=tool_name,
        expires_at=until,
        created_at=tables.now,
        text=measured.text,
        value=measured.value,
        data_base64=measured.data_base64,
    )
    tables.tool_outputs[key] = output
    return StoredToolOutput(**_head(output), outcome="inserted")


def _head(output: ToolOutput) -> dict[str, Any]:
    return {name: getattr(output, name) for name in ToolOutputHead.model_fields}


def find_tool_output(
    tables: Tables, *, conversation_id: str, output_id: str, viewer_id: str | None
) -> ToolOutput | None:
    """Return it with its content."""
    readable_conversation(tables, conversation_id, viewer_id)
    return tables.tool_outputs.get((conversation_id, output_id))


def find_tool_output_head(
    tables: Tables, *, conversation_id: str, output_id: str, viewer_id: str | None
) -> ToolOutputHead | None:
    """Return it without its content."""
    found = find_tool_output(
        tables, conversation_id=conversation_id, output_id=output_id, viewer_id=viewer_id
    )
    return found and ToolOutputHead(**_head(found))


def find_tool_output_slice(
    tables: Tables,
    *,
    conversation_id: str,
    output_id: str,
    start: int,
    length: int,
    viewer_id: str | None,
) -> ToolOutputSlice | None:
    """Return a part of it."""
    found = find_tool_output(
        tables, conversation_id=conversation_id, output_id=output_id, viewer_id=viewer_id
    )
    if found is None:
        return None
    if found.kind == "blob":
        raise InvalidArgument(
            "the content of this output is in the blob store",
            detail={"path": "output_id", "kind": "blob"},
            hint="Read a range of the blob.",
        )
    body = jsonb_text(found.value) if found.kind == "json" else found.text
    whole = found.data if body is None else body
    total = len(whole or "")
    end = start + length
    return ToolOutputSlice(
        tenant_id=found.tenant_id,
        conversation_id=conversation_id,
        id=output_id,
        kind=found.kind,
        start=start,
        total=total,
        next_start=end if total > end else None,
        text=None if body is None else body[start:end],
        data_base64=(
            None if found.data is None else base64.b64encode(found.data[start:end]).decode()
        ),
    )


def list_tool_outputs(
    tables: Tables,
    *,
    conversation_id: str,
    limit: int,
    after: str | None,
    before: str | None,
    direction: Direction,
    viewer_id: str | None,
    run_id: str | None,
) -> Page[ToolOutputHead]:
    """Return a page of outputs without their content, forward newest first."""
    check_page(after, before)
    readable_conversation(tables, conversation_id, viewer_id)
    return page_of(
        [
            ToolOutputHead(**_head(output))
            for output in tables.tool_outputs.values()
            if output.conversation_id == conversation_id and run_id in {None, output.run_id}
        ],
        key=creation,
        descending=direction == "forward",
        scope=cursor_scope("tool_outputs", [conversation_id, run_id], direction),
        limit=limit,
        after=after,
        before=before,
    )


def expired_tool_outputs(tables: Tables) -> list[tuple[dt.datetime, tuple[str, str]]]:
    """Return where outputs are that have expired, of conversations without an unfinished run."""
    now = moment()
    busy = {run.record.conversation_id for run in tables.runs.values() if not run.record.is_final}
    return [
        (output.expires_at, key)
        for key, output in tables.tool_outputs.items()
        if output.expires_at is not None and output.expires_at <= now and key[0] not in busy
    ]


def expire_tool_outputs(tables: Tables, *, limit: int) -> int:
    """Delete what has expired where no run is unfinished; return how many."""
    check_writable(tables)
    due = sorted(key for _, key in expired_tool_outputs(tables))[:limit]
    drop_tool_outputs(tables, lambda output: (output.conversation_id, output.id) in due)
    return len(due)
