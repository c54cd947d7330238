"""Races over jobs and locks, with the interleaving forced and seen in pg_stat_activity."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.servers.databases import Database
from tests.servers.waiting import eventually

ROUNDS = 100
Rows = list[tuple[Any, ...]]


class Session:
    """A host's session whose statements run beside the test."""

    def __init__(self, database: Database, pool: ThreadPoolExecutor) -> None:
        self.connection = database.connect(user=database.host)
        self.pid = self.connection.info.backend_pid
        self._pool = pool

    def run(self, statement: str, *arguments: object) -> Rows:
        return self.connection.execute(statement.encode(), arguments).fetchall()

    def start(self, statement: str, *arguments: object) -> "Future[Rows]":
        return self._pool.submit(self.run, statement, *arguments)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.connection.transaction():
            yield


class Stage:
    """Two sessions, and an observer who sees who waits for whom."""

    def __init__(self, database: Database, pool: ThreadPoolExecutor) -> None:
        self.a = Session(database, pool)
        self.b = Session(database, pool)
        self._observer = database.connect()

    def see_waiting(self, waiting: Session, holder: Session) -> None:
        """Return when the one session's statement waits for a lock of the other's transaction."""
        eventually(
            lambda: (
                self._observer.execute(
                    """select wait_event_type = 'Lock' and pg_blocking_pids(pid) = array[%s::integer]
                from pg_stat_activity where pid = %s""",
                    [holder.pid, waiting.pid],
                ).fetchone()
                == (True,)
            ),
            "one session waits for the other",
        )

    def see_holding(self, holder: Session) -> None:
        """Make sure that the session is in the middle of a transaction that has written."""
        row = self._observer.execute(
            "select state, backend_xid is not null from pg_stat_activity where pid = %s",
            [holder.pid],
        ).fetchone()
        assert row == ("idle in transaction", True)

    def close(self) -> None:
        for connection in (self.a.connection, self.b.connection, self._observer):
            connection.close()


@pytest.fixture(params=["superuser", "owner"])
def stage(
    request: pytest.FixtureRequest, make_database: Callable[..., Database]
) -> Iterator[Stage]:
    database = make_database(request.param)
    with ThreadPoolExecutor(4) as pool:
        stage = Stage(database, pool)
        stage.a.run("select * from strongroom.create_tenant('acme', 'Acme')")
        try:
            yield stage
        finally:
            stage.close()


ENQUEUE = "select id from strongroom.enqueue_job('acme', 'k')"
CLAIM = "select id, claim_token from strongroom.claim_jobs(%s, p_lease_seconds => %s)"
COMPLETE = (
    "select status from strongroom.complete_jobs('acme', jsonb_build_array(jsonb_build_object("
    "'id', %s::text, 'claim_token', %s::bigint)))"
)


def test_two_claimers_of_one_job(stage: Stage) -> None:
    """While the first has claimed and not committed, the second gets nothing, and does not wait."""
    for _ in range(ROUNDS):
        ((job,),) = stage.a.run(ENQUEUE)
        with stage.a.transaction():
            ((first, token),) = stage.a.run(CLAIM, "a", 60)
            stage.see_holding(stage.a)
            assert stage.b.run(CLAIM, "b", 60) == []  # skipped, with a's claim uncommitted
        assert first == job
        assert stage.b.run(CLAIM, "b", 60) == []
        assert stage.a.run(COMPLETE, job, token) == [("completed",)]


def test_two_claimers_of_two_jobs_get_one_each(stage: Stage) -> None:
    for _ in range(ROUNDS):
        jobs = {stage.a.run(ENQUEUE)[0][0], stage.a.run(ENQUEUE)[0][0]}
        with stage.a.transaction():
            ((first, token),) = stage.a.run(CLAIM, "a", 60)
            stage.see_holding(stage.a)
            ((second, other),) = stage.b.run(CLAIM, "b", 60)
        assert {first, second} == jobs
        stage.a.run(COMPLETE, first, token)
        stage.b.run(COMPLETE, second, other)


