"""The part of :mod:`~strongroom.conformance.calls` that is about what frameworks keep."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from strongroom.client import Ports
from strongroom.conformance.helpers import PageOf, fresh, new_tenant
from strongroom.models import (
    Conversation,
    FrameworkRecord,
    FrameworkRecordChange,
    FrameworkRecordReference,
    NewFrameworkRecord,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkIds:
    """A session with an item, a value and a checkpoint."""

    label: str
    key: str

    def absent(self) -> FrameworkIds:
        """Return names of the same form that name nothing."""
        return replace(self, label=self.label[::-1], key=self.key[::-1])

    def at(self, tenant_id: str) -> dict[str, Any]:
        """Return the place of the session."""
        return {"tenant_id": tenant_id, "framework": "suite", "path": [self.label]}


async def fill_frameworks(store: Ports, tenant_id: str) -> FrameworkIds:
    """Make a session with an item, a value and two checkpoints of a run."""
    ids = FrameworkIds(label=fresh("session"), key=fresh("key"))
    item = NewFrameworkRecord(key=ids.key, content={"secret": 1})
    await store.frameworks.append(**ids.at(tenant_id), records=[item])
    await store.frameworks.put(
        tenant_id=tenant_id,
        framework="suite",
        records=[
            FrameworkRecordChange(path=[ids.label], key=ids.key, content={"secret": 1}),
            *(
                FrameworkRecordChange(
                    path=[ids.label],
                    collection="checkpoints",
                    key=f"{ids.key}-{n}",
                    content={"type": "x", "channels": {}},
                    metadata={"run_id": ids.key},
                )
                for n in (1, 2)
            ),
        ],
    )
    return ids


Call = Callable[[Ports, str, FrameworkIds], Awaitable[object]]


async def _search(store: Ports, tenant_id: str, ids: FrameworkIds) -> object:
    return await store.frameworks.search(**ids.at(tenant_id))


HOST_READS: dict[str, Call] = {
    "frameworks.list": lambda s, t, i: s.frameworks.list(**i.at(t)),
    "frameworks.find": lambda s, t, i: s.frameworks.find(
        tenant_id=t,
        framework="suite",
        wanted=[FrameworkRecordReference(path=[i.label], key=i.key)],
    ),
    "frameworks.search": _search,
    "frameworks.find_session": lambda s, t, i: s.frameworks.find_session(**i.at(t)),
    "frameworks.list_sessions": lambda s, t, i: s.frameworks.list_sessions(**i.at(t)),
    "frameworks.read_checkpoints": lambda s, t, i: s.frameworks.read_checkpoints(**i.at(t)),
}


async def _delete(store: Ports, tenant_id: str, ids: FrameworkIds) -> list[FrameworkRecord]:
    return [*await store.frameworks.delete(**ids.at(tenant_id), keys=[ids.key])]


HOST_WRITES: dict[str, Call] = {
    "frameworks.delete": _delete,
    "frameworks.delete_sessions": lambda s, t, i: s.frameworks.delete_sessions(**i.at(t)),
    "frameworks.fork_session": lambda s, t, i: s.frameworks.fork_session(
        tenant_id=t, framework="suite", from_path=[i.label], path=[fresh("fork")]
    ),
    "frameworks.put_session": lambda s, t, i: s.frameworks.put_session(
        **i.at(t), state={"taken": True}, expected_version=1
    ),
    "frameworks.prune_checkpoints": lambda s, t, i: s.frameworks.prune_checkpoints(
        tenant_id=t, framework="suite", run_ids=[i.key]
    ),
}


ArgumentCall = Callable[[Ports, Conversation, Any], Awaitable[object]]


def _at(talk: Conversation, *path: Any) -> dict[str, Any]:
    return {"tenant_id": talk.tenant_id, "framework": "suite", "path": [*path]}


def _append(**fields: Any) -> ArgumentCall:
    return lambda store, talk, _: store.frameworks.append(
        **_at(talk, "s"),
        records=[
            NewFrameworkRecord(key="a", content=1),
            NewFrameworkRecord(**{"key": "b", "content": 1, **fields}),
        ],
    )


ID_PATHS: dict[str, ArgumentCall] = {
    "path[1]": lambda s, t, x: s.frameworks.list(**_at(t, "a", x)),
    "from_path[0]": lambda s, t, x: s.frameworks.fork_session(
        tenant_id=t.tenant_id, framework="suite", from_path=[x], path=["other"]
    ),
    "keys[1]": lambda s, t, x: s.frameworks.delete(**_at(t, "s"), keys=["a", x]),
}
OPTIONAL_ID_PATHS: dict[str, ArgumentCall] = {
    "after_key": lambda s, t, x: s.frameworks.search(**_at(t, "s"), key_prefix="", after_key=x),
    "before_id": lambda s, t, x: s.frameworks.read_checkpoints(**_at(t), before_id=x),
}
TEXT_PATHS: dict[str, ArgumentCall] = {
    "path[0]": lambda s, t, x: s.frameworks.find_session(**_at(t, x)),
    "records[1].key": lambda s, t, x: _append(key=x)(s, t, x),
    "records[1].content.a[1]": lambda s, t, x: _append(content={"a": [0, x]})(s, t, x),
    "records[1].metadata.k": lambda s, t, x: _append(metadata={"k": x})(s, t, x),
    "records[0].path[0]": lambda s, t, x: s.frameworks.put(
        tenant_id=t.tenant_id,
        framework="suite",
        records=[FrameworkRecordChange(path=[x], key="k", content=1)],
    ),
    "filter.k": lambda s, t, x: s.frameworks.read_checkpoints(**_at(t), filter={"k": x}),
    "wanted[0].key": lambda s, t, x: s.frameworks.find(
        tenant_id=t.tenant_id,
        framework="suite",
        wanted=[FrameworkRecordReference(path=["s"], key=x)],
    ),
}


async def _sessions(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    made = [
        await store.frameworks.put_session(
            tenant_id=tenant_id,
            framework="suite",
            path=["a", *["b"] * (number % 3), fresh()],
            state={},
            expected_version=0,
        )
        for number in range(count)
    ]
    made.sort(key=lambda session: session.path)
    await store.frameworks.put_session(
        tenant_id=tenant_id, framework="suite", path=["ab"], state={}, expected_version=0
    )
    return (
        lambda **page: store.frameworks.list_sessions(
            tenant_id=tenant_id, framework="suite", path=["a"], **page
        ),
        [session.id for session in made],
    )


LISTS: dict[str, Callable[[Ports, int], Awaitable[tuple[PageOf, list[str]]]]] = {
    "framework sessions": _sessions,
}
"""Each list with the ids of its rows in order."""
