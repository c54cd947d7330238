-- strongroom 0006: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '6', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '6';
select strongroom_private.require_transaction(6);
select strongroom_private.begin_reversal(
    6,
    '{
        strongroom.agents,
        strongroom.agent_versions,
        strongroom.skills,
        strongroom.skill_versions,
        strongroom.catalog_tombstones
    }'
);

drop trigger runs_record_their_agent on strongroom.runs;
drop function strongroom_private.bind_run_agent;
drop function strongroom.list_skill_catalog;
drop function strongroom.resolve_skill;
drop function strongroom.resolve_agent;

drop function strongroom.purge_skill;
drop function strongroom.restore_skill;
drop function strongroom.soft_delete_skill;
drop function strongroom_private.set_skill_deleted;
drop function strongroom.list_skill_versions;
drop function strongroom.find_skill_version;
drop function strongroom.publish_skill_version;
drop function strongroom.list_skills;
drop function strongroom.update_skill;
drop function strongroom.create_skill;
drop function strongroom.find_skill;
drop table strongroom.skill_versions;
drop function strongroom_private.may_read_skill;
drop type strongroom.created_skill;
drop view strongroom.skill_details;
drop table strongroom.skills;

drop function strongroom.purge_agent;
drop function strongroom.restore_agent;
drop function strongroom.soft_delete_agent;
drop function strongroom_private.set_agent_deleted;
drop function strongroom.list_agent_versions;
drop function strongroom.find_agent_version;
drop function strongroom.publish_agent_version;
drop function strongroom.list_agents;
drop function strongroom.update_agent;
drop function strongroom.create_agent;
drop function strongroom.find_agent;
drop table strongroom.agent_versions;
drop function strongroom_private.may_read_agent;
drop type strongroom.created_agent;
drop view strongroom.agent_details;
drop table strongroom.agents;

drop function strongroom_private.check_catalog_changes;
drop function strongroom_private.check_catalog_version;
drop function strongroom_private.check_description;
drop table strongroom.catalog_tombstones;

select strongroom_private.finish_reversal(6);
