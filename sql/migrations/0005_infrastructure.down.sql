-- strongroom 0005: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '5', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '5';
select strongroom_private.require_transaction(5);
select strongroom_private.begin_reversal(
    5,
    '{
        strongroom.jobs,
        strongroom.locks,
        strongroom.topics,
        strongroom.topic_events
    }'
);

drop function strongroom.trim_topic;
drop function strongroom.list_topic_events;
drop function strongroom.find_topic;
drop function strongroom.publish_events;
drop function strongroom_private.notify_topic;
drop table strongroom.topic_events;
drop table strongroom.topics;

drop function strongroom.prune_locks;
drop function strongroom.find_lock;
drop function strongroom.check_lock;
drop function strongroom.release_lock;
drop function strongroom.renew_lock;
drop function strongroom_private.fail_lost_lock;
drop function strongroom.acquire_lock;
drop table strongroom.locks;
drop sequence strongroom.lock_tokens;

drop function strongroom.prune_jobs;
drop function strongroom.read_job_queue;
drop function strongroom.cancel_job;
drop function strongroom.release_job;
drop function strongroom.fail_job;
drop function strongroom.retry_job_later;
drop function strongroom.heartbeat_job;
drop function strongroom.complete_and_claim_jobs;
drop function strongroom.complete_jobs;
drop function strongroom_private.complete_claimed_jobs;
drop function strongroom_private.check_job_claims;
drop function strongroom_private.fail_missed_job;
drop function strongroom_private.fail_stale_job_claim;
drop function strongroom.claim_job;
drop function strongroom.claim_jobs;
drop function strongroom_private.check_claim;
drop function strongroom_private.dispatch_jobs;
drop function strongroom_private.take_jobs;
drop function strongroom_private.write_job_claims;
drop function strongroom_private.find_next_ready_tenant;
drop function strongroom_private.mature_jobs;
drop function strongroom.list_jobs;
drop function strongroom.find_job;
drop function strongroom.enqueue_job;
drop function strongroom_private.check_seconds;
drop function strongroom_private.wake_job_workers;
drop function strongroom_private.is_notifying;
drop type strongroom.enqueued_job;
drop view strongroom.job_details;
drop table strongroom.jobs;
drop function strongroom_private.check_job_transition;
drop function strongroom_private.list_job_transitions;
drop sequence strongroom.job_claim_tokens;

delete from strongroom_private.grants as g
where g.object_kind = 'sequence'
    and to_regclass(g.object_name) is null;
select strongroom_private.finish_reversal(5);
