-- GENERATED from strongroom's migration 0007_memory: do not edit this copy.

-- strongroom 0007: memory
--
-- Purpose     What an agent remembers about one principal: atomic facts, searched by text and by
--             embedding under a budget, and forgotten for good.
-- Whose       A principal's memory belongs to that principal alone. Hosts see it for the tenant
--             they name; whoever else asks sees what they would see of a principal without memory.
-- Forgetting  What was deleted leaves tombstones: salted digests of its id, its key and its
--             normalised text. A later extraction of the same fact is refused; the principal who
--             states it again takes the tombstones away. Expiry is no forgetting and leaves none.
--             Erasing the principal takes everything, tombstones too: they serve that person only,
--             and come from what that person said.
-- Switch      Memory can be disabled for a principal: then nothing is stored or found. What is
--             stored stays until it is forgotten.
-- Locks       Whatever stores, changes or forgets facts first locks the principal's row in
--             memory_settings (FOR NO KEY UPDATE), then facts in the order of their ids. A put that
--             had to wait while everything was forgotten stores nothing: it knows so by the
--             generation, which it reads before it waits. touch and expire lock facts alone.
--             Nothing that principals share is locked.
-- Search      Facts of one principal are few, so they are all compared: exactly, without an index
--             and without an extension. Texts are split by functions of this file, not by a text
--             search configuration: the same on every server, in every language, with no syntax
--             that a user's words could break.

select strongroom_private.begin_migration(7, 'memory');
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '7';
select strongroom_private.require_transaction(7);


-- ---------------------------------------------------------------------------------------------
-- Words
-- ---------------------------------------------------------------------------------------------
-- Invariant: the same text has the same words and terms on every server, whatever its locale and
-- version, and in the reference adapter: regular expressions with fixed ranges of code points, and
-- a fixed table of capitals. Only Unicode's decompositions come from the server.

create function strongroom_private.fold_text(p_text text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    -- Decomposed, without the accents, in small letters, composed again; wide forms become narrow.
    select normalize(
        replace(
            translate(
                lower(
                    regexp_replace(
                        normalize(p_text, nfkd) collate "C", E'[\\u0300-\\u036f]+', '', 'g'
                    ) collate "C"
                ),
                'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩς'
                'АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЂЄЅІЈЉЊЋЏҐ'
                'ØøŁłĐđıÆŒÞÐĦŊẞ',
                'αβγδεζηθικλμνξοπρστυφχψωσ'
                'абвгдежзийклмнопрстуфхцчшщъыьэюяђєѕіјљњћџґ'
                'oollddiæœþðħŋß'
            ),
            'ß',
            'ss'
        ),
        nfkc
    )
$$;
comment on function strongroom_private.fold_text(text) is
    'A text as it is compared: small letters without accents, narrow forms.';

create function strongroom_private.dense_characters()
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    -- Thai, Lao, Burmese, Korean, Khmer, symbols, Chinese, Japanese, emoji.
    select E'\\u0e00-\\u0eff\\u1000-\\u109f\\u1100-\\u11ff'
        '\\u1780-\\u17ff\\u2190-\\u2bff\\u2e80-\\u2fff'
        '\\u3005-\\u3007\\u3021-\\u302f\\u3031-\\u303c\\u3040-\\u30fa\\u30fc-\\ua4cf\\ua960-\\ua97f'
        '\\uac00-\\ud7a3\\uf900-\\ufaff\\U0001f000-\\U0001f3fa\\U0001f400-\\U0001faff'
        '\\U00020000-\\U0003ffff'
$$;
comment on function strongroom_private.dense_characters() is
    'A regular expression''s range of what has no spaces between its words: Chinese, Japanese,'
    ' Thai, Lao, Burmese, Khmer; Korean, whose particles stick to the words; symbols and emoji.';

create function strongroom_private.phonetic_characters()
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    -- Thai, Lao, Burmese, Korean, Khmer, kana, Bopomofo, Yi.
    select E'\\u0e00-\\u0eff\\u1000-\\u109f\\u1100-\\u11ff\\u1780-\\u17ff\\u3031-\\u3035'
        '\\u3040-\\u312f\\ua000-\\ua4cf\\ua960-\\ua97f\\uac00-\\ud7a3'
$$;
comment on function strongroom_private.phonetic_characters() is
    'A regular expression''s range of those dense characters of which one alone means little.';

create function strongroom_private.separating_characters()
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select E'\\u0001-\\u002f\\u003a-\\u0040\\u005b-\\u0060\\u007b-\\u00bf'
        '\\u00d7\\u00f7\\u0300-\\u036f'
        '\\u05be\\u05c0\\u05c3\\u05c6\\u05f3\\u05f4\\u060c'
        '\\u061b\\u061f\\u066a-\\u066d\\u06d4\\u0964\\u0965'
        '\\u2000-\\u20ff\\u2e00-\\u2e7f\\u3000-\\u3004\\u3008-\\u3020\\u3030\\u303d-\\u303f\\u30fb'
        '\\ufe00-\\ufe6f\\ufeff\\ufff0-\\uffff\\U0001f3fb-\\U0001f3ff\\U000e0000-\\U000e0fff'
$$;
comment on function strongroom_private.separating_characters() is
    'A regular expression''s range of what stands between words: spaces, punctuation, joiners,'
    ' variation selectors, skin tones. Everything else is part of a word, so no script is left'
    ' out.';

create function strongroom_private.read_words(p_text text)
returns table (word text, place bigint, is_dense boolean)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select
        w.word,
        w.place,
        w.word ~ format('^[%s]', strongroom_private.dense_characters())
    from regexp_split_to_table(
        regexp_replace(
            strongroom_private.fold_text(p_text) collate "C",
            format('([%s]+)', strongroom_private.dense_characters()),
            E' \\1 ',
            'g'
        ),
        format('[%s]+', strongroom_private.separating_characters())
    ) with ordinality as w (word, place)
    where w.word <> ''
$$;
comment on function strongroom_private.read_words(text) is
    'The words of a text, folded, in order; what is dense comes as one word from space to space.';

create function strongroom_private.read_terms(p_text text)
returns table (unit text, share double precision, term text, factor double precision)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    with words as (
        select
            w.word,
            w.place,
            w.is_dense
        from strongroom_private.read_words(p_text) as w
    ),
    characters as (
        select
            c.letter,
            c.letter || lead(c.letter) over (partition by w.place order by c.place) as pair,
            c.letter = w.word
            or c.letter !~ format('[%s]', strongroom_private.phonetic_characters()) as counts
        from words as w
        cross join lateral string_to_table(w.word, null) with ordinality as c (letter, place)
        where w.is_dense
    )
    select distinct
        w.word,
        1::double precision,
        t.term,
        t.factor
    from words as w
    cross join lateral (
        values
            (w.word, 1::double precision),
            -- The beginning without a plural s: parcel and parcels, alergia and alérgico.
            (
                '~' || left(
                    case
                        when char_length(w.word) > 3 then regexp_replace(w.word, 's$', '')
                        else w.word
                    end,
                    5
                ),
                0.5
            )
    ) as t (term, factor)
    where not w.is_dense
    union
    select
        c.pair,
        1,
        c.pair,
        1
    from characters as c
    where c.pair is not null
    union
    select
        c.letter,
        case when c.counts then 0.5 else 0 end,
        c.letter,
        1
    from characters as c
$$;
comment on function strongroom_private.read_terms(text) is
    'What a text is found by. A word is a unit, found by itself or, for half, by its beginning; of'
    ' dense text each pair of characters is a unit, and for half each character that means'
    ' something by itself. share: what a unit counts, if it is asked for; factor: how well the term'
    ' stands for it.';

create function strongroom_private.list_terms(p_text text)
returns text[]
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(array_agg(distinct t.term collate "C"), '{}')
    from strongroom_private.read_terms(p_text) as t
$$;
comment on function strongroom_private.list_terms(text) is
    'The terms of a text that is stored, once each.';

create function strongroom_private.normal_form(p_text text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(string_agg(w.word, ' ' order by w.place), p_text)
    from strongroom_private.read_words(p_text) as w
$$;
comment on function strongroom_private.normal_form(text) is
    'What two wordings of one fact have in common: their words, folded, whatever case, accents,'
    ' punctuation and white space. A text without words is its own.';

create function strongroom_private.estimate_tokens(p_text text)
returns integer
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select (octet_length(p_text) + 2) / 3
$$;
comment on function strongroom_private.estimate_tokens(text) is
    'An estimate of the tokens of a text: a third of its bytes in UTF-8, rounded up. Rather more'
    ' than tokenizers need for prose in most languages, but no promise.';


-- ---------------------------------------------------------------------------------------------
-- Settings
-- ---------------------------------------------------------------------------------------------
-- Invariant: whoever stores or forgets holds this row's lock, so one principal's changes come one
-- after the other, and the generation tells whether everything was forgotten meanwhile.

create table strongroom.memory_settings (
    tenant_id text collate "C" not null,
    principal_id text collate "C" not null,
    disabled_at timestamptz,
    disabled_by text collate "C",
    generation bigint not null default 0,
    forgotten_at timestamptz,
    salt text collate "C" not null
    default gen_random_uuid()::text || gen_random_uuid()::text,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint memory_settings_pkey primary key (tenant_id, principal_id),
    constraint memory_settings_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint principal_id_has_1_to_255_characters
        check (char_length(principal_id) between 1 and 255),
    constraint only_disabled_memory_has_a_disabler
        check (disabled_at is not null or disabled_by is null),
    constraint generation_is_not_negative check (generation >= 0)
);
comment on table strongroom.memory_settings is
    'The state of each principal''s memory as a whole; the row that its writers lock. A principal'
    ' without a row has memory that is enabled and empty.';
comment on column strongroom.memory_settings.tenant_id is 'The tenant.';
comment on column strongroom.memory_settings.principal_id is 'Whose memory it is.';
comment on column strongroom.memory_settings.disabled_at is
    'Since when nothing is stored or found; null while memory is enabled.';
comment on column strongroom.memory_settings.disabled_by is 'Who disabled it.';
comment on column strongroom.memory_settings.generation is
    'How often everything was forgotten. A put that was prepared in an earlier one stores nothing.';
comment on column strongroom.memory_settings.forgotten_at is
    'When everything was forgotten last.';
comment on column strongroom.memory_settings.salt is
    'A secret of this row that goes into each tombstone, so that a digest tells nothing by itself'
    ' and the same fact has another one for every principal.';
comment on column strongroom.memory_settings.created_at is 'When the first fact or switch came.';
comment on column strongroom.memory_settings.updated_at is
    'When it was last disabled, enabled or forgotten.';

alter table strongroom.memory_settings enable row level security;
alter table strongroom.memory_settings force row level security;
create policy principals_read_their_own on strongroom.memory_settings
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (
            (select strongroom_private.is_trusted())
            or principal_id = (select strongroom_private.current_principal())
        )
    );
comment on policy principals_read_their_own on strongroom.memory_settings is
    'A host reads the bound tenant''s, a user only their own.';
create policy host_inserts on strongroom.memory_settings
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.memory_settings is 'Hosts store.';
create policy host_updates on strongroom.memory_settings
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.memory_settings is 'Hosts disable, enable and forget.';
create policy host_deletes on strongroom.memory_settings
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.memory_settings is 'Hosts erase.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.memory_settings',
    p_column => 'principal_id',
    p_action => 'delete',
    p_reason => 'Without a person there is no memory to switch.'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.memory_settings',
    p_column => 'disabled_by',
    p_action => 'clear',
    p_reason => 'That it is disabled stays, without who did it.'
);


