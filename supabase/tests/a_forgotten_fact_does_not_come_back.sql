-- Principal memory: what is deleted leaves a digest by which it is known again, nothing to read. A
-- late call and an extraction do not bring it back; the principal's own word does.
begin;
\ir support/stories.psql

create function stories.put(p_fact jsonb, p_principal_id text default 'ada')
returns text
language sql
as $$
    select m.outcome
    from strongroom.put_memory('acme', p_principal_id, p_fact) as m
$$;
create function stories.found(p_text text, p_principal_id text default 'ada')
returns text[]
language sql
as $$
    select coalesce(array_agg(m.id order by m.id) filter (where m.kind = 'memory'), '{}')
    from strongroom.search_memories('acme', p_principal_id, p_text) as m
$$;

select plan(25);
select stories.found_a_world();
select stories.become_host();

select is(stories.found('RAIN?'), '{fact}', 'a fact is found by its words');
select is(stories.found('tea'), '{}', 'a forgotten one is not');
select is(
    stories.put('{"id": "lost", "text": "Likes tea.", "source": "extracted"}'),
    'forgotten',
    'the call that made it comes too late'
);
select is(
    stories.put('{"id": "lost", "text": "Likes tea.", "source": "user-stated"}'),
    'forgotten',
    'whatever it says of its source'
);
select is(
    stories.put('{"id": "l2", "text": " likes TÉA!", "source": "extracted", "namespace": "x"}'),
    'forgotten',
    'another wording, elsewhere, is the same fact'
);
select is(
    stories.put('{"id": "l3", "text": "Likes tea.", "source": "extracted"}', 'cleo'),
    'inserted',
    'somebody else''s fact is another one'
);
select is(
    stories.put('{"id": "l4", "text": "I like tea.", "source": "user-stated"}'),
    'inserted',
    'the principal may say anything'
);
select is(
    stories.put('{"id": "l5", "text": "Likes tea.", "source": "user-stated"}'),
    'inserted',
    'and bring the fact itself back'
);
select is(
    stories.put('{"id": "l6", "text": "likes tea", "source": "extracted"}'),
    'inserted',
    'for good'
);

select isnt_empty(
    'select * from strongroom.memory_tombstones where tenant_id = ''acme''',
    'tombstones are left'
);
select is_empty(
    $$ select * from strongroom.memory_tombstones as t where t::text ~* 'tea|rain|lost|fact' $$,
    'in which nothing can be read'
);
select is(
    (
        select count(distinct t.digest)
        from strongroom.memory_tombstones as t
        where t.tenant_id = 'acme'
    ),
    (
        select count(*)
        from strongroom.memory_tombstones as t
        where t.tenant_id = 'acme'
    ),
    'the same fact has another digest for everybody'
);

-- The whole memory.

select results_eq(
    'select f.forgotten, f.generation from strongroom.forget_memories(''acme'', ''bob'') as f',
    'values (1::bigint, 1::bigint)',
    'forgetting everything says how much it was'
);
select results_eq(
    'select f.forgotten, f.generation from strongroom.forget_memories(''acme'', ''bob'') as f',
    'values (0::bigint, 2::bigint)',
    'a second time there is nothing'
);
select is(
    stories.put('{"text": "Hates snow.", "source": "extracted", "key": "k"}', 'bob'),
    'forgotten',
    'the key of a forgotten fact takes no extraction'
);
select is(
    (
        select m.outcome
        from strongroom.put_memory(
            'acme', 'bob', '{"text": "Hates snow.", "source": "user-stated"}', p_generation => 1
        ) as m
    ),
    'forgotten',
    'nor is anything stored that was prepared before'
);

-- Users.

select stories.become_user('bob', 'acme');
select is(
    stories.outcome('select * from strongroom.memory_tombstones'),
    '42501',
    'tombstones are not for users'
);
select is(
    stories.outcome('select * from strongroom.memories'),
    '0 rows',
    'a user sees nothing of what others are remembered by'
);
select is(
    stories.outcome('select * from strongroom.memory_settings'),
    '1 row',
    'and their own settings'
);
select is(
    stories.message_of(
        'select * from strongroom.put_memory(''acme'', ''ada'','
        ' ''{"text": "Likes bob.", "source": "user-stated"}'')'
    ),
    'a user changes only their own memory',
    'a user states nothing about others'
);
select is(
    stories.message_of(
        'select * from strongroom.put_memory(''acme'', ''bob'','
        ' ''{"text": "Likes ada.", "source": "extracted"}'')'
    ),
    'fact.source: a user states facts, with source user-stated and no run',
    'and extracts nothing'
);
select is(
    stories.put('{"text": "Likes ada.", "source": "user-stated"}', 'bob'),
    'inserted',
    'but states what is theirs'
);
select is(stories.found('ada', 'bob'), (
    select array_agg(m.id) from strongroom.memories as m
), 'and finds it');
select is(stories.found('rain', 'ada'), '{}', 'and nothing of others');
select stories.become_user('ada', 'globex');
select is(
    (
        select array_agg(m.tenant_id || ' ' || m.principal_id)
        from strongroom.memories as m
    ),
    '{globex ada}',
    'the same person is somebody else in another tenant'
);

select * from finish();
rollback;
