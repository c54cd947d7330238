"""What ``doctor`` examines: the schema as its owner sees it, and the connection of the hosts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import psycopg

from strongroom.cli.opening import Owner, single_connection
from strongroom.errors import PermissionDenied, SchemaVersionError, Unavailable
from strongroom.models.health import Finding
from strongroom.postgres import owner_connection
from strongroom.schema import SqlSchemaManager
from strongroom.transports.psycopg import Connection

OLDEST_SERVER = 15
PATIENCE = dt.timedelta(days=1)
"""How long an audit event may wait to be sealed, and what has expired to be deleted."""
_ROUNDS = 4
_WAITING = (
    ("audits_to_seal", "audit_unsealed_since", "strongroom_private.list_tenants_to_seal()"),
    ("tenants_to_expire", "expired_since", "strongroom_private.list_tenants_to_expire()"),
)

_ROLE_FACTS = """
select
    current_user::text as role,
    session_user::text as login,
    current_database()::text as database,
    r.rolsuper as superuser,
    r.rolbypassrls as bypasses_row_security,
    pg_catalog.pg_is_in_recovery() as standby,
    exists (
        select
        from pg_catalog.pg_class as c
        inner join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where n.nspname = 'strongroom' and c.relname = 'schema_history'
    ) as schema_installed
