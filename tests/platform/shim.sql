-- A hosted Supabase project's database, as far as a migration can tell, on a plain PostgreSQL 15 to 18.
--
-- Run it once per database, in an empty one, as a superuser that is NOT called postgres: on Supabase
-- that name belongs to the role that runs the migrations, and that role is no superuser.
--
--     psql -U supabase_admin -d some_database -f tests/platform/shim.sql
--
-- Switch, a setting of the session that runs this file:
--
--     set shim.automatic_grants = 'on';   -- the default: projects made before 2026-05-30, where every
--                                         -- new object in schema public is granted to the API roles
--     set shim.automatic_grants = 'off';  -- newer projects: nothing is granted by itself
--
-- Left out on purpose:
--   * the event trigger that reloads PostgREST after every DDL: a migration has to notify by itself,
--     because self-hosted projects lack the trigger, and the tests must see that it does;
--   * safeupdate, pg_graphql, supautils, the vault's encryption: they need libraries.
-- What differs from a hosted project: there the admin roles own storage.objects and its like, and a
-- library lets postgres create policies on them. Here postgres owns those tables (never their
-- schemas), which allows the same and, as there, no function, index or table beside them.

-- ---------------------------------------------------------------------------------------------------
-- Roles. They belong to the cluster, so another database may have made them, perhaps this very moment:
-- only what is missing is created, and what is there is checked, never altered.
-- ---------------------------------------------------------------------------------------------------

do $$
declare
    v_role record;
begin
    if current_user = 'postgres' or not (
        select r.rolsuper from pg_catalog.pg_roles as r where r.rolname = current_user
    ) then
        raise exception 'the platform shim needs a superuser that is not called postgres, not %', current_user
            using hint = 'Make the cluster with another bootstrap superuser: initdb --username=supabase_admin.';
    end if;

    for v_role in
        select *
        from (
            values
                ('supabase_admin', 'login superuser createdb createrole replication bypassrls'),
                ('postgres', 'login nosuperuser createdb createrole replication bypassrls'),
                ('anon', 'nologin noinherit'),
                ('authenticated', 'nologin noinherit'),
                ('service_role', 'nologin noinherit bypassrls'),
                ('authenticator', 'login noinherit'),
                ('supabase_auth_admin', 'nologin noinherit createrole'),
                ('supabase_storage_admin', 'nologin noinherit createrole'),
                ('supabase_realtime_admin', 'nologin noinherit')
        ) as wanted (name, attributes)
    loop
        begin
            if not exists (select from pg_catalog.pg_roles as r where r.rolname = v_role.name) then
                execute format('create role %I %s', v_role.name, v_role.attributes);
            end if;
        exception
            -- Another session was faster; the check below still looks at what it made.
            when duplicate_object or unique_violation then null;
        end;
    end loop;

    for v_role in
        select *
        from (
            values
                ('anon', 'authenticator'),
                ('authenticated', 'authenticator'),
                ('service_role', 'authenticator'),
                ('anon', 'postgres'),
                ('authenticated', 'postgres'),
                ('service_role', 'postgres'),
                ('authenticator', 'postgres'),
                ('pg_monitor', 'postgres'),
                ('pg_read_all_data', 'postgres'),
                ('pg_signal_backend', 'postgres')
        ) as wanted (granted, member)
    loop
        begin
            if not exists (
                select
                from pg_catalog.pg_auth_members as m
                where m.roleid = v_role.granted::regrole
                    and m.member = v_role.member::regrole
            ) then
                execute format('grant %I to %I', v_role.granted, v_role.member);
            end if;
        exception
            when unique_violation then null;
        end;
    end loop;

    for v_role in
        select r.rolname as name
        from pg_catalog.pg_roles as r
        join (
            values
                -- name, superuser, inherit, createrole, createdb, login, replication, bypassrls
                ('postgres', false, true, true, true, true, true, true),
                ('anon', false, false, false, false, false, false, false),
                ('authenticated', false, false, false, false, false, false, false),
                ('service_role', false, false, false, false, false, false, true),
                ('authenticator', false, false, false, false, true, false, false)
        ) as wanted (name, super, inherits, createrole, createdb, login, replication, bypassrls)
            on wanted.name = r.rolname
        where (
                r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb,
                r.rolcanlogin, r.rolreplication, r.rolbypassrls
            ) is distinct from (
                wanted.super, wanted.inherits, wanted.createrole, wanted.createdb,
                wanted.login, wanted.replication, wanted.bypassrls
            )
    loop
        raise exception 'role % exists in this cluster with other attributes than on Supabase', v_role.name
            using hint = 'Give the shim a cluster of its own.';
    end loop;
end;
$$;

