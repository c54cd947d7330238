"""What the database tells Supabase Realtime: ids only, to the right topics, and never at a write's cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, LiteralString

import psycopg
import pytest

from tests.servers import Database, Templates
from tests.servers.databases import dropped_after

Connection = psycopg.Connection[Any]
Sent = list[tuple[str, str, dict[str, Any]]]

SECRET = "the content that no hint may carry"


@pytest.fixture(scope="module")
def project(templates: Templates) -> Iterator[Database]:
    """A hosted project whose Realtime server has connected."""
    with dropped_after(templates.copy("supabase")) as database:
        with database.connect() as admin:
            admin.execute("select shim.connect_realtime()")
        yield database


@pytest.fixture
def host(project: Database) -> Iterator[Connection]:
    with psycopg.connect(project.host_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def admin(project: Database) -> Iterator[Connection]:
    with project.connect() as connection:
        connection.execute("delete from realtime.messages where true")
        yield connection


def sent(admin: Connection) -> Sent:
    """Everything that was broadcast, in order, and forget it."""
    rows = admin.execute(
        "delete from realtime.messages where private returning topic, event, payload - 'id', payload"
    ).fetchall()
    assert SECRET not in json.dumps([row[3] for row in rows])
    return sorted((row[0], row[1], row[2]) for row in rows)


def hint(kind: str, talk: str | None, record: str, sequence: int) -> dict[str, Any]:
    return {"kind": kind, "conversation_id": talk, "record_id": record, "sequence": sequence}


def said(*ids: str) -> str:
    part = {"type": "text", "schema_version": 1, "text": SECRET}
    return json.dumps([{"id": name, "role": "user", "parts": [part]} for name in ids])


def make_talk(host: Connection, tenant: str, talk: str, visibility: str = "private") -> None:
    host.execute("select strongroom.create_tenant(%s, 'T')", [tenant])
    host.execute(
        "select strongroom.create_conversation(%s, 'ada', %s, %s, p_participant_ids => '{bob}',"
        " p_visibility => %s)",
        [tenant, talk, SECRET, visibility],
    )


def test_readers_are_told_ids_and_no_content(host: Connection, admin: Connection) -> None:
    make_talk(host, "a:cme", "t%1")
    topic = "strongroom:conversation:a%3Acme:t%251"
    ada, bob = (f"strongroom:principal:a%3Acme:{name}" for name in ("ada", "bob"))
    made = hint("conversation", "t%1", "t%1", 1)
    assert sent(admin) == [
        (topic, "conversation", made),
        (ada, "conversation", made),
        (bob, "conversation", made),
    ]
    host.execute(
        "select strongroom.append_messages('a:cme', 't%%1', %s::jsonb)", [said("m1", "m2")]
    )
    assert sent(admin) == [(topic, "messages", hint("messages", "t%1", "m2", 2))]
    # A repeat writes nothing, so nothing is told.
    host.execute(
        "select strongroom.append_messages('a:cme', 't%%1', %s::jsonb)", [said("m1", "m2")]
    )
    assert sent(admin) == []

    host.execute("select strongroom.create_run('a:cme', 't%1', 'r')")
    assert sent(admin) == [(topic, "run", hint("run", "t%1", "r", 1))]
    row = host.execute("select claim_token from strongroom.claim_next_runs('w', 60)").fetchone()
    assert row is not None
    assert sent(admin) == [(topic, "run", hint("run", "t%1", "r", 1))]
    host.execute("select strongroom.heartbeat_run('a:cme', 'r', %s, 60)", [row[0]])
    assert sent(admin) == []
    host.execute(
        "select strongroom.append_run_events('a:cme', 'r', %s, %s::jsonb)",
        [
            row[0],
            json.dumps(
                [{"id": f"e{n}", "kind": "text-delta", "data": {"text": SECRET}} for n in (1, 2)]
            ),
        ],
    )
    assert sent(admin) == [(topic, "run_events", hint("run_events", "t%1", "r", 2))]
    host.execute(
        "select strongroom.create_interaction('a:cme', 'r', %s, 'question', 'q', 'bob',"
        " p_prompt => %s)",
        [row[0], SECRET],
    )
    asked = hint("interaction", "t%1", "q", 1)
    assert sent(admin) == [(topic, "interaction", asked), (bob, "interaction", asked)]
    host.execute("select strongroom.answer_question('a:cme', 'q', '1', 'bob')")
    assert sent(admin) == [(topic, "interaction", asked), (bob, "interaction", asked)]
    host.execute(
        'select strongroom.publish_events(\'a:cme\', \'x\', \'[{"id": "1", "kind": "k"}]\')'
    )
    (told,) = sent(admin)
    assert told == (
        "strongroom:topic:a%3Acme:x",
        "topic_events",
        hint("topic_events", None, "x", 1),
    )


def test_the_tenants_topic_has_what_every_member_may_read(
    host: Connection, admin: Connection
) -> None:
    make_talk(host, "open", "private")
    assert "strongroom:tenant:open" not in {topic for topic, *_ in sent(admin)}
    make_talk(host, "open", "shared", "tenant")
    assert "strongroom:tenant:open" in {topic for topic, *_ in sent(admin)}
    host.execute("select strongroom.share_conversation('open', 'shared', 'private', '{}', 1)")
    # Who could read it until now is told that something has changed.
    assert "strongroom:tenant:open" in {topic for topic, *_ in sent(admin)}
    host.execute("select strongroom.soft_delete_conversation('open', 'shared')")
    assert {topic for topic, *_ in sent(admin)} == {
        "strongroom:conversation:open:shared",
        "strongroom:principal:open:ada",
    }
    host.execute("select strongroom.purge_conversation('open', 'private')")
    assert "strongroom:conversation:open:private" in {topic for topic, *_ in sent(admin)}
    host.execute("select strongroom.purge_tenant('open')")
    assert sent(admin) == []


BREAKAGES: list[tuple[str, LiteralString, int, str]] = [
    (
        "a failing send",
        (
            "create or replace function realtime.send(payload jsonb, event text, topic text,"
            " private boolean default true) returns void language plpgsql"
            " as $$ begin raise exception 'Realtime is broken'; end $$"
        ),
        1,
        "Realtime is broken",
    ),
    (
        "no right to send",
        (
            "revoke execute on function realtime.send from public;"
            " revoke usage on schema realtime from postgres"
        ),
        1,
        "permission denied",
    ),
    ("no table to publish", "drop table strongroom.conversation_changes", 1, "does not exist"),
    ("no partition", "select shim.connect_realtime(current_date - 30)", 0, "no partition"),
    ("no Realtime", "drop schema realtime cascade", 0, ""),
]


@pytest.mark.parametrize(("name", "breakage", "failed", "warning"), BREAKAGES)
def test_a_write_stands_whatever_becomes_of_its_hint(
    templates: Templates, name: str, breakage: LiteralString, failed: int, warning: str
) -> None:
    with dropped_after(templates.copy("supabase")) as database:
        with psycopg.connect(database.host_url, autocommit=True) as host:
            make_talk(host, "acme", "talk")
            with database.connect() as admin:
                admin.execute("alter sequence strongroom_private.failed_hints restart")
                if breakage:
                    admin.execute(breakage)
            warnings: list[str] = []
            host.add_notice_handler(lambda note: warnings.append(str(note.message_primary)))
            done = host.execute(
                "select outcome from strongroom.append_messages('acme', 'talk', %s::jsonb)",
                [said("m1")],
            ).fetchall()
            assert done == [("inserted",)], name
            assert any(warning in text for text in warnings) == bool(warning), warnings
            assert (
                len(
                    host.execute(
                        "select * from strongroom.list_messages('acme', 'talk')"
                    ).fetchall()
                )
                == 1
            )
            if name == "no table to publish":
                return
            problems = [
                row[0]
                for row in host.execute(
                    "select problem from strongroom.diagnose_realtime()"
                ).fetchall()
            ]
        if failed:
            assert f"{failed} hints could not be sent; what they were about was written" in problems
        assert any("no partition" in text for text in problems) == (name == "no partition")


def test_the_publication_holds_one_table_and_a_repeat_changes_nothing(
    make_database: Callable[..., Database],
) -> None:
    database = make_database("supabase")

    def problems() -> set[str]:
        with psycopg.connect(database.host_url, autocommit=True) as host:
            rows = host.execute(
                "select object_name, problem from strongroom.diagnose_realtime()"
            ).fetchall()
        return {row[1].split(":")[0].split(",")[0] for row in rows} - {
            "there is no partition for now"
        }

    def tables() -> list[str]:
        with database.connect() as admin:
            return [
                row[0]
                for row in admin.execute(
                    "select tablename::text from pg_publication_tables"
                    " where pubname = 'supabase_realtime' and schemaname = 'strongroom'"
                ).fetchall()
            ]

    with database.connect(user="postgres") as owner:
        apply: LiteralString = "select strongroom_private.apply_realtime()"
        assert tables() == ["conversation_changes"]
        assert problems() == set()
        owner.execute(apply)
        owner.execute(apply)
        assert tables() == ["conversation_changes"]
        owner.execute("alter publication supabase_realtime add table strongroom.messages")
        assert problems() == {"strongroom.messages is published"}
        owner.execute("drop publication supabase_realtime")
        owner.execute(apply)
        assert problems() == {"the publication does not exist"}
        owner.execute("create publication supabase_realtime")
        assert problems() == {"strongroom.conversation_changes is not published"}
        owner.execute(apply)
        assert problems() == set()
        owner.execute("drop policy strongroom_readers_receive on realtime.messages")
        assert problems() == {"no policy lets readers receive broadcasts"}
        owner.execute(apply)
        assert problems() == set()
        with database.connect() as admin:
            admin.execute("drop publication supabase_realtime")
            admin.execute("create publication supabase_realtime for all tables")
        owner.execute(apply)
        assert problems() == {"the publication is FOR ALL TABLES"}
        # Even so, a message is written, and hints are published.
        with psycopg.connect(database.host_url, autocommit=True) as host:
            make_talk(host, "acme", "talk")
            host.execute(
                "select strongroom.append_messages('acme', 'talk', %s::jsonb)", [said("m")]
            )
        assert tables() != []
