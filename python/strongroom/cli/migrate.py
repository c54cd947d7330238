"""``strongroom migrate status | plan | apply | down | print``."""

from __future__ import annotations

import asyncio
import datetime as dt
import sys
from typing import Annotated, Any

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_owner, single_connection
from strongroom.cli.output import (
    Bar,
    console,
    errors_console,
    moment,
    printable,
    progress_bar,
    table,
    write_json,
)
from strongroom.errors import InvalidArgument, PermissionDenied, StrongroomError
from strongroom.migrations import Migration, load_migrations
from strongroom.models.health import SchemaChange
from strongroom.postgres import owner_connection
from strongroom.schema import OWNER_HINT, SqlSchemaManager

app = typer.Typer(
    help="Create, upgrade and take back strongroom's own tables and functions.",
    no_args_is_help=True,
)

_STATE_STYLES = {"applied": "green", "pending": "yellow", "skipped": "yellow", "unknown": "red"}
_POLL_SECONDS = 0.05


async def read_status(url: str, timeout: float) -> list[dict[str, Any]]:  # noqa: ASYNC109
    """Return one row per migration that the package or the database knows.

    Args:
        url: the role that owns the schema.
        timeout: seconds for connecting.

    Returns:
        version, name, state (``applied``, ``skipped``, ``pending``; ``unknown`` is of a newer package),
        applied_at, applied_by and reason.

    Raises:
        PermissionDenied: SR020, the role may not look.
    """
    try:
        recorded = await _read_history(url, timeout)
    except PermissionDenied as error:
        raise PermissionDenied(error.message, detail=error.detail, hint=OWNER_HINT) from error
    known = {migration.version: migration.name for migration in load_migrations()}
    rows = []
    for version in sorted(known.keys() | recorded.keys()):
        row = recorded.get(version) or {
            "version": version,
            "name": known[version],
            "state": "pending",
            "applied_at": None,
            "applied_by": None,
            "reason": None,
        }
        rows.append(row if version in known else {**row, "state": "unknown"})
    return rows


async def _read_history(url: str, timeout: float) -> dict[int, dict[str, Any]]:  # noqa: ASYNC109
    recorded: dict[int, dict[str, Any]] = {}
    async with single_connection(url, timeout) as connection:
        cursor = await connection.execute(
            "select to_regclass('strongroom.schema_history') is not null"
        )
        found = await cursor.fetchone()
        if found and found[0]:
            cursor = await connection.execute(
                "select h.version, h.name, h.status, h.applied_at, h.applied_by, h.reason"
                " from strongroom.schema_history as h"
            )
            names = ("version", "name", "state", "applied_at", "applied_by", "reason")
            async for row in cursor:
                recorded[row[0]] = dict(zip(names, row, strict=True))
    return recorded


async def apply_showing(manager: SqlSchemaManager, bar: Bar) -> None:
    """Apply what is missing while a bar shows how far it is."""
    bar.total(manager.target_version())
    applying = asyncio.create_task(manager.apply())
    try:
        while not applying.done():
            bar.done(await manager.current_version())
            await asyncio.wait({applying}, timeout=_POLL_SECONDS)
    finally:
        await applying
    bar.done(await manager.current_version())


