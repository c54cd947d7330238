"""Databases with the schema: one template per server and way of installing, a copy per test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from .catalog import ServerPark
from .server import Server

ROOT = Path(__file__).resolve().parents[2]
MIGRATIONS = ROOT / "sql" / "migrations"
SHIM = ROOT / "tests" / "platform" / "shim.sql"
OWNER = "plain_owner"

_API_ROLES = {
    "anon": "nologin noinherit",
    "authenticated": "nologin noinherit",
    "service_role": "nologin noinherit bypassrls",
    "authenticator": "login noinherit",
    "supabase_auth_admin": "nologin noinherit",
}
_PLAIN = "nosuperuser nobypassrls nocreaterole nocreatedb"


@dataclass(frozen=True)
class Database:
    """A database on a running server.

    Attributes:
        server: where it is.
        name: its name.
        migrator: the role that owns the schema, and with which migrations run.
        host: the login role of a host program: ``app_host``, or the owner where there is no other.
    """

    server: Server
    name: str
    migrator: str
    host: str

    def url(self, *, user: str | None = None, options: str | None = None, **parameters: str) -> str:
        """Return its URL; without a user, the superuser's."""
        return self.server.url(self.name, user=user, options=options, **parameters)

    @property
    def admin_url(self) -> str:
        return self.url()

    @property
    def migrator_url(self) -> str:
        return self.url(user=self.migrator)

    @property
    def host_url(self) -> str:
        return self.url(user=self.host)

    def connect(self, *, user: str | None = None, options: str | None = None) -> psycopg.Connection:
        """Open a connection in autocommit mode; without a user, as the superuser."""
        return self.server.connect(self.name, user=user, options=options)

    def drop(self) -> None:
        self.server.drop_database(self.name)


@dataclass(frozen=True)
class Variant:
    """A way in which the schema gets into a database.

    Attributes:
        name: as tests ask for it.
        kind: the cluster that it needs (roles belong to the cluster).
        migrator: the migrating role; None for the server's superuser.
        prepare: makes what must be there before the migrations: roles, the platform's own objects.
    """

    name: str
    kind: str
    migrator: str | None
    prepare: Callable[[Server, str], None]
    own_host: bool = True

    def describe(self, server: Server, database: str) -> Database:
        migrator = self.migrator or server.superuser
        return Database(server, database, migrator, "app_host" if self.own_host else migrator)


def _ensure_role(connection: psycopg.Connection, name: str, attributes: str) -> None:
    # Roles belong to the cluster, which parallel test runs may share.
    connection.execute(
        sql.SQL(
            """do $$
            begin
                create role {} {};
            exception when duplicate_object or unique_violation then null;
            end $$"""
        ).format(sql.Identifier(name), sql.SQL(attributes))
    )


def _prepare_roles(server: Server, database: str) -> None:
    with server.connect(database) as connection:
        for name, attributes in _API_ROLES.items():
            _ensure_role(connection, name, attributes)
        connection.execute("grant anon, authenticated, service_role to authenticator")
        _ensure_role(connection, "app_host", f"login inherit {_PLAIN}")


def _prepare_owner(server: Server, database: str) -> None:
    _prepare_roles(server, database)
    with server.connect(database) as connection:
        _ensure_role(connection, "strongroom_host", f"nologin {_PLAIN}")
        _ensure_role(connection, OWNER, f"login {_PLAIN}")


def _prepare_bare(server: Server, database: str) -> None:
    with server.connect(database) as connection:
        _ensure_role(connection, OWNER, f"login {_PLAIN}")


def _prepare_supabase(server: Server, database: str) -> None:
    with server.connect(database) as connection:
        run_script(connection, SHIM.read_text())
        _ensure_role(connection, "app_host", f"login inherit {_PLAIN}")


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("superuser", "main", None, _prepare_roles),
        Variant("owner", "main", OWNER, _prepare_owner),
        Variant("owner_bare", "bare", OWNER, _prepare_bare, own_host=False),
        Variant("supabase", "supabase", "postgres", _prepare_supabase),
    )
}


VECTOR_SCHEMAS = {
    "superuser": "public",
    "owner": 'Odd "Place"',
    "owner_bare": "public",
    "supabase": "extensions",
}
"""Where pgvector lives, for each way of installing: hosts may not even use the odd place."""