-- ---------------------------------------------------------------------------------------------
-- Facts
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.is_namespace(p_value text)
returns boolean
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select char_length(p_value) <= 255
        and (
            p_value = ''
            or '' <> all (string_to_array(p_value, '/'))
        )
$$;
comment on function strongroom_private.is_namespace(text) is
    'Whether it is a path: segments that are not empty, with a slash between them; the empty text'
    ' is the root.';

create function strongroom_private.is_within(p_namespace text, p_prefix text)
returns boolean
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    -- No pattern: what looks like a wildcard is a character, and user_1 is no prefix of user_10.
    select p_prefix = ''
        or p_namespace = p_prefix
        or starts_with(p_namespace, p_prefix || '/')
$$;
comment on function strongroom_private.is_within(text, text) is
    'Whether a namespace is this one or lies below it, segment by segment; everything lies below'
    ' the empty one.';

create function strongroom_private.key_digest(p_namespace text, p_key text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when p_key is not null
        then strongroom_private.digest(jsonb_build_array(p_namespace, p_key))
    end
$$;
comment on function strongroom_private.key_digest(text, text) is
    'A short stand-in for namespace and key, so that no text is too long for the index.';

create table strongroom.memories (
    tenant_id text collate "C" not null,
    principal_id text collate "C" not null,
    id text collate "C" not null,
    namespace text collate "C" not null default '',
    key text collate "C",
    text text not null,
    source text collate "C" not null,
    confidence double precision not null default 1,
    sensitivity text collate "C" not null default 'personal',
    last_used_at timestamptz,
    expires_at timestamptz,
    embedding real[],
    embedding_model text collate "C",
    metadata jsonb not null default '{}',
    source_conversation_id text collate "C",
    source_message_id text collate "C",
    source_run_id text collate "C",
    version bigint not null default 1,
    creation_digest text collate "C" not null,
    last_write_id text collate "C",
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    key_digest text collate "C"
    generated always as (strongroom_private.key_digest(namespace, key)) stored,
    terms text[] collate "C"
    generated always as (
        strongroom_private.list_terms(coalesce(key || ' ', '') || text)
    ) stored,
    constraint memories_pkey primary key (tenant_id, principal_id, id),
    constraint memory_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint principal_id_has_1_to_255_characters
        check (char_length(principal_id) between 1 and 255),
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint namespace_is_a_path check (strongroom_private.is_namespace(namespace)),
    constraint key_has_1_to_255_characters check (char_length(key) between 1 and 255),
    constraint text_has_1_to_4000_characters check (char_length(text) between 1 and 4000),
    constraint source_is_known check (source in ('user-stated', 'extracted')),
    constraint confidence_is_between_0_and_1 check (confidence between 0 and 1),
    constraint sensitivity_is_known check (sensitivity in ('normal', 'personal', 'sensitive')),
    constraint an_embedding_has_1_to_4000_dimensions
        check (array_ndims(embedding) = 1 and cardinality(embedding) between 1 and 4000),
    constraint an_embedding_names_its_model
        check (num_nulls(embedding, embedding_model) in (0, 2)),
    constraint embedding_model_has_1_to_255_characters
        check (char_length(embedding_model) between 1 and 255),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.memories is
    'Atomic facts about principals. One whose expires_at has passed is as if it were gone.';
comment on column strongroom.memories.tenant_id is 'The tenant.';
comment on column strongroom.memories.principal_id is 'Whose memory it is.';
comment on column strongroom.memories.id is 'The fact''s id, unique for the principal.';
comment on column strongroom.memories.namespace is
    'A path such as work/travel, or empty for the root.';
comment on column strongroom.memories.key is
    'A name that one fact of the namespace has, for facts that replace each other.';
comment on column strongroom.memories.text is 'The fact, 1 to 4,000 characters.';
comment on column strongroom.memories.source is
    'user-stated, or extracted from what was said.';
comment on column strongroom.memories.confidence is 'How sure it is, 0 to 1.';
comment on column strongroom.memories.sensitivity is 'normal, personal or sensitive.';
comment on column strongroom.memories.last_used_at is
    'When it was last given to a model, as touch_memories said; no change of the fact.';
comment on column strongroom.memories.expires_at is 'From when on it is gone.';
comment on column strongroom.memories.embedding is
    '1 to 4,000 numbers, compared exactly with others of the same model and length.';
comment on column strongroom.memories.embedding_model is 'Which model made the embedding.';
comment on column strongroom.memories.metadata is 'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.memories.source_conversation_id is
    'The conversation it came from. No foreign key: the fact outlives it.';
comment on column strongroom.memories.source_message_id is 'The message it came from, likewise.';
comment on column strongroom.memories.source_run_id is 'The run it came from, likewise.';
comment on column strongroom.memories.version is 'One more at every change.';
comment on column strongroom.memories.creation_digest is
    'Hash of what it was first put with, to know a repeated put.';
comment on column strongroom.memories.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.memories.created_at is 'When it was first put.';
comment on column strongroom.memories.updated_at is 'When it last changed.';
comment on column strongroom.memories.key_digest is 'What makes the key unique; made of it.';
comment on column strongroom.memories.terms is 'What key and text are found by; made of them.';

create index memories_by_age
    on strongroom.memories (tenant_id, principal_id, created_at, id);
comment on index strongroom.memories_by_age is 'Pages of one principal''s facts.';
create unique index a_key_names_one_fact_of_a_namespace
    on strongroom.memories (tenant_id, principal_id, key_digest)
    where key_digest is not null;
comment on index strongroom.a_key_names_one_fact_of_a_namespace is
    'A key names one fact of a principal''s namespace.';
create index memories_by_expiry
    on strongroom.memories (tenant_id, expires_at)
    where expires_at is not null;
comment on index strongroom.memories_by_expiry is 'What expire_memories takes away.';

alter table strongroom.memories enable row level security;
alter table strongroom.memories force row level security;
create policy principals_read_their_own on strongroom.memories
    for select
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (
                (select strongroom_private.is_trusted())
                or principal_id = (select strongroom_private.current_principal())
            )
        )
        or (select strongroom_private.is_dispatching())
    );
comment on policy principals_read_their_own on strongroom.memories is
    'A host reads the bound tenant''s facts, a user only their own; and the dispatcher.';
create policy host_inserts on strongroom.memories
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.memories is 'Hosts store.';
create policy host_updates on strongroom.memories
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.memories is 'Hosts change.';
create policy host_deletes on strongroom.memories
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.memories is 'Hosts forget.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.memories',
    p_column => 'principal_id',
    p_action => 'delete',
    p_reason => 'A person''s memory is theirs.'
);

create view strongroom.memory_details
with (security_invoker = true)
as
select
    m.tenant_id,
    m.principal_id,
    m.id,
    m.namespace,
    m.key,
    m.text,
    m.source,
    m.confidence,
    m.sensitivity,
    m.last_used_at,
    m.expires_at,
    m.embedding_model,
    cardinality(m.embedding) as embedding_dimensions,
    m.metadata,
    m.source_conversation_id,
    m.source_message_id,
    m.source_run_id,
    m.version,
    m.created_at,
    m.updated_at
from strongroom.memories as m;
comment on view strongroom.memory_details is
    'Facts as the functions return them: of an embedding its model and length. Runs with the'
    ' caller''s rights.';
