"""One server that tests can use: ours, which they may also kill, or one that only has a URL."""

import uuid
from pathlib import Path
from urllib.parse import quote, urlencode

import psutil  # type: ignore[import-untyped]
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from strongroom import embedded_watch
from strongroom.embedded_cluster import Cluster
from strongroom.embedded_system import service_user

from .ports import ReservedPort
from .waiting import eventually

# Not `postgres`: on hosted Supabase that is an ordinary role, and the platform shim makes it so.
SUPERUSER = "supabase_admin"

_SETTINGS: dict[str, str | int] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": 200,
    "shared_buffers": "64MB",
    "wal_level": "logical",
    "log_line_prefix": "%m [%p] %u@%d ",
}
_FAST: dict[str, str | int] = {"fsync": "off", "full_page_writes": "off"}


class Server:
    """A running server, reached over TCP.

    Attributes:
        name: as in the catalog, such as ``pg18``.
        origin: where its programs come from, for people.
        superuser: the role for setting things up.
    """

    def __init__(
        self, name: str, origin: str, *, host: str, port: int, superuser: str, password: str = ""
    ) -> None:
        self.name = name
        self.origin = origin
        self.host = host
        self.port = port
        self.superuser = superuser
        self._password = password
        self._made: list[str] = []

    def url(
        self,
        database: str = "postgres",
        *,
        user: str | None = None,
        options: str | None = None,
        **parameters: str,
    ) -> str:
        """Return a postgresql:// URL; without a user, the superuser's."""
        name = quote(user or self.superuser, safe="")
        if self._password and user in (None, self.superuser):
            name += ":" + quote(self._password, safe="")
        if options:
            parameters["options"] = options
        query = "?" + urlencode(parameters, quote_via=quote) if parameters else ""
        return f"postgresql://{name}@{self.host}:{self.port}/{quote(database, safe='')}{query}"

    def connect(
        self, database: str = "postgres", *, user: str | None = None, options: str | None = None
    ) -> psycopg.Connection:
        """Open a connection in autocommit mode; without a user, as the superuser."""
        return psycopg.connect(self.url(database, user=user, options=options), autocommit=True)

    def version(self) -> str:
        with self.connect() as connection:
            return str(connection.info.parameter_status("server_version"))

    @property
    def major(self) -> int:
        with self.connect() as connection:
            return connection.info.server_version // 10_000

    def create_database(
        self, name: str | None = None, *, template: str | None = None, owner: str | None = None
    ) -> str:
        """Make a database, empty or a copy of a template with its settings, and return its name."""
        name = name or f"test_{uuid.uuid4().hex[:12]}"
        with self.connect() as connection:
            connection.execute(
                sql.SQL("create database {} template {} owner {}").format(
                    sql.Identifier(name),
                    sql.Identifier(template or "template1"),
                    sql.Identifier(owner or self.superuser),
                )
            )
            # `alter role ... in database ... set ...` is not part of what PostgreSQL copies.
            connection.execute(
                """insert into pg_catalog.pg_db_role_setting (setdatabase, setrole, setconfig)
                select copied.oid, s.setrole, s.setconfig
                from pg_catalog.pg_db_role_setting as s
                join pg_catalog.pg_database as t on t.oid = s.setdatabase
                cross join pg_catalog.pg_database as copied
                where t.datname = %s and copied.datname = %s""",
                [template, name],
            )
        self._made.append(name)
        return name

    def drop_database(self, name: str) -> None:
        """Drop a database and end its sessions; a missing one is fine."""
        with self.connect() as connection:
            connection.execute(
                sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
            )
        if name in self._made:
            self._made.remove(name)

    def close(self) -> None:
        """Remove what tests have made; a server of our own goes altogether."""
        for name in list(self._made):
            self.drop_database(name)


class OutsideServer(Server):
    """Somebody else's server, named by a superuser's URL."""

    def __init__(self, url: str, origin: str) -> None:
        parts = conninfo_to_dict(url)
        super().__init__(
            "outside",
            origin,
            host=str(parts.get("host") or "127.0.0.1"),
            port=int(parts.get("port") or 5432),
            superuser=str(parts.get("user") or "postgres"),
            password=str(parts.get("password") or ""),
        )


class LocalServer(Server):
    """A server of our own on a reserved port of 127.0.0.1, as an unprivileged user.

    With ``durable`` it syncs to disk as in production; otherwise it does not, for speed.
    """

    def __init__(
        self,
        name: str,
        origin: str,
        binaries: Path,
        home: Path,
        *,
        initdb_options: list[str],
        durable: bool,
        extra: dict[str, str | int] | None = None,
    ) -> None:
        self._reserved = ReservedPort()
        super().__init__(
            name, origin, host="127.0.0.1", port=self._reserved.number, superuser=SUPERUSER
        )
        self.binaries = binaries
        self.home = home
        self._cluster = Cluster(
            home,
            binaries,
            user=service_user(),
            superuser=SUPERUSER,
            initdb_options=["--encoding=UTF8", "--auth=trust", "--no-sync", *initdb_options],
            settings={
                **_SETTINGS,
                **({} if durable else _FAST),
                **(extra or {}),
                "port": self.port,
            },
            temporary=True,
        )

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        return self._cluster.pid

    @property
    def log(self) -> str:
        return (self.home / "log").read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        return embedded_watch.is_held(self.home, "server.lock")

    def start(self) -> None:
        self._cluster.start()

    def stop(self) -> None:
        """Stop the server in order; its data stays for the next ``start``."""
        embedded_watch.shut_down(self.home)

    def restart(self) -> None:
        self.stop()
        self.start()

    def kill_hard(self) -> None:
        """Kill every process of the server at one instant with SIGKILL, as a power cut would."""
        postmaster = psutil.Process(self.pid)
        postmaster.suspend()  # so that it neither starts another process nor tidies up
        victims = [*postmaster.children(recursive=True), postmaster]
        for process in victims:
            process.kill()
        eventually(
            lambda: not (self.is_running or any(is_alive(process) for process in victims)),
            f"{self.name} is dead after SIGKILL",
        )

    def close(self) -> None:
        self._cluster.stop()
        self._reserved.release()


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
