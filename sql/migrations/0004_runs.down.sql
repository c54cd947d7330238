-- strongroom 0004: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '4', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '4';
select strongroom_private.require_transaction(4);
select strongroom_private.begin_reversal(
    4,
    '{
        strongroom.runs,
        strongroom.run_events,
        strongroom.checkpoints,
        strongroom.interactions,
        strongroom.approval_grants
    }'
);

drop trigger deleted_conversations_hold_their_runs on strongroom.conversations;
drop function strongroom_private.hold_runs_of_deleted_conversation;

drop function strongroom.read_run_queue;
drop function strongroom.list_runs;
drop function strongroom.reap_expired_runs;
drop function strongroom.request_run_cancel;
drop function strongroom.finish_run;
drop function strongroom_private.end_lost_run;
drop function strongroom_private.end_run;
drop function strongroom.record_run_usage;
drop function strongroom_private.write_run_usage;
drop function strongroom_private.read_streamed_parts;
drop function strongroom.release_run;
drop function strongroom.retry_run_later;
drop function strongroom.pause_run;

drop function strongroom.list_grants;
drop function strongroom.revoke_grant;
drop function strongroom.find_active_grant;
drop function strongroom.grant_approval;
drop function strongroom.list_interactions;
drop function strongroom.expire_interactions;
drop function strongroom_private.list_overdue_tenants;
drop function strongroom.claim_approval;
drop function strongroom_private.decide_approval_as_user;
drop function strongroom.decide_approval;
drop table strongroom.approval_grants;
drop function strongroom_private.expire_interaction;
drop function strongroom_private.answer_question_as_user;
drop function strongroom_private.require_asked_user;
drop function strongroom.answer_question;
drop function strongroom_private.lock_interaction;
drop function strongroom_private.queue_waiting_run;
drop function strongroom.find_interaction;
drop function strongroom.create_interaction;
drop function strongroom_private.read_resolved_interaction;
drop type strongroom.resolved_interaction;
drop view strongroom.interaction_details;
drop table strongroom.interactions;
drop function strongroom_private.erase_addressed_interactions;
drop function strongroom_private.erase_resolved_interactions;

drop function strongroom.prune_checkpoints;
drop function strongroom.list_checkpoints;
drop function strongroom.find_checkpoint;
drop function strongroom.save_checkpoint;
drop table strongroom.checkpoints;

drop function strongroom.list_run_events;
drop function strongroom_private.require_readable_run;
drop function strongroom.append_run_events;
drop table strongroom.run_events;

drop function strongroom.heartbeat_run;
drop function strongroom_private.lock_claimed_run;
drop function strongroom_private.lock_run;
drop function strongroom_private.fail_stale_claim;
drop function strongroom.claim_run;
drop function strongroom.claim_next_runs;
drop function strongroom_private.dispatch_runs;
drop function strongroom_private.take_claim;
drop function strongroom_private.mature_runs;
drop function strongroom_private.check_lease;

drop function strongroom.find_run;
drop function strongroom.create_run;
drop function strongroom_private.promote_next_run;
drop function strongroom_private.wake_workers;
drop type strongroom.created_run;
drop view strongroom.run_details;
drop table strongroom.runs;
drop function strongroom_private.check_run_transition;
drop function strongroom_private.is_final_run_status;
drop function strongroom_private.list_run_transitions;
drop sequence strongroom.claim_tokens;
delete from strongroom_private.grants as g
where g.object_kind = 'sequence'
    and to_regclass(g.object_name) is null;

select strongroom_private.finish_reversal(4);
