"""Where in a file a value stands, so that every refusal names the file, the line and the field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from pydantic import JsonValue
from pydantic_core import PydanticCustomError

from strongroom.errors import InvalidArgument, InvalidText
from strongroom.models.base import Record
from strongroom.models.json_values import check_json, replace_unstorable, unstorable_paths

TextPolicy = Literal["reject", "replace"]
RecordT = TypeVar("RecordT", bound=Record)


@dataclass(frozen=True)
class Place:
    """A file, a line of it where the form has lines, and the text policy it is read with."""

    file: str
    line: int | None = None
    policy: TextPolicy = "reject"

    def at_line(self, line: int) -> Place:
        """Return the same file at a line."""
        return replace(self, line=line)

    def fault(
        self,
        path: str,
        reason: str,
        *,
        kind: type[InvalidArgument] = InvalidArgument,
        hint: str | None = None,
    ) -> InvalidArgument:
        """Return the error that says what is wrong here.

        Args:
            path: the field, such as ``tool_calls[0].function.name``; empty for the whole line.
            reason: what is wrong with it.
            kind: the class of the error.
            hint: what to do about it.
        """
        where = self.file if self.line is None else f"{self.file}: line {self.line}"
        detail: dict[str, Any] = {
            "file": self.file,
            "line": self.line,
            "path": path,
            "reason": reason,
        }
        return kind(
            f"{where}: {path}: {reason}" if path else f"{where}: {reason}", detail=detail, hint=hint
        )

    def make(self, model: type[RecordT], path: str, /, **fields: Any) -> RecordT:
        """Build a model from values that stand at ``path``; a refusal names this place."""
        try:
            return model(**fields)
        except InvalidArgument as error:
            inner = error.detail.get("path") or ""
            reason = error.detail.get("reason") or error.message
            raise self.fault(
                path,
                f"{inner}: {reason}" if inner else reason,
                kind=type(error),
                hint=error.hint,
            ) from error

    def check(self, value: Any, path: str = "") -> JsonValue:
        """Return a JSON value that PostgreSQL can hold, or refuse it by name.

        Args:
            value: what was read.
            path: where the value stands.
        """
        try:
            plain: JsonValue = check_json(value)
        except PydanticCustomError as error:
            inner = str((error.context or {}).get("inner", ""))
            raise self.fault(join(path, inner), error.message()) from error
        if self.policy == "replace":
            replaced: JsonValue = replace_unstorable(plain)
            return replaced
        for inner, character in unstorable_paths(plain):
            raise self.fault(
                join(path, inner),
                f"holds {character}, which PostgreSQL cannot store",
                kind=InvalidText,
                hint='Remove the character, or read with text_policy="replace".',
            )
        return plain


def join(path: str, inner: str) -> str:
    """Join two paths: ``content`` and ``[2].text`` to ``content[2].text``."""
    if not path or not inner or inner.startswith("["):
        return path + inner
    return f"{path}.{inner}"


def is_blank(value: JsonValue) -> bool:
    """Tell whether a value says nothing: null, an empty list or an empty object."""
    return value is None or value in ([], {})


class Fields:
    """The fields of one JSON object: those that were asked for, and the rest, which is kept too."""

    def __init__(self, value: JsonValue, place: Place, path: str = "") -> None:
        """Refuse anything but an object."""
        if not isinstance(value, dict):
            raise place.fault(path, f"must be a JSON object, not {name_of(value)}")
        self._left: dict[str, JsonValue] = dict(value)
        self.place = place
        self.path = path

    def at(self, key: str) -> str:
        """Return the path of a field."""
        return join(self.path, key)

    def has(self, key: str) -> bool:
        """Tell whether a field is there, null or not."""
        return key in self._left

    def peek(self, key: str) -> JsonValue:
        """Return a field's value, or None, and leave it among the rest."""
        return self._left.get(key)

    def take(self, key: str) -> JsonValue:
        """Return a field's value, or None."""
        return self._left.pop(key, None)

    def text(self, key: str) -> str | None:
        """Return a text, or None where the field is absent or null."""
        value = self.take(key)
        if value is not None and not isinstance(value, str):
            raise self.place.fault(self.at(key), f"must be a string, not {name_of(value)}")
        return value

    def required_text(self, key: str, *, hint: str | None = None) -> str:
        """Return a text that must be there."""
        value = self.text(key)
        if value is None:
            raise self.place.fault(self.at(key), "is required", hint=hint)
        return value

    def objects(self, key: str) -> list[Fields]:
        """Return the objects of a list; an absent or null list is empty."""
        value = self.take(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.place.fault(self.at(key), f"must be a list, not {name_of(value)}")
        return [Fields(item, self.place, f"{self.at(key)}[{i}]") for i, item in enumerate(value)]

    def object(self, key: str) -> Fields:
        """Return an object that must be there."""
        if self.peek(key) is None:
            raise self.place.fault(self.at(key), "is required")
        return Fields(self.take(key), self.place, self.at(key))

    def rest(self) -> dict[str, JsonValue]:
        """Return what nobody asked for, but for fields that say nothing."""
        return {key: value for key, value in self._left.items() if not is_blank(value)}


def metadata_of(namespace: str, *extras: Mapping[str, JsonValue]) -> dict[str, Any] | None:
    """Return provider metadata under its namespace, or None where there is none."""
    joined = {key: value for extra in extras for key, value in extra.items()}
    return {namespace: joined} if joined else None


def name_of(value: JsonValue) -> str:
    """Say what kind of JSON value this is, for an error message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return {str: "a string", list: "a list", dict: "an object"}[type(value)]
