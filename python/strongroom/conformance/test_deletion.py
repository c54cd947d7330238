"""Deletion propagation: what hangs on a conversation goes, and comes back, with it."""

from __future__ import annotations

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.calls import (
    LATE_WRITES,
    MORE_WRITES,
    OWN_WRITES,
    READS,
    WRITES,
    Target,
    everything,
    fill,
)
from strongroom.conformance.helpers import result_of
from strongroom.conformance.kept import kept
from strongroom.errors import NotFound
from strongroom.models import NewMessage


async def _deleted(adapter: Adapter) -> Target:
    """Return a filled conversation that is soft-deleted, and stays so."""
    target = await kept(adapter, "deleted")
    await adapter.store.conversations.soft_delete(**target.where)
    return target


@pytest.mark.parametrize("method", sorted(READS))
async def test_after_soft_delete_it_reads_as_absent(adapter: Adapter, method: str) -> None:
    target = await _deleted(adapter)
    deleted = await result_of(READS[method](adapter.store, target, None))
    assert deleted == await result_of(READS[method](adapter.store, target.absent(), None))
    living = await kept(adapter)
    assert await result_of(READS[method](adapter.store, living, None)) != deleted


async def test_restoring_brings_everything_back(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    before = await everything(adapter.store, target)
    await adapter.store.conversations.soft_delete(**target.where)
    restored = await adapter.store.conversations.restore(**target.where)
    after = await everything(adapter.store, target)
    for name, old, new in zip(READS, before, after, strict=True):
        if name.startswith("conversations."):
            assert new == restored
        else:
            assert new == old, name


async def test_late_writes_to_a_soft_deleted_one_are_refused(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    before = await everything(adapter.store, target)
    await adapter.store.conversations.soft_delete(**target.where)
    for method, write in LATE_WRITES.items():
        late = await result_of(write(adapter.store, target))
        assert isinstance(late, tuple), f"{method} succeeded: {late}"
        assert late[0] is NotFound, method
        assert late == await result_of(write(adapter.store, target.absent())), method
    await adapter.store.conversations.restore(**target.where)
    after = await everything(adapter.store, target)
    assert after[2:] == before[2:]


async def test_late_writes_to_a_purged_one_bring_nothing_back(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    await adapter.store.conversations.purge(**target.where)
    for method, write in WRITES.items():
        late = await result_of(write(adapter.store, target))
        assert isinstance(late, tuple), f"{method} succeeded: {late}"
        assert late[0] is NotFound, method
    for method, read in READS.items():
        gone = await result_of(read(adapter.store, target, None))
        assert gone == await result_of(read(adapter.store, target.absent(), None)), method
    assert not (await adapter.store.conversations.purge(**target.where)).purged


async def test_late_writes_to_a_purged_tenant_bring_nothing_back(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    await adapter.store.tenants.purge(tenant_id=target.tenant_id)
    for method, write in {**WRITES, **OWN_WRITES, **MORE_WRITES}.items():
        late = await result_of(write(adapter.store, target))
        assert isinstance(late, tuple), f"{method} succeeded: {late}"
        assert late[0] is NotFound, method
    assert not (await adapter.store.tenants.purge(tenant_id=target.tenant_id)).purged


async def test_ids_of_purged_messages_are_free_again(adapter: Adapter) -> None:
    target = await fill(adapter.store)
    await adapter.store.conversations.purge(**target.where)
    again = await fill(adapter.store, target.tenant_id)
    message = await adapter.store.messages.get(
        tenant_id=again.tenant_id, message_id=again.message_id
    )
    repeat = message.replace(id=target.message_id)
    new = NewMessage(**{name: getattr(repeat, name) for name in NewMessage.model_fields})
    done = await adapter.store.messages.append(**again.where, messages=[new])
    assert done.items[0].outcome == "inserted"


async def test_what_does_not_exist_is_never_deleted_with_success_b87(adapter: Adapter) -> None:
    target = (await fill(adapter.store)).absent()
    conversations = adapter.store.conversations
    for call in (conversations.soft_delete(**target.where), conversations.restore(**target.where)):
        with pytest.raises(NotFound):
            await call
    assert not (await conversations.purge(**target.where)).purged
    members = adapter.store.tenants
    assert not await members.remove_member(tenant_id=target.tenant_id, principal_id="nobody")
