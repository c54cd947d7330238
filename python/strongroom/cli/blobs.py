"""``strongroom blobs sweep | reconcile``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from strongroom.blob_upkeep import ReconcileReport, SweepReport, reconcile_blobs, sweep_removals
from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import console, facts, one_line, printable, table, write_json

app = typer.Typer(help="Keep the bytes of files in step with the database.", no_args_is_help=True)


@app.command("sweep")
@command
async def sweep(
    limit: Annotated[
        int, typer.Option(min=1, max=500, help="Keys at a time; it goes on until nothing is due.")
    ] = 500,
    tenant: Annotated[
        str | None, typer.Option(help="Only this tenant's; all, if left out.", show_default=False)
    ] = None,
    url: options.Url = None,
    blobs: options.Blobs = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Remove the bytes that deletions have let go, of all tenants, purged ones too.

    Exit code 0 when everything that was due is gone, 1 when some could not be removed: they are tried
    again later.
    """
    total = SweepReport(removed=0, failed=0, left=0, errors=())
    async with open_store(url, pooler=pooler, timeout=timeout, blobs=blobs) as store:
        while True:
            done = await sweep_removals(store, limit=limit, tenant_id=tenant)
            total = SweepReport(
                removed=total.removed + done.removed,
                failed=total.failed + done.failed,
                left=total.left + done.left,
                errors=tuple(dict.fromkeys((*total.errors, *done.errors)))[:5],
            )
            if done.removed == 0:
                break
    if as_json:
        write_json(total)
    else:
        out = console()
        out.print(
            facts({"removed": str(total.removed), "failed": str(total.failed), "left": total.left})
        )
        for error in total.errors:
            out.print(Text(f"failed  {one_line(error)}", style="yellow"), soft_wrap=True)
    return Exit.OK if total.failed == 0 else Exit.FOUND


@app.command("reconcile")
@command
async def reconcile(
    grace: Annotated[
        float,
        typer.Option(min=0, help="Seconds: younger bytes and uploads may be on their way."),
    ] = 86_400.0,
    mend: Annotated[
        bool,
        typer.Option("--mend", help="Also mend what can be: orphans, and uploads that stopped."),
    ] = False,
    tenant: options.Tenant = None,
    url: options.Url = None,
    blobs: options.Blobs = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Compare a tenant's bytes with the records that refer to them, in both directions.

    It changes nothing without --mend. Exit code 0 when all is well or mended, 1 when something is left.
    """
    tenant_id = require_tenant(tenant)
    async with open_store(
        url, pooler=pooler, timeout=timeout, blobs=blobs, tenant_id=tenant_id
    ) as store:
        report = await reconcile_blobs(store, tenant_id=tenant_id, grace_seconds=grace, mend=mend)
    if as_json:
        write_json(report)
    else:
        _print_report(report)
    return Exit.OK if report.is_sound else Exit.FOUND


def _print_report(report: ReconcileReport) -> None:
    out = console()
    out.print(
        Text(
            f"{report.blobs} keys with bytes, {report.references} that records refer to:"
            f" {len(report.findings)} findings."
        )
    )
    if not report.findings:
        return
    listing = table("Problem", "Key", "Bytes", "Mended")
    for finding in report.findings:
        listing.add_row(
            Text(finding.problem, style="red" if finding.problem == "lost" else "yellow"),
            Text(printable(finding.blob_key), overflow="fold"),
            "-" if finding.size_bytes is None else str(finding.size_bytes),
            finding.mended or "no",
        )
    out.print(listing)
    if any(finding.problem == "lost" for finding in report.findings):
        out.print(Text("Lost bytes come back from a backup of the blob store only.", style="red"))
