"""Calling the command line: in this process for shapes and codes, as a process for signals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner

from strongroom.cli import app
from tests.servers import Database

ROOT = Path(__file__).resolve().parents[2]
CHAT = ROOT / "examples" / "data" / "support.chat.jsonl"
NATIVE = ROOT / "examples" / "data" / "support.pydantic_ai.json"


@dataclass(frozen=True)
class Ran:
    """What a call ended with and wrote."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


class Cli(Protocol):
    """Call a command in this process."""

    def __call__(self, *arguments: object, width: int = 80, **variables: str) -> Ran: ...


def environment(database: Database | None, **more: str) -> dict[str, str]:
    """The variables of a call, free of those of the person who runs the tests."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("STRONGROOM_") and key not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")
    }
    if database is not None:
        kept |= {"STRONGROOM_URL": database.host_url, "STRONGROOM_TENANT": "acme"}
    return kept | more


def _call(database: Database | None, *arguments: object, width: int = 80, **variables: str) -> Ran:
    wanted: dict[str, str | None] = {
        **dict.fromkeys(os.environ),
        **environment(database, COLUMNS=str(width), **variables),
    }
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], env=wanted)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ran(done.exit_code, done.stdout, done.stderr)


@pytest.fixture
def cli(database: Database) -> Cli:
    """Call commands on a database of this test's own, with the schema, as the hosts' role."""

    def call(*arguments: object, width: int = 80, **variables: str) -> Ran:
        return _call(database, *arguments, width=width, **variables)

    return call


@pytest.fixture
def cli_alone() -> Cli:
    """Call commands without any database in the environment."""

    def call(*arguments: object, width: int = 80, **variables: str) -> Ran:
        return _call(None, *arguments, width=width, **variables)

    return call


Start = Callable[..., "subprocess.Popen[str]"]


def command_line(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "strongroom.cli", *map(str, arguments)]


def run_process(
    *arguments: object, database: Database | None = None, cwd: Path | None = None, **variables: str
) -> Ran:
    """Run the command as a process, with no terminal."""
    done = subprocess.run(
        command_line(*arguments),
        env=environment(database, **variables),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write_chat(path: Path, count: int, *, start: int = 0) -> Path:
    """Append chat messages, user and assistant in turn, to a file."""
    with path.open("a", encoding="utf-8") as file:
        for number in range(start, start + count):
            role = "user" if number % 2 == 0 else "assistant"
            file.write(json.dumps({"role": role, "content": f"Message {number}"}) + "\n")
    return path
