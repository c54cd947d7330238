"""pgTAP in a database, and pg_prove over the stories of supabase/tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.servers import Database, LocalServer, require
from tests.servers.databases import ROOT, run_script

STORIES = ROOT / "supabase" / "tests"
FILES = sorted(STORIES.glob("*.sql"))
SCHEMA = "tap"

_RAN = re.compile(r"^Files=1, Tests=(\d+),", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """What pg_prove says of one file."""

    passed: bool
    tests: int
    failed: bool  # an assertion failed, not the file as such
    report: str


def load_pgtap(database: Database) -> None:
    """Put pgTAP in a schema of its own: the extension on Debian 15, its plain SQL elsewhere."""
    control = require("pgtap")
    with database.connect() as connection:
        connection.execute(f"create schema {SCHEMA}")
        connection.execute(f"grant usage on schema {SCHEMA} to public")
        if database.server.name == "pg15":
            connection.execute(f"create extension pgtap with schema {SCHEMA}")
            return
        (script,) = (p for p in control.parent.glob("pgtap--*.sql") if p.stem.count("--") == 1)
        text = script.read_text(encoding="utf-8")
        connection.execute(f"set search_path = {SCHEMA}")
        # The first line is psql's, and tells people to use `create extension`.
        run_script(connection, re.sub(r"^\\.*$", "", text, flags=re.MULTILINE))


def _psql(database: Database) -> Path:
    if isinstance(database.server, LocalServer):
        ours = database.server.binaries / "psql"
        if ours.exists():
            return ours
    found = shutil.which("psql")
    assert found, "pg_prove needs psql"
    return Path(found)


def prove(database: Database, file: Path) -> Result:
    """Run one file as the superuser, who becomes the roles of its stories."""
    program = require("pg_prove")
    server = database.server
    done = subprocess.run(
        [program, "--norc", "--failures", "--psql-bin", _psql(database), file.name],
        cwd=file.parent,
        env={
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "PGHOST": server.host,
            "PGPORT": str(server.port),
            "PGUSER": server.superuser,
            "PGDATABASE": database.name,
            "PGOPTIONS": f"-c search_path={SCHEMA},public",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    report = done.stdout + done.stderr
    ran = _RAN.search(report)
    return Result(
        passed=done.returncode == 0 and "Result: PASS" in report,
        tests=int(ran[1]) if ran else 0,
        failed="# Failed test" in report,
        report=report,
    )
