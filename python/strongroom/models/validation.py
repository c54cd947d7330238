"""Turning pydantic's complaints into the one error tree, with the path of the fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from strongroom.errors import InvalidArgument, LimitExceeded

_LIMITS = {"string_too_long", "too_long", "less_than_equal", "bytes_too_long", "limit_exceeded"}


def path_of(location: Sequence[int | str], inner: str = "") -> str:
    """Join a pydantic location to ``messages[3].parts[0].text``."""
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if path else step
    if inner:
        path += inner if inner.startswith("[") or not path else f".{inner}"
    return path


def argument_error(error: ValidationError, where: str) -> InvalidArgument:
    """Return the InvalidArgument (or LimitExceeded) that says what is wrong and where.

    Args:
        error: what pydantic found.
        where: the model or method whose input it was.
    """
    faults: list[dict[str, Any]] = []
    for item in error.errors(include_url=False, include_input=False):
        context = item.get("ctx", {})
        location = _without_tags(item["loc"])
        faults.append(
            {
                "path": path_of(location, str(context.get("inner", ""))),
                "reason": item["msg"],
                "type": item["type"],
            }
        )
    first = faults[0]
    kind = LimitExceeded if first["type"] in _LIMITS else InvalidArgument
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    path = first["path"] or "the value"
    hint = None
    if first["type"] == "extra_forbidden":
        hint = "Remove the field; provider data belongs under provider_metadata."
    return kind(
        f"{where}: {path}: {first['reason']}{more}",
        detail={"path": first["path"], "reason": first["reason"], "faults": faults},
        hint=hint,
    )


def _without_tags(location: Sequence[int | str]) -> list[int | str]:
    """Drop the tags of unions, which pydantic puts behind a list index; callers know no such field."""
    from strongroom.models.parts import PART_TYPES  # noqa: PLC0415 (parts imports this module)

    return [
        step
        for before, step in zip([None, *location], location, strict=False)
        if not (isinstance(before, int) and step in PART_TYPES)
    ]
