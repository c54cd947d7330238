-- A hint of Realtime holds ids, a sequence and a kind. Who may join a private topic is who may read
-- what it is about, and what the publication shows of a deleted row is an opaque key.
begin;
\ir support/stories.psql
select plan(19);
select stories.found_a_world();

create table stories.topics (topic text, reader text, tenant text, may boolean);
insert into stories.topics (topic, reader, tenant, may)
values
    ('strongroom:conversation:acme:private', 'ada', 'acme', true),
    ('strongroom:conversation:acme:private', 'bob', 'acme', false),
    ('strongroom:conversation:acme:shared', 'bob', 'acme', true),
    ('strongroom:conversation:acme:open', 'cleo', 'acme', true),
    ('strongroom:conversation:acme:private', 'ada', 'globex', false),
    ('strongroom:conversation:acme:none', 'ada', 'acme', false),
    ('strongroom:tenant:acme', 'cleo', 'acme', true),
    ('strongroom:tenant:acme', 'ada', 'globex', false),
    ('strongroom:principal:acme:bob', 'bob', 'acme', true),
    ('strongroom:principal:acme:bob', 'ada', 'acme', false),
    ('strongroom:principal:acme:bob', 'bob', 'globex', false),
    ('strongroom:topic:acme:private', 'ada', 'acme', false),
    ('strongroom:tenant', 'ada', 'acme', false),
    ('tenant:acme', 'ada', 'acme', false);
grant select on stories.topics to public;
create function stories.may_receive(p_reader text, p_tenant text, p_topic text)
returns boolean
language plpgsql
as $$
begin
    perform stories.become_user(p_reader, p_tenant);
    return strongroom_private.may_receive(p_topic);
end
$$;
select is(
    stories.may_receive(t.reader, t.tenant, t.topic),
    t.may,
    format(
        '%s of %s %s join %s',
        t.reader,
        t.tenant,
        case when t.may then 'may' else 'may not' end,
        t.topic
    )
)
from stories.topics as t;

select stories.become_owner();
select is(
    strongroom_private.decode_topic(
        strongroom_private.encode_topic('{conversation,"a:b%3A","c%:"}')
    ),
    '{conversation,"a:b%3A","c%:"}',
    'a name may hold anything, and is no two names'
);
select is(
    strongroom_private.encode_topic('{conversation,"a:b","c%"}'),
    'strongroom:conversation:a%3Ab:c%25',
    'as programs spell it'
);
select is(
    (
        select array_agg(a.attname::text)
        from pg_index as i
        inner join pg_attribute as a
            on a.attrelid = i.indrelid
            and a.attnum = any(i.indkey)
        where i.indrelid = 'strongroom.conversation_changes'::regclass
            and i.indisreplident
    ),
    '{change_key}',
    'the replica identity is the opaque key alone'
);
select stories.become_user('cleo', 'acme');
select is(
    stories.tenants_in('strongroom.conversation_changes')
    || (
        select coalesce(array_agg(distinct c.conversation_id), '{}')
        from strongroom.conversation_changes as c
        where c.conversation_id in ('private', 'shared')
    ),
    stories.tenants_in('strongroom.conversation_changes'),
    'what is published shows to its readers alone'
);
select stories.become_owner('acme');
select is(
    (
        select array_agg(p.prrelid::regclass::text)
        from pg_publication_rel as p
        inner join pg_publication as s on s.oid = p.prpubid
        inner join pg_class as c on c.oid = p.prrelid
        where s.pubname = 'supabase_realtime'
            and c.relnamespace = 'strongroom'::regnamespace
            and p.prrelid <> 'strongroom.conversation_changes'::regclass
    ),
    null,
    'no table with content is published'
);

select * from finish();
rollback;
