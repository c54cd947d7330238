-- strongroom 0001: foundation
--
-- Purpose     The ground that every other migration stands on: two schemas, the host role, who is
--             calling and for which tenant, typed errors, checks, cursors, grants as data, the
--             schema's own history, tenants, memberships and the audit.
-- Run it      In ONE transaction: `strongroom migrate apply`, `supabase db push`, or
--             `psql --single-transaction --set ON_ERROR_STOP=1 --file ...`. Anything else is
--             refused.
-- Needs       A database that the migrating role owns, or CREATE on it. No superuser, no BYPASSRLS,
--             no extension.
-- Two walls   1. Every function takes the tenant, and every predicate, key and foreign key has it.
--             2. Row security, enabled AND forced on every table. A policy asks two questions:
--                which tenant is bound (strongroom_private.current_tenant), and is the statement
--                run by trusted code (strongroom_private.is_trusted).
-- Who calls   host: strongroom_host and its members, Supabase's service_role, the schema's owner.
--             user: Supabase's authenticated; tenant and principal come from the JWT, never from
--             an argument. Everybody else is nobody, and sees and does nothing.
-- Locks       Migrations take one advisory lock that ends with their transaction, so no connection
--             pooler can orphan it. Writers share one of their tenant with each other, which
--             purging the tenant has alone. Functions of this file lock single rows only.

select set_config('strongroom.migrating', '1', true);
-- psql goes on after an error unless it is told to stop: then nothing more can be made by accident.
select set_config('default_transaction_read_only', 'on', false)
where current_setting('strongroom.migrating', true) is distinct from '1';

do $$
begin
    if current_setting('strongroom.migrating', true) is distinct from '1' then
        raise exception using
            errcode = 'SR041',
            message = 'strongroom 0001: the file is not being run in one transaction',
            detail = '{"version": 1}',
            hint = 'Use psql --single-transaction, strongroom migrate apply, or supabase db push.';
    end if;
    perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('strongroom.migrate', 0));
    if pg_catalog.to_regclass('strongroom.schema_history') is not null then
        raise exception using
            errcode = 'SR041',
            message = 'strongroom 0001 (foundation) is applied already',
            detail = '{"version": 1}',
            hint = 'Nothing to do. If `supabase db push` asked for it, tell its history with'
                ' `supabase migration repair --status applied`.';
    end if;
end
$$;

create schema strongroom;
comment on schema strongroom is
    'Everything an AI agent platform must remember: tables, and the functions that hosts,'
    ' end users and DBAs call.';

create schema strongroom_private;
comment on schema strongroom_private is
    'Helpers of strongroom. Never expose this schema through an API.';

-- The host role is a role of the whole server, so another database may have made it already, in
-- this very moment perhaps. A plain database owner may not make roles: then the owner itself is the
-- host, and strongroom_private.apply_grants() gives the role its rights when an administrator adds
-- it.
do $$
begin
    if pg_catalog.to_regrole('strongroom_host') is null then
        create role strongroom_host nologin;
    end if;
exception
    when insufficient_privilege then
        raise notice 'strongroom: this role may not create the role strongroom_host; the schema''s'
            ' owner is the only host until an administrator creates it and'
            ' strongroom_private.apply_grants() is run';
    when duplicate_object or unique_violation then
        null;
end
$$;


-- ---------------------------------------------------------------------------------------------
-- Errors
-- ---------------------------------------------------------------------------------------------
-- Invariant: every failure that strongroom raises has an SQLSTATE of class SR from this registry,
-- machine-readable fields as JSON in DETAIL, and what to do next in HINT.

