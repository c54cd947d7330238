"""LlamaIndex: its ``BaseChatStore``, kept in strongroom. Extra: ``llama-index``."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.storage.chat_store import BaseChatStore
from pydantic import PrivateAttr

from strongroom.client import Ports
from strongroom.ids import new_id
from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.integrations.pages import PAGE, all_records, all_sessions
from strongroom.integrations.plain import plain
from strongroom.models.base import JsonValue
from strongroom.models.frameworks import FrameworkRecord, NewFrameworkRecord

FRAMEWORK = "llama_index"


class StrongroomChatStore(BaseChatStore):
    """Chat histories by key: ``ChatMemoryBuffer.from_defaults(chat_store=..., chat_store_key=...)``.

    ``set_messages`` replaces a history in one transaction. Where the new one begins with the old one, only
    what is new is added; else the old one is deleted for good, and the audit has that.

    Args:
        store: an open store. The blocking methods need one from ``connect_in_thread``.
        tenant_id: whose data it is.
        principal_id: the person whose histories they are; erasing them deletes the histories.
            Another person's history is refused (AlreadyExists), and its key not listed.
    """

    _bridge: Bridge = PrivateAttr()
    _tenant_id: str = PrivateAttr()
    _principal_id: str | None = PrivateAttr()

    def __init__(self, store: AnyStore, *, tenant_id: str, principal_id: str | None = None) -> None:
        """See the class."""
        super().__init__()
        self._bridge = Bridge(store)
        self._tenant_id = tenant_id
        self._principal_id = principal_id

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex serializes."""
        return "StrongroomChatStore"

    async def aset_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Make these the messages of a key."""
        await self._bridge.run(self._set(key, messages))

    async def _set(self, key: str, messages: list[ChatMessage]) -> None:
        wanted = [_json(message) for message in messages]
        async with self._bridge.store.unit_of_work(tenant_id=self._tenant_id) as uow:
            known = [record.content for record in await self._records(uow, key)]
            if wanted[: len(known)] == known:
                await self._append(uow, key, wanted[len(known) :])
                return
            while await uow.frameworks.delete(**self._at(key), last=PAGE):
                pass
            await self._append(uow, key, wanted)

    async def aget_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of a key in order."""
        found = await self._bridge.run(self._records(self._bridge.store, key))
        return [_message(record) for record in found]

    async def async_add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message to a key."""
        await self._bridge.run(self._append(self._bridge.store, key, [_json(message)]))

    async def adelete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete the messages of a key for good; return them, None when there are none."""
        return await self._bridge.run(self._delete(key))

    async def _delete(self, key: str) -> list[ChatMessage] | None:
        gone: list[FrameworkRecord] = []
        async with self._bridge.store.unit_of_work(tenant_id=self._tenant_id) as uow:
            while some := await uow.frameworks.delete(**self._at(key), last=PAGE):
                gone[:0] = some
            await uow.frameworks.delete_sessions(**self._at(key), exact=True)
        return [_message(record) for record in gone] or None

    async def adelete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete one message for good, by its place; return it, None when there is none."""
        return await self._bridge.run(self._delete_at(key, idx))

    async def _delete_at(self, key: str, idx: int) -> ChatMessage | None:
        async with self._bridge.store.unit_of_work(tenant_id=self._tenant_id) as uow:
            known = await self._records(uow, key)
            if not -len(known) <= idx < len(known):
                return None
            (gone,) = await uow.frameworks.delete(**self._at(key), keys=[known[idx].key])
        return _message(gone)

    async def adelete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the newest message for good; return it, None when there is none."""
        gone = await self._bridge.run(self._bridge.store.frameworks.delete(**self._at(key), last=1))
        return _message(gone[0]) if gone else None

    async def aget_keys(self) -> list[str]:
        """Return the keys that have messages."""
        found = await self._bridge.run(
            all_sessions(
                self._bridge.store,
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=[],
                collection="items",
                principal_id=self._principal_id,
            )
        )
        return [session.path[0] for session in found]

    def _at(self, key: str) -> dict[str, Any]:
        return {
            "tenant_id": self._tenant_id,
            "framework": FRAMEWORK,
            "path": [key],
            "principal_id": self._principal_id,
        }

    async def _records(self, store: Ports, key: str) -> list[FrameworkRecord]:
        return await all_records(store, **self._at(key))

    async def _append(self, store: Ports, key: str, contents: list[JsonValue]) -> None:
        for start in range(0, len(contents), PAGE):
            await store.frameworks.append(
                **self._at(key),
                records=[
                    NewFrameworkRecord(key=new_id(), content=content)
                    for content in contents[start : start + PAGE]
                ],
            )

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """See ``aset_messages``."""
        self._bridge.block(self.aset_messages(key, messages))

    def get_messages(self, key: str) -> list[ChatMessage]:
        """See ``aget_messages``."""
        return self._bridge.block(self.aget_messages(key))

    def add_message(self, key: str, message: ChatMessage) -> None:
        """See ``async_add_message``."""
        self._bridge.block(self.async_add_message(key, message))

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """See ``adelete_messages``."""
        return self._bridge.block(self.adelete_messages(key))

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """See ``adelete_message``."""
        return self._bridge.block(self.adelete_message(key, idx))

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """See ``adelete_last_message``."""
        return self._bridge.block(self.adelete_last_message(key))

    def get_keys(self) -> list[str]:
        """See ``aget_keys``."""
        return self._bridge.block(self.aget_keys())


def _json(message: ChatMessage) -> JsonValue:
    return plain(
        message, "message", lambda given: given.model_dump(mode="json"), bytes_mode="base64"
    )


def _message(record: FrameworkRecord) -> ChatMessage:
    return ChatMessage.model_validate(record.content)