-- ---------------------------------------------------------------------------------------------------
-- Schema public: used by everybody, created in by its owner.
-- ---------------------------------------------------------------------------------------------------

grant usage on schema public to postgres, anon, authenticated, service_role;
grant create on schema public to postgres;

do $$
declare
    v_owner name;
    v_kind text;
begin
    if coalesce(nullif(current_setting('shim.automatic_grants', true), ''), 'on') = 'on' then
        foreach v_owner in array array['postgres', 'supabase_admin'] loop
            foreach v_kind in array array['tables', 'sequences', 'functions'] loop
                execute format(
                    'alter default privileges for role %I in schema public '
                    'grant all on %s to postgres, anon, authenticated, service_role',
                    v_owner, v_kind
                );
            end loop;
        end loop;
    end if;
end;
$$;

-- ---------------------------------------------------------------------------------------------------
-- Platform schemas. postgres may use them, and may create nothing in them but in extensions.
-- ---------------------------------------------------------------------------------------------------

create schema if not exists extensions authorization postgres;
create schema if not exists auth authorization supabase_admin;
create schema if not exists storage authorization supabase_admin;
create schema if not exists realtime authorization supabase_admin;
create schema if not exists vault authorization supabase_admin;

grant usage on schema extensions, auth, storage, realtime to postgres, anon, authenticated, service_role;
grant usage on schema vault to postgres, service_role;
grant all on schema auth to supabase_auth_admin;
grant all on schema storage to supabase_storage_admin;
grant all on schema realtime to supabase_realtime_admin;

-- auth: who is calling. PostgREST sets request.jwt.claims for the transaction; older releases, and
-- Realtime still, also set one setting per claim.

create or replace function auth.jwt()
returns jsonb
language sql
stable
as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')
    )::jsonb
$$;

create or replace function auth.uid()
returns uuid
language sql
stable
as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.sub', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
    )::uuid
$$;

create or replace function auth.role()
returns text
language sql
stable
as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.role', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'
    )
$$;

