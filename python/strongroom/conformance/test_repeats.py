"""A repeat with the same id and other content is told, whichever argument or field of an item differs.

The methods come from the ports (whatever answers `duplicate`), their arguments from the signatures, and the
fields of items from the models: a new one fails here until there is another value of it, or a reason why a
repeat may leave it out of account.
"""

from __future__ import annotations

import datetime as dt
import inspect
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from strongroom.client import Ports
from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import OWNER, new_talk, new_tenant, said
from strongroom.conformance.ledger import PORTS, methods_of
from strongroom.conformance.run_helpers import claimed, held, queued
from strongroom.errors import StrongroomError
from strongroom.models import (
    AgentBinding,
    BlobRef,
    CaseReference,
    EmbeddingModel,
    MemoryContext,
    NewAuditEvent,
    NewEvaluationResult,
    NewFrameworkRecord,
    NewRunEvent,
    NewTopicEvent,
    NewUsage,
    Provenance,
    RunUsage,
    TextPart,
)

SOON = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
LATE = 9_000_000_000
"""The token of no claim."""
LATER = dt.datetime(2100, 1, 2, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Repeat:
    """A call that is made twice, and other values of what it says.

    Attributes:
        method: the port method.
        ids: the arguments, or the fields of the item, that a repeat is known by.
        said: the arguments of the call.
        other: of each argument another value; two or more that only change together in a dict.
        item: the argument that holds the one item, where what is known again is an item.
        fields: of each field of the item another value.
    """

    method: str
    ids: set[str]
    said: dict[str, Any]
    other: dict[str, Any]
    item: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)


MOMENT = "a host works it out anew, from now, when it repeats the call; the port says so"
FENCE = "it guards a write, and a repeat writes nothing: what it guarded has been done"
ACTOR = "it says who did it, in the audit, where the first stands"
LATEST = "it is written at every call, a repeat too"
UNCOUNTED = {
    ("runs.create", "available_at"): MOMENT,
    ("interactions.ask", "expires_at"): MOMENT,
    ("interactions.request_approval", "expires_at"): MOMENT,
    ("checkpoints.save", "expected_sequence"): FENCE,
    ("artifacts.add_version", "expected_latest"): FENCE,
    ("principal_memory.put", "generation"): FENCE,
    ("frameworks.append", "refuse_conflicts"): "it says how a conflict is told",
    ("agents.publish_version", "actor_id"): ACTOR,
    ("skills.publish_version", "actor_id"): ACTOR,
    ("memory.append", "context"): LATEST,
    ("memory.record_error", "context"): LATEST,
}
"""What a repeat leaves out of account, and why."""
ELSEWHERE = {
    "interactions.answer": "resolves what is there",
    "interactions.decide": "resolves what is there",
    "interactions.claim_approval": "takes what is there",
    "runs.finish": "ends what is there; what a repeat says has its own ids",
    "frameworks.put": "replaces: the last one stands",
    "knowledge.replace_source": "replaces: the last one stands",
    "transcripts.save": "replaces: the last one stands",
    "tool_outputs.put": "is known by its content alone",
    "blobs.put": "is known by its content alone",
}
"""What also says duplicate, and is known by no id of its own."""
BESIDE = {"interactions.grant"}
"""What is known by an id, and does not say it in an outcome."""


def _models(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type):
        yield annotation
        items = getattr(annotation, "model_fields", {}).get("items")
        yield from _models(items.annotation if items else None)
    for inner in typing.get_args(annotation):
        yield from _models(inner)


def _knows_repeats(port: type, method: str) -> bool:
    for model in _models(typing.get_type_hints(getattr(port, method))["return"]):
        outcome = getattr(model, "model_fields", {}).get("outcome")
        if outcome is not None and "duplicate" in typing.get_args(outcome.annotation):
            return True
    return False


def _arguments(method: str) -> set[str]:
    attribute, name = method.split(".")
    return {*inspect.signature(getattr(PORTS[attribute], name)).parameters} - {"self"}


