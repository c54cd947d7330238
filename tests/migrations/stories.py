"""What people do with strongroom, in SQL: the least that must work however it was installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg

from tests.migrations.steps import VERSIONS, query, skipped
from tests.servers import Database

_HELLO = json.dumps(
    [
        {
            "id": "m1",
            "role": "user",
            "parts": [{"type": "text", "schema_version": 1, "text": "Grüße 🌍"}],
        }
    ]
)

FIRST_TABLE = {
    1: "strongroom.tenants",
    2: "strongroom.conversations",
    3: "strongroom.usage_events",
    4: "strongroom.runs",
    5: "strongroom.jobs",
    6: "strongroom.agents",
    7: "strongroom.memories",
    8: "strongroom.evaluation_cases",
    9: "strongroom.collections",
    10: "strongroom.chunks",
    11: "strongroom.blob_removals",
    12: "strongroom.artifacts",
    13: "strongroom.deletion_receipts",
    14: "strongroom.conversation_changes",
    15: "strongroom.transcripts",
    16: "strongroom.framework_sessions",
}
"""The first table that each version makes or adds to: its way back names it when it would lose rows."""

FIRST_OBJECT = {version: f"table {table}" for version, table in FIRST_TABLE.items()} | {
    10: "column strongroom.chunks.embedding"
}

_FILL: dict[int, list[LiteralString]] = {
    1: [
        "select * from strongroom.create_tenant('acme', 'Acme')",
        "select * from strongroom.create_tenant('umbrella', 'Umbrella', '{\"tier\": 2}')",
        "select * from strongroom.add_member('acme', 'ada', '{admin}', 'membership-1')",
        "select * from strongroom.seal_audit('acme')",
    ],
    2: [
        (
            "select * from strongroom.create_conversation('acme', 'ada', 'talk', 'Returns', 'ref-1',"
            " p_participant_ids => '{grace}')"
        ),
        "select * from strongroom.create_conversation('umbrella', 'eve', 'talk')",
        (
            "select * from strongroom.append_messages('acme', 'talk', '[{\"id\": \"m0\","
            ' "role": "user", "parts": [{"type": "text", "schema_version": 1, "text": "Hi"}]}]\')'
        ),
        "select * from strongroom.put_session_state('acme', 'talk', '{\"step\": 1}', 0)",
        "select * from strongroom.append_thread_summary('acme', 'talk', 'A greeting.', 1, 's1')",
    ],
    3: [
        "select set_config('strongroom.tenant_id', 'acme', false)",
        (
            'select * from strongroom.record_usage(\'acme\', \'[{"id": "usage-1",'
            ' "conversation_id": "talk", "input_tokens": 7}]\')'
        ),
        "select * from strongroom.record_usage('umbrella', '[{\"id\": \"usage-1\"}]')",
        "select * from strongroom.seal_audit('acme')",
    ],
    4: [
        "select * from strongroom.create_run('acme', 'talk', 'run-1')",
        "select * from strongroom.create_run('acme', 'talk', 'run-2')",
        "select * from strongroom.create_run('umbrella', 'talk', 'run-1')",
        "select * from strongroom.claim_next_runs('worker', 60, 10)",
        (
            "select e.* from strongroom.find_run('acme', 'run-1') as r,"
            " strongroom.append_run_events('acme', r.id, r.claim_token,"
            ' \'[{"id": "e1", "kind": "text-delta", "data": {"text": "Hel"}}]\') as e'
        ),
        (
            "select c.* from strongroom.find_run('acme', 'run-1') as r,"
            " strongroom.save_checkpoint('acme', r.id, r.claim_token, 0, '{\"step\": 1}',"
            " p_checkpoint_id => 'k1') as c"
        ),
        (
            "select i.* from strongroom.find_run('acme', 'run-1') as r,"
            " strongroom.create_interaction('acme', r.id, r.claim_token, 'approval', 'i1',"
            " p_tool_name => 'refund', p_input => '{\"parcel\": 7}') as i"
        ),
        "select * from strongroom.decide_approval('acme', 'i1', 'allow-always', 'ada')",
    ],
    5: [
        "select * from strongroom.enqueue_job('acme', 'send', '{\"to\": \"ada\"}', 'mail', 'job-1')",
        "select * from strongroom.enqueue_job('umbrella', 'send', '{}', 'mail', 'job-1')",
        "select * from strongroom.claim_jobs('worker', '{mail}', 60, 1, p_tenant_id => 'acme')",
        "select * from strongroom.acquire_lock('acme', 'nightly', 'worker', 60)",
        "select * from strongroom.acquire_lock('umbrella', 'nightly', 'worker', 60)",
        'select * from strongroom.publish_events(\'acme\', \'talk\', \'[{"id": "t1", "kind": "said"}]\')',
        (
            "select * from strongroom.publish_events('umbrella', 'talk',"
            ' \'[{"id": "t1", "kind": "said", "payload": {"message_id": "m0"}}]\')'
        ),
    ],
    6: [
        "select * from strongroom.create_agent('acme', 'Support', 'support', 'Answers.')",
        "select * from strongroom.create_agent('umbrella', 'Support', 'support')",
        "select * from strongroom.publish_agent_version('acme', 'support', '{\"model\": \"m\"}', 'av1')",
        "select * from strongroom.create_skill('acme', 'Refunds', 'refunds')",
        "select * from strongroom.publish_skill_version('acme', 'refunds', '{\"steps\": []}', 'sv1')",
        "select * from strongroom.create_skill('acme', 'Gone', 'gone')",
        "select * from strongroom.purge_skill('acme', 'gone')",
    ],
    7: [
        (
            "select * from strongroom.put_memory('acme', 'ada',"
            ' \'{"id": "f1", "text": "Likes cats", "source": "extracted", "key": "pet"}\')'
        ),
        (
            "select * from strongroom.put_memory('acme', 'ada',"
            ' \'{"id": "f2", "text": "Likes tea", "source": "user-stated",'
            ' "embedding": [1, 0.5], "embedding_model": "m"}\')'
        ),
        "select * from strongroom.delete_memory('acme', 'ada', 'f1')",
        "select * from strongroom.disable_memory('umbrella', 'eve', 'root')",
    ],
    8: [
        "select * from strongroom.create_evaluation_case('acme', 'Refund', '\"Where?\"', 'c1')",
        "select * from strongroom.create_evaluation_case('umbrella', 'Refund', '1', 'c1')",
        "select * from strongroom.start_evaluation_run('acme', '[{\"case_id\": \"c1\"}]', 'e1')",
        (
            "select * from strongroom.record_evaluation_results('acme', 'e1', '[{\"id\": \"r1\","
            ' "case_id": "c1", "passed": true, "scores": {"tone": 0.5},'
            ' "source_conversation_id": "talk"}]\')'
        ),
        "select * from strongroom.finish_evaluation_run('acme', 'e1', 'completed')",
    ],
    9: [
        (
            "select * from strongroom.create_collection('acme', 'docs', 'docs', 'english',"
            " 'model', '1', 3)"
        ),
        "select * from strongroom.create_collection('umbrella', 'docs', 'docs')",
        (
            "select * from strongroom.replace_source('acme', 'docs', 'a.md',"
            ' \'[{"content": "Where is my parcel?"}, {"content": "On its way."}]\', \'source\')'
        ),
        (
            "select * from strongroom.replace_source('umbrella', 'docs', 'a.md',"
            " '[{\"content\": \"No parcels here.\"}]', 'source')"
        ),
        "select * from strongroom.search_knowledge('acme', 'docs', p_text => 'parcels')",
    ],
    10: [
        (
            "select e.* from strongroom.find_source('acme', 'source') as s,"
            " strongroom.put_embeddings('acme', s.id, '[[1, 0, 0], [0, 1, 0]]', 'model', '1', 3,"
            " s.version) as e"
        ),
        "select * from strongroom.search_knowledge('acme', 'docs', p_embedding => '[1, 1, 0]')",
    ],
    11: [
        (
            "select * from strongroom.create_file('acme', 'ada', 'notes/plan.txt', 'text/plain',"
            " 'talk', 'file-1', 'key-1')"
        ),
        (
            "select * from strongroom.set_file_version_state('acme', 'file-1', 1, 'pending', 'stored',"
            " 3, repeat('0', 64))"
        ),
        (
            "select * from strongroom.add_file_version('acme', 'file-1', 1, 'text/plain', 'v2',"
            " 'key-2')"
        ),
        (
            "select * from strongroom.create_file('umbrella', 'eve', 'x', 'text/plain',"
            " p_file_id => 'file-1', p_blob_key => 'key-1')"
        ),
        "select * from strongroom.schedule_blob_removal('acme', 'orphan')",
        "select * from strongroom.schedule_blob_removal('gone', 'orphan')",
        "select * from strongroom.claim_blob_removals('worker', p_tenant_id => 'acme')",
    ],
    12: [
        (
            "select * from strongroom.create_artifact('acme', 'report.md', 'talk',"
            " p_artifact_id => 'a1', p_text => 'One')"
        ),
        (
            "select * from strongroom.create_artifact('umbrella', 'plan.json', p_owner_id => 'eve',"
            " p_artifact_id => 'a1', p_value => '{\"step\": 1}')"
        ),
        (
            "select * from strongroom.add_artifact_version('acme', 'a1', 1, 'v2', p_text => 'Two',"
            ' p_provenance => \'{"source_artifact_id": "a1", "source_version": 1}\')'
        ),
        "select * from strongroom.claim_artifact_export('acme', 'a1', 2, 'pdf', 'worker')",
        (
            "select * from strongroom.put_tool_output('acme', 'talk', p_text => 'A long listing.',"
            " p_tool_name => 'list')"
        ),
    ],
    13: [
        "select * from strongroom.create_conversation('umbrella', 'gone', 'short')",
        "select * from strongroom.erase_principal('umbrella', 'gone', p_receipt_id => 'r1')",
        "select * from strongroom.create_conversation('acme', 'gone', 'short')",
        "select * from strongroom.erase_principal('acme', 'gone', p_receipt_id => 'r1')",
        "select * from strongroom.set_retention_policy('acme', 'jobs', 86400, 0)",
    ],
    14: ["select * from strongroom.diagnose_realtime()"],
    15: [
        "select * from strongroom.save_transcript('acme', 'scope', '[{\"role\": \"user\"}, null]')",
        "select * from strongroom.save_transcript('umbrella', 'scope', '[1]')",
        "select * from strongroom.append_memory_session('acme', 's', 'r', 0, '[1, 2]', 'a', 'ada')",
        "select * from strongroom.record_memory_session_error('acme', 's', 'r', '{}', '[3]', 'e', 'ada')",
    ],
    16: [
        (
            "select * from strongroom.append_framework_records('acme', 'mine', '{session}',"
            ' \'[{"key": "a", "content": {"n": 1}}]\', p_principal_id => \'ada\')'
        ),
        (
            "select * from strongroom.append_framework_records('umbrella', 'mine', '{session}',"
            ' \'[{"key": "a", "content": {"n": 1}}]\')'
        ),
        (
            "select * from strongroom.put_framework_records('acme', 'mine', '[{\"path\": [\"n\"],"
            ' "collection": "values", "key": "k", "data": 0, "ttl_seconds": 900,'
            " \"embeddings\": [[1, 0.5]]}]', p_data => array[decode('AAE=', 'base64')])"
        ),
    ],
}


_FILL_AS_OWNER: dict[int, list[LiteralString]] = {
    14: [
        "select set_config('strongroom.tenant_id', 'acme', false)",
        (
            "insert into strongroom.conversation_changes (tenant_id, conversation_id, kind, record_id,"
            " sequence) values ('acme', 'talk', 'messages', 'm0', 1) on conflict do nothing"
        ),
    ]
}
"""What only triggers write, where there is Supabase Realtime."""


def fill(database: Database, version: int) -> None:
    """Write what a database of this version can hold, as a host; nothing where it was skipped."""
    if version in skipped(database):
        return
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        for statement in _FILL[version]:
            connection.execute(statement)
    with psycopg.connect(database.migrator_url, autocommit=True) as connection:
        for statement in _FILL_AS_OWNER.get(version, []):
            connection.execute(statement)


def fill_all(database: Database, *, after: int = 0) -> None:
    """Write what the newest version can hold, as a host."""
    for version in VERSIONS[after:]:
        fill(database, version)


def contents(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table but the grants and the history, which migrations write."""
    tables = query(
        database,
        "select c.oid::regclass::text from pg_class as c where c.relkind = 'r'"
        " and c.relnamespace = 'strongroom'::regnamespace and c.relname <> 'schema_history'"
        " order by 1",
    )
    return {
        table: sorted(
            (row for (row,) in query(database, f"select to_jsonb(t) from {table} as t")), key=str
        )
        for (table,) in tables
    }


