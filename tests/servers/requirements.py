"""What tests need from the system beyond Python packages: a visible skip here, a failure in CI."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

_DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
_EXTENSIONS_15 = Path("/usr/share/postgresql/15/extension")

# name -> where it is found, and how a person gets it
_KNOWN: dict[str, tuple[list[str | Path], str]] = {
    "postgresql-15": ([_DEBIAN_15 / "postgres"], "apt-get install postgresql-15"),
    "pgtap": ([_EXTENSIONS_15 / "pgtap.control"], "apt-get install postgresql-15-pgtap"),
    "plpgsql_check": (
        [_EXTENSIONS_15 / "plpgsql_check.control"],
        "apt-get install postgresql-15-plpgsql-check",
    ),
    "pg_cron": ([_EXTENSIONS_15 / "pg_cron.control"], "apt-get install postgresql-15-cron"),
    "pg_prove": (["pg_prove"], "apt-get install libtap-parser-sourcehandler-pgtap-perl"),
    "pgbouncer": (["pgbouncer", Path("/usr/sbin/pgbouncer")], "apt-get install pgbouncer"),
    "node": (["node"], "apt-get install nodejs"),
    "npm": (["npm"], "apt-get install npm"),
    "chromium": (["chromium"], "apt-get install chromium"),
    "redis-server": (["redis-server"], "apt-get install redis-server"),
}


def in_ci() -> bool:
    return os.environ.get("CI") == "true"


def missing(what: str, hint: str) -> NoReturn:
    """Skip the test with its reason in sight; fail it in CI, where everything must be there."""
    reason = f"{what} is missing: {hint}"
    if in_ci():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def find(name: str) -> Path | None:
    places, _ = _KNOWN[name]
    for place in places:
        if isinstance(place, Path):
            if place.exists():
                return place
        elif found := shutil.which(place):
            return Path(found)
    return None


def require(name: str) -> Path:
    """Return where a system package's program or file is, or skip the test (fail it in CI)."""
    found = find(name)
    if found is None:
        missing(name, _KNOWN[name][1])
    return found