async def _repeats(store: Ports) -> list[Repeat]:
    tenant_id = await new_tenant(store)
    talk, another = await new_talk(store, tenant_id), await new_talk(store, tenant_id)
    for one in (talk, another):
        await store.messages.append(
            tenant_id=tenant_id, conversation_id=one.id, messages=[said("a"), said("b")]
        )
    run, beside = [await claimed(store, await queued(store, one)) for one in (talk, another)]
    agents = [await store.agents.create(tenant_id=tenant_id, name=name) for name in ("A", "B")]
    skills = [await store.skills.create(tenant_id=tenant_id, name=name) for name in ("A", "B")]
    cases = [
        await store.evaluations.create_case(tenant_id=tenant_id, name=name, input=1)
        for name in ("A", "B")
    ]
    tests = [
        await store.evaluations.start_run(
            tenant_id=tenant_id, cases=[CaseReference(case_id=case.id) for case in cases]
        )
        for _ in range(2)
    ]
    artifacts = [
        await store.artifacts.create(
            tenant_id=tenant_id, name=f"{n}", conversation_id=talk.id, text="one"
        )
        for n in range(2)
    ]
    files = [
        await store.files.create(
            tenant_id=tenant_id, owner_id=OWNER, path=f"{n}", media_type="text/plain"
        )
        for n in range(2)
    ]
    of = {"tenant_id": tenant_id}
    metadata = {"metadata": {"a": 2}}
    spent: dict[str, Any] = {
        "principal_id": "ada",
        "input_tokens": 5,
        "output_tokens": 5,
        "cost": 1,
        "cost_decimals": 2,
        "currency": "EUR",
    }
    usage: dict[str, Any] = {
        "conversation_id": another.id,
        "run_id": beside.id,
        "step_id": {"run_id": beside.id, "step_id": "s2"},
        "tool_call_id": "c2",
        "principal_id": "eve",
        "agent_id": "a2",
        "agent_version": {"agent_id": "a1", "agent_version": 2},
        "model": "m2",
        "input_tokens": 2,
        "output_tokens": 2,
        "cached_input_tokens": 1,
        "cache_write_tokens": 1,
        "reasoning_tokens": 1,
        "cost": {"cost": 2, "cost_decimals": 2, "currency": "EUR"},
        "cost_decimals": {"cost": 1, "cost_decimals": 3, "currency": "EUR"},
        "currency": {"cost": 1, "cost_decimals": 2, "currency": "USD"},
        "corrects_id": {
            "corrects_id": "first",
            "principal_id": None,
            "input_tokens": -1,
            "output_tokens": 0,
            "cost": None,
            "cost_decimals": None,
            "currency": None,
        },
        "occurred_at": LATER,
        **metadata,
    }
    own = {name: usage[name] for name in {*usage} - {"run_id", "conversation_id"}}
    await store.usage.record(tenant_id=tenant_id, events=[NewUsage(id="first", input_tokens=1)])
    return [
        Repeat(
            "tenants.create",
            {"tenant_id"},
            {"tenant_id": f"{tenant_id}-2", "name": "A"},
            {"name": "B", **metadata},
        ),
        Repeat(
            "tenants.add_member",
            {"membership_id"},
            {**of, "principal_id": "pam", "membership_id": "m"},
            {"principal_id": "eve", "role_ids": ["admin"]},
        ),
        Repeat(
            "agents.create",
            {"agent_id"},
            {**of, "name": "C", "agent_id": "c"},
            {"name": "D", "description": "d", **metadata},
        ),
        Repeat(
            "skills.create",
            {"skill_id"},
            {**of, "name": "C", "skill_id": "c"},
            {"name": "D", "description": "d", **metadata},
        ),
        Repeat(
            "agents.publish_version",
            {"version_id"},
            {**of, "agent_id": agents[0].id, "definition": {"n": 1}, "version_id": "v"},
            {"agent_id": agents[1].id, "definition": {"n": 2}, "actor_id": "ada"},
        ),
        Repeat(
            "skills.publish_version",
            {"version_id"},
            {**of, "skill_id": skills[0].id, "definition": {"n": 1}, "version_id": "v"},
            {"skill_id": skills[1].id, "definition": {"n": 2}, "actor_id": "ada"},
        ),
        Repeat(
            "conversations.create",
            {"conversation_id"},
            {**of, "owner_id": OWNER, "conversation_id": f"{tenant_id}-c"},
            {
                "owner_id": "eve",
                "title": "T",
                "external_ref": "ref",
                "visibility": "tenant",
                "participant_ids": ["pam"],
                "agent": AgentBinding(agent_id=agents[0].id),
                **metadata,
            },
        ),
        Repeat(
            "conversations.fork",
            {"fork_id"},
            {**of, "conversation_id": talk.id, "fork_id": "f", "up_to_position": 2},
            {"conversation_id": another.id, "up_to_position": 1, "owner_id": "eve", "title": "T"},
        ),
        Repeat(
            "messages.append",
            {"id"},
            {**of, "conversation_id": talk.id, "messages": [said("c", id="c")]},
            {"conversation_id": another.id},
            "messages",
            {
                "role": "assistant",
                "parts": (TextPart(text="d"),),
                "author_id": "eve",
                "run_id": run.id,
                "turn": 2,
                **metadata,
            },
        ),
        Repeat(
            "summaries.append",
            {"summary_id"},
            {
                **of,
                "conversation_id": talk.id,
                "text": "a",
                "covers_to_position": 1,
                "summary_id": "s",
            },
            {"conversation_id": another.id, "text": "b", "covers_to_position": 2, **metadata},
        ),
        Repeat(
            "principal_memory.put",
            {"memory_id"},
            {**of, "principal_id": OWNER, "text": "a", "source": "extracted", "memory_id": "m"},
            {
                "principal_id": "eve",
                "text": "b",
                "source": "user_stated",
                "namespace": "n",
                "key": "k",
                "confidence": 0.5,
                "sensitivity": "sensitive",
                "expires_at": SOON,
                "embedding": {"embedding": [0.5, 1.0], "embedding_model": "m"},
                "embedding_model": {"embedding": [0.5, 1.0], "embedding_model": "n"},
                "conversation_id": talk.id,
                "message_id": "c",
                "run_id": run.id,
                "expected_version": 7,
                "generation": 7,
                **metadata,
            },
        ),
        Repeat(
            "runs.create",
            {"run_id"},
            {**of, "conversation_id": talk.id, "run_id": "r"},
            {
                "conversation_id": another.id,
                "input": {"a": 1},
                "agent_id": agents[0].id,
                "agent_version": {"agent_id": agents[0].id, "agent_version": 1},
                "priority": 1,
                "max_attempts": 4,
                "available_at": SOON,
            },
        ),
        Repeat(
            "runs.append_events",
            {"id"},
            {**held(run), "events": [NewRunEvent(id="e", kind="k", data={})]},
            {"run_id": beside.id, "claim_token": LATE},
            "events",
            {"kind": "l", "data": {"a": 1}},
        ),
        Repeat(
            "checkpoints.save",
            {"checkpoint_id"},
            {**held(run), "expected_sequence": 0, "state": {"a": 1}, "checkpoint_id": "c"},
            {
                "run_id": dict(held(beside)),
                "claim_token": LATE,
                "expected_sequence": 1,
                "state": {"a": 2},
                "data": {"state": None, "data": b"a"},
            },
        ),
        Repeat(
            "interactions.ask",
            {"interaction_id"},
            {**held(run), "prompt": "a", "interaction_id": "q"},
            {
                "run_id": dict(held(beside)),
                "claim_token": LATE,
                "prompt": "b",
                "options": ["a"],
                "addressee_id": "eve",
                "expires_at": SOON,
            },
        ),
        Repeat(
            "interactions.request_approval",
            {"interaction_id"},
            {**held(run), "tool_name": "t", "input": {}, "interaction_id": "a"},
            {
                "run_id": dict(held(beside)),
                "claim_token": LATE,
                "tool_name": "u",
                "input": {"a": 1},
                "tool_call_id": "c",
                "prompt": "p",
                "risk": "high",
                "addressee_id": "eve",
                "expires_at": SOON,
            },
        ),
        Repeat(
            "interactions.grant",
            {"grant_id"},
            {**of, "principal_id": OWNER, "tool_name": "t", "granted_by": OWNER, "grant_id": "g"},
            {
                "principal_id": "eve",
                "tool_name": "u",
                "granted_by": "eve",
                "conversation_id": talk.id,
                "expires_at": SOON,
            },
        ),
        Repeat(
            "evaluations.create_case",
            {"case_id"},
            {**of, "name": "C", "input": 1, "case_id": "c"},
            {"name": "D", "input": 2, "suite": "s", "expected": 1, **metadata},
        ),
        Repeat(
            "evaluations.start_run",
            {"run_id"},
            {**of, "cases": [CaseReference(case_id=cases[0].id)], "run_id": "r"},
            {
                "cases": [CaseReference(case_id=cases[1].id)],
                "name": "N",
                "agent_id": "a",
                "agent_version": {"agent_id": "a", "agent_version": 1},
                **metadata,
            },
        ),
        Repeat(
            "evaluations.record",
            {"id"},
            {
                **of,
                "run_id": tests[0].id,
                "results": [NewEvaluationResult(id="r", case_id=cases[0].id)],
            },
            {"run_id": tests[1].id},
            "results",
            {
                "case_id": cases[1].id,
                "repeat": 2,
                "passed": True,
                "scores": {"s": 1.0},
                "output": 1,
                "error": {"code": "e"},
                "source_conversation_id": talk.id,
                "usage_event_id": "first",
                **metadata,
            },
        ),
        Repeat(
            "frameworks.append",
            {"key"},
            {
                **of,
                "framework": "f",
                "path": ["a"],
                "records": [NewFrameworkRecord(key="k", content=1)],
                "principal_id": "ada",
            },
            {
                "principal_id": "eve",
                "path": ["b"],
                "framework": "g",
                "collection": "others",
                "refuse_conflicts": True,
            },
            "records",
            {"content": 2, "data": b"a", **metadata},
        ),
        Repeat(
            "knowledge.create_collection",
            {"collection_id"},
            {**of, "name": "C", "collection_id": "c"},
            {
                "name": "D",
                "language": "english",
                "embedding_model": EmbeddingModel(name="m", version="1", dimensions=3),
                **metadata,
            },
        ),
        Repeat(
            "artifacts.create",
            {"artifact_id"},
            {**of, "name": "n", "conversation_id": talk.id, "artifact_id": "a", "text": "one"},
            {
                "name": "o",
                "conversation_id": another.id,
                "owner_id": {"conversation_id": None, "owner_id": OWNER},
                "title": "T",
                "text": "two",
                "value": {"text": None, "value": {"a": 1}},
                "blob": {
                    "text": None,
                    "blob": BlobRef(key="k", sha256="1" * 64, size_bytes=3),
                    "media_type": "text/plain",
                },
                "media_type": "text/markdown",
                "provenance": Provenance(run_id=run.id),
                "claim_token": {
                    "provenance": Provenance(run_id=run.id),
                    "claim_token": run.claim_token,
                },
                **metadata,
            },
        ),
        Repeat(
            "artifacts.add_version",
            {"version_id"},
            {
                **of,
                "artifact_id": artifacts[0].id,
                "expected_latest": 1,
                "text": "a",
                "version_id": "v",
            },
            {
                "artifact_id": artifacts[1].id,
                "expected_latest": 2,
                "text": "two",
                "value": {"text": None, "value": {"a": 1}},
                "blob": {
                    "text": None,
                    "blob": BlobRef(key="k", sha256="1" * 64, size_bytes=3),
                    "media_type": "text/plain",
                },
                "media_type": "text/markdown",
                "provenance": Provenance(run_id=run.id),
                "claim_token": {
                    "provenance": Provenance(run_id=run.id),
                    "claim_token": run.claim_token,
                },
            },
        ),
        Repeat(
            "memory.record_error",
            {"error_id"},
            {
                **of,
                "context": MemoryContext(session_id="s"),
                "run_id": "r",
                "error": {"code": "e"},
                "messages": [{"a": 1}],
                "error_id": "e",
            },
            {
                "context": MemoryContext(session_id="s", metadata={"a": 1}),
                "run_id": "q",
                "error": {"code": "f"},
                "messages": [{"a": 2}],
            },
        ),
        Repeat(
            "memory.append",
            {"append_id"},
            {
                **of,
                "context": MemoryContext(session_id="s"),
                "run_id": "r",
                "turn": 1,
                "messages": [{"a": 1}],
                "append_id": "e",
            },
            {
                "context": MemoryContext(session_id="s", metadata={"a": 1}),
                "run_id": "q",
                "turn": 2,
                "messages": [{"a": 2}],
            },
        ),
        Repeat(
            "jobs.enqueue",
            {"job_id"},
            {**of, "kind": "k", "job_id": f"{tenant_id}-j"},
            {
                "kind": "l",
                "payload": {"a": 1},
                "queue": "q",
                "dedupe_key": "d",
                "priority": 1,
                "delay_seconds": 60.0,
                "max_attempts": 6,
                "backoff_seconds": 2.0,
                "max_backoff_seconds": 7200.0,
            },
        ),
        Repeat(
            "realtime.publish",
            {"id"},
            {**of, "topic": "t", "events": [NewTopicEvent(id="e", kind="k")]},
            {"topic": "u"},
            "events",
            {"kind": "l", "payload": {"a": 1}},
        ),
        Repeat(
            "usage.record",
            {"id"},
            {
                **of,
                "events": [NewUsage(id="u", **spent)],
            },
            {},
            "events",
            usage,
        ),
        Repeat(
            "usage.record_for_run",
            {"id", "run_id", "conversation_id"},  # An item's run is the call's.
            {
                **held(run),
                "events": [RunUsage(id="w", **spent)],
            },
            {"run_id": dict(held(beside)), "claim_token": LATE},
            "events",
            {**own, "step_id": "s2"},
        ),
        Repeat(
            "audit.append",
            {"id"},
            {**of, "events": [NewAuditEvent(id="a", action="a.b", record="r", record_id="1")]},
            {},
            "events",
            {
                "action": "a.c",
                "record": "s",
                "record_id": "2",
                "details": {"a": 1},
                "actor_id": "eve",
                "principal_id": "eve",
            },
        ),
        Repeat(
            "files.create",
            {"file_id"},
            {**of, "owner_id": OWNER, "path": "p", "media_type": "text/plain", "file_id": "f"},
            {
                "owner_id": "eve",
                "path": "q",
                "media_type": "text/html",
                "conversation_id": talk.id,
                "blob_key": "k2",
                "source": "generated",
                "run_id": run.id,
                "created_by": "eve",
                **metadata,
            },
        ),
        Repeat(
            "files.add_version",
            {"version_id"},
            {
                **of,
                "file_id": files[0].id,
                "expected_latest": 1,
                "media_type": "text/plain",
                "version_id": "v",
            },
            {
                "file_id": files[1].id,
                "expected_latest": 2,
                "media_type": "text/html",
                "blob_key": "k3",
                "source": "generated",
                "run_id": run.id,
                "created_by": "eve",
            },
        ),
    ]


