"""What a handler keeps besides messages: artifacts and tool outputs, under the run's claim."""

from __future__ import annotations

import pytest

from strongroom import (
    ArtifactPart,
    DurableWorker,
    NewMessage,
    RetryLater,
    RunContext,
    StaleClaim,
    Strongroom,
    ToolResultPart,
    TurnResult,
)
from tests.worker.test_worker import T, new_run, status
from tests.worker.test_worker import store as store

WHERE = {"tenant_id": T, "conversation_id": "talk"}


async def test_an_artifact_saved_again_after_a_crash_has_no_second_version(
    store: Strongroom,
) -> None:
    parts: list[ArtifactPart] = []

    async def handler(context: RunContext) -> TurnResult:
        parts.append(await context.save_artifact("report.md", text="# One", title="Report"))
        if len(parts) == 1:
            raise RetryLater("a crash", delay_seconds=0)
        parts.append(
            await context.save_artifact("report.md", text="# Two", media_type="text/markdown")
        )
        parts.append(await context.save_artifact("data.json", value={"a": 1}))
        return TurnResult(messages=(NewMessage(role="assistant", parts=parts[1:]),))

    await new_run(store)
    await DurableWorker(store=store, handler=handler).run_until_idle()
    assert await status(store) == "completed"
    assert [(part.version, part.media_type, part.title) for part in parts] == [
        (1, "text/plain", "Report"),
        (1, "text/plain", "Report"),
        (2, "text/markdown", "Report"),
        (1, "application/json", None),
    ]
    (report,) = (await store.artifacts.list(**WHERE, name="report.md")).items
    assert report.latest_version == 2
    version = await store.artifacts.get_version(tenant_id=T, artifact_id=report.id)
    assert (version.text, version.run_id) == ("# Two", "r1")
    (message,) = (await store.messages.list(**WHERE)).items
    assert message.parts == tuple(parts[1:])


async def test_a_large_tool_result_points_to_a_tool_output(store: Strongroom) -> None:
    large = {"rows": ["ä" * 100] * 20_000}
    parts: list[ToolResultPart] = []

    async def handler(context: RunContext) -> TurnResult:
        parts.append(await context.tool_result("c1", "small", {"rows": 1}))
        parts.append(await context.tool_result("c2", "query", large))  # type: ignore[arg-type]
        parts.append(await context.tool_result("c3", "page", "<p>" * 500_000, is_error=True))
        parts.append(await context.tool_result("c4", "image", b"\x89PNG\x00"))
        return TurnResult(messages=(NewMessage(role="tool", parts=parts),))

    await new_run(store)
    await DurableWorker(store=store, handler=handler).run_until_idle()
    assert await status(store) == "completed"
    small, query, page, image = parts
    assert small.output == {"rows": 1}
    for part, kind, preview in (
        (query, "json", '{"rows": ["ääää'),
        (page, "text", "<p><p>"),
        (image, "bytes", None),
    ):
        assert isinstance(part.output, dict)
        reference = part.output["tool_output"]
        assert isinstance(reference, dict)
        assert (reference["kind"], reference["conversation_id"]) == (kind, "talk")
        head = await store.tool_outputs.head(**WHERE, output_id=str(reference["id"]))
        assert (head.run_id, head.tool_call_id, head.tool_name) == (
            "r1",
            part.tool_call_id,
            part.tool_name,
        )
        assert head.size_bytes == reference["size_bytes"]
        if preview is None:
            assert "preview" not in part.output
        else:
            assert str(part.output["preview"]).startswith(preview)
            assert len(str(part.output["preview"])) == 1_000
    assert page.is_error
    whole = await store.tool_outputs.get(**WHERE, output_id=str(query.output["tool_output"]["id"]))  # type: ignore[index, call-overload]
    assert whole.value == large


async def test_a_model_pages_through_a_stored_output(store: Strongroom) -> None:
    read: list[str] = []

    async def handler(context: RunContext) -> str:
        stored = await context.store_tool_output(text="ä" * 150_000, tool_name="log")
        start: int | None = 0
        while start is not None:
            part = await context.read_tool_output(stored.id, start=start)
            read.append(part.text or "")
            start = part.next_start
        return "read"

    await new_run(store)
    await DurableWorker(store=store, handler=handler).run_until_idle()
    assert await status(store) == "completed"
    assert [len(piece) for piece in read] == [65_536, 65_536, 18_928]
    assert "".join(read) == "ä" * 150_000


async def test_who_has_lost_the_run_keeps_nothing(store: Strongroom) -> None:
    await new_run(store)
    run = await store.runs.claim(tenant_id=T, run_id="r1", worker_id="w")
    assert run is not None
    context = RunContext(store, run)
    await context.save_artifact("a", text="early")
    await store.runs.release(tenant_id=T, run_id="r1", claim_token=run.claim_token or 0)
    for call in (
        context.save_artifact("a", text="late"),
        context.save_artifact("b", text="late"),
        context.store_tool_output(text="late"),
        context.tool_result("c", "t", "x" * 100_000),
    ):
        with pytest.raises(StaleClaim):
            await call
    assert (await context.tool_result("c", "t", "small")).output == "small"
    (artifact,) = (await store.artifacts.list(**WHERE)).items
    assert artifact.latest_version == 1
    assert (await store.tool_outputs.list(**WHERE)).items == ()
