"""Races for one source: replaces take turns on its row, and readers see one set or the other."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import psycopg
import pytest

from tests.migrations import stories
from tests.servers import Database, eventually

REPLACE = "select outcome, version from strongroom.replace_source('acme', 'docs', 'r.md', %s)"
FOUND = "select content from strongroom.search_knowledge('acme', 'docs', p_text => 'parcel')"


def chunks(*texts: str) -> str:
    return json.dumps([{"content": text} for text in texts])


@pytest.fixture
def docs(database: Database) -> Database:
    stories.fill(database, 1)
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        connection.execute("select strongroom.create_collection('acme', 'docs', 'docs')")
    return database


def waits_on(database: Database, waiting: int, holder: int) -> Callable[[], bool]:
    def is_blocked() -> bool:
        with database.connect() as connection:
            row = connection.execute(
                "select %s = any (pg_blocking_pids(%s))", [holder, waiting]
            ).fetchone()
        return row == (True,)

    return is_blocked


@pytest.mark.parametrize("exists", [True, False], ids=["replaced", "new"])
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_two_replaces_take_turns(docs: Database, exists: bool, end: str) -> None:
    """Blocked on the row, or on its name where it is new, and whole whatever becomes of the first."""
    with (
        psycopg.connect(docs.host_url) as first,
        psycopg.connect(docs.host_url, autocommit=True) as second,
        psycopg.connect(docs.host_url, autocommit=True) as reader,
    ):
        if exists:
            second.execute(REPLACE, [chunks("old parcel", "old parcel, too")])
        before = reader.execute(FOUND).fetchall()
        first.execute(REPLACE, [chunks(*(f"first parcel {n}" for n in range(5)))])
        done: list[object] = []

        def replace() -> None:
            done.extend(
                second.execute(REPLACE, [chunks("second parcel", "of two parcel")]).fetchall()
            )

        thread = threading.Thread(target=replace)
        thread.start()
        eventually(
            waits_on(docs, second.info.backend_pid, first.info.backend_pid),
            "the second replace waits for the first one's row",
        )
        assert reader.execute(FOUND).fetchall() == before, "readers see what is committed, whole"
        getattr(first, end)()
        thread.join(30)
        assert not thread.is_alive()
        earlier = exists + (end == "commit")
        assert done == [("replaced" if earlier else "inserted", earlier + 1)]
        assert sorted(reader.execute(FOUND).fetchall()) == [("of two parcel",), ("second parcel",)]
        numbers = reader.execute(
            "select array_agg(c.number) from strongroom.list_sources('acme', 'docs') as s"
            " cross join lateral strongroom.list_chunks('acme', s.id) as c"
        ).fetchone()
        assert numbers == ([1, 2],)


def test_replaces_of_different_sources_do_not_wait(docs: Database) -> None:
    other = REPLACE.replace("r.md", "other.md")
    with (
        psycopg.connect(docs.host_url) as first,
        psycopg.connect(docs.host_url, options="-c lock_timeout=1s") as second,
    ):
        first.execute(REPLACE, [chunks("a parcel")])
        assert second.execute(other.encode(), [chunks("another parcel")]).fetchall() == [
            ("inserted", 1)
        ]
        second.commit()
        first.commit()
        assert len(second.execute(FOUND).fetchall()) == 2


def test_a_replace_that_waits_for_a_purge_makes_a_new_source(docs: Database) -> None:
    with (
        psycopg.connect(docs.host_url) as first,
        psycopg.connect(docs.host_url, autocommit=True) as second,
    ):
        second.execute(REPLACE, [chunks("old parcel")])
        row = second.execute("select id from strongroom.list_sources('acme', 'docs')").fetchone()
        assert row is not None
        first.execute("select strongroom.purge_source('acme', %s)", row)
        done: list[object] = []
        thread = threading.Thread(
            target=lambda: done.extend(second.execute(REPLACE, [chunks("new parcel")]).fetchall())
        )
        thread.start()
        eventually(
            waits_on(docs, second.info.backend_pid, first.info.backend_pid),
            "the replace waits for the purge",
        )
        first.commit()
        thread.join(30)
        assert not thread.is_alive()
        assert done == [("inserted", 1)]
        assert second.execute(FOUND).fetchall() == [("new parcel",)]
