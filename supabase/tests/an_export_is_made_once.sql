-- A version of an artifact is exported to a format once: one exporter has the newest claim, another
-- takes over when its lease has ended, and only the newest claim ends it.
begin;
\ir support/stories.psql
select plan(11);
select stories.found_a_world();
create table stories.claims (name text, token bigint);
grant select, insert on stories.claims to public;
select stories.become_host();

select is(
    (
        select c.outcome || ' ' || c.worker_id
        from strongroom.claim_artifact_export(
            'acme', 'open-artifact', 1, 'pdf', 'second', 600
        ) as c
    ),
    'already_claimed worker',
    'while a lease holds, another exporter gets nothing'
);
select is(
    (
        select c.outcome
        from strongroom.claim_artifact_export('acme', 'open-artifact', 1, 'docx', 'second') as c
    ),
    'claimed',
    'another format is another export'
);
select is(
    stories.outcome(
        'select * from strongroom.claim_artifact_export(''acme'', ''open-artifact'', 2, ''pdf'','
        ' ''second'')'
    ),
    'SR010',
    'of a version that is there'
);
insert into stories.claims (name, token)
select
    'short',
    c.claim_token
from strongroom.claim_artifact_export('acme', 'open-artifact', 1, 'txt', 'slow', 1e-6) as c;
insert into stories.claims (name, token)
select
    'taken over',
    c.claim_token
from strongroom.claim_artifact_export('acme', 'open-artifact', 1, 'txt', 'quick', 600) as c;
select ok(
    (select max(c.token) filter (where c.name = 'taken over') from stories.claims as c)
    > (select max(c.token) filter (where c.name = 'short') from stories.claims as c),
    'when the lease has ended, another takes over with a higher token'
);
select is(
    stories.outcome(
        format(
            'select * from strongroom.finish_artifact_export(''acme'', ''open-artifact'', 1,'
            ' ''txt'', %s, ''key'', repeat(''0'', 64), 3)',
            c.token
        )
    ),
    case c.name when 'short' then 'SR031' else '1 row' end,
    format('finishing with the claim that is %s', c.name)
)
from stories.claims as c
order by c.token;
select is(
    (
        select c.outcome || ' ' || c.blob_key
        from strongroom.claim_artifact_export('acme', 'open-artifact', 1, 'txt', 'third') as c
    ),
    'already_finished key',
    'a finished one is not made again'
);
select is(
    stories.outcome(
        format(
            'select * from strongroom.fail_artifact_export(''acme'', ''open-artifact'', 1, ''txt'','
            ' %s, ''{}'')',
            c.token
        )
    ),
    'SR030',
    'and does not fail afterwards'
)
from stories.claims as c
where c.name = 'taken over';

select stories.become_user('cleo', 'acme');
select is(
    stories.outcome(
        'select * from strongroom.claim_artifact_export(''acme'', ''open-artifact'', 1, ''odt'','
        ' ''cleo'')'
    ),
    '42501',
    'a user claims nothing'
);
select is(
    (
        select e.status
        from strongroom.find_artifact_export('acme', 'open-artifact', 1, 'txt') as e
    ),
    'finished',
    'but reads how it stands'
);
select is(
    stories.outcome(
        'select * from strongroom.find_artifact_export(''acme'', ''private-artifact'', 1, ''pdf'')'
    ),
    'SR010',
    'of what they may read'
);

select * from finish();
rollback;
