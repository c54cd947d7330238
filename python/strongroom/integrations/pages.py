"""Reading all that there is, page by page."""

from __future__ import annotations

from collections.abc import Sequence

from strongroom.client import Ports
from strongroom.models.frameworks import (
    FoundFrameworkRecord,
    FrameworkCondition,
    FrameworkRecord,
    FrameworkSession,
)

PAGE = 500
PAGE_OF_VALUES = 100


async def all_records(
    store: Ports,
    *,
    tenant_id: str,
    framework: str,
    path: list[str],
    collection: str = "items",
    principal_id: str | None = None,
) -> list[FrameworkRecord]:
    """Return every appended record of a session, in order."""
    found: list[FrameworkRecord] = []
    cursor = None
    while True:
        page = await store.frameworks.list(
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            collection=collection,
            limit=PAGE,
            after=cursor,
            principal_id=principal_id,
        )
        found.extend(page.items)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def all_values(
    store: Ports,
    *,
    tenant_id: str,
    framework: str,
    path: list[str],
    collection: str,
    filter: Sequence[FrameworkCondition] = (),
    principal_id: str | None = None,
) -> list[FoundFrameworkRecord]:
    """Return every keyed record of a session that passes a filter, by key.

    Raises:
        AlreadyExists: SR011, the session is another principal's.
    """
    found: list[FoundFrameworkRecord] = []
    after = None
    while True:
        page = await store.frameworks.search(
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            collection=collection,
            filter=filter,
            key_prefix="",
            after_key=after,
            limit=PAGE_OF_VALUES,
            principal_id=principal_id,
        )
        mine = [record for record in page if [*record.path] == path]
        found.extend(mine)
        if len(mine) < PAGE_OF_VALUES:
            if not found and principal_id is not None:
                # A search leaves out what is another's; here the session is named.
                await store.frameworks.find_session(
                    tenant_id=tenant_id, framework=framework, path=path, principal_id=principal_id
                )
            return found
        after = mine[-1].key


async def all_sessions(
    store: Ports,
    *,
    tenant_id: str,
    framework: str,
    path: list[str],
    collection: str | None = None,
    principal_id: str | None = None,
) -> list[FrameworkSession]:
    """Return every session at and below a path, by path; with a principal only theirs."""
    found: list[FrameworkSession] = []
    cursor = None
    while True:
        page = await store.frameworks.list_sessions(
            tenant_id=tenant_id,
            framework=framework,
            path=path,
            limit=PAGE,
            after=cursor,
            collection=collection,
            principal_id=principal_id,
        )
        found.extend(page.items)
        cursor = page.next_cursor
        if cursor is None:
            return found
