"""Every port method that names a conversation or what hangs on it, as data for the sections.

Isolation, permissions and deletion say the same of each of them, so they go through these tables.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from strongroom.client import Ports
from strongroom.conformance.helpers import OWNER, PARTICIPANT, Where, at, new_tenant, said
from strongroom.models import AgentBinding, Viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The ids of one filled conversation."""

    tenant_id: str
    conversation_id: str
    message_id: str

    @property
    def where(self) -> Where:
        """The conversation's place."""
        return Where(tenant_id=self.tenant_id, conversation_id=self.conversation_id)

    def absent(self) -> Target:
        """Return ids of the same form that name nothing, in the same tenant."""
        return Target(
            tenant_id=self.tenant_id,
            conversation_id=self.conversation_id[::-1],
            message_id=self.message_id[::-1],
        )

    def within(self, tenant_id: str) -> Target:
        """Return the same ids, asked for in another tenant."""
        return Target(
            tenant_id=tenant_id,
            conversation_id=self.conversation_id,
            message_id=self.message_id,
        )


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
    return Target(**ids, message_id=done.items[0].id)


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
}
"""Writes to one conversation that exists; each must refuse one that does not."""

LATE_WRITES = {
    name: write
    for name, write in WRITES.items()
    if name not in ("conversations.soft_delete", "conversations.restore")
}
"""Writes that a soft-deleted conversation refuses."""


async def everything(store: Ports, target: Target) -> list[object]:
    """Return all that a host can read of a conversation, to see that nothing has changed it."""
    return [await read(store, target, None) for read in READS.values()]
