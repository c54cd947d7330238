"""Races over artifacts and tool outputs, with the interleaving forced and seen in pg_stat_activity."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.concurrency.test_job_and_lock_races import Stage
from tests.servers.databases import Database

ROUNDS = 20


@pytest.fixture(params=["superuser", "owner"])
def stage(
    request: pytest.FixtureRequest, make_database: Callable[..., Database]
) -> Iterator[Stage]:
    database = make_database(request.param)
    with ThreadPoolExecutor(4) as pool:
        stage = Stage(database, pool)
        stage.a.run("select * from strongroom.create_tenant('acme', 'Acme')")
        stage.a.run("select * from strongroom.create_conversation('acme', 'ada', 'talk')")
        stage.a.run(
            "select * from strongroom.create_artifact('acme', 'notes', 'talk',"
            " p_artifact_id => 'notes', p_text => 'one')"
        )
        try:
            yield stage
        finally:
            stage.close()


CLAIM = (
    "select outcome, worker_id, claim_token"
    " from strongroom.claim_artifact_export('acme', 'notes', 1, %s, %s, %s)"
)
ADD = "select version from strongroom.add_artifact_version('acme', 'notes', %s, p_text => %s)"
PUT = "select outcome from strongroom.put_tool_output('acme', 'talk', p_text => %s)"
DELETE = "select * from strongroom.soft_delete_conversation('acme', 'talk')"


def test_two_exporters_of_one_version(stage: Stage) -> None:
    """The second waits while the first has claimed and not committed, and then has not claimed."""
    for number in range(ROUNDS):
        with stage.a.transaction():
            ((outcome, _, token),) = stage.a.run(CLAIM, f"f{number}", "a", 60)
            second = stage.b.start(CLAIM, f"f{number}", "b", 60)
            stage.see_waiting(stage.b, stage.a)
        assert outcome == "claimed"
        assert second.result() == [("already_claimed", "a", token)]


def test_an_exporter_after_one_that_rolls_back(stage: Stage) -> None:
    with stage.a.transaction():
        ((_, _, lost),) = stage.a.run(CLAIM, "pdf", "a", 60)
        second = stage.b.start(CLAIM, "pdf", "b", 60)
        stage.see_waiting(stage.b, stage.a)
        raise psycopg.Rollback
    ((outcome, worker, token),) = second.result()
    assert (outcome, worker, token > lost) == ("claimed", "b", True)


def test_two_versions_on_top_of_the_same_one(stage: Stage) -> None:
    for latest in range(1, ROUNDS):
        with stage.a.transaction():
            assert stage.a.run(ADD, latest, "a's") == [(latest + 1,)]
            second = stage.b.start(ADD, latest, "b's")
            stage.see_waiting(stage.b, stage.a)
        with pytest.raises(psycopg.Error) as caught:
            second.result()
        assert caught.value.sqlstate == "SR012"
    rows = stage.a.run("select version from strongroom.list_artifact_versions('acme', 'notes')")
    assert [row[0] for row in rows] == list(range(1, ROUNDS + 1))


def test_two_puts_of_the_same_content(stage: Stage) -> None:
    for number in range(ROUNDS):
        with stage.a.transaction():
            assert stage.a.run(PUT, f"same {number}") == [("inserted",)]
            second = stage.b.start(PUT, f"same {number}")
            stage.see_waiting(stage.b, stage.a)
        assert second.result() == [("duplicate",)]


@pytest.mark.parametrize(
    ("write", "arguments"), [(ADD, (1, "late")), (PUT, ("late",)), (CLAIM, ("pdf", "late", 60))]
)
def test_a_writer_while_the_conversation_is_deleted_b83(
    stage: Stage, write: str, arguments: tuple[object, ...]
) -> None:
    with stage.a.transaction():
        stage.a.run(DELETE)
        late = stage.b.start(write, *arguments)
        stage.see_waiting(stage.b, stage.a)
    with pytest.raises(psycopg.Error) as caught:
        late.result()
    assert caught.value.sqlstate == "SR010"
    stage.a.run("select * from strongroom.restore_conversation('acme', 'talk')")
    counts = stage.a.run(
        "select a.latest_version,"
        " (select count(*) from strongroom.list_tool_outputs('acme', 'talk')),"
        " (select count(*) from strongroom.find_artifact_export('acme', 'notes', 1, 'pdf'))"
        " from strongroom.find_artifact('acme', 'notes') as a"
    )
    assert counts == [(1, 0, 0)]


def test_a_sweep_while_a_run_begins(stage: Stage) -> None:
    """Expiring passes over a conversation that is written to: what a run may still point at stays."""
    for number in range(ROUNDS):
        stage.a.run(
            "select * from strongroom.put_tool_output('acme', 'talk', p_text => %s,"
            " p_expires_at => '2020-01-01')",
            f"old {number}",
        )
        with stage.a.transaction():
            ((run,),) = stage.a.run("select id from strongroom.create_run('acme', 'talk')")
            assert stage.b.run("select * from strongroom.expire_tool_outputs('acme')") == [(0,)]
        assert stage.b.run("select * from strongroom.expire_tool_outputs('acme')") == [(0,)]
        stage.a.run("select * from strongroom.request_run_cancel('acme', %s)", run)
        assert stage.b.run("select * from strongroom.expire_tool_outputs('acme')") == [(1,)]