def test_a_claim_of_an_expired_lease_against_its_completion(stage: Stage) -> None:
    """The late worker waits for the claim in progress, and is then refused; or the reverse."""
    for turn in range(ROUNDS):
        ((job,),) = stage.a.run(ENQUEUE)
        ((_, old),) = stage.a.run(CLAIM, "late", 0.001)
        eventually(
            lambda: (
                stage.a.run("select expired_leases from strongroom.read_job_queue('acme')")
                == [(1,)]
            ),
            "the lease has ended",
        )
        if turn % 2:
            with stage.b.transaction():
                ((again, new),) = stage.b.run(CLAIM, "quick", 60)
                late = stage.a.start(COMPLETE, job, old)
                stage.see_waiting(stage.a, stage.b)
            assert (again, new > old) == (job, True)
            with pytest.raises(psycopg.Error) as caught:
                late.result()
            assert caught.value.sqlstate == "SR031"
            assert stage.b.run(COMPLETE, job, new) == [("completed",)]
        else:
            with stage.a.transaction():
                assert stage.a.run(COMPLETE, job, old) == [("completed",)]
                stage.see_holding(stage.a)
                assert stage.b.run(CLAIM, "quick", 60) == []
            assert stage.b.run(CLAIM, "quick", 60) == []


def test_cancelling_against_completing(stage: Stage) -> None:
    for turn in range(ROUNDS):
        ((job,),) = stage.a.run(ENQUEUE)
        ((_, token),) = stage.a.run(CLAIM, "a", 60)
        cancel = "select status from strongroom.cancel_job('acme', %s)"
        if turn % 2:
            with stage.b.transaction():
                stage.b.run(cancel, job)
                late = stage.a.start(COMPLETE, job, token)
                stage.see_waiting(stage.a, stage.b)
            with pytest.raises(psycopg.Error) as caught:
                late.result()
            assert caught.value.sqlstate == "SR031"
        else:
            with stage.a.transaction():
                stage.a.run(COMPLETE, job, token)
                late = stage.b.start(cancel, job)
                stage.see_waiting(stage.b, stage.a)
            assert late.result() == [("completed",)]


def test_two_enqueues_with_one_key(stage: Stage) -> None:
    """The second waits for the first and then names it; or is created when the first rolls back."""
    enqueue = "select id, outcome, ended_job_id from strongroom.enqueue_job('acme', 'k', p_dedupe_key => %s)"
    for turn in range(ROUNDS):
        late: Future[Rows]
        try:
            with stage.a.transaction():
                ((first, outcome, _),) = stage.a.run(enqueue, f"key{turn}")
                assert outcome == "created"
                late = stage.b.start(enqueue, f"key{turn}")
                stage.see_waiting(stage.b, stage.a)
                if turn % 2:
                    raise psycopg.Rollback
        finally:
            ((second, outcome, _),) = late.result()
        if turn % 2:
            assert (outcome, second != first) == ("created", True)
        else:
            assert (outcome, second) == ("duplicate", first)


def test_an_enqueue_against_the_end_of_the_keys_holder(stage: Stage) -> None:
    """Nothing is dropped: while the holder's end is not committed it still holds the key."""
    enqueue = (
        "select id, outcome, status, ended_job_id"
        " from strongroom.enqueue_job('acme', 'k', p_dedupe_key => 'key')"
    )
    ((holder, outcome, _, _),) = stage.b.run(enqueue)
    for _ in range(ROUNDS):
        assert outcome == "created"
        ((claimed, token),) = stage.a.run(CLAIM, "a", 60)
        assert claimed == holder
        with stage.a.transaction():
            stage.a.run(COMPLETE, holder, token)
            late = stage.b.start(enqueue)
            stage.see_waiting(stage.b, stage.a)
        ((following, outcome, _, ended),) = late.result()
        assert (outcome, ended, following != holder) == ("created", holder, True)
        holder = following


