"""What text and numbers become on the way: B47, B49 (the database's own words), B53, B55, B43."""

import json
import random
import re
import string

import psycopg
import pytest

from strongroom.client import Strongroom
from strongroom.conformance.helpers import all_messages, at, new_talk, say, walk
from strongroom.errors import InvalidArgument, InvalidText, LimitExceeded
from strongroom.transports.database_errors import database_error
from strongroom.transports.psycopg import Connection
from tests.servers import Database


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("\\u0000", InvalidText),
        # For half a pair PostgreSQL has no state but that of JSON which is no JSON.
        ("\\ud83d", InvalidArgument),
        ("\\ude00", InvalidArgument),
        ("\\ude00\\ud83d", InvalidArgument),
    ],
)
async def test_what_the_database_says_of_such_text_is_our_error_b47_b49(
    database: Database, text: str, kind: type[InvalidArgument]
) -> None:
    """Other clients send JSON as it is; the database's own refusal becomes one of our errors."""
    with database.connect() as connection, pytest.raises(psycopg.Error) as caught:
        connection.execute(
            "select * from strongroom.append_messages('t', 'c', %s::jsonb)",
            [f'[{{"role": "user", "parts": [{{"type": "text", "text": "{text}"}}]}}]'],
        )
    ours = database_error(caught.value.sqlstate, str(caught.value))
    assert type(ours) is kind


async def test_emoji_as_escaped_pairs_are_the_same_text_b49(
    database: Database, store: Strongroom
) -> None:
    """A JavaScript client may escape what Python sends as it is."""
    talk = await new_talk(store)
    text = "👩‍👩‍👧‍👦 שלום e\u0301 👍🏽"
    message = [
        {"id": "m", "role": "user", "parts": [{"type": "text", "text": text, "schema_version": 1}]}
    ]
    outcomes = []
    with database.connect(user=database.host) as connection:
        for ascii_only in (True, False):
            row = connection.execute(
                "select outcome from strongroom.append_messages(%s, %s, %s::jsonb)",
                [talk.tenant_id, talk.id, json.dumps(message, ensure_ascii=ascii_only)],
            ).fetchone()
            outcomes.append(row[0] if row else None)
    assert outcomes == ["inserted", "duplicate"]
    stored = (await all_messages(store, talk))[0]
    assert stored.parts[0].to_json()["text"] == text


LONG_IN_SQL = {
    "tenant": "select strongroom.create_tenant(%(x)s, 'n')",
    "conversation": "select strongroom.create_conversation(%(t)s, 'ada', %(x)s)",
    "owner": "select strongroom.create_conversation(%(t)s, %(x)s)",
    "external_ref": "select strongroom.create_conversation(%(t)s, 'ada', p_external_ref => %(x)s)",
    "participant": "select strongroom.create_conversation("
    "%(t)s, 'ada', p_participant_ids => array[%(x)s])",
    "member": "select strongroom.add_member(%(t)s, %(x)s)",
    "membership": "select strongroom.add_member(%(t)s, 'ada', p_membership_id => %(x)s)",
    "message": "select strongroom.append_messages(%(t)s, %(c)s, jsonb_build_array("
    "jsonb_build_object('id', %(x)s::text, 'role', 'user', 'parts', %(parts)s::jsonb)))",
    "summary": "select strongroom.append_thread_summary(%(t)s, %(c)s, 's', 1, %(x)s)",
    "fork": "select strongroom.fork_conversation(%(t)s, %(c)s, %(x)s)",
}


@pytest.mark.parametrize("what", sorted(LONG_IN_SQL))
async def test_long_names_are_our_error_in_sql_too_b53(
    database: Database, store: Strongroom, what: str
) -> None:
    talk = await new_talk(store)
    await say(store, talk, "1")
    long = "".join(random.choices(string.ascii_letters, k=5_000))
    with database.connect(user=database.host) as connection, pytest.raises(psycopg.Error) as caught:
        connection.execute(
            LONG_IN_SQL[what],
            {
                "t": talk.tenant_id,
                "c": talk.id,
                "x": long,
                "parts": '[{"type": "text", "text": "x", "schema_version": 1}]',
            },
        )
    assert caught.value.sqlstate == LimitExceeded.code


async def test_positions_and_versions_beyond_javascript_are_exact_b55(
    store: Strongroom, admin: Connection
) -> None:
    huge = 2**53 + 1
    talk = await new_talk(store)
    await admin.execute(
        "update strongroom.conversations set version = %s where id = %s", [huge, talk.id]
    )
    await admin.execute(
        "insert into strongroom.messages (tenant_id, conversation_id, position, id, role, parts)"
        " values (%s, %s, %s, 'huge', 'user',"
        """ '[{"type": "text", "schema_version": 1, "text": "far"}]')""",
        [talk.tenant_id, talk.id, huge],
    )
    done = await say(store, talk, "a", "b", "c")
    assert [item.position for item in done.items] == [huge + 1, huge + 2, huge + 3]
    rows = await walk(lambda **page: store.messages.list(**at(talk), **page), limit=1, back=True)
    assert [row.position for row in rows] == [huge, huge + 1, huge + 2, huge + 3]
    polled = await store.messages.list(**at(talk), after_position=huge + 2)
    assert [row.position for row in polled.items] == [huge + 3]
    changed = await store.conversations.update(**at(talk), title="x", expected_version=huge)
    assert changed.version == huge + 1
    await admin.execute(
        "insert into strongroom.session_states (tenant_id, conversation_id, state, version)"
        " values (%s, %s, '{}', %s)",
        [talk.tenant_id, talk.id, huge],
    )
    state = await store.session_state.patch(**at(talk), patch={"a": 1}, expected_version=huge)
    assert state.version == huge + 1


