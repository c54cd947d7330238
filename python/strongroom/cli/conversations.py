"""``strongroom conversations list | show``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import (
    console,
    facts,
    moment,
    one_line,
    printable,
    table,
    write_json,
)
from strongroom.cli.transcript import print_messages
from strongroom.client import Strongroom
from strongroom.models.context import Viewer
from strongroom.models.conversations import Conversation
from strongroom.models.messages import Message
from strongroom.models.pages import Page

app = typer.Typer(help="Look into conversations.", no_args_is_help=True)

PageSize = Annotated[
    int, typer.Option(min=1, max=500, help="Messages that are fetched at a time, 1 to 500.")
]
AsPrincipal = Annotated[
    str | None,
    typer.Option(
        "--viewer",
        help="Read with this principal's permissions. (Default: as the host.)",
        show_default=False,
    ),
]


@app.command("list")
@command
async def list_(
    tenant: options.Tenant = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Rows, 1 to 500.")] = 20,
    after: Annotated[
        str | None, typer.Option(help="Go on after this cursor.", show_default=False)
    ] = None,
    before: Annotated[
        str | None, typer.Option(help="Go back before this cursor.", show_default=False)
    ] = None,
    owner: Annotated[
        str | None, typer.Option(help="Only what this principal owns.", show_default=False)
    ] = None,
    archived: Annotated[
        bool | None,
        typer.Option(
            "--archived/--not-archived",
            help="Only archived ones, or only others.",
            show_default=False,
        ),
    ] = None,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="The soft-deleted ones instead.")
    ] = False,
    viewer: AsPrincipal = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List a page of conversations, newest first."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.conversations.list(
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            before=before,
            owner_id=owner,
            archived=archived,
            deleted=deleted,
            viewer=Viewer(principal_id=viewer) if viewer else None,
        )
    if as_json:
        write_json(page)
    else:
        _print_page(page, tenant_id)
    return Exit.OK


def _print_page(page: Page[Conversation], tenant_id: str) -> None:
    out = console()
    if not page.items:
        out.print(Text(f"No conversations of {printable(tenant_id)}."))
        return
    listing = table("Conversation", "Owner", "Messages", "Last message (UTC)")
    listing.columns[1].max_width = 16
    listing.columns[2].justify = "right"
    listing.columns[3].no_wrap = True
    for talk in page.items:
        name = Group(
            Text(one_line(talk.title or "(no title)"), overflow="ellipsis", no_wrap=True),
            Text(printable(talk.id), style="dim", overflow="fold"),
        )
        listing.add_row(
            name,
            Text(one_line(talk.owner_id)),
            str(talk.last_position),
            moment(talk.last_message_at),
        )
    out.print(listing)
    for word, cursor in (("Next", page.next_cursor), ("Previous", page.previous_cursor)):
        if cursor:
            option = "--after" if word == "Next" else "--before"
            out.print(Text(f"{word} page: {option} {cursor}", style="dim"), soft_wrap=True)


@app.command()
@command
async def show(
    conversation_id: Annotated[str, typer.Argument(metavar="ID", help="The conversation.")],
    tenant: options.Tenant = None,
    last: Annotated[
        int | None,
        typer.Option(min=1, max=500, help="Only the newest messages.", show_default=False),
    ] = None,
    page_size: PageSize = 50,
    full: Annotated[bool, typer.Option("--full", help="Show long tool results whole.")] = False,
    viewer: AsPrincipal = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Print a conversation as a person would like to read it, fetched page by page."""
    tenant_id = require_tenant(tenant)
    eyes = Viewer(principal_id=viewer) if viewer else None
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        talk = await store.conversations.get(
            tenant_id=tenant_id, conversation_id=conversation_id, viewer=eyes
        )
        if not as_json:
            _print_head(talk)
        page = await _first_page(store, talk, last, page_size, eyes)
        shown = list(page.items) if as_json else []
        while True:
            if not as_json:
                print_messages(console(), page.items, full=full)
            if page.next_cursor is None or last is not None:
                break
            page = await store.messages.list(
                tenant_id=tenant_id,
                conversation_id=talk.id,
                limit=page_size,
                after=page.next_cursor,
                viewer=eyes,
            )
            if as_json:
                shown += page.items
    if as_json:
        write_json({"conversation": talk, "messages": shown})
    return Exit.OK


async def _first_page(
    store: Strongroom, talk: Conversation, last: int | None, page_size: int, viewer: Viewer | None
) -> Page[Message]:
    if last is not None:
        return await store.messages.latest(
            tenant_id=talk.tenant_id, conversation_id=talk.id, limit=last, viewer=viewer
        )
    return await store.messages.list(
        tenant_id=talk.tenant_id, conversation_id=talk.id, limit=page_size, viewer=viewer
    )


def _print_head(talk: Conversation) -> None:
    out = console()
    out.print(Text(one_line(talk.title or "(no title)"), style="bold"))
    pairs: dict[str, object] = {
        "conversation": talk.id,
        "owner": talk.owner_id,
        "visibility": talk.visibility,
        "messages": talk.last_position,
    }
    if talk.participant_ids:
        pairs["participants"] = ", ".join(talk.participant_ids)
    out.print(facts(pairs))
    out.print()
