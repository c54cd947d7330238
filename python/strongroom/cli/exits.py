"""Exit codes that scripts can use, and how a failed command says what, where and what to do."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
import traceback
from collections.abc import Callable, Coroutine
from enum import IntEnum
from typing import Any, ParamSpec

import typer
from rich.text import Text

from strongroom.cli.options import Debug
from strongroom.cli.output import errors_console, printable, write_json
from strongroom.errors import (
    AlreadyExists,
    InvalidArgument,
    MissingCapability,
    SchemaVersionError,
    StrongroomError,
    Unavailable,
    VersionConflict,
)

P = ParamSpec("P")


class Exit(IntEnum):
    """What the process ends with."""

    OK = 0
    FOUND = 1
    USAGE = 2
    UNAVAILABLE = 3
    REFUSED = 4
    SCHEMA = 5
    MISSING = 6
    UNFORESEEN = 70
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "done, and all is well",
    Exit.FOUND: "something is wrong or to be done: a finding, a conflict, a pending migration",
    Exit.USAGE: "wrong usage or bad input; nothing was written",
    Exit.UNAVAILABLE: "the database cannot be reached; the command may be repeated",
    Exit.REFUSED: "the database refused: not found, not permitted, not in this state",
    Exit.SCHEMA: "database and package do not fit: see `strongroom migrate status`",
    Exit.MISSING: "a capability or an extra is missing",
    Exit.UNFORESEEN: "unforeseen; repeat with --debug and report it",
    Exit.INTERRUPTED: "interrupted",
}

EPILOG = "[bold]Exit codes[/bold]\n\n" + "\n\n".join(
    f"{code.value}  {meaning}" for code, meaning in MEANINGS.items()
)

_EXITS: tuple[tuple[type[StrongroomError], Exit], ...] = (
    (InvalidArgument, Exit.USAGE),
    (AlreadyExists, Exit.FOUND),
    (VersionConflict, Exit.FOUND),
    (Unavailable, Exit.UNAVAILABLE),
    (SchemaVersionError, Exit.SCHEMA),
    (MissingCapability, Exit.MISSING),
)


def exit_for(error: StrongroomError) -> Exit:
    """Return the exit code that stands for an error."""
    for kind, code in _EXITS:
        if isinstance(error, kind):
            return code
    known = error.code.startswith("SR") and error.code != StrongroomError.code
    return Exit.REFUSED if known else Exit.UNFORESEEN


def command(
    function: Callable[P, Coroutine[Any, Any, Exit]],
) -> Callable[P, None]:
    """Run an async command, and turn its result or its error into output and an exit code.

    Args:
        function: the command. Its option ``as_json`` says how an error is shown.

    Returns:
        The command with the option ``--debug`` added.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        as_json, debug = bool(kwargs.get("as_json")), bool(kwargs.pop("debug", False))
        if not debug:
            # The pool's own complaints come to the user as our errors.
            logging.getLogger("psycopg").addHandler(logging.NullHandler())
        try:
            code = asyncio.run(function(*args, **kwargs))
        except (KeyboardInterrupt, asyncio.CancelledError):
            errors_console().print("interrupted", style="yellow")
            code = Exit.INTERRUPTED
        except StrongroomError as error:
            code = exit_for(error)
            _report(error, as_json=as_json, debug=debug)
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 (the last frame before the user)
            code = Exit.UNFORESEEN
            wrapped = StrongroomError(
                f"unforeseen {type(error).__name__}: {error}",
                hint="Repeat with --debug, and report what it prints.",
            )
            wrapped.__cause__ = error
            _report(wrapped, as_json=as_json, debug=debug)
        raise typer.Exit(int(code))

    signature = inspect.signature(function, eval_str=True)
    option = inspect.Parameter(
        "debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug
    )
    parameters = [*signature.parameters.values(), option]
    del run.__dict__["__wrapped__"]
    run.__dict__["__signature__"] = signature.replace(parameters=parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _report(error: StrongroomError, *, as_json: bool, debug: bool) -> None:
    console = errors_console()
    if as_json:
        # Where standard output is what fails, people are told all the same.
        with contextlib.suppress(OSError):
            write_json({"error": error_fields(error)})
    line = Text("error  ", style="bold red")
    line.append(printable(error.message), style="default not bold")
    line.append(f"  [{error.code} {type(error).__name__}]", style="dim not bold")
    console.print(line, soft_wrap=True)
    where = error.detail.get("path") or error.detail.get("object") or error.detail.get("table")
    if isinstance(where, str) and where not in error.message:
        console.print(Text(f"where  {printable(where)}"), soft_wrap=True)
    if error.hint:
        console.print(Text.assemble(("to do  ", "bold"), printable(error.hint)), soft_wrap=True)
    if debug:
        trace = "".join(traceback.format_exception(error))
        console.print(Text(printable(trace), style="dim"), soft_wrap=True)


def error_fields(error: StrongroomError) -> dict[str, Any]:
    """Return an error as ``--json`` shows it."""
    return {
        "code": error.code,
        "name": error.name,
        "message": error.message,
        "detail": error.detail,
        "hint": error.hint,
        "retryable": error.retryable,
        "exit_code": int(exit_for(error)),
    }