def _changed(call: dict[str, Any], name: str, other: Any) -> dict[str, Any]:
    return {**call, **(other if isinstance(other, dict) and name in other else {name: other})}


async def _is_told(store: Ports, method: str, call: dict[str, Any]) -> bool:
    """Whether other content is refused, is called a conflict, or is another record."""
    attribute, name = method.split(".")
    try:
        done = await getattr(getattr(store, attribute), name)(**call)
    except StrongroomError:
        return True
    items = getattr(done, "items", done)
    if not isinstance(items, list | tuple):
        items = [done]
    return all(getattr(one, "outcome", "duplicate") in {"conflict", "inserted"} for one in items)


async def test_whatever_differs_in_a_repeat_is_told_b25(adapter: Adapter) -> None:
    store = adapter.store
    left_out = set()
    for repeat in await _repeats(store):
        attribute, name = repeat.method.split(".")
        call = getattr(getattr(store, attribute), name)
        await call(**repeat.said)
        assert not await _is_told(store, repeat.method, repeat.said), repeat.method
        others = {name: _changed(repeat.said, name, other) for name, other in repeat.other.items()}
        if repeat.item is not None:
            (item,) = repeat.said[repeat.item]
            for name, other in repeat.fields.items():
                another = item.replace(**_changed({}, name, other))
                others[f"{repeat.item}.{name}"] = {**repeat.said, repeat.item: [another]}
        for name, changed in others.items():
            if not await _is_told(store, repeat.method, changed):
                left_out.add((repeat.method, name))
    assert left_out == {*UNCOUNTED}


async def test_every_argument_and_field_has_another_value(adapter: Adapter) -> None:
    repeats = {repeat.method: repeat for repeat in await _repeats(adapter.store)}
    known = {
        f"{attribute}.{method}"
        for attribute, port in PORTS.items()
        for method in methods_of(port)
        if _knows_repeats(port, method)
    }
    assert {*repeats} == known - {*ELSEWHERE} | BESIDE
    for method, repeat in repeats.items():
        varied = {*repeat.other, *repeat.ids, "tenant_id", repeat.item} - {None}
        assert _arguments(method) <= varied, method
        if repeat.item is not None:
            (item,) = repeat.said[repeat.item]
            assert {*type(item).model_fields} <= {*repeat.fields, *repeat.ids}, method
