"""Every port method that names a conversation or what hangs on it, as data for the sections.

Isolation, permissions and deletion say the same of each of them, so they go through these tables.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from strongroom.client import Ports
from strongroom.conformance import (
    calls_artifacts,
    calls_catalog,
    calls_evaluations,
    calls_files,
    calls_frameworks,
    calls_knowledge,
    calls_ledgers,
    calls_memory,
    calls_transcripts,
)
from strongroom.conformance.calls_catalog import CatalogIds, fill_catalog
from strongroom.conformance.calls_evaluations import EvaluationIds, fill_evaluations
from strongroom.conformance.calls_knowledge import KnowledgeIds, fill_knowledge
from strongroom.conformance.calls_ledgers import LedgerIds, fill_ledgers
from strongroom.conformance.calls_memory import MemoryTarget, fill_memory
from strongroom.conformance.helpers import (
    OWNER,
    PARTICIPANT,
    Where,
    at,
    fresh,
    new_tenant,
    result_of,
    said,
)
from strongroom.conformance.run_helpers import (
    Held,
    Of,
    answered,
    approval_of,
    approved,
    asked,
    claimed,
    delta,
    held,
    queued,
    streamed,
)
from strongroom.models import AgentBinding, RunUsage, Viewer
from strongroom.models.realtime import NewTopicEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The ids of one filled conversation, of a claimed run in it, and of what stands beside it."""

    tenant_id: str
    conversation_id: str
    message_id: str
    run_id: str
    claim_token: int
    checkpoint_sequence: int
    question_id: str
    approval_id: str
    approved_id: str
    grant_id: str
    job_id: str
    job_token: int
    queue: str
    lock_name: str
    lock_token: int
    topic: str
    catalog: CatalogIds
    memory: MemoryTarget
    evaluation: EvaluationIds
    frameworks: calls_frameworks.FrameworkIds
    knowledge: KnowledgeIds
    ledgers: LedgerIds
    files: calls_files.FileIds
    artifacts: calls_artifacts.ArtifactIds
    transcripts: calls_transcripts.TranscriptIds

    @property
    def where(self) -> Where:
        """The conversation's place."""
        return Where(tenant_id=self.tenant_id, conversation_id=self.conversation_id)

    @property
    def of(self) -> Of:
        """The run's place."""
        return Of(tenant_id=self.tenant_id, run_id=self.run_id)

    @property
    def held(self) -> Held:
        """The run's place and its claim."""
        return Held(**self.of, claim_token=self.claim_token)

    def absent(self) -> Target:
        """Return ids of the same form that name nothing, in the same tenant."""
        names = (
            *("conversation_id", "message_id", "run_id", "question_id", "approval_id"),
            *("approved_id", "grant_id", "job_id", "queue", "lock_name", "topic"),
        )
        reversed_names = {name: getattr(self, name)[::-1] for name in names}
        return replace(
            self,
            **reversed_names,
            catalog=self.catalog.absent(),
            memory=self.memory.absent(),
            evaluation=self.evaluation.absent(),
            frameworks=self.frameworks.absent(),
            knowledge=self.knowledge.absent(),
            ledgers=self.ledgers.absent(),
            files=self.files.absent(),
            artifacts=self.artifacts.absent(),
            transcripts=self.transcripts.absent(),
        )

    def within(self, tenant_id: str) -> Target:
        """Return the same ids, asked for in another tenant."""
        return replace(self, tenant_id=tenant_id)


