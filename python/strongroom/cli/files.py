"""``strongroom files put | get | list``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.text import Text

from strongroom import file_transfer
from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.opening import open_store, require_tenant
from strongroom.cli.output import console, facts, moment, print_page, printable, table, write_json
from strongroom.errors import InvalidArgument
from strongroom.models.files import File
from strongroom.ports.blobs import MIB

app = typer.Typer(help="Put files in, and get them out whole.", no_args_is_help=True)


@app.command("put")
@command
async def put(
    source: Annotated[Path, typer.Argument(help="The file to store; - reads standard input.")],
    owner: Annotated[str, typer.Option(help="Whose file it is.")],
    name: Annotated[
        str | None,
        typer.Option(
            help="What it is called; the file's own name, if left out.", show_default=False
        ),
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="The conversation that it hangs on.", show_default=False)
    ] = None,
    file_id: Annotated[
        str | None,
        typer.Option("--id", help="The file's id; a repeat goes on with it.", show_default=False),
    ] = None,
    media_type: Annotated[
        str | None,
        typer.Option(help="What the bytes are; guessed from the name.", show_default=False),
    ] = None,
    max_mib: Annotated[int, typer.Option(min=1, help="Refuse more than so many MiB.")] = 1024,
    tenant: options.Tenant = None,
    url: options.Url = None,
    blobs: options.Blobs = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Store a file: its bytes in the blob store, what is known of it in the database."""
    tenant_id = require_tenant(tenant)
    called = name or (None if str(source) == "-" else source.name)
    if called is None:
        raise InvalidArgument(
            "standard input has no name",
            detail={"path": "--name"},
            hint="Give --name, for example --name notes/plan.txt.",
        )
    async with open_store(url, pooler=pooler, timeout=timeout, blobs=blobs) as store:
        file = await file_transfer.upload(
            store,
            tenant_id=tenant_id,
            owner_id=owner,
            path=called,
            data=_chunks(source),
            media_type=media_type,
            conversation_id=conversation,
            file_id=file_id,
            max_bytes=max_mib * MIB,
        )
    if as_json:
        write_json(file)
    else:
        _print_file(file)
    return Exit.OK


async def _chunks(source: Path) -> AsyncIterator[bytes]:
    try:
        opened: BinaryIO = (
            sys.stdin.buffer
            if str(source) == "-"
            else await asyncio.to_thread(source.open, "rb")  # closed below
        )
    except OSError as error:
        raise _unusable(source, error) from error
    try:
        while chunk := await asyncio.to_thread(opened.read, MIB):
            yield chunk
    except OSError as error:
        raise _unusable(source, error) from error
    finally:
        if opened is not sys.stdin.buffer:
            opened.close()


def _unusable(path: Path, error: OSError) -> InvalidArgument:
    return InvalidArgument(
        f"{path}: {error.strerror}",
        detail={"path": str(path)},
        hint="Name a file that can be opened.",
    )


@app.command("get")
@command
async def get(
    file_id: Annotated[str, typer.Argument(help="The file's id.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to; - is standard output.")],
    version: Annotated[
        int | None,
        typer.Option(min=1, help="Which version; the newest, if left out.", show_default=False),
    ] = None,
    tenant: options.Tenant = None,
    url: options.Url = None,
    blobs: options.Blobs = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """Write a file's bytes to a file that does not exist yet; it is there whole, or not at all."""
    tenant_id = require_tenant(tenant)
    to_stdout = str(output) == "-"
    if to_stdout and as_json:
        raise InvalidArgument(
            "standard output cannot hold the bytes and a JSON document",
            detail={"path": "--json"},
            hint="Give --output FILE.",
        )
    async with open_store(
        url, pooler=pooler, timeout=timeout, blobs=blobs, tenant_id=tenant_id
    ) as store:
        found = await store.files.get_version(tenant_id=tenant_id, file_id=file_id, version=version)
        pieces = file_transfer.stream(
            store, tenant_id=tenant_id, file_id=file_id, version=found.version
        )
        if to_stdout:
            async for piece in pieces:
                await asyncio.to_thread(sys.stdout.buffer.write, piece)
            await asyncio.to_thread(sys.stdout.buffer.flush)
            return Exit.OK
        await _write(output, pieces)
    if as_json:
        write_json(found)
    else:
        console().print(Text(f"{found.size_bytes} bytes to {printable(str(output))}"))
    return Exit.OK


async def _write(output: Path, pieces: AsyncIterator[bytes]) -> None:
    """Write beside the place, and take the place only when everything is there."""
    part = output.with_name(f".{output.name[:200]}.part")
    try:
        if await asyncio.to_thread(output.exists):
            raise InvalidArgument(
                f"{output} exists",
                detail={"path": "--output"},
                hint="Name a file that does not exist yet.",
            )
        with await asyncio.to_thread(part.open, "wb") as file:
            async for piece in pieces:
                await asyncio.to_thread(file.write, piece)
        await asyncio.to_thread(part.rename, output)
    except OSError as error:
        raise _unusable(output, error) from error
    finally:
        await asyncio.to_thread(part.unlink, missing_ok=True)


@app.command("list")
@command
async def list_(
    prefix: Annotated[
        str | None,
        typer.Option(help="Only this path, and what lies under it.", show_default=False),
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="Only this conversation's.", show_default=False)
    ] = None,
    owner: Annotated[
        str | None, typer.Option(help="Only this owner's.", show_default=False)
    ] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Only soft-deleted ones.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Rows, 1 to 500.")] = 20,
    after: Annotated[
        str | None, typer.Option(help="Go on after this cursor.", show_default=False)
    ] = None,
    tenant: options.Tenant = None,
    url: options.Url = None,
    pooler: options.Pooler = None,
    timeout: options.Timeout = 30.0,  # noqa: ASYNC109 (an option)
    as_json: options.AsJson = False,
) -> Exit:
    """List a page of files, newest first."""
    tenant_id = require_tenant(tenant)
    async with open_store(url, pooler=pooler, timeout=timeout, tenant_id=tenant_id) as store:
        page = await store.files.list(
            tenant_id=tenant_id,
            limit=limit,
            after=after,
            conversation_id=conversation,
            owner_id=owner,
            path_prefix=prefix,
            deleted=deleted,
        )
    listing = table("File", "Path", "Version", "State", "Bytes", "Created (UTC)")
    for file in page.items:
        listing.add_row(
            Text(printable(file.id), overflow="fold"),
            Text(printable(file.path), overflow="fold"),
            str(file.latest_version),
            file.state,
            "-" if file.size_bytes is None else str(file.size_bytes),
            moment(file.created_at),
        )
    print_page(page, listing, empty=f"No files of {printable(tenant_id)}.", as_json=as_json)
    return Exit.OK


def _print_file(file: File) -> None:
    console().print(
        facts(
            {
                "file": file.id,
                "path": file.path,
                "version": f"{file.latest_version}, {file.state}",
                "bytes": str(file.size_bytes),
                "sha256": file.sha256 or "-",
                "type": file.media_type,
            }
        )
    )