async def test_every_number_that_browsers_get_is_documented_as_safe_b55(admin: Connection) -> None:
    """Ids are text; the bigints that are left count things of one record, and say what they count."""
    cursor = await admin.execute(
        """select
            format('%s.%s', c.relname, a.attname),
            a.attname::text,
            col_description(c.oid, a.attnum),
            (
                select coalesce(string_agg(pg_get_constraintdef(k.oid), ' '), '')
                from pg_catalog.pg_constraint as k
                where k.conrelid = c.oid
                    and k.contype = 'c'
                    and a.attnum = any (k.conkey)
            )
        from pg_catalog.pg_attribute as a
        join pg_catalog.pg_class as c on c.oid = a.attrelid
        where c.relnamespace = 'strongroom'::regnamespace
            and c.relkind in ('r', 'p')
            and a.atttypid = 'bigint'::regtype
            and not a.attisdropped"""
    )
    rows = await cursor.fetchall()
    assert rows
    counts = {"position", "version", "number", "sequence", "resumes_after", "generation"}
    measures = {"bytes", "count", "seconds", "tokens", "cost"}
    for name, column, comment, checks in rows:
        kind = column.rpartition("_")[2]
        # Claim tokens come from sequences, which end before a browser loses a digit.
        assert kind in {*counts, *measures, "token"} or column in counts, (
            f"{name} is a bigint that counts something else"
        )
        if kind in measures:
            # Nothing of ours counts these up one by one: a CHECK holds them below 2^53.
            most = re.findall(rf"\b{column} <= '?(\d+)", checks)
            assert most, f"{name} has no upper limit"
            assert min(map(int, most)) < 2**53, name
        assert comment, name
    ends = await admin.execute(
        "select s.seqrelid::regclass::text, s.seqmax from pg_catalog.pg_sequence as s"
        " where s.seqrelid::regclass::text like 'strongroom.%'"
    )
    tokens = await ends.fetchall()
    assert len(tokens) == 5
    assert [name for name, last in tokens if last >= 2**53] == []
    comments = {name: comment for name, _, comment, _ in rows}
    assert "JavaScript" in comments["messages.position"]


async def test_a_count_is_made_in_the_database_b43(store: Strongroom, admin: Connection) -> None:
    talk = await new_talk(store)
    for _ in range(3):
        await say(store, talk, *("x" for _ in range(500)))
    assert await store.messages.count(**at(talk)) == 1500
    cursor = await admin.execute(
        "select count(*) from strongroom.messages where conversation_id = %s", [talk.id]
    )
    assert await cursor.fetchone() == (1500,)


AMBIGUOUS = ["now", "tomorrow", "infinity", "2/3/2026 10:00Z", "2026-02-03", "2026-02-03T10:00:00"]


async def test_a_moment_is_the_same_in_every_time_zone(
    database: Database, store: Strongroom
) -> None:
    """What a cast takes, and each session reads otherwise, is refused; what is clear is one moment."""
    talk = await new_talk(store)
    calls = {
        "events[0].occurred_at": "select strongroom.record_usage("
        "%(t)s, jsonb_build_array(jsonb_build_object('occurred_at', %(x)s::text)))",
        "fact.expires_at": "select strongroom.put_memory(%(t)s, 'ada', jsonb_build_object("
        "'text', 'x', 'source', 'extracted', 'expires_at', %(x)s::text))",
    }
    with database.connect(user=database.host) as connection:
        for zone, style in (("Asia/Kolkata", "German"), ("America/New_York", "SQL, MDY")):
            connection.execute(f"set timezone = '{zone}'; set datestyle = '{style}'".encode())
            for path, call in calls.items():
                for text in [*AMBIGUOUS, "2026-02-30T10:00:00Z", "0000-01-01T00:00:00Z", ""]:
                    with pytest.raises(psycopg.Error) as caught:
                        connection.execute(call.encode(), {"t": talk.tenant_id, "x": text})
                    assert caught.value.sqlstate == InvalidArgument.code, text
                    assert json.loads(caught.value.diag.message_detail or "")["path"] == path
            for text in (
                "2026-02-03T10:00:00Z",
                "2026-02-03 05:00-05",
                "2026-02-03t15:30:00.0+05:30",
            ):
                connection.execute(
                    calls["events[0].occurred_at"].encode(), {"t": talk.tenant_id, "x": text}
                )
    (day,) = (await store.usage.rollup(tenant_id=talk.tenant_id, by="day")).items
    assert (day.key, day.event_count) == ("2026-02-03", 6)
    moments = {use.occurred_at for use in (await store.usage.list(tenant_id=talk.tenant_id)).items}
    assert len(moments) == 1
