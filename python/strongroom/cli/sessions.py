"""``strongroom sessions list | show``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import console, facts, moment, print_page, printable, table, write_json
from strongroom.cli.transcripts import print_messages
from strongroom.errors import NotFound

app = typer.Typer(help="Look into memory sessions.", no_args_is_help=True)


@app.command("list")
@command
async def list_(
    tenant: options.Tenant = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Of this user.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Rows, 1 to 500.")] = 20,
    after: Annotated[
        str | None, typer.Option(help="Go on after this cursor.", show_default=False)
    ] = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List a page of sessions, newest first."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.memory.inspector.list_conversations(
            tenant_id=tenant_id, limit=limit, after=after, user_id=user
        )
    listing = table("Reference", "Session", "User", "Messages", "Changed (UTC)")
    for row in page.items:
        listing.add_row(
            Text(row.ref, overflow="fold"),
            Text(printable(row.session_id), overflow="fold"),
            Text(printable(row.user_id or "-"), overflow="fold"),
            str(row.message_count),
            moment(row.updated_at),
        )
    print_page(page, listing, empty=f"No sessions of {printable(tenant_id)}.", as_json=as_json)
    return Exit.OK


@app.command("show")
@command
async def show(
    ref: Annotated[str, typer.Argument(help="The session's reference.")],
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Show a session with all its messages."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        found = await store.memory.inspector.get_conversation(tenant_id=tenant_id, ref=ref)
    if found is None:
        raise NotFound(
            "the session does not exist",
            detail={"path": "ref", "record": "session"},
            hint="`strongroom sessions list` has the references.",
        )
    if as_json:
        write_json(found)
        return Exit.OK
    console().print(
        facts(
            {
                "session": found.session_id,
                "user": found.user_id or "-",
                "messages": str(found.message_count),
                "created": moment(found.created_at),
            }
        )
    )
    print_messages([stored.message for stored in found.messages])
    return Exit.OK
