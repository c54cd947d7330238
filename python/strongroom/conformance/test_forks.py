"""Forks of conversations."""

from __future__ import annotations

import pytest

from strongroom.conformance.adapter import Adapter
from strongroom.conformance.helpers import (
    OWNER,
    Where,
    all_messages,
    at,
    new_talk,
    said,
    say,
    texts_of,
)
from strongroom.errors import AlreadyExists, InvalidArgument, NotFound
from strongroom.models import AgentBinding, Conversation


async def _source(adapter: Adapter) -> Conversation:
    store = adapter.store
    talk = await new_talk(store)
    await say(store, talk, "1", "2", "3", "4")
    await store.summaries.append(**at(talk), text="1 to 2", covers_to_position=2)
    await store.summaries.append(**at(talk), text="1 to 4", covers_to_position=4)
    await store.session_state.put(**at(talk), state={"stays": True}, expected_version=0)
    await store.conversations.update(
        **at(talk), expected_version=1, title="Source", external_ref="crm", metadata={"a": 1}
    )
    await store.conversations.bind_agent(
        **at(talk), agent=AgentBinding(agent_id="helper"), expected_version=2
    )
    return await store.conversations.share(
        **at(talk), visibility="tenant", participant_ids=["bob"], expected_version=3
    )


async def test_a_fork_has_the_messages_up_to_its_position(adapter: Adapter) -> None:
    store, talk = adapter.store, await _source(adapter)
    for up_to, covered in ((0, []), (1, []), (3, [2]), (4, [2, 4]), (None, [2, 4])):
        fork = await store.conversations.fork(**at(talk), up_to_position=up_to)
        last = 4 if up_to is None else up_to
        assert fork.outcome == "inserted"
        assert (fork.forked_from_id, fork.forked_from_position) == (talk.id, last)
        assert (fork.last_position, fork.last_message_at is not None) == (last, last > 0)
        copies = await all_messages(store, fork)
        originals = (await all_messages(store, talk))[:last]
        for copy, original in zip(copies, originals, strict=True):
            assert copy.id != original.id
            assert copy.forked_from_id == original.id
            assert copy == original.replace(
                id=copy.id,
                conversation_id=fork.id,
                forked_from_id=original.id,
                created_at=copy.created_at,
            )
        summaries = (await store.summaries.list(**at(fork))).items
        assert [summary.covers_to_position for summary in summaries] == covered
        assert [summary.version for summary in summaries] == list(range(1, len(covered) + 1))


async def test_a_fork_is_private_and_new(adapter: Adapter) -> None:
    store, talk = adapter.store, await _source(adapter)
    fork = await store.conversations.fork(**at(talk))
    assert (fork.visibility, fork.participant_ids, fork.version) == ("private", (), 1)
    assert (fork.owner_id, fork.title, fork.external_ref) == (OWNER, "Source", None)
    assert (fork.agent_id, fork.agent_policy, fork.metadata) == ("helper", "latest", {"a": 1})
    assert (await store.session_state.get(**at(fork))).version == 0
    named = await store.conversations.fork(**at(talk), owner_id="zoe", title="Mine")
    assert (named.owner_id, named.title) == ("zoe", "Mine")


async def test_a_fork_and_its_source_go_separate_ways(adapter: Adapter) -> None:
    store, talk = adapter.store, await _source(adapter)
    fork = await store.conversations.fork(**at(talk), up_to_position=2)
    done = await say(store, fork, "other 3")
    assert done.items[0].position == 3
    await say(store, talk, "5")
    assert texts_of(await all_messages(store, fork)) == ["1", "2", "other 3"]
    assert texts_of(await all_messages(store, talk)) == ["1", "2", "3", "4", "5"]
    await store.conversations.purge(**at(talk))
    assert (await store.conversations.get(**at(fork))).forked_from_id == talk.id
    assert texts_of(await all_messages(store, fork)) == ["1", "2", "other 3"]


async def test_a_fork_of_a_fork(adapter: Adapter) -> None:
    store, talk = adapter.store, await _source(adapter)
    fork = await store.conversations.fork(**at(talk), up_to_position=3)
    again = await store.conversations.fork(**at(fork), up_to_position=2)
    assert (again.forked_from_id, again.forked_from_position) == (fork.id, 2)
    assert texts_of(await all_messages(store, again)) == ["1", "2"]


async def test_a_repeated_fork_is_a_duplicate(adapter: Adapter) -> None:
    store, talk = adapter.store, await _source(adapter)
    first = await store.conversations.fork(**at(talk), fork_id="f", up_to_position=2)
    await say(store, talk, "5")
    await say(store, first, "3, otherwise")
    again = await store.conversations.fork(**at(talk), fork_id="f", up_to_position=2)
    assert (again.outcome, again.last_position) == ("duplicate", 3)
    assert texts_of(await all_messages(store, first)) == ["1", "2", "3, otherwise"]
    for fields in ({"up_to_position": 3}, {"owner_id": "zoe"}, {"title": "x"}):
        with pytest.raises(AlreadyExists):
            await store.conversations.fork(
                **at(talk),
                fork_id="f",
                **{"up_to_position": 2, **fields},  # type: ignore[arg-type]
            )
    with pytest.raises(AlreadyExists):
        await store.conversations.fork(**at(talk), fork_id=talk.id)


async def test_bad_forks_are_refused(adapter: Adapter) -> None:
    store, talk = adapter.store, await _source(adapter)
    for position in (-1, 5, 2**63 - 1):
        with pytest.raises(InvalidArgument) as caught:
            await store.conversations.fork(**at(talk), fork_id="f", up_to_position=position)
        assert caught.value.detail["path"] == "up_to_position"
    absent = Where(tenant_id=talk.tenant_id, conversation_id="absent")
    with pytest.raises(NotFound):
        await store.conversations.fork(**absent)
    await store.conversations.soft_delete(**at(talk))
    with pytest.raises(NotFound):
        await store.conversations.fork(**at(talk), fork_id="f")
    assert await store.conversations.find(tenant_id=talk.tenant_id, conversation_id="f") is None


async def test_copies_can_be_repeated_into_the_fork(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await store.messages.append(**at(talk), messages=[said("1", id="m1")])
    fork = await store.conversations.fork(**at(talk))
    copy = (await all_messages(store, fork))[0]
    repeat = await store.messages.append(**at(fork), messages=[said("1", id=copy.id)])
    assert repeat.items[0].outcome == "duplicate"
    stolen = await store.messages.append(**at(fork), messages=[said("1", id="m1")])
    assert stolen.items[0].conflict == "other-conversation"