create or replace function auth.email()
returns text
language sql
stable
as $$
    select coalesce(
        nullif(current_setting('request.jwt.claim.email', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email'
    )
$$;

alter function auth.jwt() owner to supabase_auth_admin;
alter function auth.uid() owner to supabase_auth_admin;
alter function auth.role() owner to supabase_auth_admin;
alter function auth.email() owner to supabase_auth_admin;

create table if not exists auth.users (
    id uuid primary key,
    instance_id uuid,
    aud text,
    role text,
    email text,
    phone text unique,
    email_confirmed_at timestamptz,
    last_sign_in_at timestamptz,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    is_super_admin boolean,
    is_sso_user boolean not null default false,
    is_anonymous boolean not null default false,
    banned_until timestamptz,
    deleted_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz
);
create unique index if not exists users_email_key on auth.users (email) where not is_sso_user;
alter table auth.users enable row level security;
alter table auth.users owner to postgres;
grant all on auth.users to supabase_auth_admin;

-- storage: metadata of files. The bytes are elsewhere, therefore no deletion from SQL.

create table if not exists storage.buckets (
    id text primary key,
    name text not null unique,
    owner uuid,
    owner_id text,
    public boolean not null default false,
    avif_autodetection boolean not null default false,
    file_size_limit bigint,
    allowed_mime_types text[],
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

create table if not exists storage.objects (
    id uuid primary key default gen_random_uuid(),
    bucket_id text references storage.buckets (id),
    name text,
    owner uuid,
    owner_id text,
    version text,
    metadata jsonb,
    user_metadata jsonb,
    path_tokens text[] generated always as (string_to_array(name, '/')) stored,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    last_accessed_at timestamptz not null default now(),
    unique (bucket_id, name)
);

create or replace function storage.foldername(name text)
returns text[]
language sql
immutable
as $$
    select (string_to_array(name, '/'))[:array_length(string_to_array(name, '/'), 1) - 1]
$$;

create or replace function storage.filename(name text)
returns text
language sql
immutable
as $$
    select (string_to_array(name, '/'))[array_length(string_to_array(name, '/'), 1)]
$$;

create or replace function storage.extension(name text)
returns text
language sql
immutable
as $$
    select reverse(split_part(reverse(storage.filename(name)), '.', 1))
$$;

create or replace function storage.protect_delete()
returns trigger
language plpgsql
as $$
begin
    if coalesce(current_setting('storage.allow_delete_query', true), '') <> 'true' then
        raise exception 'rows of storage.% are not deleted with SQL', tg_table_name
            using errcode = '42501', hint = 'Delete through the Storage API, which removes the bytes as well.';
    end if;
    return null;
end;
$$;

create or replace trigger protect_buckets_delete
before delete on storage.buckets
for each statement execute function storage.protect_delete();

create or replace trigger protect_objects_delete
before delete on storage.objects
for each statement execute function storage.protect_delete();

alter function storage.foldername(text) owner to supabase_storage_admin;
alter function storage.filename(text) owner to supabase_storage_admin;
alter function storage.extension(text) owner to supabase_storage_admin;
alter function storage.protect_delete() owner to supabase_storage_admin;
alter table storage.buckets enable row level security;
alter table storage.objects enable row level security;
alter table storage.buckets owner to postgres;
alter table storage.objects owner to postgres;
grant all on storage.buckets, storage.objects to anon, authenticated, service_role, supabase_storage_admin;

-- realtime: messages are rows of a table partitioned by day. There is no partition until the Realtime
-- server connects: call shim.connect_realtime() to play that part.

create table if not exists realtime.messages (
    topic text not null,
    extension text not null,
    payload jsonb,
    event text,
    private boolean default false,
    updated_at timestamp not null default now(),
    inserted_at timestamp not null default now(),
    id uuid not null default gen_random_uuid(),
    primary key (id, inserted_at)
) partition by range (inserted_at);
alter table realtime.messages enable row level security;
alter table realtime.messages owner to postgres;
grant select, insert, update on realtime.messages to anon, authenticated, service_role;
grant all on realtime.messages to supabase_realtime_admin;

create or replace function realtime.topic()
returns text
language sql
stable
as $$
    select nullif(current_setting('realtime.topic', true), '')
$$;

create or replace function realtime.send(
    payload jsonb,
    event text,
    topic text,
    private boolean default true
)
returns void
language plpgsql
as $$
declare
    v_id uuid := gen_random_uuid();
begin
    -- As on the platform, whatever goes wrong is a warning, and the message is lost.
    begin
        if jsonb_typeof(payload) is distinct from 'object' then
            raise exception 'the payload has to be a JSON object';
        end if;
        perform set_config('realtime.topic', topic, true);
        insert into realtime.messages (id, payload, event, topic, private, extension)
        values (v_id, jsonb_build_object('id', v_id) || payload, event, topic, private, 'broadcast');
    exception
        when others then
            raise warning 'realtime.send lost a message: %', sqlerrm;
    end;
end;
$$;

create or replace function realtime.broadcast_changes(
    topic_name text,
    event_name text,
    operation text,
    table_name text,
    table_schema text,
    new record,
    old record,
    level text default 'ROW'
)
returns void
language plpgsql
as $$
begin
    if level = 'STATEMENT' then
        raise exception 'realtime.broadcast_changes works in row triggers only';
    end if;
    perform realtime.send(
        jsonb_build_object(
            'schema', table_schema,
            'table', table_name,
            'operation', operation,
            'record', to_jsonb(new),
            'old_record', to_jsonb(old)
        ),
        event_name,
        topic_name
    );
end;
$$;

alter function realtime.topic() owner to supabase_realtime_admin;
alter function realtime.send(jsonb, text, text, boolean) owner to supabase_admin;
alter function realtime.broadcast_changes(text, text, text, text, text, record, record, text)
owner to supabase_admin;

do $$
begin
    if not exists (select from pg_catalog.pg_publication as p where p.pubname = 'supabase_realtime') then
        create publication supabase_realtime;
        alter publication supabase_realtime owner to postgres;
    end if;
end;
$$;

-- ---------------------------------------------------------------------------------------------------
-- The shim's own schema: what a server of the platform does from outside.
-- ---------------------------------------------------------------------------------------------------

create schema if not exists shim authorization supabase_admin;

-- The database's owner and settings, as the migrating role finds them. They are no part of a template:
-- whoever copies this database calls it again in the copy.
create or replace function shim.adopt_database()
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    execute format('alter database %I owner to postgres', current_database());
    execute format(
        'alter role postgres in database %I set search_path = "$user", public, extensions', current_database()
    );
    execute format('alter role authenticator in database %I set statement_timeout = ''8s''', current_database());
end;
$$;
revoke execute on function shim.adopt_database() from public;
select shim.adopt_database();

create or replace function shim.connect_realtime(p_today date default current_date)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_day date;
begin
    for v_day in select d::date from generate_series(p_today - 1, p_today + 3, interval '1 day') as d loop
        execute format(
            'create table if not exists realtime.%I partition of realtime.messages for values from (%L) to (%L)',
            'messages_' || to_char(v_day, 'YYYY_MM_DD'), v_day, v_day + 1
        );
        execute format(
            'alter table realtime.%I owner to supabase_realtime_admin', 'messages_' || to_char(v_day, 'YYYY_MM_DD')
        );
    end loop;
end;
$$;
revoke execute on function shim.connect_realtime(date) from public;
