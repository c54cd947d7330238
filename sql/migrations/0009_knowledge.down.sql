-- strongroom 0009: the way back. Refuses while the tables hold rows, unless data loss is allowed.

-- Outside of one transaction each statement would stand alone, and psql goes on after a refusal: so
-- the session becomes read-only then, and what follows can delete nothing. A new session is as
-- before.
select set_config('strongroom.migrating', '9', true);
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '9';
select strongroom_private.require_transaction(9);
select strongroom_private.begin_reversal(
    9,
    '{strongroom.collections,strongroom.sources,strongroom.chunks}'
);

drop function strongroom.remove_embeddings;
drop function strongroom.put_embeddings;
drop function strongroom_private.write_embeddings;
drop function strongroom.remove_keywords;
drop function strongroom.put_keywords;
drop function strongroom_private.write_terms;
drop function strongroom_private.lock_source;
drop function strongroom.search_index;
drop function strongroom.search_knowledge;
drop function strongroom_private.read_found_chunks;
drop function strongroom_private.search_chunks;
drop function strongroom_private.count_candidates;
drop function strongroom_private.create_vector_index;
drop function strongroom_private.find_vector_index;
drop function strongroom_private.rank_by_index;
drop function strongroom_private.rank_by_scan;
drop function strongroom_private.rank_by_words;
drop function strongroom.list_chunks;
drop function strongroom.find_chunk;
drop function strongroom.purge_source;
drop function strongroom.restore_source;
drop function strongroom.soft_delete_source;
drop function strongroom.list_stale_sources;
drop function strongroom.list_sources;
drop function strongroom.update_source;
drop function strongroom.find_source;
drop function strongroom.replace_source;
drop function strongroom_private.write_chunks;
drop function strongroom_private.require_collection;
drop function strongroom_private.check_chunks;
drop function strongroom_private.check_direction;
drop function strongroom.list_capabilities;
drop function strongroom_private.require_vectors;
drop function strongroom_private.find_vector_schema;
drop function strongroom_private.erase_chunk_subjects;
drop function strongroom_private.erase_source_subjects;
drop function strongroom.purge_collection;
drop function strongroom.list_collections;
drop function strongroom.update_collection;
drop function strongroom.find_collection;
drop function strongroom.create_collection;
drop function strongroom_private.encode_scope;
drop function strongroom_private.encode_search;
drop function strongroom_private.encode_terms;
drop function strongroom_private.list_search_terms;
drop function strongroom_private.encode_plain_word;
drop function strongroom_private.read_viewer_subjects;
drop function strongroom_private.check_number;
drop function strongroom_private.check_uri;
drop function strongroom_private.check_subjects;
drop function strongroom_private.check_embedding_model;
drop function strongroom_private.check_language;

drop type strongroom.replaced_source;
drop function strongroom_private.count_chunks_shown;
drop view strongroom.source_details;
drop function strongroom_private.count_chunks_of_user;
drop table strongroom_private.chunk_terms;
drop policy readers_read on strongroom.chunks;
drop function strongroom_private.may_read_source;
drop table strongroom.chunks;
drop table strongroom.sources;
drop type strongroom.created_collection;
drop view strongroom.collection_details;
drop table strongroom.collections;
drop function strongroom_private.bound_search;
drop function strongroom_private.is_shown_by_conversation;
drop function strongroom_private.current_subjects;

select strongroom_private.finish_reversal(9);
