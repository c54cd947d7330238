"""``strongroom supabase emit DIR``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from strongroom.cli import options
from strongroom.cli.exits import Exit, command
from strongroom.cli.output import console, printable, write_json
from strongroom.supabase_project import EmitResult
from strongroom.supabase_project import emit as emit_into

app = typer.Typer(help="Use strongroom in a Supabase project.", no_args_is_help=True)


@app.callback()
def supabase() -> None:
    """Use strongroom in a Supabase project."""


@app.command()
@command
async def emit(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The project: the folder that holds supabase/.")
    ],
    as_json: options.AsJson = False,
) -> Exit:
    """Write the migrations into a Supabase project, for `supabase db push` to apply.

    Their timestamps are later than those of every file that is there. Emitting again writes only
    what a newer package brings.
    """
    result = emit_into(directory)
    if as_json:
        write_json(
            {
                "directory": result.directory,
                "written": result.written,
                "present": result.present,
                "exposed": result.exposed,
                "next_steps": result.next_steps,
            }
        )
    else:
        _print_result(result)
    return Exit.OK


def _print_result(result: EmitResult) -> None:
    out = console()
    out.print(Text(printable(str(result.directory)), style="bold"), soft_wrap=True)
    for path in result.present:
        out.print(Text(f"  there    {printable(path.name)}", style="dim"), soft_wrap=True)
    for path in result.written:
        out.print(Text(f"  written  {printable(path.name)}", style="green"), soft_wrap=True)
    if not result.written:
        out.print(Text("Nothing to write: the project has every migration of this package."))
    out.print(Text("\nWhat remains for you:", style="bold"))
    for number, step in enumerate(result.next_steps, 1):
        out.print(Text(f"  {number}. {printable(step)}"))
