"""Damages to a database, each with the story that must notice it."""

NO_SECOND_WALL = """
do $$
declare
    v_policy record;
begin
    for v_policy in
        select p.polname, p.polrelid::regclass as relation
        from pg_policy as p
        join pg_class as c on c.oid = p.polrelid
        where c.relnamespace::regnamespace::text like 'strongroom%'
    loop
        execute format('drop policy %I on %s', v_policy.polname, v_policy.relation);
        execute format('alter table %s disable row level security', v_policy.relation);
    end loop;
end
$$
"""

# The stories about who sees what; without the policies each of them must fail.
ISOLATION = (
    "tenants_see_only_their_own",
    "users_read_what_is_theirs_or_open_to_them",
    "users_write_only_through_functions",
    "claims_that_are_missing_or_damaged_show_nothing",
    "a_suspended_tenant_takes_no_writes",
    "row_security_is_forced_everywhere",
)


def _body(signature: str, rest: str) -> str:
    """Replace a private function by one that is wrong."""
    return f"""
        create or replace function strongroom_private.{signature}
        set search_path = pg_catalog, pg_temp
        {rest}
    """


DAMAGES = [
    (
        "every_table_says_what_erasing_a_person_does",
        "alter table strongroom.locks add column created_by text",
    ),
    (
        "every_table_says_what_erasing_a_person_does",
        "drop policy host_deletes on strongroom.memberships",
    ),
    (
        "every_table_says_what_erasing_a_person_does",
        _body(
            "is_erasing() returns boolean language sql stable",
            "as $$ select current_setting('strongroom.erasing', true) = 'on' $$",
        ),
    ),
    *((story, NO_SECOND_WALL) for story in ISOLATION),
    (
        "row_security_is_forced_everywhere",
        "alter table strongroom.messages no force row level security",
    ),
    (
        "row_security_is_forced_everywhere",
        "alter view strongroom.message_parts reset (security_invoker)",
    ),
    ("users_write_only_through_functions", "grant insert on strongroom.messages to authenticated"),
    (
        "anonymous_and_strangers_may_do_nothing",
        """
        grant usage on schema strongroom to public;
        grant execute on function strongroom.find_tenant to public
        """,
    ),
    ("grants_are_exactly_the_published_matrix", "grant truncate on strongroom.tenants to anon"),
    (
        "grants_are_exactly_the_published_matrix",
        "revoke execute on function strongroom.find_tenant from authenticated",
    ),
    (
        "service_role_is_a_host_of_the_tenant_it_names",
        "grant update on strongroom.messages to service_role",
    ),
    (
        "what_a_later_migration_adds_obeys_the_matrix",
        _body("apply_grants() returns void language sql", "as ''"),
    ),
    ("history_is_insert_only", "drop trigger messages_are_insert_only on strongroom.messages"),
    ("history_is_insert_only", "drop trigger messages_are_never_truncated on strongroom.messages"),
    ("history_is_insert_only", "drop trigger run_events_are_insert_only on strongroom.run_events"),
    (
        "history_is_insert_only",
        "drop trigger topic_events_are_insert_only on strongroom.topic_events",
    ),
    (
        "users_read_what_is_theirs_or_open_to_them",
        "grant select on strongroom.jobs to authenticated",
    ),
    (
        "workers_are_handed_work_of_all_tenants_and_see_nothing_else",
        _body(
            "is_dispatching() returns boolean language sql stable",
            "as $$ select current_setting('strongroom.dispatching', true) = 'on' $$",
        ),
    ),
    (
        "workers_are_handed_work_of_all_tenants_and_see_nothing_else",
        "grant execute on function strongroom_private.dispatch_jobs to authenticated",
    ),
    (
        "workers_are_handed_work_of_all_tenants_and_see_nothing_else",
        "grant execute on function strongroom_private.dispatch_blob_removals to authenticated",
    ),
    (
        "workers_are_handed_work_of_all_tenants_and_see_nothing_else",
        "grant execute on function strongroom_private.list_tenants_to_seal to authenticated",
    ),
    (
        "workers_are_handed_work_of_all_tenants_and_see_nothing_else",
        "grant execute on function strongroom_private.list_tenants_to_expire to authenticated",
    ),
    (
        "bytes_are_removed_when_nothing_refers_to_them",
        """
        drop trigger release_file_versions_blob_key_when_deleted on strongroom.file_versions
        """,
    ),
    (
        "bytes_are_removed_when_nothing_refers_to_them",
        _body(
            "is_referenced_blob(p_tenant_id text, p_blob_key text) returns boolean language sql",
            "as 'select false'",
        ),
    ),
    (
        "constraints_have_names_that_say_what_is_wrong",
        "alter table strongroom.jobs drop constraint a_running_job_has_a_claim",
    ),
    (
        "a_child_cannot_point_at_another_tenants_parent",
        "alter table strongroom.topic_events drop constraint event_belongs_to_a_topic",
    ),
    (
        "keys_and_indexes_start_with_the_tenant",
        "create unique index on strongroom.jobs (dedupe_key, id)",
    ),
    (
        "constraints_have_names_that_say_what_is_wrong",
        "alter table strongroom.messages drop constraint turn_is_not_negative",
    ),
    (
        "constraints_have_names_that_say_what_is_wrong",
        "alter table strongroom.messages add constraint turn_is_small check (turn < 1000000)",
    ),
    (
        "a_child_cannot_point_at_another_tenants_parent",
        """
        alter table strongroom.session_states
        drop constraint session_state_belongs_to_a_conversation
        """,
    ),
    ("keys_and_indexes_start_with_the_tenant", "create index on strongroom.messages (tenant_id)"),
    (
        "history_is_insert_only",
        "drop trigger artifact_versions_are_insert_only on strongroom.artifact_versions",
    ),
    (
        "history_is_insert_only",
        "drop trigger tool_outputs_keep_their_content on strongroom.tool_outputs",
    ),
    (
        "constraints_have_names_that_say_what_is_wrong",
        """
        alter table strongroom.artifacts
        drop constraint an_artifact_has_a_conversation_or_an_owner
        """,
    ),
    (
        "an_export_is_made_once",
        _body(
            "lock_claimed_export(p_tenant_id text, p_artifact_id text, p_version integer,"
            " p_format text, p_claim_token bigint) returns strongroom.artifact_exports language sql",
            """as $$
                select e.* from strongroom.artifact_exports as e
                where e.artifact_id = p_artifact_id and e.format = p_format
            $$""",
        ),
    ),
    (
        "a_saved_transcript_writes_only_what_differs",
        """
        create function strongroom_private.spoil() returns trigger language plpgsql
        as $$ begin new.append_id := new.append_id || new.append_index; return new; end $$;
        create trigger spoil before insert on strongroom.transcript_messages
            for each row execute function strongroom_private.spoil()
        """,
    ),
    (
        "a_tool_output_is_known_by_its_content",
        """
        create function strongroom_private.spoil() returns trigger language plpgsql
        as $$ begin new.expires_at := null; return new; end $$;
        create trigger spoil before insert on strongroom.tool_outputs
            for each row execute function strongroom_private.spoil()
        """,
    ),
    (
        "keys_and_indexes_start_with_the_tenant",
        "create table strongroom.loose (id text primary key)",
    ),
    ("every_object_has_a_comment", "comment on column strongroom.messages.role is null"),
    (
        "functions_are_pinned_reviewed_and_unambiguous",
        "alter function strongroom.find_tenant security definer",
    ),
    (
        "functions_are_pinned_reviewed_and_unambiguous",
        """
        create function strongroom.find_tenant(p_tenant_id text, p_extra text)
        returns setof integer
        language sql
        set search_path = pg_catalog, pg_temp
        as 'select 1'
        """,
    ),
    (
        "functions_are_pinned_reviewed_and_unambiguous",
        "alter function strongroom.find_tenant reset search_path",
    ),
    (
        "errors_come_from_the_registry",
        _body(
            "check_limit(p_limit integer) returns void language plpgsql",
            "as $$ begin perform strongroom_private.fail('no_such_name', '', '{}', ''); end $$",
        ),
    ),
    (
        "message_parts_are_validated_field_by_field",
        _body(
            "find_part_problem(p_part jsonb) returns text[] language sql immutable",
            "as 'select null::text[]'",
        ),
    ),
    (
        "appends_are_gapless_and_say_what_happened",
        _body("check_messages(p_messages jsonb) returns void language sql immutable", "as ''"),
    ),
    (
        "no_argument_ends_in_a_raw_error",
        _body(
            "check_ids(p_field text, p_values text[]) returns void language sql immutable", "as ''"
        ),
    ),
    (
        "a_forgotten_fact_does_not_come_back",
        _body(
            "is_forgotten(p_tenant_id text, p_principal_id text, p_digests text[])"
            " returns boolean language sql stable",
            "as 'select false'",
        ),
    ),
    (
        "session_state_is_one_versioned_object",
        _body(
            "merge_json(p_target jsonb, p_patch jsonb) returns jsonb language sql immutable",
            "as 'select p_target || p_patch'",
        ),
    ),
    (
        "a_deleted_conversation_is_hidden_and_comes_back",
        "drop index strongroom.an_external_ref_names_one_living_conversation",
    ),
    (
        "pages_cover_every_row_once_and_cursors_are_their_own",
        _body(
            "cursor_scope(p_list text, p_filter jsonb, p_direction text)"
            " returns text language sql immutable",
            "as $$ select '123456789012' $$",
        ),
    ),
    (
        "summaries_never_cover_less_than_before",
        _body(
            "find_history_start(p_tenant_id text, p_conversation_id text,"
            " p_covers_to_position bigint) returns bigint language sql stable",
            "as 'select p_covers_to_position + 1'",
        ),
    ),
    *(
        (
            story,
            _body(
                "digest(p_value jsonb) returns text language sql immutable",
                "as $$ select repeat('0', 64) $$",
            ),
        )
        for story in ("a_repeated_create_is_known_again", "a_fork_is_a_copy_up_to_a_position")
    ),
    (
        "search_finds_what_the_caller_may_see_and_nothing_hints_at_more",
        _body(
            "count_chunks_of_user(p_tenant_id text, p_collection_id text, p_source_id text)"
            " returns integer language sql",
            "as 'select 2'",
        ),
    ),
    (
        "search_finds_what_the_caller_may_see_and_nothing_hints_at_more",
        _body(
            "current_subjects() returns text[] language sql stable",
            "as $$ select array['tenant', 'principal:ada', 'principal:bob', 'principal:eve'] $$",
        ),
    ),
    *(
        ("published_versions_never_change_and_references_say_what_they_name", damage)
        for damage in (
            "drop trigger agent_versions_are_insert_only on strongroom.agent_versions",
            "grant update on strongroom.skill_versions to strongroom_host",
            "drop trigger runs_record_their_agent on strongroom.runs",
            (
                "alter policy tenant_reads on strongroom.agent_versions"
                " using (tenant_id = (select strongroom_private.current_tenant()))"
            ),
        )
    ),
    *(
        ("evaluation_results_are_kept_and_compare", damage)
        for damage in (
            "drop trigger case_versions_are_insert_only on strongroom.evaluation_case_versions",
            "grant update on strongroom.evaluation_results to strongroom_host",
            "grant select on strongroom.evaluation_cases to authenticated",
        )
    ),
    *(
        ("who_is_asked_answers_and_nobody_else", damage)
        for damage in (
            _body(
                "require_asked_user(p_tenant_id text, p_interaction_id text, p_resolved_by text)"
                " returns void language plpgsql stable",
                "as 'begin end'",
            ),
            "revoke execute on function strongroom.decide_approval from authenticated",
        )
    ),
    *(
        ("subscribers_hear_ids_and_only_where_they_may_read", damage)
        for damage in (
            _body(
                "may_receive(p_topic text) returns boolean language plpgsql stable",
                "as 'begin return true; end'",
            ),
            "alter table strongroom.conversation_changes replica identity default",
            """
            alter policy readers_read on strongroom.conversation_changes
            using (tenant_id = (select strongroom_private.current_tenant()))
            """,
        )
    ),
    *(
        ("a_token_says_what_memberships_say", damage)
        for damage in (
            _body(
                "signing_principal() returns text language sql stable",
                "as $$ select current_setting('strongroom.signing_principal', true) $$",
            ),
            _body(
                "add_token_claims(p_event jsonb) returns jsonb language sql security definer",
                "as 'select p_event'",
            ),
        )
    ),
    *(
        ("what_frameworks_keep_is_the_hosts_and_in_order", damage)
        for damage in ("grant select on strongroom.framework_records to authenticated",)
    ),
]
