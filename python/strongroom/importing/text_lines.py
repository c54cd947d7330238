"""Reading lines and documents of JSON: bounded in memory, in UTF-8, naming the line of a fault."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from strongroom.errors import InvalidArgument, InvalidText, LimitExceeded
from strongroom.importing.place import Place
from strongroom.importing.strict_json import parse

MAX_LINE = 8 * 1024 * 1024
"""Bytes of a line. A message of 1 MiB may need six times that where every character is escaped."""

_BOM = "\ufeff"


def file_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, never holding more than one of them.

    Args:
        path: the file.

    Yields:
        Lines with their line ends.

    Raises:
        InvalidArgument: SR001, when the file cannot be read.
        LimitExceeded: SR004, for a line over 8 MiB.
    """
    try:
        with path.open("rb") as stream:
            number = 0
            while line := stream.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise _too_long(Place(str(path), number))
                yield line
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> InvalidArgument:
    """Return the error for a file that cannot be read."""
    return Place(str(path)).fault("", f"cannot be read: {error.strerror or error}")


def parse_line(line: bytes | str, place: Place) -> JsonValue:
    """Return the JSON value of one line, checked; None for a blank line."""
    if len(line) > MAX_LINE:
        raise _too_long(place)
    text = decoded(line, place) if isinstance(line, bytes) else line
    if place.line == 1:
        text = text.removeprefix(_BOM)
    if not text.strip(" \t\r\n"):
        return None
    return place.check(_parsed(text, place, one_line=True))


def parse_document(document: bytes | str, file: Place) -> JsonValue:
    """Return the JSON value of a whole file, checked."""
    text = decoded(document, file) if isinstance(document, bytes) else document
    return file.check(_parsed(text.removeprefix(_BOM), file, one_line=False))


def decoded(raw: bytes, place: Place) -> str:
    """Return the text of bytes in UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} is not UTF-8 ({error.reason})"
        raise place.fault("", reason, hint="Save the file as UTF-8.") from error


def _parsed(text: str, place: Place, *, one_line: bool) -> JsonValue:
    if "\0" in text:
        raise place.fault("", "holds U+0000, which is neither JSON nor storable", kind=InvalidText)
    try:
        value = parse(text)
    except json.JSONDecodeError as error:
        at = place if one_line else place.at_line(error.lineno)
        column = f" (column {error.colno})"
        raise at.fault("", f"is not JSON: {error.msg}{column}") from error
    except ValueError as error:
        raise place.fault("", f"is not JSON: {error}") from error
    if one_line and value is None:
        raise place.fault("", "must be a JSON object, not null")
    return value


def _too_long(place: Place) -> InvalidArgument:
    return place.fault(
        "",
        f"is longer than {MAX_LINE} bytes",
        kind=LimitExceeded,
        hint="A message may have 1 MiB; large tool output and files belong in their own stores.",
    )
