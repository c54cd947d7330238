-- strongroom 0012: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '12', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '12';
select strongroom_private.require_transaction(12);
select strongroom_private.begin_reversal(
    12,
    '{
        strongroom.artifacts,
        strongroom.artifact_versions,
        strongroom.artifact_exports,
        strongroom.tool_outputs
    }'
);

drop function strongroom.expire_tool_outputs;
drop function strongroom.list_tool_outputs;
drop function strongroom.find_tool_output_slice;
drop function strongroom.find_tool_output_head;
drop function strongroom.find_tool_output;
drop function strongroom.put_tool_output;
drop view strongroom.tool_output_details;
drop table strongroom.tool_outputs;
drop function strongroom_private.keep_tool_output;

drop function strongroom.fail_artifact_export;
drop function strongroom.finish_artifact_export;
drop function strongroom_private.lock_claimed_export;
drop function strongroom.claim_artifact_export;
drop function strongroom.find_artifact_export;
drop view strongroom.artifact_export_details;
drop type strongroom.claimed_artifact_export;

drop function strongroom.purge_artifact;
drop function strongroom.restore_artifact;
drop function strongroom.soft_delete_artifact;
drop function strongroom.update_artifact;
drop function strongroom.list_artifacts;
drop function strongroom.list_artifact_versions;
drop function strongroom.find_artifact_version;
drop function strongroom.add_artifact_version;
drop function strongroom.create_artifact;
drop function strongroom.find_artifact;
drop function strongroom_private.write_artifact_version;
drop function strongroom_private.check_provenance;
drop function strongroom_private.lock_artifact;
drop function strongroom_private.require_readable_artifact;
drop function strongroom_private.is_readable_artifact;
drop view strongroom.artifact_version_details;
drop type strongroom.created_artifact;
drop view strongroom.artifact_details;
drop table strongroom.artifact_exports;
drop table strongroom.artifact_versions;
drop table strongroom.artifacts;
drop function strongroom_private.may_read_artifact;

drop function strongroom_private.hold_run_claim;
drop function strongroom_private.check_content;

select strongroom_private.finish_reversal(12);