async def fill(
    store: Ports, tenant_id: str | None = None, *, visibility: str = "private"
) -> Target:
    """Make a tenant (unless given) with a row in every table, and return the ids."""
    tenant_id = tenant_id or await new_tenant(store)
    if await store.tenants.find_member(tenant_id=tenant_id, principal_id=OWNER) is None:
        await store.tenants.add_member(tenant_id=tenant_id, principal_id=OWNER)
    talk = await store.conversations.create(
        tenant_id=tenant_id,
        owner_id=OWNER,
        participant_ids=[PARTICIPANT],
        visibility=visibility,  # type: ignore[arg-type]
        title="Secret",
    )
    ids = at(talk)
    done = await store.messages.append(**ids, messages=[said("secret"), said("secret, too")])
    await store.session_state.put(**ids, state={"secret": 1}, expected_version=0)
    await store.summaries.append(**ids, text="secret", covers_to_position=1)
    run = await claimed(store, await queued(store, talk))
    await streamed(store, run, "secret")
    checkpoint = await store.checkpoints.save(**held(run), expected_sequence=0, state={"secret": 1})
    question, approval = await asked(store, run), await approval_of(store, run)
    given = await approved(store, run)
    grant = await store.interactions.grant(
        tenant_id=tenant_id,
        principal_id=OWNER,
        tool_name="refund",
        granted_by=OWNER,
        conversation_id=talk.id,
    )
    queue, lock_name, topic = fresh("queue"), fresh("lock"), fresh("topic")
    await store.jobs.enqueue(tenant_id=tenant_id, kind="secret", queue=queue)
    (job,) = await store.jobs.claim(
        worker_id="worker", queues=[queue], tenant_id=tenant_id, lease_seconds=600
    )
    lock = await store.locks.acquire(
        tenant_id=tenant_id, name=lock_name, owner_id="worker", ttl_seconds=600
    )
    await store.realtime.publish(
        tenant_id=tenant_id, topic=topic, events=[NewTopicEvent(kind="secret")]
    )
    assert run.claim_token is not None
    assert job.claim_token is not None
    assert lock is not None
    return Target(
        **ids,
        message_id=done.items[0].id,
        run_id=run.id,
        claim_token=run.claim_token,
        checkpoint_sequence=checkpoint.sequence,
        question_id=question.id,
        approval_id=approval.id,
        approved_id=given.id,
        grant_id=grant.id,
        job_id=job.id,
        job_token=job.claim_token,
        queue=queue,
        lock_name=lock_name,
        lock_token=lock.token,
        topic=topic,
        catalog=await fill_catalog(store, tenant_id),
        memory=await fill_memory(store, tenant_id),
        evaluation=await fill_evaluations(store, tenant_id),
        frameworks=await calls_frameworks.fill_frameworks(store, tenant_id),
        knowledge=await fill_knowledge(store, tenant_id),
        ledgers=await fill_ledgers(store, tenant_id, talk.id),
        files=await calls_files.fill(store, tenant_id, talk.id),
        artifacts=await calls_artifacts.fill_artifacts(store, ids),
        transcripts=await calls_transcripts.fill_transcripts(store, tenant_id),
    )


async def fill_lifecycle(store: Ports, tenant_id: str) -> None:
    """Keep what will not be swept in this century, and the receipt of somebody who has left."""
    await store.lifecycle.set_policy(
        tenant_id=tenant_id, kind="jobs", keep_seconds=3_000_000_000, expected_version=0
    )
    await store.tenants.add_member(tenant_id=tenant_id, principal_id="has-left")
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id="has-left")


Read = Callable[[Ports, Target, Viewer | None], Awaitable[object]]
Write = Callable[[Ports, Target], Awaitable[object]]


