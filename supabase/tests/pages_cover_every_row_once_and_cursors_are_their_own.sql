-- Pages follow one another without gap or repetition, forward and backward, also among rows of the
-- same instant; a cursor works only for the list, filter and direction that gave it.
begin;
\ir support/stories.psql
select plan(43);
select stories.found_a_world();

-- Each list by a call that takes limit, after, before and direction, and the key of a row.
create table stories.lists (name text, call text, key text);
insert into stories.lists (name, call, key)
values
    ('conversations', 'strongroom.list_conversations(''acme'', %s, %L, %L, %L)', 'id'),
    ('members', 'strongroom.list_members(''acme'', %s, %L, %L, %L)', 'principal_id'),
    ('messages', 'strongroom.list_messages(''acme'', ''open'', %s, %L, %L, %L)', 'id'),
    ('summaries', 'strongroom.list_thread_summaries(''acme'', ''open'', %s, %L, %L, %L)', 'id');
grant select on stories.lists to public;

create function stories.walk(
    p_list stories.lists,
    p_limit integer,
    p_direction text,
    p_from text default null,
    p_back boolean default false
)
returns text[]
language plpgsql
as $$
declare
    v_keys text[] := '{}';
    v_page text[];
    v_cursors text[];
    v_more boolean;
    v_cursor text := p_from;
begin
    loop
        execute format(
            'select array_agg(l.%I::text), array_agg(l.cursor), bool_and(l.has_more) from %s as l',
            p_list.key,
            format(
                p_list.call,
                p_limit,
                case when not p_back then v_cursor end,
                case when p_back then v_cursor end,
                p_direction
            )
        )
        into v_page, v_cursors, v_more;
        exit when v_page is null;
        if p_back then
            v_keys := v_page || v_keys;
            v_cursor := v_cursors[1];
        else
            v_keys := v_keys || v_page;
            v_cursor := v_cursors[cardinality(v_cursors)];
        end if;
        exit when not v_more;
    end loop;
    return v_keys;
end
$$;

create function stories.last_cursor(p_list stories.lists, p_direction text default 'forward')
returns text
language plpgsql
as $$
declare
    v_cursors text[];
begin
    execute format(
        'select array_agg(l.cursor) from %s as l',
        format(p_list.call, 500, null, null, p_direction)
    )
    into v_cursors;
    return v_cursors[cardinality(v_cursors)];
end
$$;

-- Seven or more rows of one instant in each list: a transaction has one now().
select stories.become_host();
select is(
    (
        select count(*)
        from generate_series(1, 7) as i
        cross join lateral strongroom.create_conversation('acme', 'ada', 'c' || i)
        cross join lateral strongroom.add_member('acme', 'p' || i)
        cross join lateral strongroom.append_messages(
            'acme', 'open', jsonb_build_array(stories.text_message('x' || i, 'x'))
        )
    ),
    7::bigint,
    'many rows of one instant'
);
select is(
    (
        select count(*)
        from generate_series(1, 7) as i
        cross join lateral strongroom.append_thread_summary('acme', 'open', 'x', 2, 's' || i)
    ),
    7::bigint,
    'and summaries'
);

select is(
    stories.walk(l, w.size, 'forward'),
    stories.walk(l, 500, 'forward'),
    format('%s: pages of %s are the whole list', l.name, w.size)
)
from stories.lists as l
cross join (
    values (1), (2), (3)
) as w (size);
select is(
    stories.walk(l, 2, 'backward'),
    (
        select array_agg(k.key order by k.place desc)
        from unnest(stories.walk(l, 2, 'forward')) with ordinality as k (key, place)
    ),
    format('%s: backward is the exact reverse', l.name)
)
from stories.lists as l;
select is(
    stories.walk(l, 2, 'forward', stories.last_cursor(l), true),
    (stories.walk(l, 500, 'forward'))[
        1:cardinality(stories.walk(l, 500, 'forward')) - 1
    ],
    format('%s: paging back from the end comes to the beginning', l.name)
)
from stories.lists as l;

-- Cursors

select is(
    stories.outcome('select * from ' || format(l.call, 2, c.cursor, null, c.direction)),
    'SR002',
    format('%s: %s', l.name, c.meaning)
)
from stories.lists as l
cross join lateral (
    values
        ('', 'forward', 'an empty cursor is refused'),
        ('nonsense', 'forward', 'a made-up cursor is refused'),
        (stories.last_cursor(l), 'backward', 'a cursor of the other direction is refused'),
        (left(stories.last_cursor(l), -1), 'forward', 'a cursor that is cut off is refused'),
        (
            overlay(stories.last_cursor(l) placing 'A' from 30 for 1),
            'forward',
            'a cursor with a changed letter is refused'
        )
) as c (cursor, direction, meaning)
where c.meaning <> 'a cursor that is cut off is refused' or l.name = 'messages';

-- Arguments

select is(
    stories.outcome(format('select * from strongroom.list_conversations(''acme'', %s)', a.limits)),
    a.outcome,
    format('a limit of %s', a.limits)
)
from (
    values ('0', 'SR001'), ('-1', 'SR001'), ('null', 'SR001'), ('501', 'SR004')
) as a (limits, outcome);

select * from finish();
rollback;
