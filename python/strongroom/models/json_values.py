"""Checks of text and JSON that say where the fault is.

Two kinds of fault are told apart:

* A value that is not JSON at all (bytes, Decimal, NaN, a non-string key, ...) is refused when a part or
  record is built: PostgreSQL would refuse it, or the reader would get something else back.
* Text that PostgreSQL cannot hold (U+0000, half of a surrogate pair) is looked for when a call is made,
  because the client's ``text_policy`` decides whether it is refused or replaced by U+FFFD.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from pydantic_core import PydanticCustomError

from strongroom.errors import InvalidText

MAX_DEPTH = 100
"""Nesting of JSON values: deeper ones are refused, since no reader can be sure to survive them."""

MAX_INTEGER_BITS = 4096
"""Integers larger than this are refused; PostgreSQL's numeric could hold a few more."""

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What PostgreSQL text cannot hold. A surrogate in a Python str is always a lone half."""

REPLACEMENT = "\ufffd"


def check_text(value: Any) -> str:
    """Return the value if it is a str; text that cannot be stored is looked for later."""
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value) if not _is_enum(value) else _refuse_text(value)
    return _refuse_text(value)


def _is_enum(value: Any) -> bool:
    return hasattr(type(value), "__members__")


def _refuse_text(value: Any) -> str:
    raise PydanticCustomError(
        "not_text", "text must be a str, not {kind}", {"kind": type(value).__name__}
    )


def check_json(value: Any) -> Any:
    """Return a plain deep copy of a JSON value, or refuse it, naming the path inside the value."""
    return _copy(value, "", 0)


def check_json_object(value: Any) -> dict[str, Any]:
    """Like :func:`check_json`, for values that must be an object."""
    if not isinstance(value, dict):
        raise _not_json("", value, "must be a JSON object (a dict)")
    copied: dict[str, Any] = _copy(value, "", 0)
    return copied


def _copy(value: Any, path: str, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        if value.bit_length() > MAX_INTEGER_BITS:
            raise _not_json(path, value, f"holds an integer of more than {MAX_INTEGER_BITS} bits")
        return value
    if kind is float:
        if not math.isfinite(value):
            raise _not_json(path, value, f"holds {value!r}, which JSON does not have")
        return value
    if depth >= MAX_DEPTH and kind in (dict, list, tuple):
        raise _not_json(path, value, f"is nested deeper than {MAX_DEPTH} levels")
    if kind is dict:
        return {
            _key(key, path): _copy(item, f"{path}.{key}" if path else str(key), depth + 1)
            for key, item in value.items()
        }
    if kind is list or kind is tuple:
        return [_copy(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
    raise _not_json(path, value, _advice(value))


def _key(key: Any, path: str) -> str:
    if type(key) is not str:
        raise _not_json(path, key, f"has the key {key!r}; the keys of a JSON object are strings")
    return key


def _advice(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, bytes | bytearray | memoryview):
        return f"is {kind}; put bytes into a file or the blob store and keep a reference here"
    return (
        f"is of type {kind}, which is not JSON; convert it first (for example to str, dict or list)"
    )


def _not_json(path: str, value: Any, problem: str) -> PydanticCustomError:
    return PydanticCustomError(
        "not_json", "{problem}", {"problem": problem, "inner": path, "kind": type(value).__name__}
    )


def unstorable_paths(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, character) for every text in the value that PostgreSQL cannot hold."""
    if isinstance(value, str):
        found = UNSTORABLE.search(value)
        if found:
            yield path, f"U+{ord(found.group()):04X}"
    elif isinstance(value, dict):
        for key, item in value.items():
            found = UNSTORABLE.search(key)
            if found:
                yield f"{path} (a key)", f"U+{ord(found.group()):04X}"
            yield from unstorable_paths(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from unstorable_paths(item, f"{path}[{i}]")


def replace_unstorable(value: Any) -> Any:
    """Return the value with every character that cannot be stored replaced by U+FFFD."""
    if isinstance(value, str):
        return UNSTORABLE.sub(REPLACEMENT, value)
    if isinstance(value, dict):
        replaced = {
            replace_unstorable(key): replace_unstorable(item) for key, item in value.items()
        }
        if len(replaced) != len(value):
            raise InvalidText(
                "two keys of an object become the same when U+FFFD replaces what cannot be stored",
                detail={"keys": sorted(replaced)},
                hint="Give the keys other names: nothing may be lost.",
            )
        return replaced
    if isinstance(value, list | tuple):
        return [replace_unstorable(item) for item in value]
    return value


def stored_size(value: Any) -> int:
    """Return the bytes of the value as PostgreSQL writes jsonb as text: what limits are counted in."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return len(text.encode(errors="replace")) + sum(_expansion(number) for number in _floats(value))


def _expansion(number: float) -> int:
    """Return how much longer a number is without an exponent, which jsonb does not keep."""
    written = repr(number)
    return len(format(Decimal(written), "f")) - len(written) if "e" in written else 0


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _floats(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _floats(item)