comment on column strongroom.memory_details.tenant_id is 'The tenant.';
comment on column strongroom.memory_details.principal_id is 'Whose memory it is.';
comment on column strongroom.memory_details.id is 'The fact''s id, unique for the principal.';
comment on column strongroom.memory_details.namespace is 'The path it lies under.';
comment on column strongroom.memory_details.key is 'Its name in the namespace, if it has one.';
comment on column strongroom.memory_details.text is 'The fact.';
comment on column strongroom.memory_details.source is 'user-stated or extracted.';
comment on column strongroom.memory_details.confidence is 'How sure it is, 0 to 1.';
comment on column strongroom.memory_details.sensitivity is 'normal, personal or sensitive.';
comment on column strongroom.memory_details.last_used_at is 'When it was last used.';
comment on column strongroom.memory_details.expires_at is 'From when on it is gone.';
comment on column strongroom.memory_details.embedding_model is 'Which model made its embedding.';
comment on column strongroom.memory_details.embedding_dimensions is 'The embedding''s length.';
comment on column strongroom.memory_details.metadata is 'The host''s own JSON object.';
comment on column strongroom.memory_details.source_conversation_id is
    'The conversation it came from.';
comment on column strongroom.memory_details.source_message_id is 'The message it came from.';
comment on column strongroom.memory_details.source_run_id is 'The run it came from.';
comment on column strongroom.memory_details.version is 'One more at every change.';
comment on column strongroom.memory_details.created_at is 'When it was first put.';
comment on column strongroom.memory_details.updated_at is 'When it last changed.';

create type strongroom.stored_memory as (
    tenant_id text,
    principal_id text,
    id text,
    namespace text,
    key text,
    text text,
    source text,
    confidence double precision,
    sensitivity text,
    last_used_at timestamptz,
    expires_at timestamptz,
    embedding_model text,
    embedding_dimensions integer,
    metadata jsonb,
    source_conversation_id text,
    source_message_id text,
    source_run_id text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
);
comment on type strongroom.stored_memory is
    'memory_details, and what became of the put; all null but the outcome when it was forgotten.';


-- ---------------------------------------------------------------------------------------------
-- Tombstones
-- ---------------------------------------------------------------------------------------------

create table strongroom.memory_tombstones (
    tenant_id text collate "C" not null,
    principal_id text collate "C" not null,
    digest text collate "C" not null,
    forgotten_at timestamptz not null default now(),
    constraint memory_tombstones_pkey primary key (tenant_id, principal_id, digest),
    constraint tombstone_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint principal_id_has_1_to_255_characters
        check (char_length(principal_id) between 1 and 255),
    constraint digest_has_64_characters check (char_length(digest) = 64)
);
comment on table strongroom.memory_tombstones is
    'What was forgotten, as salted digests of ids, keys and normalised texts: enough to know it'
    ' again, and nothing to read.';
comment on column strongroom.memory_tombstones.tenant_id is 'The tenant.';
comment on column strongroom.memory_tombstones.principal_id is 'Whose memory it was.';
comment on column strongroom.memory_tombstones.digest is
    'SHA-256 of the principal''s salt, what it is (id, key or text), and the thing itself.';
comment on column strongroom.memory_tombstones.forgotten_at is 'When it was forgotten first.';

alter table strongroom.memory_tombstones enable row level security;
alter table strongroom.memory_tombstones force row level security;
create policy hosts_do_all on strongroom.memory_tombstones
    for all
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_do_all on strongroom.memory_tombstones is 'Hosts.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.memory_tombstones',
    p_column => 'principal_id',
    p_action => 'delete',
    p_reason => 'They serve that person only, and come from what they said.'
);

create function strongroom_private.tombstone_digests(
    p_salt text,
    p_id text,
    p_namespace text,
    p_key text,
    p_text text
)
returns text[]
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select array_agg(strongroom_private.digest(jsonb_build_array(p_salt, f.kind, f.value)))
    from (
        values
            ('id', p_id),
            ('key', strongroom_private.key_digest(p_namespace, p_key)),
            ('text', strongroom_private.normal_form(p_text))
    ) as f (kind, value)
    where f.value is not null
$$;
comment on function strongroom_private.tombstone_digests(text, text, text, text, text) is
    'The digests of a fact''s id, of its key in its namespace, and of its text wherever it stands;'
    ' none for what is null.';

create function strongroom_private.is_forgotten(
    p_tenant_id text,
    p_principal_id text,
    p_digests text[]
)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    return exists (
        select
        from strongroom.memory_tombstones as t
        where t.tenant_id = p_tenant_id
            and t.principal_id = p_principal_id
            and t.digest = any (p_digests)
    );
end
$$;
comment on function strongroom_private.is_forgotten(text, text, text[]) is
    'Whether any of these has a tombstone.';


-- ---------------------------------------------------------------------------------------------
-- Checks and locks
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.check_namespace(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if char_length(p_value) > 255 then
        perform strongroom_private.check_id(p_field, p_value);
    elsif p_value is null or not strongroom_private.is_namespace(p_value) then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a path of segments with single slashes between them', p_field),
            jsonb_build_object('path', p_field),
            'For example work/travel; the empty text is the root.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_namespace(text, text) is
    'A namespace has at most 255 characters, and no slash at its ends or beside another. Errors:'
    ' SR001, SR004.';

create function strongroom_private.read_moment(p_field text, p_value jsonb)
returns timestamptz
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_moment timestamptz;
begin
    perform strongroom_private.check_text(p_field, p_value);
    v_moment := strongroom_private.find_moment(p_value);
    if v_moment is null and coalesce(jsonb_typeof(p_value), 'null') <> 'null' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a moment', p_field),
            jsonb_build_object('path', p_field),
            'Give it in ISO 8601 with its distance from UTC, such as 2030-01-31T12:00:00Z.'
        );
    end if;
    perform strongroom_private.check_moment(p_field, v_moment);
    return v_moment;
end
$$;
comment on function strongroom_private.read_moment(text, jsonb) is
    'A moment as text, or null; returns it. Errors: SR001.';

create function strongroom_private.check_embedding(p_field text, p_value jsonb)
returns real[]
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_embedding real[];
begin
    if coalesce(jsonb_typeof(p_value), 'null') = 'null' then
        return null;
    end if;
    if jsonb_typeof(p_value) <> 'array' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a list of numbers', p_field),
            jsonb_build_object('path', p_field),
            'Give 1 to 4,000 numbers.'
        );
    elsif jsonb_array_length(p_value) > 4000 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s dimensions; at most 4000 are allowed',
                p_field, jsonb_array_length(p_value)),
            jsonb_build_object(
                'path', p_field, 'limit', 4000, 'actual', jsonb_array_length(p_value)
            ),
            'Use a model with fewer dimensions.'
        );
    end if;
    -- Numbers that real cannot hold: too large ones are refused, too small ones are zero.
    if not exists (
        select
        from jsonb_array_elements(p_value) as v
        where jsonb_typeof(v) <> 'number'
            or abs(case when jsonb_typeof(v) = 'number' then v::numeric end) > 3e38
    ) then
        v_embedding := array(
            select (case when abs(e.value::numeric) < 1e-37 then 0 else e.value::numeric end)::real
            from jsonb_array_elements(p_value) with ordinality as e (value, place)
            order by e.place
        );
    end if;
    if v_embedding is null or 0 = all (v_embedding) then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must have 1 to 4000 numbers up to 3e38, not all of them zero', p_field),
            jsonb_build_object('path', p_field),
            'An embedding needs a direction to be compared.'
        );
    end if;
    return v_embedding;
end
$$;
comment on function strongroom_private.check_embedding(text, jsonb) is
    'A list of 1 to 4,000 numbers that is not zero, or null; returns it. Errors: SR001, SR004.';

create function strongroom_private.check_fact(p_field text, p_fact jsonb)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_name text;
begin
    foreach v_name in array '{
        id,namespace,key,text,source,sensitivity,embedding_model,conversation_id,message_id,run_id
    }'::text[]
    loop
        perform strongroom_private.check_text(p_field || '.' || v_name, p_fact -> v_name);
        if v_name not in ('namespace', 'text', 'source', 'sensitivity') then
            perform strongroom_private.check_optional_id(
                p_field || '.' || v_name, p_fact ->> v_name
            );
        end if;
    end loop;
    if p_fact ? 'namespace' then
        perform strongroom_private.check_namespace(
            p_field || '.namespace', p_fact ->> 'namespace'
        );
    end if;
    if p_fact ? 'text' then
        if coalesce(p_fact ->> 'text', '') = '' then
            perform strongroom_private.fail(
                'invalid_argument',
                format('%s.text is required', p_field),
                jsonb_build_object('path', p_field || '.text'),
                'Give the fact in 1 to 4,000 characters.'
            );
        elsif char_length(p_fact ->> 'text') > 4000 then
            perform strongroom_private.fail(
                'limit_exceeded',
                format('%s.text has %s characters; at most 4000 are allowed',
                    p_field, char_length(p_fact ->> 'text')),
                jsonb_build_object(
                    'path', p_field || '.text',
                    'limit', 4000,
                    'actual', char_length(p_fact ->> 'text')
                ),
                'A memory is one fact: split it, or keep the long text in a file.'
            );
        end if;
    end if;
    if p_fact ? 'source' then
        perform strongroom_private.check_choice(
            p_field || '.source', p_fact ->> 'source', '{user-stated,extracted}'
        );
    end if;
    if p_fact ? 'sensitivity' then
        perform strongroom_private.check_choice(
            p_field || '.sensitivity', p_fact ->> 'sensitivity', '{normal,personal,sensitive}'
        );
    end if;
    if p_fact ? 'confidence' and coalesce(
        jsonb_typeof(p_fact -> 'confidence') <> 'number'
        or not case
            when jsonb_typeof(p_fact -> 'confidence') = 'number'
            then (p_fact -> 'confidence')::numeric between 0 and 1
        end,
        true
    ) then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s.confidence must be a number between 0 and 1', p_field),
            jsonb_build_object('path', p_field || '.confidence'),
            'Give 1 for what is certain.'
        );
    end if;
    if p_fact ? 'metadata' then
        perform strongroom_private.check_object(
            p_field || '.metadata', p_fact -> 'metadata', 16384
        );
    end if;
    perform strongroom_private.read_moment(p_field || '.expires_at', p_fact -> 'expires_at');
    perform strongroom_private.check_embedding(p_field || '.embedding', p_fact -> 'embedding');
    if (nullif(p_fact -> 'embedding', 'null') is null) <> (p_fact ->> 'embedding_model' is null)
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s.embedding and embedding_model come together', p_field),
            jsonb_build_object('path', p_field || '.embedding_model'),
            'Name the model that made the embedding.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_fact(text, jsonb) is
    'The fields of a fact that are there have the right shape. Errors: SR001, SR004.';

