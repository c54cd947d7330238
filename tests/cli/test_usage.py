"""Bad input, unreachable databases, missing extras: the typed error, a code, and no traceback."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from strongroom import errors
from strongroom.cli.exits import MEANINGS, Exit, exit_for
from tests.cli.conftest import CHAT, Cli, command_line, environment, run_process
from tests.servers import Database

COMMANDS = [
    ("import", CHAT),
    ("conversations", "list"),
    ("conversations", "show", "x"),
    ("migrate", "status"),
    ("migrate", "plan"),
    ("migrate", "apply"),
    ("migrate", "down", "--to", "0"),
    ("health",),
    ("doctor",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(str, command[:2])))
def test_no_database_named(cli_alone: Cli, command: tuple[str, ...]) -> None:
    done = cli_alone(*command, *_tenant(command), "--json")
    assert done.code == 2
    assert done.json()["error"]["code"] == "SR001"
    assert "STRONGROOM_URL" in done.err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(map(str, command[:2])))
def test_a_database_that_is_not_there(cli_alone: Cli, command: tuple[str, ...]) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and listening to nobody
        url = f"postgresql://someone:s3cret@127.0.0.1:{taken.getsockname()[1]}/none"
        started = time.monotonic()
        done = cli_alone(*command, *_tenant(command), "--url", url, "--json")
    assert done.code == 3
    error = done.json()["error"]
    assert (error["code"], error["retryable"]) == ("SR050", True)
    assert "refused" in error["message"]
    assert "s3cret" not in done.out + done.err
    assert time.monotonic() - started < 10, "a pool's patience is not spent on it"


def test_a_server_that_does_not_answer(cli_alone: Cli) -> None:
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql://someone@127.0.0.1:{silent.getsockname()[1]}/none"
        done = cli_alone("health", "--url", url, "--timeout", "1.5", "--json")
    assert done.code == 3
    assert done.json()["error"]["code"] == "SR050"


def test_a_role_that_does_not_exist(cli: Cli, database: Database) -> None:
    done = cli("health", "--url", database.url(user="nobody_at_all"))
    assert done.code == 3
    assert 'role "nobody_at_all" does not exist' in done.err


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "mysql://x",
        "postgresql://u:pass%zzword@h/d",
        "postgresql://h/d?wrong=1",
        "embedded:relative",
    ],
)
def test_a_url_of_no_known_kind(cli_alone: Cli, url: str) -> None:
    done = cli_alone("health", "--url", url)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "pass%zzword" not in done.err


def test_no_tenant_named(cli: Cli) -> None:
    done = cli("conversations", "list", "--tenant", "")
    assert done.code == 2
    assert "STRONGROOM_TENANT" in done.err


def test_an_id_that_is_too_long(cli: Cli) -> None:
    assert cli("import", CHAT, "--create-tenant").code == 0
    done = cli("conversations", "show", "x" * 256, "--json")
    assert done.code == 2
    assert done.json()["error"]["code"] == "SR004"


@pytest.mark.parametrize(
    "arguments",
    [
        ("conversations", "list", "--limit", "0"),
        ("conversations", "list", "--limit", "501"),
        ("import",),
        ("import", CHAT, "--batch", "501"),
        ("migrate", "down"),
        ("nothing",),
        ("health", "--timeout", "0"),
    ],
)
def test_wrong_usage(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""


def test_a_file_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    done = cli("import", tmp_path / "none.jsonl", "--json")
    assert done.code == 2
    assert "none.jsonl" in done.json()["error"]["message"]


def test_the_traceback_is_shown_on_request_only(cli: Cli) -> None:
    assert "Traceback" not in cli("conversations", "show", "x").err
    asked = cli("conversations", "show", "x", "--debug", "--json")
    assert "Traceback" in asked.err
    assert asked.json()["error"]["code"] == "SR010"


def test_what_nobody_foresaw_is_still_no_traceback(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        msg = "boom"
        raise ZeroDivisionError(msg)

    monkeypatch.setattr("strongroom.cli.diagnosis.open_store", fail)
    done = cli("health", "--json")
    assert done.code == 70
    assert "unforeseen ZeroDivisionError: boom" in done.json()["error"]["message"]
    assert "Traceback" not in done.err
    assert "--debug" in done.err


def test_every_error_has_an_exit_code_and_every_code_stands_in_the_help(cli_alone: Cli) -> None:
    codes = {kind.__name__: exit_for(kind("x")) for kind in errors.BY_CODE.values()}
    assert codes == {
        "InvalidArgument": 2,
        "InvalidCursor": 2,
        "InvalidText": 2,
        "LimitExceeded": 2,
        "NotFound": 4,
        "AlreadyExists": 1,
        "VersionConflict": 1,
        "PermissionDenied": 4,
        "TenantMismatch": 4,
        "InvalidTransition": 4,
        "StaleClaim": 4,
        "MissingCapability": 6,
        "SchemaVersionError": 5,
        "Unavailable": 3,
    }
    assert set(MEANINGS) == set(Exit)
    out = cli_alone("--help", width=120).out
    for code, meaning in MEANINGS.items():
        assert f"{code.value}  {meaning}" in out


def test_the_embedded_server_that_is_not_installed(
    cli_alone: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strongroom.embedded._PACKAGE", "no_such_package")
    done = cli_alone("demo", "--json")
    assert done.code == 6
    error = done.json()["error"]
    assert error["code"] == "SR040"
    assert "strongroom[embedded]" in error["hint"]


def test_version(cli_alone: Cli) -> None:
    done = cli_alone("--version")
    assert done.code == 0
    assert done.out.startswith("strongroom 0.")


def test_a_reader_that_leaves_early_is_no_failure_to_talk_about(
    database: Database, cli: Cli
) -> None:
    talk = cli("import", CHAT, "--create-tenant", "--json").json()["conversation_id"]
    command = command_line("conversations", "show", talk)
    with subprocess.Popen(
        command,
        env=environment(database),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as reading:
        assert reading.stdout is not None
        assert reading.stderr is not None
        reading.stdout.close()
        told = reading.stderr.read()
    assert "Traceback" not in told
    assert "unforeseen" not in told


def test_run_process_has_no_terminal() -> None:
    assert "\x1b" not in run_process("--help").out


def _tenant(command: tuple[str, ...]) -> tuple[str, ...]:
    return ("--tenant", "acme") if command[0] in ("import", "conversations") else ()
