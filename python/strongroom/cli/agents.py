"""``strongroom agents list | show``."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import (
    console,
    facts,
    moment,
    one_line,
    print_page,
    printable,
    table,
    write_json,
)
from strongroom.models.catalog import Agent

app = typer.Typer(help="Look into the catalog of agents.", no_args_is_help=True)


@app.command("list")
@command
async def list_(
    tenant: options.Tenant = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Rows, 1 to 500.")] = 20,
    after: Annotated[
        str | None, typer.Option(help="Go on after this cursor.", show_default=False)
    ] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="The soft-deleted ones.")] = False,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List a page of agents, by id."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.agents.list(
            tenant_id=tenant_id, limit=limit, after=after, deleted=deleted
        )
    listing = table("Agent", "Name", "Latest", "State", "Changed (UTC)")
    for agent in page.items:
        listing.add_row(
            Text(printable(agent.id), overflow="fold"),
            Text(one_line(agent.name)),
            str(agent.latest_version or "-"),
            _state(agent),
            moment(agent.updated_at),
        )
    print_page(page, listing, empty=f"No agents of {printable(tenant_id)}.", as_json=as_json)
    return Exit.OK


def _state(agent: Agent) -> str:
    if agent.deleted_at is not None:
        return "deleted"
    return "archived" if agent.archived_at is not None else "active"


@app.command("show")
@command
async def show(
    agent_id: Annotated[str, typer.Argument(help="The agent's id.")],
    version: Annotated[
        int | None,
        typer.Option(min=1, help="Show this version; the latest without.", show_default=False),
    ] = None,
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Show an agent and one of its published versions."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        agent = await store.agents.get(tenant_id=tenant_id, agent_id=agent_id)
        if version is None:
            shown = await store.agents.find_version(tenant_id=tenant_id, agent_id=agent_id)
        else:
            shown = await store.agents.get_version(
                tenant_id=tenant_id, agent_id=agent_id, version=version
            )
    if as_json:
        write_json(
            {
                "agent": agent.model_dump(mode="json"),
                "version": shown.model_dump(mode="json") if shown else None,
            }
        )
        return Exit.OK
    out = console()
    out.print(
        facts(
            {
                "agent": agent.id,
                "name": agent.name,
                "description": one_line(agent.description or "-"),
                "state": _state(agent),
                "latest version": str(agent.latest_version or "-"),
                "shown": f"version {shown.version}" if shown else "-",
                "published": moment(shown.published_at if shown else None),
                "digest": shown.content_digest if shown else "-",
            }
        )
    )
    if shown:
        definition = json.dumps(shown.definition, ensure_ascii=False, indent=2)
        out.print(Text(printable(definition)), soft_wrap=True)
    return Exit.OK
