-- Every table of tenants says what erasing a person does to it, and every column that may name a
-- person does so itself; whatever is forgotten is found. Only erasure changes history, and the
-- setting that it uses is worth nothing in anybody else's hands.
begin;
\ir support/stories.psql
select plan(19);
set local client_min_messages = warning;
select stories.found_a_world();

select is_empty(
    'select * from strongroom_private.list_erasure_gaps()',
    'nothing is forgotten'
);
select set_eq(
    'select distinct r.table_name from strongroom_private.erasure_rules as r',
    'select t from stories.tables() as t',
    'the rules are about the tables of tenants, all of them'
);

-- What finish_migration and diagnose() find.

create table strongroom.notes (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    written_by text not null,
    reader_id text,
    primary key (tenant_id, id)
);
select results_eq(
    'select g.* from strongroom_private.list_erasure_gaps() as g order by 2',
    $$
        values
            ('strongroom.notes', '', 'has no erasure rule'),
            ('strongroom.notes', 'written_by', 'may name a person and has no erasure rule')
    $$,
    'a table without rules'
);
select set_has(
    'select d.check_name, d.object_name, d.problem from strongroom.diagnose() as d',
    $$ values ('erasure', 'strongroom.notes', 'has no erasure rule') $$,
    'diagnose() finds it, too'
);
select strongroom_private.publish_erasure_rule('strongroom.notes', '', 'keep', 'Notes.');
select results_eq(
    'select g.column_name, g.problem from strongroom_private.list_erasure_gaps() as g',
    $$ values ('written_by', 'may name a person and has no erasure rule') $$,
    'a rule for the table is none for the column'
);

create table stories.rules (
    column_name text, action text, handler text, problem text, ordinal integer
);
insert into stories.rules (column_name, action, handler, problem, ordinal)
values
    ('written_by', 'clear', null, 'is to be cleared, and may not be null', 1),
    ('reader_id', 'clear', null, 'is erased by clear, which no policy allows the owner', 2),
    ('written_by', 'delete', null, 'is erased by delete, which no policy allows the owner', 3),
    (
        'written_by', 'handle', 'strongroom_private.digest',
        'is erased by strongroom_private.digest(text, text), which is not there', 4
    ),
    ('author_id', 'delete', null, 'has an erasure rule, and is no column', 5);
create function stories.gap_of(p_rule stories.rules)
returns text
language plpgsql
as $$
declare
    v_problem text;
begin
    perform strongroom_private.publish_erasure_rule(
        'strongroom.notes', p_rule.column_name, p_rule.action, 'x', p_rule.handler
    );
    select g.problem
    into v_problem
    from strongroom_private.list_erasure_gaps() as g
    where g.column_name = p_rule.column_name;
    delete from strongroom_private.erasure_rules as r
    where r.table_name = 'strongroom.notes'
        and r.column_name <> '';
    return v_problem;
end
$$;
select is(stories.gap_of(r), r.problem, format('a rule that cannot work: %s', r.problem))
from stories.rules as r
order by r.ordinal;
select is(
    stories.constraint_of(
        'select strongroom_private.publish_erasure_rule('
        '''strongroom.locks'', ''owner_id'', ''keep'', '''')'
    ),
    'strongroom_private.erasure_rules: a_rule_says_why',
    'a rule is made once, and says why'
);
drop table strongroom.notes;
select results_eq(
    'select g.problem from strongroom_private.list_erasure_gaps() as g',
    $$ values ('has an erasure rule, and is no table of tenants') $$,
    'a rule for what is gone'
);
delete from strongroom_private.erasure_rules as r
where r.table_name = 'strongroom.notes';

-- The setting counts with the owner's rights alone, and then for what erasure does and no more.

select stories.become_host('acme');
select set_config('strongroom.erasing', 'on', true);
select ok(not strongroom_private.is_erasing(), 'a host that sets the setting is not erasing');
select is(
    stories.outcome('delete from strongroom.topic_events where true'),
    'SR020',
    'and deletes no event'
);
select is(
    stories.outcome('update strongroom.messages set author_id = null where true'),
    '42501',
    'and changes no message'
);
select stories.become(n.nspowner::regrole::text, '', 'acme')
from pg_namespace as n
where n.nspname = 'strongroom';
select ok(strongroom_private.is_erasing(), 'the owner is');
select is(
    stories.outcome('update strongroom.messages set role = ''system'' where tenant_id = ''acme'''),
    'SR020',
    'also erasure changes nothing but what it must'
);
-- Where row security binds the owner, no policy shows it the rows.
select matches(
    stories.outcome('update strongroom.run_events set data = ''{}'' where tenant_id = ''acme'''),
    '^(SR020|0 rows)$',
    'and where it must not, nothing'
);
select is(
    stories.outcome(
        'update strongroom.messages set metadata = ''{}'' where tenant_id = ''acme'''
        ' and conversation_id = ''private'''
    ),
    '2 rows',
    'the words of a message may go'
);

select * from finish();
rollback;
