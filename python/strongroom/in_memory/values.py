"""JSON values as PostgreSQL's jsonb compares and measures them."""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal
from typing import Any

from strongroom.errors import LimitExceeded
from strongroom.models.base import JsonValue
from strongroom.models.json_values import stored_size

METADATA_BYTES = 16_384

_STRING = r'("(?:[^"\\]|\\.)*")'
_WHOLE = re.compile(_STRING + r"|\.0+(?![0-9])")
_ZEROS = re.compile(_STRING + r"|(\.[0-9]*[1-9])0+(?![0-9])")


def comparable(value: JsonValue) -> Any:
    """Return something that is equal exactly when jsonb is: 1 and 1.0 are, 1 and true are not.

    Key order does not count. Numbers are decimal numbers, as they are written.
    """
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, int | float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(item) for item in value]
    return value


def jsonb_text(value: JsonValue) -> str:
    """Return the value as PostgreSQL writes jsonb as text: keys by length, numbers without exponents."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return "{" + ", ".join(f"{_quoted(key)}: {jsonb_text(value[key])}" for key in keys) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(jsonb_text(item) for item in value) + "]"
    if isinstance(value, float):
        return format(Decimal(repr(value)) + 0, "f")
    return _quoted(value)


def _quoted(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def digest(value: JsonValue) -> str:
    """Return the SHA-256 of a JSON value, as the SQL function of the same name: 1 and 1.0 are equal."""
    text = _WHOLE.sub(lambda found: found[1] or "", jsonb_text(value))
    text = _ZEROS.sub(lambda found: found[1] or found[2], text)
    return hashlib.sha256(text.encode()).hexdigest()


def merge_json(target: JsonValue, patch: JsonValue) -> JsonValue:
    """Return the target after a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, item in patch.items():
        if item is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_json(merged.get(key), item)
    return merged


def check_size(path: str, value: JsonValue, limit: int) -> None:
    """Refuse a JSON value of more bytes than the limit."""
    size = stored_size(value)
    if size > limit:
        raise LimitExceeded(
            f"{path} has {size} bytes; at most {limit} are allowed",
            detail={"path": path, "limit": limit, "actual": size},
            hint="Keep large data in a file or artifact, and its id here.",
        )


def check_ids(path: str, values: list[str]) -> None:
    """Refuse a list of more than 1,000 ids."""
    if len(values) > 1000:  # noqa: PLR2004 (the documented limit)
        raise LimitExceeded(
            f"{path} has {len(values)} entries; at most 1000 are allowed",
            detail={"path": path, "limit": 1000, "actual": len(values)},
            hint="Use a role or tenant-wide visibility for large groups.",
        )


def cosine(product: float, lengths: float) -> float:
    """Return a cosine; rounding may lead a little beyond its bounds."""
    return max(-1.0, min(1.0, product / lengths))
