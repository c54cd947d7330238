"""Every change that somebody makes by hand is named, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom.drift import (
    Drift,
    Fingerprint,
    expected_objects,
    find_drift,
    hash_objects,
    make_fingerprint,
)
from tests.migrations.steps import FINGERPRINT, STEPS, drifts, objects, query
from tests.migrations.stories import FIRST_OBJECT
from tests.servers import Database

CHANGES = [
    (
        "drop index strongroom.conversations_by_owner",
        "missing: index strongroom.conversations_by_owner",
    ),
    (
        "create index slow on strongroom.messages (created_at)",
        "unexpected: index strongroom.slow",
    ),
    (
        (
            "create or replace function strongroom_private.is_trusted() returns boolean"
            " language plpgsql stable set search_path = pg_catalog, pg_temp"
            " as 'begin return true; end'"
        ),
        "changed: function strongroom_private.is_trusted()",
    ),
    (
        "alter function strongroom_private.is_trusted() reset search_path",
        "changed: function strongroom_private.is_trusted()",
    ),
    (
        "alter function strongroom.find_tenant(text) security definer",
        "changed: function strongroom.find_tenant(text)",
    ),
    (
        "create function strongroom.find_tenant(integer) returns int language sql as 'select 1'",
        "unexpected: function strongroom.find_tenant(integer)",
    ),
    (
        "drop policy readers_read on strongroom.messages",
        "missing: policy strongroom.messages.readers_read",
    ),
    (
        "alter policy readers_read on strongroom.messages using (true)",
        "changed: policy strongroom.messages.readers_read",
    ),
    (
        "alter policy readers_read on strongroom.messages to authenticated",
        "changed: policy strongroom.messages.readers_read",
    ),
    (
        "create policy open on strongroom.messages for select using (true)",
        "unexpected: policy strongroom.messages.open",
    ),
    (
        "alter table strongroom.messages disable row level security",
        "changed: table strongroom.messages",
    ),
    (
        "alter table strongroom.messages no force row level security",
        "changed: table strongroom.messages",
    ),
    ("alter table strongroom.messages replica identity full", "changed: table strongroom.messages"),
    ("alter table strongroom.messages set unlogged", "changed: table strongroom.messages"),
    (
        "alter table strongroom.messages add column mood text",
        "unexpected: column strongroom.messages.mood",
    ),
    (
        "alter table strongroom.messages drop column turn",
        "missing: column strongroom.messages.turn",
        "missing: constraint strongroom.messages.turn_is_not_negative",
    ),
    (
        "alter table strongroom.tenants alter column status set default 'suspended'",
        "changed: column strongroom.tenants.status",
    ),
    (
        "alter table strongroom.tenants alter column metadata drop not null",
        "changed: column strongroom.tenants.metadata",
    ),
    (
        "alter table strongroom.session_states alter column last_write_id type varchar(90)",
        "changed: column strongroom.session_states.last_write_id",
    ),
    (
        'alter table strongroom.session_states alter column last_write_id type text collate "POSIX"',
        "changed: column strongroom.session_states.last_write_id",
    ),
    (
        "alter table strongroom.messages drop constraint parts_are_typed",
        "missing: constraint strongroom.messages.parts_are_typed",
    ),
    (
        "alter table strongroom.messages disable trigger messages_are_insert_only",
        "changed: trigger strongroom.messages.messages_are_insert_only",
    ),
    (
        "drop trigger messages_are_insert_only on strongroom.messages",
        "missing: trigger strongroom.messages.messages_are_insert_only",
    ),
    (
        "create rule quiet as on delete to strongroom.messages do instead nothing",
        "unexpected: rule strongroom.messages.quiet",
    ),
    (
        (
            "create or replace view strongroom.message_parts with (security_invoker = true) as"
            " select m.tenant_id, m.conversation_id, m.position, m.id as message_id,"
            " p.place as part_index, p.part ->> 'type' as type, p.part from strongroom.messages as m"
            " cross join lateral jsonb_array_elements(m.parts) with ordinality as p (part, place)"
        ),
        "changed: view strongroom.message_parts",
    ),
    (
        "alter view strongroom.message_parts set (security_invoker = false)",
        "changed: view strongroom.message_parts",
    ),
    (
        "alter type strongroom.created_conversation add attribute mood text",
        "changed: type strongroom.created_conversation",
    ),
    ("create table strongroom.notes (id int primary key)", "unexpected: table strongroom.notes"),
    (
        "alter sequence strongroom.claim_tokens increment by -1 minvalue -9 maxvalue 9 start 1 cycle",
        "changed: sequence strongroom.claim_tokens",
    ),
    (
        "create sequence strongroom_private.counter",
        "unexpected: sequence strongroom_private.counter",
    ),
    ("create type strongroom.mood as enum ('good')", "unexpected: type strongroom.mood"),
    (
        "comment on table strongroom.messages is null",
        "missing: comment table strongroom.messages",
    ),
    (
        "comment on column strongroom.messages.id is 'Something else.'",
        "changed: comment column strongroom.messages.id",
    ),
    (
        "drop function strongroom_private.merge_json(jsonb, jsonb)",
        "missing: function strongroom_private.merge_json(jsonb, jsonb)",
    ),
    (
        "drop table strongroom.thread_summaries",
        "missing: table strongroom.thread_summaries",
    ),
    (
        "alter table strongroom.chunks drop column embedding",
        "missing: column strongroom.chunks.embedding",
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change[-1])
def test_a_change_by_hand_is_named(change: tuple[str, ...], database: Database) -> None:
    statement, *named = change
    with database.connect() as connection:
        connection.execute(statement.encode())
    assert drifts(database) == named


def test_what_a_dba_tunes_is_no_drift(database: Database) -> None:
    with database.connect() as connection:
        connection.execute("alter table strongroom.messages set (autovacuum_vacuum_threshold = 9)")
        connection.execute(
            "alter table strongroom.messages alter column parts set storage external"
        )
        connection.execute("alter table strongroom.messages alter column role set statistics 500")
        connection.execute("create statistics public.s on role, run_id from strongroom.messages")
        connection.execute("grant select on strongroom.messages to authenticated")
        connection.execute("analyze strongroom.messages")
        connection.execute("drop index strongroom.chunks_near_in_384_dimensions")
        connection.execute("select strongroom_private.create_vector_index(7)")
        connection.execute("select strongroom_private.create_vector_index(4000)")
    assert drifts(database) == []


def test_what_users_build_outside_is_no_drift(database: Database) -> None:
    with database.connect() as connection:
        connection.execute(
            'create table public.notes (tenant_id text collate "C" references strongroom.tenants)'
        )
        connection.execute("create view public.talks as select * from strongroom.conversations")
    assert drifts(database) == []


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_partly_migrated_database_is_measured_by_its_version(
    step: object, make_database: Callable[..., Database]
) -> None:
    version = STEPS.index(step) + 1  # type: ignore[arg-type]
    database = make_database(version=version)
    assert drifts(database, version) == []
    if version < len(STEPS):
        assert f"missing: {FIRST_OBJECT[version + 1]}" in drifts(database)
    if version > 1:
        assert f"unexpected: {FIRST_OBJECT[version]}" in drifts(database, version - 1)


def test_an_empty_database_has_no_drift_at_version_0(empty_database: Database) -> None:
    assert objects(empty_database) == []
    assert drifts(empty_database, 0) == []
    assert "missing: schema strongroom" in drifts(empty_database)


def test_every_object_and_comment_of_both_schemas_is_covered(database: Database) -> None:
    """By PostgreSQL's own list of dependencies: what hangs on the schemas is in the fingerprint."""
    known = set(FINGERPRINT["objects"])
    found = query(
        database,
        """
        select i.type, i.identity
        from pg_depend as d
        cross join pg_identify_object(d.classid, d.objid, d.objsubid) as i
        where d.refclassid = 'pg_namespace'::regclass
            and d.refobjid in ('strongroom'::regnamespace, 'strongroom_private'::regnamespace)
            and i.type not in ('type')
        """,
    )
    assert len(found) > 100
    # Which numbers of dimensions are indexed is the administrator's choice, and in no fingerprint.
    found = [(kind, identity) for kind, identity in found if "chunks_near_in" not in identity]
    kinds = {"composite type": "type"}
    for kind, identity in found:
        name = identity.split("(")[0]
        matching = [key for key in known if key.split("(")[0] == f"{kinds.get(kind, kind)} {name}"]
        assert len(matching) == 1, identity
    comments = query(
        database,
        "select count(*) from pg_description as d cross join"
        " pg_identify_object(d.classoid, d.objoid, d.objsubid) as i"
        " where (i.schema like 'strongroom%' or i.identity ~ '^strongroom|on strongroom')"
        " and i.identity !~ 'chunks_near_in'",
    )
    assert comments == [(sum(key.startswith("comment ") for key in known),)]


