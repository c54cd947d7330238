"""``strongroom transcripts list | show``."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import console, moment, print_page, printable, table, write_json
from strongroom.errors import NotFound
from strongroom.models.base import JsonValue

app = typer.Typer(help="Look into transcripts of scopes.", no_args_is_help=True)


def print_messages(messages: list[JsonValue]) -> None:
    """Print raw messages, one a line, numbered."""
    out = console()
    for position, message in enumerate(messages, 1):
        text = json.dumps(message, ensure_ascii=False)
        out.print(Text(f"{position:>5}  {printable(text)}"), soft_wrap=True)


@app.command("list")
@command
async def list_(
    tenant: options.Tenant = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Rows, 1 to 500.")] = 20,
    after: Annotated[
        str | None, typer.Option(help="Go on after this cursor.", show_default=False)
    ] = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List a page of the scopes that have a transcript, newest first."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.transcripts.list_scopes(tenant_id=tenant_id, limit=limit, after=after)
    listing = table("Scope", "Messages", "Version", "Changed (UTC)")
    for head in page.items:
        listing.add_row(
            Text(printable(head.scope), overflow="fold"),
            str(head.message_count),
            str(head.version),
            moment(head.updated_at),
        )
    print_page(page, listing, empty=f"No transcripts of {printable(tenant_id)}.", as_json=as_json)
    return Exit.OK


@app.command("show")
@command
async def show(
    scope: Annotated[str, typer.Argument(help="The scope.")],
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Show all messages of a scope, as they were saved."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        head = await store.transcripts.find(tenant_id=tenant_id, scope=scope)
        messages = await store.transcripts.load(tenant_id=tenant_id, scope=scope)
    if head is None:
        raise NotFound(
            "the transcript does not exist",
            detail={"path": "scope", "record": "transcript"},
            hint="`strongroom transcripts list` has the scopes that have one.",
        )
    if as_json:
        write_json({"transcript": head.model_dump(mode="json"), "messages": messages})
    else:
        print_messages(messages)
    return Exit.OK
