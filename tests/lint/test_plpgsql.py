"""plpgsql_check looks into every body, with all its warnings on; what stays is listed with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable

import psycopg
import pytest

from tests.servers import Database, require

CHECK = """
    select format('%s.%s', p.pronamespace::regnamespace, p.proname), c.level, c.message, c.detail
    from pg_proc as p
    join pg_language as l on l.oid = p.prolang
    left join lateral (
        select distinct t.tgrelid, t.tgnewtable, t.tgoldtable
        from pg_trigger as t
        where t.tgfoid = p.oid
    ) as used on true
    cross join lateral plpgsql_check_function_tb(
        p.oid,
        coalesce(used.tgrelid, 0),
        newtable => used.tgnewtable,
        oldtable => used.tgoldtable,
        fatal_errors => false,
        other_warnings => true,
        extra_warnings => true,
        performance_warnings => true,
        security_warnings => true,
        compatibility_warnings => true
    ) as c
    where l.lanname = 'plpgsql'
        and p.pronamespace::regnamespace::text in ('strongroom', 'strongroom_private')
        and (p.prorettype <> 'trigger'::regtype or used.tgrelid is not null)
    order by 1, 3
"""

# function (regular expression), message (regular expression), reason
EXCEPTIONS = [
    (
        r"strongroom_private\.fail",
        r"routine is marked as STABLE, should be IMMUTABLE",
        "the planner would call an immutable one ahead of time, and raise in a branch not taken",
    ),
    (
        r"strongroom_private\.apply_grants",
        r"text type variable is not sanitized",
        "a grant's words are held by CHECKs, and names come from a table that only the owner writes",
    ),
    (
        r"strongroom_private\.rank_by_index",
        r"text type variable is not sanitized",
        "what stands there unquoted is an integer, the number of dimensions",
    ),
    (
        r"strongroom(_private)?\.(publish_blob_reference|is_referenced_blob|list_blob_references)",
        r"text type variable is not sanitized",
        "the condition on living rows is an expression, and only migrations write it",
    ),
    (
        r"strongroom_private\.is_referenced_blob",
        r"routine is marked as VOLATILE, should be STABLE",
        "a stable one would look with the snapshot of its caller, which may be older than the lock",
    ),
    (
        r"strongroom_private\.(lock_conversations_of|sweep_records)",
        r"text type variable is not sanitized",
        "names and conditions come from tables of rules that only migrations write",
    ),
    (
        r"strongroom_private\.undo_dry_run",
        r"routine is marked as VOLATILE, should be IMMUTABLE",
        "it raises: an immutable one might be called ahead of time",
    ),
    (
        r"strongroom_private\.schedule_call",
        r"(routine is marked as VOLATILE, should be STABLE|text type variable is not sanitized)",
        "pg_cron's function writes, and its name comes from the catalog",
    ),
    (
        r"strongroom_private\.apply_(realtime|storage)",
        r"immutable expression without parameters found: the EXECUTE command is not necessary",
        "what it names is the platform's, and not there before the platform is",
    ),
    (
        r"strongroom_private\.(broadcast_hint|apply_storage)",
        (
            r"schema \"realtime\" does not exist|relation \"storage.buckets\" does not exist"
            r"|unused param|routine is marked as VOLATILE, should be IMMUTABLE"
        ),
        "it is called, or goes on, only where the platform's schema was found",
    ),
    (
        r"strongroom(_private)?\.\w+",
        r"target type is different type than source type: cast \"(name|integer|bigint)\" value",
        "one assignment cast per call, which always exists: name to text, integer to bigint and back",
    ),
]


@pytest.fixture
def checked(make_database: Callable[..., Database]) -> Database:
    require("plpgsql_check")
    database = make_database(server="pg15")
    with database.connect() as connection:
        connection.execute("create extension plpgsql_check")
    return database


def findings(connection: psycopg.Connection) -> list[tuple[str, str]]:
    return [
        (function, f"{message}: {detail}" if detail else message)
        for function, _level, message, detail in connection.execute(CHECK).fetchall()
    ]


def is_exempt(finding: tuple[str, str], exception: tuple[str, str, str]) -> bool:
    return bool(re.fullmatch(exception[0], finding[0]) and re.match(exception[1], finding[1]))


def test_bodies_are_clean(checked: Database) -> None:
    with checked.connect() as connection:
        found = findings(connection)
    assert [f for f in found if not any(is_exempt(f, e) for e in EXCEPTIONS)] == []


def test_every_exception_is_needed(checked: Database) -> None:
    with checked.connect() as connection:
        found = findings(connection)
    assert [e for e in EXCEPTIONS if not any(is_exempt(f, e) for f in found)] == []


def test_the_checker_looks_at_triggers_too(checked: Database) -> None:
    with checked.connect() as connection:
        connection.execute(
            """
            create or replace function strongroom_private.keep_history() returns trigger
            language plpgsql set search_path = pg_catalog, pg_temp as $$
            begin
                return old.no_such_column;
            end
            $$
            """
        )
        found = findings(connection)
    assert any(function == "strongroom_private.keep_history" for function, _ in found)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("perform t.no_such_column from strongroom.tenants as t;", "no_such_column"),
        ("perform strongroom_private.no_such_function();", "no_such_function"),
        ("v_used := 'not a number'::text;", "different type"),
    ],
)
def test_the_checker_finds(checked: Database, body: str, message: str) -> None:
    with checked.connect() as connection:
        connection.execute(
            f"""
            create function strongroom.bad() returns void language plpgsql as $$
            declare
                v_used interval;
            begin
                {body}
            end
            $$
            """.encode()
        )
        found = [said for function, said in findings(connection) if function == "strongroom.bad"]
    assert any(message in said for said in found)
