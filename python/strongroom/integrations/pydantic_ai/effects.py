"""The ledger of tool effects: of two that claim the same call exactly one has it."""

from __future__ import annotations

from typing import cast

from pydantic import TypeAdapter
from pydantic_ai_harness.step_persistence import ToolEffectRecord

from strongroom.errors import AlreadyExists, VersionConflict
from strongroom.integrations.pages import all_values
from strongroom.integrations.plain import plain
from strongroom.integrations.pydantic_ai.places import FRAMEWORK, TRIES, Steps, known_by, run_path
from strongroom.models.base import JsonObject
from strongroom.models.frameworks import (
    FrameworkCondition,
    FrameworkRecord,
    FrameworkRecordChange,
    FrameworkRecordReference,
)

COLLECTION = "tool_effects"
_EFFECT = TypeAdapter(ToolEffectRecord)


async def record(steps: Steps, effect: ToolEffectRecord) -> None:
    """Write an effect on top of the one that is there, or say that it is another's."""
    content = cast(
        "JsonObject",
        plain(
            effect,
            "record",
            lambda value: _EFFECT.dump_python(value, mode="json", warnings="error"),
        ),
    )
    for last in (*[False] * (TRIES - 1), True):
        stored = await _find(steps, effect.run_id, effect.tool_call_id)
        if stored is not None and stored.content == content:
            return
        if stored is not None:
            _check(_effect(stored), effect)
        change = FrameworkRecordChange(
            path=run_path(effect.run_id),
            collection=COLLECTION,
            key=known_by(effect.tool_call_id),
            content=content,
            expected_version=stored.version if stored else 0,
        )
        try:
            await steps.put([change])
        except VersionConflict:
            if last:
                raise
        else:
            return


async def find(steps: Steps, run_id: str, tool_call_id: str) -> ToolEffectRecord | None:
    """Return the effect of a call; None when there is none."""
    stored = await _find(steps, run_id, tool_call_id)
    return None if stored is None else _effect(stored)


async def unresolved(steps: Steps, run_id: str) -> list[ToolEffectRecord]:
    """Return a run's effects that have begun and not ended, the earliest first."""
    found = await all_values(
        steps.store,
        tenant_id=steps.tenant_id,
        framework=FRAMEWORK,
        path=run_path(run_id),
        collection=COLLECTION,
        filter=[FrameworkCondition(field="status", value="started")],
        principal_id=steps.principal_id,
    )
    return [_effect(one) for one in sorted(found, key=lambda one: one.created_at)]


def _check(stored: ToolEffectRecord, wanted: ToolEffectRecord) -> None:
    """Let the one that has claimed the call go on, and a new attempt begin after a failed one."""
    if stored.started_at == wanted.started_at:
        is_next = stored.status in {"started", wanted.status}
    else:
        is_next = (stored.status, wanted.status) == ("failed", "started")
    if not is_next:
        raise AlreadyExists(
            f"the effect of this tool call is {stored.status} already, by another attempt",
            detail={"path": "record.tool_call_id", "record": "tool effect"},
            hint="Read it with get_tool_effect. Whether the tool ran is for you to find out; then"
            " record it as completed or failed with its started_at. After failed it may begin anew.",
        )


async def _find(steps: Steps, run_id: str, tool_call_id: str) -> FrameworkRecord | None:
    found = await steps.find(
        [
            FrameworkRecordReference(
                path=run_path(run_id), collection=COLLECTION, key=known_by(tool_call_id)
            )
        ]
    )
    return found[0] if found else None


def _effect(stored: FrameworkRecord) -> ToolEffectRecord:
    return _EFFECT.validate_python(stored.content)
