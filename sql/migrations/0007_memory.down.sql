-- strongroom 0007: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '7', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '7';
select strongroom_private.require_transaction(7);
select strongroom_private.begin_reversal(
    7,
    '{
        strongroom.memories,
        strongroom.memory_tombstones,
        strongroom.memory_settings
    }'
);

drop function strongroom.search_memories;
drop function strongroom_private.check_budget;
drop function strongroom_private.rank_memories;
drop function strongroom_private.compare_embeddings;
drop function strongroom.list_memories;

drop function strongroom.enable_memory;
drop function strongroom.disable_memory;
drop function strongroom_private.switch_memory;
drop function strongroom.read_memory_status;

drop function strongroom.expire_memories;
drop function strongroom_private.forget_memories_as_user;
drop function strongroom.forget_memories;
drop function strongroom_private.delete_memory_as_user;
drop function strongroom.delete_memory;
drop function strongroom_private.forget_facts;

drop function strongroom.touch_memories;
drop function strongroom_private.update_memory_as_user;
drop function strongroom.update_memory;
drop function strongroom_private.put_memory_as_user;
drop function strongroom.put_memory;
drop function strongroom_private.lift_tombstones;
drop function strongroom.find_memory;

drop function strongroom_private.require_own_memory;
drop function strongroom_private.require_enabled_memory;
drop function strongroom_private.lock_memory;
drop function strongroom_private.check_fact;
drop function strongroom_private.check_embedding;
drop function strongroom_private.read_moment;
drop function strongroom_private.check_namespace;

drop function strongroom_private.is_forgotten;
drop function strongroom_private.tombstone_digests;
drop table strongroom.memory_tombstones;
drop type strongroom.stored_memory;
drop view strongroom.memory_details;
drop table strongroom.memories;
drop function strongroom_private.key_digest;
drop function strongroom_private.is_within;
drop function strongroom_private.is_namespace;
drop table strongroom.memory_settings;

drop function strongroom_private.estimate_tokens;
drop function strongroom_private.normal_form;
drop function strongroom_private.list_terms;
drop function strongroom_private.read_terms;
drop function strongroom_private.read_words;
drop function strongroom_private.separating_characters;
drop function strongroom_private.phonetic_characters;
drop function strongroom_private.dense_characters;
drop function strongroom_private.fold_text;

select strongroom_private.finish_reversal(7);
