"""A database in which everything grows: copies of every row of a tenant, and what a call reads."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg

from strongroom.client import Strongroom
from strongroom.conformance.calls import Target, fill, fill_lifecycle
from strongroom.conformance.helpers import OWNER, said
from strongroom.conformance.run_helpers import claimed, held
from strongroom.models import NewChunk

# What a copy has another one of. Rows beside the original have its parents; those of another parent and
# those of another person have copies of their own, so all references of a copy are to copies.
BESIDE, ELSEWHERE, OF_OTHERS, OF_TENANTS = "beside", "elsewhere", "others", "tenants"
_KINDS = (BESIDE, ELSEWHERE, OF_OTHERS)
_PEOPLE = {
    *("owner_id", "principal_id", "user_id", "author_id", "addressee_id", "actor_id", "worker_id"),
    *("granted_by", "created_by", "resolved_by"),
}
_WORDS = {"kind", "status", "format", "role", "record", "collection", "framework", "action"}
_ONCE_A_TENANT = {"tenants", "retention_policies", "audit_seals"}
_NEVER_BESIDE = {"conversation_participants", "deletion_receipt_items", "approval_grants"}
_SPECIAL = {
    ("audit_events", "position"): "null::bigint",
    ("audit_events", "chain_digest"): "null::text",
    (
        "tool_outputs",
        "id",
    ): "b.kind || ':' || encode(sha256(convert_to(b.id || {s}, 'UTF8')), 'hex')",
    ("tool_outputs", "sha256"): "encode(sha256(convert_to(b.id || {s}, 'UTF8')), 'hex')",
}
_NUMBERED = (
    ("topics", "last_sequence", "topic_events", "sequence", "topic"),
    ("artifacts", "latest_version", "artifact_versions", "version", "artifact_id"),
    ("files", "latest_version", "file_versions", "version", "file_id"),
    ("agents", "latest_version", "agent_versions", "version", "agent_id"),
    ("skills", "latest_version", "skill_versions", "version", "skill_id"),
    ("runs", "last_event_sequence", "run_events", "sequence", "run_id"),
    ("runs", "last_checkpoint_sequence", "checkpoints", "sequence", "run_id"),
)
_COLUMNS = """
    select c.relname::text, a.attname::text, format_type(a.atttypid, null)
    from pg_class as c
    inner join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'strongroom'::regnamespace
        and c.relkind = 'r' and c.relname <> 'schema_history' and a.attgenerated = ''
    order by c.relname, a.attnum
"""
_KEYS = """
    select array(
        select a.attname::text
        from unnest(k.columns) with ordinality as n (number, place)
        inner join pg_attribute as a on a.attrelid = k.relation and a.attnum = n.number
        where a.attname <> 'tenant_id'
        order by n.place
    )
    from (
        select indrelid, string_to_array(indkey::text, ' ')::smallint[] from pg_index
        where indisunique and %(is_unique)s
        union all
        select conrelid, conkey from pg_constraint where contype = 'f' and not %(is_unique)s
    ) as k (relation, columns)
    where k.relation = ('strongroom.' || %(table)s)::regclass