def _prepare_pgvector(variant: str, server: Server, database: Database) -> None:
    """Create pgvector, where the server has it, as an administrator would have."""
    schema = sql.Identifier(VECTOR_SCHEMAS[variant])
    with server.connect(database.name) as connection:
        if connection.execute(
            "select from pg_available_extensions where name = 'vector'"
        ).fetchall():
            connection.execute(sql.SQL("create schema if not exists {}").format(schema))
            connection.execute(
                sql.SQL("create extension if not exists vector with schema {}").format(schema)
            )
            connection.execute(
                sql.SQL("grant usage on schema {} to {}").format(
                    schema, sql.Identifier(database.migrator)
                )
            )
            if variant == "supabase":
                # A library lets postgres create it there, so postgres is its owner.
                connection.execute(
                    "update pg_catalog.pg_extension set extowner = 'postgres'::regrole"
                    " where extname = 'vector'"
                )


def run_script(connection: psycopg.Connection, text: str) -> None:
    """Run a script of many statements in one transaction."""
    with connection.transaction():
        connection.execute(text.encode())


def migration_files(folder: Path = MIGRATIONS) -> list[Path]:
    files = sorted(folder.glob("[0-9]*_*.up.sql"))
    if not files:
        raise FileNotFoundError(f"there is no migration in {folder}")
    return files


def install(database: Database, files: list[Path] | None = None) -> None:
    """Run migrations, by default all, as the migrating role, each in one transaction."""
    with database.connect(user=database.migrator) as connection:
        for file in migration_files() if files is None else files:
            try:
                run_script(connection, file.read_text())
            except psycopg.Error as error:
                error.add_note(
                    f"in {file.name}, run by {database.migrator} on {database.server.name}"
                )
                raise


def grant_host(database: Database) -> None:
    """Let the host's login role be a host, now that the migrations have made sure of that role."""
    if database.host == "app_host":
        with database.connect() as connection:
            connection.execute("grant strongroom_host to app_host")


@dataclass
class Templates:
    """The template databases of a session, and the copies that tests get."""

    park: ServerPark
    migrations: Path = MIGRATIONS
    _made: dict[tuple[str, str, int], str] = field(default_factory=dict)
    _failed: dict[tuple[str, str, int], Exception] = field(default_factory=dict)

    def empty(
        self, variant: str = "superuser", server: str | None = None, *, pgvector: bool = True
    ) -> Database:
        """Make a database that is prepared for a variant's migrations, but without them."""
        way = VARIANTS[variant]
        running = self.park.get(server, way.kind)
        # The owner of the database exists before it does, so the preparation runs in two steps.
        name = running.create_database()
        database = way.describe(running, name)
        way.prepare(running, name)
        with running.connect() as connection:
            connection.execute(
                sql.SQL("alter database {} owner to {}").format(
                    sql.Identifier(name), sql.Identifier(database.migrator)
                )
            )
        if pgvector:
            _prepare_pgvector(variant, running, database)
        return database

    def copy(
        self, variant: str = "superuser", server: str | None = None, *, version: int | None = None
    ) -> Database:
        """Make a database with the schema, or its first versions, as this way of installing leaves it."""
        files = migration_files(self.migrations)
        version = len(files) if version is None else version
        way = VARIANTS[variant]
        running = self.park.get(server, way.kind)
        template = self._template(variant, running, server, files[:version])
        owner = way.migrator or running.superuser
        return way.describe(running, running.create_database(template=template, owner=owner))

    def _template(
        self, variant: str, running: Server, server: str | None, files: list[Path]
    ) -> str:
        key = (running.name, variant, len(files))
        if key in self._failed:
            # Every test that needs it fails, with the first failure as the reason.
            pytest.fail(
                f"the template {key} could not be built: {self._failed[key]}", pytrace=False
            )
        if key not in self._made:
            try:
                self._made[key] = self._build(variant, running, server, files)
            except Exception as error:
                self._failed[key] = error
                raise
        return self._made[key]

    def _build(self, variant: str, running: Server, server: str | None, files: list[Path]) -> str:
        """Build a template on the one that comes nearest to it."""
        before = max(
            (
                n
                for name, way, n in self._made
                if (name, way) == (running.name, variant) and n <= len(files)
            ),
            default=0,
        )
        if before:
            way = VARIANTS[variant]
            name = running.create_database(
                template=self._made[running.name, variant, before],
                owner=way.migrator or running.superuser,
            )
            database = way.describe(running, name)
        else:
            database = self.empty(variant, server)
        install(database, files[before:])
        if files:
            grant_host(database)
        return database.name


@contextmanager
def dropped_after(database: Database) -> Iterator[Database]:
    """Hand out a database and drop it afterwards, even under open connections."""
    try:
        yield database
    finally:
        database.drop()


@contextmanager
def copy_of(database: Database) -> Iterator[Database]:
    """Hand out a copy of a database that nobody is connected to, with its rows, and drop it afterwards."""
    name = database.server.create_database(template=database.name, owner=database.migrator)
    with dropped_after(replace(database, name=name)) as copy:
        yield copy
