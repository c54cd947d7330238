"""One database with a million messages, loaded once a session."""

from collections.abc import Iterator

import pytest

from tests.servers.databases import Database, Templates, dropped_after

CONVERSATIONS = 4900
SHORT, LONG = 200, 20_000

LOAD = (
    "select strongroom.create_tenant('t' || i, 'Tenant ' || i) from generate_series(1, 50) as i",
    # Foreign keys are right by construction; everything else is checked as always.
    "set session_replication_role = replica",
    f"""
    insert into strongroom.conversations
        (tenant_id, id, owner_id, visibility, creation_digest, created_at)
    select
        't' || 1 + i % 50,
        'c' || i,
        'u' || i % 500,
        case when i % 400 = 0 then 'tenant' else 'private' end,
        'loaded',
        now() - make_interval(secs => i % 1000)
    from generate_series(0, {CONVERSATIONS}) as i
    """,
    """
    insert into strongroom.conversation_participants (tenant_id, conversation_id, principal_id)
    select c.tenant_id, c.id, 'guest'
    from strongroom.conversations as c
    where hashtext(c.id) % 20 = 0
    """,
    f"""
    insert into strongroom.messages (tenant_id, conversation_id, position, id, role, parts)
    select
        c.tenant_id,
        c.id,
        p.position,
        c.id || '-' || p.position,
        'user',
        jsonb_build_array(jsonb_build_object(
            'type', 'text',
            'schema_version', 1,
            'text', 'message ' || p.position || repeat(' x', 20)
        ))
    from strongroom.conversations as c
    cross join lateral generate_series(
        1, case c.id when 'c0' then {LONG} else {SHORT} end
    ) as p (position)
    """,
    "set session_replication_role = origin",
    "vacuum analyze strongroom.messages",
    "vacuum analyze strongroom.conversations",
    "vacuum analyze strongroom.conversation_participants",
)


@pytest.fixture(scope="session")
def million(templates: Templates) -> Iterator[Database]:
    """A million messages in 4,901 conversations of 50 tenants; one conversation has 20,000."""
    with dropped_after(templates.copy()) as database:
        with database.connect() as connection:
            for statement in LOAD:
                connection.execute(statement.encode())
        yield database
