"""Strands' session repository: order, repeats, stale writers, redaction, and who may."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from examples.strands import program
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from strongroom.errors import AlreadyExists, InvalidText, VersionConflict
from strongroom.integrations.bridge import ThreadedStore
from strongroom.integrations.strands import StrongroomSessionRepository
from tests.servers import Database


def _message(number: int, text: str = "x") -> SessionMessage:
    return SessionMessage(
        message={"role": "user", "content": [{"text": text}]}, message_id=number, created_at="2026"
    )


@pytest.fixture
def repository(threaded: ThreadedStore, thread_tenant: str) -> StrongroomSessionRepository:
    made = StrongroomSessionRepository(threaded, tenant_id=thread_tenant, principal_id="ada")
    made.create_session(Session(session_id="s", session_type=SessionType.AGENT))
    made.create_agent("s", SessionAgent("a", state={"n": 1}, conversation_manager_state={}))
    return made


def test_sessions_and_agents(repository: StrongroomSessionRepository) -> None:
    found = repository.read_session("s")
    assert found is not None
    assert found.session_type is SessionType.AGENT
    assert repository.read_session("none") is None
    with pytest.raises(SessionException):
        repository.create_session(Session(session_id="s", session_type=SessionType.AGENT))
    agent = repository.read_agent("s", "a")
    assert agent is not None
    assert agent.state == {"n": 1}
    agent.state["n"] = 2
    repository.update_agent("s", agent)
    updated = repository.read_agent("s", "a")
    assert updated is not None
    assert updated.state == {"n": 2}
    assert updated.created_at == agent.created_at
    with pytest.raises(SessionException):
        repository.update_agent("s", SessionAgent("b", state={}, conversation_manager_state={}))
    repository.delete_session("s")
    assert repository.read_session("s") is None
    assert repository.read_agent("s", "a") is None
    with pytest.raises(SessionException):
        repository.delete_session("s")


def test_messages_keep_their_order_b01_b09(repository: StrongroomSessionRepository) -> None:
    for number in (11, 2, 0, 1, *range(3, 11)):
        repository.create_message("s", "a", _message(number, f"👩‍👩‍👧 {number}"))
    for _ in range(2):
        with pytest.raises(SessionException):
            repository.create_message("s", "a", _message(3, "other"))
    found = repository.list_messages("s", "a")
    assert [message.message_id for message in found] == [*range(12)]
    assert found[11].message["content"][0]["text"] == "👩‍👩‍👧 11"
    assert [m.message_id for m in repository.list_messages("s", "a", limit=3, offset=2)] == [
        2,
        3,
        4,
    ]
    assert repository.list_messages("s", "none") == []
    for text in ("a\0b", "\ud83d"):
        with pytest.raises(InvalidText):
            repository.create_message("s", "a", _message(12, text))
    blob: Any = {"role": "user", "content": [{"image": {"source": {"bytes": b"\x00\xff"}}}]}
    repository.create_message("s", "a", SessionMessage(message=blob, message_id=12))
    kept = repository.read_message("s", "a", 12)
    assert kept is not None
    assert kept.message == blob


def test_what_is_redacted_is_gone(repository: StrongroomSessionRepository) -> None:
    repository.create_message("s", "a", _message(0, "secret"))
    message = repository.read_message("s", "a", 0)
    assert message is not None
    repository.update_message("s", "a", SessionMessage.from_message(_message(0, "***").message, 0))
    found = repository.read_message("s", "a", 0)
    assert found is not None
    assert (found.message["content"][0]["text"], found.created_at) == ("***", "2026")
    with pytest.raises(SessionException):
        repository.update_message("s", "a", _message(7))


def test_of_two_writers_one_is_told_b03_b13(repository: StrongroomSessionRepository) -> None:
    def update(number: int) -> bool:
        agent = SessionAgent("a", state={"n": number}, conversation_manager_state={})
        try:
            repository.update_agent("s", agent)
        except VersionConflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = [*pool.map(update, range(24))]
        created = [
            *pool.map(lambda n: _created(repository, n), range(16)),
        ]
    agent = repository._existing(["s"], "agents", "a")
    assert agent.version == 1 + sum(done)
    assert sum(created) == 4


def _created(repository: StrongroomSessionRepository, number: int) -> bool:
    try:
        repository.create_message("s", "a", _message(number % 4, str(number)))
    except SessionException:
        return False
    return True


def test_a_session_is_its_tenants_and_its_principals(
    repository: StrongroomSessionRepository, threaded: ThreadedStore, thread_tenant: str
) -> None:
    eves = StrongroomSessionRepository(threaded, tenant_id=thread_tenant, principal_id="eve")
    mine = SessionAgent("mine", state={}, conversation_manager_state={})
    calls: list[Callable[[], object]] = [
        lambda: eves.read_session("s"),
        lambda: eves.delete_session("s"),
        lambda: eves.create_agent("s", mine),
        lambda: eves.read_agent("s", "a"),
        lambda: eves.update_agent("s", SessionAgent("a", state={}, conversation_manager_state={})),
        lambda: eves.create_message("s", "a", _message(1)),
        lambda: eves.create_message("s", "below", _message(0)),
        lambda: eves.read_message("s", "a", 0),
        lambda: eves.update_message("s", "a", _message(0, "mine")),
        lambda: eves.list_messages("s", "a"),
        lambda: eves.read_multi_agent("s", "m"),
    ]
    repository.create_message("s", "a", _message(0))
    for call in calls:
        with pytest.raises(AlreadyExists):
            call()
    assert [one.message_id for one in repository.list_messages("s", "a")] == [0]
    threaded.run(
        threaded.store.lifecycle.erase_principal(tenant_id=thread_tenant, principal_id="ada")
    )
    assert repository.read_session("s") is None


def test_the_example_runs(place: Database, capsys: pytest.CaptureFixture[str]) -> None:
    program.main(place.host_url, "strands-example")
    assert capsys.readouterr().out.splitlines() == [
        "[1 questions so far] A-1: in Porto, since this morning",
        "[2 questions so far] A-1: in Porto, since this morning",
        "user, assistant, user, assistant, user, assistant",
    ]
