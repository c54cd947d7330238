"""Reading JSON without losing anything: no NaN, no key twice, no number changed unnoticed."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from pydantic import JsonValue
from pydantic_core import PydanticCustomError

from strongroom.models.json_values import check_json


class NotExact(ValueError):
    """The text is JSON, but its value would not say the same as the text."""


def _refuse_constant(name: str) -> Any:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        msg = f"the key {twice!r} stands twice in one object"
        raise ValueError(msg)
    return made


def _exact_float(text: str) -> float:
    value = float(text)
    if Decimal(text) != Decimal(repr(value)):
        msg = f"the number {text} does not fit a double"
        raise NotExact(msg)
    return value


def parse(text: str, *, exact: bool = False) -> JsonValue:
    """Return the JSON value of a text.

    Args:
        text: the JSON text.
        exact: refuse numbers that a double cannot hold as they are written.

    Raises:
        ValueError: what is wrong, for a person; as ``json.JSONDecodeError`` with line and column.
    """
    try:
        value: JsonValue = json.loads(
            text,
            parse_constant=_refuse_constant,
            object_pairs_hook=_pairs,
            parse_float=_exact_float if exact else None,
        )
    except RecursionError as error:
        msg = "is nested too deeply"
        raise ValueError(msg) from error
    return value


def parse_arguments(text: str) -> tuple[JsonValue, dict[str, JsonValue]]:
    """Return a tool call's input from the text that the model wrote, and what to keep beside it.

    Models do write arguments that are not JSON: cut off, with a key twice, with NaN. Such a text is
    the input as it stands, a JSON string, and is marked, so that nobody takes it for arguments.
    Numbers that would change on the way through a double do not make the arguments invalid; the
    text is then kept beside the value.

    Args:
        text: what the model wrote.

    Returns:
        The input; and the provider metadata: empty, or ``arguments_error``, or ``arguments``.
    """
    try:
        return check_json(parse(text, exact=True)), {}
    except NotExact:
        pass
    except (ValueError, PydanticCustomError) as error:
        return text, {"arguments_error": str(error)}
    try:
        return check_json(parse(text)), {"arguments": text}
    except (ValueError, PydanticCustomError) as error:
        return text, {"arguments_error": str(error)}
