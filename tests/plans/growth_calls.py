"""Every public function as a call on the furnished tenant: with what it needs, and with each filter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from strongroom.conformance.calls import Target

_MESSAGE = {"role": "user", "parts": [{"type": "text", "schema_version": 1, "text": "hi"}]}
_FILTERS = {
    *("viewer_id", "viewer_role_ids", "conversation_id", "owner_id", "run_id", "status", "queue"),
    *("external_ref", "archived", "deleted", "name", "name_prefix", "path_prefix", "direction"),
    *("principal_id", "agent_id", "model", "since", "until", "actor_id", "record", "record_id"),
    *("action", "case_id", "passed", "suite", "user_id", "sensitivity", "source", "source_type"),
    *("namespace_prefix", "collection", "checkpoint_id", "exact", "key_prefix", "refresh"),
    *("embedding", "version", "sequence", "latest", "after_position", "change", "keys", "last"),
    *("source_types", "mode", "dry_run", "after_tenant_id"),
}
_ALWAYS = {
    "add_artifact_version": "text",
    "add_file_version": "blob_key",
    "append_memory_session": "user_id",
    "claim_blob_removals": "tenant_id",
    "claim_jobs": "queues tenant_id",
    "claim_next_runs": "tenant_id",
    "clear_memory_session": "user_id",
    "complete_and_claim_jobs": "queues claim_tenant_id",
    "create_artifact": "text conversation_id",
    "delete_framework_records": "keys",
    "create_file": "blob_key conversation_id",
    "create_interaction": "prompt",
    "expire_interactions": "tenant_id",
    "find_memory_session_error": "user_id",
    "finish_run": "messages",
    "list_framework_sessions": "path",
    "list_memory_session_errors": "user_id",
    "prune_framework_checkpoints": "path",
    "put_tool_output": "text",
    "read_framework_checkpoints": "path",
    "read_memory_session": "user_id",
    "record_file_extraction": "summary",
    "record_memory_session_error": "user_id",
    "replace_source": "expected_version",
    "save_checkpoint": "state",
    "search_framework_records": "path",
    "search_index": "text",
    "search_knowledge": "text",
    "search_memories": "text embedding embedding_model",
    "sweep_retention": "tenant_id",
}
"""What is given although it may be left out: without it the call says nothing, or is refused."""


def _common(t: Target) -> dict[str, Any]:
    session = t.transcripts.context
    return {
        "tenant_id": t.tenant_id,
        "claim_tenant_id": t.tenant_id,
        "conversation_id": t.conversation_id,
        "message_id": t.message_id,
        "run_id": t.run_id,
        "claim_token": t.claim_token,
        "interaction_id": t.question_id,
        **dict.fromkeys(("principal_id", "owner_id", "viewer_id", "actor_id"), "ada"),
        **dict.fromkeys(("granted_by", "resolved_by"), "ada"),
        **dict.fromkeys(("name", "title", "kind", "model", "text", "suite", "to_scope"), "late"),
        **dict.fromkeys(("append_id", "error_id", "worker_id", "summary"), "late"),
        **dict.fromkeys(("viewer_role_ids", "role_ids"), "{x}"),
        "participant_ids": "{bob}",
        "queue": t.queue,
        "queues": f"{{{t.queue}}}",
        "job_id": t.job_id,
        "topic": t.topic,
        "grant_id": t.grant_id,
        "agent_id": t.catalog.agent_id,
        "skill_id": t.catalog.skill_id,
        "memory_id": t.memory.memory_id,
        "memory_ids": f"{{{t.memory.memory_id}}}",
        "case_id": t.evaluation.case_id,
        **dict.fromkeys(("base_run_id", "other_run_id"), t.evaluation.run_id),
        "cases": [{"case_id": t.evaluation.case_id}],
        "framework": "suite",
        "path": f"{{{t.frameworks.label}}}",
        "from_path": f"{{{t.frameworks.label}}}",
        "keys": f"{{{t.frameworks.key}}}",
        "last": 1,
        "wanted": [{"path": [t.frameworks.label], "collection": "values", "key": t.frameworks.key}],
        "checkpoint_id": f"{t.frameworks.key}-1",
        "key_prefix": "key",
        "collection": "values",
        "collection_id": t.knowledge.collection_id,
        "source_id": t.knowledge.source_id,
        "external_ref": t.knowledge.external_ref,
        "usage_id": t.ledgers.usage_id,
        "event_id": t.ledgers.event_id,
        "record_id": t.ledgers.event_id,
        "record": "secret",
        "action": "secret.read",
        "file_id": t.files.file_id,
        "blob_key": t.files.orphan_key,
        "artifact_id": t.artifacts.artifact_id,
        "output_id": t.artifacts.output_id,
        **dict.fromkeys(("scope", "from_scope"), t.transcripts.scope),
        "session_id": session.session_id,
        "user_id": session.user_id,
        "ref": t.transcripts.ref,
        **dict.fromkeys(("sequence", "version", "number", "expected_version", "turn", "keep"), 1),
        **dict.fromkeys(("deleted", "passed", "latest", "exact", "refresh", "dry_run"), True),
        "archived": False,
        "direction": "backward",
        "since": "2000-01-01",
        **dict.fromkeys(("until", "ended_before"), "2100-01-01"),
        "after_position": 0,
        "after_tenant_id": "a",
        "messages": [_MESSAGE],
        "tool_name": "refund",
        "error": {"code": "late"},
        "by": "conversation",
        "name_prefix": "sec",
        "path_prefix": "secret",
        "status": "completed",
        "change": "same",
        "state": "pending",
        "sensitivity": "normal",
        "source": "user-stated",
        "source_type": "document",
        "source_types": "{document}",
        "namespace_prefix": "a",
        "changes": {"name": "Taken"},
        "definition": {"late": 1},
        "patch": {"late": 1},
        "fact": {"text": "late", "source": "user-stated"},
        "chunks": [{"content": "late"}],
        "events": [{"kind": "late"}],
        "embedding": [1, 0, 0],
        "embedding_model": "model",
        "embedding_version": "1",
        "embedding_dimensions": 3,
        "mode": "keyword",
        "media_type": "text/plain",
        "format": "pdf",
        "sha256": "0" * 64,
        "size_bytes": 4,
        "covers_to_position": 2,
        "prompt": "Late?",
        "answer": '"late"',
        "decision": "allow-once",
        "visibility": "private",
        "delay_seconds": 0,
        "token": t.lock_token,
        "keep_seconds": 100_000_000,
        "input": "1",
    }


def _own(t: Target) -> dict[str, dict[str, Any]]:
    """Return what a parameter is for one function."""
    principal = {"principal_id": t.memory.principal_id, "viewer_id": t.memory.principal_id}
    evaluation = {"run_id": t.evaluation.run_id}
    job, removal = {"claim_token": t.job_token}, {"tenant_id": t.tenant_id, "claim_token": 1}
    label = {"path": [t.frameworks.label], "collection": "values", "key": "late", "content": 1}
    jobs = {"id": t.job_id, "claim_token": t.job_token}
    ended = [{**removal, "blob_key": "claimed"}]
    export = {
        "version": 2,
        "format": "pdf",
        "claim_token": t.artifacts.export_token,
        "blob_key": "late",
    }
    lock = {"name": t.lock_name, "owner_id": "worker"}
    late = {"run_id": "late", "messages": [{"role": "user"}]}
    result = {"case_id": t.evaluation.case_id, "repeat": 2_000_000, "passed": True}
    return {
        **dict.fromkeys(
            (
                *("list_memories", "find_memory", "read_memory_status", "touch_memories"),
                *("delete_memory", "put_memory", "forget_memories", "disable_memory"),
                *("enable_memory", "erase_principal"),
            ),
            principal,
        ),
        **dict.fromkeys(
            (
                *("find_evaluation_run", "finish_evaluation_run", "list_evaluation_results"),
                *("list_evaluation_run_cases", "purge_evaluation_run"),
            ),
            evaluation,
        ),
        **dict.fromkeys(("fail_job", "heartbeat_job", "release_job", "retry_job_later"), job),
        **dict.fromkeys(("find_lock", "check_lock", "release_lock", "renew_lock"), lock),
        **dict.fromkeys(("append_memory_session", "record_memory_session_error"), late),
        "update_artifact": {"changes": {"title": "late"}},
        "update_source": {"changes": {"title": "late"}},
        "update_conversation": {"changes": {"title": "late"}},
        **{
            f"restore_{kind}": {f"{kind}_id": "gone"}
            for kind in ("agent", "skill", "conversation", "file", "artifact", "source")
        },
        "search_memories": {**principal, "embedding": [1, 0], "embedding_model": "m"},
        "update_memory": {**principal, "changes": {"text": "late"}},
        "append_framework_records": {"records": [{"key": "late", "content": 1}]},
        "put_framework_records": {"records": [label]},
        "put_framework_session": {"state": {}},
        "fork_framework_session": {"path": "{late}"},
        "append_run_events": {"events": [{"kind": "text-delta", "data": {"text": "x"}}]},
        "append_audit_events": {"events": [{"action": "a.b", "record": "r", "record_id": "r"}]},
        "claim_approval": {"interaction_id": t.approved_id},
        "decide_approval": {"interaction_id": t.approval_id},
        "claim_artifact_export": {"format": "late"},
        "fail_artifact_export": export,
        "finish_artifact_export": export,
        "claim_run": {"run_id": "queued"},
        "claim_job": {"job_id": "queued"},
        "complete_and_claim_jobs": {"jobs": [{**jobs, "tenant_id": t.tenant_id}]},
        "complete_jobs": {"jobs": [jobs]},
        "complete_blob_removals": {"removals": ended},
        "retry_blob_removals_later": {"removals": [{**ended[0], "error": "late"}]},
        "add_artifact_version": {"expected_latest": ("artifacts", "latest_version")},
        "add_file_version": {"expected_latest": ("files", "latest_version"), "blob_key": "late"},
        "save_checkpoint": {"expected_sequence": ("runs", "last_checkpoint_sequence"), "state": {}},
        "create_file": {"path": "late", "blob_key": "late"},
        "create_interaction": {"kind": "question"},
        "create_tenant": {"tenant_id": "late"},
        "add_member": {"principal_id": "late"},
        "list_interactions": {"status": "pending"},
        "list_evaluation_runs": {"status": "running"},
        "pause_run": {"status": "waiting_for_question"},
        "finish_run": {"messages": [{**_MESSAGE, "role": "assistant"}]},
        "put_embeddings": {"embeddings": [{"number": 1, "embedding": [1, 0, 0]}]},
        "put_session_state": {"state": {}},
        "record_evaluation_results": {**evaluation, "results": [result]},
        "record_file_extraction": {"status": "done"},
        "record_run_usage": {"usage": [{"input_tokens": 1}]},
        "record_usage": {"events": [{"input_tokens": 1}]},
        "set_retention_policy": {"kind": "jobs"},
        "remove_retention_policy": {"kind": "jobs"},
        "save_transcript": {"messages": [{"role": "user"}]},
        "set_file_version_state": {"from_state": "stored", "to_state": "deleting"},
        "set_evaluation_case_archived": {"is_archived": True},
        "trim_topic": {"up_to_sequence": 1},
        "update_evaluation_case": {"changes": {"input": 1}},
        "search_index": {"text": "secret"},
        "search_knowledge": {"text": "secret"},
    }


@dataclass(frozen=True)
class Call:
    """A call of a function, in SQL; with the filter that makes it another one."""

    function: str
    filter: str
    is_for_users: bool
    query: str
    principal_id: str

    @property
    def name(self) -> str:
        return f"{self.function} {self.filter}".strip()


def _argument(admin: psycopg.Connection, t: Target, name: str, is_of: str, value: Any) -> str:
    if isinstance(value, tuple):
        # What the last number is now: versions grow, too.
        table, column = value
        of = {"artifacts": t.artifacts.artifact_id, "files": t.files.file_id, "runs": t.run_id}[
            table
        ]
        row = admin.execute(
            f"select {column} from strongroom.{table} where id = %s and tenant_id = %s".encode(),
            [of, t.tenant_id],
        ).fetchone()
        assert row is not None
        value = row[0]
    text = json.dumps(value) if isinstance(value, (dict, list, bool)) else str(value)
    return f"p_{name} => '{text.replace(chr(39), chr(39) * 2)}'::{is_of}"


def calls(admin: psycopg.Connection, t: Target) -> Iterator[Call]:
    """Return the calls of every public function that there is."""
    common, own = _common(t), _own(t)
    for function, names, types, needed, is_for_users in admin.execute("""
        select p.proname::text, coalesce(p.proargnames[:p.pronargs], '{}'),
            array(select format_type(a, null) from unnest(p.proargtypes) as a),
            p.pronargs - p.pronargdefaults, has_function_privilege('authenticated', p.oid, 'execute')
        from pg_proc as p
        where p.pronamespace = 'strongroom'::regnamespace
        order by p.proname
    """).fetchall():
        plain = [name.removeprefix("p_") for name in names]
        given = common | own.get(function, {})
        arguments = {
            name: _argument(admin, t, name, is_of, given[name])
            for name, is_of in zip(plain, types, strict=True)
            if name in given
        }
        always = [*plain[:needed], *_ALWAYS.get(function, "").split()]
        first = [arguments[name] for name in always]
        principal_id = str(given["viewer_id"])

        def call(more: dict[str, str], filtered: str, *, to_users: bool = False) -> Call:
            listed = ", ".join((*first, *more.values()))  # noqa: B023
            return Call(
                function,  # noqa: B023
                filtered,
                to_users,
                f"select * from strongroom.{function}({listed})",  # noqa: B023
                principal_id,  # noqa: B023
            )

        yield call({}, "", to_users=is_for_users)
        for name in plain:
            if name in arguments and name in _FILTERS and name not in always:
                yield call({name: arguments[name]}, f"by {name}")
        if "viewer_id" in plain:
            yield call({"v": "p_viewer_id => 'nobody'"}, "for nobody")