create function strongroom_private.lock_memory(p_tenant_id text, p_principal_id text)
returns setof strongroom.memory_settings
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    loop
        insert into strongroom.memory_settings (tenant_id, principal_id)
        values (p_tenant_id, p_principal_id)
        on conflict on constraint memory_settings_pkey do nothing;
        return query
        select s.*
        from strongroom.memory_settings as s
        where s.tenant_id = p_tenant_id
            and s.principal_id = p_principal_id
        for no key update;
        -- Erased between the two statements: then it is made again.
        exit when found;
    end loop;
end
$$;
comment on function strongroom_private.lock_memory(text, text) is
    'Lock a principal''s memory until the end of the transaction, and return its settings.';

create function strongroom_private.require_enabled_memory(p_disabled_at timestamptz)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_disabled_at is not null then
        perform strongroom_private.fail(
            'permission_denied',
            'memory is disabled for this principal',
            jsonb_build_object('path', 'principal_id', 'record', 'memory'),
            'Store nothing; enable_memory allows it again.'
        );
    end if;
end
$$;
comment on function strongroom_private.require_enabled_memory(timestamptz) is
    'Nothing is stored while memory is disabled. Errors: SR020.';

create function strongroom_private.require_own_memory(p_principal_id text)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_principal_id is distinct from strongroom_private.current_principal() then
        perform strongroom_private.fail(
            'permission_denied',
            'a user changes only their own memory',
            '{"path": "principal_id"}',
            'Give the signed-in user''s id as principal_id.'
        );
    end if;
end
$$;
comment on function strongroom_private.require_own_memory(text) is
    'The memory must be the signed-in user''s, whether there is any or not. Errors: SR020.';

create function strongroom_private.check_budget(p_field text, p_value integer, p_most integer)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null or p_value < 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be at least 1', p_field),
            jsonb_build_object('path', p_field, 'actual', p_value),
            format('Give 1 to %s.', p_most)
        );
    elsif p_value > p_most then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s is %s; at most %s are allowed', p_field, p_value, p_most),
            jsonb_build_object('path', p_field, 'limit', p_most, 'actual', p_value),
            format('Give 1 to %s.', p_most)
        );
    end if;
end
$$;
comment on function strongroom_private.check_budget(text, integer, integer) is
    'A budget has at least 1 and at most so many; it is refused, never clamped. Errors: SR001,'
    ' SR004.';


-- ---------------------------------------------------------------------------------------------
-- Storing
-- ---------------------------------------------------------------------------------------------

create function strongroom.find_memory(
    p_tenant_id text,
    p_principal_id text,
    p_memory_id text,
    p_viewer_id text default null
)
returns setof strongroom.memory_details
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
begin
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_id('memory_id', p_memory_id);
    if v_viewer_id <> p_principal_id then
        return;
    end if;
    return query
    select d.*
    from strongroom.memory_details as d
    where d.tenant_id = p_tenant_id
        and d.principal_id = p_principal_id
        and d.id = p_memory_id
        and (d.expires_at is null or d.expires_at > now());
end
$$;
comment on function strongroom.find_memory(text, text, text, text) is
    'A fact of a principal, or no row when it does not exist, has expired, or is not the viewer''s.'
    ' Errors: SR001, SR004, SR020, SR021. Callers: hosts, users for their own.';

create function strongroom_private.lift_tombstones(
    p_tenant_id text,
    p_principal_id text,
    p_digests text[]
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    delete from strongroom.memory_tombstones as t
    where t.tenant_id = p_tenant_id
        and t.principal_id = p_principal_id
        and t.digest = any (p_digests);
end
$$;
comment on function strongroom_private.lift_tombstones(text, text, text[]) is
    'What the principal states again may be remembered again.';

create function strongroom.put_memory(
    p_tenant_id text,
    p_principal_id text,
    p_fact jsonb,
    p_expected_version bigint default null,
    p_generation bigint default null,
    p_write_id text default null
)
returns setof strongroom.stored_memory
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_fact jsonb;
    v_id text;
    v_digest text;
    v_generation bigint;
    v_settings strongroom.memory_settings;
    v_current strongroom.memories;
    v_outcome text := 'inserted';
    v_forgotten strongroom.stored_memory;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    if not strongroom_private.is_trusted() then
        return query
        select m.*
        from strongroom_private.put_memory_as_user(
            p_tenant_id, p_principal_id, p_fact, p_expected_version, p_generation, p_write_id
        ) as m;
        return;
    end if;
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    perform strongroom_private.check_keys(
        'fact',
        p_fact,
        '{
            id,namespace,key,text,source,confidence,sensitivity,expires_at,embedding,
            embedding_model,metadata,conversation_id,message_id,run_id
        }'
    );
    v_fact := '{
        "namespace": "", "key": null, "text": null, "source": null, "confidence": 1,
        "sensitivity": "personal", "expires_at": null, "embedding": null, "embedding_model": null,
        "metadata": {}, "conversation_id": null, "message_id": null, "run_id": null
    }'::jsonb || p_fact;
    perform strongroom_private.check_fact('fact', v_fact);
    if p_expected_version is not null and v_fact ->> 'key' is null then
        perform strongroom_private.fail(
            'invalid_argument',
            'expected_version is for a fact with a key',
            '{"path": "expected_version"}',
            'Use update_memory for a fact without one.'
        );
    elsif p_expected_version is not null then
        perform strongroom_private.check_expected_version(p_expected_version);
    end if;
    v_id := coalesce(v_fact ->> 'id', gen_random_uuid()::text);
    v_digest := strongroom_private.digest(v_fact - 'id');

    -- The race: everything is forgotten while this call waits for the lock. Each statement sees
    -- what is committed when it starts, so the generation before the wait tells.
    v_generation := coalesce(
        p_generation,
        (
            select s.generation
            from strongroom.memory_settings as s
            where s.tenant_id = p_tenant_id
                and s.principal_id = p_principal_id
        ),
        0
    );
    select s.*
    into v_settings
    from strongroom_private.lock_memory(p_tenant_id, p_principal_id) as s;
    perform strongroom_private.require_enabled_memory(v_settings.disabled_at);

    select m.*
    into v_current
    from strongroom.memories as m
    where m.tenant_id = p_tenant_id
        and m.principal_id = p_principal_id
        and m.id = v_id;
    if found then
        if v_current.creation_digest <> v_digest then
            perform strongroom_private.fail(
                'already_exists',
                'a fact with this id was put with other content',
                jsonb_build_object('path', 'memory_id', 'record', 'memory'),
                'Read it and update it, or choose another id.'
            );
        end if;
        return query
        select
            d.*,
            'duplicate'
        from strongroom.memory_details as d
        where d.tenant_id = p_tenant_id
            and d.principal_id = p_principal_id
            and d.id = v_id;
        return;
    end if;

    -- An id never comes back, whoever uses it: it is a call that is repeated too late.
    if v_settings.generation <> v_generation
        or strongroom_private.is_forgotten(
            p_tenant_id,
            p_principal_id,
            strongroom_private.tombstone_digests(
                v_settings.salt,
                v_id,
                v_fact ->> 'namespace',
                case v_fact ->> 'source' when 'extracted' then v_fact ->> 'key' end,
                case v_fact ->> 'source' when 'extracted' then v_fact ->> 'text' end
            )
        )
    then
        v_forgotten.outcome := 'forgotten';
        return next v_forgotten;
        return;
    end if;
    if v_fact ->> 'source' = 'user-stated' then
        perform strongroom_private.lift_tombstones(
            p_tenant_id,
            p_principal_id,
            strongroom_private.tombstone_digests(
                v_settings.salt, null, v_fact ->> 'namespace', v_fact ->> 'key', v_fact ->> 'text'
            )
        );
    end if;

    if v_fact ->> 'key' is not null then
        -- One that has expired is gone, and gives its key away.
        delete from strongroom.memories as m
        where m.tenant_id = p_tenant_id
            and m.principal_id = p_principal_id
            and m.key_digest = strongroom_private.key_digest(
                v_fact ->> 'namespace', v_fact ->> 'key'
            )
            and m.expires_at <= now();
        select m.*
        into v_current
        from strongroom.memories as m
        where m.tenant_id = p_tenant_id
            and m.principal_id = p_principal_id
            and m.key_digest = strongroom_private.key_digest(
                v_fact ->> 'namespace', v_fact ->> 'key'
            );
    end if;
    if v_current.id is not null then
        v_id := v_current.id;
        v_outcome := 'updated';
        if v_current.last_write_id = p_write_id then
            -- A repeat of the very same call, whose answer was lost, has happened already.
            null;
        elsif v_current.text = v_fact ->> 'text'
            and v_current.source = v_fact ->> 'source'
            and v_current.confidence = (v_fact -> 'confidence')::double precision
            and v_current.sensitivity = v_fact ->> 'sensitivity'
            and v_current.expires_at is not distinct from (v_fact ->> 'expires_at')::timestamptz
            and v_current.embedding is not distinct from strongroom_private.check_embedding(
                'fact.embedding', v_fact -> 'embedding'
            )
            and v_current.embedding_model is not distinct from v_fact ->> 'embedding_model'
            and v_current.metadata = v_fact -> 'metadata'
        then
            v_outcome := 'duplicate';
        elsif p_expected_version is distinct from v_current.version then
            perform strongroom_private.fail(
                'version_conflict',
                format('the memory with this key has version %s, not %s',
                    v_current.version, coalesce(p_expected_version, 0)),
                jsonb_build_object(
                    'record', 'memory',
                    'id', v_current.id,
                    'expected_version', coalesce(p_expected_version, 0),
                    'current_version', v_current.version
                ),
                'Read it, decide which one is right, and put with its version as expected_version.'
            );
        else
            update strongroom.memories as m
            set text = v_fact ->> 'text',
                source = v_fact ->> 'source',
                confidence = (v_fact -> 'confidence')::double precision,
                sensitivity = v_fact ->> 'sensitivity',
                expires_at = (v_fact ->> 'expires_at')::timestamptz,
                embedding = strongroom_private.check_embedding(
                    'fact.embedding', v_fact -> 'embedding'
                ),
                embedding_model = v_fact ->> 'embedding_model',
                metadata = v_fact -> 'metadata',
                source_conversation_id = v_fact ->> 'conversation_id',
                source_message_id = v_fact ->> 'message_id',
                source_run_id = v_fact ->> 'run_id',
                version = m.version + 1,
                last_write_id = p_write_id,
                updated_at = now()
            where m.tenant_id = p_tenant_id
                and m.principal_id = p_principal_id
                and m.id = v_id;
        end if;
    elsif p_expected_version > 0 then
        -- It was there and is gone: to write it anew would bring it back.
        perform strongroom_private.fail_missed_write('memory', p_expected_version, null);
    else
        insert into strongroom.memories (
            tenant_id, principal_id, id, namespace, key, text, source, confidence, sensitivity,
            expires_at, embedding, embedding_model, metadata,
            source_conversation_id, source_message_id, source_run_id,
            creation_digest, last_write_id
        )
        values (
            p_tenant_id,
            p_principal_id,
            v_id,
            v_fact ->> 'namespace',
            v_fact ->> 'key',
            v_fact ->> 'text',
            v_fact ->> 'source',
            (v_fact -> 'confidence')::double precision,
            v_fact ->> 'sensitivity',
            (v_fact ->> 'expires_at')::timestamptz,
            strongroom_private.check_embedding('fact.embedding', v_fact -> 'embedding'),
            v_fact ->> 'embedding_model',
            v_fact -> 'metadata',
            v_fact ->> 'conversation_id',
            v_fact ->> 'message_id',
            v_fact ->> 'run_id',
            v_digest,
            p_write_id
        );
    end if;
    return query
    select
        d.*,
        v_outcome
    from strongroom.memory_details as d
    where d.tenant_id = p_tenant_id
        and d.principal_id = p_principal_id
        and d.id = v_id;