READS: dict[str, Read] = {
    "conversations.get": lambda s, t, v: s.conversations.get(**t.where, viewer=v),
    "conversations.find": lambda s, t, v: s.conversations.find(**t.where, viewer=v),
    "messages.list": lambda s, t, v: s.messages.list(**t.where, viewer=v),
    "messages.latest": lambda s, t, v: s.messages.latest(**t.where, viewer=v),
    "messages.count": lambda s, t, v: s.messages.count(**t.where, viewer=v),
    "messages.get": lambda s, t, v: s.messages.get(
        tenant_id=t.tenant_id, message_id=t.message_id, viewer=v
    ),
    "messages.find": lambda s, t, v: s.messages.find(
        tenant_id=t.tenant_id, message_id=t.message_id, viewer=v
    ),
    "session_state.get": lambda s, t, v: s.session_state.get(**t.where, viewer=v),
    "session_state.find": lambda s, t, v: s.session_state.find(**t.where, viewer=v),
    "summaries.latest": lambda s, t, v: s.summaries.latest(**t.where, viewer=v),
    "summaries.list": lambda s, t, v: s.summaries.list(**t.where, viewer=v),
    "summaries.history": lambda s, t, v: s.summaries.history(**t.where, viewer=v),
    "runs.get": lambda s, t, v: s.runs.get(**t.of, viewer=v),
    "runs.find": lambda s, t, v: s.runs.find(**t.of, viewer=v),
    "runs.list": lambda s, t, v: s.runs.list(**t.where, viewer=v),
    "runs.list_events": lambda s, t, v: s.runs.list_events(**t.of, viewer=v),
    "checkpoints.latest": lambda s, t, v: s.checkpoints.latest(**t.of, viewer=v),
    "checkpoints.get": lambda s, t, v: s.checkpoints.get(
        **t.of, sequence=t.checkpoint_sequence, viewer=v
    ),
    "checkpoints.list": lambda s, t, v: s.checkpoints.list(**t.of, viewer=v),
    "interactions.get": lambda s, t, v: s.interactions.get(
        tenant_id=t.tenant_id, interaction_id=t.question_id, viewer=v
    ),
    "interactions.find": lambda s, t, v: s.interactions.find(
        tenant_id=t.tenant_id, interaction_id=t.approval_id, viewer=v
    ),
    "interactions.list": lambda s, t, v: s.interactions.list(**t.of, viewer=v),
    **calls_files.READS,
    **calls_artifacts.READS,
}
"""Reads of one conversation, or of what hangs on it."""

WRITES: dict[str, Write] = {
    "conversations.update": lambda s, t: s.conversations.update(
        **t.where, title="Taken", expected_version=1
    ),
    "conversations.bind_agent": lambda s, t: s.conversations.bind_agent(
        **t.where, agent=AgentBinding(agent_id="thief"), expected_version=1
    ),
    "conversations.share": lambda s, t: s.conversations.share(
        **t.where, visibility="tenant", participant_ids=[], expected_version=1
    ),
    "conversations.fork": lambda s, t: s.conversations.fork(**t.where),
    "conversations.soft_delete": lambda s, t: s.conversations.soft_delete(**t.where),
    "conversations.restore": lambda s, t: s.conversations.restore(**t.where),
    "messages.append": lambda s, t: s.messages.append(**t.where, messages=[said("late")]),
    "session_state.put": lambda s, t: s.session_state.put(
        **t.where, state={"late": 1}, expected_version=1
    ),
    "session_state.patch": lambda s, t: s.session_state.patch(
        **t.where, patch={"late": 1}, expected_version=1
    ),
    "session_state.clear": lambda s, t: s.session_state.clear(**t.where, expected_version=1),
    "summaries.append": lambda s, t: s.summaries.append(
        **t.where, text="late", covers_to_position=2
    ),
    "runs.create": lambda s, t: s.runs.create(**t.where),
    "runs.heartbeat": lambda s, t: s.runs.heartbeat(**t.held),
    "runs.append_events": lambda s, t: s.runs.append_events(**t.held, events=[delta("late")]),
    "runs.transition": lambda s, t: s.runs.transition(**t.held, status="waiting_for_question"),
    "runs.retry_later": lambda s, t: s.runs.retry_later(
        **t.held, delay_seconds=0, error={"code": "late"}
    ),
    "runs.release": lambda s, t: s.runs.release(**t.held),
    "runs.finish": lambda s, t: s.runs.finish(
        **t.held, status="completed", messages=[answered("late")]
    ),
    "runs.request_cancel": lambda s, t: s.runs.request_cancel(**t.of),
    "usage.record_for_run": lambda s, t: s.usage.record_for_run(
        **t.held, events=[RunUsage(input_tokens=1)]
    ),
    "checkpoints.save": lambda s, t: s.checkpoints.save(
        **t.held, expected_sequence=1, state={"late": 1}
    ),
    "checkpoints.prune": lambda s, t: s.checkpoints.prune(**t.of, keep=1),
    "interactions.ask": lambda s, t: s.interactions.ask(**t.held, prompt="Late?"),
    "interactions.request_approval": lambda s, t: s.interactions.request_approval(
        **t.held, tool_name="late", input={}
    ),
    "interactions.answer": lambda s, t: s.interactions.answer(
        tenant_id=t.tenant_id, interaction_id=t.question_id, answer="late", resolved_by=OWNER
    ),
    "interactions.decide": lambda s, t: s.interactions.decide(
        tenant_id=t.tenant_id,
        interaction_id=t.approval_id,
        decision="allow-once",
        resolved_by=OWNER,
    ),
    "interactions.claim_approval": lambda s, t: s.interactions.claim_approval(
        tenant_id=t.tenant_id, interaction_id=t.approved_id, claim_token=t.claim_token
    ),
    **calls_files.WRITES,
    **calls_artifacts.WRITES,
    **calls_transcripts.WRITES,
}
"""Writes to one conversation that exists; each must refuse one that does not."""