"""


async def furnish(store: Strongroom) -> Target:
    """Fill a tenant with a row of every table, and with what has ended, waits or is deleted."""
    target = await fill(store)
    tenant_id, talk = target.tenant_id, target.conversation_id
    await fill_lifecycle(store, tenant_id)
    where: dict[str, Any] = {"tenant_id": tenant_id}
    await store.agents.create(**where, agent_id="gone", name="Gone")
    await store.agents.soft_delete(**where, agent_id="gone")
    await store.skills.create(**where, skill_id="gone", name="Gone")
    await store.skills.soft_delete(**where, skill_id="gone")
    for conversation_id in ("gone", "done", "queued"):
        await store.conversations.create(
            **where, owner_id=OWNER, conversation_id=conversation_id, participant_ids=["bob"]
        )
    await store.conversations.soft_delete(**where, conversation_id="gone")
    await store.messages.append(**where, conversation_id="done", messages=[said("done")])
    run = await store.runs.create(**where, conversation_id="done", run_id="done")
    await store.runs.finish(**held(await claimed(store, run)), status="completed")
    await store.runs.create(**where, conversation_id="queued", run_id="queued")
    await store.files.create(
        **where, owner_id=OWNER, path="gone", media_type="x/y", conversation_id=talk, file_id="gone"
    )
    await store.files.soft_delete(**where, file_id="gone")
    await store.artifacts.create(**target.where, name="gone", text="x", artifact_id="gone")
    await store.artifacts.soft_delete(**where, artifact_id="gone")
    await store.knowledge.replace_source(
        **where,
        collection_id=target.knowledge.collection_id,
        external_ref="gone",
        chunks=[NewChunk(content="gone")],
        source_id="gone",
    )
    await store.knowledge.soft_delete_source(**where, source_id="gone")
    await store.jobs.enqueue(**where, kind="done", queue=target.queue, job_id="done")
    (job,) = await store.jobs.claim(worker_id="w", queues=[target.queue], tenant_id=tenant_id)
    assert job.claim_token is not None
    await store.jobs.complete(**where, job_id=job.id, claim_token=job.claim_token)
    await store.jobs.enqueue(**where, kind="queued", queue=target.queue, job_id="queued")
    await store.blob_removals.schedule(**where, blob_key="claimed")
    await store.blob_removals.claim(worker_id="w", tenant_id=tenant_id)
    return target


class Grower:
    """Copies the rows that a tenant has now, as often as it is told."""

    def __init__(self, admin: psycopg.Connection, tenant_id: str) -> None:
        self._admin = admin
        self._tables: dict[str, dict[str, str]] = {}
        for table, column, kind in admin.execute(_COLUMNS).fetchall():
            self._tables.setdefault(table, {})[column] = kind
        admin.execute("create schema originals")
        for table in self._tables:
            admin.execute(
                f"create table originals.{table} as select *, row_number() over () as place"
                f" from strongroom.{table} where tenant_id = '{tenant_id}'".encode()
            )

    def grow(self, first: int, last: int, tenants: tuple[int, int]) -> None:
        """Make the copies with these numbers, and analyse all tables."""
        self._admin.execute("set session_replication_role = replica")
        for table, columns in self._tables.items():
            for kind in (*_KINDS, OF_TENANTS):
                varied = self._varied(table, columns, kind)
                if varied is not None:
                    begin, end = tenants if kind == OF_TENANTS else (first, last)
                    self._copy(table, columns, kind, varied, begin, end)
        self._admin.execute("""
            insert into strongroom_private.chunk_terms (
                tenant_id, collection_id, source_id, number, terms
            )
            select c.tenant_id, c.collection_id, c.source_id, c.number, format(
                '%L:1 ''other'':2',
                strongroom_private.encode_scope('c', c.tenant_id, c.collection_id)
            )::tsvector
            from strongroom.chunks as c
            on conflict do nothing
        """)
        for parent, mark, child, number, key in _NUMBERED:
            self._admin.execute(
                f"update strongroom.{parent} as p set {mark} = c.last"
                f" from (select tenant_id, {key} as id, max({number}) as last"
                f" from strongroom.{child} group by 1, 2) as c"
                f" where c.tenant_id = p.tenant_id and c.id = p.id and c.last > p.{mark}".encode()
            )
        self._admin.execute("set session_replication_role = origin")
        self._admin.execute("vacuum analyze")

    def _keys(self, table: str, *, is_unique: bool) -> list[list[str]]:
        given = {"table": table, "is_unique": is_unique}
        return [key for (key,) in self._admin.execute(_KEYS, given).fetchall()]

    def _varied(self, table: str, columns: dict[str, str], kind: str) -> set[str] | None:
        """Return the columns in which copies differ; None where there are no such copies."""
        if kind == OF_TENANTS:
            return {"tenant_id"}
        if table in _ONCE_A_TENANT or (kind == BESIDE and table in _NEVER_BESIDE):
            return None
        # What is generated follows from the others.
        unique = [key for key in self._keys(table, is_unique=True) if columns.keys() >= set(key)]
        in_keys = {c for key in (*unique, *self._keys(table, is_unique=False)) for c in key}
        varied: set[str] = set()
        if kind != BESIDE:
            varied = {
                column
                for column, is_of in columns.items()
                if is_of.startswith("text")
                and column != "tenant_id"
                and (column == "id" or column.endswith("_id") or column in in_keys)
                and not (kind == ELSEWHERE and column in _PEOPLE)
                and column not in _WORDS
            }
        for key in unique:
            if key and not varied.intersection(key):
                varied.add(key[-1])
        if table == "transcripts" and kind != ELSEWHERE:
            varied = varied - {"user_id"} | {"id", "name"}
        more = {"framework_sessions": {"path"}, "tool_outputs": {"id", "sha256"}}
        more |= {"audit_events": {"position", "chain_digest"}, "memberships": {"principal_id"}}
        return varied | more.get(table, set()) | ({"blob_key"} & columns.keys())

    def _copy(
        self,
        table: str,
        columns: dict[str, str],
        kind: str,
        varied: set[str],
        first: int,
        last: int,
    ) -> None:
        age = {
            BESIDE: "interval '0'",
            ELSEWHERE: "interval '2 days'",
            OF_OTHERS: "(n % 2 * 2 - 1) * interval '1 day'",
            OF_TENANTS: "interval '0'",
        }[kind]
        values = []
        for column, is_of in columns.items():
            value = f'b."{column}"'
            if column in varied:
                value = self._another(table, column, is_of, kind)
            elif column in ("created_at", "updated_at", "occurred_at", "requested_at", "due_at"):
                value += f" - n * interval '1 ms' - b.place * interval '1 h' + {age}"
            values.append(value)
        names = ", ".join(f'"{column}"' for column in columns)
        self._admin.execute(
            f"insert into strongroom.{table} ({names}) overriding system value"
            f" select {', '.join(values)} from originals.{table} as b,"
            f" generate_series({first + 1}, {last}) as n on conflict do nothing".encode()
        )

    @staticmethod
    def _another(table: str, column: str, is_of: str, kind: str) -> str:
        value, suffix = f'b."{column}"', f"'-{kind}-' || n"
        if (table, column) in _SPECIAL and kind != OF_TENANTS:
            return _SPECIAL[table, column].replace("{s}", suffix)
        if "digest" in column and is_of == "text":
            return f"encode(sha256(convert_to({value} || {suffix}, 'UTF8')), 'hex')"
        if is_of == "text[]":
            return f"{value} || ({suffix})"
        if is_of == "text":
            return f"{value} || {suffix}"
        if is_of in ("bigint", "integer"):
            step = f'(select coalesce(max("{column}"), 1) from originals.{table})'
            return f"({value} + (n * 4 + {(*_KINDS, OF_TENANTS).index(kind)}) * {step})::{is_of}"
        return value


READ: LiteralString = """
    select
        coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid) + case c.relkind
            when 'r' then pg_stat_get_xact_tuples_fetched(c.oid) else 0
        end), 0)::bigint,
        (
            select coalesce(sum(pg_stat_get_xact_function_calls(p.oid)), 0)::bigint
            from pg_proc as p
            where p.pronamespace in (
                'strongroom'::regnamespace, 'strongroom_private'::regnamespace
            )
        )
    from pg_class as c
    where c.relnamespace in ('strongroom'::regnamespace, 'strongroom_private'::regnamespace)
        and c.relkind in ('r', 'i')
"""
"""Rows and index entries that this transaction has read, and functions that it has called."""
