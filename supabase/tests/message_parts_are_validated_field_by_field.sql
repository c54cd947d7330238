-- Each of the 13 part types is checked by the database, for every field: wrong type, missing, too
-- long, unknown. The refusal names the part's index and the field.
begin;
\ir support/stories.psql

-- The fields of each type, in words that this file checks by itself: kind is what a field holds.
create table stories.fields (part_type text, field text, kind text, is_required boolean);
insert into stories.fields (part_type, field, kind, is_required)
values
    ('text', 'text', 'text', true),
    ('reasoning', 'text', 'text', true),
    ('tool-call', 'tool_call_id', 'id', true),
    ('tool-call', 'tool_name', 'id', true),
    ('tool-call', 'input', 'json', true),
    ('tool-result', 'tool_call_id', 'id', true),
    ('tool-result', 'tool_name', 'id', true),
    ('tool-result', 'output', 'json', true),
    ('tool-result', 'is_error', 'boolean', false),
    ('question', 'question_id', 'id', true),
    ('question', 'text', 'text', true),
    ('question', 'options', 'texts', false),
    ('approval', 'approval_id', 'id', true),
    ('approval', 'tool_call_id', 'id', true),
    ('approval', 'tool_name', 'id', true),
    ('approval', 'input', 'json', true),
    ('approval', 'decision', 'decision', false),
    ('file', 'media_type', 'id', true),
    ('file', 'file_id', 'id', false),
    ('file', 'url', 'url', false),
    ('file', 'name', 'id', false),
    ('file', 'size_bytes', 'count', false),
    ('image', 'media_type', 'id', true),
    ('image', 'file_id', 'id', false),
    ('image', 'url', 'url', false),
    ('image', 'alt', 'text', false),
    ('image', 'width', 'count', false),
    ('image', 'height', 'count', false),
    ('citation', 'source_id', 'id', true),
    ('citation', 'quote', 'text', false),
    ('citation', 'locator', 'text', false),
    ('citation', 'start', 'count', false),
    ('citation', 'end', 'count', false),
    ('source', 'source_id', 'id', true),
    ('source', 'source_type', 'id', true),
    ('source', 'title', 'text', false),
    ('source', 'url', 'url', false),
    ('artifact', 'artifact_id', 'id', true),
    ('artifact', 'version', 'version', true),
    ('artifact', 'title', 'text', false),
    ('artifact', 'media_type', 'id', false),
    ('status', 'status', 'id', true),
    ('status', 'text', 'text', false),
    ('error', 'code', 'id', true),
    ('error', 'message', 'text', true),
    ('error', 'retryable', 'boolean', false),
    ('error', 'detail', 'json', false);

create table stories.samples (kind text, value jsonb, is_sound boolean);
insert into stories.samples (kind, value, is_sound)
values
    ('text', '""', true),
    ('text', '"Zürich 🦆 שלום"', true),
    ('text', to_jsonb(repeat('x', 70000)), true),
    ('text', '7', false),
    ('text', 'true', false),
    ('text', '{}', false),
    ('text', '["x"]', false),
    ('id', '"x"', true),
    ('id', to_jsonb(repeat('é', 255)), true),
    ('id', '""', false),
    ('id', to_jsonb(repeat('x', 256)), false),
    ('id', '7', false),
    ('id', '["x"]', false),
    ('url', '"https://example.org/a?b=c"', true),
    ('url', to_jsonb(repeat('x', 8192)), true),
    ('url', '""', false),
    ('url', to_jsonb(repeat('x', 8193)), false),
    ('url', '7', false),
    ('boolean', 'true', true),
    ('boolean', 'false', true),
    ('boolean', '"true"', false),
    ('boolean', '0', false),
    ('count', '0', true),
    ('count', '9007199254740991', true),
    ('count', '9007199254740992', false),
    ('count', '-1', false),
    ('count', '1.5', false),
    ('count', '1.0', false),
    ('count', '"1"', false),
    ('count', '[1]', false),
    ('version', '1', true),
    ('version', '0', false),
    ('version', '1.5', false),
    ('version', '1.0', false),
    ('version', '"1"', false),
    ('texts', '[]', true),
    ('texts', '["yes", "no", ""]', true),
    ('texts', '"yes"', false),
    ('texts', '["yes", 7]', false),
    ('texts', '[["yes"]]', false),
    ('texts', '{"yes": "no"}', false),
    ('decision', '"pending"', true),
    ('decision', '"allow-once"', true),
    ('decision', '"allow-conversation"', true),
    ('decision', '"allow-always"', true),
    ('decision', '"deny"', true),
    ('decision', '"maybe"', false),
    ('decision', '""', false),
    ('decision', 'true', false),
    ('json', 'null', true),
    ('json', '7', true),
    ('json', '[1, {"a": null}]', true),
    ('json', '"x"', true);

