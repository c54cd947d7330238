-- strongroom 0013: the way back. Refuses while the tables hold rows, unless data loss is allowed.
-- Nothing is dropped with CASCADE.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '13', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '13';
select strongroom_private.require_transaction(13);
select strongroom_private.begin_reversal(
    13,
    '{
        strongroom.deletion_receipts,
        strongroom.deletion_receipt_items,
        strongroom.retention_policies
    }'
);

delete from strongroom_private.retention_kinds as k
where k.kind in ('interactions', 'approval_grants', 'jobs', 'memories', 'tool_outputs');

drop function strongroom_private.schedule_audit_seals;
drop function strongroom_private.schedule_retention;
drop function strongroom_private.schedule_call;
drop function strongroom.sweep_retention;
drop function strongroom_private.list_tenants_to_sweep;
drop function strongroom_private.sweep_records;
drop function strongroom_private.sweep_topic_events;
drop function strongroom_private.sweep_checkpoints;
drop function strongroom_private.sweep_run_events;
drop function strongroom_private.sweep_deleted_conversations;
drop function strongroom_private.sweep_conversations;
drop function strongroom_private.is_idle_conversation;
drop function strongroom_private.is_held_conversation;
drop function strongroom.list_retention_policies;
drop function strongroom.remove_retention_policy;
drop function strongroom.set_retention_policy;
drop function strongroom_private.list_retention_kinds;
drop table strongroom.retention_policies;
drop function strongroom.purge_tenant;
drop function strongroom.erase_principal;
drop function strongroom_private.erase_person;
drop function strongroom_private.lock_conversations_of;
drop function strongroom.list_deletion_receipts;
drop function strongroom_private.write_receipt;
drop function strongroom_private.find_receipt;
drop function strongroom_private.digest_subject;
drop table strongroom.deletion_receipt_items;
drop table strongroom.deletion_receipts;

select strongroom_private.finish_reversal(13);
