-- A create carries its id, so that it can be repeated when the answer was lost: the same content is
-- a duplicate, other content is refused. Updates name the version that was read.
begin;
\ir support/stories.psql
select plan(30);
select stories.found_a_world();
select stories.become_host();

select is(
    (select c.outcome from strongroom.create_tenant('new', 'New', '{"a": 1, "b": 2}') as c),
    'inserted',
    'a tenant is created'
);
select is(
    (select c.outcome from strongroom.create_tenant('new', 'New', '{"b": 2, "a": 1}') as c),
    'duplicate',
    'a repeat is a duplicate, whatever the order of keys'
);
select is(
    stories.outcome('select strongroom.create_tenant(''new'', ''Other'')'),
    'SR011',
    'other content is refused'
);
select is(
    (select m.outcome from strongroom.add_member('new', 'ada', '{admin}', 'm') as m),
    'inserted',
    'a member is added'
);
select is(
    (select m.outcome from strongroom.add_member('new', 'ada', '{admin}', 'm') as m),
    'duplicate',
    'a repeat is a duplicate'
);
select is(
    stories.outcome(format('select strongroom.add_member(''new'', %s)', m.arguments)),
    'SR011',
    format('nobody is a member twice: %s', m.arguments)
)
from (
    values
        ('''ada'', ''{}'', ''m'''),
        ('''ada'', ''{admin}'', ''n'''),
        ('''ada'''),
        ('''bob'', ''{admin}'', ''m''')
) as m (arguments);
select is(
    (
        select c.outcome
        from strongroom.create_conversation(
            'new', 'ada', 'c', 'Title', 'ref', p_participant_ids => '{x,y,x}'
        ) as c
    ),
    'inserted',
    'a conversation is created'
);
select is(
    (
        select c.outcome
        from strongroom.create_conversation(
            'new', 'ada', 'c', 'Title', 'ref', p_participant_ids => '{y,x}'
        ) as c
    ),
    'duplicate',
    'a repeat is a duplicate, whatever the order of participants'
);
select is(
    stories.message_of(format('select strongroom.create_conversation(''new'', %s)', c.arguments)),
    c.message,
    format('refused: %s', c.arguments)
)
from (
    values
        ('''bob'', ''c''', 'a conversation with this id was created with other content'),
        (
            '''ada'', ''d'', p_external_ref => ''ref''',
            'another conversation has this external_ref'
        ),
        ('''''', 'owner_id is required'),
        ('''ada'', ''''', 'conversation_id is required'),
        ('''ada'', p_visibility => ''public''', 'visibility must be one of: private, tenant'),
        ('''ada'', p_metadata => ''[]''', 'metadata must be a JSON object'),
        ('''ada'', p_participant_ids => ''{a,null}''', 'participant_ids[1] is required'),
        ('''ada'', p_participant_ids => null', 'participant_ids must be a plain list'),
        ('''ada'', p_agent_id => ''helper''', 'agent_policy must be one of: pinned, latest'),
        (
            '''ada'', p_agent_id => ''helper'', p_agent_policy => ''pinned''',
            'agent_version is needed when the policy is pinned, and only then; versions start at 1'
        ),
        (
            '''ada'', repeat(''x'', 256)',
            'conversation_id has 256 characters; at most 255 are allowed'
        )
) as c (arguments, message);

select is(
    (
        select c.version
        from strongroom.update_conversation('new', 'c', '{"title": "Two"}', 1, 'w') as c
    ),
    2::bigint,
    'an update names the version that was read'
);
select is(
    (
        select c.version
        from strongroom.update_conversation('new', 'c', '{"title": "Two"}', 1, 'w') as c
    ),
    2::bigint,
    'a repeat of the same write changes nothing'
);
select is(
    stories.outcome('select strongroom.update_conversation(''new'', ''c'', ''{}'', 1, ''v'')'),
    'SR012',
    'another write with the old version is refused'
);
select is(
    (
        select c.outcome
        from strongroom.create_conversation(
            'new', 'ada', 'c', 'Title', 'ref', p_participant_ids => '{x,y}'
        ) as c
    ),
    'duplicate',
    'a late repeat of the create is known even after changes'
);
select is(
    stories.message_of(
        'select strongroom.update_conversation(''new'', ''c'', ''{"owner": 1}'', 2)'
    ),
    'changes.owner is not a known field',
    'an unknown field is refused'
);
select is(
    (
        select format('%s %s', r.removed, s.removed)
        from strongroom.remove_member('new', 'ada') as r
        cross join strongroom.remove_member('new', 'nobody') as s
    ),
    't f',
    'removing says whether there was somebody'
);
select is(
    (select m.version from strongroom.set_member_roles('acme', 'ada', '{a,b}', 1) as m),
    2::bigint,
    'roles are set by version'
);
select is(
    stories.outcome('select strongroom.set_member_roles(''acme'', ''ada'', ''{}'', 1)'),
    'SR012',
    'and a stale version is refused'
);

select * from finish();
rollback;