-- A part of this type with all its fields, or with the required ones only.
create function stories.part(p_type text, p_whole boolean default true)
returns jsonb
language sql
as $$
    select jsonb_build_object('type', p_type, 'schema_version', 1) || jsonb_object_agg(
        f.field,
        case f.kind
            when 'boolean' then 'true'
            when 'count' then '7'
            when 'version' then '1'
            when 'texts' then '["yes"]'
            when 'decision' then '"deny"'
            else '"x"'
        end::jsonb
    )
    from stories.fields as f
    where f.part_type = p_type
        and (p_whole or f.is_required or (f.field = 'file_id' and p_type in ('file', 'image')))
$$;

-- What the database says to a second part like this: null, or code and message.
create function stories.verdict(p_part jsonb)
returns text
language plpgsql
as $$
begin
    perform strongroom_private.check_parts(
        jsonb_build_array('{"type": "text", "schema_version": 1, "text": "first"}'::jsonb, p_part)
    );
    return null;
exception
    when others then
        return sqlstate || ' ' || sqlerrm;
end
$$;

select plan(
    (
        select count(*)::integer
        from stories.fields as f
        inner join stories.samples as s on s.kind = f.kind
    )
    + (select 2 * count(*)::integer from stories.fields)
    + 13 * 16
    + 18
);

select is(
    (select count(distinct f.part_type) from stories.fields as f),
    13::bigint,
    'there are 13 part types'
);

-- Whole parts

select is(
    stories.verdict(stories.part(t, true)),
    null,
    format('%s with all its fields is sound', t)
)
from (select distinct f.part_type from stories.fields as f) as types (t);
select is(
    stories.verdict(stories.part(t, false)),
    null,
    format('%s with only its required fields is sound', t)
)
from (select distinct f.part_type from stories.fields as f) as types (t);
select is(
    stories.verdict(stories.part(t) || '{"colour": "red"}'),
    'SR001 parts[1].colour is not a field of this part type',
    format('%s has no unknown field', t)
)
from (select distinct f.part_type from stories.fields as f) as types (t);
select is(
    stories.verdict(stories.part(t) - 'schema_version'),
    'SR001 parts[1].schema_version must be 1',
    format('%s has a schema_version', t)
)
from (select distinct f.part_type from stories.fields as f) as types (t);
select is(
    stories.verdict(stories.part(t) || format('{"schema_version": %s}', v.version)::jsonb),
    'SR001 parts[1].schema_version must be 1',
    format('%s has no schema_version %s', t, v.version)
)
from (select distinct f.part_type from stories.fields as f) as types (t)
cross join (
    values ('2'), ('"1"'), ('null'), ('1.0'), ('true')
) as v (version);
select is(
    stories.verdict(stories.part(t) || format('{"provider_metadata": %s}', v.metadata)::jsonb),
    v.verdict,
    format('%s with provider_metadata %s', t, v.metadata)
)
from (select distinct f.part_type from stories.fields as f) as types (t)
cross join (
    values
        ('null', null),
        ('{"openai": {"id": 7}}', null),
        (
            '{"openai": 7}',
            'SR001 parts[1].provider_metadata must be an object with one object per provider'
        ),
        (
            '[]',
            'SR001 parts[1].provider_metadata must be an object with one object per provider'
        ),
        (
            '"openai"',
            'SR001 parts[1].provider_metadata must be an object with one object per provider'
        ),
        (
            '{"": {}}',
            'SR001 parts[1].provider_metadata must be an object with one object per provider'
        ),
        (
            '{"openai": {}, "other": [{}]}',
            'SR001 parts[1].provider_metadata must be an object with one object per provider'
        )
) as v (metadata, verdict);

-- Field by field

