"""The port methods of principal memory, as data for the sections; see ``calls.py``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from strongroom.client import Ports
from strongroom.conformance.helpers import OWNER, PageOf, fresh, new_tenant
from strongroom.models import Conversation, Viewer

if TYPE_CHECKING:
    from strongroom.conformance.calls import Target


class Whose(TypedDict):
    """A principal's place, for calls: ``await store.principal_memory.list(**whose)``."""

    tenant_id: str
    principal_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTarget:
    """The ids of a principal with a memory, and of a fact in it."""

    principal_id: str
    memory_id: str

    def absent(self) -> MemoryTarget:
        """Return ids of the same form that name nothing."""
        return replace(self, principal_id=self.principal_id[::-1], memory_id=self.memory_id[::-1])


async def fill_memory(store: Ports, tenant_id: str) -> MemoryTarget:
    """Give a new principal, and the owner, a fact and a forgotten one."""
    target = MemoryTarget(principal_id=fresh("principal"), memory_id=fresh("memory"))
    for principal_id in (target.principal_id, OWNER):
        whose = Whose(tenant_id=tenant_id, principal_id=principal_id)
        lost = await store.principal_memory.put(**whose, text="lost", source="extracted")
        if lost.fact is not None:  # else it was forgotten when the tenant was filled before
            await store.principal_memory.delete(**whose, memory_id=lost.fact.id)
        await store.principal_memory.put(
            **whose,
            text="secret",
            source="user-stated",
            memory_id=target.memory_id,
            embedding=[1.0, 0.0],
            embedding_model="m",
        )
    return target


def whose(target: Target) -> Whose:
    """Return the principal's place."""
    return Whose(tenant_id=target.tenant_id, principal_id=target.memory.principal_id)


async def _status(store: Ports, target: Target, viewer: Viewer | None) -> object:
    status = await store.principal_memory.status(**whose(target), viewer=viewer)
    return status.replace(principal_id="whoever was asked for")


OWN_READS: dict[str, Callable[[Ports, Target, Viewer | None], Awaitable[object]]] = {
    "principal_memory.get": lambda s, t, v: s.principal_memory.get(
        **whose(t), memory_id=t.memory.memory_id, viewer=v
    ),
    "principal_memory.find": lambda s, t, v: s.principal_memory.find(
        **whose(t), memory_id=t.memory.memory_id, viewer=v
    ),
    "principal_memory.list": lambda s, t, v: s.principal_memory.list(**whose(t), viewer=v),
    "principal_memory.search": lambda s, t, v: s.principal_memory.search(
        **whose(t), text="secret", embedding=[1.0, 0.0], embedding_model="m", viewer=v
    ),
    "principal_memory.status": _status,
}
"""Reads of what belongs to one principal alone."""

OWN_WRITES: dict[str, Callable[[Ports, Target], Awaitable[object]]] = {
    "principal_memory.update": lambda s, t: s.principal_memory.update(
        **whose(t), memory_id=t.memory.memory_id, text="late", expected_version=1
    ),
    "principal_memory.delete": lambda s, t: s.principal_memory.delete(
        **whose(t), memory_id=t.memory.memory_id
    ),
    "principal_memory.forget_all": lambda s, t: s.principal_memory.forget_all(**whose(t)),
}
"""Writes to what belongs to one principal alone, which that principal may do."""

HOST_WRITES: dict[str, Callable[[Ports, Target], Awaitable[object]]] = {
    "principal_memory.touch": lambda s, t: s.principal_memory.touch(
        **whose(t), memory_ids=[t.memory.memory_id]
    ),
}
"""Writes that hosts alone may do."""

MORE_WRITES: dict[str, Callable[[Ports, Target], Awaitable[object]]] = {
    "principal_memory.put": lambda s, t: s.principal_memory.put(
        **whose(t), text="late", source="user-stated"
    ),
    "principal_memory.disable": lambda s, t: s.principal_memory.disable(**whose(t)),
    "principal_memory.enable": lambda s, t: s.principal_memory.enable(**whose(t)),
    "principal_memory.expire": lambda s, t: s.principal_memory.expire(tenant_id=t.tenant_id),
}
"""Writes that need no record that is there."""


Call = Callable[[Ports, Conversation, Any], Awaitable[object]]

ID_PATHS: dict[str, Call] = {
    "memory_id": lambda s, t, x: s.principal_memory.get(
        tenant_id=t.tenant_id, principal_id=OWNER, memory_id=x
    ),
    "memory_ids[1]": lambda s, t, x: s.principal_memory.touch(
        tenant_id=t.tenant_id, principal_id=OWNER, memory_ids=["ok", x]
    ),
}
"""Ids that are needed, by the path of their refusal."""

OPTIONAL_ID_PATHS: dict[str, Call] = {
    "key": lambda s, t, x: s.principal_memory.put(
        tenant_id=t.tenant_id, principal_id=OWNER, text="x", source="extracted", key=x
    ),
    "embedding_model": lambda s, t, x: s.principal_memory.put(
        tenant_id=t.tenant_id,
        principal_id=OWNER,
        text="x",
        source="extracted",
        embedding=[1.0],
        embedding_model=x,
    ),
}
"""Ids that may be missing, by the path of their refusal."""


def _putting(field: str) -> Call:
    """Put a fact with this field."""

    def put(store: Ports, talk: Conversation, value: Any) -> Awaitable[object]:
        fact: dict[str, Any] = {"text": "fine", "source": "extracted", field: value}
        whose = Whose(tenant_id=talk.tenant_id, principal_id=OWNER)
        return store.principal_memory.put(**whose, **fact)

    return put


TEXT_PATHS: dict[str, Call] = {
    **{
        f"fact.{field}": _putting(field)
        for field in ("text", "key", "namespace", "conversation_id")
    },
    "fact.id": _putting("memory_id"),
    "fact.metadata.k": lambda s, t, x: s.principal_memory.put(
        tenant_id=t.tenant_id,
        principal_id=OWNER,
        text="fine",
        source="extracted",
        metadata={"k": x},
    ),
    "changes.text": lambda s, t, x: s.principal_memory.update(
        tenant_id=t.tenant_id, principal_id=OWNER, memory_id="m", text=x, expected_version=1
    ),
    "namespace_prefix": lambda s, t, x: s.principal_memory.list(
        tenant_id=t.tenant_id, principal_id=OWNER, namespace_prefix=x
    ),
}
"""Places where a caller's text goes to the database, by the path of its refusal."""


async def _memories(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    whose = Whose(tenant_id=await new_tenant(store), principal_id=OWNER)
    made = [
        (await store.principal_memory.put(**whose, text=str(n), source="extracted")).fact
        for n in range(count)
    ]
    facts = sorted(
        (fact for fact in made if fact), key=lambda fact: (fact.created_at, fact.id), reverse=True
    )
    return (
        lambda **page: store.principal_memory.list(**whose, **page),
        [fact.id for fact in facts],
    )


LISTS: dict[str, Callable[[Ports, int], Awaitable[tuple[PageOf, list[str]]]]] = {
    "memories": _memories,
}
"""Lists, filled with so many rows; the ids in the list's order."""
