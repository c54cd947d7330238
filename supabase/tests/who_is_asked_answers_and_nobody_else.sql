-- A question or approval is answered by its addressee, or where it has none by the conversation's
-- owner and participants; everybody else is refused, and who cannot read it learns nothing of it.
begin;
\ir support/stories.psql
select plan(17);
select stories.found_a_world();
create function stories.answers(p_interaction text, p_as text)
returns text
language sql
as $$
    select stories.outcome(
        format(
            'select * from strongroom.answer_question(''acme'', %L, ''"yes"'', %L)',
            p_interaction, p_as
        )
    )
$$;
create function stories.decides(p_interaction text, p_decision text, p_as text)
returns text
language sql
as $$
    select stories.outcome(
        format(
            'select * from strongroom.decide_approval(''acme'', %L, %L, %L)',
            p_interaction, p_decision, p_as
        )
    )
$$;

select stories.become_host('acme');
select strongroom.create_run('acme', 'shared', 'next');
select strongroom.finish_run('acme', 'shared-run', r.claim_token, 'completed')
from strongroom.find_run('acme', 'shared-run') as r;
select strongroom.claim_run('acme', 'next', 'worker', 600);
select strongroom.create_interaction(
    'acme', 'next', c.claim_token, i.kind, i.id, i.addressee_id,
    p_prompt => case i.kind when 'question' then 'Which?' end,
    p_tool_name => case i.kind when 'approval' then 'refund' end,
    p_input => case i.kind when 'approval' then '{}'::jsonb end
)
from strongroom.find_run('acme', 'next') as c
cross join (
    values
        ('question', 'q-bob', 'bob'),
        ('question', 'q-all', null),
        ('approval', 'a-bob', 'bob'),
        ('approval', 'a-all', null)
) as i (kind, id, addressee_id);

select stories.become_user('ada', 'acme');
select is(stories.answers('q-bob', 'ada'), 'SR020', 'the owner is not the addressee');
select is(stories.answers('q-bob', 'bob'), 'SR020', 'and cannot answer in his name');
select is(stories.decides('a-bob', 'deny', 'ada'), 'SR020', 'nor decide');
select is(
    stories.message_of(
        'select strongroom.answer_question(''acme'', ''q-bob'', ''1'', ''ada'')'
    ),
    'the signed-in user is not the one who is asked',
    'and is told so'
);
select stories.become_user('cleo', 'acme');
select is(
    stories.message_of(
        'select strongroom.answer_question(''acme'', ''q-all'', ''1'', ''cleo'')'
    ),
    stories.message_of(
        'select strongroom.answer_question(''acme'', ''none'', ''1'', ''cleo'')'
    ),
    'to who cannot read the conversation, the question is absent'
);
select is(stories.decides('a-all', 'allow-once', 'cleo'), 'SR010', 'and so is the approval');
select stories.become_user('bob', 'globex');
select is(stories.answers('q-bob', 'bob'), 'SR021', 'another tenant''s bob is another');
select stories.become_user('bob', 'acme');
select is(stories.answers('q-bob', 'bob'), '1 row', 'the addressee answers');
select is(
    stories.decides('a-bob', 'allow-always', 'bob'),
    'SR020',
    'but allows nothing in the owner''s other conversations'
);
select is(stories.decides('a-bob', 'allow-once', 'bob'), '1 row', 'and decides');
select is(
    (
        select i.resolved_by || ' ' || i.decision
        from strongroom.interactions as i
        where i.id = 'a-bob'
    ),
    'bob allow-once',
    'as himself'
);
select is(stories.answers('q-all', 'bob'), '1 row', 'where nobody is named, a participant may');
select stories.become_user('ada', 'acme');
select is(stories.decides('a-all', 'allow-always', 'ada'), '1 row', 'and the owner, for always');
select is(
    (
        select g.principal_id
        from strongroom.approval_grants as g
        where g.id = 'a-all'
    ),
    'ada',
    'which mints a grant'
);
select is(
    (
        select r.outcome
        from strongroom.answer_question('acme', 'q-all', '"no"', 'ada') as r
    ),
    'already_resolved',
    'a second answer changes nothing'
);
select stories.become_host('acme');
select is(
    (select count(*) from strongroom.list_audit_events('acme') as e
    where e.action = 'approval.decide' and e.record_id = 'a-bob' and e.actor_id = 'bob'),
    1::bigint,
    'the audit knows who decided'
);
select stories.become_anonymous('{"sub": "bob", "app_metadata": {"tenant_id": "acme"}}');
select is(stories.answers('q-bob', 'bob'), '42501', 'nobody else may call it at all');

select * from finish();
rollback;
