-- strongroom 0001: the way back. Refuses while the tables hold rows, unless data loss is allowed.
-- Nothing is dropped with CASCADE: what others have built on strongroom (a foreign key, a view, a
-- table in the schema) makes it fail with PostgreSQL's own error, which names it. The role
-- strongroom_host stays: it belongs to the server, and other databases and logins may use it.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '1', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '1';
select strongroom_private.require_transaction(1);
select strongroom_private.begin_reversal(
    1,
    '{
        strongroom.tenants,
        strongroom.memberships,
        strongroom.audit_events,
        strongroom.audit_seals
    }'
);

drop function strongroom_private.digest_audit_event;
drop table strongroom.audit_seals;
drop table strongroom.audit_events;
drop function strongroom_private.erase_audited_principal;
drop function strongroom_private.erase_audited_actor;
drop sequence strongroom.audit_sequence;
drop table strongroom.memberships;
drop function strongroom_private.signing_principal;
drop table strongroom.tenants;
drop table strongroom.schema_history;
drop table strongroom_private.retention_kinds;
drop table strongroom_private.erasure_rules;
drop table strongroom_private.grants;

drop function strongroom.diagnose;
drop function strongroom.read_health;
drop function strongroom.verify_audit;
drop function strongroom.read_audit_queue;
drop function strongroom.seal_audits;
drop function strongroom_private.list_tenants_to_seal;
drop function strongroom.seal_audit;
drop function strongroom_private.write_audit_seal;
drop function strongroom_private.audit_lock_number;
drop function strongroom_private.link_digest;
drop function strongroom.list_audit_events;
drop function strongroom.find_audit_event;
drop function strongroom.append_audit_events;
drop function strongroom_private.find_audit_problem;
drop function strongroom_private.record_audit;
drop function strongroom_private.keep_ledger;
drop function strongroom_private.outline_ids;
drop function strongroom_private.digest_person;
drop function strongroom.list_members;
drop function strongroom_private.add_token_claims;
drop function strongroom.remove_member;
drop function strongroom.set_member_roles;
drop function strongroom.find_member;
drop function strongroom.add_member;
drop function strongroom.update_tenant;
drop function strongroom.find_tenant;
drop function strongroom.create_tenant;
drop function strongroom_private.check_expected_version;
drop function strongroom_private.fail_missed_write;
drop function strongroom_private.digest;
drop function strongroom_private.hold_active_tenant;
drop function strongroom_private.enter_tenant_to_write;
drop function strongroom_private.tenant_lock_number;
drop function strongroom_private.enter_tenant;
drop function strongroom_private.current_tenant;
drop function strongroom_private.is_active_tenant;
drop function strongroom_private.finish_reversal;
drop function strongroom_private.begin_reversal;
drop function strongroom_private.finish_migration;
drop function strongroom_private.require_transaction;
drop function strongroom_private.begin_migration;
drop function strongroom_private.undo_dry_run;
drop function strongroom_private.list_deletions;
drop function strongroom_private.count_deletions;
drop function strongroom_private.publish_retention_kind;
drop function strongroom_private.list_erasure_gaps;
drop function strongroom_private.publish_erasure_rule;
drop function strongroom_private.is_principal_column;
drop function strongroom_private.keep_history;
drop function strongroom_private.is_erasing;
drop function strongroom_private.list_grant_differences;
drop function strongroom_private.apply_grants;
drop function strongroom_private.publish_grant;
drop function strongroom_private.check_page;
drop function strongroom_private.from_microseconds;
drop function strongroom_private.to_microseconds;
drop function strongroom_private.decode_cursor;
drop function strongroom_private.encode_cursor;
drop function strongroom_private.cursor_scope;
drop function strongroom_private.current_principal;
drop function strongroom_private.bound_tenant;
drop function strongroom_private.read_text_claim;
drop function strongroom_private.read_claims;
drop function strongroom_private.is_dispatching;
drop function strongroom_private.is_set_by_owner;
drop function strongroom_private.is_trusted;
drop function strongroom_private.caller_kind;
drop function strongroom_private.role_kind;
drop function strongroom_private.check_keys;
drop function strongroom_private.check_text;
drop function strongroom_private.find_moment;
drop function strongroom_private.check_moment;
drop function strongroom_private.check_limit;
drop function strongroom_private.check_object;
drop function strongroom_private.check_choice;
drop function strongroom_private.check_ids;
drop function strongroom_private.check_optional_id;
drop function strongroom_private.check_id;
drop function strongroom_private.is_wide;
drop function strongroom_private.check_optional_name;
drop function strongroom_private.check_name;
drop function strongroom_private.fail;
drop function strongroom_private.error_codes;

drop schema strongroom;
drop schema strongroom_private;
select pg_catalog.pg_notify('pgrst', 'reload schema');
