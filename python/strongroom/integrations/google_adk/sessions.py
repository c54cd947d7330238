"""ADK's ``BaseSessionService``."""

from __future__ import annotations

import json
from typing import Any, cast

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import (
    BaseSessionService,
    GetSessionConfig,
    ListSessionsResponse,
)
from google.adk.sessions.session import Session
from google.adk.sessions.state import State

from strongroom.client import Ports
from strongroom.errors import NotFound, VersionConflict
from strongroom.ids import new_id
from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.integrations.pages import PAGE, all_records, all_sessions
from strongroom.integrations.plain import plain
from strongroom.models.base import JsonObject
from strongroom.models.frameworks import FrameworkRecord, FrameworkSession, NewFrameworkRecord

FRAMEWORK = "google_adk"
TRIES = 20
SESSION_DEPTH = 3


class StrongroomSessionService(BaseSessionService):
    """Sessions of ADK: ``Runner(..., session_service=StrongroomSessionService(store, tenant_id="acme"))``.

    The user of a session is the principal whose it is: erasing them deletes their sessions, events and state.
    An event and the state that it changes are one transaction. State is merged key by key on top of what
    is stored, so two writers lose nothing of each other. ``temp:`` state is never stored.

    Args:
        store: an open store, or one from ``connect_in_thread``.
        tenant_id: whose data it is. No app, user or session id leads out of it.
    """

    def __init__(self, store: AnyStore, *, tenant_id: str) -> None:
        """See the class."""
        self._bridge = Bridge(store)
        self._store = self._bridge.store
        self._tenant_id = tenant_id

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session; one that is there raises ADK's AlreadyExistsError."""
        given = (session_id or "").strip() or new_id()
        deltas = _deltas(state or {})

        async def create(uow: Ports) -> None:
            known = await uow.frameworks.find_session(**self._at(app_name, user_id, given))
            if known is not None:
                raise AlreadyExistsError(f"Session with id {given} already exists.")
            await self._merge(uow, [app_name], None, deltas["app"])
            await self._merge(uow, [app_name, user_id], user_id, deltas["user"])
            await uow.frameworks.put_session(
                **self._at(app_name, user_id, given),
                state=deltas["session"],
                expected_version=0,
                principal_id=user_id,
            )

        await self._bridge.run(self._in_unit(create))
        made = await self.get_session(app_name=app_name, user_id=user_id, session_id=given)
        assert made is not None  # noqa: S101 (created above)
        return made

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a session with its events, or the newest of them; None when there is none."""
        return await self._bridge.run(
            self._get(app_name, user_id, session_id.strip(), config or GetSessionConfig())
        )

    async def _get(
        self, app_name: str, user_id: str, session_id: str, config: GetSessionConfig
    ) -> Session | None:
        at = self._at(app_name, user_id, session_id)
        found = await self._store.frameworks.find_session(**at)
        if found is None:
            return None
        recent = config.num_recent_events
        if recent is not None and recent <= PAGE:
            records: list[FrameworkRecord] = []
            if recent:
                page = await self._store.frameworks.list(**at, limit=recent, direction="backward")
                records = [*page.items][::-1]
        else:
            records = await all_records(self._store, **at)
            records = records if recent is None else records[-recent:]
        events = [_event(record) for record in records]
        if config.after_timestamp is not None:
            events = [event for event in events if event.timestamp >= config.after_timestamp]
        return _session(found, await self._shared(app_name, user_id), events)

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        """Return the sessions of an app, or of one user, without events; the latest last."""
        return await self._bridge.run(self._list(app_name, user_id))

    async def _list(self, app_name: str, user_id: str | None) -> ListSessionsResponse:
        path = [app_name] if user_id is None else [app_name, user_id]
        found = await all_sessions(
            self._store, tenant_id=self._tenant_id, framework=FRAMEWORK, path=path
        )
        shared = {session.path: session.state for session in found}
        app = await self._find_state([app_name])
        sessions = [
            _session(session, {**_prefixed(State.APP_PREFIX, app), **_of_user(shared, session)}, [])
            for session in found
            if len(session.path) == SESSION_DEPTH
        ]
        sessions.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session with its events, for good; the app's and the user's state stay."""
        await self._bridge.run(
            self._store.frameworks.delete_sessions(
                **self._at(app_name, user_id, session_id.strip()), exact=True
            )
        )

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return what is kept for a user of an app, without the prefix of its keys."""
        return dict(await self._bridge.run(self._find_state([app_name, user_id])))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event and merge the state that it changes, in one transaction.

        A repeat of an event with the same id changes nothing.

        Raises:
            NotFound: SR010, the session does not exist, or was deleted.
            InvalidArgument: SR001, the event or its state holds what is not JSON; the path leads to it.
            AlreadyExists: SR011, another event has this id.
            InvalidText: SR003, text that PostgreSQL cannot store.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        deltas = _deltas(event.actions.state_delta if event.actions else {})
        content = plain(
            event,
            "event",
            lambda given: given.model_dump(exclude_none=True, mode="json"),
            bytes_mode="base64",
        )
        record = NewFrameworkRecord(key=event.id, content=content)
        at = self._at(session.app_name, session.user_id, session.id)

        async def write(uow: Ports) -> FrameworkSession:
            if await uow.frameworks.find_session(**at) is None:
                raise NotFound(
                    "the session does not exist",
                    detail={"path": "session", "record": "framework session"},
                    hint="Create it first; it may have been deleted.",
                )
            (done,) = await uow.frameworks.append(
                **at, records=[record], principal_id=session.user_id, refuse_conflicts=True
            )
            if done.outcome == "inserted":
                await self._merge(uow, [session.app_name], None, deltas["app"])
                user = [session.app_name, session.user_id]
                await self._merge(uow, user, session.user_id, deltas["user"])
                await self._merge(uow, at["path"], session.user_id, deltas["session"])
            found = await uow.frameworks.find_session(**at)
            assert found is not None  # noqa: S101 (appended to above)
            return found

        stored = await self._bridge.run(self._in_unit(write))
        committed = self._commit_event_to_session(session, event)
        session.last_update_time = stored.updated_at.timestamp()
        return committed

    async def _in_unit(self, work: Any) -> Any:
        """Do it in one transaction; anew when another writer changed the same state meanwhile."""
        for last in (*[False] * (TRIES - 1), True):
            try:
                async with self._store.unit_of_work(tenant_id=self._tenant_id) as uow:
                    return await work(uow)
            except VersionConflict:
                if last:
                    raise
        return None

    async def _merge(
        self, uow: Ports, path: list[str], principal_id: str | None, delta: JsonObject
    ) -> None:
        if not delta:
            return
        at: dict[str, Any] = {
            "tenant_id": self._tenant_id,
            "framework": FRAMEWORK,
            "path": path,
        }
        known = await uow.frameworks.find_session(**at)
        await uow.frameworks.put_session(
            **at,
            state={**(known.state if known else {}), **delta},
            expected_version=known.version if known else 0,
            principal_id=principal_id,
        )

    async def _find_state(self, path: list[str]) -> JsonObject:
        found = await self._store.frameworks.find_session(
            tenant_id=self._tenant_id, framework=FRAMEWORK, path=path
        )
        return found.state if found else {}

    async def _shared(self, app_name: str, user_id: str) -> dict[str, Any]:
        return {
            **_prefixed(State.APP_PREFIX, await self._find_state([app_name])),
            **_prefixed(State.USER_PREFIX, await self._find_state([app_name, user_id])),
        }

    def _at(self, app_name: str, user_id: str, session_id: str) -> dict[str, Any]:
        return {
            "tenant_id": self._tenant_id,
            "framework": FRAMEWORK,
            "path": [app_name, user_id, session_id],
        }


def _prefixed(prefix: str, state: JsonObject) -> dict[str, Any]:
    return {f"{prefix}{key}": value for key, value in state.items()}


def _of_user(
    states: dict[tuple[str, ...], JsonObject], session: FrameworkSession
) -> dict[str, Any]:
    return _prefixed(State.USER_PREFIX, states.get(session.path[:2], {}))


def _deltas(state: dict[str, Any]) -> dict[str, JsonObject]:
    """Split a change of state by what it is about; temporary state is left out."""
    found: dict[str, JsonObject] = {"app": {}, "user": {}, "session": {}}
    for key, value in cast("JsonObject", plain(state, "state")).items():
        if key.startswith(State.APP_PREFIX):
            found["app"][key.removeprefix(State.APP_PREFIX)] = value
        elif key.startswith(State.USER_PREFIX):
            found["user"][key.removeprefix(State.USER_PREFIX)] = value
        elif not key.startswith(State.TEMP_PREFIX):
            found["session"][key] = value
    return found


def _event(record: FrameworkRecord) -> Event:
    # From JSON, since bytes are base64 there and nothing else in Python.
    return Event.model_validate_json(json.dumps(record.content))


def _session(found: FrameworkSession, shared: dict[str, Any], events: list[Event]) -> Session:
    return Session(
        app_name=found.path[0],
        user_id=found.path[1],
        id=found.path[2],
        state={**found.state, **shared},
        events=events,
        last_update_time=found.updated_at.timestamp(),
    )