from pg_catalog.pg_roles as r
where r.rolname = current_user
"""


@dataclass(frozen=True)
class Diagnosis:
    """What was found.

    Attributes:
        facts: what the hosts' connection is.
        findings: what is wrong; empty when all is sound.
    """

    facts: dict[str, Any]
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


async def diagnose(owner: Owner, timeout: float) -> Diagnosis:  # noqa: ASYNC109
    """Examine the schema as its owner, and what hosts get with their own URL.

    Args:
        owner: both URLs.
        timeout: seconds for connecting.

    Raises:
        Unavailable: SR050, the database cannot be reached as its owner.
    """
    findings = [*await _schema_findings(owner)]
    try:
        facts = await _connection_facts(owner, timeout)
    except Unavailable as error:
        # The embedded server's host role is made by the first migration.
        facts = {}
        problem = f"hosts cannot connect: {error.message}"
        findings.append(_finding("connection", "--url", problem, str(error.hint)))
    else:
        findings += _role_findings(facts)
        findings += _pooler_findings(owner, facts)
        findings += _audit_findings(facts)
        findings += _expiry_findings(facts)
    return Diagnosis(facts, tuple(findings))


async def _schema_findings(owner: Owner) -> list[Finding]:
    manager = SqlSchemaManager(owner_connection(owner.url))
    try:
        # Row security must bind the hosts' role, which is examined on its own, not the owner's.
        return [finding for finding in await manager.diagnose() if finding.check != "role"]
    except SchemaVersionError as error:
        return [_finding("schema", "strongroom", error.message, error.hint or "")]
    except PermissionDenied as error:
        return [
            _finding(
                "permissions",
                "strongroom",
                f"this role may not examine the schema: {error.message}",
                "Give the schema's owner as --schema-url, and the hosts' role as --url.",
            )
        ]


async def _connection_facts(owner: Owner, timeout: float) -> dict[str, Any]:  # noqa: ASYNC109
    async with single_connection(owner.host_url, timeout) as connection:
        cursor = await connection.execute(_ROLE_FACTS)
        row = await cursor.fetchone()
        names = [column.name for column in cursor.description or ()]
        facts: dict[str, Any] = dict(zip(names, row or (), strict=True))
        version = connection.info.server_version
        facts["server"] = f"{version // 10_000}.{version % 10_000}"
        facts["caller"] = await _caller_kind(connection) if facts["schema_installed"] else None
        for tenants, since, call in _WAITING:
            found = await _waiting(connection, call) if facts["caller"] == "host" else (0, None)
            facts[tenants], facts[since] = found
    facts["pooler"] = await find_pooler(owner.host_url, timeout)
    return facts


async def _caller_kind(connection: Connection) -> str | None:
    try:
        cursor = await connection.execute("select strongroom_private.caller_kind()")
        row = await cursor.fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return None
    return row[0] if row else None


async def _waiting(connection: Connection, call: str) -> tuple[int, dt.datetime | None]:
    query = f"select count(distinct t.tenant_id), min(t.oldest_at) from {call} as t"
    try:
        cursor = await connection.execute(query.encode())
        row = await cursor.fetchone()
    except (psycopg.errors.UndefinedFunction, psycopg.errors.InsufficientPrivilege):
        return 0, None  # The findings about the schema say why.
    return (row[0], row[1]) if row else (0, None)


def _audit_findings(facts: dict[str, Any]) -> Iterator[Finding]:
    since = facts["audit_unsealed_since"]
    if since is not None and dt.datetime.now(dt.UTC) - since > PATIENCE:
        yield _finding(
            "audit",
            f"{facts['audits_to_seal']} tenants",
            f"events wait to be sealed since {since:%Y-%m-%d %H:%M}: nobody seals the audit",
            "Run `strongroom audit seal` from a scheduler, without a tenant; or, where the server has"
            " pg_cron, call strongroom_private.schedule_audit_seals() as the schema's owner.",
        )


def _expiry_findings(facts: dict[str, Any]) -> Iterator[Finding]:
    since = facts["expired_since"]
    if since is not None and dt.datetime.now(dt.UTC) - since > PATIENCE:
        yield _finding(
            "expiry",
            f"{facts['tenants_to_expire']} tenants",
            f"records that have expired wait to be deleted since {since:%Y-%m-%d %H:%M}: nobody does it",
            "Run `strongroom retention expire` from a scheduler, without a tenant; or, where the server"
            " has pg_cron, call strongroom_private.schedule_expiry() as the schema's owner.",
        )


async def find_pooler(url: str, timeout: float) -> str:  # noqa: ASYNC109
    """Find out what stands between this program and the database.

    A server tells its process id when a connection begins; a pooler tells one of its own making.
    In transaction mode, two connections that take turns are served by one process.

    Returns:
        ``none``; ``transaction``; or ``session or busy``: a pooler that was not seen to share.
    """
    async with AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(single_connection(url, timeout)) for _ in range(2)
        ]
        first = connections[0]
        if await _process_id(first) == first.info.backend_pid:
            return "none"
        seen: list[set[int]] = [set(), set()]
        for _ in range(_ROUNDS):
            for connection, processes in zip(connections, seen, strict=True):
                processes.add(await _process_id(connection))
        return "transaction" if seen[0] & seen[1] else "session or busy"


async def _process_id(connection: Connection) -> int:
    cursor = await connection.execute("select pg_catalog.pg_backend_pid()", prepare=False)
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


def _role_findings(facts: dict[str, Any]) -> Iterator[Finding]:
    role = facts["role"]
    if facts["superuser"] or facts["bypasses_row_security"]:
        what = "superuser" if facts["superuser"] else "BYPASSRLS"
        yield _finding(
            "role",
            role,
            f"this role is {what}, so row security does not bind it",
            "Let hosts connect as a member of strongroom_host without these attributes (--url);"
            " the schema's owner goes into --schema-url.",
        )
    if facts["schema_installed"] and facts["caller"] != "host":
        yield _finding(
            "role",
            role,
            "this role is no host, so it may call nothing"
            if facts["caller"] is None
            else "this role is an end user's, not a host's",
            f'As an administrator: grant strongroom_host to "{role}"',
        )
    if facts["standby"]:
        yield _finding(
            "server", "recovery", "the server is a standby and takes no writes", "Use the primary."
        )
    if int(facts["server"].split(".")[0]) < OLDEST_SERVER:
        yield _finding(
            "server",
            facts["server"],
            f"the server is older than PostgreSQL {OLDEST_SERVER}",
            "Upgrade the server.",
        )


def _pooler_findings(owner: Owner, facts: dict[str, Any]) -> Iterator[Finding]:
    if facts["pooler"] == "transaction" and owner.pooler is None:
        yield _finding(
            "pooler",
            "transaction mode",
            "a pooler in transaction mode stands between, and prepared statements do not survive it",
            'Connect with pooler="transaction" (on the command line: --pooler transaction).',
        )


def _finding(check: str, what: str, problem: str, hint: str) -> Finding:
    return Finding(check=check, object=what, problem=problem, hint=hint)
