"""What a framework keeps as JSON, or an error that says where it is none."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, cast

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from strongroom.errors import InvalidArgument
from strongroom.models.base import JsonValue

FAULTS = (PydanticSerializationError, TypeError, ValueError, RecursionError)
"""What pydantic, json and msgpack raise for a value that they cannot write."""

_DEEPEST = 100

BytesMode = Literal["utf8", "base64"]


def plain(
    value: Any,
    path: str,
    write: Callable[[Any], Any] | None = None,
    *,
    bytes_mode: BytesMode = "utf8",
) -> JsonValue:
    """Return the value as JSON, as its framework writes it.

    Args:
        value: what the framework gives.
        path: what it is called there, for the error.
        write: how the framework writes it; without it pydantic does.
        bytes_mode: how bytes are written.

    Raises:
        InvalidArgument: SR001, something in it cannot be written as JSON; ``detail["path"]`` leads to it.

    Example:
        >>> from strongroom.integrations.plain import plain
        >>> plain({"kinds": {1}}, "state")
        {'kinds': [1]}
        >>> plain({"tool": [object()]}, "state")
        Traceback (most recent call last):
            ...
        strongroom.errors.InvalidArgument: state.tool[0] is of type object, which cannot be written ...
    """
    try:
        if write is not None:
            return cast("JsonValue", write(value))
        return cast("JsonValue", to_jsonable_python(value, bytes_mode=bytes_mode))
    except FAULTS as error:

        def attempt(piece: Any) -> Any:
            return to_jsonable_python(piece, bytes_mode=bytes_mode)

        raise refused(value, path, attempt, "as JSON") from error


def refused(value: Any, path: str, attempt: Callable[[Any], Any], how: str) -> InvalidArgument:
    """Return the error for a value that cannot be written.

    Args:
        value: what cannot be written.
        path: what it is called.
        attempt: writes a piece of it, or raises one of ``FAULTS``: so the innermost fault is found.
        how: how it should have been written, for the message.
    """
    for _ in range(_DEEPEST):
        for step, item in _items(value):
            try:
                attempt(item)
            except FAULTS:
                path, value = f"{path}{step}", item
                break
        else:
            break
    kind = type(value).__name__
    return InvalidArgument(
        f"{path} is of type {kind}, which cannot be written {how}",
        detail={"path": path, "kind": kind},
        hint="Convert it first; put bytes into a file or an artifact and keep its id here.",
    )


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((f".{key}", item) for key, item in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{place}]", item) for place, item in enumerate(value))
    elif isinstance(value, BaseModel):
        yield from ((f".{name}", getattr(value, name)) for name in type(value).model_fields)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield f".{field.name}", getattr(value, field.name)
