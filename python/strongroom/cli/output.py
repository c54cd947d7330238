"""What goes to the terminal: consoles, JSON, and text that cannot steer the terminal."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from strongroom.models.pages import Page

_DELETE = 0x7F
_SHOWN = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_SHOWN |= {_DELETE: 0x2421} | dict.fromkeys(range(_DELETE + 1, 0xA0), 0xFFFD)


def console() -> Console:
    """Return the console of standard output, as it is now."""
    return Console(markup=False, emoji=False, highlight=False)


def errors_console() -> Console:
    """Return the console of standard error, as it is now."""
    return Console(stderr=True, markup=False, emoji=False, highlight=False)


def line_width(shown_on: Console) -> int | None:
    """Return how many cells a line may take; None where nobody has said."""
    return shown_on.width if shown_on.is_terminal or "COLUMNS" in os.environ else None


def printable(text: str) -> str:
    """Return text in which control characters are shown instead of obeyed by the terminal.

    Example:
        >>> printable(chr(27) + "[2J wiped?")
        '␛[2J wiped?'
    """
    return text.replace("\r\n", "\n").translate(_SHOWN)


def one_line(text: str) -> str:
    """Return the text on one line, printable."""
    return printable(" ".join(text.split()))


def write_json(value: Any) -> None:
    """Write one JSON document to standard output."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    text = json.dumps(
        value, default=_plain, ensure_ascii=encoding != "utf8", indent=2, allow_nan=False
    )
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _plain(value: object) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat()
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def moment(value: dt.datetime | None) -> str:
    """Return a time for people, in UTC to the minute."""
    return value.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M") if value else "-"


def table(*columns: str, title: str | None = None) -> Table:
    """Return an empty table in the one style that all commands use."""
    made = Table(
        box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, header_style="bold"
    )
    for name in columns:
        made.add_column(name, overflow="fold")
    return made


def print_page(page: Page[Any], listing: RenderableType, *, empty: str, as_json: bool) -> None:
    """Print a page as JSON, or as what shows it for people, and how to go on.

    Args:
        page: what a port returned.
        listing: shows it.
        empty: what to say when there is nothing.
        as_json: for programs.
    """
    if as_json:
        write_json(page)
        return
    out = console()
    out.print(listing if page.items else Text(empty))
    if page.next_cursor:
        out.print(Text(f"Next page: --after {page.next_cursor}", style="dim"), soft_wrap=True)


def facts(pairs: dict[str, object]) -> Table:
    """Return a table of names and values."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in pairs.items():
        made.add_row(Text(name), value if isinstance(value, Text) else Text(printable(str(value))))
    return made


class Bar:
    """A progress bar on standard error; silent where nobody would see it."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        """Wrap a task of a progress display."""
        self._progress = progress
        self._task = task

    def total(self, total: int) -> None:
        """Say how much there is to do."""
        self._progress.update(self._task, total=total)

    def done(self, done: int) -> None:
        """Say how much is done."""
        self._progress.update(self._task, completed=done)

    def label(self, text: str) -> None:
        """Say what is being done."""
        self._progress.update(self._task, description=printable(text))


@contextmanager
def progress_bar(label: str, *, total: int | None = None) -> Iterator[Bar]:
    """Show a progress bar while the block runs, and leave nothing of it behind."""
    shown_on = errors_console()
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=shown_on,
        transient=True,
        disable=not shown_on.is_terminal,
    ) as progress:
        yield Bar(progress, progress.add_task(printable(label), total=total))