end
$$;
comment on function strongroom.put_memory(text, text, jsonb, bigint, bigint, text) is
    'Store a fact {id, namespace, key, text, source, confidence, sensitivity, expires_at,'
    ' embedding, embedding_model, metadata, conversation_id, message_id, run_id}; text and source'
    ' are required. outcome: inserted; duplicate (the same id or key with the same content: nothing'
    ' changes); updated (the key''s fact had the expected version); forgotten (the principal forgot'
    ' this fact, or everything since p_generation or while the call waited: nothing is stored).'
    ' What is user-stated may be remembered again after it was forgotten. A user states their own.'
    ' Errors: SR001, SR004, SR010, SR011, SR012, SR020, SR021. Callers: hosts, users.';

-- SECURITY DEFINER: a user has no right to insert; this function lets them state facts about
-- themselves, and nothing that would pass for an extraction of the host.
create function strongroom_private.put_memory_as_user(
    p_tenant_id text,
    p_principal_id text,
    p_fact jsonb,
    p_expected_version bigint,
    p_generation bigint,
    p_write_id text
)
returns setof strongroom.stored_memory
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_field text;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.require_own_memory(p_principal_id);
    v_field := case
        when p_fact ->> 'source' <> 'user-stated' then 'source'
        when p_fact ->> 'run_id' is not null then 'run_id'
    end;
    if v_field is not null then
        perform strongroom_private.fail(
            'permission_denied',
            format('fact.%s: a user states facts, with source user-stated and no run', v_field),
            jsonb_build_object('path', 'fact.' || v_field),
            'Use source user-stated, and leave run_id out.'
        );
    end if;
    return query
    select m.*
    from strongroom.put_memory(
        p_tenant_id, p_principal_id, p_fact, p_expected_version, p_generation, p_write_id
    ) as m;
end
$$;
comment on function strongroom_private.put_memory_as_user(
    text, text, jsonb, bigint, bigint, text
) is
    'The way of users into put_memory. SECURITY DEFINER, see its comment in the migration. Errors:'
    ' SR020.';

create function strongroom.update_memory(
    p_tenant_id text,
    p_principal_id text,
    p_memory_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text default null
)
returns setof strongroom.memory_details
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_settings strongroom.memory_settings;
    v_current strongroom.memories;
    v_digests text[];
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    if not strongroom_private.is_trusted() then
        return query
        select m.*
        from strongroom_private.update_memory_as_user(
            p_tenant_id, p_principal_id, p_memory_id, p_changes, p_expected_version, p_write_id
        ) as m;
        return;
    end if;
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_id('memory_id', p_memory_id);
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    perform strongroom_private.check_keys(
        'changes',
        p_changes,
        '{
            text,source,confidence,sensitivity,expires_at,embedding,embedding_model,metadata
        }'
    );
    -- Another text needs another embedding.
    if p_changes ? 'text' then
        p_changes := '{"embedding": null, "embedding_model": null}'::jsonb || p_changes;
    end if;
    perform strongroom_private.check_fact('changes', p_changes);
    select s.*
    into v_settings
    from strongroom_private.lock_memory(p_tenant_id, p_principal_id) as s;
    perform strongroom_private.require_enabled_memory(v_settings.disabled_at);
    select m.*
    into v_current
    from strongroom.memories as m
    where m.tenant_id = p_tenant_id
        and m.principal_id = p_principal_id
        and m.id = p_memory_id
        and (m.expires_at is null or m.expires_at > now());
    if v_current.version is distinct from p_expected_version then
        -- A repeat of the very same call, whose answer was lost, has happened already.
        if v_current.last_write_id is distinct from p_write_id or p_write_id is null then
            perform strongroom_private.fail_missed_write(
                'memory', p_expected_version, v_current.version
            );
        end if;
    else
        if p_changes ? 'text' then
            v_digests := strongroom_private.tombstone_digests(
                v_settings.salt, null, null, null, p_changes ->> 'text'
            );
            if coalesce(p_changes ->> 'source', v_current.source) = 'user-stated' then
                perform strongroom_private.lift_tombstones(
                    p_tenant_id, p_principal_id, v_digests
                );
            elsif strongroom_private.is_forgotten(p_tenant_id, p_principal_id, v_digests) then
                perform strongroom_private.fail(
                    'invalid_transition',
                    'the principal has forgotten this fact',
                    '{"path": "changes.text", "record": "memory"}',
                    'Only the principal brings it back, by stating it: source user-stated.'
                );
            end if;
        end if;
        update strongroom.memories as m
        set text = coalesce(p_changes ->> 'text', m.text),
            source = coalesce(p_changes ->> 'source', m.source),
            confidence = coalesce(
                (p_changes -> 'confidence')::double precision, m.confidence
            ),
            sensitivity = coalesce(p_changes ->> 'sensitivity', m.sensitivity),
            expires_at = case
                when p_changes ? 'expires_at' then (p_changes ->> 'expires_at')::timestamptz
                else m.expires_at
            end,
            embedding = case
                when p_changes ? 'embedding'
                then strongroom_private.check_embedding(
                    'changes.embedding', p_changes -> 'embedding'
                )
                else m.embedding
            end,
            embedding_model = case
                when p_changes ? 'embedding' then p_changes ->> 'embedding_model'
                else m.embedding_model
            end,
            metadata = coalesce(p_changes -> 'metadata', m.metadata),
            version = m.version + 1,
            last_write_id = p_write_id,
            updated_at = now()
        where m.tenant_id = p_tenant_id
            and m.principal_id = p_principal_id
            and m.id = p_memory_id;
    end if;
    return query
    select d.*
    from strongroom.memory_details as d
    where d.tenant_id = p_tenant_id
        and d.principal_id = p_principal_id
        and d.id = p_memory_id;
end
$$;
comment on function strongroom.update_memory(text, text, text, jsonb, bigint, text) is
    'Change text, source, confidence, sensitivity, expires_at, embedding with embedding_model, or'
    ' metadata, given the version that was read; null clears expires_at and the embedding. A new'
    ' text without a new embedding clears it; an extracted one that was forgotten is refused.'
    ' Errors: SR001, SR004, SR010, SR012, SR020, SR021, SR030. Callers:'
    ' hosts, users for their own.';