@contextmanager
def as_host(database: Database) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.host_url, autocommit=True) as connection:
        yield connection


@contextmanager
def as_user(database: Database, principal: str, tenant: str) -> Iterator[psycopg.Connection]:
    """One request, as PostgREST makes it."""
    claims = {"sub": principal, "role": "authenticated", "app_metadata": {"tenant_id": tenant}}
    with psycopg.connect(database.url(user="authenticator")) as connection:
        connection.execute("set local role authenticated")
        connection.execute(
            "select set_config('request.jwt.claims', %s, true)", [json.dumps(claims)]
        )
        yield connection


def refused(connection: psycopg.Connection, statement: LiteralString) -> str | None:
    """Run what must be refused, and return the SQLSTATE."""
    try:
        connection.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def create(connection: psycopg.Connection, tenant: str, owner: str, conversation: str) -> Any:
    row = connection.execute(
        "select outcome from strongroom.create_conversation(%s, %s, %s)",
        [tenant, owner, conversation],
    ).fetchone()
    return row and row[0]


def append(connection: psycopg.Connection, tenant: str, conversation: str) -> Any:
    return connection.execute(
        "select outcome, position from strongroom.append_messages(%s, %s, %s::jsonb)",
        [tenant, conversation, _HELLO],
    ).fetchall()


def texts(connection: psycopg.Connection, tenant: str, conversation: str) -> Any:
    return connection.execute(
        "select parts -> 0 ->> 'text' from strongroom.list_messages(%s, %s)",
        [tenant, conversation],
    ).fetchall()


def conversations(connection: psycopg.Connection, tenant: str) -> list[str]:
    rows = connection.execute(
        "select id from strongroom.list_conversations(%s)", [tenant]
    ).fetchall()
    return [row[0] for row in rows]
