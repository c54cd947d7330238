"""The real Supabase CLI on a local project folder, without a container."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers import Database, require
from tests.servers.requirements import missing

ROOT = Path(__file__).resolve().parents[2]
VERSION = "2.117.0"


@dataclass(frozen=True)
class Done:
    """What one call of the CLI said."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return f"{self.out}\n{self.err}"

    def json(self) -> Any:
        """The JSON on standard output; nothing there means nothing found."""
        return json.loads(self.out) if self.out.strip() else []


@dataclass(frozen=True)
class Project:
    """A user's Supabase project: a folder with supabase/ in it."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> Project:
        (folder / "supabase" / "migrations").mkdir(parents=True)
        (folder / "supabase" / "config.toml").write_text(
            'project_id = "app"\n\n[api]\nschemas = ["public", "strongroom"]\n'
        )
        return cls(folder)

    @property
    def migrations(self) -> Path:
        return self.folder / "supabase" / "migrations"

    def write(self, name: str, text: str) -> Path:
        path = self.migrations / name
        path.write_text(text, encoding="utf-8")
        return path

    def names(self) -> list[str]:
        return sorted(path.name for path in self.migrations.glob("*.sql"))

    def run(self, database: Database, *arguments: str, expect: int | None = 0) -> Done:
        """Call the CLI against a database, as the role that migrates it.

        Args:
            database: where to; the CLI wants TLS unless the URL says that there is none.
            *arguments: the command and its flags.
            expect: the exit status that it has to have; None for any.
        """
        done = run_cli(
            *arguments,
            "--db-url",
            database.url(user=database.migrator, sslmode="disable"),
            "--yes",
            "--workdir",
            str(self.folder),
            home=self.folder,
        )
        assert expect is None or done.code == expect, done.text
        return done

    def push(self, database: Database, *flags: str, expect: int | None = 0) -> Done:
        return self.run(database, "db", "push", *flags, expect=expect)


def run_cli(*arguments: str, home: Path) -> Done:
    """Call the CLI that package.json pins, with nothing to ask and nobody to tell."""
    require("node")
    require("npm")
    program = ROOT / "node_modules" / ".bin" / "supabase"
    if not program.exists():
        missing(f"the Supabase CLI {VERSION}", "run npm ci in the checkout")
    done = subprocess.run(
        [str(program), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=home,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "SUPABASE_TELEMETRY_DISABLED": "1",
            "DO_NOT_TRACK": "1",
            "NO_COLOR": "1",
        },
    )
    return Done(done.returncode, done.stdout, done.stderr)
