"""``strongroom erase-principal``, ``purge-tenant`` and ``retention``: how records end."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import console, moment, printable, table, write_json
from strongroom.errors import InvalidArgument
from strongroom.retention import expire_until_done, sweep_until_done

app = typer.Typer(help="How long records are kept.", no_args_is_help=True)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the counts, and change nothing.")]
COUNTED = 500
"""How many records of a kind a dry run of retention counts."""
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def _counts(rows: list[tuple[str, str, int]]) -> Table:
    listing = table("Table", "What", "Rows")
    for name, action, count in rows:
        listing.add_row(Text(name), Text(action), str(count))
    return listing


def _agree(question: str, *, yes: bool, as_json: bool) -> bool:
    """Ask, unless the answer was given; a program that reads JSON cannot be asked, nor nobody."""
    if yes:
        return True
    if not as_json:
        with contextlib.suppress(typer.Abort, RuntimeError):  # the end of the input, or none at all
            return typer.confirm(question, err=True)
    raise InvalidArgument(
        "nothing is deleted without an answer",
        detail={"path": "--yes"},
        hint="Add --yes, or --dry-run to see the counts.",
    )


@command
async def erase_principal(
    principal: Annotated[str, typer.Argument(help="The person's id.", show_default=False)],
    tenant: options.Tenant = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 300.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Erase a person: everything that is theirs in every table, in one transaction."""
    tenant_id = require_tenant(tenant)
    question = f"Erase {printable(principal)} from {printable(tenant_id)} for good?"
    if not dry_run and not _agree(question, yes=yes, as_json=as_json):
        return Exit.FOUND
    async with open_store(url, pooler=pooler, timeout=timeout) as store:
        receipt = await store.lifecycle.erase_principal(
            tenant_id=tenant_id, principal_id=principal, dry_run=dry_run
        )
    if as_json:
        write_json(receipt)
        return Exit.OK
    out = console()
    if not receipt.erased:
        out.print("Nothing of this person is there.")
        return Exit.OK
    out.print(_counts([(i.table_name, i.action, i.row_count) for i in receipt.items]))
    stored = f"Receipt: {receipt.receipt_id}"
    out.print(Text("Nothing was changed." if dry_run else stored), soft_wrap=True)
    return Exit.OK


@command
async def purge_tenant(
    tenant: options.Tenant = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 300.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Delete a tenant and everything that is its, in one transaction."""
    tenant_id = require_tenant(tenant)
    question = f"Delete {printable(tenant_id)} and everything in it for good?"
    if not dry_run and not _agree(question, yes=yes, as_json=as_json):
        return Exit.FOUND
    async with open_store(url, pooler=pooler, timeout=timeout) as store:
        receipt = await store.tenants.purge(tenant_id=tenant_id, dry_run=dry_run)
    if as_json:
        write_json(receipt)
        return Exit.OK
    out = console()
    if not receipt.purged:
        out.print("There is nothing of this tenant.")
        return Exit.OK
    out.print(_counts([(name, "delete", count) for name, count in receipt.tables.items()]))
    stored = f"Receipt: {receipt.receipt_id}"
    out.print(Text("Nothing was changed." if dry_run else stored), soft_wrap=True)
    return Exit.OK


@app.command("list")
@command
async def list_(
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List the tenant's policies."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.lifecycle.list_policies(tenant_id=tenant_id, limit=500)
    if as_json:
        write_json(page)
        return Exit.OK
    listing = table("Kind", "Kept (seconds)", "Version", "Swept (UTC)")
    for policy in page.items:
        listing.add_row(
            Text(policy.kind),
            str(policy.keep_seconds),
            str(policy.version),
            moment(policy.swept_at),
        )
    console().print(listing if page.items else "No policies: everything is kept.")
    return Exit.OK


@app.command("set")
@command
async def set_(
    kind: Annotated[str, typer.Argument(help="Which records.", show_default=False)],
    keep_seconds: Annotated[int, typer.Argument(help="How long, in seconds.", show_default=False)],
    expected_version: Annotated[
        int, typer.Option(help="The policy's version that you saw; 0 where there is none.")
    ] = 0,
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Say how long the tenant keeps records of a kind."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout) as store:
        policy = await store.lifecycle.set_policy(
            tenant_id=tenant_id,
            kind=kind,
            keep_seconds=keep_seconds,
            expected_version=expected_version,
        )
    if as_json:
        write_json(policy)
    else:
        text = f"{policy.kind}: kept {policy.keep_seconds} seconds (version {policy.version})"
        console().print(Text(text), soft_wrap=True)
    return Exit.OK


@app.command("remove")
@command
async def remove(
    kind: Annotated[str, typer.Argument(help="Which records.", show_default=False)],
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Keep records of a kind for ever."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        removed = await store.lifecycle.remove_policy(tenant_id=tenant_id, kind=kind)
    if as_json:
        write_json({"removed": removed})
    else:
        console().print("Removed." if removed else "There was no such policy.")
    return Exit.OK


@app.command("sweep")
@command
async def sweep(
    tenant: options.Tenant = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Records per policy and step.")] = 100,
    dry_run: DryRun = False,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 300.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """End what is older than its policy says, step by step, until nothing is left to do.

    Without a tenant: of all tenants whose sweep is due. A dry run counts up to 500 records a policy.
    """
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant) as store:
        if dry_run:
            done = await store.lifecycle.sweep(tenant_id=tenant, limit=COUNTED, dry_run=True)
        else:
            done = await sweep_until_done(store, tenant_id=tenant, limit=limit)
    names = ["tenant_id", "kind", "row_count", "held", *(["has_more"] if dry_run else [])]
    if as_json:
        write_json({"swept": [{name: getattr(one, name) for name in names} for one in done]})
        return Exit.OK
    counted = "Would end" if dry_run else "Ended"
    listing = table("Tenant", "Kind", counted, "Held by a run or question")
    for one in done:
        count = f"{one.row_count} or more" if dry_run and one.has_more else str(one.row_count)
        listing.add_row(
            Text(printable(one.tenant_id)), Text(printable(one.kind)), count, str(one.held)
        )
    console().print(listing if done else "No policy is due.")
    if dry_run and done:
        console().print("Nothing was changed.")
    return Exit.OK


@app.command("expire")
@command
async def expire(
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 300.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Delete what was given an expires_at that has passed, step by step, until nothing is left.

    Without a tenant: of all tenants, for a scheduler.
    """
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant) as store:
        done = await expire_until_done(store, tenant_id=tenant)
    if as_json:
        write_json({"expired": done})
        return Exit.OK
    listing = table("Kind", "Deleted", "Locked by others")
    for one in done:
        listing.add_row(Text(one.kind), str(one.expired), "some" if one.has_more else "-")
    console().print(listing)
    return Exit.OK
