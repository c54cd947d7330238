"""A tenant that is not there is an error, never an empty list: a misspelt name must not look like no data."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import typer.main

from strongroom.cli import app
from tests.cli.conftest import CHAT, Cli

GIVEN: dict[str, list[object]] = {
    "blobs reconcile": ["--blobs", "memory:"],
    "erase-principal": ["ada", "--dry-run"],
    "files get": ["some-id", "--output", "-", "--blobs", "memory:"],
    "files put": [CHAT, "--owner", "ada", "--blobs", "memory:"],
    "import": [CHAT],
    "ingest": [CHAT.parent, "--collection", "papers"],
    "retention remove": ["runs"],
    "retention set": ["runs", 86_400],
    "search": ["words", "--collection", "papers"],
    "worker": ["examples.durable_agent.agent:handler"],
}
"""What some commands need besides the tenant."""

NO_ERROR = {"blobs sweep", "purge-tenant"}
"""They are for tenants that are gone, too, and say that there was nothing to do."""


def _commands() -> Iterator[str]:
    for name, found in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        for path, command in (
            [(f"{name} {verb}", one) for verb, one in found.commands.items()]
            if hasattr(found, "commands")
            else [(name, found)]
        ):
            if any("--tenant" in parameter.opts for parameter in command.params):
                yield path


def test_there_are_commands() -> None:
    assert len(sorted(set(_commands()) - NO_ERROR)) > 20
    assert GIVEN.keys() | NO_ERROR <= set(_commands())


@pytest.mark.parametrize("command", sorted(set(_commands()) - NO_ERROR))
def test_a_tenant_that_is_not_there_is_an_error(command: str, cli: Cli) -> None:
    given = GIVEN.get(command, ["some-id"] if command.endswith(" show") else [])
    done = cli(*command.split(), *given, "--tenant", "nobody")
    assert done.code != 0, done.out
    assert re.search("the tenant (nobody )?does not exist", done.err + done.out), done
