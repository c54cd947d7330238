"""Strands Agents: its ``SessionRepository``, kept in strongroom. Extra: ``strands``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from strands.session.session_repository import SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from strongroom.integrations.bridge import AnyStore, Bridge
from strongroom.integrations.pages import all_values
from strongroom.models.base import JsonValue
from strongroom.models.frameworks import (
    FrameworkRecord,
    FrameworkRecordChange,
    FrameworkRecordReference,
    PutFrameworkRecord,
)

if TYPE_CHECKING:
    from strands.multiagent import MultiAgentBase

FRAMEWORK = "strands"


class StrongroomSessionRepository(SessionRepository):
    """Sessions of Strands: ``RepositorySessionManager(session_id=..., session_repository=...)``.

    The interface blocks, and Strands calls it from whatever loop its agent runs on: open the store with
    ``connect_in_thread``. Creating what is there says so; an update is made on top of the version that
    it has read, so of two writers one is told.

    Args:
        store: a store from ``connect_in_thread``.
        tenant_id: whose data it is.
        principal_id: the person whose sessions they are; erasing them deletes the sessions. Another
            person's session is refused (AlreadyExists).
    """

    def __init__(self, store: AnyStore, *, tenant_id: str, principal_id: str | None = None) -> None:
        """See the class."""
        self._bridge = Bridge(store)
        self._store = self._bridge.store
        self._tenant_id = tenant_id
        self._principal_id = principal_id

    def create_session(self, session: Session, **kwargs: Any) -> Session:  # noqa: ARG002
        """Create a session; one that is there is an error."""
        content = {**session.to_dict(), "session_type": SessionType(session.session_type).value}
        self._create([session.session_id], "sessions", session.session_id, content)
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:  # noqa: ARG002
        """Return a session; None when there is none."""
        found = self._read([session_id], "sessions", session_id)
        if found is None:
            return None
        content = _content(found)
        return Session.from_dict({**content, "session_type": SessionType(content["session_type"])})

    def delete_session(self, session_id: str, **kwargs: Any) -> None:  # noqa: ARG002
        """Delete a session with its agents and messages, for good."""
        deleted = self._bridge.block(
            self._store.frameworks.delete_sessions(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=[session_id],
                principal_id=self._principal_id,
            )
        )
        if not deleted:
            raise SessionException(f"Session {session_id} does not exist")

    def create_agent(
        self,
        session_id: str,
        session_agent: SessionAgent,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Create an agent in a session."""
        self._create([session_id], "agents", session_agent.agent_id, session_agent.to_dict())

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:  # noqa: ARG002
        """Return an agent; None when there is none."""
        found = self._read([session_id], "agents", agent_id)
        return SessionAgent.from_dict(_content(found)) if found else None

    def update_agent(
        self,
        session_id: str,
        session_agent: SessionAgent,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Replace an agent's state."""
        known = self._existing([session_id], "agents", session_agent.agent_id)
        session_agent.created_at = _content(known)["created_at"]
        self._replace(known, session_agent.to_dict())

    def create_message(
        self,
        session_id: str,
        agent_id: str,
        session_message: SessionMessage,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Add a message to an agent; a repeat of the same changes nothing, another is an error."""
        key = _message_key(session_message.message_id)
        self._create([session_id, agent_id], "messages", key, session_message.to_dict())

    def read_message(
        self,
        session_id: str,
        agent_id: str,
        message_id: int,
        **kwargs: Any,  # noqa: ARG002
    ) -> SessionMessage | None:
        """Return a message; None when there is none."""
        found = self._read([session_id, agent_id], "messages", _message_key(message_id))
        return SessionMessage.from_dict(_content(found)) if found else None

    def update_message(
        self,
        session_id: str,
        agent_id: str,
        session_message: SessionMessage,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Replace a message, as a guardrail does that redacts it; what it said is not kept."""
        key = _message_key(session_message.message_id)
        known = self._existing([session_id, agent_id], "messages", key)
        session_message.created_at = _content(known)["created_at"]
        self._replace(known, session_message.to_dict())

    def list_messages(
        self,
        session_id: str,
        agent_id: str,
        limit: int | None = None,
        offset: int = 0,
        **kwargs: Any,  # noqa: ARG002
    ) -> list[SessionMessage]:
        """Return an agent's messages in order."""
        found = self._bridge.block(
            all_values(
                self._store,
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                path=[session_id, agent_id],
                collection="messages",
                principal_id=self._principal_id,
            )
        )
        last = None if limit is None else offset + limit
        return [SessionMessage.from_dict(_content(record)) for record in found[offset:last]]

    def create_multi_agent(
        self,
        session_id: str,
        multi_agent: MultiAgentBase,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Create the state of several agents that work together."""
        self._create([session_id], "multi_agents", multi_agent.id, multi_agent.serialize_state())

    def read_multi_agent(
        self,
        session_id: str,
        multi_agent_id: str,
        **kwargs: Any,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Return that state; None when there is none."""
        found = self._read([session_id], "multi_agents", multi_agent_id)
        return _content(found) if found else None

    def update_multi_agent(
        self,
        session_id: str,
        multi_agent: MultiAgentBase,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Replace that state."""
        known = self._existing([session_id], "multi_agents", multi_agent.id)
        self._replace(known, multi_agent.serialize_state())

    def _read(self, path: list[str], collection: str, key: str) -> FrameworkRecord | None:
        found = self._bridge.block(
            self._store.frameworks.find(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                wanted=[FrameworkRecordReference(path=path, collection=collection, key=key)],
                principal_id=self._principal_id,
            )
        )
        return found[0] if found else None

    def _existing(self, path: list[str], collection: str, key: str) -> FrameworkRecord:
        found = self._read(path, collection, key)
        if found is None:
            raise SessionException(f"{collection}: {key} does not exist in {'/'.join(path)}")
        return found

    def _create(self, path: list[str], collection: str, key: str, content: Any) -> None:
        done = self._put(
            FrameworkRecordChange(
                path=path,
                collection=collection,
                key=key,
                content=cast("JsonValue", content),
                mode="keep",
            )
        )
        if done.outcome == "conflict":
            raise SessionException(f"{collection}: {key} already exists in {'/'.join(path)}")

    def _replace(self, known: FrameworkRecord, content: Any) -> None:
        self._put(
            FrameworkRecordChange(
                path=[*known.path],
                collection=known.collection,
                key=known.key,
                content=cast("JsonValue", content),
                expected_version=known.version,
            )
        )

    def _put(self, change: FrameworkRecordChange) -> PutFrameworkRecord:
        (done,) = self._bridge.block(
            self._store.frameworks.put(
                tenant_id=self._tenant_id,
                framework=FRAMEWORK,
                records=[change],
                principal_id=self._principal_id,
            )
        )
        return done


def _content(record: FrameworkRecord) -> dict[str, Any]:
    return cast("dict[str, Any]", record.content)


def _message_key(message_id: int) -> str:
    if not isinstance(message_id, int) or message_id < 0:
        raise ValueError("message_id must be a whole number that is not negative")
    return f"{message_id:015}"
