"""Races between who refers to bytes and who removes them, with the interleaving forced and seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.concurrency.test_job_and_lock_races import Stage
from tests.servers.databases import Database

CREATE = (
    "select state from strongroom.create_file('acme', 'ada', 'x', 'x/y', p_file_id => %s,"
    " p_blob_key => 'key')"
)
CLAIM = "select blob_key from strongroom.claim_blob_removals('sweep', p_tenant_id => 'acme')"
LISTED = "select blob_key from strongroom.list_blob_removals('acme')"
PURGE = "select table_name from strongroom.purge_file('acme', %s)"


@pytest.fixture(params=["superuser", "owner"])
def stage(
    request: pytest.FixtureRequest, make_database: Callable[..., Database]
) -> Iterator[Stage]:
    database = make_database(request.param)
    with ThreadPoolExecutor(2) as pool:
        made = Stage(database, pool)
        made.a.run("select tenant_id from strongroom.create_tenant('acme', 'Acme')")
        try:
            yield made
        finally:
            made.close()


def test_a_key_is_not_handed_out_while_somebody_is_about_to_refer_to_it(stage: Stage) -> None:
    """The key is let go by another file while a writer, not yet committed, refers to it."""
    stage.a.run(CREATE, "first")
    with stage.b.transaction():
        assert stage.b.run(CREATE, "second") == [("pending",)]
        stage.see_holding(stage.b)
        stage.a.run(PURGE, "first")
        # The sweep cannot see the second file, and must not take the key all the same.
        assert stage.a.run(LISTED) == [("key",)]
        assert stage.a.run(CLAIM) == []
        assert stage.a.run(LISTED) == [("key",)], "it is looked at again"
    with stage.a.transaction():
        stage.a.run("select set_config('strongroom.tenant_id', 'acme', true)")
        due_now = "update strongroom.blob_removals set due_at = now() returning blob_key"
        assert stage.a.run(due_now) == [("key",)]
    assert stage.a.run(CLAIM) == []
    assert stage.a.run(LISTED) == [], "now the second file is seen, and the key leaves the list"


def test_a_writer_that_comes_during_a_claim_waits_and_is_refused(stage: Stage) -> None:
    stage.a.run(CREATE, "first")
    stage.a.run(PURGE, "first")
    with stage.a.transaction():
        assert stage.a.run(CLAIM) == [("key",)]
        late = stage.b.start(CREATE, "second")
        stage.see_waiting(stage.b, stage.a)
    with pytest.raises(psycopg.Error) as caught:
        late.result(timeout=60)
    assert caught.value.sqlstate == "SR030"
    assert stage.a.run("select id from strongroom.list_files('acme')") == []


def test_a_claim_of_an_old_snapshot_is_refused(stage: Stage) -> None:
    stage.a.connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with stage.a.transaction(), pytest.raises(psycopg.Error) as caught:
        stage.a.run(CLAIM)
    assert caught.value.sqlstate == "SR001"


def test_two_sweeps_never_claim_one_key(stage: Stage) -> None:
    stage.a.run(CREATE, "first")
    stage.a.run(PURGE, "first")
    with stage.a.transaction():
        assert stage.a.run(CLAIM) == [("key",)]
        # Not even waiting for it.
        assert stage.b.run(CLAIM) == []
    assert stage.b.run(CLAIM) == []