-- SECURITY DEFINER: a user has no right to update; this lets them correct facts about themselves,
-- which are stated by them from then on.
create function strongroom_private.update_memory_as_user(
    p_tenant_id text,
    p_principal_id text,
    p_memory_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text
)
returns setof strongroom.memory_details
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.require_own_memory(p_principal_id);
    if p_changes ->> 'source' <> 'user-stated' then
        perform strongroom_private.fail(
            'permission_denied',
            'changes.source: what a user says is user-stated',
            '{"path": "changes.source"}',
            'Leave source out.'
        );
    end if;
    if jsonb_typeof(p_changes) = 'object' and p_changes ? 'text' then
        p_changes := p_changes || '{"source": "user-stated"}';
    end if;
    return query
    select m.*
    from strongroom.update_memory(
        p_tenant_id, p_principal_id, p_memory_id, p_changes, p_expected_version, p_write_id
    ) as m;
end
$$;
comment on function strongroom_private.update_memory_as_user(
    text, text, text, jsonb, bigint, text
) is
    'The way of users into update_memory. SECURITY DEFINER, see its comment in the migration.'
    ' Errors: SR020.';

create function strongroom.touch_memories(
    p_tenant_id text,
    p_principal_id text,
    p_memory_ids text[]
)
returns table (touched bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_ids text[];
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_ids('memory_ids', p_memory_ids);
    v_ids := array(
        select m.id
        from strongroom.memories as m
        where m.tenant_id = p_tenant_id
            and m.principal_id = p_principal_id
            and m.id = any (p_memory_ids)
            and (m.expires_at is null or m.expires_at > now())
        order by m.id
        for no key update
    );
    update strongroom.memories as m
    set last_used_at = now()
    where m.tenant_id = p_tenant_id
        and m.principal_id = p_principal_id
        and m.id = any (v_ids);
    get diagnostics touched = row_count;
    return next;
end
$$;
comment on function strongroom.touch_memories(text, text, text[]) is
    'Say that these facts were used now; returns how many there are. No change of the facts: their'
    ' versions stay. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Forgetting
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.forget_facts(
    p_tenant_id text,
    p_principal_id text,
    p_salt text,
    p_memory_id text
)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_count bigint;
    v_ids text[];
begin
    -- One fact is looked up by its key, however many the principal has.
    v_ids := array[p_memory_id];
    if p_memory_id is null then
        v_ids := array(
            select m.id
            from strongroom.memories as m
            where m.tenant_id = p_tenant_id
                and m.principal_id = p_principal_id
        );
    end if;
    -- In the order of ids, as touch_memories locks them.
    perform
    from strongroom.memories as m
    where m.tenant_id = p_tenant_id
        and m.principal_id = p_principal_id
        and m.id = any (v_ids)
    order by m.id
    for update;
    insert into strongroom.memory_tombstones (tenant_id, principal_id, digest)
    select distinct
        p_tenant_id,
        p_principal_id,
        d
    from strongroom.memories as m
    cross join lateral unnest(
        strongroom_private.tombstone_digests(p_salt, m.id, m.namespace, m.key, m.text)
    ) as d
    where m.tenant_id = p_tenant_id
        and m.principal_id = p_principal_id
        and m.id = any (v_ids)
    on conflict on constraint memory_tombstones_pkey do nothing;
    delete from strongroom.memories as m
    where m.tenant_id = p_tenant_id
        and m.principal_id = p_principal_id
        and m.id = any (v_ids);
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function strongroom_private.forget_facts(text, text, text, text) is
    'Delete a principal''s facts, all or one, and leave their tombstones; the caller holds the lock'
    ' of the principal''s memory.';

create function strongroom.delete_memory(
    p_tenant_id text,
    p_principal_id text,
    p_memory_id text
)
returns table (deleted boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_salt text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    if not strongroom_private.is_trusted() then
        return query
        select d.deleted
        from strongroom_private.delete_memory_as_user(
            p_tenant_id, p_principal_id, p_memory_id
        ) as d;
        return;
    end if;
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_id('memory_id', p_memory_id);
    -- As lock_memory, but nothing is made for who has nothing: a late call must not bring back the
    -- name of a person who was erased.
    select s.salt
    into v_salt
    from strongroom.memory_settings as s
    where s.tenant_id = p_tenant_id
        and s.principal_id = p_principal_id
    for no key update;
    deleted := found and strongroom_private.forget_facts(
        p_tenant_id, p_principal_id, v_salt, p_memory_id
    ) > 0;
    return next;
end
$$;
comment on function strongroom.delete_memory(text, text, text) is
    'Forget a fact for good: neither a late call with its id nor an extraction brings it back. Says'
    ' whether there was one. Errors: SR001, SR004, SR010, SR020, SR021. Callers: hosts, users for'
    ' their own.';

-- SECURITY DEFINER: a user has no right to delete; this lets them forget a fact about themselves.
create function strongroom_private.delete_memory_as_user(
    p_tenant_id text,
    p_principal_id text,
    p_memory_id text
)
returns table (deleted boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.require_own_memory(p_principal_id);
    return query
    select d.deleted
    from strongroom.delete_memory(p_tenant_id, p_principal_id, p_memory_id) as d;
end
$$;
comment on function strongroom_private.delete_memory_as_user(text, text, text) is
    'The way of users into delete_memory. SECURITY DEFINER, see its comment in the migration.'
    ' Errors: SR020.';

create function strongroom.forget_memories(
    p_tenant_id text,
    p_principal_id text,
    p_actor_id text default null
)
returns table (forgotten bigint, generation bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_salt text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    if not strongroom_private.is_trusted() then
        return query
        select
            f.forgotten,
            f.generation
        from strongroom_private.forget_memories_as_user(
            p_tenant_id, p_principal_id, p_actor_id
        ) as f;
        return;
    end if;
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);
    select s.salt
    into v_salt
    from strongroom_private.lock_memory(p_tenant_id, p_principal_id) as s;
    forgotten := strongroom_private.forget_facts(p_tenant_id, p_principal_id, v_salt, null);
    update strongroom.memory_settings as s
    set generation = s.generation + 1,
        forgotten_at = now(),
        updated_at = now()
    where s.tenant_id = p_tenant_id
        and s.principal_id = p_principal_id
    returning s.generation into generation;
    -- A memory has no id but its principal's, which is not written there.
    perform strongroom_private.record_audit(
        p_tenant_id,
        'memory.forget_all',
        'memory',
        generation::text,
        jsonb_build_object('forgotten', forgotten, 'generation', generation),
        p_actor_id,
        p_principal_id
    );
    return next;
end
$$;
comment on function strongroom.forget_memories(text, text, text) is
    'Forget every fact of a principal for good; returns how many there were, and the new'
    ' generation: what was prepared in an earlier one, and says so, is not stored any more. Errors:'
    ' SR001, SR004, SR010, SR020, SR021. Callers: hosts, users for their own.';

-- SECURITY DEFINER: a user has no right to delete; this lets them forget all about themselves.
create function strongroom_private.forget_memories_as_user(
    p_tenant_id text,
    p_principal_id text,
    p_actor_id text
)
returns table (forgotten bigint, generation bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.require_own_memory(p_principal_id);
    if p_actor_id <> p_principal_id then
        perform strongroom_private.fail(
            'permission_denied',
            'actor_id is not the signed-in user',
            '{"path": "actor_id"}',
            'Leave actor_id out: a user always acts as themselves.'
        );
    end if;
    return query
    select
        f.forgotten,
        f.generation
    from strongroom.forget_memories(p_tenant_id, p_principal_id, p_principal_id) as f;
end
$$;
comment on function strongroom_private.forget_memories_as_user(text, text, text) is
    'The way of users into forget_memories. SECURITY DEFINER, see its comment in the migration.'
    ' Errors: SR020.';

create function strongroom.expire_memories(p_tenant_id text, p_limit integer default 500)
returns table (expired bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_limit(p_limit);
    with overdue as materialized (
        select
            m.principal_id,
            m.id
        from strongroom.memories as m
        where m.tenant_id = p_tenant_id
            and m.expires_at <= now()
        order by m.expires_at
        limit p_limit
        for update skip locked
    )
    delete from strongroom.memories as m
    using overdue as o
    where m.tenant_id = p_tenant_id
        and m.principal_id = o.principal_id
        and m.id = o.id;
    get diagnostics expired = row_count;
    return next;
end
$$;
comment on function strongroom.expire_memories(text, integer) is
    'Delete up to p_limit facts whose time has passed, the oldest first, and leave no tombstones;'
    ' returns how many. Nobody sees them anyway: this frees their room. Errors: SR001, SR004,'
    ' SR010, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- The switch
-- ---------------------------------------------------------------------------------------------

create function strongroom.read_memory_status(
    p_tenant_id text,
    p_principal_id text,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    principal_id text,
    is_enabled boolean,
    disabled_at timestamptz,
    disabled_by text,
    generation bigint,
    forgotten_at timestamptz,
    fact_count bigint
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_is_seen boolean := coalesce(v_viewer_id = p_principal_id, true);
begin
    perform strongroom_private.check_id('principal_id', p_principal_id);
    return query
    select
        p_tenant_id,
        p_principal_id,
        s.disabled_at is null,
        s.disabled_at,
        s.disabled_by,
        coalesce(s.generation, 0),
        s.forgotten_at,
        (
            select count(*)
            from strongroom.memories as m
            where m.tenant_id = p_tenant_id
                and m.principal_id = p_principal_id
                and (m.expires_at is null or m.expires_at > now())
                and v_is_seen
        )
    from (values (1)) as one (row)
    left join strongroom.memory_settings as s
        on s.tenant_id = p_tenant_id
        and s.principal_id = p_principal_id
        and v_is_seen;
end
$$;
comment on function strongroom.read_memory_status(text, text, text) is
    'Whether a principal''s memory is enabled, how many facts it has, and its generation for puts'
    ' that are prepared now. One row, also for who has no memory, or one that is not the'
    ' viewer''s. Errors: SR001, SR004, SR020, SR021. Callers: hosts, users for their own.';

create function strongroom_private.switch_memory(
    p_tenant_id text,
    p_principal_id text,
    p_is_enabled boolean,
    p_actor_id text
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_generation bigint;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_optional_id('actor_id', p_actor_id);
    perform strongroom_private.lock_memory(p_tenant_id, p_principal_id);
    update strongroom.memory_settings as s
    set disabled_at = case when not p_is_enabled then now() end,
        disabled_by = case when not p_is_enabled then p_actor_id end,
        updated_at = now()
    where s.tenant_id = p_tenant_id
        and s.principal_id = p_principal_id
        and (s.disabled_at is null) <> p_is_enabled
    returning s.generation into v_generation;
    if found then
        perform strongroom_private.record_audit(
            p_tenant_id,
            case when p_is_enabled then 'memory.enable' else 'memory.disable' end,
            'memory',
            v_generation::text,
            jsonb_build_object('generation', v_generation),
            p_actor_id,
            p_principal_id
        );
    end if;
end
$$;
comment on function strongroom_private.switch_memory(text, text, boolean, text) is
    'Enable or disable a principal''s memory; a repeat changes nothing.';

create function strongroom.disable_memory(
    p_tenant_id text,
    p_principal_id text,
    p_actor_id text default null
)
returns table (
    tenant_id text,
    principal_id text,
    is_enabled boolean,
    disabled_at timestamptz,
    disabled_by text,
    generation bigint,
    forgotten_at timestamptz,
    fact_count bigint
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.switch_memory(p_tenant_id, p_principal_id, false, p_actor_id);
    return query
    select s.*
    from strongroom.read_memory_status(p_tenant_id, p_principal_id) as s;
end
$$;
comment on function strongroom.disable_memory(text, text, text) is
    'From now on nothing is stored for this principal, and searches find nothing and say so. What'
    ' is stored stays until it is forgotten. A repeat changes nothing. Errors: SR001, SR004, SR010,'
    ' SR020. Callers: hosts.';

create function strongroom.enable_memory(
    p_tenant_id text,
    p_principal_id text,
    p_actor_id text default null
)
returns table (
    tenant_id text,
    principal_id text,
    is_enabled boolean,
    disabled_at timestamptz,
    disabled_by text,
    generation bigint,
    forgotten_at timestamptz,
    fact_count bigint
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.switch_memory(p_tenant_id, p_principal_id, true, p_actor_id);
    return query
    select s.*
    from strongroom.read_memory_status(p_tenant_id, p_principal_id) as s;
end
$$;
comment on function strongroom.enable_memory(text, text, text) is
    'Allow memory again for a principal. A repeat changes nothing. Errors: SR001, SR004, SR010,'
    ' SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Finding
-- ---------------------------------------------------------------------------------------------

create function strongroom.list_memories(
    p_tenant_id text,
    p_principal_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_namespace_prefix text default '',
    p_sensitivity text default null,
    p_source text default null,
    p_viewer_id text default null
)
returns table (
    tenant_id text,
    principal_id text,
    id text,
    namespace text,
    key text,
    text text,
    source text,
    confidence double precision,
    sensitivity text,
    last_used_at timestamptz,
    expires_at timestamptz,
    embedding_model text,
    embedding_dimensions integer,
    metadata jsonb,
    source_conversation_id text,
    source_message_id text,
    source_run_id text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_scope text;
    v_keys text[];
    v_descending boolean;
begin
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_namespace('namespace_prefix', p_namespace_prefix);
    if p_sensitivity is not null then
        perform strongroom_private.check_choice(
            'sensitivity', p_sensitivity, '{normal,personal,sensitive}'
        );
    end if;
    if p_source is not null then
        perform strongroom_private.check_choice('source', p_source, '{user-stated,extracted}');
    end if;
    v_scope := strongroom_private.cursor_scope(
        'memories',
        jsonb_build_array(
            p_principal_id, p_namespace_prefix, p_sensitivity, p_source, v_viewer_id
        ),
        p_direction
    );
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    if v_viewer_id <> p_principal_id then
        return;
    end if;
    -- Forward is newest first.
    v_descending := (p_direction = 'forward') <> (p_before is not null);
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
                    v.id,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select m.id
                    from strongroom.memories as m
                    where m.tenant_id = $1
                        and m.principal_id = $5
                        and (m.expires_at is null or m.expires_at > now())
                        and strongroom_private.is_within(m.namespace, $6)
                        and ($7 is null or m.sensitivity = $7)
                        and ($8 is null or m.source = $8)
                        and ($2 is null or (m.created_at, m.id) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]
                        ))
                    order by m.created_at %2$s, m.id %2$s
                    limit $4 + 1
                ) as v
            ) as s
            cross join lateral (
                select d.*
                from strongroom.memory_details as d
                where d.tenant_id = $1
                    and d.principal_id = $5
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
        p_tenant_id, v_keys, v_scope, p_limit, p_principal_id,
        p_namespace_prefix, p_sensitivity, p_source;
end
$$;
comment on function strongroom.list_memories(
    text, text, integer, text, text, text, text, text, text, text
) is
    'A page of a principal''s facts, forward newest first. p_namespace_prefix: a namespace and all'
    ' below it, segment by segment; the empty one, the default, holds all. has_more: whether rows'
    ' follow in the paging direction. Errors: SR001, SR002, SR004, SR020, SR021. Callers: hosts,'
    ' users for their own.';

create function strongroom_private.compare_embeddings(
    p_tenant_id text,
    p_principal_id text,
    p_embedding real[],
    p_embedding_model text
)
returns table (memory_id text, similarity double precision)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_schema text;
begin
    -- pgvector, wherever it was installed and where this role may use it, is the faster way to the
    -- same numbers; nothing needs it. Its cosine multiplies in single precision, where the squares
    -- of very large and very small numbers are lost, so it is given directions (length 1).
    select n.nspname
    into v_schema
    from pg_extension as e
    inner join pg_namespace as n on n.oid = e.extnamespace
    where e.extname = 'vector'
        and has_schema_privilege(n.oid, 'usage')
        -- Since pgvector 0.7.
        and to_regproc(format('%I.l2_normalize', n.nspname)) is not null;
    if found then
        return query execute format(
            $query$
                select
                    m.id,
                    1 - (
                        %1$I.l2_normalize(m.embedding::%1$I.vector)
                        operator(%1$I.<=>) %1$I.l2_normalize($3::%1$I.vector)
                    )
                from strongroom.memories as m
                where m.tenant_id = $1
                    and m.principal_id = $2
                    and m.embedding_model = $4
                    and cardinality(m.embedding) = cardinality($3)
            $query$,
            v_schema
        )
        using p_tenant_id, p_principal_id, p_embedding, p_embedding_model;
    else
        return query
        select
            m.id,
            -- Rounding may lead a little beyond a cosine's bounds.
            greatest(-1, least(1, s.product / sqrt(s.length * s.other_length)))
        from strongroom.memories as m
        cross join lateral (
            select
                sum(v.a::double precision * v.b) as product,
                sum(v.a::double precision * v.a) as length,
                sum(v.b::double precision * v.b) as other_length
            from unnest(m.embedding, p_embedding) as v (a, b)
        ) as s
        where m.tenant_id = p_tenant_id
            and m.principal_id = p_principal_id
            and m.embedding_model = p_embedding_model
            and cardinality(m.embedding) = cardinality(p_embedding);
    end if;
end
$$;
comment on function strongroom_private.compare_embeddings(text, text, real[], text) is
    'The cosine similarity of each fact''s embedding, of this model and length, with this one.';

create function strongroom_private.rank_memories(
    p_tenant_id text,
    p_principal_id text,
    p_text text,
    p_embedding real[],
    p_embedding_model text,
    p_namespace_prefix text,
    p_sensitivities text[]
)
returns table (memory_id text, score double precision, found_by text[])
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
-- Without statistics a long text would be compared with each term of each fact in turn.
set enable_nestloop = off
set jit = off
as $$
begin
    -- Sums are made in a fixed order, so that every server rounds alike.
    return query
    with candidates as materialized (
        select
            m.id,
            m.terms,
            m.confidence,
            m.updated_at
        from strongroom.memories as m
        where m.tenant_id = p_tenant_id
            and m.principal_id = p_principal_id
            and (m.expires_at is null or m.expires_at > now())
            and (
                p_namespace_prefix = ''
                or strongroom_private.is_within(m.namespace, p_namespace_prefix)
            )
            and (p_sensitivities is null or m.sensitivity = any (p_sensitivities))
    ),
    asked as materialized (
        select
            t.unit collate "C" as unit,
            t.share,
            t.term collate "C" as term,
            t.factor
        from strongroom_private.read_terms(p_text) as t
        where t.share > 0
    ),
    postings as materialized (
        select
            c.id,
            t.term
        from candidates as c
        cross join lateral unnest(c.terms) as t (term)
    ),
    hits as materialized (
        select
            p.id,
            a.unit,
            a.share,
            max(a.factor) as factor,
            count(*) over (partition by a.unit) as facts
        from postings as p
        inner join asked as a on a.term = p.term
        group by
            p.id,
            a.unit,
            a.share
    ),
    totals as materialized (
        -- What few facts have counts more than what most have: there is no list of stop words. A
        -- unit counts its share, divided by the number of facts that have it.
        select
            (
                select sum(u.share)
                from (
                    select distinct
                        a.unit,
                        a.share
                    from asked as a
                ) as u
            ) - coalesce(
                (
                    select sum(u.share - u.share / u.facts order by u.unit)
                    from (
                        select distinct
                            h.unit,
                            h.share,
                            h.facts
                        from hits as h
                    ) as u
                ),
                0
            ) as weight
    ),
    by_text as (
        select
            h.id,
            sum(h.factor * h.share / h.facts order by h.unit)
            / (select t.weight from totals as t) as score
        from hits as h
        group by h.id
    ),
    by_vector as (
        select
            v.memory_id as id,
            v.similarity as score
        from strongroom_private.compare_embeddings(
            p_tenant_id, p_principal_id, p_embedding, p_embedding_model
        ) as v
        where v.similarity > 0
    ),
    scored as (
        select
            c.id,
            round(
                (
                    coalesce(t.score, 0) + coalesce(v.score, 0)
                    - coalesce(t.score, 0) * coalesce(v.score, 0)
                )::numeric,
                4
            )::double precision as score,
            array_remove(
                array[
                    case when t.score is not null then 'text' end,
                    case when v.score is not null then 'vector' end
                ],
                null
            ) as found_by,
            c.confidence,
            c.updated_at
        from candidates as c
        left join by_text as t on t.id = c.id
        left join by_vector as v on v.id = c.id
    )
    select
        s.id,
        s.score,
        s.found_by
    from scored as s
    where s.score > 0
    order by
        s.score desc,
        s.confidence desc,
        s.updated_at desc,
        s.id;
end
$$;
comment on function strongroom_private.rank_memories(
    text, text, text, real[], text, text, text[]
) is
    'Which facts a text and an embedding find, the best first. Of the text counts which share of'
    ' its units a fact has, rare ones more; of the embedding the cosine similarity. Both'
    ' together: a + b - a * b. Equal scores, to four digits, are ordered by confidence, then by'
    ' recency.';

create function strongroom.search_memories(
    p_tenant_id text,
    p_principal_id text,
    p_text text default null,
    p_embedding jsonb default null,
    p_embedding_model text default null,
    p_namespace_prefix text default '',
    p_sensitivities text[] default null,
    p_max_items integer default 20,
    p_max_tokens integer default 2000,
    p_viewer_id text default null
)
returns table (
    kind text,
    tenant_id text,
    principal_id text,
    id text,
    namespace text,
    key text,
    text text,
    source text,
    confidence double precision,
    sensitivity text,
    last_used_at timestamptz,
    expires_at timestamptz,
    embedding_model text,
    embedding_dimensions integer,
    metadata jsonb,
    source_conversation_id text,
    source_message_id text,
    source_run_id text,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    score double precision,
    found_by text[],
    tokens integer,
    is_enabled boolean,
    found bigint
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id, p_viewer_id);
    v_embedding real[];
    v_is_enabled boolean := true;
    v_items integer := 0;
    v_tokens integer := 0;
    v_found bigint := 0;
    v_rank record;
    v_row strongroom.memory_details;
begin
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_namespace('namespace_prefix', p_namespace_prefix);
    perform strongroom_private.check_optional_id('embedding_model', p_embedding_model);
    v_embedding := strongroom_private.check_embedding('embedding', p_embedding);
    if (v_embedding is null) <> (p_embedding_model is null) then
        perform strongroom_private.fail(
            'invalid_argument',
            'embedding and embedding_model come together',
            '{"path": "embedding_model"}',
            'Name the model that made the embedding.'
        );
    elsif p_text is null and v_embedding is null then
        perform strongroom_private.fail(
            'invalid_argument',
            'text or embedding is required',
            '{"path": "text"}',
            'Say what to search for; list_memories shows everything.'
        );
    elsif char_length(p_text) > 32768 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('text has %s characters; at most 32768 are allowed', char_length(p_text)),
            jsonb_build_object(
                'path', 'text', 'limit', 32768, 'actual', char_length(p_text)
            ),
            'Search for the part that matters.'
        );
    end if;
    if p_sensitivities is not null then
        perform strongroom_private.check_ids('sensitivities', p_sensitivities);
        for v_index in 1 .. cardinality(p_sensitivities) loop
            perform strongroom_private.check_choice(
                format('sensitivities[%s]', v_index - 1),
                p_sensitivities[v_index],
                '{normal,personal,sensitive}'
            );
        end loop;
    end if;
    perform strongroom_private.check_budget('max_items', p_max_items, 500);
    perform strongroom_private.check_budget('max_tokens', p_max_tokens, 1000000);

    if v_viewer_id is null or v_viewer_id = p_principal_id then
        v_is_enabled := not exists (
            select
            from strongroom.memory_settings as s
            where s.tenant_id = p_tenant_id
                and s.principal_id = p_principal_id
                and s.disabled_at is not null
        );
        if v_is_enabled then
            for v_rank in
                select
                    r.memory_id,
                    r.score,
                    r.found_by,
                    count(*) over () as found
                from strongroom_private.rank_memories(
                    p_tenant_id, p_principal_id, p_text, v_embedding, p_embedding_model,
                    p_namespace_prefix, p_sensitivities
                ) with ordinality as r (memory_id, score, found_by, place)
                order by r.place
            loop
                v_found := v_rank.found;
                exit when v_items = p_max_items;
                select d.*
                into v_row
                from strongroom.memory_details as d
                where d.tenant_id = p_tenant_id
                    and d.principal_id = p_principal_id
                    and d.id = v_rank.memory_id;
                tokens := strongroom_private.estimate_tokens(v_row.text);
                -- One that does not fit is left out; a shorter one after it may still.
                continue when v_tokens + tokens > p_max_tokens;
                v_items := v_items + 1;
                v_tokens := v_tokens + tokens;
                kind := 'memory';
                tenant_id := v_row.tenant_id;
                principal_id := v_row.principal_id;
                id := v_row.id;
                namespace := v_row.namespace;
                key := v_row.key;
                text := v_row.text;
                source := v_row.source;
                confidence := v_row.confidence;
                sensitivity := v_row.sensitivity;
                last_used_at := v_row.last_used_at;
                expires_at := v_row.expires_at;
                embedding_model := v_row.embedding_model;
                embedding_dimensions := v_row.embedding_dimensions;
                metadata := v_row.metadata;
                source_conversation_id := v_row.source_conversation_id;
                source_message_id := v_row.source_message_id;
                source_run_id := v_row.source_run_id;
                version := v_row.version;
                created_at := v_row.created_at;
                updated_at := v_row.updated_at;
                score := v_rank.score;
                found_by := v_rank.found_by;
                return next;
            end loop;
        end if;
    end if;
    return query
    select
        'summary',
        null::text, null::text, null::text, null::text, null::text, null::text, null::text,
        null::double precision, null::text, null::timestamptz, null::timestamptz, null::text,
        null::integer, null::jsonb, null::text, null::text, null::text, null::bigint,
        null::timestamptz, null::timestamptz, null::double precision, null::text[],
        v_tokens,
        v_is_enabled,
        v_found;
end
$$;
comment on function strongroom.search_memories(
    text, text, text, jsonb, text, text, text[], integer, integer, text
) is
    'The facts of a principal that a text, an embedding or both find, the best first (rows of kind'
    ' memory, with score and found_by), as many as fit into p_max_items and p_max_tokens, by'
    ' estimate_tokens. The last row, of kind summary, says the tokens in all, how many were found,'
    ' and whether memory is enabled: if not, nothing is found. Words are plain words: there is no'
    ' query syntax, and a text without any finds nothing. Errors: SR001, SR004, SR020, SR021.'
    ' Callers: hosts, users for their own.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'table', '{strongroom.memories,strongroom.memory_settings}', '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.memory_tombstones}', '{select,insert,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.memory_details}', '{select}',
    '{strongroom_host,service_role,authenticated}'
);
-- Users read under row security, and write through functions only. Tombstones are not for them.
select strongroom_private.publish_grant(
    'table', '{strongroom.memories,strongroom.memory_settings}', '{select}', '{authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.fold_text,
        strongroom_private.dense_characters,
        strongroom_private.phonetic_characters,
        strongroom_private.separating_characters,
        strongroom_private.read_words,
        strongroom_private.read_terms,
        strongroom_private.estimate_tokens,
        strongroom_private.is_namespace,
        strongroom_private.is_within,
        strongroom_private.check_namespace,
        strongroom_private.check_embedding,
        strongroom_private.check_budget,
        strongroom_private.compare_embeddings,
        strongroom_private.rank_memories,
        strongroom.find_memory,
        strongroom.put_memory,
        strongroom.update_memory,
        strongroom.delete_memory,
        strongroom.forget_memories,
        strongroom.read_memory_status,
        strongroom.list_memories,
        strongroom.search_memories
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.put_memory_as_user,
        strongroom_private.update_memory_as_user,
        strongroom_private.delete_memory_as_user,
        strongroom_private.forget_memories_as_user
    }',
    '{execute}',
    '{authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.list_terms,
        strongroom_private.normal_form,
        strongroom_private.key_digest,
        strongroom_private.tombstone_digests,
        strongroom_private.is_forgotten,
        strongroom_private.read_moment,
        strongroom_private.check_fact,
        strongroom_private.lock_memory,
        strongroom_private.require_enabled_memory,
        strongroom_private.require_own_memory,
        strongroom_private.lift_tombstones,
        strongroom_private.forget_facts,
        strongroom_private.switch_memory,
        strongroom.touch_memories,
        strongroom.expire_memories,
        strongroom.disable_memory,
        strongroom.enable_memory
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);

select strongroom_private.finish_migration(7, 'memory');
