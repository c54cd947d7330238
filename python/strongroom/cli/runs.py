"""``strongroom runs list | show``."""

from __future__ import annotations

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
from strongroom.models.interactions import Interaction
from strongroom.models.runs import Run, RunEvent, RunStatus

app = typer.Typer(help="Look into runs.", no_args_is_help=True)

_COLOURS = {"completed": "green", "failed": "red", "cancelled": "yellow", "running": "cyan"}


@app.command("list")
@command
async def list_(
    tenant: options.Tenant = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Rows, 1 to 500.")] = 20,
    after: Annotated[
        str | None, typer.Option(help="Go on after this cursor.", show_default=False)
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="Only this conversation's.", show_default=False)
    ] = None,
    status: Annotated[
        str | None, typer.Option(help="Only runs that stand so.", show_default=False)
    ] = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List a page of runs, newest first."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        wanted: RunStatus | None = status  # type: ignore[assignment] # the port checks it
        page = await store.runs.list(
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            conversation_id=conversation,
            status=wanted,
        )
    listing = table("Run", "Status", "Attempt", "Created (UTC)", "Ended (UTC)")
    for run in page.items:
        listing.add_row(
            Text(printable(run.id), overflow="fold"),
            Text(run.status, style=_COLOURS.get(run.status, "")),
            f"{run.attempt}/{run.max_attempts}",
            moment(run.created_at),
            moment(run.finished_at),
        )
    print_page(page, listing, empty=f"No runs of {printable(tenant_id)}.", as_json=as_json)
    return Exit.OK


@app.command("show")
@command
async def show(
    run_id: Annotated[str, typer.Argument(help="The run's id.")],
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Show a run, what it asked, and what it did."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        run = await store.runs.get(tenant_id=tenant_id, run_id=run_id)
        asked = await store.interactions.list(tenant_id=tenant_id, run_id=run_id, limit=500)
        events: list[RunEvent] = []
        while True:
            page = await store.runs.list_events(
                tenant_id=tenant_id,
                run_id=run_id,
                limit=500,
                after_sequence=events[-1].sequence if events else 0,
            )
            events += page
            if not page:
                break
    if as_json:
        write_json(
            {
                "run": run.model_dump(mode="json"),
                "interactions": [item.model_dump(mode="json") for item in asked.items],
                "events": [event.model_dump(mode="json") for event in events],
            }
        )
    else:
        _print_run(run, asked.items, events)
    return Exit.OK


def _print_run(run: Run, asked: tuple[Interaction, ...], events: list[RunEvent]) -> None:
    out = console()
    out.print(
        facts(
            {
                "run": run.id,
                "conversation": run.conversation_id,
                "status": run.status,
                "attempt": f"{run.attempt} of {run.max_attempts}",
                "worker": run.worker_id or "-",
                "created": moment(run.created_at),
                "ended": moment(run.finished_at),
                "error": one_line(str(run.error)) if run.error else "-",
            }
        )
    )
    for item in asked:
        said = item.decision or item.answer
        out.print(
            Text.assemble(
                ("? ", "bold"),
                f"{item.kind} ",
                (one_line(item.tool_name or item.prompt or ""), "bold"),
                f": {item.status}",
                f" ({one_line(str(said))} by {printable(item.resolved_by or '-')})" if said else "",
            )
        )
    for event in events:
        out.print(
            Text(f"{event.sequence:>5}  {event.kind}  {one_line(str(event.data))}", style="dim")
        )