LATE_WRITES = {
    name: write
    for name, write in WRITES.items()
    if name not in ("conversations.soft_delete", "conversations.restore")
}
"""Writes that a soft-deleted conversation refuses."""


HostCall = Callable[[Ports, Target], Awaitable[object]]


def _of_catalog(call: calls_catalog.Call) -> HostCall:
    return lambda store, target: call(store, target.tenant_id, target.catalog)


def _of_evaluation(call: calls_evaluations.Call) -> HostCall:
    return lambda store, target: call(store, target.tenant_id, target.evaluation)


def _of_knowledge(call: calls_knowledge.HostCall) -> HostCall:
    """Call with the ids of the target's collection."""
    return lambda store, target: call(store, target.tenant_id, target.knowledge)


def _of_frameworks(call: calls_frameworks.Call) -> HostCall:
    return lambda store, target: call(store, target.tenant_id, target.frameworks)


TENANT_READS: dict[str, HostCall] = {
    name: _of_catalog(call) for name, call in calls_catalog.TENANT_READS.items()
}
"""Reads of what everyone in the tenant may read."""


def _of_ledgers(call: calls_ledgers.Call) -> HostCall:
    return lambda store, target: call(store, target.tenant_id, target.ledgers)


HOST_READS: dict[str, HostCall] = {
    **{name: _of_evaluation(call) for name, call in calls_evaluations.HOST_READS.items()},
    **{name: _of_ledgers(call) for name, call in calls_ledgers.HOST_READS.items()},
    "agents.resolve": lambda s, t: s.agents.resolve(**t.where),
    "interactions.find_active_grant": lambda s, t: s.interactions.find_active_grant(
        **t.where, principal_id=OWNER, tool_name="refund"
    ),
    "jobs.get": lambda s, t: s.jobs.get(tenant_id=t.tenant_id, job_id=t.job_id),
    "interactions.list_grants": lambda s, t: s.interactions.list_grants(
        tenant_id=t.tenant_id, principal_id=OWNER, conversation_id=t.conversation_id
    ),
    "jobs.find": lambda s, t: s.jobs.find(tenant_id=t.tenant_id, job_id=t.job_id),
    "jobs.list": lambda s, t: s.jobs.list(tenant_id=t.tenant_id, queue=t.queue),
    "jobs.queue": lambda s, t: s.jobs.queue(tenant_id=t.tenant_id, queue=t.queue),
    "locks.find": lambda s, t: s.locks.find(tenant_id=t.tenant_id, name=t.lock_name),
    "realtime.find": lambda s, t: s.realtime.find(tenant_id=t.tenant_id, topic=t.topic),
    "realtime.list": lambda s, t: s.realtime.list(tenant_id=t.tenant_id, topic=t.topic),
    **{name: _of_frameworks(call) for name, call in calls_frameworks.HOST_READS.items()},
    **{name: _of_knowledge(call) for name, call in calls_knowledge.HOST_READS.items()},
    **calls_files.HOST_READS,
    **calls_transcripts.HOST_READS,
}
"""Reads that hosts alone may do, of what the tenant has."""


