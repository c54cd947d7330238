-- strongroom 0016: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '16', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '16';
select strongroom_private.require_transaction(16);
select strongroom_private.begin_reversal(
    16,
    '{
        strongroom.framework_sessions,
        strongroom.framework_records
    }'
);

drop function strongroom_private.schedule_expiry;
drop function strongroom.read_expiry_queue;
drop function strongroom.expire_records;
drop function strongroom_private.list_tenants_to_expire;
drop function strongroom.prune_framework_checkpoints;
drop function strongroom.read_framework_checkpoints;
drop function strongroom_private.sweep_framework_sessions;
drop function strongroom_private.may_end_framework_session;
drop function strongroom_private.is_idle_framework_session;
drop function strongroom.expire_framework_records;
drop function strongroom.search_framework_records;
drop function strongroom.find_framework_records;
drop function strongroom.put_framework_records;
drop function strongroom.delete_framework_records;
drop function strongroom.list_framework_records;
drop function strongroom.append_framework_records;
drop function strongroom.fork_framework_session;
drop function strongroom.delete_framework_sessions;
drop function strongroom.list_framework_sessions;
drop function strongroom.put_framework_session;
drop function strongroom.find_framework_session;
drop function strongroom_private.hold_framework_session;
drop function strongroom_private.find_framework_owner;
drop function strongroom_private.check_framework_principal;
drop function strongroom_private.check_framework_records;
drop function strongroom_private.check_framework_record;
drop function strongroom_private.read_framework_path;
drop function strongroom_private.check_framework_path;
drop function strongroom_private.check_word;
drop view strongroom.framework_record_details;
drop table strongroom.framework_records;
drop table strongroom.framework_sessions;
drop function strongroom_private.path_text_end;
drop function strongroom_private.path_text;
drop function strongroom_private.path_digest;

select strongroom_private.finish_reversal(16);
