"""``strongroom health`` and ``strongroom doctor``."""

from __future__ import annotations

from rich.text import Text

from strongroom.cli import options
from strongroom.cli.checks import Diagnosis, diagnose
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_owner, open_store
from strongroom.cli.output import console, facts, moment, printable, table, write_json
from strongroom.models.health import Health


@command
async def health(
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Say whether the store works: version, role, capabilities, warnings. For health checks.

    With a tenant also its runs: how many wait, since when, and how many lost their worker; its uploads
    that are pending, the bytes that are to be removed, whether its retention is swept, what has expired
    and is still there, and since when its audit waits to be sealed.

    Exit code 0 when it is well, 1 with warnings, 3 when the database cannot be reached.
    """
    async with open_store(url, pooler=pooler, timeout=timeout, temporary=True) as store:
        state = await store.health(tenant_id=tenant)
        if tenant and state.schema_version and not await store.tenants.find(tenant_id=tenant):
            unknown = f"the tenant {tenant} does not exist: nothing is counted"
            state = state.model_copy(
                update={"status": "degraded", "warnings": (*state.warnings, unknown)}
            )
    if as_json:
        write_json(state)
    else:
        _print_health(state)
    return Exit.OK if state.status == "ok" else Exit.FOUND


def _print_health(state: Health) -> None:
    out = console()
    well = state.status == "ok"
    have = "none" if state.schema_version is None else str(state.schema_version)
    shown: dict[str, object] = {
        "status": Text(state.status, style="bold green" if well else "bold yellow"),
        "adapter": state.adapter,
        "server": state.server_version or "-",
        "schema": f"version {have}; this package has {state.target_version}",
        "role": state.role or "-",
        "capabilities": ", ".join(state.capabilities),
    }
    if state.runs is not None:
        queue = state.runs
        oldest = f", the oldest since {moment(queue.oldest_ready_at)}" if queue.ready else ""
        shown |= {
            "runs ready": f"{queue.ready}{oldest}",
            "runs queued": str(queue.queued),
            "runs running": f"{queue.running}, {queue.expired_leases} with an ended lease",
            "runs waiting": f"{queue.waiting} for a person, {queue.retry_pending} to retry",
        }
    if state.files is not None and state.blob_removals is not None:
        uploads, removals = state.files, state.blob_removals
        shown["uploads pending"] = f"{uploads.pending}, {uploads.overdue} for more than an hour"
        shown["bytes to remove"] = (
            f"{removals.waiting + removals.claimed}, {removals.failing} have failed before,"
            f" the oldest since {moment(removals.oldest_requested_at)}"
            if removals.oldest_requested_at
            else "0"
        )
    if state.retention is not None:
        kept = state.retention
        last = f", the last swept {moment(kept.swept_at)}" if kept.swept_at else ""
        shown["retention"] = (
            f"{kept.policies} policies, {kept.overdue} not swept for a day{last}"
            if kept.policies
            else "no policy: everything is kept"
        )
    if state.expiry is not None:
        gone = state.expiry
        oldest = f", the oldest since {moment(gone.oldest_at)}" if gone.oldest_at else ""
        shown["expired"] = f"{gone.expired} records not deleted{oldest}"
    if state.audit is not None:
        audit = state.audit
        oldest = f", the oldest since {moment(audit.oldest_at)}" if audit.oldest_at else ""
        last = f"; last sealed {moment(audit.sealed_at)}" if audit.sealed_at else "; never sealed"
        shown["audit"] = f"{audit.unsealed} events not sealed{oldest}{last}"
    out.print(facts(shown))
    for warning in state.warnings:
        out.print(Text(f"warning  {printable(warning)}", style="yellow"))


@command
async def doctor(
    url: options.Url = None,
    schema_url: options.SchemaUrl = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Look for what is wrong: schema, drift, row security, grants, role, pooler.

    Give the hosts' role as --url and the schema's owner as --schema-url, so that both are examined.
    Exit code 0 when all is sound, 1 when something is wrong or could not be examined.
    """
    async with open_owner(url, schema_url, pooler=pooler, timeout=timeout, temporary=True) as owner:
        found = await diagnose(owner, timeout)
    if as_json:
        write_json({"sound": found.sound, "facts": found.facts, "findings": found.findings})
    else:
        _print_diagnosis(found)
    return Exit.OK if found.sound else Exit.FOUND


def _print_diagnosis(found: Diagnosis) -> None:
    out = console()
    out.print(facts({name.replace("_", " "): _said(value) for name, value in found.facts.items()}))
    if found.sound:
        out.print(Text("\nNothing is wrong.", style="bold green"))
        return
    listing = table("Check", "What", "Problem and what to do")
    listing.columns[0].no_wrap = True
    listing.columns[1].ratio, listing.columns[2].ratio = 2, 3
    for finding in found.findings:
        problem = finding.problem.removesuffix(f": {finding.object}")
        advice = Text.assemble((printable(problem), "red"), f"\n{printable(finding.hint)}")
        listing.add_row(finding.check, Text(printable(finding.object)), advice)
        listing.add_section()
    out.print(listing)
    out.print(Text(f"{len(found.findings)} findings.", style="bold red"))


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)
