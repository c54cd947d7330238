-- strongroom 0009: knowledge
--
-- Purpose     What agents look things up in: collections of sources, cut into chunks, found by
--             words, by nearness of embeddings, or by both.
-- Replacing   A source is replaced as a whole, in one transaction, under the lock of its row, so
--             readers see the old chunks or the new ones. The same call again is known by a digest
--             and writes nothing; a call that fails leaves what was there.
-- Permission  A source names who may see it (auth_subjects); a chunk may narrow that. Search
--             applies it inside the query, together with every other filter, and knows no
--             statistics of a collection: a chunk that a caller may not see changes no count, score
--             or rank.
-- Words       Terms are made here and not by a parser of PostgreSQL, so they are the same on every
--             server and locale: letters and digits without accents and case, stemmed by the
--             collection's language; for scripts without spaces single characters and pairs.
--             What a user types is only ever read as terms, never as a query.
-- Terms       Row security keeps a GIN index from being used for conditions of the query, unless
--             they stand in the policy itself. So the policy of chunk_terms shows the rows that
--             match the search that is bound (bound_search), and no others.
-- Embeddings  Their column and indexes are made by the migration vectors, where the server has
--             pgvector. They are kept as directions (length 1) and compared by cosine. A collection
--             names its model; a search looks only at sources that were embedded with that model.
-- Locks       A write locks one source. Nothing that sources or tenants share is locked.

select strongroom_private.begin_migration(9, 'knowledge');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '9';
select strongroom_private.require_transaction(9);


-- ---------------------------------------------------------------------------------------------
-- Checks
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.check_language(p_language text)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_languages text[] := array(
        select c.cfgname::text
        from pg_ts_config as c
        inner join pg_ts_dict as d
            on d.dictnamespace = c.cfgnamespace
            and d.dictname = case c.cfgname
                when 'simple' then 'simple'
                else c.cfgname || '_stem'
            end
        where c.cfgnamespace = 'pg_catalog'::regnamespace
        order by c.cfgname
    );
begin
    perform strongroom_private.check_choice('language', p_language, v_languages);
end
$$;
comment on function strongroom_private.check_language(text) is
    'A language that the server''s text search can stem, or simple, which stems nothing and has no'
    ' stop words. Errors: SR001.';

create function strongroom_private.check_embedding_model(
    p_model text,
    p_version text,
    p_dimensions integer
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if num_nulls(p_model, p_version, p_dimensions) = 3 then
        return;
    end if;
    perform strongroom_private.check_id('embedding_model', p_model);
    perform strongroom_private.check_id('embedding_version', p_version);
    if p_dimensions is null or p_dimensions < 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'embedding_dimensions must be at least 1',
            jsonb_build_object('path', 'embedding_dimensions', 'actual', p_dimensions),
            'Give the number of values of one embedding, 1 to 4000.'
        );
    elsif p_dimensions > 4000 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('embedding_dimensions is %s; at most 4000 are allowed', p_dimensions),
            jsonb_build_object(
                'path', 'embedding_dimensions', 'limit', 4000, 'actual', p_dimensions
            ),
            'Use a model with fewer dimensions, or let the model shorten them.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_embedding_model(text, text, integer) is
    'An embedding model is named with its version and dimensions, 1 to 4,000, or not at all.'
    ' Errors:'
    ' SR001, SR004.';

create function strongroom_private.check_subjects(p_field text, p_subjects text[])
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_place bigint;
begin
    if p_subjects is null or array_ndims(p_subjects) > 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a plain list', p_field),
            jsonb_build_object('path', p_field),
            'Give a list of subjects; an empty list is seen by hosts alone.'
        );
    end if;
    if cardinality(p_subjects) > 100 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s entries; at most 100 are allowed', p_field, cardinality(p_subjects)),
            jsonb_build_object('path', p_field, 'limit', 100, 'actual', cardinality(p_subjects)),
            'Use a role for large groups.'
        );
    end if;
    select s.place - 1
    into v_place
    from unnest(p_subjects) with ordinality as s (subject, place)
    where coalesce(
        s.subject !~ '^(tenant|(principal|role|conversation):.{1,255})$',
        true
    )
    order by s.place
    limit 1;
    if found then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s[%s] is not a subject', p_field, v_place),
            jsonb_build_object('path', format('%s[%s]', p_field, v_place)),
            'Use tenant, principal:<id>, role:<id> or conversation:<id>.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_subjects(text, text[]) is
    'A list of at most 100 subjects: tenant, principal:<id>, role:<id>, conversation:<id>. Errors:'
    ' SR001, SR004.';


create function strongroom_private.check_uri(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value = '' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s is empty', p_field),
            jsonb_build_object('path', p_field),
            'Give a text of 1 to 8192 characters, or leave it out.'
        );
    elsif char_length(p_value) > 8192 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s characters; at most 8192 are allowed', p_field,
                char_length(p_value)),
            jsonb_build_object('path', p_field, 'limit', 8192, 'actual', char_length(p_value)),
            'Use a shorter address.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_uri(text, text) is
    'A place on the web or elsewhere, of 1 to 8,192 characters, that may be missing. Errors: SR001,'
    ' SR004.';

create function strongroom_private.check_number(p_number integer)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_number is null or p_number < 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'number must be at least 1',
            jsonb_build_object('path', 'number', 'actual', p_number),
            'Chunks of a source are numbered 1, 2, 3, ...'
        );
    end if;
end
$$;
comment on function strongroom_private.check_number(integer) is
    'The number of a chunk. Errors: SR001.';

-- ---------------------------------------------------------------------------------------------
-- Who is looking
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.current_subjects()
returns text[]
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_principal_id text := strongroom_private.current_principal();
    v_roles jsonb := strongroom_private.read_claims() #> '{app_metadata,role_ids}';
