"""Short names for what every test of the suite does."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypedDict

from strongroom.client import Ports
from strongroom.errors import StrongroomError
from strongroom.models import (
    AppendResult,
    Conversation,
    Message,
    NewMessage,
    Page,
    PurgeReceipt,
    TextPart,
)

PageOf = Callable[..., Awaitable[Page[Any]]]

OWNER = "ada"
PARTICIPANT = "bob"
STRANGER = "eve"


class Where(TypedDict):
    """A conversation's place, for calls: ``await store.messages.count(**at(talk))``."""

    tenant_id: str
    conversation_id: str


def at(talk: Conversation) -> Where:
    """Return the conversation's place."""
    return Where(tenant_id=talk.tenant_id, conversation_id=talk.id)


def fresh(prefix: str = "t") -> str:
    """Return an id that nobody has used."""
    return f"{prefix}-{uuid.uuid4().hex}"


async def new_tenant(store: Ports) -> str:
    """Create a tenant and return its id."""
    tenant_id = fresh("tenant")
    await store.tenants.create(tenant_id=tenant_id, name="Conformance")
    return tenant_id


async def new_talk(store: Ports, tenant_id: str | None = None) -> Conversation:
    """Create a conversation of the owner, in a tenant of its own unless one is given."""
    tenant_id = tenant_id or await new_tenant(store)
    return await store.conversations.create(tenant_id=tenant_id, owner_id=OWNER)


def said(text: str, **fields: Any) -> NewMessage:
    """Return a user's message of one text."""
    return NewMessage(**{"role": "user", "parts": (TextPart(text=text),), **fields})


async def say(store: Ports, talk: Conversation, *texts: str) -> AppendResult:
    """Append one message for each text."""
    return await store.messages.append(**at(talk), messages=[said(text) for text in texts])


def texts_of(messages: Sequence[Message]) -> list[str]:
    """Return the text of each message's first part."""
    return [str(message.parts[0].to_json()["text"]) for message in messages]


async def all_messages(store: Ports, talk: Conversation) -> list[Message]:
    """Return every message, oldest first."""
    return await walk(
        lambda **page: store.messages.list(**at(talk), **page),
        limit=500,
    )


async def walk(
    page_of: PageOf, *, limit: int, direction: str = "forward", back: bool = False
) -> list[Any]:
    """Follow a list's cursors from one end to the other and return all rows.

    Args:
        page_of: calls the list with the paging arguments that it gets.
        limit: rows a page.
        direction: as the port has it.
        back: having reached the end, walk back with ``before`` and check that the same pages come.
    """
    pages = [await page_of(limit=limit, direction=direction)]
    assert pages[0].previous_cursor is None, "the first page has a page before it"
    while (after := pages[-1].next_cursor) is not None:
        page = await page_of(limit=limit, direction=direction, after=after)
        assert page.items, "a page that follows a next_cursor is empty"
        assert page.previous_cursor is not None, "a following page has no way back"
        pages.append(page)
        assert len(pages) < 10_000, "the pages never end"
    assert all(len(page.items) == limit for page in pages[:-1]), "a page in the middle is short"
    if back:
        for earlier, page in zip(reversed(pages[:-1]), reversed(pages[1:]), strict=True):
            again = await page_of(limit=limit, direction=direction, before=page.previous_cursor)
            assert again.items == earlier.items, "the way back shows other rows"
            assert again.next_cursor is not None, "the way back has no way forth"
            assert (again.previous_cursor is None) == (earlier is pages[0])
    return [item for page in pages for item in page.items]


async def result_of(call: Awaitable[object]) -> object:
    """Return what a call gives a caller to see: its value, or all of its error."""
    try:
        return await call
    except StrongroomError as error:
        return (type(error), error.message, error.detail, error.hint, error.retryable)


def records_in(receipt: PurgeReceipt) -> dict[str, int]:
    """Return what a purge took, without the rows that tell Realtime of changes where it is there."""
    return {
        table: count for table, count in receipt.tables.items() if table != "conversation_changes"
    }
