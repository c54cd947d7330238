# Written by scripts/generate_sync.py from strongroom/infrastructure/redis_server.py: change that, and run `make generate`.
"""One Redis server for the adapters that live there: calls with patience, typed errors, start-up checks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from strongroom import blocking
from strongroom.errors import MissingCapability
from strongroom.infrastructure.extras import import_extra
from strongroom.infrastructure.redis_server import (
    _FORM,
    _LONGEST_PAUSE,
    _SHORTEST_PAUSE,
    SCHEMES,
    Durability,
    _may_pass,
    _refused,
    translated,
)


@dataclass(kw_only=True)
class RedisServer:
    """A Redis server (7 or newer) and what of it is ours: keys under one prefix, in one hash slot.

    Attributes:
        url: ``redis://[user:password@]host:port/database``, ``rediss://`` or ``unix:///socket``.
        prefix: of every key; stores with the same prefix share locks and topics.
        timeout: seconds that one call may take in all, tries again included.
        durability: ``strict`` refuses a server that forgets on a restart what it has acknowledged;
            ``relaxed`` only warns.
    """

    url: str
    prefix: str = "strongroom"
    timeout: float = 5.0
    durability: Durability = "strict"
    warnings: tuple[str, ...] = ()
    _client: Any = None
    _scripts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, url: str) -> RedisServer:
        """Read ``prefix``, ``timeout`` and ``durability`` from the URL's query.

        Raises:
            InvalidArgument: SR001, the URL is of no known kind, or an option has a wrong value.
        """
        try:
            parts = urlsplit(url)
        except ValueError:
            raise _refused(_FORM) from None
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        options: dict[str, Any] = {
            name: query.pop(name) for name in ("prefix", "timeout", "durability") if name in query
        }
        problem = None
        if parts.scheme not in SCHEMES:
            problem = "url is of no known kind"
        elif parts.scheme != "unix" and not (parts.path.strip("/") or "0").isdecimal():
            problem = "the database of the URL is not a number"
        elif options.get("durability", "strict") not in {"strict", "relaxed"}:
            problem = "durability is neither strict nor relaxed"
        elif not options.get("prefix", "x"):
            problem = "prefix is empty"
        try:
            options["timeout"] = float(options.get("timeout", 5.0))
        except ValueError:
            problem = "timeout is not a number of seconds"
        if problem is None and options["timeout"] <= 0:
            problem = "timeout is not above 0"
        if problem:
            raise _refused(problem)
        return cls(url=urlunsplit(parts._replace(query=urlencode(query))), **options)

    @property
    def client(self) -> Any:
        """The client, made when it is first asked for.

        Raises:
            MissingCapability: SR040, the extra is not installed.
        """
        if self._client is None:
            self._client = self.new_client(socket_timeout=self.timeout)
        return self._client

    def new_client(self, **options: Any) -> Any:
        """Return another client, which the caller closes.

        Raises:
            InvalidArgument: SR001, the URL has an option that there is not, or no form of one.
            MissingCapability: SR040, the extra is not installed.
        """
        redis = import_extra("redis", "redis", "a Redis adapter")
        retry = import_extra("redis.retry", "redis", "a Redis adapter")
        backoff = import_extra("redis.backoff", "redis", "a Redis adapter")
        try:
            client = redis.Redis.from_url(
                self.url,
                decode_responses=True,
                socket_connect_timeout=self.timeout,
                # Tries again are ours: bounded by the call's own time.
                retry=retry.Retry(backoff.NoBackoff(), 0),
                **options,
            )
            # What is wrong with an option is found when a connection is made: before anybody waits.
            pool = client.connection_pool
            pool.connection_class(**pool.connection_kwargs)
        except (TypeError, ValueError):
            # Without the client's own words: they may quote a piece of a password.
            raise _refused(_FORM) from None
        return client

    def key(self, *names: str) -> str:
        """Return a key; names before the last one are told apart by their lengths."""
        head = "".join(f"{len(name)}:{name}:" for name in names[1:-1])
        rest = f"{head}{names[-1]}" if len(names) > 1 else ""
        return f"{{{self.prefix}}}:{names[0]}:{rest}"

    def run(self, script: str, keys: Sequence[str], arguments: Sequence[str | int]) -> Any:
        """Run a Lua script; it must bear to be run again when its answer was lost.

        Raises:
            Unavailable: SR050, the server has not answered within ``timeout``, or cannot serve now.
        """
        ready = self._scripts.get(script)
        if ready is None:
            ready = self._scripts[script] = self.client.register_script(script)
        return self.patiently(lambda: ready(keys=keys, args=arguments))

    def patiently(self, call: Any) -> Any:
        """Make a call, and make it again for a while when the server is away.

        Raises:
            Unavailable: SR050.
        """
        loop = blocking.get_running_loop()
        deadline = loop.time() + self.timeout
        pause = _SHORTEST_PAUSE
        errors = import_extra("redis.exceptions", "redis", "a Redis adapter")
        while True:
            try:
                with blocking.timeout_at(deadline):
                    return call()
            except (errors.RedisError, OSError, TimeoutError) as error:
                remaining = deadline - loop.time()
                if remaining <= pause or not _may_pass(error, errors):
                    raise translated(error, errors) from error
            blocking.sleep(random.uniform(pause / 2, pause))  # noqa: S311
            pause = min(2 * pause, _LONGEST_PAUSE)

    def check(self) -> None:
        """Refuse a server that loses what it has acknowledged, and remember what someone should look at.

        Raises:
            MissingCapability: SR040, it evicts keys, or (with ``strict``) keeps nothing over a restart.
            Unavailable: SR050.
        """
        memory = self.patiently(lambda: self.client.info("memory"))
        persistence = self.patiently(lambda: self.client.info("persistence"))
        server = self.patiently(lambda: self.client.info("server"))
        version = str(server["redis_version"])
        if int(version.split(".", maxsplit=1)[0]) < 7:  # noqa: PLR2004
            raise self._refusal("version", f"it is Redis {version}", "Use Redis 7 or newer.")
        policy = str(memory["maxmemory_policy"])
        if policy != "noeviction" and int(memory["maxmemory"]) > 0:
            raise self._refusal(
                "maxmemory-policy",
                f"its maxmemory-policy {policy} removes keys when memory is short: a lock that is held"
                " would be free",
                "Set maxmemory-policy noeviction.",
            )
        warnings = []
        if not int(persistence["aof_enabled"]):
            problem = "it has no append-only file: a restart forgets locks, events and jobs"
            fix = "Set appendonly yes and appendfsync always, or add durability=relaxed to the URL."
            if self.durability == "strict":
                raise self._refusal("appendonly", problem, fix)
            warnings.append(f"Redis: {problem}. Set appendonly yes and appendfsync always.")
        else:
            sync = self._appendfsync()
            if sync != "always":
                warnings.append(
                    f"Redis: appendfsync is {sync or 'not known'}: a crash may lose the last"
                    " acknowledged writes. Set appendfsync always."
                )
        self.warnings = tuple(warnings)

    def _appendfsync(self) -> str | None:
        """Return the setting; None where the server does not let it be read."""
        errors = import_extra("redis.exceptions", "redis", "a Redis adapter")
        try:
            found = self.client.config_get("appendfsync")
        except errors.ResponseError:
            return None
        value = found.get("appendfsync")
        return None if value is None else str(value)

    def _refusal(self, setting: str, problem: str, fix: str) -> MissingCapability:
        return MissingCapability(
            f"this Redis server cannot be used: {problem}",
            detail={"adapter": "redis", "setting": setting},
            hint=fix,
        )

    def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        self._scripts.clear()
        if client is not None:
            client.close()