begin
    if v_principal_id is null then
        return null;
    end if;
    return array['tenant', 'principal:' || v_principal_id]
        || array(
            select 'role:' || r.role_id
            from strongroom.memberships as m
            cross join unnest(m.role_ids) as r (role_id)
            where m.tenant_id = (select strongroom_private.current_tenant())
                and m.principal_id = v_principal_id
        )
        || array(
            select 'role:' || (r.role_id #>> '{}')
            from jsonb_array_elements(
                case jsonb_typeof(v_roles) when 'array' then v_roles else '[]' end
            ) as r (role_id)
            where jsonb_typeof(r.role_id) = 'string'
        );
end
$$;
comment on function strongroom_private.current_subjects() is
    'The subjects of a signed-in user: the tenant, the principal, the roles of the membership and'
    ' of'
    ' app_metadata.role_ids in the JWT; null for everybody else. Conversations are asked one by'
    ' one.';

create function strongroom_private.read_viewer_subjects(p_viewer_id text, p_role_ids text[])
returns text[]
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if strongroom_private.caller_kind() = 'user' then
        if p_role_ids is not null then
            perform strongroom_private.fail(
                'permission_denied',
                'viewer_role_ids is not for signed-in users',
                '{"path": "viewer_role_ids"}',
                'Leave viewer_role_ids out: a user has the roles of their membership and token.'
            );
        end if;
        return strongroom_private.current_subjects();
    end if;
    if p_role_ids is not null then
        perform strongroom_private.check_ids('viewer_role_ids', p_role_ids);
    end if;
    if p_viewer_id is null then
        return null;
    end if;
    return array['tenant', 'principal:' || p_viewer_id]
        || array(select 'role:' || r from unnest(p_role_ids) as r);
end
$$;
comment on function strongroom_private.read_viewer_subjects(text, text[]) is
    'What a reader may be admitted as: a user''s own subjects, those of the viewer that a host'
    ' named'
    ' with its roles, or null for a host that sees all. Errors: SR001, SR004, SR020.';

create function strongroom_private.is_shown_by_conversation(
    p_tenant_id text,
    p_subjects text[],
    p_viewer_id text
)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_subject text;
begin
    foreach v_subject in array p_subjects loop
        if v_subject like 'conversation:%' and exists (
            select
            from strongroom.conversations as c
            where c.tenant_id = p_tenant_id
                and c.id = substr(v_subject, 14)
                and c.deleted_at is null
                and (
                    c.visibility = 'tenant'
                    or c.owner_id = p_viewer_id
                    or exists (
                        select
                        from strongroom.conversation_participants as p
                        where p.tenant_id = c.tenant_id
                            and p.conversation_id = c.id
                            and p.principal_id = p_viewer_id
                    )
                )
        ) then
            return true;
        end if;
    end loop;
    return false;
end
$$;
comment on function strongroom_private.is_shown_by_conversation(text, text[], text) is
    'Whether one of these subjects is a living conversation that the viewer may read.';


-- ---------------------------------------------------------------------------------------------
-- Terms
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.encode_plain_word(p_word text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when octet_length(p_word) = char_length(p_word) then p_word
        else pg_catalog.normalize(
            regexp_replace(
                pg_catalog.normalize(p_word, 'NFKD'), E'[\\u0300-\\u036F]', '', 'g'
            ),
            'NFKC'
        )
    end
$$;
comment on function strongroom_private.encode_plain_word(text) is
    'A word without accents, so that it is found however it is typed.';

create function strongroom_private.list_search_terms(
    p_language text,
    p_text text,
    p_for_search boolean default false
)
returns table (term text, place bigint)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    -- Han, kana, bopomofo, Hangul; Thai, Lao, Myanmar, Khmer.
    v_spaceless constant text :=
        E'\\u0E00-\\u0EFF\\u1000-\\u109F\\u1100-\\u11FF'
        '\\u1780-\\u17FF\\u2E80-\\u2FDF\\u3005-\\u3007'
        '\\u3040-\\u30FA\\u30FC-\\u312F\\u3130-\\u318F\\u31F0-\\u31FF\\u3400-\\u4DBF\\u4E00-\\u9FFF'
        '\\uA960-\\uA97F\\uAC00-\\uD7FF\\uF900-\\uFAFF\\U00020000-\\U0003FFFF';
    v_separating constant text :=
        E'\\u0001-\\u002F\\u003A-\\u0040\\u005B-\\u0060'
        '\\u007B-\\u00A9\\u00AB-\\u00B4\\u00B6-\\u00B9'
        '\\u00BB-\\u00BF\\u00D7\\u00F7\\u060C\\u061B\\u061F'
        '\\u06D4\\u0964\\u0965\\u2000-\\u2BFF\\u2E00-\\u2E7F'
        '\\u3000-\\u3004\\u3008-\\u303F\\u30FB\\uFE00-\\uFE6F\\uFEFF\\uFF00-\\uFF65\\uFFF0-\\uFFFF'
        '\\U0001F000-\\U0001FAFF\\U000E0000-\\U000E0FFF';
    -- Only its first characters, so that a search vector stays far below its limit of 1 MB.
    v_text text := left(pg_catalog.normalize(left(p_text, 32768), 'NFKC'), 32768);
    v_dictionary regdictionary := (case p_language
        when 'simple' then 'pg_catalog.simple'
        else format('pg_catalog.%I', p_language || '_stem')
    end)::regdictionary;
begin
    v_text := replace(lower(v_text), E'\u03C2', E'\u03C3');
    return query
    with pieces as materialized (
        select
            m.found[1] as run,
            m.found[2] as word,
            m.place
        from regexp_matches(
            v_text,
            format('([%1$s]+)|([^%1$s%2$s]+)', v_spaceless, v_separating),
            'g'
        ) with ordinality as m (found, place)
    ),
    characters as (
        select
            c.character,
            lead(c.character) over (partition by p.place order by c.place) as following,
            count(*) over (partition by p.place) as length,
            p.place,
            c.place as inner_place
        from pieces as p
        cross join lateral string_to_table(p.run, null) with ordinality as c (character, place)
        where p.run is not null
    ),
    words as materialized (
        select distinct
            p.word,
            ts_lexize(v_dictionary, p.word) as stems
        from pieces as p
        where char_length(p.word) <= 255
    ),
    stems as (
        -- The word as it is written is what the stemmer knows; without accents is how many type
        -- it. A stop word gives no term.
        select
            w.word,
            case octet_length(w.word)
                when char_length(w.word) then t.term
                else strongroom_private.encode_plain_word(t.term)
            end as term
        from words as w
        cross join lateral unnest(coalesce(w.stems, array[w.word])) as t (term)
        union
        select
            w.word,
            t.term
        from words as w
        cross join lateral strongroom_private.encode_plain_word(w.word) as f (plain)
        cross join lateral unnest(
            coalesce(ts_lexize(v_dictionary, f.plain), array[f.plain])
        ) as t (term)
        where octet_length(w.word) <> char_length(w.word)
            and w.stems is distinct from '{}'
    ),
    terms as (
        select
            s.term,
            p.place,
            0::bigint as inner_place
        from pieces as p
        inner join stems as s on s.word = p.word
        union all
        select
            c.character,
            c.place,
            c.inner_place
        from characters as c
        where not p_for_search
            or c.length = 1
        union all
        select
            c.character || c.following,
            c.place,
            c.inner_place
        from characters as c
        where c.following is not null
    )
    select
        t.term,
        dense_rank() over (order by t.place, t.inner_place)
    from terms as t
    where t.term <> '';
end
$$;
comment on function strongroom_private.list_search_terms(text, text, boolean) is
    'The terms of a text, with their places: of its first 32,768 characters, words of up to 255'
    ' without accents and case, stemmed, without stop words; for scripts without spaces characters'
    ' and pairs, when searching pairs alone where there are any. Emoji and signs are no terms.';

create function strongroom_private.encode_terms(
    p_language text,
    p_text text,
    p_scopes text[]
)
returns tsvector
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    -- Terms hold neither quotes nor backslashes, and a scope is no term: it holds a colon.
    select string_agg(format('''%s'':%s', t.term, t.places), ' ')::tsvector
    from (
        select
            l.term,
            string_agg(least(l.place, 16383)::text, ',' order by l.place) as places
        from strongroom_private.list_search_terms(p_language, p_text) as l
        group by l.term
        union all
        select
            s,
            '1'
        from unnest(p_scopes) as s
    ) as t
$$;
comment on function strongroom_private.encode_terms(text, text, text[]) is
    'The search vector of a chunk: its terms, and the scopes that it belongs to.';

create function strongroom_private.encode_search(p_language text, p_text text)
returns tsquery
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select string_agg(format('''%s''', t.term), ' | ')::tsquery
    from (
        select l.term
        from strongroom_private.list_search_terms(p_language, p_text, true) as l
        group by l.term
        order by min(l.place)
        limit 512
    ) as t
$$;
comment on function strongroom_private.encode_search(text, text) is
    'A search for any of the first 512 different terms of a text; null when it has none. What the'
    ' text says is never read as an operator.';

create function strongroom_private.encode_scope(p_kind text, p_tenant_id text, p_id text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select p_kind || ':' || md5(jsonb_build_array(p_tenant_id, p_id)::text)
$$;
comment on function strongroom_private.encode_scope(text, text, text) is
    'What binds a search to one collection or source within the index of all tenants.';

create function strongroom_private.bound_search()
returns tsquery
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select nullif(current_setting('strongroom.search', true), '')::tsquery
$$;
comment on function strongroom_private.bound_search() is
    'The search whose rows of chunk_terms this transaction sees, bound by the search functions;'
    ' null'
    ' outside of them.';


-- ---------------------------------------------------------------------------------------------
-- Collections
-- ---------------------------------------------------------------------------------------------
-- Invariant: the language never changes, because the terms of every chunk depend on it.

create table strongroom.collections (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    name text collate "C" not null,
    language text collate "C" not null default 'simple',
    embedding_model text collate "C",
    embedding_version text collate "C",
    embedding_dimensions integer,
    metadata jsonb not null default '{}',
    version bigint not null default 1,
    creation_digest text collate "C" not null,
    last_write_id text collate "C",
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint collections_pkey primary key (tenant_id, id),
    constraint a_collection_has_a_name_of_its_own unique (tenant_id, name),
    constraint collection_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint name_has_1_to_255_characters check (char_length(name) between 1 and 255),
    constraint an_embedding_model_is_described_in_full
        check (num_nulls(embedding_model, embedding_version, embedding_dimensions) in (0, 3)),
    constraint embedding_model_has_1_to_255_characters
        check (char_length(embedding_model) between 1 and 255),
    constraint embedding_version_has_1_to_255_characters
        check (char_length(embedding_version) between 1 and 255),
    constraint an_embedding_has_1_to_4000_dimensions
        check (embedding_dimensions between 1 and 4000),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.collections is
    'What is searched together: sources in one language, embedded with one model.';
comment on column strongroom.collections.tenant_id is 'The tenant.';
comment on column strongroom.collections.id is 'The collection''s id, unique in the tenant.';
comment on column strongroom.collections.name is 'Its name, unique in the tenant.';
comment on column strongroom.collections.language is
    'How words are stemmed: one of the server''s text-search configurations; simple stems nothing.'
    ' Never changed.';
comment on column strongroom.collections.embedding_model is
    'The model that embeds its chunks and queries; null for a collection that is searched by words'
    ' alone.';
comment on column strongroom.collections.embedding_version is 'The model''s version.';
comment on column strongroom.collections.embedding_dimensions is
    'How many values its embeddings have.';
comment on column strongroom.collections.metadata is 'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.collections.version is
    'One more at every change of the collection itself; sources do not count.';
comment on column strongroom.collections.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.collections.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.collections.created_at is 'When it was created.';
comment on column strongroom.collections.updated_at is
    'When it last changed; sources do not count.';

create index collections_by_creation on strongroom.collections (tenant_id, created_at, id);
comment on index strongroom.collections_by_creation is 'Pages of a tenant''s collections.';

alter table strongroom.collections enable row level security;
alter table strongroom.collections force row level security;
create policy tenant_reads on strongroom.collections
    for select
    using (tenant_id = (select strongroom_private.current_tenant()));
comment on policy tenant_reads on strongroom.collections is
    'Everyone in the tenant sees which collections there are; their content has its own rule.';
create policy host_inserts on strongroom.collections
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.collections is 'Hosts create collections.';
create policy host_updates on strongroom.collections
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.collections is 'Hosts change collections.';
create policy host_deletes on strongroom.collections
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.collections is 'Hosts purge collections.';

create view strongroom.collection_details
with (security_invoker = true)
as
select
    c.tenant_id,
    c.id,
    c.name,
    c.language,
    c.embedding_model,
    c.embedding_version,
    c.embedding_dimensions,
    c.metadata,
    c.version,
    c.created_at,
    c.updated_at
from strongroom.collections as c;
comment on view strongroom.collection_details is
    'A collection as the functions return it, without bookkeeping columns. Under the row security'
    ' of'
    ' the reader.';

create type strongroom.created_collection as (
    tenant_id text,
    id text,
    name text,
    language text,
    embedding_model text,
    embedding_version text,
    embedding_dimensions integer,
    metadata jsonb,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.created_collection is
    'A collection, and whether it was inserted now or is a duplicate.';

create function strongroom.create_collection(
    p_tenant_id text,
    p_name text,
    p_collection_id text default null,
    p_language text default 'simple',
    p_embedding_model text default null,
    p_embedding_version text default null,
    p_embedding_dimensions integer default null,
    p_metadata jsonb default '{}'
)
returns setof strongroom.created_collection
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id text := coalesce(p_collection_id, gen_random_uuid()::text);
    v_digest text;
    v_outcome text := 'duplicate';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('collection_id', v_id);
    perform strongroom_private.check_name('name', p_name);
    perform strongroom_private.check_language(p_language);
    perform strongroom_private.check_embedding_model(
        p_embedding_model, p_embedding_version, p_embedding_dimensions
    );
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    v_digest := strongroom_private.digest(jsonb_build_array(
        p_name, p_language, p_embedding_model, p_embedding_version, p_embedding_dimensions,
        p_metadata
    ));

    insert into strongroom.collections (
        tenant_id, id, name, language, embedding_model, embedding_version, embedding_dimensions,
        metadata, creation_digest
    )
    values (
        p_tenant_id, v_id, p_name, p_language, p_embedding_model, p_embedding_version,
        p_embedding_dimensions, p_metadata, v_digest
    )
    on conflict do nothing;
    if found then
        v_outcome := 'inserted';
    end if;

    return query
    select
        d.*,
        v_outcome
    from strongroom.collection_details as d
    inner join strongroom.collections as c
        on c.tenant_id = d.tenant_id
        and c.id = d.id
    where d.tenant_id = p_tenant_id
        and d.id = v_id
        and c.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            case
                when exists (
                    select
                    from strongroom.collections as c
                    where c.tenant_id = p_tenant_id
                        and c.id = v_id
                )
                then 'a collection with this id was created with other content'
                else 'another collection has this name'
            end,
            jsonb_build_object('record', 'collection', 'id', v_id),
            'Read the existing one, or choose another id or name.'
        );
    end if;
end
$$;
comment on function strongroom.create_collection(
    text, text, text, text, text, text, integer, jsonb
) is
    'Create a collection. A repeat with the same id and arguments changes nothing and returns the'
    ' stored row with outcome duplicate. Errors: SR001, SR004, SR010, SR011, SR020. Callers:'
    ' hosts.';

create function strongroom.find_collection(p_tenant_id text, p_collection_id text)
returns setof strongroom.collection_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('collection_id', p_collection_id);
    return query
    select d.*
    from strongroom.collection_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_collection_id;
end
$$;
comment on function strongroom.find_collection(text, text) is
    'The collection, or no row. Errors: SR001, SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom.update_collection(
    p_tenant_id text,
    p_collection_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text default null
)
returns setof strongroom.collection_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_current strongroom.collections;
    v_dimensions integer;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('collection_id', p_collection_id);
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    perform strongroom_private.check_keys(
        'changes',
        p_changes,
        '{name,metadata,embedding_model,embedding_version,embedding_dimensions}'
    );
    perform strongroom_private.check_text('changes.name', p_changes -> 'name');
    if p_changes ? 'name' then
        perform strongroom_private.check_name('changes.name', p_changes ->> 'name');
    end if;
    if p_changes ? 'metadata' then
        perform strongroom_private.check_object('changes.metadata', p_changes -> 'metadata', 16384);
    end if;
    if p_changes ?| '{embedding_model,embedding_version,embedding_dimensions}' then
        perform strongroom_private.check_text(
            'changes.embedding_model', p_changes -> 'embedding_model'
        );
        perform strongroom_private.check_text(
            'changes.embedding_version', p_changes -> 'embedding_version'
        );
        if coalesce(jsonb_typeof(p_changes -> 'embedding_dimensions'), 'null') <> 'null' then
            if strongroom_private.is_whole_number(p_changes -> 'embedding_dimensions', 1) then
                v_dimensions := least(
                    (p_changes ->> 'embedding_dimensions')::numeric, 2147483647
                )::integer;
            else
                v_dimensions := 0;
            end if;
        end if;
        perform strongroom_private.check_embedding_model(
            p_changes ->> 'embedding_model', p_changes ->> 'embedding_version', v_dimensions
        );
    end if;

    update strongroom.collections as c
    set name = coalesce(p_changes ->> 'name', c.name),
        metadata = coalesce(p_changes -> 'metadata', c.metadata),
        embedding_model = case
            when p_changes ?| '{embedding_model,embedding_version,embedding_dimensions}'
            then p_changes ->> 'embedding_model'
            else c.embedding_model
        end,
        embedding_version = case
            when p_changes ?| '{embedding_model,embedding_version,embedding_dimensions}'
            then p_changes ->> 'embedding_version'
            else c.embedding_version
        end,
        embedding_dimensions = case
            when p_changes ?| '{embedding_model,embedding_version,embedding_dimensions}'
            then v_dimensions
            else c.embedding_dimensions
        end,
        version = c.version + 1,
        last_write_id = p_write_id,
        updated_at = now()
    where c.tenant_id = p_tenant_id
        and c.id = p_collection_id
        and c.version = p_expected_version;

    if not found then
        select c.*
        into v_current
        from strongroom.collections as c
        where c.tenant_id = p_tenant_id
            and c.id = p_collection_id;
        -- A repeat of the very same call, whose answer was lost, has happened already.
        if v_current.last_write_id is distinct from p_write_id or p_write_id is null then
            perform strongroom_private.fail_missed_write(
                'collection', p_expected_version, v_current.version
            );
        end if;
    end if;
    return query
    select f.*
    from strongroom.find_collection(p_tenant_id, p_collection_id) as f;
exception
    when unique_violation then
        perform strongroom_private.fail(
            'already_exists',
            'another collection has this name',
            '{"path": "changes.name", "record": "collection"}',
            'Choose another name.'
        );
end
$$;
comment on function strongroom.update_collection(text, text, jsonb, bigint, text) is
    'Change name, metadata or the embedding model (its three fields together; null for none), given'
    ' the version that was read. What was embedded with another model is stale from then on and in'
    ' no vector search. Errors: SR001, SR004, SR010, SR011, SR012, SR020. Callers: hosts.';

create function strongroom.list_collections(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_name text default null
)
returns table (
    tenant_id text,
    id text,
    name text,
    language text,
    embedding_model text,
    embedding_version text,
    embedding_dimensions integer,
    metadata jsonb,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
-- A page walks its index; a bitmap of it is all that there is.
set enable_bitmapscan = off
set jit = off
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope(
        'collections', jsonb_build_array(p_name), p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'forward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_optional_name('name', p_name);
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    return query execute format(
        $query$
            select
                d.*,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(d.created_at), d.id]
                ),
                s.total > $4
            from (
                select
                    c.id,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select c.id
                    from strongroom.collections as c
                    where c.tenant_id = $1
                        and ($5 is null or c.name = $5)
                        and ($2 is null or (c.created_at, c.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by c.created_at %2$s, c.id %2$s
                    limit $4 + 1
                ) as c
            ) as s
            cross join lateral (
                select d.*
                from strongroom.collection_details as d
                where d.tenant_id = $1
                    and d.id = s.id
                offset 0
            ) as d
            where s.place <= $4
            order by d.created_at %3$s, d.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_keys, v_scope, p_limit, p_name;
end
$$;
comment on function strongroom.list_collections(text, integer, text, text, text, text) is
    'A page of collections, forward newest first. Filter: name. has_more: whether rows follow in'
    ' the'
    ' paging direction. Errors: SR001, SR002, SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom.purge_collection(p_tenant_id text, p_collection_id text)
returns table (table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_table record;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('collection_id', p_collection_id);
    -- Locked first, so that nothing is added between the count and the deletion.
    perform
    from strongroom.collections as c
    where c.tenant_id = p_tenant_id
        and c.id = p_collection_id
    for update;
    table_name := 'collections';
    select count(*)
    into row_count
    from strongroom.collections as c
    where c.tenant_id = p_tenant_id
        and c.id = p_collection_id;
    return next;
    for v_table in
        select c.relname
        from pg_class as c
        inner join pg_attribute as a on a.attrelid = c.oid
        where c.relnamespace = to_regnamespace('strongroom')
            and c.relkind in ('r', 'p')
            and a.attname = 'collection_id'
            and not a.attisdropped
        order by c.relname
    loop
        table_name := v_table.relname;
        execute format(
            'select count(*) from strongroom.%I where tenant_id = $1 and collection_id = $2',
            v_table.relname
        )
        into row_count
        using p_tenant_id, p_collection_id;
        return next;
    end loop;
    delete from strongroom.collections as c
    where c.tenant_id = p_tenant_id
        and c.id = p_collection_id;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'collection.purge', 'collection', p_collection_id
        );
    end if;
end
$$;
comment on function strongroom.purge_collection(text, text) is
    'Delete a collection with its sources and chunks for good; returns how many rows each table'
    ' lost. A repeat, and an id that does not exist, delete nothing. Errors: SR001, SR020. Callers:'
    ' hosts.';


-- ---------------------------------------------------------------------------------------------
-- Sources and chunks
-- ---------------------------------------------------------------------------------------------
-- Invariants: a living source is the only one of its external_ref in the collection; its chunks are
-- numbered 1, 2, 3, ... (with gaps where a person was erased) and are all embedded with the model
-- that the source names, or none is.

create table strongroom.sources (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    collection_id text collate "C" not null,
    external_ref text collate "C" not null,
    source_type text collate "C" not null default 'document',
    title text,
    uri text,
    file_id text collate "C",
    metadata jsonb not null default '{}',
    auth_subjects text[] collate "C" not null default '{tenant}',
    content_digest text collate "C",
    embedding_model text collate "C",
    embedding_version text collate "C",
    embedding_dimensions integer,
    open_chunk_count integer not null default 0,
    version bigint not null default 1,
    stored_digest text collate "C",
    last_write_id text collate "C",
    deleted_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint sources_pkey primary key (tenant_id, collection_id, id),
    constraint a_source_id_is_used_once_in_a_tenant unique (tenant_id, id),
    constraint source_belongs_to_a_collection
        foreign key (tenant_id, collection_id)
        references strongroom.collections (tenant_id, id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint external_ref_has_1_to_255_characters
        check (char_length(external_ref) between 1 and 255),
    constraint source_type_has_1_to_255_characters
        check (char_length(source_type) between 1 and 255),
    constraint title_has_1_to_255_characters check (char_length(title) between 1 and 255),
    constraint uri_has_1_to_8192_characters check (char_length(uri) between 1 and 8192),
    constraint file_id_has_1_to_255_characters check (char_length(file_id) between 1 and 255),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint a_source_has_at_most_100_subjects check (cardinality(auth_subjects) <= 100),
    constraint content_digest_has_1_to_255_characters
        check (char_length(content_digest) between 1 and 255),
    constraint an_embedding_model_is_described_in_full
        check (num_nulls(embedding_model, embedding_version, embedding_dimensions) in (0, 3)),
    constraint open_chunk_count_is_not_negative check (open_chunk_count >= 0),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.sources is
    'What chunks were cut from: a document, a page, a record. Replaced as a whole.';
comment on column strongroom.sources.tenant_id is 'The tenant.';
comment on column strongroom.sources.id is
    'The source''s id, unique in the tenant; it stays the same when the source is replaced.';
comment on column strongroom.sources.collection_id is 'The collection.';
comment on column strongroom.sources.external_ref is
    'The host''s own name for it, such as a path: unique among the collection''s living sources.';
comment on column strongroom.sources.source_type is 'What it is, for filters: document, page, ...';
comment on column strongroom.sources.title is 'A title for people.';
comment on column strongroom.sources.uri is 'Where it can be read, for citations.';
comment on column strongroom.sources.file_id is
    'The file that it was read from, which may be gone.';
comment on column strongroom.sources.metadata is 'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.sources.auth_subjects is
    'Who may see it: tenant, principal:<id>, role:<id>, conversation:<id>; none of them: hosts'
    ' alone.';
comment on column strongroom.sources.content_digest is
    'The host''s own hash of the original, to know without reading it again that it is unchanged.';
comment on column strongroom.sources.embedding_model is
    'The model that its chunks were embedded with; null when they were not.';
comment on column strongroom.sources.embedding_version is 'That model''s version.';
comment on column strongroom.sources.embedding_dimensions is 'How many values each embedding has.';
comment on column strongroom.sources.open_chunk_count is
    'How many chunks everyone sees who sees it. Those that name subjects of their own are counted'
    ' for each reader anew: no column says how many there are.';
comment on column strongroom.sources.version is 'One more at every change.';
comment on column strongroom.sources.stored_digest is
    'Hash of what it was replaced with, to know a repeat; null after any other change.';
comment on column strongroom.sources.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.sources.deleted_at is
    'When it was soft-deleted: hidden, and restorable.';
comment on column strongroom.sources.created_at is 'When it was first written.';
comment on column strongroom.sources.updated_at is 'When it last changed.';

create unique index an_external_ref_names_one_living_source
    on strongroom.sources (tenant_id, collection_id, external_ref)
    where deleted_at is null;
comment on index strongroom.an_external_ref_names_one_living_source is
    'Soft deletion frees the name.';
create index sources_by_creation
    on strongroom.sources (tenant_id, collection_id, created_at, id);
comment on index strongroom.sources_by_creation is 'Pages of a collection''s sources.';

create table strongroom.chunks (
    tenant_id text collate "C" not null,
    collection_id text collate "C" not null,
    source_id text collate "C" not null,
    number integer not null,
    content text not null,
    locator jsonb not null default '{}',
    token_count integer,
    auth_subjects text[] collate "C",
    metadata jsonb not null default '{}',
    constraint chunks_pkey primary key (tenant_id, collection_id, source_id, number),
    constraint chunk_belongs_to_a_source
        foreign key (tenant_id, collection_id, source_id)
        references strongroom.sources (tenant_id, collection_id, id)
        on delete cascade,
    constraint number_is_positive check (number > 0),
    constraint content_has_1_byte_to_1_mebibyte check (octet_length(content) between 1 and 1048576),
    constraint locator_is_an_object check (jsonb_typeof(locator) = 'object'),
    constraint token_count_is_not_negative check (token_count >= 0),
    constraint a_chunk_has_at_most_100_subjects check (cardinality(auth_subjects) <= 100),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object')
);
comment on table strongroom.chunks is 'The pieces of a source that are searched.';
comment on column strongroom.chunks.tenant_id is 'The tenant.';
comment on column strongroom.chunks.collection_id is 'The collection.';
comment on column strongroom.chunks.source_id is 'The source.';
comment on column strongroom.chunks.number is 'Its place in the source: 1, 2, 3, ...';
comment on column strongroom.chunks.content is 'The text, at most 1 MiB.';
comment on column strongroom.chunks.locator is
    'Where in the source it stands, as the host likes: page, heading, characters.';
comment on column strongroom.chunks.token_count is 'How many tokens it has for the host''s model.';
comment on column strongroom.chunks.auth_subjects is
    'Who of those who may see the source may see this chunk; null: all of them.';
comment on column strongroom.chunks.metadata is
    'The host''s own JSON object, at most 16 KiB; over the source''s in filters.';

create index chunks_for_some
    on strongroom.chunks (tenant_id, collection_id, source_id)
    where auth_subjects is not null;
comment on index strongroom.chunks_for_some is
    'Chunks that name subjects of their own, to count those that a reader may see.';

create table strongroom_private.chunk_terms (
    tenant_id text collate "C" not null,
    collection_id text collate "C" not null,
    source_id text collate "C" not null,
    number integer not null,
    terms tsvector not null,
    constraint chunk_terms_pkey primary key (tenant_id, collection_id, source_id, number),
    constraint search_vector_belongs_to_a_chunk
        foreign key (tenant_id, collection_id, source_id, number)
        references strongroom.chunks (tenant_id, collection_id, source_id, number)
        on delete cascade
);
comment on table strongroom_private.chunk_terms is
    'The search vectors of chunks. Its rows are seen only as far as they match the bound search.';
comment on column strongroom_private.chunk_terms.tenant_id is 'The tenant.';
comment on column strongroom_private.chunk_terms.collection_id is 'The collection.';
comment on column strongroom_private.chunk_terms.source_id is 'The source.';
comment on column strongroom_private.chunk_terms.number is 'The chunk.';
comment on column strongroom_private.chunk_terms.terms is
    'The terms of its content with their places, and the scopes of its collection and source.';

-- Without a list of pending entries, which every search would have to read through.
create index chunks_by_term on strongroom_private.chunk_terms using gin (terms)
    with (fastupdate = off);
comment on index strongroom_private.chunks_by_term is
    'Search by words; the scopes among the terms bind it to one collection.';

alter table strongroom.sources enable row level security;
alter table strongroom.sources force row level security;
create policy readers_read on strongroom.sources
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or (
                deleted_at is null
                and (
                    auth_subjects && (select strongroom_private.current_subjects())
                    or strongroom_private.is_shown_by_conversation(
                        tenant_id, auth_subjects, (select strongroom_private.current_principal())
                    )
                )
            )
        )
    );
comment on policy readers_read on strongroom.sources is
    'Hosts read the bound tenant''s; users what one of their subjects admits them to.';
create policy trusted_inserts on strongroom.sources
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.sources is 'Hosts, through replace_source.';
create policy trusted_updates on strongroom.sources
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.sources is 'Hosts.';
create policy trusted_deletes on strongroom.sources
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_deletes on strongroom.sources is 'Hosts, through purge_source.';

create function strongroom_private.may_read_source(p_tenant_id text, p_source_id text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- With the caller's rights: the policy of sources decides.
    return exists (
        select
        from strongroom.sources as s
        where s.tenant_id = p_tenant_id
            and s.id = p_source_id
    );
end
$$;
comment on function strongroom_private.may_read_source(text, text) is
    'Whether the policy of sources shows this one to the caller. For the policy of chunks.';

alter table strongroom.chunks enable row level security;
alter table strongroom.chunks force row level security;
create policy readers_read on strongroom.chunks
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or (
                (
                    auth_subjects is null
                    or auth_subjects && (select strongroom_private.current_subjects())
                    or strongroom_private.is_shown_by_conversation(
                        tenant_id, auth_subjects, (select strongroom_private.current_principal())
                    )
                )
                and strongroom_private.may_read_source(tenant_id, source_id)
            )
        )
    );
comment on policy readers_read on strongroom.chunks is
    'As the source, and where the chunk names subjects of its own as these, too.';
create policy trusted_inserts on strongroom.chunks
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.chunks is 'Hosts, through replace_source.';
create policy trusted_updates on strongroom.chunks
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.chunks is 'Hosts, when embeddings are put.';
create policy trusted_deletes on strongroom.chunks
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_deletes on strongroom.chunks is 'Hosts, through replace_source.';

alter table strongroom_private.chunk_terms enable row level security;
alter table strongroom_private.chunk_terms force row level security;
create policy searches_read on strongroom_private.chunk_terms
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
        and terms @@ (select strongroom_private.bound_search())
    );
comment on policy searches_read on strongroom_private.chunk_terms is
    'What matches the search that is bound. A condition of the policy may use the index; one of the'
    ' query may not, unless the owner is above row security.';
create policy trusted_inserts on strongroom_private.chunk_terms
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom_private.chunk_terms is 'The functions of hosts.';
create policy trusted_deletes on strongroom_private.chunk_terms
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_deletes on strongroom_private.chunk_terms is 'The functions of hosts.';

create function strongroom_private.erase_source_subjects(
    p_tenant_id text,
    p_principal_id text
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_subject text := 'principal:' || p_principal_id;
    v_deleted bigint;
    v_changed bigint;
begin
    delete from strongroom.sources as s
    where s.tenant_id = p_tenant_id
        and s.auth_subjects <@ array[v_subject]
        and s.auth_subjects <> '{}';
    get diagnostics v_deleted = row_count;
    update strongroom.sources as s
    set auth_subjects = array_remove(s.auth_subjects, v_subject),
        version = s.version + 1,
        stored_digest = null,
        last_write_id = null,
        updated_at = now()
    where s.tenant_id = p_tenant_id
        and v_subject = any (s.auth_subjects);
    get diagnostics v_changed = row_count;
    return v_deleted + v_changed;
end
$$;
comment on function strongroom_private.erase_source_subjects(text, text) is
    'Erasure: sources that this person alone could see go, with their chunks; others no longer name'
    ' them. Returns how many sources.';

create function strongroom_private.erase_chunk_subjects(
    p_tenant_id text,
    p_principal_id text
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_subject text := 'principal:' || p_principal_id;
    v_source record;
    v_deleted bigint := 0;
    v_changed bigint;
begin
    -- Sources are locked first, as everywhere. What is left keeps its numbers, so that a citation
    -- never comes to mean another chunk.
    for v_source in
        select
            s.id,
            s.collection_id
        from strongroom.sources as s
        where s.tenant_id = p_tenant_id
            and exists (
                select
                from strongroom.chunks as c
                where c.tenant_id = s.tenant_id
                    and c.collection_id = s.collection_id
                    and c.source_id = s.id
                    and v_subject = any (c.auth_subjects)
            )
        order by s.id
        for update
    loop
        delete from strongroom.chunks as c
        where c.tenant_id = p_tenant_id
            and c.collection_id = v_source.collection_id
            and c.source_id = v_source.id
            and c.auth_subjects <@ array[v_subject]
            and c.auth_subjects <> '{}';
        get diagnostics v_changed = row_count;
        v_deleted := v_deleted + v_changed;
        update strongroom.sources as s
        set version = s.version + 1,
            stored_digest = null,
            last_write_id = null,
            updated_at = now()
        where s.tenant_id = p_tenant_id
            and s.id = v_source.id;
    end loop;
    update strongroom.chunks as c
    set auth_subjects = array_remove(c.auth_subjects, v_subject)
    where c.tenant_id = p_tenant_id
        and v_subject = any (c.auth_subjects);
    get diagnostics v_changed = row_count;
    return v_deleted + v_changed;
end
$$;
comment on function strongroom_private.erase_chunk_subjects(text, text) is
    'Erasure: chunks that this person alone could see go; others no longer name them. Returns how'
    ' many chunks.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.collections',
    p_column => '',
    p_action => 'keep',
    p_reason => 'It names nobody.'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.sources',
    p_column => 'auth_subjects',
    p_action => 'handle',
    p_reason => 'What only this person could see is theirs; elsewhere their name goes.',
    p_handler => 'strongroom_private.erase_source_subjects'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.chunks',
    p_column => 'auth_subjects',
    p_action => 'handle',
    p_reason => 'What only this person could see is theirs; elsewhere their name goes.',
    p_handler => 'strongroom_private.erase_chunk_subjects'
);

-- SECURITY DEFINER: the policy of chunks would be asked for every chunk of every source of a page.
-- It takes tenant and subjects from nothing but the caller's token, and says nothing about a source
-- that they may not see.
create function strongroom_private.count_chunks_of_user(
    p_tenant_id text,
    p_collection_id text,
    p_source_id text
)
returns integer
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_subjects text[];
    v_principal_id text;
    v_count integer;
begin
    -- Most sources have none that names subjects of its own.
    if p_tenant_id is distinct from strongroom_private.current_tenant()
        or not exists (
            select
            from strongroom.chunks as c
            where c.tenant_id = p_tenant_id
                and c.collection_id = p_collection_id
                and c.source_id = p_source_id
                and c.auth_subjects is not null
        )
    then
        return 0;
    end if;
    v_subjects := strongroom_private.current_subjects();
    v_principal_id := strongroom_private.current_principal();
    select count(*)
    into v_count
    from strongroom.sources as s
    inner join strongroom.chunks as c
        on c.tenant_id = s.tenant_id
        and c.collection_id = s.collection_id
        and c.source_id = s.id
    where s.tenant_id = p_tenant_id
        and s.collection_id = p_collection_id
        and s.id = p_source_id
        and s.deleted_at is null
        and (
            s.auth_subjects && v_subjects
            or strongroom_private.is_shown_by_conversation(
                s.tenant_id, s.auth_subjects, v_principal_id
            )
        )
        and c.auth_subjects is not null
        and (
            c.auth_subjects && v_subjects
            or strongroom_private.is_shown_by_conversation(
                c.tenant_id, c.auth_subjects, v_principal_id
            )
        );
    return v_count;
end
$$;
comment on function strongroom_private.count_chunks_of_user(text, text, text) is
    'How many chunks of a source that name subjects of their own the signed-in user may see.'
    ' SECURITY DEFINER, see its comment in the migration.';

create view strongroom.source_details
with (security_invoker = true)
as
select
    s.tenant_id,
    s.id,
    s.collection_id,
    s.external_ref,
    s.source_type,
    s.title,
    s.uri,
    s.file_id,
    s.metadata,
    s.auth_subjects,
    s.content_digest,
    s.embedding_model,
    s.embedding_version,
    s.embedding_dimensions,
    s.open_chunk_count + case
        when (select strongroom_private.is_trusted()) then (
            select count(*)::integer
            from strongroom.chunks as c
            where c.tenant_id = s.tenant_id
                and c.collection_id = s.collection_id
                and c.source_id = s.id
                and c.auth_subjects is not null
        )
        else strongroom_private.count_chunks_of_user(s.tenant_id, s.collection_id, s.id)
    end as chunk_count,
    s.version,
    s.deleted_at,
    s.created_at,
    s.updated_at
from strongroom.sources as s;
comment on view strongroom.source_details is
    'A source as the functions return it, without bookkeeping columns. Under the row security of'
    ' the'
    ' reader.';

create function strongroom_private.count_chunks_shown(
    p_source strongroom.source_details,
    p_subjects text[],
    p_viewer_id text
)
returns integer
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select s.open_chunk_count + (
        select count(*)
        from strongroom.chunks as c
        where c.tenant_id = s.tenant_id
            and c.collection_id = s.collection_id
            and c.source_id = s.id
            and c.auth_subjects is not null
            and (
                c.auth_subjects && p_subjects
                or strongroom_private.is_shown_by_conversation(
                    c.tenant_id, c.auth_subjects, p_viewer_id
                )
            )
    )::integer
    from strongroom.sources as s
    where s.tenant_id = p_source.tenant_id
        and s.id = p_source.id
$$;
comment on function strongroom_private.count_chunks_shown(
    strongroom.source_details, text[], text
) is
    'How many chunks of a source a viewer may see whom a host has named.';

create type strongroom.replaced_source as (
    tenant_id text,
    id text,
    collection_id text,
    external_ref text,
    source_type text,
    title text,
    uri text,
    file_id text,
    metadata jsonb,
    auth_subjects text[],
    content_digest text,
    embedding_model text,
    embedding_version text,
    embedding_dimensions integer,
    chunk_count integer,
    version bigint,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.replaced_source is
    'A source, and what the call did: inserted, replaced, or nothing: duplicate.';

create function strongroom_private.find_vector_schema()
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select n.nspname::text
    from pg_class as c
    inner join pg_attribute as a on a.attrelid = c.oid
    inner join pg_type as t on t.oid = a.atttypid
    inner join pg_namespace as n on n.oid = t.typnamespace
    where c.relnamespace = to_regnamespace('strongroom')
        and c.relname = 'chunks'
        and a.attname = 'embedding'
        and not a.attisdropped
$$;
comment on function strongroom_private.find_vector_schema() is
    'The schema in which pgvector lives, or null when the migration vectors was skipped here.';

create function strongroom.list_capabilities()
returns table (capability text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select 'vector_search'
    from pg_attribute as a
    where a.attrelid = to_regclass('strongroom.chunks')
        and a.attname = 'embedding'
        and not a.attisdropped
$$;
comment on function strongroom.list_capabilities() is
    'What this database can do that not every one can: vector_search, where the migration vectors'
    ' ran. Callers: hosts, users.';

create function strongroom_private.require_vectors()
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_schema text := strongroom_private.find_vector_schema();
begin
    if v_schema is null then
        perform strongroom_private.fail(
            'missing_capability',
            'this database has no vector search',
            '{"capability": "vector_search"}',
            'Search by text; or install pgvector 0.8 or newer (create extension vector) and run'
            ' `strongroom migrate apply`.'
        );
    end if;
    return v_schema;
end
$$;
comment on function strongroom_private.require_vectors() is
    'The schema in which pgvector lives, or an error that says what to do. Errors: SR040.';

create function strongroom_private.check_direction(
    p_field text,
    p_embedding jsonb,
    p_dimensions integer
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_actual integer;
begin
    if coalesce(jsonb_typeof(p_embedding), 'null') <> 'array'
        or jsonb_path_exists(p_embedding, 'strict $[*] ? (@.type() != "number")')
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a list of numbers', p_field),
            jsonb_build_object('path', p_field),
            'Give the values of the embedding, as the model returned them.'
        );
    end if;
    v_actual := jsonb_array_length(p_embedding);
    if v_actual <> p_dimensions then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s has %s dimensions, the collection''s model %s', p_field, v_actual,
                p_dimensions),
            jsonb_build_object('path', p_field, 'expected', p_dimensions, 'actual', v_actual),
            'Embed with the collection''s model, or change the collection''s model first.'
        );
    end if;
    if jsonb_path_exists(p_embedding, 'strict $[*] ? (@ > 1e15 || @ < -1e15)')
        or not jsonb_path_exists(p_embedding, 'strict $[*] ? (@ > 1e-15 || @ < -1e-15)')
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s has no direction', p_field),
            jsonb_build_object('path', p_field),
            'Give values of at most 1e15, and at least one that is not 0: nearness is by cosine.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_direction(text, jsonb, integer) is
    'An embedding is a list of as many numbers as the model has dimensions, and not all 0. Errors:'
    ' SR001.';

create function strongroom_private.check_chunks(p_chunks jsonb, p_dimensions integer)
returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_chunk record;
    v_path text;
    v_bytes integer;
    v_embedded boolean;
    v_first_embedded boolean;
begin
    if jsonb_typeof(p_chunks) is distinct from 'array' then
        perform strongroom_private.fail(
            'invalid_argument',
            'chunks must be a list',
            '{"path": "chunks"}',
            'Give 0 to 5000 chunks, in order.'
        );
    end if;
    if jsonb_array_length(p_chunks) > 5000 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('chunks has %s entries; a source has at most 5000',
                jsonb_array_length(p_chunks)),
            jsonb_build_object(
                'path', 'chunks', 'limit', 5000, 'actual', jsonb_array_length(p_chunks)
            ),
            'Cut larger chunks, or make several sources of it.'
        );
    end if;
    for v_chunk in
        select
            c.value,
            c.place - 1 as index
        from jsonb_array_elements(p_chunks) with ordinality as c (value, place)
        order by c.place
    loop
        v_path := format('chunks[%s]', v_chunk.index);
        perform strongroom_private.check_keys(
            v_path,
            v_chunk.value,
            '{content,locator,token_count,auth_subjects,metadata,embedding}'
        );
        if coalesce(jsonb_typeof(v_chunk.value -> 'content'), 'null') <> 'string'
            or v_chunk.value -> 'content' = '""'
        then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.content is required', v_path),
                jsonb_build_object('path', v_path || '.content'),
                'Give the text of the chunk.'
            );
        end if;
        v_bytes := octet_length(v_chunk.value ->> 'content');
        if v_bytes > 1048576 then
            perform strongroom_private.fail(
                'limit_exceeded',
                format('%s.content has %s bytes; at most 1048576 are allowed', v_path, v_bytes),
                jsonb_build_object(
                    'path', v_path || '.content', 'limit', 1048576, 'actual', v_bytes
                ),
                'Cut it into smaller chunks; nothing was written.'
            );
        end if;
        perform strongroom_private.check_object(
            v_path || '.locator', coalesce(v_chunk.value -> 'locator', '{}'), 16384
        );
        perform strongroom_private.check_object(
            v_path || '.metadata', coalesce(v_chunk.value -> 'metadata', '{}'), 16384
        );
        if coalesce(jsonb_typeof(v_chunk.value -> 'token_count'), 'null') <> 'null' and not (
            strongroom_private.is_whole_number(v_chunk.value -> 'token_count', 0)
            and (v_chunk.value ->> 'token_count')::numeric <= 2147483647
        ) then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.token_count must be a whole number from 0 to 2147483647', v_path),
                jsonb_build_object('path', v_path || '.token_count'),
                'Leave it out when it is not known.'
            );
        end if;
        if coalesce(jsonb_typeof(v_chunk.value -> 'auth_subjects'), 'null') <> 'null' then
            if jsonb_typeof(v_chunk.value -> 'auth_subjects') <> 'array'
                or jsonb_path_exists(
                    v_chunk.value -> 'auth_subjects', 'strict $[*] ? (@.type() != "string")'
                )
            then
                perform strongroom_private.fail(
                    'invalid_argument',
                    format('%s.auth_subjects must be a plain list', v_path),
                    jsonb_build_object('path', v_path || '.auth_subjects'),
                    'Give a list of subjects, or leave it out.'
                );
            end if;
            perform strongroom_private.check_subjects(
                v_path || '.auth_subjects',
                array(select jsonb_array_elements_text(v_chunk.value -> 'auth_subjects'))
            );
        end if;
        v_embedded := coalesce(jsonb_typeof(v_chunk.value -> 'embedding'), 'null') <> 'null';
        v_first_embedded := coalesce(v_first_embedded, v_embedded);
        if v_embedded <> v_first_embedded then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.embedding: either all chunks have one, or none', v_path),
                jsonb_build_object('path', v_path || '.embedding'),
                'Embed all chunks of the source.'
            );
        end if;
        if v_embedded and p_dimensions is null then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.embedding: the collection names no embedding model', v_path),
                jsonb_build_object('path', v_path || '.embedding'),
                'Set the collection''s model first: update_collection.'
            );
        end if;
        if v_embedded then
            perform strongroom_private.check_direction(
                v_path || '.embedding', v_chunk.value -> 'embedding', p_dimensions
            );
        end if;
    end loop;
    return coalesce(v_first_embedded, false);
end
$$;
comment on function strongroom_private.check_chunks(jsonb, integer) is
    'A list of 0 to 5,000 well-formed chunks, all embedded or none; returns which. Errors: SR001,'
    ' SR004.';

create function strongroom_private.require_collection(
    p_tenant_id text,
    p_collection_id text,
    p_embedding_model text default null,
    p_embedding_version text default null,
    p_embedding_dimensions integer default null
)
returns strongroom.collections
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_collection strongroom.collections;
begin
    select c.*
    into v_collection
    from strongroom.collections as c
    where c.tenant_id = p_tenant_id
        and c.id = p_collection_id;
    if v_collection.id is null then
        perform strongroom_private.fail_missed_write('collection', null, null);
    end if;
    if p_embedding_model is not null
        and (p_embedding_model, p_embedding_version, p_embedding_dimensions) is distinct from (
            v_collection.embedding_model,
            v_collection.embedding_version,
            v_collection.embedding_dimensions
        )
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format(
                'the embeddings are of %s %s with %s dimensions, the collection''s model is %s',
                p_embedding_model,
                p_embedding_version,
                p_embedding_dimensions,
                coalesce(
                    format(
                        '%s %s with %s',
                        v_collection.embedding_model,
                        v_collection.embedding_version,
                        v_collection.embedding_dimensions
                    ),
                    'not set'
                )
            ),
            jsonb_build_object(
                'path', 'embedding_model',
                'expected', jsonb_build_array(
                    v_collection.embedding_model,
                    v_collection.embedding_version,
                    v_collection.embedding_dimensions
                ),
                'actual', jsonb_build_array(
                    p_embedding_model, p_embedding_version, p_embedding_dimensions
                )
            ),
            'Embed with the collection''s model, or change the collection''s model first.'
        );
    end if;
    return v_collection;
end
$$;
comment on function strongroom_private.require_collection(text, text, text, text, integer) is
    'The collection, which must have the model that embeddings are said to be of. Errors: SR001,'
    ' SR010.';

-- SECURITY DEFINER: the table of terms is nobody's to read or write, and pgvector's schema may be
-- closed to hosts. It writes only for a host, and only into the tenant that is bound.
create function strongroom_private.write_chunks(
    p_source strongroom.sources,
    p_language text,
    p_chunks jsonb
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_schema text := strongroom_private.find_vector_schema();
begin
    if p_source.tenant_id is distinct from strongroom_private.current_tenant() then
        perform strongroom_private.fail(
            'tenant_mismatch', 'the source is not of the bound tenant', '{}', 'Bind its tenant.'
        );
    end if;
    execute format(
        $query$
            insert into strongroom.chunks (
                tenant_id, collection_id, source_id, number, content, locator, token_count,
                auth_subjects, metadata%1$s
            )
            select
                $1,
                $2,
                $3,
                c.number,
                c.value ->> 'content',
                coalesce(c.value -> 'locator', '{}'),
                (c.value ->> 'token_count')::integer,
                case jsonb_typeof(c.value -> 'auth_subjects')
                    when 'array'
                    then array(select jsonb_array_elements_text(c.value -> 'auth_subjects'))
                end,
                coalesce(c.value -> 'metadata', '{}')%2$s
            from jsonb_array_elements($4) with ordinality as c (value, number)
        $query$,
        case when p_source.embedding_model is not null then ', embedding' else '' end,
        case
            when p_source.embedding_model is not null
            then format(
                ', %1$I.l2_normalize((c.value ->> ''embedding'')::%1$I.vector)', v_schema
            )
            else ''
        end
    )
    using p_source.tenant_id, p_source.collection_id, p_source.id, p_chunks;
    insert into strongroom_private.chunk_terms (
        tenant_id, collection_id, source_id, number, terms
    )
    select
        p_source.tenant_id,
        p_source.collection_id,
        p_source.id,
        c.number,
        strongroom_private.encode_terms(
            p_language,
            c.value ->> 'content',
            array[
                strongroom_private.encode_scope(
                    'c', p_source.tenant_id, p_source.collection_id
                ),
                strongroom_private.encode_scope('s', p_source.tenant_id, p_source.id)
            ]
        )
    from jsonb_array_elements(p_chunks) with ordinality as c (value, number);
end
$$;
comment on function strongroom_private.write_chunks(strongroom.sources, text, jsonb) is
    'Write the chunks of a source that has none, their terms, and their embeddings when the source'
    ' names a model. SECURITY DEFINER, see its comment in the migration. Errors: SR021.';

create function strongroom.replace_source(
    p_tenant_id text,
    p_collection_id text,
    p_external_ref text,
    p_chunks jsonb,
    p_source_id text default null,
    p_source_type text default 'document',
    p_title text default null,
    p_uri text default null,
    p_file_id text default null,
    p_metadata jsonb default '{}',
    p_auth_subjects text[] default '{tenant}',
    p_content_digest text default null,
    p_embedding_model text default null,
    p_embedding_version text default null,
    p_embedding_dimensions integer default null,
    p_expected_version bigint default null
)
returns setof strongroom.replaced_source
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_collection strongroom.collections;
    v_source strongroom.sources;
    v_embedded boolean;
    v_before strongroom.sources;
    v_digest text;
    v_outcome text := 'replaced';
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('collection_id', p_collection_id);
    perform strongroom_private.check_id('external_ref', p_external_ref);
    perform strongroom_private.check_optional_id('source_id', p_source_id);
    perform strongroom_private.check_id('source_type', p_source_type);
    perform strongroom_private.check_optional_name('title', p_title);
    perform strongroom_private.check_uri('uri', p_uri);
    perform strongroom_private.check_optional_id('file_id', p_file_id);
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    perform strongroom_private.check_subjects('auth_subjects', p_auth_subjects);
    perform strongroom_private.check_optional_id('content_digest', p_content_digest);
    perform strongroom_private.check_embedding_model(
        p_embedding_model, p_embedding_version, p_embedding_dimensions
    );
    if p_expected_version is not null then
        perform strongroom_private.check_expected_version(p_expected_version);
    end if;
    v_collection := strongroom_private.require_collection(
        p_tenant_id, p_collection_id, p_embedding_model, p_embedding_version, p_embedding_dimensions
    );
    v_embedded := strongroom_private.check_chunks(p_chunks, v_collection.embedding_dimensions);
    if v_embedded then
        perform strongroom_private.require_vectors();
    end if;
    v_digest := strongroom_private.digest(jsonb_build_array(
        p_source_type, p_title, p_uri, p_file_id, p_metadata,
        array(select distinct s from unnest(p_auth_subjects) as s order by s),
        p_content_digest,
        case when v_embedded then v_collection.embedding_model end,
        case when v_embedded then v_collection.embedding_version end,
        p_chunks
    ));

    insert into strongroom.sources (tenant_id, id, collection_id, external_ref)
    select
        p_tenant_id,
        coalesce(p_source_id, gen_random_uuid()::text),
        p_collection_id,
        p_external_ref
    where coalesce(p_expected_version, 0) = 0
    on conflict do nothing;
    if found then
        v_outcome := 'inserted';
    end if;
    select s.*
    into v_source
    from strongroom.sources as s
    where s.tenant_id = p_tenant_id
        and s.collection_id = p_collection_id
        and s.external_ref = p_external_ref
        and s.deleted_at is null
    for update;
    if v_source.id is null and p_expected_version > 0 then
        perform strongroom_private.fail_missed_write('source', null, null);
    end if;
    if v_source.id is null or v_source.id <> coalesce(p_source_id, v_source.id) then
        perform strongroom_private.fail(
            'already_exists',
            case
                when v_source.id is null
                then 'another source has this id'
                else 'the source with this external_ref has another id'
            end,
            jsonb_build_object('path', 'source_id', 'record', 'source'),
            'Leave source_id out, or use the id that the source has.'
        );
    end if;
    if v_outcome = 'replaced' and v_source.stored_digest = v_digest then
        v_outcome := 'duplicate';
    elsif v_outcome = 'replaced' and v_source.version <> p_expected_version then
        perform strongroom_private.fail_missed_write(
            'source', p_expected_version, v_source.version
        );
    else
        v_before := v_source;
        delete from strongroom.chunks as c
        where c.tenant_id = p_tenant_id
            and c.collection_id = p_collection_id
            and c.source_id = v_source.id;
        update strongroom.sources as s
        set source_type = p_source_type,
            title = p_title,
            uri = p_uri,
            file_id = p_file_id,
            metadata = p_metadata,
            auth_subjects = array(
                select distinct u
                from unnest(p_auth_subjects) as u
                order by u
            ),
            content_digest = p_content_digest,
            embedding_model = case when v_embedded then v_collection.embedding_model end,
            embedding_version = case when v_embedded then v_collection.embedding_version end,
            embedding_dimensions = case when v_embedded then v_collection.embedding_dimensions end,
            open_chunk_count = (
                select count(*)
                from jsonb_array_elements(p_chunks) as c
                where coalesce(c -> 'auth_subjects', 'null') = 'null'
            ),
            version = s.version + case v_outcome when 'inserted' then 0 else 1 end,
            stored_digest = v_digest,
            last_write_id = null,
            updated_at = now()
        where s.tenant_id = p_tenant_id
            and s.id = v_source.id
        returning s.* into v_source;
        perform strongroom_private.write_chunks(v_source, v_collection.language, p_chunks);
        if v_outcome = 'replaced' and v_before.auth_subjects <> v_source.auth_subjects then
            perform strongroom_private.record_audit(
                p_tenant_id, 'source.share', 'source', v_source.id,
                jsonb_build_object('version', v_source.version)
            );
        end if;
    end if;

    return query
    select
        d.*,
        v_outcome
    from strongroom.source_details as d
    where d.tenant_id = p_tenant_id
        and d.id = v_source.id;
end
$$;
comment on function strongroom.replace_source(
    text, text, text, jsonb, text, text, text, text, text, jsonb, text[], text, text, text, integer,
    bigint
) is
    'Make this the whole content of the collection''s source with this external_ref, in one step'
    ' for'
    ' readers; make the source where there is none. The same call again changes nothing: duplicate.'
    ' expected_version, where given, must be the source''s (0: there is none). The model, where'
    ' given, must be the collection''s. Errors: SR001, SR004, SR010, SR011, SR012, SR020, SR040.'
    ' Callers: hosts.';

create function strongroom.find_source(
    p_tenant_id text,
    p_source_id text,
    p_viewer_id text default null,
    p_viewer_role_ids text[] default null,
    p_deleted boolean default false
)
returns setof strongroom.source_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_subjects text[] := strongroom_private.read_viewer_subjects(v_viewer_id, p_viewer_role_ids);
    v_is_user boolean := strongroom_private.caller_kind() = 'user';
begin
    perform strongroom_private.check_id('source_id', p_source_id);
    return query
    select
        d.tenant_id,
        d.id,
        d.collection_id,
        d.external_ref,
        d.source_type,
        d.title,
        d.uri,
        d.file_id,
        d.metadata,
        d.auth_subjects,
        d.content_digest,
        d.embedding_model,
        d.embedding_version,
        d.embedding_dimensions,
        case
            when v_subjects is null or v_is_user then d.chunk_count
            else strongroom_private.count_chunks_shown(d, v_subjects, v_viewer_id)
        end,
        d.version,
        d.deleted_at,
        d.created_at,
        d.updated_at
    from strongroom.source_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_source_id
        and (d.deleted_at is not null) = coalesce(p_deleted, false)
        and (
            v_subjects is null
            or d.auth_subjects && v_subjects
            or strongroom_private.is_shown_by_conversation(
                d.tenant_id, d.auth_subjects, v_viewer_id
            )
        );
end
$$;
comment on function strongroom.find_source(text, text, text, text[], boolean) is
    'A source that the caller may see, or no row; deleted finds a soft-deleted one. Errors: SR001,'
    ' SR004, SR020, SR021. Callers: hosts, users.';

create function strongroom.update_source(
    p_tenant_id text,
    p_source_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text default null
)
returns setof strongroom.source_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_current strongroom.sources;
    v_subjects text[];
    v_version bigint;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('source_id', p_source_id);
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    perform strongroom_private.check_keys(
        'changes', p_changes, '{title,uri,metadata,auth_subjects}'
    );
    perform strongroom_private.check_text('changes.title', p_changes -> 'title');
    perform strongroom_private.check_text('changes.uri', p_changes -> 'uri');
    perform strongroom_private.check_optional_name('changes.title', p_changes ->> 'title');
    perform strongroom_private.check_uri('changes.uri', p_changes ->> 'uri');
    if p_changes ? 'metadata' then
        perform strongroom_private.check_object('changes.metadata', p_changes -> 'metadata', 16384);
    end if;
    if p_changes ? 'auth_subjects' then
        if jsonb_typeof(p_changes -> 'auth_subjects') = 'array' then
            v_subjects := array(
                select distinct jsonb_array_elements_text(p_changes -> 'auth_subjects') as u
                order by u
            );
        end if;
        perform strongroom_private.check_subjects('changes.auth_subjects', v_subjects);
    end if;

    update strongroom.sources as s
    set title = case when p_changes ? 'title' then p_changes ->> 'title' else s.title end,
        uri = case when p_changes ? 'uri' then p_changes ->> 'uri' else s.uri end,
        metadata = coalesce(p_changes -> 'metadata', s.metadata),
        auth_subjects = coalesce(v_subjects, s.auth_subjects),
        version = s.version + 1,
        stored_digest = null,
        last_write_id = p_write_id,
        updated_at = now()
    where s.tenant_id = p_tenant_id
        and s.id = p_source_id
        and s.deleted_at is null
        and s.version = p_expected_version
    returning s.version into v_version;

    if v_version is not null and v_subjects is not null then
        perform strongroom_private.record_audit(
            p_tenant_id, 'source.share', 'source', p_source_id,
            jsonb_build_object('version', v_version)
        );
    elsif v_version is null then
        select s.*
        into v_current
        from strongroom.sources as s
        where s.tenant_id = p_tenant_id
            and s.id = p_source_id
            and s.deleted_at is null;
        if v_current.last_write_id is distinct from p_write_id or p_write_id is null then
            perform strongroom_private.fail_missed_write(
                'source', p_expected_version, v_current.version
            );
        end if;
    end if;
    return query
    select f.*
    from strongroom.find_source(p_tenant_id, p_source_id) as f;
end
$$;
comment on function strongroom.update_source(text, text, jsonb, bigint, text) is
    'Change title, uri, metadata or auth_subjects, given the version that was read; null clears'
    ' title and uri. What callers may see changes at once. Errors: SR001, SR004, SR010, SR012,'
    ' SR020. Callers: hosts.';

create function strongroom.list_sources(
    p_tenant_id text,
    p_collection_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_viewer_role_ids text[] default null,
    p_external_ref text default null,
    p_source_type text default null,
    p_deleted boolean default false
)
returns table (
    tenant_id text,
    id text,
    collection_id text,
    external_ref text,
    source_type text,
    title text,
    uri text,
    file_id text,
    metadata jsonb,
    auth_subjects text[],
    content_digest text,
    embedding_model text,
    embedding_version text,
    embedding_dimensions integer,
    chunk_count integer,
    version bigint,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_subjects text[] := strongroom_private.read_viewer_subjects(v_viewer_id, p_viewer_role_ids);
    v_scope text := strongroom_private.cursor_scope(
        'sources',
        jsonb_build_array(
            p_collection_id, v_subjects, p_external_ref, p_source_type, coalesce(p_deleted, false)
        ),
        p_direction
    );
    v_keys text[];
    v_descending boolean := (p_direction = 'forward') <> (p_before is not null);
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_id('collection_id', p_collection_id);
    perform strongroom_private.check_optional_id('external_ref', p_external_ref);
    perform strongroom_private.check_optional_id('source_type', p_source_type);
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    perform strongroom_private.require_collection(p_tenant_id, p_collection_id);
    return query execute format(
        $query$
            select
                d.tenant_id,
                d.id,
                d.collection_id,
                d.external_ref,
                d.source_type,
                d.title,
                d.uri,
                d.file_id,
                d.metadata,
                d.auth_subjects,
                d.content_digest,
                d.embedding_model,
                d.embedding_version,
                d.embedding_dimensions,
                case
                    when $11 then strongroom_private.count_chunks_shown(d, $7, $8)
                    else d.chunk_count
                end,
                d.version,
                d.deleted_at,
                d.created_at,
                d.updated_at,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(d.created_at), d.id]
                ),
                s.total > $4
            from (
                select
                    o.id,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select o.id
                    from strongroom.sources as o
                    where o.tenant_id = $1
                        and o.collection_id = $10
                        and (o.deleted_at is not null) = $9
                        and ($5 is null or o.external_ref = $5)
                        and ($6 is null or o.source_type = $6)
                        and (
                            $7 is null
                            or o.auth_subjects && $7
                            or strongroom_private.is_shown_by_conversation(
                                o.tenant_id, o.auth_subjects, $8
                            )
                        )
                        and ($2 is null or (o.created_at, o.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by o.created_at %2$s, o.id %2$s
                    limit $4 + 1
                ) as o
            ) as s
            cross join lateral (
                select d.*
                from strongroom.source_details as d
                where d.tenant_id = $1
                    and d.id = s.id
                offset 0
            ) as d
            where s.place <= $4
            order by d.created_at %3$s, d.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end
    )
    using
        p_tenant_id, v_keys, v_scope, p_limit, p_external_ref, p_source_type, v_subjects,
        v_viewer_id, coalesce(p_deleted, false), p_collection_id,
        v_subjects is not null and strongroom_private.caller_kind() <> 'user';
end
$$;
comment on function strongroom.list_sources(
    text, text, integer, text, text, text, text, text[], text, text, boolean
) is
    'A page of the sources that the caller may see, forward newest first. Filters: external_ref,'
    ' source_type, deleted. has_more: whether rows follow in the paging direction. Errors: SR001,'
    ' SR002, SR004, SR010, SR020, SR021. Callers: hosts, users.';

create function strongroom.list_stale_sources(
    p_tenant_id text,
    p_collection_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_embedding_model text default null,
    p_embedding_version text default null,
    p_embedding_dimensions integer default null
)
returns table (
    tenant_id text,
    id text,
    collection_id text,
    external_ref text,
    source_type text,
    title text,
    uri text,
    file_id text,
    metadata jsonb,
    auth_subjects text[],
    content_digest text,
    embedding_model text,
    embedding_version text,
    embedding_dimensions integer,
    chunk_count integer,
    version bigint,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_collection strongroom.collections;
    v_scope text;
    v_keys text[];
    v_descending boolean := (p_direction = 'forward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_id('collection_id', p_collection_id);
    perform strongroom_private.check_embedding_model(
        p_embedding_model, p_embedding_version, p_embedding_dimensions
    );
    v_scope := strongroom_private.cursor_scope(
        'stale_sources',
        jsonb_build_array(
            p_collection_id, p_embedding_model, p_embedding_version, p_embedding_dimensions
        ),
        p_direction
    );
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    v_collection := strongroom_private.require_collection(p_tenant_id, p_collection_id);
    if p_embedding_model is not null then
        v_collection.embedding_model := p_embedding_model;
        v_collection.embedding_version := p_embedding_version;
        v_collection.embedding_dimensions := p_embedding_dimensions;
    end if;
    return query execute format(
        $query$
            select
                d.*,
                strongroom_private.encode_cursor(
                    $3, array[strongroom_private.to_microseconds(d.created_at), d.id]
                ),
                s.total > $4
            from (
                select
                    o.id,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select o.id
                    from strongroom.sources as o
                    where o.tenant_id = $1
                        and o.collection_id = $5
                        and o.deleted_at is null
                        and (
                            o.embedding_model is distinct from $6
                            or o.embedding_version is distinct from $7
                            or o.embedding_dimensions is distinct from $8
                        )
                        and ($2 is null or (o.created_at, o.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by o.created_at %2$s, o.id %2$s
                    limit $4 + 1
                ) as o
            ) as s
            cross join lateral (
                select d.*
                from strongroom.source_details as d
                where d.tenant_id = $1
                    and d.id = s.id
                offset 0
            ) as d
            where s.place <= $4
            order by d.created_at %3$s, d.id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'forward' then 'desc' else 'asc' end
    )
    using
        p_tenant_id, v_keys, v_scope, p_limit, p_collection_id, v_collection.embedding_model,
        v_collection.embedding_version, v_collection.embedding_dimensions;
end
$$;
comment on function strongroom.list_stale_sources(
    text, text, integer, text, text, text, text, text, integer
) is
    'A page of the living sources that are not embedded with this model, by default the'
    ' collection''s: what has to be embedded again. has_more: whether rows follow in the paging'
    ' direction. Errors: SR001, SR002, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.soft_delete_source(p_tenant_id text, p_source_id text)
returns setof strongroom.source_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('source_id', p_source_id);
    update strongroom.sources as s
    set deleted_at = now(),
        updated_at = now(),
        version = s.version + 1
    where s.tenant_id = p_tenant_id
        and s.id = p_source_id
        and s.deleted_at is null;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'source.delete', 'source', p_source_id
        );
    end if;
    return query
    select d.*
    from strongroom.source_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_source_id;
    if not found then
        perform strongroom_private.fail_missed_write('source', null, null);
    end if;
end
$$;
comment on function strongroom.soft_delete_source(text, text) is
    'Hide a source and its chunks, restorably, and free its external_ref. A repeat changes nothing.'
    ' Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.restore_source(p_tenant_id text, p_source_id text)
returns setof strongroom.source_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('source_id', p_source_id);
    update strongroom.sources as s
    set deleted_at = null,
        updated_at = now(),
        version = s.version + 1
    where s.tenant_id = p_tenant_id
        and s.id = p_source_id
        and s.deleted_at is not null;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'source.restore', 'source', p_source_id
        );
    end if;
    return query
    select d.*
    from strongroom.source_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_source_id;
    if not found then
        perform strongroom_private.fail_missed_write('source', null, null);
    end if;
exception
    when unique_violation then
        perform strongroom_private.fail(
            'already_exists',
            'another source has taken the external_ref meanwhile',
            '{"path": "external_ref", "record": "source"}',
            'Delete the other source, and restore again.'
        );
end
$$;
comment on function strongroom.restore_source(text, text) is
    'Bring a soft-deleted source back. A repeat changes nothing. Errors: SR001, SR004, SR010,'
    ' SR011,'
    ' SR020. Callers: hosts.';

create function strongroom.purge_source(p_tenant_id text, p_source_id text)
returns table (table_name text, row_count bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_collection_id text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('source_id', p_source_id);
    -- Locked first, so that nothing is added between the count and the deletion.
    select s.collection_id
    into v_collection_id
    from strongroom.sources as s
    where s.tenant_id = p_tenant_id
        and s.id = p_source_id
    for update;
    table_name := 'sources';
    row_count := case when v_collection_id is null then 0 else 1 end;
    return next;
    table_name := 'chunks';
    select count(*)
    into row_count
    from strongroom.chunks as c
    where c.tenant_id = p_tenant_id
        and c.collection_id = v_collection_id
        and c.source_id = p_source_id;
    return next;
    delete from strongroom.sources as s
    where s.tenant_id = p_tenant_id
        and s.id = p_source_id;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'source.purge', 'source', p_source_id
        );
    end if;
end
$$;
comment on function strongroom.purge_source(text, text) is
    'Delete a source and its chunks for good; returns how many rows each table lost. A repeat, and'
    ' an id that does not exist, delete nothing. Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom.find_chunk(
    p_tenant_id text,
    p_source_id text,
    p_number integer,
    p_viewer_id text default null,
    p_viewer_role_ids text[] default null
)
returns table (
    tenant_id text,
    collection_id text,
    source_id text,
    number integer,
    content text,
    locator jsonb,
    token_count integer,
    auth_subjects text[],
    metadata jsonb
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_subjects text[] := strongroom_private.read_viewer_subjects(v_viewer_id, p_viewer_role_ids);
begin
    perform strongroom_private.check_id('source_id', p_source_id);
    perform strongroom_private.check_number(p_number);
    return query
    select
        c.tenant_id,
        c.collection_id,
        c.source_id,
        c.number,
        c.content,
        c.locator,
        c.token_count,
        c.auth_subjects,
        c.metadata
    from strongroom.sources as s
    inner join strongroom.chunks as c
        on c.tenant_id = s.tenant_id
        and c.collection_id = s.collection_id
        and c.source_id = s.id
    where s.tenant_id = p_tenant_id
        and s.id = p_source_id
        and s.deleted_at is null
        and c.number = p_number
        and (
            v_subjects is null
            or s.auth_subjects && v_subjects
            or strongroom_private.is_shown_by_conversation(
                s.tenant_id, s.auth_subjects, v_viewer_id
            )
        )
        and (
            v_subjects is null
            or c.auth_subjects is null
            or c.auth_subjects && v_subjects
            or strongroom_private.is_shown_by_conversation(
                c.tenant_id, c.auth_subjects, v_viewer_id
            )
        );
end
$$;
comment on function strongroom.find_chunk(text, text, integer, text, text[]) is
    'A chunk that the caller may see, by source and number, or no row. Errors: SR001, SR004, SR020,'
    ' SR021. Callers: hosts, users.';

create function strongroom.list_chunks(
    p_tenant_id text,
    p_source_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_viewer_id text default null,
    p_viewer_role_ids text[] default null
)
returns table (
    tenant_id text,
    collection_id text,
    source_id text,
    number integer,
    content text,
    locator jsonb,
    token_count integer,
    auth_subjects text[],
    metadata jsonb,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
-- @plpgsql_check_options: extra_warnings = off
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_subjects text[] := strongroom_private.read_viewer_subjects(v_viewer_id, p_viewer_role_ids);
    v_scope text := strongroom_private.cursor_scope(
        'chunks', jsonb_build_array(p_source_id, v_subjects), p_direction
    );
    v_collection_id text;
    v_keys text[];
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_id('source_id', p_source_id);
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    select f.collection_id
    into v_collection_id
    from strongroom.find_source(
        p_tenant_id, p_source_id, p_viewer_id, p_viewer_role_ids
    ) as f;
    if v_collection_id is null then
        perform strongroom_private.fail_missed_write('source', null, null);
    end if;
    return query execute format(
        $query$
            select
                c.tenant_id,
                c.collection_id,
                c.source_id,
                c.number,
                c.content,
                c.locator,
                c.token_count,
                c.auth_subjects,
                c.metadata,
                strongroom_private.encode_cursor($4, array[c.number::text]),
                c.total > $5
            from (
                select
                    c.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select
                        c.tenant_id,
                        c.collection_id,
                        c.source_id,
                        c.number,
                        c.content,
                        c.locator,
                        c.token_count,
                        c.auth_subjects,
                        c.metadata
                    from strongroom.chunks as c
                    where c.tenant_id = $1
                        and c.collection_id = $2
                        and c.source_id = $3
                        and (
                            $7 is null
                            or c.auth_subjects is null
                            or c.auth_subjects && $7
                            or strongroom_private.is_shown_by_conversation(
                                c.tenant_id, c.auth_subjects, $8
                            )
                        )
                        and ($6 is null or c.number %1$s $6[1]::integer)
                    order by c.number %2$s
                    limit $5 + 1
                ) as c
            ) as c
            where c.place <= $5
            order by c.number %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using
        p_tenant_id, v_collection_id, p_source_id, v_scope, p_limit, v_keys, v_subjects,
        v_viewer_id;
end
$$;
comment on function strongroom.list_chunks(
    text, text, integer, text, text, text, text, text[]
) is
    'A page of the chunks of a source that the caller may see, in order. has_more: whether rows'
    ' follow in the paging direction. Errors: SR001, SR002, SR004, SR010, SR020, SR021. Callers:'
    ' hosts, users.';


-- ---------------------------------------------------------------------------------------------
-- Search
-- ---------------------------------------------------------------------------------------------
-- Invariants: every filter stands inside the query that ranks; the answer has as many rows as asked
-- for, or as there are; ties are in the order of source and number.

create function strongroom_private.rank_by_words(
    p_tenant_id text,
    p_collection_id text,
    p_search tsquery,
    p_limit integer,
    p_min_score double precision,
    p_source_types text[],
    p_metadata jsonb,
    p_subjects text[],
    p_viewer_id text
)
returns table (source_id text, number integer, score double precision)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
-- How many chunks hold the words decides the way, so each search is planned for its own: the plan
-- for any words reads all chunks for each of them.
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    v_bound tsquery := format(
        '''%s''', strongroom_private.encode_scope('c', p_tenant_id, p_collection_id)
    )::tsquery && p_search;
begin
    perform set_config('strongroom.search', v_bound::text, true);
    return query
    select
        r.source_id,
        r.number,
        r.score
    from (
        select
            t.source_id,
            t.number,
            -- Of each term how often it occurs (1 + 1/4 + 1/9 + ...), on average; at most 1.
            ts_rank('{1,1,1,1}', t.terms, p_search)::double precision as score
        from strongroom_private.chunk_terms as t
        inner join strongroom.sources as s
            on s.tenant_id = t.tenant_id
            and s.id = t.source_id
        inner join strongroom.chunks as c
            on c.tenant_id = t.tenant_id
            and c.collection_id = t.collection_id
            and c.source_id = t.source_id
            and c.number = t.number
        where t.tenant_id = p_tenant_id
            and t.collection_id = p_collection_id
            -- Also for an owner whom no policy binds.
            and t.terms @@ v_bound
            and s.deleted_at is null
            and (p_source_types is null or s.source_type = any (p_source_types))
            and (p_metadata is null or s.metadata || c.metadata @> p_metadata)
            and (
                p_subjects is null
                or s.auth_subjects && p_subjects
                or strongroom_private.is_shown_by_conversation(
                    s.tenant_id, s.auth_subjects, p_viewer_id
                )
            )
            and (
                p_subjects is null
                or c.auth_subjects is null
                or c.auth_subjects && p_subjects
                or strongroom_private.is_shown_by_conversation(
                    c.tenant_id, c.auth_subjects, p_viewer_id
                )
            )
    ) as r
    where r.score >= p_min_score
    order by
        r.score desc,
        r.source_id,
        r.number
    limit p_limit;
    perform set_config('strongroom.search', '', true);
end
$$;
comment on function strongroom_private.rank_by_words(
    text, text, tsquery, integer, double precision, text[], jsonb, text[], text
) is
    'The chunks of a collection that hold any of the terms, best first. Runs inside search_chunks,'
    ' with the owner''s rights.';

create function strongroom_private.rank_by_scan(
    p_collection strongroom.collections,
    p_schema text,
    p_embedding text,
    p_limit integer,
    p_min_score double precision,
    p_source_types text[],
    p_metadata jsonb,
    p_subjects text[],
    p_viewer_id text
)
returns table (source_id text, number integer, score double precision)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_memoize = off
set jit = off
as $$
#variable_conflict use_column
-- @plpgsql_check_options: extra_warnings = off
begin
    -- Materialised, so that no index on nearness can be taken for its order: this is exact.
    -- Nothing is memoised: every source is looked up once, and keeping its chunks costs more than
    -- comparing them.
    return query execute format(
        $query$
            with candidates as materialized (
                select
                    c.source_id,
                    c.number,
                    -- Rounding may lead a little beyond a cosine's bounds.
                    greatest(
                        -1, least(1, -(c.embedding operator(%1$I.<#>) $3::%1$I.vector))
                    ) as score
                from strongroom.chunks as c
                inner join strongroom.sources as s
                    on s.tenant_id = c.tenant_id
                    and s.id = c.source_id
                where c.tenant_id = $1
                    and c.collection_id = $2
                    and c.embedding is not null
                    and s.deleted_at is null
                    and s.embedding_model = $10
                    and s.embedding_version = $11
                    and s.embedding_dimensions = $12
                    and ($6 is null or s.source_type = any ($6))
                    and ($7 is null or s.metadata || c.metadata @> $7)
                    and (
                        $8 is null
                        or s.auth_subjects && $8
                        or strongroom_private.is_shown_by_conversation(
                            s.tenant_id, s.auth_subjects, $9
                        )
                    )
                    and (
                        $8 is null
                        or c.auth_subjects is null
                        or c.auth_subjects && $8
                        or strongroom_private.is_shown_by_conversation(
                            c.tenant_id, c.auth_subjects, $9
                        )
                    )
            )
            select
                r.source_id,
                r.number,
                r.score
            from candidates as r
            where r.score >= $5
            order by
                r.score desc,
                r.source_id,
                r.number
            limit $4
        $query$,
        p_schema
    )
    using
        p_collection.tenant_id, p_collection.id, p_embedding, p_limit, p_min_score, p_source_types,
        p_metadata, p_subjects, p_viewer_id, p_collection.embedding_model,
        p_collection.embedding_version, p_collection.embedding_dimensions;
end
$$;
comment on function strongroom_private.rank_by_scan(
    strongroom.collections, text, text, integer, double precision, text[], jsonb, text[], text
) is
    'The chunks of a collection that are nearest to an embedding, exactly: every one is compared.'
    ' Runs inside search_chunks, with the owner''s rights.';

create function strongroom_private.rank_by_index(
    p_collection strongroom.collections,
    p_schema text,
    p_embedding text,
    p_limit integer,
    p_source_types text[],
    p_metadata jsonb,
    p_subjects text[],
    p_viewer_id text
)
returns table (source_id text, number integer, score double precision)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
-- @plpgsql_check_options: extra_warnings = off
declare
    v_dimensions integer := p_collection.embedding_dimensions;
    v_names constant text[] := array[
        'hnsw.iterative_scan', 'hnsw.max_scan_tuples', 'hnsw.ef_search'
    ];
    v_before text[] := array(select current_setting(n, true) from unnest(v_names) as n);
begin
    -- Out of order within a batch, and put in order below; goes on until enough rows pass the
    -- filters. For this transaction only, and given back below.
    perform set_config('hnsw.iterative_scan', 'relaxed_order', true);
    perform set_config('hnsw.max_scan_tuples', '20000', true);
    perform set_config('hnsw.ef_search', least(1000, greatest(100, p_limit))::text, true);
    return query execute format(
        $query$
            with nearest as materialized (
                select
                    c.source_id,
                    c.number,
                    c.embedding
                from strongroom.chunks as c
                inner join strongroom.sources as s
                    on s.tenant_id = c.tenant_id
                    and s.id = c.source_id
                where c.tenant_id = $1
                    and c.collection_id = $2
                    and %1$I.vector_dims(c.embedding) = %2$s
                    and s.deleted_at is null
                    and s.embedding_model = $10
                    and s.embedding_version = $11
                    and s.embedding_dimensions = $12
                    and ($6 is null or s.source_type = any ($6))
                    and ($7 is null or s.metadata || c.metadata @> $7)
                    and (
                        $8 is null
                        or s.auth_subjects && $8
                        or strongroom_private.is_shown_by_conversation(
                            s.tenant_id, s.auth_subjects, $9
                        )
                    )
                    and (
                        $8 is null
                        or c.auth_subjects is null
                        or c.auth_subjects && $8
                        or strongroom_private.is_shown_by_conversation(
                            c.tenant_id, c.auth_subjects, $9
                        )
                    )
                order by c.embedding::%1$I.%3$I(%2$s)
                    operator(%1$I.<#>) $3::%1$I.%3$I(%2$s)
                limit $4
            )
            select
                r.source_id,
                r.number,
                r.score
            from (
                select
                    n.source_id,
                    n.number,
                    greatest(
                        -1, least(1, -(n.embedding operator(%1$I.<#>) $3::%1$I.vector))
                    ) as score
                from nearest as n
            ) as r
            order by
                r.score desc,
                r.source_id,
                r.number
        $query$,
        p_schema,
        v_dimensions,
        case when v_dimensions <= 2000 then 'vector' else 'halfvec' end
    )
    using
        p_collection.tenant_id, p_collection.id, p_embedding, p_limit, null::text, p_source_types,
        p_metadata, p_subjects, p_viewer_id, p_collection.embedding_model,
        p_collection.embedding_version, p_collection.embedding_dimensions;
    perform set_config(b.name, b.value, true)
    from unnest(v_names, v_before) as b (name, value);
end
$$;
comment on function strongroom_private.rank_by_index(
    strongroom.collections, text, text, integer, text[], jsonb, text[], text
) is
    'Chunks of a collection that are near to an embedding, by the index of its dimensions: nearly'
    ' always the nearest ones. It may find fewer than there are. Runs inside search_chunks, with'
    ' the'
    ' owner''s rights.';

create function strongroom_private.find_vector_index(p_dimensions integer)
returns double precision
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select greatest(c.reltuples, 0)::double precision
    from pg_class as c
    inner join pg_index as i on i.indexrelid = c.oid
    where c.relnamespace = to_regnamespace('strongroom')
        and c.relname = format('chunks_near_in_%s_dimensions', p_dimensions)
        and i.indisvalid
$$;
comment on function strongroom_private.find_vector_index(integer) is
    'How many embeddings of all tenants the index of this many dimensions holds, by the server''s'
    ' statistics; null where there is no such index.';

create function strongroom_private.create_vector_index(p_dimensions integer)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_schema text := strongroom_private.require_vectors();
begin
    perform strongroom_private.check_embedding_model('any', 'any', p_dimensions);
    -- pgvector indexes up to 2,000 dimensions in full precision, up to 4,000 in half.
    execute format(
        'create index if not exists chunks_near_in_%1$s_dimensions on strongroom.chunks'
        ' using hnsw ((embedding::%2$I.%3$s(%1$s)) %2$I.%3$s_ip_ops)'
        ' where %2$I.vector_dims(embedding) = %1$s',
        p_dimensions,
        v_schema,
        case when p_dimensions <= 2000 then 'vector' else 'halfvec' end
    );
    execute format(
        'comment on index strongroom.chunks_near_in_%1$s_dimensions is %2$L',
        p_dimensions,
        format(
            'Nearness among the embeddings of all tenants that have %s dimensions.', p_dimensions
        )
    );
end
$$;
comment on function strongroom_private.create_vector_index(integer) is
    'Index the embeddings of this many dimensions; search uses it for large collections. Run by the'
    ' migration vectors for common numbers, and by hand, as the schema''s owner, for others: writes'
    ' to chunks wait until it is made. An index that is not needed may be dropped. Errors: SR001,'
    ' SR004, SR040.';

create function strongroom_private.count_candidates(
    p_collection strongroom.collections,
    p_source_types text[],
    p_subjects text[],
    p_viewer_id text
)
returns double precision
language sql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    -- Of 20,000 sources it is enough to know that there are as many.
    select case
        when count(*) = 20000 then 'infinity'::double precision
        else coalesce(sum(v.open_chunk_count), 0)::double precision + (
            -- Of any source: that is quicker to know, and near enough.
            select count(*)
            from (
                select c.auth_subjects
                from strongroom.chunks as c
                where c.tenant_id = p_collection.tenant_id
                    and c.collection_id = p_collection.id
                    and c.auth_subjects is not null
                limit 20000
            ) as n
            where p_subjects is null
                or n.auth_subjects && p_subjects
        )
    end
    from (
        select s.open_chunk_count
        from strongroom.sources as s
        where s.tenant_id = p_collection.tenant_id
            and s.collection_id = p_collection.id
            and s.embedding_model = p_collection.embedding_model
            and s.embedding_version = p_collection.embedding_version
            and s.embedding_dimensions = p_collection.embedding_dimensions
            and s.deleted_at is null
            and (p_source_types is null or s.source_type = any (p_source_types))
            and (
                p_subjects is null
                or s.auth_subjects && p_subjects
                or strongroom_private.is_shown_by_conversation(
                    s.tenant_id, s.auth_subjects, p_viewer_id
                )
            )
        limit 20000
    ) as v
$$;
comment on function strongroom_private.count_candidates(
    strongroom.collections, text[], text[], text
) is
    'How many embeddings a search has to choose from, as far as sources tell; infinity for many.'
    ' Runs inside search_chunks, with the owner''s rights.';

-- SECURITY DEFINER: row security keeps indexes from being used for conditions that it does not
-- know, and the table of terms is nobody's to read. It names the tenant and the caller's subjects
-- in
-- every query, and takes neither from an argument that a user could choose.
create function strongroom_private.search_chunks(
    p_tenant_id text,
    p_collection_id text,
    p_mode text,
    p_text text,
    p_embedding jsonb,
    p_limit integer,
    p_min_score double precision,
    p_source_types text[],
    p_metadata jsonb,
    p_viewer_id text,
    p_viewer_role_ids text[]
)
returns table (
    place integer,
    source_id text,
    number integer,
    score double precision,
    keyword_score double precision,
    vector_score double precision,
    vector_method text
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_subjects text[] := strongroom_private.read_viewer_subjects(v_viewer_id, p_viewer_role_ids);
    v_mode text := coalesce(p_mode, case
        when p_embedding is null then 'keyword'
        when p_text is null then 'vector'
        else 'hybrid'
    end);
    v_collection strongroom.collections;
    v_depth integer := p_limit;
    v_least double precision := coalesce(p_min_score, '-infinity');
    v_search tsquery;
    v_schema text;
    v_embedding text;
    v_candidates double precision;
    v_indexed double precision;
    v_method text;
    v_words jsonb := jsonb_build_array();
    v_near jsonb := jsonb_build_array();
begin
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.check_id('collection_id', p_collection_id);
    perform strongroom_private.check_choice('mode', v_mode, '{vector,keyword,hybrid}');
    if p_source_types is not null then
        perform strongroom_private.check_ids('source_types', p_source_types);
    end if;
    if p_metadata is not null then
        perform strongroom_private.check_object('metadata', p_metadata, 16384);
    end if;
    if v_mode <> 'vector' and p_text is null then
        perform strongroom_private.fail(
            'invalid_argument',
            'text is required',
            '{"path": "text"}',
            'Give the words to search for, an embedding, or both.'
        );
    end if;
    if octet_length(p_text) > 65536 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('text has %s bytes; at most 65536 are allowed', octet_length(p_text)),
            jsonb_build_object('path', 'text', 'limit', 65536, 'actual', octet_length(p_text)),
            'Search for what matters in it.'
        );
    end if;
    v_collection := strongroom_private.require_collection(p_tenant_id, p_collection_id);
    if v_mode <> 'keyword' then
        v_schema := strongroom_private.require_vectors();
        if v_collection.embedding_model is null then
            perform strongroom_private.fail(
                'invalid_argument',
                'embedding: the collection names no embedding model',
                '{"path": "embedding"}',
                'Search by text alone, or set the collection''s model and embed its sources.'
            );
        end if;
        perform strongroom_private.check_direction(
            'embedding', p_embedding, v_collection.embedding_dimensions
        );
        execute format('select %1$I.l2_normalize($1::%1$I.vector)::text', v_schema)
        into v_embedding
        using p_embedding::text;
    end if;
    if v_mode = 'hybrid' then
        v_depth := greatest(2 * p_limit, 50);
        v_least := '-infinity';
    end if;

    if v_mode <> 'vector' then
        v_search := strongroom_private.encode_search(v_collection.language, p_text);
    end if;
    if v_search is not null then
        select coalesce(jsonb_agg(to_jsonb(r)), '[]')
        into v_words
        from strongroom_private.rank_by_words(
            p_tenant_id, p_collection_id, v_search, v_depth, v_least, p_source_types, p_metadata,
            v_subjects, v_viewer_id
        ) as r;
    end if;

    if v_mode <> 'keyword' then
        v_method := 'exact';
        v_candidates := strongroom_private.count_candidates(
            v_collection, p_source_types, v_subjects, v_viewer_id
        );
        v_indexed := strongroom_private.find_vector_index(v_collection.embedding_dimensions);
        -- The index of all tenants has to be followed past the rows of others: the smaller the
        -- share, the further. A scan costs what there is to choose from.
        if v_candidates >= 5000
            and v_candidates * v_candidates >= 20.0 * v_depth * greatest(v_indexed, v_candidates)
        then
            v_method := 'index';
            select coalesce(jsonb_agg(to_jsonb(r)), '[]')
            into v_near
            from strongroom_private.rank_by_index(
                v_collection, v_schema, v_embedding, v_depth, p_source_types, p_metadata,
                v_subjects, v_viewer_id
            ) as r;
            if jsonb_array_length(v_near) < v_depth then
                v_method := 'index, then exact';
            end if;
        end if;
        if v_method <> 'index' then
            select coalesce(jsonb_agg(to_jsonb(r)), '[]')
            into v_near
            from strongroom_private.rank_by_scan(
                v_collection, v_schema, v_embedding, v_depth, v_least, p_source_types, p_metadata,
                v_subjects, v_viewer_id
            ) as r;
        end if;
    end if;

    return query
    with words as (
        select
            w.place,
            r.source_id,
            r.number,
            r.score
        from jsonb_array_elements(v_words) with ordinality as w (value, place)
        cross join lateral jsonb_to_record(w.value) as r (
            source_id text, number integer, score double precision
        )
    ),
    near as (
        select
            n.place,
            r.source_id,
            r.number,
            r.score
        from jsonb_array_elements(v_near) with ordinality as n (value, place)
        cross join lateral jsonb_to_record(n.value) as r (
            source_id text, number integer, score double precision
        )
    ),
    found as (
        select
            coalesce(w.source_id, n.source_id) as source_id,
            coalesce(w.number, n.number) as number,
            case v_mode
                when 'keyword' then w.score
                when 'vector' then n.score
                -- Reciprocal rank fusion, so scaled that first in both is 1.
                else (coalesce(1.0 / (60 + w.place), 0) + coalesce(1.0 / (60 + n.place), 0)) * 30.5
            end::double precision as score,
            w.score as keyword_score,
            n.score as vector_score
        from words as w
        full join near as n
            on n.source_id = w.source_id
            and n.number = w.number
    )
    select
        (row_number() over (order by f.score desc, f.source_id collate "C", f.number))::integer,
        f.source_id,
        f.number,
        f.score,
        f.keyword_score,
        f.vector_score,
        -- Which way was taken depends on chunks that a reader may not see.
        case when v_subjects is null then v_method end
    from found as f
    where f.score >= coalesce(p_min_score, '-infinity')
    order by 1
    limit p_limit;
end
$$;
comment on function strongroom_private.search_chunks(
    text, text, text, text, jsonb, integer, double precision, text[], jsonb, text, text[]
) is
    'Which chunks a search finds, best first, with their scores. SECURITY DEFINER, see its'
    ' comment in'
    ' the migration. Errors: SR001, SR004, SR010, SR020, SR021, SR040.';

-- SECURITY DEFINER: the policies of sources and chunks would be asked for every row. It names the
-- tenant and the caller's subjects itself, as search_chunks does.
create function strongroom_private.read_found_chunks(
    p_tenant_id text,
    p_collection_id text,
    p_mode text,
    p_text text,
    p_embedding jsonb,
    p_limit integer,
    p_min_score double precision,
    p_source_types text[],
    p_metadata jsonb,
    p_neighbours integer,
    p_viewer_id text,
    p_viewer_role_ids text[]
)
returns table (
    place integer,
    tenant_id text,
    collection_id text,
    source_id text,
    number integer,
    content text,
    locator jsonb,
    token_count integer,
    auth_subjects text[],
    metadata jsonb,
    external_ref text,
    source_type text,
    title text,
    uri text,
    source_metadata jsonb,
    source_version bigint,
    score double precision,
    keyword_score double precision,
    vector_score double precision,
    vector_method text,
    before jsonb,
    after jsonb
)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_subjects text[] := strongroom_private.read_viewer_subjects(v_viewer_id, p_viewer_role_ids);
begin
    if p_neighbours is null or p_neighbours not between 0 and 10 then
        perform strongroom_private.fail(
            case when p_neighbours > 10 then 'limit_exceeded' else 'invalid_argument' end,
            'neighbours must be between 0 and 10',
            jsonb_build_object('path', 'neighbours', 'limit', 10, 'actual', p_neighbours),
            'Ask for fewer chunks around each hit, or read the source: list_chunks.'
        );
    end if;
    return query
    select
        r.place,
        c.tenant_id,
        c.collection_id,
        c.source_id,
        c.number,
        c.content,
        c.locator,
        c.token_count,
        c.auth_subjects,
        c.metadata,
        s.external_ref,
        s.source_type,
        s.title,
        s.uri,
        s.metadata,
        s.version,
        r.score,
        r.keyword_score,
        r.vector_score,
        r.vector_method,
        a.before,
        a.after
    from strongroom_private.search_chunks(
        p_tenant_id, p_collection_id, p_mode, p_text, p_embedding, p_limit, p_min_score,
        p_source_types, p_metadata, p_viewer_id, p_viewer_role_ids
    ) as r
    inner join strongroom.sources as s
        on s.tenant_id = p_tenant_id
        and s.id = r.source_id
    inner join strongroom.chunks as c
        on c.tenant_id = s.tenant_id
        and c.collection_id = s.collection_id
        and c.source_id = s.id
        and c.number = r.number
    cross join lateral (
        select
            coalesce(
                jsonb_agg(v.chunk order by v.number) filter (where v.number < c.number), '[]'
            ) as before,
            coalesce(
                jsonb_agg(v.chunk order by v.number) filter (where v.number > c.number), '[]'
            ) as after
        from (
            select
                n.number,
                jsonb_build_object(
                    'tenant_id', n.tenant_id,
                    'collection_id', n.collection_id,
                    'source_id', n.source_id,
                    'number', n.number,
                    'content', n.content,
                    'locator', n.locator,
                    'token_count', n.token_count,
                    'auth_subjects', n.auth_subjects,
                    'metadata', n.metadata
                ) as chunk
            from strongroom.chunks as n
            where p_neighbours > 0
                and n.tenant_id = c.tenant_id
                and n.collection_id = c.collection_id
                and n.source_id = c.source_id
                and n.number between c.number - p_neighbours and c.number + p_neighbours
                and n.number <> c.number
                and (
                    v_subjects is null
                    or n.auth_subjects is null
                    or n.auth_subjects && v_subjects
                    or strongroom_private.is_shown_by_conversation(
                        n.tenant_id, n.auth_subjects, v_viewer_id
                    )
                )
        ) as v
    ) as a
    where s.deleted_at is null
        and (
            v_subjects is null
            or s.auth_subjects && v_subjects
            or strongroom_private.is_shown_by_conversation(
                s.tenant_id, s.auth_subjects, v_viewer_id
            )
        )
        and (
            v_subjects is null
            or c.auth_subjects is null
            or c.auth_subjects && v_subjects
            or strongroom_private.is_shown_by_conversation(
                c.tenant_id, c.auth_subjects, v_viewer_id
            )
        )
    order by r.place;
end
$$;
comment on function strongroom_private.read_found_chunks(
    text, text, text, text, jsonb, integer, double precision, text[], jsonb, integer, text, text[]
) is
    'What a search finds, with its content and its neighbours. SECURITY DEFINER, see its comment in'
    ' the migration. Errors: SR001, SR004, SR010, SR020, SR021, SR040.';

create function strongroom.search_knowledge(
    p_tenant_id text,
    p_collection_id text,
    p_mode text default null,
    p_text text default null,
    p_embedding jsonb default null,
    p_limit integer default 10,
    p_min_score double precision default null,
    p_source_types text[] default null,
    p_metadata jsonb default null,
    p_neighbours integer default 0,
    p_viewer_id text default null,
    p_viewer_role_ids text[] default null
)
returns table (
    place integer,
    tenant_id text,
    collection_id text,
    source_id text,
    number integer,
    content text,
    locator jsonb,
    token_count integer,
    auth_subjects text[],
    metadata jsonb,
    external_ref text,
    source_type text,
    title text,
    uri text,
    source_metadata jsonb,
    source_version bigint,
    score double precision,
    keyword_score double precision,
    vector_score double precision,
    vector_method text,
    before jsonb,
    after jsonb
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    return query
    select r.*
    from strongroom_private.read_found_chunks(
        p_tenant_id, p_collection_id, p_mode, p_text, p_embedding, p_limit, p_min_score,
        p_source_types, p_metadata, p_neighbours, p_viewer_id, p_viewer_role_ids
    ) as r;
end
$$;
comment on function strongroom.search_knowledge(
    text, text, text, text, jsonb, integer, double precision, text[], jsonb, integer, text, text[]
) is
    'The chunks of a collection that fit a text (mode keyword), an embedding (vector) or both'
    ' (hybrid, by reciprocal rank fusion), best first (place), among those that the caller may see'
    ' and that pass the filters: source types, metadata that chunk and source together contain,'
    ' least score. One row a hit, with its neighbours as arrays of chunks (before, after), so that'
    ' no API cuts them. vector_method tells hosts that name no viewer whether embeddings were'
    ' compared one by one (exact) or by an index. As many as asked for, or as there are. Errors:'
    ' SR001, SR004, SR010, SR020, SR021, SR040. Callers: hosts, users.';

create function strongroom.search_index(
    p_tenant_id text,
    p_collection_id text,
    p_text text default null,
    p_embedding jsonb default null,
    p_limit integer default 10,
    p_min_score double precision default null,
    p_source_types text[] default null,
    p_metadata jsonb default null,
    p_viewer_id text default null,
    p_viewer_role_ids text[] default null
)
returns table (source_id text, number integer, score double precision, vector_method text)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    return query
    select
        r.source_id,
        r.number,
        r.score,
        r.vector_method
    from strongroom_private.search_chunks(
        p_tenant_id, p_collection_id, null, p_text, p_embedding, p_limit, p_min_score,
        p_source_types, p_metadata, p_viewer_id, p_viewer_role_ids
    ) as r
    order by r.place;
end
$$;
comment on function strongroom.search_index(
    text, text, text, jsonb, integer, double precision, text[], jsonb, text, text[]
) is
    'As search_knowledge, without the content: which chunks, and with what score. Errors: SR001,'
    ' SR004, SR010, SR020, SR021, SR040. Callers: hosts, users.';


-- ---------------------------------------------------------------------------------------------
-- The indexes of a source
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.lock_source(p_tenant_id text, p_source_id text)
returns strongroom.sources
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_source strongroom.sources;
begin
    select s.*
    into v_source
    from strongroom.sources as s
    where s.tenant_id = p_tenant_id
        and s.id = p_source_id
        and s.deleted_at is null
    for update;
    if v_source.id is null then
        perform strongroom_private.fail_missed_write('source', null, null);
    end if;
    return v_source;
end
$$;
comment on function strongroom_private.lock_source(text, text) is
    'A living source, locked to the end of the transaction. Errors: SR010.';

-- SECURITY DEFINER: the table of terms is nobody's to read or write. It writes only the terms of a
-- source of the tenant that is bound, and only hosts may execute it.
create function strongroom_private.write_terms(p_source strongroom.sources, p_language text)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_scopes text[] := array[
        strongroom_private.encode_scope('c', p_source.tenant_id, p_source.collection_id),
        strongroom_private.encode_scope('s', p_source.tenant_id, p_source.id)
    ];
    v_written integer := 0;
begin
    if p_source.tenant_id is distinct from strongroom_private.current_tenant() then
        perform strongroom_private.fail(
            'tenant_mismatch', 'the source is not of the bound tenant', '{}', 'Bind its tenant.'
        );
    end if;
    -- What is deleted has to be seen, and rows are seen as far as they match the bound search.
    perform set_config('strongroom.search', format('''%s''', v_scopes[2]), true);
    delete from strongroom_private.chunk_terms as t
    where t.tenant_id = p_source.tenant_id
        and t.collection_id = p_source.collection_id
        and t.source_id = p_source.id;
    get diagnostics v_written = row_count;
    perform set_config('strongroom.search', '', true);
    if p_language is not null then
        insert into strongroom_private.chunk_terms (
            tenant_id, collection_id, source_id, number, terms
        )
        select
            c.tenant_id,
            c.collection_id,
            c.source_id,
            c.number,
            strongroom_private.encode_terms(p_language, c.content, v_scopes)
        from strongroom.chunks as c
        where c.tenant_id = p_source.tenant_id
            and c.collection_id = p_source.collection_id
            and c.source_id = p_source.id;
        get diagnostics v_written = row_count;
    end if;
    return v_written;
end
$$;
comment on function strongroom_private.write_terms(strongroom.sources, text) is
    'Make the terms of a source anew, or without a language take them away; returns how many chunks'
    ' have them, or had them. SECURITY DEFINER, see its comment in the migration. Errors: SR021.';

create function strongroom.put_keywords(p_tenant_id text, p_source_id text)
returns table (chunks integer)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_source strongroom.sources;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('source_id', p_source_id);
    v_source := strongroom_private.lock_source(p_tenant_id, p_source_id);
    return query
    select strongroom_private.write_terms(v_source, c.language)
    from strongroom.collections as c
    where c.tenant_id = p_tenant_id
        and c.id = v_source.collection_id;
end
$$;
comment on function strongroom.put_keywords(text, text) is
    'Put the chunks of a source into the search by words, as replace_source does: after they were'
    ' taken out. Returns how many. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.remove_keywords(p_tenant_id text, p_source_id text)
returns table (chunks integer)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_source strongroom.sources;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('source_id', p_source_id);
    v_source := strongroom_private.lock_source(p_tenant_id, p_source_id);
    return query
    select strongroom_private.write_terms(v_source, null);
end
$$;
comment on function strongroom.remove_keywords(text, text) is
    'Take the chunks of a source out of the search by words, until put_keywords or another content.'
    ' Returns how many there were. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

-- SECURITY DEFINER: pgvector's schema may be closed to hosts. It writes only the embeddings of a
-- source of the tenant that is bound, and only hosts may execute it.
create function strongroom_private.write_embeddings(
    p_source strongroom.sources,
    p_embeddings jsonb
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_source.tenant_id is distinct from strongroom_private.current_tenant() then
        perform strongroom_private.fail(
            'tenant_mismatch', 'the source is not of the bound tenant', '{}', 'Bind its tenant.'
        );
    end if;
    if p_embeddings is null then
        execute format(
            'update strongroom.chunks as c set %I = null'
            ' where c.tenant_id = $1 and c.collection_id = $2 and c.source_id = $3',
            'embedding'
        )
        using p_source.tenant_id, p_source.collection_id, p_source.id;
        return;
    end if;
    execute format(
        $query$
            update strongroom.chunks as c
            set embedding = %1$I.l2_normalize(e.value::text::%1$I.vector)
            from jsonb_array_elements($4) with ordinality as e (value, place)
            inner join (
                select
                    o.number,
                    row_number() over (order by o.number) as place
                from strongroom.chunks as o
                where o.tenant_id = $1
                    and o.collection_id = $2
                    and o.source_id = $3
            ) as n on n.place = e.place
            where c.tenant_id = $1
                and c.collection_id = $2
                and c.source_id = $3
                and c.number = n.number
        $query$,
        strongroom_private.find_vector_schema()
    )
    using p_source.tenant_id, p_source.collection_id, p_source.id, p_embeddings;
end
$$;
comment on function strongroom_private.write_embeddings(strongroom.sources, jsonb) is
    'Write the embeddings of the chunks of a source, in order, or none. SECURITY DEFINER, see its'
    ' comment in the migration. Errors: SR021.';

create function strongroom.put_embeddings(
    p_tenant_id text,
    p_source_id text,
    p_embeddings jsonb,
    p_embedding_model text,
    p_embedding_version text,
    p_embedding_dimensions integer,
    p_expected_version bigint,
    p_write_id text default null
)
returns setof strongroom.source_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_source strongroom.sources;
    v_count integer;
    v_chunks integer;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('source_id', p_source_id);
    perform strongroom_private.check_id('embedding_model', p_embedding_model);
    perform strongroom_private.check_embedding_model(
        p_embedding_model, p_embedding_version, p_embedding_dimensions
    );
    perform strongroom_private.check_expected_version(p_expected_version);
    if jsonb_typeof(p_embeddings) is distinct from 'array' then
        perform strongroom_private.fail(
            'invalid_argument',
            'embeddings must be a list',
            '{"path": "embeddings"}',
            'Give one embedding for each chunk of the source, in order.'
        );
    end if;
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    perform strongroom_private.require_vectors();
    v_source := strongroom_private.lock_source(p_tenant_id, p_source_id);
    if v_source.version <> p_expected_version and (
        v_source.last_write_id is distinct from p_write_id or p_write_id is null
    ) then
        perform strongroom_private.fail_missed_write(
            'source', p_expected_version, v_source.version
        );
    end if;
    perform strongroom_private.require_collection(
        p_tenant_id, v_source.collection_id, p_embedding_model, p_embedding_version,
        p_embedding_dimensions
    );
    v_count := jsonb_array_length(p_embeddings);
    select count(*)
    into v_chunks
    from strongroom.chunks as c
    where c.tenant_id = p_tenant_id
        and c.collection_id = v_source.collection_id
        and c.source_id = p_source_id;
    if v_count <> v_chunks then
        perform strongroom_private.fail(
            'invalid_argument',
            format('embeddings has %s entries, the source %s chunks', v_count, v_chunks),
            jsonb_build_object('path', 'embeddings', 'expected', v_chunks, 'actual', v_count),
            'Give one embedding for each chunk of the source, in order.'
        );
    end if;
    for v_index in 0 .. v_count - 1 loop
        perform strongroom_private.check_direction(
            format('embeddings[%s]', v_index), p_embeddings -> v_index, p_embedding_dimensions
        );
    end loop;
    -- Else it is the very same call again, whose answer was lost.
    if v_source.version = p_expected_version then
        perform strongroom_private.write_embeddings(v_source, p_embeddings);
        update strongroom.sources as s
        set embedding_model = p_embedding_model,
            embedding_version = p_embedding_version,
            embedding_dimensions = p_embedding_dimensions,
            version = s.version + 1,
            stored_digest = null,
            last_write_id = p_write_id,
            updated_at = now()
        where s.tenant_id = p_tenant_id
            and s.id = p_source_id;
    end if;
    return query
    select d.*
    from strongroom.source_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_source_id;
end
$$;
comment on function strongroom.put_embeddings(
    text, text, jsonb, text, text, integer, bigint, text
) is
    'Embed the chunks of a source anew, with the collection''s model, given the version of the'
    ' source'
    ' whose chunks were read: one embedding for each, in order, all or none. Errors: SR001, SR004,'
    ' SR010, SR012, SR020, SR040. Callers: hosts.';

create function strongroom.remove_embeddings(
    p_tenant_id text,
    p_source_id text
)
returns setof strongroom.source_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_source strongroom.sources;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('source_id', p_source_id);
    perform strongroom_private.require_vectors();
    v_source := strongroom_private.lock_source(p_tenant_id, p_source_id);
    if v_source.embedding_model is not null then
        perform strongroom_private.write_embeddings(v_source, null);
        update strongroom.sources as s
        set embedding_model = null,
            embedding_version = null,
            embedding_dimensions = null,
            version = s.version + 1,
            stored_digest = null,
            last_write_id = null,
            updated_at = now()
        where s.tenant_id = p_tenant_id
            and s.id = p_source_id;
    end if;
    return query
    select d.*
    from strongroom.source_details as d
    where d.tenant_id = p_tenant_id
        and d.id = p_source_id;
end
$$;
comment on function strongroom.remove_embeddings(text, text) is
    'Take the chunks of a source out of the search by embeddings. A repeat changes nothing. Errors:'
    ' SR001, SR004, SR010, SR020, SR040. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'table', '{strongroom.collections,strongroom.sources,strongroom.chunks}',
    '{select,insert,update,delete}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table',
    '{
        strongroom.collections,
        strongroom.sources,
        strongroom.chunks,
        strongroom.collection_details,
        strongroom.source_details
    }',
    '{select}',
    '{authenticated}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.collection_details,strongroom.source_details}', '{select}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom.list_capabilities,
        strongroom_private.current_subjects,
        strongroom_private.read_viewer_subjects,
        strongroom_private.is_shown_by_conversation,
        strongroom_private.may_read_source,
        strongroom_private.count_chunks_of_user,
        strongroom_private.count_chunks_shown,
        strongroom_private.require_collection,
        strongroom_private.check_number,
        strongroom_private.search_chunks,
        strongroom_private.read_found_chunks,
        strongroom.find_collection,
        strongroom.list_collections,
        strongroom.find_source,
        strongroom.list_sources,
        strongroom.find_chunk,
        strongroom.list_chunks,
        strongroom.search_knowledge,
        strongroom.search_index
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
-- The functions that rank, and those that make terms, run inside definer functions, with the
-- owner's rights.
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.check_language,
        strongroom_private.check_embedding_model,
        strongroom_private.check_subjects,
        strongroom_private.check_uri,
        strongroom_private.find_vector_schema,
        strongroom_private.require_vectors,
        strongroom_private.check_direction,
        strongroom_private.check_chunks,
        strongroom_private.write_chunks,
        strongroom_private.lock_source,
        strongroom_private.write_terms,
        strongroom_private.write_embeddings,
        strongroom.create_collection,
        strongroom.update_collection,
        strongroom.purge_collection,
        strongroom.replace_source,
        strongroom.update_source,
        strongroom.list_stale_sources,
        strongroom.soft_delete_source,
        strongroom.restore_source,
        strongroom.purge_source,
        strongroom.put_keywords,
        strongroom.remove_keywords,
        strongroom.put_embeddings,
        strongroom.remove_embeddings
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(9, 'knowledge');