create function strongroom_private.error_codes()
returns table (code text, name text, retryable boolean, meaning text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select
        v.code,
        v.name,
        v.retryable,
        v.meaning
    from (values
        ('SR001', 'invalid_argument', false, 'An argument has the wrong type or shape. Nothing was written.'),
        ('SR002', 'invalid_cursor', false, 'A cursor is damaged, or belongs to another list, filter or direction.'),
        ('SR003', 'invalid_text', false, 'A text holds a character that PostgreSQL cannot store: U+0000 or half of a surrogate pair.'),
        ('SR004', 'limit_exceeded', false, 'A value is larger than its documented limit. Nothing was cut and nothing was written.'),
        ('SR010', 'not_found', false, 'The record does not exist, is deleted, or may not be read by this caller.'),
        ('SR011', 'already_exists', false, 'Another record holds this id or unique name, with other content.'),
        ('SR012', 'version_conflict', false, 'The record has changed since the version that the caller read.'),
        ('SR020', 'permission_denied', false, 'This caller may not do this.'),
        ('SR021', 'tenant_mismatch', false, 'The tenant of the call is not the tenant of the caller''s claims or unit of work.'),
        ('SR030', 'invalid_transition', false, 'The record''s state does not allow this step.'),
        ('SR031', 'stale_claim', false, 'The claim token is no longer the record''s newest one: somebody else has taken over.'),
        ('SR040', 'missing_capability', false, 'This adapter or server lacks a capability that the call or an enabled feature needs.'),
        ('SR041', 'schema_version', false, 'The database''s strongroom schema is missing, older or newer than this package, or changed by hand.'),
        ('SR050', 'unavailable', true, 'The database cannot be reached, or did not answer in time. The call may be repeated.')
    ) as v (code, name, retryable, meaning)
$$;
comment on function strongroom_private.error_codes() is
    'The registry of SQLSTATEs that strongroom raises; the same as sql/errors.toml.';

create function strongroom_private.fail(
    p_name text,
    p_message text,
    p_detail jsonb,
    p_hint text
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_code text;
begin
    select e.code
    into strict v_code
    from strongroom_private.error_codes() as e
    where e.name = p_name;

    raise exception using
        errcode = v_code,
        message = p_message,
        detail = p_detail::text,
        hint = p_hint;
end
$$;
comment on function strongroom_private.fail(text, text, jsonb, text) is
    'Raise the error of this name from the registry. Every refusal of strongroom comes through'
    ' here.';


-- ---------------------------------------------------------------------------------------------
-- Checks of arguments
-- ---------------------------------------------------------------------------------------------
-- Each one names the field. They run before anything is written.

create function strongroom_private.check_name(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null or p_value = '' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s is required', p_field),
            jsonb_build_object('path', p_field),
            'Give a text of 1 to 255 characters.'
        );
    elsif char_length(p_value) > 255 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s characters; at most 255 are allowed', p_field, char_length(p_value)),
            jsonb_build_object('path', p_field, 'limit', 255, 'actual', char_length(p_value)),
            'Use a shorter text, for example a hash of the long one.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_name(text, text) is
    'A name that people read must be there and have 1 to 255 characters. Errors: SR001, SR004.';

create function strongroom_private.check_optional_name(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is not null then
        perform strongroom_private.check_name(p_field, p_value);
    end if;
end
$$;
comment on function strongroom_private.check_optional_name(text, text) is
    'A name that people read, which may be missing. Errors: SR001, SR004.';

create function strongroom_private.is_wide(p_value text)
returns boolean
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(octet_length(p_value), 0) <= 765 then
        return false;
    end if;
    return (
        select count(distinct c.letter) > 60
        from regexp_split_to_table(p_value, '') as c (letter)
    );
end
$$;
comment on function strongroom_private.is_wide(text) is
    'Whether three such texts do not fit into one entry of an index: more than 765 bytes, and of'
    ' too many different characters to become fewer by compression.';

create function strongroom_private.check_id(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null or p_value = '' or char_length(p_value) > 255 then
        perform strongroom_private.check_name(p_field, p_value);
    elsif strongroom_private.is_wide(p_value) then
        perform strongroom_private.fail(
            'limit_exceeded',
            format(
                '%s has %s bytes; with more than 60 different characters at most 765 are allowed',
                p_field, octet_length(p_value)
            ),
            jsonb_build_object('path', p_field, 'limit', 765, 'actual', octet_length(p_value)),
            'Use a shorter text, for example a hash of the long one.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_id(text, text) is
    'An id or key must be there, have 1 to 255 characters, and fit into an index (see is_wide).'
    ' Errors: SR001, SR004.';

create function strongroom_private.check_optional_id(p_field text, p_value text)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is not null then
        perform strongroom_private.check_id(p_field, p_value);
    end if;
end
$$;
comment on function strongroom_private.check_optional_id(text, text) is
    'An id or key that may be missing. Errors: SR001, SR004.';

create function strongroom_private.check_ids(p_field text, p_values text[])
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_values is null or array_ndims(p_values) > 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a plain list', p_field),
            jsonb_build_object('path', p_field),
            'Give a list of texts; an empty list is fine.'
        );
    end if;
    if cardinality(p_values) > 1000 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s entries; at most 1000 are allowed', p_field, cardinality(p_values)),
            jsonb_build_object('path', p_field, 'limit', 1000, 'actual', cardinality(p_values)),
            'Use a role or tenant-wide visibility for large groups.'
        );
    end if;
    for v_index in 1 .. cardinality(p_values) loop
        perform strongroom_private.check_id(
            format('%s[%s]', p_field, v_index - 1),
            p_values[v_index]
        );
    end loop;
end
$$;
comment on function strongroom_private.check_ids(text, text[]) is
    'A list of at most 1,000 ids. Errors: SR001, SR004.';

create function strongroom_private.check_choice(p_field text, p_value text, p_choices text[])
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_value is null or p_value <> all (p_choices) then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be one of: %s', p_field, array_to_string(p_choices, ', ')),
            jsonb_build_object('path', p_field, 'choices', p_choices, 'actual', p_value),
            'Use one of the listed values.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_choice(text, text, text[]) is
    'A value must be one of a closed list. Errors: SR001.';

create function strongroom_private.check_object(p_field text, p_value jsonb, p_limit_bytes integer)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_bytes integer;
begin
    if p_value is null or jsonb_typeof(p_value) <> 'object' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a JSON object', p_field),
            jsonb_build_object('path', p_field, 'actual', jsonb_typeof(p_value)),
            'Give an object; an empty one is fine.'
        );
    end if;
    v_bytes := octet_length(p_value::text);
    if v_bytes > p_limit_bytes then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('%s has %s bytes; at most %s are allowed', p_field, v_bytes, p_limit_bytes),
            jsonb_build_object('path', p_field, 'limit', p_limit_bytes, 'actual', v_bytes),
            'Keep large data in a file or artifact, and its id here.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_object(text, jsonb, integer) is
    'A JSON object of bounded size, counted in bytes of its text form. Errors: SR001, SR004.';

create function strongroom_private.check_text(p_field text, p_value jsonb)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(jsonb_typeof(p_value), 'null') not in ('string', 'null') then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a text', p_field),
            jsonb_build_object('path', p_field, 'actual', jsonb_typeof(p_value)),
            'Give a text, or null.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_text(text, jsonb) is
    'A field of an object must be a text or missing; a number is not taken for its digits. Errors:'
    ' SR001.';

create function strongroom_private.check_moment(p_field text, p_value timestamptz)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Infinity, and days that a client's calendar does not have in every time zone.
    if p_value not between '0001-01-02 00:00:00+00'::timestamptz
        and '9999-12-31 00:00:00+00'::timestamptz
    then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a moment from 0001-01-02 to 9999-12-31 00:00 UTC', p_field),
            jsonb_build_object('path', p_field, 'actual', p_value::text),
            'Leave it out for no limit.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_moment(text, timestamptz) is
    'A moment, where there is one, is a finite one. Errors: SR001.';

create function strongroom_private.find_moment(p_value jsonb)
returns timestamptz
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Without its distance from UTC it would be another moment in each session's time zone; and a
    -- cast also takes now, tomorrow and 1/2/2030.
    if jsonb_typeof(p_value) = 'string'
        and p_value #>> '{}' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]'
            '[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$'
    then
        return (p_value #>> '{}')::timestamptz;
    end if;
    return null;
exception
    when data_exception then
        return null;
end
$$;
comment on function strongroom_private.find_moment(jsonb) is
    'The moment that a JSON text names in ISO 8601 with its distance from UTC; null when it does'
    ' not.';

create function strongroom_private.check_limit(p_limit integer)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_limit is null or p_limit < 1 then
        perform strongroom_private.fail(
            'invalid_argument',
            'limit must be at least 1',
            jsonb_build_object('path', 'limit', 'actual', p_limit),
            'Ask for 1 to 500 rows and follow the cursor.'
        );
    elsif p_limit > 500 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('limit is %s; a page has at most 500 rows', p_limit),
            jsonb_build_object('path', 'limit', 'limit', 500, 'actual', p_limit),
            'Ask for 1 to 500 rows and follow the cursor.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_limit(integer) is
    'A page has 1 to 500 rows; a limit is refused, never clamped. Errors: SR001, SR004.';

create function strongroom_private.check_keys(p_field text, p_value jsonb, p_allowed text[])
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_key text;
begin
    if p_value is null or jsonb_typeof(p_value) <> 'object' then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s must be a JSON object', p_field),
            jsonb_build_object('path', p_field, 'actual', jsonb_typeof(p_value)),
            format('Give an object with any of: %s.', array_to_string(p_allowed, ', '))
        );
    end if;
    select k
    into v_key
    from jsonb_object_keys(p_value - p_allowed) as k
    order by k
    limit 1;
    if v_key is not null then
        perform strongroom_private.fail(
            'invalid_argument',
            format('%s.%s is not a known field', p_field, v_key),
            jsonb_build_object('path', format('%s.%s', p_field, v_key)),
            format('Known fields: %s.', array_to_string(p_allowed, ', '))
        );
    end if;
end
$$;
comment on function strongroom_private.check_keys(text, jsonb, text[]) is
    'An object may have no keys but these. Errors: SR001.';


-- ---------------------------------------------------------------------------------------------
-- Who is calling, and for which tenant
-- ---------------------------------------------------------------------------------------------
-- Two roles matter, and they differ inside a SECURITY DEFINER function:
--   the caller    the role that the connection acts as: SET ROLE if there was one, else the login.
--                 A definer function does not change it, so it decides whose claims count.
--   current_user  the role whose rights the running statement has: the schema's owner inside a
--                 definer function. Policies let it pass their permission rules (never their tenant
--                 rule), so definer functions also work where the owner is bound by row security.

create function strongroom_private.role_kind(p_role text)
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_role = 'authenticated' then
        return 'user';
    elsif p_role = 'anon' then
        return null;
    elsif p_role = 'service_role'
        or pg_has_role(p_role, to_regrole('strongroom_host')::oid, 'usage')
    then
        return 'host';
    elsif exists (
        select
        from pg_namespace as n
        where n.nspname = 'strongroom'
            and pg_has_role(p_role, n.nspowner, 'usage')
    ) then
        return 'host';
    end if;
    return null;
end
$$;
comment on function strongroom_private.role_kind(text) is
    'What a database role is to strongroom: host, user, or null for everybody else. A role becomes'
    ' a host by membership in strongroom_host, and by nothing that a request can contain.';

create function strongroom_private.caller_kind()
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return strongroom_private.role_kind(
        coalesce(nullif(current_setting('role', true), 'none'), session_user)
    );
end
$$;
comment on function strongroom_private.caller_kind() is
    'Who the connection acts as: host, user, or null for everybody else. The same inside a definer'
    ' function.';

create function strongroom_private.is_trusted()
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return coalesce(strongroom_private.role_kind(current_user::text) = 'host', false);
end
$$;
comment on function strongroom_private.is_trusted() is
    'Whether the running statement has a host''s rights: a host itself, or a reviewed definer'
    ' function. Permission rules of policies ask this; tenant rules never do.';

create function strongroom_private.is_set_by_owner(p_setting text)
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(current_setting(p_setting, true), '') <> 'on' then
        return false;
    end if;
    -- The setting alone is worth nothing: it counts only where the statement has the owner's
    -- rights, that is, inside the definer function that sets it.
    return current_user = (
        select pg_get_userbyid(n.nspowner)
        from pg_namespace as n
        where n.nspname = 'strongroom'
    );
end
$$;
comment on function strongroom_private.is_set_by_owner(text) is
    'Whether a setting is on and this statement has the rights of the schema''s owner, so that it'
    ' is a definer function that has set it.';

create function strongroom_private.is_dispatching()
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return strongroom_private.is_set_by_owner('strongroom.dispatching');
end
$$;
comment on function strongroom_private.is_dispatching() is
    'Whether this statement belongs to a definer function that hands out work across tenants.'
    ' Policies of claimable tables ask it, for owners who are bound by row security.';

create function strongroom_private.read_claims()
returns jsonb
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_claims jsonb;
begin
    v_claims := nullif(current_setting('request.jwt.claims', true), '')::jsonb;
    if jsonb_typeof(v_claims) = 'object' then
        return v_claims;
    end if;
    return null;
exception
    when data_exception then
        -- Text that is not JSON means no claims, and so no rows: never an error that a policy
        -- throws.
        return null;
end
$$;
comment on function strongroom_private.read_claims() is
    'The JWT''s claims, or null when there are none or they are malformed.';

create function strongroom_private.read_text_claim(p_claims jsonb, p_path text[])
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when jsonb_typeof(p_claims #> p_path) = 'string'
            and char_length(p_claims #>> p_path) between 1 and 255
        then p_claims #>> p_path
    end
$$;
comment on function strongroom_private.read_text_claim(jsonb, text[]) is
    'A claim that must be a text of 1 to 255 characters; anything else counts as missing.';

create function strongroom_private.bound_tenant()
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kind text := strongroom_private.caller_kind();
    v_claims jsonb;
begin
    if v_kind = 'host' then
        -- After a transaction that bound a tenant, the setting is empty and not null.
        return nullif(current_setting('strongroom.tenant_id', true), '');
    elsif v_kind = 'user' then
        v_claims := strongroom_private.read_claims();
        -- A token without a principal names nobody, so it is bound to no tenant.
        if strongroom_private.read_text_claim(v_claims, '{sub}') is not null then
            return strongroom_private.read_text_claim(v_claims, '{app_metadata,tenant_id}');
        end if;
    end if;
    return null;
end
$$;
comment on function strongroom_private.bound_tenant() is
    'The tenant of this statement: for a host the setting strongroom.tenant_id, which the functions'
    ' bind for the transaction; for a user with a sub app_metadata.tenant_id of the JWT; else'
    ' null.';

create function strongroom_private.current_principal()
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if strongroom_private.caller_kind() = 'user' then
        return strongroom_private.read_text_claim(strongroom_private.read_claims(), '{sub}');
    end if;
    return null;
end
$$;
comment on function strongroom_private.current_principal() is
    'The principal of a user''s JWT (sub); null for everybody else.';


-- ---------------------------------------------------------------------------------------------
-- Cursors
-- ---------------------------------------------------------------------------------------------
-- A cursor is opaque text: version, checksum, scope, keys of one row. The scope is a hash of the
-- list, its filter and its direction, so a cursor of another list is refused and not misread.

create function strongroom_private.cursor_scope(p_list text, p_filter jsonb, p_direction text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select left(md5(concat_ws(chr(31), p_list, p_filter::text, p_direction)), 12)
$$;
comment on function strongroom_private.cursor_scope(text, jsonb, text) is
    'What a cursor is bound to: a hash of the list, its filter and its direction.';

create function strongroom_private.encode_cursor(p_scope text, p_keys text[])
returns text
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_payload text := p_scope || array_to_json(p_keys)::text;
begin
    return '1' || translate(
        encode(convert_to(left(md5(v_payload), 8) || v_payload, 'UTF8'), 'base64'),
        E'+/=\n',
        '-_'
    );
end
$$;
comment on function strongroom_private.encode_cursor(text, text[]) is
    'The cursor of a row with these keys in this scope.';

create function strongroom_private.decode_cursor(p_field text, p_cursor text, p_scope text)
returns text[]
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_text text;
    v_problem text := 'is damaged';
begin
    if p_cursor is null then
        return null;
    end if;
    begin
        if left(p_cursor, 1) = '1' and char_length(p_cursor) < 8192 then
            v_text := translate(substr(p_cursor, 2), '-_', '+/');
            v_text := convert_from(
                decode(rpad(v_text, (char_length(v_text) + 3) / 4 * 4, '='), 'base64'),
                'UTF8'
            );
            if left(v_text, 8) = left(md5(substr(v_text, 9)), 8) then
                if substr(v_text, 9, 12) = p_scope then
                    return array(select json_array_elements_text(substr(v_text, 21)::json));
                end if;
                v_problem := 'belongs to another list, filter or direction';
            end if;
        end if;
    exception
        when data_exception then
            null;
    end;
    perform strongroom_private.fail(
        'invalid_cursor',
        format('%s %s', p_field, v_problem),
        jsonb_build_object('path', p_field),
        'Use a cursor of the same list with the same filter and direction, or start without one.'
    );
    return null;
end
$$;
comment on function strongroom_private.decode_cursor(text, text, text) is
    'The keys in a cursor; null without one. Errors: SR002 when it is damaged or foreign.';

create function strongroom_private.to_microseconds(p_moment timestamptz)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select (extract(epoch from p_moment) * 1000000)::bigint::text
$$;
comment on function strongroom_private.to_microseconds(timestamptz) is
    'A moment as whole microseconds since 1970, for cursors: no time zone, no rounding.';

create function strongroom_private.from_microseconds(p_microseconds text)
returns timestamptz
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select timestamptz 'epoch' + p_microseconds::bigint * interval '1 microsecond'
$$;
comment on function strongroom_private.from_microseconds(text) is
    'The reverse of to_microseconds.';

create function strongroom_private.check_page(
    p_limit integer,
    p_after text,
    p_before text,
    p_direction text
)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.check_limit(p_limit);
    perform strongroom_private.check_choice('direction', p_direction, '{forward,backward}');
    if p_after is not null and p_before is not null then
        perform strongroom_private.fail(
            'invalid_argument',
            'after and before exclude each other',
            '{"path": "before"}',
            'Page on with `after`, or back with `before`.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_page(integer, text, text, text) is
    'The paging arguments that every list has. Errors: SR001, SR004.';


-- ---------------------------------------------------------------------------------------------
-- Grants are data
-- ---------------------------------------------------------------------------------------------
-- Invariant: after every migration the rights of PUBLIC, anon, authenticated, service_role and
-- strongroom_host on both schemas are exactly the rows of this table, whatever default privileges
-- the server has. Roles that the server lacks are left out, and served when apply_grants() runs
-- again.

create table strongroom_private.grants (
    object_kind text collate "C" not null,
    object_name text collate "C" not null,
    column_name text collate "C" not null default '',
    privilege text collate "C" not null,
    role_name text collate "C" not null,
    constraint grants_pkey
        primary key (object_kind, object_name, column_name, privilege, role_name),
    constraint object_kind_is_known
        check (object_kind in ('schema', 'table', 'sequence', 'function')),
    constraint privilege_is_known
        check (privilege in ('usage', 'select', 'insert', 'update', 'delete', 'execute')),
    constraint role_is_a_published_one
        check (
            role_name in ('strongroom_host', 'service_role', 'authenticated', 'supabase_auth_admin')
        )
);
comment on table strongroom_private.grants is
    'The published grant matrix: which role may do what with which object. anon and PUBLIC have'
    ' none.';
comment on column strongroom_private.grants.object_kind is
    'schema, table (or view), sequence or function.';
comment on column strongroom_private.grants.object_name is
    'The qualified name; functions have no overloads.';
comment on column strongroom_private.grants.column_name is
    'The one column that is meant, or empty for the whole object.';
comment on column strongroom_private.grants.privilege is 'The right, in lower case.';
comment on column strongroom_private.grants.role_name is 'The role that has it.';

alter table strongroom_private.grants enable row level security;
alter table strongroom_private.grants force row level security;
create policy owner_only on strongroom_private.grants
    using ((select strongroom_private.is_trusted()))
    with check ((select strongroom_private.is_trusted()));
comment on policy owner_only on strongroom_private.grants is
    'Only the schema''s owner has any right on this table; a forced policy binds the owner too.';

create function strongroom_private.publish_grant(
    p_object_kind text,
    p_object_names text[],
    p_privileges text[],
    p_roles text[],
    p_columns text[] default '{""}'
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into strongroom_private.grants (
        object_kind, object_name, column_name, privilege, role_name
    )
    select
        p_object_kind,
        o.object_name,
        c.column_name,
        p.privilege,
        r.role_name
    from unnest(p_object_names) as o (object_name)
    cross join unnest(p_columns) as c (column_name)
    cross join unnest(p_privileges) as p (privilege)
    cross join unnest(p_roles) as r (role_name)
$$;
comment on function strongroom_private.publish_grant(text, text[], text[], text[], text[]) is
    'Add rows to the grant matrix; finish_migration makes them true. For migrations.';

create function strongroom_private.apply_grants()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_roles text;
    v_object record;
    v_grant record;
begin
    select string_agg(
        case r.role_name when 'public' then r.role_name else quote_ident(r.role_name) end, ', '
    )
    into v_roles
    from unnest(array[
        'public', 'anon', 'authenticated', 'service_role', 'strongroom_host', 'supabase_auth_admin'
    ]) as r (role_name)
    where r.role_name = 'public'
        or to_regrole(r.role_name) is not null;
    -- What is right already is not written again: every migration runs this, and each right that is
    -- written leaves a dead copy of the function's text in the catalog.
    for v_object in
        select
            d.object_kind,
            d.object_name,
            coalesce(r.identity, c.identity, quote_ident(d.object_name)) as identity
        from (
            select distinct
                u.object_kind,
                u.object_name
            from strongroom_private.list_grant_differences() as u
        ) as d
        left join (
            select
                'function' as object_kind,
                format('%s.%s', n.nspname, p.proname) as object_name,
                string_agg(p.oid::regprocedure::text, ', ') as identity
            from pg_proc as p
            inner join pg_namespace as n on n.oid = p.pronamespace
            where n.nspname in ('strongroom', 'strongroom_private')
            group by
                n.nspname,
                p.proname
        ) as r
            on r.object_kind = d.object_kind
            and r.object_name = d.object_name
        left join (
            select
                case c.relkind when 'S' then 'sequence' else 'table' end as object_kind,
                format('%s.%s', n.nspname, c.relname) as object_name,
                c.oid::regclass::text as identity
            from pg_class as c
            inner join pg_namespace as n on n.oid = c.relnamespace
            where n.nspname in ('strongroom', 'strongroom_private')
        ) as c
            on c.object_kind = d.object_kind
            and c.object_name = d.object_name
        order by
            d.object_kind,
            d.object_name
    loop
        execute format(
            'revoke all on %s %s from %s cascade',
            case v_object.object_kind when 'function' then 'routine' else v_object.object_kind end,
            v_object.identity,
            v_roles
        );
        for v_grant in
            select
                w.privileges,
                string_agg(quote_ident(w.role_name), ', ' order by w.role_name) as roles
            from (
                select
                    g.role_name,
                    string_agg(
                        g.privilege || case g.column_name
                            when '' then '' else format(' (%I)', g.column_name)
                        end,
                        ', '
                        order by g.privilege, g.column_name
                    ) as privileges
                from strongroom_private.grants as g
                where g.object_kind = v_object.object_kind
                    and g.object_name = v_object.object_name
                    and to_regrole(g.role_name) is not null
                group by g.role_name
            ) as w
            group by w.privileges
            order by w.privileges
        loop
            execute format(
                'grant %s on %s %s to %s',
                v_grant.privileges,
                v_object.object_kind,
                v_object.object_name,
                v_grant.roles
            );
        end loop;
    end loop;
end
$$;
comment on function strongroom_private.apply_grants() is
    'Make the rights on both schemas exactly the grant matrix, where they differ. Run by every'
    ' migration; run it by hand, as the schema''s owner, after a missing role was added to the'
    ' server.';

create function strongroom_private.list_grant_differences()
returns table (
    object_kind text,
    object_name text,
    column_name text,
    privilege text,
    role_name text,
    problem text
)
language sql
stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with actual as (
        select
            'schema' as object_kind,
            n.nspname::text as object_name,
            '' as column_name,
            a.grantee,
            lower(a.privilege_type) as privilege,
            a.is_grantable
        from pg_namespace as n
        cross join aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) as a
        where n.nspname in ('strongroom', 'strongroom_private')
        union all
        select
            case c.relkind when 'S' then 'sequence' else 'table' end,
            format('%s.%s', n.nspname, c.relname),
            '',
            a.grantee,
            lower(a.privilege_type),
            a.is_grantable
        from pg_class as c
        inner join pg_namespace as n on n.oid = c.relnamespace
        cross join aclexplode(c.relacl) as a
        where n.nspname in ('strongroom', 'strongroom_private')
            and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
        union all
        select
            'table',
            format('%s.%s', n.nspname, c.relname),
            t.attname::text,
            a.grantee,
            lower(a.privilege_type),
            a.is_grantable
        from pg_class as c
        inner join pg_namespace as n on n.oid = c.relnamespace
        inner join pg_attribute as t on t.attrelid = c.oid
        cross join aclexplode(t.attacl) as a
        where n.nspname in ('strongroom', 'strongroom_private')
        union all
        select
            'function',
            format('%s.%s', n.nspname, p.proname),
            '',
            a.grantee,
            lower(a.privilege_type),
            a.is_grantable
        from pg_proc as p
        inner join pg_namespace as n on n.oid = p.pronamespace
        cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
        where n.nspname in ('strongroom', 'strongroom_private')
    ),
    held as (
        select
            a.object_kind,
            a.object_name,
            a.column_name,
            p.privilege,
            coalesce(r.rolname::text, 'public') as role_name
        from actual as a
        left join pg_roles as r on r.oid = a.grantee
        cross join unnest(
            case
                when a.is_grantable then array[a.privilege, a.privilege || ' with grant option']
                else array[a.privilege]
            end
        ) as p (privilege)
        where a.grantee = 0
            or r.rolname in (
                'anon', 'authenticated', 'service_role', 'strongroom_host', 'supabase_auth_admin'
            )
    ),
    wanted as (
        select
            g.object_kind,
            g.object_name,
            g.column_name,
            g.privilege,
            g.role_name
        from strongroom_private.grants as g
        where to_regrole(g.role_name) is not null
    )
    select
        w.object_kind,
        w.object_name,
        w.column_name,
        w.privilege,
        w.role_name,
        'missing'
    from wanted as w
    where (w.object_kind, w.object_name, w.column_name, w.privilege, w.role_name) not in (
        select
            h.object_kind,
            h.object_name,
            h.column_name,
            h.privilege,
            h.role_name
        from held as h
    )
    union all
    select
        h.object_kind,
        h.object_name,
        h.column_name,
        h.privilege,
        h.role_name,
        'unexpected'
    from held as h
    where (h.object_kind, h.object_name, h.column_name, h.privilege, h.role_name) not in (
        select
            w.object_kind,
            w.object_name,
            w.column_name,
            w.privilege,
            w.role_name
        from wanted as w
    )
$$;
comment on function strongroom_private.list_grant_differences() is
    'Where the catalog''s rights differ from the grant matrix: none, on a sound database. No right'
    ' of the matrix may be passed on.';


-- ---------------------------------------------------------------------------------------------
-- Retention kinds are data
-- ---------------------------------------------------------------------------------------------

create table strongroom_private.retention_kinds (
    kind text collate "C" not null,
    table_name text collate "C" not null,
    description text not null,
    moment text,
    condition text,
    handler text collate "C",
    constraint retention_kinds_pkey primary key (kind),
    constraint kind_has_1_to_255_characters check (char_length(kind) between 1 and 255),
    constraint a_kind_has_a_moment_or_a_handler check ((moment is null) <> (handler is null)),
    constraint only_a_moment_has_a_condition check (condition is null or moment is not null)
);
comment on table strongroom_private.retention_kinds is
    'What a retention policy can be about, and how a sweep ends it.';
comment on column strongroom_private.retention_kinds.kind is 'The name that policies use.';
comment on column strongroom_private.retention_kinds.table_name is 'The qualified name.';
comment on column strongroom_private.retention_kinds.description is
    'For people: which records, from when they are counted, what becomes of them.';
comment on column strongroom_private.retention_kinds.moment is
    'From when a record is counted: an SQL expression on the row t. Null never grows old.';
comment on column strongroom_private.retention_kinds.condition is
    'Which records: an SQL condition on the row t; $1 is the tenant, $2 the moment that is too'
    ' old.';
comment on column strongroom_private.retention_kinds.handler is
    'The function (p_tenant_id text, p_before timestamptz, p_limit integer) that ends up to p_limit'
    ' records and returns one row: row_count, and held, those that had to stay.';

alter table strongroom_private.retention_kinds enable row level security;
alter table strongroom_private.retention_kinds force row level security;
create policy owner_only on strongroom_private.retention_kinds
    using ((select strongroom_private.is_trusted()))
    with check ((select strongroom_private.is_trusted()));
comment on policy owner_only on strongroom_private.retention_kinds is
    'Only the schema''s owner has any right on this table; a forced policy binds the owner too.';

create function strongroom_private.publish_retention_kind(
    p_kind text,
    p_table text,
    p_description text,
    p_moment text default null,
    p_condition text default null,
    p_handler text default null
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into strongroom_private.retention_kinds (
        kind, table_name, description, moment, condition, handler
    )
    values (p_kind, p_table, p_description, p_moment, p_condition, p_handler)
$$;
comment on function strongroom_private.publish_retention_kind(
    text, text, text, text, text, text
) is
    'Say that records of a kind can be kept for a time only: by a moment, after which a sweep'
    ' deletes them, or by a handler that knows how they end. For migrations.';


-- ---------------------------------------------------------------------------------------------
-- Erasure rules are data
-- ---------------------------------------------------------------------------------------------
-- Invariant: every table that belongs to tenants says, in the migration that makes it, what erasing
-- a person does to it; every column whose name says that it holds a principal has a rule of its
-- own. finish_migration refuses anything else, and diagnose() finds it: a table cannot be
-- forgotten.

create table strongroom_private.erasure_rules (
    table_name text collate "C" not null,
    column_name text collate "C" not null default '',
    action text collate "C" not null,
    reason text not null,
    handler text collate "C",
    constraint erasure_rules_pkey primary key (table_name, column_name),
    constraint action_is_known check (action in ('delete', 'clear', 'keep', 'handle')),
    constraint what_is_deleted_or_cleared_has_a_column
        check (column_name <> '' or action in ('keep', 'handle')),
    constraint only_a_handled_rule_has_a_handler
        check ((action = 'handle') = (handler is not null)),
    constraint a_rule_says_why check (reason <> '')
);
comment on table strongroom_private.erasure_rules is
    'What erasing a person does to each table: the registry that erase_principal works from.';
comment on column strongroom_private.erasure_rules.table_name is 'The qualified name.';
comment on column strongroom_private.erasure_rules.column_name is
    'The column that names the person; empty for the table as a whole.';
comment on column strongroom_private.erasure_rules.action is
    'delete: the rows go, with all that hangs on them. clear: the column becomes null. keep: they'
    ' stay. handle: the handler knows.';
comment on column strongroom_private.erasure_rules.reason is 'Why, for people.';
comment on column strongroom_private.erasure_rules.handler is
    'The function (p_tenant_id text, p_principal_id text) that does it and returns how many rows it'
    ' touched.';

alter table strongroom_private.erasure_rules enable row level security;
alter table strongroom_private.erasure_rules force row level security;
create policy owner_only on strongroom_private.erasure_rules
    using ((select strongroom_private.is_trusted()))
    with check ((select strongroom_private.is_trusted()));
comment on policy owner_only on strongroom_private.erasure_rules is
    'Only the schema''s owner has any right on this table; a forced policy binds the owner too.';

create function strongroom_private.publish_erasure_rule(
    p_table text,
    p_column text,
    p_action text,
    p_reason text,
    p_handler text default null
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into strongroom_private.erasure_rules (
        table_name, column_name, action, reason, handler
    )
    values (p_table, p_column, p_action, p_reason, p_handler)
$$;
comment on function strongroom_private.publish_erasure_rule(text, text, text, text, text) is
    'Say what erasing a person does to a table: once for every column that can name a principal, or'
    ' once with an empty column where none does. For migrations.';

create function strongroom_private.is_principal_column(p_column text)
returns boolean
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select p_column ~ '(^|_)(principal|owner|author|addressee|user|actor|viewer|member|participant'
        '|creator|editor|reviewer|approver|assignee|sender|recipient|subject|person)s?(_ids?)?$'
        '|_by$'
$$;
comment on function strongroom_private.is_principal_column(text) is
    'Whether a column''s name says that it holds principals: owner_id, granted_by, auth_subjects.';

create function strongroom_private.list_erasure_gaps()
returns table (table_name text, column_name text, problem text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    with tables as (
        select
            c.oid,
            format('strongroom.%s', c.relname) as name
        from pg_class as c
        where c.relnamespace = to_regnamespace('strongroom')
            and c.relkind in ('r', 'p')
            and exists (
                select
                from pg_attribute as a
                where a.attrelid = c.oid
                    and a.attname = 'tenant_id'
                    and not a.attisdropped
            )
    ),
    rules as (
        select
            r.table_name,
            r.column_name,
            r.action,
            r.handler,
            t.oid,
            a.attname,
            a.attnotnull
        from strongroom_private.erasure_rules as r
        left join tables as t on t.name = r.table_name
        left join pg_attribute as a
            on a.attrelid = t.oid
            and a.attname = r.column_name
            and not a.attisdropped
    )
    select
        t.name,
        '',
        'has no erasure rule'
    from tables as t
    where t.name not in (select r.table_name from rules as r)
    union all
    select
        t.name,
        a.attname::text,
        'may name a person and has no erasure rule'
    from tables as t
    inner join pg_attribute as a on a.attrelid = t.oid
    where a.attnum > 0
        and not a.attisdropped
        and strongroom_private.is_principal_column(a.attname::text)
        and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'uuid'::regtype, 'jsonb'::regtype)
        and (t.name, a.attname::text) not in (select r.table_name, r.column_name from rules as r)
    union all
    select
        r.table_name,
        r.column_name,
        case
            when r.oid is null then 'has an erasure rule, and is no table of tenants'
            when r.column_name <> '' and r.attname is null then
                'has an erasure rule, and is no column'
            when r.action = 'handle' then
                format('is erased by %s(text, text), which is not there', r.handler)
            when r.action = 'clear' and r.attnotnull then
                'is to be cleared, and may not be null'
            else
                format('is erased by %s, which no policy allows the owner', r.action)
        end
    from rules as r
    where r.oid is null
        or (r.column_name <> '' and r.attname is null)
        or (
            r.action = 'handle'
            and to_regprocedure(format('%s(text, text)', r.handler)) is null
        )
        or (r.action = 'clear' and r.attnotnull)
        or (
            r.action in ('delete', 'clear')
            and not exists (
                select
                from pg_policy as p
                where p.polrelid = r.oid
                    and p.polcmd in ('*', case r.action when 'delete' then 'd' else 'w' end)
            )
        )
    union all
    select
        k.table_name,
        '',
        case
            when c.oid is null then format('is swept as %s, and is not there', k.kind)
            when k.handler is not null then
                format('is swept by %s(text, timestamptz, integer), which is not there', k.handler)
            else
                format('is swept as %s, which no policy allows the owner', k.kind)
        end
    from strongroom_private.retention_kinds as k
    left join pg_class as c on c.oid = to_regclass(k.table_name)
    where c.oid is null
        or (
            k.handler is not null
            and to_regprocedure(format('%s(text, timestamptz, integer)', k.handler)) is null
        )
        or (
            c.relrowsecurity
            and not exists (
                select
                from pg_policy as p
                where p.polrelid = c.oid
                    and p.polcmd in ('*', 'd')
            )
        )
$$;
comment on function strongroom_private.list_erasure_gaps() is
    'Tables and columns for which it is not, or wrongly, said what erasing a person or retention'
    ' does to them: none, on a sound database.';

create function strongroom_private.is_erasing()
returns boolean
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return strongroom_private.is_set_by_owner('strongroom.erasing');
end
$$;
comment on function strongroom_private.is_erasing() is
    'Whether this statement belongs to a definer function of erasure or retention. Policies and'
    ' triggers of insert-only tables ask it.';

create function strongroom_private.keep_history()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_stays boolean;
begin
    if tg_op = 'DELETE' and tg_level = 'ROW' then
        -- A cascading delete comes when what the row belongs to is already gone. Where the trigger
        -- names a mark of the parent, rows up to it may go as well.
        execute format(
            'select exists (select from %s as p where p.tenant_id = ($1).tenant_id'
            ' and p.%I = ($1).%I%s)',
            tg_argv[0],
            tg_argv[1],
            tg_argv[2],
            case when tg_nargs > 4 then format(' and p.%I < ($1).%I', tg_argv[4], tg_argv[5]) end
        )
        into v_stays
        using old;
        if not v_stays or strongroom_private.is_erasing() then
            return old;
        end if;
    elsif tg_op = 'UPDATE'
        and tg_nargs > 3
        and strongroom_private.is_erasing()
        and to_jsonb(new) - tg_argv[3]::text[] = to_jsonb(old) - tg_argv[3]::text[]
    then
        return new;
    end if;
    perform strongroom_private.fail(
        'permission_denied',
        format('%s.%s is insert-only: %s is refused', tg_table_schema, tg_table_name, tg_op),
        jsonb_build_object('table', format('%s.%s', tg_table_schema, tg_table_name)),
        format(
            'Append a new record. Rows leave with what they belong to%s, and by erasure or'
            ' retention.',
            ' in ' || tg_argv[0]
        )
    );
    return null;
end
$$;
comment on function strongroom_private.keep_history() is
    'For triggers of insert-only tables: rows are never updated, and leave only with what they'
    ' belong to, or by erasure and retention. Arguments for the row trigger: the parent''s table,'
    ' its key, the column here; then the columns that erasure may change (an array); then a mark of'
    ' the parent and the column here that is compared with it: rows up to the mark may go.';


-- ---------------------------------------------------------------------------------------------
-- What a transaction has deleted
-- ---------------------------------------------------------------------------------------------

create function strongroom_private.count_deletions()
returns jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if current_setting('track_counts') <> 'on' then
        perform strongroom_private.fail(
            'missing_capability',
            'this server does not count what is deleted: track_counts is off',
            '{"capability": "track_counts"}',
            'Switch track_counts on; autovacuum needs it, too.'
        );
    end if;
    return (
        select jsonb_object_agg(
            format('strongroom.%s', c.relname),
            pg_stat_get_xact_tuples_deleted(c.oid)
        )
        from pg_class as c
        where c.relnamespace = to_regnamespace('strongroom')
            and c.relkind = 'r'
    );
end
$$;
comment on function strongroom_private.count_deletions() is
    'How many rows of each table this transaction has deleted so far, those that cascades deleted'
    ' included: the server''s own count. Errors: SR040 where it does not count.';

create function strongroom_private.list_deletions(p_before jsonb)
returns table (table_name text, row_count bigint)
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    select
        n.key,
        n.value::bigint - (p_before ->> n.key)::bigint
    from jsonb_each_text(strongroom_private.count_deletions()) as n
    where n.value::bigint > (p_before ->> n.key)::bigint
    order by n.key
$$;
comment on function strongroom_private.list_deletions(jsonb) is
    'The tables that have lost rows since count_deletions was called, and how many.';

create function strongroom_private.undo_dry_run()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Not of the registry: nobody but the block that called it ever sees it.
    raise using
        errcode = 'SR099',
        message = 'a dry run takes back what it did';
end
$$;
comment on function strongroom_private.undo_dry_run() is
    'Take back what the caller''s block has done: the caller catches it.';


-- ---------------------------------------------------------------------------------------------
-- The schema's own history
-- ---------------------------------------------------------------------------------------------
-- Invariant: a migration records itself in the transaction that makes its objects, whoever runs it,
-- so the history is true after `strongroom migrate apply`, `supabase db push` and a DBA alike.

create table strongroom.schema_history (
    version integer not null,
    name text collate "C" not null,
    status text collate "C" not null,
    reason text,
    applied_at timestamptz not null default now(),
    applied_by text collate "C" not null default current_user,
    constraint schema_history_pkey primary key (version),
    constraint version_is_positive check (version > 0),
    constraint status_is_known check (status in ('applied', 'skipped')),
    constraint a_skipped_migration_says_why check (status = 'applied' or reason is not null)
);
comment on table strongroom.schema_history is
    'Which migrations this database has; written by the migrations themselves.';
comment on column strongroom.schema_history.version is 'The migration''s number: 1, 2, 3, ...';
comment on column strongroom.schema_history.name is 'The domain that the migration builds.';
comment on column strongroom.schema_history.status is
    'applied, or skipped where the server lacks what it needs.';
comment on column strongroom.schema_history.reason is 'Why it was skipped.';
comment on column strongroom.schema_history.applied_at is 'When.';
comment on column strongroom.schema_history.applied_by is 'By which database role.';

alter table strongroom.schema_history enable row level security;
alter table strongroom.schema_history force row level security;
create policy hosts_read on strongroom.schema_history
    for select
    using ((select strongroom_private.is_trusted()));
comment on policy hosts_read on strongroom.schema_history is
    'Hosts read the history, to compare it with their package.';
create policy owner_inserts on strongroom.schema_history
    for insert
    with check ((select strongroom_private.is_trusted()));
comment on policy owner_inserts on strongroom.schema_history is
    'The schema''s owner records a migration; nobody else has the right to insert.';
create policy owner_deletes on strongroom.schema_history
    for delete
    using ((select strongroom_private.is_trusted()));
comment on policy owner_deletes on strongroom.schema_history is
    'The schema''s owner takes a migration back; nobody else has the right to delete.';

create function strongroom_private.begin_migration(p_version integer, p_name text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('strongroom.migrate', 0));
    -- What was skipped may be run again, also when later ones have been applied since.
    if exists (
        select
        from strongroom.schema_history as h
        where h.version = p_version
            and h.status = 'applied'
    ) then
        perform strongroom_private.fail(
            'schema_version',
            format('strongroom %s (%s) is applied already', to_char(p_version, 'FM0000'), p_name),
            jsonb_build_object('version', p_version),
            'Nothing to do. If `supabase db push` asked for it, tell its history with'
            ' `supabase migration repair --status applied`.'
        );
    end if;
    if p_version > 1
        and not exists (select from strongroom.schema_history as h where h.version = p_version - 1)
    then
        perform strongroom_private.fail(
            'schema_version',
            format('strongroom %s needs %s first',
                to_char(p_version, 'FM0000'), to_char(p_version - 1, 'FM0000')),
            jsonb_build_object('version', p_version),
            'Run the migrations in the order of their numbers.'
        );
    end if;
    perform set_config('strongroom.migrating', p_version::text, true);
end
$$;
comment on function strongroom_private.begin_migration(integer, text) is
    'The first statement of a migration: one at a time, in order, once, or again when it was'
    ' skipped. The lock ends with the transaction. Errors: SR041.';

create function strongroom_private.require_transaction(p_version integer)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if current_setting('strongroom.migrating', true) is distinct from p_version::text then
        perform strongroom_private.fail(
            'schema_version',
            format(
                'strongroom %s is not being run in one transaction', to_char(p_version, 'FM0000')
            ),
            jsonb_build_object('version', p_version),
            'Use psql --single-transaction, strongroom migrate apply, or supabase db push.'
        );
    end if;
end
$$;
comment on function strongroom_private.require_transaction(integer) is
    'The second statement of a migration: refuse to run statement by statement, where a failure'
    ' would leave half of it. Errors: SR041.';

create function strongroom_private.finish_migration(
    p_version integer,
    p_name text,
    p_skipped_because text default null
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_gaps text[];
begin
    perform strongroom_private.require_transaction(p_version);
    v_gaps := array(
        select format('%s %s', concat_ws('.', g.table_name, nullif(g.column_name, '')), g.problem)
        from strongroom_private.list_erasure_gaps() as g
        order by 1
    );
    if cardinality(v_gaps) > 0 then
        perform strongroom_private.fail(
            'schema_version',
            format('strongroom %s leaves open what erasing a person does: %s',
                to_char(p_version, 'FM0000'), array_to_string(v_gaps, '; ')),
            jsonb_build_object('version', p_version, 'problems', to_jsonb(v_gaps)),
            'Say it in the migration that makes the table:'
            ' select strongroom_private.publish_erasure_rule(...).'
        );
    end if;
    delete from strongroom.schema_history as h
    where h.version = p_version
        and h.status = 'skipped';
    insert into strongroom.schema_history (version, name, status, reason)
    values (
        p_version,
        p_name,
        case when p_skipped_because is null then 'applied' else 'skipped' end,
        p_skipped_because
    );
    perform strongroom_private.apply_grants();
    -- PostgREST keeps the signatures it has seen; tell it that there are new ones.
    perform pg_notify('pgrst', 'reload schema');
end
$$;
comment on function strongroom_private.finish_migration(integer, text, text) is
    'The last statement of a migration: record it, make the grants true, tell PostgREST. Refuses a'
    ' table that does not say what erasing a person does to it. Errors: SR041.';

create function strongroom_private.begin_reversal(p_version integer, p_tables text[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_table text;
    v_filled boolean;
begin
    perform pg_advisory_xact_lock(hashtextextended('strongroom.migrate', 0));
    if p_version is distinct from (select max(h.version) from strongroom.schema_history as h) then
        perform strongroom_private.fail(
            'schema_version',
            format('strongroom %s is not the newest migration here', to_char(p_version, 'FM0000')),
            jsonb_build_object('version', p_version),
            'Take migrations back from the newest one down.'
        );
    end if;
    if coalesce(current_setting('strongroom.allow_data_loss', true), '') = 'on' then
        return;
    end if;
    foreach v_table in array p_tables loop
        -- The owner may be bound by row security and would see an empty table. The statement is
        -- undone with the transaction when the check refuses.
        execute format('alter table %s no force row level security', v_table);
        execute format('select exists (select from %s)', v_table) into v_filled;
        execute format('alter table %s force row level security', v_table);
        if v_filled then
            perform strongroom_private.fail(
                'schema_version',
                format('%s holds rows that taking back strongroom %s would delete',
                    v_table, to_char(p_version, 'FM0000')),
                jsonb_build_object('version', p_version, 'table', v_table),
                'Save the data first; then `strongroom migrate down --allow-data-loss`, or'
                ' `set local strongroom.allow_data_loss = ''on''` in the same transaction.'
            );
        end if;
    end loop;
end
$$;
comment on function strongroom_private.begin_reversal(integer, text[]) is
    'The first statement of a migration''s way back: newest first, and no rows are lost unless the'
    ' setting strongroom.allow_data_loss is on. Errors: SR041.';

create function strongroom_private.finish_reversal(p_version integer)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from strongroom_private.grants as g
    where g.object_kind in ('table', 'sequence')
        and to_regclass(g.object_name) is null;
    delete from strongroom_private.grants as g
    where g.object_kind = 'function'
        and to_regproc(g.object_name) is null;
    delete from strongroom_private.erasure_rules as r
    where to_regclass(r.table_name) is null
        or (
            r.column_name <> ''
            and not exists (
                select
                from pg_attribute as a
                where a.attrelid = to_regclass(r.table_name)
                    and a.attname = r.column_name
                    and not a.attisdropped
            )
        );
    delete from strongroom_private.retention_kinds as k
    where to_regclass(k.table_name) is null
        or (
            k.handler is not null
            and to_regproc(k.handler) is null
        );
    delete from strongroom.schema_history as h
    where h.version = p_version;
    perform pg_notify('pgrst', 'reload schema');
end
$$;
comment on function strongroom_private.finish_reversal(integer) is
    'The last statement of a migration''s way back: forget it, and the grants, erasure rules and'
    ' retention kinds of what is gone.';


-- ---------------------------------------------------------------------------------------------
-- Tenants
-- ---------------------------------------------------------------------------------------------
-- Invariants: every other record hangs on a tenant. A suspended tenant is readable by hosts,
-- refuses every write, and shows its users nothing but its own row.

create table strongroom.tenants (
    tenant_id text collate "C" not null,
    name text not null,
    status text collate "C" not null default 'active',
    metadata jsonb not null default '{}',
    version bigint not null default 1,
    creation_digest text collate "C" not null,
    last_write_id text collate "C",
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint tenants_pkey primary key (tenant_id),
    constraint tenant_id_has_1_to_255_characters check (char_length(tenant_id) between 1 and 255),
    constraint name_has_1_to_255_characters check (char_length(name) between 1 and 255),
    constraint status_is_active_or_suspended check (status in ('active', 'suspended')),
    constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.tenants is 'Who owns everything else: one customer, team or project.';
comment on column strongroom.tenants.tenant_id is 'The id that every call names.';
comment on column strongroom.tenants.name is 'A name for people.';
comment on column strongroom.tenants.status is 'active or suspended.';
comment on column strongroom.tenants.metadata is 'The host''s own JSON object, at most 16 KiB.';
comment on column strongroom.tenants.version is
    'One more at every change; updates name the version they read.';
comment on column strongroom.tenants.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.tenants.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.tenants.created_at is 'When it was created.';
comment on column strongroom.tenants.updated_at is 'When it last changed.';

alter table strongroom.tenants enable row level security;
alter table strongroom.tenants force row level security;
-- These policies ask bound_tenant(), not current_tenant(), which itself reads this table.
create policy tenant_reads on strongroom.tenants
    for select
    using (tenant_id = (select strongroom_private.bound_tenant()));
comment on policy tenant_reads on strongroom.tenants is
    'A host reads the tenant that is bound, a user the tenant of the JWT.';
create policy host_inserts on strongroom.tenants
    for insert
    with check (
        tenant_id = (select strongroom_private.bound_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.tenants is 'Hosts create the tenant that is bound.';
create policy host_updates on strongroom.tenants
    for update
    using (
        tenant_id = (select strongroom_private.bound_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.bound_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.tenants is 'Hosts change the tenant that is bound.';
create policy host_deletes on strongroom.tenants
    for delete
    using (
        tenant_id = (select strongroom_private.bound_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.tenants is 'Hosts purge the tenant that is bound.';

-- SECURITY DEFINER: policies of other tables call it for users, who may be bound by policies that
-- would call it again. It answers only for the tenant that is bound.
create function strongroom_private.is_active_tenant(p_tenant_id text)
returns boolean
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select
        from strongroom.tenants as t
        where t.tenant_id = p_tenant_id
            and t.tenant_id = (select strongroom_private.bound_tenant())
            and t.status = 'active'
    )
$$;
comment on function strongroom_private.is_active_tenant(text) is
    'Whether the bound tenant exists and is not suspended. SECURITY DEFINER, see its comment in the'
    ' migration.';

create function strongroom_private.current_tenant()
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kind text := strongroom_private.caller_kind();
    v_tenant_id text;
begin
    if v_kind = 'host' then
        return nullif(current_setting('strongroom.tenant_id', true), '');
    elsif v_kind = 'user' then
        v_tenant_id := strongroom_private.bound_tenant();
        if strongroom_private.is_active_tenant(v_tenant_id) then
            return v_tenant_id;
        end if;
    end if;
    return null;
end
$$;
comment on function strongroom_private.current_tenant() is
    'The tenant whose rows this statement may see. The bound tenant; for a user null when it is'
    ' suspended.';

create function strongroom_private.enter_tenant(p_tenant_id text, p_viewer_id text default null)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kind text := strongroom_private.caller_kind();
    v_principal_id text;
begin
    perform strongroom_private.check_id('tenant_id', p_tenant_id);
    perform strongroom_private.check_optional_id('viewer_id', p_viewer_id);
    if v_kind = 'host' then
        perform set_config('strongroom.tenant_id', p_tenant_id, true);
        return p_viewer_id;
    end if;
    v_principal_id := strongroom_private.current_principal();
    if v_kind is null
        or strongroom_private.bound_tenant() is null
        or v_principal_id is null
    then
        perform strongroom_private.fail(
            'permission_denied',
            'this caller belongs to no tenant',
            '{"path": "tenant_id"}',
            'Connect as a member of strongroom_host, or sign in with a JWT that has sub and'
            ' app_metadata.tenant_id.'
        );
    end if;
    if strongroom_private.bound_tenant() <> p_tenant_id then
        perform strongroom_private.fail(
            'tenant_mismatch',
            'tenant_id is not the tenant of the caller''s claims',
            '{"path": "tenant_id"}',
            'Call with the tenant of the signed-in user.'
        );
    end if;
    if p_viewer_id <> v_principal_id then
        perform strongroom_private.fail(
            'permission_denied',
            'viewer_id is not the signed-in user',
            '{"path": "viewer_id"}',
            'Leave viewer_id out: a user always sees as themselves.'
        );
    end if;
    if not strongroom_private.is_active_tenant(p_tenant_id) then
        perform strongroom_private.fail(
            'permission_denied',
            'the tenant does not exist or is suspended',
            '{"path": "tenant_id"}',
            'Ask the host to create or resume the tenant.'
        );
    end if;
    return v_principal_id;
end
$$;
comment on function strongroom_private.enter_tenant(text, text) is
    'The first call of every function that reads: bind the tenant for this transaction, and return'
    ' the principal to filter by (a user''s own; for a host the viewer it named, or null for all).'
    ' Errors: SR001, SR004, SR020, SR021.';

create function strongroom_private.tenant_lock_number(p_tenant_id text)
returns bigint
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select hashtextextended(concat_ws(chr(31), 'strongroom.tenant', p_tenant_id), 0)
$$;
comment on function strongroom_private.tenant_lock_number(text) is
    'The advisory lock that writers in one tenant share, and that purging the tenant has alone.';

create function strongroom_private.enter_tenant_to_write(p_tenant_id text)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_viewer_id text := strongroom_private.enter_tenant(p_tenant_id);
    v_status text;
begin
    -- Whoever purges the tenant waits for this transaction before it locks any row, or has it done:
    -- a writer that holds rows never waits for the tenant's.
    perform pg_advisory_xact_lock_shared(strongroom_private.tenant_lock_number(p_tenant_id));
    select t.status
    into v_status
    from strongroom.tenants as t
    where t.tenant_id = p_tenant_id;
    if v_status is null then
        perform strongroom_private.fail(
            'not_found',
            'the tenant does not exist',
            jsonb_build_object('path', 'tenant_id', 'record', 'tenant'),
            'Create it first: create_tenant.'
        );
    elsif v_status <> 'active' then
        perform strongroom_private.fail(
            'permission_denied',
            'the tenant is suspended and takes no writes',
            jsonb_build_object('path', 'tenant_id', 'status', v_status),
            'Resume it first: update_tenant with status active.'
        );
    end if;
    return v_viewer_id;
end
$$;
comment on function strongroom_private.enter_tenant_to_write(text) is
    'The first call of every function that writes: enter_tenant, and the tenant must be active.'
    ' Errors: SR001, SR004, SR010, SR020, SR021.';

create function strongroom_private.hold_active_tenant(p_tenant_id text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    return pg_try_advisory_xact_lock_shared(strongroom_private.tenant_lock_number(p_tenant_id))
        and strongroom_private.is_active_tenant(p_tenant_id);
end
$$;
comment on function strongroom_private.hold_active_tenant(text) is
    'For sweeps of all tenants: enter this one as enter_tenant_to_write does, and say whether it is'
    ' there and active, and nobody is purging it. Nothing waits.';

create function strongroom_private.digest(p_value jsonb)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    -- Numbers are equal by value, as for jsonb, but are written with the digits that they came
    -- with: of 1.0 and 1.50 the last zero goes. Texts are stepped over.
    select encode(
        sha256(convert_to(
            case
                when v.text ~ E'\\.[0-9]*0(?![0-9])' then regexp_replace(
                    regexp_replace(
                        v.text, E'("(?:[^"\\\\]|\\\\.)*")|\\.0+(?=[^0-9]|$)', E'\\1', 'g'
                    ),
                    E'("(?:[^"\\\\]|\\\\.)*")|(\\.[0-9]*[1-9])0+(?=[^0-9]|$)', E'\\1\\2', 'g'
                )
                else v.text
            end,
            'UTF8'
        )),
        'hex'
    )
    from (select p_value::text as text) as v
$$;
comment on function strongroom_private.digest(jsonb) is
    'A hash of a JSON value that does not depend on the order of keys or on white space.';

create function strongroom_private.fail_missed_write(
    p_record text,
    p_expected_version bigint,
    p_current_version bigint
)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_current_version is null then
        perform strongroom_private.fail(
            'not_found',
            format('the %s does not exist', p_record),
            jsonb_build_object('record', p_record),
            'It may have been deleted, or this caller may not see it.'
        );
    end if;
    perform strongroom_private.fail(
        'version_conflict',
        format('the %s has version %s, not %s', p_record, p_current_version, p_expected_version),
        jsonb_build_object(
            'record', p_record,
            'expected_version', p_expected_version,
            'current_version', p_current_version
        ),
        'Read it again, apply the change to what you read, and write with its version.'
    );
end
$$;
comment on function strongroom_private.fail_missed_write(text, bigint, bigint) is
    'Say why a versioned write touched no row: it is gone (SR010) or has changed (SR012).';

create function strongroom_private.check_expected_version(p_expected_version bigint)
returns void
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_expected_version is null or p_expected_version < 0 then
        perform strongroom_private.fail(
            'invalid_argument',
            'expected_version is required',
            '{"path": "expected_version"}',
            'Give the version of the record that you read.'
        );
    end if;
end
$$;
comment on function strongroom_private.check_expected_version(bigint) is
    'No write without the version it is based on. Errors: SR001.';

create function strongroom.create_tenant(
    p_tenant_id text,
    p_name text,
    p_metadata jsonb default '{}'
)
returns table (
    tenant_id text,
    name text,
    status text,
    metadata jsonb,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_digest text;
    v_inserted boolean;
begin
    if not strongroom_private.is_trusted() then
        perform strongroom_private.fail(
            'permission_denied', 'only hosts create tenants', '{}', 'Connect as strongroom_host.'
        );
    end if;
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_name('name', p_name);
    perform strongroom_private.check_object('metadata', p_metadata, 16384);
    v_digest := strongroom_private.digest(jsonb_build_array(p_name, p_metadata));

    insert into strongroom.tenants (tenant_id, name, metadata, creation_digest)
    values (p_tenant_id, p_name, p_metadata, v_digest)
    on conflict on constraint tenants_pkey do nothing;
    v_inserted := found;
    if v_inserted then
        perform strongroom_private.record_audit(
            p_tenant_id, 'tenant.create', 'tenant', p_tenant_id
        );
    end if;

    return query
    select
        t.tenant_id,
        t.name,
        t.status,
        t.metadata,
        t.version,
        t.created_at,
        t.updated_at,
        case when v_inserted then 'inserted' else 'duplicate' end
    from strongroom.tenants as t
    where t.tenant_id = p_tenant_id
        and t.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'a tenant with this id was created with other content',
            jsonb_build_object('path', 'tenant_id', 'record', 'tenant'),
            'Read it and update it, or choose another id.'
        );
    end if;
end
$$;
comment on function strongroom.create_tenant(text, text, jsonb) is
    'Create a tenant. A repeat with the same arguments changes nothing and returns the stored row'
    ' with outcome duplicate. Errors: SR001, SR004, SR011, SR020. Callers: hosts.';

create function strongroom.find_tenant(p_tenant_id text)
returns table (
    tenant_id text,
    name text,
    status text,
    metadata jsonb,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    return query
    select
        t.tenant_id,
        t.name,
        t.status,
        t.metadata,
        t.version,
        t.created_at,
        t.updated_at
    from strongroom.tenants as t
    where t.tenant_id = p_tenant_id;
end
$$;
comment on function strongroom.find_tenant(text) is
    'The tenant, or no row. Errors: SR001, SR020, SR021. Callers: hosts, users for their own'
    ' tenant.';

create function strongroom.update_tenant(
    p_tenant_id text,
    p_changes jsonb,
    p_expected_version bigint,
    p_write_id text default null
)
returns table (
    tenant_id text,
    name text,
    status text,
    metadata jsonb,
    version bigint,
    created_at timestamptz,
    updated_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_current strongroom.tenants;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_expected_version(p_expected_version);
    perform strongroom_private.check_keys('changes', p_changes, '{name,metadata,status}');
    perform strongroom_private.check_text('changes.name', p_changes -> 'name');
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    if p_changes ? 'name' then
        perform strongroom_private.check_name('changes.name', p_changes ->> 'name');
    end if;
    if p_changes ? 'metadata' then
        perform strongroom_private.check_object('changes.metadata', p_changes -> 'metadata', 16384);
    end if;
    if p_changes ? 'status' then
        perform strongroom_private.check_choice(
            'changes.status', p_changes ->> 'status', '{active,suspended}'
        );
    end if;

    update strongroom.tenants as t
    set name = coalesce(p_changes ->> 'name', t.name),
        metadata = coalesce(p_changes -> 'metadata', t.metadata),
        status = coalesce(p_changes ->> 'status', t.status),
        version = t.version + 1,
        last_write_id = p_write_id,
        updated_at = now()
    where t.tenant_id = p_tenant_id
        and t.version = p_expected_version;

    if found then
        perform strongroom_private.record_audit(
            p_tenant_id,
            case p_changes ->> 'status'
                when 'suspended' then 'tenant.suspend'
                when 'active' then 'tenant.resume'
                else 'tenant.update'
            end,
            'tenant',
            p_tenant_id,
            jsonb_build_object(
                'version', p_expected_version + 1,
                'changed', (select jsonb_agg(k order by k) from jsonb_object_keys(p_changes) as k)
            )
        );
    else
        select t.*
        into v_current
        from strongroom.tenants as t
        where t.tenant_id = p_tenant_id;
        -- A repeat of the very same call, whose answer was lost, has happened already.
        if v_current.last_write_id is distinct from p_write_id or p_write_id is null then
            perform strongroom_private.fail_missed_write(
                'tenant', p_expected_version, v_current.version
            );
        end if;
    end if;
    return query
    select f.*
    from strongroom.find_tenant(p_tenant_id) as f;
end
$$;
comment on function strongroom.update_tenant(text, jsonb, bigint, text) is
    'Change name, metadata or status (active, suspended), given the version that was read. Errors:'
    ' SR001, SR004, SR010, SR012, SR020. Callers: hosts.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.tenants',
    p_column => '',
    p_action => 'keep',
    p_reason => 'It names an organisation. What a host keeps in its metadata is the host''s.'
);


-- ---------------------------------------------------------------------------------------------
-- Memberships
-- ---------------------------------------------------------------------------------------------
-- Invariant: a principal is at most once a member of a tenant.

create table strongroom.memberships (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    principal_id text collate "C" not null,
    role_ids text[] collate "C" not null default '{}',
    version bigint not null default 1,
    creation_digest text collate "C" not null,
    last_write_id text collate "C",
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint memberships_pkey primary key (tenant_id, id),
    constraint a_principal_is_a_member_once unique (tenant_id, principal_id),
    constraint membership_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint principal_id_has_1_to_255_characters
        check (char_length(principal_id) between 1 and 255),
    constraint version_is_positive check (version > 0)
);
comment on table strongroom.memberships is
    'Which principals belong to a tenant, and their roles there.';
comment on column strongroom.memberships.tenant_id is 'The tenant.';
comment on column strongroom.memberships.id is 'The membership''s id, for the execution context.';
comment on column strongroom.memberships.principal_id is 'The member: a user or a service.';
comment on column strongroom.memberships.role_ids is 'The member''s roles in the tenant.';
comment on column strongroom.memberships.version is 'One more at every change.';
comment on column strongroom.memberships.creation_digest is
    'Hash of what it was created with, to know a repeated create.';
comment on column strongroom.memberships.last_write_id is
    'Id of the last change, to know a repeated one.';
comment on column strongroom.memberships.created_at is 'When the member was added.';
comment on column strongroom.memberships.updated_at is 'When it last changed.';

create index memberships_by_principal on strongroom.memberships (principal_id, tenant_id);
comment on index strongroom.memberships_by_principal is
    'Where somebody who signs in is a member.';

create function strongroom_private.signing_principal()
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- The setting alone is worth nothing: it counts only where the statement has the owner's
    -- rights, that is, inside the definer function that sets it.
    if current_user = (
        select pg_get_userbyid(n.nspowner)
        from pg_namespace as n
        where n.nspname = 'strongroom'
    ) then
        return nullif(current_setting('strongroom.signing_principal', true), '');
    end if;
    return null;
end
$$;
comment on function strongroom_private.signing_principal() is
    'Whom add_token_claims makes a token for, inside that function; else null.';

alter table strongroom.memberships enable row level security;
alter table strongroom.memberships force row level security;
create policy members_read_their_own on strongroom.memberships
    for select
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (
                (select strongroom_private.is_trusted())
                or principal_id = (select strongroom_private.current_principal())
            )
        )
        or principal_id = (select strongroom_private.signing_principal())
    );
comment on policy members_read_their_own on strongroom.memberships is
    'A host reads the bound tenant''s members, a user only their own membership; signing in, those'
    ' of the one who signs in.';
create policy host_inserts on strongroom.memberships
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_inserts on strongroom.memberships is 'Hosts add members.';
create policy host_updates on strongroom.memberships
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_updates on strongroom.memberships is 'Hosts set roles.';
create policy host_deletes on strongroom.memberships
    for delete
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy host_deletes on strongroom.memberships is 'Hosts remove members.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.memberships',
    p_column => 'principal_id',
    p_action => 'delete',
    p_reason => 'Who has been erased is a member of nothing.'
);

create function strongroom.add_member(
    p_tenant_id text,
    p_principal_id text,
    p_role_ids text[] default '{}',
    p_membership_id text default null
)
returns table (
    tenant_id text,
    id text,
    principal_id text,
    role_ids text[],
    version bigint,
    created_at timestamptz,
    updated_at timestamptz,
    outcome text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_digest text;
    v_id text := coalesce(p_membership_id, gen_random_uuid()::text);
    v_inserted boolean;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_ids('role_ids', p_role_ids);
    perform strongroom_private.check_id('membership_id', v_id);
    v_digest := strongroom_private.digest(jsonb_build_array(p_principal_id, p_role_ids));

    insert into strongroom.memberships (tenant_id, id, principal_id, role_ids, creation_digest)
    values (p_tenant_id, v_id, p_principal_id, p_role_ids, v_digest)
    on conflict do nothing;
    v_inserted := found;
    if v_inserted then
        perform strongroom_private.record_audit(
            p_tenant_id, 'member.add', 'membership', v_id,
            strongroom_private.outline_ids('role', p_role_ids), p_principal_id => p_principal_id
        );
    end if;

    return query
    select
        m.tenant_id,
        m.id,
        m.principal_id,
        m.role_ids,
        m.version,
        m.created_at,
        m.updated_at,
        case when v_inserted then 'inserted' else 'duplicate' end
    from strongroom.memberships as m
    where m.tenant_id = p_tenant_id
        and m.id = v_id
        and m.creation_digest = v_digest;
    if not found then
        perform strongroom_private.fail(
            'already_exists',
            'this principal is a member already, or the membership id is taken',
            jsonb_build_object('path', 'principal_id', 'record', 'membership'),
            'Read the membership and set its roles.'
        );
    end if;
end
$$;
comment on function strongroom.add_member(text, text, text[], text) is
    'Add a principal to a tenant. A repeat with the same membership id and arguments changes'
    ' nothing. Errors: SR001, SR004, SR010, SR011, SR020. Callers: hosts.';

create function strongroom.find_member(p_tenant_id text, p_principal_id text)
returns table (
    tenant_id text,
    id text,
    principal_id text,
    role_ids text[],
    version bigint,
    created_at timestamptz,
    updated_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('principal_id', p_principal_id);
    return query
    select
        m.tenant_id,
        m.id,
        m.principal_id,
        m.role_ids,
        m.version,
        m.created_at,
        m.updated_at
    from strongroom.memberships as m
    where m.tenant_id = p_tenant_id
        and m.principal_id = p_principal_id;
end
$$;
comment on function strongroom.find_member(text, text) is
    'A principal''s membership, or no row. Errors: SR001, SR020, SR021. Callers: hosts, users for'
    ' their own.';

create function strongroom.set_member_roles(
    p_tenant_id text,
    p_principal_id text,
    p_role_ids text[],
    p_expected_version bigint,
    p_write_id text default null
)
returns table (
    tenant_id text,
    id text,
    principal_id text,
    role_ids text[],
    version bigint,
    created_at timestamptz,
    updated_at timestamptz
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_current strongroom.memberships;
    v_id text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('principal_id', p_principal_id);
    perform strongroom_private.check_ids('role_ids', p_role_ids);
    perform strongroom_private.check_optional_id('write_id', p_write_id);
    perform strongroom_private.check_expected_version(p_expected_version);

    update strongroom.memberships as m
    set role_ids = p_role_ids,
        version = m.version + 1,
        last_write_id = p_write_id,
        updated_at = now()
    where m.tenant_id = p_tenant_id
        and m.principal_id = p_principal_id
        and m.version = p_expected_version
    returning m.id into v_id;

    if found then
        perform strongroom_private.record_audit(
            p_tenant_id, 'member.set_roles', 'membership', v_id,
            strongroom_private.outline_ids('role', p_role_ids)
            || jsonb_build_object('version', p_expected_version + 1),
            p_principal_id => p_principal_id
        );
    else
        select m.*
        into v_current
        from strongroom.memberships as m
        where m.tenant_id = p_tenant_id
            and m.principal_id = p_principal_id;
        if v_current.last_write_id is distinct from p_write_id or p_write_id is null then
            perform strongroom_private.fail_missed_write(
                'membership', p_expected_version, v_current.version
            );
        end if;
    end if;
    return query
    select f.*
    from strongroom.find_member(p_tenant_id, p_principal_id) as f;
end
$$;
comment on function strongroom.set_member_roles(text, text, text[], bigint, text) is
    'Set a member''s roles, given the version that was read. Errors: SR001, SR004, SR010, SR012,'
    ' SR020. Callers: hosts.';

create function strongroom.remove_member(p_tenant_id text, p_principal_id text)
returns table (removed boolean)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_id text;
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    perform strongroom_private.check_id('principal_id', p_principal_id);
    delete from strongroom.memberships as m
    where m.tenant_id = p_tenant_id
        and m.principal_id = p_principal_id
    returning m.id into v_id;
    removed := found;
    if removed then
        perform strongroom_private.record_audit(
            p_tenant_id, 'member.remove', 'membership', v_id, p_principal_id => p_principal_id
        );
    end if;
    return next;
end
$$;
comment on function strongroom.remove_member(text, text) is
    'Remove a principal from a tenant; says whether there was one. What the principal owns stays.'
    ' Errors: SR001, SR010, SR020. Callers: hosts.';

-- SECURITY DEFINER: Supabase Auth calls it, as supabase_auth_admin, before there is a token that a
-- policy could ask. It reads the memberships of the one principal whom Auth names, nothing else.
create function strongroom_private.add_token_claims(p_event jsonb)
returns jsonb
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_claims jsonb := coalesce(nullif(p_event -> 'claims', 'null'), '{}');
    v_metadata jsonb;
    v_wanted text;
    v_member strongroom.memberships;
    v_count bigint;
begin
    -- Only what a host wrote: user_metadata, which users write, is not looked at.
    v_metadata := case jsonb_typeof(v_claims -> 'app_metadata')
        when 'object' then v_claims -> 'app_metadata' else '{}'
    end;
    v_wanted := strongroom_private.read_text_claim(v_metadata, '{tenant_id}');
    perform set_config('strongroom.signing_principal', coalesce(p_event ->> 'user_id', ''), true);
    select count(*)
    into v_count
    from strongroom.memberships as m
    where m.principal_id = (select strongroom_private.signing_principal())
        and (v_wanted is null or m.tenant_id = v_wanted);
    -- Who is a member of several tenants, and of whom no host has said which, belongs to none.
    if v_count = 1 then
        select m.*
        into v_member
        from strongroom.memberships as m
        where m.principal_id = (select strongroom_private.signing_principal())
            and (v_wanted is null or m.tenant_id = v_wanted);
    end if;
    perform set_config('strongroom.signing_principal', '', true);
    v_metadata := v_metadata - '{tenant_id,role_ids}'::text[];
    if v_count = 1 then
        v_metadata := v_metadata || jsonb_build_object(
            'tenant_id', v_member.tenant_id, 'role_ids', to_jsonb(v_member.role_ids)
        );
    end if;
    return p_event || jsonb_build_object(
        'claims', v_claims || jsonb_build_object('app_metadata', v_metadata)
    );
end
$$;
comment on function strongroom_private.add_token_claims(jsonb) is
    'Supabase''s custom access token hook: puts tenant and roles of the user''s membership into'
    ' app_metadata of the token, and takes out what memberships do not say. A member of several'
    ' tenants gets the one in app_metadata.tenant_id of the user, which hosts set. SECURITY'
    ' DEFINER, see its comment in the migration. Callers: supabase_auth_admin.';

create function strongroom.list_members(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward'
)
returns table (
    tenant_id text,
    id text,
    principal_id text,
    role_ids text[],
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
#variable_conflict use_column
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text := strongroom_private.cursor_scope('members', '{}', p_direction);
    v_key text;
    v_descending boolean;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    v_key := (strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    ))[1];
    v_descending := (p_direction = 'backward') <> (p_before is not null);
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.id,
                s.principal_id,
                s.role_ids,
                s.version,
                s.created_at,
                s.updated_at,
                strongroom_private.encode_cursor($3, array[s.principal_id]),
                s.total > $4
            from (
                select
                    m.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select m.*
                    from strongroom.memberships as m
                    where m.tenant_id = $1
                        and ($2 is null or m.principal_id %1$s $2)
                    order by m.principal_id %2$s
                    limit $4 + 1
                ) as m
            ) as s
            where s.place <= $4
            order by s.principal_id %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using p_tenant_id, v_key, v_scope, p_limit;
end
$$;
comment on function strongroom.list_members(text, integer, text, text, text) is
    'A page of a tenant''s members by principal id. has_more: whether rows follow in the paging'
    ' direction. Errors: SR001, SR002, SR004, SR020, SR021. Callers: hosts, users for their own'
    ' row.';


-- ---------------------------------------------------------------------------------------------
-- Audit
-- ---------------------------------------------------------------------------------------------
-- Invariants: what has changed the security of a tenant's data is recorded in the transaction that
-- changed it, by the function that did. Events are never updated and leave only with their tenant;
-- hosts alone read them. Writers never wait for each other: there is no chain and no counter when
-- an event is written, and a later sweep seals what is there.
-- People: an event names the one who acted and the one it is about in columns of their own. What is
-- sealed is not the name but its hash with a random salt, so that forgetting a person (name and
-- salt become null) leaves a chain that still verifies and tells nobody who it was.

create sequence strongroom.audit_sequence as bigint maxvalue 9007199254740991;
comment on sequence strongroom.audit_sequence is
    'The order in which audit events were recorded. Safe as a JavaScript number; gaps are normal.';

create function strongroom_private.digest_person(p_salt uuid, p_principal_id text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select encode(sha256(convert_to(p_salt::text || p_principal_id, 'UTF8')), 'hex')
$$;
comment on function strongroom_private.digest_person(uuid, text) is
    'What stands for a person in a chain of hashes; null without one. Without the salt nobody can'
    ' tell whose it is.';

create function strongroom_private.outline_ids(p_name text, p_ids text[])
returns jsonb
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select jsonb_build_object(
        p_name || '_count', cardinality(p_ids),
        p_name || '_ids', to_jsonb(p_ids[1:8])
    )
$$;
comment on function strongroom_private.outline_ids(text, text[]) is
    'How many ids there are and the first eight, for the details of an audit event: a long list is'
    ' told by its length.';

create function strongroom_private.keep_ledger()
returns trigger
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_old jsonb;
    v_new jsonb;
begin
    -- A cascading delete comes when the tenant is already gone; nothing else may delete.
    if tg_op = 'DELETE' and tg_level = 'ROW' then
        if not exists (
            select
            from strongroom.tenants as t
            where t.tenant_id = old.tenant_id
        ) then
            return old;
        end if;
    elsif tg_op = 'UPDATE' then
        v_old := to_jsonb(old);
        v_new := to_jsonb(new);
        if not exists (
            select
            from jsonb_each(v_new) as c (name, value)
            where c.value <> v_old -> c.name
                and not (c.value = 'null' and 'clear ' || c.name = any (tg_argv))
                and not (v_old -> c.name = 'null' and 'once ' || c.name = any (tg_argv))
        ) then
            return new;
        end if;
    end if;
    perform strongroom_private.fail(
        'permission_denied',
        format('%s.%s is insert-only: %s is refused', tg_table_schema, tg_table_name, tg_op),
        jsonb_build_object('table', format('%s.%s', tg_table_schema, tg_table_name)),
        'Append a new record. Rows leave with their tenant: purge_tenant.'
    );
    return null;
end
$$;
comment on function strongroom_private.keep_ledger() is
    'For triggers of ledgers: rows are never updated, and leave only with their tenant. The'
    ' arguments name the exceptions: `clear x`, a column that becomes null when a person is'
    ' forgotten; `once x`, one that is written later, and then stays.';

create table strongroom.audit_events (
    tenant_id text collate "C" not null,
    id text collate "C" not null,
    sequence bigint not null default nextval('strongroom.audit_sequence'),
    action text collate "C" not null,
    record text collate "C" not null,
    record_id text collate "C" not null,
    details jsonb not null default '{}',
    source text collate "C" not null default 'strongroom',
    actor_id text collate "C",
    actor_salt uuid,
    actor_digest text collate "C",
    principal_id text collate "C",
    principal_salt uuid,
    principal_digest text collate "C",
    position bigint,
    chain_digest text collate "C",
    created_at timestamptz not null default now(),
    constraint audit_events_pkey primary key (tenant_id, id),
    constraint a_place_in_the_chain_is_taken_once unique (tenant_id, position),
    constraint audit_event_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint id_has_1_to_255_characters check (char_length(id) between 1 and 255),
    constraint action_is_a_noun_and_a_verb
        check (action ~ E'^[a-z][a-z_]*\\.[a-z][a-z_]*$' and char_length(action) <= 255),
    constraint record_has_1_to_255_characters check (char_length(record) between 1 and 255),
    constraint record_id_has_1_to_255_characters check (char_length(record_id) between 1 and 255),
    constraint details_are_an_object check (jsonb_typeof(details) = 'object'),
    constraint details_have_at_most_16_kib check (octet_length(details::text) <= 16384),
    constraint source_is_strongroom_or_host check (source in ('strongroom', 'host')),
    constraint actor_id_has_1_to_255_characters check (char_length(actor_id) between 1 and 255),
    constraint principal_id_has_1_to_255_characters
        check (char_length(principal_id) between 1 and 255),
    constraint a_person_has_a_salt
        check (
            (actor_id is null) = (actor_salt is null)
            and (principal_id is null) = (principal_salt is null)
        ),
    constraint a_person_has_a_digest
        check (
            (actor_id is null or actor_digest is not null)
            and (principal_id is null or principal_digest is not null)
        ),
    constraint position_is_positive check (position > 0),
    constraint a_sealed_event_has_a_digest check ((position is null) = (chain_digest is null))
);
comment on table strongroom.audit_events is
    'What changed the security of a tenant''s data, and what the host adds. Insert-only; leaves'
    ' only with its tenant. For hosts.';
comment on column strongroom.audit_events.tenant_id is 'The tenant.';
comment on column strongroom.audit_events.id is 'The event''s id.';
comment on column strongroom.audit_events.sequence is
    'The order of recording; gaps are normal, and it is not the order of commits.';
comment on column strongroom.audit_events.action is
    'What happened, as noun.verb: conversation.share, grant.revoke.';
comment on column strongroom.audit_events.record is 'The kind of record it happened to.';
comment on column strongroom.audit_events.record_id is 'That record; it may be gone by now.';
comment on column strongroom.audit_events.details is
    'Ids, versions and states, at most 16 KiB. Never content, never names of people.';
comment on column strongroom.audit_events.source is
    'strongroom: written by the function that did it. host: appended by the host.';
comment on column strongroom.audit_events.actor_id is
    'Who acted, where that is known. Null also when the person was erased.';
comment on column strongroom.audit_events.actor_salt is 'A random salt; gone with the name.';
comment on column strongroom.audit_events.actor_digest is
    'The hash of salt and name, which the chain covers.';
comment on column strongroom.audit_events.principal_id is
    'Whom it is about: a member, who was given access. Null also when the person was erased.';
comment on column strongroom.audit_events.principal_salt is 'A random salt; gone with the name.';
comment on column strongroom.audit_events.principal_digest is
    'The hash of salt and name, which the chain covers.';
comment on column strongroom.audit_events.position is
    'Its place in the tenant''s chain: 1, 2, 3, ... without gaps. Null until it is sealed.';
comment on column strongroom.audit_events.chain_digest is
    'The hash of the event and of all before it in the chain. Null until it is sealed.';
comment on column strongroom.audit_events.created_at is
    'When its transaction began; with sequence the order of lists.';

create index audit_events_by_time
    on strongroom.audit_events (tenant_id, created_at, sequence);
comment on index strongroom.audit_events_by_time is 'For pages of all events.';
create index audit_events_by_action
    on strongroom.audit_events (tenant_id, action, created_at, sequence);
comment on index strongroom.audit_events_by_action is 'For pages of one action.';
create index audit_events_by_record
    on strongroom.audit_events (tenant_id, record, record_id, created_at, sequence);
comment on index strongroom.audit_events_by_record is 'For pages of one record.';
create index audit_events_by_actor
    on strongroom.audit_events (tenant_id, actor_id, created_at, sequence)
    where actor_id is not null;
comment on index strongroom.audit_events_by_actor is 'For pages of one actor, and to forget one.';
create index audit_events_by_principal
    on strongroom.audit_events (tenant_id, principal_id, created_at, sequence)
    where principal_id is not null;
comment on index strongroom.audit_events_by_principal is
    'For pages of what is about one person, and to forget one.';
create index unsealed_audit_events
    on strongroom.audit_events (tenant_id, sequence)
    where position is null;
comment on index strongroom.unsealed_audit_events is 'What the next sweep seals.';

create trigger audit_events_are_insert_only
    before update or delete on strongroom.audit_events
    for each row
    execute function strongroom_private.keep_ledger(
        'clear actor_id',
        'clear actor_salt',
        'clear principal_id',
        'clear principal_salt',
        'once position',
        'once chain_digest'
    );
comment on trigger audit_events_are_insert_only on strongroom.audit_events is 'See keep_ledger.';
create trigger audit_events_are_never_truncated
    before truncate on strongroom.audit_events
    for each statement
    execute function strongroom_private.keep_ledger();
comment on trigger audit_events_are_never_truncated on strongroom.audit_events is
    'See keep_ledger.';

alter table strongroom.audit_events enable row level security;
alter table strongroom.audit_events force row level security;
create policy hosts_read on strongroom.audit_events
    for select
    using (
        (
            tenant_id = (select strongroom_private.current_tenant())
            and (select strongroom_private.is_trusted())
        )
        or (select strongroom_private.is_dispatching())
    );
comment on policy hosts_read on strongroom.audit_events is
    'Hosts alone read the audit; and the dispatcher, which says whose is to be sealed.';
create policy trusted_inserts on strongroom.audit_events
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.audit_events is
    'Functions that hosts call, and those that users may call with the owner''s rights.';
create policy trusted_updates on strongroom.audit_events
    for update
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    )
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_updates on strongroom.audit_events is
    'For the functions that seal, and that forget a person; hosts have no right to update.';

create function strongroom_private.erase_audited_actor(p_tenant_id text, p_principal_id text)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count bigint;
begin
    update strongroom.audit_events as e
    set actor_id = null,
        actor_salt = null
    where e.tenant_id = p_tenant_id
        and e.actor_id = p_principal_id;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function strongroom_private.erase_audited_actor(text, text) is
    'Erasure: who acted is forgotten, name and salt; the chain of hashes'
    ' still verifies. Returns how many events.';

create function strongroom_private.erase_audited_principal(p_tenant_id text, p_principal_id text)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_count bigint;
begin
    update strongroom.audit_events as e
    set principal_id = null,
        principal_salt = null
    where e.tenant_id = p_tenant_id
        and e.principal_id = p_principal_id;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
comment on function strongroom_private.erase_audited_principal(text, text) is
    'Erasure: whom an event is about is forgotten, name and salt; the chain of hashes'
    ' still verifies. Returns how many events.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.audit_events',
    p_column => 'actor_id',
    p_action => 'handle',
    p_reason => 'That it happened stays. Name and salt go: the hash tells nobody who it was.',
    p_handler => 'strongroom_private.erase_audited_actor'
);
select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.audit_events',
    p_column => 'principal_id',
    p_action => 'handle',
    p_reason => 'That it happened stays. Name and salt go: the hash tells nobody who it was.',
    p_handler => 'strongroom_private.erase_audited_principal'
);

create function strongroom_private.record_audit(
    p_tenant_id text,
    p_action text,
    p_record text,
    p_record_id text,
    p_details jsonb default '{}',
    p_actor_id text default null,
    p_principal_id text default null
)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
    insert into strongroom.audit_events (
        tenant_id,
        id,
        action,
        record,
        record_id,
        details,
        actor_id,
        actor_salt,
        actor_digest,
        principal_id,
        principal_salt,
        principal_digest
    )
    select
        p_tenant_id,
        s.id::text,
        p_action,
        p_record,
        p_record_id,
        p_details,
        s.actor_id,
        s.actor_salt,
        strongroom_private.digest_person(s.actor_salt, s.actor_id),
        p_principal_id,
        s.principal_salt,
        strongroom_private.digest_person(s.principal_salt, p_principal_id)
    from (
        select
            gen_random_uuid() as id,
            a.actor_id,
            case when a.actor_id is not null then gen_random_uuid() end as actor_salt,
            case when p_principal_id is not null then gen_random_uuid() end as principal_salt
        -- A user acts as themselves.
        from (
            select coalesce(p_actor_id, strongroom_private.current_principal()) as actor_id
        ) as a
    ) as s
$$;
comment on function strongroom_private.record_audit(
    text, text, text, text, jsonb, text, text
) is
    'Record an audit event, in the transaction of what it tells: for functions that change what'
    ' matters for security. p_actor_id is who acts, p_principal_id whom it is about; details name'
    ' ids, versions and states, never content and never people.';

create table strongroom.audit_seals (
    tenant_id text collate "C" not null,
    number bigint not null,
    first_position bigint not null,
    last_position bigint not null,
    previous_digest text collate "C" not null,
    digest text collate "C" not null,
    created_at timestamptz not null default now(),
    constraint audit_seals_pkey primary key (tenant_id, number),
    constraint seal_belongs_to_a_tenant
        foreign key (tenant_id)
        references strongroom.tenants (tenant_id)
        on delete cascade,
    constraint number_is_positive check (number > 0),
    constraint a_seal_has_events check (first_position between 1 and last_position)
);
comment on table strongroom.audit_seals is
    'The batches in which a tenant''s audit was sealed. Insert-only; leaves only with its tenant.'
    ' For hosts.';
comment on column strongroom.audit_seals.tenant_id is 'The tenant.';
comment on column strongroom.audit_seals.number is '1, 2, 3, ... within the tenant.';
comment on column strongroom.audit_seals.first_position is
    'The first place in the chain that it covers.';
comment on column strongroom.audit_seals.last_position is 'The last one.';
comment on column strongroom.audit_seals.previous_digest is
    'The digest of the seal before; empty for the first.';
comment on column strongroom.audit_seals.digest is
    'The chain''s hash at its last place. Kept elsewhere, it proves the whole chain up to there.';
comment on column strongroom.audit_seals.created_at is 'When it was sealed.';

create index audit_seals_by_last_position
    on strongroom.audit_seals (tenant_id, last_position);
comment on index strongroom.audit_seals_by_last_position is
    'Which seal ends where: a verification asks it for each event.';

create trigger audit_seals_are_insert_only
    before update or delete on strongroom.audit_seals
    for each row
    execute function strongroom_private.keep_ledger();
comment on trigger audit_seals_are_insert_only on strongroom.audit_seals is 'See keep_ledger.';
create trigger audit_seals_are_never_truncated
    before truncate on strongroom.audit_seals
    for each statement
    execute function strongroom_private.keep_ledger();
comment on trigger audit_seals_are_never_truncated on strongroom.audit_seals is 'See keep_ledger.';

alter table strongroom.audit_seals enable row level security;
alter table strongroom.audit_seals force row level security;
create policy hosts_read on strongroom.audit_seals
    for select
    using (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy hosts_read on strongroom.audit_seals is 'Hosts alone read the audit.';
create policy trusted_inserts on strongroom.audit_seals
    for insert
    with check (
        tenant_id = (select strongroom_private.current_tenant())
        and (select strongroom_private.is_trusted())
    );
comment on policy trusted_inserts on strongroom.audit_seals is 'Hosts, by seal_audit.';

select strongroom_private.publish_erasure_rule(
    p_table => 'strongroom.audit_seals',
    p_column => '',
    p_action => 'keep',
    p_reason => 'It holds places and hashes, and no person.'
);

create function strongroom_private.find_audit_problem(p_event jsonb)
returns text[]
language plpgsql
immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_field text;
    v_value jsonb;
begin
    if jsonb_typeof(p_event) is distinct from 'object' then
        return array['invalid_argument', '', 'must be a JSON object'];
    end if;
    for v_field, v_value in
        select
            f.key,
            f.value
        from jsonb_each(p_event) as f
        where f.value <> 'null'
        order by f.key
    loop
        if v_field in ('id', 'action', 'record', 'record_id', 'actor_id', 'principal_id') then
            if jsonb_typeof(v_value) <> 'string' then
                return array['invalid_argument', v_field, 'must be a text'];
            elsif v_value = '""' then
                return array['invalid_argument', v_field, 'is empty'];
            elsif char_length(v_value #>> '{}') > 255 then
                return array['limit_exceeded', v_field, 'has more than 255 characters'];
            elsif strongroom_private.is_wide(v_value #>> '{}') then
                return array[
                    'limit_exceeded',
                    v_field,
                    'has more than 765 bytes of more than 60 different characters'
                ];
            elsif v_field = 'action' and v_value #>> '{}' !~ E'^[a-z][a-z_]*\\.[a-z][a-z_]*$' then
                return array['invalid_argument', v_field, 'must be a noun.verb in lower case'];
            end if;
        elsif v_field = 'details' then
            if jsonb_typeof(v_value) <> 'object' then
                return array['invalid_argument', v_field, 'must be a JSON object'];
            elsif octet_length(v_value::text) > 16384 then
                return array['limit_exceeded', v_field, 'has more than 16384 bytes'];
            end if;
        else
            return array['invalid_argument', v_field, 'is not a known field'];
        end if;
    end loop;
    foreach v_field in array '{action,record,record_id}'::text[] loop
        if coalesce(jsonb_typeof(p_event -> v_field), 'null') = 'null' then
            return array['invalid_argument', v_field, 'is required'];
        end if;
    end loop;
    return null;
end
$$;
comment on function strongroom_private.find_audit_problem(jsonb) is
    'What is wrong with an audit event: the error''s name, the field and the reason; null when it'
    ' is sound.';

create function strongroom.append_audit_events(p_tenant_id text, p_events jsonb)
returns table (
    tenant_id text,
    id text,
    sequence bigint,
    action text,
    record text,
    record_id text,
    details jsonb,
    source text,
    actor_id text,
    principal_id text,
    "position" bigint,
    chain_digest text,
    created_at timestamptz,
    outcome text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_problem text[];
    v_event record;
    v_inserted text[];
    v_ids text[];
begin
    perform strongroom_private.enter_tenant_to_write(p_tenant_id);
    if jsonb_typeof(p_events) is distinct from 'array' or p_events = '[]'::jsonb then
        perform strongroom_private.fail(
            'invalid_argument', 'events must be a list of at least one event',
            '{"path": "events"}', 'Give 1 to 500 events.'
        );
    elsif jsonb_array_length(p_events) > 500 then
        perform strongroom_private.fail(
            'limit_exceeded',
            format('events has %s entries; a batch has at most 500', jsonb_array_length(p_events)),
            jsonb_build_object(
                'path', 'events', 'limit', 500, 'actual', jsonb_array_length(p_events)
            ),
            'Append in batches of up to 500.'
        );
    end if;
    for v_index in 0 .. jsonb_array_length(p_events) - 1 loop
        v_problem := strongroom_private.find_audit_problem(p_events -> v_index);
        if v_problem is not null then
            v_problem[2] := format('events[%s]', v_index)
                || case v_problem[2] when '' then '' else '.' || v_problem[2] end;
            perform strongroom_private.fail(
                v_problem[1],
                format('%s %s', v_problem[2], v_problem[3]),
                jsonb_build_object('path', v_problem[2], 'reason', v_problem[3]),
                'Mend it and repeat the whole batch; nothing was written.'
            );
        end if;
        v_ids := v_ids || coalesce(p_events -> v_index ->> 'id', gen_random_uuid()::text);
    end loop;
    if (select count(distinct i) from unnest(v_ids) as i) < cardinality(v_ids) then
        perform strongroom_private.fail(
            'invalid_argument', 'events names an id twice', '{"path": "events"}',
            'Each event of a batch has its own id.'
        );
    end if;
    for v_event in
        select
            e.value,
            v_ids[e.place] as id,
            e.place,
            gen_random_uuid() as actor_salt,
            gen_random_uuid() as principal_salt
        from jsonb_array_elements(p_events) with ordinality as e (value, place)
        -- One order for all writers, so that two batches of the same cannot deadlock.
        order by v_ids[e.place] collate "C"
    loop
        insert into strongroom.audit_events (
            tenant_id, id, action, record, record_id, details, source,
            actor_id, actor_salt, actor_digest,
            principal_id, principal_salt, principal_digest
        )
        values (
            p_tenant_id, v_event.id, v_event.value ->> 'action', v_event.value ->> 'record',
            v_event.value ->> 'record_id',
            coalesce(nullif(v_event.value -> 'details', 'null'), '{}'), 'host',
            v_event.value ->> 'actor_id',
            case when v_event.value ->> 'actor_id' is not null then v_event.actor_salt end,
            strongroom_private.digest_person(v_event.actor_salt, v_event.value ->> 'actor_id'),
            v_event.value ->> 'principal_id',
            case when v_event.value ->> 'principal_id' is not null then v_event.principal_salt end,
            strongroom_private.digest_person(
                v_event.principal_salt, v_event.value ->> 'principal_id'
            )
        )
        on conflict on constraint audit_events_pkey do nothing;
        if found then
            v_inserted := v_inserted || v_event.id;
        end if;
    end loop;
    return query
    select
        a.tenant_id,
        a.id,
        a.sequence,
        a.action,
        a.record,
        a.record_id,
        a.details,
        a.source,
        a.actor_id,
        a.principal_id,
        a.position,
        a.chain_digest,
        a.created_at,
        case
            when a.id = any (v_inserted) then 'inserted'
            when a.source = 'host'
                and a.action = e.value ->> 'action'
                and a.record = e.value ->> 'record'
                and a.record_id = e.value ->> 'record_id'
                and a.details = coalesce(nullif(e.value -> 'details', 'null'), '{}')
                -- Erasure has forgotten the person, and not what happened.
                and (a.actor_digest is null) = (e.value ->> 'actor_id' is null)
                and coalesce(a.actor_id = e.value ->> 'actor_id', true)
                and (a.principal_digest is null) = (e.value ->> 'principal_id' is null)
                and coalesce(a.principal_id = e.value ->> 'principal_id', true)
            then 'duplicate'
            else 'conflict'
        end
    from unnest(v_ids) with ordinality as i (id, place)
    inner join strongroom.audit_events as a
        on a.tenant_id = p_tenant_id
        and a.id = i.id
    cross join lateral (select p_events -> (i.place::integer - 1) as value) as e
    order by i.place;
end
$$;
comment on function strongroom.append_audit_events(text, jsonb) is
    'Append 1 to 500 events of the host''s own, all or none: {id, action, record, record_id,'
    ' details, actor_id, principal_id}. An event is known by its id: a duplicate changes nothing,'
    ' another with the id is a conflict, which changes nothing either. details never hold content'
    ' or names of people. Errors: SR001, SR004, SR010, SR020. Callers: hosts.';

create function strongroom.find_audit_event(p_tenant_id text, p_event_id text)
returns table (
    tenant_id text,
    id text,
    sequence bigint,
    action text,
    record text,
    record_id text,
    details jsonb,
    source text,
    actor_id text,
    principal_id text,
    "position" bigint,
    chain_digest text,
    created_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_id('event_id', p_event_id);
    return query
    select
        a.tenant_id,
        a.id,
        a.sequence,
        a.action,
        a.record,
        a.record_id,
        a.details,
        a.source,
        a.actor_id,
        a.principal_id,
        a.position,
        a.chain_digest,
        a.created_at
    from strongroom.audit_events as a
    where a.tenant_id = p_tenant_id
        and a.id = p_event_id;
end
$$;
comment on function strongroom.find_audit_event(text, text) is
    'One audit event, or no row. Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom.list_audit_events(
    p_tenant_id text,
    p_limit integer default 50,
    p_after text default null,
    p_before text default null,
    p_direction text default 'forward',
    p_action text default null,
    p_record text default null,
    p_record_id text default null,
    p_actor_id text default null,
    p_principal_id text default null,
    p_since timestamptz default null,
    p_until timestamptz default null
)
returns table (
    tenant_id text,
    id text,
    sequence bigint,
    action text,
    record text,
    record_id text,
    details jsonb,
    source text,
    actor_id text,
    principal_id text,
    "position" bigint,
    chain_digest text,
    created_at timestamptz,
    cursor text,
    has_more boolean
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
-- @plpgsql_check_options: extra_warnings = off
declare
    v_scope text;
    v_keys text[];
    v_descending boolean := (p_direction = 'backward') <> (p_before is not null);
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_page(p_limit, p_after, p_before, p_direction);
    perform strongroom_private.check_moment('since', p_since);
    perform strongroom_private.check_moment('until', p_until);
    v_scope := strongroom_private.cursor_scope(
        'audit_events',
        jsonb_build_array(
            p_action, p_record, p_record_id, p_actor_id, p_principal_id,
            strongroom_private.to_microseconds(p_since), strongroom_private.to_microseconds(p_until)
        ),
        p_direction
    );
    v_keys := strongroom_private.decode_cursor(
        case when p_before is null then 'after' else 'before' end,
        coalesce(p_after, p_before),
        v_scope
    );
    return query execute format(
        $query$
            select
                s.tenant_id,
                s.id,
                s.sequence,
                s.action,
                s.record,
                s.record_id,
                s.details,
                s.source,
                s.actor_id,
                s.principal_id,
                s.position,
                s.chain_digest,
                s.created_at,
                strongroom_private.encode_cursor(
                    $3,
                    array[strongroom_private.to_microseconds(s.created_at), s.sequence::text]
                ),
                s.total > $4
            from (
                select
                    a.*,
                    row_number() over () as place,
                    count(*) over () as total
                from (
                    select a.*
                    from strongroom.audit_events as a
                    where a.tenant_id = $1
                        and ($2 is null or (a.created_at, a.sequence) %1$s (
                            strongroom_private.from_microseconds($2[1]), $2[2]::bigint
                        ))
                        and ($5 is null or a.action = $5)
                        and ($6 is null or a.record = $6)
                        and ($7 is null or a.record_id = $7)
                        and ($8 is null or a.actor_id = $8)
                        and ($9 is null or a.principal_id = $9)
                        and ($10 is null or a.created_at >= $10)
                        and ($11 is null or a.created_at < $11)
                    order by a.created_at %2$s, a.sequence %2$s
                    limit $4 + 1
                ) as a
            ) as s
            where s.place <= $4
            order by s.created_at %3$s, s.sequence %3$s
        $query$,
        case when v_descending then '<' else '>' end,
        case when v_descending then 'desc' else 'asc' end,
        case p_direction when 'backward' then 'desc' else 'asc' end
    )
    using
        p_tenant_id, v_keys, v_scope, p_limit, p_action, p_record, p_record_id, p_actor_id,
        p_principal_id, p_since, p_until;
end
$$;
comment on function strongroom.list_audit_events(
    text, integer, text, text, text, text, text, text, text, text, timestamptz, timestamptz
) is
    'A page of audit events by the time they were recorded, since (inclusive) and until'
    ' (exclusive). Errors: SR001, SR002, SR004, SR020. Callers: hosts.';

create function strongroom_private.digest_audit_event(p_event strongroom.audit_events)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select strongroom_private.digest(jsonb_build_array(
        p_event.tenant_id,
        p_event.id,
        p_event.sequence,
        p_event.action,
        p_event.record,
        p_event.record_id,
        p_event.details,
        p_event.source,
        p_event.actor_digest,
        p_event.principal_digest,
        strongroom_private.to_microseconds(p_event.created_at)
    ))
$$;
comment on function strongroom_private.digest_audit_event(strongroom.audit_events) is
    'The hash of what an event says; of people it covers their salted hashes.';

create function strongroom_private.link_digest(
    p_previous text, p_position bigint, p_event_digest text
)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select encode(
        sha256(convert_to(concat_ws(':', p_previous, p_position, p_event_digest), 'UTF8')), 'hex'
    )
$$;
comment on function strongroom_private.link_digest(text, bigint, text) is
    'The hash of an event at its place in the chain, on top of all before it.';

create function strongroom_private.audit_lock_number(p_tenant_id text)
returns bigint
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
    select hashtextextended(concat_ws(chr(31), 'strongroom.audit_seal', p_tenant_id), 0)
$$;
comment on function strongroom_private.audit_lock_number(text) is
    'The advisory lock that sealers of one tenant take, and erasures in it; nobody else does.';

-- SECURITY DEFINER: hosts have no right to update events; this function writes their place in the
-- chain, once, and nothing else. It serves the tenant that is bound.
create function strongroom_private.write_audit_seal(p_tenant_id text, p_limit integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_number bigint;
    v_first bigint;
    v_position bigint;
    v_previous text;
    v_digest text;
    v_event strongroom.audit_events;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    -- Only sealers of the same tenant and erasures in it wait here, for each other.
    perform pg_advisory_xact_lock(strongroom_private.audit_lock_number(p_tenant_id));
    select
        s.number,
        s.last_position,
        s.digest
    into
        v_number,
        v_position,
        v_previous
    from strongroom.audit_seals as s
    where s.tenant_id = p_tenant_id
    order by s.number desc
    limit 1;
    v_position := coalesce(v_position, 0);
    v_first := v_position;
    v_previous := coalesce(v_previous, '');
    v_digest := v_previous;
    -- Whatever is there and has no place yet, in the order of recording. What commits later,
    -- however early it was recorded, has no place either, and comes with the next seal.
    for v_event in
        select a.*
        from strongroom.audit_events as a
        where a.tenant_id = p_tenant_id
            and a.position is null
        order by a.sequence
        limit p_limit
    loop
        v_position := v_position + 1;
        v_digest := strongroom_private.link_digest(
            v_digest, v_position, strongroom_private.digest_audit_event(v_event)
        );
        update strongroom.audit_events as a
        set position = v_position,
            chain_digest = v_digest
        where a.tenant_id = p_tenant_id
            and a.id = v_event.id;
    end loop;
    if v_position > v_first then
        insert into strongroom.audit_seals (
            tenant_id, number, first_position, last_position, previous_digest, digest
        )
        values (
            p_tenant_id, coalesce(v_number, 0) + 1, v_first + 1, v_position, v_previous, v_digest
        );
    end if;
    return v_position - v_first;
end
$$;
comment on function strongroom_private.write_audit_seal(text, integer) is
    'Give unsealed events their places in the chain; returns how many. SECURITY DEFINER, see its'
    ' comment in the migration.';

create function strongroom.seal_audit(p_tenant_id text, p_limit integer default 500)
returns table (
    tenant_id text,
    sealed bigint,
    last_position bigint,
    digest text,
    has_more boolean
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if not strongroom_private.is_trusted() then
        perform strongroom_private.fail(
            'permission_denied', 'only hosts seal the audit', '{}', 'Connect as strongroom_host.'
        );
    end if;
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_limit(p_limit);
    -- As enter_tenant_to_write does; a suspended tenant is sealed, too.
    perform pg_advisory_xact_lock_shared(strongroom_private.tenant_lock_number(p_tenant_id));
    tenant_id := p_tenant_id;
    sealed := strongroom_private.write_audit_seal(p_tenant_id, p_limit);
    select
        s.last_position,
        s.digest
    into
        last_position,
        digest
    from strongroom.audit_seals as s
    where s.tenant_id = p_tenant_id
    order by s.number desc
    limit 1;
    last_position := coalesce(last_position, 0);
    digest := coalesce(digest, '');
    has_more := exists (
        select
        from strongroom.audit_events as a
        where a.tenant_id = p_tenant_id
            and a.position is null
    );
    return next;
end
$$;
comment on function strongroom.seal_audit(text, integer) is
    'Seal up to 500 events that are not sealed yet into the tenant''s chain of hashes, as one seal;'
    ' returns how many, the chain''s last place and hash, and whether there are more. Only another'
    ' sealer of the tenant waits. Keep the hash elsewhere: verify_audit takes it. Errors: SR001,'
    ' SR004, SR020. Callers: hosts.';

-- SECURITY DEFINER: a sweep serves every tenant. It says the ids of tenants that have events which
-- are not sealed, and since when; whoever seals then does so bound to one of them.
create function strongroom_private.list_tenants_to_seal()
returns table (tenant_id text, oldest_at timestamptz)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    if coalesce(strongroom_private.caller_kind() <> 'host', true) then
        perform strongroom_private.fail(
            'permission_denied', 'only hosts seal the audit', '{}', 'Connect as strongroom_host.'
        );
    end if;
    perform set_config('strongroom.dispatching', 'on', true);
    -- From tenant to tenant along the index of unsealed events, however many a tenant has.
    return query
    with recursive waiting as (
        (
            select
                a.tenant_id,
                a.sequence,
                a.created_at
            from strongroom.audit_events as a
            where a.position is null
            order by
                a.tenant_id,
                a.sequence
            limit 1
        )
        union all
        select
            n.tenant_id,
            n.sequence,
            n.created_at
        from waiting as w
        cross join lateral (
            select
                a.tenant_id,
                a.sequence,
                a.created_at
            from strongroom.audit_events as a
            where a.position is null
                and a.tenant_id > w.tenant_id
            order by
                a.tenant_id,
                a.sequence
            limit 1
        ) as n
    )
    select
        w.tenant_id,
        w.created_at
    from waiting as w
    order by w.sequence;
    perform set_config('strongroom.dispatching', '', true);
end
$$;
comment on function strongroom_private.list_tenants_to_seal() is
    'The tenants with audit events that are not sealed, and since when; the longest waiting first.'
    ' SECURITY DEFINER, see its comment in the migration. Errors: SR020. Callers: hosts.';

create function strongroom.seal_audits(p_limit integer default 100)
returns table (
    tenant_id text,
    sealed bigint,
    last_position bigint,
    digest text,
    has_more boolean
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_bound text := coalesce(current_setting('strongroom.tenant_id', true), '');
    v_tenant_id text;
    v_served integer := 0;
begin
    perform strongroom_private.check_limit(p_limit);
    for v_tenant_id in
        select t.tenant_id
        from strongroom_private.list_tenants_to_seal() as t
    loop
        exit when v_served >= p_limit;
        -- Who is sealing a tenant already goes on, and who purges it. Nobody waits, so two sweeps
        -- never deadlock.
        if pg_try_advisory_xact_lock_shared(strongroom_private.tenant_lock_number(v_tenant_id))
            and pg_try_advisory_xact_lock(strongroom_private.audit_lock_number(v_tenant_id))
        then
            return query
            select
                s.tenant_id,
                s.sealed,
                s.last_position,
                s.digest,
                s.has_more
            from strongroom.seal_audit(v_tenant_id, p_limit) as s
            where s.sealed > 0;
            v_served := v_served + 1;
        end if;
    end loop;
    perform set_config('strongroom.tenant_id', v_bound, true);
end
$$;
comment on function strongroom.seal_audits(integer) is
    'One bounded step of a sweep over all tenants, suspended ones too: for up to p_limit of them,'
    ' the longest waiting first, seal up to p_limit events that are not sealed yet. Returns a row'
    ' per tenant, as seal_audit does. Passes over tenants that somebody else is sealing. Errors:'
    ' SR001, SR004, SR020. Callers: hosts.';

create function strongroom.read_audit_queue(p_tenant_id text)
returns table (
    unsealed bigint,
    oldest_at timestamptz,
    last_position bigint,
    sealed_at timestamptz
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    select count(*)
    into unsealed
    from strongroom.audit_events as a
    where a.tenant_id = p_tenant_id
        and a.position is null;
    select a.created_at
    into oldest_at
    from strongroom.audit_events as a
    where a.tenant_id = p_tenant_id
        and a.position is null
    order by a.sequence
    limit 1;
    select
        s.last_position,
        s.created_at
    into
        last_position,
        sealed_at
    from strongroom.audit_seals as s
    where s.tenant_id = p_tenant_id
    order by s.number desc
    limit 1;
    last_position := coalesce(last_position, 0);
    return next;
end
$$;
comment on function strongroom.read_audit_queue(text) is
    'How many events of a tenant''s audit are not sealed, since when the oldest waits, where the'
    ' chain ends, and when it was last sealed. Errors: SR001, SR004, SR020. Callers: hosts.';

create function strongroom.verify_audit(
    p_tenant_id text,
    p_after_position bigint default 0,
    p_limit integer default 500,
    p_known_position bigint default null,
    p_known_digest text default null
)
returns table (
    is_sound boolean,
    verified_to bigint,
    has_more boolean,
    problem text,
    bad_position bigint,
    event_id text
)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_digest text := '';
    v_sealed_to bigint;
    v_seal_digest text;
    v_event strongroom.audit_events;
    v_seen integer := 0;
begin
    perform strongroom_private.enter_tenant(p_tenant_id);
    perform strongroom_private.check_limit(p_limit);
    if coalesce(p_after_position, -1) < 0 then
        perform strongroom_private.fail(
            'invalid_argument', 'after_position must be at least 0',
            '{"path": "after_position"}', 'Begin with 0, and go on with verified_to.'
        );
    end if;
    if (p_known_position is null) <> (p_known_digest is null) then
        perform strongroom_private.fail(
            'invalid_argument', 'known_position and known_digest are given together',
            '{"path": "known_digest"}', 'Give both as seal_audit returned them, or none.'
        );
    end if;
    is_sound := true;
    has_more := false;
    verified_to := p_after_position;
    select coalesce(max(s.last_position), 0)
    into v_sealed_to
    from strongroom.audit_seals as s
    where s.tenant_id = p_tenant_id;
    if p_known_position > v_sealed_to then
        is_sound := false;
        problem := 'removed';
        bad_position := v_sealed_to + 1;
        return next;
        return;
    end if;
    if p_after_position > 0 then
        select a.chain_digest
        into v_digest
        from strongroom.audit_events as a
        where a.tenant_id = p_tenant_id
            and a.position = p_after_position;
        if not found then
            is_sound := false;
            problem := 'removed';
            bad_position := p_after_position;
            return next;
            return;
        end if;
    end if;
    for v_event in
        select a.*
        from strongroom.audit_events as a
        where a.tenant_id = p_tenant_id
            and a.position > p_after_position
        order by a.position
        limit p_limit + 1
    loop
        v_seen := v_seen + 1;
        if v_seen > p_limit then
            has_more := true;
            exit;
        end if;
        event_id := v_event.id;
        bad_position := v_event.position;
        if v_event.position > v_sealed_to then
            problem := 'inserted';
        elsif v_event.position > verified_to + 1 then
            problem := 'removed';
            bad_position := verified_to + 1;
            event_id := null;
        else
            v_digest := strongroom_private.link_digest(
                v_digest, v_event.position, strongroom_private.digest_audit_event(v_event)
            );
            if v_digest is distinct from v_event.chain_digest
                or strongroom_private.digest_person(v_event.actor_salt, v_event.actor_id)
                <> v_event.actor_digest
                or strongroom_private.digest_person(v_event.principal_salt, v_event.principal_id)
                <> v_event.principal_digest
                or (v_event.position = p_known_position and v_digest <> p_known_digest)
            then
                problem := 'changed';
            else
                select s.digest
                into v_seal_digest
                from strongroom.audit_seals as s
                where s.tenant_id = p_tenant_id
                    and s.last_position = v_event.position;
                if v_seal_digest <> v_digest then
                    problem := 'changed';
                end if;
                v_seal_digest := null;
            end if;
        end if;
        if problem is not null then
            is_sound := false;
            exit;
        end if;
        verified_to := v_event.position;
    end loop;
    if is_sound then
        event_id := null;
        bad_position := null;
        if not has_more and verified_to < v_sealed_to then
            is_sound := false;
            problem := 'removed';
            bad_position := verified_to + 1;
        end if;
    end if;
    return next;
end
$$;
comment on function strongroom.verify_audit(text, bigint, integer, bigint, text) is
    'Follow the chain of hashes over up to 500 sealed events after a place. The first that does not'
    ' fit is named with its place: changed (or moved), removed, or inserted. Go on with verified_to'
    ' while has_more. known_position and known_digest, as a seal once returned them and as they'
    ' were kept elsewhere, also prove that the chain was not rewritten as a whole. Errors: SR001,'
    ' SR004, SR020. Callers: hosts.';


-- ---------------------------------------------------------------------------------------------
-- Health
-- ---------------------------------------------------------------------------------------------

create function strongroom.read_health()
returns table (
    schema_version integer,
    server_version text,
    role_name text,
    role_is_superuser boolean,
    role_bypasses_row_security boolean,
    caller_kind text,
    in_recovery boolean,
    pgvector_version text,
    skipped_migrations text[]
)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select
        (select max(h.version) from strongroom.schema_history as h),
        current_setting('server_version'),
        current_user::text,
        r.rolsuper,
        r.rolbypassrls,
        strongroom_private.caller_kind(),
        pg_is_in_recovery(),
        (select e.extversion from pg_extension as e where e.extname = 'vector'),
        array(
            select h.name
            from strongroom.schema_history as h
            where h.status = 'skipped'
            order by h.version
        )
    from pg_roles as r
    where r.rolname = current_user
$$;
comment on function strongroom.read_health() is
    'What this connection and database are: schema version, server, role facts, migrations that'
    ' were skipped. A role that is superuser or has BYPASSRLS is not bound by row security.'
    ' Callers: hosts.';

create function strongroom.diagnose()
returns table (check_name text, object_name text, problem text, hint text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
    select
        'row_security',
        format('%s.%s', n.nspname, c.relname),
        case
            when not c.relrowsecurity then 'row security is not enabled'
            when not c.relforcerowsecurity then 'row security is not forced'
            else 'the table has no policy'
        end,
        'Compare with the migration, and restore its policies.'
    from pg_class as c
    inner join pg_namespace as n on n.oid = c.relnamespace
    where n.nspname in ('strongroom', 'strongroom_private')
        and c.relkind in ('r', 'p')
        and not (
            c.relrowsecurity
            and c.relforcerowsecurity
            and exists (select from pg_policy as p where p.polrelid = c.oid)
        )
    union all
    select
        'search_path',
        format('%s.%s', n.nspname, p.proname),
        'the function''s search_path is not pg_catalog, pg_temp',
        'Restore the function from the migration.'
    from pg_proc as p
    inner join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname in ('strongroom', 'strongroom_private')
        and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)
    union all
    select
        'security_definer',
        format('%s.%s', n.nspname, p.proname),
        'a SECURITY DEFINER function stands in the schema that APIs expose',
        'Restore the function from the migration; definer functions live in strongroom_private.'
    from pg_proc as p
    inner join pg_namespace as n on n.oid = p.pronamespace
    where n.nspname = 'strongroom'
        and p.prosecdef
    union all
    select
        'grants',
        case g.named when '' then format('%s %ss', count(*), g.object_kind) else g.named end,
        format('%s right: %s for %s', g.problem, g.privilege, g.role_name),
        'As the schema''s owner: select strongroom_private.apply_grants()'
    from (
        select
            d.object_kind,
            d.problem,
            d.privilege,
            d.role_name,
            -- Many alike, as after a restore without privileges, are one finding that counts them.
            case
                when count(*) over (
                    partition by d.object_kind, d.problem, d.privilege, d.role_name
                ) > 10
                    then ''
                else concat_ws('.', d.object_name, nullif(d.column_name, ''))
            end as named
        from strongroom_private.list_grant_differences() as d
    ) as g
    group by g.object_kind, g.problem, g.privilege, g.role_name, g.named
    union all
    select
        'erasure',
        concat_ws('.', g.table_name, nullif(g.column_name, '')),
        g.problem,
        'Say what erasing a person does to it: strongroom_private.publish_erasure_rule.'
    from strongroom_private.list_erasure_gaps() as g
    union all
    select
        'role',
        current_user::text,
        'this role is superuser or has BYPASSRLS, so row security does not bind it',
        'Connect hosts as a member of strongroom_host without these attributes.'
    from pg_roles as r
    where r.rolname = current_user
        and (r.rolsuper or r.rolbypassrls)
$$;
comment on function strongroom.diagnose() is
    'What is wrong with this database: one row per finding, none when it is sound; rights that are'
    ' wrong in one way on more than ten objects are counted in one row. Run it as the schema''s'
    ' owner, who may read the grant matrix. Callers: the owner.';


-- ---------------------------------------------------------------------------------------------
-- The grant matrix of this migration
-- ---------------------------------------------------------------------------------------------

select strongroom_private.publish_grant(
    'schema', '{strongroom,strongroom_private}', '{usage}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'schema', '{strongroom_private}', '{usage}', '{supabase_auth_admin}'
);
select strongroom_private.publish_grant(
    'function', '{strongroom_private.add_token_claims}', '{execute}', '{supabase_auth_admin}'
);
-- Helpers that policies and functions call with the caller's own rights.
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.error_codes,
        strongroom_private.fail,
        strongroom_private.is_wide,
        strongroom_private.check_name,
        strongroom_private.check_optional_name,
        strongroom_private.check_id,
        strongroom_private.check_optional_id,
        strongroom_private.check_ids,
        strongroom_private.check_choice,
        strongroom_private.check_object,
        strongroom_private.check_text,
        strongroom_private.check_moment,
        strongroom_private.find_moment,
        strongroom_private.check_limit,
        strongroom_private.check_keys,
        strongroom_private.check_page,
        strongroom_private.check_expected_version,
        strongroom_private.role_kind,
        strongroom_private.caller_kind,
        strongroom_private.is_trusted,
        strongroom_private.is_set_by_owner,
        strongroom_private.is_dispatching,
        strongroom_private.is_erasing,
        strongroom_private.read_claims,
        strongroom_private.read_text_claim,
        strongroom_private.bound_tenant,
        strongroom_private.current_principal,
        strongroom_private.signing_principal,
        strongroom_private.is_active_tenant,
        strongroom_private.current_tenant,
        strongroom_private.enter_tenant,
        strongroom_private.enter_tenant_to_write,
        strongroom_private.tenant_lock_number,
        strongroom_private.fail_missed_write,
        strongroom_private.digest,
        strongroom_private.cursor_scope,
        strongroom_private.encode_cursor,
        strongroom_private.decode_cursor,
        strongroom_private.to_microseconds,
        strongroom_private.from_microseconds
    }',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{strongroom.find_tenant,strongroom.find_member,strongroom.list_members}',
    '{execute}',
    '{strongroom_host,service_role,authenticated}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom.create_tenant,
        strongroom.update_tenant,
        strongroom.add_member,
        strongroom.set_member_roles,
        strongroom.remove_member,
        strongroom.read_health
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'function',
    '{strongroom_private.hold_active_tenant}',
    '{execute}',
    '{strongroom_host,service_role}'
);
-- Counting what a call deletes, and taking back a dry run.
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.count_deletions,
        strongroom_private.list_deletions,
        strongroom_private.undo_dry_run
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.schema_history}', '{select}', '{strongroom_host,service_role}'
);
-- Audit: for hosts, insert-only.
select strongroom_private.publish_grant(
    'table', '{strongroom.audit_events,strongroom.audit_seals}', '{select,insert}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'sequence', '{strongroom.audit_sequence}', '{usage}', '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'function',
    '{
        strongroom_private.digest_person,
        strongroom_private.outline_ids,
        strongroom_private.record_audit,
        strongroom_private.find_audit_problem,
        strongroom.append_audit_events,
        strongroom.find_audit_event,
        strongroom.list_audit_events,
        strongroom_private.digest_audit_event,
        strongroom_private.link_digest,
        strongroom_private.audit_lock_number,
        strongroom_private.write_audit_seal,
        strongroom_private.list_tenants_to_seal,
        strongroom.seal_audit,
        strongroom.seal_audits,
        strongroom.read_audit_queue,
        strongroom.verify_audit
    }',
    '{execute}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.tenants,strongroom.memberships}', '{select,insert,update,delete}',
    '{strongroom_host,service_role}'
);
select strongroom_private.publish_grant(
    'table', '{strongroom.tenants,strongroom.memberships}', '{select}', '{authenticated}'
);

select strongroom_private.finish_migration(1, 'foundation');
