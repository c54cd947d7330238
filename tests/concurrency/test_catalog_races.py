"""Publishers of one agent at once, and publishers against deletion: forced, and seen to wait."""

import psycopg
import pytest

from tests.concurrency.test_job_and_lock_races import Stage
from tests.concurrency.test_job_and_lock_races import stage as stage

PUBLISH = "select version, outcome from strongroom.publish_{}_version('acme', 'x', %s::jsonb, %s)"
VERSIONS = "select version, id from strongroom.list_{}_versions('acme', 'x')"


@pytest.fixture(params=["agent", "skill"])
def kind(request: pytest.FixtureRequest, stage: Stage) -> str:
    kind = str(request.param)
    stage.a.run(f"select * from strongroom.create_{kind}('acme', 'X', 'x')")
    return kind


def test_two_publishers_get_n_and_n_plus_1(stage: Stage, kind: str) -> None:
    publish = PUBLISH.format(kind)
    for number in range(1, 20, 2):
        with stage.a.transaction():
            assert stage.a.run(publish, "{}", f"a{number}") == [(number, "inserted")]
            second = stage.b.start(publish, "{}", f"b{number}")
            stage.see_waiting(stage.b, stage.a)
        assert second.result() == [(number + 1, "inserted")]
    versions = stage.a.run(VERSIONS.format(kind))
    assert [version for version, _ in versions] == list(range(1, 21))


def test_the_number_of_a_publication_that_is_undone_is_the_next_ones(
    stage: Stage, kind: str
) -> None:
    publish = PUBLISH.format(kind)
    with stage.a.transaction():
        stage.a.run(publish, "{}", "lost")
        second = stage.b.start(publish, "{}", "kept")
        stage.see_waiting(stage.b, stage.a)
        raise psycopg.Rollback
    assert second.result() == [(1, "inserted")]
    assert stage.a.run(VERSIONS.format(kind)) == [(1, "kept")]


def test_the_same_publication_twice_at_once_is_one(stage: Stage, kind: str) -> None:
    publish = PUBLISH.format(kind)
    with stage.a.transaction():
        assert stage.a.run(publish, '{"a": 1}', "v") == [(1, "inserted")]
        repeat = stage.b.start(publish, '{"a": 1}', "v")
        stage.see_waiting(stage.b, stage.a)
    assert repeat.result() == [(1, "duplicate")]


def test_a_publisher_finds_what_was_purged_meanwhile_gone(stage: Stage, kind: str) -> None:
    with stage.a.transaction():
        stage.a.run(f"select * from strongroom.purge_{kind}('acme', 'x')")
        late = stage.b.start(PUBLISH.format(kind), "{}", "late")
        stage.see_waiting(stage.b, stage.a)
    with pytest.raises(psycopg.Error) as caught:
        late.result()
    assert caught.value.sqlstate == "SR010"


def test_a_create_that_waits_for_a_purge_does_not_take_the_id(stage: Stage, kind: str) -> None:
    with stage.a.transaction():
        stage.a.run(f"select * from strongroom.purge_{kind}('acme', 'x')")
        again = stage.b.start(f"select * from strongroom.create_{kind}('acme', 'X', 'x')")
        stage.see_waiting(stage.b, stage.a)
    with pytest.raises(psycopg.Error) as caught:
        again.result()
    assert caught.value.sqlstate == "SR011"
    assert stage.a.run(f"select * from strongroom.list_{kind}s('acme')") == []


def test_publishers_of_different_entries_do_not_wait(stage: Stage, kind: str) -> None:
    stage.a.run(f"select * from strongroom.create_{kind}('acme', 'Y', 'y')")
    with stage.a.transaction():
        stage.a.run(PUBLISH.format(kind), "{}", "of x")
        stage.see_holding(stage.a)
        other = PUBLISH.format(kind).replace("'x'", "'y'")
        assert stage.b.run(other, "{}", "of y") == [(1, "inserted")]