# The arithmetic of versions, without a server.

HISTORY: Fingerprint = make_fingerprint(
    [
        (1, [("table", "s.a", "one"), ("function", "s.f()", "old"), ("view", "s.v", "gone soon")]),
        (2, [("table", "s.a", "one"), ("function", "s.f()", "new"), ("index", "s.i", "i")]),
        (3, [("table", "s.a", "one"), ("function", "s.f()", "new"), ("index", "s.i", "i")]),
    ]
)


def test_a_fingerprint_holds_what_each_version_changes() -> None:
    assert HISTORY["version"] == 3
    assert {key: list(history) for key, history in HISTORY["objects"].items()} == {
        "function s.f()": ["1", "2"],
        "index s.i": ["2"],
        "table s.a": ["1"],
        "view s.v": ["1", "2"],
    }
    assert HISTORY["objects"]["view s.v"]["2"] is None


def test_expectations_follow_the_version() -> None:
    assert expected_objects(HISTORY, 0) == {}
    assert set(expected_objects(HISTORY, 1)) == {"table s.a", "function s.f()", "view s.v"}
    assert set(expected_objects(HISTORY, 2)) == {"table s.a", "function s.f()", "index s.i"}
    assert expected_objects(HISTORY, 2) == expected_objects(HISTORY, 3)
    old, new = hash_objects([("function", "s.f()", "old"), ("function", "s.g()", "new")]).values()
    assert expected_objects(HISTORY, 1)["function s.f()"] == old
    assert expected_objects(HISTORY, 2)["function s.f()"] == new


def test_a_skipped_migration_is_not_expected() -> None:
    assert expected_objects(HISTORY, 3, skipped=[2]) == expected_objects(HISTORY, 1)


def test_consequences_are_left_out() -> None:
    rows = [("table", "s.new", ""), ("column", "s.new.id", ""), ("comment", "table s.new", "")]
    assert find_drift(rows, {"version": 1, "objects": {}}, 1) == [
        Drift("table", "s.new", "unexpected")
    ]
    gone = make_fingerprint([(1, [*rows, ("table", "s.old", ""), ("column", "s.old.id", "")])])
    assert find_drift(rows, gone, 1) == [Drift("table", "s.old", "missing")]
    assert find_drift([*rows, ("table", "s.old", "")], gone, 1) == [
        Drift("column", "s.old.id", "missing")
    ]