select is(
    stories.verdict(
        stories.part(f.part_type) - f.field
        - case when f.field = 'file_id' then 'url' when f.field = 'url' then 'file_id' else '' end
    ),
    case
        when f.is_required then format('SR001 parts[1].%s is required', f.field)
        when f.field in ('file_id', 'url') and f.part_type in ('file', 'image')
        then 'SR001 parts[1].file_id or url is required'
    end,
    format('%s without %s', f.part_type, f.field)
)
from stories.fields as f;
select is(
    stories.verdict(
        (stories.part(f.part_type) || jsonb_build_object(f.field, null))
        - case when f.field = 'file_id' then 'url' when f.field = 'url' then 'file_id' else '' end
    ),
    case
        when f.kind = 'json' then null
        when f.kind = 'boolean' then format('SR001 parts[1].%s must be true or false', f.field)
        when f.kind = 'decision'
        then 'SR001 parts[1].decision must be pending, allow-once, allow-conversation,'
            ' allow-always or deny'
        when f.is_required then format('SR001 parts[1].%s is required', f.field)
        when f.field in ('file_id', 'url') and f.part_type in ('file', 'image')
        then 'SR001 parts[1].file_id or url is required'
    end,
    format('%s with %s null', f.part_type, f.field)
)
from stories.fields as f;
select case
    when s.is_sound then is(
        stories.verdict(stories.part(f.part_type) || jsonb_build_object(f.field, s.value)),
        null,
        format('%s.%s takes %s', f.part_type, f.field, left(s.value::text, 40))
    )
    else alike(
        stories.verdict(stories.part(f.part_type) || jsonb_build_object(f.field, s.value)),
        format(
            '%s parts[1].%s %%',
            case when length(s.value::text) > 255 then 'SR004' else 'SR001' end,
            f.field
        ),
        format('%s.%s refuses %s', f.part_type, f.field, left(s.value::text, 40))
    )
end
from stories.fields as f
inner join stories.samples as s on s.kind = f.kind;

-- Lists of parts

select is(
    stories.message_of(format('select strongroom_private.check_parts(%L)', v.parts)),
    v.message,
    format('parts: %s', coalesce(v.parts, 'null'))
)
from (
    values
        (null, 'parts must be a list of at least one part'),
        ('[]', 'parts must be a list of at least one part'),
        ('{}', 'parts must be a list of at least one part'),
        ('"text"', 'parts must be a list of at least one part'),
        ('[7]', 'parts[0] must be a JSON object'),
        ('[null]', 'parts[0] must be a JSON object'),
        ('[[]]', 'parts[0] must be a JSON object'),
        ('[{}]', 'parts[0].type is not a known part type'),
        ('[{"type": "smell"}]', 'parts[0].type is not a known part type'),
        ('[{"type": null}]', 'parts[0].type is not a known part type'),
        ('[{"type": ["text"]}]', 'parts[0].type is not a known part type')
) as v (parts, message);
select alike(
    stories.message_of(
        format(
            'select strongroom_private.check_parts(%L)',
            jsonb_build_array(
                jsonb_build_object(
                    'type', 'text', 'schema_version', 1, 'text', repeat('x', 1048576)
                )
            )
        )
    ),
    'parts is larger than 1 MiB%',
    'a message has at most 1 MiB'
);

-- In a batch, the refusal names the message as well, and nothing is written.

select stories.found_a_world();
select stories.become_host();
select is(
    stories.message_of(
        format(
            'select strongroom.append_messages(''acme'', ''open'', %L)',
            jsonb_build_array(
                stories.text_message('n1', 'fine'),
                stories.text_message('n2', 'fine') || '{"parts": [
                    {"type": "text", "schema_version": 1, "text": "fine"},
                    {"type": "tool-call", "schema_version": 1, "tool_call_id": "c",
                        "tool_name": 7, "input": null}
                ]}'
            )
        )
    ),
    'messages[1].parts[1].tool_name must be a text of 1 to 255 characters',
    'a batch names the message, the part and the field'
);
select is_empty(
    $$ select * from strongroom.find_message('acme', 'n1') $$,
    'and nothing of it is written'
);
select results_eq(
    $$
        select p.part_index, p.type
        from strongroom.message_parts as p
        where p.tenant_id = 'acme'
            and p.message_id = 'open-1'
    $$,
    $$ values (0::bigint, 'text') $$,
    'sound parts stand in the view message_parts, numbered from 0'
);
select is(
    (
        select a.outcome
        from strongroom.append_messages(
            'acme',
            'open',
            jsonb_build_array(stories.text_message('n3', E'Zürich 🦆\n\ttab "q" \\'))
        ) as a
    ),
    'inserted',
    'text of any script is taken'
);
select is(
    (select m.parts -> 0 ->> 'text' from strongroom.find_message('acme', 'n3') as m),
    E'Zürich 🦆\n\ttab "q" \\',
    'text comes back as it was written'
);

select * from finish();
rollback;