async def _revoke_grant(store: Ports, target: Target) -> bool:
    grant = {"tenant_id": target.tenant_id, "grant_id": target.grant_id}
    return (await store.interactions.revoke_grant(**grant)).revoked


HOST_WRITES: dict[str, HostCall] = {
    "interactions.revoke_grant": _revoke_grant,
    "jobs.complete": lambda s, t: s.jobs.complete(
        tenant_id=t.tenant_id, job_id=t.job_id, claim_token=t.job_token
    ),
    "jobs.heartbeat": lambda s, t: s.jobs.heartbeat(
        tenant_id=t.tenant_id, job_id=t.job_id, claim_token=t.job_token
    ),
    "jobs.retry_later": lambda s, t: s.jobs.retry_later(
        tenant_id=t.tenant_id, job_id=t.job_id, claim_token=t.job_token, error={"code": "late"}
    ),
    "jobs.fail": lambda s, t: s.jobs.fail(
        tenant_id=t.tenant_id, job_id=t.job_id, claim_token=t.job_token, error={"code": "late"}
    ),
    "jobs.release": lambda s, t: s.jobs.release(
        tenant_id=t.tenant_id, job_id=t.job_id, claim_token=t.job_token
    ),
    "jobs.cancel": lambda s, t: s.jobs.cancel(tenant_id=t.tenant_id, job_id=t.job_id),
    "locks.renew": lambda s, t: s.locks.renew(
        tenant_id=t.tenant_id, name=t.lock_name, owner_id="worker", token=t.lock_token
    ),
    "locks.release": lambda s, t: s.locks.release(
        tenant_id=t.tenant_id, name=t.lock_name, owner_id="worker", token=t.lock_token
    ),
    "realtime.trim": lambda s, t: s.realtime.trim(
        tenant_id=t.tenant_id, topic=t.topic, up_to_sequence=1
    ),
    **{name: _of_catalog(call) for name, call in calls_catalog.HOST_WRITES.items()},
    **{name: _of_evaluation(call) for name, call in calls_evaluations.HOST_WRITES.items()},
    **{name: _of_frameworks(call) for name, call in calls_frameworks.HOST_WRITES.items()},
    **{name: _of_knowledge(call) for name, call in calls_knowledge.HOST_WRITES.items()},
}
"""Writes that hosts alone may do, to what stands beside conversations."""

HOST_WRITES.update(calls_memory.HOST_WRITES)
HOST_WRITES.update(calls_transcripts.HOST_WRITES)

OWN_READS: dict[str, Read] = {**calls_memory.OWN_READS}
"""Reads of what belongs to one principal alone."""

OWN_WRITES: dict[str, HostCall] = {**calls_memory.OWN_WRITES}
"""Writes to it that exists, which the principal may do as well."""

MORE_WRITES: dict[str, HostCall] = {**calls_memory.MORE_WRITES}
"""Writes that need no record but the tenant."""


async def everything(store: Ports, target: Target) -> list[object]:
    """Return all that a host can read of a conversation, to see that nothing has changed it."""
    return [await read(store, target, None) for read in READS.values()]


async def everything_beside(store: Ports, target: Target) -> list[object]:
    """Return all that a host can read of what stands beside a conversation."""
    return [
        *[await read(store, target) for read in HOST_READS.values()],
        *[await read(store, target) for read in TENANT_READS.values()],
        *[await result_of(read(store, target, None)) for read in OWN_READS.values()],
    ]