@app.command()
@command
async def status(
    url: options.Url = None,
    schema_url: options.SchemaUrl = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List the migrations: which are applied, when and by whom; which are pending; what drifted."""
    async with open_owner(url, schema_url, timeout=timeout) as owner:
        rows = await read_status(owner.url, timeout)
        drifted: tuple[SchemaChange, ...] = ()
        if all(row["state"] != "unknown" for row in rows):
            changes = await SqlSchemaManager(owner_connection(owner.url)).plan()
            drifted = tuple(change for change in changes if change.action == "drift")
    _show_status(rows, as_json=as_json, drifted=drifted)
    return Exit.OK


def _show_status(
    rows: list[dict[str, Any]], *, as_json: bool, drifted: tuple[SchemaChange, ...] = ()
) -> None:
    current = max((row["version"] for row in rows if row["state"] != "pending"), default=0)
    if as_json:
        write_json(
            {
                "current_version": current,
                "target_version": load_migrations()[-1].version,
                "migrations": rows,
                "drift": [change.description for change in drifted],
            }
        )
        return
    listing = table("Version", "Name", "State", "Applied (UTC)", "By")
    for row in rows:
        applied_at: dt.datetime | None = row["applied_at"]
        state = Text(row["state"], style=_STATE_STYLES[row["state"]])
        if row["reason"]:
            state.append(f": {printable(row['reason'])}", style="default")
        listing.add_row(
            f"{row['version']:04d}",
            Text(printable(row["name"])),
            state,
            moment(applied_at),
            Text(printable(row["applied_by"] or "-")),
        )
    console().print(listing)
    for change in drifted:
        line = Text.assemble(("drift   ", "red"), printable(change.description))
        console().print(line, soft_wrap=True)


@app.command()
@command
async def plan(
    url: options.Url = None,
    schema_url: options.SchemaUrl = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Say what `apply` would do, and which objects have drifted. Changes nothing.

    Exit code 0 when there is nothing to do, 1 when there is.
    """
    async with open_owner(url, schema_url, timeout=timeout) as owner:
        manager = SqlSchemaManager(owner_connection(owner.url))
        changes = await manager.plan()
        current = await manager.current_version()
    if as_json:
        write_json(
            {
                "current_version": current,
                "target_version": manager.target_version(),
                "changes": changes,
            }
        )
    elif not changes:
        console().print(Text(f"Nothing to do: the schema is at version {current}.", style="green"))
    else:
        for change in changes:
            style = "red" if change.action == "drift" else "yellow"
            line = Text.assemble((f"{change.action:<8}", style), printable(change.description))
            console().print(line, soft_wrap=True)
    return Exit.FOUND if changes else Exit.OK


@app.command()
@command
async def apply(
    url: options.Url = None,
    schema_url: options.SchemaUrl = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Apply what is missing, one migration a transaction. Running it again does nothing."""
    async with open_owner(url, schema_url, timeout=timeout) as owner:
        manager = SqlSchemaManager(owner_connection(owner.url))
        before = await manager.current_version()
        with progress_bar("Applying migrations") as bar:
            await apply_showing(manager, bar)
        rows = await read_status(owner.url, timeout)
    if not as_json:
        count = manager.target_version() - before
        said = f"Applied {count} migrations." if count else "Nothing to do."
        console().print(Text(said, style="green"))
    _show_status(rows, as_json=as_json)
    return Exit.OK


@app.command()
@command
async def down(
    to: Annotated[int, typer.Option("--to", min=0, help="The version to end at, 0 for none.")],
    allow_data_loss: Annotated[
        bool, typer.Option("--allow-data-loss", help="Drop tables that hold rows, too.")
    ] = False,
    url: options.Url = None,
    schema_url: options.SchemaUrl = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Take migrations back, newest first. A table that holds rows is kept unless you say otherwise."""
    async with open_owner(url, schema_url, timeout=timeout) as owner:
        manager = SqlSchemaManager(owner_connection(owner.url))
        before = await manager.current_version()
        try:
            await manager.downgrade(to_version=to, allow_data_loss=allow_data_loss)
        except StrongroomError:
            # Each is taken back in a transaction of its own, so those before the refusal are gone.
            reached = await manager.current_version()
            if reached < before:
                stopped = f"Took {before - reached} migrations back and stopped at {reached:04d}:"
                errors_console().print(Text(stopped, style="yellow"))
            raise
        rows = await read_status(owner.url, timeout)
    if not as_json:
        count = max(0, before - to)
        said = f"Took {count} migrations back." if count else "Nothing to take back."
        console().print(Text(said, style="green"))
    _show_status(rows, as_json=as_json)
    return Exit.OK


@app.command("print")
@command
async def print_(
    version: Annotated[
        int | None,
        typer.Argument(
            metavar="[N]", help="One migration's number. (Default: all.)", show_default=False
        ),
    ] = None,
    down: Annotated[bool, typer.Option("--down", help="The way back instead.")] = False,
    as_json: options.AsJson = False,
) -> Exit:
    """Print the SQL of the migrations, for a DBA who runs it. Each one needs ONE transaction.

    For example: strongroom migrate print 1 | psql --single-transaction -v ON_ERROR_STOP=1
    """
    wanted = _wanted(version)
    if down:
        wanted.reverse()
    if as_json:
        write_json(
            {
                "migrations": [
                    {
                        "version": migration.version,
                        "name": migration.name,
                        "direction": "down" if down else "up",
                        "sql": migration.down if down else migration.up,
                    }
                    for migration in wanted
                ]
            }
        )
    else:
        for migration in wanted:
            sys.stdout.write(migration.down if down else migration.up)
        sys.stdout.flush()
    return Exit.OK


def _wanted(version: int | None) -> list[Migration]:
    found = [m for m in load_migrations() if version in (None, m.version)]
    if not found:
        newest = load_migrations()[-1].version
        raise InvalidArgument(
            f"there is no migration {version}",
            detail={"path": "N"},
            hint=f"Give a number from 1 to {newest}, or none for all.",
        )
    return found
