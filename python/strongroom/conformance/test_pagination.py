"""Pages: of every list, in both directions, under changes in between, with cursors of all kinds."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    PageOf,
    at,
    new_talk,
    new_tenant,
    say,
    texts_of,
    walk,
)
from strongroom.conformance.strategies import quick
from strongroom.errors import InvalidArgument, InvalidCursor, LimitExceeded
from strongroom.models import Conversation, Viewer


async def _conversations(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    made = [await new_talk(store, tenant_id) for _ in range(count)]
    made.sort(key=lambda talk: (talk.created_at, talk.id), reverse=True)
    return (
        lambda **page: store.conversations.list(tenant_id=tenant_id, **page),
        [talk.id for talk in made],
    )


async def _viewed(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    made = [
        await store.conversations.create(
            tenant_id=tenant_id,
            owner_id=[OWNER, "bob", "bob"][number % 3],
            visibility="tenant" if number % 3 == 1 else "private",
            participant_ids=[OWNER],
        )
        for number in range(count)
    ]
    made.sort(key=lambda talk: (talk.created_at, talk.id), reverse=True)
    viewer = Viewer(principal_id=OWNER)
    return (
        lambda **page: store.conversations.list(tenant_id=tenant_id, viewer=viewer, **page),
        [talk.id for talk in made],
    )


async def _messages(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    talk = await new_talk(store)
    done = await say(store, talk, *(str(number) for number in range(count)))
    return (
        lambda **page: store.messages.list(**at(talk), **page),
        [item.id for item in done.items],
    )


async def _summaries(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    talk = await new_talk(store)
    await say(store, talk, "1")
    made = [
        await store.summaries.append(**at(talk), text=str(n), covers_to_position=1)
        for n in range(count)
    ]
    return lambda **page: store.summaries.list(**at(talk), **page), [one.id for one in made]


async def _members(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    made = [
        await store.tenants.add_member(tenant_id=tenant_id, principal_id=f"p{number:03}")
        for number in range(count)
    ]
    return (
        lambda **page: store.tenants.list_members(tenant_id=tenant_id, **page),
        [one.id for one in made],
    )


async def _files(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    made = [
        await store.files.create(
            tenant_id=tenant_id, owner_id=OWNER, path=f"a/{n}", media_type="text/plain"
        )
        for n in range(count)
    ]
    made.sort(key=lambda file: (file.created_at, file.id), reverse=True)
    return (
        lambda **page: store.files.list(tenant_id=tenant_id, path_prefix="a", **page),
        [file.id for file in made],
    )


async def _file_versions(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    file = await store.files.create(
        tenant_id=tenant_id, owner_id=OWNER, path="a", media_type="text/plain"
    )
    place: dict[str, Any] = {"tenant_id": tenant_id, "file_id": file.id}
    for number in range(1, count):
        await store.files.add_version(
            **place, expected_latest=number, media_type="text/plain", version_id=f"v{number}"
        )
    first = await store.files.list_versions(**place, limit=1)
    return (
        lambda **page: store.files.list_versions(**place, **page),
        [first.items[0].id, *(f"v{number}" for number in range(1, count))],
    )


async def _pending_versions(store: Ports, count: int) -> tuple[PageOf, list[str]]:
    tenant_id = await new_tenant(store)
    for _ in range(count):
        await store.files.create(
            tenant_id=tenant_id, owner_id=OWNER, path="a", media_type="text/plain"
        )
    made = (await store.files.list_by_state(tenant_id=tenant_id, state="pending")).items
    order = sorted(made, key=lambda version: (version.state_changed_at, version.file_id))
    return (
        lambda **page: store.files.list_by_state(tenant_id=tenant_id, state="pending", **page),
        [version.id for version in order],
    )


Make = Callable[[Ports, int], Awaitable[tuple[PageOf, list[str]]]]
LISTS: dict[str, Make] = {
    "conversations": _conversations,
    "conversations of a viewer": _viewed,
    "messages": _messages,
    "summaries": _summaries,
    "members": _members,
    **calls_catalog.LISTS,
    **calls_memory.LISTS,
    **calls_evaluations.LISTS,
    **calls_ledgers.LISTS,
}
OTHER_LISTS: dict[str, Make] = {
    "files": _files,
    "file versions": _file_versions,
    "file versions of a state": _pending_versions,
    **calls_frameworks.LISTS,
}
ALL_LISTS = {**LISTS, **OTHER_LISTS}


def _ids(rows: object) -> list[str]:
    return [row.id for row in rows]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(ALL_LISTS))
async def test_pages_hold_each_row_once_and_backward_is_the_reverse_b41(
    adapter: Adapter, name: str
) -> None:
    page_of, expected = await ALL_LISTS[name](adapter.store, 7)
    for limit in (1, 2, 3, 6, 7, 8, 500):
        forward = await walk(page_of, limit=limit, back=True)
        backward = await walk(page_of, limit=limit, direction="backward", back=True)
        assert _ids(forward) == expected, limit
        assert backward == forward[::-1], limit


@pytest.mark.parametrize(
    "name",
    sorted(set(LISTS) - {*calls_catalog.LISTS, *calls_evaluations.LISTS, *calls_ledgers.LISTS}),
)
async def test_ties_in_created_at_are_never_skipped_b41(adapter: Adapter, name: str) -> None:
    adapter.needs("transactions")
    # Rows of one transaction have the same created_at in PostgreSQL.
    kept: list[tuple[PageOf, list[str]]] = []
    tenant_id = await new_tenant(adapter.store)
    store = adapter.store
    async with store.unit_of_work(tenant_id=tenant_id) as uow:
        if name.startswith("conversations"):
            made = [
                await uow.conversations.create(
                    tenant_id=tenant_id, owner_id=OWNER, visibility="tenant"
                )
                for _ in range(7)
            ]
            made.sort(key=lambda talk: (talk.created_at, talk.id), reverse=True)
            viewer = Viewer(principal_id=OWNER) if "viewer" in name else None
            kept.append(
                (
                    lambda **page: store.conversations.list(
                        tenant_id=tenant_id, viewer=viewer, **page
                    ),
                    [talk.id for talk in made],
                )
            )
        elif name == "memories":
            whose = calls_memory.Whose(tenant_id=tenant_id, principal_id=OWNER)
            puts = [
                await uow.principal_memory.put(**whose, text=str(n), source="extracted")
                for n in range(7)
            ]
            facts = [put.fact for put in puts if put.fact]
            facts.sort(key=lambda fact: (fact.created_at, fact.id), reverse=True)
            kept.append(
                (
                    lambda **page: store.principal_memory.list(**whose, **page),
                    [fact.id for fact in facts],
                )
            )
        elif name == "members":
            members = [
                await uow.tenants.add_member(tenant_id=tenant_id, principal_id=f"p{number}")
                for number in range(7)
            ]
            kept.append(
                (
                    lambda **page: store.tenants.list_members(tenant_id=tenant_id, **page),
                    [one.id for one in members],
                )
            )
        else:
            talk = await uow.conversations.create(tenant_id=tenant_id, owner_id=OWNER)
            items = [(await say(uow, talk, str(number))).items[0] for number in range(7)]
            if name == "messages":
                kept.append(
                    (
                        lambda **page: store.messages.list(**at(talk), **page),
                        [item.id for item in items],
                    )
                )
            else:
                summaries = [
                    await uow.summaries.append(**at(talk), text=str(n), covers_to_position=1)
                    for n in range(7)
                ]
                kept.append(
                    (
                        lambda **page: store.summaries.list(**at(talk), **page),
                        [one.id for one in summaries],
                    )
                )
    page_of, expected = kept[0]
    forward = await walk(page_of, limit=2, back=True)
    assert _ids(forward) == expected
    assert await walk(page_of, limit=2, direction="backward", back=True) == forward[::-1]


async def test_a_cursor_belongs_to_its_list_filter_and_direction(adapter: Adapter) -> None:
    pages, others = [
        {name: (await ALL_LISTS[name](adapter.store, 5))[0] for name in sorted(ALL_LISTS)}
        for _ in range(2)
    ]
    for name, page_of in pages.items():
        cursor = (await page_of(limit=2)).next_cursor
        assert cursor is not None, name
        for other, page_of_other in others.items():
            if other != name or other in {"messages", "summaries", "file versions"}:
                for paging in ({"after": cursor}, {"before": cursor}):
                    with pytest.raises(InvalidCursor) as caught:
                        await page_of_other(**paging)
                    assert caught.value.detail["path"] == next(iter(paging)), (name, other)
        with pytest.raises(InvalidCursor):
            await page_of(after=cursor, direction="backward")
        with pytest.raises(InvalidArgument):
            await page_of(after=cursor, before=cursor)


async def test_a_cursor_belongs_to_its_filter(adapter: Adapter) -> None:
    page_of, _ = await LISTS["conversations"](adapter.store, 3)
    cursor = (await page_of(limit=1)).next_cursor
    for other in (
        {"owner_id": OWNER},
        {"viewer": Viewer(principal_id=OWNER)},
        {"archived": False},
        {"archived": True},
        {"deleted": True},
        {"external_ref": "x"},
    ):
        with pytest.raises(InvalidCursor):
            await page_of(after=cursor, **other)
    messages_of, _ = await LISTS["messages"](adapter.store, 3)
    cursor = (await messages_of(limit=1)).next_cursor
    with pytest.raises(InvalidCursor):
        await messages_of(after=cursor, after_position=1)


@pytest.mark.parametrize("name", sorted(ALL_LISTS))
async def test_a_damaged_cursor_is_refused(adapter: Adapter, name: str) -> None:
    page_of, _ = await ALL_LISTS[name](adapter.store, 3)
    cursor = (await page_of(limit=1)).next_cursor
    assert cursor is not None
    middle = len(cursor) // 2
    swapped = "A" if cursor[middle] != "A" else "B"
    damaged = [
        "",
        "x",
        "1",
        "0" + cursor[1:],
        cursor[:-4],
        cursor + "AAAA",
        cursor[:middle] + swapped + cursor[middle + 1 :],
        cursor[::-1],
        "1" * 10_000,
        "'; drop table messages; --",
        "ä€😀",
        "1====",
        "1gICAgA",
    ]
    for bad in damaged:
        for paging in ({"after": bad}, {"before": bad}):
            with pytest.raises(InvalidCursor) as caught:
                await page_of(**paging)
            assert caught.value.detail["path"] == next(iter(paging)), bad
    assert len((await page_of(after=cursor)).items) == 2


async def test_the_cursor_of_a_history_is_its_own(adapter: Adapter) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    await say(store, talk, "1", "2", "3")
    of_history = (await store.summaries.history(**at(talk), limit=1)).next_cursor
    of_list = (await store.messages.list(**at(talk), limit=1)).next_cursor
    with pytest.raises(InvalidCursor):
        await store.messages.list(**at(talk), after=of_history)
    with pytest.raises(InvalidCursor):
        await store.summaries.history(**at(talk), after=of_list)
    other = await new_talk(store, talk.tenant_id)
    with pytest.raises(InvalidCursor):
        await store.summaries.history(**at(other), after=of_history)
    for bad in ("", "x", "1" * 9000):
        with pytest.raises(InvalidCursor):
            await store.summaries.history(**at(talk), after=bad)


@pytest.mark.parametrize("name", sorted(ALL_LISTS))
async def test_a_cursor_survives_json_and_urls_b41_b55(adapter: Adapter, name: str) -> None:
    page_of, expected = await ALL_LISTS[name](adapter.store, 4)
    page = await page_of(limit=2)
    assert isinstance(page.next_cursor, str)
    assert page.next_cursor.isascii()
    assert all(character.isalnum() or character in "-_" for character in page.next_cursor)
    carried = json.loads(json.dumps(page.next_cursor))
    assert _ids((await page_of(after=carried)).items) == expected[2:]


@pytest.mark.parametrize("name", sorted(ALL_LISTS))
async def test_a_limit_is_refused_and_never_clamped(adapter: Adapter, name: str) -> None:
    page_of, expected = await ALL_LISTS[name](adapter.store, 2)
    for wrong, kind in ((0, InvalidArgument), (-1, InvalidArgument), (501, LimitExceeded)):
        with pytest.raises(kind) as caught:
            await page_of(limit=wrong)
        assert caught.value.detail["path"] == "limit"
    for wrong in ("5", 5.0, True, None):  # type: ignore[assignment]
        with pytest.raises(InvalidArgument):
            await page_of(limit=wrong)
    for wrong in ("sideways", None, "FORWARD"):  # type: ignore[assignment]
        with pytest.raises(InvalidArgument) as caught:
            await page_of(direction=wrong)
        assert caught.value.detail["path"] == "direction"
    assert _ids((await page_of(limit=500)).items) == expected


@quick
@given(
    limit=st.integers(min_value=1, max_value=4),
    backward=st.booleans(),
    changes=st.lists(st.sampled_from(["create", "delete", "update", "restore"]), max_size=12),
    data=st.data(),
)
async def test_pages_cover_what_was_there_throughout_whatever_changes(
    adapter: Adapter,
    limit: int,
    backward: bool,
    changes: list[str],
    data: st.DataObject,
) -> None:
    """Rows come and go and change between the pages; those that stay are shown exactly once."""
    store, tenant_id = adapter.store, await new_tenant(adapter.store)
    living = {talk.id: talk for talk in [await new_talk(store, tenant_id) for _ in range(6)]}
    deleted: dict[str, Conversation] = {}
    constant = set(living)
    seen: list[Conversation] = []
    direction = "backward" if backward else "forward"
    after = None
    while True:
        page = await store.conversations.list(
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            direction=direction,  # type: ignore[arg-type]
        )
        seen.extend(page.items)
        after = page.next_cursor
        if after is None:
            break
        for change in changes[:3]:
            if change == "create":
                talk = await new_talk(store, tenant_id)
                living[talk.id] = talk
            elif change == "restore" and deleted:
                chosen = data.draw(st.sampled_from(sorted(deleted)))
                living[chosen] = await store.conversations.restore(**at(deleted.pop(chosen)))
            elif living:
                chosen = data.draw(st.sampled_from(sorted(living)))
                if change == "delete":
                    constant.discard(chosen)
                    deleted[chosen] = await store.conversations.soft_delete(
                        **at(living.pop(chosen))
                    )
                else:
                    living[chosen] = await store.conversations.update(
                        **at(living[chosen]),
                        title="changed",
                        expected_version=living[chosen].version,
                    )
        changes = changes[3:]
    shown = [talk.id for talk in seen]
    assert len(shown) == len(set(shown)), "a row is shown twice"
    assert constant <= set(shown), "a row is skipped"
    order = [(talk.created_at, talk.id) for talk in seen]
    assert order == sorted(order, reverse=not backward)


@quick
@given(
    limit=st.integers(min_value=1, max_value=5),
    appends=st.lists(st.integers(min_value=0, max_value=3), max_size=10),
)
async def test_pages_of_messages_under_appends(
    adapter: Adapter, limit: int, appends: list[int]
) -> None:
    store, talk = adapter.store, await new_talk(adapter.store)
    total = 5
    await say(store, talk, *(str(number) for number in range(total)))
    seen: list[str] = []
    after = None
    while True:
        page = await store.messages.list(**at(talk), limit=limit, after=after)
        seen.extend(texts_of(page.items))
        after = page.next_cursor
        if after is None:
            break
        if appends and (size := appends.pop(0)):
            await say(store, talk, *(str(total + number) for number in range(size)))
            total += size
    assert seen == [str(number) for number in range(total)]