ACQUIRE = "select token from strongroom.acquire_lock('acme', 'door', %s, %s)"
RELEASE = "select released from strongroom.release_lock('acme', 'door', %s, %s)"


def test_a_release_by_the_former_owner_against_the_take_over(stage: Stage) -> None:
    tokens = []
    for _ in range(ROUNDS):
        ((old,),) = stage.a.run(ACQUIRE, "former", 0.001)
        eventually(
            lambda: stage.a.run("select from strongroom.find_lock('acme', 'door')") == [],
            "the lock has expired",
        )
        with stage.b.transaction():
            ((new,),) = stage.b.run(ACQUIRE, "present", 60)
            late = stage.a.start(RELEASE, "former", old)
            stage.see_waiting(stage.a, stage.b)
        assert late.result() == [(False,)]
        assert stage.a.run("select token, owner_id from strongroom.find_lock('acme', 'door')") == [
            (new, "present")
        ]
        with pytest.raises(psycopg.Error) as caught:
            stage.a.run("select from strongroom.renew_lock('acme', 'door', 'former', %s)", old)
        assert caught.value.sqlstate == "SR031"
        assert stage.b.run(RELEASE, "present", new) == [(True,)]
        tokens += [old, new]
    assert tokens == sorted(set(tokens))


def test_two_who_take_one_lock(stage: Stage) -> None:
    """On a new name the second waits for the first's row; on a known one it is told at once."""
    for _ in range(ROUNDS):
        with stage.a.transaction():
            ((token,),) = stage.a.run(ACQUIRE, "a", 60)
            late = stage.b.start(ACQUIRE, "b", 60)
            stage.see_waiting(stage.b, stage.a)
        assert late.result() == []
        assert stage.a.run(RELEASE, "a", token) == [(True,)]
        with stage.a.transaction():
            ((token,),) = stage.a.run(ACQUIRE, "a", 60)
            stage.see_holding(stage.a)
            assert stage.b.run(ACQUIRE, "b", 60) == []
        assert stage.a.run(RELEASE, "a", token) == [(True,)]
        assert stage.a.run("select pruned from strongroom.prune_locks('acme')") == [(1,)]


def test_a_take_over_against_a_guarded_write(stage: Stage) -> None:
    """A guard holds the lock's row: an expired lock is not taken over before the write has ended."""
    check = "select from strongroom.check_lock('acme', 'door', %s)"
    for _ in range(ROUNDS):
        ((token,),) = stage.a.run(ACQUIRE, "a", 0.05)
        with stage.a.transaction():
            stage.a.run(check, token)
            eventually(
                lambda: stage.b.run("select from strongroom.find_lock('acme', 'door')") == [],
                "the lock has expired",
            )
            assert stage.b.run(ACQUIRE, "b", 60) == []
        ((other,),) = stage.b.run(ACQUIRE, "b", 60)
        assert other > token
        with pytest.raises(psycopg.Error) as caught:
            stage.a.run(check, token)
        assert caught.value.sqlstate == "SR031"
        stage.b.run(RELEASE, "b", other)


def test_two_publishers_of_one_topic_commit_in_the_order_of_sequences(stage: Stage) -> None:
    publish = "select sequence from strongroom.publish_events('acme', 't', '[{\"kind\": \"k\"}]')"
    last = 0
    for turn in range(ROUNDS):
        late: Future[Rows]
        try:
            with stage.a.transaction():
                assert stage.a.run(publish) == [(last + 1,)]
                late = stage.b.start(publish)
                stage.see_waiting(stage.b, stage.a)
                if turn % 2:
                    raise psycopg.Rollback
        finally:
            rows = late.result()
        # What is rolled back leaves no gap.
        last += 1 if turn % 2 else 2
        assert rows == [(last,)]
