"""``strongroom audit list | seal | verify``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import (
    console,
    moment,
    one_line,
    print_page,
    printable,
    table,
    write_json,
)
from strongroom.errors import InvalidArgument
from strongroom.models.audit import AuditSeal
from strongroom.sealing import seal_until_done

app = typer.Typer(help="Read, seal and verify a tenant's audit.", no_args_is_help=True)


@app.command("list")
@command
async def list_(
    tenant: options.Tenant = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Rows, 1 to 500.")] = 20,
    after: Annotated[
        str | None, typer.Option(help="Go on after this cursor.", show_default=False)
    ] = None,
    action: Annotated[
        str | None, typer.Option(help="Only this action.", show_default=False)
    ] = None,
    record: Annotated[
        str | None, typer.Option(help="Only about this kind of record.", show_default=False)
    ] = None,
    record_id: Annotated[
        str | None, typer.Option(help="Only about this record.", show_default=False)
    ] = None,
    actor: Annotated[
        str | None, typer.Option(help="Only what they did.", show_default=False)
    ] = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List a page of audit events, newest first."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.audit.list(
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            action=action,
            record=record,
            record_id=record_id,
            actor_id=actor,
            direction="backward",
        )
    listing = table("Recorded (UTC)", "Action", "Record", "By", "About", "Details", "Sealed")
    for column in listing.columns[:2]:
        column.no_wrap = True
    for event in page.items:
        listing.add_row(
            moment(event.created_at),
            Text(event.action, style="bold"),
            Text(printable(f"{event.record} {event.record_id}"), overflow="fold"),
            Text(printable(event.actor_id or "-")),
            Text(printable(event.principal_id or "-")),
            Text(one_line(", ".join(f"{k} {v}" for k, v in event.details.items())), style="dim"),
            str(event.position or "-"),
        )
    print_page(page, listing, empty=f"No audit events of {printable(tenant_id)}.", as_json=as_json)
    return Exit.OK


@app.command("seal")
@command
async def seal(
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Seal all events that are not sealed yet. Keep the hash that it prints somewhere else.

    Without a tenant: of all tenants, for a scheduler.
    """
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant) as store:
        if tenant is None:
            done = await seal_until_done(store)
        else:
            done = await seal_until_done(store, tenant_id=tenant, limit=500)
    if tenant is None:
        _print_seals(done, as_json=as_json)
    elif as_json:
        write_json(done[0])
    else:
        _print_seal(done[0])
    return Exit.OK


def _print_seal(seal: AuditSeal) -> None:
    out = console()
    out.print(Text(f"{seal.sealed} events sealed; the chain ends at {seal.last_position}."))
    if seal.digest:
        known = f"--known {seal.last_position}:{seal.digest}"
        out.print("Kept elsewhere, this shows whether the chain was ever rewritten:")
        out.print(Text(f"strongroom audit verify {known}", style="dim"), soft_wrap=True)


def _print_seals(seals: tuple[AuditSeal, ...], *, as_json: bool) -> None:
    if as_json:
        write_json({"sealed": seals})
        return
    listing = table("Tenant", "Sealed", "Chain ends at", "Hash, to keep elsewhere")
    for seal in seals:
        listing.add_row(
            Text(printable(seal.tenant_id)),
            str(seal.sealed),
            str(seal.last_position),
            Text(seal.digest, style="dim", overflow="fold"),
        )
    console().print(listing if seals else "Everything is sealed.")


@app.command("verify")
@command
async def verify(
    tenant: options.Tenant = None,
    known: Annotated[
        str | None,
        typer.Option(help="POSITION:HASH, as `audit seal` printed it.", show_default=False),
    ] = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Follow the whole chain; name the first event that was changed, removed or inserted."""
    tenant_id = require_tenant(tenant)
    position, digest = _known(known)
    place = 0
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        while True:
            checked = await store.audit.verify(
                tenant_id=tenant_id,
                after_position=place,
                known_position=position,
                known_digest=digest,
            )
            place = checked.verified_to
            if not checked.is_sound or not checked.has_more:
                break
    if as_json:
        write_json(checked)
    elif checked.is_sound:
        console().print(Text(f"The chain holds: {place} events.", style="green"))
    else:
        event = f", event {printable(checked.event_id)}" if checked.event_id else ""
        found = f"Broken at {checked.bad_position}{event}: {checked.problem}."
        console().print(Text(found, style="bold red"))
        console().print(Text(f"Everything up to {place} holds.", style="dim"))
    return Exit.OK if checked.is_sound else Exit.FOUND


def _known(text: str | None) -> tuple[int | None, str | None]:
    if text is None:
        return None, None
    position, _, digest = text.partition(":")
    if not position.isdigit() or not digest:
        raise InvalidArgument(
            "--known is not POSITION:HASH",
            detail={"path": "known"},
            hint="Give what `strongroom audit seal` printed.",
        )
    return int(position), digest
