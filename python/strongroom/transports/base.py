"""What a store needs from a connection to the database: call one SQL function, get rows as JSON text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from strongroom.errors import InvalidText, InvalidTransition
from strongroom.models.base import JsonValue
from strongroom.models.health import TextPolicy
from strongroom.models.json_values import UNSTORABLE, replace_unstorable, unstorable_paths


class Document:
    """An argument that goes to the database as one JSON document.

    Attributes:
        value: the JSON value.
        text: the value as JSON text, made once.
    """

    __slots__ = ("text", "value")

    def __init__(self, value: JsonValue) -> None:
        """Wrap the value."""
        self.value = value
        self.text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    def is_storable(self) -> bool:
        """Say quickly that PostgreSQL can hold all of it; False means: look closer."""
        return "\\u0000" not in self.text and UNSTORABLE.search(self.text) is None


class Bytes:
    """An argument that goes to the database as a list of bytes, as they are.

    Attributes:
        values: the bytes.
    """

    __slots__ = ("values",)

    def __init__(self, values: list[bytes]) -> None:
        """Wrap the list."""
        self.values = values


Argument = str | int | float | bool | list[str] | Document | Bytes | None
Arguments = Mapping[str, Argument]
"""Arguments by their names in SQL, without the ``p_``. None means: leave it to the default."""


class OneProcess:
    """Knows the process that connections were opened in; a fork shares them, and answers get mixed up."""

    def __init__(self) -> None:
        """Remember this one."""
        self._process = os.getpid()

    def check(self) -> None:
        """Refuse to go on in a child of it.

        Raises:
            InvalidTransition: SR030.
        """
        if os.getpid() != self._process:
            raise InvalidTransition(
                "the store was opened in another process",
                detail={"record": "store"},
                hint="Open it in each process, after the fork (gunicorn: in post_fork).",
            )


class Transport(Protocol):
    """One way to the functions of the database: psycopg, or PostgREST's rpc."""

    text_policy: TextPolicy

    async def call(self, function: str, arguments: Arguments) -> str:
        """Call ``strongroom.<function>``; return its rows as the text of one JSON array.

        Raises:
            StrongroomError: whatever goes wrong, as one of our errors.
        """
        ...

    async def call_for_bytes(
        self, function: str, arguments: Arguments
    ) -> tuple[str, list[bytes | None]]:
        """Call a function whose one row is a JSON document, and a list of bytes beside it.

        Raises:
            StrongroomError: whatever goes wrong, as one of our errors.
        """
        ...

    def unit_of_work(self, tenant_id: str) -> AbstractAsyncContextManager[Transport]:
        """Begin a transaction that every call of the yielded transport joins."""
        ...


def storable(arguments: Arguments, policy: TextPolicy) -> dict[str, Argument]:
    """Return the arguments that were given, with only text that PostgreSQL can hold.

    Raises:
        InvalidText: naming the path, when the policy is ``reject``.
    """
    ready: dict[str, Argument] = {}
    for name, argument in arguments.items():
        if argument is None:
            continue
        if isinstance(argument, Document) and argument.is_storable():
            ready[name] = argument
            continue
        value = argument.value if isinstance(argument, Document) else argument
        if isinstance(value, str | dict | list):
            found = next(unstorable_paths(value, name), None)
            if found is not None:
                if policy == "reject":
                    raise InvalidText(
                        f"{found[0]} holds {found[1]}, which PostgreSQL cannot store",
                        detail={"path": found[0], "character": found[1]},
                        hint="Remove it, or connect with text_policy='replace' to store U+FFFD instead.",
                    )
                value = replace_unstorable(value)
                ready[name] = Document(value) if isinstance(argument, Document) else value
                continue
        ready[name] = argument
    return ready
