"""The OpenAI Agents SDK: its ``Session``, kept in strongroom. Extra: ``openai-agents``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from agents.memory import SessionABC, SessionSettings
from agents.memory.session_settings import resolve_session_limit

from strongroom.errors import InvalidArgument
from strongroom.ids import new_id
from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.models.base import JsonObject
from strongroom.models.frameworks import FrameworkRecord, NewFrameworkRecord

if TYPE_CHECKING:
    from agents import TResponseInputItem

FRAMEWORK = "openai_agents"
PAGE = 500
_KEY_CHARACTERS = 255
NOT_AN_ID = "__fake_id__"
"""What the SDK writes where a provider gives no ids."""


class StrongroomSession(SessionABC):
    """The items of one conversation, for ``Runner.run(..., session=...)``.

    Items come back as they were added, in the order in which they were added, also when several
    processes add at once. An item that has an id is added once: adding it again is harmless, adding
    another with its id is refused, and then nothing of the batch is there. An item without an id is
    known by the nearest item of its batch that has one, so that a batch can be repeated; in a batch
    without any id equal items are different items.

    ``pop_item`` and ``clear_session`` delete for good. The audit keeps that it happened, and the
    positions, not the content.

    Args:
        store: an open store, or one from ``connect_in_thread``.
        tenant_id: whose data it is.
        session_id: the conversation's name, unique in the tenant.
        principal_id: the person whose conversation it is; erasing them deletes it. Another person's
            session is refused.
        session_settings: the SDK's own: how many items a run loads.
    """

    def __init__(
        self,
        store: AnyStore,
        *,
        tenant_id: str,
        session_id: str,
        principal_id: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        """See the class."""
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._bridge = Bridge(store)
        self._frameworks = self._bridge.store.frameworks
        self._tenant_id = tenant_id
        self._principal_id = principal_id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items in order; the newest ``limit`` of them when one is given.

        Raises:
            AlreadyExists: SR011, the session is another person's.
        """
        wanted = resolve_session_limit(limit, self.session_settings)
        return [cast("TResponseInputItem", one.content) for one in await self._read(wanted)]

    async def _read(self, wanted: int | None) -> list[FrameworkRecord]:
        found: list[FrameworkRecord] = []
        cursor: str | None = None
        while wanted is None or len(found) < wanted:
            page = await self._bridge.run(
                self._frameworks.list(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    path=[self.session_id],
                    limit=PAGE if wanted is None else min(PAGE, wanted - len(found)),
                    direction="forward" if wanted is None else "backward",
                    after=cursor,
                    principal_id=self._principal_id,
                )
            )
            found.extend(page.items)
            cursor = page.next_cursor
            if cursor is None:
                break
        return found if wanted is None else found[::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, all or none.

        Raises:
            AlreadyExists: SR011, an item has the id of another one, or the session is another person's.
            InvalidText: SR003, an item holds text that PostgreSQL cannot store.
            InvalidArgument: SR001, an item is not JSON.
        """
        records = _records([_item(item, place) for place, item in enumerate(items)])
        if len(records) <= PAGE:
            if records:
                await self._bridge.run(self._append(records))
            return
        await self._bridge.run(self._append_many(records))

    async def _append(self, records: list[NewFrameworkRecord]) -> None:
        await self._frameworks.append(
            tenant_id=self._tenant_id,
            framework=FRAMEWORK,
            path=[self.session_id],
            records=records,
            principal_id=self._principal_id,
            refuse_conflicts=True,
        )

    async def _append_many(self, records: list[NewFrameworkRecord]) -> None:
        async with self._bridge.store.unit_of_work(tenant_id=self._tenant_id) as uow:
            for start in range(0, len(records), PAGE):
                await uow.frameworks.append(
                    tenant_id=self._tenant_id,
                    framework=FRAMEWORK,
                    path=[self.session_id],
                    records=records[start : start + PAGE],
                    principal_id=self._principal_id,
                    refuse_conflicts=True,
                )

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item back, for good; return it, None when there is none.

        Raises:
            AlreadyExists: SR011, the session is another person's.
        """
        gone = await self._bridge.run(
            self._frameworks.delete(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=[self.session_id],
                last=1,
                principal_id=self._principal_id,
            )
        )
        return cast("TResponseInputItem", gone[0].content) if gone else None

    async def clear_session(self) -> None:
        """Delete the session with all its items, for good.

        Raises:
            AlreadyExists: SR011, the session is another person's.
        """
        await self._bridge.run(
            self._frameworks.delete_sessions(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=[self.session_id],
                exact=True,
                principal_id=self._principal_id,
            )
        )


def _item(item: object, place: int) -> JsonObject:
    if not isinstance(item, Mapping):
        raise InvalidArgument(
            f"items[{place}] is of type {type(item).__name__}, and no item of the SDK",
            detail={"path": f"items[{place}]"},
            hint="Give items as the SDK does: dicts, such as those of result.to_input_list().",
        )
    return cast("JsonObject", dict(item))


def _own_id(item: JsonObject) -> str | None:
    own = item.get("id")
    return own if isinstance(own, str) and own not in {"", NOT_AN_ID} else None


def _records(items: list[JsonObject]) -> list[NewFrameworkRecord]:
    """Give every item of a batch the key that a repeat of the batch gives it, too."""
    ids = [_own_id(item) for item in items]
    anchors = [place for place, own in enumerate(ids) if own is not None]
    records = []
    for place, (item, own) in enumerate(zip(items, ids, strict=True)):
        if own is not None:
            key = own
        elif anchors:
            anchor = max((a for a in anchors if a < place), default=anchors[0])
            key = f"{ids[anchor]}{place - anchor:+d}"
        else:
            key = new_id()
        records.append(NewFrameworkRecord(key=_short(key), content=item))
    return records


def _short(key: str) -> str:
    """Some providers' ids are longer than a key may be."""
    if len(key) <= _KEY_CHARACTERS:
        return key
    return "sha256:" + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
