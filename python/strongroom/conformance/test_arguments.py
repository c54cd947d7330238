"""Bad input: a typed error that names what and where, before anything is written."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import math
import random
import string
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from strongroom.client import Ports
from strongroom.conformance import (
    calls_catalog,
    calls_evaluations,
    calls_frameworks,
    calls_ledgers,
    calls_memory,
)
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    Where,
    all_messages,
    at,
    fresh,
    new_talk,
    new_tenant,
    said,
    say,
)
from strongroom.conformance.run_helpers import claimed, held, where
from strongroom.errors import InvalidArgument, LimitExceeded, StrongroomError
from strongroom.models import (
    AgentBinding,
    Conversation,
    FilePart,
    MemoryContext,
    NewAuditEvent,
    NewChunk,
    NewFrameworkRecord,
    NewMessage,
    NewUsage,
    StatusPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Viewer,
)
from strongroom.models.base import FIRST_MOMENT, LAST_MOMENT

Call = Callable[[Ports, Conversation, Any], Awaitable[object]]

ID_PATHS: dict[str, Call] = {
    "tenant_id": lambda s, _, x: s.conversations.list(tenant_id=x),
    "conversation_id": lambda s, t, x: s.messages.list(tenant_id=t.tenant_id, conversation_id=x),
    "message_id": lambda s, t, x: s.messages.get(tenant_id=t.tenant_id, message_id=x),
    "owner_id": lambda s, t, x: s.conversations.create(tenant_id=t.tenant_id, owner_id=x),
    "participant_ids[1]": lambda s, t, x: s.conversations.share(
        **at(t), visibility="private", participant_ids=["ok", x], expected_version=1
    ),
    "principal_id": lambda s, t, x: s.tenants.add_member(tenant_id=t.tenant_id, principal_id=x),
    "role_ids[0]": lambda s, t, x: s.tenants.add_member(
        tenant_id=t.tenant_id, principal_id="p", role_ids=[x]
    ),
    "name": lambda s, _, x: s.tenants.create(tenant_id=fresh(), name=x),
    **calls_catalog.ID_PATHS,
    **calls_memory.ID_PATHS,
    **calls_frameworks.ID_PATHS,
    **calls_evaluations.ID_PATHS,
    **calls_ledgers.ID_PATHS,
}
OPTIONAL_ID_PATHS: dict[str, Call] = {
    **calls_memory.OPTIONAL_ID_PATHS,
    "conversation_id": lambda s, t, x: s.conversations.create(
        tenant_id=t.tenant_id, owner_id=OWNER, conversation_id=x
    ),
    "title": lambda s, t, x: s.conversations.create(tenant_id=t.tenant_id, owner_id=OWNER, title=x),
    "external_ref": lambda s, t, x: s.conversations.create(
        tenant_id=t.tenant_id, owner_id=OWNER, external_ref=x
    ),
    "fork_id": lambda s, t, x: s.conversations.fork(**at(t), fork_id=x),
    "membership_id": lambda s, t, x: s.tenants.add_member(
        tenant_id=t.tenant_id, principal_id="p", membership_id=x
    ),
    "summary_id": lambda s, t, x: s.summaries.append(
        **at(t), text="x", covers_to_position=1, summary_id=x
    ),
    **calls_catalog.OPTIONAL_ID_PATHS,
    **calls_frameworks.OPTIONAL_ID_PATHS,
    **calls_evaluations.OPTIONAL_ID_PATHS,
}


@pytest.mark.parametrize("path", sorted(ID_PATHS))
async def test_ids_have_1_to_255_characters_b53(adapter: Adapter, path: str) -> None:
    await _check_ids(adapter, path, ID_PATHS[path], [None, ""])


@pytest.mark.parametrize("path", sorted(OPTIONAL_ID_PATHS))
async def test_optional_ids_have_1_to_255_characters_b53(adapter: Adapter, path: str) -> None:
    await _check_ids(adapter, path, OPTIONAL_ID_PATHS[path], [""])


async def _check_ids(adapter: Adapter, path: str, call: Call, empty: list[str | None]) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await say(store, talk, "1")
    before = await store.conversations.get(**at(talk))
    # Random text, so that compression cannot make it fit into an index again.
    letters = string.ascii_letters + "äöüß€😀"
    longs = ["".join(random.choices(letters, k=length)) for length in (256, 5_000)]
    if path not in {"name", "title"}:
        # As a key it is in entries of indexes, with two others of this size.
        longs.append("".join(map(chr, random.choices(range(0x20000, 0x2A6D0), k=192))))
    for long in longs:
        with pytest.raises(LimitExceeded) as caught:
            await call(store, talk, long)
        assert caught.value.detail["path"] == path
    for wrong in [*empty, 7, b"bytes", ["list"], {"a": 1}, 1.5, True]:
        with pytest.raises(InvalidArgument) as refused:
            await call(store, talk, wrong)
        assert refused.value.detail["path"].startswith(path), wrong
    assert await store.conversations.get(**at(talk)) == before
    assert len((await store.conversations.list(tenant_id=talk.tenant_id)).items) == 1
    assert (await store.tenants.list_members(tenant_id=talk.tenant_id)).items == ()


async def test_ids_of_255_characters_work_everywhere_b53(adapter: Adapter) -> None:
    store = adapter.store
    # The longest index entries there can be: three bytes a character at random, which compression
    # does not make fewer, and four bytes, of as many different characters as it can deal with.
    han, rare = range(0x4E00, 0x9FFF), random.sample(range(0x20000, 0x2A6D0), 60)
    ids = ["".join(map(chr, random.choices(letters, k=255))) for letters in (han, rare) * 3]
    tenant_id, talk_id, owner, ref, message_id, summary_id = ids
    await store.tenants.create(tenant_id=tenant_id, name=owner)
    where = Where(tenant_id=tenant_id, conversation_id=talk_id)
    try:
        await store.conversations.create(
            **where,
            owner_id=owner,
            external_ref=ref,
            title="😀" * 255,
            participant_ids=[ref, owner],
        )
        new = said("x", id=message_id, author_id=owner, run_id=ref)
        for outcome in ("inserted", "duplicate"):
            done = await store.messages.append(**where, messages=[new])
            assert done.items[0].outcome == outcome
        await store.summaries.append(**where, text="x", covers_to_position=1, summary_id=summary_id)
        await store.tenants.add_member(
            tenant_id=tenant_id, principal_id=owner, membership_id=ref, role_ids=[ref]
        )
        for viewer in (owner, ref):
            page = await store.conversations.list(
                tenant_id=tenant_id, limit=1, viewer=Viewer(principal_id=viewer)
            )
            assert [talk.id for talk in page.items] == [talk_id]
        await store.conversations.fork(**where, fork_id=owner)
        first = await store.conversations.list(tenant_id=tenant_id, limit=1)
        rest = await store.conversations.list(tenant_id=tenant_id, after=first.next_cursor)
        assert {talk.id for talk in (*first.items, *rest.items)} == {talk_id, owner}
        usage = NewUsage(
            id=message_id,
            conversation_id=talk_id,
            run_id=ref,
            step_id=owner,
            principal_id=owner,
            agent_id=ref,
            model=ref,
            input_tokens=1,
        )
        await store.usage.record(tenant_id=tenant_id, events=[usage])
        await store.jobs.enqueue(
            tenant_id=tenant_id, kind=ref, queue=ref, job_id=talk_id, dedupe_key=owner
        )
        await store.locks.acquire(tenant_id=tenant_id, name=ref, owner_id=owner)
        run = await store.runs.create(**where, run_id=ref)
        await store.runs.claim(tenant_id=tenant_id, run_id=run.id, worker_id=owner)
        await store.interactions.grant(**where, principal_id=owner, tool_name=ref, granted_by=ref)
        await store.principal_memory.put(
            tenant_id=tenant_id,
            principal_id=owner,
            memory_id=ref,
            key=ref,
            text="x",
            source="extracted",
        )
        await store.artifacts.create(**where, name=owner, artifact_id=ref, text="x")
        await store.tool_outputs.put(**where, text="x", run_id=ref, tool_call_id=owner)
        context = MemoryContext(session_id=ref, user_id=owner)
        await store.memory.append(
            tenant_id=tenant_id,
            context=context,
            run_id=ref,
            turn=1,
            messages=[{"id": ref}],
            append_id=owner,
        )
        docs = await store.knowledge.create_collection(
            tenant_id=tenant_id, name=ref, collection_id=ref
        )
        await store.knowledge.replace_source(
            tenant_id=tenant_id,
            collection_id=docs.id,
            external_ref=owner,
            source_id=talk_id,
            chunks=[NewChunk(content="x")],
            auth_subjects=[f"principal:{owner}"],
        )
        await store.evaluations.create_case(
            tenant_id=tenant_id, name=ref, case_id=ref, suite=owner, input=1
        )
        event = NewAuditEvent(id=ref, action="a.b", record=owner, record_id=talk_id, actor_id=owner)
        await store.audit.append(tenant_id=tenant_id, events=[event])
        await store.frameworks.append(
            tenant_id=tenant_id,
            framework="suite",
            path=[ref[:240]],
            principal_id=owner,
            records=[NewFrameworkRecord(key=owner, content=1)],
        )
    finally:
        await store.tenants.purge(tenant_id=tenant_id)


EAST, WEST = dt.timezone(dt.timedelta(hours=14)), dt.timezone(-dt.timedelta(hours=12))

NO_MOMENTS = {
    "without its distance from UTC": dt.datetime(2026, 1, 1),  # noqa: DTZ001
    "of the year 1 BC": dt.datetime(1, 1, 1, tzinfo=EAST),
    "of the year 10000": dt.datetime(9999, 12, 31, 23, tzinfo=WEST),
    "of a day that western calendars lack": dt.datetime(1, 1, 1, 23, tzinfo=dt.UTC),
    "of a day that eastern calendars lack": dt.datetime(9999, 12, 31, 1, tzinfo=dt.UTC),
}


@pytest.mark.parametrize("which", sorted(NO_MOMENTS))
async def test_a_moment_is_one_that_every_calendar_has(adapter: Adapter, which: str) -> None:
    store, run, moment = adapter.store, await claimed(adapter.store), NO_MOMENTS[which]
    tenant: Any = {"tenant_id": run.tenant_id}
    fact: Any = {**tenant, "principal_id": OWNER, "source": "user-stated", "text": "x"}
    grant: Any = {**tenant, "principal_id": OWNER, "tool_name": "t", "granted_by": OWNER}
    calls = {
        "interactions.ask": store.interactions.ask(**held(run), prompt="?", expires_at=moment),
        "interactions.request_approval": store.interactions.request_approval(
            **held(run), tool_name="t", input=1, expires_at=moment
        ),
        "interactions.grant": store.interactions.grant(**grant, expires_at=moment),
        "runs.create": store.runs.create(**where(run), available_at=moment),
        "jobs.prune": store.jobs.prune(**tenant, ended_before=moment),
        "tool_outputs.put": store.tool_outputs.put(**where(run), text="x", expires_at=moment),
        "principal_memory.put": store.principal_memory.put(**fact, expires_at=moment),
        "usage.list": store.usage.list(**tenant, since=moment),
        "usage.totals": store.usage.totals(**tenant, until=moment),
        "usage.rollup": store.usage.rollup(**tenant, by="day", until=moment),
        "audit.list": store.audit.list(**tenant, until=moment),
    }
    for name, call in calls.items():
        with pytest.raises(InvalidArgument) as refused:
            await call
        path = refused.value.detail["path"]
        assert path in {"expires_at", "available_at", "ended_before", "since", "until"}, name
    with pytest.raises(InvalidArgument):
        NewUsage(model="m", input_tokens=1, output_tokens=1, occurred_at=moment)


async def test_the_first_and_the_last_moment_come_back(adapter: Adapter) -> None:
    store, run = adapter.store, await claimed(adapter.store)
    for moment in (FIRST_MOMENT, LAST_MOMENT):
        asked_at = await store.interactions.ask(**held(run), prompt="?", expires_at=moment)
        assert asked_at.expires_at == moment
        listed = await store.interactions.get(tenant_id=run.tenant_id, interaction_id=asked_at.id)
        assert listed.expires_at == moment


class _Colour(enum.Enum):
    RED = "red"


class _Level(enum.StrEnum):
    HIGH = "high"


NOT_JSON: dict[str, Any] = {
    "bytes": b"\xff\xfe",
    "bytearray": bytearray(b"x"),
    "Decimal": decimal.Decimal("1.5"),
    "set": {1, 2},
    "datetime": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    "date": dt.date(2026, 1, 1),
    "a model": TextPart(text="x"),
    "an Enum": _Colour.RED,
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "an object": object(),
    "a function": len,
    "a complex number": 1j,
    "a number of 5,000 bits": 2**5000,
}


@pytest.mark.parametrize("what", sorted(NOT_JSON))
async def test_what_is_not_json_is_refused_where_it_is_built_b51(
    adapter: Adapter, what: str
) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    value = NOT_JSON[what]
    nested: Any = {"a": [0, {"b": value}]}
    built: list[Callable[[], object]] = [
        lambda: ToolResultPart(tool_call_id="c", tool_name="t", output=nested),
        lambda: ToolCallPart(tool_call_id="c", tool_name="t", input=nested),
        lambda: TextPart(text="x", provider_metadata={"p": nested}),
        lambda: said("x", metadata=nested),
    ]
    for build in built:
        with pytest.raises(InvalidArgument) as caught:
            build()
        assert caught.value.detail["path"].endswith("a[1].b"), caught.value.detail
    for call in (
        store.session_state.put(**at(talk), state=nested, expected_version=0),
        store.session_state.patch(**at(talk), patch=nested, expected_version=0),
        store.conversations.update(**at(talk), metadata=nested, expected_version=1),
        store.conversations.create(tenant_id=talk.tenant_id, owner_id=OWNER, metadata=nested),
        store.tenants.create(tenant_id=fresh(), name="x", metadata=nested),
    ):
        with pytest.raises(InvalidArgument) as refused:
            await call
        assert refused.value.detail["path"].endswith("a[1].b"), refused.value.detail
    if isinstance(value, bytes | bytearray):
        assert "file" in caught.value.message
    assert (await store.session_state.get(**at(talk))).version == 0
    assert len((await store.conversations.list(tenant_id=talk.tenant_id)).items) == 1


async def test_keys_that_are_no_text_and_bottomless_nesting_b51(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    deep: Any = 0
    for _ in range(200):
        deep = [deep]
    for bad in ({1: "x"}, {None: "x"}, {b"k": 1}, {_Level.HIGH: 1}, {"deep": deep}):
        with pytest.raises(InvalidArgument) as caught:
            await store.session_state.put(**at(talk), state=bad, expected_version=0)  # type: ignore[arg-type]
        assert caught.value.detail["path"].startswith("state")
    for no_object in ([], "x", 7, None, [["a", 1]]):
        with pytest.raises(InvalidArgument):
            await store.session_state.put(**at(talk), state=no_object, expected_version=0)  # type: ignore[arg-type]
    allowed: Any = 0
    for _ in range(98):
        allowed = [allowed]
    kept = await store.session_state.put(**at(talk), state={"deep": allowed}, expected_version=0)
    assert kept.state == {"deep": allowed}


async def test_metadata_has_at_most_16_kib(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await say(store, talk, "1")
    small, large = {"k": "ä" * 8_000}, {"k": "ä" * 8_300}
    for metadata, fits in ((small, True), (large, False)):
        new = said("x", id=fresh("m"), metadata=metadata)
        tenant = fresh()
        version = (await store.conversations.get(**at(talk))).version
        for call in (
            store.tenants.create(tenant_id=tenant, name="x", metadata=metadata),  # type: ignore[arg-type]
            store.conversations.create(
                tenant_id=talk.tenant_id,
                owner_id=OWNER,
                metadata=metadata,  # type: ignore[arg-type]
            ),
            store.conversations.update(
                **at(talk),
                metadata=metadata,  # type: ignore[arg-type]
                expected_version=version,
            ),
            store.messages.append(**at(talk), messages=[new]),
            store.summaries.append(
                **at(talk),
                text="x",
                covers_to_position=1,
                metadata=metadata,  # type: ignore[arg-type]
            ),
        ):
            if fits:
                await call
                continue
            with pytest.raises(LimitExceeded) as caught:
                await call
            assert caught.value.detail["path"].endswith("metadata")
    assert len(await all_messages(store, talk)) == 2


async def test_a_message_has_at_most_1_mib(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await store.messages.append(**at(talk), messages=[said("ä" * 500_000)])
    halves = NewMessage(role="user", parts=[TextPart(text="ä" * 300_000)] * 2)
    for large in (said("ä" * 530_000), halves):
        with pytest.raises(LimitExceeded) as caught:
            await store.messages.append(**at(talk), messages=[said("before"), large])
        assert caught.value.detail["path"] == "messages[1].parts"
    assert len(await all_messages(store, talk)) == 1


BAD_PARTS: dict[str, tuple[str, Any]] = {
    "no type": ("parts[1]", {"text": "x"}),
    "an unknown type": ("parts[1]", {"type": "video", "url": "x"}),
    "a field of another type": (
        "parts[1].tool_name",
        {"type": "text", "text": "x", "tool_name": "t"},
    ),
    "a missing field": (
        "parts[1].input",
        {"type": "tool-call", "tool_call_id": "c", "tool_name": "t"},
    ),
    "a wrong kind": ("parts[1].text", {"type": "text", "text": 7}),
    "no place": ("parts[1]", {"type": "file", "media_type": "text/plain"}),
    "a negative count": (
        "parts[1].width",
        {"type": "image", "media_type": "m", "url": "u", "width": -1},
    ),
    "an unsafe count": ("parts[1].start", {"type": "citation", "source_id": "s", "start": 2**53}),
    "version 0": ("parts[1].version", {"type": "artifact", "artifact_id": "a", "version": 0}),
    "another schema version": (
        "parts[1].schema_version",
        {"type": "text", "text": "x", "schema_version": 2},
    ),
    "an unknown decision": (
        "parts[1].decision",
        {
            "type": "approval",
            "approval_id": "a",
            "tool_call_id": "c",
            "tool_name": "t",
            "input": {},
            "decision": "maybe",
        },
    ),
    "provider data without a namespace": (
        "parts[1].provider_metadata.k",
        {"type": "text", "text": "x", "provider_metadata": {"k": "v"}},
    ),
    "an id that is too long": (
        "parts[1].tool_call_id",
        {"type": "tool-call", "tool_call_id": "c" * 256, "tool_name": "t", "input": 1},
    ),
    "not an object": ("parts[1]", "text"),
    "bool is no text": (
        "parts[1].is_error",
        {
            "type": "tool-result",
            "tool_call_id": "c",
            "tool_name": "t",
            "output": 1,
            "is_error": "no",
        },
    ),
}


@pytest.mark.parametrize("what", sorted(BAD_PARTS))
async def test_a_part_of_the_wrong_shape_names_itself_and_the_field(
    adapter: Adapter, what: str
) -> None:
    path, part = BAD_PARTS[what]
    with pytest.raises(InvalidArgument) as caught:
        NewMessage(role="user", parts=[{"type": "text", "text": "fine"}, part])
    assert caught.value.detail["path"].startswith(path), caught.value.detail
    assert adapter.capabilities is not None


async def test_messages_of_the_wrong_shape(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    wrong: list[tuple[str, Any]] = [
        ("messages", None),
        ("messages", []),
        ("messages", "text"),
        ("messages", 7),
        ("messages[0]", ["text"]),
        ("messages[0].role", [{"role": "robot", "parts": [{"type": "text", "text": "x"}]}]),
        ("messages[0].parts", [{"role": "user", "parts": []}]),
        ("messages[0].parts", [{"role": "user"}]),
        ("messages[0].colour", [{"role": "user", "parts": [TextPart(text="x")], "colour": 1}]),
        ("messages[0].turn", [{"role": "user", "parts": [TextPart(text="x")], "turn": -1}]),
        ("messages[0].turn", [{"role": "user", "parts": [TextPart(text="x")], "turn": 2**31}]),
        ("messages[0].id", [{"role": "user", "parts": [TextPart(text="x")], "id": ""}]),
    ]
    for path, messages in wrong:
        with pytest.raises(InvalidArgument) as caught:
            await store.messages.append(**at(talk), messages=messages)
        assert caught.value.detail["path"].startswith(path), (path, caught.value.detail)
    assert await all_messages(store, talk) == []


async def test_versions_and_positions_are_whole_numbers(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    for wrong in (None, -1, "1", 1.0, True):
        for call in (
            store.conversations.update(**at(talk), title="x", expected_version=wrong),  # type: ignore[arg-type]
            store.session_state.clear(**at(talk), expected_version=wrong),  # type: ignore[arg-type]
            store.tenants.suspend(tenant_id=talk.tenant_id, expected_version=wrong),  # type: ignore[arg-type]
        ):
            with pytest.raises(InvalidArgument) as caught:
                await call
            assert caught.value.detail["path"] == "expected_version", wrong
    for wrong_position in (-1, "1", 1.0, 2**63):
        with pytest.raises(InvalidArgument) as refused:
            await store.messages.list(**at(talk), after_position=wrong_position)  # type: ignore[arg-type]
        assert refused.value.detail["path"] == "after_position"
    with pytest.raises(StrongroomError) as too_large:
        await store.conversations.update(**at(talk), title="x", expected_version=2**70)
    assert too_large.value.code in {"SR001", "SR004", "SR012"}


async def test_choices_are_closed(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    with pytest.raises(InvalidArgument) as caught:
        await store.conversations.create(
            tenant_id=talk.tenant_id,
            owner_id=OWNER,
            visibility="public",  # type: ignore[arg-type]
        )
    assert caught.value.detail["path"] == "visibility"
    with pytest.raises(InvalidArgument):
        AgentBinding(agent_id="a", policy="newest")
    with pytest.raises(LimitExceeded) as many:
        await store.conversations.share(
            **at(talk),
            visibility="private",
            participant_ids=[f"p{number}" for number in range(1001)],
            expected_version=1,
        )
    assert many.value.detail["path"] == "participant_ids"
    assert (await store.conversations.get(**at(talk))).version == 1


async def test_a_thousand_participants_and_roles_are_fine(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    names = sorted(f"p{number}" for number in range(1000))
    shared = await store.conversations.share(
        **at(talk), visibility="private", participant_ids=names, expected_version=1
    )
    assert shared.participant_ids == tuple(names)
    member = await store.tenants.add_member(
        tenant_id=talk.tenant_id, principal_id=OWNER, role_ids=names
    )
    assert member.role_ids == tuple(names)


async def test_counts_up_to_what_every_client_holds_b55(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    part = FilePart(file_id="f", media_type="m", size_bytes=2**53 - 1)
    await store.messages.append(
        **at(talk), messages=[NewMessage(role="user", parts=[part, StatusPart(status="ok")])]
    )
    assert (await all_messages(store, talk))[0].parts[0] == part
    tenant_id = await new_tenant(store)
    for record in (talk, await store.tenants.get(tenant_id=tenant_id)):
        assert isinstance(record.tenant_id, str)
