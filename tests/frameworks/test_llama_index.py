"""LlamaIndex's chat store: order, replacing, deleting, and who may."""

import asyncio

import pytest
from examples.llama_index import program
from llama_index.core.llms import ChatMessage

from strongroom.client import Strongroom
from strongroom.conformance.helpers import new_tenant
from strongroom.errors import AlreadyExists, InvalidText
from strongroom.integrations.bridge import ThreadedStore
from strongroom.integrations.llama_index import StrongroomChatStore
from tests.servers import Database


def _said(*texts: str) -> list[ChatMessage]:
    return [ChatMessage(role="user", content=text) for text in texts]


def _texts(messages: list[ChatMessage] | None) -> list[str | None]:
    return [message.content for message in messages or []]


@pytest.fixture
def chats(store: Strongroom, tenant_id: str) -> StrongroomChatStore:
    return StrongroomChatStore(store, tenant_id=tenant_id, principal_id="ada")


async def test_a_history_grows_and_is_replaced_b01(
    chats: StrongroomChatStore, store: Strongroom, tenant_id: str
) -> None:
    assert await chats.aget_messages("k") == []
    await chats.aset_messages("k", _said("1", "👩‍👩‍👧"))
    await chats.async_add_message("k", _said("3")[0])
    await chats.aset_messages("k", _said("1", "👩‍👩‍👧", "3", "4"))
    assert await chats.aget_messages("k") == _said("1", "👩‍👩‍👧", "3", "4")
    page = await store.frameworks.list(tenant_id=tenant_id, framework="llama_index", path=["k"])
    assert [record.position for record in page.items] == [1, 2, 3, 4], "only the tail was written"
    await chats.aset_messages("k", _said("2"))
    assert _texts(await chats.aget_messages("k")) == ["2"]
    long = _said(*map(str, range(1203)))
    await chats.aset_messages("k", long)
    assert await chats.aget_messages("k") == long
    with pytest.raises(InvalidText):
        await chats.aset_messages("k", _said("fine", "a\0b"))
    with pytest.raises(InvalidText):
        await chats.async_add_message("k", _said("\ud83d")[0])
    assert await chats.aget_messages("k") == long, "nothing of the new history, all of the old"


async def test_messages_are_deleted_for_good(chats: StrongroomChatStore) -> None:
    await chats.aset_messages("k", _said("0", "1", "2", "3"))
    assert _texts([await chats.adelete_message("k", 1) or ChatMessage()]) == ["1"]
    assert await chats.adelete_message("k", 9) is None
    assert _texts([await chats.adelete_last_message("k") or ChatMessage()]) == ["3"]
    assert _texts(await chats.aget_messages("k")) == ["0", "2"]
    assert await chats.aget_keys() == ["k"]
    assert _texts(await chats.adelete_messages("k")) == ["0", "2"]
    assert await chats.adelete_messages("k") is None
    assert await chats.adelete_last_message("k") is None
    assert await chats.aget_keys() == []


async def test_many_add_at_once_b03(chats: StrongroomChatStore) -> None:
    await asyncio.gather(*(chats.async_add_message("k", _said(str(n))[0]) for n in range(30)))
    assert sorted(_texts(await chats.aget_messages("k")), key=lambda t: int(t or 0)) == [
        str(n) for n in range(30)
    ]


async def test_a_history_is_its_tenants_and_its_principals(
    chats: StrongroomChatStore, store: Strongroom, tenant_id: str
) -> None:
    await chats.aset_messages("k", _said("secret"))
    other = StrongroomChatStore(store, tenant_id=await new_tenant(store))
    assert await other.aget_messages("k") == []
    assert await other.adelete_messages("k") is None
    with pytest.raises(AlreadyExists):
        await StrongroomChatStore(store, tenant_id=tenant_id, principal_id="eve").async_add_message(
            "k", _said("mine")[0]
        )
    assert _texts(await chats.aget_messages("k")) == ["secret"]
    await store.lifecycle.erase_principal(tenant_id=tenant_id, principal_id="ada")
    assert await chats.aget_messages("k") == []


def test_blocking_use_from_a_thread(threaded: ThreadedStore, thread_tenant: str) -> None:
    chats = StrongroomChatStore(threaded, tenant_id=thread_tenant)
    chats.set_messages("k", _said("1"))
    chats.add_message("k", _said("2")[0])
    assert _texts(chats.get_messages("k")) == ["1", "2"]
    assert chats.get_keys() == ["k"]
    assert _texts([chats.delete_last_message("k") or ChatMessage()]) == ["2"]
    assert _texts([chats.delete_message("k", 0) or ChatMessage()]) == ["1"]
    assert chats.delete_messages("k") is None


async def test_the_example_runs(place: Database, capsys: pytest.CaptureFixture[str]) -> None:
    await program.main(place.host_url, "llama-example")
    assert capsys.readouterr().out.splitlines() == [
        "[1 questions so far] It is in Porto.",
        "[2 questions so far] It is in Porto.",
        "user, assistant, user, assistant",
    ]
