"""The Claude Agent SDK: its ``SessionStore``, kept in strongroom. Extra: ``claude-agent``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import SessionStore

from strongroom.ids import new_id
from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.integrations.pages import PAGE, all_records, all_sessions
from strongroom.models.base import JsonObject, JsonValue
from strongroom.models.frameworks import FrameworkSession, NewFrameworkRecord

if TYPE_CHECKING:
    from claude_agent_sdk.types import (
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
        SessionSummaryEntry,
    )

FRAMEWORK = "claude_agent"


class StrongroomSessionStore(SessionStore):
    """Transcripts of the Claude Agent SDK: ``ClaudeAgentOptions(session_store=...)``.

    Entries come back in the order in which they were appended. An entry with a ``uuid`` is there once,
    however often it is mirrored; the first stays. Summaries are folded in the transaction that
    appends, so they never lag behind. ``delete`` deletes for good; the audit has that it happened.

    Args:
        store: an open store.
        tenant_id: whose data it is.
        principal_id: the person whose sessions they are; erasing them deletes the sessions. Another
            person's session is refused (AlreadyExists), and not listed.
    """

    def __init__(self, store: AnyStore, *, tenant_id: str, principal_id: str | None = None) -> None:
        """See the class."""
        self._bridge = Bridge(store)
        self._store = self._bridge.store
        self._tenant_id = tenant_id
        self._principal_id = principal_id

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Append entries, all or none.

        Raises:
            AlreadyExists: SR011, the session is another person's.
            InvalidText: SR003, an entry holds text that PostgreSQL cannot store.
        """
        if entries:
            await self._bridge.run(self._append(key, entries))

    async def _append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        at: dict[str, Any] = {
            "tenant_id": self._tenant_id,
            "framework": FRAMEWORK,
            "path": _path(key),
        }
        records = [
            NewFrameworkRecord(
                key=str(entry.get("uuid") or new_id()), content=cast("JsonObject", dict(entry))
            )
            for entry in entries
        ]
        async with self._store.unit_of_work(tenant_id=self._tenant_id) as uow:
            outcomes: list[str] = []
            for start in range(0, len(records), PAGE):
                done = await uow.frameworks.append(
                    **at, records=records[start : start + PAGE], principal_id=self._principal_id
                )
                outcomes.extend(one.outcome for one in done)
            new = [e for e, outcome in zip(entries, outcomes, strict=True) if outcome == "inserted"]
            if new and not key.get("subpath"):
                # The append holds the session's row: nobody folds at the same time.
                session = await uow.frameworks.find_session(**at)
                assert session is not None  # noqa: S101 (appended to above)
                known = _summary(session) if session.state else None
                folded = fold_session_summary(known, key, new)
                await uow.frameworks.put_session(
                    **at,
                    state={"data": cast("JsonValue", folded["data"])},
                    expected_version=session.version,
                )

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries of a transcript in order; None when there are none."""
        records = await self._bridge.run(
            all_records(
                self._store,
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=_path(key),
                principal_id=self._principal_id,
            )
        )
        return [cast("SessionStoreEntry", record.content) for record in records] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, with when they last changed."""
        return [
            {"session_id": session.path[1], "mtime": _mtime(session)}
            for session in await self._sessions([project_key])
            if len(session.path) == 2  # noqa: PLR2004 (project and session)
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return what the SDK folds of every session of a project."""
        return [
            _summary(session)
            for session in await self._sessions([project_key])
            if len(session.path) == 2 and session.state  # noqa: PLR2004 (project and session)
        ]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session: the transcripts of its subagents."""
        return [
            "/".join(session.path[2:])
            for session in await self._sessions([key["project_key"], key["session_id"]])
            if len(session.path) > 2  # noqa: PLR2004 (below project and session)
        ]

    async def delete(self, key: SessionKey) -> None:
        """Delete a transcript for good; the main one with those of its subagents."""
        await self._bridge.run(
            self._store.frameworks.delete_sessions(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=_path(key),
                exact=bool(key.get("subpath")),
                principal_id=self._principal_id,
            )
        )

    async def _sessions(self, path: list[str]) -> list[FrameworkSession]:
        return await self._bridge.run(
            all_sessions(
                self._store,
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=path,
                principal_id=self._principal_id,
            )
        )


def _path(key: SessionKey) -> list[str]:
    subpath = key.get("subpath")
    return [key["project_key"], key["session_id"], *(subpath.split("/") if subpath else [])]


def _mtime(session: FrameworkSession) -> int:
    return int(session.updated_at.timestamp() * 1000)


def _summary(session: FrameworkSession) -> SessionSummaryEntry:
    return {
        "session_id": session.path[1],
        "mtime": _mtime(session),
        "data": cast("dict[str, Any]", session.state["data"]),
    }
